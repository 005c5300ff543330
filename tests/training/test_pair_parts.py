"""Pairs weighed by their labels, means over queries, and pairs by a number: against the audits.

The audits count by other code; gradients are compared with finite differences.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import somersd

from comparity import FairRanker, FairRegressor, pairwise_accuracy, pairwise_parity
from comparity.errors import InfeasibleGoalWarning, OptionError
from comparity.training.goals import overall
from comparity.training.losses import PairFamily, attribute_pairs, labelled_pairs, value_pairs

WAYS = pytest.mark.parametrize(
    "how",
    [
        {"average": "queries"},
        {"pair_weight": "difference"},
        {"average": "queries", "pair_weight": "difference"},
    ],
    ids=["queries", "difference", "both"],
)
EVERYWHERE: dict[str, Any] = {"validation_fraction": 0, "random_state": 0, "progress": False}


def simulated(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    """One query has most rows, which are merged; the others have few, which are compared."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, n).astype(float) ** 2
    return {
        "y": y,
        "f": (0.05 * y + rng.normal(size=n)).round(1),
        "group": rng.integers(0, 3, n),
        "query": np.where(rng.uniform(size=n) < 0.6, 0, rng.integers(1, 6, n)),
        "weight": rng.uniform(0.5, 2.0, n),
        "z": rng.integers(20, 60, n).astype(float),
    }


def family_of(data: dict[str, np.ndarray], **how: Any) -> PairFamily:
    columns = {"query": data["query"], "weights": data["weight"]}
    return labelled_pairs(data["y"], data["group"], ("0", "1", "2"), **columns, **how)


@WAYS
def test_accuracies_are_those_of_the_audit(how: dict[str, Any]) -> None:
    data = simulated(400)
    audit = pairwise_accuracy(
        data["y"],
        data["f"],
        sensitive_features=data["group"],
        queries=data["query"],
        sample_weight=data["weight"],
        notions=("cross-group", "marginal"),
        **how,
    )
    family = family_of(data, **how)
    found = family.sums(data["f"]).accuracy
    assert found[:9] == pytest.approx(audit.matrix.ravel(), abs=1e-10)
    assert overall(family, len(found)) @ found == pytest.approx(audit.overall, abs=1e-10)
    if "average" in how:
        assert found[9:12] == pytest.approx(audit.row_marginals, abs=1e-10)


def test_accuracies_by_a_number_are_those_of_the_audit() -> None:
    data = simulated(400)
    audit = pairwise_accuracy(
        data["y"],
        data["f"],
        sensitive_features=data["z"],
        continuous=True,
        pair_weight="difference",
    )
    found = attribute_pairs(data["y"], data["z"], pair_weight="difference").sums(data["f"])
    assert found.accuracy[:2] == pytest.approx([audit.matrix[0, 1], audit.matrix[1, 0]], abs=1e-10)


@pytest.mark.parametrize("kind", ["queries", "difference", "both", "number"])
@pytest.mark.parametrize("squared", [False, True, None], ids=["hinge", "squared", "smoothed"])
def test_gradients_are_finite_differences(kind: str, squared: bool | None) -> None:
    data = simulated(260)
    how = {"pair_weight": "equal" if kind == "queries" else "difference"}
    if kind == "number":
        family = attribute_pairs(data["y"], data["z"], query=data["query"], **how)
    else:
        family = family_of(data, average="pairs" if kind == "difference" else "queries", **how)
    wrong, right = np.random.default_rng(1).normal(size=(2, len(family.cells)))
    # No two scores differ by the margin, where a hinge has no slope.
    scores, margin = data["f"], 0.7123
    some = np.arange(0, 260, 13)

    def value(moved: np.ndarray) -> float:
        at = scores.copy()
        at[some] = moved
        if squared is None:
            return float(wrong @ family.smoothed_accuracy(at, width=margin)[0])
        sums = family.sums(at, margin=margin, squared=squared, both=True)
        return float(wrong @ sums.wrong + right @ sums.right)

    if squared is None:
        slope = family.smoothed_accuracy(scores, width=margin, weights=wrong)[1]
    else:
        slope = family.sums(
            scores, wrong=wrong, right=right, margin=margin, squared=squared
        ).gradient
    assert slope[some] == pytest.approx(approx_fprime(scores[some], value, 1e-7), abs=2e-6)


def test_labels_that_differ_by_one_and_a_single_query_change_nothing() -> None:
    data = simulated(200)
    data["y"], data["query"] = (data["y"] > 4).astype(float), np.zeros(200, dtype=int)
    plain, ones = family_of(data), np.ones(13)
    for how in ({"pair_weight": "difference"}, {"average": "queries"}):
        family = family_of(data, **how)
        weights = {"wrong": ones[:9], "right": 2 * ones[:9]}
        if "average" in how:
            # Marginals and the whole weigh nothing.
            weights = {name: np.append(one, np.zeros(4)) for name, one in weights.items()}
        here = family.sums(data["f"], **weights)
        there = plain.sums(data["f"], wrong=ones[:9], right=2 * ones[:9])
        assert here.accuracy[:9] == pytest.approx(there.accuracy)
        assert here.gradient == pytest.approx(there.gradient, abs=1e-12)


@WAYS
def test_the_reach_of_a_row_is_the_weight_of_its_pairs(how: dict[str, Any]) -> None:
    """Witness: every two rows of a query, one by one."""
    data, by_query = simulated(90), "average" in how
    family, n = family_of(data, **how), range(90)
    cells = np.append(np.random.default_rng(1).uniform(size=9), np.zeros(len(family.cells) - 9))
    y, query, group, w = (data[name] for name in ("y", "query", "group", "weight"))
    pairs = [(i, j) for i in n for j in n if query[i] == query[j] and y[i] > y[j]]
    by_label = "pair_weight" in how
    worth = {(i, j): w[i] * w[j] * (y[i] - y[j] if by_label else 1) for i, j in pairs}
    unit = {(i, j): (query[i] * by_query, 3 * group[i] + group[j]) for i, j in pairs}
    total: dict[Any, float] = {}
    for pair, one in worth.items():
        total[unit[pair]] = total.get(unit[pair], 0) + one
    many = {cell: sum(c == cell for _, c in total) for cell in range(9)}
    expected = np.zeros(90)
    for (i, j), one in worth.items():
        cell = unit[i, j][1]
        expected[[i, j]] += cells[cell] * one / total[unit[i, j]] / many[cell]
    assert family.reach(cells) == pytest.approx(expected)


def test_pairs_of_two_numbers_have_the_d_of_somers() -> None:
    data = simulated(150)
    found = value_pairs(data["z"]).sums(data["f"]).accuracy
    assert found[0] - found[1] == pytest.approx(somersd(data["z"], data["f"]).statistic)


def leaning(n: int) -> dict[str, np.ndarray]:
    """Large queries lean to group 1 and small ones to group 0; labels have four values."""
    rng = np.random.default_rng(3)
    query = np.where(np.arange(n) < n // 2, np.arange(n) % 4, 4 + np.arange(n) % 60)
    group, y = rng.integers(0, 2, n), rng.integers(0, 4, n).astype(float)
    lean = np.where(query < 4, 1.5, -1.0) * (group - 0.5)
    X = np.column_stack([y + lean, 0.7 * y, group * (query < 4)]) + rng.normal(size=(n, 3))
    return {"X": X, "y": y, "sensitive_features": group, "queries": query}


@WAYS
@pytest.mark.parametrize("scorer", ["linear", "boosted"])
def test_what_is_trained_for_is_what_the_audit_finds(scorer: str, how: dict[str, Any]) -> None:
    data = leaning(800)
    model = FairRanker(scorer=scorer, slack=0.1, steps=60, **EVERYWHERE, **how).fit(**data)
    X, y = data.pop("X"), data.pop("y")
    audit = pairwise_accuracy(y, model.predict(X), **data, **how)
    gap = abs(audit.matrix[0, 1] - audit.matrix[1, 0])
    told = model.training_.best
    assert told.largest_difference == pytest.approx(gap, abs=1e-9)
    assert told.accuracy == pytest.approx(audit.overall, abs=1e-9)
    assert gap <= 0.1 + 1e-6
    # Where pairs count alike, the audit of the same scores finds something else.
    assert abs(pairwise_accuracy(y, model.predict(X), **data).overall - audit.overall) > 1e-4
    assert model.score(X, y, queries=data["queries"]) == pytest.approx(told.accuracy, abs=1e-9)


def test_the_larger_of_a_number_is_no_more_often_above_than_the_smaller() -> None:
    rng = np.random.default_rng(4)
    age, y = rng.uniform(20, 60, 600), rng.normal(size=600)
    X = np.column_stack([y + age / 10, y]) + rng.normal(size=(600, 2))
    model = FairRegressor(goal="statistical parity", continuous=True, slack=0.05, **EVERYWHERE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleGoalWarning)
        predicted = model.set_params(steps=60).fit(X, y, sensitive_features=age).predict(X)
    audit = pairwise_parity(predicted, sensitive_features=age, continuous=True)
    assert abs(audit.tests[0].gap) <= 0.06
    assert model.training_.best.largest_difference == pytest.approx(abs(audit.tests[0].gap))
    assert model.training_.start.largest_difference > 0.1


def test_a_number_has_one_pair_of_accuracies_whatever_they_are_called() -> None:
    data = leaning(300)
    age = data["X"][:, 0]
    found = []
    for goal in ("cross-group", "marginal", "all cells"):
        model = FairRanker(goal=goal, continuous=True, slack=0.05, steps=20, **EVERYWHERE)
        found.append(model.fit(data["X"], data["y"], age).coef_)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"goal": "within-group", "continuous": True}, "one kind of pair alone"),
        ({"goal": "symmetric", "continuous": True}, "the same two accuracies"),
        ({"average": "queries", "continuous": True}, "are pooled"),
        ({"average": "queries", "goal": "symmetric"}, "summed over pairs"),
        ({"average": "queries", "goal": "statistical parity"}, "are pooled"),
        ({"average": "rows"}, "'pairs' or 'queries'"),
        ({"pair_weight": "label"}, "'equal' or 'difference'"),
        ({"pair_weight": "difference", "adjust": "shift"}, "do not count alike"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_reason(how: dict[str, Any], why: str) -> None:
    data = leaning(60)
    with pytest.raises(OptionError, match=why):
        FairRanker(steps=2, **how).fit(**data)


def test_means_over_queries_need_queries() -> None:
    data = leaning(60)
    del data["queries"]
    with pytest.raises(OptionError, match="no queries to average over"):
        FairRanker(steps=2, average="queries").fit(**data)
