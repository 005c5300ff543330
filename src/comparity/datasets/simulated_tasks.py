r"""Studies in which some judges rate items and others compare pairs, whose truth is known.

Items have a quality :math:`q_i \sim N(0, 1)` and belong to group ``"a"`` or ``"b"``; a model scores
them :math:`s_i = q_i + \sigma_m \varepsilon_i`, less a `penalty` in group ``"b"``. A judge
perceives :math:`p = q_i + \lambda_j [i \in b] + \sigma \varepsilon`, independently at every look,
with a lean :math:`\lambda_j \sim N(0, \tau^2)`. Raters answer with a point of a scale: perceived
quality cut at equal distances. Those who compare perceive both items, each with the noise of their
task, and choose the better one. With ``cut=True`` they see either item as a point of the scale, and
tie where both are equal: a comparison then is exactly what two ratings imply, so that nothing but
noise and time tell the tasks apart. Times are log-normal, within and between judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Table = Mapping[str, Any]

WIDTH = 0.6
"""Distance of two points of the scale, in standard deviations of quality."""
WITHIN_SPREAD = 0.5
"""Standard deviation, within a judge, of the logarithm of the time."""
QUESTIONS = ("thinking", "hurry", "difficulty", "certainty", "tiredness", "annoyance")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedTasks:
    """Tables as ``comparity collect export`` writes them, as mappings of columns."""

    comparisons: Table
    ratings: Table
    items: Table
    questionnaire: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class _Person:
    """One judge, who perceives items and takes time."""

    name: str
    lean: float
    noise: float
    pace: float
    rng: np.random.Generator

    def perceive(self, quality: Floats, in_b: NDArray[np.bool_]) -> Floats:
        """Look at items, each independently."""
        return quality + self.lean * in_b + self.noise * self.rng.normal(size=quality.shape)

    def times(self, n: int) -> NDArray[np.int64]:
        """Return milliseconds whose geometric mean is the judge's pace."""
        spread = np.exp(WITHIN_SPREAD * self.rng.normal(size=n))
        return np.maximum(np.rint(1000 * self.pace * spread), 1).astype(np.int64)


def simulate_tasks(
    *,
    n_judges: int = 40,
    n_items: int = 60,
    each: int = 40,
    each_rated: int = 40,
    repeats: int = 4,
    noise: tuple[float, float] = (0.7, 0.7),
    seconds: tuple[float, float] = (6.0, 9.8),
    effort: tuple[float, float] = (4.0, 4.0),
    pace_spread: float = 0.4,
    lean_spread: float = 0.2,
    model_error: float = 0.8,
    penalty: float = 0.0,
    scale: int = 7,
    cut: bool = False,
    rng: np.random.Generator,
) -> SimulatedTasks:
    """Simulate a study of both tasks, half of the judges each.

    Parameters
    ----------
    n_judges, n_items : int
    each, each_rated : int
        Comparisons and ratings asked of each judge, without repeats.
    repeats : int
        How many of them come back to the same judge.
    noise, seconds, effort : (float, float)
        Of ratings and of comparisons: noise of one look, geometric mean of the seconds for an
        answer, and what judges say of the effort on average.
    pace_spread, lean_spread : float
        Standard deviations between judges: of the logarithm of the time, and of leans.
    model_error, penalty : float
        Noise of the model, and what it takes off the scores of group ``"b"``.
    scale : int
        Points of the scale of ratings.
    cut : bool
        Whether those who compare see either item as a point of the scale.
    rng : numpy.random.Generator

    Examples
    --------
    >>> study = simulate_tasks(n_judges=4, rng=np.random.default_rng(0))
    >>> len(study.ratings["rating"]), len(study.comparisons["winner"]), len(study.items["item"])
    (88, 88, 60)
    """
    quality = rng.normal(size=n_items)
    in_b = np.arange(n_items) % 2 == 1
    score = quality + model_error * rng.normal(size=n_items) - penalty * in_b
    names = np.array([f"item {place}" for place in range(n_items)], dtype=object)
    rated, compared, said = [], [], []
    for number in range(n_judges):
        task = number % 2
        judge = _Person(
            name=f"judge {number + 1}",
            lean=lean_spread * float(rng.normal()),
            noise=noise[task],
            pace=seconds[task] * float(np.exp(pace_spread * rng.normal())),
            rng=rng,
        )
        if task == 0:
            rated.append(_rate(judge, quality, in_b, each_rated, repeats, scale))
        else:
            compared.append(_compare(judge, quality, in_b, each, repeats, scale if cut else 0))
        said.append(_answer(judge, effort[task], ("rate", "compare")[task]))
    ratings, comparisons = _join(rated), _join(compared)
    return SimulatedTasks(
        comparisons={**comparisons, **{s: names[comparisons[s]] for s in ("left", "right")}},
        ratings={**ratings, "item": names[ratings["item"]]},
        items={"item": names, "group": np.where(in_b, "b", "a").astype(object), "score": score},
        questionnaire=_join(said),
    )


def _points(perceived: Floats, scale: int) -> Floats:
    return np.clip(np.rint(perceived / WIDTH + (scale + 1) / 2), 1, scale)


def _rate(
    judge: _Person, quality: Floats, in_b: NDArray[np.bool_], each: int, repeats: int, scale: int
) -> Table:
    first = judge.rng.choice(len(quality), min(each, len(quality)), replace=False)
    item = np.concatenate([first, first[:repeats]])
    return {
        "item": item,
        "rating": _points(judge.perceive(quality[item], in_b[item]), scale).astype(np.int64),
        "evaluator": np.full(len(item), judge.name, dtype=object),
        "milliseconds": judge.times(len(item)),
        "repeated": np.arange(len(item)) >= len(first),
    }


def _compare(
    judge: _Person, quality: Floats, in_b: NDArray[np.bool_], each: int, repeats: int, scale: int
) -> Table:
    first = np.array([judge.rng.choice(len(quality), 2, replace=False) for _ in range(each)])
    shown = np.concatenate([first, first[:repeats, ::-1]])
    perceived = judge.perceive(quality[shown], in_b[shown])
    if scale:
        perceived = _points(perceived, scale)
    order = np.sign(perceived[:, 0] - perceived[:, 1]).astype(int)
    return {
        "left": shown[:, 0],
        "right": shown[:, 1],
        "winner": np.array(["tie", "left", "right"], dtype=object)[order],
        "evaluator": np.full(len(shown), judge.name, dtype=object),
        "milliseconds": judge.times(len(shown)),
        "swapped": np.arange(len(shown)) >= each,
    }


def _answer(judge: _Person, effort: float, task: str) -> Table:
    """Return what a judge says of the effort, in whole points."""
    own = effort + judge.rng.normal()
    told = np.clip(np.rint(own + judge.rng.normal(size=len(QUESTIONS))), 1, 7).astype(np.int64)
    n = len(QUESTIONS)
    return {
        "evaluator": np.full(n, judge.name, dtype=object),
        "task": np.full(n, task, dtype=object),
        "question": np.array(QUESTIONS, dtype=object),
        "answer": np.where(np.array(QUESTIONS) == "certainty", 8 - told, told),
    }


def _join(tables: list[Table]) -> dict[str, Any]:
    return {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}
