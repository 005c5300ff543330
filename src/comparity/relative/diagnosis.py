r"""From checked subjects and predictions to a judged bridge, refused in words where it is none.

Across a bridge the gap is estimated without bias if, within each group, the subjects of both
decision makers are drawn alike; predictions make the estimate precise, and carry it where the two
sets differ in what the features tell. So four things are looked at:

- *error*: a prediction no better than the mean is no bridge;
- *group calibration*: a mean error that differs between groups is what the biased bridge corrects
  and the unbiased bridge takes for a finding;
- *overlap*: within groups, whether subjects of the two sides can be told apart from the
  prediction and (the first principal components of) the features, by logistic regression on
  unseen rows. Its odds weigh the first's subjects to look like the second's; how few they then are
  worth (Kish), and how far DPD moves, says whether the prediction's error would cancel;
- *what is left*: how far DPD would move on if squares and cubes of features were made alike, too,
  by a regression of the first's errors on them within each group.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from comparity.counts.differences import DecisionRange, Moments
from comparity.errors import OptionError
from comparity.inference.means import compare_means
from comparity.relative.bridge_checks import (
    Leaks,
    SubjectOverlap,
    find_leaks,
    leak_notes,
    measure_overlap,
)
from comparity.relative.bridged_slopes import compare_slopes
from comparity.relative.gaps import question_of_bridge
from comparity.relative.judge import audit_of, judge_questions, notes_on_ranges
from comparity.relative.options import BridgeOptions
from comparity.relative.prediction import (
    BridgeErrors,
    Foretold,
    Predictions,
    bridge_errors,
    regressor_of,
)
from comparity.relative.result import BridgeDiagnosis, BridgedParity
from comparity.relative.subjects import DecidedSubjects
from comparity.results.result import UNDECIDED

Floats = NDArray[np.float64]

LEAST_EXPLAINED = 0.0
"""A prediction must explain more of the variance than this."""

MOST_SEPARABLE = 0.8
"""Above this area under the curve the two sets of subjects are too different."""

LEAST_EFFECTIVE = 0.2
"""Below this effective share they are, too."""

MEMORISED = 0.8
"""A model whose error in sample is a smaller share of that on unseen decisions has memorised them.

For ridge regression with 20 rows to a feature the share is above 0.95.
"""

MOST_LEFT = 0.5
"""Share of its standard error by which DPD may be off: a test at 0.05 then rejects in 0.08."""

INFLATED = 1.5
"""A false-alarm rate this many times the promised one is none to judge by."""

GIVEN = "given predictions"

ALIKE = (
    "Within each group, the subjects of both decision makers are taken to be drawn alike, up to "
    "what the features tell; who was sent to whom must not depend on anything else."
)
LINE = (
    "For a number, DPD is the gap between subjects two of its standard deviations apart, in "
    "standard deviations about the lines of both sides. The diagnosis is that of those up to the "
    "median of the number and those above it."
)
ATTENUATED = (
    "DPD divides by the errors of the prediction on both sides, as a rule larger than the "
    "differences of two decisions about one subject: it is then nearer to zero than on the same "
    "subjects, so the margin is wider in effect."
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BuiltBridge:
    """A model of the first's decisions, with what depends on nothing that the second decided.

    Attributes
    ----------
    foretold : Foretold
        Features, or predictions made.
    predictions : Predictions
        Those that gaps are estimated from.
    unseen : Predictions or None
        Predictions about unseen subjects, where `predictions` were made in sample.
    overlap : SubjectOverlap
        How alike both sets of subjects are.
    source : str
        What the errors on the first's side are taken on.
    """

    foretold: Foretold
    predictions: Predictions
    unseen: Predictions | None
    overlap: SubjectOverlap
    source: str

    def find_leaks(self, sides: DecidedSubjects, names: tuple[str, str]) -> Leaks:
        """Return copies of decisions among the features, by decision maker."""
        if self.foretold.features is None:
            return {}
        return {
            name: find_leaks(own, decided, self.foretold.names)
            for name, own, decided in zip(
                names, self.foretold.features, sides.decisions, strict=True
            )
        }


def build_bridge(
    sides: DecidedSubjects, foretold: Foretold, regressor: Any, options: BridgeOptions
) -> BuiltBridge:
    """Predict the first's decisions about everybody, and see how alike both sides' subjects are."""
    if sides.n_shared and foretold.predictions is None and options.errors != "cross-fitted":
        why = "the model has seen subjects whom both decided about"
        raise OptionError("errors", options.errors, ["'cross-fitted'"], why)
    made, unseen = foretold.predict(sides, regressor_of(regressor), options)
    return BuiltBridge(
        foretold=foretold,
        predictions=made,
        unseen=unseen,
        overlap=measure_overlap(sides, made, foretold.features, options.seed or 0),
        source=GIVEN if foretold.predictions is not None else options.errors,
    )


def audit_sides(
    sides: DecidedSubjects,
    built: BuiltBridge,
    options: BridgeOptions,
    *,
    names: tuple[str, str],
    attribute: str,
    bridge: str,
    numbers: tuple[Floats, Floats] | None = None,
    **data: Any,
) -> BridgedParity:
    """Test across a bridge.

    Parameters
    ----------
    sides : DecidedSubjects
        Decisions and groups of both.
    built : BuiltBridge
        The model between them.
    options : BridgeOptions
        How to judge.
    names : (str, str)
        The decision makers.
    attribute, bridge : str
        The sensitive attribute, and ``"biased"`` or ``"unbiased"``.
    numbers : pair of ndarray, optional
        The attribute of every subject, where it is a number.
    **data
        Facts about the data, for the provenance.
    """
    who = {"first": names[0], "second": names[1], "attribute": attribute, "label": ""}
    unbiased = bridge == "unbiased"
    robust = built.source == "cross-fitted" and not unbiased and not sides.n_shared
    overlap = built.overlap
    if numbers is None:
        errors = bridge_errors(sides, built.predictions, overlap.reweighed if robust else None)
        question, scale = question_of_bridge(errors, who, unbiased=unbiased)
    else:
        known = built.predictions, built.foretold.features
        found = compare_slopes(sides, numbers, *known, who, robust=robust, seed=options.seed or 0)
        question, scale = found.question, found.scale
        overlap = replace(overlap, moved=found.moved)
    diagnosis = diagnose(
        sides,
        built.predictions,
        options,
        overlap=overlap,
        unseen=built.unseen,
        scale=scale,
        unbiased=unbiased,
        standard_error=question.test.standard_error,
    )
    leaks = built.find_leaks(sides, names)
    n = sum(sides.sizes)
    tests = judge_questions([question], options, n)
    if not diagnosis.carries:
        refused = f"no finding: {' Also, '.join(diagnosis.refusals)}"
        tests = (replace(tests[0], finding=UNDECIDED, reason=refused, needed=None),)
    audit = audit_of(
        tests,
        options,
        data,
        n=n,
        groups=sides.groups if numbers is None else (),
        notes=[
            *leak_notes(leaks, diagnosis.explained),
            *([] if numbers is None else [LINE]),
            *_notes(sides, names, bridge, built.source),
        ],
        design=f"different subjects, joined by the {bridge} bridge, errors {built.source}",
    )
    return BridgedParity(
        audit=audit,
        contrasts=(question.with_finding(tests[0]),),
        bridge=bridge,
        errors_from=built.source,
        scale=scale,
        diagnosis=replace(diagnosis, leaks={name: one for name, one in leaks.items() if one}),
    )


def _notes(sides: DecidedSubjects, names: tuple[str, str], bridge: str, source: str) -> list[str]:
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


def diagnose(
    subjects: DecidedSubjects,
    predictions: Predictions,
    options: BridgeOptions,
    *,
    overlap: SubjectOverlap,
    unseen: Predictions | None,
    scale: float,
    unbiased: bool,
    standard_error: float,
) -> BridgeDiagnosis:
    """Diagnose a bridge: how good its predictions are, and how alike both sets of subjects.

    Parameters
    ----------
    subjects : DecidedSubjects
    predictions : Predictions
        Those the gap was estimated from.
    options : BridgeOptions
        How the gap is judged; the seed draws the parts in which subjects are told apart.
    overlap : SubjectOverlap
        How alike both sets of subjects are.
    unseen : Predictions or None
        Predictions about unseen subjects, where `predictions` were made in sample.
    scale : float
        What DPD divides by.
    unbiased : bool
        Whether the errors on the first's side were left out.
    standard_error : float
        Of DPD.
    """
    errors = bridge_errors(subjects, predictions)
    honest = bridge_errors(subjects, unseen) if unseen is not None else errors
    own = [np.concatenate([errors.all_of(side, place) for place in (0, 1)]) for side in (0, 1)]
    unseen_own = np.concatenate([honest.all_of(0, place) for place in (0, 1)])
    moments = [Moments.of(honest.all_of(0, place)) for place in (0, 1)]
    found = BridgeDiagnosis(
        explained=1 - float(np.mean(unseen_own**2) / subjects.decisions[0].var()),
        errors=(_root_mean_square(own[0]), _root_mean_square(own[1])),
        calibration=dict(zip(subjects.groups, (one.mean for one in moments), strict=True)),
        calibration_p=compare_means(moments[1], moments[0], null="").p_value,
        separability=overlap.separability,
        effective_share=overlap.effective_share,
        shift=-overlap.moved / scale if scale > 0 and not unbiased else 0.0,
        left=-overlap.left.gap / scale if scale > 0 and not unbiased else 0.0,
        left_p=_normal_p_value(*overlap.left),
        optimism=math.nan if unseen is None else _root_ratio(own[0], unseen_own),
        ignored=false_alarms_of_ignored_fit(honest, options.alpha) if unbiased else math.nan,
        n_shared=subjects.n_shared,
    )
    refusals = _refusals(found, options, standard_error, unbiased=unbiased)
    return replace(found, refusals=tuple(refusals))


def false_alarms_of_ignored_fit(errors: BridgeErrors, alpha: float) -> float:
    r"""Return how often a test at `alpha` alarms for nothing if it ignores the error of the fit.

    A model that knows the group estimates its group means from the first's decisions, with the
    variance :math:`V_0 = \sum_a s^2(E_0(a)) / n_0(a)`; a test that knows of
    :math:`V_1 = \sum_a s^2(E_1(a)) / n_1(a)` alone rejects with probability
    :math:`2 \Phi(-z_{\alpha/2} / \sqrt{1 + V_0 / V_1})`.
    """
    first, second = (
        sum(
            float(own.var(ddof=1)) / len(own)
            for own in (errors.all_of(side, place) for place in (0, 1))
        )
        for side in (0, 1)
    )
    z = -ndtri(alpha / 2)
    return float(2 * ndtr(-z / math.sqrt(1 + first / second))) if second > 0 else 1.0


def _root_mean_square(errors: Floats) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def _root_ratio(first: Floats, second: Floats) -> float:
    larger = float(np.mean(second**2))
    return math.sqrt(float(np.mean(first**2)) / larger) if larger > 0 else 1.0


def _normal_p_value(gap: float, variance: float) -> float:
    return float(2 * ndtr(-abs(gap) / math.sqrt(variance))) if variance > 0 else 1.0


def _refusals(
    found: BridgeDiagnosis, options: BridgeOptions, standard_error: float, *, unbiased: bool
) -> Iterator[str]:
    alpha = options.alpha
    if found.explained <= LEAST_EXPLAINED:
        yield (
            "predictions are no better than the mean of the first's decisions (they explain "
            f"{found.explained:.2f} of the variance): there is no bridge."
        )
    if found.optimism < MEMORISED:
        yield (
            "the model has memorised the decisions it was fitted to (its error on them is "
            f"{found.optimism:.2f} of that on others), so they cannot show its leanings; take "
            "errors by cross-fitting."
        )
    if unbiased and found.calibration_p <= alpha:
        means = ", ".join(f"{group}: {mean:+.3g}" for group, mean in found.calibration.items())
        yield (
            "the prediction does not lean as the first decision maker does (mean error by group "
            f"{means}, p {found.calibration_p:.2g}); the biased bridge corrects for that."
        )
    if unbiased and found.ignored > INFLATED * alpha:
        yield (
            "the error of the model's own fit is ignored, which raises the false-alarm rate from "
            f"{alpha:g} to about {found.ignored:.2f}; the biased bridge takes it in."
        )
    for group, area in found.separability.items():
        share = found.effective_share[group]
        if area > MOST_SEPARABLE or share < LEAST_EFFECTIVE:
            yield (
                f"the subjects of {group!r} are not the same kind on both sides: told apart with "
                f"an area under the curve of {area:.2f}, effective share {share:.2f}."
            )
    if abs(found.shift) > options.margin:
        yield (
            "weighting the first's subjects to look like the second's moves DPD by "
            f"{found.shift:+.2f}, more than the margin: the model errs differently on the two "
            "sets of subjects."
        )
    if found.left_p <= 2 * alpha and abs(found.left) > MOST_LEFT * standard_error:
        yield (
            "the model's errors bend with features whose spread differs on the two sides, which "
            f"weights do not follow: DPD would move by another {found.left:+.2f} (p "
            f"{found.left_p:.2g}); a model that bends would carry further."
        )
