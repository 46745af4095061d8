"""The MIME of one raw message, as both sides read it: ingest for text and attachments, the site for downloads and HTML.

Beneath mail-parser, on purpose. Its tree is the standard library's, which goes through every line in Python, recurses once
a level (mail-parser then gives the whole message up: ``MailParserRecursionError``), compares every line with every open
boundary, and does not open an encoded ``message/rfc822``. tests/test_mime.py shows each. Here: ``mime_tree`` reads the tree,
``mime_fields`` its fields and encodings, ``embedded`` what is inside parts, ``mime_body`` chooses, ``charsets`` makes text.

A part's number is its position in a depth-first walk, from 0 (the message itself).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from .mime_body import attachment_parts, body
from .mime_tree import Part, parse

__all__ = [
    "Attachment",
    "Part",
    "attachment_parts",
    "body",
    "describe",
    "html_to_show",
    "inline_parts",
    "parse",
    "part_bytes",
]


@dataclass(slots=True)
class Attachment:
    """What is stored of a part that is kept beside the text; ``size`` in bytes and ``sha256`` (hex) are of the decoded bytes."""

    part: int
    filename: str | None
    content_type: str
    size: int
    sha256: str
    content_id: str | None


def describe(part: Part) -> tuple[Attachment, bytes]:
    """A part as an attachment, and its decoded bytes."""
    data = part.payload()
    digest = hashlib.sha256(data).hexdigest()
    return Attachment(part.number, part.filename, part.content_type, len(data), digest, part.content_id), data


def part_bytes(raw: bytes, part: int) -> tuple[Attachment, bytes]:
    """Part number ``part`` of the message ``raw``, for a download. Raises LookupError when there is no such part."""
    parts = parse(raw)
    if not 0 <= part < len(parts):
        raise LookupError(f"the message has no part {part}")
    return describe(parts[part])


def html_to_show(raw: bytes) -> str | None:
    """The HTML that a mail client shows of the message (not of messages nested in it), unsanitised; None if it is plain text."""
    shown = body(parse(raw), prefer="text/html")
    pages = [part.text() for part in shown if part.content_type == "text/html" and not part.level]
    return "\n<hr>\n".join(pages) or None


def inline_parts(raw: bytes) -> dict[str, int]:
    """Content-ID (without brackets) to part number, for the ``cid:`` addresses in a message's HTML."""
    return {part.content_id: part.number for part in reversed(parse(raw)) if part.content_id}
