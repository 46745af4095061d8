"""The command: one JSON document on stdout, a sentence and an exit code for everything that can be wrong."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from making import eml_folder, ingest, mail, mbox

from datasette_oaken import db

LETTERS = [
    mail("Who will collect her from school on Friday?\n", id="<1@example.org>", subject="Friday"),
    mail("The boiler is cold; tell the landlord.\n", id="<2@example.org>", subject="Heating"),
]


def oaken(*arguments: str | Path, cwd: Path | None = None, **env: str) -> tuple[int, str, str]:
    """Run the command: (exit code, stdout, stderr)."""
    done = subprocess.run(
        [sys.executable, "-m", "ingest", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


def answer(*arguments: str | Path, **env: str) -> Any:
    """The one JSON document of a command that went well."""
    code, out, err = oaken(*arguments, "--json", **env)
    assert code == 0, err + out
    return json.loads(out)


def test_the_main_job_from_the_command_line(tmp_path: Path) -> None:
    path, file = mbox(tmp_path / "a.mbox", LETTERS), tmp_path / "o.db"
    done = answer("ingest", path, "--db", file)
    assert done == {
        "ok": True,
        "added": 2,
        "updated": 0,
        "deleted": 0,
        "unchanged": 0,
        "duplicates": 0,
        "chunks_added": 2,
        "chunks_deleted": 0,
        "embedding_backlog": 0,
        "failures": [],
    }
    found = answer("search", "boiler", "--db", file)
    assert (found["hits"][0]["subject"], found["degraded"], found["coverage"]) == ("Heating", False, 1.0)
    assert "keyword" in found["hits"][0]["why"]
    meant = answer("search", "picking up a kid after lessons", OAKEN_DB=str(file))
    assert meant["hits"][0]["subject"] == "Friday"
    assert list(meant["hits"][0]["why"]) == ["vector"]
    assert answer("message", "get", "1", "--db", file)["subject"] == "Friday"
    assert [m["message_id"] for m in answer("thread", "get", "2", "--db", file)["messages"]] == [2]
    state = answer("status", "--db", file)
    assert (state["messages"], state["embedding"]["coverage"], state["failures"]) == (2, 1.0, [])
    levels = {f["check"]: f["level"] for f in answer("doctor", "--db", file)["findings"]}
    assert set(levels.values()) == {"ok"}
    assert answer("repair", "--all", "--db", file) == {
        "ok": True,
        "sections": 0,
        "failures": [],
        "fts": 2,
        "semantic": 2,
        "verdicts": 0,
    }


def test_a_person_reads_sentences(tmp_path: Path) -> None:
    path, file = mbox(tmp_path / "a.mbox", LETTERS), tmp_path / "o.db"
    code, out, _ = oaken("ingest", "--no-embed", path, "--db", file)
    assert (code, out) == (
        0,
        f"2 messages added: {file}\n"
        "Searchable by word now; 2 passages are still to be embedded for search by meaning.\n",
    )
    code, out, _ = oaken("search", "boiler", "--db", file)
    assert code == 0
    assert "1. 2018-03-05  Sam Reed: Heating" in out
    assert "message 2, conversation 2, found by word" in out
    code, out, _ = oaken("search", "nosuchword", "--mode", "keyword", "--db", file)
    assert (code, out) == (0, "Nothing found.\n")


@pytest.mark.parametrize("verb", [["ingest"], ["embed"], ["search"], ["message", "get"], ["thread", "get"], ["status"], ["doctor"], ["repair"], ["serve"], ["demo"]])  # fmt: skip
def test_every_verb_explains_itself_with_an_example(verb: list[str]) -> None:
    code, out, _ = oaken(*verb, "--help")
    assert code == 0
    assert f"oaken {' '.join(verb)}" in out.split("Options:")[0].split("\n", 1)[1]


def refused(*arguments: str | Path) -> tuple[str, str]:
    """(code, text) of a command that could do nothing: exit 1, one JSON document, no traceback; and the same in words."""
    code, out, err = oaken(*arguments, "--json")
    assert (code, "Traceback" in err) == (1, False), err
    said = json.loads(out)
    assert said["ok"] is False
    code, out, err = oaken(*arguments)
    assert (code, out) == (1, "")
    assert f"Error: {said['error']}" in err
    return said["code"], said["error"]


def test_bad_input_gets_a_clear_error_and_nothing_is_made(tmp_path: Path) -> None:
    file = tmp_path / "o.db"
    (tmp_path / "empty.mbox").write_bytes(b"")
    (tmp_path / "numbers.gz").write_bytes(gzip.compress(b"1,2,3\n" * 100))
    (tmp_path / "nothing").mkdir()
    (tmp_path / "picture.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(range(256)) * 20)
    cases = {
        "none.mbox": "no_path",
        "empty.mbox": "empty_file",
        "numbers.gz": "not_mail",
        "nothing": "no_mail",
        "picture.jpg": "not_mail",
    }
    found = {name: refused("ingest", tmp_path / name, "--db", file) for name in cases}
    assert {name: code for name, (code, _) in found.items()} == cases
    for name, (_, text) in found.items():
        assert name in text
    assert not file.exists()


def test_one_bad_path_among_several_is_listed_and_the_others_come_in(tmp_path: Path) -> None:
    done = answer(
        "ingest", tmp_path / "none.mbox", mbox(tmp_path / "a.mbox", LETTERS), "--no-embed", "--db", tmp_path / "o.db"
    )
    assert (done["ok"], done["added"]) == (True, 2)
    assert [(f["key"], f["attempts"]) for f in done["failures"]] == [(str(tmp_path / "none.mbox"), 1)]


def test_mail_of_which_nothing_can_be_read_is_not_called_a_success(tmp_path: Path) -> None:
    whole = gzip.compress(mbox(tmp_path / "a.mbox", [mail(os.urandom(60000).hex())]).read_bytes())
    (tmp_path / "cut.mbox.gz").write_bytes(whole[: len(whole) // 2])
    code, out, _ = oaken("ingest", tmp_path / "cut.mbox.gz", "--no-embed", "--json", "--db", tmp_path / "o.db")
    said = json.loads(out)
    assert (code, said["ok"], said["code"], said["added"]) == (1, False, "nothing_read", 0)
    assert len(said["failures"]) == 1


def test_a_database_that_is_not_one_is_named_and_not_touched(tmp_path: Path) -> None:
    path = mbox(tmp_path / "a.mbox", LETTERS)
    other = tmp_path / "letter.txt"
    other.write_text("Dear Sam, " * 200)
    assert refused("ingest", path, "--db", other)[0] == "not_a_database"
    assert refused("search", "boiler", "--db", other)[0] == "not_a_database"
    assert refused("search", "boiler", "--db", tmp_path / "none.db")[0] == "no_database"
    assert refused("status", "--db", tmp_path)[0] == "not_a_database"
    assert other.read_text() == "Dear Sam, " * 200


def test_a_mail_file_given_as_database_and_a_database_given_as_mail(tmp_path: Path) -> None:
    path, file = mbox(tmp_path / "a.mbox", LETTERS), tmp_path / "o.db"
    ingest(file, path)[0].close()
    assert refused("ingest", file, "--db", tmp_path / "p.db")[0] == "not_mail"
    assert refused("search", "boiler", "--db", path)[0] == "not_a_database"


def test_a_database_that_another_process_writes_is_waited_for_then_named(tmp_path: Path) -> None:
    path, file = mbox(tmp_path / "a.mbox", LETTERS), tmp_path / "o.db"
    holder = db.connect(file, create=True)
    holder.execute("begin immediate")
    code, out, _ = oaken("ingest", path, "--no-embed", "--json", "--db", file)
    holder.execute("rollback")
    assert (code, json.loads(out)["code"]) == (1, "database_locked")
    assert answer("ingest", path, "--no-embed", "--db", file)["added"] == 2


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="a full disk is made as a tiny tmpfs, by root on Linux"
)
def test_a_full_disk_is_said_and_what_was_committed_stays(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    letters = [mail(os.urandom(6000).hex(), id=f"<{n}@example.org>") for n in range(900)]
    path, file = mbox(tmp_path / "a.mbox", letters), disk / "o.db"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this machine does not let a tmpfs be mounted")
    try:
        code, text = refused("ingest", path, "--no-embed", "--db", file)
        assert code == "disk_full"
        assert "make room and run this again" in text
        shutil.copy(file, tmp_path / "copy.db")
        if (disk / "o.db-wal").exists():
            shutil.copy(disk / "o.db-wal", tmp_path / "copy.db-wal")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    done = answer("ingest", path, "--no-embed", "--db", tmp_path / "copy.db")
    assert done["added"] + done["unchanged"] == 900
    conn = db.connect(tmp_path / "copy.db")
    assert conn.execute("pragma integrity_check").fetchone()[0] == "ok"


def test_the_demo_overwrites_no_file(tmp_path: Path) -> None:
    file = tmp_path / "o.db"
    ingest(file, mbox(tmp_path / "a.mbox", LETTERS))[0].close()
    before = file.read_bytes()
    code, _, err = oaken("demo", "--write", file)
    assert (code, "is there already and was not touched" in err) == (1, True)
    assert file.read_bytes() == before


def test_tables_that_someone_dropped_are_made_again(tmp_path: Path) -> None:
    path, file = mbox(tmp_path / "a.mbox", LETTERS), tmp_path / "o.db"
    answer("ingest", path, "--db", file)
    conn = db.connect(file)
    for table in ("recall_vectors", "recall_chunks_fts", "embedding_queue"):
        conn.execute(f"drop table {table}")
    conn.close()
    assert refused("search", "boiler", "--mode", "keyword", "--db", file)[1].endswith(f"oaken repair --all --db {file}")
    assert answer("repair", "--all", "--db", file) == {
        "ok": True,
        "sections": 0,
        "failures": [],
        "fts": 2,
        "semantic": 0,
        "verdicts": 0,
    }
    assert answer("embed", "--db", file)["embedded"] == 2
    assert {f["level"] for f in answer("doctor", "--db", file)["findings"]} == {"ok"}
    assert answer("search", "boiler", "--db", file)["hits"][0]["subject"] == "Heating"


def test_usage_errors_exit_with_two(tmp_path: Path) -> None:
    assert oaken("ingest", "", "--db", tmp_path / "o.db")[0] == 2
    assert oaken("message", "get", "9" * 30)[0] == 2
    assert oaken("ingest")[0] == 2
    assert oaken("search", "x", "--limit", "0")[0] == 2
    assert oaken("nonsense")[0] == 2
    assert oaken("repair", "--db", tmp_path / "o.db")[0] == 2


def test_ctrl_c_keeps_what_is_stored_and_says_how_to_go_on(tmp_path: Path) -> None:
    letters = [mail(f"Letter number {n}\n" * 30, id=f"<{n}@example.org>") for n in range(4000)]
    path, file = mbox(tmp_path / "a.mbox", letters), tmp_path / "o.db"
    command = [sys.executable, "-m", "ingest", "ingest", str(path), "--no-embed", "--db", str(file)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    stored = 0
    while not stored and time.monotonic() < deadline:
        time.sleep(0.02)
        try:
            conn = db.connect(file, readonly=True)
            (stored,) = conn.execute("select count(*) from messages").fetchone()
            conn.close()
        except (db.OakenError, db.sqlite3.Error):
            continue
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does it: to the workers too
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "run the same command again to go on" in err
    assert "Traceback" not in err
    done = answer("ingest", path, "--no-embed", "--db", file)
    assert (done["added"] + done["unchanged"], done["unchanged"] >= stored > 0) == (4000, True)


def test_mail_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    nasty = mail("\x1b]0;owned\x07 red \x1b[31m boiler\n", subject="\x1b[2J boiler")
    file = tmp_path / "o.db"
    ingest(file, eml_folder(tmp_path / "m", {"1.eml": nasty}))[0].close()
    for arguments in (["search", "boiler"], ["message", "get", "1"], ["thread", "get", "1"]):
        code, out, _ = oaken(*arguments, "--db", file)
        assert code == 0
        assert "\x1b" not in out and "\x07" not in out
