"""Write ``docs/reproductions.md`` from what came out when parts were last run.

``python docs/reproductions.py --record results.json ...`` takes what ``comparity reproduce --json``
printed, keeps the counts in ``reproductions/runs.toml``, and writes the page and the counts in the
READMEs again; without files only the latter. What stands before the first table is written by hand.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from comparity.cli.reproduce import find_papers, read_published

PAGE = Path(__file__).with_suffix(".md")
HOME = PAGE.parents[1] / "reproductions"
KEPT = HOME / "runs.toml"

HEADER = "| paper | part | numbers that come out | conclusions that hold | runs, date | remark |\n"
ABSENT = "## What cannot be run\n"
COUNTS = ("come out", "compared", "consistent", "hold", "conclusions")

Run = Mapping[str, Any]


def page() -> str:
    """Return the whole page, with its tables written again."""
    introduction, _, _ = PAGE.read_text(encoding="utf-8").partition(HEADER)
    runs = kept()
    papers = {paper: read_published(folder) for paper, folder in find_papers(HOME).items()}
    lines = [
        f"| {paper} | {part} | {numbers_cell(runs[paper][part])} | "
        f"{conclusions_cell(runs[paper][part])} | {run_cell(runs[paper][part])} | "
        f"{runs[paper][part]['remark']} |"
        for paper, published in papers.items()
        for part in published.questions
    ]
    absent = [
        f"| {paper} | {part} | {reason} |"
        for paper, published in papers.items()
        for part, reason in published.absent.items()
    ]
    rule = "| --- | --- | --- | --- | --- | --- |\n"
    return (
        introduction + HEADER + rule + "\n".join(lines) + f"\n\n{ABSENT}\n"
        "| paper | part | reason |\n| --- | --- | --- |\n" + "\n".join(absent) + "\n"
    )


def kept() -> dict[str, dict[str, Run]]:
    """Return what is kept of the last runs, by paper and part."""
    return tomllib.loads(KEPT.read_text(encoding="utf-8"))


def numbers_cell(run: Run) -> str:
    """Say how many numbers come out, of how many that could, and how many are not counted."""
    if "compared" not in run:
        return str(run.get("state", "not run since the rule was changed"))
    if not run["compared"] and not run["consistent"]:
        return "none published"
    more = f"; {run['consistent']} consistent" if run["consistent"] else ""
    return f"{run['come out']} of {run['compared']}{more}"


def conclusions_cell(run: Run) -> str:
    """Say how many conclusions hold."""
    return f"{run['hold']} of {run['conclusions']}" if run.get("conclusions") else ""


def run_cell(run: Run) -> str:
    """Say how often what is random was repeated, and when."""
    if "date" not in run:
        return ""
    return f"{run['runs']:,}, {run['date']}" if run["runs"] else str(run["date"])


def read_results(path: Path) -> list[Mapping[str, Any]]:
    """Return the results in a file: one part, or several by name, as ``--all --json`` prints."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return [content] if "paper" in content else list(content.values())


def record(results: Iterable[Mapping[str, Any]]) -> None:
    """Keep the counts of results, as ``comparity reproduce --json`` prints them."""
    runs = kept()
    for result in results:
        part = next(one for one in runs[result["paper"]] if one.lower() == result["part"].lower())
        today = result.get("ran", f"{datetime.now(tz=UTC):%Y-%m-%d}")
        runs[result["paper"]][part] = {
            **{name: result["counts"][name] for name in COUNTS},
            "runs": result["provenance"]["options"].get("runs", 0),
            "date": today,
            "remark": runs[result["paper"]][part]["remark"],
        }
    KEPT.write_text("\n".join(_as_toml(runs)), encoding="utf-8")


def _as_toml(runs: Mapping[str, Mapping[str, Run]]) -> Iterator[str]:
    yield "# What came out of each part when it was last run, kept by"
    yield "# `python docs/reproductions.py --record results.json`; remarks are written by hand."
    for paper, parts in runs.items():
        for part, run in parts.items():
            yield f'\n["{paper}"."{part}"]'
            for name, value in run.items():
                yield f'"{name}" = {json.dumps(value, ensure_ascii=False)}'
    yield ""


def readme(paper: str) -> str:
    """Return the README of a paper with the counts of its first table written again."""
    text = (HOME / paper / "README.md").read_text(encoding="utf-8")
    for part, run in kept()[paper].items():
        row = re.compile(rf"^(\| {re.escape(part)} \| )[^|]*( \|)", re.MULTILINE | re.IGNORECASE)
        text = row.sub(rf"\g<1>{numbers_cell(run)}\g<2>", text, count=1)
    return text


if __name__ == "__main__":
    record(result for name in sys.argv[2:] for result in read_results(Path(name)))
    for paper in find_papers(HOME):
        (HOME / paper / "README.md").write_text(readme(paper), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
