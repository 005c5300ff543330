"""What is installed, for terminal and page."""

from __future__ import annotations

from comparity.installations import Installation, Package
from comparity.reporting.formats import visible
from comparity.reporting.grids import Grid
from comparity.reporting.sections import Section

__all__ = ["section"]


def section(result: Installation) -> Section:
    """Return what is shown of an installation."""
    here = [name for name, found in result.datasets if found]
    state = f"{'nothing' if result.complete else 'something'} required is missing"
    return Section(
        headline=f"comparity {result.comparity}: {state}",
        sentences=(
            f"Python {visible(result.python)} on {visible(result.system)}; "
            f"Java: {visible(result.java) or 'none'}.",
            f"{len(here)} of {len(result.datasets)} published data sets in "
            f"{visible(result.data_folder)}{': ' if here else ''}{', '.join(here)}.",
        ),
        kind="inside" if result.complete else "found",
        grids=(
            Grid(
                title="Packages",
                header=("package", "installed", "at least", "asked for by", ""),
                rows=tuple(map(_row, result.packages)),
            ),
            Grid(
                title="What is missing, and for what",
                header=("missing", "needed by", "what to do"),
                rows=tuple(
                    (visible(one.what), visible(one.needed_by), visible(one.hint))
                    for one in result.lacks
                ),
            ),
        )[: 2 if result.lacks else 1],
    )


def _row(one: Package) -> tuple[str, ...]:
    asked = {"": "every command", "engine": "to_frame()"}.get(one.extra, f"[{one.extra}]")
    return one.name, visible(one.version) or "none", one.least, asked, "ok" if one.good else "no"
