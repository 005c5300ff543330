"""Anchors between the exact ones: closed forms, and a twin that tries all shifts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import ndtri
from scipy.stats import norm, rankdata

from comparity import barp
from comparity.datasets.simulated_panels import simulate_comparisons
from comparity.errors import OptionError
from comparity.ranking.levels import align_scores
from comparity.ranking.options import RankForm, read_anchor
from tests.plain.alignment import aligning_shift, null_variance

WORLD = simulate_comparisons(
    rng=np.random.default_rng(1),
    bias=norm(1.5, 1),
    scores=norm(0, 1.5),
    groups={"sex": 12},
    n_items=30,
    n_evaluators=8,
    pairs=300,
)
MEMBER = WORLD.membership[:, 0]


def fitted(anchor: Any, **choices: Any) -> Any:
    known: dict[str, Any] = {"score_prior": 2.0, "tolerance": 1e-8, "sharpness": "equal"}
    return barp(
        WORLD.comparisons,
        evaluators=WORLD.evaluators,
        sensitive_features=WORLD.groups,
        anchor=anchor,
        **known | choices,
    )


MEANS = fitted("equal group means")


def check_split(found: Any, of_mean: float, of_gap: float) -> None:
    """Check a fit against the likeliest split, by a search, and the variance of its error."""
    total = MEANS.mean_bias[0]
    likeliest = minimize_scalar(lambda m: m**2 / of_mean + (total - m) ** 2 / of_gap).x
    assert found.mean_bias[0] == pytest.approx(likeliest, abs=1e-5)
    gap = found.scores[MEMBER == 1].mean() - found.scores[MEMBER == 0].mean()
    assert gap == pytest.approx(total - likeliest, abs=1e-5)
    share, left_open = likeliest / total, of_mean * of_gap / (of_mean + of_gap)
    own, centred = MEANS.bias_standard_errors[:, 0] ** 2, MEANS.centred_standard_errors[:, 0] ** 2
    chance = MEANS.cautious_standard_errors[0, 0] ** 2 - own[0]
    level = MEANS.mean_bias_standard_errors[0] ** 2 - chance
    # Of a centred bias and its level, which go together by half of what their sum has more.
    variance = centred + share**2 * level + share * (own - centred - level) + left_open
    assert found.bias_standard_errors[:, 0] == pytest.approx(np.sqrt(variance), rel=1e-4)
    assert found.mean_bias_standard_errors[0] ** 2 == pytest.approx(
        share**2 * level + left_open, rel=1e-4
    )


def test_stated_sds_split_what_data_leave_together() -> None:
    check_split(fitted({"zero mean bias": 0.8, "equal group means": 0.5}), 0.64, 0.25)


def test_samples_tell_the_sds_of_their_means() -> None:
    m = len(MEANS.evaluators)
    own = MEANS.bias_standard_errors[0, 0] ** 2
    chance = MEANS.cautious_standard_errors[0, 0] ** 2 - own
    spread = MEANS.bias[:, 0].var(ddof=1) / m * (m - 1) / (m - 3)
    check_split(fitted("samples"), spread, chance)


@pytest.mark.parametrize("exact", ["zero mean bias", "equal group means"])
def test_a_small_sd_is_the_exact_anchor_and_one_alone_says_nothing_of_the_other(exact: str) -> None:
    near, told = fitted({exact: 1e-7}), fitted(exact)
    assert near.bias == pytest.approx(told.bias, abs=1e-6)
    assert near.scores == pytest.approx(told.scores, abs=1e-6)
    assert near.bias_standard_errors == pytest.approx(told.bias_standard_errors, rel=1e-4)
    assert near.standard_errors == pytest.approx(told.standard_errors, rel=1e-4)
    wide = fitted({exact: 2.0})
    assert wide.bias == pytest.approx(told.bias, abs=1e-6)
    variance = told.bias_standard_errors**2 + 4
    assert wide.bias_standard_errors**2 == pytest.approx(variance, rel=1e-4)
    share = (MEMBER - MEMBER.mean()) ** 2
    assert wide.standard_errors**2 == pytest.approx(told.standard_errors**2 + 4 * share, rel=1e-4)


def test_sds_are_in_the_unit_of_the_scores() -> None:
    stated, told = fitted_own({"zero mean bias": 0.4}), fitted_own("zero mean bias")
    assert stated.unit == "SDs"
    assert stated.mean_bias_standard_errors[0] == pytest.approx(0.4, rel=1e-4)
    assert stated.centred_bias == pytest.approx(told.centred_bias, abs=1e-6)


def fitted_own(anchor: Any) -> Any:
    return fitted(anchor, score_prior="marginal likelihood", sharpness="own")


def test_every_q_holds_how_open_the_level_is() -> None:
    found = fitted("samples")
    assert found.q.tolist() == found.cautious_q.tolist()
    assert found.anchor.startswith("samples: evaluators are drawn from some")


def test_a_sum_that_the_anchor_makes_unlikely_is_told() -> None:
    against = fitted({"zero mean bias": 0.1, "equal group means": 0.1}).notes
    assert "not all that it assumes is true" in against[-1]
    total, level = MEANS.mean_bias[0], fitted({"equal group means": 1e-9}).mean_bias_standard_errors
    p = 2 * norm.sf(abs(total) / np.sqrt(0.02 + level[0] ** 2))
    assert f"(p {p:.2g})" in against[-1]
    likely = fitted({"zero mean bias": 3.0, "equal group means": 1.0}).notes
    assert "not all that it assumes" not in " ".join(likely)


def test_shifts_and_errors_are_those_of_the_twin() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.exponential(size=9), rng.exponential(size=7) + 0.4
    basis = np.column_stack([np.ones(16), np.repeat([0.0, 1.0], [9, 7])])
    shifts, variances = align_scores(np.append(first, second), basis)
    assert shifts[0] == pytest.approx(aligning_shift(first.tolist(), second.tolist()), abs=1e-4)
    end = norm.isf(0.025) * np.sqrt(null_variance(9, 7))
    low, high = (aligning_shift(first.tolist(), second.tolist(), goal) for goal in (end, -end))
    assert np.sqrt(variances[0]) == pytest.approx((high - low) / (2 * norm.isf(0.025)), rel=1e-3)


def test_several_shifts_minimise_jaeckels_dispersion() -> None:
    rng = np.random.default_rng(5)
    n = 300
    columns = np.column_stack([rng.random(n) < 0.4, rng.random(n) < 0.3]).astype(float)
    columns[:, 1] = np.maximum(columns[:, 1], columns[:, 0] * (rng.random(n) < 0.5))
    scores = rng.exponential(size=n) + columns @ [0.7, -0.4]

    def dispersion(shifts: np.ndarray) -> float:
        left = scores - columns @ shifts
        return float(ndtri(rankdata(left) / (n + 1)) @ left)

    least = minimize(dispersion, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-6}).x
    shifts, variances = align_scores(scores, np.column_stack([np.ones(n), columns]))
    assert shifts == pytest.approx(least, abs=0.005)
    assert np.abs((shifts - [0.7, -0.4]) / np.sqrt(variances)).max() < 4


def test_aligned_groups_have_moved_by_their_shift_and_keep_everything_else() -> None:
    found = fitted("aligned distributions")
    gap = found.scores[MEMBER == 1].mean() - found.scores[MEMBER == 0].mean()
    assert found.mean_bias[0] == pytest.approx(MEANS.mean_bias[0] - gap, abs=1e-6)
    assert found.centred_bias == pytest.approx(MEANS.centred_bias, abs=1e-6)
    assert found.scores.mean() == pytest.approx(0, abs=1e-9)
    stretch = np.sqrt(1 + (MEANS.standard_errors**2).sum() / (MEANS.scores**2).sum())
    first, second = ((stretch * MEANS.scores)[one == MEMBER].tolist() for one in (0, 1))
    assert -gap == pytest.approx(aligning_shift(first, second), abs=1e-4)


@pytest.mark.parametrize(
    ("anchor", "said"),
    [
        ({"zero mean bias": 0}, "an SD above 0"),
        ({"zero mean bias": "wide"}, "an SD above 0"),
        ({"luck": 1.0}, "an SD above 0"),
        ({}, "an SD above 0"),
        ("luck", "'samples' or 'aligned distributions' or SDs"),
    ],
    ids=str,
)
def test_what_may_be_stated_is_said(anchor: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        fitted(anchor)


def test_too_few_evaluators_or_items_are_refused() -> None:
    few = WORLD.evaluators < 3
    known: dict[str, Any] = {"evaluators": WORLD.evaluators[few]}
    with pytest.raises(OptionError, match="3 evaluators are too few"):
        barp(WORLD.comparisons[few], sensitive_features=WORLD.groups, anchor="samples", **known)
    basis = np.column_stack([np.ones(6), np.repeat([0.0, 1.0], 3)])
    with pytest.raises(OptionError, match="a group has too few items"):
        align_scores(np.arange(6.0), basis)


def test_anchors_are_read_from_words() -> None:
    assert read_anchor("samples") == "samples"
    assert RankForm(anchor="zero mean bias=0.5").for_model() == {"anchor": {"zero mean bias": 0.5}}
    with pytest.raises(OptionError, match="a statement and its SD"):
        read_anchor("zero mean bias=wide")
