"""What the reader of a plan must know: where it is rough, and what no size can reach."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from comparity.inference.agreement_tests import FEWEST_EVALUATORS
from comparity.inference.gap_tests import items_to_see
from comparity.inference.power import LARGEST_SIZE
from comparity.planning.graded import GradedScenario
from comparity.planning.power_question import PowerQuestion
from comparity.planning.result import PlannedTest
from comparity.planning.scenarios import PairScenario
from comparity.results.options import AuditOptions

#: Below this many trials behind a rate the normal approximation is rough (Xi et al., Prop. 3.5).
FEW_TRIALS = 30


def remarks(question: PowerQuestion, tests: Sequence[PlannedTest]) -> Iterator[str]:
    """Say what the reader of a plan must know."""
    few = [test.null for test in tests if min(test.n) < FEW_TRIALS]
    if few:
        yield (
            f"fewer than {FEW_TRIALS} trials are expected behind a rate in {'; '.join(few)}: "
            "the normal approximation is rough there"
        )
    certain = [test.null for test in tests if test.standard_error == 0]
    if certain:
        yield _nothing_left_to_chance(question, certain)
    if question.rule == "paper" and question.margin is None:
        yield f"each test is judged at {question.alpha:g}, so a false alarm in any is more likely"
    yield from _small_gaps(question, tests)
    if isinstance(question.scenario, GradedScenario):
        yield from _about_quality(question.scenario, tests)
    if isinstance(question.scenario, PairScenario):
        yield from _few_items(question, question.scenario)
        yield from _about_evaluators(question.scenario.n_evaluators)


def _nothing_left_to_chance(question: PowerQuestion, certain: Sequence[str]) -> str:
    shared = getattr(question.scenario, "n_items", None) is not None
    said = f"both rates are 0 or 1 in {'; '.join(certain)}, so that nothing there is left to chance"
    return f"{said}; with shared items an audit leaves open what does not vary" if shared else said


def _small_gaps(question: PowerQuestion, tests: Sequence[PlannedTest]) -> Iterator[str]:
    """Say when an audit would not report what the plan is to find."""
    usual = AuditOptions().margin
    # By the rule of the paper a gap that differs from zero is reported whatever the margin.
    if question.margin is not None or question.rule == "paper":
        return
    largest = max(abs(test.gap) for test in tests)
    # Rates such as 0.8 and 0.85 differ by 0.05 in print only.
    if 0 < largest < usual - 1e-9:
        yield (
            f"every assumed gap is smaller than {usual:g}, the margin of an audit by default: a "
            "large study would find such gaps to be within that margin, even where they differ "
            "from zero; plan with margin= (--margin) to show that, or audit with a margin smaller "
            f"than {largest:.3g}"
        )


def _about_quality(scenario: GradedScenario, tests: Sequence[PlannedTest]) -> Iterator[str]:
    """Warn where gaps come from quality alone."""
    if scenario.keeps_separation and any(abs(test.gap) > 1e-9 for test in tests):
        yield (
            "the model errs alike in all groups, given quality: these gaps come from quality that "
            "is distributed differently, and an audit with a reference (--reference) would not "
            "report them"
        )


def _few_items(question: PowerQuestion, scenario: PairScenario) -> Iterator[str]:
    """Say when an audit of so few items finds nothing to be within the margin."""
    if question.margin is None or scenario.n_items is None:
        return
    least = items_to_see(question.margin, question.alpha)
    smallest = min(scenario.shares) * scenario.n_items
    if smallest < least:
        yield (
            f"an audit finds a gap within {question.margin:g} only where {least:,} items of each "
            f"group were judged, and {smallest:.0f} of the smallest group are expected: plan with "
            f"n_items={math.ceil(least / min(scenario.shares)):,} or more"
        )


def _about_evaluators(n_evaluators: int | None) -> Iterator[str]:
    if n_evaluators is None:
        yield (
            "no evaluator is taken to judge twice; give n_evaluators (--n-evaluators) if some will"
        )
    elif n_evaluators < FEWEST_EVALUATORS:
        yield (
            f"with fewer than {FEWEST_EVALUATORS} evaluators the audit, and so this plan, is about "
            "these evaluators, not about others like them: the assumed rates are those seen "
            "through their judgments"
        )


def say_unreachable(question: PowerQuestion, target: float | None, limit: float, unit: str) -> str:
    """Return why no size has the power wanted."""
    scenario = question.scenario
    fixed = []
    if isinstance(scenario, PairScenario):
        fixed += ["items"] if scenario.n_items is not None else []
        fixed += ["evaluators"] if scenario.n_evaluators is not None else []
    gaps = question.expect(LARGEST_SIZE).gaps
    asked = f"a power of {target:g} is not reachable"
    if question.margin is None and not gaps.any():
        return f"{asked}: the assumed rates have no gap to find, only false alarms ({limit:.4g})"
    if question.margin is not None and abs(gaps).max() >= question.margin:
        return f"{asked}: an assumed gap is not smaller than the margin of {question.margin:g}"
    if not fixed:
        return f"{asked}: the power stays at {limit:.4g} however many {unit} are made"
    these = " and ".join(fixed)
    return (
        f"{asked} with these {these}: however many {unit} are made, the power stays below "
        f"{limit:.4g}; plan for more {these}"
    )
