"""``oaken inspect`` and ``oaken stats sections``: how messages were cut, so that a person can check it on their own mail."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import messages, stored
from datasette_oaken.db import OakenError

from .progress import Progress

_CLIENT = re.compile(rb"^(?:User-Agent|X-Mailer):[ \t]*(?:\r?\n[ \t]+)?([^\r\n]+)", re.IGNORECASE | re.MULTILINE)
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
# What comes after a program's name: its version, its build, where it runs.
_VERSION = re.compile(r"[\s/]*(?:[\[(]|\b[vV]?\d|/).*$", re.DOTALL)
UNKNOWN = "not said"


def inspect(conn: sqlite3.Connection, message_id: int) -> dict[str, Any]:
    """A message's sections in order, each with its words and why it was cut there, and the passages that are searched.

    Raises OakenError no_message.
    """
    found = messages.message(conn, message_id)
    if found is None:
        raise OakenError(f"There is no message {message_id}.", "no_message")
    passages = conn.execute(
        "select section, position, text from recall_chunks where message_id = ? order by id", (message_id,)
    )
    return {
        "ok": True,
        "message_id": message_id,
        "subject": found["subject"],
        "characters": len(found["text"]),
        "sections": found["sections"],
        "passages": [{"section": section, "position": position, "text": text} for section, position, text in passages],
    }


def sections(conn: sqlite3.Connection, *, quiet: bool = False) -> dict[str, Any]:
    """What was kept and what was cut, in characters and sections: in all, by reason, by mail program and by language.

    Copies are counted as the messages that they are. Reads the beginning of every raw message, for the program's name.
    """
    clients = _clients(conn, quiet)
    in_all: dict[str, dict[str, int]] = {}
    reasons: Counter[tuple[str, str]] = Counter()
    by_client: dict[str, Counter[str]] = {}
    by_language: dict[str, Counter[str]] = {}
    for message_id, language, section, why, length in conn.execute(
        "select s.message_id, coalesce(t.language, 'too little to tell'), s.section, s.why, s.stop - s.start"
        " from message_sections s left join message_texts t on t.message_id = s.message_id"
    ):
        total = in_all.setdefault(section, {"sections": 0, "characters": 0})
        total["sections"] += 1
        total["characters"] += length
        reasons[section, why] += 1
        by_client.setdefault(clients.get(message_id, UNKNOWN), Counter())[section] += length
        by_language.setdefault(language, Counter())[section] += length
    languages = Counter(
        row[0] for row in conn.execute("select coalesce(language, 'too little to tell') from message_texts")
    )
    return {
        "ok": True,
        "messages": len(clients),
        "sections": dict(sorted(in_all.items(), key=lambda item: -item[1]["characters"])),
        "why": [{"section": section, "why": why, "sections": n} for (section, why), n in reasons.most_common()],
        "clients": _shares("client", Counter(clients.values()), by_client),
        "languages": _shares("language", languages, by_language),
    }


def _shares(name: str, counted: Counter[str], by: dict[str, Counter[str]]) -> Sequence[dict[str, Any]]:
    return [
        {name: value, "messages": number, "characters": dict(by.get(value, Counter()).most_common())}
        for value, number in counted.most_common()
    ]


def _clients(conn: sqlite3.Connection, quiet: bool) -> dict[int, str]:
    """By message, the program that wrote it, as its header says."""
    (total,) = conn.execute("select count(*) from messages").fetchone()
    clients: dict[int, str] = {}
    with Progress("Reading headers", unit="messages", total=total, quiet=quiet) as bar:
        for message_id, codec, raw in conn.execute(
            "select m.id, r.codec, r.raw from messages m left join raw_messages r on r.message_id = m.id"
        ):
            clients[message_id] = _client(codec, raw)
            bar.update(1)
    return clients


def _client(codec: str | None, raw: bytes | None) -> str:
    if codec is None or raw is None:
        return UNKNOWN
    try:
        head = stored.beginning(codec, raw)
    except zlib.error:
        return UNKNOWN
    end = _END_OF_HEAD.search(head)
    said = _CLIENT.search(head, 0, end.start() if end else len(head))
    if said is None:
        return UNKNOWN
    name = " ".join(_VERSION.sub("", said[1].decode("utf-8", "replace")).split())
    return "".join(c if c.isprintable() else " " for c in name)[:60].strip(" -,;") or UNKNOWN
