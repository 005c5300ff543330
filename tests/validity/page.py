"""Tell what was counted in ``docs/validity.md``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tests.validity.questions import QUESTIONS, world_of
from tests.validity.simulate import AGAIN, FIRST, ROOT, Counts, suspects
from tests.validity.states import state_of
from tests.validity.worlds import SEED

PAGE = ROOT / "docs" / "validity.md"
HEADING = "## Random worlds, measured\n"
WORST = 3


@dataclass(frozen=True)
class Row:
    """What the worlds of one question showed."""

    question: str
    worlds: int
    runs: int
    mean: float
    highest: float
    again: dict[int, tuple[float, int]]
    failed: list[int]

    @property
    def worst(self) -> list[int]:
        """The worlds that were run again, the worst first."""
        return sorted(self.again, key=lambda number: -self.again[number][0])[:WORST]


def summarise(question: str, counts: Counts, worlds: int) -> Row:
    """Return what was counted about a question; no world counts that was not run."""
    first = {
        k: counts[question, k, FIRST] for k in range(worlds) if counts[question, k, FIRST].runs
    }
    again = {k: counts[question, k, AGAIN] for k in suspects(question, counts, worlds)}
    again = {k: one for k, one in again.items() if one.runs}
    limit = QUESTIONS[question].limit
    runs = sum(one.runs for one in first.values())
    return Row(
        question=question,
        worlds=len(first),
        runs=runs,
        mean=sum(one.errors for one in first.values()) / runs if runs else float("nan"),
        highest=max((one.rate for one in first.values()), default=float("nan")),
        again={k: (one.rate, one.runs) for k, one in again.items()},
        failed=[k for k, one in again.items() if one.rate > limit(one.runs, 3)],
    )


def table(rows: list[Row]) -> Iterator[str]:
    """Yield the lines of the section."""
    yield HEADING
    yield (
        f"A world is drawn by `default_rng([{SEED}, crc32(question), world])`, its runs by further "
        "numbers. *State* names the code that the question rests on, and its worlds.\n"
    )
    header = "question | error | worlds | runs | mean rate | highest | run again | highest | above"
    yield f"| {header} | state |"
    yield f"|{' --- |' * 10}"
    for row in rows:
        yield _line(row)
    yield ""
    yield "### Worst worlds\n"
    yield "Of those that were run again, the worst three of each question.\n"
    for row in rows:
        for number in row.worst:
            rate, runs = row.again[number]
            found = "above" if number in row.failed else "kept"
            told = ", ".join(f"{k} {v}" for k, v in describe(row.question, number).items())
            yield f"- **{row.question}, {number}**: {rate:.3f} in {runs:,} runs, {found}. {told}."


def _line(row: Row) -> str:
    question = QUESTIONS[row.question]
    second = max((rate for rate, _ in row.again.values()), default=None)
    cells = (
        f"[{row.question}]({question.page})",
        f"{question.error}, {question.promised:g}",
        f"{row.worlds}",
        f"{row.runs:,}",
        f"{row.mean:.3f}",
        f"{row.highest:.3f}",
        f"{len(row.again)}",
        "" if second is None else f"{second:.3f}",
        f"{len(row.failed)}",
        f"`{state_of(row.question)}`",
    )
    return f"| {' | '.join(cells)} |"


def describe(question: str, number: int) -> dict[str, Any]:
    """Return the numbers and words of a world that are not what they usually are."""
    world: Any = world_of(question, number)
    usual = {one.name: one.default for one in fields(world)}
    return {k: v for k, v in asdict(world).items() if v != usual[k]}


def write(rows: list[Row], path: Path = PAGE) -> None:
    """Put the section in the place of the former one."""
    before, _, _ = path.read_text(encoding="utf-8").partition(HEADING)
    path.write_text(before + "\n".join(table(rows)) + "\n", encoding="utf-8")
