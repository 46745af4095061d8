"""What the writer wrote: a body as sections, spans over its text with a kind and a reason. By form alone.

Nothing is deleted. ``section`` reads the text twice (lines, then cuts), in time proportional to its length. A later pass that
knows what the conversation said before may refine its answer (`Section.why` says on what each cut rests); it does not belong here.
"""

from __future__ import annotations

from typing import NamedTuple

from .sectioning.cuts import Cut, Cutter
from .sectioning.lines import Lines, read_lines
from .sectioning.tables import FORWARD_SUBJECT, fold

VERSION = 1
"""Raised whenever the same text may come out differently, so that stored sections can be brought up to date."""


class Section(NamedTuple):
    """Characters [start, stop) of a body are ``section``: authored, quoted, forwarded, signature or disclaimer.

    ``why`` names the evidence: ``authored``, ``quote:>``, ``attribution:de``, ``headers:sv``, ``original:fr``,
    ``forward:en``, ``quoted:rest``, ``forwarded:rest``, ``delimiter``, ``sent-from``, ``legal``, ``list-footer``, ``pgp``…
    """

    section: str
    start: int
    stop: int
    why: str


def is_forward(subject: str | None) -> bool:
    """Whether a client marked the subject as a forward's (``Fwd:``, ``WG:``, ``TR:`` …)."""
    if not subject:
        return False
    prefix, colon, _ = subject.strip().replace("：", ":").partition(":")
    return bool(colon) and fold(prefix.strip()) in FORWARD_SUBJECT


def section(text: str, subject: str | None = None) -> list[Section]:
    """Cut a body into sections that tile it: in order, none empty, together exactly ``[0, len(text))``; ``""`` has none.

    ``text`` has ``\\n`` line ends; quotes that came as HTML containers are prefixed with ``"> "`` per depth. ``subject``, where
    known, tells an Outlook forward from an Outlook reply.
    """
    if not text:
        return []
    lines = read_lines(text)
    cuts = _keep_someones_words(lines, Cutter(lines, is_forward(subject)).cut())
    sections: list[Section] = []
    for cut in cuts:
        start, stop = lines.start(cut.start), lines.start(cut.stop)
        if start == stop:
            continue
        before = sections[-1] if sections else None
        if before and before.section == cut.section and before.why == cut.why:
            sections[-1] = Section(cut.section, before.start, stop, cut.why)
        else:
            sections.append(Section(cut.section, start, stop, cut.why))
    return sections


def _keep_someones_words(lines: Lines, cuts: list[Cut]) -> list[Cut]:
    """If nothing is left that would be searched, notices and signatures that are not a machine's are given back."""
    for cut in cuts:
        if cut.section in ("authored", "quoted", "forwarded") and lines.next_text(cut.start, cut.stop) < cut.stop:
            return cuts
    return [
        cut if cut.why in ("sent-from", "pgp", "encoded") else Cut(cut.start, cut.stop, "authored", "authored")
        for cut in cuts
    ]
