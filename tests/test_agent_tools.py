"""An agent is told the count with all that is needed to disbelieve it, may what its person may, and changes nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette
from datasette_agent.tools import execute_agent_tool, get_agent_tools_by_plugin
from datasette_mcp import create_mcp_server
from judged_site import QUESTION, judged
from oaken_site import build, copied, mail, message_ids, site

from datasette_oaken import agent_tools, counts, db

pytestmark = pytest.mark.asyncio

DENIED = {"databases": {"oaken": {"allow": {"id": "ada"}}}}
REFUSED = "Whoever you act for may not read this mail."
EVERY_TOOL = (
    ("oaken_count", {}),
    ("oaken_count", {"question_id": 1}),
    ("oaken_search", {"q": "swimming"}),
    ("oaken_message", {"message_id": 1}),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("agent") / "oaken.db")


@pytest.fixture
def file(made: Path, tmp_path: Path) -> Path:
    return copied(made, tmp_path / "oaken.db")


Ask = Callable[..., Awaitable[dict[str, Any]]]


@asynccontextmanager
async def by_agent(ds: Datasette) -> AsyncIterator[Ask]:
    """Asks as datasette-agent does for its model."""
    await ds.invoke_startup()
    tools = {tool.name: tool for tool in (await get_agent_tools_by_plugin(ds))["oaken"]}

    async def ask(name: str, actor: Any = None, **arguments: Any) -> dict[str, Any]:
        return json.loads(await execute_agent_tool(tools[name], ds, actor, arguments=arguments))

    yield ask


@asynccontextmanager
async def by_mcp(ds: Datasette) -> AsyncIterator[Ask]:
    """Asks as an MCP client does, over HTTP; a refusal comes as ``{"error": …}``."""
    await ds.invoke_startup()
    incoming: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    outgoing: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    server = asyncio.create_task(ds.app()({"type": "lifespan"}, incoming.get, outgoing.put))
    incoming.put_nowait({"type": "lifespan.startup"})
    assert (await outgoing.get())["type"] == "lifespan.startup.complete"

    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}

    async def send(method: str, params: dict[str, Any], actor: Any = None) -> dict[str, Any]:
        sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        response = await ds.client.post("/-/mcp", json=sent, headers=headers, actor=actor)
        assert response.status_code == 200, response.text
        headers["Mcp-Session-Id"] = response.headers.get("mcp-session-id") or headers["Mcp-Session-Id"]
        lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
        return json.loads(lines[-1] if lines else response.text)["result"]

    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}}
    await send("initialize", client)

    async def ask(name: str, actor: Any = None, **arguments: Any) -> dict[str, Any]:
        result = await send("tools/call", {"name": name, "arguments": arguments}, actor)
        return {"error": result["content"][0]["text"]} if result.get("isError") else result["structuredContent"]

    yield ask
    incoming.put_nowait({"type": "lifespan.shutdown"})
    await server


DOORS = pytest.mark.parametrize("door", [by_agent, by_mcp])


def every_row(file: Path) -> dict[str, list[Any]]:
    conn = db.connect(file, readonly=True)
    try:
        tables = [row[0] for row in conn.execute("select name from sqlite_master where type = 'table' order by name")]
        return {name: [tuple(row) for row in conn.execute(f'select * from "{name}"')] for name in tables}
    finally:
        conn.close()


def plain_count(file: Path) -> dict[str, Any]:
    conn = db.connect(file, readonly=True)
    try:
        return counts.count(conn, 1)
    finally:
        conn.close()


@DOORS
async def test_the_count_is_the_one_that_is_shown_everywhere(file: Path, door: Any) -> None:
    plain = plain_count(file)
    async with door(site(file)) as ask:
        answer = await ask("oaken_count", question_id=1, status="yes")
        listed = await ask("oaken_count")
    assert {name: answer[name] for name in plain} == plain
    assert [(item["status"], item["quote"]) for item in answer["verdicts"]] == [("yes", "fetch"), ("yes", "collect")]
    assert [(item["question_id"], item["question"], item["sentence"]) for item in listed["questions"]] == [
        (1, QUESTION, plain["sentence"])
    ]


@DOORS
async def test_what_it_finds_is_the_search_answer(file: Path, door: Any) -> None:
    ds = site(file)
    plain = (await ds.client.get("/-/oaken/search.json?q=swimming&mode=keyword&limit=10")).json()
    async with door(ds) as ask:
        answer = await ask("oaken_search", q="swimming", mode="keyword")
    for one in (answer, plain):
        del one["timings_ms"]
    assert answer == plain
    assert answer["hits"][0]["message_id"] == message_ids(file)["ask"]


@DOORS
async def test_a_message_is_whole_but_for_what_is_too_long(tmp_path: Path, door: Any) -> None:
    file = build(tmp_path / "oaken.db", [mail("oak " * 5_000, message_id="long"), mail("Short.", message_id="short")])
    ids = message_ids(file)
    async with door(site(file)) as ask:
        short = await ask("oaken_message", message_id=ids["short"])
        long = await ask("oaken_message", message_id=ids["long"])
    assert ([s["text"].strip() for s in short["sections"]], "text" in short) == (["Short."], False)
    (section,) = long["sections"]
    assert section["text"].startswith("oak oak") and section["text"].endswith("more characters]")
    assert len(section["text"]) < agent_tools.MOST_SECTION + 100


@DOORS
async def test_an_agent_may_what_its_person_may(file: Path, door: Any) -> None:
    async with door(site(file, config=DENIED)) as ask:
        for name, arguments in EVERY_TOOL:
            refused = await ask(name, **arguments)
            assert refused["error"].endswith(REFUSED) and set(refused) <= {"ok", "error"}
            assert await ask(name, actor={"id": "ben"}, **arguments) == refused
            assert "error" not in await ask(name, actor={"id": "ada"}, **arguments)


@DOORS
async def test_what_cannot_be_answered_says_why(file: Path, door: Any) -> None:
    async with door(site(file)) as ask:
        for name, arguments, said in [
            ("oaken_count", {"question_id": 99}, "There is no question 99 here."),
            ("oaken_message", {"message_id": 99}, "There is no message 99 here."),
            ("oaken_count", {"question_id": 1, "status": "maybe"}, "maybe"),
            ("oaken_search", {"q": "oak", "mode": "magic"}, "magic"),
            ("oaken_search", {"q": "oak", "limit": 1000}, "limit must be a whole number from 1 to 100."),
        ]:
            assert said in (await ask(name, **arguments))["error"]


async def test_arguments_that_are_not_the_tools_never_reach_the_site(file: Path) -> None:
    async with by_agent(site(file)) as ask:
        for name, arguments, said in [
            ("oaken_message", {"message_id": "1/raw"}, "message_id must be a number."),
            ("oaken_message", {"message_id": True}, "message_id must be a number."),
            (
                "oaken_search",
                {"q": "oak", "actor_id": "root"},
                "oaken_search takes q, mode, limit, next, not actor_id.",
            ),
            ("oaken_search", {}, "oaken_search needs q."),
        ]:
            assert await ask(name, **arguments) == {"ok": False, "error": said}


async def test_both_doors_offer_the_same_tools_with_the_same_arguments(file: Path) -> None:
    ds = site(file)
    await ds.invoke_startup()
    ours = {tool.name: tool.input_schema for tool in (await get_agent_tools_by_plugin(ds))["oaken"]}
    theirs = {tool.name: tool for tool in await create_mcp_server(ds).list_tools() if tool.name.startswith("oaken")}
    assert list(ours) == list(theirs) == ["oaken_count", "oaken_search", "oaken_message"]
    for name, tool in theirs.items():
        schema = tool.input_schema
        assert list(schema["properties"]) == list(ours[name]["properties"])
        assert schema.get("required", []) == ours[name]["required"]
        assert tool.annotations is not None and tool.annotations.read_only_hint


@DOORS
async def test_an_agent_changes_nothing(file: Path, door: Any) -> None:
    before = every_row(file)
    async with door(site(file)) as ask:
        for name, arguments in (*EVERY_TOOL, ("oaken_search", {"q": "is:unread pickup"})):
            assert "error" not in await ask(name, **arguments)
    assert every_row(file) == before


async def test_without_mail_an_agent_is_told_what_to_do() -> None:
    async with by_agent(Datasette(memory=True)) as ask:
        assert "oaken ingest" in (await ask("oaken_count"))["error"]
