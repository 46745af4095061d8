"""``oaken repair``: make derived tables again from what they are derived from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import eligible, rows, schema
from datasette_oaken.db import OakenError, has_vec, statements, transaction
from datasette_oaken.vector import generations, rebuild_vec0

from . import locks, pipeline

_NAME = re.compile(r"create\s+(?:virtual\s+|unique\s+)?(?:table|index|view)\s+(\w+)", re.IGNORECASE)


def _make_again(conn: sqlite3.Connection) -> None:
    """Make the derived tables that someone dropped, and queue what has no vector (any more)."""
    there = {row[0] for row in conn.execute("select name from sqlite_master")}
    for statement in statements(schema.RECALL):
        name = _NAME.search(statement)
        if name and name[1] not in there:
            conn.execute(statement)
    pipeline.ensure_generation(conn)
    conn.execute(
        "insert or ignore into embedding_queue (generation_id, chunk_id) select g.id, c.id"
        " from recall_generations g, recall_chunks c where not exists"
        " (select 1 from recall_vectors v where v.generation_id = g.id and v.chunk_id = c.id)"
    )


def repair(
    conn: sqlite3.Connection, db_path: Path, *, fts: bool, semantic: bool, verdicts: bool = False
) -> dict[str, Any]:
    """Rebuild the keyword index (``fts``), the KNN tables (``semantic``), and what questions are asked of with the counts over
    it (``verdicts``). Each is one transaction. No verdict is changed by it.

    Raises OakenError: locked; no_extension when ``semantic`` is asked for where sqlite-vec cannot be loaded.
    """
    answer: dict[str, Any] = {"ok": True}
    with locks.writer(conn, db_path, "ingest"), locks.writer(conn, db_path, "embed"):
        with transaction(conn):
            _make_again(conn)
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
