"""Which judge a name means."""

from __future__ import annotations

from collections.abc import Callable

from datasette_oaken.db import OakenError
from datasette_oaken.hookspecs import plugins
from datasette_oaken.settings import JudgeSettings

from .base import Judge

Claim = Callable[[str, str | None, JudgeSettings], Judge | None]
"""``claim(name, allow_remote, settings)``: the judge of that name, or None when it is not of this kind."""


def get_judge(name: str, *, allow_remote: str | None = None, settings: JudgeSettings | None = None) -> Judge:
    """The judge that ``name`` means: a plugin's, ``llm:MODEL`` or ``rule:PATTERN``.

    ``allow_remote``: the host that mail may be sent to, when the model is not on this machine.

    Raises OakenError no_judge, remote_judge, bad_rule.
    """
    settings = settings or JudgeSettings()
    claims: list[Claim] = [claim for found in plugins().hook.register_judges() for claim in found]
    for claim in (*claims, _rule, _llm):
        judge = claim(name, allow_remote, settings)
        if judge is not None:
            return judge
    raise OakenError(
        f"There is no judge called {name!r}. Say llm:MODEL (a model of the llm package), rule:PATTERN (a regular expression), "
        "or human.",
        "no_judge",
    )


def _rule(name: str, allow_remote: str | None, settings: JudgeSettings) -> Judge | None:
    if not name.startswith("rule:"):
        return None
    from .rule import Rule

    return Rule(name.removeprefix("rule:"))


def _llm(name: str, allow_remote: str | None, settings: JudgeSettings) -> Judge | None:
    if not name.startswith("llm:"):
        return None
    from .llm import get_model_judge

    return get_model_judge(name.removeprefix("llm:"), allow_remote=allow_remote, settings=settings)
