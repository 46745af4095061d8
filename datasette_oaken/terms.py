"""A word or phrase as it is looked for: what FTS5 is asked, and the pattern that its own form has in folded text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from .db import CJK, bigrams
from .folding import fold

_GAP = "[\\W_]"
_LETTER = re.compile(f"[^\\W_{CJK}]")  # what may not stand right before or after a word of letters and digits
_PIECES = re.compile(f"(?P<cjk>[{CJK}]+)|(?P<word>[^\\W_{CJK}]+)|(?P<gap>[\\W_]+)")
_HYPHENS = "-\u2010\u2011\u2012\u2013\u2014\u2212"
_APOSTROPHES = "'\u2018\u2019\u02bc\u00b4`"
_SOFT = re.compile(f"[{_HYPHENS}{_APOSTROPHES}]+")
_DIGIT = re.compile(r"\d")

_STOP_WORDS = """
a about after again against all also am an and any are as at be because been before being between both but by can could
did do does doing don down during each few for from further had has have having he her here hers herself him himself his
how i if in into is it its itself just ll me more most my myself no nor not now of off on once only or other our ours
ourselves out over own re s same she should so some such t than that the their theirs them themselves then there these
they this those through to too under until up ve very was we were what when where which while who whom why will with
would you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""English words that say nothing of what a message is about; not counted, unless a query has no others."""


@dataclass(frozen=True)
class Term:
    """One thing that is looked for.

    ``match``: the FTS5 query for ``recall_chunks_fts``, '' where ``cjk`` is asked instead.
    ``cjk``: the FTS5 query for ``recall_chunks_fts_cjk``, '' where the term has no such characters.
    ``own``: how the term itself, not its stem's kin, stands in folded text; with ``bounded``, not right after a letter.
    ``needle``: its longest piece, folded; where that is not, ``own`` is not (and finding it is far cheaper).
    ``tokens``: its pieces of letters and digits, folded.
    ``exact``: FTS5 answers with more than was meant (stems, other punctuation), so a hit counts only where ``own`` is found.
    """

    text: str
    match: str
    cjk: str
    own: re.Pattern[str]
    bounded: bool
    needle: str
    tokens: tuple[str, ...]
    exact: bool

    def spans(self, folded: str) -> Iterator[tuple[int, int]]:
        """Where the term itself, not its stem's kin, stands in folded text."""
        at = 0
        while match := self.own.search(folded, at):
            start = match.start()
            # Looking behind in the pattern would try it at every character; the pattern begins with what is typed.
            if start == 0 or not self.bounded or not _LETTER.match(folded, start - 1):
                yield match.span()
                at = match.end()
            else:
                at = start + 1

    def stands_in(self, folded: str) -> bool:
        """Whether the term itself, not its stem's kin, stands in folded text."""
        return self.needle in folded and next(self.spans(folded), None) is not None

    @property
    def stop(self) -> bool:
        """Whether it is a word that is not counted."""
        return not self.exact and fold(self.text).replace("’", "'").split("'")[0] in STOP_WORDS

    @property
    def identifying(self) -> bool:
        """Whether it has a digit: a number, a version, a reference, a date."""
        return _DIGIT.search(self.text) is not None


@lru_cache(maxsize=1024)
def term(text: str, phrase: bool = False) -> Term | None:
    """The term for a word or, with ``phrase``, for a quoted phrase. None when FTS5 would see no token in it."""
    pieces = [(m.lastgroup, m.group()) for m in _PIECES.finditer(fold(text))]
    while pieces and pieces[0][0] == "gap":
        del pieces[0]
    while pieces and pieces[-1][0] == "gap":
        del pieces[-1]
    if not pieces:
        return None
    gaps = [piece for kind, piece in pieces if kind == "gap"]
    tokens = tuple(piece for kind, piece in pieces if kind != "gap")
    cjk = any(kind == "cjk" for kind, _ in pieces)
    hard = any(not _SOFT.fullmatch(gap) for gap in gaps)
    digits = any(_DIGIT.search(token) for token in tokens)
    exact = phrase or cjk or hard or (digits and (len(tokens) > 1 or not tokens[0].isdigit()))
    return Term(
        text=text,
        match="" if cjk else quoted(text),
        cjk=_pairs(text) if cjk else "",
        own=_own(pieces, loose=not exact),
        bounded=pieces[0][0] == "word",
        needle=max(tokens, key=len),
        tokens=tokens,
        exact=exact,
    )


def quoted(text: str) -> str:
    """As an FTS5 string: whatever is in it is text, several tokens are a phrase."""
    return '"' + text.replace('"', " ") + '"'


def _pairs(text: str) -> str:
    pairs = bigrams(text).split()
    long = list(dict.fromkeys(pair for pair in pairs if len(pair) > 1))
    # A lone character can only be asked for as the beginning of a pair.
    return " AND ".join(f'"{pair}"' for pair in long) if long else f'"{pairs[0]}" *'


def _own(pieces: list[tuple[str | None, str]], loose: bool) -> re.Pattern[str]:
    pattern = [_gap(piece, loose) if kind == "gap" else re.escape(piece) for kind, piece in pieces]
    if pieces[-1][0] == "word":
        pattern.append(f"(?!{_LETTER.pattern})")
    return re.compile("".join(pattern))


def _gap(gap: str, loose: bool) -> str:
    """What may stand in the text where ``gap`` was typed.

    With space in it, anything of punctuation and space (a comma, a line break with its quote mark); without, the very
    punctuation that was typed, except that all hyphens are one and all apostrophes.
    """
    if loose:
        return f"{_GAP}{{1,3}}"
    if any(map(str.isspace, gap)):
        return f"(?={_GAP}*\\s){_GAP}+"
    return "".join(
        f"[{_HYPHENS}]" if char in _HYPHENS else f"[{_APOSTROPHES}]" if char in _APOSTROPHES else re.escape(char)
        for char in gap
    )
