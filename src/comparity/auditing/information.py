"""Separation by information, for labels and scores of every kind."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from comparity.auditing.attributes import as_array, one_attribute
from comparity.counting._values import bounded_numbers
from comparity.counting.attribute_models import CURVES, fit_groups, fit_numbers
from comparity.counting.labelled import LabelledItems, labelled_items
from comparity.errors import OptionError
from comparity.inference.permutation_separation import LEVELS, separation_by_permutation
from comparity.information import InformationSeparation
from comparity.metrics.information import (
    relative_separation_information,
    separation_information,
    separation_odds_ratio,
)
from comparity.tables import check_option

__all__ = ["information_separation"]

HELD_BACK = 10.0
"""Where rows tell less than so many times the ridge, it takes a tenth of a coefficient or more."""


def information_separation(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    continuous: bool = False,
    curves: str = "linear",
    permutations: int = 199,
    rng: np.random.Generator | int | None = None,
) -> InformationSeparation:
    r"""Measure what scores tell about groups that labels do not, and test it by permutation.

    .. math:: I(A; \hat Y \mid Y)

    is zero exactly under separation, for labels and scores of every kind [1]_. Two models predict
    the attribute, from the label, and from label and score; the measures compare them.

    The numbers are estimates by models, not effects: see
    :mod:`comparity.metrics.information` for what they cannot tell. The test is of the null that
    score and attribute are independent given the label; it is exact for labels of few values.

    Parameters
    ----------
    y_true, y_score : array-like
        Labels and scores as numbers.
    sensitive_features : array-like
        The group of each row, or a number with `continuous`.
    continuous : bool
        Whether the attribute is a number, predicted by least squares with normal errors.
    curves : {"linear", "spline"}
        Models that are linear in label and score, as published, or smooth curves of each. The
        linear ones have the published ridge, in the units given: numbers that vary by little tell
        less than they could, which is noted.
    permutations : int
        How often the attribute is dealt out anew.
    rng : numpy.random.Generator, int or None
        Source of randomness, or its seed.

    Returns
    -------
    InformationSeparation

    References
    ----------
    .. [1] Steinberg, Reid and O'Callaghan, "Fairness measures for regression via probabilistic
       classification", 2020.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group, y = rng.integers(0, 2, 300), rng.normal(size=300)
    >>> scores = y + rng.normal(size=300)
    >>> leaning = information_separation(y, scores + group, sensitive_features=group, rng=1)
    >>> straight = information_separation(y, scores, sensitive_features=group, rng=1)
    >>> leaning.p_value < 0.01 < straight.p_value, leaning.information > straight.information
    (True, True)
    """
    check_option("curves", curves, list(CURVES))
    if not isinstance(permutations, int) or permutations < 1:
        raise OptionError("permutations", permutations, ["a whole number from 1 on"])
    items = labelled_items(
        as_array(y_true),
        as_array(y_score),
        one_attribute(sensitive_features),
        continuous=continuous,
    )
    columns = {"y_true": items.label, "y_score": items.score, "sensitive_features": items.value}
    for name, column in columns.items():
        if column is not None:
            bounded_numbers(column, name, "item")
    attribute: Any = items.group if items.value is None else items.value
    fitted = fit_groups if items.value is None else fit_numbers
    fit = partial(fitted, items.label, items.score, curves=curves)
    test, by_chance = separation_by_permutation(
        fit,
        items.label,
        attribute,
        permutations=permutations,
        rng=np.random.default_rng(rng),
    )
    sums = fit(attribute)
    return InformationSeparation(
        information=separation_information(sums),
        relative_information=float("nan") if continuous else relative_separation_information(sums),
        odds_ratio=separation_odds_ratio(sums),
        test=test,
        by_chance=by_chance,
        groups=() if continuous else items.groups,
        curves=curves,
        n=len(items),
        notes=_notes(items, curves),
    )


def _notes(items: LabelledItems, curves: str) -> tuple[str, ...]:
    notes = ["Estimated by models on the rows themselves: chance alone gives more than zero."]
    if curves == "linear":
        notes.append(
            "Models are linear in the label: where groups depend on it otherwise, scores that only "
            "repeat the label seem to tell the group. curves='spline' is less exposed to that."
        )
    if curves == "linear" and items.value is None:
        for name, column in (("labels", items.label), ("scores", items.score)):
            spread = float(column.std())
            # A row adds at most a quarter of a variance to what the ridge of 1 stands against.
            if 0 < len(items) * spread**2 / 4 < HELD_BACK:
                notes.append(
                    f"The published models penalise large coefficients: {name} vary by "
                    f"{spread:.2g} only, and tell less than they could. Give them in a smaller "
                    "unit, or use curves='spline'."
                )
    if items.n_levels > LEVELS:
        notes.append(
            "Labels have many values: the attribute was dealt out anew among neighbours by label, "
            "so that the test is approximate."
        )
    return tuple(notes)
