"""Calibration: agreement standardised to a common label law, of all pairs and of judged ones.

Scores are the label plus noise that is the same for every group, so separation holds exactly; the
groups' labels have different spreads, so raw agreement within groups differs. A rate p measured in
r repetitions has the standard error sqrt(p (1 - p) / r).
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm

from comparity.counts.all_pairs import all_pairs
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.judged_weights import (
    item_overlap,
    judgment_weights,
    reference_distributions,
    weighted_sharing,
)
from comparity.counts.ledger import count_position_pairs
from comparity.counts.overlap import Overlap, overlap_weights
from comparity.counts.pairs import Cell, Sharing
from comparity.inference.agreement_tests import contrasts_of_groups
from comparity.inference.dyadic import compare_cells
from tests.calibration import worlds

ALPHA = 0.05
SPREADS = np.array([1.0, 0.5, 0.75])
NAMES = ("a", "b", "c")

World = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]


def world(n: int, n_groups: int, kind: str, rng: np.random.Generator, shift: float = 0.0) -> World:
    """Return label, score and group; seven levels of labels where these are ordinal."""
    group = rng.integers(0, n_groups, n)
    label = rng.normal(size=n) * SPREADS[group]
    if kind == "ordinal":
        label = np.clip(np.round(1.5 * label), -3, 3) / 1.5
    return label, label + rng.normal(size=n) + shift * (group == 0), group


def standardised(items: World, n_groups: int) -> tuple[Sharing, Overlap]:
    label, score, group = items
    names = NAMES[:n_groups]
    overlap = overlap_weights(label, group, names)
    kept = overlap.weights > 0
    pairs = all_pairs(label[kept], score[kept], group[kept], names, weights=overlap.weights[kept])
    return pairs.sharing, overlap


def raw(items: World, n_groups: int) -> Sharing:
    return all_pairs(*items, NAMES[:n_groups]).sharing


def p_values(sharing: Sharing, n_groups: int) -> list[float]:
    """Return across and within of every two groups."""
    return [
        compare_cells(sharing, contrast.first, contrast.second, null="").p_value
        for contrast in contrasts_of_groups(NAMES[:n_groups])
    ]


def error(rate: float, n: int) -> float:
    return float(np.sqrt(rate * (1 - rate) / n))


@pytest.mark.parametrize("kind", ["ordinal", "continuous"])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("n", [400, 2000])
def test_false_alarms_of_each_hypothesis_are_between_half_of_alpha_and_alpha(
    n: int, n_groups: int, kind: str, repetitions: int, rng: np.random.Generator
) -> None:
    rejected = []
    for _ in range(repetitions if repetitions >= 4000 else repetitions // 4):
        sharing, _ = standardised(world(n, n_groups, kind, rng), n_groups)
        rejected.append(np.array(p_values(sharing, n_groups)) <= ALPHA)
    rates, r = np.mean(rejected, axis=0), len(rejected)
    widened = 0.0 if r >= 4000 else 3 * error(ALPHA / 2, r)
    # The hypotheses of one world are as many looks at chance; the mean is held to the plain limit.
    assert ALPHA / 2 - widened <= rates.mean() <= ALPHA + 3 * error(ALPHA, r)
    assert rates.max() <= ALPHA + 4 * error(ALPHA, r)


def test_raw_agreement_within_groups_differs_though_separation_holds(
    repetitions: int, rng: np.random.Generator
) -> None:
    rejected = [
        p_values(raw(world(400, 2, "continuous", rng), 2), 2)[1] <= ALPHA
        for _ in range(repetitions)
    ]
    assert np.mean(rejected) >= 0.9


def test_a_shift_of_a_quarter_is_found_across_groups(
    repetitions: int, rng: np.random.Generator
) -> None:
    found = []
    for _ in range(repetitions):
        sharing, _ = standardised(world(400, 2, "continuous", rng, shift=0.25), 2)
        found.append(p_values(sharing, 2)[0] <= ALPHA)
    assert np.mean(found) >= 0.5


def test_weights_are_trusted_where_the_spline_can_follow(
    repetitions: int, rng: np.random.Generator
) -> None:
    trusted = [
        overlap_weights(*world(n, n_groups, "continuous", rng)[::2], NAMES[:n_groups]).trusted
        for _ in range(repetitions // 8)
        for n in (400, 2000)
        for n_groups in (2, 3)
    ]
    assert np.mean(trusted) >= 0.99


def overlap_density(y: float) -> float:
    densities = [norm.pdf(y, scale=spread) for spread in SPREADS[:2]]
    return 1 / sum(1 / density for density in densities)


def agreement_at_the_overlap() -> float:
    """Integrate P(C > C' | Y > Y') over pairs of labels that both have the overlap density."""
    grid = np.linspace(-6, 6, 1201)
    density = np.array([overlap_density(y) for y in grid])
    density /= quad(overlap_density, -6, 6)[0] / 0.01
    both = np.triu(np.outer(density, density), 1)
    agree = norm.cdf((grid[None, :] - grid[:, None]) / np.sqrt(2))
    return float((both * agree).sum() / both.sum())


def test_agreement_has_its_closed_form_raw_and_standardised(rng: np.random.Generator) -> None:
    """Raw: 1/2 + arctan(r) / pi for labels of spreads s, t, r^2 = (s^2 + t^2) / 2 [bivariate
    normal orthant]; standardised: the same number in all four cells."""
    items = world(40_000, 2, "continuous", rng)
    sharing = raw(items, 2)
    rates = dict(zip(sharing.cells, sharing.hits / sharing.trials, strict=True))
    for cell, (s, t) in {
        Cell("a", "a"): (1.0, 1.0),
        Cell("a", "b"): (1.0, 0.5),
        Cell("b", "a"): (1.0, 0.5),
        Cell("b", "b"): (0.5, 0.5),
    }.items():
        expected = 0.5 + np.arctan(np.sqrt((s**2 + t**2) / 2)) / np.pi
        assert rates[cell] == pytest.approx(expected, abs=0.01)
    sharing, _ = standardised(items, 2)
    expected = agreement_at_the_overlap()
    np.testing.assert_allclose(sharing.hits / sharing.trials, expected, atol=0.01)


def judged(items: World, n_pairs: int, rng: np.random.Generator) -> JudgedPairs:
    """Draw pairs at random; judges order them by the label, and ties are left out."""
    label, score, group = items
    first, second = worlds.random_pairs(len(label), n_pairs, rng)
    apart = label[first] != label[second]
    first, second = first[apart], second[apart]
    pairs = np.where(label[first] > label[second], [first, second], [second, first]).T
    names = np.array(NAMES)[group]
    known = {"scores": score, "sensitive": {"g": names}, "reference": label}
    return count_position_pairs(pairs, design="shared", **known)["g"]


def judged_p_values(counts: JudgedPairs, n_groups: int, *, weighted: bool) -> list[float]:
    if not weighted:
        return p_values(counts.shared_counts().sharing_moments("disagree"), n_groups)
    weights = judgment_weights(counts, item_overlap(counts))
    return p_values(weighted_sharing(counts, weights), n_groups)


JUDGED = [(400, 1600, 2), (400, 400, 2), (2000, 10_000, 2), (400, 3200, 3)]


@pytest.mark.parametrize("kind", ["ordinal", "continuous"])
@pytest.mark.parametrize(("n", "n_pairs", "n_groups"), JUDGED)
def test_standardised_agreement_with_judges_keeps_the_level(
    n: int, n_pairs: int, n_groups: int, kind: str, repetitions: int, rng: np.random.Generator
) -> None:
    rejected = []
    for _ in range(repetitions if repetitions >= 4000 else repetitions // 4):
        counts = judged(world(n, n_groups, kind, rng), n_pairs, rng)
        rejected.append(np.array(judged_p_values(counts, n_groups, weighted=True)) <= ALPHA)
    rates, r = np.mean(rejected, axis=0), len(rejected)
    widened = 0.0 if r >= 4000 else 3 * error(ALPHA / 2, r)
    assert ALPHA / 2 - widened <= rates.mean() <= ALPHA + 3 * error(ALPHA, r)
    assert rates.max() <= ALPHA + 4 * error(ALPHA, r)


def test_raw_agreement_with_judges_within_groups_differs_though_separation_holds(
    repetitions: int, rng: np.random.Generator
) -> None:
    rejected = [
        judged_p_values(judged(world(1000, 2, "continuous", rng), 8000, rng), 2, weighted=False)[1]
        <= ALPHA
        for _ in range(repetitions // 4)
    ]
    assert np.mean(rejected) >= 0.9


def test_a_shift_of_a_quarter_is_found_across_groups_by_judges(
    repetitions: int, rng: np.random.Generator
) -> None:
    found = []
    for _ in range(repetitions // 4):
        items = world(1000, 2, "continuous", rng, shift=0.25)
        found.append(judged_p_values(judged(items, 8000, rng), 2, weighted=True)[0] <= ALPHA)
    assert np.mean(found) >= 0.8


@pytest.mark.parametrize(("n", "n_pairs", "n_groups"), JUDGED)
def test_pairs_drawn_at_random_are_trusted(
    n: int, n_pairs: int, n_groups: int, repetitions: int, rng: np.random.Generator
) -> None:
    trusted = []
    for _ in range(repetitions // 8):
        counts = judged(world(n, n_groups, "continuous", rng), n_pairs, rng)
        overlap = item_overlap(counts)
        weights = judgment_weights(counts, overlap)
        sharing = weighted_sharing(counts, weights)
        laws, reasons = reference_distributions(counts, weights), [overlap.reason]
        for contrast in contrasts_of_groups(NAMES[:n_groups]):
            items = min(sharing.effective_items[sharing.cells.index(cell)] for cell in contrast)
            reasons.append(laws.between(contrast, float(items)).reason)
        trusted.append(not any(reasons))
    assert np.mean(trusted) >= 0.97
