"""A ranker and a regressor with pairwise goals, and what a goal costs at several slacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, clone

from comparity.errors import OptionError
from comparity.training.estimators import FairScorer
from comparity.training.result import TradeOff


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
        with pairs whose better item has the smaller one. For statistical parity, compare how often
        the item with the larger value has the larger score, and the smaller one.
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
    mixture : {"sparse", "uniform"}
        The best mixture of few candidates, or all of one game alike, as Theorem 1 of [1]_ has them.
    polish : bool
        Whether the best single model of the game is polished by L-BFGS on smoothed accuracies; what
        that goes through are candidates, too.
    adjust : {None, "shift", "monotone"}
        Train without the goal, and keep it by moving the scores of two groups against each other,
        by one number, or by a slope and a shift of one group (rankers only). ``predict`` needs the
        groups then. For the goal ``"cross-group"`` alone.
    average : {"pairs", "queries"}
        Whether pairs count alike, or every query: accuracies are means over queries then, as those
        of ``pairwise_accuracy(average="queries")``. For groups; not for ``"symmetric"`` and
        ``"statistical parity"``.
    pair_weight : {"equal", "difference"}
        Whether pairs count alike, or by the difference of their labels, as in
        :func:`comparity.pairwise_accuracy`; pairs of statistical parity count alike.
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
    adjustment_ : GroupMoves or None
        How scores are moved with `adjust`; there is no `stochastic_` then.

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


class FairRegressor(RegressorMixin, FairScorer):  # type: ignore[misc]
    r"""Predict by a model that orders kinds of pairs equally well.

    Minimises the mean squared error, over **all** pairs, under a goal for pairwise accuracies [1]_:

    .. math:: \min_f E (f(x) - y)^2 \quad \text{s.t.} \quad A_{i>j}(f) - A_{k>l}(f) \le \epsilon

    Every two rows with different labels are a pair. Parameters, attributes and method are those of
    :class:`comparity.FairRanker`, except that there is an intercept, that labels and predictions
    are measured in standard deviations of the labels where the hinge's `margin` is concerned, and
    that there is no robust form: a squared error and an accuracy have no common least.

    A squared error and an order are different things: with a tight slack it can pay to predict on
    a small scale.

    References
    ----------
    .. [1] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression",
       AAAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group, quality = rng.integers(0, 2, 2000), rng.normal(size=2000)
    >>> X = np.column_stack([quality, group]) + [0.8, 0.3] * rng.normal(size=(2000, 2))
    >>> model = FairRegressor(slack=0.05, steps=100, random_state=0)
    >>> training = model.fit(X, quality + group, sensitive_features=group).training_
    >>> training.start.largest_difference > 0.1, training.best.largest_difference <= 0.05
    (True, True)
    """

    _predicts_labels = True
    score = FairScorer.score


def trade_off(
    estimator: FairScorer,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    slacks: Sequence[float] = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2),
    queries: Any = None,
    sample_weight: Any = None,
) -> TradeOff:
    """Train at every slack and return what each costs, on rows held out.

    Parameters
    ----------
    estimator : FairRanker or FairRegressor
        Not changed; fix its `random_state` so that the same rows are held out every time.
    X, y, sensitive_features, queries, sample_weight
        As for its ``fit``.
    slacks : sequence of float
        In the order wanted; at least one.

    Returns
    -------
    TradeOff
        One training for each slack; ``plot()`` draws the curve. Slacks that no model keeps are
        marked, not warned of.

    Examples
    --------
    >>> from comparity import FairRanker
    >>> rng = np.random.default_rng(0)
    >>> group, y = rng.integers(0, 2, 1000), rng.integers(0, 2, 1000)
    >>> X = np.column_stack([y + 1.5 * group, y - group]) + rng.normal(size=(1000, 2))
    >>> ranker = FairRanker(steps=50, random_state=0)
    >>> curve = trade_off(ranker, X, y, sensitive_features=group, slacks=(0.01, 0.5))
    >>> curve.slacks, curve.trainings[0].best.accuracy < curve.trainings[1].best.accuracy
    ((0.01, 0.5), True)
    """
    if not np.size(slacks):
        raise OptionError("slacks", slacks, ["at least one"])
    if estimator.form == "robust" or not estimator.goal:
        why = "without a limit of differences every slack gives the same"
        raise OptionError("estimator", estimator, ["one with a goal, in the constrained form"], why)
    trainings = []
    for slack in np.atleast_1d(slacks).tolist():
        model = clone(estimator).set_params(slack=slack)
        model._fit(X, y, sensitive_features, queries, sample_weight)
        trainings.append(model.training_)
    return TradeOff(trainings=tuple(trainings))
