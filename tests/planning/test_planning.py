"""Plans against Xi et al., "Comparative Separation", Tables 1 and 3, and against simulation."""

from __future__ import annotations

import dataclasses
import json
import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

from comparity.errors import OptionError, PlanError
from comparity.planning.plan import plan_comparative, plan_separation, simulate_power
from comparity.planning.scenarios import ComparativeScenario, SeparationScenario
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN
from comparity.separation.audit import separation as separation_audit
from tests.plain.power import rates_of_random_pairs

# Table 1: true positive and true negative rates of the groups A = 1 and A = 0.
TABLE_1 = {
    "f0": ((220 / 275, 180 / 225), (135 / 225, 165 / 275)),
    "f1": ((220 / 275, 180 / 225), (144 / 225, 154 / 275)),
    "f2": ((231 / 275, 171 / 225), (144 / 225, 154 / 275)),
    "f3": ((230 / 275, 200 / 225), (120 / 225, 175 / 275)),
}
# Table 3, expected: separation at n = 1,000 and 2,000, comparative at 2,000 and 4,000 pairs. The
# last column is lost in print but for f3; an independent program gives it to four digits.
TABLE_3 = {
    "f0": (0.0975, 0.0975, 0.0975, 0.0975),
    "f1": (0.4743, 0.7464, 0.5032, 0.7692),
    "f2": (0.7800, 0.9682, 0.7274, 0.9484),
    "f3": (0.7890, 0.9712, 0.8232, 0.9813),
}
COMMON = {"shares": (0.5, 0.5), "base_rates": (0.55, 0.45)}
THREE = {"shares": (0.5, 0.3, 0.2), "base_rates": (0.5, 0.4, 0.6)}


def separation(classifier: str) -> dict[str, Any]:
    tpr, tnr = TABLE_1[classifier]
    return {"tpr": tpr, "fpr": (1 - tnr[0], 1 - tnr[1]), **COMMON}


def comparative(classifier: str) -> dict[str, Any]:
    tpr, tnr = TABLE_1[classifier]
    return {"tpr": tpr, "tnr": tnr, **COMMON}


@pytest.mark.parametrize("classifier", TABLE_1)
def test_expected_powers_equal_table_3(classifier: str) -> None:
    found = [
        plan_separation(**separation(classifier), n=n, rule="paper").power for n in (1000, 2000)
    ] + [
        plan_comparative(**comparative(classifier), n_pairs=n, rule="paper").power
        for n in (2000, 4000)
    ]
    assert found == pytest.approx(TABLE_3[classifier], abs=1e-4)


@pytest.mark.parametrize("rule", ["holm", "paper"])
def test_power_for_three_groups_equals_simulation(rule: str) -> None:
    rates = {"tpr": (0.8, 0.75, 0.7), "fpr": (0.3, 0.3, 0.35), **THREE}
    planned = plan_separation(**rates, n=3000, rule=rule).power
    simulated = simulate_power(SeparationScenario(**rates), 3000, rule=rule, rng=1)
    # 0.005 for counts that vary and estimated variances, beside three binomial errors.
    assert abs(planned - simulated) < 3 * np.sqrt(simulated * (1 - simulated) / 10_000) + 0.005


def test_comparative_power_for_three_groups_equals_simulation() -> None:
    rates = {"tpr": (0.8, 0.75, 0.7), "tnr": (0.7, 0.7, 0.6), **THREE}
    planned = plan_comparative(**rates, n_pairs=6000, tie_share=0.1, quality="binary").power
    scenario = ComparativeScenario(**rates, tie_share=0.1)
    simulated = simulate_power(scenario, 6000, rng=1)
    assert abs(planned - simulated) < 3 * np.sqrt(simulated * (1 - simulated) / 10_000) + 0.005


@dataclasses.dataclass
class NormalCells:
    """Rates of all cells, drawn as plans suppose them to vary."""

    rates: dict[str, Any]
    size: int

    def __post_init__(self) -> None:
        scenario = ComparativeScenario(**self.rates)
        self.mean = scenario.cell_rates
        self.errors = np.sqrt(self.mean * (1 - self.mean) / (self.size * scenario.cell_shares))
        shape = (20_000, len(self.mean))
        self.noise = np.random.default_rng(11).normal(size=shape) * self.errors

    def between_pairs(self, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gaps between all pairs of cells, and their standard errors."""
        first, second = np.array(list(combinations(range(len(self.mean)), 2))).T
        return rates[:, first] - rates[:, second], np.hypot(self.errors[first], self.errors[second])


def test_a_plan_for_two_groups_and_graded_quality_equals_simulation() -> None:
    rates = comparative("f2")
    cells = NormalCells(rates, 1500)
    contrasts = np.array([[0, 1, -1, 0], [1, 0, 0, -1], [-0.5, 0.5, 0.5, -0.5]])
    z = (cells.mean + cells.noise) @ contrasts.T / np.sqrt(contrasts**2 @ cells.errors**2)
    found = (np.abs(z) > stats.norm.isf(0.05 / 6)).any(axis=1).mean()
    assert plan_comparative(**rates, n_pairs=1500).power == pytest.approx(found, abs=0.015)


def test_a_plan_for_three_groups_and_graded_quality_equals_simulation() -> None:
    """What the largest of 36 gaps is compared with is drawn without any."""
    rates = {"tpr": (0.8, 0.75, 0.7), "tnr": (0.7, 0.7, 0.6), **THREE}
    cells = NormalCells(rates, 6000)
    by_chance, errors = cells.between_pairs(cells.noise)
    critical = np.quantile((np.abs(by_chance) / errors).max(axis=1), 0.95)
    gaps, _ = cells.between_pairs(cells.mean + cells.noise)
    found = ((np.abs(gaps) / errors).max(axis=1) > critical).mean()
    assert plan_comparative(**rates, n_pairs=6000).power == pytest.approx(found, abs=0.02)


@pytest.mark.parametrize(("groups", "size"), [(2, 6000), (3, 30_000)])
def test_all_pairs_of_cells_are_planned_to_be_within_the_margin(groups: int, size: int) -> None:
    rates = {"tpr": (0.8,) * groups, "tnr": (0.7,) * groups, **(THREE if groups == 3 else COMMON)}
    cells = NormalCells(rates, size)
    gaps, errors = cells.between_pairs(cells.mean + cells.noise)
    found = (np.abs(gaps) < 0.1 - stats.norm.isf(0.05) * errors).all(axis=1).mean()
    assert 0.3 < found < 0.95
    planned = plan_comparative(**rates, n_pairs=size, margin=0.1).power
    assert planned == pytest.approx(found, abs=0.02)


@pytest.mark.long
def test_power_on_shared_items_is_that_of_a_test_that_knows_its_errors() -> None:
    plan = plan_comparative(**comparative("f2"), n_pairs=1500, n_items=1000, quality="binary")
    across, within = (test.standard_error * stats.norm.isf(0.0125) for test in plan.tests)
    rng, runs = np.random.default_rng(4), 4000
    drawn = [
        rates_of_random_pairs(rng, **comparative("f2"), n_items=1000, n_pairs=1500)
        for _ in range(runs)
    ]
    found = np.mean(
        [abs(r[0, 1] - r[1, 0]) > across or abs(r[0, 0] - r[1, 1]) > within for r in drawn]
    )
    assert abs(plan.power - found) < 3 * np.sqrt(found * (1 - found) / runs) + 0.005


@pytest.mark.long
@given(st.floats(0.02, 0.15), st.floats(0.1, 0.97), st.sampled_from([None, 2000, 100_000]))
@settings(max_examples=25, deadline=None)
def test_the_planned_size_is_the_smallest(gap: float, target: float, n_items: int | None) -> None:
    rates = {"tpr": (0.7, 0.7 + gap), "tnr": (0.6, 0.6), "shares": (0.5, 0.5)}
    rates["base_rates"] = (0.5, 0.5)
    plan = plan_comparative(**rates, power=target, n_items=n_items)
    if plan.n_pairs is None:
        assert plan.ceiling is not None
        assert plan.ceiling < target
        return
    smaller, same = plan.curve([max(1, plan.n_pairs - 1), plan.n_pairs])
    assert same[1] == plan.power >= target
    assert smaller[1] < target or plan.n_pairs == 1


def test_a_margin_is_shown_when_all_gaps_are_within_it() -> None:
    plan = plan_separation(**separation("f0"), n=4000, margin=0.05)
    room = [0.05 / test.standard_error - stats.norm.isf(0.05) for test in plan.tests]
    assert plan.power == pytest.approx(np.prod([2 * stats.norm.cdf(z) - 1 for z in room]))


def test_a_power_above_the_ceiling_of_the_items_is_out_of_reach_and_said_so() -> None:
    plan = plan_comparative(**comparative("f1"), n_items=500, power=0.8)
    assert plan.n_pairs is None
    assert plan.power == plan.ceiling < 0.8
    assert any("not reachable with these items" in note for note in plan.notes)
    assert plan.reuse == float("inf")


def test_no_study_finds_a_gap_that_is_not_there() -> None:
    plan = plan_separation(**separation("f0"), power=0.8)
    assert plan.n is None
    # Two independent tests at half of alpha each.
    assert plan.power == pytest.approx(1 - 0.975**2)
    assert any("no gap to find" in note for note in plan.notes)


def test_no_study_shows_a_gap_within_a_margin_it_exceeds() -> None:
    plan = plan_separation(**separation("f1"), power=0.8, margin=0.05)
    assert plan.n is None
    assert any("not smaller than the margin" in note for note in plan.notes)


def test_fresh_items_have_no_ceiling_and_are_used_once() -> None:
    plan = plan_comparative(**comparative("f1"), n_pairs=2000)
    assert plan.ceiling is None
    assert plan.reuse == 1


def test_reusing_items_takes_more_judgments_for_the_same_power() -> None:
    rows = plan_comparative(**comparative("f1"), power=0.8).reuse_curve([20_000, 5000, 500])
    needed = [row.n_pairs for row in rows]
    assert needed[0] < needed[1] < needed[2]
    assert needed[3] is None
    assert rows[2].reuse == 2 * needed[2] / 5000


def test_leaning_evaluators_limit_the_power_even_on_fresh_items() -> None:
    few = plan_comparative(**comparative("f1"), n_pairs=4000, n_evaluators=3, evaluator_lean=0.3)
    alone = plan_comparative(**comparative("f1"), n_pairs=4000)
    assert few.power < alone.power
    assert few.ceiling is not None
    added = few.tests[0].standard_error ** 2 - alone.tests[0].standard_error ** 2
    assert added == pytest.approx(0.3**2 / 3, rel=0.01)
    assert few.tests[1].standard_error == alone.tests[1].standard_error


@pytest.mark.parametrize("n_evaluators", [1, 2])
def test_one_or_two_evaluators_are_taken_as_given_and_said_so(n_evaluators: int) -> None:
    few = plan_comparative(**comparative("f1"), n_pairs=4000, n_evaluators=n_evaluators)
    assert few.power == plan_comparative(**comparative("f1"), n_pairs=4000).power
    assert any("not about others like them" in note for note in few.notes)
    panel = plan_comparative(**comparative("f1"), n_pairs=4000, n_evaluators=3)
    assert not any("others like them" in note for note in panel.notes)


# The signs of 6 to 12 evaluators are looked at, too.
@pytest.mark.parametrize("n_evaluators", [3, 5, 13])
def test_few_evaluators_have_little_power_even_if_none_leans(n_evaluators: int) -> None:
    plan = plan_comparative(
        **comparative("f1"),
        n_pairs=6700,
        n_evaluators=n_evaluators,
        evaluator_lean=0,
        quality="binary",
    )
    ratios = [abs(test.gap) / test.standard_error for test in plan.tests]
    # Holm judges the smaller of two p values at 0.025; without leans the tests are independent.
    alone = [TTestPower().power(z / n_evaluators**0.5, n_evaluators, 0.025) for z in ratios]
    t_test = 1 - np.prod([1 - power for power in alone])
    assert t_test - 0.03 < plan.power < t_test


SMALL_GAP = {"tpr": (0.9, 0.92), "fpr": (0.2, 0.2), "shares": (0.5, 0.5), "base_rates": (0.5, 0.5)}


def test_gaps_that_an_audit_finds_within_its_margin_are_noted() -> None:
    plan = plan_separation(**SMALL_GAP, power=0.8)
    assert plan.n is not None
    rng, findings = np.random.default_rng(5), []
    for _ in range(20):
        group, label = rng.integers(2, size=plan.n), rng.integers(2, size=plan.n)
        rate = np.where(label, np.array(SMALL_GAP["tpr"])[group], np.array(SMALL_GAP["fpr"])[group])
        decided = (rng.random(plan.n) < rate).astype(int)
        findings.append(separation_audit(label, decided, sensitive_features=group).finding)
    assert findings.count(WITHIN) > 15
    assert VIOLATED not in findings
    assert any("every assumed gap is smaller than 0.05" in note for note in plan.notes)


@pytest.mark.parametrize(
    "change",
    [
        {"tpr": (0.8, 0.85)},
        {"fpr": (0.2, 0.3)},
        {"tpr": (0.9, 0.9)},
        {"margin": 0.1},
        {"rule": "paper"},
    ],
)
def test_gaps_that_an_audit_can_report_are_not_noted(change: dict[str, Any]) -> None:
    plan = plan_separation(**{**SMALL_GAP, **change}, n=1000)
    assert not any("every assumed gap is smaller" in note for note in plan.notes)


def test_few_trials_are_noted() -> None:
    assert any("fewer than 30" in note for note in plan_separation(**separation("f1"), n=100).notes)
    assert not any(
        "fewer than" in note for note in plan_separation(**separation("f1"), n=200).notes
    )


def test_a_plan_is_plain_data_and_cannot_be_changed() -> None:
    plan = plan_comparative(**comparative("f2"), power=0.8, n_items=10_000, groups=["b", "a"])
    written = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert written["groups"] == ["b", "a"]
    assert [test["null"] for test in written["tests"]] == [
        "agree(b > a) = agree(a > b)",
        "agree(b > b) = agree(a > a)",
        "agree(across) = agree(within)",
    ]
    assert written["provenance"]["options"]["n_items"] == 10_000
    assert pickle.loads(pickle.dumps(plan)) == plan
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.power = 1.0  # type: ignore[misc]


def test_the_curve_passes_through_the_plan() -> None:
    plan = plan_separation(**separation("f2"), power=0.8)
    curve = dict(plan.curve())
    assert curve[plan.n] == plan.power
    assert len(curve) > 30


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tpr": (0.8, 1.2)}, "tpr cannot be 1.2"),
        ({"tpr": (0.8, float("nan"))}, "tpr cannot be nan"),
        ({"tpr": (0.8,)}, "at least two groups"),
        ({"fpr": (0.1, 0.2, 0.3)}, "fpr needs one value per group"),
        ({"shares": (0.5, 0.6)}, "shares must sum to 1"),
        ({"base_rates": (0.0, 0.5)}, "base_rates cannot be 0.0"),
        ({"groups": ("a", "a")}, "different names"),
        ({"groups": ("a", "b", "c")}, "tpr needs one value per group"),
        ({"n": None}, "exactly one of n and power"),
        ({"power": 0.8}, "exactly one of n and power"),
        ({"n": 0}, "a whole number from 1 on"),
        ({"n": "100"}, "n cannot be .*whole number"),
        ({"n": float("nan")}, "n cannot be .*whole number"),
        ({"n": 100.5}, "n cannot be .*whole number"),
        ({"n": True}, "n cannot be .*whole number"),
        ({"tpr": 0.8}, "at least two groups"),
        ({"tpr": ("low", "high")}, "tpr cannot be 'low'"),
        ({"n": None, "power": "0.8"}, "power cannot be"),
        ({"n": None, "power": 1.0}, "power cannot be"),
        ({"alpha": 0.0}, "alpha cannot be 0.0"),
        ({"alpha": None}, "alpha cannot be None"),
        ({"margin": 0.0}, "margin cannot be 0.0"),
        ({"rule": "bonferroni"}, "'holm' or 'paper'"),
    ],
)
def test_impossible_assumptions_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises((OptionError, PlanError), match=f"(?s){words}") as caught:
        plan_separation(**{**separation("f1"), "n": 1000, **change})
    assert "hint:" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_items": 1}, "n_items cannot be 1.*from 2 on"),
        ({"n_items": 200.5}, "n_items cannot be 200.5.*whole number"),
        ({"n_evaluators": 0}, "n_evaluators cannot be 0"),
        ({"evaluator_lean": -0.1}, "evaluator_lean cannot be.*from 0 to 1"),
        ({"tie_share": 1.0}, "tie_share cannot be 1.0.*below 1"),
    ],
)
def test_impossible_designs_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=f"(?s){words}"):
        plan_comparative(**comparative("f1"), n_pairs=1000, **change)


@pytest.mark.long
def test_a_flawless_model_is_shown_to_be_within_the_margin_by_as_many_decisions_as_planned() -> (
    None
):
    flawless = {"tpr": (1, 1), "fpr": (0, 0), "shares": (0.5, 0.5), "base_rates": (0.5, 0.5)}
    planned = plan_separation(**flawless, power=0.8, margin=0.05).n
    assert planned is not None
    findings = []
    for quarter in (-(-planned // 4), planned // 6):
        label, group = [0, 0, 1, 1] * quarter, ["a", "b"] * (2 * quarter)
        findings.append(separation_audit(label, label, sensitive_features=group).finding)
    assert findings == [WITHIN, UNDECIDED]


def test_sizes_of_numpy_are_written_as_json() -> None:
    plan = plan_comparative(**comparative("f1"), n_pairs=np.int64(4000), n_items=np.int64(500))
    content = json.loads(json.dumps(plan.to_dict()))
    assert (content["n_pairs"], content["n_items"]) == (4000, 500)


def test_leans_that_cancel_leave_no_variance_rather_than_a_negative_one() -> None:
    # No pair of the first group is ever lost to the second: only leans vary, and they cancel.
    plan = plan_comparative(
        tpr=(0.999, 1.0),
        tnr=(0.0, 1.0),
        shares=(0.3, 0.7),
        base_rates=(0.8, 0.84),
        n_evaluators=13,
        evaluator_lean=0.5,
        alpha=0.2,
        power=0.2,
    )
    assert 0.2 <= plan.power <= 1
