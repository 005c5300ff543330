"""Results read back from the JSON that commands printed, to be shown on one page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from comparity.errors import FileAccessError, ForeignResultError
from comparity.reports.formats import clipped
from comparity.results.result import Result, read_result

__all__ = ["read_results"]


def read_results(paths: Sequence[str | Path]) -> dict[str, Result]:
    """Read the JSON that commands printed, and name each result by its file.

    A gate is followed by its audits, a ranking by the audit against it. A file may hold several
    results by name, as ``comparity demo --json`` prints them.

    Raises
    ------
    FileAccessError, ForeignResultError
        A file cannot be read, or holds something else.
    """
    stems = [Path(path).stem for path in paths]
    found: dict[str, Result] = {}
    for path, stem in zip(paths, stems, strict=True):
        name = stem if stems.count(stem) == 1 else str(path)
        for part, result in _parts(_load_json(path), repr(str(path))):
            label = f"{name}: {part}" if part else name
            # The same file twice is shown twice.
            while label in found:
                label += " (again)"
            found[label] = result
    return found


def _load_json(path: str | Path) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant}, which JSON does not have")

    try:
        return json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=refuse)
    except OSError as error:
        raise FileAccessError(str(path), str(error.strerror)) from error
    except (ValueError, RecursionError) as error:
        raise ForeignResultError(repr(str(path)), f"no JSON: {clipped(str(error))}") from error


def _parts(content: Any, source: str) -> Iterator[tuple[str, Result]]:
    """Yield the results a file holds, by name; the only one has none."""
    if isinstance(content, Mapping) and content and "kind" not in content:
        for name, one in content.items():
            yield name, read_result(one, source=source)
        return
    result: Result = read_result(content, source=source)
    yield "", result
    yield from result.parts().items()
