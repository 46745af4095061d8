"""Flags and labels that a store wrote into the message itself: they may change while the message stays the same one."""

from __future__ import annotations

import re

from datasette_oaken import mime

from .message import Headers

_ANY = re.compile(rb"^(?:status|x-status|x-mozilla-status|keywords|x-keywords|x-gmail-labels)[ \t]*:", re.I | re.M)


def store_marks(raw: bytes) -> tuple[frozenset[str], tuple[str, ...]]:
    """(flags, labels) of a message, from its header alone: cheap enough to do again for every known message."""
    ends = [end for end in (raw.find(b"\n\n"), raw.find(b"\r\n\r\n")) if end >= 0]
    head = raw[: min(ends)] if ends else raw[:65536]
    if not _ANY.search(head):
        return frozenset(), ()
    fields = Headers(mime.parse(head + b"\n\n")[0])
    return frozenset(fields.flags()), tuple(fields.labels())
