"""Conversations, by References and In-Reply-To: a message joins the thread of any id it names or is named by.

Ids of messages that have not (yet) come are remembered too, so parents may be missing and children may come first. A
message that ties two threads together joins them: the smaller id stays, so that a thread's id is stable.
"""

from __future__ import annotations

import json

from datasette.utils.sqlite import sqlite3


def thread_for(conn: sqlite3.Connection, account: str, internet_message_id: str | None, references: list[str]) -> int:
    """The thread (``threads.id``) of a message that has this Message-ID and names these; made where there is none.

    Inside the caller's transaction; ``refresh`` brings counts and dates up to date afterwards.
    """
    ids = list(dict.fromkeys([*references, *([internet_message_id] if internet_message_id else [])]))
    found = [
        row[0]
        for row in conn.execute(
            "select distinct thread_id from thread_references"
            " where account = ? and internet_message_id in (select value from json_each(?)) order by thread_id",
            (account, json.dumps(ids)),
        )
    ]
    if found:
        thread, *others = found
        for other in others:
            _join(conn, thread, other)
    else:
        thread = conn.execute("insert into threads (account) values (?)", (account,)).lastrowid or 0
    conn.executemany(
        "insert or ignore into thread_references (account, internet_message_id, thread_id) values (?, ?, ?)",
        [(account, i, thread) for i in ids],
    )
    return thread


def _join(conn: sqlite3.Connection, into: int, other: int) -> None:
    conn.execute("update thread_references set thread_id = ? where thread_id = ?", (into, other))
    conn.execute("update messages set thread_id = ? where thread_id = ?", (into, other))
    conn.execute("update recall_chunks set thread_id = ? where thread_id = ?", (into, other))
    conn.execute("delete from threads where id = ?", (other,))


def refresh(conn: sqlite3.Connection, thread_ids: set[int]) -> None:
    """Bring subject, first and last date and count of these threads up to date; those left with no message are removed."""
    these = json.dumps(sorted(thread_ids))
    conn.execute(
        """
        update threads set (message_count, first_at, last_at) = (
          select count(*), min(sent_at), max(sent_at) from messages m where m.thread_id = threads.id
        ), subject = (
          select subject from messages m where m.thread_id = threads.id order by sent_at is null, sent_at, id limit 1
        ) where id in (select value from json_each(?))
        """,
        (these,),
    )
    empty = "select id from threads where message_count = 0 and id in (select value from json_each(?))"
    conn.execute(f"delete from thread_references where thread_id in ({empty})", (these,))
    conn.execute(f"delete from threads where id in ({empty})", (these,))
