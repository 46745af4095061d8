"""What a question is asked of: filters in the search's own language, with nothing in them that depends on a phrasing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from .db import OakenError
from .query import Filter, Query, parse
from .settings import DEFAULT_CATEGORIES

REFUSED = {
    "is": "whether a message is read changes by reading it, and the count would change with it",
}
"""Filters that a scope may not have, and why."""


def read_scope(
    text: str, *, categories: Sequence[str] = DEFAULT_CATEGORIES, today: date | None = None
) -> tuple[str, tuple[Filter, ...]]:
    """The scope as it is kept (dates absolute, ``''`` for all mail; reading it again gives the same) and its filters.

    Raises OakenError bad_scope for words, phrases and exclusions (the count would depend on them), for ``is:``, and for
    anything that the search would only warn of: a filter that filters nothing must not look like one.
    """
    query = parse(text, categories=categories, today=today)
    if query.words or query.phrases or query.excluded:
        said = " ".join([*query.words, *query.phrases, *query.excluded])
        raise OakenError(
            f"A scope takes filters only, such as from:school after:2021; {said!r} are words to search for, and a count that "
            "depended on them would miss what was put in other words. Put them into the question instead.",
            "bad_scope",
        )
    if query.warnings:
        raise OakenError(f"The scope could not be read: {' '.join(query.warnings)}", "bad_scope")
    for item in query.filters:
        if item.field in REFUSED:
            raise OakenError(f"A scope cannot have {item.printed()}: {REFUSED[item.field]}.", "bad_scope")
    return Query(filters=query.filters).printed(), query.filters


def filters_of(resolved: str, *, categories: Sequence[str] | None = None) -> tuple[Filter, ...]:
    """The filters of a scope as it was kept. A category that is no longer configured is still understood."""
    if categories is None:
        categories = _Any()
    return parse(resolved, categories=categories).filters


class _Any(Sequence[str]):
    """Every category: what was kept was read when it was known."""

    def __contains__(self, value: object) -> bool:
        return True

    def __len__(self) -> int:
        return 0

    def __getitem__(self, index: object) -> str:  # type: ignore[override]
        raise IndexError(index)
