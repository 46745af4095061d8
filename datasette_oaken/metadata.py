"""The packaged metadata.yaml, applied at startup: plain ``datasette file.db`` reads none of a plugin's.

What is already said (by the owner's own metadata or configuration, or by hand in a kept internal database) is left alone.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml

CONFIGURED = frozenset({"hidden", "sort", "sort_desc", "label_column", "facets", "size"})
"""Keys of a table that are configuration to Datasette, not metadata."""


def packaged() -> dict[str, Any]:
    """What metadata.yaml says of the one database: description, tables, queries."""
    text = files("datasette_oaken").joinpath("metadata.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["databases"]["oaken"]  # type: ignore[no-any-return]


async def apply(datasette: Any, database: str) -> None:
    """Say of ``database`` what metadata.yaml says, where nothing else is said."""
    said = packaged()
    _configure(datasette, database, said["tables"])
    await datasette.get_internal_database().execute_write_fn(lambda conn: _describe(conn, database, said))
    for name, query in said["queries"].items():
        if await datasette.get_query(database, name) is None:
            # Not trusted, so that it needs the same permission as SQL that is typed.
            await datasette.add_query(
                database,
                name,
                query["sql"],
                title=query["title"],
                description=query["description"],
                parameters=query.get("params"),
                is_trusted=False,
            )


def _describe(conn: Any, database: str, said: dict[str, Any]) -> None:
    """Into Datasette's own tables, in one transaction: ``set_column_metadata`` for each column takes a second."""
    about = [(database, "description", said["description"])]
    tables = [
        (database, table, key, told[key]) for table, told in said["tables"].items() for key in ("title", "description")
    ]
    columns = [
        (database, table, column, "description", description)
        for table, told in said["tables"].items()
        for column, description in told["columns"].items()
    ]
    for into, names, rows in (
        ("metadata_databases", "database_name, key, value", about),
        ("metadata_resources", "database_name, resource_name, key, value", tables),
        ("metadata_columns", "database_name, resource_name, column_name, key, value", columns),
    ):
        marks = ", ".join("?" * len(rows[0]))
        conn.executemany(f"insert into {into} ({names}) values ({marks}) on conflict do nothing", rows)


def _configure(datasette: Any, database: str, tables: dict[str, Any]) -> None:
    """What is configuration to Datasette. There is no call for it: this is where Datasette itself reads it from."""
    datasette.config = datasette.config or {}
    configured = datasette.config.setdefault("databases", {}).setdefault(database, {}).setdefault("tables", {})
    for table, told in tables.items():
        ours = {key: value for key, value in told.items() if key in CONFIGURED}
        theirs = configured.get(table) or {}
        if "sort" in theirs:
            ours.pop("sort_desc", None)  # Datasette takes one of the two
        if ours:
            configured[table] = ours | theirs
