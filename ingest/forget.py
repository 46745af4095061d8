"""``oaken forget``: choosing messages exactly, saying what would go, deleting them in bounded steps, and cleaning up after.

Everything that is given must hold at once (``forget 5 7 --where from:sam`` is those of 5 and 7 that Sam sent): the more is
said, the less is deleted. Words are refused, since what they find is ranked, and a ranking is not a reason to destroy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import deletion, filters, query
from datasette_oaken.db import OakenError, transaction
from datasette_oaken.settings import DEFAULT_CATEGORIES

from . import locks
from .clean_up import clean_up, is_due
from .progress import Progress
from .quoted_by import quoted_by

BATCH = 200
"""Messages a transaction: what a kill costs at the most, and how long a reader or another writer waits."""
_AGE = re.compile(r"\d{1,5}[dwmy]", re.ASCII)

AGAIN = "Ingesting the same mail again would bring it back: delete it where it came from too."


@dataclass(frozen=True, slots=True)
class Selection:
    """Which messages: all that is given must hold. ``copies``: and every other delivery of those."""

    ids: tuple[int, ...] = ()
    where: str | None = None
    account: str | None = None
    older_than: str | None = None
    copies: bool = False

    @property
    def whole_account(self) -> bool:
        """Whether an account goes with all that belongs to it."""
        return self.account is not None and not self.ids and self.where is None and self.older_than is None

    def __bool__(self) -> bool:
        return bool(self.ids) or any(part is not None for part in (self.where, self.account, self.older_than))


@dataclass
class Plan:
    """What a selection came to. ``deliveries``: other deliveries of these that stay; ``quoted_by``: messages that quote them."""

    messages: list[int]
    first_at: str | None = None
    last_at: str | None = None
    undated: int = 0
    accounts: dict[str, int] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)
    deliveries: int = 0
    quoted_by: int | None = None
    unclear_failures: int = 0

    def notes(self) -> list[str]:
        """What stays, in sentences."""
        notes = []
        if n := self.deliveries:
            one = "1 other delivery of the same message stays: --copies takes it too."
            notes.append(
                one if n == 1 else f"{n:,} other deliveries of the same messages stay: --copies takes them too."
            )
        if n := self.quoted_by or 0:
            one = "1 message of the same conversation stays that quotes or forwards lines of them."
            notes.append(
                one if n == 1 else f"{n:,} messages of the same conversations stay that quote or forward lines of them."
            )
        if n := self.unclear_failures:
            one = "1 message that could not be read stays, since it may be another account's: oaken status lists it."
            notes.append(
                one
                if n == 1
                else f"{n:,} messages that could not be read stay, since they may be another account's: oaken status lists them."
            )
        if self.messages:
            notes.append(AGAIN)
        return notes

    def as_dict(self) -> dict[str, Any]:
        """As ``oaken forget --dry-run --json`` prints it."""
        return {
            "ok": True,
            "dry_run": True,
            "messages": len(self.messages),
            "first_at": self.first_at,
            "last_at": self.last_at,
            "undated": self.undated,
            "accounts": self.accounts,
            "would_delete": self.tables,
            "other_deliveries": self.deliveries,
            "quoted_by": self.quoted_by,
            "notes": self.notes(),
        }


@dataclass
class Report:
    """What was done. ``due``: what kept the file from being cleaned; empty when nothing of it is left in its bytes."""

    forgotten: int = 0
    deleted: dict[str, int] = field(default_factory=dict)
    due: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """As ``oaken forget --json`` prints it."""
        return {
            "ok": True,
            "forgotten": self.forgotten,
            "deleted": self.deleted,
            "clean": not self.due,
            "due": self.due,
            "notes": self.notes,
        }


def select(
    conn: sqlite3.Connection,
    selection: Selection,
    *,
    categories: Sequence[str] = DEFAULT_CATEGORIES,
    today: date | None = None,
) -> list[int]:
    """The messages, all deliveries of one saying next to each other, conversation by conversation.

    Raises OakenError: bad_query (words, an unreadable or empty filter), bad_age, no_account, nothing_chosen.
    """
    if not selection:
        raise OakenError(
            "Say what to forget: numbers of messages, --where, --account or --older-than.", "nothing_chosen"
        )
    parts: list[filters.Condition | None] = []
    if selection.ids:
        parts.append(("m.id in (select value from json_each(?))", [json.dumps(selection.ids)]))
    if selection.where is not None:
        parts.append(filters.condition(_filters(selection.where, categories, today)))
    if selection.account is not None:
        _known_account(conn, selection.account)
        parts.append(("m.account = ?", [selection.account]))
    if selection.older_than is not None:
        parts.append(filters.condition(_older(selection.older_than, today)))
    condition: filters.Condition | None = None
    for part in parts:
        condition = filters.both(condition, part)
    assert condition is not None
    filters.prepare(conn)
    chosen = json.dumps(
        [row[0] for row in conn.execute(f"select m.id from messages m where {condition[0]}", condition[1])]
    )
    said = "coalesce(m.copy_of, m.id)"
    also = f" or {said} in (select {said} from messages m where m.id in (select value from json_each(?1)))"
    return [
        row[0]
        for row in conn.execute(
            f"select m.id from messages m left join messages o on o.id = {said}"
            f" where m.id in (select value from json_each(?1)){also if selection.copies else ''}"
            f" order by o.thread_id, {said}, m.id",
            (chosen,),
        )
    ]


def _filters(text: str, categories: Sequence[str], today: date | None) -> tuple[query.Filter, ...]:
    read = query.parse(text, categories=categories, today=today)
    if read.words or read.phrases or read.excluded:
        said = " ".join([*read.words, *read.phrases, *read.excluded])
        raise OakenError(
            f"--where takes filters only, such as from:school before:2019; {said!r} are words to search for, and what they find "
            "is ranked. Search first, then name the messages by their numbers.",
            "bad_query",
        )
    if read.warnings or not read.filters:
        raise OakenError(f"--where could not be read: {' '.join(read.warnings) or 'it is empty.'}", "bad_query")
    return read.filters


def _older(age: str, today: date | None) -> tuple[query.Filter, ...]:
    read = query.parse(f"before:{age}", today=today) if _AGE.fullmatch(age) else None
    if read is None or read.warnings or len(read.filters) != 1:
        raise OakenError(f"--older-than takes an age such as 7y, 18m, 2w or 90d, not {age!r}.", "bad_age")
    return read.filters


def _known_account(conn: sqlite3.Connection, name: str) -> None:
    known = [row[0] for row in conn.execute("select name from accounts order by name")]
    if name not in known:
        raise OakenError(f"There is no account {name!r}; there are: {', '.join(known) or 'none'}.", "no_account")


def plan(
    conn: sqlite3.Connection,
    selection: Selection,
    *,
    categories: Sequence[str] = DEFAULT_CATEGORIES,
    today: date | None = None,
) -> Plan:
    """What would be forgotten, table by table, and what of it stays elsewhere. Reads only. Raises as ``select``."""
    messages = select(conn, selection, categories=categories, today=today)
    these = json.dumps(messages)
    first, last, undated = conn.execute(
        "select min(sent_at), max(sent_at), coalesce(sum(sent_at is null), 0) from messages"
        " where id in (select value from json_each(?))",
        (these,),
    ).fetchone()
    accounts = conn.execute(
        "select account, count(*) from messages where id in (select value from json_each(?)) group by account order by account",
        (these,),
    )
    said = "coalesce(copy_of, id)"
    (deliveries,) = conn.execute(
        f"select count(*) from messages where {said} in (select {said} from messages where id in"
        " (select value from json_each(?1))) and id not in (select value from json_each(?1))",
        (these,),
    ).fetchone()
    found = Plan(
        messages,
        first,
        last,
        undated,
        {row[0]: row[1] for row in accounts},
        deletion.preview(conn, messages),
        deliveries,
        quoted_by(conn, messages),
    )
    if selection.whole_account and selection.account is not None:
        for table, condition in _ACCOUNT.items():
            found.tables[table] = conn.execute(
                f"select count(*) from {table} where {condition}", {"account": selection.account}
            ).fetchone()[0]
        found.unclear_failures = conn.execute(
            f"select count(*) from ingest_failures where {_UNCLEAR_FAILURES}"
            " and exists (select 1 from accounts where name <> ?)",
            (selection.account,),
        ).fetchone()[0]
    return found


# Of an older file it is not known whose a failure is, where it could be several accounts'.
_UNCLEAR_FAILURES = "account is null"
_ACCOUNT = {
    "ingest_failures": "account = :account or (account is null and not exists (select 1 from accounts where name <> :account))",
    "sync_cursors": "account = :account",
    "mailboxes": "account = :account",
    "accounts": "name = :account",
}
"""What belongs to an account beside its messages, in the order in which it can go."""


def forget(
    conn: sqlite3.Connection,
    db_path: Path,
    selection: Selection,
    *,
    only: Sequence[int] | None = None,
    categories: Sequence[str] = DEFAULT_CATEGORIES,
    today: date | None = None,
    quiet: bool = False,
) -> Report:
    """Delete what is chosen and clean the file. ``only``: nothing beside these, which is what the person was shown.

    Stopped at any moment, what was deleted stays deleted, and the next run does the rest and the cleaning, whatever it is asked
    to forget. Raises OakenError as ``select``, and locked.
    """
    report = Report()
    with locks.writer(conn, db_path, "ingest", doing="forget"):
        chosen = select(conn, selection, categories=categories, today=today)
        if only is not None:
            shown = set(only)
            chosen = [id_ for id_ in chosen if id_ in shown]
        noted = deletion.Noted()
        with Progress("Forgetting", unit="messages", total=len(chosen), quiet=quiet) as bar:
            for batch in batches(conn, chosen):
                with transaction(conn):
                    deleted = deletion.delete_messages(conn, batch, noted=noted)
                _add(report, deleted)
                bar.update(len(batch))
        report.forgotten = report.deleted.get("messages", 0)
        if selection.whole_account and selection.account is not None:
            _forget_account(conn, selection.account, report)
        if is_due(conn):
            report.due = clean_up(conn, db_path, quiet=quiet)
    if report.forgotten:
        report.notes.append(AGAIN)
    return report


def run(
    conn: sqlite3.Connection,
    db_path: Path,
    selection: Selection,
    agree: Callable[[Plan], bool],
    *,
    categories: Sequence[str] = DEFAULT_CATEGORIES,
    quiet: bool = False,
) -> Report:
    """Plan, ask ``agree``, forget. What an earlier run deleted but could not clean is cleaned whatever this one comes to.

    Raises OakenError as ``forget``, and not_agreed.
    """
    try:
        found = plan(conn, selection, categories=categories)
        if not agree(found):
            raise OakenError("Nothing was forgotten.", "not_agreed")
    except OakenError:
        if is_due(conn):
            finish(conn, db_path, quiet=quiet)
        raise
    report = forget(conn, db_path, selection, only=found.messages, categories=categories, quiet=quiet)
    report.notes = found.notes()
    return report


def finish(conn: sqlite3.Connection, db_path: Path, *, quiet: bool = False) -> Report:
    """Clean the file of what was forgotten before. Raises OakenError locked."""
    report = Report()
    with locks.writer(conn, db_path, "ingest", doing="forget"):
        if is_due(conn):
            report.due = clean_up(conn, db_path, quiet=quiet)
    return report


def _forget_account(conn: sqlite3.Connection, account: str, report: Report) -> None:
    with transaction(conn):
        if conn.execute("select exists (select 1 from messages where account = ?)", (account,)).fetchone()[0]:
            return
        deleted = {
            table: conn.execute(f"delete from {table} where {condition}", {"account": account}).rowcount
            for table, condition in _ACCOUNT.items()
        }
        deletion.ask_for_cleanup(conn)
    _add(report, deleted)


def batches(conn: sqlite3.Connection, messages: list[int]) -> Iterator[list[int]]:
    """Runs of about BATCH; deliveries of one saying are not torn apart, so that none becomes the heir of another for a moment."""
    sayings = {
        row[0]: row[1]
        for row in conn.execute(
            "select id, coalesce(copy_of, id) from messages where id in (select value from json_each(?))",
            (json.dumps(messages),),
        )
    }
    batch: list[int] = []
    for id_ in messages:
        if len(batch) >= BATCH and sayings[id_] != sayings[batch[-1]]:
            yield batch
            batch = []
        batch.append(id_)
    if batch:
        yield batch


def _add(report: Report, deleted: dict[str, int]) -> None:
    for table, count in deleted.items():
        report.deleted[table] = report.deleted.get(table, 0) + count


__all__ = ["Plan", "Report", "Selection", "finish", "forget", "plan", "run", "select"]
