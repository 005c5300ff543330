"""Options that several commands share, columns the Tab key offers, and the types of values."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from comparity.tables.outputs import is_same_file, is_stream

__all__ = [
    "INPUT_FILE",
    "OUTPUT_FILE",
    "PROPORTION",
    "SEED",
    "Column",
    "Command",
    "NamedFile",
    "audit_options",
    "combine",
    "comparison_options",
    "error_options",
    "looks",
    "names",
    "numbers",
    "output_options",
    "sensitive_options",
]


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


SEED = click.IntRange(min=0)


PROPORTION = click.FloatRange(0, 1, min_open=True, max_open=True)


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


def sensitive_options(command: Command) -> Command:
    """Add the options that name the groups."""
    return combine(
        command,
        click.option(
            "--sensitive",
            cls=Column,
            type=names,
            required=True,
            help="Column with the group; several separated by commas.",
        ),
        click.option(
            "--intersection",
            is_flag=True,
            help="Judge the combinations of several sensitive columns, too.",
        ),
    )


def comparison_options(command: Command) -> Command:
    """Add the options that say how comparisons are written."""
    return combine(
        command,
        click.option("--evaluator", cls=Column, help="Column of the comparisons with who judged."),
        click.option(
            "--layout",
            default="auto",
            show_default=True,
            help="How a comparison is written, such as 'left, right, winner'; 'auto' looks.",
        ),
        click.option(
            "--better", cls=Column, help="Column with the better item, where it has another name."
        ),
        click.option(
            "--worse", cls=Column, help="Column with the worse item, where it has another name."
        ),
        click.option("--left", cls=Column, help="Column with one item, beside --winner."),
        click.option("--right", cls=Column, help="Column with the other item, beside --winner."),
        click.option(
            "--winner",
            cls=Column,
            help="Column that says which of --left and --right won: left, right, tie or an id.",
        ),
    )


def error_options(command: Command) -> Command:
    """Add the false-alarm rate and the rule for several tests."""
    return combine(
        command,
        click.option(
            "--alpha",
            type=PROPORTION,
            default=0.05,
            show_default=True,
            help="Overall false-alarm rate.",
        ),
        click.option(
            "--rule",
            type=click.Choice(["holm", "paper"]),
            default="holm",
            show_default=True,
            help="Correction for several tests; 'paper' makes none.",
        ),
    )


def audit_options(command: Command) -> Command:
    """Add what every audit can be told about its verdict."""
    return combine(
        command,
        error_options,
        click.option(
            "--margin",
            type=PROPORTION,
            default=0.05,
            show_default=True,
            help="Largest gap that is harmless.",
        ),
        click.option(
            "--looks",
            type=looks,
            help="Which of how many planned looks at growing data this is, such as 2/4.",
        ),
        click.option("--seed", type=SEED, help="Seed of whatever is drawn at random."),
    )


def output_options(command: Command) -> Command:
    """Add where the result goes."""
    return combine(
        command,
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        click.option("--html", type=OUTPUT_FILE, help="Write the result as one HTML page."),
    )


def combine(command: Command, *decorators: Callable[[Any], Any]) -> Command:
    """Apply decorators so that their options are listed in the order given."""
    # The decorator nearest to the function is applied first, and its option listed last.
    for decorate in reversed(decorators):
        command = decorate(command)
    return command
