"""The interval of the estimate must hold the true number as often as it says, for rare answers too, and never deny what was seen."""

from __future__ import annotations

import math
import random
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasette_oaken.estimate import METHOD, Estimate, Stratum, estimate, limits

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

SAMPLES = 10_000


def chance(size: int, total: int, sampled: int, yes: int) -> Fraction:
    """Hypergeometric, by counting."""
    ways = math.comb(total, yes) * math.comb(size - total, sampled - yes) if 0 <= sampled - yes <= size - total else 0
    return Fraction(ways, math.comb(size, sampled))


@pytest.mark.parametrize(("size", "sampled"), [(1, 1), (5, 2), (9, 3), (14, 14), (30, 7), (41, 20)])
def test_the_limits_are_the_exact_ones_by_counting(size: int, sampled: int) -> None:
    for yes in range(sampled + 1):
        likely = [
            total
            for total in range(yes, size - (sampled - yes) + 1)
            if sum(chance(size, total, sampled, k) for k in range(yes, sampled + 1)) > Fraction(1, 40)
            and sum(chance(size, total, sampled, k) for k in range(yes + 1)) > Fraction(1, 40)
        ]
        assert limits(size, sampled, yes, 0.95) == (likely[0], likely[-1])


def test_a_large_stratum_does_not_run_out_of_numbers() -> None:
    # Under 1,000 of 2,000 the chance of any one outcome is below the smallest float for most totals.
    assert limits(100_000, 2_000, 1_000) == (47_808, 52_192)
    assert limits(100_000, 5_000, 0) == (0, 71)
    assert limits(100_000, 5_000, 5_000) == (99_929, 100_000)


def test_whole_answers() -> None:
    assert estimate([Stratum("yes", 0, 0, 0), Stratum("no", 10, 0, 0)]) is None
    assert estimate([]) is None
    exact = estimate([Stratum("yes", 4, 4, 3), Stratum("no", 2, 2, 1)])
    assert exact == Estimate(4, 4, 4.0, 0.95, METHOD)
    half_known = estimate([Stratum("yes", 4, 4, 3), Stratum("no", 100, 0, 0)])
    assert half_known == Estimate(3, 103, None, 0.95, METHOD)
    assert estimate([Stratum("no", 5000, 100, 0)]) == Estimate(0, limits(5000, 100, 0)[1], 0.0, 0.95, METHOD)


@pytest.mark.parametrize("bad", [Stratum("x", 1, 2, 0), Stratum("x", 3, 2, 3), Stratum("x", 3, 2, -1)])
def test_what_cannot_be_is_refused(bad: Stratum) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        estimate([bad])
    with pytest.raises(ValueError, match="confidence"):
        estimate([Stratum("x", 3, 2, 1)], 1.0)


@st.composite
def strata(draw: st.DrawFn) -> list[Stratum]:
    found = []
    for number in range(draw(st.integers(1, 4))):
        size = draw(st.integers(0, 3000))
        sampled = draw(st.integers(0, min(size, 200)))
        found.append(Stratum(str(number), size, sampled, draw(st.integers(0, sampled))))
    return found


@settings(max_examples=200, deadline=None)
@given(strata(), st.randoms())
def test_the_interval_never_denies_what_was_seen_and_does_not_depend_on_the_order(
    found: list[Stratum], chance: random.Random
) -> None:
    answer = estimate(found)
    if not any(stratum.sampled for stratum in found):
        assert answer is None
        return
    assert answer is not None
    yes, no = sum(s.yes for s in found), sum(s.sampled - s.yes for s in found)
    assert yes <= answer.low <= answer.high <= sum(s.size for s in found) - no
    if answer.point is not None:
        assert answer.low <= answer.point + 1 and answer.point - 1 <= answer.high
    shuffled = sorted(found, key=lambda _: chance.random())
    again = estimate(shuffled)
    assert again is not None and (again.low, again.high) == (answer.low, answer.high)
    wider = estimate(found, 0.99)
    assert wider is not None and wider.low <= answer.low and wider.high >= answer.high


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5000), st.data())
def test_one_more_yes_never_lowers_a_limit(size: int, data: st.DataObject) -> None:
    sampled = data.draw(st.integers(1, min(size, 150)))
    yes = data.draw(st.integers(0, sampled - 1))
    before, after = limits(size, sampled, yes), limits(size, sampled, yes + 1)
    assert before[0] <= after[0] and before[1] <= after[1]


def test_of_ten_thousand_samples_of_every_case_94_in_100_hold_the_true_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location(
        "bench_estimate", Path(__file__).parents[1] / "benchmarks" / "estimate.py"
    )
    assert spec is not None and spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    shares, lines = {}, []
    for name in bench.CASES:
        for unclear in (False, True):
            share, width = bench.held(bench.strata_of(name, unclear), bench.shipped, SAMPLES)
            shares[name, unclear] = share
            lines.append(f"{name}{', unclear' if unclear else ''}: {share:.3f} held, mean width {width:,.1f}")
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert {case: share for case, share in shares.items() if share < 0.94} == {}
