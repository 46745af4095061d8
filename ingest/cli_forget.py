"""The verb forget."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from datasette_oaken import db
from datasette_oaken.db import OakenError

from .cli_common import ROW_ID, answering, config_option, db_option, json_option, say


@click.command()
@click.argument("message_ids", nargs=-1, type=ROW_ID, metavar="[ID]...")
@db_option
@json_option
@config_option
@click.option("--where", default=None, metavar="FILTERS", help="Messages that these filters of the search hold for.")
@click.option("--account", default=None, help="Messages of this account; alone, the account with all that is its own.")
@click.option("--older-than", default=None, metavar="AGE", help="Messages sent longer ago than this: 7y, 18m, 90d.")
@click.option("--copies", is_flag=True, help="And every other delivery of the same messages.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--finish", is_flag=True, help="Only clean the file of what was forgotten before.")
def forget(
    message_ids: tuple[int, ...],
    db_path: Path,
    as_json: bool,
    config: Path | None,
    where: str | None,
    account: str | None,
    older_than: str | None,
    copies: bool,
    dry_run: bool,
    yes: bool,
    finish: bool,
) -> None:
    """Delete messages for good, with every trace of them in the file: words, vectors, verdicts, readings, bytes.

    All that is given must hold at once. It says what would go and asks first. Messages of others that quote them stay, and so
    does the mail where it came from.

    \b
    oaken forget 42 57
    oaken forget --where "from:newsletter label:lists" --older-than 7y
    oaken forget --account old-job --dry-run
    """
    from datasette_oaken import settings

    from . import forget as forgetting
    from . import report_forget as report

    selection = forgetting.Selection(message_ids, where, account, older_than, copies)
    if finish and (selection or copies or dry_run):
        raise click.UsageError("--finish stands alone.")
    if not finish and not selection:
        raise click.UsageError("Say what to forget: numbers of messages, --where, --account or --older-than.")

    def agree(plan: forgetting.Plan) -> bool:
        if not as_json:
            click.echo(report.planned(plan))
        if yes or not any(plan.tables.values()):
            return True
        if as_json or not sys.stdin.isatty():
            raise OakenError("This cannot be undone: give --yes, or --dry-run to see what would go.", "not_agreed")
        return click.confirm("Delete all this for good?")

    with answering(as_json, db_path):
        categories = settings.load(config, db_path).search.categories
        if dry_run:
            plan = forgetting.plan(db.connect(db_path, readonly=True), selection, categories=categories)
            say(plan.as_dict(), as_json, report.planned(plan))
            return
        conn = db.connect(db_path)
        if finish:
            done = forgetting.finish(conn, db_path)
            if done.due and as_json:
                raise OakenError(" ".join(done.due), "cleanup_due")
            say({"ok": True, "clean": not done.due}, as_json, report.finished(done))
            if done.due:
                sys.exit(1)
            return
        done = forgetting.run(conn, db_path, selection, agree, categories=categories)
        say(done.as_dict(), as_json, report.forgotten(done) if done.deleted else "")
