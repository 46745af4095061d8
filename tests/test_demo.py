"""The demo mailbox: the same bytes from the same seed, sound as mail, true to what it says it holds."""

import email
import email.policy
import hashlib
import mailbox
import os
import re
import subprocess
import sys
from collections import Counter
from email.message import EmailMessage, Message
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import ingest

from datasette_oaken import counts, questions
from ingest import demo
from ingest.demo import asked
from ingest.demo.plays import scenes
from ingest.demo.stories import PLAYS

SHA256_OF_SEED_1 = "a897206e5bf5a6b3be4033ffa50b464b3beafc2cc1d5add64fc1cab1ffd66c9e"

MESSAGES = list(demo.messages())
FACTS = [fact for fact in demo.facts() if fact.message_ids]
BY_ID = {message.internet_message_id: message for message in MESSAGES}
STOP_WORDS = {
    "a",
    "about",
    "above",
    "after",
    "all",
    "am",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "been",
    "before",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "for",
    "from",
    "get",
    "go",
    "got",
    "had",
    "has",
    "have",
    "he",
    "her",
    "here",
    "him",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "me",
    "must",
    "my",
    "no",
    "not",
    "of",
    "off",
    "on",
    "one",
    "or",
    "our",
    "out",
    "over",
    "s",
    "she",
    "should",
    "so",
    "some",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "they",
    "this",
    "to",
    "too",
    "under",
    "until",
    "up",
    "us",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "whom",
    "whose",
    "will",
    "with",
    "would",
    "you",
    "your",
    "long",
    "much",
    "big",
    "many",
    "away",
    "back",
    "now",
    "t",
    "ve",
    "ll",
    "re",
    "d",
    "m",
}


@cache
def read(message: demo.DemoMessage) -> EmailMessage:
    """The message as the standard library's modern policy reads it: slow, so once."""
    parsed = email.message_from_bytes(message.raw, policy=email.policy.default)
    assert isinstance(parsed, EmailMessage)
    return parsed


def digest(messages: list[demo.DemoMessage]) -> str:
    whole = hashlib.sha256()
    for message in messages:
        whole.update(message.mailbox.encode() + b"\0" + ",".join(sorted(message.flags)).encode() + b"\0" + message.raw)
    return whole.hexdigest()


def stems(text: str) -> set[str]:
    """Content words, cut roughly to their stems."""
    found = set()
    for word in re.findall(r"[^\W_]+", text.lower()):
        if word not in STOP_WORDS:
            for ending in ("ings", "ing", "ies", "ied", "ers", "er", "es", "ed", "s", "y", "e"):
                if word.endswith(ending) and len(word) - len(ending) >= 3:
                    word = word[: -len(ending)]
                    break
            found.add(word)
    return found


def test_one_seed_gives_the_same_bytes_on_every_machine_and_python() -> None:
    assert digest(MESSAGES) == SHA256_OF_SEED_1


def test_bytes_do_not_hang_on_the_hash_seed_or_the_time_zone() -> None:
    code = (
        "import hashlib; from ingest import demo\n"
        "print(hashlib.sha256(b''.join(m.raw for m in demo.messages())).hexdigest())"
    )
    here = hashlib.sha256(b"".join(m.raw for m in MESSAGES)).hexdigest()
    surroundings = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu"}
    out = subprocess.run([sys.executable, "-c", code], env=surroundings, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == here


def test_another_seed_gives_another_mailbox() -> None:
    assert digest(list(demo.messages(2))) != SHA256_OF_SEED_1


def test_about_a_thousand_messages_over_eight_years_in_order() -> None:
    assert 950 <= len(MESSAGES) <= 1100
    assert [m.when for m in MESSAGES] == sorted(m.when for m in MESSAGES)
    years = Counter(m.when.year for m in MESSAGES)
    assert sorted(years) == list(range(2018, 2026))
    assert min(years.values()) >= 80
    assert set(Counter(m.mailbox for m in MESSAGES)) == {"INBOX", "Sent", "Archive"}


def test_no_two_messages_share_an_id() -> None:
    assert len(BY_ID) == len(MESSAGES)


def test_a_reply_comes_after_what_it_answers_and_names_its_whole_thread() -> None:
    seen: set[str] = set()
    replies = 0
    for message in MESSAGES:
        parsed = email.message_from_bytes(message.raw)
        answered = parsed["In-Reply-To"]
        if answered:
            replies += 1
            references = parsed["References"].split()
            assert references[-1] == answered
            assert set(references) <= seen, message.subject
        seen.add(message.internet_message_id)
    assert replies > 350


def test_every_message_is_read_without_defects() -> None:
    assert [defect for message in MESSAGES for defect in defects(read(message))] == []


@settings(max_examples=4, deadline=None)
@given(st.integers())
def test_any_seed_makes_sound_mail(seed: int) -> None:
    messages = list(demo.messages(seed))
    assert [d for message in messages for d in defects(email.message_from_bytes(message.raw))] == []
    assert len({m.internet_message_id for m in messages}) == len(messages)


def defects(message: Message) -> list[object]:
    found: list[object] = []
    for part in message.walk():
        found += part.defects
        found += [defect for value in part.values() for defect in getattr(value, "defects", ())]
        if part.get_content_maintype() == "text":
            payload = part.get_payload(decode=True)
            assert isinstance(payload, bytes)
            payload.decode(part.get_content_charset("us-ascii"))
    return found


def test_headers_and_lines_keep_to_the_lengths_of_rfc_5322() -> None:
    for message in MESSAGES:
        assert max(map(len, message.raw.split(b"\n"))) <= 998
        assert b"\r" not in message.raw and message.raw.endswith(b"\n")
        head = message.raw.partition(b"\n\n")[0]
        assert head.isascii()


def test_headers_say_what_the_demo_says_of_the_message() -> None:
    for message in MESSAGES:
        parsed = read(message)
        assert parsed["Message-ID"] == message.internet_message_id
        assert parsed["Subject"] == message.subject
        assert parsedate_to_datetime(str(parsed["Date"])) == message.when
        assert parsed["From"].addresses[0].addr_spec == message.from_address


def test_what_the_writer_wrote_stands_in_the_body() -> None:
    for message in MESSAGES:
        if message.client:
            body = read(message).get_body(("plain",))
            shown = "".join(body.get_content().split())
            assert [p for p in message.authored.split("\n\n") if "".join(p.split()) not in shown] == []


def test_addresses_and_numbers_are_those_set_aside_for_fiction() -> None:
    for message in MESSAGES:
        parsed = read(message)
        texts = [message.raw.partition(b"\n\n")[0].decode("ascii")]
        texts += [str(p.get_content()) for p in parsed.walk() if p.get_content_maintype() == "text"]
        hosts = {host for text in texts for host in re.findall(r"@([a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+)", text)}
        assert {host for host in hosts if not re.search(r"(^|\.)example\.(org|com|net)$", host)} == set()


def test_every_kind_of_mail_is_there() -> None:
    clients = Counter(m.client for m in MESSAGES)
    assert set(clients) == {
        *("gmail", "gmail-ja", "outlook", "outlook-html", "owa", "apple", "apple-de", "phone", "thunderbird"),
        *("thunderbird-de", "yahoo", "mutt", "webmail-ko", ""),
    }
    kinds: Counter[str] = Counter()
    for message in MESSAGES:
        parsed = email.message_from_bytes(message.raw)
        kinds["encoded subject"] += b"\nSubject: =?" in message.raw
        kinds["html only"] += parsed.get_content_type() == "text/html"
        kinds["list"] += "List-Id" in parsed and "X-Mailman-Version" in parsed
        kinds["forwarded"] += message.subject.startswith("Fwd: ")
        for part in parsed.walk():
            kinds[part.get_content_type()] += 1
            kinds[str(part.get_content_charset()).lower()] += 1
            kinds[str(part["Content-Transfer-Encoding"])] += 1
            kinds["format=flowed"] += part.get_param("format") == "flowed"
    for kind in (
        *(
            "html only",
            "encoded subject",
            "list",
            "forwarded",
            "format=flowed",
            "multipart/alternative",
            "multipart/mixed",
        ),
        *("application/pdf", "image/png", "text/csv", "text/calendar", "quoted-printable", "base64", "8bit", "7bit"),
        *("iso-2022-jp", "euc-kr", "iso-8859-15", "iso-8859-1", "windows-1252", "utf-8"),
    ):
        assert kinds[kind] >= 3, kind


def test_attachments_open() -> None:
    for message in MESSAGES:
        for part in email.message_from_bytes(message.raw).walk():
            data = part.get_payload(decode=True)
            if part.get_content_type() == "image/png":
                assert data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")
            if part.get_content_type() == "application/pdf":
                table = int(re.search(rb"startxref\n(\d+)\n%%EOF", data)[1])  # type: ignore[index]
                assert data[table:].startswith(b"xref\n0 6\n")
                for offset in re.findall(rb"(\d{10}) 00000 n", data):
                    assert re.match(rb"\d 0 obj", data[int(offset) :])


def test_one_asking_paragraph_is_quoted_by_many_but_written_once() -> None:
    passage = "Could Ivy be with me and Marek from Friday 22 December"
    holders = [m for m in MESSAGES if passage in m.authored]
    quoting = [m for m in MESSAGES if m.client and passage in " ".join(re.sub(r"(?m)^[> ]+", "", plain(m)).split())]
    assert len(holders) == 1
    assert len(quoting) >= 12


def plain(message: demo.DemoMessage) -> str:
    return str(read(message).get_body(("plain",)).get_content())


def test_every_fact_stands_in_the_mail_and_is_asked_in_every_way() -> None:
    assert len(FACTS) >= 30
    assert len({fact.id for fact in demo.facts()}) == len(demo.facts())
    for fact in FACTS:
        assert set(fact.message_ids) <= set(BY_ID)
        assert {"identifier", "words", "paraphrase", "filter"} <= {question.kind for question in fact.questions}
        for question in fact.questions:
            assert question.message_ids and set(question.message_ids) <= set(fact.message_ids)
    assert sum(len(f.message_ids) == 2 for f in FACTS) >= 3


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.id)
def test_questions_share_with_the_message_what_their_kind_says(fact: demo.Fact) -> None:
    for question in fact.questions:
        said = [stems(f"{BY_ID[i].subject} {BY_ID[i].authored}") for i in question.message_ids]
        if question.kind == "paraphrase":
            assert [stems(question.text) & words for words in said] == [set()] * len(said)
        elif question.kind in ("identifier", "words"):
            assert stems(question.text) <= said[0]
        elif question.kind == "both":
            assert stems(question.text) & said[0]


def test_an_identifier_names_one_message_only() -> None:
    for fact in FACTS:
        asked = next(q for q in fact.questions if q.kind == "identifier")
        token = max(asked.text.split(), key=lambda t: (any(c.isdigit() for c in t), len(t)))
        whole = re.compile(rf"(?<!\w){re.escape(token)}(?!\w)")
        holders = [m.internet_message_id for m in MESSAGES if whole.search(f"{m.subject}\n{m.authored}")]
        first = BY_ID[asked.message_ids[0]]
        answers = [i for i in holders if BY_ID[i].subject.lower().startswith("re: " + first.subject.lower())]
        assert [i for i in holders if i not in answers] == list(asked.message_ids), token


def test_what_the_mail_does_not_say_is_not_in_it() -> None:
    unanswered = [q for fact in demo.facts() for q in fact.questions if q.kind == "unanswered"]
    assert len(unanswered) >= 10
    said = [stems(f"{m.subject} {m.authored}") for m in MESSAGES]
    for question in unanswered:
        assert not question.message_ids
        asked = stems(question.text)
        assert max(len(asked & words) for words in said) < len(asked), question.text


def test_counted_messages_are_by_the_one_who_is_said_to_ask() -> None:
    counts = {count.id: count for count in demo.counts()}
    assert {name: len(count.message_ids) for name, count in counts.items()} == COUNTS
    writers = {name: {BY_ID[i].from_address for i in count.message_ids} for name, count in counts.items()}
    assert writers == {
        "ruth-asks-weekend": {"ruth.ellery@post.example.net"},
        "tom-asks-weekend": {"tom.hallam@mail.example.org"},
        "heating-complaint": {"tom.hallam@mail.example.org"},
    }


COUNTS = {"ruth-asks-weekend": 58, "tom-asks-weekend": 7, "heating-complaint": 6}


def test_an_mbox_splits_back_into_the_same_messages(tmp_path: Path) -> None:
    path = tmp_path / "demo.mbox"
    assert demo.write_mbox(path) == len(MESSAGES)
    blocks = re.split(rb"(?:\A|(?<=\n\n))From [^\n]+ \d{4}\n", path.read_bytes())[1:]
    back = []
    for block in blocks:
        head, _, body = block.removesuffix(b"\n").partition(b"\n\n")
        flags = {"seen"} if re.search(rb"\nStatus: RO(\n|\Z)", head) else set()
        marks = re.search(rb"\nX-Status: (\w+)", head)
        flags |= {{"A": "answered", "F": "flagged"}[chr(mark)] for mark in marks[1]} if marks else set()
        head = re.sub(rb"\n(Status|X-Status): \w+", b"", head)
        back.append((head + b"\n\n" + re.sub(rb"(?m)^>(>*From )", rb"\1", body), flags))
    assert back == [(m.raw, m.flags) for m in MESSAGES]


def test_the_standard_library_finds_as_many_messages_in_the_mbox(tmp_path: Path) -> None:
    path = tmp_path / "demo.mbox"
    demo.write_mbox(path)
    box = mailbox.mbox(path)
    assert [str(m["Message-ID"]) for m in box] == [m.internet_message_id for m in MESSAGES]
    box.close()


def test_an_mbox_of_one_mailbox_holds_that_mailbox_only(tmp_path: Path) -> None:
    path = tmp_path / "sent.mbox"
    sent = [m for m in MESSAGES if m.mailbox == "Sent"]
    assert demo.write_mbox(path, mailbox="Sent") == len(sent)


def test_a_maildir_holds_the_same_bytes_and_flags(tmp_path: Path) -> None:
    assert demo.write_maildir(tmp_path / "mail") == len(MESSAGES)
    letters = {"S": "seen", "R": "answered", "F": "flagged"}
    found = []
    for name, folder in (("INBOX", "."), ("Sent", ".Sent"), ("Archive", ".Archive")):
        for path in (tmp_path / "mail" / folder / "cur").iterdir():
            flags = frozenset(letters[letter] for letter in re.split("[:!]2,", path.name)[1])
            found.append((path.read_bytes(), name, flags))
    assert sorted(found, key=lambda f: f[0]) == sorted(
        ((m.raw, m.mailbox, m.flags) for m in MESSAGES), key=lambda f: f[0]
    )


@pytest.mark.parametrize("topic", PLAYS)
def test_scenes_are_told_whole(topic: str) -> None:
    for scene in scenes(topic):
        assert scene.turns
        for number, turn in enumerate(scene.turns):
            assert turn.paragraphs
            assert turn.parent is None or 1 <= turn.parent <= number


def test_the_demos_count_falls_short_and_its_review_brackets_the_truth(tmp_path: Path) -> None:
    conn, _ = ingest(tmp_path / "demo.db", mbox_of_the_demo(tmp_path))
    asked.ask_one(conn, tmp_path / "demo.db", 1)
    asked.ask_one(conn, tmp_path / "demo.db", 1)  # asked once
    (count,) = [counts.count(conn, question["id"]) for question in questions.all_of(conn)]
    (truth,) = [len(found.message_ids) for found in demo.counts() if found.id == asked.ASKED]
    found = count["estimate"]
    assert (count["eligible"], count["yes"], count["reviewed"], truth) == (182, 27, {"yes": 27, "no": 40}, 58)
    assert (found["low"], found["high"], round(found["point"], 1), found["precision"]) == (49, 84, 65.3, 1.0)
    assert found["low"] <= truth <= found["high"]


def mbox_of_the_demo(folder: Path) -> Path:
    demo.write_mbox(folder / "demo.mbox")
    return folder / "demo.mbox"
