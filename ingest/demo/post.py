"""The post office: turns drafts into mail, keeps every thread's references, and sorts all of it into mailboxes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from . import wire
from .calendar import header_date
from .clients import CLIENTS
from .dice import Dice
from .letters import Client, Draft, Mail, plain_text
from .people import IVY, JO, MARGARET, NORVANE, OTTERS, PELL, SOLICITOR, TOM, TOM_AT_WORK, Person
from .wire import File, Part

ARCHIVED_BEFORE = 2025  # what came before this year was put away


class Post:
    """Everything that was written, in the order in which the stories told it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.mails: list[Mail] = []

    def send(
        self,
        dice: Dice,
        sender: Person,
        to: Person | Sequence[Person],
        when: datetime,
        subject: str,
        paragraphs: Iterable[str],
        *,
        cc: Sequence[Person] = (),
        greeting: str | None = None,
        signoff: str | None = None,
        files: Sequence[File] = (),
        tags: Iterable[str] = (),
        extra: Sequence[str] = (),
        parent: Mail | None = None,
        inline: Sequence[tuple[str, str]] = (),
        forward: bool = False,
        list_name: str = "",
    ) -> Mail:
        """Writes one message. `extra` are header lines; greeting and signoff "" mean none, None the sender's habit."""
        people = [to] if isinstance(to, Person) else list(to)
        called = {"to": people[0].called if len(people) == 1 else "both" if len(people) == 2 else "all"}
        text = list(paragraphs)
        if parent and when <= parent.when:
            when = parent.when + timedelta(minutes=dice.between(4, 55), seconds=dice.below(60))
        draft = Draft(
            sender,
            people,
            list(cc),
            subject,
            when,
            ""
            if inline
            else dice.expand(greeting_to(sender, people, cc, text), called)
            if greeting is None
            else greeting,
            text,
            dice.expand(signoff_to(sender, people), called) if signoff is None else signoff,
            parent,
            forward,
            list(inline) if not CLIENTS[sender.client].html else [],
            list(files),
        )
        if inline and not draft.inline:  # a program that only top-posts
            draft.paragraphs = [*(answer for _, answer in inline), *draft.paragraphs]
        arrived = bool(list_name) and not sender.address.startswith("tom.hallam@")
        if list_name and not parent:
            draft.subject = f"[{list_name}] {subject}"
        mail = write(dice, draft, [*extra, *LIST_HEADERS] if arrived else extra, LIST_FOOTER if arrived else "")
        mail.tags |= set(tags)
        self.mails.append(mail)
        return mail

    def reply(
        self,
        dice: Dice,
        parent: Mail,
        sender: Person,
        paragraphs: Iterable[str],
        *,
        after: timedelta | None = None,
        to: Sequence[Person] = (),
        cc: Sequence[Person] | None = None,
        **more: object,
    ) -> Mail:
        """Answers `parent`, an hour to a day later unless `after` says."""
        wait = after or timedelta(minutes=dice.between(12, 900), seconds=dice.below(60))
        prefix = "AW: " if sender.client.endswith("-de") else "RE: " if "outlook" in sender.client else "Re: "
        bare = parent.subject
        subject = bare if bare[:4].lower() in ("re: ", "aw: ") else prefix + bare
        people = list(to) or [parent.sender if parent.sender.address != sender.address else parent.to[0]]
        if sender.address == TOM.address or sender.domain == "brightwater.example.com":
            parent.answered = True
        mail = self.send(
            *(dice, sender, people, office_hours(parent.when + wait), subject, paragraphs),
            cc=parent.cc if cc is None else cc,
            parent=parent,
            **more,  # type: ignore[arg-type]
        )
        return mail


def greeting_to(sender: Person, to: Sequence[Person], cc: Sequence[Person], text: Sequence[str]) -> str:
    """How the sender greets them: a habit meant for Tom is not for others, and one greeting is enough."""
    if text and text[0].startswith(("Dear ", "Hi ", "All,")):
        return ""
    if len(to) == 1 and text and to[0].called in text[0][:24]:
        return ""
    if "{to}" in sender.greeting and len(to) == 1:
        return _GREETINGS_OF_TOM.get(to[0].address, sender.greeting)
    if len(to) + len(cc) > 1 or to[0].address not in (TOM.address, TOM_AT_WORK.address, OTTERS.address):
        return "{Hi all,|All,|}" if len(to) + len(cc) > 1 else "{Hi {to},|{to},|}"
    return sender.greeting


def signoff_to(sender: Person, to: Sequence[Person]) -> str:
    """Tom is Dad to one and sends his love to two; his mother is Mum only to her children."""
    if sender.address == MARGARET.address and to[0].address not in (TOM.address, JO.address):
        return "{Margaret|With love, Margaret}"
    return _SIGNOFFS_OF_TOM.get(to[0].address, sender.signoff) if sender.address == TOM.address else sender.signoff


_GREETINGS_OF_TOM = {
    IVY.address: "{Dear Ivy,|Hello Ivy,|Ivy,|}",
    SOLICITOR.address: "Dear Farah,",
    PELL.address: "Dear Mr Pell,",
}
_SIGNOFFS_OF_TOM = {
    IVY.address: "{Dad|Love, Dad|Dad x}",
    MARGARET.address: "{Love, Tom|Tom x|Lots of love, Tom|T.}",
    JO.address: "{Love, Tom|Tom x|T.|Your little brother}",
    NORVANE.address: "{Regards, Tom Hallam|Tom Hallam}",
}


def office_hours(when: datetime) -> datetime:
    """`when`, or the morning after it where it falls in the night."""
    if when.hour < 6:
        return when + timedelta(hours=7 - when.hour)
    if when.hour > 22:
        return when + timedelta(hours=9)
    return when


LIST_HEADERS = (
    "X-BeenThere: otters-parents@lists.swimclub.example.org",
    "X-Mailman-Version: 2.1.29",
    "Precedence: list",
    "List-Id: Otters Swimming Club parents\n <otters-parents.lists.swimclub.example.org>",
    "List-Post: <mailto:otters-parents@lists.swimclub.example.org>",
    "List-Unsubscribe: <mailto:otters-parents-request@lists.swimclub.example.org?subject=unsubscribe>",
    'Sender: "otters-parents" <otters-parents-bounces@lists.swimclub.example.org>',
)
LIST_FOOTER = (
    "_______________________________________________\n"
    "otters-parents mailing list\n"
    "otters-parents@lists.swimclub.example.org\n"
    "https://lists.swimclub.example.org/mailman/listinfo/otters-parents\n"
)


def write(dice: Dice, draft: Draft, extra: Sequence[str] = (), footer: str = "") -> Mail:
    """The message of `draft`, its bytes included. `footer` is what a mailing list puts beneath: into the text where
    there is only text, as a part of its own where there is HTML, as Mailman does it."""
    sender, client = draft.sender, CLIENTS[draft.sender.client]
    text = plain_text(draft, client)
    inner, document = client.html(draft, client) if client.html else ("", "")
    charset = fitting(client, text)
    parent = draft.parent if not draft.forward else None
    references = [*parent.references, parent.message_id] if parent else []
    message_id = client.message_id(dice, sender.domain, draft.when)
    if footer and not document:
        text += footer
    body = _body(dice, client, charset, text, document)
    if draft.files or (footer and document):
        parts = [body, *(wire.file_part(file) for file in draft.files)]
        parts += [wire.text_part(footer, "plain", "us-ascii", "7bit")] if footer and document else []
        body = wire.multipart("mixed", parts, client.boundary(dice))
    headers = [
        *trace(dice, sender, draft.when),
        "From: " + wire.address(sender.name, sender.address, charset_of_headers(charset), client.subject_method),
        wire.address_list("To", [wire.address(p.name, p.address) for p in draft.to]),
        *([wire.address_list("Cc", [wire.address(p.name, p.address) for p in draft.cc])] if draft.cc else []),
        wire.header("Subject", draft.subject, charset_of_headers(charset), client.subject_method),
        f"Date: {header_date(draft.when, sender.zone)}",
        f"Message-ID: {message_id}",
        *([f"In-Reply-To: {references[-1]}", "References: " + "\n ".join(references[-12:])] if references else []),
        *client.agent(draft.when),
        f"MIME-Version: {client.mime_version}",
        *extra,
    ]
    raw = Part(headers + body.headers, body.body).bytes()
    return Mail(
        *(message_id, sender, draft.to, draft.cc, draft.subject, draft.when, draft.authored, text),
        inner or rows_of(text),
        references,
        raw if raw.endswith(b"\n") else raw + b"\n",
    )


def fitting(client: Client, text: str) -> str:
    """The client's charset, or UTF-8 where the text does not go into it; us-ascii where programs say so."""
    if text.isascii() and client.flowed:
        return "utf-8"
    try:
        text.encode(client.charset)
    except UnicodeEncodeError:
        return "utf-8"
    return client.charset


def charset_of_headers(charset: str) -> str:
    """Programs encode headers in the charset of the body."""
    return "utf-8" if charset == "us-ascii" else charset


def rows_of(text: str) -> str:
    """Plain text as the HTML that a program quotes it in."""
    return text.strip().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", "<br>\n")


def _body(dice: Dice, client: Client, charset: str, text: str, document: str) -> Part:
    shown = flowed(text) if client.flowed else text
    extra = "; format=flowed" if client.flowed else ""
    encoding = client.encoding
    if encoding == "7bit" and charset == "utf-8" and not text.isascii():
        encoding = "8bit"
    plain = wire.text_part(shown, "plain", charset, encoding, extra)
    if not document:
        return plain
    rich = wire.text_part(document, "html", charset, encoding)
    return wire.multipart("alternative", [plain, rich], client.boundary(dice))


def flowed(text: str) -> str:
    """Format=flowed (RFC 3676): a line that goes on ends with a blank, lines that would mislead are stuffed."""
    lines = text.split("\n")
    out = []
    for index, line in enumerate(lines):
        follows = lines[index + 1] if index + 1 < len(lines) else ""
        if line == "-- ":
            out.append(line)
            continue
        stuffed = " " + line if line.startswith((" ", "From ")) else line
        goes_on = len(line) > 54 and follows and not follows.startswith((">", "-- ")) and not line.startswith(">")
        out.append(stuffed + " " if goes_on else stuffed.rstrip(" "))
    return "\n".join(out)


def trace(dice: Dice, sender: Person, when: datetime) -> list[str]:
    """What the way here adds: nothing for what Tom sent himself."""
    if sender.address.startswith("tom.hallam@"):
        return []
    relay = f"out{dice.between(1, 9)}.{sender.domain}"
    number = f"{dice.pick(('192.0.2', '198.51.100', '203.0.113'))}.{dice.between(2, 250)}"
    arrived = header_date(when + timedelta(seconds=dice.between(1, 9)), "utc")
    return [
        f"Return-Path: <{sender.address}>",
        f"Delivered-To: {TOM.address}",
        f"Received: from {relay} ({relay} [{number}])\n\tby mx.mail.example.org (Postfix) with ESMTPS id "
        f"{dice.hex(10).upper()}\n\tfor <{TOM.address}>; {arrived}",
    ]


@dataclass(frozen=True, slots=True)
class DemoMessage:
    """One message of the demo mailbox. `raw` has LF line ends, as Maildir and mbox keep them.

    `authored` is what the writer wrote, without quotes and signature: the truth that a sectioner can be measured by.
    """

    raw: bytes
    mailbox: str
    flags: frozenset[str]
    when: datetime
    tags: frozenset[str]
    internet_message_id: str
    from_address: str
    subject: str
    authored: str
    client: str

    @property
    def sent_at(self) -> str:
        """`YYYY-MM-DDTHH:MM:SSZ`."""
        return self.when.strftime("%Y-%m-%dT%H:%M:%SZ")


def sorted_out(post: Post) -> list[DemoMessage]:
    """All that was written, in order of time, put into mailboxes and flagged as eight years of reading would."""
    out = []
    for mail in sorted(post.mails, key=lambda mail: (mail.when, mail.message_id)):
        dice = Dice(post.seed, "flags", mail.message_id)
        sent = mail.sender.address.startswith("tom.hallam@")
        mailbox = "Sent" if sent else "INBOX" if mail.when.year >= ARCHIVED_BEFORE else "Archive"
        flags = set()
        late = (mail.when.year, mail.when.month, mail.when.day) >= (2025, 12, 19)
        if sent or mail.answered or not (late or (mail.bulk and dice.chance(0.3))):
            flags.add("seen")
        if mail.answered:
            flags.add("answered")
        if not sent and not mail.bulk and dice.chance(0.25 if "fact" in mail.tags else 0.02):
            flags.add("flagged")
        out.append(
            DemoMessage(
                *(mail.raw, mailbox, frozenset(flags), mail.when, frozenset(mail.tags), mail.message_id),
                *(mail.sender.address, mail.subject, "\n\n".join(mail.authored), mail.sender.client),
            )
        )
    return out
