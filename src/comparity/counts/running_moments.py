r"""Moments of judged pairs that are brought up to date by new judgments alone.

What a test needs of shared pairs are sums over clusters (items, pairs, evaluators, and items and
pairs within evaluators) of products of what each cluster holds
(:mod:`comparity.counts.pairs`). A judgment changes the few clusters it belongs to. If a cluster
held :math:`a` judgments of every kind and now holds :math:`b`, the sum of squares changes by
:math:`b b^T - a a^T`, whatever the other clusters hold: time goes with new judgments, not with all.

A *kind* of judgment is the profile (all groups) of the better item, that of the worse one, and
whether the model agrees, ties or disagrees. Cells of every attribute, and both ways to score ties,
are sums over kinds, so that one matrix over kinds serves them all: with :math:`A` the matrix that
adds kinds up to trials and hits of cells, the moments of an attribute are :math:`A M A^T`.
Hypothesised rates enter afterwards, as weights of trials and hits. The third cumulant of what items
add to a gap (:class:`comparity.inference.agreement_tests.SkewedGap`) needs the sums of triple
products, too.

The sums are whole numbers, and equal to those of a recount
(:meth:`comparity.counts.judged_pairs.JudgedPairs.shared_counts`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.clusters import EVALUATORS, MOST_LISTED, Clustering, ClusterMoments
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.ledger import Attribute
from comparity.counts.pairs import TIE_VALUE, Cell, PairCounts, SharedPairCounts, Tally

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_KINDS = 1024
"""With more kinds of judgments the matrices are larger than what they save."""

MOST_CUBED = 48
"""Triple products are summed for so many kinds; with more, items are gone over at each look."""

MISS, TIE, HIT = 0, 1, 2


class JudgmentKind(NamedTuple):
    """Profiles of the better and the worse item, and what the model says of the pair."""

    better: int
    worse: int
    order: int


@dataclass(slots=True, kw_only=True)
class RunningMoments:
    """Sums over clusters of judgments, of every two kinds.

    Attributes
    ----------
    kinds : list of JudgmentKind
    judgments, cubes : ndarray of shape (kinds,)
        Judgments of each kind; and third powers of how often each evaluator judged each pair so.
    items, pairs, evaluators, evaluator_items, evaluator_pairs : ndarray of shape (kinds, kinds)
        Sums of products over each sort of cluster.
    triples : ndarray of shape (kinds, kinds, kinds)
        Sums of triple products over items; empty where there are more than `MOST_CUBED` kinds.
    ties : dict of (int, int) to int
        Tied judgments by profiles.
    seen : dict of (str, str) to int
        Items in each cell, by attribute and cell; and in each group, by attribute and group.
    n_items, n_evaluators, most_uses : int
        Items and evaluators with a judgment, and judgments about the item that occurs in most.
    """

    kinds: list[JudgmentKind] = field(default_factory=list)
    judgments: Floats = field(default_factory=lambda: np.zeros(0))
    cubes: Floats = field(default_factory=lambda: np.zeros(0))
    items: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    pairs: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    evaluators: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    evaluator_items: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    evaluator_pairs: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    triples: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    ties: dict[tuple[int, int], int] = field(default_factory=dict)
    seen: dict[tuple[str, ...], int] = field(default_factory=dict)
    n_items: int = 0
    n_evaluators: int = 0
    most_uses: int = 0

    def code_kinds(self, better: Codes, worse: Codes, order: Codes) -> Codes:
        """Return the kind of each judgment as a position in `kinds`; new ones are added."""
        size = 1 + max(int(better.max(initial=0)), int(worse.max(initial=0)))
        packed = (better * size + worse) * 3 + order
        found, place = np.unique(packed, return_inverse=True)
        known = {kind: code for code, kind in enumerate(self.kinds)}
        codes = np.zeros(len(found), dtype=np.int64)
        for row, one in enumerate(found.tolist()):
            sides, outcome = divmod(one, 3)
            first, second = divmod(sides, size)
            codes[row] = known.setdefault(JudgmentKind(first, second, outcome), len(known))
        if len(known) > len(self.kinds):
            self._grow([*known])
        found_codes: Codes = codes[place.reshape(-1)]
        return found_codes

    def _grow(self, kinds: list[JudgmentKind]) -> None:
        new = len(kinds) - len(self.kinds)
        self.kinds = kinds
        for name in ("judgments", "cubes", *MATRICES):
            held = getattr(self, name)
            setattr(self, name, np.pad(held, [(0, new)] * held.ndim))
        if len(kinds) <= MOST_CUBED:
            self.triples = np.pad(self.triples, [(0, new)] * 3)
        else:
            self.triples = np.zeros((0, 0, 0))

    def change(self, name: str, before: Floats, after: Floats) -> None:
        """Replace what clusters held by what they hold, in the sums of one sort of cluster.

        Parameters
        ----------
        name : str
            One of `MATRICES`.
        before, after : ndarray of shape (clusters, kinds)
        """
        setattr(self, name, getattr(self, name) + after.T @ after - before.T @ before)
        if name == "items" and self.triples.size:
            self.triples = self.triples + _triple_sums(after) - _triple_sums(before)

    def see_items(
        self, before: Floats, after: Floats, profile: Codes, attributes: Mapping[str, Attribute]
    ) -> None:
        """Count items that are new, or new in a cell; and no longer those that hold nothing.

        What the item holds that is used most may be less than before; the caller looks.

        Parameters
        ----------
        before, after : ndarray of shape (items, kinds)
        profile : ndarray of shape (items,)
        attributes : mapping of str to Attribute
            The group of each profile.
        """
        uses = after.sum(axis=1)
        self.most_uses = max(self.most_uses, int(uses.max(initial=0)))
        change = after.any(axis=1).astype(np.int64) - before.any(axis=1)
        self.n_items += int(change.sum())
        for name, attribute in attributes.items():
            assert attribute.codes is not None, "numbers have no profiles"
            group = attribute.codes[profile]
            groups = np.bincount(group, change, len(attribute.names)).astype(np.int64)
            for called, number in zip(attribute.names, groups.tolist(), strict=True):
                self._see((name, called), number)
            cell, cells = self.cells_of(attribute)
            kind_cell = (cell[:, None] == np.arange(len(cells))).astype(np.float64)
            added = (after @ kind_cell > 0).sum(axis=0) - (before @ kind_cell > 0).sum(axis=0)
            for one, number in zip(cells, added.tolist(), strict=True):
                self._see((name, *one), number)

    def _see(self, key: tuple[str, ...], number: int) -> None:
        if number:
            self.seen[key] = self.seen.get(key, 0) + number

    def cells_of(self, attribute: Attribute) -> tuple[Codes, tuple[Cell, ...]]:
        """Return the cell of each kind as a position in the cells that occur."""
        sides = np.array([kind[:2] for kind in self.kinds], dtype=np.int64).reshape(-1, 2)
        return attribute.cells(sides[:, 0], sides[:, 1])

    def outcomes(self, score_ties: str) -> Floats:
        """Return what a judgment of each kind counts for."""
        order = np.array([kind.order for kind in self.kinds], dtype=np.int64)
        found: Floats = np.array([0.0, TIE_VALUE[score_ties], 1.0])[order]
        return found

    @property
    def n(self) -> int:
        """Number of judgments that put one item first."""
        return int(self.judgments.sum())

    @property
    def repeats(self) -> bool:
        """Whether an item or an evaluator occurs in two judgments."""
        return self.most_uses > 1 or 0 < self.n_evaluators < self.n


MATRICES = ("items", "pairs", "evaluators", "evaluator_items", "evaluator_pairs")
"""The sums over clusters, by the sort of cluster."""


def _triple_sums(held: Floats) -> Floats:
    """Return the sums over clusters of the products of every three kinds."""
    n, size = held.shape
    squares = (held[:, :, None] * held[:, None, :]).reshape(n, size * size)
    sums: Floats = (squares.T @ held).reshape(size, size, size)
    return sums


@dataclass(frozen=True, kw_only=True, eq=False)
class RunningPairs:
    """Judged pairs of one attribute as a test sees them, without the pairs.

    Attributes
    ----------
    moments : RunningMoments
    name : str
    attribute : Attribute
        The group of each profile.
    by_evaluator : callable
        Returns what each evaluator holds, of shape (evaluators, kinds), where these are few.
    item_cubes : callable
        Takes weights of shape (gaps, kinds), and returns for each gap the sum over items of the
        cube of the weighted sum of what the item holds.
    list_pairs : callable or None
        Takes a number, and returns the pairs if there are at most so many; ``None`` where nobody
        kept them.
    """

    moments: RunningMoments
    name: str
    attribute: Attribute
    by_evaluator: Callable[[], Floats]
    item_cubes: Callable[[Floats], Floats]
    list_pairs: Callable[[int], JudgedPairs | None] | None = None

    @property
    def n_evaluators(self) -> int:
        """How many evaluators judged; 0 where they are unknown."""
        return self.moments.n_evaluators

    @property
    def clusters(self) -> Mapping[str, Clustering]:
        """No clusters beside items and evaluators."""
        return {}

    def tallies(self) -> dict[Cell, Tally]:
        """Return the tally of every cell."""
        cell, cells = self._held_cells
        order = np.array([kind.order for kind in self.moments.kinds], dtype=np.int64)
        held, judgments = cell >= 0, self.moments.judgments
        table = np.bincount((3 * cell + order)[held], judgments[held], 3 * len(cells))
        missed, tied, hit = table.astype(np.int64).reshape(-1, 3).T.tolist()
        return {
            one: Tally(hit[code], missed[code] + tied[code] + hit[code], tied[code])
            for code, one in enumerate(cells)
        }

    @cached_property
    def _held_cells(self) -> tuple[Codes, tuple[Cell, ...]]:
        """Return the cell of each kind among those that hold a judgment; -1 for the others.

        A cell is empty where all of its judgments were taken back.
        """
        cell, cells = self.moments.cells_of(self.attribute)
        held = np.flatnonzero(np.bincount(cell, self.moments.judgments, len(cells)))
        place = np.full(len(cells), -1, dtype=np.int64)
        place[held] = np.arange(len(held))
        return place[cell], tuple(cells[one] for one in held)

    def judgment_ties(self) -> dict[tuple[str, str], int]:
        """Return tied judgments by the two groups compared, in sorted order."""
        assert self.attribute.codes is not None
        ties: dict[tuple[str, str], int] = {}
        for profiles, number in self.moments.ties.items():
            first, second = sorted(self.attribute.names[self.attribute.codes[p]] for p in profiles)
            ties[first, second] = ties.get((first, second), 0) + number
        return ties

    def fresh_counts(self) -> PairCounts:
        """Return the tallies alone, as if no item and no evaluator occurred twice."""
        return PairCounts(self.tallies(), self.judgment_ties())

    def shared_counts(self) -> SharedPairCounts:
        """Return tallies, and the moments of judgments that share items and evaluators."""
        cells, known = self._held_cells[1], self.moments
        moments = self._cluster_moments("disagree")
        tallies = self.tallies()
        has_ties = any(tally.ties for tally in tallies.values())
        groups = sorted({group for cell in cells for group in cell})
        return SharedPairCounts(
            tallies,
            self.judgment_ties(),
            moments=moments,
            half_moments=self._cluster_moments("half") if has_ties else moments,
            cell_items=np.array([known.seen.get((self.name, *cell), 0) for cell in cells], float),
            group_items={group: known.seen.get((self.name, group), 0) for group in groups},
            n_items=known.n_items,
            n_evaluators=known.n_evaluators,
            most_uses=known.most_uses,
        )

    def _cluster_moments(self, score_ties: str) -> ClusterMoments:
        known, sums = self.moments, self._sums_of_kinds(score_ties)
        items, pairs, judges, judge_items, judge_pairs = (
            sums @ getattr(known, name) @ sums.T for name in MATRICES
        )
        if not known.n_evaluators:
            return ClusterMoments(items=items, pairs=pairs)
        kind = frozenset([EVALUATORS])
        listed = known.n_evaluators <= MOST_LISTED
        return ClusterMoments(
            items=items,
            pairs=pairs,
            same={kind: judges},
            within={kind: judge_items - judge_pairs},
            sizes={EVALUATORS: known.n_evaluators},
            sums={EVALUATORS: self.by_evaluator() @ sums.T} if listed else {},
        )

    def _sums_of_kinds(self, score_ties: str) -> Floats:
        """Return what adds kinds up to the trials of every cell, then its hits."""
        cell, cells = self._held_cells
        trials = (np.arange(len(cells))[:, None] == cell).astype(np.float64)
        return np.vstack([trials, trials * self.moments.outcomes(score_ties)])

    def third_cumulants(
        self, sides: Sequence[tuple[Sequence[Cell], Sequence[Cell]]], score_ties: str
    ) -> list[float]:
        """Return the third cumulant of each gap between mean rates; 0 where a cell holds nothing.

        The same as :meth:`comparity.counts.judged_pairs.ItemResiduals.third_cumulant`.
        """
        cell, cells = self._held_cells
        trials, hits = np.split(self._sums_of_kinds(score_ties) @ self.moments.judgments, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            residual = (self.moments.outcomes(score_ties) - (hits / trials)[cell]) / trials[cell]
        known = {one: code for code, one in enumerate(cells) if trials[code]}
        contrasts = np.zeros((len(sides), len(cells)))
        for row, (first, second) in enumerate(sides):
            if known.keys() >= {*first, *second}:
                for side, share in ((first, 1 / len(first)), (second, -1 / len(second))):
                    contrasts[row, [known[one] for one in side]] = share
        # Kinds that hold nothing have no cell, and no residual.
        weights = np.where(cell < 0, 0.0, contrasts[:, cell] * residual)
        if self.moments.triples.size:
            by_items = np.einsum("klr,rk,rl->r", self.moments.triples @ weights.T, weights, weights)
        else:
            by_items = self.item_cubes(weights)
        found: list[float] = (by_items - weights**3 @ self.moments.cubes).tolist()
        return found
