"""Maildir and Maildir++: a folder with ``cur`` and ``new``, a file a message, its flags in its name.

See https://cr.yp.to/proto/maildir.html and https://www.courier-mta.org/imap/README.maildirquota.html.
"""

from __future__ import annotations

import binascii
import functools
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from datasette_oaken.hookspecs import hookimpl

from . import opening
from .base import MAX_MESSAGE, Claim, Cursors, Entry, Failure, Place, fingerprint_of, key_of, names_in, reason, storable

FLAGS = {"S": "seen", "R": "answered", "F": "flagged", "D": "draft", "T": "deleted", "P": "forwarded"}
_PARTS = ("new", "cur")
# ":" is not allowed in a name on Windows: programs there write "!" or ";" in its place.
_INFO = re.compile(r"[:!;]2,([A-Za-z]*)\Z")
_SHIFTED = re.compile(r"&([A-Za-z0-9+,]*)-")


def is_maildir(path: Path, names: frozenset[str]) -> bool:
    """Whether the folder, with these names in it, is a Maildir: ``cur``, with ``new`` or ``tmp`` beside it."""
    return "cur" in names and bool(names & {"new", "tmp"}) and (path / "cur").is_dir()


def split_name(name: str) -> tuple[str, frozenset[str], str]:
    """(unique name, flags, letters of keywords) of a message's file name."""
    info = _INFO.search(name)
    if info is None:
        return name, frozenset(), ""
    letters = info.group(1)
    flags = frozenset(FLAGS[letter] for letter in letters if letter in FLAGS)
    return name[: info.start()], flags, "".join(letter for letter in letters if letter.islower())


def folder_name(name: str) -> str:
    """A folder's name as a person reads it: Maildir++'s ``.Work.Sub`` is Work/Sub, and IMAP's modified UTF-7
    (RFC 3501, 5.1.3) is decoded where it is that."""
    if name.startswith("."):
        return "/".join(decode_utf7(part) for part in name[1:].split("."))
    return decode_utf7(name)


def decode_utf7(name: str) -> str:
    """``name`` decoded from IMAP's modified UTF-7, or as it is when it is not that."""
    if not name.isascii() or "&" not in name or "&" in _SHIFTED.sub("", name):
        return name
    try:
        return _SHIFTED.sub(_unshift, name)
    except (ValueError, binascii.Error):
        return name


def _unshift(shifted: re.Match[str]) -> str:
    packed = shifted.group(1).replace(",", "/")
    if not packed:
        return "&"
    return binascii.a2b_base64(packed + "=" * (-len(packed) % 4)).decode("utf-16-be")


@dataclass
class MaildirSource:
    """The messages of one Maildir folder; the folders within it are places of their own."""

    path: Path
    mailbox: str
    kind: str = "maildir"
    covers: frozenset[str] = frozenset({"cur", "new", "tmp"})

    @functools.cached_property
    def _names(self) -> list[tuple[str, str]]:
        """(unique name, path within the folder), in order of the first."""
        found = []
        for part in _PARTS:
            try:
                listed = names_in(self.path / part)
            except FileNotFoundError:
                continue
            found += [(split_name(name)[0], f"{part}/{name}") for name in listed if not name.startswith(".")]
        return sorted(found)

    @property
    def count(self) -> int | None:
        try:
            return len(self._names)
        except OSError:
            return None

    @functools.cached_property
    def size(self) -> int | None:
        """Bytes of the messages, asked of the file system once."""
        return sum(_size(f"{self.path}/{inner}") for _, inner in self._names) if self.count is not None else None

    def entries(self, cursors: Cursors | None = None) -> Iterator[Entry | Failure]:
        """Every message, in order of their unique names. Messages that go during the run are failures; new ones wait."""
        folder = key_of(self.path)
        try:
            names = self._names
        except OSError as error:
            yield Failure(folder, self.mailbox, reason(error))
            return
        keywords = _keywords(self.path)
        consumed = 0
        for unique, inner in names:
            key = f"{folder}/{storable(unique)}"
            try:
                stat = _stat(self.path, unique, inner)
            except OSError as error:
                yield Failure(key, self.mailbox, reason(error), consumed)
                continue
            _, flags, letters = split_name(inner)
            labels = tuple(keywords[letter] for letter in letters if letter in keywords)
            consumed += stat.st_size
            load = functools.partial(_load, self.path, unique, inner)
            yield Entry(key, self.mailbox, load, fingerprint_of(stat), flags, labels, consumed)


def _size(path: str) -> int:
    with suppress(OSError):
        return os.stat(path).st_size  # noqa: PTH116
    return 0


def _now(folder: Path, unique: str, error: OSError) -> str:
    """The path of a message's file that is not where it was: where another program has moved it to since, which is how
    flags change. Raises ``error`` when it is gone."""
    for part in _PARTS:
        with suppress(OSError):
            for name in names_in(folder / part):
                if name.startswith(unique) and split_name(name)[0] == unique:
                    return f"{folder}/{part}/{name}"
    raise error


def _stat(folder: Path, unique: str, inner: str) -> os.stat_result:
    try:
        return os.stat(f"{folder}/{inner}")  # noqa: PTH116 - ten thousands of them, and a Path costs more than the call
    except FileNotFoundError as error:
        return Path(_now(folder, unique, error)).stat()


def _load(folder: Path, unique: str, inner: str) -> bytes:
    try:
        return opening.read_all(folder / inner, MAX_MESSAGE)
    except FileNotFoundError as error:
        return opening.read_all(Path(_now(folder, unique, error)), MAX_MESSAGE)


def _keywords(folder: Path) -> dict[str, str]:
    """What the letters of keywords mean, as Dovecot writes it down: lines of a number and a name, 0 for ``a``."""
    try:
        lines = (folder / "dovecot-keywords").read_text("utf-8", "replace").splitlines()
    except OSError:
        return {}
    pairs = (line.split(" ", 1) for line in lines if " " in line)
    return {chr(ord("a") + int(number)): name for number, name in pairs if number.isdecimal() and int(number) < 26}


def claim(place: Place) -> MaildirSource | None:
    """A folder with ``cur`` and ``new``. The one that a person named is INBOX."""
    if not place.is_dir or not is_maildir(place.path, place.names):
        return None
    return MaildirSource(place.path, place.named("" if place.within else "INBOX"))


@hookimpl(trylast=True)
def register_sources() -> list[Claim]:
    return [claim]
