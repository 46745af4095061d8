"""The bytes and the text of a message as the file keeps them, and out of it again.

A text is nearly always in the raw message to the letter, so it is compressed with the raw bytes as zlib's preset dictionary
(RFC 1950, FDICT): what is left is where to find it. Both are in the file by message, and go together.
"""

from __future__ import annotations

import hashlib
import zlib

from datasette.utils.sqlite import sqlite3

WINDOW = 32_768
"""How far back zlib looks. The beginning of the raw bytes is the dictionary: attachments come after the text."""


def pack_raw(raw: bytes) -> tuple[str, bytes]:
    """(codec, bytes) as ``raw_messages`` keeps them: zlib, or as they are where that does not help."""
    packed = zlib.compress(raw, 6)
    return ("zlib", packed) if len(packed) < len(raw) else ("none", raw)


def unpack_raw(codec: str, stored: bytes) -> bytes:
    """The bytes that came in. Raises zlib.error when they are damaged."""
    return zlib.decompress(stored) if codec == "zlib" else bytes(stored)


def beginning(codec: str, stored: bytes, size: int = WINDOW) -> bytes:
    """The first ``size`` of the bytes that came in, without unpacking what is attached. Raises zlib.error."""
    return zlib.decompressobj().decompress(stored, size) if codec == "zlib" else bytes(stored[:size])


class Damaged(ValueError):
    """The stored bytes are not those that came in; says how."""


def proven(codec: str | None, stored: bytes | None, sha256: str | None) -> bytes:
    """The bytes that came in, checked against the hash that was taken then. None of all: there are none. Raises Damaged."""
    if codec is None or stored is None:
        raise Damaged("its bytes are not in the file")
    try:
        raw = unpack_raw(codec, bytes(stored))
    except zlib.error as error:
        raise Damaged(f"its bytes cannot be unpacked: {error}") from error
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise Damaged("its bytes are not those that came in: they do not fit its sha256")
    return raw


def pack_text(text: str, raw: bytes) -> bytes:
    """A message's text as ``message_texts`` keeps it with codec 'raw'."""
    packer = zlib.compressobj(6, zdict=raw[:WINDOW]) if raw else zlib.compressobj(6)
    return packer.compress(text.encode("utf-8", "replace")) + packer.flush()


def unpack_text(codec: str, stored: bytes, raw: bytes) -> str:
    """The text; ``raw`` are the bytes that came in, or their ``beginning``, needed for codec 'raw' alone.

    Raises zlib.error when it is damaged.
    """
    if codec != "raw":
        return zlib.decompress(stored).decode("utf-8")
    reader = zlib.decompressobj(zdict=raw[:WINDOW]) if raw else zlib.decompressobj()
    text = reader.decompress(stored) + reader.flush()
    if not reader.eof:
        raise zlib.error("the text is cut short")
    return text.decode("utf-8")


def text_of(conn: sqlite3.Connection, message_id: int) -> str | None:
    """The text of a message, or None when it has none. Raises zlib.error when it, or what it is packed with, is damaged."""
    row = conn.execute(
        "select t.codec, t.text, r.codec, r.raw from message_texts t left join raw_messages r on r.message_id = t.message_id"
        " where t.message_id = ?",
        (message_id,),
    ).fetchone()
    if row is None:
        return None
    raw = beginning(row[2], bytes(row[3])) if row[0] == "raw" and row[3] is not None else b""
    return unpack_text(row[0], bytes(row[1]), raw)
