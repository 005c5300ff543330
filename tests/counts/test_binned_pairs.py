"""Pairs from a table of bins are those of the double loop, and exact counts lie within bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comparity.counts.all_pairs import AllPairs, all_pairs
from comparity.counts.binned_pairs import PairDoubt, PairSums, PairTable
from comparity.counts.pairs import TIE_VALUE
from tests.plain.binned_pairs import Item, sums, vectors

GROUPS = ("a", "b", "c")
BINS = 4

items = st.lists(
    st.builds(
        Item,
        label=st.integers(0, 3),
        group=st.integers(0, 2),
        bin=st.integers(0, BINS - 1),
        is_single=st.just(False),
        weight=st.sampled_from([1.0, 0.5, 2.0]),
    ),
    min_size=1,
    max_size=14,
)
singles = st.lists(st.booleans(), min_size=BINS, max_size=BINS)


def tabulate(found: list[Item]) -> PairTable:
    """Put every item into a row of its own; bins that hold one score have equal ends."""
    columns = {name: np.array([getattr(one, name) for one in found]) for name in ("bin", "group")}
    weight = np.array([one.weight for one in found])
    return PairTable.of(
        {
            **columns,
            "level": np.array([one.label for one in found]),
            "n": np.ones(len(found)),
            "weight": weight,
            "square": weight**2,
            "low": np.zeros(len(found)),
            "high": np.array([0.0 if one.is_single else 1.0 for one in found]),
            "code": columns["bin"],
        },
        GROUPS,
        np.arange(4.0),
    )


def count(found: list[Item], score_ties: str, parts: int = 1) -> tuple[AllPairs, PairDoubt]:
    table = tabulate(found)
    rows = table.rows()
    summed = PairSums(GROUPS, table.by_label(rows.weight), table.by_label(rows.square))
    for bins in np.array_split(np.arange(table.n_bins), parts):
        kept = np.isin(rows.place, bins)
        summed.add(type(rows)(*(column[kept] for column in rows)))
    return summed.pairs(score_ties)


def with_singles(found: list[Item], single: list[bool]) -> list[Item]:
    return [one._replace(is_single=single[one.bin]) for one in found]


@given(items, singles, st.sampled_from(["disagree", "half"]), st.sampled_from([1, 3]))
@settings(max_examples=60)
def test_sums_and_moments_equal_the_double_loop(
    found: list[Item], single: list[bool], score_ties: str, parts: int
) -> None:
    known = with_singles(found, single)
    pairs, doubt = count(known, score_ties, parts)
    trials, hits, ties, unknown = (part.ravel() for part in sums(known, 3))
    assert pairs.sharing.trials == pytest.approx(trials)
    tie = TIE_VALUE[score_ties]
    assert pairs.sharing.hits == pytest.approx(hits + unknown / 2 + tie * ties)
    assert pairs.score_ties == pytest.approx(ties)
    assert doubt.hits == pytest.approx(unknown / 2)
    of_items, doubts = vectors(known, 3, tie)
    dependent = of_items.T @ of_items - pairs.sharing.own
    assert pairs.sharing.dependent == pytest.approx(dependent, abs=1e-9)
    assert doubt.items == pytest.approx(doubts.T @ doubts, abs=1e-9)


@given(items, st.randoms(use_true_random=False), st.sampled_from(["disagree", "half"]))
@settings(max_examples=60)
def test_exact_counts_lie_within_the_bounds_whatever_the_scores(
    found: list[Item], random: object, score_ties: str
) -> None:
    inside = [random.choice([0.0, 0.3, 0.3, 0.9]) for _ in found]  # type: ignore[attr-defined]
    score = np.array([one.bin for one in found]) + np.array(inside)
    label, group, weight = (
        np.array([getattr(one, name) for one in found]) for name in ("label", "group", "weight")
    )
    exact = all_pairs(label.astype(float), score, group, GROUPS, weights=weight).sharing
    half = all_pairs(label * 1.0, score, group, GROUPS, weights=weight, score_ties="half").sharing
    pairs, doubt = count(found, score_ties)
    truth = half if score_ties == "half" else exact
    assert np.all(np.abs(truth.hits - pairs.sharing.hits) <= doubt.hits + 1e-9)
    uses, found_uses = (one.dependent + one.own for one in (truth, pairs.sharing))
    for contrast in np.vstack([np.eye(9), np.eye(9) - np.eye(9)[::-1]]):
        # Roots of what items add to the variance of sums of hits.
        roots = [contrast @ one[9:, 9:] @ contrast for one in (uses, found_uses)]
        exact_root, root = np.sqrt(np.maximum(roots, 0))
        error = np.sqrt(np.abs(contrast) @ doubt.items @ np.abs(contrast))
        assert exact_root <= root + error + 1e-9


def test_a_bin_with_one_score_leaves_nothing_in_doubt() -> None:
    found = [Item(label, 0, 0, True, 1.0) for label in (0, 0, 1)]
    pairs, doubt = count(found, "disagree")
    assert (pairs.sharing.hits[0], pairs.score_ties[0], doubt.bound(doubt.cells)) == (0, 2, 0.0)


def test_a_cell_without_pairs_has_no_bound() -> None:
    found = [Item(label, 0, 0, False, 1.0) for label in (0, 1)]
    doubt = count(found, "disagree")[1]
    assert doubt.bound(doubt.cells[:1]) == 0.5
    assert doubt.bound(doubt.cells[-1:]) == 0.0
