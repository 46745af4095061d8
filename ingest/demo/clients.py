"""The mail programs: their headers, identifiers, boundaries, charsets, and which way of quoting is theirs.

Copied in form (never in text) from what the programs send.
"""

from dataclasses import replace
from datetime import datetime

from . import attributions, rich
from .dice import Dice
from .letters import Client


def _uuid(dice: Dice) -> str:
    return "-".join(dice.hex(n) for n in (8, 4, 4, 4, 12))


def _exchange_id(dice: Dice, domain: str, when: datetime) -> str:
    server = "LO2P" + dice.digits(3) + "MB" + dice.digits(4)
    return f"<{server}{dice.text(30).upper()}@{server}.GBRP{dice.digits(3)}.PROD.{domain}>"


_OUTLOOK_VERSIONS = ((2019, "15.0"), (2022, "16.0"), (9999, "16.0"))


def _outlook_agent(when: datetime) -> list[str]:
    version = next(v for until, v in _OUTLOOK_VERSIONS if when.year < until)
    return [f"X-Mailer: Microsoft Outlook {version}", "Content-Language: en-gb"]


def _thunderbird_agent(when: datetime) -> list[str]:
    version = {2018: "52.9.1", 2019: "60.9.0", 2020: "68.12.0", 2021: "78.14.0", 2022: "91.13.0"}.get(
        when.year, "102.15.1" if when.year == 2023 else "115.16.0" if when.year == 2024 else "128.10.0esr"
    )
    return [f"User-Agent: Mozilla Thunderbird {version}", "Content-Language: en-GB"]


def _next_part(dice: Dice) -> str:
    return f"----=_NextPart_000_{dice.hex(4).upper()}_01D{dice.hex(5).upper()}.{dice.hex(8).upper()}"


_OUTLOOK = Client(
    attributions.outlook,
    lambda d, domain, w: f"<{d.hex(12)}${d.hex(8)}${d.hex(8)}$@{domain}>",
    _outlook_agent,
    quoting="",
    boundary=_next_part,
    dashes=False,
    charset="windows-1252",
)
_GMAIL = Client(
    attributions.gmail,
    lambda d, domain, w: f"<CA{d.text(1, '+-')}{d.text(46)}@mail.{domain}>",
    lambda w: ["X-Gm-Features: none"] if w.year > 2022 else ["X-Received: by 192.0.2.17"],
    wrap=76,
    html=rich.gmail_html,
)
_OWA = Client(
    attributions.owa,
    _exchange_id,
    lambda w: ["X-Originating-IP: [192.0.2.44]"],
    quoting="",
    html=rich.owa_document,
    boundary=lambda d: f"_000_{d.text(32).upper()}_",
    dashes=False,
    charset="iso-8859-1",
    subject_method="Q",
)
_BIRD = Client(
    attributions.thunderbird,
    lambda d, domain, w: f"<{_uuid(d)}@{domain}>",
    _thunderbird_agent,
    wrap=72,
    flowed=True,
    encoding="7bit",
    boundary=lambda d: "------------" + d.text(24),
)
_APPLE = Client(
    attributions.apple,
    lambda d, domain, w: f"<{_uuid(d).upper()}@{domain}>",
    lambda w: ["X-Mailer: Apple Mail (2.3445.104.11)"],
    html=rich.apple_document,
    boundary=lambda d: f"Apple-Mail=_{_uuid(d).upper()}",
    mime_version="1.0 (Mac OS X Mail 12.4 \\(3445.104.11\\))",
)

CLIENTS: dict[str, Client] = {
    "gmail": _GMAIL,
    "gmail-ja": replace(
        _GMAIL, attribution=attributions.gmail_ja, charset="iso-2022-jp", encoding="7bit", wrap=0, html=None
    ),
    "outlook": _OUTLOOK,
    "outlook-html": replace(
        _OUTLOOK, attribution=attributions.outlook_html, html=rich.outlook_document, message_id=_exchange_id
    ),
    "owa": _OWA,
    "phone-owa": replace(
        _OWA, agent=lambda w: ["Accept-Language: en-GB, en-US"], farewell="Get Outlook for Android", charset="utf-8"
    ),
    "apple": _APPLE,
    "apple-de": replace(_APPLE, attribution=attributions.apple_de),
    "phone": Client(
        attributions.phone,
        lambda d, domain, w: f"<{_uuid(d).upper()}@{domain}>",
        lambda w: [f"X-Mailer: iPhone Mail ({w.year - 2003}A{300 + w.month * 7})"],
        farewell="Sent from my phone",
        attribution_quoted=True,
        boundary=lambda d: f"Apple-Mail-{_uuid(d).upper()}",
        mime_version="1.0 (1.0)",
    ),
    "thunderbird": _BIRD,
    "thunderbird-de": replace(
        _BIRD,
        attribution=attributions.thunderbird_de,
        agent=lambda w: [*_thunderbird_agent(w)[:1], "Content-Language: de-DE"],
        charset="iso-8859-15",
        encoding="8bit",
        subject_method="Q",
    ),
    "yahoo": Client(
        attributions.yahoo,
        lambda d, domain, w: f"<{d.digits(9)}.{d.digits(7)}.{int(w.timestamp())}{d.digits(3)}@mail.{domain}>",
        lambda w: [f"X-Mailer: WebService/1.1.{w.year * 7 - 11000} YMailNorrin"],
        quoting=" ",
        html=rich.yahoo_document,
        boundary=lambda d: f"----=_Part_{d.digits(7)}_{d.digits(9)}.{d.digits(13)}",
        encoding="base64",
    ),
    "mutt": Client(
        attributions.mutt,
        lambda d, domain, w: f"<{w:%Y%m%d%H%M%S}.{d.text(2).upper()}{d.digits(5)}@kettle.{domain}>",
        lambda w: [f"User-Agent: Mutt/{'1.10.1 (2018-07-13)' if w.year < 2021 else '2.2.9 (2022-11-12)'}"],
        wrap=72,
        encoding="8bit",
        subject_method="Q",
    ),
    "webmail-ko": Client(
        attributions.korean,
        lambda d, domain, w: f"<{d.hex(32)}@cweb{d.digits(2)}.{domain}>",
        lambda w: ["X-Mailer: Hanbit Web Mailer 3.2"],
        quoting="",
        charset="euc-kr",
        encoding="base64",
        dashes=False,
    ),
}
