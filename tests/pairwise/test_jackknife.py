"""Clusters of items in audits of all pairs: leaving them out in turn, and every door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from scipy import stats

from comparity import pairwise_accuracy
from comparity.errors import MissingValueError, OneClusterError, OptionError
from comparity.pairwise import jackknife as home
from comparity.pairwise.audit import audit_file, audit_frame

RNG = np.random.default_rng(9)
N = 240
PERSON, CODE = RNG.integers(0, 20, N), RNG.integers(0, 2, N)
GROUP = np.array(["a", "b"])[CODE]
NAMES = [f"{person:02}" for person in PERSON]
SCARCER = min(len(set(PERSON[code == CODE])) for code in (0, 1))
QUALITY = RNG.normal(size=N)
LABEL = (QUALITY > 0).astype(float)
SCORE = QUALITY + RNG.normal(size=N) + RNG.normal(size=(20, 2))[PERSON, CODE]


def gap(rows: np.ndarray) -> float:
    """Accuracy of a over b less that of b over a, by a loop over pairs."""
    wins = {}
    for better, worse in (("a", "b"), ("b", "a")):
        one = SCORE[rows & (better == GROUP) & (LABEL == 1)]
        two = SCORE[rows & (worse == GROUP) & (LABEL == 0)]
        wins[better] = np.mean([x > y for x in one for y in two])
    return wins["a"] - wins["b"]


def test_the_error_is_that_of_the_jackknife() -> None:
    found = pairwise_accuracy(LABEL, SCORE, sensitive_features=GROUP, cluster={"person": NAMES})
    test = found.raw.tests[0]
    without = np.array([gap(person != PERSON) for person in range(20)])
    expected = np.sqrt(19 / 20 * ((without - without.mean()) ** 2).sum())
    assert test.gap == pytest.approx(gap(PERSON >= 0))
    assert test.standard_error == pytest.approx(expected)
    assert test.p_value == pytest.approx(2 * stats.t.sf(abs(test.gap) / expected, SCARCER - 1))
    assert test.method == "jackknife t of clusters"
    assert found.raw.design == "all pairs, clustered by person"
    assert found.raw.n_clusters == {"person": 20}


def jackknife(codes: np.ndarray) -> float:
    """Return the variance of the gap, each cluster left out in turn."""
    without = np.array([gap(codes != one) for one in np.unique(codes)])
    return (len(without) - 1) / len(without) * ((without - without.mean()) ** 2).sum()


@pytest.mark.parametrize("n_pages", [3, 7])
def test_what_items_share_twice_is_counted_once(n_pages: int) -> None:
    page = np.arange(N) % n_pages
    kinds = {"person": NAMES, "page": page}
    found = pairwise_accuracy(LABEL, SCORE, sensitive_features=GROUP, cluster=kinds).raw
    test, alone = found.tests[0], [jackknife(PERSON), jackknife(page)]
    both = sum(alone) - jackknife_of_blocks(n_pages * PERSON + page)
    assert test.standard_error**2 == pytest.approx(max(both, *alone))
    error = test.standard_error
    assert test.p_value == pytest.approx(2 * stats.t.sf(abs(test.gap) / error, n_pages - 1))
    assert found.design == "all pairs, clustered by person and page"
    assert found.n_clusters == {"person": 20, "page": n_pages}


def jackknife_of_blocks(codes: np.ndarray) -> float:
    """Return the same of more clusters than blocks, which are dealt out by size."""
    number = np.unique(codes, return_inverse=True)[1]
    place = np.argsort(np.argsort(-np.bincount(number), kind="stable"))
    return jackknife(place[number] % home.MOST_BLOCKS)


def test_clusters_within_others_add_nothing() -> None:
    """Pages of one person each: what two items of a page share, those of a person do."""
    page = 2 * PERSON + np.arange(N) % 2
    kinds = {"person": PERSON, "page": page}
    both, one = (
        pairwise_accuracy(LABEL, SCORE, sensitive_features=GROUP, cluster=cluster).raw.tests[0]
        for cluster in (kinds, PERSON)
    )
    assert both.standard_error >= one.standard_error
    assert both.standard_error == pytest.approx(max(one.standard_error, jackknife(page) ** 0.5))


def test_many_clusters_are_dealt_to_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "MOST_BLOCKS", 5)
    found = pairwise_accuracy(LABEL, SCORE, sensitive_features=GROUP, cluster=NAMES)
    sizes = np.bincount(PERSON)
    place = np.argsort(np.argsort(-sizes, kind="stable"))
    without = np.array([gap(place[PERSON] % 5 != block) for block in range(5)])
    expected = np.sqrt(4 / 5 * ((without - without.mean()) ** 2).sum())
    assert found.raw.tests[0].standard_error == pytest.approx(expected)


def test_standardised_gaps_are_worked_out_anew() -> None:
    label = np.round(QUALITY * 1.2)
    found = pairwise_accuracy(label, SCORE, sensitive_features=GROUP, cluster=PERSON)
    assert found.standardised.n_clusters == {"cluster": 20}
    assert found.standardised.tests[0].gap != found.raw.tests[0].gap
    assert found.standardised.tests[0].standard_error != found.raw.tests[0].standard_error


def test_rare_errors_have_to_pass_both_tests() -> None:
    score = np.where(np.arange(N) % 60 == 0, -QUALITY, QUALITY)
    found, alone = (
        pairwise_accuracy(LABEL, score, sensitive_features=GROUP, cluster=cluster).raw.tests[0]
        for cluster in (PERSON, None)
    )
    assert found.method == f"jackknife t of clusters, and {alone.method}"
    assert found.p_value >= alone.p_value
    assert found.interval(0.9).high >= alone.interval(0.9).high


def test_every_engine_and_file_give_the_audit_of_the_arrays(
    frame: Callable[..., Any], tmp_path: Path
) -> None:
    columns = {"y": LABEL, "model": SCORE, "group": GROUP, "person": PERSON}
    named: dict[str, Any] = {"label": "y", "score": "model", "sensitive": "group"}
    arrays = pairwise_accuracy(LABEL, SCORE, sensitive_features=GROUP, cluster=PERSON).raw
    framed = audit_frame(frame(columns), cluster="person", **named).raw
    polars.DataFrame(columns).write_csv(tmp_path / "items.csv")
    filed = audit_file(tmp_path / "items.csv", cluster="person", **named).raw
    for one in (framed, filed):
        assert one.tests[0].p_value == pytest.approx(arrays.tests[0].p_value)


def test_clusters_of_one_item_change_nothing_and_the_result_says_so() -> None:
    found = pairwise_accuracy(LABEL, SCORE, sensitive_features=GROUP, cluster={"id": np.arange(N)})
    alone = pairwise_accuracy(LABEL, SCORE, sensitive_features=GROUP)
    assert found.raw.tests[0].p_value == alone.raw.tests[0].p_value
    assert "No two items have the same id, so that it has no effect." in found.raw.notes


def test_a_group_in_two_clusters_is_no_test() -> None:
    cluster = np.where(CODE == 1, PERSON % 2, 2 + PERSON)
    found = pairwise_accuracy(LABEL, SCORE, sensitive_features=GROUP, cluster=cluster)
    assert "a group lies in only 2 clusters" in found.raw.tests[0].reason


@pytest.mark.parametrize(
    ("choices", "error"),
    [
        ({"cluster": np.zeros(N)}, OneClusterError),
        ({"cluster": [None, *PERSON[1:].tolist()]}, MissingValueError),
        ({"cluster": PERSON, "notions": ("marginal",)}, OptionError),
        ({"cluster": PERSON, "rule": "paper"}, OptionError),
    ],
)
def test_what_cannot_be_had_is_refused(choices: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        pairwise_accuracy(LABEL, SCORE, sensitive_features=GROUP, **choices)
