"""Asking the one search function on behalf of the site: fields from a query string, the query embedded off the SQL threads."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from . import query as reader
from . import search
from .api import MAX_LIMIT, whole_number
from .site_db import Site

DEFAULT_LIMIT = 20
FIELDS = (*reader.OPERATORS, *(f"-{name}" for name in reader.OPERATORS))


def asked(here: Site, args: Any) -> reader.Query:
    """The query of a query string: ``q`` as typed, and every operator as a field (``from=school``, ``-label=old``)."""
    categories = here.settings.search.categories
    typed = reader.parse(args.get("q") or "", categories=categories)
    fields = {name: args.getlist(name) for name in FIELDS if name in args}
    return typed.with_fields(fields, categories=categories)


async def ask(here: Site, args: Any, query: reader.Query | None = None) -> dict[str, Any]:
    """The search answer for ``args``: q, mode, limit, next and every filter. Raises OakenError for what cannot be asked."""
    began = time.perf_counter()
    query = query or asked(here, args)
    mode = search.read_mode(args.get("mode") or "hybrid")
    limit = whole_number(args, "limit", DEFAULT_LIMIT, least=1, most=MAX_LIMIT)
    embedded = None
    if mode != "keyword" and query.free_text:
        timeout = here.settings.search.vector_timeout_seconds
        embedded = await asyncio.to_thread(here.embedder.embed, query.free_text, timeout)
    answer = await here.read(
        search.search,
        query,
        mode=mode,
        limit=limit,
        next=args.get("next") or None,
        settings=here.settings.search,
        embedded=embedded,
    )
    answer["timings_ms"]["total"] = round((time.perf_counter() - began) * 1000, 2)  # the embedding with it
    return answer
