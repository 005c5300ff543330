"""Properties of audits that may be read at any moment, in every question that has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from comparity import comparative_separation, compare_raters, differential_parity, separation
from comparity.errors import OptionError
from comparity.relative.options import BridgeOptions
from comparity.results.audit import Audit


def judged_pairs(n: int, *, gap: float, n_items: int = 400, groups: int = 2) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    quality, group = rng.normal(size=n_items), np.arange(n_items) % groups
    first = rng.integers(0, n_items, n)
    second = (first + rng.integers(1, n_items, n)) % n_items
    swap = (quality[first] < quality[second])[:, None]
    pairs = np.column_stack([first, second])
    return {
        "comparisons": np.where(swap, pairs[:, ::-1], pairs),
        "scores": quality + rng.normal(size=n_items) - gap * group,
        "sensitive_features": group.astype(str),
    }


def test_a_large_gap_is_violated_at_any_moment_and_later_than_in_a_fixed_study() -> None:
    now = comparative_separation(**judged_pairs(6000, gap=2.0), anytime=True)
    once = comparative_separation(**judged_pairs(6000, gap=2.0))
    assert (now.finding, once.finding) == ("violated", "violated")
    assert now.anytime
    assert not once.anytime
    assert "to be read at any moment" in str(now)
    widths = [high - low for low, high, _ in (a.tests[0].interval(0.95) for a in (now, once))]
    assert widths[0] > 1.3 * widths[1]


def test_audits_come_back_from_their_json() -> None:
    now = comparative_separation(**judged_pairs(800, gap=2.0), anytime=True)
    assert Audit.from_dict(now.to_dict()).to_dict() == now.to_dict()


def test_three_groups_are_corrected_by_holm_whose_e_values_may_depend_on_each_other() -> None:
    now = comparative_separation(**judged_pairs(3000, gap=0.0, groups=3), anytime=True)
    assert now.correction == "Holm"
    assert len(now.tests) == 36


def test_fresh_pairs_are_tested_by_their_score() -> None:
    given = judged_pairs(300, gap=0.0, n_items=2000)
    given["comparisons"] = np.random.default_rng(2).permutation(2000).reshape(-1, 2)
    now = comparative_separation(**given, anytime=True)
    assert now.design == "fresh"
    assert {test.method for test in now.tests} == {"score z, independent pairs, anytime"}


def test_decisions_and_differences_are_read_at_any_moment() -> None:
    rng = np.random.default_rng(4)
    group, label = rng.integers(0, 2, 4000).astype(str), rng.integers(0, 2, 4000)
    yes = rng.random(4000) < np.where(label == 1, 0.8 - 0.2 * (group == "1"), 0.2)
    found = separation(label, yes.astype(int), sensitive_features=group, anytime=True)
    assert found.finding == "violated"
    assert found.tests[0].method == "score z, anytime"
    first, second = rng.normal(size=(2, 4000))
    parity = differential_parity(first, second, sensitive_features=group, anytime=True)
    assert parity.finding == "within the margin"
    assert parity.p_value == parity.tests[0].p_value
    raters = compare_raters({"a": first, "b": second}, sensitive_features=group, anytime=True)
    assert raters.audit.anytime


@pytest.mark.parametrize(
    "choices",
    [
        {"looks": (1, 4)},
        {"rule": "paper"},
        {"method": "disjoint"},
        {"reference": np.arange(400.0)},
    ],
)
def test_what_is_made_for_single_looks_is_refused(choices: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="anytime"):
        comparative_separation(**judged_pairs(100, gap=0.0), anytime=True, **choices)


def test_bridges_are_refused() -> None:
    with pytest.raises(OptionError, match="fitted again"):
        BridgeOptions(anytime=True)
