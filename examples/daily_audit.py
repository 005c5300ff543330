"""Stop an audit that arrives in daily files, and run a gate on every batch.

A hundred judgments come in every day. Each day's file is added to a state, which counts every
judgment once and is looked at once a day; the study ends with the first finding. The second part
asks the same of a policy: a gate that is run on every batch passes while nothing is decided, and
fails on the day on which a gap is found. One model ranks women too low; the other treats both
groups alike.

Run as ``python examples/daily_audit.py [DAYS]``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from comparity.comparative.audit import audit_files
from comparity.gate.check import check
from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED

ITEMS, EACH = 400, 100
SHIFTS = {"a model that ranks women too low": 0.4, "a model that does not": 0.0}

POLICY = """
undecided = "allow"

[[audit]]
name = "pairs"
notion = "comparative"
comparisons = "batch.csv"
items = "items.csv"
score = "model"
sensitive = "sex"
hypotheses = "across"
anytime = true
state = "gate.state"
"""


def write_items(folder: Path, shift: float, rng: np.random.Generator) -> np.ndarray:
    """Write the items with the model's scores; return their quality, which judges see."""
    quality, sex = rng.normal(size=ITEMS), np.array(["f", "m"] * (ITEMS // 2))
    score = quality + 0.5 * rng.normal(size=ITEMS) - shift * (sex == "f")
    rows = [f"{k},{sex[k]},{score[k]:.4f}" for k in range(ITEMS)]
    (folder / "items.csv").write_text("\n".join(["item,sex,model", *rows]))
    return quality


def write_day(path: Path, quality: np.ndarray, rng: np.random.Generator) -> None:
    """Write the judgments of one day: random pairs, the better item first."""
    pairs = (rng.choice(ITEMS, 2, replace=False) for _ in range(EACH))
    better_first = (sorted(pair, key=lambda k: -quality[k]) for pair in pairs)
    path.write_text("\n".join(["better,worse", *(f"{a},{b}" for a, b in better_first)]))


def follow(folder: Path, shift: float, days: int, rng: np.random.Generator) -> tuple[int, Audit]:
    """Add day after day to a state, until there is a finding; return the day and the audit."""
    quality = write_items(folder, shift, rng)
    asked = {"score": "model", "sensitive": ("sex",), "hypotheses": "across", "anytime": True}
    for day in range(1, days + 1):
        write_day(folder / f"day{day}.csv", quality, rng)
        state = str(folder / "audit.state")
        audit = audit_files(folder / f"day{day}.csv", folder / "items.csv", state=state, **asked)
        if audit.finding != UNDECIDED:
            break
    return day, audit


def gate_batches(folder: Path, shift: float, days: int, rng: np.random.Generator) -> int | None:
    """Run a gate on every batch; return the day on which it failed, if it did."""
    quality = write_items(folder, shift, rng)
    (folder / "policy.toml").write_text(POLICY)
    for day in range(1, days + 1):
        write_day(folder / "batch.csv", quality, rng)
        if not check(folder / "policy.toml").passed:
            return day
    return None


def main(days: int = 40) -> None:
    """Print when both kinds of studies ended."""
    for name, shift in SHIFTS.items():
        with tempfile.TemporaryDirectory() as folder:
            day, audit = follow(Path(folder), shift, days, np.random.default_rng(1))
        gap, (low, high, _) = audit.tests[0].gap, audit.tests[0].deciding_interval
        print(f"{name}: {audit.finding} on day {day}, after {audit.n:,} judgments")
        print(f"  gap {gap:.3f}, {low:.3f} to {high:.3f} at any moment")
        with tempfile.TemporaryDirectory() as folder:
            failed = gate_batches(Path(folder), shift, days, np.random.default_rng(1))
        print(f"  gate: {'passed every day' if failed is None else f'failed on day {failed}'}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
