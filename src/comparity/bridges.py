"""Frozen answers about two decision makers who decided about different subjects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from comparity.relative import DifferentialParity

__all__ = ["BridgeDiagnosis", "BridgedParity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeDiagnosis:
    """How well the first's decisions can be predicted for the second's subjects.

    Attributes
    ----------
    explained : float
        Share of the variance of the first's decisions that predictions explain, about subjects the
        model did not see where that is known; at most 1, negative where the mean does better.
    errors : tuple of float
        Root mean squared error against the first's and against the second's decisions.
    calibration : mapping of str to float
        Mean error against the first's decisions by group; zero where the model has its leanings.
    calibration_p : float
        p value of "these means are equal".
    separability : mapping of str to float
        By group, how often a subject of the second is told from one of the first by its features:
        an area under the curve, one half where both sets of subjects are alike.
    effective_share : mapping of str to float
        By group, what share of the first's subjects is left if they are weighted to look like the
        second's.
    shift : float
        By how much DPD would move if they were; ``nan`` where that cannot be told.
    optimism : float
        Error of the model on the decisions it was fitted to, as a share of that on unseen ones;
        ``nan`` where errors are not taken in sample.
    ignored : float
        False-alarm rate that comes of ignoring the error of the model's own fit; ``nan`` where it
        is not ignored.
    n_shared : int
        Subjects whom both decided about.
    refusals : tuple of str
        Why this bridge does not carry a finding; empty where it does.
    """

    explained: float
    errors: tuple[float, float]
    calibration: Mapping[str, float]
    calibration_p: float
    separability: Mapping[str, float]
    effective_share: Mapping[str, float]
    shift: float
    optimism: float = math.nan
    ignored: float = math.nan
    n_shared: int = 0
    refusals: tuple[str, ...] = ()

    @property
    def carries(self) -> bool:
        """Whether the bridge is good enough to find anything by."""
        return not self.refusals

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as plain data."""
        numbers = ("explained", "calibration_p", "shift", "optimism", "ignored")
        by_group = ("calibration", "separability", "effective_share")
        return {
            **{name: _plain(getattr(self, name)) for name in numbers},
            "errors": [_plain(error) for error in self.errors],
            **{
                name: {group: _plain(value) for group, value in getattr(self, name).items()}
                for name in by_group
            },
            "n_shared": self.n_shared,
            "carries": self.carries,
            "refusals": list(self.refusals),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgedParity(DifferentialParity):
    """Whether two decision makers lean differently, estimated across different subjects.

    Numbers as in :class:`comparity.relative.DifferentialParity`. A bridge that the diagnosis
    refuses keeps its numbers and leaves the question open.

    Attributes
    ----------
    bridge : str
        ``"biased"`` or ``"unbiased"``, as in the paper.
    errors_from : str
        What the errors of the prediction were taken on.
    scale : float
        What the gap is divided by: a standard deviation of the difference of two decisions about
        one subject, as far as the errors of the prediction tell it.
    diagnosis : BridgeDiagnosis
        How good the bridge is.
    """

    bridge: str
    errors_from: str
    scale: float
    diagnosis: BridgeDiagnosis

    @property
    def gap(self) -> float:
        """The gap on the scale of the decisions."""
        return self.only.gap

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; the audit's fields come first."""
        return {
            # Zero-argument super() does not work in a dataclass with slots.
            **DifferentialParity.to_dict(self),
            "bridge": self.bridge,
            "errors_from": self.errors_from,
            "scale": _plain(self.scale),
            "diagnosis": self.diagnosis.to_dict(),
        }


def _plain(value: float) -> float | None:
    """Return a float that JSON can hold; what is not finite is ``None``."""
    return float(value) if math.isfinite(value) else None
