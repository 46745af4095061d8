"""The main job of the write side: mail in, rows out. Streaming, a transaction a batch, and safe to stop at any moment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import eligible, embedders, questions, rows, verdicts
from datasette_oaken.db import OakenError, transaction
from datasette_oaken.vector import ENCODING, generations

from . import locks, store, threads
from .identity import content_hash
from .marks import store_marks
from .prepare import Prepared
from .progress import Progress
from .sources import Entry, Failure, Source
from .workers import Answer, Job, Preparer

BATCH_MESSAGES = 48
BATCH_BYTES = 1_500_000
COMMIT_MESSAGES = 384
"""Messages a transaction: FTS5 writes a segment at each commit, and fewer, larger ones cost less to merge."""
COMMIT_BYTES = 16_000_000
"""Bytes held for a transaction: large messages are written sooner, so that memory stays bounded."""


@dataclass
class Report:
    """What an ingest did: the design's answer."""

    added: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    duplicates: int = 0
    chunks_added: int = 0
    chunks_deleted: int = 0
    embedding_backlog: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    moved: dict[int, list[int]] = field(
        default_factory=dict
    )  # by question: messages that came into its scope, and left it

    @property
    def seen(self) -> int:
        """Messages met, stored or not."""
        return self.added + self.updated + self.unchanged + self.duplicates + len(self.failures)

    def as_dict(self) -> dict[str, Any]:
        """As ``oaken ingest --json`` prints it."""
        nothing = bool(self.failures) and self.seen == len(self.failures)
        return {
            "ok": not nothing,
            **({"error": "Nothing could be read: see failures.", "code": "nothing_read"} if nothing else {}),
            "added": self.added,
            "updated": self.updated,
            "deleted": self.deleted,
            "unchanged": self.unchanged,
            "duplicates": self.duplicates,
            "chunks_added": self.chunks_added,
            "chunks_deleted": self.chunks_deleted,
            "embedding_backlog": self.embedding_backlog,
            "failures": self.failures,
        }


@dataclass(slots=True)
class _Item:
    """A message on its way: where it lies, and what is known of it."""

    entry: Entry
    raw: bytes | None = None
    hash: str | None = None
    same_place: bool = False  # place, fingerprint and flags are as stored: nothing to do
    error: str | None = None


@dataclass(slots=True)
class _Batch:
    items: list[_Item | Failure]
    jobs: list[Job]
    consumed: int
    prepared: dict[str, Answer] = field(default_factory=dict)  # by content hash, once the workers have answered


def ingest(
    conn: sqlite3.Connection,
    db_path: Path,
    sources: Sequence[Source],
    *,
    account: str = "default",
    model: str | None = None,
    processes: int | None = None,
    quiet: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Bring every message of ``sources`` into the file, once; what is there already only has its places brought up to date.

    ``processes``: how many worker processes parse (default: one a core; none for little mail). What could not be read is
    listed in the report and in ``ingest_failures``, and the rest goes on.

    Raises OakenError (locked, disk_full, database_locked …) when nothing more can be done; what was committed stays.
    """
    report = Report()
    with locks.writer(conn, db_path, "ingest"):
        size = _total(source.size for source in sources)
        count = _total(source.count for source in sources)
        if processes is None:
            little = size is not None and size < 2_000_000
            processes = 0 if little else (os.cpu_count() or 1)
        with transaction(conn):
            store.account(conn, account)
            ensure_generation(conn, model)
        bar = progress or Progress("Reading mail", unit="messages", total=count, size=size, quiet=quiet)
        with bar, Preparer(processes) as preparer:
            before = 0
            for source in sources:
                run = _Run(conn, account, source, report)
                for batch, answers in preparer.map(run.batches(), lambda batch: batch.jobs):
                    run.take(batch, answers)
                    bar.update(len(batch.items), before + batch.consumed)
                run.commit()
                before += source.size or 0
        with transaction(conn):
            questions.mail_moved(
                conn, [eligible.Moved(q, *counts) for q, counts in report.moved.items() if any(counts)]
            )
            rows.set_fact(
                conn,
                "last_ingest",
                {"at": rows.now(), "added": report.added, "updated": report.updated, "failures": len(report.failures)},
            )
    report.embedding_backlog = backlog(conn)
    return report


def ensure_generation(conn: sqlite3.Connection, model: str | None = None) -> None:
    """Make the first generation, for the packaged model or ``model``, when the file has none; chunks queue for it."""
    if not generations(conn):
        make_generation(conn, model)


def make_generation(conn: sqlite3.Connection, model: str | None = None) -> None:
    """Start a generation for ``model``, with every chunk queued for it. Loads no weights."""
    identity = embedders.identify(model)
    generation_id = conn.execute(
        "insert into recall_generations (model, dimension, fingerprint, encoding, state, created_at)"
        " values (?, ?, ?, ?, 'building', ?)",
        (identity.name, identity.dimension, identity.fingerprint, ENCODING, rows.now()),
    ).lastrowid
    conn.execute(
        "insert into embedding_queue (generation_id, chunk_id) select ?, id from recall_chunks", (generation_id,)
    )


def backlog(conn: sqlite3.Connection) -> int:
    """Chunks that still wait to be embedded."""
    return int(conn.execute("select count(*) from embedding_queue").fetchone()[0])


class _Run:
    """One source on its way into one account: batches out to the workers, rows in."""

    def __init__(self, conn: sqlite3.Connection, account: str, source: Source, report: Report) -> None:
        self.conn, self.account, self.source, self.report = conn, account, source, report
        self._mailboxes: dict[str, int] = {}
        self._waiting: list[_Batch] = []
        self._waiting_items = self._waiting_bytes = 0
        self._last_chunk = 0  # the last that is indexed, within a transaction
        self._sent: set[str] = set()  # hashes on their way to the workers, not yet stored
        self._failed_before = store.failed_keys(conn)

    def batches(self) -> Iterator[_Batch]:
        """Read the source, leave out what is known, and put the rest up in batches of jobs."""
        items: list[_Item | Failure] = []
        held = 0
        consumed = 0
        for entry in self.source.entries():
            if isinstance(entry, Failure):
                items.append(entry)
                continue
            item = _Item(entry)
            items.append(item)
            held += self._look(item)
            consumed = entry.consumed
            if len(items) >= BATCH_MESSAGES or held >= BATCH_BYTES:
                yield self._batch(items, consumed)
                items, held = [], 0
        if items:
            yield self._batch(items, consumed)

    def _look(self, item: _Item) -> int:
        """Decide whether the message must be read, and read it. Returns the bytes now held."""
        entry = item.entry
        if entry.fingerprint is not None:
            place = self._stored_place(entry)
            if place is not None and place[1] == entry.fingerprint and place[2] == " ".join(sorted(entry.flags)):
                item.same_place = True
                return 0
        try:
            raw = entry.load()
        except (OSError, ValueError, EOFError) as error:
            item.error = Failure.of(entry, error).error if isinstance(error, OSError) else str(error)
            return 0
        item.raw, item.hash = raw, content_hash(raw)
        return len(raw)

    def _batch(self, items: list[_Item | Failure], consumed: int) -> _Batch:
        hashes = [item.hash for item in items if isinstance(item, _Item) and item.hash]
        known = store.known_contents(self.conn, self.account, hashes)
        jobs: list[Job] = []
        for item in items:
            if not isinstance(item, _Item) or item.hash is None or item.raw is None:
                continue
            if item.hash not in known and item.hash not in self._sent:
                self._sent.add(item.hash)
                jobs.append((item.raw, item.hash))
        return _Batch(items, jobs, consumed)

    def _places(self, items: list[_Item]) -> dict[tuple[str, str], int]:
        """The messages that are stored at the items' places: (mailbox, key) -> message_id."""
        keys: dict[str, list[str]] = {}
        for item in items:
            keys.setdefault(item.entry.mailbox, []).append(item.entry.key)
        return {
            (mailbox, key): found[0]
            for mailbox, wanted in keys.items()
            for key, found in store.known_places(self.conn, self._mailbox(mailbox, create=False), wanted).items()
        }

    def _stored_place(self, entry: Entry) -> tuple[int, str | None, str] | None:
        return store.known_places(self.conn, self._mailbox(entry.mailbox, create=False), [entry.key]).get(entry.key)

    def _mailbox(self, name: str, *, create: bool = True) -> int:
        if name not in self._mailboxes:
            if not create:
                row = self.conn.execute(
                    "select id from mailboxes where account = ? and name = ?", (self.account, name)
                ).fetchone()
                return row[0] if row else -1
            self._mailboxes[name] = store.mailbox(self.conn, self.account, name)
        return self._mailboxes[name]

    def take(self, batch: _Batch, answers: list[Answer]) -> None:
        """Keep a finished batch; write when enough have gathered."""
        batch.prepared = {hash_: answer for (_, hash_), answer in zip(batch.jobs, answers, strict=True)}
        batch.jobs = []
        for item in batch.items:
            if isinstance(item, _Item) and item.raw is not None:
                answer = batch.prepared.get(item.hash or "")
                if isinstance(answer, Prepared):
                    item.raw = None  # it is in the answer, compressed
                    self._waiting_bytes += len(answer.raw) + len(answer.text)
                else:
                    self._waiting_bytes += len(item.raw)
        self._waiting.append(batch)
        self._waiting_items += len(batch.items)
        if self._waiting_items >= COMMIT_MESSAGES or self._waiting_bytes >= COMMIT_BYTES:
            self.commit()

    def commit(self) -> None:
        """Write what has gathered, in one transaction. The report counts it only once it is committed."""
        if not self._waiting:
            return
        stored = store.Stored()
        failures: list[dict[str, Any]] = []
        self._mailboxes.clear()
        with transaction(self.conn):
            self._last_chunk = self._newest_chunk()
            for batch in self._waiting:
                self._write(batch, stored, failures)
            threads.refresh(self.conn, stored.threads)
            store.follow_flags(self.conn, stored.placed)
            rows.index_chunks(self.conn, self._last_chunk)
            if stored.rewritten:
                verdicts.text_changed(self.conn, stored.rewritten)
            moved = eligible.refresh(self.conn, message_ids=stored.placed)
        for one in moved:
            sums = self.report.moved.setdefault(one.question_id, [0, 0])
            sums[0] += one.added
            sums[1] += one.removed
        for batch in self._waiting:
            self._sent.difference_update(batch.prepared)
        self._waiting, self._waiting_items, self._waiting_bytes = [], 0, 0
        self.report.added += stored.added
        self.report.updated += stored.updated
        self.report.unchanged += stored.unchanged
        self.report.duplicates += stored.duplicates
        self.report.chunks_added += stored.chunks_added
        self.report.chunks_deleted += stored.chunks_deleted
        self.report.failures += failures

    def _newest_chunk(self) -> int:
        return int(self.conn.execute("select coalesce(max(id), 0) from recall_chunks").fetchone()[0])

    def _write(self, batch: _Batch, stored: store.Stored, failures: list[dict[str, Any]]) -> None:
        read = [item for item in batch.items if isinstance(item, _Item) and item.hash]
        known = store.known_contents(self.conn, self.account, [item.hash for item in read if item.hash])
        places = self._places(read)
        for item in batch.items:
            if isinstance(item, Failure):
                self._fail(item.key, item.mailbox, item.error, 1, None, failures)
            elif item.error is not None:
                self._fail(item.entry.key, item.entry.mailbox, item.error, 1, None, failures)
            elif item.same_place:
                stored.unchanged += 1
            else:
                self._write_item(item, batch.prepared, known, places, stored, failures)

    def _write_item(
        self,
        item: _Item,
        prepared: dict[str, Answer],
        known: dict[str, int],
        places: dict[tuple[str, str], int],
        stored: store.Stored,
        failures: list[dict[str, Any]],
    ) -> None:
        entry, raw, hash_ = item.entry, item.raw, item.hash
        assert hash_ is not None
        mailbox_id = self._mailbox(entry.mailbox)
        before = places.get((entry.mailbox, entry.key))
        place = store.Place(mailbox_id, entry.key, entry.fingerprint, entry.flags, entry.labels)
        answer = prepared.get(hash_)
        if hash_ in known:
            message_id = known[hash_]
            if before == message_id:
                stored.unchanged += 1
            else:
                stored.duplicates += 1
        elif answer is None or isinstance(answer, str):
            # None: the same bytes failed earlier in this run, under another key.
            self._fail(entry.key, entry.mailbox, answer or "the same message failed before", 2, raw, failures)
            return
        else:
            if before is not None and self._supersedes(before, answer, place):
                # It may have come in this very transaction, and FTS can only forget what it was shown.
                rows.index_chunks(self.conn, self._last_chunk)
                self._last_chunk = self._newest_chunk()
                store.replace_message(self.conn, self.account, before, answer, stored)
                message_id = before
            else:
                message_id = store.add_message(self.conn, self.account, answer, stored)
            known[hash_] = message_id
        store.put_place(self.conn, message_id, self._marked(place, raw, answer))
        stored.placed.add(message_id)
        if entry.key in self._failed_before:
            store.clear_failure(self.conn, entry.key)

    def _supersedes(self, message_id: int, answer: Any, place: store.Place) -> bool:
        """Whether the new content is a later version of the message stored there, rather than another message.

        Only the same Message-ID says so, and only where the old version lies nowhere else: otherwise both are kept.
        """
        (id_there,) = self.conn.execute(
            "select internet_message_id from messages where id = ?", (message_id,)
        ).fetchone()
        return (
            id_there is not None
            and id_there == answer.message.internet_message_id
            and not store.has_other_place(self.conn, message_id, place)
        )

    def _marked(self, place: store.Place, raw: bytes | None, answer: Answer | None) -> store.Place:
        """The place with the flags and labels that the store wrote into the message itself (Status, X-Gmail-Labels)."""
        if isinstance(answer, Prepared):
            flags, labels = frozenset(answer.message.flags), tuple(answer.message.labels)
        else:
            flags, labels = store_marks(raw or b"")
        if not flags and not labels:
            return place
        return store.Place(
            place.mailbox_id,
            place.key,
            place.fingerprint,
            place.flags | flags,
            tuple(dict.fromkeys([*place.labels, *labels])),
        )

    def _fail(
        self,
        key: str,
        mailbox: str | None,
        error: str,
        attempts: int,
        raw: bytes | None,
        failures: list[dict[str, Any]],
    ) -> None:
        store.put_failure(self.conn, self.source.kind, mailbox, key, error, attempts, raw)
        failures.append({"key": key, "error": error, "attempts": attempts})


def _total(values: Any) -> int | None:
    """The sum, or None when any part is not known."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


__all__ = ["OakenError", "Report", "backlog", "ensure_generation", "ingest", "make_generation"]
