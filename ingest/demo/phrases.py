"""Reads the texts: files of hand-written fragments, kept as prose beside the code.

A file holds decks. A deck begins with `[name]`; its fragments follow, parted by blank lines; the lines of a fragment
are one paragraph; `//` in a fragment parts paragraphs. `#` begins a comment line.
"""

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


class Teller:
    """Draws fragments of one topic for one story."""

    def __init__(self, topic: str, dice: Dice) -> None:
        self.topic = topic
        self.dice = dice

    def say(self, name: str, **slots: str) -> str:
        """The next fragment of the deck `name`, its choices made and its slots filled."""
        return self.dice.expand(self.dice.deal(name, deck(self.topic, name)), slots)

    def paragraphs(self, name: str, **slots: str) -> list[str]:
        """The next fragment, parted at `//`."""
        return [part.strip() for part in self.say(name, **slots).split("//")]

    def has(self, name: str) -> bool:
        """Whether the topic has a deck of that name."""
        return name in _decks(self.topic)
