"""A gate that is run on every batch of judgments, with findings that hold at any moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from comparity.gate.check import check

POLICY = """
undecided = "{undecided}"

[[audit]]
name = "pairs"
notion = "comparative"
comparisons = "batch.csv"
items = "items.csv"
score = "model"
sensitive = "sex"
hypotheses = "across"
anytime = true
state = "audit.state"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A policy, and items whose scores are too low for one group."""
    rows = [f"{k},{'fm'[k % 2]},{k // 2 + 30 * (k % 2)}" for k in range(200)]
    (tmp_path / "items.csv").write_text("\n".join(["item,sex,model", *rows]))
    (tmp_path / "policy.toml").write_text(POLICY.format(undecided="allow"))
    return tmp_path


def write_batch(folder: Path, seed: int, n: int) -> None:
    """Write judgments by the quality ``k // 2`` of items ``k`` and ``l`` of both groups."""
    pairs = np.random.default_rng(seed).integers(0, 100, (n, 2))
    items = [(2 * a, 2 * b + 1) if a > b else (2 * b + 1, 2 * a) for a, b in pairs]
    rows = [f"{better},{worse}" for better, worse in items]
    (folder / "batch.csv").write_text("\n".join(["better,worse", *rows]))


def test_it_passes_until_a_gap_is_found_and_keeps_its_state_beside_the_policy(folder: Path) -> None:
    write_batch(folder, 0, 30)
    first = check(folder / "policy.toml")
    assert first.passed
    assert first["pairs"].reason == "too early for a first look, and the policy allows to wait"
    assert (folder / "audit.state").exists()
    for seed in range(1, 4):
        write_batch(folder, seed, 100)
        last = check(folder / "policy.toml")
    assert (last.passed, last["pairs"].finding) == (False, "violated")


def test_a_policy_that_wants_a_decision_does_not_wait(folder: Path) -> None:
    (folder / "policy.toml").write_text(POLICY.format(undecided="fail"))
    write_batch(folder, 0, 30)
    assert check(folder / "policy.toml")["pairs"].reason.startswith("nothing could be tested")


def test_a_kind_of_pairs_that_never_came_is_no_reason_to_wait(folder: Path) -> None:
    rows = [f"{2 * k + 2},{2 * k}" for k in range(40)]
    (folder / "batch.csv").write_text("\n".join(["better,worse", *rows, "1,0"]))
    assert not check(folder / "policy.toml").passed
