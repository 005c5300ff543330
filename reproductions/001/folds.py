"""Seven data sets, three models and every metric over the authors' folds.

The paper speaks of five folds repeated five times with random seeds. The authors' code goes five
times through the same five folds, unshuffled, and trains on four fifths of each training part, the
same ones whenever; so their 25 values are 5, and all but those of the meta fair classifier can be
had to the digits stored. (What shuffling changes is tested in ``tests/reproductions``.)
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, train_test_split

from comparity.cli.reproduce import read_published
from comparity.counts.neighbours import count_neighbours
from comparity.datasets.preparations import ADULT, load_dataset, scale_columns
from comparity.datasets.registry import dataset
from comparity.errors import DatasetMissingError, UnreachedRatioWarning
from comparity.metrics.catalogue import CATALOGUE
from comparity.metrics.comparison import contrast_of, metric_values
from comparity.metrics.entropy import consistency
from comparity.metrics.metric_study import learner_of
from comparity.training.meta_fair import MetaFairClassifier
from comparity.training.weigh import independence_weights

PUBLISHED = read_published(Path(__file__).parent)

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Flags = NDArray[np.bool_]
Values = dict[str, Floats]

SEVEN = {
    "adult": "sex",
    "compas": "sex",
    "heart": "sex",
    "german": "sex",
    "bank": "age",
    "titanic": "sex",
    "student": "sex",
}
"""The data sets and their sensitive attributes."""
MODELS = ("plain", "reweighed", "meta fair")
OF_MODELS = tuple(number for number in CATALOGUE if number[0] == "C")
OF_DATA = tuple(number for number in CATALOGUE if number[0] == "D")
TAUS = (0.0, 0.2, 0.4, 0.6, 0.8)
# The stored results have 2 sqrt(GE_2), by an older AIF360, where it is sqrt(2 GE_2) now.
VARIATIONS = ("C20", "C22", "C24")


@cache
def model_folds(
    folder: Path, name: str, model: str, seed: int = 0, shuffle: int | None = None
) -> Values:
    """Return the metrics of a model in the five folds, by identifier.

    The folds are the authors', unshuffled; with `shuffle` rows are dealt to them at random.
    """
    features, labels, privileged, group = _prepared(folder, name)
    fit: Callable[..., Any] = {
        "plain": _logistic,
        "reweighed": _reweighed,
        "meta fair": lambda *given: _meta_fair(*given, seed, "published"),
        "meta fair, exact": lambda *given: _meta_fair(*given, seed, "exact"),
        "forest": lambda own, choice: learner_of("forest", seed).fit(own[0], own[1]),
        "network": lambda own, choice: learner_of("network", seed).fit(own[0], own[1]),
    }[model]
    # The meta fair classifier is not told the group, in AIF360 neither.
    known = np.delete(features, group, axis=1) if model.startswith("meta fair") else features
    found = []
    dealt = KFold(5) if shuffle is None else KFold(5, shuffle=True, random_state=shuffle)
    for train, test in dealt.split(known):
        rows, held = train_test_split(train, test_size=0.2, random_state=42)
        own, choice = ((known[p], labels[p], privileged[p]) for p in (rows, held))
        predicted = fit(own, choice).predict(known[test])
        found.append(_metrics(labels[test], predicted, privileged[test]))
    return {number: np.array([one[number] for one in found]) for number in OF_MODELS}


@cache
def data_folds(folder: Path, name: str, model: str) -> Values:
    """Return the metrics of data in the five folds; consistency knows no weights."""
    features, labels, privileged, _ = _prepared(folder, name)
    found = []
    for train, _ in KFold(5).split(features):
        rows, _ = train_test_split(train, test_size=0.2, random_state=42)
        own, flags = labels[rows], privileged[rows]
        weights = _weigh(own, flags) if model == "reweighed" else None
        values = metric_values(contrast_of(own, own, flags, weights))
        neighbours = count_neighbours(features[rows], own == 1, rng=np.random.default_rng(0))
        found.append({**values, "D0": consistency(neighbours)})
    return {number: np.array([float(one[number]) for one in found]) for number in OF_DATA}


def pooled(parts: Sequence[Values]) -> Values:
    """Return the values of several data sets and models, one after the other."""
    return {number: np.concatenate([part[number] for part in parts]) for number in parts[0]}


def medians(values: Mapping[str, Floats]) -> dict[str, float]:
    """Return the median of each metric over the folds in which it exists."""
    return {number: float(np.nanmedian(column)) for number, column in values.items()}


def is_inside(number: str, median: float) -> bool:
    """Say whether a metric is in its published range; the median is rounded, as published."""
    return CATALOGUE[number].is_inside(round(median, 2))


def outside_percent(found: Mapping[str, float]) -> float:
    """Return the share of metrics outside their published range."""
    return 100 * float(np.mean([not is_inside(number, value) for number, value in found.items()]))


def _metrics(labels: Labels, predicted: Labels, privileged: Flags) -> dict[str, float]:
    """Return every metric of predictions as the authors' AIF360 had them.

    It took a false omission or discovery rate for 0 where nobody is rejected, or selected.
    """
    found = metric_values(contrast_of(labels, predicted, privileged))
    values = {number: float(found[number]) for number in OF_MODELS}
    for number in VARIATIONS:
        values[number] *= np.sqrt(2)
    for said, difference, ratio in ((0, "C3", "C7"), (1, "C4", "C8")):
        wrong = [
            float((labels != said)[chosen].mean()) if chosen.any() else 0.0
            for chosen in ((predicted == said) & (privileged == flag) for flag in (False, True))
        ]
        values[difference] = wrong[0] - wrong[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            values[ratio] = float(np.float64(wrong[0]) / wrong[1])
    return values


@cache
def _prepared(folder: Path, name: str) -> tuple[Floats, Labels, Flags, int]:
    """Return features, labels, who is privileged, and the column with the group."""
    if name == "adult":
        return _whole_adult(folder)
    data = load_dataset(name, data=folder)
    attribute = SEVEN[name]
    privileged = data.sensitive[attribute] == data.privileged[attribute]
    place = list(data.feature_names).index(attribute)
    return data.features, data.labels.astype(np.int64), privileged, place


def _whole_adult(folder: Path) -> tuple[Floats, Labels, Flags, int]:
    """Put both parts of Adult together, 48,842 rows: so the stored medians come out."""
    rows = []
    for path in (folder / "adult" / "adult.data", folder / "adult" / "adult.test"):
        if not path.is_file():
            raise DatasetMissingError("adult", [str(path)], dataset("adult").home)
        with path.open(encoding="utf-8", newline="") as file:
            # The second part begins with a comment, and its labels end in a full stop.
            rows += [row for row in csv.reader(file, skipinitialspace=True) if len(row) > 1]
    columns = {name: np.array([row[place] for row in rows]) for place, name in enumerate(ADULT)}
    kept = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
    features = {name: columns[name].astype(np.float64) for name in kept}
    male = columns["sex"] == "Male"
    features |= {"race": (columns["race"] == "White").astype(float), "sex": male.astype(float)}
    rich = np.char.startswith(columns["income"], ">50K").astype(np.int64)
    place = list(features).index("sex")
    return np.column_stack(list(scale_columns(features).values())), rich, male, place


def _weigh(labels: Labels, privileged: Flags) -> Floats:
    return independence_weights(privileged.astype(np.int64), labels)


def _logistic(own: Any, choice: Any) -> LogisticRegression:
    return LogisticRegression(max_iter=1000).fit(own[0], own[1])


def _reweighed(own: Any, choice: Any) -> LogisticRegression:
    X, y, privileged = own
    return LogisticRegression(max_iter=1000).fit(X, y, sample_weight=_weigh(y, privileged))


def _meta_fair(own: Any, choice: Any, seed: int, search: str) -> MetaFairClassifier:
    """Choose tau by the least average odds difference, the most negative, as the authors do."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreachedRatioWarning)
        for tau in TAUS:
            model = MetaFairClassifier(tau=tau, search=search, random_state=seed)
            model.fit(own[0], own[1], sensitive_features=own[2])
            # Where no bounds reach tau, their code keeps no classifier.
            if tau and model.bounds_ == (0, 0):
                continue
            contrast = contrast_of(choice[1], model.predict(choice[0]), choice[2])
            found.append((float(metric_values(contrast)["C9"]), tau, model))
    return min(found, key=lambda one: one[:2])[2]
