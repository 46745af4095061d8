"""The main job on the oldest SQLite that is promised, and on a machine where no SQLite can load an extension.

Each runs in a process of its own, since a process has one SQLite: the first in a Python whose own ``sqlite3`` is 3.40 and
loads extensions (Debian 12's), with the environment of these tests; ``pysqlite3`` is hidden from both.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from datasette_oaken import db
from datasette_oaken.vector import signs
from ingest import pipeline
from ingest.embed import embed
from ingest.forget import finish
from ingest.sources import detect

ROOT = Path(__file__).resolve().parents[1]

HIDDEN = "import sys; sys.modules['pysqlite3'] = None\n"

MISSING = """
import sqlite3
class Connection(sqlite3.Connection):
    @property
    def enable_load_extension(self):
        raise AttributeError("enable_load_extension")
"""
"""As a Python built without --enable-loadable-sqlite-extensions (pyenv's, python.org's on macOS)."""

REFUSED = """
import sqlite3
class Connection(sqlite3.Connection):
    def enable_load_extension(self, on):
        raise sqlite3.NotSupportedError("extension loading is not available")
"""
"""As a Python that has the door, over a SQLite library built with SQLITE_OMIT_LOAD_EXTENSION."""

CONNECT = """
_connect = sqlite3.connect
sqlite3.connect = lambda *args, **kwargs: _connect(*args, **{"factory": Connection, **kwargs})
"""

OAKEN = """
import json
from ingest.cli import oaken
for command in json.loads(sys.argv[1]):
    oaken([*command, "--json"], standalone_mode=False)
"""

MBOX = """\
From heron@example.org Mon Mar  4 09:00:00 2024
Message-ID: <m1@example.org>
Date: Mon, 04 Mar 2024 09:00:00 +0000
From: Ada Heron <heron@example.org>
Subject: Thursday

I will collect the children from school on Thursday, so you need not leave the office early.

From rook@example.net Tue Mar  5 10:00:00 2024
Message-ID: <m2@example.org>
Date: Tue, 05 Mar 2024 10:00:00 +0000
From: Ben Rook <rook@example.net>
Subject: Invoice

The plumber's bill for the new boiler came to four hundred pounds; I have paid it.

From tanaka@example.jp Wed Mar  6 10:00:00 2024
Message-ID: <m3@example.org>
Date: Wed, 06 Mar 2024 10:00:00 +0000
From: Tanaka <tanaka@example.jp>
Subject: =?utf-8?b?5Lya6K2w?=
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: base64

5piO5pel44Gu5Lya6K2w5a6k44Gv5LiJ6ZqO44Gn44GZ

"""
"""The third: 会議 ("meeting"), 明日の会議室は三階です ("tomorrow's meeting room is on the third floor")."""

PARAPHRASE = "who picks up the kids after lessons"


def python(executable: str, before: str, code: str, *arguments: str, cwd: Path) -> str:
    """What ``code`` prints in a fresh process of ``executable`` that has our packages."""
    site = sysconfig.get_path("purelib")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), site]), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [executable, "-c", HIDDEN + before + code, *arguments]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:] or done.stdout[-3000:]
    return done.stdout


def oaken(executable: str, before: str, *commands: list[str], cwd: Path) -> list[Any]:
    """What each of some ``oaken`` commands answers, one after the other in one fresh process."""
    printed = python(executable, before, OAKEN, json.dumps(commands), cwd=cwd)
    answers, at = [], 0
    while printed[at:].strip():
        at += len(printed[at:]) - len(printed[at:].lstrip())
        answer, at = json.JSONDecoder().raw_decode(printed, at)
        answers.append(answer)
    assert len(answers) == len(commands)
    return answers


@cache
def oldest_python() -> str | None:
    """A Python of our version whose own SQLite is the oldest promised and loads extensions."""
    question = (
        "import sqlite3, sys; c = sqlite3.connect(':memory:'); c.enable_load_extension(True);"
        "print(sys.version_info[:2], sqlite3.sqlite_version_info[:2])"
    )
    wanted = f"{sys.version_info[:2]} {db.OLDEST_SQLITE[:2]}"
    for folder in (None, "/usr/bin", "/usr/local/bin"):
        for name in (sys.executable, f"python3.{sys.version_info[1]}", "python3"):
            path = name if folder is None and name == sys.executable else shutil.which(name, path=folder)
            if path is None:
                continue
            done = subprocess.run([path, "-c", question], capture_output=True, text=True, timeout=60, check=False)
            if done.stdout.strip() == wanted:
                return path
    return None


@pytest.fixture
def oldest() -> str:
    path = oldest_python()
    if path is None:
        pytest.skip(f"no Python here has SQLite {'.'.join(map(str, db.OLDEST_SQLITE[:2]))} with extensions")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mail.mbox").write_text(MBOX)
    return tmp_path


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["internet_message_id"] for hit in answer["hits"]]


SQLITE = (
    "from datasette_oaken.db import sqlite3; import json; print(json.dumps([sqlite3.__name__, sqlite3.sqlite_version]))"
)

SITE = """
import asyncio, json, re, sys
from datasette.app import Datasette

async def pages():
    site = Datasette(sys.argv[1:])
    await site.invoke_startup()
    for path in ("/-/oaken?q=boiler", "/-/oaken/message/1", "/-/oaken/thread/1", "/oaken/messages"):
        answer = await site.client.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
    answer = await site.client.get("/-/oaken/search.json", params={"q": "who picks up the kids after lessons"})
    print(answer.text)

asyncio.run(pages())
"""


def found(answer: dict[str, Any]) -> list[str]:
    """The findings of ``oaken doctor`` about anything but the mail's language."""
    return [f["found"] for f in answer["findings"] if f["level"] != "ok" and f["check"] != "language"]


def test_the_main_job_on_the_oldest_sqlite(oldest: str, folder: Path) -> None:
    module, version = json.loads(python(oldest, "", SQLITE, cwd=folder))
    assert (module, version.split(".")[:2]) == ("sqlite3", [str(part) for part in db.OLDEST_SQLITE[:2]])
    first, again, word, phrase, cjk, meaning, repaired, after, checkup = oaken(
        oldest,
        "",
        ["ingest", "mail.mbox", "--processes", "2"],
        ["ingest", "mail.mbox"],
        ["search", "boiler", "--mode", "keyword"],
        ["search", '"new boiler" -school', "--mode", "keyword"],
        ["search", "会議室", "--mode", "keyword"],
        ["search", PARAPHRASE, "--mode", "vector"],
        ["repair", "--all"],
        ["search", PARAPHRASE],
        ["doctor"],
        cwd=folder,
    )
    assert (first["added"], first["failures"], first["embedding_backlog"]) == (3, [], 0)
    assert (again["added"], again["unchanged"]) == (0, 3)
    assert [ids(word), ids(phrase), ids(cjk)] == [["<m2@example.org>"], ["<m2@example.org>"], ["<m3@example.org>"]]
    assert (ids(meaning)[0], meaning["degraded"], meaning["coverage"]) == ("<m1@example.org>", False, 1.0)
    assert repaired["ok"] is True
    assert (ids(after)[0], after["degraded"]) == ("<m1@example.org>", False)
    assert found(checkup) == []
    page = json.loads(python(oldest, "", SITE, "oaken.db", cwd=folder))
    assert (ids(page)[0], page["degraded"]) == ("<m1@example.org>", False)


def test_a_file_that_a_newer_sqlite_wrote_is_read_and_written_by_the_oldest(oldest: str, folder: Path) -> None:
    if db.sqlite3.sqlite_version_info[:2] <= db.OLDEST_SQLITE[:2]:
        pytest.skip("these tests themselves run on the oldest SQLite")
    (folder / "more.mbox").write_text(MBOX.replace("@example.org>", "@more.example>").replace("boiler", "kettle"))
    conn = db.connect(folder / "oaken.db", create=True)
    pipeline.ingest(conn, folder / "oaken.db", [detect(folder / "mail.mbox")], processes=0, quiet=True)
    embed(conn, folder / "oaken.db", quiet=True)
    conn.close()
    word, meaning, more, checkup = oaken(
        oldest,
        "",
        ["search", "boiler", "--mode", "keyword"],
        ["search", PARAPHRASE, "--mode", "vector"],
        ["ingest", "more.mbox"],
        ["doctor"],
        cwd=folder,
    )
    assert (ids(word), ids(meaning)[0], meaning["degraded"]) == (["<m2@example.org>"], "<m1@example.org>", False)
    assert (more["added"], found(checkup)) == (3, [])
    here = find(folder, "kettle", "keyword")
    assert (ids(here), here["coverage"]) == (["<m2@more.example>"], 1.0)


def find(folder: Path, query: str, mode: str) -> dict[str, Any]:
    """A search in this process, with the SQLite of these tests."""
    from ingest.find import find

    return find(folder / "oaken.db", query, mode=mode, limit=10, next_token=None, fields={}, config=None)


@pytest.mark.parametrize(
    ("door", "why"),
    [(MISSING, "built without loadable extensions"), (REFUSED, "does not load extensions")],
    ids=["missing", "refused"],
)
def test_with_no_extension_keywords_answer_and_doctor_says_what_to_install(folder: Path, door: str, why: str) -> None:
    first, answer, alone, checkup = oaken(
        sys.executable,
        door + CONNECT,
        ["ingest", "mail.mbox"],
        ["search", "boiler bill"],
        ["search", PARAPHRASE, "--mode", "vector"],
        ["doctor"],
        cwd=folder,
    )
    assert (first["added"], first["failures"], first["embedding_backlog"]) == (3, [], 0)
    assert (ids(answer), answer["degraded"], answer["degraded_reason"]) == (["<m2@example.org>"], True, "no_extension")
    assert (alone["degraded"], alone["degraded_reason"]) == (True, "no_extension")
    page = json.loads(python(sys.executable, door + CONNECT, SITE, "oaken.db", cwd=folder))
    assert (page["degraded"], page["degraded_reason"]) == (True, "no_extension")

    (finding,) = [f for f in checkup["findings"] if f["check"] == "extension"]
    assert checkup["ok"] is True
    assert (finding["level"], why in finding["found"]) == ("warning", True)
    assert "pip install pysqlite3" in finding["advice"]


def test_vectors_made_without_the_extension_answer_once_it_is_there(folder: Path) -> None:
    with contextlib.closing(db.sqlite3.connect(":memory:")) as conn:
        if db.load_vec(conn) is not None:
            pytest.skip("no SQLite here loads extensions")
    oaken(sys.executable, MISSING + CONNECT, ["ingest", "mail.mbox"], cwd=folder)
    path = folder / "oaken.db"
    conn = db.connect(path)
    assert embed(conn, path, quiet=True).embedded == 0
    conn.close()
    answer = find(folder, PARAPHRASE, "vector")
    assert (ids(answer)[0], answer["degraded"]) == ("<m1@example.org>", False)


def test_forgetting_on_the_oldest_sqlite_leaves_no_word_in_the_file(oldest: str, folder: Path) -> None:
    before, told, checkup, gone = oaken(
        oldest,
        "",
        ["ingest", "mail.mbox"],
        ["forget", "2", "--yes"],
        ["doctor"],
        ["search", "boiler", "--mode", "keyword"],
        cwd=folder,
    )
    assert (before["added"], told["forgotten"], told["clean"], ids(gone), found(checkup)) == (3, 1, True, [], [])
    assert [word for word in (b"boiler", b"plumber", b"rook@") if word in (folder / "oaken.db").read_bytes()] == []


def test_vectors_forgotten_without_the_extension_are_due_until_it_is_there(folder: Path) -> None:
    with contextlib.closing(db.sqlite3.connect(":memory:")) as conn:
        if db.load_vec(conn) is not None:
            pytest.skip("no SQLite here loads extensions")
    path = folder / "oaken.db"
    conn = db.connect(path, create=True)
    pipeline.ingest(conn, path, [detect(folder / "mail.mbox")], processes=0, quiet=True)
    embed(conn, path, quiet=True)
    (vector,) = conn.execute(
        "select embedding from recall_vectors join recall_chunks on id = chunk_id where message_id = 2"
    ).fetchone()
    conn.close()
    told, checkup = oaken(sys.executable, MISSING + CONNECT, ["forget", "2", "--yes"], ["doctor"], cwd=folder)
    assert (told["forgotten"], told["clean"], "sqlite-vec" in told["due"][0]) == (1, False, True)
    assert [f["advice"] for f in checkup["findings"] if f["check"] == "forgotten"] == ["oaken forget --finish"]
    assert bytes(vector) not in path.read_bytes() and signs(bytes(vector)) in path.read_bytes()
    assert finish(db.connect(path), path, quiet=True).due == []
    assert signs(bytes(vector)) not in path.read_bytes()
