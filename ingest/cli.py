"""The command ``oaken``: a verb each, no logic. What a verb does is in the module of its name."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from datasette_oaken import db
from datasette_oaken.db import OakenError

from . import cli_audit, cli_export, cli_forget, cli_questions
from .cli_common import ROW_ID, answering, config_option, db_option, json_option, named, say


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="datasette-oaken", prog_name="oaken")
def oaken() -> None:
    """Recall over your own correspondence: one SQLite file, searched by word and by meaning, on your own machine.

    \b
    oaken ingest ~/Mail/archive.mbox      bring mail in
    oaken serve                           search it in the browser
    oaken search "the pickup arrangement" search it here
    """


@oaken.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(), callback=named)
@db_option
@json_option
@click.option("--account", default="default", show_default=True, help="Whose mail this is: a name of your choosing.")
@click.option("--mailbox", default=None, help="Put it all in this mailbox, whatever the files are called.")
@click.option(
    "--complete",
    is_flag=True,
    help="This is all there is: delete what is not there any more, of PATHS or of --mailbox.",
)
@click.option("--yes", is_flag=True, help="With --complete: do not ask, even if it is more than a fifth.")
@click.option("--no-embed", is_flag=True, help="Leave embedding for later (oaken embed, or oaken serve does it).")
@click.option(
    "--processes", type=click.IntRange(0), default=None, help="Worker processes for parsing. Default: one a core."
)
def ingest(
    paths: tuple[Path, ...],
    db_path: Path,
    as_json: bool,
    account: str,
    mailbox: str | None,
    complete: bool,
    yes: bool,
    no_embed: bool,
    processes: int | None,
) -> None:
    """Bring mail in: mbox files, Maildirs, folders of .eml, or single .eml files, found out by themselves.

    Running it again brings in what is new and what changed. Mail that is gone from where it lay stays here, unless --complete
    says otherwise. Ctrl-C loses nothing that was stored.

    \b
    oaken ingest ~/Mail/archive.mbox
    oaken ingest ~/Maildir --account work --db work.db
    oaken ingest ~/Maildir --complete
    """
    from datasette_oaken import settings

    from . import absent, pipeline, report
    from .embed import embed as run_embed
    from .sources import detect_all, key_of

    if yes and not complete:
        raise click.UsageError("--yes goes with --complete.")

    def agree(found: absent.Absent) -> None:
        report.note(report.absent(found), as_json)
        ask = found.messages and not (found.too_many or yes or as_json) and sys.stdin.isatty()
        if ask and not click.confirm("Delete them?"):
            raise OakenError("All that was found is stored, and nothing was deleted.", "not_agreed")

    with answering(as_json, db_path):
        model = settings.load(None, db_path).search.model
        sources, unread = detect_all(paths, mailbox)
        conn = db.connect(db_path, create=True)
        snapshot = None
        if complete:
            roots, missing = [key_of(path.expanduser()) for path in paths], [failure["key"] for failure in unread]
            snapshot = absent.Snapshot(roots, mailbox, missing, yes, agree)
        done = pipeline.ingest(
            conn, db_path, sources, account=account, model=model, processes=processes, complete=snapshot
        )
        done.failures += unread
        if done.failures and done.seen == len(done.failures):
            say(done.as_dict(), as_json, report.ingested(done, db_path))
            sys.exit(1)
        if no_embed or not done.embedding_backlog:
            say(done.as_dict(), as_json, report.ingested(done, db_path))
            return
        report.note(report.ingested(done, db_path), as_json)
        done.embedding_backlog = report.embed_if_possible(run_embed, conn, db_path, model)
        say(done.as_dict(), as_json, report.ready(done.embedding_backlog))


@oaken.command()
@db_option
@json_option
@config_option
@click.option(
    "--model", default=None, help="Another embedding model: starts a second generation, which takes over when complete."
)
@click.option("--download", is_flag=True, help="Allow the model to be downloaded. Nothing is downloaded otherwise.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Embed at most this many passages.")
@click.option("--nice", is_flag=True, help="Give way to everything else on the machine.")
def embed(
    db_path: Path, as_json: bool, config: Path | None, model: str | None, download: bool, limit: int | None, nice: bool
) -> None:
    """Embed what is queued, so that it is found by meaning too. Stopped, it goes on where it was.

    \b
    oaken embed
    oaken embed --model BAAI/bge-small-en-v1.5 --download
    """
    from datasette_oaken import settings

    from . import report
    from .embed import be_nice
    from .embed import embed as run_embed

    with answering(as_json, db_path):
        if nice:
            be_nice()
        chosen = model or settings.load(config, db_path).search.model
        conn = db.connect(db_path)
        done = run_embed(conn, db_path, model=chosen, limit=limit, download=download)
        say(done.as_dict(), as_json, report.embedded(done))


@oaken.command()
@click.argument("query")
@db_option
@json_option
@config_option
@click.option("--mode", default="hybrid", show_default=True, help="hybrid, keyword (fts, bm25) or vector (semantic).")
@click.option("--limit", type=click.IntRange(1, 200), default=10, show_default=True, help="How many messages.")
@click.option("--next", "next_token", default=None, help="The next page: the token that the page before ended with.")
@click.option("--mailbox", default=None, help="Only this mailbox.")
def search(
    query: str,
    db_path: Path,
    as_json: bool,
    config: Path | None,
    mode: str,
    limit: int,
    next_token: str | None,
    mailbox: str | None,
) -> None:
    """Search by word and by meaning. Returns references to messages; changes nothing.

    \b
    oaken search 'the pickup arrangement from:sam after:2023'
    oaken search '"notice period" -draft has:attachment' --json
    """
    from . import report
    from .find import find

    with answering(as_json, db_path):
        fields = {"mailbox": [mailbox]} if mailbox else {}
        answer = find(db_path, query, mode=mode, limit=limit, next_token=next_token, fields=fields, config=config)
        say(answer, as_json, report.hits(answer))


@oaken.group()
def message() -> None:
    """One message."""


@message.command("get")
@click.argument("message_id", type=ROW_ID)
@db_option
@json_option
def message_get(message_id: int, db_path: Path, as_json: bool) -> None:
    """Print a message. Reading it here does not mark it read.

    \b
    oaken message get 42
    """
    from datasette_oaken import messages

    from . import report

    with answering(as_json, db_path):
        found = messages.message(db.connect(db_path, readonly=True), message_id)
        if found is None:
            raise OakenError(f"There is no message {message_id}.", "no_message")
        say(found, as_json, report.message(found))


@oaken.group()
def thread() -> None:
    """One conversation."""


@thread.command("get")
@click.argument("thread_id", type=ROW_ID)
@db_option
@json_option
def thread_get(thread_id: int, db_path: Path, as_json: bool) -> None:
    """Print a conversation, oldest first.

    \b
    oaken thread get 7
    """
    from datasette_oaken import messages

    from . import report

    with answering(as_json, db_path):
        found = messages.thread(db.connect(db_path, readonly=True), thread_id)
        if found is None:
            raise OakenError(f"There is no conversation {thread_id}.", "no_thread")
        say(found, as_json, report.thread(found))


@oaken.command()
@db_option
@json_option
def status(db_path: Path, as_json: bool) -> None:
    """What is in the file, how much is embedded, and what could not be read.

    \b
    oaken status --json
    """
    from datasette_oaken.status import status as read_status

    from . import report

    with answering(as_json, db_path):
        answer = read_status(db.connect(db_path, readonly=True))
        say(answer, as_json, report.status(answer))


@oaken.command()
@db_option
@json_option
def doctor(db_path: Path, as_json: bool) -> None:
    """Check this machine and the file: SQLite, extension, model, disk, integrity; each with what to do.

    \b
    oaken doctor
    """
    from . import report
    from .doctor import doctor as examine

    with answering(as_json, db_path):
        answer = examine(db_path)
        say(answer, as_json, report.doctor(answer))
        if not answer["ok"]:
            sys.exit(1)


@oaken.command()
@db_option
@json_option
@click.option("--fts", is_flag=True, help="The keyword index.")
@click.option("--semantic", is_flag=True, help="The KNN tables, from the stored vectors.")
@click.option("--verdicts", is_flag=True, help="What questions are asked of, and which verdicts count.")
@click.option(
    "--sections", is_flag=True, help="All that is read from the raw messages: headers, texts, sections, passages."
)
@click.option("--all", "everything", is_flag=True, help="All of these.")
def repair(
    db_path: Path, as_json: bool, fts: bool, semantic: bool, verdicts: bool, sections: bool, everything: bool
) -> None:
    """Make derived tables again. What came in, labels, read state, verdicts and reviews are not touched.

    \b
    oaken repair --all
    oaken repair --sections
    """
    from . import report
    from .repair import repair as run_repair

    if not (fts or semantic or verdicts or sections or everything):
        raise click.UsageError("Say what to repair: --fts, --semantic, --verdicts, --sections or --all.")
    with answering(as_json, db_path):
        conn = db.connect(db_path)
        answer = run_repair(
            conn,
            db_path,
            fts=fts or everything,
            semantic=semantic or everything,
            verdicts=verdicts or everything,
            sections=sections or everything,
        )
        say(answer, as_json, report.repaired(answer))


@oaken.command()
@db_option
@config_option
@click.option("--port", type=click.IntRange(1, 65535), default=None, help="Default: 8001, or the next that is free.")
@click.option("--no-embed", is_flag=True, help="Do not embed beside it.")
@click.option("--open", "open_browser", is_flag=True, help="Open the search page in the browser.")
def serve(db_path: Path, config: Path | None, port: int | None, no_embed: bool, open_browser: bool) -> None:
    """Search in the browser: starts the site on this machine and prints its address. Embedding goes on beside it.

    \b
    oaken serve
    oaken serve --db work.db --port 8010
    """
    from .serve import serve as run_site

    with answering(False, db_path):
        run_site(db_path, port=port, config=config, embed=not no_embed, open_browser=open_browser)


@oaken.command()
@click.option(
    "--db",
    "db_path",
    type=click.Path(path_type=Path),
    default=Path("oaken-demo.db"),
    show_default=True,
    help="The database file.",
)
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help="Another seed, another mailbox; the same seed, the same bytes.",
)
@click.option(
    "--write",
    "write_to",
    type=click.Path(path_type=Path),
    default=None,
    help="Only write the mailbox here, as an mbox file.",
)
@click.option("--no-serve", is_flag=True, help="Only fill the database.")
@click.option("--port", type=click.IntRange(1, 65535), default=None, help="Default: 8001, or the next that is free.")
def demo(db_path: Path, seed: int, write_to: Path | None, no_serve: bool, port: int | None) -> None:
    """Try Oaken on a made-up mailbox: some 1,000 messages over eight years, none of them anyone's.

    \b
    oaken demo
    oaken demo --write demo.mbox
    """
    from .try_out import try_out

    with answering(False, db_path):
        try_out(db_path, seed=seed, write_to=write_to, serve=not no_serve, port=port)


for command in (*cli_questions.COMMANDS, cli_audit.inspect, cli_audit.stats, cli_export.export, cli_forget.forget):
    oaken.add_command(command)


def main() -> None:
    """The console script."""
    oaken(prog_name="oaken")
