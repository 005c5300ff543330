"""Commands that answer a question, and where the answer goes: the terminal, JSON, a page."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import click

from comparity.cli.options import OUTPUT_FILE, choice_options, combine, output_options
from comparity.cli.options import example as example_of
from comparity.cli.running import BadInput
from comparity.tables.outputs import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.results.options import Options
    from comparity.results.result import Result


class Drawable(Protocol):
    """A result with a picture."""

    def plot(self) -> Axes:
        """Draw it."""


def command(
    options: type[Options] | Callable[[Any], Any],
    *,
    doing: str = "",
    plot: str = "",
    example: str = "",
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
    **about
        Of :func:`click.command`: ``epilog``, ``short_help``.
    """

    def decorate(answer: Callable[..., Result]) -> click.Command:
        @wraps(answer)
        def run(as_json: bool, html: Path | None, plot: Path | None = None, **given: Any) -> None:
            known = {name: value for name, value in given.items() if value is not None}
            with working(doing) if doing else nullcontext():
                result: Any = answer(**known)
            if plot is not None:
                write_plot(plot, result)
            deliver(result, as_json=as_json, html=html, more=result.parts())
            # What judges nothing has no status of its own.
            raise SystemExit(getattr(result, "exit_status", 0))

        # Files come first, then the choices, then where the result goes.
        files = run.__dict__.pop("__click_params__", [])
        draw = [click.option("--plot", type=OUTPUT_FILE, help=plot)] if plot else []
        add = partial(choice_options, options=options) if isinstance(options, type) else options
        combine(run, add, *draw, output_options)
        run.__dict__["__click_params__"] += files
        if example:
            about["epilog"] = example_of(example)
        return cast("click.Command", click.command(**about)(run))

    return decorate


def deliver(
    result: Result,
    *,
    as_json: bool,
    html: Path | None,
    more: Mapping[str, Result] | None = None,
) -> None:
    """Print a result, or its JSON and nothing else, and write its page where one is asked for.

    What is in `more` is part of the JSON of the result already, and shown after it by its name.
    """
    # Exact intervals of many small groups are worked out only now.
    with working("putting the result together"):
        text = as_json_text(result) + "\n" if as_json else _terminal_text(result, more)
        if html is not None:
            from comparity.reports.page import page

            write_text(html, page({"": result, **more} if more else result))
    if html is not None:
        click.echo(f"wrote {html}", err=True)
    sys.stdout.write(text)
    sys.stdout.flush()


def _terminal_text(result: Result, more: Mapping[str, Result] | None) -> str:
    from comparity.reports.terminal import render

    return render(result, *(more or {}).values())


def working(doing: str) -> AbstractContextManager[object]:
    """Show on a terminal what is going on and since when; nothing anywhere else."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description} ..."), TimeElapsedColumn())
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    shown.add_task(doing, total=None)
    return shown


def as_json_text(result: Result) -> str:
    """Return the content of a result as JSON."""
    return json.dumps(result.to_dict(), indent=2, allow_nan=False)


def write_plot(path: Path, result: Drawable, draw: Callable[[], Axes] | None = None) -> None:
    """Draw a result, or another picture of it, in the format the name of the file asks for."""
    from comparity.reports.plots import FORMATS, save

    if path.suffix.lower() not in FORMATS:
        raise BadInput(f"{path} cannot be drawn: its name ends in none of {', '.join(FORMATS)}")
    # Names whose characters the font lacks are shown as boxes. This is for as long as the process
    # runs: to restore filters would be of no use here, and not safe among threads.
    warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
    save((draw or result.plot)(), path)
    click.echo(f"wrote {path}", err=True)
