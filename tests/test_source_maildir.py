"""Maildir: a flag that changes keeps the message's key, a folder keeps its name, a message that moves is still found."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from ingest.sources import Entry, Failure, detect
from ingest.sources.maildir import decode_utf7, folder_name, split_name

MESSAGE = b"From: ann@example.org\nSubject: first\n\nGood morning.\n"
WINDOWS = os.name == "nt"
MARK = "!" if WINDOWS else ":"


def maildir(root: Path, *names: str) -> Path:
    """A Maildir with these messages: ``cur/unique:2,S`` or ``new/unique``."""
    for part in ("cur", "new", "tmp"):
        (root / part).mkdir(parents=True, exist_ok=True)
    for name in names:
        (root / name.replace(":", MARK)).write_bytes(MESSAGE)
    return root


def entries(path: Path) -> list[Entry]:
    found = list(detect(path).entries())
    assert not [entry for entry in found if isinstance(entry, Failure)]
    return found  # type: ignore[return-value]


def places(path: Path) -> dict[str, list[str]]:
    """Mailbox -> the keys in it, without the path."""
    found: dict[str, list[str]] = {}
    for entry in entries(path):
        found.setdefault(entry.mailbox, []).append(entry.key.removeprefix(path.as_posix()))
    return found


@pytest.mark.parametrize(
    ("name", "unique", "flags", "letters"),
    [
        ("1.M1.host:2,", "1.M1.host", "", ""),
        ("1.M1.host:2,S", "1.M1.host", "seen", ""),
        ("1.M1.host:2,DFPRST", "1.M1.host", "draft flagged forwarded answered seen deleted", ""),
        ("1.M1.host!2,FS", "1.M1.host", "flagged seen", ""),
        ("1.M1.host;2,S", "1.M1.host", "seen", ""),
        ("1.M1.host,S=12,W=13:2,Sab", "1.M1.host,S=12,W=13", "seen", "ab"),
        ("1.M1.host:2,SZ", "1.M1.host", "seen", ""),
        ("1.M1.host:1,x", "1.M1.host:1,x", "", ""),
        ("1.M1.host", "1.M1.host", "", ""),
    ],
)
def test_flags_are_read_from_the_name_and_are_no_part_of_the_key(
    name: str, unique: str, flags: str, letters: str
) -> None:
    assert split_name(name) == (unique, frozenset(flags.split()), letters)


def test_cur_and_new_are_read_and_tmp_and_hidden_files_are_not(tmp_path: Path) -> None:
    root = maildir(tmp_path / "Mail", "cur/2.b:2,S", "new/1.a", "tmp/3.c", "cur/.hidden")
    (root / "dovecot-uidlist").write_text("3 V1 N9\n")
    (root / "dovecot.index.log").write_bytes(b"\x01\x02\x00\x03")
    assert [(e.key, e.mailbox, e.flags, e.load()) for e in entries(root)] == [
        (f"{root.as_posix()}/1.a", "INBOX", frozenset(), MESSAGE),
        (f"{root.as_posix()}/2.b", "INBOX", frozenset({"seen"}), MESSAGE),
    ]


def test_a_changed_flag_keeps_key_and_fingerprint(tmp_path: Path) -> None:
    root = maildir(tmp_path / "Mail", "new/1.a")
    (before,) = entries(root)
    (root / "new/1.a").rename(root / f"cur/1.a{MARK}2,FS")
    (after,) = entries(root)
    assert (after.key, after.fingerprint) == (before.key, before.fingerprint)
    assert after.flags == {"seen", "flagged"}


def test_a_message_written_anew_has_another_fingerprint(tmp_path: Path) -> None:
    root = maildir(tmp_path / "Mail", "new/1.a")
    (before,) = entries(root)
    (root / "new/1.a").write_bytes(MESSAGE + b"And more.\n")
    (after,) = entries(root)
    assert after.key == before.key
    assert after.fingerprint != before.fingerprint


def test_folders_of_maildir_plus_plus_and_nested_ones_are_named(tmp_path: Path) -> None:
    root = maildir(tmp_path / "Mail", "cur/1.a:2,S")
    for folder in (".Sent", ".Work.Reports", "Nested", "Nested/Deeper", "Holder/Inner", ".Entw&APw-rfe"):
        maildir(root / folder, "cur/1.a:2,S")
    maildir(root / ".Empty")
    (root / ".notmuch/xapian").mkdir(parents=True)
    (root / ".notmuch/xapian/postlist.glass").write_bytes(MESSAGE)
    assert places(root) == {
        "INBOX": ["/1.a"],
        "Sent": ["/.Sent/1.a"],
        "Work/Reports": ["/.Work.Reports/1.a"],
        "Entwürfe": ["/.Entw&APw-rfe/1.a"],
        "Nested": ["/Nested/1.a"],
        "Nested/Deeper": ["/Nested/Deeper/1.a"],
        "Holder/Inner": ["/Holder/Inner/1.a"],
    }


def test_several_maildirs_in_a_folder_keep_their_names_apart(tmp_path: Path) -> None:
    maildir(tmp_path / "ann" / "INBOX", "cur/1.a:2,S")
    maildir(tmp_path / "bob", "cur/1.a:2,S")
    maildir(tmp_path / "bob" / ".Sent", "cur/1.a:2,S")
    assert places(tmp_path) == {
        "ann/INBOX": ["/ann/INBOX/1.a"],
        "bob": ["/bob/1.a"],
        "bob/Sent": ["/bob/.Sent/1.a"],
    }


def test_a_mailbox_asked_for_is_the_name_of_all(tmp_path: Path) -> None:
    root = maildir(tmp_path / "Mail", "cur/1.a:2,S")
    maildir(root / ".Sent", "cur/1.a:2,S")
    assert {entry.mailbox for entry in detect(root, "Old").entries()} == {"Old"}


@pytest.mark.parametrize(
    ("name", "decoded"),
    [
        ("INBOX", "INBOX"),
        ("Entw&APw-rfe", "Entwürfe"),
        ("&U,BTFw-", "台北"),
        ("~peter/mail/&U,BTFw-/&ZeVnLIqe-", "~peter/mail/台北/日本語"),
        ("R&-D", "R&D"),
        ("R&D", "R&D"),
        ("A&B-C", "A&B-C"),
        ("R&D &AOQ-", "R&D &AOQ-"),
        ("Mü &AOQ-", "Mü &AOQ-"),
        ("&2D0-", "&2D0-"),
        ("Müll", "Müll"),
    ],
)
def test_modified_utf7_is_decoded_where_it_is_that(name: str, decoded: str) -> None:
    assert decode_utf7(name) == decoded


def test_a_dot_within_a_nested_folder_name_is_a_dot() -> None:
    assert [folder_name("v1.2"), folder_name(".Work.v1")] == ["v1.2", "Work/v1"]


def test_a_message_that_another_program_moves_during_the_run_is_still_read(tmp_path: Path) -> None:
    root = maildir(tmp_path / "Mail", "new/1.a", "new/2.b")
    source = detect(root)
    running = source.entries()
    first = next(running)
    assert isinstance(first, Entry)
    (root / "new/1.a").rename(root / f"cur/1.a{MARK}2,S")
    (root / "new/2.b").rename(root / f"cur/2.b{MARK}2,S")
    (second,) = running
    assert isinstance(second, Entry)
    assert [first.load(), second.load()] == [MESSAGE, MESSAGE]


def test_a_message_that_goes_during_the_run_is_a_failure_and_the_rest_is_read(tmp_path: Path) -> None:
    root = maildir(tmp_path / "Mail", "new/1.a", "new/2.b", "new/3.c")
    running = detect(root).entries()
    first = next(running)
    assert isinstance(first, Entry)
    (root / "new/1.a").unlink()
    (root / "new/2.b").unlink()
    second, third = running
    with pytest.raises(FileNotFoundError) as raised:
        first.load()
    assert Failure.of(first, raised.value) == Failure(
        f"{root.as_posix()}/1.a", "INBOX", "No such file or directory", first.consumed
    )
    assert isinstance(second, Failure)
    assert (second.key, second.error) == (f"{root.as_posix()}/2.b", "No such file or directory")
    assert isinstance(third, Entry)
    assert third.load() == MESSAGE


def test_what_is_consumed_comes_to_the_size(tmp_path: Path) -> None:
    root = maildir(tmp_path / "Mail", "new/1.a", "cur/2.b:2,S")
    maildir(root / ".Sent", "cur/3.c:2,S")
    source = detect(root)
    assert [entry.consumed for entry in source.entries()] == [len(MESSAGE), 2 * len(MESSAGE), 3 * len(MESSAGE)]
    assert source.size == 3 * len(MESSAGE)


def test_dovecots_keywords_are_labels(tmp_path: Path) -> None:
    root = maildir(tmp_path / "Mail", "cur/1.a:2,Sabz")
    (root / "dovecot-keywords").write_text("0 $Forwarded\n1 to do\nnonsense\n")
    (entry,) = entries(root)
    assert (entry.flags, entry.labels) == ({"seen"}, ("$Forwarded", "to do"))


def test_messages_that_the_server_compressed_are_read_through(tmp_path: Path) -> None:
    root = maildir(tmp_path / "Mail", "cur/1.a:2,SZ")
    (root / f"cur/1.a{MARK}2,SZ").write_bytes(gzip.compress(MESSAGE))
    assert [entry.load() for entry in entries(root)] == [MESSAGE]


def test_a_maildir_with_no_message_yet_is_mail(tmp_path: Path) -> None:
    assert entries(maildir(tmp_path / "Mail")) == []


@pytest.mark.skipif(WINDOWS, reason="file names are text on Windows")
def test_names_that_are_no_utf8_become_text_that_can_be_stored_and_stay_apart(tmp_path: Path) -> None:
    root = maildir(tmp_path / "Mail")
    for name in (b"1.a\xff:2,S", b"1.a\xfe:2,S"):
        Path(os.fsdecode(os.fsencode(root / "cur") + b"/" + name)).write_bytes(MESSAGE)
    found = entries(root)
    assert [entry.key.encode().rpartition(b"/")[2] for entry in found] == [b"1.a\\xfe", b"1.a\\xff"]
    assert [entry.load() for entry in found] == [MESSAGE, MESSAGE]
