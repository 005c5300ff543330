"""``comparity gate`` and ``comparity report``: whether a policy lets a change pass, and pages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.exits import BadInput
from comparity.cli.options import INPUT_FILE, OUTPUT_FILE, output_options
from comparity.cli.output import deliver, working
from comparity.errors import ComparityError
from comparity.tables.outputs import check_apart, write_text

if TYPE_CHECKING:
    from comparity.gate.result import GateResult

EXAMPLE = """\b
Example:
  comparity gate policy.toml --junit gate.xml --sarif gate.sarif --markdown summary.md
"""
REPORT_EXAMPLE = """\b
Example:
  comparity report separation.json comparative.json --html report.html --title 'Model 7'
"""


@click.command(epilog=EXAMPLE, short_help="Stop a change that a policy does not let pass.")
@click.argument("policy", type=INPUT_FILE)
@click.option("--junit", type=OUTPUT_FILE, help="Write the verdicts as JUnit XML.")
@click.option("--sarif", type=OUTPUT_FILE, help="Write what fails as SARIF 2.1.0.")
@click.option("--markdown", type=OUTPUT_FILE, help="Write a summary in Markdown.")
@output_options
def gate(
    policy: Path,
    junit: Path | None,
    sarif: Path | None,
    markdown: Path | None,
    as_json: bool,
    html: Path | None,
) -> None:
    """Make every audit of a policy and say whether all of them let a change pass.

    POLICY is a TOML file: which audits on which files and columns, margins, error rates, and what
    it means where an audit decides nothing.

    Exit status: 0 passed, 1 an audit is violated, 2 bad input (a policy that cannot be understood,
    an audit that cannot be made), 3 an audit that must decide is undecided.
    """
    # Imported here so that --help loads neither numpy nor an engine.
    from comparity.gate.check import check, read_policy

    try:
        plan = read_policy(policy)
        for output in (junit, sarif, markdown, html):
            if output is not None:
                check_apart(output, plan.paths)
        with working("auditing"):
            result = check(plan)
    except ComparityError as error:
        # Keys of a policy are written as in Python, not as options of the command line.
        raise BadInput(str(error)) from error
    _write_reports(result, policy, junit=junit, sarif=sarif, markdown=markdown, html=html)
    deliver(result, as_json=as_json, html=None)
    raise SystemExit(result.exit_status)


def _write_reports(
    result: GateResult,
    policy: Path,
    *,
    junit: Path | None,
    sarif: Path | None,
    markdown: Path | None,
    html: Path | None,
) -> None:
    """Write the verdict in every form asked for."""
    texts: list[tuple[Path, str]] = []
    if junit is not None:
        from comparity.gate.exports import junit_xml

        texts.append((junit, junit_xml(result)))
    if sarif is not None:
        from comparity.gate.exports import audit_lines, sarif_json

        lines = audit_lines(policy.read_text(encoding="utf-8-sig"))
        texts.append((sarif, sarif_json(result, policy=_from_here(policy), lines=lines)))
    if markdown is not None:
        from comparity.gate.exports import markdown as summary

        texts.append((markdown, summary(result)))
    if html is not None:
        from comparity.reports.page import page

        shown = {"": result, **result.parts()}
        texts.append((html, page(shown, title=f"Gate {result.policy}")))
    for path, text in texts:
        write_text(path, text)
        click.echo(f"wrote {path}", err=True)


def _from_here(path: Path) -> str:
    """Return a path from this folder on: code scanning knows no folder of this machine."""
    full, here = Path(os.path.abspath(path)), Path.cwd()
    return (full.relative_to(here) if full.is_relative_to(here) else path).as_posix()


@click.command(epilog=REPORT_EXAMPLE, short_help="Several results on one page, from their JSON.")
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
