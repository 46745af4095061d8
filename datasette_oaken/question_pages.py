"""The pages of compiled questions: the list, one question, one verdict with everything it rests on, and the review."""

from __future__ import annotations

import json
import zlib
from functools import partial
from typing import Any
from urllib.parse import urlencode

from datasette import Response

from . import agreement, readings, sampling, timeline, verdict_list
from .db import OakenError
from .estimate import Stratum
from .pages import page
from .question_api import all_counts, asked, count_of, ids, question_url, read_verdict, review_url, which
from .site_db import Site
from .verdicts import HUMAN

FILTERS = ("status", "sender", "month", "reviewed")
NAMES = {"yes": "Yes", "no": "No", "unclear": "Unclear", "error": "Error", "not_judged": "Not judged"}
STRATA = {"yes": "judged yes", "no": "judged no", "unclear": "unclear", "not_judged": "not judged"}


async def questions_page(here: Site, request: Any) -> Response:
    """Every question with its count, or what to run when nothing has been asked."""
    found = await here.read(all_counts)
    return await page(here.datasette, request, "oaken_questions.html", database=here.db.name, questions=found)


async def question_page(here: Site, request: Any) -> Response:
    """One question: its count first, then what it rests on."""
    question_id = which(request)
    count = await here.read(count_of, question_id)
    filters = asked(request)
    found = await here.read(verdict_list.listed, question_id, **filters)
    kept = {name: request.args.get(name) for name in FILTERS if request.args.get(name)}
    side_by_side = request.args.get("judges") == "1"
    return await page(
        here.datasette,
        request,
        "oaken_question.html",
        database=here.db.name,
        count=count,
        timeline=timeline.shown(await here.read(timeline.buckets, question_id)),
        found=found,
        kept=kept,
        names=NAMES,
        strata=STRATA,
        next_page=f"?{urlencode(kept | {'next': found['next']})}#verdicts" if found["next"] else None,
        first_page=filters["after"] is None,
        status_links=[
            (name, NAMES[name], f"?{urlencode({**kept, 'status': name})}#verdicts", kept.get("status") == name)
            for name in verdict_list.STATUSES
        ],
        several=await here.read(_several, count),
        agreement=await here.read(agreement.agreement, question_id) if side_by_side else None,
        differing=await here.read(_differing, question_id) if side_by_side else None,
        path=question_url(question_id),
    )


def _several(conn: Any, count: dict[str, Any]) -> bool:
    """Whether anyone but the judge that counts has judged: another judge, another model or prompt of it, or a person."""
    if sum(count["reviewed"].values()) or any(change["what"] == "judge" for change in count["changes"]):
        return True
    return any(
        conn.execute(
            f"select 1 from recall_verdicts where question_id = ? and judge {side} ? limit 1",
            (count["question_id"], count["judge"]),
        ).fetchone()
        for side in ("<", ">")
    )


def _differing(conn: Any, question_id: int) -> list[dict[str, Any]]:
    """Where judges differ, with what tells a message from others."""
    found = agreement.disagreements(conn, question_id)
    told = {
        row["id"]: {"date": row["sent_at"], "subject": row["subject"]}
        for row in conn.execute(
            "select id, sent_at, subject from messages where id in (select value from json_each(?))",
            (json.dumps([one["message_id"] for one in found]),),
        )
    }
    return [one | told[one["message_id"]] for one in found if one["message_id"] in told]


async def verdict_page(here: Site, request: Any) -> Response:
    """One verdict: what was asked, what was read, what was said, and what people said of it."""
    verdict = await read_verdict(here, request)
    return await page(
        here.datasette,
        request,
        "oaken_verdict.html",
        database=here.db.name,
        verdict=verdict,
        names=NAMES,
        question_path=question_url(verdict["question_id"]),
        can_write=here.db.is_mutable,
    )


async def review_page(here: Site, request: Any) -> Response:
    """The next message of the random sample, without what the judge said of it: an answer that is seen first is agreed with."""
    question_id = which(request)
    count = await here.read(count_of, question_id)
    wanted = request.args.get("stratum") or None
    if wanted is not None and wanted not in sampling.STRATA:
        raise OakenError(f"There is no stratum {wanted}; there are {', '.join(sampling.STRATA)}.", "bad_request")
    skip = ids(request.args.get("skip"))
    again, last = ids(request.args.get("again")), ids(request.args.get("last"))
    strata, message_id = await here.read(_next, question_id, wanted, skip, again)
    reading = await here.read(_reading, question_id, message_id, here.settings.judge) if message_id else None
    said = await here.read(_said, question_id, last[0]) if last else None
    return await page(
        here.datasette,
        request,
        "oaken_review.html",
        database=here.db.name,
        count=count,
        strata=strata,
        names=STRATA,
        wanted=wanted,
        skipped=skip,
        message_id=message_id,
        reading=reading,
        last=said,
        verdict_names=NAMES,
        skip=review_url(question_id, wanted, [*skip, message_id] if message_id else skip),
        unskipped=review_url(question_id, wanted, []),
        can_write=here.db.is_mutable,
        human=count["judge"] == HUMAN,
        path=question_url(question_id),
    )


AHEAD = 2
"""By how many answers a stratum may be ahead of the least answered and still have its turn."""


def _next(
    conn: Any, question_id: int, wanted: str | None, skip: list[int], again: list[int]
) -> tuple[list[Stratum], int | None]:
    """The strata, and the next message: ``again`` if it waits for an answer, else the next of the stratum whose turn it is.

    The strata are answered about equally often, but not in turn: who knows whose turn it is knows what the judge said. Which of
    them is asked is drawn by the message's own random place.
    """
    strata = sampling.strata(conn, question_id)
    if (
        again
        and conn.execute(
            "select 1 from recall_eligible where question_id = ? and message_id = ? and answer is null",
            (question_id, again[0]),
        ).fetchone()
    ):
        return strata, again[0]
    waiting: list[tuple[int, int]] = []  # (answers in its stratum, message)
    for stratum in strata:
        if stratum.sampled < stratum.size and wanted in (None, stratum.name):
            queue = sampling.queue(conn, question_id, stratum.name, len(skip) + 1)
            if left := [message_id for message_id in queue if message_id not in skip]:
                waiting.append((stratum.sampled + len(queue) - len(left), left[0]))
    if not waiting:
        return strata, None
    most = min(answered for answered, _ in waiting) + AHEAD
    return strata, min((m for answered, m in waiting if answered <= most), key=partial(_draw, conn, question_id))


def _draw(conn: Any, question_id: int, message_id: int) -> int:
    """A random number of a message's own that its place among the others does not tell."""
    (lot,) = conn.execute(
        "select lot from recall_eligible where question_id = ? and message_id = ?", (question_id, message_id)
    ).fetchone()
    return zlib.crc32(b"%d" % lot)


def _reading(conn: Any, question_id: int, message_id: int, settings: Any) -> readings.Reading | None:
    """What a judge was given, or would be: the person reads the same."""
    row = conn.execute(
        "select reading_sha256 from recall_eligible where question_id = ? and message_id = ?", (question_id, message_id)
    ).fetchone()
    kept = readings.load(conn, row[0]) if row and row[0] else None
    return kept or readings.build(
        conn, message_id, own_chars=settings.reading_chars, context_chars=settings.context_chars
    )


def _said(conn: Any, question_id: int, message_id: int) -> dict[str, Any] | None:
    """What a person and the judge said of the message before."""
    row = conn.execute(
        "select e.message_id, e.answer, coalesce(e.status, 'not_judged') as status, e.verdict_id, m.subject from recall_eligible e"
        " join messages m on m.id = e.message_id where e.question_id = ? and e.message_id = ? and e.answer is not null",
        (question_id, message_id),
    ).fetchone()
    return dict(row) if row else None
