"""Predict the first decision maker's decisions about everybody, with errors by group.

A bridge needs the errors of a prediction :math:`f` on both sides, :math:`E_0 = f - R_0` on the
subjects of the first and :math:`E_1 = f - R_1` on those of the second. What :math:`E_0` is taken on
decides whether a test of them is right:

in sample
    On the very data :math:`f` was fitted to (equations (6)-(7) of [1]_). Right for a stiff model
    such as ridge regression; a model that memorises decisions has no errors there, and
    nothing is left of the correction.
held out
    On a part of the data that :math:`f` was not fitted to, as in the authors' code. Right for any
    model, at the cost of the rest.
cross-fitted
    Each part in turn is predicted from the others, and the second's subjects by the mean of all
    the models. For every one of these models its mean prediction on the part it did not see and on
    the second's subjects have the same expectation in each group, where both sets of subjects are
    alike; so whatever the model, its error cancels and the gap is estimated without bias, from
    all the data. One model fitted to everything would not do for the second's subjects: it is a
    little better than those that predict the first's.

References
----------
.. [1] Yu and Xi, "Differential Parity: Relative Fairness Between Two Sets of Decisions".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.differences import DifferenceCounts
from comparity.counts.pairs import ROUNDING
from comparity.errors import NoBridgeError, OptionError, TooFewSubjectsError
from comparity.relative.options import BridgeOptions
from comparity.relative.subjects import DecidedSubjects, Reweighed
from comparity.tables.columns import check_option

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

REGRESSORS = ("ridge", "forest")
"""Names that stand for a regressor; any other is given as itself."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictions:
    """The first's decisions as predicted for both sets of subjects.

    Attributes
    ----------
    first, second : ndarray of float
        Predictions for the subjects of the first and of the second.
    judged : ndarray of bool
        Subjects of the first whose errors count: all, or those held out.
    """

    first: Floats
    second: Floats
    judged: NDArray[np.bool_]


def regressor_of(given: Any) -> Any:
    """Return an unfitted regressor.

    Parameters
    ----------
    given : {"ridge", "forest"} or scikit-learn regressor
        Ridge regression on standardised features, its penalty chosen by leaving one out; a random
        forest; or any other, as it is.
    """
    if isinstance(given, str):
        check_option("regressor", given, REGRESSORS)
    if given == "forest":
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(n_estimators=200, min_samples_leaf=5)
    if given == "ridge":
        from sklearn.linear_model import RidgeCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-2, 4, 13)))
    methods = ("fit", "predict", "get_params")
    if isinstance(given, type) or not all(hasattr(given, name) for name in methods):
        choices = [*map(repr, REGRESSORS), "an instance of a scikit-learn regressor"]
        raise OptionError("regressor", given, choices)
    return given


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """What predictions are made from, or predictions made."""

    features: tuple[Any, Any] | None = None
    predictions: Predictions | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.features is None) == (self.predictions is None):
            raise NoBridgeError(both=self.features is not None)

    def predict(
        self, sides: DecidedSubjects, regressor: Any, options: BridgeOptions
    ) -> tuple[Predictions, Predictions | None]:
        """Return predictions, and such about unseen subjects where these are not."""
        if self.predictions is not None:
            return self.predictions, None
        assert self.features is not None
        asked, rng = (sides, self.features, regressor), np.random.default_rng(options.seed)
        if options.errors == "held-out":
            return predict_held_out(*asked, share=options.held_out, rng=rng), None
        parts = predict_by_parts(*asked, folds=options.folds, rng=rng)
        if options.errors == "training":
            return predict_in_sample(*asked, rng=rng), parts
        return parts, None


def predict_by_parts(
    subjects: DecidedSubjects,
    features: tuple[Any, Any],
    regressor: Any,
    *,
    folds: int,
    rng: np.random.Generator,
) -> Predictions:
    """Predict every part of the first's subjects from the others, the second's by all models.

    A subject whom both decided about is predicted on both sides by the model that did not see it,
    so that its two errors differ by its two decisions.

    Parameters
    ----------
    subjects : DecidedSubjects
    features : pair
        Rows of both sides, as a regressor takes them.
    regressor : scikit-learn regressor
        Copied, never changed.
    folds : int
        Number of parts; each has its share of every group, and of those whom both decided about.
    rng : Generator
        Draws the parts.

    Raises
    ------
    TooFewSubjectsError
        A group of the first has fewer subjects than there are folds.
    """
    part = _parts(subjects, folds, rng)
    known, others = features
    decision, twin = subjects.decisions[0], subjects.twin
    seed = int(rng.integers(2**31))
    first, second = np.empty(subjects.sizes[0]), np.zeros(subjects.sizes[1])
    own = np.zeros(subjects.sizes[1])
    part_of_twin = np.where(twin >= 0, part[twin], -1)
    for k in range(folds):
        left_out = part == k
        model = _copy(regressor, seed).fit(known[~left_out], decision[~left_out])
        first[left_out] = _flat(model.predict(known[left_out]))
        predicted = _flat(model.predict(others))
        second += predicted / folds
        own = np.where(part_of_twin == k, predicted, own)
    return Predictions(
        first=first,
        second=np.where(twin >= 0, own, second),
        judged=np.ones(len(first), dtype=bool),
    )


def predict_held_out(
    subjects: DecidedSubjects,
    features: tuple[Any, Any],
    regressor: Any,
    *,
    share: float,
    rng: np.random.Generator,
) -> Predictions:
    """Predict a share of each group of the first, and all of the second's, from the other ones."""
    for group, size in zip(subjects.groups, _sizes(subjects), strict=True):
        if min(share, 1 - share) * size < 2:
            needed = math.ceil(2 / min(share, 1 - share))
            raise TooFewSubjectsError(
                group, "first", size, needed, f"to hold out {100 * share:.2g}%"
            )
    place = _places(subjects, rng)
    sizes = np.array(_sizes(subjects))[subjects.group[0]]
    judged = place < np.ceil(share * sizes)
    known, others = features
    seed = int(rng.integers(2**31))
    model = _copy(regressor, seed).fit(known[~judged], subjects.decisions[0][~judged])
    return Predictions(
        first=_flat(model.predict(known)), second=_flat(model.predict(others)), judged=judged
    )


def predict_in_sample(
    subjects: DecidedSubjects,
    features: tuple[Any, Any],
    regressor: Any,
    *,
    rng: np.random.Generator,
) -> Predictions:
    """Predict everybody by one model fitted to all of the first's decisions."""
    known, others = features
    model = _copy(regressor, int(rng.integers(2**31))).fit(known, subjects.decisions[0])
    first = _flat(model.predict(known))
    judged = np.ones(len(first), dtype=bool)
    return Predictions(first=first, second=_flat(model.predict(others)), judged=judged)


def _sizes(subjects: DecidedSubjects) -> list[int]:
    return [int(size) for size in np.bincount(subjects.group[0], minlength=2)]


def _parts(subjects: DecidedSubjects, folds: int, rng: np.random.Generator) -> Codes:
    """Deal the first's subjects out into parts, evenly within groups and among the shared."""
    for group, size in zip(subjects.groups, _sizes(subjects), strict=True):
        if size < folds:
            why = f"for {folds} folds"
            raise TooFewSubjectsError(group, "first", size, folds, why)
    return _places(subjects, rng) % folds


def _places(subjects: DecidedSubjects, rng: np.random.Generator) -> Codes:
    """Return a random order of the first's subjects within groups, those of both sides last."""
    order = rng.permutation(subjects.sizes[0])
    strata = 2 * subjects.group[0] + subjects.is_shared
    order = order[np.argsort(strata[order], kind="stable")]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.concatenate([np.arange(size) for size in _sizes(subjects)])
    return place


def _copy(regressor: Any, seed: int) -> Any:
    """Return an unfitted copy; what it draws at random is drawn from the seed."""
    from sklearn.base import clone

    copy = clone(regressor)
    free = {
        name: seed
        for name, value in copy.get_params().items()
        if value is None and name.split("__")[-1] == "random_state"
    }
    return copy.set_params(**free) if free else copy


def _flat(predicted: Any) -> Floats:
    return np.asarray(predicted, dtype=np.float64).reshape(-1)


# Of the largest number there is; a regressor's predictions are off by more than one rounding.
LAST_DIGITS = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shared:
    """Both errors of the subjects of a group whom both decided about, in the same order.

    Attributes
    ----------
    first, second : ndarray of float
        Prediction minus the first's, and minus the second's decision.
    """

    first: Floats
    second: Floats

    def __len__(self) -> int:
        return len(self.first)

    @property
    def difference(self) -> Floats:
        """The second minus the first, which is constant where decisions differ by a constant."""
        found: Floats = self.second - self.first
        largest = np.abs([self.first, self.second]).max(initial=0.0)
        if not largest:
            return found
        return np.round(found, _decimals(float(largest)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BridgeErrors:
    """Errors of a prediction on both sides, by group.

    Attributes
    ----------
    groups : tuple of str
        The reference group and the group whose gap over it is asked for.
    first, second : tuple of ndarray
        Errors of subjects of one side only, for each group.
    shared : tuple of Shared
        Errors of subjects of both sides, for each group.
    reweighed : tuple of Reweighed, optional
        By group, what makes the first's subjects look like the second's; nothing by default.
    """

    groups: tuple[str, str]
    first: tuple[Floats, Floats]
    second: tuple[Floats, Floats]
    shared: tuple[Shared, Shared]
    reweighed: tuple[Reweighed, Reweighed] | None = None

    @property
    def n_shared(self) -> int:
        """Subjects of both sides."""
        return sum(map(len, self.shared))

    def n_of(self, group: int) -> int:
        """Return the decisions about a group, of both sides."""
        return sum(len(self.all_of(side, group)) for side in (0, 1))

    def all_of(self, side: int, group: int) -> Floats:
        """Return the errors of one side and group, shared subjects last."""
        alone = (self.first, self.second)[side][group]
        both = self.shared[group]
        return np.concatenate([alone, (both.first, both.second)[side]])


def bridge_errors(
    subjects: DecidedSubjects,
    predictions: Predictions,
    reweighed: tuple[Reweighed, Reweighed] | None = None,
) -> BridgeErrors:
    """Take the errors of predictions apart by side and group.

    Those of the first weigh as `reweighed` says, where nobody was decided about by both.
    """
    first, second = errors_of(subjects, predictions)
    twin = subjects.twin
    alone_first = predictions.judged & ~subjects.is_shared

    def of(place: int) -> tuple[Floats, Floats, Shared]:
        here = subjects.group[1] == place
        rows = np.flatnonzero(here & (twin >= 0))
        return (
            first[alone_first & (subjects.group[0] == place)],
            second[here & (twin < 0)],
            Shared(first=first[twin[rows]], second=second[rows]),
        )

    (e0, e1, both), (f0, f1, both_too) = (_with_variance(*of(place)) for place in (0, 1))
    return BridgeErrors(
        groups=subjects.groups,
        first=(e0, f0),
        second=(e1, f1),
        shared=(both, both_too),
        reweighed=reweighed,
    )


def errors_of(subjects: DecidedSubjects, predictions: Predictions) -> tuple[Floats, Floats]:
    """Return predictions minus decisions of both sides, by subject."""
    first = _without_rounding(predictions.first, subjects.decisions[0])
    return first, _without_rounding(predictions.second, subjects.decisions[1])


def _without_rounding(predicted: Floats, decisions: Floats) -> Floats:
    """Return errors without what is rounding: a rule that is predicted up to a constant has none.

    Left in, rounding errors would be the variation that a gap is measured by.
    """
    largest = max(np.abs(predicted).max(), np.abs(decisions).max())
    errors = np.round(predicted - decisions, _decimals(float(largest)))
    return np.where(np.abs(errors) <= ROUNDING * decisions.std(), 0.0, errors)


def _decimals(largest: float) -> int:
    """Return how many decimals of a difference of two numbers up to this large mean anything."""
    return -math.ceil(math.log10(LAST_DIGITS * largest))


def _with_variance(first: Floats, second: Floats, both: Shared) -> tuple[Floats, Floats, Shared]:
    """Join what is alone of its kind to others, since one row has no variance.

    A single shared subject counts as one of each side: that its two errors are dependent is lost
    among the others. A single subject of one side beside shared ones is set aside.
    """
    if len(both) == 1:
        first, second = np.append(first, both.first), np.append(second, both.second)
        both = Shared(first=np.empty(0), second=np.empty(0))
    if len(both):
        first = first if len(first) > 1 else np.empty(0)
        second = second if len(second) > 1 else np.empty(0)
    return first, second, both


def second_errors(errors: BridgeErrors) -> DifferenceCounts:
    """Count the prediction minus the second's decisions by group, reference group first."""
    own = [errors.all_of(1, place) for place in (0, 1)]
    groups = np.repeat([0, 1], [len(one) for one in own])
    return DifferenceCounts.of(np.concatenate(own), groups, errors.groups)
