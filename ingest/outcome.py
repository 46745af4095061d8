"""What an ingest did, as it is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Report:
    """The design's answer. ``failures``: key, error, attempts of each message that could not be stored."""

    added: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    duplicates: int = 0
    chunks_added: int = 0
    chunks_deleted: int = 0
    embedding_backlog: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    moved: dict[int, list[int]] = field(
        default_factory=dict
    )  # by question: messages that came into its scope, and left it
    unlisted: list[str] = field(default_factory=list)  # what a source could not look into: what lies there is not known
    complete: dict[str, Any] | None = None  # what --complete came to, where it was asked for

    @property
    def seen(self) -> int:
        """Messages met, stored or not."""
        return self.added + self.updated + self.unchanged + self.duplicates + len(self.failures)

    def as_dict(self) -> dict[str, Any]:
        """As ``oaken ingest --json`` prints it."""
        nothing = bool(self.failures) and self.seen == len(self.failures)
        return {
            "ok": not nothing,
            **({"error": "Nothing could be read: see failures.", "code": "nothing_read"} if nothing else {}),
            "added": self.added,
            "updated": self.updated,
            "deleted": self.deleted,
            "unchanged": self.unchanged,
            "duplicates": self.duplicates,
            "chunks_added": self.chunks_added,
            "chunks_deleted": self.chunks_deleted,
            "embedding_backlog": self.embedding_backlog,
            "failures": self.failures,
            **({"complete": self.complete} if self.complete is not None else {}),
        }
