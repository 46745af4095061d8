"""The words that mail clients put around other people's text, language by language: data, no logic.

Collected from what the clients print in each locale (Gmail, Outlook, Apple Mail, Thunderbird, Yahoo, Lotus Notes,
mail.ru, Yandex, QQ, Naver). Codes are ISO 639-1. Phrases are separated by ``|`` and compared case-folded.
"""

from __future__ import annotations

WROTE: dict[str, str] = {
    "en": "wrote|writes|said|written|quoting|spake",
    "de": "schrieb|schrieben|schreibt|geschrieben|zitat|zitiere",
    "fr": "écrit|ecrit|écrivait|selon",
    "es": "escribió|escribio|escribía|escrito|escribe|citando",
    "pt": "escreveu|escreve|escreveram",
    "it": "scritto|scrive|scriveva",
    "nl": "schreef|schrijft|geschreven",
    "pl": "napisał|napisała|napisał(a)|napisał/a|napisali|pisze|pisał|pisała|napisano|cytowanie|napisana|napisane",
    "sv": "skrev|skriver|citerar",
    "no": "skreiv",
    "da": "citat",
    "fi": "kirjoitti|kirjoittaa|kirjoitit|lainaus",
    "cs": "napsal|napsala|napsal(a)|napsal/a|píše|napsali|citace",
    "ru": "написал|написал(а)|пишет|писал|писали|писала|цитирование",
    "uk": "написав|написав(ла)|написала|написали|пише|писав",
    "tr": "yazdı|yazmış|şunları|yazdi",
    "el": "έγραψε|έγραψεσ|γράφει|έγραψαν",
    "he": "כתב|כתבה|כתב/ה|מאת",
    "ar": "كتب|كتبت|كتب/ت|كتابة|بواسطة",
}
"""Words that make a line with a name an attribution. The first language that lists one names it; a verb that languages
share (skrev, написала) is settled by ``TELLING``."""

WROTE_TIGHT: dict[str, str] = {
    "zh": "写道|寫道|写到|写了|來信|来信|已寫|撰寫|写信",
    "ja": "書きました|書いた|のメール|のメッセージ|さんは",
    "ko": "작성|썼습니다|쓴 글|님의 말|님이",
}
"""The same in scripts without spaces: found anywhere in the line."""

TELLING: dict[str, str] = {
    "de": "von|uhr",
    "da": "den kl.",
    "no": "man.|tir.|ons.|tor.|fre.|lør.|søn.|kl.",
    "ru": "от|г.|пользователь",
    "uk": "від|р.|користувач|пише",
    "ja": "午前|午後",
    "nl": "volgende|heeft",
    "tr": "tarihinde",
}
"""Words that together tell the language of an attribution whose verb does not, or that has none."""

WROTE_FIRST = "quoting|zitat|zitiere|selon|citando|citat|citerar|cytowanie|citace|lainaus|цитирование"
"""Those of the words in ``WROTE`` that come before the name."""

LEADS: dict[str, str] = {
    "en": "on|at|in article|in message|in a message|quoting|thus spake|from",
    "de": "am|um|zitat von|zitiere|in artikel",
    "fr": "le|selon|en réponse à|quoting",
    "es": "el|en|citando",
    "pt": "em|no dia|a|na|às|citando",
    "it": "il|in data|il giorno|alle|citando",
    "nl": "op|citeren",
    "pl": "dnia|w dniu|w wiadomości|cytowanie",
    "sv": "den|på|vid|citerar",
    "no": "den|på|kl",
    "da": "den|på|d|citat af",
    "fi": "lainaus",
    "cs": "dne|citace",
    "ru": "в|от|цитирование",
    "uk": "від|у|о",
    "tr": "şu tarihte",
    "el": "στις|την|το",
    "he": "בתאריך|ב-|ביום|‫בתאריך|ב",
    "ar": "في|بتاريخ|يوم|‫في",
    "zh": "在",
}
"""What an attribution line begins with before its date. A date in its first words does as well, in any language."""

PRONOUNS = (
    "he|she|they|we|i|it|who|someone|nobody|er|ich|wir|man|jemand|il|elle|on|nous|je|ils|él|ella|ellos|yo|nosotros|"
    "ele|ela|eles|eu|nós|lui|lei|io|noi|hij|zij|ze|ik|wij|ona|oni|ja|han|hun|hon|jeg|jag|vi|hän|minä|me|já|my|он|она|"
    "они|я|мы|він|вона|вони|ми|o|ben|biz|αυτός|αυτή|εγώ|הוא|היא|אני|هو|هي|أنا|他|她|我"
)
"""Subjects of a sentence that a person wrote; a client names the sender."""

PARTICLES = "von|van|der|den|de|da|di|du|la|le|via|at|dos|del|af|av|bin|al|el|ter|zu|the"
"""Small words inside a name."""

OPENERS = "as|what|like|when|the|this|that|if|since|because|and|but|so|then|what's|here|how|why|where|in|while"
"""Words that begin a sentence, so no name."""

FIELDS: dict[str, dict[str, str]] = {
    "en": {
        "from": "from|sender",
        "date": "sent|date|sent at|sent on",
        "to": "to",
        "cc": "cc|bcc|copy|copies",
        "subject": "subject|re",
        "other": (
            "reply-to|importance|attachments|attachment|organization|priority|sensitivity|newsgroups|message-id|"
            "resent-from|resent-to|return-path|mime-version|content-type|followup-to|x-mailer|in-reply-to|references|"
            "received|delivered-to|sent by|when|where|categories|mailing-list|list-id|auto forwarded by|reply to|"
            "tags|user-agent"
        ),
    },
    "de": {
        "from": "von",
        "date": "gesendet|datum|gesendet am|verschickt",
        "to": "an",
        "cc": "kopie|cc|bcc|blindkopie",
        "subject": "betreff",
        "other": "antwort an|wichtigkeit|priorität|anlagen|anhang|antwort-an|organisation",
    },
    "fr": {
        "from": "de|expéditeur",
        "date": "envoyé|date|envoyé le|date d'envoi",
        "to": "à|a|pour",
        "cc": "cc|cci|copie à|copie",
        "subject": "objet|sujet",
        "other": "répondre à|importance|pièces jointes|pièce jointe",
    },
    "es": {
        "from": "de|remitente",
        "date": "enviado|fecha|enviado el|enviada|enviado en",
        "to": "para|a|destinatario",
        "cc": "cc|cco|con copia|copia",
        "subject": "asunto|tema",
        "other": "responder a|importancia|datos adjuntos",
    },
    "pt": {
        "from": "de|remetente",
        "date": "enviado|enviada|enviadas|enviados|data|enviado em|enviada em",
        "to": "para",
        "cc": "cc|cco|com cópia",
        "subject": "assunto",
        "other": "responder a|responder para|prioridade|importância|anexos|anexo",
    },
    "it": {
        "from": "da|mittente",
        "date": "inviato|data|inviata|inviato il",
        "to": "a|per|destinatario",
        "cc": "cc|ccn|copia",
        "subject": "oggetto",
        "other": "rispondi a|priorità|allegati|allegato",
    },
    "nl": {
        "from": "van|afzender",
        "date": "verzonden|datum|verstuurd|verzonden op",
        "to": "aan",
        "cc": "cc|kopie",
        "subject": "onderwerp|betreft",
        "other": "antwoord aan|urgentie|prioriteit|bijlagen|bijlage",
    },
    "pl": {
        "from": "od|nadawca",
        "date": "wysłano|data|wysłane|wysłany|data wysłania",
        "to": "do|adresat",
        "cc": "dw|udw|kopia|do wiadomości",
        "subject": "temat",
        "other": "odpowiedz do|ważność|priorytet|załączniki",
    },
    "sv": {
        "from": "från",
        "date": "skickat|datum|skickat den",
        "to": "till",
        "cc": "kopia|kopia till",
        "subject": "ämne",
        "other": "svara till|prioritet|bifogade filer|svar till",
    },
    "no": {
        "from": "fra",
        "date": "sendt|dato",
        "to": "til",
        "cc": "kopi|kopi til",
        "subject": "emne",
        "other": "svar til|prioritet|viktighet|vedlegg",
    },
    "da": {
        "from": "fra",
        "date": "sendt|dato|sendt den",
        "to": "til",
        "cc": "cc|kopi",
        "subject": "emne",
        "other": "svar til|prioritet|vedhæftede filer|vedhæftet",
    },
    "fi": {
        "from": "lähettäjä|keneltä",
        "date": "lähetetty|päivä|päiväys|pvm|päivämäärä",
        "to": "vastaanottaja|kenelle|vastaanottajat",
        "cc": "kopio|kopiot",
        "subject": "aihe|otsikko",
        "other": "vastausosoite|tärkeys|liitteet",
    },
    "cs": {
        "from": "od|odesílatel",
        "date": "odesláno|datum|odeslané|odesláno dne",
        "to": "komu|pro|příjemce",
        "cc": "kopie|kopie komu",
        "subject": "předmět|věc",
        "other": "odpovědět komu|důležitost|přílohy|příloha",
    },
    "ru": {
        "from": "от|от кого|отправитель",
        "date": "отправлено|дата|отправлен|отправлена",
        "to": "кому|получатель",
        "cc": "копия|скрытая копия",
        "subject": "тема",
        "other": "ответить|важность|вложения|обратный адрес",
    },
    "uk": {
        "from": "від|від кого|відправник",
        "date": "надіслано|дата|відправлено",
        "to": "кому|до",
        "cc": "копія",
        "subject": "тема",
        "other": "важливість|вкладення",
    },
    "tr": {
        "from": "kimden|gönderen",
        "date": "gönderildi|tarih|gönderilme tarihi|gönderme tarihi",
        "to": "kime|alıcı",
        "cc": "bilgi|gizli",
        "subject": "konu",
        "other": "önem|ekler|yanıt adresi",
    },
    "el": {
        "from": "από|αποστολέας",
        "date": "στάλθηκε|ημερομηνία|απεστάλη|αποστολή",
        "to": "προς|παραλήπτης",
        "cc": "κοιν|κοιν.|κοινοποίηση",
        "subject": "θέμα",
        "other": "σπουδαιότητα|συνημμένα",
    },
    "he": {
        "from": "מאת|מ|מ-|שולח",
        "date": "נשלח|תאריך|נשלח ב",
        "to": "אל|נמען|ל",
        "cc": "עותק",
        "subject": "נושא|הנדון",
        "other": "חשיבות|קבצים מצורפים",
    },
    "ar": {
        "from": "من|المرسل",
        "date": "تاريخ الإرسال|التاريخ|أرسل|تم الإرسال|مرسل|أرسلت",
        "to": "إلى|الى|المستلم",
        "cc": "نسخة|نسخة إلى",
        "subject": "الموضوع|موضوع",
        "other": "الأهمية|المرفقات",
    },
    "zh": {
        "from": "发件人|寄件者|寄件人|发信人|發件人|自",
        "date": "发送时间|日期|寄件日期|发送日期|傳送時間|寄送時間|时间|發送時間|已傳送",
        "to": "收件人|收件者|至",
        "cc": "抄送|副本|副本抄送|密送",
        "subject": "主题|主旨|主題",
        "other": "重要性|附件|回复|答复|优先级",
    },
    "ja": {
        "from": "差出人|送信者|from",
        "date": "送信日時|日付|日時|送信日|date",
        "to": "宛先|to",
        "cc": "cc|写し",
        "subject": "件名|題名",
        "other": "重要度|添付ファイル|返信先",
    },
    "ko": {
        "from": "보낸 사람|보낸사람|발신|보낸이",
        "date": "보낸 날짜|보낸날짜|날짜|발송일",
        "to": "받는 사람|받는사람|수신|받는이",
        "cc": "참조",
        "subject": "제목",
        "other": "중요도|첨부|숨은 참조",
    },
}
"""Header fields as Outlook and forwards print them, by role."""

RAW_FIELDS = (
    "received|message-id|mime-version|content-type|return-path|delivered-to|x-mailer|references|in-reply-to|user-agent"
)
"""Fields that stand in a message's own header, and that no client prints when one replies."""

PLAIN_DATES = "date|datum|fecha|data|dato|päiv|pvm|дата|tarih|ημερομηνία|תאריך|التاريخ|日期|日付|日時|날짜|время"
"""Names of a date that people use in lists of their own; the others of role ``date`` say that something was sent."""

ORIGINAL: dict[str, str] = {
    "en": "original message|original appointment|original email|original mail|reply message|reply original message",
    "de": (
        "ursprüngliche nachricht|original-nachricht|originalnachricht|urspr. nachricht|original nachricht|"
        "ursprünglicher termin"
    ),
    "fr": "message d'origine|message d’origine|message original|message initial|courriel original|mail original",
    "es": "mensaje original|correo original|mensaje de origen",
    "pt": "mensagem original|mensagem de origem",
    "it": "messaggio originale|messaggio originario|messaggio di origine",
    "nl": "oorspronkelijk bericht|origineel bericht|oorspronkelijke bericht",
    "pl": "wiadomość oryginalna|oryginalna wiadomość|treść oryginalnej wiadomości|pierwotna wiadomość",
    "sv": "ursprungligt meddelande|originalmeddelande|ursprungsmeddelande",
    "no": "opprinnelig melding|original melding|originalmelding|opprinnelig beskjed",
    "da": "oprindelig meddelelse|original meddelelse|oprindelig besked|oprindelig mail",
    "fi": "alkuperäinen viesti",
    "cs": "původní zpráva|původní e-mail",
    "ru": "исходное сообщение|оригинальное сообщение|исходное письмо|первоначальное сообщение",
    "uk": "оригінальне повідомлення|початкове повідомлення|вихідне повідомлення",
    "tr": "orijinal ileti|özgün ileti|orijinal mesaj|asıl ileti",
    "el": "αρχικό μήνυμα|πρωτότυπο μήνυμα",
    "he": "הודעה מקורית|ההודעה המקורית",
    "ar": "الرسالة الأصلية|رسالة أصلية|الرسالة الاصلية",
    "zh": "原始邮件|原始郵件|原邮件|邮件原件|回复的原邮件|原始訊息|原郵件",
    "ja": "元のメッセージ|オリジナルメッセージ|元のメール",
    "ko": "원본 메시지|원본 메일|원본메시지|원래 메시지|original message",
}
"""What the line over a quoted message says, between dashes."""

FORWARDED: dict[str, str] = {
    "en": (
        "forwarded message|begin forwarded text|forwarded text|begin forwarded message|begin forwarded mail|forwarded by|forwarded email|"
        "start of forwarded message|forward message|forwarding message|forwarded mail|forwarded from"
    ),
    "de": (
        "weitergeleitete nachricht|anfang der weitergeleiteten nachricht|weitergeleitete e-mail|weitergeleitet von|"
        "anfang der weitergeleiteten e-mail"
    ),
    "fr": (
        "message transféré|début du message réexpédié|début du message transféré|message réexpédié|"
        "courriel transféré|transféré par|transmis par|message transmis"
    ),
    "es": (
        "mensaje reenviado|mensaje enviado|inicio del mensaje reenviado|comienzo del mensaje reenviado|reenviado por|"
        "correo reenviado|forwarded message"
    ),
    "pt": (
        "mensagem encaminhada|início da mensagem encaminhada|início da mensagem reencaminhada|mensagem reencaminhada|"
        "encaminhado por|mensagem reenviada|início da mensagem enviada"
    ),
    "it": (
        "messaggio inoltrato|inizio messaggio inoltrato|inizio del messaggio inoltrato|inoltrato da|"
        "messaggio inoltrato da"
    ),
    "nl": (
        "doorgestuurd bericht|begin doorgestuurd bericht|begin van doorgestuurd bericht|doorgestuurd door|"
        "doorgezonden bericht"
    ),
    "pl": (
        "przekazana wiadomość|początek przekazywanej wiadomości|początek przekazanej wiadomości|"
        "wiadomość przekazana dalej|treść przekazanej wiadomości|przesłane dalej przez|przekazane przez|"
        "wiadomość przekazana"
    ),
    "sv": (
        "vidarebefordrat meddelande|vidarebefordrat brev|påbörja vidarebefordrat meddelande|"
        "börja vidarebefordrat brev|vidarebefordrat av|vidarebefordrat mejl"
    ),
    "no": (
        "videresendt melding|videresendt e-post|start på videresendt melding|start videresendt melding|"
        "videresendt av|videresendt beskjed"
    ),
    "da": (
        "videresendt meddelelse|videresendt besked|start på videresendt besked|begynd videresendt besked|"
        "starten på den videresendte besked|videresendt af|start på videresendt meddelelse"
    ),
    "fi": (
        "välitetty viesti|edelleenlähetetty viesti|välitetty viesti alkaa|edelleenlähetetty viesti alkaa|"
        "lähetetty edelleen|välitetyn viestin alku|alkaa edelleenlähetetty viesti"
    ),
    "cs": (
        "přeposlaná zpráva|začátek přeposílané zprávy|začátek přeposlané zprávy|forwardovaná zpráva|přeposlal|"
        "přeposlaný e-mail|předaná zpráva"
    ),
    "ru": (
        "пересылаемое сообщение|пересланное сообщение|начало переадресованного сообщения|переадресованное сообщение|"
        "начало пересылаемого сообщения|переслано|пересылаемое письмо|перенаправленное сообщение"
    ),
    "uk": (
        "переслане повідомлення|початок листа, що пересилається|пересилане повідомлення|переслане повідомлення від|"
        "пересланий лист|початок переадресованого повідомлення"
    ),
    "tr": (
        "yönlendirilen ileti|iletilen ileti|yönlendirilmiş ileti|iletilmiş mesaj|i̇letilen ileti|"
        "iletilen ileti başlangıcı|i̇letilmiş mesaj|yönlendirilen mesaj|iletilen mesaj"
    ),
    "el": "προωθημένο μήνυμα|έναρξη προωθημένου μηνύματος|προωθηθέν μήνυμα|αρχή προωθημένου μηνύματος",
    "he": "הודעה שהועברה|תחילת ההודעה שהועברה|הודעה מועברת|תחילת הודעה שהועברה",
    "ar": (
        "رسالة معاد توجيهها|بداية الرسالة المعاد توجيهها|رسالة معاد إرسالها|بدء الرسالة المعاد توجيهها|"
        "رسالة تمت إعادة توجيهها|الرسالة المحولة"
    ),
    "zh": "转发的邮件|轉寄的郵件|开始转发的邮件|已转发的邮件|转发邮件信息|转发的消息|下面是被转发的邮件|開始轉寄郵件|轉寄郵件|转发邮件|以下是转发的邮件|以下為轉寄的郵件",
    "ja": "転送されたメッセージ|転送メッセージ|転送されたメール|以下、転送メッセージ|ここから転送",
    "ko": "전달된 메시지|전달된 메일|전달한 메시지|전달된 이메일|전달된 메시지 시작",
}
"""What stands in or as a marker line before another message. A bare phrase counts on a line of its own with a colon."""

FORWARD_ENDS = (
    "end forwarded|end of forwarded|ende der weitergeleiteten|fin du message|fin del mensaje|fim da mensagem|fine messaggio|"
    "fine del messaggio|einde doorgestuurd|einde van doorgestuurd|koniec przekaz|slut på vidarebefordr|slutt på videresendt|"
    "slut på videresendt|конец переадресованного|конец пересылаемого|кінець пересла|end of original|end original"
)
"""What the line under a forwarded message begins with, between dashes."""

FORWARD_SUBJECT = (
    "fw|fwd|wg|tr|rv|enc|i|doorst|pd|vb|vs|vl|vid|пересл|ilt|πρθ|הועבר|إعادة توجيه|转发|轉寄|転送|전달|fs|rif"
)
"""Prefixes that clients put before the subject of a forward."""
