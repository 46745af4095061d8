"""What a model says is believed only when it says it whole: nothing but a valid answer that says no is a no."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ingest.judging import answer
from ingest.judging.answer import ASKED, SCHEMA, BadAnswer, read
from ingest.judging.base import Judgement


def said(verdict: str = "no", **other: Any) -> dict[str, Any]:
    return {
        "quote": "under the mat",
        "reasoning": "It says where.",
        "considerations": "It might be another key.",
        "conclusion": f"therefore {verdict}",
        "verdict": verdict,
    } | other


NO = json.dumps(said())


def without(field: str) -> str:
    return json.dumps({name: value for name, value in said().items() if name != field})


def test_the_schema_is_one_and_asks_for_the_evidence_before_the_verdict() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert list(SCHEMA["properties"]) == ["quote", "reasoning", "considerations", "conclusion", "verdict"]
    assert SCHEMA["required"] == list(SCHEMA["properties"])


def test_what_is_asked_for_is_the_same_with_an_end_and_a_longer_answer_is_read_all_the_same() -> None:
    Draft202012Validator.check_schema(ASKED)
    assert list(ASKED["properties"]) == list(SCHEMA["properties"])
    ends = {name: kind.pop("maxLength", None) for name, kind in deepcopy(ASKED["properties"]).items()}
    assert ends == {"quote": 300, "reasoning": 400, "considerations": 300, "conclusion": None, "verdict": None}
    long = said(reasoning="so " * 400)
    assert Draft202012Validator(ASKED).is_valid(said()) and not Draft202012Validator(ASKED).is_valid(long)
    assert read(json.dumps(long)).status == "no"


@pytest.mark.parametrize("verdict", ["yes", "no", "unclear"])
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "```json\n{}\n```",
        "Here is my answer:\n{}\nI hope it helps!",
        '<think>Is {{this}} it? It may be {{"verdict": "no"}}.</think>\n{}',
        "[{}]",
        "{} {}",
    ],
)
def test_an_answer_is_found_whatever_stands_around_it(verdict: str, around: str) -> None:
    one = json.dumps(said(verdict))
    assert read(around.format(one, one)) == Judgement(
        verdict, "It says where.", "It might be another key.", "under the mat", None
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("no", "no JSON object"),
        ("No. The message does not ask for it.", "no JSON object"),
        ("{}", "required"),
        ('{"verdict": "no"}', "required"),
        ("[]", "no JSON object"),
        ("null", "no JSON object"),
        *[(without(field), "required") for field in SCHEMA["required"]],
        (json.dumps(said(verdict="No", conclusion="therefore no")), "not one of"),
        (json.dumps(said(verdict=False)), "not one of"),
        (json.dumps(said(verdict=["no"])), "not one of"),
        (json.dumps(said(conclusion="no")), "not one of"),
        (json.dumps(said(quote=7)), "not of type"),
        (json.dumps(said(reasoning=None)), "not of type"),
        (json.dumps(said(confidence=0.9)), "confidence"),
        (NO[:-1], "broken"),
        (NO[: len(NO) // 2], "broken"),
        (NO.replace('"verdict": "no"', '"verdict": "yes", "verdict": "no"'), "twice"),
        (f"{NO} {json.dumps(said('yes'))}", "differ"),
        (f'The message says {NO}, but I say: {{"quote": "it', "broken"),
        (f"<think>The message says {NO}", "no JSON object"),
        ("{" * 100_000, "no JSON object"),
        ('{"a":' * 100_000, "broken"),
        ('{"a": 1} ' * 60, "too many"),
    ],
)
def test_anything_else_is_a_bad_answer_that_says_why(text: str, why: str) -> None:
    with pytest.raises(BadAnswer, match=why) as raised:
        read(text)
    assert len(str(raised.value)) <= 400


@pytest.mark.parametrize(("concluded", "verdict"), [("yes", "no"), ("no", "yes"), ("unclear", "no"), ("no", "unclear")])
def test_an_answer_that_contradicts_itself_is_unclear(concluded: str, verdict: str) -> None:
    judgement = read(json.dumps(said(verdict, conclusion=f"therefore {concluded}")))
    assert (judgement.status, judgement.error) == ("unclear", f"It concludes {concluded!r} and says {verdict!r}.")


PIECES = st.sampled_from(
    [
        "{",
        "}",
        '"',
        ",",
        ":",
        NO,
        NO[:60],
        NO[60:],
        '"verdict": "no"',
        '"conclusion": "therefore no"',
        "no",
        "```json",
        "<think>",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["yes", "no", "unclear", "therefore no", "therefore yes"])
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(SCHEMA["required"]), inner, max_size=5),
    max_leaves=10,
)
ANSWERS = st.fixed_dictionaries(dict.fromkeys(SCHEMA["required"], VALUES))


@given(
    st.one_of(
        st.text(),
        st.lists(PIECES | st.text(max_size=3), max_size=8).map("".join),
        VALUES.map(json.dumps),
        ANSWERS.map(json.dumps),
    )
)
@example(NO)
@example(json.dumps(said("yes")))
def test_only_a_valid_no_is_a_no(text: str) -> None:
    try:
        judgement = read(text)
    except BadAnswer:
        return
    assert judgement.status in ("yes", "no", "unclear")
    valid = [one for one in objects_in(text) if Draft202012Validator(SCHEMA).is_valid(one)]
    assert valid
    if judgement.status == "no":
        assert all((one["verdict"], one["conclusion"]) == ("no", "therefore no") for one in valid)


def objects_in(text: str) -> list[Any]:
    """Every JSON value that begins at any brace of a text."""
    found = []
    for at, character in enumerate(text):
        if character == "{":
            try:
                found.append(json.JSONDecoder().raw_decode(text, at)[0])
            except ValueError:
                pass
    return found


def test_what_the_file_cannot_keep_is_left_out_of_the_texts_and_they_are_not_endless() -> None:
    judgement = read(json.dumps(said(quote="a\x00b\ud800c", reasoning="x" * 10_000, considerations="  ")))
    assert (judgement.quote, len(judgement.reasoning or ""), judgement.considerations) == ("abc", answer.MOST, None)
