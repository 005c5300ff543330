"""Write the tables of ``docs/metrics.md`` from the catalogue: ``python docs/metrics.py``.

What stands before the heading of the catalogue is written by hand. A test fails when the tables are
not what the catalogue says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from comparity.metrics.catalogue import CATALOGUE, CLUSTERS, EVERY_METRIC, FURTHER, Entry

PAGE = Path(__file__).with_suffix(".md")

HEADING = "## The catalogue\n"

BESIDE = (
    "Reported beside the thirty, in no published cluster: they change neither which few are "
    "recommended nor what is said of clusters\nand sensitivity. No range was published for them; "
    "the one shown is that of published metrics with the same ideal value."
)


def page() -> str:
    """Return the whole page, with its tables written again."""
    introduction, _, _ = PAGE.read_text(encoding="utf-8").partition(HEADING)
    return introduction + "\n".join([HEADING, *_sections(), _aliases()]) + "\n"


def _sections() -> Iterator[str]:
    for cluster in CLUSTERS:
        yield f"### {cluster.name.capitalize()}\n"
        yield from _table([CATALOGUE[one] for one in cluster.members])
    yield "### Further metrics\n"
    yield f"{BESIDE}\n"
    yield from _table(FURTHER.values())


def _table(entries: Iterable[Entry]) -> Iterator[str]:
    yield "| id | metric | definition | ideal | range | direction | source |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    yield "\n".join(map(_row, entries))
    yield ""


def _row(one: Entry) -> str:
    low, high = one.fair_range
    cells = (
        *(one.id, one.name, f"`{one.formula}`".replace("|", "\\|"), f"{one.ideal:g}"),
        *(f"{low:g} to {high:g}", one.direction, one.citation),
    )
    return f"| {' | '.join(cells)} |"


def _aliases() -> str:
    lines = ["### Names elsewhere\n", "| id | AIF360 | Fairlearn | Fairkit-learn |"]
    lines.append("| --- | --- | --- | --- |")
    lines += [
        f"| {one.id} | {one.aif360} | {one.fairlearn} | {one.fairkit} |"
        for one in EVERY_METRIC.values()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
