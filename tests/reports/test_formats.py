import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from comparity.errors.spelling import visible
from comparity.reports.sections import interval, p_value, sizes


@given(st.text())
def test_visible_text_holds_no_control_character_and_can_be_encoded(text: str) -> None:
    shown = visible(text)
    assert not any(unicodedata.category(char) in {"Cc", "Cs"} for char in shown)
    shown.encode("utf-8")


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_visible_leaves_letters_and_signs_of_any_language_alone(text: str) -> None:
    assert visible(text) == text


def test_visible_spells_out_marks_that_turn_the_direction_of_text() -> None:
    assert visible("a\u202eb\u2066c") == "a\\u202eb\\u2066c"


def test_numbers_that_do_not_exist_are_said_to_be_missing() -> None:
    nan = float("nan")
    assert (interval(nan, 0.1), p_value(nan), p_value(None)) == ("n/a", "n/a", "n/a")


def test_a_slope_over_all_subjects_has_one_sample() -> None:
    assert sizes((400, 400), 400) == "400"
    assert sizes((400, 400), 800) == "400 vs 400"
    assert sizes((1234, 0), 1234) == "1,234 vs 0"
