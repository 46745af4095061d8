"""The interval of the estimate must hold the true number as often as it says, for rare answers too, and never deny what was seen."""

from __future__ import annotations

import math
import random
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasette_oaken.estimate import METHOD, Estimate, Stratum, estimate, limits

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

SAMPLES = 10_000


@st.composite
def strata(draw: st.DrawFn, most: int = 3000) -> list[Stratum]:
    found = []
    for number in range(draw(st.integers(1, 4))):
        size = draw(st.integers(0, most))
        sampled = draw(st.integers(0, min(size, 200)))
        found.append(Stratum(str(number), size, sampled, draw(st.integers(0, sampled))))
    return found


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
    # Exactly they are 47,808 and 52,192; where a distribution is cut into cells, its limits are rounded outwards.
    assert limits(100_000, 2_000, 1_000) == (47_807, 52_193)
    assert limits(100_000, 5_000, 0) == (0, 71)
    assert limits(100_000, 5_000, 5_000) == (99_929, 100_000)


def melded(strata: list[Stratum]) -> tuple[int, int]:
    """The limits by their definition: in fractions, every number of every stratum with every other's."""

    def least(parts: list[tuple[int, int, int]]) -> int:
        total = {0: Fraction(1)}
        for size, sampled, yes in parts:
            # The chance that the yes-th of those answered stands at this place, in a random order of them all.
            ways = {
                place: Fraction(
                    math.comb(place - 1, yes - 1) * math.comb(size - place, sampled - yes), math.comb(size, sampled)
                )
                for place in range(yes, size - (sampled - yes) + 1)
                if yes
            } or {0: Fraction(1)}
            joined: dict[int, Fraction] = {}
            for number, chance_ in total.items():
                for place, share in ways.items():
                    joined[number + place] = joined.get(number + place, Fraction(0)) + chance_ * share
            total = joined
        reached = Fraction(0)
        for number in sorted(total):
            reached += total[number]
            if reached > Fraction(1, 40):
                return number
        raise AssertionError

    yes = least([(s.size, s.sampled, s.yes) for s in strata])
    no = least([(s.size, s.sampled, s.sampled - s.yes) for s in strata])
    return yes, sum(s.size for s in strata) - no


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_strata_are_joined_exactly(data: st.DataObject) -> None:
    found = data.draw(strata(most=40))
    answer = estimate(found)
    assert answer is None or (answer.low, answer.high) == melded(found)


def test_large_strata_are_joined_to_within_a_hundredth_of_the_width_and_never_too_narrowly() -> None:
    # The definition again, in floats: fractions of such numbers are too long. Each is far past the cells of a distribution.
    found = [(9_000, 60, 41), (25_000, 100, 2), (3_000, 30, 9)]

    def least(parts: list[tuple[int, int, int]]) -> int:
        total = np.ones(1)
        for size, sampled, yes in parts:
            logs = np.full(size + 1, -np.inf)
            for place in range(yes, size - (sampled - yes) + 1):
                logs[place] = log_comb(place - 1, yes - 1) + log_comb(size - place, sampled - yes)
            total = np.convolve(total, np.exp(logs - log_comb(size, sampled)))
        return int(np.argmax(np.cumsum(total) > 0.025))

    low, high = least(found), sum(part[0] for part in found) - least([(size, n, n - yes) for size, n, yes in found])
    answer = estimate([Stratum("", *part) for part in found])
    assert answer is not None
    assert low - (high - low) / 100 <= answer.low <= low and high <= answer.high <= high + (high - low) / 100


def log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 12), st.integers(0, 60)), min_size=1, max_size=3))
def test_counted_over_every_sample_there_is_95_in_100_hold_the_true_number(parts: list[tuple[int, int, int]]) -> None:
    """No simulation: each outcome by its chance. Limits joined by their squares (MOVER) fail this where a yes is rare."""
    truth = [(size, min(sampled, size), min(true, size)) for size, sampled, true in parts]
    true, held = sum(part[2] for part in truth), 0.0
    for outcome in product(*(range(sampled + 1) for _, sampled, _ in truth)):
        share = math.prod(
            float(chance(size, total, n, yes)) for (size, n, total), yes in zip(truth, outcome, strict=True)
        )
        if share:
            found = estimate([Stratum("", size, n, yes) for (size, n, _), yes in zip(truth, outcome, strict=True)])
            assert found is not None
            held += share * (found.low <= true <= found.high)
    assert held >= 0.95


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
def test_one_more_yes_never_lowers_a_limit_of_a_stratum(size: int, data: st.DataObject) -> None:
    sampled = data.draw(st.integers(1, min(size, 150)))
    yes = data.draw(st.integers(0, sampled - 1))
    before, after = limits(size, sampled, yes), limits(size, sampled, yes + 1)
    assert before[0] <= after[0] and before[1] <= after[1]


@settings(max_examples=100, deadline=None)
@given(strata(most=150), st.data())
def test_one_more_yes_never_lowers_a_limit_of_the_whole(found: list[Stratum], data: st.DataObject) -> None:
    open_ = [place for place, stratum in enumerate(found) if stratum.yes < stratum.sampled]
    if open_:
        at = data.draw(st.sampled_from(open_))
        more = [replace(stratum, yes=stratum.yes + (place == at)) for place, stratum in enumerate(found)]
        before, after = estimate(found), estimate(more)
        assert before is not None and after is not None
        assert before.low <= after.low and before.high <= after.high


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
    for name, strata in bench.cases().items():
        shares[name], width = bench.held(strata, bench.shipped, SAMPLES)
        lines.append(f"{name}: {shares[name]:.3f} held, mean width {width:,.1f}")
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert {case: share for case, share in shares.items() if share < 0.94} == {}
