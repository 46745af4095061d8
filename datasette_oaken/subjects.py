"""Subjects without what mail clients put before them."""

from __future__ import annotations

import re

# Reply and forward marks of the common clients and languages, with counts ("Re[2]:", "AW (3):"). Bounded: no backtracking.
_MARK = re.compile(
    r"\s*(?:re|fwd?|fw|aw|wg|sv|vs|vb|antw|doorst|rv|enc|res|tr|r|i|rif|odp|pd|ynt|ilt|ref|回复|回覆|转发|轉寄|答复|返信|転送|회신|전달)"
    r"\s?(?:\[\d{1,3}\]|\(\d{1,3}\))?\s?[:：]\s*",
    re.IGNORECASE,
)


def bare(subject: str | None) -> str:
    """``subject`` without "Re:", "Fwd:" and their kin, however often they were put; '' for none."""
    text = (subject or "").strip()
    while match := _MARK.match(text):
        text = text[match.end() :]
    return text
