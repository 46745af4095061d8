"""Each filter holds for exactly the messages that it says, alone and together, negated and repeated."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from datasette.utils.sqlite import sqlite3
from small_mail import add, archive, found

from datasette_oaken.folding import fold
from datasette_oaken.query import Filter, parse

NAMES = ["Ada Finch", "Zoë Ångström", "ann", "Jo_Ann", "100% Paper", "Δημήτρης", ""]
ADDRESSES = ["ada@school.example", "zoe@example.org", "a_b@example.org", "axb@example.org", ""]
SUBJECTS = ["School run", "Späte Schule", "", "50% off", "back\\slash"]
DATES = ["2023-12-31T23:59:59Z", "2024-01-01T00:00:00Z", "2024-02-29T12:00:00Z", "2024-03-01T00:00:00Z", None]
LABELS = ["Family", "Family/School", "family-old", "Été"]
MAILBOXES = ["INBOX", "Archive/2023", "Sent", "2023"]
FILES = ["Plan.PDF", "übersicht.ods", "a.txt"]
VALUES = {
    "from": ["ada", "school", "ZOE", "Ångström", "ann", "a_b", "100%", "δημητρης", "nobody"],
    "to": ["ada", "Zoë", "example.org", "nobody"],
    "subject": ["school", "spate", "%", "\\", "run"],
    "after": ["2024", "2024-02", "2024-02-29", "2025"],
    "before": ["2024", "2024-03", "2024-03-01"],
    "on": ["2023", "2024", "2024-02", "2024-03-01"],
    "label": ["family", "FAMILY/SCHOOL", "school", "ete", "family-old"],
    "in": ["inbox", "archived", "discarded", "sent", "2023", "archive"],
    "mailbox": ["inbox", "2023", "archive", "Archive/2023", "archive/20"],
    "is": ["read", "unread"],
    "category": ["work", "family"],
    "priority": ["0", "1", "2", "3"],
    "has": ["attachment"],
    "filename": ["plan", ".pdf", "ubersicht", "nothing"],
    "account": ["me", "ME", "you", "yo"],
    "thread": ["1", "2", "9"],
}
ANY_OF = {"from", "in", "mailbox", "category", "account", "thread"}


def corpus(rng: random.Random, size: int) -> list[dict[str, Any]]:
    return [
        {
            "text": "words",
            "subject": rng.choice(SUBJECTS),
            "sender": (rng.choice(NAMES), rng.choice(ADDRESSES)),
            "to": [(rng.choice(NAMES), rng.choice(ADDRESSES)) for _ in range(rng.randrange(3))],
            "roles": [rng.choice(["to", "cc", "bcc", "reply-to"]) for _ in range(2)],
            "date": rng.choice(DATES),
            "account": rng.choice(["me", "you"]),
            "labels": rng.sample(LABELS, rng.randrange(3)),
            "mailboxes": rng.sample(MAILBOXES, rng.randrange(3)),
            "files": rng.sample(FILES, rng.randrange(3)),
            "thread": rng.choice([None, 1, 2]),
            "state": {
                "is_read": rng.randrange(2),
                "disposition": rng.choice(["inbox", "archived", "discarded"]),
                "category": rng.choice([None, "work", "family"]),
                "priority": rng.randrange(4),
            },
        }
        for _ in range(size)
    ]


def holds(message: dict[str, Any], field: str, value: str) -> bool:
    """What the table in filters.py says, one message at a time."""
    date, state = message["date"] or "", message["state"]
    has = [fold(value) in fold(text) for text in (message["subject"], *message["sender"])]
    recipients = [person for person, role in zip(message["to"], message["roles"], strict=False) if role != "reply-to"]

    def paths(names: list[str], ends: bool) -> bool:
        wanted = fold(value)
        return any(
            fold(n) == wanted or fold(n).startswith(wanted + "/") or (ends and fold(n).endswith("/" + wanted))
            for n in names
        )

    match field:
        case "from":
            return has[1] or has[2]
        case "subject":
            return has[0]
        case "to":
            return any(fold(value) in fold(text) for person in recipients for text in person)
        case "filename":
            return any(fold(value) in fold(name) for name in message["files"])
        case "after":
            return bool(date) and date[: len(value)] >= value
        case "before":
            return bool(date) and date[: len(value)] < value
        case "on":
            return date.startswith(value)
        case "label":
            return paths(message["labels"], ends=False)
        case "in" if value in ("inbox", "archived", "discarded"):
            return state["disposition"] == value
        case "in" | "mailbox":
            return paths(message["mailboxes"], ends=True)
        case "is":
            return state["is_read"] == (value == "read")
        case "category":
            return state["category"] == value
        case "priority":
            return state["priority"] >= int(value)
        case "has":
            return bool(message["files"])
        case "account":
            return fold(message["account"]) == fold(value)
        case "thread":
            return message["thread"] == int(value)
    raise AssertionError(field)


def expected(messages: list[dict[str, Any]], filters: list[Filter]) -> set[int]:
    """Brute force: the ids of the messages for which all filters hold, repeated ones as the table says."""
    left = set()
    for id, message in enumerate(messages, 1):
        together = [
            holds(message, f.field, f.value) != f.negated for f in filters if f.negated or f.field not in ANY_OF
        ]
        for field in {f.field for f in filters if not f.negated and f.field in ANY_OF}:
            together.append(any(holds(message, field, f.value) for f in filters if f.field == field and not f.negated))
        if all(together):
            left.add(id)
    return left


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> tuple[sqlite3.Connection, list[dict[str, Any]]]:
    messages = corpus(random.Random(5), 120)
    return archive(tmp_path_factory.mktemp("filters"), messages), messages


@pytest.mark.parametrize("field", VALUES)
@pytest.mark.parametrize("negated", [False, True])
def test_each_filter_against_brute_force(mail: Any, field: str, negated: bool) -> None:
    conn, messages = mail
    for value in VALUES[field]:
        query = parse(Filter(field, value, negated).printed())
        assert not query.warnings
        listed = found(conn, query, limit=1000)
        assert (value, set(listed)) == (value, expected(messages, list(query.filters)))
        assert len(listed) == len(set(listed))


def test_filters_together_against_brute_force_listed_and_searched(mail: Any) -> None:
    conn, messages = mail
    rng = random.Random(7)
    some = 0
    for _ in range(150):
        chosen = []
        for _ in range(rng.randrange(1, 5)):
            field = rng.choice(list(VALUES))
            chosen += [
                Filter(field, rng.choice(VALUES[field]), rng.random() < 0.3) for _ in range(rng.choice([1, 1, 2]))
            ]
        query = parse(" ".join(f.printed() for f in chosen))
        answer = expected(messages, list(query.filters))
        some += 0 < len(answer) < len(messages)
        assert set(found(conn, query, limit=1000)) == answer, query.printed()
        assert set(found(conn, parse("words " + query.printed()), limit=1000)) == answer, query.printed()
    assert some > 40  # the corpus and the filters are such that they do filter


def test_a_message_without_state_is_unread_and_of_no_priority(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": "a"}, {"text": "b", "state": {"is_read": 1, "priority": 2}}])
    conn.execute("delete from message_state where message_id = 1")
    queries = [
        "is:unread",
        "-is:read",
        "is:read",
        "-is:unread",
        "priority:0",
        "-priority:1",
        "priority:1",
        "-category:work",
    ]
    assert [found(conn, q) for q in queries] == [[1], [1], [2], [2], [2, 1], [1], [2], [2, 1]]


def test_a_value_is_text_and_never_sql_or_a_pattern(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": "a", "subject": 'it\'s 100% [a-z] "so"'}])
    for value in ["' or 1=1 --", "%", "it_s", "[b]", "*", "\\"]:
        hit = value == "%"
        assert found(conn, parse("").with_fields({"subject": value})) == ([1] if hit else [])


def test_only_the_accounts_that_may_be_seen(tmp_path: Path) -> None:
    conn = archive(tmp_path)
    for account in ("me", "you", "them"):
        add(conn, "the key", account=account)
    for query in ("key", "", "account:you", "-account:me"):
        everyone = found(conn, query)
        assert found(conn, query, accounts=["me", "them"]) == [id for id in everyone if id != 2]
        assert found(conn, query, accounts=[]) == []
