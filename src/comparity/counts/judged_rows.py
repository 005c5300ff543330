"""Rows of judged pairs, from positions or tables, made into counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counts.decision_rows import check_sensitive
from comparity.counts.joined import count_joined
from comparity.counts.ledger import Codes, Ledger, attributes_of, check_not_crossed, count_ledger
from comparity.counts.pairs import PairCounts, SharedPairCounts
from comparity.counts.wide import Asked, count_rows, items_of_rows
from comparity.errors import (
    DesignUnknownError,
    EmptyTableError,
    MissingValueError,
    OptionError,
    PositionError,
    SelfComparisonError,
)
from comparity.tables.columns import check_option, open_table
from comparity.tables.engines import moved
from comparity.tables.frames import is_missing, opened
from comparity.tables.outcomes import check_outcome_read
from comparity.tables.values import (
    as_array,
    check_lengths,
    group_codes,
    numbers,
    rows_of,
    values_of,
)

__all__ = [
    "DESIGNS",
    "count_comparisons",
    "count_position_pairs",
    "count_wide_comparisons",
]


DESIGNS = ("auto", "fresh", "shared")


def count_position_pairs(
    pairs: ArrayLike,
    *,
    scores: ArrayLike,
    sensitive: Mapping[str, ArrayLike],
    evaluators: ArrayLike | None = None,
    tied_pairs: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    continuous: bool = False,
    intersection: bool = False,
    design: str = "auto",
) -> dict[str, PairCounts | SharedPairCounts]:
    """Count judged pairs by cell and agreement, from positions of items.

    Parameters
    ----------
    pairs : array_like of int, shape (n, 2)
        Positions of the items, the better one first.
    scores : array_like of float
        The model's score of each item.
    sensitive : mapping of str to array_like
        Group of each item, by attribute.
    evaluators : array_like, optional
        Who judged, for each of `pairs`.
    tied_pairs : array_like of int, shape (m, 2), optional
        Pairs judged equal.
    reference : array_like of float, optional
        Label or reference score of each item; the counts keep it, and single pairs.
    continuous : bool
        Whether the attributes are numbers; the cells then say whether the better item has the
        larger value.
    intersection : bool
        Whether to count the intersection of all attributes too.
    design : {"auto", "fresh", "shared"}
        ``"auto"`` looks whether an item or an evaluator occurs in two judgments.

    Returns
    -------
    dict of str to PairCounts or SharedPairCounts
        One for each attribute.

    Examples
    --------
    >>> counts = count_position_pairs(
    ...     [[0, 1], [3, 2]], scores=[0.9, 0.2, 0.4, 0.1], sensitive={"sex": ["f", "m", "f", "m"]}
    ... )
    >>> counts["sex"]
    PairCounts({Cell(better='f', worse='m'): Tally(hits=1, trials=1, ties=0), \
Cell(better='m', worse='f'): Tally(hits=0, trials=1, ties=0)}, {})
    """
    check_option("design", design, DESIGNS)
    score_array = as_array(scores, "scores", "item")
    columns = {str(name): as_array(column, str(name)) for name, column in sensitive.items()}
    check_sensitive(list(columns))
    known = {} if reference is None else {"reference": as_array(reference, "reference", "item")}
    check_lengths({"scores": score_array, **columns, **known})
    if not len(score_array):
        raise EmptyTableError("item")
    judged = _positions(pairs, "pairs", len(score_array))
    tied = _positions([] if tied_pairs is None else tied_pairs, "tied_pairs", len(score_array))
    if not len(judged) and not len(tied):
        raise EmptyTableError("comparison")
    evaluator, names = _evaluators(evaluators, len(judged))
    ledger = Ledger(
        better=judged[:, 0],
        worse=judged[:, 1],
        trials=np.ones(len(judged), dtype=np.int64),
        evaluator=evaluator,
        evaluators=names,
        tied_first=tied[:, 0],
        tied_second=tied[:, 1],
        tied_trials=np.ones(len(tied), dtype=np.int64),
    )
    return count_ledger(
        ledger,
        scores=numbers(score_array, "scores", "item"),
        attributes=attributes_of(columns, continuous=continuous, intersection=intersection),
        design=design,
        reference=numbers(known["reference"], "reference", "item") if known else None,
    )


def _evaluators(evaluators: ArrayLike | None, n_pairs: int) -> tuple[Codes | None, tuple[str, ...]]:
    if evaluators is None:
        return None, ()
    array = as_array(evaluators, "evaluators")
    check_lengths({"pairs": np.empty(n_pairs), "evaluators": array})
    codes, names = group_codes(array, "evaluators", "array", several=False)
    return codes, tuple(names)


def _positions(pairs: ArrayLike, name: str, n_items: int) -> NDArray[np.int64]:
    try:
        # np.asarray alone would forget a mask.
        array = values_of(pairs, name) if np.ma.is_masked(pairs) else np.asarray(pairs)
    except ValueError as error:
        raise PositionError(name, "pairs of integers", "rows of different lengths") from error
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise PositionError(name, "an array of shape (n, 2)", f"shape {array.shape}")
    if array.dtype.kind not in "iu":
        missing = np.array([any(map(is_missing, row)) for row in array.tolist()], dtype=bool)
        if missing.any():
            raise MissingValueError(name, "comparison", rows_of(missing))
        raise PositionError(name, "integers", f"{array.dtype}, such as {array.tolist()[0][0]!r}")
    outside = (array < 0) | (array >= n_items)
    if outside.any():
        rows = outside[:, 0] | outside[:, 1]
        found = f"{array[outside][:5].tolist()} in {rows_of(rows)}"
        raise PositionError(name, f"positions from 0 to {n_items - 1}", found)
    equal = array[:, 0] == array[:, 1]
    if equal.any():
        raise SelfComparisonError(rows_of(equal, array[:, 0]))
    return array.astype(np.int64)


SIDES = ("better_", "worse_")
"""How the columns of a wide table begin that hold scores and groups."""


def count_comparisons(
    comparisons: Any,
    items: Any,
    *,
    better: str = "better",
    worse: str = "worse",
    evaluator: str | None = None,
    tied: str | None = None,
    item: str = "item",
    score: str,
    sensitive: Sequence[str],
    reference: str | None = None,
    continuous: bool = False,
    intersection: bool = False,
    design: str = "auto",
) -> dict[str, PairCounts | SharedPairCounts]:
    """Count judged pairs by cell and agreement, on the engine the tables live in.

    Parameters
    ----------
    comparisons : frame of any engine
        One row for each judgment, the better item first.
    items : frame of any engine
        One row for each item. Items of another engine travel to that of the comparisons.
    better, worse : str
        Columns of `comparisons` with item ids.
    evaluator : str, optional
        Column of `comparisons` that says who judged.
    tied : str, optional
        Column of `comparisons` that is true where the judge put neither item first.
    item : str
        Column of `items` with the id. Ids are compared as text where their types differ.
    score : str
        Column of `items` with the model's score.
    sensitive : sequence of str
        Columns of `items` with groups.
    reference : str, optional
        Column of `items` with a label or reference score; the counts keep it, and single pairs.
    continuous : bool
        Whether the sensitive columns are numbers; the cells then say whether the better item has
        the larger value.
    intersection : bool
        Whether to count the intersection of all sensitive columns too.
    design : {"auto", "fresh", "shared"}
        ``"auto"`` looks whether an item or an evaluator occurs in two judgments (tied ones do not
        count as use). ``"fresh"`` says that none does and keeps no ledger of pairs.

    Returns
    -------
    dict of str to PairCounts or SharedPairCounts
        One for each sensitive column. Counts of parts may be added if all were counted against
        the same items.

    Raises
    ------
    ComparityError
        Unknown items, self-comparisons, gaps, scores that are no numbers, duplicate ids, one group
        only, ...; the error names rows.

    Examples
    --------
    >>> import polars
    >>> judged = polars.DataFrame({"better": ["a", "d"], "worse": ["b", "c"]})
    >>> items = polars.DataFrame(
    ...     {"item": list("abcd"), "model": [0.9, 0.2, 0.4, 0.1], "sex": ["f", "m", "f", "m"]}
    ... )
    >>> counts = count_comparisons(judged, items, score="model", sensitive=["sex"])
    >>> {str(cell): tally.rate for cell, tally in counts["sex"].items()}
    {'f > m': 1.0, 'm > f': 0.0}
    """
    asked = _asked(
        sensitive,
        continuous=continuous,
        intersection=intersection,
        design=design,
        reference=reference or "",
    )
    optional = {"evaluator": evaluator, "tied": tied}
    columns = {"better": better, "worse": worse}
    columns |= {ours: name for ours, name in optional.items() if name is not None}
    judged = open_table(comparisons, "comparisons", columns)
    check_outcome_read(comparisons, first=better, second=worse, read=(evaluator, tied))
    measured = {"score": score} | ({"reference": reference} if reference else {})
    known = open_table(items, "items", {"item": item, **measured, **asked.groups})
    return count_joined(judged, moved(known, judged), asked)


def count_wide_comparisons(
    frame: Any,
    *,
    better: str | None = None,
    worse: str | None = None,
    evaluator: str | None = None,
    tied: str | None = None,
    score: str,
    sensitive: Sequence[str],
    reference: str | None = None,
    continuous: bool = False,
    intersection: bool = False,
    design: str = "auto",
) -> dict[str, PairCounts | SharedPairCounts]:
    """Count judged pairs whose rows carry the scores and groups of both items.

    For ``score="model"`` and ``sensitive=["sex"]`` the columns are ``better_model``,
    ``worse_model``, ``better_sex`` and ``worse_sex``.

    Parameters
    ----------
    frame : frame of any engine
        One row for each judgment.
    better, worse : str, optional
        Columns with item ids. Without them nobody can see whether items repeat, and `design`
        must be ``"fresh"``.
    evaluator, tied : str, optional
        As in :func:`count_comparisons`.
    score : str
        Score column, without its prefix.
    sensitive : sequence of str
        Group columns, without their prefix.
    reference : str, optional
        Column with a label or reference score, without its prefix.
    continuous, intersection, design
        As in :func:`count_comparisons`.

    Raises
    ------
    DesignUnknownError
        `design` is not ``"fresh"`` and there are no ids.
    InconsistentItemError
        An item has several scores or groups.
    ComparityError
        As in :func:`count_comparisons`.

    Examples
    --------
    >>> import polars
    >>> rows = {"better_model": [0.9, 0.1], "worse_model": [0.2, 0.4],
    ...         "better_sex": ["f", "m"], "worse_sex": ["m", "f"]}
    >>> counts = count_wide_comparisons(
    ...     polars.DataFrame(rows), score="model", sensitive=["sex"], design="fresh"
    ... )
    >>> {str(cell): tally.rate for cell, tally in counts["sex"].items()}
    {'f > m': 1.0, 'm > f': 0.0}
    """
    asked = _asked(
        sensitive,
        continuous=continuous,
        intersection=intersection,
        design=design,
        reference=reference or "",
    )
    if (better is None) != (worse is None):
        raise OptionError("better and worse", (better, worse), ["both columns", "neither"])
    if better is None and design != "fresh":
        raise DesignUnknownError(design)
    optional = {"better": better, "worse": worse, "evaluator": evaluator, "tied": tied}
    columns = {ours: name for ours, name in optional.items() if name is not None}
    for side in ("better", "worse"):
        columns[f"{side}_score"] = f"{side}_{score}"
        columns |= {f"{side}_reference": f"{side}_{reference}"} if reference else {}
        columns |= {f"{side}_{ours}": f"{side}_{name}" for ours, name in asked.groups.items()}
    table = open_table(frame, "comparisons", columns)
    if better is not None:
        # Each of these speaks of one of the two items.
        own = [c for c in opened(frame, "comparisons")[1] if str(c).startswith(SIDES)]
        check_outcome_read(frame, first=better, second=worse, read=(*columns.values(), *own))
    if design == "fresh":
        return dict(count_rows(table, asked))
    return count_joined(table, items_of_rows(table, asked), asked)


def _asked(
    sensitive: Sequence[str], *, continuous: bool, intersection: bool, design: str, reference: str
) -> Asked:
    check_option("design", design, DESIGNS)
    if reference and design == "fresh":
        why = "pairs can be weighted only where it is known which items they are made of"
        raise OptionError("design", design, ["'auto'", "'shared'"], why)
    check_sensitive(sensitive)
    if continuous:
        check_not_crossed(intersection)
    groups = {f"group{place}": name for place, name in enumerate(sensitive)}
    return Asked(
        groups=groups,
        continuous=continuous,
        intersection=intersection,
        design=design,
        reference=reference,
    )
