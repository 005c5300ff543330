"""A stranger who follows one comparison from its file to its verdict passes through few files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import comparity
from comparity.comparative.audit import audit_files
from comparity.inference.agreement_tests import compare_shared, contrasts_of_groups
from comparity.inference.joint import all_cells_equal
from comparity.results.audit import Audit
from tests.calibration import worlds

PACKAGE = Path(comparity.__file__).parent
# Few evaluators have a test of their own (inference/evaluators.py), from what each of them judged
# (counts/clusters.py), whose tails are roots (inference/gap_tests.py), and few items may be
# permuted (inference/item_permutation.py and inference/dealt_pairs.py).
MOST_FILES = 28
MOST_FILES_OF_THE_TEST = 8
COLUMNS = {"score": "model", "sensitive": ["sex"], "evaluator": "judge"}


def is_import(frame: FrameType | None) -> bool:
    """Return whether a frame runs because a module is imported for the first time."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def files_run(call: Callable[[], Any]) -> list[str]:
    """Return the files of the package whose functions run, the folders' own modules apart."""
    found = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        inside = event == "call" and path.is_relative_to(PACKAGE) and path.stem != "__init__"
        if inside and not is_import(frame):
            found.add(path.relative_to(PACKAGE).as_posix())

    # Kernels are compiled, or loaded, by the first call.
    call()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return sorted(found)


@pytest.fixture
def audit(tmp_path: Path) -> Callable[[], Audit]:
    """500 judgments of 200 items by ten judges, as files."""
    rng = np.random.default_rng(1)
    sex, quality = rng.choice(["f", "m"], 200), rng.normal(size=200)
    scores = quality + rng.normal(size=200)
    items, judgments = tmp_path / "items.csv", tmp_path / "judgments.csv"
    rows = [f"i{k},{sex[k]},{scores[k]}" for k in range(200)]
    items.write_text("\n".join(["item,sex,model", *rows]))
    pairs = [
        sorted(rng.choice(200, 2, replace=False), key=lambda k: -quality[k]) for _ in range(500)
    ]
    rows = [f"i{one},i{two},e{place % 10}" for place, (one, two) in enumerate(pairs)]
    judgments.write_text("\n".join(["better,worse,judge", *rows]))
    return lambda: audit_files(judgments, items, **COLUMNS)


def test_a_comparison_is_followed_from_file_to_verdict_in_few_files(
    audit: Callable[[], Audit],
) -> None:
    found = files_run(audit)
    assert {"comparative/audit.py", "counts/judged_rows.py", "results/judging.py"} <= {*found}
    assert len(found) <= MOST_FILES, found


def test_the_test_itself_is_understood_from_few_files() -> None:
    counts = worlds.leaning_panel(10, np.random.default_rng(3)).shared_counts()

    def judge() -> None:
        compare_shared(counts, contrasts_of_groups("01"))
        all_cells_equal(counts)

    found = files_run(judge)
    assert "inference/dyadic.py" in found
    assert len(found) <= MOST_FILES_OF_THE_TEST, found
