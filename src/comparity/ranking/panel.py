"""Audit a model against a panel whose evaluators' bias was estimated and removed.

The panel's bias-adjusted scores are the labels of an audit of all pairs. They are estimates, and
what their error does to each gap is carried into its test (:mod:`comparity.inference.dyadic`).
Where too many pairs would be the other way round in truth, there is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import cell_counts
from comparity.errors import LengthMismatchError, OptionError
from comparity.errors.spelling import visible
from comparity.inference.agreement_tests import contrasts_of_groups
from comparity.inference.dyadic import CarriedGap
from comparity.inference.gap_tests import GapTest
from comparity.inference.pivots import DyadicGap, SharedGap
from comparity.pairwise.judge import audit_items, gaps_of_items
from comparity.pairwise.options import PairwiseOptions
from comparity.pairwise.result import PairwiseAccuracy
from comparity.ranking.intervals import errors_of_items
from comparity.ranking.result import BiasedRanking, Ranking
from comparity.reports.sections import Grid, rate, signed
from comparity.results.audit import Audit, JudgedGap, JudgedResult
from comparity.results.judging import judge, overall_finding
from comparity.results.plain import INLINE
from comparity.results.result import EXIT_STATUS
from comparity.tables.features import LabelledItems, as_array, labelled_items, one_attribute
from comparity.tables.frames import text_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section

MOST_REVERSALS = 0.15
"""With a larger share of pairs of a cell in the wrong order, nothing is said about the cell."""

ALLOWANCE_FACTOR = 2.0
"""How often the observed effect of item errors is allowed for; see the calibration tests."""

FEWEST_DRAWS = 10
"""So often errors are drawn at least, to see how much draws differ."""

CLOSE = 0.1
"""Error of a mean over draws, in standard errors of its gap, at which drawing ends: the allowance
then moves an interval by a tenth of its error at most one time in three."""

TRUSTING = (
    "Evaluators' biases are not adjusted for: a bias that they share is in the reference, and in "
    "no interval or p value."
)
LEFT_OUT = "Items left out, never compared or alone in their group"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PanelAudit(JudgedResult):
    """An audit of all pairs against a panel's scores, whose error is carried into every test.

    Attributes
    ----------
    audit : Audit
        The audit that decides.
    at_face_value : PairwiseAccuracy
        The same if the panel's scores were the truth: the matrix, and audits without their error.
    reversals : ndarray, (K, K)
        Share of pairs expected to be the other way round in truth, by the groups of the item the
        panel puts higher and of the other one.
    shift_errors : mapping of str to float
        Standard error of the level of each group in the panel's scores.
    allowances : tuple of float
        How far the errors of single items may have moved each gap.
    draws, seed : int
        How often errors were drawn to see that, and from which seed.
    """

    audit: Audit = field(metadata=INLINE)
    at_face_value: PairwiseAccuracy
    reversals: NDArray[np.float64]
    shift_errors: Mapping[str, float]
    allowances: tuple[float, ...]
    draws: int
    seed: int

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        shown = self.audit.section()
        return replace(shown, grids=(*shown.grids, *_panel_grids(self)))

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each test, as a frame of the named engine."""
        return self.audit.to_frame(backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every gap with the interval it was judged by and the margin."""
        return self.audit.plot(ax)


def audit_against_panel(
    panel: Ranking,
    y_score: Any,
    *,
    sensitive_features: Any,
    shift_errors: Mapping[str, float] | None = None,
    draws: int = 100,
    seed: int = 0,
    alpha: float = 0.05,
    margin: float = 0.05,
) -> PanelAudit:
    """Test whether a model agrees with a bias-adjusted panel equally often in all kinds of pairs.

    Parameters
    ----------
    panel : Ranking
        Scores of the items with their standard errors, as :func:`comparity.barp` returns them.
    y_score : array-like
        The model's score of each item, in the order of the panel's items.
    sensitive_features : array-like
        The group of each item.
    shift_errors : mapping of str to float, optional
        Standard error of the common level of each group; the panel's own where it knows biases.
    draws : int
        How often errors are drawn at most to see what they do; ten times where that tells it.
    seed : int
        Seed of these draws.
    alpha, margin : float
        As in :func:`comparity.separation`.

    Returns
    -------
    PanelAudit
        Its `audit` decides; `at_face_value` is the same without the error of the panel.
    """
    if not isinstance(draws, int) or draws < 2:
        raise OptionError("draws", draws, ["a whole number, at least 2"])
    options = PairwiseOptions(alpha=alpha, margin=margin, seed=seed)
    items, known = _compared_items(panel, as_array(y_score), one_attribute(sensitive_features))
    shifts = _shifts(panel, items, shift_errors, one_attribute(sensitive_features)[~known])
    at_face_value = audit_items(items, options)
    gaps = _AuditGaps(items, options, at_face_value)
    moved, reversals, made = gaps.with_errors(
        # What items of a group have in common is in the error of its level.
        errors_of_items(panel.standard_errors, panel.shared_errors)[known],
        draws,
        np.random.default_rng(seed),
    )
    allowance = ALLOWANCE_FACTOR * np.abs(moved - gaps.observed)
    tests = [
        _carry_error(test, float(variance), float(slack), worst)
        for test, variance, slack, worst in zip(
            at_face_value.tests,
            gaps.shift_variance(shifts),
            allowance,
            gaps.worst(reversals),
            strict=True,
        )
    ]
    return PanelAudit(
        audit=_audit(at_face_value.audit, tests, panel, left_out=int((~known).sum())),
        at_face_value=at_face_value,
        reversals=reversals,
        shift_errors=shifts,
        allowances=tuple(float(a) for a in allowance),
        draws=made,
        seed=seed,
    )


def _compared_items(
    panel: Ranking, score: NDArray[Any], group: NDArray[Any]
) -> tuple[LabelledItems, NDArray[np.bool_]]:
    """Return the items compared, labelled by the panel's scores, and which these are."""
    for name, column in {"y_score": score, "sensitive_features": group}.items():
        if len(column) != len(panel.scores):
            raise LengthMismatchError({"items of the panel": len(panel.scores), name: len(column)})
    known = np.isfinite(panel.standard_errors)
    if not known.any():
        why = f"{panel.model} has no standard errors to carry into the audit"
        raise OptionError("panel", panel.model, ["barp or bradley_terry"], why)
    known[panel.diagnosis.uncompared] = False
    return labelled_items(panel.scores[known], score[known], group[known]), known


def _shifts(
    panel: Ranking, items: LabelledItems, given: Mapping[str, float] | None, left_out: NDArray[Any]
) -> dict[str, float]:
    """Return the standard errors of the levels of the groups that are in pairs."""
    # A group of which no item was compared is in no pair, and its level moves nothing.
    unseen = {text_of(name) for name in left_out.tolist()} - {*items.groups}
    shifts = dict(given or _shift_errors(panel, {*items.groups, *unseen}))
    shifts = {name: error for name, error in shifts.items() if name not in unseen}
    _check_shifts(shifts, items.groups)
    return shifts


class _AuditGaps:
    """The gaps of an audit as functions of its labels."""

    def __init__(
        self, items: LabelledItems, options: PairwiseOptions, found: PairwiseAccuracy
    ) -> None:
        self.items, self.options = items, options
        self.observed = _gaps_of(found)
        self._errors = np.array([test.standard_error for test in found.tests])
        self._cells = [_cells_of(test.null, items.groups) for test in found.tests]

    def at(self, labels: Floats) -> Floats:
        """Return the gaps if these were the labels."""
        return gaps_of_items(replace(self.items, label=labels), self.options)

    def gaps_if_moved(self, group: str, by: float) -> Floats:
        """Return the gaps if the labels of one group were all larger by a number."""
        in_group = self.items.group == self.items.groups.index(group)
        return self.at(self.items.label + by * in_group)

    def shift_variance(self, errors: Mapping[str, float]) -> Floats:
        """Return what errors of the levels of groups add to the variance of the gaps."""
        moves = (
            self.gaps_if_moved(name, h) - self.gaps_if_moved(name, -h) for name, h in errors.items()
        )
        return sum(((move / 2) ** 2 for move in moves), start=np.zeros_like(self.observed))

    def with_errors(
        self, errors: Floats, draws: int, rng: np.random.Generator
    ) -> tuple[Floats, Floats, int]:
        """Return mean gaps under errors drawn again, what share of pairs they reverse, and draws.

        Errors of many items average out within one draw. Drawing ends when the means are as close
        as :data:`CLOSE`.
        """
        items, k = self.items, len(self.items.groups)
        found, reversed_pairs = [], np.zeros((k, k))
        for labels in self._draw_labels(errors, draws, rng):
            found.append(self.at(labels))
            pairs, kept, _ = cell_counts(items.label, labels, items.group, k)
            reversed_pairs += 1 - np.divide(
                kept, pairs, out=np.full((k, k), np.nan), where=pairs > 0
            )
            if len(found) >= FEWEST_DRAWS and self._are_close(np.array(found)):
                break
        return np.mean(found, axis=0), reversed_pairs / len(found), len(found)

    def _are_close(self, found: Floats) -> bool:
        """Return whether more draws would move no mean by much."""
        spread = np.std(found, axis=0, ddof=1) / math.sqrt(len(found))
        # A gap that cannot be computed, or has no error, waits for nothing.
        return not bool((spread > CLOSE * self._errors).any())

    def worst(self, reversals: Floats) -> list[float]:
        """Return for each test the larger share of reversed pairs of its two cells."""
        return [max(float(reversals[cell]) for cell in cells) for cells in self._cells]

    def _draw_labels(
        self, errors: Floats, draws: int, rng: np.random.Generator
    ) -> Iterator[Floats]:
        for _ in range(draws):
            yield self.items.label + errors * rng.standard_normal(len(errors))


def _gaps_of(found: PairwiseAccuracy) -> Floats:
    return np.array([test.gap for test in found.tests])


def _cells_of(null: str, groups: tuple[str, ...]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return which entries of the matrix a hypothesis compares."""
    place = {group: code for code, group in enumerate(groups)}
    (contrast,) = (one for one in contrasts_of_groups(groups) if one.null == null)
    first, second = contrast
    return ((place[first.better], place[first.worse]), (place[second.better], place[second.worse]))


def _check_shifts(shifts: Mapping[str, float], groups: tuple[str, ...]) -> None:
    for name, error in shifts.items():
        if name not in groups:
            raise OptionError("shift_errors", name, list(groups))
        if not 0 <= error < math.inf:
            raise OptionError("shift_errors", error, ["finite standard errors from 0 on"])


def _shift_errors(panel: Ranking, groups: set[str]) -> dict[str, float]:
    """Return the standard error of the level of each group against its reference group."""
    if not isinstance(panel, BiasedRanking):
        return {}
    # Seats and intersections have biases as well, and groups of another attribute.
    errors = dict(zip(panel.contrasts, panel.level_standard_errors.tolist(), strict=False))
    known = [one for one in errors if {one.group, one.reference} <= groups]
    if strange := groups - {name for one in known for name in (one.group, one.reference)}:
        why = f"the panel's biases are not about {', '.join(map(repr, sorted(strange)))}"
        raise OptionError("shift_errors", None, ["a standard error for each group"], why)
    # Groups of two attributes may have the same names; the larger error is the careful one.
    return {one.group: max(errors[two] for two in known if two.group == one.group) for one in known}


def _carry_error(
    test: JudgedGap, shift_variance: float, allowance: float, reversals: float
) -> GapTest:
    """Return a test with the error of the panel, or without a verdict where it is too large."""
    base = {one.name: getattr(test, one.name) for one in fields(GapTest)}
    base["standard_error"] = float(np.sqrt(test.standard_error**2 + shift_variance))
    if not isinstance(test.pivot, DyadicGap | SharedGap):
        return GapTest(**base)
    if not reversals <= MOST_REVERSALS or not np.isfinite([shift_variance, allowance]).all():
        reason = (
            f"in one kind of pair the panel is expected to have {reversals:.0%} of the pairs in "
            f"the wrong order, more than {MOST_REVERSALS:.0%}"
        )
        return GapTest(**base | {"p_value": np.nan, "pivot": None, "reason": reason})
    pivot = CarriedGap(given=test.pivot, shift_variance=shift_variance, allowance=allowance)
    return GapTest(
        **base
        | {
            "p_value": pivot.p_value(0.0),
            "method": f"{test.method}, error of the panel carried",
            "pivot": pivot,
            "shared_variance": test.shared_variance + shift_variance,
        }
    )


def _audit(given: Audit, tests: list[GapTest], panel: Ranking, *, left_out: int) -> Audit:
    judged = judge(
        tests,
        alpha=given.alpha,
        margin=given.margin,
        rule=given.rule,
        n=given.n_items,
        n_items=given.n_items,
    )
    finding = overall_finding(judged)
    anchor = panel.anchor if isinstance(panel, BiasedRanking) else ""
    level = f"The level of each group in the reference is an assumption: {anchor}."
    notes = [
        f"The reference is a panel's scores by {panel.model}, an estimate; its error is part of "
        "every interval and p value.",
        level if anchor else TRUSTING,
        *([f"{LEFT_OUT}: {left_out:,}."] * bool(left_out)),
    ]
    return replace(
        given,
        notion=f"pairwise agreement with the {'bias-adjusted' if anchor else 'unadjusted'} panel",
        tests=judged,
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        notes=(*notes, *given.notes),
    )


def _panel_grids(result: PanelAudit) -> Iterator[Grid]:
    """Yield what the error of a panel does: pairs in the wrong order, and gaps without it."""
    groups = result.at_face_value.groups
    yield Grid(
        title="Expected share of pairs the panel has in the wrong order",
        header=("put higher", *(f"over {visible(worse)}" for worse in groups)),
        rows=tuple(
            (visible(better), *map(rate, row))
            for better, row in zip(groups, result.reversals.tolist(), strict=True)
        ),
    )
    yield Grid(
        title="The same tests if the panel's scores were the truth",
        header=("hypothesis", "gap", "std. error", "with the panel's error", "bias allowed for"),
        rows=tuple(
            (
                visible(given.null),
                signed(given.gap),
                rate(given.standard_error),
                rate(carried.standard_error),
                rate(allowance),
            )
            for given, carried, allowance in zip(
                result.at_face_value.tests, result.tests, result.allowances, strict=True
            )
        ),
    )
