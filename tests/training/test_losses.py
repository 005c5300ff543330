"""Pairwise losses: against the double loop, finite differences and the counts of audits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from comparity.counts.all_pairs import cell_counts
from comparity.counts.ordered_pairs import ordered_pairs
from comparity.counts.query_pairs import query_pairs
from comparity.training.losses import PairFamily, attribute_pairs, group_pairs, labelled_pairs
from tests.plain import pairwise_losses as plain

NAMES = ("a", "b", "c")
# No two scores differ by the margin, where the hinge has no slope.
MARGIN = 0.7123

Table = list[tuple[float, int, int, int, int, float]]
items = st.tuples(
    st.integers(-12, 12).map(lambda tenth: tenth / 10),
    st.integers(0, 5),
    st.integers(0, 2),
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from([0.5, 1.0, 2.0]),
)
tables = st.lists(items, min_size=1, max_size=40)
KINDS = pytest.mark.parametrize("kind", ["labelled", "attribute", "groups"])
POWERS = pytest.mark.parametrize("squared", [False, True])


def built(table: Table, kind: str) -> tuple[np.ndarray, np.ndarray, PairFamily, plain.Kinds]:
    f, y, group, z, query, weight = map(np.array, zip(*table, strict=True))
    labels, values = y.astype(float), z.astype(float)
    known = {"query": query, "weights": weight}
    if kind == "labelled":
        family = labelled_pairs(labels, group, NAMES, **known)
        return f, weight, family, plain.by_groups(y, group, 3, query)
    if kind == "attribute":
        family = attribute_pairs(labels, values, **known)
        return f, weight, family, plain.by_attribute(y, z, query)
    family = group_pairs(group, NAMES, **known)
    cells = [i * 3 + j for i in range(3) for j in range(3) if i != j]
    plainly = plain.without_labels(group, 3, query)

    def cell_of(i: int, j: int) -> int | None:
        cell = plainly(i, j)
        return None if cell is None else cells.index(cell)

    return f, weight, family, cell_of


@KINDS
@POWERS
@given(table=tables, seed=st.integers(0, 99))
def test_sums_and_gradient_equal_the_double_loop(
    table: Table, seed: int, kind: str, squared: bool
) -> None:
    f, weight, family, cell_of = built(table, kind)
    wrong, right = np.random.default_rng(seed).uniform(0, 1, (2, len(family.cells)))
    found = family.sums(f, wrong=wrong, right=right, margin=MARGIN, squared=squared)
    trials = np.maximum(family.trials, 0.25)
    unit = trials * MARGIN ** (2 if squared else 1)
    expected = plain.pair_sums(
        f,
        cell_of,
        len(family.cells),
        weight=weight,
        wrong=wrong / unit,
        right=right / unit,
        margin=MARGIN,
        squared=squared,
    )
    known = family.trials > 0
    assert family.trials == pytest.approx(expected["trials"])
    assert found.accuracy[known] == pytest.approx((expected["hits"] / trials)[known])
    assert found.wrong[known] == pytest.approx((expected["wrong"] / unit)[known])
    assert found.right[known] == pytest.approx((expected["right"] / unit)[known])
    assert found.gradient == pytest.approx(expected["gradient"], abs=1e-9)
    assert np.isnan(found.accuracy[~known]).all()


def simulated(n: int, levels: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n)
    y = rng.integers(0, levels, n).astype(float)
    return y, y / levels + rng.normal(size=n), rng.integers(0, 3, n), rng.normal(size=n)


@POWERS
@pytest.mark.parametrize("levels", [2, 50])
@pytest.mark.parametrize("kind", ["labelled", "attribute"])
def test_gradients_equal_finite_differences(kind: str, levels: int, squared: bool) -> None:
    y, f, group, z = simulated(60, levels)
    family = labelled_pairs(y, group, NAMES) if kind == "labelled" else attribute_pairs(y, z)
    wrong, right = np.random.default_rng(0).uniform(0, 1, (2, len(family.cells)))

    def value(scores: np.ndarray) -> float:
        sums = family.sums(scores, wrong=wrong, right=right, squared=squared)
        # Equal values are a cell of their own, here without pairs.
        return float(np.nansum(wrong * sums.wrong + right * sums.right))

    found = family.sums(f, wrong=wrong, right=right, squared=squared).gradient
    assert found == pytest.approx(approx_fprime(f, value, 1e-7), abs=2e-6)


@pytest.mark.parametrize("levels", [2, 7, 3000])
def test_large_tables_equal_the_loop_over_items(levels: int) -> None:
    """Runs of equal labels are sorted in three ways, by their length: one has 4,500 items here."""
    y, f, group, _ = simulated(5000, levels)
    if levels == 2:
        y = (np.arange(5000) % 10 == 0).astype(float)
    family = labelled_pairs(y, group, NAMES)
    found = family.sums(f, wrong=np.ones(9))
    losses, gradient = np.zeros((3, 3)), np.zeros(5000)
    for i in range(5000):
        weight = (y < y[i]) / np.maximum(family.trials[3 * group[i] + group], 1)
        short = np.maximum(0, 1 - (f[i] - f))
        losses[group[i]] += np.bincount(group, weight * short, minlength=3)
        gradient += weight * (short > 0)
        gradient[i] -= (weight * (short > 0)).sum()
    assert found.wrong == pytest.approx(losses.ravel(), rel=1e-10)
    assert found.gradient == pytest.approx(gradient, abs=1e-12)


@given(tables)
def test_accuracies_are_those_of_audits(table: Table) -> None:
    f, y, group, z, query, weight = map(np.array, zip(*table, strict=True))
    labels, values = y.astype(float), z.astype(float)
    family = labelled_pairs(labels, group, NAMES)
    trials, hits, _ = cell_counts(labels, f, group, 3)
    assert np.array_equal(family.trials, trials.ravel())
    assert np.nan_to_num(family.sums(f).accuracy * family.trials) == pytest.approx(hits.ravel())
    family = labelled_pairs(labels, group, NAMES, query=query, weights=weight)
    counted = query_pairs(labels, f, group, NAMES, query, weights=weight).sharing
    assert np.nan_to_num(family.sums(f).accuracy * family.trials) == pytest.approx(counted.hits)
    family = attribute_pairs(labels, values, query=query)
    counted = ordered_pairs(labels, f, values, query=query).sharing
    assert family.trials == pytest.approx(counted.trials)
    assert np.nan_to_num(family.sums(f).accuracy * family.trials) == pytest.approx(counted.hits)


@KINDS
@given(table=tables, shift=st.floats(-1e6, 1e6))
def test_only_differences_of_scores_count(table: Table, kind: str, shift: float) -> None:
    f, _, family, _ = built(table, kind)
    ones = np.ones(len(family.cells))
    here = family.sums(f, wrong=ones, right=ones, margin=MARGIN)
    there = family.sums(f + shift, wrong=ones, right=ones, margin=MARGIN)
    assert there.wrong == pytest.approx(here.wrong, abs=1e-8, nan_ok=True)
    assert here.gradient.sum() == pytest.approx(0, abs=1e-9)


@KINDS
@POWERS
@given(table=tables)
def test_hinges_bound_accuracies_from_both_sides(table: Table, kind: str, squared: bool) -> None:
    f, _, family, _ = built(table, kind)
    ones = np.ones(len(family.cells))
    sums = family.sums(f, wrong=ones, right=ones, margin=MARGIN, squared=squared)
    known = family.trials > 0
    assert (sums.right[known] >= sums.accuracy[known] - 1e-12).all()
    assert (1 - sums.wrong[known] <= sums.accuracy[known] + 1e-12).all()


@pytest.mark.parametrize("n", [0, 1, 4])
def test_without_pairs_there_is_nothing_to_lose(n: int) -> None:
    same, nobody = np.ones(n), np.zeros(n, dtype=int)
    families = labelled_pairs(same, nobody, ("a",)), attribute_pairs(same, np.arange(float(n)))
    for family in families:
        sums = family.sums(np.zeros(n), wrong=np.ones(len(family.cells)))
        assert not family.trials.any()
        assert np.isnan(sums.accuracy).all()
        assert not sums.gradient.any()


@KINDS
@given(table=tables, seed=st.integers(0, 99))
def test_the_reach_of_a_row_is_the_weight_of_its_pairs(table: Table, seed: int, kind: str) -> None:
    """Witness: every two rows, one by one."""
    _, weight, family, cell_of = built(table, kind)
    cells = np.random.default_rng(seed).uniform(0, 1, len(family.cells))
    each = np.divide(cells, family.trials, out=np.zeros(len(cells)), where=family.trials > 0)
    expected, n = np.zeros(len(table)), range(len(table))
    for i, j in ((i, j) for i in n for j in n if i != j and cell_of(i, j) is not None):
        expected[[i, j]] += each[cell_of(i, j)] * weight[i] * weight[j]
    found = np.broadcast_to(family.reach(cells), len(table))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("margin", [0.3, 0.7, 1.0])
def test_a_pair_that_differs_by_the_margin_counts_for_both_of_its_items_or_for_none(margin) -> None:
    rng = np.random.default_rng(8)
    f, y = rng.integers(-12, 13, 150) / 10, rng.integers(0, 3, 150)
    group, query, ones = rng.integers(0, 3, 150), np.zeros(150, dtype=int), np.ones(9)
    family = labelled_pairs(y.astype(float), group, NAMES)
    pairs = {
        "weight": np.ones(150),
        "right": ones / family.trials,
        "wrong": 2 * ones / family.trials,
    }
    looped = plain.pair_sums(f, plain.by_groups(y, group, 3, query), 9, margin=margin, **pairs)
    found = family.sums(f, wrong=2 * margin * ones, right=margin * ones, margin=margin).gradient
    assert found == pytest.approx(looped["gradient"], abs=1e-12)
    assert found.sum() == pytest.approx(0, abs=1e-12)


@POWERS
def test_how_far_queries_are_apart_does_not_count(squared: bool) -> None:
    rng = np.random.default_rng(9)
    y, group, query = (rng.integers(0, 3, 200) for _ in range(3))
    # Exact however far they are moved, and so are all differences.
    near = rng.integers(-2000, 2000, 200) / 1024
    family = labelled_pairs(y.astype(float), group, NAMES, query=query)
    one, other = (
        family.sums(f, wrong=np.ones(9), right=np.ones(9), squared=squared)
        for f in (near, near + 2.0**23 * query)
    )
    for first, second in zip(one, other, strict=True):
        assert second == pytest.approx(first, rel=1e-9)
