"""The same mail again, beside the first time: a Maildir and an mbox, with nothing new, and with a few new messages.

    python benchmarks/again.py                       the real mail beside the project, repeated to 20,000 messages
    python benchmarks/again.py ~/Mail/all.mbox --messages 5000 --json

The clock runs over whole processes of `oaken ingest --no-embed`, the start of Python included, which is most of the time that
nothing new takes. Each repetition of a message is given a header field of its own, so that none is a duplicate.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from common import (
    OAKEN,
    conditions,
    corpus_name,
    demo_option,
    json_option,
    mail_argument,
    mail_to_use,
    measure,
    raw_messages,
    show,
    work_option,
)

NEW = 100


@click.command()
@mail_argument
@demo_option
@click.option("--messages", type=click.IntRange(1), default=20_000, show_default=True, help="The first time.")
@work_option
@json_option
def main(mail: tuple[Path, ...], demo: bool, messages: int, work: Path, as_json: bool) -> None:
    """Measure what ingesting again costs."""
    paths = mail_to_use(mail, demo, work)
    started = conditions()
    answer: dict[str, Any] = {"conditions": started, "corpus": corpus_name(paths, messages) + " (repeated)"}
    for kind, write in (("Maildir", _maildir), ("mbox", _mbox)):
        answer[kind] = _measure(kind, write, paths, messages, work)
    rows = [["", "s", "of the first"]]
    for kind in ("Maildir", "mbox"):
        for what in ("first", "nothing new", f"{NEW} new"):
            seconds = answer[kind][what]
            rows.append([f"{kind}, {what}", f"{seconds:.2f}", f"{seconds / answer[kind]['first']:.1%}"])
    show(answer, rows, [], as_json)


def _measure(kind: str, write: Any, paths: Sequence[Path], messages: int, work: Path) -> dict[str, float]:
    place, database = work / f"again-{kind}", work / "again.db"
    _remove(place)
    for suffix in ("", "-wal", "-shm", ".ingest.lock"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    mail = repeated(paths)
    seconds: dict[str, float] = {}
    for what, number in (("first", messages), ("nothing new", 0), (f"{NEW} new", NEW)):
        if number:
            write(place, itertools.islice(mail, number))
        done = measure([*OAKEN, "ingest", "--no-embed", "--json", "--db", database, place])
        seconds[what] = round(done.seconds, 3)
    _remove(place)
    return seconds


def repeated(paths: Sequence[Path]) -> Iterator[bytes]:
    """The messages, over and over, each time with another header field."""
    for turn in itertools.count():
        for raw in raw_messages(paths):
            yield b"X-Turn: %d\n" % turn + raw


def _maildir(folder: Path, mail: Iterator[bytes]) -> None:
    for name in ("cur", "new", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    there = sum(1 for _ in (folder / "cur").iterdir())
    for number, raw in enumerate(mail, there):
        (folder / "cur" / f"{number:08}:2,{'S' if number % 2 else ''}").write_bytes(raw)


def _mbox(path: Path, mail: Iterator[bytes]) -> None:
    with path.open("ab") as out:
        for raw in mail:
            lines = raw.rstrip(b"\n").split(b"\n")
            quoted = b"\n".join(b">" + line if line.lstrip(b">").startswith(b"From ") else line for line in lines)
            out.write(b"From someone@example.org Mon Mar  4 09:00:00 2024\n" + quoted + b"\n\n")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
