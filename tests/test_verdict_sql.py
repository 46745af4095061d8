"""Anyone's own SQL over verdicts is honest: the views count what counts, and the queries that are offered say what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_site import QUESTION, judged, verdict_of
from making import rows
from small_mail import add, archive

from datasette_oaken import db, deletion, eligible, questions
from datasette_oaken.metadata import packaged

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("sql") / "letters.db")


async def asked(file: Path, query: str, **params: Any) -> list[dict[str, Any]]:
    """The rows of a query that Datasette offers."""
    ds = Datasette([str(file)])
    words = "&".join(f"{name}={value}" for name, value in params.items())
    response = await ds.client.get(f"/letters/{query}.json?_shape=array&{words}")
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.asyncio
async def test_counts_by_question_says_at_least_below_full_coverage(file: Path) -> None:
    (row,) = await asked(file, "counts_by_question")
    assert row == {
        "question_id": 1,
        "question": QUESTION,
        "yes": "at least 2",
        "no": 0,
        "unclear": 1,
        "errors": 1,
        "remaining": 0,
        "eligible": 4,
        "coverage": 0.75,
        "stale": 0,
        "copies": 0,
        "reviewed": 1,
        "model": "plain 1",
    }


@pytest.mark.asyncio
async def test_each_offered_query_about_a_question_answers_with_what_it_names(file: Path) -> None:
    conn = db.connect(file, readonly=True)
    yes = await asked(file, "yes_verdicts", question_id=1)
    assert [(row["subject"], row["quote"], row["reviewed"]) for row in yes] == [
        ("Pickup on Friday", "collect", 1),
        ("Re: Pickup on Friday", "fetch", None),
    ]
    assert await asked(file, "verdicts_by_month", question_id=1) == [
        {"month": "2024-03", "yes": 2, "no": 0, "unclear": 1, "errors": 1, "remaining": 0}
    ]
    senders = await asked(file, "verdicts_by_sender", question_id=1)
    assert [(row["from_address"], row["yes"], row["errors"]) for row in senders] == [
        ("ada@example.org", 1, 1),
        ("ben@example.org", 1, 0),
        ("evil@example.net", 0, 0),
    ]
    (provenance,) = await asked(file, "verdict_provenance", verdict_id=verdict_of(conn, "yes"))
    assert (provenance["question"], provenance["criterion"], provenance["status"]) == (
        QUESTION,
        "A person, not a thing",
        "yes",
    )
    assert provenance["what_was_judged"] in provenance["what_was_read"]
    assert provenance["what_was_judged"].startswith("Date: ") and "collect Nell" in provenance["what_was_judged"]
    assert provenance["counts"] == 1
    assert re.fullmatch(r"20\d\d-\S+Z, kim: yes \(So it is\.\)", provenance["people_said"])
    missing = await asked(file, "messages_not_judged", question_id=1)
    assert [(row["subject"], row["error"]) for row in missing] == [
        ("Accounts", "The model took longer than 300 seconds.")
    ]
    differ = await asked(file, "judges_disagree", question_id=1)
    never, plain = "test:never (plain 1, prompt 1)", "test:plain (plain 1, prompt 1)"
    assert [(row["subject"], row["yes"], row["no"], row["unclear"], row["quote"]) for row in differ] == [
        ("Pickup on Friday", f"{plain}; a person", never, None, "collect"),
        ("Re: Pickup on Friday", plain, never, None, "fetch"),
        ("You have won", None, never, plain, None),
    ]
    stale = await asked(file, "stale_verdicts", question_id=1)
    assert [(row["what_changed"], row["waits"]) for row in stale] == [("criterion", 0)] * 4
    why = await asked(file, "unclear_and_errors", question_id=1)
    assert [(row["status"], row["why"], row["messages"]) for row in why] == [
        ("error", "The model took longer than 300 seconds.", 1),
        ("unclear", "It cannot be told.", 1),
    ]
    reviews = await asked(file, "reviews_of_a_question", question_id=1)
    assert [(row["reviewer"], row["answer"], row["judged_status"]) for row in reviews] == [("kim", 1, "yes")]
    assert [row["what"] for row in await asked(file, "what_changed", question_id=1)] == ["criterion"]
    conn.close()


@pytest.mark.asyncio
async def test_queries_are_not_trusted_so_they_need_what_typed_sql_needs(file: Path) -> None:
    ds = Datasette([str(file)], settings={"default_allow_sql": False})
    ours = [
        name
        for name, query in packaged()["queries"].items()
        if query.get("params") in (["question_id"], ["verdict_id"])
    ]
    assert len(ours) == 10
    for name in ours:
        assert (await ds.client.get(f"/letters/{name}.json?question_id=1&verdict_id=1")).status_code == 403


def test_the_sql_in_the_docs_runs_on_a_judged_file(file: Path) -> None:
    conn = db.connect(file, readonly=True)
    shown = re.findall(r"^```sql\n(.*?)^```$", (ROOT / "docs/counting.md").read_text(), re.MULTILINE | re.DOTALL)
    assert shown
    for statement in shown:
        conn.execute(statement).fetchall()
    conn.close()


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["status", "answer", "stale", "copies", "gone", "back", "deleted"]),
        st.integers(1, 4),
        st.sampled_from([None, "yes", "no", "unclear", "error"]),
        st.sampled_from([None, 0, 1]),
    ),
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(CHANGES)
def test_the_sums_follow_every_change_of_a_row(tmp_path_factory: pytest.TempPathFactory, changes: list[Any]) -> None:
    conn = archive(tmp_path_factory.mktemp("sums"), [{"text": str(n)} for n in range(4)])
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
    for what, message, status, answer in changes:
        with db.transaction(conn):
            if what == "deleted":
                if conn.execute("select 1 from messages where id = ?", (message,)).fetchone():
                    deletion.delete_messages(conn, [message], why="a test")
            elif what == "gone":
                conn.execute("delete from recall_eligible where message_id = ?", (message,))
            elif what == "back":
                eligible.refresh(conn, 1)
            else:
                value = {"status": status, "answer": answer, "stale": int(bool(answer)), "copies": message}[what]
                conn.execute(f"update recall_eligible set {what} = ? where message_id = ?", (value, message))
        added = rows(
            conn,
            "select count(*), coalesce(sum(status = 'yes' and answer is null or answer = 1), 0), coalesce(sum(stale), 0),"
            " coalesce(sum(copies), 0) from recall_eligible",
        )
        # A row with no sum at all is a question that is asked of nothing.
        assert rows(conn, "select eligible, coalesce(yes, 0), stale, copies from questions_progress") == [
            tuple(value or 0 for value in added[0])
        ]
    with db.transaction(conn):
        questions.remove(conn, 1)
    assert rows(conn, "select * from recall_tallies") == []
    conn.close()


def test_a_question_that_has_been_asked_of_nothing_has_its_row(tmp_path: Path) -> None:
    conn = archive(tmp_path)
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
    assert rows(conn, "select eligible, judged, coverage, stale from questions_progress") == [(0, 0, 0.0, 0)]
    with db.transaction(conn):
        add(conn, "x")
        eligible.refresh(conn)
    assert rows(conn, "select eligible, remaining from questions_progress") == [(1, 1)]
