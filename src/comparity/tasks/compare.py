"""Ratings beside comparisons, from one study whose judges were assigned to tasks at random."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import EmptyTableError, NoStudyError, StudyError
from comparity.inference.gap_tests import Interval
from comparity.results.options import shows
from comparity.tables.files import read_table
from comparity.tables.values import is_true, numbers
from comparity.tasks.answers import (
    Columns,
    Floats,
    Orders,
    StudyItems,
    TaskAnswers,
    columns_of,
    items_named,
    read_comparisons,
    read_items,
    read_ratings,
)
from comparity.tasks.concordance import FEWEST_PAIRS, Concordance, agreement, consistency
from comparity.tasks.minutes import (
    FEWEST_JUDGES,
    JudgingCost,
    OverJudges,
    contrast_tasks,
    count_cells,
    effort_factor,
    judging_cost,
    mean_over_judges,
    median_over_judges,
    satterthwaite,
    shared_cells,
    unknown_contrast,
)
from comparity.tasks.options import TaskOptions
from comparity.tasks.result import (
    AGREEMENT,
    CONSISTENCY,
    DIFFERENCE,
    LOAD,
    MEDIAN,
    MINUTES,
    RATIO,
    SAME_GAP,
    TIME,
    TaskComparison,
    TaskContrast,
)

ENDINGS = ("csv", "parquet", "jsonl")
REVERSED = ("certainty",)
"""Questions about the effort for which more is less."""
MOST_POINTS = 7
SCALED = "minutes of judging until the verdict; the gap of ratings scaled by agreement"


@shows(TaskOptions)
def compare_tasks(
    comparisons: Any,
    ratings: Any,
    items: Any = None,
    *,
    questionnaire: Any = None,
    item: str = "item",
    sensitive: str | Sequence[str] = (),
    score: str | None = None,
    **choices: Any,
) -> TaskComparison:
    """Return whether rating items or comparing pairs needs fewer minutes, and how they differ.

    Judges were assigned to the two tasks at random (``task = "both"`` of ``comparity collect``), so
    tasks are compared between judges: every error counts judges. See
    :mod:`comparity.tasks.minutes` and :mod:`comparity.tasks.concordance` for the formulas.

    Parameters
    ----------
    comparisons : frame or mapping of columns
        ``left``, ``right``, ``winner`` (left, right or tie), ``evaluator``; and, where known,
        ``milliseconds``, ``swapped`` (the judge saw this pair before), ``how``, ``flagged``.
    ratings : frame or mapping of columns
        ``item``, ``rating``, ``evaluator``; and, where known, ``milliseconds``, ``repeated`` (the
        judge rated this item before), ``flagged``.
    items : frame or mapping of columns, optional
        Groups and scores; without them minutes are not worked out.
    questionnaire : frame or mapping of columns, optional
        ``evaluator``, ``task``, ``question`` and ``answer``, from 1 to 7.
    item, sensitive, score : str
        Columns of `items`; several sensitive ones are taken in combination.
    gap, power, alpha : float
        The verdict that minutes are counted for: a gap between two kinds of compared pairs, found
        with this power by a test at `alpha`.
    longest : float
        Seconds from which on a time counts as a pause and is left out; the answer is kept.
    drop_flagged : bool
        Leave out judges who failed attention checks.

    Returns
    -------
    TaskComparison
        Its first contrast, ``found["minutes"]``, is the primary outcome.

    Examples
    --------
    >>> from comparity.datasets.simulated_tasks import simulate_tasks
    >>> study = simulate_tasks(n_judges=80, seconds=(5, 10), rng=np.random.default_rng(1))
    >>> found = compare_tasks(study.comparisons, study.ratings, study.items, sensitive="group",
    ...     score="score")
    >>> found.fewer_minutes, found["time"].value.__round__(1)
    ('ratings', 0.5)
    """
    options = TaskOptions(**choices)
    named = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    of_pairs = columns_of(comparisons, "comparisons", ("left", "right", "winner", "evaluator"))
    of_items = columns_of(ratings, "ratings", ("item", "rating", "evaluator"))
    kept = [_keep(one, options.drop_flagged) for one in (of_pairs, of_items)]
    for table, columns in zip(("comparisons", "ratings"), kept, strict=True):
        if not len(columns["evaluator"]):
            raise EmptyTableError(table)
    known = read_items(items, item=item, sensitive=named, score=score)
    if known is None:
        known = items_named(kept[0]["left"], kept[0]["right"], kept[1]["item"])
    compared, n_chosen = read_comparisons(kept[0], known, options.longest)
    rated = read_ratings(kept[1], known, options.longest)
    _check_judges(rated, compared)
    return TaskComparison(
        contrasts=(
            *_minutes(rated, compared, known, options),
            *_times(rated, compared, options),
            *_concordances(rated, compared, known, options),
            *_efforts(questionnaire, {*rated.judges}, {*compared.judges}, options),
        ),
        n_ratings=rated.n_answers,
        n_comparisons=compared.n_answers,
        n_raters=rated.n_judges,
        n_comparers=compared.n_judges,
        n_pauses=rated.n_pauses + compared.n_pauses,
        n_untimed=rated.n_untimed + compared.n_untimed,
        n_chosen=n_chosen,
        n_dropped=sum(
            len(whole["evaluator"]) - len(part["evaluator"])
            for whole, part in zip((of_pairs, of_items), kept, strict=True)
        ),
        gap=options.gap,
        power=options.power,
        alpha=options.alpha,
        longest=options.longest,
        level=1 - options.alpha,
    )


def compare_folder(folder: str | Path, **choices: Any) -> TaskComparison:
    """Compare the tasks of a study that was exported by ``comparity collect export``.

    Parameters
    ----------
    folder : path
        With ``manifest.json``, which names the columns of groups and scores.
    **choices
        Those of :class:`TaskOptions`.
    """
    home = Path(folder)
    try:
        manifest = json.loads((home / "manifest.json").read_text(encoding="utf-8"))
        item, sensitive, score = (manifest[name] for name in ("item", "sensitive", "score"))
    except OSError as error:
        raise NoStudyError(str(folder), error.strerror or str(error)) from error
    except (ValueError, KeyError, TypeError) as error:
        hint = "export the study again: comparity collect export."
        raise StudyError(
            f"{home.name}/manifest.json", "this is no export.", str(error), hint
        ) from error
    files = {
        name: next((f for end in ENDINGS if (f := home / f"{name}.{end}").is_file()), None)
        for name in ("comparisons", "ratings", "items", "questionnaire")
    }
    for name in ("comparisons", "ratings"):
        if files[name] is None:
            hint = 'collect both in one study: task = "both".'
            raise StudyError(str(folder), "both tasks are needed.", f"no {name}", hint)
    tables = {name: None if file is None else read_table(file) for name, file in files.items()}
    return compare_tasks(
        tables["comparisons"],
        tables["ratings"],
        tables["items"],
        questionnaire=tables["questionnaire"],
        item=item,
        sensitive=tuple(sensitive),
        score=score,
        **choices,
    )


def _keep(columns: Columns, drop_flagged: bool) -> Columns:
    if not drop_flagged or "flagged" not in columns:
        return columns
    rows = ~is_true(columns["flagged"], "flagged", "answers")
    return {name: column[rows] for name, column in columns.items()}


def _check_judges(rated: TaskAnswers, compared: TaskAnswers) -> None:
    both = sorted({*rated.judges} & {*compared.judges})
    if both:
        hint = "tasks are compared between judges; give each judge one task, at random."
        found = f"{len(both)} did both, such as {both[0]!r}"
        raise StudyError("judges", "each must have done one task.", found, hint)


def _minutes(
    rated: TaskAnswers, compared: TaskAnswers, items: StudyItems, options: TaskOptions
) -> list[TaskContrast]:
    """Return the minutes that a verdict takes, for the same unfairness and for the same gap."""
    why = ""
    if items.group is None or items.scores is None:
        why = "groups and scores of the items are not known"
    elif min(rated.n_judges, compared.n_judges) < FEWEST_JUDGES:
        why = f"a task has fewer than {FEWEST_JUDGES} judges"
    elif not min(len(rated.seconds), len(compared.seconds)):
        why = "no times were measured"
    if why:
        return [unknown_contrast(MINUTES, RATIO, why, 1 - options.alpha)]
    counts = count_cells(rated, items), count_cells(compared, items)
    cells = shared_cells(*counts)
    if len(cells) < 2:
        why = "fewer than two kinds of pairs are ordered by several judges of both tasks"
        return [unknown_contrast(MINUTES, RATIO, why, 1 - options.alpha)]
    costs = judging_cost(counts[0], cells), judging_cost(counts[1], cells)
    if not all(map(math.isfinite, (*costs[0].variances, *costs[1].variances))):
        why = "the model agrees with judges no more often than chance, or nothing varies"
        return [unknown_contrast(MINUTES, RATIO, why, 1 - options.alpha)]
    factor = effort_factor(options.gap, options.power, options.alpha)
    ratings, pairs = costs
    own = [
        OverJudges(
            one.minutes_by_variance + factor, one.variances[0], one.n_judges - 1, one.n_judges
        )
        for one in costs
    ]
    return [
        contrast_tasks(
            MINUTES,
            RATIO,
            (_minutes_at_scaled_gap(ratings, pairs, own[0]), own[1]),
            1 - options.alpha,
            SCALED,
            tested=(_per_strength(ratings), _per_strength(pairs)),
        ),
        contrast_tasks(
            SAME_GAP,
            RATIO,
            (own[0], own[1]),
            1 - options.alpha,
            "the same, if the gap were as large in both",
        ),
    ]


def _minutes_at_scaled_gap(ratings: JudgingCost, pairs: JudgingCost, own: OverJudges) -> OverJudges:
    """Return minutes of ratings for a gap that is scaled by how often the model agrees."""
    value = own.value + 2 * (pairs.strength - ratings.strength)
    parts = (ratings.variances[2], 4 * pairs.variances[1])
    dofs = (ratings.n_judges - 1, pairs.n_judges - 1)
    return OverJudges(value, sum(parts), satterthwaite(parts, dofs), ratings.n_judges)


def _per_strength(one: JudgingCost) -> OverJudges:
    value = one.minutes_by_variance - 2 * one.strength
    return OverJudges(value, one.variances[2], one.n_judges - 1, one.n_judges)


def _times(rated: TaskAnswers, compared: TaskAnswers, options: TaskOptions) -> list[TaskContrast]:
    """Return geometric means and medians of the seconds for one answer."""
    logs = [_by_judge(one.timed, np.log(one.seconds), np.mean) for one in (rated, compared)]
    geometric = contrast_tasks(
        TIME,
        RATIO,
        (mean_over_judges(logs[0]), mean_over_judges(logs[1])),
        1 - options.alpha,
        "geometric mean of the seconds for one answer, judges weighted alike",
    )
    medians = [_by_judge(one.timed, one.seconds, np.median) for one in (rated, compared)]
    of_ratings, of_pairs = (median_over_judges(one, 1 - options.alpha) for one in medians)
    middle = TaskContrast(
        outcome=MEDIAN,
        scale=RATIO,
        ratings=of_ratings,
        comparisons=of_pairs,
        value=of_ratings.value / of_pairs.value,
        interval=Interval(math.nan, math.nan, 1 - options.alpha),
        p_value=math.nan,
        about="median over judges of each one's median",
    )
    return [geometric, middle]


def _by_judge(judge: NDArray[np.int64], values: Floats, summary: Any) -> Floats:
    """Return a number for each judge who has any."""
    return np.array([summary(values[judge == one]) for one in np.unique(judge)], dtype=np.float64)


def _concordances(
    rated: TaskAnswers, compared: TaskAnswers, items: StudyItems, options: TaskOptions
) -> list[TaskContrast]:
    """Return how often one judge, and two judges, order a pair alike."""
    n = len(items.places)
    found = []
    for outcome, measure, about in (
        (CONSISTENCY, consistency, "one judge orders a pair twice alike; ties count half"),
        (AGREEMENT, agreement, "two judges order a pair alike; ties count half"),
    ):
        means = outcome == CONSISTENCY
        weights = _weights(rated.again if means else rated.orders, compared.orders, items)
        both = measure(rated, weights, n), measure(compared, None, n)
        tested = [mean_over_judges(one.by_judge) if means else _of_pairs(one) for one in both]
        levels = [_level(one) for one in both]
        told = about if min(one.n for one in both) else f"no pair was ordered twice: {about}"
        if not means and any(one.n and math.isnan(one.judge_variance) for one in both):
            told = f"fewer than {FEWEST_PAIRS} pairs of judges met: {about}"
        contrast = contrast_tasks(
            outcome,
            DIFFERENCE,
            (levels[0], levels[1]),
            1 - options.alpha,
            told,
            tested=(tested[0], tested[1]),
            bounds=(0.0, 1.0),
        )
        found.append(contrast)
    return found


def _weights(rows: Orders, shown: Orders, items: StudyItems) -> Floats | None:
    """Return weights that give kinds of pairs the shares they have among comparisons."""
    if items.group is None:
        return None
    kinds = [_kind(one, items) for one in (rows, shown)]
    n = len(items.groups) ** 2
    mine, theirs = (np.bincount(one, minlength=n) / max(len(one), 1) for one in kinds)
    return np.divide(theirs, mine, out=np.zeros(n), where=mine > 0)[kinds[0]]


def _kind(rows: Orders, items: StudyItems) -> NDArray[np.int64]:
    assert items.group is not None
    one, two = items.group[rows.low], items.group[rows.high]
    return np.minimum(one, two) * len(items.groups) + np.maximum(one, two)


def _level(one: Concordance) -> OverJudges:
    return OverJudges(one.value, one.variance, one.dof, len(one.judges))


def _of_pairs(one: Concordance) -> OverJudges:
    """Return agreement with the error of judges, who each are in many pairs of judges."""
    return OverJudges(one.value, one.judge_variance, one.judge_dof, len(one.judges))


def _efforts(
    table: Any, raters: set[str], comparers: set[str], options: TaskOptions
) -> list[TaskContrast]:
    """Return what judges said of the effort, on the whole and by question."""
    if table is None:
        return []
    columns = columns_of(table, "questionnaire", ("evaluator", "question", "answer"))
    if not len(columns["answer"]):
        return []
    who = np.array([str(one) for one in columns["evaluator"]])
    question = np.array([str(one) for one in columns["question"]])
    answer = numbers(columns["answer"], "answer", "questionnaire")
    load = np.where(np.isin(question, REVERSED), MOST_POINTS + 1 - answer, answer)
    whole = "mean of what each judge answered; certainty counts reversed"
    asked = [
        (LOAD, np.ones(len(load), dtype=bool), load, whole),
        *(
            (f"{LOAD}: {name}", question == name, answer, "from 1 to 7")
            for name in dict.fromkeys(question.tolist())
        ),
    ]
    found = []
    for outcome, rows, values, about in asked:
        sides = [
            np.array([values[rows & (who == one)].mean() for one in sorted(names & {*who[rows]})])
            for names in (raters, comparers)
        ]
        estimates = (mean_over_judges(sides[0]), mean_over_judges(sides[1]))
        found.append(contrast_tasks(outcome, DIFFERENCE, estimates, 1 - options.alpha, about))
    return found
