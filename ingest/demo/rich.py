"""The HTML that each program writes, quotes and all. Each function: (the inner part, for quoting; the whole document)."""

from html import escape

from .attributions import outlook_fields
from .letters import Client, Draft, forwarded_head


def _rows(text: str) -> str:
    return escape(text, quote=False).replace("\n", "<br>")


def gmail_html(draft: Draft, client: Client) -> tuple[str, str]:
    own = "<div><br></div>".join(f"<div>{_rows(p)}</div>" for p in draft.authored)
    inner = f'<div dir="ltr">{own}</div>'
    parent = draft.parent
    if parent:
        who = parent.sender
        mailto = f'&lt;<a href="mailto:{who.address}">{who.address}</a>&gt;'
        line = escape(client.attribution(parent, draft.sender.zone).strip(), quote=False)
        line = line.replace(f"&lt;{who.address}&gt;", mailto)
        if draft.forward:
            head = _rows(forwarded_head(parent, draft.sender.zone, client))
            inner += f'<br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">{head}</div><br>{parent.html}'
            inner += "</div>"
        else:
            inner += (
                f'<br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">{line}<br></div>'
                '<blockquote class="gmail_quote" style="margin:0px 0px 0px 0.8ex;border-left:1px solid '
                f'rgb(204,204,204);padding-left:1ex">{parent.html}</blockquote></div>'
            )
    return inner, inner + "\n"


_WORD = (
    '<html xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office" '
    'xmlns:w="urn:schemas-microsoft-com:office:word" xmlns="http://www.w3.org/TR/REC-html40">\n<head>\n'
    '<meta http-equiv="Content-Type" content="text/html; charset={charset}">\n'
    '<meta name="Generator" content="Microsoft Word 15 (filtered medium)">\n<style><!--\n'
    "/* Font Definitions */\n@font-face\n\t{{font-family:Calibri;\n\tpanose-1:2 15 5 2 2 2 4 3 2 4;}}\n"
    "/* Style Definitions */\np.MsoNormal, li.MsoNormal, div.MsoNormal\n\t{{margin:0cm;\n\tfont-size:11.0pt;\n\t"
    'font-family:"Calibri",sans-serif;}}\n--></style>\n</head>\n'
    '<body lang="EN-GB" link="#0563C1" vlink="#954F72">\n{body}\n</body>\n</html>\n'
)


def outlook_document(draft: Draft, client: Client) -> tuple[str, str]:
    blank = '<p class="MsoNormal"><o:p>&nbsp;</o:p></p>'
    own = [f'<p class="MsoNormal">{_rows(p)}<o:p></o:p></p>' for p in draft.authored]
    if draft.sender.signature:
        own += [f'<p class="MsoNormal"><b>{_rows(draft.sender.signature)}</b><o:p></o:p></p>']
    if draft.sender.disclaimer:
        own.append(
            f'<p class="MsoNormal"><span style="font-size:8.0pt;color:gray">{_rows(draft.sender.disclaimer)}</span></p>'
        )
    inner = f"\n{blank}\n".join(own)
    if draft.parent:
        fields = "<br>\n".join(
            f"<b>{name}:</b> {escape(value, quote=False)}"
            for name, value in outlook_fields(draft.parent, draft.sender.zone)
        )
        inner += (
            f'\n{blank}\n<div>\n<div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0cm 0cm 0cm">\n'
            f'<p class="MsoNormal"><span lang="EN-US">{fields}<o:p></o:p></span></p>\n</div>\n</div>\n{blank}\n'
            f"{draft.parent.html}"
        )
    return inner, _WORD.format(charset=client.charset, body=f'<div class="WordSection1">\n{inner}\n</div>')


def owa_document(draft: Draft, client: Client) -> tuple[str, str]:
    style = 'style="font-family: Calibri, Helvetica, sans-serif; font-size: 12pt; color: rgb(0, 0, 0);"'
    own = [*draft.authored, *([draft.sender.signature] if draft.sender.signature else [])]
    inner = "\n<div><br>\n</div>\n".join(f"<div {style}>\n{_rows(p)}</div>" for p in own)
    if client.farewell:
        inner += f'\n<div><br>\n</div>\n<div id="ms-outlook-mobile-signature">{client.farewell}</div>'
    if draft.parent:
        fields = "<br>\n".join(
            f"<b>{name}:</b> {escape(value, quote=False)}"
            for name, value in outlook_fields(draft.parent, draft.sender.zone)
        )
        inner += (
            '\n<hr tabindex="-1" style="display:inline-block; width:98%">\n<div id="divRplyFwdMsg" dir="ltr">'
            f'<font face="Calibri, sans-serif" color="#000000" style="font-size:11pt">{fields}</font>\n<div>&nbsp;'
            f"</div>\n</div>\n<div>{draft.parent.html}</div>"
        )
    head = f'<meta http-equiv="Content-Type" content="text/html; charset={client.charset}">\n'
    head += '<style type="text/css" style="display:none;"> P {margin-top:0;margin-bottom:0;} </style>'
    return inner, f'<html>\n<head>\n{head}\n</head>\n<body dir="ltr">\n{inner}\n</body>\n</html>\n'


def apple_document(draft: Draft, client: Client) -> tuple[str, str]:
    own = '<div class=""><br class=""></div>'.join(f'<div class="">{_rows(p)}</div>' for p in draft.authored)
    inner = own
    if draft.parent:
        line = escape(client.attribution(draft.parent, draft.sender.zone).strip(), quote=False)
        inner += (
            f'<div><br class=""><blockquote type="cite" class=""><div class="">{line}</div>'
            f'<br class="Apple-interchange-newline"><div class="">{draft.parent.html}</div></blockquote></div>'
        )
    head = f'<meta http-equiv="Content-Type" content="text/html; charset={client.charset}">'
    style = "word-wrap: break-word; -webkit-nbsp-mode: space; line-break: after-white-space;"
    return inner, f'<html><head>{head}</head><body style="{style}" class="">{inner}<br class=""></body></html>\n'


def yahoo_document(draft: Draft, client: Client) -> tuple[str, str]:
    own = "<div><br></div>".join(f'<div dir="ltr" data-setdir="false">{_rows(p)}</div>' for p in draft.authored)
    inner = f'<div class="ydp8f0yahoo-style-wrap" style="font-family:verdana, sans-serif;font-size:16px;">{own}</div>'
    if draft.parent:
        line = escape(client.attribution(draft.parent, draft.sender.zone).strip(), quote=False)
        inner += (
            '<div><br></div><div id="yahoo_quoted_3141592653" class="yahoo_quoted">\n<div>\n'
            f"<div>{line}</div>\n<div><br></div>\n<div>{draft.parent.html}</div>\n</div>\n</div>"
        )
    return inner, f"<html><head></head><body>{inner}</body></html>\n"
