"""Importing is cheap: what costs is imported where it is used."""

import ast
import json
import subprocess
import sys
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
