"""The vector retriever: nearest chunks by meaning, and upkeep of the tables that make it quick.

``recall_vectors`` holds each vector as int8 (scaled by its own largest component: 384 bytes for MiniLM, and the angle is
kept). ``_recall_vec0_<generation>`` holds only the signs (48 bytes), which a vec0 KNN sifts quickly; what it returns is
rescored with the int8 vectors. Where filters leave few chunks, those are scored directly and exactly.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from datasette.utils.sqlite import sqlite3

from .db import has_vec

if TYPE_CHECKING:  # imported where it is used: a command that needs no vectors should not wait for it
    import numpy as np

ENCODING = "int8"
LEAST_CANDIDATES = 200
"""Sign-only candidates that are rescored at the least, however few chunks are wanted. More than are wanted does not pay: what
a KNN costs grows steeply with k, and it is the first ranks that must be right."""
MOST_CANDIDATES = 4096
"""vec0's own limit of k."""
EXACT_WITHIN = 4096
"""Filters that leave no more chunks than this are scored exactly, without the KNN."""


class VectorUnavailable(Exception):
    """No vectors can answer. ``reason`` is one of the design's codes: no_extension, no_vectors, stale_index, error."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason


@dataclass(frozen=True)
class Generation:
    """A row of ``recall_generations``."""

    id: int
    model: str
    dimension: int
    fingerprint: str
    state: str

    @property
    def vec0(self) -> str:
        """The name of its vec0 table."""
        return f"_recall_vec0_{self.id}"


def generations(conn: sqlite3.Connection) -> list[Generation]:
    """All generations, the current one first."""
    try:
        rows = conn.execute(
            "select id, model, dimension, fingerprint, state from recall_generations"
            " order by state = 'current' desc, id desc"
        ).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise
    return [Generation(*tuple(row)) for row in rows]


def answering(conn: sqlite3.Connection) -> Generation | None:
    """The generation that answers searches: the current one, or the first while it is still being built."""
    found = generations(conn)
    return found[0] if found else None


def coverage(conn: sqlite3.Connection) -> float:
    """The share of chunks (0 to 1) that have a vector in the answering generation; 1.0 when there are no chunks."""
    (total,) = conn.execute("select count(*) from recall_chunks").fetchone()
    generation = answering(conn)
    if not total:
        return 1.0
    if generation is None:
        return 0.0
    return vector_count(conn, generation) / total


def vector_count(conn: sqlite3.Connection, generation: Generation) -> int:
    """How many chunks the generation has a vector for; 0 when someone dropped the table."""
    try:
        row = conn.execute("select count(*) from recall_vectors where generation_id = ?", (generation.id,)).fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return 0
        raise
    return int(row[0])


def encode(vector: np.ndarray) -> bytes:
    """A vector as int8, scaled so that its largest component is 127. Only its direction is kept."""
    import numpy as np

    peak = float(np.abs(vector).max()) or 1.0
    return np.rint(vector * (127.0 / peak)).astype(np.int8).tobytes()


def signs(encoded: bytes) -> bytes:
    """The signs of an int8 vector as vec0's bit[] wants them: eight to a byte, lowest bit first."""
    import numpy as np

    return np.packbits(np.frombuffer(encoded, np.int8) > 0, bitorder="little").tobytes()


def create_vec0(conn: sqlite3.Connection, generation: Generation) -> None:
    """Make the generation's vec0 table unless it is there."""
    conn.execute(
        f"create virtual table if not exists [{generation.vec0}] using vec0("
        f"chunk_id integer primary key, embedding bit[{generation.dimension}])"
    )


def insert_vec0(conn: sqlite3.Connection, generation: Generation, rows: Iterable[tuple[int, bytes]]) -> None:
    """Put (chunk_id, int8 vector) pairs into the vec0 table. vec0 has no UPSERT: delete, then insert."""
    pairs = [(chunk_id, signs(encoded)) for chunk_id, encoded in rows]
    conn.executemany(f"delete from [{generation.vec0}] where chunk_id = ?", [(chunk_id,) for chunk_id, _ in pairs])
    conn.executemany(f"insert into [{generation.vec0}] (chunk_id, embedding) values (?, vec_bit(?))", pairs)


def vec0_tables(conn: sqlite3.Connection) -> set[str]:
    """The names of the vec0 tables in the file."""
    rows = conn.execute(
        "select name from sqlite_master where type = 'table' and name glob '_recall_vec0_[0-9]*' and sql like 'create virtual%'"
    )
    return {row[0] for row in rows}


def rebuild_vec0(conn: sqlite3.Connection, generation: Generation) -> int:
    """Make the vec0 table again from ``recall_vectors``, inside the caller's transaction. Returns how many rows it has."""
    conn.execute(f"drop table if exists [{generation.vec0}]")
    create_vec0(conn, generation)
    count, after = 0, 0
    while rows := conn.execute(
        "select chunk_id, embedding from recall_vectors where generation_id = ? and chunk_id > ? order by chunk_id limit 5000",
        (generation.id, after),
    ).fetchall():
        insert_vec0(conn, generation, ((row[0], row[1]) for row in rows))
        count, after = count + len(rows), rows[-1][0]
    return count


def drop_generation(conn: sqlite3.Connection, generation: Generation) -> None:
    """Remove a generation with its vectors, queue and vec0 table, inside the caller's transaction."""
    if generation.vec0 in vec0_tables(conn):
        conn.execute(f"drop table [{generation.vec0}]")
    for table in ("recall_vectors", "embedding_queue", "vec0_purges_due"):
        conn.execute(f"delete from {table} where generation_id = ?", (generation.id,))
    conn.execute("delete from recall_generations where id = ?", (generation.id,))


def nearest(
    conn: sqlite3.Connection,
    vector: np.ndarray,
    *,
    fingerprint: str | None,
    k: int,
    within: Sequence[int] | None = None,
) -> list[tuple[int, float]]:
    """The ``k`` chunks nearest in meaning, as (chunk_id, cosine distance 0 to 2), nearest first, ties by the smaller id.

    ``within``: only these chunks may answer; the filter is inside the KNN, so a rare one is not crowded out.
    ``fingerprint``: of the model that made ``vector``; another than the stored vectors' means they cannot be compared.

    Raises VectorUnavailable.
    """
    if k <= 0 or (within is not None and not len(within)):
        return []
    try:
        return _nearest(conn, vector, fingerprint, k, within)
    except sqlite3.OperationalError as error:
        if "interrupt" in str(error):  # the caller's own time guard
            raise
        raise VectorUnavailable("no_vectors" if "no such table" in str(error) else "error", str(error)) from error


def _nearest(
    conn: sqlite3.Connection, vector: np.ndarray, fingerprint: str | None, k: int, within: Sequence[int] | None
) -> list[tuple[int, float]]:
    generation = next((g for g in generations(conn) if g.fingerprint == fingerprint), None)
    current = answering(conn)
    if generation is None or (current is not None and generation.id != current.id):
        raise VectorUnavailable("stale_index" if current else "no_vectors")
    if not conn.execute(
        "select exists (select 1 from recall_vectors where generation_id = ?)", (generation.id,)
    ).fetchone()[0]:
        raise VectorUnavailable("no_vectors")
    if within is not None and len(within) <= EXACT_WITHIN:
        return _score(conn, generation, vector, list(within))[:k]
    if not has_vec(conn):
        raise VectorUnavailable("no_extension")
    if generation.vec0 not in vec0_tables(conn):
        raise VectorUnavailable("no_vectors")
    candidates = min(MOST_CANDIDATES, max(LEAST_CANDIDATES, k))
    # A filter belongs inside the KNN: beside it, as a JOIN, OR or NOT, it silently returns fewer than k.
    condition, parameters = "", [signs(encode(vector)), candidates]
    if within is not None:
        condition = " and chunk_id in (select value from json_each(?))"
        parameters.append(json.dumps(list(within)))
    rows = conn.execute(
        f"select chunk_id from [{generation.vec0}] where embedding match vec_bit(?) and k = ?{condition}", parameters
    ).fetchall()
    return _score(conn, generation, vector, [row[0] for row in rows])[:k]


def _score(
    conn: sqlite3.Connection, generation: Generation, vector: np.ndarray, chunk_ids: list[int]
) -> list[tuple[int, float]]:
    """Cosine distances of the given chunks by their int8 vectors, nearest first. Chunks with no vector are left out."""
    import numpy as np

    rows = conn.execute(
        "select chunk_id, embedding from recall_vectors"
        " where generation_id = ? and chunk_id in (select value from json_each(?))",
        (generation.id, json.dumps(chunk_ids)),
    ).fetchall()
    if not rows:
        return []
    ids = np.array([row[0] for row in rows])
    matrix = np.frombuffer(b"".join(row[1] for row in rows), np.int8).reshape(len(rows), generation.dimension)
    floats = matrix.astype(np.float32)
    lengths = np.linalg.norm(floats, axis=1)
    lengths[lengths == 0] = 1.0
    distances = 1.0 - (floats @ (vector / (np.linalg.norm(vector) or 1.0))) / lengths
    order = np.lexsort((ids, distances))
    return [(int(ids[i]), float(distances[i])) for i in order]
