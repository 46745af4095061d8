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
    "usascii": "ascii",
    "ansix341968": "ascii",
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
# What a multi-byte label is tried as: what it says, then the vendors' extensions of it.
_MULTIBYTE = {
    "gb18030": ("gb18030",),
    "big5hkscs": ("big5hkscs", "cp950"),
    "cp949": ("cp949",),
    "cp932": ("cp932", "euc_jp"),
    "euc_jp": ("euc_jp", "euc_jis_2004", "cp932"),
    "euc_jis_2004": ("euc_jis_2004",),
    "shift_jis_2004": ("shift_jis_2004",),
    "johab": ("johab",),
}
_EBCDIC = ("cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140")
# Between these a text without a label is told apart, when so many of its bytes are above 127 that no European text has them.
_GUESSES = [
    "cp1251",
    "koi8_r",
    "gb18030",
    "big5hkscs",
    "cp949",
    "cp932",
    "euc_jp",
    "cp1253",
    "cp1255",
    "cp1256",
    "cp874",
]
_FOREIGN_SHARE = 0.3
_GUESSED_BYTES = 4096
_WIDE = ("utf-16", "utf-32", "utf_16", "utf_32")
_NOT_NAME = re.compile(r"[^a-z0-9]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f]")
_FOLD = re.compile(rb"\n(?=[ \t])")
_BEYOND_ASCII = re.compile("[^\x00-\x7f\ufffd]")
_HIGH = re.compile(rb"[\x80-\xff]")
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")
_C1 = re.compile("[\x80-\x9f]")
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
        return _from_ascii(data, name)
    if data.startswith(codecs.BOM_UTF8):
        return data.decode("utf-8-sig", "replace")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _wide(data, "utf-16")
    if name in _MULTIBYTE:
        text = _strict(data, *_MULTIBYTE[name], "utf-8")
        return text if text is not None else _tidy(data.decode(name, "replace"))
    # Text in a single-byte charset is hardly ever valid UTF-8 by accident; UTF-8 labelled latin-1 is common.
    text = _strict(data, "utf-8") or data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if not broken or len(_BEYOND_ASCII.findall(text)) >= (1 if name == "utf-8" else 4) * broken:
        return text  # or UTF-8 of which a little is damaged, such as a character cut in two
    if name and name not in _STATEFUL and name not in ("ascii", "utf-8", "utf-8-sig"):
        return _tidy(data.decode(name, "replace"))
    # The label is missing, unknown or plainly wrong.
    other = codec(hint) if hint else None
    if other and other not in ("ascii", "utf-8") and not other.startswith(_WIDE):
        found = _strict(data, *_MULTIBYTE.get(other, (other,)))
        if found is not None:
            return found
    return _tidy(data.decode(_guess(data) or "cp1252", "replace"))


def _strict(data: bytes, *names: str) -> str | None:
    """``data`` by the first of ``names`` that explains every byte of it."""
    for name in names:
        try:
            return _tidy(data.decode(name))
        except UnicodeError:
            pass
    return None


def _from_ascii(data: bytes, name: str | None) -> str:
    """Seven-bit ``data``: itself, unless the label or its escapes say that it stands for other characters."""
    if b"\x1b" in data and (name is None or name == "ascii" or name.startswith("iso2022")):
        if b"\x1b$)C" in data:
            return _tidy(data.decode("iso2022_kr", "replace"))
        if name == "iso2022_jp_ext" or b"\x1b$" in data:
            return _iso2022_jp(data)
    if name in _STATEFUL or name in _EBCDIC:
        return _tidy(data.decode(name, "replace"))
    return data.decode("ascii")


def _iso2022_jp(data: bytes) -> str:
    """ISO-2022-JP, with the vendors' characters (circled digits, half-width kana) that real mail has in it and the standard not.

    What Python's codec refuses is read as cp932: its two-byte codes are those of JIS X 0208, shifted.
    """
    try:
        return data.decode("iso2022_jp_ext")
    except UnicodeError:
        pass
    out = []
    charset = b"(B"
    for piece in re.split(rb"(\x1b(?:\$\(?[@BD]|\([BJI]))", data):
        if piece.startswith(b"\x1b"):
            charset = piece[1:]
        elif charset in (b"$B", b"$@"):
            pairs = zip(piece[::2], piece[1::2], strict=False)
            out.append(b"".join(_shifted(high, low) for high, low in pairs).decode("cp932", "replace"))
        elif charset == b"(I":
            out.append(bytes(byte | 0x80 for byte in piece).decode("cp932", "replace"))
        elif charset in (b"$(D", b"$D"):
            out.append((b"\x1b$(D" + piece + b"\x1b(B").decode("iso2022_jp_ext", "replace"))
        else:
            out.append(piece.decode("ascii", "replace"))
    return "".join(out)


def _shifted(high: int, low: int) -> bytes:
    """A JIS X 0208 code as Shift JIS; a line end inside a two-byte run stays what it is."""
    if not (0x21 <= high <= 0x7E and 0x21 <= low <= 0x7E):
        return bytes((high, low))
    row = (high - 0x21) // 2
    lead = row + (0x81 if row < 0x1F else 0xC1)
    trail = low + (0x1F if low < 0x60 else 0x20) if high % 2 else low + 0x7E
    return bytes((lead, trail))


def _guess(data: bytes) -> str | None:
    """The charset of 8-bit ``data`` that no label explains, by charset-normalizer; None where it may well be European."""
    sample = data[: data.rfind(b"\n", 0, _GUESSED_BYTES) + 1 or _GUESSED_BYTES]
    high = len(_HIGH.findall(sample))
    if high < 8 or high < _FOREIGN_SHARE * len(sample.translate(None, b" \t\r\n")):
        return None
    from charset_normalizer import from_bytes

    for match in from_bytes(sample, cp_isolation=_GUESSES, steps=4, chunk_size=512, threshold=0.4):
        # Any pairs of bytes read as half-width kana, so a text of those alone is another charset's.
        if len(_HALF_WIDTH.findall(str(match))) * 4 < high:
            return match.encoding
    return None


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


def _windows(match: re.Match[str]) -> str:
    return match[0].encode("latin-1").decode("cp1252", "ignore")


def printable(text: str) -> str:
    """``text`` without control characters other than tab and line ends.

    U+0080 to U+009F are what becomes of windows-1252 that went for latin-1 on its way to UTF-8: they are put back.
    """
    if not text.isascii() and _C1.search(text):
        text = _C1.sub(_windows, text)
    return _CONTROL.sub("", text) if _CONTROL.search(text) else text


def plain_lines(text: str) -> str:
    """``text`` with ``\\n`` line ends, ``printable``; a form feed ends a line."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x0c" in text:
        text = text.replace("\x0c", "\n")
    return printable(text)


def header_text(value: bytes, hint: str | None = None) -> str:
    """An unfolded header value as text, encoded words left as they are. Raw 8-bit values are UTF-8, or in ``hint``'s charset."""
    if b"\n" in value or b"\r" in value:
        value = _FOLD.sub(b"", value.replace(b"\r", b"").rstrip(b"\n")).replace(b"\n", b" ")
    text = value.decode("ascii") if value.isascii() else decode(value, None, hint)
    return printable(text).strip()


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
    return printable("".join(out).replace("\r", "").replace("\n", " "))


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
