"""Separation of many small groups: exact tests and intervals of every pair, shown in full.

Run as ``python benchmarks/bench_separation.py``. Groups have 25 rows each, so K groups make
K (K - 1) exact tests. Timed from arrays to the text, the JSON and the page of the result. One of
the p values is compared with SciPy's Barnard test, one limit with the p value beyond it.
"""

from __future__ import annotations

import json
import time

import numpy as np
from measure import SEED
from scipy.stats import barnard_exact

from comparity import separation
from comparity.reports.page import page
from comparity.results.audit import Audit

ROWS = 25
GROUPS = (2, 5, 10, 20, 40)
STEP = 2e-6
"""A limit is this close to the first gap that is rejected."""


def run(n_groups: int) -> None:
    """Time one number of groups and check the answer."""
    rng = np.random.default_rng(SEED)
    group = np.repeat([f"g{number:02d}" for number in range(n_groups)], ROWS)
    y_true = rng.integers(0, 2, len(group))
    y_pred = np.where(rng.random(len(group)) < 0.75, y_true, 1 - y_true)
    started = time.process_time()
    audit = separation(y_true, y_pred, sensitive_features=group)
    tested = time.process_time()
    shown = len(str(audit)) + len(json.dumps(audit.to_dict())) + len(page(audit))
    ended = time.process_time()
    check(audit, y_true[group < "g02"], y_pred[group < "g02"], group[group < "g02"])
    print(
        f"{n_groups:4d} groups {len(audit.tests):5d} tests: {tested - started:6.2f} s tested, "
        f"{ended - tested:6.2f} s shown ({shown / 1e6:.1f} MB)"
    )


def check(audit: Audit, y_true: np.ndarray, y_pred: np.ndarray, group: np.ndarray) -> None:
    """Compare the first test with SciPy and its interval with the test that it inverts."""
    test = audit.tests[0]
    good = {name: y_pred[(group == name) & (y_true == 1)] for name in ("g00", "g01")}
    table = [[int((one == said).sum()) for one in good.values()] for said in (1, 0)]
    assert abs(test.p_value - barnard_exact(table, pooled=True, n=64).pvalue) < 1e-6
    low, _, level = test.interval(test.level)
    assert test.pivot.p_value(low) > 1 - level >= test.pivot.p_value(low - STEP)


if __name__ == "__main__":
    run(GROUPS[0])  # loads what is compiled
    for n_groups in GROUPS:
        run(n_groups)
