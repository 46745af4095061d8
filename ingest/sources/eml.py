"""Files that are one message each: ``.eml``, Apple's ``.emlx``, and files of any name that begin as a message does."""

from __future__ import annotations

import errno
import plistlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from datasette_oaken.hookspecs import hookimpl

from . import opening
from .base import (
    MAX_MESSAGE,
    Claim,
    Cursors,
    Entry,
    Failure,
    Place,
    absolute,
    fingerprint_of,
    key_of,
    reason,
    storable,
    undecorated,
)

_FIELD = re.compile(rb"([!-9;-~]{1,76})[ \t]*:")
_TELLING = frozenset(
    b"from sender message-id received return-path delivered-to mime-version x-mailer dkim-signature resent-from envelope-to content-transfer-encoding".split()
)
_COMMON = _TELLING | frozenset(
    b"to cc bcc subject date reply-to in-reply-to references content-type list-id status".split()
)
_EMLX_LENGTH = re.compile(rb"\s*(\d{1,12})[ \t]*\r?\n")
_PROPERTIES = 1 << 20
_EMLX_FLAGS = ((0, "seen"), (1, "deleted"), (2, "answered"), (4, "flagged"), (6, "draft"), (8, "forwarded"))
"""Bits of ``flags`` in the property list behind a message in an .emlx."""


def looks_like_message(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is an RFC 5322 message by its header: field lines up to the first empty one
    (malformed ones may be among them), two of the fields that mail has, one of which only mail has. An mbox separator,
    quoted or not, may come first."""
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    lines = head[:16384].splitlines()
    if lines and lines[0].lstrip(b">").startswith(b"From "):
        del lines[0]
    names: set[bytes] = set()
    malformed = 0
    for line in lines:
        if not line.strip():
            break
        if line[:1] in b" \t" and names:
            continue
        field = _FIELD.match(line)
        if field:
            names.add(field.group(1).lower())
        else:
            malformed += 1
            if not names or malformed > 3:
                return False
    return len(names & _COMMON) >= 2 and bool(names & _TELLING)


@dataclass
class EmlSource:
    """A file that is one message, compressed or not. Its bytes are the message as they stand."""

    path: Path
    mailbox: str
    kind: str = "eml"
    count: int | None = 1

    @property
    def size(self) -> int | None:
        try:
            return self.path.stat().st_size
        except OSError:
            return None

    def entries(self, cursors: Cursors | None = None) -> Iterator[Entry | Failure]:
        """The one message."""
        key = key_of(self.path)
        try:
            stat = self.path.stat()
            flags = self.flags()
        except OSError as error:
            yield Failure(key, self.mailbox, reason(error))
            return
        if stat.st_size == 0:
            yield Failure(key, self.mailbox, "the file is empty")
            return
        yield Entry(key, self.mailbox, self.load, fingerprint_of(stat), flags, consumed=stat.st_size)

    def load(self) -> bytes:
        """The message. Raises OSError."""
        return opening.read_all(self.path, MAX_MESSAGE)

    def flags(self) -> frozenset[str]:
        """The flags kept beside the message. Raises OSError."""
        return frozenset()


@dataclass
class EmlxSource(EmlSource):
    """Apple Mail's file of one message: its length, the message, a property list with its flags."""

    kind: str = "emlx"

    def load(self) -> bytes:
        return split_emlx(opening.read_all(self.path, MAX_MESSAGE))[0]

    def flags(self) -> frozenset[str]:
        with opening.Opened(self.path) as opened:
            length = _EMLX_LENGTH.match(opened.read(32))
            if length is None:
                return frozenset()
            opened.seek(length.end() + int(length.group(1)))
            return emlx_flags(opened.read(_PROPERTIES))


def split_emlx(data: bytes) -> tuple[bytes, bytes]:
    """(message, property list) of an .emlx. Raises OSError when it does not begin with a length or is cut short."""
    length = _EMLX_LENGTH.match(data)
    if length is None:
        raise OSError(errno.EINVAL, "not an Apple Mail message: its first line is not a length")
    stop = length.end() + int(length.group(1))
    if stop > len(data):
        raise OSError(
            errno.EINVAL,
            f"cut short: it should hold {length.group(1).decode()} bytes and holds {len(data) - length.end()}",
        )
    return data[length.end() : stop], data[stop:]


def emlx_flags(properties: bytes) -> frozenset[str]:
    """The flags in an .emlx's property list; none when it cannot be read, since the message still can."""
    try:
        bits = int(plistlib.loads(properties.strip()).get("flags", 0))
    except Exception:  # plistlib raises what its parsers do
        return frozenset()
    return frozenset(name for bit, name in _EMLX_FLAGS if bits >> bit & 1)


def apple_mailbox(path: PurePath) -> str:
    """The mailbox that the folders around an .emlx name (``Work.mbox/Sub.mbox/…/Messages/1.emlx`` is Work/Sub), or ""."""
    boxes = [part for part in path.parts if part.lower().endswith((".mbox", ".imapmbox"))]
    return "/".join(undecorated(part) for part in boxes)


def is_message(name: str, head: bytes) -> bool:
    """Whether a file is one message: by its name (``.eml``, or ``.msg`` where it is not Outlook's) unless its bytes are no
    text, or by its header."""
    if opening.stem(name).lower().endswith((".eml", ".msg")) and head and b"\0" not in head[:512]:
        return True
    return looks_like_message(head)


def is_emlx(name: str, head: bytes) -> bool:
    """Whether a file is Apple Mail's."""
    return opening.stem(name).lower().endswith(".emlx") and _EMLX_LENGTH.match(head) is not None


def claim(place: Place) -> EmlSource | None:
    """A file that is one message."""
    if place.is_dir:
        return None
    name = place.path.name
    if is_emlx(name, place.head):
        mailbox = place.mailbox or apple_mailbox(absolute(place.path)) or place.folder
        return EmlxSource(place.path, storable(mailbox))
    return EmlSource(place.path, place.folder) if is_message(name, place.head) else None


@hookimpl(trylast=True)
def register_sources() -> list[Claim]:
    return [claim]
