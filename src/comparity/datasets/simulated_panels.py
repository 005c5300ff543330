r"""Panels of leaning evaluators whose truth is known, to see what a ranker finds of it.

The model of Ferrara et al. [1]_, section 5.1. Items have a quality :math:`s_i` and belong to group
``"a"`` or ``"b"`` of every attribute. Evaluator k sees two items, drawn uniformly among all pairs,
and prefers the one shown first, i, to the other, j, with odds :math:`e^{x}`,

.. math:: x = (s_i + \theta_k \cdot g_i) - (s_j + \theta_k \cdot g_j) + \delta,

where :math:`g_i` says in which attributes item i is of group ``"b"`` (and in which intersections of
them), so that a positive bias favours group ``"b"``. The effect :math:`\delta` of the first seat is
0 in the paper. With Davidson's tie parameter :math:`\nu` the three outcomes *first*, *second* and
*tie* have weights :math:`e^{x/2}, e^{-x/2}, \nu`; it is 0 in the paper, too. A bias that depends on
quality adds :math:`\theta_k (1 + \beta s_i)` in place of :math:`\theta_k`.

References
----------
.. [1] Ferrara, Bonchi, Fabbri, Karimi and Wagner, "Bias-aware ranking from pairwise comparisons",
   2024. Its N(0, 5) has a standard deviation, not a variance, of 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.errors import OptionError

AND = " & "
"""Joins the names of attributes whose intersection has a bias of its own."""

LARGEST = 1000.0
"""Log odds beyond which nothing is left to chance; the odds themselves are still numbers."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Size = int | Sequence[int]


class Distribution(Protocol):
    """What a distribution of :mod:`scipy.stats`, with its parameters fixed, can be asked for."""

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        """Draw independent values."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedPanel:
    """Comparisons by simulated evaluators, and what is true of items and evaluators.

    Attributes
    ----------
    comparisons : ndarray of int, (n, 2)
        Positions of the two items, the better one first; for a tie the one shown first.
    evaluators : ndarray of int, (n,)
        Who judged.
    ties : ndarray of bool, (n,)
        Whether it was called a tie.
    seats : ndarray of int, (n,)
        1 where the first item named was shown first, -1 where it was shown second.
    scores : ndarray, (items,)
        True quality.
    groups : mapping of str to ndarray
        Group of each item, ``"a"`` or ``"b"``, by attribute.
    bias_names : tuple of str
        What each column of `bias` favours: an attribute, or several joined by ``" & "``.
    bias : ndarray, (evaluators, columns)
        What each evaluator adds to items of group ``"b"`` of the attribute.
    seat, tie, slope : float
        True effect of being shown first, tie parameter, and dependence of the bias on quality.
    """

    comparisons: Ints
    evaluators: Ints
    ties: NDArray[np.bool_]
    seats: Ints
    scores: Floats
    groups: Mapping[str, NDArray[np.str_]]
    bias_names: tuple[str, ...]
    bias: Floats
    seat: float = 0.0
    tie: float = 0.0
    slope: float = 0.0

    @property
    def sensitive_features(self) -> NDArray[np.str_]:
        """Group of each item in the first attribute."""
        return next(iter(self.groups.values()))

    @property
    def membership(self) -> Floats:
        """Return which items each bias is for: 0 or 1, (items, columns)."""
        return _membership(self.groups, self.bias_names)

    def margins(self, first: Ints, second: Ints, evaluators: Ints) -> Floats:
        """Return the log odds that the item shown first is preferred, where nothing ties.

        Parameters
        ----------
        first, second : ndarray of int
            Positions of the items.
        evaluators : ndarray of int
            Who decides.
        """
        side = self.membership * (1 + self.slope * self.scores)[:, None]
        lean = (self.bias[evaluators] * (side[first] - side[second])).sum(axis=1)
        margin: Floats = self.scores[first] - self.scores[second] + lean + self.seat
        return margin


def simulate_comparisons(
    *,
    rng: np.random.Generator,
    bias: Distribution | Mapping[str, Distribution] | None = None,
    scores: Distribution | ArrayLike | None = None,
    groups: Mapping[str, int | Sequence[str]] | None = None,
    n_items: int = 100,
    n_evaluators: int = 50,
    pairs: Size | Distribution = 100,
    equal_means: bool = False,
    seat: float = 0.0,
    tie: float = 0.0,
    slope: float = 0.0,
) -> SimulatedPanel:
    """Draw items, evaluators and comparisons; without options the panel of the paper's section 5.1.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness. What is drawn or given in log odds (qualities, biases, the seat, and
        what they come to for a pair) lies between -1000 and 1000.
    bias : distribution or mapping of str to distribution, optional
        Of the evaluators' bias for group ``"b"``: of the first attribute, or by attribute; a name
        such as ``"sex & race"`` is for items in group ``"b"`` of both, on top of the others.
        No bias by default. Any frozen distribution of :mod:`scipy.stats` will do: ``norm(2, 0.1)``,
        ``uniform(-5, 10)``, ``expon(scale=2)``.
    scores : distribution or array-like, optional
        Of the items' quality, or the quality of every item; normal with standard deviation 5 by
        default.
    groups : mapping of str to int or sequence of str, optional
        How many items are of group ``"b"``, by attribute, drawn independently, or the group of
        every item, ``"a"`` or ``"b"``; ``{"group": 30}`` by default.
    n_items, n_evaluators : int
        How many.
    pairs : int, sequence of int, or distribution
        Comparisons of each evaluator: the same number for all, one for each, or drawn.
    equal_means : bool
        Whether to shift the scores drawn so that the groups of every attribute have mean zero, as
        the paper assumes of them; groups of 30 and 70 drawn alike differ by chance.
    seat : float
        Log odds that being shown first adds.
    tie : float
        Davidson's tie parameter, from 0 to 1000.
    slope : float
        By which share the bias grows with each unit of quality.

    Returns
    -------
    SimulatedPanel
        The comparisons and what is true of them.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> panel = simulate_comparisons(rng=np.random.default_rng(1), bias=norm(2, 0.1))
    >>> panel.comparisons.shape, panel.bias.shape, int((panel.sensitive_features == "b").sum())
    ((5000, 2), (50, 1), 30)
    """
    from scipy.stats import norm

    wanted = {"group": 30} if groups is None else dict(groups)
    _check(n_items, n_evaluators, wanted)
    _check_effects(seat=seat, tie=tie, slope=slope)
    members = {name: _draw_groups(name, n_items, want, rng) for name, want in wanted.items()}
    names, drawn = _draw_bias(bias, members, n_evaluators, rng)
    quality = _draw_scores(norm(0, 5) if scores is None else scores, n_items, rng)
    if equal_means:
        inside = np.column_stack([np.ones(n_items), _membership(members, tuple(members))])
        quality -= inside @ np.linalg.lstsq(inside, quality, rcond=None)[0]
    evaluator = np.repeat(np.arange(n_evaluators), _draw_pair_counts(pairs, n_evaluators, rng))
    panel = SimulatedPanel(
        comparisons=_draw_items(len(evaluator), n_items, rng),
        evaluators=evaluator,
        ties=np.zeros(len(evaluator), dtype=bool),
        seats=np.ones(len(evaluator), dtype=np.int64),
        scores=quality,
        groups=members,
        bias_names=names,
        bias=drawn,
        seat=seat,
        tie=tie,
        slope=slope,
    )
    return _judge_pairs(panel, rng)


def _judge_pairs(panel: SimulatedPanel, rng: np.random.Generator) -> SimulatedPanel:
    """Let every evaluator say which of the two items shown is better."""
    shown = panel.comparisons
    margin = panel.margins(shown[:, 0], shown[:, 1], panel.evaluators)
    _check_range("scores, bias, seat and slope", margin, "what they come to for a pair is larger")
    weights = np.stack([np.exp(margin / 2), np.full(len(shown), panel.tie), np.exp(-margin / 2)])
    place = rng.random(len(shown)) * weights.sum(axis=0)
    outcome = (place >= np.cumsum(weights, axis=0)).sum(axis=0)
    lost = outcome > 1
    return replace(
        panel,
        comparisons=np.where(lost[:, None], shown[:, ::-1], shown),
        ties=outcome == 1,
        seats=np.where(lost, -1, 1),
    )


def _draw_items(n: int, items: int, rng: np.random.Generator) -> Ints:
    first = rng.integers(items, size=n)
    # A shift of 1 to n - 1 places never leads back to the same item, and to all others alike.
    return np.column_stack([first, (first + rng.integers(1, items, size=n)) % items])


def _draw_groups(
    name: str, n: int, wanted: int | Sequence[str], rng: np.random.Generator
) -> NDArray[np.str_]:
    if isinstance(wanted, int | np.integer):
        group = np.full(n, "a")
        group[rng.permutation(n)[: max(wanted, 0)]] = "b"
    else:
        group = np.array(wanted, dtype=np.str_)
    if group.shape != (n,) or set(group) != {"a", "b"}:
        allowed = [f"1 to {n - 1}", f"'a' or 'b' for each of {n} items"]
        raise OptionError(f"groups[{name!r}]", wanted, allowed, "both groups need items")
    return group


def _draw_scores(scores: Any, n: int, rng: np.random.Generator) -> Floats:
    if hasattr(scores, "rvs"):
        return _draw("scores", scores, n, rng)
    try:
        given = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape != (n,):
        raise OptionError("scores", scores, [f"{n} finite numbers, one an item, or a distribution"])
    _check_range("scores", given)
    return given


def _draw_bias(
    bias: Distribution | Mapping[str, Distribution] | None,
    members: Mapping[str, NDArray[np.str_]],
    n: int,
    rng: np.random.Generator,
) -> tuple[tuple[str, ...], Floats]:
    first = next(iter(members))
    if bias is None:
        return (first,), np.zeros((n, 1))
    distributions = bias if isinstance(bias, Mapping) else {first: bias}
    for name in distributions:
        if not set(name.split(AND)) <= set(members):
            raise OptionError("bias", name, [repr(known) for known in members])
    drawn = [_draw("bias", one, n, rng) for one in distributions.values()]
    return tuple(distributions), np.column_stack(drawn)


def _draw_pair_counts(pairs: Any, n: int, rng: np.random.Generator) -> Ints:
    sizes = pairs.rvs(size=n, random_state=rng) if hasattr(pairs, "rvs") else pairs
    counts = np.broadcast_to(np.asarray(sizes), n) if np.ndim(sizes) == 0 else np.asarray(sizes)
    if counts.shape != (n,) or counts.dtype.kind not in "iu" or counts.min() < 0:
        raise OptionError("pairs", pairs, [f"a whole number, {n} of them, or a distribution"])
    return counts.astype(np.int64)


def _draw(option: str, distribution: Distribution, n: int, rng: np.random.Generator) -> Floats:
    # What overflows is refused below.
    with np.errstate(all="ignore"):
        try:
            drawn = np.asarray(distribution.rvs(size=n, random_state=rng), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise OptionError(
                option, distribution, ["a distribution with proper parameters"]
            ) from error
    _check_range(option, drawn)
    return drawn


def _check_range(option: str, found: Floats, why: str = "") -> None:
    """Refuse log odds that are no numbers, or beyond all chance."""
    broken = ~(np.abs(found) <= LARGEST)
    if broken.any():
        allowed = [f"log odds between {-LARGEST:g} and {LARGEST:g}"]
        raise OptionError(option, float(found[broken][0]), allowed, why)


def _membership(groups: Mapping[str, NDArray[np.str_]], names: Sequence[str]) -> Floats:
    columns = [np.all([groups[one] == "b" for one in name.split(AND)], axis=0) for name in names]
    return np.column_stack(columns).astype(np.float64)


def _check_effects(*, seat: Any, tie: Any, slope: Any) -> None:
    for option, found in (("seat", seat), ("tie", tie), ("slope", slope)):
        number = isinstance(found, Real) and not isinstance(found, bool)
        least = 0.0 if option == "tie" else -LARGEST
        if not number or not least <= found <= LARGEST:
            raise OptionError(option, found, [f"a number from {least:g} to {LARGEST:g}"])


def _check(n_items: int, n_evaluators: int, groups: Mapping[str, Any]) -> None:
    for option, found, least in (("n_items", n_items, 2), ("n_evaluators", n_evaluators, 1)):
        if not isinstance(found, int | np.integer) or found < least:
            raise OptionError(option, found, [f"a whole number from {least}"])
    if not groups:
        raise OptionError("groups", groups, ["at least one attribute"])
