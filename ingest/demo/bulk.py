"""Mail that machines send: newsletters in HTML only, order confirmations, notifications."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from html import escape

from . import files, wire
from .calendar import MONTHS, at, clock, header_date, local, spoken
from .dice import Dice
from .letters import Mail
from .people import TOM, Person
from .phrases import Teller
from .post import Post, rows_of, trace

LETTERS = (
    ("kettle", Person("Kettle & Crumb", "notes@kettleandcrumb.example.com", ""), "14 Fold Lane, Otley", 92),
    ("spoke", Person("Spoke & Lane", "rides@spokeandlane.example.net", ""), "The Old Signal Box, Settle", 110),
    ("museum", Person("Ferrow Museum", "families@ferrowmuseum.example.org", ""), "Ferrow Mills, Keighley", 130),
    ("rail", Person("Northbound Rail", "offers@northboundrail.example.com", ""), "Station House, York", 150),
    ("quill", Person("Quillmark Books", "hello@quillmarkbooks.example.com", ""), "9 Market Hill, Skipton", 170),
)
SHOPS = (
    (Person("Tallow & Pine", "orders@tallowandpine.example.com", ""), "TP", "home"),
    (Person("Fellgate Outdoors", "noreply@fellgate.example.com", ""), "FG-", "outdoors"),
    (Person("Moorside Cycles", "shop@moorsidecycles.example.net", ""), "MC/", "cycling"),
    (Person("Uniform & Co", "service@uniformandco.example.com", ""), "UCO-", "school"),
)
MOVED = at(2021, 8, 1)  # to Carrick Terrace, see texts/home.play
PAYEES = ("YORKS WATER", "LARKFIELD SCH", "OTTERS SWIM", "TARN ENERGY")
CODE = Person("Codeharbour", "notifications@codeharbour.example.com", "")
BANK = Person("Aire Valley Bank", "alerts@airevalleybank.example.com", "")
CALENDAR = Person("Calendar", "calendar@notify.example.org", "")
COURIER = Person("Parcelwren", "tracking@parcelwren.example.com", "")


def post_bulk(
    post: Post,
    dice: Dice,
    sender: Person,
    when: datetime,
    subject: str,
    *,
    text: str = "",
    html: str = "",
    extra: Sequence[str] = (),
    attached: Sequence[wire.File] = (),
    charset: str = "utf-8",
    tags: Sequence[str] = (),
    words: Sequence[str] = (),
) -> Mail:
    """Sends what a machine composed: text, HTML, or both. `words` is what a reader would say is in it."""
    parts = []
    if text:
        parts.append(wire.text_part(text + "\n", "plain", charset, "quoted-printable"))
    if html:
        parts.append(wire.text_part(html, "html", charset, dice.pick(("quoted-printable", "base64"))))
    body = parts[0] if len(parts) == 1 else wire.multipart("alternative", parts, f"b1_{dice.hex(32)}")
    if attached:
        body = wire.multipart("mixed", [body, *(wire.file_part(f) for f in attached)], f"b2_{dice.hex(32)}")
    message_id = f"<{dice.hex(16)}-{dice.hex(8)}-{dice.hex(12)}-000000@{sender.domain}>"
    signature = wire.base64_lines(bytes(dice.below(256) for _ in range(128))).decode().split()
    headers = [
        *trace(dice, sender, when),
        f"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d={sender.domain};\n\ts=s{dice.below(9)}; h=from:to:"
        "subject:date:message-id;\n\tb=" + "\n\t ".join(signature),
        "From: " + wire.address(sender.name, sender.address),
        "To: " + wire.address(*dice.pick(((TOM.name, TOM.address), ("", TOM.address)))),
        wire.header("Subject", subject, method="Q"),
        f"Date: {header_date(when, 'utc')}",
        f"Message-ID: {message_id}",
        "MIME-Version: 1.0",
        *extra,
    ]
    raw = wire.Part(headers + body.headers, body.body).bytes()
    mail = Mail(
        *(message_id, sender, [TOM], [], subject, when, list(words) or [text], text, html or rows_of(text), []),
        raw if raw.endswith(b"\n") else raw + b"\n",
        bulk=True,
        tags=set(tags),
    )
    post.mails.append(mail)
    return mail


def newsletters(post: Post, dice: Dice) -> None:
    """Five of them, each at its own pace, each HTML only."""
    tell = Teller("bulk", dice)
    for topic, sender, place, pace in LETTERS:
        day = at(2018, 1, 3) + timedelta(days=dice.between(0, 60))
        while day.year < 2026:
            when = day + timedelta(minutes=dice.between(330, 720), seconds=dice.below(60))
            tell.month = when.month
            slots = {"month": MONTHS[when.month - 1], "pounds": str(dice.between(5, 29))}
            items = [tell.paragraphs(f"{topic}.item", **slots) for _ in range(dice.between(2, 4))]
            subject = tell.say(f"{topic}.subject", **slots)
            post_bulk(
                *(post, dice, sender, when, subject),
                html=_newsletter(dice, sender, place, subject, items),
                extra=[
                    f"List-Id: {sender.name.replace('&', 'and')} <{topic}.{sender.domain}>",
                    f"List-Unsubscribe: <https://{sender.domain}/u/{dice.text(22)}>",
                    "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
                    "Precedence: bulk",
                ],
                tags=["newsletter", "html-only"],
                words=[row for item in items for row in item],
            )
            day += timedelta(days=dice.between(pace * 8 // 10, pace * 12 // 10))


def _newsletter(dice: Dice, sender: Person, place: str, title: str, items: Sequence[Sequence[str]]) -> str:
    host = sender.domain
    rows = "".join(
        f'<tr><td style="padding:16px 24px"><img src="https://img.{host}/{dice.hex(8)}.jpg" width="552" height="210" '
        f'alt="" style="display:block;border:0"><h2 style="font:bold 20px Georgia,serif;margin:12px 0 6px">'
        f'{escape(head)}</h2><p style="font:16px/1.5 Georgia,serif;margin:0">{escape(text)} '
        f'<a href="https://{host}/c/{dice.text(12)}?utm_source=newsletter">Read on</a></p></td></tr>\n'
        for head, text in items
    )
    preheader = escape(items[-1][0]) + " &#847;&zwnj;&nbsp;" * 12
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>\n'
        "<style>@media (max-width:600px){.w{width:100%!important}} a{color:#7a4a12} .ExternalClass{width:100%}</style>"
        '</head>\n<body style="margin:0;background:#f3efe6">\n<div style="display:none;max-height:0;overflow:hidden;'
        f'mso-hide:all">{preheader}</div>\n<table role="presentation" width="100%" cellpadding="0" cellspacing="0">'
        '<tr><td align="center">\n<table class="w" role="presentation" width="600" cellpadding="0" cellspacing="0" '
        f'style="background:#fff">\n<tr><td style="padding:24px"><img src="https://img.{host}/logo.png" width="120" '
        f'height="40" alt="{escape(sender.name)}"><h1 style="font:28px Georgia,serif">{escape(title)}</h1></td></tr>\n'
        f'{rows}<tr><td style="padding:24px;font:12px Arial,sans-serif;color:#777">You get this because you signed up at '
        f'{host}. <a href="https://{host}/u/{dice.text(22)}">Unsubscribe</a> &middot; '
        f'<a href="https://{host}/v/{dice.text(12)}">View in browser</a><br>{escape(sender.name)}, {escape(place)}'
        f'</td></tr>\n</table>\n</td></tr></table>\n<img src="https://t.{host}/o/{dice.hex(24)}.gif" width="1" '
        'height="1" alt="">\n</body></html>\n'
    )


def orders(post: Post, dice: Dice) -> None:
    """Confirmations, dispatches and deliveries, and the odd one that goes astray."""
    tell = Teller("bulk", dice)
    day = at(2018, 1, 20)
    while day.year < 2026:
        shop, prefix, kind = dice.pick(SHOPS)
        when = day + timedelta(minutes=dice.between(420, 1380), seconds=dice.below(60))
        number = prefix + dice.digits(7)
        tell.month = when.month
        bought = []
        for _ in range(dice.between(1, 3)):
            name, price = tell.paragraphs(f"items.{kind}", age=f"{when.year - 2012}-{when.year - 2011}")
            bought.append((name, 2 if dice.chance(0.2) else 1, round(float(price) * 100)))
        post_bulk(
            *(post, dice, shop, when, tell.say("order.subject", number=number)),
            html=_confirmation(dice, shop, number, bought, when),
            extra=["Auto-Submitted: auto-generated", f"X-Order: {number}"],
            tags=["order", "html-only"],
            words=[number, *(name for name, _, _ in bought)],
        )
        track = f"PW{dice.digits(9)}GB"
        arrives = when + timedelta(days=dice.between(1, 3), minutes=dice.between(0, 300))
        if dice.chance(0.5) and arrives.year < 2026:
            state, told = tell.paragraphs("parcel")
            post_bulk(
                *(post, dice, COURIER, arrives, f"Your parcel {track} {state}"),
                text=f"Your parcel from {shop.name}\n\nTracking number: {track}\nSender's reference: {number}\n\n{told}\n\n"
                f"https://parcelwren.example.com/t/{track}\n\nPlease don't reply to this message.",
                extra=["Auto-Submitted: auto-generated"],
                tags=["notification"],
            )
        day += timedelta(days=dice.between(22, 66))


def _confirmation(dice: Dice, shop: Person, number: str, bought: Sequence[tuple[str, int, int]], when: datetime) -> str:
    home = "Flat 2, 31 Carrick Terrace" if when >= MOVED else "Flat 1, 8 Beck Street"
    total = sum(count * pence for _, count, pence in bought)
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td align=right>{count}</td><td align=right>&pound;{count * pence / 100:.2f}</td></tr>\n"
        for name, count, pence in bought
    )
    return (
        f'<html><head><style>td{{font-family:Arial;font-size:14px}}</style>\n<script type="application/ld+json">'
        f'{{"@context":"http://schema.org","@type":"Order","orderNumber":"{number}"}}</script></head>\n<body>\n'
        f'<img src="https://cdn.{shop.domain}/head.png" alt="{escape(shop.name)}" width="600">\n<p>Hello Tom,</p>\n'
        f"<p>{dice.pick(('Thank you for your order.', 'We are packing it now.', 'Good choice. Here is what happens next.'))}"
        f" Your order number is <b>{number}</b>.</p>\n<table width=600 border=0 cellpadding=4>\n<tr><th align=left>Item</th>"
        f"<th>Qty</th><th>Price</th></tr>\n{rows}<tr><td colspan=2>Delivery</td><td align=right>&pound;3.95</td></tr>\n"
        f"<tr><td colspan=2><b>Total</b></td><td align=right><b>&pound;{(total + 395) / 100:.2f}</b></td></tr>\n</table>\n"
        f"<p>Paid with card ending {'6502' if when.year < 2022 else '0184'}. Delivered to: T Hallam, {home}, Leeds.</p>\n"
        f'<p style="font-size:11px;color:#888">{escape(shop.name)} &nbsp;|&nbsp; Returns within 30 days &nbsp;|&nbsp; '
        f'<a href="https://{shop.domain}/help">Help</a></p>\n</body></html>\n'
    )


def notifications(post: Post, dice: Dice) -> None:
    """A code host, a bank and a calendar."""
    tell = Teller("bulk", dice)
    day = at(2018, 1, 9)
    while day.year < 2026:
        when = day + timedelta(minutes=dice.between(400, 1100), seconds=dice.below(60))
        event_at = (when + timedelta(days=dice.between(2, 20))).replace(hour=dice.between(9, 17), minute=30, second=0)
        tell.month = when.month
        slots = {
            "module": dice.pick(("turbidity", "ph_probe", "modbus", "calibration", "flash_log", "radio")),
            "issue": str((when.year - 2017) * 140 + dice.between(1, 139)),
            "who": dice.pick(("sanna-l", "devap", "ben-achterberg", "mkowal")),
            "ending": "4417",
            "pounds": str(dice.between(12, 400)),
            "pence": f"{dice.below(100):02}",
            "payee": dice.pick((*PAYEES, "CORRAN LETTINGS" if when >= MOVED else "G PELL")),
            "day": spoken(event_at.date()),
            "time": clock(event_at),
        }
        kind = dice.pick(("code", "code", "bank", "calendar"))
        auto = ["Auto-Submitted: auto-generated"]
        if kind == "code":
            subject, note = tell.paragraphs("code", **slots)
            url = f"https://codeharbour.example.com/brightwater/issues/{slots['issue']}"
            post_bulk(
                *(post, dice, CODE, when, subject),
                text=f"{note}\n\n-- \nReply to this email directly or view it on Codeharbour:\n{url}",
                html=f'<p>{escape(note)}</p>\n<p style="font-size:small;color:#666">&mdash;<br>Reply to this email directly or '
                f'<a href="{url}">view it on Codeharbour</a>.<img src="{url}/beacon.gif" height="1" width="1" alt=""></p>\n',
                extra=[*auto, "List-ID: brightwater/heron-fw <heron-fw.brightwater.codeharbour.example.com>"],
                tags=["notification"],
                words=[note],
            )
        elif kind == "bank":
            subject, note = tell.paragraphs("bank", **slots)
            post_bulk(
                *(post, dice, BANK, when, subject),
                text=f"Dear Mr T Hallam\n\n{note}\n\nAire Valley Bank plc, Wellington Street, Leeds",
                extra=auto,
                tags=["notification"],
                words=[note],
                charset="iso-8859-1" if "£" in note else "us-ascii",
            )
        else:
            event = tell.say("events.late" if when >= MOVED and dice.chance(0.5) else "events")
            note = tell.say("calendar.note", event=event, **slots)
            start = event_at - (local(event_at, "uk").utcoffset() or timedelta())
            post_bulk(
                *(post, dice, CALENDAR, when, f"{note.split(':')[0]}: {event}"),
                text=note,
                attached=[files.ics("invite.ics", f"{dice.hex(20)}@notify.example.org", start, 60, event, "Leeds")],
                extra=auto,
                tags=["notification", "attachment"],
                words=[note],
            )
        day += timedelta(days=dice.between(16, 52))
