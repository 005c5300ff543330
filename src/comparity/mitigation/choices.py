"""How to train: what is asked, by which losses, in how many steps; all of it checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from comparity.errors import OptionError
from comparity.mitigation.goals import goals_of
from comparity.tables import check_option

__all__ = ["Choices", "check_share", "choices_of"]

LONGEST = 1000.0
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
        Of the hinge, see :mod:`comparity.mitigation.losses`.
    l2 : float
        Weight of the sum of squared coefficients of standardised features.
    steps, step_sizes, referee_rate, snapshots
        Of the game, see :func:`comparity.mitigation.game.play`; one game for each step size.
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
    predicted: bool = False,
) -> Choices:
    """Return choices as they are given to :class:`comparity.FairRanker`, checked.

    Parameters
    ----------
    goal, slack, form, with_overall, continuous, margin, loss, l2, steps, step_sizes, referee_rate
        As there.
    snapshots : int
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
    _check_number("slack", slack, low=0)
    _check_number("l2", l2, low=0)
    _check_number("margin", margin, low=0, open_low=True)
    _check_number("referee_rate", referee_rate, low=0, open_low=True)
    for name, found in (("steps", steps), ("snapshots", snapshots)):
        if not isinstance(found, int | np.integer) or found < 1:
            raise OptionError(name, found, ["a whole number from 1 on"])
    if with_overall not in (None, True, False):
        raise OptionError("with_overall", with_overall, ["True", "False", "None"])
    sizes = np.atleast_1d(np.asarray(step_sizes, dtype=object)).tolist()
    for size in sizes or [step_sizes]:
        _check_number("step_sizes", size, low=0, high=LONGEST, open_low=True)
    goals = goals_of(goal, continuous=continuous)
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
    )


def check_share(name: str, found: Any) -> None:
    """Refuse a share of rows that is not from 0 on and below 1."""
    _check_number(name, found, low=0, high=1)


def _check_number(
    name: str, found: Any, *, low: float, high: float = math.inf, open_low: bool = False
) -> None:
    number = isinstance(found, int | float | np.number) and math.isfinite(found)
    if number and (low < found if open_low else low <= found) and found < high:
        return
    lowest = f"{'above' if open_low else 'from'} {low:g}{'' if open_low else ' on'}"
    wanted = f"a number {lowest}" + (f" and below {high:g}" if math.isfinite(high) else "")
    raise OptionError(name, found, [wanted])
