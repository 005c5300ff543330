"""Several results on one page, from the JSON that commands printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparity import __version__
from comparity.errors import FileAccessError, ForeignResultError
from comparity.errors.spelling import visible
from comparity.gate.check import ALLOW, FAIL, outcome
from comparity.gate.result import CheckedAudit, GateResult
from comparity.ranking.panel_result import RankedPanel
from comparity.reports.formats import clipped
from comparity.reports.grids import Grid
from comparity.reports.page import page
from comparity.reports.recorded import (
    audit_of,
    mapping,
    pairwise_of,
    panel_of,
    sequence,
    text,
    texts,
    whole,
)
from comparity.reports.recorded_others import (
    card_of,
    story_of,
    trained_of,
    training_of,
    weighing_of,
)
from comparity.reports.recorded_plans import plan_of
from comparity.reports.recorded_rankings import ranking_of
from comparity.reports.recorded_relative import bridged_of, raters_of, relative_of
from comparity.reports.sections import Reportable, Section
from comparity.results.result import Shown

__all__ = ["RecordedResult", "gate_page", "read_results", "rebuilt", "section"]

KINDS = ("audits", "plans", "rankings", "metrics", "trainings", "weights", "gates")
OTHERS: dict[tuple[str, ...], Callable[[Mapping[str, Any]], Any]] = {
    ("training", "before", "after"): trained_of,
    ("goals", "cell_weights"): training_of,
    ("metrics", "spreads", "comparison"): card_of,
    ("power", "assumptions", "curve"): plan_of,
    ("headline", "steps"): story_of,
    ("ranking", "n_comparisons"): ranking_of,
    ("effective_rows", "cells"): weighing_of,
}
"""How results of other kinds are read, by keys that only they have."""
# So many rows of a table of another result are shown; all are in its JSON.
ROWS, COLUMNS = 40, 9


@dataclass(frozen=True, slots=True)
class RecordedResult(Shown):
    """A result without a finding, as its JSON has it."""

    content: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the file."""
        return dict(self.content)


def gate_page(result: GateResult) -> str:
    """Return a page with the answer of a gate, then every audit in full."""
    named = {check.name: check.result for check in result.checks}
    return page({"": result, **named}, title=f"Gate {result.policy}")


def read_results(paths: Sequence[str | Path]) -> dict[str, Reportable]:
    """Read the JSON that commands printed, and name each result by its file.

    A gate is followed by its audits, a ranking by the audit against it. A file may hold several
    results by name, as ``comparity demo --json`` prints them.

    Raises
    ------
    FileAccessError, ForeignResultError
        A file cannot be read, or holds something else.
    """
    stems = [Path(path).stem for path in paths]
    found: dict[str, Reportable] = {}
    for path, stem in zip(paths, stems, strict=True):
        name = stem if stems.count(stem) == 1 else str(path)
        for part, result in _parts(_loaded(path), repr(str(path))):
            label = f"{name}: {part}" if part else name
            # The same file twice is shown twice.
            while label in found:
                label += " (again)"
            found[label] = result
    return found


def rebuilt(content: Any, source: str = "this") -> Reportable:
    """Return a result from its JSON, every number as it stands there.

    Parameters
    ----------
    content : mapping
        What ``to_dict()`` returned and ``--json`` printed.
    source : str
        Where it comes from, for the error.
    """
    try:
        result: Reportable = _result(mapping(content))
    except KeyError as error:
        raise ForeignResultError(source, f"no key {error}{_printed_by(content)}", KINDS) from error
    except (TypeError, ValueError, OverflowError) as error:
        raise ForeignResultError(source, clipped(str(error)), KINDS) from error
    return result


def _printed_by(content: Mapping[str, Any]) -> str:
    """Say which version printed a result, where it says so."""
    facts = content.get("provenance")
    version = facts.get("version") if isinstance(facts, Mapping) else None
    if not isinstance(version, str):
        return ""
    return f"; printed by version {clipped(version)}, this is {__version__}"


def section(result: RecordedResult) -> Section:
    """Return what is shown of a result without a finding: its values and tables."""
    content = result.content
    grids = [_values("Values", content)]
    skipped = []
    for name, value in content.items():
        if name in ("provenance", "notes") or _is_plain(value):
            continue
        if isinstance(value, Mapping) and all(map(_is_plain, value.values())):
            grids.append(_values(name, value))
        elif isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
            grids.append(_table(name, value))
        elif value:
            skipped.append(clipped(name))
    notes = [visible(one) for one in content.get("notes", []) if isinstance(one, str)]
    hidden = [f"In the JSON, and not shown here: {', '.join(skipped)}."] if skipped else []
    return Section(
        headline=clipped(_headline(content)),
        sentences=("As it was written down; nothing was judged.",),
        grids=tuple(grid for grid in grids if grid.rows),
        lists={"Notes": [*notes, *hidden]},
    )


def _headline(content: Mapping[str, Any]) -> str:
    """Say what kind of result this is."""
    if "power" in content:
        return f"Plan for {content.get('notion', 'a test')}"
    return str(content.get("notion", "Result")).capitalize()


def _loaded(path: str | Path) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant}, which JSON does not have")

    source = repr(str(path))
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=refuse)
    except OSError as error:
        raise FileAccessError(str(path), str(error.strerror)) from error
    except (ValueError, RecursionError) as error:
        raise ForeignResultError(source, f"no JSON: {clipped(str(error))}", KINDS) from error


def _parts(content: Any, source: str) -> Iterator[tuple[str, Reportable]]:
    """Yield the results a file holds, by name; the only one has none."""
    if isinstance(content, Mapping) and content and not _is_one(content):
        inner = {name: one for name, one in content.items() if isinstance(one, Mapping)}
        if inner.keys() == content.keys() and all(map(_is_one, inner.values())):
            for name, one in inner.items():
                yield name, rebuilt(one, source)
            return
    result = rebuilt(content, source)
    yield "", result
    if isinstance(result, GateResult):
        yield from ((check.name, check.result) for check in result.checks)
    elif isinstance(result, RankedPanel) and result.audit is not None:
        yield "a model against this panel", result.audit


def _is_one(content: Mapping[str, Any]) -> bool:
    # Accounts of training and of weights have no provenance of their own.
    return "provenance" in content or any(content.keys() >= set(keys) for keys in OTHERS)


def _result(content: Mapping[str, Any]) -> Any:
    """Tell the kinds of results apart by their keys."""
    if "gate" in content:
        return _gate(content)
    for keys, read in OTHERS.items():
        if content.keys() >= set(keys):
            return read(content)
    if "at_face_value" in content:
        return panel_of(content)
    if "matrix" in content and "standardised" in content:
        return pairwise_of(content)
    if "diagnosis" in content and "bridge" in content:
        return bridged_of(content)
    if "contrasts" in content and "distribution" in content:
        return relative_of(content)
    if "contrasts" in content and "raters" in content:
        return raters_of(content)
    if "finding" in content:
        return audit_of(content)
    known = mapping(content["provenance"])
    # Plans of older versions call the version by another name, which others may use too.
    if "comparity" not in known and not ("version" in known and "power" in content):
        raise ValueError("a provenance without the version of comparity")
    return RecordedResult(content)


def _gate(content: Mapping[str, Any]) -> GateResult:
    checks = tuple(_check(mapping(one)) for one in sequence(content["checks"]))
    gate = GateResult(
        policy=text(content["gate"]),
        checks=checks,
        exit_status=whole(content["exit_status"]),
        provenance=mapping(content["provenance"]),
    )
    if gate.passed is not content["passed"]:
        raise ValueError("a gate whose answer is not that of its audits")
    return gate


def _check(content: Mapping[str, Any]) -> CheckedAudit:
    result = _result(mapping(content["result"]))
    if isinstance(result, RecordedResult | GateResult) or result.finding != content["finding"]:
        raise ValueError("a check whose finding is not that of its audit")
    if content["open_means"] not in (FAIL, ALLOW):
        raise ValueError(f"open_means {content['open_means']!r}")
    passed, reason = outcome(result, content["open_means"])
    if (passed, reason) != (content["passed"], content["reason"]):
        raise ValueError("a check whose answer does not follow from its finding")
    return CheckedAudit(
        name=text(content["name"]),
        notion=text(content["notion"]),
        files=texts(content["files"]),
        result=result,
        open_means=content["open_means"],
        passed=passed,
        reason=reason,
    )


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _values(title: str, content: Mapping[str, Any]) -> Grid:
    rows = tuple((clipped(k), _shown(v)) for k, v in content.items() if _is_plain(v))
    return Grid(title=clipped(title), header=("name", "value"), rows=rows)


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Grid:
    columns = list(dict.fromkeys(name for row in rows for name in row))[:COLUMNS]
    hidden = f" (the first {ROWS} of {len(rows):,})" if len(rows) > ROWS else ""
    return Grid(
        title=clipped(title) + hidden,
        header=tuple(map(clipped, columns)),
        rows=tuple(tuple(_shown(row.get(name)) for name in columns) for row in rows[:ROWS]),
    )


def _shown(value: Any) -> str:
    """Return a value as the JSON has it."""
    if isinstance(value, str):
        return clipped(value)
    return "n/a" if value is None else clipped(json.dumps(value, ensure_ascii=False))
