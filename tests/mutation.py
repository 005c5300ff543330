"""Change the code and see whether a test notices: ``python -m tests.mutation --sample 300``.

A mutant flips one comparison, scales one constant or exchanges one sign in ``inference``,
``results``, ``counts`` or ``ranking``. It is tried in a copy of the package against the tests that
run its line (of those folders' tests and of :data:`ALSO`); one that no test fails for has
*survived*. The fastest tests are asked first, and no more than :data:`BUDGET` seconds of them. The
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
from itertools import accumulate
from pathlib import Path
from xml.etree import ElementTree

from coverage import CoverageData

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
# How long the tests asked about one mutant take in all, in seconds, before it has survived them.
BUDGET = 150
# A mutant that never ends: tests on a busy machine take a few times as long.
PATIENCE = 6 * BUDGET
KINDS = "not slow and not spark"

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

EXCUSED: dict[tuple[str, str], str] = {
    ("start = min(max(int((n + 1) * p) - fewest, 0), len(out) - 1)", "Add -> Sub"): (
        "where a sum over a whole distribution begins"
    ),
    ("if vague := int((sharpness.log_standard_errors > VAGUE).sum()):", "Gt -> GtE"): (
        "a number with decimals that is exactly the limit"
    ),
    ("elif hops[two] < hop and hops[one] > hop:", "Gt -> GtE"): "how a matrix is stored",
    ("if found > 2 * hop * widest + 1:", "1 -> 2"): "how a matrix is stored",
    ("v = third**3 - b * c / (6 * a**2) + d / (2 * a)", "Mult -> Div"): "Newton mends the guess",
    ("ends = np.quantile(values, np.linspace(0, 1, LEVELS + 1)[1:-1])", "Add -> Sub"): (
        "127 quantile groups are as good as 128"
    ),
    ("goal = tolerance * max(float(model.weight.sum()), 1.0)", "1.0 -> 2.5"): (
        "keeps a goal from being zero, whatever its size"
    ),
    ("relative = max(min(0.1, slope / first), 0.3 * tolerance / slope, 1e-5)", "0.3 -> 0.75"): (
        "how exactly one step of a search is solved, not where it ends"
    ),
}
"""Survivors by the line and what is changed there, and why no test could or should fail."""


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

    @property
    def excuse(self) -> str:
        """Why this one may survive; nothing where it may not."""
        line = self.path.read_text(encoding="utf-8").splitlines()[self.line - 1]
        return EXCUSED.get((line.strip(), self.what), "")


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


class Witnesses:
    """Which tests run which line, as :mod:`coverage` saw them do so once.

    Compiled code and lines that run at import leave no trace. A constant is witnessed by whoever
    runs a line of its module that names it; compiled code by whoever runs a line of its module, or
    of a module that imports it.
    """

    def __init__(self, traced: Path) -> None:
        data = CoverageData(str(traced))
        data.read()
        self._seconds = _seconds_of_tests(traced.with_suffix(".xml"))
        self._by_line = {
            Path(name).relative_to(PACKAGE): data.contexts_by_lineno(name)
            for name in data.measured_files()
            if Path(name).is_relative_to(PACKAGE)
        }

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that are to notice a mutant, the fastest first, within the budget."""
        path = mutant.path.relative_to(PACKAGE)
        named = _lines_that_name(mutant)
        found = self._tests(path, {mutant.line} | named) or self._tests(path, None)
        if not found:
            importing = f"comparity.{'.'.join(path.with_suffix('').parts)} import"
            for other in self._by_line:
                if importing in (PACKAGE / other).read_text(encoding="utf-8"):
                    found |= self._tests(other, None)
        fastest_first = sorted((self._seconds.get(test, 1.0), test) for test in found)
        so_far = accumulate(seconds for seconds, _ in fastest_first)
        return [
            test
            for (seconds, test), total in zip(fastest_first, so_far, strict=True)
            if total - seconds < BUDGET
        ]

    def _tests(self, path: Path, lines: set[int] | None) -> set[str]:
        """Return the tests that run one of the lines of a module, or any of them."""
        contexts = self._by_line.get(path, {})
        asked = contexts if lines is None else lines & contexts.keys()
        names = {name for line in asked for name in contexts[line]}
        return {node for name in names if (node := _node(name))}


def _seconds_of_tests(written: Path) -> dict[str, float]:
    """Return how long every test took, all its cases together, by what pytest wrote."""
    seconds: dict[str, float] = {}
    for case in ElementTree.parse(written).iter("testcase"):
        name = case.get("name", "").partition("[")[0]
        node = _node(f"{case.get('classname')}.{name}")
        seconds[node] = seconds.get(node, 0.0) + float(case.get("time", 0))
    return seconds


def _lines_that_name(mutant: Mutant) -> set[int]:
    """Return the lines that name what is assigned on a mutant's line, where that is a constant."""
    tree = ast.parse(mutant.path.read_text(encoding="utf-8"))
    names = {
        part.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and node.lineno <= mutant.line <= (node.end_lineno or node.lineno)
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    return {
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names
    }


def _node(context: str) -> str:
    """Return how pytest calls the test of a context, or nothing where it is none of these tests."""
    parts = context.split(".")
    for size in range(2, len(parts)):
        path = Path(*parts[:size]).with_suffix(".py")
        if (ROOT / path).is_file():
            return "::".join([path.as_posix(), *parts[size:]])
    return ""


def trace(folder: Path) -> Path:
    """Run the tests once, and return the file that says which line each of them runs."""
    traced, settings = folder / "traced", folder / "coveragerc"
    settings.write_text(
        f"[run]\ndynamic_context = test_function\nsource = {PACKAGE}\ndata_file = {traced}\n",
        encoding="utf-8",
    )
    names = {name for folder_name in FOLDERS for name in (folder_name, *ALSO[folder_name])}
    places = [f"tests/{name}" for name in sorted(names) if (ROOT / "tests" / name).exists()]
    words = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-q"]
    words += ["-W", "ignore", "-p", "no:cacheprovider", "-m", KINDS]
    words += [f"--junitxml={traced.with_suffix('.xml')}", *places]
    own = {"PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), str(ROOT)])}
    subprocess.run(words, cwd=ROOT, env=os.environ | own, check=True)
    return traced


class Workshop:
    """A copy of the package in which one mutant after the other is tried.

    The folder stays the same, so that compiled kernels are found again. A mutant of a module with
    kernels gets a copy of what is compiled, in which the modules that may have its code inside are
    compiled again.
    """

    def __init__(self, folder: Path, witnesses: Witnesses) -> None:
        self.folder, self.witnesses = folder, witnesses
        shutil.copytree(PACKAGE, folder / "comparity", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "compiled").mkdir()

    def is_killed(self, mutant: Mutant) -> bool:
        """Return whether a test fails for a mutant; one that never ends counts as noticed."""
        path = self.folder / "comparity" / mutant.path.relative_to(PACKAGE)
        before, times = path.read_bytes(), path.stat()
        stale = self._with_code_of(mutant.path) if b"@njit" in before else {}
        with tempfile.TemporaryDirectory() as own:
            cache = self.folder / "compiled"
            if stale:
                cache = shutil.copytree(cache, Path(own) / "compiled")
            path.write_text(mutant.source, encoding="utf-8")
            for other in stale:
                os.utime(other)
            try:
                return self._tests_fail(mutant, cache)
            finally:
                path.write_bytes(before)
                for place, known in {**stale, path: times}.items():
                    os.utime(place, ns=(known.st_atime_ns, known.st_mtime_ns))

    def _with_code_of(self, path: Path) -> dict[Path, os.stat_result]:
        """Return the compiled modules that import a module, directly or not, and their times."""
        modules = {
            other: text
            for other in (self.folder / "comparity").rglob("*.py")
            if "njit" in (text := other.read_text(encoding="utf-8"))
        }
        stale, new = set(), {self.folder / "comparity" / path.relative_to(PACKAGE)}
        while new:
            stale |= new
            names = [".".join(one.relative_to(self.folder).with_suffix("").parts) for one in stale]
            new = {
                other
                for other, text in modules.items()
                if any(f"{name} import" in text for name in names)
            } - stale
        return {one: one.stat() for one in stale}

    def _tests_fail(self, mutant: Mutant, cache: Path) -> bool:
        words = ["-m", "pytest", "-q", "-x", "-W", "ignore", "-p", "no:cacheprovider"]
        tests = self.witnesses.of(mutant)
        if not tests:
            return False
        words += ["--hypothesis-profile=mutants", "-m", KINDS, *tests]
        python = os.pathsep.join([str(self.folder), str(ROOT)])
        own = {"PYTHONPATH": python, "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [sys.executable, *words],
                cwd=ROOT,
                env=os.environ | own,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode == 1


def killed(sample: list[Mutant], workers: int, traced: Path | None) -> list[bool]:
    """Try mutants in so many workshops at a time, and say of each whether a test noticed."""
    found: list[bool] = [False] * len(sample)
    waiting = list(enumerate(sample))

    def work(shop: Workshop) -> None:
        while waiting:
            place, mutant = waiting.pop()
            found[place] = shop.is_killed(mutant)
            print("noticed " if found[place] else "survived", mutant, flush=True)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        witnesses = Witnesses(traced or trace(Path(folder)))
        shops = [Workshop(Path(folder) / str(worker), witnesses) for worker in range(workers)]
        list(pool.map(work, shops))
    return found


def main() -> int:
    """Try a sample of mutants; 0 where at least nine in ten are noticed."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--sample", type=int, default=300, help="how many mutants (default 300)")
    asked.add_argument("--seed", type=int, default=0, help="which sample (default 0)")
    asked.add_argument("--workers", type=int, default=2, help="how many at a time (default 2)")
    asked.add_argument("--traced", type=Path, help="what an earlier run of the tests left")
    choices = asked.parse_args()
    modules = [one for name in FOLDERS for one in sorted((PACKAGE / name).rglob("*.py"))]
    every = [one for module in modules for one in mutants(module)]
    sample = random.Random(choices.seed).sample(every, min(choices.sample, len(every)))
    print(f"{len(sample)} of {len(every):,} mutants, seed {choices.seed}")
    noticed = killed(sample, choices.workers, choices.traced)
    survivors = [one for one, dead in zip(sample, noticed, strict=True) if not dead]
    for one in survivors:
        print(f"survived: {one}  {one.excuse}")
    left = [one for one in survivors if not one.excuse]
    print(f"{len(sample) - len(left)} of {len(sample)} noticed or excused")
    return int(len(left) > len(sample) / 10)


if __name__ == "__main__":
    sys.exit(main())
