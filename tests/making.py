"""Plain data for tests: small messages, mailboxes of them, and a file filled by the real pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from datasette.utils.sqlite import sqlite3

from datasette_oaken import db
from ingest import pipeline
from ingest.sources import detect

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data"
"""Real mail, where this machine has it."""


def mail(
    text: str = "The key is under the mat.\n",
    *,
    id: str | None = "<1@example.org>",
    subject: str = "Keys",
    sender: str = "Sam Reed <sam@example.org>",
    to: str = "Alex Moor <alex@example.net>",
    date: str = "Mon, 05 Mar 2018 09:00:00 +0000",
    headers: Iterable[str] = (),
) -> bytes:
    """One plain message."""
    lines = [f"From: {sender}", f"To: {to}", f"Date: {date}", f"Subject: {subject}"]
    if id:
        lines.append(f"Message-ID: {id}")
    return "\n".join([*lines, *headers, "", text]).encode()


def mbox(path: Path, messages: Iterable[bytes]) -> Path:
    """An mboxrd file of these messages."""
    with path.open("wb") as out:
        for raw in messages:
            body = b"\n".join(
                b">" + line if line.lstrip(b">").startswith(b"From ") else line for line in raw.split(b"\n")
            )
            out.write(b"From someone@example.org Mon Mar  5 09:00:00 2018\n" + body.rstrip(b"\n") + b"\n\n")
    return path


def eml_folder(path: Path, messages: dict[str, bytes]) -> Path:
    """A folder with a file for each message."""
    path.mkdir(parents=True, exist_ok=True)
    for name, raw in messages.items():
        (path / name).write_bytes(raw)
    return path


def ingest(db_path: Path, *paths: Path, **options: object) -> tuple[sqlite3.Connection, pipeline.Report]:
    """Ingest into ``db_path`` by the real pipeline, in this process."""
    conn = db.connect(db_path, create=True)
    options.setdefault("processes", 0)
    report = pipeline.ingest(conn, db_path, [detect(path) for path in paths], quiet=True, **options)  # type: ignore[arg-type]
    return conn, report


def rows(conn: sqlite3.Connection, sql: str, *parameters: object) -> list[tuple[object, ...]]:
    """The rows of a query, as tuples."""
    return [tuple(row) for row in conn.execute(sql, parameters)]
