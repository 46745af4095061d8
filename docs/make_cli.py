"""Writes docs/cli.md from the commands themselves: python docs/make_cli.py. A test compares the two."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from ingest.cli import oaken

PAGE = Path(__file__).with_name("cli.md")
HEAD = """\
# The command line

`oaken VERB … --db FILE`; the file is `oaken.db` here, or `$OAKEN_DB`, unless `--db` names another. With `--json` exactly one
JSON document is printed on stdout; progress and warnings go to stderr. Exit code 0: done, even if some messages could not be
read and are listed; 1: nothing could be done; 2: the command was not understood; 130: stopped by Ctrl-C. An error under
`--json` is `{"ok": false, "error": "…", "code": "…"}`, with a code that stays the same.

This page is made from the commands by `python docs/make_cli.py`.
"""
VALUES = {"path": "PATH", "integer": "NUMBER", "integer range": "NUMBER"}
"""What stands for a value, by click's name of its type; for any other, TEXT."""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(f"\n{part}" for part in _verbs(oaken, "oaken"))


def _verbs(group: click.Group, path: str) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from _verbs(command, f"{path} {name}")
        else:
            yield _verb(command, f"{path} {name}")


def _verb(command: click.Command, path: str) -> str:
    text, _, examples = inspect.cleandoc(command.help or "").partition("\n\n\b\n")
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    named = [(p.name or "").upper().removesuffix("S") + ("…" if p.nargs == -1 else "") for p in arguments]
    usage = " ".join([path, *named])
    lines = [f"## {path}", "", text, "", "```", f"{usage} [options]", "```", ""]
    if examples:
        lines += ["For example:", "", "```", *examples.splitlines(), "```", ""]
    lines += ["| option | |", "|---|---|"]
    lines += [_option(p) for p in command.params if isinstance(p, click.Option)]
    return "\n".join(lines) + "\n"


def _option(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    value = "" if option.is_flag else f" {VALUES.get(option.type.name, 'TEXT')}"
    default = ""
    if isinstance(option.show_default, str):
        default = f" Default: {option.show_default}."
    elif option.show_default:
        default = f" Default: {option.default}."
    return f"| {names}{value} | {(option.help or '').replace('|', '&#124;')}{default} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
