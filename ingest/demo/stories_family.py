"""Two parents who live apart: the alternate weekends, and everything else about Ivy."""

from datetime import date, datetime, timedelta

from . import files
from .calendar import at, short, spoken
from .dice import Dice
from .letters import Mail
from .people import IVY, RUTH, TOM, Person
from .phrases import Teller
from .post import Post

FIRST_FRIDAY = date(2018, 1, 5)  # the first weekend at Tom's; every other one is his


def ruth_in(year: int, dice: Dice) -> Person:
    """Ruth writes from the web at first, then mostly from her telephone."""
    if dice.chance(0.2 if year < 2021 else 0.55):
        return RUTH.using("phone")
    return RUTH if year < 2024 else RUTH.using("apple")


def tom_somewhere(dice: Dice) -> Person:
    """Tom sits at his desk, mostly."""
    return TOM.using("phone") if dice.chance(0.2) else TOM


def friday(week: int) -> date:
    """The Friday of a week, counted from the first."""
    return FIRST_FRIDAY + timedelta(weeks=week)


def weekends(post: Post, dice: Dice) -> None:
    """Who asks to change the weekend agreement, and what comes of it."""
    tell = Teller("weekends", dice)
    weeks = [week + dice.between(0, 5) for week in range(6, 410, 8)]
    for number, week in enumerate(weeks):
        his = week % 2 == 0
        day = friday(week)
        slots = {"w": short(day), "next": short(day + timedelta(7)), "prev": short(day - timedelta(7))}
        written = datetime(day.year, day.month, day.day, tzinfo=at(2018, 1, 1).tzinfo) - timedelta(
            days=dice.between(4, 24), minutes=-dice.between(430, 1290), seconds=dice.below(60)
        )
        if number % 7 == 3:
            _tom_asks(post, dice, tell, written, slots)
            continue
        ruth = ruth_in(day.year, dice)
        if number % 7 == 5:
            note = post.send(
                *(dice, ruth, TOM, written, tell.say("subject", **slots), [tell.say("confirm", **slots)]),
                tags=["weekend", "weekend-no-ask"],
            )
            if dice.chance(0.5):
                post.reply(dice, note, tom_somewhere(dice), [Teller("family", dice).say("reply.tom")])
            continue
        paragraphs = [tell.say("ask.his" if his else "ask.hers", **slots)]
        if dice.chance(0.7):
            paragraphs.append(tell.say("ask.close"))
        if dice.chance(0.3):
            paragraphs.insert(dice.below(2) * len(paragraphs), tell.say("aside"))
        ask = post.send(
            *(dice, ruth, TOM, written, tell.say("subject", **slots), paragraphs), tags=["weekend", "ruth-asks-weekend"]
        )
        _answer(post, dice, tell, ask)


def _answer(post: Post, dice: Dice, tell: Teller, ask: Mail) -> None:
    kind = dice.pick(("yes", "yes", "no", "maybe"))
    ruth = ruth_in(ask.when.year, dice)
    answer = post.reply(dice, ask, tom_somewhere(dice), [tell.say(f"answer.{kind}")], tags=["weekend"])
    if kind == "yes":
        if dice.chance(0.75):
            post.reply(dice, answer, ruth, [tell.say("thanks")], tags=["weekend", "weekend-no-ask"])
        return
    if dice.chance(0.55):
        again = post.reply(dice, answer, ruth, [tell.say("again")], tags=["weekend", "ruth-asks-weekend"])
        last = dice.pick(("answer.yes", "answer.no"))
        end = post.reply(dice, again, tom_somewhere(dice), [tell.say(last)], tags=["weekend"])
        if last == "answer.yes":
            post.reply(dice, end, ruth, [tell.say("thanks")], tags=["weekend", "weekend-no-ask"])
    elif kind == "no":
        post.reply(dice, answer, ruth, [tell.say("protest")], tags=["weekend", "weekend-no-ask"])


def _tom_asks(post: Post, dice: Dice, tell: Teller, written: datetime, slots: dict[str, str]) -> None:
    ask = post.send(
        *(dice, TOM, RUTH, written, tell.say("tom.subject", **slots), [tell.say("tom.ask", **slots)]),
        tags=["weekend", "tom-asks-weekend"],
    )
    ruth = ruth_in(written.year, dice)
    answer = post.reply(dice, ask, ruth, [tell.say("ruth.to.tom", **slots)], tags=["weekend", "weekend-no-ask"])
    if dice.chance(0.5):
        post.reply(dice, answer, TOM, [Teller("family", dice).say("reply.tom")], tags=["weekend"])


def everyday(post: Post, dice: Dice) -> None:
    """Kit, coughs, receipts, and the things that Ivy says."""
    tell = Teller("family", dice)
    day = at(2018, 1, 11)
    while day.year < 2026:
        when = day + timedelta(minutes=dice.between(420, 1320), seconds=dice.below(60))
        slots = {
            "day": spoken((when + timedelta(days=dice.between(2, 8))).date()),
            "money": f"£{dice.between(6, 88)}" + dice.pick(("", ".50", ".99", ".20")),
            "time": dice.pick(("two till four", "half past ten", "3-5pm", "from one o'clock")),
        }
        roll = dice.below(10)
        if roll < 6:
            _note(post, dice, tell, ruth_in(day.year, dice), TOM, "ruth", slots, when)
        elif roll < 9 or day.year < 2021:
            _note(post, dice, tell, tom_somewhere(dice), RUTH, "tom", slots, when)
        else:
            note = post.send(
                *(dice, IVY, TOM, when, tell.say("ivy.subject"), [tell.say("ivy.note", **slots)]), tags=["ivy"]
            )
            if dice.chance(0.7):
                post.reply(
                    dice, note, tom_somewhere(dice), [tell.say("ivy.answer")], greeting="Dear Ivy,", signoff="Dad"
                )
        day += timedelta(days=dice.between(12, 58))


def _note(
    post: Post, dice: Dice, tell: Teller, sender: Person, to: Person, who: str, slots: dict[str, str], when: datetime
) -> None:
    text = tell.say(f"{who}.note", **slots)
    attached = []
    if "attached" in text:
        rows = [["date", "what", "paid by", "amount"]]
        for _ in range(dice.between(4, 9)):
            spent = when - timedelta(days=dice.between(2, 80))
            what = dice.pick(("shoes", "school trip", "dentist", "swimming", "coat", "club", "birthday present", "bus"))
            rows.append([str(spent.date()), what, dice.pick(("Ruth", "Tom")), f"{dice.between(400, 9000) / 100:.2f}"])
        attached.append(files.csv(f"ivy-costs-{when.year}-{when.month:02}.csv", rows))
    elif "Photos" in text or "scan" in text:
        attached += [files.png(f"IMG_{dice.digits(4)}.png", dice) for _ in range(dice.between(1, 2))]
    note = post.send(dice, sender, to, when, tell.say(f"{who}.subject"), [text], files=attached, tags=["family"])
    other, voice = (tom_somewhere(dice), "tom") if who == "ruth" else (ruth_in(when.year, dice), "ruth")
    if dice.chance(0.7):
        own = text.split(". ")
        inline = []
        if other.client == "thunderbird" and len(own) > 1 and dice.chance(0.6):
            inline = [(own[0] + ".", tell.say(f"reply.{voice}"))]
            if len(own) > 2 and dice.chance(0.5):
                inline.append((own[1] + ".", tell.say(f"reply.{voice}")))
        answer = [] if inline else [tell.say(f"reply.{voice}")]
        reply = post.reply(dice, note, other, answer, inline=inline, tags=["family"])
        if dice.chance(0.25):
            post.reply(dice, reply, sender, [tell.say(f"reply.{who}")], tags=["family"])
