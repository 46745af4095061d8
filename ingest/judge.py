"""``oaken judge``: a question found or asked, its judge found, and every message judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import counts, eligible, questions, settings, verdicts
from datasette_oaken.db import OakenError, transaction

from .judging.registry import get_judge
from .judging.run import ORDERS, judge_all


def judge(
    conn: sqlite3.Connection,
    db_path: Path,
    which: str,
    *,
    judge_name: str | None = None,
    scope: str | None = None,
    criterion: str | None = None,
    order: str = "newest",
    limit: int | None = None,
    workers: int | None = None,
    retry_errors: bool = False,
    activate: bool | None = None,
    allow_remote: str | None = None,
    config: Path | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Ask ``which`` (words, or the number of a question), or go on with it. Returns the count, with ``this_run``.

    The judge is found before anything is written, so that asking for one that is not here leaves no question behind. For a
    person as the judge nothing is judged here: ``advice`` says where.

    Raises OakenError.
    """
    if order not in ORDERS:
        raise OakenError(f"There is no order {order!r}; there are {', '.join(ORDERS)}.", "bad_order")
    chosen = settings.load(config, db_path)
    question_id = _known(conn, which, scope)
    before = questions.get(conn, question_id) if question_id is not None else None
    name = judge_name or (before["judge"] if before else None)
    if name is None:
        raise OakenError(
            "Say who judges, with --judge: llm:MODEL (a model of the llm package), rule:PATTERN, or human.", "no_judge"
        )
    person = name == verdicts.HUMAN
    # A host must be allowed each time: that it was allowed once, for the mail there was then, is no choice about today's.
    judge = None if person else get_judge(name, allow_remote=allow_remote, settings=chosen.judge)
    with transaction(conn):
        if question_id is None:
            question_id = questions.ask(
                conn, which, criterion=criterion or "", scope=scope or "", categories=chosen.search.categories
            )
        else:
            if criterion is not None:
                questions.edit(conn, question_id, criterion=criterion)
            eligible.refresh(conn, question_id)
        if person and (activate or before is None or before["judge"] is None):
            questions.activate(
                conn,
                question_id,
                judge=verdicts.HUMAN,
                model=verdicts.HUMAN,
                prompt_version=verdicts.NO_PROMPT,
            )
    if judge is None:
        return counts.count(conn, question_id) | {
            "advice": f"Judge it yourself, a key a message: oaken serve, then /-/oaken/questions/{question_id}/review"
        }
    report = judge_all(
        conn,
        db_path,
        question_id,
        judge,
        settings=chosen.judge,
        order=order,
        limit=limit,
        workers=workers,
        retry_errors=retry_errors,
        activate=activate,
        quiet=quiet,
    )
    return report.as_dict()


def _known(conn: sqlite3.Connection, which: str, scope: str | None) -> int | None:
    """The question that is meant, or None when it has not been asked. A number must be one that is there."""
    try:
        return questions.find(conn, which, scope if scope is None else scope.strip())
    except OakenError as error:
        if error.code == "no_question" and not which.strip().isdigit():
            return None
        raise
