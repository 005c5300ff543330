"""Reference: AIF360 0.6.1 on a fixed table of counts (tests/reference/fair_enough.json), AIF360 and
Fairlearn themselves on random tables, and textbook formulas for several groups."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from comparity.counts.decisions import Confusion, DecisionCounts, GroupedDecisions
from comparity.metrics.cards import catalogue_with
from comparity.metrics.catalogue import CATALOGUE
from comparity.metrics.classification import RATES, TRUE_POSITIVE, RateGap, RateRatio
from comparity.metrics.entropy import DOUBLED_ROOT, GroupEntropy
from comparity.separation.audit import average_odds_gap, true_positive_rate_gap

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "fair_enough.json").read_text(encoding="utf-8")
)
GOLDEN = GroupedDecisions(
    np.array(REFERENCE["cells_group_label_prediction"], dtype=float), np.array([False, True])
)
FROM_COUNTS = [number for number, one in CATALOGUE.items() if one.measure is not None]


def aif360_values(cells: np.ndarray) -> dict[str, float]:
    """All metrics of two groups by AIF360, whose imports and divisions warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pandas
        from aif360.datasets import BinaryLabelDataset
        from aif360.metrics import BinaryLabelDatasetMetric, ClassificationMetric

        index = np.array(list(np.ndindex(cells.shape)))
        rows = np.repeat(index, cells.ravel().astype(int), axis=0).astype(float)
        table = pandas.DataFrame(rows, columns=["group", "label", "prediction"])
        named: dict[str, Any] = {"protected_attribute_names": ["group"]}
        truth = BinaryLabelDataset(df=table[["group", "label"]], label_names=["label"], **named)
        said = truth.copy(deepcopy=True)
        said.labels = table[["prediction"]].to_numpy()
        camps: dict[str, Any] = {
            "unprivileged_groups": [{"group": 0.0}],
            "privileged_groups": [{"group": 1.0}],
        }
        of_model = ClassificationMetric(truth, said, **camps)
        of_data = BinaryLabelDatasetMetric(truth, **camps)
        return {
            number: float(getattr(of_data if number[0] == "D" else of_model, one.aif360)())
            for number, one in CATALOGUE.items()
            if one.measure is not None
        }


def value(number: str, contrast: GroupedDecisions) -> float:
    measure = CATALOGUE[number].measure
    assert measure is not None
    return float(measure(contrast))


@pytest.mark.parametrize("number", FROM_COUNTS)
def test_every_metric_equals_the_golden_table(number: str) -> None:
    assert value(number, GOLDEN) == pytest.approx(REFERENCE["golden"][number], abs=1e-10)


def test_the_catalogue_has_the_published_metrics_under_their_names() -> None:
    assert {number: one.aif360 for number, one in CATALOGUE.items()} == REFERENCE["aif360"]
    assert [one.cluster.members for one in CATALOGUE.values()].count(("C4", "C8")) == 2
    assert all(one.formula and one.direction and one.citation for one in CATALOGUE.values())


@pytest.mark.parametrize("seed", range(3))
def test_every_metric_equals_aif360_on_random_tables(seed: int) -> None:
    cells = np.random.default_rng(seed).integers(1, 60, size=(2, 2, 2))
    expected = aif360_values(cells)
    contrast = GroupedDecisions(cells.astype(float), np.array([False, True]))
    found = {number: value(number, contrast) for number in expected}
    assert found == pytest.approx(expected, abs=1e-10)


def test_empty_denominators_are_as_in_aif360() -> None:
    cells = np.array([[[9, 3], [0, 6]], [[8, 0], [0, 5]]])
    expected = aif360_values(cells)
    contrast = GroupedDecisions(cells.astype(float), np.array([False, True]))
    assert value("C5", contrast) == expected["C5"] == np.inf
    assert np.isnan(expected["C6"])
    assert np.isnan(value("C6", contrast))


def test_fairlearn_agrees_where_names_are_equal() -> None:
    import fairlearn.metrics as fairlearn

    index = np.array(list(np.ndindex(2, 2, 2)))
    rows = np.repeat(index, GOLDEN.cells.ravel().astype(int), axis=0)
    group, label, prediction = rows.T
    for number in ("C0", "C1", "C2", "C11", "C15", "C5", "C6", "C12", "C14"):
        name = CATALOGUE[number].fairlearn.split(" ")[0]
        theirs = getattr(fairlearn, name)(label, prediction, sensitive_features=group)
        ours = value(number, GOLDEN)
        # Theirs have no sign, and put the smaller rate above the line.
        expected = min(ours, 1 / ours) if name.endswith("ratio") else abs(ours)
        assert theirs == pytest.approx(expected, abs=1e-12)
    assert fairlearn.selection_rate(label, prediction) == pytest.approx(value("C13", GOLDEN))


def test_the_older_coefficient_of_variation_is_larger_by_the_root_of_two() -> None:
    older = catalogue_with(DOUBLED_ROOT)
    for number in ("C20", "C22", "C24"):
        measure = older[number].measure
        assert measure is not None
        assert float(measure(GOLDEN)) == pytest.approx(2**0.5 * REFERENCE["golden"][number])


tables = hnp.arrays(np.float64, (3, 2, 2), elements=st.integers(1, 40).map(float))


@given(tables)
def test_gaps_equal_those_of_separation(cells: np.ndarray) -> None:
    counts = DecisionCounts(
        {
            name: Confusion(
                true_negatives=int(t[0, 0]),
                false_positives=int(t[0, 1]),
                false_negatives=int(t[1, 0]),
                true_positives=int(t[1, 1]),
            )
            for name, t in zip("ab", cells, strict=False)
        }
    )
    contrast = GroupedDecisions.of(counts, {"b"})
    assert value("C0", contrast) == pytest.approx(true_positive_rate_gap(counts, "a", "b"))
    assert value("C9", contrast) == pytest.approx(average_odds_gap(counts, "a", "b"))


@given(tables)
def test_inequality_splits_into_between_and_within_groups(cells: np.ndarray) -> None:
    contrast = GroupedDecisions(cells, np.array([False, False, True]))
    sizes, means = cells.sum(axis=(1, 2)), 1 + (cells[:, 0, 1] - cells[:, 1, 0]) / cells.sum((1, 2))
    within = 0.0
    for table, size, mean in zip(cells, sizes, means, strict=True):
        alone = GroupedDecisions(table[None], np.array([True]))
        overall = (sizes * means).sum() / sizes.sum()
        # An index of order 2 weighs groups by their share times their relative mean squared.
        within += size / sizes.sum() * (mean / overall) ** 2 * value("C16", alone)
    between = float(GroupEntropy(2, True)(contrast))
    assert between + within == pytest.approx(value("C16", contrast), abs=1e-9)


@given(tables)
def test_metrics_do_not_depend_on_the_size_of_the_data_except_for_smoothing(
    cells: np.ndarray,
) -> None:
    contrast = GroupedDecisions(cells, np.array([False, False, True]))
    larger = contrast.with_cells(7 * cells)
    for number in FROM_COUNTS:
        if number not in ("C25", "D1"):
            assert value(number, larger) == pytest.approx(value(number, contrast), abs=1e-9)


@given(tables)
def test_many_tables_at_once_give_what_each_gives_alone(cells: np.ndarray) -> None:
    privileged = np.array([False, True])
    stacked = GroupedDecisions(np.stack([cells[:2], cells[1:]]), privileged)
    for number in FROM_COUNTS:
        measure = CATALOGUE[number].measure
        assert measure is not None
        alone = [
            value(number, GroupedDecisions(part, privileged)) for part in (cells[:2], cells[1:])
        ]
        assert measure(stacked) == pytest.approx(alone)


@given(tables)
def test_swapping_the_camps_turns_gaps_and_inverts_ratios(cells: np.ndarray) -> None:
    contrast = GroupedDecisions(cells[:2], np.array([False, True]))
    swapped = GroupedDecisions(cells[:2], np.array([True, False]))
    assert RateGap((TRUE_POSITIVE,))(swapped) == pytest.approx(-RateGap((TRUE_POSITIVE,))(contrast))
    for rate in RATES:
        assert RateRatio(rate)(swapped) == pytest.approx(1 / RateRatio(rate)(contrast))
