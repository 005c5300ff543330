r"""A simulated hiring panel whose truth is known.

Every number an audit estimates from it can be worked out exactly, so it shows what an audit finds
beside what there is to find.

The model. Applicant :math:`i` is a woman (:math:`f_i = 1`) or a man, and has quality
:math:`q_i \sim N(0, 1)`, alike in both groups. The reference decision hires who has
:math:`q_i > 0`. A model scores :math:`s_i = q_i - b f_i + \sigma u_i` and hires who has
:math:`s_i > 0`; its *bias* :math:`b` is known. Judge :math:`k` shown :math:`i` and :math:`j`
perceives

.. math:: d = q_i - q_j + l_k (f_i - f_j) + \tau v, \qquad l_k \sim N(0, \lambda^2),

puts :math:`i` first if :math:`d > t`, :math:`j` first if :math:`d < -t`, and calls a tie otherwise.
All of :math:`u, v` are standard normal. Judges lean, but not all to one side.

So score difference and perceived difference are jointly normal, and every rate is a ratio of
normal orthant probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts import Cell

__all__ = ["Panel", "PanelModel", "simulate_panel"]

GROUPS = ("f", "m")


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelModel:
    """The assumptions of a simulated panel.

    Attributes
    ----------
    bias : float
        What the model takes off the score of every woman, in standard deviations of quality.
    score_noise : float
        Standard deviation of the model's error.
    judge_noise : float
        Standard deviation of a judge's error about a pair.
    lean : float
        Standard deviation over judges of what they add to women.
    tie_width : float
        Perceived differences up to this size are called a tie.
    """

    bias: float = 0.0
    score_noise: float = 0.6
    judge_noise: float = 0.6
    lean: float = 0.1
    tie_width: float = 0.1

    def agreement(self, cell: Cell) -> float:
        """Return how often the model agrees with judges who put one item first, exactly.

        Examples
        --------
        >>> even = PanelModel()
        >>> even.agreement(Cell("f", "m")) == even.agreement(Cell("m", "f"))
        True
        >>> PanelModel(bias=0.5).agreement(Cell("f", "m")) < even.agreement(Cell("f", "m"))
        True
        """
        side = (cell.better == "f") - (cell.worse == "f")
        judge_variance = 2 + self.judge_noise**2 + (self.lean * side) ** 2
        score_variance = 2 + 2 * self.score_noise**2
        return _conditional(
            threshold=self.tie_width / np.sqrt(judge_variance),
            shift=-self.bias * side / np.sqrt(score_variance),
            correlation=2 / np.sqrt(judge_variance * score_variance),
        )

    def true_positive_rate(self, group: str) -> float:
        """Return the share of hired applicants of a group whom the model hires, exactly."""
        return _conditional(threshold=0.0, **self._scores(group))

    def false_positive_rate(self, group: str) -> float:
        """Return the share of other applicants of a group whom the model hires, exactly."""
        # Quality is symmetric: those below 0 are those above 0 with the sign turned.
        scores = self._scores(group)
        return 1 - _conditional(
            threshold=0.0, shift=-scores["shift"], correlation=scores["correlation"]
        )

    def gaps(self) -> dict[str, float]:
        """Return the true gap of every hypothesis the two audits test, by the hypothesis.

        Examples
        --------
        >>> [null for null, gap in PanelModel(bias=0.35).gaps().items() if gap < -0.01]
        ['TPR(f) = TPR(m)', 'FPR(f) = FPR(m)', 'agree(f > m) = agree(m > f)']
        """
        first, second = GROUPS
        across = Cell(first, second), Cell(second, first)
        within = Cell(first, first), Cell(second, second)
        rates = {"TPR": self.true_positive_rate, "FPR": self.false_positive_rate}
        pointwise = {
            f"{name}({first}) = {name}({second})": rate(first) - rate(second)
            for name, rate in rates.items()
        }
        judged = {
            f"agree({one}) = agree({other})": self.agreement(one) - self.agreement(other)
            for one, other in (across, within)
        }
        return pointwise | judged

    def _scores(self, group: str) -> dict[str, float]:
        deviation = float(np.sqrt(1 + self.score_noise**2))
        return {"shift": -self.bias * (group == "f") / deviation, "correlation": 1 / deviation}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A simulated panel as plain columns.

    Attributes
    ----------
    decisions : mapping of str to ndarray
        ``item``, ``sex``, ``hired`` (0 or 1), and for each model what it decides (0 or 1).
    items : mapping of str to ndarray
        ``item``, ``sex``, and for each model its score.
    judgments : mapping of str to ndarray
        ``judge``, ``left``, ``right``, and ``winner``: ``"left"``, ``"right"`` or ``"tie"``.
    models : mapping of str to PanelModel
        What is true of each model.
    """

    decisions: Mapping[str, NDArray[Any]]
    items: Mapping[str, NDArray[Any]]
    judgments: Mapping[str, NDArray[Any]]
    models: Mapping[str, PanelModel]


def simulate_panel(
    models: Mapping[str, PanelModel],
    *,
    n_items: int,
    n_judges: int,
    n_judgments: int,
    rng: np.random.Generator,
) -> Panel:
    """Draw applicants, the decisions of models about them, and judgments of pairs of them.

    Parameters
    ----------
    models : mapping of str to PanelModel
        Models by name. They see the same applicants and are compared with the same judges, so they
        may differ in bias and score noise only.
    n_items, n_judges, n_judgments : int
        Applicants, judges, and judgments in all. Pairs are drawn at random, never of an applicant
        with herself, and dealt out to the judges evenly.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Panel
        The columns and what is true of them.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> panel = simulate_panel(
    ...     {"model": PanelModel(bias=0.5)}, n_items=100, n_judges=5, n_judgments=400, rng=rng
    ... )
    >>> sorted(panel.judgments), len(panel.judgments["winner"])
    (['judge', 'left', 'right', 'winner'], 400)
    """
    panel = next(iter(models.values()))
    woman = rng.random(n_items) < 0.5
    quality = rng.normal(size=n_items)
    item = np.array([f"a{number:05d}" for number in range(1, n_items + 1)])
    sex = np.where(woman, *GROUPS)
    scores = {
        name: quality - one.bias * woman + one.score_noise * rng.normal(size=n_items)
        for name, one in models.items()
    }
    left = rng.integers(n_items, size=n_judgments)
    # A shift of 1 to n - 1 places never leads back to the same applicant.
    right = (left + rng.integers(1, n_items, size=n_judgments)) % n_items
    judge = np.arange(n_judgments) % n_judges
    leans = panel.lean * rng.normal(size=n_judges)
    perceived = (
        quality[left]
        - quality[right]
        + leans[judge] * (woman[left].astype(float) - woman[right])
        + panel.judge_noise * rng.normal(size=n_judgments)
    )
    decided = np.where(perceived > 0, "left", "right")
    winner = np.where(np.abs(perceived) > panel.tie_width, decided, "tie")
    names = np.array([f"j{number:03d}" for number in range(1, n_judges + 1)])
    hired = {name: (score > 0).astype(int) for name, score in scores.items()}
    return Panel(
        decisions={"item": item, "sex": sex, "hired": (quality > 0).astype(int), **hired},
        items={"item": item, "sex": sex, **{name: np.round(s, 6) for name, s in scores.items()}},
        judgments={
            "judge": names[judge],
            "left": item[left],
            "right": item[right],
            "winner": winner,
        },
        models=dict(models),
    )


def _conditional(*, threshold: float, shift: float, correlation: float) -> float:
    """Return P(Z + shift > 0 | W > threshold) of standard normal Z, W with a correlation."""
    from scipy.stats import multivariate_normal, norm

    # Turned round, because the distribution function speaks of "less than".
    law = multivariate_normal(cov=[[1, correlation], [correlation, 1]])
    return float(law.cdf([shift, -threshold]) / norm.cdf(-threshold))
