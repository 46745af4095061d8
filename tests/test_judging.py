"""Judging: every message once, whatever stops it, whoever writes meanwhile, and however wrong the judge goes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from judges import Plain, by_word
from making import SHARED, eml_folder, ingest, mail, mbox, rows
from small_mail import add, archive

from datasette_oaken import counts, db, eligible, questions, verdicts
from datasette_oaken.readings import Reading
from ingest.judging.base import Judgement
from ingest.judging.run import Report, judge_all

TESTS = Path(__file__).parent


def judge(conn: db.sqlite3.Connection, path: Path, by: Plain, question: int = 1, **options: Any) -> Report:
    return judge_all(conn, path, question, by, quiet=True, **options)


def ask(conn: db.sqlite3.Connection, text: str = "Is it?", **options: Any) -> int:
    with db.transaction(conn):
        return questions.ask(conn, text, **options)


@pytest.fixture
def small(tmp_path: Path) -> tuple[db.sqlite3.Connection, Path]:
    """Six messages, every second of which says "yes please"."""
    folder = eml_folder(
        tmp_path / "in",
        {
            f"{n}.eml": mail(
                f"Number {n}. {'Yes please.' if n % 2 else 'Hardly.'}\n",
                id=f"<{n}@example.org>",
                date=f"Mon, 05 Mar 2018 09:0{n}:00 +0000",
            )
            for n in range(6)
        },
    )
    conn, _ = ingest(tmp_path / "a.db", folder)
    ask(conn)
    return conn, tmp_path / "a.db"


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_every_message_is_judged_exactly_once(small: tuple[db.sqlite3.Connection, Path], workers: int) -> None:
    conn, path = small
    by = Plain(by_word("Yes please"))
    report = judge(conn, path, by, workers=workers)
    figures = ("eligible", "judged", "yes", "no", "unclear", "errors", "remaining", "coverage", "this_run")
    assert {name: report.as_dict()[name] for name in figures} == {
        "eligible": 6,
        "judged": 6,
        "yes": 3,
        "no": 3,
        "unclear": 0,
        "errors": 0,
        "remaining": 0,
        "coverage": 1.0,
        "this_run": {"judged": 6, "shared": 0, "errors": 0, "dropped": 0},
    }
    assert sorted(reading.words for reading in by.shown) == sorted(
        f"Number {n}. {'Yes please.' if n % 2 else 'Hardly.'}" for n in range(6)
    )
    again = judge(conn, path, by, workers=workers)
    assert (again.judged_now, len(by.shown)) == (0, 6)


def test_new_mail_makes_it_incomplete_and_only_that_is_judged(small: tuple[db.sqlite3.Connection, Path]) -> None:
    conn, path = small
    by = Plain(by_word("Yes please"))
    judge(conn, path, by)
    ingest(path, eml_folder(path.parent / "more", {"n.eml": mail("Yes please, again.", id="<n@example.org>")}))
    before = counts.count(conn, 1)
    assert (before["remaining"], before["at_least"], before["changes"][0]["detail"]) == (1, True, "1 message came in.")
    assert (judge(conn, path, by).judged_now, len(by.shown), counts.count(conn, 1)["yes"]) == (1, 7, 4)


def test_the_order_and_the_limit_of_a_trial(small: tuple[db.sqlite3.Connection, Path]) -> None:
    conn, path = small

    def numbers(**options: Any) -> list[str]:
        by = Plain(by_word("x"), name=f"test:{options}")
        judge(conn, path, by, **options)
        return [reading.words.split()[1] for reading in by.shown]

    assert numbers(limit=3) == ["5.", "4.", "3."]
    assert numbers(order="oldest", limit=2) == ["0.", "1."]
    assert sorted(numbers(order="random")) == ["0.", "1.", "2.", "3.", "4.", "5."]
    with pytest.raises(db.OakenError, match="newest, oldest, random"):
        numbers(order="best")


def test_an_error_is_kept_as_one_and_tried_again_only_when_asked(small: tuple[db.sqlite3.Connection, Path]) -> None:
    conn, path = small
    chance = random.Random(4)

    def shaky(reading: Reading) -> Judgement:
        return Judgement("error", error="it broke") if chance.random() < 0.5 else by_word("Yes please")(reading)

    by = Plain(shaky)
    errors = judge(conn, path, by).as_dict()["errors"]
    assert errors > 0
    shown = len(by.shown)
    assert judge(conn, path, by).judged_now == 0 and len(by.shown) == shown
    for _ in range(30):
        judge(conn, path, by, retry_errors=True)
    answer = counts.count(conn, 1)
    assert {name: answer[name] for name in ("yes", "no", "errors", "remaining")} == {
        "yes": 3,
        "no": 3,
        "errors": 0,
        "remaining": 0,
    }
    assert rows(conn, "select count(*) from recall_verdicts") == [(6,)]
    assert rows(conn, "select sum(attempts) from recall_verdicts") == [(len(by.shown),)]


def test_a_yes_whose_quote_does_not_stand_in_what_was_read_is_unclear(
    small: tuple[db.sqlite3.Connection, Path],
) -> None:
    conn, path = small
    judge(conn, path, Plain(lambda reading: Judgement("yes", "surely", None, "she never said this")))
    answer = counts.count(conn, 1)
    assert (answer["yes"], answer["unclear"], answer["no"]) == (0, 6, 0)


def test_equal_readings_are_judged_once_and_share_it(tmp_path: Path) -> None:
    path = tmp_path / "small.db"
    conn = archive(tmp_path, [{"text": "x", "subject": "The same", "date": "2024-01-01T00:00:00Z"}] * 5)
    ask(conn)
    by = Plain(lambda reading: Judgement("no", "the same"))
    report = judge(conn, path, by, workers=2)
    assert (len(by.shown), report.judged_now, report.shared) == (1, 5, 4)
    first = rows(conn, "select id from recall_verdicts where shared_from is null")[0][0]
    assert rows(conn, "select count(*) from recall_verdicts where shared_from = ?", first) == [(4,)]
    assert rows(conn, "select count(*) from recall_readings") == [(1,)]
    assert rows(conn, "select count(*) from recall_reading_parts") == [(5,)]
    with db.transaction(conn):
        add(conn, "x", subject="The same")
        eligible.refresh(conn)
    assert (judge(conn, path, by).shared, len(by.shown)) == (1, 1)


def test_forty_messages_that_quote_one_asking_paragraph_count_once(tmp_path: Path) -> None:
    asked = "Could we swap the weekend of the fourteenth? I have to be in Leeds for work and cannot move it.\n"
    quoted = "".join(f"> {line}\n" for line in asked.splitlines())
    messages = [mail(asked, id="<0@example.org>", subject="The weekend")]
    for n in range(1, 41):
        day = f"{n % 27 + 1:02}"
        messages.append(
            mail(
                f"Answer number {n}, and no more than that.\n\nOn Mon, 5 Mar 2018, Sam Reed wrote:\n{quoted}",
                id=f"<{n}@example.org>",
                subject="Re: The weekend",
                sender="Alex Moor <alex@example.net>",
                date=f"Thu, {day} Apr 2018 09:00:00 +0000",
                headers=["In-Reply-To: <0@example.org>"],
            )
        )
    conn, _ = ingest(tmp_path / "a.db", mbox(tmp_path / "a.mbox", messages))
    ask(conn, "Is a swap of the weekend asked for?")
    report = judge(conn, tmp_path / "a.db", Plain(by_word("swap the weekend")))
    assert {name: report.count[name] for name in ("eligible", "yes", "no", "remaining")} == {
        "eligible": 41,
        "yes": 1,
        "no": 40,
        "remaining": 0,
    }


def test_another_model_judges_beside_and_reads_the_same(small: tuple[db.sqlite3.Connection, Path]) -> None:
    conn, path = small
    first = Plain(by_word("Yes please"))
    judge(conn, path, first)
    other = Plain(by_word("Hardly"), name="test:other")
    judge(conn, path, other)
    assert {r.sha256 for r in first.shown} == {r.sha256 for r in other.shown}
    assert counts.count(conn, 1)["yes"] == 3 and rows(conn, "select count(*) from verdicts_by_model") == [(12,)]
    judge(conn, path, Plain(by_word("Number"), name="test:third"), activate=True)
    assert counts.count(conn, 1)["yes"] == 6


def test_a_new_version_of_the_active_judge_makes_the_old_verdicts_stale_at_once(
    small: tuple[db.sqlite3.Connection, Path],
) -> None:
    conn, path = small
    judge(conn, path, Plain(by_word("Yes please")))
    report = judge(conn, path, Plain(by_word("Hardly"), model="plain 2"), limit=2)
    assert {name: report.count[name] for name in ("judged", "remaining", "stale")} == {
        "judged": 2,
        "remaining": 4,
        "stale": 4,
    }
    assert report.count["changes"][0]["what"] == "judge"


def test_what_is_forgotten_or_changed_while_it_is_judged_is_not_stored(
    small: tuple[db.sqlite3.Connection, Path],
) -> None:
    conn, path = small
    other = db.connect(path)
    seen: list[Reading] = []

    def meddling(reading: Reading) -> Judgement:
        if not seen:
            with db.transaction(other):
                other.execute("update messages set subject = 'Changed meanwhile' where id = ?", (reading.parts[0],))
                verdicts.text_changed(other, [reading.parts[0]])
        seen.append(reading)
        return Judgement("no", "as it was")

    report = judge(conn, path, Plain(meddling), workers=1)
    assert (report.dropped, report.judged_now) == (1, 5)
    assert judge(conn, path, Plain(by_word("x"))).judged_now == 1
    assert rows(conn, "select count(*) from recall_readings where text like '%Changed meanwhile%'") == [(1,)]


def test_a_judge_that_cannot_go_on_stops_the_run_and_what_was_judged_is_kept(
    small: tuple[db.sqlite3.Connection, Path],
) -> None:
    conn, path = small
    left = [2]

    def dying(reading: Reading) -> Judgement:
        if not left[0]:
            raise db.OakenError("The model's server has gone.", "judge_unavailable")
        left[0] -= 1
        return Judgement("no", "fine")

    with pytest.raises(db.OakenError, match="has gone"):
        judge(conn, path, Plain(dying))
    assert {name: counts.count(conn, 1)[name] for name in ("no", "errors", "remaining")} == {
        "no": 2,
        "errors": 0,
        "remaining": 4,
    }


def test_two_runs_at_once_the_second_says_who_holds_it(small: tuple[db.sqlite3.Connection, Path]) -> None:
    conn, path = small
    other = db.connect(path)

    def meanwhile(reading: Reading) -> Judgement:
        with pytest.raises(db.OakenError, match=f"process {os.getpid()}"):
            judge(other, path, Plain(by_word("x")))
        return Judgement("no", "alone")

    assert judge(conn, path, Plain(meanwhile)).judged_now == 6


SLOW = """
    import itertools, os, sys, time
    sys.path.insert(0, {tests!r})
    from pathlib import Path
    from judges import Plain, by_word
    from datasette_oaken import db
    from ingest.judging import run

    run.WRITE_EVERY, run.WRITE_AT = 0.002, 3
    judged = itertools.count()

    def say(reading):
        # Until the one that is waited for it hastens, and then it dawdles, so that the rest is not judged before the kill comes.
        time.sleep(0.0005 if next(judged) < {quick} else 0.02)
        os.write(1, b".")
        return by_word("the")(reading)

    conn = db.connect({path!r})
    run.judge_all(conn, Path({path!r}), 1, Plain(say), quiet=True, workers={workers})
    os.write(1, b"done")
"""


def run_slowly(path: Path, workers: int, quick: int) -> subprocess.Popen[bytes]:
    code = textwrap.dedent(SLOW).format(tests=str(TESTS), path=str(path), workers=workers, quick=quick)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, bufsize=0)


def killed_again_and_again(path: Path, kills: int, chance: random.Random) -> int:
    """Run judging, kill it each time after some of it and a moment more, then let it end. How many it killed before their end.

    The moment is counted in what was judged, by either side of the writes that follow: by the clock alone a fast machine has
    judged everything after a few kills, and a slow one has begun nothing.
    """
    midway = 0
    for number in range(kills):
        quick = chance.randrange(1, 12)
        process = run_slowly(path, number % 3, quick)
        assert process.stdout is not None
        judged = 0
        while judged < quick and (more := process.stdout.read(quick - judged)):
            judged += len(more)
        time.sleep(chance.random() * 0.01)
        process.send_signal(signal.SIGKILL)
        midway += process.wait() == -signal.SIGKILL
        process.stdout.close()
    process = run_slowly(path, 2, 1000)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0 and output.strip(b".") == b"done"
    return midway


@pytest.mark.skipif(not (SHARED / "real/enron-berkeley").is_dir(), reason="the real mail is not on this machine")
@pytest.mark.skipif(os.name == "nt", reason="kill -9 is POSIX's")
def test_killed_at_50_moments_the_set_is_the_same_as_undisturbed(tmp_path: Path) -> None:
    seed = random.randrange(10**9)
    print(f"seed {seed}")  # pytest shows it when this fails
    chance = random.Random(seed)
    real = SHARED / "real/enron-berkeley"
    folder = eml_folder(
        tmp_path / "in", {f"{p.parent.name}-{p.stem}.eml": p.read_bytes() for p in sorted(real.glob("*/*.txt"))}
    )
    path, undisturbed = tmp_path / "a.db", tmp_path / "b.db"
    for one in (path, undisturbed):
        conn, report = ingest(one, folder)
        assert report.added == 819
        ask(conn, "Is the word there?")
        conn.close()
    conn = db.connect(undisturbed)
    judge(conn, undisturbed, Plain(by_word("the")))
    whole = rows(conn, "select message_id, status, reading_sha256 from verdicts_current order by message_id")
    assert killed_again_and_again(path, 50, chance) == 50
    killed = db.connect(path)
    assert rows(killed, "select message_id, status, reading_sha256 from verdicts_current order by message_id") == whole
    assert rows(killed, "select count(*), count(distinct message_id) from recall_verdicts") == [
        (len(whole), len(whole))
    ]
    assert counts.count(killed, 1)["eligible"] == len(whole) and eligible.drift(killed) == 0
    assert rows(killed, "pragma integrity_check") == [("ok",)]
