"""After rows were deleted: getting their bytes out of the file, its indexes and its WAL, or saying what is in the way.

``secure_delete`` is not enough. FTS5 keeps the words of deleted rows in its segments until ``optimize``. And SQLite zeroes what
it frees, but not the copies that stay behind in a page's unused middle when rows move to a neighbour page (measured: on 811
messages of a mailing list, deleting half left 32 texts and addresses in the file). So the file is written anew by ``VACUUM``.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

from datasette.utils.sqlite import sqlite3

from datasette_oaken import rows
from datasette_oaken.db import OakenError, has_vec, transaction
from datasette_oaken.deletion import CLEANUP_DUE

from . import locks

_FTS = ("recall_chunks_fts", "recall_chunks_fts_cjk")


def is_due(conn: sqlite3.Connection) -> bool:
    """Whether rows were deleted whose bytes may still be in the file."""
    return rows.get_fact(conn, CLEANUP_DUE) is not None


def clean_up(conn: sqlite3.Connection, db_path: Path, *, quiet: bool = False) -> list[str]:
    """Take the bytes of what was deleted out of the file. Returns what is in the way: nothing when all of it is done.

    Under the ingest lock, outside of a transaction. Whatever stays undone stays noted in the file, for the next run.
    """
    in_the_way: list[str] = []
    size = db_path.stat().st_size
    if not quiet and size > 200_000_000:
        print(f"Writing {db_path} anew without what was forgotten ({size / 1e9:.1f} GB) …", file=sys.stderr, flush=True)
    if has_vec(conn):
        with transaction(conn):
            rows.purge_vec0(conn)
    elif conn.execute("select exists (select 1 from vec0_purges_due)").fetchone()[0]:
        in_the_way.append(
            "sqlite-vec cannot be loaded here, so vectors of what was forgotten are still in the KNN table: see oaken doctor."
        )
    for table in _FTS:
        conn.execute(f"insert into {table} ({table}) values ('optimize')")
    in_the_way += _write_anew(conn, db_path)
    conn.execute("pragma incremental_vacuum").fetchall()
    if not _empty_wal(conn):
        in_the_way.append(
            "Another process is reading the file, so its write-ahead log (the -wal file) could not be emptied: stop oaken serve "
            "and whatever else has the file open."
        )
    if not in_the_way:
        with transaction(conn):
            conn.execute("delete from oaken_facts where name = ?", (CLEANUP_DUE,))
        _empty_wal(conn)
    return in_the_way


def _write_anew(conn: sqlite3.Connection, db_path: Path) -> list[str]:
    """VACUUM, with no one else writing: returns why it could not be done."""
    need = 2 * db_path.stat().st_size
    free = shutil.disk_usage(db_path.resolve().parent).free
    if free < need + 50_000_000:
        return [f"The disk has {free / 1e9:.1f} GB free; to write the file anew takes {need / 1e9:.1f} GB: make room."]
    with ExitStack() as held:
        try:
            # They would give up waiting for so long a transaction.
            for verb in ("embed", "judge"):
                held.enter_context(locks.writer(conn, db_path, verb, doing="forget"))
            # The temporary copy belongs on the same disk as the file: it is as private, and there is room.
            folder = str(db_path.resolve().parent).replace("'", "''")
            conn.execute(f"pragma temp_store_directory = '{folder}'")
            try:
                conn.execute("vacuum")
            finally:
                conn.execute("pragma temp_store_directory = ''")
        except OakenError as error:
            return [str(error)]
        except sqlite3.OperationalError as error:
            return [f"The file could not be written anew ({error})."]
    return []


def _empty_wal(conn: sqlite3.Connection) -> bool:
    """Put everything into the file itself and cut the WAL to nothing. False: a reader was in the way, even after waiting."""
    try:
        busy, _, _ = conn.execute("pragma wal_checkpoint(truncate)").fetchone()
    except sqlite3.OperationalError:
        return False
    return not busy
