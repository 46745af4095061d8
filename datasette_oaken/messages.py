"""Reading one message or one conversation as plain dicts: what the pages, the API, the command line and agents all show.

Reading a message never marks it as read: nothing here writes (``rows.set_read`` does, and only a POST calls it).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from datasette.utils.sqlite import sqlite3

from . import stored

THREAD_LIMIT = 100
"""Messages of a conversation that are read at once; ``next`` goes on."""

_BRIEF = """
  select m.id, m.thread_id, m.account, m.internet_message_id, m.copy_of, m.subject, m.from_name, m.from_address, m.sent_at,
    m.size, m.has_attachments, coalesce(s.is_read, 0) as is_read
  from messages m left join message_state s on s.message_id = m.id
"""
# Messages without a date come last: nothing says where they belong.
_IN_ORDER = "order by m.sent_at is null, m.sent_at, m.id"


def message_url(message_id: int) -> str:
    """Where the site shows a message, before any ``base_url``."""
    return f"/-/oaken/message/{message_id}"


def thread_url(thread_id: int) -> str:
    """Where the site shows a conversation, before any ``base_url``."""
    return f"/-/oaken/thread/{thread_id}"


def brief(row: sqlite3.Row) -> dict[str, Any]:
    """A message in a list: who, when, what about, and where to read it."""
    return {
        "message_id": row["id"],
        "thread_id": row["thread_id"],
        "account": row["account"],
        "internet_message_id": row["internet_message_id"],
        "copy_of": row["copy_of"],
        "subject": row["subject"],
        "from": {"name": row["from_name"], "address": row["from_address"]},
        "date": row["sent_at"],
        "has_attachments": bool(row["has_attachments"]),
        "is_read": bool(row["is_read"]),
        "url": message_url(row["id"]),
    }


def message(conn: sqlite3.Connection, message_id: int) -> dict[str, Any] | None:
    """The whole message, or None: its headers, its text cut into sections, its attachments, where it lies.

    ``sections`` tile ``text`` in order; each holds its own words (``text``) and why it was cut there. ``attachments`` name a
    ``part``, by which their bytes are asked for.
    """
    row = conn.execute(f"{_BRIEF} where m.id = ?", (message_id,)).fetchone()
    if row is None:
        return None
    recipients = conn.execute(
        "select role, name, address from message_recipients where message_id = ? order by id", (message_id,)
    )
    state = conn.execute(
        "select read_at, disposition, category, priority from message_state where message_id = ?", (message_id,)
    ).fetchone()
    text, from_html, language = _text(conn, message_id)
    return brief(row) | {
        "recipients": [{"role": role, "name": name, "address": address} for role, name, address in recipients],
        "size": row["size"],
        "read_at": state["read_at"] if state else None,
        "disposition": state["disposition"] if state else "inbox",
        "category": state["category"] if state else None,
        "priority": state["priority"] if state else 0,
        "mailboxes": _column(
            conn,
            "select distinct b.name from message_locations l join mailboxes b on b.id = l.mailbox_id "
            "where l.message_id = ? order by b.name",
            message_id,
        ),
        "labels": _column(conn, "select label from message_labels where message_id = ? order by label", message_id),
        "copies": _column(conn, "select id from messages where copy_of = ? order by id", message_id),
        "from_html": from_html,
        "language": language,
        "text": text,
        "sections": _sections(conn, message_id, text),
        "attachments": [
            {
                "id": id_,
                "part": part,
                "filename": filename,
                "content_type": content_type,
                "size": size,
                "sha256": sha256,
                "content_id": content_id,
                "url": f"{message_url(message_id)}/attachment/{part}",
            }
            for id_, part, filename, content_type, size, sha256, content_id in conn.execute(
                "select id, part, filename, content_type, size, sha256, content_id from attachments "
                "where message_id = ? order by part",
                (message_id,),
            )
        ],
    }


def thread(
    conn: sqlite3.Connection, thread_id: int, *, start: int = 0, limit: int = THREAD_LIMIT
) -> dict[str, Any] | None:
    """A conversation, or None: ``messages`` in order, ``limit`` of them from the ``start``-th; ``next`` is where to go on.

    Second deliveries of a message that stands in the same conversation are left out; the message lists them as ``copies``.
    """
    row = conn.execute(
        "select id, account, subject, first_at, last_at from threads where id = ?", (thread_id,)
    ).fetchone()
    if row is None:
        return None
    ids = [item["message_id"] for item in thread_list(conn, thread_id)]
    wanted = ids[start : start + limit]
    going_on = start + limit < len(ids)
    return {
        "thread_id": row["id"],
        "account": row["account"],
        "subject": row["subject"],
        "first_at": row["first_at"],
        "last_at": row["last_at"],
        "message_count": len(ids),
        "start": start,
        "returned": len(wanted),
        "truncated": going_on,
        "next": start + limit if going_on else None,
        "url": thread_url(row["id"]),
        "messages": [found for id_ in wanted if (found := message(conn, id_)) is not None],
    }


def thread_list(conn: sqlite3.Connection, thread_id: int) -> list[dict[str, Any]]:
    """The messages of a conversation in order, briefly and all of them, without second deliveries of one another."""
    items = [brief(row) for row in conn.execute(f"{_BRIEF} where m.thread_id = ? {_IN_ORDER}", (thread_id,))]
    here = {item["message_id"] for item in items}
    return [item for item in items if item["copy_of"] not in here]


def thread_sizes(conn: sqlite3.Connection, thread_ids: Iterable[int]) -> dict[int, int]:
    """How many messages each of the conversations has, second deliveries not counted."""
    ids = sorted(set(thread_ids))
    marks = ",".join("?" * len(ids))
    return dict(
        tuple(row)
        for row in conn.execute(
            f"select thread_id, count(*) from messages where thread_id in ({marks}) and copy_of is null group by thread_id",
            ids,
        )
    )


def raw_message(conn: sqlite3.Connection, message_id: int) -> bytes | None:
    """The bytes that came in, or None for a message that is not there."""
    row = conn.execute("select codec, raw from raw_messages where message_id = ?", (message_id,)).fetchone()
    if row is None:
        return None
    return stored.unpack_raw(row["codec"], bytes(row["raw"]))


def attachment_part(conn: sqlite3.Connection, message_id: int, part: int) -> dict[str, Any] | None:
    """The name and kind of an attachment that the message lists as ``part``, or None: only what is listed is handed out."""
    row = conn.execute(
        "select filename, content_type from attachments where message_id = ? and part = ?", (message_id, part)
    ).fetchone()
    return {"filename": row["filename"], "content_type": row["content_type"]} if row else None


def _text(conn: sqlite3.Connection, message_id: int) -> tuple[str, bool, str | None]:
    row = conn.execute("select from_html, language from message_texts where message_id = ?", (message_id,)).fetchone()
    if row is None:
        return "", False, None
    return stored.text_of(conn, message_id) or "", bool(row["from_html"]), row["language"]


def _sections(conn: sqlite3.Connection, message_id: int, text: str) -> list[dict[str, Any]]:
    sections = [
        {"section": name, "start": start, "stop": stop, "text": text[start:stop], "why": why}
        for name, start, stop, why in conn.execute(
            "select section, start, stop, why from message_sections where message_id = ? order by position",
            (message_id,),
        )
    ]
    if not sections and text:
        return [{"section": "authored", "start": 0, "stop": len(text), "text": text, "why": "not cut into sections"}]
    return sections


def _column(conn: sqlite3.Connection, sql: str, message_id: int) -> list[Any]:
    return [row[0] for row in conn.execute(sql, (message_id,))]
