"""Audits of all pairs, from checked items to a matrix with two audits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import column_marginals, drop_groups, row_marginals
from comparity.counts.clusters import Clustering
from comparity.counts.drawn_items import DrawnItems
from comparity.counts.overlap import Overlap, overlap_weights
from comparity.counts.pairs import Cell
from comparity.inference.agreement_tests import EQUAL_VALUES
from comparity.inference.dyadic import (
    compare_cells,
)
from comparity.inference.gap_tests import GapTest
from comparity.inference.item_permutation import check_by_permutation
from comparity.inference.joint import equal_cells
from comparity.pairwise import measures
from comparity.pairwise.accuracies import CountedPairs, compare_symmetric, divide_hits
from comparity.pairwise.count import (
    compared_rates,
    contrasts_of,
    count_evened,
    count_pairs,
    deal_pairs,
    has_ungrouped,
    kinds_of_pairs,
    roles_of,
)
from comparity.pairwise.engine_items import (
    EngineItems,
    Items,
    describe_sample,
    reason_against_standardising,
)
from comparity.pairwise.jackknife import know_clusters
from comparity.pairwise.options import PairwiseOptions
from comparity.pairwise.result import PairwiseAccuracy
from comparity.results.audit import Audit, JudgedGap, Ties
from comparity.results.judging import conclude, judge, overall_finding
from comparity.results.result import EXIT_STATUS, UNDECIDED
from comparity.tables.features import LabelledItems

Matrix = NDArray[np.float64]

NOTION = "pairwise equal opportunity ({which})"


def audit_items(
    items: Items,
    options: PairwiseOptions,
    clusters: Mapping[str, Clustering] | None = None,
    **data: Any,
) -> PairwiseAccuracy:
    """Audit checked items; see :func:`pairwise_accuracy`."""
    counted = count_pairs(items, options)
    labels = _kind(items)
    raw = _audit(counted, items, options, "raw", **data)
    standardised, overlap = raw, None
    if reason := reason_against_standardising(items):
        standardised = _refuse(raw, options, reason)
    elif isinstance(items, EngineItems) and items.sample:
        note = items.note(counted.largest_bound)
        standardised, overlap = _audit_sample(items.sample, options, note, **data)
    elif labels != "binary" and not options.continuous:
        overlap = _overlap_of(items)
        standardised = _audit_standardised(items, options, overlap, raw, **data)
    if options.cluster:
        assert isinstance(items, LabelledItems), "clusters are counted in memory"
        measure = partial(gaps_of_items, options=options)
        audits = ((raw, partial(measure, raw=True)), (standardised, measure))
        raw, standardised = know_clusters(audits, items, clusters or {}, options)
    found = _result(counted, labels, raw, standardised, overlap)
    sample = items.sample if isinstance(items, EngineItems) else None
    return replace(found, n_sampled=len(sample.items)) if sample else found


def gaps_of_items(items: Items, options: PairwiseOptions, *, raw: bool = False) -> Matrix:
    """Return the gaps of the tests between cells that decide, or raw ones, without their errors."""
    if not raw and _kind(items) != "binary" and not options.continuous:
        overlap = _overlap_of(items)
        sharing = _count_weighted(_weigh_items(items, overlap), options, overlap).sharing
    else:
        sharing = count_pairs(items, options, numbered=False).sharing
    rate = dict(zip(sharing.cells, divide_hits(sharing.hits, sharing.trials), strict=True))
    contrasts = contrasts_of(options, items.groups)
    return np.array([rate[first] - rate[second] for first, second in contrasts])


def _overlap_of(items: Items) -> Overlap:
    """Weigh items so that labels have one distribution."""
    if isinstance(items, EngineItems):
        return items.weigh()
    columns = items.label, items.group, items.groups
    return overlap_weights(*columns, sample_weight=items.weight)


def _kind(items: Items) -> str:
    levels = items.n_levels
    return "binary" if levels == 2 else "ordinal" if levels <= 20 else "continuous"


def _audit_standardised(
    items: Items, options: PairwiseOptions, overlap: Overlap, raw: Audit, **data: Any
) -> Audit:
    """Audit the items weighted to one label distribution; without tests where the weights fail."""
    weighted = _weigh_items(items, overlap)
    counted = _count_weighted(weighted, options, overlap)
    audit = _audit(counted, weighted, options, "standardised", **data)
    audit = _report_counts_of(audit, raw)
    if has_ungrouped(items):
        note = "Items in no group have no distribution of labels to share, and weigh nothing here."
        audit = replace(audit, notes=(*audit.notes, note))
    # Rates adjusted for distances do not rest on weights alone.
    reason = overlap.reason if counted.expected is None else overlap.scarcity
    return _without_verdict(audit, options, reason) if reason else audit


def _audit_sample(
    sample: DrawnItems, options: PairwiseOptions, note_of_all: str, **data: Any
) -> tuple[Audit, Overlap]:
    """Audit the items that were drawn as if there were no others."""
    items = sample.items
    unweighted = _audit(count_pairs(items, options), items, options, "raw", **data)
    overlap = _overlap_of(items)
    audit = _audit_standardised(items, options, overlap, unweighted, **data)
    notes = (describe_sample(sample), f"Raw accuracies are of all items. {note_of_all}")
    return replace(audit, notes=(*audit.notes, *notes)), overlap


def _count_weighted(weighted: Items, options: PairwiseOptions, overlap: Overlap) -> CountedPairs:
    """Count weighted items, adjusted for distances unless counted shares balance labels exactly."""
    if overlap.kind == "table" or weighted.query is not None:
        return count_pairs(weighted, options, numbered=False)
    assert isinstance(weighted, LabelledItems), "engines count shares"
    return count_evened(weighted, options)


def _weigh_items(items: Items, overlap: Overlap) -> Items:
    """Return the items that weigh anything, with these weights."""
    if isinstance(items, EngineItems):
        return items.weighted_by(overlap)
    kept = overlap.weights > 0
    return replace(items.keep(kept), weight=overlap.weights[kept])


def _report_counts_of(audit: Audit, raw: Audit) -> Audit:
    """Report how many pairs there are, not what they weigh."""
    numbers = {rate.of: rate for rate in raw.rates}
    tests = zip(audit.tests, raw.tests, strict=True)
    return replace(
        audit,
        n=raw.n,
        n_items=raw.n_items,
        ties=replace(raw.ties, change_finding=audit.ties.change_finding),
        tests=tuple(replace(test, n=same.n) for test, same in tests),
        rates=tuple(
            replace(rate, trials=numbers[rate.of].trials, score_ties=numbers[rate.of].score_ties)
            for rate in audit.rates
        ),
    )


def _refuse(raw: Audit, options: PairwiseOptions, reason: str) -> Audit:
    """Return a standardised audit without a number, and say why."""
    audit = replace(
        raw,
        notion=NOTION.format(which="standardised"),
        tests=tuple(map(_without_number, raw.tests)),
        rates=(),
        joint_tests=(),
    )
    return _without_verdict(audit, options, reason)


def _without_number(test: JudgedGap) -> JudgedGap:
    return replace(test, gap=np.nan, standard_error=np.nan, shared_variance=0.0, method="none")


def _without_verdict(audit: Audit, options: PairwiseOptions, reason: str) -> Audit:
    """Leave every question open and say why."""
    untested = [replace(test, p_value=np.nan, pivot=None, reason=reason) for test in audit.tests]
    judging = options.judging | {"looks": None}
    judged = judge(untested, **judging, n=audit.n_items, n_items=audit.n_items)
    # Without a p value every test is open.
    return replace(audit, tests=judged, finding=UNDECIDED, exit_status=EXIT_STATUS[UNDECIDED])


def _audit(
    counted: CountedPairs, items: Items, options: PairwiseOptions, which: str, **data: Any
) -> Audit:
    judged = _judge_tests(counted, items, options)
    inner, numbers = drop_groups(counted.sharing, counted.others), counted.numbers.sharing
    by_query = items.query is not None and options.average == "queries"
    return conclude(
        judged,
        options,
        data,
        notion=NOTION.format(which=which),
        rates=tuple(
            counted.rate_of(cell)
            for cell in inner.cells
            if cell != EQUAL_VALUES and counted.sharing.trials[counted.sharing.cells.index(cell)]
        ),
        joint_tests=equal_cells(inner),
        groups=counted.groups,
        design=design_of(items),
        unit="queries" if by_query else "pairs",
        n=numbers.n_clusters if by_query else round(float(numbers.trials.sum())),
        n_items=len(items),
        ties=_ties(counted, items, options, overall_finding(judged)),
        notes=_notes(items, counted, options, which),
    )


def _judge_tests(
    counted: CountedPairs, items: Items, options: PairwiseOptions
) -> tuple[JudgedGap, ...]:
    tests = _tests(counted, options)
    if counted.unweighted is not None:
        # Report how many pairs there are, not what they weigh.
        alike = zip(tests, _tests(counted.unweighted, options), strict=True)
        tests = [replace(test, n=same.n) for test, same in alike]
    tests = _count_items(tests, items, options)
    cells = dict(enumerate(contrasts_of(options, counted.groups)))
    for place, test in enumerate(tests):
        if reason := counted.reason_against(test.standard_error, cells.get(place, ())):
            tests[place] = replace(test, p_value=np.nan, pivot=None, reason=reason)
    dealt = partial(deal_pairs, items, options)
    gaps = compared_rates(options, counted.groups, counted.others)
    tests = counted.allow_for_doubt(tests, gaps)
    tests = check_by_permutation(tests, gaps, counted.sharing, dealt)
    return judge(tests, **options.judging, n=len(items), n_items=len(items))


def _count_items(tests: Sequence[GapTest], items: Items, options: PairwiseOptions) -> list[GapTest]:
    """Return the tests with the number of items that each rests on."""
    sizes, roles = items.group_sizes, roles_of(items)
    kinds = kinds_of_pairs(options, items.groups)
    return [
        replace(
            test,
            smallest_group=min(sizes[group] for cell in cells for group in cell if group in sizes),
            smallest_role=min(map(roles.smallest, cells)),
        )
        for test, cells in zip(tests, kinds, strict=True)
    ]


def _tests(counted: CountedPairs, options: PairwiseOptions) -> list[GapTest]:
    sharing, groups, others = counted.sharing, counted.groups, counted.others
    contrasts = contrasts_of(options, groups)
    tests = [compare_cells(sharing, *one, null=one.null) for one in contrasts]
    if options.continuous:
        return tests
    if "marginal" in options.notions:
        rows = counted.together("rows", row_marginals(groups, others))
        tests += [
            compare_cells(rows, one, two, null=f"agree({one}) = agree({two})")
            for one, two in combinations(rows.cells, 2)
        ]
    if "symmetric" in options.notions:
        tests += compare_symmetric(sharing, groups, others)
    return tests


def design_of(items: Items) -> str:
    """Name the sampling design."""
    return "all pairs" if items.query is None else "all pairs within queries"


def _ties(counted: CountedPairs, items: Items, options: PairwiseOptions, finding: str) -> Ties:
    """Count score ties, and see whether scoring them the other way would change the finding."""
    tied = counted.n_ties
    total = float(tied.sum())
    changes = False
    if total:
        other: Literal["disagree", "half"] = "half"
        if options.score_ties == "half":
            other = "disagree"
        if counted.expected is None:
            scored = count_pairs(items, options, other, numbered=False)
        else:
            assert isinstance(items, LabelledItems), "engines adjust for no distances"
            scored = count_evened(items, options, other)
        judged = _judge_tests(scored, items, replace(options, score_ties=other))
        changes = overall_finding(judged) != finding
    return Ties(
        scores=round(total),
        scores_by_cell={
            str(cell): round(float(ties))
            for cell, ties in zip(counted.sharing.cells, tied, strict=True)
        },
        scored_as=options.score_ties,
        change_finding=changes,
    )


def _notes(
    items: Items, counted: CountedPairs, options: PairwiseOptions, which: str
) -> tuple[str, ...]:
    notes = []
    if options.continuous and items.n_levels > 2:
        notes.append("A continuous attribute is judged raw; standardisation needs groups.")
    if items.query is not None:
        notes.append(f"Only items of the same query are compared; {options.average} count alike.")
    if which == "raw" and items.n_levels > 2:
        notes.append(
            "With labels of more than two values, groups whose labels lie closer together have "
            "harder pairs: equal errors can give unequal raw accuracies."
        )
    if which == "standardised":
        notes.append(
            "Items are weighted so that labels have the same distribution in every group; equal "
            "errors given the label then mean equal accuracies. The numbers of pairs are before "
            "weighting."
        )
    if options.pair_weight == "difference":
        notes.append(
            "Pairs count by the difference of their labels; the numbers of pairs are before "
            "weighting."
        )
    elif which == "raw" and items.weight is not None:
        notes.append(
            "A pair weighs the product of its items; the numbers of pairs are before that."
        )
    if isinstance(items, EngineItems):
        notes.append(items.note(counted.largest_bound))
    if counted.others:
        notes.append("Items in no group count overall and in marginals, in no entry of the matrix.")
    return tuple(notes)


def _result(
    counted: CountedPairs, labels: str, raw: Audit, standardised: Audit, overlap: Overlap | None
) -> PairwiseAccuracy:
    groups, others = counted.groups, counted.others
    rows = counted.together("rows", row_marginals(groups, others))
    columns = counted.together("columns", column_marginals(groups, others))
    entries = {cell: [cell] for cell in counted.cells}
    k = len(groups)
    matrix = counted.rates(entries).reshape(k, k)
    by_row, by_column = (divide_hits(side.hits, side.trials) for side in (rows, columns))
    whole = counted.together("whole", {Cell("", ""): list(counted.sharing.cells)})
    return PairwiseAccuracy(
        groups=groups,
        matrix=matrix,
        n_pairs=counted.of(counted.n_pairs, entries).reshape(k, k),
        score_ties=counted.of(counted.n_ties, entries).reshape(k, k),
        overall=float(divide_hits(whole.hits, whole.trials)[0]),
        overall_interval=counted.interval(whole, Cell("", ""), counted.sharing.cells),
        row_marginals=by_row,
        column_marginals=by_column,
        covariance=counted.covariance(entries),
        notions=_summary(matrix, by_row, by_column),
        labels=labels,
        raw=raw,
        standardised=standardised,
        effective_sizes={} if overlap is None else overlap.effective_sizes,
        imbalance=0.0 if overlap is None else overlap.imbalance,
        bound=counted.largest_bound,
    )


def _summary(matrix: Matrix, rows: Matrix, columns: Matrix) -> dict[str, float]:
    return {
        "pairwise equal opportunity gap": measures.pairwise_equal_opportunity_gap(matrix),
        "cross-group gap": measures.cross_group_gap(matrix),
        "within-group gap": measures.within_group_gap(matrix),
        "marginal gap": measures.marginal_gap(rows),
        "symmetric accuracy gap": measures.symmetric_accuracy_gap(rows, columns),
        "least accuracy": measures.least_accuracy(matrix),
    }
