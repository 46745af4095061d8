"""What the site stands on: which attached database is Oaken's, its settings, its embedder, and who may look.

A Datasette may serve several files. The one that the pages are about is the first that is Oaken's, by the application id in
its header or, where a copy lost that, by its tables; or the one that the plugin setting ``database`` names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from datasette.resources import DatabaseResource, TableResource
from datasette.utils import sqlite_timelimit
from datasette.utils.sqlite import sqlite3

from . import schema
from .db import OakenError, is_oaken, load_vec, register_functions
from .embedders import QueryEmbedder, get_embedder
from .settings import Settings, load
from .vector import answering

PLUGIN = "datasette-oaken"
SEARCH_PATH = "/-/oaken"
QUESTIONS_PATH = "/-/oaken/questions"
TIME_LIMIT_MS = 10_000
"""How long one page may keep SQLite busy. ``execute_fn`` sets no limit of its own."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Site:
    """One request's view of the site: ``db`` is Datasette's database object, ``settings`` those of oaken.toml."""

    datasette: Any
    db: Any
    settings: Settings
    embedder: QueryEmbedder

    async def read(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """``work(conn, …)`` on a read connection, off the event loop and cut after ``TIME_LIMIT_MS``."""

        def limited(conn: sqlite3.Connection) -> T:
            with sqlite_timelimit(conn, TIME_LIMIT_MS):
                return work(conn, *args, **kwargs)

        return await self.db.execute_fn(limited)


def looks_like_ours(conn: sqlite3.Connection) -> bool:
    """Whether the database behind ``conn`` is Oaken's. Never raises: what is no database is not ours."""
    try:
        if is_oaken(conn):
            return True
        names = {row[0] for row in conn.execute("select name from sqlite_master where type = 'table'")}
    except sqlite3.DatabaseError:
        return False
    return {"messages", "raw_messages", "message_sections", "recall_chunks", "recall_generations"} <= names


def prepare(conn: sqlite3.Connection) -> None:
    """Give a connection to an Oaken file what its schema needs: our SQL functions, and sqlite-vec where it can be loaded."""
    if not looks_like_ours(conn):
        return
    register_functions(conn)
    load_vec(conn)
    conn.execute("pragma cache_size = -32768")
    conn.execute("pragma secure_delete = on")


async def find(datasette: Any) -> Any | None:
    """The Datasette database that is Oaken's, or None."""
    wanted = (datasette.plugin_config(PLUGIN) or {}).get("database")
    for name, db in datasette.databases.items():
        if wanted is None or name == wanted:
            try:
                if await db.execute_fn(looks_like_ours):
                    return db
            except sqlite3.DatabaseError:
                continue  # not a database, or not readable: Datasette's own pages say so
    return None


async def site(datasette: Any) -> Site | None:
    """The site over the Oaken database attached to this Datasette, or None when there is none.

    Raises OakenError newer_file or older_file for a schema that this version does not read, bad_config for its settings.
    """
    db = await find(datasette)
    if db is None:
        return None
    version, model = await db.execute_fn(_version_and_model)
    if version > schema.VERSION:
        raise OakenError(
            f"{db.name} was written by a newer Oaken (schema {version}, this one knows {schema.VERSION}). "
            "Upgrade with: pip install --upgrade datasette-oaken",
            "newer_file",
        )
    if 0 < version < schema.VERSION:
        raise OakenError(
            f"{db.name} was written by an older Oaken. Bring it up to date with: oaken status --db {db.path}",
            "older_file",
        )
    settings = _settings(datasette, db)
    return Site(datasette, db, settings, _embedder(datasette, model or settings.search.model))


def _version_and_model(conn: sqlite3.Connection) -> tuple[int, str | None]:
    """The schema's version, and the model whose vectors answer: the one that queries must be embedded with."""
    version = conn.execute("pragma user_version").fetchone()[0]
    try:
        generation = answering(conn)
    except sqlite3.DatabaseError:
        generation = None  # its table is gone: search goes on by keyword, and says so
    return version, generation.model if generation else None


def _settings(datasette: Any, db: Any) -> Settings:
    cached = getattr(datasette, "_oaken_settings", None)
    if cached is None or cached[0] != db.path:
        cached = (db.path, load((datasette.plugin_config(PLUGIN) or {}).get("config"), db.path))
        datasette._oaken_settings = cached
    return cached[1]


def _embedder(datasette: Any, model: str | None) -> QueryEmbedder:
    """One QueryEmbedder a Datasette, made on first use (or when the file changes models): it holds the model and a thread."""
    cached = getattr(datasette, "_oaken_embedder", None)
    if cached is None or cached[0] != model:
        cached = (model, QueryEmbedder(partial(get_embedder, model)))
        datasette._oaken_embedder = cached
    return cached[1]


async def start(datasette: Any) -> None:
    """At startup: describe the tables, and load the model beside the first requests so that none waits for it."""
    from .metadata import apply

    db = await find(datasette)
    if db is None:
        return
    await apply(datasette, db.name)
    datasette.add_background_task(_warm_up, name="oaken: load the embedding model")


async def _warm_up(datasette: Any) -> None:
    here = await site(datasette)
    if here is not None:
        here.embedder.warm()


async def ensure_may_read(datasette: Any, db: Any, actor: Any, tables: Sequence[str]) -> None:
    """Raise Forbidden unless ``actor`` may see the database and every one of ``tables`` by Datasette's own rules."""
    await datasette.ensure_permission(action="view-database", resource=DatabaseResource(db.name), actor=actor)
    for table in tables:
        await datasette.ensure_permission(action="view-table", resource=TableResource(db.name, table), actor=actor)


async def may_read(here: Site, actor: Any, table: str) -> bool:
    """Whether ``actor`` may see this table too, for what a page shows only to those."""
    resource = TableResource(here.db.name, table)
    return bool(await here.datasette.allowed(action="view-table", resource=resource, actor=actor))


async def may_search(datasette: Any, db: Any, actor: Any) -> bool:
    """Whether to offer ``actor`` the way in."""
    return await datasette.allowed(
        action="view-database", resource=DatabaseResource(db.name), actor=actor
    ) and await datasette.allowed(action="view-table", resource=TableResource(db.name, "messages"), actor=actor)


async def search_links(datasette: Any, actor: Any, database: str | None = None) -> list[dict[str, str]]:
    """The links to the search page and the questions, for Datasette's menus; none where there is no right to them."""
    db = await find(datasette)
    if db is None or (database is not None and database != db.name) or not await may_search(datasette, db, actor):
        return []
    links = [(SEARCH_PATH, "Search mail", "By word and by meaning, every message in this file")]
    if await datasette.allowed(action="view-table", resource=TableResource(db.name, "recall_verdicts"), actor=actor):
        links.append(
            (QUESTIONS_PATH, "How many times", "Questions judged over every message, with their counts and evidence")
        )
    return [
        {"href": datasette.urls.path(path), "label": label} | ({"description": about} if database is not None else {})
        for path, label, about in links
    ]


async def jump_items(datasette: Any, actor: Any) -> list[Any]:
    """The search page and the questions, in Datasette's jump menu."""
    from datasette.jump import JumpSQL

    about = ("Search by word and by meaning", "Questions judged over every message")
    return [
        JumpSQL.menu_item(label=link["label"], url=link["href"], description=text)
        for link, text in zip(await search_links(datasette, actor), about, strict=False)
    ]
