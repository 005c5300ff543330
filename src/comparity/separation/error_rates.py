r"""Rates that separation asks to be equal, in all groups or whatever a number such as age.

Of two items with the same label, take the one with the larger value of the attribute and the one
with the smaller. Under separation both are as likely to be decided 1, whatever the values are:

.. math::

    P(C = 1 \mid Y = y, Z > Z') - P(C' = 1 \mid Y' = y, Z > Z') = 0

over all pairs of items labelled :math:`y`. The gap is Somers' D of the decision given the
attribute; of an attribute with two values it is the difference of the two groups' rates. No curve
is fitted, and no class of the attribute is made; a rate that falls and rises again along the
attribute can leave a gap of zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decision_classes import ClassCounts, class_codes
from comparity.counts.decision_rows import DecisionRows, check_threshold, find_positives
from comparity.counts.decisions import ClusteredDecisionCounts, DecisionCounts
from comparity.counts.ordered_pairs import LARGER, ordered_wins
from comparity.counts.pairs import Cell, PairCounts, Tally, subset
from comparity.errors import EmptyTableError, OneGroupError
from comparity.inference.dyadic import (
    FEWEST_ITEMS,
    compare_cells,
    compare_wins,
    null_covariance,
    rate_interval,
)
from comparity.inference.gap_tests import GapTest, JointTest, RateEstimate, untested_gap
from comparity.inference.joint import homogeneous_rates, joint_equality
from comparity.inference.proportions import compare_rates, compare_rates_wald, wilson_interval
from comparity.results.audit import Audit
from comparity.results.judging import conclude, judge
from comparity.separation.options import SeparationOptions
from comparity.tables.columns import check_sensitive, labelled_columns
from comparity.tables.frames import text_of
from comparity.tables.values import check_lengths, numbers, prefix_attribute


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
                sharing = PairCounts({one: first, two: second}).sharing_moments()
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


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NOTES = (
    "Rows are taken to be independent of each other.",
    "Compared are the larger and the smaller of two items with the same label, over all pairs of "
    "them: a gap says that a rate rises or falls with the number on the whole, not how.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedDecisions:
    """Labels, decisions and numbers, one of each for a row.

    Attributes
    ----------
    rows : DecisionRows
        Without groups.
    values : mapping of str to ndarray
        The numbers, by attribute; finite and not all equal.
    """

    rows: DecisionRows
    values: Mapping[str, Floats]

    @classmethod
    def of(
        cls,
        labels: NDArray[Any],
        decisions: NDArray[Any],
        *,
        sensitive: Mapping[str, NDArray[Any]],
        threshold: float | None = None,
        table: str = "array",
        names: tuple[str, str] = ("y_true", "y_pred"),
    ) -> NumberedDecisions:
        """Check arrays; gaps, text instead of numbers, and a constant are errors."""
        check_sensitive(list(sensitive))
        check_threshold(threshold)
        check_lengths({names[0]: labels, names[1]: decisions, **sensitive})
        if not len(labels):
            raise EmptyTableError(table)
        if threshold is not None:
            decisions = numbers(decisions, names[1], table) >= threshold
        values = {name: numbers(column, name, table) for name, column in sensitive.items()}
        for name, column in values.items():
            if column.min() == column.max():
                raise OneGroupError(name, [text_of(column[0])])
        rows = DecisionRows(
            labels=labels,
            predictions=decisions,
            names=names,
            groups={},
            is_cut=threshold is not None,
            table=table,
        )
        return cls(rows=rows, values=values)

    @classmethod
    def read(
        cls, frame: Any, *, label: str, prediction: str, sensitive: Sequence[str], **choices: Any
    ) -> NumberedDecisions:
        """Read the columns of a frame of any engine."""
        check_sensitive(sensitive)
        columns = labelled_columns(frame, [label, prediction, *sensitive], table="decisions")
        return cls.of(
            columns[label],
            columns[prediction],
            sensitive={name: columns[name] for name in sensitive},
            table="decisions",
            names=(label, prediction),
            **choices,
        )


class OrderedRate(NamedTuple):
    """A rate that is not to rise or fall with a number.

    Attributes
    ----------
    name, start : str
        As those of :class:`~comparity.separation.error_rates.GroupRate`.
    kept : ndarray of bool
        Rows that it is a share of.
    decided : ndarray of bool
        Rows that it counts.
    """

    name: str
    start: str
    kept: Flags
    decided: Flags

    def compare(self, values: Floats, qualify: Callable[[str], str]) -> GapTest:
        """Test whether the larger and the smaller of two items have the same rate."""
        null = qualify(f"{self.start}larger) = {self.start}smaller)")
        n = int(self.kept.sum())
        if not n:
            return untested_gap(null, (0, 0), "there are no such rows")
        wins = ordered_wins(values[self.kept], self.decided[self.kept].astype(np.float64))
        # Every row is the larger one of some pairs and the smaller one of others.
        return replace(compare_wins(wins, LARGER, null=null), n=(n, n))

    def estimate(self) -> RateEstimate:
        """Return the rate of everybody, with its interval."""
        tally = Tally(int(self.decided[self.kept].sum()), int(self.kept.sum()))
        return RateEstimate(
            name=self.name,
            of="everybody",
            rate=tally.rate,
            trials=tally.trials,
            score_ties=0,
            interval=wilson_interval(tally),
        )


def audit_numbers(
    found: NumberedDecisions, options: SeparationOptions, positive: object = None, **data: Any
) -> Audit:
    """Test separation from rows with numbers."""
    rates = tuple(_rates(found.rows, options, positive))
    several = len(found.values) > 1
    tests, groups = [], []
    for attribute, values in found.values.items():
        qualify = partial(prefix_attribute, attribute, several=several)
        tests += [rate.compare(values, qualify) for rate in rates]
        ends = ("larger", "smaller")
        groups += [f"{attribute}={end}" if several else end for end in ends]
    n = len(found.rows.labels)
    return conclude(
        judge(tests, **options.judging, n=n, n_items=n),
        options,
        data,
        notion="separation",
        groups=tuple(groups),
        design="independent decisions",
        unit="decisions",
        n=n,
        n_items=n,
        rates=tuple(rate.estimate() for rate in rates),
        notes=NOTES,
    )


def _rates(
    rows: DecisionRows, options: SeparationOptions, positive: object
) -> Iterator[OrderedRate]:
    """Yield true and false positive rates, or the rates of every decision given every label."""
    if not options.classes:
        labelled, decided = find_positives(rows, positive)
        yield OrderedRate("true positive rate", "TPR(", labelled, decided)
        yield OrderedRate("false positive rate", "FPR(", ~labelled, decided)
        return
    classes, label, decision = class_codes(rows)
    last = classes if len(classes) > 2 else classes[-1:]
    for place, given in enumerate(classes):
        if not (label == place).any():
            continue
        for name in last:
            decided = decision == classes.index(name)
            start = f"P({name} | {given}, "
            yield OrderedRate(f"{name} given {given}", start, label == place, decided)
