"""Rankings, read back from the JSON that ``--json`` printed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.ranking.fits import (
    Diagnosis,
    Effect,
    GroupContrast,
    Prior,
    ScoreDependence,
    Suggestion,
)
from comparity.ranking.panel_result import RankedPanel
from comparity.ranking.result import BiasedRanking, Ranking
from comparity.reports.recorded import (
    array,
    mapping,
    number,
    panel_of,
    sequence,
    text,
    texts,
    whole,
)

__all__ = ["ranking_of"]

Content = Mapping[str, Any]
Ints = NDArray[np.int64]

LEVEL = 0.95
EMPTY: Ints = np.empty(0, dtype=np.int64)
BIASES = {
    "bias": "bias",
    "bias_standard_errors": "standard_error",
    "z": "z",
    "p": "p_value",
    "q": "q_value",
    "cautious_standard_errors": "cautious_standard_error",
    "cautious_q": "cautious_q_value",
    "centred_bias": "centred_bias",
    "centred_standard_errors": "centred_standard_error",
}
"""Arrays of biases, by the name their numbers have in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedDiagnosis(Diagnosis):
    """A diagnosis of which only what was written down can be asked."""

    content: Content

    @property
    def n_components(self) -> int:
        """How many parts of the items are never compared with each other."""
        return whole(self.content["n_components"])

    @property
    def n_strong_components(self) -> int:
        """How many parts lose against each other in one direction only, or not at all."""
        return whole(self.content["n_strong_components"])

    def to_dict(self) -> dict[str, Any]:
        """Return what was written down."""
        return dict(self.content)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedRanking(Ranking):
    """A ranking with the ranges of ranks that were written down."""

    recorded: Ints

    def rank_intervals(self, level: float = LEVEL) -> Ints:
        """Return the ranks that were written down, at their level."""
        return self.recorded if level == LEVEL else Ranking.rank_intervals(self, level)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedBiases(BiasedRanking):
    """A ranking with biases, with the ranges of ranks that were written down."""

    recorded: Ints

    def rank_intervals(self, level: float = LEVEL) -> Ints:
        """Return the ranks that were written down, at their level."""
        return self.recorded if level == LEVEL else Ranking.rank_intervals(self, level)


def ranking_of(content: Content) -> Ranking | RankedPanel:
    """Return a ranking, or a panel's, from its JSON."""
    rows = _in_order(content)
    facts = _facts(content, rows)
    ranking: Ranking
    if "biases" in content:
        ranking = RecordedBiases(**facts, **_biases(content, facts["evaluators"]))
    else:
        ranking = RecordedRanking(**facts)
    if "mean_scores" not in content:
        return ranking
    audit = content["audit"]
    return RankedPanel(
        ranking=ranking,
        before=_before(ranking, rows),
        groups=_groups(rows),
        audit=None if audit is None else panel_of(mapping(audit)),
    )


def _in_order(content: Content) -> list[Content]:
    """Return the rows of items by position."""
    rows = sorted(
        map(mapping, sequence(content["ranking"])), key=lambda row: whole(row["position"])
    )
    if [row["position"] for row in rows] != list(range(whole(content["n_items"]))):
        raise ValueError("positions that are not those of the items")
    return rows


def _facts(content: Content, rows: Sequence[Content]) -> dict[str, Any]:
    """Return what every ranking has, by the names of its fields."""
    seat, ties = content["seat"], content["ties"]
    ends = [[whole(row["rank_low"]), whole(row["rank_high"])] for row in rows]
    return {
        "model": text(content["model"]),
        "items": _names([row["item"] for row in rows]),
        "scores": _column(rows, "score"),
        "standard_errors": _column(rows, "standard_error"),
        "recorded": np.array(ends, dtype=np.int64).reshape(len(rows), 2),
        "log_likelihood": number(content["log_likelihood"]),
        "converged": content["converged"] is True,
        "n_comparisons": whole(content["n_comparisons"]),
        "n_ties": whole(content["n_ties"]),
        "diagnosis": _diagnosis(content),
        "priors": tuple(_prior(mapping(one)) for one in sequence(content["priors"])),
        "seat": None if seat is None else _effect(mapping(seat)),
        "ties": None if ties is None else _effect(mapping(ties)),
        "evaluators": _names(sequence(content["evaluators"])),
        "parameters": _parameters(content),
        "gradient_norm": number(content["gradient_norm"]),
        "iterations": whole(content["iterations"]),
        "notes": texts(content["notes"]),
        "provenance": _provenance(mapping(content["provenance"])),
    }


def _biases(content: Content, evaluators: NDArray[Any]) -> dict[str, Any]:
    """Return what a ranking with biases has besides, by the names of its fields."""
    contrasts = [_contrast(mapping(one)) for one in sequence(content["contrasts"])]
    shape = (len(evaluators), len(contrasts))
    places = {name: place for place, name in enumerate(evaluators.tolist())}
    columns = {str(contrast): place for place, contrast in enumerate(contrasts)}
    found: list[list[Content]] = [[{}] * shape[1] for _ in range(shape[0])]
    for row in map(mapping, sequence(content["biases"])):
        found[places[row["evaluator"]]][columns[text(row["contrast"])]] = row
    arrays = {
        name: np.array([[number(row[key]) for row in line] for line in found]).reshape(shape)
        for name, key in BIASES.items()
    }
    dependence = content["score_dependence"]
    return {
        **arrays,
        "contrasts": tuple(contrasts),
        "mean_bias": array(content["mean_bias"], shape[1:]),
        "mean_bias_standard_errors": array(content["mean_bias_standard_errors"], shape[1:]),
        "level_standard_errors": np.array(
            [number(one) for one in sequence(content["level_standard_errors"])]
        ),
        "anchor": text(content["anchor"]),
        "n_judged": np.array([whole(line[0]["comparisons"]) for line in found], dtype=np.int64),
        "n_informative": np.array(
            [[whole(row["informative"]) for row in line] for line in found], dtype=np.int64
        ).reshape(shape),
        "score_dependence": None if dependence is None else _dependence(mapping(dependence)),
        "suggestions": tuple(_suggestion(mapping(one)) for one in sequence(content["suggestions"])),
    }


def _before(ranking: Ranking, rows: Sequence[Content]) -> Ranking | None:
    """Return the scores with every evaluator at their word; nothing else of that fit is known."""
    if all(row["score_before"] is None for row in rows):
        return None
    scores = _column(rows, "score_before")
    return Ranking(
        model="Bradley-Terry",
        items=ranking.items,
        scores=scores,
        standard_errors=np.full(len(scores), np.nan),
        log_likelihood=math.nan,
        converged=True,
        n_comparisons=ranking.n_comparisons,
        diagnosis=ranking.diagnosis,
    )


def _groups(rows: Sequence[Content]) -> dict[str, NDArray[Any]]:
    columns = {} if not rows else mapping(rows[0]["groups"])
    return {name: _names([text(row["groups"][name]) for row in rows]) for name in columns}


def _names(values: Sequence[Any]) -> NDArray[Any]:
    """Return names, whatever they are, as an array."""
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        if not isinstance(value, str | int | float):
            raise TypeError(f"{type(value).__name__} in place of a name")
        found[place] = value
    return found


def _column(rows: Sequence[Content], name: str) -> NDArray[np.float64]:
    return np.array([number(row[name]) for row in rows], dtype=np.float64)


def _parameters(content: Content) -> dict[str, NDArray[np.float64]]:
    """Return what a model says of evaluators besides, or of items where it knows no evaluators."""
    many = len(sequence(content["evaluators"]))
    found = {}
    for name, value in mapping(content["parameters"]).items():
        rows = [list(map(number, one)) if isinstance(one, list) else number(one) for one in value]
        found[name] = np.array(rows, dtype=np.float64)
        if many and len(rows) != many:
            raise ValueError(f"{len(rows)} {name} of {many} evaluators")
    return found


def _provenance(content: Content) -> Content:
    """Return where a ranking comes from; its notes are shown."""
    texts(content.get("notes", []))
    return content


def _diagnosis(content: Content) -> RecordedDiagnosis:
    found = mapping(content["diagnosis"])
    return RecordedDiagnosis(
        n_items=whole(content["n_items"]),
        n_comparisons=whole(content["n_comparisons"]),
        component=EMPTY,
        strong_component=EMPTY,
        needed=whole(found["needed_comparisons"]),
        notes=texts(found["notes"]),
        content=found,
    )


def _prior(content: Content) -> Prior:
    sd = math.inf if content["sd"] is None else number(content["sd"])
    return Prior(of=text(content["of"]), sd=sd, chosen_by=text(content["chosen_by"]))


def _effect(content: Content) -> Effect:
    return Effect(
        name=text(content["name"]),
        value=number(content["value"]),
        standard_error=number(content["standard_error"]),
    )


def _contrast(content: Content) -> GroupContrast:
    return GroupContrast(
        **{name: text(content[name]) for name in ("attribute", "group", "reference")}
    )


def _dependence(content: Content) -> ScoreDependence:
    return ScoreDependence(
        slopes=tuple(map(number, sequence(content["slopes"]))),
        statistic=number(content["statistic"]),
        dof=whole(content["dof"]),
        p_value=number(content["p_value"]),
    )


def _suggestion(content: Content) -> Suggestion:
    sizes = ("score_gap", "gap_p", "spread", "spread_p", "p_value", "q_value")
    counts = ("n_items", "n_comparisons", "spread_dof")
    facts: dict[str, Any] = {name: number(content[name]) for name in sizes}
    facts |= {name: whole(content[name]) for name in counts}
    facts |= {name: texts(content[name]) for name in ("attributes", "groups")}
    return Suggestion(deserves=content["deserves"] is True, **facts)
