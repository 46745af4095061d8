"""The HTML pages: search, message, conversation, and what stands there when there is nothing to show.

They work without script. What is shown is escaped by Jinja or made by ``render``; links are made by ``datasette.urls``.
"""

from __future__ import annotations

import asyncio
import re
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from datasette import Response
from markupsafe import Markup

from . import api, messages, render
from .site_db import SEARCH_PATH, Site, find, may_read, may_search

SHOWN_CHARS = 300_000
"""How much of one message's text its page shows, and a conversation's page of all its messages together."""
SHOWN_CHARS_IN_THREAD = 20_000
BESIDE = 40
"""How many messages of its conversation stand beside a message, around it."""

ROLES = {"to": "To", "cc": "Cc", "bcc": "Bcc", "reply-to": "Reply to"}
FOLDED = {
    "quoted": "Quoted",
    "signature": "Signature",
    "disclaimer": "Disclaimer",
    "forwarded": "Forwarded message",
    "headers": "Headers",
}


async def page(datasette: Any, request: Any, template: str, status: int = 200, **context: Any) -> Response:
    """Render one of our templates with the functions that they share."""
    helpers = {
        "person": render.person,
        "plain_name": render.plain_name,
        "safe_filename": render.safe_filename,
        "short_date": render.short_date,
        "long_date": render.long_date,
        "marked": render.marked,
        "assets": _assets(datasette),
        "database": None,
        "q": "",
        "mode": "hybrid",
        "focus": False,
    }
    html = await datasette.render_template(template, helpers | context, request=request)
    return Response.html(html, status=status)


def _assets(datasette: Any) -> dict[str, str]:
    """The addresses of our stylesheet and script, with their hashes. Kept: Datasette looks through every plugin for each."""
    assets = getattr(datasette, "_oaken_assets", None)
    if assets is None:
        assets = {kind: datasette.static(f"oaken.{kind}", plugin="datasette_oaken") for kind in ("css", "js")}
        datasette._oaken_assets = assets
    return assets  # type: ignore[no-any-return]


async def failed(datasette: Any, request: Any, message: str, status: int) -> Response:
    """The page of an error that a person can act on."""
    title = {404: "Not here", 405: "Not this way", 503: "Not just now"}.get(status, "That did not work")
    return await page(datasette, request, "oaken_error.html", status, title=title, message=message)


async def no_mail(datasette: Any, request: Any, here: Site | None = None) -> Response:
    """What to run first. With ``here``, the file is there and holds no message yet."""
    file = Path(here.db.path).name if here else None
    return await page(datasette, request, "oaken_no_mail.html", file=file, database=here.db.name if here else None)


async def homepage(datasette: Any, request: Any) -> Markup | None:
    """The search box on Datasette's own front page, for whoever may search."""
    db = await find(datasette)
    if db is None or not await may_search(datasette, db, request.actor):
        return None
    return Markup(
        '<form class="core" role="search" action="{}" method="get"><p>'
        '<input type="search" name="q" aria-label="Search your mail" placeholder="Search your mail" maxlength="1000"> '
        '<input type="submit" value="Search"></p></form>'
    ).format(datasette.urls.path(SEARCH_PATH))


async def search_page(here: Site, request: Any) -> Response:
    """Search results, the newest messages when nothing was asked, or what to run when there is no mail."""
    from . import results

    return await results.search_page(here, request)


async def message_page(here: Site, request: Any) -> Response:
    """One message, its conversation beside it."""
    message = await api.read_message(here, request)
    thread = await here.read(messages.thread_list, message["thread_id"]) if message["thread_id"] else []
    at = next((i for i, item in enumerate(thread) if item["message_id"] == message["message_id"]), 0)
    start = max(0, at - BESIDE // 2)
    stop = min(len(thread), start + BESIDE)
    quote = None
    if (verdict := request.args.get("verdict")) and await may_read(here, request.actor, "recall_verdicts"):
        quote = await here.read(_quote, message["message_id"], verdict)
    sections, cut = await asyncio.to_thread(_shown, message, SHOWN_CHARS, quote)
    return await page(
        here.datasette,
        request,
        "oaken_message.html",
        database=here.db.name,
        message=message,
        recipients=[
            (title, people)
            for role, title in ROLES.items()
            if (people := [who for who in message["recipients"] if who["role"] == role])
        ],
        sections=sections,
        cut=f"Only the first {cut:,} characters are shown; the original has all of it." if cut else None,
        can_write=here.db.is_mutable,
        thread=thread[start:stop],
        thread_count=len(thread),
        skipped_before=start,
        skipped_after=len(thread) - stop,
    )


async def thread_page(here: Site, request: Any) -> Response:
    """A conversation in order: what each wrote, with what they quoted folded."""
    thread = await api.read_thread(here, request)
    shown = await asyncio.to_thread(_conversation, thread["messages"])
    years = [moment.year for iso in (thread["first_at"], thread["last_at"]) if (moment := render.when(iso))]
    said = [render.count(thread["message_count"], "message")]
    if years:
        said.append(f"{render.short_date(thread['first_at'])} to {render.short_date(thread['last_at'])}")
    if thread["truncated"] or thread["start"]:
        said.append(f"showing {thread['start'] + 1:,} to {thread['start'] + thread['returned']:,}")
    return await page(
        here.datasette,
        request,
        "oaken_thread.html",
        database=here.db.name,
        thread=thread,
        messages=shown,
        summary=" · ".join(said),
    )


def _quote(conn: Any, message_id: int, verdict: str) -> str | None:
    """The words of this message that the verdict named in the address rests on, if it is one of this message's."""
    if not (verdict.isascii() and verdict.isdigit() and len(verdict) < 19):
        return None
    row = conn.execute(
        "select quote from recall_verdicts where id = ? and message_id = ?", (int(verdict), message_id)
    ).fetchone()
    return row[0] if row else None


def _conversation(read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each message with its sections to show; long ones are cut, so that one page stays one."""
    shown, left = [], SHOWN_CHARS
    for message in read:
        sections, cut = _shown(message, max(1_000, min(left, SHOWN_CHARS_IN_THREAD)))
        left -= min(len(message["text"]), SHOWN_CHARS_IN_THREAD)
        shown.append(
            {"message": message, "sections": sections, "cut": "Read the rest of this message" if cut else None}
        )
    return shown


def _shown(message: dict[str, Any], most: int, quote: str | None = None) -> tuple[list[dict[str, Any]], int]:
    """The sections of a message as HTML, what is not its own words folded; and, if it was cut, after how many characters.

    ``quote``: words of its writer's to mark, where they stand first.
    """
    shown: list[dict[str, Any]] = []
    left = most
    for section, parts in groupby(message["sections"], key=itemgetter("section")):
        text = "".join(part["text"] for part in parts).strip("\n")
        if not text.strip():
            continue
        if left <= 0:
            return shown, most
        lines = text.count("\n") + 1
        shown.append(
            {
                "section": section,
                "label": f"{FOLDED[section]}, {render.count(lines, 'line')}" if section in FOLDED else None,
                "open": section == "forwarded",
                "aligned": render.aligned(text),
                "html": render.linked(text[:left]),
            }
        )
        if quote and section == "authored" and (found := _standing(quote, text[:left])):
            cut = (text[: found.start()], found[0], text[found.end() : left])
            shown[-1]["html"] = Markup('{}<mark id="quote">{}</mark>{}').format(*map(render.linked, cut))
            quote = None
        left -= len(text)
    return shown, most if left < 0 else 0


def _standing(quote: str, text: str) -> re.Match[str] | None:
    """Where the quote stands, white space aside: a reading has other empty lines than the message."""
    return re.search(r"\s+".join(map(re.escape, quote.split())), text) if quote.strip() else None
