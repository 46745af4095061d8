"""What a person types is read as they mean it, and nothing they type can fail."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasette_oaken.query import MAX_ITEMS, OPERATORS, Filter, Query, parse, period

TODAY = date(2024, 5, 31)


def read(text: str) -> Query:
    return parse(text, today=TODAY)


PIECES = st.one_of(
    st.characters(),
    st.sampled_from([*"\"-:“”„() \t\n.,;/'", " -", '"a b"', "-“x y”", "7d", "2024-02", "unread", '""']),
    st.sampled_from([f"{name}:" for name in OPERATORS]),
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join))


@given(TEXTS)
@settings(max_examples=500, deadline=None)
def test_any_string_is_read_and_what_was_printed_reads_the_same(text: str) -> None:
    query = read(text)
    assert read(query.printed()) == query


@given(
    st.dictionaries(
        st.sampled_from([*OPERATORS, "-from", "-label", "q", ""]), st.one_of(st.text(), st.lists(st.text()))
    )
)
@settings(max_examples=300, deadline=None)
def test_any_fields_are_read_and_print_as_operators(fields: dict[str, object]) -> None:
    query = read("word").with_fields(fields, today=TODAY)
    assert read(query.printed()) == query


@pytest.mark.parametrize(
    ("text", "words", "phrases", "excluded"),
    [
        ("", [], [], []),
        ("school run", ["school", "run"], [], []),
        ("School, RUN!", ["School", "RUN"], [], []),
        ("run run", ["run"], [], []),
        ('"bring her back" now', ["now"], ["bring her back"], []),
        ("“bring her back” „noch eins“", [], ["bring her back", "noch eins"], []),
        ('-draft -"last  call" --old', [], [], ["draft", '"last call"', "old"]),
        ("1.0.21 INV-2024/0117, someone@example.org.", ["1.0.21", "INV-2024/0117", "someone@example.org"], [], []),
        ("re: http://example.org/a", ["re", "http://example.org/a"], [], []),
        ("well-known o'neill", ["well-known", "o'neill"], [], []),
        ('lone " quote', ["lone", "quote"], [], []),
        ('half "typed phr', ["half", "typed", "phr"], [], []),
        ('"" “” -"" -', [], [], []),
        ('5"x7"', ["5"], ["x7"], []),
        ("a AND (b OR NOT c*) NEAR ^d", ["a", "AND", "b", "OR", "NOT", "c", "NEAR", "d"], [], []),
        ("会議 Zoë", ["会議", "Zoë"], [], []),
    ],
)
def test_words_phrases_and_exclusions(text: str, words: list[str], phrases: list[str], excluded: list[str]) -> None:
    assert read(text).as_dict() == {"words": words, "phrases": phrases, "excluded": excluded, "filters": []}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from:school", [Filter("from", "school")]),
        ("FROM:School", [Filter("from", "School")]),
        ('from:"Ada Finch"', [Filter("from", "Ada Finch")]),
        ("from:“Ada Finch”", [Filter("from", "Ada Finch")]),
        ("from：ada", [Filter("from", "ada")]),
        ("(from:ada)", [Filter("from", "ada")]),
        ("-from:ada", [Filter("from", "ada", True)]),
        ('-subject:"lost keys"', [Filter("subject", "lost keys", True)]),
        ('from:"ada', [Filter("from", "ada")]),
        ("category:Work category:FAMILY", [Filter("category", "work"), Filter("category", "family")]),
        ("is:Unread -is:read", [Filter("is", "unread"), Filter("is", "read", True)]),
        ("priority:2 has:attachments", [Filter("priority", "2"), Filter("has", "attachment")]),
        ("thread:007", [Filter("thread", "7")]),
        ("in:inbox mailbox:Family/School", [Filter("in", "inbox"), Filter("mailbox", "Family/School")]),
        ("to:a@example.org filename:plan.pdf", [Filter("to", "a@example.org"), Filter("filename", "plan.pdf")]),
        ("account:me label:x", [Filter("account", "me"), Filter("label", "x")]),
    ],
)
def test_operators_in_any_case_and_with_any_quotes(text: str, expected: list[Filter]) -> None:
    query = read(text)
    assert (list(query.filters), query.warnings, query.words) == (expected, (), ())


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        ("2024-03-01", "2024-03-01"),
        ("2024/3/1", "2024-03-01"),
        ("2024-03", "2024-03"),
        ("2024", "2024"),
        ("today", "2024-05-31"),
        ("Yesterday", "2024-05-30"),
        ("7d", "2024-05-24"),
        ("3w", "2024-05-10"),
        ("3m", "2024-02-29"),
        ("1Y", "2023-05-31"),
        ("2024-02-30", None),
        ("2024-13", None),
        ("0000", None),
        ("99999y", None),
        ("soon", None),
        ("7", None),
        ("२०२४", None),
    ],
)
def test_dates(value: str, canonical: str | None) -> None:
    query = read(f"after:{value}")
    assert [f.value for f in query.filters] == ([canonical] if canonical else [])
    assert len(query.warnings) == (canonical is None)


@pytest.mark.parametrize(
    ("value", "first", "end"),
    [
        ("2024-02-28", "2024-02-28", "2024-02-29"),
        ("2024-02", "2024-02-01", "2024-03-01"),
        ("2023-12", "2023-12-01", "2024-01-01"),
        ("2023", "2023-01-01", "2024-01-01"),
        ("9999", "9999-01-01", "9999-12-32"),
        ("9999-12-31", "9999-12-31", "9999-12-32"),
    ],
)
def test_the_days_that_a_date_names(value: str, first: str, end: str) -> None:
    assert period(value) == (first, end)


@pytest.mark.parametrize(
    "text",
    [
        *("priority:9", "priority:high", "category:nope", "is:starred", "has:cake", "after:soon", "thread:x"),
        *("thread:0", "thread:99999999999999999999", "from:", 'from:""', "before:2024-02-30", "-on:never"),
    ],
)
def test_a_value_that_cannot_be_read_is_a_warning_and_filters_nothing(text: str) -> None:
    query = read(f"{text} word")
    assert (query.words, query.filters, len(query.warnings)) == (("word",), (), 1)
    assert text.lstrip("-").split(":")[0] in query.warnings[0]


def test_categories_are_those_of_the_configuration() -> None:
    assert parse("category:bees", categories=["bees"]).filters == (Filter("category", "bees"),)
    assert parse("category:work", categories=["bees"]).filters == ()


def test_fields_join_the_query_and_empty_ones_do_not_count() -> None:
    query = read("key from:ada").with_fields(
        {
            "from": "ada",
            "-label": ["old", "spam"],
            "after": "7d",
            "thread": 4,
            "to": "",
            "subject": None,
            "is": "odd",
            "x": 1,
        },
        today=TODAY,
    )
    assert query.printed() == "key from:ada -label:old -label:spam after:2024-05-24 thread:4"
    assert len(query.warnings) == 2


def test_a_symbol_alone_is_said_to_be_left_out() -> None:
    query = read('key 🎉 "&&" -"!!"')
    assert (query.words, query.phrases, query.excluded, len(query.warnings)) == (("key",), (), (), 3)


def test_a_pasted_page_is_cut_and_says_so() -> None:
    query = read(" ".join(f"word{i}" for i in range(10_000)))
    assert len(query.words) == MAX_ITEMS
    assert query.warnings == (f"Only the first {MAX_ITEMS} words and filters were read.",)


def test_the_free_text_keeps_the_order_and_punctuation_for_the_embedder() -> None:
    assert read('When does "the bell" ring? from:school -noise').free_text == "When does the bell ring?"
