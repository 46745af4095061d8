"""When a message was sent: its Date header by mail-parser, by a lenient reading where that gives up, else by its Received lines.

mail-parser's ``parse_mail_date`` keeps to RFC 5322 and its obsolete forms, and gives no value at all for what real mail has
besides: no zone, one-digit hours, ``GMT+0200``, dashes, the month before the day. The standard library's lenient reader takes
those, and invents others. Both take a zone of 99 hours by its word. What they say is believed only when a mail can have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_tz

from mailparser.dates import parse_mail_date

# The first network mail is of 1971; the epoch itself is a clock that was not set.
EARLIEST = datetime(1971, 1, 2, tzinfo=UTC)
MAX_ZONE = 14 * 3600  # seconds; the zones in use reach from -12:00 to +14:00
_ISO = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})[T ](\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?", re.I
)
_ZONE_NAME = re.compile(r"\b(?:GMT|UTC|UT)\s*([+-]\d{4})\b", re.I)
_MONTHS = {name: number for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_PLAIN = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), {1,2})?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)([0-5]\d)"
    r"(?: \([A-Za-z]{1,5}\))?"
)


def sent_at(dates: Iterable[str], received: Iterable[str], *, latest: datetime | None = None) -> str | None:
    """The time of sending as ``YYYY-MM-DDTHH:MM:SSZ``: the first sane Date, else the topmost sane Received; None without either.

    ``dates`` and ``received`` are header values in the order they stand. A Date that is more than two days after the
    message was received, or years before, is a wrong clock: Received is believed. ``latest`` bounds what is sane, for tests.
    """
    arrived = next((when for value in received if (when := received_date(value, latest))), None)
    for value in dates:
        when = read_date(value, latest)
        if when is None:
            continue
        if arrived and (when > arrived + timedelta(days=2) or when < arrived - timedelta(days=3 * 366)):
            return written(arrived)
        return written(when)
    return written(arrived) if arrived else None


def read_date(value: str, latest: datetime | None = None) -> datetime | None:
    """A date header as an aware UTC datetime, or None when it names no possible time of a mail."""
    value = value[:200]
    when = _plain(value) or _strict(value) or _lenient(value)
    if when is None or when < EARLIEST or when > (latest or datetime(2100, 1, 1, tzinfo=UTC)):
        return None
    return when


def _plain(value: str) -> datetime | None:
    """The one form that nine of ten dates have, read here: mail-parser takes fifteen times as long to say the same of it."""
    match = _PLAIN.fullmatch(value)
    if match is None or match[2] not in _MONTHS or int(match[8]) > 14 or int(match[3]) < EARLIEST.year:
        return None  # the year 0102 is 2002 by a broken clock, for one: not plain
    day, month, year, hour, minute, second = int(match[1]), _MONTHS[match[2]], *map(int, match.group(3, 4, 5, 6))
    offset = timedelta(hours=int(match[8]), minutes=int(match[9]))
    try:
        local = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        return local + offset if match[7] == "-" else local - offset
    except (ValueError, OverflowError):
        return None


def _strict(value: str) -> datetime | None:
    result = parse_mail_date(value)
    if result.value is not None and abs(float(result.timezone)) * 3600 > MAX_ZONE:
        return result.value + timedelta(hours=float(result.timezone))  # an impossible zone: as in _lenient
    return result.value


def received_date(value: str, latest: datetime | None = None) -> datetime | None:
    """The date of a Received header: what stands after its last semicolon (RFC 5321 section 4.4)."""
    _, semicolon, date = value.rpartition(";")
    return read_date(date.strip(), latest) if semicolon else None


def written(when: datetime) -> str:
    """``when`` (UTC) as the file stores it."""
    return when.isoformat()[:19] + "Z"


def _lenient(value: str) -> datetime | None:
    if match := _ISO.search(value):
        year, month, day, hour, minute = (int(match[index]) for index in range(1, 6))
        second, zone = min(int(match[6] or 0), 59), (match[7] or "").replace(":", "")
        offset = 0 if zone.upper() in ("", "Z", "UTC") else _seconds(zone)
    else:
        try:
            parsed = parsedate_tz(_ZONE_NAME.sub(r"\1", value))
        except (ValueError, IndexError, TypeError, OverflowError):
            return None
        if parsed is None:
            return None
        year, month, day, hour, minute, second = parsed[:6]
        year += 1900 if 100 <= year < 200 else 0  # a clock that counts from 1900, as 2000 brought to light
        second = min(second, 59)
        offset = parsed[9] or 0
    if abs(offset) > MAX_ZONE:
        offset = 0  # an impossible zone: the clock's own reading is the best evidence
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC) - timedelta(seconds=offset)
    except (ValueError, OverflowError):
        return None


def _seconds(zone: str) -> int:
    sign = -1 if zone[0] == "-" else 1
    return sign * (int(zone[1:3]) * 3600 + int(zone[3:5]) * 60)
