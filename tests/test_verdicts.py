"""Which verdict counts: the active judge's, on what is asked and read now, unless a person said otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from making import rows
from small_mail import archive

from datasette_oaken import counts, db, questions, readings, verdicts
from datasette_oaken.changes import changes

JUDGE = {"judge": "llm:a", "model": "a 1", "prompt_version": "1"}
OTHER = {"judge": "llm:b", "model": "b 1", "prompt_version": "1"}


@pytest.fixture
def conn(tmp_path: Path) -> db.sqlite3.Connection:
    conn = archive(tmp_path, [{"text": f"message {n}", "subject": f"Subject {n}"} for n in range(1, 5)])
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
        questions.activate(conn, 1, **JUDGE)
    return conn


def put(conn: db.sqlite3.Connection, message_id: int, status: str, **options: Any) -> int:
    question = questions.get(conn, 1)
    assert question is not None
    with db.transaction(conn):
        reading = readings.build(conn, message_id)
        id_ = verdicts.put(conn, question, message_id, reading, **{**JUDGE, "status": status, **options})
        verdicts.set_reading(conn, 1, message_id, reading)
        verdicts.settle(conn, 1, [message_id])
    return id_


def state(conn: db.sqlite3.Connection) -> list[tuple[object, ...]]:
    return rows(conn, "select message_id, verdict_id, status, answer, stale from recall_eligible order by message_id")


def figures(conn: db.sqlite3.Connection) -> dict[str, int]:
    found = counts.count(conn, 1)
    return {name: found[name] for name in ("yes", "no", "unclear", "errors", "remaining", "stale")}


def test_a_message_is_judged_once_on_one_basis_and_only_an_error_gives_way(conn: db.sqlite3.Connection) -> None:
    first = put(conn, 1, "yes", quote="message 1")
    assert put(conn, 1, "no") == first, "a second verdict on the same basis does not count"
    failed = put(conn, 2, "error", error="timeout")
    assert put(conn, 2, "no", reasoning="nothing") == failed
    assert rows(conn, "select id, status, attempts, error from recall_verdicts order by id") == [
        (first, "yes", 1, None),
        (failed, "no", 2, None),
    ]
    assert state(conn) == [
        (1, first, "yes", None, 0),
        (2, failed, "no", None, 0),
        (3, None, None, None, 0),
        (4, None, None, None, 0),
    ]


def test_an_error_is_not_a_no(conn: db.sqlite3.Connection) -> None:
    put(conn, 1, "error", error="timeout")
    put(conn, 2, "unclear")
    assert figures(conn) == {"yes": 0, "no": 0, "unclear": 1, "errors": 1, "remaining": 2, "stale": 0}
    assert rows(conn, "select status, verdict from verdicts_current order by message_id") == [
        ("error", None),
        ("unclear", None),
    ]
    with pytest.raises(db.sqlite3.IntegrityError), db.transaction(conn):
        conn.execute("update recall_verdicts set verdict = 0")


@pytest.mark.parametrize("what", ["question", "criterion", "model", "prompt_version", "text"])
def test_what_a_verdict_rests_on_changed_so_it_counts_no_more_and_stays_as_history(
    conn: db.sqlite3.Connection, what: str
) -> None:
    id_ = put(conn, 1, "yes", quote="message 1")
    put(conn, 2, "no")
    with db.transaction(conn):
        if what in ("question", "criterion"):
            questions.edit(conn, 1, **{what: "Something else?"})
        elif what == "text":
            conn.execute("update messages set subject = 'Another' where id in (1, 2)")
            verdicts.text_changed(conn, [1, 2])
        else:
            questions.activate(conn, 1, **{**JUDGE, what: "2"})
    assert figures(conn) == {"yes": 0, "no": 0, "unclear": 0, "errors": 0, "remaining": 4, "stale": 2}
    assert rows(conn, "select count(*) from verdicts_current") == [(0,)]
    assert rows(conn, "select status from recall_verdicts where id = ?", id_) == [("yes",)]
    changed = [change["what"] for change in changes(conn, 1)]
    assert changed == {"question": ["question"], "criterion": ["criterion"], "text": ["text"]}.get(what, ["judge"])


def test_going_back_to_what_was_asked_brings_its_verdicts_back(conn: db.sqlite3.Connection) -> None:
    put(conn, 1, "yes", quote="message 1")
    for text in ("Is it not?", "Is it?"):
        with db.transaction(conn):
            questions.edit(conn, 1, question=text)
    assert figures(conn) == {"yes": 1, "no": 0, "unclear": 0, "errors": 0, "remaining": 3, "stale": 0}


def test_another_judges_verdicts_stand_beside_and_count_only_when_it_is_made_the_active_one(
    conn: db.sqlite3.Connection,
) -> None:
    put(conn, 1, "yes", quote="message 1")
    put(conn, 1, "no", **OTHER)
    put(conn, 2, "no", **OTHER)
    assert figures(conn) == {"yes": 1, "no": 0, "unclear": 0, "errors": 0, "remaining": 3, "stale": 0}
    assert rows(conn, "select message_id, judge, status, counts from verdicts_by_model order by message_id, judge") == [
        (1, "llm:a", "yes", 1),
        (1, "llm:b", "no", 0),
        (2, "llm:b", "no", 0),
    ]
    with db.transaction(conn):
        questions.activate_known(conn, 1, "llm:b")
    assert figures(conn) == {"yes": 0, "no": 2, "unclear": 0, "errors": 0, "remaining": 2, "stale": 0}
    with pytest.raises(db.OakenError, match=r"llm:a \(a 1\), llm:b \(b 1\)"), db.transaction(conn):
        questions.activate_known(conn, 1, "llm:c")


def test_a_person_is_right_until_they_take_it_back(conn: db.sqlite3.Connection) -> None:
    yes = put(conn, 1, "yes", quote="message 1")
    no = put(conn, 2, "no")
    with db.transaction(conn):
        verdicts.review(conn, yes, agrees=True)
        said = verdicts.review(conn, no, agrees=False, note="look again", reviewer="kim")
    assert {name: said[name] for name in ("verdict_id", "agrees", "answer", "note", "reviewer")} == {
        "verdict_id": no,
        "agrees": False,
        "answer": True,
        "note": "look again",
        "reviewer": "kim",
    }
    assert figures(conn) == {"yes": 2, "no": 0, "unclear": 0, "errors": 0, "remaining": 2, "stale": 0}
    assert rows(
        conn, "select message_id, status, verdict, judged_status, reviewed from verdicts_current order by 1"
    ) == [
        (1, "yes", 1, "yes", 1),
        (2, "yes", 1, "no", 1),
    ]
    with db.transaction(conn):
        verdicts.withdraw(conn, no)
    assert figures(conn)["no"] == 1


def test_a_persons_answer_outlives_the_model_but_not_the_question(conn: db.sqlite3.Connection) -> None:
    id_ = put(conn, 1, "yes", quote="message 1")
    with db.transaction(conn):
        verdicts.review(conn, id_, agrees=False)
        questions.activate(conn, 1, **OTHER)
    assert figures(conn) == {"yes": 0, "no": 1, "unclear": 0, "errors": 0, "remaining": 3, "stale": 0}
    with db.transaction(conn):
        questions.edit(conn, 1, question="Is it really?")
    assert figures(conn)["remaining"] == 4


def test_agreeing_that_it_is_unclear_leaves_it_unclear_and_saying_which_decides_it(conn: db.sqlite3.Connection) -> None:
    id_ = put(conn, 1, "unclear")
    with db.transaction(conn):
        assert verdicts.review(conn, id_, agrees=True)["answer"] is None
    assert figures(conn)["unclear"] == 1
    with pytest.raises(db.OakenError, match="say what the answer is"), db.transaction(conn):
        verdicts.review(conn, id_, agrees=False)
    with db.transaction(conn):
        assert verdicts.review(conn, id_, agrees=False, answer=True)["agrees"] is False
    assert figures(conn) == {"yes": 1, "no": 0, "unclear": 0, "errors": 0, "remaining": 3, "stale": 0}


def test_a_person_may_judge_what_no_judge_has_and_it_stays_what_the_judge_has_not_judged(
    conn: db.sqlite3.Connection,
) -> None:
    with db.transaction(conn):
        id_ = verdicts.answer(conn, 1, 3, True, note="clear to me", reviewer="kim")
    assert figures(conn) == {"yes": 1, "no": 0, "unclear": 0, "errors": 0, "remaining": 3, "stale": 0}
    assert state(conn)[2] == (3, id_, None, 1, 0)
    assert rows(conn, "select status, judged_status, reviewed, judge from verdicts_current") == [
        ("yes", None, 1, "human")
    ]
    with db.transaction(conn):
        assert verdicts.answer(conn, 1, 3, False) == id_
    assert figures(conn)["no"] == 1
    with db.transaction(conn):
        verdicts.withdraw(conn, id_)
    assert figures(conn)["remaining"] == 4 and rows(conn, "select count(*) from recall_verdicts") == [(0,)]
    with pytest.raises(db.OakenError, match="not asked of message 99"), db.transaction(conn):
        verdicts.answer(conn, 1, 99, True)


def test_removing_a_question_leaves_nothing_of_it_behind(conn: db.sqlite3.Connection) -> None:
    verdict = put(conn, 1, "yes", quote="message 1")
    with db.transaction(conn):
        verdicts.review(conn, verdict, agrees=True)
        verdicts.answer(conn, 1, 2, True)
        assert questions.remove(conn, 1) == 2
    tables = [
        row[0] for row in conn.execute("select name from sqlite_master where type = 'table' and name glob 'recall_*'")
    ]
    compiled = [
        t
        for t in tables
        if t.split("_")[1] in ("questions", "question", "eligible", "readings", "reading", "verdicts", "reviews")
    ]
    assert len(compiled) == 7
    assert {table: rows(conn, f"select count(*) from {table}")[0][0] for table in compiled} == dict.fromkeys(
        compiled, 0
    )


@pytest.mark.parametrize("text", ["", "  \n", "12", "x" * 4001])
def test_a_question_that_is_none_is_refused(conn: db.sqlite3.Connection, text: str) -> None:
    with pytest.raises(db.OakenError) as caught, db.transaction(conn):
        questions.ask(conn, text)
    assert caught.value.code == "bad_question"


def test_a_question_is_found_by_its_number_or_its_words_and_never_guessed(conn: db.sqlite3.Connection) -> None:
    with db.transaction(conn):
        other = questions.ask(conn, "Is it?", scope="from:kim")
    assert questions.find(conn, "2") == other
    assert questions.find(conn, " Is it? ", "") == 1
    with pytest.raises(db.OakenError, match="1: all mail; 2: from:kim") as caught:
        questions.find(conn, "Is it?")
    assert caught.value.code == "ambiguous_question"
    with pytest.raises(db.OakenError, match="Questions so far: 1: Is it"):
        questions.find(conn, "Was it?")
    with pytest.raises(db.OakenError, match="asked already"), db.transaction(conn):
        questions.ask(conn, "Is it?")
