"""Two ranked lists of chunks into one ranked list of messages: collapsing, and Reciprocal Rank Fusion.

Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods", 2009.
Pure: no database, no scores, only ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

PARAGRAPH = 40
"""Characters from which equal texts in several messages are one saying, not a "Thanks!" that each of them said."""


class ChunkFacts(NamedTuple):
    """What collapsing must know of a chunk. ``sent_at`` may be ''; ``length`` is of its text, in characters."""

    chunk_id: int
    message_id: int
    copy_of: int | None
    sent_at: str
    content_hash: str
    length: int
    section: str

    @property
    def saying(self) -> int:
        """The message that its message is a copy of, or itself."""
        return self.message_id if self.copy_of is None else self.copy_of


@dataclass(slots=True)
class Hit:
    """A message and why it is here. ``chunk_id`` is its best chunk (None: it has none); ``ranks`` is by retriever, from 1;
    ``in_thread``: the hits of its conversation that it stands for, where hits are collapsed to those."""

    message_id: int
    chunk_id: int | None
    sent_at: str = ""
    score: float = 0.0
    matched_chunks: list[int] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    in_thread: list[int] = field(default_factory=list)

    def why(self, weights: Mapping[str, float], rrf_k: int) -> dict[str, dict[str, float]]:
        """Each retriever's rank, weight and contribution to the score."""
        return {
            name: {"rank": rank, "weight": weights[name], "contribution": weights[name] / (rrf_k + rank)}
            for name, rank in self.ranks.items()
        }


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
    known = {name: [facts[chunk] for chunk in chunks if chunk in facts] for name, chunks in lists.items()}
    every = {fact.chunk_id: fact for chunks in known.values() for fact in chunks}
    speaker = _speakers(every.values(), held or {})
    hits: dict[int, Hit] = {}
    for name, chunks in known.items():
        rank = 0
        for fact in chunks:
            spoken = speaker.get(fact.chunk_id, fact)
            hit = hits.get(spoken.message_id)
            if hit is None:
                hit = hits[spoken.message_id] = Hit(spoken.message_id, spoken.chunk_id, spoken.sent_at)
            if spoken.chunk_id not in hit.matched_chunks:
                hit.matched_chunks.append(spoken.chunk_id)
            if name not in hit.ranks:
                rank += 1
                hit.ranks[name] = rank
                hit.score += weights[name] / (rrf_k + rank)
    newest = sorted(hits.values(), key=lambda hit: (hit.sent_at, hit.message_id), reverse=True)
    return sorted(newest, key=lambda hit: hit.score, reverse=True)


def _speakers(facts: Iterable[ChunkFacts], held: Mapping[int, int]) -> dict[int, ChunkFacts]:
    """The chunks that another speaks for: the same words in an older message, or the original of a copy."""
    same: dict[tuple[str, int], list[ChunkFacts]] = {}
    sayings: dict[int, list[ChunkFacts]] = {}
    for fact in facts:
        paragraph = fact.length >= PARAGRAPH and fact.section != "headers"
        same.setdefault((fact.content_hash, 0 if paragraph else fact.saying), []).append(fact)
        sayings.setdefault(fact.saying, []).append(fact)
    speaker: dict[int, ChunkFacts] = {}
    for group in same.values():
        if len(group) > 1:
            best = min(group, key=lambda fact: (-held.get(fact.chunk_id, 0), *_age(fact)))
            speaker.update((fact.chunk_id, best) for fact in group)
    for group in sayings.values():
        if any(fact.copy_of is not None for fact in group):
            first = min(group, key=_age)
            for fact in group:
                spoken = speaker.get(fact.chunk_id, fact)
                if spoken.saying == first.saying:
                    speaker[fact.chunk_id] = spoken._replace(
                        message_id=first.message_id, copy_of=first.copy_of, sent_at=first.sent_at
                    )
    return speaker


def _age(fact: ChunkFacts) -> tuple[bool, str, int, int]:
    """Orders the holders of one text: originals before copies, then the oldest."""
    return fact.copy_of is not None, fact.sent_at or "9999", fact.message_id, fact.chunk_id
