"""From checked subjects and predictions to a judged bridge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from comparity.counts.differences import DecisionRange
from comparity.errors import NoBridgeError, OptionError
from comparity.inference.differences import magnitude, one_sided_p_value
from comparity.relative.bridges.diagnosis import diagnose
from comparity.relative.bridges.gaps import biased_estimate, biased_gap
from comparity.relative.bridges.prediction import (
    REGRESSORS,
    BridgeErrors,
    Predictions,
    bridge_errors,
    named_regressor,
    predict_by_parts,
    predict_held_out,
    predict_in_sample,
    second_moments,
)
from comparity.relative.bridges.result import BridgeDiagnosis, BridgedParity
from comparity.relative.bridges.subjects import DecidedSubjects
from comparity.relative.judge import (
    Question,
    audit_of,
    contrast_of,
    direction,
    group_question,
    judged,
    notes_on_ranges,
    null_of,
)
from comparity.relative.options import BridgeOptions
from comparity.results.findings import UNDECIDED
from comparity.tables.columns import check_option

__all__ = ["Foretold", "audit_sides"]

GIVEN = "given predictions"

ALIKE = (
    "Within each group, the subjects of both decision makers are taken to be drawn alike, up to "
    "what the features tell; who was sent to whom must not depend on anything else."
)
ATTENUATED = (
    "DPD divides by the errors of the prediction on both sides, as a rule larger than the "
    "differences of two decisions about one subject: it is then nearer to zero than on the same "
    "subjects, and the margin is the wider for it."
)
IN_SAMPLE = (
    "Errors were taken on the decisions the model was fitted to, as in the paper: right for a "
    "stiff model only."
)
TAKEN = (
    "Predictions were taken as given; they must not have been fitted to the very decisions they "
    "are compared with, unless the model is stiff."
)
STRANGERS = (
    "WARNING: no id occurs on both sides, so nobody counts as decided about by both. Ids are "
    "compared as they are written: 007 is not 7."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """What predictions are made from, or predictions made."""

    features: tuple[Any, Any] | None = None
    predictions: Predictions | None = None

    def __post_init__(self) -> None:
        if (self.features is None) == (self.predictions is None):
            raise NoBridgeError(both=self.features is not None)


def audit_sides(
    sides: DecidedSubjects,
    foretold: Foretold,
    regressor: Any,
    options: BridgeOptions,
    *,
    names: tuple[str, str],
    attribute: str,
    bridge: str,
    **data: Any,
) -> BridgedParity:
    """Test across a bridge.

    Parameters
    ----------
    sides : DecidedSubjects
        Decisions and groups of both.
    foretold : Foretold
        Features, or predictions made.
    regressor : scikit-learn regressor or str
        What predicts from features.
    options : BridgeOptions
        How to build and judge.
    names : (str, str)
        The decision makers.
    attribute, bridge : str
        The sensitive attribute, and ``"biased"`` or ``"unbiased"``.
    **data
        Facts about the data, for the provenance.
    """
    if sides.n_shared and foretold.predictions is None and options.errors != "cross-fitted":
        why = "the model has seen subjects whom both decided about"
        raise OptionError("errors", options.errors, ["'cross-fitted'"], why)
    if isinstance(regressor, str):
        check_option("regressor", regressor, REGRESSORS)
        regressor = named_regressor(regressor)
    elif isinstance(regressor, type) or not all(
        hasattr(regressor, method) for method in ("fit", "predict", "get_params")
    ):
        choices = [*map(repr, REGRESSORS), "an instance of a scikit-learn regressor"]
        raise OptionError("regressor", regressor, choices)
    made, unseen = _predicted(sides, foretold, regressor, options)
    found = bridge_errors(sides, made)
    who = {"first": names[0], "second": names[1], "attribute": attribute, "label": ""}
    question, scale = _question(found, who, unbiased=bridge == "unbiased")
    diagnosis = diagnose(
        sides,
        made,
        features=foretold.features,
        unseen=unseen,
        scale=scale,
        unbiased=bridge == "unbiased",
        alpha=options.alpha,
        margin=options.margin,
        seed=options.seed or 0,
    )
    source = GIVEN if foretold.predictions is not None else options.errors
    return _result(question, diagnosis, options, sides, bridge, source, scale, data)


def _predicted(
    sides: DecidedSubjects, foretold: Foretold, regressor: Any, options: BridgeOptions
) -> tuple[Predictions, Predictions | None]:
    """Return predictions, and such about unseen subjects where these are not."""
    if foretold.predictions is not None:
        return foretold.predictions, None
    features, rng = foretold.features, np.random.default_rng(options.seed)
    assert features is not None
    if options.errors == "held-out":
        return predict_held_out(sides, features, regressor, share=options.held_out, rng=rng), None
    parts = predict_by_parts(sides, features, regressor, folds=options.folds, rng=rng)
    if options.errors == "training":
        return predict_in_sample(sides, features, regressor, rng=rng), parts
    return parts, None


def _question(
    found: BridgeErrors, who: dict[str, str], *, unbiased: bool
) -> tuple[Question, float]:
    """Ask about the gap; also return what DPD divides by."""
    reference, group = found.groups
    who = {**who, "group": group, "reference": reference}
    null = null_of(who, f"{group} = {reference}", several=False)
    if unbiased:
        base, other = second_moments(found)
        question = group_question(other, base, names=who, null=null)
        size = question.facts["dpd"]
        return question, question.facts["gap"] / size if size else 1.0
    estimate = biased_estimate(found)
    test = biased_gap(found, null=null)
    facts = {
        "n": test.n,
        "means": estimate.means,
        "gap": estimate.gap,
        "dpt": estimate.statistic,
        "dof": estimate.dof,
        "p_value": test.p_value,
        "p_one_sided": one_sided_p_value(estimate.statistic, estimate.dof),
        "dpd": test.gap,
        "dpd_total": float("nan"),
        "magnitude": magnitude(test.gap),
        "direction": direction(test.gap, **who),
    }
    return Question(test=test, facts={**who, **facts}), estimate.scale


def _result(
    question: Question,
    diagnosis: BridgeDiagnosis,
    options: BridgeOptions,
    sides: DecidedSubjects,
    bridge: str,
    source: str,
    scale: float,
    data: dict[str, Any],
) -> BridgedParity:
    tests = judged([question], options, sum(sides.sizes))
    if not diagnosis.carries:
        refused = f"no finding: {' Also, '.join(diagnosis.refusals)}"
        tests = (replace(tests[0], finding=UNDECIDED, reason=refused, needed=None),)
    audit = audit_of(
        tests,
        options,
        n=sum(sides.sizes),
        groups=sides.groups,
        notes=_notes(sides, question, bridge, source),
        raters=2,
        data=data,
    )
    design = f"different subjects, joined by the {bridge} bridge, errors {source}"
    return BridgedParity(
        audit=replace(audit, design=design),
        contrasts=(contrast_of(question, tests[0]),),
        bridge=bridge,
        errors_from=source,
        scale=scale,
        diagnosis=diagnosis,
    )


def _notes(sides: DecidedSubjects, question: Question, bridge: str, source: str) -> list[str]:
    names = (question.facts["first"], question.facts["second"])
    ranges = {
        name: DecisionRange(
            low=float(own.min()),
            high=float(own.max()),
            mean=float(own.mean()),
            deviation=float(own.std(ddof=1)),
        )
        for name, own in zip(names, sides.decisions, strict=True)
    }
    notes = [ALIKE, ATTENUATED, *notes_on_ranges(ranges)]
    if source == GIVEN:
        notes.append(TAKEN)
    if source == "training" and bridge == "biased":
        notes.append(IN_SAMPLE)
    if sides.with_ids and not sides.n_shared:
        notes.append(STRANGERS)
    if sides.n_shared:
        notes.append(
            f"{sides.n_shared:,} subjects were decided about by both; their two decisions are "
            "compared directly and joined with the others."
        )
    return notes
