"""The addresses of the site, and the door that every request goes through: method, permission, errors, security headers."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from datasette import Response
from datasette.utils import error_body
from datasette.utils.sqlite import sqlite3

from . import api, exports, pages, question_api, question_pages, question_report
from .db import OakenError, explain
from .site_db import TIME_LIMIT_MS, Site, ensure_may_read, site

Handler = Callable[[Site, Any], Awaitable[Response]]

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
DOWNLOAD_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
STATUS = {
    "not_found": 404,
    "no_database": 404,
    "no_question": 404,
    "no_verdict": 404,
    "not_eligible": 404,
    "method_not_allowed": 405,
    "read_only": 403,
    "too_slow": 503,
    "database_locked": 503,
    "disk_full": 507,
    "disk_error": 500,
    "newer_file": 500,
    "older_file": 500,
    "bad_config": 500,
    "damaged": 500,
}
"""The HTTP status of an OakenError's code; any other is the asker's mistake, 400."""


def door(
    handler: Handler, tables: Sequence[str], *, json: bool = False, methods: Sequence[str] = ("GET", "HEAD")
) -> Callable[..., Any]:
    """A Datasette view around ``handler``: only ``methods``, only who may see ``tables``, and every error said plainly.

    ``json``: errors are answered as JSON, else as a page.
    """

    async def view(request: Any, datasette: Any) -> Response:
        try:
            response = await _answer(request, datasette)
        except OakenError as error:
            response = await _error(datasette, request, error, json)
        except sqlite3.DatabaseError as error:
            response = await _error(datasette, request, _explained(error), json)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        policy = await page_policy(datasette) if response.content_type.startswith("text/html") else DOWNLOAD_POLICY
        response.headers.setdefault("Content-Security-Policy", policy)
        return response

    async def _answer(request: Any, datasette: Any) -> Response:
        if request.method not in methods:
            raise OakenError(f"This address answers {' and '.join(methods)} only.", "method_not_allowed")
        here = await site(datasette)
        if here is None:
            if json:
                raise OakenError(
                    "No database of Oaken's is attached. Make one with: oaken ingest PATH_TO_MAIL", "no_database"
                )
            await datasette.ensure_permission(action="view-instance", actor=request.actor)
            return await pages.no_mail(datasette, request)
        await ensure_may_read(datasette, here.db, request.actor, tables)
        return await handler(here, request)

    return view


def _explained(error: sqlite3.DatabaseError) -> OakenError:
    if "interrupted" in str(error):
        return OakenError(
            f"This took longer than {TIME_LIMIT_MS // 1000} seconds and was stopped. Narrow it down, for example with after:2024.",
            "too_slow",
        )
    return explain(error, "The database") or OakenError(f"The database could not be read: {error}", "damaged")


async def _error(datasette: Any, request: Any, error: OakenError, json: bool) -> Response:
    status = STATUS.get(error.code, 400)
    if json:
        return Response.json(error_body(str(error), status) | {"code": error.code}, status=status)
    return await pages.failed(datasette, request, str(error), status)


async def page_policy(datasette: Any) -> str:
    """The Content-Security-Policy of our pages: nothing from elsewhere, and no inline script but Datasette's own two.

    Datasette's base.html holds two constant inline scripts (its version, its menus); each is allowed by its hash, so that an
    injected one still does not run.
    """
    policy = getattr(datasette, "_oaken_policy", None)
    if policy is None:
        hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in await _inline_scripts(datasette))
        policy = (
            f"default-src 'none'; script-src 'self' {hashes}; style-src 'self'; img-src 'self' data:; font-src 'self'; "
            "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        datasette._oaken_policy = policy
    return policy


async def _inline_scripts(datasette: Any) -> list[str]:
    from datasette.version import __version__

    menus = await datasette.get_jinja_environment().get_template("_close_open_menus.html").render_async()
    return [f"window.datasetteVersion = '{__version__}';", *re.findall(r"<script>(.*?)</script>", menus, re.DOTALL)]


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


SEARCHED = ("messages", "recall_chunks")
READ = ("messages", "message_texts")
WHICH = r"(?P<message_id>[^/.]+)"
QUESTION = r"(?P<question_id>[^/.]+)"
VERDICT = r"(?P<verdict_id>[^/.]+)"
ASKED = ("messages", "recall_questions", "recall_question_changes", "recall_eligible", "recall_verdicts")
JUDGED = (*ASKED, "message_texts", "recall_readings", "recall_reviews")

ROUTES: list[tuple[str, Callable[..., Any]]] = [
    (r"^/-/oaken$", door(pages.search_page, SEARCHED)),
    (r"^/-/oaken/search\.json$", door(api.search_json, SEARCHED, json=True)),
    (r"^/-/oaken/status\.json$", door(api.status_json, ("messages", "ingest_failures"), json=True)),
    (rf"^/-/oaken/message/{WHICH}$", door(pages.message_page, READ)),
    (rf"^/-/oaken/message/{WHICH}\.json$", door(api.message_json, READ, json=True)),
    (rf"^/-/oaken/message/{WHICH}/raw$", door(api.raw, (*READ, "raw_messages"))),
    (
        rf"^/-/oaken/message/{WHICH}/attachment/(?P<part>[0-9]{{1,9}})$",
        door(api.attachment, (*READ, "raw_messages", "attachments")),
    ),
    (
        rf"^/-/oaken/message/{WHICH}/read$",
        door(api.mark_read, ("messages", "message_state"), json=True, methods=("POST",)),
    ),
    (r"^/-/oaken/thread/(?P<thread_id>[^/.]+)$", door(pages.thread_page, (*READ, "threads"))),
    (r"^/-/oaken/questions$", door(question_pages.questions_page, ASKED)),
    (r"^/-/oaken/questions\.json$", door(question_api.questions_json, ASKED, json=True)),
    (rf"^/-/oaken/questions/{QUESTION}$", door(question_pages.question_page, ASKED)),
    (rf"^/-/oaken/questions/{QUESTION}\.json$", door(question_api.question_json, ASKED, json=True)),
    (rf"^/-/oaken/questions/{QUESTION}/review$", door(question_pages.review_page, JUDGED)),
    (
        rf"^/-/oaken/questions/{QUESTION}/answer$",
        door(question_api.answer, JUDGED, json=True, methods=("POST",)),
    ),
    (rf"^/-/oaken/verdicts/{VERDICT}$", door(question_pages.verdict_page, JUDGED)),
    (rf"^/-/oaken/verdicts/{VERDICT}\.json$", door(question_api.verdict_json, JUDGED, json=True)),
    (
        rf"^/-/oaken/verdicts/{VERDICT}/review$",
        door(question_api.review, JUDGED, json=True, methods=("POST",)),
    ),
    (rf"^/-/oaken/questions/{QUESTION}\.csv$", door(exports.export_csv, exports.TABLES)),
    (rf"^/-/oaken/questions/{QUESTION}/export\.json$", door(exports.export_json, exports.TABLES, json=True)),
    (rf"^/-/oaken/questions/{QUESTION}/report$", door(question_report.report_page, exports.TABLES)),
    (r"^/-/oaken/thread/(?P<thread_id>[^/.]+)\.json$", door(api.thread_json, (*READ, "threads"), json=True)),
]
