"""Tables of judged pairs, made into counts on the engine they live in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from comparity.counts.clusters import Clustering
from comparity.counts.engine_sums import count_on_engine
from comparity.counts.judged_pairs import Codes, JudgedPairs
from comparity.counts.ledger import DESIGNS, Ledger, attributes_of, check_not_crossed, count_ledger
from comparity.counts.pairs import PairCounts
from comparity.counts.running_moments import RunningPairs
from comparity.counts.wide import (
    SIDES,
    Asked,
    count_fresh,
    count_rows,
    explain_joined,
    items_of_rows,
)
from comparity.errors import (
    DesignUnknownError,
    DuplicateItemError,
    EmptyTableError,
    OneClusterError,
    OptionError,
)
from comparity.tables.columns import (
    Table,
    check_columns,
    check_option,
    check_sensitive,
    offenders,
    open_table,
    with_keys,
    with_places,
)
from comparity.tables.frames import (
    Columns,
    collect_columns,
    move_items,
    n_rows,
    open_frame,
    stays_on_engine,
    text_of,
)
from comparity.tables.layouts import check_outcome_read

Counted = PairCounts | JudgedPairs | RunningPairs

MOST_COLLECTED = 10**6
"""More comparisons stay on their engine, which sums up what tests need of them."""

OF_ONE_ITEM = ("better_", "worse_")
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
    clusters: Mapping[str, str] | None = None,
    continuous: bool = False,
    intersection: bool = False,
    design: str = "auto",
    may_sum: bool = False,
) -> dict[str, Counted]:
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
    clusters : mapping of str to str, optional
        Columns of `comparisons` that say what else makes judgments dependent, such as the prompt,
        by what they are called.
    continuous : bool
        Whether the sensitive columns are numbers; the cells then say whether the better item has
        the larger value.
    intersection : bool
        Whether to count the intersection of all sensitive columns too.
    design : {"auto", "fresh", "shared"}
        ``"auto"`` looks whether an item, an evaluator or a cluster occurs in two judgments (tied
        ones do not count as use). ``"fresh"`` says that none does and keeps no ledger of pairs.
    may_sum : bool
        Whether sums will do where an engine holds over `MOST_COLLECTED` comparisons, which stay.

    Returns
    -------
    dict of str to PairCounts, JudgedPairs or RunningPairs
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
    kind = {"continuous": continuous, "intersection": intersection}
    asked = _what_is_asked(sensitive, design, reference or "", clusters or {}, **kind)
    optional = {"evaluator": evaluator, "tied": tied, **_columns_of(asked, clusters)}
    columns = {"better": better, "worse": worse}
    columns |= {ours: name for ours, name in optional.items() if name is not None}
    judged = open_table(comparisons, "comparisons", columns)
    check_outcome_read(comparisons, first=better, second=worse, read=optional.values())
    measured = {"score": score} | ({"reference": reference} if reference else {})
    known = open_table(items, "items", {"item": item, **measured, **asked.groups})
    return _count_joined(judged, move_items(known, judged), asked, may_sum=may_sum)


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
    clusters: Mapping[str, str] | None = None,
    continuous: bool = False,
    intersection: bool = False,
    design: str = "auto",
    may_sum: bool = False,
) -> dict[str, Counted]:
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
    clusters, continuous, intersection, design, may_sum
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
    kind = {"continuous": continuous, "intersection": intersection}
    asked = _what_is_asked(sensitive, design, reference or "", clusters or {}, **kind)
    if (better is None) != (worse is None):
        raise OptionError("better and worse", (better, worse), ["both columns", "neither"])
    if better is None and design != "fresh":
        raise DesignUnknownError(design)
    optional = {"better": better, "worse": worse, "evaluator": evaluator, "tied": tied}
    optional |= _columns_of(asked, clusters)
    columns = {ours: name for ours, name in optional.items() if name is not None}
    for side in ("better", "worse"):
        columns[f"{side}_score"] = f"{side}_{score}"
        columns |= {f"{side}_reference": f"{side}_{reference}"} if reference else {}
        columns |= {f"{side}_{ours}": f"{side}_{name}" for ours, name in asked.groups.items()}
    table = open_table(frame, "comparisons", columns)
    if better is not None:
        # Each of these speaks of one of the two items.
        own = [c for c in open_frame(frame, "comparisons")[1] if str(c).startswith(OF_ONE_ITEM)]
        check_outcome_read(frame, first=better, second=worse, read=(*columns.values(), *own))
    if design == "fresh":
        return dict(count_rows(table, asked))
    return _count_joined(table, items_of_rows(table, asked), asked, may_sum=may_sum)


def _what_is_asked(
    sensitive: Sequence[str],
    design: str,
    reference: str,
    clusters: Mapping[str, str],
    *,
    continuous: bool,
    intersection: bool,
) -> Asked:
    check_option("design", design, DESIGNS)
    if reference and design == "fresh":
        why = "pairs can be weighted only where it is known which items they are made of"
        raise OptionError("design", design, ["'auto'", "'shared'"], why)
    if clusters and design == "fresh":
        why = "judgments of one cluster are not independent, and are told apart by their items"
        raise OptionError("design", design, ["'auto'", "'shared'"], why)
    check_sensitive(sensitive)
    if continuous:
        check_not_crossed(intersection)
    groups = {f"group{place}": name for place, name in enumerate(sensitive)}
    return Asked(
        groups=groups,
        numbers=("score", "reference") if reference else ("score",),
        continuous=continuous,
        intersection=intersection,
        design=design,
        clusters={f"cluster{place}": name for place, name in enumerate(clusters)},
    )


def _columns_of(asked: Asked, clusters: Mapping[str, str] | None) -> dict[str, str]:
    return {ours: (clusters or {})[name] for ours, name in asked.clusters.items()}


def _count_joined(
    comparisons: Table, items: Table, asked: Asked, *, may_sum: bool
) -> dict[str, Counted]:
    """Count comparisons of items that have their own table, on one engine."""
    _check_items(items, asked)
    comparisons, items = with_keys(comparisons, items)
    if asked.design == "fresh":
        return dict(count_fresh(comparisons, items, asked))
    if may_sum and _is_summed(comparisons.frame, asked):
        list_pairs = partial(_list_pairs, comparisons, items, replace(asked, design="shared"))
        if (sums := count_on_engine(comparisons, items, asked, list_pairs)) is not None:
            return dict(sums)
    return dict(_list_pairs(comparisons, items, asked))


def _is_summed(comparisons: nw.LazyFrame[Any], asked: Asked) -> bool:
    """Return whether comparisons are many, and all that is asked of them are sums."""
    if asked.continuous or asked.clusters or "reference" in asked.numbers:
        return False
    # To count all rows of CSV would be to parse them.
    first = comparisons.head(MOST_COLLECTED + 1)
    return stays_on_engine(comparisons) and n_rows(first) > MOST_COLLECTED


def _list_pairs(
    comparisons: Table, items: Table, asked: Asked
) -> dict[str, PairCounts | JudgedPairs]:
    """Count comparisons pair by pair, in memory."""
    places, position = _place_items(items, asked)
    columns = {name: places[ours] for ours, name in asked.groups.items()}
    given = places["reference"].astype(np.float64) if "reference" in asked.numbers else None
    return count_ledger(
        _group_judgments(comparisons, items, position, asked),
        scores=places["score"].astype(np.float64),
        attributes=attributes_of(
            columns, continuous=asked.continuous, intersection=asked.intersection, table="items"
        ),
        design=asked.design,
        ids=places["key"].tolist(),
        reference=given,
    )


def _check_items(items: Table, asked: Asked) -> None:
    """Raise an error unless every item has one row, a finite score and its groups."""
    if asked.continuous:
        check_columns(items, numeric=[*asked.numbers, *asked.groups], names=["item"])
    else:
        check_columns(items, complete=asked.groups, numeric=asked.numbers, names=["item"])
    keyed = items.with_frame(items.frame.with_columns(items.text("item").alias("key")))
    sizes = keyed.frame.group_by("key").agg(nw.len().alias("n"))
    repeated = sizes.filter(nw.col("n") > 1).select("key")
    if n_rows(repeated):
        found = offenders(keyed, repeated, "key", how="semi")
        raise DuplicateItemError(items.columns["item"], found)


def _place_items(items: Table, asked: Asked) -> tuple[Columns, Codes]:
    """Bring the items to numpy, ordered by id as text, and say where the engine's order went."""
    frame = items.frame.with_row_index("place", order_by="key")
    measured = [items.number(name).alias(name) for name in asked.numbers]
    found = collect_columns(frame.with_columns(*measured))
    ids = [text_of(key) for key in found["key"].tolist()]
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    position = np.empty(len(ids), dtype=np.int64)
    position[found["place"].astype(np.int64)[order]] = np.arange(len(ids))
    places = {name: column[order] for name, column in found.items()}
    places["key"] = np.array(ids, dtype=object)[order]
    return places, position


def _group_judgments(comparisons: Table, items: Table, position: Codes, asked: Asked) -> Ledger:
    """Group the judgments by positions of items, evaluators and clusters, on the engine."""
    indexed = items.frame.with_row_index("place", order_by="key")
    frame = comparisons.frame
    for side in SIDES:
        named = indexed.select(
            nw.col("key").alias(f"{side}_key"), nw.col("place").alias(f"{side}_place")
        )
        frame = frame.join(named, on=f"{side}_key", how="left")
    keys = [nw.col(f"{side}_place").fill_null(-1).cast(nw.Int64) for side in SIDES]
    names: dict[str, tuple[str, ...]] = {}
    for shared in ("evaluator", *asked.clusters):
        if shared in comparisons.columns:
            frame, names[shared] = with_places(comparisons, frame, shared)
            keys.append(nw.col(f"{shared}_place").fill_null(-1).cast(nw.Int64))
    if "tied" in comparisons.columns:
        keys.append(comparisons.truth("tied").alias("tied"))
    chosen = frame.select(*keys)
    found = collect_columns(chosen.group_by(*chosen.columns).agg(nw.len().alias("n")))
    found = {name: column.astype(np.int64) for name, column in found.items()}
    if not len(found["n"]):
        raise EmptyTableError(comparisons.name)
    same = found["better_place"] == found["worse_place"]
    if same.any() or any((column < 0).any() for column in found.values()):
        explain_joined(comparisons, items)
    _check_clusters(comparisons, names, asked)
    return _split_ties(found, position, names, asked)


def _check_clusters(table: Table, names: Mapping[str, tuple[str, ...]], asked: Asked) -> None:
    """Refuse clusters without a name, and one that holds all."""
    for shared, name in asked.clusters.items():
        check_columns(table, names=[shared])
        if len(names[shared]) == 1:
            raise OneClusterError(name, names[shared][0])


def _split_ties(
    found: Columns, position: Codes, names: Mapping[str, tuple[str, ...]], asked: Asked
) -> Ledger:
    """Separate tied judgments from ordered ones, with items at their final positions."""
    better, worse = position[found["better_place"]], position[found["worse_place"]]
    tied = found["tied"] == 1 if "tied" in found else np.zeros(len(better), dtype=bool)
    shared: dict[str, Clustering] = {}
    for ours, known in names.items():
        # Who only ever tied has no part in any variance.
        used, codes = np.unique(found[f"{ours}_place"][~tied], return_inverse=True)
        shared[ours] = Clustering(codes, tuple(known[place] for place in used))
    evaluator, evaluators = shared.get("evaluator", (None, ()))
    return Ledger(
        better=better[~tied],
        worse=worse[~tied],
        trials=found["n"][~tied],
        evaluator=evaluator,
        evaluators=evaluators,
        clusters={name: shared[ours] for ours, name in asked.clusters.items()},
        tied_first=better[tied],
        tied_second=worse[tied],
        tied_trials=found["n"][tied],
        is_distinct=True,
    )
