"""What is shown of a mixture of rankings."""

from __future__ import annotations

from comparity.policies import RankingPolicy
from comparity.reporting.formats import count, visible
from comparity.reporting.grids import Grid
from comparity.reporting.sections import Section

__all__ = ["section"]

# So many rankings and places are shown; all are in to_dict().
RANKINGS, PLACES = 8, 12


def section(result: RankingPolicy) -> Section:
    """Return what is shown of a mixture of rankings."""
    many = count(len(result.probabilities))
    kept = 100 * result.utility / result.best_utility if result.best_utility else 100.0
    groups = tuple(
        (visible(group), f"{result.exposure[group]:.4f}", f"{term:.4f}")
        for group, term in result.terms.items()
    )
    shown = [
        (f"{share:.4f}", ", ".join(str(item) for item in ranking[:PLACES].tolist()))
        for share, ranking in zip(result.probabilities, result.rankings, strict=True)
    ]
    return Section(
        headline=f"A mixture of {many} rankings: {result.criterion}",
        sentences=(
            f"Expected utility {result.utility:.4f}, {kept:.1f} % of the order by relevance.",
            f"Largest difference between groups {result.difference:.4g}, "
            f"allowed {result.slack:.4g}; {count(result.rankings.shape[1])} items.",
        ),
        grids=(
            Grid(title="Groups", header=("group", "mean exposure", "compared"), rows=groups),
            Grid(
                title="Rankings, by row of the items from 0",
                header=("probability", "best first"),
                rows=tuple(shown[:RANKINGS]),
            ),
        ),
    )
