"""Put what arena-hard and LMSYS's style control compute beside what `comparity judges` says.

arena-hard (its version 0.1, which wrote such logs) counts a verdict of ">>" three times and a tie
half, fits Bradley and Terry to all games, and draws games with replacement for its interval;
against one baseline that is a share of wins. (Version 2 prints 90% intervals, and leaves out both
games of a question where one has no verdict.) Style control adds differences of length, headers,
lists and bold words, each over their sum plus one and in SDs, to such a fit with scikit-learn's
penalty: what a style is worth *given the strength of the models*. Both take games of one question
for independent. Here are their numbers, ours, and our intervals over prompts; the lean to length is
the one between answers that are *equally good by the sharpest judge*. Their
computations follow the code of arena-hard-auto (`show_result.py`, `utils_math.py`,
`add_markdown_info.py`), none of which is copied.

Run as ``COMPARITY_DATA=FOLDER python examples/style_control.py``.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from comparity import audit_judges
from comparity.judges.log import JudgeLog
from comparity.judges.readers import NO_VERDICT
from comparity.judges.reading import read_logs

BASELINE = "baseline"
ROUNDS = 100
Floats = NDArray[np.float64]
CODE = re.compile(r"```([^`]*)```")
MARKS = (
    re.compile(r"^#{1,6}\s", re.MULTILINE),
    re.compile(r"^\s*(?:\d+\.|[-*+])\s", re.MULTILINE),
    re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__"),
)


def logs(*patterns: str) -> list[Path]:
    """Return the files of the data folder that patterns name."""
    folder = Path(os.environ.get("COMPARITY_DATA", "")) / "judge_logs"
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    if not found:
        sys.exit(f"no {patterns[0]} in {folder}: COMPARITY_DATA names the folder with the data")
    return found


def arena_hard_score(log: JudgeLog, model: str) -> tuple[float, float, float]:
    """Return the share of wins of a model over the baseline as arena-hard counts it."""
    met = (log.verdict != 2) & (
        (log.first == log.answerers.index(model)) | (log.second == log.answerers.index(model))
    )
    sign = np.where(log.first == log.answerers.index(model), 1, -1)[met]
    wins = (1 + sign * log.verdict[met]) / 2
    copies = np.repeat(wins, np.where(log.strength[met] == 2, 3, 1))
    rng = np.random.default_rng(42)
    drawn = [rng.choice(copies, len(copies)).mean() for _ in range(ROUNDS)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(copies.mean()), float(low), float(high)


def style_of(text: str) -> list[float]:
    """Return length, headers, list items and bold words as style control counts them.

    Marks in blocks of code do not count. Length is in tokens there, and in characters here: what
    enters is a ratio of two lengths.
    """
    plain = CODE.sub("", text)
    return [float(len(text)), *(float(len(mark.findall(plain))) for mark in MARKS)]


def style_design(log: JudgeLog) -> tuple[Floats, float]:
    """Return a row for each judgment, models first and then style, and the SD of length.

    A style is a difference over a sum plus one, centred and in SDs; a model counts ln 10, so that
    400 points are ten wins to one.
    """
    styles = np.array([style_of(log.answer_texts[item]) for item in range(1, len(log.features))])
    one, two = styles[log.first_item - 1], styles[log.second_item - 1]
    style = (one - two) / (one + two + 1)
    spread = style.std(axis=0)
    models = np.log(10) * np.eye(len(log.answerers))
    columns = [models[log.first] - models[log.second], (style - style.mean(axis=0)) / spread]
    return np.column_stack(columns), float(spread[0])


def twice_as_long(design: Floats, verdict: NDArray[np.int8], spread: float) -> float:
    """Return how often an answer that is twice as long wins, by style control.

    Every judgment counts twice, a tie as a win of each; coefficients have the penalty that
    scikit-learn has by default.
    """
    outcome = np.concatenate([verdict >= 0, verdict > 0])
    fitted = LogisticRegression(fit_intercept=False).fit(np.concatenate([design, design]), outcome)
    # Of two answers, one twice as long, the difference over the sum is a third.
    return float(expit(fitted.coef_[0][-len(style_of(""))] / spread / 3))


def style_control(log: JudgeLog) -> tuple[float, float, float]:
    """Return that with the interval of games drawn with replacement."""
    design, spread = style_design(log)
    rng = np.random.default_rng(42)
    drawn = []
    for _ in range(ROUNDS):
        rows = rng.integers(0, len(log), len(log))
        drawn.append(twice_as_long(design[rows], log.verdict[rows], spread))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return twice_as_long(design, log.verdict, spread), float(low), float(high)


Line = tuple[str, tuple[float, float, float], tuple[float, float, float] | None]


def scores() -> list[Line]:
    """Return arena-hard's scores beside shares of decided games."""
    lines: list[Line] = []
    for pattern in ("gpt-4o/*", "claude-3.5-sonnet-v2/*", "gpt-3.5-turbo-0125/*", "ko_ensemble/*"):
        files = logs(f"arena_hard/{pattern}")
        log, _ = read_logs(files)
        for one in audit_judges(files).leaderboard:
            if one.answerer != BASELINE:
                ours = (one.wins.rate, *one.wins.interval[:2])
                name = f"{log.judges[0]}: {one.answerer[:30]}"
                lines.append((name, arena_hard_score(log, one.answerer), ours))
    return lines


def lengths() -> list[Line]:
    """Return what length is worth by style control beside leans between equally good answers."""
    folder = "mtbench_repro_en"
    files = logs(
        f"{folder}/judgments/*/*/pairwise/*.jsonl",
        f"{folder}/answers/*",
        f"{folder}/questions.jsonl",
    )
    log, _ = read_logs(files, keep_texts=True)
    leans = {one.judge: one for one in audit_judges(files).leans if one.kind == "length"}
    lines: list[Line] = []
    for code, judge in enumerate(log.judges):
        lean = leans.get(judge)
        ours = (lean.wins, *lean.interval[:2]) if lean else None
        theirs = style_control(log.take((log.judge == code) & (log.verdict != NO_VERDICT)))
        lines.append((judge, theirs, ours))
    return lines


def main() -> None:
    """Print both tables."""
    for title, lines in (
        ("Wins over the baseline: arena-hard's score, and the share of decided games", scores()),
        ("An answer twice as long wins: style control, and given quality", lengths()),
    ):
        print(title)
        for name, theirs, ours in lines:
            cells = [
                f"{100 * one[0]:5.1f} [{100 * one[1]:.1f}, {100 * one[2]:.1f}]"
                if one
                else "50, by assumption"
                for one in (theirs, ours)
            ]
            print(f"  {name:45} {cells[0]:22} {cells[1]}")


if __name__ == "__main__":
    main()
