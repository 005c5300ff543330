"""Metrics, trainings and stories, read back from the JSON that ``--json`` printed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.demo.story import Fact, FoundGap, Step, Story
from comparity.inference.gap_tests import Interval
from comparity.metrics.catalogue import CATALOGUE
from comparity.metrics.resamples import Change, ChosenMetric, Comparison, MetricClusters, Selection
from comparity.metrics.result import MetricValue, RateSpread, Scorecard
from comparity.reports.recorded import (
    array,
    audit_of,
    mapping,
    number,
    numbers,
    pairwise_of,
    sequence,
    text,
    texts,
    whole,
)
from comparity.results.findings import EXIT_STATUS
from comparity.training.result import Outcome, ScorerAudit, TrainedScorer, Training, Weighing

__all__ = ["card_of", "story_of", "trained_of", "training_of", "weighing_of"]

Content = Mapping[str, Any]


def card_of(content: Content) -> Scorecard:
    """Return a card of metrics from its JSON."""
    selection, comparison = content["selection"], content["comparison"]
    metrics = tuple(_metric(mapping(one)) for one in sequence(content["metrics"]))
    if not metrics:
        raise ValueError("no metric")
    chosen = None if selection is None else _selection(mapping(selection))
    known = {one.id for one in metrics}
    if chosen is not None and not {one.id for one in chosen.chosen} <= known:
        raise ValueError("a chosen metric that is not among the metrics")
    return Scorecard(
        metrics=metrics,
        spreads=tuple(_spread(mapping(one)) for one in sequence(content["spreads"])),
        groups=texts(content["groups"]),
        privileged=texts(content["privileged"]),
        n=whole(content["n"]),
        selection=chosen,
        comparison=None if comparison is None else _comparison(mapping(comparison)),
        notes=texts(content["notes"]),
        provenance=mapping(content["provenance"]),
    )


def _metric(content: Content) -> MetricValue:
    words = ("name", "formula", "method", "direction", "cluster")
    low, high = map(number, sequence(content["fair_range"]))
    return MetricValue(
        id=_catalogued(content["id"]),
        **{word: text(content[word]) for word in words},
        value=_unbounded(content["value"], known=content["place"] != "none"),
        interval=_ratio_interval(content, "interval"),
        promised=content["promised"] is True,
        ideal=number(content["ideal"]),
        fair_range=(low, high),
    )


def _catalogued(value: Any) -> str:
    """Return the identifier of a metric that there is."""
    found = text(value)
    if found not in CATALOGUE:
        raise ValueError(f"metric {found!r}")
    return found


def _spread(content: Content) -> RateSpread:
    return RateSpread(
        name=text(content["name"]),
        rates=numbers(content["rates"]),
        gap=number(content["gap"]),
        gap_interval=_interval(content, "gap_interval"),
        ratio=number(content["ratio"]),
        ratio_interval=_interval(content, "ratio_interval"),
        promised=content["promised"] is True,
    )


def _selection(content: Content) -> Selection:
    clusters = content["clusters"]
    return Selection(
        chosen=tuple(
            ChosenMetric(
                **{word: text(one[word]) for word in ("id", "name", "cluster", "reason")},
                kinds=texts(one["kinds"]),
            )
            for one in map(mapping, sequence(content["chosen"]))
        ),
        kinds=texts(content["kinds"]),
        clusters=None if clusters is None else _clusters(mapping(clusters)),
        differences=texts(content["differences"]),
        deaf=texts(content["deaf"]),
    )


def _clusters(content: Content) -> MetricClusters:
    low, high = map(number, sequence(content["stretch"]))
    ids = texts(content["ids"])
    k = len(ids)
    return MetricClusters(
        clusters=tuple(map(texts, sequence(content["clusters"]))),
        threshold=number(content["threshold"]),
        stretch=(low, high),
        heights=tuple(map(number, sequence(content["heights"]))),
        ids=ids,
        dissimilarity=array([[math.nan] * k] * k, (k, k)),
        merges=_merges(content["merges"], k),
        correlation=text(content["correlation"]),
        linkage=text(content["linkage"]),
        n_resamples=whole(content["n_resamples"]),
        n_dropped=whole(content["n_dropped"]),
        constant=texts(content["constant"]),
    )


def _merges(value: Any, n: int) -> NDArray[np.float64]:
    """Return the merges of n leaves: each of two clusters that there are by then."""
    found = array(value, (n - 1, 4))
    left = set(range(n))
    for made, (first, second) in enumerate(found[:, :2].tolist(), start=n):
        left -= {first, second}
        left.add(made)
        if len(left) != 2 * n - made - 1:
            raise ValueError(f"a merge of {first:g} and {second:g}")
    return found


def _comparison(content: Content) -> Comparison:
    before, after = texts(content["names"])
    found = tuple(_change(mapping(one)) for one in sequence(content["changes"]))
    return Comparison(changes=found, names=(before, after))


def _change(content: Content) -> Change:
    moved = text(content["moved"])
    if moved not in ("towards", "away", "unchanged", "unknown"):
        raise ValueError(f"moved {moved!r}")
    return Change(
        id=_catalogued(content["id"]),
        name=text(content["name"]),
        before=_unbounded(content["before"], known=moved != "unknown"),
        after=_unbounded(content["after"], known=moved != "unknown"),
        ideal=number(content["ideal"]),
        moved=moved,
        interval=None if content["level"] is None else _interval(content, "interval"),
    )


def trained_of(content: Content) -> TrainedScorer:
    """Return a trained score with its audits from its JSON."""
    return TrainedScorer(
        output=text(content["output"]),
        coefficients=numbers(content["coefficients"]),
        training=training_of(mapping(content["training"])),
        before=_scorer_audit(mapping(content["before"])),
        after=_scorer_audit(mapping(content["after"])),
        rows=_rows(content, "trained", "audited"),
        seed=whole(content["seed"]),
    )


def _scorer_audit(content: Content) -> ScorerAudit:
    parity, finding = content.get("parity"), text(content["finding"])
    if finding not in EXIT_STATUS:
        raise ValueError(f"finding {finding!r}")
    return ScorerAudit(
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        accuracy=pairwise_of(content),
        parity=None if parity is None else audit_of(mapping(parity)),
    )


def training_of(content: Content) -> Training:
    """Return an account of training from its JSON."""
    best, mixture, start = (
        _outcome(mapping(content[name])) for name in ("best", "mixture", "start")
    )
    if not best.terms.keys() == mixture.terms.keys() == start.terms.keys():
        raise ValueError("outcomes of different terms")
    return Training(
        goals=texts(content["goals"]),
        form=text(content["form"]),
        slack=number(content["slack"]),
        feasible=content["feasible"] is True,
        probabilities=tuple(map(number, sequence(content["probabilities"]))),
        cell_weights=numbers(content["cell_weights"]),
        multipliers=numbers(content["multipliers"]),
        rows=_rows(content, "trained on", "chosen by"),
        best=best,
        mixture=mixture,
        start=start,
        scorer=text(content["scorer"]),
        training_share=number(content.get("training_share", 0.0)),
    )


def _outcome(content: Content) -> Outcome:
    return Outcome(
        accuracy=number(content["accuracy"]),
        squared_error=_number_or_none(content["squared_error"]),
        terms=numbers(content["terms"]),
        largest_difference=number(content["largest_difference"]),
    )


def _rows(content: Content, *needed: str) -> dict[str, int]:
    rows = mapping(content["rows"])
    return {name: whole(rows[name]) for name in [*needed, *rows]}


def weighing_of(content: Content) -> Weighing:
    """Return an account of weights from its JSON."""
    cells = map(mapping, sequence(content["cells"]))
    return Weighing(
        **{name: text(content[name]) for name in ("method", "column", "output")},
        n_rows=whole(content["n_rows"]),
        effective_rows=number(content["effective_rows"]),
        largest=number(content["largest"]),
        cells=tuple(
            (text(one["group"]), text(one["label"]), whole(one["rows"]), number(one["weight"]))
            for one in cells
        ),
        notes=texts(content["notes"]),
    )


def story_of(content: Content) -> Story:
    """Return the story of a simulation from its JSON."""
    return Story(
        headline=text(content["headline"]),
        steps=tuple(_step(mapping(one)) for one in sequence(content["steps"])),
        margin=number(content["margin"]),
        alpha=number(content["alpha"]),
        notes=texts(content["notes"]),
        provenance=mapping(content["provenance"]),
    )


def _step(content: Content) -> Step:
    return Step(
        title=text(content["title"]),
        sentences=texts(content["sentences"]),
        gaps=tuple(_found(mapping(one)) for one in sequence(content["gaps"])),
        facts=tuple(
            Fact(**{name: text(one[name]) for name in ("about", "true", "found")})
            for one in map(mapping, sequence(content["facts"]))
        ),
    )


def _found(content: Content) -> FoundGap:
    words, sizes = ("model", "null", "finding"), ("true", "found", "low", "high", "level")
    facts: dict[str, Any] = {name: text(content[name]) for name in words}
    facts |= {name: number(content[name]) for name in sizes}
    return FoundGap(**facts)


def _interval(content: Content, name: str) -> Interval:
    low, high = map(number, sequence(content[name]))
    return Interval(low, high, number(content["level"]))


def _ratio_interval(content: Content, name: str) -> Interval:
    low, high = sequence(content[name])
    level = number(content["level"])
    return Interval(number(low), _unbounded(high, known=low is not None), level)


def _unbounded(value: Any, *, known: bool) -> float:
    """Return a number; one that exists and JSON has no number for is a ratio to zero."""
    return math.inf if value is None and known else number(value)


def _number_or_none(value: Any) -> float | None:
    return None if value is None else number(value)
