"""Where mail comes from. ``detect`` finds out what a path is; what it returns yields an ``Entry`` a message, light until it is
loaded, and a ``Failure`` for what could not be read. How they are used, and how a plugin adds a source: ``base``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasette_oaken.db import OakenError

from .base import Claim, Entry, Failure, Place, Resumed, Source, digest_of, key_of
from .detection import detect

__all__ = ["Claim", "Entry", "Failure", "Place", "Resumed", "Source", "detect", "detect_all", "digest_of", "key_of"]


def detect_all(paths: Sequence[Path], mailbox: str | None = None) -> tuple[list[Source], list[dict[str, Any]]]:
    """The sources of several paths, and a failure (key, error, attempts) for each that is no mail: the others go on.

    Raises OakenError when none is mail: the first one's.
    """
    sources: list[Source] = []
    errors: list[tuple[Path, OakenError]] = []
    for path in paths:
        try:
            sources.append(detect(path, mailbox=mailbox))
        except OakenError as error:
            errors.append((path, error))
    if errors and not sources:
        raise errors[0][1]
    return sources, [{"key": str(path), "error": str(error), "attempts": 1} for path, error in errors]
