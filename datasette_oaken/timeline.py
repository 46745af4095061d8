"""When it was said: a question's messages by month (or a longer step) and status, as figures, as rows and as a drawing.

Every eligible message is in exactly one bucket, so that the buckets add up to the count. The drawing has two parts over one
axis: what says yes by itself, since a few among thousands would not be seen, and below it everything by status. Which status
is which can be told by its place in the stack and its pattern, so that colour is never alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from datasette.utils.sqlite import sqlite3
from markupsafe import Markup, escape

MOST = 60
"""Buckets that are told apart at the width of a page; where there would be more, they are of a longer step."""
STEPS = (("month", 1), ("quarter", 3), ("year", 12), ("decade", 120), ("century", 1200))
STATUSES = ("yes", "unclear", "error", "not_judged", "no")
"""From the bottom of the stack to its top."""
LABELS = {"yes": "yes", "unclear": "unclear", "error": "error", "not_judged": "not judged", "no": "no"}
UNDATED = "no date"

_MONTHS = "January February March April May June July August September October November December".split()
_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")


@dataclass(slots=True)
class Bucket:
    """``key`` sorts and names it (``2024-03``, ``2024-Q1``, ``2024``, ``2020s``, ``2000-2099``; ``''``: no date)."""

    key: str
    label: str
    yes: int = 0
    unclear: int = 0
    error: int = 0
    not_judged: int = 0
    no: int = 0

    @property
    def total(self) -> int:
        """The eligible messages in it."""
        return self.yes + self.unclear + self.error + self.not_judged + self.no

    @property
    def said(self) -> str:
        """``March 2024: 3 yes, 1 unclear, 0 errors, 0 not judged, 12 no``."""
        errors = "error" if self.error == 1 else "errors"
        return (
            f"{self.label}: {self.yes:,} yes, {self.unclear:,} unclear, {self.error:,} {errors}, "
            f"{self.not_judged:,} not judged, {self.no:,} no"
        )


@dataclass(slots=True)
class Timeline:
    """``buckets`` from the first dated message to the last, none left out; ``undated`` is None when every message has a date."""

    question_id: int
    step: str
    buckets: list[Bucket] = field(default_factory=list)
    undated: Bucket | None = None

    @property
    def all(self) -> list[Bucket]:
        """Every bucket, the undated last."""
        return [*self.buckets, self.undated] if self.undated else self.buckets

    @property
    def total(self) -> Bucket:
        """All of them added up."""
        return Bucket("", "all", **{status: sum(getattr(b, status) for b in self.all) for status in STATUSES})


def buckets(conn: sqlite3.Connection, question_id: int) -> Timeline:
    """The question's eligible messages by when they were sent (UTC) and what counts of them. Reads only.

    What a person answered counts as they said. A question that is not there has no buckets.
    """
    found = conn.execute(
        "select substr(m.sent_at, 1, 7), case e.answer when 1 then 'yes' when 0 then 'no'"
        " else coalesce(e.status, 'not_judged') end, count(*)"
        " from recall_eligible e join messages m on m.id = e.message_id where e.question_id = ? group by 1, 2",
        (question_id,),
    ).fetchall()
    counted = [(_month(sent), status, number) for sent, status, number in found]
    dated = [month for month, _, _ in counted if month is not None]
    timeline = Timeline(question_id, "month")
    size = 1
    if dated:
        first, last = min(dated), max(dated)
        timeline.step, size = next(
            step for step in STEPS if last // step[1] - first // step[1] < MOST or step == STEPS[-1]
        )
        timeline.buckets = [_bucket(timeline.step, n * size) for n in range(first // size, last // size + 1)]
    for month, status, number in counted:
        if month is None:
            timeline.undated = timeline.undated or Bucket("", UNDATED)
            bucket = timeline.undated
        else:
            bucket = timeline.buckets[month // size - first // size]
        setattr(bucket, status, getattr(bucket, status) + number)
    return timeline


def _month(sent: str | None) -> int | None:
    """Months since the year 0; None for what is no date."""
    match = _MONTH.fullmatch(sent or "")
    return int(match[1]) * 12 + int(match[2]) - 1 if match else None


def _bucket(step: str, month: int) -> Bucket:
    year, month = divmod(month, 12)
    if step == "month":
        return Bucket(f"{year:04}-{month + 1:02}", f"{_MONTHS[month]} {year}")
    if step == "quarter":
        key = f"{year:04}-Q{month // 3 + 1}"
        return Bucket(key, f"{_MONTHS[month]} to {_MONTHS[month + 2]} {year}")
    key = {"year": f"{year:04}", "decade": f"{year:04}s"}.get(step, f"{year:04}-{year + 99:04}")
    return Bucket(key, key)


def rows(timeline: Timeline) -> list[dict[str, Any]]:
    """The rows of its table: key, label, each status, total; the undated row and then the sum (key ``all``) last."""
    found = [_row(bucket, bucket.key) for bucket in timeline.all]
    return [*found, _row(timeline.total, "all")]


def _row(bucket: Bucket, key: str) -> dict[str, Any]:
    return {
        "key": key,
        "label": bucket.label,
        **{status: getattr(bucket, status) for status in STATUSES},
        "total": bucket.total,
    }


def shown(timeline: Timeline) -> dict[str, Any]:
    """What the template ``_oaken_timeline.html`` shows."""
    return {"svg": svg(timeline), "rows": rows(timeline), "step": timeline.step, "statuses": LABELS}


# The drawing. Lengths are in units of the viewBox, which is scaled to the width there is.
WIDTH, HEIGHT = 640, 300
_LEFT, _RIGHT = 52, 8
_YES_TOP, _YES_BASE = 54, 154
_ALL_TOP, _ALL_BASE = 188, 268
_GAP = 14
"""Between the dated bars and the undated one."""
_TICKS = 5


def svg(timeline: Timeline) -> Markup:
    """The drawing, or ``''`` when there is nothing to draw. Styled by classes of ``oaken.css`` alone: no inline style, no script."""
    bars = timeline.all
    if not bars:
        return Markup("")
    id_ = f"oak-timeline-{timeline.question_id}"
    most_yes, most = (max(1, *(getattr(bucket, what) for bucket in bars)) for what in ("yes", "total"))
    pieces = [
        Markup(
            '<svg class="oak-chart" viewBox="0 0 {} {}" role="img" aria-labelledby="{}-title {}-desc"'
            ' xmlns="http://www.w3.org/2000/svg"><title id="{}-title">{}</title><desc id="{}-desc">{}</desc>'
        ).format(WIDTH, HEIGHT, id_, id_, id_, f"Messages that say yes, by {timeline.step}", id_, described(timeline)),
        _patterns(id_),
        _legend(id_, timeline.total),
        *_axis(most_yes, _YES_TOP, _YES_BASE, "Yes"),
        *_axis(most, _ALL_TOP, _ALL_BASE, "All, by status"),
    ]
    at = _places(timeline)
    yes_scale, all_scale = (_YES_BASE - _YES_TOP) / most_yes, (_ALL_BASE - _ALL_TOP) / most
    for bucket, (x, width) in zip(bars, at, strict=True):
        thin = width * 0.12 if width > 3 else 0.0
        box = (x + thin, width - 2 * thin)
        # The whole height answers a pointer, so that an empty bucket can be asked too.
        area = (_n(x), _YES_TOP, _n(width), _ALL_BASE - _YES_TOP)
        pieces += [
            Markup('<g class="oak-bar"><title>{}</title>').format(bucket.said),
            Markup('<rect class="oak-bar-area" x="{}" y="{}" width="{}" height="{}"/>').format(*area),
            *_stack(id_, bucket, ("yes",), box, _YES_BASE, yes_scale),
            *_stack(id_, bucket, STATUSES, box, _ALL_BASE, all_scale),
            Markup("</g>"),
        ]
    pieces += _ticks(timeline, at)
    return Markup("").join([*pieces, Markup("</svg>")])


def described(timeline: Timeline) -> str:
    """The drawing in words: from when to when, how many, and where most."""
    total = timeline.total
    parts = [f"{total.yes:,} of {total.total:,} messages say yes"]
    if timeline.buckets:
        first, last = timeline.buckets[0].label, timeline.buckets[-1].label
        parts[0] += f", in {first}" if first == last else f", from {first} to {last}"
    if total.yes:
        most = max(timeline.all, key=lambda bucket: bucket.yes)
        parts.append(
            f"most of them, {most.yes:,}, in {most.label}" if most.key else f"{most.yes:,} of them without a date"
        )
    if timeline.undated:
        parts.append(f"{timeline.undated.total:,} without a date")
    return "; ".join(parts) + ". The table below has every figure."


def _places(timeline: Timeline) -> list[tuple[float, float]]:
    """Left edge and width of each bar; the undated one stands apart."""
    room = WIDTH - _LEFT - _RIGHT - (_GAP if timeline.undated and timeline.buckets else 0)
    each = min(room / len(timeline.all), 56.0)
    places = [(_LEFT + n * each, each) for n in range(len(timeline.buckets))]
    if timeline.undated:
        places.append((_LEFT + len(places) * each + (_GAP if places else 0), each))
    return places


def _stack(
    id_: str, bucket: Bucket, statuses: tuple[str, ...], box: tuple[float, float], base: int, scale: float
) -> Iterator[Markup]:
    y = float(base)
    for status in statuses:
        if number := getattr(bucket, status):
            height = number * scale
            y -= height
            yield _swatch(id_, status, box[0], y, box[1], height)


def _swatch(id_: str, status: str, x: float, y: float, width: float, height: float) -> Markup:
    """A rectangle in the colour of a status and, but for yes and no, with its pattern over it."""
    place = Markup('x="{}" y="{}" width="{}" height="{}"').format(_n(x), _n(y), _n(width), _n(height))
    rect = Markup('<rect class="oak-is-{}" {}/>').format(status, place)
    if status in _PATTERNS:
        rect += Markup('<rect fill="url(#{}-{})" {}/>').format(id_, status, place)
    return rect


_PATTERNS = {
    "unclear": Markup('<circle class="oak-ink" cx="2" cy="2" r="1"/>'),
    "error": Markup('<path class="oak-ink-line" d="M0 0L4 4M4 0L0 4"/>'),
    "not_judged": Markup('<path class="oak-waiting-line" d="M-1 1L1 -1M0 4L4 0M3 5L5 3"/>'),
}


def _patterns(id_: str) -> Markup:
    inside = Markup("").join(
        Markup('<pattern id="{}-{}" width="4" height="4" patternUnits="userSpaceOnUse">{}</pattern>').format(
            id_, name, path
        )
        for name, path in _PATTERNS.items()
    )
    return Markup("<defs>{}</defs>").format(inside)


def _legend(id_: str, total: Bucket) -> Markup:
    """Each status with its swatch and sum, in one line; the widths leave room for the larger letters of a small screen."""
    said = [(status, f"{LABELS[status]} {getattr(total, status):,}") for status in STATUSES]
    room = (WIDTH - 8 - len(said) * 22) / sum(len(text) for _, text in said)
    pieces, x = [], 4.0
    for status, text in said:
        pieces.append(_swatch(id_, status, x, 6, 12, 12))
        pieces.append(Markup('<text x="{}" y="17">{}</text>').format(_n(x + 17), text))
        x += 22 + len(text) * min(room, 11.5)
    return Markup("").join(pieces)


def _axis(most: int, top: int, base: int, name: str) -> Iterator[Markup]:
    """The name of a part, its base line, and its top and its zero as numbers."""
    yield Markup('<text class="oak-part" x="{}" y="{}">{}</text>').format(_LEFT, top - 8, name)
    for y, number in ((top, most), (base, 0)):
        yield Markup('<path class="oak-grid" d="M{} {}H{}"/>').format(_LEFT, y, WIDTH - _RIGHT)
        yield Markup('<text class="oak-number" x="{}" y="{}">{:,}</text>').format(_LEFT - 6, y + 4, number)


def _ticks(timeline: Timeline, at: list[tuple[float, float]]) -> Iterator[Markup]:
    """A few names under the axis, as many as can be read, the first one always."""
    count = len(timeline.buckets)
    widest = max((len(b.key) for b in timeline.buckets), default=1) * 13
    fitting = max(1, min(_TICKS, int(count * at[0][1] // widest) or 1))
    every = max(1, -(-count // fitting))
    for n in range(0, count, every):
        x, width = at[n]
        yield Markup('<path class="oak-grid" d="M{} {}v5"/>').format(_n(x + width / 2), _ALL_BASE)
        middle = x + width / 2
        start = middle - _LEFT < widest / 2
        yield Markup('<text class="{}" x="{}" y="{}">{}</text>').format(
            "oak-tick oak-start" if start else "oak-tick",
            _n(x if start else middle),
            _ALL_BASE + 22,
            escape(timeline.buckets[n].key),
        )
    if timeline.undated:
        x, width = at[-1]
        late = x > WIDTH / 2
        yield Markup('<text class="{}" x="{}" y="{}">{}</text>').format(
            "oak-tick oak-end" if late else "oak-tick oak-start", _n(x + width if late else x), _ALL_BASE + 22, UNDATED
        )


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
