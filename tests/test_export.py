"""Mail out: byte for byte what came in, nothing written over, and nothing half written left behind."""

from __future__ import annotations

import hashlib
import json
import mailbox
import os
import random
import re
import stat
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from making import SHARED, eml_folder, ingest, mail, mbox, rows

from datasette_oaken import db, deletion
from datasette_oaken.db import OakenError
from datasette_oaken.stored import pack_raw
from ingest import export as exporting
from ingest.cli import oaken
from ingest.export import export, quoted

LETTERS = {
    "1.eml": mail("The key.\nFrom the mat.\n>From the shelf.\n>>From it.\n", id="<1@example.org>"),
    "2.eml": mail("A bell\r\nFrom a tower.\r\n", id="<2@example.org>").replace(b"\n", b"\r\n").replace(b"\r\r", b"\r"),
    "3.eml": mail("No end", id="<3@example.org>", date="never", sender="nobody"),
    "4.eml": b"Status: RO\nX-Status: AF\n" + mail("Read.\n", id="<4@example.org>", sender="Ben <ben@example.org>"),
}


def stored(tmp_path: Path, letters: dict[str, bytes] = LETTERS) -> db.sqlite3.Connection:
    conn, report = ingest(tmp_path / "o.db", eml_folder(tmp_path / "in", letters))
    assert (report.added, report.failures) == (len(letters), [])
    return conn


def split_mboxrd(data: bytes) -> list[bytes]:
    """The messages of an mboxrd as its definition has it, written without a look at the reader under test."""
    parts: list[list[bytes]] = []
    for line in data.splitlines(keepends=True) if b"\r" not in data else re.findall(rb"[^\n]*\n|[^\n]+", data):
        if line.startswith(b"From "):
            parts.append([])
        else:
            parts[-1].append(line[1:] if re.match(rb">+From ", line) else line)
    assert all(part[-1] == b"\n" for part in parts)
    return [b"".join(part[:-1]) for part in parts]


def hashes(out: Path, kind: str) -> list[str]:
    """The sha256 of every message of what was exported, in order."""
    files = sorted((out / ("cur" if kind == "maildir" else "")).iterdir()) if kind != "mbox" else []
    found = split_mboxrd(out.read_bytes()) if kind == "mbox" else [file.read_bytes() for file in files]
    return sorted(hashlib.sha256(raw).hexdigest() for raw in found)


def run(*args: object, code: int = 0) -> dict[str, object]:
    done = CliRunner().invoke(oaken, ["export", "--json", *map(str, args)])
    assert done.exit_code == code, done.output
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_files_are_the_bytes_that_came_in_and_the_owners_alone(tmp_path: Path) -> None:
    stored(tmp_path).close()
    out = tmp_path / "out"
    assert run(out, "--db", tmp_path / "o.db") == {
        "ok": True,
        "exported": 4,
        "format": "eml",
        "out": str(out),
        "bytes": sum(map(len, LETTERS.values())),
        "altered": [],
        "failures": [],
    }
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {
        f"{number:08}.eml": raw for number, raw in enumerate(LETTERS.values(), 1)
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()} == {0o600}
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert sorted(path.name for path in tmp_path.iterdir() if "part" in path.name) == []


def test_an_mbox_gives_every_message_back_and_names_those_it_had_to_end(tmp_path: Path) -> None:
    conn = stored(tmp_path)
    out = tmp_path / "out.mbox"
    report = export(conn, out, "mbox", quiet=True)
    data = out.read_bytes()
    assert (report.exported, report.bytes, report.altered) == (4, len(data), [3])
    assert split_mboxrd(data) == [raw + b"\n" * (not raw.endswith(b"\n")) for raw in LETTERS.values()]
    assert [line for line in data.splitlines() if line.startswith(b"From ")] == [
        b"From sam@example.org Mon Mar  5 09:00:00 2018",
        b"From sam@example.org Mon Mar  5 09:00:00 2018",
        b"From MAILER-DAEMON Thu Jan  1 00:00:00 1970",
        b"From ben@example.org Mon Mar  5 09:00:00 2018",
    ]
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_an_mbox_that_was_exported_is_the_same_mail_when_it_is_ingested(tmp_path: Path) -> None:
    conn = stored(tmp_path)
    export(conn, tmp_path / "out.mbox", "mbox", quiet=True)
    conn, report = ingest(tmp_path / "o.db", tmp_path / "out.mbox")
    assert (report.added, report.duplicates) == (0, 4)


def test_a_maildir_keeps_what_is_read_here_and_flagged_there(tmp_path: Path) -> None:
    conn = stored(tmp_path)
    out = tmp_path / "Maildir"
    assert export(conn, out, "maildir", quiet=True).exported == 4
    box = mailbox.Maildir(out, create=False)
    found = {
        hashlib.sha256(path.read_bytes()).hexdigest(): path.name.partition(":2,")[2] for path in (out / "cur").iterdir()
    }
    assert found == {hashlib.sha256(raw).hexdigest(): "FRS" if name == "4.eml" else "" for name, raw in LETTERS.items()}
    assert len(box) == 4 and not list((out / "new").iterdir()) and not list((out / "tmp").iterdir())
    names = sorted(path.name for path in (out / "cur").iterdir())
    export(conn, tmp_path / "Again", "maildir", quiet=True)
    assert sorted(path.name for path in (tmp_path / "Again/cur").iterdir()) == names


def test_only_what_is_chosen_is_written(tmp_path: Path) -> None:
    stored(tmp_path).close()
    ingest(tmp_path / "o.db", tmp_path / "in" / "1.eml", account="alex")
    assert run(tmp_path / "a", "--db", tmp_path / "o.db", "--where", "from:ben")["exported"] == 1
    assert run(tmp_path / "b", "--db", tmp_path / "o.db", "--account", "alex")["exported"] == 1
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["00000005.eml"]
    for wrong, code in (("apples", "bad_query"), ("from:nobody-at-all", "no_messages")):
        answer = run(tmp_path / "c", "--db", tmp_path / "o.db", "--where", wrong, code=1)
        assert (answer["ok"], answer["code"]) == (False, code)
    assert not (tmp_path / "c").exists()


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


@given(st.lists(st.one_of(st.binary(), st.sampled_from([b"From ", b">From ", b">>From x", b"\n", b"\r\n", b"a"]))))
@settings(max_examples=300)
def test_quoting_is_undone_exactly_by_taking_one_mark_off(parts: list[bytes]) -> None:
    raw = b"\n".join(parts)
    lines = quoted(raw).split(b"\n")
    assert not [line for line in lines if line.startswith(b"From ")]
    assert b"\n".join(line[1:] if re.match(rb">+From ", line) else line for line in lines) == raw


def put_as_it_is(path: Path, raws: list[bytes]) -> db.sqlite3.Connection:
    """A file with these bytes as its messages, 1 and on, whatever an ingest would make of them."""
    conn = db.connect(path, create=True)
    with db.transaction(conn):
        conn.execute("insert or ignore into accounts (name) values ('a')")
        for number, raw in enumerate(raws, 1):
            conn.execute(
                "insert into messages (id, account, source_id, size, content_hash) values (?, 'a', ?, ?, ?)",
                (number, number, len(raw), number),
            )
            conn.execute(
                "insert into raw_messages values (?, ?, ?, ?)",
                (number, hashlib.sha256(raw).hexdigest(), *pack_raw(raw)),
            )
    return conn


LINES = [
    b"From ",
    b">From ",
    b">>From x",
    b"From a@b Mon Mar  5 09:00:00 2018",
    b"Content-Length: 3",
    b"",
    b"\r",
    b"a: b",
]


@given(st.lists(st.lists(st.one_of(st.binary(), st.sampled_from(LINES))).map(b"\n".join), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_any_bytes_come_back_as_another_program_reads_them(raws: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        conn = put_as_it_is(at / "o.db", raws)
        reports = [export(conn, at / kind, kind, quiet=True) for kind in ("eml", "mbox", "maildir")]
        conn.close()
        files = [path.read_bytes() for path in sorted((at / "eml").iterdir())]
        box = mailbox.mbox(at / "mbox", create=False)
        quoted_ones = [box.get_bytes(key) for key in box.iterkeys()]
        box.close()
        maildir = mailbox.Maildir(at / "maildir", create=False)
        in_maildir = sorted(maildir.get_bytes(key) for key in maildir.iterkeys())
    unended = [number for number, raw in enumerate(raws, 1) if not raw.endswith(b"\n")]
    assert [(r.exported, r.failures, r.altered) for r in reports] == [
        (len(raws), [], altered) for altered in ([], unended, [])
    ]
    assert files == raws
    assert in_maildir == sorted(raws)
    assert [re.sub(rb"(?m)^>(>*From )", rb"\1", raw) for raw in quoted_ones] == [
        raw if raw.endswith(b"\n") else raw + b"\n" for raw in raws
    ]


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


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared test mail is not on this machine")
@pytest.mark.parametrize("kind", ["eml", "mbox", "maildir"])
def test_real_mail_goes_out_as_it_came_in_and_none_besides(tmp_path: Path, kind: str) -> None:
    path = SHARED / "real/linux-man/2019.mbox"
    came = [hashlib.sha256(raw).hexdigest() for raw in split_mboxrd(path.read_bytes())]
    conn, _ = ingest(tmp_path / "o.db", path, processes=2)
    report = export(conn, tmp_path / "out", kind, quiet=True)
    went = hashes(tmp_path / "out", kind)
    assert (went, report.failures, report.altered) == (sorted(came), [], [])
    assert len(went) == 811


def test_mail_goes_round_through_each_form(tmp_path: Path) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS.values()))
    expected = {row[0] for row in rows(conn, "select sha256 from raw_messages")}
    for number, kind in enumerate(("eml", "mbox", "maildir")):
        out = tmp_path / f"out{number}"
        export(conn, out, kind, quiet=True)
        conn.close()
        conn, report = ingest(tmp_path / f"{number}.db", out)
        assert (report.added, report.failures) == (4, [])
        assert {row[0] for row in rows(conn, "select sha256 from raw_messages")} == expected
