"""What results can say of one point of a report: their data, groups, numbers and methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from comparity.errors.spelling import visible
from comparity.reports.cover import data_facts
from comparity.reports.page import sources_of
from comparity.reports.sections import clip, count, rate
from comparity.results.result import Result

IMPACT = "impact ratios"
NO_IMPACT = "No result of comparity impact is among the results."

Told = Sequence[tuple[str, Result, Mapping[str, Any]]]
"""Results with their names and their plain content."""

Lines = Iterator[tuple[str, bool]]
"""What results say of one point, and whether that is a gap."""


def _data(told: Told) -> Lines:
    files = [
        f"{facts['files']}: {facts.get('rows', 'rows not counted')}"
        for _, _, content in told
        if "files" in (facts := data_facts(content))
    ]
    yield from ((line, False) for line in dict.fromkeys(files))
    if not files:
        yield "No result says from which file it was made.", True


def _groups(told: Told) -> Lines:
    found = [
        facts["groups"] for _, _, content in told if "groups" in (facts := data_facts(content))
    ]
    for table in _tables(told):
        groups = [
            f"{clip(one['group'])} ({'hidden' if one['n'] < 0 else count(one['n'])})"
            for one in table["groups"]
        ]
        found.append(f"{clip(table['attribute'])}: {'; '.join(groups)}")
    yield from ((line, False) for line in dict.fromkeys(found))
    if not found:
        yield "No result names groups.", True


def _findings(told: Told) -> Lines:
    for label, result, _ in told:
        section = result.section()
        first = section.sentences[0] if section.sentences else ""
        name = f"{clip(label)}: " if label else ""
        yield f"{name}{section.headline}. {first}".strip(), False
    if not told:
        yield "There is no result.", True


def _rates(told: Told) -> Lines:
    found = False
    for _, result, content in told:
        if content.get("rates") or content.get("kind") == IMPACT or content.get("metrics"):
            found = True
            yield from ((line, False) for line in result.section().sentences[:1])
    if not found:
        yield "No result has rates by group.", True


def _methods(told: Told) -> Lines:
    found = [line for _, _, content in told for line in sources_of(content)]
    yield from ((visible(line), False) for line in dict.fromkeys(found))
    if not told:
        yield "There is no result.", True


def _assumptions(told: Told) -> Lines:
    notes = [note for _, _, content in told for note in content.get("notes") or ()]
    yield from ((visible(line), False) for line in dict.fromkeys(notes) if isinstance(line, str))
    if not told:
        yield "There is no result.", True


def _software(told: Told) -> Lines:
    found = [
        facts["software"] for *_, content in told if "software" in (facts := data_facts(content))
    ]
    yield from ((line, False) for line in dict.fromkeys(found))
    if not found:
        yield "No result says which version made it.", True


def _tables(told: Told) -> list[Mapping[str, Any]]:
    return [
        table
        for *_, content in told
        if content.get("kind") == IMPACT
        for table in content["tables"]
    ]


def _people(n: int) -> str:
    return f"{count(n)} {'person' if n == 1 else 'people'}"


def _impact(told: Told) -> Lines:
    for _, result, content in told:
        if content.get("kind") == IMPACT:
            yield from ((line, False) for line in result.section().sentences)
    if not _tables(told):
        yield NO_IMPACT, True


def _intersections(told: Told) -> Lines:
    """Say which tables there are; by one attribute alone there is no combination."""
    names = [clip(table["attribute"]) for table in _tables(told)]
    if names:
        yield f"All numbers are in the tables below: {', '.join(names)}.", False
    if len(names) in (1, 2):
        yield (
            f"Tables by two attributes and by both together are asked for; there is "
            f"{' and '.join(names)} (give --sensitive two columns).",
            True,
        )


def _lines_of_unknown(told: Told) -> Lines:
    for table in _tables(told):
        yield f"{clip(table['attribute'])}: {_people(table['unknown'])}.", False
    if not _tables(told):
        yield NO_IMPACT, True


def _small_groups(told: Told) -> Lines:
    for table in _tables(told):
        for one in table["groups"]:
            if one["why_none"]:
                shown = "" if one["n"] < 0 else f", {_people(one['n'])}, rate {rate(one['rate'])}"
                name = f"{clip(table['attribute'])} = {clip(one['group'])}"
                yield f"{name}{shown}: {one['why_none']}.", False


ASPECTS: dict[str, Callable[[Told], Lines]] = {
    "data": _data,
    "groups": _groups,
    "findings": _findings,
    "rates": _rates,
    "methods": _methods,
    "assumptions": _assumptions,
    "software": _software,
    "impact": _impact,
    "intersections": _intersections,
    "unknown": _lines_of_unknown,
    "small groups": _small_groups,
}
"""What results can say of a point, by its name in the outlines."""
