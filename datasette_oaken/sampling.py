"""The random sample that a person reviews, stratum by stratum.

Strata are what the judge said: yes, no, unclear, and not judged (errors and what remains). Each message has a random place of
its own (``recall_eligible.lot``) for good; a stratum's sample is the longest run of its messages, in that order, that a person
has answered. So it is a simple random sample of whatever the stratum holds now: when messages join, those with an early place
are asked about next. What a person answers out of this order counts for the count, not for the estimate.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from datasette.utils.sqlite import sqlite3

from .db import OakenError
from .estimate import Stratum

STRATA = {"yes": ("yes",), "no": ("no",), "unclear": ("unclear",), "not_judged": (None, "error")}
"""The strata and the statuses that each holds."""


def in_order(conn: sqlite3.Connection, question_id: int, stratum: str) -> Iterator[tuple[int, int, int | None]]:
    """(lot, message_id, answer) of a stratum's messages, in the order of the sample.

    Raises OakenError no_stratum.
    """
    if stratum not in STRATA:
        raise OakenError(f"There is no stratum {stratum}; there are {', '.join(STRATA)}.", "no_stratum")
    runs = [
        (
            tuple(row)
            for row in conn.execute(
                "select lot, message_id, answer from recall_eligible indexed by recall_eligible_sample"
                " where question_id = ? and status is ? order by lot",
                (question_id, status),
            )
        )
        for status in STRATA[stratum]
    ]
    return heapq.merge(*runs)


def strata(conn: sqlite3.Connection, question_id: int) -> list[Stratum]:
    """Each stratum: how many messages, how many of its random sample are answered, how many of those are yes."""
    sizes = {
        row[0]: row[1]
        for row in conn.execute(
            "select status, sum(messages) from recall_tallies where question_id = ? group by status", (question_id,)
        )
    }
    found = []
    for name, statuses in STRATA.items():
        sampled = yes = 0
        size = sum(sizes.get(status or "", 0) for status in statuses)
        if size:
            for _, _, answer in in_order(conn, question_id, name):
                if answer is None:
                    break
                sampled += 1
                yes += answer
        found.append(Stratum(name, size, sampled, yes))
    return found


def queue(conn: sqlite3.Connection, question_id: int, stratum: str, limit: int = 1) -> list[int]:
    """The next messages of a stratum for a person to answer, in the order of the sample."""
    wanted: list[int] = []
    for _, message_id, answer in in_order(conn, question_id, stratum):
        if answer is None:
            wanted.append(message_id)
            if len(wanted) >= limit:
                break
    return wanted
