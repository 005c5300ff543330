"""Which tests run which line, as :mod:`coverage` saw them do so once."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from itertools import accumulate
from pathlib import Path

from coverage import CoverageData

from tests.mutation.mutants import PACKAGE, ROOT, SOURCE, Mutant

FOLDERS = ("inference", "results", "counts", "ranking")
FOLDERS += ("comparative", "pairwise", "relative", "pairs")
# Beside the tests of these folders, those that ask the same code from the outside.
ALSO = ("separation", "planning", "reports")
KINDS = "not long and not slow and not spark and not engines"
# How long the tests asked about one mutant take in all, in seconds, before it has survived them;
# and what asking a test costs at least.
BUDGET = 20.0
ASKING = 0.05
# Traces of other folders are of no use.
KEPT = ROOT / ".cache" / "mutants" / "-".join(FOLDERS)


def trace(tests: str) -> None:
    """Run the tests of a folder once, and keep which line each of them runs, and how long."""
    KEPT.mkdir(parents=True, exist_ok=True)
    settings = KEPT / "coveragerc"
    folders = "\n".join(f"    {PACKAGE / name}" for name in FOLDERS)
    settings.write_text(f"[run]\nsource =\n{folders}\n", encoding="utf-8")
    words = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}"]
    words += [f"--data-file={KEPT / tests}.traced", "-m", "pytest", "-q", "-W", "ignore"]
    words += ["-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=quick", "-m", KINDS]
    words += ["-p", "tests.mutation.tracing", f"tests/{tests}"]
    own = {
        "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ROOT)]),
        "MUTANTS_SECONDS": f"{KEPT / tests}.json",
    }
    subprocess.run(words, cwd=ROOT, env=os.environ | own, check=True)
    shutil.copytree(PACKAGE, KEPT / tests, dirs_exist_ok=True)


class Witnesses:
    """The tests that are to notice a mutant.

    Compiled code and lines that run at import leave no trace. A constant is witnessed by whoever
    runs a line of its module that names it; compiled code by the tests that are called like its
    module or import it, and by whoever runs a function of its module, or of a module that imports
    it. Lines are known by their text, so that a trace serves on while the code around it changes.
    Close tests that were not there when it was made are always asked.
    """

    def __init__(self, budget: float = BUDGET, names: tuple[str, ...] = (*FOLDERS, *ALSO)) -> None:
        self._budget = budget
        self._seconds: dict[str, float] = {}
        self._tests: dict[Path, dict[str, set[str]]] = {}
        for name in names:
            if not (KEPT / f"{name}.traced").is_file():
                trace(name)
            self._read(name)
        places = [(ROOT / "tests" / name).rglob("test_*.py") for name in FOLDERS]
        tests = (
            f"{path.relative_to(ROOT).as_posix()}::{name}"
            for place in places
            for path in sorted(place)
            for name in re.findall(r"^def (test_\w+)", _text(path), re.MULTILINE)
        )
        self._new = [test for test in tests if test not in self._seconds]

    def _read(self, name: str) -> None:
        """Add what the tests of one folder run, by module and text of the line."""
        seconds = json.loads(_text(KEPT / f"{name}.json"))
        self._seconds |= {test: took for test, took in seconds.items() if _is_there(test)}
        data = CoverageData(str(KEPT / f"{name}.traced"))
        data.read()
        for file in data.measured_files():
            path = Path(file).relative_to(PACKAGE)
            text = _text(KEPT / name / path)
            lines, inside = text.splitlines(), _lines_of_functions(text)
            by_text = self._tests.setdefault(path, {})
            for number, contexts in data.contexts_by_lineno(file).items():
                if number not in inside:
                    # Whoever happens to import a module first has nothing to do with it.
                    continue
                found = {test for test in contexts if test in self._seconds}
                by_text.setdefault(lines[number - 1].strip(), set()).update(found)

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests to be asked, the closest and fastest first, within the budget."""
        found, asked = self._on_lines(mutant), {mutant.path}
        if not found:
            found = {test for test in self._seconds if not self._is_far(test, mutant)}
            found |= self._in_module(mutant.path)
            asked = _importing(asked)
            while asked and not (more := set[str]().union(*map(self._in_module, asked))):
                asked = _importing(asked) - asked
            found |= more if asked else set()
        in_order = sorted(found, key=lambda test: (self._is_far(test, mutant), self._cost(test)))
        so_far = accumulate(map(self._cost, in_order))
        near = [test for test, total in zip(in_order, so_far, strict=True) if total < self._budget]
        new = [test for test in self._new if not self._is_far(test, mutant)]
        return [f"src/comparity/{mutant.path.as_posix()}", *new, *near]

    def _cost(self, test: str) -> float:
        return self._seconds[test] + ASKING

    def _is_far(self, test: str, mutant: Mutant) -> bool:
        """Return whether a test is neither of the module's folder nor imports the module."""
        path = test.partition("::")[0]
        if Path(path).stem == f"test_{mutant.path.stem}":
            return False
        return f"{mutant.module} import" not in _text(ROOT / path)

    def _in_module(self, path: Path) -> set[str]:
        return set[str]().union(*self._tests.get(path, {}).values())

    def _on_lines(self, mutant: Mutant) -> set[str]:
        """Return the tests that run the mutant's line, or one that names its constant."""
        lines = _text(PACKAGE / mutant.path).splitlines()
        tree = ast.parse("\n".join(lines))
        names = {
            part.id
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and node.lineno <= mutant.line <= (node.end_lineno or node.lineno)
            for part in ast.walk(node)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
        asked = {mutant.text} | {
            lines[node.lineno - 1].strip()
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and node.id in names
        }
        by_text = self._tests.get(mutant.path, {})
        return set[str]().union(*(by_text.get(text, set()) for text in asked))


def _importing(paths: set[Path]) -> set[Path]:
    """Return the modules that import one of some."""
    words = [f"comparity.{'.'.join(path.with_suffix('').parts)} import" for path in paths]
    modules = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    return {path for path in modules if any(word in _text(PACKAGE / path) for word in words)}


def _lines_of_functions(text: str) -> set[int]:
    """Return the numbers of the lines that stand in the body of a function."""
    return {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        for number in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    }


def _is_there(test: str) -> bool:
    """Return whether a test that was traced has not gone since."""
    path, _, name = test.partition("::")
    return f"def {name}(" in _text(ROOT / path)


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
