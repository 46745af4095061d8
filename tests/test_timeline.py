"""The timeline: buckets that add up to the count whatever was judged, no month left out, and a drawing that cannot be made to lie."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_mail import archive

from datasette_oaken import counts, db, questions, readings, timeline, verdicts

JUDGE = {"judge": "llm:a", "model": "a 1", "prompt_version": "1"}
SVG = "{http://www.w3.org/2000/svg}"

State = tuple[str | None, str | None, bool | None]
"""When a message was sent, what the judge said (None: nothing), what a person said (None: nothing)."""


def made(folder: Path, messages: list[State], question: str = "Is it?") -> Any:
    conn = archive(folder, [{"text": f"message {n}", "date": date} for n, (date, _, _) in enumerate(messages)])
    with db.transaction(conn):
        id_ = questions.ask(conn, question)
        questions.activate(conn, id_, **JUDGE)
        asked = questions.get(conn, id_)
        assert asked is not None
        for message_id, (_, status, person) in enumerate(messages, 1):
            if status is not None:
                reading = readings.build(conn, message_id)
                verdict = verdicts.put(conn, asked, message_id, reading, **JUDGE, status=status)
                verdicts.set_reading(conn, id_, message_id, reading)
                if person is not None:
                    verdicts.review(conn, verdict, agrees=(status == "yes") == person, answer=person)
            elif person is not None:
                verdicts.answer(conn, id_, message_id, person)
        verdicts.settle(conn, id_)
    return conn


def row(label: str, key: str, yes: int = 0, unclear: int = 0, error: int = 0, not_judged: int = 0, no: int = 0) -> dict:
    total = yes + unclear + error + not_judged + no
    return {
        "key": key, "label": label, "yes": yes, "unclear": unclear, "error": error, "not_judged": not_judged, "no": no,
        "total": total,
    }  # fmt: skip


def test_months_without_mail_are_there_and_what_has_no_date_stands_apart(tmp_path: Path) -> None:
    conn = made(
        tmp_path,
        [
            ("2023-12-31T23:59:59Z", "yes", None),
            ("2024-03-01T00:00:00Z", "no", True),
            ("2024-03-31T10:00:00Z", "no", None),
            ("2024-03-31T10:00:00Z", "unclear", False),
            ("2024-03-31T10:00:00Z", "error", None),
            (None, "unclear", None),
            ("2024-19-77", None, None),
        ],
    )
    found = timeline.buckets(conn, 1)
    assert (found.step, timeline.rows(found)) == (
        "month",
        [
            row("December 2023", "2023-12", yes=1),
            row("January 2024", "2024-01"),
            row("February 2024", "2024-02"),
            row("March 2024", "2024-03", yes=1, no=2, error=1),
            row("no date", "", unclear=1, not_judged=1),
            row("all", "all", yes=2, no=2, unclear=1, error=1, not_judged=1),
        ],
    )
    assert timeline.described(found) == (
        "2 of 7 messages say yes, from December 2023 to March 2024; most of them, 1, in December 2023; 2 without a date. "
        "The table below has every figure."
    )


@pytest.mark.parametrize(
    ("last", "step", "length", "ends"),
    [
        ("2004-12-31", "month", 60, ("January 2000", "December 2004")),
        ("2005-01-01", "quarter", 21, ("January to March 2000", "January to March 2005")),
        ("2014-12-31", "quarter", 60, ("January to March 2000", "October to December 2014")),
        ("2015-01-01", "year", 16, ("2000", "2015")),
        ("2059-12-31", "year", 60, ("2000", "2059")),
        ("2060-01-01", "decade", 7, ("2000s", "2060s")),
        ("9999-12-31", "century", 80, ("2000-2099", "9900-9999")),
    ],
)
def test_a_long_time_is_told_in_longer_steps_so_that_no_date_makes_a_thousand_bars(
    tmp_path: Path, last: str, step: str, length: int, ends: tuple[str, str]
) -> None:
    conn = made(tmp_path, [("2000-01-01T00:00:00Z", "yes", None), (f"{last}T12:00:00Z", None, None)])
    found = timeline.buckets(conn, 1)
    assert (found.step, len(found.buckets), found.undated) == (step, length, None)
    assert (found.buckets[0].label, found.buckets[-1].label) == ends
    assert (found.buckets[0].yes, found.buckets[-1].not_judged, found.total.total) == (1, 1, 2)


def test_a_question_asked_of_nothing_has_no_drawing(tmp_path: Path) -> None:
    conn = made(tmp_path, [])
    assert timeline.shown(timeline.buckets(conn, 1))["svg"] == ""
    assert timeline.rows(timeline.buckets(conn, 1)) == [row("all", "all")]


DATES = st.one_of(
    st.none(),
    st.sampled_from(["", "no date", "2024-00-01T00:00:00Z", "-001-01-01"]),
    st.dates().map(lambda day: f"{day.isoformat()}T08:00:00Z"),
    st.integers(2019, 2024).map(lambda year: f"{year}-07-01T00:00:00Z"),
)
STATES = st.lists(
    st.tuples(DATES, st.sampled_from([None, *verdicts.STATUSES]), st.sampled_from([None, True, False])), max_size=12
)


@settings(max_examples=60, deadline=None)
@given(STATES)
def test_the_buckets_add_up_to_the_count_whatever_was_judged(
    tmp_path_factory: pytest.TempPathFactory, messages: list[State]
) -> None:
    conn = made(tmp_path_factory.mktemp("line"), messages)
    found = timeline.buckets(conn, 1)
    count = counts.count(conn, 1)
    assert timeline.rows(found)[-1] == {
        "key": "all", "label": "all", "yes": count["yes"], "no": count["no"], "unclear": count["unclear"],
        "error": count["errors"], "not_judged": count["remaining"], "total": count["eligible"],
    }  # fmt: skip
    keys = [bucket.key for bucket in found.buckets]
    assert keys == sorted(set(keys))
    assert len(keys) <= 100
    if messages:
        drawn = ET.fromstring(str(timeline.svg(found)))
        titles = [group.findtext(f"{SVG}title") for group in drawn.iter(f"{SVG}g")]
        assert titles == [bucket.said for bucket in found.all]


def test_the_bars_are_as_high_as_their_figures_in_a_fixed_order_and_inside_the_drawing(tmp_path: Path) -> None:
    said = ["yes", "unclear", "error", None, "no"]
    january = [("2024-01-05T00:00:00Z", status, None) for status in said for _ in range(2)]
    conn = made(tmp_path, [*january, ("2024-02-01T00:00:00Z", "yes", None)])
    drawn = ET.fromstring(str(timeline.svg(timeline.buckets(conn, 1))))
    bars = [
        [
            (rect.get("class", "").removeprefix("oak-is-"), float(rect.get("y", "")), float(rect.get("height", "")))
            for rect in group.iter(f"{SVG}rect")
            if rect.get("class", "").startswith("oak-is-")
        ]
        for group in drawn.iter(f"{SVG}g")
    ]
    assert bars == [
        [
            ("yes", 54.0, 100.0),
            *(
                (status, 252.0 - 16 * n, 16.0)
                for n, status in enumerate(["yes", "unclear", "error", "not_judged", "no"])
            ),
        ],
        [("yes", 104.0, 50.0), ("yes", 260.0, 8.0)],
    ]
    for rect in drawn.iter(f"{SVG}rect"):
        assert (
            0 <= float(rect.get("x", "")) <= float(rect.get("x", "")) + float(rect.get("width", "")) <= timeline.WIDTH
        )


def test_the_drawing_is_named_and_needs_no_inline_style_or_script(tmp_path: Path) -> None:
    conn = made(tmp_path, [("2024-01-05T00:00:00Z", "error", None), (None, None, None)])
    text = str(timeline.svg(timeline.buckets(conn, 1)))
    drawn = ET.fromstring(text)
    ids = {element.get("id") for element in drawn.iter()}
    assert drawn.get("role") == "img"
    assert set((drawn.get("aria-labelledby") or "").split()) <= ids
    assert drawn.findtext(f"{SVG}title") == "Messages that say yes, by month"
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= ids, "a pattern that is not there would paint nothing"
    assert not re.search(r"style=|<style|<script|\son\w+=|href", text)
