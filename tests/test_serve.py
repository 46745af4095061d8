"""The site as a person starts it: its address at once, keywords before vectors, embedding beside it, and nothing left running."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from making import ingest, mail, mbox

from datasette_oaken import db

LETTERS = [
    mail(f"The boiler is cold again, day {n}.\n" * 3, id=f"<{n}@example.org>", subject=f"Heating {n}")
    for n in range(300)
]


@contextmanager
def started(*arguments: str | Path, cwd: Path) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """A running command: the process, the site's address, and the lines it has printed so far."""
    child = subprocess.Popen(
        [sys.executable, "-m", "ingest", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=True,
    )
    lines: list[str] = []
    known = threading.Event()

    def read() -> None:
        assert child.stderr is not None
        for line in child.stderr:
            lines.append(line)
            if "Search your mail at" in line:
                known.set()
        known.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        assert known.wait(120), "".join(lines)
        address = re.search(r"Search your mail at (http://127\.0\.0\.1:\d+/-/oaken)", "".join(lines))
        assert address, "".join(lines)
        yield child, address[1], lines
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGINT)
            child.wait(60)
        reader.join(10)


def get(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=60) as response:
        return json.load(response)


def test_search_works_before_embedding_is_done_and_meaning_comes_with_it(tmp_path: Path) -> None:
    file = tmp_path / "o.db"
    ingest(file, mbox(tmp_path / "a.mbox", LETTERS))[0].close()
    with started("serve", "--db", file, cwd=tmp_path) as (child, address, lines):
        first = get(f"{address}/search.json?q=boiler&limit=3")
        assert (first["ok"], first["returned"], next(iter(first["hits"][0]["why"]))) == (True, 3, "keyword")
        deadline = time.monotonic() + 240
        coverage = [first["coverage"]]
        while coverage[-1] < 1.0 and time.monotonic() < deadline:
            time.sleep(0.5)
            coverage.append(get(f"{address}/status.json")["embedding"]["coverage"])
        assert coverage[-1] == 1.0
        assert coverage == sorted(coverage)
        meant = get(f"{address}/search.json?q=no+warmth+in+the+house&mode=vector&limit=1")
        assert (meant["degraded"], meant["coverage"], meant["hits"][0]["subject"][:7]) == (False, 1.0, "Heating")
        while "passages embedded with" not in "".join(lines) and time.monotonic() < deadline:
            time.sleep(0.1)
        os.killpg(child.pid, signal.SIGINT)
        assert child.wait(60) in (0, 130, -signal.SIGINT)
    assert "300 passages embedded with" in "".join(lines)
    assert "Traceback" not in "".join(lines)


def test_a_page_elsewhere_cannot_read_the_mail_by_pointing_its_name_here(tmp_path: Path) -> None:
    file = tmp_path / "o.db"
    ingest(file, mbox(tmp_path / "a.mbox", LETTERS[:1]))[0].close()
    with started("serve", "--no-embed", "--db", file, cwd=tmp_path) as (_, address, _):
        port = int(address.split(":")[2].split("/")[0])
        answers = {}
        for host in (
            f"127.0.0.1:{port}",
            f"localhost:{port}",
            "localhost",
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1.evil.example",
            "",
        ):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/-/oaken/search.json?q=boiler", headers={"Host": host})
            answers[host] = connection.getresponse().status
            connection.close()
        assert list(answers.values()) == [200, 200, 200, 421, 421, 421, 421]


def test_a_stopped_site_leaves_no_process_embedding(tmp_path: Path) -> None:
    from ingest import locks

    file = tmp_path / "o.db"
    many = [mail(f"Passage {n}: " + "the boiler is cold, " * 20, id=f"<{n}@example.org>") for n in range(1500)]
    ingest(file, mbox(tmp_path / "a.mbox", many))[0].close()
    with started("serve", "--db", file, cwd=tmp_path) as (child, _, _):
        conn = db.connect(file, readonly=True)
        deadline = time.monotonic() + 120
        while locks.holder(conn, file, "embed") is None and time.monotonic() < deadline:
            time.sleep(0.1)
        assert locks.holder(conn, file, "embed") is not None
        child.send_signal(signal.SIGINT)  # to the site alone: it has to end its helper itself
        child.wait(60)
    assert locks.holder(conn, file, "embed") is None


def test_the_demo_fills_a_file_of_its_own_and_a_second_run_adds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ingest", "demo", "--no-serve"]
    first = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    added = int(re.match(r"([\d,]+) messages added: oaken-demo.db", first.stdout)[1].replace(",", ""))  # type: ignore[index]
    assert 900 <= added <= 1200
    second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert second.stdout.startswith(f"0 messages added, {added:,} unchanged: oaken-demo.db\n")


def test_a_taken_port_is_said_and_without_a_wish_a_free_one_is_found(tmp_path: Path) -> None:
    file = tmp_path / "o.db"
    ingest(file, mbox(tmp_path / "a.mbox", LETTERS[:2]))[0].close()
    with started("serve", "--no-embed", "--db", file, cwd=tmp_path) as (_, address, _):
        port = address.split(":")[2].split("/")[0]
        done = subprocess.run(
            [sys.executable, "-m", "ingest", "serve", "--db", str(file), "--port", port], capture_output=True, text=True
        )
        assert (done.returncode, f"Port {port} is taken" in done.stderr) == (1, True)
        with started("serve", "--no-embed", "--db", file, cwd=tmp_path) as (_, other, _):
            assert other != address
            assert get(f"{other}/search.json?q=boiler")["returned"] == 2
