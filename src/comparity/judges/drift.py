"""What changed between two judges, or two runs of one, on the same presentations.

Both have a verdict on the same answers in the same seats. If nothing changed but chance, the two
are exchangeable on every prompt, so that the exact test over signs of prompts
(:func:`comparity.judges.rates.flip_signs`) holds whatever the dependence within a prompt; Holm
corrects over all that is asked. Intervals of the changes take prompts as clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np

from comparity.errors import OptionError
from comparity.inference.gap_tests import Interval
from comparity.inference.multiplicity import holm
from comparity.judges.log import JudgeLog
from comparity.judges.rates import (
    Occurrence,
    Places,
    PromptRate,
    Rows,
    flip_signs,
    gap_between,
    happens,
    occurrences_of,
    place_in_group,
    rate_of,
)
from comparity.judges.readers import NO_VERDICT, ONE_ORDER


@dataclass(frozen=True, slots=True, kw_only=True)
class RateChange:
    """One rate of two judges on the same presentations.

    Attributes
    ----------
    what : str
    before, after : float
    gap : float
        After minus before.
    interval : Interval
    p_value, p_adjusted : float
        Exact over prompts, and corrected by Holm over all changes.
    """

    what: str
    before: float
    after: float
    gap: float
    interval: Interval
    p_value: float
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Two judges, or two runs, compared.

    Attributes
    ----------
    before, after : str
    same : PromptRate
        How often they have the same verdict, ties included.
    changes : tuple of RateChange
    """

    before: str
    after: str
    same: PromptRate
    changes: tuple[RateChange, ...]


def compare_runs(log: JudgeLog, names: tuple[str, ...], level: float = 0.95) -> Drift:
    """Compare two judges or files on the presentations that both judged.

    Parameters
    ----------
    log : JudgeLog
    names : tuple of str
        Two judges or files, the earlier first.
    level : float
        Of the intervals.

    Raises
    ------
    OptionError
        There is no such judge or file, or the two have no presentation in common.
    """
    before, after = names
    one, two = _match(log, _rows_of(log, before), _rows_of(log, after))
    if not len(one):
        allowed = "two judges or files that judged the same answers in the same seats"
        raise OptionError("drift", ",".join(names), [allowed])
    changes = [_compare(log, what, (one, two), level) for what in occurrences_of(log, one)]
    # What never happened cannot have changed.
    changes = [change for change in changes if change.before or change.after]
    adjusted = holm([change.p_value for change in changes], 1 - level).adjusted
    valid = (log.verdict[one] != NO_VERDICT) & (log.verdict[two] != NO_VERDICT)
    n, prompt = len(log.prompts), log.prompt[one]
    same = valid & (log.verdict[one] == log.verdict[two])
    return Drift(
        before=before,
        after=after,
        same=rate_of(
            np.bincount(prompt[same], minlength=n), np.bincount(prompt[valid], minlength=n), level
        ),
        changes=tuple(
            replace(change, p_adjusted=float(p))
            for change, p in zip(changes, adjusted, strict=True)
        ),
    )


def _rows_of(log: JudgeLog, name: str) -> Rows:
    if name in log.judges:
        rows: Rows = log.judge == log.judges.index(name)
        return rows
    files = [code for code, one in enumerate(log.sources) if name in (one, PurePath(one).name)]
    if not files:
        names = [*log.judges, *(PurePath(one).name for one in log.sources)]
        raise OptionError("drift", name, names[:10])
    return np.isin(log.source, files)


def _match(log: JudgeLog, first: Rows, second: Rows) -> tuple[Places, Places]:
    """Return positions of judgments of the same presentation, in parallel."""
    found = []
    for rows in (first, second):
        kept = np.flatnonzero(rows & log.seated & (log.orders == ONE_ORDER))
        key = log.pair[kept] * 2 + (log.first[kept] < log.second[kept])
        # A presentation that was judged again is matched in the order of the log.
        found.append((kept, key, place_in_group(key)))
    (kept, key, place), (others, other_key, other_place) = found
    most = int(max(place.max(initial=0), other_place.max(initial=0))) + 1
    _, one, two = np.intersect1d(
        key * most + place, other_key * most + other_place, return_indices=True
    )
    return kept[one], others[two]


def _compare(
    log: JudgeLog, what: Occurrence, places: tuple[Places, Places], level: float
) -> RateChange:
    """Compare how often something happens, where it can for both."""
    prompt, n = log.prompt[places[0]], len(log.prompts)
    (hits, asked), (other_hits, other_asked) = (happens(log, what, one) for one in places)
    both = asked & other_asked
    trials = np.bincount(prompt[both], minlength=n)
    counts = [np.bincount(prompt[both & one], minlength=n) for one in (hits, other_hits)]
    gap, interval = gap_between((counts[1], trials), (counts[0], trials), level)
    whole = max(int(trials.sum()), 1)
    return RateChange(
        what=what.text,
        before=int(counts[0].sum()) / whole,
        after=int(counts[1].sum()) / whole,
        gap=gap,
        interval=interval,
        p_value=flip_signs(counts[1] - counts[0]),
        p_adjusted=math.nan,
    )
