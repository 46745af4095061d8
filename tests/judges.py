"""Judges for tests of everything but judging: they answer by a plain function of the reading, at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from datasette_oaken.readings import Reading
from ingest.judging.base import Judgement


def by_word(word: str) -> Callable[[Reading], Judgement]:
    """Yes, with the word as its quote, where the writer's own words have it."""

    def say(reading: Reading) -> Judgement:
        return (
            Judgement("yes", "it is there", None, word) if word in reading.words else Judgement("no", "it is not there")
        )

    return say


@dataclass
class Plain:
    """A judge that says what ``say`` returns, and remembers what it was shown."""

    say: Callable[[Reading], Judgement]
    name: str = "test:plain"
    model: str = "plain 1"
    prompt_version: str = "1"
    remote_host: str | None = None
    workers: int = 0
    shown: list[Reading] = field(default_factory=list)

    def judge(self, question: str, criterion: str, reading: Reading) -> Judgement:
        self.shown.append(reading)
        return self.say(reading)
