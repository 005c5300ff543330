"""What is told of a score that was trained on a file: its audit, what it cost, and the frontier."""

from __future__ import annotations

from dataclasses import replace

from comparity.errors.spelling import visible
from comparity.reports.charts import Curve, CurveChart, axis_between
from comparity.reports.sections import Grid, Section, count, interval, rate, several, signed
from comparity.training.beside import MOVED, TRAINED
from comparity.training.costs import ERROR, Method, ScoreChange
from comparity.training.goals import PARITY
from comparity.training.result import TrainedScorer

# So many coefficients and kinds of pairs are listed; all are in to_dict().
LISTED_AUDITS = 20


def trained_section(result: TrainedScorer) -> Section:
    """Return what is told of a score that was trained on a file, audited, and compared."""
    after, training = result.after.accuracy.section(), result.training.section()
    goals = " and ".join(result.training.goals)
    limit = f"with a slack of {result.training.slack:g}"
    done = "Trained" if result.adjusted is None else "Scores of groups moved"
    told = (
        f"Model written to {result.output}. {done} for {goals} "
        f"{limit if result.training.form == 'constrained' else 'in the robust form'} on "
        f"{several(result.rows['trained'], 'row')}, audited on "
        f"{count(result.rows['audited'])} others; seed {result.seed}."
    )
    if result.after.accuracy.labels != "binary" and result.training.goals != (PARITY,):
        told += " Training goes by raw accuracies, the audit judges standardised ones."
    before = f"Before, without a goal: {result.before.finding}; after: {result.after.finding}."
    grids = (_costs(result), *_beside(result), *after.grids)
    lists = {**after.lists, **{f"{k} on training": v for k, v in training.lists.items()}}
    if result.after.parity is not None:
        parity = result.after.parity.section()
        after = _put_on_top(result, after, parity)
        tests = replace(parity.grids[0], title=f"Tests of {PARITY}")
        grids, lists = (*grids, tests), {**parity.lists, **lists}
    return replace(
        after,
        sentences=(
            *after.sentences[:1],
            before,
            *_against_a_shift(result),
            *after.sentences[1:],
            visible(told),
        ),
        charts=(*after.charts, *_frontier(result), *training.charts),
        grids=(*grids, *_coefficients(result), *training.grids),
        lists=lists,
    )


def _put_on_top(result: TrainedScorer, accuracy: Section, parity: Section) -> Section:
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


def _costs(result: TrainedScorer) -> Grid:
    """Say what all pairs, each group and each kind of pair lost or won."""
    rows = [
        (
            visible(one.what),
            *(_number(one, value) for value in (one.before, one.after)),
            *(f"{value:+.4g}" if one.what == ERROR else signed(value) for value in (one.change,)),
            interval(one.low, one.high),
        )
        for one in result.changes[:LISTED_AUDITS]
    ]
    return Grid(
        title="Accuracy on rows that training did not see, and what the goal changed",
        header=("better > worse", "without a goal", "with it", "change", "95% interval"),
        rows=tuple(rows),
    )


def _number(change: ScoreChange, value: float) -> str:
    return f"{value:.4g}" if change.what == ERROR else rate(value)


def _beside(result: TrainedScorer) -> tuple[Grid, ...]:
    """Put simpler ways to the goal beside what was written."""
    if not result.methods:
        return ()
    predicted = result.methods[0].squared_error is not None
    rows = [
        (
            one.name,
            *([f"{one.squared_error:.4g}"] if predicted else []),
            rate(one.accuracy),
            rate(one.largest_difference),
            "yes" if one.needs_groups else "no",
        )
        for one in result.methods
    ]
    error = ("squared error",) if predicted else ()
    header = ("", *error, "accuracy", "largest difference", "needs groups to score")
    title = "Ways to the goal, on the same rows"
    return (Grid(title=title, header=header, rows=tuple(rows)),)


def _against_a_shift(result: TrainedScorer) -> tuple[str, ...]:
    """Say whether training was worth more than moving groups against each other by one number."""
    one = result.against
    if one is None:
        return ()
    shifted = next(method for method in result.methods if method.name == MOVED["shift"])
    trained = next(method for method in result.methods if method.name == TRAINED)
    ways = (
        f"differences of {rate(trained.largest_difference)} and {rate(shifted.largest_difference)}"
    )
    what = "squared error" if one.what == ERROR else "accuracy over all pairs"
    told = [
        f"{value:+.4g}" if one.what == ERROR else signed(value)
        for value in (one.change, one.low, one.high)
    ]
    change = f"{told[0]} (95% interval {told[1]} to {told[2]})"
    verdict = _verdict(one, trained, shifted, result.training.slack)
    return (
        f"Training {verdict} a shift of the groups' scores by one number, which needs the groups "
        f"when scoring: {what} {change}, {ways}.",
    )


def _verdict(change: ScoreChange, trained: Method, shifted: Method, slack: float) -> str:
    """Say which of two ways is shown to lose less; at a larger difference that is no victory."""
    better, worse = change.low > 0, change.high < 0
    if change.what == ERROR:
        better, worse = worse, better
    limits = max(slack, shifted.largest_difference), max(slack, trained.largest_difference)
    if better:
        missed = trained.largest_difference > limits[0]
        return "loses less, and misses the goal by more, than" if missed else "beats"
    if worse:
        missed = shifted.largest_difference > limits[1]
        return "loses more, and misses the goal by less, than" if missed else "does worse than"
    return "is not shown to be better or worse than"


def frontier_chart(result: TrainedScorer) -> CurveChart:
    """Describe loss against the largest difference, with the simple ways beside the frontier."""
    predicted = result.methods[0].squared_error is not None
    # In the order of slacks: on fresh rows differences may be past zero.
    curve = [(one.largest_difference, one.loss) for one in result.frontier]
    single = [(one.name, (one.largest_difference, one.loss)) for one in result.methods]
    points = [*curve, *(at for _, at in single)]
    up = "mean squared error" if predicted else "share of pairs in the wrong order"
    curves = [Curve(label=name, points=[at], style="points") for name, at in single]
    if curve:
        curves.insert(0, Curve(label="mixtures at other slacks", points=curve, style="both"))
    told = [f"{name}: {up} {y:.4g} at a difference of {x:.3f}" for name, (x, y) in single]
    rows = several(result.rows["audited"], "row")
    return CurveChart(
        title=f"What {' and '.join(result.training.goals)} costs, on {rows} not trained on",
        about="; ".join(told),
        axis=axis_between("largest difference", [x for x, _ in points], from_zero=True),
        up=axis_between(up, [y for _, y in points]),
        curves=tuple(curves),
    )


def _frontier(result: TrainedScorer) -> tuple[CurveChart, ...]:
    return (frontier_chart(result),) if len(result.methods) > 1 else ()


def _coefficients(result: TrainedScorer) -> tuple[Grid, ...]:
    rows = [(visible(name), f"{slope:+.4g}") for name, slope in result.coefficients.items()]
    header, shown = ("feature", "coefficient"), tuple(rows[:LISTED_AUDITS])
    return (Grid(title="Coefficients", header=header, rows=shown),) if rows else ()
