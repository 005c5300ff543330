"""Tests of pairs in doubt find no more than tests of exact counts, whatever these are.

Exact counts are those of `all_pairs`, which is tested by the double loop of
`tests/plain/all_pairs.py`, and their tests those of arrays in memory.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from comparity.counts.all_pairs import all_pairs
from comparity.counts.binned_pairs import PairDoubt, PairSums, PairTable
from comparity.counts.pairs import Sharing
from comparity.inference.dealt_pairs import Part
from comparity.inference.dyadic import compare_cells, rate_interval
from comparity.inference.gap_tests import GapTest
from comparity.pairwise.accuracies import CountedPairs, compare_symmetric
from comparity.pairwise.count import compared_rates, contrasts_of
from comparity.pairwise.doubtful import DoubtfulStatistic, doubtful_interval
from comparity.pairwise.options import PairwiseOptions

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

OPTIONS = PairwiseOptions(notions=("cross-group", "within-group"))
GAPS = np.linspace(-0.95, 0.95, 39)


def count(
    label: Codes, score: Floats, group: Codes, bins: Codes, groups: tuple[str, ...]
) -> tuple[Sharing, PairDoubt]:
    """Count pairs of items of which only the bin of the score is known, ties as half."""
    one = np.ones(len(label))
    ends = np.array([score[bins == number] for number in bins], dtype=object)
    low, high = ([float(end(own)) for own in ends] for end in (np.min, np.max))
    columns = {"bin": bins, "level": label, "group": group, "n": one, "code": bins}
    table = PairTable.of(
        columns | {"low": np.array(low), "high": np.array(high)},
        groups,
        np.arange(label.max() + 1.0),
    )
    rows = table.rows()
    sums = PairSums(groups, table.by_label(rows.weight), table.by_label(rows.square))
    sums.add(rows)
    pairs, doubt = sums.pairs("half")
    return pairs.sharing, doubt


def draw(seed: int) -> tuple[Codes, Floats, Codes, Codes, tuple[str, ...]]:
    """Draw items whose scores are better or worse, more or less rounded, in few or many bins."""
    rng = np.random.default_rng(seed)
    n, groups = 150, ("a", "b", "c")[: rng.integers(2, 4)]
    label, group = rng.integers(0, rng.integers(2, 4), n), rng.integers(0, len(groups), n)
    score = label * rng.choice([0.0, 1.0, 4.0]) + rng.normal(size=n) + 0.5 * group
    score = score.round(rng.integers(0, 4))
    edges = np.unique(rng.choice(score, rng.integers(3, 60)))
    return label, score, group, np.searchsorted(edges, score), groups


def tests_of(sharing: Sharing, groups: tuple[str, ...]) -> list[GapTest]:
    contrasts = contrasts_of(OPTIONS, groups)
    cells = [compare_cells(sharing, *one, null=one.null) for one in contrasts]
    return [*cells, *compare_symmetric(sharing, groups)]


def gaps_of(groups: tuple[str, ...]) -> list[tuple[Part, ...]]:
    wanted = ("cross-group", "within-group", "symmetric")
    return compared_rates(PairwiseOptions(notions=wanted), groups, ())


@given(st.integers(0, 10**6))
def test_no_statistic_is_larger_than_that_of_exact_counts(seed: int) -> None:
    label, score, group, bins, groups = draw(seed)
    exact = all_pairs(label * 1.0, score, group, groups, score_ties="half").sharing
    found, doubt = count(label, score, group, bins, groups)
    counted = CountedPairs(found, found.half_hits, groups, (), doubt=doubt)
    tests = counted.allow_for_doubt(tests_of(found, groups), gaps_of(groups))
    for test, same in zip(tests, tests_of(exact, groups), strict=True):
        if test.pivot is None:
            continue
        if same.pivot is None:
            assert "nothing varies" in same.reason
            assert test.p_value > 0.9
            assert test.equivalence_p_value(0.9) >= 0.5
            continue
        assert test.standard_error >= same.standard_error * (1 - 1e-9)
        for gap in GAPS:
            one, other = (abs(part.pivot.statistic(gap)) for part in (test, same))  # type: ignore[union-attr]
            assert one <= other * (1 + 1e-7) + 1e-9
            if isinstance(test.pivot, DoubtfulStatistic):
                variance = same.pivot.variance_at(gap)  # type: ignore[attr-defined]
                assert test.pivot.error_at(gap) ** 2 >= variance * (1 - 1e-7)
    for cell in exact.cells:
        wide, narrow = doubtful_interval(found, [cell], doubt), rate_interval(exact, cell)
        if wide is not None:
            assert wide.low <= narrow.low + 1e-9
            assert wide.high >= narrow.high - 1e-9


def test_doubt_of_any_cell_widens_symmetric_accuracies() -> None:
    rng = np.random.default_rng(5)
    label, group = rng.integers(0, 2, 300), np.repeat([0, 1, 2], 100)
    # Scores of the first group lie in one bin, those of the others in bins of their own.
    score = np.where(group == 0, 0.5 + label / 4, np.arange(300) % 7 * 10.0 + 10 * label)
    bins = np.where(group == 0, 0, np.round(score).astype(np.int64))
    score[group > 0] = bins[group > 0]
    bins[(group > 0) & (bins == 0)] = -1
    score[bins == -1] = -1.0
    groups = ("c", "d", "e")
    exact = all_pairs(label * 1.0, score, group, groups, score_ties="half").sharing
    found, doubt = count(label, score, group, bins, groups)
    last = gaps_of(groups)[-1]
    assert doubt.bound(found.cells[:1]) == 0.5
    assert not any(doubt.bound(part.cells) for part in last)
    counted = CountedPairs(found, found.half_hits, groups, (), doubt=doubt)
    test = counted.allow_for_doubt(tests_of(found, groups), gaps_of(groups))[-1]
    same = tests_of(exact, groups)[-1]
    assert test.null == same.null == "symmetric(d) = symmetric(e)"
    assert test.gap == pytest.approx(same.gap)
    assert test.standard_error >= same.standard_error


def test_symmetric_accuracies_stay_open_where_all_pairs_may_agree() -> None:
    label, group = np.arange(80) % 2, np.arange(80) // 40
    score = label + np.arange(80) / 100
    exact = all_pairs(label * 1.0, score, group, ("a", "b")).sharing
    assert exact.hits.tolist() == exact.trials.tolist()
    assert compare_symmetric(exact, ("a", "b"))[0].pivot is None
    bins = np.where(label + np.arange(80) // 78 == 1, 1, label * 2)
    found, doubt = count(label, score, group, bins, ("a", "b"))
    counted = CountedPairs(found, found.half_hits, ("a", "b"), (), doubt=doubt)
    tests = counted.allow_for_doubt(tests_of(found, ("a", "b")), gaps_of(("a", "b")))
    assert "all outcomes may be equal" in tests[-1].reason
    assert all(test.pivot is None or test.equivalence_p_value(0.3) > 0.05 for test in tests)
