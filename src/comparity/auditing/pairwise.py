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
from dataclasses import replace
from pathlib import Path
from typing import Any

from comparity.auditing.all_pairs import audit_items
from comparity.auditing.attributes import as_array, one_attribute
from comparity.auditing.options import PairwiseOptions
from comparity.counting.files import file_sha256, read_table
from comparity.counting.labelled import NAMES, labelled_columns, labelled_items
from comparity.errors import OptionError
from comparity.matrices import PairwiseAccuracy
from comparity.results import Audit

__all__ = ["audit_file", "audit_frame", "pairwise_accuracy"]


def pairwise_accuracy(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    queries: Any = None,
    average: str = "pairs",
    pair_weight: str = "equal",
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
        pair_weight=pair_weight,
        score_ties=score_ties,
        continuous=continuous,
        notions=(notions,) if isinstance(notions, str) else tuple(notions),
    )
    _check_average(options, queries)
    items = labelled_items(
        as_array(y_true, "y_true"),
        as_array(y_score, "y_score"),
        one_attribute(sensitive_features),
        queries=None if queries is None else as_array(queries, "queries"),
        weights=None if sample_weight is None else as_array(sample_weight, "sample_weight"),
        continuous=continuous,
        no_group=no_group,
    )
    return audit_items(items, options)


def _check_average(options: PairwiseOptions, queries: Any) -> None:
    if options.average == "queries" and queries is None:
        why = "there are no queries to average over"
        raise OptionError("average", options.average, ["'pairs'", "name the queries"], why)


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
    _check_average(options, query)
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

    raw = known(result.raw)
    same = result.standardised is result.raw
    return replace(result, raw=raw, standardised=raw if same else known(result.standardised))
