"""Frozen rankings: scores fitted to comparisons, with their error, and who of the evaluators leans.

Every ranker returns a :class:`Ranking`; those that give each evaluator a bias return a
:class:`BiasedRanking`. Items and evaluators are in the order of their positions; their names are
whatever the caller's table calls them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from comparity.inference.anytime import anytime_p_values
from comparity.inference.multiplicity import benjamini_hochberg
from comparity.ranking.connectivity import Diagnosis
from comparity.ranking.fits import (
    SEAT,
    Effect,
    EqualSharpness,
    GroupContrast,
    ModelFit,
    Prior,
    ScoreDependence,
    Sharpness,
    Suggestion,
)
from comparity.ranking.intervals import (
    LEAN_VARIANCE,
    normal_intervals,
    rank_intervals,
    ratio_intervals,
)
from comparity.results.plain import Columns
from comparity.results.result import Result, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.ranking.judgments import Judgments
    from comparity.reports.sections import Section

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _no_names() -> NDArray[Any]:
    return np.empty(0, dtype=object)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking(Result):
    """Scores of items from comparisons, better items higher.

    Attributes
    ----------
    model : str
        ``"Bradley-Terry"``, ``"BARP"``, ``"CrowdBT"``, ...
    items : ndarray
        Names of the items, by position.
    scores : ndarray
        In the `unit`; the mean of scores in logits is zero.
    standard_errors : ndarray
        Of the scores about their mean; ``nan`` where the model gives none.
    log_likelihood, converged : float, bool
        At the fit, without the prior's part, and whether the gradient met its tolerance.
    n_comparisons, n_ties : int
        Comparisons in all, and ties among them.
    diagnosis : Diagnosis
        What the graph of comparisons can tell.
    priors : tuple of Prior
        Every prior used.
    seat, ties : Effect or None
        Effect of being shown first, and the logarithm of the tie parameter, where fitted.
    evaluators : ndarray
        Names of the evaluators, by position; empty where the model does not know them.
    parameters : mapping of str to number or array
        What else the model has, such as the reliability of each evaluator.
    gradient_norm, iterations : float, int
        Euclidean norm of the gradient of the penalised log-likelihood at the fit, and steps to it.
    unit : str
        Of scores: ``"logits"``, ``"SDs"``, ``"points"`` or ``"share of wins"``.
    n_clusters : mapping of str to int
        Clusters of comparisons that errors allow for, by what they share.
    model_fit : ModelFit or None
        Test that comparisons are independent but for what the model knows.
    shared_errors : ndarray or None, (items, contrasts)
        What the chance between groups adds to scores, in multiples of standard normal variables.
    notes : tuple of str
        What the reader must know.
    provenance : mapping
        Options and facts about the data.
    """

    model: str
    items: NDArray[Any]
    scores: Floats
    standard_errors: Floats
    log_likelihood: float
    converged: bool
    n_comparisons: int
    diagnosis: Diagnosis
    n_ties: int = 0
    priors: tuple[Prior, ...] = ()
    seat: Effect | None = None
    ties: Effect | None = None
    evaluators: NDArray[Any] = field(default_factory=_no_names)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    gradient_norm: float = math.nan
    iterations: int = 0
    unit: str = "logits"
    n_clusters: Mapping[str, int] = field(default_factory=dict)
    model_fit: ModelFit | None = None
    shared_errors: Floats | None = None
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    DERIVED: ClassVar[Mapping[str, str]] = {
        "n_items": "n_items",
        "ranking": "columns",
        "biases": "bias_rows",
    }

    @staticmethod
    def completed_from(content: Mapping[str, Any]) -> dict[str, Any]:
        """Return lists of numbers among the parameters as arrays again."""
        known = content.get("parameters", {}).items()
        return {"parameters": {name: _as_array(value) for name, value in known}}

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def ranking(self) -> Ints:
        """Positions of the items, best first; equal scores keep the order of the items."""
        return np.argsort(-self.scores, kind="stable").astype(np.int64)

    @property
    def ranks(self) -> Ints:
        """Rank of each item, 1 for the best."""
        ranks = np.empty(len(self.scores), dtype=np.int64)
        ranks[self.ranking] = np.arange(1, len(ranks) + 1)
        return ranks

    def score_intervals(self, level: float = 0.95) -> Floats:
        """Return the normal interval of every score, as (n, 2)."""
        return normal_intervals(self.scores, self.standard_errors, level)

    def rank_intervals(self, level: float = 0.95) -> Ints:
        """Return the ranks each item can have, as (n, 2).

        An item ranks below another for certain where the difference of their scores is larger
        than its error times a normal quantile, with the level shared over all other items
        (Sidak), so that the interval of each item holds its rank with probability `level`
        (Mogstad, Romano, Shaikh and Wilhelm, 2024), or more: it is cautious. With more than
        20,000 items two intervals of scores that do not meet decide, which is more so.
        """
        return rank_intervals(self.scores, self.standard_errors, level, self.shared_errors)

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        from comparity.ranking.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each item, best first, as a frame of the named engine."""
        return frame_of_rows(self.rows(), backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the scores; a ranking with biases draws these."""
        from comparity.ranking.pictures import plot_ranking

        return plot_ranking(self, ax)

    def bias_rows(self) -> list[dict[str, Any]]:
        """Return one row for each evaluator and contrast; this model has no biases."""
        return []

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each item, best first; ``position`` is its place in the input."""
        return self.columns().rows()

    def columns(self) -> Columns:
        """Return the same column by column."""
        order = self.ranking
        low, high = self.rank_intervals()[order].T
        named = self.items[order].tolist()
        names = [one.item() if isinstance(one, np.generic) else one for one in named]
        known = {"rank": np.arange(1, len(order) + 1), "item": names, "position": order}
        known |= {"score": self.scores[order], "standard_error": self.standard_errors[order]}
        return Columns(len(order), {**known, "rank_low": low, "rank_high": high})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BiasedRanking(Ranking):
    """Scores adjusted for the evaluators' biases, and the biases: an array (evaluators, contrasts).

    Data fix only differences between evaluators, so centred biases stand by themselves; their
    common level, `mean_bias`, rests on `anchor`, which is an assumption.

    Attributes
    ----------
    contrasts : tuple of GroupContrast
        Columns of the arrays.
    bias, bias_standard_errors : ndarray
        In the `unit` of the scores, of a seat in logits. The errors take the anchor for a fact.
    z, p, q : ndarray
        Test of each bias against zero, and Benjamini-Hochberg q over all of them.
    cautious_standard_errors, cautious_q : ndarray
        The same errors and q with the chance by which groups of this size differ in mean, where
        the anchor is that they do not: right also if it is true of the groups that items were drawn
        from, and not of the items.
    mean_bias, mean_bias_standard_errors : ndarray
        One for each contrast. Its error includes the chance by which groups of this size differ
        in mean, where the anchor is that they do not.
    level_standard_errors : ndarray
        One for each contrast of groups: of the difference in level between the scores of its group
        and of the reference, by as much as the groups may be off as wholes. It includes that chance
        too.
    centred_bias, centred_standard_errors : ndarray
        Bias minus the mean; independent of the anchor.
    anchor : str
        The assumption that fixes the level, in words.
    n_judged, n_informative : ndarray
        Comparisons of each evaluator, and of these those between groups, which bear on a bias.
    score_dependence : ScoreDependence or None
        Whether biases grow with the score, where asked.
    suggestions : tuple of Suggestion
        Intersections looked at, where asked.
    sharpness : Sharpness or None
        Of each evaluator, where they have one of their own.
    equal_sharpness : EqualSharpness or None
        Whether evaluators are equally sharp, where there are two or more.
    lapses : Effect or None
        Log odds of a random judgment, where they are estimated.
    anytime : bool
        Whether p, q and intervals of biases hold at whatever moment they are read.
    """

    contrasts: tuple[GroupContrast, ...]
    bias: Floats
    bias_standard_errors: Floats
    z: Floats
    p: Floats
    q: Floats
    cautious_standard_errors: Floats
    cautious_q: Floats
    mean_bias: Floats
    mean_bias_standard_errors: Floats
    level_standard_errors: Floats
    centred_bias: Floats
    centred_standard_errors: Floats
    anchor: str
    n_judged: Ints
    n_informative: Ints
    score_dependence: ScoreDependence | None = None
    suggestions: tuple[Suggestion, ...] = ()
    sharpness: Sharpness | None = None
    equal_sharpness: EqualSharpness | None = None
    lapses: Effect | None = None
    anytime: bool = False

    DERIVED: ClassVar[Mapping[str, str]] = {
        **Ranking.DERIVED,
        "mean_bias_intervals": "mean_bias_intervals",
    }

    def bias_intervals(self, level: float = 0.95) -> Floats:
        """Return the interval of every bias, as (evaluators, contrasts, 2).

        With equal sharpness it is normal. With own sharpness it holds every value that the test
        would not reject (Fieller, 1954), and is unbounded where the sharpness may be zero.
        """
        return self._bias_intervals(self.bias_standard_errors, level)

    def cautious_intervals(self, level: float = 0.95) -> Floats:
        """Return the interval of every bias with its cautious error, as `bias_intervals` does."""
        return self._bias_intervals(self.cautious_standard_errors, level)

    def _bias_intervals(self, errors: Floats, level: float) -> Floats:
        if self.sharpness is None:
            return normal_intervals(self.bias, errors, level, anytime=self.anytime)
        own = np.outer(
            self.sharpness.log_standard_errors**2, [one != SEAT for one in self.contrasts]
        )
        known = (errors, self.sharpness.covariances, own, level)
        return ratio_intervals(self.bias, *known, anytime=self.anytime)

    def mean_bias_intervals(self, level: float = 0.95) -> Floats:
        """Return the normal interval of every mean bias, as (contrasts, 2)."""
        return normal_intervals(self.mean_bias, self.mean_bias_standard_errors, level)

    def centred_intervals(self, level: float = 0.95) -> Floats:
        """Return the normal interval of every centred bias, as (evaluators, contrasts, 2)."""
        errors = self.centred_standard_errors
        return normal_intervals(self.centred_bias, errors, level, anytime=self.anytime)

    @property
    def centred_q(self) -> Floats:
        """Benjamini-Hochberg q of each evaluator's bias against the mean, without any anchor."""
        errors = np.where(self.centred_standard_errors > 0, self.centred_standard_errors, np.nan)
        z = self.centred_bias / errors
        p = anytime_p_values(z, errors, LEAN_VARIANCE) if self.anytime else 2 * ndtr(-np.abs(z))
        return benjamini_hochberg(p)

    def bias_frame(self, backend: str | None = None) -> Any:
        """Return one row for each evaluator and contrast, those who lean most first."""
        return frame_of_rows(self.bias_rows(), backend)

    def bias_rows(self) -> list[dict[str, Any]]:
        """Return one row for each evaluator and contrast, those who lean most first."""
        low, high = np.moveaxis(self.bias_intervals(), -1, 0)
        cautious_low, cautious_high = np.moveaxis(self.cautious_intervals(), -1, 0)
        numbers = {
            **{"bias": self.bias, "standard_error": self.bias_standard_errors},
            **{"low": low, "high": high, "z": self.z, "p_value": self.p, "q_value": self.q},
            "cautious_standard_error": self.cautious_standard_errors,
            **{"cautious_low": cautious_low, "cautious_high": cautious_high},
            **{"cautious_q_value": self.cautious_q, "centred_bias": self.centred_bias},
            "centred_standard_error": self.centred_standard_errors,
            "centred_q_value": self.centred_q,
        }
        order = np.argsort(-np.nan_to_num(np.abs(self.z), nan=-1.0), axis=None, kind="stable")
        sharpness = {} if self.sharpness is None else self.sharpness.by_evaluator()
        tastes = self.model_fit.tastes if self.model_fit is not None else ()
        return [
            {
                "evaluator": _name(self.evaluators[k]),
                "contrast": str(self.contrasts[c]),
                **{name: float(number[k, c]) for name, number in numbers.items()},
                **sharpness.get(k, {}),
                **({"taste": tastes[k]} if tastes else {}),
                "comparisons": int(self.n_judged[k]),
                "informative": int(self.n_informative[k, c]),
            }
            for k, c in (divmod(place, len(self.contrasts)) for place in order.tolist())
        ]

    def sharpness_rows(self) -> list[dict[str, Any]]:
        """Return one row for each evaluator, the sharpest first; none with equal sharpness."""
        known = {} if self.sharpness is None else self.sharpness.by_evaluator()
        rows = [
            {"evaluator": _name(self.evaluators[k]), **own, "comparisons": int(self.n_judged[k])}
            for k, own in known.items()
        ]
        return sorted(rows, key=lambda row: -row["sharpness"])

    def plot_sharpness(self, ax: Axes | None = None) -> Axes:
        """Draw how sharp each evaluator is, where they have a sharpness of their own."""
        from comparity.ranking.pictures import plot_sharpness

        return plot_sharpness(self, ax)


def ranking_of(
    model: str,
    judgments: Judgments,
    diagnosis: Diagnosis,
    scores: Floats,
    *,
    notes: Iterable[str] = (),
    **facts: Any,
) -> Ranking:
    """Return a ranking with what the comparisons tell of themselves.

    It has no standard errors and counts as converged, unless `facts` about the fit, by the names of
    the fields of :class:`Ranking`, say otherwise.
    """
    unless: dict[str, Any] = {"standard_errors": np.full(len(scores), np.nan), "converged": True}
    return Ranking(
        model=model,
        items=judgments.items,
        scores=scores,
        n_comparisons=len(judgments),
        n_ties=judgments.n_ties,
        diagnosis=diagnosis,
        notes=(*notes, *diagnosis.notes),
        **unless | facts,
    )


def _name(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _as_array(value: Any) -> Any:
    """Return an array for a list, with ``nan`` where JSON has no number."""
    if not isinstance(value, list):
        return value
    found = np.array(value)
    return np.array(value, dtype=np.float64) if found.dtype == object else found
