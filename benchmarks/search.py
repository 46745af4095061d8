"""Search by word and by meaning at once, over 200 different queries, beside `notmuch search` on the same words.

    python benchmarks/search.py                          the real mail beside the project; embeds it first if need be
    python benchmarks/search.py ~/Mail/all.mbox
    python benchmarks/search.py --demo --queries 50 --json

Queries are made from the mail itself by a seeded choice: two words of a subject, three words of a passage, a phrase of three
words in quotes, and a run of eight words as someone might ask in a sentence. Each is asked once, for ten messages, of:

- Oaken in one warm process: reading the query, embedding it, both retrievers, fusion, snippets;
- Oaken over HTTP: a running `oaken serve`, /-/oaken/search.json on a connection that is kept open;
- notmuch, a process a query, which is how it is used: `notmuch search --limit=10`, by keyword alone;
- `oaken search`, a process a query, for the first 20: most of it is the start of Python and of the model.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click
from common import (
    OAKEN,
    Notmuch,
    conditions,
    corpus_name,
    demo_option,
    json_option,
    mail_argument,
    mail_to_use,
    percentile,
    show,
    work_option,
    write_maildir,
)

from datasette_oaken import db, search, settings, vector
from datasette_oaken.embedders import QueryEmbedder, get_embedder
from datasette_oaken.query import parse

LIMIT = 10
WARM_UP = ("school run on friday", "invoice for the boiler", "kernel patch review", "who is coming to dinner")
_WORD = re.compile(r"[A-Za-z]{3,20}")
_OPERATORS = frozenset({"and", "not", "xor", "near", "adj"})
"""Words that notmuch's own query language takes for itself."""

Ask = Callable[[str], int]
"""Asks one query and returns how many messages were found."""


@click.command()
@mail_argument
@demo_option
@click.option("--queries", "count", type=click.IntRange(4), default=200, show_default=True, help="How many.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the choice of queries.")
@click.option("--processes", type=click.IntRange(1), default=20, show_default=True, help="Queries for oaken search.")
@click.option("--no-notmuch", is_flag=True, help="Only ours.")
@work_option
@json_option
def main(
    mail: tuple[Path, ...],
    demo: bool,
    count: int,
    seed: int,
    processes: int,
    no_notmuch: bool,
    work: Path,
    as_json: bool,
) -> None:
    """Measure search."""
    paths = mail_to_use(mail, demo, work)
    path = work / "search.db"
    _fill(path, paths)
    notmuch = None
    if not no_notmuch:
        messages = write_maildir(paths, work / "maildir")
        notmuch = Notmuch(work / "maildir", work)
        notmuch.new()
        if notmuch.count() != messages:
            raise click.ClickException(f"notmuch has {notmuch.count()} of {messages} messages")
    where = conditions()
    with closing(db.connect(path, readonly=True)) as conn:
        queries = make_queries(conn, count, seed)
        (held,) = conn.execute("select count(*) from messages").fetchone()
        (passages,) = conn.execute("select count(*) from recall_chunks").fetchone()
        embedded = vector.coverage(conn)
        inner = _InProcess(conn)
        for text in WARM_UP:
            inner.ask(text)
        inner.stages.clear()
        taken = {"oaken, in a process": _times(inner.ask, queries)}
        if inner.degraded:
            raise click.ClickException(
                f"{inner.degraded} searches were degraded: the figures would not be of hybrid search"
            )
    with _site(path) as ask:
        for text in WARM_UP:
            ask(text)
        taken["oaken, over HTTP"] = _times(ask, queries)
    if notmuch is not None:
        taken["notmuch search, a process each"] = _times(_notmuch(notmuch), queries)
    taken["oaken search, a process each"] = _times(_command(path), queries[:processes])
    _report(
        taken,
        inner.stages,
        where,
        f"{corpus_name(paths, held)}, {passages:,} passages, {embedded:.0%} embedded",
        as_json,
    )


def _fill(path: Path, paths: list[Path]) -> None:
    """Ingest what is not there yet, and embed it; a file of other mail is begun again."""
    mark = path.with_suffix(".mail.json")
    wanted = json.dumps([[str(p.resolve()), p.stat().st_mtime_ns] for p in paths])
    if not mark.exists() or mark.read_text() != wanted:
        for left in path.parent.glob(f"{path.name}*"):
            left.unlink()
    subprocess.run([*OAKEN, "ingest", "--db", str(path), *map(str, paths)], stdout=subprocess.DEVNULL, check=True)
    mark.write_text(wanted)


def make_queries(conn: db.sqlite3.Connection, count: int, seed: int) -> list[str]:
    """``count`` different queries, a quarter of each kind, from the words of the mail in ``conn``."""
    dice = random.Random(seed)
    subjects = [row[0] for row in conn.execute("select subject from messages where subject is not null order by id")]
    passages = [row[0] for row in conn.execute("select text from recall_chunks where section = 'authored' order by id")]
    made: dict[str, None] = {}
    for _ in range(count * 200):
        if len(made) == count:
            break
        kind = len(made) % 4
        words = _words(dice.choice(subjects if kind == 0 else passages))
        if kind == 0 and len(words) >= 2:
            made[" ".join(dice.sample(words, 2))] = None
        elif kind == 1 and len(words) >= 3:
            made[" ".join(dice.sample(words, 3))] = None
        elif kind in (2, 3) and len(words) >= 12:
            length = 3 if kind == 2 else 8
            start = dice.randrange(len(words) - length + 1)
            run = " ".join(words[start : start + length])
            made[f'"{run}"' if kind == 2 else run] = None
    if len(made) < count:
        raise click.ClickException(f"That mail gives only {len(made)} queries: ask for fewer with --queries.")
    return list(made)


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word.lower() not in _OPERATORS]


class _InProcess:
    """The one search, on one connection with the model loaded; ``stages`` gathers what each part of it took, in ms."""

    def __init__(self, conn: db.sqlite3.Connection) -> None:
        self.conn = conn
        self.settings = settings.SearchSettings()
        generation = vector.answering(conn)
        self.embedder = QueryEmbedder(lambda: get_embedder(generation.model if generation else None))
        self.stages: dict[str, list[float]] = {}
        self.degraded = 0

    def ask(self, text: str) -> int:
        query = parse(text)
        embedded = self.embedder.embed(query.free_text, 60)
        answer = search.search(self.conn, query, limit=LIMIT, settings=self.settings, embedded=embedded)
        for stage, took in answer["timings_ms"].items():
            self.stages.setdefault(stage, []).append(took)
        self.degraded += answer["degraded"]
        return len(answer["hits"])


@contextmanager
def _site(path: Path) -> Iterator[Ask]:
    """A running site over the file, and how to ask it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    site = subprocess.Popen(
        [*OAKEN, "serve", "--no-embed", "--db", str(path), "--port", str(port)], stderr=subprocess.DEVNULL
    )
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(text: str) -> int:
        connection.request("GET", f"/-/oaken/search.json?{urlencode({'q': text, 'limit': LIMIT})}")
        answer = json.loads(connection.getresponse().read())
        if answer.get("degraded") is not False:
            raise click.ClickException(f"the site answered {text!r} with {answer.get('degraded_reason') or answer}")
        return len(answer["hits"])

    try:
        for _ in range(300):
            try:
                connection.request("GET", "/-/oaken/status.json")
                connection.getresponse().read()
                break
            except OSError:
                connection.close()
                time.sleep(0.2)
        yield ask
    finally:
        connection.close()
        site.send_signal(signal.SIGINT)
        site.wait(30)


def _notmuch(notmuch: Notmuch) -> Ask:
    def ask(text: str) -> int:
        command = ["notmuch", "search", f"--limit={LIMIT}", "--", text]
        return len(subprocess.run(command, env=notmuch.env, stdout=subprocess.PIPE, check=True).stdout.splitlines())

    return ask


def _command(path: Path) -> Ask:
    def ask(text: str) -> int:
        command = [*OAKEN, "search", "--db", str(path), "--limit", str(LIMIT), "--json", "--", text]
        return len(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["hits"])

    return ask


def _times(ask: Ask, queries: Sequence[str]) -> list[tuple[float, int]]:
    """(milliseconds, messages found) for each query, one at a time."""
    taken = []
    for text in queries:
        began = time.perf_counter()
        found = ask(text)
        taken.append(((time.perf_counter() - began) * 1000, found))
    return taken


def _report(
    taken: dict[str, list[tuple[float, int]]],
    stages: dict[str, list[float]],
    where: dict[str, Any],
    corpus: str,
    as_json: bool,
) -> None:
    answer: dict[str, Any] = {"conditions": where, "corpus": corpus, "ways": {}, "stages_ms": {}}
    rows: list[Sequence[object]] = [("", "queries", "p50 ms", "p95 ms", "max ms", "found something")]
    for way, each in taken.items():
        ms = [one for one, _ in each]
        figures = {
            "queries": len(each),
            "p50_ms": round(percentile(ms, 0.5), 1),
            "p95_ms": round(percentile(ms, 0.95), 1),
            "max_ms": round(max(ms), 1),
            "answered": sum(found > 0 for _, found in each),
        }
        answer["ways"][way] = figures
        rows.append((way, *figures.values()))
    for stage, ms in stages.items():
        answer["stages_ms"][stage] = {"p50": round(percentile(ms, 0.5), 1), "p95": round(percentile(ms, 0.95), 1)}
    parts = ", ".join(f"{stage} {each['p50']} / {each['p95']}" for stage, each in answer["stages_ms"].items())
    notes = [
        corpus,
        f"Of the first row, p50 / p95 in ms: {parts}.",
        "Oaken searches by word and by meaning, the embedding of the query included; notmuch by word, all words required.",
    ]
    show(answer, rows, notes, as_json)


if __name__ == "__main__":
    main()
