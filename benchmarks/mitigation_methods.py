"""The methods that are compared: ours, Fairlearn's, AIF360's, and baselines without a goal.

Each is fitted at a few strengths and gives decisions (or the probability that one is positive),
scores, or predictions of a number, on any rows. All are linear in the same standardised features,
the group among them; the base learner of the others is scikit-learn's logistic regression.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mitigation_data import Floats, Part, decision_facts
from mitigation_fits import NUMBER, ODDS, PARITY, SLACKS, Fit, Method, Output
from mitigation_regression import (
    blind_squares,
    fair_regressor,
    least_squares,
    shifted_squares,
    smooth_penalty,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from comparity import FairRanker, MetaFairClassifier
from comparity.training.group_moves import group_shift
from comparity.training.group_thresholds import group_thresholds
from comparity.training.score_transforms import match_histograms
from comparity.training.weigh import fair_balance, reweighing

RATIOS = (0.5, 0.7, 0.8, 0.9, 1.0)
GRID_SIZE = 40


def learner() -> LogisticRegression:
    """Return the base learner."""
    return LogisticRegression(max_iter=1000)


def of_learner(model: Any, *, blind: bool = False) -> dict[str, Output]:
    """Return decisions and scores of a fitted classifier."""

    def score(rows: Part) -> Floats:
        found: Floats = model.predict_proba(rows.blind if blind else rows.X)[:, 1]
        return found

    return {"decide": lambda rows: (score(rows) > 0.5).astype(float), "score": score}


def with_cut(score: Output, train: Part) -> dict[str, Output]:
    """Return scores, and decisions by the threshold with the fewest errors on training rows."""
    scores = score(train)
    order = np.argsort(scores, kind="stable")
    # Errors if the first k rows in order are refused.
    errors = np.append(0, np.cumsum(2 * train.y[order] - 1)) + (1 - train.y).sum()
    distinct = np.append(np.append(True, np.diff(scores[order]) > 0), True)
    best = int(np.where(distinct, errors, len(scores) + 1).argmin())
    ends = np.concatenate([[-np.inf], scores[order], [np.inf]])
    cut = (ends[best] + ends[best + 1]) / 2 if 0 < best < len(scores) else ends[best + (best > 0)]
    return {"decide": lambda rows: (score(rows) > cut).astype(float), "score": score}


def plain(train: Part) -> Iterator[Fit]:
    """Logistic regression."""
    yield Fit(**of_learner(learner().fit(train.X, train.y)))


def group_blind(train: Part) -> Iterator[Fit]:
    """Logistic regression without the group among the features."""
    yield Fit(**of_learner(learner().fit(train.blind, train.y), blind=True))


def weighed(weights: Callable[..., Any]) -> Callable[[Part], Iterator[Fit]]:
    """Logistic regression on weighted rows."""

    def fit(train: Part) -> Iterator[Fit]:
        many = np.asarray(weights(train.y, sensitive_features=train.group))
        yield Fit(**of_learner(learner().fit(train.X, train.y, sample_weight=many)))

    return fit


def fair_ranker(goal: str) -> Callable[[Part], Iterator[Fit]]:
    """Return our ranker, whose decisions are its scores cut at one threshold for all."""

    def fit(train: Part) -> Iterator[Fit]:
        for slack in SLACKS:
            model = FairRanker(goal=goal, slack=slack, random_state=0, progress=False)
            model.fit(train.X, train.y, sensitive_features=train.group)
            one = with_cut(lambda rows, model=model: model.predict(rows.X), train)
            yield Fit(strength=slack, slack=slack, **one)

    return fit


def meta_fair(train: Part) -> Iterator[Fit]:
    """Return our meta fair classifier at several ratios."""
    for ratio in RATIOS:
        model = MetaFairClassifier(tau=ratio).fit(train.X, train.y, sensitive_features=train.group)
        yield Fit(
            strength=ratio,
            decide=lambda rows, model=model: model.predict(rows.X).astype(float),
            score=lambda rows, model=model: model.decision_function(rows.X),
        )


def by_group(train: Part) -> Iterator[Fit]:
    """Logistic regression of each group by itself."""
    models = [learner().fit(train.X[of], train.y[of]) for of in members(train)]

    def score(rows: Part) -> Floats:
        found = np.empty(len(rows.y))
        for model, of in zip(models, members(rows), strict=True):
            found[of] = model.predict_proba(rows.X[of])[:, 1]
        return found

    yield Fit(decide=lambda rows: (score(rows) > 0.5).astype(float), score=score)


def members(rows: Part) -> list[Any]:
    """Return the rows of both groups."""
    return [rows.group == 0, rows.group == 1]


def unseen_scores(train: Part) -> Floats:
    """Return scores of training rows by regressions that were not trained on them."""
    found: Floats = cross_val_predict(learner(), train.X, train.y, method="decision_function")
    return found


def shifted(train: Part) -> Iterator[Fit]:
    """Logistic regression whose scores are shifted by group."""
    model, scores = learner().fit(train.X, train.y), unseen_scores(train)
    for slack in SLACKS:
        found = group_shift(train.y, scores, sensitive_features=train.group, slack=slack)

        def score(rows: Part, found: Any = found) -> Floats:
            moved: Floats = found.transform(
                model.decision_function(rows.X), sensitive_features=rows.group
            )
            return moved

        yield Fit(strength=slack, slack=slack, **with_cut(score, train))


def decided(goal: str) -> Callable[[Part], Iterator[Fit]]:
    """Return logistic regression with a threshold for each group; scores are what is above it."""

    def fit(train: Part) -> Iterator[Fit]:
        model, scores = learner().fit(train.X, train.y), unseen_scores(train)
        for slack in SLACKS:
            found = group_thresholds(
                train.y, scores, sensitive_features=train.group, goal=goal, slack=slack
            )
            cuts = np.array([found.thresholds[name] for name in found.groups])

            def score(rows: Part, cuts: Floats = cuts) -> Floats:
                return np.nan_to_num(model.decision_function(rows.X) - cuts[rows.group])

            yield Fit(
                strength=slack,
                slack=slack,
                decide=lambda rows, score=score: (score(rows) > 0).astype(float),
                score=score,
            )

    return fit


def matched(train: Part) -> Iterator[Fit]:
    """Logistic regression whose scores get one distribution in all groups."""
    model = learner().fit(train.X, train.y)
    found = match_histograms(model.decision_function(train.X), sensitive_features=train.group)

    def score(rows: Part) -> Floats:
        moved: Floats = found.transform(
            model.decision_function(rows.X), sensitive_features=rows.group
        )
        return moved

    yield Fit(strength=0.0, slack=0.0, **with_cut(score, train))


def constraint(family: str, slack: float) -> Any:
    """Return Fairlearn's constraint."""
    from fairlearn.reductions import DemographicParity, EqualizedOdds

    return (DemographicParity if family == PARITY else EqualizedOdds)(difference_bound=slack)


def exponentiated(family: str) -> Callable[[Part], Iterator[Fit]]:
    """Return Fairlearn's reduction; decisions and scores are probabilities of its mixture."""

    def fit(train: Part) -> Iterator[Fit]:
        from fairlearn.reductions import ExponentiatedGradient

        for slack in SLACKS:
            model = ExponentiatedGradient(learner(), constraint(family, slack))
            model.fit(train.X, train.y, sensitive_features=train.group)

            def share(rows: Part, model: Any = model) -> Floats:
                found: Floats = model._pmf_predict(rows.X)[:, 1]
                return found

            yield Fit(strength=slack, slack=slack, decide=share, score=share)

    return fit


def grid(family: str) -> Callable[[Part], Iterator[Fit]]:
    """Return Fairlearn's grid; for each slack the least training error within it."""

    def fit(train: Part) -> Iterator[Fit]:
        from fairlearn.reductions import GridSearch

        notion = "demographic parity" if family == PARITY else "equalized odds"
        search = GridSearch(learner(), constraint(family, 0.0), grid_size=GRID_SIZE)
        search.fit(train.X, train.y, sensitive_features=train.group)
        models = search.predictors_
        decided = [model.predict(train.X).astype(float) for model in models]
        facts = [decision_facts(one, train)[notion] for one in decided]
        for slack in SLACKS:
            within = [place for place, one in enumerate(facts) if one["violation"] <= slack]
            nearest = min(range(len(facts)), key=lambda place: facts[place]["violation"])
            best = min(within, key=lambda place: facts[place]["loss"], default=nearest)
            yield Fit(strength=slack, slack=slack, **of_proba(models[best]))

    return fit


def of_proba(model: Any) -> dict[str, Output]:
    """Return decisions and scores of a member of the grid, which may be a constant."""

    def decide(rows: Part) -> Floats:
        return np.asarray(model.predict(rows.X), dtype=np.float64)

    if not hasattr(model, "predict_proba"):
        return {"decide": decide, "score": decide}
    return {"decide": decide, "score": lambda rows: model.predict_proba(rows.X)[:, -1]}


def thresholds(family: str) -> Callable[[Part], Iterator[Fit]]:
    """Return Fairlearn's thresholds by group; scores are probabilities of a positive decision."""

    def fit(train: Part) -> Iterator[Fit]:
        from fairlearn.postprocessing import ThresholdOptimizer

        asked = "demographic_parity" if family == PARITY else "equalized_odds"
        base = learner().fit(train.X, train.y)
        model = ThresholdOptimizer(
            estimator=base, constraints=asked, prefit=True, predict_method="predict_proba"
        )
        model.fit(train.X, train.y, sensitive_features=train.group)

        def share(rows: Part) -> Floats:
            found: Floats = model._pmf_predict(rows.X, sensitive_features=rows.group)[:, 1]
            return found

        yield Fit(strength=0.0, slack=0.0, decide=share, score=share)

    return fit


def labelled(rows: Part) -> Any:
    """Return rows as AIF360 takes them, with the group as one of the columns."""
    logging.disable(logging.WARNING)
    from aif360.datasets import BinaryLabelDataset

    names = [f"x{place}" for place in range(rows.blind.shape[1])]
    frame = pd.DataFrame(rows.blind, columns=names).assign(group=rows.group, label=rows.y)
    return BinaryLabelDataset(
        df=frame.astype(float), label_names=["label"], protected_attribute_names=["group"]
    )


def aif_reweighing(train: Part) -> Iterator[Fit]:
    """Logistic regression on AIF360's weights."""
    data = labelled(train)
    from aif360.algorithms.preprocessing import Reweighing

    sides: Any = [[{"group": side}] for side in (0.0, 1.0)]
    weights = Reweighing(*sides).fit_transform(data).instance_weights
    yield Fit(**of_learner(learner().fit(train.X, train.y, sample_weight=weights)))


def prejudice_remover(train: Part) -> Iterator[Fit]:
    """Return AIF360's prejudice remover, which starts a process for each fit and prediction."""
    data = labelled(train)
    from aif360.algorithms.inprocessing import PrejudiceRemover

    # The process is started by the name of Python alone.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for eta in (1.0, 25.0):
        model = PrejudiceRemover(eta=eta, sensitive_attr="group", class_attr="label").fit(data)
        scores: dict[int, Floats] = {}

        def score(rows: Part, model: Any = model, scores: Any = scores) -> Floats:
            if id(rows) not in scores:
                scores[id(rows)] = model.predict(labelled(rows)).scores.reshape(-1)
            found: Floats = scores[id(rows)]
            return found

        yield Fit(
            strength=eta,
            decide=lambda rows, score=score: (score(rows) > 0.5).astype(float),
            score=score,
        )


def aif_meta_fair(train: Part) -> Iterator[Fit]:
    """Return AIF360's meta fair classifier; the group as a feature would end it with an error."""
    data = labelled(train)
    from aif360.algorithms.inprocessing import MetaFairClassifier as Theirs

    data.features = data.features[:, :-1]
    model = Theirs(tau=0.8, sensitive_attr="group", type="sr", seed=0).fit(data)

    def score(rows: Part) -> Floats:
        return np.asarray(model.model(rows.blind)).reshape(-1)

    yield Fit(strength=0.8, decide=lambda rows: (score(rows) > 0).astype(float), score=score)


BOTH = (PARITY, ODDS)
OURS, BASELINE = "comparity", "baseline"
FAIRLEARN, AIF360, PEER = "Fairlearn", "AIF360", "smooth penalty"
METHODS = (
    Method(name="plain", package=BASELINE, families=BOTH, fit=plain),
    Method(name="group-blind", package=BASELINE, families=BOTH, fit=group_blind),
    Method(name="by group", package=BASELINE, families=BOTH, fit=by_group),
    Method(
        name="FairRanker, cross-group",
        package=OURS,
        families=(ODDS,),
        fit=fair_ranker("cross-group"),
    ),
    Method(
        name="FairRanker, statistical parity",
        package=OURS,
        families=(PARITY,),
        fit=fair_ranker("statistical parity"),
    ),
    Method(name="MetaFairClassifier", package=OURS, families=(PARITY,), fit=meta_fair),
    Method(name="group_shift", package=OURS, families=(ODDS,), fit=shifted),
    Method(
        name="group_thresholds, parity",
        package=OURS,
        families=(PARITY,),
        fit=decided("demographic parity"),
    ),
    Method(
        name="group_thresholds, odds", package=OURS, families=(ODDS,), fit=decided("equalized odds")
    ),
    Method(name="match_histograms", package=OURS, families=(PARITY,), fit=matched),
    Method(name="reweighing", package=OURS, families=BOTH, fit=weighed(reweighing)),
    Method(name="fair_balance", package=OURS, families=BOTH, fit=weighed(fair_balance)),
    *(
        Method(name=f"{name}, {asked}", package=FAIRLEARN, families=(family,), fit=make(family))
        for name, make in (
            ("ExponentiatedGradient", exponentiated),
            ("GridSearch", grid),
            ("ThresholdOptimizer", thresholds),
        )
        for family, asked in ((PARITY, "parity"), (ODDS, "odds"))
    ),
    Method(name="Reweighing", package=AIF360, families=BOTH, fit=aif_reweighing),
    Method(
        name="PrejudiceRemover",
        package=AIF360,
        families=(PARITY,),
        fit=prejudice_remover,
    ),
    Method(
        name="MetaFairClassifier ",
        package=AIF360,
        families=(PARITY,),
        fit=aif_meta_fair,
    ),
    Method(name="least squares", package=BASELINE, families=(NUMBER,), fit=least_squares),
    Method(
        name="least squares, group-blind", package=BASELINE, families=(NUMBER,), fit=blind_squares
    ),
    Method(name="FairRegressor", package=OURS, families=(NUMBER,), fit=fair_regressor),
    Method(name="group_shift, regression", package=OURS, families=(NUMBER,), fit=shifted_squares),
    Method(name="smooth penalty", package=PEER, families=(NUMBER,), fit=smooth_penalty),
)
# Fits that do not converge, and what others will no longer support, are not the subject here.
warnings.filterwarnings("ignore")
