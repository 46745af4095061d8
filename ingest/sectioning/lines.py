"""The first pass: what each line looks like by itself. One step a line, and no regex over prose.

Most lines of most mail are prose. They cost a strip and a look at their first and last character; only lines that could
begin or end something are listed in ``marks`` for the second pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

from .tables import CAP, FIELD_CAP, FIELDS, NAME_QUOTE, PHRASES, PROMPTS, fold

BLANK, TEXT, QUOTE, PIPE, NAMED = range(5)
"""Kinds of line: nothing; words; ``>``; ``|``; initials and ``>``."""

FIELD, COLON, RULE, DELIMITER, PHRASE, ARMOR, ENCODED, INLINE, RUN = range(9)
"""Kinds of mark: a header field; ends with a colon; begins with a rule; ``-- ``; a bare ``Original message``; PGP's armor;
base64 or uuencode; an address and a colon with words behind; the first line of a run of quoting."""

INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
"""Marks of direction and width, which clients put around dates and before lines in right-to-left scripts."""

RULE_CHARACTERS = "-_=*+~#<>[]‐‑−–—―•·«»| \t"
_RULES = frozenset("-_=*+~#<[‐‑−–—―•·«")
_ODD = _RULES | frozenset("|" + INVISIBLE)
_ENDS = frozenset(":：*_" + INVISIBLE)
DELIMITERS = frozenset({"--", "- --", "—", "––", "–", "--=20"})
_AROUND_NAME = "*_>|\t \u00a0" + INVISIBLE

ENCODED_LINE = 60
"""Characters of a line without a space from which it may be a line of base64."""


@dataclass(slots=True)
class Lines:
    """A body by lines: each stripped (lines of a ``>`` run are left as they are), its kind, and the marks among them.

    ``ends[i]`` is the length of lines 0 to i without their ``\\n``; ``runs`` are the first lines of runs of ``>`` and ``JD>``; ``rules``
    are the lines that are nothing but a rule, ``-- ``, or what a list's footer begins with.
    """

    text: str
    stripped: list[str]
    ends: list[int]
    kinds: bytearray
    marks: list[tuple[int, int]]
    runs: list[int]
    rules: list[int]

    def __len__(self) -> int:
        return len(self.stripped)

    def start(self, i: int) -> int:
        """Where line ``i`` begins in the text; for the number of lines, the length of the text."""
        if i >= len(self.ends):
            return len(self.text)
        return self.ends[i - 1] + i if i else 0

    def next_text(self, i: int, stop: int | None = None) -> int:
        """The first line from ``i`` on that is not blank; ``stop`` (the number of lines) if there is none."""
        kinds, n = self.kinds, len(self.stripped) if stop is None else stop
        while i < n and not kinds[i]:
            i += 1
        return i

    def text_above(self, i: int, floor: int) -> int:
        """The last line before ``i`` that is not blank, if one stands at or below ``floor``; else ``floor - 1``."""
        i -= 1
        while i >= floor and not self.kinds[i]:
            i -= 1
        return i

    def run(self, i: int) -> int:
        """The line after the last of the run of quoting at ``i``; blank lines inside it belong to it."""
        found = _RUNS[self.kinds[i]].match(self.kinds, i)
        return i + len(found.group().rstrip(b"\0")) if found else i + 1


_RUNS = {kind: re.compile(bytes([91, 92, 48, kind, 93, 42])) for kind in (QUOTE, PIPE, NAMED)}
"""``[\\0<kind>]*`` over the bytes of ``Lines.kinds``."""


def field_of(line: str) -> tuple[tuple[tuple[str, str], ...], str, str] | None:
    """``((role, language), …), name, value`` where a stripped line is ``Name: value`` with a field name that is known."""
    stop = line.find(":", 0, FIELD_CAP)
    wide = -1 if line.isascii() else line.find("：", 0, FIELD_CAP)
    if 0 < wide < stop or stop < 0:
        stop = wide
    if stop < 1:
        return None
    name = line[:stop].strip(_AROUND_NAME).casefold()
    roles = FIELDS.get(name)
    return (roles, name, line[stop + 1 :].strip(_AROUND_NAME)) if roles else None


def _odd_mark(s: str) -> int | None:
    """The mark of a line that begins with a character of rules, if any."""
    if s in DELIMITERS:
        return DELIMITER
    if s.startswith("-----BEGIN PGP"):
        return ARMOR
    if 3 < len(s) < CAP and (s[1] in _RULES or s[1] == " "):
        return RULE
    if s[0] == "[" and s[-1] == "]" and len(s) < 40 and fold(s[1:-1]) in PHRASES:
        return PHRASE
    return None


def read_lines(text: str) -> Lines:
    """Classify every line of ``text``. Time is proportional to its length."""
    raw = text.split("\n")
    ends = list(accumulate(map(len, raw)))
    kinds = bytearray(len(raw))
    marks: list[tuple[int, int]] = []
    runs: list[int] = []
    rules: list[int] = []
    mark = marks.append
    angles, wide = ">" in text, "：" in text
    addressed = angles and "@" in text
    last = BLANK
    for i, line in enumerate(raw):
        s = line.strip()
        if not s:
            raw[i] = s
            last = BLANK
            continue
        first = s[0]
        if first == ">":
            kinds[i] = QUOTE
            if last != QUOTE:
                mark((i, RUN))
                runs.append(i)
                last = QUOTE
            continue
        raw[i] = s
        if first in _ODD:
            if first in INVISIBLE:
                raw[i] = s = s.lstrip(INVISIBLE + " ")
                if not s:
                    last = BLANK
                    continue
                if s[0] == ">":
                    kinds[i] = QUOTE
                    if last != QUOTE:
                        mark((i, RUN))
                        runs.append(i)
                        last = QUOTE
                    continue
            elif first == "|":
                kinds[i] = PIPE
                if last != PIPE:
                    mark((i, RUN))
                    last = PIPE
                continue
            odd = _odd_mark(s)
            if odd is not None:
                mark((i, odd))
                if odd == DELIMITER or (odd == RULE and (not s.strip(RULE_CHARACTERS) or "Sponsor" in s)):
                    rules.append(i)
            elif s == "-":
                rules.append(i)
        elif angles and "A" <= first <= "Z" and ">" in s[:13] and _named(s):
            kinds[i] = NAMED
            if last != NAMED:
                mark((i, RUN))
                runs.append(i)
                last = NAMED
            continue
        fresh = last != TEXT
        kinds[i] = last = TEXT
        stop = s.find(":", 0, FIELD_CAP)
        if (stop > 0 or (wide and "：" in s[:FIELD_CAP])) and field_of(s):
            mark((i, FIELD))
            continue
        size = len(s)
        if s[-1] in _ENDS:
            if s[-1] in ":：" or (size > 6 and s.rstrip("*_ " + INVISIBLE)[-1:] in (":", "：")):
                mark((i, COLON))
        elif size < 40:
            if fresh and (s.casefold() in PHRASES or (not s.isascii() and fold(s) in PHRASES)):
                mark((i, PHRASE))
            elif first == "b" and s.startswith("begin ") and s[6:9].isdigit():
                mark((i, ENCODED))
        elif addressed and "@" in s and ">" in s and ":" in s[s.find(">") :][:40]:
            mark((i, INLINE))
        elif size >= ENCODED_LINE and " " not in s:
            mark((i, ENCODED))
    return Lines(text, raw, ends, kinds, marks, runs, rules)


def _named(s: str) -> bool:
    found = NAME_QUOTE.match(s)
    return found is not None and found.group() not in PROMPTS
