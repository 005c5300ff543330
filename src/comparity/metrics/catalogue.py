"""Thirty published metrics, and further ones beside them: definitions, ideal values and ranges.

Identifiers C0-C25 (of predictions) and D0-D3 (of data) are those of [1]_; so are the ideal values,
the ranges (-0.1 to 0.1 around an ideal of 0, 0.8 to 1.2 around an ideal of 1, both ends included)
and the clusters. The published list gives the selection rate the ideal value 0; it is kept, though
the number compares no groups. What is published about each stands in ``published.toml``.

What is recommended, what moves together and what responds to data is about the thirty. A further
metric (F1 and on) is worked out and reported beside them, and changes nothing of that.

References
----------
.. [1] Majumder, Chakraborty, Bai, Stolee and Menzies, "Fair Enough: Searching for Sufficient
   Measures of Fairness", Tables 1, 4 and 5.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from comparity.metrics.classification import (
    BASE,
    ERROR,
    FALSE_DISCOVERY,
    FALSE_NEGATIVE,
    FALSE_OMISSION,
    FALSE_POSITIVE,
    SELECTION,
    TRUE_POSITIVE,
    AverageAbsoluteGap,
    Measure,
    OverallRate,
    RateGap,
    RateRatio,
)
from comparity.metrics.entropy import (
    BenefitEntropy,
    BiasAmplification,
    DifferentialFairness,
    GroupEntropy,
    Variation,
)
from comparity.metrics.matthews import MatthewsGap

SAME_NAME = "the name here"

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


def _as_identifier(name: str) -> str:
    return name.lower().replace("ised", "ized").replace(" ", "_").replace("-", "_")


FACTS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("published.toml").read_text(encoding="utf-8")
)
"""What is published about the thirty metrics and their clusters."""

CLUSTERS = tuple(Cluster(**one | {"members": tuple(one["members"])}) for one in FACTS["clusters"])
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
        The name elsewhere, and how it differs; empty where there is none. In AIF360 it is as a rule
        the name here, as Python and Americans spell it.
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
    aif360: str = SAME_NAME
    fairlearn: str = ""
    fairkit: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        if self.aif360 == SAME_NAME:
            object.__setattr__(self, "aif360", _as_identifier(self.name))

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
        """Return whether a value lies in the published range; one that does not exist does not."""
        low, high = self.fair_range
        return low <= value <= high


MEASURES: Mapping[str, Measure | None] = {
    "C0": RateGap((TRUE_POSITIVE,)),
    "C1": RateGap((FALSE_POSITIVE,)),
    "C2": RateGap((FALSE_NEGATIVE,)),
    "C3": RateGap((FALSE_OMISSION,)),
    "C4": RateGap((FALSE_DISCOVERY,)),
    "C5": RateRatio(FALSE_POSITIVE),
    "C6": RateRatio(FALSE_NEGATIVE),
    "C7": RateRatio(FALSE_OMISSION),
    "C8": RateRatio(FALSE_DISCOVERY),
    "C9": RateGap((FALSE_POSITIVE, TRUE_POSITIVE)),
    "C10": AverageAbsoluteGap((FALSE_POSITIVE, TRUE_POSITIVE)),
    "C11": RateGap((ERROR,)),
    "C12": RateRatio(ERROR),
    "C13": OverallRate(SELECTION),
    "C14": RateRatio(SELECTION),
    "C15": RateGap((SELECTION,)),
    "C16": BenefitEntropy(2),
    "C17": GroupEntropy(2, all_groups=True),
    "C18": GroupEntropy(2, all_groups=False),
    "C19": BenefitEntropy(1),
    "C20": Variation(BenefitEntropy(2)),
    "C21": GroupEntropy(1, all_groups=False),
    "C22": Variation(GroupEntropy(2, all_groups=False)),
    "C23": GroupEntropy(1, all_groups=True),
    "C24": Variation(GroupEntropy(2, all_groups=True)),
    "C25": BiasAmplification(),
    "D0": None,
    "D1": DifferentialFairness(BASE),
    "D2": RateGap((BASE,)),
    "D3": RateRatio(BASE),
}
"""The thirty published metrics as functions of counts; consistency needs neighbours."""

CATALOGUE: Mapping[str, Entry] = MappingProxyType(
    {
        number: Entry(id=number, measure=measure, **FACTS["metrics"][number])
        for number, measure in MEASURES.items()
    }
)
"""The thirty published metrics by identifier, C0 to C25 and D0 to D3."""

CHICCO = "Chicco and Jurman (2020), The advantages of the Matthews correlation coefficient"

FURTHER: Mapping[str, Entry] = MappingProxyType(
    {
        one.id: one
        for one in (
            Entry(
                id="F1",
                name="Matthews correlation difference",
                formula="MCC(u) - MCC(p)",
                ideal=0.0,
                direction="above 0: predictions follow the labels of the unprivileged more closely",
                measure=MatthewsGap(),
                citation=CHICCO,
                aif360="",
            ),
        )
    }
)
"""Metrics that are reported beside the thirty, by identifier."""


EVERY_METRIC: Mapping[str, Entry] = MappingProxyType({**CATALOGUE, **FURTHER})


def check_metric(identifier: object) -> None:
    """Raise ``ValueError`` for an identifier that no metric has."""
    if identifier not in EVERY_METRIC:
        raise ValueError(f"metric {identifier!r}")
