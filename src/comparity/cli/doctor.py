"""``comparity doctor``: what is installed here, and what is missing for what."""

from __future__ import annotations

from pathlib import Path

import click

from comparity.cli.output import deliver

EXAMPLE = """\b
Example:
  comparity doctor --data ~/data
"""


@click.command(epilog=EXAMPLE, short_help="Versions, extras, Java and data found here.")
@click.option("--data", type=click.Path(path_type=Path), help="The data folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def doctor(data: Path | None, as_json: bool) -> None:
    """Say what is installed here, and what is missing for which command.

    Nothing is installed, downloaded or changed.

    Exit status: 0, or 2 if something is missing that every command needs.
    """
    # Imported here so that --help stays quick.
    from comparity.cli.installation import inspect_installation

    found = inspect_installation(data)
    deliver(found, as_json=as_json, html=None)
    raise SystemExit(0 if found.complete else 2)
