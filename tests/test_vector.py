"""Nearest by meaning: the filter inside the KNN, agreement with brute force, and each way of being unable to answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_oaken import db, vector
from datasette_oaken.db import sqlite3

DIMENSION = 384
PRINT = "made-up"


def filled(path: Path, vectors: np.ndarray) -> sqlite3.Connection:
    """A file with these vectors as the current generation: chunk ids from 1 on."""
    conn = db.connect(path, create=True)
    with db.transaction(conn):
        conn.execute(
            "insert into recall_generations (id, model, dimension, fingerprint, encoding, state, created_at)"
            " values (1, 'm', ?, ?, 'int8', 'current', '2026-01-01T00:00:00Z')",
            (DIMENSION, PRINT),
        )
        conn.executemany(
            "insert into recall_chunks (id, source, source_id, account, text, section, position, content_hash,"
            " policy_version) values (?, 'email', ?, 'a', 't', 'authored', 0, 'h', 1)",
            [(i, str(i)) for i in range(1, len(vectors) + 1)],
        )
        conn.executemany(
            "insert into recall_vectors (generation_id, chunk_id, input_hash, embedding) values (1, ?, 0, ?)",
            [(i, vector.encode(v)) for i, v in enumerate(vectors, 1)],
        )
        (generation,) = vector.generations(conn)
        assert vector.rebuild_vec0(conn, generation) == len(vectors)
    return conn


def clustered(count: int, seed: int = 3) -> np.ndarray:
    """Unit vectors in 40 clusters, as real text makes them, rather than spread evenly."""
    centres = np.random.default_rng(1).normal(size=(40, DIMENSION))
    random = np.random.default_rng(seed)
    made = centres[random.integers(0, 40, count)] + 0.6 * random.normal(size=(count, DIMENSION))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def exact(vectors: np.ndarray, query: np.ndarray, among: list[int]) -> list[int]:
    """Chunk ids by brute force over the floats, nearest first."""
    return sorted(among, key=lambda i: (-float(vectors[i - 1] @ query), i))


def test_nearly_all_of_the_ten_nearest_are_found_by_sifting_signs(tmp_path: Path) -> None:
    vectors = clustered(6000)
    conn = filled(tmp_path / "o.db", vectors)
    hits = 0
    for query in clustered(50, seed=4):
        found = [c for c, _ in vector.nearest(conn, query, fingerprint=PRINT, k=10)]
        hits += len(set(found) & set(exact(vectors, query, list(range(1, 6001)))[:10]))
    assert hits >= 0.9 * 500


@pytest.mark.parametrize("kept", [3, 200, 5000])
def test_a_filter_finds_its_own_however_many_others_are_nearer(tmp_path: Path, kept: int) -> None:
    vectors = clustered(6000)
    conn = filled(tmp_path / "o.db", vectors)
    query = vectors[0]
    far = exact(vectors, query, list(range(1, 6001)))[-kept:]
    found = vector.nearest(conn, query, fingerprint=PRINT, k=10, within=far)
    assert len(found) == min(10, kept)
    assert {c for c, _ in found} <= set(far)
    distances = [d for _, d in found]
    assert distances == sorted(distances)
    if kept <= vector.EXACT_WITHIN:
        best = {c: 1 - float(vectors[c - 1] @ query) for c in far}
        nearest = sorted(best.values())[: len(found)]
        assert distances == pytest.approx(nearest, abs=0.02)


@given(st.lists(st.floats(-1, 1, width=32), min_size=DIMENSION, max_size=DIMENSION))
def test_storing_as_int8_keeps_the_direction(values: list[float]) -> None:
    made = np.array(values, np.float32)
    if np.abs(made).max() < 1e-6:
        return
    back = np.frombuffer(vector.encode(made), np.int8).astype(np.float32)
    cosine = float(back @ made) / float(np.linalg.norm(back) * np.linalg.norm(made))
    assert cosine > 0.999


def test_a_vector_of_nothing_is_stored_and_never_breaks_a_search(tmp_path: Path) -> None:
    vectors = clustered(10)
    vectors[3] = 0
    conn = filled(tmp_path / "o.db", vectors)
    assert len(vector.nearest(conn, vectors[0], fingerprint=PRINT, k=10)) == 10
    assert len(vector.nearest(conn, np.zeros(DIMENSION, np.float32), fingerprint=PRINT, k=10)) == 10


def reason(conn: sqlite3.Connection, fingerprint: str | None = PRINT) -> str:
    with pytest.raises(vector.VectorUnavailable) as caught:
        vector.nearest(conn, clustered(1)[0], fingerprint=fingerprint, k=10)
    return caught.value.reason


def test_each_way_of_being_unable_to_answer_has_its_reason(tmp_path: Path) -> None:
    conn = filled(tmp_path / "o.db", clustered(10))
    assert reason(conn, "another model's") == "stale_index"
    plain = sqlite3.connect(tmp_path / "o.db")
    assert reason(plain) == "no_extension"
    conn.execute("drop table _recall_vec0_1")
    assert reason(conn) == "no_vectors"
    conn.execute("drop table recall_vectors")
    assert reason(conn) == "no_vectors"
    assert vector.coverage(conn) == 0.0
    conn.execute("drop table embedding_queue")
    conn.execute("drop table recall_generations")
    assert reason(conn) == "no_vectors"
    empty = db.connect(tmp_path / "empty.db", create=True)
    assert reason(empty) == "no_vectors"
    assert vector.coverage(empty) == 1.0


def test_a_filter_does_not_hide_that_nothing_is_embedded(tmp_path: Path) -> None:
    conn = filled(tmp_path / "o.db", clustered(10))
    conn.execute("delete from recall_vectors")
    with pytest.raises(vector.VectorUnavailable) as caught:
        vector.nearest(conn, clustered(1)[0], fingerprint=PRINT, k=10, within=[1, 2])
    assert caught.value.reason == "no_vectors"


def test_a_filter_that_leaves_nothing_finds_nothing(tmp_path: Path) -> None:
    conn = filled(tmp_path / "o.db", clustered(10))
    assert vector.nearest(conn, clustered(1)[0], fingerprint=PRINT, k=10, within=[]) == []
    assert vector.nearest(conn, clustered(1)[0], fingerprint=PRINT, k=0) == []
