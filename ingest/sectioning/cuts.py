"""The second pass: from marks to cuts. Visits marks in order, never goes back, and looks ahead a bounded number of lines.

What no mark claims is authored. A quote without ``>`` (Outlook's blocks, some telephones) has no end that form could show,
so it reaches to the end of the text; everywhere else only the quoted lines are taken and what stands between stays authored.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from . import lines as ln
from .attributions import Attribution, attribution_ending
from .blocks import Block, begins_above, read_block
from .lines import RULE_CHARACTERS, Lines
from .notices import anchors_in, list_footer, notices
from .tables import (
    CAP,
    DIFF_CHANGE,
    FORWARD_ENDS,
    FORWARDED,
    FORWARDED_PREFIXES,
    GIT_MAIL,
    ORIGINAL,
    fold,
)

NEAR = 6
"""Blank lines that may lie between an announcement and what it announces."""

UNBROKEN = 10_000
"""Characters of ASCII without a space that are no word."""

_SIGNS = "#:%}]+=~!$&»|>"
_QUOTING = (ln.QUOTE, ln.PIPE, ln.NAMED)


@dataclass(frozen=True, slots=True)
class Cut:
    """Lines [start, stop) are ``section`` because of ``why``."""

    start: int
    stop: int
    section: str
    why: str


class Cutter:
    """One body. ``cut()`` answers with cuts that cover all of its lines, in order."""

    def __init__(self, lines: Lines, forward: bool) -> None:
        self.lines = lines
        self.forward = forward
        self.cuts: list[Cut] = []
        self.at = 0  # the first line without a cut
        self.authored = False  # words of the writer's own stand above `at`
        self.weighed = 0  # header fields above this line were weighed and are no block
        self.armored = True  # whether an end of armor may still follow
        self.anchors = anchors_in(lines.text)
        self.mark = 0  # the next mark to visit
        self.prefixes: list[str] = []  # what stood before quoted lines in place of `>`, and was believed

    def cut(self) -> list[Cut]:
        """The cuts. Call once."""
        handlers = {
            ln.RUN: self._run,
            ln.COLON: self._colon,
            ln.FIELD: self._field,
            ln.RULE: self._rule,
            ln.PHRASE: self._phrase,
            ln.ARMOR: self._armor,
            ln.ENCODED: self._encoded,
        }
        while self.mark < len(self.lines.marks):
            i, kind = self.lines.marks[self.mark]
            self.mark += 1
            if i >= self.at and kind in handlers:
                handlers[kind](i)
        self._leave_authored(len(self.lines))
        return self.cuts

    # What is taken, and what is left

    def _take(self, start: int, stop: int, section: str, why: str) -> None:
        """Lines up to ``start`` stay authored; [start, stop) become ``section``, with the blank lines below."""
        self._leave_authored(start)
        stop = self.lines.next_text(stop)
        self.cuts.append(Cut(start, stop, section, why))
        self.at = stop

    def _leave_authored(self, stop: int) -> None:
        """Lines from ``at`` to ``stop`` are the writer's, but for signatures and notices among them."""
        at, lines = self.at, self.lines
        if at >= stop:
            return
        # Above a bare quote stands an answer, above all else an ending.
        last = stop >= len(lines) or lines.kinds[stop] not in _QUOTING
        for first, after, section, why in notices(lines, at, stop, last=last, anchors=self.anchors):
            self._own(at, first)
            self.cuts.append(Cut(first, after, section, why))
            at = after
        self._own(at, stop)
        self.at = stop

    def _own(self, start: int, stop: int) -> None:
        if start < stop:
            self.cuts.append(Cut(start, stop, "authored", "authored"))
            self.authored = self.authored or self.lines.next_text(start, stop) < stop

    def _words_above(self, start: int) -> bool:
        return self.authored or self.lines.next_text(self.at, start) < start

    def _rest(self, start: int, headers: int, section: str, why: str) -> None:
        """Everything from ``start`` on is someone else's; its first lines, up to ``headers``, say whose."""
        self._take(start, headers, section, why)
        stop = self._end_of_forward(self.at) if section == "forwarded" else len(self.lines)
        footer = list_footer(self.lines, self.at, stop)
        body = footer[0] if footer else stop
        if self.at < body:
            self.cuts.append(Cut(self.at, body, section, f"{section}:rest"))
        if footer:
            self.cuts.append(Cut(*footer))
        self.at = max(self.at, stop)

    def _end_of_forward(self, start: int) -> int:
        """The line after the last that says that a forward ends; the number of lines if none does."""
        lines = self.lines
        for at in range(len(lines.marks) - 1, bisect_left(lines.marks, (start, -1)) - 1, -1):
            i, kind = lines.marks[at]
            if kind == ln.RULE and fold(lines.stripped[i].strip(RULE_CHARACTERS)).startswith(FORWARD_ENDS):
                return lines.next_text(i + 1)
        return len(lines)

    # Quoting characters

    def _run(self, i: int) -> None:
        """A run of quoted lines, with the attribution right above it."""
        lines = self.lines
        kind, stop = lines.kinds[i], lines.run(i)
        if kind == ln.QUOTE and (torn := self._torn(i)):
            self._take(torn.start, i + 1, "quoted", f"attribution:{torn.language}")
            if self.at < stop:
                self._take(self.at, stop, "quoted", "quote:>")
            return
        above = lines.text_above(i, max(self.at, i - NEAR))
        found = None
        if above >= self.at and lines.kinds[above] == ln.TEXT:
            found = attribution_ending(lines, above, self.at, attached=True)
        if kind == ln.QUOTE:
            first = lines.stripped[i].strip("> \t")
            core = fold(first.rstrip(": ："))
            if core in FORWARDED:
                self._forward(i, i + 1, FORWARDED[core])
                return
            if found is None and self._typed(i, stop, above):
                return
            why = "quote:>"
        elif kind == ln.PIPE:
            if found is None and not self._piped(i, stop):
                return
            why = "quote:|"
        else:
            first = lines.stripped[i]
            if not first.startswith(tuple(self.prefixes)):
                name = first[: first.index(">") + 1]
                same = sum(1 for line in lines.stripped[i : min(stop, i + 40)] if line.startswith(name))
                initials = len(name) <= 4 and (same >= 2 or first[len(name) : len(name) + 1] == ">")
                if found is None and not initials:
                    return
                self.prefixes.append(name)
            why = "quote:name>" if first[0].isalpha() else "quote:prefix"
        if found:
            self._take(found.start, above + 1, "quoted", f"attribution:{found.language}")
        self._take(i, stop, "quoted", why)

    def _torn(self, i: int) -> Attribution | None:
        """An attribution whose address was torn before its ``>``, which then looks like a quote: ``> wrote:``."""
        lines = self.lines
        first = lines.stripped[i].strip("> \t")
        if not 2 < len(first) < 24 or first[-1] not in ":：" or i <= self.at or lines.kinds[i - 1] != ln.TEXT:
            return None
        above = lines.stripped[i - 1]
        if above.rfind("<") <= above.rfind(">"):
            return None
        floor = max(self.at, i - 3)
        texts = [*lines.stripped[floor : i - 1], f"{above}> {first}"]
        joined = Lines("", texts, [], bytearray([*lines.kinds[floor : i - 1], ln.TEXT]), [], [], [])
        found = attribution_ending(joined, len(texts) - 1, 0, attached=True)
        return Attribution(found.start + floor, found.language, True) if found else None

    def _typed(self, i: int, stop: int, above: int) -> bool:
        """Lines that begin with ``>`` for another reason: mbox's ``>From``, diff's added lines, a prompt, a heading."""
        lines = self.lines
        first = lines.stripped[i].strip()
        before = lines.stripped[above][:CAP] if above >= self.at else ""
        if stop == i + 1 and first.startswith(">From ") and i > self.at and above == i - 1:
            return True
        if before and (DIFF_CHANGE.match(before) or (before == "---" and lines.stripped[above - 1][:1] == "<")):
            return True
        if not first.startswith(">>>") or first.endswith(">>>"):
            return False
        run = [line.strip() for line in lines.stripped[i : min(stop, i + 40)] if line]
        if not all(line.startswith(">>> ") or line == ">>>" for line in run):
            return False
        if any(sign in line for line in run for sign in ("(", "=", "import ", "print ")):
            return True
        # Three deep with no one quoted above: someone's way to set off a heading.
        return len(run) <= 2 and not any(cut.section == "quoted" for cut in self.cuts[-3:]) and "@" not in first

    def _piped(self, i: int, stop: int) -> bool:
        """Whether lines that begin with ``|`` and have no attribution are a quote, not a table."""
        body = [line for line in self.lines.stripped[i : min(stop, i + 20)] if line]
        boxed = any(len(line) > 1 and line.endswith("|") for line in body)
        return (
            len(body) >= 2
            and not boxed
            and all(line[1:2] in ("", " ", "|", ">") and line.count("|", 1) < 2 for line in body)
        )

    # Attributions without quoting characters

    def _colon(self, i: int) -> None:
        lines = self.lines
        if len(lines.stripped[i]) < 60:
            core = fold(lines.stripped[i].strip(RULE_CHARACTERS + ":："))
            if core in FORWARDED:
                self._forward(i, i + 1, FORWARDED[core])
                return
            if core in ORIGINAL:
                self._phrase(i)
                return
        n, below = len(lines), lines.next_text(i + 1)
        if below < n and lines.kinds[below] in _QUOTING and below - i <= NEAR:
            return  # `_run` sees to it
        sign = self._sign(below)
        found = attribution_ending(lines, i, self.at, attached=bool(sign))
        if found and sign:
            self._adopt(sign, below)
        if found is None or sign or not found.strong:
            return
        why = f"attribution:{found.language}"
        if below >= n or not self._words_above(found.start) or self._answered_below(i):
            self._take(found.start, i + 1, "quoted", why)
        else:
            self._rest(found.start, i + 1, "quoted", why)

    def _sign(self, i: int) -> str:
        """What line ``i`` and the next begin with in place of ``>`` (``#``, ``:``, ``--]``); "" if they share no such sign."""
        stripped = self.lines.stripped
        if i + 1 >= len(stripped) or len(self.prefixes) > 1:
            return ""
        first = stripped[i]
        sign = first[: len(first) - len(first.lstrip(_SIGNS + "-*"))]
        return sign if sign.strip("-*") and stripped[i + 1].startswith(sign) else ""

    def _adopt(self, sign: str, i: int) -> None:
        """From line ``i`` on, lines that begin with ``sign`` are quoted."""
        lines = self.lines
        self.prefixes.append(sign)
        adopted = [j for j in range(i, len(lines)) if lines.kinds[j] == ln.TEXT and lines.stripped[j].startswith(sign)]
        for j in adopted:
            lines.kinds[j] = ln.NAMED
        runs = [(j, ln.RUN) for j in adopted if lines.kinds[j - 1] != ln.NAMED]
        others = [mark for mark in lines.marks if lines.kinds[mark[0]] != ln.NAMED or mark[1] == ln.RUN]
        lines.marks = sorted([*others, *runs])
        self.mark = bisect_left(lines.marks, (i, -1))

    def _answered_below(self, i: int) -> bool:
        """Whether the next run of ``>`` is not announced, so that the unmarked lines before it are an answer."""
        lines = self.lines
        at = bisect_left(lines.runs, i + 1)
        if at == len(lines.runs):
            return False
        above = lines.text_above(lines.runs[at], i + 1)
        return above <= i or attribution_ending(lines, above, i + 1, attached=True) is None

    # Blocks of header fields, and the markers over them

    def _field(self, i: int) -> None:
        if i < self.weighed:
            return
        block = read_block(self.lines, i)
        if block is None:
            return
        if i and GIT_MAIL.match(self.lines.stripped[i - 1]):
            self.weighed = block.stop
            return
        start, lotus = begins_above(self.lines, block, self.at)
        roles = block.roles
        addressed = "subject" in roles and (
            (lotus and roles & {"to", "cc"}) or (block.client and {"to", "cc"} <= roles)
        )
        if addressed or block.believed:
            self._others(start, block, f"headers:{block.language}")
        else:
            self.weighed = block.stop

    def _others(self, start: int, block: Block, why: str) -> None:
        """Cut at a believed block: all of the rest, or only the ``>`` run that follows."""
        lines = self.lines
        below = lines.next_text(block.stop)
        quoted = below < len(lines) and lines.kinds[below] == ln.QUOTE
        if quoted and not self.forward:
            self._take(start, block.stop, "quoted", why)
            self._take(below, lines.run(below), "quoted", "quote:>")
            return
        # Headers pasted whole are not a client's answer: what follows may be anything, so it stays searchable.
        forward = self.forward or block.raw or not self._words_above(start)
        self._rest(start, block.stop, "forwarded" if forward else "quoted", why)

    def _rule(self, i: int) -> None:
        """A line that begins with a rule: a marker, if its words are one's."""
        line = self.lines.stripped[i]
        core = fold(line.strip(RULE_CHARACTERS + ":："))
        ruled = not line[:3].strip(RULE_CHARACTERS)
        if core in ORIGINAL and (ruled or self._block_below(i + 1)):
            self._original(i, ORIGINAL[core])
        elif core in FORWARDED and (ruled or self._block_below(i + 1)):
            self._forward(i, i + 1, FORWARDED[core])
        elif core.startswith(FORWARDED_PREFIXES) and not line[:3].strip("-_=*"):
            stop = i + 1
            # "Forwarded by NAME on DATE" may be wrapped before its closing rule.
            for wrapped in range(i, min(i + 3, len(self.lines))):
                if self.lines.stripped[wrapped].endswith(("-", "=", "*", "_")):
                    stop = wrapped + 1
                    break
            self._forward(i, stop, FORWARDED[next(p for p in FORWARDED_PREFIXES if core.startswith(p))])

    def _phrase(self, i: int) -> None:
        """A bare phrase is a marker only if header fields follow."""
        core = fold(self.lines.stripped[i].strip(RULE_CHARACTERS + ":："))
        block = self._block_below(i + 1)
        if block and block.marked:
            if core in FORWARDED:
                self._forward(i, i + 1, FORWARDED[core])
            else:
                self._original(i, ORIGINAL[core])

    def _block_below(self, i: int) -> Block | None:
        below = self.lines.next_text(i)
        return read_block(self.lines, below) if below < len(self.lines) and below - i <= NEAR else None

    def _original(self, i: int, language: str) -> None:
        block = self._block_below(i + 1)
        if block is None or not (block.marked or "from" in block.roles):
            block = Block(i, i + 1, frozenset(), language, client=False, sent=False, raw=False)
        self._others(i, block, f"original:{language}")

    def _forward(self, i: int, stop: int, language: str) -> None:
        """A marker of a forward; the header fields under it go with it."""
        block = self._block_below(stop)
        if block is None:
            # Lotus's line of name and date stands between.
            for below in range(stop, min(stop + NEAR, len(self.lines))):
                candidate = read_block(self.lines, below) if self.lines.stripped[below] else None
                if candidate:
                    block = candidate
                    break
        if block and block.marked:
            stop = block.stop
        self._rest(i, stop, "forwarded", f"forward:{language}")

    # What machines wrote

    def _armor(self, i: int) -> None:
        lines, n = self.lines, len(self.lines)
        stop = i + 1
        if "SIGNED MESSAGE" in lines.stripped[i]:
            while stop < n and lines.stripped[stop].startswith("Hash:"):
                stop += 1
            self._take(i, stop, "signature", "pgp")
        elif self.armored:
            while stop < n and not lines.stripped[stop].startswith("-----END PGP"):
                stop += 1
            self.armored = stop < n
            if self.armored:
                self._take(i, stop + 1, "signature", "pgp")

    def _encoded(self, i: int) -> None:
        """Base64 or uuencode that no MIME part held: at least eight lines and the shorter one that ends it, or one huge line."""
        lines, n = self.lines, len(self.lines)
        stop = i + 1
        if lines.stripped[i].startswith("begin "):
            while stop < n and lines.stripped[stop][:1] == "M" and len(lines.stripped[stop]) >= 58:
                stop += 1
            while stop < min(n, i + 1 + (stop - i) + 3) and stop > i + 1 and len(lines.stripped[stop]) < 61:
                stop += 1
                if lines.stripped[stop - 1] == "end":
                    break
            enough = stop > i + 2
        else:
            width = len(lines.stripped[i])
            alone = width >= UNBROKEN and lines.stripped[i].isascii()
            while stop < n and len(lines.stripped[stop]) == width and " " not in lines.stripped[stop]:
                stop += 1
            enough = alone or stop >= i + 8
            if stop >= i + 8 and stop < n and 0 < len(lines.stripped[stop]) < width and " " not in lines.stripped[stop]:
                stop += 1
        if enough:
            self._take(i, stop, "signature", "encoded")
