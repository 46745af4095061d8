"""``oaken doctor``: each thing that can be wrong on a machine or in a file, and what to do about it."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import db, deletion, eligible, embedders, rows
from datasette_oaken.status import status
from datasette_oaken.vector import generations, vec0_tables, vector_count


@dataclass(frozen=True)
class Finding:
    """One check. ``level``: ok, warning (works, but worse) or error (does not work). ``advice`` says what to do."""

    check: str
    level: str
    found: str
    advice: str | None = None


def doctor(path: Path) -> dict[str, Any]:
    """All findings about this machine and, where it is there, the file."""
    findings = [*_machine(), *_file(path)]
    return {"ok": all(f.level != "error" for f in findings), "findings": [asdict(f) for f in findings]}


def _machine() -> Iterator[Finding]:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < db.OLDEST_SQLITE:
        yield Finding("sqlite", "error", f"SQLite {version}", "Oaken needs 3.40 or newer: pip install pysqlite3")
    else:
        yield Finding("sqlite", "ok", f"SQLite {version} by the module {sqlite3.__name__}")
    conn = sqlite3.connect(":memory:")
    try:
        why = db.load_vec(conn)
        if why is None:
            yield Finding("extension", "ok", f"sqlite-vec {conn.execute('select vec_version()').fetchone()[0]}")
        else:
            yield Finding("extension", "warning", f"search by meaning is off: {why}", _extension_advice())
        try:
            conn.execute("create virtual table t using fts5(a, tokenize='porter unicode61 remove_diacritics 2')")
            yield Finding("fts5", "ok", "FTS5 is there")
        except sqlite3.OperationalError as error:
            yield Finding("fts5", "error", f"FTS5 is missing ({error})", "pip install pysqlite3")
    finally:
        conn.close()
    try:
        embedder = embedders.get_embedder()
        embedder.embed_query("ready")
        yield Finding("model", "ok", f"{embedder.name}, {embedder.dimension} dimensions, English only in practice")
    except db.OakenError as error:
        yield Finding("model", "warning", "search by meaning is off: " + str(error), "see above")
    except Exception as error:
        yield Finding(
            "model",
            "warning",
            f"the model does not run: {error}",
            "pip install --force-reinstall onnxruntime fastembed",
        )


def _extension_advice() -> str:
    if sys.platform == "darwin" or os.name == "nt" or sys.platform.startswith("linux"):
        return (
            "pip install pysqlite3 (Linux x86-64, macOS arm64, Windows), or use a Python whose sqlite3 loads extensions "
            "(Debian's, Homebrew's, uv's)"
        )
    return "use a Python whose sqlite3 loads extensions"


def _file(path: Path) -> Iterator[Finding]:
    if not path.exists():
        yield Finding("file", "warning", f"there is no database at {path}", f"oaken ingest PATH_TO_MAIL --db {path}")
        return
    try:
        conn = db.connect(path, readonly=True)
    except db.OakenError as error:
        damaged = "restore a copy, or ingest again into a new file"
        yield Finding(
            "file", "error", str(error), damaged if error.code == "damaged" else "name the right file with --db"
        )
        return
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if os.name == "posix" and mode & 0o077:
            yield Finding(
                "permissions", "warning", f"others on this machine can read it (mode {mode:o})", f"chmod 600 {path}"
            )
        else:
            yield Finding("permissions", "ok", "only you can read it")
        free = shutil.disk_usage(path.resolve().parent).free
        if free < max(500_000_000, path.stat().st_size // 4):
            yield Finding("disk", "warning", f"{free / 1e9:.1f} GB free", "make room before the next ingest")
        else:
            yield Finding("disk", "ok", f"{free / 1e9:.1f} GB free")
        (answer,) = conn.execute("pragma quick_check(1)").fetchone()
        if answer == "ok":
            yield Finding("integrity", "ok", "the file is sound")
        else:
            yield Finding("integrity", "error", answer, "restore a copy, or ingest again into a new file")
        broken = conn.execute("pragma foreign_key_check").fetchall()
        if broken:
            tables = ", ".join(sorted({row[0] for row in broken}))
            yield Finding(
                "references", "error", f"{len(broken)} rows refer to nothing ({tables})", "ingest again into a new file"
            )
        else:
            yield Finding("references", "ok", "every row's references are there")
        yield from _drift(conn)
        answer = status(conn)
        if answer["failures"]:
            yield Finding(
                "failures",
                "warning",
                f"{len(answer['failures'])} messages could not be stored",
                "oaken status lists them",
            )
        notice = answer["languages"]["notice"]
        if notice:
            yield Finding(
                "language", "warning", notice, "oaken embed --model NAME with a multilingual model of fastembed's"
            )
    except sqlite3.DatabaseError as error:
        yield Finding(
            "integrity",
            "error",
            str(db.explain(error, path) or error),
            "restore a copy, or ingest again into a new file",
        )
    finally:
        conn.close()


def _drift(conn: sqlite3.Connection) -> Iterator[Finding]:
    """Whether the derived tables hold what the chunks say."""
    (chunks,) = conn.execute("select count(*) from recall_chunks").fetchone()
    (indexed,) = conn.execute("select count(*) from recall_chunks_fts_docsize").fetchone()
    if chunks == indexed:
        yield Finding("keywords", "ok", f"{chunks:,} passages, all indexed")
    else:
        yield Finding("keywords", "error", f"{chunks:,} passages, {indexed:,} indexed", "oaken repair --fts")
    (bare,) = conn.execute(
        "select count(*) from messages where not exists (select 1 from recall_chunks where message_id = messages.id)"
    ).fetchone()
    if bare:
        yield Finding(
            "passages",
            "error",
            f"{bare:,} messages have no passage and cannot be found",
            "oaken repair --sections",
        )
    since = rows.get_fact(conn, deletion.CLEANUP_DUE)
    if isinstance(since, dict):
        yield Finding(
            "forgotten",
            "warning",
            f"bytes of what was forgotten since {since['since']} may still be in the file",
            "oaken forget --finish",
        )
    wrong = eligible.drift(conn)
    (asked,) = conn.execute("select count(*) from recall_questions").fetchone()
    if wrong:
        yield Finding("counts", "error", f"{wrong:,} sums of verdicts are wrong", "oaken repair --verdicts")
    else:
        yield Finding("counts", "ok", f"{asked:,} questions, and their counts add up")
    present = vec0_tables(conn)
    for generation in generations(conn):
        vectors = vector_count(conn, generation)
        if vectors and db.has_vec(conn):
            indexed = (
                conn.execute(f"select count(*) from [{generation.vec0}]").fetchone()[0]
                if generation.vec0 in present
                else 0
            )
            if indexed != vectors:
                yield Finding(
                    "vectors",
                    "warning",
                    f"{vectors:,} vectors, {indexed:,} in the KNN table",
                    "oaken repair --semantic",
                )
                continue
        (waiting,) = conn.execute(
            "select count(*) from embedding_queue where generation_id = ? and error is null", (generation.id,)
        ).fetchone()
        if waiting:
            yield Finding("vectors", "warning", f"{vectors:,} passages embedded, {waiting:,} to go", "oaken embed")
        else:
            yield Finding("vectors", "ok", f"{vectors:,} passages embedded by {generation.model}")
