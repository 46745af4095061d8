"""Kills the writers of a file at random moments, as ``kill -9`` does, and prints as JSON what was left each time.

    python tests/killing.py FOLDER VERB TIMES SEED

A process of its own, which loads everything once and forks for each run: a process that has threads cannot fork safely, and one
that starts anew spends most of its time where no kill matters. Transactions are made small, so that there are many moments
between them. Embedding is by a made embedder; the file, SQLite, its extension and the writers are the real ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from making import mail, mbox

from datasette_oaken import db, embedders
from ingest import clean_up, doctor, embed, forget, one_source, pipeline
from ingest.sources import detect

LETTERS = 240
CONTENT = (
    "select * from messages order by id",
    "select id, message_id, section, position, text, thread_id from recall_chunks order by id",
    "select message_id, role, name, address from message_recipients order by id",
    "select * from message_sections order by 1, 2",
    "select message_id, hex(text) from message_texts order by 1",
    "select message_id, sha256, hex(raw) from raw_messages order by 1",
    "select message_id, provider_key, flags, labels from message_locations order by 2",
    "select account, mailbox, name, cursor from sync_cursors order by 3",
    "select * from threads order by id",
    "select * from thread_references order by 1, 2",
    "select chunk_id, hex(embedding) from recall_vectors order by 1",
    "select chunk_id from embedding_queue order by 1",
    "select rowid from recall_chunks_fts where recall_chunks_fts match 'letter' order by 1",
    "select state from recall_generations",
    "select count(*) from oaken_facts where name = 'cleanup_due'",
)
SHADOWS = "select chunk_id, hex(embedding) from _recall_vec0_1 order by 1"


class Hashed:
    """An embedder whose vectors come from a hash of the text: at once, and the same each time."""

    name, dimension = embedders.PACKAGED, 384
    fingerprint = embedders.identify().fingerprint

    def embed_query(self, text: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        found = np.random.default_rng(seed).normal(size=384).astype(np.float32)
        return found / np.linalg.norm(found)

    def embed_documents(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        return (self.embed_query(text) for text in texts)


def run_ingest(path: Path, mail_at: Path) -> None:
    conn = db.connect(path, create=True)
    pipeline.ingest(conn, path, [detect(mail_at)], processes=0, quiet=True)


def run_embed(path: Path, mail_at: Path) -> None:
    embed.embed(db.connect(path), path, quiet=True, embedder=Hashed())


def run_forget(path: Path, mail_at: Path) -> None:
    conn = db.connect(path)
    chosen = forget.Selection(where="from:ben")
    if forget.select(conn, chosen):
        forget.forget(conn, path, chosen, quiet=True)
    elif clean_up.is_due(conn):
        forget.finish(conn, path, quiet=True)


VERBS: dict[str, Callable[[Path, Path], None]] = {"ingest": run_ingest, "embed": run_embed, "forget": run_forget}


def forked(verb: str, path: Path, mail_at: Path, kill_after: float | None = None) -> float | None:
    """Run the verb in a child. Returns how long it took, or None when it was killed first. Exits when it fails by itself."""
    started = time.monotonic()
    child = os.fork()
    if not child:
        try:
            VERBS[verb](path, mail_at)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None
    if status:
        sys.exit(f"{verb} failed after a kill")
    return time.monotonic() - started


def content(path: Path) -> str:
    """A digest of all that must come out the same."""
    conn = db.connect(path)
    digest = hashlib.sha256()
    for sql in CONTENT:
        digest.update(repr([tuple(row) for row in conn.execute(sql)]).encode())
    if conn.execute("select 1 from sqlite_master where name = '_recall_vec0_1'").fetchone():
        digest.update(repr([tuple(row) for row in conn.execute(SHADOWS)]).encode())
    conn.execute("insert into recall_chunks_fts (recall_chunks_fts, rank) values ('integrity-check', 1)")
    conn.close()
    return digest.hexdigest()


def errors(path: Path) -> list[str]:
    """What is wrong with the file as a kill left it; a file that is not there yet, or has no table yet, is not wrong."""
    if not path.exists() or not path.stat().st_size:
        return []
    conn = db.connect(path)
    found = [f"integrity: {row[0]}" for row in conn.execute("pragma integrity_check") if row[0] != "ok"]
    conn.execute("insert into recall_chunks_fts (recall_chunks_fts, rank) values ('integrity-check', 1)")
    conn.close()
    return found + [f"{f['check']}: {f['found']}" for f in doctor.doctor(path)["findings"] if f["level"] == "error"]


def copy(source: Path | None, path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    if source is not None:
        shutil.copyfile(source, path)
        path.chmod(0o600)


def main(folder: Path, verb: str, times: int, seed: int) -> None:
    one_source.COMMIT_MESSAGES = one_source.BATCH_MESSAGES = 12
    forget.BATCH = 12
    chance = random.Random(seed)
    mail_at = mbox(
        folder / "a.mbox",
        [
            mail(
                f"Letter {n} of the spring.\n\n" + " ".join(f"word{chance.randrange(5000)}" for _ in range(150)) + "\n",
                id=f"<{n}@example.org>",
                sender="Ben <ben@example.org>" if n % 3 == 0 else "Sam <sam@example.org>",
                headers=[f"References: <{n - n % 5}@example.org>"],
            )
            for n in range(LETTERS)
        ],
    )
    base: Path | None = None
    for before in {"ingest": (), "embed": ("ingest",), "forget": ("ingest", "embed")}[verb]:
        base = folder / "base.db"
        forked(before, base, mail_at)
    if base is not None:
        conn = db.connect(base)
        conn.execute("pragma wal_checkpoint(truncate)")
        conn.close()
    path = folder / "o.db"
    copy(base, path)
    took = forked(verb, path, mail_at) or 0.0
    undisturbed = content(path)
    killed, wrong, differing = 0, [], 0
    while killed < times:
        copy(base, path)
        # Up to three kills on the way to one end.
        for _ in range(3):
            if killed < times and forked(verb, path, mail_at, chance.uniform(0, took)) is None:
                killed += 1
                wrong += errors(path)
        forked(verb, path, mail_at)
        wrong += errors(path)
        differing += content(path) != undisturbed
    print(json.dumps({"killed": killed, "wrong": wrong, "differing": differing}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
