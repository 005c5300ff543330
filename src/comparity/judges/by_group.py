r"""Whether a judge agrees, or fails, more often in some groups than in others.

*Agreement.* Groups are of answers: longer or shorter ones, with more or fewer headers, list items,
bold words and blocks of code, refusals, answers of a maker. With people's majority (or a truth in
the log) for the better answer, equal agreement where the better answer has more of something, and
where it has less, is comparative separation of the judge with respect to it, and is tested by the
audit of that name: :func:`comparity.comparative_separation` with a number for an attribute and
prompts as clusters, corrected over all groups of a judge. A verdict of "tie" disagrees.

*Failures.* A judge that finds no verdict on one group's answers biases every rate. Judgments of one
prompt may fail together, so what is counted is a prompt, or within a prompt a pair, that failed at
least once.

- *Categories and lengths* are properties of prompts. If failing has nothing to do with them, the
  prompts that failed are drawn at random among those with about as many judgments (a prompt with
  more of them fails more easily): Fisher's exact test of one group against all others, or the sum
  of such tests over strata.
- *Answerers* meet on the same prompts. If failing has nothing to do with who answered, any of those
  with as many judgments of the prompt could have lost as many pairs: one bad answer fails in all of
  its pairs, so pairs are not exchanged. The sum over prompts is a convolution.

P values are two-sided, by adding up what is at most as likely as what was seen, and corrected by
Holm over all groups of a judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.comparative.judge import audit_counts
from comparity.comparative.options import ComparativeOptions
from comparity.counts.clusters import Clustering
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.ledger import Attribute
from comparity.inference.exact_sums import drawn_p_value, exchanged_p_value
from comparity.inference.gap_tests import Interval
from comparity.inference.multiplicity import holm
from comparity.judges.agreement import reference_verdicts
from comparity.judges.answerers import FEWEST_UNEVEN, Answers, LeanNumber, Makers, known_numbers
from comparity.judges.log import JudgeLog
from comparity.judges.rates import PromptRate, Rows, count_by_prompt, rate_of
from comparity.judges.readers import FIRST, NO_VERDICT, SECOND
from comparity.results.audit import Audit

MOST_GROUPS = 40
AS_MANY = 1.25
"""Prompts whose numbers of judgments differ by less than this factor have about as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementGap:
    """How often a judge agrees where the better answer has more of something, and where less.

    Attributes
    ----------
    judge, reference : str
        Who is compared with whom.
    kind : str
        "length", "style", "refusal", "family", or "self" for the judge's own family.
    toward : str
        What there is more or less of, such as "longer answers".
    with_more, with_less : PromptRate
        Agreement where the better answer is the one with more of it, and the one with less.
    gap : float
        The first minus the second.
    interval : Interval
        Of the gap, at the level at which the test was judged.
    p_value, p_adjusted : float
        Of equal agreement, corrected over all groups of the judge.
    finding : str
        One of the three words, for the margin of the audit.
    """

    judge: str
    reference: str
    kind: str
    toward: str
    with_more: PromptRate
    with_less: PromptRate
    gap: float
    interval: Interval
    p_value: float
    p_adjusted: float
    finding: str


def compare_by_group(
    log: JudgeLog, makers: Makers, level: float = 0.95, margin: float = 0.05
) -> tuple[AgreementGap, ...]:
    """Compare agreement with people, or with a truth, between groups of answers.

    Parameters
    ----------
    log : JudgeLog
    makers : Makers
    level : float
        Of the intervals of rates; one minus it is the error rate over all groups of a judge.
    margin : float
        Largest harmless gap.

    Returns
    -------
    tuple of AgreementGap
        For each judge those groups in which the answers of at least 20 prompts differ.
    """
    reference, called = reference_verdicts(log)
    usable = (np.abs(reference) == 1) & (log.verdict != NO_VERDICT) & (log.first != log.second)
    found: list[AgreementGap] = []
    for code, name in log.beside_people():
        rows = usable & (log.judge == code)
        if rows.any():
            pairs = _JudgedAnswers(log.take(rows), reference[rows], makers)
            found += pairs.gaps((name, called), level, margin)
    return tuple(found)


class _JudgedAnswers:
    """Pairs of answers that a judge and a reference judged, the better one by the reference."""

    def __init__(self, log: JudgeLog, reference: NDArray[np.int8], makers: Makers) -> None:
        self.log = log
        answers = Answers.of(log)
        first = reference == FIRST
        self.better = np.where(first, answers.first, answers.second)
        self.worse = np.where(first, answers.second, answers.first)
        # 1 where the judge agrees, 0 where it says tie, -1 where it disagrees.
        self.order = (log.verdict * reference).astype(np.int8)
        self.n_items, self.makers = len(answers.answerer), makers
        made = makers.of(log.answerers)
        self.numbers = self._told([*known_numbers(answers, made, made).values()])

    def _told(self, numbers: list[LeanNumber]) -> list[LeanNumber]:
        """Return the numbers in which answers of enough prompts differ, each once."""
        kept: dict[bytes, LeanNumber] = {}
        for one in numbers:
            side = self._side(one)
            if len(np.unique(self.log.prompt[side != 1])) < FEWEST_UNEVEN:
                continue
            # Of two makers, more of one is less of the other.
            if not {side.tobytes(), (2 - side).tobytes()} & kept.keys():
                kept[side.tobytes()] = one
        return [*kept.values()]

    def _side(self, number: LeanNumber) -> NDArray[np.int64]:
        """Return 2 where the better answer has more of a number, 0 where less, 1 where equal."""
        return Attribute(values=number.values).cells(self.better, self.worse)[0]

    def audit(self, level: float, margin: float) -> Audit:
        """Return the audit of comparative separation, with one test for each number."""
        options = ComparativeOptions(
            continuous=True, cluster=("prompt",), alpha=1 - level, margin=margin
        )
        return audit_counts({one.toward: self._count(one) for one in self.numbers}, options)

    def _count(self, number: LeanNumber) -> JudgedPairs:
        cell, cells = Attribute(values=number.values).cells(self.better, self.worse)
        return JudgedPairs(
            better=self.better,
            worse=self.worse,
            evaluator=None,
            cell=cell,
            order=self.order,
            trials=np.ones(len(cell), dtype=np.int64),
            cells=cells,
            n_items=self.n_items,
            clusters={
                "prompt": Clustering(self.log.prompt.astype(np.int64), self.log.prompts),
            },
        )

    def gaps(self, names: tuple[str, str], level: float, margin: float) -> Iterator[AgreementGap]:
        """Yield the gap of each number."""
        if not self.numbers:
            return
        maker = self.makers.of(names[:1])[0]
        tests = self.audit(level, margin).tests
        for number, test in zip(self.numbers, tests, strict=True):
            side = self._side(number)
            kind, toward, _ = number.words(maker)
            yield AgreementGap(
                judge=names[0],
                reference=names[1],
                kind=kind,
                toward=toward,
                with_more=self._rate(side == 2, level),
                with_less=self._rate(side == 0, level),
                gap=test.gap,
                interval=test.deciding_interval,
                p_value=test.p_value,
                p_adjusted=test.p_adjusted,
                finding=test.finding,
            )

    def _rate(self, rows: Rows, level: float) -> PromptRate:
        prompt, n = self.log.prompt, len(self.log.prompts)
        hits = count_by_prompt(prompt, rows & (self.order == 1), n)
        return rate_of(hits, count_by_prompt(prompt, rows, n), level)


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
    size = np.floor(np.log(np.bincount(code)) / np.log(AS_MANY))
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
                strata = [
                    (int(failed[here].sum()), int(inside[here].sum()), int(here.sum()))
                    for here in (size == one for one in np.unique(size))
                ]
                yield kind, name, counts, drawn_p_value(strata, counts[0])


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
    _, first, code, times = np.unique(
        log.pair[rows], return_index=True, return_inverse=True, return_counts=True
    )
    failed = np.bincount(code, log.verdict[rows] == NO_VERDICT) > 0
    sides = [side[rows][first] for side in (log.first, log.second)]
    answerers = np.unique(sides)
    if not 2 < len(answerers) <= MOST_GROUPS:
        return
    prompts = log.prompt[rows][first].astype(np.int64)
    cells, place = np.unique(
        np.r_[prompts, prompts] * len(log.answerers) + np.r_[*sides], return_inverse=True
    )
    lost, judged = (np.bincount(place, np.r_[one, one]).astype(int) for one in (failed, times))
    prompt, who = np.divmod(cells, len(log.answerers))
    # A prompt without a failure adds nothing to any sum.
    kept = np.isin(prompt, prompts[failed])
    prompt, who, lost, judged = (one[kept] for one in (prompt, who, lost, judged))
    lows, highs = (np.searchsorted(prompt, prompt, side=side) for side in ("left", "right"))
    for answerer in answerers:
        others = [
            lost[lows[k] : highs[k]][judged[lows[k] : highs[k]] == judged[k]]
            for k in np.flatnonzero(who == answerer).tolist()
        ]
        inside = (sides[0] == answerer) | (sides[1] == answerer)
        seen = int(failed[inside].sum())
        counts = (seen, int(inside.sum()), int(failed[~inside].sum()), int((~inside).sum()))
        yield "answerer", log.answerers[answerer], counts, exchanged_p_value(others, seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMaker:
    """How often answers of a judge's own maker win over others, whatever their quality.

    Attributes
    ----------
    judge, maker : str
    wins : PromptRate
        In the decided verdicts of the judge.
    by_others, by_people : PromptRate or None
        In those of the other judges, and of people.
    """

    judge: str
    maker: str
    wins: PromptRate
    by_others: PromptRate | None
    by_people: PromptRate | None


def compare_own_makers(log: JudgeLog, makers: Makers, level: float) -> tuple[OwnMaker, ...]:
    """Return the wins of each judge's own maker, where answers of it met those of others."""
    return tuple(_own_makers(log, makers, level))


def _own_makers(log: JudgeLog, makers: Makers, level: float) -> Iterator[OwnMaker]:
    of_answerer = np.array(makers.of(log.answerers))
    is_person, n = np.isin(log.judges, log.people)[log.judge], len(log.prompts)
    for code, judge in log.beside_people():
        (maker,) = makers.of([judge])
        if not maker:
            continue
        first, second = (of_answerer[side] == maker for side in (log.first, log.second))
        met = (first != second) & np.isin(log.verdict, (FIRST, SECOND))
        won = met & (first == (log.verdict == FIRST))
        own = met & (log.judge == code)
        if not own.any():
            continue

        def share(rows: Rows, met: Rows = met, won: Rows = won) -> PromptRate | None:
            if not (met & rows).any():
                return None
            hits, trials = (count_by_prompt(log.prompt, one & rows, n) for one in (won, met))
            return rate_of(hits, trials, level)

        others, people = share(~is_person & (log.judge != code)), share(is_person)
        wins = share(log.judge == code)
        assert wins is not None, "verdicts of its own were found"
        yield OwnMaker(judge=judge, maker=maker, wins=wins, by_others=others, by_people=people)


def count_known(log: JudgeLog, makers: Makers) -> dict[str, int]:
    """Count answers, those whose length and whose style is known, answerers, and known makers."""
    sides = ((log.first, log.first_item), (log.second, log.second_item))
    columns = [np.stack([log.prompt, log.turn, who, item], axis=1) for who, item in sides]
    answers = np.unique(np.concatenate(columns), axis=0)
    known = ~np.isnan(log.features[answers[:, 3]])
    return {
        "answers": len(answers),
        "lengths": int(known[:, 0].sum()),
        # A log may count tokens, headers, list items and bold words, and keep no text.
        "tokens": int((known[:, 0] & ~known[:, 1]).sum()),
        "marks": int(known[:, 2:5].all(axis=1).sum()),
        "styles": int(known[:, 1:].all(axis=1).sum()),
        "answerers": len(log.answerers),
        "makers": sum(map(bool, makers.of(log.answerers))),
    }
