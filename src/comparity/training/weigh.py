"""Weights of rows that make groups and labels look unrelated, or labels alike in every group.

All are functions of how often a label and a group occur, alone and together; with :math:`n_{ay}`
rows of group :math:`a` and label :math:`y`,

==================  ==========================================  ===================================
weights             of a row                                    what becomes equal
==================  ==========================================  ===================================
reweighing          :math:`n_a n_y / n_{ay}`                    the label's distribution in groups
fair balance        :math:`n_a / n_{ay}`                        all labels within every group
equal groups        :math:`1 / n_{ay}`                          all labels within, and all groups
fair reweighing     :math:`p(a) p(y) / p(a, y)`                 as reweighing, with densities
==================  ==========================================  ===================================

and all are rescaled to sum to the number of rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counts.densities import kernel_densities, neighbour_counts, standardise
from comparity.errors import EmptyTableError, OneGroupError, OptionError, UnknownGroupError
from comparity.errors.fits import LabelAbsentError, MissingCombinationWarning
from comparity.tables.columns import check_option
from comparity.tables.features import UNNAMED, as_array, named_attributes
from comparity.tables.frames import is_missing, of_engine, text_of
from comparity.tables.typing import Attributes, Column
from comparity.tables.values import as_array as checked_array
from comparity.tables.values import (
    binary,
    bounded_numbers,
    check_lengths,
    cross_attributes,
    factorise,
    group_codes,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def reweighing(y: Column, *, sensitive_features: Attributes) -> Floats:
    r"""Return weights that make the label independent of the group.

    .. math:: w(a, y) = \frac{|A = a| \cdot |Y = y|}{n \, |A = a, Y = y|}

    Weighted so, every group has the same distribution of labels [1]_. A row weighs more than 1
    where its combination is rarer than independence would have it.

    Parameters
    ----------
    y : array-like
        Labels, of any kind; every distinct value is a class.
    sensitive_features : array-like, mapping or frame
        The group of each row. Of several attributes the combinations are the groups, as in the
        authors' code of [2]_.

    Returns
    -------
    ndarray
        One positive weight for each row, summing to the number of rows; ready for
        ``sample_weight``.

    Warns
    -----
    MissingCombinationWarning
        A group lacks a label, so that no weights can make them independent.

    References
    ----------
    .. [1] Kamiran and Calders, "Data preprocessing techniques for classification without
       discrimination", 2012.
    .. [2] Xi, Capak, Stockwell and Yu, "Comparative Separation", section 4.2.

    Examples
    --------
    >>> reweighing([1, 1, 0, 1, 0, 0], sensitive_features=list("aaabbb")).tolist()
    [0.75, 0.75, 1.5, 1.5, 0.75, 0.75]
    """
    group, label, missing = group_and_label(y, sensitive_features)
    if missing is not None:
        warnings.warn(missing, stacklevel=2)
    return independence_weights(group, label)


def independence_weights(group: Codes, label: Codes) -> Floats:
    r"""Return :math:`n_a n_y / n_{ay}` for every row, rescaled to sum to the number of rows.

    Examples
    --------
    >>> independence_weights(np.array([0, 0, 0, 1]), np.array([0, 1, 1, 0])).round(3).tolist()
    [1.714, 0.857, 0.857, 0.571]
    """
    table = _count_rows(group, label)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return _rescale((expected / np.maximum(table, 1))[group, label])


def fair_balance(
    y: Column, *, sensitive_features: Attributes, equal_groups: bool = False
) -> Floats:
    r"""Return weights that make all labels equally frequent within every group.

    .. math:: w(a, y) = \frac{|A = a|}{k \, |A = a, Y = y|}

    with :math:`k` classes [1]_. Groups keep their size; with `equal_groups`, the variant of the
    authors, they all weigh the same: :math:`w(a, y) \propto 1 / |A = a, Y = y|`.

    Parameters
    ----------
    y, sensitive_features
        As in :func:`reweighing`.
    equal_groups : bool
        Whether groups shall weigh the same, too.

    Returns
    -------
    ndarray
        One positive weight for each row, summing to the number of rows.

    References
    ----------
    .. [1] Yu, Chakraborty and Menzies, "FairBalance: how to achieve equalized odds with data
       pre-processing", IEEE Transactions on Software Engineering, 2024.

    Examples
    --------
    >>> fair_balance([1, 1, 1, 0, 1, 0], sensitive_features=list("aaaabb")).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0, 1.0, 1.0]
    >>> fair_balance([0, 1, 1, 0, 1], sensitive_features=list("aaabb"), equal_groups=True).tolist()
    [1.25, 0.625, 0.625, 1.25, 1.25]
    """
    group, label, missing = group_and_label(y, sensitive_features)
    if missing is not None:
        warnings.warn(missing, stacklevel=2)
    return balancing_weights(group, label, equal_groups=equal_groups)


def balancing_weights(group: Codes, label: Codes, *, equal_groups: bool) -> Floats:
    """Return n_a / n_ay for every row, or 1 / n_ay, rescaled to sum to the number of rows."""
    table = _count_rows(group, label)
    sizes = np.ones((len(table), 1)) if equal_groups else table.sum(axis=1, keepdims=True)
    return _rescale((sizes / np.maximum(table, 1))[group, label])


def fair_reweighing(
    y: Column,
    *,
    sensitive_features: Attributes,
    density: str = "neighbours",
    radius: float = 0.5,
    bandwidth: float = 0.2,
) -> Floats:
    r"""Return weights that make a continuous label independent of groups or numbers.

    .. math:: w(a, y) = \frac{p(a) \, p(y)}{p(a, y)}

    with estimated densities [1]_. Columns that hold numbers are standardised. The density at a row
    is the number of rows nearer than `radius` (the authors' code), or a sum of Gaussian kernels of
    width `bandwidth`, both in standard deviations.

    Parameters
    ----------
    y : array-like
        Labels as numbers.
    sensitive_features : array-like, mapping or frame
        One or several attributes. Text, true/false and categories of a frame are groups, which
        match or do not; numbers are near or far. Groups coded 0 and 1 come to the same: they lie
        at least two standard deviations apart.
    density : {"neighbours", "kernel"}
    radius, bandwidth : float
        Only one of them is used.

    Returns
    -------
    ndarray
        One positive weight for each row, summing to the number of rows. A row alone in its
        surroundings weighs most; look at the effective number of rows before trusting a fit.

    References
    ----------
    .. [1] Xi and Yu, "FairReweighing: density estimation-based reweighing framework for improving
       separation in fair regression"; the weights of "Comparative Separation", section 4.2.2.

    Examples
    --------
    >>> w = fair_reweighing([1.0, 2.0, 3.0, 1.0], sensitive_features=["a", "a", "b", "b"])
    >>> w.round(3).tolist()
    [1.333, 0.667, 0.667, 1.333]
    """
    check_option("density", density, ("neighbours", "kernel"))
    for name, value in (("radius", radius), ("bandwidth", bandwidth)):
        if not isinstance(value, int | float | np.number) or not 0 < value < math.inf:
            raise OptionError(name, value, ["a positive number of standard deviations"])
    label, attributes = _columns(y, sensitive_features)
    for name in _categories(sensitive_features):
        attributes[name] = as_words(attributes[name])
    values, groups = [np.zeros((len(label), 0))], {}
    for name, column in attributes.items():
        if _holds_numbers(column):
            values.append(bounded_numbers(column, name, "array")[:, None])
            if np.ptp(values[-1]) == 0:
                raise OneGroupError(name, [text_of(values[-1][0, 0])])
        else:
            groups[name] = group_codes(column, name, "array")
    group = cross_groups(groups)[0] if groups else np.zeros(len(label), dtype=np.int64)
    a = standardise(np.hstack(values))
    y = standardise(bounded_numbers(label, "y", "array")[:, None])
    by_kernels, width = density == "kernel", bandwidth if density == "kernel" else radius
    densities: Callable[..., Floats] = kernel_densities if by_kernels else neighbour_counts
    apart = densities(a, group, width) * densities(y, np.zeros_like(group), width)
    return _rescale(apart / densities(np.column_stack([a, y]), group, width))


def debiasing_weights(
    y: ArrayLike, *, sensitive_features: ArrayLike, reference: Any = None
) -> NDArray[np.float64]:
    r"""Return weights that balance positive and negative rows alike in every group.

    Only negative rows outside the reference group r are weighted, by

    .. math:: \alpha_{g} = \frac{n_{r,-} / n_{r,+}}{n_{g,-} / n_{g,+}}

    and all others count once, which imitates sampling more negative rows of a group [1]_, [2]_.
    A pair weighs the product of its rows' weights, as `sample_weight` has it in
    :class:`comparity.FairRanker`: with ``goal=None`` that is the baseline "debiased" of [2]_.

    Parameters
    ----------
    y : array-like
        Labels 0 and 1, or true and false.
    sensitive_features : array-like
        Group of each row; any number of groups.
    reference : optional
        The group whose proportion the others get; the largest by default, and of equally large
        ones the first.

    Returns
    -------
    ndarray
        One positive weight for each row. They are not rescaled: no weight of the reference group
        differs from 1.

    Raises
    ------
    LabelAbsentError
        A group has only one of the labels.

    References
    ----------
    .. [1] Dixon, Li, Sorensen, Thain and Vasserman, "Measuring and mitigating unintended bias in
       text classification", 2018.
    .. [2] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression",
       AAAI 2020, appendix.

    Examples
    --------
    >>> debiasing_weights([1, 0, 0, 0, 1, 0], sensitive_features=list("aaaabb")).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 3.0]
    """
    labels = checked_array(y, "y")
    column = checked_array(sensitive_features, "sensitive_features")
    check_lengths({"y": labels, "sensitive_features": column})
    group, names = group_codes(column, "sensitive_features", "array")
    code, values = factorise(labels)
    positive = binary(values, "y", role="label", positive=None)[code].astype(np.int64)
    table = np.zeros((len(names), 2), dtype=np.int64)
    found = _count_rows(group, positive)
    table[:, : found.shape[1]] = found
    for label in (0, 1):
        lacking = [names[g] for g in np.flatnonzero(table[:, label] == 0)]
        if lacking:
            raise LabelAbsentError(lacking, str(label))
    place = _reference(reference, names, table)
    ratio = table[:, 0] / table[:, 1]
    return np.where(positive == 1, 1.0, (ratio[place] / ratio)[group])


def _reference(asked: Any, names: list[str], table: NDArray[np.int64]) -> int:
    if asked is None:
        return int(table.sum(axis=1).argmax())
    if text_of(asked) not in names:
        raise UnknownGroupError(text_of(asked), "sensitive_features", names)
    return names.index(text_of(asked))


def _columns(y: Any, sensitive_features: Any) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    label = checked_array(as_array(y), "y")
    attributes = {
        name: checked_array(column, name)
        for name, column in named_attributes(sensitive_features).items()
    }
    check_lengths({"y": label, **attributes})
    if not attributes:
        raise OptionError("sensitive_features", [], ["at least one column"])
    if not len(label):
        raise EmptyTableError("array")
    return label, attributes


def _holds_numbers(column: NDArray[Any]) -> bool:
    """Return whether all there is in a column are numbers, however they are kept."""
    if column.dtype.kind != "O":
        return column.dtype.kind in "iuf"
    known = [value for value in column.tolist() if not is_missing(value)]
    return bool(known) and all(
        isinstance(value, Number) and not isinstance(value, bool | np.bool_) for value in known
    )


def _categories(sensitive_features: Any) -> list[str]:
    """Return the attributes that a frame or a series declares to be categories."""
    given = sensitive_features
    if not isinstance(given, Mapping):
        given = {None: sensitive_features}
    types: dict[str, Any] = {}
    for name, one in given.items():
        native = of_engine(one)
        if isinstance(native, nw.DataFrame | nw.LazyFrame):
            schema = native.collect_schema().items()
            types |= {str(column if name is None else name): dtype for column, dtype in schema}
        else:
            own = name or getattr(native, "name", None) or UNNAMED
            types[str(own)] = getattr(native, "dtype", None)
    named = (nw.Categorical, nw.Enum)
    # Categories of pandas that are in no series have a type of their own.
    return [one for one, is_ in types.items() if isinstance(is_, named) or str(is_) == "category"]


def as_words(column: NDArray[Any]) -> NDArray[Any]:
    """Return numbers that name groups as words; gaps stay gaps."""
    words = [None if is_missing(value) else text_of(value) for value in column.tolist()]
    found = np.empty(len(words), dtype=object)
    found[:] = words
    return found


def group_and_label(
    y: Any, sensitive_features: Any
) -> tuple[Codes, Codes, MissingCombinationWarning | None]:
    """Return group and label of each row as codes, and what to say of missing combinations."""
    column, attributes = _columns(y, sensitive_features)
    coded = {name: group_codes(one, name, "array") for name, one in attributes.items()}
    group, groups = cross_groups(coded)
    label, labels = group_codes(column, "y", "array", several=False)
    missing = np.argwhere(_count_rows(group, label) == 0).tolist()
    pairs = [f"{groups[a]}, {labels[b]}" for a, b in missing]
    return group, label, MissingCombinationWarning(pairs) if pairs else None


def cross_groups(groups: Mapping[str, tuple[Codes, list[str]]]) -> tuple[Codes, list[str]]:
    """Return codes and names of the combinations of groups."""
    return list(cross_attributes(dict(groups), intersection=True).values())[-1]


def _count_rows(group: Codes, label: Codes) -> Codes:
    """Count rows by group and label, given as codes from 0 on."""
    shape = int(group.max()) + 1, int(label.max()) + 1
    return np.bincount(group * shape[1] + label, minlength=shape[0] * shape[1]).reshape(shape)


def _rescale(weights: Floats) -> Floats:
    """Return weights that sum to the number of rows."""
    return np.asarray(weights * (len(weights) / weights.sum()))


def effective_rows(weights: Floats) -> float:
    """Return how many equally weighted rows these are worth: (sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / (weights**2).sum())


METHODS: dict[str, Callable[[Codes, Codes], Floats]] = {
    "reweighing": independence_weights,
    "fair-balance": partial(balancing_weights, equal_groups=False),
    "fair-balance-equal-groups": partial(balancing_weights, equal_groups=True),
}
"""Weights from groups and labels, by the name that the command line gives them."""
