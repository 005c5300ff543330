"""Bradley-Terry and BARP against choix, evalica, scikit-learn and the authors' scheme.

Run as ``python benchmarks/bench_ranking.py --max 1e7`` (``--max 1e8`` needs 8 GiB). Random pairs
of items, one binary attribute, evaluators with 60 to 1,000 comparisons each. Priors are fixed (SD
10) and alike for all who can have one; ours goes on to a gradient norm below 1e-5, peers as far
as their own criteria take them, and the norm each reached is shown. Every answer is compared with
ours. Times of ours are of the whole call: checks, diagnosis, fit and standard errors, at the joint
maximum that the peers look for; the corrected fit, which is the default, has a column of its own.
Core seconds are what both threads used, whatever else the machine did; growth is in these.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import SEED, best_seconds, growth, in_subprocess, largest_size, report, show

from comparity import barp, bradley_terry, crowd_bt, factor_bt
from comparity.ranking.anchors import EQUAL_MEANS, anchor_of
from comparity.ranking.fits import Wish
from comparity.ranking.judgments import judgments_of
from comparity.ranking.likelihood import errors as _errors
from comparity.ranking.likelihood.comparison_rows import band_of
from comparity.ranking.likelihood.exact import DENSE, Inverse
from comparity.ranking.likelihood.one_pass import OnePass
from comparity.ranking.likelihood.penalised_fit import Fit, Task, fit, rows_for

SIZES = {5_000: (100, 50), 250_000: (9_150, 4_091), 10**7: (10**5, 10**4), 10**8: (10**6, 10**5)}
SD = 10.0
GRADIENT = 1e-5
LONGEST, AROUND = 120.0, 60.0
"""Seconds that a peer may take, and what drawing data and fitting ours take besides."""
TOO_BIG = "too big"
BIGGEST = dict.fromkeys(("sklearn lbfgs", "sklearn newton-cg"), 10**8)
BIGGEST |= dict.fromkeys(("authors' scheme", "choix", "evalica"), 250_000)
"""Comparisons beyond which a peer would need a matrix of items by items larger than memory."""
PEERS = ("sklearn lbfgs", "sklearn newton-cg", "authors' scheme", "choix", "evalica")


def simulated(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs, better first, evaluators in runs, and groups."""
    n_items, n_evaluators = SIZES[n]
    rng = np.random.default_rng(SEED)
    scores = (1.5 * rng.standard_normal(n_items)).astype(np.float32)
    bias = rng.standard_normal(n_evaluators).astype(np.float32)
    group = (rng.random(n_items) < 0.5).astype(np.int8)
    pairs = np.empty((n, 2), np.int32)
    pairs[:, 0] = rng.integers(0, n_items, n, dtype=np.int32)
    pairs[:, 1] = rng.integers(0, n_items - 1, n, dtype=np.int32)
    pairs[:, 1] += pairs[:, 1] >= pairs[:, 0]
    judge = np.sort(rng.integers(0, n_evaluators, n, dtype=np.int32))
    margin = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    margin += bias[judge] * (group[pairs[:, 0]] - group[pairs[:, 1]])
    lost = rng.random(n, dtype=np.float32) > 1 / (1 + np.exp(-margin))
    pairs[lost] = pairs[lost, ::-1]
    return pairs, judge, group


def design(pairs: np.ndarray, judge: np.ndarray, group: np.ndarray, n: tuple[int, int]) -> Any:
    """Return the sparse matrix of a logistic regression, half of the rows turned round."""
    from scipy.sparse import csr_array

    rows = np.arange(len(pairs))
    lean = (group[pairs[:, 0]] - group[pairs[:, 1]]).astype(float)
    held = np.flatnonzero(lean)
    values = np.concatenate([np.ones(len(rows)), -np.ones(len(rows)), lean[held]])
    places = np.concatenate([rows, rows, held])
    columns = np.concatenate([pairs[:, 0], pairs[:, 1], n[0] + judge[held]])
    flip = np.where(rows % 2, -1.0, 1.0)
    matrix = csr_array((values * flip[places], (places, columns)), shape=(len(rows), sum(n)))
    return matrix, flip > 0


def gradient_norm(parameters: np.ndarray, matrix: Any, label: np.ndarray) -> float:
    """Return the norm of the gradient of the loss with plain ridge, which the peers minimise."""
    sign = np.where(label, 1.0, -1.0)
    tail = 1 / (1 + np.exp(sign * (matrix @ parameters)))
    return float(np.linalg.norm(matrix.T @ (-sign * tail) + parameters / SD**2))


def sklearn_fit(solver: str, matrix: Any, label: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    peer = LogisticRegression(C=SD**2, fit_intercept=False, solver=solver, tol=1e-8, max_iter=2000)
    return np.asarray(peer.fit(matrix, label).coef_[0])


def centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean()


def once(job: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = job()
    return time.perf_counter() - start, answer


def least(job: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """Return the least wall and core seconds, and the answer."""
    walls, cores, answer = [], [], None
    for _ in range(repeats):
        start = time.process_time()
        wall, answer = once(job)
        cores.append(time.process_time() - start)
        walls.append(wall)
    return min(walls), min(cores), answer


def run_ours(n: int) -> None:
    """Time ours at one size: whole call, fit alone, errors alone."""
    pairs, judge, group = simulated(n)
    options: dict[str, Any] = {"bias_prior": SD, "tolerance": GRADIENT}
    data: dict[str, Any] = {"evaluators": judge, "sensitive_features": group}
    # Compile the kernels first.
    for corrected in (False, True):
        few: dict[str, Any] = {"evaluators": judge[:500], "sensitive_features": group}
        barp(pairs[:500], score_prior=SD, corrected=corrected, **few)
    repeats = 7 if n < 10**6 else 3 if n < 10**8 else 1

    def call(*, corrected: bool) -> Any:
        return barp(pairs, score_prior=SD, corrected=corrected, **options, **data)

    whole, core, found = least(lambda: call(corrected=False), repeats)
    corrected_core = least(lambda: call(corrected=True), repeats)[1]
    task = task_of(pairs, judge, group)
    rows = rows_for(task)
    _, fitting, fitted = least(lambda: fit(task, rows), repeats)
    errors = least(fitted.errors, repeats)[1]
    evaluators = least(lambda: errors_of_evaluators(fitted), repeats)[1]
    facts: dict[str, Any] = {"priors": None}
    if n < 10**8:
        facts["priors"] = least(lambda: barp(pairs, **options, **data), 1)[1]
    report(
        whole=whole,
        core=core,
        corrected=corrected_core,
        fit=fitting,
        errors=errors,
        evaluators=evaluators,
        gradient=found.gradient_norm,
        evaluations=fitted.solution.evaluations,
        products=fitted.solution.products,
        **facts,
    )


def task_of(pairs: np.ndarray, judge: np.ndarray, group: np.ndarray) -> Task:
    return Task(
        judgments=judgments_of(pairs, n_items=len(group), evaluators=judge),
        columns=group[:, None],
        precision=np.eye(1),
        anchor=anchor_of(EQUAL_MEANS, np.arange(int(judge.max()) + 1)),
        score_prior=Wish(of="scores", sd=SD, chosen_by="the caller"),
        bias_prior=Wish(of="biases", sd=SD, chosen_by="the caller"),
        tolerance=GRADIENT,
    )


def errors_of_evaluators(fitted: Fit) -> None:
    """Find what the errors of evaluators need, without those of scores."""
    objective = fitted.objective
    if objective.size <= DENSE:
        fitted.errors()
        return
    # Whether there is a band is asked once for each fit.
    assert band_of(objective.data.rows) is None
    assert len(OnePass(objective).evaluators) == objective.n_evaluators
    everybody = np.ones(objective.n_evaluators, bool)
    _errors._with_mean(objective, fitted.move, 0, everybody)


def in_batches(n_evaluators: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 100 comparisons of each evaluator within 15 items, which overlap with the next."""
    rng = np.random.default_rng(SEED)
    judge = np.repeat(np.arange(n_evaluators, dtype=np.int32), 100)
    n_items = 5 * n_evaluators
    first = rng.integers(0, 15, len(judge))
    places = np.column_stack([first, (first + rng.integers(1, 15, len(judge))) % 15])
    pairs = ((5 * judge[:, None] + places) % n_items).astype(np.int32)
    scores, bias = 1.5 * rng.standard_normal(n_items), rng.standard_normal(n_evaluators)
    group = (np.arange(n_items) % 2).astype(np.int8)
    margin = scores[pairs] + bias[judge][:, None] * group[pairs]
    lost = rng.random(len(judge)) > 1 / (1 + np.exp(margin[:, 1] - margin[:, 0]))
    pairs[lost] = pairs[lost, ::-1]
    return pairs, judge, group


def run_batches(n_evaluators: int) -> None:
    """Time exact errors in batches, and compare them with those of passes and of the inverse."""
    fitted = fit(task_of(*in_batches(n_evaluators)))
    objective, move = fitted.objective, fitted.move
    known = np.zeros(fitted.bias.shape, dtype=bool)
    _, core, errors = least(fitted.errors, 3)
    band = objective.data.rows.band
    assert band is not None
    passes = _errors._errors_by_passes(objective, move, known)
    off = np.nan
    if objective.size < 5000:
        inverse = _errors._errors_by_solving(objective, Inverse(objective), move, known)
        off = float(np.abs(errors.centred / inverse.centred - 1).max())
    ratio = float(np.median(passes.centred / errors.centred))
    report(n=100 * n_evaluators, width=band.width, core=core, off=off, passes=ratio)


def run_mixture(name: str, n: int) -> None:
    """Time a mixture model at one size, to its own default tolerance."""
    pairs, judge, group = simulated(n)
    data: dict[str, Any] = {"evaluators": judge}
    data |= {"sensitive_features": group} if name == "FactorBT" else {"n_items": len(group)}
    model = {"CrowdBT": crowd_bt, "FactorBT": factor_bt}[name]
    model(pairs[:500], **(data | {"evaluators": judge[:500]}))
    _, core, found = least(lambda: model(pairs, **data), 1)
    per_comparison = found.gradient_norm / n
    report(core=core, gradient=per_comparison, iterations=found.iterations)


def run_peer(name: str, n: int) -> None:
    """Time one peer at one size, and say how far its answer is from ours."""
    pairs, judge, group = simulated(n)
    counts = SIZES[n]
    model = "BT" if name in ("choix", "evalica") else "BARP"
    if model == "BARP":
        seconds, off, norm = _barp_peer(name, pairs, judge, group, counts)
        ours = best_seconds(
            lambda: barp(
                pairs,
                evaluators=judge,
                sensitive_features=group,
                score_prior=SD,
                bias_prior=SD,
                tolerance=GRADIENT,
                corrected=False,
            ),
            repeats=3,
        )[0]
    else:
        seconds, off, norm = _plain_peer(name, pairs, counts[0])
        prior, n_items = (SD if name == "choix" else None), counts[0]
        if prior is None:
            pairs, n_items = connected(pairs, n_items)
        ours = best_seconds(
            lambda: bradley_terry(pairs, n_items=n_items, prior=prior, tolerance=GRADIENT),
            repeats=100 if n < 10**5 else 5,
        )[0]
    report(model=model, seconds=seconds, ours=ours, off=off, gradient=norm)


def _barp_peer(
    name: str, pairs: np.ndarray, judge: np.ndarray, group: np.ndarray, counts: tuple[int, int]
) -> tuple[float, float, float]:
    data: dict[str, Any] = {"evaluators": judge, "sensitive_features": group}
    options: dict[str, Any] = {"score_prior": SD, "bias_prior": SD, "corrected": False}
    ours = barp(pairs, tolerance=GRADIENT, **options, **data)
    matrix, label = design(pairs, judge, group, counts)
    if name == "authors' scheme":
        seconds, peer = once(lambda: barp(pairs, mode="alternating", **data))
        theirs, norm = peer.bias[:, 0], peer.gradient_norm
    else:
        seconds, found = once(lambda: sklearn_fit(name.split()[1], matrix, label))
        theirs, norm = found[counts[0] :], gradient_norm(found, matrix, label)
    # Peers shrink the mean bias as well, so biases are compared about their mean.
    return seconds, float(np.abs(ours.centred_bias[:, 0] - centred(theirs)).max()), norm


def connected(pairs: np.ndarray, n_items: int) -> tuple[np.ndarray, int]:
    """Return the comparisons among items of which each reaches each along wins, numbered anew."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    wins = coo_array((np.ones(len(pairs)), pairs.T), shape=(n_items, n_items)).tocsr()
    part = connected_components(wins, connection="strong")[1]
    kept = part == np.bincount(part).argmax()
    inside = pairs[kept[pairs].all(axis=1)]
    return (np.cumsum(kept) - 1)[inside].astype(np.int32), int(kept.sum())


def _plain_peer(name: str, pairs: np.ndarray, n_items: int) -> tuple[float, float, float]:
    if name == "choix":
        import choix

        listed = pairs.tolist()
        seconds, theirs = once(
            lambda: choix.opt_pairwise(n_items, listed, alpha=SD**-2 / 2, tol=1e-5)
        )
        ours = bradley_terry(pairs, n_items=n_items, prior=SD, tolerance=GRADIENT)
    else:
        import evalica

        pairs, n_items = connected(pairs, n_items)
        names = [[f"{item:08d}" for item in side] for side in pairs.T.tolist()]
        wins = [evalica.Winner.X] * len(pairs)
        seconds, peer = once(
            lambda: evalica.bradley_terry(*names, wins, tolerance=1e-10, limit=10**5)
        )
        theirs = np.log(peer.scores.sort_index().to_numpy())
        ours = bradley_terry(pairs, n_items=n_items, prior=None, tolerance=GRADIENT)
    return seconds, float(np.abs(ours.scores - centred(theirs)).max()), np.nan


def main() -> None:
    """Print ours over sizes, then every peer up to the largest size it finishes in time."""
    counts = [n for n in SIZES if n <= largest_size(__doc__ or "")]
    answers = [in_subprocess(__file__, "ours", str(n)) for n in counts]
    rows = [
        (
            f"{n:,}",
            f"{a['whole']:.4f}",
            f"{a['core']:.4f}",
            f"{a['core'] / n * 1e6:.2f}",
            f"{a['corrected'] / n * 1e6:.2f}",
            f"{a['evaluators'] / a['fit']:.2f}",
            f"{a['errors'] / a['fit']:.2f}",
            "-" if a["priors"] is None else f"{a['priors']:.3f}",
            f"{a['evaluations']} + {a['products']}",
            f"{a['gradient']:.0e}",
            f"{a['peak_gib']:.2f}",
        )
        for n, a in zip(counts, answers, strict=True)
    ]
    columns = (
        "comparisons",
        "wall, s",
        "core, s",
        "core s per million",
        "corrected",
        "evaluators' errors / fit",
        "all errors / fit",
        "priors too, core s",
        "passes",
        "gradient",
        "peak GiB",
    )
    exponent = growth(counts[1:], [a["core"] for a in answers[1:]])
    caption = (
        f"growth exponent {exponent:.2f} from the second size on (target 1.25); targets at 10^7: "
        "0.5 s per million, errors of evaluators 0.2 of the fit; below 8 GiB at 10^8"
    )
    show("BARP", columns, rows, caption)
    assert all(a["gradient"] < GRADIENT for a in answers)
    _show_batches(counts)
    _show_mixtures(counts)
    _show_peers(counts)


def _show_batches(counts: list[int]) -> None:
    sizes = [n for n in (60_000, 600_000, 6_000_000) if n <= max(counts)]
    answers = [in_subprocess(__file__, "batches", str(n // 100)) for n in sizes]
    rows = [
        (
            f"{a['n']:,}",
            str(a["width"]),
            f"{a['core']:.3f}",
            "-" if np.isnan(a["off"]) else f"{a['off']:.0e}",
            f"{a['passes']:.2f}",
        )
        for a in answers
    ]
    columns = ("comparisons", "band", "core, s", "off the inverse", "passes / exact")
    exponent = growth(sizes, [a["core"] for a in answers])
    show("Exact errors in batches", columns, rows, f"growth exponent {exponent:.2f}")


def _show_mixtures(counts: list[int]) -> None:
    rows = []
    for name in ("CrowdBT", "FactorBT"):
        for n in [n for n in counts if n <= 250_000]:
            a = in_subprocess(__file__, "mixture", name, str(n))
            seconds = f"{a['core']:.3f}"
            rows.append((name, f"{n:,}", seconds, str(a["iterations"]), f"{a['gradient']:.0e}"))
    columns = ("model", "comparisons", "core, s", "steps", "gradient for each comparison")
    show("Mixtures", columns, rows, "from two starts each, by L-BFGS-B with shares in their box")


def _show_peers(counts: list[int]) -> None:
    rows = []
    for name in PEERS:
        for n in counts:
            if n > BIGGEST[name]:
                rows.append((name, "", f"{n:,}", TOO_BIG, "", "", "", ""))
                break
            try:
                a = in_subprocess(__file__, "peer", name, str(n), longest=LONGEST + AROUND)
            except subprocess.TimeoutExpired:
                rows.append((name, "", f"{n:,}", f"over {LONGEST:.0f}", "", "", "", ""))
                break
            rows.append(
                (
                    name,
                    a["model"],
                    f"{n:,}",
                    f"{a['seconds']:.4f}",
                    f"{a['ours']:.4f}",
                    f"{a['seconds'] / a['ours']:,.0f}x",
                    "-" if np.isnan(a["gradient"]) else f"{a['gradient']:.0e}",
                    f"{a['off']:.1e}",
                )
            )
            if a["seconds"] > LONGEST:
                break
    columns = ("peer", "model", "comparisons", "peer, s", "ours, s", "ratio", "gradient", "off by")
    caption = (
        "targets: scikit-learn 8x at 250,000 with a smaller gradient; choix 300x and evalica 2x at "
        "5,000. Each peer up to the first size that takes over two minutes, or a matrix of 80 GB; "
        "evalica, which has no prior, on items of which each reaches each along wins; the authors' "
        "scheme is our vectorised one, at its 100 steps"
    )
    show("Peers", columns, rows, caption)


if __name__ == "__main__":
    if sys.argv[1:2] == ["ours"]:
        run_ours(int(sys.argv[2]))
    elif sys.argv[1:2] == ["peer"]:
        run_peer(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1:2] == ["batches"]:
        run_batches(int(sys.argv[2]))
    elif sys.argv[1:2] == ["mixture"]:
        run_mixture(sys.argv[2], int(sys.argv[3]))
    else:
        main()
