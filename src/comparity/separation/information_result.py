"""The answer about information: what a column tells about a sensitive attribute, and its test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from comparity.errors.spelling import visible
from comparity.inference.gap_tests import plain
from comparity.inference.permutation import PermutationTest
from comparity.reports.charts import Mark, Row, RowChart, axis_between
from comparity.reports.plots import draw
from comparity.reports.sections import Grid, Section, count, p_value, several
from comparity.results.result import Result, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class NotionWords(NamedTuple):
    """What is measured of a notion, in words.

    Attributes
    ----------
    what : str
        The column that may tell, in the plural.
    beyond : str
        What is known without it.
    null : str
        The hypothesis.
    unknown : str
        What is left to tell.
    """

    what: str
    beyond: str
    null: str
    unknown: str


WORDS = {
    "independence": NotionWords(
        "scores", "", "score independent of the attribute", "share of what is unknown"
    ),
    "separation": NotionWords(
        "scores",
        " beyond labels",
        "score independent of the attribute, given the label",
        "share of what labels leave unknown",
    ),
    "sufficiency": NotionWords(
        "labels",
        " beyond scores",
        "label independent of the attribute, given the score",
        "share of what scores leave unknown",
    ),
}
"""The three notions of Steinberg, Reid and O'Callaghan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeInformation(Result):
    r"""What a column tells about a sensitive attribute that another does not.

    Attributes
    ----------
    notion : {"independence", "separation", "sufficiency"}
        Which notion asks for none: of scores, of scores beyond labels, of labels beyond scores.
    information : float
        Mean log-ratio of the attribute's probability given both columns against given the one
        that is known already (nothing, the label, the score), in nats; 0 under the notion.
    relative_information : float
        The same as a share of what is unknown without it, for separation
        :math:`\hat H(A \mid Y) = -\frac1n \sum_i \log \rho(a_i \mid y_i)`, as the authors' code
        of "Comparative Separation" has it: between 0 and 1, up to chance. ``nan`` where nothing is
        unknown, and of a number, whose differential entropy depends on units.
    odds_ratio : float
        Mean odds ratio of two groups, given both against given the one, 1 under the notion;
        ``nan`` unless there are two. A mean of ratios, which few rows with extreme odds
        can dominate.
    test : PermutationTest
        Whether the information is more than chance.
    by_chance : float
        Mean information over the permutations: what no relation at all would show.
    groups : tuple of str
        The groups; empty for a number.
    curves : {"linear", "spline"}
        How the models depend on labels and scores.
    n : int
        Rows.
    notes : tuple of str
        What the reader must know.
    """

    notion: str
    information: float
    relative_information: float
    odds_ratio: float
    test: PermutationTest
    by_chance: float
    groups: tuple[str, ...]
    curves: str
    n: int
    notes: tuple[str, ...] = ()

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        return _section(self)

    @property
    def p_value(self) -> float:
        """The p value of the test by permutation."""
        return self.test.p_value

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each measure, as a frame of the named engine."""
        names = ("information", "by_chance", "relative_information", "odds_ratio", "p_value")
        rows = [{"measure": name, "value": plain(getattr(self, name))} for name in names]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what scores tell beside what chance alone would show."""
        return draw(_information_chart(self), ax)


def _section(result: AttributeInformation) -> Section:
    """Return what is shown of the information in scores."""
    found, chance = f"{result.information:.4f}", f"{result.by_chance:.4f}"
    told = WORDS[result.notion]
    about = f"{told.what.capitalize()} tell {found} nats about the attribute{told.beyond}"
    measures = (
        ("mean information (nats)", found, "0"),
        ("by chance alone", chance, ""),
        (told.unknown, f"{result.relative_information:.4f}", "0"),
        ("mean odds ratio", f"{result.odds_ratio:.4f}", "1"),
    )
    test = result.test
    basis = f"{several(result.n, 'row')}, {several(test.permutations, 'permutation')}"
    return Section(
        headline=f"{about}; {chance} by chance",
        sentences=(
            f"{told.null.capitalize()}: p = {p_value(test.p_value)}.",
            f"{basis}, {result.curves} models.",
        ),
        grids=(
            Grid(
                title="Measures",
                header=("measure", "value", f"under {result.notion}"),
                rows=tuple(row for row in measures if row[1] != "nan"),
            ),
        ),
        lists={"Notes": [visible(note) for note in result.notes]},
    )


def _information_chart(result: AttributeInformation) -> RowChart:
    """Describe what scores tell beside what no relation at all would show."""
    test, told = result.test, WORDS[result.notion]
    by_chance = f"mean of {count(test.permutations)} permutations"
    shown = (
        (f"these {told.what}", "", "first", result.information),
        ("by chance", by_chance, "second", result.by_chance),
    )
    values = [value for *_, value in shown]
    return RowChart(
        title=f"What {told.what} tell about the attribute{told.beyond}: "
        f"p = {p_value(test.p_value)}, {several(result.n, 'row')}",
        axis=axis_between(
            f"mean information in nats; 0 under {result.notion}", values, from_zero=True
        ),
        rows=tuple(
            Row(label=label, note=note, marks=(Mark(kind=kind, x=value, low=0.0, high=value),))
            for label, note, kind, value in shown
        ),
        line=0.0,
    )
