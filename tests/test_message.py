"""One message read whole: its header fields, its people, its body as a mail client would show it."""

from __future__ import annotations

import pytest

from ingest.message import Message, parse_message, unflow

WHOLE = """\
Return-Path: <ada@example.org>
Received: from a.example by b.example; Tue, 3 Mar 2020 10:00:00 +0000
Message-ID: <3@example.org>
References: <1@example.org> <2@example.org>
In-Reply-To: <2@example.org>
From: =?utf-8?q?Ad=C3=A4_Byron?= <ada@example.org>
To: Bob <bob@example.org>, carol@example.org
Cc: Family: dan@example.org;
Bcc: Eve <eve@example.org>
Reply-To: tea@example.org
Subject: =?utf-8?q?Tea_at?=
 =?utf-8?q?_four?=
Date: Tue, 3 Mar 2020 09:58:00 +0100
X-Gmail-Labels: Inbox,"Tea, cake",=?utf-8?q?Wichtig=C3=A4?=
Importance: High
Status: RO
X-Status: AF
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=cut

--cut
Content-Type: text/plain; charset=utf-8

Come in.
--cut
Content-Type: text/csv; name=guests.csv

a,b
--cut--
"""


def body(text: str, header: str = "Content-Type: text/plain; charset=utf-8") -> str:
    return parse_message(f"{header}\n\n{text}".encode()).text


def test_every_field_of_a_message_is_read():
    message = parse_message(WHOLE.encode())
    (attachment,) = message.attachments
    message.attachments = []
    assert (attachment.part, attachment.filename, attachment.content_type, attachment.size) == (
        2,
        "guests.csv",
        "text/csv",
        3,
    )
    assert message == Message(
        internet_message_id="<3@example.org>",
        references=["<1@example.org>", "<2@example.org>"],
        subject="Tea at four",
        from_name="Adä Byron",
        from_address="ada@example.org",
        recipients=[
            ("to", "Bob", "bob@example.org"),
            ("to", None, "carol@example.org"),
            ("cc", None, "dan@example.org"),
            ("bcc", "Eve", "eve@example.org"),
            ("reply-to", None, "tea@example.org"),
        ],
        sent_at="2020-03-03T08:58:00Z",
        text="Come in.",
        labels=["Inbox", "Tea, cake", "Wichtigä"],
        priority=2,
        flags={"seen", "answered", "flagged"},
    )


def test_nothing_at_all_is_a_message_without_anything():
    assert parse_message(b"") == Message()


def test_line_ends_make_no_difference():
    message = parse_message(WHOLE.encode())
    assert parse_message(WHOLE.replace("\n", "\r\n").encode()) == message
    assert parse_message(b"\n\n" + WHOLE.encode()) == message


# ---- identity and threading


@pytest.mark.parametrize(
    ("header", "identity"),
    [
        ("Message-ID: <a@b>", "<a@b>"),
        ("message-id:<a@b>", "<a@b>"),
        ("Message-ID: a@b", "<a@b>"),
        ("Message-ID: <a\n b@c>", "<ab@c>"),
        ("Message-ID: <a@b> (added by a server)", "<a@b>"),
        ("Message-ID:\nMessage-ID: <a@b>", "<a@b>"),
        ("Message-ID: <>", None),
        ("Message-ID: ", None),
    ],
)
def test_message_ids_are_read_as_mailers_write_them(header: str, identity: str | None):
    assert parse_message(f"{header}\n\nx".encode()).internet_message_id == identity


@pytest.mark.parametrize(
    ("header", "references"),
    [
        ("References: <1@x><2@x>\n\t<3@x>", ["<1@x>", "<2@x>", "<3@x>"]),
        ("References: <1@x> <2@x> <1@x>", ["<1@x>", "<2@x>"]),
        ("References: 1@x 2@x", ["<1@x>", "<2@x>"]),
        ("References: <1@x>\nIn-Reply-To: <2@x>", ["<1@x>", "<2@x>"]),
        ("In-Reply-To: Your message of Sunday <2@x>", ["<2@x>"]),
        ("In-Reply-To: Ada <ada@example.org>'s message <2@x>", ["<2@x>"]),
        ("In-Reply-To: Your message of Sunday", []),
        ("In-Reply-To: 2@x", ["<2@x>"]),
        ("References: <> <\n>", []),
        ("References: <1@\n x>", ["<1@x>"]),
    ],
)
def test_references_are_unique_and_oldest_first(header: str, references: list[str]):
    assert parse_message(f"{header}\n\nx".encode()).references == references


# ---- who


@pytest.mark.parametrize(
    ("header", "author"),
    [
        ("From: Ada <ada@example.org>", ("Ada", "ada@example.org")),
        ("From: Ada\nSender: bob@example.org", ("Ada", None)),
        ("From: Ada, bob@example.org", (None, "bob@example.org")),
        ("Sender: Bob <bob@example.org>", ("Bob", "bob@example.org")),
        ("From: \nReturn-Path: <ada@example.org>", (None, "ada@example.org")),
        ("From: ada@example.org, bob@example.org", (None, "ada@example.org")),
        ("From: Ada", ("Ada", None)),
        ("From: <>", (None, None)),
        ("Subject: x", (None, None)),
    ],
)
def test_the_author_is_whom_the_message_names_first(header: str, author: tuple[str | None, str | None]):
    message = parse_message(f"{header}\n\nx".encode())
    assert (message.from_name, message.from_address) == author


def test_raw_letters_in_headers_are_read_by_utf8_or_the_bodys_charset():
    assert parse_message("Subject: café\n\nx".encode()).subject == "café"
    raw = "Subject: чай\nContent-Type: text/plain; charset=koi8-r\n\nчай".encode("koi8_r")
    assert (parse_message(raw).subject, parse_message(raw).text) == ("чай", "чай")


def test_a_body_without_a_charset_is_read_as_the_subject_is():
    raw = b"Subject: =?koi8-r?b?3sHK?=\n\n" + "чай".encode("koi8_r")
    assert (parse_message(raw).subject, parse_message(raw).text) == ("чай", "чай")


# ---- marks


@pytest.mark.parametrize(
    ("header", "priority"),
    [
        ("X-Priority: 1 (Highest)", 2),
        ("X-Priority: 2", 2),
        ("X-Priority: 3", 0),
        ("Importance: high", 2),
        ("Priority: urgent", 2),
        ("X-MSMail-Priority: High", 2),
        ("Importance: low", 0),
        ("Subject: 1", 0),
    ],
)
def test_the_senders_priority_is_high_or_nothing(header: str, priority: int):
    assert parse_message(f"{header}\n\nx".encode()).priority == priority


@pytest.mark.parametrize(
    ("header", "flags"),
    [
        ("Status: RO", {"seen"}),
        ("Status: O", set()),
        ("X-Status: ATD", {"answered", "draft", "deleted"}),
        ("X-Mozilla-Status: 0005", {"seen", "flagged"}),
        ("X-Mozilla-Status: 1003", {"seen", "answered", "forwarded"}),
        ("X-Mozilla-Status: nonsense", set()),
    ],
)
def test_what_mail_programs_noted_is_read(header: str, flags: set[str]):
    assert parse_message(f"{header}\n\nx".encode()).flags == flags


@pytest.mark.parametrize(
    ("header", "labels"),
    [
        ("X-Gmail-Labels: =?UTF-8?Q?Posteingang,Ge=C3=B6ffnet?=", ["Posteingang", "Geöffnet"]),
        ('X-Gmail-Labels: "a, b",c', ["a, b", "c"]),
        ("X-Gmail-Labels: a,\n b, a", ["a", "b"]),
        ("Keywords: tea, cake time", ["tea", "cake time"]),
        ("X-Keywords: NonJunk tea", ["NonJunk", "tea"]),
        ("X-Keywords:", []),
    ],
)
def test_labels_are_read_from_every_store(header: str, labels: list[str]):
    assert parse_message(f"{header}\n\nx".encode()).labels == labels


# ---- the body


def test_html_alone_becomes_text_and_says_so():
    message = parse_message(b"Content-Type: text/html\n\n<p>Tea at <b>four</b>.</p>")
    assert (message.text, message.from_html) == ("Tea at four.", True)


def test_html_that_goes_for_plain_text_is_read_as_html():
    message = parse_message(b"Content-Type: text/plain\n\n<html><body><p>Tea</p></body></html>")
    assert (message.text, message.from_html) == ("Tea", True)


def test_html_states_its_own_charset():
    raw = (
        b'Content-Type: text/html\n\n<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">'
        + "чай".encode("koi8_r")
    )
    assert parse_message(raw).text == "чай"


def test_enriched_text_loses_its_commands():
    assert body("<bold>Tea</bold> at <italic>four</italic>", "Content-Type: text/enriched") == "Tea at four"


def test_inline_texts_are_joined_and_nested_messages_come_last_introduced():
    raw = b"""Content-Type: multipart/mixed; boundary=cut

--cut

See below.
--cut
Content-Type: message/rfc822

From: Ada <ada@example.org>
To: bob@example.org
Subject: =?utf-8?q?T=C3=A9a?=
Date: Tue, 3 Mar 2020 09:58:00 +0100
Content-Type: text/html

<p>At four.</p>
--cut

The list's footer.
--cut--
"""
    message = parse_message(raw)
    assert message.text == (
        "See below.\n\nThe list's footer.\n\n---------- Forwarded message ---------\nFrom: Ada <ada@example.org>\n"
        "Date: Tue, 3 Mar 2020 09:58:00 +0100\nSubject: Téa\nTo: bob@example.org\n\nAt four."
    )
    assert message.from_html is False
    assert [(one.part, one.content_type) for one in message.attachments] == [(2, "message/rfc822")]


def test_a_file_in_a_forwarded_message_is_listed():
    raw = (
        b"Content-Type: message/rfc822\n\nContent-Type: multipart/mixed; boundary=cut\n\n"
        b"--cut\n\nwords\n--cut\nContent-Type: application/pdf; name=plan.pdf\n\n%PDF\n--cut--\n"
    )
    assert [(one.part, one.filename) for one in parse_message(raw).attachments] == [(3, "plan.pdf")]


@pytest.mark.parametrize(
    ("flowed", "text"),
    [
        ("One long \nparagraph.\nAnother.", "One long paragraph.\nAnother."),
        ("> quoted \n> words\nmine", "> quoted words\nmine"),
        (">> deep \n> less", "> > deep \n> less"),
        (" >stuffed\n From here", ">stuffed\nFrom here"),
        ("words \n-- \nAda", "words \n-- \nAda"),
        ("> words\n> -- \n> Ada", "> words\n> -- \n> Ada"),
        ("ends flowed ", "ends flowed "),
        ("", ""),
    ],
)
def test_flowed_text_is_joined_as_rfc_3676_says(flowed: str, text: str):
    assert unflow(flowed) == text


def test_delsp_joins_words_that_were_cut():
    assert unflow("日本 \n語 \nです", delsp=True) == "日本語です"
    assert body("日本 \n語", 'Content-Type: text/plain; charset=utf-8; format="flowed"; DelSp=Yes') == "日本語"


def test_fixed_text_keeps_its_lines():
    assert body("One long \nparagraph.") == "One long \nparagraph."
