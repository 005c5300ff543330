"""Every command that has a result, on small files with hostile names: its JSON and its page."""

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from comparity.cli import main

__all__ = ["COMMANDS", "Printed", "Printer", "printer"]

F, M = "<b>women", "$men & 男"
POLICY = """
[[audit]]
name = "<i>hiring"
notion = "separation"
file = "people.csv"
label = "hired"
prediction = "model"
sensitive = "sex"

[[audit]]
name = "order"
notion = "pairwise"
file = "people.csv"
label = "grade"
score = "score"
sensitive = "sex"
undecided = "allow"
"""
JUDGED = "judgments.csv --items judged.csv --item id"
RANKED = f"{JUDGED} --sensitive sex --evaluator judge"
RATES = "--shares 0.5,0.5 --base-rates 0.5,0.5 --groups <b>f,m"
TRAINED = "people.csv --features age,test --label grade --sensitive sex --steps 20 --output m.json"
COMMANDS = {
    "separation": "separation people.csv --label hired --prediction model --sensitive sex",
    "intersections": "separation people.csv --label hired --prediction model "
    "--sensitive sex,town --intersection --looks 1/3",
    "comparative": f"comparative {RANKED} --score score",
    "standardised": f"comparative {RANKED} --score score --reference grade",
    "disjoint": f"comparative {JUDGED} --sensitive sex --score score --method disjoint",
    "binary pairs": "pairwise people.csv --label hired --score score --sensitive sex",
    "graded pairs": "pairwise people.csv --label grade --score score --sensitive sex --query town",
    "measured pairs": "pairwise people.csv --label test --score score --sensitive sex "
    "--pair-weight difference --notions marginal,symmetric",
    "pairs by age": "pairwise people.csv --label grade --score score --sensitive age --continuous",
    "two raters": "relative people.csv --first test --second score --sensitive sex "
    "--permutations 19",
    "two raters by age": "relative people.csv --first test --second score --sensitive age "
    "--continuous --permutations 19",
    "raters": "relative people.csv --raters test,score,age,grade --sensitive sex",
    "bridge": "relative people.csv --on others.csv --features age,grade --first test "
    "--second score --sensitive sex",
    "barp": f"rank {RANKED}",
    "barp and model": f"rank {RANKED} --score score",
    "barp of two": f"rank {RANKED.replace('sex', 'sex,town')} --suggest --anchor zero_mean_bias",
    "bradley-terry": f"rank {JUDGED} --model bt",
    "crowdbt": f"rank {RANKED} --model crowdbt",
    "factorbt": f"rank {RANKED} --model factorbt",
    "rank centrality": f"rank {JUDGED} --sensitive sex --model rankcentrality",
    "metrics": "metrics people.csv --label hired --prediction model --sensitive sex "
    "--privileged <b>women",
    "few metrics": "metrics people.csv --label hired --prediction model --sensitive town "
    "--privileged here --select --compare yes",
    "metrics without bound": "metrics people.csv --label hired --prediction right --sensitive sex "
    "--privileged <b>women --compare yes",
    "plan of decisions": f"plan separation --tpr 0.8,0.7 --fpr 0.4,0.3 --n 400 {RATES}",
    "plan for a margin": f"plan separation --tpr 0.8,0.8 --fpr 0.4,0.4 --power 0.8 {RATES} "
    "--margin 0.1",
    "plan of pairs": f"plan comparative --tpr 0.8,0.7 --tnr 0.6,0.7 --n-pairs 900 {RATES}",
    "plan of shared items": "plan comparative --tpr 0.8,0.7 --tnr 0.6,0.7 --n-pairs 400 "
    f"--n-items 60 {RATES}",
    "plan of a panel": "plan rank --lean 0.8 --n-items 60 --n-evaluators 8 --share 0.3 --power 0.8",
    "plan of a panel out of reach": "plan rank --lean -0.4 --n-items 20 --n-evaluators 8 "
    "--power 0.8 --cautious",
    "plan out of reach": "plan comparative --tpr 0.8,0.5 --tnr 0.6,0.6 --power 0.9 "
    f"--n-items 4 {RATES}",
    "training": f"train {TRAINED} --held-out 0.4 --seed 1",
    "training for parity": f"train {TRAINED} --goal statistical_parity,marginal --seed 2",
    "weights": "weights people.csv --label hired --sensitive sex,town --output w.csv",
    "gate": "gate policy.toml",
    "any moment": f"comparative {RANKED} --score score --anytime",
    "impact": "impact people.csv --selected model --sensitive sex,town --four-fifths",
    "judges": "judges votes.jsonl --show-text",
    "chosen pairs": "pairs judged.csv --item id --sensitive sex --judges 4 --budget 60 --seed 1",
}
"""What is typed; an underscore stands for a space within a word."""


@dataclass(frozen=True)
class Printed:
    """What a command printed and wrote."""

    content: dict[str, Any]
    page: str
    path: Path
    terminal: str


Printer = Callable[[str], Printed]


def people(n: int, seed: int) -> polars.DataFrame:
    """Return people with decisions, marks and scores."""
    rng = np.random.default_rng(seed)
    man = rng.random(n) < 0.5
    grade, age = rng.integers(0, 4, n), rng.integers(20, 60, n)
    test = grade + rng.normal(size=n)
    score = test + 0.6 * man + rng.normal(size=n)
    return polars.DataFrame(
        {
            "id": [f"{row:03}" for row in range(n)],
            "sex": np.where(man, M, F),
            "town": rng.choice(["here", "there"], n),
            "age": age,
            "grade": grade,
            "test": test.round(3),
            "score": score.round(3),
            "hired": (grade > 1).astype(int),
            "model": (score > 2).astype(int),
            "right": (grade > 1).astype(int),
            "yes": np.ones(n, int),
        }
    )


def judgments(table: polars.DataFrame, n: int) -> polars.DataFrame:
    """Return judgments of pairs of people by twenty judges, of whom one leans."""
    rng = np.random.default_rng(8)
    pairs = np.array([rng.choice(len(table), 2, replace=False) for _ in range(n)])
    judge = rng.integers(0, 20, n)
    lean = 2.0 * (judge == 0)[:, None] * (table["sex"] == M).to_numpy()[pairs]
    seen = table["test"].to_numpy()[pairs] + lean + rng.gumbel(size=(n, 2))
    better = np.where(seen[:, 0] > seen[:, 1], 0, 1)
    ids = table["id"].to_numpy()[pairs]
    return polars.DataFrame(
        {
            "better": ids[np.arange(n), better],
            "worse": ids[np.arange(n), 1 - better],
            "judge": [f"<judge> {number}" for number in judge],
        }
    )


def votes(n: int) -> str:
    """Return votes of two people and two judges on answers of three models, with their texts."""
    rng = np.random.default_rng(9)
    models = ["<b>gpt-4", "claude & co", "男"]
    rows = []
    for prompt, (one, two) in product(range(n), ((0, 1), (1, 2), (2, 0))):
        # Seats are drawn: a fixed order of answerers would tell nothing of them.
        one, two = rng.permutation([one, two])
        texts = ["**Yes** " + "word " * int(size) for size in rng.integers(5, 90, 2)]
        row = {"question_id": prompt, "turn": 1, "model_a": models[one], "model_b": models[two]}
        for side, text in zip("ab", texts, strict=True):
            row[f"conversation_{side}"] = [{"role": "assistant", "content": text}]
        lead = rng.normal()
        for judge in ("expert_1", "expert_2", "<judge> 1", "gpt-4"):
            winner = "model_a" if lead + rng.logistic(0, 0.5) > 0 else "model_b"
            rows.append(json.dumps(row | {"judge": judge, "winner": winner}))
    return "\n".join(rows)


@pytest.fixture(scope="session")
def printer(tmp_path_factory: pytest.TempPathFactory) -> Printer:
    """Return a function that runs a command once, in a folder with the files."""
    folder = tmp_path_factory.mktemp("commands")
    table = people(300, seed=1)
    table.write_csv(folder / "people.csv")
    people(300, seed=2).write_csv(folder / "others.csv")
    table.head(40).write_csv(folder / "judged.csv")
    judgments(table.head(40), 900).write_csv(folder / "judgments.csv")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    (folder / "votes.jsonl").write_text(votes(40), encoding="utf-8")

    def printed(words: list[str]) -> str:
        out = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(out):
            with (
                contextlib.redirect_stderr(io.StringIO()) as said,
                pytest.raises(SystemExit) as left,
            ):
                main(words)
            assert left.value.code != 2, said.getvalue()
        return out.getvalue()

    @cache
    def run(name: str) -> Printed:
        words = [word.replace("_", " ") for word in COMMANDS[name].split()]
        written, path = folder / f"{name}.html", folder / f"{name}.json"
        has_page = words[0] != "weights"
        text = printed([*words, "--json", *(["--html", str(written)] if has_page else [])])
        path.write_text(text, encoding="utf-8")
        return Printed(
            content=json.loads(text),
            page=written.read_text(encoding="utf-8") if has_page else "",
            path=path,
            terminal=printed(words),
        )

    return run
