"""What the graph of comparisons can tell: components, separation, and whether there are enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.errors import NoPriorError, OptionError
from comparity.ranking.items import Contrasts, ItemAttribute, list_first
from comparity.ranking.judgments import Judgments, count_outcomes
from comparity.ranking.likelihood.comparison_rows import ComparisonRows
from comparity.ranking.likelihood.components import joined_parts, strong_parts

Ints = NDArray[np.int64]


def _no_positions() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Diagnosis:
    """What the graph of comparisons can and cannot tell.

    Without a prior, scores exist only if every item can be reached from every other along "was put
    above"; a prior makes all numbers finite, and then it alone places the components.

    Attributes
    ----------
    n_items, n_comparisons : int
        Size of the graph.
    component : ndarray of int
        For each item the component in which comparisons, whatever their outcome, join items.
    strong_component : ndarray of int
        The same along "was put above".
    uncompared, undefeated, winless : ndarray of int
        Positions of items in no comparison, items never put below another one, items never above.
    silent : ndarray of int
        Evaluators whose comparisons say nothing about some bias of theirs.
    one_sided : ndarray of int
        Evaluators who always decided for the same group where groups met.
    unmet : ndarray of int
        Contrasts of groups that no comparison joins, not even by way of others.
    needed : int
        About n log n, below which rankings from random comparisons are unreliable.
    notes : tuple of str
        The same in words, with names.
    """

    n_items: int
    n_comparisons: int
    component: Ints
    strong_component: Ints
    uncompared: Ints = field(default_factory=_no_positions)
    undefeated: Ints = field(default_factory=_no_positions)
    winless: Ints = field(default_factory=_no_positions)
    silent: Ints = field(default_factory=_no_positions)
    one_sided: Ints = field(default_factory=_no_positions)
    unmet: Ints = field(default_factory=_no_positions)
    needed: int = 0
    notes: tuple[str, ...] = ()

    DERIVED: ClassVar[Mapping[str, str]] = {
        "n_components": "n_components",
        "n_strong_components": "n_strong_components",
    }

    @property
    def n_components(self) -> int:
        """How many parts of the items are never compared with each other."""
        return int(self.component.max(initial=-1)) + 1

    @property
    def n_strong_components(self) -> int:
        """How many parts lose against each other in one direction only, or not at all."""
        return int(self.strong_component.max(initial=-1)) + 1

    @property
    def is_separated(self) -> bool:
        """Whether the likelihood alone would send scores to infinity."""
        return self.n_strong_components > 1

    @property
    def enough(self) -> bool:
        """Whether there are about n log n comparisons."""
        return self.n_comparisons >= self.needed


def enough_comparisons(n_items: int) -> int:
    """Return n log n, about what random comparisons need to rank n items reliably.

    A random graph joins all its vertices from n log(n) / 2 edges on, and rankers reach their best
    rate of error at the same order (Negahban, Oh and Shah, 2017).
    """
    return math.ceil(n_items * math.log(n_items)) if n_items > 1 else 0


def components(judgments: Judgments) -> tuple[Ints, Ints]:
    """Return the component of each item, whatever the outcomes, and along "was put above".

    A tie joins two items both ways. Items in no comparison are components of their own.
    """
    n = judgments.n_items
    above, below = judgments.better, judgments.worse
    weak = joined_parts(above, below, n)
    if judgments.tied is not None:
        ties = judgments.tied
        above, below = np.append(above, below[ties]), np.append(below, judgments.better[ties])
    return weak, strong_parts(above, below, n)


def check_seats(judgments: Judgments) -> None:
    """Refuse seats that scores explain as well: no item ever changes its seat against others.

    Scores explain seats if a number of each item gives all of them as differences; then what a seat
    is worth can be moved into the scores, and nothing tells the two apart.
    """
    seat, items = judgments.seat, (judgments.better, judgments.worse)
    if seat is None or not explains_seats(*items, seat, judgments.n_items):
        return
    why = (
        "no item ever changes its seat against the others, so that what a seat is worth cannot be "
        "told from what the items are"
    )
    raise OptionError("seats", "as given", ["sides drawn at random", "none"], why)


def seats_untold(judgments: Judgments, evaluators: Ints) -> bool:
    """Return whether comparisons of these evaluators do not tell what a seat is worth with them."""
    assert judgments.evaluator is not None
    assert judgments.seat is not None
    own = np.isin(judgments.evaluator, evaluators)
    better, worse, seat = judgments.better[own], judgments.worse[own], judgments.seat[own]
    return explains_seats(better, worse, seat, judgments.n_items)


def explains_seats(
    better: NDArray[Any], worse: NDArray[Any], seat: NDArray[Any], n_items: int
) -> bool:
    """Return whether scores of the items explain all seats: 1 where the better one was first.

    Examples
    --------
    >>> one, two = np.array([0, 0]), np.array([1, 1])
    >>> [explains_seats(one, two, np.array(seat), 2) for seat in ([1, 1], [1, -1])]
    [True, False]
    """
    return bool(_scores_explain(better, worse, seat, np.arange(n_items)))


@njit(cache=True, nogil=True)
def _scores_explain(better, worse, seat, parent):  # type: ignore[no-untyped-def]
    """Return whether numbers of items give every seat as a difference, by joining what is compared.

    `parent` has each item as a part of its own. An item's number is that of its parent and a step.
    """
    step = np.zeros(len(parent), np.int64)
    for p in range(len(better)):
        ends, sums = (better[p], worse[p]), np.zeros(2, np.int64)
        roots = np.zeros(2, np.int64)
        for side in range(2):
            item = ends[side]
            while parent[item] != item:
                # Each item passed is joined to its grandparent, so that ways stay short.
                above = parent[item]
                step[item] += step[above] if parent[above] != above else 0
                parent[item] = parent[above]
                sums[side] += step[item]
                item = parent[item]
            roots[side] = item
        if roots[0] == roots[1]:
            if sums[0] - sums[1] != seat[p]:
                return False
        else:
            parent[roots[0]] = roots[1]
            step[roots[0]] = seat[p] - sums[0] + sums[1]
    return True


def diagnose(
    judgments: Judgments,
    rows: ComparisonRows | None = None,
    contrasts: Contrasts | None = None,
    *,
    trusted: Sequence[int] | Ints = (),
    bounded: bool = False,
) -> Diagnosis:
    """Return which items and evaluators the comparisons leave open.

    Parameters
    ----------
    judgments : Judgments
    rows : ComparisonRows, optional
        The same comparisons with their contrasts, where evaluators have biases.
    contrasts : Contrasts, optional
        What the contrasts are.
    trusted : sequence of int
        Evaluators who have no bias by assumption: nothing is missing of theirs.
    bounded : bool
        Whether scores are finite whatever the outcomes, so that nothing need be said of items that
        never lost.
    """
    weak, strong = components(judgments)
    n = judgments.n_items
    wins, losses = count_outcomes(judgments.better, judgments.worse, n)
    tied = np.zeros(n, np.int64)
    if judgments.tied is not None:
        ties = judgments.tied
        wins, losses = count_outcomes(judgments.better[~ties], judgments.worse[~ties], n)
        tied = count_outcomes(judgments.better[ties], judgments.worse[ties], n).sum(axis=0)
    uses = wins + losses + tied
    unmet = np.zeros(0, dtype=bool)
    if rows is not None and contrasts is not None:
        unmet = unmet_contrasts(judgments, rows, contrasts)
    silent, one_sided = _find_evaluators(rows, unmet)
    found = Diagnosis(
        n_items=n,
        n_comparisons=len(judgments),
        component=weak,
        strong_component=strong,
        uncompared=np.flatnonzero(uses == 0),
        undefeated=np.flatnonzero((losses == 0) & (tied == 0) & (wins > 0)),
        winless=np.flatnonzero((wins == 0) & (tied == 0) & (losses > 0)),
        silent=np.setdiff1d(silent, np.asarray(trusted, dtype=np.int64)),
        one_sided=one_sided,
        unmet=np.flatnonzero(unmet),
        needed=enough_comparisons(n),
    )
    notes = _item_notes(found, judgments.items)
    notes += [] if bounded else _bound_notes(found, judgments.items)
    notes += _judge_notes(found, judgments.evaluators)
    if contrasts is not None:
        notes += [
            f"No comparison leads from one side of {contrasts.names[place]} to the other: these "
            "biases are unknown and not tested."
            for place in found.unmet.tolist()
            if place < len(contrasts.names)
        ]
    return replace(found, notes=tuple(notes))


def unmet_contrasts(
    judgments: Judgments, rows: ComparisonRows, contrasts: Contrasts
) -> NDArray[np.bool_]:
    """Return for each contrast whether no comparison leads from its group to the reference group.

    Such a bias is unknown for every evaluator. It need not be a direct comparison: of three groups
    the first may have met the third by way of the second.
    """
    unmet: NDArray[np.bool_] = rows.leanings.sum(axis=(0, 2)) == 0
    for attribute in contrasts.attributes:
        if len(attribute.groups) == 2:
            continue
        part = _parts_of_groups(attribute, judgments.better, judgments.worse)
        for place, contrast in enumerate(contrasts.names):
            if contrast.attribute == attribute.name:
                unmet[place] = part[attribute.groups.index(contrast.group)] != part[0]
    return unmet


def groups_apart(
    judgments: Judgments, contrasts: Contrasts, evaluators: Ints
) -> list[tuple[str, str]]:
    """Return (attribute, group) that no comparison of these evaluators joins to the reference.

    Groups that nobody's comparisons join are left out: about these nothing is known anyway.
    """
    assert judgments.evaluator is not None
    own = np.isin(judgments.evaluator, evaluators)
    found = []
    for attribute in contrasts.attributes:
        parts = [
            _parts_of_groups(attribute, judgments.better[kept], judgments.worse[kept])
            for kept in (own, slice(None))
        ]
        for code, group in enumerate(attribute.groups):
            theirs, everybody = (part[code] == part[0] for part in parts)
            if everybody and not theirs:
                found.append((attribute.name, group))
    return found


def _parts_of_groups(
    attribute: ItemAttribute, better: NDArray[np.int32], worse: NDArray[np.int32]
) -> Ints:
    """Return the part of each group among those that comparisons join."""
    k = len(attribute.groups)
    pairs = attribute.codes[better] * k + attribute.codes[worse]
    met = np.bincount(pairs, minlength=k * k).reshape(k, k)
    one, two = np.nonzero(met)
    return joined_parts(one, two, k)


def _find_evaluators(rows: ComparisonRows | None, unmet: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Find evaluators without information on some bias, and those who always lean one way."""
    if rows is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    counts = rows.leanings[:, ~unmet]
    told = counts.sum(axis=2) > 0
    one_sided = told & (counts == 0).any(axis=2)
    return np.flatnonzero((~told).any(axis=1)), np.flatnonzero(one_sided.any(axis=1))


def _item_notes(found: Diagnosis, items: NDArray[np.generic]) -> list[str]:
    notes = []
    if not found.enough:
        notes.append(
            f"Fewer comparisons ({found.n_comparisons:,}) than about n log n = {found.needed:,} of "
            f"{found.n_items:,} items: expect an unreliable order."
        )
    if len(found.uncompared):
        notes.append(
            f"In no comparison: {list_first(items[found.uncompared])}; nothing tells where they "
            "belong."
        )
    # Items in no comparison are parts of their own, and named already.
    n_parts = found.n_components - len(found.uncompared)
    if n_parts > 1:
        inside = np.bincount(found.component).argmax()
        apart = np.setdiff1d(np.flatnonzero(found.component != inside), found.uncompared)
        notes.append(
            f"Comparisons fall into {n_parts:,} parts that were never compared with each other, "
            "and do not tell how these compare. Outside the largest part: "
            f"{list_first(items[apart])}."
        )
    return notes


def _bound_notes(found: Diagnosis, items: NDArray[np.generic]) -> list[str]:
    """Name the scores that would be infinite without a prior."""
    notes = []
    n_parts, n_strong = (
        n - len(found.uncompared) for n in (found.n_components, found.n_strong_components)
    )
    if n_strong > n_parts:
        notes.append(
            f"Comparisons alone would make some scores infinite: items fall into {n_strong:,} "
            "parts, and of any two parts one never lost to the other."
            f"{_note_on_cut_off(found, items)}"
        )
    for word, places in (("lost", found.undefeated), ("won", found.winless)):
        if len(places):
            notes.append(
                f"Never {word}: {list_first(items[places])}; comparisons alone set no bound to "
                "their scores."
            )
    return notes


def _note_on_cut_off(found: Diagnosis, items: NDArray[np.generic]) -> str:
    """Name items that one-way outcomes cut off though each of them has won and lost."""
    size = np.bincount(found.strong_component)[found.strong_component]
    # The largest part among those that comparisons join, the last one where sizes are equal.
    place = size * found.n_strong_components + found.strong_component
    largest = np.zeros(found.n_components, np.int64)
    np.maximum.at(largest, found.component, place)
    cut = np.flatnonzero(place < largest[found.component])
    cut = np.setdiff1d(cut, np.append(found.undefeated, found.winless))
    if not len(cut):
        return ""
    return f" Outside the largest, though each of them won and lost: {list_first(items[cut])}."


def _judge_notes(found: Diagnosis, evaluators: NDArray[np.generic]) -> list[str]:
    notes = []
    if len(found.silent):
        notes.append(
            f"No comparison bears on some bias of {list_first(evaluators[found.silent])}; "
            f"it is the mean of the others, with the prior's error."
        )
    if len(found.one_sided):
        notes.append(
            "Always decided for one group where groups met: "
            f"{list_first(evaluators[found.one_sided])}; comparisons alone set no bound to their "
            "biases."
        )
    return notes


def check_joined(diagnosis: Diagnosis, *, regular: bool) -> None:
    """Raise an error where items would run away and nothing holds them."""
    if not regular and diagnosis.is_separated:
        found = f"{diagnosis.n_strong_components:,} parts of the items that never lost to the next"
        raise NoPriorError("scores", found)
