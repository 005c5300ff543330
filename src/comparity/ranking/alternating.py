"""The scheme of the authors' code of BARP, kept so that their numbers can be compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.errors import OptionError
from comparity.ranking.connectivity import diagnose
from comparity.ranking.items import Contrasts
from comparity.ranking.judgments import Judgments
from comparity.ranking.likelihood.comparison_rows import rows_of
from comparity.ranking.likelihood.passes import Pass
from comparity.ranking.result import BiasedRanking

Floats = NDArray[np.float64]

MODES = ("joint", "alternating")

STEPS, GRADIENT = 100, 1e-5
"""Most rounds of the authors' scheme, and the gradient at which it ends before."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alternating:
    """The inputs of Algorithm 1 of Ferrara et al. (2024); by default those of the authors' code.

    As printed, the algorithm is ``Alternating(first="scores", rounds=1000)``.

    Parameters
    ----------
    first : {"biases", "scores"}
        Which step comes first in a round.
    rounds : int
        Most rounds.
    score_gradient, bias_gradient : float
        The scheme ends where no entry of either gradient is larger.
    scores, biases : array_like, optional
        Where to start: a number for each item, and for each evaluator (in sorted order) and
        contrast; zero by default.

    Examples
    --------
    >>> Alternating(first="scores", rounds=1000).rounds
    1000
    """

    first: Literal["biases", "scores"] = "biases"
    rounds: int = STEPS
    score_gradient: float = GRADIENT
    bias_gradient: float = GRADIENT
    scores: ArrayLike | None = None
    biases: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.first not in ("biases", "scores"):
            raise OptionError("first", self.first, ["'biases'", "'scores'"])
        if not isinstance(self.rounds, int) or self.rounds < 1:
            raise OptionError("rounds", self.rounds, ["a whole number from 1 on"])
        for name in ("score_gradient", "bias_gradient"):
            if not 0 <= getattr(self, name) < np.inf:
                raise OptionError(name, getattr(self, name), ["a number from 0 on"])

    @property
    def started_at(self) -> str:
        """Where it started, in words."""
        return "zero" if self.scores is None and self.biases is None else "given values"

    def start(self, n_items: int, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Return the scores and biases to start from."""
        wanted = {"scores": (n_items,), "biases": shape}
        found = []
        for name, size in wanted.items():
            given = getattr(self, name)
            start = np.zeros(size) if given is None else np.array(given, dtype=np.float64)
            if start.size != np.prod(size) or not np.isfinite(start).all():
                raise OptionError(name, given, [f"{' by '.join(map(str, size))} finite numbers"])
            found.append(start.reshape(size))
        return found[0], found[1]


def scheme_of(mode: object) -> Alternating | None:
    """Return the scheme that a mode asks for; ``None`` for the joint maximum.

    Examples
    --------
    >>> scheme_of("joint"), scheme_of("alternating").first
    (None, 'biases')
    """
    if isinstance(mode, Alternating):
        return mode
    if not isinstance(mode, str) or mode not in MODES:
        raise OptionError("mode", mode, [*map(repr, MODES), "an Alternating(...)"])
    return Alternating() if mode == "alternating" else None


def alternate(judgments: Judgments, contrasts: Contrasts, scheme: Alternating) -> BiasedRanking:
    """Alternate single line-searched steps for biases and for scores, without prior.

    By default the scheme of the authors' code, kept so that their numbers can be compared with.
    Each step is the first iteration of BFGS, which follows the gradient. Biases come first (the
    paper's Algorithm 1 says scores first), from zero, and the scheme ends after 100 rounds or when
    both gradients are below 1e-5. The likelihood is flat in the level of the biases; where it
    starts and stopping early is what picks one. No errors come with it: standard errors, z, p and q
    are ``nan``.
    """
    rows = rows_of(judgments, contrasts.columns, seat_by_evaluator=False)
    data, none = Pass(rows), np.empty(0)
    scores, bias = scheme.start(rows.n_items, (rows.n_evaluators, rows.contrast.shape[1]))

    def in_bias(flat: Floats) -> tuple[float, Floats]:
        found = data.evaluate(scores, flat.reshape(bias.shape), none)
        return found.loss, found.bias.ravel()

    def in_scores(point: Floats) -> tuple[float, Floats]:
        found = data.evaluate(point, bias, none)
        return found.loss, found.scores[:, 0]

    order = ("biases", "scores") if scheme.first == "biases" else ("scores", "biases")
    converged, taken = False, 0
    while taken < scheme.rounds and not converged:
        ended = []
        for one in order:
            if one == "biases":
                step = _take_step(in_bias, bias.ravel(), scheme.bias_gradient)
                bias = step.x.reshape(bias.shape)
            else:
                step = _take_step(in_scores, scores, scheme.score_gradient)
                scores = step.x
            ended.append(bool(step.success))
        taken, converged = taken + 1, all(ended)
    last, diagnosis = data.evaluate(scores, bias, none), diagnose(judgments, rows)
    mean, gradient = bias.mean(axis=0), np.append(last.scores[:, 0], last.bias)
    # That scheme tells neither errors nor tests, of each bias and of their levels.
    unknown, unknown_levels = np.full_like(bias, np.nan), np.full_like(mean, np.nan)
    return BiasedRanking(
        model="BARP, the authors' alternating scheme",
        items=judgments.items,
        scores=scores,
        standard_errors=np.full_like(scores, np.nan),
        log_likelihood=-last.loss,
        converged=converged,
        n_comparisons=len(judgments),
        diagnosis=diagnosis,
        evaluators=judgments.evaluators,
        gradient_norm=float(np.linalg.norm(gradient)),
        iterations=taken,
        notes=(*diagnosis.notes, "Alternating scheme: no prior, no errors, stopped early."),
        contrasts=contrasts.names,
        bias=bias,
        mean_bias=mean,
        centred_bias=bias - mean,
        bias_standard_errors=unknown,
        cautious_standard_errors=unknown,
        centred_standard_errors=unknown,
        z=unknown,
        p=unknown,
        q=unknown,
        cautious_q=unknown,
        mean_bias_standard_errors=unknown_levels,
        level_standard_errors=unknown_levels,
        anchor=f"none: started at {scheme.started_at} and stopped after a fixed number of steps",
        n_judged=np.bincount(rows.evaluator, minlength=rows.n_evaluators),
        n_informative=rows.leanings.sum(axis=2),
    )


def _take_step(loss: Any, start: Floats, gradient: float) -> Any:
    # Imported here because few fits need it and it takes its time.
    from scipy.optimize import minimize

    def leave_out_update(intermediate_result: Any) -> None:
        raise StopIteration

    once = {"maxiter": 1, "gtol": gradient}
    return minimize(loss, start, jac=True, method="BFGS", options=once, callback=leave_out_update)
