"""Chance that is the same everywhere: seeded draws, decks, and the small grammar that the texts are written in.

Only `random.Random.random` is used of the standard library's generator, since it alone is promised to give the same
sequence in every Python version; everything else here is built on it.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

_INNERMOST = re.compile(r"\{([^{}]*)\}")
_ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


class Dice:
    """Draws for one story. Each story has its own dice, so that changing one leaves the others' bytes alone."""

    def __init__(self, *key: object) -> None:
        self._random = random.Random("/".join(str(part) for part in key))
        self._decks: dict[str, list[str]] = {}

    def below(self, n: int) -> int:
        """A whole number from 0 up to, not including, `n`."""
        return int(self._random.random() * n)

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def chance(self, share: float) -> bool:
        """True in about `share` of the calls."""
        return self._random.random() < share

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`."""
        return options[self.below(len(options))]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """`options` in another order (Fisher and Yates)."""
        cards = list(options)
        for last in range(len(cards) - 1, 0, -1):
            other = self.below(last + 1)
            cards[last], cards[other] = cards[other], cards[last]
        return cards

    def text(self, length: int, alphabet: str = _ALPHANUMERIC) -> str:
        """A word of `length` letters of `alphabet`."""
        return "".join(alphabet[self.below(len(alphabet))] for _ in range(length))

    def digits(self, length: int) -> str:
        """`length` decimal digits, the first not zero."""
        return self.text(1, "123456789") + self.text(length - 1, "0123456789")

    def hex(self, length: int) -> str:
        """`length` hexadecimal digits in lower case."""
        return self.text(length, "0123456789abcdef")

    def deal(self, name: str, cards: Sequence[str], suits: Callable[[str], bool] = bool) -> str:
        """The next card of the deck `name` that suits: none comes twice before all that suit have come once.

        Raises ValueError if no card suits.
        """
        deck = self._decks.setdefault(name, [])
        for _ in range(2):
            for index in range(len(deck) - 1, -1, -1):
                if suits(deck[index]):
                    return deck.pop(index)
            deck[:0] = self.shuffled([card for card in cards if card not in deck])
        raise ValueError(f"no card of {name!r} suits")

    def expand(self, template: str, slots: Mapping[str, str]) -> str:
        """`{one|other}` becomes one of the two, `{name}` the slot of that name; both may nest.

        Raises KeyError where a slot is not given: a fault of the texts.
        """

        def choose(match: re.Match[str]) -> str:
            inside = match[1]
            return self.pick(inside.split("|")) if "|" in inside else slots[inside]

        while _INNERMOST.search(template):
            template = _INNERMOST.sub(choose, template)
        return template
