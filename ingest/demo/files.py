"""Small real files made from nothing: PNG, PDF, iCalendar, CSV, vCard.

The PNG is written with stored deflate blocks, because compressed bytes differ between builds of zlib.
"""

import struct
import zlib
from collections.abc import Sequence
from datetime import datetime, timedelta

from .dice import Dice
from .wire import File


def png(name: str, dice: Dice, width: int = 48, height: int = 32, **more: object) -> File:
    """A picture of a few plain hills under a plain sky, in colours of chance."""
    sky, *hills = ([dice.between(60, 250) for _ in range(3)] for _ in range(4))
    lines = []
    tops = [[dice.between(height // 3, height) for _ in range(4)] for _ in hills]
    for y in range(height):
        row = bytearray(b"\0")
        for x in range(width):
            colour = sky
            for hill, top in zip(hills, tops, strict=True):
                at, rest = divmod(x * 3, width)
                edge = top[at] + (top[min(at + 1, 3)] - top[at]) * rest // width
                if y > edge:
                    colour = hill
            row += bytes(colour)
        lines.append(bytes(row))
    pixels = b"".join(lines)
    blocks = [pixels[i : i + 65535] for i in range(0, len(pixels), 65535)]
    stored = b"\x78\x01" + b"".join(
        struct.pack("<BHH", i == len(blocks) - 1, len(b), len(b) ^ 0xFFFF) + b for i, b in enumerate(blocks)
    )
    stored += struct.pack(">I", zlib.adler32(pixels))
    data = b"\x89PNG\r\n\x1a\n"
    for kind, body in (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", stored),
        (b"IEND", b""),
    ):
        data += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return File(name, "image/png", data, **more)  # type: ignore[arg-type]


def pdf(name: str, lines: Sequence[str]) -> File:
    """One A4 page of Helvetica, a line of text each."""
    rows = ["BT /F1 11 Tf 60 780 Td 16 TL"]
    for line in lines:
        escaped = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        rows.append(f"({escaped}) Tj T*")
    stream = "\n".join([*rows, "ET"]).encode("cp1252", "replace")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    data += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return File(name, "application/pdf", data)


def csv(name: str, rows: Sequence[Sequence[object]]) -> File:
    """Comma-separated values, RFC 4180."""
    text = "".join(",".join(f'"{cell}"' if "," in str(cell) else str(cell) for cell in row) + "\r\n" for row in rows)
    return File(name, "text/csv", text.encode())


def ics(name: str, uid: str, start: datetime, minutes: int, summary: str, place: str) -> File:
    """One event, RFC 5545. `start` in UTC."""
    end = start + timedelta(minutes=minutes)
    lines = [
        *("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//example.org//demo//EN", "METHOD:PUBLISH", "BEGIN:VEVENT"),
        f"UID:{uid}",
        f"DTSTAMP:{_stamp(start - timedelta(days=14))}",
        f"DTSTART:{_stamp(start)}",
        f"DTEND:{_stamp(end)}",
        f"SUMMARY:{summary}".replace(",", "\\,"),
        f"LOCATION:{place}".replace(",", "\\,"),
        *("END:VEVENT", "END:VCALENDAR", ""),
    ]
    return File(name, "text/calendar; charset=utf-8", "\r\n".join(lines).encode())


def vcard(name: str, person: str, telephone: str, mailbox: str) -> File:
    """One contact, RFC 6350."""
    lines = ["BEGIN:VCARD", "VERSION:3.0", f"FN:{person}", f"TEL:{telephone}", f"EMAIL:{mailbox}", "END:VCARD", ""]
    return File(name, "text/vcard", "\r\n".join(lines).encode())


def _stamp(when: datetime) -> str:
    return f"{when.year:04}{when.month:02}{when.day:02}T{when.hour:02}{when.minute:02}00Z"
