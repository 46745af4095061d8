"""Writes the demo's messages as one mbox file or as a Maildir."""

import os
from collections.abc import Iterable
from pathlib import Path

from .calendar import DAYS, MONTHS
from .post import DemoMessage

_MAILDIR_FLAGS = {"answered": "R", "draft": "D", "flagged": "F", "seen": "S"}
_X_STATUS = {"answered": "A", "flagged": "F"}


def mbox_bytes(messages: Iterable[DemoMessage]) -> Iterable[bytes]:
    """Each message as mboxrd keeps it: a `From ` line, `Status` and `X-Status` headers for the flags, body lines that
    begin with any number of `>` and `From ` given one `>` more, and a blank line at the end."""
    for message in messages:
        when = message.when
        stamp = f"{DAYS[when.weekday()][:3]} {MONTHS[when.month - 1][:3]} {when.day:2} {when:%H:%M:%S} {when.year:04}"
        head, _, body = message.raw.partition(b"\n\n")
        status = "RO" if "seen" in message.flags else "O"
        marks = "".join(letter for flag, letter in _X_STATUS.items() if flag in message.flags)
        fields = f"\nStatus: {status}" + (f"\nX-Status: {marks}" if marks else "")
        lines = body.split(b"\n")
        body = b"\n".join(b">" + line if line.lstrip(b">").startswith(b"From ") else line for line in lines)
        yield f"From {message.from_address} {stamp}\n".encode() + head + fields.encode() + b"\n\n" + body + b"\n"


def write_mbox(path: Path, messages: Iterable[DemoMessage]) -> int:
    """Writes `messages` to the mboxrd file `path`, in their order. How many there were."""
    count = 0
    with path.open("wb") as out:
        for count, data in enumerate(mbox_bytes(messages), 1):  # noqa: B007
            out.write(data)
    return count


def write_maildir(path: Path, messages: Iterable[DemoMessage]) -> int:
    """Writes `messages` to a new Maildir++ at `path`: INBOX at its root, `.Sent` and `.Archive` beneath, the flags in
    the names. How many there were. Windows allows no colon in a name: `!` stands in for it there, as other programs do.
    """
    colon = "!" if os.name == "nt" else ":"
    count = 0
    for count, message in enumerate(messages, 1):
        folder = path if message.mailbox == "INBOX" else path / f".{message.mailbox}"
        for part in ("cur", "new", "tmp"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        if message.mailbox != "INBOX":
            (folder / "maildirfolder").touch()
        letters = "".join(sorted(letter for flag, letter in _MAILDIR_FLAGS.items() if flag in message.flags))
        name = f"{int(message.when.timestamp())}.M{count:06}P1.demo{colon}2,{letters}"
        (folder / "cur" / name).write_bytes(message.raw)
    return count
