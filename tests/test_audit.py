"""A person can see how each message was cut and why, and what was cut of all of them, without a word of it being changed."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from making import ingest, mail, mbox, rows

from ingest.cli import oaken

LETTERS = [
    mail(
        "I agree.\n\nOn Mon, 5 Mar 2018 at 09:00, Ben <ben@example.org> wrote:\n> Shall we?\n\n-- \nSam\n",
        id="<1@example.org>",
        headers=["User-Agent: Mozilla/5.0 (X11; Linux) Gecko/20100101 Thunderbird/60.2.1"],
    ),
    mail("Ja.\n\x1b[31mred\n", id="<2@example.org>", headers=["X-Mailer:\n iPhone Mail (16C101)"]),
    mail("", id="<3@example.org>", headers=["X-Mailer: git-send-email 2.20.1"]),
    mail("Body with\nX-Mailer: Faker 1\n", id="<4@example.org>"),
]


def run(tmp_path: Path, *args: str, code: int = 0) -> str:
    if not (tmp_path / "o.db").exists():
        ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))[0].close()
    done = CliRunner().invoke(oaken, [*args, "--db", str(tmp_path / "o.db")])
    assert done.exit_code == code, done.output
    return done.stdout


def test_each_section_is_shown_with_its_reason_and_nothing_is_left_out(tmp_path: Path) -> None:
    found = json.loads(run(tmp_path, "inspect", "1", "--json"))
    assert [(part["section"], part["why"], part["text"]) for part in found["sections"]] == [
        ("authored", "authored", "I agree.\n\n"),
        ("quoted", "attribution:en", "On Mon, 5 Mar 2018 at 09:00, Ben <ben@example.org> wrote:\n"),
        ("quoted", "quote:>", "> Shall we?\n\n"),
        ("signature", "delimiter", "-- \nSam"),
    ]
    whole = "".join(part["text"] for part in found["sections"])
    assert found["characters"] == len(whole)
    assert found["passages"][0]["section"] == "authored"
    assert run(tmp_path, "inspect", "1").splitlines() == [
        "Message 1: Keys, 88 characters",
        "authored, 0 to 10: authored",
        "  I agree.",
        "quoted, 10 to 68: attribution:en",
        "  On Mon, 5 Mar 2018 at 09:00, Ben <ben@example.org> wrote:",
        "quoted, 68 to 81: quote:>",
        "  > Shall we?",
        "signature, 81 to 88: delimiter",
        "  --",
        "  Sam",
        "1 passage is searched.",
    ]


def test_what_mail_says_does_not_steer_the_terminal(tmp_path: Path) -> None:
    assert "\x1b" not in run(tmp_path, "inspect", "2")
    assert "[31mred" in run(tmp_path, "inspect", "2")


def test_a_message_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    answer = json.loads(run(tmp_path, "inspect", "9", "--json", code=1))
    assert answer == {"ok": False, "error": "There is no message 9.", "code": "no_message"}


def test_all_characters_are_counted_once_by_section_program_and_language(tmp_path: Path) -> None:
    found = json.loads(run(tmp_path, "stats", "sections", "--json"))
    conn, _ = ingest(tmp_path / "o.db", tmp_path / "a.mbox")
    ((total, parts),) = rows(conn, "select sum(stop - start), count(*) from message_sections")
    assert sum(part["characters"] for part in found["sections"].values()) == total
    assert sum(part["sections"] for part in found["sections"].values()) == parts
    assert sum(one["sections"] for one in found["why"]) == parts
    for name in ("clients", "languages"):
        assert sum(sum(one["characters"].values()) for one in found[name]) == total
    assert sorted((one["client"], one["messages"]) for one in found["clients"]) == [
        ("Mozilla", 1),
        ("git-send-email", 1),
        ("iPhone Mail", 1),
        ("not said", 1),
    ]
    assert found["messages"] == sum(one["messages"] for one in found["languages"]) == 4
    shown = run(tmp_path, "stats", "sections")
    assert shown.startswith(f"4 messages, {total} characters of text:\n")


def test_damaged_raw_bytes_do_not_stop_the_count(tmp_path: Path) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", LETTERS))
    conn.execute("update raw_messages set raw = x'00', codec = 'zlib' where message_id = 1")
    conn.execute("delete from raw_messages where message_id = 2")
    conn.close()
    clients = json.loads(run(tmp_path, "stats", "sections", "--json"))["clients"]
    assert sorted((one["client"], one["messages"]) for one in clients) == [("git-send-email", 1), ("not said", 3)]
