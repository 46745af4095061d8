"""One source on its way into one account: what is known is left out, the rest goes to the workers, and rows come in.

Streaming, a transaction a batch, and safe to stop at any moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import eligible, rows, verdicts
from datasette_oaken.db import transaction

from . import cursors, failures, places, store, threads
from .identity import content_hash
from .marks import store_marks
from .outcome import Report
from .prepare import Prepared
from .sources import Entry, Failure, Resumed, Source, key_of
from .workers import Answer, Job

BATCH_MESSAGES = 48
BATCH_BYTES = 1_500_000
COMMIT_MESSAGES = 384
"""Messages a transaction: FTS5 writes a segment at each commit, and fewer, larger ones cost less to merge."""
COMMIT_BYTES = 16_000_000
"""Bytes held for a transaction: large messages are written sooner, so that memory stays bounded."""


@dataclass(slots=True)
class _Item:
    """A message on its way: where it lies, and what is known of it."""

    entry: Entry
    raw: bytes | None = None
    hash: str | None = None
    same_place: bool = False  # all that the source says of the place is as stored: nothing to do
    error: str | None = None


@dataclass(slots=True)
class Batch:
    """A run of messages, with the jobs that the workers have to do for it."""

    items: list[_Item | Failure | Resumed]
    jobs: list[Job]
    consumed: int
    prepared: dict[str, Answer] = field(default_factory=dict)  # by content hash, once the workers have answered


class Run:
    """One source, read from its beginning or from where it was read to.

    ``seen``: where the places that are met are written down, or None when the account has none that could be missed.
    ``whole``: read everything again, whatever the cursors say.
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        account: str,
        source: Source,
        report: Report,
        *,
        seen: places.Seen | None = None,
        whole: bool = False,
    ) -> None:
        self.conn, self.account, self.source, self.report, self.seen = conn, account, source, report, seen
        self._mailboxes: dict[str, int] = {}
        self._waiting: list[Batch] = []
        self._waiting_items = self._waiting_bytes = 0
        self._last_chunk = 0  # the last that is indexed, within a transaction
        self._sent: set[str] = set()  # hashes on their way to the workers, not yet stored
        self._failed_before = failures.listed(conn, account)
        self._cursors = {} if whole else cursors.load(conn, account)
        self._files: set[tuple[str, str]] = set()  # (mailbox, name) of the files read here that hold many messages
        self._unfinished: set[str] = set()  # of those, and of others, what was not read whole
        self._failed: set[str] = set()

    def batches(self) -> Iterator[Batch]:
        """Read the source, leave out what is known, and put the rest up in batches of jobs."""
        items: list[_Item | Failure | Resumed] = []
        held = 0
        consumed = 0
        for entry in self.source.entries(self._cursors):
            consumed = entry.consumed
            if not isinstance(entry, Entry):
                items.append(entry)
            else:
                item = _Item(entry)
                items.append(item)
                held += self._look(item)
            if len(items) >= BATCH_MESSAGES or held >= BATCH_BYTES:
                yield self._batch(items, consumed)
                items, held = [], 0
        if items:
            yield self._batch(items, consumed)

    def _look(self, item: _Item) -> int:
        """Decide whether the message must be read, and read it. Returns the bytes now held."""
        entry = item.entry
        if entry.fingerprint is not None:
            mailbox_id = self._mailbox(entry.mailbox, create=False)
            if places.stored_as(self.conn, mailbox_id, entry.key) == places.fingerprint(entry):
                item.same_place = True
                return 0
        try:
            raw = entry.load()
        except (OSError, ValueError, EOFError) as error:
            item.error = Failure.of(entry, error).error if isinstance(error, OSError) else str(error)
            return 0
        item.raw, item.hash = raw, content_hash(raw)
        return len(raw)

    def _batch(self, items: list[_Item | Failure | Resumed], consumed: int) -> Batch:
        hashes = [item.hash for item in items if isinstance(item, _Item) and item.hash]
        known = store.known_contents(self.conn, self.account, hashes)
        jobs: list[Job] = []
        for item in items:
            if not isinstance(item, _Item) or item.hash is None or item.raw is None:
                continue
            if item.hash not in known and item.hash not in self._sent:
                self._sent.add(item.hash)
                jobs.append((item.raw, item.hash))
        return Batch(items, jobs, consumed)

    def _places(self, items: list[_Item]) -> dict[tuple[str, str], int]:
        """The messages that are stored at the items' places: (mailbox, key) -> message_id."""
        keys: dict[str, list[str]] = {}
        for item in items:
            keys.setdefault(item.entry.mailbox, []).append(item.entry.key)
        return {
            (mailbox, key): found[0]
            for mailbox, wanted in keys.items()
            for key, found in places.known(self.conn, self._mailbox(mailbox, create=False), wanted).items()
        }

    def _mailbox(self, name: str, *, create: bool = True) -> int:
        if name not in self._mailboxes:
            if not create:
                row = self.conn.execute(
                    "select id from mailboxes where account = ? and name = ?", (self.account, name)
                ).fetchone()
                if row is None:
                    return -1
                self._mailboxes[name] = int(row[0])
                return self._mailboxes[name]
            self._mailboxes[name] = store.mailbox(self.conn, self.account, name)
        return self._mailboxes[name]

    def take(self, batch: Batch, answers: list[Answer]) -> None:
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
        failed: list[dict[str, Any]] = []
        self._mailboxes.clear()
        with transaction(self.conn):
            self._last_chunk = self._newest_chunk()
            for batch in self._waiting:
                self._write(batch, stored, failed)
            self._write_down_places()
            threads.refresh(self.conn, stored.threads)
            places.follow(self.conn, stored.placed)
            rows.index_chunks(self.conn, self._last_chunk)
            if stored.rewritten:
                verdicts.text_changed(self.conn, stored.rewritten)
            moved = eligible.refresh(self.conn, message_ids=stored.placed)
        self._moved(moved)
        for batch in self._waiting:
            self._sent.difference_update(batch.prepared)
        self._waiting, self._waiting_items, self._waiting_bytes = [], 0, 0
        self.report.added += stored.added
        self.report.updated += stored.updated
        self.report.unchanged += stored.unchanged
        self.report.duplicates += stored.duplicates
        self.report.chunks_added += stored.chunks_added
        self.report.chunks_deleted += stored.chunks_deleted
        self.report.failures += failed

    def finish(self) -> None:
        """The source was read to its end: write the last, and let go of what is known to be so no longer."""
        self.commit()
        recurred = self._failed
        over = [
            key
            for key, has_bytes in self._failed_before.items()
            # What could not even be read, and is not listed now; what was read is kept until it is stored.
            if key not in recurred and not has_bytes and self._covers(key)
        ]
        with transaction(self.conn):
            if over:
                failures.clear(self.conn, self.account, over)
            if self.seen is not None:
                moved: set[int] = set()
                for mailbox, name in sorted(self._files):
                    if name not in self._unfinished:
                        moved |= self.seen.drop_old(self._mailbox(mailbox, create=False), name)
                if moved:
                    places.follow(self.conn, moved)
                    self._moved(eligible.refresh(self.conn, message_ids=moved))

    def _covers(self, key: str) -> bool:
        root = getattr(self.source, "path", None) or getattr(self.source, "root", None)
        return root is not None and places.lies_in(key, key_of(root))

    def _moved(self, moved: list[eligible.Moved]) -> None:
        for one in moved:
            sums = self.report.moved.setdefault(one.question_id, [0, 0])
            sums[0] += one.added
            sums[1] += one.removed

    def _write_down_places(self) -> None:
        """Which places were met, and how far each file was read: with the messages, in one transaction."""
        reached: dict[tuple[str, str], str] = {}
        met: list[tuple[int, str]] = []
        for batch in self._waiting:
            for item in batch.items:
                if not isinstance(item, _Item):
                    continue
                entry = item.entry
                if self.seen is not None:
                    met.append((self._mailbox(entry.mailbox, create=False), entry.key))
                if entry.cursor is not None:
                    reached[entry.mailbox, entry.cursor[0]] = entry.cursor[1]
                if (name := places.file_of(entry.key)) is not None:
                    self._files.add((entry.mailbox, name))
        if self.seen is not None:
            self.seen.add(met)
        cursors.store(self.conn, self.account, reached)

    def _newest_chunk(self) -> int:
        return int(self.conn.execute("select coalesce(max(id), 0) from recall_chunks").fetchone()[0])

    def _write(self, batch: Batch, stored: store.Stored, failed: list[dict[str, Any]]) -> None:
        read = [item for item in batch.items if isinstance(item, _Item) and item.hash]
        known = store.known_contents(self.conn, self.account, [item.hash for item in read if item.hash])
        there = self._places(read)
        for item in batch.items:
            if isinstance(item, Resumed):
                mailbox_id = self._mailbox(item.mailbox, create=False)
                stored.unchanged += places.before(self.conn, mailbox_id, item.name, item.start)
                self._unfinished.add(item.name)
            elif isinstance(item, Failure):
                self._fail(item.key, item.mailbox, item.error, 1, None, failed)
                self._unfinished.add(places.file_of(item.key) or item.key)
                self.report.unlisted.append(item.key)
            elif item.error is not None:
                self._fail(item.entry.key, item.entry.mailbox, item.error, 1, None, failed)
            elif item.same_place:
                stored.unchanged += 1
            else:
                self._write_item(item, batch.prepared, known, there, stored, failed)

    def _write_item(
        self,
        item: _Item,
        prepared: dict[str, Answer],
        known: dict[str, int],
        there: dict[tuple[str, str], int],
        stored: store.Stored,
        failed: list[dict[str, Any]],
    ) -> None:
        entry, raw, hash_ = item.entry, item.raw, item.hash
        assert hash_ is not None
        mailbox_id = self._mailbox(entry.mailbox)
        before = there.get((entry.mailbox, entry.key))
        place = places.Place(mailbox_id, entry.key, places.fingerprint(entry), entry.flags, entry.labels)
        answer = prepared.get(hash_)
        if hash_ in known:
            message_id = known[hash_]
            name = places.file_of(entry.key)
            if before == message_id or (name and self.seen and self.seen.moved(message_id, mailbox_id, name)):
                stored.unchanged += 1
            else:
                stored.duplicates += 1
        elif answer is None or isinstance(answer, str):
            # None: the same bytes failed earlier in this run, under another key.
            self._fail(entry.key, entry.mailbox, answer or "the same message failed before", 2, raw, failed)
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
        if before is not None and before != message_id:
            places.displace(self.conn, before, place)
        places.put(self.conn, message_id, self._marked(place, raw, answer))
        there[entry.mailbox, entry.key] = message_id
        stored.placed.add(message_id)
        if entry.key in self._failed_before:
            failures.clear(self.conn, self.account, [entry.key])

    def _supersedes(self, message_id: int, answer: Prepared, place: places.Place) -> bool:
        """Whether the new content is a later version of the message stored there, rather than another message.

        Only the same Message-ID says so, and only where the old version lies nowhere else: otherwise both are kept.
        """
        (id_there,) = self.conn.execute(
            "select internet_message_id from messages where id = ?", (message_id,)
        ).fetchone()
        return (
            id_there is not None
            and id_there == answer.message.internet_message_id
            and not places.has_other(self.conn, message_id, place)
        )

    def _marked(self, place: places.Place, raw: bytes | None, answer: Answer | None) -> places.Place:
        """The place with the flags and labels that the store wrote into the message itself (Status, X-Gmail-Labels)."""
        if isinstance(answer, Prepared):
            flags, labels = frozenset(answer.message.flags), tuple(answer.message.labels)
        else:
            flags, labels = store_marks(raw or b"")
        if not flags and not labels:
            return place
        return places.Place(
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
        failed: list[dict[str, Any]],
    ) -> None:
        self._failed.add(key)
        failures.put(self.conn, self.account, self.source.kind, mailbox, key, error, attempts, raw)
        failed.append({"key": key, "error": error, "attempts": attempts})
