"""What is changed: one comparison, one constant or one sign of one module."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "comparity"

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
NOWHERE = -1


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    Attributes
    ----------
    path : Path
        The module, below the package.
    number : int
        Which of the changes of this module it is.
    line, column : int
        Where it is.
    text, what : str
        The line, and what is changed there.
    before : int
        How many of this module's changes before it look the same.
    """

    path: Path
    number: int
    line: int
    column: int
    text: str
    what: str
    before: int = 0

    def __str__(self) -> str:
        return f"{self.path.as_posix()}:{self.line}:{self.column} {self.what}"

    @property
    def module(self) -> str:
        """The name under which the module is imported."""
        return ".".join(("comparity", *self.path.with_suffix("").parts))

    @property
    def is_current(self) -> bool:
        """Whether the line is still there, where the module may have been edited."""
        lines = (PACKAGE / self.path).read_text(encoding="utf-8").splitlines()
        return lines[self.line - 1 : self.line] != [] and lines[self.line - 1].strip() == self.text

    @property
    def unchanged(self) -> Mutant:
        """The module as it is, which no test may notice."""
        return replace(self, number=NOWHERE, what="nothing")

    def tree(self) -> ast.Module:
        """Return the changed module; its lines stay where they are."""
        tree = ast.parse((PACKAGE / self.path).read_text(encoding="utf-8"))
        for number, _ in enumerate(_changes(tree)):
            if number == self.number:
                break
        return tree

    def place_in_sample(self, seed: int) -> str:
        """Return what a sample is sorted by: it stays as long as the line does."""
        words = f"{seed} {self.path.as_posix()} {self.text} {self.column} {self.what} {self.before}"
        return hashlib.sha256(words.encode()).hexdigest()


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module of the package."""
    text = (PACKAGE / path).read_text(encoding="utf-8")
    lines, seen = text.splitlines(), Counter[tuple[str, int, str]]()
    for number, (node, what) in enumerate(_changes(ast.parse(text))):
        line = lines[node.lineno - 1].strip()
        alike = (line, node.col_offset, what)
        yield Mutant(path, number, node.lineno, node.col_offset, line, what, seen[alike])
        seen[alike] += 1


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Change a tree in one place after the other: who stops in between keeps the last change."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED:
            old = node.ops[0]
            node.ops[0] = FLIPPED[type(old)]()
            yield node, f"{type(old).__name__} -> {type(node.ops[0]).__name__}"
            node.ops[0] = old
        elif isinstance(node, ast.BinOp) and type(node.op) in EXCHANGED:
            before = node.op
            node.op = EXCHANGED[type(before)]()
            yield node, f"{type(before).__name__} -> {type(node.op).__name__}"
            node.op = before
        elif isinstance(node, ast.Constant) and _is_number(node.value):
            value = node.value
            node.value = value * SCALE if isinstance(value, float) else value + 1
            yield node, f"{value!r} -> {node.value!r}"
            node.value = value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value != 0
