"""Comparative separation: equal agreement between a model and judges in every kind of pair.

The counting step says whether items or evaluators repeat; this module picks the test that is right
for that design, and says in words what was assumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from comparity.auditing.assumed import (
    Size,
    design_name,
    few_evaluators,
    notes_on,
    uses_of_items,
)
from comparity.auditing.attributes import as_array, check_groups, named_attributes, qualified
from comparity.auditing.options import ComparativeOptions, provenance
from comparity.auditing.verdicts import EXIT_STATUS, judge, overall_finding
from comparity.counting.comparisons import count_comparisons, count_wide_comparisons
from comparity.counting.files import file_sha256, read_table
from comparity.counting.formats import read_comparisons
from comparity.counting.positions import count_position_pairs
from comparity.counts import PairCounts, SharedPairCounts
from comparity.errors import MissingColumnError, OneGroupError
from comparity.inference.agreement import (
    EQUAL_VALUES,
    Contrast,
    agreement_rates,
    all_cells_equal,
    compare_fresh,
    compare_fresh_wald,
    compare_shared,
    contrasts_of_groups,
    contrasts_of_order,
)
from comparity.inference.disjoint import disjoint_pairs
from comparity.results import Audit, GapTest, JudgedGap, Ties
from comparity.tables import collected

__all__ = ["audit_counts", "audit_files", "audit_frames", "comparative_separation"]

Counts = PairCounts | SharedPairCounts


def comparative_separation(
    comparisons: Any,
    *,
    scores: Any,
    sensitive_features: Any,
    evaluators: Any = None,
    ties: Any = None,
    design: str = "auto",
    method: str = "auto",
    score_ties: str = "disagree",
    continuous: bool = False,
    intersection: bool = False,
    alpha: float = 0.05,
    margin: float = 0.05,
    rule: str = "holm",
    looks: tuple[int, int] | None = None,
    seed: int | None = None,
) -> Audit:
    r"""Test whether a model agrees with judges equally often in every kind of pair.

    .. math::

        agree(a > b) = P(f(x) > f(x') \mid x \text{ judged better}, x \in a, x' \in b)

    is the same for all cells :math:`(a, b)` [1]_. For every two groups the across hypothesis
    :math:`agree(a > b) = agree(b > a)` and the within hypothesis
    :math:`agree(a > a) = agree(b > b)` are tested.

    Parameters
    ----------
    comparisons : array-like (n, 2) or frame
        Item positions, the better item first; or a frame with columns ``better`` and ``worse``.
    scores : array-like
        The model's score of each item.
    sensitive_features : array-like, mapping or frame
        The group of each item; several attributes as a mapping or as columns of a frame.
    evaluators : array-like or str, optional
        Who made each comparison, or the column of `comparisons` that says so.
    ties : array-like (m, 2), optional
        Pairs that were judged equal. They carry no order: counted, and left out of rates.
    design : {"auto", "fresh", "shared"}
        Whether items repeat; by default the data say.
    method : {"auto", "disjoint"}
        ``"disjoint"`` tests only pairs that share no item and no evaluator.
    score_ties : {"disagree", "half"}
        Whether a tie of the scores is a disagreement or half of one.
    continuous : bool
        Compare the values of a numeric attribute: agreement where the better item has the larger
        value against agreement where it has the smaller.
    intersection : bool
        Audit the groups formed by all attributes together, too.
    alpha : float
        Probability of finding any violation where there is none.
    margin : float
        Largest gap that does no harm.
    rule : {"holm", "paper"}
        Holm's correction with the variance of the design, or the two uncorrected z-tests of [1]_,
        which take all pairs to be independent.
    looks : (int, int), optional
        This look and how many are planned, if the audit is repeated as judgments come in.
    seed : int, optional
        Seed of the choice that ``method="disjoint"`` makes.

    Returns
    -------
    Audit
        Its `design` says which variance was used.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Section 3.3.2.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(7)
    >>> quality, group = rng.normal(size=300), np.array(["a", "b"] * 150)
    >>> pairs = np.array([rng.choice(300, 2, replace=False) for _ in range(1500)])
    >>> better_first = np.where(
    ...     (quality[pairs[:, 0]] > quality[pairs[:, 1]])[:, None], pairs, pairs[:, ::-1])
    >>> scores = quality + rng.normal(size=300) - 1.0 * (group == "b")
    >>> audit = comparative_separation(better_first, scores=scores, sensitive_features=group)
    >>> audit.finding, audit.design
    ('violated', 'shared items')
    """
    options = ComparativeOptions(
        alpha=alpha,
        margin=margin,
        rule=rule,
        looks=looks,
        intersection=intersection,
        seed=seed,
        design=design,
        method=method,
        score_ties=score_ties,
        continuous=continuous,
    )
    pairs, judges = _positions(comparisons, evaluators)
    counts = count_position_pairs(
        pairs,
        scores=as_array(scores),
        sensitive=named_attributes(sensitive_features),
        evaluators=judges,
        tied_pairs=ties,
        continuous=continuous,
        intersection=intersection,
        design=_design_to_count(options),
    )
    return audit_counts(counts, options, evaluators_known=judges is not None)


def _positions(comparisons: Any, evaluators: Any) -> tuple[Any, Any]:
    """Return the pairs as an array and the evaluators as a column or None."""
    frame = nw.from_native(comparisons, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return comparisons, None if evaluators is None else as_array(evaluators)
    columns = collected(frame.lazy())
    for name in ("better", "worse", *([evaluators] if isinstance(evaluators, str) else [])):
        if name not in columns:
            raise MissingColumnError(name, "comparisons", list(columns))
    judges = columns[evaluators] if isinstance(evaluators, str) else evaluators
    pairs = np.column_stack([columns["better"], columns["worse"]])
    return pairs, None if judges is None else as_array(judges)


def audit_frames(
    comparisons: Any,
    items: Any = None,
    *,
    score: str,
    sensitive: Sequence[str],
    item: str = "item",
    better: str | None = "better",
    worse: str | None = "worse",
    evaluator: str | None = None,
    tied: str | None = None,
    **choices: Any,
) -> Audit:
    """Test comparative separation in frames of any engine.

    Parameters
    ----------
    comparisons : frame
        One row for each judgment, with the ids of the better and the worse item.
    items : frame, optional
        One row for each item. Without it every row of `comparisons` must carry the score and the
        groups of both items, in columns such as ``better_score`` and ``worse_score``.
    score, sensitive, item : str
        Columns of `items`.
    better, worse, evaluator, tied : str
        Columns of `comparisons`.
    **choices
        As in :func:`comparative_separation`.
    """
    options = ComparativeOptions(**choices)
    columns: dict[str, Any] = {
        "better": better,
        "worse": worse,
        "evaluator": evaluator,
        "tied": tied,
        "score": score,
        "sensitive": list(sensitive),
        "continuous": options.continuous,
        "intersection": options.intersection,
        "design": _design_to_count(options),
    }
    if items is None:
        counts = count_wide_comparisons(comparisons, **columns)
    else:
        counts = count_comparisons(comparisons, items, item=item, **columns)
    return audit_counts(
        counts,
        options,
        evaluators_known=evaluator is not None,
        score=score,
        sensitive=list(sensitive),
        evaluator=evaluator,
    )


def audit_counts(
    counts: Mapping[str, Counts],
    options: ComparativeOptions,
    *,
    evaluators_known: bool = False,
    **data: Any,
) -> Audit:
    """Test comparative separation from counts, one for each sensitive attribute."""
    check_groups({attribute: one.groups for attribute, one in counts.items()})
    for attribute, one in counts.items():
        if len(one.groups) < 2 and not options.continuous:
            raise OneGroupError(attribute, one.groups)
    used = {attribute: _as_designed(one, options) for attribute, one in counts.items()}
    judged, finding = _judged(used, options, options.score_ties)
    size = _size(counts, used, options)
    several = len(used) > 1
    ties = _ties(used, options, finding)
    return Audit(
        notion="comparative separation",
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=judged,
        rates=tuple(
            replace(rate, of=qualified(attribute, rate.of, several=several))
            for attribute, one in used.items()
            for rate in agreement_rates(one, score_ties=options.score_ties)
        ),
        joint_tests=tuple(
            replace(joint, null=qualified(attribute, joint.null, several=several))
            for attribute, one in used.items()
            for joint in all_cells_equal(one, score_ties=options.score_ties)
        ),
        groups=tuple(
            f"{attribute}={group}" if several else group
            for attribute, one in used.items()
            for group in one.groups
            if not options.continuous or group != EQUAL_VALUES.better
        ),
        design=design_name(next(iter(counts.values())), next(iter(used.values())), options),
        n=size.judgments,
        n_items=size.items,
        n_evaluators=size.evaluators,
        alpha=options.alpha,
        margin=options.margin,
        rule=options.rule,
        looks=options.looks,
        ties=ties,
        notes=notes_on(counts, used, options, ties, evaluators_known=evaluators_known),
        provenance=provenance(options, **data),
    )


def _design_to_count(options: ComparativeOptions) -> str:
    """Return the design counting is asked for; a choice among shared pairs needs them listed."""
    return "shared" if options.method == "disjoint" else options.design


def _as_designed(counts: Counts, options: ComparativeOptions) -> Counts:
    """Return the counts the tests will see."""
    if isinstance(counts, PairCounts):
        return counts
    if options.method == "disjoint":
        return disjoint_pairs(counts, rng=np.random.default_rng(options.seed or 0))
    fresh = few_evaluators(counts) and uses_of_items(counts).max(initial=0) <= 1
    if options.design == "auto" and (options.rule == "paper" or fresh):
        return PairCounts(counts, counts.judgment_ties)
    return counts


def _size(
    given: Mapping[str, Counts], used: Mapping[str, Counts], options: ComparativeOptions
) -> Size:
    """Return the size of what was tested, with items as they were counted."""
    source = used if options.method == "disjoint" else given
    return Size.of(next(iter(source.values())), declared=options.design == "fresh")


def _judged(
    counts: Mapping[str, Counts], options: ComparativeOptions, score_ties: str
) -> tuple[tuple[JudgedGap, ...], str]:
    several = len(counts) > 1
    tests = [
        replace(test, null=qualified(attribute, test.null, several=several))
        for attribute, one in counts.items()
        for test in _tests(one, options, score_ties)
    ]
    size = Size.of(next(iter(counts.values())))
    judged = judge(
        tests,
        alpha=options.alpha,
        margin=options.margin,
        rule=options.rule,
        looks=options.looks,
        n=size.judgments,
        n_items=size.items,
    )
    return judged, overall_finding(judged)


def _tests(counts: Counts, options: ComparativeOptions, score_ties: str) -> list[GapTest]:
    contrasts: tuple[Contrast, ...] = (
        contrasts_of_order() if options.continuous else contrasts_of_groups(counts.groups)
    )
    if isinstance(counts, SharedPairCounts):
        return compare_shared(counts, contrasts, score_ties=score_ties)
    if options.rule == "paper" and score_ties == "disagree":
        return compare_fresh_wald(counts, contrasts)
    return compare_fresh(counts, contrasts, score_ties=score_ties)


def _ties(counts: Mapping[str, Counts], options: ComparativeOptions, finding: str) -> Ties:
    """Count ties, and see whether scoring them the other way would change the finding."""
    several = len(counts) > 1
    first = next(iter(counts.values()))
    tied_scores = sum(tally.ties for tally in first.values())
    other = "half" if options.score_ties == "disagree" else "disagree"
    return Ties(
        judgments=first.n_judgment_ties,
        judgments_by_groups={
            qualified(attribute, f"{a} = {b}", several=several): n
            for attribute, one in counts.items()
            for (a, b), n in one.judgment_ties.items()
        },
        scores=tied_scores,
        scores_by_cell={
            qualified(attribute, str(cell), several=several): tally.ties
            for attribute, one in counts.items()
            for cell, tally in one.items()
        },
        scored_as=options.score_ties,
        change_finding=tied_scores > 0 and _judged(counts, options, other)[1] != finding,
    )


def audit_files(
    comparisons: str | Path,
    items: str | Path | None = None,
    *,
    layout: str = "auto",
    better: str | None = None,
    worse: str | None = None,
    evaluator: str | None = None,
    **choices: Any,
) -> Audit:
    """Test comparative separation in files.

    Parameters
    ----------
    comparisons : path
        One row for each judgment, in any layout of :mod:`comparity.counting.formats`.
    items : path, optional
        One row for each item; without it the comparisons carry scores and groups themselves.
    layout, better, worse, evaluator : str, optional
        How a comparison is written, where it cannot be recognised by its column names.
    **choices
        As in :func:`audit_frames`.
    """
    columns: dict[str, Any] = {"better": better, "worse": worse, "evaluator": evaluator}
    if items is None:
        table = read_table(comparisons)
        known: dict[str, Any] = {
            role: name or _if_present(table, role) for role, name in columns.items()
        }
        audit = audit_frames(table, tied=_if_present(table, "tied"), **known, **choices)
        data: dict[str, Any] = {}
        notes: tuple[str, ...] = ()
    else:
        read = read_comparisons(comparisons, layout=layout, **columns)
        judge = "evaluator" if read.has_evaluators else None
        audit = audit_frames(read.frame, read_table(items), evaluator=judge, tied="tied", **choices)
        data = {"layout": read.layout, "columns": dict(read.columns)}
        data["evaluator"] = read.columns.get("evaluator")
        notes = read.notes
        if evaluator is None and read.has_evaluators:
            notes = (*notes, f"Who judged was read from column {data['evaluator']!r}.")
    files = [
        {"name": Path(path).name, "sha256": file_sha256(path)}
        for path in (comparisons, items)
        if path is not None
    ]
    data = {**audit.provenance["data"], **data, "files": files}
    return replace(
        audit,
        notes=(*audit.notes, *notes),
        provenance={**audit.provenance, "data": data},
    )


def _if_present(table: nw.LazyFrame[Any], column: str) -> str | None:
    return column if column in table.collect_schema().names() else None
