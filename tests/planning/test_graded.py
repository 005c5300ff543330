"""Plans for graded quality, beside scipy's normal orthants and studies drawn item by item."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from comparity import comparative_separation, plan_comparative
from comparity.errors import ComparityError
from comparity.planning.graded import GradedScenario, normal_orthant
from comparity.planning.result import ComparativePlan
from comparity.results.result import Result

UNLIKE: dict[str, Any] = {
    "shares": (0.6, 0.4),
    "quality_mean": (0.0, 0.4),
    "quality_spread": (1.0, 0.7),
    "model_error": (0.5, 1.0),
    "model_shift": (0.0, 0.3),
    "judge_error": 0.4,
}


def draw(world: dict[str, Any], n_items: int, n_pairs: int, rng: np.random.Generator) -> Any:
    """Draw groups, scores and judged pairs, better item first."""
    group = rng.choice(len(world["shares"]), n_items, p=world["shares"])
    of = {name: np.array(world[name])[group] for name in world if name != "judge_error"}
    quality = of["quality_mean"] + of["quality_spread"] * rng.normal(size=n_items)
    score = quality + of["model_shift"] + of["model_error"] * rng.normal(size=n_items)
    one = rng.integers(0, n_items, n_pairs)
    other = (one + rng.integers(1, n_items, n_pairs)) % n_items
    seen = world["judge_error"] * rng.normal(size=(2, n_pairs))
    ahead = quality[one] + seen[0] > quality[other] + seen[1]
    return group, score, np.where(ahead, one, other), np.where(ahead, other, one)


def rates(
    world: dict[str, Any], sizes: tuple[int, int], rng: np.random.Generator
) -> NDArray[np.float64]:
    group, score, better, worse = draw(world, *sizes, rng)
    cell = 2 * group[better] + group[worse]
    hits = np.bincount(cell, score[better] > score[worse], 4)
    found: NDArray[np.float64] = hits / np.bincount(cell, minlength=4)
    return found


@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.3, 0.99])
def test_orthants_are_those_of_scipy(correlation: float) -> None:
    both = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    for h, k in [(0.0, 0.0), (0.0, 1.0), (-1.5, 0.0), (0.7, -2.0), (-1.0, -1.2), (3.0, 2.0)]:
        found = normal_orthant(np.array(h), np.array(k), correlation)
        assert found == pytest.approx(both.cdf([h, k]), abs=1e-7)


def test_rates_are_conditional_orthants_of_what_judges_see_and_the_model_says() -> None:
    found = GradedScenario(**UNLIKE).cell_rates.reshape(2, 2)
    for a, b in np.ndindex(2, 2):
        mean, lift = (np.array(UNLIKE[name]) for name in ("quality_mean", "model_shift"))
        common = sum(UNLIKE["quality_spread"][one] ** 2 for one in (a, b))
        errors = sum(UNLIKE["model_error"][one] ** 2 for one in (a, b))
        judged = common + 2 * UNLIKE["judge_error"] ** 2
        ahead = np.array([mean[a] - mean[b], (mean + lift)[a] - (mean + lift)[b]])
        both = multivariate_normal([0, 0], [[judged, common], [common, common + errors]])
        alone = multivariate_normal([0], [[judged]])
        assert found[a, b] == pytest.approx(both.cdf(ahead) / alone.cdf(ahead[:1]), abs=1e-6)


def test_every_pair_of_graded_quality_has_an_order() -> None:
    assert GradedScenario(**UNLIKE).cell_shares.sum() == pytest.approx(1)


@pytest.mark.long
@pytest.mark.parametrize(("n_items", "n_pairs"), [(200, 600), (80, 2000)])
def test_studies_drawn_item_by_item_have_the_planned_covariance(n_items: int, n_pairs: int) -> None:
    rng = np.random.default_rng(20261117)
    drawn = np.array([rates(UNLIKE, (n_items, n_pairs), rng) for _ in range(2000)])
    scenario = GradedScenario(**UNLIKE, n_items=n_items, graded=True)
    contrasts = np.array([[0, 1, -1, 0], [1, 0, 0, -1], [-0.5, 0.5, 0.5, -0.5]])
    found, planned = np.cov(drawn @ contrasts.T, rowvar=False), scenario.expect(n_pairs).covariance
    # A variance of 2,000 has an error of 3.2 %; the formula is one of many items, which costs 5 %.
    assert np.diag(found) == pytest.approx(np.diag(planned), rel=0.15)
    fresh = GradedScenario(**UNLIKE, graded=True).expect(n_pairs).covariance
    assert np.diag(found)[1] > 1.25 * np.diag(fresh)[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "n_items", "n_pairs"),
    [
        ({"model_error": (0.6, 0.9)}, None, 2000),
        ({"model_error": (0.6, 0.9)}, 800, 3000),
        ({"model_shift": (0.0, 0.25)}, 600, 1500),
        ({"quality_spread": (1.0, 0.6), "judge_error": 0.5}, 500, 1200),
        ({"model_error": (0.7, 0.7)}, 600, 1500),
    ],
)
def test_audits_of_drawn_studies_find_as_often_as_planned(
    change: dict[str, Any], n_items: int | None, n_pairs: int
) -> None:
    alike = {name: (value[0],) * 2 for name, value in UNLIKE.items() if name != "judge_error"}
    world = {**alike, "judge_error": 0.0, "shares": (0.5, 0.5), **change}
    plan = plan_comparative(**world, n_items=n_items, n_pairs=n_pairs)
    rng, found = np.random.default_rng(7), []
    for _ in range(400):
        group, score, better, worse = draw(world, n_items or 40 * n_pairs, n_pairs, rng)
        pairs = np.column_stack([better, worse])
        if n_items is None:
            # Fresh items: number those that were drawn, each once.
            pairs = np.arange(2 * n_pairs).reshape(n_pairs, 2)
            group, score = (one[np.column_stack([better, worse]).ravel()] for one in (group, score))
        audit = comparative_separation(pairs, scores=score, sensitive_features=group, margin=0.001)
        found.append(any(test.p_adjusted < 0.05 for test in audit.tests))
    # Three binomial errors, and 0.03 for what is normal in large samples only.
    error = np.sqrt(plan.power * (1 - plan.power) / len(found))
    assert np.mean(found) == pytest.approx(plan.power, abs=3 * error + 0.03)


def test_gaps_that_come_from_quality_alone_are_noted() -> None:
    world = {"shares": [0.5, 0.5], "quality_spread": [1, 0.5], "n_pairs": 1000}
    alike = plan_comparative(**world, model_error=[0.6, 0.6])
    unlike = plan_comparative(**world, model_error=[0.6, 0.9])
    assert any("distributed differently" in note for note in alike.notes)
    assert not any("distributed differently" in note for note in unlike.notes)


@pytest.mark.parametrize(
    "odd",
    [
        {"quality_spread": [0.01, 100], "model_error": [100, 0.01]},
        {"model_shift": [0, 100]},
        {"model_error": [0.01, 0.01], "judge_error": 100},
        {"quality_mean": [0, 6], "n_items": 2},
        {"shares": [1 / 3] * 3, "quality_spread": [1, 2, 3], "model_error": [1, 1, 1]},
    ],
)
def test_odd_worlds_have_a_power(odd: dict[str, Any]) -> None:
    world = {"shares": [0.5, 0.5], "quality_spread": [1, 1], "model_error": [0.6, 0.9]}
    for margin in (None, 0.05):
        plan = plan_comparative(**{**world, "n_pairs": 500, "margin": margin, **odd})
        assert 0 <= plan.power <= 1


def test_a_plan_of_graded_quality_is_read_back() -> None:
    plan = plan_comparative(
        shares=[0.5, 0.5], quality_spread=[1, 1], model_error=[0.6, 0.9], n_items=500, n_pairs=800
    )
    again = Result.from_dict(plan.to_dict())
    assert isinstance(again, ComparativePlan)
    assert (again.n_pairs, str(again)) == (plan.n_pairs, str(plan))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"quality_spread": None}, "a plan needs quality_spread"),
        ({"tpr": [0.8, 0.8]}, "do not go with graded quality"),
        ({"quality": "binary"}, "not binary"),
        ({"model_error": [0.6]}, "one value per group"),
        ({"quality_mean": [0, 0, 0]}, "one value per group"),
        ({"model_error": [0.6, 0.0]}, "from 0.01 to 100"),
        ({"judge_error": -1}, "from 0 to 100"),
        ({"quality_mean": [0, 100]}, "every kind of pair must occur"),
    ],
)
def test_assumptions_that_do_not_go_together_are_refused(change: Any, words: str) -> None:
    world = {"shares": [0.5, 0.5], "quality_spread": [1, 1], "model_error": [0.6, 0.9]}
    with pytest.raises(ComparityError, match=words):
        plan_comparative(**{**world, "n_pairs": 100, **change})
