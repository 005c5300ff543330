"""Published data sets: counts from their documentation and the papers, on the files themselves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity.datasets.preparations import (
    PREPARATIONS,
    load_dataset,
    numbers,
    one_hot,
    read_columns,
    scale_columns,
    standardise_columns,
)
from comparity.datasets.registry import DATASETS
from comparity.errors import UnknownDatasetError

DATA = os.environ.get("COMPARITY_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="COMPARITY_DATA names no folder of real data")

# Rows, positive labels, privileged rows of the first attribute; from the data sets' descriptions.
FACTS = {
    ("adult", "fair-enough"): (32561, 7841, 21790),
    ("compas", "fair-enough"): (7214, 3251, 5819),
    ("compas", "comparative-separation"): (7214, 3963, 5819),
    ("german", "fair-enough"): (1000, 700, 690),
    ("german", "comparative-separation"): (1000, 700, 810),
    ("bank", "fair-enough"): (11162, 5289, 9611),
    ("heart", "fair-enough"): (297, 137, 201),
    ("student", "fair-enough"): (1044, 407, 453),
    ("titanic", "fair-enough"): (891, 342, 577),
}


@pytest.mark.real
@needs_data
@pytest.mark.parametrize(("name", "preparation"), FACTS)
def test_prepared_data_have_the_published_counts(name: str, preparation: str) -> None:
    data = load_dataset(name, preparation=preparation, data=DATA)
    attribute, privileged = next(iter(data.privileged.items()))
    found = len(data.labels), data.labels.sum(), (data.sensitive[attribute] == privileged).sum()
    assert found == FACTS[name, preparation]
    assert data.features.shape == (len(data.labels), len(data.feature_names))
    assert np.isfinite(data.features).all()


@pytest.mark.real
@needs_data
def test_scaled_features_lie_between_0_and_1() -> None:
    for name in ("adult", "compas", "bank", "heart", "student", "titanic"):
        features = load_dataset(name, data=DATA).features
        assert (features.min(), features.max()) == (0, 1)


@pytest.mark.real
@needs_data
def test_law_school_and_communities_are_as_the_papers_count_them() -> None:
    law = load_dataset("law_school", data=DATA)
    assert len(law.labels) == 21791
    assert (law.sensitive["sex"] == "female").sum() == 9537
    assert (law.sensitive["race"] == "white").sum() == 18285
    # "27,234 law students" of Narasimhan et al.
    assert len(load_dataset("law_school_full", data=DATA).labels) == 27234
    crime = load_dataset("communities_crime", data=DATA)
    # 122 features and 23 flags of missing values, as in the authors' notebook.
    assert crime.features.shape == (1994, 145)
    assert (crime.labels >= np.quantile(crime.labels, 0.7)).sum() == 608


def test_every_preparation_of_every_data_set_can_be_made() -> None:
    listed = {
        (one.name, preparation) for one in DATASETS.values() for preparation in one.preparations
    }
    assert listed == set(PREPARATIONS)


def test_an_unknown_preparation_is_named() -> None:
    with pytest.raises(UnknownDatasetError, match="fair-enough"):
        load_dataset("adult", preparation="barp")


def test_columns_are_read_with_and_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('x,y,x\n 1, "a, b",3\n?,c,\n\n', encoding="utf-8")
    columns = read_columns(path)
    assert list(columns) == ["x", "y"]
    assert columns["y"].tolist() == ["a, b", "c"]
    assert np.isnan(numbers(columns["x"])[1])
    assert read_columns(path, ["a", "b", "c"])["c"].tolist() == ["x", "3", ""]


def test_scaling_leaves_constant_columns_at_zero() -> None:
    features: dict[str, Any] = {"a": np.array([2.0, 4.0, 6.0]), "b": np.full(3, 7.0)}
    assert scale_columns(features)["a"].tolist() == [0, 0.5, 1]
    assert standardise_columns(features)["a"].std() == pytest.approx(1)
    assert not scale_columns(features)["b"].any()
    assert not standardise_columns(features)["b"].any()


def test_one_hot_has_a_column_for_each_value() -> None:
    columns = one_hot(np.array(["b", "", "b"], dtype=object), "x")
    assert {name: column.tolist() for name, column in columns.items()} == {
        "x=": [0, 1, 0],
        "x=b": [1, 0, 1],
    }


def test_a_column_with_a_gap_is_not_a_constant_one() -> None:
    columns = {"gap": np.array([1.0, np.nan, 3.0]), "constant": np.full(3, 0.1)}
    for change in (scale_columns, standardise_columns):
        found = change(columns)
        assert np.isnan(found["gap"]).any()
        assert found["constant"].tolist() == [0.0, 0.0, 0.0]
