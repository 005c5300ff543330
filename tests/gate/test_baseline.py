"""Not worse than the last release.

Witness: the normal distribution of scipy. With 800 decisions behind each rate, rates of 0.6 and 0.8
are 0.2 apart with a standard error of sqrt(0.24 / 800 + 0.16 / 800).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import polars
import pytest
from scipy.stats import norm

from comparity.errors import ComparityError
from comparity.gate.check import GateResult, check, is_no_worse
from comparity.gate.section import cases
from comparity.results.result import VIOLATED
from comparity.separation.audit import audit_frame
from tests.gate.test_policies import decisions

COLUMNS = {"label": "hired", "prediction": "model"}
NULLS = ("TPR(f) = TPR(m)", "FPR(f) = FPR(m)")


def gate(frame: polars.DataFrame, folder: Path, **more: Any) -> GateResult:
    one = {"name": "a", "notion": "separation", "file": "a.csv", "sensitive": "sex", **COLUMNS}
    return check({"audit": [{**one, **more}]}, data={"a.csv": frame})


@pytest.fixture
def last(tmp_path: Path) -> str:
    frame = decisions({"f": 0.6, "m": 0.8}, 800)
    audit = audit_frame(frame, sensitive=("sex",), **COLUMNS)
    path = tmp_path / "last.json"
    path.write_text(json.dumps(audit.to_dict()), encoding="utf-8")
    return str(path)


def test_the_same_gap_passes_where_it_is_known_well_enough(last: str, tmp_path: Path) -> None:
    frame = decisions({"f": 0.6, "m": 0.8}, 800)
    assert not gate(frame, tmp_path).passed
    result = gate(frame, tmp_path, baseline=last)
    assert result.passed
    assert result["a"].finding == VIOLATED
    assert "larger than in the last release" in result["a"].reason
    assert {one.outcome for one in cases(result["a"])} == {"passed", "open"}
    assert GateResult.from_dict(result.to_dict()).passed


def test_a_larger_gap_fails(last: str, tmp_path: Path) -> None:
    result = gate(decisions({"f": 0.54, "m": 0.8}, 800), tmp_path, baseline=last)
    assert (result.passed, result.exit_status) == (False, 1)


@pytest.mark.parametrize("baseline", [0.1, 0.18, 0.19, 0.2, 0.3])
def test_the_test_is_that_of_the_baseline_plus_the_margin(baseline: float) -> None:
    audit = audit_frame(decisions({"f": 0.6, "m": 0.8}, 800), sensitive=("sex",), **COLUMNS)
    error = math.sqrt(0.24 / 800 + 0.16 / 800)
    expected = norm.cdf((0.2 - baseline - 0.05) / error) <= 0.05
    assert is_no_worse(audit, dict.fromkeys(NULLS, -baseline)) == expected
    # What was not measured then may be no larger than the margin.
    assert not is_no_worse(audit, {NULLS[0]: baseline})


def test_a_gate_may_be_the_baseline(tmp_path: Path) -> None:
    frame = decisions({"f": 0.6, "m": 0.8}, 800)
    path = tmp_path / "gate.json"
    path.write_text(json.dumps(gate(frame, tmp_path).to_dict()), encoding="utf-8")
    assert gate(frame, tmp_path, baseline=str(path)).passed


@pytest.mark.parametrize(
    "more", [{"baseline": 3}, {"baseline": "gone.json"}, {"baseline": "x.json", "looks": [1, 2]}]
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(ComparityError):
        gate(decisions({"f": 0.6, "m": 0.8}, 80), tmp_path, **more)
