"""What training asks for: which accuracies shall be alike, by which losses, in how many steps.

A goal compares *terms*, each a weighted mean of the accuracies of cells, so that every goal is a
matrix of coefficients and one trainer serves all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import ANY
from comparity.counts.ordered_pairs import EQUAL, LARGER, SMALLER
from comparity.counts.pairs import Cell
from comparity.errors import EmptyCellError, OptionError
from comparity.tables.columns import check_option
from comparity.training.losses import PairFamily

Floats = NDArray[np.float64]

PARITY = "statistical parity"
COMPARED = 6
"""Up to so many terms of a goal are compared two by two."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Terms:
    """Rates that shall be alike.

    Attributes
    ----------
    goal : str
        What compares them.
    names : tuple of str
        One for each term.
    coefficients : ndarray, (T, C)
        The terms are these times the accuracies of all cells.
    """

    goal: str
    names: tuple[str, ...]
    coefficients: Floats


def terms_of(
    goal: str, pairs: PairFamily, parity: PairFamily | None, groups: Sequence[str], *, rows: str
) -> Terms:
    """Return the terms of a goal.

    Parameters
    ----------
    goal : str
        One of :data:`GOALS`.
    pairs : PairFamily
        The pairs that labels imply.
    parity : PairFamily or None
        All pairs of two groups, for statistical parity; its cells come after those of `pairs`.
    groups : sequence of str
        The groups to compare.
    rows : str
        What errors call the rows that the pairs are of.

    Raises
    ------
    EmptyCellError
        A term rests on no pair.
    """
    if goal == PARITY:
        assert parity is not None, goal
        # The accuracy of the same two groups may be a term of another goal.
        named = {f"{cell} ({PARITY})": [[cell]] for cell in parity.cells}
        family, start = parity, len(pairs.cells)
    else:
        # All three: groups may be called "larger" and "smaller", too.
        by_values = pairs.cells == (LARGER, SMALLER, EQUAL)
        named = _each([LARGER, SMALLER]) if by_values else LABELLED[goal](pairs.cells, groups)
        family, start = pairs, 0
    n_cells = len(pairs.cells) + (0 if parity is None else len(parity.cells))
    coefficients = np.zeros((len(named), n_cells))
    place = {cell: start + number for number, cell in enumerate(family.cells)}
    for row, unions in enumerate(named.values()):
        for union in unions:
            at = [place[cell] for cell in union]
            trials = family.trials[np.array(at) - start]
            if not trials.sum():
                raise EmptyCellError(goal, [list(named)[row]], rows)
            coefficients[row, at] += trials / trials.sum()
    return Terms(goal=goal, names=tuple(named), coefficients=coefficients)


Named = dict[str, list[list[Cell]]]
"""For each term the unions of cells whose rates it adds up."""


def _each(cells: Iterable[Cell]) -> Named:
    return {str(cell): [[cell]] for cell in cells}


def _across(cells: Sequence[Cell], groups: Sequence[str]) -> Named:
    return _each(Cell(i, j) for i, j in permutations(groups, 2))


def _within(cells: Sequence[Cell], groups: Sequence[str]) -> Named:
    return _each(Cell(group, group) for group in groups)


def _marginal(cells: Sequence[Cell], groups: Sequence[str]) -> Named:
    if Cell(ANY, ANY) in cells:
        # Means over queries are no means of cells, and have cells of their own.
        return _each(Cell(g, ANY) for g in groups)
    return {str(Cell(g, ANY)): [[cell for cell in cells if cell.better == g]] for g in groups}


def _symmetric(cells: Sequence[Cell], groups: Sequence[str]) -> Named:
    return {
        f"{Cell(g, ANY)} and {Cell(ANY, g)}": [
            [cell for cell in cells if cell.better == g],
            [cell for cell in cells if cell.worse == g],
        ]
        for g in groups
    }


LABELLED: dict[str, Callable[[Sequence[Cell], Sequence[str]], Named]] = {
    "cross-group": _across,
    "within-group": _within,
    "marginal": _marginal,
    "all cells": lambda cells, groups: _across(cells, groups) | _within(cells, groups),
    "symmetric": _symmetric,
}
"""Goals over pairs that labels imply: equations (5), (6), (7), (4) of the paper, and symmetric
equal accuracy."""
GOALS = (*LABELLED, PARITY)
"""All goals; statistical parity is equation (8)."""


NOT_OF_NUMBERS = {
    "within-group": "the attribute is a number: items of one value are one kind of pair alone",
    "symmetric": "the attribute is a number: both of its values have the same two accuracies",
}
"""Goals that ask for nothing where the attribute is a number, and why; all others do.

The larger and the smaller value replace the two groups. Cross-group, marginal and all
cells are one goal then: each value has one accuracy as the better item.
"""


def goals_of(goal: Any, *, continuous: bool) -> tuple[str, ...]:
    """Return the goals asked for, checked."""
    several = isinstance(goal, list | tuple | set | frozenset)
    goals = () if goal is None else tuple(goal) if several else (goal,)
    for one in goals:
        if one not in GOALS:
            raise OptionError("goal", one, [repr(word) for word in GOALS])
        if continuous and one in NOT_OF_NUMBERS:
            known = [repr(word) for word in GOALS if word not in NOT_OF_NUMBERS]
            raise OptionError("goal", one, known, NOT_OF_NUMBERS[one])
    if len(set(goals)) < len(goals):
        raise OptionError("goal", goal, ["each goal once"])
    return goals


def overall(pairs: PairFamily, n_cells: int) -> Floats:
    """Return the coefficients of the accuracy over all pairs that labels imply; 0 without any."""
    coefficients, all_trials = np.zeros(n_cells), pairs.trials.sum()
    if Cell(ANY, ANY) in pairs.cells:
        coefficients[pairs.cells.index(Cell(ANY, ANY))] = float(all_trials > 0)
    elif all_trials:
        coefficients[: len(pairs.cells)] = pairs.trials / all_trials
    return coefficients


def differences(terms: Sequence[Terms]) -> tuple[Floats, tuple[str, ...]]:
    """Return what the slack limits, as coefficients of cells, with names.

    Of up to six terms of a goal any two are compared. Of more, each is compared with their mean,
    twice over: where all these are within the slack, any two terms are, and there are as many
    constraints as twice the terms instead of their square. That asks for more than need be, which
    is enough for a game to go by; what is chosen afterwards is judged by any two terms.
    """
    rows, names = [], []
    for block in terms:
        if len(block.names) > COMPARED:
            away = 2 * (block.coefficients - block.coefficients.mean(axis=0))
            rows += [*away, *-away]
            names += [f"{name} above the mean" for name in block.names]
            names += [f"{name} below the mean" for name in block.names]
            continue
        for first, second in permutations(range(len(block.names)), 2):
            rows.append(block.coefficients[first] - block.coefficients[second])
            name = f"{block.names[first]} minus {block.names[second]}"
            # Goals may overlap, as all cells do with cross-group.
            names.append(f"{name} ({block.goal})" if name in names else name)
    return np.array(rows).reshape(len(rows), -1), tuple(names)


def largest_difference(terms: Sequence[Terms], accuracy: Floats) -> float:
    """Return the largest difference of two terms of one goal; 0 without a goal."""
    return max((float(np.ptp(block.coefficients @ accuracy)) for block in terms), default=0.0)


LARGEST_STEP = 1000.0
"""Steps move scores by about their size, in margins or in standard deviations of labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """How to train.

    Attributes
    ----------
    goals : tuple of str
        What shall be alike; none for the objective alone.
    slack : float
        Largest difference allowed.
    robust : bool
        Whether to raise the least rate instead.
    with_overall : bool
        Whether the accuracy over all pairs is one of the rates whose least is raised.
    margin, squared
        Of the hinge, see :mod:`comparity.training.losses`.
    l2 : float
        Weight of the sum of squared coefficients of standardised features.
    steps, step_sizes, referee_rate, snapshots
        Of the game, see :func:`comparity.training.game.play`; one game for each step size.
    uniform : bool
        Whether the mixture is of all candidates alike, instead of the best few.
    polish : bool
        Whether the best single model is polished, see :mod:`comparity.training.polish`.
    average, pair_weight : str
        How pairs count, see :func:`comparity.training.losses.labelled_pairs`.
    """

    goals: tuple[str, ...]
    slack: float
    robust: bool
    with_overall: bool
    margin: float
    squared: bool
    l2: float
    steps: int
    step_sizes: tuple[float, ...]
    referee_rate: float
    snapshots: int
    uniform: bool = False
    polish: bool = True
    average: str = "pairs"
    pair_weight: str = "equal"

    @property
    def counts_alike(self) -> bool:
        """Whether all pairs count alike, but for the weights of their items."""
        return self.average == "pairs" and self.pair_weight == "equal"


def choices_of(
    *,
    goal: str | tuple[str, ...] | None = "cross-group",
    slack: float = 0.01,
    form: str = "constrained",
    with_overall: bool | None = None,
    continuous: bool = False,
    margin: float = 1.0,
    loss: str = "hinge",
    l2: float = 1e-4,
    steps: int = 500,
    step_sizes: float | tuple[float, ...] = 0.15,
    referee_rate: float = 1.0,
    snapshots: int = 100,
    mixture: str = "sparse",
    polish: bool = True,
    average: str = "pairs",
    pair_weight: str = "equal",
    predicted: bool = False,
) -> Choices:
    """Return choices as they are given to :class:`comparity.FairRanker`, checked.

    Parameters
    ----------
    goal, slack, form, with_overall, continuous, margin, loss, l2, steps, step_sizes, referee_rate
        As there.
    snapshots, mixture, polish, average, pair_weight
        As there.
    predicted : bool
        Whether labels are to be predicted and not only ordered, as by
        :class:`comparity.FairRegressor`.

    Examples
    --------
    >>> choices_of(goal=("cross-group", "within-group"), form="robust").with_overall
    False
    """
    check_option("form", form, ("constrained", "robust"))
    check_option("loss", loss, ("hinge", "squared hinge"))
    if predicted and form == "robust":
        why = "a squared error and an accuracy have no common least"
        raise OptionError("form", form, ["'constrained'"], why)
    for name, found in (("slack", slack), ("l2", l2)):
        check_number(name, found, low=0)
    for name, found in (("margin", margin), ("referee_rate", referee_rate)):
        check_number(name, found, low=0, open_low=True)
    for name, found in (("steps", steps), ("snapshots", snapshots)):
        if not isinstance(found, int | np.integer) or found < 1:
            raise OptionError(name, found, ["a whole number from 1 on"])
    if with_overall not in (None, True, False):
        raise OptionError("with_overall", with_overall, ["True", "False", "None"])
    if polish not in (True, False):
        raise OptionError("polish", polish, ["True", "False"])
    sizes = np.atleast_1d(np.asarray(step_sizes, dtype=object)).tolist()
    for size in sizes or [step_sizes]:
        check_number("step_sizes", size, low=0, high=LARGEST_STEP, open_low=True)
    check_option("mixture", mixture, ("sparse", "uniform"))
    if mixture == "uniform" and len(sizes) > 1:
        why = "candidates of one game are mixed alike"
        raise OptionError("step_sizes", step_sizes, ["one step size", "mixture='sparse'"], why)
    goals = goals_of(goal, continuous=continuous)
    check_option("pair_weight", pair_weight, ("equal", "difference"))
    _check_average(average, goals, continuous=continuous)
    return Choices(
        goals=goals,
        slack=float(slack),
        robust=form == "robust",
        # Equation (13) has the overall accuracy in its minimum, the sum of minima has not.
        with_overall=len(goals) == 1 if with_overall is None else with_overall,
        margin=float(margin),
        squared=loss == "squared hinge",
        l2=float(l2),
        steps=int(steps),
        step_sizes=tuple(map(float, sizes)),
        referee_rate=float(referee_rate),
        snapshots=int(snapshots),
        uniform=mixture == "uniform",
        polish=bool(polish),
        average=average,
        pair_weight=pair_weight,
    )


def _check_average(average: str, goals: tuple[str, ...], *, continuous: bool) -> None:
    """Refuse what audits do not average over queries, either."""
    check_option("average", average, ("pairs", "queries"))
    if average == "pairs":
        return
    whys = {
        "pairs by the order of a number are pooled": continuous,
        "better and worse items of a group are summed over pairs": "symmetric" in goals,
        "pairs of groups are pooled": PARITY in goals,
    }
    for why, holds in whys.items():
        if holds:
            raise OptionError("average", average, ["'pairs'", "another goal"], why)


def check_number(
    name: str, found: Any, *, low: float, high: float = math.inf, open_low: bool = False
) -> None:
    """Refuse what is no finite number from `low` on, or above it, and below `high`."""
    number = isinstance(found, int | float | np.number) and math.isfinite(found)
    if number and (low < found if open_low else low <= found) and found < high:
        return
    lowest = f"{'above' if open_low else 'from'} {low:g}{'' if open_low else ' on'}"
    wanted = f"a number {lowest}" + (f" and below {high:g}" if math.isfinite(high) else "")
    raise OptionError(name, found, [wanted])
