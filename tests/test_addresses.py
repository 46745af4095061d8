"""People in address headers: none lost, none invented, names as they were written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mailparser.utils import get_addresses

from ingest.addresses import addresses


@pytest.mark.parametrize(
    ("value", "people"),
    [
        ("", []),
        ("ada@example.org", [(None, "ada@example.org")]),
        ("<ada@example.org>", [(None, "ada@example.org")]),
        ("Ada Byron <ada@example.org>", [("Ada Byron", "ada@example.org")]),
        ('"Byron, Ada" <ada@example.org>', [("Byron, Ada", "ada@example.org")]),
        ("'Ada' <ada@example.org>", [("Ada", "ada@example.org")]),
        ('"ada@example.org" <ada@example.org>', [(None, "ada@example.org")]),
        ("Ada <ada@example.org>, bob@example.org,, ", [("Ada", "ada@example.org"), (None, "bob@example.org")]),
        ("ada@example.org (Ada Byron)", [("Ada Byron", "ada@example.org")]),
        ("Ada (the (first) one) <ada@example.org>", [("Ada (the first one)", "ada@example.org")]),
        (r'"Ada \"the first\" Byron" <ada@example.org>', [('Ada "the first" Byron', "ada@example.org")]),
        ("Family: Ada <ada@example.org>, bob@example.org;", [("Ada", "ada@example.org"), (None, "bob@example.org")]),
        ("undisclosed-recipients:;", []),
        ("<undisclosed-recipients:@example.org;>", []),
        ('"first last"@example.org', [(None, '"first last"@example.org')]),
        ("<@relay.example:ada@example.org>", [(None, "ada@example.org")]),
        ("ada@[192.0.2.1]", [(None, "ada@[192.0.2.1]")]),
        ("=?utf-8?q?Ad=C3=A4?= <ada@example.org>", [("Adä", "ada@example.org")]),
        ('"=?utf-8?q?Ad=C3=A4?=" <ada@example.org>', [("Adä", "ada@example.org")]),
        ("=?utf-8?q?Byron=2C_Ada?= <ada@example.org>", [("Byron, Ada", "ada@example.org")]),
        ("=?utf-8?q?Ad=C3?= =?utf-8?q?=A4?= <ada@example.org>", [("Adä", "ada@example.org")]),
        ("=?x-unheard-of?q?Ad=E4?= <ada@example.org>", [("Adä", "ada@example.org")]),
        ("Юлия <юлия@пример.рф>", [("Юлия", "юлия@пример.рф")]),
        ("ada@xn--e1afmkfd.example", [(None, "ada@xn--e1afmkfd.example")]),
        # What follows no grammar.
        ("Ada Byron ada@example.org", [("Ada Byron", "ada@example.org")]),
        ("Ada Byron [ada@example.org]", [("Ada Byron", "ada@example.org")]),
        ('"Ada Byron <ada@example.org>', [("Ada Byron", "ada@example.org")]),
        ("Ada <ada@example.org> Bob <bob@example.org>", [("Ada", "ada@example.org")]),
        ("<mailto:ada@example.org>", [(None, "ada@example.org")]),
        ("ada", [("ada", None)]),
        ("ada at example.org (Ada Byron)", [("Ada Byron", "ada@example.org")]),  # a list archive hides the sign
        ("Look at this", [("Look at this", None)]),
    ],
)
def test_people_are_read_from_every_form(value: str, people: list):
    assert addresses(value) == people


@pytest.mark.parametrize(
    "value",
    ["Ada Byron ada@example.org", '"Ada Byron <ada@example.org>', "Ada <ada@example.org> Bob <bob@example.org>"],
)
def test_mail_parser_loses_people_whose_address_is_malformed(value: str):
    assert get_addresses(value) == [("", "")]
    assert [address for _, address in addresses(value)] == ["ada@example.org"]


@pytest.mark.parametrize(
    "value", ["(" * 50_000, '"' * 50_001, "<" * 50_000, "a." * 50_000, "a@" * 20_000, " " * 50_000 + "x"]
)
def test_hostile_headers_end(value: str):
    assert isinstance(addresses(value), list)


ADDRESS_LIKE = st.text(alphabet=st.sampled_from('ab@.<>()"\\,;: \t[]=?q_é\x80\ud7ff'), max_size=60)


@given(st.one_of(ADDRESS_LIKE, st.text(max_size=60)))
def test_any_text_gives_pairs_that_can_be_stored(value: str):
    for name, address in addresses(value):
        assert name or address
        assert (name or "").encode() + (address or "").encode()


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[A-Za-z][A-Za-z .]{0,10}[A-Za-z]", fullmatch=True),
            st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        ),
        max_size=6,
    )
)
def test_plain_lists_come_back_as_they_were(people: list[tuple[str, str]]):
    value = ", ".join(f"{name} <{local}@example.org>" for name, local in people)
    assert addresses(value) == [(" ".join(name.split()), f"{local}@example.org") for name, local in people]
