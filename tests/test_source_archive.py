"""Archives: Takeout's mail is read without unpacking, whatever else lies beside it, and what breaks off is told."""

from __future__ import annotations

import gzip
import io
import os
import plistlib
import tarfile
import zipfile
from pathlib import Path

import pytest

from ingest.sources import Entry, Failure, detect

MESSAGE = b"From: ann@example.org\nSubject: first\n\nGood morning.\n"
SEPARATOR = b"From 1234567890123456789@xxx Thu Jan 01 00:00:00 +0000 1970\n"
MBOX = (SEPARATOR + MESSAGE + b"\n") * 2
FILES = {
    "Takeout/archive_browser.html": b"<html></html>",
    "Takeout/Photos/a.jpg": b"\xff\xd8\xff" + os.urandom(200_000),
    "Takeout/Mail/All mail Including Spam and Trash.mbox": MBOX,
    "Takeout/Mail/Starred.mbox.gz": gzip.compress(MBOX),
    "Takeout/Mail/Empty.mbox": b"",
    "letters/a.eml": MESSAGE,
    "letters/.b.eml": MESSAGE,
    "Work.mbox/Messages/1.emlx": b"%d\n" % len(MESSAGE) + MESSAGE + plistlib.dumps({"flags": 1}),
    "17": SEPARATOR + MESSAGE,
}
EXPECTED = [
    ("Takeout/Mail/All mail Including Spam and Trash.mbox#0", "Mail/All mail Including Spam and Trash", MESSAGE, ""),
    (
        f"Takeout/Mail/All mail Including Spam and Trash.mbox#{len(MBOX) // 2}",
        "Mail/All mail Including Spam and Trash",
        MESSAGE,
        "",
    ),
    ("Takeout/Mail/Starred.mbox.gz#0", "Mail/Starred", MESSAGE, ""),
    (f"Takeout/Mail/Starred.mbox.gz#{len(MBOX) // 2}", "Mail/Starred", MESSAGE, ""),
    ("letters/a.eml", "letters", MESSAGE, ""),
    ("Work.mbox/Messages/1.emlx", "Work", MESSAGE, "seen"),
    ("17", "takeout", SEPARATOR + MESSAGE, ""),
]


def pack(kind: str, files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, data in files.items():
                packed.writestr(name, data)
        return stream.getvalue()
    with tarfile.open(fileobj=stream, mode="w") as packed_tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            packed_tar.addfile(info, io.BytesIO(data))
    return gzip.compress(stream.getvalue()) if kind == "tgz" else stream.getvalue()


@pytest.mark.parametrize("kind", ["zip", "tgz", "tar"])
def test_every_message_of_an_archive_is_read_and_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"takeout.{kind}"
    path.write_bytes(pack(kind, FILES))
    source = detect(path)
    found = list(source.entries())
    assert not [entry for entry in found if isinstance(entry, Failure)]
    assert [
        (entry.key.removeprefix(f"{path.as_posix()}!"), entry.mailbox, entry.load(), " ".join(entry.flags))
        for entry in found
        if isinstance(entry, Entry)
    ] == EXPECTED
    assert [entry.consumed for entry in found] == sorted(entry.consumed for entry in found)
    assert not [entry for entry in found if isinstance(entry, Entry) and entry.cursor]
    assert source.size is not None
    assert 0 < found[-1].consumed <= source.size


def test_what_was_unpacked_has_the_same_mailboxes(tmp_path: Path) -> None:
    for name, data in FILES.items():
        if name.startswith("Takeout/"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(data)
    expected = [mailbox for _, mailbox, _, _ in EXPECTED if mailbox.startswith("Mail/")]
    assert [entry.mailbox for entry in detect(tmp_path).entries()] == expected


def test_an_archive_in_a_folder_is_read_among_other_mail(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.zip").write_bytes(pack("zip", {"letters/a.eml": MESSAGE, "b.eml": MESSAGE}))
    (tmp_path / "in/b.zip").write_bytes(pack("zip", {"a.txt": b"Notes"}))
    (tmp_path / "a.eml").write_bytes(MESSAGE)
    assert [entry.mailbox for entry in detect(tmp_path).entries()] == [tmp_path.name, "in/letters", "in"]
    assert {entry.mailbox for entry in detect(tmp_path / "in", "Old").entries()} == {"Old"}


@pytest.mark.parametrize("kind", ["tgz", "tar"])
def test_an_archive_that_breaks_off_gives_what_it_has_and_a_failure(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.tgz"
    packed = pack(kind, {"a.eml": MESSAGE, "b.jpg": os.urandom(500_000), "c.eml": MESSAGE})
    path.write_bytes(packed[: len(packed) // 2])
    first, failure = detect(path).entries()
    assert isinstance(first, Entry)
    assert first.load() == MESSAGE
    assert isinstance(failure, Failure)
    assert failure.key == path.as_posix()
    assert "the archive cannot be read on" in failure.error


def test_a_damaged_member_of_a_zip_is_a_failure_and_the_next_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    packed = pack("zip", {"a.eml": MESSAGE * 50, "b.eml": MESSAGE})
    at = packed.index(b"a.eml") + 10
    path.write_bytes(packed[:at] + bytes(8) + packed[at + 8 :])
    failure, entry = detect(path).entries()
    assert isinstance(failure, Failure)
    assert failure.key == f"{path.as_posix()}!a.eml"
    assert "damaged" in failure.error
    assert isinstance(entry, Entry)
    assert entry.load() == MESSAGE
