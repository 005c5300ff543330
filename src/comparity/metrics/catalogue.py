"""Thirty published metrics, and further ones beside them: definitions, ideal values and ranges.

Identifiers C0-C25 (of predictions) and D0-D3 (of data) are those of [1]_; so are the ideal values,
the ranges (-0.1 to 0.1 around an ideal of 0, 0.8 to 1.2 around an ideal of 1, both ends included)
and the clusters. The published list gives the selection rate the ideal value 0; it is kept, though
the number compares no groups.

What is recommended, what moves together and what responds to data is about the thirty. A further
metric (F1 and on) is worked out and reported beside them, and changes nothing of that.

References
----------
.. [1] Majumder, Chakraborty, Bai, Stolee and Menzies, "Fair Enough: Searching for Sufficient
   Measures of Fairness", Tables 1, 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
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

SAME = "the name here"

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
    aif360: str = SAME
    fairlearn: str = ""
    fairkit: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        if self.aif360 == SAME:
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
        """Say whether a value lies in the published range; one that does not exist does not."""
        low, high = self.fair_range
        return low <= value <= high


FAIR_ENOUGH = "Majumder et al., Fair Enough, Table 1"
SPEICHER = "Speicher et al. (2018), A unified approach to quantifying algorithmic unfairness"
FOULDS = "Foulds et al. (2020), An intersectional definition of fairness"
HARDT = "Hardt, Price and Srebro (2016), Equality of opportunity in supervised learning"
FELDMAN = "Feldman et al. (2015), Certifying and removing disparate impact"
ZEMEL = "Zemel et al. (2013), Learning fair representations"
CALDERS = "Calders and Verwer (2010), Three naive Bayes approaches"
CHICCO = "Chicco and Jurman (2020), The advantages of the Matthews correlation coefficient"


def _rate_entries() -> Iterator[Entry]:
    """Yield the difference and the ratio of each rate that has both under its own name."""
    for rate, sign, ids, more, about, peer in (
        (FALSE_POSITIVE, "FPR", ("C1", "C5"), UNDESERVED, "false positives", "false_positive_rate"),
        (FALSE_NEGATIVE, "FNR", ("C2", "C6"), DENIED, "false negatives", "false_negative_rate"),
        (FALSE_OMISSION, "FOR", ("C3", "C7"), REFUSED, "false negatives", ""),
        (FALSE_DISCOVERY, "FDR", ("C4", "C8"), SELECTED, "false positives", ""),
        (ERROR, "ERR", ("C11", "C12"), MISJUDGED, "", "zero_one_loss"),
    ):
        for number, kind, operator, ideal, measure, theirs in (
            (ids[0], "difference", "-", 0.0, RateGap((rate,)), "largest minus smallest, no sign"),
            (ids[1], "ratio", "/", 1.0, RateRatio(rate), "smallest over largest"),
        ):
            name = f"{rate.name} {kind}"
            yield Entry(
                id=number,
                name=name,
                formula=f"{sign}(u) {operator} {sign}(p)",
                ideal=ideal,
                direction=f"above {ideal:g}: the unprivileged {more}",
                measure=measure,
                citation=FAIR_ENOUGH,
                fairlearn=f"{peer}_{kind} ({theirs})" if peer else "",
                fairkit=_as_identifier(name),
                about=about,
            )


UNDESERVED = "get more often what they do not deserve"
DENIED = "are denied more often what they deserve"
REFUSED = "who are refused deserved it more often"
SELECTED = "who are selected deserve it less often"
MISJUDGED = "are misjudged more often"


def _benefit_entries() -> Iterator[Entry]:
    """Yield the indices of benefits: among people, between two camps, between all groups."""
    camps = "larger: benefits are less equal between groups; no side is named"
    people = "larger: benefits are less equal among people, of any group"
    two, every = (partial(GroupEntropy, all_groups=several) for several in (False, True))
    indices: tuple[tuple[Any, ...], ...] = (
        (("C16", "C19", "C20"), "", "b = yhat - y + 1", people, BenefitEntropy),
        (("C18", "C21", "C22"), "between-group ", "mean benefits of u and p", camps, two),
        (("C17", "C23", "C24"), "between-all-groups ", "mean benefits of all groups", camps, every),
    )
    for ids, prefix, of, direction, entropy in indices:
        for number, index, formula, measure in (
            (ids[0], "generalised entropy index", "GE_2", entropy(2)),
            (ids[1], "Theil index", "GE_1", entropy(1)),
            (ids[2], "coefficient of variation", "sqrt(2 GE_2)", Variation(entropy(2))),
        ):
            name = prefix + index
            yield Entry(
                id=number,
                name=name,
                formula=f"{formula} of {of}",
                ideal=0.0,
                direction=direction,
                measure=measure,
                citation=SPEICHER,
            )


PUBLISHED = (
    *_rate_entries(),
    *_benefit_entries(),
    Entry(
        id="C0",
        name="true positive rate difference",
        formula="TPR(u) - TPR(p)",
        ideal=0.0,
        direction="above 0: the unprivileged are found more often when they deserve it",
        measure=RateGap((TRUE_POSITIVE,)),
        citation=HARDT,
        fairlearn="true_positive_rate_difference (largest minus smallest, no sign)",
        fairkit="equal_opportunity_difference (its size)",
        about="false negatives",
    ),
    Entry(
        id="C9",
        name="average odds difference",
        formula="(FPR(u) - FPR(p) + TPR(u) - TPR(p)) / 2",
        ideal=0.0,
        direction="above 0: the unprivileged are selected more often, deserved or not",
        measure=RateGap((FALSE_POSITIVE, TRUE_POSITIVE)),
        citation=HARDT,
        fairkit="average_odds_difference (its size)",
    ),
    Entry(
        id="C10",
        name="average absolute odds difference",
        formula="(|FPR(u) - FPR(p)| + |TPR(u) - TPR(p)|) / 2",
        ideal=0.0,
        direction="larger: error rates differ more; no side is named",
        measure=AverageAbsoluteGap((FALSE_POSITIVE, TRUE_POSITIVE)),
        citation=HARDT,
        aif360="average_abs_odds_difference",
        fairkit="average_abs_odds_difference",
    ),
    Entry(
        id="C13",
        name="selection rate",
        formula="P(yhat = 1), over everybody",
        ideal=0.0,
        direction="larger: more are selected; says nothing about groups",
        measure=OverallRate(SELECTION),
        citation=FAIR_ENOUGH,
        fairlearn="selection_rate",
        fairkit="selection_rate",
    ),
    Entry(
        id="C14",
        name="disparate impact",
        formula="SR(u) / SR(p)",
        ideal=1.0,
        direction="above 1: the unprivileged are selected more often",
        measure=RateRatio(SELECTION),
        citation=FELDMAN,
        fairlearn="demographic_parity_ratio (smallest over largest)",
        fairkit="disparate_impact",
    ),
    Entry(
        id="C15",
        name="statistical parity difference",
        formula="SR(u) - SR(p)",
        ideal=0.0,
        direction="above 0: the unprivileged are selected more often",
        measure=RateGap((SELECTION,)),
        citation=CALDERS,
        fairlearn="demographic_parity_difference (largest minus smallest, no sign)",
        fairkit="statistical_parity_difference (its size)",
    ),
    Entry(
        id="C25",
        name="differential fairness bias amplification",
        formula="EDF(yhat) - EDF(y)",
        ideal=0.0,
        direction="above 0: predictions tell groups apart more than labels do",
        measure=BiasAmplification(),
        citation=FOULDS,
    ),
    Entry(
        id="D0",
        name="consistency",
        formula="1 - mean |y_i - mean of y over the 5 nearest items, itself included|",
        ideal=1.0,
        direction="smaller: similar items have different labels",
        measure=None,
        citation=ZEMEL,
    ),
    Entry(
        id="D1",
        name="smoothed empirical differential fairness",
        formula="EDF(y)",
        ideal=0.0,
        direction="larger: labels tell groups apart more; no side is named",
        measure=DifferentialFairness(BASE),
        citation=FOULDS,
    ),
    Entry(
        id="D2",
        name="mean difference",
        formula="BR(u) - BR(p)",
        ideal=0.0,
        direction="above 0: the unprivileged have positive labels more often",
        measure=RateGap((BASE,)),
        citation=CALDERS,
    ),
    Entry(
        id="D3",
        name="disparate impact of labels",
        formula="BR(u) / BR(p)",
        ideal=1.0,
        direction="above 1: the unprivileged have positive labels more often",
        measure=RateRatio(BASE),
        citation=FELDMAN,
        aif360="disparate_impact",
    ),
)

CATALOGUE: Mapping[str, Entry] = MappingProxyType(
    {one.id: one for one in sorted(PUBLISHED, key=lambda one: (one.id[0], int(one.id[1:])))}
)
"""The thirty published metrics by identifier, C0 to C25 and D0 to D3."""

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
