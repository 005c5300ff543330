"""Rehearse a bridge where it is not needed: hide decisions, bridge, and compare with the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.errors.spelling import visible
from comparity.inference.gap_tests import plain
from comparity.relative.audit import differential_parity
from comparity.relative.bridge_checks import Leaks, find_leaks, leak_notes
from comparity.relative.diagnosis import audit_sides, build_bridge
from comparity.relative.judge import show_progress
from comparity.relative.options import BridgeOptions
from comparity.relative.prediction import Foretold
from comparity.relative.result import DifferentialParity
from comparity.relative.subjects import (
    SIDES,
    DecidedSubjects,
    decided_subjects,
    feature_names,
    match_features,
)
from comparity.reports.charts import Curve, CurveChart, axis_between
from comparity.reports.plots import draw
from comparity.reports.sections import Grid, Section, count, several, signed
from comparity.results.plain import as_plain
from comparity.results.result import Result, frame_of_rows
from comparity.tables.features import named_attributes
from comparity.tables.values import check_lengths, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COUNTED = ("right", "opposite", "refused")


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
    leaks : mapping of str to mapping
        By decision maker, features that are copies of its decisions, with the share of the variance
        that each explains.
    provenance : mapping
        What was dropped before, where that was asked for.
    """

    cases: tuple[RehearsedCase, ...]
    splits: int
    leaks: Leaks = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

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
        return self.rights()[bridge]

    def rights(self) -> dict[str, float]:
        """Return how many cases of a split each bridge gets right, on average."""
        return self._per_split(RehearsedCase.is_right)

    def opposites(self) -> dict[str, float]:
        """Return how often in a split each bridge leans the other way, on average."""
        return self._per_split(RehearsedCase.is_opposite)

    def refusals(self) -> dict[str, float]:
        """Return how often in a split each bridge was refused, on average."""
        return self._per_split(lambda case, name: name in case.refused)

    def _per_split(self, holds: Callable[[RehearsedCase, str], bool]) -> dict[str, float]:
        return {
            name: sum(holds(case, name) for case in self.cases) / self.splits
            for name in self.bridges
        }

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        return _section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each case and bridge, as a frame of the named engine."""
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
        return draw(_rehearsal_chart(self), ax)


def rehearse_bridges(
    decisions: Mapping[str, Any],
    *,
    sensitive_features: Any,
    features: Any,
    regressor: Any = "ridge",
    share: float = 0.6,
    splits: int = 10,
    alpha: float = 0.05,
    margin: float = 0.2,
    seed: int = 0,
) -> Rehearsal:
    """Count how often a bridge says what direct measurement on the same subjects says.

    Subjects are divided at random. Of the one decision maker only decisions about the first part
    are used, of the other only those about the second; what three bridges make of them is compared
    with direct measurements on either part, by the paper's rule (one-sided p at most `alpha`, in
    either direction). A bridge is right if it says what at least one of the two says (RQ2 of
    [1]_). Each decision maker is compared with everyone, itself included.

    Parameters
    ----------
    decisions : mapping of str to array-like
        Decisions about the same subjects, by decision maker.
    sensitive_features : array-like, mapping or frame
        Groups of the subjects, two for each attribute.
    features : array-like or frame
        What is known about the subjects.
    regressor
        As in :func:`comparity.biased_bridge`.
    share : float
        Share of the subjects in the first part.
    splits : int
        How many random divisions to average over.
    alpha, margin, seed
        As in :func:`comparity.biased_bridge`.

    Returns
    -------
    Rehearsal

    References
    ----------
    .. [1] Yu and Xi, "Differential Parity: Relative Fairness Between Two Sets of Decisions",
       sections 3.3 and 4.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex, merit = rng.choice(["f", "m"], 300), rng.normal(size=300)
    >>> one, other = (merit + lean * (sex == "f") + rng.normal(0, 0.3, 300) for lean in (0, 1))
    >>> found = rehearse_bridges(
    ...     {"one": one, "other": other},
    ...     sensitive_features=sex,
    ...     features=merit[:, None],
    ...     splits=2,
    ... )
    >>> found.n_cases, found.right("biased")
    (4, 4.0)
    """
    if not isinstance(share, int | float) or not 0 < share < 1:
        raise OptionError("share", share, ["a share between 0 and 1"])
    if not isinstance(splits, int) or splits < 1:
        raise OptionError("splits", splits, ["a whole number from 1 on"])
    options = BridgeOptions(alpha=alpha, margin=margin, seed=seed)
    columns = {
        name: numbers(values, name, "decisions")
        for name, values in named_attributes(decisions).items()
    }
    attributes = named_attributes(sensitive_features)
    check_lengths({**columns, **{f"sensitive {name}": one for name, one in attributes.items()}})
    if not columns:
        raise OptionError("decisions", decisions, ["decisions by one maker or more, by name"])
    n = len(next(iter(columns.values())))
    known, _ = match_features(features, features, sizes=(n, n))
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(n) for _ in range(splits)]
    cases: list[RehearsedCase] = []
    tasks = [*product(range(splits), attributes, columns)]
    for split, attribute, first in show_progress(tasks, "bridges"):
        order, cut = orders[split], round(share * n)
        stage = _Stage(columns, attributes[attribute], known, (order[:cut], order[cut:]))
        cases += _rehearse(stage, split, attribute, first, regressor, options)
    named = feature_names(features)
    leaks = {name: find_leaks(known, own, named) for name, own in columns.items()}
    return Rehearsal(
        cases=tuple(cases),
        splits=splits,
        leaks={name: found for name, found in leaks.items() if found},
    )


class _Stage(NamedTuple):
    """Decisions, the group and features of everybody, and how subjects are divided."""

    decisions: Mapping[str, NDArray[np.float64]]
    group: NDArray[Any]
    features: Any
    parts: tuple[NDArray[np.int64], NDArray[np.int64]]

    def sides(self, first: str, second: str) -> DecidedSubjects:
        """Return what is left of two decision makers where each decides about one part."""
        here, there = self.parts
        decided = self.decisions[first][here], self.decisions[second][there]
        return decided_subjects(decided, (self.group[here], self.group[there]))

    def measure(self, first: str, second: str, part: int) -> DifferentialParity:
        """Compare two decision makers directly on one part."""
        rows = self.parts[part]
        one, other = self.decisions[first][rows], self.decisions[second][rows]
        group = self.group[rows]
        return differential_parity(one, other, sensitive_features=group, permutations=0)


def _rehearse(
    stage: _Stage, split: int, attribute: str, first: str, regressor: Any, options: BridgeOptions
) -> Iterator[RehearsedCase]:
    """Bridge one decision maker to everyone, by models that are fitted once."""
    here, there = stage.parts
    foretold = Foretold(features=(stage.features[here], stage.features[there]))
    fresh, used = replace(options, errors="cross-fitted"), replace(options, errors="training")
    own = stage.sides(first, first)
    across, in_sample = (build_bridge(own, foretold, regressor, one) for one in (fresh, used))
    for second in stage.decisions:
        sides = stage.sides(first, second)
        audit = partial(audit_sides, sides, names=SIDES, attribute=attribute)
        bridges = {
            "biased": audit(across, fresh, bridge="biased"),
            "biased, in sample": audit(in_sample, used, bridge="biased"),
            "unbiased": audit(in_sample, used, bridge="unbiased"),
        }
        direct = [stage.measure(first, second, part) for part in (0, 1)]
        yield RehearsedCase(
            split=split,
            attribute=attribute,
            first=first,
            second=second,
            direct=(_sign(direct[0], options.alpha), _sign(direct[1], options.alpha)),
            direct_dpd=(direct[0].dpd, direct[1].dpd),
            said={name: _sign(found, options.alpha) for name, found in bridges.items()},
            dpd={name: found.dpd for name, found in bridges.items()},
            refused=tuple(n for n, found in bridges.items() if not found.diagnosis.carries),
        )


def _sign(found: DifferentialParity, alpha: float) -> int:
    """Return the direction that the paper's rule finds, or 0."""
    return int(np.sign(found.dpd)) if found.p_one_sided <= alpha else 0


def _section(result: Rehearsal) -> Section:
    counts = as_plain(result)
    best = max(result.bridges, key=result.right)
    return Section(
        headline=(
            f"Bridges against direct measurement: the {best} bridge is right in "
            f"{result.right(best):.1f} of {result.n_cases} cases"
        ),
        sentences=(
            "Right is what at least one of two direct measurements says, by the paper's rule.",
            f"Mean of {count(result.splits)} random divisions of the subjects.",
            *leak_notes(result.leaks),
        ),
        grids=(
            Grid(
                title="Cases in a division",
                header=("bridge", *COUNTED),
                rows=tuple(
                    (name, *(f"{counts[what][name]:.2f}" for what in COUNTED))
                    for name in result.bridges
                ),
            ),
            _mean_dpd_grid(result),
        ),
    )


def _mean_dpd_grid(result: Rehearsal) -> Grid:
    """Set the mean DPD of each two decision makers beside what was measured directly."""
    found: dict[tuple[str, str, str], list[RehearsedCase]] = {}
    for case in result.cases:
        found.setdefault((case.attribute, case.first, case.second), []).append(case)
    return Grid(
        title="Mean DPD, direct on the two parts and across bridges",
        header=("first over second", "direct", "direct", *result.bridges),
        rows=tuple(
            (
                visible(f"{attribute}: {first} over {second}"),
                *(signed(fmean(case.direct_dpd[part] for case in same)) for part in (0, 1)),
                *(signed(fmean(case.dpd[name] for case in same)) for name in result.bridges),
            )
            for (attribute, first, second), same in found.items()
        ),
    )


def _rehearsal_chart(result: Rehearsal) -> CurveChart:
    """Describe DPD across each bridge against what was measured directly."""
    direct = [fmean(case.direct_dpd) for case in result.cases]
    curves = [
        Curve(
            label=f"{name}: right in {result.right(name):.1f} of {count(result.n_cases)}",
            points=[(one, case.dpd[name]) for one, case in zip(direct, result.cases, strict=True)],
            style="points",
        )
        for name in result.bridges
    ]
    across = "DPD measured directly, mean of both parts (standard deviations of the difference)"
    axis = axis_between(across, direct)
    same = Curve(
        label="the same", points=[(end, end) for end in (axis.low, axis.high)], style="guide"
    )
    found = [value for curve in (*curves, same) for _, value in curve.points]
    return CurveChart(
        title=f"Bridges against direct measurement, {several(len(result.cases), 'case')}",
        axis=axis,
        up=axis_between("DPD across the bridge", found),
        curves=(*curves, same),
        is_square=True,
    )
