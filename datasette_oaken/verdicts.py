"""Changing verdicts and reviews, and keeping ``recall_eligible`` pointing at those that count.

All run inside the caller's transaction. A verdict is never changed, but that a later attempt takes the place of an error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from datasette.utils.sqlite import sqlite3

from . import readings
from .changes import changed
from .db import OakenError
from .readings import Reading
from .rows import now

HUMAN = "human"
"""The judge that is a person."""
NO_PROMPT = "none"
STATUSES = ("yes", "no", "unclear", "error")
_VALUE = {"yes": 1, "no": 0}

# The active judge's verdict on exactly what is asked and read now.
_CURRENT = """
  select v.id from recall_verdicts v join recall_questions q on q.id = v.question_id
  where v.question_id = recall_eligible.question_id and v.message_id = recall_eligible.message_id
    and v.judge = q.judge and v.model = q.model and v.prompt_version = q.prompt_version
    and v.question = q.question and v.criterion = q.criterion and v.reading_sha256 = recall_eligible.reading_sha256
"""
# A person's last word on what is asked and read now. It is about the message, so it outlives a change of model.
_REVIEW = """
  from recall_reviews r join recall_verdicts v on v.id = r.verdict_id join recall_questions q on q.id = v.question_id
  where v.question_id = recall_eligible.question_id and v.message_id = recall_eligible.message_id
    and v.question = q.question and v.criterion = q.criterion and v.reading_sha256 = recall_eligible.reading_sha256
    and r.answer is not null
  order by r.id desc limit 1
"""
_STALE = """
  recall_eligible.status is null and recall_eligible.answer is null and exists (
    select 1 from recall_verdicts v join recall_questions q on q.id = v.question_id
    where v.question_id = recall_eligible.question_id and v.message_id = recall_eligible.message_id and v.judge = q.judge)
"""


def settle(conn: sqlite3.Connection, question_id: int, message_ids: Iterable[int] | None = None) -> None:
    """Make ``verdict_id``, ``status``, ``answer`` and ``stale`` right again from verdicts and reviews.

    For one question, and all of what it is asked of or only these messages.
    """
    only = ""
    values: list[object] = [question_id]
    if message_ids is not None:
        only = " and message_id in (select value from json_each(?))"
        values.append(json.dumps(list(message_ids)))
    conn.execute(
        f"update recall_eligible set verdict_id = ({_CURRENT}), answer = (select r.answer {_REVIEW})"
        f" where question_id = ?{only}",
        values,
    )
    conn.execute(
        "update recall_eligible set status = (select status from recall_verdicts where id = recall_eligible.verdict_id),"
        f" verdict_id = coalesce(verdict_id, case when answer is not null then (select v.id {_REVIEW}) end)"
        f" where question_id = ?{only}",
        values,
    )
    conn.execute(f"update recall_eligible set stale = ({_STALE}) where question_id = ?{only}", values)


def basis(question: dict[str, Any], reading: Reading, judge: str, model: str, prompt_version: str) -> int:
    """The hash of all that a verdict rests on, as a signed 64-bit number."""
    text = json.dumps([question["question"], question["criterion"], reading.sha256, judge, model, prompt_version])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def put(
    conn: sqlite3.Connection,
    question: dict[str, Any],
    message_id: int,
    reading: Reading,
    *,
    judge: str,
    model: str,
    prompt_version: str,
    status: str,
    reasoning: str | None = None,
    considerations: str | None = None,
    quote: str | None = None,
    error: str | None = None,
    duration_ms: int | None = None,
    remote_host: str | None = None,
    shared_from: int | None = None,
) -> int:
    """Store one judgement with its reading; ``settle`` comes after. Returns its id.

    Judged before on the same basis, the earlier verdict stands and its id is returned; only an error gives way.
    """
    readings.keep(conn, reading)
    row = conn.execute(
        "insert into recall_verdicts (question_id, question, criterion, account, source, source_id, message_id, judge, verdict,"
        " status, reasoning, considerations, quote, model, prompt_version, reading_sha256, judged_at, duration_ms, error,"
        " remote_host, shared_from, basis)"
        " select :question_id, :question, :criterion, m.account, m.source, m.source_id, m.id, :judge, :verdict, :status,"
        " :reasoning, :considerations, :quote, :model, :prompt_version, :reading, :judged_at, :duration, :error, :remote,"
        " :shared, :basis from messages m where m.id = :message_id"
        " on conflict (question_id, message_id, basis) do update set verdict = excluded.verdict, status = excluded.status,"
        " reasoning = excluded.reasoning, considerations = excluded.considerations, quote = excluded.quote,"
        " judged_at = excluded.judged_at, duration_ms = excluded.duration_ms, error = excluded.error,"
        " remote_host = excluded.remote_host, shared_from = excluded.shared_from, attempts = recall_verdicts.attempts + 1"
        " where recall_verdicts.status = 'error' returning id",
        {
            "question_id": question["id"],
            "question": question["question"],
            "criterion": question["criterion"],
            "message_id": message_id,
            "judge": judge,
            "verdict": _VALUE.get(status),
            "status": status,
            "reasoning": reasoning,
            "considerations": considerations,
            "quote": quote,
            "model": model,
            "prompt_version": prompt_version,
            "reading": reading.sha256,
            "judged_at": now(),
            "duration": duration_ms,
            "error": error,
            "remote": remote_host,
            "shared": shared_from,
            "basis": (key := basis(question, reading, judge, model, prompt_version)),
        },
    ).fetchall()
    if row:
        return int(row[0][0])
    return int(
        conn.execute(
            "select id from recall_verdicts where question_id = ? and message_id = ? and basis = ?",
            (question["id"], message_id, key),
        ).fetchone()[0]
    )


def review(
    conn: sqlite3.Connection,
    verdict_id: int,
    *,
    agrees: bool,
    answer: bool | None = None,
    note: str = "",
    reviewer: str | None = None,
) -> dict[str, Any]:
    """A person agrees with a verdict or not; what they say counts from now on. Returns the review.

    ``answer``: what the right answer is. A yes or no that is disagreed with has it by itself; an unclear one needs it.

    Raises OakenError no_verdict, answer_needed.
    """
    found = conn.execute(
        "select question_id, message_id, status, verdict from recall_verdicts where id = ?", (verdict_id,)
    ).fetchone()
    if found is None:
        raise OakenError(f"There is no verdict {verdict_id}.", "no_verdict")
    if found["verdict"] is not None:
        said = bool(found["verdict"]) if agrees else not found["verdict"]
        if answer is not None and answer != said:
            agrees, said = answer == bool(found["verdict"]), answer
    elif answer is None and not (agrees and found["status"] == "unclear"):
        raise OakenError(
            f"Verdict {verdict_id} is {found['status']}: say what the answer is, yes or no.", "answer_needed"
        )
    else:
        agrees, said = agrees and answer is None, answer  # type: ignore[assignment]
    when = now()
    id_ = conn.execute(
        "insert into recall_reviews (verdict_id, agrees, answer, note, reviewer, reviewed_at) values (?, ?, ?, ?, ?, ?)",
        (verdict_id, int(agrees), None if said is None else int(said), note, reviewer, when),
    ).lastrowid
    settle(conn, found["question_id"], [found["message_id"]])
    return {
        "id": id_,
        "verdict_id": verdict_id,
        "agrees": agrees,
        "answer": said,
        "note": note,
        "reviewer": reviewer,
        "reviewed_at": when,
    }


def withdraw(conn: sqlite3.Connection, verdict_id: int) -> None:
    """Take back what a person said of a verdict; a verdict that was the person's own goes with it.

    Raises OakenError no_verdict.
    """
    found = conn.execute(
        "select question_id, message_id, judge, reading_sha256 from recall_verdicts where id = ?", (verdict_id,)
    ).fetchone()
    if found is None:
        raise OakenError(f"There is no verdict {verdict_id}.", "no_verdict")
    conn.execute("delete from recall_reviews where verdict_id = ?", (verdict_id,))
    if found["judge"] == HUMAN:
        conn.execute("delete from recall_verdicts where id = ?", (verdict_id,))
    settle(conn, found["question_id"], [found["message_id"]])


def answer(
    conn: sqlite3.Connection,
    question_id: int,
    message_id: int,
    yes: bool,
    *,
    note: str = "",
    reviewer: str | None = None,
    own_chars: int = readings.OWN_CHARS,
    context_chars: int = readings.CONTEXT_CHARS,
) -> int:
    """A person judges a message themselves: a verdict by the judge "human", on what a judge would be given. Returns its id.

    Raises OakenError no_question, not_eligible.
    """
    question = conn.execute("select * from recall_questions where id = ?", (question_id,)).fetchone()
    if question is None:
        raise OakenError(f"There is no question {question_id}.", "no_question")
    eligible = conn.execute(
        "select reading_sha256 from recall_eligible where question_id = ? and message_id = ?", (question_id, message_id)
    ).fetchone()
    if eligible is None:
        raise OakenError(f"Question {question_id} is not asked of message {message_id}.", "not_eligible")
    reading = readings.load(conn, eligible[0]) if eligible[0] else None
    if reading is None:
        reading = readings.build(conn, message_id, own_chars=own_chars, context_chars=context_chars)
        readings.keep(conn, reading)
        set_reading(conn, question_id, message_id, reading)
    verdict_id = put(
        conn,
        dict(question),
        message_id,
        reading,
        judge=HUMAN,
        model=HUMAN,
        prompt_version=NO_PROMPT,
        status="yes" if yes else "no",
        reasoning=note or None,
    )
    review(conn, verdict_id, agrees=True, answer=yes, note=note, reviewer=reviewer)
    return verdict_id


def set_reading(conn: sqlite3.Connection, question_id: int, message_id: int, reading: Reading) -> None:
    """Remember which reading of a message a question's verdicts rest on; ``readings.keep`` comes before."""
    conn.execute(
        "update recall_eligible set reading_sha256 = ? where question_id = ? and message_id = ?",
        (reading.sha256, question_id, message_id),
    )


def text_changed(conn: sqlite3.Connection, message_ids: Iterable[int]) -> None:
    """These messages say something else now: their verdicts stay as history, and they wait to be judged again."""
    these = json.dumps(list(message_ids))
    touched = conn.execute(
        "select question_id, message_id from recall_eligible where message_id in (select value from json_each(?))",
        (these,),
    ).fetchall()
    conn.execute(
        "update recall_eligible set reading_sha256 = null where message_id in (select value from json_each(?))",
        (these,),
    )
    for question_id in sorted({row[0] for row in touched}):
        these_ids = [row[1] for row in touched if row[0] == question_id]
        settle(conn, question_id, these_ids)
        several = len(these_ids) != 1
        changed(
            conn,
            question_id,
            "text",
            f"{len(these_ids):,} {'messages say' if several else 'message says'} something else now.",
        )


def say(
    conn: sqlite3.Connection,
    question_id: int,
    message_id: int,
    yes: bool | None,
    *,
    note: str = "",
    reviewer: str | None = None,
    own_chars: int = readings.OWN_CHARS,
    context_chars: int = readings.CONTEXT_CHARS,
) -> dict[str, Any]:
    """A person's answer about a message, whether or not it was judged; None takes back what they said.

    Returns what the judge said: verdict_id, judged_status (None: not judged), quote, reasoning. Raises OakenError no_question,
    not_eligible.
    """
    row = conn.execute(
        "select verdict_id, status from recall_eligible where question_id = ? and message_id = ?",
        (question_id, message_id),
    ).fetchone()
    if row is None:
        raise OakenError(f"Question {question_id} is not asked of message {message_id}.", "not_eligible")
    verdict_id = row["verdict_id"]
    if yes is None:
        if verdict_id is not None:
            _take_back(conn, question_id, message_id)
    elif verdict_id is None:
        verdict_id = answer(
            conn,
            question_id,
            message_id,
            yes,
            note=note,
            reviewer=reviewer,
            own_chars=own_chars,
            context_chars=context_chars,
        )
    else:
        (said,) = conn.execute("select verdict from recall_verdicts where id = ?", (verdict_id,)).fetchone()
        review(
            conn, verdict_id, agrees=said is not None and bool(said) == yes, answer=yes, note=note, reviewer=reviewer
        )
    found = conn.execute(
        "select id as verdict_id, status as judged_status, quote, reasoning from recall_verdicts where id = ?",
        (verdict_id,),
    ).fetchone()
    told = dict(found) if found else {"verdict_id": None, "judged_status": None, "quote": None, "reasoning": None}
    return told | {"judged_status": row["status"]}


def _take_back(conn: sqlite3.Connection, question_id: int, message_id: int) -> None:
    """Everything that a person said of a message, on whichever judge's verdict they said it."""
    for row in conn.execute(
        "select v.id from recall_verdicts v where v.question_id = ? and v.message_id = ?"
        " and (v.judge = ? or exists (select 1 from recall_reviews r where r.verdict_id = v.id))",
        (question_id, message_id, HUMAN),
    ).fetchall():
        withdraw(conn, row[0])
