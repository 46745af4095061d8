"""A file of mail with a question that was asked, judged, reviewed and edited, for tests of what shows it."""

from __future__ import annotations

from pathlib import Path

from datasette.utils.sqlite import sqlite3
from judges import Plain
from oaken_site import build, some_mail

from datasette_oaken import db, questions, verdicts
from datasette_oaken.readings import Reading
from ingest.judging.base import Judgement
from ingest.judging.run import judge_all

QUESTION = "Is someone to be fetched?"


def says(reading: Reading) -> Judgement:
    """Yes of what asks to collect or fetch, unclear of a prize, an error of what has files, no of the rest."""
    for word in ("collect", "fetch"):
        if word in reading.words:
            return Judgement("yes", f"It says {word}.", "It may be another's turn.", word)
    if "prize" in reading.words:
        return Judgement("unclear", "A prize may be fetched.", None, None, "It cannot be told.")
    if "accounts" in reading.words:
        return Judgement("error", error="The model took longer than 300 seconds.")
    return Judgement("no", "Nothing of the kind.")


def judged(path: Path) -> Path:
    """The mail of ``oaken_site``, judged by two judges; verdict 1 on was agreed with, and the criterion changed in between."""
    build(path, some_mail())
    conn = db.connect(path)
    with db.transaction(conn):
        questions.ask(conn, QUESTION)
    judge_all(conn, path, 1, Plain(says), quiet=True, order="oldest")
    with db.transaction(conn):
        questions.edit(conn, 1, criterion="A person, not a thing")
    judge_all(conn, path, 1, Plain(says), quiet=True, order="oldest")
    judge_all(conn, path, 1, Plain(lambda reading: Judgement("no", "Never."), name="test:never"), quiet=True)
    with db.transaction(conn):
        (yes,) = conn.execute("select min(verdict_id) from verdicts_current where status = 'yes'").fetchone()
        verdicts.review(conn, yes, agrees=True, note="So it is.", reviewer="kim")
    conn.execute("pragma wal_checkpoint(truncate)")
    conn.close()
    return path


def verdict_of(conn: sqlite3.Connection, status: str) -> int:
    """A verdict that counts and has this status."""
    return int(conn.execute("select min(verdict_id) from verdicts_current where status = ?", (status,)).fetchone()[0])
