"""Information about an attribute, for terminal and page."""

from __future__ import annotations

from comparity.information import InformationSeparation
from comparity.reporting.formats import count, p_value, visible
from comparity.reporting.grids import Grid
from comparity.reporting.sections import Section

__all__ = ["section"]


def section(result: InformationSeparation) -> Section:
    """Return what is shown of the information in scores."""
    found, chance = f"{result.information:.4f}", f"{result.by_chance:.4f}"
    measures = (
        ("mean information (nats)", found, "0"),
        ("by chance alone", chance, ""),
        ("share of what labels leave unknown", f"{result.relative_information:.4f}", "0"),
        ("mean odds ratio", f"{result.odds_ratio:.4f}", "1"),
    )
    test = result.test
    basis = (
        f"{count(result.n)} rows, {count(test.permutations)} permutations, {result.curves} models"
    )
    return Section(
        headline=f"Scores tell {found} nats about the attribute beyond labels; {chance} by chance",
        sentences=(
            f"Independent given the label: p = {p_value(test.p_value)}.",
            f"{basis}, {result.curves} models.",
        ),
        grids=(
            Grid(
                title="Measures",
                header=("measure", "value", "under separation"),
                rows=tuple(row for row in measures if row[1] != "nan"),
            ),
        ),
        lists={"Notes": [visible(note) for note in result.notes]},
    )
