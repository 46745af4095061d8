"""Compiled questions for programs: counts and verdicts as JSON, and the two POSTs by which a person answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from datasette import Response

from . import agreement, counts, questions, sampling, verdict_list, verdicts
from .api import number, whole_number
from .db import OakenError
from .site_db import Site, may_read

MAX_NOTE = 2_000
MOST_SKIPPED = 200


def question_url(question_id: int) -> str:
    """Where the site shows a question, before any ``base_url``."""
    return f"/-/oaken/questions/{question_id}"


async def questions_json(here: Site, request: Any) -> Response:
    """Every question with its count."""
    found = await here.read(all_counts)
    for item in found:
        item["url"] = here.datasette.urls.path(question_url(item["question_id"]))
    return Response.json({"ok": True, "questions": found})


def all_counts(conn: Any) -> list[dict[str, Any]]:
    """The counts of every question, the newest first."""
    return [counts.count(conn, question["id"]) for question in questions.all_of(conn)]


async def question_json(here: Site, request: Any) -> Response:
    """One question: its count, and a page of its verdicts by ``status``, ``sender``, ``month``, ``reviewed``, ``next``, ``limit``.

    With ``judges=1`` the agreement of its judges too.
    """
    question_id = which(request)
    answer = await here.read(count_of, question_id)
    answer |= await here.read(verdict_list.listed, question_id, **asked(request))
    if request.args.get("judges") == "1":
        answer["agreement"] = await here.read(agreement.agreement, question_id)
        answer["disagreements"] = await here.read(agreement.disagreements, question_id)
    path = here.datasette.urls.path
    answer["url"] = path(question_url(question_id))
    for item in answer["verdicts"]:
        item["message_url"] = path(item["message_url"])
        item["url"] = path(item["url"]) if item["url"] else None
    return Response.json(answer)


def which(request: Any) -> int:
    """The question that the address names. Raises OakenError not_found."""
    return number(request.url_vars["question_id"], "question")


def count_of(conn: Any, question_id: int) -> dict[str, Any]:
    """The count of a question. Raises OakenError not_found."""
    if questions.get(conn, question_id) is None:
        raise OakenError(f"There is no question {question_id} here.", "not_found")
    return counts.count(conn, question_id)


def asked(request: Any) -> dict[str, Any]:
    """The filters of a list of verdicts, as the address has them."""
    args = request.args
    reviewed = {"1": True, "0": False, "": None}.get(args.get("reviewed") or "", ...)
    if reviewed is ...:
        raise OakenError("reviewed must be 1 (a person answered) or 0 (no one has yet).", "bad_request")
    return {
        "status": args.get("status") or None,
        "sender": args.get("sender") or None,
        "month": args.get("month") or None,
        "reviewed": reviewed,
        "after": args.get("next") or None,
        "limit": whole_number(args, "limit", verdict_list.LIMIT, least=1, most=500),
    }


async def verdict_json(here: Site, request: Any) -> Response:
    """Everything about one verdict."""
    verdict = await read_verdict(here, request)
    path = here.datasette.urls.path
    for item in (verdict, *verdict["others"]):
        item["url"] = path(item["url"])
    if verdict["message_url"]:
        verdict["message_url"] = path(verdict["message_url"])
    return Response.json({"ok": True} | verdict)


async def read_verdict(here: Site, request: Any) -> dict[str, Any]:
    """The verdict that the address names. Raises OakenError not_found."""
    verdict_id = number(request.url_vars["verdict_id"], "verdict")
    verdict = await here.read(verdict_list.one, verdict_id)
    if verdict is None:
        raise OakenError(f"There is no verdict {verdict_id} here.", "not_found")
    if not await may_read(here, request.actor, "raw_messages"):
        verdict["raw_sha256"] = None
    return verdict


async def review(here: Site, request: Any) -> Response:
    """Agree with a verdict or not: ``{"agrees": true, "note": "", "answer": true}``; ``{"agrees": null}`` takes it back.

    ``answer`` is what is right; a verdict that is unclear or an error needs it. Or a form with these fields, answered by going back.
    """
    verdict_id = number(request.url_vars["verdict_id"], "verdict")
    sent, as_json = await _sent(request)
    agrees, answer, note = _truth(sent, "agrees", needed=True), _truth(sent, "answer"), _note(sent)
    _may_write(here)

    def write(conn: Any) -> tuple[dict[str, Any] | None, str]:
        back = verdict_list.verdict_url(verdict_id)
        if agrees is not None:
            who = _who(request)
            return verdicts.review(conn, verdict_id, agrees=agrees, answer=answer, note=note, reviewer=who), back
        question_id = _question_of(conn, verdict_id)
        verdicts.withdraw(conn, verdict_id)
        if question_id is not None and _question_of(conn, verdict_id) is None:
            back = question_url(question_id)  # it was the person's own, and is gone with its page
        return None, back

    said, back = await here.db.execute_write_fn(write, request=request)
    if as_json:
        return Response.json({"ok": True, "verdict_id": verdict_id, "review": said})
    return Response.redirect(here.datasette.urls.path(back), status=303)


def _question_of(conn: Any, verdict_id: int) -> int | None:
    row = conn.execute("select question_id from recall_verdicts where id = ?", (verdict_id,)).fetchone()
    return row[0] if row else None


async def answer(here: Site, request: Any) -> Response:
    """A person's answer about a message: ``{"message_id": 42, "answer": true}``, judged or not; ``null`` takes it back.

    From the form of the review page, with ``back`` to it, it is answered by going on to the next message.
    """
    question_id = which(request)
    sent, as_json = await _sent(request)
    yes, note = _truth(sent, "answer", needed=True), _note(sent)
    message_id = number(str(sent.get("message_id", "")), "message")
    _may_write(here)
    settings = here.settings.judge

    def write(conn: Any) -> dict[str, Any]:
        return verdicts.say(
            conn,
            question_id,
            message_id,
            yes,
            note=note,
            reviewer=_who(request),
            own_chars=settings.reading_chars,
            context_chars=settings.context_chars,
        )

    said = await here.db.execute_write_fn(write, request=request)
    if as_json:
        count = await here.read(count_of, question_id)
        return Response.json({"ok": True, "message_id": message_id, "answer": yes, "judge": said, "count": count})
    stratum, skip = str(sent.get("stratum") or ""), ids(sent.get("skip"))
    then = {"again" if yes is None else "last": message_id}
    on = review_url(question_id, stratum if stratum in sampling.STRATA else None, skip, **then)
    return Response.redirect(here.datasette.urls.path(on), status=303)


def review_url(question_id: int, stratum: str | None, skip: Sequence[int], **more: int) -> str:
    """Where a review goes on, before any ``base_url``: ``stratum`` to keep to one, ``skip``: messages to leave for later."""
    kept = {"stratum": stratum or "", "skip": ",".join(map(str, skip[-MOST_SKIPPED:]))} | more
    query = urlencode({name: value for name, value in kept.items() if value != ""}, safe=",")
    return f"{question_url(question_id)}/review" + (f"?{query}" if query else "")


def ids(text: Any) -> list[int]:
    """The message ids in a list such as ``3,14``; what is none is left out."""
    parts = text.split(",") if isinstance(text, str) else []
    return [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 19][-MOST_SKIPPED:]


def _may_write(here: Site) -> None:
    if not here.db.is_mutable:
        raise OakenError("This database is served as immutable, so nothing in it can be changed.", "read_only")


def _who(request: Any) -> str | None:
    actor = request.actor
    return str(actor["id"]) if actor and actor.get("id") is not None else None


async def _sent(request: Any) -> tuple[dict[str, Any], bool]:
    """What was sent, and whether as JSON. Another site cannot send it: Datasette refuses a POST that is not its own."""
    as_json = request.headers.get("content-type", "").split(";")[0].strip() == "application/json"
    try:
        sent = await request.json() if as_json else await request.post_vars()
    except (ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict):
        raise OakenError('Send a JSON object, such as {"agrees": true}.', "bad_request")
    return sent, as_json


def _truth(sent: dict[str, Any], name: str, *, needed: bool = False) -> bool | None:
    """True, False or None (null, or an empty field of a form). Raises OakenError bad_request for anything else."""
    if needed and name not in sent:
        raise OakenError(f"Say {name}: true, false, or null to take it back.", "bad_request")
    value = sent.get(name)
    if value is None or isinstance(value, bool):
        return value
    found = (
        {"1": True, "0": False, "true": True, "false": False, "": None}.get(value, ...)
        if isinstance(value, str)
        else ...
    )
    if found is ...:
        raise OakenError(f"{name} must be true, false or null.", "bad_request")
    return found  # type: ignore[return-value]


def _note(sent: dict[str, Any]) -> str:
    note = sent.get("note") or ""
    if not isinstance(note, str) or len(note) > MAX_NOTE:
        raise OakenError(f"note must be text of at most {MAX_NOTE:,} characters.", "bad_request")
    return "".join(c for c in note if c != "\0" and not "\ud800" <= c <= "\udfff").strip()
