"""Bytes to text: what a charset label means in real mail, what to do when it is wrong, unknown or missing, and encoded words.

The labels follow the WHATWG Encoding Standard where mail clients do too: iso-8859-1 is windows-1252, GB2312 is GB18030,
KS C 5601 is cp949. mail-parser's own ``decode_header_part`` is gone around here: it drops the bytes that a strict codec
refuses (``errors="ignore"``) and reads gb2312 and ks_c_5601 by the letter, so characters vanish from subjects and names.
"""

from __future__ import annotations

import binascii
import codecs
import re
from functools import lru_cache

_ALIASES = {
    "ascii": "cp1252",
    "usascii": "cp1252",
    "ansix341968": "cp1252",
    "iso88591": "cp1252",
    "iso8859115": "cp1252",
    "latin1": "cp1252",
    "l1": "cp1252",
    "ansi": "cp1252",
    "iso88599": "cp1254",
    "latin5": "cp1254",
    "iso885911": "cp874",
    "tis620": "cp874",
    "windows874": "cp874",
    "iso88598i": "iso8859_8",
    "iso88598e": "iso8859_8",
    "iso88596i": "iso8859_6",
    "iso88596e": "iso8859_6",
    "gb2312": "gb18030",
    "gb231280": "gb18030",
    "gbk": "gb18030",
    "xgbk": "gb18030",
    "euccn": "gb18030",
    "xeuccn": "gb18030",
    "cp936": "gb18030",
    "ms936": "gb18030",
    "chinese": "gb18030",
    "hz": "hz",
    "big5": "big5hkscs",
    "xxbig5": "big5hkscs",
    "big5eten": "big5hkscs",
    "xbig5": "big5hkscs",
    "ksc5601": "cp949",
    "ksc56011987": "cp949",
    "ksc56011989": "cp949",
    "euckr": "cp949",
    "windows949": "cp949",
    "korean": "cp949",
    "shiftjis": "cp932",
    "sjis": "cp932",
    "xsjis": "cp932",
    "windows31j": "cp932",
    "iso2022jp": "iso2022_jp_ext",
    "iso2022jpms": "iso2022_jp_ext",
    "csiso2022jp": "iso2022_jp_ext",
    "unicode11utf7": "utf-7",
    "unicode11utf8": "utf-8",
    "unicode": "utf-8",
    "xunicode20utf8": "utf-8",
    "xutf8": "utf-8",
    "utf8mb4": "utf-8",
    "macintosh": "mac_roman",
    "xmacroman": "mac_roman",
    "xmaccyrillic": "mac_cyrillic",
}
# Codecs that are not charsets, or that give other meanings to plain text.
_REFUSED = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem", "palmos"}
_STATEFUL = {
    "iso2022_jp_ext",
    "iso2022_kr",
    "hz",
    "utf-7",
    "iso2022_jp",
    "iso2022_jp_1",
    "iso2022_jp_2",
    "iso2022_jp_3",
}
_MULTIBYTE = {
    "gb18030",
    "big5hkscs",
    "cp949",
    "cp932",
    "euc_jp",
    "euc_jis_2004",
    "johab",
    "big5",
    "cp950",
    "shift_jis_2004",
}
_WIDE = ("utf-16", "utf-32", "utf_16", "utf_32")
_NOT_NAME = re.compile(r"[^a-z0-9]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.I)
# Encoded words as real mailers write them: spaces and question marks inside Q are let through, bounded so that time is linear.
_WORD = re.compile(r"=\?([^?\s]{1,60})\?([BbQq])\?((?:[^?]|\?(?!=)){0,2000}?)\?=")


@lru_cache(maxsize=512)
def codec(label: str) -> str | None:
    """The Python codec that a charset label stands for in mail, or None when it names no charset that is known."""
    name = label.strip().strip("\"'").strip().lower().partition("*")[0]
    short = _NOT_NAME.sub("", name.removeprefix("charset="))
    if short in _ALIASES:
        return _ALIASES[short]
    for candidate in (
        name,
        short,
        name.removeprefix("x-"),
        re.sub(r"^(?:cp|windows|ibm|dos)[-_ ]?(\d+)$", r"cp\1", name),
    ):
        if not candidate.isascii() or "\0" in candidate:
            continue
        try:
            info = codecs.lookup(candidate)
        except (LookupError, ValueError):
            continue
        if not getattr(info, "_is_text_encoding", True) or info.name.replace("-", "_") in _REFUSED:
            return None
        return _ALIASES.get(_NOT_NAME.sub("", info.name), info.name)
    return None


def decode(data: bytes, label: str | None = None, hint: str | None = None) -> str:
    """``data`` as text: by its ``label`` where that holds, else by the evidence of the bytes, else by ``hint``.

    Never raises and never drops a byte silently: what no charset explains becomes U+FFFD. Line ends are left as they are.
    """
    name = codec(label) if label else None
    if name and name.startswith(_WIDE):
        return _wide(data, name)
    if data.isascii():
        if name in _STATEFUL:
            return _tidy(data.decode(name, "replace"))
        if name is None and b"\x1b$" in data:  # the escapes of ISO-2022 stand in no plain text
            return _tidy(data.decode("iso2022_kr" if b"\x1b$)C" in data else "iso2022_jp_ext", "replace"))
        if name is not None and name.startswith(("cp037", "cp500", "cp1140", "cp273", "cp424", "cp875", "cp1026")):
            return data.decode(name, "replace")  # EBCDIC
        return data.decode("ascii")
    if data.startswith(codecs.BOM_UTF8):
        return data.decode("utf-8-sig", "replace")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _wide(data, "utf-16")
    if name in _MULTIBYTE:
        for attempt in (name, "utf-8"):
            try:
                return _tidy(data.decode(attempt))
            except UnicodeError:
                pass
        return _tidy(data.decode(name, "replace"))
    # Text in a single-byte charset is hardly ever valid UTF-8 by accident; UTF-8 labelled latin-1 is common.
    try:
        return data.decode("utf-8")
    except UnicodeError:
        pass
    if name and name not in ("utf-8", "utf-8-sig") and name not in _STATEFUL:
        return _tidy(data.decode(name, "replace"))
    if name in ("utf-8", "utf-8-sig"):
        text = data.decode("utf-8", "replace")
        if text.count("\ufffd") * 8 <= sum(byte > 0x7F for byte in data[:20000]):
            return text  # UTF-8 with a few bytes broken, such as a character cut in two
    if hint and (other := codec(hint)) and other not in (name, "utf-8") and not other.startswith(_WIDE):
        try:
            return _tidy(data.decode(other))
        except UnicodeError:
            pass
    if name in _STATEFUL:
        return _tidy(data.decode(name, "replace"))
    return data.decode("cp1252", "replace")


def _wide(data: bytes, name: str) -> str:
    if b"\0" not in data and data.isascii():
        return data.decode("ascii")  # labelled UTF-16, and is not
    if name in ("utf-16", "utf-32") and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name += "-be"  # RFC 2781 section 4.3: without a byte order mark it is big-endian
    return _tidy(data.decode(name, "replace")).removeprefix("\ufeff")


def _tidy(text: str) -> str:
    """``text`` without lone surrogates, which some codecs (UTF-7, UTF-16) can give; true pairs become their character."""
    if _SURROGATE.search(text):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def html_charset(data: bytes) -> str | None:
    """The charset that an HTML document states in its first kilobyte, or None."""
    match = _META.search(data, 0, 2048)
    return match[1].decode("ascii") if match else None


def plain_lines(text: str) -> str:
    """``text`` with ``\\n`` line ends and without control characters other than the tab; a form feed ends a line."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _CONTROL.search(text):
        text = _CONTROL.sub("", text.replace("\x0c", "\n"))
    return text


def header_text(value: bytes, hint: str | None = None) -> str:
    """An unfolded header value as text, encoded words left as they are. Raw 8-bit values are UTF-8, or in ``hint``'s charset."""
    if b"\n" in value or b"\r" in value:
        value = value.replace(b"\r", b"").replace(b"\n", b"")
    text = value.decode("ascii") if value.isascii() else decode(value, None, hint)
    if _CONTROL.search(text):
        text = _CONTROL.sub("", text.replace("\x1b", ""))
    return text.strip()


def decode_words(text: str) -> str:
    """``text`` with its RFC 2047 encoded words decoded, also those inside quotes, and those cut in the middle of a character.

    Neighbouring words of one charset are joined as bytes before they are decoded (mailers split where a line was full).
    """
    if "=?" not in text:
        return text
    out: list[str] = []
    run: list[bytes] = []
    charset = ""
    position = 0

    def flush() -> None:
        if run:
            out.append(decode(b"".join(run), charset))
            run.clear()

    for match in _WORD.finditer(text):
        data = _word_bytes(match[2], match[3])
        if data is None:
            continue
        between = text[position : match.start()]
        label = match[1].partition("*")[0].lower()
        if not run or between.strip() or label != charset:
            flush()
            # White space between two encoded words is not part of the text (RFC 2047 section 6.2).
            if between.strip() or position == 0:
                out.append(between)
            charset = label
        run.append(data)
        position = match.end()
    flush()
    out.append(text[position:])
    decoded = "".join(out)
    if _CONTROL.search(decoded) or "\n" in decoded:
        decoded = _CONTROL.sub("", decoded.replace("\n", " ").replace("\r", ""))
    return decoded


def _word_bytes(kind: str, body: str) -> bytes | None:
    data = body.encode("utf-8")
    if kind in "qQ":
        return binascii.a2b_qp(data.replace(b"\n", b""), header=True)
    data = re.sub(rb"[^A-Za-z0-9+/]", b"", data)
    if len(data) % 4 == 1:
        data = data[:-1]
    try:
        return binascii.a2b_base64(data + b"=" * (-len(data) % 4))
    except binascii.Error:
        return None
