"""Sums that are kept up to date, against a recount of all judgments.

The recount (`count_position_pairs`, `shared_counts`, `item_residuals`) is tested by the loops in
``tests/plain``. Sums are whole numbers, so that both have to be equal to the last bit.
"""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from comparity.comparative import state, state_tables
from comparity.comparative.judge import judge_counts
from comparity.comparative.options import ComparativeOptions
from comparity.comparative.state import OpenState
from comparity.comparative.state_rows import CodedJudgments
from comparity.comparative.state_tables import (
    TABLES,
    count_rows,
    read_attributes,
    read_moments,
    write_moments,
)
from comparity.counts import running_moments
from comparity.counts.clusters import ClusterMoments
from comparity.counts.judged_pairs import JudgedPairs, item_residuals
from comparity.counts.pairs import SharedPairCounts
from comparity.counts.running_moments import RunningMoments, RunningPairs
from comparity.inference.agreement_tests import family_of_cells, sides_of

SENSITIVE = ("sex", "age")
OPTIONS = ComparativeOptions(anytime=True, intersection=True, design="shared")


def begin(profiles: list[tuple[str, str]], scores: list[float], *, judges: int) -> OpenState:
    """Return a state of items and evaluators and no judgments, in memory."""
    file = sqlite3.connect(":memory:", isolation_level=None)
    file.executescript(TABLES)
    known = [*dict.fromkeys(profiles)]
    texts = [(json.dumps(one),) for one in known]
    file.executemany("INSERT INTO profile (groups) VALUES (?)", texts)
    rows = [
        (f"i{k}", score, 1 + known.index(one))
        for k, (one, score) in enumerate(zip(profiles, scores, strict=True))
    ]
    file.executemany("INSERT INTO item (id, score, profile) VALUES (?, ?, ?)", rows)
    names = [(f"judge {k}",) for k in range(judges)]
    file.executemany("INSERT INTO evaluator (name) VALUES (?)", names)
    attributes = read_attributes(file, SENSITIVE, intersection=True)
    return OpenState(file, "", OPTIONS, SENSITIVE, RunningMoments(), attributes, 0)


def rows_of(judgments: list[tuple[int, int, int, bool]], n_items: int) -> CodedJudgments:
    """Return judgments of (item, steps to the other item, evaluator or 0, tied)."""
    first, step, judge, tied = np.array(judgments, dtype=np.int64).T
    return CodedJudgments(first + 1, (first + step) % n_items + 1, judge, tied.astype(bool))


def assert_same_moments(found: ClusterMoments, expected: ClusterMoments) -> None:
    for name in ("items", "pairs"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("same", "within", "sums"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert ours.keys() == theirs.keys()
        for kind in ours:
            np.testing.assert_array_equal(ours[kind], theirs[kind])
    assert found.sizes == expected.sizes


def assert_same_counts(found: SharedPairCounts, expected: SharedPairCounts) -> None:
    assert dict(found) == dict(expected)
    assert found.cells == expected.cells
    assert found.judgment_ties == expected.judgment_ties
    assert_same_moments(found.moments, expected.moments)
    assert_same_moments(found.half_moments, expected.half_moments)
    np.testing.assert_array_equal(found.cell_items, expected.cell_items)
    for name in ("group_items", "n_items", "n_evaluators", "most_uses"):
        assert getattr(found, name) == getattr(expected, name)


def cumulants(pairs: JudgedPairs | RunningPairs, groups: tuple[str, ...]) -> NDArray[np.float64]:
    family = family_of_cells(groups)
    sides = [sides_of(one) for one in (*family.tested, *family.further)]
    if isinstance(pairs, RunningPairs):
        return np.array([pairs.third_cumulants(sides, ties) for ties in ("disagree", "half")])
    trials = pairs.trials.astype(float)
    both = [item_residuals(pairs, trials, ties) for ties in ("disagree", "half")]
    return np.array([[one.third_cumulant(*side) for side in sides] for one in both])


@st.composite
def studies(draw: st.DrawFn) -> tuple[OpenState, list[CodedJudgments]]:
    """Draw items, whose scores may tie, and updates of judgments, which may repeat pairs."""
    n_items = draw(st.integers(3, 8))
    groups = st.tuples(st.sampled_from("fmx"), st.sampled_from(("old", "young")))
    more = draw(st.lists(groups, min_size=n_items - 2, max_size=n_items - 2))
    profiles = [("f", "old"), ("m", "young"), *more]
    scores = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=n_items, max_size=n_items))
    judges = draw(st.sampled_from([0, 3]))
    one = st.tuples(
        st.integers(0, n_items - 1),
        st.integers(1, n_items - 1),
        st.integers(1, judges) if judges else st.just(0),
        st.booleans() if draw(st.booleans()) else st.just(False),
    )
    updates = draw(st.lists(st.lists(one, min_size=1, max_size=12), min_size=1, max_size=4))
    return begin(profiles, scores, judges=judges), [rows_of(rows, n_items) for rows in updates]


def check_against_recount(kept: OpenState) -> None:
    expected = kept._recount()
    for name, found in kept.counts().items():
        counted = expected[name]
        assert isinstance(counted, JudgedPairs)
        assert isinstance(found, RunningPairs)
        if not counted.n:
            # Nothing but ties: no cluster holds anything.
            assert found.judgment_ties() == counted.judgment_ties
            continue
        assert_same_counts(found.shared_counts(), counted.shared_counts())
        groups = found.attribute.names
        np.testing.assert_allclose(
            cumulants(found, groups), cumulants(counted, groups), rtol=1e-9, atol=1e-12
        )


@given(studies())
def test_sums_of_updates_are_those_of_a_recount(
    study: tuple[OpenState, list[CodedJudgments]],
) -> None:
    kept, updates = study
    for rows in updates:
        kept.add(rows)
        write_moments(kept.file, kept.moments)
        kept.moments = read_moments(kept.file)
        check_against_recount(kept)


@given(studies())
def test_judgments_that_are_taken_back_leave_the_sums_of_the_others(
    study: tuple[OpenState, list[CodedJudgments]],
) -> None:
    kept, (first, *others) = study
    for rows in others:
        kept.moments = count_rows(kept.file, rows, kept.moments, kept.attributes)
    kept.add(first)
    for rows in others:
        kept.moments = count_rows(kept.file, rows, kept.moments, kept.attributes, times=-1)
    check_against_recount(kept)


def test_findings_of_many_updates_are_those_of_a_recount(monkeypatch: pytest.MonkeyPatch) -> None:
    """With too many kinds for triple products, and in parts of 400 judgments, too."""
    monkeypatch.setattr(running_moments, "MOST_CUBED", 2)
    monkeypatch.setattr(state, "MOST_NUMBERS", 40_000)
    rng = np.random.default_rng(3)
    profiles = [("fm"[k % 2], "ab"[k % 3 // 2]) for k in range(90)]
    kept = begin(profiles, rng.normal(size=90).tolist(), judges=12)
    for n in (30, 1000, 7):
        first, step = rng.integers(0, 90, n), rng.integers(1, 90, n)
        listed = np.column_stack([first, step, rng.integers(1, 13, n), rng.random(n) < 0.1])
        kept.add(rows_of(listed.tolist(), 90))
    (ours, *_), (theirs, *_) = (
        judge_counts(one, OPTIONS) for one in (kept.counts(), kept._recount())
    )
    assert len(ours) == len(theirs) > 40
    for one, two in zip(ours, theirs, strict=True):
        assert (one.null, one.n, one.finding) == (two.null, two.n, two.finding)
        np.testing.assert_allclose(one.test_interval, two.test_interval, rtol=1e-9)
        np.testing.assert_allclose(one.p_value, two.p_value, rtol=1e-9)


def test_more_kinds_than_are_kept_are_recounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_tables, "MOST_KINDS", 3)
    kept = begin([("f", "a"), ("m", "b"), ("m", "a")], [1.0, 2.0, 3.0], judges=0)
    kept.add(rows_of([(0, 1, 0, False), (1, 1, 0, False), (2, 1, 0, False)], 3))
    assert kept.moments is not None
    kept.add(rows_of([(0, 2, 0, False), (1, 2, 0, False), (0, 1, 0, False)], 3))
    write_moments(kept.file, kept.moments)
    assert read_moments(kept.file) is None
    found = kept.counts()["sex"]
    assert isinstance(found, JudgedPairs)
    assert found.n == 6
