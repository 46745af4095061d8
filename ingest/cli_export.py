"""The verb export."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from datasette_oaken import db

from .cli_common import answering, config_option, db_option, json_option, say


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@db_option
@json_option
@config_option
@click.option(
    "--format",
    "kind",
    type=click.Choice(["eml", "mbox", "maildir"]),
    default="eml",
    show_default=True,
    help="A folder of files, one mbox, or a Maildir.",
)
@click.option("--where", default=None, metavar="FILTERS", help="Messages that these filters of the search hold for.")
@click.option("--account", default=None, help="Messages of this account.")
def export(
    out: Path, db_path: Path, as_json: bool, config: Path | None, kind: str, where: str | None, account: str | None
) -> None:
    """Write messages out again, byte for byte as they came in. Nothing that is there is written over.

    \b
    oaken export everything
    oaken export school.mbox --format mbox --where "from:school after:2021"
    """
    from datasette_oaken import settings

    from . import export as exporting
    from . import report

    stopped = f"Stopped. Nothing was left at {out}; run the same command again to start anew."
    with answering(as_json, db_path, stopped=stopped):
        categories = settings.load(config, db_path).search.categories
        conn = db.connect(db_path, readonly=True)
        done = exporting.export(conn, out, kind, where=where, account=account, categories=categories)
        answer = done.as_dict()
        if done.failures and not done.exported:
            answer |= {"ok": False, "error": "Nothing could be exported: see failures.", "code": "damaged"}
        say(answer, as_json, report.exported(done))
        if not answer["ok"]:
            sys.exit(1)
