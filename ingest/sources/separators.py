"""What the lines that begin with "From " in an mbox are: separators, told by their form, or words of a message.

An mbox has no specification that its writers follow (RFC 4155 describes one default), so how a file was written is found
out from its beginning, in ``examine``:

- A separator is "From ", a sender, and a date as ctime(3) prints it or in one of the forms that programs use in its place
  (Takeout's, Thunderbird's, UUCP's, pipermail's, RFC 5322's, ISO 8601), after an empty line, with header fields behind it.
  A file whose first line has another form (another language's month names) is taken at its word: then a line that begins
  with "From " after an empty line, with a well-known header field behind it, separates too. A file that never leaves an
  empty line is taken at its word as well.
- Content-Length is believed (mboxcl, mboxcl2) where most of the first messages that have one end exactly where it says.
  What it spans is taken as it stands.
- ``>From `` is put back as mboxrd does, ``>`` taken off every ``>+From ``; as mboxo does, off ``>From `` alone, when quoted
  replies show that ``>>From `` was left alone by the writer; and not at all when the file has more bare "From " lines in
  its messages than quoted ones. mboxo does not tell ``>From `` from "From ": there "From " is the reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

Quoting = Literal["mboxrd", "mboxo", "none"]
Buffer = bytes | bytearray

WINDOW = 4096
"""Bytes from the beginning of a line that decide whether it is a separator."""

_WEEKDAY = rb"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?,?[ \t]+"
_MONTH = rb"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_TIME = rb"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:[ ]?[ap]m)?"
_ZONE = rb"(?:[ \t]+(?:(?:gmt|utc?)?[+-]\d\d:?\d\d|[a-z]{1,5}|\([^()\r\n]{1,40}\)))"
_DATE = (
    # Thu Jan  1 00:00:00 1970, with a zone on either side of the year
    rb"(?:(?:"
    + _WEEKDAY
    + rb")?"
    + _MONTH
    + rb"[ \t]+\d{1,2},?[ \t]+"
    + _TIME
    + _ZONE
    + rb"{0,2}[ \t]+\d{4}"
    + _ZONE
    + rb"{0,2}"
    # Thu, 1 Jan 1970 00:00:00 +0000
    rb"|(?:" + _WEEKDAY + rb")?\d{1,2}[ \t-]" + _MONTH + rb"[ \t-]\d{2,4}[ \t]+" + _TIME + _ZONE + rb"{0,2}"
    # 1970-01-01T00:00:00Z
    rb"|\d{4}-\d\d-\d\d[T \t]" + _TIME + rb"(?:[ \t]?(?:z|[+-]\d\d:?\d\d))?)"
)
_STAMP = re.compile(rb"[ \t]" + _DATE + rb"(?:[ \t]+remote from [^\s]+)?[ \t]*\r?\Z", re.IGNORECASE)
# The usual form, tried first since it is told quickest.
_USUAL = re.compile(
    rb"From [^\s]+ {1,2}(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    rb" [ \d]\d \d\d:\d\d:\d\d \d{4}\r?\Z"
)
# Nothing, one word, "user at host", a quoted local part, or anything with an address in it.
_SENDER = re.compile(rb"[^\s]*|[^\s]+[ \t]+at[ \t]+[^\s]+|\"[^\"]*\"[^\s]*|[^@]*@.*", re.DOTALL)
_FIELD = re.compile(rb"[!-9;-~]{1,76}[ \t]*:(?!//)")
_KNOWN_FIELD = re.compile(
    rb"^(?:return-path|received|delivered-to|x-[a-z0-9-]+|message-id|date|from|to|cc|subject|sender|reply-to|mime-version"
    rb"|content-[a-z-]+|status|envelope-to|dkim-signature|authentication-results|arc-[a-z-]+|list-[a-z-]+|references|in-reply-to"
    rb"|resent-[a-z-]+|errors-to|precedence|newsgroups|path)[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_BLOCK_END = re.compile(rb"\n\r?\n")
_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_FROM = re.compile(rb"From ")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_QUOTED_ONCE = re.compile(rb"^>(From )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one file was written. ``quoting``: what ``>From `` stands for; ``lengths``: Content-Length is believed;
    ``empty_line``: separators follow one; ``odd``: the first separator's date has no known form."""

    quoting: Quoting = "mboxrd"
    lengths: bool = False
    empty_line: bool = True
    odd: bool = False

    def separates(self, data: Buffer, at: int) -> bool:
        """Whether the line at ``at``, which begins with "From ", is a separator. ``data`` should reach ``WINDOW`` beyond."""
        after_empty = follows_empty_line(data, at)
        if not after_empty and self.empty_line:
            return False
        stop = data.find(b"\n", at, at + WINDOW)
        formed = has_form(bytes(data[at : stop if stop >= 0 else at + WINDOW]))
        if not formed and not self.odd:
            return False
        rest = stop + 1
        if stop < 0 or rest == len(data) or data.startswith((b"\n", b"\r\n"), rest):
            return formed and after_empty
        if formed and after_empty and (_FIELD.match(data, rest) or data.startswith((b">From ", b"From "), rest)):
            return True
        window = bytes(data[rest : at + WINDOW])
        end = _BLOCK_END.search(window)
        return _KNOWN_FIELD.search(window, 0, end.start() + 1 if end else len(window)) is not None


def has_form(line: bytes) -> bool:
    """Whether a line that begins with "From " has a sender and a date in a form that mbox writers use. Linear."""
    if _USUAL.match(line):
        return True
    stamp = _STAMP.search(line, 4)
    return stamp is not None and _SENDER.fullmatch(line[5 : stamp.start()].strip()) is not None


def follows_empty_line(data: Buffer, at: int) -> bool:
    """Whether ``at`` is the beginning, or the line before it is empty."""
    if at < 3:
        return bytes(data[:at]) in (b"", b"\n", b"\r\n", b"\n\n")
    return data[at - 1] == 10 and (data[at - 2] == 10 or (data[at - 2] == 13 and data[at - 3] == 10))


def begins(head: Buffer) -> int | None:
    """Where the first separator of a file that begins with ``head`` stands, or None when it is no mbox.

    Empty lines and a byte order mark may come first. Its date may be odd: then a well-known header field must follow.
    """
    start = re.match(rb"(?:\xef\xbb\xbf)?[\r\n]*", head)
    at = start.end() if start else 0
    if not head.startswith(b"From ", at):
        return None
    first = bytes(head[at : at + WINDOW])
    return at if Dialect().separates(first, 0) or Dialect(odd=True).separates(first, 0) else None


def content_length(data: Buffer, start: int, stop: int) -> tuple[int, int] | None:
    """(where the body begins, where Content-Length says it ends) for the message at ``start``; None when it has none."""
    end = _BLOCK_END.search(data, start, stop)
    if end is None:
        return None
    found = _LENGTH.search(data, start, end.start() + 1)
    return (end.end(), end.end() + int(found.group(1))) if found else None


def ends_exactly(data: Buffer, at: int, dialect: Dialect, *, complete: bool) -> int | None:
    """Where the next separator is, when a body may end at ``at``: there, or behind an empty line, or at the file's end
    (``complete``: ``data`` reaches it). None when it may not."""
    for next_at in (at, at + 1, at + 2):
        between = bytes(data[at:next_at])
        if between not in (b"", b"\n", b"\r\n") or next_at > len(data):
            continue
        if complete and next_at == len(data):
            return next_at
        if between or data[at - 1 : at] == b"\n":
            loose = Dialect(odd=dialect.odd, empty_line=False)
            if data[next_at : next_at + 5] == b"From " and loose.separates(bytes(data[next_at : next_at + WINDOW]), 0):
                return next_at
    return None


def restore(raw: bytes, quoting: Quoting) -> bytes:
    """The message as it was before an mbox was made of it: ``>From `` put back.

    Taken as it stands where its own Content-Length fits exactly, since a line quoted would have made it longer.
    """
    if quoting == "none" or b">From " not in raw:
        return raw
    span = content_length(raw, 0, len(raw))
    if span is not None and span[1] == len(raw):
        return raw
    return (_QUOTED if quoting == "mboxrd" else _QUOTED_ONCE).sub(rb"\1", raw)


@dataclass(frozen=True, slots=True)
class _FromLine:
    """A line that begins with "From " behind ``depth`` ``>``; ``at`` is the line's beginning."""

    at: int
    depth: int


def _from_lines(head: Buffer, first: int) -> Iterator[_FromLine]:
    for found in _FROM.finditer(head, first):
        before = bytes(head[max(first, found.start() - 64) : found.start()])
        marks = before.rpartition(b"\n")[2]
        if not marks.strip(b">") and len(marks) < 64:
            yield _FromLine(found.start() - len(marks), len(marks))


def examine(head: Buffer, *, complete: bool) -> Dialect:
    """How the file that begins with ``head`` was written. ``complete``: ``head`` is all of it. Linear in ``head``."""
    first = begins(head) or 0
    lines = list(_from_lines(head, first))
    odd = not Dialect().separates(bytes(head[first : first + WINDOW]), 0)
    dialect = Dialect(odd=odd)
    stops = _stops(head, first, lines, dialect)
    believing = replace(dialect, lengths=True)
    told = [exact for _, _, exact in _messages(head, first, stops, believing, complete) if exact is not None]
    if told and told[0] and sum(told) * 2 > len(told):
        dialect = believing
    elif not _leaves_empty_lines(head, first, lines):
        dialect = replace(dialect, empty_line=False)
        stops = _stops(head, first, lines, dialect)
    messages = list(_messages(head, first, stops, dialect, complete))
    return replace(dialect, quoting=_quoting(head, lines, messages))


def _stops(head: Buffer, first: int, lines: list[_FromLine], dialect: Dialect) -> list[int]:
    """Where messages end by the form of the line behind them, and where ``head`` does."""
    found = [line.at for line in lines if not line.depth and line.at > first and dialect.separates(head, line.at)]
    return [*found, len(head)]


def _leaves_empty_lines(head: Buffer, first: int, lines: list[_FromLine]) -> bool:
    loose = Dialect(empty_line=False)
    without = 0
    for line in lines:
        if not line.depth and line.at > first and loose.separates(head, line.at):
            if follows_empty_line(head, line.at):
                return True
            without += 1
    return without < 2


def _messages(
    head: Buffer, first: int, stops: list[int], dialect: Dialect, complete: bool
) -> Iterator[tuple[int, int, bool | None]]:
    """(start, stop, whether Content-Length was exact, None where there is none) of the messages that ``head`` holds whole."""
    start, index = first, 0
    while start < len(head):
        while stops[index] <= start:
            index += 1
        stop, exact = stops[index], None
        span = content_length(head, start, stop)
        if span is not None and span[1] <= len(head):
            after = ends_exactly(head, span[1], dialect, complete=complete)
            exact = after is not None
            if dialect.lengths and after is not None:
                stop = after
        if stop == len(head) and not complete:
            return
        yield start, stop, exact
        start = stop


def _quoting(head: Buffer, lines: list[_FromLine], messages: list[tuple[int, int, bool | None]]) -> Quoting:
    bare = quoted = for_mboxo = for_mboxrd = 0
    following = iter(lines)
    line = next(following, None)
    for start, stop, exact in messages:
        while line is not None and line.at < stop:
            if line.at > start and not exact:
                if not line.depth:
                    bare += follows_empty_line(head, line.at)
                else:
                    quoted += 1
                    if line.depth > 1:  # beside one mark, "From " may as well be the answer to what is quoted
                        around = _depth_around(head, line.at)
                        for_mboxo += around == line.depth
                        for_mboxrd += around == line.depth - 1
            line = next(following, None)
    if bare > quoted:
        return "none"
    return "mboxo" if for_mboxo >= 3 and for_mboxo > 3 * for_mboxrd else "mboxrd"


def _depth_around(head: Buffer, at: int) -> int:
    """How deep the lines before and after the one at ``at`` are quoted, counting ``>`` without spaces between."""
    before = head.rfind(b"\n", max(0, at - 1000), at - 1) + 1
    after = head.find(b"\n", at, at + 1000) + 1
    return max((_depth(head, beside) for beside in (before, after) if beside), default=0)


def _depth(head: Buffer, at: int) -> int:
    start = bytes(head[at : at + 64])
    words = start.lstrip(b">")
    return 0 if words.startswith(b"From ") else len(start) - len(words)
