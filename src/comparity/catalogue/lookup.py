"""Entries of the catalogue by name, and with the other coefficient of variation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from comparity.catalogue.entries import Entry
from comparity.catalogue.listing import CATALOGUE
from comparity.errors import UnknownMetricError
from comparity.metrics.entropy import STANDARD, BenefitVariation, GroupVariation

__all__ = ["catalogue_with", "entry", "ranges"]


def catalogue_with(scale: float) -> Mapping[str, Entry]:
    """Return the catalogue with one of the two definitions of the coefficient of variation.

    Parameters
    ----------
    scale : float
        :data:`~comparity.metrics.entropy.STANDARD` or
        :data:`~comparity.metrics.entropy.DOUBLED_ROOT`.

    Examples
    --------
    >>> catalogue_with(2.0)["C20"].formula
    '2 sqrt(GE_2) of b = yhat - y + 1'
    """
    if scale == STANDARD:
        return CATALOGUE
    entries = dict(CATALOGUE)
    for number, one in CATALOGUE.items():
        if isinstance(one.measure, BenefitVariation | GroupVariation):
            formula = one.formula.replace("sqrt(2 GE_2)", f"{scale:g} sqrt(GE_2)")
            entries[number] = replace(
                one, formula=formula, measure=replace(one.measure, scale=scale)
            )
    return MappingProxyType(entries)


def entry(name: str) -> Entry:
    """Find a metric by its identifier, its name or its name in AIF360.

    Examples
    --------
    >>> entry("C14").name, entry("average_odds_difference").id
    ('disparate impact', 'C9')
    """
    for one in CATALOGUE.values():
        if name in (one.id, one.name, one.aif360):
            return one
    raise UnknownMetricError(name, list(CATALOGUE))


def ranges(ids: Iterable[str]) -> str:
    """Write identifiers shortly, three and more that follow each other by their ends.

    Examples
    --------
    >>> ranges(["C0", "C1", "C2", "C3", "C9", "C10", "D1"])
    'C0-C3, C9, C10, D1'
    """
    runs: list[list[str]] = []
    order = list(CATALOGUE)
    for one in ids:
        follows = runs and one[0] == runs[-1][-1][0]
        if follows and order.index(one) == order.index(runs[-1][-1]) + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    parts = [[f"{run[0]}-{run[-1]}"] if len(run) > 2 else run for run in runs]
    return ", ".join(one for part in parts for one in part)
