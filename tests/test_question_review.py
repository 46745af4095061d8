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

from datasette_oaken import db, questions
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
