"""What happened to a question that can change its count, so that a count that is another than before can say why."""

from __future__ import annotations

from typing import Any

from datasette.utils.sqlite import sqlite3

from .rows import now


def changed(conn: sqlite3.Connection, question_id: int, what: str, detail: str) -> None:
    """Note a change. ``what``: question, criterion, judge, mail, text or forgot; ``detail``: a sentence with figures.

    Inside the caller's transaction. The sentence must hold none of a message's words: it outlives the message.
    """
    conn.execute(
        "insert into recall_question_changes (question_id, changed_at, what, detail) values (?, ?, ?, ?)",
        (question_id, now(), what, detail),
    )


def changes(conn: sqlite3.Connection, question_id: int, limit: int = 10) -> list[dict[str, Any]]:
    """What happened to a question, the newest first: changed_at, what, detail."""
    found = conn.execute(
        "select changed_at, what, detail from recall_question_changes where question_id = ? order by id desc limit ?",
        (question_id, limit),
    )
    return [dict(row) for row in found]
