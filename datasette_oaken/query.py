"""The reader of queries: what a person types, as words, phrases, exclusions and filters. No model, no SQL, never an error.

Grammar, in any order and case; curly quotes are quotes::

    words          school run            found by their stems, ranked
    "a phrase"     "bring her back"      must stand in the message, letter for letter
    -word -"ph"    -draft                messages that hold it are left out
    op:value       from:school           see OPERATORS; quote a value with spaces; -op:value turns it round

A value that cannot be read is a warning and filters nothing. An operator that no one knows (``re:``, ``http:``) is text.
Dates are days in UTC. ``after:`` begins with the first day of what it names and ``before:`` ends ahead of it, so that
``after:2024 before:2025`` is the year 2024; ``on:`` is the whole day, month or year.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from .settings import DEFAULT_CATEGORIES

OPERATORS = (
    *("from", "to", "subject", "after", "before", "on", "label", "in", "mailbox", "is", "category"),
    *("priority", "has", "filename", "account", "thread"),
)
"""Every operator, which is also every filter's field in the API."""

MAX_ITEMS = 64
"""Words, phrases, exclusions and filters that are read of one query: a pasted page is not a query."""
MAX_LENGTH = 1000
"""Characters that are read of one item."""

_QUOTES = dict.fromkeys(map(ord, "“”„‟″＂"), '"')
_OPERATOR = re.compile(r"([A-Za-z]+)[:：]")
_PLAIN_VALUE = re.compile(r"[\w@+][\w.@+/-]*", re.ASCII)
_DATE = re.compile(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?", re.ASCII)
_AGO = re.compile(r"(\d{1,5})([dwmy])", re.ASCII)


@dataclass(frozen=True, order=True)
class Filter:
    """One condition on a message. ``value`` is in its one written form: dates resolved, choices in lower case."""

    field: str
    value: str
    negated: bool = False

    def printed(self) -> str:
        """As it would be typed."""
        value = self.value if _PLAIN_VALUE.fullmatch(self.value) else f'"{self.value}"'
        return f"{'-' if self.negated else ''}{self.field}:{value}"


@dataclass(frozen=True)
class Query:
    """A query that has been read. ``excluded`` holds words bare and phrases in their quotes."""

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)
    free_text: str = field(default="", compare=False)
    """The words and phrases as they were typed, in their order: what is embedded."""

    def printed(self) -> str:
        """The query as it could be typed: reading this gives the same query."""
        return " ".join(
            [*self.words, *(f'"{p}"' for p in self.phrases), *(f"-{e}" for e in self.excluded)]
            + [f.printed() for f in self.filters]
        )

    def as_dict(self) -> dict[str, Any]:
        """The ``query`` of the search answer."""
        return {
            "words": list(self.words),
            "phrases": list(self.phrases),
            "excluded": list(self.excluded),
            "filters": [{"field": f.field, "value": f.value, "negated": f.negated} for f in self.filters],
        }

    def with_fields(
        self,
        fields: Mapping[str, Any],
        *,
        today: date | None = None,
        categories: Sequence[str] = DEFAULT_CATEGORIES,
    ) -> Query:
        """This query with filters added: ``{"from": "school", "category": ["work", "family"], "-label": "old"}``.

        Names are OPERATORS, with ``-`` before one to turn it round; values are text, numbers or lists of them. An empty
        value is no filter; one that cannot be read, or a name that no one knows, is a warning.
        """
        filters, warnings = list(self.filters), list(self.warnings)
        for name, given in fields.items():
            negated, operator = name.startswith("-"), name.removeprefix("-").lower()
            for value in given if isinstance(given, list | tuple) else [given]:
                text = " ".join(_clean("" if value is None else str(value)).replace('"', " ").split())[:MAX_LENGTH]
                if not text:
                    continue
                if operator not in OPERATORS:
                    warnings.append(f"There is no filter called {name}; it was left out.")
                    continue
                _add_filter(filters, warnings, operator, text, negated, today or _today(), categories)
        return replace(self, filters=tuple(filters), warnings=tuple(warnings))


def parse(text: str, *, today: date | None = None, categories: Sequence[str] = DEFAULT_CATEGORIES) -> Query:
    """Read what a person typed. Any string at all gives a query; ``today`` (UTC) is what ``7d`` counts back from."""
    words: list[str] = []
    phrases: list[str] = []
    excluded: list[str] = []
    filters: list[Filter] = []
    warnings: list[str] = []
    free: list[str] = []
    for count, (negated, operator, value, quoted) in enumerate(_items(_clean(text))):
        if count == MAX_ITEMS:
            warnings.append(f"Only the first {MAX_ITEMS} words and filters were read.")
            break
        if operator:
            _add_filter(filters, warnings, operator, value, negated, today or _today(), categories)
            continue
        bare = " ".join(value.split()) if quoted else _strip(value)
        if not _strip(bare):
            if bare or value:
                warnings.append(f"{value.strip()} has no letter or digit to look for; it was left out.")
            continue
        if negated:
            _once(excluded, f'"{bare}"' if quoted else bare)
        elif quoted:
            _once(phrases, bare)
            free.append(bare)
        else:
            _once(words, bare)
            free.append(value)
    return Query(tuple(words), tuple(phrases), tuple(excluded), tuple(filters), tuple(warnings), " ".join(free))


def _once(items: list[str], item: str) -> None:
    if item not in items:
        items.append(item)


def _today() -> date:
    return datetime.now(UTC).date()


def _clean(text: str) -> str:
    """One kind of quote, composed characters, and nothing that SQLite cannot take."""
    text = text.translate(_QUOTES)
    text = "".join(" " if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in text)
    return unicodedata.normalize("NFC", text)


def _strip(text: str) -> str:
    """``text`` without the punctuation and symbols around it; inner ones (1.0.21, o'neill) stay."""
    start, stop = 0, len(text)
    while start < stop and not _sounded(text[start]):
        start += 1
    while stop > start and not _sounded(text[stop - 1]):
        stop -= 1
    return text[start:stop]


def _sounded(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] in "LNM"


def _items(text: str) -> Iterable[tuple[bool, str, str, bool]]:
    """The pieces of a query: (negated, operator or '', text, whether it was quoted)."""
    at, end = 0, len(text)
    while at < end:
        if text[at].isspace():
            at += 1
            continue
        negated = text[at] == "-"
        while at < end and text[at] == "-":
            at += 1
        if at < end and text[at] == '"':
            value, at, closed = _quoted(text, at)
            if closed:
                yield negated, "", value, True
            continue
        start = at
        while at < end and not text[at].isspace() and text[at] != '"':
            at += 1
        run = text[start:at][:MAX_LENGTH]
        if not run:
            continue
        opened = len(run) - len(_lstrip(run))
        operator = _OPERATOR.match(run, opened)
        name = operator[1].lower() if operator else ""
        if operator is None or name not in OPERATORS:
            yield negated, "", run, False
            continue
        value = run[operator.end() :].rstrip(",;)")
        if not value and at < end and text[at] == '"':
            value, at, closed = _quoted(text, at)
            if not closed:  # the quote is not closed (yet): the value is the next word
                start = at
                while at < end and not text[at].isspace() and text[at] != '"':
                    at += 1
                value = text[start:at][:MAX_LENGTH]
        yield negated, name, " ".join(value.split()), False


def _lstrip(run: str) -> str:
    start = 0
    while start < len(run) and not _sounded(run[start]):
        start += 1
    return run[start:]


def _quoted(text: str, at: int) -> tuple[str, int, bool]:
    """What stands between the quote at ``at`` and the next: (text, where to go on, whether there was a next)."""
    close = text.find('"', at + 1)
    if close < 0:
        return "", at + 1, False
    return text[at + 1 : close].strip()[:MAX_LENGTH].strip(), close + 1, True


def _add_filter(
    filters: list[Filter],
    warnings: list[str],
    operator: str,
    value: str,
    negated: bool,
    today: date,
    categories: Sequence[str],
) -> None:
    if not value:
        warnings.append(f"{operator}: has no value; it filters nothing.")
        return
    canonical, wanted = _read_value(operator, value, today, categories)
    if canonical is None:
        warnings.append(f"{operator}:{value} could not be read ({operator}: takes {wanted}); it filters nothing.")
        return
    condition = Filter(operator, canonical, negated)
    if condition not in filters:
        filters.append(condition)


def _read_value(operator: str, value: str, today: date, categories: Sequence[str]) -> tuple[str | None, str]:
    """The one written form of a value (None: it cannot be read), and what this operator takes."""
    lower = value.lower()
    if operator in ("after", "before", "on"):
        return _read_date(lower, today), "a date: 2024-03-01, 2024-03, 2024, today, yesterday, or 7d, 3w, 2m, 1y ago"
    if operator == "is":
        return (lower if lower in ("read", "unread") else None), "read or unread"
    if operator == "has":
        return ("attachment" if lower in ("attachment", "attachments") else None), "attachment"
    if operator == "priority":
        return (lower if lower in ("0", "1", "2", "3") else None), "0 to 3"
    if operator == "category":
        return (lower if lower in categories else None), "one of " + ", ".join(categories)
    if operator == "thread":
        fits = value.isascii() and value.isdigit() and 0 < int(value[:30]) < 2**63
        return (str(int(value)) if fits else None), "a conversation's number"
    return value, "text"


def _read_date(value: str, today: date) -> str | None:
    if value == "today":
        return today.isoformat()
    if value == "yesterday":
        return _back(today, 1, "d")
    if ago := _AGO.fullmatch(value):
        return _back(today, int(ago[1]), ago[2])
    if named := _DATE.fullmatch(value):
        year, month, day = named.groups()
        try:
            date(int(year), int(month or 1), int(day or 1))
        except ValueError:
            return None
        return "-".join([year, *(f"{int(part):02}" for part in (month, day) if part)])
    return None


def _back(today: date, count: int, unit: str) -> str | None:
    try:
        if unit in "dw":
            return (today - timedelta(days=count * (7 if unit == "w" else 1))).isoformat()
        months = today.year * 12 + today.month - 1 - count * (12 if unit == "y" else 1)
        first = date(months // 12, months % 12 + 1, 1)
    except (ValueError, OverflowError):
        return None
    last = (date(first.year + first.month // 12, first.month % 12 + 1, 1) - timedelta(days=1)).day
    return first.replace(day=min(today.day, last)).isoformat()


def period(value: str) -> tuple[str, str]:
    """The days that a date filter's value names: (first day, the day after the last), as ISO text for comparison.

    ``2024-02`` gives ``("2024-02-01", "2024-03-01")``.
    """
    parts = [int(part) for part in value.split("-")]
    year, month, day = (*parts, 1, 1)[:3]
    first = date(year, month, day)
    if len(parts) == 3:
        after = first + timedelta(days=1) if first < date.max else None
    else:
        month = first.month % 12 + 1 if len(parts) == 2 else 1
        year = first.year + (len(parts) == 1 or first.month == 12)
        after = date(year, month, 1) if year <= 9999 else None
    return first.isoformat(), after.isoformat() if after else "9999-12-32"
