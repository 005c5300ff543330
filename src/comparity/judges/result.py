"""The frozen answer of an audit of judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from comparity.inference.gap_tests import Interval, plain
from comparity.judges.agreement import Agreement, Coefficient
from comparity.judges.answerers import CorrectedRate
from comparity.judges.by_group import AgreementGap, MissingTest, OwnMaker
from comparity.judges.judge_contrasts import Drift, JudgeGroupGap
from comparity.judges.leaderboard import Standing
from comparity.judges.rates import PromptRate, SwappedTwins
from comparity.judges.readers import CROWD
from comparity.judges.single_scores import ScoreSummary
from comparity.judges.wins import JudgeSharpness, Lean
from comparity.reports.plots import draw
from comparity.reports.sections import Section
from comparity.results.result import Result, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SHOWN = 20
"""Judges that are shown one by one where there is little room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the files of one format were read.

    Attributes
    ----------
    form, about : str
        What the format is called, and what it is.
    is_documented_only : bool
        Whether its reader was written from documentation alone.
    files : tuple of str
    records, judgments, prompts, answerers, judges : int
    scores : int
        Answers that were judged alone.
    seats : str
        What is known of the order in which answers were shown.
    missing : mapping of str to int
        Judgments without a verdict, by reason.
    in_several_files : int
        Records that another of these files holds, too.
    """

    form: str
    about: str
    is_documented_only: bool
    files: tuple[str, ...]
    records: int
    judgments: int
    prompts: int
    answerers: int
    judges: int
    scores: int
    seats: str
    missing: Mapping[str, int]
    in_several_files: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSummary:
    """What one judge, or all people together, did.

    Attributes
    ----------
    name : str
    persons : int
        How many people these are; 0 for a judge who is none, 1 also for a crowd of voters.
    judgments, prompts : int
    missing : mapping of str to int
        Judgments without a verdict, by reason.
    missing_rate, ties : PromptRate
    first : PromptRate or None
        How often the first answer wins where one does.
    first_unknown : str
        Why that is not known, or says nothing of seats.
    longer : PromptRate or None
        How often the longer answer wins where one does; quality is not taken into account.
    twins : SwappedTwins or None
        Pairs that were judged in both orders.
    seat_p_adjusted : float
        The p value of the twins, corrected by Holm over all judges.
    repeats : PromptRate or None
        How often the same presentation, judged again, has the same verdict.
    swap_gap : float
        Agreement of two orders minus agreement of two runs of one order: what the seat adds
        to noise; ``nan`` without either.
    swap_gap_interval : Interval
    """

    name: str
    persons: int
    judgments: int
    prompts: int
    missing: Mapping[str, int]
    missing_rate: PromptRate
    ties: PromptRate
    first: PromptRate | None
    first_unknown: str
    longer: PromptRate | None
    twins: SwappedTwins | None
    seat_p_adjusted: float
    repeats: PromptRate | None
    swap_gap: float
    swap_gap_interval: Interval

    @property
    def is_crowd(self) -> bool:
        """Whether these are people, and the log does not say how many."""
        return self.persons == 1 and self.name == CROWD

    @property
    def consistent(self) -> PromptRate | None:
        """How often both orders of a pair have one verdict."""
        return self.twins.consistent if self.twins else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Beginnings of texts of one pair, shown on request only."""

    judge: str
    why: str
    prompt: str
    question: str
    first: str
    second: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgesAudit(Result):
    """What judges do, from their logs.

    Attributes
    ----------
    readings : tuple of Reading
        How the files were read, by format.
    judges : tuple of JudgeSummary
    scores : tuple of ScoreSummary
        Scores of single answers by judge and answerer, where the log has any.
    agreements : tuple of Agreement
    panel, panel_decided : Coefficient or None
        Krippendorff's alpha of all judges, with ties as a verdict and without them.
    by_group : tuple of AgreementGap
        Agreement with people, or a truth, by groups of answers: comparative separation.
    known : mapping of str to int
        Answers, and those whose length and style are known; answerers, and those whose maker is.
    own_makers : tuple of OwnMaker
        How often answers of a judge's own maker win, not adjusted for quality.
    missing_tests : tuple of MissingTest
    corrected : tuple of CorrectedRate
        Win rates as people see them, from their votes and each judge's.
    leans : tuple of Lean
        What each judge leans to between equally good answers, where there is anything to tell
        quality by.
    sharpness : tuple of JudgeSharpness
        How often each judge picks the better answer, where leans are told.
    drift : Drift or None
        What changed between two judges or files, where that was asked for.
    judge_groups : tuple of JudgeGroupGap
        Groups of judges compared, where their attributes were given.
    leaderboard : tuple of Standing
        The best first; empty where the log does not say who answered.
    examples : tuple of Example
    omitted : mapping of str to int
        Rows that were left out, by reason.
    notes : tuple of str
    level : float
        Of all intervals.
    margin : float
        Largest harmless lean, in wins of 100 even pairs.
    provenance : mapping
    """

    readings: tuple[Reading, ...]
    judges: tuple[JudgeSummary, ...]
    scores: tuple[ScoreSummary, ...] = ()
    agreements: tuple[Agreement, ...] = ()
    panel: Coefficient | None = None
    panel_decided: Coefficient | None = None
    by_group: tuple[AgreementGap, ...] = ()
    known: Mapping[str, int] = field(default_factory=dict)
    own_makers: tuple[OwnMaker, ...] = ()
    missing_tests: tuple[MissingTest, ...] = ()
    corrected: tuple[CorrectedRate, ...] = ()
    leans: tuple[Lean, ...] = ()
    sharpness: tuple[JudgeSharpness, ...] = ()
    drift: Drift | None = None
    judge_groups: tuple[JudgeGroupGap, ...] = ()
    leaderboard: tuple[Standing, ...] = ()
    examples: tuple[Example, ...] = ()
    omitted: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    level: float
    margin: float
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def busiest(self) -> tuple[JudgeSummary, ...]:
        """The judges in their order; of many those with most judgments first."""
        if len(self.judges) <= MOST_SHOWN:
            return self.judges
        return tuple(sorted(self.judges, key=lambda one: -one.judgments))

    def section(self) -> Section:
        """Return what is told of the judges."""
        from comparity.judges.section import section_of

        return section_of(self)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row of numbers for each judge; of scores alone, for each answerer, too."""
        if not self.judges:
            return [_score_row(one) for one in self.scores]
        found = []
        for one in self.judges:
            row: dict[str, Any] = {"judge": one.name, "persons": one.persons}
            row |= {"judgments": one.judgments, "prompts": one.prompts}
            shares = (
                *(("missing", one.missing_rate), ("tie", one.ties), ("first", one.first)),
                *(("longer", one.longer), ("same_in_both_orders", one.consistent)),
                ("repeated", one.repeats),
            )
            for name, share in shares:
                row |= _cells(name, share)
            twins = one.twins
            row["first_in_both"] = twins.first_both if twins else None
            row["second_in_both"] = twins.second_both if twins else None
            row["seat_p"] = plain(twins.p_value) if twins else None
            row["seat_p_adjusted"] = plain(one.seat_p_adjusted)
            found.append(row)
        return found

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each judge (and answerer), as a frame of the named engine."""
        return frame_of_rows(self.rows(), backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how often each judge picks the first answer; of scores alone, their means."""
        from comparity.judges.section import score_chart, seat_chart

        return draw(seat_chart(self) if self.judges else score_chart(self), ax)


def _score_row(one: ScoreSummary) -> dict[str, Any]:
    low, high = map(plain, one.interval[:2])
    facts = {"judge": one.judge, "answerer": one.answerer, "scores": one.scores}
    facts |= {"prompts": one.prompts, "missing": sum(one.missing.values())}
    spread = {"lowest": plain(one.lowest), "highest": plain(one.highest)}
    return facts | {"mean": plain(one.mean), "mean_low": low, "mean_high": high} | spread


def _cells(name: str, share: PromptRate | None) -> dict[str, Any]:
    if share is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None, f"{name}_n": 0}
    low, high = map(plain, share.interval[:2])
    rate = plain(share.rate)
    return {name: rate, f"{name}_low": low, f"{name}_high": high, f"{name}_n": share.trials}
