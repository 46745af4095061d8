"""Texts packed with their raw message come out as they went in, and what is damaged is told, not shown."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import ingest, mail, mbox, rows

from datasette_oaken import stored
from datasette_oaken.messages import message
from ingest.repair import repair


@given(st.text(st.characters(exclude_categories=["Cs"])), st.binary(max_size=100_000), st.booleans())
def test_any_text_comes_out_as_it_went_in(text: str, raw: bytes, within: bool) -> None:
    raw = raw + text.encode() if within else raw
    assert stored.unpack_text("raw", stored.pack_text(text, raw), raw) == text
    assert stored.unpack_text("zlib", zlib.compress(text.encode()), raw) == text
    assert stored.unpack_raw(*stored.pack_raw(raw)) == raw
    assert stored.beginning(*stored.pack_raw(raw)) == raw[: stored.WINDOW]


def test_a_text_with_another_raw_message_or_cut_short_is_damaged() -> None:
    raw = b"Subject: x\n\nThe boiler is cold.\n" * 3
    packed = stored.pack_text("The boiler is cold.\n", raw)
    for wrong, of in ((packed, raw[1:]), (packed[:-3], raw), (b"", raw), (packed, b"")):
        with pytest.raises(zlib.error):
            stored.unpack_text("raw", wrong, of)


def test_a_text_in_a_message_takes_little_beside_it(tmp_path: Path) -> None:
    text = "".join(f"Line {n} of a letter that says {n * 7919 % 1000} things.\n" for n in range(300))
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", [mail(text)]))
    assert message(conn, 1)["text"] == text.rstrip("\n")  # type: ignore[index]
    ((size, codec),) = rows(conn, "select length(text), codec from message_texts")
    assert (codec, size < len(text) / 50) == ("raw", True)


def test_texts_of_an_older_file_are_read_and_packed_anew_by_repair(
    tmp_path: Path,
) -> None:
    conn, _ = ingest(tmp_path / "o.db", mbox(tmp_path / "a.mbox", [mail()]))
    new = rows(conn, "select text, codec from message_texts")
    conn.execute("update message_texts set codec = 'zlib', text = ?", (zlib.compress(b"The key is under the mat."),))
    assert message(conn, 1)["text"] == "The key is under the mat."  # type: ignore[index]
    assert repair(conn, tmp_path / "o.db", sections=True, quiet=True)["sections"] == 0
    assert rows(conn, "select text, codec from message_texts") == new
