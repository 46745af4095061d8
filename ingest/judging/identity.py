"""Which model it is that judges, as exactly as can be known: a verdict by another version of it is another model's verdict.

Nothing here fails: what cannot be known is left out.
"""

from __future__ import annotations

import hashlib
import json
import urllib.request
from importlib import metadata
from pathlib import Path
from typing import Any

from .locality import OLLAMA, host_in, is_loopback, ollama_address

_ENDS = 1_000_000
"""Bytes of a model's file, at either end, that its digest is of: the whole may be tens of gigabytes."""
_CHANGING = ("created", "modified_at", "status", "permission", "owned_by", "loaded")


def identity(model: Any, *, api_base: str | None = None, seconds: float = 10.0) -> str:
    """``NAME (DIGEST)``, ``NAME (PACKAGE VERSION)`` or the bare name."""
    name = getattr(model, "model_name", None) or model.model_id
    package = type(model).__module__.partition(".")[0]
    more = None
    if api_base:
        more = _of_server(api_base, name, min(seconds, 10.0))
    elif package == OLLAMA:
        more = _of_ollama(name)
    elif path := next((getattr(model, at) for at in ("model_path", "path", "_path") if getattr(model, at, None)), None):
        more = _of_file(Path(str(path)))
    more = more or _of_package(package)
    return f"{name} ({more})" if more else str(name)


def _of_server(api_base: str, name: str, seconds: float) -> str | None:
    """A digest of what an OpenAI-compatible server says of the model (llama.cpp: its size and parameters), if it is here."""
    if not is_loopback(host_in(api_base)):
        return None
    listed = _get(f"{api_base.rstrip('/')}/models", seconds)
    entries = (listed or {}).get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return None
    of_name = [e for e in entries if isinstance(e, dict) and e.get("id") == name] or entries[:1]
    if not of_name or not isinstance(of_name[0], dict):
        return None
    return _digest({key: value for key, value in of_name[0].items() if key not in _CHANGING})


def _of_ollama(name: str) -> str | None:
    listed = _get(f"{ollama_address().rstrip('/')}/api/tags", 5.0)
    for entry in (listed or {}).get("models", []) if isinstance(listed, dict) else []:
        if entry.get("name") in (name, f"{name}:latest") and entry.get("digest"):
            return str(entry["digest"]).removeprefix("sha256:")[:12]
    return None


def _of_file(path: Path) -> str | None:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(_ENDS)
            file.seek(max(0, size - _ENDS))
            tail = file.read(_ENDS)
    except OSError:
        return None
    return hashlib.sha256(f"{size} ".encode() + head + tail).hexdigest()[:12]


def _of_package(package: str) -> str | None:
    for distribution in metadata.packages_distributions().get(package, []):
        return f"{distribution} {metadata.version(distribution)}"
    return None


def _get(address: str, seconds: float) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    try:
        with opener.open(address, timeout=seconds) as response:
            return json.loads(response.read(1_000_000))
    except (OSError, ValueError):
        return None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
