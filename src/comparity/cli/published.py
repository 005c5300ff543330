"""A published table or figure, computed again: what was asked, what was printed, what came out."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from comparity import __version__
from comparity.errors import DataFolderMissingError
from comparity.results.plain import as_plain
from comparity.results.result import Result, frame_of_rows

if TYPE_CHECKING:
    from comparity.reports.sections import Section

COMES_OUT, DIFFERS, CONSISTENT = "comes out", "differs", "consistent, not confirmed"
"""What is said of a published number beside ours."""

SIGNIFICANT = 3.29
"""So many standard errors are chance: one comparison in a thousand lies beyond."""

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
    chance : float
        What of the tolerance is chance, 3.29 standard errors of the difference.
    nothing : float
        What the number would be without an effect: 0.5 for accuracies, mostly 0.
    stand_in : bool
        Whether other data, another model or an unknown seed stand in for the paper's.
    reference : bool
        Whether `published` is no number of the paper, but somebody else's, beside ours for a check.
    """

    row: str
    column: str
    published: Number | None
    ours: Number | None
    spread: float | None = None
    tolerance: float = 0.0
    why: str = ""
    chance: float = 0.0
    nothing: float = 0.0
    stand_in: bool = False
    reference: bool = False

    DERIVED: ClassVar[Mapping[str, str]] = {
        "difference": "difference",
        "matches": "matches",
        "verdict": "verdict",
    }

    @property
    def difference(self) -> float | None:
        """Ours minus published; nothing where one of them is not a number."""
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

    @property
    def verdict(self) -> str | None:
        """Whether it comes out, in the words of the page; nothing where nothing is compared.

        A number *comes out* if it is within rounding, or within 3.29 standard errors of a
        comparison so precise that three of them are at most a tenth of the published effect. What
        is within a wider tolerance, or rests on a stand-in, is *consistent, not confirmed*.
        """
        if self.matches is None:
            return None
        if not self.matches:
            return CONSISTENT if self.stand_in and self.difference is None else DIFFERS
        number = self.nothing if isinstance(self.published, str | None) else self.published
        effect = abs(number - self.nothing)
        precise = 3 / SIGNIFICANT * self.chance <= effect / 10
        return COMES_OUT if precise and not self.stand_in else CONSISTENT


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
        """Published numbers and words that ours could confirm or contradict."""
        return self.n_matching + self._count(DIFFERS)

    @property
    def n_matching(self) -> int:
        """Those that come out."""
        return self._count(COMES_OUT)

    @property
    def n_consistent(self) -> int:
        """Those that ours does not contradict, but would not tell from others; not counted."""
        return self._count(CONSISTENT)

    def _count(self, verdict: str) -> int:
        return sum(row.verdict == verdict and not row.reference for row in self.rows)

    @property
    def largest(self) -> Reproduced | None:
        """The number that differs most, beyond its tolerance or not."""
        numbers = [row for row in self.rows if row.difference is not None]
        return max(numbers, key=lambda row: abs(row.difference or 0.0), default=None)

    DERIVED: ClassVar[Mapping[str, str]] = {
        "provenance": "provenance",
        "counts": "counts",
    }

    @property
    def counts(self) -> dict[str, int]:
        """How many numbers come out, of how many, how many are consistent, conclusions likewise."""
        return {
            "come out": self.n_matching,
            "compared": self.n_compared,
            "consistent": self.n_consistent,
            "hold": sum(one.holds for one in self.conclusions),
            "conclusions": len(self.conclusions),
        }

    @property
    def provenance(self) -> dict[str, Any]:
        """Version and options."""
        return {"version": __version__, "options": self.options}

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        from comparity.cli.published_section import section

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
    references : mapping of str to Numbers
        Numbers of others to check ours by, which are not the paper's.
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
    references: Mapping[str, Numbers] = field(default_factory=dict)

    def beside(
        self,
        part: str,
        ours: Numbers,
        *,
        tolerance: float = 0.0,
        spread: Mapping[str, Mapping[str, float]] | None = None,
        why: Mapping[str, str] | None = None,
        errors: float | Mapping[str, float] = SIGNIFICANT,
        stand_ins: Collection[str] = (),
        nothing: Callable[[str], float] = lambda column: 0.0,
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
        errors : float or mapping of str to float
            So many standard errors are chance, on top of the tolerance; by row where they differ.
        stand_ins : collection of str
            Rows in which other data, another model or another seed stand in for the paper's.
        nothing : callable
            What a number in a column would be without an effect.
        """
        known, checks = self.numbers.get(part, {}), self.references.get(part, {})
        found = []
        for row, columns in ours.items():
            for column, value in columns.items():
                error = (spread or {}).get(row, {}).get(column)
                times = errors if isinstance(errors, int | float) else errors[row]
                printed = known.get(row, {}).get(column)
                found.append(
                    Reproduced(
                        row=row,
                        column=column,
                        published=checks.get(row, {}).get(column) if printed is None else printed,
                        ours=value,
                        spread=error,
                        tolerance=tolerance + times * (error or 0.0),
                        chance=times * (error or 0.0),
                        why=(why or {}).get(row, ""),
                        nothing=nothing(column),
                        stand_in=row in stand_ins,
                        reference=printed is None,
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
    prediction interval in standard deviations, at the level of 3.29 standard errors of a normal
    distribution (one in a thousand lies outside); ``nan`` for a single run.

    Examples
    --------
    >>> round(one_run_away(10), 2), round(one_run_away(1000), 2)
    (5.01, 3.3)
    """
    from scipy.stats import norm, t

    return (
        float(t.isf(norm.sf(SIGNIFICANT), runs - 1) * math.sqrt(1 + 1 / runs))
        if runs > 1
        else math.nan
    )
