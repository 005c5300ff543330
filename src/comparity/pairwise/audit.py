"""Pairwise fairness over all pairs that labels imply."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw

from comparity.counts.clusters import named_clusters, read_clusters
from comparity.counts.drawn_items import MOST_DRAWN, Draw
from comparity.counts.label_parts import rows_at_once
from comparity.counts.labelled_rows import read_labelled_rows
from comparity.counts.overlap import MOST_LEVELS
from comparity.errors import OptionError
from comparity.pairwise.engine_items import EngineItems, tabulate_items
from comparity.pairwise.judge import audit_items
from comparity.pairwise.options import PairwiseForm, PairwiseOptions
from comparity.pairwise.parted_items import part_items
from comparity.pairwise.query_items import PartitionedItems
from comparity.pairwise.result import PairwiseAccuracy
from comparity.results.options import shows
from comparity.tables.columns import labelled_columns
from comparity.tables.features import NAMES, as_array, labelled_items, one_attribute
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
    draw = Draw(min(current_limits().memory // BYTES_PER_ROW, MOST_DRAWN), form.seed or 0)
    if len(items.levels):
        return tabulate_items(items, form.tolerance, draw)
    if not current_limits().holds(at_once := rows_at_once(rows), BYTES_PER_ROW):
        why = f"ranges of such labels are counted in memory, and {at_once:,} rows do not fit"
        allowed = ["labels in grades", "more memory", "a random sample of rows"]
        raise OptionError("label", form.label, allowed, why)
    return part_items(items, form.tolerance, draw)


def _choice_for_memory(form: PairwiseForm) -> tuple[str, object, str] | None:
    """Return a choice that no engine counts by, what was chosen, and what engines can do."""
    if form.continuous:
        return "continuous", True, "groups"
    if form.cluster:
        return "cluster", form.cluster, "no clusters"
    if form.pair_weight != "equal":
        return "pair_weight", form.pair_weight, "'equal'"
    return None
