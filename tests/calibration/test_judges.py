"""Coverage and level of what is told of judges, over prompts of strongly differing difficulty.

Every prompt has four pairs, each judged in both orders. What a prompt adds to all its leads (SD 2),
and to the seat, is shared by its pairs, so judgments of one prompt go together. The truth of a rate
or coefficient is that of 200,000 prompts, whose error is a hundredth of the intervals' width.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import fisher_exact

from comparity.inference.exact_sums import drawn_p_value
from comparity.inference.prediction_powered import powered_excess, powered_mean, powered_rate
from comparity.judges import judge_contrasts
from comparity.judges.agreement import cohen_kappa, gwet_ac1, jackknife, krippendorff_alpha
from comparity.judges.rates import flip_signs, gap_between, rate_of

Rng = np.random.Generator
PAIRS = 4
MANY = 200_000
COEFFICIENTS = {"kappa": cohen_kappa, "AC1": gwet_ac1, "alpha": krippendorff_alpha}


def first_won(rng: Rng, prompts: int, *, lean: float, seat_spread: float) -> NDArray[np.bool_]:
    """Return whether the first answer won, by prompt, pair and order."""
    quality = rng.normal(0, 2, (prompts, 1)) + rng.normal(0, 1, (prompts, PAIRS))
    seat = lean + seat_spread * rng.normal(0, 1, (prompts, 1))
    return rng.random((prompts, PAIRS, 2)) < expit(np.stack([quality + seat, seat - quality], -1))


def tables(rng: Rng, prompts: int) -> NDArray[np.float64]:
    """Return tables of two judges who share prompts, with ties, by prompt."""
    sharpness = np.exp(rng.normal(0, 1.2, (prompts, 1)))
    quality = sharpness * rng.normal(0, 1, (prompts, PAIRS))
    said = []
    for lean in (0.4, -0.2):
        own = rng.normal(0, 0.5, (prompts, 1)) + rng.logistic(0, 1, (prompts, PAIRS))
        seen = quality + lean + own
        said.append(np.where(np.abs(seen) < 0.3, 2, np.where(seen > 0, 0, 1)))
    entry = 3 * said[0] + said[1]
    return np.stack([(entry == k).sum(1) for k in range(9)], axis=1).reshape(-1, 3, 3) * 1.0


@cache
def true_rates() -> tuple[float, float]:
    won = first_won(np.random.default_rng(7), MANY, lean=0.5, seat_spread=0.7)
    return float(won.mean()), float((won[..., 0] != won[..., 1]).mean())


@cache
def true_coefficients() -> dict[str, float]:
    whole = tables(np.random.default_rng(8), MANY).sum(0)
    both = {"alpha": whole + whole.T}
    return {name: float(one(both.get(name, whole))) for name, one in COEFFICIENTS.items()}


def check_coverage(covered: NDArray[np.bool_]) -> None:
    error = 3 * np.sqrt(0.95 * 0.05 / len(covered))
    assert 0.95 - error <= covered.mean()
    # Wider than promised by Wilson's interval with few prompts.
    assert covered.mean() <= 0.97 + error


@pytest.mark.parametrize("prompts", [50, 200, 1000])
def test_rates_of_seats_and_twins_are_covered(prompts: int, rng: Rng, repetitions: int) -> None:
    first, same = true_rates()
    covered = np.zeros((repetitions, 2), dtype=bool)
    for run in range(repetitions):
        won = first_won(rng, prompts, lean=0.5, seat_spread=0.7)
        seats = rate_of(won.sum((1, 2)), np.full(prompts, 2 * PAIRS))
        twins = rate_of((won[..., 0] != won[..., 1]).sum(1), np.full(prompts, PAIRS))
        covered[run] = [
            one.interval.low <= truth <= one.interval.high
            for one, truth in ((seats, first), (twins, same))
        ]
    for column in covered.T:
        check_coverage(column)


@pytest.mark.parametrize("prompts", [20, 60, 200])
def test_rates_and_gaps_of_prompts_with_unequal_numbers_of_judgments_are_covered(
    prompts: int, rng: Rng, repetitions: int
) -> None:
    # Numbers of judgments have a heavy tail, and so has the difficulty of prompts.
    covered = np.zeros((repetitions, 2), dtype=bool)
    for run in range(repetitions):
        chance = expit(rng.standard_t(2, prompts))
        sizes = np.maximum(1, rng.pareto(1.2, (2, prompts)) * 2).astype(np.int64)
        hits = rng.binomial(sizes, chance)
        one = rate_of(hits[0], sizes[0]).interval
        _, gap = gap_between((hits[0], sizes[0]), (hits[1], sizes[1]))
        covered[run] = one.low <= 0.5 <= one.high, gap.low <= 0 <= gap.high
    assert covered.mean(axis=0).min() >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / repetitions)


@pytest.mark.parametrize("prompts", [50, 200, 1000])
def test_agreement_is_covered(prompts: int, rng: Rng, repetitions: int) -> None:
    truth = true_coefficients()
    covered = np.zeros((repetitions, 3), dtype=bool)
    for run in range(repetitions):
        found = tables(rng, prompts)
        both = {"alpha": found + np.swapaxes(found, 1, 2)}
        for place, (name, one) in enumerate(COEFFICIENTS.items()):
            interval = jackknife(both.get(name, found), one, 0.95).interval
            covered[run, place] = interval.low <= truth[name] <= interval.high
    for column in covered.T:
        check_coverage(column)


@pytest.mark.parametrize("prompts", [50, 200])
def test_a_noisy_judge_without_a_seat_is_rarely_accused(
    prompts: int, rng: Rng, repetitions: int
) -> None:
    # Seats matter on single prompts, both ways: flips of a prompt go together.
    found = np.zeros(repetitions, dtype=bool)
    for run in range(repetitions):
        won = first_won(rng, prompts, lean=0.0, seat_spread=1.0)
        net = won.all(-1).sum(1) - (~won).all(-1).sum(1)
        found[run] = flip_signs(net) <= 0.05
    assert found.mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / repetitions)
    # An exact test of few prompts loses something, but not most of it.
    assert found.mean() >= 0.02


def test_signs_of_single_pairs_would_accuse_it(rng: Rng) -> None:
    net = np.zeros((400, 200), dtype=np.int64)
    for run in range(len(net)):
        won = first_won(rng, 200, lean=0.0, seat_spread=1.0)
        net[run] = won.all(-1).sum(1) - (~won).all(-1).sum(1)
    single = [flip_signs(np.repeat(np.sign(one), np.abs(one))) <= 0.05 for one in net]
    assert np.mean(single) > 0.09


@pytest.mark.parametrize("prompts", [50, 200])
def test_gaps_between_kinds_of_pairs_are_covered(prompts: int, rng: Rng, repetitions: int) -> None:
    covered = np.zeros(repetitions, dtype=bool)
    for run in range(repetitions):
        chance = expit(rng.normal(0.8, 1, prompts))
        sizes = rng.integers(1, 4, (2, prompts))
        hits = rng.binomial(sizes, chance)
        # The same chance on either side: the true gap is zero.
        _, interval = gap_between((hits[0], sizes[0]), (hits[1], sizes[1]))
        covered[run] = interval.low <= 0 <= interval.high
    check_coverage(covered)


def test_failures_that_come_together_accuse_no_group(rng: Rng, repetitions: int) -> None:
    accused = np.zeros((repetitions, 2), dtype=bool)
    for run in range(repetitions):
        # A tenth of the prompts fails, each on about half of its eight judgments.
        fails = (rng.random(80) < 0.1)[:, None] & (rng.random((80, 8)) < 0.5)
        group = rng.permutation(80) < 30
        failed = fails.any(1)
        counts = int(failed.sum()), 30, 80
        accused[run, 0] = drawn_p_value([counts], int(failed[group].sum())) <= 0.05
        rows = [[int(fails[side].sum()), int((~fails[side]).sum())] for side in (group, ~group)]
        accused[run, 1] = fisher_exact(rows).pvalue <= 0.05
    assert accused[:, 0].mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / repetitions)
    # Judgments taken one by one would.
    assert accused[:, 1].mean() > 0.15


@pytest.mark.parametrize(
    ("prompts", "by_people", "sharpness"),
    [(100, 12, 2.0), (200, 20, 2.0), (1000, 50, 2.0), (300, 20, 0.0), (300, 30, -1.0)],
)
def test_win_rates_corrected_by_people_are_covered(
    prompts: int, by_people: int, sharpness: float, rng: Rng, repetitions: int
) -> None:
    # The judge leans by 0.6, is sharper than people, or knows nothing, or is against them.
    covered = np.zeros((repetitions, 2), dtype=bool)
    cluster = np.repeat(np.arange(prompts), PAIRS)
    for run in range(repetitions):
        quality = rng.normal(0, 2, (prompts, 1)) + rng.normal(0, 1, (prompts, PAIRS))
        long = rng.random((prompts, PAIRS)) < 0.5
        votes = np.where(rng.random((prompts, PAIRS)) < expit(quality), 1.0, 0.0)
        seen = sharpness * quality + 0.6 + 0.6 * np.where(long, 1, -1)
        said = np.where(rng.random((prompts, PAIRS)) < expit(seen), 1.0, 0.0)
        votes[rng.permutation(prompts)[by_people:]] = np.nan
        one = powered_rate(votes.ravel(), said.ravel(), cluster)
        gap = powered_mean(votes.ravel(), said.ravel(), cluster, side=long.ravel())
        assert one is not None
        assert gap is not None
        # Answers are symmetric: the truth is one half, and the same for long and short ones.
        covered[run, 0] = one.interval.low <= 0.5 <= one.interval.high
        covered[run, 1] = gap.interval.low <= 0 <= gap.interval.high
    for column in covered.T:
        check_coverage(column)


@pytest.mark.parametrize(("rate", "by_people"), [(0.97, 20), (0.95, 12), (0.9, 50)])
def test_corrected_rates_near_one_are_covered(
    rate: float, by_people: int, rng: Rng, repetitions: int
) -> None:
    # Half of the judge's errors are in favour of the answerer; prompts have one to many pairs.
    covered = np.zeros((repetitions, 2), dtype=bool)
    for run in range(repetitions):
        sizes = np.minimum(np.maximum(1, rng.pareto(1.5, 150) * 2), 40).astype(np.int64)
        cluster = np.repeat(np.arange(150), sizes)
        votes = np.where(rng.random(len(cluster)) < rate, 1.0, 0.0)
        said = np.where(rng.random(len(cluster)) < 0.8, votes, 0.5)
        votes[~np.isin(cluster, rng.permutation(150)[:by_people])] = np.nan
        one, gap = (f(votes, said, cluster) for f in (powered_rate, powered_excess))
        assert one is not None
        assert gap is not None
        covered[run, 0] = one.interval.low <= rate <= one.interval.high
        covered[run, 1] = gap.interval.low <= 0.2 * (0.5 - rate) <= gap.interval.high
    assert covered.mean(axis=0).min() >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / repetitions)


@pytest.mark.parametrize(
    ("women", "men", "prompts", "each", "camps"),
    [(4, 12, 50, 40, False), (10, 10, 80, 30, False), (6, 6, 80, 50, True), (40, 6, 80, 20, False)],
)
def test_groups_of_judges_who_judge_alike_are_rarely_told_apart(
    women: int, men: int, prompts: int, each: int, camps: bool, rng: Rng, repetitions: int
) -> None:
    found = np.zeros(repetitions, dtype=bool)
    judge = np.repeat(np.arange(women + men, dtype=np.int32), each)
    for run in range(repetitions):
        lean = rng.normal(0, 0.7, women + men)
        if camps:
            lean = 0.8 * np.sign(lean)
        prompt = rng.integers(0, prompts, len(judge)).astype(np.int32)
        chance = expit(lean[judge] + rng.normal(0, 1, prompts)[prompt])
        gap = judge_contrasts._gap(
            rng.random(len(judge)) < chance, judge < women, judge, prompt, 0.95
        )
        assert gap is not None
        found[run] = gap.p_value <= 0.05
    # Four judges know little of others like them: 0.062 in 1,200 runs.
    assert found.mean() <= 0.06 + 3 * np.sqrt(0.06 * 0.94 / repetitions)
