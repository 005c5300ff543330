"""What an audit says, the same in every medium: headline, sentences, lists, and its chart.

The three findings come from :mod:`comparity.results.judging`; here is only what surrounds them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from comparity.errors.spelling import visible
from comparity.inference.gap_tests import Needed
from comparity.reports.advice import next_steps
from comparity.reports.audit_tables import audit_grids
from comparity.reports.charts import (
    KINDS,
    Chart,
    Curve,
    CurveChart,
    Mark,
    Row,
    RowChart,
    axis_around,
    axis_between,
)
from comparity.reports.sections import (
    Deferred,
    Section,
    clip,
    count,
    percent,
    rounded_up,
    several,
    signed,
    sizes,
)
from comparity.reports.statements import further_statement, statement
from comparity.results.audit import Audit, JudgedGap
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

MOST_TESTS = 40
"""So many tests or evaluators are drawn; all of them are in to_dict() and --json."""

# So many lines of one kind are told; all are in to_dict() and --json.
LISTED = 40

ONE_UNIT = {"judgments": "judgment", "decisions": "decision", "pairs": "pair", "queries": "query"}
"""What an audit counts, where there is one of it."""

# So many kinds of pairs are named in one sentence.
MOST_KINDS = 4

# From about so many evaluators on, Student's t distribution is near the normal one.
FEW_EVALUATORS = 10


def headline(audit: Audit) -> str:
    """Return the notion and the finding over all tests."""
    return f"{audit.notion.capitalize()}: {audit.finding}"


def explanation(audit: Audit) -> str:
    """Say in one sentence what the finding means."""
    if not audit.tests:
        return "There was nothing to compare."
    margin = f"{audit.margin:g}"
    found = sum(test.finding == VIOLATED for test in audit.tests)
    tested = sum(test.pivot is not None for test in audit.tests)
    if not tested:
        return "Nothing could be tested; the notes say why."
    untested = len(audit.tests) - tested
    others = f" ({untested} could not be tested)" if untested else ""
    some = f"{found} of {several(tested, 'tested gap')}{others} {'is' if found == 1 else 'are'}"
    if tested == 1:
        some = f"The gap that was tested{others} is"
    return {
        VIOLATED: f"{some} larger than chance explains{_other_findings(audit)}.",
        WITHIN: f"Every gap is shown to be smaller than {margin} in size.",
        UNDECIDED: f"The data neither show a gap nor rule out one of {margin} or more.",
    }[audit.finding]


def _other_findings(audit: Audit) -> str:
    """Say what was found of the gaps that are not violated."""
    found = [test.finding for test in audit.tests if test.pivot is not None]
    others = [
        f"{found.count(other)} {'is' if found.count(other) == 1 else 'are'} {other}"
        for other in (WITHIN, UNDECIDED)
        if other in found
    ]
    return f"; {' and '.join(others)}" if others else ""


def audit_sentences(audit: Audit) -> Iterator[str]:
    """Yield the finding in numbers that people repeat, what all tests say, and the basis."""
    told = statement(audit)
    if told:
        yield told
    if further := further_statement(audit):
        yield further
    if not told or len(audit.tests) > 1:
        yield explanation(audit)
    yield basis(audit)
    if audit.history:
        yield _history(audit)


def _history(audit: Audit) -> str:
    """Say when the audit was first decided, and what came of it."""
    looks = f"Looked at {several(len(audit.history), 'time')}"
    if audit.stopped_at is None:
        return f"{looks}, and not decided yet: collect more judgments, and look again."
    first = next(look for look in audit.history if look.n == audit.stopped_at)
    at = f"{looks}. It was first decided after {several(first.n, 'judgment')} ({first.finding})"
    if first.n == audit.history[-1].n:
        return f"{at}: the study may stop."
    return f"{at}, and could have stopped there."


def _gap_axis(audit: Audit) -> str:
    """Say what gaps are measured in."""
    if "differential" in audit.notion:
        return "gap (DPD: in standard deviations of the difference)"
    return "gap (first rate minus second)"


def basis(audit: Audit) -> str:
    """Say what the finding rests on: margin, error rate, design, and how much data."""
    points = "" if "differential" in audit.notion else f" ({100 * audit.margin:g} points)"
    harmless = f"Gaps shown to be below {audit.margin:g}{points} count as harmless"
    parts = [
        "Any gap found to differ from zero counts" if audit.rule == "paper" else harmless,
        _error_rate(audit),
        f"design: {visible(audit.design)}",
        _data(audit),
    ]
    if audit.looks is not None:
        parts.append(f"look {audit.looks[0]} of {audit.looks[1]} planned")
    if audit.anytime:
        parts.append("to be read at any moment, and stopped on")
    return "; ".join(parts) + "."


def audit_lists(audit: Audit) -> dict[str, list[str]]:
    """Return by title what is told in lines: what was assumed, what would change, remarks."""
    changes = (
        f"{visible(test.null)}: {line}"
        for test in audit.tests
        if (line := _what_would_change(audit, test))
    )
    return {
        "What was assumed": [*map(visible, audit.notes), *tie_lines(audit)],
        "What would change the verdict": [*_first(changes), *_few_evaluators(audit)],
        "Notes": _first(_reasons(audit)),
    }


def _reasons(audit: Audit) -> Iterator[str]:
    """Yield what is remarked on tests; what is remarked on several is told once."""
    told: dict[str, list[str]] = {}
    for test in audit.tests:
        if test.reason:
            told.setdefault(test.reason, []).append(test.null)
    for reason, nulls in told.items():
        of = visible(nulls[0]) if len(nulls) == 1 else several(len(nulls), "test")
        yield f"{of}: {visible(reason)}"


def _few_evaluators(audit: Audit) -> Iterator[str]:
    """Note where more data will not help, because few evaluators do not tell their spread."""
    sized = any(test.needed is not None for test in audit.tests)
    if sized and "evaluators" in audit.design and audit.n_evaluators < FEW_EVALUATORS:
        yield (
            f"{several(audit.n_evaluators, 'evaluator')} say little about how evaluators differ, "
            "which widens every interval; the numbers above allow for that but rest on the same "
            "few, so ask more evaluators first."
        )


def _first(lines: Iterable[str]) -> list[str]:
    """Return lines, or of very many the first and how many there are besides."""
    all_of_them = list(lines)
    more = len(all_of_them) - LISTED
    if more <= 0:
        return all_of_them
    return [*all_of_them[:LISTED], f"And {count(more)} more, in --json and to_dict()."]


def _what_would_change(audit: Audit, test: JudgedGap) -> str:
    """Say what data, or what margin, would lead to another finding; nothing where none is known."""
    if test.needed is not None:
        return what_would_decide(audit, test)
    low, high, _ = test.equivalence_interval
    end = max(abs(low), abs(high))
    if test.pivot is None or not math.isfinite(end) or audit.rule == "paper":
        return ""
    enough = f"{math.ceil(1000 * end) / 1000:g}"
    if test.finding == VIOLATED:
        # If all gaps were within a margin, none would need the correction that is in the interval.
        others = ", whatever the other gaps are" if len(audit.tests) > 1 else ""
        return f"would be within a margin of {enough} or more{others}"
    return f"stays within every margin down to {enough}" if test.finding == WITHIN else ""


def what_would_decide(audit: Audit, test: JudgedGap) -> str:
    """Say how much data would decide an open test with 80% power, for two possible truths."""
    needed = test.needed
    assert needed is not None, test.null
    found, none = (_enough(audit, needed, place) for place in (0, 1))
    told = (
        f"with 80% power to decide it either way, needs {found} if the true gap is as observed, "
        f"and {none} if it is zero"
    )
    helpless = audit.unit == "judgments" and not _is_fresh(audit)
    if helpless and needed.judgments == (None, None):
        return f"{told}; more judgments of {_these(audit)} will not decide it"
    return told


def _enough(audit: Audit, needed: Needed, place: int) -> str:
    """Say how much data would do for one of the two truths."""
    # All pairs of items follow from the items, and what would do is told in these.
    now = audit.n if audit.unit in ("judgments", "decisions") else audit.n_items
    if needed.judgments_with_items[place] <= now:
        return "a study as large as this one"
    items = rounded_up(needed.items[place])
    if audit.unit != "judgments":
        return f"{items} {'decisions' if audit.unit == 'decisions' else 'items'} in all"
    with_items = f"{rounded_up(needed.judgments_with_items[place])} judgments of {items} items"
    if _is_fresh(audit):
        return f"{with_items} in all, each used once"
    same = needed.judgments[place]
    if same is None:
        other = needed.judgments[1 - place]
        why = f" (more judgments of {_these(audit)} will not decide it)" if other else ""
        return f"{with_items} in all{why}"
    return f"{rounded_up(same)} judgments of {_these(audit)} (or {with_items} in all)"


def _is_fresh(audit: Audit) -> bool:
    return audit.design in ("fresh", "disjoint")


def _these(audit: Audit) -> str:
    """Name what further judgments would share with those at hand."""
    these = "these items and evaluators" if audit.n_evaluators else "these items"
    return f"{these} in these clusters" if audit.n_clusters else these


def tie_lines(audit: Audit) -> list[str]:
    """Say how many comparisons had no order, where, and whether it matters."""
    ties = audit.ties
    lines = []
    if ties.judgments:
        where = _by(ties.judgments_by_groups)
        lines.append(
            f"{several(ties.judgments, 'judgment')} put neither item first{where}; "
            "left out of every rate."
        )
    if ties.scores:
        treated = "half an agreement" if ties.scored_as == "half" else "disagreement"
        kind = "judged pair" if audit.unit == "judgments" else "pair"
        lines.append(
            f"The model ties in {several(ties.scores, kind)}"
            f"{_by(ties.scores_by_cell)}; these count as {treated}."
        )
    if ties.change_finding:
        lines.append("Counting the model's ties the other way would change the finding.")
    return lines


def _by(counts: Mapping[str, int]) -> str:
    """Say how many there are of each kind; of many kinds only the most frequent."""
    kinds = {name: number for name, number in counts.items() if number}
    more = []
    # Two groups make four kinds of pairs, twelve make 144.
    if len(kinds) > MOST_KINDS + 1:
        more = [f"and {count(len(kinds) - MOST_KINDS)} more kinds"]
        kinds = dict(sorted(kinds.items(), key=lambda kind: -kind[1])[:MOST_KINDS])
    listed = [f"{visible(name)}: {count(number)}" for name, number in kinds.items()] + more
    return f" ({', '.join(listed)})" if listed else ""


def _error_rate(audit: Audit) -> str:
    if audit.rule == "paper":
        return f"each test at a false-alarm rate of {percent(audit.alpha)}, uncorrected"
    return f"overall false-alarm rate {percent(audit.alpha)} ({audit.correction})"


def _data(audit: Audit) -> str:
    compared = audit.unit == "decisions" and audit.n_evaluators
    data = several(audit.n, "subject") + " decided on" if compared else _units(audit.n, audit.unit)
    if audit.unit != "decisions" and audit.n_items:
        data += f" of {several(audit.n_items, 'item')}"
    if audit.n_evaluators:
        data += f" by {several(audit.n_evaluators, 'evaluator')}"
    clusters = [f"{count(n)} clusters by {visible(name)}" for name, n in audit.n_clusters.items()]
    return f"{data} in {' and '.join(clusters)}" if clusters else data


def _units(number: int, unit: str) -> str:
    return f"1 {ONE_UNIT.get(unit, unit)}" if number == 1 else f"{count(number)} {unit}"


def gap_charts(audit: Audit) -> Sequence[Chart]:
    """Return the pictures of an audit, which are made where they are drawn; none without a test."""
    if len(audit.history) < 2:
        return Deferred(1, lambda _: gap_chart(audit)) if audit.tests else ()
    return Deferred(2, lambda place: running_chart(audit) if place else gap_chart(audit))


def running_chart(audit: Audit) -> CurveChart:
    """Describe how the gap that is farthest from zero and its interval came to be."""
    gaps = [0.0 if math.isnan(test.gap) else abs(test.gap) for test in audit.tests]
    place = gaps.index(max(gaps))
    looks = [look for look in audit.history if math.isfinite(look.intervals[place].low)]
    named = {
        f"gap of {clip(audit.tests[place].null)}": [look.gaps[place] for look in looks],
        "lower end": [look.intervals[place].low for look in looks],
        "upper end": [look.intervals[place].high for look in looks],
    }
    ends = [end for values in named.values() for end in values]
    return CurveChart(
        title="The interval as judgments came in",
        about="; ".join(f"{count(look.n)}: {signed(look.gaps[place])}" for look in looks),
        axis=axis_between("judgments", [look.n for look in audit.history], from_zero=True),
        up=axis_around("gap", [audit.margin, *ends]),
        curves=tuple(
            Curve(
                label=label,
                points=[(look.n, value) for look, value in zip(looks, values, strict=True)],
                style="both" if label.startswith("gap") else "line",
            )
            for label, values in named.items()
        ),
        target=0.0,
        target_is="no gap",
    )


def gap_chart(audit: Audit) -> RowChart:
    """Describe every gap with the interval it was judged by, and the margin.

    Of very many tests those with the smallest p values are drawn. Tests that could not be made
    have a label and no mark.
    """
    tests, n = _drawn_tests(audit), len(audit.tests)
    intervals = [test.deciding_interval for test in tests]
    ends = [end for low, high, _ in intervals for end in (low, high)]
    some = ""
    if len(tests) < n:
        some = f"; the {len(tests)} of {count(n)} tests with the smallest p values"
    axis = _gap_axis(audit)
    return RowChart(
        title=f"Gaps with the intervals they were judged by{some}",
        about="; ".join(f"{clip(test.null)}: {signed(test.gap)}" for test in tests),
        heading=f"{headline(audit)}{some}",
        under=f"{axis}, with the interval it was judged by",
        axis=axis_around(axis, [audit.margin, *ends]),
        rows=tuple(
            Row(
                label=clip(test.null),
                note=f"{sizes(test.n, audit.n)} {audit.unit}",
                marks=(Mark(kind=KINDS[test.finding], x=test.gap, low=low, high=high),),
            )
            for test, (low, high, _) in zip(tests, intervals, strict=True)
        ),
        band=(-audit.margin, audit.margin),
        line=0.0,
        legend={kind: finding for finding, kind in KINDS.items()},
    )


def _drawn_tests(audit: Audit) -> list[JudgedGap]:
    """Return all tests in their order, or of very many those with the smallest p values.

    Where most could not be made, those that could are drawn alone.
    """
    made = [test for test in audit.tests if test.pivot is not None]
    tests = made if 0 < len(made) < len(audit.tests) / 2 else list(audit.tests)
    if len(tests) <= MOST_TESTS:
        return tests
    ps = [math.inf if math.isnan(test.p_value) else test.p_value for test in tests]
    surest = sorted(range(len(ps)), key=ps.__getitem__)[:MOST_TESTS]
    return [tests[place] for place in sorted(surest)]


def audit_section(audit: Audit) -> Section:
    """Return an audit as a section of a report."""
    return Section(
        headline=headline(audit),
        sentences=tuple(audit_sentences(audit)),
        kind=KINDS[audit.finding],
        charts=gap_charts(audit),
        grids=tuple(audit_grids(audit)),
        lists=audit_lists(audit),
        steps=tuple(next_steps(audit)),
    )
