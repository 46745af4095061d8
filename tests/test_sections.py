"""Sections: what must be cut, in every language and client, and what must never be, since a writer's word lost is lost."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.sectioning import attributions, blocks, cuts, lines, notices
from ingest.sections import Section, is_forward, section

WHO = "Ann Lee <ann@example.org>"

# As Gmail, Thunderbird and Apple Mail print them in each language.
ATTRIBUTIONS = {
    "en": [
        f"On Tue, Jan 5, 2016 at 12:00 PM, {WHO} wrote:",
        "On 05/01/2016 12:00, Ann Lee wrote:",
        f"On 5 Jan 2016, at 12:00, {WHO} wrote:",
        f"At 2016-01-05 12:00:00, {WHO} wrote:",
        f"--- On Tue, 1/5/16, {WHO} wrote:",
        f"{WHO} writes:",
    ],
    "de": [
        f"Am Di., 5. Jan. 2016 um 12:00 Uhr schrieb {WHO}:",
        "Am 05.01.2016 um 12:00 schrieb Ann Lee:",
        f"{WHO} schrieb am 05.01.2016 um 12:00:",
        f"Zitat von {WHO}:",
    ],
    "fr": [
        f"Le mar. 5 janv. 2016 à 12:00, {WHO} a écrit :",
        "Le 05/01/2016 à 12:00, Ann Lee a écrit\u00a0:",
    ],
    "es": [
        "El mar, 5 ene 2016 a las 12:00, Ann Lee (<ann@example.org>) escribió:",
        "El 05/01/2016 a las 12:00, Ann Lee escribió:",
    ],
    "pt": [
        f"Em ter., 5 de jan. de 2016 às 12:00, {WHO} escreveu:",
        f"No dia 05/01/2016, às 12:00, {WHO} escreveu:",
    ],
    "it": [
        f"Il giorno mar 5 gen 2016 alle ore 12:00 {WHO} ha scritto:",
        "Il 05/01/2016 12:00, Ann Lee ha scritto:",
    ],
    "nl": [
        f"Op di 5 jan. 2016 om 12:00 schreef {WHO}:",
        f"Op 5 jan. 2016, om 12:00 heeft {WHO} het volgende geschreven:",
    ],
    "pl": [
        f"wt., 5 sty 2016 o 12:00 {WHO} napisał(a):",
        "W dniu 05.01.2016 o 12:00, Ann Lee pisze:",
        f"Wiadomość napisana przez {WHO} w dniu 5 sty 2016, o godz. 12:00:",
    ],
    "sv": [
        f"Den tis 5 jan. 2016 kl 12:00 skrev {WHO}:",
        "Den 2016-01-05 kl 12:00, skrev Ann Lee:",
    ],
    "no": [f"tir. 5. jan. 2016 kl. 12:00 skrev {WHO}:"],
    "da": [
        f"Den tir. 5. jan. 2016 kl. 12.00 skrev {WHO}:",
        "Den 05-01-2016 kl. 12:00 skrev Ann Lee:",
    ],
    "fi": [
        "ti 5. tammik. 2016 klo 12.00 Ann Lee (ann@example.org) kirjoitti:",
        f"{WHO} kirjoitti 5.1.2016 kello 12.00:",
    ],
    "cs": [
        f"út 5. 1. 2016 v 12:00 odesílatel {WHO} napsal:",
        "Dne 05.01.2016 v 12:00 Ann Lee napsal(a):",
    ],
    "ru": [
        f"вт, 5 янв. 2016 г. в 12:00, {WHO}:",
        "05.01.2016 12:00, Ann Lee пишет:",
        f"5 янв. 2016 г., в 12:00, {WHO} написал(а):",
        f"Вторник, 5 января 2016, 12:00 +03:00 от {WHO}:",
    ],
    "uk": [
        f"вт, 5 січ. 2016 р. о 12:00 {WHO} пише:",
        f"5 січ. 2016 р. о 12:00 {WHO} написав(ла):",
    ],
    "tr": [
        f"{WHO}, 5 Oca 2016 Sal, 12:00 tarihinde şunu yazdı:",
        "05.01.2016 12:00 tarihinde Ann Lee yazdı:",
    ],
    "el": [
        f"Στις Τρί 5 Ιαν 2016 στις 12:00 μ.μ., ο χρήστης {WHO} έγραψε:",
        "Στις 05/01/2016 12:00, ο Ann Lee έγραψε:",
    ],
    "he": [
        "\u202bבתאריך יום ג׳, 5 בינו׳ 2016 ב-12:00 מאת \u202aAnn Lee\u202c\u200f <\u202aann@example.org\u202c\u200f>:\u202c",
        "בתאריך 05/01/2016 12:00, Ann Lee כתב:",
    ],
    "ar": [
        "في الثلاثاء، 5 يناير 2016 في 12:00 م تمت كتابة ما يلي بواسطة Ann Lee <ann@example.org>:",
        "في ٥ يناير ٢٠١٦، الساعة ١٢:٠٠ م، كتب Ann Lee <ann@example.org>:",
    ],
    "zh": [
        f"{WHO} 于2016年1月5日周二 下午12:00写道：",
        f"在 2016年1月5日，12:00，{WHO} 写道：",
        f"{WHO} 於 2016年1月5日 週二 下午12:00寫道：",
    ],
    "ja": [
        f"2016年1月5日(火) 午後12:00 {WHO}:",
        f"2016/01/05 12:00、{WHO}のメール:",
    ],
    "ko": [
        f"2016년 1월 5일 (화) 오후 12:00, {WHO}님이 작성:",
        "2016. 1. 5. 오후 12:00, Ann Lee 작성:",
    ],
}

# From, sent, to, subject; the original-message marker; Gmail's and Apple's forward markers; what telephones add.
CLIENTS = {
    "en": (
        "From Sent To Subject",
        "Original Message",
        "Forwarded message",
        "Begin forwarded message",
        "Sent from my iPhone",
    ),
    "de": (
        "Von Gesendet An Betreff",
        "Ursprüngliche Nachricht",
        "Weitergeleitete Nachricht",
        "Anfang der weitergeleiteten Nachricht",
        "Von meinem iPhone gesendet",
    ),
    "fr": (
        "De Envoyé À Objet",
        "Message d'origine",
        "Message transféré",
        "Début du message réexpédié",
        "Envoyé de mon iPhone",
    ),
    "es": (
        "De Enviado Para Asunto",
        "Mensaje original",
        "Mensaje reenviado",
        "Inicio del mensaje reenviado",
        "Enviado desde mi iPhone",
    ),
    "pt": (
        "De Enviada Para Assunto",
        "Mensagem original",
        "Mensagem encaminhada",
        "Início da mensagem encaminhada",
        "Enviado do meu iPhone",
    ),
    "it": (
        "Da Inviato A Oggetto",
        "Messaggio originale",
        "Messaggio inoltrato",
        "Inizio messaggio inoltrato",
        "Inviato da iPhone",
    ),
    "nl": (
        "Van Verzonden Aan Onderwerp",
        "Oorspronkelijk bericht",
        "Doorgestuurd bericht",
        "Begin doorgestuurd bericht",
        "Verstuurd vanaf mijn iPhone",
    ),
    "pl": (
        "Od Wysłano Do Temat",
        "Wiadomość oryginalna",
        "Przekazana wiadomość",
        "Początek przekazywanej wiadomości",
        "Wysłane z iPhone'a",
    ),
    "sv": (
        "Från Skickat Till Ämne",
        "Ursprungligt meddelande",
        "Vidarebefordrat meddelande",
        "Vidarebefordrat brev",
        "Skickat från min iPhone",
    ),
    "no": (
        "Fra Sendt Til Emne",
        "Opprinnelig melding",
        "Videresendt melding",
        "Start på videresendt melding",
        "Sendt fra min iPhone",
    ),
    "da": (
        "Fra Sendt Til Emne",
        "Oprindelig meddelelse",
        "Videresendt meddelelse",
        "Start på videresendt besked",
        "Sendt fra min iPhone",
    ),
    "fi": (
        "Lähettäjä Lähetetty Vastaanottaja Aihe",
        "Alkuperäinen viesti",
        "Välitetty viesti",
        "Välitetty viesti alkaa",
        "Lähetetty iPhonesta",
    ),
    "cs": (
        "Od Odesláno Komu Předmět",
        "Původní zpráva",
        "Přeposlaná zpráva",
        "Začátek přeposílané zprávy",
        "Odesláno z iPhonu",
    ),
    "ru": (
        "От Отправлено Кому Тема",
        "Исходное сообщение",
        "Пересылаемое сообщение",
        "Начало переадресованного сообщения",
        "Отправлено с iPhone",
    ),
    "uk": (
        "Від Надіслано Кому Тема",
        "Оригінальне повідомлення",
        "Переслане повідомлення",
        "Початок листа, що пересилається",
        "Надіслано з iPhone",
    ),
    "tr": (
        "Kimden Gönderildi Kime Konu",
        "Orijinal İleti",
        "Yönlendirilen ileti",
        "İletilen ileti başlangıcı",
        "iPhone'umdan gönderildi",
    ),
    "el": (
        "Από Στάλθηκε Προς Θέμα",
        "Αρχικό μήνυμα",
        "Προωθημένο μήνυμα",
        "Έναρξη προωθημένου μηνύματος",
        "Στάλθηκε από το iPhone μου",
    ),
    "he": ("מאת נשלח אל נושא", "הודעה מקורית", "הודעה שהועברה", "תחילת ההודעה שהועברה", "נשלח מה-iPhone שלי"),
    "ar": (
        "من أرسلت إلى الموضوع",
        "الرسالة الأصلية",
        "رسالة معاد توجيهها",
        "بداية الرسالة المعاد توجيهها",
        "أرسلت من الـ iPhone",
    ),
    "zh": ("发件人 发送时间 收件人 主题", "原始邮件", "转发的邮件", "开始转发的邮件", "发自我的 iPhone"),
    "ja": (
        "差出人 送信日時 宛先 件名",
        "元のメッセージ",
        "転送されたメッセージ",
        "転送されたメッセージ",
        "iPhoneから送信",
    ),
    "ko": (
        "보낸 사람|보낸 날짜|받는 사람|제목",
        "원본 메시지",
        "전달된 메시지",
        "전달된 메시지",
        "나의 iPhone에서 보냄",
    ),
}


def kinds(text: str, subject: str | None = None) -> list[tuple[str, str]]:
    """(section, its text without the white space around it), in order; checks that the sections tile the text."""
    found = section(text, subject)
    assert "".join(text[part.start : part.stop] for part in found) == text
    assert [part.start for part in found] == [0, *(part.stop for part in found[:-1])][: len(found)]
    return [(part.section, text[part.start : part.stop].strip()) for part in found]


def authored(text: str, subject: str | None = None) -> str:
    """The authored text, its white space made single."""
    return " ".join(" ".join(words for kind, words in kinds(text, subject) if kind == "authored").split())


def every_attribution() -> list[tuple[str, str]]:
    return [(language, line) for language, several in ATTRIBUTIONS.items() for line in several]


def header_block(language: str) -> str:
    names = CLIENTS[language][0]
    sender, sent, to, subject = names.split("|" if "|" in names else " ")
    colon = "：" if language == "zh" else ":"
    return f"{sender}{colon} {WHO}\n{sent}{colon} 5.1.2016 12:00\n{to}{colon} Bo Ek <bo@example.org>\n{subject}{colon} Re: Tea\n"


# Attribution lines


@pytest.mark.parametrize(("language", "line"), every_attribution())
def test_an_attribution_goes_with_the_quote_it_introduces(language: str, line: str) -> None:
    text = f"My own words.\n\n{line}\n\n> Their words.\n> More of them.\n\nAnd my last.\n"
    assert [(part.section, part.why) for part in section(text)] == [
        ("authored", "authored"),
        ("quoted", f"attribution:{language}"),
        ("quoted", "quote:>"),
        ("authored", "authored"),
    ]


# "Zitat von …" has neither a date nor a verb: too weak without a quote under it.
@pytest.mark.parametrize(("language", "line"), [pair for pair in every_attribution() if "Zitat" not in pair[1]])
def test_an_attribution_cuts_a_quote_that_no_character_marks(language: str, line: str) -> None:
    text = f"My own words.\n\n{line}\n\nTheir words.\n\nMore of them.\n"
    assert kinds(text) == [
        ("authored", "My own words."),
        ("quoted", line.strip()),
        ("quoted", "Their words.\n\nMore of them."),
    ]


@pytest.mark.parametrize("width", [32, 40, 52])
@pytest.mark.parametrize(("language", "line"), [pair for pair in every_attribution() if WHO in pair[1]])
def test_an_attribution_wrapped_over_lines_is_one(language: str, line: str, width: int) -> None:
    wrapped = textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
    if wrapped.count("\n") > 3:
        pytest.skip("no client wraps it so narrow")
    assert kinds(f"My own words.\n{wrapped}\n> Their words.\n") == [
        ("authored", "My own words."),
        ("quoted", wrapped),
        ("quoted", "> Their words."),
    ]


def test_an_attribution_torn_before_its_bracket() -> None:
    text = "Yes.\n\nOn Tue, Jan 5, 2016 at 12:00 PM, Ann Lee <ann@example.org\n> wrote:\n\n> Tea?\n"
    assert kinds(text) == [
        ("authored", "Yes."),
        ("quoted", "On Tue, Jan 5, 2016 at 12:00 PM, Ann Lee <ann@example.org\n> wrote:"),
        ("quoted", "> Tea?"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        f"2016/1/5 {WHO}",
        f"2016-01-05 15:36 GMT+02:00 {WHO}:",
        '05.01.2016, 12:00, "Ann Lee" <ann@example.org>:',
        "* Ann Lee <ann@example.org> [2016-01-05 12:00]:",
        "In article <k12@example.org>, Ann Lee <ann@example.org> wrote:",
        "Ann Lee wrote:",
        "ann_lee wrote:",
        "Ann van der Lee wrote:",
    ],
)
def test_short_forms_of_attribution_are_believed_when_a_quote_follows(line: str) -> None:
    assert authored(f"Own.\n\n{line}\n\n> Theirs.\n") == "Own."


@pytest.mark.parametrize(
    "text",
    [
        "On Monday he wrote:\n\nI never agreed to any of it.\n\nWhat do you make of that?\n",
        "On 5 May 2016 at 10:30 he wrote:\n\nNo.\n\nThat was all.\n",
        "I looked it up.\n\nOn Monday he wrote:\n\nI never agreed.\n\nWhat do you make of that?\n",
        "As you know, in May 2016 the council wrote:\n\nNo parking.\n\nIt was ignored.\n",
        "From: the look of it, nobody came.\nTo: be honest, I am glad.\n\nBye\n",
        "From:\n\nmy point of view it is fine.\n",
        "Hello\n\nFrom: London\nTo: Paris\nDate: 5 May 2018\n\nCan you book that?\n",
        "Subject: to approval, we start on Monday.\n\nBo\n",
        "Am Montag schrieb er:\n\nDas stimmt so nicht.\n\nUnd nun?\n",
        "Le lundi il a écrit :\n\nCe n'est pas vrai.\n\nEt alors ?\n",
        "В понедельник он написал:\n\nЭто неправда.\n\nЧто скажешь?\n",
        "The original message was lost.\n\nForwarded messages are kept for a year.\n\nOriginal Message\n\nis a fine title.\n",
        "Costs:\n\n- tea: 3\n- milk: 1\n\nBo said:\nbuy more\n",
        "Two things --\n\n-- the first\n-- the second\n",
        "On 5 Jan 2016 at 12:00 I wrote to Bo <bo@example.org>: come to tea.\n\nHe came.\n",
        "Write to Bo <bo@example.org>: he knows.\n\nBye\n",
        "We sent from my house a parcel.\n\nSent from my desk, which is easier, by the way.\n",
    ],
)
def test_prose_that_looks_like_a_cut_stays_authored(text: str) -> None:
    assert [part.section for part in section(text)] == ["authored"]


@pytest.mark.parametrize("opening", ["I disagree with what Bo wrote:", "On Monday he wrote:", "As I wrote:"])
def test_a_sentence_that_introduces_a_quote_stays_though_the_quote_goes(opening: str) -> None:
    assert authored(f"{opening}\n\n> Theirs.\n\nNo.\n") == f"{opening} No."


def test_an_answer_under_an_attribution_at_the_top_is_not_lost() -> None:
    line = f"On Tue, Jan 5, 2016 at 12:00 PM, {WHO} wrote:"
    assert authored(f"{line}\n\nWith nothing above, who says these are not my words?\n") == (
        "With nothing above, who says these are not my words?"
    )


def test_unmarked_words_between_an_attribution_and_answers_are_kept() -> None:
    line = f"On Tue, Jan 5, 2016 at 12:00 PM, {WHO} wrote:"
    text = f"Hi.\n\n{line}\n\nThanks for this. In order:\n\n> Tea?\n\nYes.\n\n> Milk?\n\nNo.\n"
    assert authored(text) == "Hi. Thanks for this. In order: Yes. No."


REPLIES = {
    "Yahoo for Android, all on one line": (
        "Sent from Yahoo Mail on Android \n \n  On Tue, Jan 5, 2016 at 12:00 PM, Ann Lee<ann@example.org> wrote:   Tea is gone,\nBo."
    ),
    "Outlook for iOS": (
        "Get Outlook for iOS<https://example.org/o>\n________________________________\nFrom: Ann Lee <ann@example.org>\n"
        "Sent: Tuesday, January 5, 2016 12:00:00 PM\nTo: Bo Ek <bo@example.org>\nSubject: Re: Tea\n\nTea is gone."
    ),
    "Samsung": (
        "Sent from my Galaxy\n\n\n-------- Original message --------\nFrom: Ann Lee <ann@example.org> \n"
        "Date: 1/5/16 12:00 PM (GMT-05:00) \nTo: bo@example.org \nSubject: Re: Tea \n\nTea is gone."
    ),
    "Android": (
        '----- Reply message -----\nVon: "Ann Lee" <ann@example.org>\nDatum: Di., Jan. 5, 2016 12:00\nBetreff: Tea\nAn: <bo@example.org>\n'
        "\nTea is gone."
    ),
    "Proton": (
        "Sent with Proton Mail secure email.\n\n‐‐‐‐‐‐‐ Original Message ‐‐‐‐‐‐‐\nOn Tuesday, January 5th, 2016 at 12:00 PM, Ann Lee"
        " <ann@example.org> wrote:\n\n> Tea is gone."
    ),
    "QQ": (
        '------------------ 原始邮件 ------------------\n发件人: "Ann"<ann@example.org>;\n发送时间: 2016年1月5日(星期二) 中午12:00\n'
        '收件人: "Bo"<bo@example.org>;\n主题: Re: Tea\n\nTea is gone.'
    ),
    "GroupWise": '>>> "Ann Lee" <ann@example.org> 01/05/16 12:00PM >>>\nTea is gone.\n\nAnn',
    "Lotus Notes 9": (
        "-----Ann Lee/DE/EXAMPLE wrote: -----\nTo: bo@example.org\nFrom: Ann Lee/DE/EXAMPLE\nDate: 01/05/2016 12:00PM\nSubject: Tea\n\n"
        "Tea is gone."
    ),
    "Hotmail": "> Date: Tue, 5 Jan 2016 12:00:00 +0100\n> From: ann@example.org\n> Subject: Tea\n>\n> Tea is gone.",
    "Zimbra": (
        '----- Mail original -----\nDe: "Ann Lee" <ann@example.org>\nÀ: "Bo" <bo@example.org>\nEnvoyé: Mardi 5 Janvier 2016 12:00:00\n'
        "Objet: Tea\n\nTea is gone."
    ),
    "EarthLink": "> [Original Message]\n> From: Ann <ann@example.org>\n> Subject: Tea\n>\n> Tea is gone.",
    "Windows Live in Russian, no address and no subject": (
        "От: Ann\nОтправлено: \u200eвторник\u200e, \u200e5\u200e \u200eянваря\u200e \u200e2016\u200e г. \u200e12\u200e:\u200e00\nКому: Bo\n\n"
        "Tea is gone."
    ),
    "Spark": "On 5 Jan 2016, 12:00 +0100, Ann Lee <ann@example.org>, wrote:\n> Tea is gone.",
    "Front": "On January 5, 2016, 12:00 PM GMT+1 ann@example.org wrote:\n\nTea is gone.",
    "Bold attribution": "*On Tue, Jan 5, 2016 at 12:00 PM, Ann Lee <ann@example.org> wrote:*\n\nTea is gone.",
    "The Bat": "Вторник, 5 января 2016 г., 12:00:00, вы писали:\n\n> Tea is gone.",
    "Gnus": '>>>>> "Ann" == Ann Lee <ann@example.org> writes:\n\n    Ann> Tea is gone.\n    Ann> Really.',
    "Mailing list digest in Mutt": "* Ann Lee <ann@example.org> [160105 12:00]:\n> Tea is gone.",
}
"""What clients put under a reply."""


@pytest.mark.parametrize("client", REPLIES)
def test_what_clients_put_under_a_reply_is_not_the_writers(client: str) -> None:
    assert authored(f"That is a pity.\n\nBo\n\n{REPLIES[client]}\n") == "That is a pity. Bo"


@pytest.mark.parametrize("client", REPLIES)
def test_an_empty_reply_still_has_what_was_quoted(client: str) -> None:
    quoted = " ".join(words for kind, words in kinds(f"{REPLIES[client]}\n") if kind != "signature")
    assert "Tea is" in quoted
    assert "gone" in quoted


def test_answers_to_a_quote_marked_with_initials_are_kept() -> None:
    text = f"Hello!\n\nFriday, August 30, 2002, 7:25:31 PM {WHO} wrote:\n\n[…]\n\nAL> Tea?\nAL> Milk?\n\nYes.\n"
    assert authored(text) == "Hello! […] Yes."


# Quoting characters


def test_interleaved_answers_keep_each_line() -> None:
    text = "Hi\n> one\n> two\nfirst\n\n> three\n>\n\n> four\nsecond\nthird\n>> five\n> > six\n  > seven\nlast"
    assert authored(text) == "Hi first second third last"


@pytest.mark.parametrize(
    "quote",
    [
        "> a\n> b",
        ">> a\n>> b",
        "> > a\n>>b",
        "  > a\n  > b",
        "\t> a\n\t> b",
        ">a\n>\n>b",
        "> a\n\n> b",
        "| a\n| b",
        "|> a\n|> b",
        "JD> a\nJD> b",
        "  JD> a\n  JD>\n  JD> b",
        "\u200f> a\n\u200f> b",
    ],
)
def test_variants_of_quoting(quote: str) -> None:
    assert kinds(f"Before.\n\n{quote}\n\nAfter.\n") == [
        ("authored", "Before."),
        ("quoted", quote.strip()),
        ("authored", "After."),
    ]


def test_a_name_before_the_sign_is_a_quote_where_it_was_introduced() -> None:
    text = f"Hm.\n\n{WHO} wrote:\nAnnLee> one line\n\nYes.\n\nAnnLee> another\n\nNo.\n"
    assert authored(text) == "Hm. Yes. No."


@pytest.mark.parametrize("sign", ["# ", ": ", "% ", "}", "--]", "=> ", "»"])
def test_another_sign_in_place_of_the_usual_one(sign: str) -> None:
    text = f"Hm.\n\nOn 5 Jan 2016, Ann Lee wrote:\n\n{sign}one\n{sign}two\n\nYes.\n\n{sign}three\n\nNo.\n"
    assert authored(text) == "Hm. Yes. No."


def test_a_list_under_a_colon_is_not_quoted() -> None:
    line = "On 5 Jan 2016, Ann Lee wrote:"
    assert authored(f"{line}\n\n- one\n- two\n\nYes.\n") == f"{line} - one - two Yes."


@pytest.mark.parametrize(
    "text",
    [
        "Try this:\n\n>>> import this\n>>> print(2)\n2\n",
        "The change:\n\n3c3\n< old\n---\n> new\n\nBo\n",
        "One paragraph that was wrapped so that it went on\n>From here to there.\nAnd on.\n",
        "A table:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nBo\n",
        "SQL> select 1;\nSQL> quit\n",
        "Heading\n+------+\n| a    |\n|   b  |\n+------+\n\nBo\n",
        "x = 1 | 2\n| 3\ny\n",
        "if a > b:\n    c\n",
        ">>> Part one: the beginning\n\nIt began.\n\n>>> Part two: the end\n\nIt ended.\n",
    ],
)
def test_signs_that_are_not_quoting_stay(text: str) -> None:
    assert [part.section for part in section(text)] == ["authored"]


# Header blocks, originals, forwards


@pytest.mark.parametrize("language", CLIENTS)
def test_outlooks_header_block_cuts(language: str) -> None:
    block = header_block(language)
    text = f"My own words.\n\n{block}\nTheir words.\n\nMore.\n"
    assert kinds(text) == [
        ("authored", "My own words."),
        ("quoted", block.strip()),
        ("quoted", "Their words.\n\nMore."),
    ]
    found = section(text)[1].why
    assert found.startswith("headers:")
    assert found == f"headers:{language}" or language in ("no", "da", "uk", "pt", "ar")


@pytest.mark.parametrize("language", CLIENTS)
def test_bold_and_underlined_header_blocks_cut(language: str) -> None:
    starred = "\n".join(
        f"*{name}{colon}* {value}"
        for name, colon, value in (
            line.partition("：" if language == "zh" else ":") for line in header_block(language).split("\n")[:-1]
        )
    )
    assert authored(f"My own words.\n\n{'_' * 32}\n{starred}\n\nTheir words.\n") == "My own words."


@pytest.mark.parametrize("dashes", ["-----{}-----", "-------- {} --------", "*----- {} -----*", "_____ {} _____"])
@pytest.mark.parametrize("language", CLIENTS)
def test_original_message_marker_cuts(language: str, dashes: str) -> None:
    marker = dashes.format(CLIENTS[language][1])
    for below in (header_block(language), ""):
        text = f"My own words.\n\n{marker}\n{below}\nTheir words.\n"
        assert authored(text) == "My own words."
        assert section(text)[1].why == f"original:{language}" or (language, section(text)[1].why) == (
            "ko",
            "original:en",
        )


@pytest.mark.parametrize("language", CLIENTS)
def test_forwards_are_forwarded_whatever_the_client(language: str) -> None:
    _, _, gmail, apple, _ = CLIENTS[language]
    block = header_block(language)
    for marker in (f"---------- {gmail} ---------", f"{apple}:", f"> {apple}:\n>"):
        text = f"See below.\n\n{marker}\n\n{block}\nTheir words.\n\nMore.\n"
        assert kinds(text) == [
            ("authored", "See below."),
            ("forwarded", f"{marker}\n\n{block}".strip()),
            ("forwarded", "Their words.\n\nMore."),
        ]


def test_a_message_that_is_nothing_but_a_forward_is_forwarded() -> None:
    text = header_block("en") + "\nTheir words.\n"
    assert [part.section for part in section(text)] == ["forwarded", "forwarded"]


def test_the_subject_tells_a_forward_from_a_reply() -> None:
    text = f"FYI\n\n-----Original Message-----\n{header_block('en')}\nTheir words.\n"
    assert [part.section for part in section(text, "RE: Tea")] == ["authored", "quoted", "quoted"]
    assert [part.section for part in section(text, "FW: Tea")] == ["authored", "forwarded", "forwarded"]


@pytest.mark.parametrize(
    ("subject", "forward"),
    [
        ("Fwd: Tea", True),
        ("WG: Tea", True),
        ("转发：茶", True),
        ("Re: Tea", False),
        ("Tea", False),
        ("", False),
        (None, False),
    ],
)
def test_prefixes_of_forwards(subject: str | None, forward: bool) -> None:
    assert is_forward(subject) is forward


def test_lotus_notes_replies_and_forwards() -> None:
    reply = (
        "Fine by me.\n\n\n\tAnn Lee@EXAMPLE\n\t05/01/2001 01:03 PM\n\t\t \n\t\t To: Bo Ek/NA/Example@Example\n\t\t cc: \n"
        "\t\t Subject: Tea\n\nIs it?\n"
    )
    assert authored(reply) == "Fine by me."
    forward = (
        "See below.\n---------------------- Forwarded by Bo Ek/NA/Example on 05/01/2001 \n01:03 PM ---------------------------\n"
        "   \n\tFrom:  Ann Lee                           05/01/2001 07:57 AM\n\t\n\nTo: Bo Ek/NA/Example@Example\ncc:  \n\n"
        "Subject: Tea\n\nF.Y.I.\n"
    )
    assert kinds(forward)[0] == ("authored", "See below.")
    assert kinds(forward)[-1] == ("forwarded", "F.Y.I.")


def test_an_end_of_a_forward_gives_the_word_back() -> None:
    text = f"See.\n\n--- begin forwarded text\n\n\n{header_block('en')}\nTheirs.\n\n--- end forwarded text\n\n\nSo much for that.\n"
    assert authored(text) == "See. So much for that."


def test_answers_between_quotes_under_an_original_marker_are_kept() -> None:
    text = "----- Original Message -----\nFrom: Ann <ann@example.org>\n\n> Tea?\n\nYes.\n\n> Milk?\n\nNo.\n"
    assert authored(text) == "Yes. No."


def test_headers_pasted_whole_stay_searchable() -> None:
    text = f"Look:\n\nReceived: from a\nMessage-ID: <a@example.org>\n{header_block('en')}\nStrange, is it not?\n"
    assert [part.section for part in section(text)] == ["authored", "forwarded", "forwarded"]


@pytest.mark.parametrize("escape", ["", ">"])
def test_a_patch_of_ones_own_is_not_a_quote(escape: str) -> None:
    patch = (
        f"{escape}From 711fd37e34e8 Mon Sep 17 00:00:00 2001\nFrom: Bo <bo@example.org>\nDate: Tue, 29 Oct 2019 13:55:39 +0100\n"
        "Subject: x\n"
    )
    assert [part.section for part in section(f"Here.\n\n{patch}\nFix it.\n")] == ["authored"]


def test_a_quote_under_a_header_block_ends_where_its_signs_end() -> None:
    text = f"Above.\n\n-----Original Message-----\n{header_block('en')}\n> Tea?\n\nBelow.\n"
    assert authored(text) == "Above. Below."


def test_a_memo_of_ones_own_is_not_a_forward() -> None:
    text = "TO: All staff\nFROM: The kitchen\nDATE: 5 May\nSUBJECT: Tea\n\nThere is none left.\n"
    assert [part.section for part in section(text)] == ["authored"]


# Signatures, notices, footers


@pytest.mark.parametrize("language", CLIENTS)
def test_what_a_telephone_adds_is_a_signature(language: str) -> None:
    line = CLIENTS[language][4]
    assert kinds(f"Own words.\n\n{line}\n") == [("authored", "Own words."), ("signature", line)]
    reply = f"Own words.\n\n{line}\n\nOn 5 Jan 2016, at 12:00, {WHO} wrote:\n\n> Tea?\n"
    assert authored(reply) == "Own words."


@pytest.mark.parametrize(
    "signature",
    [
        "-- \nBo Ek\nKitchen",
        "--\nBo",
        "—\nBo",
        "-- \nBo\n\nSecond paragraph of it",
        "Bo Ek\nbo@example.org\n+46 8 123 456 78",
        "________________________\nBo's advertisement",
        "----------------\nBo Ek\n\nt. 08-123 456 78\n\nhttp://example.org/bo",
        "-----BEGIN PGP SIGNATURE-----\n\niQEzBAEBCAAdFiEE\n=abcd\n-----END PGP SIGNATURE-----",
        "Sent from my iPad",
        "Sent from my iPhone, please excuse any typos.",
        "Sent from my mobile device. Please be kind.",
        "Gesendet mit der GMX Mail App",
        "Provenance : Courrier pour Windows 10",
        "Get Outlook for Android<https://example.org/o>",
    ],
)
def test_signatures(signature: str) -> None:
    assert kinds(f"Own words.\n\n{signature}\n") == [("authored", "Own words."), ("signature", signature)]


@pytest.mark.parametrize(
    "text",
    [
        "Her number is new:\n\nAnn Lee\nann@example.org\n+46 8 123 456 78\n",
        "Ann Lee\nann@example.org\n+46 8 123 456 78\n",
        "First.\n\n--\n" + "Another line of the second part of a long letter.\n" * 20,
        "Thanks,\nBo\n",
        "-- \nA message that begins with dashes.\n",
    ],
)
def test_words_that_look_like_a_signature_stay(text: str) -> None:
    assert [part.section for part in section(text)] == ["authored"]


NOTICES = [
    "This e-mail and any files are confidential and intended solely for the use of the addressee. If you have received it in error"
    " please notify the sender and delete it.",
    "Diese E-Mail enthält vertrauliche Informationen. Wenn Sie nicht der richtige Adressat sind oder diese E-Mail irrtümlich"
    " erhalten haben, informieren Sie bitte sofort den Absender und vernichten Sie diese Mail.",
    "Ce message est confidentiel et établi à l'intention exclusive de ses destinataires. Si vous le recevez par erreur, merci d'en"
    " avertir l'expéditeur et de le détruire.",
    "Este mensaje es confidencial y va dirigido únicamente a su destinatario. Si lo ha recibido por error, elimínelo y avise al"
    " remitente.",
]


@pytest.mark.parametrize("notice", NOTICES)
def test_legal_notices_are_cut_wherever_they_stand(notice: str) -> None:
    wrapped = textwrap.fill(notice, 70)
    for text in (f"Own words.\n\n{wrapped}\n", f"Own words.\n\n-- \nBo\n\n{wrapped}\n", f"{wrapped}\n\nOwn words.\n"):
        assert authored(text) == "Own words."
        assert ("disclaimer", wrapped) in kinds(text)


def test_talk_about_confidence_is_not_a_notice() -> None:
    text = "I told you this in confidence. The intended surprise is off, and I would rather you deleted my number.\n"
    assert [part.section for part in section(text)] == ["authored"]


def test_a_message_that_is_only_a_notice_keeps_its_words() -> None:
    assert [part.section for part in section(NOTICES[0])] == ["authored"]


def test_a_list_footer_is_cut_from_own_and_from_quoted_text() -> None:
    footer = "_______________________________________________\ntea mailing list\ntea@example.org\nhttps://example.org/listinfo/tea"
    assert kinds(f"Own words.\n\n{footer}\n") == [("authored", "Own words."), ("disclaimer", footer)]
    reply = f"Own words.\n\n-----Original Message-----\n{header_block('en')}\nTheirs.\n\n{footer}\n"
    assert kinds(reply)[-1] == ("disclaimer", footer)


def test_stacked_footers_leave_a_paragraph_between_rules() -> None:
    footer = "----------\nTo unsubscribe: https://example.org/u\n__________\nTea mailing list\ntea@example.org"
    text = f"Own words.\n\n----------\n\nSecond part, about this list and bo@example.org.\n\n{footer}\n"
    assert kinds(text)[-1] == ("disclaimer", footer)
    assert authored(text).endswith("bo@example.org.")


def test_pgp_armor_leaves_the_words_inside() -> None:
    text = (
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nOwn words.\n-----BEGIN PGP SIGNATURE-----\n\niQEz\n"
        "-----END PGP SIGNATURE-----\n"
    )
    assert authored(text) == "Own words."


def test_armor_that_never_ends_swallows_nothing() -> None:
    assert "Own words." in authored("-----BEGIN PGP SIGNATURE-----\n\nOwn words.\n" * 3)


def test_encoded_files_are_no_words() -> None:
    encoded = "\n".join(["QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAx"] * 12 + ["QUJD=="])
    assert kinds(f"See below.\n\n{encoded}\n\nBo\n") == [
        ("authored", "See below."),
        ("signature", encoded),
        ("authored", "Bo"),
    ]


# The whole


def test_nothing_has_no_sections() -> None:
    assert section("") == []
    assert section("\n \n") == [Section("authored", 0, 3, "authored")]


LINES = st.sampled_from(
    [
        "", " ", "Words of mine.", "> quoted", ">> deeper", "| piped", "JD> named", "-- ", "--", "_____", "-----Original Message-----",
        "---------- Forwarded message ---------", "Begin forwarded message:", "From: Ann Lee <ann@example.org>", "To: Bo",
        "Sent: 5.1.2016 12:00", "Subject: Tea", f"On Tue, Jan 5, 2016 at 12:00 PM, {WHO} wrote:", f"{WHO}", "wrote:", "Sent from my iPhone",
        "-----BEGIN PGP SIGNATURE-----", "-----END PGP SIGNATURE-----", NOTICES[0], "tea mailing list https://example.org",
        "A" * 70, "begin 644 a.bin", "\u200f> rtl", "：", "写道：", "\x0b", "\u2028", "05/01/2001 01:03 PM",
    ]
)  # fmt: skip


@given(st.lists(st.one_of(LINES, st.text(max_size=30)), max_size=40).map("\n".join))
@settings(max_examples=400, deadline=None)
def test_sections_tile_any_text(text: str) -> None:
    found = section(text)
    assert [part.start for part in found] == [0, *(part.stop for part in found)][: len(found)]
    assert (found[-1].stop if found else 0) == len(text)
    assert all(part.start < part.stop for part in found)
    assert {part.section for part in found} <= {"authored", "quoted", "forwarded", "signature", "disclaimer"}


@given(st.lists(LINES, max_size=30))
@settings(max_examples=300, deadline=None)
def test_a_message_with_words_always_has_words_to_search(several: list[str]) -> None:
    text = "\n".join(["Words of mine.", *several])
    assert any(part.section in ("authored", "quoted", "forwarded") for part in section(text))
    assert section(text)[0].section == "authored"


# Time. Work is counted where the second pass looks, not timed: ten times the text must not be more than ten times the work.

GROWING = {
    "a quote": "> a line of it\n",
    "attributions": f"On Tue, Jan 5, 2016 at 12:00 PM, {WHO} wrote:\n\n",
    "weak attributions": "Bo wrote:\n\n",
    "header fields": "From: Ann\n",
    "header blocks": "From: Ann\nTo: Bo\n\n",
    "recipients": "To: ann@example.org,\n bo@example.org,\n",
    "rules": "_____\nwords\n",
    "delimiters": "-- \nwords\n" * 20,
    "armor": "-----BEGIN PGP SIGNATURE-----\n",
    "markers": "Original Message\n\n",
    "base64": "A" * 70 + "\n" + "B" * 71 + "\n",
    "interleaved": "> one\ntwo:\n\n",
    "notices": NOTICES[0] + "\n\n",
    "names": "JD> one\n\nAB> two\n\nwords\n",
    "initials": "Words\nJD> one\n",
    "blank lines": "\n\n\n\n",
    "colons": "So:\n",
}


def work(monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    """Lines of Python that cutting ``text`` runs, counted by tracing the modules that do it."""
    import sys

    files = {module.__file__ for module in (attributions, blocks, cuts, lines, notices)}
    count = 0

    def trace(frame, event, arg):  # type: ignore[no-untyped-def]
        nonlocal count
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        section(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", GROWING)
def test_work_grows_no_faster_than_the_text(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    once, tenfold = (work(monkeypatch, "Words.\n\n" + GROWING[name] * times) for times in (100, 1000))
    assert tenfold <= 11 * once


def test_a_million_quoted_lines() -> None:
    text = "Yes.\n\nBo wrote:\n" + "> and so on\n" * 1_000_000
    assert [(part.section, part.why) for part in section(text)] == [
        ("authored", "authored"),
        ("quoted", "attribution:en"),
        ("quoted", "quote:>"),
    ]


def test_one_line_of_ten_million_characters() -> None:
    for unit in ("word ", "x", "> ", "From: ", "wrote: ", ">", "a@b ", "1"):
        text = unit * (10_000_000 // len(unit))
        assert len(section(text)) == 1


def test_two_hundred_levels_of_quoting() -> None:
    levels = [
        f"{'> ' * depth}On Tue, Jan 5, 2016 at 12:00 PM, {WHO} wrote:\n{'> ' * depth}\n" for depth in range(1, 201)
    ]
    assert [part.section for part in section("Yes.\n\n" + "".join(levels))] == ["authored", "quoted"]
