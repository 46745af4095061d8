"""The bytes of one message to what is stored of it: header fields, people, date, attachments and the body as text.

By mail-parser, piece by piece: its address reader (``addresses``), its date reader (``dates``) and its base64 repair
(``datasette_oaken.mime_fields``) are used as they are, behind a pattern for the plain forms. Its ``MailParser`` class is gone
around. Measured on 3,311 messages of two lists, one core, one run: the class takes 1.58 ms a message, of which the standard
library's parser beneath it is 0.17; ``parse_message`` takes 0.22 (tree 0.11, dates 0.04, text 0.04, people 0.02, other fields
0.02). The class spends the rest on taking Received lines apart, on defects, and on two dictionaries of every header, none of
which is stored.
What it gets wrong for an archive, each shown by a test named ``test_mail_parser_…``: deep nesting loses the message, both
halves of an alternative are joined, a forwarded message's text runs into the forwarder's, a file without a name gets a random
one, an encoded message stays closed, people with a malformed address are dropped, and so are characters of gb2312 and of
unknown charsets; dates without a zone have no value, and a zone of 99 hours is believed.
The tree is read in ``datasette_oaken.mime``, charsets in ``datasette_oaken.charsets``; both sides share them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from datasette_oaken import mime
from datasette_oaken.charsets import decode_words, header_text
from datasette_oaken.mime import Attachment, Part, part_bytes

from .addresses import addresses
from .dates import sent_at
from .html import html_to_text

__all__ = ["Attachment", "Message", "parse_message", "part_bytes"]

FORWARDED = "---------- Forwarded message ---------"
"""The line that introduces the text of a nested message; From, Date, Subject and To follow, then an empty line."""

_WORD_CHARSET = re.compile(rb"=\?([A-Za-z0-9_.:-]{2,40})(?:\*[A-Za-z-]*)?\?[BbQq]\?")
_ID = re.compile(r"<([^<>]*)>")
_MARKUP = re.compile(r"<[^<>]{0,200}>")
_HTML_START = re.compile(r"\s{0,100}<(?:!doctype html|html[\s>])", re.I)


@dataclass(slots=True)
class Message:
    """What is stored of one message; every field is derived from its raw bytes alone."""

    internet_message_id: str | None = None  # "<id@host>"
    references: list[str] = field(default_factory=list)  # oldest first, unique; the parent, where stated, is the last
    subject: str | None = None
    from_name: str | None = None
    from_address: str | None = None
    recipients: list[tuple[str, str | None, str | None]] = field(default_factory=list)  # (role, name, address)
    sent_at: str | None = None  # "YYYY-MM-DDTHH:MM:SSZ"
    attachments: list[Attachment] = field(default_factory=list)
    text: str = ""  # "\n" line ends, no NUL, no lone surrogates
    from_html: bool = False
    labels: list[str] = field(default_factory=list)
    priority: int = 0  # 0 to 3
    flags: set[str] = field(default_factory=set)


def parse_message(raw: bytes) -> Message:
    """``raw``, one message as it came in, without an mbox envelope, as a Message. Deterministic; never raises on any bytes."""
    parts = mime.parse(raw)
    head = Headers(parts[0])
    shown = mime.body(parts)
    text, from_html = body_text(shown, head.hint)
    name, address = head.author()
    return Message(
        internet_message_id=head.message_id(),
        references=head.references(),
        subject=head.text(b"subject"),
        from_name=name,
        from_address=address,
        recipients=head.recipients(),
        sent_at=head.sent_at(),
        attachments=[mime.describe(part)[0] for part in mime.attachment_parts(parts, shown)],
        text=text,
        from_html=from_html,
        labels=head.labels(),
        priority=head.priority(),
        flags=head.flags(),
    )


class Headers:
    """The header fields of a message, decoded when asked for."""

    def __init__(self, part: Part) -> None:
        self.fields = part.headers
        self.hint = part.params.get("charset") or _stated_charset(part)

    def values(self, name: bytes) -> list[str]:
        found = self.fields.get(name)
        return [header_text(value, self.hint) for value in found] if found else []

    def text(self, name: bytes) -> str | None:
        """The first ``name`` that says something, decoded, runs of white space made one; None without it."""
        for value in self.values(name):
            if words := " ".join(decode_words(value).split()):
                return words
        return None

    def message_id(self) -> str | None:
        for value in self.values(b"message-id"):
            match = _ID.search(value)
            token = "".join((match[1] if match else value).split()).strip("<>")
            if token:
                return f"<{token}>"
        return None

    def references(self) -> list[str]:
        found: dict[str, None] = {}
        for value in self.values(b"references"):
            tokens = _ID.findall(value) or [token for token in value.split() if "@" in token]
            found.update((f"<{''.join(token.split()).strip('<>')}>", None) for token in tokens)
        for value in self.values(b"in-reply-to"):
            tokens = _ID.findall(value)
            if len(tokens) > 1 and _ID.sub("", value).strip():
                tokens = tokens[-1:]  # "Joe <joe@host>'s message of … <id>"
            elif not tokens and "@" in value and " " not in value:
                tokens = [value]
            found.update((f"<{''.join(token.split()).strip('<>')}>", None) for token in tokens)
        found.pop("<>", None)
        return list(found)

    def author(self) -> tuple[str | None, str | None]:
        """(name, address) of the first that From names, else Sender, else the resender; one with an address before one without."""
        for header in (b"from", b"sender", b"resent-from", b"x-sender", b"return-path"):
            people = [person for value in self.values(header) for person in addresses(value)]
            if people:
                return next((person for person in people if person[1]), people[0])
        return None, None

    def recipients(self) -> list[tuple[str, str | None, str | None]]:
        found: dict[tuple[str, str | None, str | None], None] = {}
        for role in ("to", "cc", "bcc", "reply-to"):
            for value in self.values(role.encode()):
                found.update(((role, name, address), None) for name, address in addresses(value))
        return list(found)

    def sent_at(self) -> str | None:
        dates = self.values(b"date") + self.values(b"resent-date")
        received = self.fields.get(b"received", ())
        return sent_at(dates, (header_text(value) for value in received))

    def labels(self) -> list[str]:
        found: dict[str, None] = {}
        for value in self.values(b"x-gmail-labels"):
            found.update((label, None) for label in _listed(decode_words(value), ","))
        for name in (b"keywords", b"x-keywords"):
            for value in self.values(name):
                words = decode_words(value)
                found.update(
                    (label, None) for label in _listed(words, "," if "," in words or name == b"keywords" else " ")
                )
        return list(found)

    def priority(self) -> int:
        """2 for a message that its sender marked as important, else 0: 1 and 3 are for people to give."""
        for name in (b"importance", b"x-priority", b"x-msmail-priority", b"priority"):
            for value in self.values(name):
                word = value.lower()
                if word.startswith(("high", "urgent", "1", "2")):
                    return 2
        return 0

    def flags(self) -> set[str]:
        """What mail programs noted in the message itself: seen, answered, flagged, draft, deleted, forwarded."""
        found: set[str] = set()
        marks = "".join(self.values(b"status") + self.values(b"x-status"))
        found.update(
            flag
            for mark, flag in (("R", "seen"), ("A", "answered"), ("F", "flagged"), ("T", "draft"), ("D", "deleted"))
            if mark in marks
        )
        for value in self.values(b"x-mozilla-status")[:1]:
            try:
                bits = int(value[:8], 16)
            except ValueError:
                continue
            mozilla = ((1, "seen"), (2, "answered"), (4, "flagged"), (8, "deleted"), (0x1000, "forwarded"))
            found.update(flag for bit, flag in mozilla if bits & bit)
        return found


def _stated_charset(part: Part) -> str | None:
    """The charset of the first encoded word in the fields that people write: what their mailer speaks, where a part says nothing."""
    for name in (b"subject", b"from", b"to"):
        for value in part.headers.get(name, ()):
            if b"=?" in value and (match := _WORD_CHARSET.search(value)):
                return match[1].decode("ascii")
    return None


def _listed(text: str, separator: str) -> list[str]:
    """The items of a list in which an item may be quoted."""
    if '"' not in text:
        items = text.split(separator)
    else:
        items = [quoted or bare for quoted, bare in re.findall(rf'"([^"]*)"|([^"{separator}]+)', text)]
    return [item for item in (" ".join(item.split()) for item in items) if item]


def body_text(shown: list[Part], hint: str | None = None) -> tuple[str, bool]:
    """The text of the parts that a mail client shows, in order, nested messages last; and whether any of it was HTML."""
    texts: list[str] = []
    forwarded: list[str] = []
    from_html = False
    for part in shown:
        if part.is_message:
            forwarded.append(_introduction(part))
            continue
        text, was_html = part_text(part, hint)
        if text := text.strip("\n").rstrip(" \t\n"):
            (forwarded if part.message else texts).append(text)
            from_html = from_html or (was_html and part.message is None)
    return "\n\n".join(texts + forwarded), from_html


def _introduction(part: Part) -> str:
    lines = [FORWARDED]
    if part.children:
        head = Headers(part.children[0])
        for label, name in (
            ("From", b"from"),
            ("Date", b"date"),
            ("Subject", b"subject"),
            ("To", b"to"),
            ("Cc", b"cc"),
        ):
            if value := head.text(name):
                lines.append(f"{label}: {value}")
    return "\n".join(lines)


def part_text(part: Part, hint: str | None = None) -> tuple[str, bool]:
    """A text part as text, and whether it was HTML."""
    text = part.text(hint)
    kind = part.content_type
    if kind == "text/html" or (kind == "text/plain" and "<" in text[:200] and _HTML_START.match(text)):
        return html_to_text(text), True
    if kind in ("text/enriched", "text/richtext"):
        return _MARKUP.sub("", text.replace("<nl>", "\n")), False
    if part.params.get("format", "").lower() == "flowed":
        return unflow(text, delsp=part.params.get("delsp", "").lower() == "yes"), False
    return text, False


def unflow(text: str, *, delsp: bool = False) -> str:
    """format=flowed (RFC 3676) to one line a paragraph, quoted ones with ``> `` a level. ``delsp``: the soft space is deleted."""
    out: list[str] = []
    open_depth = -1  # quote depth of the paragraph that the last line left open, or -1
    pieces: list[str] = []

    def close() -> None:
        nonlocal open_depth
        if open_depth >= 0:
            out.append("> " * open_depth + "".join(pieces))
            pieces.clear()
            open_depth = -1

    for line in text.split("\n"):
        bare = line.lstrip(">")
        depth = len(line) - len(bare)
        content = bare[1:] if bare.startswith(" ") else bare  # section 4.4: the stuffed space
        if open_depth != depth:
            close()
        if content == "-- ":  # section 4.3: a signature separator is never flowed
            close()
            out.append("> " * depth + content)
            continue
        flowed = content.endswith(" ")
        pieces.append(content[:-1] if flowed and delsp else content)
        open_depth = depth
        if not flowed:
            close()
    close()
    return "\n".join(out)
