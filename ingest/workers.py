"""Preparing messages on all cores: batches go out, come back in order, and a batch that kills its worker is taken apart."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import TypeVar

from .prepare import Prepared, prepare

T = TypeVar("T")
Job = tuple[bytes, str]
"""(raw message, its content hash)"""
Answer = Prepared | str
"""What came of it, or why nothing did."""

AHEAD = 4
"""Batches under way beyond one a worker: enough to keep them busy, few enough to bound memory."""


ALONE_METHOD = "spawn"
"""How the process of a message under suspicion is started: clean, since this one may have threads by then."""


def _start() -> None:
    """In each worker: leave Ctrl-C to the parent, and go when the parent is gone, even if it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        sentinel = parent.sentinel

        def follow() -> None:
            wait([sentinel])
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()


def _prepare_batch(jobs: list[Job]) -> list[Answer]:
    return [_attempt(job) for job in jobs]


def _attempt(job: Job) -> Answer:
    """Prepare one message, trying once more if it fails (out of memory, say), since a second failure is a listed one."""
    try:
        return prepare(*job)
    except Exception:
        try:
            return prepare(*job)
        except Exception as error:
            return f"{type(error).__name__}: {error}"


class Preparer:
    """Prepares batches of messages, in worker processes or (``processes`` 0) here. Use as a context manager."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Preparer:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _submit(self, jobs: list[Job]) -> Future[list[Answer]]:
        if self._pool is None:
            # fork where it is safe and quick: the parent has no threads yet when the first batch is sent.
            method = (
                "fork"
                if "fork" in multiprocessing.get_all_start_methods()
                and os.name == "posix"
                and os.uname().sysname == "Linux"
                else "spawn"
            )
            self._pool = ProcessPoolExecutor(self._processes, multiprocessing.get_context(method), initializer=_start)
        return self._pool.submit(_prepare_batch, jobs)

    def map(self, batches: Iterable[T], jobs_of: Callable[[T], list[Job]]) -> Iterator[tuple[T, list[Answer]]]:
        """Each batch with the answers to its jobs, in order; batches are read only as far ahead as the workers need."""
        if not self._processes:
            for batch in batches:
                yield batch, _prepare_batch(jobs_of(batch))
            return
        under_way: deque[tuple[T, list[Job], Future[list[Answer]] | None]] = deque()
        for batch in batches:
            jobs = jobs_of(batch)
            under_way.append((batch, jobs, self._submit(jobs) if jobs else None))
            if len(under_way) >= self._processes + AHEAD:
                yield self._finish(under_way)
        while under_way:
            yield self._finish(under_way)

    def _finish(self, under_way: deque[tuple[T, list[Job], Future[list[Answer]] | None]]) -> tuple[T, list[Answer]]:
        batch, jobs, future = under_way.popleft()
        if future is None:
            return batch, []
        try:
            return batch, future.result()
        except BrokenProcessPool:
            # One message took its worker down with it. Everything under way is sent again, each message of this batch
            # by itself in a process of its own, so that only the one to blame is lost, and listed.
            self._stop()
            answers = [self._alone(job) for job in jobs]
            again = [(b, j, self._submit(j) if j else None) for b, j, _ in under_way]
            under_way.clear()
            under_way.extend(again)
            return batch, answers

    def _alone(self, job: Job) -> Answer:
        for _ in range(2):
            with ProcessPoolExecutor(1, multiprocessing.get_context(ALONE_METHOD), initializer=_start) as pool:
                try:
                    return pool.submit(_prepare_batch, [job]).result()[0]
                except BrokenProcessPool:
                    continue
        return "the process that was reading this message died twice (out of memory, or a crash)"
