"""The catalogue of metrics for decisions among several classes, each class against the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from comparity.counts.decision_classes import count_classes
from comparity.counts.decision_rows import DecisionRows, decision_arrays, read_decisions
from comparity.errors import NoSuchEntryError
from comparity.errors.spelling import visible
from comparity.metrics.audit import join_attributes, privileged_groups, score_counts
from comparity.metrics.options import ClassMetricsForm, MetricsOptions
from comparity.metrics.pictures import metrics_chart
from comparity.metrics.result import MetricsAnswer, Scorecard
from comparity.metrics.section import METRIC, metric_row
from comparity.reports.plots import draw
from comparity.reports.sections import Grid, Section, percent, several
from comparity.results.options import provenance, shows
from comparity.tables.features import as_array, check_apart
from comparity.tables.files import file_facts, read_table
from comparity.tables.typing import Attributes, Column
from comparity.tables.values import check_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOTES = (
    "Each class is one decision: this class or another. Metrics given 'another' (false positives, "
    "false omissions) depend on which classes the others are; separation is tested by "
    "comparity separation --classes.",
    "Intervals of one metric hold for all classes together.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMetrics(MetricsAnswer):
    """Every metric for each class against the rest.

    Attributes
    ----------
    classes : tuple of str
        The classes, sorted.
    cards : tuple of Scorecard
        One for each of them; ``metrics["a"]`` finds one.
    level : float
        Probability that the intervals of a metric hold for all classes together; each has the
        level ``1 - (1 - level) / K`` (Bonferroni).
    notes : tuple of str
        What the reader must know.
    provenance : mapping
        Version, options and facts about the data.
    """

    classes: tuple[str, ...]
    cards: tuple[Scorecard, ...]
    level: float
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Scorecard:
        """Return the metrics of one class."""
        if name not in self.classes:
            raise NoSuchEntryError("class", name, list(self.classes))
        return self.cards[self.classes.index(name)]

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        return _section(self)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each class and metric."""
        return [
            {"class": name, **row}
            for name, card in zip(self.classes, self.cards, strict=True)
            for row in card.rows()
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the metrics of the class that has most of them outside their ranges."""
        name, card = max(
            zip(self.classes, self.cards, strict=True), key=lambda one: _outside(one[1])
        )
        kept = [one for one in card.metrics if one.place != "none"]
        return draw(metrics_chart(f"{visible(name)} against the rest", kept), ax)


@shows(MetricsOptions)
def class_metrics(
    y_true: Column,
    y_pred: Column,
    *,
    sensitive_features: Attributes,
    privileged: Any,
    **choices: Any,
) -> ClassMetrics:
    """Work out the published metrics of decisions among classes, each class against the rest.

    Intervals of one metric hold for all K classes together: each has the level
    ``1 - (1 - level) / K``.

    Parameters
    ----------
    y_true, y_pred : array-like
        Label and decision of each item, at most 20 classes.
    sensitive_features, privileged, **choices
        As in :func:`fairness_metrics`. There is no consistency (D0), which needs features.

    Returns
    -------
    ClassMetrics

    Examples
    --------
    >>> label = list("aabbcc") * 60
    >>> decided = list("aabbcc") * 30 + list("abbbca") * 30
    >>> found = class_metrics(
    ...     label, decided, sensitive_features=["m"] * 180 + ["f"] * 180, privileged="m"
    ... )
    >>> found.classes, found["a"]["C0"].value, round(found["a"]["C0"].interval.level, 4)
    (('a', 'b', 'c'), -0.5, 0.9833)
    """
    attribute, groups = join_attributes(sensitive_features)
    rows = decision_arrays(
        as_array(y_true, "y_true"), as_array(y_pred, "y_pred"), sensitive={attribute: groups}
    )
    return _score_classes(rows, attribute, privileged, MetricsOptions(**choices))


def class_metrics_frame(frame: Any, **choices: Any) -> ClassMetrics:
    """Work out the metrics of a frame; `choices` are those of :class:`ClassMetricsForm`."""
    form = ClassMetricsForm(**choices)
    check_apart(form.sensitive, (form.label, form.prediction))
    rows = read_decisions(
        frame,
        label=form.label,
        prediction=form.prediction,
        sensitive=form.sensitive,
        intersection=True,
    )
    attribute = " & ".join(form.sensitive)
    options = form.narrow(MetricsOptions)
    found = _score_classes(rows, attribute, form.privileged, options)
    columns = {"label": form.label, "prediction": form.prediction}
    known = provenance(options, **columns, sensitive=list(form.sensitive))
    return replace(found, provenance=known)


def class_metrics_file(path: str | Path, **choices: Any) -> ClassMetrics:
    """Work out the metrics of a file; `choices` as in :func:`class_metrics_frame`."""
    found = class_metrics_frame(read_table(path), **choices)
    files = file_facts(path)
    data = {**found.provenance["data"], "files": files}
    return replace(found, provenance={**found.provenance, "data": data})


def _score_classes(
    rows: DecisionRows, attribute: str, privileged: Any, options: MetricsOptions
) -> ClassMetrics:
    counts = count_classes(rows)[attribute]
    groups = next(iter(counts.against_rest.values())).groups
    check_groups({attribute: groups})
    camps = privileged_groups(privileged, attribute, groups)
    each = replace(options, level=1 - (1 - options.level) / len(counts.classes))
    rng = np.random.default_rng(options.seed)
    cards = [score_counts(one, camps, each, rng=rng) for one in counts.against_rest.values()]
    return ClassMetrics(
        classes=counts.classes,
        cards=tuple(cards),
        level=options.level,
        notes=(*cards[0].notes[:1], *NOTES),
        provenance=provenance(options),
    )


def _outside(card: Scorecard) -> int:
    return sum(one.place == "outside" for one in card.metrics)


def _section(found: ClassMetrics) -> Section:
    """Return what is shown: which metrics are outside their ranges, class by class."""
    counted = zip(found.classes, map(_outside, found.cards), strict=True)
    told = ", ".join(f"{visible(name)} {outside}" for name, outside in counted)
    first = found.cards[0]
    return Section(
        headline=f"Metrics of {len(found.classes)} classes, each against the rest",
        sentences=(
            f"Outside their published range: {told}.",
            f"Privileged: {', '.join(map(visible, first.privileged))}; "
            f"{several(first.n, 'decision')}; intervals of a metric at {percent(found.level)} for "
            "all classes together.",
        ),
        grids=tuple(_grids(found.classes, found.cards)),
        lists={"Notes": [visible(note) for note in found.notes]},
    )


def _grids(classes: Sequence[str], cards: Sequence[Scorecard]) -> list[Grid]:
    return [
        Grid(
            title=f"{visible(name)} against the rest",
            header=METRIC,
            rows=tuple(metric_row(one) for one in card.metrics if one.place != "none"),
        )
        for name, card in zip(classes, cards, strict=True)
    ]
