"""A published table beside ours: what is compared, and what a prediction interval allows."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from comparity.cli.published import Conclusion, Reproduced, Reproduction, Request, one_run_away
from comparity.errors import DataFolderMissingError
from comparity.results.plain import as_plain


def entry(published: float | str | None, ours: float | str | None, **known: float) -> Reproduced:
    return Reproduced(row="r", column="c", published=published, ours=ours, **known)


def table(*rows: Reproduced) -> Reproduction:
    return Reproduction(
        paper="9",
        title="\x1b[31mred",
        part="Table 1",
        question="?",
        rows=rows,
        conclusions=(Conclusion("so", bool(rows)),),
    )


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (entry(0.5, 0.505, tolerance=0.005), True),
        (entry(0.5, 0.506, tolerance=0.005), False),
        (entry("a b", "a b"), True),
        (entry("a b", "a"), False),
        (entry(None, 1.0), None),
        (entry(1.0, None), None),
        (entry(1.0, math.nan, tolerance=9.0), False),
    ],
)
def test_a_number_matches_up_to_its_tolerance_and_a_word_only_itself(
    one: Reproduced, expected: bool | None
) -> None:
    assert one.matches is expected
    assert as_plain(one)["matches"] is expected


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (entry(0.5, 0.505, tolerance=0.005), "comes out"),
        (entry(0.5, 0.51, tolerance=0.005), "differs"),
        # Three standard errors of 0.0152 are 0.0456, less than a tenth of 0.5 and more than of 0.4.
        (entry(0.5, 0.52, tolerance=0.05, chance=0.05), "comes out"),
        (entry(0.4, 0.42, tolerance=0.05, chance=0.05), "consistent, not confirmed"),
        (entry(0.5, 0.6, tolerance=0.05, chance=0.05), "differs"),
        # An accuracy of 0.92 is 0.42 above a coin.
        (entry(0.92, 0.92, tolerance=0.05, chance=0.05, nothing=0.5), "consistent, not confirmed"),
        (entry(0.92, 0.92, tolerance=0.04, chance=0.04, nothing=0.5), "comes out"),
        # Nothing is so precise that it confirms a zero that chance has a part in.
        (entry(0.0, 0.0, tolerance=0.01, chance=0.01), "consistent, not confirmed"),
        (entry(0.0, 0.0), "comes out"),
        (entry(0.5, 0.5, stand_in=True), "consistent, not confirmed"),
        (entry(0.5, 0.6, stand_in=True), "differs"),
        (entry("a", "b", stand_in=True), "consistent, not confirmed"),
        (entry(None, 1.0), None),
    ],
)
def test_what_is_not_precise_enough_to_fail_is_not_confirmed(
    one: Reproduced, expected: str | None
) -> None:
    assert one.verdict == expected


def test_what_is_consistent_or_not_of_the_paper_is_not_counted() -> None:
    found = table(
        entry(1.0, 1.0),
        entry(1.0, 2.0),
        entry(1.0, 1.0, stand_in=True),
        entry(1.0, 1.0, reference=True),
    )
    assert (found.n_matching, found.n_compared, found.n_consistent) == (1, 2, 1)
    assert "1 of 2 published numbers come out, 1 are consistent" in str(found)
    assert "as the reference" in str(found)


def test_numbers_of_numpy_become_plain() -> None:
    found = table(entry(np.float64(1), np.float64(2), spread=np.float64(0.5)))  # type: ignore[arg-type]
    (row,) = found.to_dict()["rows"]
    assert {type(row[name]) for name in ("published", "ours", "difference", "spread")} == {float}
    assert type(row["matches"]) is bool


def test_a_frame_has_the_numbers_and_leaves_words_out() -> None:
    frame = table(entry(1.0, 2.0), entry("a", "b"), entry(None, 3.0)).to_frame("pandas")
    assert frame["ours"].tolist() == [2.0, 3.0]
    assert frame["difference"].tolist()[0] == 1.0


def test_what_is_shown_cannot_steer_a_terminal() -> None:
    found = table(entry(1.0, 2.0))
    assert "\x1b" not in str(found)
    assert "\x1b" not in found._repr_html_()
    assert "0 of 1 published numbers come out, 1 of 1 conclusions hold" in str(found)


def test_the_largest_difference_is_found_whatever_its_sign() -> None:
    found = table(entry(1.0, 1.5), entry(1.0, -2.0), entry("a", "b"))
    assert found.largest is found.rows[1]
    assert table().largest is None


def test_one_more_run_lies_outside_as_seldom_as_promised() -> None:
    """One in 998 lies 3.29 standard errors above the mean of a normal distribution, or below."""
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=(200_000, 7))
    away = np.abs(drawn[:, 6] - drawn[:, :6].mean(axis=1)) / drawn[:, :6].std(axis=1, ddof=1)
    share, promised = (away > one_run_away(6)).mean(), 0.001
    assert share == pytest.approx(promised, abs=4 * math.sqrt(promised / len(drawn)))
    assert math.isnan(one_run_away(1))


def test_a_part_that_needs_data_says_where_to_put_them(tmp_path: Path) -> None:
    assert Request(data=tmp_path).home() == tmp_path
    for data in (None, tmp_path / "nowhere"):
        with pytest.raises(DataFolderMissingError, match="COMPARITY_DATA"):
            Request(data=data).home()
    assert Request().picture("a.png") is None
    assert Request(output=tmp_path).picture("a.png") == tmp_path / "a.png"
