"""Reads the texts: files of hand-written fragments, kept as prose beside the code.

A file holds decks. A deck begins with `[name]`; its fragments follow, parted by blank lines; the lines of a fragment
are one paragraph; `//` in a fragment parts paragraphs. `(6-8)` before a fragment keeps it to those months,
`(11-2)` goes over the new year. `#` begins a comment line.
"""

import re
from functools import cache
from importlib.resources import files

from .dice import Dice


@cache
def deck(topic: str, name: str) -> tuple[str, ...]:
    """The fragments of the deck `name` in texts/`topic`.txt. Raises KeyError if there is none."""
    return _decks(topic)[name]


@cache
def _decks(topic: str) -> dict[str, tuple[str, ...]]:
    source = files(__package__).joinpath("texts", f"{topic}.txt").read_text(encoding="utf-8")
    decks: dict[str, list[str]] = {}
    fragments: list[str] = []
    lines: list[str] = []
    for line in [*source.splitlines(), ""]:
        line = line.strip()
        if line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            fragments = decks.setdefault(line[1:-1], [])
        elif line:
            lines.append(line)
        elif lines:
            fragments.append(" ".join(lines))
            lines = []
    return {name: tuple(found) for name, found in decks.items()}


_SEASON = re.compile(r"\((\d+)-(\d+)\) ")


def in_season(fragment: str, month: int) -> bool:
    """Whether a fragment may be said in that month (1 to 12)."""
    season = _SEASON.match(fragment)
    if not season:
        return True
    first, last = int(season[1]), int(season[2])
    return first <= month <= last if first <= last else not last < month < first


class Teller:
    """Draws fragments of one topic for one story."""

    def __init__(self, topic: str, dice: Dice) -> None:
        self.topic = topic
        self.dice = dice
        self.month = 1  # in which the story is

    def say(self, name: str, **slots: str) -> str:
        """The next fragment of the deck `name` that suits the month, its choices made and its slots filled."""
        fragment = self.dice.deal(name, deck(self.topic, name), lambda card: in_season(card, self.month))
        return self.dice.expand(_SEASON.sub("", fragment, count=1), slots)

    def paragraphs(self, name: str, **slots: str) -> list[str]:
        """The next fragment, parted at `//`."""
        return [part.strip() for part in self.say(name, **slots).split("//")]
