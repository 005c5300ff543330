"""Calibration: standardised accuracies of items that were drawn from more than fit into memory.

Scores are the label plus noise that is the same for every group, so separation holds exactly, and
labels have other spreads in every group. Where the scores of one group are shifted, the gaps of the
population are integrals over the distribution of labels that all groups are standardised to. A rate
p measured in r repetitions has the standard error sqrt(p (1 - p) / r).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from comparity.counts.all_pairs import all_pairs
from comparity.counts.drawn_items import draw_places, share_out
from comparity.counts.pairs import Cell
from comparity.inference.dyadic import compare_cells
from comparity.pairwise.judge import audit_items
from comparity.pairwise.options import PairwiseOptions
from comparity.results.audit import Audit
from comparity.tables.features import LabelledItems

ALPHA = 0.05
N, DRAWN = 6000, 1000
SPREADS = np.array([1.0, 0.5, 0.75])
SHARES: dict[str, list[float]] = {
    "equal": [0.5, 0.5],
    "one in ten": [0.9, 0.1],
    "three": [0.6, 0.3, 0.1],
}
SHIFT = 0.25

Floats = NDArray[np.float64]


def world(
    shares: str, rng: np.random.Generator, *, shift: float = 0.0, digits: int = 12
) -> LabelledItems:
    """Return all items; few digits make for few labels."""
    group = rng.choice(len(SHARES[shares]), N, p=SHARES[shares])
    label = (rng.normal(size=N) * SPREADS[group]).round(digits)
    score = label + rng.normal(size=N) + shift * (group == 0)
    groups = ("a", "b", "c")[: len(SHARES[shares])]
    return LabelledItems(label=label, score=score, group=group, groups=groups)


def draw(items: LabelledItems, rng: np.random.Generator) -> LabelledItems:
    """Draw items as engines do, which `tests/counts/test_drawn_items.py` shows."""
    sizes = np.bincount(items.group)
    drawn = share_out(sizes, DRAWN)
    rows = [
        np.flatnonzero(items.group == code)[draw_places(int(size), int(few), rng)]
        for code, (size, few) in enumerate(zip(sizes, drawn, strict=True))
    ]
    kept = np.zeros(N, dtype=bool)
    kept[np.concatenate(rows)] = True
    found = items.keep(kept)
    return replace(found, weight=(sizes / drawn)[found.group])


def audit(items: LabelledItems) -> Audit:
    return audit_items(items, PairwiseOptions()).standardised


def error(rate: float, n: int) -> float:
    return float(np.sqrt(rate * (1 - rate) / n))


@pytest.mark.parametrize(
    ("shares", "digits"), [("equal", 12), ("three", 12), ("one in ten", 1), ("one in ten", 12)]
)
def test_separation_is_rejected_no_more_often_than_alpha(
    shares: str, digits: int, repetitions: int, rng: np.random.Generator
) -> None:
    found = [audit(draw(world(shares, rng, digits=digits), rng)) for _ in range(repetitions)]
    alarms = np.mean([one.finding == "violated" for one in found])
    rejected = np.mean([[test.p_value <= ALPHA for test in one.tests] for one in found], axis=0)
    assert alarms <= ALPHA + 3 * error(ALPHA, repetitions)
    assert rejected.mean() <= ALPHA + 3 * error(ALPHA, repetitions)
    assert rejected.max() <= ALPHA + 4 * error(ALPHA, repetitions)


@pytest.mark.parametrize("shares", SHARES)
def test_raw_accuracies_of_all_items_differ_though_separation_holds(
    shares: str, rng: np.random.Generator
) -> None:
    items = world(shares, rng)
    sharing = all_pairs(items.label, items.score, items.group, items.groups).sharing
    assert compare_cells(sharing, Cell("a", "a"), Cell("b", "b"), null="").p_value <= 0.001


def population_gaps(shares: str) -> Floats:
    """Integrate accuracies over pairs of labels that both have the common distribution."""
    grid = np.linspace(-6, 6, 1201)
    density = norm.pdf(grid[:, None], scale=SPREADS[:2]) * SHARES[shares]
    common = 1 / (1 / density).sum(axis=1)
    both = np.triu(np.outer(common, common), 1)
    apart = grid[None, :] - grid[:, None]
    of_shift = {
        shift: float((both * norm.cdf((apart + shift) / np.sqrt(2))).sum() / both.sum())
        for shift in (-SHIFT, 0.0, SHIFT)
    }
    return np.array([of_shift[SHIFT] - of_shift[-SHIFT], 0.0])


@pytest.mark.parametrize("shares", ["equal", "one in ten"])
def test_intervals_cover_the_gaps_of_the_population(
    shares: str, repetitions: int, rng: np.random.Generator
) -> None:
    true, covered = population_gaps(shares), []
    for _ in range(repetitions):
        tests = audit(draw(world(shares, rng, shift=SHIFT), rng)).tests
        intervals = [test.interval(0.95) for test in tests]
        covered.append(
            [one.low <= gap <= one.high for one, gap in zip(intervals, true, strict=True)]
        )
    rates = np.mean(covered, axis=0)
    widened = 0.0 if repetitions >= 4000 else 3 * error(0.95, repetitions)
    assert np.all((rates >= 0.93 - widened) & (rates <= 0.97 + widened))
