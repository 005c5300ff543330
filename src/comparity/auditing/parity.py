"""Pairwise statistical parity: every two groups are equally likely to have the higher score."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from comparity.auditing.all_pairs import design_of, rate_of
from comparity.auditing.attributes import as_array, check_groups, one_attribute
from comparity.auditing.options import PairwiseOptions, provenance
from comparity.auditing.verdicts import EXIT_STATUS, judge, overall_finding
from comparity.counting.all_pairs import all_pairs
from comparity.counting.labelled import NAMES, LabelledItems, labelled_items
from comparity.counting.query_pairs import query_pairs
from comparity.counting.sharing import Sharing
from comparity.counts import Cell
from comparity.inference.dyadic import compare_wins
from comparity.results import Audit

__all__ = ["pairwise_parity"]


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
        as_array(y_score, "y_score"),
        one_attribute(sensitive_features),
        queries=None if queries is None else as_array(queries, "queries"),
    )
    check_groups({NAMES["sensitive"]: items.groups})
    tests, rates = [], []
    for first, second in combinations(range(len(items.groups)), 2):
        sharing, cell = _cross_pairs(items, first, second)
        tests.append(compare_wins(sharing, cell, null=f"P({cell}) = P({Cell(*cell[::-1])})"))
        rates.append(rate_of(sharing, cell, np.zeros(len(sharing.cells)), name="win share"))
    judged = judge(tests, alpha=alpha, margin=margin, n=len(items), n_items=len(items))
    finding = overall_finding(judged)
    return Audit(
        notion="pairwise statistical parity",
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=judged,
        rates=tuple(rates),
        groups=items.groups,
        design=design_of(items),
        unit="pairs",
        n=sum(test.n[0] for test in judged),
        n_items=len(items),
        alpha=alpha,
        margin=margin,
        rule="holm",
        notes=("No labels were used: a gap may be earned. Ties of scores are half a win of each.",),
        provenance=provenance(options),
    )


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
