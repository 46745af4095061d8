"""Reading the same mail again: nothing is read twice for nothing, what changed at the source follows, and labels go with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from making import eml_folder, ingest, mail, mbox, rows

from datasette_oaken import db, schema
from ingest import failures, forget
from ingest.sources import mbox as mboxes

LETTERS = [mail(f"Letter {n}.\n", id=f"<{n}@example.org>") for n in range(6)]
PLACES = (
    "select m.internet_message_id, substr(l.provider_key, instr(l.provider_key, '#')) from message_locations l"
    " join messages m on m.id = l.message_id order by cast(substr(l.provider_key, instr(l.provider_key, '#') + 1) as integer)"
)


def counts(report: object) -> dict[str, int]:
    """The figures that are not 0."""
    names = ("added", "updated", "deleted", "unchanged", "duplicates")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def starts(path: Path) -> list[int]:
    """Where the separators of an mbox of these letters stand."""
    data = path.read_bytes()
    return [at for at in range(len(data)) if data.startswith(b"From someone@", at)]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The offsets of the messages that were cut out of mboxes."""
    seen: list[int] = []
    real = mboxes._entry

    def entry(key: str, mailbox: str, span: mboxes.Span, *rest: object) -> object:
        seen.append(span.start)
        return real(key, mailbox, span, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(mboxes, "_entry", entry)
    return seen


def test_an_mbox_that_grew_has_only_its_new_end_read(tmp_path: Path, read: list[int]) -> None:
    path = mbox(tmp_path / "a.mbox", LETTERS[:3])
    ingest(tmp_path / "o.db", path)
    del read[:]
    _, report = ingest(tmp_path / "o.db", path)
    assert (counts(report), read) == ({"unchanged": 3}, [])
    mbox(path, LETTERS[:5])
    conn, report = ingest(tmp_path / "o.db", path)
    assert (counts(report), read) == ({"unchanged": 3, "added": 2}, starts(path)[3:])
    assert rows(conn, PLACES) == [(f"<{n}@example.org>", f"#{at}") for n, at in enumerate(starts(path))]


def test_an_mbox_written_again_at_the_same_length_is_read_whole(tmp_path: Path, read: list[int]) -> None:
    path = mbox(tmp_path / "a.mbox", [b"Status: O \n" + LETTERS[0], LETTERS[1]])
    conn, _ = ingest(tmp_path / "o.db", path)
    assert rows(conn, "select is_read from message_state order by 1") == [(0,), (0,)]
    path.write_bytes(path.read_bytes().replace(b"Status: O \n", b"Status: RO\n"))
    os.utime(path, ns=(1, 1))
    del read[:]
    conn, report = ingest(tmp_path / "o.db", path)
    assert (counts(report), len(read)) == ({"unchanged": 2}, 2)
    assert rows(conn, "select is_read from message_state order by message_id") == [(1,), (0,)]


def test_the_same_mbox_in_another_mailbox_or_account_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = mbox(tmp_path / "a.mbox", LETTERS[:2])
    ingest(tmp_path / "o.db", path)
    _, report = ingest(tmp_path / "o.db", path, account="alex")
    assert counts(report) == {"added": 2}
    from ingest.sources import detect

    conn = db.connect(tmp_path / "o.db")
    from ingest import pipeline

    report = pipeline.ingest(conn, tmp_path / "o.db", [detect(path, "School")], processes=0, quiet=True)
    assert counts(report) == {"duplicates": 2}


def test_a_rewritten_mbox_moves_places_and_loses_no_message(tmp_path: Path) -> None:
    path = mbox(tmp_path / "a.mbox", LETTERS[:4])
    ingest(tmp_path / "o.db", path)
    mbox(path, [LETTERS[5], *LETTERS[1:4]])  # 0 was deleted there, and another came before the rest
    conn, report = ingest(tmp_path / "o.db", path)
    assert counts(report) == {"added": 1, "unchanged": 3}
    mbox(path, LETTERS[2:4])
    conn, report = ingest(tmp_path / "o.db", path)
    assert counts(report) == {"unchanged": 2}
    assert rows(conn, "select internet_message_id from messages order by 1") == [
        (f"<{n}@example.org>",) for n in (0, 1, 2, 3, 5)
    ]
    # Those that are there once each, where they are now; those that are not, where they were last seen.
    found = rows(conn, PLACES)
    assert sorted(found) == sorted(set(found))
    assert [name for name, _ in found].count("<2@example.org>") == 1
    assert {(name, key) for name, key in found if name in ("<2@example.org>", "<3@example.org>")} == {
        ("<2@example.org>", "#0"),
        ("<3@example.org>", f"#{starts(path)[1]}"),
    }
    assert {name for name, _ in found} == {f"<{n}@example.org>" for n in (0, 1, 2, 3, 5)}
    _, report = ingest(tmp_path / "o.db", path)
    assert counts(report)["unchanged"] >= 2 and not report.added


def test_a_label_taken_off_at_the_source_goes_and_one_from_elsewhere_stays(tmp_path: Path) -> None:
    first = mbox(tmp_path / "a.mbox", [b"X-Gmail-Labels: Inbox,School\n" + LETTERS[0]])
    second = mbox(tmp_path / "b.mbox", [b"X-Gmail-Labels: Kept\n" + LETTERS[0]])
    conn, _ = ingest(tmp_path / "o.db", first, second)
    assert rows(conn, "select label from message_labels order by 1") == [("Inbox",), ("Kept",), ("School",)]
    mbox(first, [b"X-Gmail-Labels: Inbox\n" + LETTERS[0]])
    conn, report = ingest(tmp_path / "o.db", first)
    assert counts(report) == {"unchanged": 1}
    assert rows(conn, "select label from message_labels order by 1") == [("Inbox",), ("Kept",)]


def test_keywords_of_a_maildir_are_followed_though_no_message_changed(tmp_path: Path) -> None:
    box = tmp_path / "Maildir"
    for name in ("cur", "new", "tmp"):
        (box / name).mkdir(parents=True)
    (box / "dovecot-keywords").write_text("0 School\n1 Later\n")
    (box / "cur/1:2,a").write_bytes(LETTERS[0])
    (box / "cur/2:2,").write_bytes(LETTERS[1])
    conn, _ = ingest(tmp_path / "o.db", box)
    assert rows(conn, "select message_id, label from message_labels") == [(1, "School")]
    (box / "cur/1:2,a").rename(box / "cur/1:2,Sb")
    conn, report = ingest(tmp_path / "o.db", box)
    assert counts(report) == {"unchanged": 2}
    assert rows(conn, "select message_id, label from message_labels") == [(1, "Later")]
    assert rows(conn, "select is_read from message_state order by message_id") == [(1,), (0,)]


@pytest.mark.parametrize("extra", [b"", b"Status: RO\nX-Gmail-Labels: Inbox\n"])
def test_a_file_whose_flags_are_in_itself_is_not_read_again(
    tmp_path: Path, extra: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = eml_folder(tmp_path / "box", {"1.eml": extra + LETTERS[0]})
    ingest(tmp_path / "o.db", folder)

    def refuse(*args: object) -> bytes:
        raise AssertionError("it was read again")

    monkeypatch.setattr("ingest.sources.eml.EmlSource.load", refuse)
    _, report = ingest(tmp_path / "o.db", folder)
    assert counts(report) == {"unchanged": 1}


def test_a_failure_goes_when_the_file_is_whole_again_and_not_before(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", {"1.eml": LETTERS[0], "2.eml": b"", "3.eml": b""})
    conn, report = ingest(tmp_path / "o.db", folder)
    failed = "select account, key, attempts from ingest_failures order by key"
    key = folder.as_posix()
    assert rows(conn, failed) == [("default", f"{key}/2.eml", 1), ("default", f"{key}/3.eml", 1)]
    (folder / "2.eml").write_bytes(LETTERS[1])
    ingest(tmp_path / "o.db", tmp_path / "box/1.eml")
    assert len(rows(conn, failed)) == 2
    conn, report = ingest(tmp_path / "o.db", folder)
    assert counts(report) == {"added": 1, "unchanged": 1}
    assert rows(conn, failed) == [("default", f"{key}/3.eml", 2)]
    (folder / "3.eml").unlink()
    conn, report = ingest(tmp_path / "o.db", folder)
    assert rows(conn, failed) == []


def test_bytes_that_could_not_be_stored_are_kept_when_their_file_is_gone(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", {"1.eml": LETTERS[0]})
    conn, _ = ingest(tmp_path / "o.db", folder)
    with db.transaction(conn):
        failures.put(conn, "default", "eml", "box", f"{folder.as_posix()}/2.eml", "bad", 2, LETTERS[1])
    conn, _ = ingest(tmp_path / "o.db", folder)
    assert rows(conn, "select raw from ingest_failures") == [(LETTERS[1],)]


def test_one_accounts_failure_is_not_cleared_by_anothers_success(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", {"1.eml": b"", "2.eml": LETTERS[0]})
    ingest(tmp_path / "o.db", folder, account="ada")
    (folder / "1.eml").write_bytes(LETTERS[1])
    conn, _ = ingest(tmp_path / "o.db", folder, account="ben")
    assert rows(conn, "select account, key from ingest_failures") == [("ada", f"{folder.as_posix()}/1.eml")]


def test_an_mbox_with_a_failure_in_it_is_read_whole_to_try_again(tmp_path: Path, read: list[int]) -> None:
    path = mbox(tmp_path / "a.mbox", LETTERS[:3])
    conn, _ = ingest(tmp_path / "o.db", path)
    key = f"{path.as_posix()}#{starts(path)[1]}"
    with db.transaction(conn):
        failures.put(conn, "default", "mbox", "a", key, "bad", 2, None)
    del read[:]
    conn, report = ingest(tmp_path / "o.db", path)
    assert (counts(report), len(read)) == ({"unchanged": 3}, 3)
    assert rows(conn, "select count(*) from ingest_failures") == [(0,)]


def test_what_was_forgotten_comes_back_when_it_is_ingested_again(tmp_path: Path) -> None:
    path = mbox(tmp_path / "a.mbox", LETTERS[:3])
    conn, _ = ingest(tmp_path / "o.db", path)
    forget.forget(conn, tmp_path / "o.db", forget.Selection(ids=(2,)), quiet=True)
    conn, report = ingest(tmp_path / "o.db", path)
    assert counts(report) == {"added": 1, "unchanged": 2}


def test_an_older_file_keeps_its_labels_and_failures_and_learns_whose_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as then:
        then.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:2])
        then.setattr(schema, "VERSION", 2)
        conn = db.connect(tmp_path / "o.db", create=True)
        conn.executescript(
            """
            insert into accounts (name) values ('ada'), ('ben');
            insert into mailboxes (id, account, name) values (1, 'ada', 'in'), (2, 'ben', 'in'), (3, 'ben', 'out');
            insert into messages (id, account, source_id, size, content_hash) values (1, 'ada', 'a', 1, 'a'), (2, 'ben', 'b', 1, 'b');
            insert into message_locations (message_id, mailbox_id, provider_key) values (1, 1, 'x'), (2, 2, 'y'), (2, 3, 'z');
            insert into message_labels values (2, 'School'), (2, 'Ä "q"');
            insert into ingest_failures (source, mailbox, key, error, attempts, raw, first_at, last_at)
            values ('eml', 'in', 'k', 'e', 1, x'00', 'a', 'b'), ('eml', 'out', 'k2', 'e', 1, null, 'a', 'b');
            """
        )
        conn.close()
    conn = db.connect(tmp_path / "o.db")
    assert rows(conn, "select provider_key, labels from message_locations order by 1") == [
        ("x", "[]"),
        ("y", '["School","Ä \\"q\\""]'),
        ("z", '["School","Ä \\"q\\""]'),
    ]
    assert rows(conn, "select account, key, raw from ingest_failures order by id") == [
        (None, "k", b"\0"),
        ("ben", "k2", None),
    ]
