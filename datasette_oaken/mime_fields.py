"""What stands in MIME's own header fields, and transfer encodings undone: parameters, file names, base64 and its kin.

The standard library's parameter reader (which mail-parser uses) counts quotes from the start at every semicolon, and loses
names that mailers write against RFC 2231; this one is linear and reads both.
"""

from __future__ import annotations

import binascii
import re
from functools import lru_cache

from mailparser.utils import decode_base64_payload

from .charsets import decode, decode_words

ENCODINGS = frozenset({"base64", "quoted-printable", "x-uuencode", "uuencode", "x-uue", "uue"})
"""The transfer encodings that change bytes; 7bit, 8bit, binary and unknown ones are none."""

_PARAMETER = re.compile(r'[;\s]\s*([^\s=;"()]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)', re.S)
_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+")
_MEANT = {"text": "text/plain", "plain": "text/plain", "html": "text/html", "multipart": "multipart/mixed"}
_BASE64_LINES = re.compile(rb"(?:[A-Za-z0-9+/]*={0,2}[ \t]*\r*(?:\n|\Z))*")
_BASE64_LINE = re.compile(rb"^[A-Za-z0-9+/]{60,}={0,2}[ \t]*\r*$", re.M)
_UNSAFE_NAME = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")


def parameters(value: str) -> tuple[str, dict[str, str]]:
    """A structured value (``text/plain; charset=x``) as its lower-case main token and its parameters, decoded.

    RFC 2231 continuations and charsets, and RFC 2047 words that mailers put there against its section 5, are undone.
    """
    return _parameters(value) if len(value) < 1000 else _parameters.__wrapped__(value)


@lru_cache(maxsize=4096)
def _parameters(value: str) -> tuple[str, dict[str, str]]:
    main = re.split(r"[;\s]", value, maxsplit=1)[0].strip("\"' ,").lower()
    plain: dict[str, str] = {}
    pieces: dict[str, dict[int, tuple[str, bool]]] = {}
    for name, text in _PARAMETER.findall(value):
        name, star, index = name.lower().partition("*")
        text = _unquoted(text.strip(), literal=name in ("filename", "name"))
        if not star:
            plain.setdefault(name, text if name == "boundary" else decode_words(text))
            continue
        number = index.rstrip("*")
        if len(number) < 6 and (number.isdecimal() or not number):
            pieces.setdefault(name, {})[int(number or 0)] = (text, index.endswith("*") or not number)
    for name, segments in pieces.items():
        plain[name] = _rfc2231(segments)
    if words := plain.get("charset", "").split():
        plain["charset"] = words[0]
    return main, plain


def _unquoted(text: str, *, literal: bool) -> str:
    """A parameter's value without its quotes or trailing comment. ``literal``: a backslash is one (Windows paths), not an escape."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"') if literal else re.sub(r"\\(.)", r"\1", text[1:-1])
    return text.strip('"').partition(" (")[0].strip()


def _rfc2231(segments: dict[int, tuple[str, bool]]) -> str:
    """RFC 2231 sections 3 and 4: the numbered pieces in order, the first of which names the charset."""
    charset = None
    out = []
    first = min(segments)
    for index, (text, encoded) in sorted(segments.items()):
        if encoded and index == first and text.count("'") >= 2:
            charset, _, text = text.split("'", 2)
        data = text.encode("utf-8", "replace")
        out.append(_ESCAPED.sub(lambda match: bytes((int(match[1], 16),)), data) if encoded else data)
    return decode(b"".join(out), charset or None)


def media_type(value: str, default: str) -> str:
    """A content type's ``type/subtype`` in lower case; what is no such thing is taken for what it seems to mean, or ``default``."""
    return value if _TYPE.fullmatch(value) else _MEANT.get(value, default)


def safe_filename(name: str | None) -> str | None:
    """A file name with no path in it and no control or direction characters, of at most 200 characters; or None."""
    if not name:
        return None
    name = _UNSAFE_NAME.sub("", name.replace("\\", "/").rstrip("/").rpartition("/")[2]).strip().strip("\ufeff")
    if name in ("", ".", ".."):
        return None
    if len(name) > 200:
        stem, dot, extension = name.rpartition(".")
        name = stem[: 199 - len(extension)] + dot + extension if dot and len(extension) < 20 else name[:200]
    return name


def decode_transfer(data: bytes, encoding: str) -> bytes:
    """``data`` with its Content-Transfer-Encoding undone, mending what mailers break; an unknown encoding is none.

    Base64 that is cut short or miscounted is read by mail-parser's repair: what is whole of it is given.
    """
    if encoding == "base64":
        try:
            return binascii.a2b_base64(data)
        except binascii.Error:
            return decode_base64_payload(data.decode("latin-1"))
    if encoding == "quoted-printable":
        return binascii.a2b_qp(data)
    if encoding in ENCODINGS:
        return uudecode(data)
    return data


def base64_text(data: bytes) -> tuple[bytes, bytes]:
    """``data`` cut where it stops being lines of base64: list servers put plain footers below encoded text, and some mail is
    labelled base64 and is not. Stray bytes between lines of base64 are left to the decoder, which passes over them.
    """
    match = _BASE64_LINES.match(data)
    end = match.end() if match else 0
    return (data, b"") if end == len(data) or _BASE64_LINE.search(data, end) else (data[:end], data[end:])


def uudecode(data: bytes) -> bytes:
    """The file in a uuencoded ``data``, from after its ``begin`` line, if it has one; lines that cannot be read are passed over."""
    out = []
    lines = data.splitlines()
    start = next((index + 1 for index, line in enumerate(lines) if line.startswith(b"begin ")), 0)
    for line in lines[start:]:
        if line == b"end":
            break
        if (piece := uu_line(line)) is not None:
            out.append(piece)
    return b"".join(out)


def uu_line(line: bytes) -> bytes | None:
    """One line of uuencoded data decoded, None when it is none. Its first character says how many bytes it holds."""
    if not line:
        return None
    count = (line[0] - 32) & 63
    try:
        return binascii.a2b_uu(line)
    except binascii.Error:
        try:
            # Some encoders pad lines wrongly: take as many characters as the length asks for.
            return binascii.a2b_uu(line[: 1 + (count * 4 + 2) // 3])
        except binascii.Error:
            return None
