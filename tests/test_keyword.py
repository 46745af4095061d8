"""The keyword retriever finds what was typed: stems, identifiers, phrases, other scripts, words spread over a message."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_mail import add, archive, found

from datasette_oaken import keyword
from datasette_oaken.settings import SearchSettings


def texts(folder: Path, *chunks: str) -> Any:
    """A message a text."""
    return archive(folder, [{"text": chunk} for chunk in chunks])


IDENTIFIERS = [
    "Release 1.0.21 is out",  # 1
    "Rooms 1 0 21 are free",  # 2
    "Release 1.0.211 is out",  # 3
    "Your invoice INV-2024/0117 is due",  # 4
    "Invoice INV 2024 0117, as printed",  # 5
    "Write to someone@example.org soon",  # 6
    "someone at example dot org",  # 7
    "Call +44 20 7946 0018 now",  # 8
    "Section 20, page 7946, row 44",  # 9
]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("1.0.21", {1}),
        ("1.0", {1, 3}),
        ("21", {1, 2}),
        ("INV-2024/0117", {4}),
        ("inv-2024", {4}),
        ("0117", {4, 5}),
        ("2024/0117", {4}),
        ("someone@example.org", {6}),
        ("example.org", {6}),
        ("someone", {6, 7}),
        ('"+44 20 7946"', {8}),
        ('"44 20 7946 0018"', {8}),
        ('"1 0 21"', {2}),
        ('"inv 2024 0117"', {5}),
    ],
)
def test_identifiers_whole_and_in_part_and_nothing_that_only_looks_so(
    tmp_path: Path, query: str, ids: set[int]
) -> None:
    assert set(found(texts(tmp_path, *IDENTIFIERS), query)) == ids


def test_an_unquoted_number_with_spaces_ranks_the_whole_number_first(tmp_path: Path) -> None:
    assert found(texts(tmp_path, *IDENTIFIERS), "+44 20 7946")[:1] == [8]


@pytest.mark.parametrize("where", ["subject", "sender", "to", "files"])
def test_identifiers_in_the_header_are_verified_too(tmp_path: Path, where: str) -> None:
    conn = archive(tmp_path)
    for value in ("a.b-1@example.org", "a b 1 example org"):
        field = {"subject": value, "sender": ("Ada", value), "to": [("Ben", value)], "files": [value]}[where]
        add(conn, ["text", "more text"], **{where: field})
    assert found(conn, "a.b-1@example.org") == [1]
    assert found(conn, '"b 1 example"') == [2]


PHRASES = [
    "please bring her back by six",  # 1
    "please bring her backpack",  # 2
    "bring her, back and all",  # 3
    "bringing her back",  # 4
    "they bring\n> her back",  # 5
    "back her bring",  # 6
    "bring_her_back",  # 7
]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ('"bring her back"', {1, 3, 5}),
        ('"Bring HER, back"', {1, 3, 5}),
        ("“bring her back”", {1, 3, 5}),
        ('"bringing her"', {4}),
        ('"back"', {1, 3, 4, 5, 6, 7}),
        ('"bring her back" "by six"', {1}),
        ('"bring her back" -six', {3, 5}),
        ('six -"bring her back"', set()),
        ('back -"bring her back"', {4, 6, 7}),
    ],
)
def test_phrases_stand_letter_for_letter(tmp_path: Path, query: str, ids: set[int]) -> None:
    assert set(found(texts(tmp_path, *PHRASES), query)) == ids


def test_a_phrase_is_found_where_the_text_was_cut_into_chunks(tmp_path: Path) -> None:
    conn = archive(
        tmp_path, [{"text": ["we said the blue", "door at noon", "stays open"]}, {"text": ["blue", "at noon the door"]}]
    )
    for query in ('"the blue door"', '"blue door at noon"', '"noon stays"'):
        assert found(conn, query) == [1], query
    assert found(conn, '"blue door" -"noon stays"') == []
    assert found(conn, '"blue door" open -nothing') == [1]


def test_a_phrase_does_not_run_from_one_field_into_the_next(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": "door", "subject": "the blue", "sender": ("door man", "")}])
    assert found(conn, '"blue door"') == []


def test_phrases_may_stand_in_different_chunks_of_a_message(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": ["the red gate", "a blue door"]}, {"text": "the red gate"}])
    assert found(conn, '"red gate" "blue door"') == [1]


def test_english_stems_are_found_and_a_words_own_form_goes_first(tmp_path: Path) -> None:
    kin = ["collected, collected and collected again", "a collection"]
    conn = archive(
        tmp_path, [{"text": kin[0], "subject": "Collected"}, {"text": kin[1]}, {"text": "she collects " + "far " * 200}]
    )
    assert found(conn, "collects")[0] == 3
    assert set(found(conn, "collects")) == {1, 2, 3}
    assert found(conn, "collected")[0] == 1
    assert found(conn, '"collects"') == [3]


def test_own_forms_go_first_in_a_query_of_several_words(tmp_path: Path) -> None:
    conn = texts(tmp_path, "organized schools", "an organization of the school", "organizations for schooling")
    assert found(conn, "organization school")[0] == 2


@pytest.mark.parametrize("query", ["cafe", "CAFÉ", "café", "cafe\u0301", '"cafe"'])
def test_diacritics_are_folded_on_both_sides(tmp_path: Path, query: str) -> None:
    conn = texts(tmp_path, "Le Café est ouvert", "the cafe is open", "the cafe\u0301 is closed", "tea")
    assert set(found(conn, query)) == {1, 2, 3}


CJK = [
    "明日の会議は東京で行います",
    "東京都の会議室",
    "会う議論",
    "오늘 회의가 있습니다",
    "北京大学 meeting at noon",
    "a meeting",
    "来週のZoom会議は2024年3月",
]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("会議", {1, 2, 7}),
        ("会議室", {2}),
        ("会議 東京", {1, 2, 7}),
        ('"会議は東京"', {1}),
        ("京都", {2}),
        ("회의", {4}),
        ("北京 meeting", {5, 6}),
        ("meeting 北京大学 noon", {5}),
        ("大学 -meeting", set()),
        ("会議 -東京都", {1, 7}),
        ("議会", set()),
        ("zoom", {7}),
        ("Zoom会議", {7}),
        ("2024年", {7}),
        ("2024", {7}),
        ('"zoom 会議"', set()),
    ],
)
def test_chinese_japanese_and_korean_by_any_two_characters(tmp_path: Path, query: str, ids: set[int]) -> None:
    assert set(found(texts(tmp_path, *CJK), query)) == ids


def test_more_of_a_cjk_word_ranks_first(tmp_path: Path) -> None:
    assert found(texts(tmp_path, "会議" + "あ" * 300, "会議と会議", "other"), "会議") == [2, 1]


def test_words_of_a_question_may_stand_in_different_chunks_and_fields(tmp_path: Path) -> None:
    conn = archive(tmp_path)
    add(conn, ["the ferry leaves", "a yellow kite"], subject="Harbour")
    add(conn, ["the ferry leaves"], subject="Lunch")
    add(conn, ["nothing"], sender=("Ferry Kite", ""), files=["harbour.pdf"])
    assert set(found(conn, "ferry kite harbour trombone")) == {1, 3}
    assert set(found(conn, "ferry kite harbour trombone", settings=SearchSettings(keyword_min_match=0.25))) == {1, 2, 3}
    assert set(found(conn, "ferry kite harbour", settings=SearchSettings(keyword_min_match=1.0))) == {1, 3}


def test_stop_words_do_not_count_unless_there_is_nothing_else(tmp_path: Path) -> None:
    conn = texts(tmp_path, "to be or not to be", "the ferry", "when will it be that we are in")
    assert found(conn, "when will the ferry be in") == [2]
    assert set(found(conn, "when will it be in")) >= {3}
    assert 1 in found(conn, '"to be or not"')


def test_a_phrase_counts_as_one_of_the_words(tmp_path: Path) -> None:
    conn = texts(tmp_path, "blue door", "blue door and ferry", "ferry and kite")
    assert set(found(conn, '"blue door" ferry kite')) == {2}
    assert set(found(conn, '"blue door" ferry')) == {1, 2}


WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu"]


@given(
    messages=st.lists(
        st.tuples(
            st.lists(st.lists(st.sampled_from(WORDS), max_size=3), min_size=1, max_size=3),
            st.lists(st.sampled_from(WORDS), max_size=2),
        ),
        min_size=1,
        max_size=12,
    ),
    query=st.lists(st.sampled_from([*WORDS, "yak"]), min_size=1, max_size=6, unique=True),
    excluded=st.lists(st.sampled_from(WORDS), max_size=2),
    share=st.sampled_from([0.01, 0.3, 0.5, 0.75, 1.0]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_min_match_against_brute_force(
    tmp_path_factory: pytest.TempPathFactory,
    messages: list[tuple[list[list[str]], list[str]]],
    query: list[str],
    excluded: list[str],
    share: float,
) -> None:
    conn = archive(
        tmp_path_factory.mktemp("min-match"),
        [
            {"text": [f"{i} " + " ".join(c) for c in chunks], "subject": " ".join(subject)}
            for i, (chunks, subject) in enumerate(messages)
        ],
    )
    least = max(1, math.ceil(share * len(query) - 1e-9))
    expected = set()
    for id, (chunks, subject) in enumerate(messages, 1):
        held = {word for chunk in chunks for word in chunk} | set(subject)
        if len(held & set(query)) >= least and not held & set(excluded):
            expected.add(id)
    typed = " ".join([*query, *(f"-{word}" for word in excluded)])
    assert set(found(conn, typed, settings=SearchSettings(keyword_min_match=share))) == expected
    conn.close()


def test_batches_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    corpus = [[" ".join(rng.choices(WORDS, k=2)) for _ in range(rng.randrange(1, 6))] for _ in range(200)]
    conn = archive(tmp_path, [{"text": chunks, "subject": rng.choice(WORDS)} for chunks in corpus])
    for query in ("ant bee cat", "ant", "ant bee", '"ant bee" cat'):
        whole = found(conn, query, limit=1000)
        with monkeypatch.context() as patch:
            patch.setattr(keyword, "BATCH", 7)
            assert set(found(conn, query, limit=1000)) == set(whole)
        assert len(whole) > 10


def test_an_excluded_word_takes_out_just_what_that_word_would_find(tmp_path: Path) -> None:
    conn = archive(
        tmp_path, [{"text": ["the plan", "an organization"]}, {"text": "the plan"}, {"text": "plan, organized"}]
    )
    assert found(conn, "plan -organization") == [2]
    assert set(found(conn, 'plan -"organization"')) == {2, 3}
    assert set(found(conn, "-plan")) == set()


def test_a_chunk_of_its_own_words_stands_for_the_message_rather_than_one_that_only_shares_its_subject(
    tmp_path: Path,
) -> None:
    from datasette_oaken.search import search

    conn = archive(
        tmp_path, [{"text": ["Hi", "so the ferry is late, the ferry to the islands", "Bye"], "subject": "Ferry"}]
    )
    (hit,) = search(conn, "ferry", mode="keyword")["hits"]
    assert (hit["chunk_id"], hit["matched_chunks"]) == (2, [2])
    assert hit["snippet"] == "so the [[ferry]] is late, the [[ferry]] to the islands"


@pytest.mark.parametrize(
    "text", ['"', "\\", "NEAR(a b)", "a*", "^a", "{text}:a", "text:a", "a AND", "()", "-", "%", "\x00a", "ａ", "ß"]
)
def test_nothing_typed_is_syntax(tmp_path: Path, text: str) -> None:
    conn = texts(tmp_path, "a b")
    found(conn, text)
    found(conn, f'"{text}"')
    found(conn, f"b -{text}")


def test_an_old_message_with_the_very_word_is_found_behind_thousands_with_its_kin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyword, "BATCH", 10)
    monkeypatch.setattr(keyword, "MOST_WEIGHED", 20)
    monkeypatch.setattr(keyword, "MOST_WEIGHED_NEXT", 15)
    conn = texts(tmp_path, "two meetings", *["one meeting"] * 100)
    assert found(conn, '"meetings"') == [1]
