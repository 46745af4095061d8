"""Finding out what a path is: every kind of mail by looking, and a clear word for what is none."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from datasette.utils.sqlite import sqlite3 as plain_sqlite

from datasette_oaken.db import OakenError
from datasette_oaken.hookspecs import hookimpl, plugins
from ingest.sources import Entry, Failure, Place, Resumed, Source, detect, opening
from ingest.sources.base import Cursors

MESSAGE = b"From: ann@example.org\nSubject: first\n\nGood morning.\n"
MBOX = (b"From ann@example.org Thu Jan  1 00:00:00 1970\n" + MESSAGE + b"\n") * 2


def mailboxes(path: Path) -> list[str]:
    found = list(detect(path).entries())
    assert not [entry for entry in found if isinstance(entry, Failure)]
    return [entry.mailbox for entry in found]


def refusal(path: Path) -> OakenError:
    with pytest.raises(OakenError) as raised:
        detect(path)
    return raised.value


def test_a_path_that_is_not_there_says_so(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(MBOX)
    for path in (tmp_path / "nowhere", tmp_path / "a" / "b"):
        error = refusal(path)
        assert (error.code, str(path) in str(error)) == ("no_path", True)


def test_an_empty_file_says_so_compressed_or_not(tmp_path: Path) -> None:
    for data in (b"", gzip.compress(b"")):
        (tmp_path / "a.mbox").write_bytes(data)
        assert refusal(tmp_path / "a.mbox").code == "empty_file"


def archive(kind: str) -> bytes:
    stream = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(stream, "w") as packed:
            packed.writestr("a.txt", "Good morning.")
    else:
        with tarfile.open(fileobj=stream, mode="w:gz") as packed_tar:
            packed_tar.addfile(tarfile.TarInfo("a.txt"))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.gz", gzip.compress(b"Good morning.\n"), "gzip data that holds no mail"),
        ("a.gz", gzip.compress(MBOX)[:10] + bytes([255]) * 20, "cannot be unpacked: the gzip data is damaged"),
        ("a.tgz", archive("tar"), "a tar archive that holds no mail"),
        ("a.zip", archive("zip"), "a zip archive that holds no mail"),
        ("a.pst", b"!BDN" + bytes(600), "readpst"),
        ("a.ost", b"!BDN" + bytes(600), "readpst"),
        ("a.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "msgconvert"),
        ("a.dbx", b"\xcf\xad\x12\xfe" + bytes(600), "Outlook"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(600), "a binary file"),
        ("a.txt", b"Good morning.\n", "neither as an mbox"),
        ("a.txt", b"From the beginning it was so.\nAnd so it stayed.\n", "neither as an mbox"),
        ("a.eml", b"\0" * 600, "a binary file"),
    ],
)
def test_a_file_without_mail_says_what_it_is_and_what_to_do(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    error = refusal(tmp_path / name)
    assert error.code == "not_mail"
    assert words in str(error)


def test_a_database_given_as_mail_says_so(tmp_path: Path) -> None:
    path = tmp_path / "oaken.db"
    conn = plain_sqlite.connect(path)
    conn.execute("create table a (b)")
    conn.close()
    error = refusal(path)
    assert (error.code, "SQLite" in str(error)) == ("not_mail", True)


def test_a_folder_without_mail_says_so(tmp_path: Path) -> None:
    assert refusal(tmp_path).code == "no_mail"
    (tmp_path / "in").mkdir()
    for name, data in (
        ("a.txt", b"Notes\n"),
        ("b.png", b"\x89PNG"),
        (".c.eml", MESSAGE),
        ("in/d", b""),
        ("e.gz", b"\x1f\x8b"),
    ):
        (tmp_path / name).write_bytes(data)
    assert refusal(tmp_path).code == "no_mail"


def denied(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let nobody, not even root, open the file of that name."""
    opened = opening.Opened.__init__

    def refuse(self: opening.Opened, path: Path) -> None:
        if path.name == name:
            raise PermissionError(13, "Permission denied", str(path))
        opened(self, path)

    monkeypatch.setattr(opening.Opened, "__init__", refuse)


def test_what_cannot_be_read_says_so_alone_and_is_a_failure_among_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.mbox").write_bytes(MBOX)
    denied(monkeypatch, "a.mbox")
    for path in (tmp_path / "a.mbox", tmp_path):
        error = refusal(path)
        assert (error.code, "Permission denied" in str(error)) == ("unreadable", True)
    (tmp_path / "b.eml").write_bytes(MESSAGE)
    failure, entry = detect(tmp_path).entries()
    assert failure == Failure((tmp_path / "a.mbox").as_posix(), tmp_path.name, "Permission denied", 0)
    assert isinstance(entry, Entry)
    assert (entry.load(), entry.consumed) == (MESSAGE, len(MBOX) + len(MESSAGE))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_and_passed_over_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.eml").write_bytes(MESSAGE)
    assert refusal(tmp_path / "pipe").code == "not_mail"
    assert mailboxes(tmp_path) == [tmp_path.name]


def test_links_that_go_round_do_not_hang_and_dead_ones_are_passed_over(tmp_path: Path) -> None:
    root = tmp_path / "Mail"
    (root / "in").mkdir(parents=True)
    (root / "in/a.eml").write_bytes(MESSAGE)
    try:
        (root / "in/round").symlink_to(root, target_is_directory=True)
        (root / "self").symlink_to(root / "self")
        (root / "lock").symlink_to(root / "nowhere")
        (tmp_path / "alias").symlink_to(root, target_is_directory=True)
    except OSError:
        pytest.skip("this system does not let us make links")
    assert mailboxes(root) == ["in"]
    (entry,) = detect(tmp_path / "alias").entries()
    assert entry.key == f"{tmp_path.as_posix()}/alias/in/a.eml"


def test_a_mixed_folder_is_read_whole_and_its_mailboxes_named(tmp_path: Path) -> None:
    for part in ("cur", "new", "tmp"):
        (tmp_path / "Maildir" / part).mkdir(parents=True)
    for name, data in (
        ("2019.mbox", MBOX),
        ("old.mbox.gz", gzip.compress(MBOX)),
        ("lists/2001-May.txt", MBOX),
        ("Inbox", MBOX),
        ("Inbox.msf", b"// <!-- <mdb:mork:z v=1.4/> -->"),
        ("Inbox.sbd/Work", MBOX),
        ("Sent", b""),
        ("Apple.mbox/mbox", MBOX),
        ("Maildir/new/1.a", MESSAGE),
        ("letters/a.eml", MESSAGE),
        (".hidden/b.eml", MESSAGE),
        ("oaken.db", b"SQLite format 3\0"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert mailboxes(tmp_path) == [
        *["2019"] * 2,
        *["Inbox"] * 2,
        *["old"] * 2,
        *["Apple"] * 2,
        *["Inbox/Work"] * 2,
        "Maildir",
        "letters",
        *["lists/2001-May"] * 2,
    ]
    source = detect(tmp_path)
    found = list(source.entries())
    assert len({entry.key for entry in found}) == len(found)
    assert source.size is not None
    assert found[-1].consumed <= source.size
    assert [entry.consumed for entry in found] == sorted(entry.consumed for entry in found)


def test_cursors_reach_every_mbox_of_a_folder(tmp_path: Path) -> None:
    for name in ("a.mbox", "b.mbox"):
        (tmp_path / name).write_bytes(MBOX)
    source = detect(tmp_path)
    cursors = {
        (entry.mailbox, entry.cursor[0]): entry.cursor[1]
        for entry in source.entries()
        if isinstance(entry, Entry) and entry.cursor
    }
    assert [type(entry) for entry in source.entries(cursors)] == [Resumed, Resumed]
    (tmp_path / "b.mbox").write_bytes(MBOX * 2)
    assert [entry.key for entry in source.entries(cursors) if isinstance(entry, Entry)] == [
        f"{tmp_path.as_posix()}/b.mbox#{offset}" for offset in (len(MBOX), len(MBOX) * 3 // 2)
    ]


def test_single_files_are_named_by_themselves_and_a_name_asked_for_overrides(tmp_path: Path) -> None:
    for name, own in (("2019.mbox", "2019"), ("old.mbox.gz", "old"), ("Sent", "Sent"), ("a.eml", tmp_path.name)):
        path = tmp_path / name
        path.write_bytes(MESSAGE if name == "a.eml" else MBOX)
        assert set(mailboxes(path)) == {own}
        assert {entry.mailbox for entry in detect(path, "Old").entries()} == {"Old"}
    (tmp_path / "Work.mbox").mkdir()
    (tmp_path / "Work.mbox/mbox").write_bytes(MBOX)
    assert mailboxes(tmp_path / "Work.mbox") == mailboxes(tmp_path / "Work.mbox/mbox") == ["Work"] * 2


def test_a_relative_path_gives_the_same_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.mbox").write_bytes(MBOX)
    absolute = [entry.key for entry in detect(tmp_path / "in/a.mbox").entries()]
    monkeypatch.chdir(tmp_path / "in")
    for path in ("a.mbox", "../in/a.mbox", "."):
        assert [entry.key for entry in detect(path).entries()] == absolute


@dataclass
class Letters:
    """A source of one's own: a file in which letters are parted by a line of dashes."""

    path: Path
    mailbox: str
    kind: str = "letters"
    size: int | None = None
    count: int | None = None

    def entries(self, cursors: Cursors | None = None) -> Iterator[Entry | Failure]:
        for number, letter in enumerate(self.path.read_bytes().split(b"---\n")[1:]):
            yield Entry(f"{self.path.as_posix()}#{number}", self.mailbox, lambda letter=letter: letter)  # type: ignore[misc]


class Plugin:
    @hookimpl
    def register_sources(self) -> list[object]:
        def claim(place: Place) -> Source | None:
            return Letters(place.path, place.named(place.path.stem)) if place.head.startswith(b"---\n") else None

        return [claim]


def test_a_plugins_source_is_asked_first_alone_and_among_others(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(MESSAGE)
    (tmp_path / "b.eml").write_bytes(b"---\n" + MESSAGE + b"---\n" + MESSAGE)
    plugin = Plugin()
    plugins().register(plugin)
    try:
        assert mailboxes(tmp_path / "b.eml") == ["b", "b"]
        assert [entry.load() for entry in detect(tmp_path).entries() if isinstance(entry, Entry)] == [MESSAGE] * 3
    finally:
        plugins().unregister(plugin)
    assert mailboxes(tmp_path / "b.eml") == [tmp_path.name]
