"""The verbs inspect and stats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from datasette_oaken import db

from .cli_common import ROW_ID, answering, db_option, json_option, say

_COLOURS = {"authored": "green", "quoted": "cyan", "forwarded": "blue", "signature": "yellow", "disclaimer": "magenta"}
_SHOWN = 12


@click.command()
@click.argument("message_id", type=ROW_ID)
@db_option
@json_option
def inspect(message_id: int, db_path: Path, as_json: bool) -> None:
    """Show how a message was cut into the writer's words, quotes and the rest, and why. Changes nothing.

    \b
    oaken inspect 42
    """
    from . import audit

    with answering(as_json, db_path):
        found = audit.inspect(db.connect(db_path, readonly=True), message_id)
        say(found, as_json, _inspected(found))


@click.group()
def stats() -> None:
    """Counts over the whole file."""


@stats.command("sections")
@db_option
@json_option
def stats_sections(db_path: Path, as_json: bool) -> None:
    """What was kept of all messages and what was cut, by reason, mail program and language.

    \b
    oaken stats sections
    """
    from . import audit

    with answering(as_json, db_path):
        found = audit.sections(db.connect(db_path, readonly=True))
        say(found, as_json, _counted(found))


def _inspected(found: dict[str, Any]) -> str:
    from .report import one_line

    lines = [
        f"Message {found['message_id']}: {one_line(found['subject'] or '(no subject)')}, {found['characters']:,} characters"
    ]
    for part in found["sections"]:
        title = f"{part['section']}, {part['start']:,} to {part['stop']:,}: {part['why']}"
        lines.append(click.style(title, bold=True, fg=_COLOURS.get(part["section"])))
        lines += [
            click.style(f"  {_line(line)}", fg=_COLOURS.get(part["section"]))
            for line in part["text"].rstrip("\n").split("\n")
        ]
    number = len(found["passages"])
    lines.append("1 passage is searched." if number == 1 else f"{number:,} passages are searched.")
    return "\n".join(lines)


def _line(line: str) -> str:
    """Mail is untrusted: no control characters reach the terminal. Spaces stay, since they are what a line is told by."""
    return "".join(c if c.isprintable() else " " for c in line).rstrip()


def _counted(found: dict[str, Any]) -> str:
    total = sum(part["characters"] for part in found["sections"].values()) or 1
    lines = [f"{found['messages']:,} messages, {total:,} characters of text:"]
    lines += [
        f"  {part['characters'] / total:>6.1%}  {name}, in {part['sections']:,} sections"
        for name, part in found["sections"].items()
    ]
    lines.append("Why:")
    lines += [f"  {one['sections']:>9,}  {one['section']}: {one['why']}" for one in found["why"][:_SHOWN]]
    for name, title in (("client", "By mail program"), ("language", "By language")):
        lines.append(f"{title}, and how much of the text is the writers' own:")
        for one in found[f"{name}s"][:_SHOWN]:
            own = one["characters"].get("authored", 0) / (sum(one["characters"].values()) or 1)
            lines.append(f"  {one['messages']:>9,}  {one[name]}: {own:.0%}")
    return "\n".join(lines)
