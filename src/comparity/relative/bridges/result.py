"""Frozen answers about two decision makers who decided about different subjects."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from comparity.inference.gap_tests import plain
from comparity.relative.result import DifferentialParity
from comparity.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section

__all__ = ["BridgeDiagnosis", "BridgedParity", "Rehearsal", "RehearsedCase"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeDiagnosis:
    """How well the first's decisions can be predicted for the second's subjects.

    Attributes
    ----------
    explained : float
        Share of the variance of the first's decisions that predictions explain, about subjects the
        model did not see where that is known; at most 1, negative where the mean does better.
    errors : tuple of float
        Root mean squared error against the first's and against the second's decisions.
    calibration : mapping of str to float
        Mean error against the first's decisions by group; zero where the model has its leanings.
    calibration_p : float
        p value of "these means are equal".
    separability : mapping of str to float
        By group, how often a subject of the second is told from one of the first by its features:
        an area under the curve, one half where both sets of subjects are alike.
    effective_share : mapping of str to float
        By group, what share of the first's subjects is left if they are weighted to look like the
        second's.
    shift : float
        By how much DPD would move if they were; ``nan`` where that cannot be told.
    optimism : float
        Error of the model on the decisions it was fitted to, as a share of that on unseen ones;
        ``nan`` where errors are not taken in sample.
    ignored : float
        False-alarm rate that comes of ignoring the error of the model's own fit; ``nan`` where it
        is not ignored.
    n_shared : int
        Subjects whom both decided about.
    refusals : tuple of str
        Why this bridge does not carry a finding; empty where it does.
    """

    explained: float
    errors: tuple[float, float]
    calibration: Mapping[str, float]
    calibration_p: float
    separability: Mapping[str, float]
    effective_share: Mapping[str, float]
    shift: float
    optimism: float = math.nan
    ignored: float = math.nan
    n_shared: int = 0
    refusals: tuple[str, ...] = ()

    DERIVED: ClassVar[Mapping[str, str]] = {"carries": "carries"}

    @property
    def carries(self) -> bool:
        """Whether the bridge is good enough to find anything by."""
        return not self.refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgedParity(DifferentialParity):
    """Whether two decision makers lean differently, estimated across different subjects.

    Numbers as in :class:`comparity.relative.result.DifferentialParity`. A bridge that the diagnosis
    refuses keeps its numbers and leaves the question open.

    Attributes
    ----------
    bridge : str
        ``"biased"`` or ``"unbiased"``, as in the paper.
    errors_from : str
        What the errors of the prediction were taken on.
    scale : float
        What the gap is divided by: a standard deviation of the difference of two decisions about
        one subject, as far as the errors of the prediction tell it.
    diagnosis : BridgeDiagnosis
        How good the bridge is.
    """

    bridge: str
    errors_from: str
    scale: float
    diagnosis: BridgeDiagnosis

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.relative.bridges.section import section

        return section(self)

    @property
    def gap(self) -> float:
        """The gap on the scale of the decisions."""
        return self.only.gap


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedCase:
    """A bridge built where the truth is known: both decided about everybody.

    Attributes
    ----------
    split : int
        Which random division of the subjects.
    attribute, first, second : str
        The sensitive attribute and the two decision makers.
    direct : tuple of int
        What both decisions about the same subjects say on the first part and on the second: 1 or
        -1 for a leaning either way, 0 for none found.
    direct_dpd : tuple of float
        DPD on both parts.
    said : mapping of str to int
        What each bridge says, in the same signs.
    dpd : mapping of str to float
        DPD by bridge.
    refused : tuple of str
        Bridges that were refused.
    """

    split: int
    attribute: str
    first: str
    second: str
    direct: tuple[int, int]
    direct_dpd: tuple[float, float]
    said: Mapping[str, int]
    dpd: Mapping[str, float]
    refused: tuple[str, ...] = ()

    def is_right(self, bridge: str) -> bool:
        """Return whether a bridge says what at least one direct measurement says."""
        return self.said[bridge] in self.direct

    def is_opposite(self, bridge: str) -> bool:
        """Return whether a bridge finds a leaning where one is found the other way."""
        return self.said[bridge] != 0 and -self.said[bridge] in self.direct


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal(Result):
    """Bridges against direct measurement, counted as RQ2 of the paper counts.

    Attributes
    ----------
    cases : tuple of RehearsedCase
        One for every two decision makers, attribute and split.
    splits : int
        Number of random divisions.
    """

    cases: tuple[RehearsedCase, ...]
    splits: int

    DERIVED: ClassVar[Mapping[str, str]] = {
        "cases_in_a_split": "n_cases",
        "right": "rights",
        "opposite": "opposites",
        "refused": "refusals",
    }

    @property
    def n_cases(self) -> int:
        """Cases in one split, self-comparisons and both directions included."""
        return len(self.cases) // self.splits

    @property
    def bridges(self) -> tuple[str, ...]:
        """Names of the bridges."""
        return tuple(self.cases[0].said) if self.cases else ()

    def right(self, bridge: str) -> float:
        """Return how many cases of a split a bridge gets right, on average."""
        return sum(case.is_right(bridge) for case in self.cases) / self.splits

    def rights(self) -> dict[str, float]:
        """Return how many cases of a split each bridge gets right, on average."""
        return {name: self.right(name) for name in self.bridges}

    def opposites(self) -> dict[str, float]:
        """Return how often in a split each bridge leans the other way, on average."""
        return self._per_split(lambda case, name: case.is_opposite(name))

    def refusals(self) -> dict[str, float]:
        """Return how often in a split each bridge was refused, on average."""
        return self._per_split(lambda case, name: name in case.refused)

    def _per_split(self, holds: Callable[[RehearsedCase, str], bool]) -> dict[str, float]:
        return {
            name: sum(holds(case, name) for case in self.cases) / self.splits
            for name in self.bridges
        }

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.relative.bridges.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each case and bridge, as a frame of the named engine."""
        from comparity.reports.frames import frame_of_rows

        rows = [
            {
                "split": case.split,
                "attribute": case.attribute,
                "first": case.first,
                "second": case.second,
                "direct_first_part": case.direct[0],
                "direct_second_part": case.direct[1],
                "direct_dpd_first_part": plain(case.direct_dpd[0]),
                "direct_dpd_second_part": plain(case.direct_dpd[1]),
                "bridge": name,
                "said": case.said[name],
                "dpd": plain(case.dpd[name]),
                "right": case.is_right(name),
                "refused": name in case.refused,
            }
            for case in self.cases
            for name in self.bridges
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw DPD across each bridge against what was measured directly."""
        from comparity.relative.bridges.section import rehearsal_chart
        from comparity.reports.plots import draw

        return draw(rehearsal_chart(self), ax)
