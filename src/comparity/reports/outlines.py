"""Reports in the order of a rule or a custom: what is known, where it is from, and what is missing.

An outline is a data file (``templates/*.toml``): points with the paragraphs they are from, each
answered by results, by facts that only people know, or by both. Facts come from a TOML file. What
nobody told is a gap and is shown as one. An outline says what is asked, never that it is met.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from comparity import __version__
from comparity.errors import FileAccessError, OptionError, PolicyError, UnknownKeyError
from comparity.errors.spelling import visible
from comparity.reports.aspects import ASPECTS, Told
from comparity.reports.sections import NO_CHARACTERS, Grid, Section, count, several
from comparity.results.result import Result

OUTLINES = ("ll144", "eu-annex-iv", "model-card", "plain")
FOLDER = Path(__file__).with_name("templates")
# Facts are written by people; a file larger than this is another file given by mistake.
MOST_BYTES = 2**20
MOST_LETTERS = 4000
LEGAL = (
    "This page states facts in the order in which they are asked for. Whether they are enough is "
    "for people to judge, and is not judged here."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPoint:
    """One point of a report: what is asked, what is known, and what is missing.

    Attributes
    ----------
    name : str
    cite : str
        The paragraph that asks; empty where nothing but sense does.
    asks : str
        What is asked, in our words.
    known : tuple of str
        What facts and results say.
    gaps : tuple of str
        What is missing, and where to write it.
    """

    name: str
    cite: str
    asks: str
    known: tuple[str, ...]
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Result):
    """Points of an outline with what is known of each.

    Attributes
    ----------
    outline : str
        Which one: ``"ll144"``, ``"eu-annex-iv"``, ``"model-card"`` or ``"plain"``.
    title, text : str
        Its title, and the rule or the paper that it follows.
    checked, against : str
        The day on which the paragraphs were last looked up, and in what.
    remarks : tuple of str
    points : tuple of ReportPoint
    provenance : mapping
    """

    outline: str
    title: str
    text: str
    checked: str
    against: str
    remarks: tuple[str, ...]
    points: tuple[ReportPoint, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    DERIVED: ClassVar[Mapping[str, str]] = {"n_gaps": "n_gaps"}

    @property
    def n_gaps(self) -> int:
        """How many points have a gap."""
        return sum(bool(point.gaps) for point in self.points)

    @property
    def signed(self) -> dict[str, str]:
        """Who made the audit and when, as far as the facts say so."""
        facts = self.provenance.get("facts", {})
        keys = {"author": ("audit.auditor", "audit.responsible"), "date": ("audit.date",)}
        found = {
            part: [facts[key] for key in names if key in facts] for part, names in keys.items()
        }
        return {part: told[0] for part, told in found.items() if told}

    def section(self) -> Section:
        """Return the report as a section of a report."""
        gaps = f"{count(self.n_gaps)} of {several(len(self.points), 'point')} have gaps"
        missing = [f"{one.name}: {gap}" for one in self.points for gap in one.gaps]
        return Section(
            headline=f"{self.title}: {gaps if self.n_gaps else 'no point has a gap'}",
            sentences=(
                LEGAL,
                f"Order and paragraphs: {self.text}. Last looked up on {self.checked}, in "
                f"{self.against}.",
                *self.remarks,
            ),
            grids=(
                Grid(
                    title="Points",
                    header=("point", "what is asked", "what is known"),
                    rows=tuple(map(_row, self.points)),
                ),
            ),
            lists={"Gaps": missing} if missing else {},
        )


def _row(point: ReportPoint) -> tuple[str, str, str]:
    known = " ".join(one if one.endswith(".") else f"{one}." for one in point.known)
    gaps = f"GAP: {' '.join(point.gaps)}" if point.gaps else ""
    name = f"{point.name}\n{point.cite}" if point.cite else point.name
    told = "\n".join(part for part in (known, gaps) if part)
    return name, point.asks, told or "nothing to tell"


@cache
def read_outline(name: str) -> Mapping[str, Any]:
    """Return the data of an outline: title, text, checked, against, remarks, point, facts."""
    if name not in OUTLINES:
        raise OptionError("template", name, [repr(one) for one in OUTLINES])
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def blank_facts(name: str) -> str:
    """Return a facts file for an outline with everything still to be filled in."""
    lines = [f"# Facts for comparity report --template {name}; what stays empty is a gap."]
    table = ""
    for key, says in read_outline(name)["facts"].items():
        head, _, tail = key.partition(".")
        if head != table:
            table = head
            lines += ["", f"[{head}]"]
        lines += [f"# {says}", f'{tail} = ""']
    return "\n".join(lines) + "\n"


def read_facts(path: str | Path, name: str) -> dict[str, str]:
    """Read what only people know from a TOML file, by keys such as ``audit.auditor``.

    Raises
    ------
    FileAccessError
        The file cannot be read.
    PolicyError
        It is no TOML, has a key that the outline does not know, or a value that is no text.
    """
    file = Path(path)
    where = f"facts {file.name!r}"
    try:
        content = file.read_bytes()
    except OSError as error:
        raise FileAccessError(str(path), str(error.strerror)) from error
    if len(content) > MOST_BYTES:
        found = f"{len(content):,} bytes"
        raise PolicyError(where, "this is too large for facts.", found, "name the TOML file.")
    try:
        tables = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        hint = "write it in TOML; comparity report --blank writes a file to fill in."
        raise PolicyError(where, "this is not TOML.", str(error), hint) from error
    known = read_outline(name)["facts"]
    facts: dict[str, str] = {}
    for key, value in _flat(tables):
        if key not in known:
            raise UnknownKeyError(where, key, list(known))
        told = _words(value)
        if told is None:
            hint = f'write {key.rpartition(".")[2]} = "...".'
            raise PolicyError(where, f"{key} must be text.", repr(value)[:80], hint)
        if told:
            facts[key] = told
    return facts


def _flat(tables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for head, inner in tables.items():
        if not isinstance(inner, Mapping):
            yield head, inner
            continue
        yield from ((f"{head}.{tail}", value) for tail, value in inner.items())


def _words(value: Any) -> str | None:
    """Return a fact as text, empty where there is none; None for what is no fact."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = "; ".join(value)
    if not isinstance(value, str | int | float | date | time):
        return None
    return visible(str(value)).translate(NO_CHARACTERS).strip()[:MOST_LETTERS]


def fill_outline(
    name: str, results: Mapping[str, Result], facts: Mapping[str, str] | None = None
) -> Report:
    """Return a report in the order of an outline.

    Parameters
    ----------
    name : {"ll144", "eu-annex-iv", "model-card", "plain"}
    results : mapping of str to Result
        By name; their numbers answer what they can.
    facts : mapping of str to str, optional
        What :func:`read_facts` returned.

    Examples
    --------
    >>> report = fill_outline("plain", {}, {"audit.auditor": "A. Lovelace"})
    >>> report.points[1].known, report.n_gaps
    (('Who made the audit: A. Lovelace',), 7)
    """
    outline, given = read_outline(name), dict(facts or {})
    told = [(label, result, result.to_dict()) for label, result in results.items()]
    return Report(
        outline=name,
        title=outline["title"],
        text=outline["text"],
        checked=outline["checked"],
        against=outline["against"],
        remarks=tuple(outline["remarks"]),
        points=tuple(_point(one, outline["facts"], told, given) for one in outline["point"]),
        provenance={"comparity": __version__, "facts": given},
    )


def _point(
    point: Mapping[str, Any], known: Mapping[str, str], told: Told, facts: Mapping[str, str]
) -> ReportPoint:
    answers: list[str] = []
    gaps: list[str] = []
    for aspect in point.get("results", ()):
        found = list(ASPECTS[aspect](told))
        answers += [line for line, is_gap in found if not is_gap]
        gaps += [line for line, is_gap in found if is_gap]
    # What is asked only where there is something to explain is no gap where there is nothing.
    is_asked = not point.get("optional") or answers
    keys = point.get("facts", ())
    own = [
        facts[key] if len(keys) == 1 else f"{known[key]}: {facts[key]}"
        for key in facts
        if key in keys
    ]
    if is_asked:
        gaps += [f"{known[key]} (fact {key})." for key in keys if key not in facts]
    return ReportPoint(
        name=point["name"],
        cite=point["cite"],
        asks=point["asks"],
        known=(*own, *answers),
        gaps=tuple(gaps),
    )
