"""Attribution lines: ``On …, X wrote:`` in every language of the tables, over one to four lines.

Evidence is weighed, since the same words open a sentence of someone's own. ``strong`` is what a client prints (a verb, with
an address or a full date and a time); ``weak`` is believed only when a quote follows at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from .lines import TEXT, Lines
from .tables import ADDRESS, CAP, DATE, DATED_START, FULL_DATE, LEAD, LEAD_LANGUAGES, PRONOUNS, TIME, VERB, WROTE

LONGEST = 4
"""Lines that an attribution may be wrapped over."""


@dataclass(frozen=True, slots=True)
class Attribution:
    start: int
    language: str
    strong: bool


def _language(window: str) -> str:
    """The language of an attribution, by its verb; a verb that languages share is settled by what it begins with."""
    verb = VERB.search(window)
    language = WROTE[verb.group()] if verb else "und"
    if language in ("sv", "ru", "uk"):
        lead = LEAD.match(window)
        if lead and LEAD_LANGUAGES[lead.group(1)] in ("no", "da", "uk"):
            language = LEAD_LANGUAGES[lead.group(1)]
    return language


def _weigh(window: str) -> tuple[bool, bool, bool]:
    """(begins like an attribution, strong, weak) of joined, case-folded lines without their closing colon."""
    verb = VERB.search(window)
    address = "@" in window and ADDRESS.search(window)
    date = DATE.search(window)
    led = bool(LEAD.match(window) and date) or bool(DATED_START.match(window))
    named = bool(address or (verb and verb.end() >= len(window) - 12))
    begins = led or named
    if not verb:
        return begins, False, bool(address and date and led)
    dated = bool(FULL_DATE.search(window) and TIME.search(window))
    # "Sometime in 2016 at 10:30 he wrote:" is a sentence; a client would have named him.
    before = window[: verb.start()].split()
    sentence = bool(before and before[-1].strip(",\"'") in PRONOUNS) or window.count(". ") > 6
    strong = (led and bool(address or (dated and not sentence))) or bool(address and named and not led)
    return (
        begins,
        strong,
        bool(date or address or 0 < len(before) <= 6) and not (sentence and not address and not dated),
    )


def attribution_ending(lines: Lines, i: int, floor: int) -> Attribution | None:
    """The attribution whose last line is ``i``, not reaching above line ``floor``; None if there is none."""
    stripped, kinds = lines.stripped, lines.kinds
    window, fallback = "", None
    for start in range(i, max(floor, i - LONGEST + 1) - 1, -1):
        if kinds[start] != TEXT or len(stripped[start]) > CAP:
            break
        window = f"{stripped[start]} {window}" if window else stripped[start].rstrip("*_ :：")
        folded = window.casefold()
        begins, strong, weak = _weigh(folded)
        if not begins or not (strong or weak):
            continue
        led = bool(LEAD.match(folded) or DATED_START.match(folded))
        if led and DATE.search(folded):
            return Attribution(start, _language(folded), strong)
        if fallback is None:
            fallback = Attribution(start, _language(folded), strong)
    return fallback
