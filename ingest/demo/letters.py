"""A message before it is written (Draft), after (Mail), and the program that writes it (Client); how text is laid out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from .calendar import DAYS, MONTHS, clock, header_date, local
from .dice import Dice
from .people import Person
from .wire import File


@dataclass(slots=True)
class Draft:
    """A message about to be written. `inline` pairs a passage of the parent with the answer beneath it."""

    sender: Person
    to: list[Person]
    cc: list[Person]
    subject: str
    when: datetime
    greeting: str
    paragraphs: list[str]
    signoff: str
    parent: "Mail | None" = None
    forward: bool = False
    inline: list[tuple[str, str]] = field(default_factory=list)
    files: list[File] = field(default_factory=list)

    @property
    def authored(self) -> list[str]:
        """The writer's own paragraphs, in order."""
        own = [self.greeting, *(answer for _, answer in self.inline), *self.paragraphs, self.signoff]
        return [paragraph for paragraph in own if paragraph]


@dataclass(slots=True)
class Mail:
    """A message that was written: what a reply needs to know of it, and its bytes."""

    message_id: str
    sender: Person
    to: list[Person]
    cc: list[Person]
    subject: str
    when: datetime
    authored: list[str]
    text: str
    html: str
    references: list[str]
    raw: bytes = b""
    bulk: bool = False
    answered: bool = False
    tags: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Client:
    """A mail program."""

    attribution: Callable[[Mail, str], str]
    message_id: Callable[[Dice, str, datetime], str]
    agent: Callable[[datetime], list[str]]
    quoting: str = "> "  # what is put before each quoted line; "" leaves them as they are
    wrap: int = 0  # hard line length; 0 leaves a paragraph on one line
    flowed: bool = False  # format=flowed, RFC 3676
    html: Callable[[Draft, "Client"], tuple[str, str]] | None = None  # (inner, whole document)
    charset: str = "utf-8"
    encoding: str = "quoted-printable"
    subject_method: str = "B"
    boundary: Callable[[Dice], str] = lambda dice: "000000000000" + dice.hex(16)
    dashes: bool = True  # the signature stands under "-- "
    farewell: str = ""  # "Sent from my phone"
    attribution_quoted: bool = False  # iOS quotes its attribution line too
    mime_version: str = "1.0"


def wrapped(text: str, width: int, prefix: str = "") -> list[str]:
    """`text` in lines of at most `width`, each after `prefix`; words longer than that stay whole."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(prefix) + len(line) + 1 + len(word) > width:
            lines.append(prefix + line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, prefix + line]


def quoted_lines(text: str, client: Client) -> list[str]:
    """`text` as the client quotes it, line by line."""
    mark = client.quoting
    out: list[str] = []
    limit = 80 if client.wrap else 0  # lines already broken by the other program stay as they are
    for line in text.split("\n"):
        if not mark:
            out.append(line)
        elif line.startswith(">"):
            out.append((mark if client.wrap == 72 else mark.strip()) + line)
        elif not line:
            out.append(mark.rstrip())
        else:
            out += wrapped(line, client.wrap + 2, mark) if 0 < limit < len(line) else [mark + line]
    return out


def plain_text(draft: Draft, client: Client) -> str:
    """The whole text body as the program composes it, before wrapping on the wire."""

    def own(paragraph: str) -> str:
        rows = paragraph.split("\n")
        return "\n".join("\n".join(wrapped(row, client.wrap)) if client.wrap and row else row for row in rows)

    blocks: list[str] = []
    parent = draft.parent
    head = client.attribution(parent, draft.sender.zone) if parent and not draft.forward else ""
    if draft.inline and parent:
        if draft.greeting:
            blocks.append(draft.greeting)
        blocks.append(head + "\n" + "\n".join(quoted_lines(draft.inline[0][0], client)))
        blocks.append(own(draft.inline[0][1]))
        for passage, answer in draft.inline[1:]:
            blocks += ["\n".join(quoted_lines(passage, client)), own(answer)]
        blocks += [own(paragraph) for paragraph in [*draft.paragraphs, draft.signoff] if paragraph]
    else:
        blocks += [own(paragraph) for paragraph in draft.authored]
    if draft.sender.signature:
        blocks.append(("-- \n" if client.dashes else "") + draft.sender.signature)
    if client.farewell:
        blocks.append(client.farewell)
    if draft.sender.disclaimer:
        blocks.append(draft.sender.disclaimer)
    if parent and draft.forward:
        blocks.append(forwarded_head(parent, draft.sender.zone, client) + "\n\n" + parent.text)
    elif parent and not draft.inline:
        quote = "\n".join(quoted_lines(parent.text, client))
        if client.attribution_quoted:
            head = f"> {head}\n> "
        blocks.append(head + "\n" + ("\n" if not client.quoting else "") + quote)
    return "\n\n".join(blocks) + "\n"


def forwarded_head(mail: Mail, zone: str, client: Client) -> str:
    """The block that a program puts over a message it forwards."""
    if not client.quoting:
        return client.attribution(mail, zone)
    here = local(mail.when, zone)
    date = f"{DAYS[here.weekday()][:3]}, {here.day} {MONTHS[here.month - 1][:3]} {here.year} at {clock(here)}"
    names = ", ".join(f"{p.name} <{p.address}>" for p in mail.to)
    who = f"{mail.sender.name} <{mail.sender.address}>"
    if client.flowed:  # Thunderbird
        rows = [("Subject", mail.subject), ("Date", header_date(mail.when, zone)), ("From", who), ("To", names)]
        return "-------- Forwarded Message --------\n" + "\n".join(f"{name}: \t{value}" for name, value in rows)
    if client.mime_version != "1.0":  # Apple's
        return f"Begin forwarded message:\n\nFrom: {who}\nSubject: {mail.subject}\nDate: {date}\nTo: {names}"
    return f"---------- Forwarded message ---------\nFrom: {who}\nDate: {date}\nSubject: {mail.subject}\nTo: {names}\n"
