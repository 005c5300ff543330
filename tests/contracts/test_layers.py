"""The code base keeps its own map: imports point one way."""

import ast
import re
from pathlib import Path

import pytest

import comparity

ROOT = Path(comparity.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")

NOUNS = [
    "errors",
    "requirements",
    "outputs",
    "showing",
    "tables",
    "counts",
    "results",
    "plans",
    "ranking_plans",
    "matrices",
    "fits",
    "rankings",
    "orderings",
    "differences",
    "relative",
    "bridges",
    "contrasts",
    "resamples",
    "panels",
    "scorecards",
    "trainings",
    "information",
    "policies",
    "trained",
    "gates",
    "installations",
    "reproductions",
]
TRUNK = [*NOUNS, "counting", "metrics", "inference"]
BRANCHES = {"ranking", "mitigation", "bridging", "catalogue", "datasets"}
SURFACES = {"reporting", "collecting", "cli", "testing", "plugin", "__main__"}
# Results print and draw themselves, so their methods may import the media; nothing else may.
PRINTING = {
    "showing",
    "results",
    "plans",
    "ranking_plans",
    "matrices",
    "rankings",
    "orderings",
    "relative",
    "bridges",
    "panels",
    "scorecards",
    "resamples",
    "trainings",
    "information",
    "policies",
    "trained",
    "gates",
    "reproductions",
}


def allowed(stage: str) -> set[str]:
    """Say what a stage may import: the trunk up to it, and for the desk the branches too."""
    if stage in SURFACES:
        return {*TRUNK, *BRANCHES, "auditing", *SURFACES}
    if stage == "auditing":
        return {*TRUNK, *BRANCHES, "auditing"}
    if stage in BRANCHES:
        return {*TRUNK, stage}
    return {*TRUNK[: TRUNK.index(stage) + 1]}


def imported(tree: ast.Module, *, at_the_top: bool) -> set[str]:
    """Return the stages a module imports, at its top or inside its functions."""
    lazy = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    nodes = [node for node in ast.walk(tree) if (id(node) in lazy) != at_the_top]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole path"
            # "from comparity import counts" names a stage, "... import __version__" does not.
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    paths = [name.split(".") for name in names if name.startswith("comparity.")]
    return {path[1] for path in paths if path[1] in {*TRUNK, *BRANCHES, *SURFACES, "auditing"}}


def stage_of(module: Path) -> str:
    return module.relative_to(ROOT).with_suffix("").parts[0]


def name_of(module: Path) -> str:
    return str(module.relative_to(ROOT))


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_imports_point_one_way(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    stage = stage_of(module)
    assert imported(tree, at_the_top=True) <= allowed(stage)
    printing = {"reporting"} if stage in PRINTING else set()
    assert imported(tree, at_the_top=False) <= allowed(stage) | printing


def test_the_map_would_notice_a_wrong_turn() -> None:
    wrong = ast.parse("from comparity.results.findings import VIOLATED"
    assert not imported(wrong, at_the_top=True) <= allowed("metrics")
    lazily = ast.parse("def f():\n    import comparity.cli.demo\n")
    assert not imported(lazily, at_the_top=False) <= allowed("inference")


def test_the_package_has_no_room_without_a_name() -> None:
    banned = {"utils", "helpers", "common", "core", "misc"}
    assert not banned & {part for path in MODULES for part in path.with_suffix("").parts}


def test_the_map_for_contributors_has_every_place_once() -> None:
    text = (ROOT.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn = text.partition("## Where things go\n\n```\n")[2].partition("```")[0]
    # What stands apart by three blanks or more says what the places on its left are.
    named = [word for line in drawn.splitlines() for word in re.split(r" {3,}", line)[0].split()]
    folders = {f"{path.parent.name}/" for path in ROOT.glob("*/__init__.py")}
    modules = {path.stem for path in ROOT.glob("*.py") if not path.stem.startswith("__")}
    assert sorted(word for word in named if word != "->") == sorted(folders | modules)
    assert [word.strip("/") for word in named if word.strip("/") in NOUNS] == NOUNS
