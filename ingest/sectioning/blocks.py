"""Blocks of header fields in a body: what Outlook, Lotus Notes and every forward print over the message that they carry."""

from __future__ import annotations

from dataclasses import dataclass

from .lines import INVISIBLE, RULE_CHARACTERS, TEXT, Lines, field_of
from .tables import CAP, LOTUS, PLAIN_DATES, RAW_FIELDS, TIME

LONGEST = 60
"""Lines that a block may take, with long lists of recipients wrapped."""

_UNSEEN = str.maketrans("", "", INVISIBLE)


@dataclass(frozen=True, slots=True)
class Block:
    """Header fields on lines [start, stop). ``client``: they hold what a client prints, an address or the time of
    sending. ``raw``: they were pasted from a message's own header."""

    start: int
    stop: int
    roles: frozenset[str]
    language: str
    client: bool
    sent: bool
    raw: bool

    @property
    def believed(self) -> bool:
        """Whether the fields are a client's, and not someone's own list of things with colons."""
        if not self.client:
            return False
        if "subject" in self.roles and self.roles & {"from", "date"} and len(self.roles - {"other"}) >= 3:
            return True
        return {"from", "date", "to"} <= self.roles and self.sent

    @property
    def marked(self) -> bool:
        """Whether the fields are enough under a line that says a message follows."""
        return len(self.roles - {"other"}) >= 2


def read_block(lines: Lines, i: int) -> Block | None:
    """The block that begins on line ``i``, reading at most ``LONGEST`` lines; None if that line is no field."""
    roles: set[str] = set()
    languages: list[str] = []
    client = address = sent = False
    loose = blanks = raw = 0
    stop = i
    for j in range(i, min(len(lines), i + LONGEST)):
        line = lines.stripped[j]
        if not line:
            blanks += 1
            if blanks > 2:
                break
            continue
        found = field_of(line) if len(line) < 10 * CAP else None
        if found:
            roles_of, name, value = found
            languages += [language for _, language in roles_of]
            role = roles_of[0][0]
            roles.add(role)
            raw += name in RAW_FIELDS
            loose = 0
            if role == "date" and TIME.search(value[:CAP].translate(_UNSEEN).casefold()):
                client = True
                sent = sent or not name.startswith(PLAIN_DATES)
            elif role == "from" and LOTUS.search(value[:CAP]):
                client = True
        elif blanks or lines.kinds[j] != TEXT:
            break
        else:
            # A wrapped value: a list of people as long as it likes, anything else for two lines.
            loose += not ("@" in line or line.endswith((",", ";")) or ("/" in line and "," in line))
            if loose > 2:
                break
        address = address or "@" in line
        blanks = 0
        stop = j + 1
    if not roles:
        return None
    language = max(languages, key=languages.count)
    return Block(i, stop, frozenset(roles), language, client or address, sent or address, raw > 0)


def begins_above(lines: Lines, block: Block, floor: int) -> tuple[int, bool]:
    """Where a block really begins: at the rule above it, or at Lotus's line of name and date. (line, whether Lotus's)"""
    above = seen = 0
    for above in range(block.start - 1, max(floor, block.start - 6) - 1, -1):
        line = lines.stripped[above]
        if not line:
            continue
        seen += 1
        if len(line) >= 3 and not line.strip(RULE_CHARACTERS):
            return above, False
        if "from" in block.roles or seen > 3:
            break
        if len(line) < CAP and LOTUS.search(line):
            # The name stands before the date, or on the line above it.
            alone = LOTUS.match(line) and above > floor and lines.stripped[above - 1]
            return above - 1 if alone else above, True
    return block.start, False
