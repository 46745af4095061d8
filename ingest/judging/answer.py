"""Reading what a language model answered: leniently where the answer is found, strictly about what it says.

A "no" comes only of a whole, valid answer that says no and does not contradict itself. Everything else is unclear or an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .base import Judgement

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "quote": {"type": ["string", "null"]},
        "reasoning": {"type": "string"},
        "considerations": {"type": "string"},
        "conclusion": {"enum": ["therefore yes", "therefore no", "therefore unclear"]},
        "verdict": {"enum": ["yes", "no", "unclear"]},
    },
    "required": ["quote", "reasoning", "considerations", "conclusion", "verdict"],
    "additionalProperties": False,
}
"""What an answer is checked against."""

_ASKED_CHARS = {"quote": 300, "reasoning": 400, "considerations": 300}
ASKED: dict[str, Any] = SCHEMA | {
    "properties": {
        name: kind | ({"maxLength": _ASKED_CHARS[name]} if name in _ASKED_CHARS else {})
        for name, kind in SCHEMA["properties"].items()
    }
}
"""What a model is held to, evidence before verdict: it writes the fields in this order. A small model that is held to a form, but to
no length, writes one of them until its answer is cut off, and an answer that is cut off is none."""

MOST = 4_000
"""Characters that are kept of each text."""
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_OBJECT = re.compile(r"\{\s*[\"}]")
_MOST_TRIES = 50
"""Objects that are looked at: an answer is one."""


class BadAnswer(Exception):
    """An answer that cannot be used; the text says why, to the model and to people."""


def read(text: str) -> Judgement:
    """The judgement in a model's answer, not yet checked against the message. Raises BadAnswer."""
    found = list(_objects(_THOUGHT.sub("", text)))
    if not found:
        raise BadAnswer("There is no JSON object in it." if text.strip() else "It is empty.")
    problems = [_problem(one) for one in found]
    good = [one for one, problem in zip(found, problems, strict=True) if problem is None]
    if not good:
        raise BadAnswer(str(problems[-1]))
    if any(one != good[0] for one in good):
        raise BadAnswer("There are several answers in it, and they differ.")
    return _judgement(good[0])


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects in ``text``, in order. Raises BadAnswer where one is broken: what stands whole beside it may be
    what the model quotes of a message, not what it says."""
    decoder = json.JSONDecoder(object_pairs_hook=_once)
    at = 0
    for _ in range(_MOST_TRIES):
        found = _OBJECT.search(text, at)
        if found is None:
            return
        try:
            value, at = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError) as error:
            raise BadAnswer(f"Its JSON is broken: {error}"[:300]) from None
        yield value
    raise BadAnswer("There are too many objects in it.")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a field stands twice")
    return value


def _problem(answer: dict[str, Any]) -> str | None:
    """What is wrong with an object, or None."""
    from jsonschema import Draft202012Validator

    error = next(Draft202012Validator(SCHEMA).iter_errors(answer), None)
    if error is None:
        return None
    where = ".".join(map(str, error.path))
    return f"{where}: {error.message[:300]}" if where else error.message[:300]


def _judgement(answer: dict[str, Any]) -> Judgement:
    said, concluded = answer["verdict"], answer["conclusion"].removeprefix("therefore ")
    texts = {name: _plain(answer[name]) or None for name in ("quote", "reasoning", "considerations")}
    if said != concluded:
        return Judgement("unclear", **texts, error=f"It concludes {concluded!r} and says {said!r}.")
    return Judgement(said, **texts)


def _plain(text: str | None) -> str:
    """What SQLite can keep, of a length to be read."""
    return "".join(c for c in (text or "") if c != "\0" and not "\ud800" <= c <= "\udfff")[:MOST].strip()
