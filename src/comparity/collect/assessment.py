"""What a fit of all comparisons tells of judges: leans, sharpness, misfit.

It is made from the exported tables, as ``comparity rank`` does, so that every number is one of
theirs.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.export import as_time, export_study
from comparity.collect.kept_counts import KeptCounts
from comparity.collect.store import Store, open_store
from comparity.errors import ComparityError
from comparity.results.audit import Audit

if TYPE_CHECKING:
    from comparity.ranking.judgments import Judgments
    from comparity.ranking.rank import RankedPanel

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
        See :func:`comparity.ranking.misfit.infit`; by a Bradley-Terry ranking of all judges.
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
    """Put together what is told of each judge."""
    from comparity.ranking.misfit import infit
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
