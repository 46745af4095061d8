"""``oaken repair --sections``: everything that is derived from the raw messages, made again, and stored only where it differs.

For a new version of what reads mail, and for rows that were lost. A message keeps its id, its conversation, its labels, read state
and verdicts; passages whose words are the same keep their vectors; verdicts on what says something else now become stale.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import eligible, rows, verdicts
from datasette_oaken.db import transaction
from datasette_oaken.stored import Damaged, proven, text_of, unpack_text

from . import chunks as chunking
from . import store, threads
from .prepare import Prepared
from .progress import Progress
from .workers import Answer, Job, Preparer

BATCH_MESSAGES = 48
BATCH_BYTES = 1_500_000


@dataclass
class Report:
    """How many messages came out otherwise than they were stored, and whose raw bytes could not be read."""

    changed: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class _Batch:
    ids: list[int]
    jobs: list[Job]
    damaged: list[tuple[int, str]]


def remake(conn: sqlite3.Connection, *, processes: int | None = None, quiet: bool = False) -> Report:
    """Make everything again from the raw messages. A transaction a batch: stopped, what is done is done, and may be done again.

    A message whose raw bytes are damaged stays as it is and is listed.
    """
    report = Report()
    total, size = conn.execute("select count(*), coalesce(sum(size), 0) from messages").fetchone()
    if processes is None:
        processes = 0 if size < 2_000_000 else (os.cpu_count() or 1)
    progress = Progress("Reading mail again", unit="messages", total=total, quiet=quiet)
    with progress as bar, Preparer(processes) as preparer:
        for batch, answers in preparer.map(_batches(conn), lambda batch: batch.jobs):
            _write(conn, batch, answers, report)
            bar.update(len(batch.ids) + len(batch.damaged))
    with transaction(conn):
        _mark_copies(conn)
    return report


def _batches(conn: sqlite3.Connection) -> Iterator[_Batch]:
    last = 0
    while True:
        # By id, a few at a time: a cursor held open would see the rows that are written meanwhile.
        found = conn.execute(
            "select m.id, m.content_hash, r.sha256, r.codec, r.raw from messages m left join raw_messages r on r.message_id = m.id"
            " where m.id > ? order by m.id limit ?",
            (last, BATCH_MESSAGES),
        )
        batch, held = _Batch([], [], []), 0
        for id_, content_hash, sha256, codec, stored in found:
            last = id_
            try:
                raw = proven(codec, stored, sha256)
            except Damaged as error:
                batch.damaged.append((id_, str(error)))
                continue
            batch.ids.append(id_)
            batch.jobs.append((raw, content_hash))
            held += len(raw)
            if held >= BATCH_BYTES:
                break
        if not batch.ids and not batch.damaged:
            return
        yield batch


def _write(conn: sqlite3.Connection, batch: _Batch, answers: list[Answer], report: Report) -> None:
    stored = store.Stored()
    failed = list(batch.damaged)
    with transaction(conn):
        (last_chunk,) = conn.execute("select coalesce(max(id), 0) from recall_chunks").fetchone()
        for id_, (raw, _), prepared in zip(batch.ids, batch.jobs, answers, strict=True):
            if isinstance(prepared, str):
                failed.append((id_, prepared))
            else:
                _follow(conn, id_, prepared, raw, stored)
        rows.index_chunks(conn, last_chunk)
        threads.refresh(conn, stored.threads)
        if stored.rewritten:
            verdicts.text_changed(conn, stored.rewritten)
        if stored.placed:
            eligible.refresh(conn, message_ids=stored.placed)
    report.changed += len(stored.placed)
    report.failures += [{"key": str(id_), "error": error, "attempts": 1} for id_, error in failed]


def _follow(conn: sqlite3.Connection, message_id: int, prepared: Prepared, raw: bytes, stored: store.Stored) -> None:
    """Bring one message up to what was prepared from its raw bytes."""
    message = prepared.message
    row = conn.execute(
        "select account, thread_id, subject, from_name, from_address, sent_at, internet_message_id, size, has_attachments,"
        " authored_hash from messages where id = ?",
        (message_id,),
    ).fetchone()
    account, thread_before = row["account"], row["thread_id"]
    thread = threads.tie(conn, account, thread_before, message.internet_message_id, message.references)
    stored.threads |= {thread, thread_before} - {None}

    said = [message.subject, message.from_name, message.from_address, message.sent_at]
    beside = [
        message.internet_message_id,
        prepared.size,
        int(bool(message.attachments)),
        prepared.authored_hash,
    ]
    files = [(a.part, a.filename, a.content_type, a.size, a.sha256, a.content_id) for a in message.attachments]
    # What each passage is indexed with, so that all of them change when one of these does.
    header_same = (
        said == list(row)[2:6]
        and message.recipients == _rows(conn, "role, name, address", "message_recipients", message_id)
        and files == _rows(conn, "part, filename, content_type, size, sha256, content_id", "attachments", message_id)
    )
    text_same = _text_same(conn, message_id, prepared, raw)
    kept = _same_chunks(conn, message_id, prepared) if header_same else {}
    there = [r[0] for r in conn.execute("select id from recall_chunks where message_id = ?", (message_id,))]
    going = [id_ for id_ in there if id_ not in kept.values()]
    coming = [piece for piece in prepared.chunks if piece not in kept]

    if header_same and text_same and beside == list(row)[6:] and not going and not coming:
        if thread != thread_before:
            conn.execute("update messages set thread_id = ? where id = ?", (thread, message_id))
            conn.execute("update recall_chunks set thread_id = ? where message_id = ?", (thread, message_id))
        return
    stored.chunks_deleted += rows.delete_chunks_by_id(conn, going)
    store.update_header(conn, message_id, thread, prepared)
    if not header_same:
        store.clear(conn, message_id, store.PEOPLE_AND_FILES)
        store.put_people_and_files(conn, message_id, prepared)
    if not text_same:
        store.clear(conn, message_id, store.TEXT)
        store.put_text(conn, message_id, prepared)
    store.add_chunks(conn, account, message_id, thread, prepared, coming, stored)
    conn.execute(
        "update recall_chunks set thread_id = ?, policy_version = ? where message_id = ?",
        (thread, chunking.POLICY_VERSION, message_id),
    )
    stored.placed.add(message_id)
    if not (header_same and text_same):
        stored.rewritten.add(message_id)


def _rows(conn: sqlite3.Connection, columns: str, table: str, message_id: int) -> list[tuple[Any, ...]]:
    found = conn.execute(f"select {columns} from {table} where message_id = ? order by id", (message_id,))
    return [tuple(row) for row in found]


def _text_same(conn: sqlite3.Connection, message_id: int, prepared: Prepared, raw: bytes) -> bool:
    row = conn.execute(
        "select text, from_html, language, codec from message_texts where message_id = ?", (message_id,)
    ).fetchone()
    if row is None or (row[1], row[2]) != (int(prepared.message.from_html), prepared.language):
        return False
    if row[0] != prepared.text or row[3] != "raw":
        # Packed as an earlier version, or another zlib, does: the words decide, and they are packed anew.
        try:
            if text_of(conn, message_id) != unpack_text("raw", prepared.text, raw):
                return False
        except zlib.error:
            return False
        conn.execute(
            "update message_texts set text = ?, codec = 'raw' where message_id = ?", (prepared.text, message_id)
        )
    sections = conn.execute(
        "select section, start, stop, why from message_sections where message_id = ? order by position", (message_id,)
    )
    return [tuple(part) for part in sections] == prepared.sections


def _same_chunks(conn: sqlite3.Connection, message_id: int, prepared: Prepared) -> dict[chunking.Chunk, int]:
    """The chunks that are stored as they would be stored now: chunk -> ``recall_chunks.id``."""
    author, sent_at = store.author_of(prepared), prepared.message.sent_at
    wanted = set(prepared.chunks)
    kept: dict[chunking.Chunk, int] = {}
    for id_, *found, by, said_at in conn.execute(
        "select id, section, position, text, content_hash, author, said_at from recall_chunks where message_id = ?",
        (message_id,),
    ):
        piece = chunking.Chunk(*found)
        if piece in wanted and (by, said_at) == (author, sent_at):
            kept[piece] = id_
    return kept


def _mark_copies(conn: sqlite3.Connection) -> None:
    """Which messages are second deliveries, by the Message-IDs and words that were found: the oldest row is the original."""
    conn.execute("drop table if exists temp.copies_now")
    conn.execute(
        "create temp table copies_now as select m.id, nullif(case when m.internet_message_id is not null and m.authored_hash"
        " is not null then (select min(o.id) from messages o where o.internet_message_id = m.internet_message_id"
        " and o.authored_hash = m.authored_hash) end, m.id) as copy_of from messages m"
    )
    differing = [
        (row[0], row[1], row[2])
        for row in conn.execute(
            "select n.id, n.copy_of, m.copy_of from temp.copies_now n join messages m on m.id = n.id"
            " where n.copy_of is not m.copy_of"
        )
    ]
    conn.executemany("update messages set copy_of = ? where id = ?", [(now, id_) for id_, now, _ in differing])
    conn.execute("drop table temp.copies_now")
    touched = {id_ for row in differing for id_ in row if id_ is not None}
    if touched:
        eligible.refresh(conn, message_ids=touched)


__all__ = ["Report", "remake"]
