"""The same panels with equal and with own sharpness, side by side.

A judge who decides more sharply than others puts all good answers further ahead, and a model that
takes everybody for equally sharp calls that a lean. What changes:

- LLMFAO (github.com/dustalov/llmfao, CC BY 4.0): people, GPT-3.5 and GPT-4 on answers of 59 models,
  by the family of the model, and by the length of the answer,
- MT-bench (human judgments of FastChat, CC BY 4.0): people and GPT-4 on answers of six models,
- the people of LLMFAO one by one: 124 workers, about 72 judgments each.

Run as ``python examples/equal_or_own_sharpness.py DIRECTORY`` with the folder that holds
``llmfao`` and ``judge_logs/mtbench_human`` (or set ``COMPARITY_DATA``).
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from comparity import barp
from comparity.ranking.exposure import kendall_tau
from comparity.ranking.result import BiasedRanking

FAMILIES = ("Anthropic", "Meta", "OpenAI")
LLMFAO = {"people": "crowd", "GPT-3.5": "gpt3-crowd", "GPT-4": "gpt4-crowd"}
MTBENCH = {"people": "human", "GPT-4": "gpt4_pair"}
Pair = dict[str, BiasedRanking]


def fit_both(**given: Any) -> Pair:
    """Rank with equal and with own sharpness."""
    return {kind: barp(**given, sharpness=kind) for kind in ("equal", "own")}


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_llmfao(folder: Path) -> list[dict[str, Any]]:
    """Return judgments of all three judges, with the name of the winner."""
    rows = []
    for judge, name in LLMFAO.items():
        with (folder / f"llmfao/{name}-comparisons.csv").open(encoding="utf-8", newline="") as file:
            rows += [{**row, "judge": judge} for row in csv.DictReader(file)]
    for row in rows:
        row["winner"] = row.get(row["winner"], "tie")
    return rows


def families(folder: Path) -> dict[str, str]:
    """Return the family of each model that is of one of the three."""
    models = read_lines(folder / "llmfao/results.jsonl")
    return {one["name"]: one["org"] for one in models if one["org"] in FAMILIES}


def fit_llmfao(folder: Path) -> Pair:
    """Compare models by family; people are trusted, and judgments of a prompt go together."""
    return _fit_items(read_llmfao(folder), families(folder), ("left", "right"), "prompt")


def fit_lengths(folder: Path) -> Pair:
    """Compare answers by length: longer than the median of their prompt, or not."""
    rows = read_llmfao(folder)
    for row in rows:
        names = {side: f"{row[side]} to {row['prompt']}" for side in ("left", "right", "winner")}
        row.update(names, winner=names["winner"] if row["winner"] != "tie" else "tie")
    results = read_lines(folder / "llmfao/results.jsonl")
    lengths: dict[int, dict[str, int]] = {}
    for one in results:
        name = f"{one['name']} to {one['prompt']}"
        lengths.setdefault(one["prompt"], {})[name] = len(one["result"])
    long = {
        name: "long"
        for answers in lengths.values()
        for name, length in answers.items()
        if length > np.median([*answers.values()])
    }
    return _fit_items(rows, long, ("left", "right"), "prompt")


def fit_workers(folder: Path) -> Pair:
    """Compare models by family, people one by one, as a sample of people."""
    rows = [row for row in read_llmfao(folder) if row["judge"] == "people"]
    people = [{**row, "judge": row["worker"]} for row in rows]
    openai = {name: one for name, one in families(folder).items() if one == "OpenAI"}
    return _fit_items(people, openai, ("left", "right"), "prompt", anchor="zero mean bias")


def fit_mtbench(folder: Path) -> Pair:
    """Compare models by family; a verdict that changes with the seats is a tie."""
    rows = [
        {**row, "judge": judge, "winner": row.get(row["winner"], "tie")}
        for judge, name in MTBENCH.items()
        for row in read_lines(folder / f"judge_logs/mtbench_human/{name}.jsonl")
    ]
    openai = {"gpt-4": "OpenAI", "gpt-3.5-turbo": "OpenAI"}
    return _fit_items(rows, openai, ("model_a", "model_b"), "question_id")


def _fit_items(
    rows: list[dict[str, Any]],
    group: dict[str, str],
    sides: tuple[str, str],
    prompt: str,
    anchor: Any = ("people",),
) -> Pair:
    items = sorted({row[side] for row in rows for side in sides})
    place = {name: position for position, name in enumerate(items)}
    first, second = (np.array([place[row[side]] for row in rows]) for side in sides)
    turned = np.array([row["winner"] == row[sides[1]] for row in rows])
    better, worse = np.where(turned, second, first), np.where(turned, first, second)
    return fit_both(
        comparisons=np.column_stack([better, worse]),
        evaluators=[row["judge"] for row in rows],
        sensitive_features=[group.get(name, "others") for name in items],
        reference="others",
        ties=[row["winner"] == "tie" for row in rows],
        cluster=[str(row[prompt]) for row in rows],
        anchor=anchor,
    )


PANELS: dict[str, Callable[[Path], Pair]] = {
    "LLMFAO, models by family": fit_llmfao,
    "LLMFAO, answers by length": fit_lengths,
    "MT-bench": fit_mtbench,
    "people of LLMFAO": fit_workers,
}


def report(found: Pair) -> None:
    """Print sharpness, biases where evaluators are few, counts, and how the order changes."""
    own, equal = found["own"], found["equal"]
    sharpness, tested = own.sharpness, equal.equal_sharpness
    assert sharpness is not None
    assert tested is not None
    low, high = np.quantile(sharpness.values, [0.1, 0.9])
    print(
        f"  sharpness of one in ten below {low:.2f}, of one in ten above {high:.2f}; that all are "
    )
    print(f"  equal: chi-square {tested.statistic:.0f}, df {tested.dof}, p {tested.p_value:.2g}")
    few = len(own.evaluators) < 5
    for name, value, ends in zip(
        own.evaluators, sharpness.values, sharpness.intervals(), strict=True
    ):
        if few:
            print(f"    {name:8s} {value:.2f} [{ends[0]:.2f}, {ends[1]:.2f}]")
    for kind, fit in found.items():
        apart, leaning = ((q <= 0.05).any(axis=1).sum() for q in (fit.centred_q, fit.cautious_q))
        print(f"  {kind}: {apart} of {len(fit.evaluators)} differ from the panel, {leaning} lean")
        for row in fit.bias_rows() if few else []:
            if row["low"] < row["high"]:
                ends = show_ends(row["cautious_low"], row["cautious_high"])
                print(f"    {row['evaluator']:8s} {row['contrast']:30s} {row['bias']:+.2f} {ends}")
    print(f"  tau of the two orders {kendall_tau(equal.scores, own.scores):.2f}")


def show_ends(low: float, high: float) -> str:
    """Return an interval as text."""
    return f"[{low:+.2f}, {high:+.2f}]"


def main(folder: Path) -> dict[str, Pair]:
    """Fit all panels both ways and print what changes."""
    fits = {}
    for name, fit_panel in PANELS.items():
        print(name)
        fits[name] = fit_panel(folder)
        report(fits[name])
    return fits


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("COMPARITY_DATA")
    if given is None:
        sys.exit(__doc__)
    try:
        main(Path(given))
    except FileNotFoundError as missing:
        sys.exit(f"{missing.filename} is not there.\n\n{__doc__}")
