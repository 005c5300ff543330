import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from comparity.auditing.verdicts import VIOLATED, WITHIN

Run = Callable[..., Any]


def test_the_demo_finds_the_known_bias_and_clears_the_model_without_it(
    run: Run, tmp_path: Path
) -> None:
    outcome = run("demo", "--directory", tmp_path / "demo")
    assert outcome.status == 0
    findings = {
        file.stem: json.loads(file.read_text(encoding="utf-8"))["finding"]
        for file in (tmp_path / "demo").glob("*-*.json")
        if not file.stem.startswith("plan")
    }
    assert findings == {
        "model-decisions": VIOLATED,
        "model-judgments": VIOLATED,
        "revised-decisions": WITHIN,
        "revised-judgments": WITHIN,
    }
    report = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert report.count("<svg") == 6


def test_a_demo_that_cannot_be_written_is_bad_input(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert run("demo", "--directory", tmp_path / "file" / "demo").status == 2
