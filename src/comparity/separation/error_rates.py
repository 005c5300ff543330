"""Rates that separation asks to be equal in all groups, and how two of them are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from comparity.counts.decision_classes import ClassCounts
from comparity.counts.decisions import ClusteredDecisionCounts, DecisionCounts
from comparity.counts.pairs import Cell, PairCounts, Tally, subset
from comparity.inference.dyadic import FEWEST_ITEMS, compare_cells, null_covariance, rate_interval
from comparity.inference.gap_tests import GapTest, JointTest, RateEstimate, untested_gap
from comparity.inference.joint import homogeneous_rates, joint_equality
from comparity.inference.proportions import compare_rates, compare_rates_wald, wilson_interval


class GroupRate(NamedTuple):
    """A rate that is to be equal in all groups.

    Attributes
    ----------
    name : str
        What it is called.
    start : str
        How it is written of a group, up to the name of that: ``"TPR("``.
    counts : DecisionCounts
    label : str
        Which rows it is a share of: ``"1"`` for those labelled positive, ``"0"`` for the others.
    """

    name: str
    start: str
    counts: DecisionCounts
    label: str

    @property
    def tallies(self) -> dict[str, Tally]:
        """Rows and yes decisions by group."""
        return {
            group: one.positives if self.label == "1" else one.negatives
            for group, one in self.counts.items()
        }

    def compare(
        self,
        groups: tuple[str, str],
        *,
        rule: str,
        anytime: bool = False,
        qualify: Callable[[str], str],
    ) -> GapTest:
        """Test whether two groups have the same rate.

        The tests of two proportions, exact or not, are for independent rows. Rows that share
        clusters, and rows that are looked at again and again, are compared by the score test of
        :mod:`comparity.inference.dyadic`.
        """
        null = qualify(" = ".join(f"{self.start}{group})" for group in groups))
        first, second = (self.tallies[group] for group in groups)
        scarce = min(first.trials, second.trials)
        one, two = (Cell(group, self.label) for group in groups)
        if not isinstance(self.counts, ClusteredDecisionCounts) or not scarce:
            if anytime and scarce:
                sharing = PairCounts({one: first, two: second}).sharing()
                test = compare_cells(sharing, one, two, null=null)
                return replace(test, method="score z" if test.pivot else test.method)
            compare = compare_rates_wald if rule == "paper" else compare_rates
            return compare(first, second, null=null)
        if scarce < FEWEST_ITEMS:
            gap, n = first.rate - second.rate, (first.trials, second.trials)
            why = f"only {scarce} decisions behind a rate, {FEWEST_ITEMS} are needed with clusters"
            return untested_gap(null, n, why, gap=gap)
        return compare_cells(self.counts.sharing, one, two, null=null)

    def compare_all(self) -> JointTest:
        """Test whether all groups have the same rate."""
        null = f"{self.start.rstrip('(')} is equal in all groups"
        if not isinstance(self.counts, ClusteredDecisionCounts):
            return homogeneous_rates(self.tallies, null=null)
        sharing = self.counts.sharing
        cells = [Cell(group, self.label) for group, tally in self.tallies.items() if tally.trials]
        kept = subset(sharing, [sharing.cells.index(cell) for cell in cells])
        rates, covariance = kept.hits / kept.trials, null_covariance(kept)
        return joint_equality(rates, covariance, null=null, method="clustered score chi-square")

    def estimate(self, group: str, *, of: str) -> RateEstimate:
        """Return the rate of one group with its interval."""
        tally = self.tallies[group]
        if isinstance(self.counts, ClusteredDecisionCounts):
            interval = rate_interval(self.counts.sharing, Cell(group, self.label))
        else:
            interval = wilson_interval(tally)
        return RateEstimate(
            name=self.name,
            of=of,
            rate=tally.rate,
            trials=tally.trials,
            score_ties=0,
            interval=interval,
        )


def rates_of(counts: DecisionCounts) -> tuple[GroupRate, GroupRate]:
    """Return the rates of yes/no decisions: true positives and false positives."""
    return (
        GroupRate("true positive rate", "TPR(", counts, "1"),
        GroupRate("false positive rate", "FPR(", counts, "0"),
    )


def class_rates(counts: ClassCounts) -> tuple[GroupRate, ...]:
    """Return the rates of every decision given every label.

    Of two decisions one rate says all: that of the other is what is left.
    """
    decisions = counts.classes if len(counts.classes) > 2 else counts.classes[-1:]
    return tuple(
        GroupRate(f"{decision} given {label}", f"P({decision} | {label}, ", one, "1")
        for (label, decision), one in counts.given.items()
        if decision in decisions
    )
