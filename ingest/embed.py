"""Draining the embedding queue: newest first, resumable, equal text embedded once, a text that fails set aside."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import embedders, rows
from datasette_oaken.db import has_vec, transaction
from datasette_oaken.subjects import bare
from datasette_oaken.vector import (
    Generation,
    drop_generation,
    encode,
    generations,
    insert_vec0,
    rebuild_vec0,
    vec0_tables,
    vector_count,
)

from . import locks, pipeline
from .progress import Progress

WINDOW = 128
"""Chunks taken from the queue and committed at a time: what a kill costs at the most, and how often progress shows."""


@dataclass
class Report:
    """What an embedding run did: the design's answer."""

    embedded: int = 0
    backlog: int = 0
    generation: int | None = None
    model: str | None = None
    failures: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """As ``oaken embed --json`` prints it."""
        return {
            "ok": True,
            "embedded": self.embedded,
            "backlog": self.backlog,
            "generation": self.generation,
            "model": self.model,
            "failures": self.failures,
        }


def embed(
    conn: sqlite3.Connection,
    db_path: Path,
    *,
    model: str | None = None,
    limit: int | None = None,
    download: bool = False,
    quiet: bool = False,
    embedder: embedders.Embedder | None = None,
) -> Report:
    """Embed what is queued for the generation being built, or the current one; at most ``limit`` chunks.

    ``model``: another model starts a generation of its own beside the present one, which goes on answering until the new
    one is complete and is then dropped, in one transaction. Interrupted, the next run goes on where this one stopped.

    Raises OakenError (locked, no_embedder …).
    """
    with locks.writer(conn, db_path, "embed"):
        load = partial(embedders.get_embedder, download=download, sessions=os.cpu_count() or 1)
        target, embedder = _target(conn, model, embedder, load)
        with transaction(conn):
            conn.execute("update embedding_queue set error = null where generation_id = ?", (target.id,))
            if has_vec(conn):
                rows.purge_vec0(conn)
                if not _knn_is_whole(conn, target):  # new, lost, or vectors came where there was no extension
                    rebuild_vec0(conn, target)
        report = Report(generation=target.id, model=target.model)
        (waiting,) = conn.execute(
            "select count(*) from embedding_queue where generation_id = ? and error is null", (target.id,)
        ).fetchone()
        if waiting:
            embedder = embedder or load(target.model)
            total = min(waiting, limit) if limit is not None else waiting
            with Progress("Embedding", unit="passages", total=total, quiet=quiet) as bar:
                _drain(conn, target, embedder, report, limit, bar)
        _complete(conn, target)
        report.backlog = pipeline.backlog(conn)
        return report


def _target(
    conn: sqlite3.Connection,
    model: str | None,
    embedder: embedders.Embedder | None,
    load: Callable[[str], embedders.Embedder],
) -> tuple[Generation, embedders.Embedder | None]:
    """The generation to work on: for the model asked for, else the one being built, else the current one.

    A new one is begun only once its model is loaded, so that asking for one that is not here changes nothing.
    """
    found = generations(conn)
    building = next((g for g in found if g.state == "building"), None)
    present = building or (found[0] if found else None)
    name = model or (present.model if present else embedders.PACKAGED)
    identity = embedders.identify(name)
    for generation in found:
        if generation.fingerprint == identity.fingerprint:
            return generation, embedder
    embedder = embedder or load(name)
    with transaction(conn):
        if building is not None and len(found) > 1:
            drop_generation(conn, building)
        elif (
            building is not None
        ):  # unfinished, but the only one that answers: it goes on doing so until the new one is done
            conn.execute("update recall_generations set state = 'current' where id = ?", (building.id,))
        pipeline.make_generation(conn, name)
    return next(g for g in generations(conn) if g.fingerprint == identity.fingerprint), embedder


def _knn_is_whole(conn: sqlite3.Connection, target: Generation) -> bool:
    if target.vec0 not in vec0_tables(conn):
        return False
    (indexed,) = conn.execute(f"select count(*) from [{target.vec0}]").fetchone()
    return bool(indexed == vector_count(conn, target))


def _drain(
    conn: sqlite3.Connection,
    target: Generation,
    embedder: embedders.Embedder,
    report: Report,
    limit: int | None,
    bar: Progress,
) -> None:
    gone_through = 0
    while limit is None or gone_through < limit:
        window = WINDOW if limit is None else min(WINDOW, limit - gone_through)
        queued = conn.execute(
            "select c.id, m.subject, c.text from embedding_queue q join recall_chunks c on c.id = q.chunk_id"
            " left join messages m on m.id = c.message_id"
            " where q.generation_id = ? and q.error is null order by q.chunk_id desc limit ?",
            (target.id, window),
        ).fetchall()
        if not queued:
            return
        inputs = {row[0]: embedders.embedding_input(bare(row[1]), row[2]) for row in queued}
        hashes = {chunk_id: input_hash(text) for chunk_id, text in inputs.items()}
        vectors = _reusable(conn, target, set(hashes.values()))
        fresh = {hashes[chunk_id]: text for chunk_id, text in inputs.items() if hashes[chunk_id] not in vectors}
        errors = _embed(embedder, fresh, vectors)
        with transaction(conn):
            _store(conn, target, hashes, vectors)
            for chunk_id, hash_ in hashes.items():
                if hash_ in errors:
                    conn.execute(
                        "update embedding_queue set error = ?, attempts = attempts + 1"
                        " where generation_id = ? and chunk_id = ?",
                        (errors[hash_], target.id, chunk_id),
                    )
        for chunk_id, hash_ in hashes.items():
            if hash_ in errors:
                report.failures.append({"key": f"chunk {chunk_id}", "error": errors[hash_], "attempts": 2})
            else:
                report.embedded += 1
        gone_through += len(queued)
        bar.update(len(queued))


def input_hash(text: str) -> int:
    """A signed 64-bit hash of a text to embed: how equal texts are known."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big", signed=True)


def _reusable(conn: sqlite3.Connection, target: Generation, hashes: set[int]) -> dict[int, bytes]:
    rows = conn.execute(
        "select input_hash, embedding from recall_vectors"
        " where generation_id = ? and input_hash in (select value from json_each(?))",
        (target.id, json.dumps(sorted(hashes))),
    )
    return {row[0]: row[1] for row in rows}


def _embed(embedder: embedders.Embedder, fresh: dict[int, str], vectors: dict[int, bytes]) -> dict[int, str]:
    """Embed texts into ``vectors``; returns the errors of those that fail even alone."""
    if not fresh:
        return {}
    hashes, texts = list(fresh), list(fresh.values())
    try:
        for hash_, vector in zip(hashes, embedder.embed_documents(texts), strict=True):
            vectors[hash_] = encode(vector)
        return {}
    except Exception:
        errors = {}
        for hash_, text in zip(hashes, texts, strict=True):
            try:
                vectors[hash_] = encode(next(iter(embedder.embed_documents([text]))))
            except Exception as error:
                vectors.pop(hash_, None)
                errors[hash_] = f"{type(error).__name__}: {error}"[:300]
        return errors


def _store(conn: sqlite3.Connection, target: Generation, hashes: dict[int, int], vectors: dict[int, bytes]) -> None:
    """Write the vectors of the chunks that are still there: one may have been deleted while it was embedded."""
    still = {
        row[0]
        for row in conn.execute(
            "select chunk_id from embedding_queue where generation_id = ? and chunk_id in (select value from json_each(?))",
            (target.id, json.dumps(list(hashes))),
        )
    }
    done = [(c, h, vectors[h]) for c, h in hashes.items() if h in vectors and c in still]
    conn.executemany(
        "insert or replace into recall_vectors (generation_id, chunk_id, input_hash, embedding) values (?, ?, ?, ?)",
        [(target.id, chunk_id, hash_, vector) for chunk_id, hash_, vector in done],
    )
    if has_vec(conn):
        insert_vec0(conn, target, [(chunk_id, vector) for chunk_id, _, vector in done])
    conn.executemany(
        "delete from embedding_queue where generation_id = ? and chunk_id = ?", [(target.id, c) for c, _, _ in done]
    )


def _complete(conn: sqlite3.Connection, target: Generation) -> None:
    """When nothing waits any more, the generation becomes the current one and the one before it goes, in one step."""
    if target.state == "current":
        return
    with transaction(conn):
        (waiting,) = conn.execute(
            "select count(*) from embedding_queue where generation_id = ? and error is null", (target.id,)
        ).fetchone()
        if waiting:
            return
        for generation in generations(conn):
            if generation.state == "current":
                drop_generation(conn, generation)
        conn.execute("update recall_generations set state = 'current' where id = ?", (target.id,))


def be_nice() -> None:
    """Give way to everything else on the machine: embedding beside a site must not slow its searches."""
    if hasattr(os, "nice"):
        os.nice(10)
