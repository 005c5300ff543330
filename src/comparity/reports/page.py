"""Results as one self-contained HTML page: no script, no network, light and dark.

The templates only lay out: cells, sentences and the places of marks come from the modules that
terminal and page share. A page explains the words and signs that it uses, and names the papers
that its results rest on.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comparity.errors import FileAccessError, ForeignResultError
from comparity.errors.spelling import visible
from comparity.reports.charts import KINDS
from comparity.reports.cover import TODAY, Cover, data_facts, overall_verdict, read_date
from comparity.reports.heat import BLUE, CIVIDIS, ORANGE, colours, signed_colours
from comparity.reports.sections import Section, clip
from comparity.results.dropped import dropped_sentence
from comparity.results.result import Result, read_result

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# Letters of Hebrew, Arabic and the other scripts that run from right to left.
LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
# Words of one name have blanks, dots or hyphens between them, two names have commas or signs.
LEFTWARD_WORDS = re.compile(f"[{LEFTWARD}]+(?:[ .'-]+[{LEFTWARD}]+)*")


def page(
    result: Result | Mapping[str, Result], *, title: str = "", cover: Cover | None = None
) -> str:
    """Return a whole HTML page for one result, or for several by name.

    Parameters
    ----------
    result : a result, or mapping of str to results
        What to show; several are shown in their order, each under its name.
    title : str, optional
        Title of the page, where it shows more than one result and its cover has none.
    cover : Cover, optional
        What stands above the results: title, date, who ran it, a logo. By default the date of
        today, or that of ``SOURCE_DATE_EPOCH``; ``Cover()`` has none.
    """
    cover = cover or Cover(date=read_date(TODAY))
    heading = visible(cover.title or title)
    named = result if isinstance(result, Mapping) else {"": result}
    shown = {name: one.section() for name, one in named.items()}
    sections = [_section(named[name], one, visible(name)) for name, one in shown.items()]
    first = sections[0]["headline"] if sections else "Nothing to show"
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            heading=heading,
            title=heading or first,
            cover=cover,
            overall=overall_verdict(named.values()),
            sections=sections,
            terms=terms_in(shown.values()),
        )
    )


def fragment(result: Result) -> str:
    """Return a result as HTML to be put into another page, such as a notebook."""
    return (
        _environment()
        .get_template("fragment.html.jinja")
        .render(section=_section(result, result.section(), ""))
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("comparity.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["isolated"] = _isolate_names
    environment.globals |= {"kinds": KINDS, "colours": colours, "signed_colours": signed_colours}
    environment.globals |= {"spectrum": CIVIDIS, "ends": (BLUE, "#ffffff", ORANGE)}
    return environment


def _isolate_names(text: object) -> Markup:
    """Return a text in which names that run from right to left do not turn what surrounds them.

    Without that, ``agree(A > B) = agree(B > A)`` of two such names shows its brackets and signs in
    an order that nobody wrote.
    """
    from markupsafe import Markup, escape

    return Markup(LEFTWARD_WORDS.sub(lambda name: f"<bdi>{name[0]}</bdi>", str(escape(text))))


def _section(result: Result, shown: Section, name: str) -> dict[str, Any]:
    content = result.to_dict()
    # A trained score rests on what its audit rests on.
    inner = content.get("after") or {}
    known = content.get("provenance") or inner.get("provenance")
    provenance = json.dumps(known, indent=2, ensure_ascii=False, default=str) if known else ""
    dropped = [one for one in [dropped_sentence(content)] if one]
    return {
        **{part.name: getattr(shown, part.name) for part in fields(shown)},
        "sentences": (*shown.sentences, *dropped),
        "name": name,
        "data": data_facts(content if content.get("provenance") else inner),
        "sources": [visible(line) for line in sources_of(content)],
        "provenance": visible(provenance, keep="\n"),
    }


def read_results(paths: Sequence[str | Path]) -> dict[str, Result]:
    """Read the JSON that commands printed, and name each result by its file.

    A gate is followed by its audits, a ranking by the audit against it. A file may hold several
    results by name, as ``comparity demo --json`` prints them.

    Raises
    ------
    FileAccessError, ForeignResultError
        A file cannot be read, or holds something else.
    """
    stems = [Path(path).stem for path in paths]
    named = [
        (stem if stems.count(stem) == 1 else str(path), repr(str(path)), _load_file(path))
        for path, stem in zip(paths, stems, strict=True)
    ]
    return _name_results(named)


def parse_results(contents: Mapping[str, bytes]) -> dict[str, Result]:
    """Read the JSON of results from bytes by name, as :func:`read_results` does from files."""
    return _name_results([(name, repr(name), content) for name, content in contents.items()])


def _name_results(named: Iterable[tuple[str, str, bytes]]) -> dict[str, Result]:
    found: dict[str, Result] = {}
    for name, source, content in named:
        for part, result in _parts(_load_json(content, source), source):
            label = f"{name}: {part}" if part else name
            # The same file twice is shown twice.
            while label in found:
                label += " (again)"
            found[label] = result
    return found


def _load_file(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FileAccessError(str(path), str(error.strerror)) from error


def _load_json(content: bytes, source: str) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant}, which JSON does not have")

    try:
        return json.loads(content.decode("utf-8-sig"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise ForeignResultError(source, f"no JSON: {clip(str(error))}") from error


def _parts(content: Any, source: str) -> Iterator[tuple[str, Result]]:
    """Yield the results a file holds, by name; the only one has none."""
    if isinstance(content, Mapping) and content and "kind" not in content:
        for name, one in content.items():
            yield name, read_result(one, source=source)
        return
    result: Result = read_result(content, source=source)
    yield "", result
    yield from result.parts().items()


@cache
def glossary() -> dict[str, Any]:
    """Return the terms that pages explain, and the sources they cite."""
    return tomllib.loads(Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8"))


def terms_in(sections: Iterable[Section]) -> dict[str, str]:
    """Return the terms that occur in what is shown, with their meaning.

    Examples
    --------
    >>> list(terms_in([Section(headline="Biases in logits")]))
    ['logits']
    """
    text = "\n".join(piece for section in sections for piece in _pieces(section))
    terms = glossary()["terms"].items()
    # Words of every page have no sign; the documentation explains them.
    signed = ((term, about) for term, about in terms if "sign" in about)
    return {term: about["meaning"] for term, about in signed if re.search(about["sign"], text)}


def _pieces(section: Section) -> Iterator[str]:
    """Yield everything a section says, in pieces."""
    yield from (section.headline, *section.sentences)
    for chart in section.charts:
        yield from (chart.title, chart.axis_label)
        if getattr(chart, "band", None):
            yield "the shaded band is the margin"
    for grid in section.grids:
        yield from (grid.title, *grid.header)
        yield from (cell for row in grid.rows for cell in row)
    yield from (line for lines in section.lists.values() for line in lines)
    yield from section.steps


def sources_of(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return citations for a result, from what ``to_dict()`` returns."""
    known = glossary()["sources"]
    # A trained score rests on what its audit rests on.
    parts = (content, content.get("after") or {})
    cited = [
        known.get(one, one) for part in parts for one in (*_cite_sources(part), *_methods(part))
    ]
    return tuple(dict.fromkeys(cited))


NOTIONS = {
    "comparative": "comparative",
    "pairwise": "pairwise",
    "differential": "relative",
    "metrics": "metrics",
    "panel": "ranking",
    "leaning": "ranking",
}
"""Sources by a word in the notion that was audited."""

MODELS = ("CrowdBT", "FactorBT", "Rank Centrality")
"""Ranking models with a source of their own."""


def _cite_sources(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sources of a result, by their names in the glossary."""
    notion, rule = str(content.get("notion", "")), content.get("rule")
    if notion == "separation":
        yield notion
    if content.get("kind") == "impact ratios":
        yield "impact"
    if content.get("kind") == "judges audit":
        yield from ("changed winners", "agreement", "false discoveries")
    yield from (source for word, source in NOTIONS.items() if word in notion)
    if "goals" in content or "training" in content:
        yield "pairwise"
    if "biases" in content:
        yield from ("ranking", "false discoveries")
    if "ranking" in content:
        yield from (name for name in MODELS if name == content.get("model"))
        yield "Bradley-Terry"
    if "shared" in str(content.get("design", "")):
        yield "dyadic"
    if rule == "holm":
        yield from ("max-T" if content.get("correction") == "max-T" else "Holm", "equivalence")
    if rule == "fdr":
        yield "false discoveries"


def _methods(content: Mapping[str, Any]) -> Iterator[str]:
    tests = content.get("tests")
    found = [one.get("method") for one in tests if isinstance(one, Mapping)] if tests else []
    methods = [method for method in dict.fromkeys(found) if isinstance(method, str) and method]
    if methods:
        yield f"Tests: {'; '.join(methods)}."
