"""Sets of chunks and of messages: what FTS5 finds for a term, what is left when that is verified against the text, and
what filters leave.

Sets of chunks are NumPy arrays of ids, ascending; sets of messages are arrays of truths, indexed by id.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from datasette.utils.sqlite import sqlite3

from .filters import Condition
from .folding import fold
from .terms import Term, quoted

FTS = "recall_chunks_fts"
CJK = "recall_chunks_fts_cjk"
THESE = "in (select value from json_each(?))"

MOST_CUTS = 16
"""Words of the longest phrase that is also looked for where a text was cut into chunks."""
MOST_AT_CUT = 500
"""Chunks beginning with a phrase's last words that are looked at."""

_NONE = np.zeros(1, np.int64)
_maps: dict[tuple[str, int], np.ndarray] = {}
_mapping = threading.Lock()


def messages_of_chunks(conn: sqlite3.Connection) -> np.ndarray:
    """The message of each chunk, indexed by chunk id; 0 where there is no such chunk, or it is of no message.

    Kept for each file, since a chunk never changes its message and its id never comes again: only what was added is read,
    and deleted chunks may stay in it. That another file has been put in the place of this one shows in its counter.
    """
    key = _file(conn)
    with _mapping:
        known = _maps.get(key, _NONE) if key else _NONE
    last = len(known) - 1
    counter, message = conn.execute(
        "select (select seq from sqlite_sequence where name = 'recall_chunks'),"
        " (select message_id from recall_chunks where id = ?)",
        (last,),
    ).fetchone()
    if (counter or 0) < last or (message is not None and message != known[last]):
        known, last = _NONE, 0
    if (counter or 0) == last:
        return known
    # The index has all that is asked for, and none of the text; but only the table is in the order of ids.
    table = "recall_chunks" if last else "recall_chunks indexed by recall_chunks_message"
    chunks, messages = conn.execute(
        f"select group_concat(id), group_concat(message_id) from {table} where message_id is not null and id > ?",
        (last,),
    ).fetchone()
    grown = np.zeros(counter + 1, np.int64)
    grown[: len(known)] = known
    if chunks:
        grown[np.fromstring(chunks, np.int64, sep=",")] = np.fromstring(messages, np.int64, sep=",")
    if key:
        with _mapping:
            _maps[key] = grown
    return grown


def _file(conn: sqlite3.Connection) -> tuple[str, int] | None:
    """Which file ``conn`` has open; None for one in memory."""
    path = conn.execute("select file from pragma_database_list where name = 'main'").fetchone()[0]
    try:
        return (path, Path(path).stat().st_ino) if path else None
    except OSError:
        return None


class Scope:
    """The messages that may answer: those that a condition over ``messages m`` leaves, less those left out by hand."""

    def __init__(self, conn: sqlite3.Connection, condition: Condition | None, without: Sequence[int] = ()) -> None:
        self.conn = conn
        self.condition = condition
        if without:
            sql, values = condition or ("1", [])
            self.condition = f"({sql}) and m.id not {THESE}", [*values, json.dumps(list(without))]

    @cached_property
    def messages(self) -> np.ndarray | None:
        """Which messages may answer; None when every one may."""
        if self.condition is None:
            return None
        sql, values = self.condition
        allowed = ids(self.conn, f"select group_concat(m.id) from messages m where {sql}", values)
        return truths(allowed, int(self.of.max(initial=0)))

    @cached_property
    def of(self) -> np.ndarray:
        """The message of each chunk, indexed by chunk id."""
        return messages_of_chunks(self.conn)

    @cached_property
    def chunks(self) -> np.ndarray | None:
        """The chunks of the messages that may answer; None when every one may."""
        if self.messages is None:
            return None
        return np.flatnonzero(self.messages[self.of] & (self.of > 0))

    def within(self, chunks: np.ndarray) -> np.ndarray:
        """Those of the chunks whose message may answer."""
        chunks = chunks[: np.searchsorted(chunks, len(self.of))]  # all but what has been added this moment
        of = self.of[chunks]
        allowed = of > 0
        return chunks[allowed if self.messages is None else allowed & self.messages[of]]

    def messages_with(self, wanted: Term) -> np.ndarray:
        """The ids of the messages in scope that hold a term, verified where it is exact."""
        chunks = self.within(postings(self.conn, wanted))
        if wanted.exact:
            sure = np.union1d(verified(self.conn, wanted, chunks, self.of), crossing(self.conn, wanted))
            chunks = self.within(sure)
        return np.unique(self.of[chunks])


def truths(ids: np.ndarray, last: int) -> np.ndarray:
    """An array that is true at ``ids`` and reaches to ``last``."""
    result = np.zeros(last + 1, bool)
    result[ids[ids <= last]] = True
    return result


def ids(conn: sqlite3.Connection, sql: str, values: Sequence[object]) -> np.ndarray:
    """The integers that ``sql`` gives as one comma-separated string, ascending: far cheaper than a row each."""
    (joined,) = conn.execute(sql, values).fetchone()
    return np.sort(np.fromstring(joined, np.int64, sep=",")) if joined else np.empty(0, np.int64)


def joined(ids: np.ndarray, more: np.ndarray) -> np.ndarray:
    """The chunks of both."""
    return np.union1d(ids, more) if len(more) else ids


def rows(conn: sqlite3.Connection, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
    """The rows as plain tuples: where there are hundreds, sqlite3.Row costs more than the query."""
    cursor = conn.cursor()
    cursor.row_factory = None
    found: list[tuple[Any, ...]] = cursor.execute(sql, values).fetchall()
    return found


def among(ids: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """For each of ``ids``, whether it is one of ``ascending``."""
    if not len(ascending):
        return np.zeros(len(ids), bool)
    at = np.searchsorted(ascending, ids)
    return np.asarray(ascending[np.minimum(at, len(ascending) - 1)] == ids)


def postings(conn: sqlite3.Connection, wanted: Term, column: str = "") -> np.ndarray:
    """The chunks in which FTS5 finds a term (in ``column`` if one is given)."""
    if wanted.cjk:
        return ids(conn, f"select group_concat(rowid) from {CJK} where {CJK} match ?", (wanted.cjk,))
    match = f"{column} : {wanted.match}" if column else wanted.match
    found = ids(conn, f"select group_concat(rowid) from {FTS} where {FTS} match ?", (match,))
    if len(wanted.tokens) > 1:
        return found
    # A word that Chinese, Japanese or Korean characters touch is no token of its own in the other table.
    return joined(found, ids(conn, f"select group_concat(rowid) from {CJK} where {CJK} match ?", (wanted.match,)))


def verified(
    conn: sqlite3.Connection, wanted: Term, chunks: np.ndarray, of: np.ndarray, known: Mapping[int, str] | None = None
) -> np.ndarray:
    """Those of the chunks that hold an exact term as it is written.

    ``of``: the message of each chunk. ``known``: what has been read already, chunk with subject and author, folded. A
    message's subject, people and attachments are the same for all its chunks: they are looked at once.
    """
    known = known or {}
    sure = {chunk for chunk in chunks.tolist() if chunk in known and wanted.stands_in(known[chunk])}
    unread = json.dumps([chunk for chunk in chunks.tolist() if chunk not in known])
    rows = conn.execute(f"select id, text from recall_chunks where id {THESE}", (unread,))
    sure.update(chunk for chunk, text in rows if wanted.stands_in(fold(text)))
    rest: dict[int, list[int]] = {}
    for chunk in chunks.tolist():
        if chunk not in sure:
            rest.setdefault(int(of[chunk]), []).append(chunk)
    headers = conn.execute(
        f"select id, subject, author, recipients, attachments from _recall_chunks_fts_content where id {THESE}",
        (json.dumps([siblings[0] for siblings in rest.values()]),),
    )
    named = {row[0] for row in headers if any(wanted.stands_in(fold(text)) for text in tuple(row)[1:])}
    sure.update(chunk for siblings in rest.values() if siblings[0] in named for chunk in siblings)
    return np.array(sorted(sure), np.int64)


def crossing(conn: sqlite3.Connection, wanted: Term) -> np.ndarray:
    """The chunks with which a phrase ends that began in the chunk before: it may stand where a long text was cut."""
    if not wanted.exact or wanted.cjk or not 1 < len(wanted.tokens) <= MOST_CUTS:
        return np.empty(0, np.int64)
    found: set[int] = set()
    for cut in range(1, len(wanted.tokens)):
        rest = quoted(" ".join(wanted.tokens[cut:]))
        rows = conn.execute(
            f"select c.id, p.text, c.text from {FTS} f join recall_chunks c on c.id = f.rowid"
            " join recall_chunks p on p.account = c.account and p.source = c.source and p.source_id = c.source_id"
            " and p.section = c.section and p.position = c.position - 1"
            f" where {FTS} match ? limit {MOST_AT_CUT}",
            (f"text : ^ {rest}",),
        )
        found.update(chunk for chunk, before, text in rows if wanted.stands_in(f"{fold(before)}\n{fold(text)}"))
    return np.array(sorted(found), np.int64)
