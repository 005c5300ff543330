"""A model against a bias-adjusted panel: what the error of the panel does to the audit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from comparity import barp, bradley_terry, pairwise_accuracy, rank_centrality
from comparity.errors import LengthMismatchError, OptionError
from comparity.inference.dyadic import CarriedGap
from comparity.pairwise.judge import audit_items, gaps_of_items
from comparity.pairwise.options import PairwiseOptions
from comparity.ranking.panel import MOST_REVERSALS, _AuditGaps, audit_against_panel
from comparity.ranking.result import BiasedRanking
from comparity.results.result import UNDECIDED, VIOLATED
from comparity.tables.features import labelled_items
from tests.calibration.panels import leaning_panel


@pytest.fixture(scope="module")
def judged() -> tuple[Any, BiasedRanking]:
    world = leaning_panel(np.random.default_rng(4), n_items=150, n_comparisons=5000)
    fit = barp(world.comparisons, evaluators=world.evaluators, sensitive_features=world.group)
    return world, fit


def test_the_audit_at_face_value_is_that_of_the_scores_as_labels(
    judged: tuple[Any, BiasedRanking],
) -> None:
    world, fit = judged
    found = audit_against_panel(fit, world.model, sensitive_features=world.group, draws=5)
    direct = pairwise_accuracy(fit.scores, world.model, sensitive_features=world.group)
    assert found.at_face_value.matrix == pytest.approx(direct.matrix)
    assert [test.gap for test in found.tests] == [test.gap for test in direct.tests]


def test_the_shift_adds_its_variance_by_differences(judged: tuple[Any, BiasedRanking]) -> None:
    """Half the squared change of the gap when one group moves by one standard error."""
    world, fit = judged
    h = float(fit.level_standard_errors[0])
    found = audit_against_panel(fit, world.model, sensitive_features=world.group, draws=5)
    gaps = [
        pairwise_accuracy(
            fit.scores + move * (world.group == "b"), world.model, sensitive_features=world.group
        )
        .standardised.tests[0]
        .gap
        for move in (h, -h)
    ]
    given = found.at_face_value.tests[0]
    expected = given.standard_error**2 + ((gaps[0] - gaps[1]) / 2) ** 2
    assert found.tests[0].standard_error ** 2 == pytest.approx(expected)
    assert found.tests[0].standard_error > 1.2 * given.standard_error


def test_a_test_without_a_verdict_shows_the_error_of_the_panel_too(
    judged: tuple[Any, BiasedRanking],
) -> None:
    """Of a group of a few items nothing is judged."""
    world, fit = judged
    few = np.where(np.arange(150) < 20, world.group, "a")
    known = {"sensitive_features": few, "draws": 5}
    alone, carried = (
        audit_against_panel(fit, world.model, shift_errors={"b": error}, **known)
        for error in (0.0, 1.0)
    )
    assert carried.tests[0].pivot is None
    assert alone.tests[0].standard_error == alone.at_face_value.tests[0].standard_error
    assert carried.tests[0].standard_error > 1.2 * alone.tests[0].standard_error


def test_of_groups_with_the_same_names_in_two_attributes_the_larger_error_counts() -> None:
    world = leaning_panel(np.random.default_rng(3), n_items=60, n_comparisons=2000)
    rare = np.where(np.arange(60) < 4, "b", "a")
    for kinds in ({"sex": world.group, "rare": rare}, {"rare": rare, "sex": world.group}):
        fit = barp(world.comparisons, evaluators=world.evaluators, sensitive_features=kinds)
        found = audit_against_panel(fit, world.model, sensitive_features=world.group, draws=2)
        assert found.shift_errors == {"b": max(fit.level_standard_errors)}


@pytest.mark.long
def test_reversals_are_those_of_two_draws_that_differ_by_the_errors(
    judged: tuple[Any, BiasedRanking],
) -> None:
    """A pair at distance d with error s of the difference is reversed with chance Phi(-d / s)."""
    from scipy.stats import norm

    world, fit = judged
    found = audit_against_panel(fit, world.model, sensitive_features=world.group, draws=200)
    inside = np.flatnonzero(world.group == "a")
    gap = np.abs(fit.scores[inside, None] - fit.scores[None, inside])
    error = np.hypot(fit.standard_errors[inside, None], fit.standard_errors[None, inside])
    upper = np.triu_indices(len(inside), 1)
    expected = norm.sf(gap[upper] / error[upper]).mean()
    assert found.reversals[0, 0] == pytest.approx(expected, abs=0.005)


def test_intervals_hold_the_gaps_that_are_not_rejected(judged: tuple[Any, BiasedRanking]) -> None:
    world, fit = judged
    found = audit_against_panel(fit, world.model, sensitive_features=world.group, draws=20)
    pivot = found.tests[0].pivot
    assert isinstance(pivot, CarriedGap)
    for end in pivot.interval(0.9)[:2]:
        assert pivot.p_value(end) == pytest.approx(0.1, abs=1e-6)
    assert pivot.p_value(pivot.given.gap + 0.9 * pivot.allowance) == 1.0


def test_a_panel_that_knows_too_little_gets_no_verdict() -> None:
    world = leaning_panel(np.random.default_rng(1), n_items=150, n_comparisons=400)
    fit = barp(world.comparisons, evaluators=world.evaluators, sensitive_features=world.group)
    found = audit_against_panel(
        fit, world.model - 3.0 * (world.group == "b"), sensitive_features=world.group, draws=20
    )
    assert np.nanmax(found.reversals) > MOST_REVERSALS
    assert found.finding == UNDECIDED
    assert "in the wrong order" in found.tests[0].reason


@pytest.mark.long
def test_leaning_judges_unadjusted_would_turn_the_verdict_round() -> None:
    """The model copies judges who lean; against the bias-adjusted panel that is seen."""
    world = leaning_panel(
        np.random.default_rng(2), n_items=300, n_comparisons=15_000, lean=1.5, noise=0.3
    )
    copied = world.model + 1.5 * (world.group == "b")
    given = barp(
        world.comparisons,
        evaluators=world.evaluators,
        sensitive_features=world.group,
        anchor="zero mean bias",
    )
    adjusted = barp(world.comparisons, evaluators=world.evaluators, sensitive_features=world.group)
    believed = pairwise_accuracy(given.scores, copied, sensitive_features=world.group)
    assert believed.finding != VIOLATED
    audit = audit_against_panel(adjusted, copied, sensitive_features=world.group, draws=20)
    assert audit.finding == VIOLATED


def test_an_unadjusted_panel_is_not_called_adjusted(judged: tuple[Any, BiasedRanking]) -> None:
    world, fit = judged
    known = {"sensitive_features": world.group, "draws": 5}
    given = audit_against_panel(bradley_terry(world.comparisons), world.model, **known)
    adjusted = audit_against_panel(fit, world.model, **known)
    assert given.audit.notion.endswith("the unadjusted panel")
    assert any("a bias that they share" in note for note in given.audit.notes)
    assert adjusted.audit.notion.endswith("the bias-adjusted panel")
    assert not any("a bias that they share" in note for note in adjusted.audit.notes)


def test_bad_requests_are_named(judged: tuple[Any, BiasedRanking]) -> None:
    world, fit = judged
    with pytest.raises(LengthMismatchError, match="items of the panel"):
        audit_against_panel(fit, world.model[:-1], sensitive_features=world.group)
    with pytest.raises(OptionError, match="draws"):
        audit_against_panel(fit, world.model, sensitive_features=world.group, draws=1)
    with pytest.raises(OptionError, match="shift_errors"):
        audit_against_panel(
            fit, world.model, sensitive_features=world.group, shift_errors={"c": 1.0}
        )


def test_a_group_nobody_compared_is_left_out_of_the_audit(
    judged: tuple[Any, BiasedRanking],
) -> None:
    world, _ = judged
    group = np.append(world.group.astype(object), "unseen")
    fit = barp(world.comparisons, evaluators=world.evaluators, sensitive_features=group)
    found = audit_against_panel(fit, np.append(world.model, 0), sensitive_features=group, draws=5)
    assert "unseen" not in found.shift_errors
    assert any("never compared or alone in their group: 1." in note for note in found.audit.notes)


def test_an_item_alone_in_its_group_is_left_out_of_the_audit(
    judged: tuple[Any, BiasedRanking],
) -> None:
    """Where the anchor puts it is not what the panel said of it."""
    world, _ = judged
    group = np.where(np.arange(150) == 3, "alone", world.group)
    fit = barp(world.comparisons, evaluators=world.evaluators, sensitive_features=group)
    found = audit_against_panel(fit, world.model, sensitive_features=group, draws=5)
    assert [*found.at_face_value.groups] == ["a", "b"]
    assert any("alone in their group: 1." in note for note in found.audit.notes)


@pytest.mark.parametrize("error", [-1.0, float("nan"), float("inf")])
def test_shift_errors_are_standard_errors(judged: tuple[Any, BiasedRanking], error: float) -> None:
    world, fit = judged
    named = {str(world.group[0]): error}
    with pytest.raises(OptionError, match="finite standard errors"):
        audit_against_panel(fit, world.model, sensitive_features=world.group, shift_errors=named)


def test_seats_and_other_attributes_do_not_matter_to_an_audit_of_groups() -> None:
    world = leaning_panel(np.random.default_rng(4), n_items=60, n_comparisons=2000)
    kinds = {"group": world.group, "town": np.array(["x", "y", "y"])[np.arange(60) % 3]}
    fit = barp(
        world.comparisons,
        evaluators=world.evaluators,
        sensitive_features=kinds,
        seats=np.arange(2000) % 2,
        seat_by_evaluator=True,
    )
    found = audit_against_panel(fit, world.model, sensitive_features=world.group, draws=5)
    assert found.shift_errors == {"b": fit.level_standard_errors[0]}


def test_groups_the_panel_does_not_know_are_refused(judged: tuple[Any, BiasedRanking]) -> None:
    """The error of the level of the panel's groups could not be carried."""
    world, fit = judged
    other = np.array(["x", "y"])[np.arange(len(world.model)) % 2]
    with pytest.raises(OptionError, match="shift_errors"):
        audit_against_panel(fit, world.model, sensitive_features=other)


def test_a_panel_without_standard_errors_is_refused(judged: tuple[Any, BiasedRanking]) -> None:
    world, _ = judged
    ranked = rank_centrality(world.comparisons)
    with pytest.raises(OptionError, match="no standard errors"):
        audit_against_panel(ranked, world.model, sensitive_features=world.group)


@pytest.mark.parametrize("levels", [2, 5, 200])
def test_gaps_without_their_errors_are_those_of_the_audit(levels: int) -> None:
    rng = np.random.default_rng(levels)
    label = rng.integers(0, levels, 300).astype(float)
    group = np.array(["a", "b", "c"])[rng.integers(0, 3, 300)]
    items = labelled_items(label, label + rng.normal(0, levels, 300), group)
    options = PairwiseOptions()
    expected = [test.gap for test in audit_items(items, options).tests]
    assert gaps_of_items(items, options) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("sd", "is_close"), [(0.45, True), (0.55, False)])
def test_draws_end_when_their_mean_is_known_to_a_tenth_of_the_gaps_error(
    sd: float, is_close: bool
) -> None:
    """The error of a mean of 25 draws is a fifth of theirs."""
    gaps = object.__new__(_AuditGaps)
    gaps._errors = np.array([1.0, np.nan])
    draws = np.tile([1.0, -1.0], 13)[:25]
    draws *= sd / draws.std(ddof=1)
    assert gaps._are_close(np.column_stack([draws, draws])) == is_close
