"""Impact ratios of selections, or of scores above the median, by group and combination of groups.

The rate of a group over the largest rate of any group, as audits under New York City's Local Law
144 report it (6 RCNY 5-300 to 5-304), with limits that allow for not knowing which group has the
largest rate (:mod:`comparity.inference.ratios`). Four fifths is the rule of thumb of the US Uniform
Guidelines (29 CFR 1607.4 D); whether anything complies with either is not for a number to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import fisher_exact

from comparity import __version__
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
from comparity.inference.proportions import wilson_interval
from comparity.inference.ratios import impact_ratio, ratio_limits
from comparity.results.options import shows
from comparity.tables.columns import BLANKS, check_sensitive, labelled_columns
from comparity.tables.features import as_array, named_attributes
from comparity.tables.files import file_sha256, read_table
from comparity.tables.frames import text_of
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
        In the place of `selected`: rates are then shares above the median score of all.
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
    return _find_ratios(outcome, groups, options, name=name, positive=positive)


def audit_frame(frame: Any, **choices: Any) -> ImpactRatios:
    """Return the impact ratios of a frame of any engine; `choices` are those of the form."""
    form = ImpactForm(**choices)
    check_sensitive(list(form.sensitive))
    name = form.score if form.selected is None else form.selected
    assert name is not None, "the form asks for one of the two"
    columns = labelled_columns(frame, [name, *form.sensitive], table=TABLE)
    groups = {one: columns[one] for one in form.sensitive}
    options = form.narrow(ImpactOptions)
    return _find_ratios(
        columns[name],
        groups,
        options,
        name="scores" if form.selected is None else "selected",
        positive=form.positive,
        column=name,
    )


def audit_file(path: str | Path, **choices: Any) -> ImpactRatios:
    """Return the impact ratios of a file; `choices` as in :func:`audit_frame`."""
    found = audit_frame(read_table(path).to_native(), **choices)
    file = {"name": Path(path).name, "sha256": file_sha256(path)}
    return found.with_provenance({"files": [file]})


def _find_ratios(
    outcome: NDArray[Any],
    groups: Mapping[str, NDArray[Any]],
    options: ImpactOptions,
    *,
    name: str,
    positive: Any,
    column: str = "",
) -> ImpactRatios:
    if not len(outcome):
        raise EmptyTableError(TABLE)
    median = None
    if name == "scores":
        values = numbers(outcome, column or name, TABLE)
        median = float(np.median(values))
        hit = values > median
    else:
        hit = _find_selected(outcome, column or name, positive)
    coded = {attribute: _known_groups(values) for attribute, values in groups.items()}
    tables = [_table(attribute, one, hit, options) for attribute, one in coded.items()]
    if len(groups) > 1:
        tables.append(_table(" & ".join(groups), _combine_groups(coded), hit, options))
    return ImpactRatios(
        tables=tuple(tables),
        outcome=column or name,
        median=median,
        n=len(hit),
        hits=int(hit.sum()),
        level=options.level,
        four_fifths=options.four_fifths,
        provenance={
            "comparity": __version__,
            "options": asdict(options),
            "columns": {"outcome": column, "sensitive": [*groups]},
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


def _table(attribute: str, groups: Coded, hit: Flags, options: ImpactOptions) -> ImpactTable:
    codes, names = groups
    known = codes >= 0
    trials = np.bincount(codes[known], minlength=len(names))
    hits = np.bincount(codes[known & hit], minlength=len(names))
    tallies = {
        names[k]: Tally(int(hits[k]), int(trials[k]))
        for k in sorted(range(len(names)), key=names.__getitem__)
        if trials[k]
    }
    whole = int(known.sum())
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
        unknown=int((~known).sum()),
        unknown_hits=int((hit & ~known).sum()),
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
    """Say whether a ratio is at least four fifths: all tests against other groups must say so.

    That it is below needs one of them, at a level corrected for their number.
    """
    if all(ratio_limits(own, one, alpha)[0] >= FOUR_FIFTHS for one in others):
        return AT_LEAST
    if any(ratio_limits(own, one, alpha / len(others))[1] < FOUR_FIFTHS for one in others):
        return BELOW
    return OPEN
