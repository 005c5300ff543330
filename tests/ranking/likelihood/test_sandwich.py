"""Errors of comparisons in clusters.

Witnesses: statsmodels' logit with clustered errors, copies of every comparison, and a plain
sandwich by dense algebra.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

from comparity import barp, bradley_terry
from comparity.errors import OptionError

Panel = dict[str, Any]


def draw_panel(seed: int, *, n: int = 600, items: int = 8, taste: float = 1.0) -> Panel:
    """Return comparisons by three evaluators on 40 prompts, which items suit differently."""
    rng = np.random.default_rng(seed)
    prompt, judge = rng.integers(0, 40, n), rng.integers(0, 3, n)
    worth = np.linspace(-1, 1, items) + rng.normal(0, taste, (40, items))
    one = rng.integers(0, items, n)
    two = (one + rng.integers(1, items, n)) % items
    margin = worth[prompt, one] - worth[prompt, two]
    won = rng.random(n) < 1 / (1 + np.exp(-margin))
    pairs = np.where(won[:, None], np.c_[one, two], np.c_[two, one])
    return {"comparisons": pairs, "judge": judge, "prompt": prompt, "group": np.arange(items) % 2}


def test_errors_of_scores_are_those_of_a_logit_with_clustered_errors() -> None:
    panel = draw_panel(1)
    found = bradley_terry(panel["comparisons"], cluster=panel["prompt"], prior=None)
    one, two = panel["comparisons"].T
    design = np.eye(8)[one] - np.eye(8)[two]
    # Half of the rows turned round, so that both outcomes occur; the last item is the reference.
    sign = np.where(np.arange(len(one)) % 2, 1.0, -1.0)
    fit = sm.GLM(sign > 0, sign[:, None] * design[:, :-1], family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": panel["prompt"]}
    )
    about = np.vstack([np.eye(7), np.zeros((1, 7))])
    about = about - about.mean(axis=0)
    assert found.scores == pytest.approx(about @ fit.params, abs=1e-5)
    expected = np.sqrt(np.diagonal(about @ fit.cov_params() @ about.T))
    assert found.standard_errors == pytest.approx(expected, rel=1e-3)


def test_errors_of_biases_are_those_of_a_logit_with_clustered_errors() -> None:
    """One judge of three is trusted, so that two vary in the mean that biases are centred on."""
    panel = draw_panel(7, n=900)
    judge, group = panel["judge"], panel["group"]
    known = {"evaluators": judge, "sensitive_features": group, "cluster": panel["prompt"]}
    free = {"sharpness": "equal", "score_prior": None, "bias_prior": None}
    found = barp(panel["comparisons"], **known, **free, anchor=[0])
    one, two = panel["comparisons"].T
    lead = (group[one] - group[two])[:, None] * (judge[:, None] == [1, 2])
    design = np.c_[(np.eye(8)[one] - np.eye(8)[two])[:, :-1], lead]
    sign = np.where(np.arange(len(one)) % 2, 1.0, -1.0)
    fit = sm.GLM(sign > 0, sign[:, None] * design, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": panel["prompt"]}
    )
    covariance = np.zeros((3, 3))
    covariance[1:, 1:] = fit.cov_params()[7:, 7:]
    assert found.bias[1:, 0] == pytest.approx(fit.params[7:], abs=1e-5)
    expected = np.sqrt(np.diagonal(covariance))
    assert found.bias_standard_errors[:, 0] == pytest.approx(expected, rel=1e-3)
    about = np.eye(3) - 1 / 3
    expected = np.sqrt(np.diagonal(about @ covariance @ about))
    assert found.centred_standard_errors[:, 0] == pytest.approx(expected, rel=1e-3)
    assert found.mean_bias_standard_errors == pytest.approx([covariance.sum() ** 0.5 / 3], rel=1e-3)


def test_copies_of_every_comparison_in_its_cluster_add_nothing() -> None:
    panel = draw_panel(2)
    once = bradley_terry(panel["comparisons"], cluster=panel["prompt"], prior=50.0)
    thrice = bradley_terry(
        np.repeat(panel["comparisons"], 3, axis=0),
        cluster=np.repeat(panel["prompt"], 3),
        prior=50.0,
    )
    plain = bradley_terry(np.repeat(panel["comparisons"], 3, axis=0), prior=50.0)
    assert thrice.standard_errors == pytest.approx(once.standard_errors, rel=0.02)
    assert plain.standard_errors.mean() < 0.8 * once.standard_errors.mean()


@pytest.mark.parametrize("sharpness", ["equal", "own"])
def test_errors_of_biases_and_scores_grow_by_what_clusters_share(sharpness: str) -> None:
    panel = draw_panel(3, taste=2.0)
    given = {"evaluators": panel["judge"], "sensitive_features": panel["group"]}
    plain = barp(panel["comparisons"], **given, sharpness=sharpness)
    clustered = barp(panel["comparisons"], **given, sharpness=sharpness, cluster=panel["prompt"])
    assert clustered.scores == pytest.approx(plain.scores)
    assert clustered.bias == pytest.approx(plain.bias)
    assert np.mean(clustered.standard_errors) > 1.15 * np.mean(plain.standard_errors)
    assert clustered.n_clusters == {"cluster": 40}
    assert any("40 clusters" in note for note in clustered.notes)


@pytest.mark.parametrize("extra", [{}, {"seats": True}, {"ties": True}], ids=["", "seats", "ties"])
def test_errors_are_a_plain_sandwich(extra: dict[str, bool]) -> None:
    """By finite differences of the log-likelihood of each cluster, in all parameters at once."""
    panel, rng = draw_panel(4, n=300, items=5), np.random.default_rng(5)
    one, two = panel["comparisons"].T
    given: dict[str, Any] = {}
    seat, tied = np.zeros(300), np.zeros(300, dtype=bool)
    if "seats" in extra:
        seat = given["seats"] = rng.choice([1, -1], 300)
    if "ties" in extra:
        tied = given["ties"] = rng.random(300) < 0.3
    found = bradley_terry(panel["comparisons"], cluster=panel["prompt"], prior=2.0, **given)
    effects = [part.value for part in (found.seat, found.ties) if part is not None]
    point = np.r_[found.scores, effects]

    def losses(at: np.ndarray) -> np.ndarray:
        half = (at[one] - at[two] + (seat * at[5] if "seats" in extra else 0.0)) / 2
        tie = np.exp(at[-1]) if "ties" in extra else 0.0
        return np.log(np.exp(half) + np.exp(-half) + tie) - np.where(tied, np.log(tie or 1.0), half)

    step, size = 1e-4, len(point)
    moves = step * np.eye(size)
    slopes = np.array([(losses(point + d) - losses(point - d)) / (2 * step) for d in moves])
    by_cluster = np.array([slopes[:, panel["prompt"] == c].sum(axis=1) for c in range(40)])
    by_cluster = by_cluster - by_cluster.mean(axis=0)

    def gradient(at: np.ndarray) -> np.ndarray:
        return np.array([(losses(at + d) - losses(at - d)).sum() / (2 * step) for d in moves])

    bend = np.array([(gradient(point + d) - gradient(point - d)) / (2 * step) for d in moves])
    prior = np.diag(np.r_[np.full(5, 0.25), np.full(size - 5, 0.01)])
    inverse = np.linalg.inv(bend + prior)
    told = 5 - 0.25 * np.diagonal(inverse)[:5].sum() + size - 5
    factor = 40 / 39 * 299 / (300 - told)
    covariance = inverse @ (factor * by_cluster.T @ by_cluster + prior) @ inverse
    about = np.eye(5) - 1 / 5
    expected = np.sqrt(np.diagonal(about @ covariance[:5, :5] @ about))
    assert found.standard_errors == pytest.approx(expected, rel=5e-3)
    errors = [part.standard_error for part in (found.seat, found.ties) if part is not None]
    assert errors == pytest.approx(np.sqrt(np.diagonal(covariance)[5:]), rel=5e-3)


def test_biases_are_not_clustered_by_who_has_them() -> None:
    panel = draw_panel(6)
    with pytest.raises(OptionError, match="each evaluator judged in one cluster"):
        barp(
            panel["comparisons"],
            evaluators=panel["judge"],
            sensitive_features=panel["group"],
            cluster=panel["judge"],
        )


def test_fits_too_large_to_solve_refuse_clusters() -> None:
    rng = np.random.default_rng(7)
    pairs = rng.integers(0, 3000, (9000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    with pytest.raises(OptionError, match="too many for errors that allow for clusters"):
        bradley_terry(pairs, cluster=np.arange(len(pairs)) % 50)
