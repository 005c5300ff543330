"""Priors that no search can honour: refused with the range, and right at its ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from comparity import barp, bradley_terry, crowd_bt, factor_bt
from comparity.errors import OptionError

# Three items of which the first never lost: only a prior holds its score.
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [2, 1]] * 3)
WHO = np.arange(12) % 3
GROUPS = ["a", "b", "b"]
SD = r"from 1e-06 to 1000"
JUDGMENTS = r"to 1e\+06"
OPTIONS: dict[str, tuple[Callable[[Any], object], str]] = {
    "bradley_terry": (lambda sd: bradley_terry(PAIRS, prior=sd), SD),
    "scores of barp": (
        lambda sd: barp(PAIRS, evaluators=WHO, sensitive_features=GROUPS, score_prior=sd),
        SD,
    ),
    "biases of barp": (
        lambda sd: barp(PAIRS, evaluators=WHO, sensitive_features=GROUPS, bias_prior=sd),
        SD,
    ),
    "crowd_bt": (lambda sd: crowd_bt(PAIRS, evaluators=WHO, score_prior=sd), SD),
    "reliability of crowd_bt": (
        lambda beta: crowd_bt(PAIRS, evaluators=WHO, reliability_prior=(beta, 1.0)),
        JUDGMENTS,
    ),
    "virtual node of crowd_bt": (
        lambda node: crowd_bt(PAIRS, evaluators=WHO, virtual_node=-1 if node < 1 else node),
        JUDGMENTS,
    ),
    "scores of factor_bt": (
        lambda sd: factor_bt(PAIRS, evaluators=WHO, sensitive_features=GROUPS, score_prior=sd),
        SD,
    ),
    "slopes of factor_bt": (
        lambda sd: factor_bt(PAIRS, evaluators=WHO, sensitive_features=GROUPS, slope_prior=sd),
        SD,
    ),
    "attention of factor_bt": (
        lambda beta: factor_bt(
            PAIRS, evaluators=WHO, sensitive_features=GROUPS, attention_prior=(1.0, beta)
        ),
        JUDGMENTS,
    ),
}


@pytest.mark.parametrize("wrong", [1e200, 1.1e6, 1e-200, float("nan"), float("inf")])
@pytest.mark.parametrize("name", OPTIONS)
def test_extreme_priors_are_refused_with_the_range(name: str, wrong: float) -> None:
    fit, said = OPTIONS[name]
    with pytest.raises(OptionError, match=said):
        fit(wrong)


@pytest.mark.parametrize("value", ["1e200", "1e-200", "nan", "inf"])
@pytest.mark.parametrize("model", ["bt", "barp", "crowdbt", "factorbt"])
def test_the_command_refuses_them_with_the_range(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str, value: str
) -> None:
    from comparity.cli import main

    rows = [f"i{a},i{b},j{k}" for (a, b), k in zip(PAIRS.tolist(), WHO.tolist(), strict=True)]
    (tmp_path / "c.csv").write_text("\n".join(["better,worse,judge", *rows]), "utf-8")
    items = "\n".join(["id,sex", *(f"i{k},{group}" for k, group in enumerate(GROUPS))])
    (tmp_path / "i.csv").write_text(items, "utf-8")
    words = ["rank", tmp_path / "c.csv", "--items", tmp_path / "i.csv", "--item", "id"]
    words += ["--sensitive", "sex", "--model", model]
    words += [] if model == "bt" else ["--evaluator", "judge"]
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in [*words, "--score-prior", value]])
    assert left.value.code == 2
    assert "1e-06 to 1000" in capsys.readouterr().err


@pytest.mark.parametrize("sd", [1e-6, 1e3])
def test_scores_at_the_ends_of_the_range_are_those_of_the_objective(sd: float) -> None:
    """Witness: scipy's simplex search over the same objective, in units of the prior."""
    better, worse = PAIRS.T

    def loss(z: np.ndarray) -> float:
        return -np.log(expit(sd * (z[better] - z[worse]))).sum() + z @ z / 2

    start = np.array([20.0, -10.0, -10.0]) / max(sd, 1.0)
    expected = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-15})
    found = bradley_terry(PAIRS, prior=sd, tolerance=1e-10)
    assert found.converged
    assert found.scores == pytest.approx(sd * expected.x, rel=1e-3, abs=1e-9)
