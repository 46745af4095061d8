"""metadata.yaml says something of every table and column, nothing of what is not there, and its queries run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette
from oaken_site import build, some_mail

from datasette_oaken import db
from datasette_oaken.metadata import packaged

pytestmark = pytest.mark.asyncio


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("metadata") / "letters.db", some_mail())


def schema(path: Path) -> dict[str, list[str]]:
    """Every table and view with its columns, but for what SQLite and its virtual tables keep for themselves."""
    conn = db.connect(path, readonly=True)
    try:
        kinds = {row["name"]: row["type"] for row in conn.execute("pragma table_list") if row["schema"] == "main"}
        names = [
            name
            for name, kind in kinds.items()
            if kind != "shadow" and not name.startswith("sqlite_") and not name.startswith("_recall_vec0_")
        ]
        return {name: [row["name"] for row in conn.execute(f"pragma table_info([{name}])")] for name in names}
    finally:
        conn.close()


async def test_every_table_and_column_is_described_and_none_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    db.connect(path, create=True).close()
    described = {name: list(about["columns"]) for name, about in packaged()["tables"].items()}
    assert described == {name: described.get(name) and columns for name, columns in schema(path).items()}


async def test_every_description_says_something() -> None:
    for name, about in packaged()["tables"].items():
        texts = [about["title"], about["description"], *about["columns"].values()]
        assert all(isinstance(text, str) and text.strip() for text in texts), name
    for name, query in packaged()["queries"].items():
        assert all(query[key].strip() for key in ("title", "description", "sql")), name


async def test_the_descriptions_stand_on_datasettes_pages_whatever_the_file_is_called(made: Path) -> None:
    ds = Datasette([str(made)])
    page = (await ds.client.get("/letters/messages")).text
    about = packaged()["tables"]["messages"]
    assert about["description"] in page
    assert about["columns"]["copy_of"] in page
    database = (await ds.client.get("/letters.json")).json()
    hidden = {table["name"] for table in database["tables"] if table["hidden"]}
    assert {name for name, table in packaged()["tables"].items() if table.get("hidden")} <= hidden
    assert not {"messages", "attachments", "threads", "recall_chunks"} & hidden


@pytest.mark.parametrize("name", sorted(packaged()["queries"]))
async def test_each_query_runs_and_is_offered(made: Path, name: str) -> None:
    ds = Datasette([str(made)])
    response = await ds.client.get(f"/letters/{name}.json?address=ada@example.org")
    assert response.status_code == 200, response.text
    assert response.json()["ok"] is True
    assert packaged()["queries"][name]["title"] in (await ds.client.get("/letters/-/queries")).text


async def test_a_query_needs_the_permission_that_sql_needs(made: Path) -> None:
    ds = Datasette([str(made)], settings={"default_allow_sql": False})
    assert (await ds.client.get("/letters/mail_by_month.json")).status_code == 403


async def test_what_the_owner_says_comes_first(made: Path) -> None:
    said: dict[str, Any] = {
        "databases": {
            "letters": {
                "description": "Grandmother's letters",
                "tables": {"messages": {"description": "What she wrote", "columns": {"subject": "About what"}}},
            }
        }
    }
    configured: dict[str, Any] = {
        "databases": {
            "letters": {
                "tables": {"oaken_facts": {"hidden": False}, "messages": {"sort": "id"}},
                "queries": {"mail_by_month": {"sql": "select 'mine' as mine"}},
            }
        }
    }
    ds = Datasette([str(made)], metadata=said, config=configured)
    await ds.invoke_startup()
    assert (await ds.get_database_metadata("letters"))["description"] == "Grandmother's letters"
    messages = await ds.get_resource_metadata("letters", "messages")
    assert (messages["description"], messages["title"]) == ("What she wrote", "Messages")
    assert (await ds.get_column_metadata("letters", "messages", "subject"))["description"] == "About what"
    assert (await ds.table_config("letters", "oaken_facts"))["hidden"] is False
    assert await ds.table_config("letters", "messages") == {"sort": "id", "label_column": "subject"}
    assert (await ds.client.get("/letters/messages")).status_code == 200
    assert (await ds.client.get("/letters/mail_by_month.json")).json()["rows"] == [{"mine": "mine"}]


async def test_a_database_that_is_not_oakens_is_left_alone(made: Path, tmp_path: Path) -> None:
    import sqlite_utils

    other = tmp_path / "shop.db"
    sqlite_utils.Database(other)["messages"].insert({"id": 1})
    ds = Datasette([str(other), str(made)])
    await ds.invoke_startup()
    assert await ds.get_database_metadata("shop") == {}
    assert await ds.get_resource_metadata("shop", "messages") == {}
    assert (await ds.get_resource_metadata("letters", "messages"))["title"] == "Messages"
    error = (await ds.client.get("/shop/-/query.json?sql=select+vec_version()")).json()
    assert error["ok"] is False and "no such function" in error["error"]


async def test_no_one_who_writes_sql_can_load_an_extension(made: Path) -> None:
    ds = Datasette([str(made)])
    rows = (await ds.client.get("/letters/-/query.json?sql=select+vec_version()+as+v")).json()["rows"]
    assert rows[0]["v"].startswith("v")
    refused = (await ds.client.get("/letters/-/query.json?sql=select+load_extension('x')")).json()
    assert (refused["ok"], refused["error"]) == (False, "not authorized")
