"""Whether pairwise accuracies and mutual information agree about separation in regression.

The open question of Xi et al. ("Comparative Separation"), asked on the regressions of Table 2: for
each model the gap of the two accuracies across groups, raw and standardised to one law of labels,
beside what predictions tell about the group that labels do not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from real import regressions
from tasks import Task

from comparity import pairwise_accuracy
from comparity.cli.published import Conclusion, Reproduction, Request
from comparity.cli.reproduce import read_published, track_progress
from comparity.separation.information import information_separation

__all__ = ["separation"]

PUBLISHED = read_published(Path(__file__).parent)
PERMUTATIONS = 99
ALPHA = 0.05


def separation(request: Request) -> Reproduction:
    """Put both measures side by side for every model, on one split of each data set."""
    rows: dict[str, dict[str, float | str]] = {}
    for data in ("Law", "Crime"):
        fitted = regressions(request.home(), data, 1, request.seed)
        for name, ((_, model, test),) in track_progress(
            list(fitted.items()), f"{data}, separation"
        ):
            rows[f"{data}, {name}"] = measured(test, model.predict(test.features), request.seed)
    return PUBLISHED.reproduction(
        "separation",
        PUBLISHED.beside("separation", rows),
        conclusions=_conclusions(rows),
        notes=(
            "Gaps are A(first over second) minus A(second over first), on the test quarter, by the "
            "best single model; p values are not corrected.",
            "In Crime the groups are communities with at most, and above, the 70th percentile of "
            "the share of black people.",
            f"Information in thousandths of a nat, with splines and {PERMUTATIONS} permutations.",
        ),
        options={"seed": request.seed},
    )


def _conclusions(rows: dict[str, dict[str, float | str]]) -> tuple[Conclusion, ...]:
    lower = {
        data: [
            float(row["raw gap"]) - float(row["standardised gap"])
            for name, row in rows.items()
            if name.startswith(data)
        ]
        for data in ("Law", "Crime")
    }
    return (
        Conclusion(
            "Law School, where grades of men and women are much alike: raw and standardised gaps "
            f"are within 0.03 of each other ({max(map(abs, lower['Law'])):.3f}).",
            max(map(abs, lower["Law"])) <= 0.03,
        ),
        Conclusion(
            "Crime, where rates are not: standardised gaps are at least 0.1 below raw ones "
            f"({min(lower['Crime']):.3f}), so that equal raw accuracies are a lean the other way.",
            min(lower["Crime"]) >= 0.1,
        ),
    )


def measured(test: Task, predicted: NDArray[np.float64], seed: int) -> dict[str, float | str]:
    """Return gaps across groups, raw and standardised, and the information, each with p."""
    group = groups_of(test)
    pairs = pairwise_accuracy(
        test.label, predicted, sensitive_features=group, notions=("cross-group",)
    )
    told = information_separation(
        test.label,
        predicted,
        sensitive_features=group,
        curves="spline",
        permutations=PERMUTATIONS,
        rng=seed,
    )
    found: dict[str, float | str] = {}
    for kind, audit in (("raw", pairs.raw), ("standardised", pairs.standardised)):
        cross = audit.tests[0]
        found |= {f"{kind} gap": float(cross.gap), f"{kind} p": float(cross.p_value)}
        found[f"{kind} rejects"] = _word(cross.p_value)
    found["information"] = 1000 * told.information
    found["by chance"] = 1000 * told.by_chance
    found["information p"] = told.p_value
    found["information rejects"] = _word(told.p_value)
    return found


def _word(p_value: float) -> str:
    return "yes" if p_value <= ALPHA else "no"


def groups_of(test: Task) -> NDArray[Any]:
    """Return the groups, or two of them by the 70th percentile of a number."""
    if not test.continuous:
        return test.sensitive
    high = test.sensitive > np.quantile(test.sensitive, 0.7)
    return np.where(high, "above", "up to")
