"""Two messages taken for one would lose mail; one taken for two would double every count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.identity import authored_hash, content_hash

PLAIN = b"From: a@example.org\nSubject: Keys\n\nUnder the mat.\n"


@pytest.mark.parametrize(
    "other",
    [
        PLAIN.replace(b"\n", b"\r\n"),
        PLAIN + b"\n",
        PLAIN.rstrip(b"\n"),
        b"X-Gmail-Labels: Inbox,\n Important\n" + PLAIN,
        b"X-GM-THRID: 123\nStatus: RO\nX-Status: A\n" + PLAIN,
        PLAIN.replace(b"Subject", b"X-Keywords: a b\nX-Mozilla-Status: 0001\nX-Mozilla-Keys: \nSubject"),
        PLAIN.replace(b"\n\n", b"\nstatus : O\n\n"),
    ],
)
def test_one_message_from_two_stores_is_not_taken_for_two(other: bytes) -> None:
    assert content_hash(other) == content_hash(PLAIN)


@pytest.mark.parametrize(
    "other",
    [
        PLAIN.replace(b"mat", b"pot"),
        PLAIN.replace(b"Keys", b"keys"),
        PLAIN.replace(b"From:", b"X-Statusbar: 1\nFrom:"),
        PLAIN.replace(b"Under", b"Status: RO\nUnder"),
        PLAIN.replace(b"\n\n", b"\n\n\n"),
        b"Received: by mx.example.org\n" + PLAIN,
    ],
)
def test_two_messages_are_not_taken_for_one(other: bytes) -> None:
    assert content_hash(other) != content_hash(PLAIN)


def test_a_header_that_only_continues_a_store_header_goes_with_it() -> None:
    folded = b"X-Gmail-Labels: =?utf-8?q?a?=,\n =?utf-8?q?b?=\n\tc\n" + PLAIN
    assert content_hash(folded) == content_hash(PLAIN)


@given(st.binary())
def test_any_bytes_have_a_hash_that_line_ends_do_not_change(raw: bytes) -> None:
    one = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert content_hash(raw) == content_hash(one) == content_hash(one.replace(b"\n", b"\r\n"))


def test_white_space_does_not_make_another_saying() -> None:
    assert authored_hash("See you\n  at six. ") == authored_hash("See you at six.")
    assert authored_hash("See you at six.") != authored_hash("See you at seven.")
    assert authored_hash(" \n") is None
