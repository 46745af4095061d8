"""The commands of counting: what they print, what they refuse, and that a stopped one goes on where it was."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from making import ingest, mail, mbox
from test_cli import answer, oaken, refused

from datasette_oaken import db

QUESTION = "Is a swap of the weekend asked for?"
RULE = "rule:swap.*weekend"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "o.db"
    letters = [
        mail("Could we swap the weekend?\n", id="<1@example.org>", sender="Ruth <ruth@example.org>"),
        mail("No.\n\nOn Monday, Ruth wrote:\n> Could we swap the weekend?\n", id="<2@example.org>"),
        mail("Then swap this one weekend \x1b[31mred.\n", id="<3@example.org>", sender="Ruth <ruth@example.org>"),
    ]
    ingest(path, mbox(tmp_path / "a.mbox", letters))[0].close()
    return path


def test_ask_judge_and_count_from_the_command_line(file: Path) -> None:
    judged = answer("judge", QUESTION, "--judge", RULE, "--criterion", "A request", "--db", file)
    assert judged["this_run"] == {"judged": 3, "shared": 0, "errors": 0, "dropped": 0}
    promised = ("ok", "question_id", "eligible", "judged", "yes", "no", "unclear", "errors", "remaining")
    assert {name: judged[name] for name in promised} == {
        "ok": True,
        "question_id": 1,
        "eligible": 3,
        "judged": 3,
        "yes": 2,
        "no": 1,
        "unclear": 0,
        "errors": 0,
        "remaining": 0,
    }
    counted = answer("count", QUESTION, "--db", file)
    assert counted == {name: value for name, value in judged.items() if name != "this_run"}
    again = answer("judge", "1", OAKEN_DB=str(file))
    assert again["this_run"]["judged"] == 0
    shown = answer("questions", "show", "1", "--db", file)["yes_verdicts"]
    assert [(one["message_id"], one["quote"]) for one in shown] == [
        (3, "Then swap this one weekend [31mred."),
        (1, "Could we swap the weekend?"),
    ]
    code, out, _ = oaken("questions", "show", "1", "--db", file)
    assert code == 0 and "\x1b" not in out and "Yes means: A request" in out
    code, out, _ = oaken("count", "1", "--db", file)
    assert out.startswith(
        f"1. {QUESTION}\n   Yes means: A request\n   Asked of: all mail\n   2 messages say yes, of 3 messages, every one judged, 1 no,"
    )


def test_the_same_words_asked_of_other_mail_are_another_question(file: Path) -> None:
    answer("judge", QUESTION, "--judge", RULE, "--db", file)
    other = answer("judge", QUESTION, "--judge", RULE, "--where", "from:ruth", "--db", file)
    assert (other["question_id"], other["eligible"], other["scope"]) == (2, 2, "from:ruth")
    assert refused("count", QUESTION, "--db", file)[0] == "ambiguous_question"
    assert answer("count", QUESTION, "--where", "from:ruth", "--db", file)["question_id"] == 2
    listed = answer("questions", "list", "--db", file)["questions"]
    assert [(one["question_id"], one["yes"]) for one in listed] == [(2, 2), (1, 2)]


def test_what_cannot_be_asked_is_refused_and_leaves_no_question(file: Path) -> None:
    cases: dict[str, list[Any]] = {
        "no_judge": ["judge", QUESTION],
        "bad_rule": ["judge", QUESTION, "--judge", "rule:("],
        "bad_scope": ["judge", QUESTION, "--judge", RULE, "--where", "weekend"],
        "bad_question": ["judge", " ", "--judge", RULE],
        "bad_order": ["judge", QUESTION, "--judge", RULE, "--order", "best"],
        "no_question": ["count", "Never asked?"],
    }
    found = {code: refused(*arguments, "--db", file) for code, arguments in cases.items()}
    assert {code: said[0] for code, said in found.items()} == {code: code for code in cases}
    assert refused("judge", QUESTION, "--judge", "oracle", "--db", file)[0] == "no_judge"
    assert refused("judge", "7", "--judge", RULE, "--db", file)[0] == "no_question"
    assert refused("count", QUESTION, "--db", file.parent / "none.db")[0] == "no_database"
    assert answer("questions", "list", "--db", file) == {"ok": True, "questions": []}


def test_editing_activating_and_removing(file: Path) -> None:
    answer("judge", QUESTION, "--judge", RULE, "--db", file)
    edited = answer("questions", "edit", "1", "--criterion", "Asked for, not merely told", "--db", file)
    assert (edited["remaining"], edited["stale"], edited["changes"][0]["what"]) == (3, 3, "criterion")
    answer("judge", "1", "--db", file)
    answer("judge", "1", "--judge", "rule:no", "--db", file)
    assert answer("count", "1", "--db", file)["judge"] == RULE
    assert answer("questions", "activate", "1", "rule:no", "--db", file)["judge"] == "rule:no"
    assert refused("questions", "activate", "1", "rule:maybe", "--db", file)[0] == "no_verdict"
    assert oaken("questions", "edit", "1", "--db", file)[0] == 2
    assert json.loads(oaken("questions", "remove", "1", "--json", "--db", file)[1])["code"] == "not_confirmed"
    assert answer("questions", "remove", "1", "--yes", "--db", file) == {
        "ok": True,
        "question_id": 1,
        "verdicts_deleted": 9,
    }


def test_a_person_as_the_judge_is_told_where(file: Path) -> None:
    asked = answer("judge", QUESTION, "--judge", "human", "--db", file)
    assert (asked["judge"], asked["remaining"], asked["eligible"]) == ("human", 3, 3)
    assert "/-/oaken/questions/1/review" in asked["advice"]


def test_ctrl_c_keeps_what_was_judged_and_the_same_command_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "o.db"
    letters = [mail(f"Letter number {n} {'a' * 3000}!\n", id=f"<{n}@example.org>") for n in range(300)]
    ingest(path, mbox(tmp_path / "a.mbox", letters))[0].close()
    # A pattern that takes its time, so that there is a moment to stop it in.
    command = [
        sys.executable,
        "-m",
        "ingest",
        "judge",
        QUESTION,
        "--judge",
        "rule:(a*a*b|number 7 )",
        "--db",
        str(path),
    ]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    judged = 0
    while not judged and time.monotonic() < deadline:
        time.sleep(0.02)
        conn = db.connect(path, readonly=True)
        (judged,) = conn.execute("select count(*) from recall_verdicts").fetchone()
        conn.close()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, "Traceback" in err) == (130, False), err
    assert "run the same command again to go on" in err
    stopped = answer("count", QUESTION, "--db", path)
    assert 0 < stopped["judged"] < 300 and stopped["at_least"]
    conn = db.connect(path)
    assert [tuple(row) for row in conn.execute("pragma integrity_check")] == [("ok",)]
    (id_,) = conn.execute("select min(id) from recall_questions").fetchone()
    conn.close()
    rest = answer("judge", str(id_), "--limit", "3", "--db", path)
    assert rest["judged"] == stopped["judged"] + 3
