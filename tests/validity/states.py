"""Which code a question rests on: runs that were counted stand as long as it is the same."""

from __future__ import annotations

import ast
import hashlib
from functools import cache, partial
from inspect import getmodule
from pathlib import Path

from tests.validity import worlds
from tests.validity.questions import QUESTIONS, world_of

PACKAGE = Path(__file__).parents[2] / "src" / "comparity"
WORDS = {"errors", "reports", "section"}
"""Folders and modules that only choose words."""

SHOWN = 5
"""Worlds whose description is part of the state, so that other arguments of a draw show."""


def state_of(question: str) -> str:
    """Return what tells this state of the code behind a question from others.

    That is every module its audit imports, comments and docstrings apart, and how its worlds are
    drawn.
    """
    asked, digest = QUESTIONS[question], hashlib.sha256()
    draw = asked.draw.func if isinstance(asked.draw, partial) else asked.draw
    drawn_by = getmodule(draw)
    assert drawn_by is not None
    files = [*modules_behind(asked.home), Path(str(drawn_by.__file__)), Path(worlds.__file__)]
    for path in files:
        digest.update(meaning_of(path).encode())
    for number in range(SHOWN):
        digest.update(repr(world_of(question, number)).encode())
    return digest.hexdigest()[:12]


def modules_behind(home: str) -> list[Path]:
    """Return the files of a module and of all it imports, those that only choose words apart."""
    found: set[Path] = set()
    waiting = [home]
    while waiting:
        path = _file_of(waiting.pop())
        if path is not None and path not in found:
            found.add(path)
            waiting += [one for one in imports_of(path) if WORDS.isdisjoint(one.split("."))]
    return sorted(found)


def _file_of(module: str) -> Path | None:
    path = PACKAGE.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((one for one in files if one.exists()), None)


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the modules of the package that a file imports, wherever it does."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("comparity."):
            module = str(node.module).removeprefix("comparity.")
            found |= {module, *(f"{module}.{one.name}" for one in node.names)}
    return frozenset(found)


@cache
def meaning_of(path: Path) -> str:
    """Return the code of a file without comments and docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [one for one in node.body if not _is_text(one)] or [ast.Pass()]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
