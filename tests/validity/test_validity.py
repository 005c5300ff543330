"""Promises hold in worlds that nobody chose: a few of them here, 200 in the docs.

The binomial error of a rate p in r runs is sqrt(p (1 - p) / r).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from comparity import comparative_separation, differential_parity, pairwise_accuracy
from comparity.inference import pivots
from tests.validity import judged, labelled, page, simulate, states
from tests.validity.questions import QUESTIONS, world_of
from tests.validity.worlds import GROUPS, generator, members

WORLDS, RUNS = 3, 40
# Once in ten thousand times chance alone makes more errors.
MOST = {name: int(binom.isf(1e-4, WORLDS * RUNS, one.promised)) for name, one in QUESTIONS.items()}


def errors(question: str, worlds: range, runs: int) -> int:
    return sum(
        world_of(question, number).errs(generator(question, number, 3, run))
        for number in worlds
        for run in range(runs)
    )


@pytest.mark.parametrize(
    "question",
    [
        *("separation, at the margin", "comparative", "comparative, at the margin"),
        *("comparative, 3 to 5 groups", "pairwise, at the margin"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("separation", "comparative, evaluators", "relative", "pairwise")
        ),
    ],
)
def test_few_runs_of_random_worlds_break_a_promise(question: str) -> None:
    assert errors(question, range(WORLDS), RUNS) <= MOST[question]


def test_a_third_of_the_variance_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these worlds are for: a test that is too sure of itself finds too much."""
    standardised = pivots._standardise_gap
    monkeypatch.setattr(pivots, "_standardise_gap", lambda gap, v: standardised(gap, v / 3))
    assert errors("comparative", range(WORLDS), RUNS) > MOST["comparative"]


@pytest.mark.parametrize("gap", ["across", "within"])
@pytest.mark.parametrize("items", ["alike", "spread by group"])
def test_judged_worlds_at_the_margin_have_that_gap(gap: str, items: str) -> None:
    """Among 60,000 fresh pairs a gap of 0.2 has a standard error of at most 0.008."""
    world = judged.JudgedWorld(
        shares=(0.5, 0.5),
        pairing="fresh",
        n_items=0,
        n_pairs=60_000,
        items=items,
        agreement=0.75,
        effect=0.8,
        margin=0.2,
        gap=gap,
    )
    rng = np.random.default_rng(5)
    group = members(world.shares, 2 * world.n_pairs, rng)
    panel = judged._Panel(world, group, rng)
    pairs, _ = panel.judge_all(rng)
    audit = comparative_separation(
        pairs, scores=panel.score, sensitive_features=GROUPS[group], hypotheses=gap
    )
    assert audit.tests[0].gap == pytest.approx(world.margin, abs=4 * 0.008)


@pytest.mark.parametrize("items", judged.ITEMS)
@pytest.mark.parametrize("leans", ["none", "camps"])
def test_judged_worlds_without_a_gap_have_none(items: str, leans: str) -> None:
    """Among 60,000 fresh pairs by 4,000 evaluators no cell is far from the others."""
    world = judged.JudgedWorld(
        shares=(0.3, 0.7),
        pairing="fresh",
        n_items=0,
        n_pairs=60_000,
        items=items,
        agreement=0.8,
        effect=0.05 if items == "rarely hopeless" else 0.7,
        n_evaluators=4000,
        leans=leans,
        lean=0.2,
    )
    rng = np.random.default_rng(6)
    group = members(world.shares, 2 * world.n_pairs, rng)
    panel = judged._Panel(world, group, rng)
    pairs, _ = panel.judge_all(rng)
    audit = comparative_separation(pairs, scores=panel.score, sensitive_features=GROUPS[group])
    assert max(abs(test.gap) for test in audit.tests) <= 4 * 0.009


def test_shifted_scores_are_the_margin_apart() -> None:
    """Among 40,000 items the gap has a standard error of about 0.006."""
    world = labelled.ShiftedWorld(0.4, 40_000, (0.5, 0.4), 1.0, 0.2)
    rng = np.random.default_rng(7)
    group = members((0.6, 0.4), world.n, rng)
    label = (rng.random(world.n) < 0.5).astype(float)
    score = label + labelled._shift(1.0, 0.2) * group + rng.normal(size=world.n)
    result = pairwise_accuracy(label, score, sensitive_features=GROUPS[group])
    assert abs(result.matrix[1, 0] - result.matrix[0, 1]) == pytest.approx(0.2, abs=0.025)


@pytest.mark.parametrize("kind", ["normal", "exponential", "lognormal", "t with 4 degrees"])
def test_raters_at_the_margin_are_that_far_apart(kind: str) -> None:
    """Among 200,000 subjects DPD has a standard error of about 0.0045, with heavy tails more."""
    world = labelled.RaterWorld((100_000, 100_000), kind, 0.0, 0.4)
    rng = np.random.default_rng(8)
    group = np.repeat([0, 1], world.sizes)
    shift = world.margin * labelled._DEVIATION[kind] * (group == 0)
    difference = world._differences(group, rng) + shift
    result = differential_parity(
        difference, 0 * group, sensitive_features=GROUPS[group], permutations=0
    )
    assert abs(result.dpd) == pytest.approx(0.4, abs=0.03)


def test_a_run_is_counted_once_and_kept(tmp_path: Path) -> None:
    size = simulate.Size(worlds=2, runs=simulate.CHUNK, again=simulate.CHUNK)
    name = "pairwise, at the margin"
    ledger = simulate.Ledger(tmp_path, {name: "now"})
    tasks = list(simulate.open_tasks(name, size, 2, ledger))
    assert tasks == [(name, 0, "first", 0), (name, 1, "first", 0)]
    ledger.add(tasks[0], 7, 0.1)
    ledger.add(tasks[1], 1, 0.1)
    again = simulate.Ledger(tmp_path, {name: "now"})
    assert again.chunks == ledger.chunks
    # Seven errors in 25 runs are suspect, one is not.
    assert (name, 0, "again", 0) in simulate.open_tasks(name, size, 2, again)
    assert (name, 1, "again", 0) not in simulate.open_tasks(name, size, 2, again)


def test_runs_stand_while_the_code_of_their_question_does() -> None:
    behind = {home: states.modules_behind(home) for home in ("separation.audit", "relative.audit")}
    names = {home: {path.stem for path in paths} for home, paths in behind.items()}
    assert {"proportions", "judging"} <= names["separation.audit"]
    assert "slopes" in names["relative.audit"] - names["separation.audit"]
    assert not names["separation.audit"] & {"section", "terminal", "barp"}


def test_words_are_no_part_of_a_state(tmp_path: Path) -> None:
    sources = ('"""One."""\nx = 1  # why\n', '"""Two."""\n\nx = 1\n', "x = 2\n")
    files = [tmp_path / f"{number}.py" for number in range(3)]
    for path, source in zip(files, sources, strict=True):
        path.write_text(source, encoding="utf-8")
    one, two, three = map(states.meaning_of, files)
    assert one == two != three


def test_worlds_are_shared_out_among_questions() -> None:
    full = simulate.SIZES["full"]
    assert sum(full.worlds_of(list(QUESTIONS)).values()) == full.worlds == 200
    assert full.worlds_of(["metrics"]) == {"metrics": 200}
    assert min(simulate.SIZES["small"].worlds_of(list(QUESTIONS)).values()) == 1


def test_a_page_names_the_worlds_that_broke_a_promise(tmp_path: Path) -> None:
    name = "separation"
    ledger = simulate.Ledger(tmp_path, {name: "now"})
    for number, first, second in ((0, 9, 8), (1, 9, 1), (2, 1, 0)):
        ledger.add((name, number, "first", 0), first, 0.1)
        if number < 2:
            ledger.add((name, number, "again", 0), second, 0.1)
    row = page.summarise(name, ledger.counts(), worlds=5)
    assert (row.worlds, row.runs, row.failed, row.worst) == (3, 75, [0], [0, 1])
    told = "\n".join(page.table([row]))
    assert "**separation, 0**: 0.320 in 25 runs, above" in told
    assert "**separation, 1**: 0.040 in 25 runs, kept" in told


def test_limits_are_those_of_the_page() -> None:
    question = QUESTIONS["separation"]
    assert question.limit(200, 2) == pytest.approx(0.081, abs=5e-4)
    assert question.limit(2000, 3) == pytest.approx(0.065, abs=5e-4)
