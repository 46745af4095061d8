"""Filters to SQL: one condition over ``messages m``, with every value bound.

======================  ==================================================================  ==========
filter                  holds for a message when                                            repeated
======================  ==================================================================  ==========
from                    the author's name or address has the value in it                    any of them
to                      a recipient's (to, cc, bcc) name or address has it in it            all of them
subject, filename       the subject, an attachment's name, has it in it                     all of them
after, before, on       it was sent in that time (UTC); never for a message with no date    all of them
label                   it has that label, or one nested below it with ``/``                all of them
in                      inbox, archived, discarded: its disposition; else as ``mailbox``    any of them
mailbox                 it lies in a mailbox of that name, or whose path begins or ends so  any of them
category, account       it is that one                                                      any of them
thread                  it belongs to that conversation                                     any of them
is, has                 it is read or unread; it has attachments                            all of them
priority                it has that priority or a higher one                                all of them
======================  ==================================================================  ==========

Case and Latin diacritics do not count. A negated filter holds where the filter does not (so also where nothing is known),
and several negated ones must all hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from datasette.utils.sqlite import sqlite3

from .folding import fold, holds
from .query import Filter, period

ANY_OF = frozenset({"from", "in", "mailbox", "category", "account", "thread"})
"""Fields of which a message has one value (or is looked for in several places): repeated, any may hold."""

DISPOSITIONS = ("inbox", "archived", "discarded")

Condition = tuple[str, list[object]]
"""SQL and the values of its question marks, in order."""


def prepare(conn: sqlite3.Connection) -> None:
    """Give ``conn`` the SQL function that the conditions use."""
    conn.create_function("oaken_holds", 2, holds, deterministic=True)


def condition(filters: Sequence[Filter], accounts: Sequence[str] | None = None) -> Condition | None:
    """All filters as one condition over ``messages m``; None when nothing is filtered.

    ``accounts``: the only accounts that may be seen at all (None: every one).
    """
    parts: list[Condition] = []
    if accounts is not None:
        parts.append(("m.account in (select value from json_each(?))", [json.dumps(list(accounts))]))
    alternatives: dict[str, list[Condition]] = {}
    for item in filters:
        sql, values = _FIELDS[item.field](item.value)
        if item.negated:
            parts.append((f"not coalesce(({sql}), 0)", values))
        elif item.field in ANY_OF:
            alternatives.setdefault(item.field, []).append((sql, values))
        else:
            parts.append((sql, values))
    parts += [_joined(" or ", choices) for choices in alternatives.values()]
    return _joined(" and ", parts) if parts else None


def both(first: Condition | None, second: Condition | None) -> Condition | None:
    """The condition that both hold."""
    parts = [part for part in (first, second) if part is not None]
    return _joined(" and ", parts) if parts else None


def _joined(word: str, parts: Sequence[Condition]) -> Condition:
    return word.join(f"({sql})" for sql, _ in parts), [value for _, values in parts for value in values]


def _like(folded: str) -> str:
    return folded.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _holds(column: str, value: str) -> Condition:
    """``column`` has ``value`` in it, folded on both sides; only text beyond ASCII pays for the folding."""
    folded = fold(value)
    return (
        f"({column} like ? escape '\\' or ({column} glob '*[^ -~]*' and oaken_holds({column}, ?)))",
        [f"%{_like(folded)}%", folded],
    )


def _whole(column: str, like: str, bounded: str) -> Condition:
    """``column`` is like ``like``; beyond ASCII, it holds ``bounded``, in which a line break is where the value begins or ends."""
    return (
        f"({column} like ? escape '\\' or ({column} glob '*[^ -~]*' and oaken_holds(char(10) || {column} || char(10), ?)))",
        [like, bounded],
    )


def _is(column: str, value: str) -> Condition:
    """``column`` is ``value``, folded on both sides."""
    folded = fold(value)
    return _whole(column, _like(folded), f"\n{folded}\n")


def _from(value: str) -> Condition:
    return _joined(" or ", [_holds("m.from_address", value), _holds("m.from_name", value)])


def _to(value: str) -> Condition:
    sql, values = _joined(" or ", [_holds("r.address", value), _holds("r.name", value)])
    return f"m.id in (select r.message_id from message_recipients r where r.role <> 'reply-to' and ({sql}))", values


def _subject(value: str) -> Condition:
    return _holds("m.subject", value)


def _filename(value: str) -> Condition:
    sql, values = _holds("a.filename", value)
    return f"m.id in (select a.message_id from attachments a where {sql})", values


def _after(value: str) -> Condition:
    return "m.sent_at >= ?", [period(value)[0]]


def _before(value: str) -> Condition:
    return "m.sent_at < ?", [period(value)[0]]


def _on(value: str) -> Condition:
    first, end = period(value)
    return "m.sent_at >= ? and m.sent_at < ?", [first, end]


def _nested(column: str, value: str, ends: bool = False) -> Condition:
    """``column`` is ``value``, or a path that begins (with ``ends``: or ends) with it."""
    folded = fold(value)
    parts = [_is(column, value), _whole(column, f"{_like(folded)}/%", f"\n{folded}/")]
    if ends:
        parts.append(_whole(column, f"%/{_like(folded)}", f"/{folded}\n"))
    return _joined(" or ", parts)


def _label(value: str) -> Condition:
    sql, values = _nested("l.label", value)
    return f"m.id in (select l.message_id from message_labels l where {sql})", values


def _mailbox(value: str) -> Condition:
    sql, values = _nested("b.name", value, ends=True)
    return (
        "m.id in (select o.message_id from message_locations o where o.mailbox_id in"
        f" (select b.id from mailboxes b where {sql}))",
        values,
    )


def _state(test: str, values: list[object]) -> Condition:
    return f"exists (select 1 from message_state s where s.message_id = m.id and {test})", values


def _in(value: str) -> Condition:
    if value.lower() in DISPOSITIONS:
        return _state("s.disposition = ?", [value.lower()])
    return _mailbox(value)


def _read(value: str) -> Condition:
    sql, values = _state("s.is_read", [])
    return (sql if value == "read" else f"not {sql}"), values


def _category(value: str) -> Condition:
    return _state("s.category = ?", [value])


def _priority(value: str) -> Condition:
    # A message of which nothing is known has the least priority.
    return ("1", []) if value == "0" else _state("s.priority >= ?", [int(value)])


def _has(value: str) -> Condition:
    return "m.has_attachments", []


def _account(value: str) -> Condition:
    return _is("m.account", value)


def _thread(value: str) -> Condition:
    return "m.thread_id = ?", [int(value)]


_FIELDS: dict[str, Callable[[str], Condition]] = {
    "from": _from,
    "to": _to,
    "subject": _subject,
    "after": _after,
    "before": _before,
    "on": _on,
    "label": _label,
    "in": _in,
    "mailbox": _mailbox,
    "is": _read,
    "category": _category,
    "priority": _priority,
    "has": _has,
    "filename": _filename,
    "account": _account,
    "thread": _thread,
}
