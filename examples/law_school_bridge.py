"""Bridge between an admission test and undergraduate grades of different law students.

Two ways to judge 21,791 students of the LSAC study: the LSAT, and the grade average of college
(UGPA), both standardised. Does the LSAT rate men, or white students, higher, relative to the
others, than grades do? Every student has both, so this can be measured directly;
here it is also estimated across a bridge, from the LSAT of some students and the grades of others,
and the two are compared as RQ2 of Yu and Xi ("Differential Parity") does.

What a student's scores are predicted from: first-year average at law school, whether the bar was
passed at the first try, region, sex and race. That explains little of either, and the bridge says
so. (``sander_index`` is made of the two scores themselves, and left out.)

Run as ``COMPARITY_DATA=... python examples/law_school_bridge.py [SPLITS [STUDENTS]]``.
"""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity import differential_parity
from comparity.relative.rehearsal import rehearse_bridges

Columns = dict[str, NDArray[Any]]


def students(folder: Path, n: int | None, rng: np.random.Generator) -> Columns:
    """Return columns of the data, of `n` students drawn at random."""
    with (folder / "law_data.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    chosen = range(len(rows)) if n is None else rng.choice(len(rows), n, replace=False)
    kept = [rows[place] for place in chosen]
    return {name: np.array([row[name] for row in kept]) for name in kept[0] if name}


def decisions(columns: Columns) -> Columns:
    """Return LSAT and grades in standard deviations from their means."""
    scores = {name: columns[name].astype(float) for name in ("LSAT", "UGPA")}
    return {name: (own - own.mean()) / own.std() for name, own in scores.items()}


def groups(columns: Columns) -> Columns:
    """Return sex and race in two groups each."""
    sex = np.where(columns["sex"] == "1", "female", "male")
    race = np.where(columns["race"] == "White", "white", "not white")
    return {"sex": sex, "race": race}


def features(columns: Columns) -> NDArray[np.float64]:
    """Return what scores are predicted from, regions, sex and races as columns of 0 and 1."""
    numbers = [columns[name].astype(float)[:, None] for name in ("ZFYA", "first_pf")]
    words = [
        (columns[name][:, None] == np.unique(columns[name])).astype(float)
        for name in ("region_first", "sex", "race")
    ]
    return np.hstack([*numbers, *words])


def main(splits: int = 5, n: int | None = None) -> None:
    """Measure directly, then across bridges."""
    folder = Path(os.environ["COMPARITY_DATA"]) / "law_school"
    columns = students(folder, n, np.random.default_rng(0))
    scores, sensitive = decisions(columns), groups(columns)
    print(f"{len(columns['sex']):,} students\n\nmeasured directly, on all of them:")
    for attribute, group in sensitive.items():
        direct = differential_parity(
            scores["LSAT"],
            scores["UGPA"],
            sensitive_features={attribute: group},
            names=("LSAT", "UGPA"),
            permutations=0,
        )
        print(f"  {direct.direction}: DPD {direct.dpd:+.3f}, {direct.finding}")
    print()
    found = rehearse_bridges(
        scores, sensitive_features=sensitive, features=features(columns), splits=splits
    )
    print(found)


if __name__ == "__main__":
    if "COMPARITY_DATA" not in os.environ:
        sys.exit(__doc__)
    try:
        main(*map(int, sys.argv[1:]))
    except FileNotFoundError as missing:
        sys.exit(f"{missing.filename} is not there.\n\n{__doc__}")
