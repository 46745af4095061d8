"""The main job of the write side: mail in, rows out. Streaming, a transaction a batch, and safe to stop at any moment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import eligible, embedders, questions, rows
from datasette_oaken.db import OakenError, transaction
from datasette_oaken.vector import ENCODING, generations

from . import absent, locks, places, store
from .one_source import Run
from .outcome import Report
from .progress import Progress
from .sources import Source
from .workers import Preparer


def ingest(
    conn: sqlite3.Connection,
    db_path: Path,
    sources: Sequence[Source],
    *,
    account: str = "default",
    model: str | None = None,
    processes: int | None = None,
    quiet: bool = False,
    progress: Progress | None = None,
    complete: absent.Snapshot | None = None,
) -> Report:
    """Bring every message of ``sources`` into the file, once; what is there already only has its places brought up to date.

    ``processes``: how many worker processes parse (default: one a core; none for little mail). What could not be read is
    listed in the report and in ``ingest_failures``, and the rest goes on. ``complete``: the sources hold all that there is,
    and what they no longer hold is deleted.

    Raises OakenError (locked, disk_full, database_locked …) when nothing more can be done, and as ``absent.delete``; what was
    committed stays.
    """
    report = Report()
    with locks.writer(conn, db_path, "ingest"):
        size = _total(source.size for source in sources)
        count = _total(source.count for source in sources)
        if processes is None:
            little = size is not None and size < 2_000_000
            processes = 0 if little else (os.cpu_count() or 1)
        with transaction(conn):
            store.account(conn, account)
            ensure_generation(conn, model)
        seen = places.Seen(conn) if complete or store.has_places(conn, account) else None
        bar = progress or Progress("Reading mail", unit="messages", total=count, size=size, quiet=quiet)
        with bar, Preparer(processes) as preparer:
            before = 0
            for source in sources:
                run = Run(conn, account, source, report, seen=seen, whole=complete is not None)
                for batch, answers in preparer.map(run.batches(), lambda batch: batch.jobs):
                    run.take(batch, answers)
                    bar.update(len(batch.items), before + batch.consumed)
                run.finish()
                before += source.size or 0
        with transaction(conn):
            questions.mail_moved(
                conn, [eligible.Moved(q, *counts) for q, counts in report.moved.items() if any(counts)]
            )
            rows.set_fact(
                conn,
                "last_ingest",
                {"at": rows.now(), "added": report.added, "updated": report.updated, "failures": len(report.failures)},
            )
        if complete is not None:
            absent.delete(conn, account, complete, report, quiet=quiet)
    report.embedding_backlog = backlog(conn)
    return report


def ensure_generation(conn: sqlite3.Connection, model: str | None = None) -> None:
    """Make the first generation, for the packaged model or ``model``, when the file has none; chunks queue for it."""
    if not generations(conn):
        make_generation(conn, model)


def make_generation(conn: sqlite3.Connection, model: str | None = None) -> None:
    """Start a generation for ``model``, with every chunk queued for it. Loads no weights."""
    identity = embedders.identify(model)
    generation_id = conn.execute(
        "insert into recall_generations (model, dimension, fingerprint, encoding, state, created_at)"
        " values (?, ?, ?, ?, 'building', ?)",
        (identity.name, identity.dimension, identity.fingerprint, ENCODING, rows.now()),
    ).lastrowid
    conn.execute(
        "insert into embedding_queue (generation_id, chunk_id) select ?, id from recall_chunks", (generation_id,)
    )


def backlog(conn: sqlite3.Connection) -> int:
    """Chunks that still wait to be embedded."""
    return int(conn.execute("select count(*) from embedding_queue").fetchone()[0])


def _total(values: Any) -> int | None:
    """The sum, or None when any part is not known."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


__all__ = ["OakenError", "Report", "backlog", "ensure_generation", "ingest", "make_generation"]
