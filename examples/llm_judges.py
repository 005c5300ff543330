"""What LLM judges favour beyond what people do: a seat, a model family, long answers.

LLMFAO (github.com/dustalov/llmfao, CC BY 4.0) has 2,139 pairs of answers by 59 language models,
each judged by about four people, by GPT-3.5 and by GPT-4. The three judges are three evaluators;
what a judge gives to the answer on the left is its seat effect; the people are trusted, so a bias
of an LLM judge is what it gives to a group of answers beyond what people give.

Run as ``python examples/llm_judges.py DIRECTORY`` with the folder that holds ``llmfao`` (or set
``COMPARITY_DATA``).
"""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from comparity import barp
from comparity.ranking.result import BiasedRanking

JUDGES = {"people": "crowd", "GPT-3.5": "gpt3-crowd", "GPT-4": "gpt4-crowd"}
FAMILIES = ("Anthropic", "Meta", "OpenAI")


def judgments(folder: Path) -> list[dict[str, str]]:
    """Return the judgments of all three judges on the same pairs."""
    rows = []
    for judge, name in JUDGES.items():
        with (folder / f"{name}-comparisons.csv").open(encoding="utf-8", newline="") as file:
            rows += [{**row, "judge": judge} for row in csv.DictReader(file)]
    return rows


def answers(folder: Path) -> tuple[dict[tuple[str, int], int], dict[str, str]]:
    """Return the length of every answer, by model and prompt, and the family of every model."""
    with (folder / "results.jsonl").open(encoding="utf-8") as file:
        results = [json.loads(line) for line in file]
    length = {(one["name"], one["prompt"]): len(one["result"]) for one in results}
    family = {one["name"]: one["org"] if one["org"] in FAMILIES else "others" for one in results}
    return length, family


def fit(rows: list[dict[str, str]], items: list[Any], group: list[str], **choices: Any) -> Any:
    """Rank items from judgments, with a bias and a seat effect for each judge."""
    place = {item: position for position, item in enumerate(items)}
    by_answer = isinstance(items[0], tuple)
    sides = [
        [place[(row[side], int(row["prompt"])) if by_answer else row[side]] for row in rows]
        for side in ("left", "right")
    ]
    left, right = np.array(sides)
    won = np.array([row["winner"] for row in rows])
    turned = won == "right"
    return barp(
        np.column_stack([np.where(turned, right, left), np.where(turned, left, right)]),
        evaluators=[row["judge"] for row in rows],
        sensitive_features=group,
        ties=won == "tie",
        seats=np.where(turned, -1, 1),
        seat_by_evaluator=True,
        anchor=["people"],
        sharpness="equal",
        **choices,
    )


def report(found: BiasedRanking) -> None:
    """Print every bias of every judge with its interval, and what the left is worth to people."""
    intervals = found.bias_intervals()
    for column, contrast in enumerate(found.contrasts):
        for row, judge in enumerate(found.evaluators):
            low, high = intervals[row, column]
            fixed = "  (trusted)" if low == high else f"  [{low:+.2f}, {high:+.2f}]"
            print(f"  {contrast!s:32s} {judge:8s} {found.bias[row, column]:+.2f}{fixed}")
    seat = found.seat
    assert seat is not None
    low, high, _ = seat.interval()
    print(f"  {seat.name:41s} {seat.value:+.2f}  [{low:+.2f}, {high:+.2f}]")


def main(folder: Path) -> dict[str, BiasedRanking]:
    """Fit models by family, then answers by length, and print what judges favour."""
    data = folder / "llmfao"
    rows = judgments(data)
    length, family = answers(data)
    models = sorted({row[side] for row in rows for side in ("left", "right")})
    print("Models by family (logits; what a judge gives beyond what people give)")
    families = fit(rows, models, [family[name] for name in models], reference="others")
    report(families)

    written = sorted({(row[s], int(row["prompt"])) for row in rows for s in ("left", "right")})
    middle = {
        prompt: np.median([length[answer] for answer in written if answer[1] == prompt])
        for _, prompt in written
    }
    long = ["long" if length[answer] > middle[answer[1]] else "short" for answer in written]
    print("Answers longer than the median of their prompt")
    lengths = fit(rows, written, long, reference="short")
    report(lengths)
    return {"families": families, "lengths": lengths}


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("COMPARITY_DATA")
    if given is None:
        sys.exit(__doc__)
    try:
        main(Path(given))
    except FileNotFoundError as missing:
        sys.exit(f"{missing.filename} is not there.\n\n{__doc__}")
