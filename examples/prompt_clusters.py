"""Rows that share a prompt: what a verdict of LLM-judged pairs makes of them.

A reward model is audited against a judge: does it agree with the judge equally often, whoever wrote
the answer? Every prompt has several pairs of answers. Under some prompts the reward model favours
answers by people, under others those by a language model, so that pairs of one prompt agree or
disagree together. Over all prompts it favours nobody, so that there is nothing to find. An audit
that takes the pairs to be independent is too sure of itself; one that knows the prompts is not.

Run as ``python examples/prompt_clusters.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars

from comparity import comparative_separation
from comparity.results.audit import Audit

PROMPTS, PAIRS, RUNS = 30, 1500, 100
WRITERS = np.array(["person", "model"])


class Judged(NamedTuple):
    """Judged pairs of answers, better one first, and what is known of the answers."""

    pairs: polars.DataFrame
    scores: np.ndarray
    writers: np.ndarray


def judge_answers(rng: np.random.Generator) -> Judged:
    """Draw pairs of answers to prompts, the judge's order, and the reward model's scores."""
    prompt = rng.integers(0, PROMPTS, PAIRS)
    writer = rng.integers(0, 2, (PAIRS, 2))
    quality, favours = rng.normal(size=(PAIRS, 2)), rng.normal(0, 0.8, PROMPTS)
    noise = rng.normal(size=(PAIRS, 2))
    scores = quality + noise + favours[prompt][:, None] * (writer == 0)
    answer = np.arange(2 * PAIRS).reshape(PAIRS, 2)
    turned = quality[:, 0] < quality[:, 1]
    better, worse = np.where(turned[:, None], answer[:, ::-1], answer).T
    pairs = polars.DataFrame({"better": better, "worse": worse, "prompt": prompt})
    return Judged(pairs, scores.ravel(), WRITERS[writer.ravel()])


def audit(judged: Judged, cluster: str | None) -> Audit:
    """Audit the reward model, with prompts as clusters or without."""
    return comparative_separation(
        judged.pairs,
        scores=judged.scores,
        sensitive_features={"writer": judged.writers},
        # What the reward model favours under single prompts blurs pairs of two writers alone.
        hypotheses="across",
        cluster=cluster,
    )


def false_alarms(runs: int = RUNS, seed: int = 1) -> dict[str, float]:
    """Return how often a violation is found where there is none."""
    rng = np.random.default_rng(seed)
    drawn = [judge_answers(rng) for _ in range(runs)]
    ways = {"independent pairs": None, "clustered by prompt": "prompt"}
    return {
        way: float(np.mean([audit(one, cluster).finding == "violated" for one in drawn]))
        for way, cluster in ways.items()
    }


def main() -> None:
    """Print one audit, and how often either kind of audit raises a false alarm."""
    print(audit(judge_answers(np.random.default_rng(7)), "prompt"))
    print(f"\nFalse alarms in {RUNS} studies without bias, where 5 % are allowed:")
    for way, share in false_alarms().items():
        print(f"  {way:20} {share:.0%}")


if __name__ == "__main__":
    main()
