"""After rows were deleted: getting their bytes out of the file, its indexes and its WAL, or saying what is in the way.

``secure_delete`` is not enough. FTS5 keeps the words of deleted rows in its segments until ``optimize``. And SQLite zeroes what
it frees, but not the copies that stay behind in a page's unused middle when rows move to a neighbour page (measured: on 811
messages of a mailing list, deleting half left 32 texts and addresses in the file). So the file is written anew.
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import closing
from pathlib import Path

from datasette.utils.sqlite import sqlite3

from datasette_oaken import rows
from datasette_oaken.db import OakenError, connect, has_vec, transaction
from datasette_oaken.deletion import CLEANUP_DUE

from . import locks

_FTS = ("recall_chunks_fts", "recall_chunks_fts_cjk")
_ATTEMPTS = 3


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
    """The file's rows written to pages that never held anything else, with no one else writing: returns what was in the way.

    VACUUM alone would do, but it builds its copy in memory where SQLite was compiled so (pysqlite3 is), however large the file.
    """
    copy = db_path.resolve().with_name(f"{db_path.name}.anew")
    copy.unlink(missing_ok=True)  # of a run that was killed
    need = 2 * db_path.stat().st_size
    free = shutil.disk_usage(db_path.resolve().parent).free
    if free < need + 50_000_000:
        return [f"The disk has {free / 1e9:.1f} GB free; to write the file anew takes {need / 1e9:.1f} GB: make room."]
    try:
        with locks.writer(conn, db_path, "embed", doing="forget"), locks.writer(conn, db_path, "judge", doing="forget"):
            if any(_copy_and_put_back(conn, db_path, copy) for _ in range(_ATTEMPTS)):
                return []
        return ["The file was written to again and again while it was written anew: stop oaken serve."]
    except OakenError as error:
        return [str(error)]
    except sqlite3.OperationalError as error:
        return [f"The file could not be written anew ({error})."]
    finally:
        copy.unlink(missing_ok=True)


def _copy_and_put_back(conn: sqlite3.Connection, db_path: Path, copy: Path) -> bool:
    """Write the rows to ``copy``, then put its pages in the place of the file's, in one transaction that readers wait for or
    not, as with any. False, and nothing done: someone wrote to the file between the two."""
    copy.unlink(missing_ok=True)  # of the attempt before
    os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(connect(db_path)) as watch:
        before = watch.execute("pragma data_version").fetchone()[0]
        watch.execute("vacuum into ?", (str(copy),))

        def unchanged(status: int, remaining: int, total: int) -> None:
            # When the first pages are written no one else can write any more, until all are there or none is; at the end the
            # change that is seen is our own.
            if remaining and watch.execute("pragma data_version").fetchone()[0] != before:
                raise _WrittenTo

        with closing(sqlite3.connect(copy)) as source:
            (pages,) = source.execute("pragma page_count").fetchone()
            try:
                source.backup(conn, pages=max(1, min(pages // 4, 4096)), progress=unchanged)
            except _WrittenTo:
                return False
    return True


class _WrittenTo(Exception):
    """Another process wrote to the file."""


def _empty_wal(conn: sqlite3.Connection) -> bool:
    """Put everything into the file itself and cut the WAL to nothing. False: a reader was in the way, even after waiting."""
    try:
        busy, _, _ = conn.execute("pragma wal_checkpoint(truncate)").fetchone()
    except sqlite3.OperationalError:
        return False
    return not busy
