"""``oaken search``: the one search, from the command line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from datasette_oaken import db, settings
from datasette_oaken.embedders import Embedded, QueryEmbedder, get_embedder
from datasette_oaken.query import parse
from datasette_oaken.search import read_mode, search
from datasette_oaken.vector import answering


def find(
    db_path: Path,
    query: str,
    *,
    mode: str,
    limit: int,
    next_token: str | None,
    fields: dict[str, list[str]],
    config: Path | None,
) -> dict[str, Any]:
    """The search answer for ``query`` over the file, opened read-only. Raises OakenError."""
    began = time.perf_counter()
    chosen = settings.load(config, db_path).search
    asked = parse(query, categories=chosen.categories).with_fields(fields)
    conn = db.connect(db_path, readonly=True)
    try:
        embedded: Embedded | None = None
        generation = answering(conn)
        if read_mode(mode) != "keyword" and asked.free_text and generation is not None:
            queries = QueryEmbedder(lambda: get_embedder(generation.model))
            embedded = queries.embed(asked.free_text, chosen.vector_timeout_seconds)
        answer = search(conn, asked, mode=mode, limit=limit, next=next_token, settings=chosen, embedded=embedded)
        answer["timings_ms"]["total"] = round((time.perf_counter() - began) * 1000, 2)  # the embedding with it
        return answer
    finally:
        conn.close()
