"""Ranking a panel's comparisons from tables and files, by any of the models.

Which model, and what it is called on the command line:

``barp``
    scores freed of each evaluator's bias toward groups (:func:`comparity.barp`);
``bt``
    Bradley-Terry, every evaluator taken at their word (:func:`comparity.bradley_terry`);
``crowdbt``, ``factorbt``, ``rankcentrality``
    the other published ones (:func:`comparity.crowd_bt`, :func:`comparity.factor_bt`,
    :func:`comparity.rank_centrality`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity import __version__
from comparity.counts.decision_rows import check_sensitive
from comparity.errors import OptionError
from comparity.ranking.bradley_terry import bradley_terry_from_frames
from comparity.ranking.judgments import columns_of
from comparity.ranking.panel_result import PanelAudit, RankedPanel
from comparity.ranking.result import BiasedRanking, Ranking
from comparity.tables.columns import check_option
from comparity.tables.files import file_sha256, read_table
from comparity.tables.layouts import read_comparisons
from comparity.tables.values import group_codes, numbers

__all__ = ["MODELS", "rank_files", "rank_frames"]

MODELS = {
    "barp": "barp",
    "bt": "bradley_terry",
    "crowdbt": "crowd_bt",
    "factorbt": "factor_bt",
    "rankcentrality": "rank_centrality",
}
"""Module of each model by its name; loaded when it is asked for."""

NEED_GROUPS = ("barp", "factorbt")
NEED_EVALUATORS = ("barp", "crowdbt", "factorbt")
KNOW_SEATS = ("barp", "bt")


def rank_frames(
    comparisons: Any,
    items: Any = None,
    *,
    model: str = "barp",
    sensitive: Sequence[str] = (),
    evaluator: str | None = None,
    better: str = "better",
    worse: str = "worse",
    tied: str | None = None,
    seat: str | None = None,
    item: str = "item",
    score: str | None = None,
    alpha: float = 0.05,
    margin: float = 0.05,
    seed: int = 0,
    **choices: Any,
) -> RankedPanel:
    """Rank items from frames of any engine.

    Parameters
    ----------
    comparisons : frame
        One row for each comparison.
    items : frame, optional
        One row for each item, with its groups; needed by models that know groups.
    model : {"barp", "bt", "crowdbt", "factorbt", "rankcentrality"}
        How to rank.
    sensitive : sequence of str
        Columns of `items` with the groups.
    evaluator, better, worse, tied, seat : str
        Columns of `comparisons`.
    item : str
        Column of `items` with the id.
    score : str, optional
        Column of `items` with a model's score, to be audited against the panel freed of bias.
    alpha, margin : float
        As in :func:`comparity.separation`, for that audit.
    seed : int
        Of the folds of cross-validation, and of what that audit draws.
    **choices
        Further choices of the model's function.

    Raises
    ------
    ComparityError
        A column is missing or broken, or the model needs what was not given.
    """
    check_option("model", model, tuple(MODELS))
    if sensitive:
        check_sensitive(sensitive)
    _check_given(model, items, sensitive, evaluator, seat)
    columns: dict[str, Any] = {"better": better, "worse": worse, "tied": tied, "item": item}
    columns |= {"seat": seat} if model in KNOW_SEATS else {}
    known: dict[str, Any] = {"seed": seed} if model in KNOW_SEATS else {}
    known |= {"evaluator": evaluator} if model in NEED_EVALUATORS else {}
    known |= {"sensitive": list(sensitive)} if model in NEED_GROUPS else {}
    # At once, because a query asked twice may answer in another order.
    held = None if items is None else columns_of(items, "items", [item, *sensitive, score])
    ranking: Ranking = _fitter(model)(comparisons, held, **columns, **known, **choices)
    groups = {} if held is None else {name: _named_groups(held[name], name) for name in sensitive}
    before = None
    if model in NEED_GROUPS:
        before = bradley_terry_from_frames(comparisons, held, prior=_score_sd(ranking), **columns)
    audit = None
    if score is not None:
        audit = _audited(ranking, held, groups, score, alpha=alpha, margin=margin, seed=seed)
    return RankedPanel(ranking=ranking, before=before, groups=groups, audit=audit)


def _named_groups(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the group of each item as it is named everywhere; none is missing."""
    codes, names = group_codes(column, name, "items", several=False)
    return np.array(names, dtype=object)[codes]


def _score_sd(ranking: Ranking) -> float | None:
    """Return the SD of the prior of scores, with which others are on the same scale."""
    (sd,) = (prior.sd for prior in ranking.priors if prior.of == "scores")
    return None if math.isinf(sd) else sd


def _fitter(model: str) -> Callable[..., Ranking]:
    home = MODELS[model]
    found: Callable[..., Ranking] = getattr(
        import_module(f"comparity.ranking.{home}"), f"{home}_from_frames"
    )
    return found


def _audited(
    ranking: Ranking, held: Any, groups: dict[str, Any], score: str, **choices: Any
) -> PanelAudit:
    from comparity.ranking.panel import audit_against_panel

    if not isinstance(ranking, BiasedRanking) or len(groups) != 1:
        why = "a model is audited against a panel freed of its bias toward one kind of groups"
        raise OptionError("score", score, ["None", "barp with one sensitive column"], why)
    (group,) = groups.values()
    return audit_against_panel(
        ranking,
        numbers(held[score], score, "items"),
        sensitive_features=group,
        **choices,
    )


def _check_given(
    model: str, items: Any, sensitive: Sequence[str], evaluator: str | None, seat: str | None
) -> None:
    if model in NEED_GROUPS and items is None:
        raise OptionError("items", None, ["a table of items with their groups"], _needs(model))
    if model in NEED_GROUPS and not sensitive:
        raise OptionError("sensitive", None, ["a column of the items"], _needs(model))
    if model in NEED_EVALUATORS and evaluator is None:
        who = "the column of the comparisons with who judged, by evaluator="
        raise OptionError("evaluator", None, [who], _needs(model))
    if seat is not None and model not in KNOW_SEATS:
        raise OptionError("seat", seat, ["None"], f"{model} knows no seats; barp and bt do")


def _needs(model: str) -> str:
    return f"{model} needs it; bt and rankcentrality rank without"


def rank_files(
    comparisons: str | Path,
    items: str | Path | None = None,
    *,
    layout: str = "auto",
    better: str | None = None,
    worse: str | None = None,
    left: str | None = None,
    right: str | None = None,
    winner: str | None = None,
    evaluator: str | None = None,
    seats: bool = False,
    **choices: Any,
) -> RankedPanel:
    """Rank items from files.

    Parameters
    ----------
    comparisons : path
        One row for each comparison, in any layout of :mod:`comparity.tables.layouts`.
    items : path, optional
        One row for each item.
    layout, better, worse, left, right, winner, evaluator : str, optional
        How a comparison is written, where it cannot be recognised by its column names.
    seats : bool
        Whether to estimate what the left seat is worth, where the layout has sides.
    **choices
        As in :func:`rank_frames`.
    """
    sides: dict[str, Any] = {"left": left, "right": right, "winner": winner}
    read = read_comparisons(
        comparisons, layout=layout, better=better, worse=worse, evaluator=evaluator, **sides
    )
    if seats and not read.has_seats:
        raise OptionError("seats", read.layout, ["a layout with a left and a right item"])
    panel = rank_frames(
        read.frame,
        None if items is None else read_table(items),
        evaluator="evaluator" if read.has_evaluators else None,
        tied="tied",
        seat="seat" if seats else None,
        **choices,
    )
    paths = [path for path in (comparisons, items) if path is not None]
    return panel.with_provenance(
        version=__version__,
        layout=read.layout,
        columns=dict(read.columns),
        files=[{"name": Path(path).name, "sha256": file_sha256(path)} for path in paths],
        notes=list(read.notes),
    )
