"""Scenes: whole conversations written out by hand, a file a topic, and the engine that performs them as mail.

    == 2019-11 | Subject of the first message
    tom > pell, jo @phone #tag: What he writes. A blank line

    parts paragraphs; {this|that} is a choice, {n} a number of the scene, {day+9} a date nine days on.
    +png picture.png
    pell +2d: The answer, two days later, to the message above it.
    tom: [[words of that message]] an answer put beneath them [[other words]] and another.
    jo ^1: An answer to the first message.
    tom fwd > ruth: Passed on.

A scene's date is a day, a month, a year, or a span of years: chance chooses the rest.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from importlib.resources import files as resources

from . import files, people
from .calendar import MONTHS, at, short, spoken
from .dice import Dice
from .letters import Mail
from .people import Person
from .post import Post
from .wire import File

CAST: dict[str, Person] = {
    "tom": people.TOM,
    "tomw": people.TOM_AT_WORK,
    "ruth": people.RUTH,
    "ivy": people.IVY,
    "mum": people.MARGARET,
    "jo": people.JO,
    "lukas": people.LUKAS,
    "ben": people.BEN,
    "sanna": people.SANNA,
    "colin": people.COLIN,
    "priya": people.PRIYA,
    "marta": people.MARTA,
    "dev": people.DEV,
    "haruka": people.HARUKA,
    "seo": people.SEO,
    "pell": people.PELL,
    "corran": people.CORRAN,
    "school": people.SCHOOL,
    "carrow": people.TEACHER,
    "academy": people.ACADEMY,
    "farah": people.SOLICITOR,
    "ortho": people.ORTHODONTIST,
    "surgery": people.SURGERY,
    "norvane": people.NORVANE,
    "otters": people.OTTERS,
    "everyone": people.EVERYONE,
    **{person.called.lower(): person for person in people.SWIMMERS},
}
_NAMES = r"[a-z]+(?:, [a-z]+)*"
_MARK = re.compile(
    rf" (?:@(?P<client>[\w-]+)|(?P<fwd>fwd)|> (?P<to>{_NAMES})|cc (?P<cc>{_NAMES})|\+(?P<wait>\d+[mhd])"
    r"|\^(?P<parent>\d+)|#(?P<tag>[\w-]+))"
)
_TURN = re.compile(rf"(?P<who>[a-z]+)(?P<marks>(?:{re.sub(r'[?]P<[a-z]+>', '?:', _MARK.pattern)})*): ?(?P<text>.*)")
_INLINE = re.compile(r"\[\[(.+?)\]\]\s*([^\[]+)", re.S)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_OFFICE = (
    "brightwater",
    "larkfield",
    "ashdown",
    "corran",
    "norvane",
    "millbrook",
    "elmroad",
    "siddiqui",
    "mizuho",
    "hanbit",
)


@dataclass(slots=True)
class Turn:
    """One message of a scene."""

    who: str
    client: str | None
    to: list[str]
    cc: list[str]
    wait: timedelta | None
    parent: int | None
    forward: bool
    tags: list[str]
    paragraphs: list[str]
    files: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Scene:
    """One conversation."""

    when: str
    subject: str
    turns: list[Turn]


@cache
def scenes(topic: str) -> tuple[Scene, ...]:
    """The scenes of texts/`topic`.play. Raises ValueError at a line that cannot be read."""
    source = resources(__package__).joinpath("texts", f"{topic}.play").read_text(encoding="utf-8")
    found: list[Scene] = []
    rows: list[str] = []

    def paragraph() -> None:
        if rows:
            found[-1].turns[-1].paragraphs.append(" ".join(rows))
            rows.clear()

    for line in [*source.splitlines(), ""]:
        line = line.strip()
        turn = _TURN.fullmatch(line)
        if line.startswith("#"):
            continue
        if line.startswith("== "):
            paragraph()
            when, subject = line[3:].split(" | ", 1)
            found.append(Scene(when, subject, []))
        elif turn and turn["who"] in CAST:
            paragraph()
            found[-1].turns.append(_turn(turn))
            rows += [turn["text"]] if turn["text"] else []
        elif line.startswith("+"):
            paragraph()
            found[-1].turns[-1].files.append(line[1:])
        elif line:
            if not found or not found[-1].turns:
                raise ValueError(f"{topic}.play: no turn for {line!r}")
            rows.append(line)
        else:
            paragraph()
    return tuple(found)


def _turn(match: re.Match[str]) -> Turn:
    marks: dict[str, list[str]] = {}
    for mark in _MARK.finditer(match["marks"]):
        marks.setdefault(str(mark.lastgroup), []).append(mark[str(mark.lastgroup)])
    wait, parent = marks.get("wait"), marks.get("parent")
    return Turn(
        match["who"],
        marks.get("client", [None])[0],  # type: ignore[list-item]
        marks["to"][0].split(", ") if "to" in marks else [],
        marks["cc"][0].split(", ") if "cc" in marks else [],
        timedelta(**{_UNITS[wait[0][-1]]: int(wait[0][:-1])}) if wait else None,
        int(parent[0]) if parent else None,
        "fwd" in marks,
        marks.get("tag", []),
        [],
    )


class _Slots(Mapping[str, str]):
    """What a text may name: {n}, {day+9}, {short+9}, {month}."""

    def __init__(self, number: str, when: datetime) -> None:
        self.number = number
        self.when = when

    def __getitem__(self, name: str) -> str:
        kind, _, days = name.partition("+")
        day = self.when.date() + timedelta(days=int(days or 0))
        if kind not in ("n", "day", "short", "month"):
            raise KeyError(name)
        return {"n": self.number, "day": spoken(day), "short": short(day), "month": MONTHS[day.month - 1]}[kind]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(("n", "day", "short", "month"))

    def __len__(self) -> int:
        return 4


def perform(post: Post, dice: Dice, topic: str) -> None:
    """Sends every scene of a topic."""
    for number, scene in enumerate(scenes(topic)):
        _perform(post, Dice(post.seed, topic, number), scene, topic)


def _perform(post: Post, dice: Dice, scene: Scene, topic: str) -> None:
    start = _moment(dice, scene.when)
    number = dice.digits(5)
    sent: list[Mail] = []
    for turn in scene.turns:
        parent = None if not sent else sent[(turn.parent or len(sent)) - 1]
        when = start if parent is None else parent.when
        wait = (turn.wait or timedelta(0)) + timedelta(minutes=dice.between(9, 400), seconds=dice.below(60))
        person = _at_desk(dice, turn, when)
        when = start if parent is None else when + wait
        when = _waking(dice, person, when)
        slots = _Slots(number, when)
        paragraphs, inline = [], []
        for paragraph in turn.paragraphs:
            text = dice.expand(paragraph, slots)
            pairs = [(a, b.strip()) for a, b in _INLINE.findall(text)]
            inline += pairs
            rest = _INLINE.sub("", text).strip()
            paragraphs += [rest] if rest else []
        to, cc = _addressees(turn, person, parent)
        attached = [_file(dice, name, slots, when) for name in turn.files]
        tags = [topic, *turn.tags]
        if parent and not turn.forward:
            subject = replied(parent.subject, person)
        else:
            subject = "Fwd: " + parent.subject if parent else dice.expand(scene.subject, slots)
        mail = post.send(
            *(dice, person, to, when, subject, paragraphs),
            cc=cc,
            files=attached,
            tags=tags,
            parent=parent,
            inline=inline,
            forward=turn.forward,
            list_name="otters" if any(p is people.OTTERS for p in [*to, *cc]) else "",
        )
        if parent and person.address in (people.TOM.address, people.TOM_AT_WORK.address):
            parent.answered = not turn.forward
        sent.append(mail)


def replied(subject: str, person: Person) -> str:
    """The subject of an answer, as the person's program writes it."""
    prefix = "AW: " if person.client.endswith("-de") else "RE: " if "outlook" in person.client else "Re: "
    return subject if subject[:4].lower() in ("re: ", "aw: ") else prefix + subject


def _addressees(turn: Turn, person: Person, parent: Mail | None) -> tuple[list[Person], list[Person]]:
    to = [CAST[name] for name in turn.to]
    cc = [CAST[name] for name in turn.cc]
    if to or parent is None:
        return to or [people.TOM], cc
    if parent.sender.address == person.address:
        return parent.to, parent.cc
    others = [*parent.to, *parent.cc]
    if people.OTTERS in others:
        return [people.OTTERS], cc
    seen = {person.address, parent.sender.address}
    if person.address.startswith("tom.hallam@"):
        seen |= {people.TOM.address, people.TOM_AT_WORK.address}
    return [parent.sender], [p for p in others if p.address not in seen] + cc


def _at_desk(dice: Dice, turn: Turn, when: datetime) -> Person:
    person = CAST[turn.who]
    if turn.client:
        return person.using(turn.client)
    if turn.who == "ruth":
        late = when.year >= 2024
        return person.using("phone" if dice.chance(0.25 if when.year < 2021 else 0.5) else "apple" if late else "gmail")
    if turn.who == "tom" and dice.chance(0.15) and not any("[[" in p for p in turn.paragraphs):
        return person.using("phone")
    return person


def _moment(dice: Dice, when: str) -> datetime:
    if ".." in when:
        first, last = when.split("..")
        when = str(dice.between(int(first), int(last)))
    year, month, day = [*(int(part) for part in when.split("-")), 0, 0][:3]
    month = month or dice.between(1, 12)
    day = day or dice.between(1, 28)
    start = date(year, month, day)
    return at(start.year, start.month, start.day) + timedelta(minutes=dice.between(430, 1270), seconds=dice.below(60))


def _waking(dice: Dice, person: Person, when: datetime) -> datetime:
    """`when`, moved into the hours in which the person writes: offices on working days, everyone by day."""
    office = any(word in person.domain for word in _OFFICE) or "brightwater" in person.address
    zone = {"jp": -9, "kr": -9}.get(person.zone, 0)
    hour = (when.hour - zone) % 24
    low, high = (8, 17) if office else (7, 22)
    if not low <= hour <= high:
        when += timedelta(hours=(low + dice.between(0, 3) - hour) % 24)
    while office and when.weekday() > 4:
        when += timedelta(days=1)
    return when


def _file(dice: Dice, name: str, slots: _Slots, when: datetime) -> File:
    kind, _, rest = name.partition(" ")
    title, _, more = dice.expand(rest, slots).partition(": ")
    if kind == "png":
        return files.png(title, dice, 64, 40)
    if kind == "csv":
        return files.csv(title, [row.split(",") for row in more.split(" / ")])
    if kind == "ics":
        return files.ics(
            title, f"{dice.hex(24)}@example.org", when.replace(minute=0) + timedelta(days=9), 45, more, "Leeds"
        )
    if kind == "vcf":
        return files.vcard(title, *more.split(", "))
    return files.pdf(title, more.split(" / "))
