"""The report of a question, to print and hand to someone who was not there: what was asked, of what, by whom it was judged and
how, the count with its sums, and every message that says yes with what it rests on. It needs no script and shows nothing
that is not in the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from datasette import Response
from datasette.utils.sqlite import sqlite3

from . import exports, pages, readings, timeline
from .exports import NOT_JUDGED, Listed
from .rows import now
from .site_db import Site
from .verdicts import HUMAN

MOST_YES = 3_000
"""How many yes messages one report writes out, and how many of the unclear and the failed it lists; the CSV has all."""
MOST_OTHERS = 1_000
STRATA = {"yes": "said yes", "no": "said no", "unclear": "unclear", "not_judged": "not judged, or failed"}


async def report_page(here: Site, request: Any) -> Response:
    """The report as one page for print."""
    question_id = exports.which(request)
    found = await here.read(gather, question_id)
    made = now()
    return await pages.page(
        here.datasette,
        request,
        "oaken_report.html",
        database=here.db.name,
        sheet=here.datasette.static("oaken-print.css", plugin="datasette_oaken"),
        file=Path(here.db.path or here.db.name).name,
        oaken=version("datasette-oaken"),
        made=made,
        strata_names=STRATA,
        human=HUMAN,
        **found,
    )


def gather(conn: sqlite3.Connection, question_id: int) -> dict[str, Any]:
    """Everything that the report shows, of one moment. Raises OakenError not_found.

    question, count, equations, yes, unclear, error (each: items, total), checked (quotes), outside (messages that it was not asked
    of), cut (messages read in part), timeline.
    """
    with exports.snapshot(conn):
        start = exports.head(conn, question_id)
        listed: list[Listed] = start["listed"]
        yes = _some(conn, question_id, listed, "yes", MOST_YES)
        for item in yes["items"]:
            item["evidence"] = evidence(conn, item["verdict"])
        (messages,) = conn.execute("select count(*) from messages").fetchone()
        (cut,) = conn.execute(
            "select count(*) from recall_eligible e join recall_readings r on r.sha256 = e.reading_sha256"
            " where e.question_id = ? and r.left_out > 0",
            (question_id,),
        ).fetchone()
        count = start["count"]
        return {
            "question": start["question"],
            "count": count,
            "equations": equations(count),
            "yes": yes,
            "unclear": _some(conn, question_id, listed, "unclear", MOST_OTHERS),
            "error": _some(conn, question_id, listed, "error", MOST_OTHERS),
            "checked": [item["evidence"] for item in yes["items"] if item["evidence"] is not None],
            "against": sum(one.status == "no" and one.judged_status == "yes" for one in listed),
            "outside": messages - count["eligible"] - count["copies"],
            "cut": cut,
            "timeline": timeline.shown(timeline.buckets(conn, question_id)),
        }


def _some(
    conn: sqlite3.Connection, question_id: int, listed: Sequence[Listed], status: str, most: int
) -> dict[str, Any]:
    of_it = [one for one in listed if one.status == status]
    return {"items": exports.details(conn, question_id, of_it[:most]), "total": len(of_it)}


def evidence(conn: sqlite3.Connection, verdict: dict[str, Any] | None) -> bool | None:
    """Whether a verdict's quote stands, to the letter, in the own part of the reading that its hash names; None without one.

    Looked up anew, so that a report does not rest on what was checked when it was judged.
    """
    if not verdict or not verdict["quote"]:
        return None
    reading = readings.load(conn, verdict["reading_sha256"])
    if reading is None or hashlib.sha256(reading.text.encode("utf-8", "replace")).hexdigest() != reading.sha256:
        return False
    return verdict["quote"] in reading.own


def equations(count: dict[str, Any]) -> list[tuple[str, str]]:
    """The count's sums as text, each with what it means."""
    n = {name: f"{count[name]:,}" for name in ("eligible", "judged", "yes", "no", "unclear", "errors", "remaining")}
    found = [
        (
            f"{n['eligible']} asked of = {n['yes']} yes + {n['no']} no + {n['unclear']} unclear"
            f" + {n['errors']} {'error' if count['errors'] == 1 else 'errors'} + {n['remaining']} {NOT_JUDGED}",
            "Every message that the question is asked of is in exactly one of these.",
        ),
        (
            f"{n['judged']} judged = {n['yes']} yes + {n['no']} no + {n['unclear']} unclear",
            "An error is no judgement, and never counts as a no.",
        ),
    ]
    if count["eligible"]:
        # Rounded down, as in the sentence: what is not whole never says 100 %.
        share = int(count["coverage"] * 1000) / 10
        found.append(
            (
                f"{share:.1f} % coverage = {n['judged']} judged ÷ {n['eligible']} asked of",
                "The number of yes messages is the least there are."
                if count["at_least"]
                else "Every message was judged.",
            )
        )
    return found
