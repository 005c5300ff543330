"""What a plan may assume: rates, shares and choices, checked at the door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from comparity.errors import PlanError
from comparity.inference.scenarios import ComparativeScenario

__all__ = ["RULES", "check_choices", "check_design", "checked_groups", "checked_rates"]

RULES = ("holm", "paper")


def checked_groups(groups: Sequence[str] | None, rates: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the groups, their positions where none are given."""
    names = tuple(map(str, range(len(rates)) if groups is None else groups))
    if len(names) < 2 or len(set(names)) < len(names):
        raise PlanError(
            "a plan needs at least two groups with different names",
            ", ".join(map(repr, names)) or "none",
            "give one rate per group, such as tpr=[0.8, 0.84]",
        )
    return names


def checked_rates(count: int, **rates: Sequence[float]) -> dict[str, tuple[float, ...]]:
    """Return the rates as tuples of floats, one per group."""
    checked = {name: tuple(map(float, values)) for name, values in rates.items()}
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


def check_choices(options: Mapping[str, Any], size_name: str) -> None:
    """Refuse a question that asks for nothing, for both, or for the impossible."""
    size, power, alpha, margin = (options[k] for k in (size_name, "power", "alpha", "margin"))
    if (size is None) == (power is None):
        raise PlanError(
            f"exactly one of {size_name} and power is needed",
            "neither" if size is None else f"{size_name}={size} and power={power}",
            f"give {size_name} to learn the power, or power to learn {size_name}",
        )
    if size is not None and size < 1:
        raise PlanError(f"{size_name} must be at least 1", f"{size}", "give a number of rows")
    for name, value in (("power", power), ("alpha", alpha)):
        if value is not None and not 0 < value < 1:
            hint = "give a probability, such as 0.8 for power or 0.05 for alpha"
            raise PlanError(f"{name} must lie strictly between 0 and 1", f"{value}", hint)
    if margin is not None and not 0 < margin < 1:
        hint = "give the largest harmless gap, such as 0.05, or leave it out"
        raise PlanError("margin must lie strictly between 0 and 1", f"{margin}", hint)
    if options["rule"] not in RULES:
        known = " or ".join(map(repr, RULES))
        raise PlanError("the rule is not known", repr(options["rule"]), f"use {known}")


def check_design(scenario: ComparativeScenario) -> None:
    """Refuse impossible numbers of items or evaluators, leans and shares of ties."""
    n_items, n_evaluators = scenario.n_items, scenario.n_evaluators
    evaluator_lean, tie_share = scenario.evaluator_lean, scenario.tie_share
    if n_items is not None and n_items < 2:
        hint = "a pair takes two items; leave n_items out for fresh ones"
        raise PlanError("n_items must be at least 2", f"{n_items}", hint)
    if n_evaluators is not None and n_evaluators < 1:
        hint = "leave n_evaluators out if none judges twice"
        raise PlanError("n_evaluators must be at least 1", f"{n_evaluators}", hint)
    if not 0 <= evaluator_lean <= 1:
        hint = "give a standard deviation of gaps, such as 0.1"
        raise PlanError("evaluator_lean must lie in [0, 1]", f"{evaluator_lean}", hint)
    if not 0 <= tie_share < 1:
        hint = "give the share of judgments that will be ties, such as 0.1"
        raise PlanError("tie_share must be at least 0 and below 1", f"{tie_share}", hint)
