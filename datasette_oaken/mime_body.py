"""Which parts of the tree a mail client shows as the message's text, and which it lists beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .embedded import TNEF_SIGNATURE
from .mime_tree import Part

_READABLE = frozenset({"text/plain", "text/html", "text/enriched", "text/richtext", "text/markdown", "text/x-markdown"})
_SIGNATURES = frozenset({"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"})
_REPORTS = frozenset({"message/delivery-status", "message/disposition-notification", "message/feedback-report"})
_HEADERS = frozenset({"text/rfc822-headers", "message/global-headers"})
# Containers' own furniture: in them a part of this type is no file that anyone sent.
_FURNITURE = {
    "multipart/signed": _SIGNATURES,
    "multipart/encrypted": frozenset({"application/pgp-encrypted"}),
    "multipart/appledouble": frozenset({"application/applefile"}),
    "multipart/report": _REPORTS | _HEADERS,
}
_STUB = re.compile(r"\bhtml\b|\bbrowser\b|navegador|navigateur|webversion|onlineversion", re.I)
_STUB_LENGTH = 500  # characters; the longest apology for having no plain text that was met
_STUB_SOURCE, _STUB_PIECES = (
    8000,
    20,
)  # bytes before decoding, and parts: what is more says something, and is not looked at
LISTED_LEVELS = 8  # messages within messages that are listed as files of their own; deeper ones lie in those


class _Rope:
    """Pieces of a body, joined without copying; with what a choice between bodies needs to know."""

    __slots__ = ("count", "html", "pieces", "size")

    def __init__(self, pieces: list[Part | _Rope], *, html: bool, size: int) -> None:
        self.pieces = pieces
        self.html = html
        self.size = size
        self.count: int = sum(piece.count if isinstance(piece, _Rope) else 1 for piece in pieces)

    @classmethod
    def of(cls, ropes: list[_Rope]) -> _Rope:
        if len(ropes) == 1:
            return ropes[0]
        return cls([*ropes], html=any(rope.html for rope in ropes), size=sum(rope.size for rope in ropes))

    def __iter__(self) -> Iterator[Part]:
        stack = [iter(self.pieces)]
        while stack:
            for item in stack[-1]:
                if isinstance(item, _Rope):
                    stack.append(iter(item.pieces))
                    break
                yield item
            else:
                stack.pop()


def body(parts: list[Part], *, prefer: str = "text/plain") -> list[Part]:
    """The text parts, and the nested messages among them, that a mail client shows of ``parts``, in order.

    A nested message stands as its ``message/rfc822`` part, followed by what is shown of it. Of a multipart/alternative the
    version of type ``prefer`` is taken unless it is empty or only says that the mail is to be read elsewhere.
    """
    ropes: dict[int, _Rope] = {}
    for part in reversed(parts):  # children come after their parent, so this is bottom up, and needs no recursion
        children = [ropes.pop(child.number) for child in part.children]
        ropes[part.number] = _shown(part, [rope for rope in children if rope.pieces], prefer)
    shown = list(ropes[0])
    # Outlook can send its text in winmail.dat alone.
    inside = [part for part in parts if part.content is not None and part.filename is None and not part.level]
    if inside and not any(part.text().strip() for part in shown if not part.is_message):
        shown += inside
    return shown


def _shown(part: Part, filled: list[_Rope], prefer: str) -> _Rope:
    kind = part.content_type
    if part.is_message:
        return _Rope([part, *filled], html=False, size=sum(rope.size for rope in filled))
    if not part.is_container or not part.children:
        if part.content is None and _is_read(part):
            return _Rope([part], html=kind == "text/html", size=part.stop - part.start + 1)
        return _Rope([], html=False, size=0)
    if kind == "multipart/alternative" and len(filled) > 1:
        return _alternative(filled, prefer)
    if kind == "multipart/related" and filled:
        start = part.params.get("start", "").strip("<> ")
        roots = [rope for rope in filled if start and rope.pieces[0] in part.children and _is_root(rope, start)]
        return (roots or filled)[0]
    if kind == "multipart/signed" and filled:
        return filled[0]
    return _Rope.of(filled)


def _is_root(rope: _Rope, start: str) -> bool:
    first = rope.pieces[0]
    return isinstance(first, Part) and first.content_id == start


def _is_read(part: Part) -> bool:
    """Whether a leaf is text to be read in place, rather than a file or data."""
    if part.content_type in _REPORTS:
        return part.parent is not None and part.parent.content_type == "multipart/report"
    if part.content_type not in _READABLE and not part.is_container:
        return False
    opening = _is_opening(part)
    if part.disposition in ("", "inline"):
        # A name alone makes a file of it, unless it is what the message begins with.
        return part.filename is None or part.disposition == "inline" or opening
    return opening and part.filename is None


def _is_opening(part: Part) -> bool:
    """Whether it is the first leaf of its message."""
    while part.parent is not None and not part.parent.is_message:
        if part.parent.children[0] is not part:
            return False
        part = part.parent
    return True


def _alternative(ropes: list[_Rope], prefer: str) -> _Rope:
    rich = [rope for rope in ropes if rope.html]
    plain = [rope for rope in ropes if not rope.html]
    if not rich or not plain:
        return ropes[-1]  # RFC 2046 section 5.1.4: the last is the best
    if prefer == "text/html":
        return rich[-1]
    spoken = [rope for rope in plain if not _says_nothing(rope)]
    if not spoken:
        return rich[-1]
    simplest = [
        rope for rope in spoken if isinstance(rope.pieces[0], Part) and rope.pieces[0].content_type == "text/plain"
    ]
    return (simplest or spoken)[-1]


def _says_nothing(rope: _Rope) -> bool:
    """Whether a plain version is empty, or a few words that send the reader to the HTML."""
    if rope.size > _STUB_SOURCE or rope.count > _STUB_PIECES:
        return False
    text = "\n".join(piece.text() for piece in rope if not piece.is_message).strip(" \t\n\xa0\u200b\ufeff")
    return not text or (len(text) < _STUB_LENGTH and bool(_STUB.search(text)))


def attachment_parts(parts: list[Part], shown: list[Part]) -> list[Part]:
    """The parts that a mail client lists beside the text ``shown``: files, nested messages, and text that came with a name."""
    read = {part.number for part in shown if not part.is_message}
    return [part for part in parts if _is_listed(part, read)]


def _is_listed(part: Part, read: set[int]) -> bool:
    if part.is_container or (part.is_message and (part.parent is None or part.level >= LISTED_LEVELS)):
        return False
    if part.filename is None and (part.number in read or part.content is not None):
        return False
    if part.is_tnef and part.payload().startswith(TNEF_SIGNATURE):
        return False  # its files are listed instead
    if (
        part.content_type in ("text/plain", "text/html")
        and part.filename is None
        and part.disposition in ("", "inline")
    ):
        return False  # the version of an alternative that is not shown
    return part.parent is None or part.content_type not in _FURNITURE.get(part.parent.content_type, ())
