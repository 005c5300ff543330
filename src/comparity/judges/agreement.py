r"""Agreement of judges with people, with a known truth and with each other.

Two verdicts on the same answers make one entry of a table :math:`N_{kl}` (first, second, tie). Of
the table :math:`N = \sum_p N_p` over prompts,

.. math::

    p_o = \sum_k \frac{N_{kk}}{n}, \quad
    \kappa = \frac{p_o - \sum_k r_k c_k}{1 - \sum_k r_k c_k}, \quad
    AC_1 = \frac{p_o - p_\gamma}{1 - p_\gamma}, \quad
    \alpha = 1 - \frac{D_o}{D_e}

with the shares :math:`r_k, c_k` of each judge, :math:`\pi_k = (r_k + c_k)/2`,
:math:`p_\gamma = \sum_k \pi_k (1 - \pi_k)/(K - 1)` over the :math:`K` verdicts that occur [1]_, and
observed and expected disagreement over the coincidences :math:`N + N^T` [2]_. Their intervals come
from leaving out one prompt at a time (the jackknife) with Student's quantiles, so judgments of one
prompt may depend on each other in any way.

Where both judges saw the answers in the same seats, verdicts are first and second *as shown*. Where
they are matched by the two answers alone, or compared with a truth in a log without seats, there is
no first one: each entry counts half in either direction.

*Correcting by people.* Win rates as people see them come from many judgments of a judge and few of
people. A unit is a pair of answers. What people said of it is their mean vote for an answerer (a
tie counts half), what the judge said its own, over both orders. People's pairs correct what the
judge gets wrong in all of them (:mod:`comparity.inference.prediction_powered`), prompts being
clusters.

References
----------
.. [1] Gwet (2008), "Computing inter-rater reliability and its variance in the presence of high
   agreement", British Journal of Mathematical and Statistical Psychology 61, 29-48.
.. [2] Krippendorff (2011), "Computing Krippendorff's alpha-reliability".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from comparity.inference.clustered_rates import degrees_of_freedom
from comparity.inference.gap_tests import Interval
from comparity.judges.log import JudgeLog
from comparity.judges.rates import NOWHERE, PromptRate, Rows, rate_of
from comparity.judges.readers import FIRST, NO_VERDICT, ONE_ORDER, SECOND, TIE

Floats = NDArray[np.float64]
Tables = NDArray[np.float64]
Codes = NDArray[np.int64]

# Place of a verdict in a table: a tie is 0, the first 1, none 2, and the second -1, the last place.
PLACES = np.array([2, 0, 9, 1])
MOST_JUDGES = 30
"""With more judges than this not every two of them are compared."""

PEOPLE, MAJORITY, GOLD = "people's votes", "people's majority", "the truth in the log"
OTHERS = "other people's votes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """A coefficient of agreement with its interval; ``nan`` where there is none."""

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How often two sources of verdicts agree.

    Attributes
    ----------
    first, second : str
        Who is compared with whom.
    matched : str
        By what: "same seats", or "same pair" in whatever order.
    ties : bool
        Whether ties count as a verdict; otherwise only pairs that both decided.
    raw : PromptRate
    kappa, ac1, alpha : Coefficient
        Cohen's, Gwet's, Krippendorff's.
    """

    first: str
    second: str
    matched: str
    ties: bool
    raw: PromptRate
    kappa: Coefficient
    ac1: Coefficient
    alpha: Coefficient


def _divide(above: Floats, below: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 1e-12, above / below, np.nan)


def cohen_kappa(tables: Tables) -> Floats:
    """Return Cohen's kappa of each table in the last two axes."""
    share = _divide(tables, tables.sum((-2, -1), keepdims=True))
    chance = (share.sum(-1) * share.sum(-2)).sum(-1)
    return _divide(np.trace(share, axis1=-2, axis2=-1) - chance, 1 - chance)


def gwet_ac1(tables: Tables, kinds: int = 0) -> Floats:
    """Return Gwet's AC1 of each table in the last two axes.

    `kinds` is how many verdicts there are; by default those that occur in each table.
    """
    share = _divide(tables, tables.sum((-2, -1), keepdims=True))
    both = (share.sum(-1) + share.sum(-2)) / 2
    chance = (both * (1 - both)).sum(-1) / ((kinds or _count_kinds(both)) - 1)
    return _divide(np.trace(share, axis1=-2, axis2=-1) - chance, 1 - chance)


def _count_kinds(shares: Floats) -> Codes:
    found: Codes = np.maximum((shares > 0).sum(-1), 2)
    return found


def ac1_of_kinds(tables: Tables) -> Callable[[Tables], Floats]:
    """Return Gwet's AC1 for the verdicts that occur in the sum of tables.

    A prompt with the only tie that is left out does not make AC1 that of two verdicts.
    """
    whole = tables.sum(0)
    return partial(gwet_ac1, kinds=int(_count_kinds(whole.sum(-1) + whole.sum(-2))))


def krippendorff_alpha(coincidences: Tables) -> Floats:
    """Return Krippendorff's alpha of each table of coincidences, for names without an order."""
    kinds = coincidences.sum(-1)
    n = kinds.sum(-1)
    observed = n - np.trace(coincidences, axis1=-2, axis2=-1)
    expected = _divide(n**2 - (kinds**2).sum(-1), n - 1)
    return 1 - _divide(observed, expected)


def jackknife(tables: Tables, coefficient: Callable[[Tables], Floats], level: float) -> Coefficient:
    """Return a coefficient of the sum of tables by prompt, leaving out one prompt at a time."""
    whole = tables.sum(0)
    value = float(coefficient(whole))
    n, without = len(tables), coefficient(whole - tables)
    error = math.sqrt((n - 1) / n * float(np.sum((without - without.mean()) ** 2)))
    # Prompts that are all alike, as where two judges always agree, tell nothing of the error.
    if math.isnan(value) or not error > 1e-12:
        return Coefficient(value=value, interval=NOWHERE)
    freedom = degrees_of_freedom(tables.sum((1, 2)))
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    return Coefficient(
        value=value, interval=Interval(max(value - half, -1.0), min(value + half, 1.0), level)
    )


def agreement_of(
    tables: Tables, *, names: tuple[str, str], matched: str, ties: bool, level: float = 0.95
) -> Agreement | None:
    """Return how two judges agree, from their tables by prompt; none where they never meet."""
    if not ties:
        tables = tables[:, :2, :2]
    trials = np.rint(tables.sum((1, 2))).astype(np.int64)
    tables, trials = tables[trials > 0], trials[trials > 0]
    if not len(tables):
        return None
    hits = np.rint(np.trace(tables, axis1=1, axis2=2)).astype(np.int64)
    if matched != "same seats":
        tables = (tables + exchange(tables)) / 2
    both_ways = tables + np.swapaxes(tables, 1, 2)
    return Agreement(
        first=names[0],
        second=names[1],
        matched=matched,
        ties=ties,
        raw=rate_of(hits, trials, level),
        kappa=jackknife(tables, cohen_kappa, level),
        ac1=jackknife(tables, ac1_of_kinds(tables), level),
        alpha=jackknife(both_ways, krippendorff_alpha, level),
    )


def exchange(tables: Tables) -> Tables:
    """Return tables with the first and the second answer exchanged."""
    order = [1, 0, 2][: tables.shape[-1]]
    return tables[:, order][:, :, order]


class Verdicts:
    """Verdicts of a log by unit: a presentation, or a pair of answers in whatever order."""

    def __init__(self, log: JudgeLog) -> None:
        self.log = log
        self.pair = log.pair
        self.way = log.first < log.second
        self.n_pairs = int(self.pair.max(initial=-1)) + 1
        self.prompt_of_pair = np.zeros(self.n_pairs, dtype=np.int64)
        self.prompt_of_pair[self.pair] = log.prompt
        # By pair alone, the answerer with the smaller code counts as the first.
        self.by_pair = np.where(self.way | (log.verdict == NO_VERDICT), log.verdict, -log.verdict)

    def count(self, rows: Rows, *, seats: bool) -> Floats:
        """Count the verdicts of some rows by unit."""
        unit, place, _ = self._entries(rows, seats=seats)
        n = self.n_pairs * (2 if seats else 1)
        return np.bincount(unit * 3 + place, minlength=3 * n).reshape(n, 3).astype(float)

    def _entries(self, rows: Rows, *, seats: bool) -> tuple[Codes, Codes, Codes]:
        """Return the unit of each verdict, its place in a table, and who gave it."""
        kept = rows & (self.log.verdict != NO_VERDICT)
        if seats:
            kept = kept & self.log.seated & (self.log.orders == ONE_ORDER)
        unit = self.pair[kept] * 2 + self.way[kept] if seats else self.pair[kept]
        verdict = self.log.verdict[kept] if seats else self.by_pair[kept]
        return unit, PLACES[verdict], self.log.judge[kept]

    def count_each(self, rows: Rows, *, seats: bool, ties: bool = True) -> tuple[Codes, Floats]:
        """Count the verdicts of each judge, in units that two or more judged."""
        unit, place, judge = self._entries(rows, seats=seats)
        kept, judges = place < (3 if ties else 2), len(self.log.judges)
        keys, own = np.unique(unit[kept] * judges + judge[kept], return_inverse=True)
        counts = np.bincount(own * 3 + place[kept], minlength=3 * len(keys)).reshape(-1, 3)
        units, code, n = np.unique(keys // judges, return_inverse=True, return_counts=True)
        return units[code[n[code] > 1]], counts[n[code] > 1].astype(float)

    def tables(self, first: Floats, second: Floats, *, seats: bool) -> Tables:
        """Return the tables of two sources by prompt, every verdict with every other."""
        met = np.flatnonzero((first.sum(1) > 0) & (second.sum(1) > 0))
        return self.sum_by_prompt(first[met, :, None] * second[met, None, :], met, seats=seats)

    def sum_by_prompt(self, tables: Tables, units: Codes, *, seats: bool) -> Tables:
        """Add the tables of all units of each prompt."""
        prompt = self.prompt_of_pair[units // 2 if seats else units]
        names, code = np.unique(prompt, return_inverse=True)
        found = np.zeros((len(names), 9))
        np.add.at(found, code, tables.reshape(-1, 9))
        return found.reshape(-1, 3, 3)


def tables_between(unit: Codes, counts: Floats) -> tuple[Codes, Tables]:
    """Return units, and a table of every two verdicts of different judges, in either direction."""
    units, code = np.unique(unit, return_inverse=True)
    whole = np.zeros((len(units), 3))
    np.add.at(whole, code, counts)
    tables = whole[:, :, None] * whole[:, None, :]
    np.subtract.at(tables, code, counts[:, :, None] * counts[:, None, :])
    return units, tables


def majority(votes: Floats) -> Floats:
    """Return what most people say of each pair, as one vote; a tie where no verdict leads."""
    n = votes.sum(1)
    leads = (votes == votes.max(1, keepdims=True)).sum(1) == 1
    winner = np.where(leads, votes.argmax(1), 2)
    found = np.zeros_like(votes)
    found[np.arange(len(votes)), winner] = n > 0
    return found


def compare_judges(log: JudgeLog, level: float = 0.95) -> tuple[Agreement, ...]:
    """Return the agreement of judges with the truth, with people, and with each other."""
    found: list[Agreement] = []
    for names, matched, tables in _all_tables(log):
        for ties in (True, False):
            one = agreement_of(tables, names=names, matched=matched, ties=ties, level=level)
            if one is not None:
                found.append(one)
    return tuple(found)


def _all_tables(log: JudgeLog) -> Iterator[tuple[tuple[str, str], str, Tables]]:
    verdicts = Verdicts(log)
    is_person = np.isin(log.judges, log.people)
    judges = [code for code in range(len(log.judges)) if not is_person[code]]
    if (log.gold != NO_VERDICT).any():
        for code in judges:
            own = log.take(log.judge == code)
            # A truth that is always in one place is no constant verdict where there are no seats.
            matched = "same seats" if own.seated.all() else "same pair"
            yield (log.judges[code], GOLD), matched, gold_tables(own)
    if len(judges) > MOST_JUDGES:
        return
    rows = {code: log.judge == code for code in judges}
    if log.people:
        votes = verdicts.count(is_person[log.judge], seats=False)
        most = majority(votes)
        for code in judges:
            said = verdicts.count(rows[code], seats=False)
            for name, counts in ((PEOPLE, votes), (MAJORITY, most)):
                tables = verdicts.tables(said, counts, seats=False)
                yield (log.judges[code], name), "same pair", tables
        units, tables = tables_between(*verdicts.count_each(is_person[log.judge], seats=False))
        within = verdicts.sum_by_prompt(tables / 2, units, seats=False)
        yield (PEOPLE, OTHERS), "same pair", within
    seated = {code: verdicts.count(rows[code], seats=True) for code in judges}
    paired = {code: verdicts.count(rows[code], seats=False) for code in judges}
    for one, two in combinations(judges, 2):
        tables = verdicts.tables(seated[one], seated[two], seats=True)
        matched = "same seats" if len(tables) else "same pair"
        if not len(tables):
            tables = verdicts.tables(paired[one], paired[two], seats=False)
        yield (log.judges[one], log.judges[two]), matched, tables


def gold_tables(log: JudgeLog) -> Tables:
    """Return tables of a judge's verdicts and the truth in the same rows, by prompt."""
    kept = (log.verdict != NO_VERDICT) & (log.gold != NO_VERDICT)
    names, code = np.unique(log.prompt[kept], return_inverse=True)
    entry = PLACES[log.verdict[kept]] * 3 + PLACES[log.gold[kept]]
    n = len(names)
    return np.bincount(code * 9 + entry, minlength=9 * n).reshape(n, 3, 3).astype(float)


def panel_alpha(log: JudgeLog, *, ties: bool, level: float = 0.95) -> Coefficient | None:
    """Return Krippendorff's alpha of all judges, people among them; none where nobody meets.

    Who judged a unit again has one vote, shared among its verdicts.
    """
    verdicts = Verdicts(log)
    everyone = np.ones(len(log), dtype=bool)
    seats = bool(log.seated.all() and not log.people)
    unit, counts = verdicts.count_each(everyone, seats=seats, ties=ties)
    if not len(unit):
        return None
    units, tables = tables_between(unit, counts / counts.sum(1, keepdims=True))
    tables /= (np.unique(unit, return_counts=True)[1] - 1)[:, None, None]
    if not seats:
        tables = (tables + exchange(tables)) / 2
    return jackknife(verdicts.sum_by_prompt(tables, units, seats=seats), krippendorff_alpha, level)


def reference_verdicts(log: JudgeLog) -> tuple[NDArray[np.int8], str]:
    """Return what people, or else the truth in the log, say of each row, in its own seats."""
    if (log.gold != NO_VERDICT).any() or not log.people:
        return log.gold, GOLD
    verdicts = Verdicts(log)
    is_person = np.isin(log.judges, log.people)[log.judge]
    most = majority(verdicts.count(is_person, seats=False))
    said = np.where(most.sum(1) > 0, np.array([FIRST, SECOND, TIE])[most.argmax(1)], NO_VERDICT)
    of_row = said[verdicts.pair]
    turned = ~verdicts.way & (of_row != NO_VERDICT)
    return np.where(turned, -of_row, of_row).astype(np.int8), MAJORITY
