"""Two ranked lists of chunks into one ranked list of messages: collapsing, and Reciprocal Rank Fusion (Cormack 2009).

Pure: no database, no scores, only ranks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PARAGRAPH = 40
"""Characters from which equal texts in several messages are one saying, not a "Thanks!" that each of them said."""

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class ChunkFacts:
    """What collapsing must know of a chunk. ``sent_at`` may be ''; ``length`` is of its text, in characters."""

    chunk_id: int
    message_id: int
    copy_of: int | None
    sent_at: str
    content_hash: str
    length: int
    section: str


@dataclass
class Hit:
    """A message and why it is here. ``chunk_id`` is its best chunk (None: it has none); ``ranks`` is by retriever, from 1."""

    message_id: int
    chunk_id: int | None
    matched_chunks: list[int]
    ranks: dict[str, int]
    sent_at: str = ""
    score: float = 0.0
    why: dict[str, dict[str, float]] = field(default_factory=dict)


def fuse(
    lists: Mapping[str, Sequence[int]],
    facts: Mapping[int, ChunkFacts],
    weights: Mapping[str, float],
    rrf_k: int,
    held: Mapping[int, int] | None = None,
) -> list[Hit]:
    """One ranked list of messages from each retriever's chunk ids, best first.

    A message's rank with a retriever is that of its best chunk there, counted in messages. ``score`` is the sum of
    weight / (rrf_k + rank); ties go to the newest message, then to the larger id. A chunk without facts is passed over.

    A saying is one hit: a copy is shown only where its original is not in the lists, and a paragraph that stands in
    several messages counts for one of them: one that holds most of the query's terms beside it (``held``, by chunk), and
    of those the oldest.
    """
    known = {name: [facts[c] for c in chunks if c in facts] for name, chunks in lists.items()}
    speaker = _speakers([fact for chunks in known.values() for fact in chunks], held or {})
    hits: dict[int, Hit] = {}
    for name, chunks in known.items():
        rank = 0
        for fact in chunks:
            spoken = speaker[fact.chunk_id]
            hit = hits.get(spoken.message_id)
            if hit is None:
                hit = Hit(spoken.message_id, spoken.chunk_id, [], {}, spoken.sent_at)
                hits[spoken.message_id] = hit
            if spoken.chunk_id not in hit.matched_chunks:
                hit.matched_chunks.append(spoken.chunk_id)
            if name not in hit.ranks:
                rank += 1
                hit.ranks[name] = rank
    for hit in hits.values():
        for name, rank in hit.ranks.items():
            part = weights[name] / (rrf_k + rank)
            hit.why[name] = {"rank": rank, "weight": weights[name], "contribution": part}
            hit.score += part
    order = sorted(hits.values(), key=lambda hit: (hit.sent_at, hit.message_id), reverse=True)
    return sorted(order, key=lambda hit: hit.score, reverse=True)


def _speakers(facts: Sequence[ChunkFacts], held: Mapping[int, int]) -> dict[int, ChunkFacts]:
    """For each chunk, the chunk that speaks for it: itself, or the same words in an older message or in the original."""
    messages = {fact.message_id for fact in facts}
    originals = {fact.copy_of for fact in facts if fact.copy_of is not None}
    by_text: dict[tuple[str, int | str], list[ChunkFacts]] = {}
    for fact in {fact.chunk_id: fact for fact in facts}.values():
        paragraph = fact.length >= PARAGRAPH and fact.section != "headers"
        saying = fact.copy_of if fact.copy_of is not None else fact.message_id
        by_text.setdefault((fact.content_hash, "" if paragraph else saying), []).append(fact)
    speaker = {}
    for group in by_text.values():
        best = min(
            group,
            key=lambda f: (
                -held.get(f.chunk_id, 0),
                f.copy_of is not None and f.copy_of in messages,
                f.sent_at or "9999",
                f.message_id,
                f.chunk_id,
            ),
        )
        for fact in group:
            speaker[fact.chunk_id] = best
    return _originals(speaker, messages, originals)


def _originals(speaker: dict[int, ChunkFacts], messages: set[int], originals: set[int]) -> dict[int, ChunkFacts]:
    """Copies of one saying under one message: the original where it is here, else the first copy."""
    if not originals:
        return speaker
    first: dict[int, ChunkFacts] = {}
    for fact in speaker.values():
        saying = fact.copy_of if fact.copy_of is not None else fact.message_id
        if saying in originals:
            best = first.get(saying)
            if best is None or (fact.copy_of is not None, fact.message_id) < (
                best.copy_of is not None,
                best.message_id,
            ):
                first[saying] = fact
    return {
        chunk_id: _as(fact, first.get(fact.copy_of if fact.copy_of is not None else fact.message_id))
        for chunk_id, fact in speaker.items()
    }


def _as(fact: ChunkFacts, stand_in: ChunkFacts | None) -> ChunkFacts:
    if stand_in is None or stand_in.message_id == fact.message_id:
        return fact
    return ChunkFacts(
        fact.chunk_id,
        stand_in.message_id,
        stand_in.copy_of,
        stand_in.sent_at,
        fact.content_hash,
        fact.length,
        fact.section,
    )
