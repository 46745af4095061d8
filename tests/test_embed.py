"""The embedding queue: resumed, never doubled, one bad text set aside, and an old generation that answers until the new one can."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from making import ingest, mail, mbox, rows

from datasette_oaken import db, embedders, vector
from datasette_oaken.db import OakenError
from ingest import locks
from ingest.embed import embed


class Counting:
    """An embedder that knows three themes, counts what it was asked, and fails on what it is told to."""

    name, dimension = embedders.PACKAGED, 384
    themes = (("key", "mat", "door"), ("school", "friday", "collect"), ("boiler", "landlord", "heating"))

    def __init__(self, fingerprint: str | None = None, fails_on: str | None = None) -> None:
        self.fingerprint = fingerprint or embedders.identify().fingerprint
        self.fails_on = fails_on
        self.asked: list[str] = []

    def embed_query(self, text: str) -> np.ndarray:
        vector = np.full(384, 0.001, np.float32)
        for i, theme in enumerate(self.themes):
            vector[i] += sum(text.lower().count(word) for word in theme)
        return vector / np.linalg.norm(vector)

    def embed_documents(self, texts: Sequence[str]) -> Iterator[np.ndarray]:
        for text in texts:
            if self.fails_on and self.fails_on in text:
                raise ValueError("cannot embed this")
            self.asked.append(text)
            yield self.embed_query(text)


LETTERS = [
    mail("The key is under the mat.\n", id="<1@example.org>"),
    mail("Who will collect her from school on Friday?\n", id="<2@example.org>", subject="Re: Friday"),
    mail("The boiler is cold; tell the landlord.\n", id="<3@example.org>", subject="Heating"),
    mail("The boiler is cold; tell the landlord.\n", id="<4@example.org>", subject="Fwd: Heating"),
]


def test_each_text_is_embedded_once_with_its_bare_subject_and_a_second_run_has_nothing_to_do(tmp_path: Path) -> None:
    conn, report = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    assert (report.chunks_added, report.embedding_backlog, vector.coverage(conn)) == (4, 4, 0.0)
    model = Counting()
    done = embed(conn, tmp_path / "o.db", quiet=True, embedder=model)
    assert done.as_dict() == {
        "ok": True,
        "embedded": 4,
        "backlog": 0,
        "generation": 1,
        "model": embedders.PACKAGED,
        "failures": [],
    }
    assert sorted(model.asked) == [
        "Friday\nWho will collect her from school on Friday?",
        "Heating\nThe boiler is cold; tell the landlord.",
        "Keys\nThe key is under the mat.",
    ]
    assert vector.coverage(conn) == 1.0
    assert rows(conn, "select id, state from recall_generations") == [(1, "current")]
    assert rows(conn, "select count(*) from _recall_vec0_1") == [(4,)]
    assert embed(conn, tmp_path / "o.db", quiet=True, embedder=model).embedded == 0
    assert len(model.asked) == 3


def test_equal_text_that_comes_later_takes_the_vector_that_is_there(tmp_path: Path) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS[:3]))
    embed(conn, tmp_path / "o.db", quiet=True, embedder=Counting())
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "b.mbox", LETTERS[3:]))
    model = Counting()
    assert embed(conn, tmp_path / "o.db", quiet=True, embedder=model).embedded == 1
    assert model.asked == []
    assert vector.coverage(conn) == 1.0


def test_one_text_that_fails_is_set_aside_and_the_others_are_embedded(tmp_path: Path) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    done = embed(conn, tmp_path / "o.db", quiet=True, embedder=Counting(fails_on="school"))
    assert (done.embedded, done.backlog) == (3, 1)
    assert [(f["error"], f["attempts"]) for f in done.failures] == [("ValueError: cannot embed this", 2)]
    assert rows(conn, "select chunk_id, attempts, error from embedding_queue") == [
        (2, 1, "ValueError: cannot embed this")
    ]
    assert rows(conn, "select state from recall_generations") == [("current",)]


def test_a_limit_stops_there_and_the_next_run_goes_on(tmp_path: Path) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    done = embed(conn, tmp_path / "o.db", quiet=True, limit=2, embedder=Counting())
    assert (done.embedded, done.backlog, vector.coverage(conn)) == (2, 2, 0.5)
    assert rows(conn, "select state from recall_generations") == [("building",)]
    done = embed(conn, tmp_path / "o.db", quiet=True, embedder=Counting())
    assert (done.embedded, done.backlog, vector.coverage(conn)) == (2, 0, 1.0)


def test_a_new_model_answers_only_when_complete_and_the_old_one_until_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    embed(conn, tmp_path / "o.db", quiet=True, embedder=Counting())
    new = embedders.Identity("new-model", 384, "new-fingerprint")
    old = embedders.identify()
    monkeypatch.setattr(embedders, "identify", lambda name=None: new if name == "new-model" else old)
    model = Counting("new-fingerprint")
    embed(conn, tmp_path / "o.db", model="new-model", limit=1, quiet=True, embedder=model)
    query = model.embed_query("boiler")
    assert vector.answering(conn).fingerprint == old.fingerprint  # type: ignore[union-attr]
    assert [c for c, _ in vector.nearest(conn, query, fingerprint=old.fingerprint, k=2)] == [3, 4]
    embed(conn, tmp_path / "o.db", quiet=True, embedder=model)
    assert rows(conn, "select id, model, state from recall_generations") == [(2, "new-model", "current")]
    assert rows(conn, "select distinct generation_id from recall_vectors") == [(2,)]
    assert vector.vec0_tables(conn) == {"_recall_vec0_2"}
    with pytest.raises(vector.VectorUnavailable) as caught:
        vector.nearest(conn, query, fingerprint=old.fingerprint, k=2)
    assert caught.value.reason == "stale_index"


def test_asking_for_a_model_that_is_not_here_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "cache"))
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    embed(conn, tmp_path / "o.db", quiet=True, limit=2, embedder=Counting())
    before = [
        rows(conn, f"select * from {table}") for table in ("recall_generations", "recall_vectors", "embedding_queue")
    ]
    with pytest.raises(OakenError, match="would have to be downloaded"):
        embed(conn, tmp_path / "o.db", model="BAAI/bge-small-en-v1.5", quiet=True)
    after = [
        rows(conn, f"select * from {table}") for table in ("recall_generations", "recall_vectors", "embedding_queue")
    ]
    assert after == before


def test_an_unfinished_generation_answers_until_another_models_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    embed(conn, tmp_path / "o.db", quiet=True, limit=2, embedder=Counting())
    new, old = embedders.Identity("new-model", 384, "new-fingerprint"), embedders.identify()
    monkeypatch.setattr(embedders, "identify", lambda name=None: new if name == "new-model" else old)
    model = Counting("new-fingerprint")
    embed(conn, tmp_path / "o.db", model="new-model", limit=1, quiet=True, embedder=model)
    assert rows(conn, "select id, model, state from recall_generations order by id") == [
        (1, old.name, "current"),
        (2, "new-model", "building"),
    ]
    query = model.embed_query("boiler")
    assert {c for c, _ in vector.nearest(conn, query, fingerprint=old.fingerprint, k=9)} == {3, 4}
    with pytest.raises(vector.VectorUnavailable) as caught:
        vector.nearest(conn, query, fingerprint="new-fingerprint", k=9)
    assert caught.value.reason == "stale_index"
    embed(conn, tmp_path / "o.db", quiet=True, embedder=model)
    assert rows(conn, "select id, model, state from recall_generations") == [(2, "new-model", "current")]


def test_vectors_made_without_the_extension_answer_once_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    embed(conn, tmp_path / "o.db", quiet=True, limit=1, embedder=Counting())
    with monkeypatch.context() as without:
        without.setattr("ingest.embed.has_vec", lambda conn: False)
        embed(conn, tmp_path / "o.db", quiet=True, embedder=Counting())
    assert rows(conn, "select count(*) from _recall_vec0_1") == [(1,)]
    embed(conn, tmp_path / "o.db", quiet=True, embedder=Counting())
    assert rows(conn, "select count(*) from _recall_vec0_1") == [(4,)]


def test_a_text_that_failed_is_tried_again_by_the_next_run(tmp_path: Path) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    embed(conn, tmp_path / "o.db", quiet=True, embedder=Counting(fails_on="school"))
    done = embed(conn, tmp_path / "o.db", quiet=True, embedder=Counting())
    assert (done.embedded, done.backlog, vector.coverage(conn)) == (1, 0, 1.0)


def test_a_lost_knn_table_is_made_again_from_the_vectors(tmp_path: Path) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    model = Counting()
    embed(conn, tmp_path / "o.db", quiet=True, embedder=model)
    conn.execute("drop table _recall_vec0_1")
    with pytest.raises(vector.VectorUnavailable) as caught:
        vector.nearest(conn, model.embed_query("boiler"), fingerprint=model.fingerprint, k=2)
    assert caught.value.reason == "no_vectors"
    embed(conn, tmp_path / "o.db", quiet=True, embedder=model)
    assert [c for c, _ in vector.nearest(conn, model.embed_query("boiler"), fingerprint=model.fingerprint, k=2)] == [
        3,
        4,
    ]


def test_a_second_run_is_told_who_embeds(tmp_path: Path) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    with locks.writer(conn, tmp_path / "o.db", "embed"), pytest.raises(OakenError, match=f"process {os.getpid()}"):
        embed(conn, tmp_path / "o.db", quiet=True, embedder=Counting())


def test_a_killed_run_keeps_what_it_did_with_the_real_model(tmp_path: Path) -> None:
    letters = [mail(f"Item {n}: " + "the boiler, " * 30, id=f"<{n}@example.org>", subject=str(n)) for n in range(400)]
    ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", letters))
    command = [sys.executable, "-m", "ingest", "embed", "--db", str(tmp_path / "o.db")]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    conn = db.connect(tmp_path / "o.db", readonly=True)
    deadline = time.monotonic() + 120
    embedded = 0
    while not embedded and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
        (embedded,) = conn.execute("select count(*) from recall_vectors").fetchone()
    child.send_signal(signal.SIGKILL)
    child.wait()
    conn.close()
    assert 0 < embedded < 400
    conn = db.connect(tmp_path / "o.db")
    (kept,) = conn.execute("select count(*) from recall_vectors").fetchone()
    assert rows(conn, "select count(*) from embedding_queue") == [(400 - kept,)]
    assert rows(conn, "select count(*) from _recall_vec0_1") == [(kept,)]
    done = embed(conn, tmp_path / "o.db", quiet=True, embedder=Counting())
    assert (done.embedded, done.backlog) == (400 - kept, 0)
