"""When a message was sent: the best evidence, never a crash, never the epoch by accident."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mailparser.dates import parse_mail_date

from ingest.dates import sent_at

RECEIVED = "from a.example by b.example; Tue, 3 Mar 2020 10:00:00 +0000"


@pytest.mark.parametrize(
    ("date", "sent"),
    [
        ("Tue, 3 Mar 2020 09:58:00 +0100", "2020-03-03T08:58:00Z"),
        ("3 Mar 20 09:58 GMT", "2020-03-03T09:58:00Z"),
        ("Tue, 3 Mar 2020 09:58:60 +0000", "2020-03-03T09:59:00Z"),  # a leap second
        ("Tue, 3 Mar 2020 09:58:00 -0700 (PDT (summer))", "2020-03-03T16:58:00Z"),
        ("Mon, 3 Mar 2020 09:58:00 +0000", "2020-03-03T09:58:00Z"),  # a wrong weekday
        # What mail-parser gives no value for.
        ("Tue, 3 Mar 2020 09:58:00", "2020-03-03T09:58:00Z"),
        ("Tue, 3 Mar 2020 9:58:00 +0000", "2020-03-03T09:58:00Z"),
        ("Tue, 3 Mar 2020 09:58:00 GMT+0200", "2020-03-03T07:58:00Z"),
        ("Tue, 03 Mar 2020 09:58:00 +0200 (MESZ", "2020-03-03T07:58:00Z"),
        ("Tue Mar  3 09:58:00 2020", "2020-03-03T09:58:00Z"),
        ("2020-03-03T09:58:00+02:00", "2020-03-03T07:58:00Z"),
        ("2020-03-03 09:58:00.123 Z", "2020-03-03T09:58:00Z"),
        ("Tue, 3 Mar 2020 09:58:00 +9900", "2020-03-03T09:58:00Z"),  # an impossible zone
        ("Tue, 3 Mar 0120 09:58:00 +0000", "2020-03-03T09:58:00Z"),  # years since 1900, by a clock with the bug of 2000
    ],
)
def test_a_date_is_read_in_every_form_that_mail_has(date: str, sent: str):
    assert sent_at([date], []) == sent


@pytest.mark.parametrize(
    "date",
    [
        "",
        "yesterday",
        "Tue, 32 Mar 2020 09:58:00 +0000",
        "Tue, 3 Foo 2020 09:58:00 +0000",
        "Tue, 3 Mar 2020 25:58:00 +0000",
        "Thu, 1 Jan 1970 00:00:00 +0000",
        "Wed, 31 Dec 1969 23:59:59 -0500",
        "Tue, 3 Mar 99999 09:58:00 +0000",
        "Tue, 3 Mar 1066 09:58:00 +0000",
        "0",
        "(" * 50_000,
    ],
)
def test_an_absurd_date_is_none_or_what_the_servers_say(date: str):
    assert sent_at([date], []) is None
    assert sent_at([date], [RECEIVED]) == "2020-03-03T10:00:00Z"


def test_the_topmost_sane_received_line_counts():
    lines = [
        "from a by b; someday",
        "from c by d with no date",
        RECEIVED,
        "from e by f; Tue, 3 Mar 2020 09:00:00 +0000",
    ]
    assert sent_at([], lines) == "2020-03-03T10:00:00Z"


@pytest.mark.parametrize("date", ["Tue, 3 Mar 2037 09:58:00 +0000", "Fri, 3 Mar 2000 09:58:00 +0000"])
def test_a_clock_that_is_years_off_gives_way_to_the_servers(date: str):
    assert sent_at([date], [RECEIVED]) == "2020-03-03T10:00:00Z"


def test_mail_that_was_held_for_months_keeps_its_date():
    assert sent_at(["Fri, 1 Nov 2019 09:58:00 +0000"], [RECEIVED]) == "2019-11-01T09:58:00Z"


def test_of_two_dates_the_first_sane_one_counts():
    assert sent_at(["never", "Tue, 3 Mar 2020 09:58:00 +0000"], []) == "2020-03-03T09:58:00Z"


def test_mail_parser_believes_a_zone_of_99_hours():
    value = parse_mail_date("Tue, 3 Mar 2020 09:58:00 +9900").value
    assert value is not None and f"{value:%d %b}" == "28 Feb"


def test_mail_parser_gives_up_on_dates_that_clients_read():
    for date in ("Tue, 3 Mar 2020 09:58:00", "Tue, 3 Mar 2020 9:58:00 +0000", "Tue Mar  3 09:58:00 2020"):
        assert parse_mail_date(date).value is None
        assert sent_at([date], []) == "2020-03-03T09:58:00Z"


DATE_LIKE = st.text(alphabet=st.sampled_from("0123456789 :+-,()TZMarueGMT;.\t\u0660é"), max_size=60)


@given(st.lists(st.one_of(DATE_LIKE, st.text(max_size=40)), max_size=3), st.lists(DATE_LIKE, max_size=2))
def test_any_text_is_a_possible_time_or_none(dates: list[str], received: list[str]):
    sent = sent_at(dates, received)
    assert sent is None or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", sent)
    assert sent is None or "1971-01-02" <= sent < "2100-01-02"


@given(st.datetimes(datetime(1972, 1, 1), datetime(2090, 1, 1)), st.integers(-12 * 60, 14 * 60))
def test_every_time_in_every_zone_comes_back_as_utc(moment: datetime, offset: int):
    sign, minutes = "-" if offset < 0 else "+", abs(offset)
    zone = f"{sign}{minutes // 60:02d}{minutes % 60:02d}"
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    text = f"{moment.day} {months[moment.month - 1]} {moment.year} {moment:%H:%M:%S} {zone}"
    expected = datetime.fromtimestamp(moment.replace(tzinfo=UTC, microsecond=0).timestamp() - offset * 60, UTC)
    assert sent_at([text], []) == f"{expected:%Y-%m-%dT%H:%M:%SZ}"
