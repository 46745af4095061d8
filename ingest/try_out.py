"""``oaken demo``: a made-up mailbox, ingested and served, so that Oaken can be tried before any mail is trusted to it."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from datasette_oaken import db
from datasette_oaken.db import OakenError

from . import demo, pipeline, report
from .demo import asked
from .serve import serve as run_site
from .sources import detect


def try_out(db_path: Path, *, seed: int, write_to: Path | None, serve: bool, port: int | None) -> None:
    """Write the demo mailbox to ``write_to``; or fill ``db_path`` with it and, with ``serve``, start the site.

    Raises OakenError.
    """
    if write_to is not None:
        if write_to.exists():
            raise OakenError(f"{write_to} is there already and was not touched. Name a new file.", "file_exists")
        demo.write_mbox(write_to, seed=seed)
        click.echo(f"Wrote the demo mailbox to {write_to}. Ingest it with: oaken ingest {write_to}")
        return
    # Kept beside the database: it can be looked at, and a second run finds every message unchanged.
    mail = db_path.resolve().parent / f"{db_path.stem}-mail-{seed}"
    if not mail.exists():
        half = mail.with_name(f"{mail.name}.part")
        shutil.rmtree(half, ignore_errors=True)
        demo.write_maildir(half, seed=seed)
        half.rename(mail)  # whole, or not there
    conn = db.connect(db_path, create=True)
    done = pipeline.ingest(conn, db_path, [detect(mail)], account="demo")
    asked.ask_one(conn, db_path, seed)
    conn.close()
    click.echo(report.ingested(done, db_path))
    if serve:
        run_site(db_path, port=port, config=None, embed=True)
