"""Which model it is that judges, as exactly as can be known: a verdict by another version of it is another model's verdict.

Nothing here fails: what cannot be known is left out.
"""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .client import get_json
from .locality import address_of, host_in, is_loopback, name_there

_ENDS = 1_000_000
"""Bytes of a model's file, at either end, that its digest is of: the whole may be tens of gigabytes."""
_TELLING = ("ftype", "n_params", "n_vocab", "n_embd", "size", "vocab_type", "max_model_len", "root")
"""What servers say of a model that stays the same for as long as the model does."""


def identity(model: Any) -> str:
    """``NAME (DIGEST)``, ``NAME (PACKAGE VERSION)`` or the bare name."""
    name = name_there(model)
    address = address_of(model)
    path = next((getattr(model, at) for at in ("model_path", "path", "_path") if getattr(model, at, None)), None)
    known: str | None = None
    if address is not None:
        if is_loopback(host_in(address)):
            known = _of_ollama(address, name) or _of_server(address, name)
    elif path is not None:
        known = _of_file(Path(str(path)))
    known = known or _of_package(type(model).__module__.partition(".")[0])
    return f"{name} ({known})" if known else name


def _of_ollama(address: str, name: str) -> str | None:
    base = urlsplit(address)
    for entry in _listed(f"{base.scheme}://{base.netloc}/api/tags", "models"):
        if entry.get("name") in (name, f"{name}:latest") and entry.get("digest"):
            return str(entry["digest"]).removeprefix("sha256:")[:12]
    return None


def _of_server(address: str, name: str) -> str | None:
    """The digest of the file that llama.cpp says it serves, or of what any server says of the model."""
    base = address.rstrip("/")
    told = get_json(f"{base.removesuffix('/v1')}/props")
    path = told.get("model_path") if isinstance(told, dict) else None
    if isinstance(path, str) and (of_file := _of_file(Path(path))):
        return of_file
    entries = _listed(f"{base}/models", "data")
    for entry in [e for e in entries if e.get("id") == name] or entries[:1]:
        every = {**entry, **(entry["meta"] if isinstance(entry.get("meta"), dict) else {})}
        telling = {key: every[key] for key in _TELLING if key in every}
        if telling:
            telling["file"] = Path(str(entry.get("id"))).name
            return hashlib.sha256(json.dumps(telling, sort_keys=True).encode()).hexdigest()[:12]
    return None


def _listed(address: str, key: str) -> list[dict[str, Any]]:
    answer = get_json(address)
    entries = answer.get(key) if isinstance(answer, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


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
