"""Hits as the answer shows them: read from the file for the one page that is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from datasette.utils.sqlite import sqlite3

from . import snippets
from .filters import Condition
from .fusion import PARAGRAPH, Hit
from .keyword import Wanted
from .postings import THESE

ALSO_IN = 50
"""How many other holders of a hit's paragraph are listed; ``also_in_count`` counts them all."""


class Hydrator:
    """Hits as the answer shows them."""

    def __init__(
        self,
        conn: sqlite3.Connection,
        condition: Condition | None,
        want: Wanted,
        weights: Mapping[str, float],
        rrf_k: int,
    ) -> None:
        self.conn = conn
        self.condition = condition or ("1", [])
        self.want = want
        self.weights, self.rrf_k = weights, rrf_k

    def hits(self, hits: Sequence[Hit]) -> list[dict[str, Any]]:
        ids = json.dumps([hit.message_id for hit in hits])
        messages = {
            row[0]: row
            for row in self.conn.execute(
                "select m.id, m.thread_id, m.internet_message_id, m.subject, m.from_name, m.from_address, m.sent_at,"
                " m.account, coalesce(s.is_read, 0) from messages m left join message_state s on s.message_id = m.id"
                f" where m.id {THESE}",
                (ids,),
            )
        }
        mailboxes = self._listed(
            "select distinct o.message_id, b.name from message_locations o join mailboxes b on b.id = o.mailbox_id",
            "o",
            ids,
        )
        labels = self._listed("select l.message_id, l.label from message_labels l", "l", ids)
        return [self._hit(hit, messages[hit.message_id], mailboxes, labels) for hit in hits]

    def _listed(self, select: str, table: str, ids: str) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for message_id, name in self.conn.execute(f"{select} where {table}.message_id {THESE} order by 1, 2", (ids,)):
            found.setdefault(message_id, []).append(name)
        return found

    def _hit(
        self, hit: Hit, row: sqlite3.Row, mailboxes: dict[int, list[str]], labels: dict[int, list[str]]
    ) -> dict[str, Any]:
        chunk_id, text, content_hash, spans = self._best_chunk(hit)
        also_in = self._also_in(hit, content_hash) if len(text) >= PARAGRAPH else []
        return {
            "message_id": hit.message_id,
            "thread_id": row[1],
            "chunk_id": chunk_id,
            "score": hit.score,
            "snippet": snippets.snippet(text, spans),
            "why": hit.why(self.weights, self.rrf_k),
            "matched_chunks": hit.matched_chunks,
            "internet_message_id": row[2],
            "subject": row[3],
            "from": {"name": row[4], "address": row[5]},
            "date": row[6],
            "account": row[7],
            "mailboxes": mailboxes.get(hit.message_id, []),
            "labels": labels.get(hit.message_id, []),
            "is_read": bool(row[8]),
            "url": f"/-/oaken/message/{hit.message_id}",
            "also_in": also_in[:ALSO_IN],
            "also_in_count": len(also_in),
            "in_thread": hit.in_thread,
        }

    def _best_chunk(self, hit: Hit) -> tuple[int | None, str, str | None, list[snippets.Span]]:
        """The chunk that stands for a hit: (id, text, content_hash, where the query matches in it).

        The best-ranked one; of a keyword hit, the best-ranked in whose own text something matches.
        """
        chunks = {
            row[0]: (row[0], row[1], row[2])
            for row in self.conn.execute(
                f"select id, text, content_hash from recall_chunks where id {THESE}",
                (json.dumps([hit.chunk_id, *hit.matched_chunks]),),
            )
        }
        if "keyword" in hit.ranks:
            for chunk_id in hit.matched_chunks:
                if spans := snippets.matches(self.conn, chunk_id, chunks[chunk_id][1], self.want.terms):
                    return *chunks[chunk_id], spans
        return *chunks.get(hit.chunk_id or 0, (None, "", None)), []

    def _also_in(self, hit: Hit, content_hash: str | None) -> list[int]:
        """The other messages that hold the hit's paragraph and may be seen, oldest first."""
        sql, values = self.condition
        rows = self.conn.execute(
            "select distinct m.id from recall_chunks c join messages m on m.id = c.message_id"
            f" where c.content_hash = ? and m.id <> ? and ({sql}) order by m.sent_at, m.id",
            [content_hash, hit.message_id, *values],
        ).fetchall()
        return [row[0] for row in rows]
