"""Intersections of groups: which get a bias of their own, and which deserve one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, stdtr

from comparity.errors import OptionError
from comparity.inference.multiplicity import benjamini_hochberg
from comparity.ranking.contrasts import ItemAttribute, members_of
from comparity.ranking.fits import Suggestion
from comparity.ranking.judgments import Judgments
from comparity.ranking.likelihood.fitting import Fit
from comparity.ranking.likelihood.one_pass import variances_of
from comparity.tables.frames import text_of

__all__ = ["chosen_intersections", "suggest", "words_on"]

Floats = NDArray[np.float64]
Parts = tuple[tuple[str, str], ...]

LEVEL = 0.05
FEWEST_ITEMS = 5
FEWEST_COMPARISONS = 30


def chosen_intersections(
    intersections: Any, attributes: tuple[ItemAttribute, ...]
) -> tuple[Parts, ...]:
    """Read intersections as callers give them: mappings of attribute to group.

    Examples
    --------
    >>> from comparity.ranking.contrasts import attributes_of
    >>> groups = attributes_of({"sex": ["f", "m"], "race": ["b", "w"]})
    >>> chosen_intersections([{"sex": "f", "race": "b"}], groups)
    ((('sex', 'f'), ('race', 'b')),)
    """
    if intersections is None or (isinstance(intersections, str) and intersections == "suggest"):
        return ()
    known = {attribute.name for attribute in attributes}
    allowed = ["'suggest'", f"mappings of two or more of {sorted(known)} to a group"]
    if isinstance(intersections, str) or not isinstance(intersections, Iterable):
        raise OptionError("intersections", intersections, allowed)
    chosen = []
    for one in [intersections] if isinstance(intersections, Mapping) else intersections:
        if not isinstance(one, Mapping) or len(one) < 2 or not set(one) <= known:
            raise OptionError("intersections", one, allowed)
        parts = tuple((str(name), text_of(group)) for name, group in one.items())
        if not members_of(attributes, parts).any():
            raise OptionError(
                "intersections", one, ["one that has items"], "no item is of all these groups"
            )
        chosen.append(parts)
    return tuple(chosen)


def suggest(
    judgments: Judgments, attributes: tuple[ItemAttribute, ...], fitted: Fit
) -> tuple[Suggestion, ...]:
    r"""Say which intersections of two attributes deserve a bias of their own.

    A bias for an intersection that all evaluators share cannot be told from its items' scores; it
    shows as a mean score apart from what the two groups explain, which a regression of the scores
    tests (the comparison of score distributions of [1]_, section 4.3). A bias that differs between
    evaluators changes the likelihood; a score test of one more bias for each evaluator finds it,

    .. math:: \sum_k U_k^2 / I_k \sim \chi^2_{m - 1}

    with :math:`U_k` the slope of the likelihood in evaluator k's new bias and :math:`I_k` its
    curvature once scores and other biases follow. Both tests count (Bonferroni), and q values are
    taken over all intersections looked at.

    Parameters
    ----------
    judgments : Judgments
    attributes : tuple of ItemAttribute
    fitted : Fit
        Of the model without intersections.

    Returns
    -------
    tuple of Suggestion
        Strongest first. Of two attributes with two groups each there is one intersection to model;
        intersections of fewer than 5 items or 30 comparisons are left out.

    References
    ----------
    .. [1] Ferrara, Bonchi, Fabbri, Karimi and Wagner (2024), "Bias-aware ranking from pairwise
       comparisons".
    """
    found = [_looked_at(parts, judgments, attributes, fitted) for parts in _cells(attributes)]
    kept = [one for one in found if one is not None]
    q_values = benjamini_hochberg([one.p_value for one in kept])
    judged = [one.judged(float(q)) for one, q in zip(kept, q_values, strict=True)]
    return tuple(sorted(judged, key=lambda one: one.p_value))


def words_on(suggestions: tuple[Suggestion, ...]) -> str:
    """Say in a sentence what looking at intersections found."""
    if not suggestions:
        return (
            f"No intersection of two attributes has {FEWEST_ITEMS} items and {FEWEST_COMPARISONS} "
            "comparisons with others: there was nothing to suggest."
        )
    deserving = [" & ".join(one.groups) for one in suggestions if one.deserves]
    return (
        f"Intersections that deserve a bias of their own (q below {LEVEL:g}), of "
        f"{len(suggestions):,} looked at: {', '.join(deserving) or 'none'}."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """An intersection with its two tests."""

    parts: Parts
    n_items: int
    n_comparisons: int
    gap: tuple[float, float]
    spread: tuple[float, int, float]

    @property
    def p_value(self) -> float:
        return min(1.0, 2 * min(self.gap[1], self.spread[2]))

    def judged(self, q: float) -> Suggestion:
        return Suggestion(
            attributes=tuple(attribute for attribute, _ in self.parts),
            groups=tuple(group for _, group in self.parts),
            n_items=self.n_items,
            n_comparisons=self.n_comparisons,
            score_gap=self.gap[0],
            gap_p=self.gap[1],
            spread=self.spread[0],
            spread_dof=self.spread[1],
            spread_p=self.spread[2],
            p_value=self.p_value,
            q_value=q,
            deserves=q < LEVEL,
        )


def _cells(attributes: tuple[ItemAttribute, ...]) -> Iterator[Parts]:
    """Yield every pair of groups that are no reference; the others follow from these."""
    for one, two in combinations(attributes, 2):
        for first, second in product(one.groups[1:], two.groups[1:]):
            yield ((one.name, first), (two.name, second))


def _looked_at(
    parts: Parts, judgments: Judgments, attributes: tuple[ItemAttribute, ...], fitted: Fit
) -> _Look | None:
    column = members_of(attributes, parts).astype(np.int8)
    rows = fitted.objective.data.rows
    step = column[rows.better] - column[rows.worse]
    n_items, n_comparisons = int(column.sum()), int((step != 0).sum())
    if n_items < FEWEST_ITEMS or n_comparisons < FEWEST_COMPARISONS:
        return None
    return _Look(
        parts=parts,
        n_items=n_items,
        n_comparisons=n_comparisons,
        gap=_gap_test(fitted.scores, fitted.move.basis, column.astype(np.float64)),
        spread=_spread_test(fitted, step),
    )


def _gap_test(scores: Floats, basis: Floats, column: Floats) -> tuple[float, float]:
    """Regress scores on groups and the intersection; return its coefficient and p value."""
    design = np.column_stack([basis, column])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return np.nan, 1.0
    coefficients = np.linalg.lstsq(design, scores, rcond=None)[0]
    left = scores - design @ coefficients
    dof = len(scores) - design.shape[1]
    variance = left @ left / dof * np.linalg.inv(design.T @ design)[-1, -1]
    gap = float(coefficients[-1])
    return gap, float(2 * stdtr(dof, -abs(gap) / np.sqrt(variance)))


def _spread_test(fitted: Fit, step: NDArray[np.int8]) -> tuple[float, int, float]:
    """Test one more bias for each evaluator, against its mean over evaluators."""
    objective = fitted.objective
    rows, weights = objective.data.rows, objective.data.weights()
    m = rows.n_evaluators
    contrast = np.column_stack([rows.contrast, step])
    slope = _slopes(fitted)
    gradient = np.bincount(rows.evaluator, slope * step, m)
    c = contrast.shape[1]
    blocks = np.zeros((m, c, c))
    for i in range(c):
        for j in range(c):
            both = weights * contrast[:, i] * contrast[:, j]
            blocks[:, i, j] = np.bincount(rows.evaluator, both, m)
    precision = np.zeros((c, c))
    precision[:-1, :-1] = objective.penalty.bias
    variances = variances_of(objective, contrast, blocks, precision)[:, -1, -1]
    told = _left_of_last(blocks + precision) > 1e-6
    # What all evaluators share is in the scores already, which takes one degree of freedom.
    statistic = float((gradient[told] ** 2 * variances[told]).sum())
    dof = max(1, int(told.sum()) - 1)
    return statistic, dof, float(chdtrc(dof, statistic))


def _left_of_last(blocks: Floats) -> Floats:
    """Return what the other rows of each block leave of the last one's diagonal."""
    inner, side = np.linalg.pinv(blocks[:, :-1, :-1], hermitian=True), blocks[:, :-1, -1]
    left: Floats = blocks[:, -1, -1] - np.einsum("ki,kij,kj->k", side, inner, side)
    return left


def _slopes(fitted: Fit) -> Floats:
    """Return the slope of the loss in every comparison's margin."""
    data = fitted.objective.data
    return data.slopes(*fitted.objective.split(fitted.solution.point))
