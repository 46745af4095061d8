"""The second pass: from marks to cuts. Visits marks in order, never goes back, and looks ahead a bounded number of lines.

What no mark claims is authored. A quote without ``>`` (Outlook's blocks, some telephones) has no end that form could show,
so it reaches to the end of the text; everywhere else only the quoted lines are taken and what stands between stays authored.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from . import lines as ln
from . import machines, quoting
from .attributions import attribution_ending, attribution_within
from .blocks import Block, begins_above, read_block
from .lines import RULE_CHARACTERS, Lines
from .notices import list_footer, may_have_notices, notices
from .tables import (
    FORWARD_ENDS,
    FORWARDED,
    FORWARDED_PREFIXES,
    GIT_MAIL,
    LOTUS_WROTE,
    ORIGINAL,
    fold,
)

NEAR = 6
"""Blank lines that may lie between an announcement and what it announces."""

_QUOTING = (ln.QUOTE, ln.PIPE, ln.NAMED)


class Cut(NamedTuple):
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
        self.legal = may_have_notices(lines.text)
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
            ln.INLINE: self._inline,
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
        for first, after, section, why in notices(lines, at, stop, last=last, legal=self.legal):
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
        kind, stop, first = lines.kinds[i], lines.run(i), lines.stripped[i]
        if kind == ln.QUOTE:
            core = fold(first.strip("> \t").rstrip(": ："))
            if core in FORWARDED:
                self._forward(i, i + 1, FORWARDED[core])
                return
            if torn := quoting.torn(lines, i, self.at):
                self._take(torn.start, i + 1, "quoted", f"attribution:{torn.language}")
                if self.at < stop:
                    self._take(self.at, stop, "quoted", "quote:>")
                return
            if stop == i + 1 and quoting.is_groupwise(first) and self._words_above(i):
                self._rest(i, stop, "quoted", "attribution:und")
                return
        above = lines.text_above(i, max(self.at, i - NEAR))
        found = None
        if above >= self.at and lines.kinds[above] == ln.TEXT:
            found = attribution_ending(lines, above, self.at, attached=True)
        if kind == ln.QUOTE:
            quoted = any(cut.section == "quoted" for cut in self.cuts[-3:])
            over = above if above >= self.at else -1
            if found is None and quoting.is_typed(lines, i, stop, over, quoted=quoted):
                return
            why = "quote:>"
        elif kind == ln.PIPE:
            if found is None and not quoting.is_piped(lines, i, stop):
                return
            why = "quote:|"
        elif not first.startswith(tuple(self.prefixes)):
            if found is None and not quoting.are_initials(lines, i, stop):
                return
            self.prefixes.append(quoting.name_of(first))
            why = "quote:name>"
        else:
            why = "quote:name>" if first[0].isalpha() else "quote:prefix"
        if found:
            self._take(found.start, above + 1, "quoted", f"attribution:{found.language}")
        self._take(i, stop, "quoted", why)

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
        sign = quoting.sign_of(lines, below) if len(self.prefixes) < 2 else ""
        found = attribution_ending(lines, i, self.at, attached=bool(sign))
        if found and sign:
            self.prefixes.append(sign)
            self.mark = quoting.adopt(lines, sign, below)
        if found is None or sign or not found.strong:
            return
        why = f"attribution:{found.language}"
        if below >= n or not self._words_above(found.start) or self._answered_below(i):
            self._take(found.start, i + 1, "quoted", why)
        else:
            self._rest(found.start, i + 1, "quoted", why)

    def _inline(self, i: int) -> None:
        """An attribution with the first of the quoted words behind it on its line (Yahoo's for Android)."""
        found = attribution_within(self.lines.stripped[i])
        if found and self._words_above(i):
            self._rest(i, i + 1, "quoted", f"attribution:{found}")

    def _answered_below(self, i: int) -> bool:
        """Whether the next quoted run is not announced, so that the unmarked lines before it are an answer."""
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
        elif ruled and core.endswith(LOTUS_WROTE) and self._block_below(i + 1):
            self._original(i, "en")
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
            if self._quoted_soon(i + 1):
                # The marker only; the attribution and the run of `>` below say the rest.
                self._take(i, i + 1, "quoted", f"original:{language}")
                return
            block = Block(i, i + 1, frozenset(), language, client=False, sent=False, raw=False)
        self._others(i, block, f"original:{language}")

    def _quoted_soon(self, i: int) -> bool:
        """Whether an attribution and a run of ``>`` follow at once."""
        lines = self.lines
        for below in range(i, min(i + NEAR, len(lines))):
            if lines.kinds[below] == ln.QUOTE:
                above = lines.text_above(below, i)
                return above >= i and attribution_ending(lines, above, i, attached=True) is not None
        return False

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
        stop = (
            machines.armor_stop(self.lines, i) if self.armored or "SIGNED MESSAGE" in self.lines.stripped[i] else None
        )
        if stop is None:
            self.armored = False
        else:
            self._take(i, stop, "signature", "pgp")

    def _encoded(self, i: int) -> None:
        stop = machines.encoded_stop(self.lines, i)
        if stop:
            self._take(i, stop, "signature", "encoded")
