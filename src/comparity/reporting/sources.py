"""Which papers a result rests on, so that a page can cite them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["sources_of"]

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
    return tuple(dict.fromkeys([*_cited(content), *_cited(content.get("after") or {})]))


def _cited(content: Mapping[str, Any]) -> Iterator[str]:
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
