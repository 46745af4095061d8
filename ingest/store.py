"""Prepared messages to rows. Every function runs inside the caller's transaction, so that no message is half stored."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from datasette.utils.sqlite import sqlite3

from datasette_oaken import rows

from . import chunks as chunking
from . import threads
from .prepare import Prepared

PEOPLE_AND_FILES = ("message_recipients", "attachments")
TEXT = ("message_texts", "message_sections")


@dataclass
class Stored:
    """What a batch changed."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    chunks_added: int = 0
    chunks_deleted: int = 0
    threads: set[int] = field(default_factory=set)
    placed: set[int] = field(default_factory=set)
    rewritten: set[int] = field(default_factory=set)  # messages that say something else now


def account(conn: sqlite3.Connection, name: str) -> None:
    """Make sure that the account is there."""
    conn.execute("insert or ignore into accounts (name) values (?)", (name,))


def mailbox(conn: sqlite3.Connection, account_name: str, name: str) -> int:
    """The id of a mailbox, made where there is none."""
    conn.execute("insert or ignore into mailboxes (account, name) values (?, ?)", (account_name, name))
    return int(
        conn.execute("select id from mailboxes where account = ? and name = ?", (account_name, name)).fetchone()[0]
    )


def has_places(conn: sqlite3.Connection, account_name: str) -> bool:
    """Whether anything of the account was stored before."""
    return bool(
        conn.execute(
            "select exists (select 1 from mailboxes b join message_locations l on l.mailbox_id = b.id where b.account = ?)",
            (account_name,),
        ).fetchone()[0]
    )


def known_contents(conn: sqlite3.Connection, account_name: str, hashes: Iterable[str]) -> dict[str, int]:
    """Of these content hashes, those that the account already holds: content_hash -> message_id."""
    found = conn.execute(
        "select content_hash, id from messages where account = ? and content_hash in (select value from json_each(?))",
        (account_name, json.dumps(list(hashes))),
    )
    return {row[0]: row[1] for row in found}


def add_message(conn: sqlite3.Connection, account_name: str, prepared: Prepared, stored: Stored) -> int:
    """Store a message that the account does not hold yet, with all that is derived from it. Returns its id."""
    message = prepared.message
    thread_id = threads.thread_for(conn, account_name, message.internet_message_id, message.references)
    message_id = conn.execute(
        "insert into messages (account, source_id, internet_message_id, thread_id, copy_of, subject, from_name,"
        " from_address, sent_at, size, has_attachments, content_hash, authored_hash)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            account_name,
            prepared.content_hash[:32],
            message.internet_message_id,
            thread_id,
            _original(conn, prepared),
            message.subject,
            message.from_name,
            message.from_address,
            message.sent_at,
            prepared.size,
            int(bool(message.attachments)),
            prepared.content_hash,
            prepared.authored_hash,
        ),
    ).lastrowid
    assert message_id is not None
    conn.execute(
        "insert into raw_messages (message_id, sha256, codec, raw) values (?, ?, ?, ?)",
        (message_id, prepared.sha256, prepared.codec, prepared.raw),
    )
    conn.execute("insert into message_state (message_id, priority) values (?, ?)", (message_id, message.priority))
    _add_derived(conn, account_name, message_id, thread_id, prepared, stored)
    stored.added += 1
    stored.threads.add(thread_id)
    return message_id


def _original(conn: sqlite3.Connection, prepared: Prepared) -> int | None:
    """The message that this one delivers again: same Message-ID, same words of its author, in whatever account."""
    if not prepared.message.internet_message_id or not prepared.authored_hash:
        return None
    row = conn.execute(
        "select coalesce(copy_of, id) from messages where internet_message_id = ? and authored_hash = ? order by id limit 1",
        (prepared.message.internet_message_id, prepared.authored_hash),
    ).fetchone()
    return row[0] if row else None


def _add_derived(
    conn: sqlite3.Connection, account_name: str, message_id: int, thread_id: int, prepared: Prepared, stored: Stored
) -> None:
    put_people_and_files(conn, message_id, prepared)
    put_text(conn, message_id, prepared)
    add_chunks(conn, account_name, message_id, thread_id, prepared, prepared.chunks, stored)


def put_people_and_files(conn: sqlite3.Connection, message_id: int, prepared: Prepared) -> None:
    """Recipients and attachments of a message that has none yet: ``clear`` comes before where it has."""
    message = prepared.message
    conn.executemany(
        "insert into message_recipients (message_id, role, name, address) values (?, ?, ?, ?)",
        [(message_id, role, name, address) for role, name, address in message.recipients],
    )
    conn.executemany(
        "insert into attachments (message_id, part, filename, content_type, size, sha256, content_id)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        [(message_id, a.part, a.filename, a.content_type, a.size, a.sha256, a.content_id) for a in message.attachments],
    )


def put_text(conn: sqlite3.Connection, message_id: int, prepared: Prepared) -> None:
    """The text and its sections of a message that has none yet: ``clear`` comes before where it has."""
    conn.execute(
        "insert into message_texts (message_id, text, from_html, language, codec) values (?, ?, ?, ?, 'raw')",
        (message_id, prepared.text, int(prepared.message.from_html), prepared.language),
    )
    conn.executemany(
        "insert into message_sections (message_id, position, section, start, stop, why) values (?, ?, ?, ?, ?, ?)",
        [(message_id, position, *part) for position, part in enumerate(prepared.sections)],
    )


def clear(conn: sqlite3.Connection, message_id: int, tables: Iterable[str]) -> None:
    """Delete what these tables hold of a message."""
    for table in tables:
        conn.execute(f"delete from {table} where message_id = ?", (message_id,))


def author_of(prepared: Prepared) -> str | None:
    """Who wrote the chunks: name and address."""
    message = prepared.message
    parts = (message.from_name, f"<{message.from_address}>" if message.from_address else None)
    return " ".join(part for part in parts if part) or None


def add_chunks(
    conn: sqlite3.Connection,
    account_name: str,
    message_id: int,
    thread_id: int,
    prepared: Prepared,
    chunks: Iterable[chunking.Chunk],
    stored: Stored,
) -> None:
    """These of the message's chunks; ``rows.index_chunks`` comes after."""
    author = author_of(prepared)
    added = conn.executemany(
        "insert into recall_chunks (source, source_id, account, thread_id, author, said_at, text, message_id, section,"
        " position, content_hash, policy_version) values ('email', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                prepared.content_hash[:32],
                account_name,
                thread_id,
                author,
                prepared.message.sent_at,
                piece.text,
                message_id,
                piece.section,
                piece.position,
                piece.content_hash,
                chunking.POLICY_VERSION,
            )
            for piece in chunks
        ],
    )
    stored.chunks_added += max(0, added.rowcount)


def update_header(conn: sqlite3.Connection, message_id: int, thread_id: int, prepared: Prepared) -> None:
    """What the message's row holds of its header, anew."""
    message = prepared.message
    conn.execute(
        "update messages set source_id = ?, internet_message_id = ?, thread_id = ?, subject = ?, from_name = ?,"
        " from_address = ?, sent_at = ?, size = ?, has_attachments = ?, content_hash = ?, authored_hash = ? where id = ?",
        (
            prepared.content_hash[:32],
            message.internet_message_id,
            thread_id,
            message.subject,
            message.from_name,
            message.from_address,
            message.sent_at,
            prepared.size,
            int(bool(message.attachments)),
            prepared.content_hash,
            prepared.authored_hash,
            message_id,
        ),
    )


def replace_message(
    conn: sqlite3.Connection, account_name: str, message_id: int, prepared: Prepared, stored: Stored
) -> None:
    """The source now holds another version of this message in the same place: the row keeps its id, all else follows."""
    message = prepared.message
    stored.chunks_deleted += rows.delete_chunks(conn, [message_id])
    stored.rewritten.add(message_id)
    stored.placed |= _release_copies(conn, message_id)
    stored.threads.add(conn.execute("select thread_id from messages where id = ?", (message_id,)).fetchone()[0])
    thread_id = threads.thread_for(conn, account_name, message.internet_message_id, message.references)
    update_header(conn, message_id, thread_id, prepared)
    conn.execute(
        "update raw_messages set sha256 = ?, codec = ?, raw = ? where message_id = ?",
        (prepared.sha256, prepared.codec, prepared.raw, message_id),
    )
    clear(conn, message_id, (*PEOPLE_AND_FILES, *TEXT))
    _add_derived(conn, account_name, message_id, thread_id, prepared, stored)
    stored.updated += 1
    stored.threads.add(thread_id)


def _release_copies(conn: sqlite3.Connection, message_id: int) -> set[int]:
    """The message is about to say something else: it is no copy any more, and the oldest of its copies is the original now.

    Returns the messages that stand for other deliveries than before.
    """
    (original,) = conn.execute("select copy_of from messages where id = ?", (message_id,)).fetchone()
    conn.execute("update messages set copy_of = null where id = ?", (message_id,))
    (heir,) = conn.execute("select min(id) from messages where copy_of = ?", (message_id,)).fetchone()
    conn.execute("update messages set copy_of = nullif(?, id) where copy_of = ?", (heir, message_id))
    return {one for one in (original, heir) if one is not None}
