"""What may leave the file: a question's verdicts as CSV for a spreadsheet and as JSON with all that they rest on.

Which messages there are and what counts of each is read at once, so that the figures of one export add up although a run goes
on meanwhile; the words are then read in batches, so that a hundred thousand messages need no more memory than one batch's.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from datasette import Response
from datasette.utils.asgi import AsgiStream
from datasette.utils.sqlite import sqlite3

from . import counts, questions
from .api import number
from .changes import changes
from .db import OakenError
from .render import content_disposition
from .rows import now
from .site_db import Site

TABLES = (
    "recall_questions",
    "recall_question_changes",
    "recall_eligible",
    "recall_verdicts",
    "recall_readings",
    "recall_reviews",
    "messages",
    "message_recipients",
    "raw_messages",
    "ingest_failures",
)
"""What an export tells of, so whoever asks for one must be allowed to see all of them."""
BATCH = 500
FORMAT = 1
"""The version of the JSON's form."""
NOT_JUDGED = "not judged"
COLUMNS = (
    "message_id",
    "internet_message_id",
    "date",
    "from",
    "to",
    "subject",
    "status",
    "judged_status",
    "reviewed",
    "quote",
    "reasoning",
    "considerations",
    "judge",
    "model",
    "prompt_version",
    "judged_at",
    "raw_sha256",
    "reading_sha256",
    "error",
)
"""The columns of the CSV."""
_SAID = {"yes": "yes", "no": "no", "unclear": "unclear", "error": "error", None: NOT_JUDGED}
_ANSWER = {1: "yes", 0: "no", None: None}
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class Listed(NamedTuple):
    """One eligible message. ``status``: what counts of it (yes, no, unclear, error, not judged); ``judged_status``: what the judge
    said; ``answer``: what a person said (1, 0)."""

    message_id: int
    status: str
    judged_status: str
    answer: int | None
    verdict_id: int | None
    copies: int


@contextmanager
def snapshot(conn: sqlite3.Connection) -> Iterator[None]:
    """Several reads of one and the same moment. Nothing is written."""
    if conn.in_transaction:
        yield
        return
    conn.execute("begin")
    try:
        yield
    finally:
        conn.execute("rollback")


def which(request: Any) -> int:
    """The question that the address names. Raises OakenError not_found for what cannot be one."""
    return number(request.url_vars["question_id"], "question")


def head(conn: sqlite3.Connection, question_id: int) -> dict[str, Any]:
    """The question, its count with every change of it, and its messages (``listed``), of one moment.

    Raises OakenError not_found.
    """
    with snapshot(conn):
        question = questions.get(conn, question_id)
        if question is None:
            raise OakenError(f"There is no question {question_id} here.", "not_found")
        count = counts.count(conn, question_id)
        count["changes"] = changes(conn, question_id, limit=-1)
        return {"question": question, "count": count, "listed": listed(conn, question_id)}


def listed(conn: sqlite3.Connection, question_id: int) -> list[Listed]:
    """Every eligible message by date, those without one last."""
    found = conn.execute(
        "select e.message_id, e.status, e.answer, e.verdict_id, e.copies"
        " from recall_eligible e join messages m on m.id = e.message_id"
        " where e.question_id = ? order by m.sent_at is null, m.sent_at, m.id",
        (question_id,),
    )
    # The statuses are taken from _SAID, so that a hundred thousand rows share five texts.
    return [
        Listed(id_, _SAID[status if answer is None else _ANSWER[answer]], _SAID[status], answer, verdict, copies)
        for id_, status, answer, verdict, copies in found
    ]


def details(conn: sqlite3.Connection, question_id: int, some: Sequence[Listed]) -> list[dict[str, Any]]:
    """Some of the listed messages with everything that their verdicts rest on; one that was deleted since is left out.

    Each: message_id, internet_message_id, account, date, from, to (a list), subject, status, judged_status, reviewed (yes, no or
    None), copies, raw_sha256, verdict (the one that counts, or None), others (what else was judged of it, the newest first). A
    verdict: verdict_id, judge, model, prompt_version, remote_host, question, criterion, status, quote, reasoning,
    considerations, error, judged_at, duration_ms, attempts, shared_from, reading_sha256, reviews.
    """
    ids = json.dumps([one.message_id for one in some])
    with snapshot(conn):
        found = {
            row["id"]: row
            for row in conn.execute(
                "select m.id, m.internet_message_id, m.account, m.sent_at, m.from_name, m.from_address, m.subject, r.sha256"
                " from messages m left join raw_messages r on r.message_id = m.id"
                " where m.id in (select value from json_each(?))",
                (ids,),
            )
        }
        to: dict[int, list[str]] = {}
        for id_, name, address in conn.execute(
            "select message_id, name, address from message_recipients where role = 'to'"
            " and message_id in (select value from json_each(?)) order by id",
            (ids,),
        ):
            to.setdefault(id_, []).append(_person(name, address))
        reviews: dict[int, list[dict[str, Any]]] = {}
        for row in conn.execute(
            "select r.verdict_id, r.agrees, r.answer, r.note, r.reviewer, r.reviewed_at from recall_reviews r"
            " join recall_verdicts v on v.id = r.verdict_id where v.question_id = ?"
            " and v.message_id in (select value from json_each(?)) order by r.id",
            (question_id, ids),
        ):
            reviews.setdefault(row["verdict_id"], []).append(
                {
                    "agrees": bool(row["agrees"]),
                    "answer": _ANSWER[row["answer"]],
                    "note": row["note"],
                    "reviewer": row["reviewer"],
                    "reviewed_at": row["reviewed_at"],
                }
            )
        verdicts: dict[int, list[dict[str, Any]]] = {}
        for row in conn.execute(
            "select message_id, id as verdict_id, judge, model, prompt_version, remote_host, question, criterion, status, quote,"
            " reasoning, considerations, error, judged_at, duration_ms, attempts, shared_from, reading_sha256"
            " from recall_verdicts where question_id = ? and message_id in (select value from json_each(?))"
            " order by judged_at desc, id desc",
            (question_id, ids),
        ):
            verdict = dict(row)
            verdicts.setdefault(verdict.pop("message_id"), []).append(
                verdict | {"reviews": reviews.get(verdict["verdict_id"], [])}
            )
    return [
        _detail(one, found[id_], to.get(id_, []), verdicts.get(id_, []))
        for one in some
        if (id_ := one.message_id) in found
    ]


def _detail(one: Listed, row: sqlite3.Row, to: list[str], verdicts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "message_id": one.message_id,
        "internet_message_id": row["internet_message_id"],
        "account": row["account"],
        "date": row["sent_at"],
        "from": _person(row["from_name"], row["from_address"]),
        "to": to,
        "subject": row["subject"],
        "status": one.status,
        "judged_status": one.judged_status,
        "reviewed": _ANSWER[one.answer],
        "copies": one.copies,
        "raw_sha256": row["sha256"],
        "verdict": next((v for v in verdicts if v["verdict_id"] == one.verdict_id), None),
        "others": [v for v in verdicts if v["verdict_id"] != one.verdict_id],
    }


def _person(name: str | None, address: str | None) -> str:
    return " ".join(part for part in (name, f"<{address}>" if address else None) if part)


def cell(value: object) -> str:
    """A value as a cell that no spreadsheet takes for a formula: what begins like one gets an apostrophe before it.

    OWASP, "CSV Injection". NUL, which no reader of CSV expects, becomes U+FFFD.
    """
    text = "" if value is None else str(value).replace("\0", "\ufffd")
    return f"'{text}" if text.startswith(_FORMULA) else text


def csv_row(item: dict[str, Any]) -> list[str]:
    """An item of ``details`` in the order of ``COLUMNS``."""
    verdict = item["verdict"] or {}
    flat = item | {name: verdict.get(name) for name in COLUMNS if name not in item} | {"to": ", ".join(item["to"])}
    return [cell(flat[name]) for name in COLUMNS]


def file_name(here: Site, question_id: int, ending: str) -> str:
    """``mail-question-3-2026-01-31.csv``: which file, which question, what day."""
    return f"{Path(here.db.path or here.db.name).stem}-question-{question_id}-{now()[:10]}.{ending}"


async def export_csv(here: Site, request: Any) -> Any:
    """One row an eligible message. UTF-8 with a byte order mark, without which Excel takes it for another encoding."""
    question_id = which(request)
    start = await here.read(head, question_id)

    async def chunks() -> AsyncIterator[str]:
        yield "\ufeff" + _csv([COLUMNS])
        async for items in _batches(here, question_id, start["listed"]):
            yield _csv(map(csv_row, items))

    return _streamed(request, chunks(), "text/csv; charset=utf-8", file_name(here, question_id, "csv"))


def _csv(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()


async def export_json(here: Site, request: Any) -> Any:
    """The question, its count, and every eligible message with its verdicts and reviews."""
    question_id = which(request)
    start = await here.read(head, question_id)
    opening = {
        "ok": True,
        "format": FORMAT,
        "exported_at": now(),
        "oaken": version("datasette-oaken"),
        "file": Path(here.db.path or here.db.name).name,
        "question": start["question"],
        "count": start["count"],
    }

    async def chunks() -> AsyncIterator[str]:
        yield json.dumps(opening, ensure_ascii=False, indent=1)[:-2] + ',\n "messages": ['
        between = "\n"
        async for items in _batches(here, question_id, start["listed"]):
            for item in items:
                yield between + json.dumps(item, ensure_ascii=False)
                between = ",\n"
        yield "\n ]\n}\n"

    return _streamed(request, chunks(), "application/json; charset=utf-8", file_name(here, question_id, "json"))


async def _batches(here: Site, question_id: int, found: Sequence[Listed]) -> AsyncIterator[list[dict[str, Any]]]:
    for start in range(0, len(found), BATCH):
        yield await here.read(details, question_id, found[start : start + BATCH])


def _streamed(request: Any, chunks: AsyncIterator[str], content_type: str, filename: str) -> Any:
    """A response that is sent as it is made. One that fails on the way ends without its end, so that it cannot pass for whole."""
    headers = {"Content-Disposition": content_disposition(filename)}
    if request.method == "HEAD":
        return Response("", content_type=content_type, headers=headers)

    async def write(writer: Any) -> None:
        async for chunk in chunks:
            await writer.write(chunk)

    return AsgiStream(write, headers=headers, content_type=content_type)
