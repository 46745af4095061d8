"""Signs before quoted lines: which runs of ``>``, ``|``, ``JD>`` or ``#`` are quotes, and which are somebody's own doing."""

from __future__ import annotations

from bisect import bisect_left

from .attributions import Attribution, attribution_ending
from .lines import NAMED, RUN, TEXT, Lines
from .tables import CAP, DIFF_CHANGE, GIT_MAIL, TIME

_SIGNS = "#:%}]+=~!$&»|>"
_LOOKED_AT = 40
"""Lines of a run that are looked at to judge it."""


def torn(lines: Lines, i: int, floor: int) -> Attribution | None:
    """An attribution whose address was torn before its ``>``, so that line ``i`` looks like a quote: ``> wrote:``."""
    first = lines.stripped[i].strip("> \t")
    if not 2 < len(first) < 24 or first[-1] not in ":：" or i <= floor or lines.kinds[i - 1] != TEXT:
        return None
    above = lines.stripped[i - 1]
    if above.rfind("<") <= above.rfind(">"):
        return None
    floor = max(floor, i - 3)
    texts = [*lines.stripped[floor : i - 1], f"{above}> {first}"]
    joined = Lines("", texts, [], bytearray([*lines.kinds[floor : i - 1], TEXT]), [], [], [])
    found = attribution_ending(joined, len(texts) - 1, 0, attached=True)
    return Attribution(found.start + floor, found.language, True) if found else None


def is_groupwise(line: str) -> bool:
    """GroupWise's attribution, ``>>> "Ann Lee" <ann@example.org> 05/01/16 12:00 >>>``, under which nothing is marked."""
    return line.startswith(">>>") and line.rstrip().endswith(">>>") and TIME.search(line[:CAP].casefold()) is not None


def is_typed(lines: Lines, i: int, stop: int, above: int, *, quoted: bool) -> bool:
    """Whether lines [i, stop) begin with ``>`` for another reason: mbox's ``>From``, diff's added lines, a prompt, a heading.

    ``above``: the line with text over them, -1 if there is none. ``quoted``: something right above was quoted.
    """
    first = lines.stripped[i].strip()
    before = lines.stripped[above][:CAP] if above >= 0 else ""
    if stop == i + 1 and first.startswith(">From ") and ((before and above == i - 1) or GIT_MAIL.match(first)):
        return True
    if before and (DIFF_CHANGE.match(before) or (before == "---" and lines.stripped[above - 1][:1] == "<")):
        return True
    if not first.startswith(">>>") or first.endswith(">>>"):
        return False
    run = [line.strip() for line in lines.stripped[i : min(stop, i + _LOOKED_AT)] if line]
    if not all(line.startswith(">>> ") or line == ">>>" for line in run):
        return False
    if any(sign in line for line in run for sign in ("(", "=", "import ", "print ")):
        return True
    # Three deep with no one quoted above: someone's way to set off a heading.
    return len(run) <= 2 and not quoted and "@" not in first


def is_piped(lines: Lines, i: int, stop: int) -> bool:
    """Whether lines [i, stop) that begin with ``|`` and have no attribution are a quote, not a table."""
    body = [line for line in lines.stripped[i : min(stop, i + _LOOKED_AT)] if line]
    if len(body) < 2 or any(len(line) > 1 and line.endswith("|") for line in body):
        return False
    return all(line[1:2] in ("", " ", "|", ">") and line.count("|", 1) < 2 for line in body)


def name_of(line: str) -> str:
    """``JD>`` of ``JD> words``."""
    return line[: line.index(">") + 1]


def are_initials(lines: Lines, i: int, stop: int) -> bool:
    """Whether what stands before ``>`` on line ``i`` is someone's initials though no attribution says so."""
    first = lines.stripped[i]
    name = name_of(first)
    if len(name) > 4:
        return False
    same = sum(1 for line in lines.stripped[i : min(stop, i + _LOOKED_AT)] if line.startswith(name))
    return same >= 2 or first[len(name) : len(name) + 1] == ">"


def sign_of(lines: Lines, i: int) -> str:
    """What lines ``i`` and ``i + 1`` begin with in place of ``>`` (``#``, ``:``, ``--]``); "" if they share no such sign."""
    stripped = lines.stripped
    if i + 1 >= len(stripped):
        return ""
    first = stripped[i]
    sign = first[: len(first) - len(first.lstrip(_SIGNS + "-*"))]
    return sign if sign.strip("-*") and stripped[i + 1].startswith(sign) else ""


def adopt(lines: Lines, sign: str, i: int) -> int:
    """Make lines from ``i`` on that begin with ``sign`` runs of quoting; the index of the first mark from ``i`` on."""
    adopted = [j for j in range(i, len(lines)) if lines.kinds[j] == TEXT and lines.stripped[j].startswith(sign)]
    for j in adopted:
        lines.kinds[j] = NAMED
    runs = [(j, RUN) for j in adopted if lines.kinds[j - 1] != NAMED]
    others = [mark for mark in lines.marks if lines.kinds[mark[0]] != NAMED or mark[1] == RUN]
    lines.marks = sorted([*others, *runs])
    return bisect_left(lines.marks, (i, -1))
