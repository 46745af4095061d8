"""The line or block that each program puts over a quote, in its language. `zone` is the clock of who quotes."""

from .calendar import DAYS, MONTHS, MONTHS_DE, clock, local
from .letters import Mail


def gmail(mail: Mail, zone: str) -> str:
    here = local(mail.when, zone)
    who = f"{mail.sender.name} <{mail.sender.address}> wrote:"
    if here.year < 2019:
        line = f"On {here.day} {MONTHS[here.month - 1]} {here.year} at {clock(here)}, {who}"
    else:
        day = f"{DAYS[here.weekday()][:3]}, {here.day} {MONTHS[here.month - 1][:3]} {here.year}"
        line = f"On {day} at {clock(here)}, {who}"
    if len(line) > 78:  # Gmail breaks the line before the address
        line = line.replace(" <", "\n<", 1)
    return line + "\n"


def gmail_ja(mail: Mail, zone: str) -> str:
    here = local(mail.when, zone)
    day = "月火水木金土日"[here.weekday()]
    return (
        f"{here.year}年{here.month}月{here.day}日({day}) {here.hour}:{here.minute:02} "
        f"{mail.sender.name} <{mail.sender.address}>:\n"
    )


def korean(mail: Mail, zone: str) -> str:
    here = local(mail.when, zone)
    to = ", ".join(f"{p.name}<{p.address}>" for p in mail.to)
    day = "월화수목금토일"[here.weekday()]
    return (
        f"-----Original Message-----\nFrom: {mail.sender.name}<{mail.sender.address}>\nTo: {to}\nCc:\n"
        f"Sent: {here.year}-{here.month:02}-{here.day:02} ({day}) {clock(here)}:{here.second:02} (GMT+09:00)\n"
        f"Subject: {mail.subject}"
    )


def apple(mail: Mail, zone: str) -> str:
    here = local(mail.when, zone)
    day = f"{here.day} {MONTHS[here.month - 1][:3]} {here.year}"
    return f"On {day}, at {clock(here)}, {mail.sender.name} <{mail.sender.address}> wrote:" + "\n"


def apple_de(mail: Mail, zone: str) -> str:
    here = local(mail.when, zone)
    day = f"{here.day}. {MONTHS_DE[here.month - 1]} {here.year}"
    return f"Am {day} um {clock(here)} schrieb {mail.sender.name} <{mail.sender.address}>:\n"


def phone(mail: Mail, zone: str) -> str:
    return apple(mail, zone).strip()


def thunderbird(mail: Mail, zone: str) -> str:
    here = local(mail.when, zone)
    return f"On {here.day:02}/{here.month:02}/{here.year} {clock(here)}, {mail.sender.name} wrote:"


def thunderbird_de(mail: Mail, zone: str) -> str:
    here = local(mail.when, zone)
    return f"Am {here.day:02}.{here.month:02}.{here.year % 100:02} um {clock(here)} schrieb {mail.sender.name}:"


def mutt(mail: Mail, zone: str) -> str:
    here = local(mail.when, zone)
    day = f"{DAYS[here.weekday()][:3]}, {MONTHS[here.month - 1][:3]} {here.day:02}, {here.year}"
    offset = int(here.utcoffset().total_seconds() // 3600)  # type: ignore[union-attr]
    return f"On {day} at {here:%I}:{here.minute:02}:{here.second:02}{'AP'[here.hour > 11]}M {offset:+03}00, " + (
        f"{mail.sender.name} wrote:"
    )


def yahoo(mail: Mail, zone: str) -> str:
    here = local(mail.when, zone)
    summer = "BST" if here.utcoffset() else "GMT"
    day = f"{DAYS[here.weekday()]}, {here.day} {MONTHS[here.month - 1]} {here.year}"
    return (
        f"    On {day}, {clock(here)}:{here.second:02} {summer}, {mail.sender.name} <{mail.sender.address}> wrote:  \n "
    )


def outlook_fields(mail: Mail, zone: str) -> list[tuple[str, str]]:
    here = local(mail.when, zone)
    sent = f"{here.day:02} {MONTHS[here.month - 1]} {here.year} {clock(here)}"
    fields = [("From", f"{mail.sender.name} <{mail.sender.address}>"), ("Sent", sent)]
    fields.append(("To", "; ".join(f"{p.name} <{p.address}>" for p in mail.to)))
    if mail.cc:
        fields.append(("Cc", "; ".join(f"{p.name} <{p.address}>" for p in mail.cc)))
    return [*fields, ("Subject", mail.subject)]


def outlook(mail: Mail, zone: str) -> str:
    rows = "\n".join(f"{name}: {value}" for name, value in outlook_fields(mail, zone))
    return f"-----Original Message-----\n{rows}"


def outlook_html(mail: Mail, zone: str) -> str:
    return "\n".join(f"{name}: {value}" for name, value in outlook_fields(mail, zone))


def owa(mail: Mail, zone: str) -> str:
    return "_" * 32 + "\n" + outlook_html(mail, zone)
