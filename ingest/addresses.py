"""Address headers to (name, address) pairs: the common forms at once, the others by mail-parser, what it gives up on by its remains.

mail-parser's ``get_addresses`` reads comments, groups, routes and quotes right, and takes 80 microseconds an address, so two
patterns read the plain forms first. It is gone around where it drops a person: an item that it finds ambiguous (no angle
brackets around the address, a name with an unpaired quote) is left out of its answer, and encoded words that end in the middle
of a character, or are of a charset unknown to Python, stay undecoded.
"""

from __future__ import annotations

import re
from functools import lru_cache

from mailparser.utils import get_addresses

from datasette_oaken.charsets import decode_words

_SPEC = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~\x80-\ud7ff\ue000-\U0010ffff-]+@[A-Za-z0-9._\x80-\ud7ff\ue000-\U0010ffff-]+"
_PLAIN = re.compile(rf'(?:"([^"\\]*)"[ \t]*|([^"<>@,;:()\\\[\]]*))<({_SPEC})>|({_SPEC})')
_FOUND = re.compile(_SPEC)
_TOKEN = re.compile(r"[^\s<>()\[\],;:\"]+")
_BRACKETED = re.compile(rf"<[ \t]*(?:mailto:)?({_SPEC})[ \t]*>")
_PUNCTUATION = re.compile(r'[<>()"\[\];,:]|mailto')
_OBSCURED = re.compile(r"^[ \t]*([\w.+-]{1,64}) at ([\w-]{1,63}(?:\.[\w-]{1,63})+)(?=[ \t]*(?:\(|$))")


def addresses(value: str) -> list[tuple[str | None, str | None]]:
    """The mailboxes of an unfolded address header, in order, names decoded. A name without an address is kept as (name, None)."""
    return list(_addresses(value)) if len(value) < 500 else list(_addresses.__wrapped__(value))


@lru_cache(maxsize=8192)
def _addresses(value: str) -> tuple[tuple[str | None, str | None], ...]:
    found = _common(value)
    if found is None:
        found = _structured(value)
    return tuple((_name(name, address), address or None) for name, address in found if name or address)


def _common(value: str) -> list[tuple[str, str]] | None:
    """Lists of ``Name <a@b>``, ``"Name" <a@b>`` and ``a@b``; None when anything else stands in ``value``."""
    out = []
    position, length = 0, len(value)
    while position < length:
        if value[position] in " \t":
            position += 1
            continue
        match = _PLAIN.match(value, position)
        if match is None:
            return None
        position = match.end()
        while position < length and value[position] in " \t":
            position += 1
        if position < length and value[position] != ",":
            return None
        position += 1
        quoted, name, inside, bare = match.groups()
        out.append((quoted or name or "", inside or bare))
    return out


def _structured(value: str) -> list[tuple[str, str]]:
    if match := _OBSCURED.match(value):  # pipermail's archives write "user at host"
        value = f"{match[1]}@{match[2]}{value[match.end() :]}"
    remains: list[dict] = []
    out = [(name, address) for name, address in get_addresses(value, defects=remains) if address]
    for remain in remains:
        if not remain["recovered"]:
            out.append(_salvaged(remain["raw"]))
    return out


def _salvaged(item: str) -> tuple[str, str]:
    """The person in an item that follows no grammar: its first address in angle brackets, else its last, and the words around it."""
    if match := _BRACKETED.search(item):
        address = match[1]
        around = item[: match.start()] or item[match.end() :]
    else:
        # By words, since a search for a@b by itself starts anew at every character.
        words = [word for word in _TOKEN.finditer(item) if "@" in word[0] and _FOUND.fullmatch(word[0])]
        if not words:
            if "undisclosed" in item.lower():
                return "", ""
            return item.strip(" \t\"'<>:;,()"), ""
        address = words[-1][0]
        around = f"{item[: words[-1].start()]} {item[words[-1].end() :]}"
    return " ".join(_PUNCTUATION.sub(" ", around).split()), address.strip(".")


def _name(name: str, address: str) -> str | None:
    name = " ".join(decode_words(name).split())
    if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"":
        name = name[1:-1].strip()
    return None if not name or name.lower() == address.lower() else name
