r"""Rankings whose exposure is shared out between groups: the best mixture, by sorts or a program.

With two groups an exposure program has a single limit, :math:`|f^\top e| \le \epsilon` on the
expected exposures e of the items. For a price :math:`\lambda` of the limit the best ranking puts
items in the order of :math:`u - \lambda f`, and :math:`f^\top e` falls as the price rises. So the
program is solved by the price at which it falls to the limit: the rankings just below and just
above that price, mixed such that the limit is met. That takes some 50 sorts instead of a linear
program with :math:`n^2` unknowns.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.errors import EmptyTableError, ExposureInfeasibleError, NoUtilityError, OptionError
from comparity.ranking.exposure import place_worth
from comparity.tables.columns import check_option
from comparity.tables.values import (
    as_array,
    bounded_numbers,
    check_lengths,
    group_codes,
    numbers,
    rows_of,
)
from comparity.training.result import RankingPolicy

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mixture = tuple[Codes, Floats]
"""Rankings, and how often each is drawn."""

CRITERIA = ("demographic parity", "disparate treatment", "disparate impact")

PROGRAM_ROUNDING = 1e-9
"""Probabilities below this are rounding of the linear program."""
SUM_ROUNDING = 1e-12
"""Sums of products that are as near as this, relative to the largest there is, are equal."""


def exposure_program(
    relevance: ArrayLike,
    *,
    sensitive_features: ArrayLike,
    criterion: str = "disparate treatment",
    slack: float | None = 0.0,
    discount: str = "singh-joachims",
    signed: bool = False,
) -> RankingPolicy:
    r"""Find the mixture of rankings with the largest utility that shares out exposure.

    With :math:`P_{ij}` how often item i is at place j, :math:`u_i` its relevance and :math:`v_j`
    what a place is worth [1]_,

    .. math:: \max_P \sum_{ij} u_i P_{ij} v_j \quad \text{s.t. } P \text{ doubly stochastic},
        \; |T_g(P) - T_h(P)| \le \epsilon \text{ for all groups}

    and :math:`T_g` by criterion, with :math:`U_g` the mean relevance in the group:

    =====================  ==================================================================
    demographic parity     mean exposure of the group's items
    disparate treatment    mean exposure / :math:`U_g`
    disparate impact       mean of relevance times exposure (clicks) / :math:`U_g`
    =====================  ==================================================================

    The matrix is taken apart into few rankings to draw from (Birkhoff and von Neumann).

    Parameters
    ----------
    relevance : array-like, (n,)
        Relevance of the items of one query, not negative (except for demographic parity, or where
        `signed`): a probability, or another utility of being seen.
    sensitive_features : array-like, (n,)
        Group of each item; any number of groups.
    criterion : {"demographic parity", "disparate treatment", "disparate impact"}
        What is to be alike.
    slack : float or None
        Largest difference allowed; None for the least there is, as in the comparison of [2]_.
    discount : {"singh-joachims", "ferrara"}
        What a place is worth, see :func:`comparity.exposure`.
    signed : bool
        Whether relevances may be negative, such as raw scores. In proportion to a negative
        relevance a group gets *less* the better it is; [2]_ seems to have taken scores so.

    Returns
    -------
    RankingPolicy
        Rankings with probabilities, what each group gets, and what it costs.

    Raises
    ------
    ExposureInfeasibleError
        No mixture keeps within the slack; the error says the least there is.
    NoUtilityError
        A relevance is negative, or all of a group are 0, where exposure is compared with them.

    Notes
    -----
    With two groups, by some 50 sorts, and drawn from at most two rankings. With more, a program
    with :math:`n^2` unknowns, solved by HiGHS: some seconds for 200 items.

    References
    ----------
    .. [1] Singh and Joachims, "Fairness of exposure in rankings", KDD 2018.
    .. [2] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression",
       AAAI 2020, appendix.

    Examples
    --------
    >>> group = ["a", "a", "b", "b"]
    >>> policy = exposure_program(
    ...     [0.9, 0.8, 0.7, 0.6], sensitive_features=group, criterion="demographic parity"
    ... )
    >>> {name: round(mean, 6) for name, mean in policy.exposure.items()}
    {'a': 0.640402, 'b': 0.640402}
    >>> policy.utility < policy.best_utility
    True
    """
    check_option("criterion", criterion, CRITERIA)
    number = isinstance(slack, int | float | np.number) and 0 <= slack < math.inf
    if slack is not None and not number:
        raise OptionError("slack", slack, ["a number from 0 on", "None for the least"])
    utility = bounded_numbers(as_array(relevance, "relevance"), "relevance", "item")
    column = as_array(sensitive_features, "sensitive_features")
    check_lengths({"relevance": utility, "sensitive_features": column})
    if not len(utility):
        raise EmptyTableError("item")
    group, names = group_codes(column, "sensitive_features", "item")
    factors = _factors(utility, group, names, criterion, signed=signed)
    worth = place_worth(np.arange(1, len(utility) + 1), discount=discount)
    allowed = _least(factors, worth) if slack is None else slack
    found = _best(utility, factors, worth, allowed)
    if found is None:
        raise ExposureInfeasibleError(criterion, allowed, _least(factors, worth))
    rankings, shares = found
    # What is reported is what is drawn from, free of the solver's rounding.
    exact = np.zeros((len(utility), len(utility)))
    np.add.at(exact, (rankings, np.arange(len(utility))), shares[:, None])
    seen = exact @ worth
    sizes = np.bincount(group)
    return RankingPolicy(
        criterion=criterion,
        slack=float(allowed),
        terms=dict(zip(names, (factors @ seen).tolist(), strict=True)),
        exposure=dict(zip(names, (np.bincount(group, seen) / sizes).tolist(), strict=True)),
        utility=float(utility @ seen),
        best_utility=float(np.sort(utility)[::-1] @ worth),
        rankings=rankings,
        probabilities=shares,
        matrix=exact,
    )


def rerank(
    relevance: ArrayLike,
    *,
    sensitive_features: ArrayLike,
    queries: ArrayLike,
    criterion: str = "disparate treatment",
    slack: float | None = None,
    discount: str = "singh-joachims",
    signed: bool = False,
    rng: np.random.Generator | int | None = None,
) -> Floats:
    """Draw a ranking in every query from its own program; return minus the place of each item.

    Parameters
    ----------
    relevance, sensitive_features, criterion, slack, discount, signed
        As in :func:`exposure_program`. With the default slack every query keeps to the least
        difference it can have.
    queries : array-like
        Query of each item. One with a single group is ranked by relevance.
    rng : Generator, int or None
        For the draws.

    Returns
    -------
    ndarray
        A score for each item, larger is better: -1 for the first place of its query.

    Examples
    --------
    >>> rerank([0.2, 0.9, 0.5], sensitive_features=["a", "a", "a"], queries=[1, 1, 1]).tolist()
    [-3.0, -1.0, -2.0]
    """
    utility = numbers(as_array(relevance, "relevance"), "relevance", "item")
    column = as_array(sensitive_features, "sensitive_features")
    asked = as_array(queries, "queries")
    check_lengths({"relevance": utility, "sensitive_features": column, "queries": asked})
    query = group_codes(asked, "queries", "item", several=False)[0]
    group = group_codes(column, "sensitive_features", "item", several=False)[0]
    how: Any = {"criterion": criterion, "slack": slack, "discount": discount, "signed": signed}
    generator, scores = np.random.default_rng(rng), np.empty(len(utility))
    order = np.argsort(query, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(query[order])) + 1):
        ranking, groups = np.argsort(-utility[rows], kind="stable"), group[rows]
        if len(np.unique(groups)) > 1:
            policy = exposure_program(utility[rows], sensitive_features=groups, **how)
            ranking = policy.draw(generator)
        scores[rows[ranking]] = -np.arange(1.0, len(rows) + 1)
    return scores


def birkhoff(matrix: Floats) -> tuple[Codes, Floats]:
    """Write a doubly stochastic matrix as a mixture of rankings.

    Parameters
    ----------
    matrix : ndarray, (n, n)
        How often item i is at place j; rows and columns sum to 1.

    Returns
    -------
    rankings : ndarray of int, (m, n)
        Items by place.
    probabilities : ndarray, (m,)
        How often each; the largest first.

    Examples
    --------
    >>> rankings, shares = birkhoff(np.array([[0.25, 0.75], [0.75, 0.25]]))
    >>> rankings.tolist(), shares.tolist()
    ([[1, 0], [0, 1]], [0.75, 0.25])
    """
    from scipy.optimize import linear_sum_assignment

    left, rankings, shares = matrix.copy(), [], []
    while True:
        # An entry that is used up costs more than all the others together can bring.
        cost = np.where(left > PROGRAM_ROUNDING, -left / len(left), 2.0)
        place, item = linear_sum_assignment(cost.T)
        share = float(left[item, place].min())
        if share <= PROGRAM_ROUNDING:
            break
        left[item, place] -= share
        rankings.append(item[np.argsort(place)])
        shares.append(share)
    assert rankings, f"not doubly stochastic: {matrix.sum(axis=0)}"
    order = np.argsort(-np.array(shares), kind="stable")
    found = np.array(shares)[order]
    return np.array(rankings, dtype=np.int64)[order], found / found.sum()


def _factors(
    utility: Floats, group: Codes, names: list[str], criterion: str, *, signed: bool
) -> Floats:
    """Return the matrix that takes the exposures of items to what is compared, by group."""
    member = (np.arange(len(names))[:, None] == group).astype(np.float64)
    mean = member / member.sum(axis=1, keepdims=True)
    if criterion == "demographic parity":
        return np.asarray(mean)
    if (utility < 0).any() and not signed:
        raise NoUtilityError(rows_of(utility < 0), [])
    of_groups = mean @ utility
    if not of_groups.all():
        raise NoUtilityError(None, [names[g] for g in np.flatnonzero(of_groups == 0)])
    clicks = mean * utility if criterion == "disparate impact" else mean
    return np.asarray(clicks / of_groups[:, None])


def _least(factors: Floats, worth: Floats) -> float:
    """Return the least difference that a mixture of rankings can have."""
    if len(factors) == 2:
        return least_difference(factors[0] - factors[1], worth)
    unit = _power_of_two(np.abs(factors).sum(axis=1).max())
    found = _solve_program(np.zeros(len(worth)), factors / unit, worth, None)
    assert found is not None, "without a limit there is always a policy"
    apart = max(float(found[-1] - found[-2]), 0.0)
    return unit * (apart * (1 + PROGRAM_ROUNDING) + PROGRAM_ROUNDING)


def _best(utility: Floats, factors: Floats, worth: Floats, slack: float) -> Mixture | None:
    """Return the best mixture of rankings within a slack, None where there is none."""
    if len(factors) == 2:
        return best_mixture(utility, factors[0] - factors[1], worth, slack)
    # The solver knows numbers near 1; terms are as large as exposure over the least relevance.
    unit = _power_of_two(np.abs(factors).sum(axis=1).max())
    scaled = utility / _power_of_two(np.abs(utility).max())
    found = _solve_program(scaled, factors / unit, worth, slack / unit)
    if found is None:
        return None
    return birkhoff(np.clip(found[:-2], 0.0, 1.0).reshape(len(worth), -1))


def _power_of_two(number: float) -> float:
    """Return the nearest power of two, by which one divides without losing a digit; 1 for 0."""
    return math.ldexp(1.0, round(math.log2(number))) if number else 1.0


def _solve_program(utility: Floats, factors: Floats, worth: Floats, slack: float | None) -> Any:
    """Solve for P, row by row, and for the least and the largest term.

    Without a slack the difference of the last two is what is minimised. None where nothing keeps
    within the slack.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, dia_array, hstack, kron, vstack

    n, groups = len(utility), len(factors)
    one, each = csr_array(np.ones((1, n))), dia_array((np.ones((1, n)), [0]), shape=(n, n))
    sums = vstack([kron(each, one), kron(one, each)])
    terms = kron(csr_array(factors), csr_array(worth[None, :]))
    low = csr_array(np.tile([1.0, 0.0], (groups, 1)))
    high = csr_array(np.tile([0.0, -1.0], (groups, 1)))
    apart = np.append(np.zeros(n * n), [-1.0, 1.0])
    limits, right = vstack([hstack([-terms, low]), hstack([terms, high])]), np.zeros(2 * groups)
    cost = apart
    if slack is not None:
        limits, right = vstack([limits, csr_array(apart[None, :])]), np.append(right, slack)
        cost = np.append(-np.outer(utility, worth).ravel(), [0.0, 0.0])
    found = linprog(
        cost,
        A_ub=limits.tocsr(),
        b_ub=right,
        A_eq=hstack([sums, csr_array((2 * n, 2))]).tocsr(),
        b_eq=np.ones(2 * n),
        bounds=[(0, 1)] * (n * n) + [(None, None)] * 2,
        method="highs",
    )
    # HiGHS ends with status 2 where nothing keeps the limits.
    assert found.status in (0, 2), found.message
    return found.x if found.status == 0 else None


def least_difference(factor: Floats, worth: Floats) -> float:
    """Return the least size of ``factor @ exposure`` that a mixture of rankings can have.

    Parameters
    ----------
    factor : ndarray, (n,)
        What exposure of an item adds to the difference.
    worth : ndarray, (n,)
        What a place is worth, the first one most.
    """
    ordered = np.sort(factor)
    return max(float(ordered @ worth), -float(ordered[::-1] @ worth), 0.0)


def best_mixture(
    utility: Floats, factor: Floats, worth: Floats, slack: float
) -> tuple[Codes, Floats] | None:
    """Return one or two rankings of largest utility, and how often each is to be drawn.

    Parameters
    ----------
    utility, factor : ndarray, (n,)
        What exposure of an item is worth, and what it adds to the difference.
    worth : ndarray, (n,)
        What a place is worth, the first one most.
    slack : float
        Largest size of the expected difference.

    Returns
    -------
    rankings : ndarray of int, (m, n)
        Items by place, the more frequent ranking first.
    probabilities : ndarray, (m,)
        Or None where no mixture keeps within the slack.
    """
    rounding = SUM_ROUNDING * float(np.abs(factor).max(initial=0.0) * worth.sum())
    limit = slack + rounding
    if least_difference(factor, worth) > limit:
        return None
    free = np.argsort(-utility, kind="stable")
    difference = float(factor[free] @ worth)
    if abs(difference) <= limit:
        return free[None, :], np.ones(1)
    # Turned such that the difference is too large, and a positive price lowers it.
    turned = math.copysign(1.0, difference) * factor
    above, below = _around(utility, turned, worth, limit)
    high, low = float(turned[above] @ worth), float(turned[below] @ worth)
    share = min(max((limit - low) / (high - low), 0.0), 1.0)
    shares = np.array([share, 1 - share])
    kept = np.argsort(-shares, kind="stable")[: 1 if share in (0.0, 1.0) else 2]
    return np.stack([above, below])[kept], shares[kept]


def _around(utility: Floats, factor: Floats, worth: Floats, limit: float) -> tuple[Codes, Codes]:
    """Return the best rankings just below and just above the price that meets the limit.

    Prices are angles between 0, where the utility decides and ties go to a large difference, and a
    right angle, where the difference decides and ties go to utility.
    """
    u, f = utility / (np.abs(utility).max() or 1.0), factor / np.abs(factor).max()
    low, high = 0.0, math.pi / 2
    above, below = np.lexsort((-factor, -utility)), np.lexsort((-utility, factor))
    while low < (angle := (low + high) / 2) < high:
        order = np.argsort(math.sin(angle) * f - math.cos(angle) * u, kind="stable")
        if factor[order] @ worth > limit:
            low, above = angle, order
        else:
            high, below = angle, order
    return above, below
