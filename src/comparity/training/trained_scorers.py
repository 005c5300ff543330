"""What the command that trains did, from labels or from judgments, and how it is told.

A score is written, audited on rows or items that training did not see, and put beside one without a
goal; one trained on labels also beside simpler ways to the goal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from comparity.errors.spelling import visible
from comparity.pairwise.result import PairwiseAccuracy
from comparity.reports.charts import Curve, CurveChart, axis_between
from comparity.reports.sections import Grid, Section, count, interval, rate, several, signed
from comparity.results.audit import Audit
from comparity.results.plain import INLINE
from comparity.results.result import EXIT_STATUS
from comparity.training.costs import ERROR, MOVED, TRAINED, Method, ScoreChange
from comparity.training.goals import PARITY
from comparity.training.result import Training, TrainingAnswer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LISTED = 20
"""So many coefficients and kinds of pairs are listed; all are in to_dict()."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerAudit:
    """What audits say of a score, of what its training was asked for.

    Attributes
    ----------
    finding : str
        Of all tests that decide.
    exit_status : int
        What a command returns to the shell.
    accuracy : PairwiseAccuracy
        Over pairs that labels imply; it decides unless statistical parity alone was asked for.
    parity : Audit or None
        Over pairs of groups, whatever their labels, where that was asked for.
    """

    finding: str
    exit_status: int
    accuracy: PairwiseAccuracy = field(metadata=INLINE)
    parity: Audit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedScorer(TrainingAnswer):
    """What the command that trains did.

    Attributes
    ----------
    output : str
        The model file.
    coefficients : mapping of str to float
        Of the features, in their units; empty where the score is not linear.
    training : Training
        What was asked, and what came out on the rows chosen by.
    before, after : ScorerAudit
        Audits of a model without a goal and of the trained one, on rows that neither saw.
    rows : mapping of str to int
        Rows given to training, and rows audited.
    seed : int
        Of whatever was drawn at random.
    changes : tuple of ScoreChange
        What all pairs, each group and each kind of pair lost or won by the goal, on the same rows.
    methods : tuple of Method
        What was written, what it is compared with, and simpler ways to the goal, on the same rows.
    frontier : tuple of Method
        Mixtures of what training came by, at other slacks, there.
    against : ScoreChange or None
        What training changes in place of a shift of groups: squared error, or accuracy over all
        pairs.
    adjusted : mapping of str to float, optional
        By how much the scores of each group are shifted, where the goal is kept by that.
    """

    output: str
    coefficients: Mapping[str, float]
    training: Training
    before: ScorerAudit
    after: ScorerAudit
    rows: Mapping[str, int]
    seed: int
    changes: tuple[ScoreChange, ...] = ()
    methods: tuple[Method, ...] = ()
    frontier: tuple[Method, ...] = ()
    against: ScoreChange | None = None
    adjusted: Mapping[str, float] | None = None

    DERIVED: ClassVar[Mapping[str, str]] = {"finding": "finding", "change": "change"}

    @property
    def finding(self) -> str:
        """The finding of the audit after training."""
        return self.after.finding

    @property
    def exit_status(self) -> int:
        """What a command returns to the shell: that of the audit after training."""
        return self.after.exit_status

    @property
    def change(self) -> dict[str, Any]:
        """Accuracy after training minus that before, overall and for every kind of pair."""
        before, after = self.before.accuracy, self.after.accuracy
        return {"overall": after.overall - before.overall, "matrix": after.matrix - before.matrix}

    def table(self) -> list[dict[str, Any]]:
        """Return one row for each kind of pair, with its accuracy before and after."""
        kinds = product(self.after.accuracy.groups, repeat=2)
        rates = (one.accuracy.matrix.ravel().tolist() for one in (self.before, self.after))
        return [
            {"better": better, "worse": worse, "before": before, "after": after}
            for (better, worse), before, after in zip(kinds, *rates, strict=True)
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix after training as a heat map."""
        return self.after.accuracy.plot(ax)

    def section(self) -> Section:
        """Return what is told: the audit after training, what the goal cost, and the frontier."""
        after, training = self.after.accuracy.section(), self.training.section()
        goals = " and ".join(self.training.goals)
        limit = f"with a slack of {self.training.slack:g}"
        done = "Trained" if self.adjusted is None else "Scores of groups moved"
        told = (
            f"Model written to {self.output}. {done} for {goals} "
            f"{limit if self.training.form == 'constrained' else 'in the robust form'} on "
            f"{several(self.rows['trained'], 'row')}, audited on "
            f"{count(self.rows['audited'])} others; seed {self.seed}."
        )
        if self.after.accuracy.labels != "binary" and self.training.goals != (PARITY,):
            told += " Training uses raw accuracies; the audit tests standardised ones."
        before = f"Before, without a goal: {self.before.finding}; after: {self.after.finding}."
        grids = (_costs(self), *_beside(self), *after.grids)
        lists = {**after.lists, **{f"{k} on training": v for k, v in training.lists.items()}}
        if self.after.parity is not None:
            parity = self.after.parity.section()
            after = _put_on_top(self, after, parity)
            tests = replace(parity.grids[0], title=f"Tests of {PARITY}")
            grids, lists = (*grids, tests), {**parity.lists, **lists}
        return replace(
            after,
            sentences=(
                *after.sentences[:1],
                before,
                *_against_a_shift(self),
                *after.sentences[1:],
                visible(told),
            ),
            charts=(*after.charts, *_frontier(self), *training.charts),
            grids=(*grids, *_coefficients(self), *training.grids),
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
    """Return the accuracies of all pairs, each group and each kind of pair, before and after."""
    rows = [
        (
            visible(one.what),
            *(_number(one, value) for value in (one.before, one.after)),
            _signed_number(one, one.change),
            interval(one.low, one.high),
        )
        for one in result.changes[:LISTED]
    ]
    return Grid(
        title="Accuracy on rows that training did not see, and what the goal changed",
        header=("better > worse", "without a goal", "with it", "change", "95% interval"),
        rows=tuple(rows),
    )


def _number(change: ScoreChange, value: float) -> str:
    return f"{value:.4g}" if change.what == ERROR else rate(value)


def _signed_number(change: ScoreChange, value: float) -> str:
    return f"{value:+.4g}" if change.what == ERROR else signed(value)


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
    """Describe whether training did better than shifting the scores of one group by one number."""
    one = result.against
    if one is None:
        return ()
    shifted = next(method for method in result.methods if method.name == MOVED["shift"])
    trained = next(method for method in result.methods if method.name == TRAINED)
    ways = (
        f"largest difference {rate(trained.largest_difference)} (trained) and "
        f"{rate(shifted.largest_difference)} (shifted)"
    )
    what = "squared error" if one.what == ERROR else "accuracy over all pairs"
    told = [_signed_number(one, value) for value in (one.change, one.low, one.high)]
    change = f"{told[0]} (95% interval {told[1]} to {told[2]})"
    verdict = _verdict(one, trained, shifted, result.training.slack)
    return (
        f"Training {verdict} shifting the scores of one group by a number, which needs the groups "
        f"when scoring: {what} {change}; {ways}.",
    )


def _verdict(change: ScoreChange, trained: Method, shifted: Method, slack: float) -> str:
    """Say which of two ways is shown to lose less; at a larger difference that is no victory."""
    better, worse = change.low > 0, change.high < 0
    if change.what == ERROR:
        better, worse = worse, better
    limits = max(slack, shifted.largest_difference), max(slack, trained.largest_difference)
    if better:
        missed = trained.largest_difference > limits[0]
        return "costs less, but misses the goal by more, than" if missed else "beats"
    if worse:
        missed = shifted.largest_difference > limits[1]
        return "costs more, but misses the goal by less, than" if missed else "does worse than"
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


def _coefficients(result: TrainedScorer | TrainedOnJudgments) -> tuple[Grid, ...]:
    rows = [(visible(name), f"{slope:+.4g}") for name, slope in result.coefficients.items()]
    header, shown = ("feature", "coefficient"), tuple(rows[:LISTED])
    return (Grid(title="Coefficients", header=header, rows=shown),) if rows else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOnJudgments(TrainingAnswer):
    """A score learned from judgments, with audits on judgments of items that training did not see.

    Attributes
    ----------
    output : str
        The model file.
    coefficients : mapping of str to float
        Of the features, in their units; empty where the score is not linear.
    training : Training
        What was asked, and what came out on the judgments chosen by.
    before, after : Audit
        Comparative separation of a score without a goal and of the trained one.
    judgments : mapping of str to int
        Judgments trained on and audited, ties among them, and those between the items of both,
        which were used for neither.
    adjusted : bool
        Whether evaluators' leans and sharpness were taken out of training.
    seed : int
        Of whatever was drawn at random.
    """

    output: str
    coefficients: Mapping[str, float]
    training: Training
    before: Audit
    after: Audit
    judgments: Mapping[str, int]
    adjusted: bool
    seed: int

    DERIVED: ClassVar[Mapping[str, str]] = {"finding": "finding"}

    @property
    def finding(self) -> str:
        """The finding of the audit after training."""
        return self.after.finding

    @property
    def exit_status(self) -> int:
        """What a command returns to the shell: that of the audit after training."""
        return EXIT_STATUS[self.after.finding]

    def table(self) -> list[dict[str, Any]]:
        """Return one row for each kind of pair, with its agreement before and after."""
        before = {one.of: one.rate for one in self.before.rates}
        return [
            {"pairs": one.of, "judgments": one.trials, "before": before[one.of], "after": one.rate}
            for one in self.after.rates
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the audit after training."""
        return self.after.plot(ax)

    def section(self) -> Section:
        """Return what is told: the audit after training, and how it compares."""
        after, training = self.after.section(), self.training.section()
        before = f"Before, without a goal: {self.before.finding}; after: {self.after.finding}."
        lists = {f"{name} on training": told for name, told in training.lists.items()}
        return replace(
            after,
            sentences=(*after.sentences[:1], before, *after.sentences[1:], visible(self._words())),
            grids=(_agreement(self), *after.grids, *_coefficients(self), *training.grids),
            charts=(*after.charts, *training.charts),
            lists={**after.lists, **lists},
        )

    def _words(self) -> str:
        many, training = self.judgments, self.training
        goals = " and ".join(training.goals)
        limit = f"with a slack of {training.slack:g}"
        told = (
            f"Model written to {self.output}. Trained for {goals} "
            f"{limit if training.form == 'constrained' else 'in the robust form'} on "
            f"{several(many['trained'], 'judgment')}, audited on {count(many['audited'])} of other "
            f"items; seed {self.seed}."
        )
        if many["between"]:
            told += f" {count(many['between'])} between these items were used for neither."
        if many["ties"]:
            told += f" {several(many['ties'], 'tie')} carried no order and were left out."
        if self.adjusted:
            told += " Training took out evaluators' leans; the audit takes judgments at face value."
        return told


def _agreement(result: TrainedOnJudgments) -> Grid:
    rows = tuple(
        (
            visible(row["pairs"]),
            count(row["judgments"]),
            rate(row["before"]),
            rate(row["after"]),
            signed(row["after"] - row["before"]),
        )
        for row in result.table()[:LISTED]
    )
    header = ("better > worse", "judgments", "without a goal", "trained", "change")
    return Grid(title="Agreement on items that training did not see", header=header, rows=rows)
