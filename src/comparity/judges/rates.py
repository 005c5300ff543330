r"""Rates of a judge with intervals that know of prompts: seats, lengths, twins, repetitions.

Judgments of one prompt are not independent: the same answers come back, in both orders and for
several judges. Intervals take prompts as clusters, which may be of any sizes
(:mod:`comparity.inference.clustered_rates`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from comparity.inference.clustered_rates import (
    degrees_of_freedom,
    effective_trials,
    gap_interval,
    wilson,
)
from comparity.inference.gap_tests import Interval
from comparity.judges.log import JudgeLog
from comparity.judges.readers import FIRST, NO_VERDICT, ONE_ORDER, SAME_IN_BOTH, SECOND, TIE

Rows = NDArray[np.bool_]
Counts = NDArray[np.int64]
Places = NDArray[np.int64]

NOWHERE = Interval(math.nan, math.nan, math.nan)
# Up to this sum of flips the distribution of their signs is worked out. Beyond it all signs of the
# largest few are tried, and the sum of the others is normal.
LARGEST_EXACT, MOST_TRIED = 20_000, 12
# So many meetings in the same order as before are no chance: 1 in 64.
FEWEST_ALIKE = 6
# With more answerers than this, their wins are not compared one by one.
MOST_ANSWERERS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRate:
    """A share of judgments, with an interval that takes prompts as clusters.

    Attributes
    ----------
    hits, trials, prompts : int
    interval : Interval
        ``nan`` with fewer than two prompts.
    """

    DERIVED: ClassVar[Mapping[str, str]] = {"rate": "rate"}

    hits: int
    trials: int
    prompts: int
    interval: Interval

    @property
    def rate(self) -> float:
        """The share; ``nan`` without trials."""
        return self.hits / self.trials if self.trials else math.nan


def count_by_prompt(prompt: NDArray[np.int32], rows: Rows, n_prompts: int) -> Counts:
    """Count the marked rows of each prompt."""
    return np.bincount(prompt[rows], minlength=n_prompts)


def rate_of(hits: Counts, trials: Counts, level: float = 0.95) -> PromptRate:
    """Return the rate of hits among trials, both by prompt.

    Examples
    --------
    >>> rate = rate_of(np.array([2, 1, 0, 2]), np.array([2, 2, 2, 2]))
    >>> rate.rate, [round(end, 2) for end in rate.interval[:2]]
    (0.625, [0.12, 0.95])
    """
    kept = trials > 0
    hits, trials = hits[kept], trials[kept]
    n, prompts, won = int(trials.sum()), len(trials), int(hits.sum())
    interval = NOWHERE
    if prompts > 1:
        worth, freedom = effective_trials(hits, trials), degrees_of_freedom(trials)
        interval = wilson(won / n, worth, freedom, level)
    return PromptRate(hits=won, trials=n, prompts=prompts, interval=interval)


def gap_between(
    first: tuple[Counts, Counts], second: tuple[Counts, Counts], level: float = 0.95
) -> tuple[float, Interval]:
    """Return the difference of two rates of the same prompts, with a clustered interval.

    It is ``nan`` where all trials of a rate lie in one prompt.

    Parameters
    ----------
    first, second : tuple of ndarray
        Hits and trials by prompt.
    level : float
    """
    (h1, n1), (h2, n2) = first, second
    if not n1.sum() or not n2.sum():
        return math.nan, NOWHERE
    gap = float(h1.sum() / n1.sum() - h2.sum() / n2.sum())
    return gap, gap_interval(first, second, level) or NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappedTwins:
    """Pairs that a judge saw in both orders.

    Attributes
    ----------
    consistent : PromptRate
        How often both orders have the same verdict, ties included.
    flips : int
        Twins with two verdicts.
    decided, decided_flips : int
        Twins with a winner in both orders, and those of them with another one in each.
    first_both, second_both : int
        Twins in which the first, or the second, answer as shown won in both orders.
    p_value : float
        Of as many more of one kind if the seat did not matter: exact, with the signs of all twins
        of a prompt exchanged together. With one twin for each prompt it is McNemar's test.
    collapsed : int
        Twins of which the log has only whether both orders agree.
    """

    consistent: PromptRate
    flips: int
    decided: int
    decided_flips: int
    first_both: int
    second_both: int
    p_value: float
    collapsed: int


def find_twins(log: JudgeLog, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positions of judgments of the same pair in either order, in parallel.

    A pair that was judged several times in an order is matched in the order of the log.
    """
    kept = np.flatnonzero(rows & log.seated & (log.orders == ONE_ORDER))
    way = (log.first[kept] < log.second[kept]).astype(np.int64)
    key = (log.pair[kept] * len(log.judges) + log.judge[kept]) * len(log.runs) + log.run[kept]
    rank = place_in_group(key * 2 + way)
    twin = np.unique(np.stack([key, rank], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    one = np.full(int(twin.max(initial=-1)) + 1, -1)
    two = one.copy()
    one[twin[way == 1]] = kept[way == 1]
    two[twin[way == 0]] = kept[way == 0]
    both = (one >= 0) & (two >= 0)
    return one[both], two[both]


def place_in_group(key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many entries of the same key stand before each.

    Examples
    --------
    >>> place_in_group(np.array([5, 7, 5, 5, 7])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    place = np.arange(len(key)) - np.repeat(starts, np.diff(np.r_[starts, len(key)]))
    found = np.empty(len(key), dtype=np.int64)
    found[order] = place
    return found


def compare_orders(log: JudgeLog, rows: Rows, level: float = 0.95) -> SwappedTwins | None:
    """Compare the verdicts of twins; none where no pair was judged in both orders."""
    one, two = find_twins(log, rows)
    valid = (log.verdict[one] != NO_VERDICT) & (log.verdict[two] != NO_VERDICT)
    one, two = one[valid], two[valid]
    collapsed = rows & (log.orders != ONE_ORDER) & (log.verdict != NO_VERDICT)
    if not len(one) and not collapsed.any():
        return None
    a, b, prompt = log.verdict[one], log.verdict[two], log.prompt[one]
    n = len(log.prompts)
    same = a == -b
    trials = np.bincount(prompt, minlength=n) + count_by_prompt(log.prompt, collapsed, n)
    hits = np.bincount(prompt[same], minlength=n)
    hits = hits + count_by_prompt(log.prompt, collapsed & (log.orders == SAME_IN_BOTH), n)
    first, second = (np.bincount(prompt[(a == w) & (b == w)], minlength=n) for w in (FIRST, SECOND))
    return SwappedTwins(
        consistent=rate_of(hits, trials, level),
        flips=int(trials.sum() - hits.sum()),
        decided=int(np.sum((a != 0) & (b != 0))),
        decided_flips=int(first.sum() + second.sum()),
        first_both=int(first.sum()),
        second_both=int(second.sum()),
        p_value=flip_signs(first - second) if len(one) else math.nan,
        collapsed=int(collapsed.sum()),
    )


class Flips(NamedTuple):
    """Twins by prompt, and those of them that the first, or the second, seat won both times."""

    twins: Counts
    first: Counts
    second: Counts


def find_flips(log: JudgeLog, rows: Rows) -> Flips:
    """Count by prompt the twins with a verdict in both orders, and those that a seat decided."""
    one, two = find_twins(log, rows)
    a, b, n = log.verdict[one], log.verdict[two], len(log.prompts)
    valid = (a != NO_VERDICT) & (b != NO_VERDICT)
    wins = ((a == seat) & (b == seat) for seat in (FIRST, SECOND))
    return Flips(*(np.bincount(log.prompt[one[kept]], minlength=n) for kept in (valid, *wins)))


def flip_signs(net: Counts) -> float:
    r"""Test that sums by prompt are symmetric around zero, by exchanging their signs.

    If the seat does not matter, a prompt's surplus :math:`d_p` of one kind of flips is as likely as
    :math:`-d_p`, whatever the dependence among its twins, and

    .. math:: p = P\Big( \big|\sum_p \varepsilon_p |d_p| \big| \ge \big|\sum_p d_p \big| \Big)

    over independent signs. If every surplus is 1 this is the exact test of McNemar.

    Examples
    --------
    >>> round(flip_signs(np.array([1, 1, 1, 1, 1, -1])), 4)
    0.2188
    """
    sizes, observed = np.abs(net[net != 0]), abs(int(net.sum()))
    if not len(sizes):
        return 1.0
    whole = int(sizes.sum())
    if whole > LARGEST_EXACT:
        return _flip_large(sizes, observed)
    # Places count how much of the sum is positive, so that all are whole numbers from zero.
    chances = np.ones(1)
    for size, times in zip(*np.unique(sizes, return_counts=True), strict=True):
        stretched = np.zeros(int(size) * int(times) + 1)
        stretched[:: int(size)] = binom.pmf(np.arange(times + 1), times, 0.5)
        chances = np.convolve(chances, stretched)
    sums = np.abs(2 * np.arange(whole + 1) - whole)
    return float(min(1.0, chances[sums >= observed].sum()))


def _flip_large(sizes: Counts, observed: int) -> float:
    """Return the p value of sums too large to work out: few prompts may hold most of them."""
    ordered = np.sort(sizes)[::-1].astype(np.float64)
    sums = np.zeros(1)
    for size in ordered[:MOST_TRIED]:
        sums = np.r_[sums - size, sums + size]
    spread = math.sqrt(float(np.sum(ordered[MOST_TRIED:] ** 2)))
    if not spread:
        return float(np.mean(np.abs(sums) >= observed))
    # Half a step of the sum, whose steps are of two, corrects for continuity.
    beyond = norm.sf((observed - 1 - sums) / spread) + norm.sf((observed - 1 + sums) / spread)
    return float(min(1.0, beyond.mean()))


def count_repeats(log: JudgeLog, rows: Rows) -> tuple[Counts, Counts]:
    """Count by prompt how often the same presentation, judged again, has the same verdict."""
    kept = np.flatnonzero(rows & log.seated & (log.orders == ONE_ORDER))
    kept = kept[log.verdict[kept] != NO_VERDICT]
    way = (log.first[kept] < log.second[kept]).astype(np.int64)
    key = (log.pair[kept] * len(log.judges) + log.judge[kept]) * 2 + way
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(key[order][1:] == key[order][:-1])
    before, after = kept[order[again]], kept[order[again + 1]]
    n = len(log.prompts)
    same = log.verdict[before] == log.verdict[after]
    return (
        np.bincount(log.prompt[before][same], minlength=n),
        np.bincount(log.prompt[before], minlength=n),
    )


def count_orders(log: JudgeLog, rows: Rows) -> tuple[Counts, Counts]:
    """Count by prompt how often the same pair in the other order has the same verdict."""
    one, two = find_twins(log, rows)
    valid = (log.verdict[one] != NO_VERDICT) & (log.verdict[two] != NO_VERDICT)
    one, two = one[valid], two[valid]
    same, n = log.verdict[one] == -log.verdict[two], len(log.prompts)
    prompt = log.prompt[one]
    return np.bincount(prompt[same], minlength=n), np.bincount(prompt, minlength=n)


def _is_decided(log: JudgeLog) -> Rows:
    return np.isin(log.verdict, (FIRST, SECOND))


def first_seat(log: JudgeLog, rows: Rows, level: float = 0.95) -> tuple[PromptRate | None, str]:
    """Return how often the first answer wins where one does, or why that says nothing of seats."""
    decided, seated = rows & _is_decided(log), rows & log.seated & (log.orders == ONE_ORDER)
    kept = decided & seated
    # An answerer who is always first wins there because of its quality, for all one knows.
    if np.intersect1d(log.first[kept], log.second[kept]).size:
        if not is_order_fixed(log, kept):
            return _share(log, kept, log.verdict == FIRST, level), ""
        return None, "any two answerers were always shown in the same order"
    if not decided.any():
        is_lost = (log.verdict[rows] == NO_VERDICT).all()
        return None, "all verdicts are missing" if is_lost else "no verdict names a winner"
    if (decided & (log.orders != ONE_ORDER)).any() and not kept.any():
        return None, "the log has one row for both orders of a pair"
    if not kept.any():
        return None, "the log does not say which answer was shown first"
    in_both = np.intersect1d(log.first[seated], log.second[seated]).size
    return None, f"no answerer {'won or lost' if in_both else 'was ever shown'} in both seats"


def is_order_fixed(log: JudgeLog, rows: Rows) -> bool:
    """Say whether any two answerers who met on several prompts always met in the same order.

    Then those shown first, as in a list of names, may win because they are better. Orders in a
    circle do not help: two narrow wins and one clear loss make two wins of three.
    """
    first, second, n = log.first[rows].astype(np.int64), log.second[rows], len(log.answerers)
    way = (np.minimum(first, second) * n + np.maximum(first, second)) * 2 + (first < second)
    met = np.unique(way * len(log.prompts) + log.prompt[rows]) // len(log.prompts)
    ways, times = np.unique(met, return_counts=True)
    return len(np.unique(ways // 2)) == len(ways) and int(np.sum(times - 1)) >= FEWEST_ALIKE


def longer_answer(log: JudgeLog, rows: Rows, level: float = 0.95) -> PromptRate | None:
    """Return how often the longer answer wins where one does; none without lengths."""
    first, second = log.lengths
    kept = rows & _is_decided(log) & (np.abs(first - second) > 0)
    longer_won = (log.verdict == FIRST) == (first > second)
    return _share(log, kept, longer_won, level) if kept.any() else None


def ties(log: JudgeLog, rows: Rows, level: float = 0.95) -> PromptRate:
    """Return how often a verdict is a tie."""
    return _share(log, rows & (log.verdict != NO_VERDICT), log.verdict == 0, level)


def missing(log: JudgeLog, rows: Rows, level: float = 0.95) -> PromptRate:
    """Return how often there is no verdict."""
    return _share(log, rows, log.verdict == NO_VERDICT, level)


def _share(log: JudgeLog, kept: Rows, hits: Rows, level: float) -> PromptRate:
    n = len(log.prompts)
    trials = count_by_prompt(log.prompt, kept, n)
    return rate_of(count_by_prompt(log.prompt, kept & hits, n), trials, level)


class Occurrence(NamedTuple):
    """What may happen in a judgment, in words; of an answerer's wins, with its code."""

    text: str
    answerer: int = -1


FIRST_WINS = Occurrence("the first answer wins")
LONGER_WINS = Occurrence("the longer answer wins")
A_TIE = Occurrence("a tie")
FAILURE = Occurrence("no verdict")


def occurrences_of(log: JudgeLog, places: Places) -> Iterator[Occurrence]:
    """Yield what can be asked of some judgments, for :func:`happens`."""
    yield FIRST_WINS
    first, second = (ends[places] for ends in log.lengths)
    if (np.abs(first - second) > 0).any():
        yield LONGER_WINS
    yield from (A_TIE, FAILURE)
    took_part = np.union1d(log.first[places], log.second[places])
    if len(took_part) <= MOST_ANSWERERS:
        # Of two answerers one wins what the other does not.
        told = took_part[: 1 if len(took_part) == 2 else None]
        yield from (Occurrence(f"{log.answerers[code]} wins", code) for code in told.tolist())


def happens(log: JudgeLog, what: Occurrence, places: Places) -> tuple[Rows, Rows]:
    """Return in which of some judgments something happened, and in which it could have."""
    verdict = log.verdict[places]
    valid, decided = verdict != NO_VERDICT, np.isin(verdict, (FIRST, SECOND))
    if what == A_TIE:
        return verdict == TIE, valid
    if what == FAILURE:
        return ~valid, np.ones(len(places), dtype=bool)
    if what == FIRST_WINS:
        return verdict == FIRST, decided & log.seated[places] & (log.orders[places] == ONE_ORDER)
    if what == LONGER_WINS:
        first, second = (ends[places] for ends in log.lengths)
        return (verdict == FIRST) == (first > second), decided & (np.abs(first - second) > 0)
    is_first, is_second = (side[places] == what.answerer for side in (log.first, log.second))
    won = ((verdict == FIRST) & is_first) | ((verdict == SECOND) & is_second)
    return won, valid & (is_first | is_second)
