"""What machines wrote into a body: PGP's armor, base64 and uuencode that no MIME part held."""

from __future__ import annotations

from .lines import Lines

UNBROKEN = 10_000
"""Characters of ASCII without a space that are no word."""

ENOUGH = 8
"""Lines of base64, all of one width, that are taken for a file."""


def armor_stop(lines: Lines, i: int) -> int | None:
    """The line after the armor that begins on line ``i``: for a signed message its heading only. None if it never ends."""
    n, stop = len(lines), i + 1
    if "SIGNED MESSAGE" in lines.stripped[i]:
        while stop < n and lines.stripped[stop].startswith("Hash:"):
            stop += 1
        return stop
    while stop < n and not lines.stripped[stop].startswith("-----END PGP"):
        stop += 1
    return stop + 1 if stop < n else None


def encoded_stop(lines: Lines, i: int) -> int | None:
    """The line after the encoded file that begins on line ``i``; None if it is none."""
    stripped, n, stop = lines.stripped, len(lines), i + 1
    if stripped[i].startswith("begin "):
        while stop < n and stripped[stop][:1] == "M" and len(stripped[stop]) >= 58:
            stop += 1
        if stop < i + 3:
            return None
        for last in range(stop, min(stop + 4, n)):
            if stripped[last] == "end":
                return last + 1
        return stop
    width = len(stripped[i])
    while stop < n and len(stripped[stop]) == width and " " not in stripped[stop]:
        stop += 1
    if stop >= i + ENOUGH:
        shorter = stop < n and 0 < len(stripped[stop]) < width and " " not in stripped[stop]
        return stop + shorter
    return stop if width >= UNBROKEN and stripped[i].isascii() else None
