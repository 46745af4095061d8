"""Changing rows so that nothing is left behind: the one code that every door shares for chunks, messages and read state.

A chunk lives in five places (its row, two FTS tables, the vectors, the vec0 tables); these functions keep them together.
No trigger does it, since a trigger on vec0 would make the file unwritable without the extension. All expect to run inside
the caller's transaction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from datasette.utils.sqlite import sqlite3

from .db import has_vec
from .schema import FTS_COLUMNS
from .vector import generations, vec0_tables

_COLUMNS = ", ".join(FTS_COLUMNS)
_THESE = "in (select value from json_each(?))"
# Said once: what is deleted from a contentless FTS table must be, to the letter, what was inserted.
_PAIRS = (
    "select id, oaken_bigrams(text || ' ' || subject || ' ' || author || ' ' || attachments) as pairs"
    " from _recall_chunks_fts_content"
)


def now() -> str:
    """The time now, as the file writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def index_chunks(conn: sqlite3.Connection, after_id: int) -> None:
    """Make every chunk with an id above ``after_id`` findable by keyword, and queue it for each generation's vectors."""
    conn.execute(
        f"insert into recall_chunks_fts (rowid, {_COLUMNS})"
        f" select id, {_COLUMNS} from _recall_chunks_fts_content where id > ?",
        (after_id,),
    )
    conn.execute(
        f"insert into recall_chunks_fts_cjk (rowid, pairs) select id, pairs from ({_PAIRS} where id > ?) where pairs != ''",
        (after_id,),
    )
    conn.execute(
        "insert into embedding_queue (generation_id, chunk_id)"
        " select g.id, c.id from recall_generations g, recall_chunks c where c.id > ?",
        (after_id,),
    )


def delete_chunks(conn: sqlite3.Connection, message_ids: Sequence[int]) -> int:
    """Delete the chunks of these messages from every place they live in. Returns how many chunks went.

    Must be called before anything that the FTS view reads (recipients, attachments, subject) changes: FTS5 can only
    forget what it is shown again.
    """
    these = json.dumps(list(message_ids))
    found = conn.execute(f"select id from recall_chunks where message_id {_THESE}", (these,))
    return delete_chunks_by_id(conn, [row[0] for row in found])


def delete_chunks_by_id(conn: sqlite3.Connection, chunk_ids: Sequence[int]) -> int:
    """Delete these chunks, as ``delete_chunks`` does."""
    ids = json.dumps(list(chunk_ids))
    conn.execute(
        f"insert into recall_chunks_fts (recall_chunks_fts, rowid, {_COLUMNS})"
        f" select 'delete', id, {_COLUMNS} from _recall_chunks_fts_content where id {_THESE}",
        (ids,),
    )
    conn.execute(
        "insert into recall_chunks_fts_cjk (recall_chunks_fts_cjk, rowid, pairs)"
        f" select 'delete', id, pairs from ({_PAIRS} where id {_THESE}) where pairs != ''",
        (ids,),
    )
    present = vec0_tables(conn)
    for generation in generations(conn):
        if generation.vec0 not in present:
            continue
        if has_vec(conn):
            conn.execute(f"delete from [{generation.vec0}] where chunk_id {_THESE}", (ids,))
        else:
            conn.execute(
                "insert or ignore into vec0_purges_due (generation_id, chunk_id) select ?, value from json_each(?)",
                (generation.id, ids),
            )
    conn.execute(f"delete from recall_vectors where chunk_id {_THESE}", (ids,))
    conn.execute(f"delete from embedding_queue where chunk_id {_THESE}", (ids,))
    return conn.execute(f"delete from recall_chunks where id {_THESE}", (ids,)).rowcount


def purge_vec0(conn: sqlite3.Connection) -> int:
    """Delete the vec0 rows that a connection without the extension had to leave. Returns how many were due."""
    if not has_vec(conn):
        return 0
    due = conn.execute("select generation_id, chunk_id from vec0_purges_due").fetchall()
    present = vec0_tables(conn)
    for generation_id, chunk_id in due:
        if f"_recall_vec0_{generation_id}" in present:
            conn.execute(f"delete from [_recall_vec0_{generation_id}] where chunk_id = ?", (chunk_id,))
    conn.execute("delete from vec0_purges_due")
    return len(due)


def rebuild_fts(conn: sqlite3.Connection) -> None:
    """Make both FTS tables again from the chunks."""
    conn.execute("insert into recall_chunks_fts (recall_chunks_fts) values ('rebuild')")
    conn.execute("insert into recall_chunks_fts_cjk (recall_chunks_fts_cjk) values ('delete-all')")
    conn.execute(f"insert into recall_chunks_fts_cjk (rowid, pairs) select id, pairs from ({_PAIRS}) where pairs != ''")


def set_read(conn: sqlite3.Connection, message_id: int, is_read: bool, when: str) -> bool:
    """A person says that a message is read or not; from now on the source's flags no longer decide. False: no such message.

    ``when``: ISO 8601 UTC, kept as the time at which it was read.
    """
    changed = conn.execute(
        "update message_state set is_read = ?, read_at = ?, is_read_set = 1 where message_id = ?",
        (int(is_read), when if is_read else None, message_id),
    )
    return changed.rowcount == 1


def set_fact(conn: sqlite3.Connection, name: str, value: object) -> None:
    """Write down a small fact about the file (``oaken_facts``), as JSON."""
    conn.execute(
        "insert into oaken_facts (name, value) values (?, ?) on conflict (name) do update set value = excluded.value",
        (name, json.dumps(value, ensure_ascii=False)),
    )


def get_fact(conn: sqlite3.Connection, name: str) -> object:
    """A fact that ``set_fact`` wrote, or None."""
    row = conn.execute("select value from oaken_facts where name = ?", (name,)).fetchone()
    return json.loads(row[0]) if row else None
