"""Rules: exact about a phrasing, never endless, and never read from what someone else wrote."""

from __future__ import annotations

import pytest
from reading_of import reading

from datasette_oaken.db import OakenError
from ingest.judging import rule
from ingest.judging.base import Judgement
from ingest.judging.check import checked
from ingest.judging.registry import get_judge


def said(pattern: str, text: str, **around: str) -> Judgement:
    one = reading(text, **around)
    return checked(get_judge(f"rule:{pattern}").judge("Is it?", "", one), one)


def test_a_match_quotes_the_sentence_that_it_stands_in() -> None:
    text = "Thank you for the notes. Could we swap the\nweekend of the 14th? I have to be in Leeds.\n\nSam"
    assert said("SWAP", text) == Judgement(
        "yes", "The pattern is found: 'swap'.", None, "Could we swap the\nweekend of the 14th?"
    )
    assert said("leeds", text).quote == "I have to be in Leeds."
    assert said(r"^sam$", text).quote == "Sam"
    assert said(r"weekends|swaps", text) == Judgement("no", "The pattern stands nowhere in the writer's own words.")


def test_a_match_of_more_than_a_sentence_quotes_the_match() -> None:
    assert said("one.*?more", "One of it. And more of it. And no more.").quote == "One of it. And more of it."
    long = "Begin. " + "And more of it. " * 60
    assert (said("gin.*of", long).quote or "") == long.strip()[2:-4]


def test_what_a_message_answers_and_its_headers_are_not_its_own_words() -> None:
    assert said("swap", "No.", before="Could we swap?", subject="The swap").status == "no"


def test_a_message_without_words_has_no_match() -> None:
    assert said(".*", "").status == "unclear"  # it matches nothing, and nothing is no quote
    assert said("own", "").status == "no"


def test_a_pattern_that_backtracks_without_end_is_an_error_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule, "TIMEOUT_SECONDS", 0.2)
    answer = said(r"(a|aa)+$", "a" * 200 + "b")
    assert (answer.status, answer.error) == ("error", "The pattern took longer than 0.2 seconds on this message.")
    assert said(r"(a+)+$", "a" * 5000 + "!").status == "error"


@pytest.mark.parametrize(
    ("pattern", "named"),
    [("(unclosed", "missing \\)"), ("*", "nothing to repeat"), ("  ", "empty"), ("[z-a]", "range")],
)
def test_a_bad_pattern_is_named_with_what_is_wrong(pattern: str, named: str) -> None:
    with pytest.raises(OakenError, match=named) as raised:
        get_judge(f"rule:{pattern}")
    assert raised.value.code == "bad_rule"


def test_another_pattern_is_another_model() -> None:
    one, other, again = (get_judge(f"rule:{pattern}") for pattern in ("swap", "swop", "swap"))
    assert one.model != other.model and one.model == again.model
    assert (one.name, one.prompt_version, one.remote_host, one.workers) == ("rule:swap", "none", None, 0)


def test_a_judge_that_does_not_exist_is_refused_with_what_there_is() -> None:
    with pytest.raises(OakenError, match=r"llm:MODEL.*rule:PATTERN.*human") as raised:
        get_judge("oracle")
    assert raised.value.code == "no_judge"
