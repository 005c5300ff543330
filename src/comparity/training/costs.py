r"""What a goal cost whom, and what simpler ways to it cost, on rows that none of them has seen.

Two scores of the same rows go wrong in the same pairs, so that their difference is known better
than either. Its variance is that of a grouped jackknife: rows (whole queries, where there are any)
are dealt into 40 parts, rates are worked out without each part in turn, and

.. math:: V = \frac{G - 1}{G} \sum_g (d_{(g)} - \bar d)^2

over the G differences without part g, with Student's quantile of G - 1 degrees of freedom. That
holds for any smooth function of sums over pairs (Arvesen, "Jackknifing U-statistics", 1969).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import ANY
from comparity.counts.ordered_pairs import EQUAL
from comparity.counts.pairs import Cell
from comparity.errors import OptionError, TwoGroupsOnlyError
from comparity.tables.features import LabelledItems
from comparity.training.candidates import PreparedRows, goal_terms
from comparity.training.fitting import TrainingFit
from comparity.training.goals import Choices, Terms, largest_difference, overall
from comparity.training.group_moves import ADJUSTMENTS, GroupMoves, adjust_model, check_adjustable
from comparity.training.losses import PairFamily, attribute_pairs, labelled_pairs
from comparity.training.models import StochasticScorer
from comparity.training.rows import Rows, Scale, group_names, take_items, training_rows

Floats = NDArray[np.float64]

PARTS = 40
"""Rows are dealt into so many parts, of which one is left out at a time."""
ALL_PAIRS, ERROR = "all pairs", "mean squared error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreChange:
    """A number before and after, on the same rows.

    Attributes
    ----------
    what : str
        All pairs, a group (pairs whose better item is in it), a kind of pair, or the mean squared
        error.
    before, after : float
        ``nan`` without pairs.
    low, high : float
        Ends of the interval of after minus before, at `level`; ``nan`` where it is not known.
    level : float
    """

    what: str
    before: float
    after: float
    low: float
    high: float
    level: float = 0.95

    DERIVED: ClassVar[Mapping[str, str]] = {"change": "change"}

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before


def changes(
    items: LabelledItems,
    before: Floats,
    after: Floats,
    *,
    predicted: bool,
    average: str = "pairs",
    pair_weight: str = "equal",
    seed: int = 0,
    level: float = 0.95,
) -> tuple[ScoreChange, ...]:
    """Compare two scores of the same rows: overall, by group of the better item, by kind of pair.

    Parameters
    ----------
    items : LabelledItems
        Labels, groups, queries and weights.
    before, after : ndarray, (n,)
        Scores, in the unit of labels where these are predicted.
    predicted : bool
        Whether to compare squared errors, too.
    average, pair_weight : str
        How pairs count, see :func:`comparity.training.losses.labelled_pairs`.
    seed : int
        Deals rows into parts.
    level : float
        Of the intervals.

    Examples
    --------
    >>> from comparity.tables.features import labelled_items
    >>> rng = np.random.default_rng(0)
    >>> y, group = rng.normal(size=500), rng.integers(0, 2, 500)
    >>> items = labelled_items(y, y, group)
    >>> noisy = y + rng.normal(size=500)
    >>> overall = changes(items, noisy + group, noisy, predicted=False)[0]
    >>> overall.what, overall.low < overall.change < overall.high
    ('all pairs', True)
    """
    from scipy.stats import t

    both = before, after
    how: dict[str, Any] = {"predicted": predicted, "average": average, "pair_weight": pair_weight}
    names, found = _numbers(items, both, **how)
    part = _deal(items, seed)
    without = []
    for one in range(int(part.max()) + 1):
        kept = np.flatnonzero(part != one)
        some = _numbers(take_items(items, kept), [scores[kept] for scores in both], **how)
        without.append(np.subtract(*some[1][::-1]))
    many = len(without)
    variance = (many - 1) * np.var(without, axis=0)
    half = t.isf((1 - level) / 2, many - 1) * np.sqrt(variance) if many > 1 else variance * math.nan
    apart = found[1] - found[0]
    return tuple(
        ScoreChange(what=name, before=old, after=new, low=low, high=high, level=level)
        for name, old, new, low, high in zip(
            names, *found.tolist(), (apart - half).tolist(), (apart + half).tolist(), strict=True
        )
    )


def _deal(items: LabelledItems, seed: int) -> NDArray[np.int64]:
    """Return the part of each row; rows of a query are in the same."""
    unit = np.arange(len(items)) if items.query is None else items.query
    _, unit = np.unique(unit, return_inverse=True)
    many = int(unit.max()) + 1
    dealt = np.random.default_rng(seed).permutation(many) % min(PARTS, many)
    return np.asarray(dealt[unit.reshape(-1)])


def _numbers(
    items: LabelledItems,
    scores: Sequence[Floats],
    *,
    predicted: bool,
    average: str,
    pair_weight: str,
) -> tuple[list[str], Floats]:
    """Return names, and what is compared by score."""
    how: dict[str, Any] = {"query": items.query, "weights": items.weight}
    how["pair_weight"] = pair_weight
    if items.value is not None:
        pairs = attribute_pairs(items.label, items.value, **how)
    else:
        known = group_names(items.group, items.groups)
        pairs = labelled_pairs(items.label, items.group, known, average=average, **how)
    names, at = _unions(pairs, () if items.value is not None else items.groups)
    found = []
    for one in scores:
        hits = np.nan_to_num(pairs.sums(one).accuracy) * pairs.trials
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = at @ hits / (at @ pairs.trials)
        error = np.average((one - items.label) ** 2, weights=items.weight)
        found.append(np.append(rates, error) if predicted else rates)
    return [*names, *([ERROR] if predicted else [])], np.array(found)


def _unions(pairs: PairFamily, groups: Sequence[str]) -> tuple[list[str], Floats]:
    """Return names of all pairs, groups and cells, and which cells of a family make each up."""
    cells = [cell for cell in pairs.cells if ANY not in cell and (groups or cell != EQUAL)]
    if Cell(ANY, ANY) in pairs.cells:
        # Means over queries of several cells are cells of their own.
        chosen = [[Cell(ANY, ANY)], *([Cell(g, ANY)] for g in groups)]
    else:
        chosen = [[*pairs.cells], *([c for c in cells if c.better == g] for g in groups)]
    chosen += [[cell] for cell in cells]
    names = [ALL_PAIRS, *(f"{group} above others" for group in groups), *map(str, cells)]
    at = [[cell in union for cell in pairs.cells] for union in chosen]
    return names, np.array(at, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """What a way to a score achieves on rows that it was not found by.

    Attributes
    ----------
    name : str
    accuracy : float
        Over all pairs that labels imply.
    squared_error : float or None
        Where labels are predicted.
    largest_difference : float
        Of the rates that the goals compare.
    needs_groups : bool
        Whether groups must be known when scoring.
    """

    name: str
    accuracy: float
    squared_error: float | None
    largest_difference: float
    needs_groups: bool = False

    @property
    def loss(self) -> float:
        """The squared error, or the share of pairs that are not in the right order."""
        return 1 - self.accuracy if self.squared_error is None else self.squared_error


TRAINED, MIXTURE = "trained", "trained, mixture"
MOVED = {"shift": "groups shifted", "monotone": "one group moved"}
"""What the methods are called."""


class FreshRows(NamedTuple):
    """Rows to test on, with their pairs.

    Attributes
    ----------
    features : ndarray, (n, p)
    items : LabelledItems
    rows : Rows
        Their pairs.
    terms : tuple of Terms
        What the goals compare.
    predicted : bool
        Whether labels are predicted.
    choices : Choices
        The goals, and how pairs count.
    """

    features: Floats
    items: LabelledItems
    rows: Rows
    terms: tuple[Terms, ...]
    predicted: bool
    choices: Choices

    def method(
        self, name: str, scores: Sequence[Floats], shares: Floats, *, needs_groups: bool = False
    ) -> Method:
        """Return what scores achieve, drawn with these probabilities."""
        rates = shares @ np.array([np.nan_to_num(self.rows.accuracy(one)) for one in scores])
        weight, label = self.items.weight, self.items.label
        errors = [np.average((one - label) ** 2, weights=weight) for one in scores]
        return Method(
            name=name,
            accuracy=float(overall(self.rows.pairs, self.rows.n_cells) @ rates),
            squared_error=float(shares @ errors) if self.predicted else None,
            largest_difference=largest_difference(self.terms, rates),
            needs_groups=needs_groups,
        )

    def mixture(self, name: str, members: StochasticScorer) -> Method:
        """Return what a mixture achieves on average."""
        scores = [one.scores(self.features) for one in members.members]
        return self.method(name, scores, members.probabilities)


def fresh_rows(
    features: Floats, items: LabelledItems, choices: Choices, *, predicted: bool
) -> FreshRows:
    """Lay out the pairs of rows to test on.

    Raises
    ------
    EmptyCellError
        A kind of pair that the goals compare does not occur.
    """
    n, none = len(features), np.zeros(0)
    scale = Scale(centre=none, unit=none)
    rows = training_rows(np.zeros((n, 0)), items, np.arange(n), scale, choices)
    terms = goal_terms(rows, items.groups, choices, name="audited")
    return FreshRows(features, items, rows, terms, predicted, choices)


def simple_moves(
    plain: TrainingFit, ready: PreparedRows, X: Floats, choices: Choices, *, predicted: bool
) -> dict[str, GroupMoves]:
    """Return how to move scores that were trained without a goal, in every way that there is.

    Parameters
    ----------
    plain : TrainingFit
        Trained without a goal.
    ready : PreparedRows
        What it was trained on and chosen by.
    X : ndarray, (n, p)
        Features of these rows.
    choices : Choices
        The goal and the slack.
    predicted : bool
        Whether scores are predictions.

    Returns
    -------
    dict
        By the name of the adjustment; empty where scores cannot be moved for the goal.
    """
    found = {}
    for adjust in ADJUSTMENTS:
        try:
            check_adjustable(adjust, choices, ready.items, predicted=predicted)
        except (OptionError, TwoGroupsOnlyError):
            # Another goal, more than two groups: there is nothing simple to compare with.
            continue
        found[adjust] = adjust_model(adjust, plain.model, plain.training, ready, choices, X)[0]
    return found


def put_beside(
    fresh: FreshRows,
    before: Floats,
    after: Floats,
    fit: TrainingFit,
    moved: Mapping[str, Floats],
    *,
    adjust: str | None,
    seed: int,
) -> dict[str, Any]:
    """Compare a score under a goal with one without and with simpler ways, on fresh rows.

    Parameters
    ----------
    fresh : FreshRows
    before, after : ndarray, (n,)
        Scores of these rows without and with the goal.
    fit : TrainingFit
        What was trained, with its frontier.
    moved : mapping of str to ndarray
        The scores without the goal, moved in simple ways.
    adjust : str or None
        Which of them is the score with the goal, if any.
    seed : int
        Deals rows into parts.

    Returns
    -------
    dict
        The fields of :class:`comparity.training.trained_scorers.TrainedScorer` that compare.
    """
    how: dict[str, Any] = {"predicted": fresh.predicted, "seed": seed}
    how |= {"average": fresh.choices.average, "pair_weight": fresh.choices.pair_weight}
    one = np.ones(1)
    methods = [fresh.method("without a goal", [before], one)]
    if adjust is None:
        methods.append(fresh.method(TRAINED, [after], one))
        if len(fit.mixture) > 1:
            methods.append(fresh.mixture(MIXTURE, fit.mixture))
    for name, scores in moved.items():
        methods.append(fresh.method(MOVED[name], [scores], one, needs_groups=True))
    against = None
    if adjust is None and "shift" in moved:
        told = changes(fresh.items, moved["shift"], after, **how)
        against = told[-1 if fresh.predicted else 0]
    return {
        "changes": changes(fresh.items, before, after, **how),
        "methods": tuple(methods),
        "frontier": tuple(fresh.mixture(f"slack {at:.3g}", one) for at, one in fit.frontier),
        "against": against,
    }
