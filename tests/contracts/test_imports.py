"""Importing is cheap: what costs is imported where it is used."""

import json
import subprocess
import sys

import pytest

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
