"""mbox files: every message of one, streaming, from any offset on. What separates and what is quoted: ``separators``."""

from __future__ import annotations

import functools
import io
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from datasette_oaken.hookspecs import hookimpl

from . import opening, separators
from .base import HEAD, MAX_MESSAGE, Claim, Cursors, Entry, Failure, Place, Resumed, digest_of, key_of, reason
from .separators import WINDOW, Dialect, Quoting, restore

BLOCK = 1 << 20
SAMPLE = 4 << 20
"""Bytes of a file's beginning that tell how it was written."""

_SUFFIXES = (".mbox", ".mbx", ".txt")
MARKED = 512
"""Bytes before the place to go on from that show whether the file is still the one that was read."""

_CURSOR = re.compile(r"(\d+):(\d+):([0-9a-f]+):(\d+)")


@dataclass(slots=True)
class Span:
    """One message in an mbox: where its separator starts and where the next does, in decompressed bytes, and what is
    between the separator line and the end, None when that is larger than ``MAX_MESSAGE``. ``mark``: CRC of its last
    ``MARKED`` bytes in the file. ``quoted``: ``>From `` is in it, and it was not measured by Content-Length."""

    start: int
    stop: int
    raw: bytes | None
    mark: int
    quoted: bool


class Splitter:
    """Cuts a stream of mbox bytes into messages. Holds one message and a block or two at a time."""

    def __init__(
        self,
        read: Callable[[int], bytes],
        dialect: Dialect,
        offset: int = 0,
        *,
        limit: int = MAX_MESSAGE,
        block: int = BLOCK,
    ) -> None:
        """``read(n)`` gives the next bytes, from a separator on, at ``offset`` of the file; b"" at the end. What it raises is
        raised when all that came whole before it was given."""
        self._read, self._dialect, self._limit, self._block = read, dialect, limit, block
        self._buffer = bytearray()
        self._offset = offset  # of the buffer's first byte
        self._ended = False
        self._error: OSError | None = None

    def _fill(self, begin: int, upto: int) -> int:
        """Read on until the buffer reaches ``upto`` or the stream ends. Returns how many bytes before ``begin`` were let go."""
        gone = 0
        if begin >= self._block or begin == len(self._buffer):
            del self._buffer[:begin]
            self._offset += begin
            gone = begin
        while not self._ended and len(self._buffer) < upto - gone:
            try:
                block = self._read(self._block)
            except OSError as error:  # raised once the messages that came before are given
                self._error, block = error, b""
            self._ended = not block
            self._buffer += block
        return gone

    def __iter__(self) -> Iterator[Span]:
        begin = -self._fill(0, self._block)
        while True:
            if len(self._buffer) < begin + WINDOW and not self._ended:
                begin -= self._fill(begin, begin + WINDOW)
            if begin >= len(self._buffer):
                break
            start = self._offset + begin
            exact = self._by_length(begin) if self._dialect.lengths else None
            begin = start - self._offset
            if exact is not None:
                line, stop, following = exact
                yield self._span(start, line, stop, following)
            else:
                begin, following, kept, quoted = self._by_form(begin)
                if self._error and following == len(self._buffer):
                    break
                line = self._buffer.find(b"\n", begin, following) + 1 or following
                yield self._span(start, line, self._without_empty_line(line, following), following, kept, quoted)
            begin = following
        if self._error:
            raise self._error

    def _by_length(self, begin: int) -> tuple[int, int, int] | None:
        """(the line after the separator, the body's end, the next separator), in the buffer as it then is; or None."""
        begin -= self._fill(begin, begin + HEAD)
        line = self._buffer.find(b"\n", begin) + 1
        span = separators.content_length(self._buffer, begin, begin + HEAD) if line else None
        if span is None or span[1] - begin > self._limit:
            return None
        stop = span[1]
        gone = self._fill(begin, stop + WINDOW)
        line, stop = line - gone, stop - gone
        following = separators.ends_exactly(self._buffer, stop, self._dialect, complete=self._ended and not self._error)
        return None if following is None else (line, stop, following)

    def _by_form(self, begin: int) -> tuple[int, int, bool, bool]:
        """(begin, next separator or the end, whether all of it was kept, whether ``>From `` is in it), in the buffer as it
        then is."""
        buffer, scan, kept, quoted = self._buffer, begin + 1, True, False
        while True:
            found = buffer.find(b"From ", scan)
            if found < 0 and self._ended:
                return begin, len(buffer), kept, quoted
            if found < 0 or (len(buffer) < found + WINDOW and not self._ended):
                scan = max(scan, len(buffer) - 4) if found < 0 else found
                if scan - begin > self._limit:
                    begin, kept = scan - 8, False  # let it go, but for what shows an empty line before a separator
                gone = self._fill(begin, len(buffer) + self._block)
                begin, scan = begin - gone, scan - gone
                continue
            mark = buffer[found - 1]
            if mark == 10 and self._dialect.separates(buffer, found):
                return begin, found, kept and found - begin <= self._limit, quoted
            quoted = quoted or mark == 62
            scan = found + 1

    def _without_empty_line(self, line: int, stop: int) -> int:
        """Where the message ends that ends before ``stop``: its writer put an empty line there, which is not the message's."""
        end = self._buffer[max(line, stop - 3) : stop]
        if not self._dialect.empty_line:
            return stop
        if end == b"\n\r\n" or end == b"\r\n":
            return stop - 2
        return stop - 1 if end.endswith(b"\n\n") or end == b"\n" else stop

    def _span(self, start: int, line: int, stop: int, following: int, kept: bool = True, quoted: bool = False) -> Span:
        with memoryview(self._buffer) as view:
            raw = bytes(view[line:stop]) if kept else None
            mark = zlib.crc32(view[max(following - MARKED, start - self._offset, 0) : following])
        return Span(start, self._offset + following, raw, mark, quoted)


@dataclass
class MboxSource:
    """An mbox file, compressed or not.

    ``start``: the offset, in decompressed bytes, of the separator to begin at. ``quoting`` overrides what the file's
    beginning tells. Keys are path + "#" + offset; ``fingerprint`` is of the bytes, so messages are read to be compared.
    """

    path: Path
    mailbox: str
    start: int = 0
    quoting: Quoting | None = None
    kind: str = "mbox"

    @property
    def size(self) -> int | None:
        try:
            return self.path.stat().st_size
        except OSError:
            return None

    @property
    def count(self) -> int | None:
        return None

    def entries(self, cursors: Cursors | None = None) -> Iterator[Entry | Failure | Resumed]:
        """Every message; with a cursor that still fits the file, those that were added since."""
        key = key_of(self.path)
        cursor = (cursors or {}).get((self.mailbox, key))
        try:
            written = self.path.stat().st_mtime_ns
            with opening.Opened(self.path) as opened:
                yield from read(
                    opened,
                    key,
                    self.mailbox,
                    start=self.start,
                    cursor=cursor,
                    quoting=self.quoting,
                    written=written,
                )
        except OSError as error:
            yield Failure(key, self.mailbox, reason(error))


def read(
    opened: opening.Opened,
    key: str,
    mailbox: str,
    *,
    start: int = 0,
    cursor: str | None = None,
    quoting: Quoting | None = None,
    written: int = 0,
) -> Iterator[Entry | Failure | Resumed]:
    """The messages of an open mbox, from ``start``, or where ``cursor`` says, on. What breaks it off is the last failure.

    ``written``: when the file was last written, in ns. One that was written since and has not grown is read whole: flags in it
    may have changed, without changing its length.

    ``consumed`` counts the file's own bytes. Without ``start`` and ``cursor`` nothing is read twice.
    """
    at = start
    try:
        sample = opened.peek(SAMPLE)
        first = separators.begins(sample)
        if first is None:
            yield Failure(key, mailbox, "no longer an mbox: it does not begin with a From line", opened.position)
            return
        dialect = separators.examine(sample, complete=len(sample) < SAMPLE)
        del sample
        resumed = _resume(opened, dialect, cursor, written)
        at = max(start, first, resumed)
        if start or cursor:
            opened.seek(at)
        else:
            opened.read(at)
        if resumed:
            yield Resumed(key, mailbox, at, opened.position if opened.kind else at)
        for span in Splitter(opened.read, dialect, at):
            at = span.stop
            yield _entry(
                key, mailbox, span, quoting or dialect.quoting, opened.position if opened.kind else span.stop, written
            )
    except OSError as error:
        yield Failure(f"{key}#{at}", mailbox, reason(error), opened.position)


def _entry(key: str, mailbox: str, span: Span, quoting: Quoting, consumed: int, written: int) -> Entry | Failure:
    name = f"{key}#{span.start}"
    if span.raw is None:
        error = f"a message larger than {MAX_MESSAGE >> 20} MB, which no mail is: the file may be damaged there"
        return Failure(name, mailbox, error, consumed)
    raw = restore(span.raw, quoting) if span.quoted else span.raw
    cursor = (key, f"{span.start}:{span.stop}:{span.mark:x}:{written}")
    return Entry(name, mailbox, functools.partial(bytes, raw), digest_of(raw), consumed=consumed, cursor=cursor)


def _resume(opened: opening.Opened, dialect: Dialect, cursor: str | None, written: int) -> int:
    """Where to go on: behind the last message that was read when the file has only grown since, at that message when it
    was still being written, and at 0 when the file was or may have been rewritten (or there is no cursor)."""
    parts = _CURSOR.fullmatch(cursor or "")
    if parts is None:
        return 0
    start, stop, mark = int(parts[1]), int(parts[2]), int(parts[3], 16)
    marked_at = max(start, stop - MARKED)
    opened.seek(marked_at)
    marked = opened.peek(stop - marked_at)
    if len(marked) != stop - marked_at or zlib.crc32(marked) != mark:
        return 0
    opened.seek(stop)
    window = opened.peek(WINDOW)
    if not window:
        return stop if int(parts[4]) == written else 0
    if window.startswith(b"From ") and dialect.separates(window, 0):
        return stop
    return start


def mailbox_of(path: PurePath) -> str:
    """The mailbox that an mbox file is: its name without ``.mbox`` and compression; Apple's ``Work.mbox/mbox`` is Work."""
    name = opening.stem(path.name)
    if name.lower() == "mbox" and path.parent.name.lower().endswith(".mbox"):
        return ""
    return next((name[: -len(s)] for s in _SUFFIXES if name.lower().endswith(s) and len(name) > len(s)), name)


def is_lone_message(name: str, start: Callable[[], bytes]) -> bool:
    """Whether a file that begins with a separator is one message all the same, kept with its envelope line: named as a
    message is (``.eml``, or a number as in MH folders), and without a second separator in the ``start`` of it."""
    name = opening.stem(name).lower()
    if not (name.endswith(".eml") or (name[:1].isdigit() and not name.endswith(_SUFFIXES))):
        return False
    data = start()
    spans = iter(Splitter(io.BytesIO(data).read, separators.examine(data, complete=True)))
    return next(spans, None) is not None and next(spans, None) is None


def claim(place: Place) -> MboxSource | None:
    """An mbox is a file that begins with a separator."""
    if place.is_dir or separators.begins(place.head) is None:
        return None
    if is_lone_message(place.path.name, lambda: opening.head(place.path, 1 << 20)):
        return None
    own = mailbox_of(place.path)
    return MboxSource(place.path, place.named(own) if own else place.folder)


@hookimpl(trylast=True)
def register_sources() -> list[Claim]:
    return [claim]
