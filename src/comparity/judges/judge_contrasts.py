r"""What differs between judges: two of them or two runs of one, and groups of judges.

*Drift.* Two judges have a verdict on the same answers in the same seats; of two files with judges
in common each of these is compared with itself. If nothing changed but
chance, the two are exchangeable on every prompt, so that the exact test over signs of prompts
(:func:`comparity.judges.rates.flip_signs`) holds whatever the dependence within a prompt; Holm
corrects over all that is asked. Intervals of the changes take prompts as clusters.

*Groups of judges*: whether women and men, or experts and laymen, judge differently.

Judges are a sample of others like them, and prompts of others, so judgments that share a judge or a
prompt depend on each other. The variance of the gap between the rates of two sides is

.. math:: \hat V = \hat V_J + \hat V_P - \hat V_{JP}, \quad \hat V \ge \max(\hat V_J, \hat V_P),

with the variances of the jackknife over judges, over prompts, and over both [1]_: what leaving one
out changes. The quantile is Student's with the degrees of freedom of Satterthwaite. Judges of a
side have :math:`(\sum s_j^2)^2 / \sum s_j^4 - 1` of them, where :math:`s_j` is the judge's share of
the side (judges who judged most count most), and what prompts add, :math:`\hat V - \hat V_J`, those
of the side with fewer prompts. Each group is compared with all other judges; Holm corrects over
groups and questions.

References
----------
.. [1] Cameron, Gelbach and Miller (2011), "Robust inference with multiway clustering", Journal of
   Business and Economic Statistics 29, 238-249.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from comparity.errors import FewJudgesError, JudgeInTwoGroupsError, OptionError, UnknownJudgeError
from comparity.errors.spelling import list_names
from comparity.inference.clustered_rates import degrees_of_freedom
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
from comparity.tables.columns import open_table
from comparity.tables.files import read_table
from comparity.tables.frames import collect_columns, is_missing, text_of


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
    """Compare two judges or files, the earlier first, on the presentations that both judged.

    Raises
    ------
    OptionError
        There is no such judge or file, a name is that of several files, or the two have no
        presentation in common.
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
    files = _files_called(log, name)
    if len(files) > 1:
        why = f"{len(files)} files are called so"
        raise OptionError("drift", name, [log.sources[code] for code in files][:10], why)
    if not files:
        names = [PurePath(one).name for one in log.sources]
        # A name of several files is none to choose.
        known = [
            path if names.count(one) > 1 else one
            for path, one in zip(log.sources, names, strict=True)
        ]
        raise OptionError("drift", name, [*log.judges, *known][:10])
    of_file: Rows = log.source == files[0]
    return of_file


def _files_called(log: JudgeLog, name: str) -> list[int]:
    """Return the files of a path; where there is none, those of a name in any folder."""
    paths = [PurePath(one) for one in log.sources]
    exact = [code for code, one in enumerate(paths) if one == PurePath(name)]
    return exact or [code for code, one in enumerate(paths) if one.name == name]


def _match(log: JudgeLog, first: Rows, second: Rows) -> tuple[Places, Places]:
    """Return positions of judgments of the same presentation, in parallel.

    Judges whom both sides have in common are compared with themselves, and others left out.
    """
    shared = np.intersect1d(log.judge[first], log.judge[second])
    found = []
    for rows in (first, second):
        kept = np.flatnonzero(rows & log.seated & (log.orders == ONE_ORDER))
        key = log.pair[kept] * 2 + (log.first[kept] < log.second[kept])
        if len(shared):
            is_shared = np.isin(log.judge[kept], shared)
            kept, key = kept[is_shared], key[is_shared]
            key = key * len(log.judges) + log.judge[kept]
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


Floats = NDArray[np.float64]

FEWEST_JUDGES = 3
"""Judges of a group below which nothing is said of others like them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeGroupGap:
    """How often something happens with judges of a group, and with all others.

    Attributes
    ----------
    by, group, what : str
        The attribute, its value, and what happens.
    rate, other_rate, gap : float
        In the group, elsewhere, and the difference.
    standard_error : float
        Knows of judges and of prompts.
    interval : Interval
    p_value, p_adjusted : float
        Corrected by Holm over all groups and questions.
    judges, other_judges : int
    """

    by: str
    group: str
    what: str
    rate: float
    other_rate: float
    gap: float
    standard_error: float
    interval: Interval
    p_value: float
    p_adjusted: float
    judges: int
    other_judges: int


def read_judges(source: Any, by: str) -> dict[str, str]:
    """Return the group of each judge, from a table with columns ``judge`` and `by`, or a mapping.

    Raises
    ------
    JudgeInTwoGroupsError
        Two rows put a judge in different groups.
    """
    if isinstance(source, Mapping):
        named = {str(name): group for name, group in source.items()}
        return {name: text_of(group) for name, group in named.items() if not is_missing(group)}
    is_path = isinstance(source, str | os.PathLike)
    frame = read_table(source).to_native() if is_path else source
    columns = collect_columns(open_table(frame, "judges", {"judge": "judge", "group": by}).frame)
    found: dict[str, tuple[int, str]] = {}
    for row, told in enumerate(zip(columns["judge"], columns["group"], strict=True), start=1):
        if any(map(is_missing, told)):
            continue
        name, group = map(text_of, told)
        first, known = found.setdefault(name, (row, group))
        if known != group:
            raise JudgeInTwoGroupsError(name, by, {first: known, row: group})
    return {name: group for name, (_, group) in found.items()}


def note_ungrouped(log: JudgeLog, groups: Mapping[str, str], by: str | None) -> tuple[str, ...]:
    """Return how many judges of the log have no group, and which; nothing where all have one."""
    left = [name for name in log.judges if name not in groups]
    if by is None or not left:
        return ()
    rows = np.isin(log.judge, [log.judges.index(name) for name in left])
    note = (
        f"{len(left):,} of {len(log.judges):,} judges ({int(rows.sum()):,} judgments) have no "
        f"{by!r} in the table of judges, and are in none of its groups: {list_names(left)}."
    )
    return (note,)


def compare_groups_of_judges(
    log: JudgeLog, groups: Mapping[str, str], by: str, level: float = 0.95
) -> tuple[JudgeGroupGap, ...]:
    """Compare each group of judges with all other judges of whom a group is known.

    Raises
    ------
    UnknownJudgeError, FewJudgesError
        No judge of the log is in the table; fewer than two groups have three judges.
    """
    known = [name for name in log.judges if name in groups]
    if not known:
        raise UnknownJudgeError(log.judges, groups)
    names, code = np.unique([groups[name] for name in known], return_inverse=True)
    sizes = np.bincount(code)
    if (sizes >= FEWEST_JUDGES).sum() < 2:
        counted = dict(zip(names.tolist(), sizes.tolist(), strict=True))
        raise FewJudgesError(by, counted, FEWEST_JUDGES)
    group_of = np.full(len(log.judges), -1)
    group_of[[log.judges.index(name) for name in known]] = code
    rows = np.flatnonzero(group_of[log.judge] >= 0)
    part, member = log.take(rows), group_of[log.judge[rows]]
    # Of two groups one is above where the other is below.
    told = [one for one in range(len(names)) if sizes[one] >= FEWEST_JUDGES]
    told = told[:1] if len(names) == 2 else told
    found = [
        replace(one, by=by, group=str(names[place]))
        for place in told
        for one in _gaps(part, member == place, level)
    ]
    adjusted = holm([one.p_value for one in found], 1 - level).adjusted
    return tuple(replace(one, p_adjusted=float(p)) for one, p in zip(found, adjusted, strict=True))


def _gaps(log: JudgeLog, side: Rows, level: float) -> Iterator[JudgeGroupGap]:
    places = np.arange(len(log))
    for what in occurrences_of(log, places):
        hits, asked = happens(log, what, places)
        gap = _gap(hits[asked], side[asked], log.judge[asked], log.prompt[asked], level)
        if gap is not None:
            yield replace(gap, what=what.text)


def _gap(
    hits: Rows,
    side: Rows,
    judge: NDArray[np.int32],
    prompt: NDArray[np.int32],
    level: float,
) -> JudgeGroupGap | None:
    """Return the gap between two sides; none where one has too few judges, or nothing happens."""
    judges = [len(np.unique(judge[one])) for one in (side, ~side)]
    if min(judges) < FEWEST_JUDGES or not hits.any() or hits.all():
        return None
    rates = [float(hits[one].mean()) for one in (side, ~side)]
    added = np.where(side, (hits - rates[0]) / side.sum(), -(hits - rates[1]) / (~side).sum())
    by_judge = [_spread_of_judges(added[one], judge[one]) for one in (side, ~side)]
    of_judges = sum(variance for variance, _ in by_judge)
    both = judge.astype(np.int64) * (int(prompt.max()) + 1) + prompt
    (by_prompt, of_prompts), (by_both, of_both) = (_spread(added, side, c) for c in (prompt, both))
    variance = max(of_judges + by_prompt - by_both, of_judges, by_prompt)
    # Where no two judges share a prompt both are the same, and cancel.
    squares = max(by_prompt**2 / of_prompts - by_both**2 / of_both, 0.0)
    freedom = variance**2 / (sum(one**2 / dof for one, dof in by_judge) + squares)
    gap, error = rates[0] - rates[1], math.sqrt(variance)
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    return JudgeGroupGap(
        by="",
        group="",
        what="",
        p_adjusted=math.nan,
        rate=rates[0],
        other_rate=rates[1],
        gap=gap,
        standard_error=error,
        interval=Interval(max(gap - half, -1.0), min(gap + half, 1.0), level),
        p_value=float(2 * stdtr(freedom, -abs(gap) / error)),
        judges=judges[0],
        other_judges=judges[1],
    )


def _spread_of_judges(added: Floats, judge: NDArray[np.int32]) -> tuple[float, float]:
    """Return what judges of one side add to the variance, and its degrees of freedom.

    Each sum is what leaving the judge out would change; where all judges agree, the variance is
    that of one who does not.
    """
    code = np.unique(judge, return_inverse=True)[1]
    share = np.bincount(code) / len(code)
    sums, n = np.bincount(code, added) / (1 - share), len(share)
    variance = (n - 1) / n * float(sums @ sums) or 1 / (n * (n - 1))
    return variance, max(float((share @ share) ** 2 / np.sum(share**4)) - 1, 1.0)


def _spread(added: Floats, side: Rows, clusters: NDArray[Any]) -> tuple[float, float]:
    """Return the variance of the gap by leaving out clusters of both sides, and its freedom."""
    code = np.unique(clusters, return_inverse=True)[1]
    n, freedom = int(code.max()) + 1, math.inf
    moved = np.zeros(n)
    for one in (side, ~side):
        sizes = np.bincount(code[one], minlength=n)
        # Where a side is one cluster, its sum is zero.
        moved += np.bincount(code[one], added[one], n) / np.maximum(1 - sizes / one.sum(), 1 / n)
        freedom = min(freedom, degrees_of_freedom(sizes))
    return (n - 1) / n * float(moved @ moved), freedom
