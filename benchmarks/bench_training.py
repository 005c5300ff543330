"""One step of training on all pairs against one sort of the scores, with growth over sizes.

Run as ``python benchmarks/bench_training.py --max 1e6``. A *step* is the hinge over all pairs of
every cell with its gradient with respect to the scores and the true accuracies; a *full step* adds
the scores of a linear model of 50 features before and its gradient after. Peers: one ``np.argsort``
of the scores, all pairs enumerated by numpy (2,000 items), and mini-batches of a million sampled
pairs, of which the noise is printed: the standard error of the loss that the sample has and the
sum over all pairs has not. Answers are compared: with the enumerated pairs, and beyond them with
pairs drawn at random.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
from cores import core_seconds
from measure import SEED, growth, in_subprocess, largest_size, report, show, sizes

from comparity.mitigation.losses import PairFamily, labelled_pairs

FEW = 2000
DRAWN = 10**6
FEATURES = 50
LEVELS = {"binary": 2, "ordinal": 20, "continuous": 0}
TARGET = 6.0


def columns(kind: str, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, scores and groups."""
    rng = np.random.default_rng(SEED)
    quality = rng.normal(size=n)
    score = quality + rng.normal(size=n)
    label = quality
    if LEVELS[kind]:
        share = np.arange(1, LEVELS[kind]) / LEVELS[kind]
        label = np.searchsorted(np.quantile(quality, share), quality).astype(np.float64)
    return label, score, rng.integers(0, k, n)


def enumerated(
    y: np.ndarray, f: np.ndarray, group: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean hinges by cell and their summed gradient, over a matrix of pairs."""
    better = y[:, None] > y[None, :]
    short = 1 - (f[:, None] - f[None, :])
    active = better & (short > 0)
    losses, gradient = np.empty((k, k)), np.zeros(len(y))
    for a, b in product(range(k), repeat=2):
        at = np.ix_(group == a, group == b)
        pairs = np.count_nonzero(better[at])
        losses[a, b] = (short[at] * active[at]).sum() / pairs
        gradient[group == a] -= active[at].sum(axis=1) / pairs
        gradient[group == b] += active[at].sum(axis=0) / pairs
    return losses.ravel(), gradient


def sampled(y: np.ndarray, f: np.ndarray) -> tuple[float, float]:
    """Return the hinge over pairs drawn at random, and its standard error."""
    first, second = np.random.default_rng(SEED + 1).integers(0, len(y), (2, DRAWN))
    better = y[first] > y[second]
    loss = np.maximum(0, 1 - (f[first] - f[second]))[better]
    # Pairs share items; the error of a mean over items is added to that of the pairs.
    return float(loss.mean()), float(loss.std() * (len(loss) ** -0.5 + 2 * len(y) ** -0.5))


def full_step(family: PairFamily, X: np.ndarray, w: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the gradient of a linear model."""
    step: np.ndarray = X.T @ family.sums(X @ w, wrong=weights, right=weights).gradient
    return step


def run(kind: str, n: int, k: int) -> None:
    """Time one kind, size and number of groups, and check the answers."""
    y, f, group = columns(kind, n, k)
    family = labelled_pairs(y, group, tuple(f"{g:02}" for g in range(k)))
    ones = np.ones(len(family.cells))
    jobs = [
        lambda: family.sums(f, wrong=ones),
        lambda: family.sums(f, wrong=ones, right=ones),
        lambda: np.argsort(f),
        lambda: sampled(y, f),
    ]
    jobs[1]()
    wrong, both, argsort, batch = core_seconds(*jobs, repeats=5)
    facts = {"wrong": wrong, "both": both, "argsort": argsort, "batch": batch}
    sums = family.sums(f, wrong=ones, right=ones)
    assert abs(sums.gradient.sum()) < 1e-9
    overall = float(family.trials @ sums.wrong / family.trials.sum())
    drawn, error = sampled(y, f)
    assert abs(overall - drawn) < 5 * error, (overall, drawn, error)
    facts["noise"] = error / overall
    if n <= FEW:
        (slow,) = core_seconds(lambda: enumerated(y, f, group, k), repeats=2)
        losses, gradient = enumerated(y, f, group, k)
        found = family.sums(f, wrong=ones)
        assert np.allclose(found.wrong, losses, rtol=1e-10)
        assert np.allclose(found.gradient, gradient, atol=1e-12)
        facts["enumerated"] = slow
    if kind == "binary" and k == 2:
        X = np.random.default_rng(SEED).normal(size=(n, FEATURES))
        w = np.ones(FEATURES)
        facts["full"] = core_seconds(lambda: full_step(family, X, w, ones), repeats=3)[0]
    report(**facts)


def times(answer: dict[str, float], what: str, of: str) -> str:
    """Say how many times longer one took than another."""
    return f"{answer[what] / answer[of]:.1f}" if what in answer else ""


def main() -> None:
    """Print one table for each kind of label and number of groups."""
    counts = [FEW, *sizes(min(largest_size(__doc__ or ""), 10**7), 1e4)]
    names = ("items", "ms", "ratio", "both", "full ms", "pairs", "batch", "noise", "GiB")
    for kind, k in (("binary", 2), ("binary", 10), ("ordinal", 2), ("continuous", 2)):
        answers = [in_subprocess(__file__, "run", kind, str(n), str(k)) for n in counts]
        rows = [
            (
                f"{n:.0e}",
                f"{1000 * answer['wrong']:.1f}",
                times(answer, "wrong", "argsort"),
                times(answer, "both", "argsort"),
                f"{1000 * answer['full']:.1f}" if "full" in answer else "",
                times(answer, "enumerated", "wrong"),
                times(answer, "batch", "wrong"),
                f"{100 * answer['noise']:.2f}%",
                f"{answer['peak_gib']:.2f}",
            )
            for n, answer in zip(counts, answers, strict=True)
        ]
        later = [(n, a["wrong"]) for n, a in zip(counts, answers, strict=True) if n >= 10**4]
        exponent = growth([n for n, _ in later], [seconds for _, seconds in later])
        caption = (
            "milliseconds of hinge, gradient and accuracies; ratio to np.argsort, also with both "
            f"losses (target {TARGET:.0f} for binary labels at 1e6); full: with 50 features; "
            "pairs, batch: enumeration and a million sampled pairs, times slower; growth "
            f"{exponent:.2f}; core time"
        )
        show(f"A step on all pairs, {kind} labels, {k} groups", names, rows, caption)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
