"""Text as it is compared: case and Latin diacritics folded away, as FTS5's unicode61 with remove_diacritics=2 does it."""

from __future__ import annotations

import re
import unicodedata

_MARKS = re.compile("[\u0300-\u036f]+")


def fold(text: str) -> str:
    """``text`` in lower case without diacritics: ``Zoë`` gives ``zoe``. Kana and hangul keep their marks."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text.lower())))


def fold_with_offsets(text: str) -> tuple[str, list[int]]:
    """``fold`` character by character: the folded text, and where in ``text`` each of its characters comes from.

    The list has one more entry than the folded text: the length of ``text``.
    """
    if text.isascii():
        return text.lower(), list(range(len(text) + 1))
    folded: list[str] = []
    offsets: list[int] = []
    for at, char in enumerate(text):
        piece = fold(char)
        folded.append(piece)
        offsets.extend([at] * len(piece))
    offsets.append(len(text))
    return "".join(folded), offsets


def holds(text: str | None, folded: str) -> int:
    """Whether ``text`` holds ``folded`` (already folded); 0 or 1, as SQL has it."""
    return int(text is not None and folded in fold(text))
