"""Keeping ``recall_eligible`` what the scopes come to, as mail comes, changes and goes.

A saying counts once: of a message and its second deliveries (``copy_of``) that are in the scope one row stands for all, the
original where it is among them, else the oldest; the others are counted in ``copies``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from datasette.utils.sqlite import sqlite3

from . import filters, verdicts
from .scope import filters_of

_GROUP = "coalesce(m.copy_of, m.id)"


@dataclass(frozen=True, slots=True)
class Moved:
    """How a refresh changed what a question is asked of."""

    question_id: int
    added: int
    removed: int


def lot(seed: int, content_hash: str) -> int:
    """A message's place in the order of a question's random sample: 63 bits that no one can know without the seed.

    Permanent random numbers (Ohlsson 1995): a message keeps its place, so that the first n of any stratum stay a simple random
    sample of it, however it grows.
    """
    digest = hashlib.blake2b(content_hash.encode(), key=seed.to_bytes(8, "big", signed=True), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def refresh(
    conn: sqlite3.Connection, question_id: int | None = None, message_ids: Iterable[int] | None = None
) -> list[Moved]:
    """Bring what one question (or each) is asked of up to its scope; with ``message_ids``, only as far as these go.

    Inside the caller's transaction. ``message_ids`` may name messages that are gone. Returns the questions that changed.
    """
    ids = None if message_ids is None else json.dumps(sorted(set(message_ids)))
    if ids == "[]":
        return []
    asked = conn.execute(
        "select id, scope_resolved, seed from recall_questions where ?1 is null or id = ?1", (question_id,)
    ).fetchall()
    if not asked:
        return []
    filters.prepare(conn)
    moved = []
    for question, scope, seed in asked:
        wanted = _in_scope(conn, scope, ids)
        present = dict(_present(conn, question, ids))
        gone = [m for m in present if m not in wanted]
        new = [(m, content, copies) for m, (content, copies) in wanted.items() if m not in present]
        changed = [(wanted[m][1], question, m) for m in present if m in wanted and present[m] != wanted[m][1]]
        conn.executemany(
            "delete from recall_eligible where question_id = ? and message_id = ?", [(question, m) for m in gone]
        )
        conn.executemany("update recall_eligible set copies = ? where question_id = ? and message_id = ?", changed)
        conn.executemany(
            "insert into recall_eligible (question_id, message_id, lot, copies) values (?, ?, ?, ?)",
            [(question, m, lot(seed, content), copies) for m, content, copies in new],
        )
        if new and conn.execute("select 1 from recall_verdicts where question_id = ? limit 1", (question,)).fetchone():
            verdicts.settle(conn, question, [m for m, _, _ in new])
        if new or gone:
            moved.append(Moved(question, len(new), len(gone)))
    return moved


def _in_scope(conn: sqlite3.Connection, scope: str, ids: str | None) -> dict[int, tuple[str, int]]:
    """The messages that stand for their sayings, with their content_hash and how many copies each has in the scope."""
    condition, values = filters.condition(filters_of(scope)) or ("1", [])
    if ids is not None:
        # All deliveries of what is named, since another of them may have stood for it, or may now.
        condition = (
            f"({condition}) and (m.id in (select value from json_each(?)) or m.copy_of in (select value from json_each(?))"
            " or m.id in (select o.copy_of from messages o where o.id in (select value from json_each(?)))"
            " or m.copy_of in (select o.copy_of from messages o where o.id in (select value from json_each(?))))"
        )
        values = [*values, ids, ids, ids, ids]
    grouped = conn.execute(
        f"select case when max(m.copy_of is null) then {_GROUP} else min(m.id) end, count(*) - 1"
        f" from messages m where {condition} group by {_GROUP}",
        values,
    ).fetchall()
    stands = {row[0]: row[1] for row in grouped}
    content = conn.execute(
        "select id, content_hash from messages where id in (select value from json_each(?))",
        (json.dumps(list(stands)),),
    )
    return {id_: (hash_, stands[id_]) for id_, hash_ in content}


def _present(conn: sqlite3.Connection, question: int, ids: str | None) -> list[tuple[int, int]]:
    sql, values = "select message_id, copies from recall_eligible where question_id = ?", [question]
    if ids is not None:
        sql += (
            " and message_id in (select value from json_each(?2)"
            " union select o.copy_of from messages o where o.id in (select value from json_each(?2))"
            " union select o.id from messages o where o.copy_of in (select value from json_each(?2))"
            " union select o.id from messages o where o.copy_of in"
            " (select i.copy_of from messages i where i.id in (select value from json_each(?2))))"
        )
        values.append(ids)  # type: ignore[arg-type]
    return [(row[0], row[1]) for row in conn.execute(sql.replace("question_id = ?", "question_id = ?1"), values)]


def drift(conn: sqlite3.Connection) -> int:
    """How much of what counts are read from is not what it is derived from: 0, unless something else wrote to the file."""
    wrong = 0
    for one, other in ((_ADDED_UP, _TALLIED), (_TALLIED, _ADDED_UP)):
        wrong += conn.execute(
            f"select count(*) from (select * from ({one}) except select * from ({other}))"
        ).fetchone()[0]
    wrong += conn.execute(
        "select count(*) from recall_eligible e left join recall_verdicts v on v.id = e.verdict_id"
        " where (e.status is not null and v.status is not e.status)"
        " or (e.verdict_id is not null and (v.message_id is not e.message_id or v.question_id is not e.question_id))"
    ).fetchone()[0]
    return int(wrong)


def remake(conn: sqlite3.Connection) -> None:
    """Make all of ``recall_eligible``, and its sums, again from the questions, the mail, the verdicts and the reviews.

    What was read of each message stays. Inside the caller's transaction.
    """
    refresh(conn)
    for row in conn.execute("select id from recall_questions").fetchall():
        verdicts.settle(conn, row[0])
    conn.execute("delete from recall_tallies")
    conn.execute(f"insert into recall_tallies (question_id, status, answer, messages, stale, copies) {_ADDED_UP}")


_ADDED_UP = (
    "select question_id, coalesce(status, '') as status, coalesce(answer, -1) as answer, count(*) as messages,"
    " sum(stale) as stale, sum(copies) as copies from recall_eligible group by 1, 2, 3"
)
_TALLIED = "select question_id, status, answer, messages, stale, copies from recall_tallies where messages > 0"
