"""What items are as contrasts, which biases act on, and what fixes the level of the biases.

Adding a constant to every evaluator's bias for a group and taking it from the scores of that
group's items leaves every margin as it was. So data tell evaluators apart, and an assumption, the
*anchor*, says where zero is:

- ``"equal group means"``: items of all groups have the same mean score,
- ``"zero mean bias"``: biases of all evaluators sum to zero,
- trusted evaluators, named: they have no bias.

Choosing an anchor moves the fit along the directions in which the likelihood is flat. The move is
linear in the parameters, so the same few vectors give estimates and their errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.errors import AnchorError, DependentGroupsError, OptionError, UnknownReferenceError
from comparity.ranking.fits import GroupContrast
from comparity.tables.frames import collect_columns, of_engine, text_of
from comparity.tables.values import (
    as_array,
    bounded_numbers,
    check_groups,
    check_lengths,
    group_codes,
)

Floats = NDArray[np.float64]

UNNAMED = "group"
ONE_MORE = "one unit more"
PARTS = "the sum of its parts"
EQUAL_MEANS = "equal group means"
ZERO_MEAN = "zero mean bias"
ANCHORS = (EQUAL_MEANS, ZERO_MEAN)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemAttribute:
    """A sensitive attribute: group of each item as a code, the reference group first.

    Attributes
    ----------
    name : str
    codes : ndarray of int
        Group of each item.
    groups : tuple of str
        Names of the groups; the first is the one biases are measured against.
    """

    name: str
    codes: NDArray[np.int64]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrasts:
    """Columns with an entry for each item, one bias of each evaluator for each column.

    Attributes
    ----------
    columns : ndarray of int8 or float, (items, contrasts)
        1 where the item is of the contrast's group, else 0; or a number of the item.
    names : tuple of GroupContrast
    precision : ndarray, (contrasts, contrasts)
        Inverse covariance of one evaluator's biases where the prior has SD 1. Within an attribute
        every difference of two groups has the same SD, whichever group is the reference.
    attributes : tuple of ItemAttribute
        The groups they come from.
    """

    columns: NDArray[Any]
    names: tuple[GroupContrast, ...]
    precision: Floats
    attributes: tuple[ItemAttribute, ...]


def attributes_of(sensitive_features: Any, reference: Any = None) -> tuple[ItemAttribute, ...]:
    """Return sensitive features by name, each with its reference group first.

    Parameters
    ----------
    sensitive_features : array_like, series, mapping or frame
        Group of each item: one attribute, or several as a mapping or the columns of a frame.
    reference : object or mapping, optional
        The group a bias is measured against, for one attribute or by name; the first in sorted
        order by default.

    Examples
    --------
    >>> attributes_of(["f", "m", "m"])[0].groups
    ('f', 'm')
    >>> attributes_of(["f", "m", "m"], reference="m")[0].groups
    ('m', 'f')
    """
    columns = _columns_by_name(sensitive_features)
    if not columns:
        raise OptionError("sensitive_features", sensitive_features, ["one or more columns"])
    check_lengths(columns)
    wanted = reference if isinstance(reference, Mapping) else dict.fromkeys(columns, reference)
    for name in wanted:
        if name not in columns:
            raise OptionError("reference", name, [repr(column) for column in columns])
    return tuple(_attribute(name, array, wanted.get(name)) for name, array in columns.items())


def contrasts_of(
    attributes: tuple[ItemAttribute, ...],
    intersections: tuple[tuple[tuple[str, str], ...], ...] = (),
    numbers: Mapping[str, Floats] | None = None,
) -> Contrasts:
    """Return a column for every group but the reference, every intersection and every number.

    Parameters
    ----------
    attributes : tuple of ItemAttribute
    intersections : tuple
        Each a tuple of (attribute, group); its column is 1 where an item is of all these groups.
    numbers : mapping of str to ndarray, optional
        Numbers of the items by what they are. The prior of their biases is for a step of one SD.
    """
    columns: list[NDArray[Any]] = []
    names, blocks = [], []
    for one in attributes:
        columns += [one.codes == code for code in range(1, len(one.groups))]
        names += [
            GroupContrast(attribute=one.name, group=group, reference=one.groups[0])
            for group in one.groups[1:]
        ]
        n = len(one.groups)
        blocks.append(2 * (np.eye(n - 1) - 1 / n))
    for parts in intersections:
        columns.append(members_of(attributes, parts))
        names.append(
            GroupContrast(
                attribute=" x ".join(attribute for attribute, _ in parts),
                group=" & ".join(group for _, group in parts),
                reference=PARTS,
            )
        )
        blocks.append(np.eye(1))
    for name, values in (numbers or {}).items():
        columns.append(values)
        names.append(GroupContrast(attribute=name, group=ONE_MORE, reference=""))
        blocks.append(np.full((1, 1), np.var(values)))
    size = len(columns)
    precision = np.zeros((size, size))
    place = 0
    for block in blocks:
        part = slice(place, place + len(block))
        precision[part, part] = block
        place += len(block)
    table = np.column_stack(columns).astype(np.float64 if numbers else np.int8)
    kinds = table if numbers else table[_one_of_each_kind(attributes)]
    if np.linalg.matrix_rank(np.column_stack([np.ones(len(kinds)), kinds])) <= size:
        raise DependentGroupsError(names)
    return Contrasts(columns=table, names=tuple(names), precision=precision, attributes=attributes)


def numbers_of(numbers: Any) -> dict[str, Floats]:
    """Return numbers of items by name, checked to be finite and not all the same.

    Examples
    --------
    >>> numbers_of({"length": [1, 2, 4]})
    {'length': array([1., 2., 4.])}
    """
    columns = {} if numbers is None else _columns_by_name(numbers)
    check_lengths(columns)
    found = {}
    for name, values in columns.items():
        found[name] = bounded_numbers(values, name, "items")
        if len(found[name]) and (found[name] == found[name][0]).all():
            raise OptionError("numbers", name, ["numbers in which items differ"])
    return found


def _one_of_each_kind(attributes: tuple[ItemAttribute, ...]) -> NDArray[np.intp]:
    """Return an item of every combination of groups there is; all contrasts follow from these."""
    kind = np.zeros(len(attributes[0].codes), dtype=np.int64)
    for one in attributes:
        # Numbered again each time, kinds stay as few as there are items.
        _, kind = np.unique(kind * len(one.groups) + one.codes, return_inverse=True)
    return np.unique(kind, return_index=True)[1]


def members_of(
    attributes: tuple[ItemAttribute, ...], parts: tuple[tuple[str, str], ...]
) -> NDArray[np.bool_]:
    """Say which items are of all the groups named, as (attribute, group)."""
    by_name = {one.name: one for one in attributes}
    found = [_member(by_name[name], group) for name, group in parts]
    return np.asarray(np.logical_and.reduce(found))


def _member(attribute: ItemAttribute, group: str) -> NDArray[np.bool_]:
    if group not in attribute.groups:
        raise UnknownReferenceError(attribute.name, group, attribute.groups, role="group")
    return np.asarray(attribute.codes == attribute.groups.index(group))


def _attribute(name: str, array: NDArray[Any], reference: object) -> ItemAttribute:
    codes, groups = group_codes(array, name, "items")
    check_groups({name: groups})
    if reference is None:
        return ItemAttribute(name=name, codes=codes, groups=tuple(groups))
    first = text_of(reference)
    if first not in groups:
        raise UnknownReferenceError(name, first, groups)
    order = [first, *(group for group in groups if group != first)]
    place = np.array([order.index(group) for group in groups], dtype=np.int64)
    return ItemAttribute(name=name, codes=place[codes], groups=tuple(order))


def _columns_by_name(sensitive_features: Any) -> dict[str, NDArray[Any]]:
    if isinstance(sensitive_features, Mapping):
        return {str(name): _to_array(values, name) for name, values in sensitive_features.items()}
    native = of_engine(sensitive_features)
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        return collect_columns(native.lazy())
    if isinstance(native, nw.Series):
        return {str(native.name or UNNAMED): native.to_numpy()}
    values = sensitive_features
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return {str(column): values[:, column] for column in range(values.shape[1])}
    return {UNNAMED: _to_array(values, UNNAMED)}


def _to_array(values: Any, name: object) -> NDArray[Any]:
    native = of_engine(values)
    plain = native.to_numpy() if isinstance(native, nw.Series) else values
    return as_array(plain, str(name), "items")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchor:
    """A named assumption about the level of the biases.

    Attributes
    ----------
    kind : str
        ``"equal group means"``, ``"zero mean bias"`` or ``"trusted evaluators"``.
    trusted : ndarray of int
        Positions of the trusted evaluators.
    words : str
        The assumption as a reader should see it.
    """

    kind: str
    trusted: NDArray[np.int64]
    words: str


def anchor_of(anchor: Any, evaluators: NDArray[Any]) -> Anchor:
    """Return the anchor asked for.

    Parameters
    ----------
    anchor : str or sequence
        One of :data:`ANCHORS`, or the trusted evaluators' names. A name that nobody has is a
        pattern where it has a star: ``"human-*"`` are all whose names begin so.
    evaluators : ndarray
        Names of all evaluators.

    Raises
    ------
    AnchorError
        No evaluator has such a name, or all are trusted.
    """
    none = np.empty(0, dtype=np.int64)
    known = isinstance(anchor, str) and anchor in ANCHORS
    if not known and (isinstance(anchor, str) or not isinstance(anchor, Iterable)):
        allowed = [*map(repr, ANCHORS), "a list of trusted evaluators"]
        raise OptionError("anchor", anchor, allowed)
    if known:
        words = {
            EQUAL_MEANS: "equal group means: items of all groups have the same mean score",
            ZERO_MEAN: "zero mean bias: the evaluators' biases sum to zero",
        }
        return Anchor(kind=anchor, trusted=none, words=words[anchor])
    place = {text_of(name): k for k, name in enumerate(evaluators.tolist())}
    names = [one for name in anchor for one in _matching_names(text_of(name), place)]
    unknown = [name for name in names if name not in place]
    if not names or unknown:
        reason = f"{', '.join(unknown)} judged nothing" if unknown else "nobody is named"
        raise AnchorError(names, reason, evaluators.tolist())
    trusted = np.unique([place[name] for name in names])
    if len(trusted) == len(evaluators):
        raise AnchorError(names, "that is everybody", evaluators.tolist())
    shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    said = f"trusted evaluators: {shown} ha{'s' if len(names) == 1 else 've'} no bias"
    return Anchor(kind="trusted evaluators", trusted=trusted, words=said)


def _matching_names(name: str, known: Iterable[str]) -> list[str]:
    """Return who is meant by a name or a pattern; the pattern itself where it fits nobody."""
    if "*" not in name or name in known:
        return [name]
    pattern = re.compile(".*".join(map(re.escape, name.split("*"))), re.DOTALL)
    return [one for one in known if pattern.fullmatch(one)] or [name]


def words_on_one(anchor: Anchor) -> str:
    """Say what the bias of the only evaluator is: what the anchor makes it, and nothing else."""
    if anchor.kind == ZERO_MEAN:
        return "There is one evaluator: zero mean bias puts its bias at zero, whatever it is."
    return (
        "There is one evaluator: its bias is how far it puts one group above the other, which "
        "only the assumption of equal group means calls a lean and not a difference in worth."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Move:
    r"""The step from a fit to its anchored form, :math:`v + V K^T v`.

    Attributes
    ----------
    basis : ndarray, (items, 1 + contrasts)
        A column of ones, then the contrasts: the score part of the flat directions V. Their bias
        part is -1 for every evaluator, in the direction's own contrast.
    score_weights : ndarray, (items, 1 + contrasts)
        Score part of K: how far to go along each direction, as weights of the scores.
    bias_weight : float
        Bias part of K: weight of each evaluator's bias in its own contrast's direction.
    """

    basis: Floats
    score_weights: Floats
    bias_weight: float

    @property
    def is_fixed(self) -> NDArray[np.bool_]:
        """Say which scores the anchor alone fixes: of items whose groups are only theirs."""
        leverage = -(self.score_weights * self.basis).sum(axis=1)
        return np.asarray(leverage > 1 - 1e-9)

    def apply(self, scores: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """Return anchored scores, with mean zero, and anchored biases."""
        steps = self.steps(scores, bias)
        n = self.basis.shape[1] - 1
        moved = bias.copy()
        moved[:, :n] -= steps[1:]
        return scores + self.basis @ steps, moved

    def steps(self, scores: Floats, bias: Floats) -> Floats:
        """Return how far to go along each flat direction."""
        steps: Floats = self.score_weights.T @ scores
        n = self.basis.shape[1] - 1
        along = self.bias_weight * bias[:, :n].sum(axis=0)
        steps[1:] += along
        # Scores keep the mean zero whatever is moved between them and the biases.
        steps[0] -= self.basis[:, 1:].mean(axis=0) @ along
        return steps


def move_of(anchor: Anchor, columns: NDArray[Any], n_evaluators: int) -> Move:
    """Return the move to an anchor.

    Parameters
    ----------
    anchor : Anchor
    columns : ndarray, (items, contrasts)
        Contrasts that biases act on.
    n_evaluators : int
    """
    n_items = len(columns)
    basis = np.column_stack([np.ones(n_items), columns.astype(np.float64)])
    weights = np.zeros_like(basis)
    if anchor.kind == EQUAL_MEANS:
        # Residuals of a regression on the contrasts have equal means in all groups. A contrast
        # that is a sum of others (an intersection that is a whole group) moves nothing.
        weights = -basis @ np.linalg.pinv(basis.T @ basis)
    else:
        weights[:, 0] = -1 / n_items
    share = 1 / n_evaluators if anchor.kind == ZERO_MEAN else 0.0
    return Move(basis=basis, score_weights=weights, bias_weight=share)
