"""The list of what could not be stored. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable

from datasette.utils.sqlite import sqlite3

from datasette_oaken import rows


def put(
    conn: sqlite3.Connection,
    account: str | None,
    source: str,
    mailbox_name: str | None,
    key: str,
    error: str,
    attempts: int,
    raw: bytes | None,
) -> None:
    """List a message that could not be stored, with its bytes where they were read; bytes of an earlier try stay."""
    when = rows.now()
    conn.execute(
        "update or ignore ingest_failures set account = ? where account is null and source = ? and key = ?",
        (account, source, key),
    )
    conn.execute(
        "insert into ingest_failures (account, source, mailbox, key, error, attempts, raw, first_at, last_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (account, source, key) do update set error = excluded.error,"
        " attempts = ingest_failures.attempts + excluded.attempts, raw = coalesce(excluded.raw, raw), last_at = excluded.last_at",
        (account, source, mailbox_name, key, error, attempts, raw, when, when),
    )


def listed(conn: sqlite3.Connection, account: str) -> dict[str, bool]:
    """The keys on the list that are this account's or may be: key -> whether its bytes are kept."""
    found = conn.execute(
        "select key, max(raw is not null) from ingest_failures where account = ? or account is null group by key",
        (account,),
    )
    return {row[0]: bool(row[1]) for row in found}


def clear(conn: sqlite3.Connection, account: str, keys: Iterable[str]) -> None:
    """What failed before is now stored, or is not there any more: take it off the list."""
    conn.execute(
        "delete from ingest_failures where (account = ? or account is null) and key in (select value from json_each(?))",
        (account, json.dumps(list(keys))),
    )
