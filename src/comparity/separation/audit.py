"""Separation: equal error rates of a model in every group, given the true label.

For each two groups two hypotheses are tested, equal true positive rates and equal false positive
rates; all of them form one family (see :mod:`comparity.results.result`). Gaps are first group
minus second, between -1 and 1; they are ``nan`` where a group lacks positives or negatives, and a
group that does not occur raises ``KeyError``.

If labels and decisions are classes, the rate of every decision given every label is compared.
Comparing each class with the rest is not enough: the share of *other* labels that are taken for it
depends on which labels the others have, and differs between groups even if separation holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from comparity.counts.clusters import named_clusters
from comparity.counts.decision_classes import ClassCounts, count_classes
from comparity.counts.decision_rows import (
    DecisionRows,
    count_confusions,
    decision_arrays,
    read_decisions,
)
from comparity.counts.decisions import ClusteredDecisionCounts, DecisionCounts
from comparity.inference.gap_tests import JointTest
from comparity.inference.joint import homogeneous_shares
from comparity.results.audit import Audit
from comparity.results.judging import cluster_notes, conclude, judge
from comparity.results.options import shows
from comparity.separation.error_rates import (
    GroupRate,
    NumberedDecisions,
    audit_numbers,
    class_rates,
    rates_of,
)
from comparity.separation.options import SeparationForm, SeparationOptions, check_classes
from comparity.tables.features import as_array, named_attributes
from comparity.tables.files import read_table
from comparity.tables.typing import Attributes, Column
from comparity.tables.values import check_groups, prefix_attribute, yes_values

UNCLUSTERED = "Rows are taken to be independent of each other."
LABELS = "Labels are taken as right, and as known for those who were turned down, too."
CLUSTERED = (
    "Exact tests are for independent rows; rates are compared by a score test whose residuals are "
    "summed by cluster."
)


@shows(SeparationOptions)
def separation(
    y_true: Column,
    y_pred: Column,
    *,
    sensitive_features: Attributes,
    positive: Any = None,
    threshold: float | None = None,
    cluster: Attributes | None = None,
    **choices: Any,
) -> Audit:
    r"""Test whether true and false positive rates are equal in all groups.

    .. math::

        H^t: P(C = 1 \mid Y = 1, A = a) = P(C = 1 \mid Y = 1, A = b), \qquad
        H^f: P(C = 1 \mid Y = 0, A = a) = P(C = 1 \mid Y = 0, A = b)

    for every two groups [1]_. Rows are assumed to be independent unless they share a cluster.

    Parameters
    ----------
    y_true, y_pred : array-like
        Label and decision of each item: 0/1, true/false, two values with `positive`, or classes.
    sensitive_features : array-like, mapping or frame
        The group of each item, or a number; several attributes as a mapping or as columns of a
        frame.
    positive : optional
        The value that is the positive one, where labels are neither 0/1 nor true/false.
    threshold : float, optional
        Decide 1 where `y_pred` is at least this, if it is a score.
    cluster : array-like, mapping or frame, optional
        What makes rows dependent, such as the person that each is about; several kinds as a
        mapping or as the columns of a frame.
    alpha : float
        Probability of finding any violation where there is none.
    margin : float
        Largest gap that does no harm.
    rule : {"holm", "paper"}
        Holm's correction, or the uncorrected z-tests of [1]_.
    looks : (int, int), optional
        This look and how many are planned, if the audit is repeated as data come in.
    anytime : bool
        Whether the finding may be read at any moment, as often as one likes, and stopped on
        (:mod:`comparity.inference.anytime`); instead of planned looks.
    classes : bool
        Whether labels and decisions are classes. Then :math:`P(C = c \mid Y = y, A = a)` is
        compared for every label y and every decision c.
    continuous : bool
        Whether attributes are numbers. Then the rates of the larger and of the smaller one of two
        items are compared, over all pairs with the same label.
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
    clusters = named_clusters(cluster)
    options = SeparationOptions(cluster=tuple(clusters), **choices)
    check_classes(options, positive, threshold)
    labels, decisions = as_array(y_true, "y_true"), as_array(y_pred, "y_pred")
    sensitive = named_attributes(sensitive_features)
    yes = yes_values(positive, threshold)
    said = {"columns": yes} if yes else {}
    if options.continuous:
        found = NumberedDecisions.of(labels, decisions, sensitive=sensitive, threshold=threshold)
        return audit_numbers(found, options, positive, **said)
    rows = decision_arrays(
        labels,
        decisions,
        sensitive=sensitive,
        threshold=threshold,
        intersection=options.intersection,
        clusters=clusters,
    )
    return audit_rows(rows, options, positive, **said)


def audit_frame(frame: Any, **choices: Any) -> Audit:
    """Test separation in a frame of any engine; `choices` are those of :class:`SeparationForm`."""
    form = SeparationForm(**choices)
    columns: dict[str, Any] = {"label": form.label, "prediction": form.prediction}
    columns["sensitive"] = list(form.sensitive)
    options = form.narrow(SeparationOptions)
    yes = yes_values(form.positive, form.threshold)
    if form.continuous:
        numbers = NumberedDecisions.read(frame, **columns, threshold=form.threshold)
        return audit_numbers(numbers, options, form.positive, columns=columns | yes)
    rows = read_decisions(
        frame,
        **columns,
        threshold=form.threshold,
        intersection=form.intersection,
        clusters=form.cluster,
    )
    return audit_rows(rows, options, form.positive, columns=columns | yes)


def audit_file(path: str | Path, **choices: Any) -> Audit:
    """Test separation in a file; `choices` as in :func:`audit_frame`."""
    return audit_frame(read_table(path), **choices).with_files(path)


def audit_rows(
    rows: DecisionRows, options: SeparationOptions, positive: object = None, **data: Any
) -> Audit:
    """Test separation from checked rows."""
    if not options.classes:
        return audit_counts(count_confusions(rows, positive), options, **data)
    counts = count_classes(rows)
    rates = {name: class_rates(one) for name, one in counts.items()}
    told = _SideResults(
        summary={name: _class_summary(one) for name, one in counts.items()},
        joint_tests={name: tuple(_compare_decisions(one)) for name, one in counts.items()},
        notes=CLASS_NOTES,
    )
    return _audit_rates(rates, told, options, **data)


CLASS_NOTES = (
    "P(b | a, f) is how often b is decided of items of group f that are labelled a.",
    "Differences of a class against the rest are reported, not tested: they depend on which labels "
    "the rest has, and can differ where separation holds.",
)


def audit_counts(
    counts: Mapping[str, DecisionCounts], options: SeparationOptions, **data: Any
) -> Audit:
    """Test separation from counts, one for each sensitive attribute."""
    rates = {name: rates_of(one) for name, one in counts.items()}
    told = _SideResults(
        summary={name: _summary(one) for name, one in counts.items()},
        joint_tests={
            # With two groups the pair is tested already.
            name: [rate.compare_all() for rate in rates[name]] if len(one.groups) > 2 else []
            for name, one in counts.items()
        },
        notes=_notes(counts),
    )
    return _audit_rates(rates, told, options, **data)


class _SideResults(NamedTuple):
    """What is told beside the tests: numbers and joint tests by attribute, and notes."""

    summary: Mapping[str, Mapping[str, float]]
    joint_tests: Mapping[str, Sequence[JointTest]]
    notes: Sequence[str]


def _audit_rates(
    rates: Mapping[str, Sequence[GroupRate]],
    told: _SideResults,
    options: SeparationOptions,
    **data: Any,
) -> Audit:
    """Test rates of every two groups, by attribute; one family."""
    counts = {attribute: found[0].counts for attribute, found in rates.items()}
    check_groups({attribute: one.groups for attribute, one in counts.items()})
    tests, groups, estimates, joint = [], [], [], []
    summary: dict[str, float] = {}
    for attribute, found in rates.items():
        qualify = partial(prefix_attribute, attribute, several=len(rates) > 1)
        names = counts[attribute].groups
        groups += [f"{attribute}={group}" if len(rates) > 1 else group for group in names]
        summary |= {qualify(name): value for name, value in told.summary[attribute].items()}
        joint += [replace(one, null=qualify(one.null)) for one in told.joint_tests[attribute]]
        for rate in found:
            tests += [
                rate.compare(pair, rule=options.rule, anytime=options.anytime, qualify=qualify)
                for pair in combinations(names, 2)
            ]
            estimates += [rate.estimate(group, of=qualify(group)) for group in names]
    n, clusters = next(iter(counts.values())).n, _clusters(counts)
    return conclude(
        judge(tests, **options.judging, n=n, n_items=n),
        options,
        data,
        notion="separation",
        groups=tuple(groups),
        design=f"decisions clustered by {' and '.join(clusters)}"
        if clusters
        else "independent decisions",
        n_clusters=clusters,
        unit="decisions",
        n=n,
        n_items=n,
        rates=tuple(estimates),
        joint_tests=tuple(joint),
        summary=summary,
        notes=(*_sampling_notes(counts, options), *told.notes),
    )


def _clusters(counts: Mapping[str, DecisionCounts]) -> dict[str, int]:
    """Return how many clusters of each kind were taken into account."""
    one = next(iter(counts.values()))
    return one.n_clusters if isinstance(one, ClusteredDecisionCounts) else {}


def true_positive_rate_gap(counts: DecisionCounts, first: str, second: str) -> float:
    r"""Difference between two groups in the share of positives that were predicted positive.

    .. math:: \mathrm{EOD} = P(C = 1 \mid Y = 1, A = a) - P(C = 1 \mid Y = 1, A = b)

    Known as the equal opportunity difference: equal opportunity (Hardt, Price and Srebro, "Equality
    of opportunity in supervised learning", 2016) holds when it is zero.

    Examples
    --------
    >>> from comparity.counts.decisions import Confusion
    >>> counts = DecisionCounts({
    ...     "a": Confusion(true_positives=3, false_negatives=1),
    ...     "b": Confusion(true_positives=1, false_negatives=1),
    ... })
    >>> true_positive_rate_gap(counts, "a", "b")
    0.25
    """
    return counts[first].positives.rate - counts[second].positives.rate


def false_positive_rate_gap(counts: DecisionCounts, first: str, second: str) -> float:
    r"""Difference between two groups in the share of negatives that were predicted positive.

    .. math:: P(C = 1 \mid Y = 0, A = a) - P(C = 1 \mid Y = 0, A = b)

    Positive when `first` has more false alarms among its negatives.
    """
    return counts[first].negatives.rate - counts[second].negatives.rate


def average_odds_gap(counts: DecisionCounts, first: str, second: str) -> float:
    r"""Mean of the gaps in true and in false positive rates between two groups, AOD.

    Equations (11) and (12) of Xi, Capak, Stockwell and Yu, "Comparative Separation". The two gaps
    can cancel, so zero does not mean that both rates are equal. Positive when `first` is predicted
    positive more often, labels being equal.
    """
    odds = true_positive_rate_gap(counts, first, second)
    return (odds + false_positive_rate_gap(counts, first, second)) / 2


def equalized_odds_gap(counts: DecisionCounts) -> float:
    r"""Largest difference between any two groups in true or in false positive rates.

    .. math:: \max\bigl(\max_a \mathrm{TPR}(a) - \min_a \mathrm{TPR}(a),\;
       \max_a \mathrm{FPR}(a) - \min_a \mathrm{FPR}(a)\bigr)

    Between 0 and 1; ``nan`` when any group lacks positives or negatives, or without decisions.
    Unlike other gaps it has no sign, because it compares all groups at once. It grows with the
    number of groups by chance alone. Fairlearn calls it the equalized odds difference (Bird et al.,
    "Fairlearn: A toolkit for assessing and improving fairness in AI", 2020).

    Examples
    --------
    >>> from comparity.counts.decisions import Confusion
    >>> counts = DecisionCounts({
    ...     "a": Confusion(true_positives=1, false_positives=1, true_negatives=3),
    ...     "b": Confusion(true_positives=1, false_negatives=1, true_negatives=2),
    ... })
    >>> equalized_odds_gap(counts), average_odds_gap(counts, "a", "b")
    (0.5, 0.375)
    """
    rates = [[tally.rate for tally in rate.tallies.values()] for rate in rates_of(counts)]
    return float(np.ptp(rates, axis=1).max()) if counts else float("nan")


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


def _class_summary(counts: ClassCounts) -> dict[str, float]:
    """Return the largest difference of a decision given a label, and each class against the rest.

    A rate that some group has no rows for is left out of the first.
    """
    known = [[tally.rate for tally in rate.tallies.values()] for rate in class_rates(counts)]
    ranges = [float(np.ptp(rates)) for rates in known if not np.isnan(rates).any()]
    summary = {"largest difference of a rate": max(ranges, default=float("nan"))}
    return summary | {
        f"equalized odds difference, {name} against the rest": equalized_odds_gap(one)
        for name, one in counts.against_rest.items()
    }


def _compare_decisions(counts: ClassCounts) -> Iterator[JointTest]:
    """Test, given each label, whether decisions are distributed alike in all groups."""
    for label in counts.labels:
        found = [counts.given[label, decision] for decision in counts.classes]
        if isinstance(found[0], ClusteredDecisionCounts):
            return
        table = [[one[group].positives.hits for one in found] for group in found[0].groups]
        yield homogeneous_shares(table, null=f"decisions given {label} are alike in all groups")


def _sampling_notes(counts: Mapping[str, DecisionCounts], options: SeparationOptions) -> list[str]:
    clusters = _clusters(counts)
    notes = cluster_notes(clusters, options.cluster)
    notes.append(CLUSTERED if clusters else UNCLUSTERED)
    notes.append(LABELS)
    if options.rule == "paper":
        notes.append(
            "The rule of the paper makes every test at alpha without correction: with two tests "
            f"the chance of any false alarm is {1 - (1 - options.alpha) ** 2:.4f}."
        )
    return notes


def _notes(counts: Mapping[str, DecisionCounts]) -> tuple[str, ...]:
    groups = next(iter(counts.values())).values()
    said_yes = sum(one.true_positives + one.false_positives for one in groups)
    if said_yes not in (0, sum(one.n for one in groups)):
        return ()
    everybody = "everybody" if said_yes else "nobody"
    return (f"WARNING: the model says yes to {everybody}; check the column and threshold.",)
