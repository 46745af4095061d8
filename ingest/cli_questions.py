"""The verbs of the compile half: judge, count, questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from datasette_oaken import db

from .cli_common import answering, config_option, db_option, json_option, say

WHICH = "Its number, or its words as they were asked."


@click.command()
@click.argument("question")
@db_option
@json_option
@config_option
@click.option(
    "--judge",
    "judge_name",
    default=None,
    help="llm:MODEL, rule:PATTERN or human. Default: the one whose verdicts count already.",
)
@click.option(
    "--where", "scope", default=None, help="Ask it only of mail that these filters hold for. Default: all mail."
)
@click.option(
    "--criterion", default=None, help="What counts as a yes. Another one than before makes old verdicts stale."
)
@click.option("--order", default="newest", show_default=True, help="newest, oldest or random.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Judge at most this many messages: a trial.")
@click.option(
    "--workers", type=click.IntRange(0), default=None, help="Messages judged at a time. Default: the judge's own."
)
@click.option("--retry-errors", is_flag=True, help="Try again what ended in an error.")
@click.option("--activate", is_flag=True, help="Make this the judge whose verdicts count.")
@click.option("--allow-remote", metavar="HOST", default=None, help="Allow mail to be sent to a model on this host.")
def judge(
    question: str,
    db_path: Path,
    as_json: bool,
    config: Path | None,
    judge_name: str | None,
    scope: str | None,
    criterion: str | None,
    order: str,
    limit: int | None,
    workers: int | None,
    retry_errors: bool,
    activate: bool,
    allow_remote: str | None,
) -> None:
    """Judge every message once against a question, and keep each verdict with its evidence.

    Stopped, it goes on where it was; run again after new mail came, it judges only what is new. QUESTION is in plain words,
    or the number of one that was asked before.

    \b
    oaken judge "Does the writer ask to change the weekend agreement?" --judge llm:llama3.2
    oaken judge "Is an invoice number given?" --judge 'rule:invoice (no|number)' --where "from:billing after:2021"
    oaken judge 1 --retry-errors
    """
    from . import report_questions as report
    from .judge import judge as run_judge

    with answering(as_json, db_path):
        conn = db.connect(db_path)
        done = run_judge(
            conn,
            db_path,
            question,
            judge_name=judge_name,
            scope=scope,
            criterion=criterion,
            order=order,
            limit=limit,
            workers=workers,
            retry_errors=retry_errors,
            activate=activate or None,
            allow_remote=allow_remote,
            config=config,
        )
        say(done, as_json, report.judged(done))


@click.command()
@click.argument("question")
@db_option
@json_option
@click.option("--where", "scope", default=None, help="Which, where the same words are asked of different mail.")
def count(question: str, db_path: Path, as_json: bool, scope: str | None) -> None:
    """Print how many messages say yes, and how much of the mail that rests on.

    \b
    oaken count "Does the writer ask to change the weekend agreement?"
    oaken count 1 --json
    """
    from datasette_oaken import counts
    from datasette_oaken import questions as asked

    from . import report_questions as report

    with answering(as_json, db_path):
        conn = db.connect(db_path, readonly=True)
        answer = counts.count(conn, asked.find(conn, question, scope))
        say(answer, as_json, report.counted(answer))


@click.group()
def questions() -> None:
    """The questions that were asked: list, show, edit, activate and remove them."""


@questions.command("list")
@db_option
@json_option
def questions_list(db_path: Path, as_json: bool) -> None:
    """Every question with its count.

    \b
    oaken questions list
    """
    from datasette_oaken import counts
    from datasette_oaken import questions as asked

    from . import report_questions as report

    with answering(as_json, db_path):
        conn = db.connect(db_path, readonly=True)
        found = [counts.count(conn, question["id"]) for question in asked.all_of(conn)]
        say({"ok": True, "questions": found}, as_json, report.listed(found))


@questions.command("show")
@click.argument("question")
@db_option
@json_option
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many yes verdicts to show.")
def questions_show(question: str, db_path: Path, as_json: bool, limit: int) -> None:
    """One question: its count, and the newest messages that say yes, with their quotes.

    \b
    oaken questions show 1
    """
    from datasette_oaken import counts
    from datasette_oaken import questions as asked

    from . import report_questions as report

    with answering(as_json, db_path):
        conn = db.connect(db_path, readonly=True)
        answer: dict[str, Any] = counts.count(conn, asked.find(conn, question))
        found = conn.execute(
            "select message_id, verdict_id, sent_at, from_name, from_address, subject, quote from verdicts_current"
            " where question_id = ? and status = 'yes' order by sent_at is null, sent_at desc, message_id desc limit ?",
            (answer["question_id"], limit),
        )
        answer["yes_verdicts"] = [dict(row) for row in found]
        say(answer, as_json, report.shown(answer))


@questions.command("edit")
@click.argument("question")
@db_option
@json_option
@click.option("--question", "text", default=None, help="What is asked from now on.")
@click.option("--criterion", default=None, help="What counts as a yes from now on.")
def questions_edit(question: str, db_path: Path, as_json: bool, text: str | None, criterion: str | None) -> None:
    """Change what is asked. Old verdicts stay as history, count no more, and wait to be judged again.

    \b
    oaken questions edit 1 --criterion "A request, not a mere mention"
    """
    from datasette_oaken import counts
    from datasette_oaken import questions as asked

    from . import report_questions as report

    if text is None and criterion is None:
        raise click.UsageError("Say what to change: --question or --criterion.")
    with answering(as_json, db_path):
        conn = db.connect(db_path)
        with db.transaction(conn):
            id_ = asked.find(conn, question)
            asked.edit(conn, id_, question=text, criterion=criterion)
        answer = counts.count(conn, id_)
        say(answer, as_json, report.counted(answer))


@questions.command("activate")
@click.argument("question")
@click.argument("judge_name", metavar="JUDGE")
@db_option
@json_option
@click.option("--model", default=None, help="Which, where the judge has judged with several models.")
def questions_activate(question: str, judge_name: str, db_path: Path, as_json: bool, model: str | None) -> None:
    """Make a judge that has judged already the one whose verdicts count.

    \b
    oaken questions activate 1 llm:llama3.2
    """
    from datasette_oaken import counts
    from datasette_oaken import questions as asked

    from . import report_questions as report

    with answering(as_json, db_path):
        conn = db.connect(db_path)
        with db.transaction(conn):
            id_ = asked.find(conn, question)
            asked.activate_known(conn, id_, judge_name, model)
        answer = counts.count(conn, id_)
        say(answer, as_json, report.counted(answer))


@questions.command("remove")
@click.argument("question")
@db_option
@json_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def questions_remove(question: str, db_path: Path, as_json: bool, yes: bool) -> None:
    """Delete a question with all its verdicts and reviews.

    \b
    oaken questions remove 1 --yes
    """
    from datasette_oaken import questions as asked

    with answering(as_json, db_path):
        conn = db.connect(db_path)
        id_ = asked.find(conn, question)
        (verdicts,) = conn.execute("select count(*) from recall_verdicts where question_id = ?", (id_,)).fetchone()
        if verdicts and not yes:
            if as_json:
                raise db.OakenError(
                    f"Question {id_} has {verdicts:,} verdicts: say --yes to delete them.", "not_confirmed"
                )
            click.confirm(f"Delete question {id_} and its {verdicts:,} verdicts?", abort=True)
        with db.transaction(conn):
            gone = asked.remove(conn, id_)
        say(
            {"ok": True, "question_id": id_, "verdicts_deleted": gone},
            as_json,
            f"Question {id_} is gone, with {gone:,} verdicts.",
        )


COMMANDS = (judge, count, questions)
