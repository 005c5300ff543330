r"""Where an anchor puts the common level of a fit, and what it needs and leaves open.

Data tell :math:`T = m + \Delta` with variance V: the mean bias of the evaluators and the difference
between the groups' mean scores, together. Where m and :math:`\Delta` are normal about zero, the
part of T that is the evaluators' is expected to be

.. math:: w T,\quad w = \sigma_m^2 / (\sigma_m^2 + \sigma_\Delta^2)

which is off by :math:`w \Delta - (1 - w) m` with variance
:math:`(\sigma_m^{-2} + \sigma_\Delta^{-2})^{-1}`, beside the error of T. An infinite
:math:`\sigma_m` gives equal group means, an infinite :math:`\sigma_\Delta` zero mean bias.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import erfc, ndtri

from comparity.errors import AnchorError, OptionError
from comparity.ranking.anchors import (
    ALIGNED,
    EQUAL_MEANS,
    SAMPLES,
    ZERO_MEAN,
    Anchor,
    words_on_one,
)
from comparity.ranking.connectivity import groups_apart, seats_untold
from comparity.ranking.items import list_first
from comparity.ranking.likelihood.errors import Errors, chance_covariance
from comparity.tables.frames import text_of

if TYPE_CHECKING:
    from comparity.ranking.items import Contrasts
    from comparity.ranking.likelihood.penalised_fit import Fit
    from comparity.ranking.likelihood.search import Task

Floats = NDArray[np.float64]

LEVEL = 0.05


def settle_level(fitted: Fit, errors: Errors, anchor: Anchor) -> tuple[Fit, Errors, Iterator[str]]:
    """Return a fit at a level between the exact ones, and errors that hold how open it is.

    Parameters
    ----------
    fitted : Fit
        With equal group means.
    errors : Errors
        Of that fit.
    anchor : Anchor

    Returns
    -------
    fitted : Fit
    errors : Errors
    notes : iterator of str
        Where the data speak against the anchor.
    """
    if not anchor.is_between:
        return fitted, errors, iter(())
    notes: Iterator[str] = iter(())
    if anchor.kind == ALIGNED:
        spread = (fitted.scores**2).sum()
        # Fitted scores are drawn together by their prior.
        stretch = math.sqrt(1 + (np.nan_to_num(errors.scores) ** 2).sum() / spread)
        shifts, open_variance = align_scores(stretch * fitted.scores, fitted.move.basis)
        move = replace(fitted.move, shifts=shifts)
    else:
        of_mean, of_gap = _variances(fitted, errors, anchor)
        open_variance = 1 / (1 / of_mean + 1 / of_gap)
        notes = _contradictions(fitted, errors, of_mean + of_gap)
        move = fitted.move.between(open_variance / of_gap, len(fitted.bias))
    seen, bias, _ = fitted.objective.split(fitted.solution.point)
    scores, bias = move.apply(seen[: len(fitted.scores)], bias)
    moved = replace(fitted, move=move, scores=scores, bias=bias)
    return moved, _widen(moved.errors(), open_variance, move.basis), notes


def _variances(fitted: Fit, errors: Errors, anchor: Anchor) -> tuple[Floats, Floats]:
    """Return how far mean bias and difference between groups may be from zero, as variances."""
    m, n_contrasts = len(fitted.bias), fitted.move.basis.shape[1] - 1
    if anchor.kind == SAMPLES:
        if m < 4:
            why = f"{m} evaluators are too few to say how evaluators differ"
            raise OptionError("anchor", SAMPLES, ["another anchor"], why)
        spread = fitted.bias[:, :n_contrasts].var(axis=0, ddof=1)
        # The variance of a mean whose SD is estimated is that of Student's t.
        of_mean = spread / m * (m - 1) / (m - 3)
        of_gap = np.diagonal(chance_covariance(fitted.scores, errors.scores, fitted.move.basis))
        tiny = np.finfo(float).tiny
        return np.maximum(of_mean, tiny), np.maximum(of_gap, tiny)
    unit = fitted.priors[0].sd if fitted.has_sharpness else 1.0
    stated = (anchor.sds.get(name, math.inf) * unit for name in (ZERO_MEAN, EQUAL_MEANS))
    of_mean, of_gap = (np.full(n_contrasts, sd**2) for sd in stated)
    return of_mean, of_gap


def _contradictions(fitted: Fit, errors: Errors, allowed: Floats) -> Iterator[str]:
    """Say where mean bias and difference between groups are more than an anchor makes likely."""
    total, n = fitted.bias.mean(axis=0), len(allowed)
    z = np.abs(total[:n]) / np.sqrt(allowed + errors.level[:n] ** 2)
    p = float(min(1.0, n * erfc(z.max() / math.sqrt(2))))
    if p <= LEVEL:
        yield (
            "Mean bias and difference between groups add up to more than the anchor makes likely "
            f"(p {p:.2g}): not all that it assumes is true of this panel."
        )


def _widen(errors: Errors, open_variance: Floats, basis: Floats) -> Errors:
    """Return errors with the variance by which an anchor leaves the level open."""
    n, columns = len(open_variance), basis[:, 1:] - basis[:, 1:].mean(axis=0)
    added = np.zeros(errors.bias.shape[1])
    added[:n] = open_variance
    return replace(
        errors,
        scores=np.sqrt(errors.scores**2 + columns**2 @ open_variance),
        bias=np.sqrt(errors.bias**2 + added),
        level=np.sqrt(errors.level**2 + added),
        gap=np.sqrt(errors.gap**2 + open_variance),
    )


def align_scores(scores: Floats, basis: Floats) -> tuple[Floats, Floats]:
    r"""Return the shifts of contrasts that align their scores, and the variances of these.

    A regression by ranks with normal scores (van der Waerden, 1952; Jaeckel, 1972): shifts at which
    no contrast goes with the ranks of what is left,

    .. math:: \sum_i \tilde x_i \Phi^{-1}(R_i / (n + 1)) = 0

    with :math:`\tilde x` the contrast minus what other contrasts explain of it. If items of all
    groups are drawn alike, the sum has mean zero and variance
    :math:`\sum \tilde x_i^2 \sum a_i^2 / (n - 1)` whatever the distribution, so that the shifts it
    does not reject at 0.05 tell the standard error. For two groups it is as precise as the
    difference of means where scores are normal, and more so elsewhere (Chernoff and Savage, 1958).

    Examples
    --------
    >>> worth, second = np.array([0.0, 1, 2, 3, 4, 20]), np.repeat([0.0, 1.0], 6)
    >>> basis = np.column_stack([np.ones(12), second])
    >>> shifts, _ = align_scores(np.append(worth, worth + 2.5), basis)
    >>> shifts.round(2).tolist()
    [2.5]
    """
    n, count = basis.shape
    left, moved = scores.copy(), np.zeros(n)
    alone = [_what_is_left(basis, place) for place in range(1, count)]
    squares = float((ndtri(np.arange(1, n + 1) / (n + 1)) ** 2).sum()) / (n - 1)
    # Contrasts have to do with each other, and come to rest in a few rounds; one does at once.
    for _ in range(1 if count == 2 else 20):
        for column in alone:
            step = _shift_of(left, column, 0.0)
            left, moved = left - step * column, moved + step * column
    ends = ndtri(LEVEL / 2) * np.sqrt([squares * float(one @ one) for one in alone])
    widths = [
        _shift_of(left, column, end) - _shift_of(left, column, -end)
        for column, end in zip(alone, ends.tolist(), strict=True)
    ]
    shifts = np.asarray(np.linalg.lstsq(basis, moved, rcond=None)[0][1:], dtype=np.float64)
    return shifts, (np.array(widths) / (2 * ndtri(1 - LEVEL / 2))) ** 2


def _what_is_left(basis: Floats, place: int) -> Floats:
    """Return a column minus what the others explain of it."""
    others = np.delete(basis, place, axis=1)
    column = basis[:, place]
    return np.asarray(column - others @ np.linalg.lstsq(others, column, rcond=None)[0])


def _shift_of(scores: Floats, column: Floats, goal: float) -> float:
    """Return the shift along a column at which it goes with ranks by as much as the goal."""
    # Imported here because it takes a third of a second, and one anchor alone needs it.
    from scipy.stats import rankdata

    n = len(scores)

    def excess(shift: float) -> float:
        ranks = rankdata(scores - shift * column)
        return float(column @ ndtri(ranks / (n + 1))) - goal

    reach = float(np.ptp(scores) + 1e-9) / float(np.abs(column).max())
    # Ranks do not change any more where groups lie far apart.
    for _ in range(12):
        if excess(-reach) > 0 > excess(reach):
            return float(brentq(excess, -reach, reach, rtol=1e-6, xtol=1e-9 * reach))
        reach *= 2
    why = "a group has too few items to say where its scores lie among the others"
    raise OptionError("anchor", ALIGNED, [repr(EQUAL_MEANS)], why)


def check_trusted(task: Task, contrasts: Contrasts) -> None:
    """Refuse trusted evaluators whose comparisons do not tell levels of groups, or of the seat."""
    judgments, trusted = task.judgments, task.anchor.trusted
    if not len(trusted):
        return
    reason = ""
    if apart := groups_apart(judgments, contrasts, trusted):
        attribute, group = apart[0]
        reason = f"no comparison of theirs tells how {attribute} {group!r} compares with others"
    elif task.seat_by_evaluator and seats_untold(judgments, trusted):
        reason = "no item changes its seat against others in theirs, to compare seat effects with"
    if reason:
        names = [text_of(name) for name in judgments.evaluators[trusted].tolist()]
        raise AnchorError(names, reason, judgments.evaluators.tolist())


def notes_on_lone(task: Task, contrasts: Contrasts) -> Iterator[str]:
    """Warn of one evaluator, and of groups of one item, whose numbers the anchor alone fixes."""
    if task.judgments.n_evaluators == 1:
        yield words_on_one(task.anchor)
    if task.anchor.kind != EQUAL_MEANS:
        return
    for one in contrasts.attributes:
        sizes = np.bincount(one.codes, minlength=len(one.groups))
        if lone := [name for name, size in zip(one.groups, sizes, strict=True) if size == 1]:
            yield (
                f"Groups of {one.name} with one item: {list_first(lone)}; equal group "
                "means put it at the common mean, whatever it is worth."
            )
