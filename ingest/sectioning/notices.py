"""What stands under someone's own words and is not theirs to say: signatures, legal notices, footers of lists.

Works on one authored region, lines [start, stop), and returns spans of lines with what they are. Everything here errs towards
leaving words authored: a span must look the part and be short.
"""

from __future__ import annotations

from bisect import bisect_left

from .lines import DELIMITERS, RULE_CHARACTERS, Lines
from .tables import (
    BANNERS,
    CAP,
    CONTACT,
    DEVICES,
    DIGITS,
    FOOTER_STARTS,
    FOOTERS,
    NOTICE_CUES,
    NOTICE_OPENINGS,
    NOTICE_STEMS,
    NOTICE_STEMS_BY_LETTER,
    SENT_FROM,
    SENT_FROM_ENDS,
    fold,
)

Span = tuple[int, int, str, str]
"""(first line, line after the last, section, why)"""

SIGNATURE_LINES, SLOPPY_SIGNATURE_LINES, FOOTER_LINES = 30, 12, 10
"""Lines with text in them that may follow ``-- ``, a bare ``--``, and the rule over a list's footer."""

NOTICE_LINES, NOTICE_CHARACTERS = 40, 6000
"""A paragraph beyond these is no notice."""

SHORTEST_NOTICE = 30
"""Characters below which nothing is a notice."""

OPENING = 150
"""Characters within which a notice says what it speaks of."""


def may_have_notices(text: str) -> bool:
    """Whether ``text`` has a part of a word that any legal notice or banner has: a cheap test, which lets most mail go by."""
    for stem in NOTICE_STEMS:
        if stem in text:
            return True
    if text.isascii():
        return False
    return any(letter in text and any(stem in text for stem in stems) for letter, stems in NOTICE_STEMS_BY_LETTER)


def _texts(lines: Lines, start: int, stop: int) -> int:
    """How many of the lines have text."""
    return max(0, stop - start) - lines.kinds.count(0, start, stop)


def _rules(lines: Lines, start: int, stop: int) -> list[int]:
    """Those of lines [start, stop) that are rules or ``-- ``."""
    rules = lines.rules
    return rules[bisect_left(rules, start) : bisect_left(rules, stop)] if rules else []


def list_footer(lines: Lines, start: int, stop: int) -> Span | None:
    """The footer that mailing lists put under a message: few lines that speak of the list, under a rule or on their own.

    Read from the bottom up, since each list that a message passed adds its own.
    """
    bottom, found = stop, False
    end = lines.text_above(stop, start) + 1
    begin = end
    while begin > start and lines.kinds[begin - 1] and end - begin < 8:
        begin -= 1
    if begin > start and fold(lines.stripped[begin][:CAP]).startswith(FOOTER_STARTS):
        bottom, found = begin, True
    for i in reversed(_rules(lines, max(start, stop - 3 * FOOTER_LINES), bottom)):
        texts = _texts(lines, i + 1, bottom)
        if texts == 0:
            continue
        below = [line[:CAP].casefold() for line in lines.stripped[i:bottom] if line]
        linked = any("@" in line or "://" in line or "www." in line for line in below)
        opening = " ".join(below[:3])
        if texts > FOOTER_LINES or not linked or not any(cue in opening for cue in FOOTERS):
            break
        bottom, found = i, True
    return (bottom, stop, "disclaimer", "list-footer") if found else None


def _is_notice(paragraph: str) -> str | None:
    """``legal`` or ``banner`` if a case-folded paragraph is one; None if it is prose."""
    if len(paragraph) < 700 and any(cue in paragraph for cue in BANNERS):
        return "banner"
    audience, secret, error, forbidden, other = (any(cue in paragraph for cue in cues) for cues in NOTICE_CUES)
    if audience + secret + error + forbidden + other >= 3:
        return "legal"
    return "legal" if audience and (secret or error) and len(paragraph) > 120 else None


def legal_notices(lines: Lines, start: int, stop: int) -> list[Span]:
    """Paragraphs that are legal notices or a gateway's banner, with the heading or rule right above them."""
    found: list[Span] = []
    i = lines.next_text(start, stop)
    while i < stop:
        end = i
        while end < stop and lines.kinds[end]:
            end += 1
        if end - i < NOTICE_LINES and lines.ends[end - 1] - lines.ends[i] < NOTICE_CHARACTERS:
            paragraph = " ".join(lines.stripped[i:end])
            if (
                len(paragraph) >= SHORTEST_NOTICE
                and may_have_notices(paragraph)
                and (end - i > 1 or _opens(paragraph))
                and (why := _is_notice(paragraph.casefold()))
            ):
                while i < end - 1 and not _opens(lines.stripped[i]):
                    i += 1
                above = lines.text_above(i, max(start, i - 3))
                if above >= start and (not found or above >= found[-1][1]) and _heads(lines.stripped[above]):
                    i = above
                found.append((i, end, "disclaimer", why))
        i = lines.next_text(end, stop)
    return found


def _opens(line: str) -> bool:
    """Whether a line can begin a notice. Lines above it in its paragraph are someone's words."""
    low = line[:OPENING].casefold()
    return any(opening in low for opening in NOTICE_OPENINGS)


def _heads(line: str) -> bool:
    """Whether a line can be the heading of a notice: a rule, or one short line that says so."""
    if not line.strip(RULE_CHARACTERS):
        return len(line) > 2
    low = line.casefold()
    return len(line) < 60 and any(cue in low for cue in ("disclaimer", "notice", "caution", "warning", "confidential"))


def sent_from(line: str) -> bool:
    """Whether a line is what a telephone or an app adds by itself."""
    if len(line) > 160:
        return False
    low = fold(line)
    begins = low.lstrip("-–—*_[(<\"' ").startswith(SENT_FROM)
    if not (begins or low.rstrip(" .!)>]*_").endswith(SENT_FROM_ENDS)):
        return False
    clause = low.partition(",")[0] if begins else low
    if any(device in clause for device in DEVICES):
        return len(low.split()) <= 16
    return begins and len(low.split()) <= 8 and low[-1] not in ".,;:?!" and "," not in low


def _delimited(lines: Lines, start: int, stop: int) -> Span | None:
    """From ``-- `` (RFC 3676 section 4.3) down, if what follows is short enough to be a signature."""
    for i in _rules(lines, start, stop):
        if lines.stripped[i] in DELIMITERS:
            exact = lines.text[lines.start(i) : lines.start(i + 1)].rstrip("\n").endswith("-- ")
            if _texts(lines, i + 1, stop) <= (SIGNATURE_LINES if exact else SLOPPY_SIGNATURE_LINES):
                return i, stop, "signature", "delimiter"
    return None


def _ruled(lines: Lines, start: int, stop: int) -> Span | None:
    """Under a rule at the very end: a few short lines below underscores, or a block of ways to reach someone."""
    for i in _rules(lines, max(start, stop - 2 * SLOPPY_SIGNATURE_LINES), stop):
        rule = lines.stripped[i]
        below = [line for line in lines.stripped[i + 1 : stop] if line]
        if len(rule) < 4 or not 1 <= len(below) <= SLOPPY_SIGNATURE_LINES or max(map(len, below)) > 90:
            continue
        if len(below) <= 4 and len(rule) >= 5 and not rule.strip("_"):
            return i, stop, "signature", "underscores"
        terse = all(len(line) <= 64 and len(line.split()) <= 7 for line in below)
        if terse and sum(1 for line in below if CONTACT.search(line)) >= max(2, len(below) // 3):
            return i, stop, "signature", "contact"
    return None


def _contact_block(lines: Lines, start: int, stop: int, first: int) -> Span | None:
    """The last paragraph, if it is a name with telephone, address, site, and there are words before it."""
    end = stop
    while end > start and not lines.kinds[end - 1]:
        end -= 1
    begin = end
    while begin > start and lines.kinds[begin - 1] and end - begin <= 9:
        begin -= 1
    if not first < begin or not 2 <= end - begin <= 8:
        return None
    # "Here is her number:" introduces what is meant to be read.
    if lines.stripped[lines.text_above(begin, start)].endswith((":", "：", "?")):
        return None
    block = lines.stripped[begin:end]
    if any(len(line) > 70 or (line[0] in "-*>|0123456789" and not CONTACT.match(line)) for line in block):
        return None
    together = " ".join(block)
    if "@" not in together and "://" not in together and "www." not in together and not DIGITS.search(together):
        return None
    name = block[0]
    if CONTACT.search(name) or len(name.split()) > 6 or name.endswith((":", "?", "!")):
        return None
    contacts = sum(1 for line in block if CONTACT.search(line))
    return (begin, stop, "signature", "contact") if contacts >= 2 else None


def notices(lines: Lines, start: int, stop: int, *, last: bool, legal: bool) -> list[Span]:
    """Spans of an authored region that are not its author's words, in order.

    ``last``: no answer follows, so that what ends the message may stand here. ``legal``: see
    ``may_have_notices``.
    """
    found: list[Span] = []
    first = lines.next_text(start, stop)
    if first == stop:
        return found
    if last and (footer := list_footer(lines, start, stop)):
        found.append(footer)
        stop = footer[0]
    notes = legal_notices(lines, start, stop) if legal else []
    found += notes
    # A signature ends where a legal notice begins.
    bottom = stop
    for span in reversed(notes):
        if lines.next_text(span[1], bottom) == bottom:
            bottom = span[0]
    signature = _delimited(lines, start, bottom)
    if signature is None and last:
        signature = _ruled(lines, start, bottom) or _contact_block(lines, start, bottom, first)
    if signature:
        found = [span for span in found if span[0] >= signature[1] or span[1] <= signature[0]]
        found.append(signature)
        bottom = signature[0]
    for _ in range(3):
        line = lines.text_above(bottom, start)
        if line < start or not sent_from(lines.stripped[line]):
            break
        found.append((line, bottom, "signature", "sent-from"))
        bottom = line
    found.sort()
    return found
