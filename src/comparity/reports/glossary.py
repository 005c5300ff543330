"""What the words and signs of a page mean, and which papers a result rests on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from comparity.reports.sections import Section

__all__ = [
    "TERMS",
    "sources_of",
    "terms_in",
]


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
    "procedure, 1979. Gaps smaller than a margin: two one-sided tests, Schuirmann, 1987."
)


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
        yield HOLM
    if content.get("rule") == "fdr":
        yield FALSE_DISCOVERIES
    if methods:
        yield f"Tests: {'; '.join(methods)}."


def _methods(content: Mapping[str, Any]) -> list[str]:
    tests = content.get("tests")
    found = [one.get("method") for one in tests if isinstance(one, Mapping)] if tests else []
    return [method for method in dict.fromkeys(found) if isinstance(method, str) and method]
