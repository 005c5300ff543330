"""What is shown of decision makers is what the result holds."""

from __future__ import annotations

import re

import numpy as np
import pytest

from comparity import compare_raters, differential_parity
from comparity.relative.result import DifferentialParity, RaterParity
from comparity.reports.page import page
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN


def parity(**choices: object) -> DifferentialParity:
    rng = np.random.default_rng(4)
    group = np.array(["f", "m", "x"] * 100)
    first = rng.integers(1, 6, 300) + 2 * (group == "x")
    return differential_parity(
        first, rng.integers(1, 6, 300), sensitive_features={"sex": group}, **choices
    )


def raters(number: int) -> RaterParity:
    rng = np.random.default_rng(5)
    sex = np.array(["f", "m"] * 200)
    merit = rng.normal(size=400)
    seen = {
        f"R{k}": merit + rng.normal(size=400) + 0.4 * k / number * (sex == "m")
        for k in range(number)
    }
    return compare_raters(seen, sensitive_features={"sex": sex})


def test_the_text_leads_with_the_finding_and_the_largest_gap() -> None:
    result = parity()
    lines = str(result).splitlines()
    largest = max(result.contrasts, key=lambda one: abs(one.dpd))
    assert lines[0] == f"Differential parity: {VIOLATED}"
    assert lines[1].startswith(f"Largest gap: {largest.direction}")
    assert f"is {abs(largest.dpd):.2f} SD (9" in " ".join(lines[1:4])


def test_the_largest_gaps_of_raters_stand_with_the_intervals_they_were_judged_by() -> None:
    result = raters(4)
    (grid,) = (grid for grid in result.section().grids if grid.title == "Largest gaps")
    largest = max(result.contrasts, key=lambda one: abs(one.dpd))
    low, high, level = largest.test.interval(largest.test.level)
    assert grid.rows[0][2].startswith(f"[{low:+.3f}, {high:+.3f}]\nat ")
    # Six tests, of which the first is judged at 0.05 / 6.
    assert level == pytest.approx(1 - 0.05 / 6)


def test_tables_hold_every_contrast_and_every_test() -> None:
    result = parity()
    text = str(result)
    for one in result.contrasts:
        row = next(
            line for line in text.splitlines() if f"{one.group} over {one.reference}" in line
        )
        assert f"{one.dpt:+.3f}" in row
        assert f"{one.dpd_total:+.3f}" in row
    for title in (
        "Games-Howell p",
        "energy distance",
        "Kolmogorov-Smirnov",
        "analysis of variance",
    ):
        assert title in text


def test_what_was_not_tested_is_not_shown() -> None:
    text = str(parity(permutations=0))
    assert "energy" not in text


def test_a_gap_that_chance_explains_is_called_so() -> None:
    rng = np.random.default_rng(6)
    result = differential_parity(
        rng.normal(size=60), rng.normal(size=60), sensitive_features=["a", "b"] * 30
    )
    assert result.finding == UNDECIDED
    assert "In these data: Compared with" in str(result)
    assert "neither shown to differ from zero" in " ".join(str(result).split())


@pytest.mark.parametrize("number", [4, 12])
def test_a_matrix_has_numbers_for_few_raters_and_signs_for_many(number: int) -> None:
    result = raters(number)
    text = str(result)
    (name,) = result.matrices
    order = list(result.mean_dpd())
    row = next(line for line in text.splitlines() if line.startswith(order[0] + " "))
    place = result.raters.index(order[0])
    if number == 4:
        expected = [f"{result.dpd[place, result.raters.index(other)]:+.3f}" for other in order]
        assert row.split()[1:] == expected
        return
    signs = row.split()[1]
    for sign, other in zip(signs, order, strict=True):
        found = result.findings[name][place][result.raters.index(other)]
        assert sign == {WITHIN: "=", UNDECIDED: "?", VIOLATED: "+", "": "."}[found]


def test_the_count_of_findings_adds_up() -> None:
    result = raters(12)
    counted = re.search(r"66 tests: (\d+) \D+, (\d+) \D+, (\d+)", str(result))
    assert counted is not None
    assert sum(map(int, counted.groups())) == 66
    assert int(counted[1]) == sum(one.finding == VIOLATED for one in result.contrasts)


def test_tiles_of_the_heat_map_say_their_numbers_and_leave_no_gap() -> None:
    result = raters(12)
    (chart,) = result.section().charts
    tiles = list(chart.tiles())
    assert len(tiles) == 144
    order = list(result.mean_dpd())
    for tile in tiles:
        row = round(tile.y / chart.size)
        column = round((tile.x - chart.left) / chart.size)
        value = result.dpd[result.raters.index(order[row]), result.raters.index(order[column])]
        assert tile.about == f"{order[row]} over {order[column]}: {value:+.3f}"
        red, _, blue = (int(part, 16) for part in re.findall(r"[0-9a-f]{2}", tile.fill))
        assert np.sign(red - blue) == np.sign(np.round(value, 2)) or abs(value) < 0.01


def test_the_page_draws_the_map_and_not_the_signs() -> None:
    html = page(raters(12))
    assert html.count("<rect") == 144
    assert "+ leans up" not in html
    assert "Who leans" in html


def test_the_picture_has_the_matrix_in_the_order_of_leaning() -> None:
    result = raters(5)
    ax = result.plot()
    order = list(result.mean_dpd())
    places = [result.raters.index(rater) for rater in order]
    assert [label.get_text() for label in ax.get_yticklabels()] == order
    shown = np.asarray(ax.images[0].get_array())
    assert shown == pytest.approx(result.dpd[np.ix_(places, places)])


def test_notebooks_get_a_fragment() -> None:
    assert "<table" in parity()._repr_html_()
    assert "<rect" in raters(12)._repr_html_()


def test_a_change_with_a_number_is_shown_on_the_scale_of_the_decisions() -> None:
    rng = np.random.default_rng(6)
    age, first, second = rng.integers(18, 70, 400), rng.normal(size=400), rng.normal(size=400)
    first += 0.03 * age
    known = {"sensitive_features": {"age": age}, "continuous": True}
    result = differential_parity(first, second, names=("ann", "bob"), **known)
    assert "where the attribute is a number, the t of the slope" in page(result)
    (grid,) = (
        one for one in result.section().grids if one.title.startswith("Change of ann minus bob")
    )
    # The line by least squares, over two standard deviations of the number.
    slope = np.polyfit(age, first - second, 1)[0]
    assert grid.rows == (("age", "400", f"{2 * slope * age.std(ddof=1):+.3f}"),)
    assert not any(one.title.startswith("Change of") for one in parity().section().grids)
