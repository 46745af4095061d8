"""Conversations, by References and In-Reply-To: a message joins the thread of any id it names or is named by.

Ids of messages that have not (yet) come are remembered too, so parents may be missing and children may come first. A
message that ties two threads together joins them: the smaller id stays, so that a thread's id is stable.
"""

from __future__ import annotations

import json

from datasette.utils.sqlite import sqlite3

from datasette_oaken import conversations

refresh = conversations.refresh


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


def tie(
    conn: sqlite3.Connection, account: str, thread: int | None, internet_message_id: str | None, references: list[str]
) -> int:
    """The thread of a message that is in ``thread`` already: that one, joined with any other that its ids are known in.

    A message without one, or in one that is not there, gets what ``thread_for`` gives. Inside the caller's transaction.
    """
    if thread is None or not conn.execute("select 1 from threads where id = ?", (thread,)).fetchone():
        return thread_for(conn, account, internet_message_id, references)
    ids = list(dict.fromkeys([*references, *([internet_message_id] if internet_message_id else [])]))
    conn.executemany(
        "insert or ignore into thread_references (account, internet_message_id, thread_id) values (?, ?, ?)",
        [(account, i, thread) for i in ids],
    )
    found = {
        row[0]
        for row in conn.execute(
            "select distinct thread_id from thread_references"
            " where account = ? and internet_message_id in (select value from json_each(?))",
            (account, json.dumps(ids)),
        )
    } | {thread}
    into = min(found)
    for other in found - {into}:
        _join(conn, into, other)
    return into


def _join(conn: sqlite3.Connection, into: int, other: int) -> None:
    conn.execute("update thread_references set thread_id = ? where thread_id = ?", (into, other))
    conn.execute("update messages set thread_id = ? where thread_id = ?", (into, other))
    conn.execute("update recall_chunks set thread_id = ? where thread_id = ?", (into, other))
    conn.execute("delete from threads where id = ?", (other,))
