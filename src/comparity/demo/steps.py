"""What ``comparity demo`` does, step by step, in a simulated year of hiring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from comparity.comparative.audit import audit_files
from comparity.counts.pairs import Cell
from comparity.datasets.simulated import GROUPS, Hiring, Round
from comparity.demo.story import Fact, FoundGap, Step, found_gaps
from comparity.errors import FileAccessError
from comparity.planning.plan import plan_comparative
from comparity.planning.result import ComparativePlan
from comparity.planning.section import plan_headline
from comparity.ranking.panel import PanelAudit, audit_against_panel
from comparity.ranking.rank import RankedPanel, rank_files
from comparity.ranking.result import BiasedRanking
from comparity.reports.sections import count, interval, rate, signed
from comparity.results.result import Result
from comparity.tables.outputs import write_csv
from comparity.training.rankers import FairRanker
from comparity.training.result import Training

Floats = NDArray[np.float64]

COMPARED = 30
POWER = 0.8
# What a binary quality would have to be judged by for a model to agree in about four of five pairs.
RATES = (0.9, 0.9)
GOAL_SLACK = 0.01
LEVEL = 0.05


class AuditChoices(TypedDict):
    """The choices of every audit of the demo."""

    alpha: float
    margin: float


class Demo:
    """One run: the world, what was found so far, and the steps in order.

    Parameters
    ----------
    directory : path
        Where files go.
    seed : int
        Seed of everything random.
    alpha, margin : float
        Of every audit.
    n_items : int
        Applicants of each round; each is compared thirty times.
    """

    def __init__(
        self, directory: Path, *, seed: int, alpha: float, margin: float, n_items: int
    ) -> None:
        self.directory, self.seed = directory, seed
        self.choices: AuditChoices = {"alpha": alpha, "margin": margin}
        self.world = Hiring()
        self.sizes = {"n_items": n_items, "n_judgments": n_items * COMPARED // 2}
        self.results: dict[str, Result] = {}
        self.weights: dict[str, Floats] = {}
        self._rng = np.random.default_rng(seed)

    def acts(self) -> Iterator[tuple[str, Callable[[], Step]]]:
        """Yield what is done next, in words, and how to do it."""
        yield "planning", self.plan
        yield "judging", self.judge
        yield "auditing against the judges", self.audit
        yield "finding who leans", self.find_who_leans
        yield "auditing against the bias-adjusted panel", self.audit_adjusted
        yield "training again", self.retrain
        yield "judging fresh applicants and auditing again", self.audit_again

    def plan(self) -> Step:
        """Plan the audit against the judges."""
        world = self.world
        plan = plan_comparative(
            tpr=RATES,
            tnr=RATES,
            shares=[0.5, 0.5],
            base_rates=[0.5, 0.5],
            groups=list(GROUPS),
            n_items=self.sizes["n_items"],
            n_evaluators=world.n_judges,
            power=POWER,
            **self.choices,
        )
        self.results["plan"] = plan
        answer = plan_headline(plan).partition(": ")[2]
        return Step(
            title="1. Plan",
            sentences=(
                f"How many judgments would show that a model agrees with {world.n_judges} judges "
                "equally often, if applicants were only good or bad? "
                f"{answer[:1].upper()}{answer[1:]}.".replace("..", "."),
                *self._said_of_size(plan),
            ),
        )

    def _said_of_size(self, plan: ComparativePlan) -> Iterator[str]:
        """Say how many judgments there will be, and what they are enough for."""
        n_items, n_judgments = map(count, self.sizes.values())
        why = ": to rank applicants takes more than to audit a model"
        if plan.size is None:
            yield f"More judgments of {n_items} applicants would not help; more applicants would."
            why = ""
        each = f"Each applicant is compared {COMPARED} times here"
        yield f"{each}, which is {n_judgments} judgments{why}."

    def judge(self) -> Step:
        """Draw last year, train a model on its judgments, and draw this year."""
        world = self.world
        last_year = world.draw(**self.sizes, rng=self._rng, prefix="l")
        self.weights["model"] = trained_on_judgments(last_year)
        self.now = world.draw(**self.sizes, rng=self._rng, prefix="a")
        self._write("", self.now)
        women = int((self.now.sex == "f").sum())
        return Step(
            title="2. Judge",
            sentences=(
                f"{count(len(self.now.sex))} applicants, {count(women)} of them women. The data "
                f"are simulated: women and men are equally good, and {world.n_leaning} of "
                f"{world.n_judges} judges favour men, by {world.lean:g} logits.",
                "The model was trained on last year's judgments by the same panel. It sees "
                f"{', '.join(world.features)}; not sex.",
            ),
        )

    def audit(self) -> Step:
        """Audit the model against the judges' answers, taken at face value."""
        audit = audit_files(
            *self._files(""),
            score="model",
            sensitive=("sex",),
            evaluator="judge",
            seed=self.seed,
            **self.choices,
        )
        self.results["model-judges"] = audit
        truth = self.world.gaps_with_judges(self.weights["model"].tolist())
        return Step(
            title="3. Audit against the judges",
            sentences=(
                "Does the model agree with the judges equally often, whether they prefer the woman "
                f"or the man? {audit.finding.capitalize()}. This does not show that the model is "
                "unbiased: it learned from the same judges.",
            ),
            gaps=found_gaps("model", audit.tests, truth),
        )

    def find_who_leans(self) -> Step:
        """Rank the applicants and say which judges lean."""
        self.panel = self._rank_panel("")
        self.results["panel"] = self.panel
        ranking = biased_ranking(self.panel)
        leans = self.world.leans[np.argsort(self.world.judge_names)]
        named = (ranking.q[:, 0] <= LEVEL)[np.argsort(ranking.evaluators)]
        right, wrong = int(named[leans > 0].sum()), int(named[leans == 0].sum())
        mean, error = float(ranking.mean_bias[0]), float(ranking.mean_bias_standard_errors[0])
        unit = 1.0 if ranking.unit == "logits" else self.world.spread
        ends = interval(mean - 1.96 * error, mean + 1.96 * error)
        others = self.world.n_judges - self.world.n_leaning
        return Step(
            title="4. Find who leans",
            sentences=(
                f"{right + wrong} of {self.world.n_judges} judges are found to favour a group, if "
                "women and men are equally good on average, as they are here.",
            ),
            facts=(
                Fact(about="judges who lean", true=f"{self.world.n_leaning}", found=f"{right}"),
                Fact(about=f"the {others} others, said to lean", true="0", found=f"{wrong}"),
                Fact(
                    about=f"mean bias toward men, in {_unit_of(ranking)}",
                    true=signed(float(leans.mean()) / unit),
                    found=f"{signed(mean)}\n{ends}",
                ),
            ),
        )

    def audit_adjusted(self) -> Step:
        """Audit the same model against the bias-adjusted panel."""
        audit = self.panel.audit
        assert audit is not None, "rank_files was asked for one"
        self.results["model-panel"] = audit
        return Step(
            title="5. Audit against the bias-adjusted panel",
            sentences=(
                "The judges' biases are removed from the order of the applicants. Does the same "
                "model agree with this order equally often, whether the woman or the man is "
                f"better? {audit.finding.capitalize()}.",
            ),
            gaps=self._beside("model", audit),
        )

    def retrain(self) -> Step:
        """Train on bias-adjusted scores, without and with a goal."""
        labels = self.panel.ranking.scores
        for name, goal in (("relabelled", None), ("revised", "cross-group")):
            ranker = FairRanker(goal=goal, slack=GOAL_SLACK, random_state=self.seed)
            ranker.fit(self.now.features, labels, sensitive_features=self.now.sex)
            self.weights[name] = ranker.coef_
            self.training: Training = ranker.training_
        self.results["training"] = self.training
        return Step(
            title="6. Train again",
            sentences=(
                "Two models learn the bias-adjusted scores: 'relabelled' without a constraint, and "
                "'revised' with equal agreement in pairs of a woman and a man, up to a difference "
                f"of {GOAL_SLACK:g}.",
                "References understate women, so better labels alone are not enough.",
            ),
            facts=(
                Fact(
                    about="revised: gap in mixed pairs, either sign, as training saw it",
                    true=rate(abs(next(iter(self._truth("revised").values())))),
                    found=rate(self.training.best.largest_difference),
                ),
            ),
        )

    def audit_again(self) -> Step:
        """Let the panel judge fresh applicants, and audit all models on them."""
        self.fresh = self.world.draw(**self.sizes, rng=self._rng, prefix="z")
        self._write("fresh_", self.fresh)
        panel = self._rank_panel("fresh_")
        self.results["fresh-panel"] = panel
        audits = {"model": panel.audit}
        for name in ("relabelled", "revised"):
            audits[name] = audit_against_panel(
                panel.ranking,
                self._scores(self.fresh)[name],
                sensitive_features=self.fresh.sex,
                **self.choices,
            )
        found = {name: audit for name, audit in audits.items() if audit is not None}
        self.results |= {f"{name}-fresh": audit for name, audit in found.items()}
        words = "; ".join(f"{name}: {audit.finding}" for name, audit in found.items())
        return Step(
            title="7. Audit again, on fresh applicants",
            sentences=(f"{words}.",),
            gaps=tuple(gap for name, audit in found.items() for gap in self._beside(name, audit)),
            facts=tuple(
                Fact(
                    about=f"{name}: pairs in the right order",
                    true=rate(self._accuracy(name)),
                    found=f"{rate(audit.at_face_value.overall)}\nas the panel sees it",
                )
                for name, audit in found.items()
            ),
        )

    def _accuracy(self, name: str) -> float:
        """Return the true share of pairs that a model orders as quality does."""
        weights = self.weights[name].tolist()
        cells = [Cell(better, worse) for better in GROUPS for worse in GROUPS]
        return float(np.mean([self.world.agreement_with_quality(weights, one) for one in cells]))

    def _truth(self, name: str) -> dict[str, float]:
        return self.world.gaps_with_quality(self.weights[name].tolist())

    def _beside(self, name: str, audit: PanelAudit) -> tuple[FoundGap, ...]:
        return found_gaps(name, audit.tests, self._truth(name))

    def _rank_panel(self, prefix: str) -> RankedPanel:
        return rank_files(
            *self._files(prefix),
            sensitive=("sex",),
            evaluator="judge",
            score="model",
            **self.choices,
        )

    def _files(self, prefix: str) -> tuple[Path, Path]:
        return self.directory / f"{prefix}judgments.csv", self.directory / f"{prefix}items.csv"

    def _scores(self, one: Round) -> dict[str, Floats]:
        return {name: np.round(one.features @ w, 6) for name, w in self.weights.items()}

    def _write(self, prefix: str, one: Round) -> None:
        judgments, items = self._files(prefix)
        features = np.round(one.features, 6).T
        described = dict(zip(self.world.features, features, strict=True))
        write_table(items, {"item": one.items, "sex": one.sex, **described, **self._scores(one)})
        better, worse = one.items[one.pairs].T
        judges = self.world.judge_names[one.judges]
        write_table(judgments, {"judge": judges, "better": better, "worse": worse})


def biased_ranking(panel: RankedPanel) -> BiasedRanking:
    """Return the ranking of a panel, which knows its evaluators' biases."""
    assert isinstance(panel.ranking, BiasedRanking), "barp was asked for"
    return panel.ranking


def _unit_of(ranking: BiasedRanking) -> str:
    return "logits" if ranking.unit == "logits" else "SDs of quality"


def trained_on_judgments(past: Round) -> Floats:
    """Return the weights that make a judge's preference most likely: a logistic regression."""
    from sklearn.linear_model import LogisticRegression

    better, worse = past.features[past.pairs.T]
    # Every other pair is reversed, so that there are two classes to tell apart.
    turned = np.where(np.arange(len(better)) % 2, 1, -1)
    learned = LogisticRegression(fit_intercept=False, C=1e6).fit(
        (better - worse) * turned[:, None], turned
    )
    return np.asarray(learned.coef_[0], dtype=np.float64)


def write_table(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns as CSV into a folder, which is made; one that cannot be is bad input."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileAccessError(str(path.parent), str(error.strerror), doing="make") from error
    write_csv(path, columns, [column.tolist() for column in columns.values()])
