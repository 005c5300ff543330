"""The package keeps its own map: each rule is one test over all modules."""

from __future__ import annotations

import ast
import re
import runpy
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

HOUSE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "house.py"))
modules, imports = HOUSE["modules"], HOUSE["imports"]
ORDER: tuple[str, ...] = HOUSE["ORDER"]
QUESTIONS: tuple[str, ...] = HOUSE["QUESTIONS"]
folder_of = HOUSE["folder_of"]

MOST_LINES = 400
MOST_PARAMETERS = 10
MOST_AT_THE_ROOT = 6
# Modules that every question may have one of; `judge` judges the tests of an audit.
SAME_MEANING = {"options", "result", "audit", "section", "judge", "pictures", "__init__"}
# An answer prints itself, so its methods may import the media; nothing else points upward.
ALLOWED_UPWARD = ("results", "reports")


def is_upward(one: Any) -> bool:
    """Return whether an import leads to a folder that stands later in the order."""
    source, target = folder_of(one.source), folder_of(one.target)
    if not source or not target:
        return False
    allowed = one.deferred and (source, target) == ALLOWED_UPWARD
    return ORDER.index(target) > ORDER.index(source) and not allowed


def tells_an_answer(one: Any) -> bool:
    """Return whether an answer imports, inside a method, the module of its folder that tells it."""
    source, target = one.source.rpartition("."), one.target.rpartition(".")
    if (folder_of(one.source), folder_of(one.target)) == ALLOWED_UPWARD:
        return bool(one.deferred)
    own = target[2] in {"section", "pictures"} or target[2].endswith("_section")
    return one.deferred and source[0] == target[0] and own


def cycle_of(found: list[Any]) -> list[str]:
    """Return modules that import each other in a circle, empty where there are none."""
    known: dict[str, set[str]] = defaultdict(set)
    for one in found:
        if one.source != one.target and not tells_an_answer(one):
            known[one.source].add(one.target)
    try:
        TopologicalSorter(known).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_folder_has_its_place_in_the_order() -> None:
    assert {one.folder for one in modules()} - {""} == set(ORDER)


def test_folders_import_only_those_before_them_deferred_imports_included() -> None:
    assert not [one for one in imports() if is_upward(one)]


def test_no_modules_import_each_other_in_a_circle_deferred_imports_included() -> None:
    # A folder's name stands for no module of it; the root gathers names and is imported by nobody.
    assert not cycle_of([one for one in imports() if folder_of(one.source)])


@pytest.mark.parametrize(
    ("back", "deferred", "circle"),
    [
        ("comparity.ranking.places", True, True),
        ("comparity.ranking.pictures", False, True),
        ("comparity.ranking.pictures", True, False),
        ("comparity.relative.section", True, True),
    ],
)
def test_a_circle_would_be_noticed(back: str, deferred: bool, circle: bool) -> None:
    Import = HOUSE["Import"]
    there = Import(back, "comparity.ranking.fair_topk", "x", False)
    again = Import("comparity.ranking.fair_topk", back, "x", deferred)
    assert bool(cycle_of([there, again])) is circle


def test_the_root_is_imported_by_nobody_but_for_the_version() -> None:
    inside = [one for one in imports() if folder_of(one.source) and one.target == "comparity"]
    assert {one.name for one in inside} <= {"__version__"}


def test_modules_use_each_other_through_public_names() -> None:
    private = [one for one in imports() if one.name.startswith("_") and one.name != "__version__"]
    assert imports()
    assert not private


def test_imports_name_the_whole_path() -> None:
    relative = [
        one.name
        for one in modules()
        for node in ast.walk(one.tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not relative


def test_no_answer_depends_on_the_warnings_that_a_process_shows() -> None:
    # Filters belong to the process: a thread that restores them undoes what others asked for.
    changing = {"catch_warnings", "simplefilter", "filterwarnings"}
    used = {
        one.name
        for one in modules()
        for node in ast.walk(one.tree)
        if isinstance(node, ast.Attribute) and node.attr in changing
    }
    assert used == {"comparity.cli.shared_options"}


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    assert not [(one.name, one.lines) for one in modules() if one.lines > MOST_LINES]


def explains_itself(function: ast.FunctionDef) -> bool:
    """Return whether every argument is given by name, and documented or an option of a command."""
    if any("command" in ast.unparse(one) for one in function.decorator_list):
        return True
    # A class documents what it is made of.
    documented = "Parameters\n" in (ast.get_docstring(function) or "")
    named = len(function.args.posonlyargs + function.args.args) <= 2
    return function.name == "__init__" or (
        documented and named and not function.name.startswith("_")
    )


def test_more_than_ten_parameters_are_documented_choices() -> None:
    wide = [
        f"{one.name}.{node.name}"
        for one in modules()
        for node in ast.walk(one.tree)
        if isinstance(node, ast.FunctionDef)
        and len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs) > MOST_PARAMETERS
        and not explains_itself(node)
    ]
    assert not wide


def test_two_modules_of_one_name_mean_one_thing() -> None:
    # Errors about files are in errors/files.py; that is the same meaning.
    named = defaultdict(list)
    for one in modules():
        if one.path.stem not in SAME_MEANING and one.folder != "errors":
            named[one.path.stem].append(one.name)
    assert not [names for names in named.values() if len(names) > 1]


def test_modules_called_judge_are_those_of_audits() -> None:
    # In collect/ and judges/ a judge is somebody who compares items.
    found = {one.folder for one in modules() if one.path.stem == "judge"}
    assert found <= {one.folder for one in modules() if one.path.stem == "audit"} - {"judges"}


def test_no_two_classes_have_one_name() -> None:
    named = defaultdict(list)
    for one in modules():
        for node in ast.walk(one.tree):
            if isinstance(node, ast.ClassDef):
                named[node.name.strip("_")].append(one.name)
    assert not [(name, homes) for name, homes in named.items() if len(homes) > 1]


def test_the_root_holds_few_modules() -> None:
    assert len([one for one in modules() if not one.folder]) <= MOST_AT_THE_ROOT


def test_no_room_is_without_a_name_or_has_a_twin() -> None:
    names = {one.parts for one in modules()}
    words = {word for parts in names for word in parts}
    assert not {"utils", "helpers", "common", "core", "misc"} & words
    assert not [parts for parts in names if parts and (*parts[:-1], f"_{parts[-1]}") in names]


@pytest.mark.parametrize(
    ("source", "target", "deferred", "wrong"),
    [
        ("comparity.inference.looks", "comparity.results.result", False, True),
        ("comparity.pairwise.audit", "comparity.ranking.barp", True, True),
        ("comparity.results.result", "comparity.reports.page", False, True),
        ("comparity.results.result", "comparity.reports.page", True, False),
        ("comparity.ranking.panel", "comparity.pairwise.audit", False, False),
    ],
)
def test_a_wrong_turn_would_be_noticed(
    source: str, target: str, deferred: bool, wrong: bool
) -> None:
    one = HOUSE["Import"](source, target, "x", deferred)
    assert is_upward(one) is wrong


def test_the_drawing_for_contributors_is_the_map() -> None:
    found, made = HOUSE["PAGE"].read_text(encoding="utf-8"), HOUSE["page"]()
    assert HOUSE["without_sizes"](found) == HOUSE["without_sizes"](made)


def test_the_numbers_for_contributors_are_about_right() -> None:
    """They are written again by ``python docs/house.py --write``."""
    found = HOUSE["PAGE"].read_text(encoding="utf-8")
    (told,) = re.findall(r"There are (\d+):", found)
    assert int(told) == pytest.approx(len(modules()), rel=0.05)
