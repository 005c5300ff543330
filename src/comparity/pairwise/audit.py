"""Pairwise fairness over all pairs: that labels imply, or of any two groups whatever the labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from comparity.counts.all_pairs import all_pairs
from comparity.counts.clusters import named_clusters, read_clusters
from comparity.counts.engine_pairs import read_labelled_rows
from comparity.counts.label_parts import rows_at_once
from comparity.counts.ordered_pairs import LARGER, ordered_wins
from comparity.counts.overlap import MOST_LEVELS
from comparity.counts.pairs import Cell, Sharing
from comparity.counts.query_pairs import query_pairs
from comparity.errors import OptionError
from comparity.inference.dyadic import compare_wins
from comparity.pairwise.accuracies import rate_of
from comparity.pairwise.engine_items import EngineItems, tabulate_items
from comparity.pairwise.judge import audit_items, design_of
from comparity.pairwise.options import PairwiseForm, PairwiseOptions, ParityForm, ParityOptions
from comparity.pairwise.parted_items import part_items
from comparity.pairwise.query_items import PartitionedItems
from comparity.pairwise.result import PairwiseAccuracy
from comparity.results.audit import Audit
from comparity.results.judging import conclude, judge
from comparity.results.options import shows
from comparity.tables.columns import labelled_columns
from comparity.tables.features import NAMES, LabelledItems, as_array, labelled_items, one_attribute
from comparity.tables.files import read_table
from comparity.tables.frames import n_rows, of_engine, stays_on_engine
from comparity.tables.memory import BYTES_PER_ROW, check_room, current_limits
from comparity.tables.typing import Attributes, Column


@shows(PairwiseOptions)
def pairwise_accuracy(
    y_true: Column,
    y_score: Column,
    *,
    sensitive_features: Attributes,
    queries: Column | None = None,
    sample_weight: Column | None = None,
    no_group: Any = None,
    cluster: Attributes | None = None,
    **choices: Any,
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
    pair_weight : {"equal", "difference"}
        Whether all pairs count alike, or by the difference of their labels, so that close calls
        matter less (the conclusion of [1]_). With binary labels both are the same.
    sample_weight : array-like, optional
        Positive weights of items; a pair weighs the product.
    score_ties : {"disagree", "half"}
        What a pair with equal scores counts as.
    continuous : bool
        Compare pairs whose better item has the larger value of the attribute with pairs whose
        better item has the smaller one.
    no_group : optional
        The value that marks items in no group: they count in marginals and overall, in no entry.
    cluster : array-like, mapping or frame, optional
        What makes items dependent, such as the person that each is about; several kinds as a
        mapping, or as the columns of a frame.
    notions : sequence of {"cross-group", "within-group", "marginal", "symmetric"}
        Which equalities to test.
    alpha, margin, looks
        As in :func:`comparity.separation`.

    Returns
    -------
    PairwiseAccuracy
        The matrix with its covariance, and two audits: `raw`, and `standardised` to one
        distribution of labels.

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
    clusters = named_clusters(cluster)
    options = PairwiseOptions(cluster=tuple(clusters), **choices)
    _check_average(options, queries)
    items = labelled_items(
        as_array(y_true, "y_true"),
        as_array(y_score, "y_score"),
        one_attribute(sensitive_features),
        queries=None if queries is None else as_array(queries, "queries"),
        weights=None if sample_weight is None else as_array(sample_weight, "sample_weight"),
        continuous=options.continuous,
        no_group=no_group,
    )
    kinds = read_clusters(clusters, table="item", beside={"y_score": items.score})
    return audit_items(items, options, kinds)


def _check_average(options: PairwiseOptions, queries: Any) -> None:
    if options.average == "queries" and queries is None:
        why = "there are no queries to average over"
        raise OptionError("average", options.average, ["'pairs'", "name the queries"], why)


def audit_frame(frame: Any, **choices: Any) -> PairwiseAccuracy:
    """Audit all pairs of the rows of a frame; `choices` are those of :class:`PairwiseForm`."""
    form = PairwiseForm(**choices)
    _check_average(form, form.query)
    roles = {"label": form.label, "score": form.score, "sensitive": form.sensitive}
    roles |= {"queries": form.query} if form.query else {}
    roles |= {"weights": form.weight} if form.weight else {}
    if (kept := items_on_engine(frame, form)) is not None:
        known: dict[str, Any] = {**roles, "tolerance": form.tolerance}
        return audit_items(kept, form.narrow(PairwiseOptions), **known)
    columns = labelled_columns(frame, [*roles.values(), *form.cluster])
    items = labelled_items(
        columns[form.label],
        columns[form.score],
        columns[form.sensitive],
        queries=columns[form.query] if form.query else None,
        weights=columns[form.weight] if form.weight else None,
        continuous=form.continuous,
        no_group=form.no_group,
        names={**NAMES, **roles},
    )
    kinds = read_clusters({name: columns[name] for name in form.cluster}, table="items")
    return audit_items(items, form.narrow(PairwiseOptions), kinds, **roles)


def audit_file(path: str | Path, **choices: Any) -> PairwiseAccuracy:
    """Audit all pairs of the rows of a file; `choices` as in :func:`audit_frame`."""
    return name_files(audit_frame(read_table(path), **choices), path)


def name_files(result: PairwiseAccuracy, *paths: str | Path) -> PairwiseAccuracy:
    """Return the result with the files it was made from."""
    raw = result.raw.with_files(*paths)
    same = result.standardised is result.raw
    known = raw if same else result.standardised.with_files(*paths)
    return replace(result, raw=raw, standardised=known)


MOST_COLLECTED = 10**6
"""More rows of DuckDB or Spark stay there, and their engine counts pairs."""


def items_on_engine(frame: Any, form: PairwiseForm) -> EngineItems | None:
    """Return the checked items of a table that stays on its engine, or nothing.

    Rows are counted in memory where they are few, where they fit and labels have so many values
    that they are standardised item by item, and where single items are asked for: clusters, an
    attribute that is a number, pairs that weigh by the difference of their labels.

    Raises
    ------
    OptionError
        Single items are asked for, and rows do not fit into memory.
    """
    opened = of_engine(frame, "items")
    if not isinstance(opened, nw.LazyFrame) or not stays_on_engine(opened):
        return None
    rows = n_rows(opened)
    if rows <= MOST_COLLECTED:
        return None
    if choice := _choice_for_memory(form):
        check_room(opened, *choice)
        return None
    fits = current_limits().holds(rows, BYTES_PER_ROW)
    roles = {"label": form.label, "score": form.score, "group": form.sensitive}
    roles |= {"weight": form.weight} if form.weight else {}
    roles |= {"query": form.query} if form.query else {}
    items = read_labelled_rows(frame, roles, no_group=form.no_group)
    if not 2 <= len(items.levels) <= MOST_LEVELS and fits:
        return None
    if form.query:
        return PartitionedItems(items)
    if len(items.levels):
        return tabulate_items(items, form.tolerance)
    if not current_limits().holds(at_once := rows_at_once(rows), BYTES_PER_ROW):
        why = f"ranges of such labels are counted in memory, and {at_once:,} rows do not fit"
        allowed = ["labels in grades", "more memory", "a random sample of rows"]
        raise OptionError("label", form.label, allowed, why)
    return part_items(items, form.tolerance)


def _choice_for_memory(form: PairwiseForm) -> tuple[str, object, str] | None:
    """Return a choice that no engine counts by, what was chosen, and what engines can do."""
    if form.continuous:
        return "continuous", True, "groups"
    if form.cluster:
        return "cluster", form.cluster, "no clusters"
    if form.pair_weight != "equal":
        return "pair_weight", form.pair_weight, "'equal'"
    return None


@shows(ParityOptions)
def pairwise_parity(
    y_score: Column,
    *,
    sensitive_features: Attributes,
    queries: Column | None = None,
    **choices: Any,
) -> Audit:
    r"""Test whether every two groups are equally likely to have the higher score, without labels.

    .. math:: P(f(x) > f(x') \mid x \in i, x' \in j) = P(f(x) < f(x') \mid x \in i, x' \in j)

    for every two groups (equation (8) of [1]_). The gap is the first probability minus the second.
    If the attribute z is a number, pairs are ordered by it, as in equations (9) to (11), and
    :math:`P(f(x) > f(x') \mid z > z')` is compared with :math:`P(f(x) < f(x') \mid z > z')`. That
    gap is Kendall's tau of score and attribute, with pairs of equal attributes left out (Somers'
    D).

    Parameters
    ----------
    y_score, sensitive_features, queries : array-like
        As in :func:`pairwise_accuracy`.
    continuous : bool
        Whether the attribute is a number.
    alpha, margin, rule, looks
        As in :func:`comparity.separation`.

    References
    ----------
    .. [1] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression".

    Examples
    --------
    >>> audit = pairwise_parity(range(100), sensitive_features=["a"] * 50 + ["b"] * 50)
    >>> audit.finding, audit.tests[0].gap
    ('violated', -1.0)
    >>> audit = pairwise_parity(range(100), sensitive_features=range(100), continuous=True)
    >>> audit.tests[0].null, audit.tests[0].gap
    ('P(larger > smaller) = P(smaller > larger)', 1.0)
    """
    options = ParityOptions(**choices)
    items = labelled_items(
        None,
        as_array(y_score, "y_score"),
        one_attribute(sensitive_features),
        queries=None if queries is None else as_array(queries, "queries"),
        continuous=options.continuous,
    )
    return _audit_items(items, options)


def audit_parity_frame(frame: Any, **choices: Any) -> Audit:
    """Test parity among the rows of a frame; `choices` are those of :class:`ParityForm`."""
    form = ParityForm(**choices)
    roles = {"score": form.score, "sensitive": form.sensitive}
    roles |= {"queries": form.query} if form.query else {}
    opened = of_engine(frame, "items")
    if isinstance(opened, nw.LazyFrame):
        check_room(opened, "parity", True, "labels")
    columns = labelled_columns(frame, list(roles.values()))
    items = labelled_items(
        None,
        columns[form.score],
        columns[form.sensitive],
        queries=columns[form.query] if form.query else None,
        continuous=form.continuous,
        names={**NAMES, **roles},
    )
    return _audit_items(items, form.narrow(ParityOptions), **roles)


def audit_parity_file(path: str | Path, **choices: Any) -> Audit:
    """Test parity among the rows of a file; `choices` as in :func:`audit_parity_frame`."""
    return audit_parity_frame(read_table(path), **choices).with_files(path)


def _audit_items(items: LabelledItems, options: ParityOptions, **data: Any) -> Audit:
    tests, rates, sizes = [], [], items.group_sizes
    for sharing, cell in _pairs(items):
        test = compare_wins(sharing, cell, null=f"P({cell}) = P({Cell(*cell[::-1])})")
        fewest = len(items) if options.continuous else min(sizes[group] for group in cell)
        tests.append(replace(test, smallest_group=fewest))
        rates.append(rate_of(sharing, cell, np.zeros(len(sharing.cells)), name="win share"))
    judged = judge(tests, **options.judging, n=len(items), n_items=len(items))
    notes = ["No labels were used: a gap may be earned. Ties of scores are half a win of each."]
    if options.continuous:
        notes.append("Pairs whose items have the same value of the attribute are left out.")
    return conclude(
        judged,
        options,
        data,
        notion="pairwise statistical parity",
        rates=tuple(rates),
        groups=items.groups,
        design=design_of(items),
        unit="pairs",
        n=sum(test.n[0] for test in judged),
        n_items=len(items),
        notes=tuple(notes),
    )


def _pairs(items: LabelledItems) -> Iterator[tuple[Sharing, Cell]]:
    """Yield the pairs to compare: of every two groups, or by the order of a number."""
    if items.value is not None:
        yield ordered_wins(items.value, items.score, query=items.query), LARGER
        return
    for first, second in combinations(range(len(items.groups)), 2):
        yield _cross_pairs(items, first, second)


def _cross_pairs(items: LabelledItems, first: int, second: int) -> tuple[Sharing, Cell]:
    """Pair every item of one group with every item of another; a tie is half a win."""
    kept = (items.group == first) | (items.group == second)
    side = (items.group[kept] == first).astype(np.int64)
    names = (items.groups[second], items.groups[first])
    columns = (side.astype(np.float64), items.score[kept], side, names)
    if items.query is None:
        sharing = all_pairs(*columns, score_ties="half").sharing
    else:
        sharing = query_pairs(*columns, items.query[kept], score_ties="half").sharing
    return sharing, Cell(items.groups[first], items.groups[second])
