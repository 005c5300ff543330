"""Findings in numbers that people repeat: "69 of 100 with sex = f and 80 of 100 with sex = m".

The test that decided comes first, with the names of columns and groups where they are known. What
is said here is said in the terminal, on the page, and where a gate stops a release.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from comparity.inference.gap_tests import RateEstimate
from comparity.reports.cover import mapping_of, said_threshold
from comparity.reports.sections import clip, percent, short_id
from comparity.results.audit import Audit, JudgedGap
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

# By what name the tests call a rate.
SIGNS = {
    "true positive rate": "TPR",
    "false positive rate": "FPR",
    "agreement": "agree",
    "pairwise accuracy": "agree",
}
ERROR_RATES = ("true positive rate", "false positive rate")
MOST_DIGITS = 3
# Names of columns that are words of the language.
WORDS = ("decision", "label", "model", "outcome", "prediction", "score")


@dataclass(frozen=True, slots=True)
class GapUnit:
    """What gaps are told in.

    Attributes
    ----------
    unit : str
        Its name.
    factor : float
        How many of it are 1.
    fewest : int
        Digits behind the point, at least.
    """

    unit: str
    factor: float
    fewest: int

    def digits(self, test: JudgedGap, margin: float) -> int:
        """Return how many digits show on which side of zero and of the margin numbers are."""
        low, high, _ = test.deciding_interval
        numbers = [self.factor * abs(one) for one in (test.gap, low, high) if math.isfinite(one)]
        edge = self.factor * margin
        for digits in range(self.fewest, MOST_DIGITS):
            both = [(round(one, digits), one) for one in numbers]
            if all((new == 0) == (one == 0) and (new < edge) == (one < edge) for new, one in both):
                return digits
        return MOST_DIGITS

    def text(self, value: float, digits: int) -> str:
        """Return a number in this unit."""
        if not math.isfinite(value):
            return "no limit"
        # A rounded zero has no sign.
        return f"{round(self.factor * value, digits) + 0.0:.{digits}f}"


POINTS = GapUnit("points", 100, 0)
DEVIATIONS = GapUnit("SD", 1, 2)


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
    return "" if test is None else _statement_on(audit, test)


def further_statement(audit: Audit) -> str:
    """Say what else is violated of the two error rates, if the largest gap is one of the other."""
    first = foremost_test(audit)
    told = _error_rate(audit, first) if first is not None else ""
    if audit.finding != VIOLATED or not told:
        return ""
    found = [test for test in audit.tests if test.finding == VIOLATED and test.pivot is not None]
    others = [test for test in found if _error_rate(audit, test) not in ("", told)]
    other = max(others, key=_sure_size, default=None)
    return "" if other is None else _statement_on(audit, other)


def _error_rate(audit: Audit, test: JudgedGap) -> str:
    """Return which of the two error rates a test compares; nothing for anything else."""
    sides = compared_sides(audit, test)
    name = sides[0].estimate.name if sides else ""
    return name if name in ERROR_RATES else ""


def _statement_on(audit: Audit, test: JudgedGap) -> str:
    scale = DEVIATIONS if "differential" in audit.notion else POINTS
    sides = compared_sides(audit, test)
    told = _rates_in_words(audit, *sides, scale.digits(test, audit.margin)) if sides else ""
    gap = "The gap" if told else f"The gap in {clip(test.null)}"
    return f"{told}{gap} is {gap_in_words(test, audit.margin, scale)}."


def foremost_test(audit: Audit) -> JudgedGap | None:
    """Return the test to tell first among those that have the finding of the audit.

    Of violations the one whose gap is surely the largest: a gap between groups of ten people may
    be the largest by chance. Otherwise the one with the largest gap.
    """
    tested = [test for test in audit.tests if test.pivot is not None]
    deciding = [test for test in tested if test.finding == audit.finding] or tested
    size = _sure_size if audit.finding == VIOLATED else _size
    return max(deciding, key=size, default=None)


def _size(test: JudgedGap) -> tuple[float, float]:
    return 0.0, abs(test.gap)


def _sure_size(test: JudgedGap) -> tuple[float, float]:
    """Return about the end of the interval that is nearer to zero, and the size of the gap.

    It follows from the p value: intervals of exact tests take time, and tests may be hundreds.
    """
    gap = abs(test.gap)
    if not 0 < test.p_value < 1:
        return (gap if test.p_value <= 0 else 0.0), gap
    normal = NormalDist()
    found, needed = (normal.inv_cdf(p / 2) for p in (test.p_value, 1 - test.level))
    return max(0.0, gap * (1 - needed / found)), gap


def gap_in_words(test: JudgedGap, margin: float, scale: GapUnit) -> str:
    """Say how large a gap is, how sure that is, and what follows.

    As if the gap were positive: its direction is told by the rates, or by who favours whom.
    """
    digits = scale.digits(test, margin)
    sign = -1 if test.gap < 0 else 1
    low, high, level = test.deciding_interval
    size = scale.text(abs(test.gap), digits)
    unit = scale.unit.removesuffix("s") if size == "1" else scale.unit
    interval = " to ".join(scale.text(end, digits) for end in sorted((sign * low, sign * high)))
    sure = f"{percent(level)} interval {interval}"
    return f"{size} {unit} ({sure}): {meaning(test.finding, margin, scale)}"


def meaning(finding: str, margin: float, scale: GapUnit) -> str:
    """Say what a finding means, with the margin in the unit of the gap."""
    size = f"{scale.factor * margin:g} {scale.unit}"
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


def weaker_kind(audit: Audit) -> str:
    """Return the kind of pair with the lower rate of the test that decided; none elsewhere."""
    test = foremost_test(audit)
    sides = compared_sides(audit, test) if test is not None else None
    if sides is None or sides[0].estimate.name not in ("agreement", "pairwise accuracy"):
        return ""
    lower = min(sides, key=lambda side: side.estimate.rate)
    attribute = _safe(lower.attribute or _columns(audit).get("sensitive", ""))
    return _kind_of_pair(lower.name, attribute, _is_number(audit))


def _rates_in_words(audit: Audit, first: Side, second: Side, digits: int) -> str:
    known = _columns(audit)
    attribute = _safe(first.attribute or known.get("sensitive", ""))
    if first.estimate.name in ("agreement", "pairwise accuracy"):
        return _pairs_in_words(audit, first, second, digits, known, attribute)
    shares = [POINTS.text(side.estimate.rate, digits) for side in (first, second)]
    groups = [_group(side.name, attribute) for side in (first, second)]
    label = _subject_of(known.get("label", "the label"))
    model = _subject_of(known.get("prediction", "the model's decision"))
    label_yes, label_no, model_yes = _words_for_yes(audit)
    answer = label_yes if first.estimate.name == "true positive rate" else label_no
    return (
        f"Where {label} is {answer}, {model} is {model_yes} for {shares[0]} of 100 "
        f"{groups[0]} and for {shares[1]} of 100 {groups[1]}. "
    )


def _words_for_yes(audit: Audit) -> tuple[str, str, str]:
    """Return the words for a label of yes and of no, and for a decision of yes.

    They are the words of the data where these were named; of a score, how large it is.
    """
    data = mapping_of(audit.provenance.get("data"))
    known = {**data, **mapping_of(data.get("columns"))}
    score = said_threshold(known)
    named = known.get("positive")
    if not isinstance(named, list | tuple) or not named:
        return "yes", "no", score or "yes"
    words = [_safe(str(word)) for word in named]
    return words[0], f"not {words[0]}", score or words[-1]


def _pairs_in_words(
    audit: Audit, first: Side, second: Side, digits: int, known: Mapping[str, str], attribute: str
) -> str:
    model = _subject_of(known.get("score", "the model"))
    who, put = _whose_order(audit, known)
    unit = "judgments" if audit.unit == "judgments" else "pairs"
    weighted = " (standardised)" if "(standardised)" in audit.notion else ""
    kinds = [_kind_of_pair(side.name, attribute, _is_number(audit)) for side in (first, second)]
    shares = [POINTS.text(side.estimate.rate, digits) for side in (first, second)]
    return (
        f"Where {who} {put} {kinds[0]}, {model} agrees in {shares[0]} of 100 {unit}{weighted}; "
        f"where {'they' if put == 'put' else 'it'} {put} {kinds[1]}, in {shares[1]}. "
    )


def _is_number(audit: Audit) -> bool:
    """Return whether the groups of a pair are the larger and the smaller value of a number."""
    return bool(mapping_of(audit.provenance.get("options")).get("continuous"))


def _whose_order(audit: Audit, known: Mapping[str, str]) -> tuple[str, str]:
    """Return what the model is compared with, and the verb that goes with it."""
    if audit.unit == "judgments":
        return "judges", "put"
    if "panel" in audit.notion:
        return f"the {audit.notion.partition('with the ')[2]}", "puts"
    return _subject_of(known.get("label", "the label")), "puts"


def _kind_of_pair(name: str, attribute: str, is_number: bool) -> str:
    better, between, worse = name.partition(" > ")
    if not between or " > " in worse:
        return _safe(name)
    named = [_safe(one) for one in (better, worse)]
    if attribute:
        named = [f"{one} {attribute}" if is_number else f"{attribute} = {one}" for one in named]
    return " above ".join(named)


def _group(name: str, attribute: str) -> str:
    return f"with {attribute} = {_safe(name)}" if attribute else f"in group {_safe(name)}"


def _columns(audit: Audit) -> dict[str, str]:
    """Return the names of columns that the audit knows, of one sensitive column only."""
    data = mapping_of(audit.provenance.get("data"))
    named = {**data, **mapping_of(data.get("columns"))}
    found = {key: named[key] for key in ("label", "prediction", "score") if named.get(key)}
    sensitive = named.get("sensitive")
    if isinstance(sensitive, list | tuple) and len(sensitive) == 1:
        (sensitive,) = sensitive
    if isinstance(sensitive, str):
        found["sensitive"] = sensitive
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _subject_of(column: str) -> str:
    """Return the name of a column as the subject of a sentence."""
    return f"the {column}" if column in WORDS else _safe(column)


def _safe(name: str) -> str:
    """Return a name from data as a sentence has room for it."""
    return clip(short_id(name))
