"""Heat maps: colours that everybody can read, numbers that need no colours."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from comparity import pairwise_accuracy
from comparity.pairwise.result import PairwiseAccuracy, matrix_charts
from comparity.reports.heat import HeatMap, colours
from comparity.reports.page import page
from comparity.reports.terminal import as_text


@pytest.fixture(scope="module")
def result() -> PairwiseAccuracy:
    rng = np.random.default_rng(8)
    label, group = rng.normal(size=900), rng.choice(["<b>", "c", "d"], 900)
    return pairwise_accuracy(label, label + rng.normal(size=900), sensitive_features=group)


def test_colours_are_cividis_within_what_nobody_sees() -> None:
    lights = np.linspace(0, 1, 41)
    fills = np.array([to_rgb(colours(float(light))[0]) for light in lights])
    # Between two of eleven steps the map of matplotlib is straight within 4 %.
    assert fills == pytest.approx(colormaps["cividis"](lights)[:, :3], abs=0.04)


def luminance(colour: str) -> float:
    """Relative luminance by the definition of WCAG 2.2."""
    shares = np.array(to_rgb(colour))
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_letters_stand_out_as_wcag_asks_for_normal_text() -> None:
    for light in (-1.0, *np.linspace(0, 1, 201), 7.0):
        low, high = sorted(luminance(colour) for colour in colours(float(light)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, light


def test_lighter_cells_are_lighter_in_grey_too() -> None:
    shades = [luminance(colours(light)[0]) for light in np.linspace(0, 1, 101)]
    assert (np.diff(shades) > 0).all()


def test_both_matrices_are_shown_with_pairs_on_one_scale(result: PairwiseAccuracy) -> None:
    raw, standardised = (chart.grid for chart in matrix_charts(result))
    assert raw.rows[0][1].startswith(f"{result.matrix[0, 0]:.3f}\nn ")
    assert raw.scale == standardised.scale == ("0.5", "1")
    assert raw.shades[0][1] == pytest.approx(2 * result.matrix[0, 1] - 1)
    rates = {rate.of: rate.rate for rate in result.standardised.rates}
    assert standardised.rows[1][2].startswith(f"{rates['c > c']:.3f}")


def test_binary_labels_have_one_matrix_and_bad_models_the_whole_scale() -> None:
    rng = np.random.default_rng(9)
    label, group = rng.integers(0, 2, 300), rng.choice(["a", "b"], 300)
    result = pairwise_accuracy(label, rng.normal(size=300) - label, sensitive_features=group)
    (only,) = (chart.grid for chart in matrix_charts(result))
    assert only.scale == ("0", "1")
    assert only.shades[0] == pytest.approx(result.matrix[0])


def test_the_picture_is_a_table_with_its_numbers(result: PairwiseAccuracy) -> None:
    source = page(result)
    tables = re.findall(r'<table class="heat">.*?</table>', source, re.DOTALL)
    assert len(tables) == 2
    assert tables[0].count("background: #") == 9
    assert tables[0].count("<th scope=") == 6
    assert f"{result.matrix[2, 1]:.3f}" in tables[0]
    assert "&lt;b&gt;" in tables[0]


def test_an_entry_without_pairs_has_no_colour() -> None:
    label = [0, 1, 0, 1, 2, 3] * 4
    group = ["a", "a", "b", "b", "b", "b"] * 4
    result = pairwise_accuracy(
        label, label, sensitive_features=group, queries=[0, 1, 2, 2, 2, 2] * 4
    )
    assert np.isnan(result.matrix[0, 0])
    source = page(result)
    first = re.search(r'<table class="heat">.*?</table>', source, re.DOTALL)
    assert first is not None
    assert first.group().count("background: #") == np.isfinite(result.matrix).sum() < 4


def test_a_terminal_shows_the_same_numbers(result: PairwiseAccuracy) -> None:
    text = as_text(result)
    assert "Raw accuracy, group of the better item (row)" in text
    assert f"{result.matrix[0, 2]:.3f}" in text


@pytest.mark.long
def test_a_matrix_of_many_groups_is_a_picture_of_tiles_and_its_numbers_a_table() -> None:
    rng = np.random.default_rng(4)
    group = np.array([f"group {number}" for number in range(8)])[np.arange(400) % 8]
    label = rng.integers(0, 2, 400)
    result = pairwise_accuracy(label, label + rng.normal(size=400), sensitive_features=group)
    source = page(result)
    fills = re.findall(r'<rect [^>]*fill="(#\w+)"><title>(.*?)</title>', source)
    assert len(fills) == 64
    colour, about = fills[8 * 2 + 5]
    assert about == f"group 2 over group 5: {result.matrix[2, 5]:.3f}"
    assert colour == colours(2 * result.matrix[2, 5] - 1)[0]
    assert 'class="heat"' not in source
    assert f"<td>{result.matrix[2, 5]:.3f}<small>" in source


@pytest.mark.parametrize(
    "name", ["Straße & Söhne <b>GmbH</b>", "WWWWWWWWWW", "Mammoth mummies", "a", "iiii", "GDR ÖÄÜ?"]
)
def test_names_beside_tiles_have_the_room_they_take_in_a_wide_font(name: str) -> None:
    chart = HeatMap(
        title="",
        names=(name, *"abcdef"),
        values=((0.5,) * 7,) * 7,
        cells=(("0.5",) * 7,) * 7,
        low=0.0,
        high=1.0,
        unit="",
    )
    # Twelve pixels, as the style sheet has it; the name ends eight pixels before its row.
    drawn = TextPath((0, 0), chart.levels[0].label, size=12, prop=FontProperties("DejaVu Sans"))
    assert drawn.get_extents().width <= chart.left - 8
