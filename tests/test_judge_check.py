"""A judge's word is worth what stands in the message: no yes without its quote, no no about what was not read."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reading_of import reading

from ingest.judging.base import Judgement
from ingest.judging.check import LEAST, checked, standing

TEXT = "I said “no” — and I’m sure.\nThe key is\n   under the mat. Nell's room is the second on the left."


def quoted(quote: str | None, words: str = TEXT, **around: str) -> tuple[str, str | None]:
    answer = checked(Judgement("yes", "so", None, quote), reading(words, **around))
    return answer.status, answer.quote


@pytest.mark.parametrize(
    ("quote", "kept"),
    [
        ("The key is under the mat.", "The key is\n   under the mat."),
        ("the KEY is  under\tthe mat", "The key is\n   under the mat"),
        ('I said "no" - and I\'m sure', "I said “no” — and I’m sure"),
        ("“Nell’s room”", "Nell's room"),
        ('"...under the mat..."', "under the mat"),
        ("sam@example.org", "sam@example.org"),
    ],
)
def test_a_quote_is_found_whatever_its_white_space_case_and_marks_and_kept_as_it_stands(quote: str, kept: str) -> None:
    assert quoted(quote) == ("yes", kept)


@pytest.mark.parametrize("quote", [None, "", "  ", "a", "...", '"', "The key is above the mat", "key under", "(?s).*"])
def test_a_yes_without_a_quote_that_stands_there_is_unclear(quote: str | None) -> None:
    assert quoted(quote) == ("unclear", None)


def test_what_stands_only_in_the_conversation_before_is_no_evidence() -> None:
    assert quoted("swap the weekend", "Yes, gladly.", before="Could we swap the weekend?") == ("unclear", None)


@given(st.text(max_size=60), st.text(max_size=200))
@example("ſtraße", "STRASSE and Straße")
@example("İİİ", "i̇i̇i̇ İİİ")
def test_a_yes_survives_only_if_its_quote_stands_in_the_message(quote: str, words: str) -> None:
    one = reading(words)
    answer = checked(Judgement("yes", None, None, quote), one)
    if answer.status == "yes":
        assert answer.quote is not None and answer.quote in one.own
        assert sum(map(str.isalnum, answer.quote)) >= LEAST
    else:
        assert (answer.status, answer.quote) == ("unclear", None)


@given(st.text(min_size=5, max_size=200), st.data())
def test_any_part_of_a_message_that_says_something_can_be_quoted(words: str, data: st.DataObject) -> None:
    one = reading(words)
    start = data.draw(st.integers(0, len(one.own) - 1))
    part = one.own[start : data.draw(st.integers(start + 1, len(one.own)))]
    found = standing(part, one.own)
    if sum(map(str.isalnum, part)) >= LEAST:
        assert found is not None and re.sub(r"\s+", "", found).lower() == re.sub(r"\s+", "", part).lower()
    else:
        assert found is None


def test_a_no_about_a_message_of_which_a_part_was_not_read_is_unclear() -> None:
    whole, cut = reading(TEXT), reading(TEXT, left_out=12_345)
    no = Judgement("no", "not here", None, "under the mat")
    assert checked(no, whole) == no
    assert checked(no, cut) == Judgement(
        "unclear", "not here", None, "under the mat", "It says no, but 12,345 characters of the message were not read."
    )
    assert checked(Judgement("yes", None, None, "under the mat"), cut).status == "yes"


def test_a_quote_that_a_no_makes_up_is_dropped() -> None:
    assert checked(Judgement("no", "so", None, "I never wrote this"), reading(TEXT)) == Judgement("no", "so")
    assert checked(Judgement("unclear", "so", None, "I never wrote this"), reading(TEXT)) == Judgement("unclear", "so")


@pytest.mark.parametrize("status", ["", "NO", "maybe", "none", "true"])
def test_a_status_that_no_one_knows_is_an_error_and_no_no(status: str) -> None:
    assert checked(Judgement(status), reading(TEXT)).status == "error"


def test_an_error_says_why() -> None:
    assert checked(Judgement("error", quote="x"), reading(TEXT)) == Judgement(
        "error", error="The judge gave no reason."
    )
