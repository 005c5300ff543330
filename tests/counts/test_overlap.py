"""Witnesses: the definition for tables, statsmodels' multinomial logit for splines."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.stats import ks_2samp
from sklearn.metrics import roc_auc_score

from comparity.counts import overlap as module
from comparity.counts.overlap import overlap_weights

ITEMS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(1, 3)), min_size=3, max_size=40
)


# Of a label that every group has there is a law to compare.
EVERY_GROUP = [(0, a, 1) for a in range(3)]


def columns(items: list[tuple[int, int, int]]) -> list[np.ndarray]:
    return [np.array(column) for column in zip(*items, strict=True)]


def normal_labels(n: int, rng: np.random.Generator, sd: tuple[float, ...] = (1.0, 0.5)):
    group = rng.integers(0, len(sd), n)
    return rng.normal(size=n) * np.array(sd)[group], group


@given(ITEMS)
def test_tabulated_weights_are_the_overlap_over_the_law_of_the_group(
    items: list[tuple[int, int, int]],
) -> None:
    """w(y, a) = h(y) / p(y | a) with one constant for each group, h the harmonic mean."""
    label, group, given_weight = columns([*EVERY_GROUP, *items])
    found = overlap_weights(
        label.astype(float), group, "abc", sample_weight=given_weight.astype(float)
    )
    for y, a, weight, base in zip(label, group, found.weights, given_weight, strict=True):
        n = [given_weight[(label == y) & (group == other)].sum() for other in range(3)]
        expected = 1 / n[a] / sum(1 / count for count in n) if all(n) else 0.0
        assert weight == pytest.approx(base * expected)


@given(ITEMS)
def test_tabulated_weights_give_every_group_the_same_label_law(
    items: list[tuple[int, int, int]],
) -> None:
    label, group, _ = columns([*EVERY_GROUP, *items])
    found = overlap_weights(label.astype(float), group, "abc")
    laws = [np.bincount(label[group == a], found.weights[group == a], 5) for a in range(3)]
    assert laws[0].sum() > 0
    np.testing.assert_allclose(laws[1], laws[0], atol=1e-12)
    np.testing.assert_allclose(laws[2], laws[0], atol=1e-12)
    assert found.imbalance == pytest.approx(0, abs=1e-12)


def test_two_groups_are_weighted_by_the_share_of_the_other() -> None:
    label = np.repeat([0.0, 1.0, 2.0], [4, 5, 1])
    group = np.array([0, 0, 0, 1, 0, 1, 1, 1, 1, 1])
    weights = overlap_weights(label, group, "ab").weights
    assert weights.tolist() == pytest.approx([0.25] * 3 + [0.75] + [0.8] + [0.2] * 4 + [0.0])


def test_binary_labels_leave_every_area_under_the_curve_as_it_was() -> None:
    rng = np.random.default_rng(2)
    group = rng.integers(0, 2, 300)
    label = (rng.random(300) < np.array([0.2, 0.6])[group]).astype(float)
    score = label + rng.normal(size=300)
    weights = overlap_weights(label, group, "ab").weights
    for better in (0, 1):
        for worse in (0, 1):
            cell = ((group == better) & (label == 1)) | ((group == worse) & (label == 0))
            raw = roc_auc_score(label[cell], score[cell])
            weighted = roc_auc_score(label[cell], score[cell], sample_weight=weights[cell])
            assert weighted == pytest.approx(raw)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_fitted_shares_are_those_of_a_multinomial_logit_on_the_same_splines(n_groups: int) -> None:
    """statsmodels' MNLogit on natural splines through the unit vectors, made by scipy."""
    rng = np.random.default_rng(n_groups)
    label, group = normal_labels(600, rng, (1.0, 0.5, 0.7)[:n_groups])
    found = overlap_weights(label, group, "abc"[:n_groups], n_knots=5, ridge=0.0)
    knots = np.sort(label)[np.ceil(np.linspace(0.05, 0.95, 5) * 600).astype(int) - 1]
    design = np.column_stack([natural(label, knots, unit) for unit in np.eye(5)])
    shares = sm.MNLogit(group, design).fit(disp=False, maxiter=100).predict()
    expected = (1 / shares) / (1 / shares).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.weights, expected[np.arange(600), group], rtol=1e-4)
    assert found.kind == "spline"


def natural(x: np.ndarray, knots: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Evaluate the natural spline through the values; it goes on as a straight line."""
    spline = CubicSpline(knots, values, bc_type="natural")
    inside = np.clip(x, knots[0], knots[-1])
    return spline(inside) + spline(inside, 1) * (x - inside)


def test_the_order_of_the_groups_does_not_matter() -> None:
    rng = np.random.default_rng(8)
    label, group = normal_labels(500, rng, (1.0, 0.5, 0.7))
    turned = np.array([2, 0, 1])[group]
    one = overlap_weights(label, group, "abc", ridge=1e-3)
    two = overlap_weights(label, turned, "bca", ridge=1e-3)
    np.testing.assert_allclose(one.weights, two.weights, rtol=1e-6)


def test_fitted_weights_balance_the_means_of_two_groups_exactly() -> None:
    """Li, Morgan and Zaslavsky (2018), theorem 3: a property of logistic overlap weights."""
    label, group = normal_labels(500, np.random.default_rng(3))
    weights = overlap_weights(label, group, "ab", ridge=0.0).weights
    means = [np.average(label[group == a], weights=weights[group == a]) for a in (0, 1)]
    assert means[0] == pytest.approx(means[1], abs=1e-6)


def test_imbalance_is_the_kolmogorov_distance_of_weighted_laws() -> None:
    """With equal weights it is the two-sample statistic of scipy."""
    label, group = normal_labels(400, np.random.default_rng(4))
    counts = np.zeros((400, 2))
    order = np.argsort(label)
    counts[np.arange(400), group[order]] = 1.0
    assert module._imbalance(counts) == pytest.approx(
        ks_2samp(label[group == 0], label[group == 1]).statistic
    )


def test_effective_sizes_are_squared_sums_over_sums_of_squares() -> None:
    rng = np.random.default_rng(6)
    label, group = normal_labels(400, rng)
    found = overlap_weights(label, group, "ab", sample_weight=rng.uniform(0.5, 2, 400))
    for code, name in enumerate("ab"):
        w = found.weights[group == code]
        assert found.effective_sizes[name] == pytest.approx(w.sum() ** 2 / (w**2).sum())


@pytest.mark.parametrize("unit", [0.1, 0.3, 0.7])
def test_weights_that_are_all_alike_change_no_knot(unit: float) -> None:
    # A twentieth of sixty items is three: rounding decides whether the third is enough.
    label, group = np.arange(60.0), np.random.default_rng(5).integers(0, 2, 60)
    plain, other = (
        overlap_weights(label, group, ["a", "b"], sample_weight=weight).weights
        for weight in (None, np.full(60, unit))
    )
    assert other / unit == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 7.0, 1e6])
def test_the_unit_of_sample_weights_does_not_matter(unit: float) -> None:
    rng = np.random.default_rng(6)
    label, group = normal_labels(400, rng)
    given = rng.uniform(0.5, 2, 400)
    one, other = (
        overlap_weights(label, group, "ab", sample_weight=weight)
        for weight in (given, unit * given)
    )
    assert other.weights / unit == pytest.approx(one.weights, rel=1e-6)
    assert other.effective_sizes == pytest.approx(one.effective_sizes)


def test_a_linear_logit_would_leave_an_imbalance_that_is_not_trusted() -> None:
    """Labels of SD 1 and 0.5 have the same mean, so a linear logit weighs all items alike."""
    label, group = normal_labels(2000, np.random.default_rng(7))
    splined = overlap_weights(label, group, "ab")
    linear = ks_2samp(label[group == 0], label[group == 1]).statistic
    assert splined.trusted
    assert splined.imbalance < splined.limit < linear


def test_labels_that_hardly_overlap_are_not_trusted() -> None:
    rng = np.random.default_rng(9)
    group = rng.integers(0, 2, 400)
    label = rng.normal(size=400) + 8 * group
    found = overlap_weights(label, group, "ab")
    assert not found.trusted
    assert "effective items" in found.reason
    assert min(found.effective_sizes.values()) < 30


def test_groups_without_a_common_label_get_no_weight_and_a_reason() -> None:
    label, group = np.repeat([0.0, 1.0, 2.0, 3.0], 50), np.repeat([0, 0, 1, 1], 50)
    found = overlap_weights(label, group, "ab")
    assert not found.weights.any()
    assert np.isnan(found.imbalance)
    assert found.reason.startswith("only 0.0 effective items of group a")


def test_a_lump_of_equal_labels_that_a_spline_cannot_follow_is_not_trusted() -> None:
    """Half of one group has the label 0 exactly, in the other labels are spread around it."""
    rng = np.random.default_rng(10)
    group = rng.integers(0, 2, 4000)
    label = np.where((group == 0) & (rng.random(4000) < 0.5), 0.0, rng.normal(size=4000))
    found = overlap_weights(label, group, "ab")
    assert not found.trusted
    assert "apart" in found.reason


def test_items_in_no_group_have_no_weight_and_change_nothing() -> None:
    label, group = normal_labels(300, np.random.default_rng(11))
    more = overlap_weights(np.append(label, [0.0, 9.0]), np.append(group, [2, 2]), "ab")
    np.testing.assert_array_equal(more.weights[:300], overlap_weights(label, group, "ab").weights)
    assert more.weights[300:].tolist() == [0.0, 0.0]


def test_bins_of_many_labels_change_little(monkeypatch: pytest.MonkeyPatch) -> None:
    label, group = normal_labels(20_000, np.random.default_rng(12))
    binned = overlap_weights(label, group, "ab", n_knots=7).weights
    monkeypatch.setattr(module, "MOST_BINS", 10**6)
    whole = overlap_weights(label, group, "ab", n_knots=7).weights
    assert not np.array_equal(binned, whole)
    # Bins at the two ends are wide; their items weigh next to nothing.
    assert np.quantile(np.abs(binned - whole), 0.99) < 0.01


def test_labels_that_a_fitted_group_all_but_lacks_weigh_nothing() -> None:
    """A spline tells twenty groups of one to three items apart: no label is common to all."""
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(20), rng.integers(1, 4, 20))
    found = overlap_weights(rng.normal(size=len(group)), group, "abcdefghijklmnopqrst")
    assert not found.weights.any()
    assert set(found.effective_sizes.values()) == {0.0}
    assert "only 0.0 effective items" in found.reason
