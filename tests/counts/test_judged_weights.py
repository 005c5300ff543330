"""Weights of judgments: laws that are alike, the variance with weights, and designs that fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.judged_weights import (
    item_overlap,
    judgment_weights,
    reference_distributions,
    weighted_sharing,
)
from comparity.counts.ledger import count_position_pairs
from comparity.counts.pairs import TIE_VALUE, Cell
from tests.plain import dyadic

GROUPS = np.array(["a", "b"])


def judged(
    n_items: int, n_pairs: int, seed: int, *, levels: int = 5, evaluators: bool = False
) -> JudgedPairs:
    """Judge pairs at random; references have few levels, scores tie now and then."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(n_items, 2, replace=False) for _ in range(n_pairs)])
    return count_position_pairs(
        pairs,
        scores=rng.integers(0, 6, n_items),
        sensitive={"g": np.append(["a", "b"], rng.choice(GROUPS, n_items - 2))},
        reference=rng.integers(0, levels, n_items),
        evaluators=rng.integers(0, 4, n_pairs) if evaluators else None,
        design="shared",
    )["g"]


def assert_contrasts_equal_the_double_loop(
    counts: JudgedPairs, weights: np.ndarray, score_ties: str
) -> None:
    found = weighted_sharing(counts, weights, score_ties=score_ties)
    pairs, tie = counts, TIE_VALUE[score_ties]
    times = np.repeat(np.arange(len(pairs)), pairs.trials)
    w = weights[times]
    outcome = np.where(pairs.order[times] > 0, 1.0, np.where(pairs.order[times] == 0, tie, 0.0))
    items = list(zip(pairs.better[times].tolist(), pairs.worse[times].tolist(), strict=True))
    judges = None if pairs.evaluator is None else pairs.evaluator[times].tolist()
    # Any linear combination of trials and hits: random ones determine the matrix.
    mix = np.random.default_rng(0).normal(size=2 * len(pairs.cells))
    cell = pairs.cell[times]
    residuals = w * (mix[cell] + mix[len(pairs.cells) + cell] * outcome)
    expected = dyadic.variance(residuals, items, judges)
    assert mix @ found.dependent @ mix == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert mix @ found.own @ mix == pytest.approx((residuals**2).sum(), rel=1e-9, abs=1e-12)
    assert_allclose(found.trials, np.bincount(cell, w, len(pairs.cells)), atol=1e-12)
    assert_allclose(found.hits, np.bincount(cell, w * outcome, len(pairs.cells)), atol=1e-12)


@pytest.mark.parametrize("score_ties", ["disagree", "half"])
@pytest.mark.parametrize("evaluators", [False, True], ids=["items", "items and evaluators"])
@given(seed=st.integers(0, 2**20), n_pairs=st.integers(1, 30))
def test_weighted_judgments_equal_the_double_loop(
    seed: int, n_pairs: int, evaluators: bool, score_ties: str
) -> None:
    counts = judged(7, n_pairs, seed, evaluators=evaluators)
    rng = np.random.default_rng(seed)
    # Weights of nothing leave judgments out.
    weights = rng.choice([0.0, 0.3, 1.0, 2.5], len(counts))
    assert_contrasts_equal_the_double_loop(counts, weights, score_ties)


@pytest.mark.parametrize("score_ties", ["disagree", "half"])
@given(seed=st.integers(0, 2**20))
def test_weights_of_one_change_nothing(seed: int, score_ties: str) -> None:
    counts = judged(8, 25, seed, evaluators=True)
    plain = counts.shared_counts().sharing_moments(score_ties)
    weighted = weighted_sharing(counts, np.ones(len(counts)), score_ties=score_ties)
    assert plain.few is not None
    assert weighted.few is not None
    for whole, other in ((plain, weighted), (plain.few, weighted.few)):
        for name in set(type(whole).__slots__) - {"few"}:
            one, two = getattr(whole, name), getattr(other, name)
            assert np.array_equal(one, two) if isinstance(one, np.ndarray) else one == two, name


def weighted_law(counts: JudgedPairs, group: str, weights: np.ndarray) -> np.ndarray:
    """Add up the weights of items by level of the reference, once for each use."""
    pairs, law = counts, np.zeros(5)
    for row in range(len(pairs)):
        cell = pairs.cells[pairs.cell[row]]
        for item, name in zip((pairs.better[row], pairs.worse[row]), cell, strict=True):
            if name == group:
                law[int(pairs.reference[item])] += pairs.trials[row] * weights[item]
    return law / law.sum()


@given(seed=st.integers(0, 2**20))
def test_items_as_they_were_judged_have_one_law_in_both_groups(seed: int) -> None:
    counts = judged(40, 120, seed)
    overlap = item_overlap(counts)
    laws = [weighted_law(counts, group, overlap.weights) for group in GROUPS]
    assert laws[0] == pytest.approx(laws[1])
    assert overlap.imbalance == pytest.approx(0, abs=1e-12)


def test_items_that_were_never_judged_weigh_nothing() -> None:
    counts = count_position_pairs(
        [[0, 1], [2, 3]],
        scores=range(5),
        sensitive={"g": ["a", "b", "b", "a", "a"]},
        reference=[0, 0, 1, 1, 0],
        design="shared",
    )["g"]
    assert item_overlap(counts).weights.tolist() == [0.5, 0.5, 0.5, 0.5, 0.0]


def drawn(rng: np.random.Generator, *, lean: float = 0.0, near: bool = False) -> JudgedPairs:
    """Judge by the reference plus what a judge adds to group a; perhaps near pairs of group a."""
    n, m = 2000, 8000
    group, reference = rng.choice(GROUPS, n), rng.normal(size=n)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    if near:
        far = np.abs(reference[first] - reference[second]) > 0.5
        kept = ~((group[first] == "a") & (group[second] == "a") & far)
        first, second = first[kept], second[kept]
    with_finding = reference + lean * (group == "a")
    swap = with_finding[first] < with_finding[second]
    pairs = np.where(swap, [second, first], [first, second]).T
    return count_position_pairs(
        pairs, scores=reference, sensitive={"g": group}, reference=reference, design="shared"
    )["g"]


def reasons(counts: JudgedPairs) -> list[str]:
    pairs = counts
    weights = judgment_weights(pairs, item_overlap(pairs))
    sharing = weighted_sharing(counts, weights)
    contrasts = [(Cell("a", "b"), Cell("b", "a")), (Cell("a", "a"), Cell("b", "b"))]
    laws, items = reference_distributions(pairs, weights), float(sharing.effective_items.min())
    return [laws.between(cells, items).reason for cells in contrasts]


def test_pairs_drawn_at_random_and_judged_alike_are_trusted() -> None:
    assert reasons(drawn(np.random.default_rng(1))) == ["", ""]


def test_a_judge_who_leans_is_noticed_across_groups() -> None:
    across, within = reasons(drawn(np.random.default_rng(1), lean=0.7))
    assert "not judged, alike" in across
    assert not within


def test_a_design_that_pairs_likes_of_one_group_is_noticed_within() -> None:
    across, within = reasons(drawn(np.random.default_rng(1), near=True))
    assert not across
    assert "not drawn" in within


def test_the_distance_of_two_cells_is_scipys() -> None:
    from scipy.stats import ks_2samp

    counts = drawn(np.random.default_rng(4), lean=0.3)
    pairs, cells = counts, (Cell("a", "b"), Cell("b", "a"))
    found = reference_distributions(pairs, np.ones(len(pairs))).between(cells, 100.0)
    rows = [np.flatnonzero(pairs.cell == pairs.cells.index(cell)) for cell in cells]
    repeated = [np.repeat(row, pairs.trials[row]) for row in rows]
    distances = [
        ks_2samp(*(pairs.reference[items[row]] for row in repeated)).statistic
        for items in (pairs.better, pairs.worse)
    ]
    assert found.distance == pytest.approx(max(distances))
    assert found.limit == pytest.approx(0.05 + 2.5 / 10)


def test_a_cell_without_weight_has_no_law_and_gives_no_reason() -> None:
    counts = drawn(np.random.default_rng(4))
    pairs, cells = counts, (Cell("a", "b"), Cell("b", "a"))
    weights = (pairs.cell != pairs.cells.index(cells[0])).astype(float)
    for found in (
        reference_distributions(pairs, weights).between(cells, 100.0),
        reference_distributions(pairs, weights).between((Cell("a", "z"), cells[1]), 0.0),
    ):
        assert np.isnan(found.distance)
        assert found.reason == ""


def test_very_many_values_are_binned_without_moving_the_laws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = drawn(np.random.default_rng(4), lean=0.3)
    cells = (Cell("a", "b"), Cell("b", "a"))
    exact = reference_distributions(pairs, np.ones(len(pairs))).between(cells, 100.0)
    monkeypatch.setattr("comparity.counts.judged_weights.MOST_BINS", 400)
    binned = reference_distributions(pairs, np.ones(len(pairs)))
    assert binned.better.shape == (4, 400)
    # A bin holds 1 / 400 of the items and at most a few times as much of a law.
    assert binned.between(cells, 100.0).distance == pytest.approx(exact.distance, abs=0.01)
