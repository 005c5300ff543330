"""Data sets prepared as the papers prepare them, by name.

``fair-enough``: Majumder et al.; most categories are dropped, the rest is scaled to 0..1 over all
rows (German is not scaled), the sensitive attributes stay among the features.
``comparative-separation``: Xi et al.; categories one-hot, numbers standardised (here over all rows;
the authors do it on the training half).
``barp``: Ferrara et al. ``pairwise-fairness``: Narasimhan et al.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.datasets.registry import dataset, local_files
from comparity.datasets.registry import fetch as fetched
from comparity.errors import UnknownDatasetError

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]


def read_columns(
    path: Path, names: Sequence[str] | None = None, *, separator: str = ","
) -> dict[str, NDArray[Any]]:
    """Read a text file as columns of text; blanks around values are dropped.

    Parameters
    ----------
    path : path
        The file.
    names : sequence of str, optional
        Names of its columns; by default its first row has them, and of two columns with one name
        the first is kept.
    separator : str
        What stands between values.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file, delimiter=separator, skipinitialspace=True) if row]
    header, body = (rows[0], rows[1:]) if names is None else (list(names), rows)
    found: dict[str, NDArray[Any]] = {}
    for place, name in enumerate(header):
        if name not in found:
            found[name] = np.array([row[place].strip() for row in body], dtype=object)
    return found


def numbers(column: NDArray[Any], *, missing: float = np.nan) -> Floats:
    """Read text as numbers; an empty cell, ``?`` and ``NA`` are `missing`."""
    return np.array([missing if text in ("", "?", "NA") else float(text) for text in column])


def one_hot(column: NDArray[Any], name: str) -> dict[str, Floats]:
    """Return one 0/1 column for each value, in sorted order; an empty cell is a value, too."""
    return {f"{name}={value}": (column == value).astype(float) for value in sorted(set(column))}


def scale_columns(features: Mapping[str, Floats]) -> dict[str, Floats]:
    """Scale every column to 0..1; a constant one becomes 0."""
    found = {}
    for name, column in features.items():
        low, high = float(column.min()), float(column.max())
        # A gap leaves gaps: with nan no comparison holds, and the column would count as constant.
        found[name] = np.zeros(len(column)) if high == low else (column - low) / (high - low)
    return found


def standardise_columns(features: Mapping[str, Floats]) -> dict[str, Floats]:
    """Give every column mean 0 and standard deviation 1; a constant one becomes 0."""
    found = {}
    for name, column in features.items():
        # The mean of equal numbers may be off by a rounding, and their deviation then not zero.
        constant = bool((column == column[0]).all())
        centred = column - column.mean()
        found[name] = np.zeros(len(column)) if constant else centred / column.std()
    return found


ADULT = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status"),
    *("occupation", "relationship", "race", "sex", "capital-gain", "capital-loss"),
    *("hours-per-week", "native-country", "income"),
)
STUDENT_WORDS = (
    *("schoolsup", "famsup", "paid", "activities", "nursery", "higher", "internet", "romantic"),
)
STUDENT_DROPPED = (
    *("school", "address", "famsize", "Pstatus", "Mjob", "Fjob", "reason", "guardian"),
)
GERMAN_CODES = {
    "credit history": (3, {"A30": 1, "A31": 1, "A32": 1, "A33": 2, "A34": 3}),
    "savings": (6, {"A61": 1, "A62": 1, "A63": 2, "A64": 2, "A65": 3}),
    "employment": (7, {"A72": 1, "A73": 1, "A74": 2, "A75": 2, "A71": 3}),
}
GERMAN_NUMBERS = (2, 5, 8, 11, 16, 18)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedData:
    """A data set, ready for a model.

    Attributes
    ----------
    name, preparation : str
        Which data set, prepared how.
    features : ndarray, (n, d)
        Numbers.
    feature_names : tuple of str
        Names of the columns.
    labels : ndarray of float
        0 or 1, or a number to be predicted.
    sensitive : mapping of str to ndarray
        Groups as text, or a number, by attribute.
    privileged : mapping of str to str
        The group that has the advantage, by attribute; empty for a number.
    """

    name: str
    preparation: str
    features: Floats
    feature_names: tuple[str, ...]
    labels: Floats
    sensitive: Mapping[str, NDArray[Any]]
    privileged: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _PreparedColumns:
    features: Mapping[str, Floats]
    labels: Floats
    sensitive: Mapping[str, NDArray[Any]]
    privileged: Mapping[str, str]


def load_dataset(
    name: str,
    *,
    preparation: str | None = None,
    data: str | Path | None = None,
    fetch: bool = False,
) -> PreparedData:
    """Read a published data set, prepared as a paper prepares it.

    Parameters
    ----------
    name : str
        A data set of :data:`~comparity.datasets.registry.DATASETS`.
    preparation : str, optional
        One of its preparations; the first by default.
    data : path, optional
        The data folder; ``COMPARITY_DATA`` or the user's cache by default.
    fetch : bool
        Whether to download what is missing.

    Raises
    ------
    UnknownDatasetError, DatasetMissingError, DataHashError, DownloadError
    """
    entry = dataset(name)
    chosen = preparation or entry.preparations[0]
    if chosen not in entry.preparations:
        raise UnknownDatasetError(f"preparation of {name!r}", chosen, entry.preparations)
    path = (fetched(entry, data) if fetch else local_files(entry, data))[0]
    parts = PREPARATIONS[name, chosen](path)
    return PreparedData(
        name=name,
        preparation=chosen,
        features=np.column_stack(list(parts.features.values())),
        feature_names=tuple(parts.features),
        labels=parts.labels,
        sensitive=parts.sensitive,
        privileged=parts.privileged,
    )


def _adult(path: Path) -> _PreparedColumns:
    columns = read_columns(path, ADULT)
    kept = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
    features = {name: numbers(columns[name]) for name in kept}
    features |= {"race": _is(columns["race"], "White"), "sex": _is(columns["sex"], "Male")}
    sensitive = {"sex": columns["sex"], "race": _name_groups(features["race"], "White", "other")}
    return _PreparedColumns(
        scale_columns(features),
        1 - _is(columns["income"], "<=50K"),
        sensitive,
        {"sex": "Male", "race": "White"},
    )


def _compas(path: Path) -> _PreparedColumns:
    columns = read_columns(path)
    priors = numbers(columns["priors_count"])
    ages = {"Greater than 45": 45.0, "25 - 45": 25.0, "Less than 25": 0.0}
    features = {
        "sex": _is(columns["sex"], "Male"),
        "age_cat": np.array([ages[age] for age in columns["age_cat"]]),
        "race": _is(columns["race"], "Caucasian"),
        "priors_count": np.where(priors > 3, 4.0, np.where(priors >= 1, 3.0, 0.0)),
        "c_charge_degree": _is(columns["c_charge_degree"], "F"),
    }
    return _PreparedColumns(
        scale_columns(features), numbers(columns["two_year_recid"]), *_compas_groups(columns)
    )


def _compas_pairs(path: Path) -> _PreparedColumns:
    columns = read_columns(path)
    counted = ("age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count")
    features = {name: numbers(columns[name]) for name in counted}
    features["sex"] = _is(columns["sex"], "Male")
    features["race"] = _is(columns["race"], "Caucasian")
    words: dict[str, Floats] = {}
    for name in ("age_cat", "c_charge_degree", "c_charge_desc"):
        words |= one_hot(columns[name], name)
    labels = 1 - numbers(columns["two_year_recid"])
    return _PreparedColumns(
        {**standardise_columns(features), **words}, labels, *_compas_groups(columns)
    )


def _compas_groups(columns: Columns) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    race = _name_groups(_is(columns["race"], "Caucasian"), "Caucasian", "other")
    return {"sex": columns["sex"], "race": race}, {"sex": "Male", "race": "Caucasian"}


def _german(path: Path) -> _PreparedColumns:
    columns = read_columns(path, [str(place) for place in range(1, 22)], separator=" ")
    male, old = 1 - _is(columns["9"], "A92"), (numbers(columns["13"]) >= 25).astype(float)
    features = {"sex": male, "age": old}
    for name, (place, codes) in GERMAN_CODES.items():
        kind = np.array([codes[code] for code in columns[str(place)]])
        features |= {f"{name}={k}": (kind == k).astype(float) for k in (1, 2, 3)}
    sensitive = {
        "sex": _name_groups(male, "male", "female"),
        "age": _name_groups(old, "25 or more", "below 25"),
    }
    return _PreparedColumns(
        features, _is(columns["21"], "1"), sensitive, {"sex": "male", "age": "25 or more"}
    )


def _german_pairs(path: Path) -> _PreparedColumns:
    columns = read_columns(path, [str(place) for place in range(1, 22)], separator=" ")
    male, old = 1 - _is(columns["9"], "A92"), (numbers(columns["13"]) > 25).astype(float)
    features = {str(place): numbers(columns[str(place)]) for place in GERMAN_NUMBERS}
    words: dict[str, Floats] = {}
    for place in range(1, 21):
        if place not in (*GERMAN_NUMBERS, 9, 13):
            words |= one_hot(columns[str(place)], str(place))
    sensitive = {
        "age": _name_groups(old, "above 25", "25 or less"),
        "sex": _name_groups(male, "male", "female"),
    }
    return _PreparedColumns(
        {**standardise_columns({"age": old, "sex": male, **features}), **words},
        _is(columns["21"], "1"),
        sensitive,
        {"age": "above 25", "sex": "male"},
    )


def _bank(path: Path) -> _PreparedColumns:
    columns = read_columns(path)
    old = (numbers(columns["age"]) >= 30).astype(float)
    features = {"age": old}
    features |= {name: 1 - _is(columns[name], "no") for name in ("default", "housing", "loan")}
    for name in ("balance", "day", "duration", "campaign", "pdays", "previous"):
        features[name] = numbers(columns[name])
    sensitive = {"age": _name_groups(old, "30 or more", "below 30")}
    labels = _is(columns["Probability"], "yes")
    return _PreparedColumns(scale_columns(features), labels, sensitive, {"age": "30 or more"})


def _heart(path: Path) -> _PreparedColumns:
    columns = {name: numbers(column) for name, column in read_columns(path).items()}
    labels = (columns.pop("Probability") > 0).astype(float)
    columns["age"] = (columns["age"] >= columns["age"].mean()).astype(float)
    sensitive = {"sex": _name_groups(columns["sex"], "male", "female")}
    return _PreparedColumns(scale_columns(columns), labels, sensitive, {"sex": "male"})


def _student(path: Path) -> _PreparedColumns:
    columns = read_columns(path)
    labels = (numbers(columns.pop("Probability")) > 12).astype(float)
    sex = columns["sex"]
    features = {}
    for name, column in columns.items():
        if name == "sex":
            features[name] = _is(column, "M")
        elif name in STUDENT_WORDS:
            features[name] = _is(column, "yes")
        elif name not in STUDENT_DROPPED:
            features[name] = numbers(column)
    return _PreparedColumns(scale_columns(features), labels, {"sex": sex}, {"sex": "M"})


def _titanic(path: Path) -> _PreparedColumns:
    columns = read_columns(path)
    features = {"sex": _is(columns["sex"], "male")}
    for name in ("Pclass", "Age", "SibSp", "Parch", "Fare"):
        features[name] = numbers(columns[name], missing=0.0)
    labels = numbers(columns["Probability"])
    return _PreparedColumns(
        scale_columns(features), labels, {"sex": columns["sex"]}, {"sex": "male"}
    )


def _law_school(path: Path) -> _PreparedColumns:
    columns = read_columns(path)
    male = (numbers(columns["sex"]) == 2).astype(float)
    white = _is(columns["race"], "White")
    features = {name: numbers(columns[name]) for name in ("LSAT", "UGPA")}
    sensitive = {
        "sex": _name_groups(male, "male", "female"),
        "race": _name_groups(white, "white", "other"),
    }
    labels = numbers(columns["ZFYA"])
    return _PreparedColumns(features, labels, sensitive, {"sex": "male", "race": "white"})


def _law_school_full(path: Path) -> _PreparedColumns:
    columns = read_columns(path)
    grades = numbers(columns["ugpa"])
    known = ~np.isnan(grades) & (columns["gender"] != "") & (columns["gender"] != "NA")
    features = {}
    for name in ("lsat", "fam_inc"):
        column = numbers(columns[name])[known]
        features[name] = np.where(np.isnan(column), np.nanmean(column), column)
    for name in ("fulltime", "race", "gender", "cluster"):
        features |= one_hot(columns[name][known], name)
    sensitive = {"gender": columns["gender"][known]}
    return _PreparedColumns(features, grades[known], sensitive, {"gender": "male"})


def _communities(path: Path) -> _PreparedColumns:
    names = [str(place) for place in range(1, 129)]
    columns = read_columns(path, names)
    features = {}
    for name in names[5:-1]:
        column = numbers(columns[name])
        gaps = np.isnan(column)
        features[name] = np.where(gaps, 0.0, column)
        if gaps.any():
            features[f"{name} missing"] = gaps.astype(float)
    black = numbers(columns["8"])
    return _PreparedColumns(features, numbers(columns["128"]), {"racepctblack": black}, {})


PREPARATIONS: Mapping[tuple[str, str], Callable[[Path], _PreparedColumns]] = MappingProxyType(
    {
        ("adult", "fair-enough"): _adult,
        ("compas", "fair-enough"): _compas,
        ("compas", "comparative-separation"): _compas_pairs,
        ("german", "fair-enough"): _german,
        ("german", "comparative-separation"): _german_pairs,
        ("bank", "fair-enough"): _bank,
        ("heart", "fair-enough"): _heart,
        ("student", "fair-enough"): _student,
        ("titanic", "fair-enough"): _titanic,
        ("law_school", "barp"): _law_school,
        ("law_school_full", "pairwise-fairness"): _law_school_full,
        ("communities_crime", "pairwise-fairness"): _communities,
    }
)
"""How each data set is prepared, by its name and that of the preparation."""


def _is(column: NDArray[Any], value: str) -> Floats:
    flags: Floats = (column == value).astype(np.float64)
    return flags


def _name_groups(flags: Floats, yes: str, no: str) -> NDArray[Any]:
    return np.where(flags == 1, yes, no).astype(object)
