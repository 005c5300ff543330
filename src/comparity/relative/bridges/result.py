"""Frozen answers about two decision makers who decided about different subjects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from comparity.inference.gap_tests import plain
from comparity.relative.result import DifferentialParity
from comparity.results.result import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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

    @property
    def carries(self) -> bool:
        """Whether the bridge is good enough to find anything by."""
        return not self.refusals

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as plain data."""
        numbers = ("explained", "calibration_p", "shift", "optimism", "ignored")
        by_group = ("calibration", "separability", "effective_share")
        return {
            **{name: plain(getattr(self, name)) for name in numbers},
            "errors": [plain(error) for error in self.errors],
            **{
                name: {group: plain(value) for group, value in getattr(self, name).items()}
                for name in by_group
            },
            "n_shared": self.n_shared,
            "carries": self.carries,
            "refusals": list(self.refusals),
        }


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

    @property
    def gap(self) -> float:
        """The gap on the scale of the decisions."""
        return self.only.gap

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; the audit's fields come first."""
        return {
            # Zero-argument super() does not work in a dataclass with slots.
            **DifferentialParity.to_dict(self),
            "bridge": self.bridge,
            "errors_from": self.errors_from,
            "scale": plain(self.scale),
            "diagnosis": self.diagnosis.to_dict(),
        }


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
    refused : frozenset of str
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
    refused: frozenset[str] = frozenset()

    def is_right(self, bridge: str) -> bool:
        """Return whether a bridge says what at least one direct measurement says."""
        return self.said[bridge] in self.direct

    def is_opposite(self, bridge: str) -> bool:
        """Return whether a bridge finds a leaning where one is found the other way."""
        return self.said[bridge] != 0 and -self.said[bridge] in self.direct


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal(Shown):
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

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {
            "splits": self.splits,
            "cases_in_a_split": self.n_cases,
            "right": {name: self.right(name) for name in self.bridges},
            "opposite": {
                name: sum(case.is_opposite(name) for case in self.cases) / self.splits
                for name in self.bridges
            },
            "refused": {
                name: sum(name in case.refused for case in self.cases) / self.splits
                for name in self.bridges
            },
        }

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
        from comparity.relative.bridges.section import plot_rehearsal

        return plot_rehearsal(self, ax)
