"""``comparity report``: several results on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from comparity.cli.options import INPUT_FILE, OUTPUT_FILE
from comparity.tables.outputs import write_text

EXAMPLE = """\b
Example:
  comparity report separation.json comparative.json --html report.html --title 'Model 7'
"""


@click.command(epilog=EXAMPLE, short_help="Several results on one page, from their JSON.")
@click.argument("results", type=INPUT_FILE, nargs=-1, required=True)
@click.option("--html", type=OUTPUT_FILE, help="Write the page; otherwise all is printed.")
@click.option("--title", default="Audits", show_default=True, help="Title of the page.")
def report(results: tuple[Path, ...], html: Path | None, title: str) -> None:
    """Show results again that commands printed with --json, on one page or in the terminal.

    Every number is the one of the JSON; nothing is computed again.

    Nothing is judged: the exit status is 0, or 2 for bad input.
    """
    # Imported here so that --help loads no numpy.
    from comparity.reports.page import read_results

    found = read_results(results)
    if html is None:
        from comparity.reports.formats import clipped
        from comparity.reports.terminal import show

        shown: list[Any] = []
        for name, result in found.items():
            shown += [f"[{clipped(name)}]", result] if len(found) > 1 else [result]
        show(*shown)
        return
    from comparity.reports.page import page

    write_text(html, page(found, title=title))
    click.echo(f"wrote {html}", err=True)
