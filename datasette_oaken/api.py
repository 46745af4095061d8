"""What programs are answered: JSON, downloads, and the one POST. Pages are in ``pages``, rows in ``messages``."""

from __future__ import annotations

import asyncio
from typing import Any

from datasette import Response

from . import messages, rows
from .db import OakenError
from .render import content_disposition, safe_filename
from .site_db import Site

MAX_LIMIT = 100
HARMLESS = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain"})
"""Types that a download may keep: none runs script where it is opened. All else is application/octet-stream."""


async def search_json(here: Site, request: Any) -> Response:
    """The search answer."""
    from .searching import ask

    answer = await ask(here, request.args)
    for hit in answer["hits"]:
        hit["url"] = here.datasette.urls.path(hit["url"])
    return Response.json(answer)


async def status_json(here: Site, request: Any) -> Response:
    """What ``oaken status`` says."""
    from .status import status

    return Response.json(await here.read(status))


async def message_json(here: Site, request: Any) -> Response:
    """One message, whole."""
    message = await read_message(here, request)
    _with_base_url(here, message)
    return Response.json({"ok": True} | message)


async def thread_json(here: Site, request: Any) -> Response:
    """One conversation: ``next`` of an answer is the ``start`` of the one that goes on."""
    thread = await read_thread(here, request)
    for item in (thread, *thread["messages"]):
        _with_base_url(here, item)
    return Response.json({"ok": True} | thread)


async def raw(here: Site, request: Any) -> Response:
    """The message as it came in, to save."""
    message_id = number(request.url_vars["message_id"], "message")
    body = await here.read(messages.raw_message, message_id)
    if body is None:
        raise _absent("message", message_id)
    return download(body, "message/rfc822", f"message-{message_id}.eml")


async def attachment(here: Site, request: Any) -> Response:
    """One attachment, to save: only a part that the message lists as one."""
    from .mime import part_bytes

    message_id = number(request.url_vars["message_id"], "message")
    part = int(request.url_vars["part"])
    listed = await here.read(messages.attachment_part, message_id, part)
    whole = await here.read(messages.raw_message, message_id) if listed else None
    if listed is None or whole is None:
        raise OakenError(f"Message {message_id} has no attachment {part}.", "not_found")
    _, body = await asyncio.to_thread(part_bytes, whole, part)
    kind = (listed["content_type"] or "").lower()
    return download(
        body,
        kind if kind in HARMLESS else "application/octet-stream",
        safe_filename(listed["filename"], f"attachment-{part}"),
    )


def download(body: bytes, content_type: str, filename: str) -> Response:
    """A response that a browser saves and never shows."""
    return Response(body, content_type=content_type, headers={"Content-Disposition": content_disposition(filename)})


async def mark_read(here: Site, request: Any) -> Response:
    """Set or take back a message's read state: ``{"is_read": true}`` as JSON, or a form's ``is_read=1`` (answered by going back).

    Another site cannot send this: Datasette refuses a POST whose Sec-Fetch-Site or Origin is not its own.
    """
    message_id = number(request.url_vars["message_id"], "message")
    as_json = request.headers.get("content-type", "").split(";")[0].strip() == "application/json"
    is_read = await _wanted(request, as_json)
    if not here.db.is_mutable:
        raise OakenError("This database is served as immutable, so nothing in it can be changed.", "read_only")
    now = rows.now()
    found = await here.db.execute_write_fn(lambda conn: rows.set_read(conn, message_id, is_read, now), request=request)
    if not found:
        raise _absent("message", message_id)
    if as_json:
        return Response.json(
            {"ok": True, "message_id": message_id, "is_read": is_read, "read_at": now if is_read else None}
        )
    return Response.redirect(here.datasette.urls.path(messages.message_url(message_id)), status=303)


async def _wanted(request: Any, as_json: bool) -> bool:
    if as_json:
        try:
            body = await request.json()
        except ValueError:
            body = None
        value = body.get("is_read") if isinstance(body, dict) else None
    else:
        try:
            value = {"1": True, "0": False}.get((await request.post_vars()).get("is_read", ""))
        except ValueError:
            value = None
    if not isinstance(value, bool):
        raise OakenError('Send {"is_read": true} or {"is_read": false} as JSON.', "bad_request")
    return value


async def read_message(here: Site, request: Any) -> dict[str, Any]:
    """The message that the address names. Raises OakenError not_found."""
    message_id = number(request.url_vars["message_id"], "message")
    message = await here.read(messages.message, message_id)
    if message is None:
        raise _absent("message", message_id)
    return message


async def read_thread(here: Site, request: Any) -> dict[str, Any]:
    """The conversation that the address names, from ``start`` on. Raises OakenError not_found, bad_request."""
    thread_id = number(request.url_vars["thread_id"], "conversation")
    start = whole_number(request.args, "start", 0, least=0, most=2**31)
    limit = whole_number(request.args, "limit", messages.THREAD_LIMIT, least=1, most=messages.THREAD_LIMIT)
    thread = await here.read(messages.thread, thread_id, start=start, limit=limit)
    if thread is None:
        raise _absent("conversation", thread_id)
    return thread


def number(text: str, what: str) -> int:
    """An id from an address. Raises OakenError not_found for what cannot be one."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise _absent(what, text)
    return int(text)


def whole_number(args: Any, name: str, otherwise: int, *, least: int, most: int) -> int:
    """A number from the query string. Raises OakenError bad_request naming the field."""
    text = args.get(name)
    if text is None or text == "":
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) < 13) or not least <= int(text) <= most:
        raise OakenError(f"{name} must be a whole number from {least} to {most}.", "bad_request")
    return int(text)


def _absent(what: str, which: object) -> OakenError:
    return OakenError(f"There is no {what} {which} here.", "not_found")


def _with_base_url(here: Site, item: dict[str, Any]) -> None:
    item["url"] = here.datasette.urls.path(item["url"])
    for attached in item.get("attachments", ()):
        attached["url"] = here.datasette.urls.path(attached["url"])
