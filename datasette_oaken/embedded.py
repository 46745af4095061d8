"""Files inside a part's bytes that MIME does not know of: uuencoded blocks in plain text, and TNEF (Outlook's winmail.dat).

TNEF is read here, since its one library (tnefparse) has not been released since 2021 and raises on damaged files: a stream of
attributes, of which the attachments, their names and the message's text are wanted (MS-OXTNEF sections 2.1 and 2.2).
"""

from __future__ import annotations

import mimetypes
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from .mime_fields import safe_filename, uu_line


@dataclass(slots=True)
class Embedded:
    """One file found: its decoded bytes, and where in the part's decoded bytes it stood (uuencode only)."""

    data: bytes
    filename: str | None
    content_type: str
    charset: str | None = None
    content_id: str | None = None
    span: tuple[int, int] | None = None


def embedded_files(data: bytes, *, tnef: bool) -> list[Embedded]:
    """The files in ``data``, in order; of a TNEF stream also its text bodies, which have no file name. Never raises."""
    return list(_tnef(data)) if tnef else list(_uuencoded(data))


_BEGIN = re.compile(rb"^begin [0-7]{3,4} ([^\r\n]{1,255})\r?\n", re.M)


def _uuencoded(data: bytes) -> Iterator[Embedded]:
    position = 0
    while match := _BEGIN.search(data, position):
        position = match.end()
        pieces = []
        ended = False
        while position < len(data):
            line_end = data.find(b"\n", position)
            line_end = len(data) if line_end < 0 else line_end
            line = data[position:line_end].rstrip(b"\r")
            if line == b"end":
                ended, position = True, line_end + 1
                break
            piece = uu_line(line) if len(line) < 100 else None
            if piece is None:
                break
            pieces.append(piece)
            position = min(line_end + 1, len(data))
        # Words that happen to follow "begin 644 …" are not a file.
        if pieces and (ended or len(pieces) > 3):
            name = safe_filename(match[1].decode("utf-8", "replace"))
            kind = _guessed(name)
            yield Embedded(b"".join(pieces), name or "file", kind, span=(match.start(), min(position, len(data))))


def _guessed(name: str | None) -> str:
    return (mimetypes.guess_type(name)[0] if name else None) or "application/octet-stream"


TNEF_SIGNATURE = b"\x78\x9f\x3e\x22"
_TITLE, _DATA, _RENDERING, _PROPERTIES, _MESSAGE_PROPERTIES, _BODY, _CODEPAGE = (
    0x8010,
    0x800F,
    0x9002,
    0x9005,
    0x9003,
    0x800C,
    0x9007,
)
_LONG_NAME, _SHORT_NAME, _MIME_TYPE, _PROPERTY_DATA, _CONTENT_ID = 0x3707, 0x3704, 0x370E, 0x3701, 0x3712
_PLAIN_BODY, _HTML_BODY, _HTML_CODEPAGE = 0x1000, 0x1013, 0x3FDE


def _tnef(data: bytes) -> Iterator[Embedded]:
    if len(data) < 6 or not data.startswith(TNEF_SIGNATURE):
        return
    codepage = "cp1252"
    bodies: list[Embedded] = []
    found: list[dict[str, bytes | str]] = []
    position = 6
    while position + 9 <= len(data):
        _, attribute, _, length = struct.unpack_from("<BHHI", data, position)
        value = data[position + 9 : position + 9 + length]
        position += 9 + length + 2  # a checksum follows
        if attribute == _CODEPAGE and len(value) >= 4:
            codepage = f"cp{struct.unpack_from('<I', value)[0]}"
        elif attribute == _RENDERING:
            found.append({})
        elif attribute == _BODY:
            bodies.append(Embedded(value.rstrip(b"\0"), None, "text/plain", codepage))
        elif attribute == _MESSAGE_PROPERTIES:
            bodies += _bodies(_mapi(value), codepage)
        elif found and attribute == _TITLE:
            found[-1].setdefault("name", value.rstrip(b"\0").decode(_known(codepage), "replace"))
        elif found and attribute == _DATA:
            found[-1]["data"] = value
        elif found and attribute == _PROPERTIES:
            properties = _mapi(value)
            for key, names in (("name", (_LONG_NAME, _SHORT_NAME)), ("type", (_MIME_TYPE,)), ("cid", (_CONTENT_ID,))):
                text = next((_string(*properties[name], codepage) for name in names if name in properties), "")
                if text:
                    found[-1][key] = text
            if "data" not in found[-1] and _PROPERTY_DATA in properties:
                found[-1]["data"] = properties[_PROPERTY_DATA][1]
    plain = [body for body in bodies if body.content_type == "text/plain" and body.data.strip()]
    yield from (plain or [body for body in bodies if body.data.strip()])[:1]
    for file in found:
        if isinstance(content := file.get("data"), bytes):
            name = safe_filename(str(file.get("name", ""))) or "attachment"
            kind = str(file.get("type", "")).lower()
            kind = kind if re.fullmatch(r"[\w.+-]+/[\w.+-]+", kind, re.A) else _guessed(name)
            yield Embedded(content, name, kind, content_id=str(file.get("cid", "")).strip("<>") or None)


def _bodies(properties: dict[int, tuple[int, bytes]], codepage: str) -> Iterator[Embedded]:
    if _PLAIN_BODY in properties:
        text = _string(*properties[_PLAIN_BODY], codepage)
        yield Embedded(text.encode("utf-8", "replace"), None, "text/plain", "utf-8")
    if _HTML_BODY in properties:
        kind, value = properties[_HTML_BODY]
        page = properties.get(_HTML_CODEPAGE)
        charset = f"cp{struct.unpack('<I', page[1][:4])[0]}" if page and len(page[1]) >= 4 else None
        if kind == 0x1F:
            value, charset = value.decode("utf-16-le", "replace").encode("utf-8"), "utf-8"
        yield Embedded(value.rstrip(b"\0"), None, "text/html", "utf-8" if charset == "cp65001" else charset)


_FIXED = {2: 4, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 0xA: 4, 0xB: 4, 0x14: 8, 0x40: 8, 0x48: 16}
_VARIABLE = frozenset({0xD, 0x1E, 0x1F, 0x102})


def _mapi(data: bytes) -> dict[int, tuple[int, bytes]]:
    """A list of MAPI properties as id to (type, first value); what comes after a property that cannot be read is left out."""
    found: dict[int, tuple[int, bytes]] = {}
    try:
        (count,) = struct.unpack_from("<I", data)
        position = 4
        for _ in range(min(count, 5000)):
            kind, identity = struct.unpack_from("<HH", data, position)
            position += 4
            if identity >= 0x8000:  # a named property: a GUID, then a number or a name
                (named,) = struct.unpack_from("<I", data, position + 16)
                position += 24
                if named:
                    (length,) = struct.unpack_from("<I", data, position - 4)
                    position += (length + 3) & ~3
            many, kind = kind & 0x1000, kind & 0xEFFF
            values = 1
            if many or kind in _VARIABLE:
                (values,) = struct.unpack_from("<I", data, position)
                position += 4
            for index in range(min(values, 5000)):
                if kind in _VARIABLE:
                    (length,) = struct.unpack_from("<I", data, position)
                    position += 4
                elif kind in _FIXED:
                    length = _FIXED[kind]
                else:
                    return found
                value = data[position : position + length]
                position += (length + 3) & ~3
                if index == 0:
                    # An embedded object (0xD) begins with the identifier of its interface.
                    found.setdefault(identity, (kind, value[16:] if kind == 0xD else value))
                if position > len(data):
                    return found
    except struct.error:
        pass
    return found


def _string(kind: int, value: bytes, codepage: str) -> str:
    text = value.decode("utf-16-le" if kind == 0x1F else _known(codepage), "replace")
    return text.partition("\0")[0]


def _known(codepage: str) -> str:
    try:
        "".encode(codepage)
    except LookupError:
        return "cp1252"
    return codepage
