"""Saying how far long work has come: a bar with rate and ETA on a terminal, a line now and then elsewhere; always stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self, TextIO

from tqdm import tqdm

_LINE_EVERY = 10.0
tqdm.monitor_interval = 0  # no thread of its own: workers are forked while a bar is shown


class Progress:
    """Counts items done; the share done is by ``size`` (bytes, say) where the number of items is not known beforehand."""

    def __init__(
        self, label: str, *, unit: str, total: int | None = None, size: int | None = None, quiet: bool = False
    ) -> None:
        self.label, self.unit, self.total, self.size = label, unit, total, size
        self.done = 0
        self._share = 0.0
        self._started = self._said = time.monotonic()
        self._stream: TextIO = sys.stderr
        self._quiet = quiet
        self._bar: tqdm | None = None
        if not quiet and self._stream.isatty():
            self._bar = tqdm(
                total=1.0,
                desc=label,
                file=self._stream,
                dynamic_ncols=True,
                bar_format="{desc}: {percentage:3.0f}%|{bar}| {postfix}",
                leave=True,
            )

    def update(self, count: int, consumed: int | None = None) -> None:
        """``count`` more items are done; ``consumed``: how much of ``size`` has been gone through in all."""
        self.done += count
        if self.total:
            self._share = self.done / self.total
        elif self.size and consumed is not None:
            self._share = consumed / self.size
        if self._bar is not None:
            self._bar.set_postfix_str(self.text(), refresh=False)
            self._bar.update(max(0.0, min(1.0, self._share) - self._bar.n))
        elif not self._quiet and time.monotonic() - self._said >= _LINE_EVERY:
            self._said = time.monotonic()
            print(f"{self.label}: {self._share:.0%} {self.text()}", file=self._stream, flush=True)

    def text(self) -> str:
        """The figures in words: ``1,204 messages, 310/s, 0:41 left``."""
        spent = time.monotonic() - self._started
        rate = self.done / spent if spent > 0 else 0.0
        shown = (
            f"{self.done:,} {self.unit}, {rate:,.0f}/s" if rate >= 10 else f"{self.done:,} {self.unit}, {rate:.1f}/s"
        )
        if 0 < self._share < 1:
            left = int(spent * (1 - self._share) / self._share)
            shown += (
                f", {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
                if left >= 3600
                else f", {left // 60}:{left % 60:02} left"
            )
        return shown

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            if kind is None:
                self._bar.update(1.0 - self._bar.n)
            self._bar.close()
