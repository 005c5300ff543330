"""Calibration of BARP where evaluators differ in sharpness: false alarms, discoveries, coverage.

Items have scores with SD 1 within two groups (or two attributes). Half of the evaluators who are
not trusted do not lean. A share over panels has the standard error that the panels show.

``python -m tests.calibration.test_sharpness 1000 auto "ties" "a seat"`` prints shares of 1,000
panels of these worlds (all where none is named) by default, or with "own" or "equal" sharpness.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from comparity import barp
from comparity.ranking.result import BiasedRanking

Rng = np.random.Generator


@dataclass(frozen=True, kw_only=True)
class World:
    """A panel: evaluators, judgments of each, items, how groups differ, what fixes the level."""

    evaluators: int = 10
    judgments: int = 300
    items: int = 60
    gap: float = 1.0
    lowest: float = 0.3
    highest: float = 3.0
    spread: float = 0.0
    sharpness: tuple[float, ...] = ()
    lean: float = 0.5
    anchor: str = "trusted"
    trusted: int = 3
    ties: float = 0.0
    seat: float = 0.0
    attributes: int = 1
    flipped: float = 0.0
    tastes: float | tuple[float, ...] = 0.0
    fixed_lean: tuple[float, ...] = ()
    lapses: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Shares of one panel.

    Biases covered, unbiased evaluators accused, false among found, whether anybody unbiased is
    found, and those found of who leans; then the mean error of biases, in SDs.
    """

    covered: float
    accused: float
    false: float
    anybody: float
    power: float
    error: float


def sharpness_of(rng: Rng, world: World) -> np.ndarray:
    if world.sharpness:
        return np.array(world.sharpness)
    if world.spread:
        return np.exp(rng.normal(0, world.spread, world.evaluators))
    low, high = np.log(world.lowest), np.log(world.highest)
    return np.exp(rng.uniform(low, high, world.evaluators))


def draw(rng: Rng, world: World) -> tuple[dict[str, Any], np.ndarray]:
    """Return what barp takes, and the biases as the anchor measures them."""
    sharpness = sharpness_of(rng, world)
    m, c, n = len(sharpness), world.attributes, world.items
    group = np.column_stack([np.arange(n) % 2, np.arange(n) // 2 % 2])[:, :c]
    bias = rng.normal(0, world.lean, (m, c)) * (rng.random((m, c)) < 0.5)
    if world.fixed_lean:
        bias = np.array(world.fixed_lean)[:, None]
    noise = rng.normal(0, 1, n)
    if world.anchor == "equal group means":
        fitted = np.column_stack([np.ones(n), group])
        noise = noise - fitted @ np.linalg.lstsq(fitted, noise, rcond=None)[0]
    if world.anchor == "trusted":
        bias[: world.trusted] = 0
    scores = noise + world.gap * group.sum(axis=1)
    judge = np.repeat(np.arange(m), world.judgments)
    one = rng.integers(0, n, len(judge))
    two = (one + rng.integers(1, n, len(judge))) % n
    lean = (bias[judge] * (group[one] - group[two])).sum(axis=1)
    if world.tastes:
        taste = rng.normal(0, np.resize(world.tastes, (m, 1)), (m, n))
        lean = lean + taste[judge, one] - taste[judge, two]
    margin = sharpness[judge] * (scores[one] - scores[two] + lean) + world.seat
    # Davidson's model: the tie parameter is what a tie weighs between equals.
    weights = np.column_stack([np.exp(margin / 2), np.exp(-margin / 2), 0 * margin + world.ties])
    drawn = rng.random(len(judge)) * weights.sum(axis=1)
    second, tied = drawn > weights[:, 0], drawn > weights[:, :2].sum(axis=1)
    turned = second & ~tied
    # The last evaluator's votes are turned round at random, and all may be random once in a while.
    if world.flipped:
        turned ^= (judge == m - 1) & (rng.random(len(judge)) < world.flipped)
    if world.lapses:
        turned ^= rng.random(len(judge)) < world.lapses / 2
    given: dict[str, Any] = {
        "comparisons": np.where(turned[:, None], np.c_[two, one], np.c_[one, two]),
        "evaluators": judge,
        "sensitive_features": {f"attribute {i}": group[:, i] for i in range(c)},
        "anchor": list(range(world.trusted)) if world.anchor == "trusted" else world.anchor,
    }
    if world.ties:
        given["ties"] = tied
    if world.seat:
        given["seats"] = np.where(turned, "second", "first")
    return given, bias - bias.mean(axis=0) if world.anchor == "zero mean bias" else bias


def rates_of(fit: BiasedRanking, truth: np.ndarray, level: float = 0.05) -> Rates:
    tested = np.isfinite(fit.p)
    low, high = np.moveaxis(fit.bias_intervals(), -1, 0)
    covered = ((low <= truth) & (truth <= high))[tested].mean()
    unbiased, found = tested & (truth == 0), tested & (fit.q <= level)
    accused = (fit.p[unbiased] <= level).mean() if unbiased.any() else np.nan
    return Rates(
        covered=float(covered),
        accused=float(accused),
        false=float((found & (truth == 0)).sum() / max(1, found.sum())),
        anybody=float((found & (truth == 0)).any()),
        power=float(found[tested & (truth != 0)].mean()) if (tested & (truth != 0)).any() else 0.0,
        error=float((fit.bias - truth)[tested].mean()),
    )


def simulate(world: World, panels: int, seed: int = 20261117, **choices: Any) -> list[Rates]:
    rng, found = np.random.default_rng(seed), []
    for _ in range(panels):
        given, truth = draw(rng, world)
        found.append(rates_of(barp(**given, **choices), truth))
    return found


FLIPPED = "a quarter of the last one's votes turned round"
DIFFERENT = "sharpness of SD 0.6, groups differ by 0.8"
WORLDS = {
    "two trusted with sharpness 2, a judge with 0.8, groups differ by 1": World(
        sharpness=(2, 2, 0.8), trusted=2, judgments=3000, items=100, lean=0.0
    ),
    "sharpness 0.3 to 3, 300 judgments": World(),
    "sharpness 0.3 to 3, 30 judgments": World(judgments=30),
    "sharpness 0.3 to 3, 3,000 judgments": World(judgments=3000),
    "biases sum to zero": World(anchor="zero mean bias"),
    "biases sum to zero, 30 judgments": World(anchor="zero mean bias", judgments=30),
    "biases sum to zero, 3,000 judgments": World(anchor="zero mean bias", judgments=3000),
    "groups of equal means": World(anchor="equal group means", gap=0.0),
    "groups of equal means, 30 judgments": World(anchor="equal group means", gap=0.0, judgments=30),
    "groups of equal means, 3,000 judgments": World(
        anchor="equal group means", gap=0.0, judgments=3000
    ),
    "ties": World(ties=0.7),
    "a seat": World(seat=0.5),
    "two attributes": World(attributes=2, evaluators=8),
    "ties, a seat and two attributes, biases sum to zero": World(
        anchor="zero mean bias", ties=0.7, seat=0.5, attributes=2, evaluators=8
    ),
    "equal sharpness": World(lowest=1.0, highest=1.0),
    "equal sharpness, 30 judgments": World(lowest=1.0, highest=1.0, judgments=30),
    "groups do not differ": World(gap=0.0),
    FLIPPED: World(
        sharpness=(2, 2, 2), trusted=2, judgments=1000, items=100, lean=0.0, flipped=0.25
    ),
    DIFFERENT: World(spread=0.6, gap=0.8, judgments=1000),
}
TASTES = World(
    sharpness=(1.0,) * 10, tastes=0.7, anchor="equal group means", gap=0.0, lean=0.0, items=60
)
FEW_TASTES = World(sharpness=(2, 2, 2), tastes=0.7, trusted=2, judgments=1000, items=100, lean=0.0)
ONE_TASTE = replace(FEW_TASTES, tastes=(0.0, 0.0, 0.7))
LEANING_TASTE = replace(ONE_TASTE, fixed_lean=(0.0, 0.0, 0.5))
TABLE = {
    **WORLDS,
    "tastes": TASTES,
    "tastes of three evaluators": FEW_TASTES,
    "tastes of one evaluator": ONE_TASTE,
    "tastes of one evaluator who leans": LEANING_TASTE,
}
FIRST = ("two trusted with sharpness 2, a judge with 0.8, groups differ by 1", "biases sum to zero")


def check(found: list[Rates], least: float, most: float, *, level: float = 0.05) -> None:
    """Hold false alarms and discoveries to a level and coverage to a range, within three errors."""
    for name, low, high in (
        ("covered", least, most),
        ("accused", 0.0, level),
        ("false", 0.0, level),
    ):
        shares = np.array([getattr(one, name) for one in found])
        shares = shares[np.isfinite(shares)]
        if len(shares) < 2:  # in a thousand panels somebody may by chance be without a bias
            continue
        error = max(np.std(shares, ddof=1), 0.02) / np.sqrt(len(shares))
        assert low - 3 * error <= np.mean(shares) <= high + 3 * error, (name, np.mean(shares))


@pytest.mark.parametrize("name", FIRST)
def test_the_default_keeps_its_levels(name: str) -> None:
    check(simulate(WORLDS[name], 12), 0.93, 1.0)


@pytest.mark.parametrize("name", FIRST)
def test_equal_sharpness_does_not_where_evaluators_differ(name: str) -> None:
    """What the worlds above are for: taken for equally sharp, evaluators seem to lean."""
    found = simulate(WORLDS[name], 12, sharpness="equal")
    assert np.nanmean([one.covered for one in found]) < 0.8


def test_the_dull_are_not_taken_for_inverted_and_searches_come_to_rest() -> None:
    rng = np.random.default_rng(5)
    for _ in range(7):
        fit = barp(**draw(rng, World(judgments=3000))[0], sharpness="own")
        assert fit.converged
        assert fit.sharpness is not None
        assert not fit.sharpness.inverted.any()


@pytest.mark.slow
@pytest.mark.parametrize("name", [FIRST[0], FLIPPED, DIFFERENT])
def test_the_default_keeps_its_levels_in_a_thousand_panels(name: str) -> None:
    check(simulate(WORLDS[name], 1000), 0.93, 0.98)


@pytest.mark.slow
def test_with_tastes_hardly_anybody_is_accused_in_a_thousand_panels() -> None:
    """Errors that know of no tastes accuse somebody in 0.24 of panels."""
    check(simulate(TASTES, 1000), 0.93, 0.98)


@pytest.mark.slow
def test_with_tastes_of_three_evaluators_few_are_accused() -> None:
    check(simulate(FEW_TASTES, 500), 0.93, 0.98, level=0.06)


def check_errors(found: list[Rates]) -> None:
    """Hold the mean error of biases to zero, within three errors of it."""
    errors = np.array([one.error for one in found])
    assert abs(errors.mean()) < 3 * errors.std(ddof=1) / np.sqrt(len(errors))


def test_one_judge_with_tastes_beside_others_without_does_not_seem_to_lean() -> None:
    """Without tastes in the model its bias is 0.14 SDs too far toward the worse group."""
    found = simulate(ONE_TASTE, 40)
    check(found, 0.93, 1.0)
    check_errors(found)


@pytest.mark.slow
@pytest.mark.parametrize("world", [ONE_TASTE, LEANING_TASTE], ids=["unbiased", "leaning"])
def test_one_judge_with_tastes_is_accused_only_of_a_lean(world: World) -> None:
    """Without tastes in the model the unbiased judge is accused in 0.21 of panels."""
    found = simulate(world, 500)
    check(found, 0.93, 0.98, level=0.06)
    check_errors(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_own_sharpness_keeps_its_levels_in_a_thousand_panels(name: str) -> None:
    check(simulate(WORLDS[name], 1000, sharpness="own"), 0.93, 0.98)


def cover_scores(rng: Rng, items: int, anchor: Any) -> float:
    """Return the share of scores of few items covered, on the scale that fits them best."""
    scores, n = rng.normal(size=items), 1200
    one, judge = rng.integers(0, items, n), np.arange(n) % 3
    other = (one + rng.integers(1, items, n)) % items
    sharpness = np.array([2.0, 1.0, 0.5])[judge]
    won = rng.random(n) < 1 / (1 + np.exp(-sharpness * (scores[one] - scores[other])))
    pairs = np.where(won[:, None], np.column_stack([one, other]), np.column_stack([other, one]))
    group = np.arange(items) % 2
    fit = barp(pairs, evaluators=judge, sensitive_features=group, anchor=anchor, sharpness="own")
    truth = scores - scores.mean()
    if anchor == "equal group means":
        truth = scores - np.array([scores[group == 0].mean(), scores[group == 1].mean()])[group]
    scale = (fit.scores @ truth) / (truth @ truth)
    return float((np.abs(fit.scores - scale * truth) < 1.96 * fit.standard_errors).mean())


def check_few_items(items: int, anchor: Any, panels: int) -> None:
    rng = np.random.default_rng(5)
    covered = np.array([cover_scores(rng, items, anchor) for _ in range(panels)])
    # Two numbers of six are fitted to the truth, and errors of so few are known roughly.
    assert covered.mean() > 0.9 - 3 * covered.std() / np.sqrt(panels)


def test_scores_of_few_items_have_errors() -> None:
    check_few_items(6, "equal group means", panels=15)


@pytest.mark.slow
@pytest.mark.parametrize("items", [6, 12, 60])
@pytest.mark.parametrize("anchor", ["equal group means", [0]], ids=str)
def test_scores_are_covered_however_few_the_items(items: int, anchor: Any) -> None:
    check_few_items(items, anchor, panels=80)


def tell(found: list[Rates]) -> str:
    """Return the mean of each share over panels, with its standard error."""
    told = []
    for name in (field.name for field in fields(Rates)):
        shares = np.array([getattr(one, name) for one in found])
        shares = shares[np.isfinite(shares)]
        error = np.std(shares, ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
        told.append(f"{name} {np.mean(shares) if len(shares) else np.nan:.3f} ({error:.3f})")
    return ", ".join(told)


if __name__ == "__main__":
    panels, kind, *asked = sys.argv[1:]
    for world in asked or TABLE:
        print(f"{world}: {tell(simulate(TABLE[world], int(panels), sharpness=kind))}", flush=True)
