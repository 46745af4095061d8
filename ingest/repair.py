"""``oaken repair``: make derived tables again from what they are derived from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import eligible, rows, schema
from datasette_oaken.db import OakenError, has_vec, statements, transaction
from datasette_oaken.vector import generations, rebuild_vec0

from . import locks, pipeline, remake

_NAME = re.compile(r"create\s+(?:virtual\s+|unique\s+)?(?:table|index|view)\s+(\w+)", re.IGNORECASE)


def _make_again(conn: sqlite3.Connection) -> None:
    """Make the derived tables that someone dropped, queue what has no vector (any more), and drop what belongs to no passage."""
    there = {row[0] for row in conn.execute("select name from sqlite_master")}
    for statement in statements(schema.RECALL):
        name = _NAME.search(statement)
        if name and name[1] not in there:
            conn.execute(statement)
    for table in ("embedding_queue", "recall_vectors"):
        conn.execute(f"delete from {table} where chunk_id not in (select id from recall_chunks)")
    pipeline.ensure_generation(conn)
    conn.execute(
        "insert or ignore into embedding_queue (generation_id, chunk_id) select g.id, c.id"
        " from recall_generations g, recall_chunks c where not exists"
        " (select 1 from recall_vectors v where v.generation_id = g.id and v.chunk_id = c.id)"
    )


def repair(
    conn: sqlite3.Connection,
    db_path: Path,
    *,
    fts: bool = False,
    semantic: bool = False,
    verdicts: bool = False,
    sections: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Make again what the raw messages say (``sections``: headers, texts, sections, passages, conversations), the keyword index
    (``fts``), the KNN tables (``semantic``), and what questions are asked of with the counts over it (``verdicts``). No verdict is
    changed by it, though one on a message that reads otherwise now is stale.

    Raises OakenError: locked; no_extension when ``semantic`` is asked for where sqlite-vec cannot be loaded.
    """
    answer: dict[str, Any] = {"ok": True}
    with locks.writer(conn, db_path, "ingest"), locks.writer(conn, db_path, "embed"):
        with transaction(conn):
            _make_again(conn)
        if sections:
            done = remake.remake(conn, quiet=quiet)
            answer |= {"sections": done.changed, "failures": done.failures}
        if fts:
            with transaction(conn):
                rows.rebuild_fts(conn)
            (answer["fts"],) = conn.execute("select count(*) from recall_chunks").fetchone()
        if semantic:
            if not has_vec(conn):
                raise OakenError("sqlite-vec cannot be loaded here: see oaken doctor.", "no_extension")
            with transaction(conn):
                rows.purge_vec0(conn)
                answer["semantic"] = sum(rebuild_vec0(conn, generation) for generation in generations(conn))
        if verdicts:
            with transaction(conn):
                eligible.remake(conn)
            (answer["verdicts"],) = conn.execute("select count(*) from recall_eligible").fetchone()
    return answer
