"""What a plan may assume: rates, shares and choices, checked at the door."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np

from comparity.errors import Option, PlanError
from comparity.planning.scenarios import ComparativeScenario

__all__ = [
    "RULES",
    "check_choices",
    "check_design",
    "check_proportion",
    "check_whole",
    "checked_groups",
    "checked_rates",
    "with_plain_numbers",
]

RULES = ("holm", "paper")

Planner = TypeVar("Planner", bound=Callable[..., Any])


def with_plain_numbers(planner: Planner) -> Planner:
    """Hand a plan Python's numbers for those of numpy, which overflow and are strange to JSON."""

    @wraps(planner)
    def plan(**given: Any) -> Any:
        plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
        return planner(**plain)

    return cast("Planner", plan)


def checked_groups(groups: Sequence[str] | None, rates: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the groups, their positions where none are given."""
    names = tuple(map(str, range(_length(rates)) if groups is None else groups))
    if len(names) < 2 or len(set(names)) < len(names):
        raise PlanError(
            "a plan needs at least two groups with different names",
            ", ".join(map(repr, names)) or "none",
            "give one rate per group, such as {}",
            Option("tpr", [0.8, 0.84]),
        )
    return names


def checked_rates(count: int, **rates: Sequence[float]) -> dict[str, tuple[float, ...]]:
    """Return the rates as tuples of floats, one per group."""
    checked = {name: _floats(name, values) for name, values in rates.items()}
    for name, values in checked.items():
        shown = ", ".join(f"{value:g}" for value in values)
        if len(values) != count:
            raise PlanError(
                f"{name} needs one value per group",
                f"{len(values)} values ({shown}) for {count} groups",
                "list the groups in the same order everywhere",
            )
        # A group without items, or without positive or negative ones, leaves nothing to test.
        inside = name in ("tpr", "fpr", "tnr")
        if not all(0 <= v <= 1 if inside else 0 < v < 1 for v in values):
            raise PlanError(
                f"{name} must lie {'in [0, 1]' if inside else 'strictly between 0 and 1'}",
                shown,
                "give proportions, not percentages, and leave out groups that cannot be tested",
            )
    if abs(sum(checked["shares"]) - 1) > 1e-6:
        raise PlanError(
            "shares must sum to 1",
            f"{', '.join(f'{share:g}' for share in checked['shares'])}, which sum to "
            f"{sum(checked['shares']):g}",
            "divide each by their sum",
        )
    return checked


def _length(rates: Any) -> int:
    return len(rates) if isinstance(rates, Sized) and not isinstance(rates, str) else 0


def _floats(name: str, values: Any) -> tuple[float, ...]:
    try:
        return tuple(map(float, values))
    except (TypeError, ValueError) as error:
        hint = "give a list of numbers, such as [0.8, 0.84]"
        raise PlanError(f"{name} needs one number per group", repr(values), hint) from error


def check_choices(options: Mapping[str, Any], size_name: str, rules: Sequence[str] = RULES) -> None:
    """Refuse a question that asks for nothing, for both, or for the impossible."""
    size, power, alpha, margin = (options[k] for k in (size_name, "power", "alpha", "margin"))
    if (size is None) == (power is None):
        raise PlanError(
            f"exactly one of {size_name} and power is needed",
            "neither" if size is None else f"{size_name}={size} and power={power}",
            f"give {size_name} to learn the power, or power to learn {size_name}",
        )
    check_whole(size_name, size, least=1, hint="give a number of rows")
    for name, value in (("power", power), ("alpha", alpha)):
        if value is not None and not _is_between(value):
            hint = "give a probability, such as 0.8 for power or 0.05 for alpha"
            raise PlanError(f"{name} must lie strictly between 0 and 1", f"{value!r}", hint)
    if margin is not None and not _is_between(margin):
        hint = "give the largest harmless gap, such as 0.05, or leave it out"
        raise PlanError("margin must lie strictly between 0 and 1", f"{margin!r}", hint)
    if options["rule"] not in rules:
        known = " or ".join(map(repr, rules))
        raise PlanError("the rule is not known", repr(options["rule"]), f"use {known}")


def check_design(scenario: ComparativeScenario) -> None:
    """Refuse impossible numbers of items or evaluators, leans and shares of ties."""
    evaluator_lean, tie_share = scenario.evaluator_lean, scenario.tie_share
    hint = "a pair takes two items; leave n_items out for fresh ones"
    check_whole("n_items", scenario.n_items, least=2, hint=hint)
    hint = "leave n_evaluators out if none judges twice"
    check_whole("n_evaluators", scenario.n_evaluators, least=1, hint=hint)
    if not 0 <= evaluator_lean <= 1:
        hint = "give a standard deviation of gaps, such as 0.1"
        raise PlanError("evaluator_lean must lie in [0, 1]", f"{evaluator_lean}", hint)
    check_proportion("tie_share", tie_share, hint="give the share of judgments that will be ties")


def check_proportion(name: str, found: Any, *, hint: str) -> None:
    """Refuse what is no share of something of which some is left."""
    if not isinstance(found, Real) or not 0 <= float(found) < 1:
        asked = f"{name} must be at least 0 and below 1"
        raise PlanError(asked, f"{found!r}", f"{hint}, such as 0.1")


def check_whole(name: str, found: Any, *, least: int, hint: str) -> None:
    """Refuse anything but nothing and whole numbers that are large enough."""
    if found is None:
        return
    if isinstance(found, bool) or not isinstance(found, Integral):
        raise PlanError(f"{name} must be a whole number", f"{found!r}", hint)
    if int(found) < least:
        raise PlanError(f"{name} must be at least {least}", f"{found}", hint)


def _is_between(found: Any) -> bool:
    return isinstance(found, Real) and 0 < float(found) < 1
