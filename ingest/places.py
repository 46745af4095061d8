"""Where messages lie: their places, with the flags and labels that each place gives them. Inside the caller's transaction.

A place is a mailbox and the source's key in it. In a file of many messages the key is the file's name, ``#`` and a number. A
place that another message has taken since is kept as ``key~message_id``: the message was last seen there, and only a complete
snapshot can tell that it is gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from datasette.utils.sqlite import sqlite3

from .sources import Entry


@dataclass(frozen=True, slots=True)
class Place:
    """What ``message_locations`` keeps. ``fingerprint``: of the message's bytes and of what the source says beside them."""

    mailbox_id: int
    key: str
    fingerprint: str | None
    flags: frozenset[str]
    labels: tuple[str, ...]


def fingerprint(entry: Entry) -> str | None:
    """What tells that nothing has changed at the place: the source's fingerprint, with its flags and labels where it has any.

    Flags that stand in the message itself are not in it: they cannot change without its bytes.
    """
    if entry.fingerprint is None or not (entry.flags or entry.labels):
        return entry.fingerprint
    return f"{entry.fingerprint}\t{' '.join(sorted(entry.flags))}\t{json.dumps(entry.labels, ensure_ascii=False)}"


def file_of(key: str) -> str | None:
    """The name of the file in which ``key`` is one message of many, or None when the place is a file by itself."""
    name, mark, number = key.rpartition("#")
    return name if mark and number.partition("~")[0].isdecimal() else None


def lies_in(key: str, root: str) -> bool:
    """Whether the place is at ``root`` (a file's or folder's key), in that folder, or in that mbox or archive."""
    root = root.rstrip("/")
    return key.startswith(root) and key[len(root) : len(root) + 1] in ("", "/", "#", "!", "~")


def known(conn: sqlite3.Connection, mailbox_id: int, keys: Sequence[str]) -> dict[str, tuple[int, str | None]]:
    """Of these keys in this mailbox, those already stored: key -> (message_id, fingerprint)."""
    found = conn.execute(
        "select provider_key, message_id, fingerprint from message_locations"
        " where mailbox_id = ? and provider_key in (select value from json_each(?))",
        (mailbox_id, json.dumps(list(keys))),
    )
    return {row[0]: (row[1], row[2]) for row in found}


def stored_as(conn: sqlite3.Connection, mailbox_id: int, key: str) -> str | None:
    """The fingerprint of what is stored at the place, or None when nothing is, or nothing is known of it."""
    row = conn.execute(
        "select fingerprint from message_locations where mailbox_id = ? and provider_key = ?", (mailbox_id, key)
    ).fetchone()
    return row[0] if row else None


def put(conn: sqlite3.Connection, message_id: int, place: Place) -> None:
    """Remember that the message lies there; ``follow`` comes after."""
    conn.execute(
        "insert into message_locations (message_id, mailbox_id, provider_key, fingerprint, flags, labels)"
        " values (?, ?, ?, ?, ?, ?) on conflict (mailbox_id, provider_key) do update set message_id = excluded.message_id,"
        " fingerprint = excluded.fingerprint, flags = excluded.flags, labels = excluded.labels",
        (
            message_id,
            place.mailbox_id,
            place.key,
            place.fingerprint,
            " ".join(sorted(place.flags)),
            json.dumps(place.labels, ensure_ascii=False),
        ),
    )


def displace(conn: sqlite3.Connection, message_id: int, place: Place) -> None:
    """Another message is about to take the place where ``message_id`` lay: remember that it was last seen there."""
    conn.execute(
        "update or replace message_locations set provider_key = provider_key || '~' || message_id, fingerprint = null"
        " where mailbox_id = ? and provider_key = ? and message_id = ?",
        (place.mailbox_id, place.key, message_id),
    )


def follow(conn: sqlite3.Connection, message_ids: Iterable[int]) -> None:
    """Bring labels and read state up to what the places of these messages say.

    Labels are the union over the places. Read where any of them says so (a message read on one device is read), and where no
    person has said otherwise.
    """
    these = json.dumps(sorted(message_ids))
    conn.execute(
        "insert or ignore into message_labels (message_id, label) select l.message_id, j.value"
        " from message_locations l, json_each(l.labels) j where l.message_id in (select value from json_each(?))",
        (these,),
    )
    conn.execute(
        "delete from message_labels where message_id in (select value from json_each(?)) and not exists"
        " (select 1 from message_locations l, json_each(l.labels) j"
        " where l.message_id = message_labels.message_id and j.value = message_labels.label)",
        (these,),
    )
    conn.execute(
        "update message_state set is_read = exists (select 1 from message_locations l"
        " where l.message_id = message_state.message_id and ' ' || l.flags || ' ' like '% seen %')"
        " where not is_read_set and message_id in (select value from json_each(?))",
        (these,),
    )


def has_other(conn: sqlite3.Connection, message_id: int, place: Place) -> bool:
    """Whether the message lies anywhere besides ``place``."""
    return bool(
        conn.execute(
            "select exists (select 1 from message_locations where message_id = ? and not (mailbox_id = ? and provider_key = ?))",
            (message_id, place.mailbox_id, place.key),
        ).fetchone()[0]
    )


def before(conn: sqlite3.Connection, mailbox_id: int, name: str, number: int) -> int:
    """How many places of the file ``name`` come before ``number``."""
    (count,) = conn.execute(
        "select count(*) from message_locations where mailbox_id = ?1 and provider_key > ?2 || '#' and provider_key < ?2 || '$'"
        " and not instr(substr(provider_key, length(?2) + 2), '~')"
        " and cast(substr(provider_key, length(?2) + 2) as integer) < ?3",
        (mailbox_id, name, number),
    ).fetchone()
    return int(count)


class Seen:
    """The places met in this run, in a temporary table, so that what was not met can be told at its end."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self.conn = conn
        conn.execute(
            "create temp table if not exists places_seen (mailbox_id integer not null, provider_key text not null,"
            " primary key (mailbox_id, provider_key)) without rowid"
        )
        conn.execute("delete from temp.places_seen")

    def add(self, met: Iterable[tuple[int, str]]) -> None:
        """These (mailbox_id, key) are there."""
        self.conn.executemany("insert or ignore into temp.places_seen (mailbox_id, provider_key) values (?, ?)", met)

    def moved(self, message_id: int, mailbox_id: int, name: str) -> bool:
        """Whether the message was stored at a place of the file ``name`` that has not been met (yet): it has moved in it."""
        return bool(
            self.conn.execute(
                "select exists (select 1 from message_locations l where l.message_id = ?1 and l.mailbox_id = ?2"
                " and l.provider_key > ?3 || '#' and l.provider_key < ?3 || '$' and not exists (select 1 from temp.places_seen s"
                " where s.mailbox_id = l.mailbox_id and s.provider_key = l.provider_key))",
                (message_id, mailbox_id, name),
            ).fetchone()[0]
        )

    def drop_old(self, mailbox_id: int, name: str) -> set[int]:
        """The file ``name`` was read whole: forget the places in it that were not met, of messages that were met elsewhere in
        it. Returns those messages."""
        of_file = "mailbox_id = ?1 and provider_key > ?2 || '#' and provider_key < ?2 || '$'"
        met = (
            "exists (select 1 from temp.places_seen s where s.mailbox_id = {0}.mailbox_id"
            " and s.provider_key = {0}.provider_key)"
        )
        found = self.conn.execute(
            f"select provider_key, message_id from message_locations l where {of_file} and not {met.format('l')}"
            f" and message_id in (select message_id from message_locations o where {of_file} and {met.format('o')})",
            (mailbox_id, name),
        ).fetchall()
        self.conn.executemany(
            "delete from message_locations where mailbox_id = ? and provider_key = ?",
            [(mailbox_id, row[0]) for row in found],
        )
        return {row[1] for row in found}
