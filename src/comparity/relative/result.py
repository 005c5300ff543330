"""Frozen answers about two decision makers, or many, and no truth to measure them against."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.errors import NoSuchEntryError, SeveralContrastsError
from comparity.inference.gap_tests import Interval, Recorded
from comparity.inference.permutation import PermutationTest
from comparity.results.audit import Audit, JudgedGap, JudgedResult
from comparity.results.plain import INLINE, as_plain, from_plain
from comparity.results.result import frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section


Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeansTest:
    """A test of several means at once; reported, never judged.

    Attributes
    ----------
    null, method : str
        The hypothesis in words, and the name of the test.
    statistic, p_value : float
        F statistic and p value; ``nan`` where not testable, and then `method` says why.
    dof : tuple of float
        Degrees of freedom above and below.
    """

    null: str
    statistic: float
    dof: tuple[float, float]
    p_value: float
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterContrast:
    """Two decision makers compared over two groups.

    Attributes
    ----------
    first, second : str
        The decision makers; differences are first minus second.
    attribute, group, reference : str
        The sensitive attribute and its two groups: positive numbers say that `first` rates `group`
        higher, relative to `reference`, than `second` does.
    label : str
        The label compared, where decisions are labels; otherwise empty.
    n : tuple of int
        Rows of `group` and of `reference`.
    means : tuple of float
        Mean differences in both.
    gap : float
        The first of them minus the second, on the scale of the decisions.
    dpt, dof : float
        Welch's t of the gap and its degrees of freedom.
    p_value : float
        Two-sided p value: Welch's, or that of the test for rare differences (``test.method``).
    p_one_sided : float
        Probability beyond DPT on its side, the paper's p value. Read in both directions, as the
        paper does, it has twice its level.
    dpd, dpd_total : float
        The gap in pooled standard deviations within groups (the paper), and in standard deviations
        of all differences (the authors' code).
    magnitude, direction : str
        Cohen's word for the size, and a sentence that says who favours whom.
    games_howell_p : float
        p value corrected for all pairs of several groups; ``nan`` for two.
    test : JudgedGap
        The test that was judged, on the scale of `dpd`.
    """

    first: str
    second: str
    attribute: str
    group: str
    reference: str
    n: tuple[int, int]
    means: tuple[float, float]
    gap: float
    dpt: float
    dof: float
    p_value: float
    p_one_sided: float
    dpd: float
    dpd_total: float
    magnitude: str
    direction: str
    test: JudgedGap
    label: str = ""
    games_howell_p: float = math.nan

    DERIVED: ClassVar[Mapping[str, str]] = {"dpd_interval": "interval", "finding": "finding"}

    @staticmethod
    def completed_from(content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the test with both intervals that were written down."""
        test: JudgedGap = from_plain(JudgedGap, content["test"])
        if test.pivot is None:
            return {}
        known = (
            test.test_interval,
            test.equivalence_interval,
            from_plain(Interval, content["dpd_interval"]),
        )
        return {"test": replace(test, pivot=Recorded(known, test.p_value))}

    @property
    def finding(self) -> str:
        """The finding of the test that was judged."""
        return self.test.finding

    @property
    def of_label(self) -> str:
        """The label as it stands behind a name; empty where decisions are no labels."""
        return f" [{self.label}]" if self.label else ""

    def interval(self, level: float = 0.95) -> Interval:
        """Return the values of DPD that the test does not reject at ``1 - level``."""
        return self.test.interval(level)


class RatersResult(JudgedResult):
    """An answer about decision makers: an audit, and what is known of every contrast."""

    __slots__ = ()

    KIND: ClassVar[str] = ""

    contrasts: tuple[RaterContrast, ...]

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        from comparity.relative.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each contrast, as a frame of the named engine."""
        return frame_of_rows([_flat(row) for row in as_plain(self.contrasts)], backend)


def _of_only(name: str, says: str) -> Any:
    """Return a property that is the one of the only contrast there is."""
    return property(lambda result: getattr(result.only, name), doc=says)


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialParity(RatersResult):
    """Whether the difference of two sets of decisions depends on the group.

    ``dpt``, ``dof``, ``p_value``, ``p_one_sided``, ``gap``, ``dpd``, ``dpd_total``, ``magnitude``
    and ``direction`` are those of the only contrast; with several groups, attributes or labels they
    are in `contrasts`.

    Attributes
    ----------
    audit : Audit
        Tests with their findings; gaps are on the scale of DPD.
    contrasts : tuple of RaterContrast
        One for every two groups of every attribute (and label).
    distribution : tuple of PermutationTest
        Tests of the whole distribution of differences, or of independence of a number.
    anova : tuple of MeansTest
        Welch's analysis of variance, where an attribute has more than two groups.
    """

    audit: Audit = field(metadata=INLINE)
    contrasts: tuple[RaterContrast, ...]
    distribution: tuple[PermutationTest, ...] = ()
    anova: tuple[MeansTest, ...] = ()

    @property
    def only(self) -> RaterContrast:
        """The only contrast there is."""
        if len(self.contrasts) != 1:
            raise SeveralContrastsError([one.test.null for one in self.contrasts])
        return self.contrasts[0]

    dpt = _of_only("dpt", "Welch's t of the gap.")
    dof = _of_only("dof", "Degrees of freedom of DPT.")
    p_value = _of_only("p_value", "Two-sided p value of the test that was judged.")
    p_one_sided = _of_only("p_one_sided", "The paper's p value: beyond DPT on its side.")
    gap = _of_only("gap", "The gap on the scale of the decisions.")
    dpd = _of_only("dpd", "The gap in pooled standard deviations, as in the paper.")
    dpd_total = _of_only(
        "dpd_total", "The gap in standard deviations of all differences, as in the authors' code."
    )
    magnitude = _of_only("magnitude", "Cohen's word for the size of DPD.")
    direction = _of_only("direction", "Who favours whom, in words.")

    def interval(self, level: float = 0.95) -> Interval:
        """Return the values of DPD that the test does not reject at ``1 - level``."""
        return self.only.interval(level)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every DPD with the interval it was judged by and the margin."""
        return self.audit.plot(ax)


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeDiagnosis:
    """How well the first's decisions can be predicted for the second's subjects.

    Attributes
    ----------
    explained : float
        Share of the variance of the first's decisions that predictions explain, about subjects the
        model did not see where that is known; at most 1, negative where the mean does better.
    errors : tuple of float
        Root mean squared error against the first's and against the second's decisions.
    calibration : mapping of str to float
        Mean error against the first's decisions by group; zero where the model has its leanings.
    calibration_p : float
        p value of "these means are equal".
    separability : mapping of str to float
        By group, how often a subject of the second is told from one of the first by its features:
        an area under the curve, one half where both sets of subjects are alike.
    effective_share : mapping of str to float
        By group, what share of the first's subjects is left if they are weighted to look like the
        second's.
    shift : float
        By how much DPD moves if they are; it has, where errors are cross-fitted and nobody is
        shared (doubly robust). ``nan`` where that cannot be told.
    left, left_p : float
        By how much DPD would move on if squares and cubes of features were made alike, too, as far
        as the first's errors depend on them; and the p value of "by nothing".
    optimism : float
        Error of the model on the decisions it was fitted to, as a share of that on unseen ones;
        ``nan`` where errors are not taken in sample.
    ignored : float
        False-alarm rate that comes of ignoring the error of the model's own fit; ``nan`` where it
        is not ignored.
    n_shared : int
        Subjects whom both decided about.
    leaks : mapping of str to mapping
        By decision maker, features that each explain more than 0.99 of its decisions, with the
        share: copies that hold the answer.
    refusals : tuple of str
        Why this bridge does not carry a finding; empty where it does.
    """

    explained: float
    errors: tuple[float, float]
    calibration: Mapping[str, float]
    calibration_p: float
    separability: Mapping[str, float]
    effective_share: Mapping[str, float]
    shift: float
    left: float = 0.0
    left_p: float = 1.0
    optimism: float = math.nan
    ignored: float = math.nan
    n_shared: int = 0
    leaks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    refusals: tuple[str, ...] = ()

    DERIVED: ClassVar[Mapping[str, str]] = {"carries": "carries"}

    @property
    def carries(self) -> bool:
        """Whether the bridge is good enough to find anything by."""
        return not self.refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgedParity(DifferentialParity):
    """Whether two decision makers lean differently, estimated across different subjects.

    Numbers as in :class:`DifferentialParity`. A bridge that the diagnosis
    refuses keeps its numbers and leaves the question open.

    Attributes
    ----------
    bridge : str
        ``"biased"`` or ``"unbiased"``, as in the paper.
    errors_from : str
        What the errors of the prediction were taken on.
    scale : float
        What the gap is divided by: a standard deviation of the difference of two decisions about
        one subject, as far as the errors of the prediction tell it.
    diagnosis : BridgeDiagnosis
        How good the bridge is.
    """

    bridge: str
    errors_from: str
    scale: float
    diagnosis: BridgeDiagnosis


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterParity(RatersResult):
    """Every two of many decision makers compared: who leans which way, relative to whom.

    Attributes
    ----------
    raters : tuple of str
        The decision makers; rows and columns of the matrices.
    matrices : mapping of str to ndarray, (R, R)
        DPD of the row's rater over the column's, by contrast of groups (``"sex: m over f"``).
        Antisymmetric, zero on the diagonal, ``nan`` where no test was possible.
    audit : Audit
        One test for every two raters and every two groups, one family for Holm.
    contrasts : tuple of RaterContrast
        The same, with everything known about each.
    """

    raters: tuple[str, ...]
    matrices: Mapping[str, Matrix]
    audit: Audit = field(metadata=INLINE)
    contrasts: tuple[RaterContrast, ...]
    findings: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    DERIVED: ClassVar[Mapping[str, str]] = {"leaning": "leanings"}

    @property
    def leanings(self) -> dict[str, dict[str, float]]:
        """Each rater's mean DPD over the others, by contrast of groups."""
        return {name: self.mean_dpd(name) for name in self.matrices}

    @property
    def dpd(self) -> Matrix:
        """The matrix, where there is one contrast of groups only."""
        if len(self.matrices) != 1:
            raise SeveralContrastsError(list(self.matrices))
        return next(iter(self.matrices.values()))

    def mean_dpd(self, contrast: str | None = None) -> dict[str, float]:
        """Return each rater's mean DPD over the others it can be compared with, the largest first.

        Infinite where it always decides by so much more (or less) for one group than another rater
        does; ``nan`` where there is no such mean.

        Parameters
        ----------
        contrast : str, optional
            One of the keys of `matrices`; the first by default.
        """
        name = contrast or next(iter(self.matrices))
        if name not in self.matrices:
            raise NoSuchEntryError("contrast", name, list(self.matrices))
        return dict(_means_of(self.raters, self.matrices[name]))

    def plot(self, ax: Axes | None = None, *, contrast: str | None = None) -> Axes:
        """Draw the matrix of DPD as a heat map, raters in the order of their leaning.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a figure of its own by default.
        contrast : str, optional
            One of the keys of `matrices`; the first by default.
        """
        from comparity.relative.section import rater_chart
        from comparity.reports.plots import draw

        return draw(rater_chart(self, contrast or next(iter(self.matrices))), ax)


def _means_of(raters: Sequence[str], matrix: Matrix) -> list[tuple[str, float]]:
    """Return the mean of every row off the diagonal, the largest first."""
    others = np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix)
    # Of rows without bounds those lead that are above more often than below.
    ahead = np.sum(others == np.inf, axis=1) - np.sum(others == -np.inf, axis=1)
    finite = np.isfinite(others)
    sums, counts = np.sum(others, axis=1, where=finite), finite.sum(axis=1)
    inside = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    beyond = np.select([ahead > 0, ahead < 0], [np.inf, -np.inf], np.nan)
    means = np.where(np.isinf(others).any(axis=1), beyond, inside)
    order = np.lexsort([-inside, -ahead])
    return [(raters[place], float(means[place])) for place in order.tolist()]


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Spread pairs over two columns."""
    pairs = {"n": ("n_group", "n_reference"), "means": ("mean_group", "mean_reference")}
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name in pairs:
            flat |= dict(zip(pairs[name], value, strict=True))
        elif name == "dpd_interval":
            flat |= {"dpd_low": value["low"], "dpd_high": value["high"]}
        elif name != "test":
            flat[name] = value
    return flat
