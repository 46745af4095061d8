"""Attribution lines: ``On …, X wrote:`` in every language of the tables, over one to four lines.

Evidence is weighed, since the same words open a sentence of someone's own. ``strong`` is what a client prints (a verb, with
an address in angle brackets, or with a full date and a time); what is weaker is believed only when a quote follows at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from .lines import INVISIBLE, TEXT, Lines
from .tables import (
    CAP,
    DATE,
    DATED_START,
    FULL_DATE,
    LEAD,
    OPENERS,
    PARTICLES,
    PRONOUNS,
    TELLING,
    TIME,
    WROTE,
    WROTE_FIRST,
    WROTE_TIGHT,
)

LONGEST, MOST_WORDS = 4, 40
"""Lines that an attribution may be wrapped over, and its words."""

_AROUND_WORD = ",;:：\"'“”„«»*" + INVISIBLE
_BETWEEN_WORDS = str.maketrans(dict.fromkeys(_AROUND_WORD + "<>[]", " "))
_VERBS = frozenset(WROTE)
_SHARED = {"sv": ("da", "no"), "ru": ("ru", "uk"), "uk": ("uk",)}
"""Languages that the verbs of one may really be in."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Begins on line ``start``; ``strong`` enough to be believed though no quote follows."""

    start: int
    language: str
    strong: bool


def _verb(folded: str, words: list[str]) -> tuple[int, str] | None:
    """(index of the word, language) of the first word that makes an attribution."""
    verbs = _VERBS.intersection(words)
    if verbs:
        at = min(map(words.index, verbs))
        return at, WROTE[words[at]]
    if not folded.isascii():
        for phrase, language in WROTE_TIGHT.items():
            if phrase in folded:
                return len(words), language
    return None


def _language(folded: str, words: list[str], found: str | None) -> str:
    """The language, where the verb is shared or missing, by the small words around it."""
    if found in (None, *_SHARED):
        for tell, language in TELLING:
            if language not in _SHARED.get(found or "", (language,)):
                continue
            if all(word in words or (word > "\u3000" and word in folded) for word in tell):
                return language
    return found or "und"


def _bracketed(folded: str) -> bool:
    """Whether an address stands in brackets, as clients print it."""
    return "@" in folded and ("<" in folded or "mailto:" in folded or "[" in folded or "(" in folded)


def _is_name(words: list[str]) -> bool:
    """Whether a few words, in their own case, can be someone's name or nickname."""
    if not 0 < len(words) <= 5 or words[0].casefold() in OPENERS:
        return False
    if len(words) == 1:
        return words[0].casefold().strip(_AROUND_WORD) not in PRONOUNS
    return all(not word[0].islower() or word.casefold() in PARTICLES for word in words)


def _weigh(window: str, attached: bool) -> tuple[bool, bool, str] | None:
    """(begins with a date, strong, language) if the joined lines are an attribution; None if they are not.

    ``attached``: a quote follows at once.
    """
    folded = window.casefold()
    words = folded.translate(_BETWEEN_WORDS).split()
    if len(words) > MOST_WORDS:
        return None
    verb = _verb(folded, words)
    address = "@" in folded
    if verb is None and not address:
        return None
    date = DATE.search(folded) is not None
    led = date and (LEAD.match(folded) is not None or DATED_START.match(folded) is not None)
    if verb is None:
        # Yandex, mail.ru, mutt and Gmail in Japanese print date, name and address, and no verb.
        timed = TIME.search(folded) is not None
        strong = led and timed and folded.rstrip(INVISIBLE + " ").endswith((">", "]"))
        believed = strong or (attached and (led or (timed and _bracketed(folded) and len(words) <= 14)))
        return (led, strong, _language(folded, words, None)) if believed else None
    at, language = verb
    language = _language(folded, words, language)
    before = words[:at]
    sentence = bool(before) and before[-1] in PRONOUNS
    dated = FULL_DATE.search(folded) is not None and TIME.search(folded) is not None
    bracketed = _bracketed(folded)
    if led and (at or words[0] in WROTE_FIRST):
        strong = (bracketed or dated) and not sentence
        return (True, strong, language) if strong or (attached and not sentence) else None
    # No date in front: "Name <address> wrote:", or a bare name with a quote right under it.
    own = window.translate(_BETWEEN_WORDS).split()
    if bracketed and len(own) <= 20 and not sentence and not (before and before[0] in OPENERS):
        return date, True, language
    if (
        attached
        and not sentence
        and (_is_name(own[:at]) or (address and len(own) <= 14) or (at == 0 and len(own) <= 8))
    ):
        return date, False, language
    return None


def attribution_within(line: str) -> str | None:
    """The language of an attribution that a line begins with and goes on after; None if it does not."""
    bracket = line.find(">", 0, CAP)
    colon = min(
        (at for at in (line.find(":", bracket, bracket + 40), line.find("：", bracket, bracket + 40)) if at > 0),
        default=-1,
    )
    weighed = _weigh(line[:colon], False) if bracket > 0 and colon > 0 else None
    return weighed[2] if weighed and weighed[0] and weighed[1] else None


def _continues(above: str, window: str) -> bool:
    """Whether a window that begins with a date goes on from the line above: the name and address, and then the date."""
    return (
        "@" not in window and "@" in above and "<" in above and above[-1] != "." and not LEAD.match(window.casefold())
    )


def _possible(together: list[str]) -> bool:
    """Whether lines have an address or a verb at all: what lets most prose go by cheaply."""
    folded = " ".join(line[:CAP] for line in together).casefold().rstrip("*_ :：\u00a0")
    if "@" in folded or not _VERBS.isdisjoint(folded.split()):
        return True
    return not folded.isascii() and _verb(folded, folded.translate(_BETWEEN_WORDS).split()) is not None


def attribution_ending(lines: Lines, i: int, floor: int, *, attached: bool) -> Attribution | None:
    """The attribution whose last line is ``i``, not reaching above line ``floor``; None if there is none.

    ``attached``: a quote follows, so that weaker evidence will do. Of several readings, one that begins with a date wins,
    then the shortest.
    """
    first = max(floor, i - LONGEST + 1)
    if not _possible(lines.stripped[first : i + 1]):
        return None
    window, fallback = "", None
    for start in range(i, first - 1, -1):
        line = lines.stripped[start]
        if lines.kinds[start] != TEXT or len(line) > CAP:
            break
        window = f"{line} {window}" if window else line.rstrip("*_ :：\u00a0")
        weighed = _weigh(window, attached)
        if weighed is None:
            continue
        led, strong, language = weighed
        if led and not _continues(lines.stripped[start - 1] if start > first else "", window):
            return Attribution(start, language, strong)
        if fallback is None or (strong and not fallback.strong):
            fallback = Attribution(start, language, strong)
    return fallback
