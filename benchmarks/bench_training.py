"""One step of training on all pairs against one sort of the scores, with growth over sizes.

Run as ``python benchmarks/bench_training.py --max 1e6``. A *step* is the hinge over all pairs of
every cell with its gradient with respect to the scores and the true accuracies. Peers: one
``np.argsort`` of the scores, all pairs enumerated by numpy (2,000 items), and a million sampled
pairs, of which the noise is printed: the standard error of the loss that the sample has and the
sum over all pairs has not.

A *full step* is that of a linear model of 50 features: scores before, gradient after. Peers, in the
same run: enumeration (2,000 items); one epoch of mini-batches in torch, each with as many sampled
pairs as there are rows in all (batches of 4,096 pairs, single precision, forward and backward); and
what torch would take for as many pair evaluations as a full step stands for, from the same rate.
The torch function that networks are trained with is timed on the same scores.

Answers are compared: with the enumerated pairs, and beyond them with pairs drawn at random.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np
from cores import core_seconds
from measure import SEED, growth, in_subprocess, largest_size, report, show, sizes

from comparity.training.losses import PairFamily, labelled_pairs

FEW = 2000
DRAWN = 10**6
FEATURES = 50
BATCH = 4096
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
    step: np.ndarray = X.T @ family.sums(X @ w, wrong=weights).gradient
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
    report(**facts)


def mini_batches(X: Any, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the mean gradient over as many sampled pairs as rows, batch by batch."""
    import torch

    better, worse = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    rng = np.random.default_rng(SEED + 2)
    weights = torch.tensor(w, dtype=torch.float32, requires_grad=True)
    total = np.zeros(len(w))
    for start in range(0, len(y), BATCH):
        many = min(BATCH, len(y) - start)
        first = X[torch.from_numpy(rng.choice(better, many))]
        second = X[torch.from_numpy(rng.choice(worse, many))]
        weights.grad = None
        torch.relu(1 - (first - second) @ weights).sum().backward()
        assert weights.grad is not None
        total += weights.grad.numpy()
    return total / len(y)


def run_full(n: int) -> None:
    """Time full steps of a linear model of one size, and check the answers."""
    import torch

    from comparity.training.torch_losses import pairwise_bounds

    torch.set_num_threads(1)
    y, _, group = columns("binary", n, 2)
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n, FEATURES)) + 0.3 * y[:, None]
    w = rng.normal(size=FEATURES) / FEATURES
    family = labelled_pairs(y, group, ("a", "b"))
    share = family.trials / family.trials.sum()
    single = torch.from_numpy(X.astype(np.float32))
    scores = torch.tensor(X @ w, requires_grad=True)

    def in_torch() -> None:
        pairwise_bounds(scores, family).wrong.sum().backward()

    jobs = [
        lambda: full_step(family, X, w, share),
        lambda: np.argsort(X[:, 0]),
        lambda: mini_batches(single, y, w),
        in_torch,
        lambda: family.sums(X @ w, wrong=share),
    ]
    full, argsort, batches, bounds, hinge = core_seconds(*jobs, repeats=3)
    pairs = float(family.trials.sum())
    facts = {"full": full, "argsort": argsort, "batches": batches, "bounds": bounds}
    facts |= {"hinge": hinge, "same pairs": batches * pairs / n}
    gradient = full_step(family, X, w, share)
    apart = np.abs(mini_batches(single, y, w) - gradient)
    # Features differ by 1.45 within a pair (root mean square), which bounds a sampled error.
    assert (apart < 6 * 1.45 / np.sqrt(n)).all(), apart
    facts["noise"] = float(np.linalg.norm(apart) / np.linalg.norm(gradient))
    if n <= FEW:

        def slow() -> np.ndarray:
            better = y[:, None] > y[None, :]
            active = better & (1 - (X @ w)[:, None] + (X @ w)[None, :] > 0)
            found: np.ndarray = X.T @ (active.sum(axis=0) - active.sum(axis=1)) / better.sum()
            return found

        assert np.allclose(slow(), gradient, atol=1e-12)
        facts["enumerated"] = core_seconds(slow, repeats=2)[0]
    report(**facts)


def times(answer: dict[str, float], what: str, of: str) -> str:
    """Say how many times longer one took than another."""
    return f"{answer[what] / answer[of]:.1f}" if what in answer else ""


def show_full(counts: list[int]) -> None:
    """Print the table of full steps."""
    answers = [in_subprocess(__file__, "full", str(n)) for n in counts]
    rows = [
        (
            f"{n:.0e}",
            f"{1000 * answer['full']:.1f}",
            times(answer, "full", "argsort"),
            times(answer, "hinge", "argsort"),
            times(answer, "enumerated", "full"),
            times(answer, "batches", "full"),
            f"{answer['same pairs'] / answer['full']:.0e}",
            f"{100 * answer['noise']:.1f}%",
            times(answer, "bounds", "full"),
            f"{answer['peak_gib']:.2f}",
        )
        for n, answer in zip(counts, answers, strict=True)
    ]
    later = [(n, a["full"]) for n, a in zip(counts, answers, strict=True) if n >= 10**4]
    exponent = growth([n for n, _ in later], [seconds for _, seconds in later])
    names = ("items", "ms", "ratio", "scores, hinge", "pairs", "epoch", "same pairs", "noise")
    caption = (
        "milliseconds of a full step; ratio to np.argsort, of scores and hinge alone, too; pairs: "
        "enumeration; epoch: torch mini-batches with as many pairs as rows; same pairs: with as "
        "many as the step stands for; all times slower; noise of the epoch's gradient; function: "
        f"the torch function, times a step; growth {exponent:.2f}; core time, one thread"
    )
    show(
        f"A full step on all pairs, linear, {FEATURES} features, two labels, two groups",
        (*names, "function", "GiB"),
        rows,
        caption,
    )


def main() -> None:
    """Print one table for each kind of label and number of groups."""
    counts = [FEW, *sizes(min(largest_size(__doc__ or ""), 10**7), 1e4)]
    show_full(counts)
    names = ("items", "ms", "ratio", "both", "pairs", "batch", "noise", "GiB")
    for kind, k in (("binary", 2), ("binary", 10), ("ordinal", 2), ("continuous", 2)):
        answers = [in_subprocess(__file__, "run", kind, str(n), str(k)) for n in counts]
        rows = [
            (
                f"{n:.0e}",
                f"{1000 * answer['wrong']:.1f}",
                times(answer, "wrong", "argsort"),
                times(answer, "both", "argsort"),
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
            f"losses (target {TARGET:.0f} for binary labels at 1e6); "
            "pairs, batch: enumeration and a million sampled pairs, times slower; growth "
            f"{exponent:.2f}; core time"
        )
        show(f"A step on all pairs, {kind} labels, {k} groups", names, rows, caption)


if __name__ == "__main__":
    if sys.argv[1:2] == ["full"]:
        run_full(int(sys.argv[2]))
    elif sys.argv[1:2] == ["run"]:
        run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
