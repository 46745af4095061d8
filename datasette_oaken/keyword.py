"""The keyword retriever: BM25 over the chunks' words, phrases and identifiers verified, counted over the whole message.

FTS5 answers with stems and without punctuation; what was meant literally is verified against the text afterwards, and a
word's own form goes before its kin. A query of several words wants a share of them (``keyword_min_match``) somewhere in
the message: in its subject, its people, its attachments' names or any of its chunks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from datasette.utils.sqlite import sqlite3

from .filters import Condition
from .folding import fold
from .terms import Term, term

WEIGHTS = (4.0, 3.0, 1.0, 2.0, 1.0)
"""BM25's weight of each of FTS_COLUMNS: subject, author, recipients, attachments, text. Measured in benchmarks/."""

KIN = 0.7
"""What a hit is worth whose words all stand there only as their stems' kin ("collected" for "collects")."""

_K1, _B = 1.2, 0.75  # FTS5's own constants, for the terms that are scored here
_FTS = "recall_chunks_fts"
_CJK = "recall_chunks_fts_cjk"
_THESE = "in (select value from json_each(?))"


@dataclass(frozen=True)
class Found:
    """A chunk that the keywords found. ``held``: how many of the query's terms it holds itself."""

    chunk_id: int
    message_id: int
    held: int


@dataclass(frozen=True)
class Wanted:
    """A query's terms: ``required`` phrases that must stand in the message, ``counted`` words of which some must."""

    required: tuple[Term, ...]
    counted: tuple[Term, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        """All of them; phrases first."""
        return self.required + self.counted

    @property
    def exact(self) -> bool:
        """Whether the query names something literally: a quoted phrase, or a token with a digit."""
        return bool(self.required) or any(t.identifying for t in self.counted)

    def least(self, min_match: float) -> int:
        """How many of the terms a message must hold: at least that share, and one."""
        return max(1, math.ceil(len(self.terms) * min_match - 1e-9))


def wanted(words: Sequence[str], phrases: Sequence[str]) -> Wanted:
    """The terms to look for. Stop words count only when there is nothing else."""
    required = tuple(t for t in (term(p, True) for p in phrases) if t is not None)
    every = list(dict.fromkeys(t for t in (term(w) for w in words) if t is not None))
    telling = [t for t in every if not t.stop]
    return Wanted(required, tuple(telling if telling or required else every))


class Scope:
    """The messages that may answer: those that a condition over ``messages m`` leaves, less those left out by hand."""

    def __init__(self, conn: sqlite3.Connection, condition: Condition | None, without: Iterable[int] = ()) -> None:
        self.conn = conn
        self.condition = condition
        if left_out := sorted(set(without)):
            sql, values = condition or ("1", [])
            self.condition = f"({sql}) and m.id not {_THESE}", [*values, json.dumps(left_out)]
        self._chunks: str | None = None

    @property
    def chunks(self) -> str | None:
        """The ids of their chunks as a JSON array; None when every chunk may answer."""
        if self.condition is None:
            return None
        if self._chunks is None:
            sql, values = self.condition
            (ids,) = self.conn.execute(
                "select group_concat(c.id) from messages m cross join recall_chunks c on c.message_id = m.id"
                f" where {sql}",
                values,
            ).fetchone()
            self._chunks = f"[{ids or ''}]"
        return self._chunks


def retrieve(
    conn: sqlite3.Connection, want: Wanted, scope: Scope, *, depth: int, ask: int, min_match: float
) -> list[Found]:
    """Chunks of the best ``depth`` messages, best chunk first.

    ``ask``: how many chunks to rank at first; when filters and ``min_match`` leave fewer than ``depth`` messages of
    them, the search widens until it has them or there are no more.
    """
    if not want.terms:
        return []
    chunks = scope.chunks
    if want.required:
        holding = set.intersection(*(messages_with(conn, t, chunks) for t in want.required))
        if not holding:
            return []
        within = Scope(conn, (f"m.id {_THESE}", [json.dumps(sorted(holding))])).chunks
        chunks = within if chunks is None else _intersection(chunks, within)
    least = want.least(min_match)
    counts = [_count(conn, t) for t in want.terms]
    while True:
        candidates = _ranked(conn, want, least, counts, chunks, ask)
        found = _passing(conn, want, least, counts, candidates)
        if len(candidates) < ask or len({f.message_id for f in found}) >= depth:
            break
        ask *= 4
    kept: dict[int, None] = {}
    result = []
    for hit in found:
        if hit.message_id not in kept and len(kept) == depth:
            continue
        kept[hit.message_id] = None
        result.append(hit)
    return result


def messages_with(conn: sqlite3.Connection, wanted_term: Term, chunks: str | None = None) -> set[int]:
    """The messages that hold a term (verified where it is exact) in some chunk of those given (JSON; None: any)."""
    ids = _postings(conn, wanted_term, chunks)
    if wanted_term.exact:
        return {message for message, _ in _verified(conn, wanted_term, ids)}
    rows = conn.execute(f"select distinct message_id from recall_chunks where id {_THESE}", (_json(ids),))
    return {row[0] for row in rows if row[0] is not None}


def _intersection(first: str, second: str | None) -> str:
    return json.dumps(sorted(set(json.loads(first)) & set(json.loads(second or "[]"))))


def _json(ids: np.ndarray) -> str:
    return json.dumps(ids.tolist())


def _table(wanted_term: Term) -> tuple[str, str]:
    return (_CJK, wanted_term.cjk) if wanted_term.cjk else (_FTS, wanted_term.match)


def _count(conn: sqlite3.Connection, wanted_term: Term) -> int:
    """In how many chunks FTS5 finds a term."""
    table, match = _table(wanted_term)
    return int(conn.execute(f"select count(*) from {table} where {table} match ?", (match,)).fetchone()[0])


def _postings(conn: sqlite3.Connection, wanted_term: Term, chunks: str | None = None) -> np.ndarray:
    """The chunks in which FTS5 finds a term, ascending. One string of them is far cheaper than a row each."""
    table, match = _table(wanted_term)
    sql, values = f"select group_concat(rowid) from {table} where {table} match ?", [match]
    if chunks is not None:
        # The + keeps SQLite from seeking the match anew for every id.
        sql, values = f"{sql} and +rowid {_THESE}", [match, chunks]
    (ids,) = conn.execute(sql, values).fetchone()
    return np.fromstring(ids, np.int64, sep=",") if ids else np.empty(0, np.int64)


@dataclass
class _Candidate:
    chunk_id: int
    message_id: int
    score: float
    sent_at: str
    text: str
    """Everything of the chunk that is searched, folded."""


def _ranked(
    conn: sqlite3.Connection, want: Wanted, least: int, counts: list[int], chunks: str | None, ask: int
) -> list[_Candidate]:
    """The best ``ask`` chunks that may belong to a message with ``least`` of the terms, by BM25."""
    scores: dict[int, float] = {}
    match = _expression(want.terms, least, counts)
    if match:
        within, values = ("", []) if chunks is None else (f" and +rowid {_THESE}", [chunks])
        weights = ", ".join(map(str, WEIGHTS))
        rows = conn.execute(
            f"select rowid, -bm25({_FTS}, {weights}) as score from {_FTS}"
            f" where {_FTS} match ?{within} order by score desc limit ?",
            [match, *values, ask],
        ).fetchall()
        scores = {row[0]: row[1] for row in rows}
    cjk = [(t, count) for t, count in zip(want.terms, counts, strict=True) if t.cjk]
    for wanted_term, _ in cjk:
        # Newest first, should there be more than can be weighed.
        for chunk_id in _postings(conn, wanted_term, chunks)[::-1][:ask].tolist():
            scores.setdefault(chunk_id, 0.0)
    candidates = _fetched(conn, scores)
    if cjk:
        _score_cjk(conn, cjk, candidates)
    return candidates


def _expression(terms: Sequence[Term], least: int, counts: list[int]) -> str:
    """The FTS5 query for chunks worth ranking.

    A message with at least ``least`` of n terms holds one of the n - least + 1 rarest: only chunks with one of those
    need be ranked, instead of all that hold a common word, or every combination of words.
    """
    order = sorted(range(len(terms)), key=lambda i: counts[i])
    rarest = [terms[i] for i in order[: len(terms) - least + 1]]
    every = " OR ".join(t.match for t in terms if t.match)
    if any(t.cjk for t in rarest) or len(rarest) == len(terms):
        return every
    return f"({' OR '.join(t.match for t in rarest)}) AND ({every})"


def _fetched(conn: sqlite3.Connection, scores: dict[int, float]) -> list[_Candidate]:
    rows = conn.execute(
        "select c.id, m.id, m.sent_at, coalesce(m.subject, '') || char(10) || coalesce(c.author, '') || char(10) || c.text"
        f" from recall_chunks c join messages m on m.id = c.message_id where c.id {_THESE}",
        (json.dumps(list(scores)),),
    ).fetchall()
    return [_Candidate(row[0], row[1], scores[row[0]], row[2] or "", fold(row[3])) for row in rows]


def _score_cjk(conn: sqlite3.Connection, terms: list[tuple[Term, int]], candidates: list[_Candidate]) -> None:
    """Add BM25 for the terms that FTS5 cannot score (its index of pairs keeps no counts)."""
    (total,) = conn.execute("select count(*) from recall_chunks").fetchone()
    average = sum(len(c.text) for c in candidates) / max(1, len(candidates)) or 1.0
    for wanted_term, count in terms:
        rarity = max(1e-6, math.log((total - count + 0.5) / (count + 0.5)))
        for candidate in candidates:
            if times := len(wanted_term.own.findall(candidate.text)):
                share = _K1 * (1 - _B + _B * len(candidate.text) / average)
                candidate.score += rarity * times * (_K1 + 1) / (times + share)


def _passing(
    conn: sqlite3.Connection, want: Wanted, least: int, counts: list[int], candidates: list[_Candidate]
) -> list[Found]:
    """The candidates whose message holds enough of the terms, own forms before their kin, best first."""
    terms = want.terms
    if len(terms) == 1 and not terms[0].exact:
        own = terms[0].own
        ranked = sorted(
            candidates, key=lambda c: (own.search(c.text) is not None, c.score, c.sent_at, c.chunk_id), reverse=True
        )
        return [Found(c.chunk_id, c.message_id, 1) for c in ranked]
    rows = conn.execute(
        f"select message_id, id from recall_chunks where message_id {_THESE}",
        (json.dumps(sorted({c.message_id for c in candidates})),),
    ).fetchall()
    if not rows:
        return []
    messages, ids = np.array(rows, np.int64).T
    held = np.zeros((len(ids), len(terms)), bool)
    for i, wanted_term in enumerate(terms):
        hits = np.intersect1d(ids, _postings(conn, wanted_term))
        if wanted_term.exact:
            hits = np.array([chunk for _, chunk in _verified(conn, wanted_term, hits)], np.int64)
        held[:, i] = np.isin(ids, hits)
    numbers, which = np.unique(messages, return_inverse=True)
    in_message = np.zeros((len(numbers), len(terms)), bool)
    np.logical_or.at(in_message, which, held)
    enough = set(numbers[in_message.sum(axis=1) >= least].tolist())
    in_chunk = dict(zip(ids.tolist(), held, strict=True))
    weighed: list[tuple[float, str, int, Found]] = []
    for c in candidates:
        here = [t for t, holds in zip(terms, in_chunk[c.chunk_id], strict=True) if holds]
        if c.message_id not in enough or not here:
            continue
        kin = sum(not t.exact and t.own.search(c.text) is None for t in here) / len(here)
        score = c.score * (1 - (1 - KIN) * kin)
        weighed.append((score, c.sent_at, c.chunk_id, Found(c.chunk_id, c.message_id, len(here))))
    return [entry[-1] for entry in sorted(weighed, key=lambda entry: entry[:3], reverse=True)]


def _verified(conn: sqlite3.Connection, wanted_term: Term, ids: np.ndarray) -> list[tuple[int, int]]:
    """Those of the chunks that hold an exact term as it is written, as (message_id, chunk_id).

    A message's subject, people and attachments are the same for all its chunks: they are looked at once.
    """
    own = wanted_term.own
    rows = conn.execute(
        f"select message_id, id, text from recall_chunks where message_id is not null and id {_THESE}", (_json(ids),)
    ).fetchall()
    sure = [(row[0], row[1]) for row in rows if own.search(fold(row[2]))]
    sure_ids = {chunk for _, chunk in sure}
    open_ = {row[0]: row[1] for row in rows if row[1] not in sure_ids}
    around = conn.execute(
        f"select id, subject, author, recipients, attachments from _recall_chunks_fts_content where id {_THESE}",
        (json.dumps(list(open_.values())),),
    ).fetchall()
    by_chunk = {row[0]: any(own.search(fold(text)) for text in tuple(row)[1:]) for row in around}
    sure += [(row[0], row[1]) for row in rows if row[1] not in sure_ids and by_chunk.get(open_[row[0]])]
    return sure
