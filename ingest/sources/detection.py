"""Finding out what a path is, by looking: one mailbox, a folder of several kinds of them, or no mail, and then why not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from datasette_oaken.db import OakenError
from datasette_oaken.hookspecs import plugins

from . import archive, eml, maildir, mbox, opening
from .base import Claim, Cursors, Entry, Failure, Place, Resumed, Source, inner, key_of, names_in, reason, storable

_OUTLOOK = "Outlook's own format, which Oaken does not read. "
_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"SQLite format 3\0", "a SQLite database, not mail. An Oaken file is named with --db."),
    (b"!BDN", f"{_OUTLOOK}Turn it into mboxes with readpst (package pst-utils): readpst -r -o FOLDER FILE"),
    (
        b"\xd0\xcf\x11\xe0",
        f"{_OUTLOOK}Turn it into .eml with msgconvert (package libemail-outlook-message-perl), or save it as .eml.",
    ),
    (b"\xcf\xad\x12\xfe", f"{_OUTLOOK}Turn it into mboxes with readdbx (package undbx or libdbx)."),
    (
        b"*mbx*",
        "the mail server UW-IMAP's mbx format. Turn it into an mbox with its mailutil: mailutil copy FILE '#driver.unix/NEW'",
    ),
    (
        b"PK\x03\x04",
        "a zip archive that holds no mail, or holds it behind a password: then unpack it, and name the folder.",
    ),
)
"""How files begin that hold no mail which Oaken could read, though people have reason to try them, and what to do."""

_MAIL_SUFFIXES = (".eml", ".emlx", ".mbox", ".mbx", ".pst", ".ost", ".msg", ".dbx")
"""Names that promise mail: a file so named in a folder is listed as a failure when it holds none. Others are passed over."""


def detect(path: str | os.PathLike[str], mailbox: str | None = None) -> Source:
    """The source that a path is: an mbox, a Maildir, a message, or a folder of any of these. ``mailbox`` overrides names.

    Raises OakenError: no_path, unreadable, empty_file, not_mail, no_mail.
    """
    place = Place(Path(path).expanduser(), mailbox=mailbox or None)
    try:
        found = place.path.stat()
        if stat.S_ISDIR(found.st_mode):
            return _folder(FolderSource(place.path, place.mailbox))
        if not stat.S_ISREG(found.st_mode):
            raise OakenError(f"{place.path} is neither a file nor a folder.", "not_mail")
        if not place.head:
            raise OakenError(f"{place.path} is empty: there is no mail in it.", "empty_file")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise OakenError(
            f"There is nothing at {place.path}. Check the spelling, and put a path with spaces in quotes.", "no_path"
        ) from error
    except opening.Damaged as error:
        raise OakenError(f"{place.path} cannot be unpacked: {reason(error)}.", "not_mail") from error
    except OSError as error:
        raise OakenError(
            f"{place.path} cannot be read: {reason(error)}. Check its permissions.", "unreadable"
        ) from error
    source = claimed(place)
    if source is None:
        raise OakenError(f"{place.path} is {_what_else(place)}", "not_mail")
    return source


def _folder(source: FolderSource) -> Source:
    unreadable = None
    for _, found in source.parts():
        if found is not None and not isinstance(found, Failure):
            return source
        if unreadable is None and found is not None:
            unreadable = found
    if unreadable is not None:
        raise OakenError(
            f"There is no mail that can be read in {source.root}. {unreadable.key}: {unreadable.error}", "unreadable"
        )
    raise OakenError(
        f"There is no mail in {source.root}: no mbox, Maildir or .eml, in it or in the folders within. Hidden files are passed over.",
        "no_mail",
    )


def claims() -> list[Claim]:
    """What every kind of source is asked with, plugins' first."""
    manager = plugins()
    # mbox before eml: both may begin with a From line. They come last since they are marked so, in this order.
    for module in (maildir, archive, mbox, eml):
        if not manager.is_registered(module):
            manager.register(module)
    return [claim for of_one in manager.hook.register_sources() for claim in of_one]


def claimed(place: Place, asked: list[Claim] | None = None) -> Source | None:
    """The first source that takes ``place`` for its own. Raises OSError."""
    for claim in claims() if asked is None else asked:
        source = claim(place)
        if source is not None:
            return source
    return None


def _what_else(place: Place) -> str:
    """What a file that no source claims is, to end the sentence "FILE is"."""
    for start, words in _FOREIGN:
        if place.head.startswith(start):
            return words
    with opening.Opened(place.path) as opened:
        packed = f"{opened.kind} data that holds no mail" if opened.kind else ""
    if place.head[257:262] == b"ustar":
        return "a tar archive that holds no mail."
    if packed:
        return f"{packed}: it begins neither as an mbox nor as a message does."
    if b"\0" in place.head[:4096]:
        return "not mail but a binary file."
    return (
        "not mail: it begins neither as an mbox (a line From, a sender, a date) nor as a message (header fields) does."
    )


@dataclass
class FolderSource:
    """A folder and all within it: every mailbox of whatever kind, named by the folders that lead to it.

    Hidden files and what is no mail are passed over. Links are followed, each folder is looked into once.
    """

    root: Path
    mailbox: str | None = None
    kind: str = "folder"

    @cached_property
    def size(self) -> int | None:
        """Bytes of all the files, mail or not: ``consumed`` counts those that are passed over too."""
        return sum(size for size, _ in self.parts(look=False))

    @property
    def count(self) -> int | None:
        return None

    def entries(self, cursors: Cursors | None = None) -> Iterator[Entry | Failure | Resumed]:
        """Every message: files before folders, each in order of their names."""
        before = 0
        for size, part in self.parts():
            if isinstance(part, Failure):
                part.consumed = before
                yield part
            elif part is not None:
                for entry in part.entries(cursors):
                    entry.consumed += before
                    yield entry
            before += size

    def parts(self, *, look: bool = True) -> Iterator[tuple[int, Source | Failure | None]]:
        """(bytes, the source or failure or None when there is no mail) of every file and folder in turn. Without ``look``
        files are not opened: they count as no mail."""
        asked = claims()
        seen: set[tuple[int, int]] = set()
        waiting = [(self.root, "")]
        while waiting:
            folder, within = waiting.pop()
            try:
                found = folder.stat()
                names = names_in(folder)
            except OSError as error:
                yield 0, Failure(key_of(folder), storable(self.mailbox or within), reason(error))
                continue
            if (found.st_dev, found.st_ino) in seen:
                continue
            seen.add((found.st_dev, found.st_ino))
            place = Place(folder, True, within, self.mailbox, frozenset(names))
            covered: frozenset[str] = frozenset()
            source = claimed(place, asked)
            if source is not None:
                yield source.size or 0, source
                if not hasattr(source, "covers"):
                    continue
                covered = source.covers
            folders = []
            for name in names:
                path = folder / name
                if name in covered or (name.startswith(".") and not _is_subfolder(path, covered)):
                    continue
                try:
                    found = path.stat()
                except OSError as error:
                    if not path.is_symlink() or _promises_mail(path):  # links that lead nowhere are not lost mail
                        yield 0, self._unreadable(path, within, error)
                    continue
                if stat.S_ISDIR(found.st_mode):
                    folders.append((path, inner(within, maildir.folder_name(name))))
                elif stat.S_ISREG(found.st_mode):
                    yield found.st_size, self._file(path, within, asked, found.st_size) if look else None
            waiting += reversed(folders)

    def _file(self, path: Path, within: str, asked: list[Claim], size: int) -> Source | Failure | None:
        place = Place(path, within=within, mailbox=self.mailbox)
        promised = _promises_mail(path)
        try:
            if not size:
                # An empty mbox is a mailbox with nothing in it; an empty message is one that was lost.
                lost = path.name.lower().endswith((".eml", ".emlx"))
                return Failure(key_of(path), place.folder, "the file is empty") if lost else None
            source = claimed(place, asked)
            if source is None and promised:
                return Failure(key_of(path), place.folder, f"it is {_what_else(place)}")
            return source
        except opening.Damaged as error:
            return self._unreadable(path, within, error) if promised else None
        except OSError as error:
            return self._unreadable(path, within, error)

    def _unreadable(self, path: Path, within: str, error: OSError) -> Failure:
        return Failure(key_of(path), Place(path, within=within, mailbox=self.mailbox).folder, reason(error))


def _promises_mail(path: Path) -> bool:
    return opening.stem(path.name).lower().endswith(_MAIL_SUFFIXES)


def _is_subfolder(path: Path, covered: frozenset[str]) -> bool:
    """Whether a hidden name in a Maildir is one of Maildir++'s folders."""
    return "cur" in covered and (path / "cur").is_dir()
