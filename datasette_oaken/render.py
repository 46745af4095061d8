"""Turning what a stranger wrote into safe HTML, and numbers and dates into words. Everything returned as Markup is escaped here.

Mail is hostile text: it reaches a page only through Jinja's escaping or through a function of this file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote

from bleach.linkifier import Linker
from markupsafe import Markup, escape

_MARKED = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
_HAS_LINK = re.compile(r"https?://|www\.", re.IGNORECASE)
# Read by bleach on escaped text, so an address also ends where an escaped <, >, " or ' stands: mail writes <https://…>.
_LINK = re.compile(r"\b(?:https?://|www\.)[^\s<>]+?(?=&(?:lt|gt|#34|#39);|[\s<>]|$)", re.IGNORECASE)
_COLUMNS = re.compile(r"^(?:\t| {3,}|[+-](?:\t| {2,})|@@ )|\S(?:\t| {3,})\S")
LINKED_CHARS = 100_000
LINKED_BLOCK_CHARS = 4_000
"""How much of a message is searched for links, and how much at once: bleach takes 14 s on a megabyte."""

# Letters that reorder what is shown beside them: they can make "exe.gnp" read as "png.exe". Dropped from names, not from text.
_BIDI = dict.fromkeys(map(ord, "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))


def marked(snippet: str | None) -> Markup:
    """A snippet with its ``[[matches]]`` as ``<mark>``; all else is escaped."""
    pieces = _MARKED.split(snippet or "")
    return Markup("").join(
        Markup("<mark>{}</mark>").format(piece) if i % 2 else escape(piece) for i, piece in enumerate(pieces)
    )


def _link_attributes(attributes: dict, new: bool = False) -> dict:
    attributes[(None, "rel")] = "noopener noreferrer nofollow"
    attributes[(None, "target")] = "_blank"
    return attributes


def linked(text: str) -> Markup:
    """Plain text as HTML, with its web addresses as links that open elsewhere and tell no one where they were clicked.

    Only what holds ``http://``, ``https://`` or ``www.`` is searched, of the first ``LINKED_CHARS`` characters.
    """
    linker = Linker(callbacks=[_link_attributes], url_re=_LINK, parse_email=False)
    pieces: list[str] = []
    at = 0
    for block in _blocks(text):
        safe = str(escape(block))
        if at < LINKED_CHARS and len(block) <= LINKED_BLOCK_CHARS and _HAS_LINK.search(block):
            safe = linker.linkify(safe)
        at += len(block)
        pieces.append(safe)
    return Markup("".join(pieces))


def _blocks(text: str) -> Iterator[str]:
    """``text`` in runs of whole lines, each at most ``LINKED_BLOCK_CHARS`` long unless one line is longer."""
    start = 0
    while start < len(text):
        stop = start + LINKED_BLOCK_CHARS
        if stop < len(text):
            stop = (text.rfind("\n", start, stop) + 1) or (text.find("\n", stop) + 1) or len(text)
        yield text[start:stop]
        start = stop


def aligned(text: str) -> bool:
    """Whether plain text was laid out in a fixed-width font, so that its columns need one: tables, patches, drawings."""
    lines = [line for line in text.split("\n", 400)[:400] if line.strip()]
    spaced = sum(bool(_COLUMNS.search(line)) for line in lines)
    return spaced >= 3 and spaced >= len(lines) * 0.2


def when(iso: str | None) -> datetime | None:
    """A stored time, or None when there is none or it cannot be read."""
    if not iso:
        return None
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def short_date(iso: str | None, now: datetime | None = None) -> str:
    """A date as one says it: ``14:05`` today, else ``3 Mar 2019``; ``no date`` when there is none."""
    moment = when(iso)
    if moment is None:
        return "no date"
    if moment.date() == (now or datetime.now(UTC)).date():
        return f"{moment:%H:%M}"
    return f"{moment.day} {moment:%b} {moment.year}"


def long_date(iso: str | None) -> str:
    """The whole of it: ``Sunday 3 March 2019, 14:05 UTC``."""
    moment = when(iso)
    return f"{moment:%A} {moment.day} {moment:%B} {moment.year}, {moment:%H:%M} UTC" if moment else "no date"


def person(who: dict[str, str | None] | None) -> str:
    """A name to call someone by: their name, else their address."""
    who = who or {}
    return plain_name(who.get("name")) or plain_name(who.get("address")) or "unknown sender"


def plain_name(text: str | None) -> str:
    """One line of text without control characters or letters that reorder what stands beside them."""
    text = (text or "").translate(_BIDI)
    return " ".join("".join(c if unicodedata.category(c) != "Cc" else " " for c in text).split())


def safe_filename(name: str | None, otherwise: str) -> str:
    """A name to save under: no path, no control or reordering characters, no leading dot, at most 150 characters."""
    name = re.split(r"[/\\]", plain_name(name))[-1]
    name = re.sub(r'[<>:"|?*]', "_", name).strip(". ")
    if len(name) > 150:
        stem, dot, ending = name.rpartition(".")
        name = f"{stem[: 149 - len(ending)]}{dot}{ending}" if dot and len(ending) <= 10 else name[:150]
    return name or otherwise


def content_disposition(filename: str) -> str:
    """A header that makes the browser save under ``filename`` and show nothing (RFC 6266, with RFC 5987's encoding)."""
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", filename)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"


def count(number: int, one: str, many: str | None = None) -> str:
    """``1 message``, ``2,310 messages``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
