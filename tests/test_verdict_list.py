"""The list of verdicts: whichever way it is read, however large, its pages are the whole and in one order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from datasette.utils.sqlite import sqlite3
from making import rows
from small_mail import archive

from datasette_oaken import db, questions, verdict_list
from datasette_oaken.db import OakenError

MANY = 5_000


@pytest.fixture(scope="module")
def conn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """5,000 messages, every seventh undated and many at one moment, with each status; asked of all but 100."""
    conn = archive(tmp_path_factory.mktemp("list"))
    with db.transaction(conn):
        conn.execute("insert into accounts (name) values ('me')")
        conn.executemany(
            "insert into messages (id, account, source_id, from_name, from_address, sent_at, size, content_hash)"
            " values (?1, 'me', ?1, 'Kim', ?2, ?3, 1, ?1)",
            [
                (n, f"k{n % 9}@example.org", None if n % 7 == 0 else f"20{10 + n % 5}-0{n % 9 + 1}-01T00:00:00Z")
                for n in range(1, MANY + 1)
            ],
        )
        questions.ask(conn, "Is it?")
        conn.execute("delete from recall_eligible where message_id % 50 = 0")
        conn.execute(
            "update recall_eligible set status = case when message_id % 500 = 1 then 'yes' when message_id % 3 = 0 then null"
            " when message_id % 499 = 0 then 'error' when message_id % 40 = 1 then 'unclear' else 'no' end,"
            " answer = case when message_id % 200 = 2 then 1 when message_id % 200 = 3 then 0 end"
        )
    yield conn
    conn.close()


def walked(conn: sqlite3.Connection, limit: int, **filters: Any) -> list[int]:
    """Every page's messages, one after the other."""
    found: list[int] = []
    after = None
    while True:
        page = verdict_list.listed(conn, 1, after=after, limit=limit, **filters)
        assert len(page["verdicts"]) == page["returned"] <= limit
        found += [item["message_id"] for item in page["verdicts"]]
        if (after := page["next"]) is None:
            return found


COUNTS_AS = "case e.answer when 1 then 'yes' when 0 then 'no' else coalesce(e.status, 'not_judged') end"


@pytest.mark.parametrize("limit", [7, 50, 500])
@pytest.mark.parametrize(
    ("filters", "where"),
    [
        ({}, "1"),
        ({"status": "yes"}, f"{COUNTS_AS} = 'yes'"),
        ({"status": "no"}, f"{COUNTS_AS} = 'no'"),
        ({"status": "unclear"}, f"{COUNTS_AS} = 'unclear'"),
        ({"status": "error"}, f"{COUNTS_AS} = 'error'"),
        ({"status": "not_judged"}, f"{COUNTS_AS} = 'not_judged'"),
        ({"reviewed": True}, "e.answer is not null"),
        ({"reviewed": False, "sender": "K3@"}, "e.answer is null and m.from_address = 'k3@example.org'"),
        ({"month": "2012-03"}, "m.sent_at like '2012-03%'"),
        ({"month": "2012", "status": "no"}, f"m.sent_at like '2012%' and {COUNTS_AS} = 'no'"),
        ({"month": "none"}, "m.sent_at is null"),
    ],
)
def test_pages_are_the_whole_once_and_the_newest_first(
    conn: sqlite3.Connection, filters: dict[str, Any], where: str, limit: int
) -> None:
    everything = rows(
        conn,
        "select m.id from recall_eligible e join messages m on m.id = e.message_id"
        f" where e.question_id = 1 and {where} order by coalesce(m.sent_at, '') desc, m.id desc",
    )
    assert everything, "a case that finds nothing tests nothing"
    assert walked(conn, limit, **filters) == [row[0] for row in everything]


def test_mail_that_comes_between_two_pages_neither_repeats_nor_hides_any(conn: sqlite3.Connection) -> None:
    before = walked(conn, 100)
    first = verdict_list.listed(conn, 1, limit=100)
    conn.execute("savepoint mail")
    conn.execute(
        "insert into messages (id, account, source_id, sent_at, size, content_hash)"
        " values (9001, 'me', 'new', '2030-01-01T00:00:00Z', 1, 'new')"
    )
    conn.execute("insert into recall_eligible (question_id, message_id, lot) values (1, 9001, 1)")
    second = verdict_list.listed(conn, 1, limit=100, after=first["next"])
    conn.execute("rollback to mail")
    conn.execute("release mail")
    assert [item["message_id"] for item in first["verdicts"] + second["verdicts"]] == before[:200]


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "maybe"},
        {"month": "2024-3"},
        {"month": "2024-13"},
        {"month": "March"},
        {"sender": "%" * 60_000},
        {"after": "x"},
        {"after": "2024~"},
        {"after": "2024~" + "9" * 30},
    ],
)
def test_what_cannot_be_asked_is_said(conn: sqlite3.Connection, wrong: dict[str, str]) -> None:
    with pytest.raises(OakenError) as refused:
        verdict_list.listed(conn, 1, **wrong)  # type: ignore[arg-type]
    assert refused.value.code == "bad_request"
