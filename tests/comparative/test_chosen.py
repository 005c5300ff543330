"""Judgments of chosen pairs, weighted: against sums by hand, and in studies of known truth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars
import pytest

from comparity import choose_pairs
from comparity.comparative.audit import audit_files
from comparity.errors import OptionError
from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED, VIOLATED

ASKED = {"score": "model", "sensitive": ("sex",), "hypotheses": "across"}


def adaptive_study(folder: Path, seed: int, budget: int = 300) -> tuple[Path, Path]:
    """Write three rounds of answers to pairs of 80 items, the later ones chosen by the earlier.

    Groups are alike, so that no gap across them exists.
    """
    rng = np.random.default_rng(seed)
    quality, sex = rng.normal(size=80), np.array(["f", "m"] * 40)
    model = quality + 0.7 * rng.normal(size=80)
    rounds: list[polars.DataFrame] = []
    answers = np.zeros((0, 2), np.int64)
    for _ in range(3):
        given = answers if len(answers) else None
        asked = choose_pairs(
            80, goal="rank", budget=budget, given=given, swapped_share=0, seed=seed
        )
        left, right = asked.left.astype(int), asked.right.astype(int)
        wins = rng.random(budget) < 1 / (1 + np.exp(2 * (quality[right] - quality[left])))
        both = np.column_stack([left, right])
        answers = np.vstack([answers, np.where(wins[:, None], both, both[:, ::-1])])
        rounds.append(
            polars.DataFrame(
                {
                    "left": left,
                    "right": right,
                    "how": asked.how.astype(str),
                    "probability": asked.probability.astype(float),
                    "winner": np.where(wins, "left", "right"),
                }
            )
        )
    polars.concat(rounds).write_csv(folder / "answers.csv")
    items = polars.DataFrame({"item": np.arange(80), "sex": sex, "model": model})
    items.write_csv(folder / "items.csv")
    return folder / "answers.csv", folder / "items.csv"


def weighted_rates(answers: Path, items: Path) -> dict[str, float]:
    """Return agreement by cell with weights of one over the probability, row by row."""
    table = polars.read_csv(items)
    sex, model = table["sex"].to_list(), table["model"].to_list()
    sums: dict[str, list[float]] = {}
    for row in polars.read_csv(answers).iter_rows(named=True):
        sides = (row["left"], row["right"])
        better, worse = sides if row["winner"] == "left" else sides[::-1]
        cell = sums.setdefault(f"{sex[better]} > {sex[worse]}", [0.0, 0.0])
        cell[0] += (model[better] > model[worse]) / row["probability"]
        cell[1] += 1 / row["probability"]
    return {cell: hits / trials for cell, (hits, trials) in sums.items()}


def test_rates_are_weighted_by_inverse_probabilities(tmp_path: Path) -> None:
    answers, items = adaptive_study(tmp_path, 1)
    audit = audit_files(answers, items, **ASKED)
    expected = weighted_rates(answers, items)
    assert {rate.of: rate.rate for rate in audit.rates} == pytest.approx(expected)
    assert audit.tests[0].gap == pytest.approx(expected["f > m"] - expected["m > f"])
    assert audit.n == 900
    assert "chosen by earlier answers. Judgments are weighted" in " ".join(audit.notes)
    assert Audit.from_dict(audit.to_dict()).to_dict() == audit.to_dict()


def test_a_note_says_when_score_ties_would_change_the_weighted_finding(tmp_path: Path) -> None:
    """Coarse scores of one group: as misses their ties are a gap, as half hits they are none."""
    answers, items = adaptive_study(tmp_path, 2)
    model = polars.col("model")
    coarse = polars.when(polars.col("sex") == "f").then(model.round()).otherwise(model)
    polars.read_csv(items).with_columns(model=coarse).write_csv(items)
    asked = ASKED | {"hypotheses": "within"}
    for score_ties, finding in (("disagree", VIOLATED), ("half", UNDECIDED)):
        audit = audit_files(answers, items, score_ties=score_ties, **asked)
        assert (audit.finding, audit.ties.change_finding) == (finding, True)
    alike = audit_files(answers, items, **ASKED)
    assert alike.ties.scores
    assert not alike.ties.change_finding


def test_equal_probabilities_weigh_nothing(tmp_path: Path) -> None:
    answers, items = adaptive_study(tmp_path, 2)
    table = polars.read_csv(answers).with_columns(probability=polars.lit(0.01))
    table.write_csv(answers)
    table.drop("how", "probability").write_csv(tmp_path / "plain.csv")
    weighted, plain = (
        audit_files(path, items, **ASKED) for path in (answers, tmp_path / "plain.csv")
    )
    for one, two in zip(weighted.tests, plain.tests, strict=True):
        assert one.gap == pytest.approx(two.gap)
        assert one.standard_error == pytest.approx(two.standard_error)
        assert one.n == two.n


def test_looks_at_any_moment_leave_chosen_pairs_out(tmp_path: Path) -> None:
    answers, items = adaptive_study(tmp_path, 3)
    audit = audit_files(answers, items, anytime=True, **ASKED)
    drawn = polars.read_csv(answers).filter(polars.col("how") == "random")
    assert audit.n == len(drawn)
    assert "are left out" in " ".join(audit.notes)


def test_without_probabilities_chosen_pairs_are_left_out(tmp_path: Path) -> None:
    answers, items = adaptive_study(tmp_path, 3)
    table = polars.read_csv(answers).drop("probability")
    table.write_csv(answers)
    table.filter(polars.col("how") == "random").drop("how").write_csv(tmp_path / "drawn.csv")
    audit = audit_files(answers, items, **ASKED)
    alone = audit_files(tmp_path / "drawn.csv", items, **ASKED)
    assert audit.tests == alone.tests
    assert "are left out" in " ".join(audit.notes)


def test_impossible_probabilities_are_refused(tmp_path: Path) -> None:
    answers, items = adaptive_study(tmp_path, 4)
    table = polars.read_csv(answers).with_columns(probability=polars.lit(0.0))
    table.write_csv(answers)
    with pytest.raises(OptionError, match="chances above 0"):
        audit_files(answers, items, **ASKED)


def false_alarms(folder: Path, studies: int) -> Iterator[bool]:
    for seed in range(studies):
        audit = audit_files(*adaptive_study(folder, seed), **ASKED)
        yield audit.finding == "violated"


@pytest.mark.long
@pytest.mark.parametrize("studies", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_weighted_audits_of_chosen_pairs_keep_their_error_rate(
    tmp_path: Path, studies: int
) -> None:
    """Items are drawn anew in each study; three binomial standard errors."""
    rate = np.mean(list(false_alarms(tmp_path, studies)))
    assert rate <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / studies)
