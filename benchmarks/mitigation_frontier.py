"""Frontiers of loss against violation: who is ahead where, and whether constraints are kept.

A strength of a method is a point: its mean violation and its mean loss over splits. The frontier of
a package is the lower convex hull of its points and of the baselines, which are everybody's, for a
mixture of two models has the mean of both. Means over fewer splits are moved by what the plain
regression differs between these and all. At a violation that two packages reach, each is a mixture
of two points; the same mixture is taken in every split, so that the difference of the two has a
standard error over splits. Each is led along its own frontier from its violation in a split to its
mean violation, so that the uncertainty of where both are on theirs is part of that error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = dict[str, Any]
Task = tuple[str, str]
"""A data set and a notion."""

OURS, BASELINE = "comparity", "baseline"
ROUNDING = 1e-9
PLAIN = ("plain", "least squares")
TRAINED_FOR = {
    "FairRanker, cross-group": "cross-group",
    "FairRanker, statistical parity": "pairwise parity",
    "FairRegressor": "cross-group, squared error",
    "group_shift": "cross-group",
    "group_shift, regression": "cross-group, squared error",
    "group_thresholds, parity": "demographic parity",
    "group_thresholds, odds": "equalized odds",
}
"""The notion that a slack of ours is about, by method."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Point:
    """One method at one strength.

    Attributes
    ----------
    package, method, strength : str
    loss, violation, gap : mapping of int to float
        By split; the gap is the violation with its sign.
    slack : float or None
        The violation that was asked for.
    seconds : float
        Median core time of a fit.
    easier : float
        By how much all splits are harder than those of this point, to the plain regression.
    """

    package: str
    method: str
    strength: str
    loss: Mapping[int, float]
    violation: Mapping[int, float]
    gap: Mapping[int, float]
    slack: float | None
    seconds: float
    easier: float = 0.0

    @property
    def at(self) -> tuple[float, float]:
        """Mean violation and mean loss."""
        loss = float(np.mean([*self.loss.values()])) + self.easier
        return float(np.mean([*self.violation.values()])), loss

    @property
    def name(self) -> str:
        """Method and strength."""
        return self.method if self.strength == "nan" else f"{self.method} {self.strength}"


def points_of(rows: Sequence[Row]) -> list[Point]:
    """Gather rows of one data set and notion."""
    gathered: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if "failed" not in row:
            gathered[row["package"], row["method"], row["strength"]].append(row)
    points = [
        Point(
            package=package,
            method=method,
            strength=strength,
            loss={row["split"]: row["loss"] for row in found},
            violation={row["split"]: row["violation"] for row in found},
            gap={row["split"]: row.get("gap", np.nan) for row in found},
            slack=found[0]["slack"],
            # The first fit of a process compiles.
            seconds=float(np.median([row["seconds"] for row in found])),
        )
        for (package, method, strength), found in gathered.items()
    ]
    plain = next((one for one in points if one.method in PLAIN), None)
    return points if plain is None else [_moved(one, plain) for one in points]


def _moved(point: Point, plain: Point) -> Point:
    """Return a point as if it had been run on all splits that the plain regression was run on."""
    same = [loss for split, loss in plain.loss.items() if split in point.loss]
    return replace(point, easier=float(np.mean([*plain.loss.values()]) - np.mean(same)))


def frontier(points: Sequence[Point]) -> list[Point]:
    """Return the lower hull: each point has more violation and less loss than the one before."""
    hull: list[Point] = []
    for point in sorted(points, key=lambda one: one.at):
        if hull and point.at[1] >= hull[-1].at[1]:
            continue
        while len(hull) > 1 and _is_above(*hull[-2:], point):
            hull.pop()
        hull.append(point)
    return hull


def _is_above(first: Point, middle: Point, last: Point) -> bool:
    """Say whether the middle point is not below the line between the others."""
    (x0, y0), (x1, y1), (x2, y2) = first.at, middle.at, last.at
    return (y1 - y0) * (x2 - x0) >= (y2 - y0) * (x1 - x0)


def losses_at(hull: Sequence[Point], violation: float) -> tuple[dict[int, float], str]:
    """Return the loss by split at a violation that the hull reaches, and what reaches it.

    What has another violation in a split than on average is led along the hull to its average.
    """
    places = [point.at[0] for point in hull]
    # The same model of two packages has the same violation but for rounding.
    above = min(int(np.searchsorted(places, violation - ROUNDING)), len(hull) - 1)
    first = last = hull[above]
    share, name = 1.0, last.name
    if above > 0 and violation < places[above] - ROUNDING:
        first = hull[above - 1]
        share = (violation - places[above - 1]) / (places[above] - places[above - 1])
        name = f"{first.name} and {last.name}"
    # At a corner, the line between its neighbours.
    low, high = (first, last) if first is not last else _neighbours(hull, above)
    (x0, y0), (x1, y1) = low.at, high.at
    slope = (y1 - y0) / (x1 - x0) if x1 > x0 else 0.0
    both = sorted(first.loss.keys() & last.loss.keys())
    loss, there = (
        {one: (1 - share) * a[one] + share * b[one] for one in both}
        for a, b in ((first.loss, last.loss), (first.violation, last.violation))
    )
    middle = float(np.mean([*there.values()]))
    return {one: loss[one] + slope * (middle - there[one]) for one in both}, name


def _neighbours(hull: Sequence[Point], at: int) -> tuple[Point, Point]:
    return hull[max(at - 1, 0)], hull[min(at + 1, len(hull) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """Our loss and theirs at the violation where theirs is best beside ours.

    Attributes
    ----------
    data, notion, rival : str
    violation, ours, theirs, error : float
        The error is the standard error of the difference over splits.
    by_ours, by_theirs : str
        The methods.
    """

    data: str
    notion: str
    rival: str
    violation: float
    ours: float
    theirs: float
    error: float
    by_ours: str
    by_theirs: str

    @property
    def lead(self) -> float:
        """How far theirs is below ours, in standard errors."""
        return (self.ours - self.theirs) / max(self.error, 1e-12)

    @property
    def lost(self) -> bool:
        """Whether theirs is below ours by more than a standard error."""
        return self.ours - self.theirs > max(self.error, 1e-9)


def duels(task: Task, points: Sequence[Point]) -> Iterator[Duel]:
    """Compare our frontier with that of every other package, at the violation worst for us."""
    shared = [one for one in points if one.package == BASELINE]
    ours = frontier([*shared, *(one for one in points if one.package == OURS)])
    for rival in dict.fromkeys(one.package for one in points):
        if rival in (OURS, BASELINE):
            continue
        theirs = frontier([*shared, *(one for one in points if one.package == rival)])
        low = max(ours[0].at[0], theirs[0].at[0])
        # At a baseline, which is everybody's, there is nothing to compare.
        corners = {one.at[0] for one in theirs if one.package != BASELINE}
        places = [low, *(at for at in corners if at > low)]
        yield max((_duel(task, rival, ours, theirs, at) for at in places), key=lambda d: d.lead)


def _duel(
    task: Task,
    rival: str,
    ours: Sequence[Point],
    theirs: Sequence[Point],
    violation: float,
) -> Duel:
    mine, by_ours = losses_at(ours, violation)
    other, by_theirs = losses_at(theirs, violation)
    splits = sorted(mine.keys() & other.keys())
    apart = np.array([mine[one] - other[one] for one in splits])
    error = float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else 0.0
    return Duel(
        data=task[0],
        notion=task[1],
        rival=rival,
        violation=violation,
        ours=float(np.mean([mine[one] for one in splits])),
        theirs=float(np.mean([other[one] for one in splits])),
        error=error,
        by_ours=by_ours,
        by_theirs=by_theirs,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a slack came to on fresh rows: mean difference over splits, with its sign and error."""

    data: str
    method: str
    slack: float
    gap: float
    error: float

    @property
    def is_kept(self) -> bool:
        """Whether the slack is within two standard errors of the mean difference."""
        return abs(self.gap) <= self.slack + 2 * self.error


def kept_slacks(task: Task, points: Sequence[Point]) -> Iterator[Kept]:
    """Yield what slacks of ours came to, in the notion that they are about."""
    for one in points:
        if one.slack is None or TRAINED_FOR.get(one.method) != task[1] or one.package != OURS:
            continue
        gaps = np.array([*one.gap.values()])
        error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else np.nan
        yield Kept(
            data=task[0],
            method=one.method,
            slack=one.slack,
            gap=float(gaps.mean()),
            error=error,
        )


def tasks_of(rows: Sequence[Row]) -> dict[Task, list[Point]]:
    """Gather points by data set and notion, of splits that both sides have been run on."""
    sides: dict[tuple[str, int], set[bool]] = defaultdict(set)
    for row in rows:
        sides[row["data"], row["split"]].add(row["package"] == OURS)
    by: dict[Task, list[Row]] = defaultdict(list)
    for row in rows:
        if len(sides[row["data"], row["split"]]) > 1:
            by[row["data"], row["notion"]].append(row)
    return {task: points_of(found) for task, found in by.items()}
