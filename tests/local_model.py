"""A real language model for tests: SmolLM2-135M, served by llama.cpp on this machine. It judges badly, and as models do.

The package ``xllamacpp`` is llama.cpp with its server; the model's file is fetched by ``make`` to ``models`` in the virtual
environment.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MODEL = Path(sys.prefix) / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"

SERVER = """
    import sys, xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = sys.argv[1], 8192, 1
    # One thread: several wait for one another without rest, and on a busy machine that takes ten times as long.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()  # until whoever started it is gone
"""


def missing() -> str | None:
    """Why there is no model to be served, or None."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed"
    return None if MODEL.is_file() else f"there is no {MODEL.name} in {MODEL.parent}: make test fetches it"


@contextmanager
def served() -> Iterator[str]:
    """The address of a server of the model, such as ``http://127.0.0.1:41000/v1``, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SERVER), str(MODEL)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        address = next((line.strip() for line in process.stdout if line.startswith("http://127.0.0.1:")), None)
        assert address, f"the model's server ended with {process.wait()}"
        yield f"{address}/v1"
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@pytest.fixture(scope="session")
def model_server() -> Iterator[str]:
    """The address of the model's server; skips where it cannot be had."""
    if reason := missing():
        pytest.skip(reason)
    with served() as address:
        yield address
