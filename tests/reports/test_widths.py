"""Lines break between phrases, and a table takes no more room than there is."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from comparity.reports.sections import Grid
from comparity.reports.terminal import GAP, GridView, share_width, wrap_line

numbers = st.floats(-1, 1).map(lambda value: f"{value:+.3f}")
intervals = st.tuples(numbers, numbers).map(lambda ends: f"[{ends[0]}, {ends[1]}]")
words = st.text(st.characters(categories=["L", "N", "So"]), min_size=1, max_size=40)
lines = st.lists(st.one_of(numbers, intervals, words), min_size=1).map(" ".join)
grids = st.integers(1, 6).flatmap(
    lambda columns: st.builds(
        Grid,
        title=st.just(""),
        header=st.tuples(*[words] * columns),
        rows=st.lists(st.tuples(*[lines] * columns), min_size=1, max_size=4).map(tuple),
    )
)


@given(lines, st.integers(1, 80))
def test_no_part_of_a_line_is_wider_than_there_is_room_and_none_is_lost(
    line: str, width: int
) -> None:
    parts = wrap_line(line, width)
    # A sign two columns wide cannot be cut in half.
    assert max(map(cell_len, parts)) <= max(width, 2)
    assert "".join(parts).replace(" ", "") == line.replace(" ", "")


@given(st.lists(intervals, min_size=1), st.integers(16, 40))
def test_no_interval_is_broken(found: list[str], width: int) -> None:
    assert all(line.count("[") == line.count("]") for line in wrap_line(" ".join(found), width))


@pytest.mark.parametrize("width", range(16, 52))
def test_no_sign_stands_alone_on_its_line(width: int) -> None:
    line = "agree(Asian > Caucasian) = agree(Caucasian > Asian)"
    assert not {"=", ">"} & {
        *wrap_line(line, width),
        *wrap_line(line.replace("n)", "n (US))"), width),
    }


@given(grids, st.integers(20, 120))
def test_columns_share_the_room_there_is(grid: Grid, room: int) -> None:
    widths = share_width(grid, room)
    if widths is not None:
        assert sum(widths) + GAP * (len(widths) - 1) <= room


@given(grids, st.integers(30, 120))
def test_what_a_table_says_is_all_there_and_no_line_is_too_wide(grid: Grid, room: int) -> None:
    console = Console(width=room, color_system=None)
    with console.capture() as captured:
        console.print(GridView(grid))
    shown = captured.get()
    assert max(map(cell_len, shown.splitlines())) <= room
    cells = "".join("".join(row) for row in grid.rows).replace(" ", "")
    assert Counter(cells) <= Counter(shown)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_heat_map_too_wide_is_shown_in_parts_with_the_names_of_its_rows(width: int) -> None:
    names = [f"P{place}" for place in range(24)]
    rows = tuple((name, *(f"{place / 100:+.3f}" for place in range(24))) for name in names)
    grid = Grid(
        title="", header=("rater", *names), rows=rows, shades=tuple(((0.5,) * 24) for _ in names)
    )
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(GridView(grid))
    shown = captured.get()
    assert max(map(len, shown.splitlines())) <= width
    assert sum(line.split().count("+0.230") for line in shown.splitlines()) == 24
    parts = shown.count("rater")
    assert parts == sum(line.startswith("P0 ") for line in shown.splitlines()) > 1


def test_words_stand_on_the_left_and_numbers_on_the_right() -> None:
    rows = (("a", "12", "2,501 vs 2,499", "30 s", "n/a"), ("b", "9", "n 12M", "needs data", "0.5"))
    grid = Grid(title="", header=("", "n", "both", "time", "rate"), rows=rows)
    assert grid.numeric == (False, True, True, False, True)


def test_a_column_of_numbers_stays_one_where_some_are_replaced_by_words() -> None:
    cells = ("0.900", "0.900", "at most 0.542", "at most 0.288", "at most 0.157")
    grid = Grid(title="", header=("items", "power"), rows=tuple(("", cell) for cell in cells))
    assert grid.numeric == (False, True)
