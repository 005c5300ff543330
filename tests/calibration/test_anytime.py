"""Audits that are read after every twenty judgments, up to 10,000, and stopped on.

Promise: the probability that any look finds a gap where there is none, or finds a gap as large as
the margin to be within it, is at most alpha, whatever the design. Tolerance: 3 binomial standard
errors; a z-test repeated at each look errs several times as often.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from comparity.counts.judged_pairs import JudgedPairs
from tests.calibration.streams import (
    ALPHA,
    MARGIN,
    WORLDS,
    Looks,
    World,
    draw,
    harmless,
    violations,
)

QUICK = [("300 items", 25, 4000), ("10 leaning evaluators", 15, 4000)]
SLOW = [pytest.param(name, 1000, 10_000, marks=pytest.mark.slow) for name in WORLDS]


@pytest.mark.long
@pytest.mark.parametrize(("name", "repetitions", "n"), [*QUICK, *SLOW])
def test_no_gap_is_found_at_any_of_the_looks_where_there_is_none(
    name: str, repetitions: int, n: int
) -> None:
    stops = list(violations(WORLDS[name], n, repetitions, 20261117))
    found = np.mean([math.isfinite(one.anytime) for one in stops])
    assert found <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / repetitions)
    if repetitions >= 1000:
        assert np.mean([math.isfinite(one.repeated) for one in stops]) > 2 * ALPHA


@pytest.mark.long
@pytest.mark.parametrize(("name", "repetitions", "n"), [*QUICK[:1], *SLOW])
def test_a_gap_as_large_as_the_margin_is_never_found_within_it(
    name: str, repetitions: int, n: int
) -> None:
    world = replace(WORLDS[name], gap=MARGIN)
    found = np.mean([math.isfinite(one.anytime) for one in harmless(world, n, repetitions, 7)])
    assert found <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / repetitions)


@pytest.mark.long
def test_a_gap_of_three_margins_is_found_in_time() -> None:
    """A fixed test of 1,600 judgments has a power of 0.8; four times as many are plenty."""
    stops = [one.anytime for one in violations(replace(World(), gap=0.15), 6000, 20, 3)]
    assert np.mean(np.isfinite(stops)) >= 0.9


@pytest.mark.parametrize("name", ["300 items", "10 leaning evaluators", "three groups"])
def test_moments_that_are_updated_are_those_that_are_recounted(name: str) -> None:
    stream = draw(WORLDS[name], 200, np.random.default_rng(1))
    known = () if stream.evaluator is None else tuple(f"{k:02}" for k in range(10))
    counted = JudgedPairs(
        better=stream.items[:160, 0],
        worse=stream.items[:160, 1],
        evaluator=None if stream.evaluator is None else stream.evaluator[:160],
        cell=stream.cell[:160],
        order=np.where(stream.hit[:160] > 0, 1, -1).astype(np.int8),
        trials=np.ones(160, dtype=np.int64),
        cells=stream.cells,
        evaluators=known,
        n_items=int(stream.items.max()) + 1,
    )
    expected, found = counted.shared_counts().sharing_moments(), Looks(stream).sharing_moments(7)
    np.testing.assert_array_equal(found.dependent, expected.dependent)
    np.testing.assert_array_equal(found.own, expected.own)
    np.testing.assert_array_equal(found.effective_items, expected.effective_items)
    if expected.few is not None:
        assert found.few is not None
        np.testing.assert_array_equal(found.few.sums, expected.few.sums)
        np.testing.assert_array_equal(found.few.between, expected.few.between)
