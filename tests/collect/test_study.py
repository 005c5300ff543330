"""Descriptions of studies: read, checked, kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from comparity.collect.options import CollectOptions
from comparity.collect.setup import read_items
from comparity.collect.study import StudyDescription, plan_choices, read_study, study_of
from comparity.errors import (
    DuplicateItemError,
    FileAccessError,
    MissingColumnError,
    OptionError,
    StudyError,
)
from tests.collect.studies import small_study

TOML = """
question = "Who is better?"
items = "items.csv"
show = ["text:markdown", "photo:image"]
sensitive = "sex"
judges = 4
each = 5

[[check]]
question = "What is asked?"
answers = ["who", "what"]
right = 1

[[practice]]
better = { text = "a", photo = "b" }
worse = { text = "c", photo = "d" }
note = "a is better"
"""
PIXEL = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15"
    b"\xc4\x89\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"
)


def write_study(folder: Path, text: str = TOML) -> Path:
    file = folder / "study.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_gives_the_study_and_its_items(tmp_path: Path) -> None:
    study, items = read_study(write_study(tmp_path), judges=9)
    assert items == tmp_path / "items.csv"
    assert (study.question, study.judges, study.each) == ("Who is better?", 9, 5)
    assert [one.kind for one in study.show] == ["markdown", "image"]
    assert study.checks[0].right == 0
    assert study.practice[0].note == "a is better"


def test_a_study_is_the_same_after_it_was_kept() -> None:
    study = small_study(practice=1, attention=1, checks=1)
    assert StudyDescription.from_json(study.to_json()) == study


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("question = [", "cannot be read"),
        ("questoin = 'x'", "no key 'questoin'"),
        ("show = ['text:video']", "no column with its kind"),
        ("[[check]]\nquestion = 'x'", "incomplete"),
        ("[[check]]\nquestion = 'x'\nanswers = ['a', 'b']\nright = 3", "one of them right"),
        ("[[practice]]\nbetter = { text = 'a' }\nworse = { tekst = 'b' }", "worse must give"),
        ("[[attention]]\nbetter = 1", "better must give"),
    ],
)
def test_what_a_file_gets_wrong_is_said(tmp_path: Path, line: str, said: str) -> None:
    top = "" if "show" in line else 'show = ["text"]\n'
    text = f'question = "Q?"\ngoal = "rank"\n{top}{line}\n'
    if "question = [" in line:
        text = line
    with pytest.raises(StudyError, match=said):
        read_study(write_study(tmp_path, text))


@pytest.mark.parametrize(
    "wrong",
    [
        {"question": " "},
        {"show": ()},
        {"sensitive": ()},
        {"each": 0},
        {"completion_url": "javascript:alert(1)"},
        {"lease_minutes": 0},
        {"swapped_share": 0.5},
    ],
)
def test_choices_that_make_no_study_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        small_study(**wrong)  # type: ignore[arg-type]


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError):
        read_study(tmp_path / "none.toml")


def test_a_plan_says_how_many_judgments(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"n_pairs": 1001}), encoding="utf-8")
    assert plan_choices(file, {"judges": 20}) == {"each": 51}
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(StudyError):
        plan_choices(file, {})
    file.write_text(json.dumps({"n_pairs": None}), encoding="utf-8")
    with pytest.raises(StudyError, match="how many"):
        plan_choices(file, {})


def pictures_study() -> StudyDescription:
    show = ("text", "photo:image")
    return study_of(CollectOptions(question="Q?", show=show, sensitive="sex", score="s"))


def write_items(folder: Path, *rows: str) -> Path:
    file = folder / "items.csv"
    file.write_text("\n".join(["item,sex,text,photo,s", *rows]), encoding="utf-8")
    (folder / "one.png").write_bytes(PIXEL)
    (folder / "bad.png").write_bytes(b"<svg onload='alert(1)'/>")
    return file


def test_items_are_read_with_their_pictures(tmp_path: Path) -> None:
    file = write_items(tmp_path, "007,f,hello,one.png,0.5", "NA,m,bye,one.png,1")
    items = read_items(file, pictures_study())
    assert list(items.names) == ["007", "NA"]
    assert items.sensitive == {"sex": ["f", "m"]}
    assert items.scores == [0.5, 1.0]
    key = items.shown[0][1]
    assert "one" not in key
    assert items.pictures[key].data == PIXEL
    assert items.pictures[key].media_type == "image/png"


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("b,m,x,bad.png,1", StudyError),
        ("b,m,x,none.png,1", FileAccessError),
        ("a,m,x,one.png,1", DuplicateItemError),
    ],
)
def test_items_that_cannot_be_shown_are_refused(
    tmp_path: Path, row: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        read_items(write_items(tmp_path, "a,f,x,one.png,1", row), pictures_study())


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    study = study_of(CollectOptions(question="Q?", show="story", goal="rank"))
    with pytest.raises(MissingColumnError, match="story"):
        read_items(write_items(tmp_path, "a,f,x,one.png,1"), study)
