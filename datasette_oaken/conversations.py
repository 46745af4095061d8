"""Conversations as rows: their counts and dates, and which Message-IDs they are still known by."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable

from datasette.utils.sqlite import sqlite3

from . import stored

_HEAD = 65_536  # bytes in which the header of a message nearly always ends
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_SPACE = re.compile(rb"\s+")


def refresh(conn: sqlite3.Connection, thread_ids: Iterable[int]) -> None:
    """Bring subject, first and last date and count of these threads up to date; those left with no message are removed."""
    these = json.dumps(sorted(thread_ids))
    conn.execute(
        """
        update threads set (message_count, first_at, last_at) = (
          select count(*), min(sent_at), max(sent_at) from messages m where m.thread_id = threads.id
        ), subject = (
          select subject from messages m where m.thread_id = threads.id order by sent_at is null, sent_at, id limit 1
        ) where id in (select value from json_each(?))
        """,
        (these,),
    )
    empty = "select id from threads where message_count = 0 and id in (select value from json_each(?))"
    conn.execute(f"delete from thread_references where thread_id in ({empty})", (these,))
    conn.execute(f"delete from threads where id in ({empty})", (these,))


def unnamed(conn: sqlite3.Connection, without: Iterable[int]) -> list[tuple[str, str]]:
    """The Message-IDs that no one would have or name any more if the messages ``without`` were gone: (account, id).

    A Message-ID is often a person's address, a time and a machine's name, so one that only a forgotten message had or named
    goes with it. One that another message refers to is that other message's own words, and ties its replies together: it stays.
    """
    going = json.dumps(sorted(without))
    known: dict[int, dict[str, str]] = {}
    for thread, account, id_ in conn.execute(
        "select thread_id, account, internet_message_id from thread_references where thread_id in"
        " (select thread_id from messages where id in (select value from json_each(?)))",
        (going,),
    ):
        known.setdefault(thread, {})[id_] = account
    lost: list[tuple[str, str]] = []
    for thread, ids in known.items():
        left = dict(ids)
        for id_, codec, raw in conn.execute(
            "select m.internet_message_id, r.codec, r.raw from messages m left join raw_messages r on r.message_id = m.id"
            " where m.thread_id = ? and m.id not in (select value from json_each(?))",
            (thread, going),
        ):
            left.pop(id_, None)
            if left and raw is not None:
                head = _head(codec, bytes(raw))
                left = {one: account for one, account in left.items() if _bare(one) not in head}
            if not left:
                break
        lost += [(account, id_) for id_, account in left.items()]
    return lost


def _head(codec: str, raw: bytes) -> bytes:
    """The header of a stored message, white space left out, as a long id may be folded."""
    try:
        start = stored.beginning(codec, raw, _HEAD)
        end = _END_OF_HEAD.search(start)
        if end is None and len(start) == _HEAD:
            start = stored.unpack_raw(codec, raw)
            end = _END_OF_HEAD.search(start)
    except zlib.error:
        return b""  # damaged: it names no one, and must not keep others from being forgotten
    return _SPACE.sub(b"", start[: end.start()] if end else start)


def _bare(internet_message_id: str) -> bytes:
    return "".join(internet_message_id.split()).strip("<>").encode("utf-8", "surrogateescape")
