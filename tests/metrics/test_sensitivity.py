from __future__ import annotations

import numpy as np
import pytest

from comparity.errors import ComparityError
from comparity.metrics.comparison import compare_medians, compare_values, metric_sensitivity


def test_a_metric_is_deaf_below_a_share_of_the_deviation_of_the_ranges() -> None:
    """Ranges 2, 4 and 12 have the standard deviation 5.29, of which 0.35 are 1.85 and 0.5, 2.65."""
    values = {f"C{k}": np.array([0.0, 0.0, 1.0, 1.0]) * k for k in (2, 4, 12)}
    found = metric_sensitivity(values)
    assert [one.iqr for one in found.spreads] == [2, 4, 12]
    assert found.threshold == pytest.approx(0.35 * np.sqrt(28))
    assert found.deaf == ()
    assert metric_sensitivity(values, factor=0.5).deaf == ("C2",)


def test_by_its_own_deviation_hardly_a_metric_is_deaf() -> None:
    """The range of normal values is 1.35 of their deviations; one value far out makes it less."""
    values = {"C0": np.random.default_rng(1).normal(size=1000), "C1": np.array([0.0, 0, 0, 0, 9])}
    assert np.subtract(*np.quantile(values["C0"], [0.75, 0.25])) > 1.3 * values["C0"].std()
    found = metric_sensitivity(values, reading="own")
    assert found.deaf == ("C1",)
    assert np.isnan(found.threshold)


def test_by_the_percentile_a_share_of_the_metrics_is_deaf_whatever_they_are() -> None:
    """Of ranges 1 to 20 the 35th percentile is 7.65 (linear between 7 and 8)."""
    values = {f"C{k}": np.array([0.0, 0.0, 1.0, 1.0]) * k for k in range(1, 21)}
    found = metric_sensitivity(values, reading="percentile")
    assert found.threshold == pytest.approx(7.65)
    assert found.deaf == tuple(f"C{k}" for k in range(1, 8))


def test_a_reading_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ComparityError, match="reading"):
        metric_sensitivity({"C0": np.arange(5.0)}, reading="other")  # type: ignore[arg-type]


def test_values_that_do_not_exist_are_left_out() -> None:
    found = metric_sensitivity(
        {"C5": np.array([1.0, np.inf, np.nan, 3.0]), "C6": np.full(4, np.nan)}
    )
    assert found.spreads[0].median == 2
    assert np.isnan(found.spreads[1].iqr)
    assert found.deaf == ()


def test_moves_are_judged_by_the_distance_from_the_ideal() -> None:
    before = {"C0": -0.2, "C14": 0.7, "C5": 2.0, "C9": 0.1, "C6": np.nan}
    after = {"C0": 0.1, "C14": 1.2, "C5": 0.1, "C9": -0.1, "C6": 1.0}
    found = {change.id: change.moved for change in compare_values(before, after).changes}
    expected = {"C0": "towards", "C14": "towards", "C5": "towards", "C9": "unchanged"}
    assert found == expected | {"C6": "unknown"}


def test_medians_are_rounded_as_in_the_published_table() -> None:
    before, after = {"C0": np.array([0.1, 0.1004])}, {"C0": np.array([0.1, 0.1006])}
    assert compare_medians(before, after).counts["unchanged"] == 1
    assert compare_medians(before, after, decimals=None).counts["away"] == 1


def test_a_change_is_clear_where_its_interval_leaves_out_zero() -> None:
    rng = np.random.default_rng(2)
    drawn = {"C0": rng.normal(0.3, 0.01, 500)}, {"C0": rng.normal(0.1, 0.01, 500)}
    change = compare_values({"C0": 0.3}, {"C0": 0.1}, resampled=drawn).changes[0]
    assert change.is_clear
    assert change.interval is not None
    assert change.interval.low == pytest.approx(-0.2 - 1.96 * 0.0141, abs=0.005)
