"""Comparisons of decision makers, read back from the JSON that ``--json`` printed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from comparity.inference.differences import magnitude
from comparity.inference.gap_tests import Interval
from comparity.inference.permutation import PermutationTest
from comparity.relative.bridges.result import BridgeDiagnosis, BridgedParity
from comparity.relative.result import DifferentialParity, MeansTest, RaterContrast, RaterParity
from comparity.reports.recorded import (
    Recorded,
    array,
    audit_of,
    mapping,
    number,
    numbers,
    sequence,
    text,
    texts,
    whole,
)
from comparity.results.audit import Audit, JudgedGap

__all__ = ["bridged_of", "raters_of", "relative_of"]

Content = Mapping[str, Any]


def relative_of(content: Content) -> DifferentialParity:
    """Return the comparison of two decision makers from its JSON."""
    audit = audit_of(content)
    return DifferentialParity(
        audit=audit,
        contrasts=_contrasts(content, audit),
        distribution=tuple(_permutation(mapping(one)) for one in sequence(content["distribution"])),
        anova=tuple(_means(mapping(one)) for one in sequence(content["anova"])),
    )


def bridged_of(content: Content) -> BridgedParity:
    """Return a comparison across a bridge from its JSON."""
    same = relative_of(content)
    found = mapping(content["diagnosis"])
    sizes = ("explained", "calibration_p", "shift", "optimism", "ignored")
    groups = ("calibration", "separability", "effective_share")
    first, second = map(number, sequence(found["errors"]))
    facts: dict[str, Any] = {name: number(found[name]) for name in sizes}
    facts |= {name: numbers(found[name]) for name in groups}
    facts |= {"n_shared": whole(found["n_shared"]), "refusals": texts(found["refusals"])}
    return BridgedParity(
        audit=same.audit,
        contrasts=same.contrasts,
        distribution=same.distribution,
        anova=same.anova,
        bridge=text(content["bridge"]),
        errors_from=text(content["errors_from"]),
        scale=number(content["scale"]),
        diagnosis=BridgeDiagnosis(errors=(first, second), **facts),
    )


def raters_of(content: Content) -> RaterParity:
    """Return the comparison of several decision makers from its JSON."""
    audit = audit_of(content)
    raters = texts(content["raters"])
    contrasts = _contrasts(content, audit)
    k = len(raters)
    matrices = {name: array(rows, (k, k)) for name, rows in mapping(content["matrices"]).items()}
    place = {name: number for number, name in enumerate(raters)}
    words = {name: [[""] * k for _ in raters] for name in matrices}
    for one in contrasts:
        row, column = place[one.first], place[one.second]
        found = words[f"{one.attribute}: {one.group} over {one.reference}"]
        found[row][column] = found[column][row] = one.finding
    findings = {name: tuple(map(tuple, rows)) for name, rows in words.items()}
    return RaterParity(
        raters=raters, matrices=matrices, audit=audit, contrasts=contrasts, findings=findings
    )


def _contrasts(content: Content, audit: Audit) -> tuple[RaterContrast, ...]:
    found = map(mapping, sequence(content["contrasts"]))
    return tuple(_contrast(one, test) for one, test in zip(found, audit.tests, strict=True))


def _contrast(content: Content, test: JudgedGap) -> RaterContrast:
    words = ("first", "second", "attribute", "group", "reference", "label", "magnitude")
    sizes = ("gap", "dpt", "dof", "p_value", "p_one_sided", "dpd", "dpd_total", "games_howell_p")
    facts: dict[str, Any] = {name: text(content[name]) for name in (*words, "direction")}
    facts |= {name: number(content[name]) for name in sizes}
    first, second = map(whole, sequence(content["n"]))
    facts["n"] = (first, second)
    if content["dpd"] is None and facts["magnitude"] != magnitude(math.nan):
        # JSON has no number for a gap where nothing varies.
        facts["dpd"] = math.copysign(math.inf, facts["gap"])
    mean, other = map(number, sequence(content["means"]))
    facts["means"] = (mean, other)
    if isinstance(test.pivot, Recorded):
        low, high = map(number, sequence(content["dpd_interval"]))
        known = (*test.pivot.known, Interval(low, high, 0.95))
        test = replace(test, pivot=replace(test.pivot, known=known))
    return RaterContrast(test=test, **facts)


def _permutation(content: Content) -> PermutationTest:
    return PermutationTest(
        null=text(content["null"]),
        name=text(content["name"]),
        statistic=number(content["statistic"]),
        p_value=number(content["p_value"]),
        permutations=whole(content["permutations"]),
    )


def _means(content: Content) -> MeansTest:
    above, below = map(number, sequence(content["dof"]))
    return MeansTest(
        null=text(content["null"]),
        statistic=number(content["statistic"]),
        dof=(above, below),
        p_value=number(content["p_value"]),
        method=text(content["method"]),
    )
