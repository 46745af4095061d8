"""The pages of questions: a count that never says more than it knows, hostile words that stay words, answers only by a POST."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette
from judged_site import QUESTION, judged, verdict_of
from judges import Plain
from oaken_site import HOSTILE, build, copied, mail, site, some_mail
from small_mail import archive

from datasette_oaken import counts, db, questions, sampling, verdict_list, verdicts
from ingest.judging.base import Judgement
from ingest.judging.run import judge_all

pytestmark = pytest.mark.asyncio

PAGES = (
    "/-/oaken/questions",
    "/-/oaken/questions.json",
    "/-/oaken/questions/1",
    "/-/oaken/questions/1?judges=1",
    "/-/oaken/questions/1?status=yes&sender=ada&month=2024-03&reviewed=1",
    "/-/oaken/questions/1.json?judges=1",
    "/-/oaken/questions/1/review",
    "/-/oaken/questions/1/review?stratum=no&skip=1,2&last=1",
    "/-/oaken/questions/1/report",
    "/-/oaken/questions/1.csv",
    "/-/oaken/questions/1/export.json",
    "/-/oaken/verdicts/{yes}",
    "/-/oaken/verdicts/{yes}.json",
    "/-/oaken/message/1?verdict={yes}",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("questions") / "oaken.db")


@pytest.fixture
def file(made: Path, tmp_path: Path) -> Path:
    return copied(made, tmp_path / "oaken.db")


def opened(file: Path) -> db.sqlite3.Connection:
    return db.connect(file, readonly=True)


def yes(file: Path) -> int:
    conn = opened(file)
    try:
        return verdict_of(conn, "yes")
    finally:
        conn.close()


def figures(file: Path) -> dict[str, int]:
    conn = opened(file)
    try:
        count = counts.count(conn, 1)
        return {name: count[name] for name in ("yes", "no", "unclear", "errors", "remaining")}
    finally:
        conn.close()


async def get(ds: Datasette, path: str) -> str:
    response = await ds.client.get(path)
    assert response.status_code == 200, response.text
    return response.text


def text(html: str) -> str:
    """What a person reads of a page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(script|style).*?</\1>", "", html))).split())


def link(page: str, key: str) -> str:
    """Where the link with this key leads."""
    found = re.search(rf'<a href="([^"]+)" data-key="{key}"', page)
    assert found is not None
    return found[1].replace("&amp;", "&")


async def test_nothing_that_is_looked_at_writes_to_the_file(file: Path) -> None:
    ds = site(file)
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    for path in PAGES:
        response = await ds.client.get(path.format(yes=yes(file)))
        assert response.status_code == 200, (path, response.text[:500])
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    wal = file.with_name(f"{file.name}-wal")
    assert not wal.exists() or wal.stat().st_size == 0


async def test_a_count_below_full_coverage_says_at_least_wherever_it_is_shown(file: Path) -> None:
    ds = site(file)
    sentence = "At least 2 messages say yes: 3 of 4 messages judged so far (75.0 %), 0 no, 1 unclear, 1 error; 1 answered by a person"
    for path in (
        "/-/oaken/questions",
        "/-/oaken/questions/1",
        "/-/oaken/questions/1/review",
        "/-/oaken/questions/1/report",
    ):
        assert sentence in text(await get(ds, path)), path
    page = text(await get(ds, "/-/oaken/questions/1"))
    assert "yes at least 2 no 0 unclear 1 errors 1 remaining 0 eligible 4" in page
    assert "coverage 75.0 %" in page
    assert (await ds.client.get("/-/oaken/questions.json")).json()["questions"][0]["sentence"].startswith(sentence)


async def test_an_error_is_shown_as_one_and_never_among_the_no(file: Path) -> None:
    ds = site(file)
    assert "No message of this kind." in text(await get(ds, "/-/oaken/questions/1?status=no"))
    page = text(await get(ds, "/-/oaken/questions/1?status=error"))
    assert "Error Ada Finch" in page and "The model took longer than 300 seconds." in page


async def test_what_strangers_and_models_write_stays_words(tmp_path: Path) -> None:
    path = build(tmp_path / "oaken.db", [mail(f"Words {HOSTILE} here\n", subject=HOSTILE, message_id="evil")])
    conn = db.connect(path)
    with db.transaction(conn):
        questions.ask(conn, f"Is it {HOSTILE}?", criterion=HOSTILE)
    judge_all(
        conn,
        path,
        1,
        Plain(lambda reading: Judgement("yes", HOSTILE, HOSTILE, HOSTILE), name=HOSTILE, model=HOSTILE),
        quiet=True,
    )
    with db.transaction(conn):
        verdicts.review(conn, 1, agrees=True, note=HOSTILE, reviewer=HOSTILE)
    conn.close()
    ds = site(path)
    for page in PAGES:
        response = await ds.client.get(page.format(yes=1))
        assert response.status_code == 200, page
        if response.headers["content-type"].startswith("text/html"):
            assert "<script>alert(1)" not in response.text and "<img src=x" not in response.text, page
            policy = response.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe-inline" not in policy
            assert not re.search(r"<[^>]+\s(style|on\w+)=", response.text), page


async def test_the_quote_is_marked_where_it_stands_and_led_to(file: Path) -> None:
    ds = site(file)
    id_ = yes(file)
    page = await get(ds, "/-/oaken/questions/1?status=yes")
    assert f"/-/oaken/message/1?verdict={id_}#quote" in page
    assert 'Could you <mark id="quote">collect</mark> Nell' in await get(ds, f"/-/oaken/message/1?verdict={id_}")
    assert 'Could you <mark id="quote">collect</mark> Nell' in await get(ds, f"/-/oaken/verdicts/{id_}")
    for other in ("999", "x", f"{id_}{'0' * 30}"):
        assert "<mark" not in await get(ds, f"/-/oaken/message/1?verdict={other}")
    assert "<mark" not in await get(ds, f"/-/oaken/message/4?verdict={id_}"), (
        "another message's verdict marks nothing here"
    )


async def test_a_verdict_shows_everything_it_rests_on(file: Path) -> None:
    id_ = yes(file)
    page = text(await get(site(file), f"/-/oaken/verdicts/{id_}"))
    for said in (
        QUESTION,
        "A person, not a thing",
        "It says collect.",
        "It may be another's turn.",
        "plain 1",
        "kim",
        "So it is.",
    ):
        assert said in page, said
    answer = (await site(file).client.get(f"/-/oaken/verdicts/{id_}.json")).json()
    assert answer["ok"] and answer["counts"] and answer["person"] is True
    assert [(said["agrees"], said["answer"], said["reviewer"]) for said in answer["reviews"]] == [(True, True, "kim")]
    assert answer["reviews"][0]["answer"] is True
    assert (answer["status"], answer["quote"], answer["reading"]["marked"][1]) == ("yes", "collect", "collect")
    assert [(o["judge"], o["criterion"]) for o in answer["others"]] == [
        ("test:never", "A person, not a thing"),
        ("test:plain", ""),
    ]
    assert len(answer["reading_sha256"]) == len(answer["raw_sha256"]) == 64
    old = answer["others"][1]["verdict_id"]
    assert "This verdict does not count" in await get(site(file), f"/-/oaken/verdicts/{old}")


async def test_the_review_shows_nothing_of_the_verdict_before_the_answer(file: Path) -> None:
    ds = site(file)
    page = await get(ds, "/-/oaken/questions/1/review?stratum=yes")
    shown = text(page.split('class="oak-say"')[0])
    assert "fetch her at five" in shown and "Could you collect Nell from swimming on Friday? My train" in shown
    assert "It says fetch" not in page and "It may be another" not in page and "<mark" not in page
    conn = opened(file)
    (message,) = sampling.queue(conn, 1, "yes", 1)
    conn.close()
    response = await ds.client.post(
        "/-/oaken/questions/1/answer",
        data={"message_id": str(message), "answer": "0", "note": "his own turn", "stratum": "yes"},
    )
    assert response.status_code == 303
    assert response.headers["location"] == f"/-/oaken/questions/1/review?stratum=yes&last={message}"
    assert "You said no to Re: Pickup on Friday ; the judge said yes" in text(
        await get(ds, response.headers["location"])
    )
    assert figures(file) == {"yes": 1, "no": 1, "unclear": 1, "errors": 1, "remaining": 0}
    undone = await ds.client.post(
        "/-/oaken/questions/1/answer", data={"message_id": str(message), "answer": "", "stratum": ""}
    )
    assert (undone.status_code, undone.headers["location"]) == (303, f"/-/oaken/questions/1/review?again={message}")
    assert figures(file)["yes"] == 2


async def test_skipping_goes_on_and_the_end_is_said(file: Path) -> None:
    ds = site(file)
    page = await get(ds, "/-/oaken/questions/1/review")
    seen = []
    while found := re.search(r'name="message_id" value="(\d+)"', page.split('class="oak-say"')[-1]):
        assert found[1] not in seen, "what was skipped comes back only when it is asked for"
        seen.append(found[1])
        page = await get(ds, link(page, "s"))
    assert len(seen) == 3, "the one that a person answered is not asked again"
    assert "Nothing is left to answer but what you skipped." in text(page)
    again = await get(ds, link(page, "s"))
    assert f'name="message_id" value="{seen[0]}"' in again
    assert (await ds.client.get("/-/oaken/questions/1/review?stratum=maybe")).status_code == 400


async def test_denying_a_table_denies_its_pages(file: Path) -> None:
    ds = site(file, config={"databases": {"oaken": {"tables": {"recall_verdicts": {"allow": False}}}}})
    for path in PAGES[:-1]:
        assert (await ds.client.get(path.format(yes=1))).status_code == 403, path
    for path in ("/", "/-/oaken"):
        assert "How many times" not in (await ds.client.get(path)).text, path
    assert (await ds.client.get("/-/oaken/message/1")).status_code == 200


async def test_questions_are_found_from_the_menus_and_say_what_to_run_first(tmp_path: Path, file: Path) -> None:
    assert '<a href="/-/oaken/questions">How many times</a>' in await get(site(file), "/")
    chip = '<li><a href="/-/oaken/questions">How many times <span>1</span></a></li>'
    assert chip in await get(site(file), "/-/oaken")
    (tmp_path / "none").mkdir()
    path = build(tmp_path / "none" / "oaken.db", some_mail())
    page = text(await get(site(path), "/-/oaken/questions"))
    assert "Nothing has been asked yet." in page and "oaken judge" in page
    assert "How many times <span>" not in await get(site(path), "/-/oaken")


async def test_a_month_of_the_timeline_leads_to_its_verdicts_and_none_does_on_paper(file: Path) -> None:
    page = await get(site(file), "/-/oaken/questions/1")
    assert re.findall(r'<a href="([^"]+)">March 2024</a>', page) == ["?month=2024-03#verdicts"]
    assert "?month=" not in await get(site(file), "/-/oaken/questions/1/report")


async def test_where_judges_differ_the_message_is_told_by_its_date_and_subject(file: Path) -> None:
    page = text(await get(site(file), "/-/oaken/questions/1?judges=1"))
    where = page.split("Where they differ")[1].split("Verdicts")[0]
    assert f"2 Mar 2024 Prize {HOSTILE}" in where
    assert "1 Mar 2024 Re: Pickup on Friday" in where


@pytest.mark.parametrize("path", ["questions/9", "questions/x", "questions/9/review", "verdicts/999", "verdicts/-1", "questions/9.json", "questions/9.csv", "questions/9/report"])  # fmt: skip
async def test_what_is_not_there_is_not_found(made: Path, path: str) -> None:
    assert (await site(made).client.get(f"/-/oaken/{path}")).status_code == 404


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("many")
    days = [f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}T00:00:00Z" if n % 10 else None for n in range(300)]
    conn = archive(folder, [{"text": str(n), "date": day, "subject": f"Number {n}"} for n, day in enumerate(days)])
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
    judge_all(conn, folder / "small.db", 1, Plain(lambda reading: Judgement("no", "No.")), quiet=True)
    conn.execute("pragma wal_checkpoint(truncate)")
    conn.close()
    yield folder / "small.db"


async def test_pages_of_verdicts_neither_skip_nor_repeat_and_stay_bounded(many: Path) -> None:
    ds = site(many)
    seen: list[int] = []
    token = ""
    while True:
        answer: dict[str, Any] = (await ds.client.get(f"/-/oaken/questions/1.json?limit=37&next={token}")).json()
        assert len(answer["verdicts"]) <= 37
        seen += [item["message_id"] for item in answer["verdicts"]]
        token = answer["next"]
        if token is None:
            break
    conn = opened(many)
    order = [row[0] for row in conn.execute("select id from messages order by coalesce(sent_at, '') desc, id desc")]
    assert seen == order
    conn.close()
    html = await get(ds, "/-/oaken/questions/1")
    assert html.count('class="oak-verdict ') == verdict_list.LIMIT
    follow = re.search(r'href="(\?next=[^"#]+)', html)
    assert (
        follow is not None
        and (await get(ds, "/-/oaken/questions/1" + follow[1])).count('class="oak-verdict ') == verdict_list.LIMIT
    )
    none = (await ds.client.get("/-/oaken/questions/1.json?month=none&limit=500")).json()
    assert len(none["verdicts"]) == 30
    assert (await ds.client.get("/-/oaken/questions/1.json?next=nonsense")).status_code == 400
