"""Threads that judge: work goes in, what is done comes out in any order, and none of them keeps a stopped command alive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

W = TypeVar("W")
R = TypeVar("R")

AHEAD = 2
"""Pieces of work that are out for each thread, so that none has to wait."""


class Crew(Generic[W, R]):
    """``workers`` daemon threads that do ``work``; with none, it is done where it is given.

    Daemons, since a model may take minutes to answer, and a person who presses Ctrl-C has decided. What ``work`` raises is
    raised by ``give`` or ``rest``.
    """

    def __init__(self, workers: int, work: Callable[[W], R]) -> None:
        self._work, self._workers = work, workers
        self._todo: queue.SimpleQueue[W | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[R | BaseException] = queue.SimpleQueue()
        self._out = 0
        self._stopped = False
        for _ in range(workers):
            threading.Thread(target=self._serve, daemon=True, name="oaken judge").start()

    def _serve(self) -> None:
        while (piece := self._todo.get()) is not None and not self._stopped:
            try:
                self._done.put(self._work(piece))
            except BaseException as error:
                self._done.put(error)

    def give(self, piece: W) -> Iterator[R]:
        """Hand out one piece; yields what is done by now, waiting for some where too much is out."""
        if not self._workers:
            yield self._work(piece)
            return
        self._todo.put(piece)
        self._out += 1
        while self._out and (self._out > self._workers * AHEAD or not self._done.empty()):
            yield self._next()

    def rest(self) -> Iterator[R]:
        """Wait for everything that is still out."""
        while self._out:
            yield self._next()

    def _next(self) -> R:
        while True:
            try:
                result = self._done.get(timeout=0.5)  # bounded, so that Ctrl-C is heard on Windows too
            except queue.Empty:
                continue
            self._out -= 1
            if isinstance(result, BaseException):
                raise result
            return result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        for _ in range(self._workers):
            self._todo.put(None)
