"""The Datasette plugin: hook implementations only. What they do lives beside this file, and is imported when it is needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from datasette import hookimpl

__all__: list[str] = []


@hookimpl
def startup(datasette: Any) -> Callable[[], Awaitable[None]]:
    from .site_db import start

    async def inner() -> None:
        await start(datasette)

    return inner


@hookimpl
def prepare_connection(conn: Any) -> None:
    from .site_db import prepare

    prepare(conn)


@hookimpl
def register_routes() -> list[tuple[str, Callable[..., Any]]]:
    from .routes import ROUTES

    return ROUTES


@hookimpl
def menu_links(datasette: Any, actor: Any) -> Callable[[], Awaitable[list[dict[str, str]]]]:
    from .site_db import search_links

    return lambda: search_links(datasette, actor)


@hookimpl
def jump_items_sql(datasette: Any, actor: Any) -> Callable[[], Awaitable[list[Any]]]:
    from .site_db import jump_items

    return lambda: jump_items(datasette, actor)


@hookimpl
def database_actions(datasette: Any, actor: Any, database: str) -> Callable[[], Awaitable[list[dict[str, str]]]]:
    from .site_db import search_links

    return lambda: search_links(datasette, actor, database=database)


@hookimpl
def top_homepage(datasette: Any, request: Any) -> Callable[[], Awaitable[str | None]]:
    from .pages import homepage

    return lambda: homepage(datasette, request)


@hookimpl
def register_agent_tools(datasette: Any) -> list[Any]:  # datasette-agent's hook
    from .agent_tools import for_agent

    return for_agent(datasette)


@hookimpl
def register_mcp_tools(datasette: Any, mcp: Any) -> None:  # datasette-mcp's hook
    from .mcp_tools import add

    add(datasette, mcp)
