"""Change the code and see whether a test notices: ``python -m tests.mutation --sample 300``.

A mutant flips one comparison, scales one constant or exchanges one sign in ``inference``,
``results``, ``counts`` or ``ranking``. It is tried in a copy of the package against the tests of
its module and folder, which mirror the package; one that no test fails for has *survived*. The
sample is drawn by a seed, so that a score can be checked. Survivors that are right to survive stand
in :data:`EXCUSED` with the reason.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "comparity"
FOLDERS = ("inference", "results", "counts", "ranking")
# Beside the tests of its own folder, those that ask the same code from the outside.
ALSO = {
    "inference": ("separation", "comparative", "pairwise", "relative", "planning"),
    "results": ("separation", "comparative", "pairwise", "reports"),
    "counts": ("comparative", "pairwise", "tables"),
    "ranking": (),
}
SECONDS = 600

FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
EXCHANGED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
SCALE = 2.5

EXCUSED: dict[str, str] = {}
"""Survivors by their description, and why no test could or should fail for them."""


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    path: Path
    line: int
    column: int
    what: str
    source: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(PACKAGE)}:{self.line}:{self.column} {self.what}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED:
            old = node.ops[0]
            node.ops[0] = FLIPPED[type(old)]()
            yield _mutant(path, node, f"{type(old).__name__} -> {type(node.ops[0]).__name__}", tree)
            node.ops[0] = old
        elif isinstance(node, ast.BinOp) and type(node.op) in EXCHANGED:
            before = node.op
            node.op = EXCHANGED[type(before)]()
            yield _mutant(path, node, f"{type(before).__name__} -> {type(node.op).__name__}", tree)
            node.op = before
        elif isinstance(node, ast.Constant) and _is_number(node.value):
            value = node.value
            node.value = value * SCALE if isinstance(value, float) else value + 1
            yield _mutant(path, node, f"{value!r} -> {node.value!r}", tree)
            node.value = value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value != 0


def _mutant(path: Path, node: ast.expr, what: str, tree: ast.Module) -> Mutant:
    return Mutant(path, node.lineno, node.col_offset, what, ast.unparse(tree))


def tests_of(path: Path) -> list[str]:
    """Return the tests that are to notice a mutant: its own module's first, then its folders'."""
    folder = path.relative_to(PACKAGE).parts[0]
    places = [ROOT / "tests" / name for name in (folder, *ALSO[folder])]
    named = sorted((ROOT / "tests" / folder).rglob(f"test_*{path.stem}*.py"))
    return [str(place.relative_to(ROOT)) for place in (*named, *places) if place.exists()]


class Workshop:
    """A copy of the package in which one mutant after the other is tried.

    The folder stays the same, so that compiled kernels are found again. A mutant of a module with
    kernels compiles all of them anew, because kernels of other modules may have its code inside.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(PACKAGE, folder / "comparity", ignore=shutil.ignore_patterns("__pycache__"))

    def is_killed(self, mutant: Mutant) -> bool:
        """Return whether a test fails for a mutant; one that never ends counts as noticed."""
        path = self.folder / "comparity" / mutant.path.relative_to(PACKAGE)
        before, times = path.read_bytes(), path.stat()
        with tempfile.TemporaryDirectory() as own:
            cache = own if b"@njit" in before else str(self.folder / "compiled")
            path.write_text(mutant.source, encoding="utf-8")
            try:
                return self._tests_fail(mutant, cache)
            finally:
                path.write_bytes(before)
                os.utime(path, (times.st_atime, times.st_mtime))

    def _tests_fail(self, mutant: Mutant, cache: str) -> bool:
        words = ["-m", "pytest", "-q", "-x", "-W", "ignore", "-p", "no:cacheprovider"]
        words += ["-m", "not slow and not spark", *tests_of(mutant.path)]
        python = os.pathsep.join([str(self.folder), str(ROOT)])
        own = {"PYTHONPATH": python, "NUMBA_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [sys.executable, *words],
                cwd=ROOT,
                env=os.environ | own,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode == 1


def killed(sample: list[Mutant], workers: int) -> list[bool]:
    """Try mutants in so many workshops at a time, and say of each whether a test noticed."""
    found: list[bool] = [False] * len(sample)
    waiting = list(enumerate(sample))

    def work(shop: Workshop) -> None:
        while waiting:
            place, mutant = waiting.pop()
            found[place] = shop.is_killed(mutant)
            print("noticed " if found[place] else "survived", mutant, flush=True)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        shops = [Workshop(Path(folder) / str(worker)) for worker in range(workers)]
        list(pool.map(work, shops))
    return found


def main() -> int:
    """Try a sample of mutants; 0 where at least nine in ten are noticed."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--sample", type=int, default=300, help="how many mutants (default 300)")
    asked.add_argument("--seed", type=int, default=0, help="which sample (default 0)")
    asked.add_argument("--workers", type=int, default=2, help="how many at a time (default 2)")
    choices = asked.parse_args()
    modules = [one for name in FOLDERS for one in sorted((PACKAGE / name).rglob("*.py"))]
    every = [one for module in modules for one in mutants(module)]
    sample = random.Random(choices.seed).sample(every, min(choices.sample, len(every)))
    print(f"{len(sample)} of {len(every):,} mutants, seed {choices.seed}")
    noticed = killed(sample, choices.workers)
    survivors = [str(one) for one, dead in zip(sample, noticed, strict=True) if not dead]
    for one in survivors:
        print(f"survived: {one}  {EXCUSED.get(one, '')}")
    left = [one for one in survivors if one not in EXCUSED]
    print(f"{len(sample) - len(left)} of {len(sample)} noticed or excused")
    return int(len(left) > len(sample) / 10)


if __name__ == "__main__":
    sys.exit(main())
