"""The words of what is added under and over a message: telephones' lines, legal notices, footers of lists. Data, no logic.

Phrases are separated by ``|`` and compared case-folded, but for ``NOTICE_ANCHORS``.
"""

from __future__ import annotations

SENT_FROM: dict[str, str] = {
    "en": (
        "sent from|sent via|sent using|sent with|sent on the|get outlook for|composed on my|sent by my|typed on my|"
        "sent on my|sent through|sent wirelessly"
    ),
    "de": (
        "von meinem|von unterwegs|gesendet von|gesendet mit|gesendet mithilfe|gesendet aus|diese nachricht wurde von|"
        "diese nachricht wurde mit|diese e-mail wurde von meinem|mit freundlichen grüßen gesendet von|"
        "holen sie sich outlook für|outlook für"
    ),
    "fr": (
        "envoyé de|envoyé depuis|envoyé avec|envoyé à partir|envoyé par|envoyée de|téléchargez outlook|"
        "obtenez outlook|provenance :|envoyé via"
    ),
    "es": "enviado desde|enviado con|enviado de mi|enviado vía|enviado por mi|obtener outlook para|enviado a través",
    "pt": (
        "enviado do|enviado de|enviada do|enviado pelo|enviado a partir|enviado através|obter o outlook para|"
        "enviado via|obtenha o outlook para"
    ),
    "it": "inviato da|inviato dal|inviato con|inviato tramite|scarica outlook per|ottieni outlook per",
    "nl": (
        "verstuurd vanaf|verzonden vanaf|verstuurd met|verstuurd via|verzonden met|verzonden vanuit|outlook voor|"
        "outlook downloaden voor"
    ),
    "pl": (
        "wysłane z|wysłano z|wysłane za pomocą|wiadomość wysłana z|pobierz outlook|pobierz program outlook|"
        "pobierz aplikację outlook"
    ),
    "sv": "skickat från|skickades från|skickat med|hämta outlook för|sänt från|skaffa outlook för",
    "no": "sendt fra|sendt med|sendt via|hent outlook for|skaff deg outlook for|få outlook for",
    "da": "sendt fra|sendt med|sendt via|hent outlook til|få outlook til",
    "fi": "lähetetty|hanki outlook|lataa outlook",
    "cs": "odesláno z|odesláno ze|odesláno pomocí|posláno z|získejte outlook pro|stáhněte si outlook",
    "ru": "отправлено с|отправлено из|отправлено через|послано с|скачать outlook|загрузить outlook",
    "uk": "надіслано з|відправлено з|надіслано через|надіслано за допомогою|отримайте outlook",
    "tr": "tarafından gönderildi|gönderildi|umdan gönderildi|cihazımdan gönderildi|outlook'u edinin",
    "el": "στάλθηκε από|εστάλη από|αποστολή από|αποκτήστε το outlook",
    "he": "נשלח מה|נשלח מ|נשלח מתוך|נשלח באמצעות|הורד את outlook",
    "ar": "أرسلت من|تم الإرسال من|مرسل من|أُرسلت من|مرسلة من|مُرسل من|احصل على outlook",
    "zh": "发自我的|发自|發自我的|從我的|从我的|來自我的|来自我的|傳送自|取得 outlook|获取 outlook|寄自|传送自|發自",
    "ja": "から送信|より送信|からの送信|outlook for",
    "ko": "에서 보냄|에서 보낸|에서 전송|에서 발송|outlook 다운로드|outlook 받기",
}
"""The line a telephone or an app puts under what was typed on it begins with one of these, or ends as below."""

SENT_FROM_ENDS = "gönderildi|から送信|より送信|から送信しました|より送信しました|에서 보냄|에서 전송|에서 발송|gesendet|에서 보냈습니다|에서 발송된 메시지입니다|sent from mobile|via mobile"
"""How such a line ends where the verb comes last."""

DEVICES = (
    "iphone|ipad|ipod|android|blackberry|samsung|galaxy|mobile|mobil|móvil|móbile|phone|telefon|teléfono|téléphone|"
    "smartphone|handy|outlook|gmail|yahoo|tablet|device|huawei|nokia|windows|xperia|htc|nexus|pixel|proton|spark|k-9|"
    "mailbox|celular|cellulare|puhelim|телефон|смартфон|手机|手機|スマート|휴대|xiaomi|redmi|oneplus|sony|motorola|verizon|"
    "at&t|t-mobile|sprint|thunderbird|airmail|mac|apple|treo|palm|wireless|nine|zoho|tutanota|fastmail|aol|hotmail|"
    "webmail|yandex|mail.ru|qq|网易|sparrow|boomerang|superhuman|newton|edison|bluemail|aqua mail|aquamail|typeapp|"
    "mutt|gnus|emacs|evolution|gerät|apparaat|laite|zařízení|urządzenia|cihaz|συσκευή|мобильн|мобільн|aparelho|ποστα|"
    "κινητό|نقال|هاتف|جوال|הנייד|טלפון|pda|handheld|surface|chromebook|lumia|moto|kindle"
)
"""What such a line names."""

NOTICE_AUDIENCE = (
    "intended recipient|intended only for|intended solely|intended for the|sole use of|intended addressee|"
    "not the named|named addressee|addressee(s)|exclusively for the|bestimmt|adressat|empfänger|destinataire|"
    "destinatario|destinatário|destinatari|geadresseerde|bestemd voor|adresat|adressaten|mottagare|mottaker|modtager|"
    "vastaanottaj|příjemce|получател|адресат|одержувач|alıcı|παραλήπτη|נמען|المستلم|المرسل إليه|收件人|收件者|受信者|宛先|수신자|"
    "수신인"
)
"""Who may read it."""

NOTICE_SECRET = (
    "confidential|privileged|proprietary|legally protected|vertraulich|confidentiel|confidencial|riservat|"
    "confidenzial|vertrouwelijk|poufn|konfidenti|fortrolig|luottamuksel|důvěrn|конфиденциальн|конфіденційн|gizli|"
    "εμπιστευτικ|חסוי|סודי|سري|机密|保密|機密|기밀|비밀"
)
"""That it is secret."""

NOTICE_ERROR = (
    "in error|by mistake|notify the sender|notify us|advise the sender|contact the sender|delete this|destroy|"
    "delete it|irrtümlich|vernichten|informieren sie|par erreur|en avertir|détruire|por error|por engano|por erro|"
    "elimine|per errore|distrugg|cancell|ten onrechte|abusievelijk|verwijder|omyłkow|usunąć|av misstag|radera|"
    "ved en feil|slett|ved en fejl|slet |erehdyksessä|poista|omylem|smažte|по ошибке|удалит|помилково|yanlışlıkla|"
    "siliniz|εκ παραδρομής|διαγράψτε|בטעות|مسؤول|بالخطأ|误|删除|刪除|誤って|削除|잘못|삭제"
)
"""What one who got it by mistake should do."""

NOTICE_FORBIDDEN = (
    "unauthorized|unauthorised|prohibited|dissemination|disclosure|disclose|copying|unlawful|untersagt|unbefugt|"
    "nicht gestattet|interdit|prohib|proibid|vietat|verboden|niet toegestaan|zabroni|förbjud|forbudt|kiellet|zakázán|"
    "запрещ|заборонен|yasak|απαγορεύ|אסור|محظور|禁止|금지|禁じ"
)
"""What is forbidden."""

NOTICE_OTHER = (
    "virus|views expressed|opinions expressed|does not accept liability|liability|malware|monitored|"
    "registered office|registered in england|company number|haftung|responsabilit|responsabilidad|"
    "consider the environment|think before you print|kill trees"
)
"""What else lawyers and viruses made companies say."""

NOTICE_STEMS = (
    "onfiden|ntended|estinat|ertrau|CONFIDEN|utside of|utside th|xternal|ddressee|dressat|rivileged|ertrouw|iservat"
)
"""Parts of words, first letters left open, of which any notice in a Latin script has one: a text without is not looked at again."""

NOTICE_STEMS_BY_LETTER = {
    "ä": "mpfänger|vastaanottaj|mottagare|nehåll",
    "ø": "ortrolig|mottaker|modtager",
    "ł": "oufn|dresat",
    "ř": "íjemc|ůvěrn",
    "ı": "alıcı|gizli",
    "о": "олучател|дресат|онфиденц|держувач|онфіденц",
    "α": "αραλήπτ|μπιστευτικ",
    "ו": "נמען|חסוי|סודי",
    "ا": "المستلم|المرسل|سري",
    "件": "收件",
    "密": "机密|保密|機密",
    "者": "受信者",
    "신": "수신",
    "밀": "기밀",
}
"""The same for texts that have a letter."""

NOTICE_OPENINGS = (
    "mail|message|communication|information|transmission|attach|content|disclaimer|confiden|privileged|notice|"
    "intended|caution|warning|external|nachricht|vertraulich|inhalt|courriel|mensaje|correo|mensagem|conteúdo|"
    "messaggio|comunicazione|bericht|wiadomość|informac|meddeland|meddelelse|melding|viesti|zpráva|zprávy|сообщени|"
    "письмо|повідомлення|лист|mesaj|ileti|μήνυμα|הודעה|דוא|الرسالة|البريد|رسالة|邮件|郵件|信息|メール|메일|***|___|---|====|"
    "sender|recipient|virus"
)
"""What the first line of a notice speaks of."""

BANNERS = (
    "originated from outside|originated outside|external email|external sender|came from outside|"
    "from outside of the organization|from outside the organization|do not click links or open attachments|"
    "externe e-mail|externer absender|expéditeur externe|correo externo|remitente externo"
)
"""What a company's gateway puts on top of mail from outside."""

FOOTERS = (
    "mailing list|unsubscribe|listinfo|list info|google groups|yahoo! groups|yahoogroups|listserv|majordomo|sponsored by|"
    "subscription options|mailinglist|mailing-list|abbestellen|désabonner|désinscri|cancelar la suscrip|darse de baja|"
    "cancelar inscri|annulla l'iscri|afmelden|wypisać|отписаться|avregistrera|退订|配信停止|수신거부|"
    "manage your subscription|to post to this|list archive|email is sponsored"
)
"""What the footer of a mailing list speaks of."""

FOOTER_STARTS = (
    "to unsubscribe|you received this message because|you are receiving this|you're receiving this|to post to this|"
    "to subscribe or unsubscribe|your use of yahoo|if you wish to unsubscribe|if you no longer wish|um sich von dieser|"
    "sie erhalten diese|pour vous désabonner|pour se désabonner|vous recevez ce|has recibido este|recibes este|"
    "você recebeu ess|hai ricevuto questo|je ontvangt|reply to this email directly|reply to this message directly"
)
"""How a footer begins that has no rule over it."""
