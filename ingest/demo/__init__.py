"""The demo mailbox: about a thousand messages over eight years, made from a seed, for trying, showing and measuring.

The same seed gives the same bytes on every machine and Python. Nobody in it exists.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from . import store
from .planted import Count, Fact, Question, counts_of, facts_of
from .post import DemoMessage, sorted_out
from .stories import tell_all

__all__ = ["Count", "DemoMessage", "Fact", "Question", "counts", "facts", "messages", "write_maildir", "write_mbox"]


@lru_cache(maxsize=2)
def _told(seed: int) -> tuple[tuple[DemoMessage, ...], tuple[Fact, ...]]:
    post, planted = tell_all(seed)
    return tuple(sorted_out(post)), tuple(facts_of(planted))


def messages(seed: int = 1) -> Iterator[DemoMessage]:
    """Every message, in order of time."""
    return iter(_told(seed)[0])


def facts(seed: int = 1) -> list[Fact]:
    """What was planted in the mail, with questions about it; see `planted.Fact`."""
    return list(_told(seed)[1])


def counts(seed: int = 1) -> list[Count]:
    """Questions whose answer is a number of messages, with the messages that truly count; see `planted.Count`."""
    return counts_of(_told(seed)[0])


def write_mbox(path: str | Path, seed: int = 1, mailbox: str | None = None) -> int:
    """Writes one mboxrd file (of one mailbox, if named). How many messages it holds."""
    return store.write_mbox(Path(path), (m for m in messages(seed) if mailbox in (None, m.mailbox)))


def write_maildir(path: str | Path, seed: int = 1) -> int:
    """Writes a Maildir++ with .Sent and .Archive beside INBOX. How many messages it holds."""
    return store.write_maildir(Path(path), messages(seed))
