"""Planted facts of family, home and health."""

from . import files
from .calendar import at
from .dice import Dice
from .people import (
    ACADEMY,
    BEN,
    CORRAN,
    JO,
    MARGARET,
    NORVANE,
    ORTHODONTIST,
    PELL,
    RUTH,
    SCHOOL,
    SOLICITOR,
    SURGERY,
    SWIMMERS,
    TOM,
)
from .planted import Echo, Planted


def home_facts(dice: Dice) -> list[Planted]:
    """What family, landlords and doctors said."""
    case = f"LS18D{dice.digits(5)}"
    claim = f"NV-2021-{dice.digits(6)}"
    part = f"VLT-00{dice.digits(5)}"
    deposit = f"DPS{dice.digits(8)}"
    passport = dice.digits(9)
    batch = dice.text(2, "BCDFGHJKLM") + dice.digits(6)
    letter, teeth, hospital, safe, exam, place, club, will, gate, wifi = (dice.digits(5) for _ in range(10))
    frame = f"KX{dice.digits(7)}Q"
    referral = f"{dice.digits(4)} {dice.digits(4)} {dice.digits(4)}"
    cottage = f"SEAL-{dice.digits(5)}"
    return [
        Planted(
            "school-run",
            "Ruth does the school run on Mondays, Tuesdays and every other Friday, Tom on Wednesdays and Thursdays.",
            *(at(2019, 9, 4, 19, 41, 12), RUTH, TOM, "School run from Monday"),
            [
                "Now that I'm back on days, this is how I'd do the school run: Mondays, Tuesdays and every other Friday "
                "me, Wednesdays and Thursdays you. Quarter past three at the side entrance, not the front.",
                f"The keypad is {gate} and they change it at Christmas.",
            ],
            f"keypad {gate}",
            "school run Wednesdays and Thursdays",
            "which parent collects the child in the middle of the week",
            "from:ruth school run after:2019-09 before:2019-10",
            ["That works. I've told work I'm out of the door at half two on those days, and they only sighed."],
            echo=Echo(
                *(at(2019, 9, 10, 9, 5, 50), MARGARET, "Thursday"),
                [
                    "So that I have got the pickup arrangement straight: you fetch her from her lessons on Weds and "
                    "Thurs, Ruth has the rest, and if your train is late it's me who waits at the railings with a biscuit."
                ],
                "school run Wednesdays Thursdays",
            ),
        ),
        Planted(
            "consent-order",
            "The consent order gives Tom alternate weekends, Friday 5 pm to Sunday 6 pm, and half the holidays.",
            *(at(2018, 2, 20, 11, 14, 3), SOLICITOR, TOM, f"Sealed consent order - {case}"),
            [
                f"I enclose the consent order, sealed yesterday under case number {case}. Paragraph 5 provides that Ivy "
                "lives with her mother and stays with you on alternate weekends from Friday at 5 p.m. until Sunday at "
                "6 p.m., and for half of each school holiday.",
                "Paragraph 7 says that either of you may vary an individual date by agreement in writing; an email is "
                "enough. Please keep those emails.",
            ],
            case,
            "vary an individual date by agreement in writing",
            "what did the judge decide about when I see my daughter",
            "from:siddiqui has:attachment consent order",
            ["Thank you, Farah. It's a relief to see it on paper. I'll keep every one of them."],
            [
                files.pdf(
                    "consent-order-sealed.pdf",
                    [
                        f"IN THE FAMILY COURT AT LEEDS      No. {case}",
                        "CONSENT ORDER",
                        "5. The child shall stay with the father on alternate weekends, Friday 5 p.m. to Sunday 6 p.m.",
                        "7. The parties may vary any date by agreement in writing.",
                    ],
                )
            ],
        ),
        Planted(
            "halfway-handover",
            "In the summer of 2020 they hand Ivy over at the garden centre at Thorpe Bar.",
            *(at(2020, 6, 9, 20, 2, 44), RUTH.using("phone"), TOM, "Where to meet"),
            [
                "Your doorstep feels wrong at the moment with your mum shielding. What about the garden centre at Thorpe "
                "Bar? It's fourteen minutes for each of us. Top car park, by the sheds, five o'clock.",
            ],
            "Thorpe Bar",
            "garden centre top car park by the sheds",
            "neutral place halfway where we swap during lockdown",
            "from:ruth garden centre after:2020-06 before:2020-07",
            ["Garden centre it is. I'll be the one looking at sheds."],
        ),
        Planted(
            "passport",
            f"Ivy's passport is number {passport} and expires on 3 May 2026.",
            *(at(2021, 4, 28, 18, 30, 5), RUTH, TOM, "Ivy's passport came"),
            [
                f"It's here. Number {passport}, valid until 3 May 2026, and in the photo she looks like somebody wanted "
                "in four countries. I'll keep it in the blue folder; shout when you want it.",
            ],
            passport,
            "passport valid until 3 May 2026",
            "when does her travel document run out",
            "subject:passport from:ruth 2026",
            ["Blue folder, got it. I look like that in mine."],
        ),
        Planted(
            "allergy",
            "Ivy is allergic to cashews; her adrenaline pen is in the school office's red cabinet.",
            *(at(2019, 1, 16, 10, 22, 31), SCHOOL, TOM, "Medical information - Ivy Hallam (Willow Class)"),
            [
                "Thank you for the consultant's letter. Ivy's care plan now lists cashews and pistachios. Her adrenaline "
                "pen is in the red cabinet behind Mrs Oduya's desk and a spare goes on every trip. The pen we hold is "
                f"batch {batch} and will need replacing by November.",
            ],
            f"batch {batch}",
            "adrenaline pen in the red cabinet",
            "where do they store the injection for a severe nut reaction",
            "from:larkfield adrenaline after:2019 before:2020",
            ["Thank you. I'll bring a new one in October. We're grateful that you take it seriously."],
        ),
        Planted(
            "asthma",
            "Ivy was prescribed a blue salbutamol inhaler, two puffs before sport.",
            *(at(2019, 3, 7, 14, 50, 0), SURGERY, TOM, "Miss I Hallam - clinic letter"),
            [
                "Following the review on 5 March: the picture is of exercise-induced asthma. We have prescribed a "
                "salbutamol inhaler (blue), two puffs through the spacer ten minutes before sport, and asked for a peak "
                "flow diary for four weeks. Reference ERS/19/" + letter + ".",
            ],
            f"ERS/19/{letter}",
            "salbutamol inhaler two puffs through the spacer",
            "medicine for her trouble breathing when she runs",
            "from:elmroadsurgery after:2019-03 before:2019-04",
        ),
        Planted(
            "boiler-2019",
            "Mr Pell has the heat exchanger replaced on 3 December 2019 and takes £60 off the rent.",
            *(at(2019, 11, 27, 16, 8, 59), PELL, TOM, "Boiler"),
            [
                f"The engineer has been. It's the heat exchanger, part no. {part}, which he has had to order in. He will "
                "fit it on Tuesday 3 December between 8 and 1.",
                "As a gesture of goodwill you may deduct £60 from December's rent.",
            ],
            part,
            "heat exchanger deduct £60 from December's rent",
            "landlord's compensation for a week without warm water",
            "from:pell exchanger before:2020",
            ["Thank you. I'll work from home that day and keep the dog next door away from him."],
        ),
        Planted(
            "rent-2022",
            "The rent rises from £875 to £925 from 1 July 2022.",
            *(at(2022, 5, 18, 9, 33, 20), CORRAN, TOM, "Notice under section 13 - Flat 2, 31 Carrick Terrace"),
            [
                "Please find attached formal notice that the rent payable for the above property will increase from £875 "
                "to £925 per calendar month with effect from 1 July 2022. Your tenancy reference is CL/31CT/2.",
            ],
            "CL/31CT/2",
            "rent payable will increase from £875 to £925",
            "how much more expensive is our home now",
            "from:corran has:attachment notice after:2022 before:2023",
            ["Received. I won't pretend to be pleased, but I accept it. Could the damp in the bathroom be looked at?"],
            [
                files.pdf(
                    "section-13-notice.pdf", ["NOTICE PROPOSING A NEW RENT", "From GBP 875 to GBP 925", "1 July 2022"]
                )
            ],
        ),
        Planted(
            "deposit",
            f"The tenancy deposit of £1,009 is protected under certificate {deposit}.",
            *(at(2021, 8, 12, 12, 1, 40), CORRAN, TOM, "Your deposit certificate"),
            [
                f"Your deposit of £1,009 has been lodged with the custodial scheme under certificate {deposit}. It will be "
                "returned within ten days of the end of the tenancy, less any agreed deductions.",
            ],
            deposit,
            "deposit lodged with the custodial scheme",
            "who holds the money that covers damage when I move out",
            "from:corran certificate after:2021-08 before:2021-09",
        ),
        Planted(
            "claim",
            f"Norvane settles claim {claim} at £2,340 less the £250 excess.",
            *(at(2021, 5, 20, 15, 44, 18), NORVANE, TOM, f"Your claim {claim}"),
            [
                f"Further to our call I confirm that we have accepted the engineer's report on claim {claim}. The market "
                "value before the collision was £2,340. We shall send you this, less your £250 excess, within five "
                "working days. The third party's insurer has admitted liability in full, so your no claims discount "
                "is not affected.",
            ],
            claim,
            "third party's insurer has admitted liability",
            "how big was the payout for the crashed car",
            "from:norvane excess after:2021-05 before:2021-06",
            ["Thank you, that's fair. Do I need to send the log book, or does the salvage firm collect it?"],
        ),
        Planted(
            "braces",
            "Ivy's fixed appliance stays on for about twenty months; the fee is £2,850 in ten instalments.",
            *(at(2023, 9, 19, 13, 20, 9), ORTHODONTIST, TOM, "Treatment plan - Miss Ivy Hallam"),
            [
                "Dr Voss confirms a Class II division 1 malocclusion. Upper and lower fixed appliances will be fitted on "
                "11 October, and worn for about twenty months, followed by a retainer at night.",
                f"The private fee is £2,850, payable in ten instalments. Patient number MO-{teeth}. No toffee, please.",
            ],
            f"MO-{teeth}",
            "upper and lower fixed appliances worn for about twenty months",
            "how long does my daughter have braces on her teeth",
            "from:millbrook instalments after:2023",
            ["Thank you, Denise. We'd like to pay by instalments, half from each household if you can do that."],
        ),
        Planted(
            "back",
            "Tom's scan shows a prolapsed disc at L4/L5.",
            *(at(2022, 10, 6, 11, 57, 36), SURGERY, TOM, "MRI result"),
            [
                "The MRI shows a prolapsed disc at L4/L5 touching the nerve root, which fits your symptoms. Surgery is not "
                f"indicated. You have been referred for physiotherapy; your booking reference is {referral}. Please avoid "
                "lifting, and see us at once if you have numbness.",
            ],
            referral,
            "prolapsed disc at L4/L5",
            "what was wrong with my spine",
            "from:elmroadsurgery physiotherapy after:2022",
        ),
        Planted(
            "mum-heart",
            "Margaret has atrial fibrillation and takes apixaban twice a day.",
            *(at(2024, 2, 13, 10, 11, 0), MARGARET, TOM, "Not to worry"),
            [
                "I've been to see Mr Hadley at the Infirmary. It's called atrial fibrillation and half the bridge club has "
                "it. I'm to take apixaban, five milligrams, morning and evening, and I mustn't have grapefruit.",
                f"My hospital number is K{hospital} in case anyone asks you. I feel perfectly well.",
            ],
            f"K{hospital}",
            "apixaban morning and evening no grapefruit",
            "grandmother's irregular heartbeat pills",
            "from:margaret apixaban after:2024",
            ["Thank you for telling me, and for not waiting till Easter. I'll come up on Saturday anyway."],
            echo=Echo(
                *(at(2024, 2, 15, 21, 3, 11), JO, "Mum"),
                [
                    "Has she written to you? It's a blood thinner, two tablets daily, and the ticker is skipping beats. "
                    "She told me between the weather and the vicar."
                ],
                "apixaban atrial fibrillation",
            ),
        ),
        Planted(
            "cottage",
            "The key of the cottage at Beadnell is in a key safe, code " + safe + ".",
            *(at(2022, 7, 2, 8, 47, 21), RUTH.using("phone"), TOM, "Beadnell"),
            [
                f"Booking {cottage}. The key's in a little safe behind the bins, {safe}, and you have to push it while you "
                "turn. You've got it from Saturday to Wednesday, then we come. Leave us some milk.",
            ],
            cottage,
            "key's in a little safe behind the bins",
            "how do we get into the seaside holiday house",
            "from:ruth beadnell after:2022-07 before:2022-08",
            ["Milk, bread, and I'll leave the stove laid. Thanks for sorting it out."],
        ),
        Planted(
            "flight",
            "Jo and the boys land at Leeds Bradford at 16:40 on 22 December 2022 on flight XQ 417.",
            *(at(2022, 11, 30, 20, 15, 2), JO, TOM, "Christmas!!"),
            [
                "All booked. XQ 417, landing at Leeds Bradford on the 22nd at 16:40, four of us, one of whom has discovered "
                "the drum. We go back on the 29th. Lukas wants to know if there's a pub.",
            ],
            "XQ 417",
            "landing at Leeds Bradford on the 22nd",
            "what time does my sister's plane arrive",
            "from:jo landing after:2022-11 before:2023",
            ["There's a pub. I'll be at arrivals with a sign and a hat."],
        ),
        Planted(
            "frame-number",
            f"Tom's stolen bicycle has the frame number {frame}.",
            *(at(2020, 8, 24, 22, 10, 48), BEN, TOM, "that bike"),
            [
                f"Dug out the receipt. Frame no. {frame}, 56 cm, the green that looks grey. Put it on the register and send it "
                "to the station on Elland Road, they've a cage full of them. Nicked from outside a police museum. Honestly.",
            ],
            frame,
            "frame no. 56 cm the green that looks grey",
            "serial of the cycle that thieves took",
            "from:ben receipt after:2020-08 before:2020-09",
            ["You're a saint. Reported. The officer laughed at the museum bit too."],
        ),
        Planted(
            "wifi",
            "Margaret's router password is marmalade-" + wifi + ".",
            *(at(2020, 12, 20, 15, 31, 10), MARGARET, TOM, "Christmas and the internet"),
            [
                "The young man has put in the new box. The password is marmalade-"
                + wifi
                + ", all small letters, and it is "
                "also on the fridge under the lighthouse magnet so that nobody need shout up the stairs.",
            ],
            f"marmalade-{wifi}",
            "password on the fridge under the lighthouse magnet",
            "router login at my mother's house",
            "from:margaret password after:2020-12 before:2021",
        ),
        Planted(
            "violin",
            "Ivy got a merit, 112 marks, in grade 2 violin.",
            *(at(2021, 7, 14, 17, 12, 12), RUTH, TOM, "Grade 2!"),
            [
                'Merit! 112 out of 130, and the examiner wrote "a singing tone". She\'s pretending not to care and has told '
                f"the bus driver. Candidate number {exam}, if you want to order the certificate frame.",
            ],
            f"candidate {exam}",
            "merit 112 examiner wrote a singing tone",
            "how did our daughter do in her music test",
            "from:ruth merit after:2021-07 before:2021-08",
            ["A singing tone! I'm ringing her now."],
        ),
        Planted(
            "place",
            "Ashdown Academy offers Ivy a place in year 7 from September 2023.",
            *(at(2023, 3, 1, 8, 0, 31), ACADEMY, TOM, "Year 7 admission, September 2023"),
            [
                "I am delighted to offer Ivy Hallam a place in Year 7 from September 2023. Please accept online by 15 March "
                f"using the code ASH-{place}-7. The induction evening is on Thursday 29 June at 6 p.m. in the main hall.",
            ],
            f"ASH-{place}-7",
            "induction evening main hall 29 June",
            "did the secondary school take her",
            "from:ashdown accept after:2023 before:2023-04",
            ["We accept with pleasure, and have done so online. Ivy has already chosen her locker, in her mind."],
        ),
        Planted(
            "relay",
            "Ivy's best time over 50 m freestyle is 38.71 seconds.",
            *(at(2023, 11, 19, 19, 19, 19), SWIMMERS[1], TOM, "Ivy's times"),
            [
                "Quick one about Ivy. She went 38.71 for the 50 free at Wetherby, which takes two seconds off her best and "
                f"makes her second leg in the relay. Her club number for the entry form is {club}.",
            ],
            f"{club}",
            "38.71 for the 50 free",
            "how fast was my girl at the swimming gala",
            "from:steve relay after:2023-11",
            ["Thanks Steve. She's been saying thirty-eight seventy-one in her sleep."],
        ),
        Planted(
            "will",
            "Jo is named as executor and as Ivy's trustee in Tom's will.",
            *(at(2024, 5, 9, 10, 40, 0), SOLICITOR, TOM, "Your will - engrossment for signature"),
            [
                "The engrossment is ready. As instructed, it appoints your sister as executor and, with me, as trustee for "
                f"Ivy until she is twenty-one. Our file is HAL/{will}/2. Please sign before two witnesses who are not "
                "named in it.",
            ],
            f"HAL/{will}/2",
            "appoints your sister as executor",
            "who sorts everything out when I am dead",
            "from:siddiqui witnesses after:2024",
            ["Thank you. Ben and Sanna will witness it on Friday, with cake."],
        ),
    ]
