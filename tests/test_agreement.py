"""Agreement beyond chance: worked out by hand, never for what chance explains, and only on what both answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_site import judged
from small_mail import archive

from datasette_oaken import db, questions, readings, verdicts
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
            "unclear": 0,
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
            "unclear": 0,
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
            "unclear": 1,
        },
    ]
    differ = disagreements(conn, 1)
    assert [len(one["said"]) for one in differ] == [3, 2, 2], "an error disagrees with no one"
    assert [(s["judge"], s["status"], s["quote"]) for s in differ[0]["said"]] == [
        ("a person", "yes", None),
        ("test:never", "no", None),
        ("test:plain", "yes", "collect"),
    ]
    first_two = disagreements(conn, 1, limit=2)
    rest = disagreements(conn, 1, after=first_two[-1]["message_id"])
    assert len(first_two) == 2
    assert [one["message_id"] for one in (*first_two, *rest)] == [one["message_id"] for one in differ]
    assert disagreements(conn, 2) == agreement(conn, 2) == []


def judge(conn: db.sqlite3.Connection, message_id: int, judge: str, status: str) -> int:
    """The verdict of a judge, "llm:a" or another, on a message of question 1. Returns its id."""
    question = questions.get(conn, 1)
    assert question is not None
    with db.transaction(conn):
        reading = readings.build(conn, message_id)
        id_ = verdicts.put(
            conn, question, message_id, reading, judge=judge, model="m 1", prompt_version="1", status=status
        )
        verdicts.set_reading(conn, 1, message_id, reading)
        verdicts.settle(conn, 1, [message_id])
    return id_


def asked(folder: Path, messages: int) -> db.sqlite3.Connection:
    conn = archive(folder, [{"text": f"message {n}"} for n in range(messages)])
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
        questions.activate(conn, 1, judge="llm:a", model="m 1", prompt_version="1")
    return conn


def test_a_person_is_compared_by_their_last_word(tmp_path: Path) -> None:
    conn = asked(tmp_path, 1)
    judge(conn, 1, "llm:b", "yes")
    with db.transaction(conn):
        verdicts.answer(conn, 1, 1, False)
    assert [one["agree"] for one in agreement(conn, 1)] == [0.0] and len(disagreements(conn, 1)) == 1
    with db.transaction(conn):
        verdicts.answer(conn, 1, 1, True)
    assert [one["agree"] for one in agreement(conn, 1)] == [1.0] and disagreements(conn, 1) == []
    conn.close()


def test_what_was_said_of_another_criterion_is_not_compared(tmp_path: Path) -> None:
    conn = asked(tmp_path, 1)
    judge(conn, 1, "llm:a", "yes")
    judge(conn, 1, "llm:b", "no")
    assert [one["kappa"] for one in agreement(conn, 1)] == [0.0] and len(disagreements(conn, 1)) == 1
    with db.transaction(conn):
        questions.edit(conn, 1, criterion="Something else")
    judge(conn, 1, "llm:b", "no")
    assert agreement(conn, 1) == disagreements(conn, 1) == []
    conn.close()


SAID = st.sampled_from(["yes", "no", "unclear", "error"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(SAID, SAID), min_size=1, max_size=6))
def test_two_judges_are_counted_as_by_hand(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str]]
) -> None:
    conn = asked(tmp_path_factory.mktemp("two"), len(said))
    for message_id, both in enumerate(said, 1):
        for name, status in zip(("llm:a", "llm:b"), both, strict=True):
            judge(conn, message_id, name, status)
    names = {
        "both_yes": ("yes", "yes"),
        "both_no": ("no", "no"),
        "first_only": ("yes", "no"),
        "second_only": ("no", "yes"),
    }
    by_hand = {name: said.count(pair) for name, pair in names.items()}
    unclear = sum("unclear" in pair and "error" not in pair for pair in said)
    found = [{name: one[name] for name in (*names, "both", "unclear")} for one in agreement(conn, 1)]
    assert found == ([by_hand | {"both": sum(by_hand.values()), "unclear": unclear}] if any(by_hand.values()) else [])
    assert [one["message_id"] for one in disagreements(conn, 1)] == [
        n for n, (a, b) in enumerate(said, 1) if a != b and "error" not in (a, b)
    ]
    conn.close()
