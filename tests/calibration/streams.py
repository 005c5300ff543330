"""Judgments that arrive one after another, and looks after every twenty, without recounting.

Outcomes are drawn from ``rate of the cell + strength of both items + lean of the evaluator``, so
that gaps between cells are known exactly. Every decision is the package's own (`compare_cells`,
`read_anytime`); looks whose gaps are all below 2.5 standard errors, by the plain variance, decide
nothing at boundaries from 2.76 on, and are passed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from comparity.counts.clusters import EVALUATORS, ClusterMoments
from comparity.counts.pairs import Cell, PairCounts, Sharing, Tally
from comparity.inference.agreement_tests import Contrast, family_of_cells, sides_of
from comparity.inference.anytime import read_anytime
from comparity.inference.dyadic import compare_cells
from comparity.inference.gap_tests import GapTest

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MARGIN, ALPHA = 0.05, 0.05
NEAR = 2.5
EVERY, FIRST = 20, 400


@dataclass(frozen=True, kw_only=True)
class World:
    """How judgments come about.

    Attributes
    ----------
    n_items : int
        Items that are shared; 0 for fresh ones in every pair.
    groups : int
    rate, gap : float
        Agreement, and how much larger it is where the better item is of the first group and the
        worse of the second than the other way round.
    strength : float
        Items add up to so much to agreement, or take it off.
    evaluators : int
        Those who lean; 0 for unknown ones.
    lean : float
        Standard deviation of leans between the first two groups.
    arriving : bool
        Whether items become available as time goes on.
    skewed : bool
        Whether some items are used much more often than others.
    """

    n_items: int = 300
    groups: int = 2
    rate: float = 0.7
    gap: float = 0.0
    strength: float = 0.12
    evaluators: int = 0
    lean: float = 0.1
    arriving: bool = False
    skewed: bool = False


WORLDS = {
    "fresh pairs": World(n_items=0),
    "60 items": World(n_items=60),
    "300 items": World(),
    "3,000 items": World(n_items=3000),
    "items arrive": World(n_items=1000, arriving=True),
    "10 leaning evaluators": World(evaluators=10),
    "30 leaning evaluators": World(evaluators=30),
    "three groups": World(groups=3),
    "rates of 0.95": World(rate=0.95, strength=0.02),
    "fresh, rates of 0.95": World(n_items=0, rate=0.95, strength=0.02),
    "few items in most pairs": World(skewed=True),
}


@dataclass
class Stream:
    """One study: judgments in the order in which they arrive."""

    cells: tuple[Cell, ...]
    cell: Codes
    hit: Floats
    items: Codes
    evaluator: Codes | None


def draw(world: World, n: int, rng: np.random.Generator) -> Stream:
    """Draw a study of `n` judgments."""
    n_items = world.n_items or 2 * n
    group = rng.integers(0, world.groups, n_items)
    strength = rng.uniform(-world.strength, world.strength, n_items)
    better, worse = _choose(world, n, n_items, rng)
    cell = world.groups * group[better] + group[worse]
    chance = world.rate + strength[better] + strength[worse]
    side = (cell == 1).astype(float) - (cell == world.groups)
    chance = chance + side * world.gap / 2
    evaluator = None
    if world.evaluators:
        evaluator = rng.integers(0, world.evaluators, n)
        chance = chance + side * rng.normal(0, world.lean, world.evaluators)[evaluator]
    names = [chr(ord("a") + code) for code in range(world.groups)]
    return Stream(
        cells=tuple(Cell(one, two) for one in names for two in names),
        cell=cell,
        hit=(rng.random(n) < np.clip(chance, 0, 1)).astype(float),
        items=np.column_stack([better, worse]),
        evaluator=evaluator,
    )


def _choose(world: World, n: int, n_items: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    if not world.n_items:
        return np.arange(n), np.arange(n, 2 * n)
    known = np.full(n, n_items)
    if world.arriving:
        known = np.minimum(n_items, 30 + np.arange(n) // 8)
    if world.skewed:
        weights = 1 / np.arange(1, n_items + 1)
        first = rng.choice(n_items, n, p=weights / weights.sum())
    else:
        first = (rng.random(n) * known).astype(np.int64)
    other = 1 + (rng.random(n) * (known - 1)).astype(np.int64)
    return first, (first + other) % known


def running_products(clusters: Codes, held: Floats, cell: Codes, every: int) -> Floats:
    """Return the second moments of clusters after every so many judgments.

    A judgment is in as many clusters as `clusters` has columns. It adds the products of what it
    holds with what its clusters held before, both ways, and with itself.
    """
    n, size = held.shape
    code, rows = clusters.ravel(), np.repeat(np.arange(n), clusters.shape[1])
    order = np.argsort(code, kind="stable")
    ordered = held[rows[order]]
    until = np.cumsum(ordered, axis=0) - ordered
    first = np.searchsorted(code[order], code[order])
    before = np.empty_like(until)
    before[order] = until - until[first]
    looks, cells, hits = rows // every, cell[rows], held[rows, size // 2 + cell[rows]]
    added = np.zeros((n // every, size, size))
    np.add.at(added, (looks, cells), before)
    np.add.at(added, (looks, size // 2 + cells), hits[:, None] * before)
    own = np.zeros_like(added)
    np.add.at(own, (looks, cells), held[rows])
    np.add.at(own, (looks, size // 2 + cells), hits[:, None] * held[rows])
    found: Floats = np.cumsum(added + added.transpose(0, 2, 1) + own, axis=0)
    return found


def _numbered(*columns: Codes) -> Codes:
    codes = columns[0].astype(np.int64)
    for column in columns[1:]:
        codes = codes * (int(column.max()) + 1) + column
    return np.unique(codes, return_inverse=True)[1].reshape(-1, 1)


class Looks:
    """All looks at one study."""

    def __init__(self, stream: Stream, every: int = EVERY) -> None:
        self.stream, self.every = stream, every
        self.size = len(stream.cells)
        self.number = len(stream.cell) // every
        held = np.zeros((len(stream.cell), 2 * self.size))
        rows = np.arange(len(stream.cell))
        held[rows, stream.cell] = 1
        held[rows, self.size + stream.cell] = stream.hit
        self.held = held
        self.totals = np.cumsum(held, axis=0)[every - 1 :: every][: self.number]
        low, high = np.sort(stream.items, axis=1).T
        self.pair = _numbered(low, high)
        self.parts = {"items": self._running(stream.items), "pairs": self._running(self.pair)}
        if stream.evaluator is not None:
            judge = stream.evaluator
            self.parts["same"] = self._running(judge[:, None])
            both = _numbered(np.tile(judge, 2), stream.items.T.ravel()).reshape(2, -1).T
            self.parts["within"] = self._running(both)
            self.parts["within"] -= self._running(_numbered(judge, self.pair.ravel()))

    def _running(self, clusters: Codes) -> Floats:
        return running_products(clusters, self.held, self.stream.cell, self.every)

    def sharing_moments(self, look: int) -> Sharing:
        """Return what the package counts after this look."""
        n, hits = self.totals[look, : self.size], self.totals[look, self.size :]
        tallies = {
            cell: Tally(int(h), int(t))
            for cell, h, t in zip(self.stream.cells, hits, n, strict=True)
        }
        if self.stream.items.max() >= 2 * len(self.stream.cell) - 1:
            return PairCounts(tallies).sharing_moments()
        own = np.block([[np.diag(n), np.diag(hits)], [np.diag(hits), np.diag(hits)]])
        moments, kinds = self._moments(look)
        return Sharing.of(self.stream.cells, (n, hits, own, np.zeros_like(n)), moments, kinds)

    def _moments(self, look: int) -> tuple[ClusterMoments, list[str]]:
        base = {name: self.parts[name][look] for name in ("items", "pairs")}
        judge = self.stream.evaluator
        if judge is None:
            return ClusterMoments(**base), []
        kind, until = frozenset([EVALUATORS]), (look + 1) * self.every
        sums = np.zeros((int(judge.max()) + 1, 2 * self.size))
        np.add.at(sums, judge[:until], self.held[:until])
        sums = sums[sums.any(axis=1)]
        moments = ClusterMoments(
            **base,
            same={kind: self.parts["same"][look]},
            within={kind: self.parts["within"][look]},
            sizes={EVALUATORS: len(sums)},
            sums={EVALUATORS: sums},
        )
        return moments, [EVALUATORS]

    def plain_z(self, contrast: Contrast, hypothesised: float) -> Floats:
        """Return the statistic at every look with the variance as printed; nan where none."""
        first, second = sides_of(contrast)
        codes = [self.stream.cells.index(cell) for cell in (*first, *second)]
        signs = np.repeat([1 / len(first), -1 / len(second)], [len(first), len(second)])
        with np.errstate(all="ignore"):
            n = self.totals[:, codes]
            rates = self.totals[:, [self.size + code for code in codes]] / n
            gap = rates @ signs
            share = signs / n
            null = rates - ((gap - hypothesised) / (share @ signs))[:, None] * share
            weights = np.hstack([-null * share, share])
            rows = [*codes, *(self.size + code for code in codes)]
            dependent = self.parts["items"] - self.parts["pairs"]
            if "same" in self.parts:
                dependent = dependent + self.parts["same"] - self.parts["within"]
            block = dependent[:, rows][:, :, rows]
            variance = np.einsum("li,lij,lj->l", weights, block, weights)
            found: Floats = (gap - hypothesised) / np.sqrt(np.maximum(variance, 1e-12))
        return found


def contrasts_of(world: World) -> tuple[Contrast, ...]:
    """Return the hypotheses that an audit of so many groups tests."""
    names = [chr(ord("a") + code) for code in range(world.groups)]
    return family_of_cells(names).tested


@dataclass(frozen=True)
class Stops:
    """After how many judgments each rule first decided; infinite where it never did."""

    anytime: float
    repeated: float


def first_violation(looks: Looks, contrasts: tuple[Contrast, ...]) -> Stops:
    """Say when any gap is found to differ from zero, after Holm's correction.

    Its first step finds whatever is found. `repeated` is the z-test of a single look, each time at
    the full level.
    """
    level = ALPHA / len(contrasts)
    with np.errstate(invalid="ignore"):
        z = np.nan_to_num(np.abs([looks.plain_z(one, 0.0) for one in contrasts]))

    def rejects(test: GapTest) -> bool:
        return read_anytime(test, margin=MARGIN, alpha=ALPHA).p_value <= level

    return _stops(looks, contrasts, z, -float(ndtri(level / 2)), rejects)


def first_within(looks: Looks, contrast: Contrast) -> Stops:
    """Say when a gap is found to be within the margin."""
    with np.errstate(invalid="ignore"):
        below, above = (looks.plain_z(contrast, end) for end in (MARGIN, -MARGIN))
    z = np.nan_to_num(np.minimum(-below, above))[None]

    def rejects(test: GapTest) -> bool:
        now = read_anytime(test, margin=MARGIN, alpha=ALPHA)
        return now.equivalence_p_value(MARGIN) <= ALPHA

    return _stops(looks, (contrast,), z, -float(ndtri(ALPHA)), rejects)


def _stops(
    looks: Looks,
    contrasts: tuple[Contrast, ...],
    z: Floats,
    quantile: float,
    rejects: Callable[[GapTest], bool],
) -> Stops:
    # Earlier the variance as printed has too few outcomes to go by.
    began = (np.arange(looks.number) + 1) * looks.every >= FIRST
    repeated = np.flatnonzero((z > quantile).any(axis=0) & began)
    for look in np.flatnonzero((z > NEAR).any(axis=0)):
        sharing = looks.sharing_moments(int(look))
        near = (one for one, size in zip(contrasts, z[:, look], strict=True) if size > NEAR)
        if any(rejects(compare_cells(sharing, *one, null="")) for one in near):
            return Stops((look + 1) * looks.every, _first(repeated, looks.every))
    return Stops(math.inf, _first(repeated, looks.every))


def _first(found: NDArray[np.intp], every: int) -> float:
    return float((found[0] + 1) * every) if len(found) else math.inf


def violations(world: World, n: int, repetitions: int, seed: int) -> Iterator[Stops]:
    """Follow studies until a gap is found."""
    rng, contrasts = np.random.default_rng(seed), contrasts_of(world)
    for _ in range(repetitions):
        yield first_violation(Looks(draw(world, n, rng)), contrasts)


def harmless(world: World, n: int, repetitions: int, seed: int) -> Iterator[Stops]:
    """Follow studies until the gap across the first two groups is found within the margin."""
    rng, contrasts = np.random.default_rng(seed), contrasts_of(world)
    across = next(one for one in contrasts if {*one} == {Cell("a", "b"), Cell("b", "a")})
    for _ in range(repetitions):
        yield first_within(Looks(draw(world, n, rng)), across)
