"""The comparative audit: designs, ties, rules, attributes, engines and bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comparity import ComparityError, comparative_separation, separation
from comparity.comparative.audit import audit_files, audit_frames
from comparity.counts.ledger import count_position_pairs
from comparity.errors import (
    DesignUnknownError,
    IncompatibleCountsError,
    OptionError,
    SelfComparisonError,
    TooManyGroupsError,
)
from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN
from tests.calibration import worlds


class World:
    """Items with a quality, a group and a score; judges see the quality."""

    def __init__(self, n_items: int, n_pairs: int, *, bias: float = 0.0, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.quality = rng.normal(size=n_items)
        self.group = np.array(["f", "m"])[rng.integers(0, 2, n_items)]
        self.score = self.quality + rng.normal(size=n_items) - bias * (self.group == "f")
        first, second = worlds.random_pairs(n_items, n_pairs, rng)
        swap = self.quality[first] < self.quality[second]
        self.pairs = np.column_stack([np.where(swap, second, first), np.where(swap, first, second)])
        self.evaluator = rng.integers(0, 12, n_pairs)

    def audit(self, **choices: Any) -> Audit:
        return comparative_separation(
            self.pairs, scores=self.score, sensitive_features={"sex": self.group}, **choices
        )


def test_a_biased_model_is_found_out() -> None:
    audit = World(400, 1600, bias=1.0).audit()
    assert audit.finding == VIOLATED
    across = audit.tests[0]
    assert across.null == "agree(f > m) = agree(m > f)"
    assert across.gap < 0


def test_items_that_nobody_compared_are_not_counted() -> None:
    world = World(4000, 600)
    audit = world.audit()
    assert audit.n_items == len(np.unique(world.pairs)) < 4000


def test_much_data_without_bias_is_within_the_margin() -> None:
    assert World(40_000, 80_000).audit().finding == WITHIN


def test_the_design_is_looked_up_in_the_data() -> None:
    world = World(300, 600)
    assert world.audit().design == "shared items"
    assert world.audit(evaluators=world.evaluator).design == "shared items and evaluators"
    fresh = comparative_separation(
        np.arange(300).reshape(-1, 2), scores=world.score, sensitive_features=world.group
    )
    assert fresh.design == "fresh"


def test_without_evaluators_the_result_says_so() -> None:
    world = World(300, 600)
    assert any("Evaluators were not given" in note for note in world.audit().notes)
    known = world.audit(evaluators=world.evaluator).notes
    assert not any("Evaluators were not given" in note for note in known)


def test_two_evaluators_are_taken_as_given_and_the_result_says_so() -> None:
    world = World(300, 600)
    audit = world.audit(evaluators=world.evaluator % 2)
    assert audit.design == "shared items"
    assert any("With 2 evaluator(s)" in note for note in audit.notes)


def test_repeating_every_judgment_changes_no_standard_error() -> None:
    """A pair judged four times by the same items carries no new information about the model."""
    world = World(300, 600)
    once = world.audit()
    world.pairs = np.repeat(world.pairs, 4, axis=0)
    four = world.audit()
    assert [test.standard_error for test in four.tests] == pytest.approx(
        [test.standard_error for test in once.tests]
    )


def test_the_rule_of_the_paper_ignores_sharing_and_is_warned_of() -> None:
    audit = World(300, 1200).audit(rule="paper")
    assert audit.design == "shared items, taken as fresh"
    assert audit.n_items <= 300
    assert any("WARNING" in note for note in audit.notes)
    honest = World(300, 1200).audit(rule="paper", design="shared")
    assert honest.tests[0].standard_error > audit.tests[0].standard_error


def test_the_printed_formula_is_the_default_where_counts_are_ample_and_warns() -> None:
    world = World(n_items=300, n_pairs=3000)
    usual, printed = world.audit(), world.audit(method="dyadic")
    assert [test.p_value for test in printed.tests] == [test.p_value for test in usual.tests]
    assert "WARNING: squared residuals" in printed.notes[0]
    assert "WARNING" not in usual.notes[0]


def test_disjoint_pairs_are_tested_as_fresh_ones_and_reproducibly() -> None:
    world = World(600, 2400, bias=1.5)
    audit = world.audit(method="disjoint", seed=3)
    assert audit.design == "disjoint"
    assert audit.n <= 300
    assert audit.to_dict() == world.audit(method="disjoint", seed=3).to_dict()


def test_score_ties_are_disagreement_unless_they_are_halved() -> None:
    world = World(300, 900)
    world.score = np.round(world.score)
    strict, half = world.audit(), world.audit(score_ties="half")
    assert strict.ties.scores == half.ties.scores > 0
    for one, two in zip(strict.rates, half.rates, strict=True):
        assert two.rate - one.rate == pytest.approx(one.score_ties / one.trials / 2)


def test_a_note_says_when_score_ties_would_change_the_finding() -> None:
    """Among f every fifth score is missing: as misses these pairs differ, as half hits less."""
    world = World(4000, 30_000)
    world.score = np.where((world.group == "f") & (np.arange(4000) % 5 == 0), 0.0, world.score)
    audits = {ties: world.audit(score_ties=ties, margin=0.07) for ties in ("disagree", "half")}
    findings = {ties: audit.finding for ties, audit in audits.items()}
    assert findings == {"disagree": VIOLATED, "half": WITHIN}
    for audit in audits.values():
        assert audit.ties.change_finding
        assert any("would change the finding" in note for note in audit.notes)
    alike = world.audit(margin=0.5)
    assert alike.ties.scores
    assert not alike.ties.change_finding


def test_tied_judgments_are_counted_and_left_out() -> None:
    world = World(300, 600)
    audit = world.audit(ties=[[0, 1], [2, 3], [0, 1]])
    assert audit.ties.judgments == 3
    assert audit.tests == world.audit().tests


@pytest.mark.parametrize("engine", ["pandas", "polars"])
def test_a_column_of_ties_in_a_frame_of_positions_is_read(engine: str) -> None:
    library = pytest.importorskip(engine)
    world = World(300, 600)
    tied = np.arange(600) % 5 == 0
    better, worse = world.pairs.T
    frame = library.DataFrame({"better": better, "worse": worse, "tied": tied})
    known = {"scores": world.score, "sensitive_features": world.group}
    audit = comparative_separation(frame, evaluators=world.evaluator, **known)
    split = {"evaluators": world.evaluator[~tied], "ties": world.pairs[tied], **known}
    assert audit.to_dict() == comparative_separation(world.pairs[~tied], **split).to_dict()
    more = comparative_separation(frame, ties=[[0, 1]], **known)
    assert (more.n, more.ties.judgments) == (480, 121)


def test_a_column_called_tied_is_read_where_no_other_is_named() -> None:
    polars = pytest.importorskip("polars")
    judged = polars.DataFrame({"better": [0, 2], "worse": [1, 3], "tied": [False, True]})
    items = polars.DataFrame({"item": range(4), "score": [4, 3, 2, 1], "sex": ["f", "m"] * 2})
    audit = audit_frames(judged, items, score="score", sensitive=["sex"])
    assert (audit.n, audit.ties.judgments) == (1, 1)


def test_an_evaluator_who_only_ties_changes_no_test(frame: Callable[..., Any]) -> None:
    """Two evaluators are taken as given, also where a third judged nothing but ties."""
    world = World(200, 600)
    judge, tied = np.arange(600) % 2, np.zeros(600, dtype=bool)
    judge[:30], tied[:30] = 2, True
    better, worse = world.pairs.T
    items = frame({"item": np.arange(200), "sex": world.group, "model": world.score})
    rows = frame({"better": better, "worse": worse, "judge": judge, "tied": tied})
    audit = audit_frames(rows, items, score="model", sensitive=["sex"], evaluator="judge")
    world.pairs = world.pairs[30:]
    alone = world.audit(evaluators=judge[30:])
    assert [test.p_value for test in audit.tests] == pytest.approx([t.p_value for t in alone.tests])
    assert audit.design == alone.design == "shared items"


def test_continuous_attribute_compares_larger_with_smaller() -> None:
    world = World(400, 1600)
    age = np.random.default_rng(2).normal(size=400)
    scores = world.quality + age
    audit = comparative_separation(
        world.pairs, scores=scores, sensitive_features={"age": age}, continuous=True
    )
    (test,) = audit.tests
    better_is_older = age[world.pairs[:, 0]] > age[world.pairs[:, 1]]
    agrees = scores[world.pairs[:, 0]] > scores[world.pairs[:, 1]]
    expected = agrees[better_is_older].mean() - agrees[~better_is_older].mean()
    assert test.gap == pytest.approx(expected)
    assert audit.finding == VIOLATED


def test_a_continuous_attribute_may_be_as_large_as_numbers_get() -> None:
    world = World(400, 1600)
    age = np.random.default_rng(2).uniform(-1, 1, size=400)
    small, huge = (
        comparative_separation(
            world.pairs, scores=world.quality, sensitive_features=age * unit, continuous=True
        )
        for unit in (1.0, 1.7e308)
    )
    assert [(t.gap, t.p_value, t.n) for t in small.tests] == [
        (t.gap, t.p_value, t.n) for t in huge.tests
    ]


def test_scores_may_be_as_large_as_numbers_get() -> None:
    world = World(400, 1600)
    small = world.audit()
    world.score = world.score / np.abs(world.score).max() * 1.7e308
    assert [(t.gap, t.n) for t in world.audit().tests] == [(t.gap, t.n) for t in small.tests]


def test_three_groups_have_three_across_and_three_within_hypotheses() -> None:
    world = World(600, 3000)
    world.group = np.array(["a", "b", "c"])[np.arange(600) % 3]
    audit = world.audit(quality="binary")
    assert len(audit.tests) == 6
    assert len(audit.rates) == 9
    assert audit.joint_tests[0].dof == 8


def test_binary_labels_make_both_notions_speak_of_the_same_bias() -> None:
    """Theorem 3.3 of the paper: for binary quality the two notions are equivalent."""
    people = worlds.People("f3", 20_000, np.random.default_rng(1))
    first, second = worlds.random_pairs(20_000, 60_000, np.random.default_rng(2))
    ordered = people.label[first] > people.label[second]
    pairs = np.column_stack([first[ordered], second[ordered]])
    judged = comparative_separation(pairs, scores=people.decision, sensitive_features=people.group)
    labelled = separation(people.label, people.decision, sensitive_features=people.group)
    assert judged.finding == labelled.finding == VIOLATED


def test_few_items_leave_the_audit_undecided_with_the_reason() -> None:
    world = World(8, 200)
    audit = world.audit()
    assert audit.finding == UNDECIDED
    assert all("10 are needed" in test.reason for test in audit.tests)


def test_what_would_decide_is_said_only_where_it_is_open() -> None:
    audit = World(100, 400).audit()
    for test in audit.tests:
        assert (test.needed is not None) == (test.finding == UNDECIDED)


def test_a_single_judge_of_fresh_pairs_needs_no_dyadic_test() -> None:
    world = World(400, 600)
    audit = comparative_separation(
        np.arange(400).reshape(-1, 2),
        scores=world.score,
        sensitive_features=world.group,
        evaluators=["one judge"] * 200,
    )
    assert audit.design == "fresh"
    assert any("With 1 evaluator(s)" in note for note in audit.notes)


def test_scores_that_all_tie_give_an_audit() -> None:
    world = World(100, 300)
    world.score = np.ones(100)
    assert world.audit().finding == UNDECIDED
    assert world.audit(score_ties="half").finding == UNDECIDED


def test_a_model_that_always_puts_one_group_first_is_found_out() -> None:
    for seed in range(20):
        world = World(200, 800, seed=seed)
        world.score = (world.group == "m").astype(float)
        across = world.audit(evaluators=world.evaluator).tests[0]
        assert (across.gap, across.finding) == (-1.0, VIOLATED)


def test_equal_values_of_a_continuous_attribute_are_told() -> None:
    world = World(200, 800)
    audit = comparative_separation(
        world.pairs,
        scores=world.score,
        sensitive_features=np.arange(200) % 5,
        continuous=True,
    )
    assert audit.groups == ("larger", "smaller")
    assert any("same value of the attribute" in note for note in audit.notes)


def test_counts_of_different_designs_do_not_add() -> None:
    world = World(50, 60)
    shared = count_position_pairs(
        world.pairs, scores=world.score, sensitive={"sex": world.group}, design="shared"
    )["sex"]
    fresh = count_position_pairs(
        world.pairs, scores=world.score, sensitive={"sex": world.group}, design="fresh"
    )["sex"]
    for one, two in ((shared, fresh), (fresh, shared)):
        with pytest.raises(IncompatibleCountsError, match="design"):
            one + two


def test_reusing_items_without_end_never_decides() -> None:
    rng = np.random.default_rng(0)
    people = worlds.People("f0", 100, rng)
    first, second = worlds.every_pair(100, 0, rng)
    ordered = people.label[first] != people.label[second]
    pairs = np.column_stack([first, second])[ordered]
    swap = people.label[pairs[:, 0]] < people.label[pairs[:, 1]]
    pairs[swap] = pairs[swap][:, ::-1]
    audit = comparative_separation(pairs, scores=people.decision, sensitive_features=people.group)
    needed = [test.needed for test in audit.tests if test.needed is not None]
    assert needed
    assert all(one.judgments[1] is None for one in needed)


def test_every_engine_gives_the_same_audit(frame: Callable[..., Any]) -> None:
    world = World(120, 500, bias=0.5)
    items = {"item": np.arange(120), "model": world.score, "sex": world.group}
    judged = {
        "better": world.pairs[:, 0],
        "worse": world.pairs[:, 1],
        "judge": [f"judge {k}" for k in world.evaluator],
    }
    audit = audit_frames(
        frame(judged), frame(items), score="model", sensitive=["sex"], evaluator="judge"
    )
    arrays = world.audit(evaluators=world.evaluator)
    ours, theirs = (
        [[test.gap, test.standard_error, test.p_value, *test.n] for test in one.tests]
        for one in (audit, arrays)
    )
    assert np.array(ours) == pytest.approx(np.array(theirs))


def test_positions_may_come_as_a_frame_of_any_engine(frame: Callable[..., Any]) -> None:
    world = World(120, 500, bias=0.5)
    judged = {
        "better": world.pairs[:, 0],
        "worse": world.pairs[:, 1],
        "judge": [f"judge {k}" for k in world.evaluator],
    }
    audit = comparative_separation(
        frame(judged),
        scores=world.score,
        sensitive_features=frame({"sex": world.group}),
        evaluators="judge",
    )
    assert audit.tests == world.audit(evaluators=world.evaluator).tests
    with pytest.raises(ComparityError, match="better"):
        comparative_separation(
            frame({"worse": [1]}), scores=world.score, sensitive_features=world.group
        )


def written(world: World, folder: Path) -> tuple[Path, Path]:
    items = zip(world.score, world.group, strict=True)
    text = "".join(f"{place:03d},{score},{sex}\n" for place, (score, sex) in enumerate(items))
    (folder / "items.csv").write_text("item,model,sex\n" + text)
    rows = zip(world.pairs, world.evaluator, strict=True)
    text = "".join(f"{pair[1]:03d},{pair[0]:03d},right,j{judge}\n" for pair, judge in rows)
    (folder / "judgments.csv").write_text("left,right,winner,worker\n" + text)
    return folder / "judgments.csv", folder / "items.csv"


def test_files_give_the_audit_of_the_arrays(tmp_path: Path) -> None:
    world = World(120, 500, bias=0.5)
    audit = audit_files(*written(world, tmp_path), score="model", sensitive=("sex",))
    assert audit.design == "shared items and evaluators"
    arrays = world.audit(evaluators=world.evaluator)
    assert [test.p_value for test in audit.tests] == pytest.approx(
        [test.p_value for test in arrays.tests]
    )
    content = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    assert content["provenance"]["data"]["layout"] == "left, right, winner"
    assert len(content["provenance"]["data"]["files"]) == 2


def test_wide_rows_need_no_item_table(tmp_path: Path) -> None:
    rows = ["better_model,worse_model,better_sex,worse_sex"]
    rows += [f"{k % 7},{k % 5},{'fm'[k % 2]},{'fm'[k % 3 == 0]}" for k in range(400)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(rows) + "\n")
    audit = audit_files(path, score="model", sensitive=("sex",), design="fresh")
    assert (audit.design, audit.n) == ("fresh", 400)
    with pytest.raises(DesignUnknownError):
        audit_files(path, score="model", sensitive=("sex",))
    with pytest.raises(OptionError, match="a table of items"):
        audit_files(path, score="model", sensitive=("sex",), layout="left, right, winner")


@pytest.mark.parametrize(
    ("choices", "error"),
    [
        ({"design": "new"}, OptionError),
        ({"method": "exact"}, OptionError),
        ({"score_ties": "agree"}, OptionError),
        ({"evaluators": [1, 2]}, ComparityError),
        ({"ties": [[0, 999]]}, ComparityError),
    ],
)
def test_choices_outside_their_range_are_refused(
    choices: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        World(50, 60).audit(**choices)


def test_an_id_is_no_group() -> None:
    world = World(300, 600)
    world.group = np.arange(300)
    with pytest.raises(TooManyGroupsError):
        world.audit()


def test_an_item_is_not_compared_with_itself() -> None:
    with pytest.raises(SelfComparisonError):
        comparative_separation([[0, 1], [2, 2]], scores=[1, 2, 3], sensitive_features=list("aab"))


odd = st.one_of(st.none(), st.integers(-1, 4), st.floats(), st.text(max_size=2))


@pytest.mark.long
@settings(max_examples=200)
@given(
    pairs=st.lists(st.tuples(odd, odd), max_size=10),
    items=st.lists(st.tuples(odd, odd), max_size=5),
)
def test_nothing_odd_gives_anything_but_an_audit_or_our_error(
    pairs: list[tuple[Any, ...]], items: list[tuple[Any, ...]]
) -> None:
    scores, groups = ([item[place] for item in items] for place in range(2))
    try:
        outcome = comparative_separation(pairs, scores=scores, sensitive_features=groups).finding
    except ComparityError as error:
        outcome = str(error)
    assert outcome in (VIOLATED, WITHIN, UNDECIDED) or "hint:" in outcome


def test_both_joint_tests_are_reported_and_decide_nothing() -> None:
    rng = np.random.default_rng(3)
    group, scores = rng.integers(0, 2, 400), rng.normal(size=400)
    pairs = np.array([rng.choice(400, 2, replace=False) for _ in range(1600)])
    audit = comparative_separation(pairs, scores=scores, sensitive_features=group)
    wald, score = audit.joint_tests
    assert (wald.method, score.method) == ("Wald chi-square", "score chi-square")
    assert wald.dof == score.dof == 3
    # Equal under the hypothesis to first order.
    assert wald.statistic == pytest.approx(score.statistic, rel=0.1)
