"""Options that name columns of a file, whose names the Tab key offers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

__all__ = ["Column"]

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
    from comparity.counting.files import ENDINGS, read_table
    from comparity.errors import ComparityError

    found: dict[str, None] = {}
    for path in given:
        if isinstance(path, Path) and set(path.suffixes) & {*ENDINGS} and path.is_file():
            try:
                found |= dict.fromkeys(read_table(path).collect_schema().names())
            except ComparityError:
                # The command itself will say what is wrong with the file.
                continue
    return list(found)
