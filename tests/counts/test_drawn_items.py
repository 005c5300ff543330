"""Items drawn from an engine are those of the definition, whatever the engine does with the rows.

The definition sorts all rows (`tests/plain/drawn_items.py`). That all sets of places are as likely
is held against the multinomial distribution.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from comparity.counts import drawn_items, label_parts, labelled_rows
from comparity.counts.drawn_items import Draw, DrawnItems, draw_items, draw_places, share_out
from comparity.counts.label_parts import PartedRows
from comparity.counts.labelled_rows import read_labelled_rows
from comparity.errors import UnsteadyQueryError
from tests.conftest import ENGINES
from tests.plain.drawn_items import Row, draw

ROLES = {"label": "y", "score": "f", "group": "g", "weight": "w"}
GROUPS = ("a", "b", "c")

KINDS: dict[str, Any] = {
    "continuous": lambda y, rng: y,
    "rounded": lambda y, rng: y.round(1),
    "one label of many items": lambda y, rng: np.where(rng.random(len(y)) < 0.7, 0.0, y),
    "zeros of both signs": lambda y, rng: np.where(np.abs(y) < 1, np.copysign(0.0, y), y),
}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let ranges of labels be small."""
    monkeypatch.setattr(labelled_rows, "MOST_LEVELS", 4)
    for name, value in (("MOST_BINS", 256), ("MOST_ROWS", 30), ("MOST_PARTS", 50)):
        monkeypatch.setattr(label_parts, name, value)
    return monkeypatch


def rows_of(kind: str, n: int = 500) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    label = KINDS[kind](rng.normal(size=n), rng)
    score = KINDS[kind](label + rng.normal(size=n), rng)
    group = np.array(["a", "b", "c", "none"], dtype=object)[
        rng.choice(4, n, p=[0.7, 0.2, 0.02, 0.08])
    ]
    return {"y": label, "f": score, "g": group, "w": rng.choice([0.5, 1.0, 2.0], n)}


def from_engine(data: dict[str, Any], wanted: Draw, most: int = 30) -> DrawnItems:
    rows = read_labelled_rows(ENGINES["duckdb"](data), ROLES, no_group="none")
    parted = PartedRows.of(rows, most)
    counts = np.zeros((len(parted.ranges.low), len(rows.groups)))
    level = np.searchsorted(parted.ranges.high, data["y"])
    np.add.at(counts, (level, [rows.groups.index(one) for one in data["g"]]), 1.0)
    return draw_items(parted.rows, counts, wanted)


def as_rows(found: DrawnItems) -> list[Row]:
    items = found.items
    assert items.weight is not None
    columns = items.label, items.score, items.weight
    names = [GROUPS[code] for code in items.group]
    return sorted(zip(*(one.tolist() for one in columns), names, strict=True))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", KINDS)
def test_items_are_those_of_the_definition(kind: str) -> None:
    data, rng = rows_of(kind), np.random.default_rng(7)
    found = from_engine(data, Draw(100, 7))
    given = zip(*(data[name].tolist() for name in ("y", "f", "w", "g")), strict=True)
    drawn = found.drawn.tolist()
    expected = draw([*given], GROUPS, drawn, lambda n, few: draw_places(n, few, rng).tolist())
    assert as_rows(found) == expected
    assert (sum(drawn), drawn[0], drawn[2]) == (100, drawn[1], found.sizes[2])


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", KINDS)
def test_neither_the_order_of_rows_nor_ranges_matter(kind: str) -> None:
    data = rows_of(kind)
    order = np.random.default_rng(0).permutation(len(data["y"]))
    moved = {name: column[order] for name, column in data.items()}
    known = as_rows(from_engine(data, Draw(100, 1)))
    assert as_rows(from_engine(moved, Draw(100, 1))) == known
    assert as_rows(from_engine(data, Draw(100, 1), most=200)) == known
    assert as_rows(from_engine(data, Draw(100, 2))) != known


@pytest.mark.usefixtures("few")
def test_all_items_are_returned_where_all_are_wanted() -> None:
    data = rows_of("rounded")
    found = from_engine(data, Draw(10**6, 0))
    assert found.drawn.tolist() == found.sizes.tolist()
    assert found.widening == 1.0
    assert len(as_rows(found)) == (data["g"] != "none").sum()


def test_a_query_that_answers_otherwise_when_asked_again_is_refused(
    few: pytest.MonkeyPatch,
) -> None:
    data = rows_of("continuous")
    pick = drawn_items._pick_rows
    few.setattr(drawn_items, "_pick_rows", lambda *given: pick(*given).head(50))
    with pytest.raises(UnsteadyQueryError, match="gave other rows"):
        from_engine(data, Draw(100, 0))


@given(st.lists(st.integers(1, 60), min_size=2, max_size=5), st.integers(10, 200))
def test_groups_share_what_is_drawn(sizes: list[int], most: int) -> None:
    drawn = share_out(np.array(sizes), most)
    assert np.all((drawn >= 0) & (drawn <= sizes))
    assert drawn.sum() == min(most, sum(sizes))
    parts = drawn[drawn < sizes]
    # Of groups that are not taken whole no two differ by more than one, and none has less.
    assert not len(parts) or (np.ptp(parts) <= 1 and parts.max() >= drawn.max() - 1)


@pytest.mark.parametrize("few_places", [0, 100])
def test_all_sets_of_places_are_as_likely(few_places: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_items, "FEW_PLACES", few_places)
    rng, counts = np.random.default_rng(5), Counter[tuple[int, ...]]()
    for _ in range(15_000):
        counts[tuple(draw_places(9, 3, rng).tolist())] += 1
    found = [counts[one] for one in combinations(range(9), 3)]
    # Of six numbers drawn with replacement hardly ever fewer than three differ.
    assert sum(found) >= 14_900
    assert chisquare(found).pvalue > 1e-3


@pytest.mark.parametrize(("n", "size"), [(100_000, 1), (100_000, 2), (10**12, 10**5)])
def test_many_places_are_different_and_in_order(n: int, size: int) -> None:
    places = draw_places(n, size, np.random.default_rng(1))
    assert len(places) == size
    assert np.all(np.diff(places) > 0)
    assert places[-1] < n
    assert places.mean() / n == pytest.approx(0.5, abs=4 / np.sqrt(12 * size))
