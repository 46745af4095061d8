"""What programs are answered: the search answer by every field, whole messages, exact bytes, and errors that say what they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from oaken_site import build, copied, mail, message_ids, site, some_mail

from datasette_oaken import db
from datasette_oaken.query import OPERATORS

pytestmark = pytest.mark.asyncio


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("api") / "oaken.db", some_mail())


async def search(path: Path, **fields: Any) -> dict[str, Any]:
    response = await site(path).client.get("/-/oaken/search.json", params=fields)
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_search_answers_what_the_design_states(made: Path) -> None:
    answer = await search(made, q="swimming", mode="keyword", limit=1)
    hit = answer["hits"][0]
    assert set(answer) >= {
        *(
            "ok",
            "query",
            "mode",
            "warnings",
            "degraded",
            "degraded_reason",
            "coverage",
            "returned",
            "limit",
            "truncated",
        ),
        *("next", "timings_ms", "hits"),
    }
    assert set(hit) >= {
        *("message_id", "thread_id", "chunk_id", "score", "snippet", "why", "matched_chunks", "internet_message_id"),
        *("subject", "from", "date", "account", "mailboxes", "labels", "is_read", "url"),
    }
    assert (answer["ok"], answer["mode"], answer["returned"], answer["limit"]) == (True, "keyword", 1, 1)
    assert hit["from"] == {"name": "Ada Finch", "address": "ada@example.org"}
    assert hit["url"] == f"/-/oaken/message/{hit['message_id']}" == f"/-/oaken/message/{message_ids(made)['ask']}"
    assert "[[swimming]]" in hit["snippet"]
    assert set(answer["timings_ms"]) == {"keyword", "total"}


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("from", "ben@example.org", {"answer"}),
        ("-from", "ben@example.org", {"ask", "evil", "files"}),
        ("to", "ada@example.org", {"answer"}),
        ("subject", "accounts", {"files"}),
        ("after", "2024-03-04", {"files"}),
        ("before", "2024-03-02", {"ask", "answer"}),
        ("on", "2024-03-02", {"evil"}),
        ("has", "attachment", {"evil", "files"}),
        ("filename", "accounts.pdf", {"files"}),
        ("is", "unread", {"ask", "answer", "evil", "files"}),
        ("is", "read", set()),
        ("label", "none", set()),
        ("in", "inbox", {"ask", "answer", "evil", "files"}),
        ("mailbox", "inbox", {"ask", "answer", "evil", "files"}),
        ("account", "default", {"ask", "answer", "evil", "files"}),
        ("category", "work", set()),
        ("priority", "2", set()),
        ("thread", "1", {"ask", "answer"}),
    ],
)
async def test_every_operator_is_a_field(made: Path, field: str, value: str, found: set[str]) -> None:
    answer = await search(made, **{field: value})
    names = {id_: name for name, id_ in message_ids(made).items()}
    assert {names[hit["message_id"]] for hit in answer["hits"]} == found
    assert answer["query"]["filters"] == [
        {"field": field.removeprefix("-"), "value": value, "negated": field.startswith("-")}
    ]
    assert answer["warnings"] == []


async def test_no_operator_is_left_untested() -> None:
    parameters = next(mark for mark in test_every_operator_is_a_field.pytestmark if mark.name == "parametrize").args[1]
    assert {field.removeprefix("-") for field, _, _ in parameters} == set(OPERATORS)


async def test_pages_of_an_answer_make_the_whole(tmp_path: Path) -> None:
    made = build(
        tmp_path / "oaken.db", [mail(f"heron {n}", subject=f"Heron {n}", message_id=f"m{n}") for n in range(7)]
    )
    found: list[int] = []
    token = ""
    while True:
        answer = await search(made, q="heron", mode="keyword", limit=3, next=token)
        found += [hit["message_id"] for hit in answer["hits"]]
        if not answer["next"]:
            break
        token = answer["next"]
    assert sorted(found) == sorted(message_ids(made).values())


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"q": "x", "mode": "telepathy"}, "bad_mode"),
        ({"q": "x", "limit": "0"}, "bad_request"),
        ({"q": "x", "limit": "101"}, "bad_request"),
        ({"q": "x", "limit": "many"}, "bad_request"),
        ({"q": "x", "limit": "٣"}, "bad_request"),
        ({"q": "x", "next": "nonsense"}, "bad_next"),
    ],
)
async def test_what_cannot_be_asked_is_said_with_a_code(made: Path, fields: dict[str, str], code: str) -> None:
    response = await site(made).client.get("/-/oaken/search.json", params=fields)
    answer = response.json()
    assert (response.status_code, answer["ok"], answer["code"]) == (400, False, code)
    assert answer["error"]


@pytest.mark.parametrize(
    "url", ["message/999.json", "message/1e3.json", "message/-1.json", "thread/999.json", "thread/x.json"]
)
async def test_what_is_not_here_is_a_404_with_a_code(made: Path, url: str) -> None:
    response = await site(made).client.get(f"/-/oaken/{url}")
    assert (response.status_code, response.json()["ok"], response.json()["code"]) == (404, False, "not_found")


async def test_a_message_is_answered_whole(made: Path) -> None:
    ids = message_ids(made)
    answer = (await site(made).client.get(f"/-/oaken/message/{ids['ask']}.json")).json()
    sections = answer.pop("sections")
    assert [(s["section"], s["text"].strip()) for s in sections] == [
        ("authored", "Could you collect Nell from swimming on Friday? My train is late."),
        ("signature", "-- \nAda Finch"),
    ]
    assert "".join(s["text"] for s in sections) == answer["text"]
    assert answer == {
        "ok": True,
        "message_id": ids["ask"],
        "thread_id": 1,
        "account": "default",
        "internet_message_id": "<ask@example.org>",
        "copy_of": None,
        "subject": "Pickup on Friday",
        "from": {"name": "Ada Finch", "address": "ada@example.org"},
        "date": "2024-03-01T09:30:00Z",
        "has_attachments": False,
        "is_read": False,
        "url": f"/-/oaken/message/{ids['ask']}",
        "recipients": [{"role": "to", "name": "Ben Oake", "address": "ben@example.org"}],
        "size": len(some_mail()[0].as_bytes()),
        "read_at": None,
        "disposition": "inbox",
        "category": None,
        "priority": 0,
        "mailboxes": ["inbox"],
        "labels": [],
        "copies": [],
        "from_html": False,
        "language": "en",
        "text": answer["text"],
        "attachments": [],
    }


async def test_a_conversation_is_answered_in_parts_that_go_on(made: Path) -> None:
    ids = message_ids(made)
    ds = site(made)
    first = (await ds.client.get("/-/oaken/thread/1.json?limit=1")).json()
    second = (await ds.client.get(f"/-/oaken/thread/1.json?limit=1&start={first['next']}")).json()
    parts = [
        (p["truncated"], p["next"], p["message_count"], [m["message_id"] for m in p["messages"]])
        for p in (first, second)
    ]
    assert parts == [(True, 1, 2, [ids["ask"]]), (False, None, 2, [ids["answer"]])]
    assert (first["subject"], first["first_at"], first["last_at"], first["url"]) == (
        "Pickup on Friday",
        "2024-03-01T09:30:00Z",
        "2024-03-01T11:00:00Z",
        "/-/oaken/thread/1",
    )


async def test_the_status_is_what_the_command_says(made: Path) -> None:
    from datasette_oaken.status import status

    conn = db.connect(made, readonly=True)
    expected = status(conn)
    conn.close()
    assert (await site(made).client.get("/-/oaken/status.json")).json() == expected
    assert expected["messages"] == 4


async def test_the_original_is_the_bytes_that_came_in(made: Path) -> None:
    response = await site(made).client.get(f"/-/oaken/message/{message_ids(made)['files']}/raw")
    assert response.content == (made.parent / "inbox" / "003.eml").read_bytes()
    assert response.headers["content-type"] == "message/rfc822"
    assert response.headers["content-disposition"].startswith("attachment;")


async def attachments(path: Path, name: str) -> list[tuple[str, str, str, bytes]]:
    """Of each attachment of a message: its listed name, and the type, disposition and bytes of its download."""
    ds = site(path)
    listed = (await ds.client.get(f"/-/oaken/message/{message_ids(path)[name]}.json")).json()["attachments"]
    found = []
    for item in listed:
        response = await ds.client.get(item["url"])
        assert response.status_code == 200
        assert "sandbox" in response.headers["content-security-policy"]
        headers = response.headers
        found.append((item["filename"], headers["content-type"], headers["content-disposition"], response.content))
    return found


async def test_attachments_are_saved_and_never_shown(made: Path) -> None:
    assert await attachments(made, "files") == [
        (
            "accounts.pdf",
            "application/pdf",
            "attachment; filename=\"accounts.pdf\"; filename*=UTF-8''accounts.pdf",
            b"%PDF-1.4 numbers",
        ),
        ("raw.bin", "application/octet-stream", "attachment; filename=\"raw.bin\"; filename*=UTF-8''raw.bin", b"\0\1"),
    ]


async def test_a_hostile_attachment_names_no_path_and_is_no_page(made: Path) -> None:
    ((_, content_type, disposition, body),) = await attachments(made, "evil")
    assert (content_type, body) == ("application/octet-stream", b"<script>alert(4)</script>")
    assert re.fullmatch(r"attachment; filename=\"[A-Za-z0-9._ -]+\"; filename\*=UTF-8''[A-Za-z0-9._~%-]+", disposition)
    assert ".." not in disposition and "%E2%80%AE" not in disposition


@pytest.mark.parametrize("part", ["0", "1", "99"])
async def test_only_what_is_listed_as_an_attachment_is_handed_out(made: Path, part: str) -> None:
    response = await site(made).client.get(f"/-/oaken/message/{message_ids(made)['files']}/attachment/{part}")
    assert response.status_code == 404


@pytest.mark.parametrize("is_read", [True, False])
async def test_read_state_is_set_and_taken_back(made: Path, tmp_path: Path, is_read: bool) -> None:
    path = copied(made, tmp_path / "oaken.db")
    ds = site(path)
    asked = message_ids(path)["ask"]
    answer = (await ds.client.post(f"/-/oaken/message/{asked}/read", json={"is_read": is_read})).json()
    stamp = answer.pop("read_at")
    assert answer == {"ok": True, "message_id": asked, "is_read": is_read}
    message = (await ds.client.get(f"/-/oaken/message/{asked}.json")).json()
    assert (message["is_read"], message["read_at"]) == (is_read, stamp)
    assert bool(stamp) is is_read
    unread = (await ds.client.get("/-/oaken/search.json?is=unread&q=swimming&mode=keyword")).json()["hits"]
    assert (asked in [hit["message_id"] for hit in unread]) is not is_read


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"json": {"is_read": "yes"}}, 400),
        ({"json": {"is_read": 1}}, 400),
        ({"json": [True]}, 400),
        ({"json": {}}, 400),
        ({"content": b"{", "headers": {"content-type": "application/json"}}, 400),
        ({"data": {"is_read": "maybe"}}, 400),
        ({"content": b"\xff\xfe"}, 400),
        ({}, 400),
    ],
)
async def test_a_state_that_cannot_be_read_changes_nothing(
    made: Path, tmp_path: Path, body: dict[str, Any], status: int
) -> None:
    path = copied(made, tmp_path / "oaken.db")
    ds = site(path)
    asked = message_ids(path)["ask"]
    response = await ds.client.post(f"/-/oaken/message/{asked}/read", **body)
    assert (response.status_code, response.json()["code"]) == (status, "bad_request")
    conn = db.connect(path, readonly=True)
    assert [tuple(r) for r in conn.execute("select distinct is_read, is_read_set from message_state")] == [(0, 0)]
    conn.close()


async def test_marking_what_is_not_here_is_a_404(made: Path, tmp_path: Path) -> None:
    path = copied(made, tmp_path / "oaken.db")
    response = await site(path).client.post("/-/oaken/message/999/read", json={"is_read": True})
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


async def test_a_file_that_is_being_written_answers_and_says_so_when_it_must_wait(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copied(made, tmp_path / "oaken.db")
    ds = site(path)
    await ds.invoke_startup()
    asked = message_ids(path)["ask"]
    await ds.get_database("oaken").execute_write_fn(
        lambda conn: conn.execute("pragma busy_timeout = 50"), transaction=False
    )
    writer = db.connect(path)
    writer.execute("begin immediate")
    try:
        response = await ds.client.post(f"/-/oaken/message/{asked}/read", json={"is_read": True})
        assert (response.status_code, response.json()["code"]) == (503, "database_locked")
        assert (await ds.client.get("/-/oaken/search.json?q=swimming&mode=keyword")).json()["returned"] == 1
    finally:
        writer.execute("rollback")
        writer.close()


async def test_a_page_that_takes_too_long_is_stopped(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datasette_oaken import api, site_db

    def endless(conn: Any, message_id: int) -> None:
        conn.execute(
            "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
        ).fetchone()

    monkeypatch.setattr(site_db, "TIME_LIMIT_MS", 50)
    monkeypatch.setattr(api.messages, "message", endless)
    response = await site(made).client.get("/-/oaken/message/1.json")
    assert (response.status_code, response.json()["code"]) == (503, "too_slow")
