"""How large the file is beside the raw mail that it holds, and beside notmuch's index with its mail, which has no vectors.

    python benchmarks/size.py                        the real mail beside the project
    python benchmarks/size.py ~/Mail/all.mbox --no-embed --json

Raw is the sum of the messages as they came in, which is what an mbox of them weighs but for its separators. The file is measured
when the writer has closed it: raw messages, texts, index, and, after `oaken embed`, vectors with their KNN table. What notmuch
needs is its index and the mail, since it keeps none itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from common import (
    OAKEN,
    Notmuch,
    conditions,
    corpus_name,
    demo_option,
    json_option,
    mail_argument,
    mail_to_use,
    measure,
    megabytes,
    raw_messages,
    show,
    work_option,
    write_maildir,
)

from datasette_oaken import db

PARTS = {
    "raw messages": "select sum(length(raw)) from raw_messages",
    "texts": "select sum(length(text)) from message_texts",
    "passages": "select sum(length(cast(text as blob))) from recall_chunks",
    "keyword index": "select sum(length(block)) from recall_chunks_fts_data",
    "vectors": "select sum(length(embedding)) from recall_vectors",
}
"""Bytes that the largest parts hold, without the pages around them."""


@click.command()
@mail_argument
@demo_option
@click.option("--no-notmuch", is_flag=True, help="Only ours.")
@click.option("--no-embed", is_flag=True, help="Without vectors.")
@work_option
@json_option
def main(mail: tuple[Path, ...], demo: bool, no_notmuch: bool, no_embed: bool, work: Path, as_json: bool) -> None:
    """Measure the file."""
    paths = mail_to_use(mail, demo, work)
    started = conditions()
    path = work / "size.db"
    for left in work.glob(f"{path.name}*"):
        left.unlink()
    sizes = [len(raw) for raw in raw_messages(paths)]
    raw = sum(sizes)
    ingested = measure([*OAKEN, "ingest", "--no-embed", "--db", path, *paths])
    stages: list[tuple[str, int, int | None]] = [("oaken, without vectors", path.stat().st_size, ingested.rss)]
    if not no_embed:
        embedded = measure([*OAKEN, "embed", "--db", path])
        stages.append(("oaken, all in", path.stat().st_size, embedded.rss))
    conn = db.connect(path, readonly=True)
    parts = {name: int(conn.execute(sql).fetchone()[0] or 0) for name, sql in PARTS.items()}
    conn.close()
    notes = [corpus_name(paths, len(sizes))]
    answer: dict[str, Any] = {
        "conditions": started,
        "corpus": notes[0],
        "raw_bytes": raw,
        "parts_of_raw": {name: round(size / raw, 3) for name, size in parts.items()},
    }
    if not no_notmuch:
        maildir = work / "maildir"
        write_maildir(paths, maildir)
        notmuch = Notmuch(maildir, work)
        done = notmuch.new()
        index = sum(file.stat().st_size for file in notmuch.index.rglob("*") if file.is_file())
        stages.append((f"{notmuch.version()}, with the mail", index + raw, done.rss))
    for name, size, peak in stages:
        answer[name] = {"bytes": size, "of_raw": round(size / raw, 3), "peak_rss_bytes": peak}
    rows = [("", "MB", "times the raw mail", "peak memory of the last step")]
    rows += [(name, f"{size / 1e6:.1f}", f"{size / raw:.2f}", megabytes(peak)) for name, size, peak in stages]
    notes.append("Of the raw mail: " + ", ".join(f"{name} {size / raw:.3f}" for name, size in parts.items()))
    show(answer, rows, notes, as_json)


if __name__ == "__main__":
    main()
