"""What tests of deletion share: questions with verdicts on them, and looking through a whole file."""

from __future__ import annotations

from typing import Any

from datasette.utils.sqlite import sqlite3
from making import rows

from datasette_oaken import db, eligible, questions, readings, verdicts

JUDGE: dict[str, Any] = {"judge": "test:judge", "model": "m 1", "prompt_version": "1"}


def ask(conn: sqlite3.Connection, question: str = "Is it?", **options: Any) -> int:
    with db.transaction(conn):
        id_ = questions.ask(conn, question, **options)
        questions.activate(conn, id_, **JUDGE)
        return id_


def judge(conn: sqlite3.Connection, question: int, message: int, status: str = "yes") -> int:
    """A verdict of the active judge on what a judge would be given now."""
    with db.transaction(conn):
        reading = readings.build(conn, message)
        readings.keep(conn, reading)
        verdicts.set_reading(conn, question, message, reading)
        asked = questions.get(conn, question)
        assert asked is not None
        id_ = verdicts.put(conn, asked, message, reading, status=status, reasoning="because", **JUDGE)
        verdicts.settle(conn, question, [message])
        return id_


def named_anywhere(conn: sqlite3.Connection, message: int) -> list[str]:
    """The tables that name a message in any column that is for messages, whichever tables there are."""
    found_in = []
    for (table,) in rows(
        conn, "select name from sqlite_master where type = 'table' and sql not like 'create virtual%'"
    ):
        for column in rows(conn, f"select name from pragma_table_info('{table}')"):
            for_messages = column[0] in ("message_id", "copy_of") or (table, column[0]) == ("messages", "id")
            if for_messages and rows(conn, f"select 1 from [{table}] where [{column[0]}] = ? limit 1", message):
                found_in.append(f"{table}.{column[0]}")
    return found_in


def sound(conn: sqlite3.Connection) -> None:
    assert rows(conn, "pragma integrity_check") == [("ok",)]
    assert rows(conn, "pragma foreign_key_check") == []
    conn.execute("insert into recall_chunks_fts (recall_chunks_fts, rank) values ('integrity-check', 1)")
    conn.execute("insert into recall_chunks_fts_cjk (recall_chunks_fts_cjk) values ('integrity-check')")
    assert eligible.drift(conn) == 0


def content(conn: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table of ours, sorted; not the facts, and not the indexes' own tables, which say the same in more ways."""
    return {
        str(name): sorted(rows(conn, f"select * from [{name}]"), key=repr)
        for (name,) in rows(
            conn, "select name from sqlite_master where type = 'table' and sql not like 'create virtual%'"
        )
        if not str(name).startswith(("sqlite_", "recall_chunks_fts", "_recall_vec0")) and name != "oaken_facts"
    }
