"""The MIME tree of one raw message, as both sides read it: ingest for text and attachments, the site for downloads and HTML.

Beneath mail-parser, on purpose. Its tree is the standard library's, which goes through every line in Python, recurses once
a level (mail-parser then gives the whole message up: ``MailParserRecursionError``), compares every line with every open
boundary, and does not open an encoded ``message/rfc822``. Here one pass over the bytes looks at lines that begin with ``--``
only, keeps offsets instead of copies, and is linear in the size of the message whatever its shape.

A part's number is its position in a depth-first walk, from 0 (the message itself).
"""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from .charsets import decode, decode_words, header_text, html_charset, plain_lines

_FIELD = re.compile(rb"^([!-9;-~]+)[ \t]*:(.*(?:\n(?![!-9;-~]+[ \t]*:|>?From ).*)*)", re.M)
_HEAD_END = re.compile(rb"\n(?:\r*(?:\n|\Z)|(?=--))")
_JUNK = re.compile(rb"^(?![!-9;-~]+[ \t]*:|[ \t]|>?From )", re.M)
_BLANK = re.compile(rb"(?:\r*\n)*")
_KNOWN = re.compile(
    rb"^(?:from|to|cc|bcc|subject|date|sender|reply-to|message-id|received|return-path|references|in-reply-to|"
    rb"content-[a-z-]+|mime-version|delivered-to|status|x-[a-z0-9-]+|list-[a-z]+|resent-[a-z]+)[ \t]*:",
    re.M | re.I,
)
_PARAMETER = re.compile(r'[;\s]\s*([^\s=;"()]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)', re.S)
_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/=\s]*")
_STUB = re.compile(r"\bhtml\b|\bbrowser\b|navegador|navigateur|webversion|onlineversion", re.I)
_UNSAFE_NAME = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MESSAGES = {"message/rfc822", "message/global", "message/news"}
_UNSEEN = {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
_ENCODED_DEPTH = 16  # messages within encoded messages: each level is decoded, so their number is bounded

Rope = list  # of Part and Rope: the pieces of a body, joined without copying


@dataclass(slots=True)
class Attachment:
    """What is stored of a part that is kept beside the text; ``size`` in bytes and ``sha256`` (hex) are of the decoded bytes."""

    part: int
    filename: str | None
    content_type: str
    size: int
    sha256: str
    content_id: str | None


class Part:
    """One node of the tree. ``data[start:stop]`` is its body, still in its transfer encoding."""

    __slots__ = (
        "boundary",
        "children",
        "content_type",
        "data",
        "disposition",
        "encoding",
        "headers",
        "message",
        "names",
        "number",
        "params",
        "parent",
        "start",
        "stop",
    )

    def __init__(self, data: bytes, position: int, parent: Part | None) -> None:
        self.data = data
        self.parent = parent
        # The message/rfc822 part that it lies in, or None in the message itself.
        self.message: Part | None = None if parent is None else parent if parent.is_message else parent.message
        self.children: list[Part] = []
        self.number = 0
        self.stop = len(data)
        head, self.start = _head(data, position)
        self.headers: dict[bytes, list[bytes]] = {}
        for name, value in _FIELD.findall(head):
            self.headers.setdefault(name.lower(), []).append(value)
        default: str = (
            "message/rfc822" if parent is not None and parent.content_type == "multipart/digest" else "text/plain"
        )
        self.content_type = default
        self.params: dict[str, str] = {}
        if value := self.first(b"content-type"):
            self.content_type, self.params = parameters(header_text(value))
            self.content_type = _content_type(self.content_type, default)
        self.disposition = ""
        self.names: dict[str, str] = {}
        if value := self.first(b"content-disposition"):
            self.disposition, self.names = parameters(header_text(value))
        value = self.first(b"content-transfer-encoding")
        self.encoding = (
            header_text(value).lower().partition(";")[0].partition("(")[0].strip().strip("\"'") if value else ""
        )
        self.boundary = None
        if self.content_type.startswith("multipart/"):
            boundary = self.params.get("boundary", "").rstrip()
            self.boundary = boundary.encode("utf-8", "replace") or None

    def first(self, name: bytes) -> bytes | None:
        """The raw value of the first header ``name`` (lower case), or None."""
        values = self.headers.get(name)
        return values[0] if values else None

    @property
    def is_multipart(self) -> bool:
        return bool(self.children) and not self.is_message

    @property
    def is_message(self) -> bool:
        return self.content_type in _MESSAGES

    @property
    def is_attached(self) -> bool:
        """Whether it is to be saved rather than read: so disposed, or named and not said to be inline."""
        return self.disposition == "attachment" or (self.disposition not in ("inline", "") and bool(self.filename))

    @property
    def filename(self) -> str | None:
        """Its file name decoded, without path and control characters; None where it has none."""
        return safe_filename(self.names.get("filename") or self.params.get("name") or self.names.get("name"))

    @property
    def content_id(self) -> str | None:
        value = self.first(b"content-id")
        return header_text(value).strip().removeprefix("<").removesuffix(">").strip() or None if value else None

    def payload(self) -> bytes:
        """Its bytes with the transfer encoding undone (RFC 2045 section 6); what cannot be undone is given as it is."""
        return decode_transfer(self.data[self.start : self.stop], self.encoding)

    def text(self) -> str:
        """A text part as text, with ``\\n`` line ends; see ``charsets.decode``."""
        data = self.data[self.start : self.stop]
        tail = b""
        if self.encoding == "base64" and (end := _BASE64.match(data).end()) < len(data):  # type: ignore[union-attr]
            # A list server may add its plain footer to an encoded body: read it as it is meant.
            line = data.rfind(b"\n", 0, end) + 1
            if line and len(data) - line > 1:
                data, tail = data[:line], data[line:]
        data = decode_transfer(data, self.encoding)
        label = self.params.get("charset")
        if label is None and self.content_type == "text/html":
            label = html_charset(data)
        text = decode(data, label, self.params.get("x-hint"))
        return plain_lines(text + "\n" + decode(tail, label) if tail else text)


def _content_type(value: str, default: str) -> str:
    value = value.lower()
    if _TYPE.fullmatch(value):
        return value
    return {"text": "text/plain", "html": "text/html", "plain": "text/plain", "multipart": "multipart/mixed"}.get(
        value, default
    )


def _head(data: bytes, position: int) -> tuple[bytes, int]:
    """The header block that begins at ``position`` and where the body begins."""
    if data[position : position + 1] in (b"\n", b"\r") and (blank := re.compile(rb"\r*\n").match(data, position)):
        return b"", blank.end()
    if data.startswith(b"--", position):
        return b"", position
    end = _HEAD_END.search(data, position)
    stop, body = (end.start() + 1, end.end()) if end else (len(data), len(data))
    head = data[position:stop]
    junk = _JUNK.search(head)
    if junk and junk.start() < len(head) and not _KNOWN.search(head, junk.start()):
        # No blank line between header and body: nothing that follows is a header, so the body begins here.
        return head[: junk.start()], position + junk.start()
    return head, body


def parse(raw: bytes) -> list[Part]:
    """Every part of ``raw`` in depth-first order; the first is the message itself. Never raises; time is linear in the size."""
    if b"\n" not in raw and b"\r" in raw:
        raw = raw.replace(b"\r", b"\n")
    position = 3 if raw.startswith(b"\xef\xbb\xbf") else 0
    blank = _BLANK.match(raw, position)
    if blank and blank.end() > position and _KNOWN.match(raw[blank.end() : blank.end() + 200]):
        position = blank.end()
    parts: list[Part] = []
    _walk(raw, position, None, parts, 0)
    return parts


def _walk(data: bytes, position: int, parent: Part | None, parts: list[Part], depth: int) -> None:
    open_parts: list[Part] = []
    boundaries: dict[bytes, list[int]] = {}  # a boundary -> where in open_parts: the innermost last

    def enter(position: int, parent: Part | None) -> int:
        while True:
            part = Part(data, position, parent)
            part.number = len(parts)
            parts.append(part)
            if parent is not None:
                parent.children.append(part)
            if part.content_type.startswith("multipart/") and part.boundary is None:
                part.boundary = _guess_boundary(data, part.start)
            if part.boundary is not None:
                boundaries.setdefault(part.boundary, []).append(len(open_parts))
            open_parts.append(part)
            if not (part.is_message and part.encoding not in _ENCODINGS):
                return part.start
            position, parent = part.start, part

    def leave(keep: int, stop: int) -> None:
        while len(open_parts) > keep:
            part = open_parts.pop()
            part.stop = max(part.start, stop)
            if part.boundary is not None:
                boundaries[part.boundary].pop()
            encoded = part.is_message or (part.boundary is not None and not part.children)
            if encoded and part.encoding in _ENCODINGS and depth < _ENCODED_DEPTH:
                inner = part.payload()
                if part.is_message:
                    _walk(inner, 0, part, parts, depth + 1)

    position = enter(position, parent)
    while boundaries:
        # The part that was just opened may begin with its own delimiter.
        if not (data.startswith(b"--", position) and (position == 0 or data[position - 1] == 10)):
            found = data.find(b"\n--", position)
            if found < 0:
                break
            position = found + 1
        line_end = data.find(b"\n", position)
        line_end = len(data) if line_end < 0 else line_end
        token = data[position + 2 : line_end].rstrip(b" \t\r")
        where, closing = boundaries.get(token), False
        if not where and token.endswith(b"--"):
            where, closing = boundaries.get(token[:-2]), True
        if not where:
            position = line_end
            continue
        index = where[-1]
        stop = position - 1 if position else 0
        leave(index + 1, stop - 1 if stop and data[stop - 1] == 13 else stop)
        position = min(line_end + 1, len(data))
        if closing:
            if len(where) > 1:  # some mailers use one boundary at two levels
                where.pop()
                open_parts[index].boundary = None
            position = line_end
        else:
            position = enter(position, open_parts[index])
    leave(0, len(data))


def _guess_boundary(data: bytes, start: int) -> bytes | None:
    """The boundary of a multipart that forgot to state it: its first delimiter that a part's header follows."""
    match = re.compile(rb"^--([^\s-][^\r\n]{0,200}?)[ \t]*\r*\nContent-", re.M | re.I).search(data, start, start + 5000)
    return match[1] if match else None


_ENCODINGS = {"base64", "quoted-printable", "x-uuencode", "uuencode", "x-uue", "uue"}


def decode_transfer(data: bytes, encoding: str) -> bytes:
    """``data`` with its Content-Transfer-Encoding undone, mending what mailers break; an unknown encoding is none."""
    if encoding == "base64":
        try:
            return binascii.a2b_base64(data)
        except binascii.Error:
            from mailparser.utils import decode_base64_payload

            return decode_base64_payload(data.decode("latin-1"))
    if encoding == "quoted-printable":
        return binascii.a2b_qp(data)
    if encoding in _ENCODINGS:
        return uudecode(data)
    return data


def uudecode(data: bytes) -> bytes:
    """The file in a uuencoded ``data``; lines that cannot be read are passed over."""
    out = []
    for line in data.splitlines():
        if line.startswith((b"begin ", b"end")) or not line.strip():
            continue
        try:
            out.append(binascii.a2b_uu(line))
        except binascii.Error:
            # Some encoders pad lines wrongly: take as many characters as the length byte asks for.
            count = (((line[0] - 32) & 63) * 4 + 5) // 3
            try:
                out.append(binascii.a2b_uu(line[:count]))
            except binascii.Error:
                continue
    return b"".join(out)


def parameters(value: str) -> tuple[str, dict[str, str]]:
    """A structured value (``text/plain; charset=x``) as its lower-case main token and its parameters, decoded.

    RFC 2231 continuations and charsets, and RFC 2047 words that mailers put there against its section 5, are undone.
    """
    return _parameters(value) if len(value) < 1000 else _parameters.__wrapped__(value)


@lru_cache(maxsize=4096)
def _parameters(value: str) -> tuple[str, dict[str, str]]:
    main = re.split(r"[;\s]", value, maxsplit=1)[0].strip().lower()
    plain: dict[str, str] = {}
    pieces: dict[str, dict[int, tuple[str, bool]]] = {}
    for name, text in _PARAMETER.findall(value):
        text = text.strip()
        if text.startswith('"') and text.endswith('"') and len(text) > 1:
            text = (
                re.sub(r"\\(.)", r"\1", text[1:-1])
                if name.lower().rstrip("*0123456789") not in ("filename", "name")
                else text[1:-1].replace('\\"', '"')
            )
        else:
            text = text.strip('"').partition(" (")[0].strip()
        name, star, index = name.lower().partition("*")
        if not star:
            plain.setdefault(name, decode_words(text))
            continue
        number = index.rstrip("*")
        if len(number) < 6 and (number.isdecimal() or not number):
            pieces.setdefault(name, {})[int(number or 0)] = (text, index.endswith("*") or not number)
    for name, segments in pieces.items():
        plain[name] = _rfc2231(segments)
    if "charset" in plain:
        plain["charset"] = plain["charset"].split()[0] if plain["charset"].split() else ""
    return main, plain


def _rfc2231(segments: dict[int, tuple[str, bool]]) -> str:
    charset = None
    out = []
    for index, (text, encoded) in sorted(segments.items()):
        if encoded and index == min(segments) and text.count("'") >= 2:
            charset, _, text = text.split("'", 2)
        data = text.encode("utf-8", "replace")
        if encoded:
            data = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes((int(match[1], 16),)), data)
        out.append(data)
    return decode(b"".join(out), charset or None)


def safe_filename(name: str | None) -> str | None:
    """A file name with no path in it and no control or direction characters, of at most 200 characters; or None."""
    if not name:
        return None
    name = _UNSAFE_NAME.sub("", name.replace("\\", "/").rpartition("/")[2]).strip().strip("\ufeff")
    if name in ("", ".", ".."):
        return None
    if len(name) > 200:
        stem, dot, extension = name.rpartition(".")
        name = stem[: 199 - len(extension)] + dot + extension if dot and len(extension) < 20 else name[:200]
    return name


def body(parts: list[Part], *, prefer: str = "text/plain") -> list[Part]:
    """The text parts, and the nested messages among them, that a mail client shows of ``parts``, in order.

    A nested message stands as its ``message/rfc822`` part, followed by what is shown of it. Of a multipart/alternative the
    version of type ``prefer`` is taken unless it is empty or only says that the mail is to be read elsewhere.
    """
    shown: dict[int, Rope] = {}
    for part in reversed(parts):  # children come after their parent, so this is bottom up, and needs no recursion
        shown[part.number] = _shown(part, [shown.pop(child.number) for child in part.children], prefer)
    return list(_flat(shown[0]))


def _shown(part: Part, children: list[Rope], prefer: str) -> Rope:
    kind = part.content_type
    if part.is_message:
        return [part, *children]
    if not part.children:
        if kind in _READABLE or kind.startswith("multipart/"):
            named = part.filename is not None and part.parent is not None and part.disposition != "inline"
            root = part.parent is None or part.parent.is_message
            return (
                [] if (part.disposition == "attachment" and not (root and part.filename is None)) or named else [part]
            )
        return []
    if kind == "multipart/alternative":
        return _alternative(children, prefer)
    if kind == "multipart/related":
        start = part.params.get("start", "").strip("<> ")
        for child, rope in zip(part.children, children, strict=True):
            if start and child.content_id == start and rope:
                return rope
        return next((rope for rope in children if rope), [])
    if kind == "multipart/signed":
        return next((rope for rope in children if rope), [])
    return children[0] if len(children) == 1 else children


_READABLE = {"text/plain", "text/html", "text/enriched", "text/richtext", "text/x-amp-html-fallback"}


def _alternative(children: list[Rope], prefer: str) -> Rope:
    filled = [rope for rope in children if rope]
    rich: list[Rope] = []
    plain: list[Rope] = []
    for rope in filled:
        kinds = {piece.content_type for piece in _flat(rope)}
        (rich if "text/html" in kinds else plain).append(rope)
    if prefer == "text/html":
        return rich[-1] if rich else (plain[0] if plain else [])
    if plain and rich and _says_nothing(plain[0]):
        return rich[-1]
    return plain[0] if plain else (rich[-1] if rich else [])


def _says_nothing(rope: Rope) -> bool:
    texts = [piece.text() for piece in _flat(rope) if not piece.is_message]
    text = "\n".join(texts).strip(" \t\n\xa0\u200b\ufeff")
    return not text or (len(text) < 500 and bool(_STUB.search(text)))


def _flat(rope: Rope) -> Iterator[Part]:
    stack = [iter(rope)]
    while stack:
        for item in stack[-1]:
            if isinstance(item, list):
                stack.append(iter(item))
                break
            yield item
        else:
            stack.pop()


def attachment_parts(parts: list[Part], shown: list[Part]) -> list[Part]:
    """The parts that a mail client lists beside the text ``shown``; a detached signature is not one."""
    read = {part.number for part in shown if not part.is_message}
    listed = []
    for part in parts[1:] if parts[0].is_multipart or parts[0].number in read else parts:
        if part.is_multipart or (part.content_type.startswith("multipart/") and part.number in read):
            continue
        if part.number in read and part.filename is None:
            continue
        if (
            part.number not in read
            and part.content_type in ("text/plain", "text/html")
            and not part.is_attached
            and part.filename is None
        ):
            continue
        if part.content_type in _UNSEEN and part.parent is not None and part.parent.content_type == "multipart/signed":
            continue
        listed.append(part)
    return listed


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
    pages = []
    for part in body(parse(raw), prefer="text/html"):
        if part.is_message and part.number:
            break
        if part.content_type == "text/html":
            pages.append(part.text())
    return "\n<hr>\n".join(pages) or None


def inline_parts(raw: bytes) -> dict[str, int]:
    """Content-ID (without brackets) to part number, for the ``cid:`` addresses in a message's HTML."""
    return {part.content_id: part.number for part in reversed(parse(raw)) if part.content_id}
