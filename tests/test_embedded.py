"""Files that MIME does not know of: uuencode in a text, and Outlook's winmail.dat."""

from __future__ import annotations

import binascii
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_oaken import mime
from datasette_oaken.embedded import embedded_files
from ingest.message import parse_message

CONTENT = bytes(range(256))


def uuencoded(name: str, content: bytes) -> bytes:
    lines = b"".join(binascii.b2a_uu(content[at : at + 45]) for at in range(0, len(content), 45))
    return f"begin 644 {name}\n".encode() + lines + b"`\nend\n"


def attribute(level: int, identity: int, value: bytes) -> bytes:
    """A TNEF attribute (MS-OXTNEF section 2.1.3)."""
    return struct.pack("<BII", level, identity, len(value)) + value + struct.pack("<H", sum(value) & 0xFFFF)


def properties(*items: tuple[int, int, bytes]) -> bytes:
    """Encapsulated MAPI properties of one value each, as (type, id, value)."""
    out = struct.pack("<I", len(items))
    for kind, identity, value in items:
        out += struct.pack("<HH", kind, identity)
        if kind in (0x1E, 0x1F, 0x102):
            out += struct.pack("<II", 1, len(value))
        out += value + b"\0" * (-len(value) % 4)
    return out


def winmail(*attributes: bytes) -> bytes:
    return struct.pack("<IH", 0x223E9F78, 1) + b"".join(attributes)


def mail(stream: bytes, kind: str = "application/ms-tnef", text: str = "") -> bytes:
    head = "Content-Type: multipart/mixed; boundary=cut\n\n--cut\nContent-Type: text/plain\n\n"
    middle = f"\n--cut\nContent-Type: {kind}; name=winmail.dat\nContent-Transfer-Encoding: base64\n\n"
    return f"{head}{text}{middle}".encode() + binascii.b2a_base64(stream) + b"--cut--\n"


ATTACHED = (
    attribute(2, 0x69002, b"\0" * 14),
    attribute(2, 0x18010, b"SHORT~1.PDF\0"),
    attribute(2, 0x6800F, CONTENT),
    attribute(
        2,
        0x69005,
        properties((0x1F, 0x3707, "naïve plan.pdf\0".encode("utf-16-le")), (0x1E, 0x370E, b"application/pdf\0")),
    ),
)


def test_a_uuencoded_file_is_an_attachment_and_leaves_the_text():
    raw = b"Subject: s\n\nHere it is:\n\n" + uuencoded("../plan.pdf", CONTENT) + b"\nSee you.\n"
    message = parse_message(raw)
    assert message.text == "Here it is:\n\n\nSee you."
    (file,) = message.attachments
    assert (file.part, file.filename, file.content_type, file.size) == (1, "plan.pdf", "application/pdf", 256)
    assert mime.part_bytes(raw, 1) == (file, CONTENT)


def test_several_uuencoded_files_all_come_out():
    raw = (
        b"Subject: s\r\n\r\none\r\n"
        + (uuencoded("a", b"1") + b"two\n" + uuencoded("b", b"2")).replace(b"\n", b"\r\n")
        + b"three\r\n"
    )
    message = parse_message(raw)
    assert message.text == "one\ntwo\nthree"
    assert [(file.filename, mime.part_bytes(raw, file.part)[1]) for file in message.attachments] == [
        ("a", b"1"),
        ("b", b"2"),
    ]


@pytest.mark.parametrize(
    "text", ["begin 644 with a cup\nof tea.", "begin 644 x", "We\nbegin 1999 things", "begin 644 x\n#=&5A"]
)
def test_words_that_look_like_its_first_line_are_left_alone(text: str):
    message = parse_message(f"Subject: s\n\n{text}\n".encode())
    assert (message.text, message.attachments) == (text, [])


def test_files_in_winmail_dat_are_listed_instead_of_it():
    raw = mail(winmail(*ATTACHED), text="Here it is.")
    message = parse_message(raw)
    (file,) = message.attachments
    assert (file.part, file.filename, file.content_type, file.size) == (3, "naïve plan.pdf", "application/pdf", 256)
    assert mime.part_bytes(raw, 3)[1] == CONTENT
    assert message.text == "Here it is."


@pytest.mark.parametrize("kind", ["application/ms-tnef", "application/octet-stream"])
def test_the_text_in_winmail_dat_is_read_where_there_is_no_other(kind: str):
    stream = winmail(attribute(1, 0x69003, properties((0x1E, 0x1000, b"Tea at four.\0"))))
    assert parse_message(mail(stream, kind)).text == "Tea at four."
    assert parse_message(mail(stream, kind, text="The plain one.")).text == "The plain one."


def test_html_in_winmail_dat_is_read_by_its_code_page():
    stream = winmail(
        attribute(
            1, 0x69003, properties((3, 0x3FDE, struct.pack("<I", 1251)), (0x102, 0x1013, "<p>чай</p>".encode("cp1251")))
        )
    )
    message = parse_message(mail(stream))
    assert (message.text, message.from_html) == ("чай", True)


def test_names_are_read_by_the_streams_code_page():
    stream = winmail(
        attribute(1, 0x69007, struct.pack("<II", 1251, 0)),
        attribute(2, 0x69002, b"\0" * 14),
        attribute(2, 0x18010, "план.txt\0".encode("cp1251")),
        attribute(2, 0x6800F, b"tea"),
    )
    assert [(file.filename, file.data) for file in embedded_files(stream, tnef=True)] == [("план.txt", b"tea")]


def test_a_stream_that_is_cut_short_gives_what_is_whole():
    stream = winmail(*ATTACHED, *ATTACHED)
    for length in range(0, len(stream), 7):
        assert len(embedded_files(stream[:length], tnef=True)) <= 2
    assert len(embedded_files(stream[:-10], tnef=True)) == 2


def test_what_is_no_tnef_stays_a_file():
    message = parse_message(mail(b"not at all"))
    assert [(file.filename, file.size) for file in message.attachments] == [("winmail.dat", 10)]


@given(st.binary(max_size=400))
def test_any_bytes_after_the_signature_are_survived(noise: bytes):
    for stream in (
        winmail(noise),
        winmail(*ATTACHED[:1], attribute(2, 0x69005, noise)),
        winmail(attribute(1, 0x69003, noise)),
    ):
        for file in embedded_files(stream, tnef=True):
            assert isinstance(file.data, bytes)
    assert isinstance(embedded_files(b"begin 644 a\n" + noise, tnef=False), list)
