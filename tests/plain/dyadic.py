"""The dyadic variance by definition: a double loop over judgments."""

from collections.abc import Sequence


def variance(
    residuals: Sequence[float],
    items: Sequence[tuple[int, int]],
    evaluators: Sequence[object] | None = None,
    clusters: Sequence[Sequence[object]] = (),
) -> float:
    """Sum the products of residuals over judgments that share anything."""
    kinds = [*clusters, *([] if evaluators is None else [evaluators])]
    total = 0.0
    for p, one in enumerate(residuals):
        for q, two in enumerate(residuals):
            shares_item = bool(set(items[p]) & set(items[q]))
            if shares_item or any(kind[p] == kind[q] for kind in kinds):
                total += one * two
    return total
