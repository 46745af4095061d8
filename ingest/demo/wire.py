"""MIME as bytes: headers folded and encoded, bodies in their transfer encodings, parts joined.

Written out here, not by the `email` package, because its folding differs between Python versions and the demo's bytes
must not. Lines end with LF, as Maildir and mbox keep them.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_PLAIN = bytes(b for b in (*range(32, 127), 9) if b != 61)  # what quoted-printable leaves alone
_ATEXT_PHRASE = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]+\Z")


@dataclass(frozen=True, slots=True)
class Part:
    """One MIME part: its own headers (already folded lines) and its encoded body."""

    headers: list[str]
    body: bytes

    def bytes(self) -> bytes:
        """The part as it stands between two boundaries."""
        return "\n".join(self.headers).encode("ascii") + b"\n\n" + self.body


@dataclass(frozen=True, slots=True)
class File:
    """An attachment before encoding."""

    name: str
    content_type: str
    data: bytes = field(repr=False)
    content_id: str | None = None
    inline: bool = False


def encoded_word(text: str, charset: str = "utf-8", method: str = "B") -> list[str]:
    """`text` as RFC 2047 encoded words of at most 75 characters, cut between characters."""
    words: list[str] = []
    chunk = ""
    for character in text:
        if len(_word(chunk + character, charset, method)) > 72:
            words.append(_word(chunk, charset, method))
            chunk = ""
        chunk += character
    return [*words, _word(chunk, charset, method)]


def _word(text: str, charset: str, method: str) -> str:
    data = text.encode(charset)
    if method == "B":
        return f"=?{charset}?B?{base64.b64encode(data).decode()}?="
    quoted = "".join(chr(b) if chr(b).isalnum() and b < 128 else "_" if b == 32 else f"={b:02X}" for b in data)
    return f"=?{charset}?Q?{quoted}?="


def header(name: str, value: str, charset: str = "utf-8", method: str = "B") -> str:
    """One header field, folded to 76 columns where it has blanks; RFC 2047 where it is not ASCII."""
    if not value.isascii():
        return f"{name}: " + "\n ".join(encoded_word(value, charset, method))
    return fold(f"{name}: {value}")


def fold(line: str, width: int = 76) -> str:
    """`line` folded at single blanks (RFC 5322, section 2.2.3)."""
    lines = [""]
    for index, word in enumerate(line.split(" ")):
        piece = word if index == 0 else " " + word
        if index > 1 and len(lines[-1]) + len(piece) > width and lines[-1].strip():
            lines.append(piece)
        else:
            lines[-1] += piece
    return "\n".join(lines)


def address(name: str, mailbox: str, charset: str = "utf-8", method: str = "B") -> str:
    """`Name <mailbox>`, the name quoted or encoded as it needs."""
    if not name:
        return mailbox
    if not name.isascii():
        return " ".join(encoded_word(name, charset, method)) + f" <{mailbox}>"
    if _ATEXT_PHRASE.match(name):
        return f"{name} <{mailbox}>"
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}" <{mailbox}>'


def address_list(name: str, addresses: Sequence[str]) -> str:
    """An address header, one address a line where it grows long."""
    line = f"{name}: " + ", ".join(addresses)
    return line if len(line) <= 76 else f"{name}: " + ",\n ".join(addresses)


def quoted_printable(data: bytes) -> bytes:
    """RFC 2045, section 6.7, with soft breaks at 76 columns."""
    out = []
    for line in data.split(b"\n"):
        if len(line) <= 75 and not line.translate(None, _PLAIN) and not line.endswith((b" ", b"\t")):
            out.append(line.decode("ascii"))
            continue
        pieces = [chr(b) if (33 <= b <= 126 and b != 61) or b in (9, 32) else f"={b:02X}" for b in line]
        if pieces and pieces[-1] in (" ", "\t"):
            pieces[-1] = f"={ord(pieces[-1]):02X}"
        row = ""
        for piece in pieces:
            if len(row) + len(piece) > 75:
                out.append(row + "=")
                row = ""
            row += piece
        out.append(row)
    return "\n".join(out).encode("ascii")


def base64_lines(data: bytes) -> bytes:
    """Base64 in lines of 76."""
    text = base64.b64encode(data)
    return b"".join(text[i : i + 76] + b"\n" for i in range(0, len(text), 76))


def text_part(text: str, subtype: str, charset: str, encoding: str, extra: str = "", quote: bool = True) -> Part:
    """A text part. `encoding`: 7bit, 8bit, quoted-printable or base64; 7bit gives way when the text cannot go so."""
    if charset == "us-ascii" and not text.isascii():
        charset = "utf-8"
    data = text.encode(charset)
    if encoding == "7bit" and (not data.isascii() or any(len(line) > 990 for line in data.split(b"\n"))):
        encoding = "quoted-printable"
    body = {"quoted-printable": quoted_printable, "base64": base64_lines}.get(encoding, bytes)(data)
    shown = f'"{charset}"' if quote else charset
    return Part(
        [f"Content-Type: text/{subtype}; charset={shown}{extra}", f"Content-Transfer-Encoding: {encoding}"], body
    )


def file_part(file: File) -> Part:
    """An attachment, base64; names that are not ASCII by RFC 2231."""
    if file.name.isascii():
        named, called = f'name="{file.name}"', f'filename="{file.name}"'
    else:
        percent = "".join(
            chr(b) if (chr(b).isalnum() and b < 128) or b in b"-._" else f"%{b:02X}" for b in file.name.encode()
        )
        named, called = f"name*=utf-8''{percent}", f"filename*=utf-8''{percent}"
    headers = [
        f"Content-Type: {file.content_type};\n {named}",
        f"Content-Disposition: {'inline' if file.inline else 'attachment'};\n {called}",
        "Content-Transfer-Encoding: base64",
    ]
    if file.content_id:
        headers.append(f"Content-ID: <{file.content_id}>")
    return Part(headers, base64_lines(file.data))


def multipart(subtype: str, parts: Sequence[Part], boundary: str, preamble: bytes = b"") -> Part:
    """A multipart of `parts`."""
    mark = b"--" + boundary.encode()
    body = preamble
    for part in parts:
        data = part.bytes()
        body += mark + b"\n" + data + (b"" if data.endswith(b"\n") else b"\n") + (b"\n" if subtype != "mixed" else b"")
    return Part([f'Content-Type: multipart/{subtype};\n boundary="{boundary}"'], body + mark + b"--\n")
