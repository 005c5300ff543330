"""Calibration: false alarms with few evaluators, who lean or not, of equal shares or not.

No world treats groups differently on average. A rate p measured in r repetitions has the standard
error sqrt(p (1 - p) / r). Before the signs of evaluators were turned and items had the normal
distribution, 5 evaluators of shared items rejected equality within groups in 0.000 to 0.008, and 8
evaluators in two camps the equality across groups in 0.07 to 0.09.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.pairs import Cell
from comparity.inference.dyadic import compare_cells
from tests.calibration import worlds

ACROSS = (Cell("1", "0"), Cell("0", "1"))
WITHIN = (Cell("1", "1"), Cell("0", "0"))
PROMISED = 0.06


def rejects(counts: JudgedPairs, cells: tuple[Cell, Cell], *, squares: bool = False) -> bool:
    """Whether equality is rejected at 0.05; by squares of evaluators' sums alone where asked."""
    sharing = counts.shared_counts().sharing_moments()
    if squares:
        sharing = replace(sharing, few=None)
    return compare_cells(sharing, *cells, null="").p_value <= 0.05


def share(outcomes: list[bool]) -> float:
    return sum(outcomes) / len(outcomes)


def slack(repetitions: int) -> float:
    return float(3 * np.sqrt(0.05 * 0.95 / repetitions))


LEANING = [
    (3, "normal", False, None),
    (5, "normal", False, 150),
    (4, "normal", True, 150),
    (6, "camps", False, None),
    (6, "camps", True, 150),
    (8, "camps", False, None),
    (8, "normal", True, None),
    (12, "camps", False, 150),
    (20, "camps", False, None),
]


@pytest.mark.parametrize(("number", "leans", "uneven", "n_items"), LEANING)
def test_leans_raise_no_more_false_alarms_than_promised(
    number: int,
    leans: str,
    uneven: bool,
    n_items: int | None,
    repetitions: int,
    rng: np.random.Generator,
) -> None:
    world = {"leans": leans, "uneven": uneven, "n_items": n_items}
    draws = (worlds.opinionated_panel(number, rng, **world) for _ in range(repetitions // 2))
    rate = share([rejects(counts, ACROSS) for counts in draws])
    assert rate <= PROMISED + slack(repetitions // 2)


@pytest.mark.parametrize("uneven", [False, True], ids=["equal shares", "uneven shares"])
@pytest.mark.parametrize("number", [3, 5, 8])
def test_items_that_matter_more_than_evaluators_keep_their_power(
    number: int, uneven: bool, repetitions: int, rng: np.random.Generator
) -> None:
    """What items add is known well, so that few evaluators need not make the test timid."""
    found, timid = [], []
    for _ in range(repetitions // 2):
        counts = worlds.opinionated_panel(number, rng, leans="none", uneven=uneven)
        found.append(rejects(counts, WITHIN))
        timid.append(rejects(counts, WITHIN, squares=True))
    assert 0.015 < share(found) <= PROMISED + slack(repetitions // 2)
    assert share(timid) < share(found)


def test_signs_of_eight_evaluators_see_two_camps(
    repetitions: int, rng: np.random.Generator
) -> None:
    found, by_squares = [], []
    for _ in range(repetitions):
        counts = worlds.opinionated_panel(8, rng, leans="camps", n_items=None, n_pairs=800)
        found.append(rejects(counts, ACROSS))
        by_squares.append(rejects(counts, ACROSS, squares=True))
    assert share(found) <= PROMISED + slack(repetitions)
    assert share(by_squares) > share(found)


@pytest.mark.parametrize(("number", "expected"), [(3, 0.25), (4, 0.125), (5, 0.0625)])
def test_two_camps_of_fewer_evaluators_raise_the_alarms_that_the_note_says(
    number: int, expected: float, repetitions: int, rng: np.random.Generator
) -> None:
    draws = (
        worlds.opinionated_panel(number, rng, leans="camps", n_items=None, n_pairs=1200)
        for _ in range(repetitions // 2)
    )
    rate = share([rejects(counts, ACROSS) for counts in draws])
    error = np.sqrt(expected * (1 - expected) / (repetitions // 2))
    assert rate == pytest.approx(expected, abs=3.5 * error + 0.01)
