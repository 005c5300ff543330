"""The command that shows results again: on one page, in the order of a rule, as a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import INPUT_FILE, OUTPUT_FILE, example_text
from comparity.cli.running import BadInput
from comparity.cli.shared_options import cover_options, take_cover
from comparity.errors import ComparityError
from comparity.tables.outputs import write_text

if TYPE_CHECKING:
    from comparity.reports.cover import Cover
    from comparity.results.result import Result

# The names of the outlines in comparity.reports.outlines, whose import would slow --help down.
TEMPLATES = ("ll144", "eu-annex-iv", "model-card", "plain")


@click.command(
    epilog=example_text(
        "report separation.json comparative.json --html report.html --title 'Model 7'\n"
        "report impact.json --template ll144 --facts facts.toml --bundle audit.zip\n"
        "report audit.zip"
    ),
    short_help="Several results on one page, from their JSON.",
)
@click.argument("results", type=INPUT_FILE, nargs=-1)
@click.option("--html", type=OUTPUT_FILE, help="Write a page; without it, results are printed.")
@click.option(
    "--template",
    type=click.Choice(TEMPLATES),
    help="Begin with the points of a regulation or a model card.",
)
@click.option("--facts", type=INPUT_FILE, help="TOML file with facts that results do not contain.")
@click.option("--blank", type=OUTPUT_FILE, help="Write a facts file to fill in, for --template.")
@click.option("--policy", type=INPUT_FILE, help="Policy to put into the bundle.")
@click.option("--bundle", type=OUTPUT_FILE, help="Write results, page and hashes as a ZIP file.")
@cover_options
def report(
    results: tuple[Path, ...],
    html: Path | None,
    template: str | None,
    facts: Path | None,
    blank: Path | None,
    policy: Path | None,
    bundle: Path | None,
    **given: Any,
) -> None:
    """Show results that commands printed with --json, on one page or in the terminal.

    Every number comes from the JSON; nothing is computed again. RESULTS may also be one bundle: its
    hashes are checked, then its results are shown.

    There is no verdict: the exit status is 0, or 2 for bad input.
    """
    # Imported here so that --help loads no numpy.
    from comparity.reports.outlines import blank_facts

    _check_options(results, template, facts, blank, policy, bundle)
    cover = take_cover(given, html, bundle)
    if blank is not None and template is not None:
        write_text(blank, blank_facts(template))
        click.echo(f"wrote {blank}", err=True)
        if not results:
            return
    try:
        shown, contents = _gather(results, template, facts, bundled=bundle is not None)
    except ComparityError as error:
        # Keys of facts are no options of the command line.
        raise BadInput(str(error)) from error
    title, cover = _sign(shown, cover)
    if bundle is not None:
        extra = {"facts.toml": facts, "policy.toml": policy}
        put_in_bundle(
            bundle,
            shown,
            contents,
            extra={name: path for name, path in extra.items() if path is not None},
            cover=cover,
            title=title,
        )
    if html is not None:
        from comparity.reports.page import page

        write_text(html, page(shown, title=title, cover=cover))
        click.echo(f"wrote {html}", err=True)
    if html is None and bundle is None:
        _print_results(shown)


def _sign(shown: Mapping[str, Result], cover: Cover) -> tuple[str, Cover]:
    """Return the title of the page, and its cover with what the facts of a report say."""
    from comparity.reports.outlines import Report

    written = [one for one in shown.values() if isinstance(one, Report)]
    if not written:
        return "Audits", cover
    known = written[-1].signed
    given = {"author": cover.author, "date": cover.date}
    return written[-1].title, replace(
        cover, **{name: said or known.get(name, "") for name, said in given.items()}
    )


def _check_options(
    results: tuple[Path, ...],
    template: str | None,
    facts: Path | None,
    blank: Path | None,
    policy: Path | None,
    bundle: Path | None,
) -> None:
    if not results and blank is None:
        raise click.UsageError("Missing argument 'RESULTS...'.")
    for name, one in (("--facts", facts), ("--blank", blank)):
        if one is not None and template is None:
            raise click.UsageError(f"{name} belongs to a template: name it with --template.")
    if policy is not None and bundle is None:
        raise click.UsageError("--policy is put into a bundle: name it with --bundle.")


def _gather(
    results: tuple[Path, ...], template: str | None, facts: Path | None, *, bundled: bool
) -> tuple[dict[str, Result], dict[str, bytes]]:
    """Return what is shown, by name, and the JSON of each file by its name."""
    from comparity.reports.bundles import is_bundle, read_bundle
    from comparity.reports.outlines import fill_outline, read_facts
    from comparity.reports.page import parse_results, read_results

    front: dict[str, Result] = {}
    if any(map(is_bundle, results)):
        if len(results) > 1:
            raise click.UsageError("A bundle is shown by itself: give no other file beside it.")
        checked, members = read_bundle(results[0])
        contents = {
            name.removeprefix("results/").removesuffix(".json"): inside
            for name, inside in members.items()
            if name.startswith("results/")
        }
        found, front = parse_results(contents), {"bundle": checked}
    else:
        contents = _name_files(results)
        # Files of one name are told apart by their paths, which a bundle must not hold.
        found = parse_results(contents) if bundled else read_results(results)
    if template is not None:
        known = {} if facts is None else read_facts(facts, template)
        front = {**front, "report": fill_outline(template, found, known)}
    return {**front, **found}, contents


def _name_files(paths: tuple[Path, ...]) -> dict[str, bytes]:
    """Return the content of files by name; files of one name are told apart by a number."""
    named: dict[str, bytes] = {}
    for path in paths:
        name, place = path.stem, 1
        while name in named:
            place += 1
            name = f"{path.stem} {place}"
        named[name] = path.read_bytes()
    return named


def put_in_bundle(
    path: Path,
    shown: Mapping[str, Result],
    contents: Mapping[str, bytes],
    *,
    extra: Mapping[str, Path],
    cover: Cover,
    title: str,
) -> None:
    """Write a bundle of results, with the page that shows them, and say what its hash is.

    Parameters
    ----------
    path : Path
        Where to.
    shown : mapping of str to Result
        What the page shows.
    contents : mapping of str to bytes
        The JSON of each result.
    extra : mapping of str to Path
        Further files by their name in the bundle.
    cover : Cover
        Of the page.
    title : str
        Of the page, where its cover has none.
    """
    from comparity.reports.bundles import data_hashes, write_bundle
    from comparity.reports.page import page

    digest = write_bundle(
        path,
        contents,
        page=page(shown, title=title, cover=cover),
        extra={name: one.read_bytes() for name, one in extra.items()},
        data=data_hashes([one.to_dict() for one in shown.values()]),
    )
    click.echo(f"wrote {path}; SHA-256 of its manifest: {digest}", err=True)


def _print_results(shown: Mapping[str, Result]) -> None:
    from comparity.reports.sections import clip
    from comparity.reports.terminal import show

    printed: list[Any] = []
    for name, result in shown.items():
        printed += [f"[{clip(name)}]", result] if len(shown) > 1 else [result]
    show(*printed)
