"""Results in trackers of experiments; the real packages, with stores on this machine."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from comparity import impact_ratios
from comparity.errors import MissingExtraError, NoRunError
from comparity.reports.trackers import log_mlflow, log_wandb, tracked_numbers
from comparity.results.audit import Audit

# Both packages warn of what they will change themselves.
pytestmark = pytest.mark.filterwarnings("default")


def test_a_tracker_keeps_the_numbers_that_were_judged(audit: Audit) -> None:
    numbers = tracked_numbers(audit, "model 7")
    gaps = [value for name, value in numbers.items() if name.startswith("model 7/gap/")]
    assert gaps == [test.gap for test in audit.tests]
    low = next(value for name, value in numbers.items() if "/low/" in name)
    assert low == audit.tests[0].deciding_interval.low
    assert numbers["model 7/exit status"] == audit.exit_status
    assert all(map(math.isfinite, numbers.values()))


def test_answers_without_tests_keep_the_numbers_of_their_rows() -> None:
    found = impact_ratios([1, 0, 1, 1], sensitive_features=["f", "f", "m", "m"])
    numbers = tracked_numbers(found)
    ratios = [value for name, value in numbers.items() if "/ratio/" in name]
    assert ratios == [0.5, 1.0]
    assert len({*numbers}) == len(numbers)


@pytest.mark.parametrize(("log", "package"), [(log_mlflow, "mlflow"), (log_wandb, "wandb")])
def test_without_the_package_the_error_says_what_to_install(
    log: Any, package: str, audit: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'comparity\[{package}\]'"):
        log(audit)


@pytest.mark.slow
def test_mlflow_keeps_numbers_words_and_files(
    audit: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/store.db")
    own = log_mlflow(audit)
    assert mlflow.active_run() is None
    with mlflow.start_run() as run:
        assert log_mlflow(audit, name="again").info.run_id == run.info.run_id
    kept = mlflow.get_run(own.info.run_id).data
    assert kept.metrics == pytest.approx(tracked_numbers(audit))
    assert kept.tags["comparity.finding"] == audit.finding
    text = mlflow.artifacts.load_text(f"runs:/{own.info.run_id}/comparity/result.json")
    assert json.loads(text) == audit.to_dict()


@pytest.mark.slow
def test_weights_and_biases_keeps_numbers_words_and_files(
    audit: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with pytest.raises(NoRunError, match=r"wandb\.init"):
        log_wandb(audit)
    with wandb.init(mode="offline", dir=tmp_path, project="parity") as run:
        log_wandb(audit, name="model 7")
        kept = dict(run.summary)
    assert {name: kept[name] for name in tracked_numbers(audit, "model 7")} == pytest.approx(
        tracked_numbers(audit, "model 7")
    )
    assert kept["model 7/finding"] == audit.finding
    assert [*tmp_path.rglob("*.wandb")]
