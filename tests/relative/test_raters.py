"""Many decision makers: every pair as if alone, one family, a matrix with two sides."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from comparity import compare_raters, differential_parity
from comparity.errors import (
    MissingColumnError,
    OptionError,
    SeveralContrastsError,
    TooFewRatersError,
)
from comparity.relative.raters import audit_rater_frame
from comparity.relative.result import RaterParity
from comparity.results.result import VIOLATED
from tests.conftest import Build
from tests.reference.corrections import multipletests

LEANS = {"P1": 0.0, "P2": 0.9, "P3": 0.0, "Q": -0.9}


def world(n: int = 500) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(11)
    sex = np.array(["f", "m"] * (n // 2))
    merit = rng.normal(size=n)
    ratings = {
        name: np.round(merit + rng.normal(size=n) + lean * (sex == "m"), 1)
        for name, lean in LEANS.items()
    }
    return ratings, sex


def test_every_pair_has_the_numbers_it_has_alone() -> None:
    ratings, sex = world()
    result = compare_raters(ratings, sensitive_features={"sex": sex})
    assert len(result.contrasts) == 6
    for one in result.contrasts:
        alone = differential_parity(
            ratings[one.first], ratings[one.second], sensitive_features=sex, permutations=0
        )
        assert (one.dpt, one.dpd, one.p_value) == (alone.dpt, alone.dpd, alone.p_value)


def test_all_pairs_share_alpha_by_holm() -> None:
    ratings, sex = world()
    result = compare_raters(ratings, sensitive_features=sex)
    p_values = [one.p_value for one in result.contrasts]
    expected = multipletests(p_values, method="holm")
    assert [one.test.p_adjusted for one in result.contrasts] == pytest.approx(expected[1])
    assert [one.test.differs_from_zero for one in result.contrasts] == expected[0].tolist()


def test_the_matrix_has_two_sides() -> None:
    ratings, sex = world()
    result = compare_raters(ratings, sensitive_features=sex)
    assert result.dpd == pytest.approx(-result.dpd.T)
    assert result.raters == tuple(LEANS)
    for first, second in combinations(range(4), 2):
        name = result.raters[first], result.raters[second]
        (one,) = [one for one in result.contrasts if (one.first, one.second) == name]
        assert result.dpd[first, second] == one.dpd
        found = result.findings["group: m over f"]
        assert found[first][second] == found[second][first] == one.finding


def test_who_leans_comes_out() -> None:
    ratings, sex = world()
    result = compare_raters(ratings, sensitive_features=sex)
    leaning = result.mean_dpd()
    assert (next(iter(leaning)), list(leaning)[-1]) == ("P2", "Q")
    assert sum(leaning.values()) == pytest.approx(0, abs=1e-12)
    assert result.finding == VIOLATED


def test_several_contrasts_have_a_matrix_each() -> None:
    ratings, sex = world()
    both = {"sex": sex, "age": np.array(["old", "young", "mid", "old"] * 125)}
    result = compare_raters(ratings, sensitive_features=both)
    assert list(result.matrices) == [
        "sex: m over f",
        "age: old over mid",
        "age: young over mid",
        "age: young over old",
    ]
    assert len(result.tests) == 6 * 4
    with pytest.raises(SeveralContrastsError):
        _ = result.dpd


def test_a_pattern_names_columns_on_every_engine(frame: Build) -> None:
    ratings, sex = world(60)
    table = frame({**{name: one.tolist() for name, one in ratings.items()}, "sex": sex.tolist()})
    result = audit_rater_frame(table, raters=["P*"], sensitive=["sex"])
    assert result.raters == ("P1", "P2", "P3")
    expected = compare_raters(
        {name: ratings[name] for name in result.raters}, sensitive_features={"sex": sex}
    )
    assert result.dpd == pytest.approx(expected.dpd)


def test_bad_names_are_named(frame: Build) -> None:
    table = frame({"P1": [1, 2], "P2": [2, 1], "sex": ["f", "m"]})
    with pytest.raises(MissingColumnError, match=r"'R\*'"):
        audit_rater_frame(table, raters=["R*"], sensitive=["sex"])
    with pytest.raises(TooFewRatersError, match="'P1'"):
        audit_rater_frame(table, raters=["P1"], sensitive=["sex"])
    with pytest.raises(OptionError, match="continuous"):
        audit_rater_frame(table, raters=["P*"], sensitive=["sex"], continuous=True)


def test_one_pair_that_cannot_be_tested_leaves_the_others() -> None:
    ratings, sex = world()
    result = compare_raters({**ratings, "same": ratings["Q"]}, sensitive_features=sex)
    assert result.dpd[3, 4] == 0
    assert result.finding == VIOLATED
    assert result.to_frame("polars").height == 10


def test_a_gap_without_variation_leads_and_is_not_taken_for_none() -> None:
    ratings, sex = world()
    up, down = ratings["Q"] + 2.0 * (sex == "m"), ratings["Q"] - 2.0 * (sex == "m")
    result = compare_raters({**ratings, "up": up, "down": down}, sensitive_features=sex)
    assert result.dpd[3, 4] == -np.inf
    leaning = result.mean_dpd()
    assert (next(iter(leaning)), list(leaning)[-1]) == ("up", "down")
    assert (leaning["up"], leaning["down"]) == (np.inf, -np.inf)
    # Between the two, so that it has no mean.
    assert np.isnan(leaning["Q"])
    assert leaning[result.raters[0]] == pytest.approx(np.delete(result.dpd[0], 0).mean())
    assert result.to_dict()["leaning"]["group: m over f"]["up"] == "inf"
    assert "up" in str(result)
    result.plot()


def test_a_rater_is_not_compared_with_one_it_cannot_be_compared_with() -> None:
    ratings, sex = world()
    result = compare_raters(ratings, sensitive_features=sex)
    matrix = result.dpd.copy()
    matrix[0, 1] = matrix[1, 0] = np.nan
    untold = replace(result, matrices={"group: m over f": matrix})
    assert untold.mean_dpd()[result.raters[0]] == pytest.approx(result.dpd[0, 2:].mean())


def test_copies_of_a_rater_are_named() -> None:
    ratings, sex = world()
    result = compare_raters({**ratings, "P9": ratings["P2"].copy()}, sensitive_features=sex)
    (warning,) = [note for note in result.notes if "decide alike" in note]
    assert warning.startswith("WARNING: P2 and P9 ")
    assert not [
        one for one in compare_raters(ratings, sensitive_features=sex).notes if "alike" in one
    ]


def test_repeated_ratings_of_a_subject_are_clusters() -> None:
    ratings, sex = world()
    rated = {name: np.repeat(column, 3) for name, column in ratings.items()}
    groups, subject = np.repeat(sex, 3), np.repeat(np.arange(len(sex)), 3)
    once = compare_raters(ratings, sensitive_features=sex)
    thrice = compare_raters(rated, sensitive_features=groups)
    clustered = compare_raters(rated, sensitive_features=groups, cluster=subject)
    assert clustered.audit.n_clusters == {"cluster": len(sex)}
    errors = [
        np.array([one.test.standard_error for one in found.contrasts])
        for found in (once, thrice, clustered)
    ]
    # Three times the same rating tells nothing new.
    assert errors[1] == pytest.approx(errors[0] / np.sqrt(3), rel=0.02)
    assert errors[2] == pytest.approx(errors[0], rel=0.02)
    for one in clustered.contrasts:
        alone = differential_parity(
            rated[one.first],
            rated[one.second],
            sensitive_features=groups,
            cluster=subject,
            permutations=0,
        )
        assert (one.dpd, one.p_value) == (alone.dpd, alone.p_value)


@pytest.mark.parametrize("n", [4, 17])
def test_every_rater_is_listed_once_by_lean_and_the_middle_of_many_is_left_out(n: int) -> None:
    rng = np.random.default_rng(2)
    sex, merit = np.array(["f", "m"] * 100), rng.normal(size=200)
    ratings = {f"r{k}": merit + rng.normal(size=200) + 0.1 * k * (sex == "m") for k in range(n)}
    result = compare_raters(ratings, sensitive_features=sex)
    (grid,) = (one for one in result.section().grids if one.title.startswith("Who leans"))
    order = sorted(ratings, key=lambda name: -np.mean(_leans(result, name)))
    expected = order if n == 4 else [*order[:8], *order[-8:]]
    assert [row[0] for row in grid.rows] == expected
    assert ("1 in the middle" in grid.title) is (n == 17)


def _leans(result: RaterParity, name: str) -> list[float]:
    """Return the DPD of a rater over each of the others."""
    found = [one.dpd for one in result.contrasts if one.first == name]
    return [*found, *(-one.dpd for one in result.contrasts if one.second == name)]
