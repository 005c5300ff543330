"""Definition: the plain count of rows, one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.counts import decisions
from comparity.counts.decisions import count_small_codes
from comparity.counts.kernels.sorting import tabulate
from comparity.counts.paired_decisions import count_two_predictions, read_two_predictions
from comparity.errors import LengthMismatchError, NonBinaryError
from tests.conftest import Build

rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 5)), max_size=50)


def columns(found: list[tuple[int, int, int]], dtype: type) -> tuple[np.ndarray, ...]:
    return tuple(np.array(found, dtype=dtype).reshape(-1, 3).T.copy())


@pytest.mark.long
@given(rows, st.sampled_from([np.int64, np.uint8, np.int32]))
def test_the_table_equals_the_plain_count(found: list[tuple[int, int, int]], dtype: type) -> None:
    expected = Counter(4 * group + 2 * label + said for label, said, group in found)
    table = tabulate(*columns(found, dtype))
    assert {code: int(n) for code, n in enumerate(table) if n} == dict(expected)


@pytest.mark.parametrize("bad", [(2, 0, 0), (0, 3, 0), (0, 0, 256), (0, -1, 0)])
def test_values_out_of_range_give_no_table(bad: tuple[int, int, int]) -> None:
    assert not len(tabulate(*columns([(0, 1, 1)] * 9 + [bad], np.int64)))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, bool])
def test_small_codes_are_counted_by_group(monkeypatch: pytest.MonkeyPatch, dtype: type) -> None:
    monkeypatch.setattr(decisions, "FEWEST", 1)
    label, said, group = columns([(1, 1, 0), (1, 0, 0), (0, 1, 1), (0, 0, 1)], dtype)
    counts = count_small_codes(label, said, group)
    assert counts is not None
    first, second = counts.values()
    assert (first.true_positives, first.false_negatives) == (1, 1)
    assert (second.false_positives, second.true_negatives) == (1, 1)
    assert counts.groups == (("False", "True") if dtype is bool else ("0", "1"))


def test_what_is_no_small_code_is_left_to_the_general_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decisions, "FEWEST", 1)
    whole = np.array([0, 1, 1])
    assert count_small_codes(whole, whole, np.array(["a", "b", "b"])) is None
    assert count_small_codes(whole, whole + 0.5, whole) is None
    assert count_small_codes(whole, whole, np.zeros(3, int)) is None
    assert count_small_codes(whole, whole, np.array([0, 300, 1])) is None


@given(st.lists(st.tuples(*[st.integers(0, 1)] * 4), min_size=1, max_size=30))
def test_two_predictions_are_counted_together(found: list[tuple[int, ...]]) -> None:
    found = [*found, (0, 0, 0, 0), (0, 0, 0, 1)]
    label, first, second, group = (list(column) for column in zip(*found, strict=True))
    table = count_two_predictions(label, first, second, groups=group)
    expected = Counter(found)
    for y, a, b, g in np.ndindex(2, 2, 2, 2):
        assert table[g, y, a, b] == expected[y, a, b, g]


def test_two_predictions_of_a_table_are_those_of_arrays(frame: Build) -> None:
    rng = np.random.default_rng(1)
    label, first, second = (rng.integers(0, 2, 60).tolist() for _ in range(3))
    sex, race = ([str(one) for one in rng.choice(list("ab"), 60)] for _ in range(2))
    rows = {"y": label, "p": first, "q": second, "sex": sex, "race": race}
    both = [f"{one} & {other}" for one, other in zip(sex, race, strict=True)]
    expected = count_two_predictions(label, first, second, groups=both)
    columns = {"label": "y", "predictions": ("p", "q"), "sensitive": ["sex", "race"]}
    found = read_two_predictions(frame(rows), **columns)
    assert found.tolist() == expected.tolist()
    # A word that means yes is one of labels, not of scores that are cut.
    words = ["good" if one else "bad" for one in label]
    cut = read_two_predictions(
        frame({**rows, "y": words}), **columns, positive="good", threshold=0.5
    )
    assert cut.tolist() == expected.tolist()


def test_other_predictions_are_checked_like_the_first() -> None:
    with pytest.raises(NonBinaryError, match="compare"):
        count_two_predictions([0, 1], [0, 1], [0.2, 0.7], groups=["a", "b"])
    with pytest.raises(LengthMismatchError):
        count_two_predictions([0, 1], [0, 1], [0], groups=["a", "b"])
