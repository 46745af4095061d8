"""The keyword retriever: BM25 over the chunks' words, phrases and identifiers verified, counted over the whole message.

FTS5 answers with stems and without punctuation; what was meant literally is verified against the text afterwards, and a
word's own form goes before its kin. A query of several words wants a share of them (``keyword_min_match``) somewhere in
the message: in its subject, its people, its attachments' names or any of its chunks.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .folding import fold
from .fusion import ChunkFacts
from .postings import FTS, THESE, Scope, among, crossing, joined, postings, rows, truths, verified
from .terms import Term, term

WEIGHTS = (4.0, 3.0, 1.0, 2.0, 1.0)
"""BM25's weight of each of FTS_COLUMNS: subject, author, recipients, attachments, text. Measured in benchmarks/."""

KIN = 0.5
"""What a hit is worth whose words all stand there only as their stems' kin ("collected" for "collects")."""

OWN = 1e6
"""Added to BM25 where the one word of a query stands itself, or a number of several parts as a whole: these go before
all others, whatever their weight."""

BATCH = 600
"""Chunks that are read at a time."""

MOST_READ = 3
"""Chunks of one message that are read: the best stands for it, the others are its further matches."""

MOST_WEIGHED, MOST_WEIGHED_NEXT = 4000, 1000
"""Chunks with the same terms that BM25 weighs; of more (a word in every message of a large file), the newest."""

_K1, _B = 1.2, 0.75  # FTS5's own constants, for the terms that are scored here
_WEIGHTS = ", ".join(map(str, WEIGHTS))
FACTS = "c.id, c.message_id, m.copy_of, coalesce(m.sent_at, ''), c.content_hash, length(c.text), c.section"
"""The columns of ChunkFacts, of ``recall_chunks c join messages m``."""

# Between subject, author and text: a word in no one's mail, which no phrase can cross.
_END = " 0oaken0end0 "


class Found(NamedTuple):
    """A chunk that the keywords found. ``held``: how many of the query's terms it holds, its message's header included."""

    facts: ChunkFacts
    held: int


@dataclass(frozen=True)
class Wanted:
    """A query's terms: ``required`` phrases that must stand in the message, ``counted`` words of which some must.

    ``numbers``: numbers typed with spaces in them (``+44 20 7946``): a hit with one as a whole goes first.
    """

    required: tuple[Term, ...]
    counted: tuple[Term, ...]
    numbers: tuple[Term, ...] = ()

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
    runs = re.findall(r"(?<!\S)\d+(?: \d+)+(?!\S)", " ".join(words))
    numbers = tuple(t for t in (term(run, True) for run in runs) if t is not None)
    return Wanted(required, tuple(telling if telling or required else every), numbers)


def retrieve(want: Wanted, scope: Scope, *, depth: int, min_match: float) -> list[Found]:
    """Chunks of the best ``depth`` messages (or of all there are), best chunk first."""
    return _Retrieval(want, scope, want.least(min_match)).best(depth) if want.terms else []


@dataclass(slots=True)
class _Candidate:
    facts: ChunkFacts
    text: str
    """The chunk with its subject and author, folded."""
    score: float


class _Retrieval:
    """One query's way through the index.

    First by sets: which messages hold enough of the terms, as far as FTS5 can tell. Then BM25, for the likeliest of their
    chunks only. Then the text of the best, for what FTS5 cannot tell: own forms and punctuation.
    """

    def __init__(self, want: Wanted, scope: Scope, least: int) -> None:
        self.conn, self.scope, self.of = scope.conn, scope, scope.of
        self.terms, self.numbers, self.least = want.terms, want.numbers, least
        self.required = len(want.required)
        self.verifying = any(t.exact for t in self.terms)
        self.crossing = [crossing(self.conn, t) for t in self.terms]
        whole = [joined(postings(self.conn, t), more) for t, more in zip(self.terms, self.crossing, strict=True)]
        (total,) = self.conn.execute("select count(*) from recall_chunks").fetchone()
        # BM25's inverse document frequency, as FTS5 has it.
        self.rarity = [max(1e-6, math.log((total - len(f) + 0.5) / (len(f) + 0.5))) for f in whole]
        self.found = [scope.within(chunks) for chunks in whole]
        self.in_text = [
            joined(postings(self.conn, t, "text"), more) for t, more in zip(self.terms, self.crossing, strict=True)
        ]

    def best(self, depth: int) -> list[Found]:
        """See ``retrieve``. Reads batches of chunks, likeliest first, until enough messages have passed: what filters and
        ``min_match`` take away is made up for, however deep that goes."""
        passed: list[tuple[float, str, int, Found]] = []
        read: dict[int, int] = {}
        messages: set[int] = set()
        for batch in self._batches():
            for candidate, held in self._passing(self._fetched(self._worth_reading(batch, read))):
                facts = candidate.facts
                passed.append((candidate.score, facts.sent_at, facts.chunk_id, Found(facts, held)))
                messages.add(facts.message_id)
            if len(messages) >= depth:
                break
        passed.sort(reverse=True)
        return self._standing([hit for *_, hit in passed], depth)

    def _batches(self) -> Iterator[list[tuple[int, float]]]:
        """Chunks that come into question with their BM25, likeliest first."""
        ids, likely = self._possible()
        order = np.lexsort((-ids, -likely))
        ids, likely = ids[order], likely[order]
        start, most = 0, MOST_WEIGHED
        while start < len(ids):
            stop = start + BATCH
            if stop < len(ids):
                # Chunks with the same terms are weighed together, so that BM25 and not age decides among them.
                stop = max(stop, int(np.searchsorted(-likely, -likely[stop - 1], side="right")))
            stop = min(stop, start + most)  # the rest comes in its turn: an old one may be the only one that is right
            weighed = self._weighed(ids[start:stop], whole=len(ids))
            for first in range(0, len(weighed), BATCH):
                yield weighed[first : first + BATCH]
            start, most = stop, MOST_WEIGHED_NEXT

    def _possible(self) -> tuple[np.ndarray, np.ndarray]:
        """The chunks of messages that hold enough of the terms, and how likely each is to be a good hit.

        Where a phrase must stand in the message, only the chunks that hold it stand for it.
        """
        if len(self.terms) == 1:
            ids = self.found[0]
        else:
            last = int(self.of.max(initial=0))
            holding = [truths(self.of[chunks], last) for chunks in self.found]
            enough = np.sum(holding, axis=0) >= self.least
            for required in holding[: self.required]:
                enough &= required
            ids = min(self.found[: self.required], key=len) if self.required else self._any()
            ids = ids[enough[self.of[ids]]]
        likely = np.zeros(len(ids))
        for chunks, in_text, rarity in zip(self.found, self.in_text, self.rarity, strict=True):
            likely[among(ids, chunks)] += rarity
            likely[among(ids, in_text)] += rarity / 2
        return ids, likely

    def _any(self) -> np.ndarray:
        """The chunks that hold any of the terms."""
        flags = np.zeros(len(self.of), bool)
        for chunks in self.found:
            flags[chunks] = True
        return np.flatnonzero(flags)

    def _weighed(self, ids: np.ndarray, whole: int) -> list[tuple[int, float]]:
        """The chunks with their BM25, best first. ``whole``: how many come into question at all."""
        match = " OR ".join(t.match for t in self.terms if t.match)
        if not match:
            return [(chunk, 0.0) for chunk in ids.tolist()]
        # The + keeps SQLite from seeking the match anew for every id.
        within, values = f" and +rowid {THESE}", [json.dumps(ids.tolist())]
        if len(self.terms) == 1 and self.scope.messages is None and len(ids) == whole:
            within, values = "", []
        weighed = rows(
            self.conn,
            f"select rowid, -bm25({FTS}, {_WEIGHTS}) as score from {FTS}"
            f" where {FTS} match ?{within} order by score desc",
            [match, *values],
        )
        if len(weighed) < len(ids):
            weighed += [(chunk, 0.0) for chunk in set(ids.tolist()).difference(chunk for chunk, _ in weighed)]
        return weighed

    def _worth_reading(self, batch: list[tuple[int, float]], read: dict[int, int]) -> list[tuple[int, float]]:
        """Less the chunks of messages of which better ones have been read; ``read`` counts those.

        Subject and people match with every chunk of a message: one such is enough.
        """
        ids = np.array([chunk for chunk, _ in batch], np.int64)
        worth = []
        for chunk, message, in_text in zip(batch, self.of[ids].tolist(), self._said(ids), strict=True):
            before = read.get(message, 0)
            if before < (MOST_READ if in_text else 1):
                read[message] = before + 1
                worth.append(chunk)
        return worth

    def _said(self, ids: np.ndarray) -> list[bool]:
        """For each chunk, whether its own text has any of the terms."""
        said = np.zeros(len(ids), bool)
        for in_text in self.in_text:
            said |= among(ids, in_text)
        return said.tolist()

    def _fetched(self, batch: list[tuple[int, float]]) -> list[_Candidate]:
        scores = dict(batch)
        candidates = []
        for *facts, said in rows(
            self.conn,
            f"select {FACTS}, coalesce(m.subject, '') || ? || coalesce(c.author, '') || ? || c.text"
            f" from recall_chunks c join messages m on m.id = c.message_id where c.id {THESE}",
            [_END, _END, json.dumps(list(scores))],
        ):
            candidates.append(_Candidate(ChunkFacts._make(facts), fold(said), scores[facts[0]]))
        for t, rarity in zip(self.terms, self.rarity, strict=True):
            if t.cjk:
                _weigh_cjk(t, rarity, candidates)
        return candidates

    def _passing(self, candidates: list[_Candidate]) -> Iterator[tuple[_Candidate, int]]:
        """The candidates whose message holds enough of the terms, and how many they hold themselves.

        Their scores become what they are worth with own forms before kin.
        """
        if len(self.terms) == 1 and not self.verifying:
            for candidate in candidates:
                if self.terms[0].stands_in(candidate.text):
                    candidate.score += OWN
                yield candidate, 1
            return
        held, enough = self._held(candidates)
        counts = held.sum(axis=1).tolist()
        kin = [0] * len(candidates)
        for i, t in enumerate(self.terms):
            if not t.exact:
                for n in np.flatnonzero(held[:, i]).tolist():
                    kin[n] += not t.stands_in(candidates[n].text)
        for candidate, count, related in zip(candidates, counts, kin, strict=True):
            if count and candidate.facts.message_id in enough:
                candidate.score *= 1 - (1 - KIN) * related / count
                for number in self.numbers:
                    candidate.score += OWN * number.stands_in(candidate.text)
                yield candidate, count

    def _held(self, candidates: list[_Candidate]) -> tuple[np.ndarray, set[int]]:
        """Which terms each candidate holds, and which of their messages hold enough in all; exact terms are verified."""
        ids = np.array([c.facts.chunk_id for c in candidates], np.int64)
        messages = {c.facts.message_id for c in candidates}
        if not self.verifying:
            return np.array([among(ids, chunks) for chunks in self.found]).T, messages
        known = {c.facts.chunk_id: c.text for c in candidates}
        numbers = np.array(sorted(messages), np.int64)
        columns, in_message = [], []
        for t, chunks, more in zip(self.terms, self.found, self.crossing, strict=True):
            chunks = chunks[among(self.of[chunks], numbers)]
            if t.exact:
                sure = verified(self.conn, t, chunks, self.of, known)
                chunks = np.union1d(sure, chunks[among(chunks, more)])
            columns.append(among(ids, chunks))
            in_message.append(among(numbers, np.unique(self.of[chunks])))
        enough = np.sum(in_message, axis=0) >= self.least
        for required in in_message[: self.required]:
            enough &= required
        return np.array(columns).T, set(numbers[enough].tolist())

    def _standing(self, ranked: list[Found], depth: int) -> list[Found]:
        """The chunks that stand for the best ``depth`` messages: not those with no word of the query in their own text
        when another of the message has."""
        said = self._said(np.array([hit.facts.chunk_id for hit in ranked], np.int64))
        saying = {hit.facts.message_id for hit, in_text in zip(ranked, said, strict=True) if in_text}
        standing = []
        kept: set[int] = set()
        for hit, in_text in zip(ranked, said, strict=True):
            message = hit.facts.message_id
            if (in_text or message not in saying) and (message in kept or len(kept) < depth):
                kept.add(message)
                standing.append(hit)
        return standing


def _weigh_cjk(wanted: Term, rarity: float, candidates: list[_Candidate]) -> None:
    """Add BM25 for a term that FTS5 cannot weigh: its index of pairs keeps no counts."""
    average = sum(len(c.text) for c in candidates) / max(1, len(candidates))
    for candidate in candidates:
        if times := sum(1 for _ in wanted.spans(candidate.text)):
            share = _K1 * (1 - _B + _B * len(candidate.text) / average)
            candidate.score += rarity * times * (_K1 + 1) / (times + share)
