"""HTML mail as text: what a reader sees and nothing else, quotes marked as in plain mail, and an end to every input."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_oaken.charsets import decode, html_charset
from ingest.html import html_to_text

SOUNDASLEEP = Path(__file__).resolve().parents[1].parent / "shared/data/html/soundasleep/tests"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("tea", "tea"),
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("<div>one</div><div>two</div>", "one\ntwo"),
        ("<div>one</div><div><br></div><div>two</div>", "one\n\ntwo"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("one<br><br><br><br>two", "one\n\ntwo"),
        ("<p>one<br></p>two", "one\n\ntwo"),
        ("<p class=MsoNormal>one</p><p class=MsoNormal>&nbsp;</p><p class=MsoNormal>two</p>", "one\n\ntwo"),
        ("<p class=MsoNormal>one</p>\r\n<p class=MsoNormal>two</p>", "one\ntwo"),
        ("  a \n\t b  <b> c </b> d", "a b c d"),
        ("a<b>b</b>c", "abc"),
        ("a&nbsp;&nbsp;b &amp; c &lt;d&gt; &#8364; &#x20ac; &eacute;", "a  b & c <d> € € é"),
        ("<h1>Title</h1>text<h2>Next</h2>", "Title\n\ntext\n\nNext"),
        ("<ul><li>one<li>two</ul>", "- one\n- two"),
        ("<ul><li><p>one</p></li><li></li><li>two</li></ul>", "- one\n\n- two"),
        (
            '<ol start="3"><li>one</li><li>two<ul><li>in</li></ul></li><li>three</li></ol>',
            "3. one\n4. two\n- in\n5. three",
        ),
        ("<table><tr><th>Day<th>Who</tr><tr><td>Mon</td><td>Ada</td></tr></table>", "Day\tWho\nMon\tAda"),
        ("<pre>a\n  b\n\nc</pre>", "a\n  b\n\nc"),
        ('<div style="white-space: pre-wrap">a\n  b</div>', "a\n  b"),
        ('see <a href="https://example.org/">the plan</a> now', "see the plan now"),
        ('<a href="x"><img src="cid:1" alt="Order now"></a>', "Order now"),
        ('well done <img src="https://example.org/e.png" alt="🎉">', "well done 🎉"),
        ('<img src="t.gif" width="1" height="1" alt="track">tea', "tea"),
        ('<img src="cid:1" alt="photo.jpg">tea', "tea"),
        ("un<span>\u200b</span>broken soft\u00adhyphen", "unbroken softhyphen"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("<select><option>red<option>blue</select>", "red\nblue"),
        ("<p>one<hr>two", "one\n\ntwo"),
        ("<b>never closed <i>at all", "never closed at all"),
        ("a < b and c > d", "a < b and c > d"),
    ],
)
def test_blocks_become_lines_and_words_stay_whole(html: str, text: str):
    assert html_to_text(html) == text


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>secret()</script>",
        "<style>.secret {}</style>",
        "<title>secret</title>",
        "<head><meta name=secret content=secret></head>",
        "<!-- secret -->",
        "<!--[if mso]><p>secret</p><![endif]-->",
        "<template>secret</template>",
        "<svg><text>secret</text></svg>",
        '<div style="display:none">secret</div>',
        '<div style="color:red; DISPLAY : none !important;">secret</div>',
        '<span style="visibility:hidden">secret</span>',
        '<div style="max-height:0px;overflow:hidden">secret</div>',
        '<div style="opacity:0.0">secret</div>',
        '<div style="font-size:0">secret</div>',
        '<div style="font-size:1px;line-height:1px">secret</div>',
        "<div hidden>secret</div>",
        '<div style="display:none"><p>deep <b>secret</b></p></div>',
        "<style>.pre { display: none }</style><div class='x pre'>secret</div>",
        "<style>@media print { .a { color: red } } #pre, td.b { display:none }</style><div id=pre>secret</div>",
    ],
)
def test_what_a_reader_does_not_see_is_left_out(hidden: str):
    assert html_to_text(f"<p>before</p>{hidden}<p>after</p>") == "before\n\nafter"


@pytest.mark.parametrize(
    "visible",
    [
        '<div style="max-height:0.5em">words</div>',
        '<div style="opacity:0.9">words</div>',
        '<div style="font-size:0"><span style="font-size:14px">words</span></div>',  # how templates close gaps between cells
        "<style>@media (max-width:600px) { .m { display:none } }</style><div class=m>words</div>",
        "<noscript>words</noscript>",
    ],
)
def test_what_a_reader_does_see_is_kept(visible: str):
    assert html_to_text(visible) == "words"


def test_padding_that_pushes_text_out_of_a_preview_is_gone():
    assert html_to_text("<p>news" + "&zwnj;&nbsp;" * 60 + "</p><p>tea</p>") == "news\n\ntea"


# ---- quotes, as the mail clients write them


def test_a_blockquote_becomes_quoted_lines_at_its_depth():
    html = "yes<blockquote type=cite>really?<br><br>sure?<blockquote type=cite>tea</blockquote></blockquote>good"
    assert html_to_text(html) == "yes\n\n> really?\n>\n> sure?\n>\n> > tea\n\ngood"


def test_gmails_attribution_stands_before_its_quote():
    html = (
        '<div dir="ltr">At four.</div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">On Sun, Ada wrote:<br></div>'
        '<blockquote class="gmail_quote" style="border-left:1px solid">When is tea?<br></blockquote></div>'
    )
    assert html_to_text(html) == "At four.\n\nOn Sun, Ada wrote:\n\n> When is tea?"


def test_gmails_forward_is_not_a_quote():
    html = (
        '<div>look</div><div class="gmail_quote"><div class="gmail_attr">---------- Forwarded message ---------<br>'
        "From: <b>Ada</b><br></div><div>Tea at four.</div></div>"
    )
    assert html_to_text(html) == "look\n---------- Forwarded message ---------\nFrom: Ada\nTea at four."


def test_thunderbirds_attribution_stands_before_its_quote():
    html = '<p>At four.</p><div class="moz-cite-prefix">Ada wrote:<br></div><blockquote type="cite"><p>When?</p></blockquote>'
    assert html_to_text(html) == "At four.\n\nAda wrote:\n\n> When?"


def test_yahoos_container_is_quoted_below_its_attribution():
    html = '<div>At four.</div><div class="yahoo_quoted"><div>On Sunday, Ada wrote:</div><div><br></div><div>When?</div></div><div>x</div>'
    assert html_to_text(html) == "At four.\nOn Sunday, Ada wrote:\n\n> When?\n\nx"


@pytest.mark.parametrize(
    "opening",
    [
        '<hr tabindex="-1"><div id="divRplyFwdMsg">',
        '<div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0 0 0">',
        '<div style="border:none;border-top:solid #B5C4DF 1.0pt">',
        '<hr id="stopSpelling">',
    ],
)
def test_outlooks_rule_becomes_a_line_of_underscores_once(opening: str):
    text = html_to_text(f"<p>At four.</p>{opening}<p class=MsoNormal><b>From:</b> Ada<br><b>Sent:</b> Sunday</p></div>")
    assert re.sub(r"\n+", "\n", text) == f"At four.\n{'_' * 32}\nFrom: Ada\nSent: Sunday"


def test_an_indented_paragraph_is_no_quote():
    html = '<blockquote style="margin:0 0 0 40px;border:none;padding:0px">to the right</blockquote>'
    assert html_to_text(html) == "to the right"


def test_a_marked_signature_begins_with_its_delimiter_once():
    assert (
        html_to_text('<div>Yes.</div><div class="gmail_signature">Ada<br>Head of tea</div>')
        == "Yes.\n-- \nAda\nHead of tea"
    )
    own = '<div>Yes.</div><span class="gmail_signature_prefix">-- </span><br><div class="gmail_signature">Ada</div>'
    assert html_to_text(own) == "Yes.\n-- \nAda"
    assert html_to_text('Yes.<pre class="moz-signature">-- \nAda</pre>') == "Yes.\n\n-- \nAda"


# ---- every input ends, and gives text


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "tea",
        "<blockquote>" * 100_000 + "tea",
        "<ul><li>" * 50_000 + "tea",
        "<table><tr><td>" * 50_000 + "tea",
        "<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">tea",
        "<p " + " ".join(f'a{n}=">"' for n in range(50_000)) + ">tea",
        "".join(f"<p><b class={n}>" for n in range(30_000)) + "tea",
        "<select>" + "<option>" * 50_000 + "tea",
        "<div></p>" * 50_000 + "tea",
        '<a "' * 100_000 + '">tea',
        "tea" + "<" * 500_000,
        "tea" + "&" * 500_000,
        "<table>" + "<td>x" * 100_000 + "tea",
    ],
    ids=range(13),
)
def test_hostile_html_ends_and_keeps_its_words(html: str):
    assert "tea" in html_to_text(html)


def test_nesting_beyond_what_browsers_open_keeps_its_words_in_order():
    html = "".join(f"<div>word{n} " for n in range(3000))
    assert html_to_text(html).split() == [f"word{n}" for n in range(3000)]


def test_quote_marks_are_bounded_however_deep_the_quotes():
    assert html_to_text("<blockquote>" * 300 + "tea") == "> " * 9 + "tea"


TAGS = [
    "div",
    "p",
    "b",
    "a",
    "table",
    "tr",
    "td",
    "ul",
    "li",
    "blockquote",
    "pre",
    "style",
    "script",
    "select",
    "svg",
    "br",
    "o:p",
]
PIECE = st.one_of(
    st.sampled_from([*(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS)]),
    st.sampled_from(
        [
            "<p hidden>",
            '<p style="display:none',
            "<!--",
            "-->",
            "<![CDATA[",
            "&#xd800;",
            "&#0;",
            "&#13;",
            "\r",
            "\0",
            "<p x='",
        ]
    ),
    st.text(max_size=10),
)


@given(st.lists(PIECE, max_size=60).map("".join))
def test_any_html_becomes_text_that_can_be_stored(html: str):
    text = html_to_text(html)
    assert text.encode() is not None
    assert not re.search("[\0\r\x0b\x0c]", text)


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), max_size=30))
def test_every_word_of_a_document_is_in_its_text_in_order(words: list[str]):
    tags = ["p", "div", "b", "td", "blockquote", "li", "h2", "pre"]
    html = " ".join(f"<{tags[n % 8]}>{word}</{tags[n % 8]}>" for n, word in enumerate(words))
    assert re.findall("[a-z]+", html_to_text(html)) == words


# Where our words differ from the expected ones of another converter, and why.
DIFFERENCES = {
    "full_email": "it prints addresses of links that have no words",
    "images": "it prints an image's title, we print its alternative text",
    "lists": "it drops the numbers of a list",
}


@pytest.mark.skipif(not SOUNDASLEEP.is_dir(), reason="soundasleep's test pages are not beside the project")
def test_words_agree_with_another_converters_expectations():
    different = set()
    compared = 0
    for page in sorted((SOUNDASLEEP / "html").glob("*.html")):
        expected = (SOUNDASLEEP / "txt" / f"{page.stem}.txt").read_text("utf-8", errors="replace")
        data = page.read_bytes()
        ours = html_to_text(decode(data, html_charset(data)))
        compared += 1
        if re.findall(r"\w+", ours) != re.findall(r"\w+", re.sub(r"\]\(\S*?\)", "]", expected)):
            different.add(page.stem)
    assert (compared, different) == (21, set(DIFFERENCES))
