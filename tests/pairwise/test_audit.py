"""All pairs: who else gets the same numbers, and what the audit says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from sklearn.metrics import roc_auc_score

from comparity import ComparityError, comparative_separation, pairwise_accuracy, pairwise_parity
from comparity.errors import (
    ConstantLabelError,
    OneGroupError,
    OptionError,
    TooManyGroupsError,
    WeightError,
)
from comparity.pairwise.audit import audit_file, audit_frame
from comparity.pairwise.count import count_evened
from comparity.pairwise.options import PairwiseOptions
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN
from comparity.tables.features import LabelledItems


class Scored:
    """Labels, scores and groups; a bias takes points off group b."""

    def __init__(self, n: int, *, bias: float = 0.0, levels: int = 2, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.label = rng.integers(0, levels, n) if levels else rng.normal(size=n)
        self.group = rng.choice(["a", "b"], n)
        self.score = self.label + rng.normal(size=n) - bias * (self.group == "b")
        self.query = np.arange(n) // 10

    def accuracy(self, **choices: Any) -> Any:
        choices = {"sensitive_features": self.group} | choices
        return pairwise_accuracy(self.label, self.score, **choices)


def test_entries_and_overall_are_areas_under_the_curve() -> None:
    world = Scored(800, bias=0.5)
    result = world.accuracy()
    assert result.overall == pytest.approx(roc_auc_score(world.label, world.score))
    for i, better in enumerate("ab"):
        for j, worse in enumerate("ab"):
            kept = (world.label == 1) & (world.group == better)
            kept |= (world.label == 0) & (world.group == worse)
            expected = roc_auc_score(world.label[kept], world.score[kept])
            assert result.matrix[i, j] == pytest.approx(expected)


def test_marginals_pool_the_pairs_of_a_row_or_a_column() -> None:
    result = Scored(500, levels=5).accuracy()
    rows = (result.matrix * result.n_pairs).sum(axis=1) / result.n_pairs.sum(axis=1)
    assert result.row_marginals == pytest.approx(rows)
    columns = (result.matrix * result.n_pairs).sum(axis=0) / result.n_pairs.sum(axis=0)
    assert result.column_marginals == pytest.approx(columns)


def mean_area(world: Scored, kept: Callable[[Any, Any], Any]) -> float:
    """The mean over queries of the share of right orders among the pairs kept, where any are."""
    found = []
    for name in np.unique(world.query):
        one = world.query == name
        y, f, g = world.label[one], world.score[one], world.group[one]
        pairs = (y[:, None] > y) & kept(g[:, None], g)
        if pairs.any():
            found.append((f[:, None] > f)[pairs].mean())
    return float(np.mean(found))


@pytest.mark.parametrize("weight", ["equal", "difference"])
def test_overall_and_marginals_are_means_of_the_accuracies_of_queries(weight: str) -> None:
    """With binary labels all differences are equal, so both weights give the same means."""
    world = Scored(400, bias=0.5)
    world.query = np.random.default_rng(1).integers(0, 40, 400)
    notions = ("cross-group", "within-group", "marginal")
    result = world.accuracy(
        queries=world.query, average="queries", pair_weight=weight, notions=notions
    )
    assert result.overall == pytest.approx(mean_area(world, lambda better, _: better != ""))
    rows = [
        mean_area(world, lambda better, worse, g=g: (better == g) & (worse != "")) for g in "ab"
    ]
    columns = [mean_area(world, lambda _, worse, g=g: worse == g) for g in "ab"]
    assert result.row_marginals == pytest.approx(rows)
    assert result.column_marginals == pytest.approx(columns)
    assert result.raw.tests[-1].gap == pytest.approx(rows[0] - rows[1])


@pytest.mark.parametrize(("levels", "told"), [(2, False), (3, True), (0, True)])
def test_harder_pairs_are_told_of_where_labels_have_more_than_two_values(
    levels: int, told: bool
) -> None:
    notes = Scored(200, levels=levels).accuracy().raw.notes
    assert any("lie closer together" in note for note in notes) is told


def test_all_pairs_are_judged_like_the_same_pairs_listed() -> None:
    """Up to the variance of single judgments: listed ones take it from their residuals."""
    world = Scored(120, bias=0.7, levels=0)
    first, second = np.triu_indices(120, 1)
    swap = world.label[first] < world.label[second]
    pairs = np.column_stack([np.where(swap, second, first), np.where(swap, first, second)])
    listed = comparative_separation(
        pairs,
        scores=world.score,
        sensitive_features=world.group,
        design="shared",
        quality="binary",
    )
    for ours, theirs in zip(world.accuracy().raw.tests, listed.tests, strict=True):
        assert ours.gap == pytest.approx(theirs.gap)
        assert ours.standard_error == pytest.approx(theirs.standard_error, rel=0.01)
        assert ours.p_value == pytest.approx(theirs.p_value, rel=0.05)


def test_covariance_of_entries_agrees_with_the_jackknife() -> None:
    world = Scored(150, bias=0.3)
    full = world.accuracy()
    leave_one_out = []
    better = world.label[:, None] > world.label
    right = better & (world.score[:, None] > world.score)
    member = np.array([world.group == name for name in "ab"], dtype=float)
    for item in range(150):
        kept = member * (np.arange(150) != item)
        leave_one_out.append((kept @ right @ kept.T / (kept @ better @ kept.T)).ravel())
    spread = np.cov(np.array(leave_one_out).T, bias=True) * 149
    assert np.diag(full.covariance) == pytest.approx(np.diag(spread), rel=0.1)


def test_items_in_no_group_count_overall_but_in_no_entry() -> None:
    world = Scored(600)
    world.group = np.where(np.arange(600) % 4 == 0, "neither", world.group)
    result = world.accuracy(no_group="neither")
    assert result.groups == ("a", "b")
    assert result.overall == pytest.approx(roc_auc_score(world.label, world.score))
    better = (world.label == 1) & (world.group == "a")
    kept = better | (world.label == 0)
    expected = roc_auc_score(world.label[kept], world.score[kept])
    assert result.row_marginals[0] == pytest.approx(expected)


def test_queries_are_compared_within_themselves() -> None:
    world = Scored(400, levels=3)
    result = world.accuracy(queries=world.query)
    hits = trials = 0
    for query in range(40):
        rows = np.flatnonzero(world.query == query)
        for i in rows:
            for j in rows:
                trials += world.label[i] > world.label[j]
                hits += world.label[i] > world.label[j] and world.score[i] > world.score[j]
    assert result.overall == pytest.approx(hits / trials)
    assert result.raw.design == "all pairs within queries"


@pytest.mark.parametrize("queries", [False, True], ids=["no queries", "queries"])
def test_pairs_can_count_by_how_far_their_labels_are_apart(queries: bool) -> None:
    world = Scored(200, levels=0)
    result = world.accuracy(pair_weight="difference", queries=world.query if queries else None)
    apart = np.maximum(world.label[:, None] - world.label[None, :], 0)
    apart *= world.query[:, None] == world.query[None, :] if queries else 1
    agree = apart * (world.score[:, None] > world.score[None, :])
    assert result.overall == pytest.approx(agree.sum() / apart.sum())
    block = np.ix_(world.group == "a", world.group == "b")
    assert result.matrix[0, 1] == pytest.approx(agree[block].sum() / apart[block].sum())
    assert result.n_pairs[0, 1] == (apart[block] > 0).sum()
    assert result.tests[0].n == ((apart[block] > 0).sum(), (apart.T[block] > 0).sum())


def test_accuracy_by_differences_has_its_closed_form() -> None:
    """For normal labels and scores of correlation r it is (1 + r) / 2: with U, V standard normal,
    E[U; U > 0, rU + sqrt(1 - r^2) V > 0] = (1 + r) / (2 sqrt(2 pi))."""
    world = Scored(20_000, levels=0)
    result = world.accuracy(pair_weight="difference")
    error = (result.overall_interval.high - result.overall_interval.low) / 3.92
    assert result.overall == pytest.approx((1 + 0.5**0.5) / 2, abs=3 * error)


def test_binary_labels_are_all_equally_far_apart() -> None:
    world = Scored(300, bias=0.4)
    plain, weighted = world.accuracy(), world.accuracy(pair_weight="difference")
    assert weighted.matrix == pytest.approx(plain.matrix)
    assert weighted.covariance == pytest.approx(plain.covariance)
    assert [t.p_value for t in weighted.tests] == pytest.approx([t.p_value for t in plain.tests])


def test_standardised_accuracies_by_differences_are_equal_under_separation() -> None:
    rng = np.random.default_rng(2)
    group = rng.choice(["wide", "narrow"], 12_000)
    label = rng.normal(size=12_000) * np.where(group == "wide", 1.0, 0.5)
    score = label + rng.normal(size=12_000)
    found = pairwise_accuracy(label, score, sensitive_features=group, pair_weight="difference")
    assert found.raw.finding == VIOLATED
    assert found.finding == WITHIN


def test_pairs_of_a_continuous_attribute_can_count_by_their_difference() -> None:
    world = Scored(200, levels=0)
    value = np.random.default_rng(3).normal(size=200)
    result = world.accuracy(
        sensitive_features=value, continuous=True, pair_weight="difference", queries=world.query
    )
    apart = np.maximum(world.label[:, None] - world.label[None, :], 0)
    apart *= (value[:, None] > value[None, :]) & (world.query[:, None] == world.query[None, :])
    agree = apart[world.score[:, None] > world.score[None, :]]
    assert result.matrix[0, 1] == pytest.approx(agree.sum() / apart.sum())
    assert result.n_pairs[0, 1] == (apart > 0).sum()


def test_separation_with_unequal_label_laws_breaks_raw_accuracy_only() -> None:
    """Labels N(0, 1) and N(0, 0.5), scores label + N(0, 1): separation holds exactly."""
    rng = np.random.default_rng(2)
    group = rng.choice(["wide", "narrow"], 12_000)
    label = rng.normal(size=12_000) * np.where(group == "wide", 1.0, 0.5)
    result = pairwise_accuracy(label, label + rng.normal(size=12_000), sensitive_features=group)
    assert result.raw.finding == VIOLATED
    assert result.finding == WITHIN
    rates = [rate.rate for rate in result.standardised.rates]
    assert rates == pytest.approx([0.67] * 4, abs=0.02)


def test_label_laws_that_do_not_overlap_leave_the_question_open() -> None:
    rng = np.random.default_rng(2)
    group = np.repeat(["low", "high"], 300)
    label = rng.normal(size=600) + 8 * (group == "high")
    result = pairwise_accuracy(label, label + rng.normal(size=600), sensitive_features=group)
    assert result.finding == UNDECIDED
    assert all(test.reason for test in result.standardised.tests)


def test_the_standardised_audit_reports_pairs_not_weights() -> None:
    result = Scored(400, levels=6).accuracy()
    pairs = [test.n for test in result.standardised.tests]
    assert pairs == [test.n for test in result.raw.tests]


def test_binary_labels_need_no_standardisation() -> None:
    result = Scored(400, bias=0.8).accuracy()
    assert result.labels == "binary"
    assert result.standardised is result.raw
    assert result.finding == VIOLATED


def test_every_notion_adds_its_hypotheses() -> None:
    notions = ("cross-group", "within-group", "marginal", "symmetric")
    nulls = [test.null for test in Scored(400).accuracy(notions=notions).tests]
    assert nulls == [
        "agree(a > b) = agree(b > a)",
        "agree(a > a) = agree(b > b)",
        "agree(a > *) = agree(b > *)",
        "symmetric(a) = symmetric(b)",
    ]


def test_a_continuous_attribute_compares_larger_with_smaller_values() -> None:
    world = Scored(200, levels=0)
    value = np.random.default_rng(3).normal(size=200)
    result = world.accuracy(sensitive_features=value, continuous=True)
    i, j = np.meshgrid(np.arange(200), np.arange(200), indexing="ij")
    pairs = (world.label[i] > world.label[j]) & (value[i] > value[j])
    expected = (world.score[i] > world.score[j])[pairs].mean()
    assert result.matrix[0, 1] == pytest.approx(expected)
    assert np.isnan(result.matrix[0, 0])


def test_parity_without_labels_is_the_mann_whitney_statistic() -> None:
    world = Scored(300, bias=0.5)
    first, second = (world.score[world.group == group] for group in "ab")
    share = mannwhitneyu(first, second).statistic / len(first) / len(second)
    (test,) = pairwise_parity(world.score, sensitive_features=world.group).tests
    assert test.gap == pytest.approx(2 * share - 1)
    assert test.interval(0.95).low < test.gap < test.interval(0.95).high


@pytest.mark.long
def test_parity_keeps_its_level() -> None:
    rng = np.random.default_rng(4)
    alarms = [
        pairwise_parity(rng.normal(size=80), sensitive_features=rng.choice(["a", "b"], 80)).finding
        == VIOLATED
        for _ in range(300)
    ]
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_every_engine_gives_the_same_result(frame: Callable[..., Any]) -> None:
    world = Scored(150, levels=4)
    columns = {"y": world.label, "f": world.score, "sex": world.group, "q": world.query}
    found = audit_frame(frame(columns), label="y", score="f", sensitive="sex", query="q")
    assert found.matrix == pytest.approx(world.accuracy(queries=world.query).matrix)


@pytest.mark.parametrize("levels", [2, 0])
def test_scores_as_far_apart_as_can_be_are_counted_like_their_ranks(levels: int) -> None:
    world = Scored(90, levels=levels)
    # One item in ten loses every pair: items are skewed, and permuted.
    world.score -= 99 * (np.arange(90) % 10 == 0)
    expected = world.accuracy()
    ranks = np.argsort(np.argsort(world.score))
    world.score = (2 * ranks / 89 - 1) * 1.7e308
    found = world.accuracy()
    for name in ("raw", "standardised"):
        tests = zip(getattr(found, name).tests, getattr(expected, name).tests, strict=True)
        assert all((one.gap, one.p_value) == (two.gap, two.p_value) for one, two in tests)


def test_the_json_of_a_file_can_be_read_back(tmp_path: Path) -> None:
    world = Scored(200, levels=4)
    rows = zip(world.label, world.score, world.group, strict=True)
    path = tmp_path / "items.csv"
    path.write_text("y,f,sex\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    result = audit_file(path, label="y", score="f", sensitive="sex")
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert np.array(content["matrix"]) == pytest.approx(result.matrix)
    assert content["finding"] == result.finding
    assert {"raw", "standardised", "tests", "provenance"} <= set(content)
    assert "agree(a > b)" in str(result)
    assert result.to_frame("polars").shape == (4, 6)
    assert result.plot().get_xlabel() == "group of the worse item"


@pytest.mark.parametrize(
    ("choices", "error"),
    [
        ({"sensitive_features": ["a"] * 60}, OneGroupError),
        ({"average": "items"}, OptionError),
        ({"average": "queries", "notions": ("symmetric",)}, OptionError),
        ({"average": "queries", "continuous": True}, OptionError),
        ({"notions": ()}, OptionError),
        ({"notions": ("everything",)}, OptionError),
        ({"sample_weight": [0.0] * 60}, WeightError),
        ({"queries": [1, 2]}, ComparityError),
        ({"sensitive_features": {"a": ["x", "y"] * 30, "b": ["x", "y"] * 30}}, OptionError),
    ],
)
def test_bad_choices_are_refused(choices: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Scored(60).accuracy(**choices)


def test_equal_labels_have_no_better_item() -> None:
    with pytest.raises(ConstantLabelError):
        pairwise_accuracy([1, 1, 1], [1, 2, 3], sensitive_features=["a", "b", "a"])


odd = st.one_of(st.none(), st.integers(-2, 2), st.floats(), st.text(max_size=2))


@pytest.mark.long
@settings(max_examples=150)
@given(st.lists(st.tuples(odd, odd, odd, st.integers(0, 2)), max_size=12), st.booleans())
def test_nothing_odd_gives_anything_but_a_result_or_our_error(
    rows: list[tuple[Any, ...]], with_queries: bool
) -> None:
    label, score, group, query = ([row[place] for row in rows] for place in range(4))
    queries = query if with_queries else None
    try:
        result = pairwise_accuracy(label, score, sensitive_features=group, queries=queries)
        outcome = result.finding
    except ComparityError as error:
        outcome = str(error)
    assert outcome in (VIOLATED, WITHIN, UNDECIDED) or "hint:" in outcome


def test_an_average_over_queries_needs_queries() -> None:
    with pytest.raises(OptionError, match="no queries to average over"):
        pairwise_accuracy([0, 1], [0, 1], sensitive_features=["a", "b"], average="queries")


def test_one_notion_may_be_named_without_a_list() -> None:
    rng = np.random.default_rng(2)
    label, score, group = rng.normal(size=80), rng.normal(size=80), ["a", "b"] * 40
    one, listed = (
        pairwise_accuracy(label, score, sensitive_features=group, notions=notions).raw.tests
        for notions in ("marginal", ["marginal"])
    )
    assert [test.null for test in one] == [test.null for test in listed]


def test_too_many_groups_are_told_of_their_own_column() -> None:
    columns = {"y": np.arange(120.0), "f": np.arange(120.0), "age": np.arange(120)}
    with pytest.raises(TooManyGroupsError, match="'age' must have at most 50 groups"):
        audit_frame(pd.DataFrame(columns), label="y", score="f", sensitive="age")


@pytest.mark.parametrize("kind", ["binary", "continuous"])
@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_numbers_of_pairs_are_numbers_whatever_items_weigh(kind: str, unit: float) -> None:
    rng = np.random.default_rng(9)
    group = rng.choice(["a", "b"], 300)
    y = rng.integers(0, 2, 300) if kind == "binary" else rng.normal(size=300)
    score, weight = np.round(y + rng.normal(size=300), 1), unit * rng.uniform(0.5, 2, 300)
    result = pairwise_accuracy(y, score, sensitive_features=group, sample_weight=weight)
    better = np.greater.outer(y, y)[np.ix_(group == "a", group == "b")]
    tied = np.equal.outer(score, score)[np.ix_(group == "a", group == "b")] & better
    assert (result.n_pairs[0, 1], result.score_ties[0, 1]) == (better.sum(), tied.sum())
    for audit in (result.raw, result.standardised):
        assert audit.n == np.greater.outer(y, y).sum()
        assert audit.tests[0].n[0] == better.sum()
        assert [rate.trials for rate in audit.rates] == result.n_pairs.ravel().tolist()
        assert [rate.score_ties for rate in audit.rates] == result.score_ties.ravel().tolist()


@pytest.mark.parametrize("levels", [2, 5])
def test_pairs_and_ties_are_counted_as_pairs_where_queries_count_alike(levels: int) -> None:
    world = Scored(300, levels=levels)
    score = np.round(world.score)
    chosen = {"sensitive_features": world.group, "queries": world.query, "average": "queries"}
    result = pairwise_accuracy(world.label, score, **chosen)
    better = np.greater.outer(world.label, world.label) & np.equal.outer(world.query, world.query)
    tied = better & np.equal.outer(score, score)
    cells = [np.ix_(world.group == i, world.group == j) for i in "ab" for j in "ab"]
    assert result.n_pairs.ravel().tolist() == [better[cell].sum() for cell in cells]
    assert result.score_ties.ravel().tolist() == [tied[cell].sum() for cell in cells]
    assert result.audit.ties.scores == tied.sum()
    assert [rate.score_ties for rate in result.audit.rates] == [tied[cell].sum() for cell in cells]


def test_items_in_no_group_are_said_to_have_no_part_in_standardised_marginals() -> None:
    """With three labels, weights by hand: the share of the other group at the label."""
    rng = np.random.default_rng(8)
    label, group = rng.integers(0, 3, 400), rng.choice(["a", "b", "none"], 400)
    score = label + rng.normal(size=400) - 2.0 * (group == "none")
    chosen = {"sensitive_features": group, "no_group": "none", "notions": "marginal"}
    audit = pairwise_accuracy(label, score, **chosen).standardised
    n = {g: np.bincount(label[group == g], minlength=3) for g in "ab"}
    weight = np.where(group == "a", (n["b"] / (n["a"] + n["b"]))[label], 0.0)
    weight += np.where(group == "b", (n["a"] / (n["a"] + n["b"]))[label], 0.0)
    pairs = np.outer(weight, weight) * np.greater.outer(label, label)
    right = pairs * np.greater.outer(score, score)
    rows = [right[group == g].sum() / pairs[group == g].sum() for g in "ab"]
    assert audit.tests[0].gap == pytest.approx(rows[0] - rows[1])
    assert any(note.startswith("Items in no group") for note in audit.notes)


def test_a_marker_of_items_in_no_group_is_no_number_to_compare() -> None:
    y = np.arange(20.0)
    age = np.where(y < 5, -1.0, y)
    with pytest.raises(OptionError, match="no_group"):
        pairwise_accuracy(y, -y, sensitive_features=age, continuous=True, no_group=-1)


@pytest.mark.parametrize("average", ["pairs", "queries"])
def test_tiny_groups_without_common_labels_have_no_standardised_rate(average: str) -> None:
    """A spline tells twenty groups of one to three items apart: no label is common to all."""
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(20), rng.integers(1, 4, 20)).astype(str)
    label, score = rng.normal(size=(2, len(group)))
    query = rng.integers(0, 4, len(group))
    result = pairwise_accuracy(
        label, score, sensitive_features=group, queries=query, average=average
    )
    assert result.finding == UNDECIDED
    assert all("effective items" in test.reason for test in result.standardised.tests)
    assert result.standardised.rates == ()
    assert set(result.effective_sizes.values()) == {0.0}
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize("queries", [0, 5])
@pytest.mark.parametrize("levels", [2, 4])
def test_items_are_counted_in_the_role_they_have(levels: int, queries: int) -> None:
    """By definition: an item counts as the better one of a kind of pairs if it is so in one."""
    rng = np.random.default_rng(20260131)
    label, group = rng.integers(0, levels, 40), rng.integers(0, 2, 40)
    query = rng.integers(0, queries, 40) if queries else np.zeros(40, dtype=int)
    notions = ("cross-group", "within-group", "marginal", "symmetric")
    result = pairwise_accuracy(
        label,
        rng.normal(size=40),
        sensitive_features=np.array(["a", "b"])[group],
        queries=query if queries else None,
        notions=notions,
    )

    def scarcer(one: int | None, two: int | None) -> int:
        pairs = [
            (i, j)
            for i, j in product(range(40), repeat=2)
            if label[i] > label[j]
            and query[i] == query[j]
            and one in (None, group[i])
            and two in (None, group[j])
        ]
        return min(len({i for i, _ in pairs}), len({j for _, j in pairs}))

    kinds = [[(0, 1), (1, 0)], [(0, 0), (1, 1)], [(0, None), (1, None)]]
    kinds.append([*kinds[-1], (None, 0), (None, 1)])
    expected = [min(scarcer(*cell) for cell in cells) for cells in kinds]
    assert [test.smallest_role for test in result.raw.tests] == expected


def test_one_item_that_weighs_anything_makes_no_pair() -> None:
    """Weights to one distribution of labels may leave a single item of a panel."""
    one = LabelledItems(
        label=np.ones(1),
        score=np.ones(1),
        group=np.zeros(1, np.int64),
        groups=("a", "b"),
        weight=np.full(1, 0.5),
    )
    counted = count_evened(one, PairwiseOptions())
    assert counted.expected is None
    assert counted.sharing.trials.sum() == 0


@pytest.mark.parametrize(("n_levels", "apart"), [(2, 1.2), (5, 0.6)])
def test_ties_say_whether_scoring_them_otherwise_would_change_the_finding(
    n_levels: int, apart: float
) -> None:
    """Scores of one group are coarse: as misses its ties are a gap, as half hits they are none."""
    rng = np.random.default_rng(4)
    label, group = rng.integers(0, n_levels, 4000), rng.choice(["f", "m"], 4000)
    score = apart * label + rng.normal(size=4000)
    coarse = np.where(group == "f", np.round(score / 0.8) * 0.8, score)
    known = {"sensitive_features": group, "margin": 0.08}
    for score_ties, finding in (("disagree", VIOLATED), ("half", WITHIN)):
        found = pairwise_accuracy(label, coarse, score_ties=score_ties, **known)
        for audit in (found.raw, found.standardised):
            assert (audit.finding, audit.ties.change_finding) == (finding, True)
    alike = pairwise_accuracy(label, coarse, sensitive_features=group, margin=0.5)
    assert alike.raw.ties.scores
    assert not alike.raw.ties.change_finding
