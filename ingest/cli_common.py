"""What every verb of the command shares: its options, how it answers, and how what goes wrong is said."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from datasette_oaken import db
from datasette_oaken.db import OakenError

INTERRUPTED = 130
STOPPED = "Stopped. What was done is kept; run the same command again to go on."
ROW_ID = click.IntRange(0, 2**63 - 1)

db_option = click.option(
    "--db",
    "db_path",
    type=click.Path(path_type=Path),
    default=db.default_path,
    show_default="oaken.db, or $OAKEN_DB",
    help="The database file.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document on stdout.")
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    default=None,
    help="Settings file. Default: oaken.toml beside the database.",
)


@contextlib.contextmanager
def answering(as_json: bool, db_path: Path | None = None, *, stopped: str = STOPPED) -> Iterator[None]:
    """Turn what can go wrong into a sentence and an exit code: 1 nothing could be done, 130 interrupted.

    ``stopped``: what is true after Ctrl-C, where that is not that what was done is kept.
    """
    try:
        yield
    except (OakenError, OSError, db.sqlite3.Error) as error:
        known = error if isinstance(error, OakenError) else db.explain(error, db_path or "the database")
        if known is None and isinstance(error, BrokenPipeError):
            sys.exit(1)
        text = str(known or f"{type(error).__name__}: {error}")[:1000]
        if as_json:
            click.echo(
                json.dumps({"ok": False, "error": text, "code": known.code if known else "error"}, ensure_ascii=False)
            )
        else:
            click.echo(f"Error: {text}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        if as_json:
            click.echo(json.dumps({"ok": False, "error": stopped, "code": "interrupted"}))
        click.echo(f"\n{stopped}", err=True)
        sys.exit(INTERRUPTED)


def named(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[Path, ...]:
    """Paths; an empty one is an unset variable of the shell's, not the folder one stands in."""
    if "" in values:
        raise click.BadParameter("a path is empty: is a variable not set?")
    return tuple(map(Path, values))


def say(answer: dict[str, Any], as_json: bool, text: str) -> None:
    """Print an answer: as JSON, or as ``text`` for a person."""
    click.echo(json.dumps(answer, ensure_ascii=False, indent=2) if as_json else text)
