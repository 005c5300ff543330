"""Table 1, Tables 4 and 5, and RQ1: what metrics say about seven data sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from folds import (
    PUBLISHED,
    SEVEN,
    Values,
    data_folds,
    medians,
    model_folds,
    outside_percent,
)

from comparity.cli.published import Conclusion, Reproduction, Request
from comparity.cli.reproduce import track_progress
from comparity.counts.decisions import GroupedDecisions
from comparity.metrics.catalogue import CATALOGUE
from comparity.metrics.comparison import metric_values
from comparity.metrics.metric_clusters import cluster_agreement, published_partition

CELLS = [[[48, 12], [20, 30]], [[55, 20], [15, 60]]]
"""Group (unprivileged, privileged), label, prediction: the table that AIF360 was given."""
WIDTHS = (0.02, 0.05, 0.1, 0.15, 0.2)
"""Half the width of a range around 0; around 1 it is twice as wide, as published."""
ROUNDING = 1e-9
"""A median on the edge of its range, up to rounding in the machine, is inside."""
WHY = {
    "adult": "not known; perhaps another version of the solver",
    "bank": "not known; perhaps another version of the solver",
    "titanic": "which of equally near neighbours are taken",
}
"""Why medians differ, where they do."""
WHY_OTHER = "see the notes"


def table_1(request: Request) -> Reproduction:
    """Compute every metric of a fixed table."""
    contrast = GroupedDecisions(np.array(CELLS, dtype=np.float64), np.array([False, True]))
    found = metric_values(contrast)
    ours = {number: {"value": float(value)} for number, value in found.items()}
    rows = PUBLISHED.beside("table 1", ours, tolerance=1e-9)
    return PUBLISHED.reproduction(
        "table 1",
        rows,
        conclusions=(
            Conclusion("all 29 metrics of counts equal AIF360's", all(row.matches for row in rows)),
        ),
    )


def table_4(request: Request) -> Reproduction:
    """Return medians of metrics of models, and how many are outside their range."""
    return _medians("table 4", _values(request, model_folds, "fitting"))


def table_5(request: Request) -> Reproduction:
    """Return medians of metrics of data, and how many are outside their range."""
    return _medians("table 5", _values(request, data_folds, "looking for neighbours"))


def rq1(request: Request) -> Reproduction:
    """Put the shares of both tables in order."""
    tables = _values(request, model_folds, "fitting"), _values(request, data_folds, "neighbours")
    shares = sorted(outside_percent(medians(v)) for found in tables for v in found.values())
    ours = {f"share {place} of 14": {"%": share} for place, share in enumerate(shares, 1)}
    ours["median"] = {"%": float(np.median(shares))}
    # One metric of 26 is 3.8 %.
    why = dict.fromkeys(ours, "so by the authors' stored medians, too")
    rows = PUBLISHED.beside("RQ1", ours, tolerance=0.5, why=why)
    mixed = sum(0 < share < 100 for share in shares)
    return PUBLISHED.reproduction(
        "RQ1",
        rows,
        conclusions=(Conclusion("metrics disagree about most data sets", mixed > len(shares) / 2),),
        notes=(
            "Published is the list in the text. The medians stored with the authors' package give "
            "the shares that stand in Tables 4 and 5 here, one or two metrics away from it.",
        ),
    )


def other_ranges(request: Request) -> Reproduction:
    """Count metrics outside ranges that are narrower or wider than the published ones."""
    found = [medians(values) for values in _values(request, model_folds, "fitting").values()]
    ours = {
        f"±{width:g} around 0, ±{2 * width:g} around 1": {
            "median share outside, %": float(np.median([_outside(one, width) for one in found])),
            "largest share outside, %": max(_outside(one, width) for one in found),
            "clusters that agree wholly": _agreeing(found, width),
        }
        for width in WIDTHS
    }
    shares = [row["median share outside, %"] for row in ours.values()]
    return PUBLISHED.reproduction(
        "other ranges",
        PUBLISHED.beside("other ranges", ours, tolerance=0.5, why=dict.fromkeys(ours, WHY_OTHER)),
        conclusions=(
            Conclusion(
                "whatever the range, metrics disagree about most data sets (a fifth or more in and "
                "out)",
                all(20 <= share <= 80 for share in shares),
            ),
        ),
        notes=(
            "Medians over the authors' folds, 26 metrics of models, median of 7 data sets.",
            "An independent computation has 85 for the narrowest range, which is the largest share "
            "here (COMPAS and Heart), and the same as ours for the other four. Of 16 rules (edges "
            "in or out, values rounded or not, ranges around 1 as wide or twice as wide, medians "
            "or means of folds) none gives 85 and the other four.",
            "It also has six clusters that agree wholly where five do here: with seven data sets "
            "the median share of a cluster is 1 or not by one verdict.",
        ),
    )


def _outside(found: dict[str, float], width: float) -> float:
    """Return the share of metrics further from their ideal value than a width, in percent."""
    return 100 * float(np.mean([not inside for inside in _inside(found, width).values()]))


def _inside(found: dict[str, float], width: float) -> dict[str, bool]:
    """Say of each metric whether it is at most a width from its ideal value."""
    return {
        number: abs(round(value, 2) - CATALOGUE[number].ideal)
        <= width * (1 + CATALOGUE[number].ideal) + ROUNDING
        for number, value in found.items()
    }


def _agreeing(found: list[dict[str, float]], width: float) -> int:
    """Count clusters all of whose metrics say the same, in the median over data sets."""
    clusters = published_partition(found[0])
    shares = [cluster_agreement(_inside(one, width), clusters) for one in found]
    return sum(float(np.median([one[name] for one in shares])) == 1 for name in shares[0])


def _values(
    request: Request, folds: Callable[[Path, str, str], Values], doing: str
) -> dict[str, Values]:
    home = request.home()
    return {name: folds(home, name, "plain") for name in track_progress(list(SEVEN), doing)}


def _medians(part: str, found: dict[str, Values]) -> Reproduction:
    ours = {}
    for name, values in found.items():
        middle = medians(values)
        # The stored medians are rounded, and so are shares.
        ours[name] = {**middle, "outside, %": float(round(outside_percent(middle)))}
    rows = PUBLISHED.beside(part, ours, tolerance=0.0051, why=WHY)
    shares = [row for row in rows if row.column == "outside, %"]
    return PUBLISHED.reproduction(
        part,
        rows,
        conclusions=(
            Conclusion(
                "as many metrics are outside their range on every data set",
                all(row.matches for row in shares),
            ),
        ),
        notes=(
            "The authors' folds: five, unshuffled, not 25. Adult is both parts of UCI.",
            "False omission and discovery rates of nobody are 0, as in the AIF360 of the authors.",
            "Coefficients of variation (C20, C22, C24) as 2 sqrt(GE_2), like the stored ones.",
        ),
    )
