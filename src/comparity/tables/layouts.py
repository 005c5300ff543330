"""Comparison tables in common layouts, converted to better item first.

========================  =============================  =====================================
layout                    columns                        who won
========================  =============================  =====================================
``"better, worse"``       better, worse                  the first column
``"winner, loser"``       winner, loser                  the first column
``"chosen, rejected"``    chosen, rejected               the first column (preference data)
``"arena"``               model_a, model_b, winner       model_a, model_b, tie, tie (bothbad)
``"left, right, winner"`` left, right, winner            left, right, tie, or the winner's id
``"crowd"``               left, right, label             the same
``"label studio"``        text1, text2, pw or pairwise   left or right
========================  =============================  =====================================

Who judged is looked for under the names evaluator, judge, worker, annotator, rater, performer,
completed_by and user.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from comparity.errors import (
    NonBinaryError,
    Option,
    OptionError,
    UnknownLayoutError,
)
from comparity.tables.columns import Table, check_columns, offenders, open_table
from comparity.tables.complete import EVALUATOR_COLUMNS
from comparity.tables.files import read_table
from comparity.tables.frames import open_frame
from comparity.tables.outcomes import (
    HOW,
    PROBABILITY,
    explain_winners,
    is_label_studio,
    leave_out_chosen,
    read_label_studio,
    refuse_contradictions,
    says_how,
    winning_side,
)


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of the columns of one way to write comparisons."""

    name: str
    first: str
    second: str
    winner: str | None = None

    def columns(self) -> tuple[str, ...]:
        """Return the columns this layout needs."""
        return (self.first, self.second, *([self.winner] if self.winner else []))


LAYOUTS = (
    Layout("better, worse", "better", "worse"),
    Layout("winner, loser", "winner", "loser"),
    Layout("chosen, rejected", "chosen", "rejected"),
    Layout("arena", "model_a", "model_b", "winner"),
    Layout("left, right, winner", "left", "right", "winner"),
    Layout("crowd", "left", "right", "label"),
    Layout("label studio", "text1", "text2", "pw"),
    Layout("label studio", "text1", "text2", "pairwise"),
)
OUTCOMES = (
    *("winner", "win", "won", "outcome", "result", "preference", "preferred", "pref", "choice"),
    *("choose", "chosen", "selected", "selection", "pick", "picked", "vote", "voted", "verdict"),
    *("decision", "judgment", "judgement", "label", "pw", "pairwise", "better", "best"),
)
WINNERS = ("winner", "preferred", "preference")
"""What a name begins with that speaks of the outcome whatever follows."""

TELLING = (
    *("better", "best", "worse", "worst", "winner", "loser", "win", "won", "lost"),
    *("chosen", "rejected", "preferred", "dispreferred", "unpreferred"),
)
SIDES = (*TELLING, "left", "right", "first", "second", "a", "b", "1", "2")
"""Words in the names of columns that speak of one of the two items alone."""

JSON_ENDINGS = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonTable:
    """Comparisons, better item first.

    Attributes
    ----------
    frame : frame of the engine that was given
        Columns ``better``, ``worse``, ``tied`` (true or false) and, where they are known,
        ``seat`` (1 where the better item stood on the left, -1 on the right) and ``evaluator``.
        The items of a tied row are in the order they were given.
    layout : str
        The layout that was recognised.
    has_evaluators, has_seats : bool
        Whether there are columns ``evaluator`` and ``seat``.
    columns : mapping of str to str
        Which column was read as what.
    notes : tuple of str
        What was left out while reading, if anything.
    has_probabilities : bool
        Whether pairs that were left out carry the probability with which they were chosen.
    """

    frame: Any
    layout: str
    has_evaluators: bool
    has_seats: bool
    columns: Mapping[str, str]
    notes: tuple[str, ...] = ()
    has_probabilities: bool = False


def to_comparisons(
    frame: Any,
    *,
    layout: str = "auto",
    better: str | None = None,
    worse: str | None = None,
    left: str | None = None,
    right: str | None = None,
    winner: str | None = None,
    evaluator: str | None = None,
    tied: str | None = None,
    kept: Sequence[str] = (),
    random_only: bool = False,
) -> ComparisonTable:
    """Turn a comparison table of any known layout better item first.

    Parameters
    ----------
    frame : frame of any engine
    layout : str
        ``"auto"`` or the name of a layout (see above).
    better, worse : str, optional
        Columns with the better and the worse item, if they have other names.
    left, right, winner : str, optional
        Columns with the two items and the winner, if they have other names.
    evaluator : str, optional
        Column that says who judged, if it has another name.
    tied : str, optional
        Column that is true where neither item was put first, beside `better` and `worse`.
    kept : sequence of str
        Further columns, which the answer has as ``kept0``, ``kept1``, ...
    random_only : bool
        Leave out judgments of pairs that ``choose_pairs`` chose by earlier answers, and say so.

    Raises
    ------
    UnknownLayoutError
        No layout fits the columns.
    UnreadOutcomeError
        `better` and `worse` are given, and a column that is not read seems to say who won
        (:mod:`comparity.tables.outcomes`).
    UnknownWinnerError
        The winner is neither of the two items nor a word for a side or a tie.
    ComparityError
        A column is missing or has gaps.

    Examples
    --------
    >>> import polars
    >>> battles = polars.DataFrame(
    ...     {"model_a": ["x", "y"], "model_b": ["y", "z"], "winner": ["model_b", "tie"]}
    ... )
    >>> table = to_comparisons(battles)
    >>> table.layout, table.frame.rows()
    ('arena', [('y', 'x', False, -1), ('y', 'z', True, 1)])
    """
    given, known = open_frame(frame, "comparisons")
    named = _find_layout(
        known, layout, better=better, worse=worse, left=left, right=right, winner=winner
    )
    if tied and named.winner:
        why = f"ties are read from column {named.winner!r}, which says who won"
        raise OptionError("tied", tied, ["None", "the columns of the better and worse item"], why)
    columns = {"first": named.first, "second": named.second}
    extra = {
        "winner": named.winner,
        "evaluator": evaluator or next((name for name in EVALUATOR_COLUMNS if name in known), None),
        "tied": tied or ("tied" if named.winner is None and "tied" in known else None),
    }
    columns |= {ours: name for ours, name in extra.items() if name is not None}
    free = {*known} - {*kept}
    chosen = [HOW] if random_only and HOW in free and says_how(given, free) else []
    columns |= {f"kept{place}": name for place, name in enumerate([*kept, *chosen])}
    if named.winner is None:
        read = (columns.get("evaluator"), columns.get("tied"), *kept)
        check_outcome_read(frame, first=named.first, second=named.second, read=read)
    table = open_table(frame, "comparisons", columns)
    check_columns(table, complete=columns, names=("first", "second"))
    turned, note = _put_better_first(table), ""
    if chosen:
        turned, note = leave_out_chosen(turned, f"kept{len(kept)}")
    result = turned.collect() if isinstance(given, nw.DataFrame) else turned
    return ComparisonTable(
        frame=result if given is frame else result.to_native(),
        layout=named.name,
        has_evaluators="evaluator" in columns,
        has_seats="winner" in columns,
        columns=columns,
        notes=(note,) if note else (),
        has_probabilities=bool(note) and PROBABILITY in known,
    )


def _find_layout(
    known: Sequence[str],
    layout: str,
    *,
    better: str | None,
    worse: str | None,
    left: str | None,
    right: str | None,
    winner: str | None,
) -> Layout:
    """Find the layout and put in the columns the caller named."""
    names = ["auto", *dict.fromkeys(option.name for option in LAYOUTS)]
    if layout not in names:
        raise OptionError("layout", layout, [repr(name) for name in names])
    if better or worse:
        _check_one_way(layout, left=left, right=right, winner=winner)
        return Layout("better, worse", better or "better", worse or "worse")
    if left or right or winner:
        name = "left, right, winner" if layout == "auto" else layout
        return Layout(name, left or "left", right or "right", winner or "winner")
    fitting = [option for option in LAYOUTS if layout in ("auto", option.name)]
    for option in fitting:
        if set(option.columns()) <= set(known):
            return option
    raise UnknownLayoutError(known, [", ".join(option.columns()) for option in fitting])


UNNAMED = ("neither {} nor {}", Option("better"), Option("worse"))


def _check_one_way(layout: str, **sides: str | None) -> None:
    """Refuse columns of the better and worse item beside a column that says who won."""
    for option, column in sides.items():
        if column:
            why = "better= and worse= say already who won in every row"
            raise OptionError(option, column, ["None", UNNAMED], why)
    if any(option.winner for option in LAYOUTS if option.name == layout):
        why = "in that layout a column says who won, and better= and worse= say so in every row"
        raise OptionError("layout", layout, ["'auto'", UNNAMED], why)


def _put_better_first(table: Table) -> nw.LazyFrame[Any]:
    """Put the better item first."""
    extra = [nw.col(name) for name in table.columns if name.startswith(("evaluator", "kept"))]
    alike = table.schema["first"] == table.schema["second"]
    first, second = (nw.col(name) if alike else table.text(name) for name in ("first", "second"))
    if "winner" not in table.columns:
        return table.frame.select(
            first.alias("better"), second.alias("worse"), _read_ties(table).alias("tied"), *extra
        )
    side = winning_side(table)
    if offenders(table, side.is_in(["unknown", "two ways"]), "winner").count:
        explain_winners(table, side)
    turned = side == "right"
    return table.frame.select(
        nw.when(turned).then(second).otherwise(first).alias("better"),
        nw.when(turned).then(first).otherwise(second).alias("worse"),
        (side == "tie").alias("tied"),
        nw.when(turned).then(nw.lit(-1)).otherwise(nw.lit(1)).alias("seat"),
        *extra,
    )


def _read_ties(table: Table) -> nw.Expr:
    if "tied" not in table.columns:
        return nw.lit(False)
    broken = offenders(table, table.truth("tied") == -1, "tied")
    if broken.count:
        raise NonBinaryError(table.columns["tied"], broken.values, role="tied")
    return table.truth("tied") == 1


def read_comparisons(
    path: str | os.PathLike[str],
    *,
    layout: str = "auto",
    allow_remote: bool = False,
    kept: Sequence[str] = (),
    random_only: bool = False,
    **columns: str | None,
) -> ComparisonTable:
    """Read a file of comparisons of any known layout, Label Studio's nested JSON included.

    Parameters
    ----------
    path : path
    layout : str
        As in :func:`to_comparisons`.
    allow_remote : bool
        As in :func:`comparity.tables.files.read_table`.
    kept, random_only
        As in :func:`to_comparisons`.
    **columns : str
        Column names, as in :func:`to_comparisons`.
    """
    may_be_nested = layout in ("auto", "label studio") and _is_json(path)
    if may_be_nested and is_label_studio(path):
        frame, notes = read_label_studio(path, left=columns.get("left"), right=columns.get("right"))
        table = to_comparisons(frame, kept=kept)
        return ComparisonTable(
            frame=table.frame,
            layout="label studio",
            has_evaluators=True,
            has_seats=True,
            columns=table.columns,
            notes=notes,
        )
    frame = read_table(path, allow_remote=allow_remote)
    return to_comparisons(frame, layout=layout, kept=kept, random_only=random_only, **columns)


def _is_json(path: str | os.PathLike[str]) -> bool:
    return os.fspath(path).lower().removesuffix(".gz").endswith(JSON_ENDINGS)


def check_outcome_read(
    native: Any, *, first: Any, second: Any, read: Iterable[str | None] = ()
) -> None:
    """Refuse a table of comparisons if a column that nobody reads says who won.

    Parameters
    ----------
    native : frame of any engine
        The comparisons.
    first, second : str
        Columns read as the better and the worse item.
    read : iterable of str or None
        Further columns that are read: the evaluator, ties, seats.

    Raises
    ------
    UnreadOutcomeError
        As the top of :mod:`comparity.tables.outcomes` says.
    """
    _, known = open_frame(native, "comparisons")
    if first not in known or second not in known:
        return  # Whoever reads the table says which column is missing.
    telling = any(word in TELLING for name in (first, second) for word in name_words(name))
    unread = [name for name in known if name not in {first, second, *read}]
    called = [name for name in unread if is_called_outcome(name)]
    suspects = called if telling else unread
    if not suspects:
        return
    refuse_contradictions(
        native, suspects, first=first, second=second, called=called, telling=telling
    )


def is_called_outcome(column: object) -> bool:
    """Return whether the name of a column speaks of the outcome of a comparison.

    Examples
    --------
    >>> [is_called_outcome(name) for name in ("preference", "HumanLabel", "winner_model_a")]
    [True, True, True]
    >>> [is_called_outcome(name) for name in ("better_label", "label_time", "score", "judge")]
    [False, False, False, False]
    """
    words = name_words(column)
    if not words:
        return False
    # A label of the better item says nothing about who won.
    of_one_item = any(word in SIDES for word in words[:-1])
    return words[0] in WINNERS or (words[-1] in OUTCOMES and not of_one_item)


def name_words(column: object) -> list[str]:
    """Return the words that the name of a column is made of.

    Examples
    --------
    >>> name_words("item_1"), name_words("winnerName"), name_words("Better ID")
    (['item', '1'], ['winner', 'name'], ['better', 'id'])
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(column))
    return re.findall(r"[^\W_]+", parted.lower())
