"""oaken forget: exactly what was chosen, and nothing of it in the file's bytes, whatever happens on the way."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from datasette.utils.sqlite import sqlite3
from forgetting import ask, content, judge, sound
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import Plain
from making import SHARED, eml_folder, ingest, mail, mbox, rows
from test_cli import answer, oaken

from datasette_oaken import db, deletion, embedders, questions, readings, search, vector, verdicts
from datasette_oaken.db import OakenError
from ingest import clean_up, doctor, failures, forget, locks
from ingest.embed import embed
from ingest.forget import Selection
from ingest.judging.base import Judgement
from ingest.judging.run import judge_all


class Scattered:
    """An embedder whose vectors are like no one else's: drawn from the text's hash."""

    name, dimension = embedders.PACKAGED, 384

    def __init__(self) -> None:
        self.fingerprint = embedders.identify().fingerprint

    def embed_query(self, text: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        return np.random.default_rng(seed).normal(size=384).astype(np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Iterator[np.ndarray]:
        return map(self.embed_query, texts)


def forgetting(conn: sqlite3.Connection, path: Path, *ids: int, **options: Any) -> forget.Report:
    return forget.forget(conn, path, Selection(ids, **options), quiet=True)


def in_bytes(path: Path, needles: Iterable[bytes]) -> list[bytes]:
    """Which of these stand in the file, its WAL, or anything else beside it."""
    whole = b"\n".join(one.read_bytes() for one in path.parent.iterdir() if one.name.startswith(path.name))
    return sorted({needle for needle in needles if needle in whole})


# The beginnings are like no other word's, so that the keyword index cannot hide them behind a common prefix.
RARE = [
    b"From: Zqfrom Vwperson <zqfrom@ywhost.example>",
    b"To: Xvrecip Qzname <xvrecip@qwhost.example>",
    b"Date: Mon, 05 Mar 2018 09:00:00 +0000",
    b"Subject: Kxsubjects of ours",
    b"Message-ID: <zzmid.4711@ywhost.example>",
    b"MIME-Version: 1.0",
    b"X-Gmail-Labels: Qjlabel",
    b'Content-Type: multipart/mixed; boundary="b"',
    b"",
    b"--b",
    b"Content-Type: text/plain",
    b"",
    b"The jxbodied vkmeetings were zwhopefully kept from everyone but us two.",
    *(hashlib.sha256(bytes([n])).hexdigest().encode() for n in range(20)),
    b"--b",
    b'Content-Type: application/pdf; name="qvfilename.pdf"',
    b"Content-Transfer-Encoding: base64",
    b"",
    b"AAAA",
    b"--b--",
    b"",
]
RARE_CJK = "鱻龘靐齉".encode()
WORDS = [
    *(
        b"Zqfrom",
        b"Vwperson",
        b"ywhost",
        b"Xvrecip",
        b"qwhost",
        b"Kxsubject",
        b"zzmid",
        b"Qjlabel",
        b"Zqthought",
        b"Zqdoubt",
    ),
    *(b"jxbodi", b"vkmeet", b"zwhope", b"qvfilenam", b"kxsubject", b"xvrecip", b"qzname"),
]
"""As they were written and, in lower case, as the keyword index has their stems."""
# The index leaves out what a word shares with the one before it: here, at most the first letter.
LOOKED_FOR = [word[1:] for word in WORDS]
OF_THE_ID = (b"zmid", b"whost")  # also in what answers it


@pytest.fixture
def archive(tmp_path: Path) -> tuple[sqlite3.Connection, Path]:
    """A mailbox with one rare message in it, searched, embedded, asked about, judged and reviewed."""
    others = {
        f"{n}.eml": mail(f"Letter {n} about the garden.\n", id=f"<{n}@example.org>", subject=f"Garden {n}")
        for n in range(40)
    }
    reply = mail(
        "Thank you.\n",
        id="<reply@example.org>",
        subject="Re: ours",
        headers=["References: <zzmid.4711@ywhost.example>"],
    )
    folder = eml_folder(
        tmp_path / "in",
        others | {"20a.eml": b"\n".join(RARE).replace(b"us two.", b"us two. " + RARE_CJK), "20b.eml": reply},
    )
    path = tmp_path / "a.db"
    conn, _ = ingest(path, folder)
    embed(conn, path, quiet=True, embedder=Scattered())
    question = ask(conn)
    for (id_,) in rows(conn, "select id from messages order by id limit 30"):
        judge(conn, question, int(str(id_)))
    conn.execute(
        "update recall_verdicts set quote = 'vkmeetings', reasoning = 'Zqthought of it' where message_id = ?",
        rare(conn),
    )
    (verdict,) = rows(conn, "select id from recall_verdicts where message_id = ?", *rare(conn))[0]
    with db.transaction(conn):
        verdicts.review(conn, int(str(verdict)), agrees=True, note="Zqdoubtful")
    return conn, path


def rare(conn: sqlite3.Connection) -> tuple[int]:
    return (int(conn.execute("select id from messages where from_name = 'Zqfrom Vwperson'").fetchone()[0]),)


def test_no_byte_of_a_forgotten_message_is_left_in_the_file(archive: tuple[sqlite3.Connection, Path]) -> None:
    conn, path = archive
    (id_,) = rare(conn)
    ((raw, text),) = rows(
        conn, "select raw, text from raw_messages join message_texts using (message_id) where message_id = ?", id_
    )
    assert isinstance(raw, bytes) and isinstance(text, bytes) and zlib.decompress(raw).startswith(b"From: Zqfrom")
    blobs = [blob[at : at + 24] for blob in (raw, text) for at in range(16, len(blob) - 24)]
    vectors = [
        vec
        for (vec,) in rows(
            conn, "select embedding from recall_vectors join recall_chunks on id = chunk_id where message_id = ?", id_
        )
    ]
    vecs = [bytes(v)[at : at + 24] for v in vectors for at in (0, 100, 360)]  # type: ignore[call-overload]
    signs = [vector.signs(bytes(v))[at : at + 12] for v in vectors for at in (0, 24, 36)]  # type: ignore[call-overload]
    hashes = [
        str(value).encode()
        for row in rows(
            conn, "select content_hash, sha256 from messages join raw_messages on message_id = id where id = ?", id_
        )
        for value in row
    ]
    pairs = [RARE_CJK[:6], RARE_CJK[3:9]]
    conn.execute("pragma wal_checkpoint(passive)")
    looked_for = [*LOOKED_FOR, *vecs, *(signs if db.has_vec(conn) else []), *hashes, *pairs]
    assert in_bytes(path, looked_for) == sorted(set(looked_for)), "the test would look for what is not written so"
    assert len(in_bytes(path, blobs)) > len(blobs) / 2

    report = forgetting(conn, path, id_)
    assert (report.forgotten, report.due) == (1, [])
    assert in_bytes(path, [word for word in [*looked_for, *blobs] if word not in OF_THE_ID]) == []
    # The reply is another person's message; its References name the Message-ID, compressed, and so does the list of them.
    assert rows(conn, "select count(*) from thread_references where internet_message_id like '<zzmid%'") == [(1,)]
    forgetting(conn, path, where="subject:ours")
    assert in_bytes(path, LOOKED_FOR) == []
    sound(conn)
    assert search.search(conn, "vkmeetings", mode="keyword")["hits"] == []
    assert rows(conn, "pragma freelist_count") == [(0,)]
    assert path.with_name("a.db-wal").stat().st_size == 0
    assert not clean_up.is_due(conn)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared test mail is not on this machine")
def test_of_half_a_real_archive_nothing_is_left_in_pages_from_which_rows_had_moved(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    conn, _ = ingest(path, SHARED / "real/linux-man/2019.mbox")
    ids = [int(str(row[0])) for row in rows(conn, "select id from messages")]
    # Chosen so that, with SQLite 3.53, secure_delete alone leaves parts of a text behind.
    gone = random.Random(3).sample(ids, len(ids) // 2)

    def stored(which: str) -> list[bytes]:
        return [
            bytes(blob)  # type: ignore[call-overload]
            for (blob,) in rows(
                conn,
                f"select raw from raw_messages where message_id {which} (select value from json_each(?1)) union all"
                f" select text from message_texts where message_id {which} (select value from json_each(?1))",
                json.dumps(gone),
            )
        ]

    eights = np.frombuffer(
        b"".join(blob[16 : len(blob) // 8 * 8] for blob in stored("in") if len(blob) >= 64), np.uint64
    )
    looked_for = eights[~np.isin(eights, everywhere(b"".join(stored("not in"))))]
    assert len(looked_for) > 100_000
    for at in range(0, len(gone), 50):
        with db.transaction(conn):
            deletion.delete_messages(conn, gone[at : at + 50])
    assert forget.finish(conn, path, quiet=True).due == []
    assert path.with_name("a.db-wal").stat().st_size == 0
    assert np.intersect1d(looked_for, everywhere(path.read_bytes())).tolist() == []
    sound(conn)


def everywhere(data: bytes) -> np.ndarray:
    """Eight bytes from each place in ``data``."""
    return np.concatenate([np.frombuffer(data[at : at + (len(data) - at) // 8 * 8], np.uint64) for at in range(8)])


def test_a_reader_in_the_way_is_said_and_the_cleaning_waits_for_a_next_run(
    archive: tuple[sqlite3.Connection, Path],
) -> None:
    conn, path = archive
    reader = db.connect(path, readonly=True)
    reader.execute("begin")
    reader.execute("select count(*) from messages").fetchone()
    conn.execute("pragma busy_timeout = 50")
    report = forgetting(conn, path, *rare(conn))
    assert report.forgotten == 1
    assert [reason for reason in report.due if "stop oaken serve" in reason]
    assert report.as_dict()["clean"] is False
    (finding,) = [f for f in doctor.doctor(path)["findings"] if f["check"] == "forgotten"]
    assert (finding["level"], finding["advice"]) == ("warning", "oaken forget --finish")
    reader.execute("commit")
    assert forget.finish(conn, path, quiet=True).due == []
    assert in_bytes(path, [b"jxbodi", b"qwhost"]) == []
    assert not [f for f in doctor.doctor(path)["findings"] if f["check"] == "forgotten"]


def test_a_run_with_nothing_to_delete_cleans_what_an_earlier_one_left(archive: tuple[sqlite3.Connection, Path]) -> None:
    conn, path = archive
    with db.transaction(conn):
        deletion.delete_messages(conn, rare(conn))
    assert clean_up.is_due(conn)
    report = forgetting(conn, path, 9999)
    assert (report.forgotten, report.due, clean_up.is_due(conn)) == (0, [], False)
    assert in_bytes(path, [b"jxbodi", b"qwhost"]) == []


def test_what_is_asked_wrongly_still_leaves_the_file_clean(archive: tuple[sqlite3.Connection, Path]) -> None:
    conn, path = archive
    with db.transaction(conn):
        deletion.delete_messages(conn, rare(conn))
    with pytest.raises(OakenError, match="no account 'nobody'"):
        forget.run(conn, path, Selection(account="nobody"), lambda plan: True, quiet=True)
    assert not clean_up.is_due(conn)


def test_the_file_is_not_rewritten_under_an_embedding_run(archive: tuple[sqlite3.Connection, Path]) -> None:
    conn, path = archive
    with locks.writer(conn, path, "embed"):
        report = forgetting(conn, path, *rare(conn))
        assert report.forgotten == 1 and "oaken embed is at work" in report.due[0]
    assert clean_up.is_due(conn)
    assert forget.finish(conn, path, quiet=True).due == []


def test_a_full_disk_is_not_filled(archive: tuple[sqlite3.Connection, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    conn, path = archive
    monkeypatch.setattr(clean_up.shutil, "disk_usage", lambda folder: SimpleNamespace(free=10))
    report = forgetting(conn, path, *rare(conn))
    assert "make room" in report.due[0]
    monkeypatch.undo()
    assert forget.finish(conn, path, quiet=True).due == []


def test_vectors_answer_as_before_for_what_stays(archive: tuple[sqlite3.Connection, Path]) -> None:
    conn, path = archive
    fingerprint = Scattered().fingerprint
    kept = {row[0] for row in rows(conn, "select id from recall_chunks where message_id <> ?", *rare(conn))}
    query = Scattered().embed_query("anything")
    before = [chunk for chunk, _ in vector.nearest(conn, query, fingerprint=fingerprint, k=50) if chunk in kept]
    forgetting(conn, path, *rare(conn))
    assert [chunk for chunk, _ in vector.nearest(conn, query, fingerprint=fingerprint, k=50)] == before


def small(folder: Path) -> tuple[sqlite3.Connection, Path]:
    """Four messages of two accounts, and a second delivery of the first."""
    first = mail("One.\n", id="<1@a>", date="Mon, 05 Mar 2012 09:00:00 +0000")
    ada = {
        "1.eml": first,
        "2.eml": mail("Two.\n", id="<2@a>", sender="Kim <kim@example.org>"),
        "3.eml": mail("Three, with no date.\n", id="<3@a>", date="never"),
    }
    ben = {"1.eml": b"Received: from b\n" + first, "4.eml": mail("Four.\n", id="<4@a>")}
    path = folder / "a.db"
    ingest(path, eml_folder(folder / "ada", ada), account="ada")
    conn, _ = ingest(path, eml_folder(folder / "ben", ben), account="ben")
    return conn, path


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        (Selection((1, 2)), [1, 2]),
        (Selection((1, 2, 99)), [1, 2]),
        (Selection((1, 2), where="from:kim"), [2]),
        (Selection(account="ada"), [1, 2, 3]),
        (Selection(account="ada", older_than="7y"), [1]),
        (Selection(older_than="7y"), [1, 4]),
        (Selection(where="-from:kim", account="ada"), [1, 3]),
        (Selection(where="before:2015"), [1, 4]),
        (Selection((1,), copies=True), [1, 4]),
        (Selection((4,), copies=True), [1, 4]),
        (Selection(where="from:nobody"), []),
    ],
)
def test_what_is_chosen_is_what_all_that_was_given_holds_for(
    selection: Selection, chosen: list[int], tmp_path: Path
) -> None:
    conn, _ = small(tmp_path)
    assert sorted(forget.select(conn, selection, today=date(2024, 3, 8))) == chosen


@pytest.mark.parametrize(
    ("selection", "code"),
    [
        (Selection(), "nothing_chosen"),
        (Selection(copies=True), "nothing_chosen"),
        (Selection(where=""), "bad_query"),
        (Selection(where="  "), "bad_query"),
        (Selection(where="weekend"), "bad_query"),
        (Selection(where='from:sam "the agreement"'), "bad_query"),
        (Selection(where="from:sam -draft"), "bad_query"),
        (Selection(where="from:sam before:nonsense"), "bad_query"),
        (Selection(where="from:sam priority:9"), "bad_query"),
        (Selection(older_than="7"), "bad_age"),
        (Selection(older_than="2015"), "bad_age"),
        (Selection(older_than="7y from:x"), "bad_age"),
        (Selection(older_than=""), "bad_age"),
        (Selection(account="adam"), "no_account"),
        (Selection(account=""), "no_account"),
    ],
)
def test_what_is_not_exact_is_refused_and_nothing_is_deleted(selection: Selection, code: str, tmp_path: Path) -> None:
    conn, path = small(tmp_path)
    with pytest.raises(OakenError) as caught:
        forget.forget(conn, path, selection, quiet=True)
    assert caught.value.code == code
    assert rows(conn, "select count(*) from messages") == [(5,)]


def test_an_account_goes_with_its_mailboxes_and_the_failures_that_are_surely_its_own(tmp_path: Path) -> None:
    conn, path = small(tmp_path)
    with db.transaction(conn):
        for account, key in (("ada", "a"), ("ben", "b"), (None, "c")):
            failures.put(conn, account, "eml", "ada", key, "bad", 2, b"jxfailed")
    selection = Selection(account="ada")
    plan = forget.plan(conn, selection)
    assert {name: plan.tables[name] for name in ("accounts", "mailboxes", "ingest_failures")} == {
        "accounts": 1,
        "mailboxes": 1,
        "ingest_failures": 1,
    }
    assert "1 message that could not be read stays" in " ".join(plan.notes())
    assert forget.forget(conn, path, selection, quiet=True).deleted == plan.tables
    assert rows(conn, "select account, name from mailboxes") == [("ben", "ben")]
    assert rows(conn, "select key from ingest_failures order by key") == [("b",), ("c",)]
    report = forgetting(conn, path, account="ben")
    assert report.deleted["ingest_failures"] == 2
    empty = {name: table for name, table in content(conn).items() if table}
    assert set(empty) == {"recall_generations"}
    assert in_bytes(path, [b"jxfailed", b"Kim"]) == []


def test_what_would_go_is_foretold_and_nothing_is_written(tmp_path: Path) -> None:
    conn, path = small(tmp_path)
    conn.execute("pragma wal_checkpoint(truncate)")
    before = path.read_bytes()
    told = answer("forget", "1", "--dry-run", "--db", path)
    assert told == {
        "ok": True,
        "dry_run": True,
        "messages": 1,
        "first_at": "2012-03-05T09:00:00Z",
        "last_at": "2012-03-05T09:00:00Z",
        "undated": 0,
        "accounts": {"ada": 1},
        "would_delete": told["would_delete"],
        "other_deliveries": 1,
        "quoted_by": 0,
        "notes": ["1 other delivery of the same message stays: --copies takes it too.", forget.AGAIN],
    }
    assert path.read_bytes() == before and path.with_name("a.db-wal").stat().st_size == 0
    done = answer("forget", "1", "--yes", "--db", path)
    assert done == {
        "ok": True,
        "forgotten": 1,
        "deleted": told["would_delete"],
        "clean": True,
        "due": [],
        "notes": told["notes"],
    }


def test_without_a_person_to_ask_it_refuses(tmp_path: Path) -> None:
    _, path = small(tmp_path)
    code, out, err = oaken("forget", "1", "--db", path)
    assert (code, "cannot be undone" in err, "1 message, 2012-03-05" in out) == (1, True, True)
    code, out, _ = oaken("forget", "1", "--json", "--db", path)
    assert (code, json.loads(out)["code"]) == (1, "not_agreed")
    assert oaken("forget", "--db", path)[0] == 2
    assert oaken("forget", "1", "--finish", "--db", path)[0] == 2
    code, out, _ = oaken("forget", "77", "--db", path)
    assert (code, out.startswith("Nothing matches")) == (0, True)
    assert answer("forget", "--finish", "--db", path) == {"ok": True, "clean": True}
    assert rows(db.connect(path), "select count(*) from messages") == [(5,)]


def test_only_what_was_shown_is_deleted(tmp_path: Path) -> None:
    conn, path = small(tmp_path)

    def more_comes(plan: forget.Plan) -> bool:
        ingest(
            path, eml_folder(tmp_path / "late", {"9.eml": mail("Late.\n", id="<9@a>", sender="Kim <kim@example.org>")})
        )
        return True

    report = forget.run(conn, path, Selection(where="from:kim"), more_comes, quiet=True)
    assert report.forgotten == 1
    assert rows(conn, "select internet_message_id from messages where from_name = 'Kim'") == [("<9@a>",)]


def test_a_second_one_at_once_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    conn, path = small(tmp_path)
    with locks.writer(conn, path, "ingest", doing="forget"):
        with pytest.raises(OakenError, match=r"Another oaken forget is at work on .*process") as caught:
            forgetting(conn, path, 1)
        assert caught.value.code == "locked"
        with pytest.raises(OakenError, match="Another oaken forget is at work"):
            ingest(path, tmp_path / "ada", account="ada")
    assert forgetting(conn, path, 1).forgotten == 1


def test_who_quotes_a_forgotten_message_is_counted_and_stays(tmp_path: Path) -> None:
    said = "The meeting is by the old pagoda, at seven.\n"
    conn, _ = ingest(
        tmp_path / "a.db",
        eml_folder(
            tmp_path / "in",
            {
                "1.eml": mail(said, id="<1@a>"),
                "2.eml": mail(
                    f"I will be there.\n\nOn Monday Sam Reed wrote:\n> {said}",
                    id="<2@a>",
                    headers=["In-Reply-To: <1@a>"],
                ),
                "3.eml": mail("Me too.\n", id="<3@a>", headers=["In-Reply-To: <1@a>"]),
            },
        ),
    )
    plan = forget.plan(conn, Selection((1,)))
    assert plan.quoted_by == 1
    assert "1 message of the same conversation stays that quotes" in " ".join(plan.notes())
    forgetting(conn, tmp_path / "a.db", 1)
    assert [hit["message_id"] for hit in search.search(conn, "from:sam subject:keys")["hits"]] == [3, 2]


FORGET = """
import sys
from pathlib import Path
from datasette_oaken import db
from ingest import forget
forget.BATCH = 3
path = Path(sys.argv[1])
forget.forget(db.connect(path), path, forget.Selection(where="from:kim"), quiet=True)
"""


def mailbox(folder: Path) -> Path:
    """A file of 120 messages, a third of them Kim's, in conversations, embedded and judged."""
    letters = []
    for n in range(120):
        sender = "Kim <kim@example.org>" if n % 3 == 1 else "Sam Reed <sam@example.org>"
        headers = [f"References: <{n - 1}@a>"] if n % 4 else []
        letters.append(mail(f"Letter {n} on the zqmatter {n % 7}.\n", id=f"<{n}@a>", sender=sender, headers=headers))
        if n % 10 == 1:
            letters.append(b"Received: from elsewhere\n" + letters[-1])
    path = folder / "a.db"
    conn, _ = ingest(path, mbox(folder / "a.mbox", letters))
    embed(conn, path, quiet=True, embedder=Scattered())
    question = ask(conn)
    for (message,) in rows(conn, "select message_id from recall_eligible order by 1"):
        judge(conn, question, int(str(message)), "no")
    conn.execute("pragma wal_checkpoint(truncate)")
    conn.close()
    return path


def test_killed_at_any_moment_and_run_again_it_leaves_what_an_undisturbed_run_leaves(tmp_path: Path) -> None:
    whole = mailbox(tmp_path).read_bytes()

    def undisturbed(conn: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
        return {name: table for name, table in content(conn).items() if name != "recall_question_changes"}

    alone = tmp_path / "alone.db"
    alone.write_bytes(whole)
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", FORGET, str(alone)], check=True)
    took = time.monotonic() - began
    expected = undisturbed(db.connect(alone))
    assert len(expected["messages"]) == 88
    midway = 0
    dice = random.Random(7)
    for n in range(12):
        path = tmp_path / f"{n}.db"
        path.write_bytes(whole)
        child = subprocess.Popen([sys.executable, "-c", FORGET, str(path)])
        if n % 2:
            time.sleep(dice.uniform(0.3, 1.0) * took)
        else:  # as soon as something is gone, and a moment longer
            watch = db.connect(path, readonly=True)
            while child.poll() is None and watch.execute("select count(*) from messages").fetchone()[
                0
            ] > 132 - dice.randrange(1, 50):
                pass
            watch.close()
        child.send_signal(signal.SIGKILL)
        child.wait()
        conn = db.connect(path)
        midway += 88 < rows(conn, "select count(*) from messages")[0][0] < 132  # type: ignore[operator]
        sound(conn)
        conn.close()
        subprocess.run([sys.executable, "-c", FORGET, str(path)], check=True)
        conn = db.connect(path)
        assert undisturbed(conn) == expected
        assert rows(conn, "select name from oaken_facts where name = 'cleanup_due'") == []
        assert in_bytes(path, [b"kim@"]) == []
        conn.close()
    assert midway >= 3


LETTERS = [
    mail("First of all.\n", id="<1@a>", subject="One"),
    mail("Second.\n\n> First of all.\n", id="<2@a>", subject="Re: One", headers=["References: <1@a>"]),
    mail("Third.\n", id="<3@a>", subject="Re: One", headers=["References: <1@a> <2@a>"]),
    mail("Apart.\n", id="<4@a>", subject="Two", sender="Kim <kim@example.org>"),
    b"Received: from x\n" + mail("Apart.\n", id="<4@a>", subject="Two", sender="Kim <kim@example.org>"),
    b"Received: from y\n" + mail("Apart.\n", id="<4@a>", subject="Two", sender="Kim <kim@example.org>"),
    mail("名前は何ですか。\n", id=None, subject="Three"),
]


@settings(max_examples=40, deadline=None)
@given(st.sets(st.sampled_from(range(len(LETTERS))), max_size=len(LETTERS) - 1), st.integers(1, 3))
def test_what_is_left_is_what_a_file_has_that_never_held_the_forgotten(
    tmp_path_factory: pytest.TempPathFactory, gone: set[int], batch: int
) -> None:
    folder = tmp_path_factory.mktemp("never")
    files = {f"{n}.eml": raw for n, raw in enumerate(LETTERS)}
    conn, _ = ingest(folder / "a.db", eml_folder(folder / "all", files))
    never, _ = ingest(
        folder / "b.db", eml_folder(folder / "some", {k: v for k, v in files.items() if int(k[0]) not in gone})
    )
    for one in (conn, never):
        ask(one)
    ids = [n + 1 for n in sorted(gone)]
    for at in range(0, len(ids), batch):
        forgetting(conn, folder / "a.db", *ids[at : at + batch])
    assert told(conn) == told(never)
    sound(conn)
    for one in (conn, never):
        one.close()


def told(conn: sqlite3.Connection) -> list[list[tuple[object, ...]]]:
    """What a file says, ids aside."""
    by_content = "(select content_hash from messages where id = {})"
    return [
        rows(conn, sql)
        for sql in (
            f"select content_hash, subject, sent_at, from_address, {by_content.format('copy_of')} from messages order by 1",
            "select content_hash, sha256, raw from raw_messages join messages on id = message_id order by 1",
            "select m.content_hash, c.section, c.position, c.text, c.author from recall_chunks c join messages m on m.id ="
            " c.message_id order by 1, 2, 3",
            "select content_hash, role, address from message_recipients r join messages m on m.id = message_id order by 1, 2, 3",
            "select account, internet_message_id from thread_references order by 1, 2",
            f"select {by_content.format('message_id')}, copies, status from recall_eligible order by 1",
            "select term, doc from (select 'x' as term, count(*) as doc from recall_chunks_fts_cjk_docsize)",
            "select subject, message_count, first_at from threads order by 1, 2",
            "select eligible, remaining, copies from questions_progress",
        )
    ]


def test_what_is_forgotten_while_it_is_judged_or_embedded_is_not_stored_afterwards(tmp_path: Path) -> None:
    folder = eml_folder(
        tmp_path / "in",
        {
            "1.eml": mail("Meet me at the qzpagoda.\n", id="<1@a>", subject="Friday"),
            "2.eml": mail("I will.\n", id="<2@a>", subject="Re: Friday", headers=["In-Reply-To: <1@a>"]),
            "3.eml": mail("Something else.\n", id="<3@a>"),
        },
    )
    path = tmp_path / "a.db"
    conn, _ = ingest(path, folder)
    other = db.connect(path)
    with db.transaction(conn):
        question = questions.ask(conn, "Is it?")

    def meddling(reading: readings.Reading) -> Judgement:
        if "qzpagoda" in reading.before:
            forgetting(other, path, 1)
        return Judgement("no", "qzpagoda is in what was read" if "qzpagoda" in reading.text else "it is not")

    report = judge_all(conn, path, question, Plain(meddling), order="oldest", quiet=True)
    assert (report.judged_now, report.dropped) == (1, 2), "neither the forgotten one nor the one that was read with it"
    assert "qzpagoda" not in repr(content(conn))

    class Meddling(Scattered):
        def embed_documents(self, texts: Sequence[str]) -> Iterator[np.ndarray]:
            forgetting(other, path, 3)
            return super().embed_documents(texts)

    assert embed(conn, path, quiet=True, embedder=Meddling()).backlog == 0
    assert rows(conn, "select message_id from recall_vectors join recall_chunks on id = chunk_id") == [(2,)]
    assert forget.finish(conn, path, quiet=True).due == []
    assert in_bytes(path, [b"qzpagoda", b"Something else", b"someth"]) == []
    sound(conn)


def test_what_someone_writes_while_the_file_is_written_anew_is_not_lost(
    archive: tuple[sqlite3.Connection, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    conn, path = archive
    other = db.connect(path)
    with db.transaction(conn):
        deletion.delete_messages(conn, rare(conn))
    copies = 0

    class Meddled(sqlite3.Connection):
        """The copy that is put back: opened just when someone else marks a message as read."""

        def backup(self, *arguments: Any, **options: Any) -> None:
            nonlocal copies
            copies += 1
            if copies <= meddle:
                other.execute("update message_state set is_read = 1, priority = ? where message_id = 1", (copies,))
            super().backup(*arguments, **options)

    connect = sqlite3.connect
    monkeypatch.setattr(clean_up.sqlite3, "connect", lambda *a, **k: connect(*a, **{"factory": Meddled, **k}))
    meddle = 99
    report = forget.finish(conn, path, quiet=True)
    assert (copies, len(report.due), "again and again" in report.due[0]) == (3, 1, True)
    assert rows(conn, "select priority from message_state where message_id = 1") == [(3,)]
    meddle, copies = 1, 0
    assert forget.finish(conn, path, quiet=True).due == []
    assert (copies, rows(conn, "select is_read, priority from message_state where message_id = 1")) == (2, [(1, 1)])
    assert in_bytes(path, [b"jxbodi", b"qwhost"]) == []
    assert sorted(one.name for one in path.parent.glob("*.anew")) == []
    sound(conn)


def test_a_copy_that_a_killed_run_left_is_taken_away(archive: tuple[sqlite3.Connection, Path]) -> None:
    conn, path = archive
    path.with_name("a.db.anew").write_bytes(b"jxbodied")
    forgetting(conn, path, *rare(conn))
    assert not path.with_name("a.db.anew").exists()
