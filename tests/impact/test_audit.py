"""Impact ratios: counted by hand, unknown groups, small groups, four fifths, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import hypergeom

from comparity import impact_ratios
from comparity.counts import engine_bins
from comparity.errors import (
    ComparityError,
    MissingValueError,
    NobodySelectedError,
    OneGroupError,
    OptionError,
    UnknownPositiveError,
)
from comparity.impact.audit import audit_file, audit_frame
from comparity.impact.result import AT_LEAST, BELOW, OPEN
from comparity.results.result import read_result
from tests.conftest import Build


def applicants(*groups: tuple[Any, Any, int, int]) -> pd.DataFrame:
    """Return people by sex, race, how many were selected, and how many there are."""
    rows = [
        {"sex": sex, "race": race, "hired": int(place < hits)}
        for sex, race, hits, n in groups
        for place in range(n)
    ]
    return pd.DataFrame(rows)


PEOPLE = applicants(
    ("F", "a", 20, 100), ("F", "b", 30, 90), ("M", "a", 60, 120), ("M", "b", 40, 110),
    ("M", "c", 2, 5), ("F", None, 3, 8), (None, "a", 1, 2),
)  # fmt: skip


def test_rates_and_ratios_are_those_counted_by_hand() -> None:
    found = audit_frame(PEOPLE, selected="hired", sensitive=("sex", "race"))
    sex, race, both = found.tables
    assert [(one.group, one.hits, one.n) for one in sex.groups] == [("F", 53, 198), ("M", 102, 235)]
    assert_allclose(sex.groups[0].ratio, (53 / 198) / (102 / 235))
    assert (sex.unknown, sex.unknown_hits, race.unknown, race.unknown_hits) == (2, 1, 8, 3)
    # Five of 427 people whose race is known are below two in a hundred.
    assert race.groups[2].why_none == "below 2% of all people"
    assert np.isnan(race.groups[2].ratio)
    assert race.groups[2].rate == 0.4
    # The small group has the largest rate, and is no yardstick.
    assert race.best.group == "a"
    assert both.attribute == "sex & race"
    assert [one.group for one in both.groups] == ["F & a", "F & b", "M & a", "M & b", "M & c"]
    assert_allclose(both.groups[0].ratio, 0.2 / 0.5)
    assert both.unknown == 10
    # One-sided, exact, from the hypergeometric distribution.
    assert_allclose(sex.groups[0].p_value, hypergeom.cdf(53, 433, 155, 198))
    assert_allclose(sex.groups[1].p_value, hypergeom.cdf(102, 433, 155, 235))


def test_arrays_frames_and_files_agree_and_the_answer_can_be_read_back(tmp_path: Path) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    asked = {"four_fifths": True, "level": 0.9}
    file = audit_file(tmp_path / "people.csv", selected="hired", sensitive=("sex", "race"), **asked)
    arrays = impact_ratios(PEOPLE["hired"], sensitive_features=PEOPLE[["sex", "race"]], **asked)
    # As plain data, where numbers that do not exist are equal.
    plain = file.to_dict()["tables"]
    assert arrays.to_dict()["tables"] == plain
    assert read_result(file.to_dict()).to_dict()["tables"] == plain
    assert file.to_frame("pandas").shape[0] == 10
    assert file.provenance["files"][0]["name"] == "people.csv"


def test_the_sentence_says_whether_chance_explains_a_ratio() -> None:
    # 53 of 198 against 102 of 235, and 5 of 10 against 6 of 10: one-sided Fisher's exact test.
    few = applicants(("F", "a", 5, 10), ("M", "a", 6, 10))
    for people, p, told in (
        (PEOPLE, hypergeom.cdf(53, 433, 155, 198), "below 1 by more than chance explains"),
        (few, hypergeom.cdf(5, 20, 11, 10), "chance may explain it"),
    ):
        sentence = audit_frame(people, selected="hired", sensitive=("sex",)).section().sentences[0]
        shown = f"{p:#.2g}" if p < 0.1 else f"{p:.2f}"
        assert sentence.endswith(f"{told} (p {shown}).")


def test_four_fifths_needs_every_test_and_refutation_one_of_them() -> None:
    rows = applicants(
        ("a", "", 800, 1000), ("b", "", 780, 1000), ("c", "", 500, 1000), ("d", "", 66, 100)
    )
    found = impact_ratios(rows["hired"], sensitive_features=rows["sex"], four_fifths=True)
    answers = {one.group: one.four_fifths for one in found.tables[0].groups}
    assert answers == {"a": AT_LEAST, "b": AT_LEAST, "c": BELOW, "d": OPEN}
    assert "less than four fifths is shown for c" in " ".join(str(found).split())
    silent = impact_ratios(rows["hired"], sensitive_features=rows["sex"])
    assert "four fifths" not in str(silent)


def test_scores_are_counted_above_the_median_of_all() -> None:
    scores = [1, 2, 3, 4, 5, 6, 7, 8, 9] * 10
    groups = ["low"] * 30 + ["high"] * 60
    found = impact_ratios(scores=scores, sensitive_features=groups, min_share=0)
    assert found.median == 5
    above = np.array(scores) > 5
    by_name = {one.group: one for one in found.tables[0].groups}
    assert by_name["low"].hits == above[:30].sum()
    assert "47 score above the median (5)" in " ".join(str(found).split())


def test_small_cells_are_hidden_everywhere_where_that_is_asked() -> None:
    rows = applicants(("F", "", 20, 100), ("M", "", 30, 90), ("X", "", 4, 9))
    found = impact_ratios(rows["hired"], sensitive_features=rows["sex"], suppress=10)
    hidden = found.tables[0].groups[2]
    assert (hidden.n, hidden.hits, hidden.why_none) == (-1, -1, "fewer than 10 people")
    row = next(one for one in found.rows() if one["group"] == "X")
    assert row["n"] is None
    assert row["selected"] is None
    shown = next(line for line in str(found).splitlines() if line.startswith("X "))
    assert shown.split()[:5] == ["X", "<", "10", "n/a", "n/a"]


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"hired": None}, MissingValueError, "missing values"),
        ({"hired": 0}, NobodySelectedError, "nobody of 433 people"),
        ({"sex": "F"}, OneGroupError, "at least two groups"),
        ({"hired": "maybe"}, ComparityError, "maybe"),
    ],
)
def test_what_has_no_ratio_is_refused(
    change: dict[str, Any], error: type[ComparityError], said: str
) -> None:
    rows = PEOPLE.assign(**change) if change != {"hired": None} else PEOPLE.assign(hired=np.nan)
    with pytest.raises(error, match=said):
        audit_frame(rows.assign(race="a"), selected="hired", sensitive=("sex",))


def test_choices_that_do_not_fit_are_refused() -> None:
    with pytest.raises(OptionError, match="one of"):
        audit_frame(PEOPLE, sensitive=("sex",))
    with pytest.raises(OptionError, match="another column than the outcome"):
        audit_frame(PEOPLE, selected="hired", sensitive=("hired",))
    with pytest.raises(UnknownPositiveError, match="'yes'"):
        audit_frame(PEOPLE, selected="hired", sensitive=("sex",), positive="yes")
    with pytest.raises(OptionError, match="only"):
        audit_frame(PEOPLE, score="hired", sensitive=("sex",), positive="1")
    with pytest.raises(OptionError, match="one of selected and scores"):
        impact_ratios(sensitive_features=["a", "b"])


def test_all_engines_count_the_same_people(frame: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_bins, "FEW_VALUES", 20)
    rng = np.random.default_rng(3)
    rows = {
        "score": rng.normal(size=300).round(2).tolist(),
        "sex": [None if one == "?" else str(one) for one in rng.choice(["f", "m", "?"], 300)],
        "race": rng.integers(1, 3, 300).tolist(),
    }
    found = audit_frame(frame(rows), score="score", sensitive=("sex", "race"))
    expected = impact_ratios(
        scores=rows["score"], sensitive_features={name: rows[name] for name in ("sex", "race")}
    )
    assert found.median == np.median(rows["score"])
    assert found.to_dict()["tables"] == expected.to_dict()["tables"]
