"""Questions in a real browser: a review by keyboard or without script, a count that follows a run, nothing wider than a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from judged_site import judged, verdict_of
from judges import Plain
from oaken_site import HOSTILE, build, copied, mail
from test_browser import OpenPage, browser, faint_texts, served, sync_api

from datasette_oaken import counts, db, questions
from ingest.judging.base import Judgement
from ingest.judging.run import judge_all

__all__ = ["browser"]  # the fixture

PAGES = (
    "/-/oaken/questions",
    "/-/oaken/questions/1?judges=1",
    "/-/oaken/questions/2",
    "/-/oaken/questions/1?status=error",
    "/-/oaken/questions/1/review",
    "/-/oaken/questions/1/review?last=1",
    "/-/oaken/questions/9",
    "/-/oaken/verdicts/{yes}",
    "/-/oaken/verdicts/{old}",
    "/-/oaken/verdicts/{evil}",
    "/-/oaken/message/1?verdict={yes}",
)


def figures(path: Path) -> dict[str, Any]:
    conn = db.connect(path, readonly=True)
    try:
        return counts.count(conn, 1)
    finally:
        conn.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The judged question, and one more whose every word is hostile or long."""
    path = judged(tmp_path_factory.mktemp("questions") / "oaken.db")
    conn = db.connect(path)
    long = "x" * 300
    with db.transaction(conn):
        questions.ask(conn, f"Is it {HOSTILE} {long}?", criterion=f"{HOSTILE} {long}")
    evil = Plain(lambda reading: Judgement("yes", f"{HOSTILE} {long}", HOSTILE, "javascript:alert(3)"), model=long)
    judge_all(conn, path, 2, evil, quiet=True)
    conn.execute("pragma wal_checkpoint(truncate)")
    conn.close()
    return path


@pytest.fixture(scope="module")
def verdicts(made: Path) -> dict[str, int]:
    conn = db.connect(made, readonly=True)
    try:
        (old,) = conn.execute("select min(id) from recall_verdicts where criterion = ''").fetchone()
        (evil,) = conn.execute("select id from recall_verdicts where quote like 'javascript%'").fetchone()
        return {"yes": verdict_of(conn, "yes"), "old": old, "evil": evil}
    finally:
        conn.close()


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Path:
    return copied(made, tmp_path / "oaken.db")


@pytest.fixture(scope="module")
def address(made: Path) -> Iterator[str]:
    with served(made) as url:
        yield url


@pytest.fixture
def opened(browser: sync_api.Browser) -> Iterator[OpenPage]:
    """Opens a page; any request elsewhere, script error, dialog or refused resource on it fails the test."""
    contexts, wrong = [], []

    def open_page(address: str, **options: object) -> sync_api.Page:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        home = "/".join(address.split("/")[:3])
        page.on("request", lambda r: None if r.url.startswith(home) else wrong.append(f"request {r.url}"))
        page.on("pageerror", lambda error: wrong.append(f"script {error}"))
        page.on("console", lambda m: wrong.append(f"console {m.text}") if "Content Security Policy" in m.text else None)
        page.on("dialog", lambda d: (wrong.append(f"dialog {d.message}"), d.dismiss()))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def test_a_review_by_keyboard_changes_the_count_and_is_undone_by_one_key(opened: OpenPage, own: Path) -> None:
    with served(own) as address:
        page = opened(f"{address}/-/oaken/questions/1")
        page.get_by_role("link", name="Review a random sample").click()
        before = figures(own)
        assert "judge said" not in page.locator(".oak-last").all_inner_texts()
        reading = page.locator(".oak-own").inner_text()
        page.keyboard.press("y")
        page.locator(".oak-last").wait_for()
        assert page.locator(".oak-last").inner_text().startswith("You said yes to ")
        assert sum(figures(own)["reviewed"].values()) == sum(before["reviewed"].values()) + 1
        page.keyboard.press("u")
        page.locator(".oak-last").wait_for(state="detached")
        assert page.locator(".oak-own").inner_text() == reading, "the message that was undone is asked again"
        assert figures(own)["reviewed"] == before["reviewed"]
        page.keyboard.press("n")
        page.locator(".oak-last").wait_for()
        assert page.locator(".oak-last").inner_text().startswith("You said no to ")
        assert figures(own)["reviewed"]["no"] == before["reviewed"]["no"] + 1


def test_skipping_by_key_goes_through_all_and_back(opened: OpenPage, own: Path) -> None:
    with served(own) as address:
        page = opened(f"{address}/-/oaken/questions/1/review")
        seen = []
        for _ in range(3):
            seen.append(page.locator(".oak-own").inner_text())
            with page.expect_navigation():
                page.keyboard.press("s")
        assert len(set(seen)) == 3
        assert "Nothing is left to answer but what you skipped." in page.locator(".oak-notice").inner_text()
        with page.expect_navigation():
            page.keyboard.press("s")
        assert page.locator(".oak-own").inner_text() == seen[0]
        assert figures(own)["reviewed"] == {"yes": 1, "no": 0}


def test_a_key_that_is_held_down_answers_one_message(opened: OpenPage, own: Path) -> None:
    with served(own) as address:
        page = opened(f"{address}/-/oaken/questions/1/review")
        page.keyboard.down("n")
        page.locator(".oak-last").wait_for()
        for _ in range(5):  # a second press without letting go is what a held key sends
            page.keyboard.down("n")
        page.wait_for_timeout(500)
        page.keyboard.up("n")
        assert figures(own)["reviewed"] == {"yes": 1, "no": 1}


def test_a_note_is_typed_without_answering(opened: OpenPage, own: Path) -> None:
    with served(own) as address:
        page = opened(f"{address}/-/oaken/questions/1/review")
        page.get_by_label("Note").fill("")
        page.get_by_label("Note").press_sequentially("any sunny usage")
        assert figures(own)["reviewed"] == {"yes": 1, "no": 0}
        with page.expect_navigation():
            page.get_by_role("button", name="No n").click()
        conn = db.connect(own, readonly=True)
        assert conn.execute("select note from recall_reviews order by id desc limit 1").fetchone()[0] == (
            "any sunny usage"
        )
        conn.close()


def test_the_review_works_without_script(opened: OpenPage, own: Path) -> None:
    with served(own) as address:
        page = opened(f"{address}/-/oaken/questions/1/review", java_script_enabled=False)
        for _ in range(3):
            page.get_by_role("button", name="No n").click()
        assert "Nothing is left to answer." in page.locator("main").inner_text()
        page.get_by_role("button", name="Undo").click()
        page.get_by_role("button", name="Yes y").click()
        found = figures(own)
        assert (found["reviewed"], found["yes"], found["at_least"]) == ({"yes": 2, "no": 2}, 2, False)


def test_a_verdict_is_agreed_with_and_taken_back_without_script(
    opened: OpenPage, own: Path, verdicts: dict[str, int]
) -> None:
    with served(own) as address:
        page = opened(f"{address}/-/oaken/verdicts/{verdicts['yes']}", java_script_enabled=False)
        page.get_by_label("Note").fill("On second thoughts")
        page.get_by_role("button", name="I disagree").click()
        assert "A person said no, and that is what counts." in page.locator("main").inner_text()
        assert "On second thoughts" in page.locator("main").inner_text()
        assert figures(own)["no"] == 1
        page.get_by_role("button", name="Take back what was said").click()
        assert figures(own)["reviewed"] == {"yes": 0, "no": 0}


def test_the_figures_follow_a_run_that_goes_on(opened: OpenPage, tmp_path: Path) -> None:
    path = build(tmp_path / "oaken.db", [mail(f"Letter {n}", message_id=f"m{n}") for n in range(6)])
    conn = db.connect(path)
    with db.transaction(conn):
        questions.ask(conn, "Is it?")
    judge = Plain(lambda reading: Judgement("yes", "It is.", None, reading.words))
    judge_all(conn, path, 1, judge, quiet=True, limit=2)
    with served(path) as address:
        page = opened(f"{address}/-/oaken/questions/1")
        figure = page.locator('dd[data-figure="yes"]')
        assert (figure.inner_text(), page.locator("[data-oaken-share]").inner_text()) == ("at least 2", "33.3 %")
        judge_all(conn, path, 1, judge, quiet=True, limit=3)
        page.get_by_text("At least 5 messages say yes").wait_for(timeout=30_000)
        assert (figure.inner_text(), page.locator("[data-oaken-share]").inner_text()) == ("at least 5", "83.3 %")
        judge_all(conn, path, 1, judge, quiet=True)
        page.get_by_text(re.compile("^6 messages say yes, of 6 messages, every one judged")).wait_for(timeout=30_000)
        assert (figure.inner_text(), page.locator("[data-oaken-share]").inner_text()) == ("6", "100.0 %")
        assert page.locator(".oak-coverage span").inner_text() == "6 of 6 judged"
    conn.close()


def test_from_a_verdict_to_the_passage_it_rests_on(opened: OpenPage, address: str) -> None:
    page = opened(f"{address}/-/oaken/questions/1?status=yes", viewport={"width": 360, "height": 400})
    page.get_by_role("link", name="Pickup on Friday", exact=True).click()
    mark = page.locator("mark#quote")
    assert mark.inner_text() == "collect"
    box = mark.bounding_box()
    assert box is not None and 0 <= box["y"] < 400, "the page opens at the quote"


def test_the_way_in_and_through_by_keyboard_alone(opened: OpenPage, address: str) -> None:
    page = opened(f"{address}/-/oaken/questions")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('.oak-questions') && document.activeElement.textContent"):
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url("**/-/oaken/questions/*")


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(opened: OpenPage, address: str, verdicts: dict[str, int], width: int) -> None:
    page = opened(address + PAGES[0], viewport={"width": width, "height": 740})
    for url in PAGES:
        page.goto(address + url.format(**verdicts))
        page.evaluate("document.querySelectorAll('main details').forEach(d => d.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, url
        page.evaluate("document.querySelector('main').style.letterSpacing = '0.15em'")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{url}, where the fonts are wider"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(
    opened: OpenPage, address: str, verdicts: dict[str, int], scheme: str
) -> None:
    page = opened(address + PAGES[0], color_scheme=scheme)
    for url in PAGES:
        page.goto(address + url.format(**verdicts))
        assert faint_texts(page) == [], url
