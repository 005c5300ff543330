"""Separation: equal error rates of a model in every group, given the true label.

For each two groups two hypotheses are tested, equal true positive rates and equal false positive
rates; all of them form one family (see :mod:`comparity.results.result`). Gaps are first group
minus second, between -1 and 1; they are ``nan`` where a group lacks positives or negatives, and a
group that does not occur raises ``KeyError``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from comparity.counts.clusters import named_clusters
from comparity.counts.decision_rows import count_decision_arrays, count_decisions
from comparity.counts.decisions import ClusteredDecisionCounts, DecisionCounts
from comparity.counts.pairs import Cell, Tally, subset
from comparity.inference.dyadic import FEWEST_ITEMS, compare_cells, null_covariance, rate_interval
from comparity.inference.gap_tests import GapTest, JointTest, RateEstimate, untested_gap
from comparity.inference.joint import homogeneous_rates, joint_equality
from comparity.inference.proportions import compare_rates, compare_rates_wald, wilson_interval
from comparity.results.audit import Audit
from comparity.results.judging import cluster_notes, conclude, judge
from comparity.results.options import shows
from comparity.separation.options import SeparationForm, SeparationOptions
from comparity.tables.features import as_array, named_attributes
from comparity.tables.files import read_table
from comparity.tables.values import check_groups, qualified

UNCLUSTERED = "Rows are taken to be independent of each other."
CLUSTERED = (
    "Exact tests are for independent rows; rates are compared by a score test whose residuals are "
    "summed by cluster."
)

RATES = {"true positive rate": "TPR", "false positive rate": "FPR"}


@shows(SeparationOptions)
def separation(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    positive: Any = None,
    threshold: float | None = None,
    cluster: Any = None,
    **choices: Any,
) -> Audit:
    r"""Test whether true and false positive rates are equal in all groups.

    .. math::

        H^t: P(C = 1 \mid Y = 1, A = a) = P(C = 1 \mid Y = 1, A = b), \qquad
        H^f: P(C = 1 \mid Y = 0, A = a) = P(C = 1 \mid Y = 0, A = b)

    for every two groups [1]_. Rows are taken to be independent of each other, unless they share a
    cluster.

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
    counts = count_decision_arrays(
        as_array(y_true, "y_true"),
        as_array(y_pred, "y_pred"),
        sensitive=named_attributes(sensitive_features),
        positive=positive,
        threshold=threshold,
        intersection=options.intersection,
        clusters=clusters,
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
        clusters=form.cluster,
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
    tests, groups = [], []
    told: dict[str, Any] = {"rates": (), "joint_tests": (), "summary": {}}
    for attribute, one in counts.items():
        qualify = partial(qualified, attribute, several=several)
        groups += [f"{attribute}={group}" if several else group for group in one.groups]
        told["summary"] |= {qualify(name): value for name, value in _summary(one).items()}
        for name, sign in RATES.items():
            for pair in combinations(one.groups, 2):
                null = qualify(f"{sign}({pair[0]}) = {sign}({pair[1]})")
                tests.append(_compare(one, name, pair, options, null=null))
            told["rates"] += tuple(_rate(one, name, group, of=qualify(group)) for group in one)
            # With two groups the pair is tested already.
            if len(one.groups) > 2:
                null = qualify(f"{sign} is equal in all groups")
                told["joint_tests"] += (_compare_all(one, name, null=null),)
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
        notes=_notes(counts, options),
        **told,
    )


def _tallies(counts: DecisionCounts) -> dict[str, dict[str, Tally]]:
    return {
        "true positive rate": {group: one.positives for group, one in counts.items()},
        "false positive rate": {group: one.negatives for group, one in counts.items()},
    }


def _cell(name: str, group: str) -> Cell:
    """Return the decisions that a rate is about, where these are clustered."""
    return Cell(group, "1" if name == "true positive rate" else "0")


def _compare(
    counts: DecisionCounts,
    name: str,
    groups: tuple[str, str],
    options: SeparationOptions,
    *,
    null: str,
) -> GapTest:
    """Test whether two groups have the same rate.

    The tests of two proportions, exact or not, are for independent rows. Rows that share clusters
    are compared by the score test of :mod:`comparity.inference.dyadic`.
    """
    first, second = (_tallies(counts)[name][group] for group in groups)
    scarce = min(first.trials, second.trials)
    if not isinstance(counts, ClusteredDecisionCounts) or not scarce:
        compare = compare_rates_wald if options.rule == "paper" else compare_rates
        return compare(first, second, null=null)
    if scarce < FEWEST_ITEMS:
        gap, n = first.rate - second.rate, (first.trials, second.trials)
        why = f"only {scarce} decisions behind a rate, {FEWEST_ITEMS} are needed with clusters"
        return untested_gap(null, n, why, gap=gap)
    cells = (_cell(name, group) for group in groups)
    return compare_cells(counts.sharing, *cells, null=null)


def _compare_all(counts: DecisionCounts, name: str, *, null: str) -> JointTest:
    """Test whether all groups have the same rate."""
    tallies = _tallies(counts)[name]
    if not isinstance(counts, ClusteredDecisionCounts):
        return homogeneous_rates(tallies, null=null)
    cells = [_cell(name, group) for group, tally in tallies.items() if tally.trials]
    kept = subset(counts.sharing, [counts.sharing.cells.index(cell) for cell in cells])
    rates, covariance = kept.hits / kept.trials, null_covariance(kept)
    return joint_equality(rates, covariance, null=null, method="clustered score chi-square")


def _rate(counts: DecisionCounts, name: str, group: str, *, of: str) -> RateEstimate:
    tally = _tallies(counts)[name][group]
    if isinstance(counts, ClusteredDecisionCounts):
        interval = rate_interval(counts.sharing, _cell(name, group))
    else:
        interval = wilson_interval(tally)
    return RateEstimate(
        name=name, of=of, rate=tally.rate, trials=tally.trials, score_ties=0, interval=interval
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
    rates = [[tally.rate for tally in tallies.values()] for tallies in _tallies(counts).values()]
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


def _notes(counts: Mapping[str, DecisionCounts], options: SeparationOptions) -> tuple[str, ...]:
    notes = cluster_notes(_clusters(counts), options.cluster)
    notes.append(CLUSTERED if _clusters(counts) else UNCLUSTERED)
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
