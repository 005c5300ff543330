"""Findings are worded once, in one module."""

import ast
from pathlib import Path

import comparity
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

ROOT = Path(comparity.__file__).parent
WORDS = (VIOLATED, WITHIN, UNDECIDED)
HOME = ROOT / "results" / "result.py"
TEXTS = sorted({*ROOT.rglob("*.py"), *ROOT.rglob("*.jinja")} - {HOME})
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def strings(source: str) -> list[str]:
    """Return the string constants of a module that are not documentation."""
    tree = ast.parse(source)
    documentation = {
        id(node.value)
        for parent in ast.walk(tree)
        if isinstance(parent, DOCUMENTED | ast.ClassDef)
        for node in parent.body
        if isinstance(node, ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documentation
    ]


def test_no_other_module_words_a_finding() -> None:
    found = []
    for path in TEXTS:
        source = path.read_text(encoding="utf-8")
        if not any(word in source for word in WORDS):
            continue
        texts = strings(source) if path.suffix == ".py" else [source]
        found += [(path, text) for text in texts if any(word in text for word in WORDS)]
    assert len(TEXTS) > 100
    assert not found


def test_a_second_wording_would_be_noticed() -> None:
    assert strings('"""violated in a docstring"""\nx = f"{1} violated"') == [" violated"]
