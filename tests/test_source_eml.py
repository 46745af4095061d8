"""Files of one message: told from what is no message by their header, kept byte for byte, Apple's with their flags."""

from __future__ import annotations

import gzip
import plistlib
from pathlib import Path

import pytest

from ingest.sources import Entry, Failure, detect
from ingest.sources.eml import emlx_flags, looks_like_message, split_emlx

DATA = Path(__file__).resolve().parents[1].parent / "shared/data"
MESSAGE = b"From: ann@example.org\r\nSubject: first\r\n\r\nGood morning.\r\n\r\n"


def entries(path: Path) -> list[Entry]:
    found = list(detect(path).entries())
    assert not [entry for entry in found if isinstance(entry, Failure)]
    return found  # type: ignore[return-value]


def emlx(raw: bytes, flags: int) -> bytes:
    return b"%-10d\n" % len(raw) + raw + plistlib.dumps({"flags": flags, "subject": "first"})


@pytest.mark.parametrize(
    "head",
    [
        MESSAGE,
        b"Received: from a\n\tby b;\n Thu\nFrom: a\n",
        b"From ann@example.org Thu Jan  1 00:00:00 1970\nFrom: a\nTo: b\n\n",
        b">From ann@example.org Thu Jan  1 00:00:00 1970\nFrom: a\nTo: b\n\n",
        b"\xef\xbb\xbf\nFrom: a\nTo: b\n\n",
        b"From: a\nthis is no field\nTo: b\n\n",
        b"MIME-Version: 1.0\nContent-Type: text/plain\n\n",
        b"Subject : a\nFrom : b\n\n",
    ],
)
def test_what_begins_as_a_message_is_one(head: bytes) -> None:
    assert looks_like_message(head)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"1,2,3\n4,5,6\n",
        b"Good morning.\nFrom: a\nTo: b\n\n",
        b"From: a tale of two cities\n\nIt was the best of times.\n",
        b"Title: a\nDate: b\nSubject: c\n\n# Notes\n",
        b"Metadata-Version: 2.1\nName: x\nVersion: 1\nAuthor-email: a@example.org\n\n",
        b"Package: x\nMaintainer: a\nDescription: b\n\n",
        b"HTTP/1.1 200 OK\nDate: a\nMIME-Version: 1.0\n\n",
        b"---\nfrom: a\nto: b\n---\n",
        b"\x00\x01From: a\nTo: b\n",
        b"\n\nFrom: a\n\nTo: b\n",
    ],
)
def test_what_only_resembles_a_message_is_not_one(head: bytes) -> None:
    assert not looks_like_message(head)


def test_the_bytes_are_kept_as_they_are(tmp_path: Path) -> None:
    for raw in (MESSAGE, MESSAGE.replace(b"\r\n", b"\n"), MESSAGE + b">From here\n\xff\x00", b"no header at all"):
        path = tmp_path / "Letters" / "a.eml"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)
        (entry,) = entries(path)
        assert (entry.key, entry.mailbox, entry.load()) == (path.as_posix(), "Letters", raw)
        assert entry.consumed == len(raw) == detect(path).size


def test_a_folder_is_read_with_all_within_and_what_is_no_message_passed_over(tmp_path: Path) -> None:
    root = tmp_path / "Letters"
    for name in ("b.eml", "a", "2001/1", "2001/05.txt", "2001/deep/x.eml"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(MESSAGE)
    for name, data in (
        (".DS_Store", b"\0\0\0\1Bud1"),
        ("5.cats", b"1,2\n"),
        ("notes.txt", b"Notes\n"),
        (".a.eml", MESSAGE),
    ):
        (root / name).write_bytes(data)
    assert [(entry.key.removeprefix(root.as_posix()), entry.mailbox) for entry in entries(root)] == [
        ("/a", "Letters"),
        ("/b.eml", "Letters"),
        ("/2001/05.txt", "2001"),
        ("/2001/1", "2001"),
        ("/2001/deep/x.eml", "2001/deep"),
    ]
    assert {entry.mailbox for entry in detect(root, "Old").entries()} == {"Old"}


def test_a_message_with_its_envelope_line_is_one_message_and_not_an_mbox(tmp_path: Path) -> None:
    raw = b"From ann@example.org Thu Jan  1 00:00:00 1970\n" + MESSAGE
    for name in ("00001.0a1b2c", "17", "x.eml"):
        (tmp_path / name).write_bytes(raw)
    assert [(entry.mailbox, entry.load()) for entry in entries(tmp_path)] == [(tmp_path.name, raw)] * 3
    (tmp_path / "17").write_bytes(raw + raw)
    assert [entry.mailbox for entry in entries(tmp_path / "17")] == ["17", "17"]


def test_a_compressed_message_is_read_through(tmp_path: Path) -> None:
    (tmp_path / "a.eml.gz").write_bytes(gzip.compress(MESSAGE))
    assert [entry.load() for entry in entries(tmp_path)] == [MESSAGE]


def test_an_unchanged_file_keeps_its_fingerprint_and_a_changed_one_does_not(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    path.write_bytes(MESSAGE)
    (before,), (again,) = entries(path), entries(path)
    path.write_bytes(MESSAGE + b"And more.\r\n")
    (after,) = entries(path)
    assert before.fingerprint == again.fingerprint != after.fingerprint


def test_a_file_is_not_read_until_it_is_loaded_and_one_that_went_is_a_failure(tmp_path: Path) -> None:
    for name in ("a.eml", "b.eml", "c.eml"):
        (tmp_path / name).write_bytes(MESSAGE)
    running = detect(tmp_path).entries()
    first = next(running)
    assert isinstance(first, Entry)
    (tmp_path / "a.eml").unlink()
    (tmp_path / "b.eml").unlink()
    with pytest.raises(FileNotFoundError):
        first.load()
    second, third = running
    assert second == Failure((tmp_path / "b.eml").as_posix(), tmp_path.name, "No such file or directory", len(MESSAGE))
    assert isinstance(third, Entry)
    assert third.load() == MESSAGE


def test_an_empty_or_binary_file_named_as_a_message_is_listed(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(b"")
    (tmp_path / "b.eml").write_bytes(b"\x00\x01\x02" * 100)
    (tmp_path / "c.msg").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    (tmp_path / "d.eml").write_bytes(MESSAGE)
    found = list(detect(tmp_path).entries())
    failures = {Path(entry.key).name: entry.error for entry in found if isinstance(entry, Failure)}
    assert sorted(failures) == ["a.eml", "b.eml", "c.msg"]
    assert failures["a.eml"] == "the file is empty"
    assert "binary" in failures["b.eml"]
    assert "msgconvert" in failures["c.msg"]
    assert [Path(entry.key).name for entry in found if isinstance(entry, Entry)] == ["d.eml"]


@pytest.mark.parametrize(
    ("bits", "flags"),
    [(0, ""), (1, "seen"), (0b1010111, "seen deleted answered flagged draft"), (1 << 8 | 1 << 25, "forwarded")],
)
def test_apples_message_is_cut_out_exactly_and_its_flags_read(tmp_path: Path, bits: int, flags: str) -> None:
    folder = tmp_path / "V10" / "Work.mbox" / "Reports.mbox" / "1A2B" / "Data" / "3" / "Messages"
    folder.mkdir(parents=True)
    (folder / "31.emlx").write_bytes(emlx(MESSAGE, bits))
    (folder / "32.partial.emlx").write_bytes(emlx(MESSAGE, bits))
    assert [(e.mailbox, e.load(), e.flags) for e in entries(tmp_path)] == [
        ("Work/Reports", MESSAGE, frozenset(flags.split()))
    ] * 2


def test_apples_message_with_a_damaged_end_is_still_read_and_one_cut_short_is_not() -> None:
    assert split_emlx(b"5\nabcde<?xml") == (b"abcde", b"<?xml")
    assert emlx_flags(b"<?xml broken") == emlx_flags(b"") == frozenset()
    with pytest.raises(OSError, match="cut short: it should hold 9 bytes and holds 2"):
        split_emlx(b"9\nab")
    with pytest.raises(OSError, match="not an Apple Mail message"):
        split_emlx(b"From: a\n")


def test_real_messages_without_a_telling_name_are_found_among_their_labels() -> None:
    root = DATA / "real/enron-berkeley"
    if not root.exists():
        pytest.skip("the sample mail ../shared/data/real is not here")
    found = entries(root)
    assert sorted(Path(entry.key) for entry in found) == sorted(root.rglob("[0-9]*.txt"))
    assert {entry.mailbox for entry in found} == set("12345678")
