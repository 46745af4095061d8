"""The one search that command, page, API and agents share: a query in, the search answer out. It never writes.

Embedding is the caller's (``embedders.QueryEmbedder``), since it must not hold up a database thread.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from datasette.utils.sqlite import sqlite3

from . import filters, keyword, vector
from .db import OakenError
from .embedders import Embedded
from .fusion import ChunkFacts, Hit, fuse
from .hits import Hydrator
from .postings import THESE, Scope, rows
from .query import Query, parse
from .settings import SearchSettings
from .terms import term

MODES = {
    **{name: name for name in ("hybrid", "keyword", "vector")},
    **{"fts": "keyword", "bm25": "keyword", "semantic": "vector"},
}
"""What may be asked for, and the mode that it means."""

FEW = 50
"""Chunks left out by filters, up to which the KNN is asked for that many more."""

log = logging.getLogger(__name__)


def read_mode(mode: str) -> str:
    """``hybrid``, ``keyword`` or ``vector``, by any of its names. Raises OakenError bad_mode."""
    try:
        return MODES[mode.strip().lower()]
    except KeyError:
        raise OakenError(f"There is no search mode {mode!r}: use hybrid, keyword or vector.", "bad_mode") from None


@dataclass(frozen=True)
class Cursor:
    """Where a page begins: how many hits came before, in which fusion. ``until`` keeps newer mail from moving it."""

    query: str
    offset: int
    until: int
    degraded_reason: str | None

    def token(self) -> str:
        """The opaque text of ``next``."""
        data = json.dumps([self.query, self.offset, self.until, self.degraded_reason], separators=(",", ":"))
        return base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, token: str) -> Cursor:
        """Raises OakenError bad_next."""
        try:
            data = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            query, offset, until, reason = data
            if not (isinstance(query, str) and isinstance(offset, int) and isinstance(until, int) and offset >= 0):
                raise ValueError
            if reason is not None and not isinstance(reason, str):
                raise ValueError
            return cls(query, offset, until, reason)
        except (ValueError, TypeError) as error:
            raise OakenError("This is not a page of a search: begin again without next.", "bad_next") from error


def search(
    conn: sqlite3.Connection,
    query: str | Query,
    *,
    mode: str = "hybrid",
    limit: int = 10,
    next: str | None = None,
    settings: SearchSettings | None = None,
    embedded: Embedded | None = None,
    accounts: Sequence[str] | None = None,
    today: date | None = None,
    collapse: str = "message",
) -> dict[str, Any]:
    """The search answer of the design for one page of ``limit`` hits.

    ``next``: the ``next`` of the page before. ``embedded``: the query's ``free_text`` as a vector, or why there is none.
    ``accounts``: the only accounts that may be seen (None: every one). ``collapse``: ``message``, or ``thread`` for one
    hit a conversation, its best message (of the newest messages: its newest), with the others in ``in_thread``.

    Raises OakenError: bad_mode, bad_limit, bad_next, bad_collapse.
    """
    began = time.perf_counter()
    settings = settings or SearchSettings()
    mode = read_mode(mode)
    if limit < 1:
        raise OakenError("limit must be 1 or more.", "bad_limit")
    if collapse not in ("message", "thread"):
        raise OakenError(f"Hits cannot be collapsed to {collapse!r}: use message or thread.", "bad_collapse")
    if isinstance(query, str):
        query = parse(query, today=today, categories=settings.categories)
    with _snapshot(conn):
        cursor = _cursor(conn, query, mode, accounts, collapse, next)
        return _Search(conn, query, mode, limit, settings, embedded, accounts, collapse, cursor).answer(began)


@contextmanager
def _snapshot(conn: sqlite3.Connection) -> Iterator[None]:
    """One state of the file for all that a search reads, whatever is being ingested beside it."""
    if conn.in_transaction:
        yield
        return
    conn.execute("begin")
    try:
        yield
    finally:
        conn.execute("rollback")


def _cursor(
    conn: sqlite3.Connection, query: Query, mode: str, accounts: Sequence[str] | None, collapse: str, token: str | None
) -> Cursor:
    asked = json.dumps([query.as_dict(), mode, sorted(accounts) if accounts is not None else None, collapse])
    digest = hashlib.sha256(asked.encode()).hexdigest()[:12]
    if not token:
        (until,) = conn.execute("select coalesce(max(id), 0) from messages").fetchone()
        return Cursor(digest, 0, until, None)
    cursor = Cursor.read(token)
    if cursor.query != digest:
        raise OakenError("This page belongs to another search: begin again without next.", "bad_next")
    return cursor


@dataclass
class _Search:
    conn: sqlite3.Connection
    query: Query
    mode: str
    limit: int
    settings: SearchSettings
    embedded: Embedded | None
    accounts: Sequence[str] | None
    collapse: str
    cursor: Cursor

    def answer(self, began: float) -> dict[str, Any]:
        filters.prepare(self.conn)
        self.timings: dict[str, float] = {}
        self.degraded_reason: str | None = None
        self.weights: dict[str, float] = {}
        self.coverage = vector.coverage(self.conn)
        self.want = keyword.wanted(self.query.words, self.query.phrases)
        self.scope = self._scope()
        if self.query.words or self.query.phrases:
            hits, more = self._ranked()
        else:
            hits, more = self._newest()
        after = Cursor(self.cursor.query, self.cursor.offset + len(hits), self.cursor.until, self.degraded_reason)
        shown = Hydrator(self.conn, self.scope.condition, self.want, self.weights, self.settings.rrf_k).hits(hits)
        self.timings["total"] = (time.perf_counter() - began) * 1000
        return {
            "ok": True,
            "query": self.query.as_dict(),
            "mode": self.mode,
            "warnings": list(self.query.warnings),
            "degraded": self.degraded_reason is not None,
            "degraded_reason": self.degraded_reason,
            "coverage": round(self.coverage, 4),
            "returned": len(shown),
            "limit": self.limit,
            "truncated": more,
            "next": after.token() if more else None,
            "timings_ms": {name: round(ms, 2) for name, ms in self.timings.items()},
            "hits": shown,
        }

    def _scope(self) -> Scope:
        condition = filters.condition(self.query.filters, self.accounts)
        (newest,) = self.conn.execute("select max(id) from messages").fetchone()
        if (newest or 0) > self.cursor.until:  # mail has come in since the first page
            condition = filters.both(condition, ("m.id <= ?", [self.cursor.until]))
        everything = Scope(self.conn, None)
        without: set[int] = set()
        for item in self.query.excluded:
            left_out = term(item.strip('"'), item.startswith('"'))
            if left_out is not None:
                without.update(everything.messages_with(left_out).tolist())
        return Scope(self.conn, condition, sorted(without))

    def _ranked(self) -> tuple[list[Hit], bool]:
        settings = self.settings
        lists: dict[str, list[int]] = {}
        held: dict[int, int] = {}
        facts: dict[int, ChunkFacts] = {}
        if self.mode != "keyword":
            began = time.perf_counter()
            try:
                lists["vector"] = self._nearest()
                facts |= self._facts(lists["vector"])
            except vector.VectorUnavailable as unavailable:
                self.degraded_reason = unavailable.reason
            except Exception as error:
                # Search never fails because the vector side does. An interrupt is the caller's own time limit.
                if isinstance(error, sqlite3.OperationalError) and "interrupt" in str(error):
                    raise
                log.warning("The vector side of a search failed: %s", type(error).__name__)
                self.degraded_reason = "error"
            self.timings["vector"] = (time.perf_counter() - began) * 1000
        if self.mode != "vector" or self.degraded_reason:  # a degraded answer is the keywords', whatever was asked for
            began = time.perf_counter()
            found = keyword.retrieve(
                self.want,
                self.scope,
                depth=settings.max_candidates,
                min_match=settings.keyword_min_match,
            )
            lists["keyword"] = [hit.facts.chunk_id for hit in found]
            held = {hit.facts.chunk_id: hit.held for hit in found}
            facts |= {hit.facts.chunk_id: hit.facts for hit in found}
            self.timings["keyword"] = (time.perf_counter() - began) * 1000
        lists = {name: lists[name] for name in ("keyword", "vector") if name in lists}
        self.weights = {
            "keyword": settings.keyword_weight * (settings.exact_boost if self.want.exact else 1.0),
            # While only some passages are embedded, those would beat better ones that are not yet: being one of few
            # candidates is no merit, so the vector side counts by its share.
            "vector": settings.vector_weight * self.coverage,
        }
        fused = fuse(lists, facts, self.weights, settings.rrf_k, held)[: settings.max_candidates]
        start = self.cursor.offset
        if self.collapse == "thread":
            fused = self._one_a_thread(fused)
        return fused[start : start + self.limit], len(fused) > start + self.limit

    def _one_a_thread(self, hits: list[Hit]) -> list[Hit]:
        """The first hit of each conversation, with the others' messages; a message in none stands for itself."""
        ids = json.dumps([hit.message_id for hit in hits])
        thread_of = dict(rows(self.conn, f"select id, thread_id from messages where id {THESE}", [ids]))
        first: dict[int, Hit] = {}
        for hit in hits:
            best = first.setdefault(thread_of.get(hit.message_id) or -hit.message_id, hit)
            if best is not hit:
                best.in_thread.append(hit.message_id)
        return list(first.values())

    def _nearest(self) -> list[int]:
        """The chunks nearest in meaning. A later page of a degraded answer stays degraded: pages are of one fusion."""
        if self.cursor.degraded_reason is not None:
            raise vector.VectorUnavailable(self.cursor.degraded_reason)
        if self.embedded is None:
            raise vector.VectorUnavailable("no_embedder")
        self.timings["embed"] = self.embedded.ms
        if self.embedded.vector is None or self.embedded.reason is not None:
            raise vector.VectorUnavailable(self.embedded.reason or "error")
        within, k = self.scope.chunks, self.settings.max_candidates
        left_out = 0 if within is None else int((self.scope.of > 0).sum()) - len(within)
        if left_out <= FEW:  # asking for as many more is cheaper than naming all the others inside the KNN
            within, k = None, k + left_out
        nearest = vector.nearest(
            self.conn,
            self.embedded.vector,
            fingerprint=self.embedded.fingerprint or "",
            k=k,
            within=None if within is None else within.tolist(),
        )
        chunks = [chunk_id for chunk_id, _ in nearest]
        if left_out and within is None:
            may_answer = set(self.scope.within(np.array(sorted(chunks), np.int64)).tolist())
            chunks = [chunk for chunk in chunks if chunk in may_answer][: self.settings.max_candidates]
        return chunks

    def _facts(self, chunks: list[int]) -> dict[int, ChunkFacts]:
        found = rows(
            self.conn,
            f"select {keyword.FACTS} from recall_chunks c join messages m on m.id = c.message_id where c.id {THESE}",
            [json.dumps(chunks)],
        )
        return {row[0]: ChunkFacts._make(row) for row in found}

    def _newest(self) -> tuple[list[Hit], bool]:
        """No words: the newest messages that the filters leave."""
        sql, values = self.scope.condition or ("1", [])
        newest = "order by sent_at desc, id desc"
        of_thread = f"row_number() over (partition by coalesce(thread_id, -id) {newest})"
        found = rows(
            self.conn,
            f"with allowed as (select m.id, m.copy_of, m.sent_at, m.thread_id from messages m where {sql}),"
            " shown as (select * from allowed a where a.copy_of is null or (a.copy_of not in (select id from allowed)"
            " and a.id = (select min(b.id) from allowed b where b.copy_of = a.copy_of))),"
            f" numbered as (select *, {of_thread if self.collapse == 'thread' else 1} as place from shown)"
            f" select id, sent_at, thread_id from numbered where place = 1 {newest} limit ? offset ?",
            [*values, self.limit + 1, self.cursor.offset],
        )
        hits = []
        for message_id, sent_at, thread_id in found[: self.limit]:
            row = self.conn.execute(
                "select id from recall_chunks where message_id = ? order by section <> 'authored', position limit 1",
                (message_id,),
            ).fetchone()
            hit = Hit(message_id, row[0] if row else None, sent_at or "")
            if self.collapse == "thread" and thread_id is not None:
                others = f"select m.id from messages m where m.thread_id = ? and m.id <> ? and m.copy_of is null and ({sql}) {newest}"
                hit.in_thread = [row[0] for row in rows(self.conn, others, [thread_id, message_id, *values])]
            hits.append(hit)
        return hits, len(found) > self.limit
