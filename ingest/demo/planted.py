"""Planted facts: what they are, how they get into the mail, and how they are asked for.

Ground truth for measuring the search (`facts`) and the counting of verdicts (`counts`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from .dice import Dice
from .people import Person
from .post import DemoMessage, Post
from .wire import File

IDENTIFIER, WORDS, PARAPHRASE, FILTER, BOTH, UNANSWERED = (
    *("identifier", "words", "paraphrase", "filter"),
    *("both", "unanswered"),
)


@dataclass(frozen=True, slots=True)
class Question:
    """Something to search for. `message_ids`: the messages that answer it, none for `unanswered`.

    Kinds: `identifier` (a number or name that stands in the message), `words` (its own words), `paraphrase` (no content
    word shared with what its author wrote or its subject), `filter` (words and operators in the search's language),
    `both` (one holder says it in these words, the other in wholly different ones), `unanswered` (the mail does not say).
    """

    kind: str
    text: str
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that the mail says, once or in two people's words."""

    id: str
    statement: str
    message_ids: tuple[str, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """A question that every message is judged by, and the messages for which the answer is yes."""

    id: str
    question: str
    criterion: str
    message_ids: tuple[str, ...]


@dataclass(slots=True)
class Echo:
    """The same fact in another person's words."""

    when: datetime
    sender: Person
    subject: str
    paragraphs: Sequence[str]
    asked: str  # the question of kind `both`


@dataclass(slots=True)
class Planted:
    """A fact before it is written into a message."""

    id: str
    statement: str
    when: datetime
    sender: Person
    to: Person
    subject: str
    paragraphs: Sequence[str]
    identifier: str
    words: str
    paraphrase: str
    filter: str
    answer: Sequence[str] = ()  # what the other one replies
    files: Sequence[File] = ()
    echo: Echo | None = None
    message_ids: list[str] = field(default_factory=list)


UNANSWERED_QUESTIONS = (
    "what colour did we paint the hallway",
    "blood group of the hamster",
    "how much did the wedding dress cost",
    "registration number of the motorbike",
    "who won the chess tournament in Prague",
    "recipe for gooseberry wine",
    "when is the piano tuner coming",
    "PIN for the safe deposit box",
    "name of the plumber who fixed the shower in Lisbon",
    "date of the tax tribunal hearing",
    "how many sheep are on the farm",
    "what did the astronomer say about the comet",
)


def plant(post: Post, dice: Dice, planted: Iterable[Planted]) -> list[Planted]:
    """Writes the messages that hold the facts."""
    out = []
    for fact in planted:
        tags = ["fact", f"fact:{fact.id}"]
        mail = post.send(
            *(dice, fact.sender, fact.to, fact.when, fact.subject, fact.paragraphs), files=fact.files, tags=tags
        )
        fact.message_ids = [mail.message_id]
        if fact.answer:
            post.reply(dice, mail, fact.to, fact.answer)
        if fact.echo:
            echo = fact.echo
            other = post.send(dice, echo.sender, fact.to, echo.when, echo.subject, echo.paragraphs, tags=tags)
            fact.message_ids.append(other.message_id)
        out.append(fact)
    return out


def facts_of(planted: Iterable[Planted]) -> list[Fact]:
    """The facts with their questions, and one for each question that the mail does not answer."""
    facts = []
    for fact in planted:
        holders = tuple(fact.message_ids)
        first = holders[:1]
        questions = [
            Question(IDENTIFIER, fact.identifier, first),
            Question(WORDS, fact.words, first),
            Question(PARAPHRASE, fact.paraphrase, holders),
            Question(FILTER, fact.filter, first),
        ]
        if fact.echo:
            questions.append(Question(BOTH, fact.echo.asked, holders))
        facts.append(Fact(fact.id, fact.statement, holders, tuple(questions)))
    for number, text in enumerate(UNANSWERED_QUESTIONS, 1):
        question = Question(UNANSWERED, text, ())
        facts.append(Fact(f"unanswered-{number}", "The mail does not say.", (), (question,)))
    return facts


_COUNTS = (
    (
        *("ruth-asks-weekend", "How many times did Ruth ask to change the weekend agreement?"),
        "Yes when Ruth, in her own words of that message, asks Tom to swap, give up, take, shorten or move a weekend, "
        "or asks again after a no. No for thanks, complaints, confirmations, and for what is only quoted.",
    ),
    (
        *("tom-asks-weekend", "How many times did Tom ask to change the weekend agreement?"),
        "Yes when Tom, in his own words of that message, asks Ruth to take or swap a weekend. No for his answers.",
    ),
    (
        *("heating-complaint", "How often did Tom report that the heating or the hot water had failed?"),
        "Yes when Tom tells the landlord or the agent that it is not working at that time.",
    ),
)


def counts_of(messages: Iterable[DemoMessage]) -> list[Count]:
    """The counting questions with the messages that truly count."""
    told = list(messages)
    return [
        Count(tag, question, criterion, tuple(m.internet_message_id for m in told if tag in m.tags))
        for tag, question, criterion in _COUNTS
    ]
