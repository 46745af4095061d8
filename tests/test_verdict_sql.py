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

from datasette_oaken import db, deletion, eligible, questions, readings, verdicts
from datasette_oaken.metadata import packaged

ROOT = Path(__file__).resolve().parents[1]
OFFERED, TABLES = (packaged()[part] for part in ("queries", "tables"))
IDS = ("question_id", "verdict_id")


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
    said = ("yes", "no", "unclear", "a_person", "quote")
    assert [(row["subject"][:20], *(row[name] for name in said)) for row in differ] == [
        ("Pickup on Friday", plain, never, None, "yes", "collect"),
        ("Re: Pickup on Friday", plain, never, None, None, "fetch"),
        ('Prize "><script>aler', None, never, plain, None, None),
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
    ours = [name for name, query in OFFERED.items() if query.get("params", [""])[0] in IDS]
    assert len(ours) == 10
    for name in ours:
        assert (await ds.client.get(f"/letters/{name}.json?question_id=1&verdict_id=1")).status_code == 403


def test_the_sql_in_the_docs_runs_on_a_judged_file(file: Path) -> None:
    conn = db.connect(file, readonly=True)
    page = (ROOT / "docs/counting.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```sql\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert [len(conn.execute(statement).fetchall()) for statement in shown] == [1, 1, 1, 2]
    assert rows(conn, shown[0]) == [(2,)]
    conn.close()
    table = page.partition("## SQL")[2]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert named == [
        name for name in OFFERED if name == "counts_by_question" or OFFERED[name].get("params", [""])[0] in IDS
    ]


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["status", "answer", "stale", "copies", "gone", "back", "deleted"]),
        st.integers(1, 4),
        st.sampled_from([None, "yes", "no", "unclear", "error"]),
        st.sampled_from([None, 0, 1]),
    ),
    max_size=20,
)


@settings(max_examples=30, deadline=None)
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
        each: list[Any] = rows(conn, "select status, answer, stale, copies from recall_eligible")
        counted = [status if answer is None else "yes" if answer else "no" for status, answer, _, _ in each]
        assert rows(
            conn,
            "select eligible, yes, no, unclear, errors, remaining, stale, copies, reviewed, judged from questions_progress",
        ) == [
            (
                len(each),
                *(counted.count(status) for status in ("yes", "no", "unclear", "error", None)),
                sum(row[2] for row in each),
                sum(row[3] for row in each),
                sum(row[1] is not None for row in each),
                sum(status in ("yes", "no", "unclear") for status in counted),
            )
        ]
        assert rows(conn, "select * from recall_tallies where messages < 0 or stale < 0 or copies < 0") == []
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


JUDGE = {"judge": "llm:a", "prompt_version": "1"}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("judge"), st.integers(1, 3), st.sampled_from(["yes", "no", "unclear", "error"])),
        st.tuples(st.just("person"), st.integers(1, 3), st.booleans()),
        st.tuples(st.just("model"), st.sampled_from(["a 1", "a 2"]), st.none()),
        st.tuples(st.just("criterion"), st.sampled_from(["", "x"]), st.none()),
        st.tuples(st.just("text"), st.integers(1, 3), st.sampled_from(["s", "t"])),
    ),
    max_size=14,
)


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_the_verdicts_that_count_are_those_that_a_plain_reading_of_the_rules_gives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    """The rules again, in memory: what was said under (model, criterion, subject), and by whom."""
    conn = archive(tmp_path_factory.mktemp("rules"), [{"text": str(n), "subject": "s"} for n in (1, 2, 3)])
    model, criterion, subjects = "a 1", "", dict.fromkeys((1, 2, 3), "s")
    judged_as: dict[tuple[int, str, str, str], str] = {}
    person: dict[tuple[int, str, str], bool] = {}
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
        questions.activate(conn, 1, **JUDGE, model=model)
    for what, one, other in steps:
        with db.transaction(conn):
            if what == "judge":
                put(conn, one, other)
                key = (one, model, criterion, subjects[one])
                if judged_as.get(key, "error") == "error":
                    judged_as[key] = other
            elif what == "person":
                verdicts.answer(conn, 1, one, other)
                person[one, criterion, subjects[one]] = other
            elif what == "model":
                model = one
                questions.activate(conn, 1, **JUDGE, model=model)
            elif what == "criterion":
                criterion = one
                questions.edit(conn, 1, criterion=criterion)
            else:
                subjects[one] = other
                conn.execute("update messages set subject = ? where id = ?", (other, one))
                verdicts.text_changed(conn, [one])
                with_reading(conn, one)
        expected = []
        for message, subject in subjects.items():
            status = judged_as.get((message, model, criterion, subject))
            answer = person.get((message, criterion, subject))
            if status or answer is not None:
                counts = status if answer is None else "yes" if answer else "no"
                expected.append((message, counts, {"yes": 1, "no": 0}.get(str(counts)), status, answer))
        found = rows(
            conn, "select message_id, status, verdict, judged_status, reviewed from verdicts_current order by 1"
        )
        assert found == expected
        waiting = [
            message
            for message in subjects
            if message not in [row[0] for row in expected] and any(key[0] == message for key in judged_as)
        ]
        assert rows(conn, "select stale from questions_progress") == [(len(waiting),)]
        history = conn.execute(OFFERED["stale_verdicts"]["sql"], {"question_id": 1}).fetchall()
        assert sorted({row["message_id"] for row in history if row["waits"]}) == waiting
        assert all(row["what_changed"] for row in history)
    conn.close()


def put(conn: db.sqlite3.Connection, message_id: int, status: str) -> None:
    """The active judge's verdict on a message of question 1, inside the caller's transaction."""
    question = questions.get(conn, 1)
    assert question is not None
    said = {name: question[name] for name in ("judge", "model", "prompt_version")} | {"status": status}
    verdicts.put(conn, question, message_id, with_reading(conn, message_id), **said)
    verdicts.settle(conn, 1, [message_id])


def with_reading(conn: db.sqlite3.Connection, message_id: int) -> readings.Reading:
    """Read a message as it is now, for question 1."""
    reading = readings.build(conn, message_id)
    readings.keep(conn, reading)
    verdicts.set_reading(conn, 1, message_id, reading)
    verdicts.settle(conn, 1, [message_id])
    return reading


def test_a_second_delivery_counts_once_in_anyones_own_sql(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": "please"}, {"text": "please", "copy_of": 1}, {"text": "no"}])
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
        questions.activate(conn, 1, **JUDGE, model="a 1")
        put(conn, 1, "yes")
        put(conn, 3, "error")
    assert rows(conn, "select count(*) from verdicts_current where status = 'yes'") == [(1,)]
    assert rows(conn, "select count(*) from verdicts_current where status = 'no' or verdict = 0") == [(0,)]
    assert rows(conn, "select eligible, yes, errors, judged, coverage, copies from questions_progress") == [
        (2, 1, 1, 1, 0.5, 1)
    ]
    conn.close()


def test_a_month_says_how_much_of_it_is_not_judged(tmp_path: Path) -> None:
    dates = ["2024-01-31T23:59:59Z", "2024-01-02T00:00:00Z", "2024-02-01T00:00:00Z", None]
    conn = archive(tmp_path, [{"text": str(n), "date": date} for n, date in enumerate(dates)])
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
        questions.activate(conn, 1, **JUDGE, model="a 1")
        put(conn, 1, "no")
        put(conn, 4, "yes")
        verdicts.answer(conn, 1, 1, True)
        verdicts.answer(conn, 1, 2, False)
    by_month = OFFERED["verdicts_by_month"]["sql"]
    assert rows(conn, by_month.replace(":question_id", "1")) == [
        ("2024-01", 1, 1, 0, 0, 0),
        ("2024-02", 0, 0, 0, 0, 1),
        ("no date", 1, 0, 0, 0, 0),
    ]
    conn.close()


def test_a_message_that_is_deleted_takes_its_verdicts_out_of_the_views_and_sums(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"subject": "one"}, {"subject": "other"}])
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
        questions.activate(conn, 1, **JUDGE, model="a 1")
        put(conn, 1, "yes")
        put(conn, 2, "no")
    with db.transaction(conn):
        deletion.delete_messages(conn, [1], why="a test")
    assert rows(conn, "select message_id, status from verdicts_current") == [(2, "no")]
    assert rows(conn, "select message_id from verdicts_by_model") == [(2,)]
    assert rows(conn, "select eligible, yes, no, remaining, coverage from questions_progress") == [(1, 0, 1, 0, 1.0)]
    assert eligible.drift(conn) == 0
    conn.close()


@pytest.mark.asyncio
async def test_every_table_and_view_has_its_page_with_what_it_is_and_the_columns_it_is_sorted_and_divided_by(
    file: Path,
) -> None:
    ds = Datasette([str(file)])
    conn = db.connect(file, readonly=True)
    for name in (*(n for n in TABLES if n.startswith("recall_")), "verdicts_current", "verdicts_by_model"):
        told = TABLES[name]
        columns = {row["name"] for row in conn.execute(f"pragma table_info([{name}])")}
        assert {*told.get("facets", []), told.get("sort_desc", "id"), told.get("label_column", "id")} - {
            "id"
        } <= columns
        response = await ds.client.get(f"/letters/{name}")
        assert response.status_code == 200, name
    page = (await ds.client.get("/letters/verdicts_current")).text
    assert TABLES["verdicts_current"]["columns"]["judged_status"] in page
    assert TABLES["verdicts_current"]["title"] in page
    facets = (await ds.client.get("/letters/verdicts_current.json?_extra=facet_results")).json()["facet_results"]
    told_by_status = {found["value"]: found["count"] for found in facets["results"]["status"]["results"]}
    assert told_by_status == {"yes": 2, "unclear": 1, "error": 1}
    conn.close()
