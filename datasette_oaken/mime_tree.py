"""Bytes to a tree of parts: one pass, no recursion, offsets instead of copies; linear in the size, whatever the shape.

Only lines that begin with ``--`` are looked at in bodies. Where a message breaks the rules, what a mail client would still show
is kept: a missing blank line, boundaries that are not stated, closed too early, used twice or never closed, header lines that
are wrapped without indentation, messages and multiparts in a transfer encoding that RFC 2045 section 6.4 does not allow them.
"""

from __future__ import annotations

import re
from functools import cached_property

from .charsets import decode, header_text, html_charset, plain_lines
from .embedded import Embedded, embedded_files
from .mime_fields import ENCODINGS, base64_text, decode_transfer, media_type, parameters, safe_filename

MESSAGES = frozenset(
    {"message/rfc822", "message/global", "message/news", "text/rfc822-headers", "message/global-headers"}
)
TNEF = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})

_NAME = rb"[!-9;-~]+[ \t]*:"
_FIELD = re.compile(rb"^([!-9;-~]+)[ \t]*:(.*(?:\n(?!" + _NAME + rb"|>?From ).*)*)", re.M)
_HEAD_END = re.compile(rb"\n(?:\r*(?:\n|\Z)|(?=--))")
_JUNK = re.compile(rb"^(?!" + _NAME + rb"|[ \t]|>?From )", re.M)
_INDENTED = re.compile(rb"[ \t]+(?=" + _NAME + rb")")  # the first line of a block continues nothing
_BLANK = re.compile(rb"(?:\r*\n)*")
_BLANK_LINE = re.compile(rb"\r*\n")
_KNOWN = re.compile(
    rb"^(?:from|to|cc|bcc|subject|date|sender|reply-to|message-id|received|return-path|references|in-reply-to|"
    rb"content-[a-z-]+|mime-version|delivered-to|status|x-[a-z0-9-]+|list-[a-z]+|resent-[a-z]+)[ \t]*:",
    re.M | re.I,
)
_GUESSED = re.compile(rb"^--([^\s-][^\r\n]{0,200}?)[ \t]*\r*\nContent-", re.M | re.I)
_ENCODED_DEPTH = 16  # messages within encoded messages: each level is decoded, so their number is bounded


class Part:
    """One node of the tree. ``data[start:stop]`` is its body, still in its transfer encoding."""

    boundary: bytes | None = None
    content: bytes | None = None  # of a file found inside another part's bytes: its own
    span: tuple[int, int] | None = None  # and where in that part's decoded bytes it was
    number = 0

    def __init__(self, data: bytes, position: int, parent: Part | None) -> None:
        self.data = data
        self.parent = parent
        self.children: list[Part] = []
        self.stop = len(data)
        # The message/rfc822 part that it lies in, or None in the message itself; and how many such are around it.
        self.message: Part | None = None
        self.level = 0
        default = "text/plain"
        if parent is not None:
            self.message = parent if parent.is_message else parent.message
            self.level = parent.level + parent.is_message
            if parent.content_type == "multipart/digest":
                default = "message/rfc822"  # RFC 2046 section 5.1.5
        head, self.start = _head(data, position)
        self.headers: dict[bytes, list[bytes]] = {}
        for name, value in _FIELD.findall(head):
            self.headers.setdefault(name.lower(), []).append(value)
        self.content_type: str = default
        self.params: dict[str, str] = {}
        if field := self.first(b"content-type"):
            kind, self.params = parameters(header_text(field))
            self.content_type = media_type(kind, default)
        self.disposition = ""
        self.names: dict[str, str] = {}
        if field := self.first(b"content-disposition"):
            self.disposition, self.names = parameters(header_text(field))
        self.encoding = ""
        if field := self.first(b"content-transfer-encoding"):
            self.encoding = re.split(r"[;( ]", header_text(field).lower().strip("\"' "), maxsplit=1)[0].strip("\"'")
        if self.is_container:
            # Compared with lines as they stand, so in the bytes that it was written in.
            self.boundary = self.params.get("boundary", "").rstrip().encode("utf-8", "replace") or None

    def first(self, name: bytes) -> bytes | None:
        """The raw value of the first header ``name`` (lower case) that has one, or None."""
        return next((value for value in self.headers.get(name, ()) if value.strip()), None)

    @property
    def is_container(self) -> bool:
        """Whether it says that it is a multipart; without children it is read as text all the same."""
        return self.content_type.startswith("multipart/")

    @property
    def is_message(self) -> bool:
        return self.content_type in MESSAGES

    @property
    def is_tnef(self) -> bool:
        return self.content_type in TNEF or (self.filename or "").lower() == "winmail.dat"

    @cached_property
    def filename(self) -> str | None:
        """Its file name decoded, without path and control characters; None where it has none."""
        return safe_filename(self.names.get("filename") or self.params.get("name") or self.names.get("name"))

    @property
    def content_id(self) -> str | None:
        """Its Content-ID without the angle brackets."""
        field = self.first(b"content-id")
        return header_text(field).removeprefix("<").removesuffix(">").strip() or None if field else None

    def payload(self) -> bytes:
        """Its bytes with the transfer encoding undone (RFC 2045 section 6); what cannot be undone is given as it is."""
        if self.content is not None:
            return self.content
        return decode_transfer(self.data[self.start : self.stop], self.encoding)

    @cached_property
    def _source(self) -> tuple[bytes, bytes]:
        """A text part's decoded bytes, without files written into it, and what stands below its base64 undecoded."""
        if self.encoding == "base64" and self.content is None:
            data, tail = base64_text(self.data[self.start : self.stop])
            return decode_transfer(data, self.encoding), tail
        data = self.payload()
        pieces, position = [], 0
        for start, stop in (child.span for child in self.children if child.span):
            pieces.append(data[position:start])
            position = stop
        return b"".join([*pieces, data[position:]]) if pieces else data, b""

    def text(self, hint: str | None = None) -> str:
        """A text part as text, with ``\\n`` line ends; see ``charsets.decode``. ``hint``: a charset, where it states none."""
        data, tail = self._source
        label = self.params.get("charset")
        if label is None and self.content_type == "text/html":
            label = html_charset(data)
        text = decode(data, label, hint)
        return plain_lines(f"{text}\n{decode(tail, label, hint)}" if tail.strip() else text)


def _head(data: bytes, position: int) -> tuple[bytes, int]:
    """The header block that begins at ``position`` and where the body begins."""
    if data[position : position + 1] in (b"\n", b"\r") and (blank := _BLANK_LINE.match(data, position)):
        return b"", blank.end()
    if data.startswith(b"--", position):
        return b"", position
    if indented := _INDENTED.match(data, position):
        position = indented.end()
    end = _HEAD_END.search(data, position)
    stop, body = end.span() if end else (len(data), len(data))
    head = data[position:stop]
    junk = _JUNK.search(head)
    if junk and not _KNOWN.search(head, junk.start()):
        # No blank line between header and body: nothing that follows is a header, so the body begins here.
        return head[: junk.start()].removesuffix(b"\n"), position + junk.start()
    return head, body


def parse(raw: bytes) -> list[Part]:
    """Every part of ``raw`` in depth-first order; the first is the message itself. Never raises."""
    if b"\n" not in raw and b"\r" in raw:
        raw = raw.replace(b"\r", b"\n")
    position = 3 if raw.startswith(b"\xef\xbb\xbf") else 0
    blank = _BLANK.match(raw, position)
    if blank and blank.end() > position and _KNOWN.match(raw[blank.end() : blank.end() + 200]):
        position = blank.end()
    walk = _Walk([])
    walk.run(raw, walk.enter(raw, position, None))
    return walk.parts


class _Walk:
    """A pass over one buffer: the parts that are open, outermost first, and where among them a boundary belongs."""

    def __init__(self, parts: list[Part], depth: int = 0) -> None:
        self.parts = parts
        self.depth = depth
        self.open: list[Part] = []
        self.boundaries: dict[bytes, list[int]] = {}  # a boundary -> positions in self.open, the innermost last

    def add(self, part: Part, parent: Part | None) -> None:
        part.number = len(self.parts)
        self.parts.append(part)
        if parent is not None:
            parent.children.append(part)

    def push(self, part: Part) -> None:
        if part.boundary is not None:
            self.boundaries.setdefault(part.boundary, []).append(len(self.open))
        self.open.append(part)

    def enter(self, data: bytes, position: int, parent: Part | None) -> int:
        """Open the part whose header is at ``position``, and the messages that begin at once in it; returns where its body is."""
        while True:
            part = Part(data, position, parent)
            self.add(part, parent)
            if part.is_container and part.boundary is None:
                guess = _GUESSED.search(data, part.start, part.start + 5000)
                part.boundary = guess[1] if guess else None
            self.push(part)
            if not part.is_message or part.encoding in ENCODINGS:
                return part.start
            position, parent = part.start, part

    def leave(self, keep: int, stop: int) -> None:
        """Close the open parts from ``keep`` on: their bodies end at ``stop``."""
        while len(self.open) > keep:
            part = self.open.pop()
            part.stop = max(part.start, stop)
            if part.boundary is not None:
                self.boundaries[part.boundary].pop()
            if part.children:
                continue
            if part.encoding in ENCODINGS and (part.is_message or part.boundary is not None):
                self.enter_encoded(part)
            elif part.content_type == "text/plain" or part.is_tnef:
                for found in self.embedded(part):
                    self.add(found, part)

    def enter_encoded(self, part: Part) -> None:
        if self.depth >= _ENCODED_DEPTH:
            return
        inner = part.payload()
        walk = _Walk(self.parts, self.depth + 1)
        if part.is_message:
            walk.run(inner, walk.enter(inner, 0, part))
        elif b"--" + (part.boundary or b"") in inner:
            walk.push(part)
            stop = part.stop
            walk.run(inner, 0)
            part.stop = stop

    def embedded(self, part: Part) -> list[Part]:
        """Files written into the bytes of a part that is not MIME: uuencode in text, and Outlook's winmail.dat."""
        if part.is_tnef:
            files = embedded_files(part.payload(), tnef=True)
        elif part.encoding != "base64" and part.data.find(b"begin ", part.start, part.stop) >= 0:
            files = embedded_files(part.payload(), tnef=False)
        else:
            return []
        return [_embedded_part(file, part) for file in files]

    def run(self, data: bytes, position: int) -> None:
        """Find the delimiter lines from ``position`` on, and close and open parts by them."""
        while self.boundaries:
            # A part that was just opened may begin with its own delimiter.
            if not (data.startswith(b"--", position) and (position == 0 or data[position - 1] == 10)):
                found = data.find(b"\n--", position)
                if found < 0:
                    break
                position = found + 1
            line_end = data.find(b"\n", position)
            line_end = len(data) if line_end < 0 else line_end
            token = data[position + 2 : line_end].rstrip(b" \t\r")
            where, closing = self.boundaries.get(token), False
            if not where and token.endswith(b"--"):
                where, closing = self.boundaries.get(token[:-2]), True
            if not where:
                position = line_end
                continue
            index = where[-1]
            # The line end before a delimiter belongs to it (RFC 2046 section 5.1.1).
            stop = position - 1 if position else 0
            self.leave(index + 1, stop - 1 if stop and data[stop - 1] == 13 else stop)
            if not closing:
                position = self.enter(data, min(line_end + 1, len(data)), self.open[index])
                continue
            if len(where) > 1:  # some mailers use one boundary at two levels
                where.pop()
                self.open[index].boundary = None
            position = line_end
        self.leave(0, len(data))


def _embedded_part(file: Embedded, parent: Part) -> Part:
    part = Part(b"", 0, parent)
    part.content = file.data
    part.content_type = file.content_type
    part.names = {"filename": file.filename} if file.filename else {}
    part.params = {"charset": file.charset} if file.charset else {}
    part.disposition = "attachment" if file.filename else "inline"
    part.span = file.span
    if file.content_id:
        part.headers[b"content-id"] = [file.content_id.encode("utf-8", "replace")]
    return part
