"""The scripts that figures come from: that they run, and that they refuse to print a figure of something else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from making import SHARED

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"

LETTER = """\
From heron@example.org Mon Mar  4 09:00:00 2024
Message-ID: <m{n}@example.org>
Date: Mon, 04 Mar 2024 09:{n:02}:00 +0000
From: Ada Heron <heron@example.org>
Subject: Letter {word} about the {word} garden

Dear Ben, the {word} in the garden has grown taller than the {word} beside the old gate, and somebody ought to cut it.

"""
WORDS = ["willow", "rowan", "hazel", "juniper", "hawthorn", "elder", "medlar", "quince"]


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    path = tmp_path / "letters.mbox"
    path.write_text("".join(LETTER.format(n=n, word=word) for n, word in enumerate(WORDS)))
    return path


def script(name: str, *arguments: str | Path) -> dict[str, object]:
    command = [sys.executable, str(BENCHMARKS / name), *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_ingest_counts_every_message(mail: Path, tmp_path: Path) -> None:
    answer = script("ingest.py", mail, "--runs", "1", "--no-notmuch", "--work", tmp_path / "out")
    assert (answer["messages"], answer["corpus"]) == (8, "letters.mbox, 8 messages")
    assert set(answer) == {"conditions", "corpus", "messages", "oaken ingest --no-embed"}


def test_the_made_mailbox_repeats_no_message(mail: Path, tmp_path: Path) -> None:
    answer = script("ingest.py", mail, "--memory", "--size", "1", "--work", tmp_path / "out")
    assert int(str(answer["messages"])) > 1000  # and every one was stored, or the script would have stopped
    assert not (tmp_path / "out" / "big-1.mbox").exists()


def test_search_asks_different_queries_of_each_way(mail: Path, tmp_path: Path) -> None:
    few = ("--queries", "12", "--processes", "2", "--no-notmuch")
    answer = script("search.py", mail, *few, "--work", tmp_path / "out")
    assert answer["corpus"] == "letters.mbox, 8 messages, 8 passages, 100% embedded"
    ways = answer["ways"]
    assert isinstance(ways, dict)
    assert {way: (each["queries"], each["answered"]) for way, each in ways.items()} == {
        "oaken, in a process": (12, 12),
        "oaken, over HTTP": (12, 12),
        "oaken search, a process each": (2, 2),
    }


def test_embedding_gives_every_way_the_same_passages(mail: Path, tmp_path: Path) -> None:
    answer = script("embed.py", mail, "--texts", "4", "--runs", "1", "--work", tmp_path / "out")
    assert (answer["corpus"], answer["texts"]) == ("letters.mbox, 8 messages", 4)
    rates = answer["tokens_per_second"]
    assert isinstance(rates, dict)
    assert len(rates) == 4
    assert all(rate > 0 for rate in rates.values())


def test_judging_and_counting_are_measured_on_what_was_judged(mail: Path, tmp_path: Path) -> None:
    answer = script("judge.py", mail, "--verdicts", "50", "--work", tmp_path / "out")
    assert (answer["judged"], answer["verdicts"], answer["corpus"]) == (8, 50, "letters.mbox, 8 messages")
    assert answer["count_matches"] is True


def test_the_estimate_is_measured_against_other_ways() -> None:
    answer = script("estimate.py", "--samples", "100")
    worst = answer["worst"]
    assert isinstance(worst, dict)
    assert len(worst) == 6 and worst["oaken: exact, melded"] >= 0.93 > worst["exact, MOVER"]


@pytest.mark.skipif(not (SHARED / "real/enron-berkeley").is_dir(), reason="the real mail is not on this machine")
def test_the_labels_played_back_come_to_the_known_count(tmp_path: Path) -> None:
    answer = script("verdicts.py", "--draws", "20", "--judge", "rule:california", "--work", tmp_path / "out")
    judges = answer["judges"]
    assert isinstance(judges, list)
    assert (answer["known"], [one["eligible"] for one in judges]) == (121, [819] * 4)
    assert (judges[0]["yes"], judges[0]["precision"], judges[0]["recall"], judges[0]["held"]) == (121, 1.0, 1.0, 1.0)
    assert all(one["remaining"] == one["errors"] == 0 for one in judges)


def test_the_file_is_measured_with_and_without_vectors(mail: Path, tmp_path: Path) -> None:
    answer = script("size.py", mail, "--no-notmuch", "--work", tmp_path / "out")
    before, after = answer["oaken, without vectors"], answer["oaken, all in"]
    assert isinstance(before, dict) and isinstance(after, dict)
    assert after["bytes"] == (tmp_path / "out/size.db").stat().st_size > before["bytes"]
    assert answer["raw_bytes"] == mail.stat().st_size - 8 * len("From heron@example.org Mon Mar  4 09:00:00 2024\n\n")


def test_ingesting_again_is_measured_for_both_kinds(mail: Path, tmp_path: Path) -> None:
    answer = script("again.py", mail, "--messages", "20", "--work", tmp_path / "out")
    assert set(answer) == {"conditions", "corpus", "Maildir", "mbox"}
    for kind in ("Maildir", "mbox"):
        assert set(answer[kind]) == {"first", "nothing new", "100 new"}  # type: ignore[call-overload]
