"""Goals as coefficients of cells: their terms are the numbers of an audit."""

from __future__ import annotations

import numpy as np
import pytest

from comparity import pairwise_accuracy
from comparity.errors import EmptyCellError, OptionError
from comparity.pairwise.measures import (
    cross_group_gap,
    marginal_gap,
    pairwise_equal_opportunity_gap,
    pairwise_parity_gap,
    symmetric_accuracy_gap,
    within_group_gap,
)
from comparity.training.goals import differences, goals_of, largest_difference, overall, terms_of
from comparity.training.losses import attribute_pairs, group_pairs, labelled_pairs

NAMES = ("a", "b", "c")


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(2)
    group, y = rng.choice(3, 400, p=[0.5, 0.3, 0.2]), rng.integers(0, 4, 400).astype(float)
    scores = y + 2 * rng.normal(size=400) + 0.7 * group
    audit = pairwise_accuracy(y, scores, sensitive_features=np.array(NAMES)[group])
    pairs, parity = labelled_pairs(y, group, NAMES), group_pairs(group, NAMES)
    accuracy = [family.sums(scores).accuracy for family in (pairs, parity)]
    return pairs, parity, np.concatenate(accuracy), audit


@pytest.mark.parametrize(
    ("goal", "gap"),
    [
        ("cross-group", lambda audit: cross_group_gap(audit.matrix)),
        ("within-group", lambda audit: within_group_gap(audit.matrix)),
        ("all cells", lambda audit: pairwise_equal_opportunity_gap(audit.matrix)),
        ("marginal", lambda audit: marginal_gap(audit.row_marginals)),
        (
            "symmetric",
            lambda audit: symmetric_accuracy_gap(audit.row_marginals, audit.column_marginals),
        ),
    ],
)
def test_the_largest_difference_of_a_goal_is_the_gap_of_an_audit(world, goal, gap) -> None:
    pairs, parity, accuracy, audit = world
    terms = terms_of(goal, pairs, parity, NAMES, rows="training")
    assert largest_difference([terms], accuracy) == pytest.approx(gap(audit))
    rises, names = differences([terms])
    # Nine cells are compared with their mean, which asks for no less than the gap itself.
    many = len(terms.names)
    assert len(names) == len(set(names)) == (many * (many - 1) if many <= 6 else 2 * many)
    assert (rises @ accuracy).max() >= gap(audit) - 1e-12
    if many <= 6:
        assert (rises @ accuracy).max() == pytest.approx(gap(audit))


@pytest.mark.parametrize("goal", ["cross-group", "within-group", "marginal", "all cells"])
def test_groups_that_are_called_larger_and_smaller_are_groups(goal) -> None:
    rng = np.random.default_rng(5)
    y, group = rng.integers(0, 3, 60).astype(float), rng.integers(0, 3, 60)
    named, plain = (
        terms_of(goal, labelled_pairs(y, group, names), None, names, rows="training")
        for names in (("larger", "middle", "smaller"), NAMES)
    )
    np.testing.assert_array_equal(named.coefficients, plain.coefficients)


def test_statistical_parity_compares_who_is_above_whom(world) -> None:
    pairs, parity, accuracy, _ = world
    terms = terms_of("statistical parity", pairs, parity, NAMES, rows="training")
    wins = np.full((3, 3), 0.5)
    wins[~np.eye(3, dtype=bool)] = accuracy[len(pairs.cells) :]
    assert (terms.coefficients @ accuracy).tolist() == wins[~np.eye(3, dtype=bool)].tolist()
    assert wins + wins.T == pytest.approx(1)
    largest = (differences([terms])[0] @ accuracy).max()
    assert largest == pytest.approx(pairwise_parity_gap(wins))


def test_differences_of_overlapping_goals_have_names_of_their_own(world) -> None:
    pairs, parity, _, _ = world
    groups = NAMES[:2]
    terms = [
        terms_of(goal, pairs, parity, groups, rows="training")
        for goal in ("cross-group", "all cells")
    ]
    rises, names = differences(terms)
    assert len(set(names)) == len(names) == len(rises) == 2 + 12
    assert {"a > b minus b > a", "a > b minus b > a (all cells)"} <= set(names)


def test_overall_is_the_accuracy_over_all_pairs(world) -> None:
    pairs, _, accuracy, audit = world
    assert overall(pairs, len(accuracy)) @ accuracy == pytest.approx(audit.overall)


def test_a_number_is_compared_by_which_item_has_more_of_it() -> None:
    y, z = np.array([0.0, 1.0, 2.0]), np.array([3.0, 1.0, 2.0])
    pairs = attribute_pairs(y, z)
    terms = terms_of("cross-group", pairs, None, ("larger", "smaller"), rows="training")
    assert terms.names == ("larger > smaller", "smaller > larger")
    assert terms.coefficients.tolist() == [[1, 0, 0], [0, 1, 0]]


def test_a_term_without_pairs_is_named() -> None:
    y, group = np.array([0.0, 1.0, 1.0]), np.array([0, 0, 1])
    pairs = labelled_pairs(y, group, ("f", "m"))
    with pytest.raises(EmptyCellError, match=r"(?s)held out rows.*'f > m'"):
        terms_of("cross-group", pairs, None, ("f", "m"), rows="held out")


@pytest.mark.parametrize("goal", ["equal", ("marginal", "marginal")])
def test_unknown_and_repeated_goals_are_refused(goal) -> None:
    with pytest.raises(OptionError):
        goals_of(goal, continuous=False)


def test_numbers_have_one_goal() -> None:
    assert goals_of("cross-group", continuous=True) == ("cross-group",)
    with pytest.raises(OptionError, match="a number"):
        goals_of("within-group", continuous=True)
