"""Pairwise statistical parity: who has the higher score, whatever the labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from comparity.counts.all_pairs import all_pairs
from comparity.counts.ordered_pairs import LARGER, ordered_wins
from comparity.counts.pairs import Cell, Sharing
from comparity.counts.query_pairs import query_pairs
from comparity.inference.dyadic import compare_wins
from comparity.pairwise.accuracies import rate_of
from comparity.pairwise.judge import design_of
from comparity.pairwise.options import ParityForm, ParityOptions
from comparity.results.audit import Audit
from comparity.results.judging import conclude, judge
from comparity.results.options import shows
from comparity.tables.columns import labelled_columns
from comparity.tables.features import (
    NAMES,
    LabelledItems,
    as_array,
    labelled_items,
    one_attribute,
)
from comparity.tables.files import read_table
from comparity.tables.typing import Attributes, Column


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
    Of an attribute that is a number, pairs are made by its order, as equations (9) to (11) make
    them: :math:`P(f(x) > f(x') \mid z > z') = P(f(x) < f(x') \mid z > z')`. That gap is Kendall's
    tau of score and attribute, with pairs of equal attributes left out (Somers' D).

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
