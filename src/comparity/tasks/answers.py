"""What judges of either task answered, as orders of pairs of items.

A comparison orders its pair. The ratings of one judge order all pairs of the items that this judge
rated: the item with the higher rating is the better one, equal ratings are a tie. After this module
nothing knows any more which of the two a judge did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import (
    DuplicateItemError,
    EmptyTableError,
    MissingColumnError,
    MissingValueError,
    SelfComparisonError,
    UnknownItemError,
    UnknownWinnerError,
)
from comparity.tables.frames import collect_columns, open_frame
from comparity.tables.outcomes import HOW, RANDOM
from comparity.tables.values import as_array, factorise, group_codes, is_true, numbers, rows_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]

SIDES = {"left": 1, "right": -1, "tie": 0}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Orders:
    """Pairs of items as judges ordered them.

    Attributes
    ----------
    judge : ndarray of int
        Who, by position.
    low, high : ndarray of int
        The two items, the one with the smaller position first.
    order : ndarray of int
        1 where the first item was put above the second, -1 where below, 0 for a tie. Of pairs that
        a judge ordered twice: the product of both, so that -1 is a contradiction.
    """

    judge: Ints
    low: Ints
    high: Ints
    order: Ints

    @classmethod
    def of(cls, judge: Ints, one: Ints, two: Ints, order: Ints) -> Orders:
        """Put the item with the smaller position first."""
        swap = one > two
        low, high = np.where(swap, two, one), np.where(swap, one, two)
        return cls(judge=judge, low=low, high=high, order=np.where(swap, -order, order))

    def keep(self, rows: NDArray[np.bool_]) -> Orders:
        """Return some of the rows."""
        named = (self.judge, self.low, self.high, self.order)
        judge, low, high, order = (one[rows] for one in named)
        return Orders(judge=judge, low=low, high=high, order=order)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskAnswers:
    """What the judges of one task answered.

    Attributes
    ----------
    judges : tuple of str
    orders : Orders
        Pairs as judges ordered them the first time.
    again : Orders
        Pairs that a judge ordered twice.
    n_first : ndarray of int
        First answers of each judge: comparisons or ratings, without repeats.
    timed : ndarray of int
        Who gave each answer whose time is known and no pause.
    seconds : ndarray of float
        Those times.
    n_answers, n_pauses, n_untimed : int
        All answers, those that took so long that there was a pause, and those without a time.
    """

    judges: tuple[str, ...]
    orders: Orders
    again: Orders
    n_first: Ints
    timed: Ints
    seconds: Floats
    n_answers: int
    n_pauses: int
    n_untimed: int

    @property
    def n_judges(self) -> int:
        """How many judges did this task."""
        return len(self.judges)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StudyItems:
    """Items by position, with what is known of them.

    Attributes
    ----------
    places : mapping of str to int
    group : ndarray of int or None
        Group of each item.
    groups : tuple of str
    scores : ndarray of float or None
    """

    places: Mapping[str, int]
    group: Ints | None = None
    groups: tuple[str, ...] = ()
    scores: Floats | None = field(default=None)

    def places_of(self, names: NDArray[Any], column: str, table: str) -> Ints:
        """Return the positions of named items."""
        codes, known = factorise(names)
        if (codes < 0).any():
            raise MissingValueError(column, table, rows_of(codes < 0))
        found = np.array([self.places.get(str(one), -1) for one in known], dtype=np.int64)[codes]
        if (found < 0).any():
            raise UnknownItemError(column, rows_of(found < 0, names))
        return found


def columns_of(table: Any, name: str, needed: tuple[str, ...]) -> Columns:
    """Return the columns of a frame, or of a mapping of columns; raise an error where one lacks."""
    if isinstance(table, Mapping):
        columns: Columns = {key: as_array(value, key, name) for key, value in table.items()}
    else:
        columns = collect_columns(open_frame(table, name)[0].lazy())
    for column in needed:
        if column not in columns:
            raise MissingColumnError(column, name, list(columns))
    return columns


def read_items(
    table: Any | None, *, item: str, sensitive: tuple[str, ...], score: str | None
) -> StudyItems | None:
    """Return the items of a table; None where there is no table."""
    if table is None:
        return None
    wanted = (item, *sensitive, *([] if score is None else [score]))
    columns = columns_of(table, "items", wanted)
    codes, names = factorise(columns[item])
    if (codes < 0).any():
        raise MissingValueError(item, "items", rows_of(codes < 0))
    if len(names) < len(codes):
        seen = np.bincount(codes)[codes] > 1
        raise DuplicateItemError(item, rows_of(seen, columns[item]))
    group, groups = None, list[str]()
    if sensitive:
        joined = [
            " & ".join(map(str, row)) for row in zip(*(columns[s] for s in sensitive), strict=True)
        ]
        group, groups = group_codes(np.array(joined, dtype=object), sensitive[0], "items")
    scores = None if score is None else numbers(columns[score], score, "items")
    places = {str(names[code]): place for place, code in enumerate(codes)}
    return StudyItems(places=places, group=group, groups=tuple(groups), scores=scores)


def items_named(*columns: NDArray[Any]) -> StudyItems:
    """Return items of which nothing but their names is known."""
    names = factorise(np.concatenate([column.astype(object) for column in columns]))[1]
    return StudyItems(places={name: place for place, name in enumerate(names)})


def read_comparisons(
    columns: Columns, items: StudyItems, longest: float
) -> tuple[TaskAnswers, int]:
    """Return comparisons, and how many were left out since earlier answers chose their pairs."""
    n = len(columns["winner"])
    random = np.ones(n, dtype=bool) if HOW not in columns else columns[HOW] == RANDOM
    if not random.any():
        raise EmptyTableError("comparisons of pairs drawn at random")
    columns = {name: column[random] for name, column in columns.items()}
    winner = [str(one) for one in columns["winner"]]
    odd = np.array([one not in SIDES for one in winner], dtype=bool)
    if odd.any():
        raise UnknownWinnerError("winner", rows_of(odd, columns["winner"]), tuple(SIDES))
    judges, judge = _judges(columns, "comparisons")
    left, right = (items.places_of(columns[s], s, "comparisons") for s in ("left", "right"))
    if (left == right).any():
        raise SelfComparisonError(rows_of(left == right, columns["left"]))
    orders = Orders.of(judge, left, right, np.array([SIDES[one] for one in winner]))
    repeated = _truths(columns, "swapped", "comparisons")
    again = _match_repeats(orders, repeated, len(items.places))
    answers = _answers(columns, judges, judge, repeated, orders.keep(~repeated), again, longest)
    return answers, int(n - random.sum())


def read_ratings(columns: Columns, items: StudyItems, longest: float) -> TaskAnswers:
    """Return ratings, as the orders of pairs that they imply."""
    judges, judge = _judges(columns, "ratings")
    item = items.places_of(columns["item"], "item", "ratings")
    rating = numbers(columns["rating"], "rating", "ratings")
    repeated = _truths(columns, "repeated", "ratings")
    key = judge * len(items.places) + item
    first, second = _first_rows(key, ~repeated), _first_rows(key, repeated)
    orders = _implied_orders(judge[first], item[first], rating[first])
    # What was rated twice: two orders of every pair of such items.
    both = np.intersect1d(key[first], key[second])
    one, two = (rows[np.isin(key[rows], both)] for rows in (first, second))
    before, after = (_implied_orders(judge[rows], item[rows], rating[rows]) for rows in (one, two))
    product = before.order * after.order
    again = Orders(judge=before.judge, low=before.low, high=before.high, order=product)
    return _answers(columns, judges, judge, repeated, orders, again, longest)


def _first_rows(key: Ints, among: NDArray[np.bool_]) -> Ints:
    """Return the first of some rows with each key: who takes over a list may meet items twice."""
    rows = np.flatnonzero(among)
    return rows[np.unique(key[rows], return_index=True)[1]]


def _implied_orders(judge: Ints, item: Ints, rating: Floats) -> Orders:
    """Return the order of all pairs of items that one judge rated, in a fixed order of rows."""
    parts = []
    place = np.lexsort((item, judge))
    judge, item, rating = judge[place], item[place], rating[place]
    starts = np.flatnonzero(np.diff(judge, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(judge)]):
        one, two = (start + side for side in np.triu_indices(end - start, 1))
        parts.append(
            np.stack([judge[one], item[one], item[two], np.sign(rating[one] - rating[two])])
        )
    found = np.concatenate(parts, axis=1) if parts else np.zeros((4, 0))
    who, low, high, order = found.astype(np.int64)
    return Orders(judge=who, low=low, high=high, order=order)


def _match_repeats(orders: Orders, repeated: NDArray[np.bool_], n_items: int) -> Orders:
    """Return the pairs that a judge saw twice, with the product of both orders."""
    key = (orders.judge * n_items + orders.low) * n_items + orders.high
    firsts = dict(zip(key[~repeated].tolist(), orders.order[~repeated].tolist(), strict=True))
    seconds = np.flatnonzero(repeated)
    known = np.array([one for one in seconds if int(key[one]) in firsts], dtype=np.int64)
    product = [firsts[int(key[one])] * int(orders.order[one]) for one in known]
    return Orders(
        judge=orders.judge[known],
        low=orders.low[known],
        high=orders.high[known],
        order=np.array(product, dtype=np.int64),
    )


def _judges(columns: Columns, table: str) -> tuple[tuple[str, ...], Ints]:
    codes, names = factorise(columns["evaluator"])
    if (codes < 0).any():
        raise MissingValueError("evaluator", table, rows_of(codes < 0))
    return tuple(map(str, names)), codes.astype(np.int64)


def _truths(columns: Columns, name: str, table: str) -> NDArray[np.bool_]:
    if name not in columns:
        return np.zeros(len(columns["evaluator"]), dtype=bool)
    return is_true(columns[name], name, table)


def _answers(
    columns: Columns,
    judges: tuple[str, ...],
    judge: Ints,
    repeated: NDArray[np.bool_],
    orders: Orders,
    again: Orders,
    longest: float,
) -> TaskAnswers:
    seconds = _seconds(columns, len(judge))
    known = np.isfinite(seconds)
    timed = known & (seconds <= longest)
    return TaskAnswers(
        judges=judges,
        orders=orders,
        again=again,
        n_first=np.bincount(judge[~repeated], minlength=len(judges)),
        timed=judge[timed],
        seconds=seconds[timed],
        n_answers=len(judge),
        n_pauses=int((known & ~timed).sum()),
        n_untimed=int((~known).sum()),
    )


def _seconds(columns: Columns, n: int) -> Floats:
    """Return the time of each answer; not a number where none was measured, or it is no time."""
    if "milliseconds" not in columns:
        return np.full(n, np.nan)
    told = columns["milliseconds"]
    if told.dtype.kind == "O":
        told = np.array([np.nan if one is None or one == "" else float(one) for one in told])
    found = told.astype(np.float64) / 1000
    found[~(found > 0)] = np.nan
    return found
