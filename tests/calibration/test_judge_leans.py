"""Calibration of leans: a judge who is merely dull is not accused more often than was promised.

`python -m tests.calibration.test_judge_leans 1000` runs every world and prints the table of
docs/judges.md.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from comparity.inference.multiplicity import benjamini_hochberg
from comparity.judges.leans import find_leans
from comparity.judges.wins import LeanEstimate
from tests.judges.panels import MAKERS, Panel, draw

UNEQUAL = Panel(
    **{"prompts": 50, "answers": 4, "pairs": 3, "both_orders": True, "worth": 1.0},
    **{"sharpness": (2.0, 0.8, 1.5), "lean": (0.0, 0.0, 0.3), "seat": (0.0, 0.3, 0.6)},
    difficulty=0.6,
)
PAIR = replace(UNEQUAL, answers=2, pairs=1)
WORLDS = {
    "a dull judge beside sharp people": Panel(
        **{"prompts": 50, "answers": 5, "pairs": 4, "both_orders": True, "worth": 1.0},
        **{"sharpness": (2.0, 0.8), "lean": (0.0, 0.0), "seat": (0.0, 0.0)},
    ),
    "a dull and a leaning judge beside people": Panel(
        **{"prompts": 50, "answers": 5, "pairs": 4, "both_orders": True, "worth": 1.0},
        **{"sharpness": (2.0, 0.8, 1.5), "lean": (0.0, 0.0, 0.5), "seat": (0.0, 0.3, 0.6)},
    ),
    "a judge who prefers its own family": Panel(
        **{"prompts": 60, "answers": 4, "pairs": 3, "both_orders": True, "worth": 1.0},
        **{"sharpness": (2.0, 0.8, 1.5), "lean": (0.0, 0.0, 0.3), "seat": (0.0, 0.3, 0.0)},
        own=(0.0, 0.0, 0.5),
    ),
    "two judges alone": Panel(
        **{"prompts": 60, "answers": 4, "pairs": 3, "both_orders": True, "people": 0},
        **{"sharpness": (2.0, 0.8), "lean": (0.0, 0.0), "seat": (0.0, 0.3), "worth": 1.0},
    ),
    "a right verdict": Panel(
        **{"prompts": 60, "answers": 3, "pairs": 3, "people": 0, "truth": True},
        **{"sharpness": (1.5, 0.8), "lean": (0.0, 0.5), "seat": (0.0, 0.3), "worth": 1.0},
    ),
    "six judges, two of whom lean": Panel(
        **{"prompts": 50, "answers": 4, "pairs": 3, "both_orders": True, "worth": 1.0},
        **{"sharpness": (2.0, 0.8, 1.5, 1.0, 0.8, 1.5, 1.0)},
        **{"lean": (0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 0.8), "seat": (0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 0)},
    ),
    "own opinions beside people": replace(UNEQUAL, taste=(0.0, 1.0, 0.5)),
    "own opinions beside people, 200": replace(PAIR, prompts=200, taste=(0.0, 1.0, 0.5)),
    "a sharp judge with own opinions, 200": replace(
        UNEQUAL, prompts=200, sharpness=(2.0, 2.0, 1.5), taste=(0.0, 1.0, 0.5)
    ),
    "one judgment of each prompt, own opinions": replace(
        PAIR, prompts=1000, both_orders=False, sharpness=(2.0, 2.0, 1.5), taste=(0.0, 0.5, 0.5)
    ),
    "own opinions, own family, unequal answerers": Panel(
        **{"prompts": 60, "answers": 4, "pairs": 3, "both_orders": True, "worth": 1.0},
        **{"sharpness": (2.0, 0.8, 1.5), "lean": (0.0, 0.0, 0.3), "seat": (0.0, 0.3, 0.0)},
        **{"own": (0.0, 0.0, 0.5), "taste": (0.0, 0.7, 1.0), "apart": 1.0},
    ),
    "own opinions of three judges alone": Panel(
        **{"prompts": 60, "answers": 4, "pairs": 3, "both_orders": True, "people": 0},
        **{"sharpness": (2.0, 0.8, 1.5), "lean": (0.0, 0.0, 0.3), "seat": (0.0, 0.3, 0.0)},
        **{"worth": 1.0, "taste": (0.5, 0.5, 0.8)},
    ),
    "unequal prompts, 50": UNEQUAL,
    "very unequal prompts, 50": replace(UNEQUAL, difficulty=1.0),
    **{
        f"{words} prompts, {n:,}": replace(PAIR, prompts=n, difficulty=spread)
        for n in (200, 1000)
        for words, spread in (("equal", 0.0), ("unequal", 0.6), ("very unequal", 1.0))
    },
}
QUICK = (
    "a dull and a leaning judge beside people",
    "own opinions beside people",
    "a judge who prefers its own family",
    "a right verdict",
    "very unequal prompts, 200",
)


class Outcome(NamedTuple):
    """What one panel showed.

    `covered` has a list for each kind of lean; `accused` says of every lean that is none whether
    its p value is small; `false_share` is the share of false ones among leans with a small q value,
    and `any_false` whether there was one.
    """

    covered: dict[str, list[bool]]
    accused: list[bool]
    false_share: float
    any_false: bool


def truth_of(panel: Panel, one: LeanEstimate) -> float:
    """Return a lean in logits."""
    k = 0 if one.judge == "people" else int(one.judge[1:])
    if one.kind == "seat":
        return panel.seat[k] - (panel.seat[0] if one.against else 0.0)
    in_quality = panel.lean[k] if one.kind == "length" else panel.own[k]
    return panel.sharpness[k] * in_quality


def run(panel: Panel, rng: np.random.Generator) -> Outcome:
    """Draw a panel, and compare what is told with the truth."""
    found = find_leans(draw(panel, rng), families=MAKERS if panel.own else {}).estimates
    covered: dict[str, list[bool]] = {}
    truths = np.array([truth_of(panel, one) for one in found])
    for one, true in zip(found, truths.tolist(), strict=True):
        low, high = (0.5 + end for end in one.pivot.interval(0.95)[:2])
        covered.setdefault(one.kind, []).append(low <= expit(true) <= high)
    p = np.array([one.p_value for one in found])
    told = benjamini_hochberg(p) < 0.05
    false = told & (truths == 0)
    share = float(false.sum() / max(1, told.sum()))
    return Outcome(covered, (p[truths == 0] < 0.05).tolist(), share, bool(false.any()))


def simulate(panel: Panel, rng: np.random.Generator, runs: int) -> list[Outcome]:
    """Return what as many panels showed."""
    return [run(panel, rng) for _ in range(runs)]


def coverage(outcomes: list[Outcome], kind: str) -> NDArray[np.bool_]:
    """Return whether each interval of a kind of lean covers."""
    return np.array([hit for one in outcomes for hit in one.covered.get(kind, [])])


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        *((name, 4) for name in QUICK),
        # A panel of a thousand prompts takes ten times as long as the others.
        *(
            pytest.param(name, 60 if world.prompts == 1000 else 250, marks=pytest.mark.slow)
            for name, world in WORLDS.items()
        ),
    ],
)
def test_leans_are_covered_and_the_dull_are_not_accused(
    name: str, runs: int, rng: np.random.Generator
) -> None:
    outcomes = simulate(WORLDS[name], rng, runs)
    error = (0.05 * 0.95) ** 0.5
    for kind in {kind for one in outcomes for kind in one.covered}:
        hits = coverage(outcomes, kind)
        assert hits.mean() >= 0.93 - 3.29 * error / len(hits) ** 0.5
    accused = [one for outcome in outcomes for one in outcome.accused]
    assert np.mean(accused) <= 0.06 + 3.29 * error / len(accused) ** 0.5
    shares = np.array([one.false_share for one in outcomes])
    assert shares.mean() <= 0.05 + 3.29 * max(shares.std(), 0.05) / runs**0.5


def print_table(runs: int, wanted: list[str]) -> None:
    """Print coverage by kind, how often p and q accuse falsely, and the rate of false findings."""
    kinds = ("length", "seat", "self")
    for name in wanted or WORLDS:
        outcomes = simulate(WORLDS[name], np.random.default_rng(20260131), runs)
        hits = [coverage(outcomes, kind) for kind in kinds]
        rates = [f"{one.mean():.3f}" if len(one) else "" for one in hits]
        accused = [one for outcome in outcomes for one in outcome.accused]
        mean = [
            np.mean([one.false_share for one in outcomes]),
            np.mean([one.any_false for one in outcomes]),
        ]
        told = " | ".join([*rates, f"{np.mean(accused):.3f}", *(f"{one:.3f}" for one in mean)])
        print(f"| {name} | {told} |", flush=True)


if __name__ == "__main__":
    print_table(int(sys.argv[1]), sys.argv[2:])
