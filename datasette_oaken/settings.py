"""Settings: ``oaken.toml`` beside the database (or ``--config``, or the plugin setting ``config``), for command and site alike."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from .db import OakenError

T = TypeVar("T")

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
class JudgeSettings:
    """``[judge]``: what a judge is given, and how a model is reached. docs/judges.md says what each does."""

    reading_chars: int = 24_000
    context_chars: int = 3_000
    api_base: str | None = None
    timeout_seconds: float = 300.0
    max_tokens: int = 700
    workers: int = 1


@dataclass(frozen=True)
class Settings:
    """The whole file. Sections that this version does not know are kept in ``other``."""

    search: SearchSettings = field(default_factory=SearchSettings)
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    other: dict[str, Any] = field(default_factory=dict)


_LEAST = {
    "rrf_k": 1,
    "overfetch": 1,
    "max_candidates": 1,
    "reading_chars": 200,
    "timeout_seconds": 1,
    "max_tokens": 50,
    "workers": 1,
}
"""The least that a number may be, where that is not 0."""
_TEXTS = {"model": "a model's name", "api_base": "the address of a server, such as http://127.0.0.1:8080/v1"}


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
    return Settings(
        search=_section(SearchSettings, "search", data.pop("search", {}), path),
        judge=_section(JudgeSettings, "judge", data.pop("judge", {}), path),
        other=data,
    )


def _section(kind: type[T], title: str, section: Any, path: Path) -> T:
    """One section, as the dataclass that describes it; a setting that it does not have is an error."""
    if not isinstance(section, dict):
        raise OakenError(f"{path}: {title} must be a section, [{title}].", "bad_config")
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name, value in section.items():
        if name not in known:
            raise OakenError(f"{path}: [{title}] has no setting {name!r}; it has {', '.join(known)}.", "bad_config")
        try:
            values[name] = _checked(name, value, known[name].default)
        except ValueError as error:
            raise OakenError(f"{path}: [{title}] {name} must be {error}, not {value!r}.", "bad_config") from None
    return kind(**values)


def _checked(name: str, value: Any, default: Any) -> Any:
    """The value of a setting. Raises ValueError saying what is wanted."""
    if name == "categories":
        if not (isinstance(value, list) and value and all(isinstance(v, str) and v for v in value)):
            raise ValueError("a list of words")
        return tuple(v.lower() for v in value)
    if name in _TEXTS:
        if not (isinstance(value, str) and value):
            raise ValueError(_TEXTS[name])
        return value
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError("true or false")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or (isinstance(default, int) and value % 1 != 0):
        raise ValueError("a whole number" if isinstance(default, int) else "a number")
    if not math.isfinite(value) or value < _LEAST.get(name, 0):
        raise ValueError(f"at least {_LEAST.get(name, 0)}")
    if name == "keyword_min_match" and value > 1:
        raise ValueError("between 0 and 1")
    return type(default)(value)
