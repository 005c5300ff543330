"""Ours against Fairlearn, AIF360 and baselines: loss against violation on fresh rows.

``python benchmarks/bench_mitigation.py`` runs all data sets and 10 splits (about 20 minutes of a
core) and prints the tables; ``--data german,crime --splits 3`` runs a part. A method on a split of
a data set is one file in ``build/mitigation/`` (``--keep FOLDER``), and what is there is not run
again: stop and go on as you like, or run data sets in several processes. ``--whose ours`` runs our
methods alone, and ``--no-run`` nothing at all. ``--docs`` writes tables and picture into the
documentation. Methods are to be developed on other splits (``--first 100``); while polishing was
built, test rows of splits 0 to 2 were looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from mitigation_data import (
    SOURCES,
    Part,
    decision_facts,
    regression_facts,
    score_facts,
    split,
)
from mitigation_fits import NUMBER, ODDS, PARITY, Fit, Method
from mitigation_frontier import PLAIN, duels, kept_slacks, tasks_of
from mitigation_methods import METHODS, OURS
from mitigation_page import (
    behind_list,
    draw,
    duel_table,
    failures,
    kept_table,
    splits_told,
    time_table,
    write,
)

FOLDER = Path(__file__).parents[1] / "build" / "mitigation"
NOTIONS = {
    PARITY: ("demographic parity", "pairwise parity"),
    ODDS: ("equalized odds", "cross-group"),
    NUMBER: ("cross-group, squared error",),
}


def core_seconds() -> float:
    """Return the time of this process and its children."""
    times = os.times()
    return sum(times[:4])


def facts_of(fit: Fit, rows: Part) -> dict[str, dict[str, float]]:
    """Return loss and violation of a model by notion."""
    found: dict[str, dict[str, float]] = {}
    if fit.decide is not None:
        found |= decision_facts(fit.decide(rows), rows)
    if fit.score is not None:
        found |= score_facts(fit.score(rows), rows)
    if fit.predict is not None:
        found |= regression_facts(fit.predict(rows), rows)
    return found


def run_method(method: Method, train: Part, test: Part) -> list[dict[str, Any]]:
    """Fit a method at all its strengths and measure it on the test rows."""
    wanted = [notion for family in method.families for notion in NOTIONS[family]]
    found: list[dict[str, Any]] = []
    start = core_seconds()
    for fit in method.fit(train):
        spent = core_seconds() - start
        known = {"method": method.name.strip(), "package": method.package}
        known |= {"strength": str(fit.strength), "slack": fit.slack, "seconds": spent}
        try:
            facts = facts_of(fit, test)
        except ValueError as error:
            # What is not a number cannot be ordered.
            facts, known = {}, {**known, "failed": str(error).split("\n")[0]}
        found += [{**known, "notion": one, **facts.get(one, {})} for one in wanted]
        start = core_seconds()
    return found


def run_split(name: str, number: int, whose: str, asked: Any) -> list[dict[str, Any]]:
    """Return what our methods, or those of others, come to on one split; run what is missing."""
    parts: tuple[Part, Part] | None = None
    rows: list[dict[str, Any]] = []
    for method in METHODS:
        if not _is_asked(method, whose):
            continue
        told = f"{name}_{number}_{method.package}_{method.name.strip()}.json".replace(" ", "_")
        file = asked.keep / told
        if not file.exists() and asked.no_run:
            continue
        if not file.exists():
            parts = split(name, number) if parts is None else parts
            none = method.families == (NUMBER,) and parts[0].target is None
            found = [] if none else run_method(method, *parts)
            known = [{"data": name, "split": number, **row} for row in found]
            file.write_text(json.dumps(known), encoding="utf-8")
            print(f"{core_seconds():7.1f} s {file.stem}", file=sys.stderr, flush=True)
        rows += json.loads(file.read_text(encoding="utf-8"))
    return rows


def _is_asked(method: Method, whose: str) -> bool:
    """Tell whether a method is ours, somebody else's, or the model that ours start from."""
    if whose == "plain":
        return method.name.strip() in PLAIN
    return (method.package == OURS) is (whose == "ours")


def main() -> None:
    """Run what is missing, and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=",".join(SOURCES))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--whose", default="ours,others")
    parser.add_argument("--more", type=int, default=0, help="splits of ours alone, for the slacks")
    parser.add_argument("--keep", type=Path, default=FOLDER)
    parser.add_argument("--no-run", action="store_true")
    parser.add_argument("--docs", action="store_true")
    asked = parser.parse_args()
    asked.keep.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for number in range(asked.first, asked.first + asked.splits):
        for name in asked.data.split(","):
            for whose in asked.whose.split(","):
                rows += run_split(name, number, whose, asked)
    more: list[dict[str, Any]] = []
    for number in range(asked.first + asked.splits, asked.first + asked.splits + asked.more):
        for name in asked.data.split(","):
            more += run_split(name, number, "ours", asked) + run_split(name, number, "plain", asked)
    tell(rows, more, docs=asked.docs)


def tell(rows: list[dict[str, Any]], more: list[dict[str, Any]], *, docs: bool) -> None:
    """Print the tables, and write page and picture where asked."""
    tasks = dict(sorted(tasks_of(rows).items()))
    further = dict(sorted(tasks_of([*rows, *more]).items()))
    found = [one for task, points in tasks.items() for one in duels(task, points)]
    kept = [one for task, points in further.items() for one in kept_slacks(task, points)]
    parts = {
        "splits": splits_told(tasks),
        "comparison": duel_table(found),
        "behind": behind_list(found),
        "slacks": kept_table(kept),
        "time": time_table(tasks),
        "failures": failures(rows),
    }
    for name, part in parts.items():
        print(f"{name}\n\n{part}")
    if docs:
        write(parts)
        draw(tasks)


if __name__ == "__main__":
    main()
