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


def compas(folder: Path) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """Return features, label and sensitive columns of COMPAS."""
    table = pd.read_csv(folder / "compas" / "compas_no_names.csv")[COMPAS]
    table["sex"] = (table["sex"] == "Male").astype(int)
    table["race"] = (table["race"] == "Caucasian").astype(int)
    return table.drop(columns="two_year_recid"), 1 - table["two_year_recid"], ["sex", "race"]


def german(folder: Path) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """Return features, label and sensitive columns of German Credit."""
    names = [f"attribute_{number}" for number in range(1, 21)] + ["label"]
    table = pd.read_csv(folder / "german" / "german.data", sep=" ", header=None, names=names)
    table["age"] = (table.pop("attribute_13") > 25).astype(int)
    table["sex"] = (table.pop("attribute_9") != "A92").astype(int)
    label = (table.pop("label") == 1).astype(int)
    return table, label, ["age", "sex"]


def held_out(
    table: pd.DataFrame, label: pd.Series, sensitive: list[str], rng: np.random.Generator
) -> np.ndarray:
    """Mark half of every group and label."""
    keys = [table[name] for name in sensitive] + [label]
    marks = np.zeros(len(table), dtype=bool)
    for rows in table.groupby(keys, sort=True).indices.values():
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
        table, label, sensitive = load(folder)
        test = held_out(table, label, sensitive, rng)
        predicted = predictions(table, label, test)
        truth, groups = label[test].to_numpy(), table.loc[test, sensitive]
        print(f"\n{name}: {test.sum():,} people held out\n")
        print(separation(truth, predicted, sensitive_features=groups))
        pairs, ties = judged_pairs(truth, rng)
        print(
            comparative_separation(pairs, ties=ties, scores=predicted, sensitive_features=groups)
        )


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("COMPARITY_DATA")
    if given is None:
        sys.exit(__doc__)
    main(Path(given))
