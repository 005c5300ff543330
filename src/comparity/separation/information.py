r"""Separation by information: what scores tell about an attribute that labels do not.

Separation is the same as a conditional mutual information of zero,

.. math:: I(A; \hat Y \mid Y) = E \log \frac{p(a \mid y, \hat y)}{p(a \mid y)}.

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

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.densities import CURVES, AttributeFit, fit_groups, fit_numbers
from comparity.errors import OptionError
from comparity.errors.spelling import visible
from comparity.inference.gap_tests import plain
from comparity.inference.permutation import PermutationTest
from comparity.reports.charts import Mark, Row, RowChart, axis_between
from comparity.reports.plots import draw
from comparity.reports.sections import Grid, Section, count, p_value, several
from comparity.results.result import Result, frame_of_rows
from comparity.tables.columns import check_option
from comparity.tables.features import LabelledItems, as_array, labelled_items, one_attribute
from comparity.tables.values import bounded_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationSeparation(Result):
    r"""What scores tell about a sensitive attribute that labels do not.

    Attributes
    ----------
    information : float
        Mean log-ratio of the attribute's probability given label and score against given the
        label, in nats; 0 under separation.
    relative_information : float
        The same as a share of what labels leave unknown,
        :math:`\hat H(A \mid Y) = -\frac1n \sum_i \log \rho(a_i \mid y_i)`, as the authors' code
        of "Comparative Separation" has it: between 0 and 1, up to chance. ``nan`` where labels tell
        the attribute entirely, and of a number, whose differential entropy depends on units.
    odds_ratio : float
        Mean odds ratio of two groups given label and score against given the label, 1 under
        separation; ``nan`` unless there are two. A mean of ratios, which few rows with extreme odds
        can dominate.
    test : PermutationTest
        Whether the information is more than chance.
    by_chance : float
        Mean information over the permutations: what no relation at all would show.
    groups : tuple of str
        The groups; empty for a number.
    curves : {"linear", "spline"}
        How the models depend on labels and scores.
    n : int
        Rows.
    notes : tuple of str
        What the reader must know.
    """

    information: float
    relative_information: float
    odds_ratio: float
    test: PermutationTest
    by_chance: float
    groups: tuple[str, ...]
    curves: str
    n: int
    notes: tuple[str, ...] = ()

    def section(self) -> Section:
        """Return what is told of this answer."""
        return _section(self)

    @property
    def p_value(self) -> float:
        """The p value of the test by permutation."""
        return self.test.p_value

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each measure, as a frame of the named engine."""
        names = ("information", "by_chance", "relative_information", "odds_ratio", "p_value")
        rows = [{"measure": name, "value": plain(getattr(self, name))} for name in names]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what scores tell beside what chance alone would show."""
        return draw(_information_chart(self), ax)


Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

LEVELS = 20
"""Labels of at most so many values are kept exactly."""

BLOCK = 10
"""Neighbours by label that an attribute is permuted among."""

# Two statistics this close are one number reached by sums in another order.
SAME = 1e-10

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
    fit_attribute = fit_groups if items.value is None else fit_numbers
    fit = partial(fit_attribute, items.label, items.score, curves=curves)
    blocks, rng = blocks_of(items.label), np.random.default_rng(rng)
    drawn = [
        separation_information(fit(permute_within(blocks, attribute, rng)))
        for _ in range(permutations)
    ]
    sums = fit(attribute)
    test = _test_information(separation_information(sums), np.array(drawn))
    known = continuous or sums.margin >= 0
    return InformationSeparation(
        information=test.statistic,
        relative_information=np.nan if known else (sums.joint - sums.margin) / -sums.margin,
        odds_ratio=sums.odds_ratio / sums.n,
        test=test,
        by_chance=float(np.mean(drawn)),
        groups=() if continuous else items.groups,
        curves=curves,
        n=len(items),
        notes=_notes(items, curves),
    )


def blocks_of(y: Floats) -> Codes:
    """Return a code for rows with the same label, or with neighbouring ones where many differ.

    Examples
    --------
    >>> blocks_of(np.array([0.0, 1.0, 0.0])).tolist()
    [0, 1, 0]
    >>> np.bincount(blocks_of(np.arange(45.0))).tolist()
    [10, 10, 10, 15]
    """
    values, code = np.unique(y, return_inverse=True)
    if len(values) <= LEVELS:
        return code.reshape(-1).astype(np.int64)
    rank = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    return np.minimum(rank // BLOCK, max(len(y) // BLOCK - 1, 0))


def permute_within(
    blocks: Codes, attribute: NDArray[np.generic], rng: np.random.Generator
) -> NDArray[np.generic]:
    """Permute an attribute among the rows of each block."""
    order = np.argsort(blocks, kind="stable")
    drawn = np.lexsort((rng.random(len(blocks)), blocks))
    dealt = np.empty_like(attribute)
    dealt[order] = attribute[drawn]
    return dealt


def separation_information(fit: AttributeFit) -> float:
    r"""Mean information, in nats, that a score adds about the attribute.

    .. math:: \hat I = \frac1n \sum_i \log \frac{\rho(a_i \mid y_i, \hat y_i)}{\rho(a_i \mid y_i)}

    as printed in Xi, Capak, Stockwell and Yu, "Comparative Separation", section 4.2.2: at best 0,
    at most the entropy of the attribute. Slightly negative values are possible, because a ridge
    holds the larger model back.

    Examples
    --------
    >>> separation_information(AttributeFit(n=10, joint=-5.0, margin=-6.0))
    0.1
    """
    return (fit.joint - fit.margin) / fit.n


def _test_information(observed: float, drawn: Floats) -> PermutationTest:
    """Test whether the information is more than what permutations show."""
    beyond = int((drawn >= observed - SAME).sum())
    return PermutationTest(
        null="score independent of the attribute, given the label",
        name="mutual information",
        statistic=observed,
        p_value=(1 + beyond) / (1 + len(drawn)),
        permutations=len(drawn),
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
            "Labels have many values: the attribute was permuted among neighbours by label, "
            "so that the test is approximate."
        )
    return tuple(notes)


def _section(result: InformationSeparation) -> Section:
    """Return what is shown of the information in scores."""
    found, chance = f"{result.information:.4f}", f"{result.by_chance:.4f}"
    measures = (
        ("mean information (nats)", found, "0"),
        ("by chance alone", chance, ""),
        ("share of what labels leave unknown", f"{result.relative_information:.4f}", "0"),
        ("mean odds ratio", f"{result.odds_ratio:.4f}", "1"),
    )
    test = result.test
    basis = f"{several(result.n, 'row')}, {several(test.permutations, 'permutation')}"
    return Section(
        headline=f"Scores tell {found} nats about the attribute beyond labels; {chance} by chance",
        sentences=(
            f"Independent given the label: p = {p_value(test.p_value)}.",
            f"{basis}, {result.curves} models.",
        ),
        grids=(
            Grid(
                title="Measures",
                header=("measure", "value", "under separation"),
                rows=tuple(row for row in measures if row[1] != "nan"),
            ),
        ),
        lists={"Notes": [visible(note) for note in result.notes]},
    )


def _information_chart(result: InformationSeparation) -> RowChart:
    """Describe what scores tell beside what no relation at all would show."""
    test = result.test
    by_chance = f"mean of {count(test.permutations)} permutations"
    shown = (
        ("these scores", "", "first", result.information),
        ("by chance", by_chance, "second", result.by_chance),
    )
    values = [value for *_, value in shown]
    return RowChart(
        title="What scores tell about the attribute beyond labels: "
        f"p = {p_value(test.p_value)}, {several(result.n, 'row')}",
        axis=axis_between("mean information in nats; 0 under separation", values, from_zero=True),
        rows=tuple(
            Row(label=label, note=note, marks=(Mark(kind=kind, x=value, low=0.0, high=value),))
            for label, note, kind, value in shown
        ),
        line=0.0,
    )
