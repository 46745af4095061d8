"""The language tables compiled to what a line is looked up in: dictionaries, and regexes that see one short line."""

from __future__ import annotations

import re

from . import languages as words

CAP = 400
"""Characters of a line that any regex is given. Lines that matter here are short; longer ones are prose."""

# Scripts without spaces or case, where a word may touch its neighbours.
_TIGHT = "\u0590-\u06ff\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af"


def _invert(table: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """phrase -> the first language that lists it."""
    inverted: dict[str, str] = {}
    for language, phrases in table.items():
        for phrase in phrases:
            inverted.setdefault(phrase.casefold(), language)
    return inverted


def _alternatives(phrases: list[str]) -> str:
    """The phrases as one regex alternation, longest first so that the longest wins."""
    return "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))


ORIGINAL = _invert(words.ORIGINAL) | {"original": "en"}
FORWARDED = _invert(words.FORWARDED)
FORWARDED_PREFIXES = tuple(sorted(FORWARDED, key=len, reverse=True))
PHRASES = frozenset(ORIGINAL) | frozenset(FORWARDED)

PRONOUNS = frozenset(words.PRONOUNS.split())
PARTICLES = frozenset(words.PARTICLES.split())
OPENERS = frozenset(words.OPENERS.split())
WROTE = _invert(words.WROTE)
WROTE_TIGHT = _invert(words.WROTE_TIGHT)
TELLING = tuple((word, language) for language, tell in words.TELLING.items() for word in tell)

FIELDS: dict[str, tuple[tuple[str, str], ...]] = {}
"""Header field name, case-folded -> (role, language) pairs."""
for _language, _roles in words.FIELDS.items():
    for _role, _names in _roles.items():
        for _name in _names:
            FIELDS[_name.casefold()] = (*FIELDS.get(_name.casefold(), ()), (_role, _language))
FIELD_CAP = max(map(len, FIELDS)) + 6

_LEADS = {lead.casefold() for leads in words.LEADS.values() for lead in leads}
LEAD = re.compile(rf"\W*(?:{_alternatives(list(_LEADS))})(?=\W|\d|[{_TIGHT}])")
DATED_START = re.compile(r"\W*(?:[^\W\d]+[.,]*\s+){0,4}\d{1,4}(?![\d)])")
"""A date within the first words of a line, whatever the language."""
FULL_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{2,4}|\d{4}\s?[年년]|(?<!\d)(?:19|20)\d\d(?!\d)|\d/\d{1,2}/\d\d")
DATE = re.compile(
    rf"{FULL_DATE.pattern}|\d{{1,2}}[./]\s?\d{{1,2}}\.|\d{{1,2}}\.?\s+(?:de\s+)?[^\W\d]{{3,}}|[^\W\d]{{3,}}\.?\s+\d{{1,2}}(?!\d)"
)
TIME = re.compile(r"(?<!\d)\d{1,2}[:.h]\d{2}(?!\d)|\d{1,2}\s?[ap]\.?m\b|\d\s?[時时點点시]")
ADDRESS = re.compile(r"[^\s<>@\"]{1,80}@[^\s<>@\",;]{1,80}")

NAME_QUOTE = re.compile(r"[A-Z][A-Za-z]{0,11}>")
"""Initials or a name before the quoting sign, as supercite and old news readers put it."""
PROMPTS = frozenset({"SQL>", "PS>", "REPL>", "IRB>", "DOS>", "IDL>", "GDB>"})

LOTUS = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}[\s,]+(?:at\s+)?\d{1,2}:\d{2}")
"""The date and time that Lotus Notes prints over a message that it answers or forwards."""

DIFF_CHANGE = re.compile(r"\d[\d,]*[acd]\d[\d,]*$")
"""A hunk of `diff` in its normal form, under which `>` means an added line."""

SENT_FROM = tuple(_invert(words.SENT_FROM))

NOTICE_ANCHORS = tuple(words.NOTICE_ANCHORS)
ASCII_NOTICE_ANCHORS = tuple(filter(str.isascii, words.NOTICE_ANCHORS))

CONTACT = re.compile(
    r"https?://|www\.|[\w.+-]+@[\w-]+\.\w|\+?\(?\d[\d\s().+/-]{6,}\d|\b(?:tel|phone|fax|mobile|cell|mob|icq|skype|jabber|aim)\b\W",
    re.IGNORECASE,
)
