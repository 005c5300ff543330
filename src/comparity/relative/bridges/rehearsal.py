"""Rehearse a bridge where it is not needed: hide decisions, bridge, and compare with the truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.relative.audit import differential_parity
from comparity.relative.bridges.audit import biased_bridge, unbiased_bridge
from comparity.relative.bridges.result import BridgedParity, Rehearsal, RehearsedCase
from comparity.relative.bridges.subjects import matched_features
from comparity.relative.options import RelativeOptions
from comparity.relative.result import DifferentialParity
from comparity.tables.features import named_attributes
from comparity.tables.values import check_lengths, numbers

__all__ = ["rehearse_bridges"]

Task = tuple[int, str, tuple[str, str]]


def rehearse_bridges(
    decisions: Mapping[str, Any],
    *,
    sensitive_features: Any,
    features: Any,
    regressor: Any = "ridge",
    share: float = 0.6,
    splits: int = 10,
    alpha: float = 0.05,
    margin: float = 0.2,
    seed: int = 0,
) -> Rehearsal:
    """Count how often a bridge says what direct measurement on the same subjects says.

    Subjects are divided at random. Of the one decision maker only decisions about the first part
    are used, of the other only those about the second; what three bridges make of them is compared
    with direct measurements on either part, by the paper's rule (one-sided p at most `alpha`, in
    either direction). A bridge is right if it says what at least one of the two says (RQ2 of
    [1]_). Each decision maker is compared with everyone, itself included.

    Parameters
    ----------
    decisions : mapping of str to array-like
        Decisions about the same subjects, by decision maker.
    sensitive_features : array-like, mapping or frame
        Groups of the subjects, two for each attribute.
    features : array-like or frame
        What is known about the subjects.
    regressor
        As in :func:`comparity.biased_bridge`.
    share : float
        Share of the subjects in the first part.
    splits : int
        How many random divisions to average over.
    alpha, margin, seed
        As in :func:`comparity.biased_bridge`.

    Returns
    -------
    Rehearsal

    References
    ----------
    .. [1] Yu and Xi, "Differential Parity: Relative Fairness Between Two Sets of Decisions",
       sections 3.3 and 4.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex, merit = rng.choice(["f", "m"], 300), rng.normal(size=300)
    >>> one, other = (merit + lean * (sex == "f") + rng.normal(0, 0.3, 300) for lean in (0, 1))
    >>> found = rehearse_bridges(
    ...     {"one": one, "other": other},
    ...     sensitive_features=sex,
    ...     features=merit[:, None],
    ...     splits=2,
    ... )
    >>> found.n_cases, found.right("biased")
    (4, 4.0)
    """
    if not isinstance(share, int | float) or not 0 < share < 1:
        raise OptionError("share", share, ["a share between 0 and 1"])
    if not isinstance(splits, int) or splits < 1:
        raise OptionError("splits", splits, ["a whole number from 1 on"])
    RelativeOptions(alpha=alpha, margin=margin, seed=seed)
    columns = {
        name: numbers(values, name, "decisions")
        for name, values in named_attributes(decisions).items()
    }
    attributes = named_attributes(sensitive_features)
    check_lengths({**columns, **{f"sensitive {name}": one for name, one in attributes.items()}})
    if not columns:
        raise OptionError("decisions", decisions, ["decisions by one maker or more, by name"])
    n = len(next(iter(columns.values())))
    known, _ = matched_features(features, features, sizes=(n, n))
    choices = {"regressor": regressor, "alpha": alpha, "margin": margin, "seed": seed}
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(n) for _ in range(splits)]
    cases = []
    for split, attribute, (first, second) in _shown(
        [*product(range(splits), attributes, product(columns, columns))]
    ):
        order, cut = orders[split], round(share * n)
        pair = (first, columns[first]), (second, columns[second])
        case = _case(pair, attributes[attribute], known, (order[:cut], order[cut:]), choices)
        cases.append(RehearsedCase(split=split, attribute=attribute, **case))
    return Rehearsal(cases=tuple(cases), splits=splits)


def _shown(tasks: Sequence[Task]) -> Iterable[Task]:
    """Show progress on a terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(tasks, "bridges", console=console, disable=not console.is_terminal)


def _case(
    pair: tuple[tuple[str, NDArray[np.float64]], tuple[str, NDArray[np.float64]]],
    group: NDArray[Any],
    features: Any,
    parts: tuple[NDArray[np.int64], NDArray[np.int64]],
    choices: dict[str, Any],
) -> dict[str, Any]:
    (first, one), (second, other) = pair
    alpha = choices["alpha"]
    direct = [
        differential_parity(one[part], other[part], sensitive_features=group[part], permutations=0)
        for part in parts
    ]
    bridged = dict(_bridged(one, other, group, features, parts, choices))
    return {
        "first": first,
        "second": second,
        "direct": tuple(_sign(found, alpha) for found in direct),
        "direct_dpd": tuple(found.dpd for found in direct),
        "said": {name: _sign(found, alpha) for name, found in bridged.items()},
        "dpd": {name: found.dpd for name, found in bridged.items()},
        "refused": frozenset(n for n, found in bridged.items() if not found.diagnosis.carries),
    }


def _bridged(
    one: NDArray[np.float64],
    other: NDArray[np.float64],
    group: NDArray[Any],
    features: Any,
    parts: tuple[NDArray[np.int64], NDArray[np.int64]],
    choices: dict[str, Any],
) -> Iterator[tuple[str, BridgedParity]]:
    here, there = parts
    known: dict[str, Any] = {
        "sensitive_features": (group[here], group[there]),
        "features": (features[here], features[there]),
        **choices,
    }
    yield "biased", biased_bridge(one[here], other[there], **known)
    yield "biased, in sample", biased_bridge(one[here], other[there], errors="training", **known)
    yield "unbiased", unbiased_bridge(one[here], other[there], **known)


def _sign(found: DifferentialParity, alpha: float) -> int:
    """Return the direction that the paper's rule finds, or 0."""
    return int(np.sign(found.dpd)) if found.p_one_sided <= alpha else 0
