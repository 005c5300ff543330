"""Pairwise fairness over all pairs that labels imply, exactly.

Every two items with different labels make a pair; the pair is ordered rightly when the scores order
it as the labels do. The accuracy by the groups of the better and the worse item is the matrix of
[1]_, and its tests are those of judged pairs that share items: all pairs is one more design.

References
----------
.. [1] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.auditing.attributes import as_array, check_groups, named_attributes
from comparity.auditing.options import PairwiseOptions, provenance
from comparity.auditing.verdicts import EXIT_STATUS, judge, overall_finding
from comparity.counting.all_pairs import all_pairs
from comparity.counting.files import file_sha256, read_table
from comparity.counting.labelled import NAMES, LabelledItems, labelled_columns, labelled_items
from comparity.counting.marginals import (
    column_marginals,
    merged,
    row_marginals,
    without,
)
from comparity.counting.ordered_pairs import ordered_pairs
from comparity.counting.overlap import Overlap, overlap_weights
from comparity.counting.query_pairs import query_pairs
from comparity.counting.sharing import Sharing
from comparity.counts import Cell
from comparity.errors import OptionError
from comparity.inference.agreement import (
    EQUAL_VALUES,
    contrasts_of_groups,
    contrasts_of_order,
    equal_cells,
)
from comparity.inference.dyadic import compare_cells, compare_wins, rate_covariance, rate_interval
from comparity.inference.symmetric import compare_symmetric
from comparity.matrices import PairwiseAccuracy
from comparity.metrics.pairwise import (
    cross_group_gap,
    least_accuracy,
    marginal_gap,
    pairwise_equal_opportunity_gap,
    symmetric_accuracy_gap,
    within_group_gap,
)
from comparity.results import Audit, GapTest, RateEstimate, Ties

__all__ = ["audit_file", "audit_frame", "audit_items", "pairwise_accuracy", "pairwise_parity"]

Matrix = NDArray[np.float64]

NO_GROUP = "(no group)"
"""Stands for items in no group where pairs are counted."""


def pairwise_accuracy(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    queries: Any = None,
    average: str = "pairs",
    sample_weight: Any = None,
    score_ties: str = "disagree",
    continuous: bool = False,
    no_group: Any = None,
    notions: Sequence[str] = ("cross-group", "within-group"),
    alpha: float = 0.05,
    margin: float = 0.05,
    looks: tuple[int, int] | None = None,
) -> PairwiseAccuracy:
    r"""Return how often scores order pairs as labels do, by group, and audit it.

    .. math::

        A_{i > j} = P(f(x) > f(x') \mid y > y', x \in i, x' \in j)

    over **all** pairs of items with different labels [1]_, exactly, with the covariance of all
    entries, in about the time of a sort.

    Parameters
    ----------
    y_true : array-like
        Labels as numbers: binary, ordinal or continuous; larger is better.
    y_score : array-like
        Scores of the model.
    sensitive_features : array-like
        The group of each item, or a number with `continuous`.
    queries : array-like, optional
        Compare only items of the same query.
    average : {"pairs", "queries"}
        Whether every pair counts alike, or every query.
    sample_weight : array-like, optional
        Positive weights of items; a pair weighs the product.
    score_ties : {"disagree", "half"}
        What a pair with equal scores counts as.
    continuous : bool
        Compare pairs whose better item has the larger value of the attribute with pairs whose
        better item has the smaller one.
    no_group : optional
        The value that marks items in no group: they count in marginals and overall, in no entry.
    notions : sequence of {"cross-group", "within-group", "marginal", "symmetric"}
        Which equalities to test.
    alpha, margin, looks
        As in :func:`comparity.separation`.

    Returns
    -------
    PairwiseAccuracy
        The matrix with its covariance, and two audits: `raw`, and `standardised` to one label law.

    References
    ----------
    .. [1] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression",
       equations (1)-(7) and (9)-(11).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(5)
    >>> y, group = rng.integers(0, 2, 2000), rng.choice(["a", "b"], 2000)
    >>> scores = y + rng.normal(size=2000) - 0.6 * (group == "b")
    >>> result = pairwise_accuracy(y, scores, sensitive_features=group)
    >>> result.finding, result.groups
    ('violated', ('a', 'b'))
    >>> bool(result.matrix[0, 1] > result.matrix[1, 0])
    True
    """
    options = PairwiseOptions(
        alpha=alpha,
        margin=margin,
        looks=looks,
        average=average,
        score_ties=score_ties,
        continuous=continuous,
        notions=tuple(notions),
    )
    items = labelled_items(
        as_array(y_true),
        as_array(y_score),
        _one_attribute(sensitive_features),
        queries=None if queries is None else as_array(queries),
        weights=None if sample_weight is None else as_array(sample_weight),
        continuous=continuous,
        no_group=no_group,
    )
    return audit_items(items, options)


def pairwise_parity(
    y_score: Any,
    *,
    sensitive_features: Any,
    queries: Any = None,
    alpha: float = 0.05,
    margin: float = 0.05,
) -> Audit:
    r"""Test whether every two groups are equally likely to have the higher score, without labels.

    .. math:: P(f(x) > f(x') \mid x \in i, x' \in j) = P(f(x) < f(x') \mid x \in i, x' \in j)

    for every two groups (equation (8) of [1]_). The gap is the first probability minus the second.

    Parameters
    ----------
    y_score, sensitive_features, queries : array-like
        As in :func:`pairwise_accuracy`.
    alpha, margin : float
        As in :func:`pairwise_accuracy`.

    References
    ----------
    .. [1] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression".

    Examples
    --------
    >>> audit = pairwise_parity(range(100), sensitive_features=["a"] * 50 + ["b"] * 50)
    >>> audit.finding, audit.tests[0].gap
    ('violated', -1.0)
    """
    options = PairwiseOptions(alpha=alpha, margin=margin, score_ties="half")
    items = labelled_items(
        None,
        as_array(y_score),
        _one_attribute(sensitive_features),
        queries=None if queries is None else as_array(queries),
    )
    check_groups({NAMES["sensitive"]: items.groups})
    tests, rates = [], []
    for first, second in combinations(range(len(items.groups)), 2):
        sharing, cell = _cross_pairs(items, first, second)
        tests.append(compare_wins(sharing, cell, null=f"P({cell}) = P({Cell(*cell[::-1])})"))
        rates.append(_rate(sharing, cell, np.zeros(len(sharing.cells)), name="win share"))
    judged = judge(tests, alpha=alpha, margin=margin, n=len(items), n_items=len(items))
    finding = overall_finding(judged)
    return Audit(
        notion="pairwise statistical parity",
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=judged,
        rates=tuple(rates),
        groups=items.groups,
        design=_design(items),
        unit="pairs",
        n=sum(test.n[0] for test in judged),
        n_items=len(items),
        alpha=alpha,
        margin=margin,
        rule="holm",
        notes=("No labels were used: a gap may be earned. Ties of scores are half a win of each.",),
        provenance=provenance(options),
    )


def _one_attribute(sensitive_features: Any) -> NDArray[Any]:
    attributes = named_attributes(sensitive_features)
    if len(attributes) != 1:
        why = "a matrix has one kind of groups"
        raise OptionError("sensitive_features", list(attributes), ["one column"], why)
    return next(iter(attributes.values()))


def _cross_pairs(items: LabelledItems, first: int, second: int) -> tuple[Sharing, Cell]:
    """Pair every item of one group with every item of another; a tie is half a win."""
    kept = (items.group == first) | (items.group == second)
    side = (items.group[kept] == first).astype(np.int64)
    names = (items.groups[second], items.groups[first])
    query = None if items.query is None else items.query[kept]
    columns = (side.astype(np.float64), items.score[kept], side, names)
    if query is None:
        sharing = all_pairs(*columns, score_ties="half").sharing
    else:
        sharing = query_pairs(*columns, query, score_ties="half").sharing
    return sharing, Cell(items.groups[first], items.groups[second])


def audit_frame(
    frame: Any,
    *,
    label: str,
    score: str,
    sensitive: str,
    query: str | None = None,
    weight: str | None = None,
    no_group: Any = None,
    **choices: Any,
) -> PairwiseAccuracy:
    """Audit all pairs of the rows of a frame; `choices` as in :func:`pairwise_accuracy`."""
    options = PairwiseOptions(**choices)
    roles = {"label": label, "score": score, "sensitive": sensitive}
    roles |= {"queries": query} if query else {}
    roles |= {"weights": weight} if weight else {}
    columns = labelled_columns(frame, list(roles.values()))
    items = labelled_items(
        columns[label],
        columns[score],
        columns[sensitive],
        queries=columns[query] if query else None,
        weights=columns[weight] if weight else None,
        continuous=options.continuous,
        no_group=no_group,
        names={**NAMES, **roles},
    )
    return audit_items(items, options, **roles)


def audit_file(path: str | Path, **choices: Any) -> PairwiseAccuracy:
    """Audit all pairs of the rows of a file; `choices` as in :func:`audit_frame`."""
    result = audit_frame(read_table(path), **choices)
    files = [{"name": Path(path).name, "sha256": file_sha256(path)}]

    def known(audit: Audit) -> Audit:
        data = {**audit.provenance["data"], "files": files}
        return replace(audit, provenance={**audit.provenance, "data": data})

    return replace(result, raw=known(result.raw), standardised=known(result.standardised))


@dataclass(frozen=True, slots=True)
class _Counted:
    """Pairs by cell, those of items in no group included, and how many have equal scores."""

    sharing: Sharing
    ties: Matrix
    groups: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def cells(self) -> list[Cell]:
        return [Cell(better, worse) for better in self.groups for worse in self.groups]

    def of(self, column: Matrix, parts: dict[Cell, list[Cell]]) -> Matrix:
        """Sum a column of all cells over each of the parts."""
        place = {cell: code for code, cell in enumerate(self.sharing.cells)}
        return np.array(
            [
                sum(column[place[cell]] for cell in cells if cell in place)
                for cells in parts.values()
            ]
        )


def audit_items(items: LabelledItems, options: PairwiseOptions, **data: Any) -> PairwiseAccuracy:
    """Audit checked items; see :func:`pairwise_accuracy`."""
    check_groups({"sensitive_features": items.groups})
    counted = _counted(items, options)
    labels = _kind(items)
    raw = _audit(counted, items, options, "raw", **data)
    standardised, overlap = raw, None
    if labels != "binary" and not options.continuous:
        overlap = overlap_weights(
            items.label, items.group, items.groups, sample_weight=items.weight
        )
        standardised = _standardised(items, options, overlap, raw, **data)
    return _result(counted, labels, raw, standardised, overlap)


def _kind(items: LabelledItems) -> str:
    levels = items.n_levels
    return "binary" if levels == 2 else "ordinal" if levels <= 20 else "continuous"


def _counted(items: LabelledItems, options: PairwiseOptions, score_ties: str = "") -> _Counted:
    ties = score_ties or options.score_ties
    how: dict[str, Any] = {"weights": items.weight, "score_ties": ties}
    others = (NO_GROUP,) if (items.group == len(items.groups)).any() else ()
    if items.value is not None:
        found = ordered_pairs(items.label, items.score, items.value, query=items.query, **how)
        return _Counted(found.sharing, found.score_ties, items.groups, ())
    columns = (items.label, items.score, items.group, (*items.groups, *others))
    if items.query is None:
        pairs = all_pairs(*columns, **how)
        return _Counted(pairs.sharing, pairs.score_ties, items.groups, others)
    within = query_pairs(*columns, items.query, average=options.average, **how)
    return _Counted(within.sharing, within.score_ties, items.groups, others)


def _standardised(
    items: LabelledItems, options: PairwiseOptions, overlap: Overlap, raw: Audit, **data: Any
) -> Audit:
    """Audit the items weighted to one label law; without tests where the weights fail."""
    kept = overlap.weights > 0
    weighted = replace(
        items,
        label=items.label[kept],
        score=items.score[kept],
        group=items.group[kept],
        query=None if items.query is None else items.query[kept],
        weight=overlap.weights[kept],
    )
    audit = _audit(_counted(weighted, options), weighted, options, "standardised", **data)
    audit = _counted_like(audit, raw)
    return audit if overlap.trusted else _without_verdict(audit, overlap.reason)


def _counted_like(audit: Audit, raw: Audit) -> Audit:
    """Report how many pairs there are, not what they weigh."""
    trials = {rate.of: rate.trials for rate in raw.rates}
    tests = zip(audit.tests, raw.tests, strict=True)
    return replace(
        audit,
        n=raw.n,
        n_items=raw.n_items,
        ties=replace(raw.ties, change_finding=audit.ties.change_finding),
        tests=tuple(replace(test, n=same.n) for test, same in tests),
        rates=tuple(replace(rate, trials=trials[rate.of]) for rate in audit.rates),
    )


def _without_verdict(audit: Audit, reason: str) -> Audit:
    """Leave every question open and say why."""
    untested = [replace(test, p_value=np.nan, pivot=None, reason=reason) for test in audit.tests]
    judged = judge(
        untested,
        alpha=audit.alpha,
        margin=audit.margin,
        rule=audit.rule,
        n=audit.n_items,
        n_items=audit.n_items,
    )
    finding = overall_finding(judged)
    return replace(audit, tests=judged, finding=finding, exit_status=EXIT_STATUS[finding])


def _audit(
    counted: _Counted, items: LabelledItems, options: PairwiseOptions, which: str, **data: Any
) -> Audit:
    judged = _judged(counted, items, options)
    finding = overall_finding(judged)
    inner = without(counted.sharing, counted.others)
    cells = [cell for cell in inner.cells if cell != EQUAL_VALUES]
    return Audit(
        notion=f"pairwise equal opportunity ({which})",
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=judged,
        rates=tuple(
            _rate(counted.sharing, cell, counted.ties)
            for cell in cells
            if counted.sharing.trials[counted.sharing.cells.index(cell)]
        ),
        joint_tests=(equal_cells(inner),),
        groups=counted.groups,
        design=_design(items),
        unit="pairs",
        n=round(float(counted.sharing.trials.sum())),
        n_items=len(items),
        alpha=options.alpha,
        margin=options.margin,
        rule=options.rule,
        looks=options.looks,
        ties=_ties(counted, items, options, finding),
        notes=_notes(items, counted, options, which),
        provenance=provenance(options, **data),
    )


def _judged(counted: _Counted, items: LabelledItems, options: PairwiseOptions) -> tuple[Any, ...]:
    return judge(
        _tests(counted, options),
        alpha=options.alpha,
        margin=options.margin,
        rule=options.rule,
        looks=options.looks,
        n=len(items),
        n_items=len(items),
    )


def _tests(counted: _Counted, options: PairwiseOptions) -> list[GapTest]:
    sharing, groups, others = counted.sharing, counted.groups, counted.others
    if options.continuous:
        contrasts = contrasts_of_order()
    else:
        across, within = (
            [one for one in contrasts_of_groups(groups) if (one.first[0] != one.first[1]) == cross]
            for cross in (True, False)
        )
        wanted = {"cross-group": across, "within-group": within}
        contrasts = tuple(one for name in options.notions for one in wanted.get(name, []))
    tests = [compare_cells(sharing, *one, null=one.null) for one in contrasts]
    if options.continuous:
        return tests
    if "marginal" in options.notions:
        rows = merged(sharing, row_marginals(groups, others))
        tests += [
            compare_cells(rows, one, two, null=f"agree({one}) = agree({two})")
            for one, two in combinations(rows.cells, 2)
        ]
    if "symmetric" in options.notions:
        tests += compare_symmetric(sharing, groups, others)
    return tests


def _rate(
    sharing: Sharing, cell: Cell, ties: Matrix, name: str = "pairwise accuracy"
) -> RateEstimate:
    code = sharing.cells.index(cell)
    n = float(sharing.trials[code])
    return RateEstimate(
        name=name,
        of=str(cell),
        rate=float(sharing.hits[code]) / n if n else float("nan"),
        trials=round(n),
        score_ties=round(float(ties[code])),
        interval=rate_interval(sharing, cell),
    )


def _design(items: LabelledItems) -> str:
    return "all pairs" if items.query is None else "all pairs within queries"


def _ties(counted: _Counted, items: LabelledItems, options: PairwiseOptions, finding: str) -> Ties:
    """Count score ties, and see whether scoring them the other way would change the finding."""
    total = float(counted.ties.sum())
    changes = False
    if total:
        other = "half" if options.score_ties == "disagree" else "disagree"
        judged = _judged(_counted(items, options, other), items, options)
        changes = overall_finding(judged) != finding
    return Ties(
        scores=round(total),
        scores_by_cell={
            str(cell): round(float(tied))
            for cell, tied in zip(counted.sharing.cells, counted.ties, strict=True)
        },
        scored_as=options.score_ties,
        change_finding=changes,
    )


def _notes(
    items: LabelledItems, counted: _Counted, options: PairwiseOptions, which: str
) -> tuple[str, ...]:
    notes = []
    if items.query is not None:
        notes.append(f"Only items of the same query are compared; {options.average} count alike.")
    if which == "raw" and items.n_levels > 2:
        notes.append(
            "With labels of more than two values, groups whose labels lie closer together have "
            "harder pairs: equal errors can give unequal raw accuracies."
        )
    if which == "standardised":
        notes.append(
            "Items are weighted so that labels have the same law in every group; equal errors "
            "given the label then mean equal accuracies. The numbers of pairs are before weighting."
        )
    if counted.others:
        notes.append("Items in no group count overall and in marginals, in no entry of the matrix.")
    return tuple(notes)


def _result(
    counted: _Counted, labels: str, raw: Audit, standardised: Audit, overlap: Overlap | None
) -> PairwiseAccuracy:
    groups, others = counted.groups, counted.others
    rows, columns = row_marginals(groups, others), column_marginals(groups, others)
    trials, hits = counted.sharing.trials, counted.sharing.hits
    entries = {cell: [cell] for cell in counted.cells}
    k = len(groups)
    matrix = _share(counted.of(hits, entries), counted.of(trials, entries)).reshape(k, k)
    by_row, by_column = (
        _share(counted.of(hits, parts), counted.of(trials, parts)) for parts in (rows, columns)
    )
    whole = merged(counted.sharing, {Cell("", ""): list(counted.sharing.cells)})
    return PairwiseAccuracy(
        groups=groups,
        matrix=matrix,
        n_pairs=counted.of(trials, entries).reshape(k, k),
        score_ties=counted.of(counted.ties, entries).reshape(k, k),
        overall=float(_share(whole.hits, whole.trials)[0]),
        overall_interval=rate_interval(whole, Cell("", "")),
        row_marginals=by_row,
        column_marginals=by_column,
        covariance=_covariance(counted, entries),
        notions=_summary(matrix, by_row, by_column),
        labels=labels,
        raw=raw,
        standardised=standardised,
        effective_sizes={} if overlap is None else overlap.effective_sizes,
        imbalance=0.0 if overlap is None else overlap.imbalance,
    )


def _share(hits: Matrix, trials: Matrix) -> Matrix:
    return np.divide(hits, trials, out=np.full_like(trials, np.nan), where=trials > 0)


def _covariance(counted: _Counted, entries: dict[Cell, list[Cell]]) -> Matrix:
    """Return the covariance of all entries; ``nan`` for those without pairs."""
    inner = merged(counted.sharing, entries)
    with np.errstate(divide="ignore", invalid="ignore"):
        return rate_covariance(inner)


def _summary(matrix: Matrix, rows: Matrix, columns: Matrix) -> dict[str, float]:
    return {
        "pairwise equal opportunity gap": pairwise_equal_opportunity_gap(matrix),
        "cross-group gap": cross_group_gap(matrix),
        "within-group gap": within_group_gap(matrix),
        "marginal gap": marginal_gap(rows),
        "symmetric accuracy gap": symmetric_accuracy_gap(rows, columns),
        "least accuracy": least_accuracy(matrix),
    }
