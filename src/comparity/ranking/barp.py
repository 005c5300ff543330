"""Scores and evaluators' biases together: the bias-aware ranker from pairwise comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import Option, OptionError, PositionError
from comparity.ranking.alternating import Alternating, alternate, scheme_of
from comparity.ranking.anchors import EQUAL_MEANS, anchor_of
from comparity.ranking.bias_tests import (
    chosen_intersections,
    suggest,
    tests_of,
    with_score_dependence,
    words_on,
)
from comparity.ranking.connectivity import Diagnosis, check_seats, diagnose
from comparity.ranking.fit_report import (
    equality_of,
    errors_if_zero,
    fields_of_fit,
    in_score_sds,
    lapses_of,
    read_lapses,
    words_on_lapses,
    words_on_sharpness,
)
from comparity.ranking.fits import AUTO, EQUAL, MARGINAL_LIKELIHOOD, OWN, SEAT, Wish, wish_of
from comparity.ranking.items import (
    Contrasts,
    ItemAttribute,
    attributes_of,
    contrasts_of,
    numbers_of,
)
from comparity.ranking.judgments import Judgments, judgments_of
from comparity.ranking.levels import check_trusted, notes_on_lone, settle_level
from comparity.ranking.likelihood.errors import (
    Errors,
    chance_covariance,
    chance_of_scores,
    without_unknown,
)
from comparity.ranking.likelihood.penalised_fit import Fit, check_finite, fit, rows_for
from comparity.ranking.likelihood.search import TOLERANCE, Task
from comparity.ranking.likelihood.tastes import fit_with_tastes
from comparity.ranking.options import RankingModel
from comparity.ranking.result import BiasedRanking
from comparity.tables.columns import check_option
from comparity.tables.typing import Attributes, Column, Comparisons

Floats = NDArray[np.float64]

BIAS_SD = 10.0
"""Default SD of biases about their mean: wide, lest they be drawn toward other evaluators'."""

CORRECTED = (
    "Biases are corrected for the errors of the scores, which pull them toward zero; "
    "corrected=False (--uncorrected) gives the joint maximum of likelihood and priors."
)

SEATS = "Trusted evaluators share one seat effect; those of others are differences from it."


def barp(
    comparisons: Comparisons | Judgments,
    *,
    evaluators: Column | None,
    sensitive_features: Attributes | None = None,
    numbers: Attributes | None = None,
    reference: Any = None,
    anchor: Any = EQUAL_MEANS,
    ties: Column | None = None,
    seats: Column | None = None,
    seat_by_evaluator: bool = False,
    cluster: Attributes | None = None,
    score_prior: float | str | None = MARGINAL_LIKELIHOOD,
    bias_prior: float | str | None = BIAS_SD,
    intersections: Any = None,
    score_dependent: bool = False,
    corrected: bool = True,
    sharpness: str = AUTO,
    chance_between_groups: bool = False,
    lapse_rate: float | str = 0.0,
    mode: str | Alternating = "joint",
    tolerance: float = TOLERANCE,
    seed: int = 0,
) -> BiasedRanking:
    r"""Rank items, and say by how much each evaluator leans toward a group.

    Evaluator k sees item i of groups :math:`g_i` at :math:`s_i + \theta_k \cdot g_i` and puts i
    above j with

    .. math:: P(i \succ_k j) = \frac{1}{1 + e^{-(s_i - s_j + \theta_k \cdot (g_i - g_j))}}

    where :math:`g_i` has a 1 for each group of the item other than the reference group [1]_.
    Scores and biases maximise likelihood times Gaussian priors; slopes are means over the errors of
    the scores, lest biases come out too small (`corrected`). Ties and seats are modelled as in
    :func:`comparity.bradley_terry`, tastes of each evaluator where data show any (`model_fit`).

    Data fix only differences between evaluators. Their common level is an assumption, the
    `anchor`, and the result names it. Standard errors of scores and of single biases take it for
    a fact; that of the mean bias also holds the chance by which groups of such sizes differ.

    Parameters
    ----------
    comparisons : array_like (n, 2) of int, or a frame with columns ``better`` and ``worse``
        Positions of items from 0, the better one first.
    evaluators : array_like, or a column's name
        Who judged, for each comparison.
    sensitive_features : array_like, mapping or frame, optional
        Group of each item: one attribute, or several.
    numbers : mapping or frame, optional
        Numbers of each item, such as the logarithm of its length: a bias is what one unit more is
        worth to an evaluator, beside what it is worth to all. The anchors say of them that scores
        do not grow with the number, that biases sum to zero, or that the trusted have none.
    reference : object or mapping, optional
        The group a bias is measured against, for each attribute; the first in sorted order by
        default. A positive bias favours the other group.
    anchor : str, mapping or list of evaluators
        What fixes the level of the biases: ``"equal group means"``, ``"zero mean bias"``, either or
        both with an SD (``{"zero mean bias": 0.5}``), ``"samples"``, ``"aligned distributions"``
        (see :mod:`comparity.ranking.anchors`), or evaluators who are trusted, of whose names a star
        stands for any letters: ``["human-*"]``.
    ties, seats : array_like, or a column's name, optional
        As in :func:`comparity.bradley_terry`.
    seat_by_evaluator : bool
        Whether each evaluator has a seat effect of its own, as a further column of `bias`. Trusted
        evaluators share one, the result's `seat`, and those of others are differences from it.
    cluster : array_like, or a column's name, optional
        As in :func:`comparity.bradley_terry`: the prompt, say. Not who judged: of biases of one
        evaluator that evaluator's judgments alone tell.
    score_prior, bias_prior : float, "marginal likelihood", "cross-validation" or None
        Standard deviation in logits of the prior of scores (about zero) and of biases (about the
        mean of all evaluators, which is left free), how to choose it, or no prior.
    intersections : "suggest" or a list, optional
        Intersections of groups with a bias of their own, such as ``[{"sex": "f", "race": "b"}]``;
        or look which deserve one (`suggestions` of the result) without giving any.
    score_dependent : bool
        Whether to let biases grow with the score, and test that against constant ones (a score
        test at the joint maximum, so that this fit is not corrected).
    corrected : bool
        Whether to give back what the errors of scores take from the biases, a tenth where items
        were compared 30 times each, a third where 8 times. Without it, or without a prior of the
        scores, the fit is the joint maximum of likelihood and priors.
    sharpness : {"auto", "own", "equal"}
        Whether all evaluators are equally consistent, as published, or each has a sharpness of its
        own; by default each has, where that of anyone can be told within a factor of two, and a
        note says so where not. With own sharpness
        :math:`P(i \succ_k j) = \operatorname{logistic}(\gamma_k (s_i - s_j + \theta_k \cdot
        (g_i - g_j)))` with :math:`\gamma_k > 0`, seat effects and ties outside; scores have SD 1
        within groups, and biases are in the same unit. See
        :mod:`comparity.ranking.likelihood.sharpness`.
    chance_between_groups : bool
        Whether errors of scores, and with them ranks, hold the chance by which groups of these
        sizes differ in mean, where the anchor is that they do not.
    lapse_rate : float or "estimated"
        Share of judgments that are random, the same for all evaluators.
    mode : "joint", "alternating" or Alternating
        ``"alternating"`` is the scheme of the authors' code, for comparison with their numbers:
        no prior, no errors, stops after 100 steps. Its inputs are those of
        :class:`comparity.ranking.alternating.Alternating`.
    tolerance, seed : float, int
        Norm of the gradient to reach, and seed of the folds of cross-validation.

    Returns
    -------
    BiasedRanking
        Scores, order, biases with errors, z, p and q, mean and centred biases apart.

    Raises
    ------
    AnchorError, NoPriorError, OneGroupError, MissingValueError, PositionError
        What cannot be done and why.

    References
    ----------
    .. [1] Ferrara, Bonchi, Fabbri, Karimi and Wagner (2024), "Bias-aware ranking from pairwise
       comparisons", Data Mining and Knowledge Discovery, sections 4.1-4.3.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group, quality = np.repeat(["a", "b"], 20), np.tile(np.linspace(-2, 2, 20), 2)
    >>> pairs = np.array([rng.choice(40, 2, replace=False) for _ in range(1500)])
    >>> judge = np.arange(1500) % 3  # only judge 2 leans, toward group b
    >>> lean = np.where(judge == 2, 2.0, 0.0)[:, None] * (group[pairs] == "b")
    >>> seen = quality[pairs] + lean + rng.gumbel(size=pairs.shape)
    >>> pairs = np.where((seen[:, :1] > seen[:, 1:]), pairs, pairs[:, ::-1])
    >>> found = barp(pairs, evaluators=judge, sensitive_features=group)
    >>> found.q[:, 0] < 0.05
    array([False, False,  True])
    """
    measured = numbers_of(numbers)
    attributes: tuple[ItemAttribute, ...] = ()
    if sensitive_features is not None or not measured:
        attributes = attributes_of(sensitive_features, reference)
    contrasts = contrasts_of(
        attributes, chosen_intersections(intersections, attributes), numbers=measured
    )
    n_items = len(contrasts.columns)
    judgments = judgments_of(
        comparisons,
        n_items=n_items,
        evaluators=evaluators,
        ties=ties,
        seats=seats,
        cluster=cluster,
    )
    check_seats(judgments)
    scheme = scheme_of(mode)
    check_option("sharpness", sharpness, (AUTO, OWN, EQUAL))
    _check_panel(judgments, n_items, seat_by_evaluator=seat_by_evaluator)
    if scheme is not None:
        _check_unknown(
            {
                "ties": judgments.tied is not None,
                "seats": judgments.seat is not None,
                "anchor": not isinstance(anchor, str) or anchor != EQUAL_MEANS,
                "score_prior": score_prior != MARGINAL_LIKELIHOOD,
                "bias_prior": bias_prior != BIAS_SD,
                "score_dependent": score_dependent,
                "chance_between_groups": chance_between_groups,
                "lapse_rate": lapse_rate != 0.0,
                "cluster": bool(judgments.clusters),
                "sharpness='own'": sharpness == OWN,
                "intersections='suggest'": intersections == "suggest",
                "tolerance": tolerance != TOLERANCE,
                "numbers": bool(measured),
            }
        )
        return alternate(judgments, contrasts, scheme)
    wish = wish_of(score_prior, "scores", MARGINAL_LIKELIHOOD)
    if sharpness == OWN:
        _check_sharpness(wish, corrected=corrected, score_dependent=score_dependent)
    task = Task(
        judgments=judgments,
        columns=contrasts.columns,
        precision=contrasts.precision,
        anchor=anchor_of(anchor, judgments.evaluators),
        score_prior=wish,
        bias_prior=wish_of(bias_prior, "biases", BIAS_SD),
        seat_by_evaluator=seat_by_evaluator,
        tolerance=tolerance,
        seed=seed,
        corrected=corrected and not score_dependent and not math.isinf(wish.sd),
        sharpness=sharpness,
        lapses=read_lapses(lapse_rate, judgments, refusing=score_dependent),
    )
    if chance_between_groups and task.anchor.kind != EQUAL_MEANS:
        allowed = ["False", f"anchor={EQUAL_MEANS!r}, which alone assumes it of their means"]
        raise OptionError("chance_between_groups", True, allowed)
    found = _fit_panel(task, contrasts, intersections == "suggest", score_dependent)
    return _add_chance(found, contrasts.columns) if chance_between_groups else found


BARP = RankingModel(
    name="BARP",
    fit=barp,
    about="scores adjusted for the bias of each evaluator toward groups",
    source="Ferrara et al. (2024)",
    needs=("groups", "evaluators"),
    accepts=("ties", "seats", "score_prior", "seed", "biases", "cluster", "evaluators"),
)


def _fit_panel(
    task: Task, contrasts: Contrasts, suggesting: bool, score_dependent: bool
) -> BiasedRanking:
    """Fit the joint model, and what was asked for beside it."""
    check_trusted(task, contrasts)
    rows = rows_for(task)
    diagnosis = diagnose(task.judgments, rows, contrasts, trusted=task.anchor.trusted)
    check_finite(task, diagnosis)
    fitted, errors = fit_with_tastes(task, rows)
    fitted, errors, against = settle_level(fitted, errors, task.anchor)
    errors = without_unknown(errors, fitted.move, contrasts.attributes, diagnosis)
    result = _result(task, contrasts, fitted, errors, diagnosis)
    result = replace(result, notes=(*result.notes, *against))
    if suggesting:
        # Score tests look at the maximum of the likelihood.
        plain = replace(task, corrected=False, sharpness=EQUAL)
        plain_fit = fit(plain, rows) if task.corrected else fitted
        looked = suggest(contrasts.attributes, plain_fit)
        result = replace(result, suggestions=looked, notes=(*result.notes, words_on(looked)))
    if score_dependent:
        result = with_score_dependence(result, task.judgments, contrasts, fitted)
    return result


def _add_chance(ranking: BiasedRanking, columns: NDArray[Any]) -> BiasedRanking:
    """Return a ranking whose scores have the chance by which groups differ in their errors."""
    basis = np.column_stack([np.ones(len(columns)), columns.astype(np.float64)])
    chance = chance_covariance(ranking.scores, ranking.standard_errors, basis)
    shared = chance_of_scores(chance, basis)
    errors = np.sqrt(ranking.standard_errors**2 + (shared**2).sum(axis=1))
    return replace(ranking, standard_errors=errors, shared_errors=shared)


def _check_panel(judgments: Judgments, n_items: int, *, seat_by_evaluator: bool) -> None:
    """Refuse a panel whose evaluators, groups or seats are not all there."""
    if judgments.evaluator is None:
        raise OptionError("evaluators", None, ["one name for each comparison"])
    if judgments.n_items != n_items:
        found = f"{judgments.n_items:,} items, {n_items:,} groups"
        raise PositionError("sensitive_features", "one group for each item", found)
    if seat_by_evaluator and judgments.seat is None:
        raise OptionError(
            "seat_by_evaluator", True, [("comparisons with {}", Option("seats")), "False"]
        )
    for name, one in judgments.clusters.items():
        both = np.unique(judgments.evaluator.astype(np.int64) * len(one.names) + one.codes)
        if len(both) <= judgments.n_evaluators:
            why = "each evaluator judged in one cluster, and that alone tells of their biases"
            raise OptionError("cluster", name, ["the prompt", "what else they share"], why)


def _check_sharpness(wish: Wish, *, corrected: bool, score_dependent: bool) -> None:
    """Refuse what a sharpness of each evaluator leaves no room for."""
    own = ("no {} beside it", Option("sharpness"))
    if not wish.by_likelihood:
        why = "where each evaluator has a sharpness, scores have SD 1: it is their scale"
        raise OptionError("score_prior", wish.sd, [repr(MARGINAL_LIKELIHOOD), own], why)
    if not corrected:
        why = "the joint maximum of scores and sharpness is not consistent"
        raise OptionError("corrected", False, ["True", own], why)
    if score_dependent:
        raise OptionError("score_dependent", True, ["False", own], "that model has no sharpness")


def _check_unknown(asked: dict[str, bool]) -> None:
    """Refuse what the authors' scheme knows nothing of, rather than leave it without effect."""
    if unknown := [name for name, given in asked.items() if given]:
        allowed = ["'joint'", f"no {' and no '.join(unknown)} beside it"]
        raise OptionError("mode", "alternating", allowed)


def _result(
    task: Task, contrasts: Contrasts, fitted: Fit, errors: Errors, diagnosis: Diagnosis
) -> BiasedRanking:
    judgments, tested = task.judgments, equality_of(task, fitted)
    sharpness = None
    if fitted.has_sharpness:
        fitted, errors, sharpness = in_score_sds(fitted, errors)
    bias, own, chance = fitted.bias, errors.bias, np.zeros(fitted.bias.shape[1])
    if task.anchor.kind == EQUAL_MEANS:
        own_chance = np.diagonal(chance_covariance(fitted.scores, errors.scores, fitted.move.basis))
        chance[: len(own_chance)] = own_chance
    mean, null = bias.mean(axis=0), errors_if_zero(bias, own, sharpness)
    # A bias without an error is zero by assumption, whatever the groups.
    z, p, q = tests_of(bias, null)
    rows = fitted.objective.data.rows
    facts = fields_of_fit(judgments, fitted, errors, diagnosis)
    facts["notes"] += (*notes_on_lone(task, contrasts), *_notes_on_untested(own, diagnosis))
    facts["notes"] += (SEATS,) if rows.own_seats and len(task.anchor.trusted) else ()
    facts["notes"] += (CORRECTED,) if task.corrected and sharpness is None else ()
    facts["notes"] += (*words_on_sharpness(task, sharpness, tested),)
    facts["notes"] += (*words_on_lapses(task, lapses_of(fitted, errors)),)
    return BiasedRanking(
        model=BARP.name,
        **facts,
        unit="logits" if sharpness is None else "SDs",
        evaluators=judgments.evaluators,
        provenance={"anchor": task.anchor.kind, "seed": task.seed, "corrected": task.corrected},
        contrasts=(*contrasts.names, *((SEAT,) if rows.own_seats else ())),
        bias=bias,
        bias_standard_errors=own,
        z=z,
        p=p,
        q=q,
        cautious_standard_errors=np.where(own > 0, np.sqrt(own**2 + chance), own),
        cautious_q=tests_of(bias, np.where(null > 0, np.sqrt(null**2 + chance), null))[2],
        mean_bias=mean,
        mean_bias_standard_errors=np.sqrt(errors.level**2 + chance),
        level_standard_errors=np.sqrt(errors.gap**2 + chance[: len(errors.gap)]),
        centred_bias=bias - mean,
        centred_standard_errors=errors.centred,
        anchor=task.anchor.words,
        n_judged=np.bincount(rows.evaluator, minlength=rows.n_evaluators),
        n_informative=rows.leanings.sum(axis=2),
        sharpness=sharpness,
        equal_sharpness=tested,
        lapses=lapses_of(fitted, errors),
    )


def _notes_on_untested(errors: Floats, diagnosis: Diagnosis) -> Iterator[str]:
    """Warn of biases whose error is not known, other than those of groups never met."""
    if lost := int(np.isnan(np.delete(errors, diagnosis.unmet, axis=1)).sum()):
        yield (
            f"{lost:,} of {errors.size:,} biases have no error and are not tested: there are too "
            "many to find errors exactly, and too few items in a group to approximate them; "
            "join small groups, or rank fewer evaluators at a time."
        )
