"""Settings: ``oaken.toml`` beside the database (or ``--config``, or the plugin setting ``config``), for command and site alike."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .db import OakenError

DEFAULT_CATEGORIES = (
    "personal",
    "family",
    "work",
    "finance",
    "travel",
    "shopping",
    "newsletter",
    "notification",
    "other",
)


@dataclass(frozen=True)
class SearchSettings:
    """``[search]``: how the two retrievers are merged. What each does is in the design and docs/search.md."""

    rrf_k: int = 60
    keyword_weight: float = 1.0
    vector_weight: float = 1.0
    exact_boost: float = 3.0
    keyword_min_match: float = 0.5
    overfetch: int = 5
    max_candidates: int = 500
    vector_timeout_seconds: float = 10.0
    llm_rewrite: bool = False
    model: str | None = None
    categories: tuple[str, ...] = DEFAULT_CATEGORIES


@dataclass(frozen=True)
class Settings:
    """The whole file. Sections that this version does not know are kept in ``other``."""

    search: SearchSettings = field(default_factory=SearchSettings)
    other: dict[str, Any] = field(default_factory=dict)


_LEAST = {"rrf_k": 1, "keyword_weight": 0, "vector_weight": 0, "exact_boost": 0, "overfetch": 1, "max_candidates": 1}


def load(config: str | Path | None, db_path: str | Path | None) -> Settings:
    """Read ``config``, or ``oaken.toml`` in the database's folder when there is one, else the defaults.

    Raises OakenError (bad_config) naming the file and the setting, for an unreadable file, an unknown key or a bad value.
    """
    if config is not None:
        path = Path(config)
        if not path.is_file():
            raise OakenError(f"There is no configuration file at {path}.", "bad_config")
    elif db_path is not None and (beside := Path(db_path).resolve().parent / "oaken.toml").is_file():
        path = beside
    else:
        return Settings()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OakenError(f"{path} could not be read: {error}", "bad_config") from error
    section = data.pop("search", {})
    if not isinstance(section, dict):
        raise OakenError(f"{path}: search must be a section, [search].", "bad_config")
    return Settings(search=_search(section, path), other=data)


def _search(section: dict[str, Any], path: Path) -> SearchSettings:
    known = {f.name: f for f in fields(SearchSettings)}
    values: dict[str, Any] = {}
    for name, value in section.items():
        if name not in known:
            raise OakenError(f"{path}: [search] has no setting {name!r}; it has {', '.join(known)}.", "bad_config")
        values[name] = _checked(name, value, known[name].default, path)
    return SearchSettings(**values)


def _checked(name: str, value: Any, default: Any, path: Path) -> Any:
    def bad(wanted: str) -> OakenError:
        return OakenError(f"{path}: [search] {name} must be {wanted}, not {value!r}.", "bad_config")

    if name == "categories":
        if not (isinstance(value, list) and value and all(isinstance(v, str) and v for v in value)):
            raise bad("a list of words")
        return tuple(v.lower() for v in value)
    if name == "model":
        if not isinstance(value, str):
            raise bad("a model's name")
        return value
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise bad("true or false")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or (isinstance(default, int) and value % 1 != 0):
        raise bad("a whole number" if isinstance(default, int) else "a number")
    if not math.isfinite(value) or value < _LEAST.get(name, 0):
        raise bad(f"at least {_LEAST.get(name, 0)}")
    if name == "keyword_min_match" and value > 1:
        raise bad("between 0 and 1")
    return type(default)(value)
