"""Opening: another program's database is never touched, a newer file is refused, and every error says what to do."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from datasette_oaken import db, schema
from datasette_oaken.db import OakenError, sqlite3


def code_of(path: Path, **options: bool) -> str:
    with pytest.raises(OakenError) as caught:
        db.connect(path, **options)
    return caught.value.code


def test_a_new_file_is_for_its_owner_only_and_says_what_it_is(tmp_path: Path) -> None:
    conn = db.connect(tmp_path / "o.db", create=True)
    found = [conn.execute(f"pragma {name}").fetchone()[0] for name in ("application_id", "user_version", "auto_vacuum")]
    assert found == [schema.APPLICATION_ID, schema.VERSION, 2]
    assert conn.execute("pragma journal_mode").fetchone()[0] == "wal"
    assert conn.execute("pragma secure_delete").fetchone()[0] == 1
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "o.db").stat().st_mode) == 0o600


def test_extension_loading_is_off_again_after_the_extension_is_loaded(tmp_path: Path) -> None:
    conn = db.connect(tmp_path / "o.db", create=True)
    assert db.has_vec(conn)
    with pytest.raises(sqlite3.OperationalError, match="not authorized"):
        conn.execute("select load_extension('vec0')")


def test_another_programs_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    other = tmp_path / "photos.db"
    with sqlite3.connect(other) as conn:
        conn.execute("create table photos (id integer primary key)")
    conn.close()
    before = other.read_bytes()
    assert code_of(other, create=True) == "not_oaken"
    assert code_of(other, readonly=True) == "not_oaken"
    assert other.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    text = tmp_path / "letter.txt"
    text.write_bytes(b"Dear Alex, " * 1000)
    assert code_of(text, create=True) == "not_a_database"
    assert text.read_bytes() == b"Dear Alex, " * 1000


def test_a_newer_file_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "o.db"
    conn = db.connect(path, create=True)
    conn.execute(f"pragma user_version = {schema.VERSION + 1}")
    conn.close()
    before = path.read_bytes()
    assert code_of(path) == "newer_file"
    assert path.read_bytes() == before


def test_what_is_not_there_is_not_made_by_reading(tmp_path: Path) -> None:
    assert code_of(tmp_path / "none.db") == "no_database"
    assert code_of(tmp_path / "none.db", create=True, readonly=True) == "no_database"
    assert code_of(tmp_path / "no" / "folder.db", create=True) == "cannot_create"
    assert code_of(tmp_path, create=True) == "not_a_database"
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_another_process_writes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "o.db"
    holder = db.connect(path, create=True)
    holder.execute("begin immediate")
    conn = db.connect(path)
    conn.execute("pragma busy_timeout = 10")
    with pytest.raises(sqlite3.OperationalError) as caught, db.transaction(conn):
        pass
    explained = db.explain(caught.value, path)
    assert explained is not None
    assert (explained.code, "Another process is writing" in str(explained)) == ("database_locked", True)


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    conn = db.connect(tmp_path / "o.db", create=True)
    with pytest.raises(RuntimeError), db.transaction(conn):
        conn.execute("insert into accounts (name) values ('sam')")
        raise RuntimeError
    assert conn.execute("select count(*) from accounts").fetchone()[0] == 0


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("東京都に行く hello 中", "東京 京都 都に に行 行く 中"),
        ("계약 갱신", "계약 갱신"),
        ("only latin, 123", ""),
        ("", ""),
        ("ｶﾅ", "ｶﾅ"),
        ("来週Zoom会議、2024年", "来週 Zoom Zoom 会議 2024 年"),
        ("x" * 100 + "中", "中"),
    ],
)
def test_neighbouring_characters_are_paired_only_where_words_have_no_spaces(text: str, pairs: str) -> None:
    assert db.bigrams(text) == pairs
