"""How a mutant is tried: in a fork of a process that has imported all but the package.

The changed module is compiled in memory, so that nothing on disk changes. Kernels that may have
its code inside are compiled again and not kept.
"""

from __future__ import annotations

import importlib
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Any

import pytest

from tests.mutation.mutants import PACKAGE, ROOT, SOURCE, Mutant
from tests.mutation.witnesses import BUDGET, KINDS, Witnesses

# What most tests import, and what takes longest.
IMPORTED = (
    *("duckdb", "hypothesis", "jinja2", "narwhals", "numba", "pandas", "polars", "pyarrow"),
    *("scipy.optimize", "scipy.sparse.linalg", "scipy.stats", "statsmodels.api"),
)
COMPILATION = "comparity.counts.kernels.compilation"
# A mutant that never ends: seconds of the processor, since compiling takes its time, too.
PATIENCE = int(3 * BUDGET)
# Exit status of pytest.
A_TEST_FAILED, CANNOT_BE_IMPORTED, NO_TEST = 1, 2, 5
NOTICED = {A_TEST_FAILED, CANNOT_BE_IMPORTED}
SURVIVED = {0, NO_TEST}


class Changed(SourceFileLoader):
    """Loads the changed module; and of kernels that hold its code, nothing that was kept."""

    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType | None:
        if fullname != self._mutant.module:
            return super().get_code(fullname)
        return compile(self._mutant.tree(), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if module.__name__ == COMPILATION:
            _keep_nothing(module, kernels_with_code_of(self._mutant.module))


class Finder(MetaPathFinder):
    """Finds the changed module before the others do."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in (self._mutant.module, COMPILATION):
            return None
        place = str(SOURCE.joinpath(*fullname.split(".")).with_suffix(".py"))
        return spec_from_file_location(
            fullname, place, loader=Changed(fullname, place, self._mutant)
        )


def _keep_nothing(compilation: Any, modules: set[str]) -> None:
    """Let kernels of some modules find no folder to keep compiled code in."""
    kept = compilation.KernelCache

    def cache_of(function: Any) -> Any:
        if function.__module__ in modules:
            raise RuntimeError
        return kept(function)

    compilation.KernelCache = cache_of


def kernels_with_code_of(module: str) -> set[str]:
    """Return a module and the compiled ones that import it, directly or through each other."""
    texts = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts): text
        for path in PACKAGE.rglob("*.py")
        if "@njit" in (text := path.read_text(encoding="utf-8"))
    }
    found, new = set[str](), {module}
    while new:
        found |= new
        new = {
            other for other, text in texts.items() if any(f"{name} import" in text for name in new)
        } - found
    return found


def try_all(
    sample: Sequence[Mutant], witnesses: Witnesses, workers: int
) -> Iterator[tuple[Mutant, bool]]:
    """Try so many mutants at a time, and say of each whether a test noticed."""
    for name in IMPORTED:
        importlib.import_module(name)
    waiting, running = list(reversed(sample)), dict[int, Mutant]()
    while waiting or running:
        while waiting and len(running) < workers:
            mutant = waiting.pop()
            if not mutant.is_current:
                raise ChildProcessError(f"edited since the sample was drawn: {mutant}")
            running[_start(mutant, witnesses.of(mutant))] = mutant
        child, status = os.wait()
        mutant = running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        if code >= 0 and code not in NOTICED | SURVIVED:
            raise ChildProcessError(f"pytest ended with {code} for {mutant}")
        yield mutant, code not in SURVIVED


def _start(mutant: Mutant, tests: Sequence[str]) -> int:
    """Ask tests about a mutant in a child of this process, and return its number."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = CANNOT_BE_IMPORTED
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 1))
        os.chdir(ROOT)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        sys.meta_path.insert(0, Finder(mutant))
        # Before pytest does, which loads what it looks for examples in with a loader of its own.
        importlib.import_module(mutant.module)
        words = ["-q", "-x", "-W", "ignore", "-p", "no:cacheprovider", "-p", "no:xdist"]
        if any(test.startswith("tests/") for test in tests):
            words += ["--hypothesis-profile=mutants"]
        status = pytest.main([*words, "-m", KINDS, *tests])
    finally:
        os._exit(status)
