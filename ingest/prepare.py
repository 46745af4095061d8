"""From a message's bytes to everything that will be stored of it. Pure: no database, so it runs in worker processes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from datasette_oaken.stored import pack_raw, pack_text

from . import chunks as chunking
from . import sections as sectioning
from .identity import authored_hash
from .language import language
from .message import Message, parse_message


@dataclass(slots=True)
class Prepared:
    """A message ready for the file. ``raw`` and ``text`` are compressed; sections are (kind, start, stop, why)."""

    content_hash: str
    sha256: str
    codec: str
    raw: bytes
    size: int
    message: Message
    text: bytes
    language: str | None
    sections: list[tuple[str, int, int, str]]
    chunks: list[chunking.Chunk]
    authored_hash: str | None


def prepare(raw: bytes, content_hash: str) -> Prepared:
    """Parse, section, chunk and compress one message. ``content_hash`` is ``identity.content_hash(raw)``."""
    message = parse_message(raw)
    text = message.text
    found = sectioning.section(text, message.subject)
    pieces = chunking.chunk(text, found)
    if not pieces:
        people = [_person(message.from_name, message.from_address)]
        people += [_person(name, address) for _, name, address in message.recipients]
        names = [attachment.filename for attachment in message.attachments if attachment.filename]
        pieces = [chunking.headers_chunk(message.subject or "", people, names)]
    authored = "\n".join(text[part.start : part.stop] for part in found if part.section == "authored")
    codec, packed = pack_raw(raw)
    # The text is needed again without its body: the workers need not send it back.
    message.text = ""
    return Prepared(
        content_hash=content_hash,
        sha256=hashlib.sha256(raw).hexdigest(),
        codec=codec,
        raw=packed,
        size=len(raw),
        message=message,
        text=pack_text(text, raw),
        language=language(authored or text),
        sections=[(part.section, part.start, part.stop, part.why) for part in found],
        chunks=pieces,
        authored_hash=authored_hash(authored),
    )


def _person(name: str | None, address: str | None) -> str:
    return " ".join(part for part in (name, f"<{address}>" if address else None) if part)
