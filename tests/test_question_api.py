"""What programs are told of questions, and what a person's answer may and may not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette
from judged_site import QUESTION, judged, verdict_of
from making import rows
from oaken_site import copied, site

from datasette_oaken import counts, db

pytestmark = pytest.mark.asyncio


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("api") / "oaken.db")


@pytest.fixture
def file(made: Path, tmp_path: Path) -> Path:
    return copied(made, tmp_path / "oaken.db")


def ids(file: Path) -> dict[str, int]:
    conn = db.connect(file, readonly=True)
    try:
        return {status: verdict_of(conn, status) for status in ("yes", "unclear", "error")}
    finally:
        conn.close()


def count(file: Path) -> dict[str, Any]:
    conn = db.connect(file, readonly=True)
    try:
        return counts.count(conn, 1)
    finally:
        conn.close()


async def post(ds: Datasette, path: str, body: Any, **options: Any) -> tuple[int, Any]:
    response = await ds.client.post(f"/-/oaken/{path}", json=body, **options)
    return response.status_code, response.json()


async def test_the_json_is_the_count_and_a_page_of_verdicts(file: Path) -> None:
    ds = site(file)
    answer = (await ds.client.get("/-/oaken/questions/1.json?judges=1")).json()
    plain = count(file)
    assert {name: answer[name] for name in plain} == plain
    assert (answer["url"], answer["returned"], answer["truncated"], answer["next"]) == (
        "/-/oaken/questions/1",
        4,
        False,
        None,
    )
    assert [(item["status"], item["answer"], item["quote"]) for item in answer["verdicts"]] == [
        ("error", None, None),
        ("unclear", None, None),
        ("yes", None, "fetch"),
        ("yes", True, "collect"),
    ]
    assert [pair["kappa"] for pair in answer["agreement"]] == [0.0, None, 0.0]
    assert len(answer["disagreements"]) == 3, "an error is no opinion"
    listed = (await ds.client.get("/-/oaken/questions.json")).json()
    assert [item["question"] for item in listed["questions"]] == [QUESTION]


async def test_filters_of_the_list(file: Path) -> None:
    ds = site(file)

    async def found(query: str) -> list[str]:
        return [i["status"] for i in (await ds.client.get(f"/-/oaken/questions/1.json?{query}")).json()["verdicts"]]

    assert await found("status=yes") == ["yes", "yes"]
    assert await found("sender=BEN") == ["yes"]
    assert await found("sender=%25") == []
    assert await found("reviewed=1") == ["yes"]
    assert await found("reviewed=0&status=yes") == ["yes"]
    assert await found("month=2024-03") == ["error", "unclear", "yes", "yes"]
    assert await found("month=2024-02") == await found("month=none") == []
    assert (await ds.client.get("/-/oaken/questions/1.json?limit=0")).status_code == 400
    assert (await ds.client.get("/-/oaken/questions/1.json?status=maybe")).status_code == 400


async def test_disagreeing_changes_the_count_and_taking_it_back_restores_it(file: Path) -> None:
    ds, id_ = site(file), ids(file)["yes"]
    status, answer = await post(ds, f"verdicts/{id_}/review", {"agrees": False, "note": "Look again"})
    assert (status, answer["ok"], answer["review"]["answer"], answer["review"]["note"]) == (
        200,
        True,
        False,
        "Look again",
    )
    assert (count(file)["yes"], count(file)["no"]) == (1, 1)
    assert await post(ds, f"verdicts/{id_}/review", {"agrees": None}) == (
        200,
        {"ok": True, "verdict_id": id_, "review": None},
    )
    assert (count(file)["yes"], count(file)["reviewed"]) == (2, {"yes": 0, "no": 0})


async def test_what_is_unclear_or_an_error_needs_an_answer(file: Path) -> None:
    ds = site(file)
    for status, id_ in ids(file).items():
        if status == "yes":
            continue
        code, refused = await post(ds, f"verdicts/{id_}/review", {"agrees": False})
        assert (code, refused["code"]) == (400, "answer_needed")
        assert (await post(ds, f"verdicts/{id_}/review", {"agrees": False, "answer": False}))[0] == 200
    assert {name: count(file)[name] for name in ("yes", "no", "unclear", "errors", "coverage")} == {
        "yes": 2,
        "no": 2,
        "unclear": 0,
        "errors": 0,
        "coverage": 1.0,
    }


async def test_an_answer_about_a_message_says_what_the_judge_said(file: Path) -> None:
    ds = site(file)
    code, answer = await post(ds, "questions/1/answer", {"message_id": 2, "answer": False})
    assert (code, answer["judge"]["judged_status"], answer["judge"]["quote"], answer["count"]["no"]) == (
        200,
        "yes",
        "fetch",
        1,
    )
    code, answer = await post(ds, "questions/1/answer", {"message_id": 2, "answer": None})
    assert (code, answer["count"]["yes"], answer["count"]["reviewed"]) == (200, 2, {"yes": 1, "no": 0})
    assert (await post(ds, "questions/1/answer", {"message_id": 99, "answer": True}))[0] == 404
    assert (await post(ds, "questions/9/answer", {"message_id": 1, "answer": True}))[0] == 404


@pytest.mark.parametrize("body", [None, [], "x", {}, {"agrees": "maybe"}, {"agrees": 1}, {"agrees": True, "note": 3}, {"agrees": True, "note": "x" * 2001}])  # fmt: skip
async def test_what_is_no_answer_is_refused_and_changes_nothing(file: Path, body: Any) -> None:
    before = count(file)
    code, answer = await post(site(file), f"verdicts/{ids(file)['yes']}/review", body)
    assert (code, answer["code"]) == (400, "bad_request")
    assert count(file) == before


async def test_a_get_answers_nothing_and_another_site_cannot_answer(file: Path) -> None:
    ds, id_ = site(file), ids(file)["yes"]
    for path in (f"verdicts/{id_}/review", "questions/1/answer"):
        assert (await ds.client.get(f"/-/oaken/{path}")).status_code == 405
    elsewhere = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    response = await ds.client.post(f"/-/oaken/verdicts/{id_}/review", data={"agrees": "0"}, headers=elsewhere)
    assert response.status_code == 403
    conn = db.connect(file, readonly=True)
    assert rows(conn, "select count(*) from recall_reviews") == [(1,)]
    conn.close()


async def test_an_immutable_file_takes_no_answer(file: Path) -> None:
    ds = Datasette([], immutables=[str(file)])
    code, answer = await post(ds, "questions/1/answer", {"message_id": 2, "answer": False})
    assert (code, answer["code"]) == (403, "read_only")
    page = (await ds.client.get("/-/oaken/questions/1/review")).text
    assert "served as immutable" in page and "<button name=" not in page


async def test_who_answered_is_who_is_signed_in(file: Path) -> None:
    ds = site(file)
    cookie = {"ds_actor": ds.client.actor_cookie({"id": "kim@example.org"})}
    code, answer = await post(ds, f"verdicts/{ids(file)['yes']}/review", {"agrees": True}, cookies=cookie)
    assert (code, answer["review"]["reviewer"]) == (200, "kim@example.org")
