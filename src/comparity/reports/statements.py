"""Findings in numbers that people repeat: "69 of 100 with sex = f and 80 of 100 with sex = m".

The test that decided comes first, with the names of columns and groups where they are known. What
is said here is said in the terminal, on the page, and where a gate stops a release.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from comparity.errors.spelling import visible
from comparity.inference.gap_tests import RateEstimate
from comparity.reports.sections import percent
from comparity.results.audit import Audit, JudgedGap
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

# By what name the tests call a rate.
SIGNS = {
    "true positive rate": "TPR",
    "false positive rate": "FPR",
    "agreement": "agree",
    "pairwise accuracy": "agree",
}
MOST_DIGITS = 3


class Side(NamedTuple):
    """One of the two rates that a test compares.

    Attributes
    ----------
    attribute : str
        Of which sensitive attribute; empty where nobody said.
    name : str
        The group, or the two groups of a kind of pair.
    estimate : RateEstimate
    """

    attribute: str
    name: str
    estimate: RateEstimate


def statement(audit: Audit) -> str:
    """Say what the test that decided found; nothing where nothing was tested."""
    test = foremost_test(audit)
    if test is None:
        return ""
    sides = compared_sides(audit, test)
    digits = _digits(test, audit.margin)
    told = _rates_in_words(audit, *sides, digits) if sides else ""
    gap = "The gap" if told else f"The gap in {visible(test.null)}"
    return f"{told}{gap} is {gap_in_words(test, audit.margin, digits)}."


def foremost_test(audit: Audit) -> JudgedGap | None:
    """Return the test with the largest gap among those that have the finding of the audit."""
    tested = [test for test in audit.tests if test.pivot is not None]
    deciding = [test for test in tested if test.finding == audit.finding] or tested
    return max(deciding, key=lambda test: abs(test.gap), default=None)


def gap_in_words(test: JudgedGap, margin: float, digits: int | None = None) -> str:
    """Say how large a gap between shares is, how sure that is, and what follows.

    In points of a hundred, and as if the gap were positive: its direction is told by the rates.
    """
    places = _digits(test, margin) if digits is None else digits
    sign = -1 if test.gap < 0 else 1
    low, high, level = test.deciding_interval
    ends = sorted((sign * low, sign * high))
    unit = "point" if _hundredths(abs(test.gap), places) == "1" else "points"
    size = f"{_hundredths(abs(test.gap), places)} {unit}"
    interval = " to ".join(_hundredths(end, places) for end in ends)
    return f"{size} ({percent(level)} interval {interval}): {meaning(test.finding, margin)}"


def meaning(finding: str, margin: float, unit: str = "points", scale: float = 100) -> str:
    """Say what a finding means, with the margin in the unit of the gap."""
    size = f"{scale * margin:g} {unit}"
    return {
        VIOLATED: "larger than chance explains",
        WITHIN: f"shown to be smaller than the margin of {size}",
        UNDECIDED: f"neither shown to differ from zero nor to be smaller than the margin of {size}",
    }[finding]


def compared_sides(audit: Audit, test: JudgedGap) -> tuple[Side, Side] | None:
    """Return the two rates that a test compares; none where it compares something else."""
    for first in _sides(audit):
        start = f"{_prefix(first)}{SIGNS[first.estimate.name]}({first.name}) = "
        if not test.null.startswith(start):
            continue
        for second in _sides(audit):
            same = (second.attribute, second.estimate.name) == (
                first.attribute,
                first.estimate.name,
            )
            rest = test.null[len(start) :]
            if same and rest == f"{SIGNS[second.estimate.name]}({second.name})":
                return first, second
    return None


def _sides(audit: Audit) -> Iterator[Side]:
    """Yield every rate, by each reading of its name: names of groups may hold any signs."""
    for one in audit.rates:
        if one.name not in SIGNS:
            continue
        yield Side("", one.of, one)
        at = one.of.find(": ")
        while at >= 0:
            yield Side(one.of[:at], one.of[at + 2 :], one)
            at = one.of.find(": ", at + 1)


def _prefix(side: Side) -> str:
    return f"{side.attribute}: " if side.attribute else ""


def _rates_in_words(audit: Audit, first: Side, second: Side, digits: int) -> str:
    known = _columns(audit)
    attribute = visible(first.attribute or known.get("sensitive", ""))
    if first.estimate.name == "agreement" or first.estimate.name == "pairwise accuracy":
        return _pairs_in_words(audit, first, second, digits, known, attribute)
    shares = [_hundredths(side.estimate.rate, digits) for side in (first, second)]
    groups = [_group(side.name, attribute) for side in (first, second)]
    label = visible(known.get("label", "the label"))
    model = visible(known.get("prediction", "the model's decision"))
    answer = "yes" if first.estimate.name == "true positive rate" else "no"
    return (
        f"Where {label} is {answer}, {model} is yes for {shares[0]} of 100 {groups[0]} "
        f"and for {shares[1]} of 100 {groups[1]}. "
    )


def _pairs_in_words(
    audit: Audit, first: Side, second: Side, digits: int, known: Mapping[str, str], attribute: str
) -> str:
    model = visible(known.get("score", "the model"))
    who, put = _whose_order(audit, known)
    unit = "judgments" if audit.unit == "judgments" else "pairs"
    weighted = " (standardised)" if "(standardised)" in audit.notion else ""
    kinds = [_kind_of_pair(side.name, attribute) for side in (first, second)]
    shares = [_hundredths(side.estimate.rate, digits) for side in (first, second)]
    return (
        f"Where {who} {put} {kinds[0]}, {model} agrees in {shares[0]} of 100 {unit}{weighted}; "
        f"where {'they' if put == 'put' else 'it'} {put} {kinds[1]}, in {shares[1]}. "
    )


def _whose_order(audit: Audit, known: Mapping[str, str]) -> tuple[str, str]:
    """Return what the model is compared with, and the verb that goes with it."""
    if audit.unit == "judgments":
        return "judges", "put"
    if "panel" in audit.notion:
        return f"the {audit.notion.partition('with the ')[2]}", "puts"
    return visible(known.get("label", "the label")), "puts"


def _kind_of_pair(name: str, attribute: str) -> str:
    better, between, worse = name.partition(" > ")
    if not between or " > " in worse:
        return visible(name)
    named = [f"{attribute} = {one}" if attribute else one for one in (better, worse)]
    return " above ".join(map(visible, named))


def _group(name: str, attribute: str) -> str:
    return f"with {attribute} = {visible(name)}" if attribute else f"in group {visible(name)}"


def _columns(audit: Audit) -> dict[str, str]:
    """Return the names of columns that the audit knows, of one sensitive column only."""
    data: Mapping[str, Any] = audit.provenance.get("data") or {}
    inner = data.get("columns")
    named = {**data, **(inner if isinstance(inner, Mapping) else {})}
    found = {key: named[key] for key in ("label", "prediction", "score") if named.get(key)}
    sensitive = named.get("sensitive")
    if isinstance(sensitive, list | tuple) and len(sensitive) == 1:
        (sensitive,) = sensitive
    if isinstance(sensitive, str):
        found["sensitive"] = sensitive
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _digits(test: JudgedGap, margin: float) -> int:
    """Return how many digits show on which sides of zero and of the margin the numbers are."""
    low, high, _ = test.deciding_interval
    numbers = [100 * abs(one) for one in (test.gap, low, high) if math.isfinite(one)]
    edge = 100 * margin
    for digits in range(MOST_DIGITS):
        rounded = [round(one, digits) for one in numbers]
        apart = all((new == 0) == (one == 0) for new, one in zip(rounded, numbers, strict=True))
        beside = all(
            (new < edge) == (one < edge) for new, one in zip(rounded, numbers, strict=True)
        )
        if apart and beside:
            return digits
    return MOST_DIGITS


def _hundredths(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "no limit"
    return (
        f"{100 * value:.{digits}f}".replace("-0", "0")
        if round(100 * value, digits) == 0
        else (f"{100 * value:.{digits}f}")
    )
