"""Mail in: every message once, nothing half stored, and a second run that adds nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from making import SHARED, eml_folder, ingest, mail, mbox, rows

from datasette_oaken import db
from datasette_oaken.db import OakenError
from ingest import locks, pipeline, workers
from ingest.sources import Entry, detect

TWO = [mail(id="<1@example.org>"), mail("Which mat?\n", id="<2@example.org>", headers=["In-Reply-To: <1@example.org>"])]


def figures(report: pipeline.Report) -> dict[str, object]:
    """The report without the counts that depend on chunking."""
    answer = report.as_dict()
    for name in ("chunks_added", "chunks_deleted", "embedding_backlog"):
        del answer[name]
    return answer


def expected(**counts: object) -> dict[str, object]:
    return {
        "ok": True,
        "added": 0,
        "updated": 0,
        "deleted": 0,
        "unchanged": 0,
        "duplicates": 0,
        "failures": [],
    } | counts


def test_what_came_in_is_kept_byte_for_byte_and_found_by_its_words(tmp_path: Path) -> None:
    conn, report = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", TWO))
    assert figures(report) == expected(added=2)
    kept = [
        zlib.decompress(raw) if codec == "zlib" else raw
        for codec, raw in rows(conn, "select codec, raw from raw_messages")
    ]
    assert [raw.rstrip(b"\n") for raw in kept] == [raw.rstrip(b"\n") for raw in TWO]
    assert rows(
        conn, "select account, internet_message_id, subject, from_name, from_address, sent_at from messages"
    ) == [
        ("default", "<1@example.org>", "Keys", "Sam Reed", "sam@example.org", "2018-03-05T09:00:00Z"),
        ("default", "<2@example.org>", "Keys", "Sam Reed", "sam@example.org", "2018-03-05T09:00:00Z"),
    ]
    assert rows(conn, "select rowid from recall_chunks_fts where recall_chunks_fts match 'mats'") == [(1,), (2,)]
    assert rows(conn, "select message_count, first_at, last_at, subject from threads") == [
        (2, "2018-03-05T09:00:00Z", "2018-03-05T09:00:00Z", "Keys")
    ]


def test_a_second_run_adds_nothing(tmp_path: Path) -> None:
    path = mbox(tmp_path / "a.mbox", TWO)
    conn, _ = ingest(tmp_path / "o.db", path)
    before = rows(conn, "select * from messages") + rows(conn, "select * from recall_chunks")
    conn, report = ingest(tmp_path / "o.db", path)
    assert figures(report) == expected(unchanged=2)
    assert rows(conn, "select * from messages") + rows(conn, "select * from recall_chunks") == before


def test_a_message_in_two_mailboxes_is_one_message_in_two_places(tmp_path: Path) -> None:
    crlf = TWO[0].replace(b"\n", b"\r\n")
    conn, report = ingest(
        tmp_path / "o.db", mbox(tmp_path / "inbox.mbox", TWO), eml_folder(tmp_path / "kept", {"1.eml": crlf})
    )
    assert figures(report) == expected(added=2, duplicates=1)
    assert rows(
        conn,
        "select l.message_id, b.name from message_locations l join mailboxes b on b.id = l.mailbox_id order by 1, 2",
    ) == [(1, "inbox"), (1, "kept"), (2, "inbox")]


def test_the_same_bytes_twice_in_one_file_are_one_message(tmp_path: Path) -> None:
    conn, report = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", [TWO[0]] * 3))
    assert figures(report) == expected(added=1, duplicates=2)
    assert rows(conn, "select count(*) from message_locations") == [(3,)]


def test_two_different_messages_with_one_message_id_both_stay(tmp_path: Path) -> None:
    other = mail("Something else altogether.\n", id="<1@example.org>")
    conn, report = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", [TWO[0], other]))
    assert figures(report) == expected(added=2)
    assert rows(conn, "select id, copy_of from messages") == [(1, None), (2, None)]


def test_a_second_delivery_of_one_saying_is_kept_and_marked(tmp_path: Path) -> None:
    again = b"Received: from list.example.org by mx.example.net; Mon, 5 Mar 2018 09:01:00 +0000\n" + TWO[0]
    conn, report = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", [TWO[0], again]))
    assert figures(report) == expected(added=2)
    assert rows(conn, "select id, copy_of from messages") == [(1, None), (2, 1)]


def test_no_message_id_at_all_is_fine(tmp_path: Path) -> None:
    conn, report = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", [mail(id=None), mail("Other.\n", id=None)]))
    assert figures(report) == expected(added=2)
    assert rows(conn, "select internet_message_id, thread_id from messages") == [(None, 1), (None, 2)]


def test_a_later_ingest_merges_labels_and_flags_instead_of_skipping(tmp_path: Path) -> None:
    ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", [b"X-Gmail-Labels: Inbox\n" + TWO[0]]))
    conn, report = ingest(
        tmp_path / "o.db", mbox(tmp_path / "b.mbox", [b"X-Gmail-Labels: School,Opened\nStatus: RO\n" + TWO[0]])
    )
    assert figures(report) == expected(duplicates=1)
    assert rows(conn, "select label from message_labels order by 1") == [("Inbox",), ("Opened",), ("School",)]
    assert rows(conn, "select is_read, is_read_set from message_state") == [(1, 0)]


def test_what_a_person_said_of_read_state_stands_when_flags_change(tmp_path: Path) -> None:
    from datasette_oaken.rows import set_read

    path = tmp_path / "a.mbox"
    conn, _ = ingest(tmp_path / "o.db", mbox(path, [b"Status: RO\n" + TWO[0]]))
    assert rows(conn, "select is_read from message_state") == [(1,)]
    with db.transaction(conn):
        assert set_read(conn, 1, False, "2026-01-01T00:00:00Z")
    conn, _ = ingest(tmp_path / "o.db", mbox(path, [b"Status: RO\nX-Status: A\n" + TWO[0]]))
    assert rows(conn, "select is_read, is_read_set from message_state") == [(0, 1)]


def test_a_message_that_changed_in_its_place_is_updated_and_not_doubled(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "drafts", {"1.eml": TWO[0], "2.eml": TWO[1]})
    ingest(tmp_path / "o.db", folder)
    (folder / "1.eml").write_bytes(mail("The key is behind the shutter.\n"))
    conn, report = ingest(tmp_path / "o.db", folder)
    assert figures(report) == expected(updated=1, unchanged=1)
    assert rows(conn, "select id, text from recall_chunks where message_id = 1") == [
        (3, "The key is behind the shutter.")
    ]
    assert rows(conn, "select rowid from recall_chunks_fts where recall_chunks_fts match 'under'") == []
    assert rows(conn, "select rowid from recall_chunks_fts where recall_chunks_fts match 'shutter'") == [(3,)]
    conn.execute("insert into recall_chunks_fts (recall_chunks_fts, rank) values ('integrity-check', 1)")


def test_another_message_in_the_same_place_does_not_replace_the_first(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", {"1.eml": TWO[0]})
    ingest(tmp_path / "o.db", folder)
    (folder / "1.eml").write_bytes(mail("Unrelated.\n", id="<9@example.org>"))
    conn, report = ingest(tmp_path / "o.db", folder)
    assert figures(report) == expected(added=1)
    assert rows(conn, "select id from messages order by id") == [(1,), (2,)]


def test_one_that_cannot_be_read_is_listed_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = workers.prepare

    def prepare(raw: bytes, content_hash: str) -> object:
        if b"Which mat" in raw:
            raise ValueError("made to fail")
        return real(raw, content_hash)

    monkeypatch.setattr(workers, "prepare", prepare)
    path = mbox(tmp_path / "a.mbox", [*TWO, mail("Third.\n", id="<3@example.org>")])
    conn, report = ingest(tmp_path / "o.db", path)
    assert [(f["error"], f["attempts"]) for f in report.failures] == [("ValueError: made to fail", 2)]
    assert report.added == 2
    assert rows(conn, "select error, attempts, raw from ingest_failures") == [
        ("ValueError: made to fail", 2, TWO[1].rstrip(b"\n") + b"\n")
    ]
    monkeypatch.setattr(workers, "prepare", real)
    conn, report = ingest(tmp_path / "o.db", path)
    assert figures(report) == expected(added=1, unchanged=2)
    assert rows(conn, "select * from ingest_failures") == []


def test_a_message_that_kills_its_worker_costs_no_other_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = workers.prepare

    def prepare(raw: bytes, content_hash: str) -> object:
        if b"poison" in raw:
            os._exit(9)
        return real(raw, content_hash)

    if sys.platform != "linux":
        pytest.skip("workers are forked, and so can be made to fail, on Linux only")
    monkeypatch.setattr(workers, "prepare", prepare)
    monkeypatch.setattr(workers, "ALONE_METHOD", "fork")
    letters = [mail(f"Letter {n}\n", id=f"<{n}@example.org>") for n in range(120)]
    letters[60] = mail("poison\n", id="<60@example.org>")
    conn, report = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", letters), processes=2)
    assert report.added == 119
    assert [f["attempts"] for f in report.failures] == [2]
    assert "died twice" in report.failures[0]["error"]
    assert rows(conn, "select count(*) from messages") == [(119,)]


def test_workers_and_no_workers_store_the_same(tmp_path: Path) -> None:
    letters = [mail(f"Letter {n}\n", id=f"<{n}@example.org>") for n in range(200)]
    path = mbox(tmp_path / "a.mbox", letters)
    tables = ("messages", "recall_chunks", "raw_messages", "message_sections", "message_locations", "threads")
    alone, _ = ingest(tmp_path / "alone.db", path, processes=0)
    together, _ = ingest(tmp_path / "together.db", path, processes=2)
    for table in tables:
        assert rows(alone, f"select * from {table}") == rows(together, f"select * from {table}")


def test_a_killed_ingest_loses_nothing_it_committed_and_the_next_goes_on(tmp_path: Path) -> None:
    letters = [mail(f"Letter number {n}\n" * 20, id=f"<{n}@example.org>") for n in range(3000)]
    path = mbox(tmp_path / "a.mbox", letters)
    command = [sys.executable, "-m", "ingest", "ingest", str(path), "--no-embed", "--db", str(tmp_path / "o.db")]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    committed = 0
    while not committed and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
        try:
            conn = db.connect(tmp_path / "o.db", readonly=True)
            (committed,) = conn.execute("select count(*) from messages").fetchone()
            conn.close()
        except (OakenError, db.sqlite3.Error):
            continue
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert 0 < committed < 3000
    conn, report = ingest(tmp_path / "o.db", path)
    assert report.added + report.unchanged == 3000
    assert report.unchanged >= committed
    assert rows(conn, "pragma integrity_check") == [("ok",)]
    undisturbed, _ = ingest(tmp_path / "u.db", path)
    same = "select internet_message_id, subject, content_hash, sent_at from messages order by content_hash"
    assert rows(conn, same) == rows(undisturbed, same)


def test_a_second_ingest_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    path = mbox(tmp_path / "a.mbox", TWO)
    conn = db.connect(tmp_path / "o.db", create=True)
    with locks.writer(conn, tmp_path / "o.db", "ingest"):
        assert locks.holder(conn, tmp_path / "o.db", "ingest") is not None
        with pytest.raises(
            OakenError, match=rf"Another oaken ingest is at work on .*process {os.getpid()}, since 2"
        ) as caught:
            pipeline.ingest(conn, tmp_path / "o.db", [detect(path)], processes=0, quiet=True)
        assert caught.value.code == "locked"
    assert locks.holder(conn, tmp_path / "o.db", "ingest") is None
    assert figures(pipeline.ingest(conn, tmp_path / "o.db", [detect(path)], processes=0, quiet=True)) == expected(
        added=2
    )


def test_two_accounts_keep_their_own(tmp_path: Path) -> None:
    path = mbox(tmp_path / "a.mbox", TWO)
    ingest(tmp_path / "o.db", path, account="sam")
    conn, report = ingest(tmp_path / "o.db", path, account="alex")
    assert figures(report) == expected(added=2)
    assert rows(
        conn, "select account, count(*), count(distinct thread_id), count(copy_of) from messages group by 1"
    ) == [
        ("alex", 2, 1, 2),
        ("sam", 2, 1, 0),
    ]


def test_a_message_that_changes_twice_in_one_transaction_leaves_a_sound_index(tmp_path: Path) -> None:
    first, second, third = (mail(f"Version {n} of the plan.\n", id="<1@example.org>") for n in ("one", "two", "three"))
    others = [mail(f"Letter {n}\n", id=f"<{n}@example.org>") for n in range(100, 200)]

    class Twice:
        """A source that names one place three times, with another version each time."""

        kind, size, count = "twice", None, None

        def entries(self, cursors: object = None) -> Iterator[Entry]:
            for at, raw in enumerate([first, *others[:50], second, *others[50:], third]):
                key = "plan" if raw in (first, second, third) else str(at)
                yield Entry(key, "box", (lambda raw=raw: raw))

    conn = db.connect(tmp_path / "o.db", create=True)
    report = pipeline.ingest(conn, tmp_path / "o.db", [Twice()], processes=0, quiet=True)  # type: ignore[list-item]
    assert (report.added, report.updated, report.failures) == (101, 2, [])
    assert rows(conn, "select text from recall_chunks where message_id = 1") == [("Version three of the plan.",)]
    conn.execute("insert into recall_chunks_fts (recall_chunks_fts, rank) values ('integrity-check', 1)")


def test_an_original_that_changes_lets_its_copies_go(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", {"1.eml": TWO[0]})
    for n in (2, 3):
        (folder / f"{n}.eml").write_bytes(f"Received: by mx{n}.example.org\n".encode() + TWO[0])
    conn, _ = ingest(tmp_path / "o.db", folder)
    assert rows(conn, "select id, copy_of from messages") == [(1, None), (2, 1), (3, 1)]
    (folder / "1.eml").write_bytes(mail("Quite another thing.\n"))
    conn, _ = ingest(tmp_path / "o.db", folder)
    assert rows(conn, "select id, copy_of from messages") == [(1, None), (2, None), (3, 2)]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared test mail is not on this machine")
def test_real_mail_comes_in_whole_and_a_second_run_finds_all_unchanged(tmp_path: Path) -> None:
    paths = [SHARED / "real/spamassassin/easy-ham-1.mbox", SHARED / "real/linux-man/2019.mbox"]
    conn, report = ingest(tmp_path / "o.db", *paths, processes=2)
    assert figures(report) == expected(added=3311)
    assert rows(conn, "select count(*) from messages where id not in (select message_id from recall_chunks)") == [(0,)]
    conn.execute("insert into recall_chunks_fts (recall_chunks_fts, rank) values ('integrity-check', 1)")
    conn, report = ingest(tmp_path / "o.db", *paths, processes=2)
    assert figures(report) == expected(unchanged=3311)
