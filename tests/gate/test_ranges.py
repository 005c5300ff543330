"""Impact ratios and metrics at the gate: inside their range, outside, or not decided."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from scipy.stats import binom

from comparity import check, impact_ratios
from comparity.errors import ComparityError
from comparity.gate.check import GateResult
from comparity.gate.section import cases, junit_xml, markdown, sarif_json
from comparity.impact.audit import judge_frame
from comparity.inference.gap_tests import Interval
from comparity.reports.ranges import JudgedRange, RangeAudit
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN


def people(women: tuple[int, int], men: tuple[int, int]) -> polars.DataFrame:
    rows = [(sex, int(i < hits)) for sex, (hits, n) in (("f", women), ("m", men)) for i in range(n)]
    return polars.DataFrame(rows, schema=["sex", "hired"], orient="row")


def gate(audit: dict[str, Any], frame: polars.DataFrame) -> GateResult:
    whole = {"name": "a", "file": "p.csv", "sensitive": "sex", **audit}
    return check({"audit": [whole]}, data={"p.csv": frame})


IMPACT = {"notion": "impact", "selected": "hired"}


@pytest.mark.parametrize(
    ("women", "finding", "passed"),
    [(480, WITHIN, True), (400, UNDECIDED, False), (300, VIOLATED, False)],
)
def test_a_ratio_passes_where_it_is_shown_to_be_at_least_four_fifths(
    women: int, finding: str, passed: bool
) -> None:
    result = gate(IMPACT, people((women, 1000), (500, 1000)))
    assert (result["a"].finding, result.passed) == (finding, passed)
    assert gate({**IMPACT, "undecided": "allow"}, people((400, 1000), (500, 1000))).passed


def test_findings_agree_with_those_of_impact_ratios_where_there_are_two_groups() -> None:
    for hits in range(300, 500, 20):
        frame = people((hits, 1000), (500, 1000))
        judged = judge_frame(frame, selected="hired", sensitive=("sex",), alpha=0.05)
        asked = impact_ratios(
            frame["hired"], sensitive_features=frame["sex"], four_fifths=True, level=0.95
        )
        women = asked.tables[0].groups[0].four_fifths
        # Two groups, so the level at the gate is half of that of one group.
        if judged.tests[0].finding != UNDECIDED:
            words = {WITHIN: "at least 4/5", VIOLATED: "below 4/5"}
            assert women == words[judged.tests[0].finding]


@pytest.mark.long
def test_false_alarms_are_as_rare_as_promised_over_all_tables() -> None:
    """Worked out over all likely tables of 40 and 60 people with an impact ratio of four fifths."""
    n, m, p = 40, 60, 0.5
    alarms = 0.0
    weights = {
        (x, y): binom.pmf(x, n, 0.8 * p) * binom.pmf(y, m, p)
        for x, y in itertools.product(range(4, 29), range(15, 46))
    }
    assert sum(weights.values()) > 0.999
    # Findings are monotone in x: it is enough to find the last table that is judged violated.
    for y in range(15, 46):
        for x in range(4, 29):
            frame = people((x, n), (y, m))
            found = judge_frame(frame, selected="hired", sensitive=("sex",), alpha=0.1)
            if found.finding != VIOLATED:
                break
            alarms += weights[x, y]
    assert 0.005 < alarms < 0.1


def test_metrics_that_a_policy_names_must_lie_in_their_published_ranges() -> None:
    rng = np.random.default_rng(3)
    sex = np.repeat(["f", "m"], 4000)
    label = rng.random(8000) < 0.5
    wrong = rng.random(8000) < np.where(sex == "f", 0.35, 0.1)
    frame = polars.DataFrame({"sex": sex, "good": label, "model": label ^ wrong})
    asked = {"notion": "metrics", "label": "good", "prediction": "model", "privileged": "m"}
    result = gate({**asked, "metrics": ["C0", "C15"]}, frame)
    tests = {test.name[:3].strip(): test.finding for test in result["a"].result.tests}
    # A true positive rate of 0.65 beside 0.9 is 0.25 apart; the range of C0 is 0.1 wide.
    assert tests["C0"] == VIOLATED
    assert (result.passed, result.exit_status) == (False, 1)
    with pytest.raises(ComparityError, match="C99"):
        gate({**asked, "metrics": ["C99"]}, frame)
    with pytest.raises(ComparityError, match="metrics is missing"):
        gate(asked, frame)


def test_small_counts_promise_nothing_and_decide_nothing() -> None:
    frame = polars.DataFrame(
        {"sex": ["f", "m"] * 8, "good": [0, 0, 1, 1] * 4, "model": [0, 0, 1, 1] * 4}
    )
    asked = {"notion": "metrics", "label": "good", "prediction": "model", "privileged": "m"}
    result = gate({**asked, "metrics": "C0"}, frame)
    assert result["a"].reason == "nothing could be tested, and that never passes"


def test_ranges_are_told_in_every_report_and_come_back_from_json() -> None:
    result = gate(IMPACT, people((300, 1000), (500, 1000)))
    first, women, _ = cases(result["a"])
    assert first.said.startswith("violated: 1 number is shown to lie outside. Of 100 with sex = m")
    assert women.said.startswith("violated: 0.600, 97.5% interval [")
    assert women.said.endswith("range 0.8 to 1")
    for text in (junit_xml(result), sarif_json(result), markdown(result), str(result)):
        assert "0.8 to 1" in text
    assert GateResult.from_dict(result.to_dict()) == result
    assert result.to_frame("polars").height == 1
    assert result["a"].result.to_frame("polars").height == 2


def test_what_is_not_shown_stays_open_at_the_very_ends() -> None:
    def one(inside: tuple[float, float], outside: tuple[float, float]) -> JudgedRange:
        ends = {"inside": Interval(*inside, 0.9), "outside": Interval(*outside, 0.95)}
        return JudgedRange(name="x", value=0.9, low=0.8, high=1.0, **ends)

    assert one((0.8, 1.0), (0.7, 1.1)).finding == WITHIN
    assert one((0.79, 1.0), (0.7, 1.1)).finding == UNDECIDED
    assert one((0.5, 0.9), (0.4, 0.8)).finding == UNDECIDED
    assert one((0.5, 0.7), (0.4, 0.79)).finding == VIOLATED
    assert one((1.1, 1.2), (1.01, 1.3)).finding == VIOLATED
    empty = RangeAudit(notion="x", tests=(), alpha=0.05, answer=impact_of_two())
    assert empty.finding == UNDECIDED


def impact_of_two() -> Any:
    return impact_ratios([1, 0, 1, 0], sensitive_features=["f", "f", "m", "m"])


def test_a_baseline_of_ranges_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ComparityError, match="judges ranges, not gaps"):
        gate({**IMPACT, "baseline": str(tmp_path / "last.json")}, people((1, 2), (1, 2)))
