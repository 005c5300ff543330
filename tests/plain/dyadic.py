"""The dyadic variance by definition: a double loop over judgments."""

from collections.abc import Sequence


def variance(
    residuals: Sequence[float],
    items: Sequence[tuple[int, int]],
    evaluators: Sequence[object] | None = None,
) -> float:
    """Sum the products of residuals over judgments that share an item or an evaluator."""
    total = 0.0
    for p, one in enumerate(residuals):
        for q, two in enumerate(residuals):
            shares_item = bool(set(items[p]) & set(items[q]))
            shares_evaluator = evaluators is not None and evaluators[p] == evaluators[q]
            if shares_item or shares_evaluator:
                total += one * two
    return total
