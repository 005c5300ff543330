"""Findings are worded once, and people read common words, not some of our own."""

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

import comparity
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN
from tests.documentation.blocks import ROOT as HOUSE

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


# What is not written, and what is in its place. Names of things (law schools) are left alone.
INSTEAD = {
    r"\bfreed of\b": "adjusted for",
    r"\bat (its|their|his|her|the judges'|the panel's) word\b": "as given, unadjusted",
    r"\bhad across\b": "used with",
    r"(?<!power )(?<!local )(?<!zipf's )(?<!in )\blaws?\b(?! school| student| of succession)": (
        "distribution"
    ),
    r"\bless (the|that|those|its|their|what|published|agreement|twice)\b|\} less \{": "minus",
    r"\banew\b(?! =|, )": "again",
    r"\bturned round\b": "reversed",
    r"\bdrawn to zero\b": "shrunk toward zero",
    r"\basks nothing of\b": "needs no",
    r"\bby no number of\b": "more of these will not help",
    r"\bgiven back\b": "corrected for",
    r"\b(turned signs|signs are turned)\b": "sign flips",
    r"\bequally decided\b": "equally consistent",
    r"\btoo eager\b": "rejects too often",
    r"\bby a hair\b": "barely",
    r"\b(differ|differs|difference) in worth\b": "differ in quality",
    r"\bif unsaid\b": "by default",
    r"\b(learned|learnt|learns?)( [a-z]+){0,6} by heart\b": "memorised",
    r"\b(drawn|dealt|decided|draws)( [a-z]+){0,6} by lots?\b": "at random",
}
JOINED = re.compile(r"[\"']\s*\n\s*[rf]?[\"']")


def unwanted_words(text: str) -> Iterator[str]:
    """Yield the words of the list that a text has, also where it is broken into lines."""
    flat = " ".join(JOINED.sub("", text).split()).lower()
    for pattern, better in INSTEAD.items():
        for found in re.finditer(pattern, flat):
            yield f"{flat[max(0, found.start() - 30) : found.end() + 30]!r}: write {better!r}"


def readable_files() -> list[Path]:
    """Return what people read: pages, and all texts of the package with its help and errors."""
    package = [one for end in ("py", "toml", "jinja") for one in ROOT.rglob(f"*.{end}")]
    pages = [
        *HOUSE.glob("*.md"),
        *(HOUSE / "docs").rglob("*.md"),
        *(HOUSE / "examples").rglob("*.py"),
    ]
    return [*package, *pages]


def test_no_text_has_words_of_the_list() -> None:
    texts = readable_files()
    assert len(texts) > 300
    found = {str(one): [*unwanted_words(one.read_text(encoding="utf-8"))] for one in texts}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize(
    "text",
    [
        "a panel freed of bias",
        "judges, taken at their\nword",
        '"cannot be had "\n    f"across a bridge"',
        "scores of one law",
        "the first rate less the second",
        'f"{first} less {second}"',
        "train anew",
        "votes turned round at random",
        "biases drawn to\nzero",
        "a page that asks nothing of the network",
        "by no number of judgments",
        "what fitting takes is given back",
        "with 6 evaluators signs are turned",
        "evaluators are taken for equally decided",
        "a test that is too eager",
        "longer by a hair",
        "groups differ in worth",
        "fresh if unsaid",
        "a model that learns rows by heart",
        "judges were dealt to the tasks by lot",
    ],
)
def test_a_word_of_the_list_would_be_noticed(text: str) -> None:
    assert [*unwanted_words(text)]
    assert not [*unwanted_words("law school, Local Law 144, a power law, no less than that")]


def test_the_glossary_has_the_terms_of_pages() -> None:
    script = HOUSE / "docs" / "glossary.py"
    page = runpy.run_path(str(script))["page"]()
    assert page == script.with_suffix(".md").read_text(encoding="utf-8"), f"run python {script}"
    assert "| **margin** |" in page


def test_the_readme_is_short_and_leads_to_the_glossary() -> None:
    text = (HOUSE / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert "(docs/glossary.md)" in text
