"""The judge ``rule:PATTERN``: a regular expression over the writer's own words, for people who know what they look for.

It reads no header and no quote. It is the weakest judge there is, exact about a phrasing and blind to every other; the review of
its "no" verdicts says how blind.
"""

from __future__ import annotations

import hashlib
import re

import regex

from datasette_oaken.db import OakenError
from datasette_oaken.readings import Reading

from .base import Judgement

TIMEOUT_SECONDS = 5.0
"""After which a pattern that backtracks without end gives up on a message: an error, like a model's timeout."""
_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’)\]]*\s+|\n\s*\n")
_MOST_QUOTED = 400


class Rule:
    """Yes where the pattern is found (case aside), with the sentence around it as the quote; else no."""

    prompt_version = "none"
    remote_host: str | None = None
    workers = 0

    def __init__(self, pattern: str) -> None:
        """Raises OakenError bad_rule, saying where the pattern is wrong."""
        if not pattern.strip():
            raise OakenError("The rule is empty: say rule:PATTERN, such as rule:'invoice (no|number)'.", "bad_rule")
        try:
            self._pattern = regex.compile(pattern, regex.IGNORECASE | regex.MULTILINE | regex.V0)
        except regex.error as error:
            raise OakenError(f"The rule {pattern!r} is not a regular expression: {error}.", "bad_rule") from None
        self.name = f"rule:{pattern}"
        self.model = f"rule {hashlib.sha256(pattern.encode()).hexdigest()[:12]}"

    def judge(self, question: str, criterion: str, reading: Reading) -> Judgement:
        """Whether the pattern stands in the writer's own words. The question is for people; the pattern is what is asked."""
        words = reading.words
        try:
            found = self._pattern.search(words, timeout=TIMEOUT_SECONDS)
        except TimeoutError:
            return Judgement(
                "error", error=f"The pattern took longer than {TIMEOUT_SECONDS:g} seconds on this message."
            )
        if found is None:
            return Judgement("no", "The pattern stands nowhere in the writer's own words.")
        quote = _sentence(words, found.start(), found.end())
        return Judgement("yes", f"The pattern is found: {found[0][:200]!r}.", None, quote)


def _sentence(text: str, start: int, stop: int) -> str:
    """The sentence around a match, or as much of it as is read at a glance."""
    ends = list(_SENTENCE_END.finditer(text, max(0, start - _MOST_QUOTED), min(len(text), stop + _MOST_QUOTED)))
    first = max((end.end() for end in ends if end.end() <= start), default=max(0, start - _MOST_QUOTED // 2))
    last = min(
        (end.start() + len(end[0].rstrip()) for end in ends if end.start() >= stop),
        default=min(len(text), stop + _MOST_QUOTED // 2),
    )
    return text[first:last].strip()[:_MOST_QUOTED] if stop - first <= _MOST_QUOTED else text[start:stop]
