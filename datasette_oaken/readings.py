"""What a judge is given of a message: its writer's own words, and before them, set apart, as much of the conversation as fits.

A reading is kept exactly as it was given, once for each text, with whose words are in it. The form::

    CONVERSATION BEFORE, for context only; not to be judged

    [2024-03-01 09:30 UTC, Ada Finch <ada@example.org>]
    Could you collect Nell on Friday?

    MESSAGE TO JUDGE

    Date: 2024-03-01 11:00 UTC
    From: Ben Oake <ben@example.org>
    To: Ada Finch <ada@example.org>
    Subject: Re: Friday

    Yes, I will fetch her at five.

The own part (``own_start`` to ``own_stop``) begins at ``Date:``; only what stands there can be quoted as evidence. What the
writer quoted is not in it, so that a paragraph is never counted as said again by whoever answered it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass

from datasette.utils.sqlite import sqlite3

from . import stored

FORMAT = 1
"""The version of this form: it is kept with each reading."""

OWN_CHARS = 24_000
"""Characters of the writer's own words that are read; what is beyond is counted in ``left_out``, and a "no" is then no answer."""
CONTEXT_CHARS = 3_000
"""Characters of the conversation before it."""
CONTEXT_MESSAGES = 12
_LEAST_CONTEXT = 200  # what is shorter than this when it is cut says nothing

BEFORE = "CONVERSATION BEFORE, for context only; not to be judged"
JUDGED = "MESSAGE TO JUDGE"
LEFT_OUT = "[…]"
"""Stands where the writer's words were interrupted by a quote."""
NOTHING = "(no words of the writer's own)"


@dataclass(frozen=True, slots=True)
class Reading:
    """``text[own_start:own_stop]`` is the message's own part; ``parts``: the messages whose words are in the text."""

    sha256: str
    text: str
    own_start: int
    own_stop: int
    left_out: int
    parts: tuple[int, ...]

    @property
    def own(self) -> str:
        """Its header lines, an empty line, and the writer's own words."""
        return self.text[self.own_start : self.own_stop]

    @property
    def words(self) -> str:
        """The writer's own words alone; ``''`` when there are none."""
        words = self.own.partition("\n\n")[2]
        return "" if words == NOTHING else words

    @property
    def before(self) -> str:
        """The conversation before it, without its heading; ``''`` when there is none."""
        return self.text[: self.own_start].removeprefix(BEFORE).rpartition(JUDGED)[0].strip("\n")


Words = Callable[[int], str]
"""The writer's own words of a message, by its id."""


def own_words(conn: sqlite3.Connection, message_id: int) -> str:
    """What the writer of a message wrote, without quotes, forwards, signature and disclaimer."""
    text = stored.text_of(conn, message_id)
    if text is None:
        return ""
    spans = conn.execute(
        "select section, start, stop from message_sections where message_id = ? order by position", (message_id,)
    ).fetchall()
    if not spans:
        return text.strip()
    pieces: list[str] = []
    interrupted = False
    for section, start, stop in spans:
        if section == "authored":
            piece = text[start:stop].strip("\n")
            if piece.strip():
                pieces += [LEFT_OUT, piece] if interrupted and pieces else [piece]
                interrupted = False
        else:
            interrupted = True
    return "\n".join(pieces).strip()


def build(
    conn: sqlite3.Connection,
    message_id: int,
    *,
    own_chars: int = OWN_CHARS,
    context_chars: int = CONTEXT_CHARS,
    words: Words | None = None,
) -> Reading:
    """What a judge is to read of a message. Reads only; ``keep`` stores it.

    ``words``: a cached ``own_words``, since the messages of a conversation are context for one another. Raises KeyError for a
    message that is not there.
    """
    words = words or (lambda id_: own_words(conn, id_))
    message = conn.execute(
        "select id, thread_id, subject, from_name, from_address, sent_at from messages where id = ?", (message_id,)
    ).fetchone()
    if message is None:
        raise KeyError(message_id)
    own, left_out = _cut(words(message_id), own_chars)
    before, parts = _before(conn, message, context_chars, words)
    head = f"{BEFORE}\n\n{before}\n\n{JUDGED}\n\n" if before else f"{JUDGED}\n\n"
    part = "\n".join(_headers(conn, message)) + "\n\n" + (own or NOTHING)
    text = head + part
    return Reading(
        sha256=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
        text=text,
        own_start=len(head),
        own_stop=len(text),
        left_out=left_out,
        parts=(message_id, *parts),
    )


def keep(conn: sqlite3.Connection, reading: Reading) -> None:
    """Store a reading, once, with whose words are in it. Inside the caller's transaction."""
    conn.execute(
        "insert or ignore into recall_readings (sha256, text, own_start, own_stop, left_out, format) values (?, ?, ?, ?, ?, ?)",
        (reading.sha256, reading.text, reading.own_start, reading.own_stop, reading.left_out, FORMAT),
    )
    # Also for a text that was there: two messages may have said the same to the letter.
    conn.executemany(
        "insert or ignore into recall_reading_parts (sha256, message_id) values (?, ?)",
        [(reading.sha256, part) for part in reading.parts],
    )


def load(conn: sqlite3.Connection, sha256: str) -> Reading | None:
    """A reading that was kept, or None."""
    row = conn.execute(
        "select text, own_start, own_stop, left_out from recall_readings where sha256 = ?", (sha256,)
    ).fetchone()
    if row is None:
        return None
    parts = conn.execute("select message_id from recall_reading_parts where sha256 = ? order by message_id", (sha256,))
    return Reading(sha256, row[0], row[1], row[2], row[3], tuple(part[0] for part in parts))


def drop_unused(conn: sqlite3.Connection, sha256s: list[str]) -> None:
    """Delete those of these readings that no verdict rests on and no question waits with."""
    these = json.dumps(sha256s)
    unused = (
        "select r.value from json_each(?) r where not exists (select 1 from recall_verdicts v where v.reading_sha256 = r.value)"
        " and not exists (select 1 from recall_eligible e where e.reading_sha256 = r.value)"
    )
    conn.execute(f"delete from recall_reading_parts where sha256 in ({unused})", (these,))
    conn.execute(f"delete from recall_readings where sha256 in ({unused})", (these,))


def _headers(conn: sqlite3.Connection, message: sqlite3.Row) -> list[str]:
    lines = [f"Date: {_when(message['sent_at'])}", f"From: {_person(message['from_name'], message['from_address'])}"]
    people: dict[str, list[str]] = {}
    for role, name, address in conn.execute(
        "select role, name, address from message_recipients where message_id = ? and role <> 'reply-to' order by id limit 50",
        (message["id"],),
    ):
        people.setdefault(role, []).append(_person(name, address))
    lines += [f"{role.capitalize()}: {', '.join(people[role])}" for role in ("to", "cc", "bcc") if role in people]
    lines.append(f"Subject: {_line(message['subject'] or '')}")
    names = [
        _line(row[0])
        for row in conn.execute(
            "select filename from attachments where message_id = ? and filename is not null order by id limit 20",
            (message["id"],),
        )
    ]
    if names:
        lines.append(f"Attachments: {', '.join(names)}")
    return lines


def _before(conn: sqlite3.Connection, message: sqlite3.Row, room: int, words: Words) -> tuple[str, list[int]]:
    """The messages of the conversation that were sent before this one, the nearest first for the room, the oldest on top."""
    if message["thread_id"] is None or message["sent_at"] is None:
        return "", []  # with no date, nothing says what came before
    earlier = conn.execute(
        "select id, from_name, from_address, sent_at from messages"
        " where thread_id = ?1 and copy_of is null and sent_at <= ?2 and (sent_at < ?2 or id < ?3) and id <> ?3"
        " order by sent_at desc, id desc limit ?4",
        (message["thread_id"], message["sent_at"], message["id"], CONTEXT_MESSAGES),
    ).fetchall()
    blocks: list[str] = []
    parts: list[int] = []
    for one in earlier:
        said = words(one["id"])
        if not said:
            continue
        title = f"[{_when(one['sent_at'])}, {_person(one['from_name'], one['from_address'])}]\n"
        left = room - len(title)
        if len(said) > left:
            if left < _LEAST_CONTEXT:
                break
            said = said[: left - 2].rstrip() + " …"
        blocks.append(title + said)
        parts.append(one["id"])
        room -= len(title) + len(said)
        if said.endswith(" …"):
            break
    return "\n\n".join(reversed(blocks)), parts


def _cut(text: str, most: int) -> tuple[str, int]:
    """``text`` cut at ``most`` characters, at a space where there is one near, and how many were left out."""
    if len(text) <= most:
        return text, 0
    at = text.rfind(" ", most - 200, most)
    at = at if at > 0 else most
    return text[:at], len(text) - at


def _when(iso: str | None) -> str:
    return f"{iso[:10]} {iso[11:16]} UTC" if iso else "unknown"


def _person(name: str | None, address: str | None) -> str:
    return _line(" ".join(part for part in (name, f"<{address}>" if address else None) if part)) or "unknown"


def _line(text: str) -> str:
    """One line, so that a header cannot imitate the lines below it."""
    return " ".join(text.split())[:500]
