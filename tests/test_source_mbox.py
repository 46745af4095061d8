"""mbox: no message lost at a separator, none made of a body's words, every byte as it was sent."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import mailbox
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.sources import Entry, Failure, detect
from ingest.sources.mbox import MboxSource, Splitter
from ingest.sources.separators import Dialect, has_form, restore

DATA = Path(__file__).resolve().parents[1].parent / "shared/data"
SEPARATOR = b"From ann@example.org Thu Jan  1 00:00:00 1970\n"
FIRST = b"From: ann@example.org\nSubject: first\n\nGood morning.\n"
SECOND = b"From: bob@example.org\nSubject: second\n\nGood evening.\n"


def entries(path: Path, **options: object) -> list[Entry]:
    found = list(MboxSource(path, "box", **options).entries())  # type: ignore[arg-type]
    assert not [entry for entry in found if isinstance(entry, Failure)]
    return found  # type: ignore[return-value]


def raws(data: bytes, path: Path, **options: object) -> list[bytes]:
    path.write_bytes(data)
    return [entry.load() for entry in entries(path, **options)]


def written(messages: list[bytes], quoting: str, newline: bytes = b"\n") -> bytes:
    """An mbox as a writer of that dialect makes it, by line and without the code under test."""
    box = b""
    for raw in messages:
        box += SEPARATOR.replace(b"\n", newline)
        if quoting == "mboxcl2":
            box += raw + newline
            continue
        for line in raw.splitlines(keepends=True):
            bare = line.lstrip(b">") if quoting == "mboxrd" else line
            box += (b">" if bare.startswith(b"From ") else b"") + line
        box += (b"" if raw.endswith(b"\n") else newline) + newline
    return box


LINES = st.sampled_from(
    [
        b"",
        b"From here on it is easy.",
        SEPARATOR.rstrip(),
        b"Subject: not a header",
        b"Content-Length: 7",
        b"From: nobody",
        b" From indented",
        b"\xe9\x00\xff",
        b"Good morning.",
    ]
)
QUOTED_LINES = st.sampled_from([b">From here", b">>From there", b">>>>From " + SEPARATOR.rstrip(), b"> From afar"])
TEXT = st.binary(max_size=30).map(lambda data: data.replace(b"\r", b"").replace(b"\n", b"").lstrip(b">"))


@st.composite
def message(draw: st.DrawFn, lines: st.SearchStrategy[bytes], ends: st.SearchStrategy[bytes]) -> bytes:
    newline = draw(st.sampled_from([b"\n", b"\r\n"]))
    body = draw(st.lists(lines, max_size=8))
    header = [b"From: ann@example.org", b"Subject: " + draw(st.sampled_from([b"a", b"From b"])), b"", b""]
    return newline.join(header) + newline.join(body) + draw(ends) * newline


END = st.just(1)
ANY_END = st.integers(0, 3)


@settings(deadline=None)
@given(st.lists(message(LINES | TEXT | QUOTED_LINES, ANY_END), min_size=1, max_size=5))
def test_mboxrd_gives_back_every_line_that_was_quoted(
    tmp_path_factory: pytest.TempPathFactory, messages: list[bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / "rd.mbox"
    expected = [raw if raw.endswith(b"\n") else raw + b"\n" for raw in messages]
    assert raws(written(messages, "mboxrd"), path) == expected


@settings(deadline=None)
@given(st.lists(message(LINES | TEXT, END), min_size=1, max_size=5))
def test_mboxo_gives_back_every_line_that_was_quoted(
    tmp_path_factory: pytest.TempPathFactory, messages: list[bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / "o.mbox"
    assert raws(written(messages, "mboxo"), path) == messages


@settings(deadline=None)
@given(st.lists(message(LINES | TEXT | QUOTED_LINES, END), min_size=1, max_size=5))
def test_mboxo_when_asked_for_takes_one_mark_and_leaves_what_has_two(
    tmp_path_factory: pytest.TempPathFactory, messages: list[bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / "o2.mbox"
    # The one thing that mboxo cannot tell: a line that was sent as ">From ".
    expected = [
        b"".join(line.removeprefix(b">") if line.startswith(b">From ") else line for line in raw.splitlines(True))
        for raw in messages
    ]
    assert raws(written(messages, "mboxo"), path, quoting="mboxo") == expected


@settings(deadline=None)
@given(st.lists(message(LINES | TEXT | QUOTED_LINES, ANY_END), min_size=1, max_size=5))
def test_mboxcl2_takes_what_content_length_spans_as_it_stands(
    tmp_path_factory: pytest.TempPathFactory, messages: list[bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / "cl2.mbox"
    measured = []
    for raw in messages:
        newline = b"\r\n" if b"\r\n" in raw else b"\n"
        header, _, body = raw.partition(newline * 2)
        measured.append(header + newline + b"Content-Length: %d" % len(body) + newline * 2 + body)
    assert raws(written(measured, "mboxcl2"), path) == measured


LONG = st.just(b"x" * 5000)  # longer than what is looked ahead


@settings(deadline=None)
@given(
    st.lists(message(LINES | TEXT | QUOTED_LINES | LONG, ANY_END), min_size=1, max_size=5),
    st.sampled_from([1, 2, 3, 7, 50, 4096]),
    st.booleans(),
)
def test_where_blocks_end_does_not_matter(messages: list[bytes], block: int, lengths: bool) -> None:
    data = written(messages, "mboxrd")
    dialect = Dialect(lengths=lengths)
    whole = list(Splitter(io.BytesIO(data).read, dialect))
    assert list(Splitter(io.BytesIO(data).read, dialect, block=block)) == whole


def test_a_wrong_content_length_among_right_ones_is_not_believed_anywhere_in_a_large_file(tmp_path: Path) -> None:
    right = b"From: ann@example.org\nContent-Length: 50010\n\n" + b"Good day.\n" * 5001
    wrong = right.replace(b": 50010", b": 20")
    messages = [right, right, wrong, right, FIRST] * 20
    assert raws(b"".join(SEPARATOR + raw + b"\n" for raw in messages), tmp_path / "a.mbox") == messages


def test_an_mbox_with_crlf_keeps_crlf(tmp_path: Path) -> None:
    messages = [FIRST.replace(b"\n", b"\r\n"), SECOND.replace(b"\n", b"\r\n") + b">From afar\r\n"]
    assert raws(written(messages, "mboxrd", b"\r\n"), tmp_path / "a.mbox") == messages


@pytest.mark.parametrize(
    "line",
    [
        b"From ann@example.org Thu Jan  1 00:00:00 1970",
        b"From ann@example.org  Thu Jan 01 00:00:00 1970",
        b"From ann@example.org Thu Jan  1 00:00 1970",
        b"From ann@example.org Thu Jan  1 00:00:00 +0100 1970",
        b"From ann@example.org Thu Jan  1 00:00:00 CET 1970",
        b"From ann@example.org Thu Jan  1 00:00:00 MET DST 1970",
        b"From ann@example.org Thu Jan  1 00:00:00 1970 -0500",
        b"From ann@example.org Thu, 1 Jan 1970 00:00:00 +0000",
        b"From ann@example.org Thu, 01 Jan 1970 00:00:00 +0000 (UTC)",
        b"From ann@example.org 1970-01-01T00:00:00Z",
        b"From ann@example.org Jan  1 00:00:00 1970",
        b"From MAILER-DAEMON Thu Jan  1 00:00:00 1970",
        b"From - Thu Jan  1 00:00:00 1970",
        b"From  Thu Jan  1 00:00:00 1970",
        b"From ???@??? Thu Jan 01 00:00:00 1970",
        b"From 1234567890123456789@xxx Thu Jan 01 00:00:00 +0000 1970",
        b"From ann at example.org  Thu Jan  1 00:00:00 1970",
        b'From "ann bee"@example.org Thu Jan  1 00:00:00 1970',
        b"From Ann Bee <ann@example.org> Thu Jan  1 00:00:00 1970",
        b"From host!ann Thu Jan  1 00:00:00 1970 remote from host",
        b"From ann@example.org Thu Jan  1 00:00:00 1970\r",
    ],
)
def test_every_usual_form_of_separator_separates(line: bytes, tmp_path: Path) -> None:
    assert has_form(line)
    box = line + b"\n" + FIRST + b"\n" + line + b"\n" + SECOND
    assert raws(box, tmp_path / "a.mbox") == [FIRST, SECOND]


@pytest.mark.parametrize(
    "words",
    [
        b"\nFrom now on nothing is as it was.\nSubject: of debate\n",
        b"\nFrom Monday Jan 5 to Friday it rains.\n",
        b"\nFrom ann@example.org I heard it on Thu Jan  1 00:00:00 1970 or so.\n",
        b"\nFrom what Ann and Bob told me Thu Jan  1 00:00:00 1970\nSubject: a\n",
        b"\nFrom \n",
        b"\nFrom ann@example.org\nReceived: never\n",
        b"in short\nFrom ann@example.org Thu Jan  1 00:00:00 1970\nSubject: no empty line before\n",
        b"\nFrom ann@example.org Thu Jan  1 00:00:00 1970\nis what stood in the log, said Bob.\n",
    ],
)
def test_a_body_line_that_begins_with_from_makes_no_message(words: bytes, tmp_path: Path) -> None:
    message = FIRST + words
    assert raws(SEPARATOR + message + b"\n" + SEPARATOR + SECOND + b"\n", tmp_path / "a.mbox") == [message, SECOND]


def test_a_separator_with_a_malformed_header_behind_it_still_separates(tmp_path: Path) -> None:
    broken = b"this is no header field\nFrom: ann@example.org\n\nGood morning.\n"
    assert raws(SEPARATOR + FIRST + b"\n" + SEPARATOR + broken, tmp_path / "a.mbox") == [FIRST, broken]


def test_a_message_without_header_or_without_anything_is_one(tmp_path: Path) -> None:
    box = SEPARATOR + b"\n" + SEPARATOR + b"\nGood morning.\n\n" + SEPARATOR + SECOND + b"\n" + SEPARATOR
    assert raws(box, tmp_path / "a.mbox") == [b"", b"\nGood morning.\n", SECOND, b""]


def test_a_file_with_dates_of_another_language_is_read(tmp_path: Path) -> None:
    odd = b"From ann@example.org Do Maerz 1 00.00 Uhr 1970\n"
    message = FIRST + b"\nFrom now on: nothing.\n\nAnd so on.\n"
    assert raws(odd + message + b"\n" + odd + SECOND, tmp_path / "a.mbox") == [message, SECOND]


def test_a_file_that_never_leaves_an_empty_line_is_read(tmp_path: Path) -> None:
    assert raws((SEPARATOR + FIRST) * 3, tmp_path / "a.mbox") == [FIRST] * 3


def test_empty_lines_and_a_byte_order_mark_may_come_first(tmp_path: Path) -> None:
    for before in (b"\n", b"\r\n\r\n", b"\xef\xbb\xbf"):
        assert raws(before + SEPARATOR + FIRST, tmp_path / "a.mbox") == [FIRST]


def test_a_content_length_that_is_wrong_is_not_believed(tmp_path: Path) -> None:
    for length in (b"0", b"3", b"100", b"99999999999", b"-1", b"many"):
        wrong = FIRST.replace(b"\n\n", b"\nContent-Length: " + length + b"\n\n", 1)
        box = SEPARATOR + wrong + b"\n" + SEPARATOR + SECOND + b"\n"
        assert raws(box, tmp_path / "a.mbox") == [wrong, SECOND], length


def test_one_content_length_that_swallows_messages_is_not_believed_where_the_others_are_wrong(tmp_path: Path) -> None:
    rest = b"\n" + SEPARATOR + SECOND
    greedy = FIRST.replace(b"\n\n", b"\nContent-Length: %d\n\n" % len(b"Good morning.\n" + rest), 1)
    wrong = FIRST.replace(b"\n\n", b"\nContent-Length: 5\n\n", 1)
    box = b"".join(SEPARATOR + raw + b"\n" for raw in (wrong, wrong, greedy, SECOND, SECOND))
    assert raws(box, tmp_path / "a.mbox") == [wrong, wrong, greedy, SECOND, SECOND]


def test_quoted_replies_show_a_writer_that_leaves_two_marks_alone(tmp_path: Path) -> None:
    message = FIRST + b">>I said\n>>From the start\n>>it was so.\n" * 4 + b">From here\n"
    assert raws(SEPARATOR + message, tmp_path / "a.mbox") == [message.replace(b"\n>From here", b"\nFrom here")]
    rd = message.replace(b">>From", b">>>From")
    assert raws(SEPARATOR + rd, tmp_path / "a.mbox") == [message.replace(b"\n>From here", b"\nFrom here")]


def test_a_file_that_quotes_nothing_keeps_its_marks(tmp_path: Path) -> None:
    message = FIRST + b"\nFrom here on\n\nFrom there\n\n>From me\n"
    assert raws(SEPARATOR + message, tmp_path / "a.mbox") == [message]


def test_keys_are_path_and_offset_and_flags_are_left_to_the_message(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    path.write_bytes(SEPARATOR + FIRST + b"\n" + SEPARATOR + SECOND)
    first, second = entries(path)
    assert [first.key, second.key] == [f"{path.as_posix()}#0", f"{path.as_posix()}#{len(SEPARATOR + FIRST) + 1}"]
    assert (first.mailbox, first.flags, first.labels) == ("box", frozenset(), ())
    assert second.consumed == path.stat().st_size == MboxSource(path, "box").size
    assert first.fingerprint != second.fingerprint


def test_a_start_reads_from_there(tmp_path: Path) -> None:
    box = SEPARATOR + FIRST + b"\n" + SEPARATOR + SECOND
    assert raws(box, tmp_path / "a.mbox", start=len(SEPARATOR + FIRST) + 1) == [SECOND]


def going_on(path: Path, before: list[Entry]) -> list[tuple[str, bytes]]:
    cursors = {(entry.mailbox, entry.cursor[0]): entry.cursor[1] for entry in before if entry.cursor}
    found = list(MboxSource(path, "box").entries(cursors))
    return [(entry.key.rpartition("#")[2], entry.load()) for entry in found if isinstance(entry, Entry)]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_an_mbox_that_grew_reads_its_new_end_alone(tmp_path: Path, pack: type[bytes]) -> None:
    path = tmp_path / "a.mbox"
    old = (SEPARATOR + FIRST + b"\n") * 3
    path.write_bytes(pack(old))
    before = entries(path)
    assert going_on(path, before) == []
    path.write_bytes(pack(old + SEPARATOR + SECOND + b"\n"))
    assert going_on(path, before) == [(str(len(old)), SECOND)]


def test_an_mbox_read_while_its_last_message_was_written_reads_that_again(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    start = len(SEPARATOR + FIRST) + 1
    for stop in range(start + len(SEPARATOR), start + len(SEPARATOR + SECOND) + 1):
        path.write_bytes((SEPARATOR + FIRST + b"\n" + SEPARATOR + SECOND)[:stop])
        before = entries(path)
        path.write_bytes(SEPARATOR + FIRST + b"\n" + SEPARATOR + SECOND + b"\n" + SEPARATOR + FIRST + b"\n")
        assert going_on(path, before)[-2:] == [(str(start), SECOND), (str(start + len(SEPARATOR + SECOND) + 1), FIRST)]


def test_an_mbox_that_was_rewritten_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    path.write_bytes(SEPARATOR + FIRST + b"\n" + SEPARATOR + SECOND + b"\n")
    before = entries(path)
    for now in (SEPARATOR + SECOND + b"\n", (SEPARATOR + FIRST + b"\n") * 4):
        path.write_bytes(now)
        assert [raw for _, raw in going_on(path, before)] == [
            raw for raw in (FIRST, SECOND) for _ in range(now.count(raw))
        ]
    path.write_bytes(SEPARATOR + FIRST)
    assert [entry.load() for entry in MboxSource(path, "box").entries({path.as_posix(): "from another version"})] == [
        FIRST
    ]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compression_is_read_through_whatever_the_name(tmp_path: Path, pack: type[bytes]) -> None:
    path = tmp_path / "a.mbox"
    path.write_bytes(pack(SEPARATOR + FIRST + b"\n") + pack(SEPARATOR + SECOND))
    found = entries(path)
    assert [entry.load() for entry in found] == [FIRST, SECOND]
    assert found[-1].consumed == path.stat().st_size


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_damaged_compression_is_a_failure_and_what_came_before_it_stays(tmp_path: Path, pack: type[bytes]) -> None:
    path = tmp_path / "a.mbox.gz"
    large = FIRST + os.urandom(2_000_000).replace(b"\n", b"").replace(b"\r", b"") + b"\n"
    packed = pack(SEPARATOR + FIRST + b"\n" + SEPARATOR + large + b"\n" + SEPARATOR + SECOND)
    path.write_bytes(packed[: len(packed) * 3 // 4])
    first, failure = MboxSource(path, "box").entries()
    assert isinstance(first, Entry)
    assert first.load() == FIRST
    assert isinstance(failure, Failure)
    assert failure.key == f"{path.as_posix()}#{len(SEPARATOR + FIRST) + 1}"
    assert "damaged or cut short" in failure.error


def test_a_message_beyond_all_measure_is_listed_and_the_rest_read() -> None:
    huge = FIRST + b"\n".join([b"x" * 70] * 100_000) + b"\n"
    data = SEPARATOR + SECOND + b"\n" + SEPARATOR + huge + b"\n" + SEPARATOR + SECOND
    spans = list(Splitter(io.BytesIO(data).read, Dialect(), limit=5_000_000))
    assert [span.raw for span in spans] == [SECOND, None, SECOND]
    assert [span.start for span in spans] == [0, len(SEPARATOR + SECOND) + 1, len(data) - len(SEPARATOR + SECOND)]


def test_a_large_file_of_small_messages_is_held_a_few_blocks_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "large.mbox"
    message = FIRST + b"Good morning. " * 1000 + b"\n"
    with path.open("wb") as file:
        for _ in range(4000):
            file.write(SEPARATOR + message + b"\n")
    tracemalloc.start()
    count = sum(
        len(entry.load()) == len(message) for entry in MboxSource(path, "box").entries() if isinstance(entry, Entry)
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 4000
    assert peak < 20_000_000 < path.stat().st_size


def test_a_file_that_is_no_mbox_any_more_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    path.write_bytes(b"Good morning.\n")
    (failure,) = MboxSource(path, "box").entries()
    assert isinstance(failure, Failure)
    assert "no longer an mbox" in failure.error
    path.unlink()
    (failure,) = MboxSource(path, "box").entries()
    assert isinstance(failure, Failure)
    assert failure.error == "No such file or directory"


def test_a_message_as_long_as_it_says_had_nothing_quoted() -> None:
    raw = b"From: a\nContent-Length: 13\n\n>From b\nGood.\n"
    assert restore(raw.replace(b"13", b"14"), "mboxrd") == raw.replace(b"13", b"14")
    assert restore(raw, "mboxrd") == raw.replace(b">From", b"From")


def test_restoring_leaves_header_fields_and_spaced_quotes_alone() -> None:
    raw = b"From: a\nX-From: b\n\n> From c\n From d\n>From\n>From e\n"
    assert restore(raw, "mboxrd") == raw.replace(b">From e", b"From e")


@pytest.mark.parametrize(
    ("name", "count"),
    [("spamassassin/easy-ham-1.mbox", 2500), ("spamassassin/spam-1.mbox", 500), ("linux-man/2019.mbox", 811)],
)
def test_real_mboxes_split_as_the_standard_library_splits_them(name: str, count: int) -> None:
    path = DATA / "real" / name
    if not path.exists():
        pytest.skip("the sample mail ../shared/data/real is not here")
    source = detect(path)
    ours = [entry.load() for entry in source.entries() if isinstance(entry, Entry)]
    box = mailbox.mbox(path, create=False)
    theirs = [restore(box.get_bytes(key), "mboxrd") for key in box.iterkeys()]
    assert len(ours) == count
    assert ours == theirs
