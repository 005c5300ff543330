"""Frozen answers about information: what scores tell about an attribute that labels do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from comparity.relative import PermutationTest
from comparity.showing import Shown, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["InformationSeparation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationSeparation(Shown):
    """What scores tell about a sensitive attribute that labels do not.

    Attributes
    ----------
    information : float
        Mean log-ratio of the attribute's probability given label and score against given the
        label, in nats; 0 under separation.
    relative_information : float
        The same as a share of what labels leave unknown; ``nan`` where that has no meaning.
    odds_ratio : float
        Mean odds ratio of two groups, 1 under separation; ``nan`` unless there are two.
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

    information: float
    relative_information: float
    odds_ratio: float
    test: PermutationTest
    by_chance: float
    groups: tuple[str, ...]
    curves: str
    n: int
    notes: tuple[str, ...] = ()

    @property
    def p_value(self) -> float:
        """The p value of the test by permutation."""
        return self.test.p_value

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; numbers that do not exist are None."""
        return {
            "information": self.information,
            "relative_information": plain(self.relative_information),
            "odds_ratio": plain(self.odds_ratio),
            "by_chance": self.by_chance,
            "test": self.test.to_dict(),
            "groups": list(self.groups),
            "curves": self.curves,
            "n": self.n,
            "notes": list(self.notes),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each measure, as a frame of the named engine."""
        from comparity.reporting.frames import frame_of_rows

        names = ("information", "by_chance", "relative_information", "odds_ratio", "p_value")
        rows = [{"measure": name, "value": plain(getattr(self, name))} for name in names]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what scores tell beside what chance alone would show."""
        from comparity.reporting.information import plot_information

        return plot_information(self, ax)
