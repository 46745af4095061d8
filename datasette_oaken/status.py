"""What is in the file and how far along it is: the same answer for ``oaken status``, the status page and the pages' notices."""

from __future__ import annotations

from typing import Any

from datasette.utils.sqlite import sqlite3

from . import rows, schema
from .db import has_vec
from .embedders import PACKAGED
from .vector import answering, coverage, generations, vec0_tables, vector_count

OTHER_LANGUAGE_NOTICE = 0.2
"""From this share of other languages on, people are told that the packaged model reads English only."""


def status(conn: sqlite3.Connection) -> dict[str, Any]:
    """Counts, embedding coverage and failures, as ``oaken status --json`` prints them. Reads only."""
    answer: dict[str, Any] = {"ok": True, "schema": schema.VERSION}
    for table in ("messages", "threads", "mailboxes", "accounts", "attachments"):
        answer[table] = conn.execute(f"select count(*) from {table}").fetchone()[0]
    answer["chunks"] = conn.execute("select count(*) from recall_chunks").fetchone()[0]
    answer["first_at"], answer["last_at"] = conn.execute("select min(sent_at), max(sent_at) from messages").fetchone()
    answer["unread"] = conn.execute("select count(*) from message_state where not is_read").fetchone()[0]
    answer["embedding"] = embedding(conn)
    answer["languages"] = languages(conn)
    answer["questions"] = [
        dict(row)
        for row in conn.execute(
            "select question_id, question, eligible, judged, coverage from questions_progress order by 1"
        )
    ]
    failures = conn.execute("select source, mailbox, key, error, attempts, last_at from ingest_failures order by id")
    answer["failures"] = [
        dict(zip(("source", "mailbox", "key", "error", "attempts", "last_at"), tuple(r), strict=True)) for r in failures
    ]
    answer["last_ingest"] = rows.get_fact(conn, "last_ingest")
    return answer


def embedding(conn: sqlite3.Connection) -> dict[str, Any]:
    """How far the vectors are: ``coverage`` 0 to 1, backlog, failed, the generations, and whether they can answer."""
    (backlog,) = conn.execute("select count(*) from embedding_queue where error is null").fetchone()
    (failed,) = conn.execute("select count(*) from embedding_queue where error is not null").fetchone()
    present = vec0_tables(conn)
    current = answering(conn)
    (chunks,) = conn.execute("select count(*) from recall_chunks").fetchone()
    return {
        "coverage": coverage(conn),
        "chunks": chunks,
        "backlog": backlog,
        "failed": failed,
        "model": current.model if current else None,
        "extension": has_vec(conn),
        "generations": [
            {
                "id": g.id,
                "model": g.model,
                "dimension": g.dimension,
                "state": g.state,
                "vectors": vector_count(conn, g),
                "knn": g.vec0 in present,
            }
            for g in generations(conn)
        ],
    }


def languages(conn: sqlite3.Connection) -> dict[str, Any]:
    """How many messages are English, another language, or too short to tell; ``notice`` when much is not English."""
    counts = {row[0]: row[1] for row in conn.execute("select language, count(*) from message_texts group by language")}
    current = answering(conn)
    english, other = counts.get("en", 0), counts.get("other", 0)
    share = other / sum(counts.values()) if counts else 0.0  # what is too short to tell counts as readable
    notice = None
    if share >= OTHER_LANGUAGE_NOTICE and (current is None or current.model == PACKAGED):
        notice = (
            f"{share:.0%} of this mail is not in English. The embedding model that comes with Oaken reads English only: "
            "search by meaning will miss such mail, search by its words will not."
        )
    return {"english": english, "other": other, "unknown": counts.get(None, 0), "other_share": share, "notice": notice}
