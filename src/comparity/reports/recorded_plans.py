"""Plans, read back from the JSON that ``--json`` printed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from comparity.planning.ranking_result import PlannedLean, RankingPlan
from comparity.planning.result import ComparativePlan, Plan, PlannedTest, SeparationPlan
from comparity.planning.section import ASSUMED as GROUP_ASSUMPTIONS
from comparity.planning.section import ASSUMED_OF_PANELS as RANKING_ASSUMPTIONS
from comparity.reports.recorded import mapping, number, sequence, text, texts, whole

__all__ = ["plan_of"]

Content = Mapping[str, Any]

LARGEST_LEAN = 700.0
"""Log odds whose odds are a number; plans stay far below."""


@dataclass(frozen=True, slots=True)
class RecordedPower:
    """A power function of which only what was written down can be asked."""

    known: Mapping[int, float]
    pairs: int | None = None
    ceiling: float = math.nan
    by_items: Mapping[int | None, Content] = field(default_factory=dict)

    def power(self, size: float) -> float:
        """Return the power written down for this size."""
        return self.known.get(int(size), math.nan)

    def smallest_size(self, target: float) -> int | None:
        """Return the size written down for the power the plan was made for."""
        return self.pairs

    def limit(self) -> float:
        """Return the power as judgments of these items grow without end."""
        return self.ceiling

    def on_items(self, n_items: int | None) -> RecordedPower:
        """Return what was written down for pairs drawn from so many items."""
        row = self.by_items[n_items]
        pairs = _whole_or_none(row["n_pairs"])
        known = {} if pairs is None else {pairs: number(row["power"])}
        return RecordedPower(known, pairs, number(row["ceiling"]))


def plan_of(content: Content) -> Plan:
    """Return a plan from its JSON."""
    points = [sequence(point) for point in sequence(content["curve"])]
    curve = {whole(size): number(power) for size, power in points}
    target, margin = (_number_or_none(content[name]) for name in ("target", "margin"))
    facts: dict[str, Any] = {
        "power": number(content["power"]),
        "target": target,
        "tests": tuple(_planned(mapping(one)) for one in sequence(content["tests"])),
        "groups": texts(content["groups"]),
        "alpha": number(content["alpha"]),
        "margin": margin,
        "rule": text(content["rule"]),
        "design": text(content["design"]),
        "notes": texts(content["notes"]),
        "assumptions": _assumed(mapping(content["assumptions"])),
        "provenance": mapping(content["provenance"]),
    }
    if "n_per_evaluator" in content:
        leans = tuple(_lean(mapping(one)) for one in sequence(content["leans"]))
        if content["lean"] not in [one.lean for one in leans]:
            raise ValueError("a planned lean that is not among the leans")
        return RankingPlan(
            n_per_evaluator=_whole_or_none(content["n_per_evaluator"]),
            n_items=_positive(content["n_items"]),
            n_evaluators=_positive(content["n_evaluators"]),
            leans=leans,
            lean=number(content["lean"]),
            ceiling=number(content["ceiling"]),
            question=RecordedPower(curve),
            **facts,
        )
    if "n_pairs" not in content:
        return SeparationPlan(
            n=_whole_or_none(content["n"]), question=RecordedPower(curve), **facts
        )
    rows = map(mapping, sequence(content["reuse_curve"]))
    by_items = {_whole_or_none(row["n_items"]): row for row in rows}
    sizes = ("n_pairs", "n_items", "n_evaluators")
    facts |= {name: _whole_or_none(content[name]) for name in sizes}
    plan = ComparativePlan(
        ceiling=_number_or_none(content["ceiling"]),
        question=RecordedPower(curve, by_items=by_items),
        **facts,
    )
    # The table is put together from the rows written down, which must be those of this plan.
    plan.reuse_curve()
    return plan


def _assumed(content: Content) -> Content:
    """Return assumptions; those of each group and those of a ranking are shown as numbers."""
    for name in GROUP_ASSUMPTIONS.keys() & content.keys():
        list(map(number, sequence(content[name])))
    for name in RANKING_ASSUMPTIONS.keys() & content.keys():
        number(content[name])
    return content


def _planned(content: Content) -> PlannedTest:
    names = ("first_rate", "second_rate", "gap", "standard_error", "power")
    first, second = map(number, sequence(content["n"]))
    facts = {name: number(content[name]) for name in names}
    return PlannedTest(null=text(content["null"]), n=(first, second), **facts)


def _positive(value: Any) -> int:
    if whole(value) < 1:
        raise ValueError(f"{value!r} in place of a positive number")
    return whole(value)


def _lean(content: Content) -> PlannedLean:
    error = _number_or_none(content["standard_error"])
    if not abs(number(content["lean"])) <= LARGEST_LEAN:
        raise ValueError(f"{content['lean']!r} in place of a lean")
    return PlannedLean(
        lean=number(content["lean"]),
        n_per_evaluator=_whole_or_none(content["n_per_evaluator"]),
        standard_error=math.inf if error is None else error,
        power=number(content["power"]),
    )


def _number_or_none(value: Any) -> float | None:
    return None if value is None else number(value)


def _whole_or_none(value: Any) -> int | None:
    return None if value is None else whole(value)
