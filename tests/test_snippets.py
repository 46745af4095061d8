"""Snippets show the original text around what matched, and mark just that."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_mail import archive

from datasette_oaken.search import search
from datasette_oaken.snippets import LENGTH, Span, snippet


def shown(folder: Path, text: str, query: str) -> str:
    """The snippet of the one message that there is."""
    conn = archive(folder, [{"text": text, "subject": "Subject"}], name=f"{len(list(folder.iterdir()))}.db")
    (hit,) = search(conn, query, mode="keyword")["hits"]
    return hit["snippet"]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("She collected her", "collects", "She [[collected]] her"),
        ("Le Café est là", "cafe la", "Le [[Café]] est [[là]]"),
        ("Le Cafe\u0301 ferme", "café", "Le [[Cafe\u0301]] ferme"),
        ("明日の会議は東京", "会議 東京", "明日の[[会議]]は[[東京]]"),
        ("来週Zoom会議", "zoom", "来週[[Zoom]]会議"),
        ("Get 1.0.21, not 1 0 21", "1.0.21", "Get [[1.0.21]], not 1 0 21"),
        ("bring her back,\nback her bring", '"bring her back"', "[[bring her back]], back her bring"),
        ("ZOË ÅNGSTRÖM wrote", '"Zoë Ångström"', "[[ZOË ÅNGSTRÖM]] wrote"),
        ("a [[b]] key [[c]]", "key", "a [ [b] ] [[key]] [ [c] ]"),
        ("no match here", "subject", "no match here"),
        ("one  two\n\n\tthree", "two", "one [[two]] three"),
        ("the key to it", "the key", "the [[key]] to it"),
        ("İstanbul'da", "istanbul", "[[İstanbul]]'da"),
    ],
)
def test_what_matched_is_marked_in_the_original_text(tmp_path: Path, text: str, query: str, expected: str) -> None:
    assert shown(tmp_path, text, query) == expected


def test_a_long_text_is_cut_at_words_around_the_match(tmp_path: Path) -> None:
    text = "before " * 100 + "the key is here " + "after " * 100
    line = shown(tmp_path, text, "key")
    assert "the [[key]] is here after" in line
    assert line.startswith("… before ") and line.endswith(" after …")
    assert LENGTH / 2 < len(line) < LENGTH + 20


def test_the_stretch_with_most_of_the_query_is_shown_own_forms_before_kin(tmp_path: Path) -> None:
    text = "a key " + "far " * 100 + "the red key " + "off " * 100
    assert "[[red]] [[key]]" in shown(tmp_path, text, "red key")
    text = "collected, collecting " + "far " * 100 + "she collects it " + "off " * 100
    assert "she [[collects]] it" in shown(tmp_path, text, "collects")


def test_a_hit_by_meaning_alone_shows_how_its_chunk_begins() -> None:
    assert snippet("word " * 100, []) == "word " * 39 + "word …"


@given(st.text(max_size=600), st.lists(st.tuples(st.integers(0, 600), st.integers(1, 20)), max_size=6))
@settings(max_examples=300, deadline=None)
def test_any_text_gives_a_bounded_line_with_balanced_marks(text: str, places: list[tuple[int, int]]) -> None:
    spans, at = [], 0
    for start, length in sorted(places):
        if at <= start < len(text):
            at = min(len(text), start + length)
            spans.append(Span(start, at))
    line = snippet(text, spans)
    assert len(line) <= LENGTH + 4 + 4 * len(spans) + 2 * text.count("[") + 2 * text.count("]")
    assert line.count("[[") == line.count("]]") <= len(spans)
    assert "\n" not in line
