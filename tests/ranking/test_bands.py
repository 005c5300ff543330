"""Errors of large fits in batches of items, against inverses and against what happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from comparity import barp, bradley_terry
from comparity.ranking._bands import band_of
from comparity.ranking._objective import rows_of
from comparity.ranking._passes import Rows
from comparity.ranking.judgments import judgments_of

N_ITEMS, SCORE_SD = 120, 1.0
FIELDS = (
    "standard_errors",
    "bias_standard_errors",
    "centred_standard_errors",
    "mean_bias_standard_errors",
    "level_standard_errors",
)


def in_batches(
    kind: str, seed: int = 0, *, n: int = N_ITEMS, m: int = 24, size: int = 10, each: int = 60
) -> dict[str, Any]:
    """Return comparisons within batches of items, one for each evaluator.

    Batches are apart from each other, overlap with the next one, or are drawn from all items; or
    two evaluators more judged in all batches.
    """
    rng = np.random.default_rng(seed)
    k = np.repeat(np.arange(m), each)
    first = rng.integers(0, size, len(k))
    places = np.column_stack([first, (first + rng.integers(1, size, len(k))) % size])
    batch = np.arange(m) % (n // size)
    items = {
        "apart": batch[:, None] * size + np.arange(size),
        "overlapping": (np.arange(m)[:, None] * size // 3 + np.arange(size)) % n,
        "drawn": np.array([rng.permutation(n)[:size] for _ in range(m)]),
    }.get(kind, batch[:, None] * size + np.arange(size))
    if kind == "with some everywhere":
        anywhere = rng.integers(0, n // size, len(k))
        items_of = np.where(k < m - 2, batch[k], anywhere)
        pairs = items_of[:, None] * size + places
    else:
        pairs = items[k[:, None], places]
    scores, group = rng.normal(0, SCORE_SD, n), np.arange(n) % 2
    # Groups have equal means, which is what the anchor takes for a fact.
    for side in (0, 1):
        scores[group == side] -= scores[group == side].mean()
    bias = rng.normal(0, 0.7, m)
    seen = scores[pairs] + bias[k][:, None] * group[pairs] + rng.gumbel(size=pairs.shape)
    pairs = np.where(seen[:, :1] > seen[:, 1:], pairs, pairs[:, ::-1])
    return {"comparisons": pairs, "evaluators": k, "sensitive_features": group, "truth": bias}


def fitted(drawn: dict[str, Any], **choices: Any) -> Any:
    known = {name: values for name, values in drawn.items() if name != "truth"}
    return barp(**(known | {"score_prior": SCORE_SD, "bias_prior": 2.0} | choices))


def rows_in(drawn: dict[str, Any]) -> Rows:
    group = drawn["sensitive_features"]
    told = judgments_of(drawn["comparisons"], n_items=len(group), evaluators=drawn["evaluators"])
    return rows_of(told, group[:, None].astype(np.int8), seat_by_evaluator=False)


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"anchor": "zero mean bias"},
        {"anchor": [2, 3]},
        {"sensitive_features": np.arange(N_ITEMS) % 3},
        {"seats": np.resize([1, -1, 1], 1440)},
        {"ties": np.arange(1440) % 7 == 0},
        {"seats": np.resize([1, -1, 1], 1440), "seat_by_evaluator": True},
        {"bias_prior": 0.5},
    ],
    ids=["plain", "zero mean", "trusted", "three groups", "seats", "ties", "own seats", "narrow"],
)
@pytest.mark.parametrize("kind", ["apart", "overlapping", "with some everywhere"])
def test_errors_in_a_band_are_those_of_the_inverse(
    kind: str, choices: dict[str, Any], errors_by: Callable[[str], None]
) -> None:
    """The inverse itself is compared with numpy's in the tests of one pass."""
    drawn, found = in_batches(kind), {}
    for way in ("inverted", "in a band"):
        errors_by(way)
        found[way] = fitted(
            drawn, corrected=False, **{k: v for k, v in choices.items() if k != "corrected"}
        )
    for name in FIELDS:
        exact, ours = (np.asarray(getattr(found[way], name)) for way in found)
        assert ours == pytest.approx(exact, rel=1e-4, abs=1e-6), name
    for effect in ("seat", "ties"):
        one, two = (getattr(found[way], effect) for way in found)
        if one is not None:
            assert two.standard_error == pytest.approx(one.standard_error, rel=1e-4)


def test_scores_without_biases_have_the_errors_of_the_inverse(
    errors_by: Callable[[str], None],
) -> None:
    pairs = in_batches("overlapping")["comparisons"]
    errors_by("inverted")
    exact = bradley_terry(pairs, prior=1.0).standard_errors
    errors_by("in a band")
    assert bradley_terry(pairs, prior=1.0).standard_errors == pytest.approx(exact, rel=1e-6)


def test_answers_to_many_questions_have_errors_of_the_inverse_nearly(
    monkeypatch: pytest.MonkeyPatch, errors_by: Callable[[str], None]
) -> None:
    """Five answers to a question are compared with each other alone, by whoever comes across it.

    Passes alone put errors of scores at half of what they are.
    """
    rng = np.random.default_rng(1)
    drawn = in_batches("apart", m=80, size=5, each=50)
    questions = rng.integers(0, N_ITEMS // 5, len(drawn["evaluators"]))
    drawn["comparisons"] = drawn["comparisons"] % 5 + 5 * questions[:, None]
    errors_by("inverted")
    exact = fitted(drawn, corrected=False)
    monkeypatch.setattr("comparity.ranking._curvature.DENSE", 0)
    monkeypatch.setattr("comparity.ranking._bands.MOST_APART", 0)
    monkeypatch.setattr("comparity.ranking._bands.LITTLE_WORK", 200 * 30.0**2)
    monkeypatch.setattr("comparity.ranking._bands.MOST_WORK", 0.0)
    found = fitted(drawn, corrected=False)
    band = band_of(rows_in(drawn))
    assert band is not None
    assert not band.has_biases
    assert found.standard_errors == pytest.approx(exact.standard_errors, rel=0.08)
    assert found.centred_standard_errors == pytest.approx(exact.centred_standard_errors, rel=0.03)
    errors_by("in passes")
    passes = fitted(drawn, corrected=False).standard_errors
    assert np.median(passes / exact.standard_errors) < 0.7


def test_batches_make_a_band_as_wide_as_a_batch_and_its_neighbours() -> None:
    band = band_of(rows_in(in_batches("apart", n=6000, m=1200)))
    assert band is not None
    assert band.has_biases
    # Ten items and the two evaluators who judged them.
    assert band.width <= 11
    assert band.length == 7200
    assert sorted(band.place) == list(range(7200))
    band = band_of(rows_in(in_batches("overlapping", n=6000, m=1800)))
    assert band is not None
    assert band.width < 50


def test_pairs_drawn_from_all_items_make_no_band() -> None:
    assert band_of(rows_in(in_batches("drawn", n=6000, m=1200, each=60))) is None


def test_intervals_in_large_panels_of_batches_cover_what_they_promise() -> None:
    """Over 95 % intervals of 4 panels with 400 evaluators each; half of the batches overlap.

    Passes alone would cover 86 and 91 %. One panel's intervals are not independent, so bounds are
    those of a fifth of their number.
    """
    hits = []
    for seed in range(4):
        kind = ("apart", "overlapping")[seed % 2]
        drawn = in_batches(kind, seed, n=2000, m=400, size=10, each=150)
        found = fitted(drawn, bias_prior=0.7)
        assert len(found.scores) + found.bias.size > 1500
        off = found.centred_bias[:, 0] - (drawn["truth"] - drawn["truth"].mean())
        hits.append(np.abs(off) < 1.96 * found.centred_standard_errors[:, 0])
    assert np.mean(hits) == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / 320))
