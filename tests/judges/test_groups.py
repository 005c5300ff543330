"""Groups of judges, against Welch's test over judges and sums over pairs in plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_ind

from comparity import audit_judges
from comparity.errors import (
    FewJudgesError,
    JudgeInTwoGroupsError,
    MissingColumnError,
    OptionError,
    UnknownJudgeError,
)
from comparity.judges.judge_contrasts import _gap


def battles(first_wins: dict[str, list[bool]], *, shared: bool) -> list[dict[str, Any]]:
    """Return battles of two models by judge; prompts are shared by all judges, or by none."""
    return [
        {
            **{"question_id": f"{'' if shared else judge} {place}", "judge": judge, "turn": 1},
            **{"model_a": "xy"[place % 2], "model_b": "yx"[place % 2]},
            "winner": "model_a" if won else "model_b",
        }
        for judge, row in first_wins.items()
        for place, won in enumerate(row)
    ]


def drawn(seed: int, judges: int, judgments: int) -> dict[str, list[bool]]:
    rng = np.random.default_rng(seed)
    chance = rng.beta(3, 2, judges)
    return {f"j{k}": (rng.random(judgments) < chance[k]).tolist() for k in range(judges)}


def test_judges_with_their_own_prompts_are_compared_by_welch() -> None:
    won = drawn(1, 14, 30)
    groups = {name: "women" if int(name[1:]) < 6 else "men" for name in won}
    audit = audit_judges(battles(won, shared=False), judges=groups, by="sex")
    (gap,) = (one for one in audit.judge_groups if one.what == "x wins")
    assert (gap.by, gap.group, gap.judges, gap.other_judges) == ("sex", "men", 8, 6)
    # x is shown first in every other battle.
    x_won = {name: np.mean(np.array(row) == (np.arange(30) % 2 == 0)) for name, row in won.items()}
    means = {side: [x_won[j] for j in won if groups[j] == side] for side in ("men", "women")}
    welch = ttest_ind(means["men"], means["women"], equal_var=False)
    assert_allclose(gap.p_value, welch.pvalue)
    assert_allclose(gap.interval[:2], welch.confidence_interval(0.95))
    assert "Judges by sex" in str(audit)


def gap_of(hits: np.ndarray, side: np.ndarray) -> float:
    return float(hits[side].mean() - hits[~side].mean())


def left_out(hits: np.ndarray, side: np.ndarray, clusters: np.ndarray) -> float:
    """Return the variance of a gap by the jackknife: each cluster is left out in turn."""
    names = np.unique(clusters)
    gaps = [gap_of(hits[clusters != one], side[clusters != one]) for one in names]
    return (len(names) - 1) / len(names) * np.sum((np.array(gaps) - gap_of(hits, side)) ** 2)


def test_variances_are_those_of_leaving_out_judges_and_prompts() -> None:
    rng = np.random.default_rng(2)
    judge, prompt = np.repeat(np.arange(8), 20), np.tile(np.arange(20), 8)
    side = judge < 3
    hits = rng.random(160) < np.where(rng.random(20) < 0.5, 0.85, 0.2)[prompt]
    found = _gap(hits, side, judge.astype(np.int32), prompt.astype(np.int32), 0.95)
    assert found is not None
    rates = hits[side].mean(), hits[~side].mean()
    added = np.where(side, (hits - rates[0]) / 60, -(hits - rates[1]) / 100)
    by_judge = sum(
        n / (n - 1) * np.sum(np.bincount(judge[one], added[one]) ** 2)
        for one, n in ((side, 3), (~side, 5))
    )
    by_prompt, by_both = left_out(hits, side, prompt), left_out(hits, side, np.arange(160))
    expected = max(by_judge + by_prompt - by_both, by_judge, by_prompt)
    assert_allclose(found.standard_error**2, expected)
    assert found.gap == pytest.approx(rates[0] - rates[1])


def test_groups_that_differ_by_prompt_are_not_accused_on_a_few_prompts() -> None:
    """Which group says more depends on the prompt: over prompts like these they are alike."""
    rng, found, studies = np.random.default_rng(5), 0, 300
    judge, prompt = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
    side = judge < 20
    for _ in range(studies):
        chance = rng.choice([0.35, 0.65], (5, 2))[prompt, side.astype(int)]
        gap = _gap(rng.random(200) < chance, side, judge, prompt, 0.95)
        assert gap is not None
        found += gap.p_value < 0.05
    # Three binomial standard errors above 0.05.
    assert found / studies < 0.05 + 3 * np.sqrt(0.05 * 0.95 / studies)


def test_groups_come_from_a_frame_and_more_than_two_are_each_compared_with_the_rest() -> None:
    won = drawn(3, 12, 20)
    table = pd.DataFrame({"judge": [*won, "nobody"], "town": ["a", "b", "c", "d"] * 3 + ["a"]})
    table.loc[[3, 7], "town"] = None
    audit = audit_judges(battles(won, shared=True), judges=table, by="town")
    first = [one for one in audit.judge_groups if one.what == "x wins"]
    # Of town d one judge is left, too few to say anything of others there.
    assert [(one.group, one.judges, one.other_judges) for one in first] == [
        *(("a", 3, 7), ("b", 3, 7), ("c", 3, 7))
    ]
    assert all(one.p_adjusted >= one.p_value for one in audit.judge_groups)


def test_a_judge_in_two_groups_is_an_error_that_names_the_rows() -> None:
    rows = battles(drawn(4, 6, 10), shared=True)
    names = [f"j{k}" for k in range(6)]
    groups = ["a", "a", "a", "b", "b", "b"]
    twice = pd.DataFrame({"judge": [*names, "j1"], "sex": [*groups, "b"]})
    with pytest.raises(JudgeInTwoGroupsError, match="'a' in data row 2 and 'b' in data row 7"):
        audit_judges(rows, judges=twice, by="sex")
    same = pd.DataFrame({"judge": [*names, "j1"], "sex": [*groups, "a"]})
    assert audit_judges(rows, judges=same, by="sex").judge_groups


def test_judges_without_a_group_are_counted() -> None:
    rows = battles(drawn(4, 8, 10), shared=True)
    table = pd.DataFrame({"judge": [f"j{k}" for k in range(7)], "sex": [*"aaabbb", None]})
    for judges in (table, dict(zip(table["judge"], table["sex"], strict=True))):
        audit = audit_judges(rows, judges=judges, by="sex")
        (note,) = (one for one in audit.notes if "'sex'" in one)
        assert note.startswith("2 of 8 judges (20 judgments) have no 'sex'")
        assert "'j6', 'j7'" in note
        assert {one.group for one in audit.judge_groups} == {"a"}


def test_groups_that_say_nothing_are_refused() -> None:
    rows = battles(drawn(4, 6, 10), shared=True)
    few = {f"j{k}": "ab"[k == 0] for k in range(6)}
    with pytest.raises(FewJudgesError, match="two of them have 3 judges"):
        audit_judges(rows, judges=few, by="sex")
    with pytest.raises(UnknownJudgeError, match="as the logs write them"):
        audit_judges(rows, judges={"J0": "a", "J1": "b"}, by="sex")
    with pytest.raises(MissingColumnError, match="did you mean 'sex'"):
        audit_judges(rows, judges=pd.DataFrame({"judge": ["j0"], "sex": ["a"]}), by="sx")
    with pytest.raises(OptionError, match="together with"):
        audit_judges(rows, by="sex")
    with pytest.raises(OptionError, match="a column of"):
        audit_judges(rows, judges=few)
