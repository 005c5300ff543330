r"""Weights that give every group the same distribution of labels, for standardised agreement.

With graded labels a group whose labels lie close together has harder pairs, so agreement differs
between groups although scores depend on labels alone. Weighing items by

.. math:: w(y, a) = \frac{h(y)}{p(y \mid a)} \propto \frac{1 / P(a \mid y)}{\sum_b 1 / P(b \mid y)}

gives the labels of every group the distribution :math:`h`, the *overlap*: most weight where all
groups occur, none where one is missing. For two groups the weight is the share of the other group
at that label. These are the overlap weights of Li, Morgan and Zaslavsky, "Balancing covariates via
propensity score weighting", JASA 113 (2018), and for several groups of Li and Li, "Propensity
score weighting for causal inference with multiple treatments", Annals of Applied Statistics 13
(2019), with the label instead of covariates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.dominance import few_levels
from comparity.counts.kernels.sorting import order_of, ranks_of
from comparity.counts.pairs import ROUNDING

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_LEVELS = 20
"""Up to this many distinct labels the shares of the groups are read off the table."""

MOST_BINS = 2_000
"""More distinct labels than this are taken together in so many bins of neighbours."""

NEIGHBOURS = 10
"""Neighbours by label that groups are permuted among, where many labels differ."""

FEWEST_KNOTS, MOST_KNOTS = 5, 20

LARGEST_IMBALANCE = 0.05
"""Largest distance of weighted label distributions, beyond sampling noise, that may be left."""

FEWEST_EFFECTIVE_ITEMS = 30
"""Below this effective number of items in a group nothing is concluded."""

LEAST_SHARE = 1e-12
"""A group whose fitted share of the items with a label is below this does not have that label."""

NEWTON_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overlap:
    r"""Weights of items under which every group has the same distribution of labels.

    Attributes
    ----------
    weights : ndarray
        One for each item: between 0 and 1, times its sample weight. 0 for items in no group, and
        for labels that some group does not have, or of which its fitted share is below 1e-12.
    kind : str
        ``"table"`` where the shares of the groups were counted at each label, ``"spline"`` where
        they were fitted.
    imbalance : float
        Largest Kolmogorov distance of two groups' weighted labels; ``nan`` if one has no weight.
    effective_sizes : mapping of str to float
        By group :math:`(\sum w)^2 / \sum w^2`: how many items of equal weight would be as good.
    limit : float
        The largest imbalance that is trusted: :data:`LARGEST_IMBALANCE` plus
        :math:`1 / \sqrt m`, :math:`m` the smallest effective size.
    reason : str
        Why nothing should be concluded from these weights; empty where something may.
    """

    weights: Floats
    kind: str
    imbalance: float
    effective_sizes: dict[str, float]
    limit: float
    reason: str

    @property
    def scarcity(self) -> str:
        """Why too few items are left, whatever their labels; empty where enough are."""
        scarce = min(self.effective_sizes.values()) < FEWEST_EFFECTIVE_ITEMS
        return self.reason if scarce else ""

    @property
    def trusted(self) -> bool:
        """Whether weighted label distributions are alike and enough items are left."""
        return not self.reason


def overlap_weights(
    label: Floats,
    group: Codes,
    groups: Sequence[str],
    *,
    sample_weight: Floats | None = None,
    max_levels: int = MOST_LEVELS,
    n_knots: int | None = None,
    ridge: float = 1e-6,
) -> Overlap:
    r"""Weigh items so that every group has the same distribution of labels.

    With at most `max_levels` distinct labels :math:`P(a \mid y)` is the share of the group among
    the items with that label, and balance is exact. Otherwise it is a multinomial logit on a
    natural cubic spline of the label with knots at equally spaced quantiles; a logit linear in
    the label would not do, because it cannot see that one distribution is wider. Labels of two
    values give weights that do not vary within a cell of pairs, so agreement stays what it was.

    Parameters
    ----------
    label : ndarray of float
        Labels.
    group : ndarray of int
        Positions in `groups`; ``len(groups)`` for items in no group.
    groups : sequence of str
        Names of the groups, two or more.
    sample_weight : ndarray of float, optional
        Weights the items have already.
    max_levels : int
        Largest number of distinct labels that are tabulated.
    n_knots : int, optional
        Knots of the spline, at least five; by default :math:`1 + n^{1/4}` with :math:`n` the
        effective size of the smallest group under its sample weights, between 5 and 20.
    ridge : float
        Penalty on the spline's squared standardised coefficients, for each item. It keeps them
        finite where the groups' labels do not overlap.

    Returns
    -------
    Overlap
        With a reason instead of trust where a group keeps fewer than 30 effective items, or where
        weighted label distributions differ by more than 0.05 and sampling noise.

    Examples
    --------
    >>> import numpy as np
    >>> label = np.array([0, 0, 0, 1, 1, 0, 1, 1, 2.0])
    >>> group = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    >>> overlap = overlap_weights(label, group, ["a", "b"])
    >>> overlap.kind, overlap.weights.tolist()
    ('table', [0.25, 0.25, 0.25, 0.5, 0.5, 0.75, 0.5, 0.5, 0.0])
    >>> overlap.trusted, overlap.reason
    (False, 'only 2.9 effective items of group b have labels that all groups have, 30 are needed')
    """
    kept = group < len(groups)
    grouped = slice(None) if kept.all() else kept  # a mask would copy all items
    given = None if sample_weight is None else sample_weight[grouped]
    levels, code = _levels(label[grouped], max_levels)
    place = code * len(groups) + group[grouped]
    weigh = (None, None) if given is None else (given, given**2)
    counts, squares = (_sum_by_group(place, one, len(levels), len(groups)) for one in weigh)
    kind = "table" if len(levels) <= max_levels else "spline"
    if kind == "table":
        shares = _shares(counts)
    else:
        # Items, not the sum of their weights: the unit of weights must not matter.
        smallest = _effective_sizes(np.ones_like(counts), counts, squares).min()
        shares = _fit_shares(levels, counts, n_knots or _default_knots(smallest), ridge)
    table = _overlap_of(shares)
    weights = np.zeros(len(label))
    weights[grouped] = table.ravel()[place] * (1.0 if given is None else given)
    return _describe(table, counts, squares, groups, weights=weights, kind=kind)


def overlap_factors(counts: Floats, squares: Floats, groups: Sequence[str]) -> Overlap:
    """Weigh items that were counted by label and group.

    Parameters
    ----------
    counts, squares : ndarray, (labels, groups)
        Items, or the sums of their sample weights, and of these squared.
    groups : sequence of str
        Names of the groups, two or more.

    Returns
    -------
    Overlap
        As :func:`overlap_weights` has it, with one weight for each label and group.

    Examples
    --------
    >>> counts = np.array([[3.0, 1.0], [2.0, 2.0], [0.0, 1.0]])
    >>> overlap_factors(counts, counts, ["a", "b"]).weights.tolist()
    [[0.25, 0.75], [0.5, 0.5], [0.0, 0.0]]
    """
    table = _overlap_of(_shares(counts))
    return _describe(table, counts, squares, groups, weights=table, kind="table")


def _describe(
    table: Floats,
    counts: Floats,
    squares: Floats,
    groups: Sequence[str],
    *,
    weights: Floats,
    kind: str,
) -> Overlap:
    """Return the overlap that weights by label and group leave."""
    sizes = _effective_sizes(table, counts, squares)
    imbalance = _imbalance(table * counts)
    limit = LARGEST_IMBALANCE + 1 / math.sqrt(max(sizes.min(), 1.0))
    return Overlap(
        weights=weights,
        kind=kind,
        imbalance=imbalance,
        effective_sizes=dict(zip(groups, sizes.tolist(), strict=True)),
        limit=limit,
        reason=_reason(groups, sizes, imbalance, limit),
    )


def _reason(groups: Sequence[str], sizes: Floats, imbalance: float, limit: float) -> str:
    """Return why nothing should be concluded from weights, or nothing."""
    scarce = int(np.argmin(sizes))
    if sizes[scarce] < FEWEST_EFFECTIVE_ITEMS:
        return (
            f"only {sizes[scarce]:.1f} effective items of group {groups[scarce]} have labels that "
            f"all groups have, {FEWEST_EFFECTIVE_ITEMS} are needed"
        )
    if imbalance > limit:
        return (
            f"the weighted label distributions of two groups are {imbalance:.3f} apart, "
            f"more than the {limit:.3f} that is trusted"
        )
    return ""


def label_blocks(label: Floats) -> Codes:
    """Return a code for items with the same label, or with neighbouring ones where many differ.

    Examples
    --------
    >>> label_blocks(np.array([0.0, 1.0, 0.0])).tolist()
    [0, 1, 0]
    >>> np.bincount(label_blocks(np.arange(45.0))).tolist()
    [10, 10, 10, 15]
    """
    levels, code = np.unique(label, return_inverse=True)
    if len(levels) <= MOST_LEVELS:
        return code.reshape(-1).astype(np.int64)
    lower = np.searchsorted(np.sort(label), label)
    return np.minimum(lower // NEIGHBOURS, max(len(label) // NEIGHBOURS - 1, 0))


def _levels(label: Floats, max_levels: int) -> tuple[Floats, Codes]:
    """Return the distinct labels in order, and which of them each item has."""
    if (few := few_levels(label)) is not None:
        return few[0], few[1].astype(np.int64)
    order, same = order_of(label)
    code, _ = ranks_of(order, same)
    levels = label[order[~same]]
    if len(levels) <= max(MOST_BINS, max_levels):
        return levels, code
    code = code * MOST_BINS // len(levels)
    return np.bincount(code, label) / np.bincount(code), code


def _sum_by_group(place: Codes, values: Floats | None, n_levels: int, n_groups: int) -> Floats:
    summed: Floats = np.bincount(place, values, n_levels * n_groups).astype(np.float64)
    return summed.reshape(n_levels, n_groups)


def _shares(counts: Floats) -> Floats:
    """Return the share of every group at each label."""
    total = counts.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    return shares


def _overlap_of(shares: Floats) -> Floats:
    """Return the weight of each label and group: 1/P over the sum of 1/P; 0 where any P is 0."""
    everywhere = (shares > 0).all(axis=1, keepdims=True)
    inverse = 1 / np.where(everywhere, shares, 1.0)
    weights: Floats = np.where(everywhere, inverse / inverse.sum(axis=1, keepdims=True), 0.0)
    return weights


def _effective_sizes(table: Floats, counts: Floats, squares: Floats) -> Floats:
    total, square = (table * counts).sum(axis=0), (table**2 * squares).sum(axis=0)
    sizes: Floats = np.divide(total**2, square, out=np.zeros_like(total), where=square > 0)
    return sizes


def _imbalance(weighted: Floats) -> float:
    """Return the largest Kolmogorov distance between the columns' cumulative distributions."""
    total = weighted.sum(axis=0)
    if not (total > 0).all():
        return math.nan
    shares = np.cumsum(weighted, axis=0) / total
    return float((shares.max(axis=1) - shares.min(axis=1)).max())


def _default_knots(smallest: float) -> int:
    return min(max(int(1 + smallest**0.25 + ROUNDING), FEWEST_KNOTS), MOST_KNOTS)


def _fit_shares(levels: Floats, counts: Floats, n_knots: int, ridge: float) -> Floats:
    """Return the fitted share of every group at each label."""
    assert n_knots >= FEWEST_KNOTS, n_knots
    design = _natural_spline(levels, _knots(levels, counts.sum(axis=1), n_knots))
    # A group without items has no finite logit; a share of nothing is what it has.
    present = counts.sum(axis=0) > 0
    shares = np.zeros_like(counts)
    shares[:, present] = multinomial_shares(design, counts[:, present], ridge)
    # A fitted share is never 0, and products of vanishing ones are lost in rounding.
    return np.where(shares < LEAST_SHARE, 0.0, shares)


def _knots(levels: Floats, counts: Floats, n_knots: int) -> Floats:
    """Return quantiles of the labels; of the distinct labels where many coincide."""
    quantiles = np.linspace(0.05, 0.95, n_knots)
    cumulative = np.cumsum(counts) / counts.sum()
    knots = np.unique(levels[np.searchsorted(cumulative, quantiles - ROUNDING)])
    if len(knots) < n_knots:
        knots = np.unique(np.quantile(levels, quantiles))
    return knots


def _natural_spline(x: Floats, knots: Floats) -> Floats:
    """Return a constant and the standardised basis of cubic splines, linear beyond the knots.

    The truncated power basis of Hastie, Tibshirani and Friedman, "The Elements of Statistical
    Learning", eqs. (5.4)-(5.5).
    """
    x = (x - knots[0]) / (knots[-1] - knots[0])
    knots = (knots - knots[0]) / (knots[-1] - knots[0])
    beyond_last = np.clip(x - 1, 0, None) ** 3
    curves = [(np.clip(x - knot, 0, None) ** 3 - beyond_last) / (1 - knot) for knot in knots[:-1]]
    columns = np.column_stack([x, *(curve - curves[-1] for curve in curves[:-1])])
    columns = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    return np.column_stack([np.ones(len(x)), columns])


def multinomial_shares(design: Floats, counts: Floats, ridge: float) -> Floats:
    """Return the shares fitted by a multinomial logit, by Newton's method with halved steps.

    The last group has coefficients of zero. The penalty is on the distance of each group's
    coefficients from their mean, so that the order of the groups does not matter.
    """
    n_groups, size = counts.shape[1], design.shape[1]
    total = counts.sum(axis=0)
    beta = np.zeros((n_groups - 1, size))
    beta[:, 0] = np.log(total[:-1] / total[-1])
    centred = np.eye(n_groups - 1) - 1 / n_groups
    penalised = np.diag([0.0, *np.ones(size - 1)])
    penalty = ridge * total.sum() * np.kron(centred, penalised)
    loss, shares = _loss(design, counts, penalty, beta)
    for _ in range(NEWTON_STEPS):
        step = _newton_step(design, counts, penalty, beta, shares)
        beta, (new_loss, shares) = _shorten_step(design, counts, penalty, beta, step, loss)
        if loss - new_loss <= 1e-12 * total.sum():
            break
        loss = new_loss
    return shares


def _loss(design: Floats, counts: Floats, penalty: Floats, beta: Floats) -> tuple[float, Floats]:
    """Return the penalised negative log-likelihood and the shares."""
    logits = np.column_stack([design @ beta.T, np.zeros(len(design))])
    logits -= np.logaddexp.reduce(logits, axis=1)[:, None]
    flat = beta.ravel()
    return float(-(counts * logits).sum() + flat @ penalty @ flat / 2), np.exp(logits)


def _newton_step(
    design: Floats, counts: Floats, penalty: Floats, beta: Floats, shares: Floats
) -> Floats:
    n_logits, size = beta.shape
    total = counts.sum(axis=1)
    free = shares[:, :n_logits]
    gradient = (counts[:, :n_logits] - total[:, None] * free).T @ design
    hessian = penalty.copy().reshape(n_logits, size, n_logits, size)
    for a in range(n_logits):
        for b in range(a + 1):
            spread = total * free[:, a] * ((a == b) - free[:, b])
            block = (design * spread[:, None]).T @ design
            hessian[a, :, b] += block
            if a != b:
                hessian[b, :, a] += block
    flat = hessian.reshape(n_logits * size, -1)
    return np.linalg.solve(flat, gradient.ravel() - penalty @ beta.ravel()).reshape(beta.shape)


def _shorten_step(
    design: Floats, counts: Floats, penalty: Floats, beta: Floats, step: Floats, loss: float
) -> tuple[Floats, tuple[float, Floats]]:
    """Return where a step ends that was halved until the loss falls."""
    for _ in range(30):
        found = _loss(design, counts, penalty, beta + step)
        if found[0] <= loss:
            return beta + step, found
        step = step / 2
    return beta, _loss(design, counts, penalty, beta)
