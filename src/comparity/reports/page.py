"""Results as one self-contained HTML page: no script, no network, light and dark.

The templates only lay out: cells, sentences and the places of marks come from the modules that
terminal and page share. A page explains the words and signs that it uses, and names the papers
that its results rest on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comparity.errors import FileAccessError, ForeignResultError
from comparity.errors.spelling import visible
from comparity.reports.charts import KINDS
from comparity.reports.heat import BLUE, CIVIDIS, ORANGE, colours, leaning
from comparity.reports.sections import Section, clipped
from comparity.results.result import Result, read_result

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# Letters of Hebrew, Arabic and the other scripts that run from right to left.
LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
# Words of one name have blanks, dots or hyphens between them, two names have commas or signs.
LEFTWARD_WORDS = re.compile(f"[{LEFTWARD}]+(?:[ .'-]+[{LEFTWARD}]+)*")


def page(result: Result | Mapping[str, Result], *, title: str = "") -> str:
    """Return a whole HTML page for one result, or for several by name.

    Parameters
    ----------
    result : a result, or mapping of str to results
        What to show; several are shown in their order, each under its name.
    title : str, optional
        Title of the page, where it shows more than one result.
    """
    named = result if isinstance(result, Mapping) else {"": result}
    shown = {name: one.section() for name, one in named.items()}
    sections = [_section(named[name], one, visible(name)) for name, one in shown.items()]
    first = sections[0]["headline"] if sections else "Nothing to show"
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            heading=visible(title),
            title=visible(title) or first,
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
    environment.globals |= {"kinds": KINDS, "colours": colours, "leaning": leaning}
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
    return {
        **{part.name: getattr(shown, part.name) for part in fields(shown)},
        "name": name,
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
    found: dict[str, Result] = {}
    for path, stem in zip(paths, stems, strict=True):
        name = stem if stems.count(stem) == 1 else str(path)
        for part, result in _parts(_load_json(path), repr(str(path))):
            label = f"{name}: {part}" if part else name
            # The same file twice is shown twice.
            while label in found:
                label += " (again)"
            found[label] = result
    return found


def _load_json(path: str | Path) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant}, which JSON does not have")

    try:
        return json.loads(Path(path).read_text(encoding="utf-8-sig"), parse_constant=refuse)
    except OSError as error:
        raise FileAccessError(str(path), str(error.strerror)) from error
    except (ValueError, RecursionError) as error:
        raise ForeignResultError(repr(str(path)), f"no JSON: {clipped(str(error))}") from error


def _parts(content: Any, source: str) -> Iterator[tuple[str, Result]]:
    """Yield the results a file holds, by name; the only one has none."""
    if isinstance(content, Mapping) and content and "kind" not in content:
        for name, one in content.items():
            yield name, read_result(one, source=source)
        return
    result: Result = read_result(content, source=source)
    yield "", result
    yield from result.parts().items()


TERMS = {
    "TPR(a), FPR(a)": (
        r"\b[TF]PR\(",
        "True and false positive rate of group a: the share of its rows that the model says yes "
        "to, among those whose label is yes, and among those whose label is no.",
    ),
    "agree(a > b)": (
        r"\bagree\(",
        "How often the model's order is that of judges or labels, over pairs in which these put "
        "an item of group a above an item of group b.",
    ),
    "gap": (
        r"(?m)^gap\b",
        "The first of the two numbers compared minus the second: 0 where both are alike.",
    ),
    "interval judged": (
        r"(?m)^interval judged$",
        "All gaps that this very test does not reject. Its level makes up for several tests.",
    ),
    "p, p (adj.)": (
        r"(?m)^p( \(adj\.\))?$",
        "How often chance alone would show a gap at least as large; adjusted: corrected for "
        "several tests, so that it can be compared with the overall false-alarm rate. Behind ≥ "
        "and the margin: how often a gap as large as the margin would look as small as this one.",
    ),
    "chi-square": (
        r"(?m)^chi-square$",
        "A test that all of these rates are alike, also those that no gap above compares. It says "
        "nothing about size: a small p beside harmless gaps tells of small differences.",
    ),
    "q": (
        r"(?m)^q$",
        "If everybody with a q of this size or less is said to lean, at most about this share of "
        "them is said so wrongly.",
    ),
    "std. error": (
        r"(?m)^std\. error$",
        "How far chance moves an estimate, as a standard deviation.",
    ),
    "n": (r"(?m)(^|\] )n \d", "How many decisions, judgments or pairs are behind a number."),
    "DPD": (
        r"\bDPD\b",
        "How much further apart the two decision makers are in one group than in the other, in "
        "standard deviations of their difference. By convention 0.2 is small, 0.5 medium, 0.8 "
        "large.",
    ),
    "DPT, df": (
        r"\bDPT\b",
        "The same over its standard error, with its degrees of freedom: Welch's t, or for a "
        "number that of the slope.",
    ),
    "logits": (
        r"\blogits\b",
        "A scale on which a lead of 1 wins 73 of 100 comparisons, one of 2 wins 88, one of 3 "
        "wins 95.",
    ),
    "95% of ranks": (
        r"95% of ranks|95% range",
        "Ranks that the item may have, seen the errors of all scores; 95 in 100 such ranges, or "
        "more, hold the rank.",
    ),
    "Normal with SD": (
        r"Normal with SD",
        "Numbers of this kind are pulled toward zero as if they were drawn with this standard "
        "deviation; in brackets, how it was chosen.",
    ),
    "standardised": (
        r"(?i)\bstandardised\b",
        "Items are weighted until labels are spread alike in every group, so that no group has "
        "harder pairs for that reason alone.",
    ),
    "power": (
        r"\bpower\b",
        "The probability that data of this size lead to the finding that is right.",
    ),
    "slack": (r"\bslack\b", "The largest difference between groups that training allows."),
    "range, inside, across, outside": (
        r"(?m)^interval is$",
        "The range is the one that was published as acceptable; a value, or a whole interval, "
        "lies inside it, outside it, or across one of its ends.",
    ),
    "?": (
        r"(?m) \?$",
        "Behind an interval: counts are too small for it to hold as often as it says. Behind a "
        "move: its direction is not beyond doubt.",
    ),
}
"""For each term where it is found on a page, and what it means."""


def terms_in(sections: Iterable[Section]) -> dict[str, str]:
    """Return the terms that occur in what is shown, with their meaning.

    Examples
    --------
    >>> list(terms_in([Section(headline="Biases in logits")]))
    ['logits']
    """
    text = "\n".join(piece for section in sections for piece in _pieces(section))
    return {term: meaning for term, (sign, meaning) in TERMS.items() if re.search(sign, text)}


def _pieces(section: Section) -> Iterator[str]:
    """Yield everything a section says, in pieces."""
    yield from (section.headline, *section.sentences)
    for chart in section.charts:
        yield from (chart.title, chart.axis_label)
    for grid in section.grids:
        yield from (grid.title, *grid.header)
        yield from (cell for row in grid.rows for cell in row)
    yield from (line for lines in section.lists.values() for line in lines)


SEPARATION = (
    "Separation (equalized odds): Hardt, Price, Srebro: Equality of Opportunity in Supervised "
    "Learning, 2016."
)
COMPARATIVE = (
    "Comparative separation, its tests and sample sizes: Xi, Capak, Stockwell, Yu: Comparative "
    "Separation: Evaluating Separation on Comparative Judgment Test Data."
)
PAIRWISE = (
    "Pairwise accuracy of every kind of pair, and training for it: Narasimhan, Cotter, Gupta, "
    "Wang: Pairwise Fairness for Ranking and Regression, 2020."
)
RELATIVE = (
    "Differential parity, DPT and DPD, bridges: Yu, Xi: Differential Parity: Relative Fairness "
    "Between Two Sets of Decisions."
)
RANKING = (
    "Evaluators' biases (BARP): Ferrara, Bonchi, Fabbri, Karimi, Wagner: Bias-aware ranking from "
    "pairwise comparisons, 2024."
)
METRICS = (
    "The metrics, their clusters and ranges: Majumder, Chakraborty, Bai, Stolee, Menzies: Fair "
    "Enough: Searching for Sufficient Measures of Fairness."
)
HOLM = (
    "Several tests at one error rate: Holm: A simple sequentially rejective multiple test "
    "procedure, 1979."
)
MAX_T = (
    "Several correlated tests at one error rate (max-T): Hothorn, Bretz, Westfall: Simultaneous "
    "inference in general parametric models, 2008."
)
EQUIVALENCE = "Gaps smaller than a margin: two one-sided tests, Schuirmann, 1987."
FALSE_DISCOVERIES = (
    "Few false alarms among those found: Benjamini, Hochberg: Controlling the false discovery "
    "rate, 1995."
)
DYADIC = (
    "Judgments that share items: variances robust to shared members of pairs, Aronow, Samii, "
    "Assenova: Cluster-robust variance estimation for dyadic data, 2015."
)
BRADLEY_TERRY = (
    "Scores from comparisons: Bradley, Terry: Rank analysis of incomplete block designs, 1952."
)
MODELS = {
    "CrowdBT": (
        "Evaluators' reliabilities: Chen, Bennett, Collins-Thompson, Horvitz: Pairwise ranking "
        "aggregation in a crowdsourced setting, 2013."
    ),
    "FactorBT": (
        "Evaluators' attention: Bugakova, Fedorova, Gusev, Drutsa: Aggregation of pairwise "
        "comparisons with reduction of biases, 2019."
    ),
    "Rank Centrality": (
        "The walk along comparisons: Negahban, Oh, Shah: Rank Centrality: ranking from pairwise "
        "comparisons, 2017."
    ),
}
"""Sources of rankers, by the name of the model."""


def sources_of(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return citations for a result, from what ``to_dict()`` returns."""
    # A trained score rests on what its audit rests on.
    return tuple(dict.fromkeys([*_citations(content), *_citations(content.get("after") or {})]))


def _citations(content: Mapping[str, Any]) -> Iterator[str]:
    notion, methods = str(content.get("notion", "")), _methods(content)
    if notion == "separation":
        yield SEPARATION
    for word, source in (
        ("comparative", COMPARATIVE),
        ("pairwise", PAIRWISE),
        ("differential", RELATIVE),
        ("metrics", METRICS),
        ("panel", RANKING),
        ("leaning", RANKING),
    ):
        if word in notion:
            yield source
    if "goals" in content or "training" in content:
        yield PAIRWISE
    if "biases" in content:
        yield RANKING
        yield FALSE_DISCOVERIES
    if "ranking" in content:
        yield from (source for name, source in MODELS.items() if name == content.get("model"))
        yield BRADLEY_TERRY
    if "shared" in str(content.get("design", "")):
        yield DYADIC
    if content.get("rule") == "holm":
        yield MAX_T if content.get("correction") == "max-T" else HOLM
        yield EQUIVALENCE
    if content.get("rule") == "fdr":
        yield FALSE_DISCOVERIES
    if methods:
        yield f"Tests: {'; '.join(methods)}."


def _methods(content: Mapping[str, Any]) -> list[str]:
    tests = content.get("tests")
    found = [one.get("method") for one in tests if isinstance(one, Mapping)] if tests else []
    return [method for method in dict.fromkeys(found) if isinstance(method, str) and method]
