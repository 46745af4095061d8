"""The judge ``llm:MODEL``: a language model through the llm package, on this machine unless a host was allowed by name.

Asked at temperature 0, held to a JSON schema where the model can be, given one chance to repair an answer. What goes wrong with
one message is an error of that message; a server that is gone stops the run. Nothing is written to llm's own log.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from datasette_oaken.db import OakenError
from datasette_oaken.readings import Reading
from datasette_oaken.settings import JudgeSettings

from . import answer, prompt
from .base import Judgement
from .client import keep_to_its_host, spare_this_machine
from .identity import identity
from .locality import address_of, allowed, host_of

GIVE_UP_AFTER = 3
"""Messages in a row that no server answered: more of them would only be more errors."""
_UNANSWERED = frozenset(
    "APIConnectionError ConnectError ConnectTimeout ConnectionError ConnectionRefusedError NeedsKeyException".split()
)
"""Exceptions, by name, that say that the next message will fare no better. Named, since each plugin has its own library's."""
_UNANSWERED_STATUS = frozenset({301, 302, 303, 307, 308, 401, 402, 403, 404, 407, 429, 502, 503, 504})
_LIMITS = ("max_tokens", "max_output_tokens", "num_predict")
_PROMPT_CHARS = 4_000
"""Of instructions, beside the reading."""


class TooLong(Exception):
    """A model that did not answer in time."""


def get_model_judge(name: str, *, allow_remote: str | None, settings: JudgeSettings) -> ModelJudge:
    """The judge for llm's model ``name``, or with ``settings.api_base`` for a model of that server.

    Raises OakenError no_judge (llm is not installed, or knows no such model), remote_judge.
    """
    try:
        import jsonschema  # noqa: F401
        import llm  # noqa: F401
    except ImportError as error:
        raise OakenError(
            f"Judging by a model needs the package {error.name}: pip install 'datasette-oaken[judge]'", "no_judge"
        ) from error
    if not name:
        raise OakenError("Say which model: llm:MODEL. `llm models` lists those that llm knows.", "no_judge")
    spare_this_machine()
    model = _of_server(name, settings.api_base) if settings.api_base else _of_llm(name)
    return ModelJudge(name, model, allowed(host_of(model), allow_remote, f"llm:{name}"), settings)


def _of_llm(name: str) -> Any:
    """llm's model of that name, or Ollama's: its plugin has them as ``ollama/NAME`` since its version 0.19."""
    import llm

    try:
        try:
            return llm.get_model(name)
        except llm.UnknownModelError:
            return llm.get_model(f"ollama/{name}")
    except llm.UnknownModelError as error:
        raise OakenError(f"llm has no model {name!r}. {_known()}", "no_judge") from error
    except Exception as error:  # what a plugin raises while it is loaded is its own
        raise OakenError(f"llm could not load its models: {type(error).__name__}: {error}", "no_judge") from error


def _known() -> str:
    import llm

    try:
        here = sorted(model.model_id for model in llm.get_models() if host_of(model) is None)
    except Exception:
        here = []
    if here:
        return f"On this machine it knows {', '.join(here)}."
    return "It knows none on this machine; docs/judges.md says how to set one up."


def _of_server(name: str, api_base: str) -> Any:
    """llm's own model of an OpenAI-compatible server, such as llama.cpp's or LM Studio's. No key of the environment goes there."""
    from llm.default_plugins.openai_models import Chat

    model: Any = Chat(name, model_name=name, api_base=api_base, supports_schema=True)
    model.needs_key = None
    return model


class ModelJudge:
    """A judge over a model of llm; see ``base.Judge``. Safe to use from several threads."""

    prompt_version = prompt.PROMPT_VERSION

    def __init__(self, name: str, model: Any, remote_host: str | None, settings: JudgeSettings) -> None:
        # A model in this process is not made for two threads, and one that took too long is still at work.
        inside = remote_host is None and address_of(model) is None
        self._turn: AbstractContextManager[Any] = threading.Lock() if inside else nullcontext()
        self.name, self.remote_host, self.workers = f"llm:{name}", remote_host, 1 if inside else settings.workers
        self._model, self._settings = model, settings
        self._lock, self._unanswered = threading.Lock(), 0
        keep_to_its_host(model, settings.timeout_seconds)
        self.model = identity(model)
        self._options = _options(model, settings)
        if getattr(model, "supports_schema", False):
            self._options["schema"] = answer.ASKED

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
            said = Judgement("error", error=f"The model's answer could not be used, nor its second one. {bad}"[:500])
        except OakenError:
            raise
        except Exception as error:
            return self._failed(error)
        with self._lock:
            self._unanswered = 0
        return said

    def _failed(self, error: Exception) -> Judgement:
        """The error of one message; after several in a row to which no server answered, the end of the run."""
        chain = _chain(error)
        for cause in chain:
            if isinstance(cause, OakenError):
                raise cause
        told = f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
        if isinstance(error, AttributeError | TypeError | LookupError | ValueError):
            told = f"The model failed, or what it answered is not understood. {told}"
        names = {kind.__name__ for cause in chain for kind in type(cause).__mro__}
        lost = getattr(error, "status_code", None) in _UNANSWERED_STATUS
        # An answer that is late is late for this message; a connection that is not made in time is no connection.
        late = any("Timeout" in name for name in names) and "ConnectTimeout" not in names
        with self._lock:
            self._unanswered = self._unanswered + 1 if lost or (names & _UNANSWERED and not late) else 0
            gone = self._unanswered >= GIVE_UP_AFTER
        if gone:
            raise OakenError(
                f"The model does not answer ({told}). When it does, run the same command again with --retry-errors.",
                "judge_unavailable",
            ) from error
        if late or isinstance(error, TooLong):
            told = f"The model took longer than {self._settings.timeout_seconds:g} seconds."
        return Judgement("error", error=told)

    def _ask(self, system: str, user: str) -> str:
        return _within(self._settings.timeout_seconds, lambda: self._prompt(system, user), self._turn)

    def _prompt(self, system: str, user: str) -> str:
        while True:
            options = self._options
            if "num_ctx" in options:  # Ollama cuts a prompt that is longer, and says nothing
                needed = len((system + user).encode()) // 2 + self._settings.max_tokens
                options = options | {"num_ctx": max(options["num_ctx"], -(-needed // 4096) * 4096)}
            try:
                return str(self._model.prompt(user, system=system, stream=False, **options).text())
            except Exception as error:
                refused = _refused(error, options)
                if refused is None:
                    raise
                self._options = {name: value for name, value in self._options.items() if name != refused}


def _refused(error: Exception, options: dict[str, Any]) -> str | None:
    """The option that a server refused a prompt for: not all know a schema, or may be told a temperature.

    What the schema would hold the model to is checked in any case.
    """
    if getattr(error, "status_code", None) not in (400, 422):
        return None
    told = str(error).lower()
    names = {"schema": ("schema", "response_format", "maxlength"), "temperature": ("temperature",)}
    return next((name for name, words in names.items() if name in options and any(w in told for w in words)), None)


def _options(model: Any, settings: JudgeSettings) -> dict[str, Any]:
    """Temperature 0, a bound on the answer and room for the prompt, by the names that the model has for them."""
    fields = getattr(model.Options, "model_fields", {})
    options: dict[str, Any] = {"temperature": 0} if "temperature" in fields else {}
    limit = next((name for name in _LIMITS if name in fields), None)
    if limit:
        options[limit] = settings.max_tokens
    if "num_ctx" in fields:
        room = (settings.reading_chars + settings.context_chars + _PROMPT_CHARS) // 2 + settings.max_tokens
        options["num_ctx"] = -(-room // 4096) * 4096
    return options


def _chain(error: BaseException) -> list[BaseException]:
    """An exception and what it came of."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__
    return chain


def _within(seconds: float, work: Callable[[], str], turn: AbstractContextManager[Any]) -> str:
    """What ``work`` returns, done when ``turn`` is free, or TooLong. It runs on a thread of its own, since not every model can be
    interrupted; what has not begun when its time is up does not begin."""
    result: list[str] = []
    failure: list[Exception] = []
    given_up = threading.Event()

    def run() -> None:
        with turn:
            if given_up.is_set():
                return
            try:
                result.append(work())
            except Exception as error:
                failure.append(error)

    thread = threading.Thread(target=run, daemon=True, name="model")
    thread.start()
    thread.join(seconds)
    given_up.set()
    if failure:
        raise failure[0]
    if not result:
        raise TooLong
    return result[0]
