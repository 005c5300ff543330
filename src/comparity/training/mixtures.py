"""From many candidates to few: the best mixture, the best single one.

A game has no last model that is best. A mixture of its iterates is, and a linear program finds one
with at most one member more than there are constraints (Cotter et al., "Optimization with
non-differentiable constraints with applications to fairness, recall, churn, and other goals",
JMLR 2019), because a vertex of its polytope has no more positive entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.training.goals import COMPARED, Choices, Terms, differences, overall
from comparity.training.rows import Rows

Floats = NDArray[np.float64]


LARGEST_OBJECTIVE = 1e6
"""Objectives are shares of pairs, bits of a judgment, or squared errors in variances of labels."""


ROUNDING_TOLERANCES = (0.0, 1e-9, 1e-7, 1e-5)
"""Limits are loosened by so much, one after the other, while rounding leaves nothing within."""


UNSOLVED_STATUS = 4
"""What scipy answers where a solver came to no end."""


NEGLIGIBLE_SHARE = 1e-6
"""Probabilities below it are rounding of the linear program: nobody would ever draw the member."""


class Mixture(NamedTuple):
    """Candidates drawn at random.

    Attributes
    ----------
    members : ndarray of int
        Positions of the candidates used.
    probabilities : ndarray
        How often each is drawn.
    excess : float
        How far the worst constraint is missed on average; 0 where all are kept.
    """

    members: NDArray[np.int64]
    probabilities: Floats
    excess: float


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
    judged : ndarray, (S, C)
        The accuracies that goals were judged by: the same, or weighted with those on the rows
        trained on.
    training_share : float
        How much these weigh.
    trained : ndarray, (S, C), optional
        Accuracies on the rows trained on, where they were needed.
    """

    best: int
    mixture: Mixture
    accuracy: Floats
    objective: Floats
    terms: tuple[Terms, ...]
    judged: Floats
    training_share: float = 0.0
    trained: Floats | None = None


def choose(
    accuracy: Floats,
    objective: Floats,
    terms: tuple[Terms, ...],
    rows: Rows,
    choices: Choices,
    *,
    judged: Floats | None = None,
    training_share: float = 0.0,
    trained: Floats | None = None,
) -> Chosen:
    """Choose by accuracies and objectives of all candidates; see :class:`Chosen`."""
    judged = accuracy if judged is None else judged
    known = np.nan_to_num(judged)
    if choices.robust and terms:
        blocks = [known @ block.T for block in minima(rows, terms, choices)]
        best, mixture = best_of_minima(blocks), mix_minima(blocks, objective)
        if choices.uniform:
            mixture = mix_uniformly(np.zeros((len(objective), 0)))
    else:
        best = best_single(judged, objective, terms, rows, choices)
        excess, spans = _limits(judged, terms, choices)
        if choices.uniform:
            mixture = mix_uniformly(excess, spans=spans, slack=choices.slack)
        else:
            mixture = mix(objective, excess, spans=spans, slack=choices.slack)
    return Chosen(
        best=best,
        mixture=mixture,
        accuracy=accuracy,
        objective=objective,
        terms=terms,
        judged=judged,
        training_share=training_share,
        trained=trained,
    )


def minima(rows: Rows, terms: Sequence[Terms], choices: Choices) -> list[Floats]:
    """Return the terms of each minimum, as coefficients of accuracies."""
    whole = [overall(rows.pairs, rows.n_cells)] if choices.with_overall else []
    return [np.vstack([block.coefficients, *whole]) for block in terms]


def best_single(
    judged: Floats, objective: Floats, terms: Sequence[Terms], rows: Rows, choices: Choices
) -> int:
    """Return the best single candidate of the constrained form."""
    # What knows nothing has half of all pairs right, the variance of labels as squared error, or
    # loses a bit with every judgment.
    useless = 0.5 if rows.counts_orders else 1.0
    excess, spans = _limits(judged, terms, choices)
    widths = [np.ptp(rates, axis=1) - choices.slack for rates in spans]
    return best_iterate(objective, np.column_stack([excess, *widths]), useless=useless)


def _limits(
    judged: Floats, terms: Sequence[Terms], choices: Choices
) -> tuple[Floats, list[Floats]]:
    """Return how far each difference of few terms is above the slack, and the rates of many."""
    known = np.nan_to_num(judged)
    few = [block for block in terms if len(block.names) <= COMPARED]
    spans = [known @ block.coefficients.T for block in terms if len(block.names) > COMPARED]
    if not few:
        return np.zeros((len(judged), 0)), spans
    return known @ differences(few)[0].T - choices.slack, spans


def mix(
    objective: Floats, excess: Floats, *, spans: Sequence[Floats] = (), slack: float = 0.0
) -> Mixture:
    """Return the mixture with the least mean objective that keeps all constraints on average.

    Parameters
    ----------
    objective : ndarray, (S,)
        What to minimise, by candidate.
    excess : ndarray, (S, m)
        Constraints by candidate, kept where at most 0.
    spans : sequence of ndarray, (S, T)
        Rates by candidate, of which no two may be farther apart than the slack.
    slack : float
        Of the spans.

    Returns
    -------
    Mixture
        Of at most one member more than there are constraints, two for each rate of a span. Where no
        mixture keeps all constraints, the best of those that miss the worst one by least.

    Examples
    --------
    >>> objective, excess = np.array([0.1, 0.3]), np.array([[0.1, -0.1], [-0.1, 0.1]])
    >>> mixture = mix(objective, excess)
    >>> mixture.members.tolist(), mixture.probabilities.round(2).tolist(), mixture.excess
    ([0, 1], [0.5, 0.5], 0.0)
    """
    n, free = len(objective), 2 * len(spans)
    widths, within = _span_limits(n, spans)
    kept = np.vstack([np.column_stack([excess.T, np.zeros((excess.shape[1], free))]), widths])
    limit = np.append(np.zeros(excess.shape[1]), np.full(len(spans), slack))
    limits, total = np.vstack([kept, within]), np.append(np.ones(n), np.zeros(free))
    least, inside = 0.0, np.zeros(len(within))
    if len(kept):
        # Last variable: the amount by which every constraint may be missed.
        missed = np.append(-np.ones(len(kept)), inside)[:, None]
        target, bounds = np.append(np.zeros(n + free), 1.0), np.append(limit, inside)
        least = _solve(target, np.hstack([limits, missed]), bounds, np.append(total, 0.0))[-1]
    allowed = np.append(limit + max(0.0, least), inside)
    loose = np.append(np.ones(len(kept)), inside)
    return _mixture(_best(objective, limits, allowed, total, loose), max(0.0, float(least)))


def frontier(picked: Chosen, choices: Choices, slacks: Sequence[float]) -> list[Mixture]:
    """Return the best mixture of all candidates at each slack: what every difference would cost.

    Parameters
    ----------
    picked : Chosen
        What was chosen, with what all candidates achieve.
    choices : Choices
    slacks : sequence of float
    """
    found = []
    for slack in slacks:
        excess, spans = _limits(picked.judged, picked.terms, replace(choices, slack=slack))
        found.append(mix(picked.objective, excess, spans=spans, slack=slack))
    return found


def mix_uniformly(excess: Floats, *, spans: Sequence[Floats] = (), slack: float = 0.0) -> Mixture:
    """Return the mixture of all candidates alike, which Theorem 1 of Narasimhan et al. is about.

    Parameters are those of :func:`mix`. Its objective is never better than that of the best
    mixture on the rows that this is chosen on, where both keep the constraints.

    Examples
    --------
    >>> mix_uniformly(np.array([[0.1, -0.1], [-0.3, 0.2]])).excess
    0.05
    """
    n = len(excess)
    missed = [*excess.mean(axis=0), *(np.ptp(rates.mean(axis=0)) - slack for rates in spans)]
    return Mixture(np.arange(n), np.full(n, 1 / n), max(0.0, *map(float, missed), 0.0))


def _span_limits(n: int, spans: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return the widths of spans, and what is at most 0 where their rates are within.

    Variables are the shares of candidates, then the least and the largest rate of each span.
    """
    widths, rows = np.zeros((len(spans), n + 2 * len(spans))), []
    for place, rates in enumerate(spans):
        ends = np.zeros((2, rates.shape[1], 2 * len(spans)))
        ends[0, :, 2 * place], ends[1, :, 2 * place + 1] = 1.0, -1.0
        rows += [np.hstack([-rates.T, ends[0]]), np.hstack([rates.T, ends[1]])]
        widths[place, n + 2 * place : n + 2 * place + 2] = -1.0, 1.0
    return widths, np.vstack(rows) if rows else np.zeros((0, n))


def mix_minima(blocks: Sequence[Floats], objective: Floats) -> Mixture:
    """Return the mixture with the largest sum of minima of mean rates.

    Parameters
    ----------
    blocks : sequence of ndarray, (S, T)
        The rates of each minimum, by candidate.
    objective : ndarray, (S,)
        What to minimise among mixtures with the same sum: where two rates add up to 1, as those of
        statistical parity do, none raises the least one above a half, and many reach it.
    """
    n, b = len(blocks[0]), len(blocks)
    rows = []
    for place, block in enumerate(blocks):
        bound = np.zeros((block.shape[1], b))
        bound[:, place] = 1.0
        rows.append(np.column_stack([-block.T, bound]))
    limits = np.vstack(rows)
    target = np.append(np.zeros(n), -np.ones(b))
    total = np.append(np.ones(n), np.zeros(b))
    bounds = np.zeros(len(limits))
    largest = target @ _solve(target, limits, bounds, total)
    limits, loose = np.vstack([limits, target]), np.append(bounds, 1.0)
    bounds = np.append(bounds, largest)
    return _mixture(_best(objective, limits, bounds, total, loose), 0.0)


def best_iterate(objective: Floats, excess: Floats, *, useless: float = np.inf) -> int:
    """Return the candidate that is nowhere far behind in keeping constraints.

    Each constraint ranks candidates by how far they miss it; the candidate whose worst rank is
    best is chosen, of several the one with the least objective. Where some candidates keep all
    constraints, that is the best of them.

    Parameters
    ----------
    objective : ndarray, (S,)
        What to minimise, by candidate.
    excess : ndarray, (S, m)
        Constraints by candidate, kept where at most 0.
    useless : float
        Candidates whose objective is no less are passed over while there are others: what knows
        nothing, or turns an order round, keeps many a constraint.

    Examples
    --------
    >>> objective, excess = np.array([0.1, 0.3, 0.9]), np.array([[0.2], [0.1], [0.0]])
    >>> best_iterate(objective, excess), best_iterate(objective, excess, useless=0.5)
    (2, 1)
    """
    missed = np.maximum(excess, 0.0)
    if (objective < useless).any():
        missed = np.where((objective < useless)[:, None], missed, np.inf)
    ranks = [np.unique(column, return_inverse=True)[1] for column in missed.T]
    worst = np.max(ranks, axis=0) if ranks else np.zeros(len(objective))
    tied = np.flatnonzero(worst == worst.min())
    return int(tied[np.argmin(objective[tied])])


def best_of_minima(blocks: Sequence[Floats]) -> int:
    """Return the candidate with the largest sum of minima."""
    return int(np.argmax(np.sum([block.min(axis=1) for block in blocks], axis=0)))


def _best(
    objective: Floats, limits: Floats, bounds: Floats, total: Floats, loose: Floats
) -> Floats:
    """Return the shares of least objective within bounds, some of them loosened by rounding."""
    n, worst = len(objective), LARGEST_OBJECTIVE
    # Scores that overflowed get the worst objective that the solver can still handle.
    tamed = np.minimum(np.nan_to_num(objective, nan=worst, posinf=worst), worst)
    target = np.append(tamed, np.zeros(len(total) - n))
    loosened = (bounds + tolerance * loose for tolerance in ROUNDING_TOLERANCES)
    answers = (_solve_program(target, limits, one, total) for one in loosened)
    found = next((answer.x for answer in answers if answer.success), None)
    assert found is not None, "the mixture that misses least is within its bounds"
    return np.asarray(found[:n])


def _solve(target: Floats, limits: Floats, bounds: Floats, total: Floats) -> Floats:
    """Minimise a linear form over mixtures (and free variables, where `total` is 0)."""
    answer = _solve_program(target, limits, bounds, total)
    # A mixture always exists, and the target is bounded on mixtures.
    assert answer.success, answer.message
    return np.asarray(answer.x)


def _solve_program(target: Floats, limits: Floats, bounds: Floats, total: Floats) -> Any:
    from scipy.optimize import linprog

    # The simplex method has few members; among candidates that hardly differ it may not end.
    for method in ("highs-ds", "highs-ipm"):
        answer = linprog(
            target,
            A_ub=limits if len(limits) else None,
            b_ub=bounds if len(limits) else None,
            A_eq=total[None, :],
            b_eq=[1.0],
            bounds=[(0, None) if one else (None, None) for one in total],
            method=method,
        )
        if answer.status != UNSOLVED_STATUS:
            break
    return answer


def _mixture(shares: Floats, excess: float) -> Mixture:
    members = np.flatnonzero(shares > NEGLIGIBLE_SHARE)
    chosen = shares[members]
    return Mixture(members, chosen / chosen.sum(), excess)
