"""Judging every message that a question is asked of, once: in any order, stopped and gone on with at any moment.

What a judge says is written within a second of its saying it, in one transaction with the reading that it rests on; a killed
run has lost at most what it was being told. A message whose reading equals one that was judged takes that judgement over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import counts, questions, readings, verdicts
from datasette_oaken.db import OakenError, transaction
from datasette_oaken.readings import Reading
from datasette_oaken.settings import JudgeSettings

from .. import locks
from ..progress import Progress
from .base import Judge, Judgement
from .check import checked
from .crew import Crew

WRITE_EVERY = 0.5
"""Seconds after which what was judged is written, however little it is."""
WRITE_AT = 64
ORDERS = {
    "newest": "m.sent_at is null, m.sent_at desc, m.id desc",
    "oldest": "m.sent_at is null, m.sent_at, m.id",
    "random": "e.lot",
}
"""The orders in which messages are judged; undated ones come last. A trial in random order is a fair one."""
_CACHED_WORDS = 512


@dataclass
class Report:
    """What one run did, beside the count that it leaves behind."""

    question_id: int
    judged_now: int = 0
    shared: int = 0
    errors_now: int = 0
    dropped: int = 0  # forgotten, or changed, while it was judged
    count: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As ``oaken judge --json`` prints it: the count, and what this run did."""
        this_run = {
            "judged": self.judged_now,
            "shared": self.shared,
            "errors": self.errors_now,
            "dropped": self.dropped,
        }
        return self.count | {"this_run": this_run}


@dataclass(slots=True)
class _Work:
    """A message to judge; ``version``: of the file's data when its reading was made."""

    message_id: int
    reading: Reading
    version: int


@dataclass(slots=True)
class _Done:
    work: _Work
    judgement: Judgement
    ms: int = 0
    shared_from: int | None = None


def judge_all(
    conn: sqlite3.Connection,
    db_path: Path,
    question_id: int,
    judge: Judge,
    *,
    settings: JudgeSettings | None = None,
    order: str = "newest",
    limit: int | None = None,
    workers: int | None = None,
    retry_errors: bool = False,
    activate: bool | None = None,
    quiet: bool = False,
) -> Report:
    """Judge what this judge has not judged yet of what the question is asked of; at most ``limit`` messages.

    ``activate``: make this the judge whose verdicts count. By default it becomes so when the question has none, and stays so
    when the same judge comes with another version of its model or prompt. ``retry_errors``: errors are tried again.

    Raises OakenError (locked, judge_unavailable …); what was judged is kept.
    """
    if order not in ORDERS:
        raise OakenError(f"There is no order {order!r}; there are {', '.join(ORDERS)}.", "bad_order")
    settings = settings or JudgeSettings()
    with locks.writer(conn, db_path, "judge"):
        question = questions.get(conn, question_id)
        if question is None:
            raise OakenError(f"There is no question {question_id}.", "no_question")
        if activate or (activate is None and question["judge"] in (None, judge.name)):
            with transaction(conn):
                questions.activate(
                    conn,
                    question_id,
                    judge=judge.name,
                    model=judge.model,
                    prompt_version=judge.prompt_version,
                    remote_host=judge.remote_host,
                )
        run = _Run(conn, question, judge, settings)
        todo = run.todo(order, retry_errors)[:limit]
        try:
            with Progress("Judging", unit="messages", total=len(todo), quiet=quiet) as bar:
                run.go(todo, workers if workers is not None else judge.workers, bar.update)
        finally:
            run.write()
        run.report.count = counts.count(conn, question_id)
        return run.report


class _Run:
    """One judge on its way through the messages of one question."""

    def __init__(
        self, conn: sqlite3.Connection, question: dict[str, Any], judge: Judge, settings: JudgeSettings
    ) -> None:
        self.conn, self.question, self.judge, self.settings = conn, question, judge, settings
        self.report = Report(question["id"])
        self._ready: list[_Done] = []
        self._wrote = time.monotonic()
        # What a verdict must have been asked, and by whom, to be this run's own.
        self._ours = (judge.name, judge.model, judge.prompt_version, question["question"], question["criterion"])
        self._words = lru_cache(_CACHED_WORDS)(lambda message_id: readings.own_words(conn, message_id))
        self._version = self._data_version()

    def _data_version(self) -> int:
        """Changes whenever another connection has written to the file."""
        return int(self.conn.execute("pragma data_version").fetchone()[0])

    def todo(self, order: str, retry_errors: bool) -> list[int]:
        """The messages that this judge has no verdict on yet, in order."""
        again = " and v.status <> 'error'" if retry_errors else ""
        found = self.conn.execute(
            "select e.message_id from recall_eligible e join messages m on m.id = e.message_id where e.question_id = ?"
            " and not exists (select 1 from recall_verdicts v where v.question_id = e.question_id"
            " and v.message_id = e.message_id and v.judge = ? and v.model = ? and v.prompt_version = ? and v.question = ?"
            f" and v.criterion = ? and v.reading_sha256 = e.reading_sha256{again}) order by {ORDERS[order]}",
            (self.question["id"], *self._ours),
        )
        return [row[0] for row in found]

    def go(self, todo: Sequence[int], workers: int, tell: Callable[[int], None]) -> None:
        """Hand out readings to ``workers`` threads (0: judge here) and write what comes back."""
        waiting: dict[str, list[_Work]] = {}  # by reading: what reads the same, while the first of them is judged
        with Crew(workers, self._judge) as crew:
            for work in self._readings(todo):
                sha256 = work.reading.sha256
                if (shared := self._shared(work)) is not None:
                    self._keep(shared, tell)
                elif sha256 in waiting:
                    waiting[sha256].append(work)
                else:
                    waiting[sha256] = []
                    for done in crew.give(work):
                        self._take(done, waiting, tell)
            for done in crew.rest():
                self._take(done, waiting, tell)

    def _readings(self, todo: Sequence[int]) -> Iterator[_Work]:
        """What is to be read of each message: what was read of it before, so that other judges read the same."""
        for message_id in todo:
            version = self._data_version()
            if version != self._version:
                self._words.cache_clear()
                self._version = version
            row = self.conn.execute(
                "select reading_sha256 from recall_eligible where question_id = ? and message_id = ?",
                (self.question["id"], message_id),
            ).fetchone()
            if row is None:
                continue  # it left the scope meanwhile
            reading = readings.load(self.conn, row[0]) if row[0] else None
            yield _Work(message_id, reading or self._build(message_id), version)

    def _build(self, message_id: int) -> Reading:
        return readings.build(
            self.conn,
            message_id,
            own_chars=self.settings.reading_chars,
            context_chars=self.settings.context_chars,
            words=self._words,
        )

    def _shared(self, work: _Work) -> _Done | None:
        """The judgement that an equal reading got before, for this message too."""
        row = self.conn.execute(
            "select id, message_id, status, reasoning, considerations, quote, error from recall_verdicts where"
            " reading_sha256 = ? and question_id = ? and judge = ? and model = ? and prompt_version = ? and question = ?"
            " and criterion = ? and status <> 'error' order by id limit 1",
            (work.reading.sha256, self.question["id"], *self._ours),
        ).fetchone()
        if row is None:
            return None
        said = Judgement(row["status"], row["reasoning"], row["considerations"], row["quote"], row["error"])
        return _Done(work, said, shared_from=row["id"] if row["message_id"] != work.message_id else None)

    def _judge(self, work: _Work) -> _Done:
        """In a worker thread: ask, and check what is said against what was read."""
        began = time.perf_counter()
        said = self.judge.judge(self.question["question"], self.question["criterion"], work.reading)
        return _Done(work, checked(said, work.reading), round((time.perf_counter() - began) * 1000))

    def _take(self, done: _Done, waiting: dict[str, list[_Work]], tell: Callable[[int], None]) -> None:
        equal = waiting.pop(done.work.reading.sha256, [])
        self._keep(done, tell)
        if equal:
            self.write()  # so that the first has an id to be shared from
        for work in equal:
            self._keep(self._shared(work) or _Done(work, done.judgement), tell)

    def _keep(self, done: _Done, tell: Callable[[int], None]) -> None:
        self._ready.append(done)
        if len(self._ready) >= WRITE_AT or time.monotonic() - self._wrote >= WRITE_EVERY:
            self.write()
        tell(1)

    def write(self) -> None:
        """Store what has been judged, in one transaction."""
        ready, self._ready = self._ready, []
        self._wrote = time.monotonic()
        if not ready:
            return
        with transaction(self.conn):
            version = self._data_version()
            stored = [done for done in ready if done.work.version == version or self._still_holds(done.work)]
            for done in stored:
                self._store(done)
            verdicts.settle(self.conn, self.question["id"], [done.work.message_id for done in stored])
        self.report.dropped += len(ready) - len(stored)
        self.report.judged_now += len(stored)
        self.report.shared += sum(done.shared_from is not None for done in stored)
        self.report.errors_now += sum(done.judgement.status == "error" for done in stored)

    def _still_holds(self, work: _Work) -> bool:
        """Whether nothing that was read has been forgotten or has changed since: another process has written meanwhile."""
        row = self.conn.execute(
            "select reading_sha256 from recall_eligible where question_id = ? and message_id = ?",
            (self.question["id"], work.message_id),
        ).fetchone()
        if row is None:
            return False
        if row[0] is not None:
            return bool(row[0] == work.reading.sha256)
        self._words.cache_clear()
        return self._build(work.message_id).sha256 == work.reading.sha256

    def _store(self, done: _Done) -> None:
        said, work = done.judgement, done.work
        verdicts.put(
            self.conn,
            self.question,
            work.message_id,
            work.reading,
            judge=self.judge.name,
            model=self.judge.model,
            prompt_version=self.judge.prompt_version,
            status=said.status,
            reasoning=said.reasoning,
            considerations=said.considerations,
            quote=said.quote,
            error=said.error,
            duration_ms=done.ms,
            remote_host=self.judge.remote_host,
            shared_from=done.shared_from,
        )
        verdicts.set_reading(self.conn, self.question["id"], work.message_id, work.reading)


__all__ = ["ORDERS", "Report", "judge_all"]
