"""What the commands say to a person: plain sentences and short lists. Programs get JSON instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from datasette.utils.sqlite import sqlite3

from datasette_oaken.db import OakenError

SHOWN_FAILURES = 10


def note(text: str, as_json: bool) -> None:
    """Something to know meanwhile: on stdout for a person, on stderr beside JSON."""
    click.echo(text, err=as_json)


def ingested(done: Any, db_path: Path) -> str:
    """An ingest in words."""
    parts = [f"{done.added:,} messages added"]
    parts += [
        f"{count:,} {what}" for count, what in ((done.updated, "updated"), (done.unchanged, "unchanged")) if count
    ]
    if done.duplicates:
        parts.append(f"{done.duplicates:,} already there from elsewhere")
    if done.deleted:
        parts.append(f"{done.deleted:,} deleted")
    lines = [", ".join(parts) + f": {db_path}"]
    if done.deleted:
        lines.append("Their bytes may still be in the file: oaken forget --finish takes them out.")
    if done.complete and done.complete["hindered"]:
        lines.append(f"Nothing was deleted as absent: {one_line(done.complete['hindered'])}.")
    lines += failures(done.failures)
    if done.embedding_backlog:
        lines.append(
            f"Searchable by word now; {done.embedding_backlog:,} passages are still to be embedded for search by meaning."
        )
    return "\n".join(lines)


def absent(found: Any) -> str:
    """What a complete snapshot no longer holds, in words, with the first of the messages."""
    if not found.messages:
        one = "1 message is in one place fewer than before."
        return one if len(found.places) == 1 else f"{len(found.places):,} places of messages are no longer there."
    lines = [f"{len(found.messages):,} of {found.among:,} messages are no longer there:"]
    lines += [f"  {one_line(line)}" for line in found.first]
    if len(found.messages) > len(found.first):
        lines.append(f"  … and {len(found.messages) - len(found.first):,} more")
    return "\n".join(lines)


def embedded(done: Any) -> str:
    """An embedding run in words."""
    lines = [f"{done.embedded:,} passages embedded with {done.model}; {done.backlog:,} to go."]
    return "\n".join(lines + failures(done.failures))


def failures(listed: list[dict[str, Any]]) -> list[str]:
    """The first failures, a line each, and how many more there are."""
    if not listed:
        return []
    lines = [f"{len(listed):,} could not be stored (oaken status lists them all):"]
    lines += [f"  {one_line(f['key'])}: {one_line(f['error'])}" for f in listed[:SHOWN_FAILURES]]
    if len(listed) > SHOWN_FAILURES:
        lines.append(f"  … and {len(listed) - SHOWN_FAILURES:,} more")
    return lines


def ready(backlog: int) -> str:
    """What can be done after an ingest that went on to embed."""
    if backlog:
        return f"{backlog:,} passages are not embedded yet; until oaken embed has run, they are found by word only."
    return "All of it can be searched by word and by meaning: oaken serve"


def embed_if_possible(run: Callable[..., Any], conn: sqlite3.Connection, db_path: Path, model: str | None) -> int:
    """Embed after an ingest; where there is no model, say so and leave the backlog. Returns what is left."""
    try:
        return int(run(conn, db_path, model=model).backlog)
    except OakenError as error:
        click.echo(f"Not embedded: {error}", err=True)
        return int(conn.execute("select count(*) from embedding_queue").fetchone()[0])


def repaired(answer: dict[str, Any]) -> str:
    """A repair in words."""
    lines = ["Repaired."]
    if "sections" in answer:
        lines.append(f"{answer['sections']:,} messages came out otherwise than they were stored.")
    lines += [
        f"Message {f['key']} stays as it was: {one_line(f['error'])}"
        for f in answer.get("failures", [])[:SHOWN_FAILURES]
    ]
    return "\n".join(lines)


def exported(done: Any) -> str:
    """An export in words."""
    lines = [f"{done.exported:,} messages exported, {done.bytes:,} bytes: {done.out}"]
    if done.altered:
        lines.append(
            f"{len(done.altered):,} of them had no newline at their end, which an mbox cannot say: there they have one."
        )
    if done.failures:
        lines.append(f"{len(done.failures):,} could not be exported:")
        lines += [f"  message {f['key']}: {f['error']}" for f in done.failures[:SHOWN_FAILURES]]
    return "\n".join(lines)


def hits(answer: dict[str, Any]) -> str:
    """A search answer as a numbered list."""
    lines = [f"Note: {warning}" for warning in answer["warnings"]]
    if answer["degraded"]:
        lines.append(f"Note: by keyword only ({answer['degraded_reason']}); oaken doctor says why.")
    elif answer["coverage"] < 1 and answer["mode"] != "keyword":
        lines.append(f"Note: {answer['coverage']:.0%} of the mail is embedded so far; the rest is searched by keyword.")
    for number, hit in enumerate(answer["hits"], 1):
        sender = hit["from"]["name"] or hit["from"]["address"] or "unknown sender"
        found_by = " + ".join({"keyword": "word", "vector": "meaning"}[name] for name in hit["why"])
        lines.append(
            f"{number:>3}. {(hit['date'] or 'no date')[:10]}  {one_line(sender)}: {one_line(hit['subject'] or '(no subject)')}"
        )
        lines.append(f"     {one_line(_marked(hit['snippet']))}")
        lines.append(
            f"     message {hit['message_id']}, conversation {hit['thread_id']}"
            + (f", found by {found_by}" if found_by else "")
        )
    if not answer["hits"]:
        lines.append("Nothing found.")
    if answer["next"]:
        lines.append(f"More: --next {answer['next']}")
    return "\n".join(lines)


def _marked(snippet: str) -> str:
    return snippet.replace("[[", "»").replace("]]", "«")


def one_line(text: str) -> str:
    """Mail is untrusted: no control characters reach the terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def message(found: dict[str, Any]) -> str:
    """A message with its main headers and its whole text."""
    lines = []
    sender = found["from"]
    lines.append(f"From: {one_line(' '.join(p for p in (sender['name'], _angled(sender['address'])) if p))}")
    for role in ("to", "cc", "bcc", "reply-to"):
        people = [r for r in found["recipients"] if r["role"] == role]
        if people:
            shown = ", ".join(" ".join(p for p in (r["name"], _angled(r["address"])) if p) for r in people)
            lines.append(f"{role.capitalize()}: {one_line(shown)}")
    lines.append(f"Date: {found['date'] or ''}")
    lines.append(f"Subject: {one_line(found['subject'] or '')}")
    for attachment in found["attachments"]:
        lines.append(f"Attachment: {one_line(attachment['filename'] or '(no name)')} ({attachment['size']:,} bytes)")
    return "\n".join(lines) + "\n\n" + _printable(found["text"])


def _angled(address: str | None) -> str | None:
    return f"<{address}>" if address else None


def thread(found: dict[str, Any]) -> str:
    """A conversation, oldest first."""
    rule = "\n" + "-" * 72 + "\n"
    return rule.join(message(one) for one in found["messages"])


def status(answer: dict[str, Any]) -> str:
    """The state of the file in a few lines."""
    embedding = answer["embedding"]
    lines = [
        f"{answer['messages']:,} messages in {answer['threads']:,} conversations, {answer['mailboxes']:,} mailboxes"
        + (f", {answer['first_at'][:10]} to {answer['last_at'][:10]}" if answer["first_at"] else ""),
        f"{answer['chunks']:,} passages, {embedding['coverage']:.0%} embedded"
        + (f" with {embedding['model']}" if embedding["model"] else "")
        + (f", {embedding['backlog']:,} to go" if embedding["backlog"] else ""),
    ]
    if embedding["failed"]:
        lines.append(f"{embedding['failed']:,} passages could not be embedded")
    if answer["languages"]["notice"]:
        lines.append(answer["languages"]["notice"])
    for asked in answer["questions"]:
        shown = f"{asked['judged']:,} of {asked['eligible']:,} judged"
        lines.append(f"Question {asked['question_id']}, {shown}: {one_line(asked['question'])[:100]}")
    if answer["failures"]:
        lines.append(f"{len(answer['failures']):,} messages could not be stored:")
        lines += [f"  {one_line(f['key'])}: {one_line(f['error'])}" for f in answer["failures"]]
    return "\n".join(lines)


def doctor(answer: dict[str, Any]) -> str:
    """The findings, a line each, with what to do below those that need it."""
    signs = {"ok": "ok  ", "warning": "warn", "error": "FAIL"}
    lines = []
    for finding in answer["findings"]:
        lines.append(f"{signs[finding['level']]}  {finding['check']}: {finding['found']}")
        if finding["advice"]:
            lines.append(f"      -> {finding['advice']}")
    return "\n".join(lines)
