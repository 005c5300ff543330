"""A published table or figure, computed again: what was asked, what was printed, what came out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from comparity import __version__
from comparity.errors import DataFolderMissingError
from comparity.errors.spelling import visible
from comparity.reports.sections import Grid, Section
from comparity.results.plain import as_plain
from comparity.results.result import Result, frame_of_rows

Number = float | str
Numbers = Mapping[str, Mapping[str, Number]]
"""A table: the name of a row, the name of a column, and what stands there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a reproduction is asked to do.

    Attributes
    ----------
    data : Path or None
        The folder of published data sets, where there is one.
    output : Path or None
        Where pictures go; without it none is drawn.
    runs : int or None
        How often to repeat what is random; each part has a default of its own.
    seed : int
        Of whatever is drawn at random.
    """

    data: Path | None = None
    output: Path | None = None
    runs: int | None = None
    seed: int = 0

    def home(self) -> Path:
        """Return the data folder, for parts that cannot do without it.

        Raises
        ------
        DataFolderMissingError
            There is none.
        """
        if self.data is None or not self.data.is_dir():
            raise DataFolderMissingError(None if self.data is None else str(self.data))
        return self.data

    def picture(self, name: str) -> Path | None:
        """Return where a picture goes, or nothing where none is wanted."""
        return None if self.output is None else self.output / name


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """One number or word of a published table, beside ours.

    Attributes
    ----------
    row, column : str
        Where it stands.
    published, ours : float, str or None
        What was printed and what came out; ``None`` where there is none.
    spread : float or None
        Standard error of ours, where it rests on repetitions; where the paper prints one run, the
        standard deviation of one run of ours.
    tolerance : float
        Largest difference that rounding, or chance, explains; without a meaning for words.
    why : str
        Why they differ, where it is known.
    """

    row: str
    column: str
    published: Number | None
    ours: Number | None
    spread: float | None = None
    tolerance: float = 0.0
    why: str = ""

    DERIVED: ClassVar[Mapping[str, str]] = {"difference": "difference", "matches": "matches"}

    @property
    def difference(self) -> float | None:
        """Ours less published; nothing where one of them is not a number."""
        if isinstance(self.published, str | None) or isinstance(self.ours, str | None):
            return None
        return self.ours - self.published

    @property
    def matches(self) -> bool | None:
        """Whether they are equal up to the tolerance; nothing where there is nothing to compare."""
        if self.published is None or self.ours is None:
            return None
        if self.difference is None:
            return self.published == self.ours
        # A tolerance of half a unit in the last digit includes its own end.
        return bool(abs(self.difference) <= self.tolerance + 1e-9)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a paper concludes, and whether it holds in ours."""

    text: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction(Result):
    """A table or figure of a paper, computed again.

    Attributes
    ----------
    paper, title : str
        Number and title of the paper.
    part : str
        Such as ``"Table 3"``.
    question : str
        What the table or figure shows.
    rows : tuple of Reproduced
        Every number.
    conclusions : tuple of Conclusion
        What follows, and whether it does.
    figures : tuple of str
        Pictures that were written.
    notes : tuple of str
        What was done otherwise than in the paper.
    options : mapping
        Seed, runs and whatever else decides the numbers.
    """

    paper: str
    title: str
    part: str
    question: str
    rows: tuple[Reproduced, ...]
    conclusions: tuple[Conclusion, ...] = ()
    figures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_compared(self) -> int:
        """Numbers and words that can be compared."""
        return sum(row.matches is not None for row in self.rows)

    @property
    def n_matching(self) -> int:
        """Those that are equal up to rounding and chance."""
        return sum(row.matches is True for row in self.rows)

    @property
    def largest(self) -> Reproduced | None:
        """The number that differs most, beyond its tolerance or not."""
        numbers = [row for row in self.rows if row.difference is not None]
        return max(numbers, key=lambda row: abs(row.difference or 0.0), default=None)

    DERIVED: ClassVar[Mapping[str, str]] = {"provenance": "provenance"}

    @property
    def provenance(self) -> dict[str, Any]:
        """Version and options."""
        return {"version": __version__, "options": self.options}

    def section(self) -> Section:
        """Return what is told of this answer."""
        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each number; words are left to :meth:`to_dict`."""
        words = [isinstance(row.published, str) or isinstance(row.ours, str) for row in self.rows]
        numbers = [row for row, word in zip(self.rows, words, strict=True) if not word]
        return frame_of_rows(as_plain(numbers), backend)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a paper printed, as ``published.toml`` holds it.

    Attributes
    ----------
    paper, title, authors : str
        Which paper.
    questions, times : mapping of str to str
        What each part shows, and how long it takes.
    numbers : mapping of str to Numbers
        What each part prints, where it prints numbers.
    absent : mapping of str to str
        What cannot be run, with the reason.
    """

    paper: str
    title: str
    authors: str
    questions: Mapping[str, str]
    times: Mapping[str, str]
    numbers: Mapping[str, Numbers]
    absent: Mapping[str, str]

    def beside(
        self,
        part: str,
        ours: Numbers,
        *,
        tolerance: float = 0.0,
        spread: Mapping[str, Mapping[str, float]] | None = None,
        why: Mapping[str, str] | None = None,
        errors: float = 3.0,
    ) -> tuple[Reproduced, ...]:
        """Put our numbers beside the published ones, in the order of ours.

        Parameters
        ----------
        part : str
            Such as ``"table 3"``.
        ours : mapping of str to mapping
            Our numbers by row and column; what was never published stands alone.
        tolerance : float
            Half a unit in the last printed digit.
        spread : mapping of str to mapping, optional
            As in :class:`Reproduced`, by row and column.
        why : mapping of str to str, optional
            Why a row differs.
        errors : float
            So many standard errors are chance, on top of the tolerance.
        """
        known = self.numbers.get(part, {})
        found = []
        for row, columns in ours.items():
            for column, value in columns.items():
                error = (spread or {}).get(row, {}).get(column)
                found.append(
                    Reproduced(
                        row=row,
                        column=column,
                        published=known.get(row, {}).get(column),
                        ours=value,
                        spread=error,
                        tolerance=tolerance + errors * (error or 0.0),
                        why=(why or {}).get(row, ""),
                    )
                )
        return tuple(found)

    def reproduction(self, part: str, rows: tuple[Reproduced, ...], **facts: Any) -> Reproduction:
        """Return a part with its rows and whatever else :class:`Reproduction` holds of it."""
        return Reproduction(
            paper=self.paper,
            title=self.title,
            part=part[0].upper() + part[1:],
            question=self.questions[part],
            rows=rows,
            **facts,
        )


def one_run_away(runs: int) -> float:
    """Return by how many standard deviations of `runs` runs one further run may differ from them.

    Where a paper prints one run, it is compared with the mean of ours. The half width of a
    prediction interval in standard deviations, at the level of three standard errors of a normal
    distribution; ``nan`` for a single run.

    Examples
    --------
    >>> round(one_run_away(10), 2), round(one_run_away(1000), 2)
    (4.29, 3.01)
    """
    from scipy.stats import norm, t

    return float(t.isf(norm.sf(3), runs - 1) * math.sqrt(1 + 1 / runs)) if runs > 1 else math.nan


def section(result: Reproduction) -> Section:
    """Return what is shown of a reproduction: the numbers, then what follows from them."""
    return Section(
        headline=f"{visible(result.part)} of paper {visible(result.paper)}: {_answer(result)}",
        sentences=(visible(result.question), visible(result.title)),
        grids=(_numbers(result),) if result.rows else (),
        lists={
            "Conclusions": [
                f"{'holds' if one.holds else 'does not hold'}: {visible(one.text)}"
                for one in result.conclusions
            ],
            "What was done otherwise": [visible(note) for note in result.notes],
            "Pictures": [visible(name) for name in result.figures],
        },
    )


def _answer(result: Reproduction) -> str:
    held = sum(one.holds for one in result.conclusions)
    parts = []
    if result.n_compared:
        parts.append(f"{result.n_matching} of {result.n_compared} published numbers come out")
    if result.conclusions:
        parts.append(f"{held} of {len(result.conclusions)} conclusions hold")
    return ", ".join(parts) or "nothing was published to compare with"


def _numbers(result: Reproduction) -> Grid:
    why = any(row.why for row in result.rows if row.matches is False)
    header = ("row", "column", "published", "ours", "difference", "comes out")
    return Grid(
        title=result.part,
        header=(*header, "why it differs") if why else header,
        rows=tuple(_cells(row, why=why) for row in result.rows),
    )


def _cells(row: Reproduced, *, why: bool) -> tuple[str, ...]:
    ours = _number(row.ours)
    cells = (
        visible(row.row),
        visible(row.column),
        _number(row.published),
        ours if row.spread is None else f"{ours}\n± {_number(row.spread)}",
        "" if row.difference is None else f"{row.difference:+.3g}",
        {True: "yes", False: "no", None: ""}[row.matches],
    )
    reason = visible(row.why) if row.matches is False else ""
    return (*cells, reason) if why else cells


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return visible(value or "")
    if not math.isfinite(value):
        return "n/a"
    # Four significant digits, and whole numbers whole.
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


def listing(published: Published) -> Grid:
    """Return the parts of a paper, with how long each takes and what cannot be run."""
    runnable = [
        (name, question, published.times[name]) for name, question in published.questions.items()
    ]
    absent = [(name, why, "cannot be run") for name, why in published.absent.items()]
    return Grid(
        title=visible(f"{published.paper}: {published.authors}, {published.title}"),
        header=("part", "what it shows", "time"),
        rows=tuple(tuple(map(visible, row)) for row in (*runnable, *absent)),
    )
