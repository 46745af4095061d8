"""What the writer wrote: how often the sectioner finds exactly that, beside talon, mail-parser-reply and email-reply-parser.

    python benchmarks/sections.py                        ours; the others too if this Python has them
    python benchmarks/sections.py --with PYTHON          the others as PYTHON has them installed (they pin old libraries)
    python benchmarks/sections.py --wrong                print what each miss found

Replies, in ../shared/data/reply, each right when the authored text is what it should be, white space aside:

- discourse: `trimmed/` is the right answer. Three keep `>` lines between the writer's own; these are someone else's words,
  so an answer is right with them or without. A message that is nothing but a forward is right with the forwarded body.
- zapier, github, talon have no answers beside them. Ours are below, reached by reading each, as places and not as words.

Enron's labels (categories 2.1 and 2.2: carries forwarded or replied text) are compared with whether anything is quoted or
forwarded. The labels that reading shows to be wrong are listed below; the table has both figures.

Time is a message's, sections and chunks together, over mail without attachments to read: the best of several runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import click
from common import DATA, conditions, json_option, raw_messages, show

from ingest.chunks import chunk
from ingest.message import parse_message
from ingest.sections import section

REPLY = DATA.parent / "reply"
ENRON = DATA / "enron-berkeley"

LINES = {
    "correct_sig.txt": "1",
    "email_1_1.txt": "1-7",
    "email_1_2.txt": "1, 9-34",
    "email_1_3.txt": "1-5",
    "email_1_4.txt": "1",
    "email_1_5.txt": "1-15",
    "email_1_6.txt": "1",
    "email_1_7.txt": "1",
    "email_1_8.txt": "13, 19",
    "email_2_1.txt": "1",
    "email_2_2.txt": "1",
    "email_2_3.txt": "1",
    "email_BlackBerry.txt": "1",
    "email_bullets.txt": "1-9",
    "email_gmail.txt": "1",
    "email_headers_no_delimiter.txt": "1",
    "email_iPhone.txt": "1",
    "email_long_quote.txt": "1-4, 6, 8-10",
    "email_multi_word_sent_from_my_mobile_device.txt": "1",
    "email_one_is_not_on.txt": "1-5",
    "email_partial_quote_header.txt": "1-6",
    "email_sent_from_my_not_signature.txt": "1-3",
    "email_sig_delimiter_in_middle_of_line.txt": "1-7",
    "greedy_on.txt": "1-6",
    "pathological.txt": "1-2",
}
"""zapier and github: the lines that their writer wrote. Sign-offs and names under them are words; contact blocks are not."""

CHARACTERS = {
    "OLK_SRC_BODY_SECTION.html": ":5",
    "html_replies/gmail.html": ":22",
    "html_replies/hotmail.html": ":22",
    "html_replies/mail_ru.html": ":22",
    "html_replies/ms_outlook_2003.html": ":22",
    "html_replies/ms_outlook_2007.html": ":22",
    "html_replies/ms_outlook_2010.html": ":22",
    "html_replies/thunderbird.html": ":22",
    "html_replies/windows_mail.html": ":22",
    "html_replies/yandex_ru.html": ":22",
    "reply-quotations-share-block.eml": ":276",
    "reply-separated-by-hr.html": ":10",
    "standard_replies/android.eml": ":5",
    "standard_replies/aol.eml": ":5",
    "standard_replies/apple_mail.eml": ":5",
    "standard_replies/apple_mail_2.eml": ":5",
    "standard_replies/comcast.eml": ":5",
    "standard_replies/gmail.eml": ":5",
    "standard_replies/hotmail.eml": ":5",
    "standard_replies/iphone.eml": ":5",
    "standard_replies/outlook.eml": ":5",
    "standard_replies/sparrow.eml": ":5",
    "standard_replies/thunderbird.eml": "-5:",
    "standard_replies/yahoo.eml": ":5",
    "signature/emails/P/102682_R_S": "346:462",
    "signature/emails/P/johndoeexamplecom_body": ":1201",
    "signature/emails/P/unicode_msg": ":",
    "signature/emails/stripped/camel_case_body": ":",
    "signature/emails/stripped/jeff_body": ":74",
    "signature/emails/stripped/long_body": ":484",
    "signature/emails/stripped/short_url_body": ":",
    "signature/emails/stripped/sparse_body": ":484",
}
"""talon: the writer's words as a slice of the text's characters, white space left out."""

NOT_LABELLED = """
1/115322 1/116118 1/116993 1/120789 1/121755 1/135686 1/173915 1/173925 1/173958 1/173993 1/173998 1/174111 1/174154 1/174183
1/174207 1/174304 1/174339 1/174372 1/174388 1/174483 1/175079 1/175085 1/175410 1/175485 1/175689 1/175707 1/175730 1/175806
1/175842 1/175843 1/176496 1/176507 1/176579 1/176600 1/177802 1/192144 1/229316 1/229317 1/229324 1/233222 1/233280 1/54546
1/9083 2/173410 2/175309 2/175500 2/54544 3/118675 3/173408 3/173839 3/173842 3/173904 3/173955 3/173995 3/175163 3/175209
3/175617 3/178057 3/52713 3/54540 4/115612 4/174105 4/174346 4/175078 4/175148 4/175307 4/175308 4/175388 4/175609 4/175700
4/177860 4/54539 5/175317 6/173776 6/173777 6/174349 6/174355 6/174392 6/174505 6/175323 6/175341 6/175343 6/175407 6/175577
6/175727 6/176570 6/176608 6/176682 6/177834 6/211402 6/54543 7/136394 7/174205 7/177803 7/215229 7/215230 8/175816
"""
"""Enron: carry a message under "Forwarded by", "Original Message", or Lotus's name, date and To, and have neither label."""

LABELLED_WITHOUT = "1/117978 1/124454 1/174308 1/176639 3/9191 4/128854 4/173222 6/176689"
"""Enron: have a label, and not a line of anyone else's (an attachment, an agenda, a list of one's own)."""

THEIRS = r"""
import json, signal, sys

def talon():
    from talon import quotations
    from talon.signature.bruteforce import extract_signature
    return lambda text: extract_signature(quotations.extract_from_plain(text))[0]

def mail_parser_reply():
    from mailparser_reply import EmailReplyParser
    from mailparser_reply.constants import MAIL_LANGUAGES
    parser = EmailReplyParser(languages=[name for name in MAIL_LANGUAGES if len(name) == 2])
    return lambda text: parser.parse_reply(text=text)

def email_reply_parser():
    from email_reply_parser import EmailReplyParser
    return lambda text: EmailReplyParser.parse_reply(text)

def late(*_):
    raise TimeoutError

alarm = getattr(signal, "alarm", lambda seconds: None)
if hasattr(signal, "SIGALRM"):
    signal.signal(signal.SIGALRM, late)
texts, answers = json.load(sys.stdin), {}
for make in (talon, mail_parser_reply, email_reply_parser):
    name = make.__name__.replace("_", "-")
    try:
        parse = make()
    except Exception as error:
        answers[name] = f"{type(error).__name__}: {error}"
        continue
    found = []
    for text in texts:
        alarm(10)
        try:
            found.append(parse(text) or "")
        except Exception:
            found.append(None)
        alarm(0)
    answers[name] = found
json.dump(answers, sys.stdout)
"""
"""Run by another Python, since the three need libraries of their own. A reply that takes ten seconds is a miss."""


def bare(text: str) -> str:
    """Without white space, and without the marks of direction that some clients add."""
    return "".join("".join(text.split()).split("\u200e"))


def replies() -> Iterator[tuple[str, str, str, set[str]]]:
    """(set, name, text, right answers without white space) of every reply; equal texts of two sets once."""
    for path in sorted((REPLY / "discourse" / "emails").iterdir()):
        right = path.parents[1].joinpath("trimmed", path.name).read_text("utf-8")
        own = "\n".join(line for line in right.splitlines() if not line.startswith(">"))
        yield "discourse", path.name, path.read_text("utf-8").replace("\r\n", "\n"), {bare(right), bare(own)}
    seen: set[str] = set()
    for path in sorted([*REPLY.glob("zapier/test/emails/*"), *REPLY.glob("github/test/emails/*")]):
        text = path.read_text("utf-8").replace("\r\n", "\n")
        if text not in seen:
            seen.add(text)
            yield "zapier, github", path.name, text, {bare(_lines(text, LINES[path.name]))}
    fixtures = REPLY / "talon" / "tests" / "fixtures"
    for name, piece in CHARACTERS.items():
        raw = (fixtures / name).read_bytes()
        if name.endswith(".html"):
            raw = b"Content-Type: text/html; charset=utf-8\n\n" + raw
        elif "/stripped/" in name or name.endswith("_body"):
            raw = b"Content-Type: text/plain; charset=utf-8\n\n" + raw
        # The marks of talon's own annotation.
        text = parse_message(raw.replace(b"#reply#", b"").replace(b"#sig#", b"")).text
        start, _, stop = piece.partition(":")
        yield "talon", name, text, {bare(text)[int(start or 0) : int(stop) if stop else None]}


def _lines(text: str, ranges: str) -> str:
    lines = text.split("\n")
    pairs = (each.partition("-") for each in ranges.replace(" ", "").split(","))
    return "\n".join("\n".join(lines[int(first) - 1 : int(last or first)]) for first, _, last in pairs)


def ours(text: str) -> str:
    """The authored text; if there is none, the body of a forward."""
    parts = section(text)
    own = "".join(text[part.start : part.stop] for part in parts if part.section == "authored")
    return own if own.strip() else "".join(text[p.start : p.stop] for p in parts if p.why == "forwarded:rest")


def enron() -> tuple[list[bool], list[bool], list[bool]]:
    """(found, labelled, labelled as reading them says) of each message."""
    found, labelled, read = [], [], []
    missing, without = set(NOT_LABELLED.split()), set(LABELLED_WITHOUT.split())
    for path in sorted(ENRON.glob("*/*.cats")):
        message = parse_message(path.with_suffix(".txt").read_bytes())
        label = any(line.startswith(("2,1,", "2,2,")) for line in path.read_text().split())
        name = f"{path.parent.name}/{path.stem}"
        labelled.append(label)
        read.append((label or name in missing) and name not in without)
        found.append(any(part.section in ("quoted", "forwarded") for part in section(message.text, message.subject)))
    return found, labelled, read


def precision_recall(found: list[bool], right: list[bool]) -> tuple[float, float]:
    both = sum(a and b for a, b in zip(found, right, strict=True))
    return both / sum(found), both / sum(right)


def timing(runs: int = 7) -> dict[str, float]:
    """Microseconds a message, and a 4 KB message, of sections and of chunks; and characters a message."""
    messages = [parse_message(raw) for raw in raw_messages([DATA / "linux-man" / "2019.mbox"])]
    texts = [(message.text, message.subject) for message in messages]
    cut = [section(text, subject) for text, subject in texts]

    def best(work: Callable[[], object]) -> float:
        taken = []
        for _ in range(runs):
            started = time.process_time()
            work()
            taken.append(time.process_time() - started)
        return min(taken) * 1e6 / len(texts)

    sections = best(lambda: [section(text, subject) for text, subject in texts])
    chunks = best(lambda: [chunk(text, parts) for (text, _), parts in zip(texts, cut, strict=True)])
    size = sum(len(text) for text, _ in texts) / len(texts)
    return {
        "sections_us": round(sections),
        "chunks_us": round(chunks),
        "both_us_per_4096_characters": round((sections + chunks) * 4096 / size),
        "characters": round(size),
    }


@click.command(help=__doc__)
@click.option("--with", "python", default=sys.executable, help="The Python that has the other libraries.")
@click.option("--wrong", is_flag=True, help="Print what each miss of ours found.")
@json_option
def main(python: str, wrong: bool, as_json: bool) -> None:
    if not REPLY.exists():
        raise click.UsageError(f"There are no replies at {REPLY}.")
    cases = list(replies())
    done = subprocess.run(
        [python, "-c", THEIRS],
        input=json.dumps([text for _, _, text, _ in cases]),
        capture_output=True,
        text=True,
        check=True,
    )
    answers: dict[str, Any] = {"oaken": [ours(text) for _, _, text, _ in cases], **json.loads(done.stdout)}
    sets = list(dict.fromkeys(name for name, _, _, _ in cases))
    sizes = {name: sum(case[0] == name for case in cases) for name in sets}
    rows: list[list[object]] = [
        ["exactly the writer's words", *(f"{name} ({sizes[name]})" for name in sets), f"all ({len(cases)})"]
    ]
    figures: dict[str, Any] = {}
    for library, found in answers.items():
        if isinstance(found, str):
            figures[library] = {"absent": found}
            rows.append([library, *["absent"] * (len(sets) + 1)])
            continue
        right = [text is not None and bare(text) in case[3] for text, case in zip(found, cases, strict=True)]
        figures[library] = {
            name: sum(ok for ok, case in zip(right, cases, strict=True) if case[0] == name) for name in sets
        }
        rows.append([library, *figures[library].values(), sum(right)])
        figures[library]["slow"] = sum(text is None for text in found)
        if wrong and library == "oaken":
            for ok, text, case in zip(right, found, cases, strict=True):
                if not ok:
                    click.echo(f"{case[0]}/{case[1]}: {text[:300]!r}", err=True)
    found_here, labelled, read = enron()
    raw, corrected = precision_recall(found_here, labelled), precision_recall(found_here, read)
    speed = timing()
    answer = {
        "conditions": conditions(),
        "replies": figures,
        "sizes": sizes,
        "enron": {
            "as_labelled": raw,
            "as_read": corrected,
            "wrong_labels": len(NOT_LABELLED.split()) + len(LABELLED_WITHOUT.split()),
        },
        "speed": speed,
    }
    notes = [
        f"Enron, {len(read)} messages, carries others' text: precision {corrected[0]:.3f}, recall {corrected[1]:.3f} against the labels "
        f"as reading corrects {answer['enron']['wrong_labels']} of them; {raw[0]:.3f}, {raw[1]:.3f} against the labels as they are",
        f"sections {speed['sections_us']} µs and chunks {speed['chunks_us']} µs a message of {speed['characters']} characters; "
        f"together {speed['both_us_per_4096_characters']} µs per 4,096",
    ]
    absent = [f"{name} ({each['absent']})" for name, each in figures.items() if "absent" in each]
    if absent:
        notes.append(f"Not installed, so not compared: {', '.join(absent)}. Name a Python that has them: --with PYTHON")
    show(answer, rows, notes, as_json)


if __name__ == "__main__":
    main()
