"""What FTS5 finds for a term, as sets of chunks, and what is left of it when it is verified against the text.

Sets are NumPy arrays of chunk ids, ascending.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

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


class Scope:
    """The messages that may answer: those that a condition over ``messages m`` leaves, less those left out by hand."""

    def __init__(self, conn: sqlite3.Connection, condition: Condition | None, without: Iterable[int] = ()) -> None:
        self.conn = conn
        self.condition = condition
        if left_out := sorted(set(without)):
            sql, values = condition or ("1", [])
            self.condition = f"({sql}) and m.id not {THESE}", [*values, json.dumps(left_out)]

    @cached_property
    def chunks(self) -> np.ndarray | None:
        """The ids of their chunks, ascending; None when every chunk may answer."""
        if self.condition is None:
            return None
        sql, values = self.condition
        return ids(
            self.conn,
            f"select group_concat(c.id) from messages m cross join recall_chunks c on c.message_id = m.id where {sql}",
            values,
        )


def messages_with(conn: sqlite3.Connection, wanted: Term, within: np.ndarray | None = None) -> set[int]:
    """The messages that hold a term (verified where it is exact) in some chunk of those given (None: in any)."""
    ids = postings(conn, wanted)
    if within is not None:
        ids = ids[among(ids, within)]
    if wanted.exact:
        ids = np.union1d(verified(conn, wanted, ids), crossing(conn, wanted))
        ids = ids if within is None else ids[among(ids, within)]
    rows = conn.execute(
        f"select distinct message_id from recall_chunks where message_id is not null and id {THESE}", (as_json(ids),)
    )
    return {row[0] for row in rows}


def ids(conn: sqlite3.Connection, sql: str, values: Sequence[object]) -> np.ndarray:
    """The integers that ``sql`` gives as one comma-separated string, ascending: far cheaper than a row each."""
    (joined,) = conn.execute(sql, values).fetchone()
    return np.sort(np.fromstring(joined, np.int64, sep=",")) if joined else np.empty(0, np.int64)


def as_json(ids: np.ndarray) -> str:
    return json.dumps(ids.tolist())


def among(ids: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """For each of ``ids``, whether it is one of ``ascending``."""
    if not len(ascending):
        return np.zeros(len(ids), bool)
    at = np.searchsorted(ascending, ids)
    return np.asarray(ascending[np.minimum(at, len(ascending) - 1)] == ids)


def postings(conn: sqlite3.Connection, wanted: Term, column: str = "") -> np.ndarray:
    """The chunks in which FTS5 finds a term (in ``column`` if one is given), ascending."""
    if wanted.cjk:
        return ids(conn, f"select group_concat(rowid) from {CJK} where {CJK} match ?", (wanted.cjk,))
    match = f"{column} : {wanted.match}" if column else wanted.match
    return ids(conn, f"select group_concat(rowid) from {FTS} where {FTS} match ?", (match,))


def verified(
    conn: sqlite3.Connection, wanted: Term, ids: np.ndarray, known: Mapping[int, str] | None = None
) -> np.ndarray:
    """Those of the chunks that hold an exact term as it is written, ascending.

    ``known``: chunks with subject and author that have been read already, folded. A message's subject, people and
    attachments are the same for all its chunks: they are looked at once.
    """
    known = known or {}
    sure = {chunk for chunk in ids.tolist() if chunk in known and wanted.stands_in(known[chunk])}
    unread = [chunk for chunk in ids.tolist() if chunk not in known]
    rows = conn.execute(f"select id, text from recall_chunks where id {THESE}", (json.dumps(unread),))
    sure.update(chunk for chunk, text in rows if wanted.stands_in(fold(text)))
    rest = json.dumps([chunk for chunk in ids.tolist() if chunk not in sure])
    of: dict[int, list[int]] = {}
    for message, chunk in conn.execute(f"select message_id, id from recall_chunks where id {THESE}", (rest,)):
        of.setdefault(message, []).append(chunk)
    headers = conn.execute(
        f"select id, subject, author, recipients, attachments from _recall_chunks_fts_content where id {THESE}",
        (json.dumps([chunks[0] for chunks in of.values()]),),
    )
    named = {row[0] for row in headers if any(wanted.stands_in(fold(text)) for text in tuple(row)[1:])}
    sure.update(chunk for chunks in of.values() if chunks[0] in named for chunk in chunks)
    return np.array(sorted(sure), np.int64)


def crossing(conn: sqlite3.Connection, wanted: Term) -> np.ndarray:
    """The chunks with which a phrase ends that began in the chunk before, ascending: a phrase may stand where a long
    text was cut."""
    if not wanted.exact or wanted.cjk or not 1 < len(wanted.tokens) <= MOST_CUTS:
        return np.empty(0, np.int64)
    found = []
    for cut in range(1, len(wanted.tokens)):
        rest = quoted(" ".join(wanted.tokens[cut:]))
        rows = conn.execute(
            f"select c.id, p.text, c.text from {FTS} f join recall_chunks c on c.id = f.rowid"
            " join recall_chunks p on p.account = c.account and p.source = c.source and p.source_id = c.source_id"
            " and p.section = c.section and p.position = c.position - 1"
            f" where {FTS} match ? limit {MOST_AT_CUT}",
            (f"text : ^ {rest}",),
        )
        found += [chunk for chunk, before, text in rows if wanted.stands_in(f"{fold(before)}\n{fold(text)}")]
    return np.array(sorted(set(found)), np.int64)
