"""Agreement beyond chance: worked out by hand, never for what chance explains, and only on what both answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_site import judged

from datasette_oaken import db
from datasette_oaken.agreement import agreement, disagreements, kappa


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((20, 15, 5, 10), 0.4),  # 35 of 50 agree; by chance (25 * 30 + 25 * 20) / 50² = .5
        ((45, 15, 25, 15), 0.1304),  # as often as the next, with other shares of yes
        ((25, 35, 5, 35), 0.2593),
        ((5, 5, 0, 0), 1.0),
        ((0, 0, 5, 5), -1.0),
        ((10, 0, 0, 0), None),
        ((0, 10, 0, 0), None),
        ((0, 0, 10, 0), 0.0),
        ((0, 0, 0, 0), None),
    ],
)
def test_kappa_by_hand(counts: tuple[int, int, int, int], expected: float | None) -> None:
    assert kappa(*counts) == expected


@given(*[st.integers(0, 200)] * 4)
def test_kappa_does_not_depend_on_who_comes_first_or_what_is_called_yes(a: int, b: int, c: int, d: int) -> None:
    assert kappa(a, b, c, d) == kappa(a, b, d, c) == kappa(b, a, c, d)
    if (value := kappa(a, b, c, d)) is not None:
        assert -1 <= value <= 1


def test_judges_and_a_person_are_compared_on_what_both_answered(tmp_path: Path) -> None:
    conn = db.connect(judged(tmp_path / "a.db"), readonly=True)
    assert agreement(conn, 1) == [
        {
            "first_judge": "a person",
            "first_model": "",
            "first_prompt_version": "",
            "second_judge": "test:never",
            "second_model": "plain 1",
            "second_prompt_version": "1",
            "both": 1,
            "both_yes": 0,
            "both_no": 0,
            "first_only": 1,
            "second_only": 0,
            "agree": 0.0,
            "kappa": 0.0,
        },
        {
            "first_judge": "a person",
            "first_model": "",
            "first_prompt_version": "",
            "second_judge": "test:plain",
            "second_model": "plain 1",
            "second_prompt_version": "1",
            "both": 1,
            "both_yes": 1,
            "both_no": 0,
            "first_only": 0,
            "second_only": 0,
            "agree": 1.0,
            "kappa": None,
        },
        {
            "first_judge": "test:never",
            "first_model": "plain 1",
            "first_prompt_version": "1",
            "second_judge": "test:plain",
            "second_model": "plain 1",
            "second_prompt_version": "1",
            "both": 2,
            "both_yes": 0,
            "both_no": 0,
            "first_only": 0,
            "second_only": 2,
            "agree": 0.0,
            "kappa": 0.0,
        },
    ]
    differ = disagreements(conn, 1)
    assert [len(one["said"]) for one in differ] == [3, 2, 2, 2]
    assert [(s["judge"], s["status"], s["quote"]) for s in differ[0]["said"]] == [
        ("a person", "yes", None),
        ("test:never", "no", None),
        ("test:plain", "yes", "collect"),
    ]
    first_two = disagreements(conn, 1, limit=2)
    rest = disagreements(conn, 1, after=first_two[-1]["message_id"])
    assert [one["message_id"] for one in (*first_two, *rest)] == [one["message_id"] for one in differ]
    assert disagreements(conn, 2) == agreement(conn, 2) == []
