"""Ranks alone are fused; chunks collapse to messages, and one saying is one hit."""

from __future__ import annotations

import random

import pytest

from datasette_oaken.fusion import ChunkFacts, fuse


def fact(
    chunk: int, message: int, *, text: str = "", copy_of: int | None = None, at: str = "", short: bool = False
) -> ChunkFacts:
    """A chunk; ``text`` names its words (its own when not given)."""
    return ChunkFacts(chunk, message, copy_of, at, text or f"text-{chunk}", 10 if short else 100, "authored")


def fused(
    lists: dict[str, list[int]], *facts: ChunkFacts, held: dict[int, int] | None = None, **weights: float
) -> list:
    weights = {"keyword": 1.0, "vector": 1.0} | weights
    return fuse(lists, {f.chunk_id: f for f in facts}, weights, 60, held)


def ids(hits: list) -> list[int]:
    return [hit.message_id for hit in hits]


def test_the_score_is_the_sum_of_weight_over_k_plus_rank() -> None:
    facts = [fact(1, 1), fact(2, 2), fact(3, 3)]
    hits = fused({"keyword": [1, 2], "vector": [2, 3]}, *facts, keyword=3.0)
    assert [(hit.message_id, hit.ranks, hit.score) for hit in hits] == [
        (2, {"keyword": 2, "vector": 1}, pytest.approx(3 / 62 + 1 / 61)),
        (1, {"keyword": 1}, pytest.approx(3 / 61)),
        (3, {"vector": 2}, pytest.approx(1 / 62)),
    ]
    assert hits[0].why({"keyword": 3.0, "vector": 1.0}, 60) == {
        "keyword": {"rank": 2, "weight": 3.0, "contribution": pytest.approx(3 / 62)},
        "vector": {"rank": 1, "weight": 1.0, "contribution": pytest.approx(1 / 61)},
    }
    for hit in hits:
        why = hit.why({"keyword": 3.0, "vector": 1.0}, 60)
        assert hit.score == pytest.approx(sum(part["contribution"] for part in why.values()))


def test_ranks_count_messages_and_the_other_chunks_are_kept() -> None:
    facts = [fact(1, 1), fact(2, 1), fact(3, 2)]
    hits = fused({"keyword": [2, 1, 3], "vector": [1, 3]}, *facts)
    assert [(hit.message_id, hit.chunk_id, hit.matched_chunks, hit.ranks) for hit in hits] == [
        (1, 2, [2, 1], {"keyword": 1, "vector": 1}),
        (2, 3, [3], {"keyword": 2, "vector": 2}),
    ]


def test_ties_go_to_the_newest_then_to_the_larger_id() -> None:
    facts = [fact(1, 1, at="2024-01-02"), fact(2, 2, at="2024-01-01"), fact(3, 3, at="2024-01-02"), fact(4, 4)]
    assert ids(fused({"keyword": [1], "vector": [2]}, *facts)) == [1, 2]
    assert ids(fused({"keyword": [1], "vector": [3]}, *facts)) == [3, 1]
    assert ids(fused({"keyword": [4], "vector": [2]}, *facts)) == [2, 4]


def test_a_paragraph_in_many_messages_is_one_hit_of_its_oldest_holder() -> None:
    facts = [fact(n, n, text="same", at=f"2024-01-{10 - n:02}") for n in range(1, 6)] + [fact(9, 9)]
    hits = fused({"keyword": [1, 2, 9, 3], "vector": [4, 5, 9]}, *facts)
    assert [(hit.message_id, hit.chunk_id, hit.ranks) for hit in hits] == [
        (5, 5, {"keyword": 1, "vector": 1}),
        (9, 9, {"keyword": 2, "vector": 2}),
    ]


def test_a_holder_with_more_of_the_query_around_the_paragraph_speaks_for_it() -> None:
    facts = [
        fact(1, 1, text="bill", at="2024-03"),
        fact(2, 2, text="bill", at="2024-04"),
        fact(3, 3, text="bill", at="2024-05"),
    ]
    assert ids(fused({"keyword": [2, 1, 3]}, *facts, held={1: 1, 2: 2, 3: 1})) == [2]
    assert ids(fused({"keyword": [2, 1, 3]}, *facts, held={1: 1, 2: 1, 3: 1})) == [1]


def test_what_many_say_in_a_few_words_is_said_by_each() -> None:
    facts = [fact(n, n, text="Thanks!", short=True) for n in (1, 2, 3)]
    assert ids(fused({"keyword": [2, 1, 3]}, *facts)) == [2, 1, 3]


def test_a_message_with_something_of_its_own_to_say_stays() -> None:
    facts = [fact(1, 1, text="same", at="1"), fact(2, 2, text="same", at="2"), fact(3, 2, at="2")]
    hits = fused({"keyword": [2, 1, 3]}, *facts)
    assert [(hit.message_id, hit.matched_chunks) for hit in hits] == [(1, [1]), (2, [3])]


def test_the_original_stands_for_its_copies_and_a_copy_only_where_it_is_missing() -> None:
    original, copy, second = fact(1, 1, at="2"), fact(2, 2, copy_of=1, at="1"), fact(3, 3, copy_of=1, at="1")
    assert ids(fused({"keyword": [3, 2, 1]}, original, copy, second)) == [1]
    assert ids(fused({"keyword": [3], "vector": [1]}, original, copy, second)) == [1]
    assert ids(fused({"keyword": [3, 2]}, copy, second)) == [2]
    assert ids(fused({"keyword": [3]}, second)) == [3]


def test_a_copy_with_the_same_short_words_is_still_one_saying() -> None:
    facts = [fact(1, 1, text="Yes", short=True), fact(2, 2, text="Yes", copy_of=1, short=True)]
    assert ids(fused({"keyword": [2, 1]}, *facts)) == [1]


def test_chunks_without_facts_are_passed_over_and_take_no_rank() -> None:
    assert [(h.message_id, h.ranks) for h in fused({"keyword": [7, 1]}, fact(1, 1))] == [(1, {"keyword": 1})]
    assert fused({}, fact(1, 1)) == []
    assert fused({"keyword": [], "vector": []}) == []


def test_against_the_formula_on_random_lists() -> None:
    rng = random.Random(11)
    for _ in range(100):
        facts = [fact(n, n, at=str(rng.randrange(3))) for n in range(1, 30)]
        lists = {name: rng.sample(range(1, 30), rng.randrange(25)) for name in ("keyword", "vector")}
        weights = {"keyword": rng.choice([1.0, 3.0]), "vector": rng.choice([0.0, 1.0])}
        expected = {}
        for name, chunks in lists.items():
            for rank, chunk in enumerate(chunks, 1):
                expected[chunk] = expected.get(chunk, 0.0) + weights[name] / (60 + rank)
        at = {f.message_id: f.sent_at for f in facts}
        order = sorted(expected, key=lambda id: (expected[id], at[id], id), reverse=True)
        assert ids(fused(lists, *facts, **weights)) == order
