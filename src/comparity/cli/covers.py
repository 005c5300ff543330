"""What commands write beside their answer: the cover of its page, and its rows as CSV."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from comparity.tables.outputs import is_same_file

if TYPE_CHECKING:
    from pathlib import Path

    from comparity.reports.cover import Cover
    from comparity.results.result import Result

Command = TypeVar("Command", bound=Callable[..., Any])

COVER: dict[str, str] = {
    "title": "Title of the page.",
    "author": "Who ran this; shown on the page.",
    "date": "Date on the page: 'today', or such as 2026-11-17.",
    "logo": "Picture on the page: a PNG, JPEG, GIF or SVG file.",
}
"""Options by name, with their help."""


def cover_options(command: Command) -> Command:
    """Add the options of a cover to a command."""
    # The option that is added last is listed first.
    for name, says in reversed(COVER.items()):
        command = click.option(f"--{name}", name, help=says)(command)
    return command


def take_cover(given: dict[str, Any], html: Path | None) -> Cover:
    """Take the options of a cover out of those of a command; they are for a page alone."""
    # Imported here so that --help stays quick.
    from pathlib import Path

    from comparity.reports.cover import Cover, read_date, read_logo

    known = {name: value for name in COVER if (value := given.pop(name, None))}
    if known and html is None:
        raise click.UsageError(f"--{next(iter(known))} belongs to a page: name it with --html.")
    if "date" in known:
        known["date"] = read_date(known["date"])
    if "logo" in known:
        if html is not None and is_same_file(html, Path(known["logo"])):
            raise click.UsageError("--html would write over --logo.")
        known["logo"] = read_logo(Path(known["logo"]))
    return Cover(**known)


def write_rows(result: Result, path: Path | None) -> None:
    """Write the main table of an answer as CSV, where a file is named."""
    if path is not None:
        result.save_csv(path)
        click.echo(f"wrote {path}", err=True)
