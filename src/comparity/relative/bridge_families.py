"""Several bridges as one family: more than two groups, several labels, several decision makers.

A bridge compares two decision makers in two groups. Where there are more of either, or decisions
are labels without an order, every two are bridged by themselves, by a model of the subjects of
those two groups, and the tests of all bridges are judged together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from comparity.errors import MissingValueError, OneGroupError
from comparity.inference.gap_tests import GapTest
from comparity.relative.bridges import audit_columns, check_other_file, read_sides
from comparity.relative.judge import audit_of, show_progress
from comparity.relative.options import BridgeForm, BridgeOptions
from comparity.relative.result import BridgedParity, DifferentialParity
from comparity.results.judging import judge
from comparity.tables.files import read_table
from comparity.tables.frames import Columns
from comparity.tables.values import check_groups, factorise, rows_of


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeFamily(DifferentialParity):
    """Every two decision makers, groups and labels across bridges, judged together.

    Tests and contrasts are those of all bridges, one family for Holm. What the diagnosis of a
    bridge refuses is left open.

    Attributes
    ----------
    bridges : tuple of BridgedParity
        Each bridge by itself, with its diagnosis; findings there are those of one test alone.
    """

    bridges: tuple[BridgedParity, ...]


def bridge_frames(
    decisions: Any,
    others: Any,
    *,
    makers: Sequence[tuple[str, str]],
    labels: bool = False,
    **choices: Any,
) -> BridgeFamily:
    """Test across bridges between two frames: several decision makers, groups and labels.

    Parameters
    ----------
    decisions, others : frame of any engine
        Subjects of the first and of the second, one row for each.
    makers : sequence of (str, str)
        Column of `decisions` with a decision maker, and column of `others` with another.
    labels : bool
        Whether decisions are labels without an order: each label is one yes/no decision.
    **choices
        Those of :class:`BridgeForm` but `first` and `second`.

    Returns
    -------
    BridgeFamily

    Examples
    --------
    >>> import polars
    >>> rng = np.random.default_rng(1)
    >>> def year(n, lean):
    ...     race, grade = rng.choice(["a", "b", "c"], n), rng.normal(size=n)
    ...     said = grade + lean * (race == "b") + rng.normal(0, 0.5, n)
    ...     return polars.DataFrame({"race": race, "grade": grade, "said": said})
    >>> family = bridge_frames(
    ...     year(600, 0.6), year(600, 0.0), makers=[("said", "said")], sensitive="race",
    ...     features=["grade"],
    ... )
    >>> [(one.group, one.reference, one.finding) for one in family.contrasts]
    [('b', 'a', 'violated'), ('c', 'a', 'undecided'), ('c', 'b', 'violated')]
    """
    forms = [BridgeForm(first=one, second=two, **choices) for one, two in makers]
    tasks = [task for form in forms for task in _tasks(decisions, others, form, labels=labels)]
    # Many bridges take their time.
    shown = show_progress(tasks, "building bridges") if len(tasks) > 3 else tasks
    bridges = [_build(*task) for task in shown]
    options = forms[0].narrow(BridgeOptions)
    n = max(bridge.audit.n for bridge in bridges)
    tests = judge([_test_of(one) for one in bridges], **options.judging, n=n, n_items=n)
    contrasts = tuple(
        replace(bridge.contrasts[0], test=test) for bridge, test in zip(bridges, tests, strict=True)
    )
    groups = dict.fromkeys(group for one in bridges for group in one.audit.groups)
    notes = dict.fromkeys(note for one in bridges for note in one.audit.notes)
    own = audit_of(tests, options, {"makers": [*makers]}, n=n, groups=[], notes=[]).notes
    audit = audit_of(
        tests,
        options,
        {"makers": [list(one) for one in makers], "sensitive": forms[0].sensitive},
        n=n,
        groups=sorted(groups),
        notes=[note for note in notes if note not in own],
        raters=len({name for pair in makers for name in pair}),
        design=bridges[0].audit.design,
    )
    return BridgeFamily(audit=audit, contrasts=contrasts, bridges=tuple(bridges))


def bridge_files(decisions: str | Path, others: str | Path, **choices: Any) -> BridgeFamily:
    """Test across bridges between two files; `choices` as in :func:`bridge_frames`."""
    check_other_file(decisions, others, choices.get("subject"))
    family = bridge_frames(read_table(decisions), read_table(others), **choices)
    return replace(family, audit=family.audit.with_files(decisions, others))


def count_groups(
    decisions: str | Path, others: str | Path, *, first: str, second: str, sensitive: str
) -> int:
    """Return how many groups there are in two files."""
    form = BridgeForm(first=first, second=second, sensitive=sensitive)
    return len(_groups(read_sides(read_table(decisions), read_table(others), form), sensitive)[1])


def _tasks(
    decisions: Any, others: Any, form: BridgeForm, *, labels: bool
) -> Iterator[tuple[Columns, Columns, BridgeForm, str]]:
    """Yield the columns of every bridge: of two groups, and of one label."""
    sides = read_sides(decisions, others, form)
    said = _labels(sides, form) if labels else {"": (sides[0][form.first], sides[1][form.second])}
    if form.continuous:
        for label, (first, second) in said.items():
            yield {**sides[0], form.first: first}, {**sides[1], form.second: second}, form, label
        return
    codes, groups = _groups(sides, form.sensitive)
    check_groups({form.sensitive: groups})
    order = [*groups]
    if form.reference is not None and str(form.reference) in order:
        order = [str(form.reference), *(one for one in order if one != str(form.reference))]
    for label, columns in said.items():
        for base, other in combinations(order, 2):
            kept = [np.isin(one, [groups.index(base), groups.index(other)]) for one in codes]
            one, two = (
                {name: column[rows] for name, column in side.items()}
                for side, rows in zip(sides, kept, strict=True)
            )
            one[form.first], two[form.second] = (
                column[rows] for column, rows in zip(columns, kept, strict=True)
            )
            yield one, two, replace(form, reference=base), label


def _groups(sides: tuple[Columns, Columns], sensitive: str) -> tuple[list[Any], list[str]]:
    """Return codes of the groups on both sides, and their names in sorted order."""
    coded = [factorise(side[sensitive]) for side in sides]
    for (codes, _), table in zip(coded, ("first's", "second's"), strict=True):
        if (codes < 0).any():
            raise MissingValueError(sensitive, table, rows_of(codes < 0))
    names = sorted({name for _, known in coded for name in known})
    if len(names) < 2:
        raise OneGroupError(sensitive, names)
    places = {name: place for place, name in enumerate(names)}
    return [
        np.array([places[name] for name in known], dtype=np.int64)[codes] for codes, known in coded
    ], names


def _labels(sides: tuple[Columns, Columns], form: BridgeForm) -> dict[str, tuple[Any, Any]]:
    """Return whether each label was given, on both sides; of two labels one says all."""
    coded = [
        factorise(side[name]) for side, name in zip(sides, (form.first, form.second), strict=True)
    ]
    for (codes, _), name, table in zip(
        coded, (form.first, form.second), ("first's", "second's"), strict=True
    ):
        if (codes < 0).any():
            raise MissingValueError(name, table, rows_of(codes < 0))
    known = sorted({label for _, labels in coded for label in labels})
    wanted = known if len(known) > 2 else known[-1:]
    found = {}
    for label in wanted:
        given = [
            np.array([one == label for one in labels])[codes].astype(np.float64)
            for codes, labels in coded
        ]
        found[label] = (given[0], given[1])
    return found


def _build(one: Columns, two: Columns, form: BridgeForm, label: str) -> BridgedParity:
    """Build one bridge, and say which label it is about."""
    bridge = audit_columns(one, two, form)
    if not label:
        return bridge
    (contrast,) = bridge.contrasts
    named = replace(contrast.test, null=f"[{label}] {contrast.test.null}")
    audit = replace(bridge.audit, tests=(named,))
    return replace(bridge, audit=audit, contrasts=(replace(contrast, label=label, test=named),))


def _test_of(bridge: BridgedParity) -> GapTest:
    """Return the test of a bridge before it was judged; none where the bridge was refused."""
    (judged,) = bridge.audit.tests
    test = GapTest(**{one.name: getattr(judged, one.name) for one in fields(GapTest)})
    if bridge.diagnosis.carries:
        return test
    return replace(test, p_value=float("nan"), pivot=None)
