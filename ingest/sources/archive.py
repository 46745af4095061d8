"""Archives, zip and tar (compressed or not), with mboxes and messages in them: Google Takeout's above all, read without unpacking."""

from __future__ import annotations

import functools
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from datasette_oaken.hookspecs import hookimpl

from . import eml, maildir, mbox, opening, separators
from .base import (
    HEAD,
    MAX_MESSAGE,
    Claim,
    Cursors,
    Entry,
    Failure,
    Place,
    Resumed,
    digest_of,
    inner,
    key_of,
    reason,
    storable,
)

_ZIP = b"PK\x03\x04"


@dataclass(slots=True)
class Member:
    """A file in an archive, while the archive stands at it; ``consumed`` says how much of the source's size is gone through."""

    name: str
    file: BinaryIO
    size: int
    consumed: Callable[[], int]


@dataclass
class ArchiveSource:
    """Every mbox and message in an archive, in its order. Keys are the archive's path, ``!``, the member's name and, in an
    mbox, the offset. A zip is read in place; a tar from its beginning, since it has no index."""

    path: Path
    within: str = ""
    mailbox: str | None = None
    kind: str = "archive"

    @functools.cached_property
    def size(self) -> int | None:
        try:
            if self._is_zip():
                with zipfile.ZipFile(self.path) as packed:
                    return sum(info.file_size for info in packed.infolist())
            return self.path.stat().st_size
        except (OSError, zipfile.BadZipFile):
            return None

    @property
    def count(self) -> int | None:
        return None

    def _is_zip(self) -> bool:
        return opening.head(self.path, len(_ZIP)) == _ZIP

    def holds_mail(self) -> bool:
        """Whether there is any message; looks no further than the first. False also for what cannot be read."""
        return any(isinstance(entry, Entry) for entry in self.entries())

    def entries(self, cursors: Cursors | None = None) -> Iterator[Entry | Failure | Resumed]:
        """Every message. An archive that breaks off, and a member that does, is a failure."""
        try:
            for member in _zip(self.path) if self._is_zip() else _tar(self.path):
                yield from self._member(member)
        # It wants a password (RuntimeError), or has a compression that zipfile does not know.
        except (OSError, EOFError, zipfile.BadZipFile, tarfile.TarError, RuntimeError) as error:
            words = reason(error) if isinstance(error, OSError) else str(error)
            mailbox = self._mailbox(PurePosixPath())
            yield Failure(key_of(self.path), mailbox, f"the archive cannot be read on: {words}", self.size or 0)

    def _mailbox(self, name: PurePosixPath, own: str = "") -> str:
        within = functools.reduce(
            inner, (maildir.folder_name(part) for part in name.parts[:-1] if part not in "/.."), self.within
        )
        return storable(self.mailbox or "/".join(filter(None, (within, own))) or opening.stem(self.path.stem))

    def _member(self, member: Member) -> Iterator[Entry | Failure | Resumed]:
        name = PurePosixPath(storable(member.name))
        key = f"{key_of(self.path)}!{name}"
        if name.name.startswith((".", "__MACOSX")) or not member.size:
            return
        mailbox = self._mailbox(name)
        try:
            with opening.Opened(member.file) as opened:
                head = opened.peek(HEAD)
                if separators.begins(head) is not None and not mbox.is_lone_message(name.name, lambda: head):
                    for entry in mbox.read(opened, key, self._mailbox(name, mbox.mailbox_of(name))):
                        entry.consumed = member.consumed()
                        if isinstance(entry, Entry):
                            entry.cursor = None  # there is no going on in an archive: it is written once
                        yield entry
                elif eml.is_emlx(name.name, head):
                    raw, properties = eml.split_emlx(opening.rest(opened, MAX_MESSAGE))
                    own = self.mailbox or eml.apple_mailbox(name) or mailbox
                    yield _entry(key, storable(own), raw, member, eml.emlx_flags(properties))
                elif eml.is_message(name.name, head):
                    yield _entry(key, mailbox, opening.rest(opened, MAX_MESSAGE), member)
        except OSError as error:
            yield Failure(key, mailbox, reason(error), member.consumed())


def _entry(key: str, mailbox: str, raw: bytes, member: Member, flags: frozenset[str] = frozenset()) -> Entry:
    load = functools.partial(bytes, raw)
    return Entry(key, mailbox, load, digest_of(raw), flags, consumed=member.consumed())


def _zip(path: Path) -> Iterator[Member]:
    before = 0
    with zipfile.ZipFile(path) as packed:
        for info in packed.infolist():
            if not info.is_dir():
                with packed.open(info) as file:
                    yield Member(info.filename, cast(BinaryIO, file), info.file_size, lambda: before + file.tell())  # noqa: B023
            before += info.file_size


def _tar(path: Path) -> Iterator[Member]:
    with opening.Opened(path) as opened:
        stream = cast(BinaryIO, opened)  # read() is all that a stream of tar needs
        with tarfile.open(fileobj=stream, mode="r|", bufsize=1 << 20) as packed:
            for info in packed:
                file = packed.extractfile(info) if info.isreg() else None
                if file is not None:
                    yield Member(info.name, cast(BinaryIO, file), info.size, lambda: opened.position)


def claim(place: Place) -> ArchiveSource | None:
    """A zip or tar that holds any mail."""
    if not place.head.startswith(_ZIP) and place.head[257:262] != b"ustar":
        return None
    source = ArchiveSource(place.path, place.within, place.mailbox)
    return source if source.holds_mail() else None


@hookimpl(trylast=True)
def register_sources() -> list[Claim]:
    return [claim]
