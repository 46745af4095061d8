"""What a judge is, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from datasette_oaken.readings import Reading


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's answer about one message. ``status``: yes, no, unclear or error; ``considerations``: the best case against."""

    status: str
    reasoning: str | None = None
    considerations: str | None = None
    quote: str | None = None
    error: str | None = None


class Judge(Protocol):
    """Anything that answers a question about a reading. Its verdicts rest on ``model`` and ``prompt_version``: change either,
    and they are judged again.

    ``name``: as it was asked for (``llm:MODEL``, ``rule:PATTERN``). ``model``: with its version or digest. ``remote_host``:
    where mail is sent, None on this machine. ``workers``: how many messages it is best given at a time; 0: it answers at once.
    """

    name: str
    model: str
    prompt_version: str
    remote_host: str | None
    workers: int

    def judge(self, question: str, criterion: str, reading: Reading) -> Judgement:
        """Answer about one message, from any thread. What goes wrong with it is a Judgement of status "error".

        Raises OakenError only when going on is pointless (the model's server is gone).
        """
