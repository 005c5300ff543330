"""Training a linear score under pairwise goals, from checked rows to chosen models."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counting.labelled import LabelledItems
from comparity.mitigation.game import (
    CellWeights,
    Constraints,
    Minima,
    Nothing,
    Play,
    Referee,
    play,
)
from comparity.mitigation.goals import PARITY, Terms, differences, overall, terms_of
from comparity.mitigation.losses import (
    PairFamily,
    attribute_pairs,
    group_pairs,
    labelled_pairs,
)
from comparity.mitigation.shrinking import (
    Mixture,
    best_iterate,
    best_of_minima,
    mix,
    mix_minima,
)

__all__ = [
    "Candidates",
    "Choices",
    "Chosen",
    "Rows",
    "Scale",
    "candidates",
    "chosen",
    "first_guess",
    "rows_of",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scale:
    """Where features and labels have their zero and their unit.

    Attributes
    ----------
    centre, unit : ndarray, (p,)
        Mean and standard deviation of each feature; 1 for a constant one.
    label_centre, label_unit : float
        The same of a label that is to be predicted.
    """

    centre: Floats
    unit: Floats
    label_centre: float = 0.0
    label_unit: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Rows to train on or to choose by, with their pairs.

    Attributes
    ----------
    features : ndarray, (n, p)
        As they were given.
    scale : Scale
        What coefficients refer to.
    pairs : PairFamily
        The pairs that labels imply.
    parity : PairFamily or None
        All pairs of two groups, where a goal asks for them.
    target : ndarray or None
        Labels in their own unit, where they are to be predicted and not only ordered.
    weight : ndarray
        Weights of rows.
    """

    features: Floats
    scale: Scale
    pairs: PairFamily
    parity: PairFamily | None
    target: Floats | None
    weight: Floats

    @property
    def families(self) -> tuple[PairFamily, ...]:
        """The kinds of pairs, in the order of their cells."""
        return (self.pairs,) if self.parity is None else (self.pairs, self.parity)

    @property
    def n_cells(self) -> int:
        """Number of cells of all kinds of pairs."""
        return sum(len(family.cells) for family in self.families)

    def scores(self, parameters: Floats) -> Floats:
        """Return the scores of all rows; standardised features are never stored."""
        slope = parameters / self.scale.unit
        found: Floats = self.features @ slope - self.scale.centre @ slope
        return found

    def accuracy(self, scores: Floats) -> Floats:
        """Return the accuracies of all cells; ``nan`` where there are no pairs."""
        return np.concatenate([family.sums(scores).accuracy for family in self.families])

    def objective(self, scores: Floats, accuracy: Floats) -> float:
        """Return what is minimised: mean squared error, or errors over all pairs."""
        if self.target is not None:
            return float(np.average((scores - self.target) ** 2, weights=self.weight))
        share = overall(self.pairs, self.n_cells)
        return float(1 - np.nansum(share * accuracy))

    def gradient(
        self, parameters: Floats, weights: CellWeights, choices: Choices
    ) -> tuple[Floats, Floats]:
        """Return accuracies of all cells, and the gradient of the weighted bounds."""
        scores = self.scores(parameters)
        wrong = weights.wrong
        slope = np.zeros(len(scores))
        if self.target is None:
            wrong = wrong + weights.objective * overall(self.pairs, self.n_cells)
        else:
            share = self.weight / self.weight.sum()
            slope += 2 * weights.objective * share * (scores - self.target)
        found, start = [], 0
        for family in self.families:
            cells = slice(start, start + len(family.cells))
            sums = family.sums(
                scores,
                wrong=wrong[cells],
                right=weights.right[cells],
                margin=choices.margin,
                squared=choices.squared,
            )
            slope += sums.gradient
            found.append(sums.accuracy)
            start = cells.stop
        raw = self.features.T @ slope - self.scale.centre * slope.sum()
        # No goal rests on a cell without pairs.
        return np.nan_to_num(
            np.concatenate(found)
        ), raw / self.scale.unit + 2 * choices.l2 * parameters


def rows_of(
    features: Floats,
    items: LabelledItems,
    kept: Codes,
    scale: Scale,
    goals: Sequence[str],
    *,
    predicted: bool,
) -> Rows:
    """Lay out the pairs of some rows.

    Parameters
    ----------
    features : ndarray, (n, p)
    items : LabelledItems
        Labels, groups, queries and weights of all rows.
    kept : ndarray of int
        The rows wanted.
    scale : Scale
    goals : sequence of str
        What will be asked of the pairs.
    predicted : bool
        Whether labels are to be predicted, and not only ordered.
    """
    label, group = items.label[kept], items.group[kept] if len(items.group) else items.group
    query = None if items.query is None else items.query[kept]
    weights = None if items.weight is None else items.weight[kept]
    if items.value is not None:
        pairs = attribute_pairs(label, items.value[kept], query=query, weights=weights)
    else:
        # Items in no group have a cell of their own without a name.
        extra = ("",) if group.max(initial=0) >= len(items.groups) else ()
        names = (*items.groups, *extra)
        pairs = labelled_pairs(label, group, names, query=query, weights=weights)
    parity = None
    if PARITY in goals:
        parity = group_pairs(group, items.groups, query=query, weights=weights)
    return Rows(
        features=np.ascontiguousarray(features[kept]),
        scale=scale,
        pairs=pairs,
        parity=parity,
        target=(label - scale.label_centre) / scale.label_unit if predicted else None,
        weight=np.ones(len(kept)) if weights is None else weights,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Models to choose from.

    Attributes
    ----------
    parameters : ndarray, (S, p)
        Coefficients of standardised features.
    multipliers : ndarray
        The referee's mean weights in the last game.
    terms : tuple of Terms
        What the goals compare, on the training rows.
    """

    parameters: Floats
    multipliers: Floats
    terms: tuple[Terms, ...]


def candidates(rows: Rows, groups: Sequence[str], choices: Choices, progress: bool) -> Candidates:
    """Play one game for each step size and keep what the model went through.

    Parameters
    ----------
    rows : Rows
        Rows to train on.
    groups : sequence of str
        Groups to compare.
    choices : Choices
    progress : bool
        Whether to show a bar.
    """
    terms = asked(rows, groups, choices, name="training")
    plays: list[Play] = []
    start = first_guess(rows, choices)
    # A step changes scores by its size, however many features there are.
    reach = np.sqrt(len(start))
    with _bar(len(choices.step_sizes) * choices.steps, shown=progress) as ticks:
        for step_size in choices.step_sizes:
            game = play(
                lambda parameters, weights: rows.gradient(parameters, weights, choices),
                start,
                _referee(rows, terms, choices),
                steps=choices.steps,
                step_size=step_size / reach,
                referee_rate=choices.referee_rate,
                snapshots=choices.snapshots,
                ticks=ticks,
            )
            plays.append(game)
    return Candidates(
        parameters=np.vstack([game.parameters for game in plays]),
        multipliers=plays[-1].multipliers,
        terms=terms,
    )


def first_guess(rows: Rows, choices: Choices) -> Floats:
    """Return least squares: of the label, or for a ranking of its direction."""
    n, p = rows.features.shape
    label = rows.target
    if label is None:
        label = _spread(rows)
    share = rows.weight / rows.weight.sum()
    unit, centre = rows.scale.unit, rows.scale.centre
    products = (rows.features * share[:, None]).T @ rows.features - np.outer(centre, centre)
    products /= np.outer(unit, unit)
    moments = (rows.features.T @ (share * label) - centre * (share @ label)) / unit
    ridge = (choices.l2 + 1e-8 + (1e-3 if p >= n else 0.0)) * np.eye(p)
    guess: Floats = np.linalg.solve(products + ridge, moments)
    if rows.target is not None:
        return guess
    width = float(np.sqrt(share @ rows.scores(guess) ** 2))
    # Without any direction to start from, all features point upwards.
    return guess / width if width > 1e-12 else np.full(p, 1.0 / np.sqrt(p))


def _spread(rows: Rows) -> Floats:
    """Return how many pairs each row should win rather than lose: the gradient at equal scores."""
    share = overall(rows.pairs, len(rows.pairs.cells))
    slope = rows.pairs.sums(np.zeros(len(rows.weight)), wrong=share).gradient
    return -slope * len(slope) / rows.weight


def asked(rows: Rows, groups: Sequence[str], choices: Choices, *, name: str) -> tuple[Terms, ...]:
    """Return what the goals compare on given rows, which errors call `name`."""
    return tuple(
        terms_of(goal, rows.pairs, rows.parity, groups, rows=name) for goal in choices.goals
    )


def _referee(rows: Rows, terms: Sequence[Terms], choices: Choices) -> Referee:
    if not terms:
        return Nothing(rows.n_cells)
    if choices.robust:
        return Minima(minima(rows, terms, choices))
    return Constraints(differences(terms)[0], choices.slack)


def minima(rows: Rows, terms: Sequence[Terms], choices: Choices) -> list[Floats]:
    """Return the terms of each minimum, as coefficients of accuracies."""
    whole = [overall(rows.pairs, rows.n_cells)] if choices.with_overall else []
    return [np.vstack([block.coefficients, *whole]) for block in terms]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """What was chosen among candidates.

    Attributes
    ----------
    best : int
        The best single candidate.
    mixture : Mixture
        The best mixture.
    accuracy : ndarray, (S, C)
        Accuracies of all cells on the rows chosen by, by candidate.
    objective : ndarray, (S,)
        What was minimised, by candidate.
    terms : tuple of Terms
        What the goals compare, on the rows chosen by.
    """

    best: int
    mixture: Mixture
    accuracy: Floats
    objective: Floats
    terms: tuple[Terms, ...]


def chosen(
    found: Candidates, rows: Rows, groups: Sequence[str], choices: Choices, *, name: str
) -> Chosen:
    """Choose the best candidate and the best mixture on given rows.

    Parameters
    ----------
    found : Candidates
    rows : Rows
        Rows to choose by.
    groups : sequence of str
    choices : Choices
    name : str
        What errors call the rows.
    """
    terms = asked(rows, groups, choices, name=name)
    scores = [rows.scores(one) for one in found.parameters]
    accuracy = np.array([rows.accuracy(one) for one in scores])
    objective = np.array([rows.objective(*one) for one in zip(scores, accuracy, strict=True)])
    known = np.nan_to_num(accuracy)
    if choices.robust and terms:
        blocks = [known @ block.T for block in minima(rows, terms, choices)]
        best, mixture = best_of_minima(blocks), mix_minima(blocks)
    else:
        excess = np.zeros((len(known), 0))
        if terms:
            excess = known @ differences(terms)[0].T - choices.slack
        best, mixture = best_iterate(objective, excess), mix(objective, excess)
    return Chosen(best=best, mixture=mixture, accuracy=accuracy, objective=objective, terms=terms)


@contextmanager
def _bar(total: int, *, shown: bool) -> Iterator[Iterator[int] | None]:
    """Show a bar on a terminal, and nothing elsewhere."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import track

    ticks = iter(track(range(total), "training", console=Console(stderr=True), transient=True))
    try:
        yield ticks
    finally:
        # Leaves the bar, also where the game ended early.
        ticks.close()  # type: ignore[attr-defined]
