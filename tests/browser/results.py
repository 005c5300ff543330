"""Pages of every command, and results at the edge of what a page can hold."""

from typing import Any

import numpy as np

from comparity import barp, exposure, fair_topk, pairwise_accuracy, separation

__all__ = ["extremes"]

RNG = np.random.default_rng(5)
N = 600
LONG = "a judge with a name that is " + "very " * 40 + "long"
JUDGES = np.array([f"judge {k} of <all>" for k in range(60)] + [LONG, "\u05e9\u05d5\u05e4\u05d8"])
PAIRS = np.array([RNG.choice(N, 2, replace=False) for _ in range(1000)])
LABEL = RNG.integers(0, 2, N)
SCORE = LABEL + RNG.normal(size=N)


def extremes() -> dict[str, Any]:
    """Return results with many groups, long names, many evaluators, or only one."""
    many = np.array([f"group number {k} of the census" for k in range(12)])[np.arange(N) % 12]
    two = np.where(np.arange(N) % 2, "people who moved here " * 4, "<b>others\x1b")
    decided = (SCORE > 0.5).astype(int)
    judged = JUDGES[RNG.integers(0, len(JUDGES), len(PAIRS))]
    return {
        "many_groups": separation(LABEL, decided, sensitive_features=many),
        "many_kinds_of_pairs": pairwise_accuracy(LABEL, SCORE, sensitive_features=many),
        "long_names": pairwise_accuracy(LABEL, SCORE, sensitive_features=two),
        "many_judges": barp(PAIRS, evaluators=judged, sensitive_features=two),
        "one_judge": barp(PAIRS, evaluators=np.full(1000, "only"), sensitive_features=two),
        "exposure": exposure(SCORE, sensitive_features=many),
        "top_k": fair_topk(SCORE, sensitive_features=two, protected="<b>others\x1b", k=20, p=0.5),
    }
