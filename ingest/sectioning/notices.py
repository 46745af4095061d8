"""What stands under someone's own words and is not theirs to say: signatures, legal notices, footers of lists.

Works on one authored region, lines [start, stop), and returns spans of lines with what they are. Everything here errs towards
leaving words authored: a span must look the part and be short.
"""

from __future__ import annotations

from bisect import bisect_left

from . import languages as words
from .lines import DELIMITER, RULE, Lines
from .tables import CAP, CONTACT, SENT_FROM

Span = tuple[int, int, str, str]
"""(first line, line after the last, section, why)"""

SIGNATURE_LINES, SLOPPY_SIGNATURE_LINES, FOOTER_LINES = 30, 12, 16
"""Lines with text in them that may follow ``-- ``, a bare ``--``, and the rule over a list's footer."""


def _texts(lines: Lines, start: int, stop: int) -> int:
    """How many of the lines have text."""
    return stop - start - lines.kinds.count(0, start, stop)


def list_footer(lines: Lines, start: int, stop: int) -> Span | None:
    """The footer that a mailing list put under the message: a rule, then few lines that speak of the list."""
    low = bisect_left(lines.marks, (max(start, stop - 2 * FOOTER_LINES), -1))
    for i, kind in lines.marks[low : low + 4 * FOOTER_LINES]:
        if i >= stop:
            break
        if kind not in (RULE, DELIMITER) or _texts(lines, i, stop) > FOOTER_LINES:
            continue
        below = " ".join(line[:CAP] for line in lines.stripped[i + 1 : stop]).casefold()
        if any(cue in below for cue in words.FOOTERS) and ("@" in below or "://" in below or "www." in below):
            return i, stop, "disclaimer", "list-footer"
    return None


def _is_notice(paragraph: str) -> str | None:
    """``legal`` or ``banner`` if a case-folded paragraph is one; None if it is prose."""
    if not any(anchor in paragraph for anchor in words.NOTICE_ANCHORS):
        return None
    if len(paragraph) < 700 and any(cue in paragraph for cue in words.BANNERS):
        return "banner"
    if len(paragraph) < 60:
        return None
    audience, secret, error, forbidden, other = (
        any(cue in paragraph for cue in cues)
        for cues in (
            words.NOTICE_AUDIENCE,
            words.NOTICE_SECRET,
            words.NOTICE_ERROR,
            words.NOTICE_FORBIDDEN,
            words.NOTICE_OTHER,
        )
    )
    if audience + secret + error + forbidden + other >= 3 or (audience and (secret or error) and len(paragraph) > 120):
        return "legal"
    return None


def legal_notices(lines: Lines, start: int, stop: int) -> list[Span]:
    """Paragraphs that are legal notices or a gateway's banner, with the rule or short heading right above them."""
    found: list[Span] = []
    i = lines.next_text(start, stop)
    while i < stop:
        end = i
        while end < stop and lines.kinds[end]:
            end += 1
        if end - i < 40:
            why = _is_notice(" ".join(line[:4000] for line in lines.stripped[i:end]).casefold())
            if why:
                found.append((i, end, "disclaimer", why))
        i = lines.next_text(end, stop)
    return found


def _rule_signature(lines: Lines, start: int, stop: int) -> Span | None:
    """A line of underscores with a few short lines under it, at the very end: a signature or a mail service's advertisement."""
    low = bisect_left(lines.marks, (max(start, stop - 14), -1))
    for i, kind in lines.marks[low : low + 28]:
        if i >= stop:
            break
        rule = lines.stripped[i]
        if kind != RULE or len(rule) < 5 or rule.strip("_"):
            continue
        if 1 <= _texts(lines, i + 1, stop) <= 4 and sum(map(len, lines.stripped[i + 1 : stop])) <= 400:
            return i, stop, "signature", "underscores"
    return None


def sent_from(line: str) -> bool:
    """Whether a line is what a telephone or an app adds by itself."""
    if len(line) > 160:
        return False
    low = line.casefold()
    begins = SENT_FROM.match(low) is not None
    ends = low.rstrip(" .!)>").endswith(words.SENT_FROM_ENDS)
    if not (begins or ends):
        return False
    if any(device in low for device in words.DEVICES):
        return len(low.split()) <= 16 and not ("," in low and low.endswith("."))
    return begins and len(low.split()) <= 8 and low[-1] not in ".,;:?!" and "," not in low


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
    above = begin
    while above > start and not lines.kinds[above - 1]:
        above -= 1
    if lines.stripped[above - 1].endswith((":", "：", "?", ",")):
        return None
    block = lines.stripped[begin:end]
    if any(len(line) > 70 or (line[0] in "-*>|0123456789" and not CONTACT.match(line)) for line in block):
        return None
    contacts = sum(1 for line in block if CONTACT.search(line))
    if contacts >= 2 and not CONTACT.search(block[0]) and not block[0].endswith((".", ":", "?", "!")):
        return begin, stop, "signature", "contact"
    return None


def notices(lines: Lines, start: int, stop: int, *, last: bool) -> list[Span]:
    """Spans of an authored region that are not its author's words, in order. ``last``: no authored region follows."""
    found: list[Span] = []
    first = lines.next_text(start, stop)
    if first == stop:
        return found
    if last and (footer := list_footer(lines, start, stop)):
        found.append(footer)
        stop = footer[0]
    legal = legal_notices(lines, start, stop)
    found += legal
    # A signature ends where a legal notice begins.
    bottom = stop
    for span in reversed(legal):
        if lines.next_text(span[1], bottom) == bottom:
            bottom = span[0]
    signature = _delimited(lines, start, bottom) or (_rule_signature(lines, start, bottom) if last else None)
    if signature is None and last:
        signature = _contact_block(lines, start, bottom, first)
    if signature:
        found.append(signature)
        bottom = signature[0]
    for _ in range(3):
        line = bottom - 1
        while line >= start and not lines.kinds[line]:
            line -= 1
        if line < start or not sent_from(lines.stripped[line]):
            break
        found.append((line, bottom, "signature", "sent-from"))
        bottom = line
    found.sort()
    return found


def _delimited(lines: Lines, start: int, stop: int) -> Span | None:
    """From ``-- `` (RFC 3676 section 4.3) down, if what follows is short enough to be a signature."""
    low = bisect_left(lines.marks, (start, -1))
    for i, kind in lines.marks[low:]:
        if i >= stop:
            break
        if kind == DELIMITER:
            raw = lines.text[lines.starts[i] : lines.starts[i + 1]].rstrip("\n")
            limit = SIGNATURE_LINES if raw.endswith("-- ") else SLOPPY_SIGNATURE_LINES
            if _texts(lines, i + 1, stop) <= limit:
                return i, stop, "signature", "delimiter"
    return None
