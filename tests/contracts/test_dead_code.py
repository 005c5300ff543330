"""Nothing in the package is there for its tests alone.

A name at the top level of a module has to be used: outside of its own definition, by a module that
imports it, in a string that names it, or on a page, in a template, an example, a benchmark or a
reproduction. So has a method, wherever anything has an attribute of that name. Tests do not count.
"""

from __future__ import annotations

import ast
import re
import runpy
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import comparity

ROOT = Path(__file__).parents[2]
modules = runpy.run_path(str(ROOT / "docs" / "house.py"))["modules"]
WORD = re.compile(r"[A-Za-z_]\w*")
# What a page shows as code, and what a docstring runs.
ON_PAGES = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
IN_DOCSTRINGS = re.compile(r"^\s*(?:>>>|\.\.\.) .*$", re.MULTILINE)
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
DEFINED = FUNCTION | ast.ClassDef

# What is looked up by a name that is put together, or is still to go.
LOOKED_UP = {
    "READERS": "every module of judges/readers has them",
    "judge_frame": "found beside the public function that a command is named for",
    "judge_file": "found beside the public function that a command is named for",
    "comparity.counts.engine_pairs.Codes": "a type that is still to go",
}
# Names that nothing in the project uses, and who does.
CALLED_BY_OTHERS = {
    "click": {"shell_complete", "format_message", "make_context", "invoke", "type_cast_value"},
    "IPython": {"_repr_html_"},
    "numba": {"get_cache_path", "from_function", "save_overload"},
    "urllib": {"redirect_request"},
    "scikit-learn": {"get_metadata_routing"},
    "cooper": {"compute_cmp_state"},
    # Registered by the decorator; the name says nothing.
    "functools.singledispatch": {"_"},
}


def words_of(tree: ast.AST) -> Counter[str]:
    """Count names, attributes, keywords, and words of strings without blanks."""
    found = Counter[str]()
    documented = {
        id(node.body[0].value): node
        for node in ast.walk(tree)
        if isinstance(node, DEFINED | ast.Module) and ast.get_docstring(node)
        if isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                found.update((name, f"{owner}.{name}"))
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                found[name] += 1
            case ast.keyword(arg=str(name)):
                found[name] += 1
            case ast.Constant(value=str(text)) if id(node) in documented:
                found.update(WORD.findall(" ".join(IN_DOCSTRINGS.findall(text))))
            case ast.Constant(value=str(text)) if " " not in text:
                found.update(WORD.findall(text))
    return found


@cache
def words_beside() -> frozenset[str]:
    """Return the words of code on pages, in templates, examples, benchmarks and reproductions."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    shown = [" ".join(ON_PAGES.findall(path.read_text(encoding="utf-8"))) for path in pages]
    programs = [
        path
        for folder in ("docs", "examples", "benchmarks", "reproductions")
        for path in (ROOT / folder).rglob("*.py")
    ]
    templates = [path for path in (ROOT / "src").rglob("*") if path.suffix in {".jinja", ".js"}]
    read = [path.read_text(encoding="utf-8") for path in [*programs, *templates]]
    return frozenset(word for text in [*shown, *read] for word in WORD.findall(text))


@cache
def words_by_module() -> dict[str, Counter[str]]:
    """Return the words of every module of the package."""
    return {one.name: words_of(one.tree) for one in modules()}


@cache
def words_of_package() -> Counter[str]:
    """Count the words of all modules."""
    return sum(words_by_module().values(), Counter[str]())


@cache
def importers() -> dict[tuple[str, str], set[str]]:
    """Return who imports which name from where, and does more than to pass it on."""
    found = defaultdict(set)
    for one in modules():
        named = {node.id for node in ast.walk(one.tree) if isinstance(node, ast.Name)}
        for node in ast.walk(one.tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) in named:
                        found[str(node.module), alias.name].add(one.name)
    return found


def is_imported(module: str, name: str) -> bool:
    """Return whether a name is imported, from its module or its folder, or used by its module."""
    folder, _, last = module.rpartition(".")
    return bool(
        words_of_package()[f"{last}.{name}"]
        or importers().get((module, name))
        or importers().get((folder, name))
    )


def definitions(tree: ast.Module) -> Iterator[tuple[list[str], ast.stmt]]:
    """Yield what is defined at the top level of a module; names of one statement together."""
    for node in tree.body:
        if isinstance(node, DEFINED):
            yield [node.name], node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [part for target in targets for part in ast.walk(target)]
            yield [part.id for part in parts if isinstance(part, ast.Name)], node


def is_used(module: Any, name: str, node: ast.stmt) -> bool:
    """Return whether anything but its own definition names what a module defines."""
    if words_by_module()[module.name][name] > words_of(node)[name] or name in hooks():
        return True
    if {name, f"{module.name}.{name}"} & set(LOOKED_UP):
        return True
    if name.startswith("_"):
        return name.endswith("__")
    # Constants of one name in several modules are several constants.
    is_one = isinstance(node, DEFINED) or homes()[name] == 1
    named = name in words_beside() | lazily_named() | set(comparity.__all__)
    return (named and is_one) or is_imported(module.name, name)


@cache
def homes() -> Counter[str]:
    """Count the modules that define a name."""
    return Counter(
        name for one in modules() for names, _ in definitions(one.tree) for name in set(names)
    )


@cache
def lazily_named() -> frozenset[str]:
    """Return the words of strings such as ``"comparity.ranking.barp:rank"``."""
    return frozenset(
        word
        for one in modules()
        for node in ast.walk(one.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value
        for word in WORD.findall(node.value)
    )


@cache
def hooks() -> frozenset[str]:
    """Return the names that libraries call."""
    return frozenset(name for names in CALLED_BY_OTHERS.values() for name in names)


@pytest.mark.long
def test_everything_that_a_module_defines_is_used() -> None:
    unused = [
        f"{one.name}: {', '.join(names)}"
        for one in modules()
        for names, node in definitions(one.tree)
        if names and not any(is_used(one, name, node) for name in names)
    ]
    assert not unused


def test_every_method_is_used() -> None:
    unused = [
        f"{one.name}.{node.name}.{part.name}"
        for one in modules()
        for node in ast.walk(one.tree)
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, FUNCTION) and not part.name.endswith("__")
        if words_of_package()[part.name] <= words_of(part)[part.name]
        and part.name not in words_beside() | hooks()
    ]
    assert not unused


def test_every_exception_is_needed() -> None:
    methods = {
        part.name for one in modules() for part in ast.walk(one.tree) if isinstance(part, FUNCTION)
    }
    assert not hooks() - methods
