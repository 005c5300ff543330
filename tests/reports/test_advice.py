"""What to do about a finding: on every page, chosen by what was asked and what was found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from comparity import barp, impact_ratios, separation
from comparity.reports.advice import AGAIN, GATE, JUSTIFIED, NO_CLAIM, REMEDIES, next_steps
from comparity.reports.page import page
from comparity.results.audit import Audit

# What each notion is called, and the beginning of the remedy that is meant for it.
REMEDY = {
    "separation": "Find out where the gap",
    "comparative separation (standardised)": "Look at pairs in which the model disagrees",
    "pairwise equal opportunity (raw)": "Find out why the score",
    "pairwise statistical parity": "Different scores",
    "pairwise agreement with the unadjusted panel": "Look at the pairs",
    "differential parity": "The two differ",
    "leans of judges": "Show every pair",
}


@pytest.mark.parametrize("notion", REMEDY)
def test_a_violation_has_the_remedy_of_its_own_question(audit: Audit, notion: str) -> None:
    first, remedy, last = next_steps(replace(audit, notion=notion))
    assert (first, last) == (JUSTIFIED, AGAIN)
    assert remedy.startswith(REMEDY[notion])


def test_every_remedy_is_the_one_of_some_question() -> None:
    begun = [[one.startswith(start) for start in REMEDY.values()] for one in REMEDIES.values()]
    assert np.array(begun).sum(1).tolist() == [1] * len(REMEDIES)


def test_what_is_open_is_not_to_be_called_harmless(audit: Audit) -> None:
    steps = [*next_steps(replace(audit, finding="undecided"))]
    assert steps[0] == NO_CLAIM
    assert GATE not in steps


def test_pages_tell_what_to_do_and_a_terminal_does_not(audit: Audit, harmless_audit: Audit) -> None:
    assert "What to do" in page(audit)
    assert "comparity gate" in page(harmless_audit)
    assert "What to do" not in str(audit)


def test_impact_ratios_and_biases_have_steps_of_their_own() -> None:
    rng = np.random.default_rng(3)
    group = np.array(["f", "m"])[rng.integers(0, 2, 200)]
    assert "selected, not why" in page(
        impact_ratios(rng.integers(0, 2, 200), sensitive_features=group)
    )
    pairs = np.array([rng.choice(200, 2, replace=False) for _ in range(400)])
    judged = np.array(["a", "b"])[rng.integers(0, 2, 400)]
    assert "fixes the level of the biases" in page(
        barp(pairs, evaluators=judged, sensitive_features=group)
    )


def test_a_group_without_data_is_said_to_need_data() -> None:
    label, sex = [1, 1, 1, 0] * 20, ["f", "f", "m", "f"] * 20
    audit = separation(label, label, sensitive_features=sex)
    assert any("could not be tested" in step for step in next_steps(audit))
