r"""Separation for a sensitive attribute that is a number, such as age.

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

from comparity.counts.decision_classes import class_codes
from comparity.counts.decision_rows import DecisionRows, check_threshold, find_positives
from comparity.counts.ordered_pairs import LARGER, ordered_wins
from comparity.counts.pairs import Tally
from comparity.errors import EmptyTableError, OneGroupError
from comparity.inference.dyadic import compare_wins
from comparity.inference.gap_tests import GapTest, RateEstimate, untested_gap
from comparity.inference.proportions import wilson_interval
from comparity.results.audit import Audit
from comparity.results.judging import conclude, judge
from comparity.separation.options import SeparationOptions
from comparity.tables.columns import check_sensitive, labelled_columns
from comparity.tables.frames import text_of
from comparity.tables.values import check_lengths, numbers, qualified

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
        qualify = partial(qualified, attribute, several=several)
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
