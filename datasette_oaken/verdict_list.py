"""Verdicts as the pages and the API list them: filtered, a page at a time, and one with everything that it rests on."""

from __future__ import annotations

import json
import re
from typing import Any

from datasette.utils.sqlite import sqlite3

from . import readings
from .db import OakenError
from .messages import message_url

STATUSES = ("yes", "no", "unclear", "error", "not_judged")
LIMIT = 50
MAX_SENDER = 200
_STATUS = "case e.answer when 1 then 'yes' when 0 then 'no' else coalesce(e.status, 'not_judged') end"
# Both read the same. Along the index of dates the first page is found at once where many messages are wanted; where few are,
# these are gathered first and sorted.
_BY_DATE = "messages m cross join recall_eligible e on e.question_id = ?1 and e.message_id = m.id"
_GATHERED = "recall_eligible e cross join messages m on e.question_id = ?1 and m.id = e.message_id"
_ORDER = "order by m.sent_at desc, m.id desc"  # null, no date, is the least
_SHOWN = f"""
  select m.id as message_id, m.sent_at as date, m.from_name, m.from_address, m.subject, m.thread_id, {_STATUS} as status,
    e.status as judged_status, e.answer, e.stale, e.copies, e.verdict_id, v.quote, v.reasoning, v.considerations, v.error,
    v.judge, v.model, v.prompt_version, v.judged_at, v.reading_sha256
  from messages m join recall_eligible e on e.question_id = ?1 and e.message_id = m.id
    left join recall_verdicts v on v.id = e.verdict_id
  where m.id in (select value from json_each(?2)) {_ORDER}
"""


def verdict_url(verdict_id: int) -> str:
    """Where the site shows a verdict, before any ``base_url``."""
    return f"/-/oaken/verdicts/{verdict_id}"


def listed(
    conn: sqlite3.Connection,
    question_id: int,
    *,
    status: str | None = None,
    sender: str | None = None,
    month: str | None = None,
    reviewed: bool | None = None,
    after: str | None = None,
    limit: int = LIMIT,
) -> dict[str, Any]:
    """What a question is asked of, the newest first, those with no date last: ``verdicts`` and ``next``.

    ``status``: one of STATUSES, as it counts. ``sender``: a part of a name or address. ``month``: ``2024-03``, a year, or ``none``
    for messages with no date. ``reviewed``: whether a person answered. ``after``: the ``next`` of the page before.

    Raises OakenError bad_request for a status, a month or a token that is none, and for a sender that is too long.
    """
    where, values = ["1"], [question_id]
    if status is not None:
        if status not in STATUSES:
            raise OakenError(f"There is no status {status!r}; there are {', '.join(STATUSES)}.", "bad_request")
        where.append(f"{_STATUS} = ?")
        values.append(status)  # type: ignore[arg-type]
    if sender and len(sender) > MAX_SENDER:
        raise OakenError(f"sender must be at most {MAX_SENDER} characters.", "bad_request")
    if sender:
        like = "%" + sender.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        where.append("(m.from_address like ? escape '\\' or m.from_name like ? escape '\\')")
        values += [like, like]  # type: ignore[list-item]
    if month == "none":
        where.append("m.sent_at is null")
    elif month:
        if not re.fullmatch(r"[0-9]{4}(-(0[1-9]|1[0-2]))?", month):
            raise OakenError("month must be such as 2024-03 or 2024, or none for messages with no date.", "bad_request")
        where.append("m.sent_at >= ? and m.sent_at < ?")
        values += [month, month + "~"]  # type: ignore[list-item]
    if reviewed is not None:
        where.append(f"e.answer is {'not ' if reviewed else ''}null")
    if after:
        when, _, last = after.rpartition("~")
        if not (last.isascii() and last.isdigit() and len(last) < 19):
            raise OakenError("This is not the next of a page of verdicts.", "bad_request")
        if when:
            where.append("(m.sent_at is null or (m.sent_at, m.id) < (?, ?))")
            values += [when, int(last)]  # type: ignore[list-item]
        else:
            where.append("m.sent_at is null and m.id < ?")
            values.append(int(last))
    source = _BY_DATE if _are_many(conn, question_id, status, reviewed, limit) else _GATHERED
    ids = conn.execute(
        f"select m.id from {source} where {' and '.join(where)} {_ORDER} limit ?", [*values, limit + 1]
    ).fetchall()
    page = json.dumps([row[0] for row in ids[:limit]])
    verdicts = [_item(row) for row in conn.execute(_SHOWN, (question_id, page))]
    going_on = len(ids) > limit
    return {
        "verdicts": verdicts,
        "returned": len(verdicts),
        "truncated": going_on,
        "next": f"{verdicts[-1]['date'] or ''}~{verdicts[-1]['message_id']}" if going_on else None,
    }


def _are_many(
    conn: sqlite3.Connection, question_id: int, status: str | None, reviewed: bool | None, limit: int
) -> bool:
    """Whether so many messages are wanted that the walk along all mail meets ``limit`` of them before it has seen as many."""
    wanted = 0
    for judged, answer, number in conn.execute(
        "select status, answer, messages from recall_tallies where question_id = ?", (question_id,)
    ):
        counts_as = {1: "yes", 0: "no"}.get(answer, judged or "not_judged")
        if status in (None, counts_as) and reviewed in (None, answer != -1):
            wanted += number
    (mail,) = conn.execute("select coalesce(max(id), 0) from messages").fetchone()
    return bool(wanted * wanted > limit * mail)


def _item(row: sqlite3.Row) -> dict[str, Any]:
    item = dict(row)
    person = {"name": item.pop("from_name"), "address": item.pop("from_address")}
    at = f"?verdict={item['verdict_id']}#quote" if item["quote"] else ""
    return item | {
        "from": person,
        "answer": _truth(item["answer"]),
        "stale": bool(item["stale"]),
        "message_url": message_url(item["message_id"]) + at,
        "url": verdict_url(item["verdict_id"]) if item["verdict_id"] else None,
    }


def _truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def one(conn: sqlite3.Connection, verdict_id: int) -> dict[str, Any] | None:
    """A verdict with its reading, reviews and everything else that was judged of the message for this question; or None.

    ``counts``: it is the one that counts. ``reading``: text, before, own, left_out, and ``marked``, the own part cut into what
    stands before the quote, the quote, and what stands after it.
    """
    row = conn.execute(
        "select v.*, m.sent_at as date, m.subject, m.from_name, m.from_address, m.internet_message_id, r.sha256 as raw_sha256,"
        " e.verdict_id is v.id as counts, e.answer as person from recall_verdicts v"
        " left join messages m on m.id = v.message_id left join raw_messages r on r.message_id = v.message_id"
        " left join recall_eligible e on e.question_id = v.question_id and e.message_id = v.message_id where v.id = ?",
        (verdict_id,),
    ).fetchone()
    if row is None:
        return None
    verdict = {key: row[key] for key in row.keys() if key not in ("from_name", "from_address", "basis")}  # noqa: SIM118
    reading = readings.load(conn, verdict["reading_sha256"])
    reviews = conn.execute(
        "select agrees, answer, note, reviewer, reviewed_at from recall_reviews where verdict_id = ? order by id",
        (verdict_id,),
    )
    others = conn.execute(
        "select id as verdict_id, judge, model, prompt_version, status, question, criterion, reading_sha256, judged_at"
        " from recall_verdicts where question_id = ? and message_id is ? and id <> ? order by id desc limit 50",
        (verdict["question_id"], verdict["message_id"], verdict_id),
    )
    at = f"?verdict={verdict_id}#quote" if verdict["quote"] else ""
    return verdict | {
        "verdict_id": verdict_id,
        "counts": bool(verdict["counts"]),
        "person": _truth(verdict["person"]),
        "from": {"name": row["from_name"], "address": row["from_address"]},
        "reading": _shown(reading, verdict["quote"]) if reading else None,
        "reviews": [
            dict(review) | {"agrees": bool(review["agrees"]), "answer": _truth(review["answer"])} for review in reviews
        ],
        "others": [dict(other) | {"url": verdict_url(other["verdict_id"])} for other in others],
        "message_url": message_url(verdict["message_id"]) + at if verdict["message_id"] else None,
        "url": verdict_url(verdict_id),
    }


def _shown(reading: readings.Reading, quote: str | None) -> dict[str, Any]:
    at = reading.own.find(quote) if quote else -1
    cut = (reading.own[:at], quote, reading.own[at + len(quote or "") :]) if at >= 0 else (reading.own, "", "")
    return {
        "text": reading.text,
        "before": reading.before,
        "own": reading.own,
        "left_out": reading.left_out,
        "marked": list(cut),
    }
