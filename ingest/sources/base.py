"""What every source is made of: an entry for a message that can be loaded, a failure, a place to look at, and the names of both.

A source yields light entries and the caller loads only what it does not know yet::

    for entry in source.entries():
        if isinstance(entry, Failure):
            ...                                       # one row in ingest_failures; the rest goes on
        elif isinstance(entry, Resumed):
            ...                                       # the file has only grown: what lay in it is as it was
        elif known(entry.key, entry.fingerprint):
            ...                                       # nothing was read; flags and labels may still have changed
        else:
            raw = entry.load()                        # raises OSError: Failure.of(entry, error)

Keys are stable and unique: a file's absolute path for a file that is one message, a Maildir message's folder and unique name
(not its flags, nor whether it lies in ``new`` or ``cur``), the path, ``#`` and the offset of its separator in an mbox.

A source of one's own is a plugin (``datasette_oaken.hookspecs``): ``register_sources`` returns functions that are given a
``Place`` and return a ``Source`` when it is theirs, or None.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from . import opening

Cursors = Mapping[tuple[str, str], str]
"""(mailbox, file's name) -> where to go on in that file: what its last ``Entry.cursor`` said."""

HEAD = 64 * 1024
"""Bytes of a file, decompressed, that are enough to tell what it is."""

MAX_MESSAGE = 256 * 1024 * 1024
"""Bytes of the largest message that is taken. The largest that mail servers pass on are 150 MB; more is damage, and is
listed as a failure rather than held in memory."""


@dataclass(slots=True)
class Entry:
    """One message of a source.

    ``load()`` returns its bytes as they came in (mbox quoting undone), or raises OSError when they are no longer to be had;
    it may be called in another process. ``fingerprint`` changes when the bytes do. ``flags`` are the source's own, of
    "seen" "answered" "flagged" "deleted" "draft" "forwarded". ``consumed`` is how many bytes of ``source.size`` are done with
    once this message is. ``cursor`` is (the file's name, where to go on in it), to be kept in the same transaction as the
    message, or None where going on means listing again.
    """

    key: str
    mailbox: str
    load: Callable[[], bytes]
    fingerprint: str | None = None
    flags: frozenset[str] = frozenset()
    labels: tuple[str, ...] = ()
    consumed: int = 0
    cursor: tuple[str, str] | None = None


@dataclass(slots=True)
class Failure:
    """Something that should have been mail and could not be read, and why, in words for a person."""

    key: str
    mailbox: str
    error: str
    consumed: int = 0

    @classmethod
    def of(cls, entry: Entry, error: OSError) -> Failure:
        """The failure of loading ``entry``."""
        return cls(entry.key, entry.mailbox, reason(error), entry.consumed)


@dataclass(slots=True)
class Resumed:
    """A file that has only grown since its cursor was kept: what lies in it before ``start`` is as it was, and comes not again.

    ``name``: the file's, of which ``name#number`` are the keys in it; comes before the first entry of the file, if any.
    """

    name: str
    mailbox: str
    start: int
    consumed: int = 0


class Source(Protocol):
    """Where mail comes from. ``size``: bytes in all; ``count``: messages in all; None when that is not known cheaply."""

    kind: str

    @property
    def size(self) -> int | None: ...

    @property
    def count(self) -> int | None: ...

    def entries(self, cursors: Cursors | None = None) -> Iterator[Entry | Failure | Resumed]:
        """Every message in a fixed order. With ``cursors`` ((mailbox, file's name) to cursor, as given by ``Entry.cursor``), a
        file that has only grown since yields ``Resumed`` and its new messages alone; any other is read whole."""
        ...


@dataclass
class Place:
    """A file or folder that may be mail, as a source is shown it.

    ``within``: the mailbox name that the folders between the path a person named and this file make, "" for none;
    for a folder, itself included. ``mailbox``: the name the person asked for, which overrides. ``names``: what a folder holds.
    """

    path: Path
    is_dir: bool = False
    within: str = ""
    mailbox: str | None = None
    names: frozenset[str] = field(default_factory=frozenset)

    @cached_property
    def head(self) -> bytes:
        """The first ``HEAD`` bytes, decompressed; b"" for a folder. Raises OSError."""
        return b"" if self.is_dir else opening.head(self.path, HEAD)

    def named(self, own: str) -> str:
        """The mailbox's name, where the source would by itself call it ``own``."""
        return storable(self.mailbox or "/".join(filter(None, (self.within, own))))

    @property
    def folder(self) -> str:
        """The mailbox's name for a message that has none of its own: its folder's."""
        return storable(self.mailbox or self.within or undecorated(absolute(self.path).parent.name) or "mail")


Claim = Callable[[Place], Source | None]
"""What ``register_sources`` returns a list of. Reads ``place.head``, not the whole file, and returns None when it is not its kind."""


def key_of(path: Path) -> str:
    """The key of a file: its absolute path with forward slashes. Links are not followed, so moving what one points to keeps it."""
    return storable(absolute(path).as_posix())


def absolute(path: Path) -> Path:
    """``path`` from the root on, without ``..``, links kept as they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted. Raises OSError."""
    with os.scandir(folder) as found:
        return sorted(entry.name for entry in found)


def storable(name: str) -> str:
    """``name`` as text that SQLite takes: bytes of a file name that are no UTF-8 become ``\\xNN``, so that it stays unique."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def inner(within: str, folder: str) -> str:
    """The mailbox name of ``folder`` in ``within``. Google's ``Takeout`` holds all it gives, so it says nothing."""
    own = undecorated(folder)
    return within if own == "Takeout" else "/".join(filter(None, (within, own)))


def undecorated(name: str) -> str:
    """A folder's name without what mail programs add to it: Apple's ``.mbox``, Thunderbird's ``.sbd``."""
    for suffix in (".imapmbox", ".mbox", ".sbd"):
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def reason(error: OSError) -> str:
    """Why the system could not read, without the path (the key tells it)."""
    return error.strerror or str(error) or type(error).__name__


def digest_of(raw: bytes) -> str:
    """The fingerprint of a message that had to be read anyway."""
    return f"{len(raw)}:{hashlib.sha256(raw).hexdigest()[:16]}"


def fingerprint_of(stat: os.stat_result) -> str:
    """The fingerprint of a file that is one message: it changes when the file is written, without it being read."""
    return f"{stat.st_mtime_ns}:{stat.st_size}"
