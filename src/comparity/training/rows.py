"""Rows that a score is trained on, held out or chosen by, with features checked at the door."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.errors import NonFiniteFeatureError, OptionError, OutOfRangeError, WeightError
from comparity.tables.features import LabelledItems
from comparity.tables.frames import of_engine, text_of
from comparity.tables.values import LARGEST, as_array, check_lengths, rows_of, values_of
from comparity.training.goals import PARITY, Choices, overall
from comparity.training.judged_loss import JudgedLoss
from comparity.training.losses import PairFamily, attribute_pairs, group_pairs, labelled_pairs

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

NAMED = 5
"""So many columns are named in an error."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scale:
    """Where features and labels have their zero and their unit.

    Attributes
    ----------
    centre, unit : ndarray, (p,)
        Mean and standard deviation of each feature; infinite for a constant one, so that it counts
        for nothing whatever it is on other rows.
    label_centre, label_unit : float
        The same of a label that is to be predicted.
    predicted : bool
        Whether it is, and not only ordered.
    """

    centre: Floats
    unit: Floats
    label_centre: float = 0.0
    label_unit: float = 1.0
    predicted: bool = False

    def standardise(self, X: Floats) -> Floats:
        """Return features in standard deviations from their means."""
        return np.asarray((X - self.centre) / self.unit)

    def labels(self, scores: Floats) -> Floats:
        """Return scores in the unit of the labels, where these are predicted."""
        return self.label_centre + self.label_unit * scores if self.predicted else scores


class CellWeights(NamedTuple):
    """What the model player is to minimise: weights of the objective and of the cells' losses."""

    objective: float
    wrong: Floats
    right: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Rows to train on or to choose by, with their pairs.

    Attributes
    ----------
    features : ndarray, (n, p)
        As they were given.
    scale : Scale
        What coefficients refer to.
    pairs : PairFamily
        The pairs that labels imply.
    parity : PairFamily or None
        All pairs of two groups, where a goal asks for them.
    target : ndarray or None
        Labels in their own unit, where they are to be predicted and not only ordered.
    weight : ndarray
        Weights of rows.
    judged : JudgedLoss or None
        The loss of judgments, where pairs were judged and not implied by labels.
    """

    features: Floats
    scale: Scale
    pairs: PairFamily
    parity: PairFamily | None
    target: Floats | None
    weight: Floats
    judged: JudgedLoss | None = None

    @property
    def counts_orders(self) -> bool:
        """Whether the share of wrong orders is what is minimised."""
        return self.target is None and self.judged is None

    @property
    def n_judged(self) -> int:
        """Number of rows, or of judgments, which have two rows each."""
        return len(self.weight) // (1 if self.judged is None else 2)

    @property
    def families(self) -> tuple[PairFamily, ...]:
        """The kinds of pairs, in the order of their cells."""
        return (self.pairs,) if self.parity is None else (self.pairs, self.parity)

    @property
    def share(self) -> Floats:
        """Weights of rows that sum to 1."""
        return np.asarray(self.weight / self.weight.sum())

    @property
    def n_cells(self) -> int:
        """Number of cells of all kinds of pairs."""
        return sum(len(family.cells) for family in self.families)

    def scores(self, parameters: Floats) -> Floats:
        """Return linear scores of all rows; standardised features are never stored."""
        slope = parameters / self.scale.unit
        return np.asarray(self.features @ slope - self.scale.centre @ slope)

    def accuracy(self, scores: Floats) -> Floats:
        """Return the accuracies of all cells; ``nan`` where there are no pairs."""
        return np.concatenate([family.sums(scores).accuracy for family in self.families])

    def smoothed(
        self, scores: Floats, width: float, weights: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return smoothed accuracies of all cells, 0 without pairs, and their weighted gradient."""
        found, slope, start = [], np.zeros(len(scores)), 0
        for family in self.families:
            cells = slice(start, start + len(family.cells))
            each = None if weights is None else weights[cells]
            rates, steeper = family.smoothed(scores, width=width, weights=each)
            found.append(rates)
            slope += steeper
            start = cells.stop
        return np.nan_to_num(np.concatenate(found)), slope

    def objective(self, scores: Floats, accuracy: Floats) -> float:
        """Return what is minimised: mean squared error, loss of judgments, or wrong orders."""
        if self.judged is not None:
            return self.judged.bits(scores)
        if self.target is not None:
            return float(np.average((scores - self.target) ** 2, weights=self.weight))
        share = overall(self.pairs, self.n_cells)
        return float(1 - np.nansum(share * accuracy))

    def slopes(
        self, scores: Floats, weights: CellWeights, choices: Choices
    ) -> tuple[Floats, Floats]:
        """Return accuracies of all cells, and the gradient of the weighted bounds in the scores."""
        slope = np.zeros(len(scores))
        if self.target is not None:
            slope += 2 * weights.objective * self.share * (scores - self.target)
        if self.judged is not None:
            slope += weights.objective * self.judged.gradient(scores)
        found = []
        for family, wrong, right in self.share_out(weights):
            sums = family.sums(
                scores, wrong=wrong, right=right, margin=choices.margin, squared=choices.squared
            )
            slope += sums.gradient
            found.append(sums.accuracy)
        # No goal rests on a cell without pairs.
        return np.nan_to_num(np.concatenate(found)), slope

    def gradient(
        self, parameters: Floats, weights: CellWeights, choices: Choices
    ) -> tuple[Floats, Floats]:
        """Return the same with the gradient in the coefficients, their penalty included."""
        found, slope = self.slopes(self.scores(parameters), weights, choices)
        return found, self.pull_back(slope) + 2 * choices.l2 * parameters

    def pull_back(self, slope: Floats) -> Floats:
        """Return the gradient in the coefficients of a linear score, from that in its scores."""
        raw = self.features.T @ slope - self.scale.centre * slope.sum()
        return np.asarray(raw / self.scale.unit)

    def share_out(self, weights: CellWeights) -> Iterator[tuple[PairFamily, Floats, Floats]]:
        """Yield the kinds of pairs with what the losses of their cells weigh."""
        wrong, start = weights.wrong, 0
        if self.counts_orders:
            wrong = wrong + weights.objective * overall(self.pairs, self.n_cells)
        for family in self.families:
            cells = slice(start, start + len(family.cells))
            yield family, wrong[cells], weights.right[cells]
            start = cells.stop


def training_rows(
    features: Floats, items: LabelledItems, kept: Codes, scale: Scale, choices: Choices
) -> Rows:
    """Lay out the pairs of some rows.

    Parameters
    ----------
    features : ndarray, (n, p)
    items : LabelledItems
        Labels, groups, queries and weights of all rows.
    kept : ndarray of int
        The rows wanted.
    scale : Scale
    choices : Choices
        What will be asked of the pairs.
    """
    some = take_items(items, kept)
    label, group = some.label, some.group
    how: dict[str, Any] = {"query": some.query, "weights": some.weight}
    if some.value is not None:
        pairs = attribute_pairs(label, some.value, **how)
    else:
        pairs = labelled_pairs(label, group, group_names(group, items.groups), **how)
        _check_apart(pairs, items.groups)
    return Rows(
        features=np.ascontiguousarray(features[kept]),
        scale=scale,
        pairs=pairs,
        parity=group_pairs(group, items.groups, **how) if PARITY in choices.goals else None,
        target=(label - scale.label_centre) / scale.label_unit if scale.predicted else None,
        weight=np.ones(len(kept)) if some.weight is None else some.weight,
    )


def group_names(group: Codes, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of groups, and a blank one, which no group has, for items in no group.

    Examples
    --------
    >>> group_names(np.array([0, 1, 2]), ("a", "b")), group_names(np.array([0, 1]), ("a", "b"))
    (('a', 'b', ''), ('a', 'b'))
    """
    return groups if group.max(initial=0) < len(groups) else (*groups, "")


def _check_apart(pairs: PairFamily, groups: tuple[str, ...]) -> None:
    """Refuse groups by whose names two kinds of pairs would be one."""
    named = [str(cell) for cell in pairs.cells]
    if len(set(named)) < len(named):
        why = f"two kinds of pairs would both be called {max(named, key=named.count)!r}"
        raise OptionError("sensitive_features", list(groups), ["names without ' > '"], why)


def check_features(X: NDArray[np.float64], names: NDArray[Any] | None = None) -> None:
    """Refuse features that are not finite, or so large that their variances are not.

    Parameters
    ----------
    X : ndarray, (n, p)
        One row for each item.
    names : ndarray, (p,), optional
        What errors call the columns; their positions by default.

    Raises
    ------
    NonFiniteFeatureError
        A feature is missing or infinite.
    OutOfRangeError
        A feature is larger than 1e30 in size.

    Examples
    --------
    >>> check_features(np.array([[1.0, 2.0], [3.0, 1e31]]), np.array(["age", "income"]))
    Traceback (most recent call last):
    comparity.errors.values.OutOfRangeError: column 'income' must hold numbers of at most 1e+30...
      found: 1 row (data row 2), such as '1e+31'
      hint:  check for placeholders such as 1e308, or choose a larger unit.
    """
    # NaN is never within.
    within = np.abs(X) <= LARGEST
    if within.all():
        return
    called = [f"X[:, {place}]" for place in range(X.shape[1])] if names is None else names
    lost = ~np.isfinite(X)
    if lost.any():
        columns = [text_of(called[place]) for place in np.flatnonzero(lost.any(axis=0))[:NAMED]]
        raise NonFiniteFeatureError(columns, rows_of(np.asarray(lost.any(axis=1))))
    first = int(np.flatnonzero(~within.all(axis=0))[0])
    raise OutOfRangeError(text_of(called[first]), rows_of(~within[:, first], X[:, first]), LARGEST)


def features_to_fit(
    estimator: Any, X: Any, y: Any, **how: Any
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return features and labels as scikit-learn checks them for ``fit``; features are finite."""
    # Imported here, as below: a linear score is trained by the command without scikit-learn.
    from sklearn.utils.validation import validate_data

    how |= {"dtype": np.float64, "ensure_min_samples": 2, "ensure_all_finite": False}
    X, y = validate_data(estimator, unmask(X), unmask(y), **how)
    check_features(X, getattr(estimator, "feature_names_in_", None))
    return X, y


def features_to_score(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Return finite features with the columns that an estimator was fitted to."""
    from sklearn.utils.validation import check_is_fitted, validate_data

    check_is_fitted(estimator)
    how = {"reset": False, "dtype": np.float64, "ensure_all_finite": False}
    features: Floats = validate_data(estimator, unmask(X), **how)
    check_features(features, getattr(estimator, "feature_names_in_", None))
    return features


def weigh_rows(
    X: Floats, y: NDArray[Any], columns: dict[str, Any], weights: Any
) -> tuple[Floats, dict[str, NDArray[Any]]]:
    """Return features and columns of the rows that weigh anything."""
    from sklearn.utils.validation import _check_sample_weight

    given = {name: as_array(one, name) for name, one in columns.items() if one is not None}
    given["y"] = y
    check_lengths(given)
    if weights is None:
        return X, given
    given["sample_weight"] = _check_sample_weight(unmask(weights), X, ensure_non_negative=True)
    kept = given["sample_weight"] > 0
    if not kept.any():
        raise WeightError("sample_weight", rows_of(~kept))
    return X[kept], {name: one[kept] for name, one in given.items()}


def sensitive_column(values: Any) -> NDArray[Any]:
    """Return the sensitive attribute as one column, also of a frame or a table with a single one.

    Raises
    ------
    OptionError
        There are several columns.

    Examples
    --------
    >>> sensitive_column(np.array([["f"], ["m"]])).tolist()
    ['f', 'm']
    """
    shape: tuple[int, ...] = getattr(values, "shape", ())
    if len(shape) != 2:
        return as_array(values, "sensitive_features")
    if shape[1] != 1:
        wanted = "one column: join several as text, such as 'f & old'"
        raise OptionError("sensitive_features", f"{shape[1]} columns", [wanted])
    return values_of(values, "sensitive_features")[:, 0]


def unmask(values: Any) -> Any:
    """Return values as they are, but missing where numpy masks them: scikit-learn forgets masks.

    Examples
    --------
    >>> unmask(np.ma.masked_equal([1, 2, -999], -999)).tolist()
    [1.0, 2.0, nan]
    """
    if not isinstance(values, np.ma.MaskedArray):
        # Refuses two columns of one name; scikit-learn would show an error of another package.
        of_engine(values)
        return values
    if not np.ma.getmaskarray(values).any():
        return values.data
    if values.dtype.kind in "biuf":
        return np.ma.filled(values.astype(np.float64), np.nan)
    return values_of(values, "array")


def take_items(items: LabelledItems, kept: Codes) -> LabelledItems:
    """Return some of the rows."""
    columns = {one.name: getattr(items, one.name) for one in fields(items) if one.name != "groups"}
    # A number has no groups: their column is empty.
    given = {name: one for name, one in columns.items() if one is not None and len(one)}
    return replace(items, **{name: one[kept] for name, one in given.items()})
