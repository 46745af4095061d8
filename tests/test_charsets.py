"""Charsets and encoded words: no character of a message is lost to a label that is wrong, unknown or missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mailparser.utils import decode_header_part

from datasette_oaken.charsets import codec, decode, decode_words, header_text, plain_lines

RUSSIAN = "Чай будет готов в четыре часа, приходите все вместе с детьми"
CHINESE = "茶在四点钟准备好了，请大家带着孩子一起来，我们在花园里等你们。今天天气很好，晚上还可以一起吃饭。"
JAPANESE = "お茶は四時に用意できます。どうぞ皆さんでいらしてください。庭でお待ちしています。"
KOREAN = "차는 네 시에 준비됩니다. 아이들과 함께 모두 오세요. 정원에서 기다리겠습니다."


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("utf-8", "naïve".encode(), "naïve"),
        ("UTF8", "naïve".encode(), "naïve"),
        ('"utf-8"', "naïve".encode(), "naïve"),
        ("iso-8859-1", b"\x93tea\x94 \x80 5", "“tea” € 5"),  # windows-1252, as it is meant
        ("us-ascii", b"caf\xe9", "café"),
        ("iso-8859-1", "café".encode(), "café"),  # UTF-8 under another label
        ("iso-8859-2", b"\xb3\xf3d\xbc", "łódź"),
        ("utf-8", b"caf\xe9", "café"),  # another charset under UTF-8's label
        ("utf-8", "naïve café".encode()[:-1], "naïve caf\ufffd"),  # cut in the middle of a character
        ("gb2312", "镕".encode("gb18030"), "镕"),  # not in GB 2312
        ("gb2312", "𠀀".encode("gb18030"), "𠀀"),
        ("ks_c_5601-1987", "똠방각하".encode("cp949"), "똠방각하"),
        ("euc-kr", "뷁".encode("cp949"), "뷁"),
        ("shift_jis", "①髙".encode("cp932"), "①髙"),
        ("big5", "碁銹".encode("cp950"), "碁銹"),
        ("iso-2022-jp", "日本語".encode("iso2022_jp"), "日本語"),
        ("iso-2022-jp", b"\x1b$B-!\x1b(B tea \x1b(I1\x1b(B", "① tea ｱ"),  # NEC's row 13 and half-width kana
        (None, "日本語".encode("iso2022_jp"), "日本語"),
        ("iso-2022-kr", "차".encode("iso2022_kr"), "차"),
        ("utf-7", b"Hi Mom +Jjo-!", "Hi Mom ☺!"),
        ("unicode-1-1-utf-7", b"1 +- 1", "1 + 1"),
        ("hz-gb-2312", b"~{2h~}", "茶"),
        ("utf-16", "tea ☕".encode("utf-16"), "tea ☕"),
        ("utf-16le", "tea ☕".encode("utf-16-le"), "tea ☕"),
        ("utf-16", b"not at all", "not at all"),
        ("cp-850", b"\x82", "é"),
        ("windows-1251", RUSSIAN.encode("cp1251"), RUSSIAN),
        ("koi8-r", RUSSIAN.encode("koi8_r"), RUSSIAN),
        ("x-unknown", "naïve".encode(), "naïve"),
        ("no such charset", b"caf\xe9", "café"),
        (None, b"caf\xe9", "café"),
        (None, b"\xef\xbb\xbftea", "tea"),
        # Codecs of Python's that are no charsets.
        ("base64", b"tea", "tea"),
        ("rot13", b"tea", "tea"),
        ("unicode_escape", b"\\x41", "\\x41"),
        ("idna", b"xn--a", "xn--a"),
        ("undefined", b"tea", "tea"),
        ("\0", b"tea", "tea"),
    ],
)
def test_bytes_become_the_text_that_was_meant(label: str | None, data: bytes, text: str):
    assert decode(data, label) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("koi8_r", RUSSIAN),
        ("cp1251", RUSSIAN),
        ("gb18030", CHINESE),
        (
            "big5hkscs",
            "茶在四點鐘準備好了，請大家帶著孩子一起來，我們在花園裡等你們。今天天氣很好，晚上還可以一起吃飯。",
        ),
        ("cp949", KOREAN),
        ("cp932", JAPANESE),
    ],
)
def test_whole_texts_without_a_label_are_told_by_their_bytes(name: str, text: str):
    assert decode(text.encode(name)) == text
    assert decode(text.encode(name), "us-ascii") == text


def test_what_the_mailer_speaks_elsewhere_decides_before_a_guess():
    assert decode("чай".encode("koi8_r"), None, "koi8-r") == "чай"


def test_windows_characters_that_went_through_latin1_are_put_back():
    assert plain_lines("5 \x80 \x93tea\x94") == "5 € “tea”"


def test_lines_end_one_way_and_controls_are_gone():
    assert plain_lines("a\r\nb\rc\x00d\x0ce\x1bf\tg") == "a\nb\ncd\nef\tg"


@given(
    st.binary(max_size=300),
    st.one_of(st.none(), st.text(max_size=30), st.sampled_from(["utf-7", "utf-16", "hz", "gb2312"])),
)
def test_any_bytes_under_any_label_are_text_that_can_be_stored(data: bytes, label: str | None):
    text = decode(data, label)
    assert text.encode() is not None
    assert "\0" not in plain_lines(text) and "\r" not in plain_lines(text)


@given(st.text(max_size=60))
def test_any_label_names_a_codec_that_decodes_or_none(label: str):
    name = codec(label)
    assert name is None or isinstance(b"tea".decode(name, "replace"), str)


# ---- encoded words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("=?utf-8?q?na=C3=AFve_tea?=", "naïve tea"),
        ("=?UTF-8?B?bmHDr3Zl?= tea", "naïve tea"),
        ("tea =?utf-8?q?a?=  =?utf-8?q?b?= c", "tea ab c"),  # RFC 2047: white space between words is none
        ("=?utf-8?q?na=C3?= =?utf-8?q?=AFve?=", "naïve"),  # cut in the middle of a character
        ("=?utf-8?b?bmHD?= =?UTF-8?b?r3Zl?=", "naïve"),
        ("=?iso-8859-1?q?a?= =?utf-8?q?=C3=AF?=", "aï"),
        ("=?utf-8*en?q?tea?=", "tea"),
        ("=?utf-8?b?dGVh", "=?utf-8?b?dGVh"),
        ("=?utf-8?b?dGV?=", "te"),
        ("=?utf-8?q?tea time?=", "tea time"),  # spaces, which are not allowed there
        ("=?utf-8?q?tea?_now=3F?=", "tea? now?"),
        ("a=?utf-8?q?b?=c", "abc"),  # no space around, as some mailers write
        ("=?x-unheard-of?q?caf=E9?=", "café"),
        ("=?gb2312?b?6UY=?=", "镕"),
        ("=?utf-8?q?a=0D=0ABcc:_b?=", "a Bcc: b"),  # a header cannot be injected
        ("=?utf-8?q??=", ""),
        ("=?=?=?utf-8?q?tea?=", "=?=?tea"),
    ],
)
def test_encoded_words_are_decoded_as_mail_clients_do(value: str, text: str):
    assert decode_words(value) == text


def test_raw_bytes_in_a_header_are_read_by_the_messages_own_charset():
    assert header_text("чай".encode("koi8_r"), "koi8-r") == "чай"
    assert header_text("café".encode()) == "café"


def test_a_folded_header_keeps_its_words_apart():
    assert header_text(b" tea\r\n and\n cake\nnow\r\n") == "tea and cake now"


@pytest.mark.parametrize(("value", "text"), [("=?gb2312?b?6UY=?=", "镕"), ("=?x-unheard-of?q?caf=E9?=", "café")])
def test_mail_parser_drops_the_characters_that_a_label_does_not_allow(value: str, text: str):
    assert decode_header_part(value) != text
    assert decode_words(value) == text


@given(st.text(alphabet=st.sampled_from("=?utf-8bBqQ_ CA\n\x00é"), max_size=80))
def test_anything_like_an_encoded_word_is_harmless(value: str):
    text = decode_words(value)
    assert text.encode() is not None and ("=?" not in value or "\n" not in text)
