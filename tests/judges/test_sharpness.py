"""Whose sharpness verdicts tell, and that nothing is said of leans where they do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from comparity.judges.leans import find_leans
from comparity.judges.log import JudgeLog
from comparity.judges.quality_panel import QualityPanel
from comparity.ranking.likelihood.lot_likelihood import SHARPNESS_SD, Lots
from comparity.ranking.lots import fit_lots
from tests.judges.panels import Panel, draw

ONCE = Panel(
    **{"prompts": 60, "answers": 2, "pairs": 1, "sharpness": (0.3, 1.0)},
    **{"lean": (0.0, 0.0), "seat": (0.0, 0.0), "worth": 1.0},
)
TWICE = replace(ONCE, both_orders=True)
THREE = replace(ONCE, sharpness=(0.7, 1.0, 1.5), lean=(0.0,) * 3, seat=(0.0,) * 3)


def told(log: JudgeLog) -> list[bool]:
    return QualityPanel.of(log).is_sharpness_told.tolist()


def drawn(panel: Panel) -> JudgeLog:
    return draw(panel, np.random.default_rng(1))


def test_two_who_exchange_their_sharpness_give_the_same_votes() -> None:
    at, weight = np.polynomial.hermite_e.hermegauss(60)
    lead = np.sqrt(2) * at

    def both_first(one: float, two: float) -> float:
        """Return how often both pick the first of two answers, whose qualities are normal."""
        return float(weight @ (expit(one * lead) * expit(two * lead)) / weight.sum())

    # Each alone picks it in half of the pairs, so this number is all that their votes tell.
    assert both_first(0.3, 1.0) == pytest.approx(both_first(1.0, 0.3), abs=1e-12)
    # So do many others, whose sharpness has about the same product.
    other = brentq(lambda sharpness: both_first(0.5, sharpness) - both_first(0.3, 1.0), 0.1, 2.0)
    assert 0.5 * other == pytest.approx(0.3, abs=0.05)


def test_two_judges_of_one_vote_each_tell_nobodys_sharpness_and_no_lean() -> None:
    found = find_leans(drawn(ONCE))
    assert (found.estimates, found.sharpness, dict(found.quality)) == ((), (), {})
    (note,) = found.notes
    assert "is not known: people, j1. How often two agree" in note


def test_a_third_judge_or_several_votes_of_people_tell_it() -> None:
    assert told(drawn(ONCE)) == [False, False]
    assert told(drawn(THREE)) == [True, True, True]
    assert told(drawn(TWICE)) == [True, True]
    # The opinions of a judge are one more unknown; those of people are none.
    log = drawn(TWICE)
    again = log.judge * len(log.prompts) + log.prompt
    first = np.isin(np.arange(len(log)), np.unique(again, return_index=True)[1])
    assert told(log.take(first | (log.judge == 0))) == [True, True]
    assert told(log.take(first | (log.judge == 1))) == [False, False]
    # Two alone share the SD of their opinions, which each has to tell.
    assert told(drawn(replace(TWICE, people=0))) == [True, True]
    assert told(replace(log.take(first | (log.judge == 1)), people=())) == [False, False]


def test_judges_who_share_no_prompts_are_no_third() -> None:
    log = drawn(THREE)
    half = log.prompt < 30
    chain = log.take((log.judge == 0) | ((log.judge == 1) & half) | ((log.judge == 2) & ~half))
    assert told(chain) == [False, False, False]


def test_a_judge_apart_from_the_others_is_left_out() -> None:
    panel = replace(THREE, prompts=90, sharpness=(1.0,) * 4, lean=(0.0,) * 4, seat=(0.0,) * 4)
    log = drawn(panel)
    apart = log.take(np.where(log.judge == 3, log.prompt >= 45, log.prompt < 45))
    found = find_leans(apart)
    assert [one.judge for one in found.sharpness] == ["j0", "j1", "j2"]
    assert any("is not known: j3." in note for note in found.notes)


@pytest.mark.long
def test_where_sharpness_is_told_intervals_hold() -> None:
    panel, held = replace(THREE, prompts=275), []
    for seed in range(20):
        sharp = find_leans(draw(panel, np.random.default_rng(seed))).sharpness
        ends = zip(panel.sharpness, sharp, strict=True)
        held += [one.interval.low <= expit(true) <= one.interval.high for true, one in ends]
    # 60 intervals of 95%: three binomial SDs.
    assert np.mean(held) >= 0.95 - 3 * (0.95 * 0.05 / 60) ** 0.5


@pytest.mark.parametrize("seed", range(6))
def test_errors_on_a_ridge_are_those_of_the_prior(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 250
    won = rng.random((2, n)) < 0.5
    items = 2 * np.arange(n)
    better, worse = (np.concatenate([items + (won[k] == way) for k in (0, 1)]) for way in (0, 1))
    data = Lots.of(
        better,
        worse,
        np.repeat([0, 1], n),
        np.where(won, 1.0, -1.0).reshape(-1, 1),
        tied=np.zeros(2 * n, dtype=bool),
        cluster=np.tile(np.arange(n), 2),
    )
    # Two who flip coins tell that the product of their sharpness is small, and not whose it is.
    errors = fit_lots(data, 2).sharpness_errors
    assert max(errors) > SHARPNESS_SD / 4
