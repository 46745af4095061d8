"""What tests of exporting share: letters with every hazard, exporting them, and reading what came out without Oaken."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from click.testing import CliRunner
from making import eml_folder, ingest, mail

from datasette_oaken import db
from datasette_oaken.stored import pack_raw
from ingest.cli import oaken

LETTERS = {
    "1.eml": mail("The key.\nFrom the mat.\n>From the shelf.\n>>From it.\n", id="<1@example.org>"),
    "2.eml": mail("A bell\r\nFrom a tower.\r\n", id="<2@example.org>").replace(b"\n", b"\r\n").replace(b"\r\r", b"\r"),
    "3.eml": mail("No end", id="<3@example.org>", date="never", sender="nobody"),
    "4.eml": b"Status: RO\nX-Status: AF\n" + mail("Read.\n", id="<4@example.org>", sender="Ben <ben@example.org>"),
}


def stored(tmp_path: Path, letters: dict[str, bytes] = LETTERS) -> db.sqlite3.Connection:
    conn, report = ingest(tmp_path / "o.db", eml_folder(tmp_path / "in", letters))
    assert (report.added, report.failures) == (len(letters), [])
    return conn


def split_mboxrd(data: bytes) -> list[bytes]:
    """The messages of an mboxrd as its definition has it, written without a look at the reader under test."""
    parts: list[list[bytes]] = []
    for line in data.splitlines(keepends=True) if b"\r" not in data else re.findall(rb"[^\n]*\n|[^\n]+", data):
        if line.startswith(b"From "):
            parts.append([])
        else:
            parts[-1].append(line[1:] if re.match(rb">+From ", line) else line)
    assert all(part[-1] == b"\n" for part in parts)
    return [b"".join(part[:-1]) for part in parts]


def hashes(out: Path, kind: str) -> list[str]:
    """The sha256 of every message of what was exported, in order."""
    files = sorted((out / ("cur" if kind == "maildir" else "")).iterdir()) if kind != "mbox" else []
    found = split_mboxrd(out.read_bytes()) if kind == "mbox" else [file.read_bytes() for file in files]
    return sorted(hashlib.sha256(raw).hexdigest() for raw in found)


def run(*args: object, code: int = 0) -> dict[str, object]:
    done = CliRunner().invoke(oaken, ["export", "--json", *map(str, args)])
    assert done.exit_code == code, done.output
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def put_as_it_is(path: Path, raws: list[bytes]) -> db.sqlite3.Connection:
    """A file with these bytes as its messages, 1 and on, whatever an ingest would make of them."""
    conn = db.connect(path, create=True)
    with db.transaction(conn):
        conn.execute("insert or ignore into accounts (name) values ('a')")
        for number, raw in enumerate(raws, 1):
            conn.execute(
                "insert into messages (id, account, source_id, size, content_hash) values (?, 'a', ?, ?, ?)",
                (number, number, len(raw), number),
            )
            conn.execute(
                "insert into raw_messages values (?, ?, ?, ?)",
                (number, hashlib.sha256(raw).hexdigest(), *pack_raw(raw)),
            )
    return conn
