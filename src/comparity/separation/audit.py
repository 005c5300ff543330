"""Separation: equal error rates of a model in every group, given the true label.

For each two groups two hypotheses are tested, equal true positive rates and equal false positive
rates; all of them form one family (see :mod:`comparity.results.findings`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from comparity.counts.decision_rows import count_decision_arrays, count_decisions
from comparity.counts.decisions import DecisionCounts, Tally
from comparity.inference.agreement import homogeneous_rates
from comparity.inference.gap_tests import GapTest, JointTest, RateEstimate
from comparity.inference.proportions import compare_rates, compare_rates_wald, wilson_interval
from comparity.results.audit import Audit
from comparity.results.findings import EXIT_STATUS
from comparity.results.judging import judge, overall_finding
from comparity.results.options import provenance, shows
from comparity.separation.measures import (
    average_odds_gap,
    equalized_odds_gap,
    false_positive_rate_gap,
    true_positive_rate_gap,
)
from comparity.separation.options import SeparationForm, SeparationOptions
from comparity.tables.features import as_array, named_attributes
from comparity.tables.files import read_table
from comparity.tables.values import check_groups, qualified

__all__ = ["audit_counts", "audit_file", "audit_frame", "separation"]

RATES = {"true positive rate": "TPR", "false positive rate": "FPR"}


@shows(SeparationOptions)
def separation(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    positive: Any = None,
    threshold: float | None = None,
    **choices: Any,
) -> Audit:
    r"""Test whether true and false positive rates are equal in all groups.

    .. math::

        H^t: P(C = 1 \mid Y = 1, A = a) = P(C = 1 \mid Y = 1, A = b), \qquad
        H^f: P(C = 1 \mid Y = 0, A = a) = P(C = 1 \mid Y = 0, A = b)

    for every two groups [1]_. Rows are taken to be independent of each other.

    Parameters
    ----------
    y_true, y_pred : array-like
        Label and decision of each item: 0/1, true/false, or two values with `positive`.
    sensitive_features : array-like, mapping or frame
        The group of each item; several attributes as a mapping or as columns of a frame.
    positive : optional
        The value that is the positive one, where labels are neither 0/1 nor true/false.
    threshold : float, optional
        Decide 1 where `y_pred` is at least this, if it is a score.
    alpha : float
        Probability of finding any violation where there is none.
    margin : float
        Largest gap that does no harm.
    rule : {"holm", "paper"}
        Holm's correction, or the uncorrected z-tests of [1]_.
    looks : (int, int), optional
        This look and how many are planned, if the audit is repeated as data come in.
    intersection : bool
        Audit the groups formed by all attributes together, too.

    Returns
    -------
    Audit
        With one test for each rate and two groups.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Section 3.3.1.

    Examples
    --------
    >>> y_true = [1, 1, 0, 0] * 200
    >>> y_pred = [1, 1, 0, 1] * 100 + [1, 0, 0, 1] * 100
    >>> audit = separation(y_true, y_pred, sensitive_features=["a"] * 400 + ["b"] * 400)
    >>> audit.finding
    'violated'
    >>> [(test.null, test.gap) for test in audit.tests]
    [('TPR(a) = TPR(b)', 0.5), ('FPR(a) = FPR(b)', 0.0)]
    """
    options = SeparationOptions(**choices)
    counts = count_decision_arrays(
        as_array(y_true, "y_true"),
        as_array(y_pred, "y_pred"),
        sensitive=named_attributes(sensitive_features),
        positive=positive,
        threshold=threshold,
        intersection=options.intersection,
    )
    return audit_counts(counts, options)


def audit_frame(frame: Any, **choices: Any) -> Audit:
    """Test separation in a frame of any engine; `choices` are those of :class:`SeparationForm`."""
    form = SeparationForm(**choices)
    columns: dict[str, Any] = {"label": form.label, "prediction": form.prediction}
    columns["sensitive"] = list(form.sensitive)
    counts = count_decisions(
        frame,
        **columns,
        positive=form.positive,
        threshold=form.threshold,
        intersection=form.intersection,
    )
    return audit_counts(counts, form.narrow(SeparationOptions), columns=columns)


def audit_file(path: str | Path, **choices: Any) -> Audit:
    """Test separation in a file; `choices` as in :func:`audit_frame`."""
    return audit_frame(read_table(path), **choices).with_files(path)


def audit_counts(
    counts: Mapping[str, DecisionCounts], options: SeparationOptions, **data: Any
) -> Audit:
    """Test separation from counts, one for each sensitive attribute."""
    check_groups({attribute: one.groups for attribute, one in counts.items()})
    several = len(counts) > 1
    tests = [
        test
        for attribute, one in counts.items()
        for test in _tests(one, attribute, several=several, paper=options.rule == "paper")
    ]
    n = next(iter(counts.values())).n
    judged = judge(
        tests,
        alpha=options.alpha,
        margin=options.margin,
        rule=options.rule,
        looks=options.looks,
        n=n,
        n_items=n,
    )
    finding = overall_finding(judged)
    return Audit(
        notion="separation",
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=judged,
        **_reported(counts),
        design="independent decisions",
        unit="decisions",
        n=n,
        n_items=n,
        alpha=options.alpha,
        margin=options.margin,
        rule=options.rule,
        looks=options.looks,
        notes=_notes(counts, options),
        provenance=provenance(options, **data),
    )


def _reported(counts: Mapping[str, DecisionCounts]) -> dict[str, Any]:
    """Return what is reported beside the tests: rates, joint tests, known numbers, groups."""
    several = len(counts) > 1
    rates, joints, groups = [], [], []
    summary = {}
    for attribute, one in counts.items():
        rates += _rates(one, attribute, several=several)
        joints += _homogeneity(one, attribute, several=several)
        groups += [f"{attribute}={group}" if several else group for group in one.groups]
        for name, value in _summary(one).items():
            summary[qualified(attribute, name, several=several)] = value
    return {
        "rates": tuple(rates),
        "joint_tests": tuple(joints),
        "summary": summary,
        "groups": tuple(groups),
    }


def _tallies(counts: DecisionCounts) -> dict[str, dict[str, Tally]]:
    return {
        "true positive rate": {group: one.positives for group, one in counts.items()},
        "false positive rate": {group: one.negatives for group, one in counts.items()},
    }


def _tests(counts: DecisionCounts, attribute: str, *, several: bool, paper: bool) -> list[GapTest]:
    compare = compare_rates_wald if paper else compare_rates
    return [
        compare(
            tallies[first],
            tallies[second],
            null=qualified(
                attribute, f"{RATES[name]}({first}) = {RATES[name]}({second})", several=several
            ),
        )
        for name, tallies in _tallies(counts).items()
        for first, second in combinations(counts.groups, 2)
    ]


def _rates(counts: DecisionCounts, attribute: str, *, several: bool) -> list[RateEstimate]:
    return [
        RateEstimate(
            name=name,
            of=qualified(attribute, group, several=several),
            rate=tally.rate,
            trials=tally.trials,
            score_ties=0,
            interval=wilson_interval(tally),
        )
        for name, tallies in _tallies(counts).items()
        for group, tally in tallies.items()
    ]


def _homogeneity(counts: DecisionCounts, attribute: str, *, several: bool) -> list[JointTest]:
    """Return a test over all groups of each rate; with two groups the pair is tested already."""
    if len(counts.groups) < 3:
        return []
    return [
        homogeneous_rates(
            tallies,
            null=qualified(attribute, f"{RATES[name]} is equal in all groups", several=several),
        )
        for name, tallies in _tallies(counts).items()
    ]


def _summary(counts: DecisionCounts) -> dict[str, float]:
    """Return the well-known numbers; differences of two groups only where there are two."""
    summary = {"equalized odds difference": equalized_odds_gap(counts)}
    if len(counts.groups) == 2:
        first, second = counts.groups
        summary |= {
            "equal opportunity difference (EOD)": true_positive_rate_gap(counts, first, second),
            "false positive rate difference": false_positive_rate_gap(counts, first, second),
            "average odds difference (AOD)": average_odds_gap(counts, first, second),
        }
    return summary


def _notes(counts: Mapping[str, DecisionCounts], options: SeparationOptions) -> tuple[str, ...]:
    notes = ["Rows are taken to be independent of each other."]
    groups = next(iter(counts.values())).values()
    said_yes = sum(one.true_positives + one.false_positives for one in groups)
    if said_yes in (0, sum(one.n for one in groups)):
        everybody = "everybody" if said_yes else "nobody"
        notes.append(f"WARNING: the model says yes to {everybody}; check the column and threshold.")
    if options.rule == "paper":
        notes.append(
            "The rule of the paper makes every test at alpha without correction: with two tests "
            f"the chance of any false alarm is {1 - (1 - options.alpha) ** 2:.4f}."
        )
    return tuple(notes)
