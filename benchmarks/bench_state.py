"""Audits that are looked at after every hundred judgments: time of an update, and size of the file.

Run as ``python benchmarks/bench_state.py --max 1e6``. An update adds a hundred judgments to a state
(`add_judgments`), and looks: it tests, judges and keeps the finding with its intervals. With
``--bulk 10000`` all but the last come in updates of ten thousand, which is quicker. Shown are
core-seconds and seconds of the last hundred updates, which wait for the disk, and the same of
updates of one judgment, which take what an update takes whatever it adds: what the state takes to
keep the judgment, and what the look takes (tests, intervals and finding). Beside it is the audit of
all judgments at once, counted anew (`comparative_separation`), which a look used to take.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import SEED, growth, in_subprocess, largest_size, report, show, sizes

from comparity import comparative_separation
from comparity.comparative.audit import audit_files
from comparity.comparative.state import OpenState, add_judgments

EACH, LAST = 100, 100
DESIGNS = {"300 items": (300, 0), "1e5 items": (10**5, 0), "1e5 items, 200 judges": (10**5, 200)}
DESIGNS["300 items, 30 judges"] = (300, 30)


def begin(folder: Path, n_items: int, judges: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Begin a state with a hundred judgments; return quality, groups and scores."""
    rng = np.random.default_rng(SEED)
    quality, group = rng.normal(size=n_items), np.array(["f", "m"])[np.arange(n_items) % 2]
    score = (quality + rng.normal(size=n_items)).round(4)
    rows = [f"{k},{group[k]},{score[k]}" for k in range(n_items)]
    (folder / "items.csv").write_text("\n".join(["item,sex,model", *rows]))
    better, worse, judge = draw(rng, quality, judges, EACH)
    rows = [
        f"{a},{b},{c},{-k}" for k, (a, b, c) in enumerate(zip(better, worse, judge, strict=True), 1)
    ]
    head = f"better,worse,{'judge' if judges else 'unread'},id"
    (folder / "day.csv").write_text("\n".join([head, *rows]))
    asked = {"score": "model", "sensitive": ("sex",), "anytime": True, "judgment": "id"}
    asked["evaluator"] = "judge" if judges else None
    state = str(folder / "audit.state")
    audit_files(folder / "day.csv", folder / "items.csv", state=state, **asked)
    return quality, group, score


def draw(
    rng: np.random.Generator, quality: np.ndarray, judges: int, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw judgments: better and worse items, and judges."""
    one = rng.integers(0, len(quality), n)
    two = (one + rng.integers(1, len(quality), n)) % len(quality)
    swap = quality[one] < quality[two]
    judge = rng.integers(0, max(judges, 1), n)
    return np.where(swap, two, one), np.where(swap, one, two), judge


def time_looks() -> list[float]:
    """Let every look add its core-seconds to the list that is returned."""
    spent, look = [], OpenState.look

    def timed(state: OpenState) -> object:
        start = time.process_time()
        found = look(state)
        spent.append(time.process_time() - start)
        return found

    OpenState.look = timed
    return spent


def run_one(n: int, design: str, bulk: int) -> None:
    """Add judgments in updates of a hundred, and time the last ones."""
    n_items, judges = DESIGNS[design]
    looks = time_looks()
    rng, known, made = np.random.default_rng(SEED + 1), [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        quality, group, score = begin(folder, n_items, judges)
        state = folder / "audit.state"
        spent = {}
        for updates, size in ((n // bulk - 1, bulk), (LAST, EACH), (LAST, 1)):
            cores, clock = time.process_time(), time.perf_counter()
            for _ in range(updates):
                better, worse, judge = draw(rng, quality, judges, size)
                known.append((better, worse, judge))
                given = judge if judges else None
                ids, made = np.arange(made, made + size), made + size
                look = add_judgments(state, better, worse, evaluators=given, ids=ids)
            took = time.process_time() - cores, time.perf_counter() - clock
            spent[updates, size] = [one / max(updates, 1) for one in took]
        megabytes = state.stat().st_size / 2**20
    pairs = np.concatenate([np.column_stack([one, two]) for one, two, _ in known])
    by = np.concatenate([one for *_, one in known]) if judges else None
    start = time.process_time()
    asked = {"scores": score, "sensitive_features": group, "anytime": True}
    whole = comparative_separation(pairs, evaluators=by, **asked)
    anew = time.process_time() - start
    # The state holds a hundred judgments more.
    apart = max(abs(a - b.gap) for a, b in zip(look.gaps, whole.tests, strict=True))
    both = {f"core_{size}": one[0] for (_, size), one in spent.items()}
    waited = {f"wall_{size}": one[1] for (_, size), one in spent.items()}
    report(
        **both,
        **waited,
        **{"megabytes": megabytes, "anew": anew, "apart": apart},
        look_1=float(np.mean(looks[-LAST:])),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bulk", type=int, default=EACH, help="judgments of the first updates")
    asked, rows = parser.parse_known_args()[0], []
    for design in DESIGNS:
        counts, spent = sizes(largest_size(__doc__ or ""), 1e4), []
        for n in counts:
            facts = in_subprocess(__file__, "one", str(n), design, str(asked.bulk))
            spent.append(facts["core_100"])
            facts["kept_1"] = facts["core_1"] - facts["look_1"]
            names = ("kept_1", "look_1", "core_100", "wall_100")
            times = [f"{1000 * facts[name]:.1f}" for name in names]
            anew, megabytes = f"{1000 * facts['anew']:.0f}", f"{facts['megabytes']:.0f}"
            rows.append((design, f"{n:,}", *times, anew, megabytes))
        rows.append((design, "growth", "", "", f"{growth(counts, spent):.2f}", "", "", ""))
    columns = ("design", "judgments", "keep 1, core-ms", "look, core-ms")
    columns += ("both of 100, core-ms", "wall, ms")
    caption = "targets: 5 ms to keep one and look, time in proportion to rows; 100 MB at 1e6 rows"
    show("Looks", (*columns, "counted anew, ms", "MB"), rows, caption)


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        run_one(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        main()
