"""For the tests of the site: a file made from mail by the real pipeline, and a real Datasette over it."""

from __future__ import annotations

import shutil
from email.message import EmailMessage
from functools import cache
from pathlib import Path
from typing import Any

from datasette.app import Datasette

from datasette_oaken import db, site_db
from ingest import pipeline
from ingest.embed import embed
from ingest.sources import detect

site_db.get_embedder = cache(site_db.get_embedder)  # one model a test run, not one a Datasette

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


def mail(
    body: str,
    *,
    subject: str = "Pickup on Friday",
    sender: str = "Ada Finch <ada@example.org>",
    to: str = "Ben Oake <ben@example.org>",
    date: str = "Fri, 01 Mar 2024 09:30:00 +0000",
    message_id: str,
    replies_to: str | None = None,
    attached: list[tuple[str, str, bytes]] | None = None,
) -> EmailMessage:
    """One message; ``attached``: (filename, content type, bytes)."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"], message["Date"] = sender, to, subject, date
    message["Message-ID"] = f"<{message_id}@example.org>"
    if replies_to:
        message["In-Reply-To"] = message["References"] = f"<{replies_to}@example.org>"
    message.set_content(body)
    for filename, content_type, data in attached or []:
        main, _, sub = content_type.partition("/")
        message.add_attachment(data, maintype=main, subtype=sub, filename=filename)
    return message


def some_mail() -> list[EmailMessage]:
    """A conversation of two about a pickup, a hostile message, and one with attachments."""
    return [
        mail("Could you collect Nell from swimming on Friday? My train is late.\n\n-- \nAda Finch\n", message_id="ask"),
        mail(
            "Yes, I will fetch her at five. Map: https://maps.example/pool?a=1&b=2\n\n"
            "On Fri, 1 Mar 2024, Ada Finch wrote:\n> Could you collect Nell from swimming on Friday?\n> My train is late.\n",
            subject="Re: Pickup on Friday",
            sender="Ben Oake <ben@example.org>",
            to="Ada Finch <ada@example.org>",
            date="Fri, 01 Mar 2024 11:00:00 +0000",
            message_id="answer",
            replies_to="ask",
        ),
        mail(
            f"Claim your zebra prize {HOSTILE} javascript:alert(3)\n",
            subject=f"Prize {HOSTILE}",
            sender=f'"{HOSTILE.replace(chr(34), chr(39))}" <evil@example.net>',
            date="Sat, 02 Mar 2024 08:00:00 +0000",
            message_id="evil",
            attached=[('../../\u202egnp.exe"><b>.html', "text/html", b"<script>alert(4)</script>")],
        ),
        mail(
            "The quarterly accounts are attached.\n",
            subject="Accounts",
            date="Mon, 04 Mar 2024 08:00:00 +0000",
            message_id="files",
            attached=[
                ("accounts.pdf", "application/pdf", b"%PDF-1.4 numbers"),
                ("raw.bin", "application/x-thing", b"\0\1"),
            ],
        ),
    ]


def build(path: Path, messages: list[EmailMessage], *, embedded: bool = False) -> Path:
    """The Oaken file at ``path`` with these messages in it, read in by the pipeline."""
    folder = path.parent / "inbox"
    folder.mkdir(parents=True)
    for number, message in enumerate(messages):
        (folder / f"{number:03}.eml").write_bytes(message.as_bytes())
    conn = db.connect(path, create=True)
    report = pipeline.ingest(conn, path, [detect(folder)], processes=0, quiet=True)
    assert not report.failures
    if embedded:
        embed(conn, path, quiet=True)
    conn.execute("pragma wal_checkpoint(truncate)")
    conn.close()
    return path


def copied(path: Path, to: Path) -> Path:
    """The file as it was made, for a test that changes it."""
    shutil.copy(path, to)
    return to


def message_ids(path: Path) -> dict[str, int]:
    """``messages.id`` by the left part of the Message-ID."""
    conn = db.connect(path, readonly=True)
    try:
        return {
            header[1:].split("@")[0]: id_
            for id_, header in conn.execute("select id, internet_message_id from messages")
        }
    finally:
        conn.close()


def site(path: Path, **options: Any) -> Datasette:
    """A Datasette over the file, with the plugin as it is installed."""
    return Datasette([str(path)], **options)
