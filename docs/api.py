"""Write the reference of all public names as Markdown, from their docstrings.

``docs/build_site.py`` puts these pages into the site; they are not kept in the repository, because
the docstrings are. A docstring is numpydoc: sections underlined with hyphens, parameters with
indented descriptions, formulas in TeX, which becomes MathML, so that a browser needs no script.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from typing import Any

from latex2mathml.converter import convert

import comparity
import comparity.errors

PAGES = {
    "audits": (
        "Audits, plans and gates",
        "Arrays, columns or frames in, a frozen result out.",
        ("comparity.results",),
    ),
    "rankings": (
        "Rankings and exposure",
        "Comparisons in, scores, ranks and evaluators' biases out.",
        ("comparity.ranking", "comparity.metrics"),
    ),
    "training": (
        "Weights and training",
        "What to do about a violation.",
        ("comparity.training.weigh", "comparity.training"),
    ),
}
"""Pages of functions and estimators: title, what they have in common, where their modules are."""

RESULTS = "results"
ERRORS = "errors"

DEFINED = ("Parameters", "Returns", "Attributes", "Raises", "Warns", "Yields", "Other Parameters")
"""Sections that hold a list of names, each with an indented description."""

LIST = re.compile(r"^\s*([-*]|\d+\.) ", re.MULTILINE)
HEADING = re.compile(r"^(?P<title>[A-Z][\w ]+)\n-{3,}$", re.MULTILINE)


def pages() -> dict[str, str]:
    """Return the text of every page by its name."""
    shown = {name: _function_page(name) for name in PAGES}
    return {**shown, RESULTS: _result_page(), ERRORS: _error_page()}


def public_names() -> list[str]:
    """Return what ``from comparity import ...`` offers, apart from the version."""
    return [name for name in comparity.__all__ if not name.startswith("_")]


def home(name: str) -> str:
    """Return the page that a public name is on."""
    found = getattr(comparity, name)
    if inspect.isclass(found) and issubclass(found, Exception):
        return ERRORS
    fitting = [
        (len(prefix), page)
        for page, (_, _, prefixes) in PAGES.items()
        for prefix in prefixes
        if found.__module__.startswith(prefix)
    ]
    return max(fitting)[1] if fitting else "audits"


def _function_page(page: str) -> str:
    title, lead, _ = PAGES[page]
    parts = [f"# {title}\n\n{lead}\n"]
    for name in public_names():
        if home(name) == page:
            found = getattr(comparity, name)
            parts += [entry(name, found, f"comparity.{name}{_signature(found)}")]
    return "\n".join(parts)


def _result_page() -> str:
    lead = "What audits, plans and fits return. All are frozen, print well, and have `to_dict()`."
    parts = [f"# Results\n\n{lead}\n"]
    parts += [
        entry(one.__name__, one, f"{one.__module__}.{one.__name__}") for one in result_classes()
    ]
    return "\n".join(parts)


def _error_page() -> str:
    lead = (
        "Every error says what was asked, what was found and what to do. All are "
        "`comparity.ComparityError`, so that one `except` catches them; the command line turns "
        "them into exit status 2."
    )
    rows = []
    for name in sorted({"ComparityError", *comparity.errors.__all__}):
        one = getattr(comparity.errors, name)
        if inspect.isclass(one):
            bases = ", ".join(f"`{base.__name__}`" for base in one.__bases__)
            rows.append(f"| `{name}` | {_inline(_summary(one))} | {bases} |")
    table = "| error | when | is a |\n| --- | --- | --- |\n"
    return f"# Errors\n\n{lead}\n\n## `ComparityError` and its kinds\n\n{table}" + "\n".join(rows)


def result_classes() -> list[type]:
    """Return the classes of this package that public functions and estimators hand back."""
    found: dict[str, type] = {}
    for name in public_names():
        one = getattr(comparity, name)
        if inspect.isfunction(one):
            hint = _returned(one)
            for kind in typing.get_args(hint) or (hint,):
                if inspect.isclass(kind) and kind.__module__.startswith("comparity"):
                    found.setdefault(kind.__name__, kind)
    return [found[name] for name in sorted(found)]


def _returned(function: Callable[..., Any]) -> Any:
    """Return the type a function says it returns; a string if it is not imported at run time."""
    try:
        return typing.get_type_hints(function).get("return")
    except NameError:
        return function.__annotations__.get("return")


def entry(name: str, found: Any, headline: str) -> str:
    """Return one name with how it is called, its docstring and, of a class, its methods."""
    parts = [f"## `{name}`\n", f"```text\n{headline}\n```\n"]
    parts += [markdown(inspect.getdoc(found) or "")]
    if inspect.isclass(found):
        parts += list(_members(found))
    return "\n".join(parts)


def _signature(found: Any) -> str:
    """Return the parameters, one in a line where they are many, without annotations."""
    try:
        asked = inspect.signature(found)
    except ValueError:
        return "(...)"
    plain = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in asked.parameters.values()
        if one.name != "self"
    ]
    text = str(asked.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    text = re.sub(r"<factory>|<object object at 0x[0-9a-f]+>", "...", text)
    text = re.sub(r"\d\.\d{5,}", lambda one: f"{float(one[0]):.4g}", text)
    if len(text) < 70:
        return text
    return "(\n    " + ",\n    ".join(_split(text[1:-1])) + ",\n)"


def _split(arguments: str) -> Iterator[str]:
    """Yield arguments, divided at the commas that are in no bracket or quotation."""
    depth, quoted, start = 0, False, 0
    for position, letter in enumerate(arguments):
        quoted ^= letter == "'"
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth and not quoted:
            yield arguments[start:position].strip()
            start = position + 1
    yield arguments[start:].strip()


def _members(found: type) -> Iterator[str]:
    """Yield the public methods and properties of a class, one line each."""
    data = dataclasses.is_dataclass(found)
    fields = {one.name for one in dataclasses.fields(found)} if data else set()
    lines = []
    for name, member in inspect.getmembers_static(found):
        own = _defined_here(found, name)
        if name.startswith("_") or name in fields or not own:
            continue
        if isinstance(member, property):
            lines.append(f"| `{name}` | {_inline(_summary(member))} |")
        elif inspect.isroutine(member) or isinstance(member, classmethod | staticmethod):
            lines.append(f"| `{name}()` | {_inline(_summary(getattr(found, name)))} |")
    if lines:
        yield (
            f"| of `{found.__name__}` | what it gives |\n| --- | --- |\n" + "\n".join(lines) + "\n"
        )


def _defined_here(found: type, name: str) -> bool:
    """Say whether a member comes from this package, not from a base class of another one."""
    owner = next(one for one in found.__mro__ if name in vars(one))
    return owner.__module__.startswith("comparity")


def _summary(found: Any) -> str:
    text = (inspect.getdoc(found) or "").partition("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")


def markdown(docstring: str) -> str:
    """Return a numpydoc docstring as Markdown."""
    first, *rest = _sections(docstring)
    parts = [_prose(first[1])]
    for title, body in rest:
        parts.append(f"**{title}**\n")
        parts.append(_definitions(body) if title in DEFINED else _prose(body))
    return "\n".join(parts)


def _sections(docstring: str) -> list[tuple[str, str]]:
    found = list(HEADING.finditer(docstring))
    starts = [one.start() for one in found] + [len(docstring)]
    sections = [("", docstring[: starts[0]])]
    for one, end in zip(found, starts[1:], strict=True):
        sections.append((one["title"], docstring[one.end() : end].strip("\n")))
    return sections


def _definitions(body: str) -> str:
    """Return names with indented descriptions as a definition list."""
    parts = []
    for block in re.split(r"\n(?=\S)", body.strip("\n")):
        head, _, description = block.partition("\n")
        name, colon, kind = head.partition(" : ")
        term = f"`{name}`" + (f" : {_inline(kind)}" if colon else "")
        told = _prose(inspect.cleandoc(description) if description.strip() else "")
        indented = told.strip().replace("\n", "\n    ")
        parts.append(f"{term}\n:   {indented or '&nbsp;'}\n")
    return "\n".join(parts)


def _prose(text: str) -> str:
    """Return paragraphs, formulas, references and runs, each in its form."""
    parts = []
    text = re.sub(r"^\.\. math::\n\n", ".. math::\n", text.strip("\n"), flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n", text):
        if block.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{inspect.cleandoc(block)}\n```")
        elif block.startswith(".. math::"):
            formula = " ".join(block.removeprefix(".. math::").split())
            parts.append(f"<p>{_mathml(formula, display='block')}</p>")
        elif block.startswith(".. ["):
            parts += [_inline(" ".join(one.split())) for one in re.split(r"\n?\.\. (?=\[)", block)]
        elif block.startswith("    "):
            parts.append(block)
        else:
            parts.append(_paragraph(block))
    return "\n\n".join(part for part in parts if part) + "\n"


def _paragraph(block: str) -> str:
    """Return a paragraph on one line, a list line by line.

    A line that began with a formula would be taken for a block of HTML.
    """
    lines = block if LIST.search(block) else " ".join(block.split())
    text = _inline(lines)
    return f"&#8288;{text}" if text.startswith("<math") else text


def _inline(text: str) -> str:
    """Return running text with roles, literals and citations as Markdown has them."""
    kept: list[str] = []

    def keep(shown: str) -> str:
        kept.append(shown)
        return f"\0{len(kept) - 1}\0"

    text = re.sub(r":math:`([^`]+)`", lambda one: keep(_mathml(one[1])), text)
    text = re.sub(r"``(.+?)``", lambda one: keep(f"`{one[1]}`"), text)
    text = re.sub(r":\w+:`~?([^`]+)`", lambda one: keep(f"`{one[1]}`"), text)
    text = re.sub(r"(\[\d+\])_", r"\1", text)
    # Braces at the end of a line would be taken for attributes, and vanish.
    text = text.replace("{", "&#123;")
    return re.sub(r"\0(\d+)\0", lambda one: kept[int(one[1])], text)


def _mathml(formula: str, display: str = "inline") -> str:
    return str(convert(formula, display=display))
