"""Whatever the bytes, there is a message: nothing raises, nothing hangs, and what comes out can be stored."""

from __future__ import annotations

import mailbox
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.message import Message, parse_message, part_bytes

DATA = Path(__file__).resolve().parents[1].parent / "shared/data"

REAL = """\
Received: from a.example by b.example; Tue, 3 Mar 2020 10:00:00 +0000
Message-ID: <3@example.org>
References: <1@example.org> <2@example.org>
From: =?utf-8?q?Ad=C3=A4_Byron?= <ada@example.org>
To: Bob <bob@example.org>, Family: dan@example.org;
Subject: =?utf-8?q?Tea_at?=
 =?utf-8?q?_four?=
Date: Tue, 3 Mar 2020 09:58:00 +0100
X-Gmail-Labels: Inbox,"Tea, cake"
Content-Type: multipart/mixed; boundary=cut

--cut
Content-Type: multipart/alternative; boundary=in

--in
Content-Type: text/plain; charset=utf-8; format=flowed

Come \nin.
--in
Content-Type: text/html
Content-Transfer-Encoding: quoted-printable

<p style=3D"color:red">Come in.</p>
--in--
--cut
Content-Type: message/rfc822

Subject: inside

begin 644 a
#=&5A
`
end
--cut
Content-Type: text/csv; name*=utf-8''g%C3%A4ste.csv
Content-Transfer-Encoding: base64

YSxi
--cut--
"""

WORD = st.sampled_from(
    [
        b"Subject: ",
        b"From: ",
        b"Date: ",
        b"To: ",
        b"Content-Type: text/html\n",
        b"Content-Type: multipart/mixed; boundary=b\n",
        b"\n\n",
        b"\n",
        b"\r\n",
        b"--b\n",
        b"--b--\n",
        b"--",
        b"=?utf-8?b?",
        b"?=",
        b'"',
        b"<",
        b">",
        b"(",
        b"@",
        b";",
        b"\0",
        b"\xff",
        b"Content-Type: message/rfc822\n\n",
        b"Content-Transfer-Encoding: base64\n",
        b"charset=utf-7",
        b"charset=iso-2022-jp",
        b"Content-Transfer-Encoding: quoted-printable\n",
        b"charset=utf-16",
        b"begin 644 a\n",
        b"format=flowed",
        b"name*0*=x''%",
    ]
)


def assert_storable(raw: bytes) -> None:
    message = parse_message(raw)
    assert parse_message(raw) == message
    texts = [
        message.text,
        message.subject,
        message.from_name,
        message.from_address,
        message.internet_message_id,
        *message.labels,
    ]
    texts += [one for recipient in message.recipients for one in recipient] + message.references
    for text in texts:
        assert text is None or (text.encode() is not None and "\0" not in text)
    assert "\r" not in message.text
    for one in message.attachments:
        assert part_bytes(raw, one.part)[0] == one
        assert one.filename is None or not re.search(r"[/\\\x00-\x1f]", one.filename)


@given(st.binary(max_size=400))
def test_any_bytes_are_a_message(raw: bytes):
    assert_storable(raw)


@given(st.lists(st.one_of(WORD, st.binary(max_size=8)), max_size=40).map(b"".join))
def test_any_pieces_of_mail_are_a_message(raw: bytes):
    assert_storable(raw)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_real_structure_with_pieces_cut_out_and_put_in_is_a_message(data: st.DataObject):
    raw = REAL.encode()
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw)))
        raw = raw[:at] + data.draw(st.one_of(WORD, st.binary(max_size=4))) + raw[at + data.draw(st.integers(0, 40)) :]
    assert_storable(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: x\n\n" + b"a" * 10_000_000,
        b"Content-Type: text/html\n\n" + b"a " * 2_000_000,
        b"Subject: " + b"=?utf-8?q?a?= " * 50_000 + b"\n\nx",
        b"Subject: " + b"=?a?q?" * 50_000 + b"\n\nx",
        b"References: " + b"<" * 500_000 + b"\n\nx",
        b"Content-Type: text/plain; " + b'a="; ' * 50_000 + b"\n\nx",
        b"Content-Type: text/plain; format=flowed\n\n" + b">" * 500_000,
        b"Content-Transfer-Encoding: base64\n\n" + b"QUJ!\n" * 100_000,
        b"X-Gmail-Labels: " + b'"' * 500_001 + b"\n\nx",
        b"Subject: x\n\n" + b"begin 644 a\n" * 50_000,
    ],
    ids=range(10),
)
def test_hostile_mail_ends(raw: bytes):
    assert isinstance(parse_message(raw), Message)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared test mail is not beside the project")
def test_every_message_of_the_shared_data_is_read():
    files = [
        path
        for folder in ("mime", "reply", "real/enron-berkeley", "thread")
        for path in (DATA / folder).rglob("*")
        if path.is_file()
    ]
    for path in files:
        assert_storable(path.read_bytes())
    boxes = [*(DATA / "real").rglob("*.mbox")]
    count = 0
    for path in boxes:
        box = mailbox.mbox(path, create=False)
        for key in box.iterkeys():
            message = parse_message(box.get_bytes(key))
            count += 1
            assert message.from_address and message.sent_at and message.sent_at > "1995", (path.name, key)
    assert (len(files) > 1000, count > 3000) == (True, True)
