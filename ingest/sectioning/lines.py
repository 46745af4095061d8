"""The first pass: what each line looks like by itself. One step a line, and no regex over prose.

Most lines of most mail are prose. They cost a strip and a look at their first and last character; only lines that could
begin or end something are listed in ``marks`` for the second pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .tables import FIELD_CAP, FIELDS, FORWARDED, NAME_QUOTE, ORIGINAL, PROMPTS

BLANK, TEXT, QUOTE, PIPE, NAMED = range(5)
"""Kinds of line: nothing; words; ``>``; ``|``; initials and ``>``."""

FIELD, COLON, ADDRESSED, RULE, DELIMITER, PHRASE, PGP, RUN = range(8)
"""Kinds of mark: a header field; ends with a colon; ends with an address; begins with a rule; ``-- ``; a bare
``Original message``; PGP armor; the first line of a run of quoting."""

_RULES = frozenset("-_=*+~#<>[–—―•·«|")
_INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
_DELIMITERS = frozenset({"--", "- --", "—", "––", "\u2013", "--=20"})


@dataclass(slots=True)
class Lines:
    """A body by lines. ``starts`` has one more entry than lines: the length of the text."""

    text: str
    starts: list[int]
    stripped: list[str]
    kinds: bytearray
    marks: list[tuple[int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.stripped)

    def next_text(self, i: int, stop: int | None = None) -> int:
        """The first line from ``i`` on that is not blank; the number of lines if there is none."""
        kinds, n = self.kinds, len(self.stripped) if stop is None else stop
        while i < n and not kinds[i]:
            i += 1
        return i


def field_of(line: str) -> tuple[tuple[tuple[str, str], ...], str] | None:
    """``((role, language), …), value`` where a stripped line is ``Name: value`` with a field name that is known."""
    stop = line.find(":", 0, FIELD_CAP)
    if stop < 0:
        stop = line.find("：", 0, FIELD_CAP)
    if stop < 1:
        return None
    name = line[:stop].strip("*_>|\t \u00a0" + _INVISIBLE).casefold()
    roles = FIELDS.get(name)
    return (roles, line[stop + 1 :].strip("*_\t \u00a0")) if roles else None


def read_lines(text: str) -> Lines:
    """Classify every line of ``text``. Time is proportional to its length."""
    raw = text.split("\n")
    n = len(raw)
    starts, stripped, kinds = [0] * (n + 1), raw, bytearray(n)
    marks: list[tuple[int, int]] = []
    mark = marks.append
    at, last = 0, BLANK
    for i, line in enumerate(raw):
        starts[i] = at
        at += len(line) + 1
        s = line.strip()
        if s and s[0] in _INVISIBLE:
            s = s.lstrip(_INVISIBLE + " ")
        stripped[i] = s
        if not s:
            last = BLANK
            continue
        first = s[0]
        if first == ">":
            kinds[i] = QUOTE
            if last != QUOTE:
                mark((i, RUN))
            last = QUOTE
            continue
        kind = TEXT
        if first in _RULES:
            if s in _DELIMITERS:
                mark((i, DELIMITER))
            elif first == "|":
                kind = PIPE
                if last != PIPE:
                    mark((i, RUN))
            elif s.startswith("-----BEGIN PGP"):
                mark((i, PGP))
            elif len(s) > 3 and (s[1] in _RULES or s[1] == " ") and len(s) < 400:
                mark((i, RULE))
        elif first.isupper() and ">" in s[:13] and NAME_QUOTE.match(s) and s[: s.index(">") + 1] not in PROMPTS:
            kind = NAMED
            if last != NAMED:
                mark((i, RUN))
        kinds[i] = last = kind
        if kind != TEXT:
            continue
        if (":" in s[:FIELD_CAP] or "：" in s[:FIELD_CAP]) and field_of(s):
            mark((i, FIELD))
            continue
        end = s[-1]
        if end in "*_" and len(s) > 6:
            end = s.rstrip("*_ ")[-1:]
        if end == ":" or end == "：":
            mark((i, COLON))
        elif end == ">" and "@" in s:
            mark((i, ADDRESSED))
        elif len(s) < 40 and (low := s.casefold()) and (low in ORIGINAL or low in FORWARDED):
            mark((i, PHRASE))
    starts[n] = len(text)
    return Lines(text, starts, stripped, kinds, marks)
