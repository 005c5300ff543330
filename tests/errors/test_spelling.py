"""Characters nobody sees are spelled out where names are shown, and are no names of items."""

from __future__ import annotations

import sys
import unicodedata
from typing import Any

import pytest

from comparity import separation
from comparity.counts.judged_rows import count_comparisons, count_wide_comparisons
from comparity.errors import BlankNameError, MissingColumnError
from comparity.errors.spelling import BLANKS, is_blank, visible
from comparity.ranking.rank import rank_frames
from comparity.tables.layouts import to_comparisons
from tests.conftest import ENGINES, Build

JUDGED = {"better": ["a", "b", "c"], "worse": ["b", "c", "a"]}
ITEMS = {"item": ["a", "b", "c"], "score": [3.0, 2.0, 1.0], "sex": ["f", "m", "f"]}
# Signs of numbers in Arabic, Syriac and Kaithi, which Unicode (chapter 23.2) calls visible formats.
DRAWN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
UNSEEN = ["", "  ", "\u200b", "\xa0\t", "\ufeff", "\u3164"]


def test_blanks_are_the_spaces_and_formats_of_unicode() -> None:
    formats = {
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if char.isspace() or (unicodedata.category(char) == "Cf" and ord(char) not in DRAWN)
    }
    assert formats <= set(BLANKS)
    assert all(unicodedata.category(c) in {"Lo", "Mn", "So", "Cn"} for c in set(BLANKS) - formats)


def test_what_is_not_seen_is_spelled_out_behind_a_letter() -> None:
    shown = {char: visible(f"a{char}") for char in BLANKS if char not in " \u3000"}
    assert shown == {char: f"a{ascii(char)[1:-1]}" for char in shown}


@pytest.mark.parametrize(
    "name",
    [
        "\u0628\u06cc\u200c\u0633",
        "क\u094d\u200dष",
        "👩\u200d🔬",
        "❤\ufe0f",
        "👩\u200d❤\ufe0f\u200d👩",
        "山田\u3000太郎",
        "é",
        "e\u0301",
    ],
)
def test_what_scripts_and_pictures_need_stays(name: str) -> None:
    assert visible(name) == name


@pytest.mark.parametrize("name", ["\u200da", "a\u200db", "a\u200cb", "\u06cc\u200c", "a\ufe0f"])
def test_joiners_are_spelled_out_where_they_join_nothing(name: str) -> None:
    assert "\\u" in visible(name)


def test_errors_spell_out_names_of_columns() -> None:
    table = ENGINES["polars"]({"sco\u3164re": [1.0], "item\u200b": ["a"]})
    with pytest.raises(MissingColumnError) as raised:
        count_comparisons(ENGINES["polars"](JUDGED), table, score="score", sensitive=["sex"])
    assert "'sco\\u3164re', 'item\\u200b'" in str(raised.value)


@pytest.mark.parametrize("name", UNSEEN)
def test_a_blank_item_of_the_comparisons_is_refused(frame: Build, name: str) -> None:
    table = frame({**JUDGED, "worse": ["b", name, "a"]})
    with pytest.raises(BlankNameError, match=r"(?s)'worse' of the comparisons.*data row 2"):
        to_comparisons(table)
    with pytest.raises(BlankNameError, match=r"(?s)'worse' of the comparisons.*1 row"):
        rank_frames(table, model="bt")
    with pytest.raises(BlankNameError, match=r"(?s)'worse' of the comparisons.*data row 2"):
        count_comparisons(table, frame(ITEMS), score="score", sensitive=["sex"])


@pytest.mark.parametrize("name", UNSEEN)
def test_a_blank_item_of_the_items_is_refused(frame: Build, name: str) -> None:
    table = frame({**ITEMS, "item": ["a", "b", name]})
    with pytest.raises(BlankNameError, match=r"(?s)'item' of the items.*data row 3"):
        count_comparisons(frame(JUDGED), table, score="score", sensitive=["sex"])
    with pytest.raises(BlankNameError, match=r"(?s)'item' of the items.*1 row"):
        rank_frames(frame(JUDGED), table, model="bt")


@pytest.mark.parametrize("design", ["fresh", "shared"])
def test_a_blank_item_of_a_wide_table_is_refused(frame: Build, design: str) -> None:
    sides: dict[str, Any] = {"better_s": [3.0, 2.0, 1.0], "worse_s": [2.0, 1.0, 3.0]}
    sides |= {"better_g": ["f", "m", "f"], "worse_g": ["m", "f", "f"]}
    table = frame({"better": ["a", "b", " "], "worse": ["b", "c", "a"], **sides})
    with pytest.raises(BlankNameError, match=r"(?s)'better' of the comparisons.*data row 3"):
        count_wide_comparisons(
            table, better="better", worse="worse", score="s", sensitive=["g"], design=design
        )


@pytest.mark.parametrize("name", UNSEEN)
def test_a_blank_group_is_refused(frame: Build, name: str) -> None:
    groups = ["f", "m", name]
    with pytest.raises(BlankNameError, match=r"(?s)'sex'.*data row 3"):
        separation([0, 1, 1], [1, 0, 1], sensitive_features={"sex": groups})
    with pytest.raises(BlankNameError, match=r"(?s)'sex'"):
        count_comparisons(
            frame(JUDGED), frame({**ITEMS, "sex": groups}), score="score", sensitive=["sex"]
        )


def test_names_with_something_to_see_are_not_blank() -> None:
    assert not any(map(is_blank, ["a", " a ", "0", "\u200b.", "\u0600"]))
