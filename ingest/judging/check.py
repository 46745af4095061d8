"""What a judge says, held against what it was given: the part of believing it that needs no model.

- A "yes" needs a quote that stands in the message's own part (white space, case and the kind of quotation mark aside). The
  quote is kept as it stands there. Without one the verdict is "unclear".
- A "no" may quote; what it quotes must stand there too, or it is dropped.
- A "no" on a message of which only a part was read is "unclear": the rest may say yes.
- An error is an error, and any status that no one knows is one.
"""

from __future__ import annotations

import re
from dataclasses import replace

from datasette_oaken.readings import Reading

from .base import Judgement

LEAST = 3
"""Letters and digits that a quote must have: less stands in every message."""
_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "–": "-", "—": "-"}
)
_AROUND = " \t\r\n\"'.…[]()"


def checked(said: Judgement, reading: Reading) -> Judgement:
    """The judgement as it may be counted."""
    if said.status == "yes":
        quote = standing(said.quote or "", reading.own)
        if quote is None:
            what = "its quote does not stand in the message" if said.quote else "it gives no quote"
            return replace(said, status="unclear", quote=None, error=f"It says yes, but {what}.")
        return replace(said, quote=quote)
    if said.status == "no":
        quote = standing(said.quote, reading.own) if said.quote else None
        if reading.left_out:
            return replace(
                said,
                status="unclear",
                quote=quote,
                error=f"It says no, but {reading.left_out:,} characters of the message were not read.",
            )
        return replace(said, quote=quote)
    if said.status == "unclear":
        return replace(said, quote=standing(said.quote, reading.own) if said.quote else None)
    if said.status == "error":
        return replace(said, quote=None, error=said.error or "The judge gave no reason.")
    return Judgement("error", said.reasoning, said.considerations, None, f"The judge answered {said.status!r}.")


def standing(quote: str, text: str) -> str | None:
    """The span of ``text`` that ``quote`` gives, as it stands there, or None."""
    plain = _plain(quote)
    for words in (
        plain.split(),
        plain.strip(_AROUND).split(),
    ):  # with the marks that a model puts around it, and without
        if sum(c.isalnum() for word in words for c in word) < LEAST:
            return None
        # White space is the one thing that may differ in length; everything else is mapped a character for a character.
        if found := re.search(r"\s+".join(map(re.escape, words)), _plain(text)):
            return text[found.start() : found.end()]
    return None


def _plain(text: str) -> str:
    """One kind of quotation mark and small letters, each character one character, so that positions stay."""
    return "".join(low if len(low := c.lower()) == 1 else c for c in text.translate(_QUOTES))
