"""The choices of an audit of impact ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from comparity.errors import Option, OptionError
from comparity.results.options import Options, choice, column


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactOptions(Options):
    """How impact ratios are worked out."""

    min_share: float = choice(
        0.02,
        "Groups with a smaller share of all people have a rate, and no ratio.",
        least=0,
        below=1,
    )
    four_fifths: bool = choice(False, "Ask whether each ratio is at least four fifths.")
    suppress: int = choice(
        0,
        "Hide groups of fewer people than this.",
        least=0,
        allowed="a whole number, at least 0",
    )
    level: float = choice(0.95, "Level of the intervals.", above=0, below=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactForm(ImpactOptions):
    """The same of a frame or a file: which columns are what."""

    # People of an unknown group are counted.
    MAY_LACK: ClassVar[tuple[str, ...]] = ("sensitive",)

    selected: str | None = column("Column that says who was selected.", None)
    score: str | None = column("Column with a score: rates above its median.", None)
    positive: Any = choice(None, "The value that means selected, if it is not 1, true or yes.")
    sensitive: tuple[str, ...] = column("Column with the group; several also in combination.")

    def _check_together(self) -> None:
        """Ask for one of the two columns that rates can be of."""
        if (self.selected is None) == (self.score is None):
            words = ("one of {} and {}", Option("selected"), Option("score"))
            why = "name the column that says who was selected, or a column of scores; not both"
            raise OptionError("selected", self.selected, [words], why)
        outcome = self.score if self.selected is None else self.selected
        if outcome in self.sensitive:
            raise OptionError("sensitive", outcome, ["another column than the outcome"])
        if self.score is not None and self.positive is not None:
            raise OptionError("positive", self.positive, [("it with {} only", Option("selected"))])
