"""Where a command's result goes: the terminal, JSON, a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from comparity.cli.lazy import BadInput

if TYPE_CHECKING:
    from comparity.plans import Plan
    from comparity.reporting.sections import Reportable

__all__ = ["as_json_text", "deliver", "write", "write_plot"]


def deliver(result: Reportable, *, as_json: bool, html: Path | None) -> None:
    """Print a result, or its JSON and nothing else, and write its page where one is asked for."""
    if html is not None:
        from comparity.reporting.html import page

        write(html, page(result))
        click.echo(f"wrote {html}", err=True)
    if as_json:
        click.echo(as_json_text(result))
    else:
        from comparity.reporting.terminal import show

        show(result)


def as_json_text(result: Reportable) -> str:
    """Return the content of a result as JSON."""
    return json.dumps(result.to_dict(), indent=2, allow_nan=False)


def write(path: Path, text: str) -> None:
    """Write a file; a path that cannot be written is bad input."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from error


def write_plot(path: Path, plan: Plan) -> None:
    """Draw the power of a plan against its size, in the format the name of the file asks for."""
    from comparity.reporting.plots import FORMATS, plot_power, save

    if path.suffix.lower() not in FORMATS:
        raise BadInput(f"{path} cannot be drawn: its name ends in none of {', '.join(FORMATS)}")
    try:
        save(plot_power(plan), path)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from error
