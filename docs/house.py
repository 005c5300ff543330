"""Print the map of the package: ``python docs/house.py``; ``--write`` puts it into CONTRIBUTING.md.

Folders stand in the order in which they may import each other: a folder knows only those above it.
A test fails when the drawing in CONTRIBUTING.md is not the one this prints. Numbers of modules and
lines change with every commit, so the test allows those on the page to be a little out of date.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "comparity"
PAGE = ROOT / "CONTRIBUTING.md"
START, END = "<!-- map: docs/house.py -->\n", "<!-- end of map -->"
SIZES, END_OF_SIZES = "<!-- sizes: docs/house.py -->\n", "<!-- end of sizes -->"
FULL = 400
"""Lines of the longest module there may be."""
YOUNG = ("impact", "pairs", "judges", "tasks", "collect")
"""Folders that came after the aim of 200 modules was set."""

LAYERS = ("errors", "tables", "counts", "inference", "results", "reports", "datasets")
QUESTIONS = (
    *("separation", "impact", "comparative", "pairwise", "relative", "metrics", "ranking"),
    *("training", "planning", "pairs", "judges", "gate", "tasks", "collect", "demo", "cli"),
)
ORDER = (*LAYERS, *QUESTIONS)


@dataclass(frozen=True)
class Import:
    """One name that a module imports from another module of the package."""

    source: str
    target: str
    name: str
    deferred: bool


@dataclass(frozen=True)
class Module:
    """A module of the package, read as a syntax tree."""

    path: Path

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """Return the folders and the name, without the package."""
        found = self.path.relative_to(PACKAGE).with_suffix("").parts
        return found[:-1] if found[-1] == "__init__" else found

    @cached_property
    def name(self) -> str:
        """Return the name to import it by."""
        return ".".join(("comparity", *self.parts))

    @cached_property
    def folder(self) -> str:
        """Return the folder of the package it is in; empty at the root."""
        return self.parts[0] if self.parts and (PACKAGE / self.parts[0]).is_dir() else ""

    @cached_property
    def tree(self) -> ast.Module:
        """Return the syntax tree."""
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cached_property
    def lines(self) -> int:
        """Return the number of lines."""
        return len(self.path.read_text(encoding="utf-8").splitlines())

    def imports(self, known: frozenset[str]) -> Iterator[Import]:
        """Yield what it imports of the package; what only types need does not count."""
        for node, deferred in _imports(self.tree):
            if (node.module or "").split(".")[0] != "comparity":
                continue
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                target = inner if inner in known else str(node.module)
                yield Import(self.name, target, alias.name, deferred)

    def functions(self) -> Iterator[tuple[int, str]]:
        """Yield the length of every function's body, docstring apart, and where it is."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                start = node.body[1:] if ast.get_docstring(node) else node.body
                length = (node.end_lineno or 0) - start[0].lineno + 1 if start else 0
                yield length, f"{self.name}.{node.name}"


def _imports(tree: ast.AST, *, deferred: bool = False) -> Iterator[tuple[ast.ImportFrom, bool]]:
    """Yield imports and whether each stands in a function; none that only type checkers see."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            yield node, deferred
        elif isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        # Expressions hold no imports.
        elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _imports(node, deferred=deferred or inside)


@cache
def modules() -> list[Module]:
    """Return all modules of the package."""
    return [Module(path) for path in sorted(PACKAGE.rglob("*.py"))]


@cache
def imports() -> list[Import]:
    """Return all imports within the package."""
    found = modules()
    known = frozenset(one.name for one in found)
    return [one for module in found for one in module.imports(known)]


def folder_of(name: str) -> str:
    """Return the folder of a module's name; empty at the root."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and (PACKAGE / parts[1]).is_dir() else ""


def drawing(*, sizes: bool = False) -> str:
    """Return two lines for each folder: what it is (and its size), and what it imports.

    Sizes change with every commit, so the drawing for contributors has none.
    """
    found = modules()
    uses = Counter((folder_of(one.source), folder_of(one.target)) for one in imports())
    lines = ["```text"]
    for folder in ORDER:
        inside = [one for one in found if one.folder == folder]
        about = ast.get_docstring(Module(PACKAGE / folder / "__init__.py").tree) or ""
        size = f"{len(inside):>3} modules {sum(one.lines for one in inside):>6,} lines  "
        lines.append(f"{folder + '/':<13}{size if sizes else ''}{_first(about)}")
        known = [one for one in ORDER if uses[folder, one] and one != folder]
        lines.append(f"{'':<13}imports {', '.join(known) or 'nothing'}")
    root = [one for one in found if not one.folder]
    lines.append(f"the root: {', '.join(one.path.name for one in root)}")
    if sizes:
        lines.append(f"in all {len(found)} modules, {sum(one.lines for one in found):,} lines")
    return "\n".join([*lines, "```", ""])


def _first(text: str) -> str:
    return text.partition("\n")[0]


def sizes() -> str:
    """Return a paragraph with the numbers of modules and lines."""
    found, lines = modules(), [one.lines for one in modules()]
    names = sum(number <= 1 for number in lines)
    short = sum(1 < number < 100 for number in lines)
    long = sum(number > 300 for number in lines)
    others = [number for number in lines if 100 <= number <= 300]
    young = sum(one.folder in YOUNG for one in found)
    return (
        f"At most {FULL} lines a module and about {sum(lines) / 1000:.0f},000 lines make "
        f"{sum(lines) // FULL + 1} modules if every one is full, so that the aim of 200 cannot be "
        f"kept together with that limit. There are {len(found)}: {names} of them only name their "
        f"folder, {short} have fewer than 100 lines, {long} more than 300; the others hold "
        f"{sum(others) / len(others):.0f} on average. The folders "
        f"{', '.join(f'`{one}`' for one in YOUNG)} came after the aim was set; they have {young}.\n"
    )


def page() -> str:
    """Return CONTRIBUTING.md with its drawing, order of questions and numbers made again."""
    text = PAGE.read_text(encoding="utf-8")
    order = f"only leftward in the order `{' '.join(QUESTIONS)}`"
    text = re.sub("only leftward in the order `[^`]*`", order, text)
    for start, end, middle in ((START, END, drawing()), (SIZES, END_OF_SIZES, sizes())):
        before, _, rest = text.partition(start)
        text = before + start + middle + end + rest.partition(end)[2]
    return text


def without_sizes(text: str) -> str:
    """Return the page without its numbers of modules and lines."""
    before, _, rest = text.partition(SIZES)
    return before + rest.partition(END_OF_SIZES)[2]


def longest_functions(number: int = 10) -> list[tuple[int, str]]:
    """Return the longest functions, docstrings apart."""
    return sorted((one for module in modules() for one in module.functions()), reverse=True)[
        :number
    ]


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    print(drawing(sizes=True))
    print("longest functions")
    for length, name in longest_functions():
        print(f"{length:>5}  {name}")
