"""What changed between two judges, or two runs of one, on the same presentations.

Both have a verdict on the same answers in the same seats. If nothing changed but chance, the two
are exchangeable on every prompt, so that the exact test over signs of prompts
(:func:`comparity.judges.rates.flip_signs`) holds whatever the dependence within a prompt; Holm
corrects over all that is asked. Intervals of the changes take prompts as clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.inference.gap_tests import Interval
from comparity.inference.multiplicity import holm
from comparity.judges.log import JudgeLog
from comparity.judges.rates import (
    PromptRate,
    Rows,
    flip_signs,
    gap_between,
    place_in_group,
    rate_of,
)
from comparity.judges.readers import FIRST, NO_VERDICT, ONE_ORDER, SECOND, TIE

Places = NDArray[np.int64]

MOST_ANSWERERS = 20
"""With more answerers than this, their wins are not compared one by one."""


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
    asked = _Asked(log, one, two)
    changes = [asked.change(what, level) for what in asked.questions()]
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """Verdicts on the same presentations, and what is asked of both."""

    log: JudgeLog
    one: Places
    two: Places

    def questions(self) -> Iterator[str]:
        """Yield what the log lets one ask."""
        yield "the first answer wins"
        first, second = (ends[self.one] for ends in self.log.lengths)
        if (np.abs(first - second) > 0).any():
            yield "the longer answer wins"
        yield from ("a tie", "no verdict")
        took_part = np.union1d(self.log.first[self.one], self.log.second[self.one])
        if len(took_part) <= MOST_ANSWERERS:
            # Of two answerers one wins what the other does not.
            told = took_part[: 1 if len(took_part) == 2 else None]
            yield from (f"{self.log.answerers[code]} wins" for code in told.tolist())

    def change(self, what: str, level: float) -> RateChange:
        """Compare how often something happens, where it can for both."""
        prompt, n = self.log.prompt[self.one], len(self.log.prompts)
        hits, asked = self._happens(what, self.one)
        other_hits, other_asked = self._happens(what, self.two)
        both = asked & other_asked
        trials = np.bincount(prompt[both], minlength=n)
        counts = [np.bincount(prompt[both & one], minlength=n) for one in (hits, other_hits)]
        gap, interval = gap_between((counts[1], trials), (counts[0], trials), level)
        whole = max(int(trials.sum()), 1)
        return RateChange(
            what=what,
            before=int(counts[0].sum()) / whole,
            after=int(counts[1].sum()) / whole,
            gap=gap,
            interval=interval,
            p_value=flip_signs(counts[1] - counts[0]),
            p_adjusted=float("nan"),
        )

    def _happens(self, what: str, places: Places) -> tuple[Rows, Rows]:
        """Return where something happened, and where it could have."""
        log, verdict = self.log, self.log.verdict[places]
        valid, decided = verdict != NO_VERDICT, np.isin(verdict, (FIRST, SECOND))
        if what == "a tie":
            return verdict == TIE, valid
        if what == "no verdict":
            return ~valid, np.ones(len(places), dtype=bool)
        if what == "the first answer wins":
            return verdict == FIRST, decided
        first, second = (ends[places] for ends in log.lengths)
        if what == "the longer answer wins":
            return (verdict == FIRST) == (first > second), decided & (np.abs(first - second) > 0)
        code = log.answerers.index(what.removesuffix(" wins"))
        is_first, is_second = log.first[places] == code, log.second[places] == code
        won = ((verdict == FIRST) & is_first) | ((verdict == SECOND) & is_second)
        return won, valid & (is_first | is_second)
