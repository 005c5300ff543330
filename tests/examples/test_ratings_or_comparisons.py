"""The example that compares ratings with comparisons runs, and its intervals hold the truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.test_bridges import example


@pytest.mark.slow
def test_intervals_hold_what_many_judges_would_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example("ratings_or_comparisons").main(folder=tmp_path)
    printed = capsys.readouterr().out
    assert "Rating needs fewer minutes than comparing" in printed
    assert printed.count("inside the interval: yes") == 3
    assert "<h1>" in (tmp_path / "compared.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_small_study_runs_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("ratings_or_comparisons").main(judges=12, large=20, folder=tmp_path)
    printed = capsys.readouterr().out
    assert "ratings by 6 judges" in printed
    assert printed.count("with 20 judges each") == 3
