"""A small file of mail made row by row, for tests of what answers: each message's chunks, people and state as given."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasette.utils.sqlite import sqlite3

from datasette_oaken import db, rows, search, vector
from datasette_oaken.embedders import Embedded

FINGERPRINT = "of the test's own vectors"
DIMENSION = 16


def archive(folder: Path, messages: Sequence[Mapping[str, Any]] = (), name: str = "small.db") -> sqlite3.Connection:
    """A new file in ``folder`` with these messages (see ``add``), their ids counting from 1."""
    conn = db.connect(folder / name, create=True)
    with db.transaction(conn):
        for message in messages:
            add(conn, **message)
    return conn


def add(
    conn: sqlite3.Connection,
    text: str | Sequence[str] = "",
    *,
    subject: str = "",
    sender: tuple[str, str] = ("", ""),
    to: Sequence[tuple[str, str]] = (),
    roles: Sequence[str] = (),
    date: str | None = "2024-01-01T00:00:00Z",
    account: str = "me",
    mailboxes: Sequence[str] = ("INBOX",),
    labels: Sequence[str] = (),
    files: Sequence[str] = (),
    copy_of: int | None = None,
    thread: int | None = None,
    state: Mapping[str, Any] | None = None,
    sections: Sequence[str] = (),
) -> int:
    """One message; ``text`` is its chunks. Returns its id."""
    conn.execute("insert or ignore into accounts (name) values (?)", (account,))
    (last,) = conn.execute("select coalesce(max(id), 0) from messages").fetchone()
    id, key = last + 1, f"key-{last + 1}"
    if thread is not None:
        conn.execute("insert or ignore into threads (id, account) values (?, ?)", (thread, account))
    conn.execute(
        "insert into messages (id, account, source_id, internet_message_id, thread_id, copy_of, subject, from_name,"
        " from_address, sent_at, size, has_attachments, content_hash) values (?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (id, account, key, f"<{key}@example.org>", thread, copy_of, subject, *sender, date, 1, bool(files), key),
    )
    for name in mailboxes:
        conn.execute("insert or ignore into mailboxes (account, name) values (?, ?)", (account, name))
        conn.execute(
            "insert into message_locations (message_id, mailbox_id, provider_key)"
            " select ?, id, ? from mailboxes where account = ? and name = ?",
            (id, key, account, name),
        )
    for i, person in enumerate(to):
        role = roles[i] if i < len(roles) else "to"
        conn.execute(
            "insert into message_recipients (message_id, role, name, address) values (?, ?, ?, ?)", (id, role, *person)
        )
    for label in labels:
        conn.execute("insert into message_labels (message_id, label) values (?, ?)", (id, label))
    for part, filename in enumerate(files):
        conn.execute(
            "insert into attachments (message_id, part, filename, size, sha256) values (?, ?, ?, 1, '')",
            (id, part, filename),
        )
    state = {"is_read": 0, "disposition": "inbox", "category": None, "priority": 0} | dict(state or {})
    conn.execute(
        "insert into message_state (message_id, is_read, disposition, category, priority)"
        " values (?, :is_read, :disposition, :category, :priority)".replace("?", ":id"),
        {"id": id, **state},
    )
    (after,) = conn.execute("select coalesce(max(id), 0) from recall_chunks").fetchone()
    for position, chunk in enumerate([text] if isinstance(text, str) else text):
        section = sections[position] if position < len(sections) else "authored"
        conn.execute(
            "insert into recall_chunks (source, source_id, account, thread_id, author, said_at, text, message_id, section,"
            " position, content_hash, policy_version) values ('email', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
            (key, account, thread, " ".join(sender).strip(), date, chunk, id, section, position, _hash(chunk)),
        )
    rows.index_chunks(conn, after)
    return id


def _hash(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:32]


def give_vectors(conn: sqlite3.Connection, vectors: Mapping[int, np.ndarray], fingerprint: str = FINGERPRINT) -> None:
    """Make these chunks' vectors the current generation. Where SQLite cannot have vectors, the test is skipped."""
    if not db.has_vec(conn):
        pytest.skip("this Python's SQLite cannot load sqlite-vec")
    with db.transaction(conn):
        conn.execute(
            "insert into recall_generations (model, dimension, fingerprint, encoding, state, created_at)"
            " values ('test', ?, ?, ?, 'current', '2024-01-01T00:00:00Z')",
            (DIMENSION, fingerprint, vector.ENCODING),
        )
        (generation,) = vector.generations(conn)
        conn.executemany(
            "insert into recall_vectors (generation_id, chunk_id, input_hash, embedding) values (?, ?, 0, ?)",
            [(generation.id, chunk, vector.encode(values)) for chunk, values in vectors.items()],
        )
        vector.rebuild_vec0(conn, generation)


def embedded(values: np.ndarray, fingerprint: str = FINGERPRINT) -> Embedded:
    """A query's vector, as if it had been embedded."""
    return Embedded(values.astype(np.float32), fingerprint, None, 0.5)


def found(conn: sqlite3.Connection, query: str, **options: Any) -> list[int]:
    """The ids of the messages that a keyword search finds, best first."""
    options.setdefault("mode", "keyword")
    options.setdefault("limit", 100)
    return [hit["message_id"] for hit in search.search(conn, query, **options)["hits"]]
