"""Snippets: about 200 characters of the original text around what matched, with the matches between ``[[`` and ``]]``."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from datasette.utils.sqlite import sqlite3

from .folding import fold_with_offsets
from .terms import Term

LENGTH = 200
"""Characters of a snippet, marks and … not counted."""

_OPEN, _CLOSE = "\ue0f0", "\ue0f1"  # private-use: not in mail, and taken out below if they are
_MARKS = re.compile(f"[{_OPEN}{_CLOSE}]")
_TEXT_COLUMN = 4

Span = tuple[int, int]


def matches(conn: sqlite3.Connection, chunk_id: int, text: str, terms: Sequence[Term]) -> list[Span]:
    """Where ``terms`` match in a chunk's text, in order, none overlapping: stems and folded diacritics by FTS5 itself,
    what is exact by its own form."""
    spans: list[Span] = []
    stemmed = " OR ".join(t.match for t in terms if not t.exact)
    if stemmed and not _MARKS.search(text):
        row = conn.execute(
            f"select highlight(recall_chunks_fts, {_TEXT_COLUMN}, ?, ?) from recall_chunks_fts"
            " where recall_chunks_fts match ? and rowid = ?",
            (_OPEN, _CLOSE, stemmed, chunk_id),
        ).fetchone()
        spans += _marked(row[0]) if row else []
    exact = [t for t in terms if t.exact]
    if exact:
        folded, offsets = fold_with_offsets(text)
        for wanted in exact:
            for match in wanted.own.finditer(folded):
                spans.append((offsets[match.start()], offsets[match.end() - 1] + 1))
    return _merged(spans)


def snippet(text: str, spans: Sequence[Span], length: int = LENGTH) -> str:
    """The stretch of ``text`` with the most matches in it, on one line, cut at words, its matches marked."""
    start, stop = _window(text, spans, length)
    pieces, at = [], start
    for first, end in spans:
        if first >= start and end <= stop:
            pieces += [_plain(text[at:first]), "[[", _plain(text[first:end]), "]]"]
            at = end
    pieces.append(_plain(text[at:stop]))
    line = " ".join("".join(pieces).split())
    return f"{'… ' if text[:start].strip() else ''}{line}{' …' if text[stop:].strip() else ''}"


def _plain(text: str) -> str:
    """Brackets that stand in the text must not look like marks."""
    return text.replace("[[", "[ [").replace("]]", "] ]")


def _marked(highlighted: str) -> list[Span]:
    spans, at, start = [], 0, 0
    for piece in re.split(f"([{_OPEN}{_CLOSE}])", highlighted):
        if piece == _OPEN:
            start = at
        elif piece == _CLOSE:
            spans.append((start, at))
        else:
            at += len(piece)
    return spans


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        elif stop > start:
            merged.append((start, stop))
    return merged


def _window(text: str, spans: Sequence[Span], length: int) -> Span:
    """The part of the text to show: the one with the most matches, the first of those, with some words ahead of them."""
    if len(text) <= length:
        return 0, len(text)
    first, last = (
        (0, 0)
        if not spans
        else max(
            ((i, _reach(spans, i, length)) for i in range(len(spans))),
            key=lambda window: (window[1] - window[0], -window[0]),
        )
    )
    begin, end = (spans[first][0], spans[last][1]) if spans else (0, 0)
    slack = max(0, length - (end - begin))
    start = max(0, begin - slack // 3)
    stop = min(len(text), max(end, start + length))
    start = max(0, min(start, stop - length))
    return _word_start(text, start, begin), _word_stop(text, stop, end)


def _reach(spans: Sequence[Span], first: int, length: int) -> int:
    """The last span that fits with the ``first`` into ``length``."""
    ends = [stop for _, stop in spans]
    return max(first, bisect_left(ends, spans[first][0] + length + 1) - 1)


def _word_start(text: str, start: int, limit: int) -> int:
    if start == 0 or text[start - 1].isspace():
        return start
    for at in range(start, min(limit, start + 30)):
        if text[at].isspace():
            return at + 1
    return start


def _word_stop(text: str, stop: int, limit: int) -> int:
    if stop == len(text) or text[stop].isspace():
        return stop
    for at in range(stop, max(limit, stop - 30), -1):
        if text[at - 1].isspace():
            return at - 1
    return stop
