"""The cast. All invented; addresses under the domains that RFC 2606 sets aside, telephone numbers in the ranges that
Ofcom keeps free for drama."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who writes: `client` is a name in clients.CLIENTS, `greeting` and `signoff` are templates with {to}."""

    name: str
    address: str
    client: str
    short: str = ""
    zone: str = "uk"
    greeting: str = "Hi {to},"
    signoff: str = ""
    signature: str = ""
    disclaimer: str = ""

    @property
    def called(self) -> str:
        """The name others greet with."""
        return self.short or self.name.split(" ", maxsplit=1)[0]

    @property
    def domain(self) -> str:
        """What follows the @."""
        return self.address.partition("@")[2]

    def using(self, client: str) -> "Person":
        """The same person at another program."""
        return replace(self, client=client)


_CORRAN = (
    "This email and any files transmitted with it are confidential and intended solely for the use of the individual "
    "or entity to whom they are addressed. If you have received this email in error please notify the sender and "
    "delete it from your system. Corran Lettings Ltd is registered in England and Wales. Client money protection "
    "is provided by a government-approved scheme."
)
_BRIGHTWATER = (
    "Brightwater Instruments Ltd. The information in this message may be confidential and legally privileged. It is "
    "intended for the named recipient only; any disclosure, copying or distribution is prohibited and may be "
    "unlawful. Please consider the environment before printing this email."
)
_NORVANE = (
    "Norvane Insurance plc. Calls may be recorded for training and monitoring purposes. This e-mail is intended for "
    "the addressee only. Internet communications are not secure and Norvane does not accept legal responsibility for "
    "the contents of this message."
)

TOM = Person(
    *("Tom Hallam", "tom.hallam@mail.example.org", "thunderbird"),
    greeting="{Hi {to},|{to},|Hello {to},|}",
    signoff="{Tom|Tom|T.|Cheers, Tom|Best, Tom}",
)
TOM_AT_WORK = Person(
    *("Tom Hallam", "tom.hallam@brightwater.example.com", "outlook-html"),
    greeting="{Hi {to},|{to},|Morning {to},|}",
    signoff="{Tom|Thanks, Tom|Regards, Tom|Cheers, Tom}",
    signature="Tom Hallam\nFirmware Engineer\nBrightwater Instruments Ltd\nT: 0113 496 0142",
)
RUTH = Person(
    *("Ruth Ellery", "ruth.ellery@post.example.net", "gmail"),
    greeting="{Hi Tom,|Tom,|Tom -|Hi,|Hiya,|}",
    signoff="{Ruth|R|R.|Thanks, Ruth|Ruth x|Best, Ruth}",
)
IVY = Person(
    *("Ivy Hallam", "ivy.hallam@post.example.net", "phone"),
    greeting="{hi dad|dad!!|daddd|hello dad|dad}",
    signoff="{ivy xx|love ivy|ivy|xxx}",
)
MARGARET = Person(
    *("Margaret Hallam", "margaret.hallam@yonder.example.net", "yahoo"),
    short="Mum",
    greeting="{Dear Tom,|Dear Tom and Ivy,|Hello love,|Tom dear,}",
    signoff="{Love, Mum|Lots of love, Mum xx|Love Mum and the dog|All my love, Mum}",
)
JO = Person(
    *("Jo Hallam-Brandt", "jo.brandt@briefkasten.example.org", "apple-de"),
    short="Jo",
    zone="de",
    greeting="{Tommy,|Hi little brother,|Hello you,|Tom!|Hey,}",
    signoff="{Jo x|Love, Jo|J.|Jo, Lukas and the boys|Big hug, Jo}",
)
LUKAS = Person(
    *("Lukas Brandt", "lukas.brandt@briefkasten.example.org", "thunderbird-de"),
    zone="de",
    greeting="{Hallo Tom,|Lieber Tom,|Moin Tom,|Servus Tom,}",
    signoff="{Viele Grüße, Lukas|Liebe Grüße, Lukas|Bis bald, Lukas|Herzliche Grüße, Lukas}",
)
BEN = Person(
    *("Ben Achterberg", "ben@achterberg.example.org", "mutt"),
    greeting="{|Tom,|Hey Tom,|Oi,}",
    signoff="{Ben|-b|Ben|b.}",
    signature='Ben Achterberg\n"The bicycle is a curious vehicle. Its passenger is its engine."',
)
SANNA = Person(
    *("Sanna Lehto", "sanna.lehto@brightwater.example.com", "thunderbird"),
    greeting="{Hi Tom,|Hi,|}",
    signoff="{Sanna|sl|BR, Sanna|Sanna}",
)
COLIN = Person(
    *("Colin Dace", "colin.dace@brightwater.example.com", "outlook-html"),
    greeting="{Tom,|Hi Tom,|Morning Tom,|Tom -}",
    signoff="{Colin|Regards, Colin|Thanks, Colin|C}",
    signature="Colin Dace\nHead of Engineering\nBrightwater Instruments Ltd\nT: 0113 496 0107  M: 07700 900318",
    disclaimer=_BRIGHTWATER,
)
PRIYA = Person(
    *("Priya Nair", "priya.nair@brightwater.example.com", "outlook"),
    greeting="{Hi Tom,|Dear Tom,|Hello Tom,}",
    signoff="{Kind regards, Priya|Best wishes, Priya|Many thanks, Priya}",
    signature="Priya Nair\nPeople Partner, Brightwater Instruments Ltd\nT: 0113 496 0119",
    disclaimer=_BRIGHTWATER,
)
MARTA = Person(
    *("Marta Kowal", "marta.kowal@brightwater.example.com", "outlook"),
    greeting="{Hi Tom,|Hi all,|Tom,}",
    signoff="{Marta|Thanks, Marta|Best, Marta}",
    signature="Marta Kowal\nPurchasing\nBrightwater Instruments Ltd",
)
DEV = Person(
    *("Dev Anand-Price", "dev.anandprice@brightwater.example.com", "owa"),
    greeting="{Hi both,|Hi Tom,|Hey,|Tom,}",
    signoff="{Dev|Cheers, Dev|D}",
)
HARUKA = Person(
    *("森 春香", "h.mori@mizuho-keiki.example.com", "gmail-ja"),
    short="Mori-san",
    zone="jp",
    greeting="{ハラム様|Tomさん}",
    signoff="{森|よろしくお願いいたします。 森 春香}",
)
SEO = Person(
    *("서준호", "junho.seo@hanbit-water.example.com", "webmail-ko"),
    short="Jun-ho",
    zone="kr",
    greeting="{Tom 님, 안녕하세요.|안녕하세요, Tom 님.}",
    signoff="{서준호 드림|감사합니다. 서준호 드림}",
)
PELL = Person(
    *("Graham Pell", "graham.pell@yonder.example.net", "yahoo"),
    short="Mr Pell",
    greeting="{Dear Tom|Tom|Good morning Tom,|Tom,}",
    signoff="{G. Pell|Regards Graham Pell|Graham|Graham Pell}",
)
CORRAN = Person(
    *("Nicola Strand", "nicola.strand@corranlettings.example.com", "outlook-html"),
    greeting="{Dear Mr Hallam,|Dear Tom,|Hi Tom,}",
    signoff="{Kind regards, Nicola|Kind regards, Nicola Strand|Many thanks, Nicola}",
    signature="Nicola Strand\nProperty Manager\nCorran Lettings\n0113 496 0256 | 14 Priory Row",
    disclaimer=_CORRAN,
)
SCHOOL = Person(
    *("Larkfield Primary School Office", "office@larkfield.example.org", "outlook-html"),
    short="Mrs Oduya",
    greeting="{Dear Parents and Carers,|Dear parents,|Dear families,}",
    signoff="{Mrs Oduya, School Office|The School Office|Mrs B. Oduya, Larkfield Primary}",
    signature="Larkfield Primary School\nOrchard Lane\nTel: 0113 496 0301",
)
TEACHER = Person(
    *("Helen Carrow", "h.carrow@larkfield.example.org", "owa"),
    short="Mrs Carrow",
    greeting="{Dear Mr Hallam,|Dear Tom,|Dear Mr Hallam and Ms Ellery,}",
    signoff="{Helen Carrow|Kind regards, Helen Carrow|Best wishes, Mrs Carrow}",
)
ACADEMY = Person(
    *("Ashdown Academy", "admin@ashdownacademy.example.org", "outlook-html"),
    short="Mr Thackeray",
    greeting="{Dear Parent/Carer,|Dear Parents and Carers,|Dear Mr Hallam,}",
    signoff="{Mr J. Thackeray, Head of Year|Student Services|J. Thackeray}",
    signature="Ashdown Academy\nPart of the Wharfe Learning Trust\n0113 496 0388",
    disclaimer="The views expressed in this email are those of the sender and not necessarily those of the Academy.",
)
SOLICITOR = Person(
    *("Farah Siddiqui", "f.siddiqui@siddiquilowe.example.com", "outlook"),
    short="Ms Siddiqui",
    greeting="{Dear Tom,|Dear Mr Hallam,}",
    signoff="{Kind regards, Farah Siddiqui|Yours sincerely, Farah Siddiqui}",
    signature="Farah Siddiqui\nPartner, Family Team\nSiddiqui Lowe Solicitors LLP",
    disclaimer=(
        "This message is confidential and may be privileged. Siddiqui Lowe Solicitors LLP never changes its bank "
        "details by email: if you receive notice of a change, telephone us first."
    ),
)
ORTHODONTIST = Person(
    *("Millbrook Orthodontics", "reception@millbrookortho.example.com", "owa"),
    short="Denise",
    greeting="{Dear Mr Hallam,|Dear Parent,|Hello Mr Hallam,}",
    signoff="{Denise, Reception|Kind regards, Denise|The team at Millbrook}",
    signature="Millbrook Orthodontics, 3 Mill Street\n0113 496 0433",
)
SURGERY = Person(
    *("Elm Road Surgery", "admin@elmroadsurgery.example.org", "outlook"),
    short="the surgery",
    greeting="{Dear Mr Hallam,|Dear Patient,}",
    signoff="{Elm Road Surgery|Practice Administration|Dr S. Banerji}",
    signature="Elm Road Surgery - please do not reply to this address in an emergency, call 999",
)
NORVANE = Person(
    *("Kieran Doyle", "claims@norvane.example.com", "outlook-html"),
    short="Kieran",
    greeting="{Dear Mr Hallam,|Good afternoon Mr Hallam,}",
    signoff="{Kieran Doyle|Kind regards, Kieran Doyle|Yours sincerely, Kieran}",
    signature="Kieran Doyle\nMotor Claims Handler\nNorvane Insurance plc | 020 7946 0873",
    disclaimer=_NORVANE,
)
SWIMMERS = tuple(
    Person(
        name, address, client, zone="uk", greeting="{Hi all,|All,|Hello everyone,|Dear Otters parents,|}", signoff=by
    )
    for name, address, client, by in (
        ("Pauline Marsh", "pauline.marsh@post.example.net", "gmail", "{Pauline|Pauline (membership)}"),
        ("Steve Okoro", "steve@okoro.example.org", "apple", "{Steve O.|Steve|Coach Steve}"),
        ("Annika Vale", "annika.vale@yonder.example.net", "yahoo", "{Annika|Annika (Leo's mum)}"),
        ("Gareth Pugh-Lewis", "gareth@pughlewis.example.org", "thunderbird", "{Gareth|G.}"),
        ("Mei Tan", "mei.tan@post.example.net", "phone", "{Mei|Mei x}"),
        ("Rob Haddow", "rob.haddow@post.example.net", "gmail", "{Rob|Rob H}"),
    )
)
OTTERS = Person("Otters parents", "otters-parents@lists.swimclub.example.org", "gmail", short="all")
EVERYONE = Person("Leeds Office", "leeds-office@brightwater.example.com", "outlook-html", short="all")
