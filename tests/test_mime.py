"""The MIME tree: nothing in it is lost or shown twice, whatever shape a mailer gives it."""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import mailparser
import pytest
from mailparser.exceptions import MailParserRecursionError

from datasette_oaken import mime
from datasette_oaken.mime import Attachment

DATA = Path(__file__).resolve().parents[1].parent / "shared/data"
MIME4J = DATA / "mime/mime4j/core/src/test/resources"


def shape(raw: bytes) -> list[tuple[int, str, int | None]]:
    """Every part as (number, content type, number of its parent)."""
    return [(part.number, part.content_type, part.parent.number if part.parent else None) for part in mime.parse(raw)]


def shown(raw: bytes) -> list[str]:
    return [part.text().strip() for part in mime.body(mime.parse(raw)) if not part.is_message]


def multipart(kind: str, *parts: str, boundary: str = "cut") -> bytes:
    body = "".join(f"--{boundary}\n{part}\n" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n{body}--{boundary}--\n'.encode()


PLAIN = "Content-Type: text/plain\n\nThe kettle is on."
HTML = "Content-Type: text/html\n\n<p>The <b>kettle</b> is on."


# ---- the tree


def test_parts_are_numbered_depth_first():
    inner = multipart("alternative", PLAIN, HTML, boundary="in").decode()
    raw = multipart("mixed", inner, "Content-Type: image/png\n\nx")
    assert shape(raw) == [
        (0, "multipart/mixed", None),
        (1, "multipart/alternative", 0),
        (2, "text/plain", 1),
        (3, "text/html", 1),
        (4, "image/png", 0),
    ]


@pytest.mark.parametrize("ending", ["\r\n", "\n", "\r"])
def test_line_ends_of_any_kind_give_the_same_tree(ending: str):
    raw = multipart("mixed", PLAIN, HTML).replace(b"\n", ending.encode())
    assert [kind for _, kind, _ in shape(raw)] == ["multipart/mixed", "text/plain", "text/html"]
    assert shown(raw)[0] == "The kettle is on."


def test_the_line_end_before_a_delimiter_is_not_the_parts():
    raw = b"Content-Type: multipart/mixed; boundary=cut\r\n\r\n--cut\r\n\r\none\r\n\r\n--cut--\r\n"
    assert mime.part_bytes(raw, 1)[1] == b"one\r\n"


def test_a_boundary_that_begins_another_does_not_close_it():
    inner = multipart("alternative", PLAIN, HTML, boundary="cut-2").decode()
    raw = multipart("mixed", inner, "Content-Type: text/plain\n\nafterwards")
    assert shown(raw) == ["The kettle is on.", "afterwards"]


def test_one_boundary_at_two_levels_loses_no_part():
    inner = multipart("alternative", PLAIN, HTML).decode()
    raw = multipart("mixed", inner, "Content-Type: application/pdf\nContent-Disposition: attachment\n\n%PDF")
    assert [kind for _, kind, _ in shape(raw)] == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "text/html",
        "application/pdf",
    ]


def test_a_multipart_that_is_never_closed_keeps_its_last_part():
    assert shown(multipart("mixed", PLAIN, "\nlast words").removesuffix(b"--cut--\n")) == [
        "The kettle is on.",
        "last words",
    ]


def test_a_multipart_that_does_not_state_its_boundary_is_taken_apart():
    raw = multipart("mixed", PLAIN, HTML).replace(b'; boundary="cut"', b"")
    assert [kind for _, kind, _ in shape(raw)] == ["multipart/mixed", "text/plain", "text/html"]


def test_a_multipart_without_parts_is_read_as_text():
    assert shown(b"Content-Type: multipart/mixed; boundary=cut\n\nNo parts, only words.\n") == ["No parts, only words."]


def test_a_part_without_header_and_blank_line_is_text():
    assert shown(b"Content-Type: multipart/mixed; boundary=cut\n\n--cut\nbare words\n--cut--\n") == ["bare words"]


def test_a_missing_blank_line_after_the_header_loses_no_body():
    raw = b"Subject: tea\nThe kettle is on.\nNote: it whistles.\n\nCome in.\n"
    assert mime.parse(raw)[0].headers == {b"subject": [b" tea"]}
    assert shown(raw) == ["The kettle is on.\nNote: it whistles.\n\nCome in."]


def test_a_header_wrapped_without_indentation_goes_on():
    raw = b"Subject: tea and\ncake\nFrom: ada@example.org\n\nbody\n"
    assert mime.parse(raw)[0].headers == {b"subject": [b" tea and\ncake"], b"from": [b" ada@example.org"]}


def test_an_envelope_line_is_no_header():
    raw = b"From ada@example.org Mon Jan  1 00:00:00 2024\nSubject: tea\n\nbody\n"
    assert mime.parse(raw)[0].headers == {b"subject": [b" tea"]}


def test_no_header_at_all_is_all_body():
    assert shown(b"Just words,\nnothing else: none.\n") == ["Just words,\nnothing else: none."]


def test_digests_hold_messages_by_default():
    raw = multipart("digest", "\nSubject: one\n\nfirst", "\nSubject: two\n\nsecond")
    assert [kind for _, kind, _ in shape(raw)] == [
        "multipart/digest",
        "message/rfc822",
        "text/plain",
        "message/rfc822",
        "text/plain",
    ]
    assert shown(raw) == ["first", "second"]


def test_a_message_in_base64_is_opened_and_numbered_in_its_place():
    inner = base64.encodebytes(b"Subject: inside\n\nhidden words\n").decode()
    raw = multipart("mixed", f"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n{inner}", PLAIN)
    assert shape(raw) == [
        (0, "multipart/mixed", None),
        (1, "message/rfc822", 0),
        (2, "text/plain", 1),
        (3, "text/plain", 0),
    ]
    assert shown(raw) == ["hidden words", "The kettle is on."]


def test_a_multipart_in_base64_is_opened_although_it_may_not_be():
    head, _, rest = multipart("mixed", PLAIN, HTML).partition(b"\n\n")
    raw = head + b"\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(rest)
    assert [kind for _, kind, _ in shape(raw)] == ["multipart/mixed", "text/plain", "text/html"]


def test_ten_thousand_nested_multiparts_give_their_innermost_words():
    levels = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(10_000))
    raw = f"{levels}Content-Type: text/plain\n\ndeep down\n".encode()
    assert len(mime.parse(raw)) == 10_001
    assert shown(raw) == ["deep down"]


def test_ten_thousand_nested_messages_give_their_innermost_words():
    raw = b"Content-Type: message/rfc822\n\n" * 10_000 + b"Subject: last\n\ndeep down\n"
    assert shown(raw) == ["deep down"]


def test_a_hundred_thousand_headers_and_parts_are_all_there():
    raw = b"".join(b"X-%d: v\n" % n for n in range(100_000))
    assert len(mime.parse(raw + b"\nbody")[0].headers) == 100_000
    assert len(mime.parse(b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 100_000)) == 100_001


# ---- what is shown


def test_an_alternative_is_shown_once_as_plain_text():
    assert shown(multipart("alternative", PLAIN, HTML)) == ["The kettle is on."]


@pytest.mark.parametrize(
    "stub",
    [
        "",
        " \n\xa0\n",
        "Your mail program does not support HTML.",
        "View this message in your browser: https://shop.example",
    ],
)
def test_a_plain_version_that_says_nothing_gives_way_to_the_html(stub: str):
    raw = multipart("alternative", f"Content-Type: text/plain; charset=utf-8\n\n{stub}", HTML)
    assert shown(raw) == ["<p>The <b>kettle</b> is on."]


def test_of_two_plain_versions_the_last_is_shown():
    assert shown(multipart("alternative", "\nseven bits", "\nbetter words")) == ["better words"]


def test_an_alternative_whose_rich_side_holds_files_still_lists_them():
    rich = multipart("related", HTML, "Content-Type: image/png\nContent-ID: <a@b>\n\npng", boundary="in").decode()
    parts = mime.parse(multipart("alternative", PLAIN, rich))
    text = mime.body(parts)
    assert [part.text() for part in text] == ["The kettle is on."]
    assert [(part.content_type, part.content_id) for part in mime.attachment_parts(parts, text)] == [
        ("image/png", "a@b")
    ]


def test_a_related_part_shows_the_root_it_names():
    raw = multipart("related", "Content-Type: image/png\n\npng", "Content-ID: <root>\n" + PLAIN)
    assert shown(raw) == ["The kettle is on."]
    named = raw.replace(b"multipart/related;", b'multipart/related; start="<root>";')
    assert shown(named) == ["The kettle is on."]


def test_texts_around_a_file_are_all_shown_in_order():
    picture = "Content-Type: image/png\nContent-Disposition: inline; filename=a.png\n\npng"
    assert shown(multipart("mixed", "\nbefore", picture, "\nafter")) == ["before", "after"]


def test_a_signed_message_shows_its_text_and_lists_no_signature():
    signature = "Content-Type: application/pgp-signature; name=signature.asc\n\n-----BEGIN PGP SIGNATURE-----"
    parts = mime.parse(multipart("signed", PLAIN, signature))
    text = mime.body(parts)
    assert ([part.number for part in text], mime.attachment_parts(parts, text)) == ([1], [])


def test_text_to_be_saved_is_a_file_and_text_to_be_read_is_not():
    cases = {
        "Content-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\nfile": ([], ["a.txt"]),
        "Content-Type: text/plain; name=a.txt\n\nfile": ([], ["a.txt"]),
        "Content-Type: text/plain\nContent-Disposition: inline; filename=a.patch\n\nfile": (["file"], ["a.patch"]),
        "Content-Type: text/plain\nContent-Disposition: inline\n\nfile": (["file"], []),
        "Content-Type: text/csv\n\nfile": ([], [None]),
    }
    for part, (texts, names) in cases.items():
        parts = mime.parse(multipart("mixed", "\nfirst", part))
        text = mime.body(parts)
        assert [one.text() for one in text] == ["first", *texts], part
        assert [one.filename for one in mime.attachment_parts(parts, text)] == names, part


def test_a_body_that_happens_to_have_a_name_is_still_the_body():
    assert shown(multipart("mixed", "Content-Type: text/plain; name=message.txt\n\nwords", HTML)) == [
        "words",
        HTML[25:].strip(),
    ]


def test_a_bounce_shows_the_report_and_whom_it_is_about():
    raw = multipart(
        "report",
        "\nIt could not be delivered.",
        "Content-Type: message/delivery-status\n\nFinal-Recipient: rfc822; nobody@example.org",
        "Content-Type: text/rfc822-headers\n\nSubject: tea on Sunday\nFrom: ada@example.org",
    )
    parts = mime.parse(raw)
    text = mime.body(parts)
    assert [part.content_type for part in text] == [
        "text/plain",
        "message/delivery-status",
        "text/rfc822-headers",
        "text/plain",
    ]
    assert mime.attachment_parts(parts, text) == []


# ---- bytes and names of a part


def test_part_bytes_are_decoded_and_described():
    body = base64.encodebytes(b"\x00\xffpdf").decode()
    head = 'Content-Type: application/pdf; name="a.pdf"\nContent-Transfer-Encoding: base64\nContent-ID: <x@y>'
    raw = multipart("mixed", PLAIN, f"{head}\n\n{body}")
    expected = Attachment(2, "a.pdf", "application/pdf", 5, hashlib.sha256(b"\x00\xffpdf").hexdigest(), "x@y")
    assert mime.part_bytes(raw, 2) == (expected, b"\x00\xffpdf")


@pytest.mark.parametrize("part", [-1, 3, 10**9])
def test_a_part_that_is_not_there_is_said_to_be_missing(part: int):
    with pytest.raises(LookupError, match=f"no part {part}"):
        mime.part_bytes(multipart("mixed", PLAIN, HTML), part)


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('attachment; filename="tea.txt"', "tea.txt"),
        ("attachment; filename=two words.txt", "two words.txt"),
        ('attachment; filename="C:\\notes\\tea.txt"', "tea.txt"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ('attachment; filename=".."', None),
        ('attachment; filename="a\tb\x07c.txt"', "abc.txt"),
        ('attachment; filename="invoice\u202efdp.exe"', "invoicefdp.exe"),
        ("attachment; filename*=utf-8''na%C3%AFve.txt", "naïve.txt"),
        ("attachment; filename*=iso-8859-1'en'na%EFve.txt", "naïve.txt"),
        ("attachment; filename*0*=utf-8''na%C3; filename*1*=%AFve; filename*2=.txt", "naïve.txt"),
        ('attachment; filename*1="b.txt"; filename*0="a"', "ab.txt"),
        ('attachment; filename="=?utf-8?b?bmHDr3ZlLnR4dA==?="', "naïve.txt"),
        ('attachment; filename="say \\"tea\\".txt"', 'say "tea".txt'),
        ('attachment; filename="never closed.txt', "never closed.txt"),
        ('attachment;filename="a;b=c.txt";size=3', "a;b=c.txt"),
        ('attachment; filename="' + "x" * 300 + '.pdf"', "x" * 196 + ".pdf"),
    ],
)
def test_file_names_are_decoded_and_made_harmless(header: str, name: str | None):
    assert mime.parse(f"Content-Disposition: {header}\n\nx".encode())[0].filename == name


@pytest.mark.parametrize(
    ("encoding", "body", "decoded"),
    [
        ("base64", b"dGVh", b"tea"),
        ("BASE64 ", b"dGVh\r\n", b"tea"),
        ("base64 (a comment)", b"dGVh", b"tea"),
        ('"base64"', b"dGVh", b"tea"),
        ("base64", b"dGV", b"te"),
        ("base64", b"dGVhx", b"tea"),
        ("base64", b"d G!V\nh", b"tea"),
        ("quoted-printable", b"t=65a=\r\n time", b"tea time"),
        ("quoted-printable", b"50=% off =ZZ", b"50=% off =ZZ"),
        ("x-uuencode", b"begin 644 a\n#=&5A\n`\nend\n", b"tea"),
        ("8bit", b"t\xe9", b"t\xe9"),
        ("x-unheard-of", b"tea", b"tea"),
    ],
)
def test_transfer_encodings_are_undone_and_mended(encoding: str, body: bytes, decoded: bytes):
    raw = f"Content-Type: application/octet-stream\nContent-Transfer-Encoding: {encoding}\n\n".encode() + body
    assert mime.part_bytes(raw, 0)[1] == decoded


def test_a_plain_footer_below_a_base64_body_stays_readable():
    raw = (
        b"Content-Transfer-Encoding: base64\n\n"
        + base64.encodebytes(b"tea at four")
        + b"_____\nLeave the list: example.org\n"
    )
    assert shown(raw) == ["tea at four\n_____\nLeave the list: example.org"]


def test_plain_text_that_claims_to_be_base64_is_read_as_it_is():
    assert shown(b"Content-Transfer-Encoding: base64\n\nTea is at four, as ever.\n") == ["Tea is at four, as ever."]


def test_html_to_show_is_the_messages_own_and_plain_mail_has_none():
    nested = "Content-Type: message/rfc822\n\nContent-Type: text/html\n\n<p>theirs"
    assert mime.html_to_show(multipart("mixed", HTML, nested)) == "<p>The <b>kettle</b> is on."
    assert mime.html_to_show(multipart("alternative", PLAIN, HTML)) == "<p>The <b>kettle</b> is on."
    assert mime.html_to_show(multipart("mixed", PLAIN, nested)) is None


def test_inline_parts_are_found_by_content_id_the_first_of_equals():
    raw = multipart("related", HTML, "Content-ID: <a@b>\n\none", "Content-ID: <a@b>\n\ntwo")
    assert mime.inline_parts(raw) == {"a@b": 2}


# ---- why mail-parser's own tree is not used: when one of these fails, it has been mended there


def test_mail_parser_gives_deep_nesting_up():
    levels = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(2000))
    raw = f"Subject: tea\n{levels}Content-Type: text/plain\n\ndeep down\n".encode()
    with pytest.raises(MailParserRecursionError):
        mailparser.parse_from_bytes(raw)
    assert shown(raw) == ["deep down"]


def test_mail_parser_joins_both_halves_of_an_alternative():
    raw = multipart("alternative", PLAIN, HTML)
    assert mailparser.parse_from_bytes(raw).body.count("kettle") == 2
    assert "".join(shown(raw)).count("kettle") == 1


def test_mail_parser_runs_a_forwarded_message_into_the_text():
    raw = multipart("mixed", PLAIN, "Content-Type: message/rfc822\n\nSubject: s\n\nsomeone else's words")
    assert mailparser.parse_from_bytes(raw).text_plain == ["The kettle is on.", "someone else's words"]
    assert [part.level for part in mime.body(mime.parse(raw)) if not part.is_message] == [0, 1]


def test_mail_parser_invents_names_for_nameless_files():
    raw = multipart("mixed", PLAIN, "Content-Type: application/pdf\nContent-Disposition: attachment\n\n%PDF")
    first, second = (mailparser.parse_from_bytes(raw).attachments[0]["filename"] for _ in range(2))
    assert first != second
    assert mime.part_bytes(raw, 2)[0].filename is None


def test_mail_parser_does_not_open_an_encoded_message():
    inner = base64.encodebytes(b"Subject: inside\n\nhidden words\n").decode()
    raw = multipart("mixed", PLAIN, f"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n{inner}")
    assert "hidden words" not in mailparser.parse_from_bytes(raw).body
    assert "hidden words" in shown(raw)


# ---- agreement with another parser's published expectations

# Where we differ from mime4j, and why.
DIFFERENCES = {
    "badbound": "no delimiter is ever met: we read the body as text, mime4j has no body",
    "multipartnopart": "no part: we read the body as text, mime4j has no body",
    "missing-boundary": "no boundary: we read the body as text, mime4j has no body",
    "missing-inner-boundary": "the inner multipart has no delimiter: we read it as text",
    "missing-inner-start-boundary": "the inner multipart is closed and never opened: we read it as text",
    "ending-boundaries": "words after the boundary on its line: we want the whole line, as mail clients do",
    "very-long-boundary": "a boundary that ends in a space, which RFC 2046 forbids: we compare without it",
    "very-very-long-boundary": "as very-long-boundary",
    "weird-boundary": "as very-long-boundary",
    "frag": "base64 cut short: we keep the last whole byte",
    "multi-frag": "as frag",
    "hdr-fakeout": "no blank line: we keep all as body, mime4j has no body",
    "basic-plain-with-bad-header-separator": "no blank line before words: we keep them as body",
    "malformedHeader-nocrlfcrlf": "as basic-plain-with-bad-header-separator",
    "malformedHeader-noheader": "as basic-plain-with-bad-header-separator",
    "malformedHeaderStartsBody-nocrlfcrlf": "as basic-plain-with-bad-header-separator",
    "malformedHeaderStartsBody-noheader": "as basic-plain-with-bad-header-separator",
    "obsolete": "a field name of raw 8-bit letters ends the header: what follows is kept as body",
}


def _expected(element: ElementTree.Element, folder: Path) -> object:
    for child in element:
        if child.tag in ("text-body", "binary-body"):
            return _comparable((folder / child.attrib["name"]).read_bytes())
        if child.tag == "message":
            return {"message": _expected(child, folder)}
        if child.tag == "multipart":
            return [_expected(part, folder) for part in child if part.tag == "body-part"]
    return None


def _ours(part: mime.Part) -> object:
    if part.is_message and part.children:
        return {"message": _ours(part.children[0])}
    if part.is_container and part.children:
        return [_ours(child) for child in part.children]
    return _comparable(part.payload())


def _comparable(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").rstrip(b"\n")


def _alike(expected: object, ours: object, part: mime.Part) -> bool:
    """Equal trees; a text may have been decoded to UTF-8 in what is expected."""
    if isinstance(expected, list) and isinstance(ours, list):
        pairs = zip(expected, ours, part.children, strict=False)
        return len(expected) == len(ours) and all(_alike(*pair) for pair in pairs)
    if isinstance(expected, dict) and isinstance(ours, dict):
        return _alike(expected["message"], ours["message"], part.children[0])
    return expected in (ours, _comparable(part.text().encode()))


@pytest.mark.skipif(not MIME4J.is_dir(), reason="mime4j's test messages are not beside the project")
def test_structures_and_bytes_agree_with_mime4j():
    different = set()
    compared = 0
    for expectation in sorted(MIME4J.rglob("*_decoded.xml")):
        name = expectation.name.removesuffix("_decoded.xml")
        text = re.sub(
            r"<(field|preamble|epilogue)>.*?</\1>", "", expectation.read_bytes().decode("latin-1"), flags=re.S
        )
        raw = (expectation.parent / f"{name}.msg").read_bytes()
        root = mime.parse(raw)[0]
        compared += 1
        if not _alike(_expected(ElementTree.fromstring(text), expectation.parent), _ours(root), root):
            different.add(name)
    assert (compared, different) == (80, set(DIFFERENCES))
