"""Reports of a study: how far it is, and what was exported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from comparity.reports.sections import Grid, Section, clip, count, percent, several
from comparity.results.result import Result, frame_of_rows

MOST_ROWS = 50
"""Judges that a table lists; the JSON has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeStatus:
    """How far one judge is.

    Attributes
    ----------
    name : str
    task : {"compare", "rate"}
    state : {"invited", "active", "done", "revoked", "erased"}
    answered : int
        Pairs answered, or items rated, attention pairs and skipped ones included.
    seconds : float or None
        Median time for a pair.
    left_share : float or None
        Share of decided pairs in which the left item was put first.
    attention_passed, attention_failed : int
    flagged : bool
        Whether as many attention pairs were failed as passed.
    left, right : int
        Pairs in which the left, and the right, item was put first.
    twice, same : int
        Pairs (items) that came back, and of these those judged alike both times.
    flags : tuple of str
        Reasons to look at the judge: ``"attention"``, ``"side"``, ``"consistency"``, ``"speed"``.
    """

    name: str
    task: str
    state: str
    answered: int
    seconds: float | None
    left_share: float | None
    attention_passed: int
    attention_failed: int
    flagged: bool
    left: int = 0
    right: int = 0
    twice: int = 0
    same: int = 0
    flags: tuple[str, ...] = ()

    @property
    def side_p_value(self) -> float:
        """Exact two-sided p value of the left answers, if both sides are equally likely."""
        from scipy.special import bdtr

        # Both sides are equally likely, so that either tail holds as much.
        fewer = min(self.left, self.right)
        return min(1.0, 2 * float(bdtr(fewer, self.left + self.right, 0.5)))


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumStatus:
    """How many pairs of two groups were planned and judged."""

    name: str
    planned: int
    judged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyStatus(Result):
    """How far a study is.

    Attributes
    ----------
    title, question : str
    address : str
        Where it is kept; without a password.
    closed, paused : str
        When it was closed or paused; empty where it is open.
    planned, judged : int
        Judgments drawn so far, and judgments that stand.
    ties, skipped, undone : int
    items, items_judged : int
    booklets, booklets_held, booklets_finished : int
    judges : tuple of JudgeStatus
    strata : tuple of StratumStatus
    retention : str
        When data that identify judges are to be erased.
    """

    title: str
    question: str
    address: str
    closed: str
    planned: int
    judged: int
    ties: int
    skipped: int
    undone: int
    items: int
    items_judged: int
    booklets: int
    booklets_held: int
    booklets_finished: int
    judges: tuple[JudgeStatus, ...]
    strata: tuple[StratumStatus, ...]
    retention: str
    paused: str = ""

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each judge, as a frame of the named engine."""
        names = JudgeStatus.__dataclass_fields__
        rows = [{name: getattr(one, name) for name in names} for one in self.judges]
        return frame_of_rows(rows, backend)

    def section(self) -> Section:
        """Return the study as a section of a report."""
        return Section(
            headline=f"{count(self.judged)} of {several(self.planned, 'judgment')} collected",
            sentences=tuple(self._sentences()),
            grids=(self._strata(), self._judges()) if self.judges else (self._strata(),),
        )

    def _sentences(self) -> Iterator[str]:
        yield f"{clip(self.title)}: {clip(self.question)}"
        state = f"paused since {self.paused}" if self.paused else "open"
        state = f"closed since {self.closed}" if self.closed else state
        yield (
            f"The study is {state}. {several(self.ties, 'tie')}, {several(self.skipped, 'skip')}, "
            f"{several(self.undone, 'answer')} taken back. {count(self.items_judged)} of "
            f"{several(self.items, 'item')} judged at least once."
        )
        free = self.booklets - self.booklets_held - self.booklets_finished
        yield (
            f"Of {several(self.booklets, 'list')} of pairs {count(self.booklets_finished)} are "
            f"finished, {count(self.booklets_held)} held and {count(free)} free. Data that "
            f"identify judges are to be erased by {self.retention}."
        )
        flagged = sum(one.flagged for one in self.judges)
        if flagged:
            yield f"{several(flagged, 'judge')} failed as many attention pairs as they passed."

    def _strata(self) -> Grid:
        return Grid(
            title="Kinds of pairs",
            header=("kind", "planned", "judged"),
            rows=tuple(
                (clip(one.name), count(one.planned), count(one.judged)) for one in self.strata
            ),
        )

    def _judges(self) -> Grid:
        shown = self.judges[:MOST_ROWS]
        return Grid(
            title=f"Judges ({len(shown)} of {len(self.judges):,})",
            header=("judge", "state", "answered", "seconds", "left first", "attention"),
            rows=tuple(
                (
                    clip(one.name),
                    one.state,
                    count(one.answered),
                    "n/a" if one.seconds is None else f"{one.seconds:.1f}",
                    "n/a" if one.left_share is None else percent(round(one.left_share, 3)),
                    f"{one.attention_passed} of {one.attention_passed + one.attention_failed}",
                )
                for one in shown
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    """A file that was written, with its rows and its hash."""

    name: str
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyExport(Result):
    """What was written of a study.

    Attributes
    ----------
    folder : str
    form : str
        Layout of the comparisons.
    files : tuple of ExportedFile
    n_judgments, n_ratings, n_ties : int
        Comparisons and ratings, and ratings and ties among them.
    n_flagged, n_dropped : int
        Judges who failed as many attention pairs as they passed, and judgments left out for it.
    item : str
    sensitive : tuple of str
    score : str or None
        Columns of the items.
    """

    folder: str
    form: str
    files: tuple[ExportedFile, ...]
    n_judgments: int
    n_ratings: int
    n_ties: int
    n_flagged: int
    n_dropped: int
    item: str
    sensitive: tuple[str, ...]
    score: str | None

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each file, as a frame of the named engine."""
        rows = [{"name": one.name, "rows": one.rows, "sha256": one.sha256} for one in self.files]
        return frame_of_rows(rows, backend)

    def section(self) -> Section:
        """Return the export as a section of a report."""
        return Section(
            headline=f"{several(self.n_judgments, 'judgment')} exported to {clip(self.folder)}",
            sentences=tuple(self._sentences()),
            grids=(
                Grid(
                    title="Files",
                    header=("file", "rows", "SHA-256"),
                    rows=tuple((clip(o.name), count(o.rows), o.sha256[:16]) for o in self.files),
                ),
            ),
        )

    def _sentences(self) -> Iterator[str]:
        ratings = f"{several(self.n_ratings, 'rating')} and " if self.n_ratings else ""
        yield f"{ratings}{several(self.n_ties, 'tie')} among them."
        if self.n_flagged:
            fate = "Their judgments are kept, and marked in column flagged."
            if self.n_dropped:
                fate = f"Their {several(self.n_dropped, 'judgment')} were left out."
            yield f"{several(self.n_flagged, 'judge')} failed attention pairs. {fate}"
        if self.n_ratings == self.n_judgments:
            return
        named = f"{self.folder}/{self.files[0].name} --items {self.folder}/items.csv"
        columns = f"--item {self.item}" if self.item != "item" else ""
        groups = f"--sensitive {','.join(self.sensitive)}" if self.sensitive else ""
        score = f" --score {self.score}" if self.score else ""
        words = " ".join(one for one in (named, columns, groups) if one)
        if self.score:
            yield f"Test it: comparity comparative {words}{score}"
        yield f"Rank it: comparity rank {words}"
