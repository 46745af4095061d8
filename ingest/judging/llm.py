"""The judge ``llm:MODEL``: a language model through the llm package, on this machine unless a host was allowed by name.

Asked at temperature 0, held to a JSON schema where the model can be, given one chance to repair an answer. What goes wrong with
one message is an error of that message; a server that is gone stops the run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from datasette_oaken.db import OakenError
from datasette_oaken.readings import Reading
from datasette_oaken.settings import JudgeSettings

from . import answer, prompt
from .base import Judgement
from .identity import identity
from .locality import allowed, host_of

GIVE_UP_AFTER = 3
"""Messages in a row that no server answered: more of them would only be more errors."""
_UNANSWERED = ("APIConnectionError", "ConnectError", "ConnectionError", "ConnectionRefusedError", "AuthenticationError")
_UNANSWERED += ("PermissionDeniedError", "NotFoundError", "NeedsKeyException")
"""Exceptions, by name, that say that the next message will fare no better. Named, since each plugin has its own library's."""
_LIMITS = ("max_tokens", "num_predict", "max_output_tokens")


class TooLong(Exception):
    """A model that did not answer in time."""


def get_model_judge(name: str, *, allow_remote: str | None, settings: JudgeSettings) -> ModelJudge:
    """The judge for llm's model ``name``, or with ``settings.api_base`` for a model of that server.

    Raises OakenError no_judge (llm is not installed, or knows no such model), remote_judge.
    """
    try:
        import jsonschema  # noqa: F401
        import llm
    except ImportError as error:
        raise OakenError(
            f"Judging by a model needs the package {error.name}: pip install 'datasette-oaken[judge]'", "no_judge"
        ) from error
    if settings.api_base:
        model = _of_server(name, settings.api_base)
    else:
        try:
            model = llm.get_model(name)
        except Exception as error:  # what a plugin raises while it is loaded is its own
            known = sorted({one.model_id for one in _models() if host_of(one) is None})
            raise OakenError(
                f"llm has no model {name!r} ({error}). "
                + (
                    f"On this machine: {', '.join(known)}."
                    if known
                    else "It knows none on this machine: see docs/judges.md."
                ),
                "no_judge",
            ) from error
    return ModelJudge(name, model, allowed(host_of(model), allow_remote, f"llm:{name}"), settings)


def _models() -> list[Any]:
    import llm

    try:
        return llm.get_models()
    except Exception:
        return []


def _of_server(name: str, api_base: str) -> Any:
    """llm's own model of an OpenAI-compatible server, such as llama.cpp's or LM Studio's."""
    from llm.default_plugins.openai_models import Chat

    class Here(Chat):
        needs_key = ""
        key_env_var = None

    return Here(name, model_name=name, api_base=api_base, supports_schema=True)


class ModelJudge:
    """A judge over a model of llm; see ``base.Judge``. Safe to use from several threads."""

    prompt_version = prompt.PROMPT_VERSION

    def __init__(self, name: str, model: Any, remote_host: str | None, settings: JudgeSettings) -> None:
        self.name, self.remote_host, self.workers = f"llm:{name}", remote_host, settings.workers
        self._model, self._settings = model, settings
        self._lock, self._unanswered = threading.Lock(), 0
        if hasattr(model, "get_client"):
            _keep_to_its_host(model, local=remote_host is None, seconds=settings.timeout_seconds)
        self.model = identity(model, api_base=getattr(model, "api_base", None), seconds=settings.timeout_seconds)
        self._schema = bool(getattr(model, "supports_schema", False))
        self._options = _options(model, settings)

    def judge(self, question: str, criterion: str, reading: Reading) -> Judgement:
        """One message; an error where no valid answer came, after one repair. Raises OakenError judge_unavailable."""
        system, user = prompt.build(question, criterion, reading)
        try:
            text = self._ask(system, user)
            try:
                said = answer.read(text)
            except answer.BadAnswer as bad:
                said = answer.read(self._ask(system, f"{user}\n\n{prompt.repair(text, str(bad))}"))
        except answer.BadAnswer as bad:
            return Judgement("error", error=f"The model's answer could not be used, nor its second one: {bad}"[:500])
        except OakenError:
            raise
        except TooLong as late:
            return Judgement("error", error=str(late))
        except Exception as error:
            return self._failed(error)
        with self._lock:
            self._unanswered = 0
        return said

    def _failed(self, error: Exception) -> Judgement:
        told = f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
        if any(kind.__name__ in _UNANSWERED for kind in type(error).__mro__) and not isinstance(error, TimeoutError):
            with self._lock:
                self._unanswered += 1
                if self._unanswered >= GIVE_UP_AFTER:
                    raise OakenError(
                        f"The model does not answer ({told}). Start it, and run the same command again with --retry-errors.",
                        "judge_unavailable",
                    ) from error
        else:
            with self._lock:
                self._unanswered = 0
        return Judgement("error", error=told)

    def _ask(self, system: str, user: str) -> str:
        return _within(self._settings.timeout_seconds, lambda: self._prompt(system, user))

    def _prompt(self, system: str, user: str) -> str:
        if self._schema:
            try:
                return str(
                    self._model.prompt(user, system=system, schema=answer.SCHEMA, stream=False, **self._options).text()
                )
            except Exception as error:
                # Some servers know no schema: the answer is checked against it here in any case.
                if type(error).__name__ != "BadRequestError" or (
                    "format" not in str(error) and "schema" not in str(error)
                ):
                    raise
                self._schema = False
        return str(self._model.prompt(user, system=system, stream=False, **self._options).text())


def _options(model: Any, settings: JudgeSettings) -> dict[str, Any]:
    """Temperature 0 and a bound on the answer, by the names that the model has for them."""
    fields = getattr(model.Options, "model_fields", {})
    options: dict[str, Any] = {"temperature": 0} if "temperature" in fields else {}
    limit = next((name for name in _LIMITS if name in fields), None)
    return options | ({limit: settings.max_tokens} if limit else {})


def _keep_to_its_host(model: Any, *, local: bool, seconds: float) -> None:
    """Make an OpenAI client that follows no redirect and, for a model here, no proxy: neither may carry mail elsewhere."""
    import openai

    http = openai.DefaultHttpxClient(follow_redirects=False, trust_env=not local, timeout=seconds)
    client_of = model.get_client

    def get_client(key: Any, *, async_: bool = False) -> Any:
        return client_of(key, async_=async_).with_options(http_client=http, timeout=seconds, max_retries=0)

    model.get_client = get_client


def _within(seconds: float, work: Callable[[], str]) -> str:
    """What ``work`` returns, or TooLong. It runs on a thread of its own, since not every model can be interrupted."""
    result: list[str] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True, name="oaken model")
    began = time.monotonic()
    thread.start()
    thread.join(seconds)
    if failure:
        if "Timeout" in type(failure[0]).__name__:
            raise TooLong(f"The model took longer than {seconds:g} seconds.") from failure[0]
        raise failure[0]
    if not result:
        raise TooLong(f"The model took longer than {time.monotonic() - began:.0f} seconds.")
    return result[0]
