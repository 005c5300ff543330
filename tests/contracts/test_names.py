"""Functions are named by a verb with its object, or a noun, constants by what they bound.

A function is never a bare participle. A property may be: ``gate.passed`` reads as a sentence.
"""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2] / "docs" / "house.py"
modules = runpy.run_path(str(HOUSE))["modules"]

REGULAR = re.compile(r"^[a-z]+(?:ed|ing)$")
IRREGULAR = """
    begun born bound broken brought built bought caught chosen cut dealt done drawn driven fallen
    felt fit found fought frozen given gone grown heard held hidden hit kept known laid learnt led
    left lent lost made meant met mismatched paid put read rewritten risen run said seen sent set
    shown shut sold split spent spread stood sunk taken taught thought thrown told torn understood
    undone untold unknown won worn written
    """
# Words that end like participles, or are verbs as well.
OTHERS = """
    bring embed feed finding listing meaning missing need ranking rating reading reweighing seed
    speed string
    fit hit cut put read run set split spread bound
    """
# Where a participle stays, and why.
EXCEPTIONS = {
    "comparity.reports.sections.signed": "formats a number, like percent",
    "comparity.judges.by_group._told": "still to be named by a verb or a noun",
    "comparity.judges.log.mismatched": "still to be named by a verb or a noun",
    "comparity.judges.next_steps._undecided": "still to be named by a verb or a noun",
}


# Words that do not say what a number bounds.
VAGUE = """
    alone astray calm certain far flat large least many most much near often part patience rough
    rungs same slack small soon steady there tiny unknown wider zooms
    """


def is_participle(name: str) -> bool:
    """Return whether a name is one word, and that a participle."""
    word = "" if name.startswith("__") else name.strip("_")
    return word not in OTHERS.split() and (word in IRREGULAR.split() or bool(REGULAR.match(word)))


def functions() -> Iterator[tuple[str, str]]:
    """Yield module and name of every function and method that is no property."""
    for one in modules():
        for node in ast.walk(one.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not any(
                "property" in ast.unparse(decorator) for decorator in node.decorator_list
            ):
                yield one.name, node.name


def constants() -> Iterator[tuple[str, str]]:
    """Yield module and name of every number and table at the top level of a module."""
    for one in modules():
        for node in one.tree.body:
            if isinstance(node, ast.Assign):
                for part in (part for target in node.targets for part in ast.walk(target)):
                    if isinstance(part, ast.Name) and part.id.isupper():
                        yield one.name, part.id


def test_no_constant_is_a_word_that_does_not_say_what_it_bounds() -> None:
    assert not [".".join(one) for one in constants() if one[1].lower() in VAGUE.split()]


def test_no_function_is_named_by_a_bare_participle() -> None:
    named = [".".join(one) for one in functions() if is_participle(one[1])]
    assert sorted(set(named) - set(EXCEPTIONS)) == []


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_named", True),
        ("known", True),
        ("widened", True),
        ("crossing", True),
        ("group_names", False),
        ("finding", False),
        ("widened_likelihood", False),
        ("split", False),
    ],
)
def test_a_bare_participle_would_be_noticed(name: str, *, wrong: bool) -> None:
    assert is_participle(name) is wrong
