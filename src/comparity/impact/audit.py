"""Impact ratios of selections, or of scores above the median, by group and combination of groups.

The rate of a group over the largest rate of any group, as audits under New York City's Local Law
144 report it (6 RCNY 5-300 to 5-304), with limits that allow for not knowing which group has the
largest rate (:mod:`comparity.inference.ratios`). Four fifths is the rule of thumb of the US Uniform
Guidelines (29 CFR 1607.4 D); whether anything complies with either is not for a number to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.stats import fisher_exact

from comparity import __version__
from comparity.counts.engine_bins import find_median
from comparity.counts.pairs import Tally
from comparity.errors import (
    EmptyTableError,
    MissingValueError,
    NobodySelectedError,
    OneGroupError,
    OptionError,
    UnknownPositiveError,
)
from comparity.impact.options import ImpactForm, ImpactOptions
from comparity.impact.result import AT_LEAST, BELOW, OPEN, ImpactGroup, ImpactRatios, ImpactTable
from comparity.inference.gap_tests import Interval
from comparity.inference.proportions import wilson_interval
from comparity.inference.ratios import impact_ratio, ratio_limits
from comparity.reports.ranges import JudgedRange, RangeAudit, RangeGate
from comparity.results.options import choice, shows
from comparity.tables.columns import BLANKS, Table, check_columns, check_sensitive, open_table
from comparity.tables.features import as_array, named_attributes
from comparity.tables.files import file_facts, read_table
from comparity.tables.frames import Columns, collect_columns, text_of
from comparity.tables.typing import Attributes, Column
from comparity.tables.values import binary, check_lengths, factorise, numbers, rows_of

FOUR_FIFTHS = 0.8
TABLE = "people"

Flags = NDArray[np.bool_]
Coded = tuple[NDArray[np.int64], list[str]]


@shows(ImpactOptions)
def impact_ratios(
    selected: Column | None = None,
    *,
    sensitive_features: Attributes,
    scores: Column | None = None,
    positive: Any = None,
    **choices: Any,
) -> ImpactRatios:
    """Return selection rates of groups, and each over the largest of them.

    Parameters
    ----------
    selected : array-like
        Whether each person was selected: 0/1, true/false, or two values with `positive`.
    sensitive_features : array-like, mapping or frame
        The group of each person, missing where it is not known; several attributes as a mapping or
        as columns of a frame. Several are also taken in combination.
    scores : array-like, optional
        Instead of `selected`: rates are then shares above the median score of all.
    positive : optional
        The value that means selected.
    **choices
        See the signature; the help of ``comparity impact`` explains each.

    Returns
    -------
    ImpactRatios

    Examples
    --------
    >>> found = impact_ratios(
    ...     [1] * 30 + [0] * 70 + [1] * 50 + [0] * 50, sensitive_features=["f"] * 100 + ["m"] * 100
    ... )
    >>> women = found.tables[0].groups[0]
    >>> women.group, women.rate, women.ratio
    ('f', 0.3, 0.6)
    """
    options = ImpactOptions(**choices)
    attributes = named_attributes(sensitive_features)
    groups = {name: as_array(values, name) for name, values in attributes.items()}
    if (selected is None) == (scores is None):
        raise OptionError("selected", None, ["one of selected and scores"])
    name, values = ("selected", selected) if scores is None else ("scores", scores)
    outcome = as_array(values, name)
    check_lengths({name: outcome, **groups})
    if not len(outcome):
        raise EmptyTableError(TABLE)
    median = None
    if scores is None:
        hit = _find_selected(outcome, name, positive)
    else:
        found = numbers(outcome, name, TABLE)
        median = float(np.median(found))
        hit = found > median
    coded = {attribute: _known_groups(column) for attribute, column in groups.items()}
    each = np.ones(len(hit), dtype=np.int64)
    return _find_ratios(
        _People(hit=hit, weights=each, groups=coded, median=median), options, column=name
    )


def audit_frame(frame: Any, **choices: Any) -> ImpactRatios:
    """Return the impact ratios of a frame of any engine; `choices` are those of the form.

    People are counted, and the median of their scores is found, on the engine the frame lives in.
    """
    form = ImpactForm(**choices)
    check_sensitive(list(form.sensitive))
    name = form.score if form.selected is None else form.selected
    assert name is not None, "the form asks for one of the two"
    groups = {f"group{place}": one for place, one in enumerate(form.sensitive)}
    table = open_table(frame, TABLE, {"outcome": name, **groups})
    people = _count_scored(table) if form.selected is None else _count_people(table, form.positive)
    return _find_ratios(people, form.narrow(ImpactOptions), column=name)


def _count_scored(table: Table) -> _People:
    """Count people above the median score and others, by group, on the engine."""
    check_columns(table, numeric=["outcome"])
    scored = table.frame.with_columns(table.number("outcome").alias("outcome"))
    median = find_median(scored, "outcome")
    above = nw.when(nw.col("outcome") > median).then(nw.lit(1)).otherwise(nw.lit(0))
    found = _count_rows(scored.with_columns(above.alias("outcome")), table)
    return _People.of_columns(found, table, found["outcome"] == 1, median=median)


def _count_people(table: Table, positive: Any) -> _People:
    """Count people who were selected and others, by group, on the engine."""
    found = _count_rows(table.frame, table)
    if not len(found["n"]):
        raise EmptyTableError(TABLE)
    if (factorise(found["outcome"])[0] < 0).any():
        check_columns(table, complete=["outcome"])
    hit = _find_selected(found["outcome"], table.columns["outcome"], positive)
    return _People.of_columns(found, table, hit)


def _count_rows(rows: nw.LazyFrame[Any], table: Table) -> Columns:
    return collect_columns(rows.group_by(*table.columns).agg(nw.len().alias("n")))


def audit_file(path: str | Path, **choices: Any) -> ImpactRatios:
    """Return the impact ratios of a file; `choices` as in :func:`audit_frame`."""
    found = audit_frame(read_table(path), **choices)
    return found.with_provenance({"files": file_facts(path)})


@dataclass(frozen=True, slots=True, kw_only=True)
class _People:
    """Who was selected, by group; equal people may be one entry.

    Attributes
    ----------
    hit : ndarray of bool
        Selected, or above the median score.
    weights : ndarray of int
        How many people an entry stands for.
    groups : mapping of str to (codes, names)
    median : float or None
        Of scores.
    """

    hit: Flags
    weights: NDArray[np.int64]
    groups: Mapping[str, Coded]
    median: float | None = None

    @classmethod
    def of_columns(
        cls, found: Columns, table: Table, hit: Flags, *, median: float | None = None
    ) -> _People:
        """Return the people that an engine counted."""
        named = {name: found[ours] for ours, name in table.columns.items() if ours != "outcome"}
        groups = {name: _known_groups(column) for name, column in named.items()}
        return cls(hit=hit, weights=found["n"].astype(np.int64), groups=groups, median=median)


def _find_ratios(people: _People, options: ImpactOptions, *, column: str) -> ImpactRatios:
    tables = [_table(name, one, people, options) for name, one in people.groups.items()]
    if len(tables) > 1:
        both = _combine_groups(people.groups)
        tables.append(_table(" & ".join(people.groups), both, people, options))
    return ImpactRatios(
        tables=tuple(tables),
        outcome=column,
        median=people.median,
        n=int(people.weights.sum()),
        hits=int(people.weights[people.hit].sum()),
        level=options.level,
        four_fifths=options.four_fifths,
        provenance={
            "comparity": __version__,
            "options": asdict(options),
            "columns": {"outcome": column, "sensitive": [*people.groups]},
        },
    )


def _find_selected(outcome: NDArray[Any], name: str, positive: Any) -> Flags:
    codes, values = factorise(outcome)
    if (codes < 0).any():
        raise MissingValueError(name, TABLE, rows_of(codes < 0))
    wanted = None if positive is None else text_of(positive)
    if wanted is not None and wanted not in values:
        raise UnknownPositiveError(positive, (name,), values)
    chosen: Flags = binary(values, name, role="selection", positive=wanted)[codes]
    return chosen


def _combine_groups(groups: Mapping[str, Coded]) -> Coded:
    """Return the combination of all attributes; -1 where one of them is not known."""
    code = np.zeros(len(next(iter(groups.values()))[0]), dtype=np.int64)
    joined, known = [""], np.ones(len(code), dtype=bool)
    for codes, names in groups.values():
        known &= codes >= 0
        used, code = np.unique(code * len(names) + np.maximum(codes, 0), return_inverse=True)
        joined = [f"{joined[k // len(names)]} & {names[k % len(names)]}" for k in used.tolist()]
    return np.where(known, code.reshape(-1), -1), [name.removeprefix(" & ") for name in joined]


def _known_groups(values: NDArray[Any]) -> Coded:
    """Return codes and names of groups; -1 where there is none, or nothing of it can be seen."""
    codes, names = factorise(values)
    blank = [code for code, name in enumerate(names) if not name.strip(BLANKS)]
    return np.where(np.isin(codes, blank), -1, codes), names


def _table(attribute: str, groups: Coded, people: _People, options: ImpactOptions) -> ImpactTable:
    codes, names = groups
    known, hit, weights = codes >= 0, people.hit, people.weights
    trials, hits = (
        np.bincount(codes[chosen], weights[chosen], len(names)) for chosen in (known, known & hit)
    )
    tallies = {
        names[k]: Tally(int(hits[k]), int(trials[k]))
        for k in sorted(range(len(names)), key=names.__getitem__)
        if trials[k]
    }
    whole = int(weights[known].sum())
    compared = {
        group: one
        for group, one in tallies.items()
        if one.trials >= max(options.min_share * whole, options.suppress)
    }
    if len(compared) < 2:
        raise OneGroupError(attribute, [*compared])
    if not any(one.hits for one in compared.values()):
        raise NobodySelectedError(attribute, whole)
    return ImpactTable(
        attribute=attribute,
        groups=tuple(
            _group(group, one, compared, whole, options) for group, one in tallies.items()
        ),
        unknown=int(weights[~known].sum()),
        unknown_hits=int(weights[hit & ~known].sum()),
    )


def _group(
    group: str, own: Tally, compared: Mapping[str, Tally], whole: int, options: ImpactOptions
) -> ImpactGroup:
    """Return the rate of a group, and its ratio where it is large enough to have one."""
    if own.trials < options.suppress:
        return ImpactGroup(group=group, why_none=f"fewer than {options.suppress} people")
    found = ImpactGroup(
        group=group,
        n=own.trials,
        hits=own.hits,
        rate=own.rate,
        rate_interval=wilson_interval(own, options.level),
        share=own.trials / whole,
        why_none=f"below {options.min_share:.0%} of all people" if group not in compared else "",
    )
    if group not in compared:
        return found
    others = [one for name, one in compared.items() if name != group]
    ratio, interval = impact_ratio(own, others, options.level)
    tests = [fisher_exact([_row(own), _row(one)], alternative="less").pvalue for one in others]
    return replace(
        found,
        ratio=ratio,
        interval=interval,
        p_value=min(1.0, len(others) * float(min(tests))),
        four_fifths=_four_fifths(own, others, 1 - options.level) if options.four_fifths else "",
    )


def _row(one: Tally) -> list[int]:
    return [one.hits, one.trials - one.hits]


def _four_fifths(own: Tally, others: list[Tally], alpha: float) -> str:
    """Return whether a ratio is at least four fifths: all tests against other groups must say so.

    That it is below needs one of them, at a level corrected for their number.
    """
    if all(ratio_limits(own, one, alpha)[0] >= FOUR_FIFTHS for one in others):
        return AT_LEAST
    if any(ratio_limits(own, one, alpha / len(others))[1] < FOUR_FIFTHS for one in others):
        return BELOW
    return OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactGateForm(ImpactForm):
    """What a policy says of impact ratios."""

    alpha: float = choice(0.05, "Overall false-alarm rate.", above=0, below=0.5)
    smallest: float = choice(0.8, "Smallest impact ratio that may be.", above=0, most=1)


def _judge(form: ImpactGateForm, ratios: Callable[[float], ImpactRatios]) -> RangeAudit:
    found = ratios(form.level)
    n = sum(not one.why_none for table in found.tables for one in table.groups)
    # Lower limits are one-sided at half of what is left of the level, and so are upper ones.
    inside = ratios(1 - 2 * form.alpha)
    outside = ratios(1 - 2 * form.alpha / n)
    tests = [
        JudgedRange(
            name=f"impact ratio of {table.attribute} = {one.group}",
            value=one.ratio,
            low=form.smallest,
            high=1.0,
            inside=near.interval,
            outside=Interval(far.interval.low, far.interval.high, 1 - form.alpha / n),
        )
        for table, small, large in zip(found.tables, inside.tables, outside.tables, strict=True)
        for one, near, far in zip(table.groups, small.groups, large.groups, strict=True)
        if not one.why_none
    ]
    return RangeAudit(
        notion="impact ratios",
        tests=tuple(tests),
        alpha=form.alpha,
        answer=replace(found, provenance={}),
        provenance=found.provenance,
    )


GATE = RangeGate(
    form=ImpactGateForm, question=ImpactForm, of_frame=audit_frame, of_file=audit_file, judge=_judge
)
judge_frame, judge_file = GATE.judge_frame, GATE.judge_file
