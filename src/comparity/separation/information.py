r"""Information: what scores tell about an attribute, beyond labels or at all.

Separation is the same as a conditional mutual information of zero,

.. math:: I(A; \hat Y \mid Y) = E \log \frac{p(a \mid y, \hat y)}{p(a \mid y)},

and so is sufficiency, with label and score exchanged, and independence, with nothing given.

The probabilities have to be estimated by models, and three things follow. The estimate on the rows
a model was fitted on is positive by chance alone, by about the number of added coefficients over
twice the number of rows. It depends on the models: where log-odds are not linear in the label, a
linear model finds information in scores that only repeat the label. And it is not comparable
between data sets: a test by permutation says whether it is more than chance, and pairwise
accuracies say how much.

Where separation holds, permuting the attribute among rows with the same label changes nothing.
Labels of few values are kept exactly, and the test is exact. Among many values, rows with
neighbouring labels take the place of rows with the same one, which is nearly exact where the label
changes little within a block.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.densities import CURVES, AttributeFit, fit_groups, fit_numbers
from comparity.counts.overlap import label_blocks
from comparity.errors import OptionError
from comparity.inference.permutation import PermutationTest
from comparity.separation.information_result import WORDS, AttributeInformation
from comparity.tables.columns import check_option
from comparity.tables.features import LabelledItems, as_array, labelled_items, one_attribute
from comparity.tables.values import bounded_numbers

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

LEVELS = 20
"""Labels of at most so many values are kept exactly."""

# Two statistics this close are one number reached by sums in another order.
SAME_STATISTIC = 1e-10

HELD_BACK = 10.0
"""Where rows tell less than so many times the ridge, it takes a tenth of a coefficient or more."""


def information_separation(
    y_true: Any, y_score: Any, *, sensitive_features: Any, **choices: Any
) -> AttributeInformation:
    r"""Measure what scores tell about groups that labels do not, and test it by permutation.

    .. math:: I(A; \hat Y \mid Y)

    is zero exactly under separation, for labels and scores of every kind [1]_. Two models predict
    the attribute, from the label, and from label and score; the measures compare them.

    The numbers are estimates by models, not effects: see
    :mod:`comparity.separation.information` for what they cannot tell. The test is of the
    null that score and attribute are independent given the label; it is exact for labels of few
    values.

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
        How often the attribute is permuted.
    rng : numpy.random.Generator, int or None
        Source of randomness, or its seed.

    Returns
    -------
    AttributeInformation

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
    return _measure("separation", y_true, y_score, sensitive_features, **choices)


def information_independence(
    y_score: Any, *, sensitive_features: Any, **choices: Any
) -> AttributeInformation:
    r"""Measure what scores tell about groups, and test it by permutation.

    .. math:: I(A; \hat Y)

    is zero exactly under independence (demographic parity of the whole distribution of scores),
    whatever the labels. The attribute is permuted among all rows, and the test is exact.

    Parameters
    ----------
    y_score, sensitive_features, **choices
        As in :func:`information_separation`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group, scores = rng.integers(0, 2, 300), rng.normal(size=300)
    >>> leaning = information_independence(scores + group, sensitive_features=group, rng=1)
    >>> leaning.notion, leaning.p_value
    ('independence', 0.005)
    """
    return _measure("independence", None, y_score, sensitive_features, **choices)


def information_sufficiency(
    y_true: Any, y_score: Any, *, sensitive_features: Any, **choices: Any
) -> AttributeInformation:
    r"""Measure what labels tell about groups that scores do not, and test it by permutation.

    .. math:: I(A; Y \mid \hat Y)

    is zero exactly under sufficiency (calibration within groups: a score means the same label in
    every group). Scores of more than 20 values are conditioned on by neighbours, ten at a time.

    Parameters
    ----------
    y_true, y_score, sensitive_features, **choices
        As in :func:`information_separation`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group, scores = rng.integers(0, 2, 300), rng.normal(size=300)
    >>> y = scores + group + rng.normal(size=300)      # the same score is worth more in one group
    >>> found = information_sufficiency(y, scores, sensitive_features=group, rng=1)
    >>> found.notion, found.p_value
    ('sufficiency', 0.005)
    """
    return _measure("sufficiency", y_true, y_score, sensitive_features, **choices)


def _measure(
    notion: str,
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    *,
    continuous: bool = False,
    curves: str = "linear",
    permutations: int = 199,
    rng: np.random.Generator | int | None = None,
) -> AttributeInformation:
    """Measure what a column tells about an attribute, given another one."""
    check_option("curves", curves, list(CURVES))
    if not isinstance(permutations, int) or permutations < 1:
        raise OptionError("permutations", permutations, ["a whole number from 1 on"])
    items = labelled_items(
        None if y_true is None else as_array(y_true, "y_true"),
        as_array(y_score, "y_score"),
        one_attribute(sensitive_features),
        continuous=continuous,
    )
    named = {"y_true": items.label, "y_score": items.score, "sensitive_features": items.value}
    for name, column in named.items():
        if column is not None and len(column):
            bounded_numbers(column, name, "item")
    columns = {"labels": items.label, "scores": items.score}
    if notion == "sufficiency":
        columns = {"scores": items.score, "labels": items.label}
    if notion == "independence":
        del columns["labels"]
    # Nothing is known beforehand of a constant.
    given, told = (np.zeros(len(items)), *columns.values())[-2:]
    attribute: Any = items.group if items.value is None else items.value
    fit_attribute = fit_groups if items.value is None else fit_numbers
    fit = partial(fit_attribute, given, told, curves=curves)
    blocks, rng = label_blocks(given), np.random.default_rng(rng)
    drawn = [
        mean_information(fit(permute_within(blocks, attribute, rng))) for _ in range(permutations)
    ]
    sums = fit(attribute)
    test = _test_information(mean_information(sums), np.array(drawn), WORDS[notion].null)
    known = continuous or sums.margin >= 0
    return AttributeInformation(
        notion=notion,
        information=test.statistic,
        relative_information=np.nan if known else (sums.joint - sums.margin) / -sums.margin,
        odds_ratio=sums.odds_ratio / sums.n,
        test=test,
        by_chance=float(np.mean(drawn)),
        groups=() if continuous else items.groups,
        curves=curves,
        n=len(items),
        notes=_notes(items, curves, notion, columns),
    )


def permute_within(
    blocks: Codes, attribute: NDArray[np.generic], rng: np.random.Generator
) -> NDArray[np.generic]:
    """Permute an attribute among the rows of each block."""
    order = np.argsort(blocks, kind="stable")
    drawn = np.lexsort((rng.random(len(blocks)), blocks))
    dealt = np.empty_like(attribute)
    dealt[order] = attribute[drawn]
    return dealt


def mean_information(fit: AttributeFit) -> float:
    r"""Mean information, in nats, that a column adds about the attribute.

    .. math:: \hat I = \frac1n \sum_i \log \frac{\rho(a_i \mid y_i, \hat y_i)}{\rho(a_i \mid y_i)}

    as printed in Xi, Capak, Stockwell and Yu, "Comparative Separation", section 4.2.2: at best 0,
    at most the entropy of the attribute. Slightly negative values are possible, because a ridge
    holds the larger model back.

    Examples
    --------
    >>> mean_information(AttributeFit(n=10, joint=-5.0, margin=-6.0))
    0.1
    """
    return (fit.joint - fit.margin) / fit.n


def _test_information(observed: float, drawn: Floats, null: str) -> PermutationTest:
    """Test whether the information is more than what permutations show."""
    beyond = int((drawn >= observed - SAME_STATISTIC).sum())
    return PermutationTest(
        null=null,
        name="mutual information",
        statistic=observed,
        p_value=(1 + beyond) / (1 + len(drawn)),
        permutations=len(drawn),
    )


def _notes(
    items: LabelledItems, curves: str, notion: str, columns: Mapping[str, Floats]
) -> tuple[str, ...]:
    notes = ["Estimated by models on the rows themselves: chance alone gives more than zero."]
    given = next(iter(columns)) if len(columns) > 1 else ""
    if curves == "linear" and given:
        told = WORDS[notion].what
        notes.append(
            f"Models are linear in the {given[:-1]}: where groups depend on it otherwise, {told} "
            f"that only repeat the {given[:-1]} seem to tell the group. curves='spline' is less "
            "exposed to that."
        )
    if curves == "linear" and items.value is None:
        for name, column in columns.items():
            spread = float(column.std())
            # A row adds at most a quarter of a variance to what the ridge of 1 stands against.
            if 0 < len(items) * spread**2 / 4 < HELD_BACK:
                notes.append(
                    f"The published models penalise large coefficients: {name} vary by "
                    f"{spread:.2g} only, and tell less than they could. Give them in a smaller "
                    "unit, or use curves='spline'."
                )
    if given and len(np.unique(columns[given])) > LEVELS:
        notes.append(
            f"{given.capitalize()} have many values: the attribute was permuted among "
            f"neighbours by {given[:-1]}, so that the test is approximate."
        )
    return tuple(notes)
