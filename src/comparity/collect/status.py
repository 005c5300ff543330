"""How far a study is, and which judges to look at: from the counts that are kept, and by a fit.

The fit of all comparisons is made from the exported tables, as ``comparity rank`` does, so that
every number is one of theirs.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.database import hide_password
from comparity.collect.export import as_time, export_study
from comparity.collect.kept_counts import CountedStudy, KeptCounts
from comparity.collect.result import JudgeStatus, StratumStatus, StudyStatus
from comparity.collect.store import Store, open_store
from comparity.errors import ComparityError
from comparity.results.audit import Audit

if TYPE_CHECKING:
    from comparity.ranking.judgments import Judgments
    from comparity.ranking.rank import RankedPanel


DAY = 86_400.0
ATTENTION, SIDE, CONSISTENCY, SPEED = "attention", "side", "consistency", "speed"
"""Reasons to look at a judge."""
SIDE_LEVEL = 0.001
"""Sides are drawn: a share of left answers that is rarer than this is the judge's doing."""
FEWEST_TWICE = 5
"""Pairs that came back before their answers tell of a judge's consistency."""
FEWEST_TIMED, FAST_SHARE = 10, 1 / 3
"""Answers before a median time tells of a judge, and below which share of the usual one it is
short."""


def study_status(store: Store) -> StudyStatus:
    """Return how far a study is."""
    with KeptCounts(store) as kept:
        return status_of(store, kept.update())


def status_of(store: Store, counted: CountedStudy) -> StudyStatus:
    """Return how far a study is, from what was counted."""
    with store.looking.begin() as connection:
        judges = connection.execute(
            sa.select(schema.JUDGE, schema.PROGRESS)
            .join(schema.PROGRESS, schema.PROGRESS.c.judge == schema.JUDGE.c.id)
            .order_by(schema.JUDGE.c.id)
        ).all()
        booklets = connection.execute(sa.select(schema.BOOKLET)).all()
        revoked = _judges_without_links(connection)
        study = connection.execute(sa.select(schema.STUDY)).one()
    done: Counter[str] = Counter()
    for counter in counted.judges.values():
        done.update(counter)
    planned, judged = _name_sums(counted.planned), _name_sums(counted.strata)
    return StudyStatus(
        title=store.study.title,
        question=store.study.question_of(store.study.tasks[0]),
        address=hide_password(store.address),
        closed="" if study.closed_at is None else as_time(study.closed_at),
        paused="" if study.paused_at is None else as_time(study.paused_at),
        planned=planned.total(),
        judged=judged.total(),
        ties=done["tie"],
        skipped=done["skip"],
        undone=done["undo"],
        items=counted.n_items,
        items_judged=counted.uses["items"],
        booklets=len(booklets),
        booklets_held=sum(one.holder is not None for one in booklets),
        booklets_finished=sum(one.is_finished and one.holder is None for one in booklets),
        judges=tuple(_with_flags([_judge(one, counted, revoked) for one in judges])),
        strata=tuple(
            StratumStatus(name=name, planned=n, judged=judged[name])
            for name, n in sorted(planned.items())
        ),
        retention=as_time(study.created_at + DAY * store.study.retention_days)[:10],
    )


def _name_sums(sums: Mapping[tuple[str, str], int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (kind, stratum), n in sums.items():
        name = f"ratings of {stratum or 'items'}" if kind == schema.RATED else stratum
        found[name] += n
    return found


def _judges_without_links(connection: sa.Connection) -> set[int]:
    query = sa.select(schema.TOKEN.c.judge).where(schema.TOKEN.c.revoked_at.is_not(None))
    return set(connection.execute(query).scalars())


def _judge(row: Any, counted: CountedStudy, revoked: set[int]) -> JudgeStatus:
    did = counted.judges.get(row.id, Counter())
    decided, time = did["left"] + did["right"], counted.milliseconds.get(row.id)
    return JudgeStatus(
        name=row.name,
        task=row.task,
        state=_state(row, revoked=row.id in revoked),
        answered=row.answered,
        seconds=None if time is None else time / 1000,
        left=did["left"],
        right=did["right"],
        twice=did["twice"],
        same=did["same"],
        left_share=did["left"] / decided if decided else None,
        attention_passed=did["passed"],
        attention_failed=did["failed"],
        # As many failed as passed is what guessing gives.
        flagged=did["failed"] > 0 and did["failed"] >= did["passed"],
    )


def _state(row: Any, *, revoked: bool) -> str:
    if row.erased_at is not None:
        return "erased"
    if revoked:
        return "revoked"
    if row.finished_at is not None:
        return "done"
    return "active" if row.answered else "invited"


def _with_flags(judges: Sequence[JudgeStatus]) -> Iterator[JudgeStatus]:
    """Add what is to be looked at; nobody's answers are left out for it."""
    times: dict[str, list[float]] = {}
    for one in judges:
        if one.seconds is not None and one.answered >= FEWEST_TIMED:
            times.setdefault(one.task, []).append(one.seconds)
    usual = {task: median(found) for task, found in times.items()}
    for one in judges:
        yield replace(one, flags=tuple(_flags(one, usual.get(one.task, 0.0))))


def _flags(judge: JudgeStatus, usual: float) -> Iterator[str]:
    if judge.flagged:
        yield ATTENTION
    if judge.side_p_value < SIDE_LEVEL:
        yield SIDE
    if judge.twice >= FEWEST_TWICE and 2 * judge.same <= judge.twice:
        yield CONSISTENCY
    short = FAST_SHARE * usual if judge.answered >= FEWEST_TIMED else 0.0
    if judge.seconds is not None and judge.seconds < short:
        yield SPEED


FEWEST_JUDGMENTS, FEWEST_JUDGES, FEWEST_OF_JUDGE = 50, 2, 10
"""Comparisons and judges before anything is fitted, and comparisons of a judge before they are told
of."""
LEAN, SHARPNESS, AGAINST, MISFIT = "lean", "sharpness", "against", "misfit"
"""Further reasons to look at a judge."""
FALSE_DISCOVERIES, BLUNT, MISFIT_SDS, FEWEST_FITTED = 0.05, 0.5, 2.0, 5
"""Share of false discoveries among leans; below which share of the median a sharpness is low; how
many SDs above the mean a misfit is large, and among how many judges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessedJudge:
    """What a fit of all judgments tells of a judge.

    Attributes
    ----------
    comparisons : int
    sharpness, sharpness_low, sharpness_high : float or None
        Log odds for an item that is one SD better, with its 95 % interval; None where judges are
        taken to be equally sharp.
    misfit : float or None
        See :func:`comparity.ranking.reliability.infit`; by a Bradley-Terry ranking of all judges.
    lean, lean_low, lean_high, lean_q : float or None
        The bias that is farthest from zero, with its interval and q value.
    contrast : str
        What that bias is about.
    """

    comparisons: int
    sharpness: float | None = None
    sharpness_low: float | None = None
    sharpness_high: float | None = None
    misfit: float | None = None
    lean: float | None = None
    lean_low: float | None = None
    lean_high: float | None = None
    lean_q: float | None = None
    contrast: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What a fit of all judgments tells of judges.

    Attributes
    ----------
    n : int
        Number of the last judgment that it knows.
    as_of : str
        When its tables were written; empty where there is none yet.
    why_not : str
        Why there is none; empty where there is one.
    unit : str
        Of leans.
    judges : mapping of str to AssessedJudge
        By name.
    audit : Audit or None
        The verdict, where the counts cannot give it.
    """

    n: int = 0
    as_of: str = ""
    why_not: str = ""
    unit: str = ""
    judges: Mapping[str, AssessedJudge] = field(default_factory=dict)
    audit: Audit | None = None

    def flags(self, name: str) -> list[str]:
        """Return reasons to look at a judge."""
        one = self.judges.get(name)
        if one is None or one.comparisons < FEWEST_OF_JUDGE:
            return []
        found = []
        if one.lean_q is not None and one.lean_q < FALSE_DISCOVERIES:
            found.append(LEAN)
        if one.sharpness_high is not None:
            sharp = [j.sharpness for j in self.judges.values() if j.sharpness is not None]
            low = BLUNT * float(np.median(sharp))
            found += [AGAINST] if one.sharpness_high < 0 else []
            found += [SHARPNESS] if 0 <= one.sharpness_high < low else []
        if one.misfit is not None and one.misfit > self._largest_misfit():
            found.append(MISFIT)
        return found

    def _largest_misfit(self) -> float:
        """Return what is still usual among these judges."""
        known = [one.misfit for one in self.judges.values() if one.misfit is not None]
        if len(known) < FEWEST_FITTED:
            return math.inf
        return float(np.mean(known) + MISFIT_SDS * np.std(known, ddof=1))


def assess_study(address: str) -> Assessment:
    """Export a study, fit all judgments, and return what that tells of judges."""
    with open_store(address) as store, tempfile.TemporaryDirectory() as folder:
        last = sa.select(sa.func.coalesce(sa.func.max(schema.JUDGMENT.c.id), 0))
        n, now = int(store.look(lambda one: one.execute(last).scalar_one())), as_time(time.time())
        try:
            export_study(store, folder)
            found = assess_export(Path(folder), store)
        except ComparityError as error:
            found = Assessment(why_not=str(error).splitlines()[0])
        return replace(found, n=n, as_of=now)


def assess_export(folder: Path, store: Store) -> Assessment:
    """Fit the comparisons of an export, as ``comparity rank`` does, and tell what comes of it."""
    # Imported here so that a server, which leaves fits to another process, starts sooner.
    from comparity.comparative.audit import audit_files
    from comparity.ranking.judgments import judgments_from_frames
    from comparity.ranking.rank import rank_files
    from comparity.tables.layouts import read_comparisons

    study = store.study
    comparisons, items = folder / "comparisons.csv", folder / "items.csv"
    audit = None
    with KeptCounts(store) as kept:
        if kept.options is not None and kept.update(budget=0).why_not == "too many kinds":
            asked = {name: getattr(study, name) for name in ("alpha", "margin", "hypotheses")}
            columns = {"item": study.item, "score": study.score, "sensitive": study.sensitive}
            audit = audit_files(comparisons, items, anytime=True, **asked, **columns)
    judged = judgments_from_frames(
        read_comparisons(comparisons).frame, evaluator="evaluator", tied="tied"
    )
    if len(judged) < FEWEST_JUDGMENTS or judged.n_evaluators < FEWEST_JUDGES:
        return Assessment(why_not="too few", audit=audit)
    model = "barp" if study.sensitive else "bt"
    panel = rank_files(
        comparisons,
        items,
        model=model,
        item=study.item,
        sensitive=study.sensitive,
        anytime=model == "barp",
    )
    return _assessment(panel, judged, audit)


def _assessment(panel: RankedPanel, judged: Judgments, audit: Audit | None) -> Assessment:
    """Put together the assessment of each judge."""
    from comparity.ranking.reliability import infit
    from comparity.ranking.result import BiasedRanking
    from comparity.ranking.simple_models import bradley_terry

    assert judged.evaluator is not None
    unnamed = replace(judged, evaluator=None, evaluators=judged.evaluators[:0])
    misfits = infit(judged, bradley_terry(unnamed).scores)
    numbers = np.bincount(judged.evaluator, minlength=judged.n_evaluators)
    judges = {
        str(name): AssessedJudge(comparisons=int(numbers[k]), misfit=_number(misfits[k]))
        for k, name in enumerate(judged.evaluators)
    }
    if isinstance(panel.ranking, BiasedRanking):
        # Those who lean most come first, so that the first row of a judge is the one to tell.
        for row in reversed(panel.ranking.bias_rows()):
            judges[str(row["evaluator"])] = replace(
                judges[str(row["evaluator"])],
                sharpness=_number(row.get("sharpness")),
                sharpness_low=_number(row.get("sharpness_low")),
                sharpness_high=_number(row.get("sharpness_high")),
                lean=_number(row["bias"]),
                lean_low=_number(row["cautious_low"]),
                lean_high=_number(row["cautious_high"]),
                lean_q=_number(row["cautious_q_value"]),
                contrast=row["contrast"],
            )
    return Assessment(unit=panel.ranking.unit, judges=judges, audit=audit)


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
