"""The pages of compiled questions: the list, one question, one verdict with everything it rests on, and the review."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from datasette import Response

from . import agreement, readings, sampling, timeline, verdict_list
from .db import OakenError
from .pages import page
from .question_api import all_counts, asked, count_of, question_url, read_verdict, which
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
    judges = await here.read(_judges, question_id)
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
        judges=judges,
        agreement=await here.read(agreement.agreement, question_id) if side_by_side else None,
        disagreements=await here.read(agreement.disagreements, question_id) if side_by_side else None,
        path=question_url(question_id),
    )


def _judges(conn: Any, question_id: int) -> int:
    (number,) = conn.execute(
        "select count(distinct judge) from recall_verdicts where question_id = ?", (question_id,)
    ).fetchone()
    return int(number)


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
    skip = [int(part) for part in (request.args.get("skip") or "").split(",") if part.isascii() and part.isdigit()][
        -200:
    ]
    strata, stratum, message_id = await here.read(_next, question_id, wanted, skip)
    reading = await here.read(_reading, question_id, message_id, here.settings.judge) if message_id else None
    last = request.args.get("last") or ""
    said = (
        await here.read(_said, question_id, int(last)) if last.isascii() and last.isdigit() and len(last) < 19 else None
    )
    return await page(
        here.datasette,
        request,
        "oaken_review.html",
        database=here.db.name,
        count=count,
        strata=strata,
        names=STRATA,
        stratum=stratum,
        wanted=wanted,
        message_id=message_id,
        reading=reading,
        last=said,
        verdict_names=NAMES,
        skip=f"?{urlencode({'stratum': wanted or '', 'skip': ','.join(map(str, [*skip, message_id]))})}",
        can_write=here.db.is_mutable,
        human=count["judge"] == HUMAN,
        path=question_url(question_id),
    )


def _next(conn: Any, question_id: int, wanted: str | None, skip: list[int]) -> tuple[list[Any], str | None, int | None]:
    """The strata, the one whose turn it is (the least answered, unless one is wanted), and its next message."""
    strata = sampling.strata(conn, question_id)
    turns = sorted((s for s in strata if s.sampled < s.size and wanted in (None, s.name)), key=lambda s: s.sampled)
    for stratum in turns:
        waiting = (m for m in sampling.queue(conn, question_id, stratum.name, len(skip) + 1) if m not in skip)
        if (message_id := next(waiting, None)) is not None:
            return strata, stratum.name, message_id
    return strata, None, None


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
