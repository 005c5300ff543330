"""Options that many commands share: covers, rows as CSV, gaps, memory, Spark, several files."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from comparity.cli.running import BadInput
from comparity.tables.file_parts import find_parts, is_pattern, join_parts
from comparity.tables.memory import current_limits, limit_memory, watch_engine
from comparity.tables.outputs import is_same_file
from comparity.tables.spark import SparkTable, spark_session

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.progress import Task
    from rich.text import Text

    from comparity.reports.cover import Cover
    from comparity.results.result import Result
    from comparity.tables.complete import Gaps


Command = TypeVar("Command", bound=Callable[..., Any])

COVER: dict[str, str] = {
    "title": "Title of the page.",
    "author": "Who ran this; shown on the page.",
    "date": "Date on the page, such as 2026-11-17: by default today, 'none' leaves it out.",
    "logo": "Picture on the page: a PNG, JPEG, GIF or SVG file.",
}
"""Options by name, with their help."""


def cover_options(command: Command) -> Command:
    """Add the options of a cover to a command."""
    # The option that is added last is listed first.
    for name, says in reversed(COVER.items()):
        command = click.option(f"--{name}", name, help=says)(command)
    return command


def take_cover(given: dict[str, Any], html: Path | None, bundle: Path | None = None) -> Cover:
    """Take the options of a cover out of those of a command; they are for a page alone.

    A bundle has the same bytes whenever it is made, so that it has no date unless one is named.
    """
    # Imported here so that --help stays quick.
    from pathlib import Path

    from comparity.reports.cover import NO_DATE, TODAY, Cover, read_date, read_logo

    known = {name: value for name in COVER if (value := given.pop(name, None))}
    if known and html is None and bundle is None:
        raise click.UsageError(f"--{next(iter(known))} belongs to a page: name it with --html.")
    known["date"] = read_date(known.get("date", TODAY if bundle is None else NO_DATE))
    if "logo" in known:
        if any(is_same_file(one, Path(known["logo"])) for one in (html, bundle) if one):
            raise click.UsageError("--html would write over --logo.")
        known["logo"] = read_logo(Path(known["logo"]))
    return Cover(**known)


def write_rows(result: Result, path: Path | None) -> None:
    """Write the main table of an answer as CSV, where a file is named."""
    if path is not None:
        result.save_csv(path)
        click.echo(f"wrote {path}", err=True)


DROP_MISSING = click.option(
    "--drop-missing", is_flag=True, help="Drop rows with a missing value, and count them."
)


def take_gaps(
    given: dict[str, Any], column: type[click.Option], file: click.ParamType[Any]
) -> Gaps | None:
    """Take --drop-missing out of the options, and let files be read without rows with gaps.

    Parameters
    ----------
    given : dict
        The options by name; files in it are replaced.
    column : type
        Of options that name columns.
    file : ParamType
        Of files that are read.
    """
    if not given.pop("drop_missing", False):
        return None
    from comparity.tables.complete import Gaps
    from comparity.tables.files import complete_tables

    params = {one.name: one for one in click.get_current_context().command.params}
    named: list[str] = []
    for name, value in given.items():
        # People of an unknown group are counted by impact ratios themselves.
        unknown_counts = name == "sensitive" and "four_fifths" in params
        if isinstance(params[name], column) and value and not unknown_counts:
            named += [value] if isinstance(value, str) else value
    gaps = Gaps(columns=tuple(named), item=given.get("item") or "")
    files = [
        name
        for name, one in given.items()
        if one is not None and file in (params[name].type, getattr(params[name], "file", None))
    ]
    given.update(complete_tables(gaps, {name: given[name] for name in files}))
    return gaps


def count_gaps(result: Result, gaps: Gaps | None) -> Result:
    """Return a result that knows which rows were dropped before it was made."""
    if gaps is None or not gaps.found:
        return result
    from comparity.results.dropped import with_dropped

    return with_dropped(result, gaps.found)


def write_plot(path: Path, draw: Callable[[], Axes]) -> None:
    """Write a picture in the format that the name of the file asks for."""
    from comparity.reports.plots import FORMATS, save

    if path.suffix.lower() not in FORMATS:
        raise BadInput(f"{path} cannot be drawn: its name ends in none of {', '.join(FORMATS)}")
    # Names that the font lacks are shown as boxes, for as long as the process runs.
    warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
    save(draw(), path)
    click.echo(f"wrote {path}", err=True)


LIMITS = (
    click.option(
        "--memory", metavar="SIZE", help="Memory limit, such as 4GB; files may be larger."
    ),
    click.option(
        "--spill",
        type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
        help="Folder for what does not fit into memory.",
    ),
    click.option(
        "--glob",
        is_flag=True,
        is_eager=True,
        help="File names are patterns, such as 'part-*.parquet'.",
    ),
)
"""Options of commands that read tables larger than memory."""

SPARK = click.option(
    "--spark",
    metavar="ADDRESS",
    is_eager=True,
    help="Read tables on Spark, at spark://host:7077 or sc://host.",
)
"""Option of commands whose rows can stay on a cluster."""


def is_on_spark(ctx: click.Context) -> bool:
    """Return whether tables of this call are on Spark; options not given have click's own value."""
    return isinstance(ctx.params.get("spark"), str)


class TableFiles(click.Argument):
    """One table in one or several files; with ``--glob`` also in those that fit a pattern.

    Parameters
    ----------
    param_decls : list of str
        The name.
    file : click.Path
        How a single file is checked.
    """

    def __init__(self, param_decls: list[str], *, file: click.Path, **facts: Any) -> None:
        name = param_decls[0].upper()
        super().__init__(param_decls, nargs=-1, required=True, metavar=f"{name}...", **facts)
        self.file = file

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Return a path, or several that are one table."""
        if not value:
            return super().type_cast_value(ctx, value)
        parts = [self._part(ctx, word) for word in value]
        if is_on_spark(ctx) and len(parts) > 1:
            raise click.UsageError("on Spark one folder or pattern names all files.", ctx)
        return join_parts(parts)

    def _part(self, ctx: click.Context, word: Any) -> Any:
        if is_on_spark(ctx):
            # Patterns are for Spark to follow.
            return SparkTable(os.fspath(word))
        if is_pattern(os.fspath(word)):
            if not ctx.params.get("glob"):
                told = f"{word!r} is no file but a pattern; --glob reads all files that fit."
                raise click.UsageError(told, ctx)
            return find_parts(os.fspath(word))
        return self.file.convert(word, self, ctx)


def take_limits(given: dict[str, Any]) -> AbstractContextManager[object]:
    """Take the limits, and where Spark is, out of the options of a command."""
    memory, spill = given.pop("memory", None), given.pop("spill", None)
    given.pop("glob", None)
    master = given.pop("spark", None)
    if not master and (memory or spill):
        return limit_memory(memory, spill)
    if not master:
        return watch_engine() if sys.stderr.isatty() else nullcontext()
    if memory or spill:
        raise click.UsageError("--memory and --spill are about this machine, not about --spark.")
    return spark_session(master)


def show_progress(doing: str) -> AbstractContextManager[object]:
    """Show on a terminal what is being done, how much of it is done and since when."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    # Columns are drawn by another thread, which has limits of its own.
    work = current_limits().work

    class HowFar(ProgressColumn):
        """Share of the rows, rows in a second and the time left, where the engine tells."""

        def render(self, task: Task) -> Text:
            return Text(work.words())

    described = TextColumn("{task.description} ...")
    columns = (SpinnerColumn(), described, HowFar(), TimeElapsedColumn())
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    shown.add_task(doing, total=None)
    return shown
