"""What is shown of a trained score: the audit after training, beside the one before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from comparity.mitigation.goals import PARITY
from comparity.reporting.formats import count, rate, several, signed, visible
from comparity.reporting.grids import Grid
from comparity.reporting.sections import Section, section_of
from comparity.trained import TrainedScorer

__all__ = ["section"]

# So many coefficients and kinds of pairs are listed; all are in to_dict().
LISTED = 20


def section(result: TrainedScorer) -> Section:
    """Return what is shown of a trained score."""
    after, training = section_of(result.after.accuracy), section_of(result.training)
    goals = " and ".join(result.training.goals)
    limit = f"with a slack of {result.training.slack:g}"
    told = (
        f"Model written to {result.output}. Trained for {goals} "
        f"{limit if result.training.form == 'constrained' else 'in the robust form'} on "
        f"{several(result.rows['trained'], 'row')}, audited on "
        f"{count(result.rows['audited'])} others; seed {result.seed}."
    )
    if result.after.accuracy.labels != "binary" and result.training.goals != (PARITY,):
        told += " Training goes by raw accuracies, the audit judges standardised ones."
    before = f"Before, without a goal: {result.before.finding}; after: {result.after.finding}."
    grids = (_both(result), *after.grids)
    lists = {**after.lists, **{f"{k} on training": v for k, v in training.lists.items()}}
    if result.after.parity is not None:
        parity = section_of(result.after.parity)
        after = _decided(result, after, parity)
        tests = replace(parity.grids[0], title=f"Tests of {PARITY}")
        grids, lists = (*grids, tests), {**parity.lists, **lists}
    return replace(
        after,
        sentences=(*after.sentences[:1], before, *after.sentences[1:], visible(told)),
        charts=(*after.charts, *training.charts),
        grids=(*grids, *_coefficients(result), *training.grids),
        lists=lists,
    )


def _decided(result: TrainedScorer, accuracy: Section, parity: Section) -> Section:
    """Put the audit on top that decides; where both do, what they come to together."""
    assert result.after.parity is not None
    charts = (*accuracy.charts, *parity.charts)
    if result.training.goals == (PARITY,):
        return replace(
            accuracy, headline=parity.headline, kind=parity.kind, charts=charts, sentences=()
        )
    kind = parity.kind if result.after.parity.finding == result.after.finding else accuracy.kind
    return replace(
        accuracy,
        headline=f"Pairs and {PARITY}, taken together: {result.after.finding}",
        kind=kind,
        charts=charts,
        sentences=(f"{accuracy.headline}. {parity.headline}.", *accuracy.sentences),
    )


def _both(result: TrainedScorer) -> Grid:
    """Put the accuracies of both models side by side."""
    before, after = result.before.accuracy, result.after.accuracy
    rows = [("all pairs", before.overall, after.overall, result.overall_change)]
    for (i, j), change in np.ndenumerate(result.changes):
        name = f"{visible(after.groups[i])} > {visible(after.groups[j])}"
        rows.append((name, float(before.matrix[i, j]), float(after.matrix[i, j]), float(change)))
    return Grid(
        title="Accuracy on rows that training did not see",
        header=("better > worse", "without a goal", "trained", "change"),
        rows=tuple(
            (name, rate(one), rate(two), signed(change)) for name, one, two, change in rows[:LISTED]
        ),
    )


def _coefficients(result: TrainedScorer) -> tuple[Grid, ...]:
    rows = [(visible(name), f"{slope:+.4g}") for name, slope in result.coefficients.items()]
    header = ("feature", "coefficient")
    return (Grid(title="Coefficients", header=header, rows=tuple(rows[:LISTED])),) if rows else ()
