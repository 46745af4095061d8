"""How often each way of estimating holds the true count, and how wide its interval is: 10,000 seeded samples a case.

    python benchmarks/estimate.py
    python benchmarks/estimate.py --samples 2000 --json

A case is a judged archive: how many the judge said yes and no to (and, in half of them, was unclear about), how many of each are
truly yes, and how many of each a person answers. Rare and common answers, small and large archives, good and bad judges. The
intervals of all samples of a case are worked out once for each outcome, and counted as often as it came.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import click
import numpy as np
from common import conditions, json_option, show

from datasette_oaken.estimate import Stratum, estimate, limits

Part = tuple[int, int, int]
"""(messages in the stratum, answered, yes among the answered)"""
Interval = Callable[[tuple[Part, ...]], tuple[float, float]]

Case = list[tuple[int, int, int]]
"""(messages, truly yes, answered) of each stratum"""

ARCHIVES: dict[str, tuple[int, int, int, int, int]] = {
    # name: judge's yes, truly yes of them, judge's no, truly yes of them, answered in each
    "a handful": (20, 16, 100, 2, 20),
    "one missed in 5,000": (60, 48, 5_000, 1, 100),
    "none missed": (60, 54, 5_000, 0, 100),
    "five missed in 5,000": (60, 48, 5_000, 5, 100),
    "25 missed in 5,000": (200, 140, 5_000, 25, 100),
    "a tenth missed": (1_000, 900, 5_000, 500, 100),
    "half missed": (3_000, 2_700, 3_000, 1_500, 200),
    "20 missed in 100,000": (500, 300, 100_000, 20, 400),
    "200 missed in 100,000": (500, 300, 100_000, 200, 400),
    "2,000 missed in 100,000": (500, 475, 100_000, 2_000, 200),
    "few answered": (500, 400, 20_000, 100, 20),
    "a judge that is never wrong": (300, 300, 5_000, 0, 50),
    "a judge that is wrong half the time": (100, 50, 10_000, 50, 100),
    "everything it said yes to is answered": (14, 13, 168, 45, 60),
    "ten in 50,000": (5, 5, 50_000, 10, 300),
}
UNCLEAR = (200, 80)
"""Messages the judge was unclear about in every second case, and how many are truly yes."""

SPREAD: dict[str, Case] = {
    # Rare ones in several strata: one answer of yes in each is likelier than it seems.
    "one in no, one in not judged": [(601, 1, 139), (178, 1, 80)],
    "one in each of three": [(171, 1, 38), (171, 1, 38), (168, 1, 38)],
    "a few in each of three": [(1_053, 3, 92), (1_053, 1, 95), (1_053, 3, 92)],
    "three in each of four": [(1_000, 3, 100)] * 4,
    "rare in both halves": [(50_000, 166, 100), (25_000, 84, 50)],
    "one left in what is small": [(52, 1, 26), (84, 1, 57), (84, 1, 40), (53, 0, 53)],
    "much not judged, little answered": [(60, 48, 60), (3_000, 30, 100), (6_000, 120, 50)],
}
SEED = 11


def shipped(parts: tuple[Part, ...]) -> tuple[float, float]:
    """What Oaken does."""
    found = estimate([Stratum("", *part) for part in parts])
    assert found is not None
    return found.low, found.high


def bonferroni(parts: tuple[Part, ...]) -> tuple[float, float]:
    """Exact limits, each at the share of confidence that makes all hold at once; added up."""
    open_parts = sum(sampled < size for size, sampled, _ in parts) or 1
    found = [limits(*part, 1 - 0.05 / open_parts) for part in parts]
    return sum(low for low, _ in found), sum(high for _, high in found)


def joined(limits_of: Callable[[int, int, int], tuple[float, float]]) -> Interval:
    """MOVER over other limits."""

    def interval(parts: tuple[Part, ...]) -> tuple[float, float]:
        point = below = above = 0.0
        for size, sampled, yes in parts:
            here = size * yes / sampled
            low, high = limits_of(size, sampled, yes)
            point, below, above = point + here, below + (here - low) ** 2, above + (high - here) ** 2
        return math.floor(point - math.sqrt(below)), math.ceil(point + math.sqrt(above))

    return interval


def wilson(size: int, sampled: int, yes: int) -> tuple[float, float]:
    """Wilson's score limits with the correction for a finite population."""
    if sampled >= size:
        return yes, yes
    share = yes / sampled
    zz = 1.959964**2 * (size - sampled) / (size - 1)
    middle = (share + zz / (2 * sampled)) / (1 + zz / sampled)
    half = math.sqrt(zz * (share * (1 - share) / sampled + zz / (4 * sampled**2))) / (1 + zz / sampled)
    return size * (middle - half), size * (middle + half)


def bayes(prior: float) -> Interval:
    """Quantiles of what the unanswered may hold, beta-binomial, 4,000 seeded draws a stratum."""

    @cache
    def draws(size: int, sampled: int, yes: int) -> np.ndarray:
        random = np.random.default_rng((size, sampled, yes))
        return yes + random.binomial(size - sampled, random.beta(yes + prior, sampled - yes + prior, 4_000))

    def interval(parts: tuple[Part, ...]) -> tuple[float, float]:
        total = sum(draws(*part) for part in parts)
        return math.floor(np.quantile(total, 0.025)), math.ceil(np.quantile(total, 0.975))

    return interval


WAYS: dict[str, Interval] = {
    "oaken: exact, melded": shipped,
    "exact, Bonferroni": bonferroni,
    "exact, MOVER": joined(limits),
    "Wilson, MOVER": joined(wilson),
    "beta-binomial, Jeffreys": bayes(0.5),
    "beta-binomial, uniform": bayes(1.0),
}


def cases() -> dict[str, Case]:
    """Every case: the archives, with and without messages that the judge was unclear about, and the rare ones spread out."""
    found: dict[str, Case] = {}
    for name, (yes, truly, no, missed, answered) in ARCHIVES.items():
        found[name] = [(yes, truly, min(answered, yes)), (no, missed, min(answered, no))]
        found[name + ", and unclear ones"] = [*found[name], (*UNCLEAR, min(answered, UNCLEAR[0]))]
    return found | SPREAD


def held(strata: Case, interval: Interval, samples: int) -> tuple[float, float]:
    """(share of samples whose interval held the true number, mean width of the interval)"""
    random = np.random.default_rng(SEED)
    true = sum(truly for _, truly, _ in strata)
    drawn = np.stack([random.hypergeometric(truly, size - truly, n, samples) for size, truly, n in strata], axis=1)
    outcomes, times = np.unique(drawn, axis=0, return_counts=True)
    kept = width = 0.0
    for outcome, count in zip(outcomes, times, strict=True):
        parts = tuple((size, n, int(yes)) for (size, _, n), yes in zip(strata, outcome, strict=True))
        low, high = interval(parts)
        kept += count * (low <= true <= high)
        width += count * (high - low)
    return kept / samples, width / samples


@click.command()
@click.option("--samples", type=click.IntRange(100), default=10_000, show_default=True, help="Of each case.")
@json_option
def main(samples: int, as_json: bool) -> None:
    """Measure the interval of the estimate."""
    started = conditions()
    measured: dict[str, dict[str, Any]] = {
        name: {
            "true": sum(truly for _, truly, _ in strata),
            "ways": {way: held(strata, interval, samples) for way, interval in WAYS.items()},
        }
        for name, strata in cases().items()
    }
    worst = {way: min(case["ways"][way][0] for case in measured.values()) for way in WAYS}
    answer = {"conditions": started, "samples": samples, "worst": worst, "cases": measured}
    heading = ("case", "true", *WAYS)
    rows = [heading] + [
        (name, case["true"], *(f"{share:.3f} {width:,.0f}" for share, width in case["ways"].values()))
        for name, case in measured.items()
    ]
    rows.append(("least share held", "", *(f"{share:.3f}" for share in worst.values())))
    show(answer, rows, [f"share of {samples:,} intervals that held the true number, and their mean width"], as_json)


if __name__ == "__main__":
    main()
