"""Sections to chunks: the pieces that are indexed and embedded, a paragraph or a few sentences each.

About ``TARGET`` model tokens a chunk: measured, short chunks are found better by meaning than long ones. Text stays as the
writer wrote it; only white space around a chunk goes, and the quoting characters before each line of a quote.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .sections import Section

POLICY_VERSION = 1
"""Raised whenever the same sections may come out as other chunks."""

TARGET, JOIN, LIMIT = 80, 110, 160
"""Estimated tokens: what a chunk aims at; what a paragraph, or short neighbours joined, may come to; what none goes beyond,
a sentence neither. The estimate being what it is, LIMIT keeps a chunk with its subject within the 256 that the model reads."""

SHORT = 24
"""Estimated tokens below which a piece is joined to a neighbour, even past TARGET, up to JOIN."""

_HIGH = bytes(range(128, 256))
_WORDS = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \t\n\r\x0b\x0c"

_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_WINDOW = 600  # characters by which the density of unbroken text is judged
# Begins with a set of characters, which lets the regex engine leap from one to the next.
_SENTENCE = re.compile(
    r"[.!?…。！？；\n](?:(?<=[.!?…])[\"'”’»)\]]{0,3}\s+|(?<=[。！？；])\s*|(?<=\n)(?=[ \t]*(?:[-*+•#@|]|\d{1,3}[.)])\s))"
)
_LINE = re.compile(r"\n")
_QUOTING = re.compile(r"^(?:[^\S\n]{0,8}[>|])+[^\S\n]?", re.MULTILINE)


class Chunk(NamedTuple):
    """A piece of a message. ``position`` counts within ``section`` from 0; ``content_hash`` ignores differences of white space."""

    section: str
    position: int
    text: str
    content_hash: str


def content_hash(text: str) -> str:
    """32 hex digits of SHA-256 over the words, so that re-wrapped text is the same text."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def estimate_tokens(text: str) -> float:
    """About how many WordPiece tokens of all-MiniLM-L6-v2 a text is, without its tokenizer.

    Fitted on 7,489 paragraphs of mail (0.22 a letter, 1 a punctuation mark: 90 % within 0.79 to 1.30 of the truth). Scripts
    that its vocabulary lacks go letter by letter, by the bytes of their UTF-8: about one a character in Cyrillic, 1.3 in CJK. Runs without
    spaces (base64, long addresses) come to about twice as much.
    """
    size = len(text)
    if text.isascii():
        tokens = 0.216 * size + 0.8 * len(text.encode().translate(None, _WORDS))
        return tokens if size < 15 * (text.count(" ") + text.count("\n") + 1) else max(2 * tokens, 0.6 * size)
    odd = text.encode("utf-8", "surrogatepass").translate(None, _WORDS)
    marks = len(odd.translate(None, _HIGH))
    return 0.216 * size + 0.8 * marks + 0.36 * (len(odd) - marks)


_Span = tuple[int, int]


def _spans(text: str, start: int, stop: int, separator: re.Pattern[str]) -> list[_Span]:
    """[start, stop) cut after each match of ``separator``, white space around each piece left out, empty ones too."""
    ends = [match.end() for match in separator.finditer(text, start, stop)]
    ends.append(stop)
    spans: list[_Span] = []
    for end in ends:
        piece = text[start:end].rstrip()
        if piece:
            left = len(piece) - len(piece.lstrip()) if piece[0].isspace() else 0
            spans.append((start + left, start + len(piece)))
        start = end
    return spans


def _hard(text: str, start: int, stop: int) -> list[_Span]:
    """Pieces of about TARGET, between words where there is white space near, else anywhere."""
    spans: list[_Span] = []
    while start < stop:
        window = text[start : min(start + _WINDOW, stop)]
        step = max(24, int(len(window) * TARGET / max(estimate_tokens(window), 1)))
        if start + step < stop:
            piece = text[start : start + step]
            space = max(piece.rfind(" "), piece.rfind("\n"), piece.rfind("\t"))
            step = space + 1 if space > step // 2 else step
        end = min(start + step, stop)
        piece = text[start:end]
        left = len(piece) - len(piece.lstrip())
        if left < len(piece):
            spans.append((start + left, start + len(piece.rstrip())))
        start = end
    return spans


_FINER: tuple[Callable[[str, int, int], list[_Span]], ...] = (
    lambda text, start, stop: _spans(text, start, stop, _BLANK_LINES),
    lambda text, start, stop: _spans(text, start, stop, _SENTENCE),
    lambda text, start, stop: _spans(text, start, stop, _LINE),
    _hard,
)
"""Ways to cut what is too long: paragraphs, sentences (and items of a list), lines, anywhere."""


def _pack(text: str, start: int, stop: int, level: int, pieces: list[tuple[int, int, float]]) -> None:
    """Append [start, stop) to ``pieces`` (start, stop, estimated tokens), cut one level finer where it is too long, and
    neighbours put together up to TARGET. Pieces that were there before are left alone."""
    floor = len(pieces)
    for first, after in _FINER[level](text, start, stop):
        tokens = estimate_tokens(text[first:after])
        if tokens > (JOIN if level == 0 else LIMIT) and level + 1 < len(_FINER):
            _pack(text, first, after, level + 1, pieces)
            continue
        if len(pieces) > floor:
            before, _, held = pieces[-1]
            total = held + tokens
            if total <= TARGET or (total <= JOIN and held < SHORT):
                pieces[-1] = (before, after, total)
                continue
        pieces.append((first, after, tokens))
    if len(pieces) > floor + 1 and pieces[-1][2] < SHORT and pieces[-1][2] + pieces[-2][2] <= JOIN:
        _, after, tokens = pieces.pop()
        before, _, held = pieces[-1]
        pieces[-1] = (before, after, held + tokens)


def _chunks(section: str, sources: Sequence[str]) -> list[Chunk]:
    """The chunks of one section. Short pieces of neighbouring sources, as between the quotes of a reply, are joined."""
    texts: list[str] = []
    held, tokens = "", 0.0
    for text in sources:
        pieces: list[tuple[int, int, float]] = []
        words = text.strip()
        total = estimate_tokens(words)
        if total <= TARGET:
            pieces.append((0, len(words), total))
            text = words
        else:
            _pack(text, 0, len(text), 0, pieces)
        for start, stop, more in pieces:
            together = tokens + more
            if held and ((tokens < SHORT and together <= JOIN) or (more < SHORT and together <= TARGET)):
                held, tokens = f"{held}\n\n{text[start:stop]}", together
                continue
            if held:
                texts.append(held)
            held, tokens = text[start:stop], more
    if held:
        texts.append(held)
    return [Chunk(section, position, words, content_hash(words)) for position, words in enumerate(texts)]


def chunk(text: str, sections: list[Section], *, quoted: bool | None = None) -> list[Chunk]:
    """Chunks of what a message says: authored and forwarded text; quoted text if ``quoted``, or (None) if nothing is authored.

    No chunk is empty; together they hold every character of those sections but white space and quoting characters, in
    order. A message that says nothing has none: give it ``headers_chunk``.
    """
    parts: dict[str, list[str]] = {"authored": [], "forwarded": [], "quoted": []}
    for part in sections:
        if part.section in parts and (words := text[part.start : part.stop]).strip():
            parts[part.section].append(words)
    if quoted is False or (quoted is None and parts["authored"]):
        del parts["quoted"]
    found: list[Chunk] = []
    for section, sources in parts.items():
        if not sources:
            continue
        if section != "authored":
            sources = [_QUOTING.sub("", words) for words in sources]
        found += _chunks(section, sources)
    return found


def headers_chunk(subject: str | None, people: Iterable[str], filenames: Iterable[str]) -> Chunk:
    """The one chunk of a message that has no text: its subject, its people, the names of its attachments, a line each."""
    rows = (subject or "", ", ".join(filter(None, people)), ", ".join(filter(None, filenames)))
    text = "\n".join(" ".join(row.split()) for row in rows if row and row.strip())
    return Chunk("headers", 0, text, content_hash(text))
