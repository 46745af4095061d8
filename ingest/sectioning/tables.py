"""The language tables compiled to what a line is looked up in: dictionaries, and regexes that see one short line."""

from __future__ import annotations

import re

from . import additions
from . import languages as words

CAP = 400
"""Characters of a line that any regex is given. Lines that matter here are short; longer ones are prose."""

# Scripts without spaces or case, where a word may touch its neighbours.
_TIGHT = "\u0590-\u06ff\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af"


def fold(text: str) -> str:
    """Case-folded, and Turkish's dotted capital I as a plain i."""
    return text.casefold().replace("\u0307", "")


def _invert(table: dict[str, str]) -> dict[str, str]:
    """phrase -> the first language that lists it."""
    inverted: dict[str, str] = {}
    for language, phrases in table.items():
        for phrase in phrases.split("|"):
            inverted.setdefault(fold(phrase), language)
    return inverted


def _folded(phrases: str) -> tuple[str, ...]:
    return tuple(fold(phrase) for phrase in phrases.split("|"))


def _alternatives(phrases: list[str]) -> str:
    """The phrases as one regex alternation, longest first so that the longest wins."""
    return "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))


ORIGINAL = _invert(words.ORIGINAL) | {"original": "en"}
FORWARDED = _invert(words.FORWARDED)
FORWARDED_PREFIXES = tuple(sorted(FORWARDED, key=len, reverse=True))
FORWARD_ENDS = _folded(words.FORWARD_ENDS)
PHRASES = frozenset(ORIGINAL) | frozenset(FORWARDED)

PRONOUNS, PARTICLES, OPENERS = (
    frozenset(_folded(phrases)) for phrases in (words.PRONOUNS, words.PARTICLES, words.OPENERS)
)
WROTE = _invert(words.WROTE)
WROTE_TIGHT = _invert(words.WROTE_TIGHT)
WROTE_FIRST = frozenset(_folded(words.WROTE_FIRST))
TELLING = tuple((word.split(), language) for language, tell in words.TELLING.items() for word in tell.split("|"))

FIELDS: dict[str, tuple[tuple[str, str], ...]] = {}
"""Header field name, case-folded -> (role, language) pairs."""
for _language, _roles in words.FIELDS.items():
    for _role, _names in _roles.items():
        for _name in _folded(_names):
            FIELDS[_name] = (*FIELDS.get(_name, ()), (_role, _language))
FIELD_CAP = max(map(len, FIELDS)) + 6

LEAD = re.compile(rf"\W*(?:{_alternatives(list(_invert(words.LEADS)))})(?=\W|\d|[{_TIGHT}])")
DATED_START = re.compile(r"\W*(?:[^\W\d]+[.,]*\s+){0,4}\d{1,4}(?![\d)])")
"""A date within the first words of a line, whatever the language."""
FULL_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{2,4}|\d{4}\s?[年년]|(?<!\d)(?:19|20)\d\d(?!\d)|\d/\d{1,2}/\d\d")
DATE = re.compile(
    rf"{FULL_DATE.pattern}|\d{{1,2}}[./]\s?\d{{1,2}}\.|(?<![\d:.h])\d{{1,2}}\.?\s+(?:de\s+)?[^\W\d]{{3,}}|[^\W\d]{{3,}}\.?\s+\d{{1,2}}(?!\d|[:.h]\d)"
)
TIME = re.compile(r"(?<!\d)\d{1,2}[:.h]\d{2}(?!\d)|\d{1,2}\s?[ap]\.?m\b|\d\s?[時时點点시]")
ADDRESS = re.compile(r"[^\s<>@\"]{1,80}@[^\s<>@\",;]{1,80}")

NAME_QUOTE = re.compile(r"[A-Z][A-Za-z]{0,11}>")
"""Initials or a name before the quoting sign, as supercite and old news readers put it."""
PROMPTS = frozenset({"SQL>", "PS>", "REPL>", "IRB>", "DOS>", "IDL>", "GDB>"})

LOTUS = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}[\s,]+(?:at\s+)?\d{1,2}:\d{2}")
"""The date and time that Lotus Notes prints over a message that it answers or forwards."""

LOTUS_WROTE = tuple(
    f" {verb}" for verb in ("wrote", "schrieb", "a écrit", "escribió", "escreveu", "ha scritto", "schreef")
)
"""How Lotus Notes ends ``-----Ann Lee/EXAMPLE wrote: -----``."""

GIT_MAIL = re.compile(r">?From [0-9a-f]{7,40} ")
"""The line that `git format-patch` puts over a patch's own header fields."""

RAW_FIELDS = frozenset(_folded(words.RAW_FIELDS))

DIFF_CHANGE = re.compile(r"\d[\d,]*[acd]\d[\d,]*$")
"""A hunk of `diff` in its normal form, under which `>` means an added line."""

PLAIN_DATES = _folded(words.PLAIN_DATES)
FORWARD_SUBJECT = frozenset(_folded(words.FORWARD_SUBJECT))

SENT_FROM = tuple(_invert(additions.SENT_FROM))
SENT_FROM_ENDS = _folded(additions.SENT_FROM_ENDS)
DEVICES = _folded(additions.DEVICES)
NOTICE_CUES = tuple(
    _folded(phrases)
    for phrases in (
        additions.NOTICE_AUDIENCE,
        additions.NOTICE_SECRET,
        additions.NOTICE_ERROR,
        additions.NOTICE_FORBIDDEN,
        additions.NOTICE_OTHER,
    )
)
NOTICE_STEMS = tuple(additions.NOTICE_STEMS.split("|"))
NOTICE_STEMS_BY_LETTER = tuple(
    (letter, tuple(stems.split("|"))) for letter, stems in additions.NOTICE_STEMS_BY_LETTER.items()
)
NOTICE_OPENINGS = _folded(additions.NOTICE_OPENINGS)
BANNERS = _folded(additions.BANNERS)
FOOTERS = _folded(additions.FOOTERS)
FOOTER_STARTS = _folded(additions.FOOTER_STARTS)
DIGITS = re.compile(r"\d")
CONTACT = re.compile(
    r"https?://|www\.|[\w.+-]+@[\w-]+\.\w"
    # A telephone number: groups of two to five digits, but no date.
    r"|(?<![\w.])(?!(?:19|20)\d\d[-./]\d\d?[-./]|\d\d?[-./]\d\d?[-./]\d\d)\+?\(?\d{1,4}\)?(?:[ ./-]{0,2}\(?\d{2,5}\)?){2,5}(?![\w.:])|"
    r"\b(?:tel|phone|fax|mobile|cell|mob|icq|skype|jabber|aim)\b\W",
    re.IGNORECASE,
)
