"""Chunks: nothing said is dropped, nothing is too long for the model, and the same words are the same chunk."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import chunks
from ingest.chunks import LIMIT, TARGET, Chunk, chunk, content_hash, estimate_tokens, headers_chunk
from ingest.sections import Section, section

SENTENCE = "The kettle was on before anyone had asked for tea. "


def cut(text: str, **options: bool) -> list[Chunk]:
    return chunk(text, section(text), **options)


def texts(text: str, **options: bool) -> list[tuple[str, int, str]]:
    return [(piece.section, piece.position, piece.text) for piece in cut(text, **options)]


def test_a_short_message_is_one_chunk_as_it_was_written() -> None:
    text = "\n\nHi Bo,\n\nthe tea is\ngone.  \n\n  Ann\n\n"
    assert texts(text) == [("authored", 0, "Hi Bo,\n\nthe tea is\ngone.  \n\n  Ann")]


def test_long_paragraphs_are_cut_at_sentences() -> None:
    found = cut(SENTENCE * 40)
    assert len(found) == 7
    assert all(piece.text.startswith("The kettle") and piece.text.endswith("tea.") for piece in found)
    assert all(TARGET / 2 < estimate_tokens(piece.text) <= chunks.JOIN for piece in found)


def test_paragraphs_are_cut_before_sentences() -> None:
    paragraph = SENTENCE * 6
    assert [piece.text for piece in cut(f"{paragraph}\n\n{paragraph}\n \n{paragraph}")] == [paragraph.strip()] * 3


def test_a_short_greeting_goes_with_what_follows() -> None:
    paragraph = (SENTENCE * 6).strip()
    assert [piece.text for piece in cut(f"Hi Bo,\n\n{paragraph}\n\n{paragraph}\n\nAnn")] == [
        f"Hi Bo,\n\n{paragraph}",
        f"{paragraph}\n\nAnn",
    ]


def test_answers_between_quotes_are_joined_and_quotes_left_out() -> None:
    assert texts("> Tea?\n\nYes.\n\n> Milk?\n\nNo.\n") == [("authored", 0, "Yes.\n\nNo.")]


def test_quotes_are_given_when_asked_for_or_all_there_is() -> None:
    text = "Yes.\n\n> Tea\n> for two?\n>\n>> Or three?\n"
    quote = ("quoted", 0, "Tea\nfor two?\n\nOr three?")
    assert texts(text, quoted=True) == [("authored", 0, "Yes."), quote]
    assert texts(text) == [("authored", 0, "Yes.")]
    assert texts(text[6:]) == [quote]
    assert texts(text[6:], quoted=False) == []


def test_forwards_are_chunked_beside_ones_own_words() -> None:
    text = "FYI\n\n---------- Forwarded message ---------\nFrom: Ann <ann@example.org>\nSubject: Tea\n\nIt is gone.\n"
    found = texts(text)
    assert [(kind, position) for kind, position, _ in found] == [("authored", 0), ("forwarded", 0)]
    assert found[1][2].endswith("It is gone.")


def test_signatures_and_notices_are_not_chunked() -> None:
    assert texts("Yes.\n\n-- \nBo\nThe kitchen\n") == [("authored", 0, "Yes.")]


def test_nothing_said_gives_no_chunk() -> None:
    assert cut("") == cut(" \n\n\t\n") == cut("Sent from my iPhone\n") == []


def test_the_same_words_have_the_same_hash_however_they_are_wrapped_or_quoted() -> None:
    own = cut("The tea is gone.\nWho had it?")[0]
    quoted = cut("> The tea is\n> gone. Who had it?\n")[0]
    assert own.content_hash == quoted.content_hash == content_hash("The tea is gone. Who had it?")
    assert len(own.content_hash) == 32
    assert own.content_hash != content_hash("The tea is gone. Who had it")


@pytest.mark.parametrize(
    "text",
    [
        "x" * 5_000,
        "word " * 5_000,
        "no-break\u00a0space" * 800,
        "A/very+long=unbroken" * 400,
        "これは句点のない長い文章です" * 300,
        "これは短い文です。" * 300,
        "긴문장입니다" * 500,
        "Длинноеслово" * 500,
        "😀" * 2_000,
        "!" * 3_000,
        "\n".join(f"+    if (x[{n}] == {n}) {{ y->z = {n}; }}" for n in range(300)),
        "\n".join("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZn" for _ in range(100)),
    ],
)
def test_no_chunk_is_longer_than_the_model_reads(text: str) -> None:
    found = chunk(text, [Section("authored", 0, len(text), "authored")])
    assert max(estimate_tokens(piece.text) for piece in found) <= LIMIT + 1
    assert "".join("".join(piece.text for piece in found).split()) == "".join(text.split())


def test_code_is_cut_between_lines() -> None:
    code = "\n".join(f"    value_{n} = compute(value_{n - 1}, {n})" for n in range(60))
    for piece in cut(f"Try:\n\n{code}\n"):
        assert all(line.lstrip().startswith(("Try", "value_")) for line in piece.text.splitlines() if line)


WORDS = st.one_of(
    st.sampled_from(
        [
            SENTENCE,
            "> quoted",
            "",
            "Short.",
            "- an item",
            "x" * 300,
            "これは日本語です。",
            "  indented",
            "\u2003",
            "\x1f",
        ]
    ),
    st.text(max_size=60),
)


@given(st.lists(WORDS, max_size=60), st.sampled_from(["\n", "\n\n", " "]))
@settings(max_examples=300, deadline=None)
def test_every_authored_character_is_in_a_chunk_in_order(several: list[str], between: str) -> None:
    text = between.join(several)
    found = section(text)
    written = "".join(text[part.start : part.stop] for part in found if part.section == "authored")
    pieces = [piece for piece in chunk(text, found) if piece.section == "authored"]
    assert "".join("".join(piece.text for piece in pieces).split()) == "".join(written.split())


@given(st.lists(WORDS, max_size=60).map("\n".join), st.booleans())
@settings(max_examples=200, deadline=None)
def test_chunks_are_trimmed_numbered_hashed_and_bounded(text: str, quoted: bool) -> None:
    found = cut(text, quoted=quoted)
    for kind in ("authored", "forwarded", "quoted"):
        of_kind = [piece for piece in found if piece.section == kind]
        assert [piece.position for piece in of_kind] == list(range(len(of_kind)))
    for piece in found:
        assert piece.text == piece.text.strip() != ""
        assert piece.content_hash == content_hash(piece.text)
        assert estimate_tokens(piece.text) <= LIMIT + 1


def test_a_message_without_text_is_found_by_its_headers() -> None:
    found = headers_chunk(" Tea  party ", ["Ann Lee ann@example.org", "", "Bo"], ["cups.pdf"])
    assert (found.section, found.position, found.text) == (
        "headers",
        0,
        "Tea party\nAnn Lee ann@example.org, Bo\ncups.pdf",
    )
    assert headers_chunk(None, [], []).text == ""


def test_work_grows_no_faster_than_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts characters that are estimated: the step that every cut goes through."""
    real, seen = chunks.estimate_tokens, 0

    def counting(text: str) -> float:
        nonlocal seen
        seen += len(text)
        return real(text)

    monkeypatch.setattr(chunks, "estimate_tokens", counting)
    for unit in ("x", "word ", SENTENCE, SENTENCE + "\n\n", "line\n", "。", "a. "):
        counts = []
        for times in (1_000, 10_000):
            seen = 0
            text = unit * times
            chunk(text, [Section("authored", 0, len(text), "authored")])
            counts.append(seen)
        assert counts[1] <= 12 * counts[0]


def test_ten_million_characters_on_one_line() -> None:
    text = "word " * 2_000_000
    found = chunk(text, [Section("authored", 0, len(text), "authored")])
    assert sum(piece.text.count("word") for piece in found) == 2_000_000
