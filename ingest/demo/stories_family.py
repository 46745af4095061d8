"""Two parents who live apart: the alternate weekends, and everything else about Ivy."""

from datetime import date, datetime, timedelta

from .calendar import at, short
from .dice import Dice
from .letters import Mail
from .people import RUTH, TOM, Person
from .phrases import Teller
from .post import Post

FIRST_FRIDAY = date(2018, 1, 5)  # the first weekend at Tom's; every other one is his
SHIFTED = date(2021, 9, 24)  # from here on the pattern is moved along by one, see texts/weekends.play


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
        day = friday(week)
        his = (week % 2 == 0) is (day < SHIFTED)
        tell.month = day.month
        slots = {"w": short(day), "next": short(day + timedelta(7)), "prev": short(day - timedelta(7))}
        written = datetime(day.year, day.month, day.day, tzinfo=at(2018, 1, 1).tzinfo) - timedelta(
            days=dice.between(4, 24), minutes=-dice.between(430, 1290), seconds=dice.below(60)
        )
        if number % 7 == 3:
            _tom_asks(post, dice, tell, written, slots)
            continue
        ruth = ruth_in(day.year, dice)
        if number % 7 == 5:
            post.send(
                *(dice, ruth, TOM, written, tell.say("subject", **slots), [tell.say("confirm", **slots)]),
                tags=["weekend", "weekend-no-ask"],
            )
            continue
        covid = date(2020, 3, 25) < day < date(2021, 4, 10)
        paragraphs = [tell.say("ask.covid" if covid else "ask.his" if his else "ask.hers", **slots)]
        if dice.chance(0.7):
            paragraphs.append(tell.say("ask.close"))
        if dice.chance(0.3):
            paragraphs.insert(dice.below(2) * len(paragraphs), tell.say("aside"))
        ask = post.send(
            *(dice, ruth, TOM, written, tell.say("subject", **slots), paragraphs), tags=["weekend", "ruth-asks-weekend"]
        )
        _answer(post, dice, tell, ask, "his" if his and not covid else "hers", slots)


def _answer(post: Post, dice: Dice, tell: Teller, ask: Mail, whose: str, slots: dict[str, str]) -> None:
    kind = dice.pick(("yes", "yes", "no", "maybe"))
    ruth = ruth_in(ask.when.year, dice)
    answer = post.reply(dice, ask, tom_somewhere(dice), [tell.say(f"answer.{kind}.{whose}", **slots)], tags=["weekend"])
    if kind == "yes":
        if dice.chance(0.75):
            post.reply(dice, answer, ruth, [tell.say("thanks")], tags=["weekend", "weekend-no-ask"])
        return
    if dice.chance(0.55):
        again = post.reply(dice, answer, ruth, [tell.say(f"again.{whose}")], tags=["weekend", "ruth-asks-weekend"])
        if dice.chance(0.6):
            end = post.reply(
                *(dice, again, tom_somewhere(dice), [tell.say(f"answer.yes.{whose}", **slots)]), tags=["weekend"]
            )
            post.reply(dice, end, ruth, [tell.say("thanks")], tags=["weekend", "weekend-no-ask"])
    elif kind == "no":
        post.reply(dice, answer, ruth, [tell.say("protest")], tags=["weekend", "weekend-no-ask"])


def _tom_asks(post: Post, dice: Dice, tell: Teller, written: datetime, slots: dict[str, str]) -> None:
    asked, answered = tell.paragraphs("tom.ask", **slots)
    ask = post.send(
        *(dice, TOM, RUTH, written, tell.say("tom.subject", **slots), [asked]), tags=["weekend", "tom-asks-weekend"]
    )
    ruth = ruth_in(written.year, dice)
    post.reply(dice, ask, ruth, [answered], tags=["weekend", "weekend-no-ask"])
