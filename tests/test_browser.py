"""The site in a real browser: the way from a search to a conversation, without script, on a phone, with nothing loaded from elsewhere."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from oaken_site import build, copied, message_ids, some_mail

from datasette_oaken import db

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None and os.environ.get("CI") != "true":  # in CI its absence fails the tests below instead
    pytest.skip("no Chromium is installed (Debian: apt-get install chromium)", allow_module_level=True)

PAGES = (
    "/-/oaken",
    "/-/oaken?q=swimming",
    "/-/oaken?q=zzqxv",
    "/-/oaken/message/{evil}",
    "/-/oaken/message/{answer}",
    "/-/oaken/thread/1",
    "/-/oaken/message/999",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("browser") / "oaken.db", some_mail(), embedded=True)


@contextmanager
def served(path: Path) -> Iterator[str]:
    """A plain ``datasette`` process over the file; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "datasette", "serve", str(path), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, "datasette did not start"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture(scope="module")
def address(made: Path) -> Iterator[str]:
    with served(made) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


OpenPage = Callable[..., sync_api.Page]


@pytest.fixture
def opened(browser: sync_api.Browser, address: str) -> Iterator[OpenPage]:
    """Opens a page of the site; any request elsewhere, script error or refused resource on it fails the test."""
    contexts, wrong = [], []

    def open_page(url: str, **options: object) -> sync_api.Page:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda r: None if r.url.startswith(address) else wrong.append(f"request {r.url}"))
        page.on("pageerror", lambda error: wrong.append(f"script {error}"))
        page.on("console", lambda m: wrong.append(f"console {m.text}") if "Content Security Policy" in m.text else None)
        page.on("dialog", lambda d: (wrong.append(f"dialog {d.message}"), d.dismiss()))
        page.goto(address + url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_from_a_search_to_a_hit_to_its_conversation(opened: OpenPage, script: bool) -> None:
    page = opened("/-/oaken", java_script_enabled=script)
    page.get_by_role("searchbox", name="Search your mail").fill("retrieve the child after her pool lesson")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_role("link", name="Pickup on Friday", exact=True).click()
    assert page.get_by_role("heading", level=1).inner_text() == "Pickup on Friday"
    assert "collect Nell from swimming" in page.locator(".oak-body").inner_text()
    page.get_by_role("link", name="Conversation").click()
    said = page.locator(".oak-said")
    assert [said.nth(i).locator(".oak-who").inner_text().split()[-1] for i in range(said.count())] == ["Finch", "Oake"]
    quoted = said.nth(1).locator(".oak-quoted .oak-text")
    assert not quoted.is_visible()
    said.nth(1).locator("summary").click()
    assert quoted.is_visible()


def test_the_same_by_keyboard_alone(opened: OpenPage) -> None:
    page = opened("/-/oaken")
    page.keyboard.type("swimming")  # the box has the focus
    page.keyboard.press("Enter")
    page.wait_for_url("**/-/oaken?q=swimming")
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "document.activeElement.closest('.oak-hit h3') && document.activeElement.textContent.trim()"
        )
        if focused:
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert (focused, outline) == ("Pickup on Friday", "solid")
    page.keyboard.press("Enter")
    page.wait_for_url("**/-/oaken/message/*")


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("url", PAGES)
def test_nothing_is_wider_than_the_screen(opened: OpenPage, made: Path, url: str, width: int) -> None:
    page = opened(url.format(**message_ids(made)), viewport={"width": width, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def luminance(colour: str) -> float:
    """Relative luminance of a CSS rgb() colour (WCAG 2.2)."""
    channels = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def faint_texts(page: sync_api.Page) -> list[tuple[str, str]]:
    """(where, its colours) of each text on a page that stands out too little from what is behind it, folded ones too."""
    page.evaluate("document.querySelectorAll('main details').forEach(d => d.open = true)")
    pairs = page.evaluate(
        """() => {
          const seen = {};
          for (const e of document.querySelectorAll('main *')) {
            if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
            let behind = e, back;
            while (behind && /rgba\\(.*, 0\\)|transparent/.test(back = getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
            seen[getComputedStyle(e).color + '|' + back] = e.className || e.tagName;
          }
          return Object.entries(seen);
        }"""
    )
    faint = []
    for colours, where in pairs:
        front, back = sorted(map(luminance, colours.split("|")), reverse=True)
        if (front + 0.05) / (back + 0.05) < 4.5:
            faint.append((where, colours))
    assert pairs
    return faint


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("url", PAGES)
def test_every_text_stands_out_from_what_is_behind_it(opened: OpenPage, made: Path, url: str, scheme: str) -> None:
    page = opened(url.format(**message_ids(made)), color_scheme=scheme)
    assert faint_texts(page) == []


def test_marking_as_read_works_without_script_and_opening_does_not(
    browser: sync_api.Browser, made: Path, tmp_path: Path
) -> None:
    path = copied(made, tmp_path / "oaken.db")
    asked = message_ids(path)["ask"]

    def state() -> tuple[int, int]:
        conn = db.connect(path, readonly=True)
        try:
            row = conn.execute(
                "select is_read, is_read_set from message_state where message_id = ?", (asked,)
            ).fetchone()
            return tuple(row)
        finally:
            conn.close()

    with served(path) as address:
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(f"{address}/-/oaken/message/{asked}")
        assert state() == (0, 0)
        page.get_by_role("button", name="Mark as read").click()
        assert page.get_by_role("button", name="Mark as unread").is_visible()
        assert state() == (1, 1)
        context.close()


def test_a_form_of_another_site_is_refused(browser: sync_api.Browser, made: Path, tmp_path: Path) -> None:
    path = copied(made, tmp_path / "oaken.db")
    asked = message_ids(path)["ask"]
    with served(path) as address:
        context = browser.new_context()
        page = context.new_page()
        page.route(
            "http://evil.example/**",
            lambda route: route.fulfill(
                content_type="text/html",
                body=(
                    f'<form method="post" action="{address}/-/oaken/message/{asked}/read"><input name="is_read" value="1">'
                    "<button>Win</button></form>"
                ),
            ),
        )
        page.goto("http://evil.example/")
        with page.expect_navigation() as navigation:
            page.get_by_role("button", name="Win").click()
        assert navigation.value.status == 403
        context.close()


@pytest.mark.parametrize("table", ["_recall_vec0_1", "recall_vectors"])
def test_with_the_vector_table_dropped_the_same_search_answers_and_says_so(
    browser: sync_api.Browser, made: Path, tmp_path: Path, table: str
) -> None:
    path = copied(made, tmp_path / "oaken.db")
    conn = db.connect(path)
    conn.execute(f"drop table {table}")
    conn.close()
    with served(path) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{address}/-/oaken?q=swimming")
        assert page.get_by_role("link", name="Pickup on Friday", exact=True).is_visible()
        assert "degraded" in page.get_by_role("status").first.inner_text()
        context.close()


def test_the_share_that_is_embedded_grows_on_the_page(browser: sync_api.Browser, tmp_path: Path) -> None:
    from ingest.embed import embed

    path = build(tmp_path / "oaken.db", some_mail())
    with served(path) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{address}/-/oaken")
        assert page.locator("progress").get_attribute("value") == "0.0"
        conn = db.connect(path)
        embed(conn, path, quiet=True)
        conn.close()
        page.get_by_text("All of your mail can be found by meaning now").wait_for(timeout=30_000)
        context.close()
