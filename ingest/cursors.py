"""How far each file that grows has been read, so that the next run reads its new end alone. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping

from datasette.utils.sqlite import sqlite3

from datasette_oaken import rows

from .places import file_of


def load(conn: sqlite3.Connection, account: str) -> dict[tuple[str, str], str]:
    """(mailbox, file's name) -> cursor. Files with a failure in them are left out: they are read whole, to try it again."""
    failed = {
        row[0]
        for row in conn.execute("select key from ingest_failures where account = ? or account is null", (account,))
    }
    failed |= {name for name in map(file_of, failed) if name is not None}
    found = conn.execute("select mailbox, name, cursor from sync_cursors where account = ?", (account,))
    return {(row[0], row[1]): row[2] for row in found if row[1] not in failed}


def store(conn: sqlite3.Connection, account: str, cursors: Mapping[tuple[str, str], str]) -> None:
    """Keep these, in the transaction that keeps the messages before them."""
    when = rows.now()
    conn.executemany(
        "insert into sync_cursors (account, mailbox, name, cursor, updated_at) values (?, ?, ?, ?, ?)"
        " on conflict (account, mailbox, name) do update set cursor = excluded.cursor, updated_at = excluded.updated_at",
        [(account, mailbox, name, cursor, when) for (mailbox, name), cursor in cursors.items()],
    )
