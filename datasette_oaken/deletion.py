"""Deleting messages from every place that holds anything of them, in one transaction; all doors come through here.

Beside a message's own rows go every reading that holds its words and every verdict that rests on one, other messages' too:
those are not judged then. What is left is what others wrote (a reply that quotes it is another person's message) and a note
with each question whose count may have changed. ``preview`` counts by the same conditions that ``delete_messages`` deletes by.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from datasette.utils.sqlite import sqlite3

from . import conversations, eligible, rows, verdicts
from .changes import changed
from .db import has_vec
from .vector import vec0_tables

CLEANUP_DUE = "cleanup_due"
"""The fact that rows were deleted whose bytes may still be in the file; ``oaken forget`` takes it away when they are not."""

_THESE = "in (select value from json_each(:these))"
_CHUNKS = "in (select value from json_each(:chunks))"
_READINGS = "in (select value from json_each(:readings))"
_VERDICTS = f"message_id {_THESE} or reading_sha256 {_READINGS}"

# The order is that in which foreign keys let them go.
_JUDGED = {
    "recall_reviews": f"verdict_id in (select id from recall_verdicts where {_VERDICTS})",
    "recall_eligible": f"message_id {_THESE}",
    "recall_verdicts": _VERDICTS,
    "recall_reading_parts": f"sha256 {_READINGS}",
    "recall_readings": f"sha256 {_READINGS}",
}
# What rows.delete_chunks deletes: counted here, by the tables in which an index keeps its rows.
_SEARCHED = {
    "recall_chunks_fts": ("recall_chunks_fts_docsize", f"id {_CHUNKS}"),
    "recall_chunks_fts_cjk": ("recall_chunks_fts_cjk_docsize", f"id {_CHUNKS}"),
    "recall_vectors": ("recall_vectors", f"chunk_id {_CHUNKS}"),
    "embedding_queue": ("embedding_queue", f"chunk_id {_CHUNKS}"),
    "recall_chunks": ("recall_chunks", f"id {_CHUNKS}"),
}
_MAIL = {
    **dict.fromkeys(
        (
            *("message_recipients", "attachments", "message_texts", "message_sections", "message_labels"),
            *("message_locations", "message_state", "raw_messages"),
        ),
        f"message_id {_THESE}",
    ),
    "messages": f"id {_THESE}",
}


@dataclass
class Effect:
    """What a forgetting did to one question: eligible messages that went, by what counted of them; verdicts of others."""

    yes: int = 0
    no: int = 0
    unclear: int = 0
    error: int = 0
    not_judged: int = 0
    rested: int = 0
    copies: int = 0
    heirs: int = 0

    def plus(self, other: Effect) -> Effect:
        """Both together."""
        mine, theirs = asdict(self), asdict(other)
        return Effect(**{name: mine[name] + theirs[name] for name in mine})

    def __bool__(self) -> bool:
        return any(asdict(self).values())

    def sentence(self, why: str) -> str:
        """In words and figures, and none of anyone's words."""
        kinds = [
            f"{number:,} {name}"
            for name, number in (
                ("yes", self.yes),
                ("no", self.no),
                ("unclear", self.unclear),
                ("error" if self.error == 1 else "errors", self.error),
                ("not judged", self.not_judged),
            )
            if number
        ]
        gone = self.yes + self.no + self.unclear + self.error + self.not_judged
        their = "its" if gone + self.copies == 1 else "their"
        parts = []
        if gone:
            parts.append(f"{_counted(gone, 'message', 'messages')} {why}: {', '.join(kinds)}")
        if self.copies:
            parts.append(f"{_counted(self.copies, 'second delivery', 'second deliveries')} {why}")
        if self.heirs:
            parts.append(f"{_counted(self.heirs, 'other delivery stands', 'other deliveries stand')} in {their} place")
        if self.rested:
            whose = f"{their} words" if parts else f"the words of messages {why}"
            parts.append(f"{_counted(self.rested, 'verdict', 'verdicts')} of others rested on {whose}")
        return "; ".join(parts) + "."


@dataclass
class Noted:
    """The notes that one forgetting has made, so that its next transaction adds to them instead of making more."""

    rows: dict[int, int] = field(default_factory=dict)  # by question: recall_question_changes.id
    effects: dict[int, Effect] = field(default_factory=dict)


def preview(conn: sqlite3.Connection, message_ids: Iterable[int]) -> dict[str, int]:
    """What ``delete_messages`` would delete, table by table, in rows. Reads only."""
    these = json.dumps(sorted(set(message_ids)))
    return _counts(conn, _values(conn, these), conversations.unnamed(conn, json.loads(these)))


def _counts(conn: sqlite3.Connection, values: dict[str, str], unnamed: list[tuple[str, str]]) -> dict[str, int]:
    def count(table: str, condition: str) -> int:
        return int(conn.execute(f"select count(*) from [{table}] where {condition}", values).fetchone()[0])

    counts = {table: count(table, condition) for table, condition in _JUDGED.items()}
    counts |= {name: count(table, condition) for name, (table, condition) in _SEARCHED.items()}
    if has_vec(conn):
        counts |= {name: count(f"{name}_rowids", f"rowid {_CHUNKS}") for name in sorted(vec0_tables(conn))}
    counts |= {table: count(table, condition) for table, condition in _MAIL.items()}
    counts["threads"] = len(_emptied(conn, values["these"]))
    counts["thread_references"] = len(unnamed)
    return counts


def delete_messages(
    conn: sqlite3.Connection, message_ids: Sequence[int], *, why: str = "forgotten", noted: Noted | None = None
) -> dict[str, int]:
    """Delete these messages and everything that holds their words. Returns the rows deleted, table by table.

    Inside the caller's transaction. ``why`` completes the note "2 messages …" with each question; ``noted`` gathers the notes
    of several transactions into one. A connection without the extension leaves the vec0 rows noted in ``vec0_purges_due``.
    Where a message was delivered twice, the oldest delivery that is left stands for it from now on. Conversations are not
    taken apart. The bytes go from the file by the clean-up that ``CLEANUP_DUE`` asks for.
    """
    wanted = json.dumps(sorted(set(message_ids)))
    there = [row[0] for row in conn.execute(f"select id from messages where id {_THESE}", {"these": wanted})]
    these = json.dumps(there)
    values = _values(conn, these)
    unnamed = conversations.unnamed(conn, there)
    counts = _counts(conn, values, unnamed)
    if not there:
        return counts
    before = _copies(conn)
    effects = _effects(conn, values)
    touched = _deliveries(conn, these)
    threads = {row[0] for row in conn.execute(f"select thread_id from messages where id {_THESE}", {"these": these})}

    waiting = conn.execute(
        f"select question_id, message_id from recall_eligible where reading_sha256 {_READINGS} and message_id not {_THESE}"
        " union"
        f" select question_id, message_id from recall_verdicts where reading_sha256 {_READINGS} and message_id not {_THESE}",
        values,
    ).fetchall()
    conn.execute(f"update recall_eligible set reading_sha256 = null where reading_sha256 {_READINGS}", values)
    for table, condition in _JUDGED.items():
        conn.execute(f"delete from {table} where {condition}", values)
    for question in {row[0] for row in waiting}:
        verdicts.settle(conn, question, [row[1] for row in waiting if row[0] == question])

    rows.delete_chunks(conn, there)
    _reread(conn, these)
    heirs = _inherit(conn, these)
    for table, condition in _MAIL.items():
        conn.execute(f"delete from {table} where {condition}", {"these": these})
    conn.executemany("delete from thread_references where account = ? and internet_message_id = ?", unnamed)
    conversations.refresh(conn, {thread for thread in threads if thread is not None})

    for moved in eligible.refresh(conn, message_ids=[*touched, *heirs]):
        effects.setdefault(moved.question_id, Effect()).heirs += moved.added
    after = _copies(conn)
    for question in {*before, *after}:
        # An heir was a second delivery before, and no one forgot it.
        fewer = before.get(question, 0) - after.get(question, 0) - effects.get(question, Effect()).heirs
        if fewer > 0:
            effects.setdefault(question, Effect()).copies = fewer
    _note(conn, effects, why, noted)
    ask_for_cleanup(conn)
    return counts


def ask_for_cleanup(conn: sqlite3.Connection) -> None:
    """Note, in the transaction that deletes, that bytes of what it deletes will be left in the file."""
    if rows.get_fact(conn, CLEANUP_DUE) is None:
        rows.set_fact(conn, CLEANUP_DUE, {"since": rows.now()})


def _values(conn: sqlite3.Connection, these: str) -> dict[str, str]:
    chunks = [
        row[0] for row in conn.execute(f"select id from recall_chunks where message_id {_THESE}", {"these": these})
    ]
    # By what a reading says of itself, and by what rests on it: either alone is enough to delete it.
    readings = [
        row[0]
        for row in conn.execute(
            f"select sha256 from recall_reading_parts where message_id {_THESE}"
            f" union select reading_sha256 from recall_verdicts where message_id {_THESE}"
            f" union select reading_sha256 from recall_eligible where message_id {_THESE} and reading_sha256 is not null",
            {"these": these},
        )
    ]
    return {"these": these, "chunks": json.dumps(chunks), "readings": json.dumps(readings)}


def _emptied(conn: sqlite3.Connection, these: str) -> list[int]:
    """The threads that would have no message left."""
    found = conn.execute(
        f"select distinct thread_id from messages m where id {_THESE} and thread_id is not null and not exists"
        f" (select 1 from messages o where o.thread_id = m.thread_id and o.id not {_THESE})",
        {"these": these},
    )
    return [row[0] for row in found]


def _effects(conn: sqlite3.Connection, values: dict[str, str]) -> dict[int, Effect]:
    effects: dict[int, Effect] = {}
    for question, counted, number in conn.execute(
        "select question_id, case answer when 1 then 'yes' when 0 then 'no' else coalesce(status, 'not_judged') end, count(*)"
        f" from recall_eligible where message_id {_THESE} group by 1, 2",
        values,
    ):
        setattr(effects.setdefault(question, Effect()), counted, number)
    for question, number in conn.execute(
        f"select question_id, count(*) from recall_eligible where reading_sha256 {_READINGS} and message_id not {_THESE}"
        " and (status is not null or answer is not null) group by 1",
        values,
    ):
        effects.setdefault(question, Effect()).rested = number
    return effects


def _copies(conn: sqlite3.Connection) -> dict[int, int]:
    return {
        row[0]: row[1]
        for row in conn.execute("select question_id, sum(copies) from recall_tallies group by question_id")
    }


def _deliveries(conn: sqlite3.Connection, these: str) -> list[int]:
    """The originals of which these are second deliveries, as far as they stay: what stands for them may be another now."""
    found = conn.execute(
        f"select distinct copy_of from messages where id {_THESE} and copy_of is not null and copy_of not {_THESE}",
        {"these": these},
    )
    return [row[0] for row in found]


def _reread(conn: sqlite3.Connection, these: str) -> None:
    """The files in which these messages lay are read whole the next time: who ingests the mail again gets them back."""
    conn.execute(
        "delete from sync_cursors where (account, mailbox, name) in (select b.account, b.name,"
        " substr(rtrim(l.provider_key, '~0123456789'), 1, length(rtrim(l.provider_key, '~0123456789')) - 1)"
        f" from message_locations l join mailboxes b on b.id = l.mailbox_id where l.message_id {_THESE})",
        {"these": these},
    )


def _inherit(conn: sqlite3.Connection, these: str) -> list[int]:
    """Of each message that goes while second deliveries of it stay, the oldest of those is the original from now on."""
    found = conn.execute(
        f"select copy_of, min(id) from messages where copy_of {_THESE} and id not {_THESE} group by copy_of",
        {"these": these},
    ).fetchall()
    for original, heir in found:
        conn.execute(
            f"update messages set copy_of = nullif(?, id) where copy_of = ? and id not {_THESE.replace(':these', '?')}",
            (heir, original, these),
        )
    conn.execute(f"update messages set copy_of = null where id {_THESE}", {"these": these})
    return [row[1] for row in found]


def _note(conn: sqlite3.Connection, effects: dict[int, Effect], why: str, noted: Noted | None) -> None:
    noted = noted or Noted()
    for question, effect in sorted(effects.items()):
        if not effect:
            continue
        total = noted.effects[question] = noted.effects.get(question, Effect()).plus(effect)
        if question in noted.rows:
            conn.execute(
                "update recall_question_changes set changed_at = ?, detail = ? where id = ?",
                (rows.now(), total.sentence(why), noted.rows[question]),
            )
            continue
        changed(conn, question, "forgot", total.sentence(why))
        (noted.rows[question],) = conn.execute("select max(id) from recall_question_changes").fetchone()


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
