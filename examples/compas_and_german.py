"""Audit a logistic regression on COMPAS and German Credit, from labels and from judged pairs.

The data are prepared as in Xi, Capak, Stockwell and Yu, "Comparative Separation": the model sees
all attributes, the sensitive ones included; a positive label means "did not reoffend" or "good
credit"; half of every group and label is held out. From the held-out half, twice as many pairs as
people are drawn; the better item of a pair is the one with the positive label.

Run as ``python examples/compas_and_german.py DIRECTORY`` with the folder that holds
``compas/compas_no_names.csv`` and ``german/german.data`` (or set ``COMPARITY_DATA``). Needs pandas.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from comparity import comparative_separation, separation

COMPAS = [
    "sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count",
    "priors_count", "c_charge_degree", "c_charge_desc", "two_year_recid",
]  # fmt: skip


def compas(folder: Path) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Return features, label and groups of COMPAS."""
    table = pd.read_csv(folder / "compas" / "compas_no_names.csv")[COMPAS]
    label = 1 - table.pop("two_year_recid")
    table["sex"] = (table["sex"] == "Male").astype(int)
    table["race"] = (table["race"] == "Caucasian").astype(int)
    groups = pd.DataFrame(
        {
            "sex": table["sex"].map({1: "men", 0: "women"}),
            "race": table["race"].map({1: "Caucasian", 0: "other"}),
        }
    )
    return table, label, groups


def german(folder: Path) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Return features, label and groups of German Credit."""
    names = [f"attribute_{number}" for number in range(1, 21)] + ["label"]
    table = pd.read_csv(folder / "german" / "german.data", sep=" ", header=None, names=names)
    label = (table.pop("label") == 1).astype(int)
    table["age"] = (table.pop("attribute_13") > 25).astype(int)
    table["sex"] = (table.pop("attribute_9") != "A92").astype(int)
    groups = pd.DataFrame(
        {
            "age": table["age"].map({1: "over 25", 0: "up to 25"}),
            "sex": table["sex"].map({1: "men", 0: "women"}),
        }
    )
    return table, label, groups


def held_out(label: pd.Series, groups: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Mark half of the people of every intersection of groups and every label."""
    marks = np.zeros(len(label), dtype=bool)
    cells = groups.assign(label=label).groupby([*groups.columns, "label"]).indices
    for rows in cells.values():
        marks[rng.permutation(rows)[: len(rows) // 2]] = True
    return marks


def predictions(table: pd.DataFrame, label: pd.Series, test: np.ndarray) -> np.ndarray:
    """Train on one half and decide about the other."""
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        (StandardScaler(), make_column_selector(dtype_include="number")),
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=100_000))
    model.fit(table[~test], label[~test])
    return model.predict(table[test])


def judged_pairs(label: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw two pairs for each person: those with an order, better first, and the ties."""
    pairs = rng.integers(0, len(label), (2 * len(label), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    difference = label[pairs[:, 0]] - label[pairs[:, 1]]
    pairs[difference < 0] = pairs[difference < 0, ::-1]
    return pairs[difference != 0], pairs[difference == 0]


def main(folder: Path) -> None:
    """Print two audits for each data set."""
    for name, load in (("COMPAS", compas), ("German Credit", german)):
        rng = np.random.default_rng(0)
        table, label, groups = load(folder)
        test = held_out(label, groups, rng)
        predicted, truth = predictions(table, label, test), label[test].to_numpy()
        print(f"\n{name}: {test.sum():,} people held out\n")
        print(separation(truth, predicted, sensitive_features=groups[test]))
        pairs, ties = judged_pairs(truth, rng)
        people = {"scores": predicted, "sensitive_features": groups[test]}
        print(comparative_separation(pairs, ties=ties, **people))


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("COMPARITY_DATA")
    if given is None:
        sys.exit(__doc__)
    try:
        main(Path(given))
    except FileNotFoundError as missing:
        sys.exit(f"{missing.filename} is not there.\n\n{__doc__}")
