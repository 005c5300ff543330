"""Results read back from the JSON that ``--json`` printed, so that they can be shown again.

Nothing is computed again: a test read back knows the one interval it was judged by, and every
number shown is one of the file. What is not what it should be raises ``KeyError``, ``TypeError``
or ``ValueError``; :func:`comparity.reports.combined.rebuilt` says so to the reader.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.inference.gap_tests import Interval, JointTest, Needed, RateEstimate
from comparity.pairwise.result import PairwiseAccuracy, PanelAudit
from comparity.results.audit import Audit, JudgedGap, Ties
from comparity.results.findings import EXIT_STATUS

__all__ = [
    "Recorded",
    "array",
    "audit_of",
    "mapping",
    "number",
    "numbers",
    "pairwise_of",
    "panel_of",
    "sequence",
    "text",
    "texts",
    "whole",
]

Content = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A test that was made elsewhere: only what was written down can be asked."""

    known: tuple[Interval, ...]
    p: float

    def p_value(self, hypothesised: float) -> float:
        """Return the p value of no gap; of another gap nothing is known."""
        return self.p if hypothesised == 0 else math.nan

    def p_below(self, hypothesised: float) -> float:
        """Return nothing: one side was not written down."""
        return math.nan

    def p_above(self, hypothesised: float) -> float:
        """Return nothing: one side was not written down."""
        return math.nan

    def interval(self, level: float) -> Interval:
        """Return the interval that was written down; at another level nothing is known."""
        unknown = Interval(math.nan, math.nan, level)
        return next((one for one in self.known if one.level == level), unknown)


def audit_of(content: Content) -> Audit:
    """Return an audit from its JSON."""
    finding, looks, raw = text(content["finding"]), content["looks"], content.get("raw")
    if finding not in EXIT_STATUS:
        raise ValueError(f"finding {finding!r}")
    return Audit(
        notion=text(content["notion"]),
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=tuple(map(_test, sequence(content["tests"]))),
        rates=tuple(map(_rate, sequence(content["rates"]))),
        groups=texts(content["groups"]),
        design=text(content["design"]),
        n=whole(content["n"]),
        alpha=_share(content["alpha"]),
        margin=_share(content["margin"]),
        rule=text(content["rule"]),
        unit=text(content["unit"]),
        n_items=whole(content["n_items"]),
        n_evaluators=whole(content["n_evaluators"]),
        joint_tests=tuple(map(_joint, sequence(content["joint_tests"]))),
        summary=numbers(content["summary"]),
        looks=None if looks is None else _whole_pair(looks),
        ties=_ties(mapping(content["ties"])),
        notes=texts(content["notes"]),
        provenance=mapping(content["provenance"]),
        raw=None if raw is None else audit_of(mapping(raw)),
        imbalance=number(content.get("imbalance", 0.0)),
        effective_sizes=numbers(content.get("effective_sizes", {})),
    )


def pairwise_of(content: Content) -> PairwiseAccuracy:
    """Return a matrix of accuracies with its audits from its JSON."""
    raw, even = mapping(content["raw"]), mapping(content["standardised"])
    first = audit_of(raw)
    groups = texts(content["groups"])
    low, high = map(number, sequence(content["overall_interval"]))
    k = len(groups)
    shapes: dict[str, tuple[int, ...]] = {"matrix": (k, k), "score_ties": (k, k)}
    shapes |= {"row_marginals": (k,), "column_marginals": (k,), "covariance": (k * k, k * k)}
    n_pairs = array(content["n_pairs"], (k, k))
    if not np.isfinite(n_pairs).all():
        raise ValueError("pairs that were not counted")
    return PairwiseAccuracy(
        groups=groups,
        n_pairs=n_pairs,
        overall=number(content["overall"]),
        overall_interval=Interval(low, high, 0.95),
        notions=numbers(content["notions"]),
        labels=text(content["labels"]),
        raw=first,
        # Where both are one audit, it is shown once.
        standardised=first if raw == even else audit_of(even),
        effective_sizes=numbers(content["effective_sizes"]),
        imbalance=number(content["imbalance"]),
        **{name: array(content[name], shape) for name, shape in shapes.items()},
    )


def panel_of(content: Content) -> PanelAudit:
    """Return an audit against a panel from its JSON."""
    inner, audit = pairwise_of(mapping(content["at_face_value"])), audit_of(content)
    k = len(inner.groups)
    if not len(inner.tests) == len(audit.tests) == len(sequence(content["allowances"])):
        raise ValueError("tests with and without the panel's error that are not the same tests")
    return PanelAudit(
        audit=audit,
        at_face_value=inner,
        reversals=array(content["reversals"], (k, k)),
        shift_errors=numbers(content["shift_errors"]),
        allowances=tuple(map(number, sequence(content["allowances"]))),
        draws=whole(content["draws"]),
        seed=whole(content["seed"]),
    )


def number(value: Any) -> float:
    """Return a number; what JSON has none for is ``nan``."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} in place of a number")
    return float(value)


def whole(value: Any) -> int:
    """Return a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} in place of a whole number")
    return value


def text(value: Any) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} in place of text")
    return value


def mapping(value: Any) -> Content:
    """Return an object of JSON."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{type(value).__name__} in place of an object")
    return value


def sequence(value: Any) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise TypeError(f"{type(value).__name__} in place of a list")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts."""
    return tuple(map(text, sequence(value)))


def numbers(value: Any) -> dict[str, float]:
    """Return numbers by name."""
    return {name: number(one) for name, one in mapping(value).items()}


def _share(value: Any) -> float:
    found = number(value)
    if not 0 < found < math.inf:
        raise ValueError(f"{value!r} in place of a positive number")
    return found


def _whole_pair(value: Any) -> tuple[int, int]:
    first, second = map(whole, sequence(value))
    return first, second


def array(value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return numbers of this shape; what JSON has none for is ``nan``."""
    found = np.array(value, dtype=np.float64)
    if found.shape != shape:
        raise ValueError(f"numbers of shape {found.shape} in place of {shape}")
    return found


def _test(value: Any) -> JudgedGap:
    content = mapping(value)
    low, high = map(number, sequence(content["interval"]))
    level, p = number(content["level"]), number(content["p_value"])
    finding, needed = text(content["finding"]), content["needed"]
    if finding not in EXIT_STATUS:
        raise ValueError(f"finding {finding!r}")
    return JudgedGap(
        null=text(content["null"]),
        gap=number(content["gap"]),
        standard_error=number(content["standard_error"]),
        p_value=p,
        n=_whole_pair(content["n"]),
        method=text(content["method"]),
        pivot=None if math.isnan(p) else Recorded((Interval(low, high, level),), p),
        reason=text(content["reason"]),
        p_adjusted=number(content["p_adjusted"]),
        level=level,
        finding=finding,
        differs_from_zero=content["differs_from_zero"] is True,
        equivalence_p=number(content["equivalence_p"]),
        needed=None if needed is None else _needed(mapping(needed)),
    )


def _needed(content: Content) -> Needed:
    same = sequence(content["judgments_on_same_items"])
    observed, none = (None if one is None else whole(one) for one in same)
    return Needed(
        judgments=(observed, none),
        items=_whole_pair(content["items"]),
        judgments_with_items=_whole_pair(content["judgments_with_items"]),
    )


def _rate(value: Any) -> RateEstimate:
    content = mapping(value)
    low, high = map(number, sequence(content["interval"]))
    return RateEstimate(
        name=text(content["name"]),
        of=text(content["of"]),
        rate=number(content["rate"]),
        trials=whole(content["n"]),
        score_ties=whole(content["score_ties"]),
        interval=Interval(low, high, number(content["level"])),
    )


def _joint(value: Any) -> JointTest:
    content = mapping(value)
    return JointTest(
        null=text(content["null"]),
        statistic=number(content["statistic"]),
        dof=whole(content["dof"]),
        p_value=number(content["p_value"]),
        method=text(content["method"]),
    )


def _ties(content: Content) -> Ties:
    counts = {
        name: {key: whole(one) for key, one in mapping(content[name]).items()}
        for name in ("judgments_by_groups", "scores_by_cell")
    }
    return Ties(
        judgments=whole(content["judgments"]),
        scores=whole(content["scores"]),
        scored_as=text(content["scored_as"]),
        change_finding=content["change_finding"] is True,
        **counts,
    )
