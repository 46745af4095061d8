"""Planted facts of work, shops and travel."""

from . import files
from .calendar import at
from .dice import Dice
from .people import BEN, COLIN, CORRAN, DEV, HARUKA, JO, MARGARET, MARTA, PRIYA, RUTH, SANNA, TOM, TOM_AT_WORK, Person
from .planted import Echo, Planted

_COURIER = Person(
    "Parcelwren Customer Care", "care@parcelwren.example.com", "owa", signoff="{Asha, Customer Care|Asha}"
)
_GARAGE = Person("Mill Lane Motors", "workshop@milllanemotors.example.com", "gmail", signoff="{Pete|Pete, Mill Lane}")
_RAIL = Person(
    "Northbound Rail Refunds", "refunds@northboundrail.example.com", "outlook", signoff="{Delay Compensation Team|}"
)
_WASHER = Person("Halder Appliances", "aftersales@halder.example.com", "outlook-html", signoff="{After Sales|}")


def work_facts(dice: Dice) -> list[Planted]:
    """What the office, the shops and a few machines said."""
    order, build = f"45{dice.digits(6)}", dice.hex(7)
    parcel, serial = f"PW{dice.digits(9)}GB", f"HD7-{dice.digits(6)}"
    refund, job = f"NBR/{dice.digits(6)}", f"MLM-{dice.digits(5)}"
    account, policy, telephone = dice.digits(8), f"BW-HR-{dice.digits(5)}", f"01632 960{dice.digits(3)}"
    line, alarm, lot, room, ski = (dice.digits(5) for _ in range(5))
    return [
        Planted(
            "notice-period",
            "From 1 April 2022 Tom's notice period is three months where it was one.",
            *(at(2022, 3, 14, 10, 30, 44), PRIYA, TOM_AT_WORK, f"Amendment to your contract of employment ({policy})"),
            [
                "Please find attached the amendment for signature. Clause 14.2 now provides that employment may be "
                "terminated by either party on three months' written notice (formerly one), from 1 April 2022. The "
                "other terms are as we talked through.",
            ],
            policy,
            "clause 14.2 three months' written notice",
            "how long must I stay on after resigning",
            "from:priya has:attachment amendment after:2022-03 before:2022-04",
            ["Signed and returned. Thank you for going through it with me twice."],
            [files.pdf("amendment.pdf", [f"AMENDMENT {policy}", "14.2 Notice: three months (formerly one month)."])],
            Echo(
                *(at(2022, 3, 15, 21, 12, 9), BEN, "so you signed"),
                [
                    "a quarter of a year before you can walk out of there? colin must really like you. mine's a week and "
                    "they'd hold the door. congratulations anyway."
                ],
                "contract three months' notice walk out",
            ),
        ),
        Planted(
            "brownout",
            "Firmware 1.0.21 cures the brownout reset of the Otter logger.",
            *(at(2019, 11, 28, 13, 5, 27), SANNA, TOM_AT_WORK, "1.0.21 is out"),
            [
                f"Tagged 1.0.21 (commit {build}). It fixes the brownout reset on Otter: the threshold was set at 2.9 V and the "
                "cell sags to 2.8 in frost when the modem wakes. Now 2.6, and we write the counters first.",
            ],
            f"commit {build}",
            "1.0.21 fixes the brownout reset on Otter",
            "which software version stopped devices restarting when batteries got cold",
            "from:sanna threshold after:2019-11 before:2020",
            ["Lovely. I'll tell Skipton and the reservoir people today."],
        ),
        Planted(
            "connectors",
            "The M12 connectors take 26 weeks and cost 12 % more.",
            *(at(2021, 10, 12, 9, 17, 3), MARTA, TOM_AT_WORK, f"PO {order}: M12 connectors"),
            [
                f"The supplier confirms PO {order} but the lead time for the M12 connectors is now 26 weeks, and they go up by "
                "12 % from this order on. If we pay in advance they hold the old price. Yes or no by noon?",
            ],
            f"PO {order}",
            "lead time M12 connectors 26 weeks",
            "half a year's wait for plugs",
            "from:marta supplier after:2021-10 before:2021-11",
            ["Yes, pay in advance. And please order the adapters with them."],
        ),
        Planted(
            "salary",
            "Tom's salary is £46,200 from January 2022.",
            *(at(2021, 12, 15, 15, 40, 0), COLIN, TOM_AT_WORK, "Confidential"),
            [
                "The remuneration committee has approved £46,200 for you with effect from January, and a one-off of £750 for "
                f"the reservoir. You will see it as line {line} on the statement. Thoroughly earned.",
            ],
            f"line {line} statement",
            "committee has approved £46,200",
            "how big was my pay rise",
            "from:colin approved after:2021-12 before:2022",
            ["Thank you, Colin. That's a good end to an odd year."],
        ),
        Planted(
            "server-key",
            "The spare key to the server room is in the drawer under the flow tank.",
            *(at(2023, 8, 15, 17, 22, 51), DEV, TOM_AT_WORK, "If I get hit by a bus"),
            [
                "I'm away for a fortnight. The spare key to the server room hangs on a hook in the drawer under the flow tank, "
                f"behind the sieves. The alarm wants {alarm} and then the hash. If rack 3 hums, let it hum.",
            ],
            f"alarm {alarm}",
            "spare key on a hook under the flow tank",
            "how do I unlock where computers are kept",
            "from:dev drawer after:2023-08 before:2023-09",
            ["Noted, and memorised, and I'll eat this email. Have a good holiday."],
        ),
        Planted(
            "buffer",
            "Mori-san found that the pH buffer must be at 25.4 °C.",
            *(at(2023, 5, 23, 2, 14, 30), HARUKA.using("gmail"), TOM_AT_WORK, "pH 7 buffer"),
            [
                "I write in English so that Sanna-san can read also. Our laboratory measured again. The buffer of lot "
                f"JQ-{lot} gives the nominal value at 25.4 degrees, not 20. Please correct the table in the manual, page 31.",
            ],
            f"JQ-{lot}",
            "nominal value at 25.4 degrees",
            "how warm should the calibration liquid be",
            "from:mori laboratory after:2023",
            ["Dear Mori-san, thank you. You've found an error that's nine years old. Page 31 will be right by Friday."],
        ),
        Planted(
            "lost-parcel",
            "Ivy's birthday parcel was lost at the Wakefield depot; Parcelwren refunds £64.",
            *(at(2020, 5, 27, 14, 9, 16), _COURIER, TOM, f"Your enquiry about {parcel}"),
            [
                f"I'm so sorry. {parcel} was last scanned at our Wakefield depot on 18 May and we must now treat it as lost. "
                "We'll refund £64 to the sender, who'll pass it on to you, and your postage as well.",
            ],
            parcel,
            "last scanned at our Wakefield depot",
            "where did her present vanish on its way here",
            "from:parcelwren lost after:2020-05 before:2020-06",
            ["Thank you for looking. It was a telescope. She was very good about it."],
        ),
        Planted(
            "mot",
            "The car failed its MOT on a corroded offside rear brake pipe; the repair cost £186.",
            *(at(2023, 1, 26, 12, 33, 8), _GARAGE, TOM, "YK66 OHB - fail"),
            [
                "Bad news I'm afraid, it's failed on a corroded brake pipe, offside rear, and one tyre's borderline. £186 all in "
                f"and it's done by five. Job {job}. Shout if you don't want us to.",
            ],
            job,
            "corroded brake pipe offside rear",
            "what was wrong with the car at its yearly inspection",
            "from:milllane borderline after:2023",
            ["Please go ahead, and do the tyre as well."],
        ),
        Planted(
            "train-refund",
            "Northbound Rail pays £31.20 for the train that was 74 minutes late.",
            *(at(2024, 6, 11, 10, 0, 2), _RAIL, TOM, f"Delay claim {refund}"),
            [
                f"We have assessed claim {refund}. Your service of 1 June arrived 74 minutes late. Under the scheme you are due "
                "50 % of the fare, i.e. £31.20, which will be credited to your card within five days.",
            ],
            refund,
            "service arrived 74 minutes late",
            "money back from the railway",
            "from:refunds assessed after:2024-06 before:2024-07",
        ),
        Planted(
            "washing-machine",
            "The washing machine's guarantee runs to 30 September 2028.",
            *(at(2023, 10, 2, 9, 1, 30), _WASHER, TOM, f"Thank you for registering {serial}"),
            [
                f"Your Halder 7 kg washing machine, serial number {serial}, is now registered. The five-year guarantee covers "
                "parts and labour until 30 September 2028. Keep this message with your receipt.",
            ],
            serial,
            "guarantee covers parts and labour until 30 September 2028",
            "how long would laundry appliance repairs be free",
            "from:halder guarantee after:2023-10 before:2023-11",
        ),
        Planted(
            "meter",
            f"The gas account at Carrick Terrace is {account}.",
            *(at(2021, 8, 3, 11, 49, 55), CORRAN, TOM, "Utilities at Carrick Terrace"),
            [
                f"For your records: the gas supplier is Tarn Energy, account {account}, and the meter stood at 20917 when you took "
                "the keys. The stopcock is under the stairs, behind the hoover.",
            ],
            f"account {account}",
            "stopcock is under the stairs behind the hoover",
            "how do I turn the water off",
            "from:corran supplier after:2021-08 before:2021-09",
            ["Thank you. I've photographed the stopcock so that I know it when I see it."],
        ),
        Planted(
            "dog",
            "Margaret's dog Bramble must not have tablets with ibuprofen; the vet is Mr Sorley.",
            *(at(2022, 8, 29, 8, 20, 12), MARGARET, TOM, "While I am in Lübeck"),
            [
                "Bramble has half a tin at seven and half at five, and NOT the biscuits in the blue barrel, which give him wind. "
                f"The vet is Mr Sorley, {telephone}, and he will come out. The key is where it always was.",
            ],
            telephone,
            "half a tin at seven and not the biscuits in the blue barrel",
            "when does my mother's pet eat",
            "from:margaret vet after:2022-08 before:2022-09",
            ["Half, half, no barrel. Go and enjoy your grandsons."],
        ),
        Planted(
            "anniversary",
            "Jo and Lukas's silver wedding is at Wakenitzufer on 14 June 2025; bring no presents, only songs.",
            *(at(2025, 2, 2, 19, 55, 6), JO, TOM, "June"),
            [
                "It's the 14th, from three, in our garden, and nobody is to bring presents: everyone sings a song or plays one. "
                f"The B&B over the bridge is holding a room for you both until March, just quote K-{room}.",
            ],
            f"K-{room}",
            "everyone sings a song or plays one",
            "what gift should we take to my sister's wedding party",
            "from:jo bridge after:2025",
            ["Ivy's doing the gavotte. I'm doing the speech, which Lukas says counts as percussion."],
        ),
        Planted(
            "ski",
            "Ruth put the deposit of £120 for the school's ski trip on her card.",
            *(at(2024, 10, 1, 20, 44, 37), RUTH, TOM, "Austria"),
            [
                f"I've paid the £120 deposit for Austria in February, booking ASH-SKI-{ski}, since it closed at midnight. The "
                "balance is £780 in four goes. Her salopettes can be Orla's.",
            ],
            f"ASH-SKI-{ski}",
            "£120 deposit for Austria in February",
            "cost of the school winter sports trip",
            "from:ruth balance after:2024-10 before:2024-11",
            ["Thank you for catching it. I'll do two of the four."],
        ),
    ]
