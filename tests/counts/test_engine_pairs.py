"""Tables of bins that an engine counts: bounds hold for all scores, and come below a tolerance.

`all_pairs` is tested by the double loop of `tests/plain/all_pairs.py`; here its counts have to lie
within the bounds of what comes out of group-bys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from comparity.counts import engine_pairs, labelled_rows
from comparity.counts.all_pairs import all_pairs
from comparity.counts.binned_pairs import PairSums
from comparity.counts.engine_bins import SPARE, code_bins
from comparity.counts.engine_pairs import TabulatedPairs, tabulate_pairs
from comparity.counts.labelled_rows import read_labelled_rows
from comparity.errors import (
    ConstantLabelError,
    MissingColumnError,
    MissingValueError,
    NonFiniteScoreError,
    NotNumericError,
    OneGroupError,
    TooManyGroupsError,
    WeightError,
)
from comparity.tables.files import read_table
from comparity.tables.frames import collect_columns, in_memory
from comparity.tables.memory import limit_memory
from tests.conftest import ENGINES

DUCKDB = ENGINES["duckdb"]
ROLES = {"label": "y", "score": "f", "group": "g"}

Scores = Callable[[NDArray[np.float64], np.random.Generator], NDArray[np.float64]]

SCORES: dict[str, Scores] = {
    "normal": lambda f, rng: f,
    "rounded": lambda f, rng: f.round(1),
    "heavy tails": lambda f, rng: np.exp(3 * f),
    "cut off": lambda f, rng: np.clip(f, -0.5, 0.5),
    "half rounded": lambda f, rng: np.where(rng.random(len(f)) < 0.5, f.round(1), f),
    "all equal": lambda f, rng: np.full(len(f), 3.0),
    "next to each other": lambda f, rng: np.nextafter(1.0, 1.0 + np.sign(f)),
    "as far apart as can be": lambda f, rng: np.sign(f) * 1.7e308 * rng.random(len(f)),
    "of all sizes": lambda f, rng: np.sign(f) * 10 ** rng.uniform(-300, 300, len(f)),
    "denormal": lambda f, rng: rng.integers(-9000, 9000, len(f)) * 5e-324,
    "of one bin and outliers": lambda f, rng: np.where(np.arange(len(f)) < 3, 10.0 ** (99 * f), f),
    "runs of all sizes": lambda f, rng: 10.0 ** (90 * f.round()),
    "piled up at zero": lambda f, rng: rng.random(len(f)) ** 200,
}


@pytest.fixture(autouse=True)
def _few_bins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in (("MOST_BINS", 16), ("FEWEST_BINS", 16), ("MOST_SCORES", 40)):
        monkeypatch.setattr(engine_pairs, name, value)
    return


def draw(kind: str, n: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    label = rng.integers(0, 3, n).astype(float)
    score = SCORES[kind](label / 3 + rng.normal(size=n), rng)
    # The last group has three items.
    group = np.array(["a", "b", "tiny"], dtype=object)[np.minimum(rng.integers(0, 99, n) // 49, 2)]
    return {"y": label, "f": score, "g": group, "w": rng.choice([0.5, 1.0, 3.0], n)}


def tabulate(data: dict[str, Any], tolerance: float, **roles: str) -> TabulatedPairs:
    rows = read_labelled_rows(DUCKDB(data), ROLES | roles)
    return tabulate_pairs(rows, [None], tolerance)


@pytest.mark.parametrize("tolerance", [0.01, 0.0])
@pytest.mark.parametrize("kind", SCORES)
def test_exact_accuracies_lie_within_bounds_that_are_tolerated(kind: str, tolerance: float) -> None:
    data = draw(kind)
    weighted = {"weight": "w"} if kind == "cut off" else {}
    table = tabulate(data, tolerance, **weighted)
    rows = table.rows
    sums = PairSums(rows.groups, rows.weights, rows.squares)
    for part in table.parts():
        sums.add(part.rows())
    codes = np.searchsorted(rows.groups, data["g"].astype(str))
    weights = data["w"] if weighted else None
    for score_ties in ("disagree", "half"):
        pairs, doubt = sums.pairs(score_ties)
        exact = all_pairs(
            data["y"], data["f"], codes, rows.groups, weights=weights, score_ties=score_ties
        ).sharing
        assert pairs.sharing.trials == pytest.approx(exact.trials, rel=1e-12)
        off = np.abs(pairs.sharing.hits - exact.hits)
        assert np.all(off <= doubt.hits + 1e-9)
        assert np.all(doubt.hits <= tolerance * exact.trials + 1e-9)
        if not tolerance:
            assert pairs.sharing.dependent == pytest.approx(exact.dependent, rel=1e-9)
            assert pairs.sharing.effective_items == pytest.approx(exact.effective_items)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize(("bins", "most"), [(4, 1), (4, 50), (16, 1)])
@pytest.mark.parametrize("kind", [*SCORES][-6:])
def test_scores_of_all_sizes_are_counted_exactly(
    kind: str, bins: int, most: int, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("MOST_BINS", bins), ("MOST_SCORES", most)):
        monkeypatch.setattr(engine_pairs, name, value)
    data = draw(kind)
    rows = read_labelled_rows(ENGINES[engine](data), ROLES)
    sums = PairSums(rows.groups, rows.weights, rows.squares)
    for part in tabulate_pairs(rows, [None], 0.0).parts():
        sums.add(part.rows())
    pairs, doubt = sums.pairs("half")
    codes = np.searchsorted(rows.groups, data["g"].astype(str))
    exact = all_pairs(data["y"], data["f"], codes, rows.groups, score_ties="half")
    assert not doubt.hits.any()
    assert np.array_equal(pairs.sharing.hits, exact.sharing.hits)
    assert np.array_equal(pairs.score_ties, exact.score_ties)


def test_few_passes_cut_scores_of_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    monkeypatch.setattr(engine_pairs, "begin_pass", passes.append)
    for name, value in (("MOST_BINS", 2**16), ("MOST_SCORES", 10)):
        monkeypatch.setattr(engine_pairs, name, value)
    for kind in ("of all sizes", "denormal", "piled up at zero"):
        passes.clear()
        tabulate(draw(kind), 0.0001)
        # Two check and count rows; bins are of one width, then of one width on a scale of roots,
        # then perhaps of one width again, and at last items are counted by score.
        assert len(passes) <= 6


def test_rows_that_are_in_no_doubt_are_not_counted_by_score() -> None:
    data = draw("normal")
    # Between -1 and 1 there is one label, outside a single score and others.
    middle = np.abs(data["f"]) < 1
    data["y"] = np.where(middle, 1.0, data["y"])
    data["f"] = np.where(data["f"] > 2, 3.0, data["f"])
    found = tabulate(data, 0.0)
    assert found.left is not None
    parts = [*found.parts()]
    assert sum(part.n.sum() for part in parts) == 300
    asked = sum((part.code >= 0).sum() for part in parts)
    assert asked < len(np.unique(data["f"])) - middle.sum() / 2


def test_all_scores_are_counted_range_by_range_where_they_do_not_fit_at_once() -> None:
    assert tabulate(draw("normal"), 0.0).is_streamed
    assert len([*tabulate(draw("normal"), 0.0).parts()]) > 5
    assert not tabulate(draw("rounded"), 0.0).is_streamed


def test_scores_of_thousands_of_values_are_exact_in_one_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("MOST_BINS", 2**16), ("MOST_SCORES", 0)):
        monkeypatch.setattr(engine_pairs, name, value)
    rng = np.random.default_rng(1)
    label, score = rng.integers(0, 2, 20000), rng.normal(size=20000).round(3)
    data = {"y": label, "f": score, "g": np.array(["a", "b"], dtype=object)[label]}
    # Of the first rows most have a score of their own.
    assert len(np.unique(score[: labelled_rows.PEEK])) > labelled_rows.PEEK / 2
    table = tabulate({**data, "y": label * 1.0}, 0.01).table
    assert table.single.all()
    assert table.low.tolist() == np.unique(score).tolist()


def test_only_bins_to_blame_are_cut() -> None:
    data = draw("normal")
    coarse, fine = tabulate(data, 0.5).table, tabulate(data, 0.02).table
    assert coarse.n_bins <= 16 + SPARE < fine.n_bins
    # The tails of the scores are in no doubt that matters, and stay as they are.
    for end in (0, -1):
        assert coarse.bin_sizes[end] == fine.bin_sizes[end]


@pytest.mark.parametrize("ends", [(-1.0, 2.0), (0.0, 5e-324), (-1.7e308, 1.7e308), (4.0, 4.0)])
def test_bins_keep_the_order_of_numbers(ends: tuple[float, float]) -> None:
    low, high = ends
    with np.errstate(over="ignore"):
        inner = np.clip(np.linspace(low / 2, high / 2, 500) * 2, low, high)
    values = np.sort(np.concatenate([inner, np.nextafter(inner, high), ends]))
    frame = in_memory({"x": values})
    import narwhals as nw

    coded = frame.with_columns(code_bins(nw.col("x"), low, high, 100).alias("bin"))
    found = collect_columns(coded)
    order = np.argsort(found["x"], kind="stable")
    assert np.all(np.diff(found["bin"][order]) >= 0)
    assert found["bin"].min() == 0
    assert found["bin"].max() == (101 if high > low else 0)
    assert np.all(found["x"][found["bin"] == 0] == low)


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        ("f", np.nan, MissingValueError),
        ("f", np.inf, NonFiniteScoreError),
        ("y", np.nan, MissingValueError),
        ("g", None, MissingValueError),
        ("w", 0.0, WeightError),
        ("w", -1.0, WeightError),
    ],
)
def test_rows_that_cannot_be_counted_are_refused(column: str, value: Any, error: Any) -> None:
    data = draw("normal", 60)
    data[column][3] = value
    with pytest.raises(error, match="4"):
        read_labelled_rows(DUCKDB(data), {**ROLES, "weight": "w"})


def write_as_text(data: dict[str, Any], tmp_path: Path) -> Any:
    """Return the same rows as they are read from CSV: all of them text."""
    path = tmp_path / "rows.csv"
    lines = [",".join(map(str, row)) for row in zip(*data.values(), strict=True)]
    path.write_text("\n".join([",".join(data), *lines]))
    return read_table(path)


@pytest.mark.parametrize(
    ("column", "value", "error", "told"),
    [("f", "high", NotNumericError, "'high'"), ("w", -1.0, WeightError, "data row 4")],
)
@pytest.mark.parametrize("memory", [None, "1GB"])
def test_rows_of_text_are_refused_as_they_are_written(
    tmp_path: Path, column: str, value: Any, error: Any, told: str, memory: str | None
) -> None:
    data = draw("normal", 60)
    data[column] = data[column].astype(object)
    data[column][3] = value
    limits = limit_memory(memory) if memory else nullcontext()
    with limits, pytest.raises(error, match=told):
        read_labelled_rows(write_as_text(data, tmp_path), {**ROLES, "weight": "w"})


def test_text_that_is_parsed_once_is_counted_like_numbers(tmp_path: Path) -> None:
    data = draw("rounded")
    expected = tabulate(data, 0.0, weight="w").table
    with limit_memory("1GB"):
        rows = read_labelled_rows(write_as_text(data, tmp_path), {**ROLES, "weight": "w"})
        found = tabulate_pairs(rows, [None], 0.0).table
    assert rows.stored is not None
    for one, other in zip(astuple(found), astuple(expected), strict=True):
        assert np.array_equal(one, other)


def test_words_one_group_one_label_ids_and_unknown_columns_are_refused() -> None:
    data = draw("normal", 80)
    words = {**data, "f": np.array(["high"] * 80, dtype=object)}
    ids = {**data, "g": np.arange(80).astype(str).astype(object)}
    for odd, error in (
        (words, NotNumericError),
        ({**data, "g": np.array(["a"] * 80, dtype=object)}, OneGroupError),
        ({**data, "y": np.ones(80)}, ConstantLabelError),
        (ids, TooManyGroupsError),
    ):
        with pytest.raises(error):
            read_labelled_rows(DUCKDB(odd), ROLES)
    with pytest.raises(MissingColumnError):
        read_labelled_rows(DUCKDB(data), {**ROLES, "score": "nowhere"})


def test_labels_with_many_values_are_not_tabulated() -> None:
    data = draw("normal", 600)
    many = {**data, "y": np.arange(600.0)}
    assert not len(read_labelled_rows(DUCKDB(many), ROLES).levels)
    late = {**data, "y": np.where(np.arange(600) < 500, 0.0, np.arange(600.0))}
    assert len(read_labelled_rows(DUCKDB(late), ROLES).levels) == 101


def test_labels_that_turn_out_to_be_many_stay_on_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collected = []

    def collect(frame: Any) -> Any:
        found = collect_columns(frame)
        collected.append(max(map(len, found.values())))
        return found

    monkeypatch.setattr(labelled_rows, "collect_columns", collect)
    for name, value in (("PEEK", 20), ("MOST_LEVELS", 5), ("MOST_GROUPS", 3)):
        monkeypatch.setattr(labelled_rows, name, value)
    data = draw("normal", 600)
    data["y"] = np.where(np.arange(600) < 50, 0.0, np.arange(600.0))
    rows = read_labelled_rows(DUCKDB(data), ROLES)
    assert (len(rows.levels), rows.counts.sum()) == (0, 600)
    assert max(collected) == 20
