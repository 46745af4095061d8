"""Snippets: about 200 characters of the original text around what matched, with the matches between ``[[`` and ``]]``."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence, Set
from typing import NamedTuple

from datasette.utils.sqlite import sqlite3

from .db import CJK
from .folding import fold, fold_with_offsets
from .terms import Term

LENGTH = 200
"""Characters of a snippet, marks and … not counted."""

_OPEN, _CLOSE = "\ue0f0", "\ue0f1"  # private-use: not in mail, and taken out below if they are
_MARKS = re.compile(f"[{_OPEN}{_CLOSE}]")
_CJK = re.compile(f"[{CJK}]")
_TEXT_COLUMN = 4


class Span(NamedTuple):
    """A match in a text, in characters. ``own``: it is the word itself, not its stem's kin."""

    start: int
    stop: int
    own: bool = True


def matches(conn: sqlite3.Connection, chunk_id: int, text: str, terms: Sequence[Term]) -> list[Span]:
    """Where ``terms`` match in a chunk's text, in order, none overlapping: stems and folded diacritics by FTS5 itself,
    what is exact by its own form."""
    spans: list[Span] = []
    stemmed = " OR ".join(t.match for t in terms if not t.exact)
    if stemmed and not _MARKS.search(text):
        own = {token for t in terms for token in t.tokens}
        row = conn.execute(
            f"select highlight(recall_chunks_fts, {_TEXT_COLUMN}, ?, ?) from recall_chunks_fts"
            " where recall_chunks_fts match ? and rowid = ?",
            (_OPEN, _CLOSE, stemmed, chunk_id),
        ).fetchone()
        spans += _marked(row[0], own) if row else []
    mixed = _CJK.search(text) is not None  # FTS5 takes such characters and the words they touch for one word
    if exact := [t for t in terms if t.exact or mixed]:
        folded, offsets = fold_with_offsets(text)
        for wanted in exact:
            spans += [Span(offsets[start], offsets[stop - 1] + 1) for start, stop in wanted.spans(folded)]
    return _merged(spans)


def snippet(text: str, spans: Sequence[Span], length: int = LENGTH) -> str:
    """The stretch of ``text`` with the most matches in it, on one line, cut at words, its matches marked."""
    start, stop = _window(text, spans, length)
    pieces, at = [], start
    for first, end, _ in spans:
        if first >= start and end <= stop:
            pieces += [_plain(text[at:first]), "[[", _plain(text[first:end]), "]]"]
            at = end
    pieces.append(_plain(text[at:stop]))
    line = " ".join("".join(pieces).split())
    return f"{'… ' if text[:start].strip() else ''}{line}{' …' if text[stop:].strip() else ''}"


def _plain(text: str) -> str:
    """Brackets that stand in the text must not look like marks."""
    return text.replace("[[", "[ [").replace("]]", "] ]")


def _marked(highlighted: str, own: Set[str]) -> list[Span]:
    spans, at = [], 0
    pieces = re.split(f"([{_OPEN}{_CLOSE}])", highlighted)
    for before, piece in zip(["", *pieces], pieces, strict=False):
        if piece in (_OPEN, _CLOSE):
            continue
        if before == _OPEN:
            spans.append(Span(at, at + len(piece), fold(piece) in own))
        at += len(piece)
    return spans


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].stop:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.stop, span.stop), last.own or span.own)
        else:
            merged.append(span)
    return merged


def _window(text: str, spans: Sequence[Span], length: int) -> tuple[int, int]:
    """The part of the text to show: the one with most of what matched, own forms before kin, the first of equals, with
    some words ahead of it."""
    if len(text) <= length:
        return 0, len(text)
    begin, end, best = 0, 0, 0
    stops = [span.stop for span in spans]
    for i, span in enumerate(spans):
        reach = max(i + 1, bisect_right(stops, span.start + length))
        worth = sum(1 + 2 * within.own for within in spans[i:reach])
        if worth > best:
            begin, end, best = span.start, stops[reach - 1], worth
    slack = max(0, length - (end - begin))
    start = max(0, begin - slack // 3)
    stop = min(len(text), max(end, start + length))
    start = max(0, min(start, stop - length))
    return _word_start(text, start, begin), _word_stop(text, stop, end)


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
