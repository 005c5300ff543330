"""Counts of decisions from a table of items with labels, predictions and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from comparity.counting._values import crossed, factorised, group_codes
from comparity.counting.positions import check_sensitive, check_threshold, count_confusions
from comparity.counts import DecisionCounts
from comparity.errors import EmptyTableError
from comparity.tables import Table, check_columns, collected, open_table

__all__ = ["count_decisions"]


def count_decisions(
    frame: Any,
    *,
    label: str,
    prediction: str,
    sensitive: Sequence[str],
    positive: object = None,
    threshold: float | None = None,
    intersection: bool = False,
) -> dict[str, DecisionCounts]:
    """Count decisions by group, label and prediction, on the engine the table lives in.

    Parameters
    ----------
    frame : frame of any engine
        One row for each item.
    label, prediction : str
        Columns with 0 and 1, or true and false, as numbers or text.
    sensitive : sequence of str
        Columns with groups.
    positive : object, optional
        The positive value, where labels are other words.
    threshold : float, optional
        A prediction at or above it is positive.
    intersection : bool
        Whether to count the intersection of all sensitive columns too.

    Returns
    -------
    dict of str to DecisionCounts
        One for each sensitive column. Counts of parts may be added; a part with one group only
        is refused.

    Raises
    ------
    ComparityError
        A column is missing, has gaps, or holds what it should not; the error names rows.

    Examples
    --------
    >>> import polars
    >>> rows = {"hired": [1, 1, 0, 0], "model": [0.9, 0.4, 0.6, 0.2], "sex": ["f", "m", "f", "m"]}
    >>> counts = count_decisions(
    ...     polars.DataFrame(rows), label="hired", prediction="model", sensitive=["sex"],
    ...     threshold=0.5,
    ... )
    >>> counts["sex"]["f"].positives.rate, counts["sex"]["f"].negatives.rate
    (1.0, 1.0)
    """
    check_sensitive(sensitive)
    check_threshold(threshold)
    groups = {f"group{place}": name for place, name in enumerate(sensitive)}
    columns = {"label": label, "prediction": prediction, **groups}
    table = open_table(frame, "decisions", columns)
    rows = table.frame
    if threshold is not None:
        cut = table.number("prediction")
        usable = cut.is_finite() & ~table.missing("prediction")
        above = nw.when(cut >= threshold).then(nw.lit(1)).otherwise(nw.lit(0))
        rows = rows.with_columns(
            nw.when(usable).then(above).otherwise(nw.lit(-1)).alias("prediction")
        )
    found = collected(rows.group_by(*columns).agg(nw.len().alias("n")))
    if not len(found["n"]):
        raise EmptyTableError("decisions")
    _check_found(table, found, cut=threshold is not None)
    coded = {name: group_codes(found[ours], name, "decisions") for ours, name in groups.items()}
    return count_confusions(
        found["label"],
        found["prediction"] == 1 if threshold is not None else found["prediction"],
        names=(label, prediction),
        groups=crossed(coded, intersection=intersection),
        positive=positive,
        cut=threshold is not None,
        weights=found["n"].astype(np.int64),
        table="decisions",
    )


def _check_found(table: Table, found: dict[str, Any], *, cut: bool) -> None:
    """Look for gaps among the few distinct rows; only if there are any, look for their rows."""
    broken = any((factorised(found[name])[0] < 0).any() for name in table.columns)
    if broken or (cut and (found["prediction"] == -1).any()):
        numeric = ["prediction"] if cut else []
        check_columns(table, complete=table.columns, numeric=numeric)
