"""A rough answer to one question: can the packaged embedding model, which knows English, read this?"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]+")
# The commonest English function words, less those that a neighbour language also uses in number ("in", "an", "was", "so").
_ENGLISH = frozenset(
    """
    the and of to is it that you for on with this be have are not at from or but we your if will my they has can
    our would there what which when who been their about out up them some could than into only other how
    """.split()
)
_ENOUGH = 8
_SAMPLE = 600


def language(text: str) -> str | None:
    """``'en'``, ``'other'``, or None when there are too few words to tell.

    By the share of English function words among the first words: running English has a third of them, other languages
    hardly any. Text in another script is ``'other'`` however short.
    """
    words = _WORD.findall(text[:_SAMPLE].lower())
    letters = sum(map(len, words))
    if not letters:
        return None
    if sum(len(word) for word in words if word[0] > "\u024f") > letters / 2:
        return "other"
    if len(words) < _ENOUGH:
        return None
    return "en" if sum(word in _ENGLISH for word in words) >= len(words) * 0.12 else "other"
