"""Witnesses: moments that scipy gives for each distribution, within four standard errors."""

from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import chisquare, expon, norm, poisson, uniform

from comparity.datasets.simulated_panels import SimulatedPanel, simulate_comparisons
from comparity.errors import OptionError

ERRORS = 4
DISTRIBUTIONS = [norm(0, 5), norm(2, 0.1), uniform(-5, 10), expon(scale=2)]


def is_close_to(values: NDArray[np.float64], distribution: object) -> bool:
    """Mean and variance within four standard errors, from the distribution's first four moments."""
    mean, variance, _, kurtosis = (float(moment) for moment in distribution.stats("mvsk"))  # type: ignore[attr-defined]
    n = len(values)
    spread = variance * sqrt((kurtosis + 2) / n)
    near_mean = abs(values.mean() - mean) <= ERRORS * sqrt(variance / n)
    return near_mean and abs(values.var() - variance) <= ERRORS * spread


@pytest.mark.parametrize(
    "distribution",
    DISTRIBUTIONS,
    ids=lambda d: f"{d.dist.name}{d.args}",
)
def test_scores_and_biases_have_the_moments_of_their_distributions(distribution: object) -> None:
    panel = simulate_comparisons(
        rng=np.random.default_rng(5),
        scores=distribution,
        bias=distribution,
        n_items=20_000,
        n_evaluators=20_000,
        pairs=0,
    )
    assert is_close_to(panel.scores, distribution)
    assert is_close_to(panel.bias[:, 0], distribution)


def test_a_distribution_without_spread_gives_every_evaluator_the_same_bias() -> None:
    panel = simulate_comparisons(rng=np.random.default_rng(1), bias=norm(2, 0), pairs=0)
    assert (panel.bias == 2).all()


def test_the_default_is_the_panel_of_section_5_1() -> None:
    panel = simulate_comparisons(rng=np.random.default_rng(2))
    assert panel.comparisons.shape == (5000, 2)
    assert np.bincount(panel.evaluators).tolist() == [100] * 50
    assert (panel.sensitive_features == "b").sum() == 30
    assert not panel.bias.any()
    assert not panel.ties.any()
    assert is_close_to(
        np.concatenate(
            [simulate_comparisons(rng=np.random.default_rng(s), pairs=0).scores for s in range(50)]
        ),
        norm(0, 5),
    )


def test_every_pair_is_shown_equally_often() -> None:
    panel = simulate_comparisons(
        rng=np.random.default_rng(6), n_items=6, groups={"g": 2}, pairs=1200
    )
    low, high = panel.comparisons.min(axis=1), panel.comparisons.max(axis=1)
    assert (low < high).all()
    shown = np.bincount(low * 6 + high, minlength=36).reshape(6, 6)[np.triu_indices(6, 1)]
    assert chisquare(shown).pvalue > 1e-4


def outcomes(panel: SimulatedPanel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return log odds of the item shown first and what became of it: 1, 0, or 1/2 for a tie."""
    first = panel.seats == 1
    pairs = np.where(first[:, None], panel.comparisons, panel.comparisons[:, ::-1])
    who = panel.evaluators
    result = np.where(panel.ties, 0.5, first)
    odds = panel.scores[pairs[:, 0]] - panel.scores[pairs[:, 1]] + panel.seat
    for column, name in enumerate(panel.bias_names):
        inside = np.ones(len(panel.scores), dtype=bool)
        for attribute in name.split(" & "):
            inside &= panel.groups[attribute] == "b"
        grown = inside * (1 + panel.slope * panel.scores)
        odds += panel.bias[who, column] * (grown[pairs[:, 0]] - grown[pairs[:, 1]])
    return odds, result


@pytest.mark.parametrize(
    "options",
    [
        {"bias": norm(2, 2)},
        {"bias": uniform(-5, 10), "scores": uniform(-5, 10)},
        {"bias": norm(1, 1), "seat": 0.7},
        {"bias": norm(1, 1), "slope": 0.3},
        {
            "groups": {"sex": 40, "race": 30},
            "bias": {"sex": norm(-1, 1), "race": norm(-1, 0.5), "sex & race": norm(-3, 1)},
        },
    ],
)
def test_the_item_shown_first_wins_as_often_as_its_odds_say(options: dict[str, object]) -> None:
    panel = simulate_comparisons(rng=np.random.default_rng(7), pairs=400, **options)
    odds, won = outcomes(panel)
    chance = expit(odds)
    # The whole, and its parts from sure losses to sure wins.
    for part in (slice(None), *np.array_split(np.argsort(odds), 5)):
        expected, variance = chance[part].sum(), (chance[part] * (1 - chance[part])).sum()
        assert abs(won[part].sum() - expected) < ERRORS * sqrt(variance)


def test_ties_are_as_frequent_as_davidson_says() -> None:
    panel = simulate_comparisons(
        rng=np.random.default_rng(8), bias=norm(1, 1), scores=norm(0, 1), tie=0.8, pairs=400
    )
    odds, won = outcomes(panel)
    weight = np.exp(odds / 2) + np.exp(-odds / 2) + 0.8
    for found, chance in ((won == 0.5, 0.8 / weight), (won == 1, np.exp(odds / 2) / weight)):
        assert abs(found.sum() - chance.sum()) < ERRORS * sqrt((chance * (1 - chance)).sum())
    assert (panel.seats[panel.ties] == 1).all()


def test_two_attributes_are_drawn_independently() -> None:
    groups = {"sex": 4000, "race": 2000}
    panel = simulate_comparisons(
        rng=np.random.default_rng(9), n_items=10_000, groups=groups, pairs=0
    )
    both = ((panel.groups["sex"] == "b") & (panel.groups["race"] == "b")).sum()
    # Hypergeometric: 2,000 draws from 10,000 items of which 4,000 count.
    variance = 2000 * 0.4 * 0.6 * 8000 / 9999
    assert abs(both - 800) < ERRORS * sqrt(variance)


def test_pairs_per_evaluator_may_be_drawn_or_given() -> None:
    rng, given = np.random.default_rng(3), [5] * 25 + [195] * 25
    for pairs, expected in ((100, [100] * 50), (given, given)):
        panel = simulate_comparisons(rng=rng, pairs=pairs)
        assert np.bincount(panel.evaluators, minlength=50).tolist() == expected
    panel = simulate_comparisons(rng=rng, pairs=poisson(100))
    counts = np.bincount(panel.evaluators, minlength=50)
    assert is_close_to(counts.astype(float), poisson(100))


def test_the_same_seed_gives_the_same_panel() -> None:
    one, other = (
        simulate_comparisons(rng=np.random.default_rng(4), bias=norm(1, 1), tie=0.2)
        for _ in range(2)
    )
    assert np.array_equal(one.comparisons, other.comparisons)
    assert np.array_equal(one.bias, other.bias)


@pytest.mark.parametrize(
    "call",
    [
        lambda rng: simulate_comparisons(rng=rng, n_items=1),
        lambda rng: simulate_comparisons(rng=rng, groups={"g": 100}),
        lambda rng: simulate_comparisons(rng=rng, groups={"g": -1}),
        lambda rng: simulate_comparisons(rng=rng, groups={"g": ["a", "b"]}),
        lambda rng: simulate_comparisons(rng=rng, groups={"g": ["a", "c"]}, n_items=2),
        lambda rng: simulate_comparisons(rng=rng, groups={"g": "ab"}, n_items=2),
        lambda rng: simulate_comparisons(rng=rng, groups={}),
        lambda rng: simulate_comparisons(rng=rng, scores=[1.0, 2.0]),
        lambda rng: simulate_comparisons(rng=rng, scores=[*range(99), np.nan]),
        lambda rng: simulate_comparisons(rng=rng, bias={"sex": norm(0, 1)}),
        lambda rng: simulate_comparisons(rng=rng, pairs=[1, 2]),
        lambda rng: simulate_comparisons(rng=rng, tie=-1),
    ],
)
def test_impossible_panels_are_refused(call: Callable[[np.random.Generator], object]) -> None:
    with pytest.raises(OptionError):
        call(np.random.default_rng(0))


def test_scores_and_groups_may_be_given_and_stay_as_they_are() -> None:
    scores, group = np.linspace(-3, 3, 7), list("aabbaab")
    panel = simulate_comparisons(
        rng=np.random.default_rng(5), scores=scores, groups={"sex": group}, n_items=7
    )
    assert panel.scores.tolist() == scores.tolist()
    assert panel.groups["sex"].tolist() == group
    assert np.unique(panel.comparisons).tolist() == list(range(7))


def test_scores_that_were_given_are_not_changed_by_equal_means() -> None:
    scores = np.arange(100.0)
    simulate_comparisons(rng=np.random.default_rng(6), scores=scores, equal_means=True)
    assert scores.tolist() == list(range(100))


def test_groups_are_given_equal_means_where_asked_and_nothing_else_is_drawn_anew() -> None:
    groups = {"sex": 12, "race": 25}
    free, equal = (
        simulate_comparisons(rng=np.random.default_rng(8), groups=groups, equal_means=choice)
        for choice in (False, True)
    )
    for name in groups:
        inside = equal.groups[name] == "b"
        assert equal.groups[name].tolist() == free.groups[name].tolist()
        assert equal.scores[inside].mean() == pytest.approx(0, abs=1e-12)
        assert equal.scores[~inside].mean() == pytest.approx(0, abs=1e-12)
    both = (free.groups["sex"] == "b") & (free.groups["race"] == "b")
    # Within a kind of items all are shifted alike.
    assert np.diff(equal.scores[both]) == pytest.approx(np.diff(free.scores[both]))


@pytest.mark.parametrize("wrong", [1e200, -1e200, 1001.0, float("nan"), float("inf")])
@pytest.mark.parametrize(
    "choice",
    [
        lambda wrong: {"seat": wrong},
        lambda wrong: {"tie": abs(wrong)},
        lambda wrong: {"slope": wrong},
        lambda wrong: {"scores": [wrong, *range(9)]},
        lambda wrong: {"scores": norm(wrong, 1e-6)},
        lambda wrong: {"scores": norm(0, 1e6 * wrong)},
        lambda wrong: {"bias": norm(wrong, 1e-6)},
    ],
    ids=["seat", "tie", "slope", "scores", "distribution of scores", "spread of scores", "bias"],
)
def test_log_odds_beyond_all_chance_are_refused_with_the_range(
    choice: Callable[[float], dict[str, object]], wrong: float
) -> None:
    small = {"n_items": 10, "n_evaluators": 5, "pairs": 20, "groups": {"group": 4}}
    with pytest.raises(OptionError, match=r"1000|proper parameters"):
        simulate_comparisons(rng=np.random.default_rng(0), **small, **choice(wrong))


def test_odds_of_a_pair_that_are_no_number_are_refused() -> None:
    small = {"n_items": 10, "n_evaluators": 5, "pairs": 20, "groups": {"group": 4}}
    facts = {"bias": norm(900, 1), "slope": 2.0}
    with pytest.raises(OptionError, match="what they come to for a pair is larger"):
        simulate_comparisons(rng=np.random.default_rng(0), **small, **facts)
