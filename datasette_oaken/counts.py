"""The count: one sentence and its figures, the same wherever it is shown.

``eligible = yes + no + unclear + errors + remaining``; ``judged = yes + no + unclear``; ``coverage = judged / eligible``. What a
person answered counts as they said. ``stale`` is the part of what remains that was judged once, by what no longer holds.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from datasette.utils.sqlite import sqlite3

from . import questions
from .changes import changes
from .db import OakenError
from .estimate import estimate
from .sampling import strata
from .verdicts import HUMAN


def count(conn: sqlite3.Connection, question_id: int) -> dict[str, Any]:
    """The figures of one question and the sentence that states them. Reads only. Raises OakenError no_question.

    ``estimate`` is null until a person has reviewed some of the random sample; it is the estimate of the true number.
    """
    question = questions.get(conn, question_id)
    if question is None:
        raise OakenError(f"There is no question {question_id}.", "no_question")
    said = dict.fromkeys(("yes", "no", "unclear", "error", ""), 0)
    person = {"yes": 0, "no": 0}
    eligible = stale = copies = 0
    for status, answer, number, n_stale, n_copies in conn.execute(
        "select status, answer, messages, stale, copies from recall_tallies where question_id = ?", (question_id,)
    ):
        if answer != -1:
            status = "yes" if answer else "no"
            person[status] += number
        said[status] += number
        eligible += number
        stale += n_stale
        copies += n_copies
    judged = said["yes"] + said["no"] + said["unclear"]
    (unreadable,) = conn.execute("select count(*) from ingest_failures").fetchone()
    # Two queries: min and max are one step each in the index, but not together.
    first, last = (
        conn.execute(
            f"select {end}(judged_at) from recall_verdicts where question_id = ? and judge = ?",
            (question_id, question["judge"]),
        ).fetchone()[0]
        for end in ("min", "max")
    )
    answer_: dict[str, Any] = {
        "ok": True,
        "question_id": question_id,
        "question": question["question"],
        "criterion": question["criterion"],
        "scope": question["scope_resolved"],
        "eligible": eligible,
        "judged": judged,
        "yes": said["yes"],
        "no": said["no"],
        "unclear": said["unclear"],
        "errors": said["error"],
        "remaining": said[""],
        "coverage": round(judged / eligible, 6) if eligible else 0.0,
        "at_least": judged < eligible,
        "stale": stale,
        "copies": copies,
        "unreadable": unreadable,
        "judge": question["judge"],
        "model": question["model"],
        "prompt_version": question["prompt_version"],
        "remote_host": question["remote_host"],
        "first_judged_at": first,
        "last_judged_at": last,
        "reviewed": person,
        "estimate": _estimate(conn, question),
        "changes": changes(conn, question_id),
    }
    if judged < eligible and answer_["coverage"] == 1.0:
        answer_["coverage"] = 0.999999  # rounding must not make it whole
    return answer_ | {"sentence": sentence(answer_)}


def _estimate(conn: sqlite3.Connection, question: dict[str, Any]) -> dict[str, Any] | None:
    """The estimate of the true number by the reviewed sample; null where there is none, or where a person judged it all.

    ``precision`` and ``recall`` of the judge, by the same sample: null where it does not tell.
    """
    if question["judge"] in (None, HUMAN):
        return None
    found = strata(conn, question["id"])
    estimated = estimate(found)
    if estimated is None:
        return None
    by_name = {stratum.name: stratum for stratum in found}
    said_yes = by_name["yes"]
    precision = said_yes.yes / said_yes.sampled if said_yes.sampled else None
    recall = None
    if precision is not None and estimated.point:
        recall = precision * said_yes.size / estimated.point
    return asdict(estimated) | {
        "precision": None if precision is None else round(precision, 4),
        "recall": None if recall is None else round(recall, 4),
        "strata": [asdict(stratum) for stratum in found],
    }


def sentence(answer: dict[str, Any]) -> str:
    """The count in one sentence, with everything that is needed to disbelieve it."""
    eligible, judged = answer["eligible"], answer["judged"]
    if not eligible:
        return "No message is in this question's scope, so nothing was counted."
    yes = f"{answer['yes']:,} {'message says' if answer['yes'] == 1 else 'messages say'} yes"
    if judged == eligible:
        head = f"{yes}, of {_messages(eligible)}, every one judged"
    else:
        head = f"At least {yes}: {judged:,} of {_messages(eligible)} judged so far ({_percent(answer['coverage'])})"
    parts = [head, f"{answer['no']:,} no", f"{answer['unclear']:,} unclear"]
    parts.append(_counted(answer["errors"], "error", "errors"))
    if answer["remaining"]:
        stale = f" ({answer['stale']:,} of them stale)" if answer["stale"] else ""
        parts.append(f"{answer['remaining']:,} still to judge{stale}")
    if answer["copies"]:
        parts.append(f"{_counted(answer['copies'], 'second delivery', 'second deliveries')} counted with the first")
    if answer["unreadable"]:
        parts.append(f"{_messages(answer['unreadable'])} could not be read")
    if n := answer["reviewed"]["yes"] + answer["reviewed"]["no"]:
        parts.append(f"{n:,} answered by a person")
    text = "; ".join([", ".join(parts[:4]), *parts[4:]])
    if answer["model"]:
        text += f"; judged by {answer['model']}"
        if answer["remote_host"]:
            text += f" at {answer['remote_host']}"
        if answer["last_judged_at"]:
            first, last = answer["first_judged_at"][:10], answer["last_judged_at"][:10]
            text += f" on {last}" if first == last else f" from {first} to {last}"
    text += "."
    if found := answer["estimate"]:
        text += (
            f" By the reviewed sample the true number is between {found['low']:,} and {found['high']:,}"
            f" ({found['confidence']:.0%} confidence)."
        )
    return text


def _messages(number: int) -> str:
    return _counted(number, "message", "messages")


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _percent(share: float) -> str:
    """Rounded down, so that what is not whole never says 100 %."""
    return f"{int(share * 1000) / 10:.1f} %"
