"""What everything around a judge costs, and what a count costs.

    python benchmarks/judge.py
    python benchmarks/judge.py ~/Mail/all.mbox --verdicts 1000000 --json

Overhead: every message of the mail is judged by a judge that answers at once, in one process, from the question to the last
commit; the wall time a message is what a real judge's time comes on top of. The same judgements are then stored by a bare
``insert``, a transaction each 64, as the limit of what any storing costs. Count: a file with as many verdicts as asked, a tenth of
them yes, some reviewed; ``counts.count`` is timed beside the bare ``select count(*)`` over the same verdicts.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
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
    show,
    work_option,
)

from datasette_oaken import counts, db, eligible, questions, verdicts
from datasette_oaken.readings import Reading
from ingest.judging.base import Judgement
from ingest.judging.run import judge_all

TIMES = 31


class AtOnce:
    """A judge that says no, at once."""

    name, model, prompt_version, remote_host, workers = "bench:at-once", "at once 1", "1", None, 0

    def judge(self, question: str, criterion: str, reading: Reading) -> Judgement:
        return Judgement("no", "It was asked at once, and answered at once.")


@click.command()
@mail_argument
@demo_option
@click.option(
    "--verdicts", "number", type=click.IntRange(10), default=100_000, show_default=True, help="For the count."
)
@work_option
@json_option
def main(mail: tuple[Path, ...], demo: bool, number: int, work: Path, as_json: bool) -> None:
    """Measure judging and counting."""
    paths = mail_to_use(mail, demo, work)
    started = conditions()
    path = work / "judge.db"
    _remove(path)
    measure([*OAKEN, "ingest", "--no-embed", "--db", path, *paths])
    judged, per_message, per_bare = overhead(path)
    _remove(path)
    counted = count_at(work / "count.db", number)
    answer: dict[str, Any] = {
        "conditions": started,
        "corpus": corpus_name(paths, judged),
        "judged": judged,
        "overhead_ms_a_message": round(per_message, 3),
        "bare_insert_ms_a_message": round(per_bare, 3),
        "verdicts": number,
        "count_ms": round(counted["count"], 2),
        "bare_count_ms": round(counted["bare"], 2),
        "count_matches": counted["matches"],
    }
    rows = [
        ("", "ms"),
        ("around the judge, a message", f"{per_message:.2f}"),
        ("a bare insert of its verdict", f"{per_bare:.2f}"),
        (f"count at {number:,} verdicts", f"{counted['count']:.2f}"),
        ("bare count(*) of the same", f"{counted['bare']:.2f}"),
    ]
    show(answer, rows, [answer["corpus"]], as_json)


def overhead(path: Path) -> tuple[int, float, float]:
    """(messages judged, milliseconds a message around a judge that takes none, milliseconds of a bare insert)."""
    conn = db.connect(path)
    with db.transaction(conn):
        id_ = questions.ask(conn, "Is anything asked?")
    began = time.perf_counter()
    report = judge_all(conn, path, id_, AtOnce(), quiet=True)
    spent = time.perf_counter() - began
    if report.judged_now != report.count["eligible"] or report.count["remaining"]:
        raise click.ClickException(f"Not all was judged: {report.count}")
    conn.execute("create table bare as select * from recall_verdicts where 0")
    stored = conn.execute("select * from recall_verdicts").fetchall()
    marks = ", ".join("?" * len(stored[0]))
    began = time.perf_counter()
    for first in range(0, len(stored), 64):
        with db.transaction(conn):
            conn.executemany(f"insert into bare values ({marks})", [tuple(row) for row in stored[first : first + 64]])
    bare = time.perf_counter() - began
    conn.close()
    return report.judged_now, spent / report.judged_now * 1000, bare / len(stored) * 1000


def count_at(path: Path, number: int) -> dict[str, Any]:
    """Median milliseconds of the count, and of a bare count(*), over ``number`` verdicts in a file made for it."""
    _remove(path)
    conn = db.connect(path, create=True)
    with db.transaction(conn):
        conn.execute("insert into accounts (name) values ('bench')")
        conn.executemany(
            "insert into messages (id, account, source_id, size, content_hash, sent_at) values (?, 'bench', ?, 1, ?, ?)",
            ((n, str(n), str(n), f"20{n % 20:02}-01-01T00:00:00Z") for n in range(1, number + 1)),
        )
        id_ = questions.ask(conn, "Is anything asked?")
        questions.activate(conn, id_, judge="bench", model="bench 1", prompt_version="1")
        conn.execute(
            "insert into recall_readings (sha256, text, own_start, own_stop, format) values ('r', 'the same for all', 0, 16, 1)"
        )
        conn.executemany(
            "insert into recall_verdicts (question_id, question, criterion, account, source_id, message_id, judge, verdict,"
            " status, model, prompt_version, reading_sha256, judged_at, basis)"
            " values (?, 'Is anything asked?', '', 'bench', ?, ?, 'bench', ?, ?, 'bench 1', '1', 'r', '2024-01-01T00:00:00Z', ?)",
            ((id_, str(n), n, int(not n % 10), "no" if n % 10 else "yes", n) for n in range(1, number + 1)),
        )
        conn.execute("update recall_eligible set reading_sha256 = 'r'")
        verdicts.settle(conn, id_)
        for status in ("yes", "no"):
            sample = conn.execute(
                "select verdict_id from recall_eligible where question_id = ? and status = ? order by lot limit 100",
                (id_, status),
            ).fetchall()
            for row in sample:
                verdicts.review(conn, row[0], agrees=True)
        eligible.refresh(conn)
    conn.execute("analyze")
    bare_sql = "select count(*) from recall_verdicts where question_id = ? and status = 'yes'"
    answer = counts.count(conn, id_)
    result = {
        "count": _median(lambda: counts.count(conn, id_)),
        "bare": _median(lambda: conn.execute(bare_sql, (id_,)).fetchone()),
        "matches": answer["yes"] == conn.execute(bare_sql, (id_,)).fetchone()[0] and answer["coverage"] == 1,
    }
    conn.close()
    _remove(path)
    return result


def _median(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        spent.append(time.perf_counter() - began)
    return statistics.median(spent) * 1000


def _remove(path: Path) -> None:
    for one in path.parent.glob(f"{path.name}*"):
        if one.is_dir():
            shutil.rmtree(one)
        else:
            one.unlink()


if __name__ == "__main__":
    main()
