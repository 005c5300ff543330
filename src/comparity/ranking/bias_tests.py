r"""Tests of what constant biases toward single groups leave out.

*Intersections*: which deserve a bias of their own, and which were given one.

*Score dependence*: evaluator k sees an item with score s at

.. math:: s + \theta_{k} + \gamma (\theta_{k} - \bar\theta) s

that is, an evaluator who leans more than the panel leans more (or less) for better items, with
one slope :math:`\gamma` for each contrast. Only what evaluators do differently can be seen: a
slope that all share stretches the scores of the group, and scores are free. As in Tukey's test of
additivity this spends one degree of freedom, not one for each evaluator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, erfc, stdtr

from comparity.errors import OptionError
from comparity.inference.anytime import anytime_p_values
from comparity.inference.multiplicity import benjamini_hochberg
from comparity.ranking.fits import ScoreDependence, Suggestion
from comparity.ranking.intervals import LEAN_VARIANCE
from comparity.ranking.items import Contrasts, ItemAttribute, members_of
from comparity.ranking.judgments import Judgments
from comparity.ranking.likelihood.exact import one_thread
from comparity.ranking.likelihood.kernels import add_product
from comparity.ranking.likelihood.objective import conjugate_gradients
from comparity.ranking.likelihood.one_pass import variances_of
from comparity.ranking.likelihood.passes import logistic
from comparity.ranking.likelihood.penalised_fit import Fit
from comparity.ranking.result import BiasedRanking
from comparity.tables.frames import text_of

Floats = NDArray[np.float64]


def tests_of(bias: Floats, errors: Floats) -> tuple[Floats, Floats, Floats]:
    """Return z, p and q of every bias against zero; none where it has no error."""
    z = np.divide(bias, errors, out=np.full_like(bias, np.nan), where=errors > 0)
    p = np.where(np.isnan(z), np.nan, erfc(np.abs(np.nan_to_num(z)) / math.sqrt(2)))
    return z, p, benjamini_hochberg(p)


def read_anytime(result: BiasedRanking) -> BiasedRanking:
    """Return the same ranking with biases judged so that they may be read at any moment.

    p values are one over e-values of :mod:`comparity.inference.anytime`, of a mixture over leans of
    half a logit; q values are those of e-BH, which holds whatever the dependence between biases.
    """
    null = np.abs(np.divide(result.bias, result.z, where=result.z != 0, out=np.ones_like(result.z)))
    chance = result.cautious_standard_errors**2 - result.bias_standard_errors**2
    cautious = np.sqrt(null**2 + np.maximum(chance, 0.0))
    p = anytime_p_values(result.z, null, LEAN_VARIANCE)
    cautious_p = anytime_p_values(result.z * null / cautious, cautious, LEAN_VARIANCE)
    note = (
        "Leans are judged so that they may be read at any moment as comparisons come in: e-values, "
        "by the procedure of Benjamini and Hochberg; intervals of biases hold at all moments."
    )
    return replace(
        result,
        p=p,
        q=benjamini_hochberg(p),
        cautious_q=benjamini_hochberg(cautious_p),
        anytime=True,
        notes=(*result.notes, note),
    )


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
    >>> from comparity.ranking.items import attributes_of
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


def suggest(attributes: tuple[ItemAttribute, ...], fitted: Fit) -> tuple[Suggestion, ...]:
    r"""Return which intersections of two attributes deserve a bias of their own.

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
    found = [_look_at(parts, attributes, fitted) for parts in _cells(attributes)]
    kept = [one for one in found if one is not None]
    q_values = benjamini_hochberg([one.p_value for one in kept])
    judged = [
        replace(one, q_value=float(q), deserves=bool(q < LEVEL))
        for one, q in zip(kept, q_values, strict=True)
    ]
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


def _cells(attributes: tuple[ItemAttribute, ...]) -> Iterator[Parts]:
    """Yield every pair of groups that are no reference; the others follow from these."""
    for one, two in combinations(attributes, 2):
        for first, second in product(one.groups[1:], two.groups[1:]):
            yield ((one.name, first), (two.name, second))


def _look_at(parts: Parts, attributes: tuple[ItemAttribute, ...], fitted: Fit) -> Suggestion | None:
    """Return both tests of an intersection, not yet adjusted for the others looked at."""
    column = members_of(attributes, parts).astype(np.int8)
    rows = fitted.objective.data.rows
    step = column[rows.better] - column[rows.worse]
    n_items, n_comparisons = int(column.sum()), int((step != 0).sum())
    if n_items < FEWEST_ITEMS or n_comparisons < FEWEST_COMPARISONS:
        return None
    gap, gap_p = _gap_test(fitted.scores, fitted.move.basis, column.astype(np.float64))
    spread, dof, spread_p = _spread_test(fitted, step)
    return Suggestion(
        attributes=tuple(attribute for attribute, _ in parts),
        groups=tuple(group for _, group in parts),
        n_items=n_items,
        n_comparisons=n_comparisons,
        score_gap=gap,
        gap_p=gap_p,
        spread=spread,
        spread_dof=dof,
        spread_p=spread_p,
        p_value=min(1.0, 2 * min(gap_p, spread_p)),
        q_value=np.nan,
        deserves=False,
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
    slope = objective.data.slopes(*objective.split(fitted.solution.point))
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


def with_score_dependence(
    result: BiasedRanking, judgments: Judgments, contrasts: Contrasts, fitted: Fit
) -> BiasedRanking:
    """Refit with slopes, and test them against zero.

    Parameters
    ----------
    result : BiasedRanking
        Of the constant model.
    judgments : Judgments
        Without ties and seats, which this model does not have.
    contrasts : Contrasts
    fitted : Fit
        Of the constant model; the priors are taken from it.

    Returns
    -------
    BiasedRanking
        Scores and biases of the model with slopes, anchored as before; errors are those of the
        constant model, and a note says so.
    """
    if judgments.tied is not None or judgments.seat is not None:
        allowed = ["comparisons without ties, and no effect of seats"]
        raise OptionError("score_dependent", True, allowed, "that model knows neither")
    model = Dependent(contrasts, fitted)
    found, converged = _refit_with_slopes(model, fitted.solution.point)
    _, gradient = model.evaluate(found)
    scores, bias, slopes = model.split(found)
    scores, bias = fitted.move.apply(scores, bias)
    bias[np.isnan(result.z)] = 0.0
    z, p, q = tests_of(bias, result.bias_standard_errors)
    statistic = _score_test(model, fitted)
    dependence = ScoreDependence(
        slopes=tuple(slopes.tolist()),
        statistic=statistic,
        dof=model.n_contrasts,
        p_value=float(chdtrc(model.n_contrasts, statistic)),
    )
    note = "Scores and biases are of the model with slopes; their errors are of the constant one."
    return replace(
        result,
        scores=scores,
        bias=bias,
        mean_bias=bias.mean(axis=0),
        centred_bias=bias - bias.mean(axis=0),
        z=z,
        p=p,
        q=q,
        cautious_q=tests_of(bias, result.cautious_standard_errors)[2],
        log_likelihood=-model.loss(found),
        gradient_norm=float(np.linalg.norm(gradient)),
        converged=result.converged and converged,
        score_dependence=dependence,
        notes=(*result.notes, note),
    )


def _refit_with_slopes(model: Dependent, constant: Floats) -> tuple[Floats, bool]:
    """Return the best point of the model with slopes from that of the constant one."""
    # Imported here because few fits need it and it takes its time.
    from scipy.optimize import minimize

    found, run = np.concatenate([constant, np.zeros(model.n_contrasts)]), cast("Any", None)
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-14, "gtol": 1e-6}
    # Its matrices are a few numbers wide: threads that wait for each other take most of the time.
    with one_thread():
        # The slopes have another scale than the rest; a second run from the end makes sure of it.
        for _ in range(2):
            run = minimize(model.evaluate, found, jac=True, method="L-BFGS-B", options=options)
            found = run.x
    return found, bool(run.success)


def _score_test(model: Dependent, fitted: Fit) -> float:
    """Return the statistic of Rao's test of all slopes zero, at the constant fit.

    It asks what the slopes would gain, with scores and biases following. A ratio of likelihoods
    would let them follow into the errors of each other, and find slopes that are not there: where
    items were compared 20 to 30 times, in a tenth of panels at a level of 0.05.
    """
    objective, rows = fitted.objective, model.rows
    weights = objective.data.weights().astype(np.float64)
    parts = objective.split(fitted.solution.point)
    _, lean, interaction = model.margin(*parts[:2], np.zeros(model.n_contrasts))
    steep = lean * interaction
    gain = -(objective.data.slopes(*parts)[:, None] * steep).sum(axis=0)
    borders, followed = np.zeros((2, model.n_contrasts, objective.size))
    for place, border in enumerate(borders):
        add_product(*rows.columns(), weights * steep[:, place], *objective.split(border)[:2])
        followed[place], _ = conjugate_gradients(objective, border, relative=1e-6)
    information = (steep * weights[:, None]).T @ steep - borders @ followed.T
    return float(gain @ np.linalg.pinv(information, hermitian=True) @ gain)


class Dependent:
    """Penalised likelihood of scores, biases and slopes, with its gradient."""

    def __init__(self, contrasts: Contrasts, fitted: Fit) -> None:
        rows = fitted.objective.data.rows
        self.rows, self.penalty = rows, fitted.objective.penalty
        self.columns = contrasts.columns.astype(np.float64)
        self.n_contrasts = contrasts.columns.shape[1]

    def split(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Return scores, biases and slopes of a point."""
        n, c = self.rows.n_items, self.n_contrasts
        end = len(point) - c
        return point[:n], point[n:end].reshape(-1, c), point[end:]

    def loss(self, point: Floats) -> float:
        """Return the negative log-likelihood."""
        return logistic(self.margin(*self.split(point))[0])[0]

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        """Return penalised loss and gradient."""
        scores, bias, slopes = self.split(point)
        rows, n, m = self.rows, self.rows.n_items, self.rows.n_evaluators
        margin, lean, interaction = self.margin(scores, bias, slopes)
        loss, slope, _ = logistic(margin)
        tilt = lean * slopes
        up = slope * (1 + (tilt * self.columns[rows.better]).sum(axis=1))
        down = slope * (1 + (tilt * self.columns[rows.worse]).sum(axis=1))
        in_scores = np.bincount(rows.better, up, n) - np.bincount(rows.worse, down, n)
        in_bias = _by_evaluator(rows.evaluator, slope[:, None] * rows.contrast, m)
        steep = _by_evaluator(rows.evaluator, slope[:, None] * interaction, m) * slopes
        in_bias = in_bias + steep - steep.mean(axis=0)
        in_slopes = (slope[:, None] * lean * interaction).sum(axis=0)
        pull, bias_pull = self.penalty.pull(scores), self.penalty.bias_pull(bias)
        value = loss + (scores @ pull + (bias * bias_pull).sum()) / 2
        gradient = [in_scores + pull, (in_bias + bias_pull).ravel(), in_slopes]
        return float(value), np.concatenate(gradient)

    def margin(self, scores: Floats, bias: Floats, slopes: Floats) -> tuple[Floats, Floats, Floats]:
        """Return margins, each comparison's centred biases, and its difference of group scores."""
        rows = self.rows
        lean = (bias - bias.mean(axis=0))[rows.evaluator]
        held = self.columns * scores[:, None]
        interaction = held[rows.better] - held[rows.worse]
        margin = scores[rows.better] - scores[rows.worse]
        margin = margin + (bias[rows.evaluator] * rows.contrast).sum(axis=1)
        return margin + (lean * interaction * slopes).sum(axis=1), lean, interaction


def _by_evaluator(evaluator: NDArray[np.int32], values: Floats, m: int) -> Floats:
    return np.column_stack([np.bincount(evaluator, column, m) for column in values.T])
