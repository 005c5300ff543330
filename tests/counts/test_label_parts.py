"""Labels in ranges: pairs within one are exact, and exact counts lie within the bounds.

Definitions are loops over items; `all_pairs` is tested by the double loop of
`tests/plain/all_pairs.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from comparity.counts import engine_pairs, label_parts
from comparity.counts.all_pairs import all_pairs
from comparity.counts.binned_pairs import PairTable
from comparity.counts.engine_pairs import TabulatedPairs
from comparity.counts.label_parts import (
    PartedRows,
    PartedSums,
    RangeItems,
    divide_labels,
    rows_at_once,
)
from comparity.counts.labelled_rows import LabelledRows, read_labelled_rows
from comparity.counts.pairs import TIE_VALUE
from tests.conftest import ENGINES
from tests.plain.label_parts import RangedItem, pairs, vectors

GROUPS = ("a", "b", "c")
ROLES = {"label": "y", "score": "f", "group": "g"}
TIES = st.sampled_from(["disagree", "half"])

Labels = Callable[[NDArray[np.float64], np.random.Generator], NDArray[np.float64]]

LABELS: dict[str, Labels] = {
    "normal": lambda y, rng: y,
    "rounded": lambda y, rng: y.round(1),
    "mostly zero": lambda y, rng: np.where(rng.random(len(y)) < 0.6, 0.0, y),
    "heavy tails": lambda y, rng: np.exp(5 * y),
    "two far apart": lambda y, rng: y + 1e9 * (rng.random(len(y)) < 0.5),
    "next to each other": lambda y, rng: 1.0 + np.floor(4 * y) * 2.0**-52,
    "of all sizes": lambda y, rng: np.sign(y) * 10 ** rng.uniform(-300, 300, len(y)),
    "denormal": lambda y, rng: np.floor(900 * y) * 5e-324,
}

drawn = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.integers(0, 3),
        st.sampled_from([0.0, 0.3, 0.3, 0.9]),
        st.integers(0, 2),
        st.sampled_from([1.0, 0.5, 2.0]),
    ),
    min_size=2,
    max_size=14,
)


def ranged(found: list[tuple[int, int, float, int, float]]) -> list[RangedItem]:
    """Put two labels into a range, and scores of one unit into a bin; numbers have no gaps."""
    ranges = sorted({label // 2 for label, *_ in found})
    bins = sorted({whole for _, whole, *_ in found})
    return [
        RangedItem(label, whole + rest, group, ranges.index(label // 2), bins.index(whole), weight)
        for label, whole, rest, group, weight in found
    ]


def sums_of(items: list[RangedItem]) -> tuple[PartedSums, list[bool]]:
    """Sum up pairs as the engine would have counted them; and say which bins hold one score."""
    columns = {name: np.array([getattr(one, name) for one in items]) for name in RangedItem._fields}
    score, weight = columns["score"], columns["weight"]
    table = PairTable.of(
        {
            **{"bin": columns["bin"], "level": columns["range"], "group": columns["group"]},
            **{"n": np.ones(len(items)), "weight": weight, "square": weight**2},
            **{"low": score, "high": score, "code": columns["bin"]},
        },
        GROUPS,
        np.arange(columns["range"].max() + 1.0),
    )
    sums = PartedSums(GROUPS, TabulatedPairs(cast(Any, None), table))
    for level in range(len(table.levels)):
        kept = columns["range"] == level
        label = columns["label"][kept].astype(float)
        inside = RangeItems(label, score[kept], columns["group"][kept], weight[kept])
        sums.add_range(level, inside if len(set(label)) > 1 else None)
    return sums, table.single.tolist()


@given(drawn, TIES)
@settings(max_examples=60, deadline=None)
def test_sums_and_moments_equal_the_loops(found: list[Any], score_ties: str) -> None:
    items = ranged(found)
    sums, single = sums_of(items)
    counted, doubt = sums.pairs(score_ties)
    of_items, doubts = vectors(items, single, 3, TIE_VALUE[score_ties])
    # Every pair is in the vectors of two items.
    assert counted.sharing.trials == pytest.approx(of_items[:, :9].sum(axis=0) / 2)
    assert counted.sharing.hits == pytest.approx(of_items[:, 9:].sum(axis=0) / 2)
    assert doubt.hits == pytest.approx(doubts.sum(axis=0) / 2)
    ties = sum(
        items[i].weight * items[j].weight * tied for i, j, _, tied, _ in pairs(items, single)
    )
    assert counted.score_ties.sum() == pytest.approx(ties)
    dependent = of_items.T @ of_items - counted.sharing.own
    assert counted.sharing.dependent == pytest.approx(dependent, abs=1e-9)
    assert doubt.items == pytest.approx(doubts.T @ doubts, abs=1e-9)


@given(drawn, TIES)
@settings(max_examples=60, deadline=None)
def test_exact_counts_lie_within_the_bounds(found: list[Any], score_ties: str) -> None:
    items = ranged(found)
    label, score, group, weight = (
        np.array([getattr(one, name) for one in items])
        for name in ("label", "score", "group", "weight")
    )
    exact = all_pairs(
        label.astype(float), score, group, GROUPS, weights=weight, score_ties=score_ties
    ).sharing
    counted, doubt = sums_of(items)[0].pairs(score_ties)
    assert counted.sharing.trials == pytest.approx(exact.trials)
    assert np.all(np.abs(exact.hits - counted.sharing.hits) <= doubt.hits + 1e-9)
    ours, theirs = (one.dependent + one.own for one in (counted.sharing, exact))
    for contrast in np.vstack([np.eye(9), np.eye(9) - np.eye(9)[::-1]]):
        roots = [contrast @ one[9:, 9:] @ contrast for one in (theirs, ours)]
        exact_root, root = np.sqrt(np.maximum(roots, 0))
        error = np.sqrt(np.abs(contrast) @ doubt.items @ np.abs(contrast))
        assert exact_root <= root + error + 1e-9


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in (("MOST_BINS", 16), ("FEWEST_BINS", 16), ("MOST_SCORES", 40)):
        monkeypatch.setattr(engine_pairs, name, value)
    for name, value in (("MOST_BINS", 256), ("MOST_ROWS", 30), ("MOST_PARTS", 50)):
        monkeypatch.setattr(label_parts, name, value)
    return monkeypatch


def draw(kind: str, n: int = 600) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    plain = rng.normal(size=n)
    label = LABELS[kind](plain, rng)
    score = (plain + rng.normal(size=n)).round(1 if kind == "rounded" else 9)
    group = np.array(["a", "b", "c"], dtype=object)[np.minimum(rng.integers(0, 99, n) // 47, 2)]
    return {"y": label, "f": score, "g": group, "w": rng.choice([0.5, 1.0, 3.0], n)}


def read(data: dict[str, Any], **roles: str) -> LabelledRows:
    return read_labelled_rows(ENGINES["duckdb"](data), ROLES | roles)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", LABELS)
def test_ranges_hold_all_rows_and_few_of_them_or_one_label(kind: str) -> None:
    label = draw(kind)["y"]
    ranges = divide_labels(read(draw(kind)), 30)
    assert np.all(ranges.low[1:] > ranges.high[:-1])
    inside = [
        ((label >= low) & (label <= high)).sum() for low, high, _ in zip(*ranges, strict=True)
    ]
    assert ranges.n.tolist() == inside
    assert sum(inside) == len(label)
    assert np.all((ranges.n <= 30) | (ranges.low == ranges.high))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("tolerance", [0.05, 0.004, 0.0])
@pytest.mark.parametrize("kind", LABELS)
def test_bounds_of_the_engine_come_below_what_is_tolerated(kind: str, tolerance: float) -> None:
    data = draw(kind)
    weights = {"weight": "w"} if kind == "rounded" else {}
    parted = PartedRows.of(read(data, **weights), rows_at_once(600))
    assert len(parted.ranges.low) > 5
    tabulated = parted.tabulate(tolerance)
    in_ranges = tabulated.table.by_label(tabulated.table.n).sum(axis=1)
    assert in_ranges.tolist() == parted.ranges.n.tolist()
    sums = PartedSums(GROUPS, tabulated)
    for level, part in enumerate(parted.parts()):
        sums.add_range(level, part)
    codes = np.searchsorted(GROUPS, data["g"].astype(str))
    given_weights = data["w"] if weights else None
    for score_ties in ("disagree", "half"):
        counted, doubt = sums.pairs(score_ties)
        columns = data["y"], data["f"], codes, GROUPS
        exact = all_pairs(*columns, weights=given_weights, score_ties=score_ties).sharing
        assert counted.sharing.trials == pytest.approx(exact.trials, rel=1e-12)
        assert counted.sharing.own == pytest.approx(exact.own, rel=2 * tolerance + 1e-12)
        assert np.all(np.abs(counted.sharing.hits - exact.hits) <= doubt.hits + 1e-7)
        assert np.all(doubt.hits <= tolerance * exact.trials + 1e-9)


def test_ranges_grow_with_the_rows_where_they_would_be_too_many() -> None:
    assert rows_at_once(10**6) == rows_at_once(10**8) == label_parts.MOST_ROWS
    assert rows_at_once(10**9) * label_parts.MOST_PARTS >= 10**9
