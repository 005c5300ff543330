"""What the dashboard says: numbers as text, reasons in words, and the picture of intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from comparity.collect.rendering import fill_in
from comparity.collect.status import ATTENTION, CONSISTENCY, SIDE, SPEED
from comparity.reports.charts import Axis, axis_around, axis_between
from comparity.reports.statements import POINTS, compared_sides
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

if TYPE_CHECKING:
    from comparity.collect.monitor import Snapshot
    from comparity.collect.result import JudgeStatus
    from comparity.collect.status import AssessedJudge
    from comparity.collect.study import StudyDescription
    from comparity.results.audit import Audit, JudgedGap

Words = Mapping[str, Any]

MOST_JUDGES, MOST_TESTS, MOST_PANELS = 100, 30, 3
"""Judges and gaps that tables list, and gaps that are drawn; the JSON has all."""
KINDS = {VIOLATED: "found", WITHIN: "inside", UNDECIDED: "open"}
NONE = "n/a"
HEIGHT = 160
"""Of a picture, in pixels."""
LEAST_REACH = 3.0
"""Margins that a picture shows to either side."""


def dashboard_values(snapshot: Snapshot, study: StudyDescription, words: Words) -> dict[str, Any]:
    """Return what the parts of the dashboard are filled with."""
    told, audit = words["dashboard"], snapshot.audit
    judges = sorted(
        snapshot.status.judges,
        key=lambda one: (not snapshot.flags(one.name, one.flags), -one.answered),
    )
    return {
        "words": words,
        "told": told,
        "study": study,
        "snapshot": snapshot,
        "status": snapshot.status,
        "audit": audit,
        "kind": "plain" if audit is None else KINDS[audit.finding],
        "finding": told[_finding_word(snapshot)],
        "found": [] if audit is None else list(gaps_found(audit, told)),
        "tests": [] if audit is None else [_test(one, told) for one in audit.tests[:MOST_TESTS]],
        "panels": [] if audit is None else list(panels(audit)),
        "rates": [] if audit is None else audit.rates,
        "judges": [_judge(one, snapshot, told) for one in judges[:MOST_JUDGES]],
        "n_flagged": sum(bool(snapshot.flags(one.name, one.flags)) for one in judges),
        "assessed": _assessment_time(snapshot, told),
        "share": share,
        "number": number,
    }


def share(value: float | None) -> str:
    r"""Return a share in percent; n/a for none.

    Examples
    --------
    >>> share(0.456), share(None)
    ('46\xa0%', 'n/a')
    """
    return NONE if value is None or math.isnan(value) else f"{100 * value:.0f}\N{NO-BREAK SPACE}%"


def number(value: float | None, digits: int = 2) -> str:
    """Return a number; n/a for none, and a sign for infinity."""
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.{digits}f}"


def _finding_word(snapshot: Snapshot) -> str:
    if snapshot.audit is None:
        return {
            "no score": "none_no_score",
            "no judgments": "none_no_judgments",
            "one group": "none_one_group",
        }.get(snapshot.counted.why_not, "none_waiting")
    return f"verdict_{KINDS[snapshot.audit.finding]}"


def _test(test: JudgedGap, told: Words) -> dict[str, Any]:
    low, high, _ = test.deciding_interval
    return {
        "null": test.null,
        "kind": KINDS[test.finding],
        "finding": told[f"gap_{KINDS[test.finding]}"],
        "gap": number(test.gap, 3),
        "interval": f"{number(low, 3)} … {number(high, 3)}",
        "needed": _judgments_needed(test, told),
        "reason": test.reason,
    }


def gaps_found(audit: Audit, told: Words) -> Iterator[str]:
    """Say in points how large each gap is that was found, after the two rates if it has them."""
    for test in audit.tests[:MOST_TESTS]:
        if test.finding == VIOLATED:
            digits = POINTS.digits(test, audit.margin)
            rates = _rates(audit, test, digits)
            # The rates tell the direction, so that the gap needs no sign.
            sign = -1 if rates and test.gap < 0 else 1
            low, high = sorted(sign * one for one in test.deciding_interval[:2])
            numbers = {"gap": sign * test.gap, "low": low, "high": high}
            points = {name: POINTS.text(one, digits) for name, one in numbers.items()}
            form = told["gap_rates" if rates else "gap_points"]
            yield fill_in(form, null=test.null, **rates, **points)


def _rates(audit: Audit, test: JudgedGap, digits: int) -> dict[str, str]:
    """Return the two rates and kinds of pairs that a test compares; nothing for anything else."""
    found: dict[str, str] = {}
    for prefix, side in zip(("", "other_"), compared_sides(audit, test) or (), strict=False):
        better, between, worse = side.name.partition(" > ")
        if not between or " > " in worse:
            return {}
        rate = POINTS.text(side.estimate.rate, digits)
        found |= {f"{prefix}better": better, f"{prefix}worse": worse, f"{prefix}rate": rate}
    return found


def _judgments_needed(test: JudgedGap, told: Words) -> str:
    """Say how many judgments would decide, from if the gap is as observed to if it is zero."""
    if test.needed is None:
        return NONE
    known = sorted(n for n in test.needed.judgments if n is not None)
    if not known:
        return str(told["needed_never"])
    low, high = f"{known[0]:,}", f"{known[-1]:,}"
    if len(known) < len(test.needed.judgments):
        return fill_in(told["needed_from"], low=low)
    return low if low == high else f"{low} … {high}"


@dataclass(frozen=True, slots=True)
class Panel:
    """The picture of one gap over time: points in percent across and pixels down."""

    null: str
    kind: str
    band: str
    line: str
    last: tuple[float, float]
    decided: float | None
    zero: float
    margins: tuple[float, float]
    across: Axis
    up: Axis
    height: int = HEIGHT

    def down(self, value: float) -> float:
        """Return how far below the top a value lies."""
        return _down(self.up, value)


def panels(audit: Audit) -> Iterator[Panel]:
    """Yield the picture of each gap, of which there is one for each test of the first ones."""
    for place, test in enumerate(audit.tests[:MOST_PANELS]):
        looks = [
            (look.n, look.gaps[place], look.intervals[place])
            for look in audit.history
            if len(look.gaps) == len(audit.tests) and math.isfinite(look.intervals[place].low)
        ]
        if looks:
            yield _panel(audit, test, looks)


def _panel(audit: Audit, test: JudgedGap, looks: Sequence[tuple[int, float, Any]]) -> Panel:
    low, high, _ = looks[-1][2]
    ends = [end for end in (low, high, looks[-1][1]) if math.isfinite(end)]
    # Wide intervals of the first judgments leave the picture.
    up = axis_around("", [min(1.0, max(LEAST_REACH * audit.margin, *(abs(one) for one in ends)))])
    across = axis_between("", [n for n, _, _ in looks], from_zero=True)
    upper = [(n, min(interval.high, 2.0)) for n, _, interval in looks]
    lower = [(n, max(interval.low, -2.0)) for n, _, interval in reversed(looks)]
    return Panel(
        null=test.null,
        kind=KINDS[test.finding],
        band=_points(across, up, [*upper, *lower]),
        line=_points(across, up, [(n, gap) for n, gap, _ in looks]),
        last=(across.across(looks[-1][0]), _down(up, looks[-1][1])),
        decided=None if audit.stopped_at is None else across.across(audit.stopped_at),
        zero=_down(up, 0.0),
        margins=(_down(up, audit.margin), _down(up, -audit.margin)),
        across=across,
        up=up,
    )


def _down(up: Axis, value: float) -> float:
    return round(HEIGHT * (1 - up.across(value) / 100), 1)


def _points(across: Axis, up: Axis, points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{across.across(x)},{_down(up, y)}" for x, y in points)


def _judge(one: JudgeStatus, snapshot: Snapshot, told: Words) -> dict[str, Any]:
    known = snapshot.assessment.judges.get(one.name)
    attention = one.attention_passed + one.attention_failed
    return {
        "name": one.name,
        "task": told[f"task_{one.task}"],
        "state": told[f"judge_{one.state}"],
        "answered": f"{one.answered:,}",
        "seconds": number(one.seconds, 1),
        "left": share(one.left_share),
        "same": f"{one.same} / {one.twice}" if one.twice else NONE,
        "attention": f"{one.attention_passed} / {attention}" if attention else NONE,
        "sharpness": NONE if known is None else number(known.sharpness),
        "misfit": NONE if known is None else number(known.misfit),
        "lean": NONE if known is None else number(known.lean),
        "reasons": [
            _reason(flag, one, known, told) for flag in snapshot.flags(one.name, one.flags)
        ],
    }


def _reason(flag: str, one: JudgeStatus, known: AssessedJudge | None, told: Words) -> str:
    """Return why to look at a judge."""
    attention = one.attention_passed + one.attention_failed
    counts: dict[str, dict[str, Any]] = {
        ATTENTION: {"failed": one.attention_failed, "of": attention},
        SIDE: {"share": share(one.left_share), "of": one.left + one.right},
        CONSISTENCY: {"same": one.same, "of": one.twice},
        SPEED: {"seconds": number(one.seconds, 1)},
    }
    facts = counts.get(flag, {})
    if known is not None and not facts:
        ends = (number(one, 2) for one in (known.lean, known.lean_low, known.lean_high))
        facts = dict(zip(("lean", "low", "high"), ends, strict=True), contrast=known.contrast)
        facts |= {"sharpness": number(known.sharpness), "misfit": number(known.misfit)}
    return fill_in(told[f"flag_{flag}"], **facts)


def _assessment_time(snapshot: Snapshot, told: Words) -> str:
    """Say as of when leans are, or why there are none."""
    found = snapshot.assessment
    if found.why_not == "too few":
        return str(told["assessed_too_few"])
    if found.why_not:
        return fill_in(told["assessed_not"], why=found.why_not)
    if not found.as_of:
        return str(told["assessed_waiting"])
    return fill_in(told["assessed"], time=found.as_of[:16].replace("T", " "), unit=found.unit)
