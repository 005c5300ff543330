r"""FA*IR: the best k items, with enough of a protected group in every prefix of the ranking.

A ranking passes if for every i the first i places hold at least as many protected items as a test
would want: :math:`m(i)`, the smallest number x with :math:`F(x; i, p) > \alpha_c`, where F is the
binomial distribution function. Testing k prefixes at level :math:`\alpha` rejects a ranking that is
drawn with share p far more often than :math:`\alpha`, so the level :math:`\alpha_c` of each test is
chosen such that all of them together keep :math:`\alpha`.

Everything is exact: the probability that a drawn ranking fails comes from a recursion over places,
and the table changes with :math:`\alpha_c` only at the values :math:`F(x; i, p)`, so a search over
these finds the best level there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.errors import EmptyTableError, OptionError, UnknownGroupError
from comparity.errors.spelling import visible
from comparity.ranking.result import Ranking
from comparity.reports.plots import draw
from comparity.reports.sections import Grid, Section, count
from comparity.results.result import Result, frame_of_rows
from comparity.tables.columns import check_option
from comparity.tables.frames import text_of
from comparity.tables.values import as_array, check_lengths, group_codes, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORRECTIONS = ("at most", "closest", "none")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Levels closer than this, relatively, are one level: equal sums of products differ by rounding.
SAME_LEVEL = 1e-10


# So many places are shown; all of them are in to_frame().
SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FairTopK(Result):
    """The best k items, with enough of a protected group in every prefix.

    Attributes
    ----------
    ranking : ndarray of int, (k,)
        Positions of the chosen items in the input, best first.
    protected : ndarray of bool, (k,)
        Whether each of them is of the protected group.
    group : str
        The protected group.
    table : ndarray of int, (k,)
        How many protected items the first 1, 2, ..., k places must hold at least.
    p : float
        Share of protected items that a prefix is tested against.
    alpha : float
        The false-alarm rate asked for.
    adjusted_alpha : float
        The level of each of the k tests; 0 where no requirement at all keeps `alpha`.
    failure_probability : float
        How often a ranking whose places are filled by independent draws with share `p` breaks
        the table, exactly.
    correction : str
        ``"at most"``, ``"closest"`` or ``"none"``.
    passed : bool
        Whether the k best items by score met the table as they were.
    failed_at : int or None
        The first place, counted from 1, at which they did not.
    satisfied : bool
        Whether the new ranking meets the table; false only where the protected group is too small.
    n_items : int
        Items to choose from.
    """

    ranking: NDArray[np.int64]
    protected: NDArray[np.bool_]
    group: str
    table: NDArray[np.int64]
    p: float
    alpha: float
    adjusted_alpha: float
    failure_probability: float
    correction: str
    passed: bool
    failed_at: int | None
    satisfied: bool
    n_items: int

    DERIVED: ClassVar[Mapping[str, str]] = {"k": "k"}

    @property
    def k(self) -> int:
        """Number of places."""
        return len(self.ranking)

    @property
    def ranks(self) -> NDArray[np.float64]:
        """Rank of every item of the input, 1 for the best; ``nan`` for those left out."""
        ranks = np.full(self.n_items, np.nan)
        ranks[self.ranking] = np.arange(1, self.k + 1)
        return ranks

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        return Section(
            headline=self.headline,
            sentences=(
                f"alpha {self.alpha:g}, each place tested at {self.adjusted_alpha:.4g}; a ranking "
                f"drawn with that share fails with probability {self.failure_probability:.4g}.",
            ),
            grids=(self._places(),),
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each place."""
        columns = (self.ranking, self.protected, np.cumsum(self.protected), self.table)
        names = ("rank", "item", "protected", "held", "needed")
        places = zip(*(column.tolist() for column in columns), strict=True)
        return [
            dict(zip(names, (rank, *row), strict=True)) for rank, row in enumerate(places, start=1)
        ]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each place, as a frame of the named engine."""
        return frame_of_rows(self.rows(), backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how many protected items the first places hold, and how many they must."""
        from comparity.ranking.pictures import places_chart

        return draw(places_chart(self), ax)

    @property
    def headline(self) -> str:
        """What came of it, in a line."""
        passed = "passed" if self.passed else f"failed at place {count(self.failed_at or 0)}"
        missed = "" if self.satisfied else "; the group is too small to meet the table"
        return (
            f"Top {count(self.k)} with at least a share of {self.p:g} of "
            f"{visible(self.group)!r}: scores alone {passed}{missed}"
        )

    def _places(self) -> Grid:
        more = f", the first {SHOWN} of {count(self.k)}" if self.k > SHOWN else ""
        rows = [row | {"protected": "yes" if row["protected"] else ""} for row in self.rows()]
        return Grid(
            title=f"Places{more}",
            header=tuple(rows[0]),
            rows=tuple(tuple(map(str, row.values())) for row in rows[:SHOWN]),
        )


def fair_topk(
    scores: ArrayLike | Ranking,
    *,
    sensitive_features: ArrayLike,
    protected: object,
    k: int,
    p: float,
    alpha: float = 0.1,
    correction: str = "at most",
) -> FairTopK:
    r"""Choose and order k items so that every prefix holds enough of a protected group.

    FA*IR of Zehlike et al. [1]_: places are filled one after the other with the best item left,
    unless the table wants a protected item, and then with the best protected item left. No ranking
    that meets the table loses less in the sense of that paper.

    Parameters
    ----------
    scores : array_like of float or Ranking
        Score of each item, larger is better; or the fit of a ranker. Equal scores keep their order.
    sensitive_features : array_like
        Group of each item.
    protected : object
        The group to put forward where it is missing.
    k : int
        Number of places, at most the number of items.
    p : float
        The share of protected items that a ranking is tested against, strictly between 0 and 1.
    alpha : float
        How often a ranking drawn with share `p` may fail, over all its prefixes together.
    correction : {"at most", "closest", "none"}
        ``"at most"`` takes the largest level of each test that keeps `alpha`. ``"closest"`` takes
        the one that comes closest to it, even from above, as the authors' library means to do (its
        search may stop earlier). ``"none"`` tests every prefix at `alpha`.

    Returns
    -------
    FairTopK
        The new ranking, the table, the adjusted level, and whether the scores alone had passed.
        If the protected group is smaller than the table wants, the others fill up the places and
        ``satisfied`` is false.

    Raises
    ------
    OptionError
        If `k` is larger than the number of items, or `p` or `alpha` not strictly between 0 and 1.
    UnknownGroupError
        If no item is of the protected group.
    OneGroupError
        If all items are.

    References
    ----------
    .. [1] Zehlike, Bonchi, Castillo, Hajian, Megahed and Baeza-Yates, "FA*IR: A fair top-k ranking
       algorithm", CIKM 2017. The exact adjustment: Zehlike, Sühr and Castillo, "A note on the
       significance adjustment for FA*IR with two protected groups", 2020.

    Examples
    --------
    >>> found = fair_topk(
    ...     [9, 8, 7, 6, 5, 4], sensitive_features=list("mmmmff"), protected="f", k=5, p=0.5,
    ...     correction="none",
    ... )
    >>> found.table.tolist(), found.passed, found.ranking.tolist()
    ([0, 0, 0, 1, 1], False, [0, 1, 2, 4, 3])
    """
    given = scores.scores if isinstance(scores, Ranking) else scores
    values = numbers(as_array(given, "scores"), "scores", "item")
    is_protected, name = _find_protected(sensitive_features, protected, len(values))
    _check(k, p, alpha, len(values))
    check_option("correction", correction, CORRECTIONS)
    level, table = _adjust_level(k, p, alpha, correction)
    order = np.argsort(-values, kind="stable")
    ranking = _fill_places(order, is_protected[order], table)
    missing = np.flatnonzero(np.cumsum(is_protected[order[:k]]) < table)
    return FairTopK(
        ranking=ranking,
        protected=is_protected[ranking],
        group=name,
        table=table,
        p=float(p),
        alpha=float(alpha),
        adjusted_alpha=level,
        failure_probability=failure_probability(table, p),
        correction=correction,
        passed=not len(missing),
        failed_at=int(missing[0]) + 1 if len(missing) else None,
        satisfied=bool((np.cumsum(is_protected[ranking]) >= table).all()),
        n_items=len(values),
    )


def required_protected(k: int, p: float, alpha: float) -> Ints:
    r"""Return how many protected items the first 1, 2, ..., k places must hold, each test at alpha.

    .. math:: m(i) = \min\{x : F(x; i, p) > \alpha\}

    Parameters
    ----------
    k : int
        Number of places.
    p : float
        Share of protected items.
    alpha : float
        Level of each test.

    Examples
    --------
    >>> required_protected(10, 0.5, 0.1).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    """
    from scipy.stats import binom

    places = np.arange(1, k + 1)
    bar = min(alpha * (1 + SAME_LEVEL), 1.0)
    # The quantile function is off by one where rounding meets a step; look at both sides of it.
    low = np.maximum(binom.ppf(bar, places, p).astype(np.int64) - 1, 0)
    table = low + sum((binom.cdf(low + step, places, p) <= bar).astype(np.int64) for step in (0, 1))
    required: Ints = np.minimum(table, places)
    return required


def failure_probability(table: ArrayLike, p: float) -> float:
    """Return how often a ranking drawn with share p breaks a table, exactly.

    Every place is protected with probability p, independently. The recursion follows the
    distribution of the number of protected items over those rankings that have not failed yet:
    O(k * m) for k places and m required items.

    Parameters
    ----------
    table : array_like of int
        Protected items that the first 1, 2, ..., k places must hold; it never falls.
    p : float
        Share of protected items.

    Examples
    --------
    >>> round(failure_probability([0, 0, 1], 0.5), 3)
    0.125
    """
    needed = np.asarray(table, dtype=np.int64)
    most = int(needed.max(initial=0))
    # Once a ranking holds all it will ever need it cannot fail: the last state collects these.
    alive = np.zeros(most + 1)
    alive[0] = 1.0
    failed = 0.0
    for least in needed.tolist():
        moved = (1 - p) * alive
        moved[1:] += p * alive[:-1]
        moved[-1] += p * alive[-1]
        failed += float(moved[:least].sum())
        moved[:least] = 0.0
        alive = moved
    return failed


def _adjust_level(k: int, p: float, alpha: float, correction: str) -> tuple[float, Ints]:
    """Return the level of each test and the table it gives."""
    table = required_protected(k, p, alpha)
    if correction == "none" or failure_probability(table, p) <= alpha:
        return float(alpha), table
    levels = _levels_of_steps(k, p, alpha)
    # levels[low] keeps alpha and levels[high] does not: a larger level asks for no less.
    low, high = 0, len(levels)
    while high - low > 1:
        middle = (low + high) // 2
        failed = failure_probability(required_protected(k, p, levels[middle]), p)
        low, high = (middle, high) if failed <= alpha else (low, middle)
    chosen = low
    if correction == "closest" and high < len(levels):
        below, above = (
            failure_probability(required_protected(k, p, levels[place]), p) for place in (low, high)
        )
        chosen = high if above - alpha < alpha - below else low
    level = float(levels[chosen])
    return level, required_protected(k, p, level)


def _levels_of_steps(k: int, p: float, alpha: float) -> Floats:
    """Return 0 and all levels up to alpha at which the table changes, rising."""
    from scipy.stats import binom

    parts = [np.zeros(1)]
    for place in range(1, k + 1):
        most = int(binom.ppf(min(alpha * (1 + SAME_LEVEL), 1.0), place, p)) + 1
        values = binom.cdf(np.arange(most), place, p)
        parts.append(values[values <= alpha * (1 + SAME_LEVEL)])
    levels = np.sort(np.concatenate(parts))
    # Of levels that rounding alone tells apart the largest stands for all.
    apart = np.append(np.diff(levels) > SAME_LEVEL * levels[1:], True)
    distinct: Floats = levels[apart]
    return distinct


def _fill_places(order: Ints, is_protected: NDArray[np.bool_], table: Ints) -> Ints:
    """Fill the places: the best item left, or the best protected one where the table wants it."""
    others, candidates = np.flatnonzero(~is_protected), np.flatnonzero(is_protected)
    chosen, held = [], 0
    for place, needed in enumerate(table.tolist()):
        free, wanted = place - held, held < needed
        if held == len(candidates):
            take = False
        else:
            take = wanted or free == len(others) or candidates[held] < others[free]
        chosen.append(candidates[held] if take else others[free])
        held += take
    return order[np.array(chosen, dtype=np.int64)]


def _find_protected(
    features: ArrayLike, protected: object, n: int
) -> tuple[NDArray[np.bool_], str]:
    column = as_array(features, "sensitive_features")
    check_lengths({"scores": np.empty(n), "sensitive_features": column})
    if not n:
        raise EmptyTableError("item")
    codes, names = group_codes(column, "sensitive_features", "item")
    name = text_of(protected)
    if name not in names:
        raise UnknownGroupError(protected, "sensitive_features", names)
    return codes == names.index(name), name


def _check(k: int, p: float, alpha: float, n: int) -> None:
    whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if not whole or not 1 <= k <= n:
        why = f"there are {n:,} items"
        raise OptionError("k", k, [f"a whole number from 1 to {n}"], why)
    for option, value in (("p", p), ("alpha", alpha)):
        number = isinstance(value, float | int | np.number)
        if not number or not 0 < value < 1:
            raise OptionError(option, value, ["a number between 0 and 1, both excluded"])
