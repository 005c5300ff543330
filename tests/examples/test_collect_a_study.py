"""Simulated judges collect over HTTP what they would have told an audit directly."""

from pathlib import Path

import pytest

from tests.examples.test_bridges import example


@pytest.mark.parametrize(
    "each", [6, pytest.param(0, marks=pytest.mark.slow)], ids=["small", "as planned"]
)
def test_what_judges_remember_gives_the_verdict_of_the_export(
    each: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = example("collect_a_study")
    module.main(each=each, folder=tmp_path)
    printed = capsys.readouterr().out
    assert "what the judges remember gives the same verdict: yes" in printed
    assert f"{20 * each if each else 2080:,} judgments of 20 judges" in printed
    assert "<h1>Applicants</h1>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    if each == 0:
        found, true = (
            {*line.split(": ")[1].strip().split(", ")} for line in printed.splitlines()[-4:-2]
        )
        assert true == {"judge 4", "judge 8", "judge 12", "judge 16", "judge 20"}
        assert found < true
        assert len(found) >= 3
