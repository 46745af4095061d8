"""Mail out: byte for byte what came in, in each form."""

from __future__ import annotations

import hashlib
import mailbox
import re
import stat
import tempfile
from pathlib import Path

import pytest
from exporting import LETTERS, hashes, put_as_it_is, run, split_mboxrd, stored
from hypothesis import given, settings
from hypothesis import strategies as st
from making import SHARED, ingest, mbox, rows

from ingest.export import export, quoted


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


@given(st.lists(st.one_of(st.binary(), st.sampled_from([b"From ", b">From ", b">>From x", b"\n", b"\r\n", b"a"]))))
@settings(max_examples=300)
def test_quoting_is_undone_exactly_by_taking_one_mark_off(parts: list[bytes]) -> None:
    raw = b"\n".join(parts)
    lines = quoted(raw).split(b"\n")
    assert not [line for line in lines if line.startswith(b"From ")]
    assert b"\n".join(line[1:] if re.match(rb">+From ", line) else line for line in lines) == raw


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
