"""An export that is broken off, in the way of something, or of a damaged file: nothing written over, nothing half written left."""

from __future__ import annotations

import hashlib
import os
import random
import tracemalloc
from pathlib import Path

import pytest
from exporting import LETTERS, hashes, put_as_it_is, run, stored
from making import eml_folder, ingest, mail, rows

from datasette_oaken import db, deletion
from datasette_oaken.db import OakenError
from ingest import export as exporting
from ingest.export import export


@pytest.mark.parametrize("kind", ["eml", "mbox", "maildir"])
def test_nothing_is_written_over(tmp_path: Path, kind: str) -> None:
    conn = stored(tmp_path)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "folder", "link"):
        with pytest.raises(OakenError) as caught:
            export(conn, tmp_path / name, kind, quiet=True)
        assert caught.value.code == "exists"
    with pytest.raises(OakenError) as caught:
        export(conn, tmp_path / "no/such", kind, quiet=True)
    assert caught.value.code == "no_folder"
    assert (tmp_path / "file").read_text() == "mine" and not list((tmp_path / "folder").iterdir())


@pytest.mark.parametrize("kind", ["eml", "mbox", "maildir"])
def test_what_another_program_makes_there_meanwhile_is_not_written_over(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn = stored(tmp_path)
    real, out = exporting._read, tmp_path / "out"

    def slow(conn: db.sqlite3.Connection, message_id: int) -> exporting.Message:
        out.write_text("theirs")
        return real(conn, message_id)

    monkeypatch.setattr(exporting, "_read", slow)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OakenError) as caught:
        export(conn, out, kind, quiet=True)
    assert caught.value.code == "exists"
    assert sorted(tmp_path.iterdir()) == sorted([*before, out]) and out.read_text() == "theirs"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux says which file a number stands for")
@pytest.mark.parametrize(
    ("kind", "synced"),
    [
        ("eml", [*(f"{n:08}.eml" for n in (1, 2, 3, 4)), "whole", "there"]),
        ("mbox", ["whole", "there"]),
        ("maildir", [*["letter"] * 4, "whole", "cur", "new", "tmp", "there"]),
    ],
)
def test_all_is_on_the_disk_before_it_takes_its_name_and_the_name_after(
    tmp_path: Path, kind: str, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    conn = stored(tmp_path)
    out, seen = tmp_path / "there" / "out", []
    out.parent.mkdir()
    real = os.fsync

    def noting(opened: int) -> None:
        name = Path(f"/proc/self/fd/{opened}").readlink().name
        seen.append(("letter" if ".oaken:2," in name else name, out.exists()))
        real(opened)

    monkeypatch.setattr(os, "fsync", noting)
    export(conn, out, kind, quiet=True)
    assert seen == [(name, name == "there") for name in synced]


@pytest.mark.parametrize("kind", ["eml", "mbox", "maildir"])
def test_what_another_process_of_the_same_number_left_is_left_alone(tmp_path: Path, kind: str) -> None:
    conn = stored(tmp_path)
    theirs = tmp_path / f".out.{os.getpid()}.part"
    theirs.write_text("theirs")
    assert export(conn, tmp_path / "out", kind, quiet=True).exported == 4
    assert theirs.read_text() == "theirs"


@pytest.mark.parametrize("kind", ["eml", "mbox", "maildir"])
def test_interrupted_it_leaves_nothing_behind(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    conn = stored(tmp_path)
    real, before = exporting._read, sorted(tmp_path.iterdir())

    def stopping(conn: db.sqlite3.Connection, message_id: int) -> exporting.Message:
        if message_id == 3:
            raise KeyboardInterrupt
        return real(conn, message_id)

    monkeypatch.setattr(exporting, "_read", stopping)
    with pytest.raises(KeyboardInterrupt):
        export(conn, tmp_path / "out", kind, quiet=True)
    assert sorted(tmp_path.iterdir()) == before
    assert not conn.in_transaction


def test_interrupted_it_does_not_say_that_something_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path).close()

    def stopping(*_: object) -> exporting.Message:
        raise KeyboardInterrupt

    monkeypatch.setattr(exporting, "_read", stopping)
    out = tmp_path / "out"
    assert run(out, "--db", tmp_path / "o.db", code=130) == {
        "ok": False,
        "error": f"Stopped. Nothing was left at {out}; run the same command again to start anew.",
        "code": "interrupted",
    }


def test_bytes_that_are_not_those_that_came_in_are_listed_and_not_written(tmp_path: Path) -> None:
    conn = stored(tmp_path)
    conn.execute("update raw_messages set sha256 = 'x' where message_id = 1")
    conn.execute("update raw_messages set raw = x'00', codec = 'zlib' where message_id = 2")
    conn.execute("delete from raw_messages where message_id = 3")
    report = export(conn, tmp_path / "out", quiet=True)
    assert [(f["key"], f["attempts"]) for f in report.failures] == [("1", 1), ("2", 1), ("3", 1)]
    assert [f["error"].partition(":")[0] for f in report.failures] == [
        "its bytes are not those that came in",
        "its bytes cannot be unpacked",
        "its bytes are not in the file",
    ]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["00000004.eml"]
    conn.execute("delete from raw_messages")
    answer = run(tmp_path / "none", "--db", tmp_path / "o.db", code=1)
    assert (answer["ok"], answer["code"], answer["exported"]) == (False, "damaged", 0)
    assert [path.name for path in tmp_path.iterdir() if "none" in path.name] == []


@pytest.mark.parametrize("kind", ["eml", "mbox", "maildir"])
def test_a_damaged_page_of_the_file_costs_the_messages_on_it_and_not_the_rest(tmp_path: Path, kind: str) -> None:
    letters = {f"{n}.eml": mail(random.Random(n).randbytes(9_000).hex() + "\n", id=f"<{n}@e>") for n in range(1, 9)}
    conn = stored(tmp_path, letters)
    (sha256, codec, size) = rows(
        conn, "select sha256, codec, page_size from raw_messages, pragma_page_size where message_id = 5"
    )[0]
    conn.execute("pragma wal_checkpoint(truncate)")
    conn.close()
    data = bytearray((tmp_path / "o.db").read_bytes())
    page = data.index(f"{sha256}{codec}".encode()) // int(str(size)) * int(str(size))
    data[page : page + 8] = b"\xff" * 8  # the header of the page of the table that holds the fifth
    (tmp_path / "o.db").write_bytes(data)
    report = export(db.connect(tmp_path / "o.db", readonly=True), tmp_path / "out", kind, quiet=True)
    assert report.failures == [
        {
            "key": "5",
            "error": "the file is damaged where it is stored: database disk image is malformed",
            "attempts": 1,
        }
    ]
    others = sorted(hashlib.sha256(raw).hexdigest() for name, raw in letters.items() if name != "5.eml")
    assert hashes(tmp_path / "out", kind) == others


def test_what_is_written_and_forgotten_meanwhile_makes_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(tmp_path).close()
    conn, other = db.connect(tmp_path / "o.db", readonly=True), db.connect(tmp_path / "o.db")
    real = exporting._read

    def meanwhile(conn: db.sqlite3.Connection, message_id: int) -> exporting.Message:
        if message_id == 1:
            with db.transaction(other):
                deletion.delete_messages(other, [4])
            ingest(tmp_path / "o.db", eml_folder(tmp_path / "more", {"5.eml": mail("New.\n", id="<5@example.org>")}))
        return real(conn, message_id)

    monkeypatch.setattr(exporting, "_read", meanwhile)
    report = export(conn, tmp_path / "out", quiet=True)
    assert (report.exported, report.failures) == (4, [])
    assert hashes(tmp_path / "out", "eml") == sorted(hashlib.sha256(raw).hexdigest() for raw in LETTERS.values())
    assert rows(other, "select id from messages order by id") == [(1,), (2,), (3,), (5,)]


@pytest.mark.parametrize("kind", ["eml", "mbox", "maildir"])
def test_memory_is_for_one_message_however_many_there_are(tmp_path: Path, kind: str) -> None:
    conn = put_as_it_is(
        tmp_path / "o.db", [b"%d\nFrom here on\n" % n + b"All of it.\n" * 100_000 for n in range(30)]
    )  # 1 MB each
    tracemalloc.start()
    try:
        assert export(conn, tmp_path / "out", kind, quiet=True).exported == 30
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000
