"""One writer of a kind at a time. The lock is the operating system's, so a killed process leaves none behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from datasette.utils.sqlite import sqlite3
from filelock import FileLock, Timeout

from datasette_oaken import rows
from datasette_oaken.db import OakenError, transaction


@contextmanager
def writer(conn: sqlite3.Connection, db_path: Path, verb: str, *, doing: str | None = None) -> Iterator[None]:
    """Hold the lock for ``verb`` (``ingest`` or ``embed``: the two may go on side by side) while the block runs.

    ``doing``: what is done under it, where that is another verb (``forget`` keeps ingests out).

    Raises OakenError (locked) that says who holds it.
    """
    lock = FileLock(f"{db_path.resolve()}.{verb}.lock", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        held = rows.get_fact(conn, f"writer_{verb}")
        who = f" (process {held['pid']}, since {held['since']})" if isinstance(held, dict) else ""
        busy = held.get("doing", verb) if isinstance(held, dict) else verb
        raise OakenError(
            f"Another oaken {busy} is at work on {db_path}{who}. Wait until it is done, or stop it, and run this again.",
            "locked",
        ) from None
    try:
        with transaction(conn):
            rows.set_fact(conn, f"writer_{verb}", {"pid": os.getpid(), "since": rows.now(), "doing": doing or verb})
        yield
    finally:
        lock.release()


def holder(conn: sqlite3.Connection, db_path: Path, verb: str) -> dict[str, object] | None:
    """Who holds the lock for ``verb``: {"pid", "since"}, or None when no one does."""
    lock = FileLock(f"{db_path.resolve()}.{verb}.lock", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        held = rows.get_fact(conn, f"writer_{verb}")
        return held if isinstance(held, dict) else {}
    lock.release()
    return None
