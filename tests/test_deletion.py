"""Deleting a message: nothing of it left in any table, and what others said or a question counted put right."""

from __future__ import annotations

from pathlib import Path

import pytest
from datasette.utils.sqlite import sqlite3
from forgetting import ask, judge, named_anywhere, sound
from making import eml_folder, ingest, mail, rows
from small_mail import archive, found

from datasette_oaken import db, deletion, questions, vector, verdicts
from datasette_oaken.changes import changes
from datasette_oaken.rows import purge_vec0


def delete(conn: sqlite3.Connection, *messages: int, heirs: int = 0) -> dict[str, int]:
    """Delete, and check that what was foretold and reported is what happened to each table.

    ``heirs``: second deliveries that questions are asked of from now on, in the place of what went.
    """
    before = sizes(conn)
    foretold = deletion.preview(conn, messages)
    with db.transaction(conn):
        reported = deletion.delete_messages(conn, messages)
    assert reported == foretold
    after = sizes(conn)
    after["recall_eligible"] -= heirs
    gone = {table: before[table] - after[table] for table in before if before[table] > after[table]}
    assert gone == {table: count for table, count in reported.items() if count}
    return gone


def sizes(conn: sqlite3.Connection) -> dict[str, int]:
    """Rows of each table; of an index, the rows of its own that stand for what it holds."""
    shadows = ("recall_chunks_fts_", "recall_chunks_fts_cjk_", "_recall_vec0_1_")
    tables = [
        name
        for (name,) in rows(conn, "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
        if not str(name).startswith(shadows) and name not in ("recall_tallies", "oaken_facts")
    ] + ["recall_chunks_fts_cjk"]
    inside = {
        "recall_chunks_fts": "recall_chunks_fts_docsize",
        "recall_chunks_fts_cjk": "recall_chunks_fts_cjk_docsize",
    }
    return {
        str(name): int(conn.execute(f"select count(*) from [{inside.get(str(name), name)}]").fetchone()[0])
        for name in tables
    }


CONVERSATION = {
    "1.eml": mail("Could you fetch Nell on Friday, by the pagoda?\n", id="<1@a>", subject="Pagoda plan"),
    "2.eml": mail(
        "Yes, at five.\n", id="<2@a>", subject="Re: Friday", headers=["In-Reply-To: <1@a>", "References: <0@a> <1@a>"]
    ),
    "3.eml": mail("会議は金曜日です。\n", id="<3@a>", subject="Other", headers=["References: <9@a>"]),
}


def conversation(folder: Path) -> sqlite3.Connection:
    conn, report = ingest(folder / "a.db", eml_folder(folder / "in", CONVERSATION))
    assert report.added == 3
    return conn


def test_nothing_names_a_deleted_message_in_any_table_whatever_tables_there_are(tmp_path: Path) -> None:
    conn = conversation(tmp_path)
    question = ask(conn)
    for message in (1, 2, 3):
        verdict = judge(conn, question, message)
        with db.transaction(conn):
            verdicts.review(conn, verdict, agrees=True)
    assert set(named_anywhere(conn, 3)) >= {
        "messages.id",
        "recall_verdicts.message_id",
        "recall_reading_parts.message_id",
    }
    gone = delete(conn, 3)
    assert named_anywhere(conn, 3) == []
    assert {"recall_chunks_fts_cjk", "recall_reviews", "raw_messages", "threads", "thread_references"} <= set(gone)
    assert found(conn, "金曜日") == [] and found(conn, "pagoda") == [1]
    sound(conn)


def test_words_of_a_deleted_message_leave_the_readings_of_others_which_wait_to_be_judged_again(tmp_path: Path) -> None:
    conn = conversation(tmp_path)
    question = ask(conn)
    for message in (1, 2, 3):
        judge(conn, question, message)
    assert "pagoda" in "".join(
        str(row[0]) for row in rows(conn, "select text from recall_readings where text like '%MESSAGE%at five%'")
    )
    delete(conn, 1)
    assert rows(conn, "select message_id, reading_sha256 is null, status, stale from recall_eligible order by 1") == [
        (2, 1, None, 0),
        (3, 0, "yes", 0),
    ]
    assert rows(conn, "select distinct message_id from recall_verdicts") == [(3,)]
    assert not [text for (text,) in rows(conn, "select text from recall_readings") if "pagoda" in str(text).lower()]
    assert [change["detail"] for change in changes(conn, question)] == [
        "1 message forgotten: 1 yes; 1 verdict of others rested on its words."
    ]
    assert rows(conn, "select eligible, yes, remaining from questions_progress") == [(2, 1, 1)]
    sound(conn)


def test_a_conversation_takes_its_subject_and_dates_from_what_is_left(tmp_path: Path) -> None:
    conn = conversation(tmp_path)
    assert rows(conn, "select subject, message_count from threads where id = 1") == [("Pagoda plan", 2)]
    delete(conn, 1)
    assert rows(conn, "select subject, message_count from threads where id = 1") == [("Re: Friday", 1)]


def test_a_message_id_stays_only_where_another_message_has_or_names_it(tmp_path: Path) -> None:
    conn = conversation(tmp_path)
    ids = "select internet_message_id from thread_references order by 1"
    assert rows(conn, ids) == [("<0@a>",), ("<1@a>",), ("<2@a>",), ("<3@a>",), ("<9@a>",)]
    delete(conn, 1)
    assert rows(conn, ids) == [("<0@a>",), ("<1@a>",), ("<2@a>",), ("<3@a>",), ("<9@a>",)], "2 names it"
    delete(conn, 3)
    assert rows(conn, ids) == [("<0@a>",), ("<1@a>",), ("<2@a>",)]
    delete(conn, 2)
    assert rows(conn, ids) == [] == rows(conn, "select id from threads")


def test_a_second_delivery_takes_the_place_of_a_deleted_original(tmp_path: Path) -> None:
    conn = archive(
        tmp_path,
        [{"text": "heron"}, {"text": "heron", "copy_of": 1}, {"text": "wren"}, {"text": "heron", "copy_of": 1}],
    )
    question = ask(conn)
    judge(conn, question, 1)
    assert found(conn, "heron") == [1]
    delete(conn, 1, heirs=1)
    assert rows(conn, "select id, copy_of from messages order by id") == [(2, None), (3, None), (4, 2)]
    assert found(conn, "heron") == [2]
    assert rows(conn, "select message_id, copies, status from recall_eligible order by 1") == [
        (2, 1, None),
        (3, 0, None),
    ]
    delete(conn, 4)
    assert rows(conn, "select message_id, copies from recall_eligible order by 1") == [(2, 0), (3, 0)]
    delete(conn, 2)
    assert found(conn, "heron") == []
    assert [change["detail"] for change in changes(conn, question)] == [
        "1 message forgotten: 1 not judged.",
        "1 second delivery forgotten.",
        "1 message forgotten: 1 yes; 1 other delivery stands in its place.",
    ]
    sound(conn)


def test_deliveries_that_go_together_leave_no_heir(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": "heron"}, {"text": "heron", "copy_of": 1}, {"text": "heron", "copy_of": 1}])
    question = ask(conn)
    delete(conn, 2, 1, heirs=1)
    assert rows(conn, "select id, copy_of from messages") == [(3, None)]
    delete(conn, 3)
    assert [change["detail"] for change in changes(conn, question)] == [
        "1 message forgotten: 1 not judged.",
        "1 message forgotten: 1 not judged; 1 second delivery forgotten; 1 other delivery stands in their place.",
    ]
    assert rows(conn, "select * from recall_tallies where messages or copies or stale") == []


def test_a_delivery_that_stood_for_its_saying_gives_way_to_another_in_the_scope(tmp_path: Path) -> None:
    conn = archive(
        tmp_path,
        [
            {"text": "heron"},
            {"text": "heron", "copy_of": 1, "account": "work"},
            {"text": "heron", "copy_of": 1, "account": "work"},
        ],
    )
    ask(conn, scope="account:work")
    assert rows(conn, "select message_id, copies from recall_eligible") == [(2, 1)]
    delete(conn, 2, heirs=1)
    assert rows(conn, "select message_id, copies from recall_eligible") == [(3, 0)]
    delete(conn, 1)
    assert rows(conn, "select message_id, copies from recall_eligible") == [(3, 0)]


def test_two_that_say_the_same_to_the_letter_share_a_reading_and_both_must_be_read_again(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": "same", "subject": "s"}, {"text": "same", "subject": "s"}])
    question = ask(conn)
    judge(conn, question, 1)
    judge(conn, question, 2)
    assert rows(conn, "select count(distinct reading_sha256) from recall_verdicts") == [(1,)]
    delete(conn, 1)
    assert rows(conn, "select * from recall_readings union all select 1, 1, 1, 1, 1, 1 from recall_verdicts") == []
    judge(conn, question, 2, "no")
    assert rows(conn, "select eligible, no, copies from questions_progress") == [(1, 1, 0)]


def test_verdicts_of_the_past_on_its_words_go_too(tmp_path: Path) -> None:
    conn = conversation(tmp_path)
    question = ask(conn)
    judge(conn, question, 2)
    with db.transaction(conn):
        questions.edit(conn, question, criterion="Another one.")
    assert rows(conn, "select status, stale from recall_eligible where message_id = 2") == [(None, 1)]
    delete(conn, 1)
    assert rows(conn, "select count(*) from recall_verdicts") == [(0,)]
    assert rows(conn, "select status, stale from recall_eligible where message_id = 2") == [(None, 0)]
    sound(conn)


def test_without_the_extension_the_vectors_wait_for_a_connection_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn = conversation(tmp_path)
    if not db.has_vec(conn):
        pytest.skip("this Python's SQLite cannot load sqlite-vec")
    (generation,) = vector.generations(conn)
    with db.transaction(conn):
        conn.executemany(
            "insert into recall_vectors select 1, id, 0, ? from recall_chunks where message_id = ?",
            [(bytes([n] * generation.dimension), n) for n in (1, 2, 3)],
        )
        vector.rebuild_vec0(conn, generation)
    monkeypatch.setattr(db, "load_vec", lambda conn: "not here")
    bare = db.connect(tmp_path / "a.db")
    with db.transaction(bare):
        deletion.delete_messages(bare, [1])
    monkeypatch.undo()
    assert rows(bare, "select chunk_id from recall_vectors order by 1") == [(2,), (3,)]
    assert rows(conn, "select chunk_id from vec0_purges_due") == [(1,)]
    assert rows(conn, f"select rowid from [{generation.vec0}_rowids]") == [(1,), (2,), (3,)]
    with db.transaction(conn):
        assert purge_vec0(conn) == 1
    assert rows(conn, f"select chunk_id from [{generation.vec0}]") == [(2,), (3,)]


def test_ids_that_are_not_there_change_nothing(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": "heron"}])
    question = ask(conn)
    assert delete(conn, 7, 8) == {}
    assert changes(conn, question) == []
    assert rows(conn, "select name from oaken_facts") == []


def test_several_transactions_of_one_forgetting_leave_one_note(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": str(n)} for n in range(4)])
    question = ask(conn)
    judge(conn, question, 1, "no")
    noted = deletion.Noted()
    for message in (1, 2, 3):
        with db.transaction(conn):
            deletion.delete_messages(conn, [message], why="gone from the source", noted=noted)
    assert [(c["what"], c["detail"]) for c in changes(conn, question)] == [
        ("forgot", "3 messages gone from the source: 1 no, 2 not judged.")
    ]


def test_a_deletion_that_is_undone_leaves_all_as_it_was(tmp_path: Path) -> None:
    conn = conversation(tmp_path)
    question = ask(conn)
    judge(conn, question, 2)
    before = "\n".join(conn.iterdump()) if db.load_vec(conn) else str(sizes(conn))
    conn.execute("begin")
    deletion.delete_messages(conn, [1, 2, 3])
    conn.execute("rollback")
    assert before == ("\n".join(conn.iterdump()) if db.load_vec(conn) else str(sizes(conn)))
    sound(conn)


def test_a_message_that_is_replaced_keeps_its_verdict_as_history_and_waits_to_be_judged_again(tmp_path: Path) -> None:
    conn = conversation(tmp_path)
    everything, by_sam = ask(conn, "All?"), ask(conn, "Sam?", scope="from:sam")
    for question in (everything, by_sam):
        judge(conn, question, 1)
        judge(conn, question, 3)
    other = mail("At six, by the pagoda.\n", id="<1@a>", subject="Pagoda plan", sender="Kim <kim@example.org>")
    ingest(tmp_path / "a.db", eml_folder(tmp_path / "in", {"1.eml": other}))
    state = (
        "select message_id, reading_sha256 is null, status, stale from recall_eligible where question_id = ? order by 1"
    )
    assert rows(conn, state, everything) == [(1, 1, None, 1), (2, 1, None, 0), (3, 0, "yes", 0)]
    assert rows(conn, state, by_sam) == [(2, 1, None, 0), (3, 0, "yes", 0)], "its author is another now"
    assert rows(conn, "select count(*) from recall_verdicts where message_id = 1") == [(2,)]
    assert [c["what"] for c in changes(conn, everything)] == ["text"]
    judge(conn, everything, 1, "no")
    assert rows(conn, state, everything)[0] == (1, 0, "no", 0)
    delete(conn, 1)
    assert not [text for (text,) in rows(conn, "select text from recall_readings") if "pagoda" in str(text).lower()]


def test_a_copy_that_is_replaced_is_a_saying_of_its_own_and_its_original_has_one_copy_less(tmp_path: Path) -> None:
    first = mail("Heron.\n", id="<1@a>")
    files = {f"{n}.eml": b"Received: from b%d\n" % n + first for n in (1, 2, 3, 4)}
    conn, _ = ingest(tmp_path / "a.db", eml_folder(tmp_path / "in", files))
    ask(conn)
    asked_of = "select message_id, copies from recall_eligible order by 1"
    assert rows(conn, asked_of) == [(1, 3)]
    ingest(tmp_path / "a.db", eml_folder(tmp_path / "in", {"3.eml": mail("Wren.\n", id="<1@a>")}))
    assert rows(conn, asked_of) == [(1, 2), (3, 0)]
    ingest(tmp_path / "a.db", eml_folder(tmp_path / "in", {"1.eml": mail("Kite.\n", id="<1@a>")}))
    assert rows(conn, asked_of) == [(1, 0), (2, 1), (3, 0)]
    sound(conn)


def test_what_is_damaged_can_be_forgotten_and_keeps_no_one_else_from_it(tmp_path: Path) -> None:
    conn = conversation(tmp_path)
    conn.execute("update raw_messages set raw = zeroblob(40)")
    conn.execute("update message_texts set text = zeroblob(40)")
    delete(conn, 1)
    delete(conn, 2)
    assert rows(conn, "select id from messages") == [(3,)]
