"""``oaken repair --sections``: what was derived is made again from the raw messages alone, and what people did stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from making import SHARED, ingest, mail, mbox, rows

from datasette_oaken import db
from ingest import chunks, doctor, prepare, remake
from ingest.embed import embed
from ingest.judge import judge
from ingest.repair import repair
from ingest.sections import Section

LETTERS = [
    mail("The boiler is cold.\n\nIt was warm on Monday.\n\n-- \nSam\n", id="<1@example.org>"),
    mail(
        "Call the plumber.\n\n> The boiler is cold.\n",
        id="<2@example.org>",
        headers=["References: <1@example.org>", "Cc: Ben <ben@example.org>"],
    ),
    mail("", id="<3@example.org>", subject="Nothing in it"),
    b"Received: by list.example.org\n"
    + mail("The boiler is cold.\n\nIt was warm on Monday.\n\n-- \nSam\n", id="<1@example.org>"),
]
DERIVED = {
    "messages": "select * from messages order by id",
    "recipients": "select message_id, role, name, address from message_recipients order by message_id, id",
    "attachments": "select message_id, part, filename, content_type, size, sha256, content_id from attachments order by 1, 2",
    "texts": "select message_id, hex(text), from_html, language from message_texts order by 1",
    "sections": "select * from message_sections order by 1, 2",
    "chunks": "select message_id, section, position, text, author, said_at, thread_id, content_hash, source_id, account,"
    " policy_version from recall_chunks order by 1, 2, 3",
    "threads": "select * from threads order by id",
    "references": "select * from thread_references order by 1, 2",
}
KEPT = {
    "raw": "select * from raw_messages order by 1",
    "places": "select * from message_locations order by 2, 3",
    "labels": "select * from message_labels order by 1, 2",
    "state": "select * from message_state order by 1",
}


def content(conn: db.sqlite3.Connection, tables: dict[str, str]) -> dict[str, list[tuple[object, ...]]]:
    return {name: rows(conn, sql) for name, sql in tables.items()}


def sound(conn: db.sqlite3.Connection, path: Path) -> None:
    conn.execute("insert into recall_chunks_fts (recall_chunks_fts, rank) values ('integrity-check', 1)")
    assert [f["check"] for f in doctor.doctor(path)["findings"] if f["level"] == "error"] == []


def stored(tmp_path: Path) -> tuple[db.sqlite3.Connection, Path]:
    conn, report = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    assert (report.added, report.failures) == (4, [])
    return conn, tmp_path / "o.db"


def test_nothing_is_written_where_nothing_differs(tmp_path: Path) -> None:
    conn, path = stored(tmp_path)
    before = content(conn, DERIVED | KEPT), rows(conn, "select id, text from recall_chunks")
    assert repair(conn, path, sections=True, quiet=True) == {"ok": True, "sections": 0, "failures": []}
    assert (content(conn, DERIVED | KEPT), rows(conn, "select id, text from recall_chunks")) == before


@pytest.mark.parametrize(
    "damage",
    [
        "delete from message_recipients",
        "delete from message_texts",
        "update message_texts set text = x'00', language = null",
        "delete from message_sections where message_id = 2",
        "update message_sections set stop = stop - 1 where message_id = 1 and position = 0",
        "update messages set subject = 'x', from_address = null, sent_at = null, internet_message_id = 'y', copy_of = null",
        "update messages set authored_hash = null, has_attachments = 1, size = 0; update messages set copy_of = 1 where id = 3",
        "delete from thread_references",
        "update messages set thread_id = null; delete from thread_references; delete from threads",
        "delete from recall_chunks where message_id in (1, 3)",
        "update recall_chunks set text = 'x', author = null where message_id = 2",
        "insert into attachments (message_id, part, size, sha256) values (1, 0, 1, 'x')",
    ],
)
def test_whatever_derived_rows_were_lost_or_changed_comes_back(tmp_path: Path, damage: str) -> None:
    conn, path = stored(tmp_path)
    before, kept = content(conn, DERIVED), content(conn, KEPT)
    if "threads" in damage:
        conn.execute("update sqlite_sequence set seq = 0 where name = 'threads'")
    conn.execute("pragma foreign_keys = off")
    for statement in damage.split("; "):
        conn.execute(statement)
    conn.execute("pragma foreign_keys = on")
    if "delete from threads" in damage:
        conn.execute("delete from sqlite_sequence where name = 'threads'")
    repair(conn, path, sections=True, fts=True, verdicts=True, quiet=True)
    assert (content(conn, DERIVED), content(conn, KEPT)) == (before, kept)
    sound(conn, path)
    assert rows(conn, "select distinct message_id from recall_chunks_fts f join recall_chunks c on c.id = f.rowid"
                " where recall_chunks_fts match 'plumber'") == [(2,)]  # fmt: skip


def test_a_better_sectioner_changes_only_the_messages_that_it_reads_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn, path = stored(tmp_path)
    embed(conn, path, quiet=True)
    judge(conn, path, "Is it cold?", judge_name="rule:cold", quiet=True)
    judged = rows(conn, "select yes, no, stale from questions_progress")
    assert judged == [(1, 2, 0)]
    ids = rows(conn, "select id, message_id from recall_chunks order by id")
    vectors = rows(conn, "select chunk_id, hex(embedding) from recall_vectors order by 1")
    real = prepare.sectioning.section

    def section(text: str, subject: str | None) -> list[Section]:
        if "plumber" not in text:
            return real(text, subject)
        return [Section("authored", 0, len(text), "all of it is the writer's")]

    monkeypatch.setattr(prepare.sectioning, "section", section)
    assert repair(conn, path, sections=True, quiet=True) == {"ok": True, "sections": 1, "failures": []}
    assert [row for row in rows(conn, "select id, message_id from recall_chunks order by id") if row[1] != 2] == [
        row for row in ids if row[1] != 2
    ]
    left = rows(conn, "select chunk_id, hex(embedding) from recall_vectors order by 1")
    assert set(left) < set(vectors)
    assert len(left) >= len([row for row in ids if row[1] != 2])
    assert rows(conn, "select count(*), min(why) from message_sections where message_id = 2") == [
        (1, "all of it is the writer's")
    ]
    assert rows(conn, "select stale, remaining from questions_progress") == [(1, 1)]
    judge(conn, path, "Is it cold?", judge_name="rule:cold", quiet=True)
    assert rows(conn, "select yes, no, stale, remaining from questions_progress") == [(2, 1, 0, 0)]
    embed(conn, path, quiet=True)
    sound(conn, path)


def test_a_chunk_whose_words_stay_keeps_its_vector_when_its_neighbour_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn, path = stored(tmp_path)
    real = prepare.chunking.chunk

    def chunk(text: str, found: list[Section]) -> list[chunks.Chunk]:
        pieces = real(text, found)
        if "plumber" in text:
            pieces.append(chunks.Chunk("authored", 9, "more", chunks.content_hash("more")))
        return pieces

    before = rows(conn, "select id from recall_chunks order by id")
    monkeypatch.setattr(prepare.chunking, "chunk", chunk)
    assert repair(conn, path, sections=True, quiet=True)["sections"] == 1
    after = rows(conn, "select id, text from recall_chunks order by id")
    assert [(row[0],) for row in after[:-1]] == before and after[-1][1] == "more"
    assert rows(conn, "select stale from questions_progress") == []
    sound(conn, path)


def test_a_message_whose_bytes_are_damaged_stays_as_it_is_and_is_listed(tmp_path: Path) -> None:
    conn, path = stored(tmp_path)
    conn.execute("update raw_messages set raw = x'00', codec = 'zlib' where message_id = 1")
    conn.execute("update raw_messages set sha256 = 'x' where message_id = 2")
    conn.execute("delete from raw_messages where message_id = 3")
    before = content(conn, DERIVED)
    answer = repair(conn, path, sections=True, quiet=True)
    assert [(f["key"], f["attempts"]) for f in answer["failures"]] == [("1", 1), ("2", 1), ("3", 1)]
    assert content(conn, DERIVED) == before


def test_read_state_that_a_person_set_and_threads_that_others_link_to_stay(tmp_path: Path) -> None:
    from datasette_oaken.rows import set_read

    conn, path = stored(tmp_path)
    with db.transaction(conn):
        set_read(conn, 2, True, "2026-01-01T00:00:00Z")
    conn.execute("update messages set subject = 'wrong'")
    conn.execute("delete from thread_references")
    threads = rows(conn, "select id, thread_id from messages order by 1")
    assert repair(conn, path, sections=True, fts=True, quiet=True)["sections"] == 4
    assert rows(conn, "select is_read, is_read_set from message_state where message_id = 2") == [(1, 1)]
    assert rows(conn, "select id, thread_id from messages order by 1") == threads


def test_stopped_midway_it_is_whole_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conn, path = stored(tmp_path)
    before = content(conn, DERIVED)
    conn.execute("delete from message_sections")
    real, calls = remake._follow, []

    def stopping(*args: object) -> None:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(remake, "BATCH_MESSAGES", 1)
    with monkeypatch.context() as then:
        then.setattr(remake, "_follow", stopping)
        with pytest.raises(KeyboardInterrupt):
            repair(conn, path, sections=True, quiet=True)
    assert rows(conn, "select distinct message_id from message_sections order by 1") == [(1,), (2,)]
    sound(conn, path)
    assert repair(conn, path, sections=True, quiet=True)["sections"] == 1  # 3 has no text, and so no section; 4 has
    assert content(conn, DERIVED) == before


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared test mail is not on this machine")
def test_real_mail_comes_out_as_it_was(tmp_path: Path) -> None:
    conn, _ = ingest(tmp_path / "o.db", SHARED / "real/linux-man/2019.mbox", processes=2)
    before = content(conn, DERIVED)
    assert repair(conn, tmp_path / "o.db", sections=True, quiet=True)["sections"] == 0
    for table in ("message_recipients", "attachments", "message_texts", "message_sections", "thread_references"):
        conn.execute(f"delete from {table}")
    repair(conn, tmp_path / "o.db", sections=True, fts=True, quiet=True)
    assert content(conn, DERIVED) == before
    sound(conn, tmp_path / "o.db")
