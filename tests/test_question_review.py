"""The review: what is asked next, what a person sees before they answer, and that no way through it is lost or told ahead."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from datasette.app import Datasette
from judged_site import judged
from judges import Plain, by_word
from oaken_site import build, copied, mail, site

from datasette_oaken import counts, db, pages, questions
from ingest.judging.run import judge_all

pytestmark = pytest.mark.asyncio


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("review") / "oaken.db")


@pytest.fixture
def file(made: Path, tmp_path: Path) -> Path:
    return copied(made, tmp_path / "oaken.db")


async def get(ds: Datasette, path: str) -> str:
    response = await ds.client.get(path)
    assert response.status_code == 200, response.text
    return response.text


def asked_of(page: str) -> int:
    """The message that a page of the review asks about."""
    return int(re.findall(r'name="message_id" value="(\d+)"', page)[-1])


async def test_what_was_skipped_stays_so_when_the_next_is_answered(file: Path) -> None:
    ds = site(file)
    first = asked_of(await get(ds, "/-/oaken/questions/1/review"))
    page = await get(ds, f"/-/oaken/questions/1/review?skip={first}")
    second = asked_of(page)
    form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.split('class="oak-say"')[1]))
    response = await ds.client.post(
        "/-/oaken/questions/1/answer", data=form | {"message_id": str(second), "answer": "1"}
    )
    assert response.headers["location"] == f"/-/oaken/questions/1/review?skip={first}&last={second}"
    assert asked_of(await get(ds, response.headers["location"])) not in (first, second)


async def test_whose_turn_it_is_does_not_tell_what_the_judge_said(tmp_path: Path) -> None:
    letters = [mail(f"Letter {'odd' if n % 2 else 'even'} {n}", message_id=f"m{n}") for n in range(60)]
    file = build(tmp_path / "oaken.db", letters)
    conn = db.connect(file)
    with db.transaction(conn):
        questions.ask(conn, "Is it odd?")
        conn.execute("update recall_eligible set lot = (message_id * 7919) % 10007")  # the same sample each time
    judge_all(conn, file, 1, Plain(by_word("odd")), quiet=True)
    conn.close()
    ds = site(file)
    turns: list[str] = []
    for _ in range(24):
        message = asked_of(await get(ds, "/-/oaken/questions/1/review"))
        said = await ds.client.post("/-/oaken/questions/1/answer", json={"message_id": message, "answer": False})
        turns.append(said.json()["judge"]["judged_status"])
    assert abs(turns.count("yes") - turns.count("no")) <= 3, "both are asked about equally often"
    assert len(set(pairwise(turns))) == 4, "but not by turns"


async def test_an_undone_answer_is_asked_again_at_once(file: Path) -> None:
    ds = site(file)
    first = asked_of(await get(ds, "/-/oaken/questions/1/review"))
    said = await ds.client.post(
        "/-/oaken/questions/1/answer", data={"message_id": str(first), "answer": "1", "stratum": "", "skip": "9,4"}
    )
    assert said.headers["location"] == f"/-/oaken/questions/1/review?skip=9,4&last={first}"
    undone = await ds.client.post("/-/oaken/questions/1/answer", data={"message_id": str(first), "answer": ""})
    page = await get(ds, undone.headers["location"])
    assert asked_of(page) == first and "You said" not in page


async def test_an_answered_message_or_one_of_another_question_cannot_be_called_up_again(file: Path) -> None:
    ds = site(file)
    conn = db.connect(file, readonly=True)
    (answered,) = conn.execute("select message_id from recall_eligible where answer is not null").fetchone()
    conn.close()
    for again in (answered, 999):
        assert asked_of(await get(ds, f"/-/oaken/questions/1/review?again={again}")) not in (answered, 999)
    assert "You said" not in await get(ds, "/-/oaken/questions/1/review?last=4"), "4 is not answered"


@pytest.mark.parametrize("query", ["skip=" + "9" * 5000, "last=" + "9" * 5000, "again=x,,1e3", "skip=,,\u0662"])
async def test_nonsense_in_the_address_is_left_out(made: Path, query: str) -> None:
    assert asked_of(await get(site(made), f"/-/oaken/questions/1/review?{query}")) > 0


async def test_a_person_can_be_the_judge_of_everything(tmp_path: Path) -> None:
    file = build(tmp_path / "oaken.db", [mail(f"Letter {n}", message_id=f"m{n}") for n in range(3)])
    conn = db.connect(file)
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
        questions.activate(conn, 1, judge="human", model="human", prompt_version="none")
    ds = site(file)
    page = await get(ds, "/-/oaken/questions/1/review")
    for answer in ("1", "0", "1"):
        assert "Not judged yet" in page
        said = await ds.client.post(
            "/-/oaken/questions/1/answer", data={"message_id": str(asked_of(page)), "answer": answer}
        )
        page = await get(ds, said.headers["location"])
    assert "Nothing is left to answer." in page
    figures = counts.count(conn, 1)
    assert [figures[name] for name in ("yes", "no", "remaining", "at_least", "estimate")] == [2, 1, 0, False, None]
    said = await ds.client.post("/-/oaken/questions/1/answer", data={"message_id": "1", "answer": ""})
    assert asked_of(await get(ds, said.headers["location"])) == 1
    assert counts.count(conn, 1)["remaining"] == 1
    conn.close()


async def test_taking_back_ones_own_verdict_from_its_page_leads_on_although_the_page_is_gone(tmp_path: Path) -> None:
    file = build(tmp_path / "oaken.db", [mail("Letter", message_id="m")])
    conn = db.connect(file)
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
    ds = site(file)
    said = await ds.client.post("/-/oaken/questions/1/answer", json={"message_id": 1, "answer": True})
    url = f"/-/oaken/verdicts/{said.json()['judge']['verdict_id']}"
    assert "Take back what was said" in await get(ds, url)
    taken = await ds.client.post(f"{url}/review", data={"agrees": ""})
    assert (taken.status_code, taken.headers["location"]) == (303, "/-/oaken/questions/1")
    assert "0 of 1 message judged so far" in await get(ds, taken.headers["location"])
    assert (await ds.client.post(f"{url}/review", data={"agrees": ""})).status_code == 404
    conn.close()


async def test_the_hash_of_a_raw_message_is_only_for_who_may_see_raw_messages(made: Path) -> None:
    denied = {"databases": {"oaken": {"tables": {"raw_messages": {"allow": False}}}}}
    shown = [(await site(made, **o).client.get("/-/oaken/verdicts/1.json")).json() for o in ({}, {"config": denied})]
    assert shown[1] == shown[0] | {"raw_sha256": None}
    assert shown[0]["raw_sha256"] not in await get(site(made, config=denied), "/-/oaken/verdicts/1")


@pytest.mark.parametrize(
    ("table", "closed"),
    [
        ("messages", {"questions", "question", "review", "verdict"}),
        ("recall_questions", {"questions", "question", "review", "verdict"}),
        ("recall_question_changes", {"questions", "question", "review", "verdict"}),
        ("recall_verdicts", {"questions", "question", "review", "verdict"}),
        ("recall_readings", {"review", "verdict"}),
        ("recall_reviews", {"review", "verdict"}),
        ("message_texts", {"review", "verdict"}),
    ],
)
async def test_each_table_that_a_page_shows_is_its_lock(made: Path, table: str, closed: set[str]) -> None:
    ds = site(made, config={"databases": {"oaken": {"tables": {table: {"allow": False}}}}})
    doors = {
        "questions": ("/-/oaken/questions", "/-/oaken/questions.json"),
        "question": ("/-/oaken/questions/1", "/-/oaken/questions/1.json"),
        "review": ("/-/oaken/questions/1/review",),
        "verdict": ("/-/oaken/verdicts/1", "/-/oaken/verdicts/1.json"),
    }
    found = {name for name, urls in doors.items() for url in urls if (await ds.client.get(url)).status_code == 403}
    assert found == closed
    for url in ("questions/1/answer", "verdicts/1/review"):
        answer = await ds.client.post(f"/-/oaken/{url}", json={"message_id": 2, "answer": True, "agrees": True})
        assert answer.status_code == 403, url


async def test_a_quote_is_marked_only_for_who_may_read_verdicts(made: Path) -> None:
    ds = site(made, config={"databases": {"oaken": {"tables": {"recall_verdicts": {"allow": {"id": "kim"}}}}}})
    conn = db.connect(made, readonly=True)
    verdict, message = conn.execute("select id, message_id from recall_verdicts where quote = 'collect'").fetchone()
    conn.close()
    url = f"/-/oaken/message/{message}?verdict={verdict}"
    assert "<mark" not in await get(ds, url)
    kim = await ds.client.get(url, cookies={"ds_actor": ds.client.actor_cookie({"id": "kim"})})
    assert '<mark id="quote">collect</mark>' in kim.text


@pytest.mark.parametrize(
    ("sections", "quote", "shown"),
    [
        (
            [("authored", "I can.\n\n\nCould you?\n")],
            "I can.\nCould you?",
            ['<mark id="quote">I can.\n\n\nCould you?</mark>'],
        ),
        (
            [("quoted", "> swap it"), ("authored", "No swap. A swap?")],
            "swap",
            ["&gt; swap it", 'No <mark id="quote">swap</mark>. A swap?'],
        ),
        ([("authored", "<b>.*</b>")], ".*", ['&lt;b&gt;<mark id="quote">.*</mark>&lt;/b&gt;']),
        ([("authored", "other words")], "words that are not there", ["other words"]),
        ([("authored", "words")], " \n", ["words"]),
    ],
    ids=["other empty lines", "only the writer's own words, once", "no pattern, no markup", "not there", "nothing"],
)
async def test_a_quote_is_marked_exactly_where_its_writer_wrote_it(
    sections: list[tuple[str, str]], quote: str, shown: list[str]
) -> None:
    message = {"sections": [{"section": section, "text": words} for section, words in sections]}
    html, _ = pages._shown(message, 1_000, quote)
    assert [str(part["html"]) for part in html] == shown
