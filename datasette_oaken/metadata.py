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
    known = await datasette.get_database_metadata(database)
    for key in {"title", "description"} & said.keys() - known.keys():
        await datasette.set_database_metadata(database, key, said[key])
    for table, about in said["tables"].items():
        await _apply_table(datasette, database, table, about)
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


async def _apply_table(datasette: Any, database: str, table: str, about: dict[str, Any]) -> None:
    known = await datasette.get_resource_metadata(database, table)
    for key in {"title", "description"} - known.keys():
        await datasette.set_resource_metadata(database, table, key, about[key])
    for column, description in about["columns"].items():
        if "description" not in await datasette.get_column_metadata(database, table, column):
            await datasette.set_column_metadata(database, table, column, "description", description)
    configured = {key: value for key, value in about.items() if key in CONFIGURED}
    if configured:
        # There is no call to configure a table: this is where Datasette itself reads it from.
        datasette.config = datasette.config or {}
        tables = datasette.config.setdefault("databases", {}).setdefault(database, {}).setdefault("tables", {})
        tables[table] = configured | (tables.get(table) or {})
