"""The count: figures that add up, a sentence that never says more than they do, and a sample that stays a random one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import rows
from small_mail import add, archive

from datasette_oaken import counts, db, eligible, questions, readings, sampling, verdicts
from datasette_oaken.estimate import METHOD, Stratum
from ingest.doctor import doctor
from ingest.repair import repair

JUDGE = {"judge": "llm:a", "model": "a 1", "prompt_version": "1"}


def made(folder: Path, messages: int, **options: Any) -> db.sqlite3.Connection:
    conn = archive(folder, [{"text": f"message {n}"} for n in range(1, messages + 1)])
    with db.transaction(conn):
        questions.ask(conn, "Is it?", **options)
        questions.activate(conn, 1, **JUDGE)
    return conn


def judge(conn: db.sqlite3.Connection, said: dict[int, str]) -> None:
    question = questions.get(conn, 1)
    assert question is not None
    with db.transaction(conn):
        for message_id, status in said.items():
            reading = readings.build(conn, message_id)
            verdicts.put(conn, question, message_id, reading, **JUDGE, status=status)
            verdicts.set_reading(conn, 1, message_id, reading)
        verdicts.settle(conn, 1, said)


def person(conn: db.sqlite3.Connection, message_id: int, yes: bool) -> None:
    with db.transaction(conn):
        (verdict,) = conn.execute(
            "select verdict_id from recall_eligible where message_id = ?", (message_id,)
        ).fetchone()
        if verdict is None:
            verdicts.answer(conn, 1, message_id, yes)
        else:
            (value,) = conn.execute("select verdict from recall_verdicts where id = ?", (verdict,)).fetchone()
            verdicts.review(conn, verdict, agrees=value == yes, answer=yes)


def test_a_count_below_full_coverage_says_at_least(tmp_path: Path) -> None:
    conn = made(tmp_path, 8, criterion="It says so")
    judge(conn, {1: "yes", 2: "yes", 3: "no", 4: "unclear", 5: "error"})
    answer = counts.count(conn, 1)
    when = answer["first_judged_at"][:10]
    assert answer == {
        "ok": True,
        "question_id": 1,
        "question": "Is it?",
        "criterion": "It says so",
        "scope": "",
        "eligible": 8,
        "judged": 4,
        "yes": 2,
        "no": 1,
        "unclear": 1,
        "errors": 1,
        "remaining": 3,
        "coverage": 0.5,
        "at_least": True,
        "stale": 0,
        "copies": 0,
        "unreadable": 0,
        "judge": "llm:a",
        "model": "a 1",
        "prompt_version": "1",
        "remote_host": None,
        "first_judged_at": answer["first_judged_at"],
        "last_judged_at": answer["last_judged_at"],
        "reviewed": {"yes": 0, "no": 0},
        "estimate": None,
        "changes": [],
        "sentence": (
            "At least 2 messages say yes: 4 of 8 messages judged so far (50.0 %), 1 no, 1 unclear, 1 error; 3 still to judge; "
            f"judged by a 1 on {when}."
        ),
    }
    judge(conn, {5: "no", 6: "no", 7: "no", 8: "yes"})
    assert counts.count(conn, 1)["sentence"] == (
        f"3 messages say yes, of 8 messages, every one judged, 4 no, 1 unclear, 0 errors; judged by a 1 on {when}."
    )


def test_copies_what_could_not_be_read_and_a_persons_word_stand_beside_the_figures(tmp_path: Path) -> None:
    conn = made(tmp_path, 2)
    with db.transaction(conn):
        add(conn, "message 1", copy_of=1)
        eligible.refresh(conn, message_ids=[3])
        conn.execute(
            "insert into ingest_failures (source, key, error, attempts, first_at, last_at) values ('mbox', 'k', 'e', 2, '', '')"
        )
    judge(conn, {1: "yes", 2: "no"})
    person(conn, 2, True)
    answer = counts.count(conn, 1)
    assert {name: answer[name] for name in ("eligible", "yes", "no", "copies", "unreadable", "reviewed")} == {
        "eligible": 2,
        "yes": 2,
        "no": 0,
        "copies": 1,
        "unreadable": 1,
        "reviewed": {"yes": 1, "no": 0},
    }
    assert (
        "1 second delivery counted with the first; 1 message could not be read; 1 answered by a person"
        in answer["sentence"]
    )


def test_a_share_that_is_not_whole_never_reads_as_whole(tmp_path: Path) -> None:
    conn = made(tmp_path, 1)
    with db.transaction(conn):  # a million messages, all but one judged, by their sums alone
        conn.execute("update recall_tallies set messages = 1")
        conn.execute("insert into recall_tallies values (1, 'no', -1, 99999999, 0, 0)")
    answer = counts.count(conn, 1)
    assert (answer["coverage"], answer["at_least"]) == (0.999999, True)
    assert rows(conn, "select coverage from questions_progress") == [(0.999999,)]
    assert "(99.9 %)" in answer["sentence"]


def test_an_empty_scope_counts_nothing_and_says_so(tmp_path: Path) -> None:
    conn = made(tmp_path, 2, scope="from:nobody")
    answer = counts.count(conn, 1)
    assert (answer["eligible"], answer["coverage"], answer["at_least"]) == (0, 0.0, False)
    assert answer["sentence"] == "No message is in this question's scope, so nothing was counted."
    with pytest.raises(db.OakenError, match="no question 7"):
        counts.count(conn, 7)


def test_the_sample_is_the_run_of_answers_from_the_start_of_its_order_and_no_more(tmp_path: Path) -> None:
    conn = made(tmp_path, 12)
    judge(conn, dict.fromkeys(range(1, 9), "no") | {9: "error"})
    first, second, third = sampling.queue(conn, 1, "no", 3)
    person(conn, third, True)
    assert sampling.strata(conn, 1) == [
        Stratum("yes", 0, 0, 0),
        Stratum("no", 8, 0, 0),
        Stratum("unclear", 0, 0, 0),
        Stratum("not_judged", 4, 0, 0),
    ], "an answer out of the order is no part of the sample"
    person(conn, first, False)
    person(conn, second, True)
    person(conn, sampling.queue(conn, 1, "not_judged")[0], False)
    assert sampling.strata(conn, 1) == [
        Stratum("yes", 0, 0, 0),
        Stratum("no", 8, 3, 2),
        Stratum("unclear", 0, 0, 0),
        Stratum("not_judged", 4, 1, 0),
    ]
    estimate = counts.count(conn, 1)["estimate"]
    assert estimate == {
        "low": 2,
        "high": 10,
        "point": 8 * 2 / 3 + 0,
        "confidence": 0.95,
        "method": METHOD,
        "precision": None,
        "recall": None,
        "strata": [
            {"name": "yes", "size": 0, "sampled": 0, "yes": 0},
            {"name": "no", "size": 8, "sampled": 3, "yes": 2},
            {"name": "unclear", "size": 0, "sampled": 0, "yes": 0},
            {"name": "not_judged", "size": 4, "sampled": 1, "yes": 0},
        ],
    }
    with pytest.raises(db.OakenError, match="no stratum maybe"):
        sampling.queue(conn, 1, "maybe")


def test_what_joins_a_stratum_early_in_the_order_is_asked_about_next(tmp_path: Path) -> None:
    conn = made(tmp_path, 30)
    in_order = sampling.queue(conn, 1, "not_judged", 30)
    judge(conn, dict.fromkeys(in_order[1:], "no"))
    person(conn, in_order[1], False)
    assert sampling.strata(conn, 1)[1] == Stratum("no", 29, 1, 0)
    judge(conn, {in_order[0]: "no"})
    assert sampling.strata(conn, 1)[1] == Stratum("no", 30, 0, 0)
    assert sampling.queue(conn, 1, "no", 2) == [in_order[0], in_order[2]]


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["yes", "no", "unclear", "error", "person yes", "person no", "forget answer", "edit", "model", "text"]
        ),
        st.integers(1, 5),
    ),
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(OPERATIONS)
def test_whatever_happens_the_figures_add_up_and_can_be_made_again(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, int]]
) -> None:
    conn = made(tmp_path_factory.mktemp("sums"), 5)
    for number, (what, message_id) in enumerate(operations):
        if what in verdicts.STATUSES:
            judge(conn, {message_id: what})
        elif what.startswith("person"):
            person(conn, message_id, what == "person yes")
        else:
            with db.transaction(conn):
                if what == "edit":
                    questions.edit(conn, 1, question=f"Is it {number % 2}?")
                elif what == "model":
                    questions.activate(conn, 1, **JUDGE | {"model": f"a {number % 2}"})
                elif what == "text":
                    conn.execute("update messages set subject = ? where id = ?", (str(number % 3), message_id))
                    verdicts.text_changed(conn, [message_id])
                elif verdict := conn.execute(
                    "select verdict_id from recall_eligible where message_id = ? and verdict_id is not null",
                    (message_id,),
                ).fetchone():
                    verdicts.withdraw(conn, verdict[0])
        answer = counts.count(conn, 1)
        assert answer["eligible"] == 5
        assert answer["eligible"] == sum(answer[name] for name in ("yes", "no", "unclear", "errors", "remaining"))
        (progress,) = conn.execute("select * from questions_progress").fetchall()
        same = ("eligible", "judged", "yes", "no", "unclear", "errors", "remaining", "coverage", "stale", "copies")
        assert {name: progress[name] for name in same} == {name: answer[name] for name in same}
        assert rows(conn, "select count(*) from verdicts_current where status = 'yes'") == [(answer["yes"],)]
        assert eligible.drift(conn) == 0
        before = (
            rows(conn, "select * from recall_eligible order by message_id"),
            rows(conn, "select * from questions_progress"),
        )
        with db.transaction(conn):
            eligible.remake(conn)
        assert before == (
            rows(conn, "select * from recall_eligible order by message_id"),
            rows(conn, "select * from questions_progress"),
        )
    conn.close()


def test_counts_that_something_else_wrote_over_are_noticed_and_made_again(tmp_path: Path) -> None:
    conn = made(tmp_path, 4)
    judge(conn, {1: "yes", 2: "no"})
    before = counts.count(conn, 1)
    conn.execute("update recall_tallies set messages = 9 where status = 'yes'")
    conn.execute("update recall_eligible set status = 'yes' where message_id = 2")
    assert counts.count(conn, 1)["yes"] != 1 and eligible.drift(conn) == 3
    assert [f["advice"] for f in doctor(tmp_path / "small.db")["findings"] if f["check"] == "counts"] == [
        "oaken repair --verdicts"
    ]
    repair(conn, tmp_path / "small.db", fts=False, semantic=False, verdicts=True)
    assert eligible.drift(conn) == 0
    assert counts.count(conn, 1) == before
