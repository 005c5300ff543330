"""Items named by text give the ranking that their positions give.

Anchors move what data cannot tell, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars
import pytest
from scipy.special import expit
from scipy.stats import norm

from comparity import barp, bradley_terry, elo, win_rate
from comparity.datasets.simulated_panels import simulate_comparisons
from comparity.errors import (
    AnchorError,
    MissingValueError,
    OptionError,
    PositionError,
    SelfComparisonError,
)
from comparity.ranking.anchors import anchor_of

NAMES = np.array(["zoe", "ann", "bob"])
POSITIONS = np.array([[0, 1], [1, 2], [2, 0], [0, 1], [1, 2]])


@pytest.mark.parametrize("rank", [bradley_terry, elo, win_rate])
@pytest.mark.parametrize("kind", [np.asarray, lambda x: x.tolist(), lambda x: x.astype(object)])
def test_names_give_what_positions_give(
    rank: Callable[..., Any], kind: Callable[[Any], Any]
) -> None:
    by_name, by_position = rank(kind(NAMES[POSITIONS])), rank(POSITIONS)
    assert by_name.items.tolist() == ["ann", "bob", "zoe"]
    order = [1, 2, 0]
    assert by_name.scores == pytest.approx(by_position.scores[order])


def test_columns_of_a_frame_may_hold_names() -> None:
    better, worse = NAMES[POSITIONS].T
    frame = polars.DataFrame({"better": better.tolist(), "worse": worse.tolist()})
    assert bradley_terry(frame).items.tolist() == ["ann", "bob", "zoe"]


@pytest.mark.parametrize(
    ("pairs", "error"),
    [
        ([["a", ""]], MissingValueError),
        ([["a", "a"]], SelfComparisonError),
        (np.array([["a", None]], dtype=object), PositionError),
        (np.array([["a", 1.5]], dtype=object), PositionError),
    ],
)
def test_what_is_no_pair_of_names_is_refused(pairs: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        bradley_terry(pairs)


def test_groups_by_position_do_not_go_with_names() -> None:
    with pytest.raises(PositionError):
        barp(NAMES[POSITIONS], evaluators=list("vwvwv"), sensitive_features=["x", "y", "x"])


WORLD = simulate_comparisons(
    rng=np.random.default_rng(1),
    bias=norm(1.5, 1),
    scores=norm(0, 1.5),
    groups={"sex": 12},
    n_items=30,
    n_evaluators=8,
    pairs=300,
)


def fitted(anchor: Any, **choices: Any) -> Any:
    return barp(
        WORLD.comparisons,
        evaluators=WORLD.evaluators,
        sensitive_features=WORLD.groups,
        anchor=anchor,
        score_prior=2.0,
        tolerance=1e-8,
        **choices,
    )


def test_equal_group_means_and_zero_mean_bias_agree_on_everything_else() -> None:
    means, zero = fitted("equal group means"), fitted("zero mean bias")
    assert means.centred_bias == pytest.approx(zero.bias, abs=1e-7)
    assert means.centred_standard_errors == pytest.approx(zero.bias_standard_errors, rel=1e-4)
    assert means.log_likelihood == pytest.approx(zero.log_likelihood, abs=1e-6)
    member = WORLD.membership[:, 0]
    shift = means.mean_bias[0] * (member - member.mean())
    assert zero.scores == pytest.approx(means.scores + shift, abs=1e-7)
    assert zero.mean_bias[0] == pytest.approx(0, abs=1e-12)
    assert zero.scores.mean() == pytest.approx(0, abs=1e-12)


def test_trusted_evaluators_have_no_bias_and_fix_the_others() -> None:
    found = fitted([2, 5])
    assert found.bias[[2, 5], 0].tolist() == [0, 0]
    assert np.isnan(found.p[[2, 5], 0]).all()
    others = [0, 1, 3, 4, 6, 7]
    # Comparisons of the trusted tell how far the groups are apart; both lean by about the same.
    gap = WORLD.bias[[2, 5], 0].mean()
    off = found.bias[others, 0] - (WORLD.bias[others, 0] - gap)
    assert np.abs(off / found.bias_standard_errors[others, 0]).max() < 4
    assert "2, 5 have no bias" in found.anchor


def test_a_star_stands_for_any_letters_of_names_but_of_a_name_that_has_one() -> None:
    names = np.array(["human-1", "human-22", "llm", "human*", "h?"])

    def trusted(*given: str) -> list[str]:
        return names[anchor_of(list(given), names).trusted].tolist()

    assert trusted("human-*") == ["human-1", "human-22"]
    assert trusted("human*") == ["human*"]
    assert trusted("*2", "llm") == ["human-22", "llm"]
    assert trusted("h?*") == ["h?"]
    with pytest.raises(AnchorError, match=r"people\* judged nothing"):
        trusted("people*")


def test_one_trusted_evaluator_is_the_reference_of_the_others() -> None:
    """Without priors on biases, trusting one subtracts its bias from all others."""
    means, one = fitted("equal group means", bias_prior=1e3), fitted([3], bias_prior=1e3)
    expected = means.bias[:, 0] - means.bias[3, 0]
    # The scores' prior is about group means, estimated here and fixed there.
    assert one.bias[:, 0] == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    ("anchor", "error", "words"),
    [
        ("equal", OptionError, "'zero mean bias'"),
        (3, OptionError, "anchor cannot be 3"),
        (["nobody"], AnchorError, "nobody judged nothing"),
        ([], AnchorError, "nobody is named"),
        (list(range(8)), AnchorError, "that is everybody"),
    ],
)
def test_anchors_that_hold_nothing_are_refused(
    anchor: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        fitted(anchor)


def test_the_anchor_is_named_in_the_result() -> None:
    assert fitted("zero mean bias").to_dict()["anchor"].startswith("zero mean bias")


def test_nothing_is_missing_of_a_trusted_evaluator() -> None:
    """Their biases are known to be nothing, so that no prior is needed for them."""
    found = fitted([2, 5], bias_prior=None)
    assert not len(found.diagnosis.silent)
    assert not any("bears on" in note for note in found.notes)


@pytest.mark.parametrize(("choices", "noted"), [({}, True), ({"corrected": False}, False)])
def test_a_correction_is_named(choices: dict[str, Any], noted: bool) -> None:
    found = fitted("equal group means", sharpness="equal", **choices)
    assert any("corrected" in note for note in found.notes) is noted
    assert found.provenance["corrected"] is noted


def test_trusted_evaluators_who_always_chose_one_group_leave_a_finite_level() -> None:
    better, worse = (WORLD.groups["sex"][side] for side in WORLD.comparisons.T)
    kept = (WORLD.evaluators != 2) | (better == worse) | (better == "b")
    found = barp(
        WORLD.comparisons[kept],
        evaluators=WORLD.evaluators[kept],
        sensitive_features=WORLD.groups,
        anchor=[2],
    )
    assert found.converged
    assert "levels of groups" in [prior.of for prior in found.priors]
    # What is known of the level is little more than the prior.
    assert 1 < found.level_standard_errors[0] < 10


def test_trusted_evaluators_who_compared_no_groups_are_refused() -> None:
    better, worse = (WORLD.groups["sex"][side] for side in WORLD.comparisons.T)
    kept = (WORLD.evaluators != 2) | (better == worse)
    with pytest.raises(AnchorError, match="no comparison of theirs tells how sex 'b'"):
        barp(
            WORLD.comparisons[kept],
            evaluators=WORLD.evaluators[kept],
            sensitive_features=WORLD.groups,
            anchor=[2],
        )


def test_errors_with_trusted_evaluators_are_those_of_the_inverse() -> None:
    """The scores' prior is about group means here, so that a common shift of all scores is free."""
    found = fitted([2, 5], bias_prior=1.5, corrected=False)
    n, m = len(WORLD.scores), len(WORLD.bias)
    inside = (WORLD.sensitive_features == "b").astype(float)
    rows, (better, worse) = np.arange(len(WORLD.comparisons)), WORLD.comparisons.T
    design = np.zeros((len(rows), n + m))
    design[rows, better], design[rows, worse] = 1, -1
    trusted = np.isin(WORLD.evaluators, [2, 5])
    design[rows, n + WORLD.evaluators] = np.where(trusted, 0, inside[better] - inside[worse])
    chance = expit(design @ np.concatenate([found.scores, found.bias[:, 0]]))
    hessian = design.T @ ((chance * (1 - chance))[:, None] * design)
    basis = np.column_stack([np.ones(n), inside])
    hessian[:n, :n] += (np.eye(n) - basis @ np.linalg.pinv(basis)) / 2.0**2
    hessian[n:, n:] += (np.eye(m) - 1 / m) / 1.5**2
    errors = np.sqrt(np.diagonal(np.linalg.pinv(hessian, hermitian=True)))
    others = np.setdiff1d(np.arange(m), [2, 5])
    assert found.standard_errors == pytest.approx(errors[:n], rel=1e-3)
    assert found.bias_standard_errors[others, 0] == pytest.approx(errors[n:][others], rel=1e-3)
