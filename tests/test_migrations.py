"""A file of any earlier version comes up to date by being opened, keeps what it holds, and takes all or nothing of each step."""

from __future__ import annotations

from pathlib import Path

import pytest
from making import rows
from small_mail import add

from datasette_oaken import db, questions, schema
from datasette_oaken.status import status


def of_version(path: Path, version: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file as the version of that number made it, with two messages in it."""
    with monkeypatch.context() as then:
        then.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:version])
        then.setattr(schema, "VERSION", version)
        conn = db.connect(path, create=True)
        with db.transaction(conn):
            add(conn, "The boiler is cold.", sender=("Tom", "tom@example.org"))
            add(conn, "It is warm again.", sender=("Ruth", "ruth@example.org"))
        conn.close()
    return path


def made(conn: db.sqlite3.Connection) -> list[tuple[object, ...]]:
    return rows(
        conn, "select type, name, tbl_name, sql from sqlite_master where name not glob 'sqlite_*' order by 1, 2"
    )


@pytest.mark.parametrize("version", range(1, schema.VERSION))
@pytest.mark.parametrize("readonly", [False, True])
def test_each_earlier_version_becomes_what_a_new_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, readonly: bool
) -> None:
    path = of_version(tmp_path / "old.db", version, monkeypatch)
    conn = db.connect(path, readonly=readonly)
    assert rows(conn, "pragma user_version") == [(schema.VERSION,)]
    new = db.connect(tmp_path / "new.db", create=True)
    assert made(conn) == made(new)
    assert rows(conn, "select text from recall_chunks order by id") == [
        ("The boiler is cold.",),
        ("It is warm again.",),
    ]
    assert (status(conn)["messages"], status(conn)["questions"]) == (2, [])
    if not readonly:
        with db.transaction(conn):
            assert questions.ask(conn, "Is it cold?", scope="from:tom") == 1
        assert rows(conn, "select message_id from recall_eligible") == [(1,)]


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = of_version(tmp_path / "old.db", 1, monkeypatch)
    broken = (schema.MIGRATIONS[0], "create table half (id integer);\ncreate table messages (id integer);\n")
    with monkeypatch.context() as then:
        then.setattr(schema, "MIGRATIONS", broken)
        with pytest.raises(db.sqlite3.OperationalError, match="already exists"):
            db.connect(path)
    conn = db.connect(path)
    assert rows(conn, "pragma user_version") == [(schema.VERSION,)]
    assert rows(conn, "select count(*) from sqlite_master where name = 'half'") == [(0,)]


def test_an_old_file_that_cannot_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = of_version(tmp_path / "old.db", 1, monkeypatch)

    def refuse(
        conn: db.sqlite3.Connection,
    ) -> None:  # as SQLite does; the tests may run as root, to whom nothing is denied
        raise db.sqlite3.OperationalError("attempt to write a readonly database")

    with monkeypatch.context() as then:
        then.setattr(db, "transaction", refuse)
        with pytest.raises(db.OakenError, match=r"older Oaken .* cannot be written: check its permissions") as caught:
            db.connect(path, readonly=True)
    assert caught.value.code == "older_file"


def test_a_newer_file_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    conn = db.connect(path, create=True)
    conn.execute(f"pragma user_version = {schema.VERSION + 1}")
    conn.execute("pragma wal_checkpoint(truncate)")
    conn.close()
    before = path.read_bytes()
    for readonly in (False, True):
        with pytest.raises(db.OakenError, match="newer Oaken"):
            db.connect(path, readonly=readonly)
    assert path.read_bytes() == before
