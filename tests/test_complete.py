"""``--complete``: what a whole snapshot no longer holds is deleted, and nothing else, and never by accident."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from making import eml_folder, mail, mbox, rows

from datasette_oaken import db, questions
from ingest.cli import oaken
from ingest.judge import judge

LETTERS = {f"{n}.eml": mail(f"Letter {n}: apples.\n", id=f"<{n}@example.org>", subject=f"No {n}") for n in range(10)}


def run(db_path: Path, *args: object, code: int = 0) -> dict[str, object]:
    """``oaken ingest --json``, and what it answered."""
    done = CliRunner().invoke(oaken, ["ingest", "--no-embed", "--json", "--db", str(db_path), *map(str, args)])
    assert done.exit_code == code, done.output
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def kept(db_path: Path) -> list[str]:
    conn = db.connect(db_path, readonly=True)
    found = [str(row[0]) for row in rows(conn, "select subject from messages order by id")]
    conn.close()
    return found


def outcome(deleted: int, of: int, places: int, hindered: str | None = None) -> dict[str, object]:
    return {"deleted": deleted, "of": of, "places": places, "hindered": hindered}


def test_absence_is_not_deletion_unless_the_snapshot_is_said_to_be_complete(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", LETTERS)
    run(tmp_path / "o.db", folder)
    (folder / "3.eml").unlink()
    answer = run(tmp_path / "o.db", folder)
    assert (answer["deleted"], len(kept(tmp_path / "o.db")), answer.get("complete")) == (0, 10, None)
    answer = run(tmp_path / "o.db", folder, "--complete")
    assert (answer["deleted"], answer["complete"]) == (1, outcome(1, 10, 1))
    assert kept(tmp_path / "o.db") == [f"No {n}" for n in range(10) if n != 3]
    conn = db.connect(tmp_path / "o.db")
    assert rows(conn, "select count(*) from recall_chunks_fts where recall_chunks_fts match 'apples'") == [(9,)]
    conn.execute("insert into recall_chunks_fts (recall_chunks_fts, rank) values ('integrity-check', 1)")


def test_more_than_a_fifth_is_refused_and_the_new_mail_is_stored_all_the_same(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", LETTERS)
    run(tmp_path / "o.db", folder)
    for n in (1, 2, 3):
        (folder / f"{n}.eml").unlink()
    (folder / "new.eml").write_bytes(mail("New.\n", id="<new@example.org>", subject="New"))
    answer = run(tmp_path / "o.db", folder, "--complete", code=1)
    assert answer == {
        "ok": False,
        "code": "too_many_absent",
        "error": "All that was found is stored, and nothing was deleted: 3 of 11 messages are no longer there, which is more than "
        "a fifth. Is the whole mailbox there? Then run it again with --yes.",
    }
    assert kept(tmp_path / "o.db") == [*(f"No {n}" for n in range(10)), "New"]
    assert run(tmp_path / "o.db", folder, "--complete", "--yes")["deleted"] == 3


def test_a_fifth_exactly_is_not_too_many(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", LETTERS)
    run(tmp_path / "o.db", folder)
    for n in (1, 2):
        (folder / f"{n}.eml").unlink()
    assert run(tmp_path / "o.db", folder, "--complete")["complete"] == outcome(2, 10, 2)


def test_what_would_go_is_shown_first(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", LETTERS)
    run(tmp_path / "o.db", folder)
    (folder / "3.eml").unlink()
    done = CliRunner().invoke(
        oaken, ["ingest", "--no-embed", "--db", str(tmp_path / "o.db"), str(folder), "--complete"]
    )
    shown = done.stdout.splitlines()
    assert shown[:2] == ["1 of 10 messages are no longer there:", "  2018-03-05 Sam Reed: No 3"]
    assert shown[2] == f"0 messages added, 9 unchanged, 1 deleted: {tmp_path / 'o.db'}"


def test_nothing_goes_when_a_part_of_it_could_not_be_read(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", LETTERS)
    run(tmp_path / "o.db", folder)
    (folder / "3.eml").unlink()
    (folder / "4.eml").write_bytes(b"")
    answer = run(tmp_path / "o.db", folder, "--complete", "--yes")
    key = f"{folder.as_posix()}/4.eml"
    assert answer["complete"] == outcome(0, 0, 0, f"{key} could not be read, so what it holds is not known")
    gone = tmp_path / "gone"
    answer = run(tmp_path / "o.db", folder / "5.eml", gone, "--complete", "--yes")
    assert answer["complete"] == outcome(0, 0, 0, f"{gone} could not be read, so what it holds is not known")
    assert len(kept(tmp_path / "o.db")) == 10


def test_a_link_to_a_disk_that_is_not_mounted_is_not_absence(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", LETTERS)
    disk = eml_folder(tmp_path / "disk/old", {"z.eml": mail("Z.\n", id="<z@example.org>", subject="Z")})
    for name, target in (
        ("old", disk),
        ("one", disk / "z.eml"),
        ("many", mbox(tmp_path / "disk/many", [mail("Y.\n")])),
    ):
        link = folder / name
        link.symlink_to(target)
        run(tmp_path / f"{name}.db", folder)
        (tmp_path / "disk").rename(tmp_path / "away")
        answer = run(tmp_path / f"{name}.db", folder, "--complete", "--yes")
        why = f"{link} is a link that leads nowhere, so what it holds is not known"
        assert (answer["deleted"], answer["complete"]) == (0, outcome(0, 0, 0, why))
        assert len(kept(tmp_path / f"{name}.db")) == 11
        (tmp_path / "away").rename(tmp_path / "disk")
        link.unlink()
        assert run(tmp_path / f"{name}.db", folder, "--complete")["deleted"] == 1


@pytest.mark.parametrize("many", [False, True])
def test_a_file_that_no_longer_looks_like_mail_is_damaged_and_not_empty(tmp_path: Path, many: bool) -> None:
    folder = eml_folder(tmp_path / "box", LETTERS)
    path = folder / "11"
    if many:
        mbox(path, [mail("Y.\n", id="<y@example.org>"), mail("Z.\n", id="<z@example.org>")])
    else:
        path.write_bytes(mail("Y.\n", id="<y@example.org>"))
    run(tmp_path / "o.db", folder)
    before = len(kept(tmp_path / "o.db"))
    path.write_bytes(bytes(path.stat().st_size))
    answer = run(tmp_path / "o.db", folder, "--complete", "--yes")
    why = f"{path} is there and no longer looks like mail: is it damaged?"
    assert (answer["deleted"], answer["complete"]) == (0, outcome(0, 0, 0, why))
    assert len(kept(tmp_path / "o.db")) == before
    path.unlink()
    assert run(tmp_path / "o.db", folder, "--complete")["deleted"] == before - 10


def test_a_message_that_lies_elsewhere_too_only_loses_the_place_with_its_labels(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", {name: b"X-Gmail-Labels: Box\n" + raw for name, raw in LETTERS.items()})
    other = mbox(tmp_path / "other.mbox", [LETTERS["3.eml"]])
    run(tmp_path / "o.db", folder, other)
    (folder / "3.eml").unlink()
    assert run(tmp_path / "o.db", folder, "--complete")["complete"] == outcome(0, 10, 1)
    conn = db.connect(tmp_path / "o.db", readonly=True)
    assert rows(conn, "select count(*) from messages") == [(10,)]
    where = "(select id from messages where subject = 'No 3')"
    assert rows(conn, f"select provider_key from message_locations where message_id = {where}") == [
        (f"{other.as_posix()}#0",)
    ]
    assert rows(conn, f"select label from message_labels where message_id = {where}") == []


def test_only_what_the_snapshot_is_of_can_be_absent(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", LETTERS)
    beside = eml_folder(tmp_path / "box2", {"z.eml": mail("Z.\n", id="<z@example.org>", subject="Z")})
    run(tmp_path / "o.db", folder, beside)
    run(tmp_path / "o.db", folder, "--account", "alex")
    (beside / "z.eml").unlink()
    (folder / "3.eml").unlink()
    assert run(tmp_path / "o.db", folder, "--complete")["complete"] == outcome(1, 10, 1)
    conn = db.connect(tmp_path / "o.db", readonly=True)
    assert rows(conn, "select account, count(*) from messages group by 1") == [("alex", 10), ("default", 10)]


def test_a_named_mailbox_is_compared_wherever_its_export_lies(tmp_path: Path) -> None:
    raws = list(LETTERS.values())
    run(tmp_path / "o.db", mbox(tmp_path / "2025.mbox", raws), "--mailbox", "School")
    answer = run(tmp_path / "o.db", mbox(tmp_path / "2026.mbox", raws[1:]), "--mailbox", "School", "--complete")
    assert (answer["deleted"], answer["complete"]) == (1, outcome(1, 10, 10))
    assert kept(tmp_path / "o.db") == [f"No {n}" for n in range(1, 10)]


def test_what_another_message_took_the_place_of_is_absent_too(tmp_path: Path) -> None:
    path = mbox(tmp_path / "a.mbox", LETTERS.values())
    run(tmp_path / "o.db", path)
    mbox(path, [*list(LETTERS.values())[1:], mail("New.\n", id="<new@example.org>", subject="New")])
    run(tmp_path / "o.db", path)
    assert len(kept(tmp_path / "o.db")) == 11
    assert run(tmp_path / "o.db", path, "--complete")["deleted"] == 1
    assert kept(tmp_path / "o.db") == [*(f"No {n}" for n in range(1, 10)), "New"]


def test_verdicts_go_with_the_message_and_the_count_says_why(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "box", LETTERS)
    run(tmp_path / "o.db", folder)
    conn = db.connect(tmp_path / "o.db")
    judge(conn, tmp_path / "o.db", "Are there apples?", judge_name="rule:apples", quiet=True)
    (folder / "3.eml").unlink()
    run(tmp_path / "o.db", folder, "--complete")
    assert rows(conn, "select eligible, yes from questions_progress") == [(9, 9)]
    changes = rows(conn, "select detail from recall_question_changes order by id desc limit 1")
    assert changes == [("1 message no longer in the mailbox: 1 yes.",)]
    assert rows(conn, "select count(*) from recall_verdicts") == [(9,)]
    assert questions.get(conn, 1)


def test_yes_without_complete_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(oaken, ["ingest", "--yes", "--db", str(tmp_path / "o.db"), str(tmp_path)])
    assert (done.exit_code, "--yes goes with --complete" in done.output) == (2, True)
    assert not (tmp_path / "o.db").exists()


@pytest.mark.parametrize("stop_after", [0, 1])
def test_stopped_while_deleting_the_next_run_does_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_after: int
) -> None:
    from datasette_oaken import deletion
    from ingest import forget

    folder = eml_folder(tmp_path / "box", LETTERS)
    run(tmp_path / "o.db", folder)
    for n in (2, 3):
        (folder / f"{n}.eml").unlink()
    real, calls = deletion.delete_messages, []

    def stopping(*args: object, **options: object) -> object:
        calls.append(args)
        if len(calls) > stop_after:
            raise KeyboardInterrupt
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(forget, "BATCH", 1)
    with monkeypatch.context() as then:
        then.setattr(deletion, "delete_messages", stopping)
        CliRunner().invoke(
            oaken, ["ingest", "--no-embed", "--json", "--db", str(tmp_path / "o.db"), str(folder), "--complete"]
        )
    assert len(kept(tmp_path / "o.db")) == 10 - stop_after
    run(tmp_path / "o.db", folder, "--complete")
    assert kept(tmp_path / "o.db") == [f"No {n}" for n in range(10) if n not in (2, 3)]
