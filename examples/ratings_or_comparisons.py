"""Is it quicker to rate items or to compare pairs? A study of both, whose truth is known.

200 texts have a quality that nobody sees, and a model scores them. Simulated judges join one
study; a lot decides who rates texts one by one and who compares pairs. A look at a text is noisier
when it is rated (1.2) than when it is compared (0.6), and a rating takes 6 seconds where a
comparison takes 9.8. The script

1. plans how many judges are needed,
2. makes a study with ``task = "both"`` and lets the judges answer it,
3. compares the tasks, as ``comparity collect compare`` does,
4. compares 1,000 judges of each task in the same world, which is nearly the truth.

Needs ``pip install 'comparity[collect]'``. Run as
``python examples/ratings_or_comparisons.py [JUDGES]``.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from comparity import compare_tasks, plan_tasks
from comparity.collect.export import export_study
from comparity.collect.joined_judge import Assignment
from comparity.collect.options import CollectOptions
from comparity.collect.setup import Items
from comparity.collect.store import Store, create_store, open_store
from comparity.collect.study import study_of
from comparity.tasks.compare import compare_folder
from comparity.tasks.result import TaskComparison

N_ITEMS, EACH, POINTS = 200, 40, 7
NOISE = {"rate": 1.2, "compare": 0.6}
SECONDS = {"rate": 6.0, "compare": 9.8}
NOW = 1_700_000_000.0

rng = np.random.default_rng(11)
QUALITY = rng.normal(size=N_ITEMS)
SCORE = QUALITY + 0.8 * rng.normal(size=N_ITEMS)
GROUP = np.array(["a", "b"] * (N_ITEMS // 2))


@dataclass
class Person:
    """A judge who leans a little, and has a pace."""

    task: str
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.lean = 0.2 * self.rng.normal()
        self.pace = SECONDS[self.task] * np.exp(0.4 * self.rng.normal())

    def look(self, items: Any) -> Any:
        """Perceive items, each independently."""
        noise = NOISE[self.task] * self.rng.normal(size=np.shape(items))
        return QUALITY[items] + self.lean * (GROUP[items] == "b") + noise

    def rate(self, items: Any) -> Any:
        """Return points of the scale."""
        return np.clip(np.rint(self.look(items) / 0.6 + (POINTS + 1) / 2), 1, POINTS).astype(int)

    def milliseconds(self, n: int) -> Any:
        """Return how long some answers take."""
        return np.rint(1000 * self.pace * np.exp(0.5 * self.rng.normal(size=n))).astype(int)


def make_study(path: Path, judges: int) -> None:
    """Write a study of both tasks."""
    options = CollectOptions(
        question="Which text is clearer?",
        rating_question="How clear is this text?",
        task="both",
        scale=POINTS,
        show="text",
        sensitive="group",
        score="score",
        judges=judges,
        each=EACH,
        swapped_share=0.1,
        shared_share=0.25,
        seed=1,
    )
    items = Items(
        names=[f"text {place}" for place in range(N_ITEMS)],
        shown=[[f"{place}"] for place in range(N_ITEMS)],
        sensitive={"group": GROUP.tolist()},
        scores=SCORE.tolist(),
    )
    create_store(path, study_of(options), items, now=NOW)


def answer_all(store: Store, token: str, rng: np.random.Generator) -> None:
    """Let one judge answer everything."""
    judge = store.judge_of(token, now=NOW)
    assert judge is not None
    person = Person(judge.task, rng)
    while (shown := store.next_assignment(judge, now=NOW)) is not None:
        store.insert_judgment(
            judge,
            assignment=shown.public_id,
            outcome=answer(person, shown),
            client_id=shown.public_id,
            milliseconds=int(person.milliseconds(1)[0]),
            now=NOW,
        )


def answer(person: Person, shown: Assignment) -> str:
    """Return what a judge says of what is shown."""
    left, right = (int(side.shown[0].text) for side in (shown.left, shown.right))
    if person.task == "rate":
        return str(person.rate(left))
    seen = person.look(np.array([left, right]))
    return "left" if seen[0] > seen[1] else "right"


def draw(rng: np.random.Generator, n_a: int, n_b: int) -> Any:
    """Return so many different items of either group, in a random order."""
    both = [rng.choice(N_ITEMS // 2, n, replace=False) for n in (n_a, n_b)]
    return rng.permutation(np.concatenate([2 * both[0], 2 * both[1] + 1]))


def large_study(judges: int, rng: np.random.Generator) -> TaskComparison:
    """Compare the tasks of so many judges of each that little is left to chance."""
    ratings, comparisons = [], []
    for number in range(judges):
        person = Person("rate", rng)
        items = draw(rng, EACH // 2, EACH // 2)
        rows = zip(items, person.rate(items), person.milliseconds(EACH), strict=True)
        ratings += [(f"r{number}", item, rating, ms) for item, rating, ms in rows]
        person = Person("compare", rng)
        # Half of the pairs are across groups, and as many within either: as in the study.
        pairs = np.array([draw(rng, n_a, 2 - n_a) for n_a in (0, 1, 1, 2) * (EACH // 4)])
        left_first = np.subtract(*person.look(pairs).T) > 0
        rows = zip(pairs, left_first, person.milliseconds(EACH), strict=True)
        comparisons += [
            (f"c{number}", *pair, "left" if first else "right", ms) for pair, first, ms in rows
        ]
    named = ("evaluator", "item", "rating", "milliseconds")
    rated = dict(zip(named, map(np.array, zip(*ratings, strict=True)), strict=True))
    named = ("evaluator", "left", "right", "winner", "milliseconds")
    compared = dict(zip(named, map(np.array, zip(*comparisons, strict=True)), strict=True))
    items = {"item": np.arange(N_ITEMS), "group": GROUP, "score": SCORE}
    return compare_tasks(compared, rated, items, sensitive="group", score="score")


def main(judges: int = 0, large: int = 1000, folder: Path | None = None) -> None:
    """Plan, collect, compare, and look at the truth."""
    home = Path(folder or tempfile.mkdtemp())
    plan = plan_tasks(ratio=0.5, agreement=0.72)
    print(f"planned: {plan.n_minutes} judges for each task, to find a ratio of minutes of 0.5")
    judges = judges or 2 * plan.n_minutes
    make_study(home / "study.db", judges)
    with open_store(home / "study.db") as store:
        seeds = np.random.default_rng(12).spawn(judges)
        invited = store.insert_judges(judges, now=NOW)
        for (_, token), seed in zip(invited, seeds, strict=True):
            answer_all(store, token, seed)
        export_study(store, home / "collected")
    found = compare_folder(home / "collected")
    found.to_html(home / "compared.html")
    print(f"\n{found}\n")
    truth = large_study(large, np.random.default_rng(13))
    for outcome in ("minutes", "time", "agreement"):
        one, true = found[outcome], truth[outcome]
        holds = one.interval.low <= true.value <= one.interval.high
        print(
            f"{outcome}: {one.scale} {one.value:.2f}, with {large:,} judges each {true.value:.2f}; "
            f"inside the interval: {'yes' if holds else 'no'}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
