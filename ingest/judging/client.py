"""Requests that stay where they were sent: no redirect is followed, and what is for this machine goes through no proxy."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any

from datasette_oaken.db import OakenError

from .locality import LOOPBACK, OLLAMA, host_in, is_loopback, ollama_address

CONNECT_SECONDS = 10.0
"""For reaching a server at all: what is there answers sooner, however long its model takes."""
RETRIES_ELSEWHERE = 2
"""Of a remote server that is busy, after the wait that it asks for. Here, a server that does not answer is down."""


def keep_to_its_host(model: Any, seconds: float) -> None:
    """Make the client of an OpenAI or Ollama model of llm reach its own host and no other, and give up after ``seconds``."""
    if hasattr(model, "get_client"):
        _openai(model, seconds)
    elif type(model).__module__.partition(".")[0] == OLLAMA:
        _ollama(sys.modules[type(model).__module__], seconds)


def spare_this_machine() -> None:
    """Keep what is for this machine from the proxies of the environment, also for plugins that read them by themselves."""
    host = host_in(ollama_address())
    for name in ("no_proxy", "NO_PROXY"):
        spared = [*os.environ.get(name, "").split(","), *LOOPBACK, *([host] if is_loopback(host) else [])]
        os.environ[name] = ",".join(dict.fromkeys(filter(None, spared)))


def get_json(address: str, seconds: float = 5.0) -> Any:
    """What stands at an address, or None when it cannot be had."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    try:
        with opener.open(address, timeout=seconds) as response:
            return json.loads(response.read(10_000_000))
    except (OSError, ValueError):
        return None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def _openai(model: Any, seconds: float) -> None:
    import openai

    clients: dict[Any, Any] = {}
    client_of = model.get_client

    def get_client(key: Any = None, *, async_: bool = False) -> Any:
        if key not in clients:
            plain = client_of(key)
            host = str(plain.base_url.host)
            local = is_loopback(host)

            def only_there(request: Any) -> None:
                if request.url.host != host:
                    raise OakenError(f"{model.model_id} tried to reach {request.url.host}.", "remote_judge")

            http = openai.DefaultHttpxClient(
                follow_redirects=False,
                trust_env=not local,
                timeout=openai.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
                event_hooks={"request": [only_there]},
            )
            clients[key] = plain.with_options(
                http_client=http, timeout=http.timeout, max_retries=0 if local else RETRIES_ELSEWHERE
            )
        return clients[key]

    model.get_client = get_client


def _ollama(plugin: Any, seconds: float) -> None:
    """The plugin makes a client of httpx for each prompt, by a function of the module that its model's class is in."""
    client_of = plugin.get_client
    if hasattr(client_of, "kept"):
        return

    def get_client(*args: Any, **kwargs: Any) -> Any:
        client = client_of(*args, **kwargs)
        client._client.follow_redirects = False
        plain = client._client.timeout
        client._client.timeout = type(plain)(seconds, connect=min(seconds, plain.connect or CONNECT_SECONDS))
        return client

    get_client.kept = True  # type: ignore[attr-defined]
    plugin.get_client = get_client
