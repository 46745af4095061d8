"""The second pass: from marks to cuts. Visits marks in order, never goes back, and looks ahead a bounded number of lines.

What no mark claims is authored. A quote without ``>`` (Outlook's blocks, some telephones) has no end that form could show,
so it reaches to the end of the text; everywhere else only the quoted lines are taken and what stands between stays authored.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass

from . import lines as ln
from .attributions import attribution_ending
from .lines import Lines, field_of
from .notices import list_footer, notices
from .tables import CAP, DIFF_CHANGE, FORWARDED, FORWARDED_PREFIXES, LOTUS, ORIGINAL

BLOCK_LINES = 60
"""Lines that a block of header fields may take, long lists of recipients wrapped."""

_RULE_CHARACTERS = "-_=*+~#<>[]–—―•·«»| \t"
_QUOTING = (ln.QUOTE, ln.PIPE, ln.NAMED)


@dataclass(frozen=True, slots=True)
class Cut:
    """Lines [start, stop) are ``section`` because of ``why``."""

    start: int
    stop: int
    section: str
    why: str


@dataclass(frozen=True, slots=True)
class _Block:
    """Header fields on lines [start, stop)."""

    start: int
    stop: int
    roles: frozenset[str]
    language: str
    address: bool
    shouted: bool


class Cutter:
    """One body. ``cut()`` answers with cuts that cover all of its lines, in order."""

    def __init__(self, lines: Lines, forward: bool) -> None:
        self.lines = lines
        self.forward = forward
        self.cuts: list[Cut] = []
        self.at = 0  # the first line without a cut
        self.authored = False  # words of the writer's own stand above `at`
        self.introduced = -1  # the line after an attribution, where a quote is expected
        self.skip_fields = 0  # header fields above this line were weighed and are no block
        self.armor_open = True  # whether an end of armor may still follow

    def cut(self) -> list[Cut]:
        handlers = {
            ln.RUN: self._run,
            ln.COLON: self._colon,
            ln.ADDRESSED: self._addressed,
            ln.FIELD: self._field,
            ln.RULE: self._rule,
            ln.PHRASE: self._phrase,
            ln.PGP: self._armor,
        }
        for i, kind in self.lines.marks:
            if i >= self.at and kind in handlers:
                handlers[kind](i)
        self._leave_authored(len(self.lines), last=True)
        return self.cuts

    # What is taken, and what is left

    def _take(self, start: int, stop: int, section: str, why: str) -> None:
        """Lines up to ``start`` stay authored; [start, stop) become ``section``, with the blank lines below."""
        self._leave_authored(start, last=stop >= len(self.lines))
        stop = self.lines.next_text(stop)
        self.cuts.append(Cut(start, stop, section, why))
        self.at = stop

    def _leave_authored(self, stop: int, *, last: bool) -> None:
        """Lines from ``at`` to ``stop`` are the writer's, but for signatures and notices among them."""
        at, lines = self.at, self.lines
        if at >= stop:
            return
        for first, after, section, why in notices(lines, at, stop, last=last or self._nothing_after(stop)):
            if first > at:
                self._own(at, first)
            self.cuts.append(Cut(first, after, section, why))
            at = after
        if at < stop:
            self._own(at, stop)
        self.at = stop

    def _own(self, start: int, stop: int) -> None:
        self.cuts.append(Cut(start, stop, "authored", "authored"))
        self.authored = self.authored or self.lines.next_text(start, stop) < stop

    def _nothing_after(self, stop: int) -> bool:
        """Whether a signature may stand here: what follows is not a mere quote to which an answer may follow."""
        kinds = self.lines.kinds
        return stop >= len(kinds) or kinds[stop] not in _QUOTING

    def _words_above(self, start: int) -> bool:
        return self.authored or self.lines.next_text(self.at, start) < start

    def _rest(self, start: int, headers: int, section: str, why: str) -> None:
        """Everything from ``start`` on is someone else's; its first lines, up to ``headers``, say whose."""
        n = len(self.lines)
        self._take(start, max(headers, start + 1), section, why)
        stop = n
        footer = list_footer(self.lines, self.at, n)
        if footer:
            stop = footer[0]
        if self.at < stop:
            self.cuts.append(Cut(self.at, stop, section, f"{section}:rest"))
        if footer:
            self.cuts.append(Cut(footer[0], n, footer[2], footer[3]))
        self.at = n

    # Quoting characters

    def _run(self, i: int) -> None:
        lines = self.lines
        kinds, n = lines.kinds, len(lines)
        kind = kinds[i]
        stop, j, count = i + 1, i + 1, 1
        while j < n and kinds[j] in (ln.BLANK, kind):
            if kinds[j]:
                stop = j + 1
                count += 1
            j += 1
        introduced = self.introduced >= 0 and lines.next_text(self.introduced) == i
        if kind == ln.QUOTE:
            if not introduced and self._looks_typed(i, stop, count):
                return
            core = lines.stripped[i].strip("> \t").rstrip(": ：").casefold()
            if core in FORWARDED:
                self._forward(i, i + 1, FORWARDED[core])
                return
            self._take(i, stop, "quoted", "quote:>")
        elif kind == ln.PIPE:
            body = lines.stripped[i:stop]
            table = any(line.count("|") > 2 or line.startswith(("|-", "|=", "||")) for line in body[:20])
            if introduced or (
                count >= 2 and not table and all(not line or line[1:2] in ("", " ", "|", ">") for line in body[:20])
            ):
                self._take(i, stop, "quoted", "quote:|")
        else:
            prefix = lines.stripped[i].split(">", 1)[0]
            same = sum(1 for line in lines.stripped[i:stop] if line.startswith(prefix + ">"))
            if introduced or (same >= 2 and len(prefix) <= 3) or self._named_above(prefix):
                self._take(i, stop, "quoted", "quote:name>")

    def _named_above(self, prefix: str) -> bool:
        """Whether a run with the same initials was a quote already."""
        return any(
            c.why == "quote:name>" and self.lines.stripped[c.start].startswith(prefix + ">") for c in self.cuts[-6:]
        )

    def _looks_typed(self, i: int, stop: int, count: int) -> bool:
        """Lines that begin with ``>`` for another reason: mbox's ``>From``, diff's added lines, Python's prompt."""
        lines = self.lines
        first = lines.stripped[i]
        above = i - 1
        while above >= max(self.at, i - 3) and not lines.kinds[above]:
            above -= 1
        before = lines.stripped[above] if above >= self.at else ""
        if count == 1 and first.startswith(">From ") and i > self.at and lines.kinds[i - 1] == ln.TEXT:
            return True
        if before and (DIFF_CHANGE.match(before[:CAP]) or (before == "---" and lines.stripped[above - 1][:1] == "<")):
            return True
        run = [line for line in lines.stripped[i : min(stop, i + 40)] if line]
        return all(line.startswith(">>> ") or line == ">>>" for line in run) and any(
            mark in line for line in run for mark in ("(", "=", "import ", "print ")
        )

    # Attributions

    def _colon(self, i: int) -> None:
        lines = self.lines
        core = lines.stripped[i]
        if len(core) < 60:
            core = core.strip(_RULE_CHARACTERS + ":：").casefold()
            if core in FORWARDED:
                self._forward(i, i + 1, FORWARDED[core])
                return
            if core in ORIGINAL:
                self._phrase(i)
                return
        found = attribution_ending(lines, i, self.at)
        if found is None:
            return
        why = f"attribution:{found.language}"
        below = lines.next_text(i + 1)
        n = len(lines)
        if below < n and lines.kinds[below] in _QUOTING and below - i <= 6:
            self._take(found.start, i + 1, "quoted", why)
            self.introduced = i + 1
        elif not found.strong:
            return
        elif below >= n or not self._words_above(found.start) or self._answered_below(i):
            self._take(found.start, i + 1, "quoted", why)
        else:
            self._rest(found.start, i + 1, "quoted", why)

    def _addressed(self, i: int) -> None:
        """Ends with an address and no colon: an attribution only if dated and a quote follows."""
        lines = self.lines
        below = lines.next_text(i + 1)
        if below < len(lines) and lines.kinds[below] in _QUOTING and below - i <= 3:
            wrapped = lines.stripped[below].lstrip("> ")
            found = attribution_ending(lines, i, self.at)
            if found and (
                LOTUS.search(lines.stripped[i][:CAP])
                or lines.stripped[i][:1].isdigit()
                or found.strong
                or wrapped.endswith(":")
            ):
                self._take(found.start, i + 1, "quoted", f"attribution:{found.language}")
                self.introduced = i + 1

    def _answered_below(self, i: int) -> bool:
        """Whether the next run of ``>`` is not announced, so that the unmarked lines before it are an answer."""
        lines = self.lines
        for j, kind in lines.marks[bisect_left(lines.marks, (i + 1, -1)) :]:
            if kind == ln.RUN and lines.kinds[j] == ln.QUOTE:
                above = j - 1
                while above > i and not lines.kinds[above]:
                    above -= 1
                if above <= i:
                    return True
                return attribution_ending(lines, above, i + 1) is None
        return False

    # Blocks of header fields, and the markers over them

    def _block(self, i: int) -> _Block | None:
        """The header fields that begin on line ``i``."""
        lines = self.lines
        n = min(len(lines), i + BLOCK_LINES)
        roles: set[str] = set()
        languages: Counter[str] = Counter()
        address, shouted, loose, stop, j, blanks = False, True, 0, i, i, 0
        while j < n:
            line = lines.stripped[j]
            if not line:
                blanks += 1
                if blanks > 2:
                    break
                j += 1
                continue
            found = field_of(line) if len(line) < 4000 else None
            if found:
                languages.update(language for _, language in found[0])
                roles.add(found[0][0][0])
                loose = 0
                shouted = shouted and line[:3].isupper() and line[:2] not in ("CC", "TO")
                address = address or "@" in line
            elif blanks or lines.kinds[j] != ln.TEXT:
                break
            else:
                # A wrapped value: a list of people as long as it likes, anything else for two lines.
                people = "@" in line or line.endswith((",", ";")) or "/" in line
                loose += not people
                if loose > 2:
                    break
                address = address or "@" in line
            blanks = 0
            j += 1
            stop = j
        if not roles:
            return None
        return _Block(i, stop, frozenset(roles), languages.most_common(1)[0][0], address, shouted)

    def _believed(self, block: _Block, *, marked: bool) -> bool:
        """Whether header fields are a client's, not someone's own list of things with colons."""
        roles = block.roles - {"other"}
        if marked:
            return len(roles) >= 2
        if block.shouted and not block.address:
            return False
        if "subject" in roles and ("from" in roles or "date" in roles) and len(roles) >= 3:
            return True
        return {"from", "date", "to"} <= roles and block.address

    def _field(self, i: int) -> None:
        if i < self.skip_fields:
            return
        block = self._block(i)
        if block is None:
            return
        start, lotus = self._above(block)
        roles = block.roles
        addressed = "subject" in roles and ((lotus and ("to" in roles or "cc" in roles)) or {"to", "cc"} <= roles)
        if addressed or self._believed(block, marked=False):
            self._others(start, block, f"headers:{block.language}")
        else:
            self.skip_fields = block.stop

    def _above(self, block: _Block) -> tuple[int, bool]:
        """Where a block really begins: with the rule above it, or Lotus's line of name and date. (line, whether Lotus's)"""
        lines = self.lines
        start, seen, above = block.start, 0, block.start - 1
        lotus = False
        while above >= self.at and block.start - above <= 6 and seen < 3:
            line = lines.stripped[above]
            if line:
                seen += 1
                if not line.strip(_RULE_CHARACTERS) and len(line) >= 3:
                    start = above
                    break
                if "from" not in block.roles and len(line) < 200 and LOTUS.search(line):
                    start, lotus = above, True
                    wrapped = above - 1
                    if LOTUS.match(line) and wrapped >= self.at and lines.stripped[wrapped]:
                        start = wrapped
                    break
                if "from" in block.roles:
                    break
            above -= 1
        return start, lotus

    def _others(self, start: int, block: _Block, why: str) -> None:
        """Cut at a believed block: all of the rest, or only the ``>`` run that follows."""
        lines = self.lines
        forward = self.forward or not self._words_above(start)
        section = "forwarded" if forward else "quoted"
        below = lines.next_text(block.stop)
        if not forward and below < len(lines) and lines.kinds[below] == ln.QUOTE:
            self._take(start, block.stop, section, why)
            self.introduced = block.stop
        else:
            self._rest(start, block.stop, section, why)

    def _rule(self, i: int) -> None:
        line = self.lines.stripped[i]
        core = line.strip(_RULE_CHARACTERS + ":：").casefold()
        if not core:
            return
        if core in ORIGINAL:
            self._original(i, ORIGINAL[core])
        elif core in FORWARDED:
            self._forward(i, i + 1, FORWARDED[core])
        elif len(line) > 3 and not line[:3].strip("-_=*") and core.startswith(FORWARDED_PREFIXES):
            stop = i + 1
            while stop < min(i + 3, len(self.lines)) and not line.endswith(("-", "=", "*", "_")):
                line = self.lines.stripped[stop]
                stop += 1
            if not line.endswith(("-", "=", "*", "_")):
                stop = i + 1
            self._forward(i, stop, FORWARDED[next(p for p in FORWARDED_PREFIXES if core.startswith(p))])

    def _phrase(self, i: int) -> None:
        """A bare phrase is a marker only if header fields follow."""
        core = self.lines.stripped[i].strip(_RULE_CHARACTERS + ":：").casefold()
        below = self.lines.next_text(i + 1)
        block = self._block(below) if below < len(self.lines) and below - i <= 3 else None
        if block and self._believed(block, marked=True):
            if core in FORWARDED:
                self._forward(i, i + 1, FORWARDED[core])
            else:
                self._original(i, ORIGINAL[core])

    def _original(self, i: int, language: str) -> None:
        lines = self.lines
        below = lines.next_text(i + 1)
        block = self._block(below) if below < len(lines) and below - i <= 4 else None
        why = f"original:{language}"
        if block and self._believed(block, marked=True):
            self._others(i, _Block(i, block.stop, block.roles, language, True, False), why)
        else:
            forward = self.forward or not self._words_above(i)
            self._rest(i, i + 1, "forwarded" if forward else "quoted", why)

    def _forward(self, i: int, stop: int, language: str) -> None:
        """A marker of a forward; the header fields under it, quoted or not, go with it."""
        lines = self.lines
        below = lines.next_text(stop)
        if below < len(lines) and below - stop <= 6:
            block = self._block(below)
            if block and len(block.roles) >= 2:
                stop = block.stop
        self._rest(i, stop, "forwarded", f"forward:{language}")

    # PGP armor

    def _armor(self, i: int) -> None:
        lines = self.lines
        if "SIGNED MESSAGE" in lines.stripped[i]:
            stop = i + 1
            while stop < len(lines) and lines.stripped[stop].startswith("Hash:"):
                stop += 1
            self._take(i, stop, "signature", "pgp")
            return
        stop = i + 1
        if self.armor_open:
            while stop < len(lines) and not lines.stripped[stop].startswith("-----END PGP"):
                stop += 1
            if stop >= len(lines):
                self.armor_open = False
                return
            self._take(i, stop + 1, "signature", "pgp")
