"""What a metric is: a measure of counts with its interval, and what the catalogue says of it.

References
----------
.. [1] Majumder, Chakraborty, Bai, Stolee and Menzies, "Fair Enough: Searching for Sufficient
   Measures of Fairness", Tables 1, 4 and 5.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import GroupedDecisions
from comparity.inference.gap_tests import Interval

__all__ = ["CLUSTERS", "Cluster", "Entry", "Measure", "Measured"]

Floats = NDArray[np.float64]


class Measured(NamedTuple):
    """An interval and the name of the method behind it."""

    interval: Interval
    method: str


class Measure(ABC):
    """A metric as a function of counts, with its interval.

    Attributes
    ----------
    has_sign : bool
        Whether values on either side of the ideal speak of different camps, or of opposites.
    """

    __slots__ = ()

    has_sign: ClassVar[bool] = False

    @property
    def sees_all_groups(self) -> bool:
        """Whether it tells all groups apart, and not only the two camps."""
        return False

    @abstractmethod
    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""

    @abstractmethod
    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table.

        Parameters
        ----------
        contrast : GroupedDecisions
            The counts.
        drawn : GroupedDecisions
            Tables resampled from them, used where a measure has a kink.
        level : float
            Confidence level.
        """


RANGES = {0.0: (-0.1, 0.1), 1.0: (0.8, 1.2)}
"""Published range by ideal value, both ends included; further metrics borrow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Metrics that moved together in the published study.

    Attributes
    ----------
    name : str
        As published, except "false discovery", which the text describes and does not name.
    kind : str
        ``"group"``, ``"individual"`` or ``"none"``: whom parity is about.
    members : tuple of str
        Identifiers of its metrics.
    """

    name: str
    kind: str
    members: tuple[str, ...]


CLUSTERS = (
    Cluster(name="misclassification", kind="group", members=("C3", "C7", "C11", "C12")),
    Cluster(name="differential fairness", kind="group", members=("C10", "C25")),
    Cluster(name="individual fairness", kind="individual", members=("C16", "C19", "C20")),
    Cluster(name="false discovery", kind="group", members=("C4", "C8")),
    Cluster(
        name="group fairness",
        kind="group",
        members=("C0", "C1", "C2", "C5", "C6", "C9", "C14", "C15"),
    ),
    Cluster(
        name="between-group individual fairness",
        kind="individual",
        members=("C17", "C18", "C21", "C22", "C23", "C24"),
    ),
    Cluster(name="intermediate", kind="none", members=("C13",)),
    Cluster(name="individual fairness of data", kind="individual", members=("D0",)),
    Cluster(name="differential fairness of data", kind="group", members=("D1",)),
    Cluster(name="group fairness of data", kind="group", members=("D2", "D3")),
)
"""Seven clusters of metrics of predictions, then three of metrics of data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One metric of the catalogue.

    Attributes
    ----------
    id, name : str
        Identifier and name.
    formula : str
        Definition, with u for unprivileged and p for privileged.
    ideal : float
        Value at parity.
    direction : str
        What a value away from the ideal says.
    measure : callable or None
        The metric as a function of counts; ``None`` for consistency, which needs neighbours.
    citation : str
        Where the definition comes from.
    aif360, fairlearn, fairkit : str
        The name elsewhere, and how it differs; empty where there is none.
    about : str
        Which error it speaks of, where it is one: ``"false negatives"`` or ``"false positives"``.
    """

    id: str
    name: str
    formula: str
    ideal: float
    direction: str
    measure: Measure | None
    citation: str
    aif360: str = ""
    fairlearn: str = ""
    fairkit: str = ""
    about: str = ""

    @property
    def fair_range(self) -> tuple[float, float]:
        """Range around the ideal value, both ends included; published for the thirty."""
        return RANGES[self.ideal]

    @property
    def cluster(self) -> Cluster | None:
        """The published cluster of the metric; a further metric has none."""
        return next((cluster for cluster in CLUSTERS if self.id in cluster.members), None)

    @property
    def of_data(self) -> bool:
        """Whether it describes labels and not predictions."""
        return self.id.startswith("D")

    @property
    def has_sign(self) -> bool:
        """Whether values on either side of the ideal speak of different camps, or of opposites."""
        return self.measure is not None and self.measure.has_sign

    def distance(self, value: float) -> float:
        """Return how far a value is from the ideal."""
        return abs(value - self.ideal)

    def is_inside(self, value: float) -> bool:
        """Say whether a value lies in the published range; one that does not exist does not."""
        low, high = self.fair_range
        return low <= value <= high
