"""Readings for tests of judges, in the form of ``datasette_oaken.readings``, from plain text."""

from __future__ import annotations

import hashlib

from datasette_oaken.readings import BEFORE, JUDGED, NOTHING, Reading


def reading(words: str, *, before: str = "", subject: str = "Keys", left_out: int = 0) -> Reading:
    """What a judge is given of a message by Sam with these words."""
    head = f"{BEFORE}\n\n{before}\n\n{JUDGED}\n\n" if before else f"{JUDGED}\n\n"
    own = f"Date: 2018-03-05 09:00 UTC\nFrom: Sam Reed <sam@example.org>\nSubject: {subject}\n\n{words or NOTHING}"
    text = head + own
    sha256 = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return Reading(sha256, text, len(head), len(text), left_out, (1,))
