r"""Whether a judge fails on some groups more than on others.

A judge that finds no verdict on one group's answers biases every rate. Judgments of one prompt may
fail together, so what is counted is a prompt, or within a prompt a pair, that failed at least once.

- *Categories and lengths* are properties of prompts. If failing has nothing to do with them, the
  prompts that failed are drawn at random: Fisher's exact test of one group against all others.
- *Answerers* meet on the same prompts. Given how many pairs of a prompt failed, and how many the
  answerer is part of, the number of failed pairs with the answerer is hypergeometric; the sum over
  prompts is a convolution, and prompts of which none or all failed say nothing.

P values are two-sided, by adding up what is at most as likely as what was seen, and corrected by
Holm over all groups of a judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from comparity.counts.pairs import ROUNDING
from comparity.inference.multiplicity import holm
from comparity.judges.log import JudgeLog
from comparity.judges.rates import Rows
from comparity.judges.readers import NO_VERDICT

MOST_GROUPS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTest:
    """Failures of a judge in one group, against all others.

    Attributes
    ----------
    judge, kind, group : str
        `kind` is "category", "answers" (longer ones than most) or "answerer".
    failed, trials, others_failed, others : int
        Prompts (of an answerer: pairs) that failed and all of them, in the group and outside.
    p_value, p_adjusted : float
    """

    judge: str
    kind: str
    group: str
    failed: int
    trials: int
    others_failed: int
    others: int
    p_value: float
    p_adjusted: float


def find_failing_groups(log: JudgeLog, judge: str, alpha: float = 0.05) -> tuple[MissingTest, ...]:
    """Test every group of prompts and answerers of one judge; nothing where nothing is missing."""
    rows = np.ones(len(log), dtype=bool)
    if not (log.verdict == NO_VERDICT).any():
        return ()
    found = [*_prompt_tests(log, rows), *_answerer_tests(log, rows)]
    if not found:
        return ()
    outcome = holm([one[-1] for one in found], alpha)
    return tuple(
        MissingTest(
            judge=judge,
            kind=kind,
            group=group,
            failed=counts[0],
            trials=counts[1],
            others_failed=counts[2],
            others=counts[3],
            p_value=p_value,
            p_adjusted=float(adjusted),
        )
        for (kind, group, counts, p_value), adjusted in zip(found, outcome.adjusted, strict=True)
    )


Counted = tuple[str, str, tuple[int, int, int, int], float]


def _prompt_tests(log: JudgeLog, rows: Rows) -> Iterator[Counted]:
    """Yield tests of what all judgments of a prompt have in common."""
    prompts, code = np.unique(log.prompt[rows], return_inverse=True)
    failed = np.bincount(code, log.verdict[rows] == NO_VERDICT, minlength=len(prompts)) > 0
    for kind, names, group in _prompt_groups(log, rows, code, len(prompts)):
        for value, name in enumerate(names):
            inside = group == value
            if name and 0 < inside.sum() < len(prompts):
                counts = (
                    int(failed[inside].sum()),
                    int(inside.sum()),
                    int(failed[~inside].sum()),
                    int((~inside).sum()),
                )
                whole = (counts[0] + counts[2], counts[1], len(failed))
                yield kind, name, counts, two_sided([whole], counts[0])


def _prompt_groups(
    log: JudgeLog, rows: Rows, code: NDArray[np.int64], n: int
) -> Iterator[tuple[str, tuple[str, ...], NDArray[np.int64]]]:
    if 1 < len(log.categories) <= MOST_GROUPS:
        category = np.zeros(n, dtype=np.int64)
        category[code] = log.category[rows]
        yield "category", log.categories, category
    one, two = log.lengths
    length = np.bincount(code, (one + two)[rows], minlength=n) / np.bincount(code, minlength=n)
    if np.isfinite(length).all() and len(length):
        # Short answers would be the same test once more.
        yield "answers", ("", "long"), (length > np.median(length)).astype(np.int64)


def _answerer_tests(log: JudgeLog, rows: Rows) -> Iterator[Counted]:
    """Yield tests of who answered, within prompts."""
    pairs, first, code = np.unique(log.pair[rows], return_index=True, return_inverse=True)
    failed = np.bincount(code, log.verdict[rows] == NO_VERDICT, minlength=len(pairs)) > 0
    prompt = log.prompt[rows][first]
    one, two = log.first[rows][first], log.second[rows][first]
    answerers = np.unique(np.r_[one, two])
    if not 2 < len(answerers) <= MOST_GROUPS:
        return
    for answerer in answerers:
        inside = (one == answerer) | (two == answerer)
        strata = [
            (int(failed[here].sum()), int(inside[here].sum()), int(here.sum()))
            for here in (prompt == place for place in np.unique(prompt[failed]))
        ]
        seen = int(failed[inside].sum())
        counts = (seen, int(inside.sum()), int(failed[~inside].sum()), int((~inside).sum()))
        yield "answerer", log.answerers[answerer], counts, two_sided(strata, seen)


def two_sided(strata: list[tuple[int, int, int]], seen: int) -> float:
    """Return the exact p value of so many failures in a group, given those of each stratum.

    Parameters
    ----------
    strata : list of tuple
        Failures, members of the group, and all trials of each stratum.
    seen : int
        Failures of the group over all strata.

    Examples
    --------
    >>> round(two_sided([(3, 4, 10)], 3), 4)
    0.0333
    """
    chances = np.ones(1)
    for failures, members, trials in strata:
        places = np.arange(min(failures, members) + 1)
        chances = np.convolve(chances, hypergeom.pmf(places, trials, members, failures))
    if seen >= len(chances):
        raise ValueError("more failures than the strata hold")
    return float(min(1.0, chances[chances <= chances[seen] * (1 + ROUNDING)].sum()))
