"""Tables larger than memory on the command line: their files, limits on memory, and progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from comparity.tables.file_parts import find_parts, is_pattern, join_parts
from comparity.tables.memory import current_limits, limit_memory
from comparity.tables.spark import SparkTable, spark_session

if TYPE_CHECKING:
    from rich.progress import Task
    from rich.text import Text

Command = TypeVar("Command", bound=Callable[..., Any])

LIMITS = (
    click.option(
        "--memory", metavar="SIZE", help="Memory to take, such as 4GB; files may be larger."
    ),
    click.option(
        "--spill",
        type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
        help="Folder for what does not fit into memory.",
    ),
    click.option(
        "--glob", is_flag=True, is_eager=True, help="Names of files are patterns: 'part-*.parquet'."
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
    """Say whether tables of this call are on Spark; what was not given has a value of click's."""
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
    if not master:
        return limit_memory(memory, spill) if memory or spill else nullcontext()
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
