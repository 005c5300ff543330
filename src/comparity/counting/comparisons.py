"""Counts of judged pairs from tables: comparisons with an item table, or all in one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from comparity.counting._joined import Asked, count_joined
from comparity.counting._wide import count_rows, items_of_rows
from comparity.counting.engines import moved
from comparity.counting.outcomes import check_outcome_read
from comparity.counting.positions import DESIGNS, check_not_crossed, check_sensitive
from comparity.counts import PairCounts, SharedPairCounts
from comparity.errors import DesignUnknownError, OptionError
from comparity.tables import check_option, open_table, opened

__all__ = ["count_comparisons", "count_wide_comparisons"]

SIDES = ("better_", "worse_")
"""How the columns of a wide table begin that hold scores and groups."""


def count_comparisons(
    comparisons: Any,
    items: Any,
    *,
    better: str = "better",
    worse: str = "worse",
    evaluator: str | None = None,
    tied: str | None = None,
    item: str = "item",
    score: str,
    sensitive: Sequence[str],
    reference: str | None = None,
    continuous: bool = False,
    intersection: bool = False,
    design: str = "auto",
) -> dict[str, PairCounts | SharedPairCounts]:
    """Count judged pairs by cell and agreement, on the engine the tables live in.

    Parameters
    ----------
    comparisons : frame of any engine
        One row for each judgment, the better item first.
    items : frame of any engine
        One row for each item. Items of another engine travel to that of the comparisons.
    better, worse : str
        Columns of `comparisons` with item ids.
    evaluator : str, optional
        Column of `comparisons` that says who judged.
    tied : str, optional
        Column of `comparisons` that is true where the judge put neither item first.
    item : str
        Column of `items` with the id. Ids are compared as text where their types differ.
    score : str
        Column of `items` with the model's score.
    sensitive : sequence of str
        Columns of `items` with groups.
    reference : str, optional
        Column of `items` with a label or reference score; the counts keep it, and single pairs.
    continuous : bool
        Whether the sensitive columns are numbers; the cells then say whether the better item has
        the larger value.
    intersection : bool
        Whether to count the intersection of all sensitive columns too.
    design : {"auto", "fresh", "shared"}
        ``"auto"`` looks whether an item or an evaluator occurs in two judgments (tied ones do not
        count as use). ``"fresh"`` says that none does and keeps no ledger of pairs.

    Returns
    -------
    dict of str to PairCounts or SharedPairCounts
        One for each sensitive column. Counts of parts may be added if all were counted against
        the same items.

    Raises
    ------
    ComparityError
        Unknown items, self-comparisons, gaps, scores that are no numbers, duplicate ids, one group
        only, ...; the error names rows.

    Examples
    --------
    >>> import polars
    >>> judged = polars.DataFrame({"better": ["a", "d"], "worse": ["b", "c"]})
    >>> items = polars.DataFrame(
    ...     {"item": list("abcd"), "model": [0.9, 0.2, 0.4, 0.1], "sex": ["f", "m", "f", "m"]}
    ... )
    >>> counts = count_comparisons(judged, items, score="model", sensitive=["sex"])
    >>> {str(cell): tally.rate for cell, tally in counts["sex"].items()}
    {'f > m': 1.0, 'm > f': 0.0}
    """
    asked = _asked(
        sensitive,
        continuous=continuous,
        intersection=intersection,
        design=design,
        reference=reference or "",
    )
    optional = {"evaluator": evaluator, "tied": tied}
    columns = {"better": better, "worse": worse}
    columns |= {ours: name for ours, name in optional.items() if name is not None}
    judged = open_table(comparisons, "comparisons", columns)
    check_outcome_read(comparisons, first=better, second=worse, read=(evaluator, tied))
    measured = {"score": score} | ({"reference": reference} if reference else {})
    known = open_table(items, "items", {"item": item, **measured, **asked.groups})
    return count_joined(judged, moved(known, judged), asked)


def count_wide_comparisons(
    frame: Any,
    *,
    better: str | None = None,
    worse: str | None = None,
    evaluator: str | None = None,
    tied: str | None = None,
    score: str,
    sensitive: Sequence[str],
    reference: str | None = None,
    continuous: bool = False,
    intersection: bool = False,
    design: str = "auto",
) -> dict[str, PairCounts | SharedPairCounts]:
    """Count judged pairs whose rows carry the scores and groups of both items.

    For ``score="model"`` and ``sensitive=["sex"]`` the columns are ``better_model``,
    ``worse_model``, ``better_sex`` and ``worse_sex``.

    Parameters
    ----------
    frame : frame of any engine
        One row for each judgment.
    better, worse : str, optional
        Columns with item ids. Without them nobody can see whether items repeat, and `design`
        must be ``"fresh"``.
    evaluator, tied : str, optional
        As in :func:`count_comparisons`.
    score : str
        Score column, without its prefix.
    sensitive : sequence of str
        Group columns, without their prefix.
    reference : str, optional
        Column with a label or reference score, without its prefix.
    continuous, intersection, design
        As in :func:`count_comparisons`.

    Raises
    ------
    DesignUnknownError
        `design` is not ``"fresh"`` and there are no ids.
    InconsistentItemError
        An item has several scores or groups.
    ComparityError
        As in :func:`count_comparisons`.

    Examples
    --------
    >>> import polars
    >>> rows = {"better_model": [0.9, 0.1], "worse_model": [0.2, 0.4],
    ...         "better_sex": ["f", "m"], "worse_sex": ["m", "f"]}
    >>> counts = count_wide_comparisons(
    ...     polars.DataFrame(rows), score="model", sensitive=["sex"], design="fresh"
    ... )
    >>> {str(cell): tally.rate for cell, tally in counts["sex"].items()}
    {'f > m': 1.0, 'm > f': 0.0}
    """
    asked = _asked(
        sensitive,
        continuous=continuous,
        intersection=intersection,
        design=design,
        reference=reference or "",
    )
    if (better is None) != (worse is None):
        raise OptionError("better and worse", (better, worse), ["both columns", "neither"])
    if better is None and design != "fresh":
        raise DesignUnknownError(design)
    optional = {"better": better, "worse": worse, "evaluator": evaluator, "tied": tied}
    columns = {ours: name for ours, name in optional.items() if name is not None}
    for side in ("better", "worse"):
        columns[f"{side}_score"] = f"{side}_{score}"
        columns |= {f"{side}_reference": f"{side}_{reference}"} if reference else {}
        columns |= {f"{side}_{ours}": f"{side}_{name}" for ours, name in asked.groups.items()}
    table = open_table(frame, "comparisons", columns)
    if better is not None:
        # Each of these speaks of one of the two items.
        own = [c for c in opened(frame, "comparisons")[1] if str(c).startswith(SIDES)]
        check_outcome_read(frame, first=better, second=worse, read=(*columns.values(), *own))
    if design == "fresh":
        return dict(count_rows(table, asked))
    return count_joined(table, items_of_rows(table, asked), asked)


def _asked(
    sensitive: Sequence[str], *, continuous: bool, intersection: bool, design: str, reference: str
) -> Asked:
    check_option("design", design, DESIGNS)
    if reference and design == "fresh":
        why = "pairs can be weighted only where it is known which items they are made of"
        raise OptionError("design", design, ["'auto'", "'shared'"], why)
    check_sensitive(sensitive)
    if continuous:
        check_not_crossed(intersection)
    groups = {f"group{place}": name for place, name in enumerate(sensitive)}
    return Asked(
        groups=groups,
        continuous=continuous,
        intersection=intersection,
        design=design,
        reference=reference,
    )
