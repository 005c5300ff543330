"""Importing is cheap: what costs is imported where it is used."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import comparity

ENGINES = {"pandas", "polars", "pyarrow", "duckdb", "pyspark"}
HEAVY = ENGINES | {"matplotlib", "sklearn", "numba", "scipy", "torch", "lightgbm"}


def loaded(program: str) -> set[str]:
    """Return the packages a fresh interpreter has loaded after running a program."""
    report = "import sys, json; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    words = [sys.executable, "-c", f"{program}\n{report}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_comparity_loads_nothing_heavy() -> None:
    assert not loaded("import comparity") & HEAVY


@pytest.mark.parametrize("words", [["--help"], ["separation", "--help"], ["plan", "--help"]])
def test_help_loads_no_numpy(words: list[str]) -> None:
    program = f"""
from comparity.cli import main
try:
    main({words!r})
except SystemExit as left:
    assert not left.code
"""
    assert not loaded(program) & (HEAVY | {"numpy", "narwhals", "rich", "jinja2"})


def takes_njit_from_numba(source: str) -> bool:
    """Say whether a module compiles without the cache that may be missing or damaged."""
    if "numba" not in source:
        return False
    names = [
        f"{getattr(node, 'module', '')}.{alias.name}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    return bool({"numba.njit", "numba.jit", ".numba"} & set(names))


def test_kernels_are_compiled_in_one_place() -> None:
    package = Path(comparity.__file__).parent
    own = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if takes_njit_from_numba(path.read_text(encoding="utf-8"))
    ]
    assert own == ["counts/kernels/compilation.py"]


def imported_names(path: Path) -> list[tuple[str, str]]:
    """Return module and name of everything that a script takes from the package."""
    return [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "comparity"
        for alias in node.names
        if node.module
    ]


def exists(module: str, name: str) -> bool:
    """Say whether a name can be imported."""
    home = import_module(module)
    is_folder = hasattr(home, "__path__")
    return hasattr(home, name) or (is_folder and find_spec(f"{module}.{name}") is not None)


@pytest.mark.long
def test_scripts_that_tests_do_not_run_import_what_there_is() -> None:
    root = Path(comparity.__file__).parents[2]
    if not (root / "benchmarks").is_dir():
        pytest.skip("not a repository")
    found = {
        (str(path.relative_to(root)), *one)
        for folder in ("benchmarks", "docs", "examples", "reproductions")
        for path in (root / folder).rglob("*.py")
        for one in imported_names(path)
    }
    assert len(found) > 100
    assert {one for one in found if not exists(*one[1:])} == set()
