"""Answers about training and weighing as sections of a report."""

from __future__ import annotations

from functools import singledispatch

from comparity.errors.spelling import visible
from comparity.reports.charts import MOST_ROWS, Curve, CurveChart, Mark, Row, RowChart, axis_between
from comparity.reports.sections import Grid, Section, count, rate, several, signed
from comparity.training.result import (
    Outcome,
    RankingPolicy,
    TradeOff,
    Training,
    TrainingAnswer,
    Weighing,
)


def rows_behind(training: Training) -> str:
    """Say on which rows the rates were found that the model was chosen by."""
    rows = several(training.judged_rows, "judgment" if training.judged else "row")
    if not training.training_share:
        return f"on the {rows} to choose by"
    return f"on all {rows} (those trained on weigh {rate(training.training_share)})"


def training_chart(training: Training, *, most: int | None = MOST_ROWS) -> RowChart:
    """Describe the first rates that the goals compare, without a goal and after training."""
    terms = list(training.best.terms)[:most]
    pairs = [(training.start.terms[name], training.best.terms[name]) for name in terms]
    told = [f"{rate(before)} to {rate(after)}" for before, after in pairs]
    goals = " and ".join(training.goals) or "no goal"
    return RowChart(
        title=f"Rates {rows_behind(training)}",
        about="; ".join(f"{visible(name)}: {note}" for name, note in zip(terms, told, strict=True)),
        heading=f"Trained for {goals}, slack {training.slack:g}",
        under=f"rate {rows_behind(training)}",
        axis=axis_between("rate", [end for pair in pairs for end in pair]),
        rows=tuple(
            Row(
                label=visible(name),
                note=note,
                marks=(
                    Mark(kind="first", x=before, low=before, high=after),
                    Mark(kind="second", x=after, low=after, high=after),
                ),
            )
            for name, note, (before, after) in zip(terms, told, pairs, strict=True)
        ),
        legend={"first": "without a goal", "second": "after training"},
    )


# So many kinds of pairs are listed; all are in to_dict().
LISTED = 16


@singledispatch
def section(result: TrainingAnswer) -> Section:
    """Return an answer about training as a section of a report."""
    raise TypeError(f"{type(result).__name__} is no account of training")


@section.register
def _(result: Training) -> Section:
    trained, by = result.rows["trained on"], result.rows["chosen by"]
    what = "judgments" if result.judged else "rows"
    basis = f"{count(trained)} {what} to train on, {count(by)} others to choose the model by"
    notes = _notes(result)
    return Section(
        headline=visible(_headline(result)),
        sentences=(_cost(result), f"{basis}; {_how(result)}."),
        charts=(training_chart(result),) if result.best.terms else (),
        grids=(_outcomes(result), *_weights(result)),
        lists={"Notes": notes} if notes else {},
    )


def _headline(result: Training) -> str:
    """Say what was asked for, and what became of it."""
    if not result.goals:
        return f"Trained without a goal: accuracy over all pairs {rate(result.best.accuracy)}"
    asked, both = " and ".join(result.goals), (result.start, result.best)
    if result.form == "robust":
        what, found = "least rate", [min(one.terms.values(), default=0.0) for one in both]
    else:
        what, found = "largest difference", [one.largest_difference for one in both]
    return f"Trained for {asked}: {what} {rate(found[0])} before, {rate(found[1])} after"


def _notes(result: Training) -> list[str]:
    """Say which of the models kept miss the slack."""
    if not result.feasible:
        return [
            f"No mixture found keeps every difference within {result.slack:g}; the one with the "
            f"least, {rate(result.mixture.largest_difference)}, is kept."
        ]
    if result.single_misses:
        return [
            f"Only the mixture keeps every difference within {result.slack:g}: the best single "
            f"model has one of {rate(result.best.largest_difference)}."
        ]
    return []


@section.register
def _(result: TradeOff) -> Section:
    rows = tuple(
        (
            f"{one.slack:g}",
            *_objectives(one.best),
            rate(one.best.largest_difference),
            *_objectives(one.mixture),
            rate(one.mixture.largest_difference),
            "yes" if one.feasible else "no",
        )
        for one in result.trainings
    )
    names = ["accuracy"]
    if result.trainings and result.trainings[0].best.squared_error is not None:
        names = ["squared error", "accuracy"]
    compared = (*names, "difference")
    header = ("slack", *compared, *[f"mixture's {name}" for name in compared], "within the slack")
    grid = Grid(title="On the rows that models were chosen by", header=header, rows=rows)
    return Section(headline=f"What the goal costs at {count(len(rows))} slacks", grids=(grid,))


@section.register
def _(result: Weighing) -> Section:
    told = (
        f"Column {result.column!r} of {result.output}; weights sum to {count(result.n_rows)}, the "
        f"largest is {result.largest:.4g}; they are worth {result.effective_rows:,.0f} equal rows."
    )
    cells = [
        (visible(group), visible(label), count(rows), f"{weight:.4f}")
        for group, label, rows, weight in result.cells
    ]
    header, shown = ("group", "label", "rows", "weight"), tuple(cells[:LISTED])
    hidden = len(cells) - LISTED
    more = [visible(" ".join(note.split())) for note in result.notes]
    more += [f"{count(hidden)} more combinations are in --json."] if hidden > 0 else []
    return Section(
        headline=f"Weighted {count(result.n_rows)} rows: {result.method}",
        sentences=(visible(told),),
        grids=(Grid(title="Weight of a row", header=header, rows=shown),) if cells else (),
        lists={"Notes": more} if more else {},
    )


def trade_off_chart(result: TradeOff) -> CurveChart:
    """Describe what is lost in accuracy, or in squared error, against the largest difference."""
    first = result.trainings[0]
    slacks = tuple(f"{one.slack:g}" for one in result.trainings)
    found = [[one.best for one in result.trainings], [one.mixture for one in result.trainings]]
    best, mixture, start = (
        [(one.largest_difference, _objective(one)) for one in outcomes]
        for outcomes in (*found, [first.start])
    )
    points = [*best, *mixture, *start]
    judged = several(first.judged_rows, "row")
    across = f"largest difference on the {judged} that models are chosen by (numbers: slack)"
    predicted = first.best.squared_error is not None
    up = "mean squared error" if predicted else "pairwise accuracy"
    return CurveChart(
        title=f"What {' and '.join(first.goals) or 'no goal'} costs, by slack",
        axis=axis_between(across, [x for x, _ in points]),
        up=axis_between(up, [y for _, y in points]),
        curves=(
            Curve(label="best single model", points=best, style="both", notes=slacks),
            Curve(label="mixture", points=mixture, style="both"),
            Curve(label=_free(first), points=start, style="points"),
        ),
    )


def _objective(outcome: Outcome) -> float:
    return outcome.accuracy if outcome.squared_error is None else outcome.squared_error


def _objectives(outcome: Outcome) -> tuple[str, ...]:
    if outcome.squared_error is None:
        return (rate(outcome.accuracy),)
    return f"{outcome.squared_error:.4g}", rate(outcome.accuracy)


def _how(result: Training) -> str:
    if result.limited:
        return f"{result.scorer} score, slack {result.slack:g}, constrained form"
    return f"{result.scorer} score" + (", robust form" if result.form == "robust" else "")


def _free(result: Training) -> str:
    """Name what a training is compared with."""
    return "without a goal" if result.scorer == "linear" else "linear, no goal"


def _cost(result: Training) -> str:
    """Say what the goal cost."""
    change = result.best.accuracy - result.start.accuracy
    told = f"Accuracy over all pairs {rate(result.best.accuracy)} ({signed(change)})"
    if result.best.squared_error is not None and result.start.squared_error is not None:
        error = f"{result.best.squared_error:.4g} from {result.start.squared_error:.4g}"
        told += f", mean squared error {error}"
    fitted = "Bradley-Terry" if result.judged else "least squares"
    what = fitted if result.scorer == "linear" else f"a linear score by {fitted}"
    return f"{told}, against {what} without a goal."


def _outcomes(result: Training) -> Grid:
    shown = (result.start, result.best, result.mixture)
    # Rates that goals compare may be of all rows, accuracy is always of the rows to choose by.
    kept = ", rows to choose by only" if result.training_share else ""
    rows = [(f"all pairs{kept}", *(rate(one.accuracy) for one in shown))]
    rows += [
        (visible(name), *(rate(one.terms[name]) for one in shown)) for name in result.best.terms
    ]
    if result.goals:
        rows.append(("largest difference", *(rate(one.largest_difference) for one in shown)))
    mixture = f"mixture of {count(len(result.probabilities))}"
    header = ("", _free(result), "best single model", mixture)
    return Grid(title=f"Rates {rows_behind(result)}", header=header, rows=tuple(rows))


def _weights(result: Training) -> tuple[Grid, ...]:
    """List what accuracies weighed, where they weighed anything."""
    if not any(result.cell_weights.values()):
        return ()
    rows = [(visible(name), signed(weight)) for name, weight in result.cell_weights.items()]
    beside = "" if result.best.squared_error is None else " (the squared error has weight 1)"
    title = f"Final weight of the accuracy of each kind of pair{beside}"
    return (Grid(title=title, header=("better > worse", "weight"), rows=tuple(rows[:LISTED])),)


# So many rankings and places are shown; all are in to_dict().
RANKINGS, PLACES = 8, 12


@section.register
def _(result: RankingPolicy) -> Section:
    many = count(len(result.probabilities))
    kept = 100 * result.utility / result.best_utility if result.best_utility else 100.0
    groups = tuple(
        (visible(group), f"{result.exposure[group]:.4f}", f"{term:.4f}")
        for group, term in result.terms.items()
    )
    shown = [
        (f"{share:.4f}", ", ".join(str(item) for item in ranking[:PLACES].tolist()))
        for share, ranking in zip(result.probabilities, result.rankings, strict=True)
    ]
    return Section(
        headline=f"A mixture of {many} rankings: {result.criterion}",
        sentences=(
            f"Expected utility {result.utility:.4f}, {kept:.1f} % of the order by relevance.",
            f"Largest difference between groups {result.difference:.4g}, "
            f"allowed {result.slack:.4g}; {count(result.rankings.shape[1])} items.",
        ),
        grids=(
            Grid(title="Groups", header=("group", "mean exposure", "compared"), rows=groups),
            Grid(
                title="Rankings, by row of the items from 0",
                header=("probability", "best first"),
                rows=tuple(shown[:RANKINGS]),
            ),
        ),
    )
