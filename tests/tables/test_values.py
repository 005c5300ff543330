"""Values as codes, and how many labels there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.tables.features import labelled_items
from comparity.tables.values import FEW_WORDS, SOME_ROWS, factorise

EXTREMES = [
    *((np.int8, [-128, 127, -128]), (np.int64, [2**63 - 1, -(2**63), 5])),
    *((np.uint64, [2**64 - 1, 2**64 - 2, 2**64 - 1]), (np.int64, [-3, 900, -3])),
    *((np.uint8, [7, 7]), (np.int32, [])),
]


@pytest.mark.parametrize(("dtype", "values"), EXTREMES)
def test_whole_numbers_of_any_size_get_the_code_of_their_text(
    dtype: type, values: list[int]
) -> None:
    codes, names = factorise(np.array(values, dtype=dtype))
    assert [names[code] for code in codes] == [str(value) for value in values]


@given(st.lists(st.integers(-2000, 2000), max_size=40), st.sampled_from([np.int16, np.int64]))
def test_codes_of_whole_numbers_are_in_their_order(values: list[int], dtype: type) -> None:
    codes, names = factorise(np.array(values, dtype=dtype))
    assert names == [str(value) for value in sorted(set(values))]
    assert [names[code] for code in codes] == [str(value) for value in values]


@pytest.mark.parametrize("values", [[True, False, True], [False, False]])
def test_truth_values_are_named_as_python_writes_them(values: list[bool]) -> None:
    codes, names = factorise(np.array(values))
    assert names == [str(value) for value in sorted(set(values))]
    assert [names[code] for code in codes] == [str(value) for value in values]


@pytest.mark.parametrize("n_words", [1, FEW_WORDS, FEW_WORDS + 1])
@pytest.mark.parametrize("late", [False, True])
def test_words_have_the_codes_of_a_dictionary(n_words: int, late: bool) -> None:
    words = [f"w{place * 7 % n_words}" for place in range(SOME_ROWS + 20)]
    words += ["another"] if late else []
    places = {word: place for place, word in enumerate(dict.fromkeys(words))}
    codes, names = factorise(np.array(words))
    assert (codes.tolist(), names) == ([places[word] for word in words], [*places])


@pytest.mark.parametrize("levels", [2, 20, 21, 5000])
@pytest.mark.parametrize("late", [False, True])
def test_labels_are_few_or_many_wherever_they_stand(levels: int, late: bool) -> None:
    labels = np.arange(6000) % levels
    labels = np.concatenate([np.zeros(2000), labels]) if late else labels
    items = labelled_items(labels, labels, np.arange(len(labels)) % 2)
    assert items.n_levels == levels if levels <= 20 else items.n_levels > 20
