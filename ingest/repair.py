"""``oaken repair``: make derived tables again from what they are derived from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import rows
from datasette_oaken.db import OakenError, has_vec, transaction
from datasette_oaken.vector import generations, rebuild_vec0

from . import locks


def repair(conn: sqlite3.Connection, db_path: Path, *, fts: bool, semantic: bool) -> dict[str, Any]:
    """Rebuild the keyword index (``fts``) and the KNN tables (``semantic``). Each is one transaction.

    Raises OakenError: locked; no_extension when ``semantic`` is asked for where sqlite-vec cannot be loaded.
    """
    answer: dict[str, Any] = {"ok": True}
    with locks.writer(conn, db_path, "ingest"), locks.writer(conn, db_path, "embed"):
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
    return answer
