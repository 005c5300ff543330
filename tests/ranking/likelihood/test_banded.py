"""Errors of large fits in batches of items, against inverses and against what happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from comparity import barp, bradley_terry
from comparity.ranking.judgments import judgments_of
from comparity.ranking.likelihood import banded as _banded
from comparity.ranking.likelihood.banded import variances_given_biases
from comparity.ranking.likelihood.comparison_rows import ComparisonRows, _width, band_of, rows_of
from comparity.ranking.likelihood.lapses import pass_over
from comparity.ranking.likelihood.objective import Penalised, Penalty

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


def rows_in(drawn: dict[str, Any]) -> ComparisonRows:
    group = drawn["sensitive_features"]
    told = judgments_of(drawn["comparisons"], n_items=len(group), evaluators=drawn["evaluators"])
    return rows_of(told, group[:, None].astype(np.int8), seat_by_evaluator=False)


SEATS, TIES = np.resize([1, -1, 1], 1440), np.arange(1440) % 7 == 0
CHOICES: dict[str, dict[str, Any]] = {
    "plain": {},
    "zero mean": {"anchor": "zero mean bias"},
    "trusted": {"anchor": [2, 3]},
    "three groups": {"sensitive_features": np.arange(N_ITEMS) % 3},
    "seats": {"seats": SEATS},
    "ties": {"ties": TIES},
    "own seats": {"seats": SEATS, "seat_by_evaluator": True},
    # More biases of an evaluator than parameters in the border.
    "everything": {"sensitive_features": np.arange(N_ITEMS) % 5, "seats": SEATS, "ties": TIES},
    "narrow": {"bias_prior": 0.5},
    # Priors a million apart leave a band three digits, fewer on some processors.
    "narrower than scores by far": {"bias_prior": 3e-3, "score_prior": 3e2},
    "wider than scores by far": {"bias_prior": 300.0, "score_prior": 0.05},
    "no prior of biases": {"bias_prior": None},
    "no prior of biases, trusted": {"bias_prior": None, "anchor": [2, 3]},
}


def same_errors(drawn: dict[str, Any], way: str, errors_by: Callable[[str], None]) -> Any:
    """Return a function that fits in this way and by inversion, and compares all errors."""

    def compare(**choices: Any) -> None:
        found = {}
        for one in ("inverted", way):
            errors_by(one)
            found[one] = fitted(drawn, corrected=False, **choices)
        for name in FIELDS:
            exact, ours = (np.asarray(getattr(one, name)) for one in found.values())
            assert ours == pytest.approx(exact, rel=1e-4, abs=1e-6, nan_ok=True), name
        for effect in ("seat", "ties"):
            exact, ours = (getattr(one, effect) for one in found.values())
            if exact is not None:
                assert ours.standard_error == pytest.approx(exact.standard_error, rel=1e-4)

    return compare


@pytest.mark.parametrize("choices", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("kind", ["apart", "overlapping", "with some everywhere"])
def test_errors_in_a_band_are_those_of_the_inverse(
    kind: str, choices: dict[str, Any], errors_by: Callable[[str], None]
) -> None:
    """The inverse itself is compared with numpy's in the tests of one pass."""
    drawn = in_batches(kind)
    way = "in a band" if kind != "with some everywhere" else "in a band with a border"
    same_errors(drawn, way, errors_by)(**choices)
    band = band_of(rows_in(drawn))
    assert band is not None
    assert band.border == (2 if kind == "with some everywhere" else 0)


@pytest.mark.parametrize("m", [1, 2, 7])
def test_a_panel_that_never_compared_groups_has_errors_of_scores_alone(
    m: int, errors_by: Callable[[str], None]
) -> None:
    """Nothing is known of the mean bias then, whatever priors say about biases around it."""
    drawn = in_batches("apart", n=20, m=m)
    halves = {"comparisons": drawn["comparisons"] // 2 * 2 + drawn["evaluators"][:, None] % 2}
    kept = np.diff(halves["comparisons"], axis=1)[:, 0] != 0
    drawn |= {"comparisons": halves["comparisons"][kept], "evaluators": drawn["evaluators"][kept]}
    for choices in ({}, {"score_prior": 1e-3, "bias_prior": 1e3, "anchor": "zero mean bias"}):
        same_errors(drawn, "in a band", errors_by)(**choices)


@pytest.mark.parametrize("choices", [{}, {"anchor": "zero mean bias"}, {"bias_prior": None}])
@pytest.mark.parametrize("score_prior", [None, 1e3])
def test_errors_in_a_band_need_no_prior(
    score_prior: float | None, choices: dict[str, Any], errors_by: Callable[[str], None]
) -> None:
    """In a chain of batches, passes would put errors at a third of what they are."""
    drawn = in_batches("overlapping", n=86, each=200)
    errors_by("inverted")
    exact = fitted(drawn, score_prior=None, corrected=False, **choices)
    errors_by("in a band")
    found = fitted(drawn, score_prior=score_prior, corrected=False, **choices)
    for name in FIELDS:
        ours, expected = getattr(found, name), getattr(exact, name)
        assert ours == pytest.approx(expected, rel=1e-4, abs=1e-6), name


@pytest.mark.parametrize("prior", [None, 1.0, 1e3])
def test_scores_without_biases_have_the_errors_of_the_inverse(
    prior: float | None, errors_by: Callable[[str], None]
) -> None:
    pairs = in_batches("overlapping", each=200)["comparisons"]
    errors_by("inverted")
    exact = bradley_terry(pairs, prior=None if prior == 1e8 else prior).standard_errors
    errors_by("in a band")
    assert bradley_terry(pairs, prior=prior).standard_errors == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(
    "choices", [{}, {"anchor": [2, 3]}, {"sensitive_features": np.arange(N_ITEMS) % 3}]
)
@pytest.mark.parametrize("kind", ["overlapping", "with some everywhere"])
def test_priors_chosen_in_a_band_are_those_chosen_by_the_inverse(
    kind: str, choices: dict[str, Any], errors_by: Callable[[str], None]
) -> None:
    """Searches end at a change of a thousandth, so that two may end as far apart."""
    chosen, likelihood = {}, "marginal likelihood"
    for way in ("inverted", "in a band with a border"):
        errors_by(way)
        priors = {"score_prior": likelihood, "bias_prior": likelihood}
        found = fitted(in_batches(kind, each=120), corrected=False, **priors, **choices)
        chosen[way] = [prior.sd for prior in found.priors[:2]]
    assert chosen["in a band with a border"] == pytest.approx(chosen["inverted"], rel=5e-3)


def test_rounds_that_choose_priors_leave_wide_bands_alone(
    monkeypatch: pytest.MonkeyPatch, errors_by: Callable[[str], None]
) -> None:
    """Only the errors at the end are worth a factor that takes seconds, on the thread that asks."""
    threads, factored = [], _banded._factor_band

    def counted(*given: Any, **choices: Any) -> Any:
        threads.extend(library["num_threads"] for library in threadpool_info())
        return factored(*given, **choices)

    monkeypatch.setattr(_banded, "_factor_band", counted)
    monkeypatch.setattr("comparity.ranking.likelihood.search.MOST_PRODUCTS_A_ROUND", 0.0)
    errors_by("in a band")
    with threadpool_limits(2, "blas"):
        fitted(in_batches("overlapping"), score_prior="marginal likelihood")
    libraries = [one for one in threadpool_info() if one["user_api"] == "blas"]
    assert len(threads) == len(threadpool_info())
    assert threads.count(1) >= len(libraries)


def test_variances_given_biases_are_those_about_the_mean_score() -> None:
    """With a wide prior, the level of all scores is uncertain, and no error of any."""
    drawn = in_batches("overlapping", n=600, m=400)
    rows = rows_in(drawn)
    basis, penalty = np.ones((600, 1)), Penalty(scores=1e-4, bias=np.eye(1))
    objective = Penalised(pass_over(rows), penalty, basis, flat=True)
    objective.evaluate(np.zeros(objective.size))
    hessian = np.zeros((600, 600))
    for one, two in ((rows.better, rows.worse), (rows.worse, rows.better)):
        np.add.at(hessian, (one, one), 0.25)
        np.add.at(hessian, (one, two), -0.25)
    about = np.eye(600) - 1 / 600
    exact = about @ np.linalg.inv(hessian + 1e-4 * np.eye(600)) @ about
    assert variances_given_biases(objective) == pytest.approx(np.diagonal(exact), rel=1e-6)


def test_evaluators_who_judged_everywhere_stand_in_a_border() -> None:
    """Though they judged fewer items than a band may be wide; not if they never compared groups."""
    drawn = in_batches("with some everywhere", n=6000, m=1200, each=600)
    rows = rows_in(drawn)
    band, last = band_of(rows), rows.evaluator >= 1198
    assert band is not None
    assert band.border == 2
    assert band.width <= 11
    contrast = np.where(last[:, None], 0, rows.contrast).astype(np.int8)
    inside = band_of(replace(rows, contrast=contrast))
    assert inside is not None
    assert inside.border == 0


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
    # Judgments of other items do not fit these, and errors that allow for it are another matter.
    monkeypatch.setattr("comparity.ranking.likelihood.dispersion.FIT_LEVEL", 0.0)
    errors_by("inverted")
    exact = fitted(drawn, corrected=False)
    monkeypatch.setattr("comparity.ranking.likelihood.exact.DENSE", 0)
    monkeypatch.setattr("comparity.ranking.likelihood.comparison_rows.LITTLE_WORK", 200 * 30.0**2)
    monkeypatch.setattr("comparity.ranking.likelihood.comparison_rows.MOST_WORK", 0.0)
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


@pytest.mark.parametrize("n_contrasts", [0, 1, 4])
def test_a_band_is_as_wide_as_its_furthest_entry(n_contrasts: int) -> None:
    """By a search for all parameters that a comparison brings together, in 40 random orders."""
    rows = rows_in(in_batches("drawn", n=15, m=3, size=4, each=4))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        contrast = rng.integers(-1, 2, (len(rows.better), n_contrasts)).astype(np.int8)
        steps, order = np.repeat([1, n_contrasts], [15, 3]), rng.permutation(18)
        place, furthest = np.empty(18, np.int64), max(0, n_contrasts - 1)
        place[order] = np.cumsum(steps[order]) - steps[order]
        columns = rows.better, rows.worse, rows.evaluator, contrast
        for one, two, k, x in zip(*columns, strict=True):
            own = place[15 + k] + np.arange(n_contrasts if x.any() else 0)
            apart = [abs(i - j) for i in (place[one], place[two], *own) for j in place[[one, two]]]
            furthest = max(furthest, *apart)
        assert _width(rows, contrast, place) == furthest


def test_pairs_drawn_from_all_items_make_no_band() -> None:
    assert band_of(rows_in(in_batches("drawn", n=6000, m=1200, each=60))) is None


@pytest.mark.long
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
