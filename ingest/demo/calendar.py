"""Dates without the machine's own time zones or locale: both differ from machine to machine."""

from datetime import UTC, date, datetime, timedelta, timezone

UTC = UTC
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
MONTHS_DE = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli"),
    *("August", "September", "Oktober", "November", "Dezember"),
)


def _last_sunday(year: int, month: int) -> datetime:
    day = datetime(year, month, 31, 1, tzinfo=UTC)
    return day - timedelta(days=(day.weekday() + 1) % 7)


def local(when: datetime, zone: str) -> datetime:
    """`when` (in UTC) on the clock of `zone`: "uk", "de", "jp" or "kr", European summer time included."""
    summer = _last_sunday(when.year, 3) <= when < _last_sunday(when.year, 10)
    hours = {"uk": 0 + summer, "de": 1 + summer, "jp": 9, "kr": 9, "utc": 0}[zone]
    return when.astimezone(timezone(timedelta(hours=hours)))


def header_date(when: datetime, zone: str) -> str:
    """The Date header of RFC 5322, section 3.3."""
    here = local(when, zone)
    minutes = int((here.utcoffset() or timedelta()).total_seconds()) // 60
    return (
        f"{DAYS[here.weekday()][:3]}, {here.day} {MONTHS[here.month - 1][:3]} {here.year} "
        f"{clock(here)}:{here.second:02} {minutes // 60:+03}{minutes % 60:02}"
    )


def clock(when: datetime) -> str:
    """Hours and minutes: 18:02."""
    return f"{when.hour:02}:{when.minute:02}"


def nth(day: int) -> str:
    """1st, 2nd, 3rd, 11th."""
    ending = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def spoken(day: date) -> str:
    """As people write a day: Friday 14 June."""
    return f"{DAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]}"


def short(day: date) -> str:
    """14 June."""
    return f"{day.day} {MONTHS[day.month - 1]}"


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime:
    """A moment in UTC."""
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
