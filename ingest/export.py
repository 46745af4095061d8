"""``oaken export``: stored messages back out, byte for byte as they came in, as files, an mbox or a Maildir.

What is written is checked against the hash that was taken when the message came in. It is made beside where it is to be, under
another name, and takes its own when it is whole; what is there already is never written over.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from datasette.utils.sqlite import sqlite3

from datasette_oaken.db import OakenError
from datasette_oaken.settings import DEFAULT_CATEGORIES
from datasette_oaken.stored import Damaged, proven

from .forget import Selection, select
from .progress import Progress

_FROM = re.compile(rb"^(?=>*From )", re.MULTILINE)
_LETTERS = {"draft": "D", "flagged": "F", "forwarded": "P", "answered": "R", "deleted": "T"}
"""Maildir's letters (https://cr.yp.to/proto/maildir.html); S, for seen, follows Oaken's own read state."""


@dataclass
class Report:
    """What was written. ``altered``: messages that had no last newline, which an mbox cannot say; they have one there."""

    format: str
    out: Path
    exported: int = 0
    bytes: int = 0
    altered: list[int] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """As ``oaken export --json`` prints it."""
        return {
            "ok": True,
            "exported": self.exported,
            "format": self.format,
            "out": str(self.out),
            "bytes": self.bytes,
            "altered": self.altered,
            "failures": self.failures,
        }


@dataclass(frozen=True, slots=True)
class Message:
    """A message to be written: ``raw`` as it came in, and what an mbox's separator and a Maildir's file name say of it."""

    id: int
    raw: bytes
    sha256: str
    sender: str | None
    sent: datetime | None
    flags: frozenset[str]


Put = Callable[[Message], None]


def export(
    conn: sqlite3.Connection,
    out: Path,
    format: str = "eml",
    *,
    where: str | None = None,
    account: str | None = None,
    categories: Sequence[str] = DEFAULT_CATEGORIES,
    quiet: bool = False,
) -> Report:
    """Write the messages of ``account`` for which the filters ``where`` hold, all without either, in the order of their ids.

    A message whose bytes are damaged is a failure; the rest goes on. Interrupted, nothing is left behind.

    Raises OakenError: exists, no_folder, no_messages, and as ``forget.select``.
    """
    report = Report(format, out)
    conn.execute("begin")  # one state of the file, whatever is ingested meanwhile
    try:
        chosen = _chosen(conn, where, account, categories)
        with (
            _made(out, format, report) as put,
            Progress("Exporting", unit="messages", total=len(chosen), quiet=quiet) as bar,
        ):
            for message_id in chosen:
                try:
                    put(_read(conn, message_id))
                except Damaged as error:
                    report.failures.append({"key": str(message_id), "error": str(error), "attempts": 1})
                bar.update(1)
    finally:
        if conn.in_transaction:  # SQLite ends it by itself where the disk fails
            conn.execute("rollback")
    return report


def _chosen(conn: sqlite3.Connection, where: str | None, account: str | None, categories: Sequence[str]) -> list[int]:
    if where is None and account is None:
        chosen = [row[0] for row in conn.execute("select id from messages order by id")]
    else:
        chosen = sorted(select(conn, Selection(where=where, account=account), categories=categories))
    if not chosen:
        raise OakenError("There is no message to export: nothing was written.", "no_messages")
    return chosen


def _read(conn: sqlite3.Connection, message_id: int) -> Message:
    try:
        row = _row(conn, message_id)
    except sqlite3.DatabaseError as error:
        if "malformed" not in str(error):
            raise
        raise Damaged(f"the file is damaged where it is stored: {error}") from error
    sha256, codec, stored, sender, sent_at, is_read, flags = row
    raw = proven(codec, stored, sha256)
    sent = datetime.fromisoformat(sent_at) if sent_at else None
    return Message(
        message_id,
        raw,
        sha256,
        sender,
        sent,
        frozenset((flags or "").split()) - {"seen"} | ({"seen"} if is_read else set()),
    )


def _row(conn: sqlite3.Connection, message_id: int) -> sqlite3.Row:
    found: sqlite3.Row = conn.execute(
        "select r.sha256, r.codec, r.raw, m.from_address, m.sent_at, coalesce(s.is_read, 0),"
        " (select group_concat(l.flags, ' ') from message_locations l where l.message_id = m.id)"
        " from messages m left join raw_messages r on r.message_id = m.id left join message_state s on s.message_id = m.id"
        " where m.id = ?",
        (message_id,),
    ).fetchone()
    return found


@contextlib.contextmanager
def _made(out: Path, format: str, report: Report) -> Iterator[Put]:
    """Where to put each message; what was put is at ``out`` when the block ends well, and nowhere when it does not.

    Nothing is at ``out`` either when nothing was put.
    """
    if os.path.lexists(out):
        raise OakenError(
            f"{out} is there already, and nothing is written over: name another place, or move it away.", "exists"
        )
    if not out.absolute().parent.is_dir():
        raise OakenError(f"There is no folder {out.absolute().parent}: make it first.", "no_folder")
    # A folder of a name that no one else has, since process numbers repeat: in containers they are nearly always the same.
    work = Path(tempfile.mkdtemp(prefix=f".{out.name[:40]}.", suffix=".part", dir=out.absolute().parent))
    part = work / "whole"
    folders = (
        [] if format == "mbox" else [part, *(part / name for name in ("cur", "new", "tmp") if format == "maildir")]
    )
    try:
        if format == "mbox":
            with _created(part) as file:
                yield lambda message: _into_mbox(file, message, report)
        else:
            for folder in folders:
                folder.mkdir(mode=0o700)
            name = _maildir_name if format == "maildir" else _eml_name
            yield lambda message: _into_folder(part, name(message), message, report)
        if not report.exported:  # an empty thing would look like an export, and be in the way of the next one
            return
        if os.path.lexists(out):  # someone else was quicker; a rename would write over a file
            raise OakenError(f"{out} was made by another program meanwhile; nothing was written over.", "exists")
        for folder in folders:
            _settle(folder)
        part.rename(out)
        _settle(out.absolute().parent)
    finally:
        shutil.rmtree(work)


@contextlib.contextmanager
def _created(path: Path) -> Iterator[BinaryIO]:
    """A new file, its owner's alone."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _settle(folder: Path) -> None:
    """See to it that the names in ``folder`` are on the disk, as their files are. Windows has no such call for a folder."""
    if os.name != "nt":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _into_folder(folder: Path, name: str, message: Message, report: Report) -> None:
    with _created(folder / name) as file:
        file.write(message.raw)
    report.exported += 1
    report.bytes += len(message.raw)


def _eml_name(message: Message) -> str:
    return f"{message.id:08}.eml"


def _maildir_name(message: Message) -> str:
    """Time, id and hash: the same at each export, so that programs that compare two see what is new."""
    when = int(message.sent.timestamp()) if message.sent else 0
    letters = "".join(
        sorted({_LETTERS[f] for f in message.flags if f in _LETTERS} | ({"S"} if "seen" in message.flags else set()))
    )
    mark = ":" if os.name != "nt" else "!"
    return f"cur/{max(when, 0)}.{message.id}_{message.sha256[:12]}.oaken{mark}2,{letters}"


def _into_mbox(file: BinaryIO, message: Message, report: Report) -> None:
    """Append it in the dialect mboxrd: every line of ``>*From `` gets one more ``>``, which a reader takes off again."""
    whole = message.raw.endswith(b"\n")
    written = file.write(_separator(message) + quoted(message.raw) + (b"\n" if whole else b"\n\n"))
    if not whole:
        report.altered.append(message.id)
    report.exported += 1
    report.bytes += written


def quoted(raw: bytes) -> bytes:
    """``raw`` with the lines that an mbox reader would take for separators, or for quoted ones, quoted as mboxrd does."""
    return _FROM.sub(b">", raw)


def _separator(message: Message) -> bytes:
    """``From address asctime`` in UTC, as RFC 4155 has it; a sender that is no plain address is MAILER-DAEMON."""
    sender = message.sender or ""
    if not re.fullmatch(r"[!-~]+@[!-~]+", sender):
        sender = "MAILER-DAEMON"
    when = message.sent or datetime.fromtimestamp(0, UTC)
    return f"From {sender} {time.asctime(when.astimezone(UTC).timetuple())}\n".encode("ascii")


__all__ = ["Report", "export", "quoted"]
