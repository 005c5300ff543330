"""A ranker with pairwise goals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counting._values import as_array, check_lengths, group_codes, numbers
from comparity.counting.all_pairs import cell_counts
from comparity.counting.query_pairs import query_pairs
from comparity.mitigation.estimators import FairScorer, weighed
from comparity.mitigation.losses import labelled_pairs

__all__ = ["FairRanker"]

Floats = NDArray[np.float64]


class FairRanker(FairScorer):
    r"""Rank by a score that treats kinds of pairs alike.

    Maximises the share of pairs that scores order as labels do, over **all** pairs, under a goal
    for the accuracies :math:`A_{i>j}` of pairs with the better item in group i and the worse in j
    [1]_. The constrained form, equation (12), limits every difference to the slack:

    .. math:: \max_f AUC(f) \quad \text{s.t.} \quad A_{i>j}(f) - A_{k>l}(f) \le \epsilon

    The robust form, equation (13), raises the least rate; with several goals, the sum of the least
    rates of each:

    .. math:: \max_f \min\{AUC(f), A_{i>j}(f), \dots\}

    A model and a referee move in turns: the model takes gradient steps on hinges, the referee sees
    true rates. A step costs about a sort of the scores. What the model went through are the
    candidates; the best single one (`model_`) and the best mixture of at most one more than there
    are constraints (`stochastic_`) are chosen with the help of rows held out.

    Parameters
    ----------
    scorer : {"linear", "neural", "boosted"}, NeuralNetwork or BoostedTrees
        What is trained: a linear score, a network (extra ``torch``) or boosted trees (extra
        ``boosting``); see :class:`comparity.NeuralNetwork` and :class:`comparity.BoostedTrees` for
        their own parameters, which are reached as ``scorer__hidden`` and so on.
    goal : str, tuple of str or None
        ``"cross-group"`` (:math:`A_{i>j}` alike for all :math:`i \ne j`), ``"within-group"``
        (:math:`A_{i>i}`), ``"marginal"`` (:math:`A_{i>:}`, any worse item), ``"all cells"``,
        ``"symmetric"`` (:math:`A_{i>:} + A_{:>i}`), ``"statistical parity"`` (how often an item of
        one group is above one of another, whatever their labels), or several. None for no goal.
    slack : float
        Largest difference allowed.
    form : {"constrained", "robust"}
        Limit differences, or raise the least rate.
    with_overall : bool, optional
        Whether the overall accuracy is among the rates whose least is raised; by default with one
        goal, and not with several.
    continuous : bool
        The sensitive attribute is a number: compare pairs whose better item has the larger value
        with pairs whose better item has the smaller one.
    no_group : optional
        The value that marks items in no group: they count in marginals and overall. A number has
        no groups, and so no such value.
    margin : float
        Difference of scores from which on an order is safe for the hinge.
    loss : {"hinge", "squared hinge"}
        What the model's steps are taken on.
    l2 : float
        Weight of the squared coefficients of standardised features, of the squared weights of a
        network's layers, or of the squared values of leaves.
    steps : int
        Moves of each player; the number of trees.
    step_sizes : float or tuple of float
        How far the model moves: the learning rate of trees, and of Adam times the square root of
        the number of parameters. Candidates of several are chosen from together.
    referee_rate : float
        How far the referee moves. Large rates make models wander farther.
    snapshots : int
        Candidates kept of each game.
    validation_fraction : float
        Share of rows, or of queries, held out to choose by; 0 to choose on the training rows.
    random_state : int, RandomState or None
        What is held out, and what a network starts from.
    progress : bool
        Show a bar on a terminal.

    Attributes
    ----------
    model_ : Model
        The best single model; ``model_.scores(X)`` scores by it.
    coef_ : ndarray, (p,)
        Its coefficients, where it is linear.
    intercept_ : float
        Zero: an order has no level. Only where it is linear.
    stochastic_ : StochasticScorer
        The best mixture: its ``predict`` draws a member, and scores by it.
    training_ : Training
        What was asked and what came out; prints well. ``training_.feasible`` says whether the
        mixture keeps the goal, ``training_.single_misses`` whether it alone does, and not `model_`.
    groups_ : tuple of str
        The groups.

    References
    ----------
    .. [1] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression",
       AAAI 2020.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group, y = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    >>> X = np.column_stack([y + 1.5 * group, y]) + rng.normal(size=(4000, 2))
    >>> ranker = FairRanker(slack=0.05, steps=100, random_state=0)
    >>> training = ranker.fit(X, y, sensitive_features=group).training_
    >>> training.start.largest_difference > 0.1, training.best.largest_difference <= 0.05
    (True, True)
    """

    def score(self, X: Any, y: Any, queries: Any = None, sample_weight: Any = None) -> float:
        """Return the share of pairs ordered as labels say; equal scores are not.

        Parameters
        ----------
        X, y, queries, sample_weight
            As for ``fit``.

        Returns
        -------
        float
            From 0 to 1, and ``nan`` where no two labels differ. Groups play no part, so that a
            search by it prefers what keeps the goal least; the guide to training shows another.
        """
        given = {"y": numbers(as_array(y, "y"), "y", "item")}
        given["X"] = scores = self.predict(X)
        if queries is not None:
            given["queries"] = as_array(queries, "queries")
        check_lengths(given)
        if sample_weight is not None:
            return _weighted_share(scores, given["y"], queries, sample_weight)
        nobody = np.zeros(len(scores), dtype=np.int64)
        if queries is None:
            trials, hits, _ = cell_counts(given["y"], scores, nobody, 1)
            return _share(hits[0, 0], trials[0, 0])
        query = group_codes(given["queries"], "queries", "item", several=False)[0]
        counted = query_pairs(given["y"], scores, nobody, ("all",), query).sharing
        return _share(counted.hits[0], counted.trials[0])


def _weighted_share(scores: Floats, y: Floats, queries: Any, weights: Any) -> float:
    """Return the share of the weight of all pairs; a pair weighs the product of its two rows."""
    column, given = weighed(scores[:, None], y, {"queries": queries}, weights)
    nobody, query = np.zeros(len(column), dtype=np.int64), None
    if queries is not None:
        query = group_codes(given["queries"], "queries", "item", several=False)[0]
    pairs = labelled_pairs(
        given["y"], nobody, ("all",), query=query, weights=given["sample_weight"]
    )
    return float(pairs.sums(column[:, 0]).accuracy[0])


def _share(hits: float, trials: float) -> float:
    return float(hits / trials) if trials else math.nan
