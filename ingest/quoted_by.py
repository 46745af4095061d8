"""Who quotes or forwards a message: what stays of its words in the mail of others when it is forgotten."""

from __future__ import annotations

import json
import re
import zlib

from datasette.utils.sqlite import sqlite3

from datasette_oaken import readings, stored

MOST = 5_000
"""Messages for which it is looked up."""
_MARKS = re.compile(r"^[\s>|]+")
_TELLING = 20  # characters from which a line that stands in two messages is a quote rather than chance


def quoted_by(conn: sqlite3.Connection, messages: list[int]) -> int | None:
    """How many messages of the same conversations stay and hold a line of these; None: too many to look up."""
    if len(messages) > MOST:
        return None
    going = set(messages)
    quoted = 0
    for thread in {
        row[0]
        for row in conn.execute(
            "select thread_id from messages where thread_id is not null and id in (select value from json_each(?))",
            (json.dumps(messages),),
        )
    }:
        there = [row[0] for row in conn.execute("select id from messages where thread_id = ?", (thread,))]
        lines = {line for id_ in there if id_ in going for line in _own_lines(conn, id_)}
        quoted += sum(not lines.isdisjoint(_others_lines(conn, id_)) for id_ in there if id_ not in going and lines)
    return quoted


def _own_lines(conn: sqlite3.Connection, message_id: int) -> list[str]:
    try:
        return _lines(readings.own_words(conn, message_id))
    except zlib.error:
        return []  # what is damaged can be forgotten too


def _others_lines(conn: sqlite3.Connection, message_id: int) -> list[str]:
    """What a message quotes or forwards."""
    try:
        text = stored.text_of(conn, message_id) or ""
    except zlib.error:
        return []
    spans = conn.execute(
        "select start, stop from message_sections where message_id = ? and section in ('quoted', 'forwarded')",
        (message_id,),
    )
    return [line for start, stop in spans for line in _lines(text[start:stop])]


def _lines(text: str) -> list[str]:
    lines = (" ".join(_MARKS.sub("", line).split()) for line in text.splitlines())
    return [line for line in lines if len(line) >= _TELLING]
