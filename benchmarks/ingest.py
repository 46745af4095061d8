"""Ingest beside notmuch: the same messages, the same machine, in turns; or, with --memory, a gigabyte in how much memory.

    python benchmarks/ingest.py                      the real mail beside the project, three runs each
    python benchmarks/ingest.py ~/Mail/all.mbox --runs 5
    python benchmarks/ingest.py --demo --json
    python benchmarks/ingest.py --memory             a made mbox of 1 GB, once

The clock runs over whole processes: `oaken ingest --no-embed` from its start until its end, when the last message can be
found by keyword, and `notmuch new` over a Maildir of the same messages, from nothing each time. Mail is read from the disk's
cache by both.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from common import (
    OAKEN,
    Measured,
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

WANTED_RATIO = 1.5
WANTED_MEMORY = 300_000_000
_IDS = re.compile(rb"(?im)^(?:message-id|in-reply-to|references):.*(?:\n[ \t].*)*")


@click.command()
@mail_argument
@demo_option
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="Of each, in turns.")
@click.option("--no-notmuch", is_flag=True, help="Only ours.")
@click.option("--memory", is_flag=True, help="Measure memory on a made mbox of --size megabytes instead.")
@click.option("--size", type=click.IntRange(1), default=1000, show_default=True, help="Megabytes, for --memory.")
@work_option
@json_option
def main(
    mail: tuple[Path, ...],
    demo: bool,
    runs: int,
    no_notmuch: bool,
    memory: bool,
    size: int,
    work: Path,
    as_json: bool,
) -> None:
    """Measure ingest."""
    paths = mail_to_use(mail, demo, work)
    if memory:
        _memory(paths, size, work, as_json)
    else:
        _speed(paths, runs, not no_notmuch, work, as_json)


def _speed(paths: list[Path], runs: int, beside: bool, work: Path, as_json: bool) -> None:
    where = conditions()
    maildir = work / "maildir"
    messages = write_maildir(paths, maildir)
    notmuch = Notmuch(maildir, work) if beside else None
    done: dict[str, list[Measured]] = {"oaken ingest --no-embed": [], "notmuch new": []}
    for turn in range(runs):
        for name in list(done) if turn % 2 == 0 else list(reversed(done)):
            if name.startswith("oaken"):
                done[name].append(_ingest(paths, work / "ingest.db", messages))
            elif notmuch is not None:
                done[name].append(notmuch.new())
                if notmuch.count() != messages:
                    raise click.ClickException(f"notmuch has {notmuch.count()} of {messages} messages")
    names = [name for name, measured in done.items() if measured]
    answer: dict[str, Any] = {"conditions": where, "corpus": corpus_name(paths, messages), "messages": messages}
    rows: list[Sequence[object]] = [("", "messages/s", "median s", "all runs, s", "peak memory")]
    for name in names:
        seconds = [one.seconds for one in done[name]]
        median = statistics.median(seconds)
        peak = max((one.rss for one in done[name] if one.rss), default=None)
        answer[name] = {
            "messages_per_second": round(messages / median, 1),
            "seconds": [round(one, 2) for one in seconds],
            "peak_rss_bytes": peak,
        }
        each = " ".join(f"{one:.2f}" for one in seconds)
        rows.append((name, f"{messages / median:,.0f}", f"{median:.2f}", each, megabytes(peak)))
    notes = [answer["corpus"], "Peak memory is the sum over all of its processes; shared pages count in each."]
    if notmuch is not None:
        ours, theirs = (answer[name]["messages_per_second"] for name in names)
        answer["ratio"], answer["notmuch"] = round(ours / theirs, 2), notmuch.version()
        notes.append(f"{ours / theirs:.2f} times the messages a second of {notmuch.version()} (wanted: {WANTED_RATIO})")
    show(answer, rows, notes, as_json)


def _ingest(paths: list[Path], path: Path, messages: int, pss: bool = False) -> Measured:
    """Ingest into a new file, and make sure that every message can be found by keyword."""
    for left in path.parent.glob(f"{path.name}*"):
        left.unlink()
    done = measure([*OAKEN, "ingest", "--no-embed", "--json", "--db", path, *paths], pss=pss)
    report = json.loads(done.output)
    stored = report["added"] + report["duplicates"]
    conn = db.connect(path, readonly=True)
    (kept,) = conn.execute("select count(distinct message_id) from recall_chunks").fetchone()
    (chunks,) = conn.execute("select count(*) from recall_chunks").fetchone()
    (indexed,) = conn.execute("select count(*) from recall_chunks_fts_docsize").fetchone()
    conn.close()
    if stored != messages or kept != report["added"] or chunks != indexed or report["failures"]:
        raise click.ClickException(
            f"{stored} of {messages} messages stored, {kept} of {report['added']} with passages, "
            f"{indexed} of {chunks} passages indexed, {len(report['failures'])} failures"
        )
    return done


def _memory(paths: list[Path], size: int, work: Path, as_json: bool) -> None:
    where = conditions()
    big = work / f"big-{size}.mbox"
    messages = _write_big(paths, big, size * 1_000_000)
    done = _ingest([big], work / "big.db", messages, pss=True)
    peak = done.rss
    answer = {
        "conditions": where,
        "corpus": f"{corpus_name(paths, messages)} in {big.stat().st_size / 1e6:,.0f} MB, made by repeating them",
        "messages": messages,
        "seconds": round(done.seconds, 1),
        "messages_per_second": round(messages / done.seconds, 1),
        "peak_rss_bytes": peak,
        "peak_pss_bytes": done.pss,
        "within": None if peak is None else peak <= WANTED_MEMORY,
    }
    rows = [
        ("", "messages/s", "seconds", "peak memory", "shared pages counted once"),
        (
            "oaken ingest --no-embed",
            f"{messages / done.seconds:,.0f}",
            f"{done.seconds:.1f}",
            megabytes(peak),
            megabytes(done.pss),
        ),
    ]
    verdict = {True: "within", False: "NOT within", None: "not measured against"}[answer["within"]]  # type: ignore[index]
    notes = [str(answer["corpus"]), f"All processes together: {verdict} {WANTED_MEMORY // 1_000_000} MB."]
    show(answer, rows, notes, as_json)
    big.unlink()


def _write_big(paths: list[Path], big: Path, size: int) -> int:
    """An mboxrd of about ``size`` bytes: the mail over and over, each time with other Message-IDs and one more line."""
    written = count = turn = 0
    with big.open("wb") as out:
        while written < size:
            turn += 1
            before = count
            for raw in raw_messages(paths):
                head, gap, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
                head = _IDS.sub(lambda found: found[0].replace(b"<", b"<%d." % turn), head)  # noqa: B023 - used at once
                text = re.sub(rb"(?m)^(>*From )", rb">\1", b"%s%s%s\n(turn %d)\n" % (head, gap or b"\n\n", body, turn))
                written += out.write(b"From oaken@localhost Thu Jan  1 00:00:00 2026\n%s\n" % text)
                count += 1
                if written >= size:
                    break
            if count == before:
                raise click.ClickException("There is no message in that mail.")
    return count


if __name__ == "__main__":
    main()
