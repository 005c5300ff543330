"""What commands are made of: options from declared choices, and where their answers go."""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from comparity.cli.shared_options import (
    DROP_MISSING,
    LIMITS,
    SPARK,
    count_gaps,
    cover_options,
    is_on_spark,
    show_progress,
    take_cover,
    take_gaps,
    take_limits,
    write_plot,
    write_rows,
)
from comparity.results.options import REQUIRED, Choice, Options, declared_choices
from comparity.tables.outputs import is_same_file, is_stream, write_text
from comparity.tables.spark import SparkTable

if TYPE_CHECKING:
    from comparity.reports.cover import Cover
    from comparity.results.result import Result

# A shell puts what is offered into the line as it is, where other signs would mean something.
HARMLESS = re.compile(r"[\w.:@%+-]+")


class Column(click.Option):
    """An option with the name of a column, or with several separated by commas."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer columns of the files named so far; after a comma, those not yet named."""
        done, comma, start = incomplete.rpartition(",")
        taken = done.split(",")
        # An argument before an option that still lacks its value is left in `args`.
        known = _columns([*ctx.params.values(), *map(Path, ctx.args)])
        return [
            CompletionItem(f"{done}{comma}{name}")
            for name in known
            if name.startswith(start) and name not in taken and HARMLESS.fullmatch(name)
        ]


def _columns(given: Iterable[object]) -> list[str]:
    """Return the columns of all files among what a command was given."""
    # Imported here so that --help loads no engine.
    from comparity.errors import ComparityError
    from comparity.tables.files import ENDINGS, read_table

    found: dict[str, None] = {}
    for path in given:
        if isinstance(path, Path) and set(path.suffixes) & {*ENDINGS} and path.is_file():
            try:
                found |= dict.fromkeys(read_table(path).collect_schema().names())
            except ComparityError:
                # The command itself will say what is wrong with the file.
                continue
    return list(found)


Command = TypeVar("Command", bound=Callable[..., Any])


class NamedFile(click.Path):
    """A file that a command reads or writes, and that it does not name twice if it writes it.

    Names are compared by what they lead to: a symbolic or hard link is the same file.

    Parameters
    ----------
    written : bool
        Whether the command writes it.
    choices
        Those of :class:`click.Path`.
    """

    def __init__(self, *, written: bool, **choices: Any) -> None:
        super().__init__(dir_okay=False, path_type=Path, **choices)
        self.written = written

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path, unless what is written here has been named before."""
        if ctx is not None and is_on_spark(ctx) and not self.written:
            return SparkTable(os.fspath(value))
        path = super().convert(value, param, ctx)
        assert isinstance(path, Path), path
        if ctx is None or param is None:
            return path
        earlier: list[tuple[NamedFile, Path, str]] = ctx.meta.setdefault(__name__, [])
        hint = param.get_error_hint(ctx)
        for other, named, said in earlier:
            if (self.written or other.written) and is_same_file(path, named):
                # Several reports may go to one terminal.
                if self.written and other.written and is_stream(path):
                    continue
                what = f"{said} and {hint} name the same file; write another file."
                raise click.UsageError(what, ctx)
        earlier.append((self, path, hint))
        return path


INPUT_FILE = NamedFile(exists=True, written=False)


OUTPUT_FILE = NamedFile(writable=True, written=True)


def names(value: str) -> tuple[str, ...]:
    """Split names at commas; a name with a comma or a line break is put in double quotes.

    Examples
    --------
    >>> names('sex,"age, in years"')
    ('sex', 'age, in years')
    """
    try:
        found = tuple(next(csv.reader([value], skipinitialspace=True), []))
    except csv.Error as error:
        quoted = "put a name with a line break in double quotes."
        raise click.BadParameter(f"{value!r} is not a list of names; {quoted}") from error
    if not found or not all(found):
        raise click.BadParameter(f"{value!r} holds an empty name.")
    for name in found:
        if found.count(name) > 1:
            raise click.BadParameter(f"{value!r} names {name!r} twice.")
    return found


def numbers(value: str) -> tuple[float, ...]:
    """Split numbers at commas.

    Examples
    --------
    >>> numbers("0.8,0.84")
    (0.8, 0.84)
    """
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a list such as 0.8,0.84.") from error


def looks(value: str) -> tuple[int, int]:
    """Read which of how many planned looks this is.

    Examples
    --------
    >>> looks("2/4")
    (2, 4)
    """
    look, _, planned = value.partition("/")
    if not (look.isdecimal() and planned.isdecimal() and 1 <= int(look) <= int(planned)):
        raise click.BadParameter(f"{value!r} does not say which look of how many, such as 2/4.")
    return int(look), int(planned)


def units(value: str) -> tuple[int, ...]:
    """Split whole numbers at commas.

    Examples
    --------
    >>> units("32,32")
    (32, 32)
    """
    parts = value.split(",")
    if not all(part.strip().isdecimal() and int(part) for part in parts):
        raise click.BadParameter(f"{value!r} is not a list of whole numbers such as 32,32.")
    return tuple(int(part) for part in parts)


def number_or(*words: str) -> Callable[[str], float | str]:
    """Return what reads a number, or one of some words.

    Examples
    --------
    >>> read = number_or("marginal likelihood", "none")
    >>> read("2.5"), read("none")
    (2.5, 'none')
    """

    def number(value: str) -> float | str:
        try:
            return value if value in words else float(value)
        except ValueError as error:
            known = " or ".join(map(repr, words))
            raise click.BadParameter(f"{value!r} is neither a number nor {known}.") from error

    return number


class Words(click.Choice):  # type: ignore[type-arg]
    """Words to choose from; others may stand for them."""

    def __init__(self, words: Sequence[str], aliases: Mapping[str, str]) -> None:
        super().__init__(words)
        self.aliases = aliases

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the word itself."""
        return super().convert(self.aliases.get(value, value), param, ctx)


PARSERS: dict[Any, Callable[[str], Any]] = {
    tuple[float, ...]: numbers,
    tuple[int, ...]: units,
    tuple[int, int]: looks,
    float | str: number_or("marginal likelihood", "cross-validation", "none"),
    float | Literal["estimated"]: number_or("estimated"),
}
"""How several values in one word are read, by the declared type; several names otherwise."""


def option_of(one: Choice) -> Callable[[Command], Command]:
    """Make the option of a command from a declared choice."""
    facts: dict[str, Any] = {"help": one.says, "type": _type_of(one)}
    if one.kind is bool:
        facts = {"help": one.says, "is_flag": True}
    elif one.default is REQUIRED:
        facts["required"] = True
    elif one.shown:
        facts["show_default"] = one.shown
    elif one.default not in (None, ()):
        written = ",".join(one.default) if one.is_list else one.default
        facts |= {"default": written, "show_default": True}
    if one.is_column:
        facts["cls"] = Column
    return click.option(f"--{one.option}", one.name, **facts)


def _type_of(one: Choice) -> Any:
    """Return how click reads a value; None for any text."""
    limits = one.bounds
    if one.kind in (int, float):
        low, high = limits.least, limits.most
        ends: dict[str, Any] = {"min": low if limits.above is None else limits.above}
        ends["max"] = high if limits.below is None else limits.below
        if one.kind is int:
            return int if set(ends.values()) == {None} else click.IntRange(**ends)
        if set(ends.values()) == {None}:
            return float
        opened = {"min_open": limits.above is not None, "max_open": limits.below is not None}
        return click.FloatRange(**ends, **opened)
    if one.is_list or one.kind in PARSERS:
        return PARSERS.get(one.kind, names)
    if one.kind is Path:
        return INPUT_FILE
    return Words(one.words, one.aliases) if one.words else None


def choice_options(command: Command, options: type[Options]) -> Command:
    """Add an option for each declared choice of a class, in the order of the declarations."""
    offered = [one for one in declared_choices(options).values() if one.offered]
    return combine(command, *map(option_of, offered))


def output_options(command: Command) -> Command:
    """Add where the result goes."""
    return combine(
        command,
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        click.option("--html", type=OUTPUT_FILE, help="Write the result as one HTML page."),
    )


def example_text(commands: str) -> str:
    """Return what stands below a command's help; a line that begins with a space continues one."""
    lines = [line if line[0] == " " else f"comparity {line}" for line in commands.split("\n")]
    return "\n  ".join(["\b\nExample:", *lines]) + "\n"


def combine(command: Command, *decorators: Callable[[Any], Any]) -> Command:
    """Apply decorators so that their options are listed in the order given."""
    # The decorator nearest to the function is applied first, and its option listed last.
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def command(
    options: type[Options] | Callable[[Any], Any],
    *,
    doing: str = "",
    plot: str = "",
    example: str = "",
    drops: bool = True,
    large: bool = False,
    spark: bool = False,
    **about: Any,
) -> Callable[[Callable[..., Result]], click.Command]:
    """Make a command of a function that takes files and choices and returns a result.

    Parameters
    ----------
    options : class or callable
        Every declared choice of a class becomes an option; a callable adds options itself. What
        was not given is not handed on.
    doing : str
        What is shown on a terminal meanwhile.
    plot : str
        Help of ``--plot``; no such option without it.
    example : str
        Commands that are shown below the help.
    drops : bool
        Whether rows of its tables can be dropped where a value is missing; a command that reads
        something else may drop by a choice of its own.
    large : bool
        Whether its tables may be larger than memory.
    spark : bool
        Whether its tables may be on Spark.
    **about
        Of :func:`click.command`: ``epilog``, ``short_help``.
    """

    def decorate(answer: Callable[..., Result]) -> click.Command:
        @wraps(answer)
        def run(as_json: bool, html: Path | None, csv: Path | None, **given: Any) -> None:
            cover, plot = take_cover(given, html), given.pop("plot", None)
            with take_limits(given), show_progress(doing) if doing else nullcontext():
                gaps = take_gaps(given, Column, INPUT_FILE) if drops else None
                known = {name: value for name, value in given.items() if value is not None}
                result: Any = answer(**known)
            result = count_gaps(result, gaps)
            if plot is not None:
                write_plot(plot, result.plot)
            write_rows(result, csv)
            deliver(result, as_json=as_json, html=html, more=result.parts(), cover=cover)
            # What judges nothing has no status of its own.
            raise SystemExit(getattr(result, "exit_status", 0))

        # Files come first, then the choices, then where the result goes.
        files = run.__dict__.pop("__click_params__", [])
        draw = [click.option("--plot", type=OUTPUT_FILE, help=plot)] if plot else []
        draw.append(click.option("--csv", type=OUTPUT_FILE, help="Write the main table as CSV."))
        add = partial(choice_options, options=options) if isinstance(options, type) else options
        read = [DROP_MISSING] if files and drops else []
        read += [*(LIMITS if large else ()), *([SPARK] if spark else ())]
        combine(run, add, *read, *draw, output_options, cover_options)
        run.__dict__["__click_params__"] += files
        if example:
            about["epilog"] = example_text(example)
        return cast("click.Command", click.command(**about)(run))

    return decorate


def deliver(
    result: Result,
    *,
    as_json: bool,
    html: Path | None,
    more: Mapping[str, Result] | None = None,
    cover: Cover | None = None,
) -> None:
    """Print a result, or its JSON and nothing else, and write its page where one is asked for.

    What is in `more` is part of the JSON of the result already, and shown after it by its name.
    """
    # Exact intervals of many small groups are worked out only now.
    with show_progress("putting the result together"):
        text = result.to_json() if as_json else _terminal_text(result, more)
        if html is not None:
            from comparity.reports.page import page

            write_text(html, page({"": result, **more} if more else result, cover=cover))
    if html is not None:
        click.echo(f"wrote {html}", err=True)
    # Of a million items the text has half a gigabyte, which is not copied for its last line.
    sys.stdout.writelines([text, "\n"] if as_json else [text])
    sys.stdout.flush()


def _terminal_text(result: Result, more: Mapping[str, Result] | None) -> str:
    from comparity.reports.terminal import render

    return render(result, *(more or {}).values())
