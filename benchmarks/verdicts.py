"""How far a count can be trusted: Enron's human labels as the truth, as the judge, and as the person who reviews.

    python benchmarks/verdicts.py
    python benchmarks/verdicts.py --judge llm:NAME --label 1.2 --json

Every message of real/enron-berkeley is judged against a question whose true answers its labels give. The labels played back as
the judge must come to the known count exactly. Then worse judges: the labels with some answers turned round, or any judge by
its name. Of each, precision and recall by all labels; and then what a person would see, who answers only a random sample by the
labels: the estimate and its interval, over many draws of the sample. ``held`` is the share of draws whose interval held the
known count.
"""

from __future__ import annotations

import random
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from common import DATA, conditions, json_option, show, work_option

from datasette_oaken import counts, db, eligible, questions, sampling
from datasette_oaken.estimate import estimate
from datasette_oaken.readings import Reading
from datasette_oaken.settings import JudgeSettings
from ingest import pipeline
from ingest.judging.base import Judge, Judgement
from ingest.judging.registry import get_judge
from ingest.judging.run import judge_all
from ingest.sources import detect

ENRON = DATA / "enron-berkeley"
QUESTIONS = {
    "1.1": "Is it about company business or strategy?",
    "1.2": "Is it purely personal?",
    "1.4": "Does it make logistic arrangements, such as scheduling a meeting?",
    "3.6": "Is it about the California energy crisis or California politics?",
}
SEED = 7


class Labels:
    """The labels as a judge; ``wrong``: the share of answers that are turned round."""

    prompt_version, remote_host, workers = "none", None, 0

    def __init__(self, truth: set[int], wrong: float) -> None:
        self.name = self.model = f"labels, {wrong:.0%} turned round"
        self._truth, self._wrong, self._chance = truth, wrong, random.Random(SEED)

    def judge(self, question: str, criterion: str, reading: Reading) -> Judgement:
        yes = (reading.parts[0] in self._truth) != (self._chance.random() < self._wrong)
        # The labels have no quotes: the first line of what was read stands for the evidence.
        return Judgement(
            "yes" if yes else "no", "so it is labelled", None, reading.own.splitlines()[0] if yes else None
        )


@click.command()
@click.option("--label", type=click.Choice(sorted(QUESTIONS)), default="3.6", show_default=True)
@click.option(
    "--judge", "judge_names", multiple=True, help="Another judge to measure, such as rule:PATTERN or llm:NAME."
)
@click.option(
    "--sample", type=click.IntRange(1), default=60, show_default=True, help="Answers of a person in each stratum."
)
@click.option("--draws", type=click.IntRange(1), default=400, show_default=True, help="Random samples to draw.")
@work_option
@json_option
def main(label: str, judge_names: tuple[str, ...], sample: int, draws: int, work: Path, as_json: bool) -> None:
    """Measure counting against known counts."""
    if not ENRON.is_dir():
        raise click.UsageError(f"There is no mail at {ENRON}.")
    started = conditions()
    conn, path, truth = labelled(work, label)
    judges: list[Judge] = [Labels(truth, wrong) for wrong in (0.0, 0.05, 0.2)]
    judges += [get_judge(name, allow_remote=None, settings=JudgeSettings()) for name in judge_names]
    measured = [measured_by(conn, path, judge, label, truth, sample, draws) for judge in judges]
    if measured[0]["yes"] != len(truth) or measured[0]["precision"] != 1 or measured[0]["recall"] != 1:
        raise click.ClickException(f"The labels played back came to {measured[0]}, not to {len(truth)}.")
    (messages,) = conn.execute("select count(*) from messages").fetchone()
    answer = {
        "conditions": started,
        "corpus": f"enron-berkeley, {messages:,} messages, label {label}",
        "known": len(truth),
        "sample_a_stratum": sample,
        "draws": draws,
        "judges": measured,
    }
    heading = (
        "judge",
        "yes",
        "no",
        "unclear",
        "errors",
        "precision",
        "recall",
        "estimate",
        "interval",
        "width",
        "held",
    )
    rows = [heading] + [
        (
            one["judge"][:50],
            *(one[name] for name in heading[1:5]),
            *(f"{one[name]:.3f}" if one[name] is not None else "-" for name in ("precision", "recall")),
            f"{one['mean_estimate']:.1f}",
            "{} to {}".format(*one["first_interval"]),
            f"{one['mean_width']:.1f}",
            f"{one['held']:.3f}",
        )
        for one in measured
    ]
    notes = [f"{answer['corpus']}; known count {len(truth)}; {sample} answered in each stratum, {draws} draws"]
    show(answer, rows, notes, as_json)


def labelled(work: Path, label: str) -> tuple[db.sqlite3.Connection, Path, set[int]]:
    """A new file of the mail with the question asked, and the messages for which its answer is yes."""
    folder = work / "enron"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wanted = tuple(label.split("."))
    yes = set()
    for source in sorted(ENRON.glob("*/*.txt")):
        key = f"{source.parent.name}-{source.stem}"
        shutil.copy(source, folder / f"{key}.eml")
        labels = [tuple(line.split(",")[:2]) for line in source.with_suffix(".cats").read_text().split()]
        if wanted in labels:
            yes.add(key)
    path = work / "verdicts.db"
    for old in work.glob("verdicts.db*"):
        old.unlink()
    conn = db.connect(path, create=True)
    pipeline.ingest(conn, path, [detect(folder)], processes=0, quiet=True)
    with db.transaction(conn):
        questions.ask(conn, QUESTIONS[label])
    places = conn.execute("select message_id, provider_key from message_locations").fetchall()
    return conn, path, {message_id for message_id, key in places if Path(key.partition("#")[0]).stem in yes}


def measured_by(
    conn: db.sqlite3.Connection, path: Path, judge: Judge, label: str, truth: set[int], sample: int, draws: int
) -> dict[str, Any]:
    """What one judge came to, and what a person would make of it."""
    judge_all(conn, path, 1, judge, activate=True, quiet=False)
    answer = counts.count(conn, 1)
    said = {
        row[0]
        for row in conn.execute(
            "select message_id from verdicts_current where question_id = 1 and judged_status = 'yes'"
        )
    }
    right = len(said & truth)
    held, widths, points, intervals = 0, [], [], []
    for draw in range(draws):
        found = drawn(conn, truth, sample, draw)
        points.append(found["point"])
        widths.append(found["high"] - found["low"])
        intervals.append((found["low"], found["high"]))
        held += found["low"] <= len(truth) <= found["high"]
    return {
        "judge": judge.name,
        "model": judge.model,
        **{name: answer[name] for name in ("eligible", "yes", "no", "unclear", "errors", "remaining")},
        "precision": right / len(said) if said else None,
        "recall": right / len(truth) if truth else None,
        "mean_estimate": statistics.mean(points),
        "mean_width": statistics.mean(widths),
        "first_interval": intervals[0],
        "held": held / draws,
    }


def drawn(conn: db.sqlite3.Connection, truth: set[int], sample: int, draw: int) -> dict[str, Any]:
    """The count's estimate after a person answered ``sample`` messages of each stratum; nothing of it stays."""
    conn.execute("begin")
    try:
        again = conn.execute(
            "select e.message_id, m.content_hash from recall_eligible e join messages m on m.id = e.message_id"
        ).fetchall()
        conn.executemany(
            "update recall_eligible set lot = ? where message_id = ?",
            [(eligible.lot(draw, row[1]), row[0]) for row in again],
        )
        person: Callable[[int], bool] = truth.__contains__
        for stratum in sampling.STRATA:
            for message_id in sampling.queue(conn, 1, stratum, sample):
                # By the function that a review ends in; the whole of it, 400 times over, is not what is measured here.
                conn.execute(
                    "update recall_eligible set answer = ? where message_id = ?", (int(person(message_id)), message_id)
                )
        found = estimate(sampling.strata(conn, 1))
        assert found is not None
        return {"low": found.low, "high": found.high, "point": found.point}
    finally:
        conn.execute("rollback")


if __name__ == "__main__":
    main()
