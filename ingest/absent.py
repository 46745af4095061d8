"""What a complete snapshot no longer holds: finding it, refusing what looks like an accident, and deleting it.

Absence means deletion only here. A place is absent when it was stored, lies in what the snapshot is of, and was not met in this
run. A message that lies elsewhere too only loses the place; one that lies nowhere any more is deleted with all that rests on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3

from datasette_oaken import deletion, eligible
from datasette_oaken.db import OakenError, transaction

from . import failures, places
from .forget import batches
from .outcome import Report
from .progress import Progress

WHY = "no longer in the mailbox"
REFUSED = 5
"""More than one in this many of the messages: a folder that is not mounted, or an export cut short, looks just like that."""
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the sources are all of: the places at ``roots`` (keys of files and folders), or the mailbox of that name.

    ``unread``: what could not even be looked at; then nothing is known to be absent. ``agree`` is asked, with what would go,
    and raises OakenError where it must not; ``sure``: also when it is more than one in ``REFUSED``.
    """

    roots: Sequence[str]
    mailbox: str | None = None
    unread: Sequence[str] = ()
    sure: bool = False
    agree: Callable[[Absent], None] = lambda absent: None


@dataclass
class Absent:
    """What is not there any more: the places, the messages that have none left, out of ``among`` messages in all."""

    places: list[tuple[int, str, int]] = field(default_factory=list)  # mailbox_id, key, message_id
    messages: list[int] = field(default_factory=list)
    among: int = 0
    first: list[str] = field(default_factory=list)  # date, sender and subject of some
    passed_over: str | None = None  # a file in which such a place lies, and which is there all the same

    @property
    def too_many(self) -> bool:
        """Whether it is more than one in ``REFUSED``."""
        return len(self.messages) * REFUSED > self.among


def find(conn: sqlite3.Connection, account: str, snapshot: Snapshot) -> Absent:
    """What the snapshot no longer holds of the account's mail, once its sources were read (``places.Seen``). Reads only."""
    found = Absent()
    among: set[int] = set()
    read: set[str] = set()
    for mailbox_id, key, message_id, box, met in conn.execute(
        "select l.mailbox_id, l.provider_key, l.message_id, b.name, exists (select 1 from temp.places_seen s"
        " where s.mailbox_id = l.mailbox_id and s.provider_key = l.provider_key)"
        " from message_locations l join mailboxes b on b.id = l.mailbox_id where b.account = ? order by 3, 1, 2",
        (account,),
    ):
        inside = box == snapshot.mailbox if snapshot.mailbox else any(places.lies_in(key, r) for r in snapshot.roots)
        if not inside:
            continue
        among.add(message_id)
        if met:
            read.add(places.file_of(key) or key)
        else:
            found.places.append((mailbox_id, key, message_id))
    found.among = len(among)
    found.passed_over = _passed_over(found, snapshot, read)
    gone: dict[int, int] = {}
    for _, _, message_id in found.places:
        gone[message_id] = gone.get(message_id, 0) + 1
    lying = conn.execute(
        "select message_id, count(*) from message_locations where message_id in (select value from json_each(?)) group by 1",
        (json.dumps(list(gone)),),
    )
    found.messages = sorted(row[0] for row in lying if row[1] == gone[row[0]])
    found.first = [
        " ".join(str(part) for part in ((row[0] or "no date")[:10], f"{row[1] or 'unknown sender'}:", row[2] or "-"))
        for row in conn.execute(
            "select sent_at, coalesce(from_name, from_address), subject from messages"
            " where id in (select value from json_each(?)) order by sent_at desc, id limit ?",
            (json.dumps(found.messages), SHOWN),
        )
    ]
    return found


def delete(conn: sqlite3.Connection, account: str, snapshot: Snapshot, report: Report, *, quiet: bool = False) -> None:
    """Delete what the snapshot no longer holds, and say so in ``report.complete``. Stopped, the next run does the rest.

    Raises OakenError: too_many_absent, and what ``snapshot.agree`` raises; nothing was deleted then.
    """
    hidden = [*snapshot.unread, *report.unlisted]
    if hidden:
        report.complete = _outcome(Absent(), f"{hidden[0]} could not be read, so what it holds is not known")
        return
    found = find(conn, account, snapshot)
    if broken := _leads_nowhere(key for _, key, _ in found.places):
        report.complete = _outcome(Absent(), f"{broken} is a link that leads nowhere, so what it holds is not known")
        return
    if found.passed_over:
        report.complete = _outcome(
            Absent(), f"{found.passed_over} is there and no longer looks like mail: is it damaged?"
        )
        return
    if found.places:
        snapshot.agree(found)
    if found.messages and found.too_many and not snapshot.sure:
        raise OakenError(
            f"All that was found is stored, and nothing was deleted: {len(found.messages):,} of {found.among:,} messages are no "
            "longer there, which is more than a fifth. Is the whole mailbox there? Then run it again with --yes.",
            "too_many_absent",
        )
    gone = set(found.messages)
    moved = [place for place in found.places if place[2] not in gone]
    noted = deletion.Noted()
    with Progress("Deleting", unit="messages", total=len(found.messages), quiet=quiet or not gone) as bar:
        with transaction(conn):
            failures.clear(conn, account, _failures_gone(conn, account, snapshot, report))
            conn.executemany(
                "delete from message_locations where mailbox_id = ? and provider_key = ?", [p[:2] for p in moved]
            )
            touched = {place[2] for place in moved}
            places.follow(conn, touched)
            changed = eligible.refresh(conn, message_ids=touched) if touched else []
        for one in changed:
            sums = report.moved.setdefault(one.question_id, [0, 0])
            sums[0] += one.added
            sums[1] += one.removed
        for batch in batches(conn, found.messages):
            with transaction(conn):
                deleted = deletion.delete_messages(conn, batch, why=WHY, noted=noted)
            report.deleted += deleted["messages"]
            report.chunks_deleted += deleted["recall_chunks"]
            bar.update(len(batch))
    report.complete = _outcome(found, None)


def _passed_over(found: Absent, snapshot: Snapshot, read: set[str]) -> str | None:
    """A file at the roots that mail was read from and that is there, with something in it, though nothing was read from it now: a
    folder passes over what it takes for no mail, and a damaged mailbox is not an empty one."""
    looked: set[str] = set()
    for _, key, _ in found.places:
        name = places.file_of(key) or key
        if name in read or name in looked or not any(places.lies_in(key, root) for root in snapshot.roots):
            continue
        looked.add(name)
        path = Path(name)
        if path.is_file() and path.stat().st_size:
            return name
    return None


def _leads_nowhere(keys: Iterable[str]) -> str | None:
    """The first link with no end on the way to any of these places: of a disk that is not mounted, say. A folder's source passes
    such links over."""
    looked: set[str] = set()
    for key in keys:
        at = Path(places.file_of(key) or key.partition("!")[0])
        for part in (at, *at.parents):
            if str(part) in looked:
                break
            looked.add(str(part))
            if part.is_symlink() and not part.exists():
                return str(part)
    return None


def _failures_gone(conn: sqlite3.Connection, account: str, snapshot: Snapshot, report: Report) -> list[str]:
    """Failures of what is not there any more. Those whose bytes are kept stay: they are the only copy there is."""
    again = {failure["key"] for failure in report.failures}
    return [
        key
        for key, has_bytes in failures.listed(conn, account).items()
        if not has_bytes and key not in again and any(places.lies_in(key, root) for root in snapshot.roots)
    ]


def _outcome(found: Absent, hindered: str | None) -> dict[str, Any]:
    return {
        "deleted": len(found.messages),
        "of": found.among,
        "places": len(found.places),
        "hindered": hindered,
    }
