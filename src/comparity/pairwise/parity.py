"""Statistical parity over all pairs of items of two groups, whatever their labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from comparity.counts.all_pairs import all_pairs
from comparity.counts.binned_pairs import PairSums
from comparity.counts.engine_pairs import tabulate_pairs
from comparity.counts.labelled_rows import read_grouped_rows
from comparity.counts.ordered_pairs import LARGER, ordered_wins
from comparity.counts.pairs import Cell, Sharing
from comparity.counts.query_pairs import query_pairs
from comparity.inference.dyadic import compare_wins
from comparity.inference.gap_tests import GapTest, RateEstimate
from comparity.pairwise.accuracies import rate_of
from comparity.pairwise.audit import MOST_COLLECTED
from comparity.pairwise.doubtful import allow_in_wins, doubtful_interval
from comparity.pairwise.engine_items import round_up
from comparity.pairwise.judge import design_of
from comparity.pairwise.options import ParityForm, ParityOptions
from comparity.results.audit import Audit
from comparity.results.judging import conclude, judge
from comparity.results.options import shows
from comparity.tables.columns import labelled_columns
from comparity.tables.features import NAMES, LabelledItems, as_array, labelled_items, one_attribute
from comparity.tables.files import read_table
from comparity.tables.frames import n_rows, of_engine, stays_on_engine
from comparity.tables.memory import check_room
from comparity.tables.typing import Attributes, Column


class ComparedGroups(NamedTuple):
    """Who wins in the pairs of two groups, or of larger and smaller values of a number."""

    test: GapTest
    rate: RateEstimate


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
    if _is_counted_by_engine(frame, form):
        return _audit_on_engine(frame, form)
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


def _is_counted_by_engine(frame: Any, form: ParityForm) -> bool:
    """Return whether a table stays on its engine, which counts pairs of groups.

    Raises
    ------
    OptionError
        Single items are asked for, and rows do not fit into memory.
    """
    opened = of_engine(frame, "items")
    if not isinstance(opened, nw.LazyFrame) or not stays_on_engine(opened):
        return False
    if form.continuous:
        check_room(opened, "continuous", True, "groups")
    elif form.query:
        check_room(opened, "query", form.query, "no queries")
    else:
        return n_rows(opened) > MOST_COLLECTED
    return False


def _audit_on_engine(frame: Any, form: ParityForm) -> Audit:
    """Audit the pairs of items that stay on their engine, from a table of bins of scores."""
    rows = read_grouped_rows(frame, {"score": form.score, "group": form.sensitive})
    pairs = tabulate_pairs(rows, [None], form.tolerance)
    sums = PairSums(rows.groups, rows.weights, rows.squares)
    for part in pairs.parts():
        sums.add(part.rows())
    counted, doubt = sums.pairs("half")
    sizes = dict(zip(rows.groups, rows.counts.sum(axis=0).astype(int).tolist(), strict=True))
    compared, bound = [], 0.0
    for cell in (Cell(*two) for two in combinations(rows.groups, 2)):
        test, rate = _compare(counted.sharing, cell)
        test = replace(test, smallest_group=min(sizes[group] for group in cell))
        wider = doubtful_interval(counted.sharing, [cell], doubt)
        rate = replace(rate, interval=wider or rate.interval)
        compared.append(ComparedGroups(allow_in_wins(test, cell, counted.sharing, doubt), rate))
        bound = max(bound, doubt.bound([cell]))
    note = "Pairs were counted by the engine, from items by score: shares of wins are exact."
    if bound:
        note = (
            f"Pairs were counted by the engine, from items in {pairs.table.n_bins:,} bins of "
            f"scores. Every share of wins is within {round_up(bound)} of the exact one, for "
            "certain; intervals, p values and findings allow for that. A smaller tolerance takes "
            "more passes, 0 counts exactly."
        )
    known = {"score": form.score, "sensitive": form.sensitive, "tolerance": form.tolerance}
    facts: dict[str, Any] = {"groups": rows.groups, "design": "all pairs", "n_items": rows.n}
    return _conclude(compared, form.narrow(ParityOptions), known, note=note, **facts)


def _audit_items(items: LabelledItems, options: ParityOptions, **data: Any) -> Audit:
    """Audit pairs of items in memory."""
    compared, sizes = [], items.group_sizes
    for sharing, cell in _pairs(items):
        test, rate = _compare(sharing, cell)
        fewest = len(items) if options.continuous else min(sizes[group] for group in cell)
        compared.append(ComparedGroups(replace(test, smallest_group=fewest), rate))
    note = ""
    if options.continuous:
        note = "Pairs whose items have the same value of the attribute are left out."
    facts: dict[str, Any] = {"groups": items.groups, "design": design_of(items)}
    return _conclude(compared, options, data, note=note, n_items=len(items), **facts)


def _compare(sharing: Sharing, cell: Cell) -> ComparedGroups:
    """Compare the wins of the two sides of a pair."""
    test = compare_wins(sharing, cell, null=f"P({cell}) = P({Cell(*cell[::-1])})")
    return ComparedGroups(
        test, rate_of(sharing, cell, np.zeros(len(sharing.cells)), name="win share")
    )


def _conclude(
    compared: Iterable[ComparedGroups],
    options: ParityOptions,
    data: dict[str, Any],
    *,
    note: str,
    n_items: int,
    groups: tuple[str, ...],
    design: str,
) -> Audit:
    """Judge who wins."""
    tests, rates = zip(*compared, strict=True)
    judged = judge(tests, **options.judging, n=n_items, n_items=n_items)
    notes = ["No labels were used: a gap may be earned. Ties of scores are half a win of each."]
    return conclude(
        judged,
        options,
        data,
        notion="pairwise statistical parity",
        rates=rates,
        groups=groups,
        design=design,
        unit="pairs",
        n=sum(test.n[0] for test in judged),
        n_items=n_items,
        notes=tuple(filter(None, (*notes, note))),
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
