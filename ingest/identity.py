"""When two messages are the same one: identity is content, not the Message-ID, which two different messages may share."""

from __future__ import annotations

import hashlib
import re

# What a store adds to a message it keeps, folded lines included; the rest of the header is the message.
_STORE_HEADERS = re.compile(
    rb"^(?:x-gmail-[^:\n]*|x-gm-[^:\n]*|status|x-status|x-keywords|x-mozilla-[^:\n]*)[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*(?:\n|\Z)",
    re.IGNORECASE | re.MULTILINE,
)


def content_hash(raw: bytes) -> str:
    """sha256 (hex) of a message with line endings made one, what a store adds left out, and no line ends at its end.

    The same message over IMAP (CRLF), from a Maildir (LF) or from Takeout with other labels has one hash.
    """
    data = raw
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    end = data.find(b"\n\n")
    head, rest = (data, b"") if end < 0 else (data[: end + 1], data[end + 1 :])
    digest = hashlib.sha256(_STORE_HEADERS.sub(b"", head))
    digest.update(rest.rstrip(b"\n"))
    return digest.hexdigest()


def authored_hash(text: str) -> str | None:
    """sha256 (hex) of what the writer wrote, white space aside; None when they wrote nothing.

    With the Message-ID it tells a second delivery of one saying from a different message under the same id.
    """
    words = " ".join(text.split())
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest() if words else None
