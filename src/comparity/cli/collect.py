"""The command that collects judgments: a study, its server, its judges, and what comes of it."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from comparity.cli.options import INPUT_FILE, OUTPUT_FILE, command, example_text
from comparity.cli.running import SuggestingGroup
from comparity.collect.options import CollectOptions, ExportOptions
from comparity.errors.requirements import check_requirements
from comparity.tasks.options import TaskOptions

if TYPE_CHECKING:
    from comparity.collect.store import Store
    from comparity.results.result import Result

DEFAULT_STORE = "study.db"
ADDRESS = click.argument("address", default=DEFAULT_STORE)
DAY = 86_400.0
GRACE = 5
PASSWORD = "COMPARITY_PASSWORD"
"""Where a password is read from that nobody types."""


@click.group(cls=SuggestingGroup)
def collect() -> None:
    """Collect judgments of pairs in a web app.

    ADDRESS is the file of the study (study.db by default) or postgresql://user@host/database.
    """


def _open(address: str) -> Store:
    check_requirements("collect")
    from comparity.collect.store import open_store

    return open_store(address)


@command(
    CollectOptions,
    doing="drawing pairs",
    drops=False,
    example=(
        "collect init study.toml\n"
        'collect init --items items.csv --show text --question "Who is better qualified?" \\\n'
        "    --sensitive sex --score model --judges 20"
    ),
    short_help="Make a study from a file or from options.",
)
@click.argument("file", type=INPUT_FILE, required=False)
@click.option("--items", type=INPUT_FILE, help="One row for each item; overrides the study file.")
@click.option("--plan", type=INPUT_FILE, help="JSON of a plan: sets the number of judgments.")
@click.option(
    "--to", default=DEFAULT_STORE, show_default=True, help="File or address of the new study."
)
def _init(
    to: str,
    file: Path | None = None,
    items: Path | None = None,
    plan: Path | None = None,
    **choices: Any,
) -> Result:
    """Create a study: read its description and its items, and draw the first pairs.

    FILE is TOML: its keys are the options below (with underscores), items names the table, and
    [[practice]], [[attention]] and [[check]] are shown to every judge. Options override the file.

    There is no verdict: the exit status is 0, or 2 for bad input.
    """
    check_requirements("collect")
    from comparity.collect.setup import read_items
    from comparity.collect.status import study_status
    from comparity.collect.store import create_store, open_store
    from comparity.collect.study import plan_choices, read_study, study_of

    context = click.get_current_context()
    given = {
        name: value
        for name, value in choices.items()
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    if file is None and items is None:
        raise click.UsageError("a study needs items: name a study file, or give --items.")
    if file is None:
        study, table = study_of(CollectOptions(**given, **plan_choices(plan, given))), items
    else:
        study, named = read_study(file, plan=plan, **given)
        table = items or named
    if table is None:
        raise click.UsageError("a study needs items: write items = ... or give --items.")
    create_store(to, study, read_items(table, study), now=time.time())
    with open_store(to) as store:
        return study_status(store)


@command(
    lambda run: run,
    drops=False,
    example="collect status study.db",
    short_help="Status of a study.",
)
@ADDRESS
def _status(address: str) -> Result:
    """Show the status of a study: judgments, judges, kinds of pairs."""
    from comparity.collect.status import study_status

    with _open(address) as store:
        return study_status(store)


@command(
    ExportOptions,
    drops=False,
    example=(
        "collect export study.db --folder collected\n"
        "collect export study.db --folder collected --form chosen --format jsonl"
    ),
    short_help="Write the tables that the other commands read.",
)
@ADDRESS
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("collected"),
    show_default=True,
    help="Where the tables go.",
)
def _export(address: str, folder: Path, **choices: Any) -> Result:
    """Write comparisons, items and judges as tables, with a manifest of hashes.

    The comparisons have one row for each judgment that was not undone: the items as they were
    shown, the winner, the evaluator, the time, and the probability with which the pair was chosen.
    """
    from comparity.collect.export import export_study

    with _open(address) as store:
        return export_study(store, folder, **choices)


@command(
    TaskOptions,
    doing="comparing tasks",
    plot="Draw the ratios of minutes and times.",
    drops=False,
    example="collect compare study.db\ncollect compare collected --gap 0.1 --html compared.html",
    short_help="Ratings against comparisons: time, consistency, minutes.",
)
@click.argument("source", default=DEFAULT_STORE)
def _compare(source: str, **choices: Any) -> Result:
    """Compare ratings with comparisons, and say which needs fewer minutes for a verdict.

    SOURCE is a study with task = "both" (study.db by default, or an address), or a folder that
    collect export wrote.

    There is no verdict: the exit status is 0, or 2 for bad input.
    """
    from comparity.tasks.compare import compare_folder

    if Path(source).is_dir():
        return compare_folder(source, **choices)
    from comparity.collect.export import export_study

    with _open(source) as store, tempfile.TemporaryDirectory() as folder:
        export_study(store, folder)
        return compare_folder(folder, **choices)


@click.command(
    epilog=example_text("collect serve study.db --port 8000"),
    short_help="Serve the pages on which judges judge.",
)
@ADDRESS
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8000,
    show_default=True,
    help="Port to listen at; 0 for any free one.",
)
@click.option(
    "--rate", default="300/minute", show_default=True, help="Requests allowed to each judge."
)
@click.option(
    "--proxy",
    show_default="FORWARDED_ALLOW_IPS, or 127.0.0.1",
    help="Addresses of proxies whose forwarded headers are trusted.",
)
def _serve(address: str, host: str, port: int, rate: str, proxy: str | None) -> None:
    """Serve a study until Ctrl-C; every judgment is on the disk before it is acknowledged.

    Put a web server with TLS in front of it (docs/collect.md): it serves plain HTTP.
    """
    with _open(address) as store:
        import uvicorn

        from comparity.collect.app import create_app
        from comparity.collect.safety import Limits

        click.echo(f"serving {store.study.title!r} at http://{host}:{port}", err=True)
        if store.study.open_link:
            click.echo(f"everyone may join at http://{host}:{port}/join", err=True)
        uvicorn.run(
            create_app(store, limits=Limits(judge=rate)),
            host=host,
            port=port,
            proxy_headers=True,
            forwarded_allow_ips=proxy,
            server_header=False,
            access_log=False,
            log_level="warning",
            # Windows that watch the dashboard would keep a server that is to stop waiting.
            timeout_graceful_shutdown=GRACE,
        )


@click.group(cls=SuggestingGroup)
def _judges() -> None:
    """Add, list and revoke the judges of a study."""


@click.command(
    epilog=example_text("collect judges add study.db --number 20 --days 30 > links.txt"),
    short_help="Add judges and print their links.",
)
@ADDRESS
@click.option(
    "--number", type=click.IntRange(1, 100_000), default=1, show_default=True, help="How many."
)
@click.option("--days", type=click.FloatRange(min=0), help="Days until the links expire.")
@click.option("--base", default="http://127.0.0.1:8000", show_default=True, help="Start of a link.")
@click.option("--program", default="", help="Name of a program that judges, such as an LLM.")
def _add(address: str, number: int, days: float | None, base: str, program: str) -> None:
    """Add judges and print their personal links, which cannot be printed again.

    The end of a link is the token with which a program judges (docs/programs.md).
    """
    now = time.time()
    with _open(address) as store:
        ends = None if days is None else now + DAY * days
        added = store.insert_judges(number, expires_at=ends, program=program, now=now)
        for name, token in added:
            click.echo(f"{name}\t{base.rstrip('/')}/j/{token}")


@click.command(
    "list", epilog=example_text("collect judges list study.db"), short_help="List the judges."
)
@ADDRESS
def _list(address: str) -> None:
    """Print each judge with state and number of answers, separated by tabs."""
    from comparity.collect.status import study_status

    with _open(address) as store:
        for one in study_status(store).judges:
            click.echo(f"{one.name}\t{one.state}\t{one.answered}")


@click.command(
    epilog=example_text("collect judges revoke study.db --judge 'judge 3'"),
    short_help="Make the links of a judge invalid.",
)
@ADDRESS
@click.option("--judge", required=True, help="Name of the judge.")
def _revoke(address: str, judge: str) -> None:
    """Revoke the links of a judge; the answers stay."""
    with _open(address) as store:
        store.revoke_judge(judge, now=time.time())
    click.echo(f"revoked the links of {judge}", err=True)


@click.command(
    epilog=example_text("collect close study.db"), short_help="Accept no more judgments."
)
@ADDRESS
@click.option("--reopen", is_flag=True, help="Accept judgments again.")
def _close(address: str, reopen: bool) -> None:
    """Close a study, or reopen it; this takes effect on a running server at once."""
    with _open(address) as store:
        (store.reopen if reopen else store.close)(now=time.time())
    click.echo("the study is open" if reopen else "the study is closed", err=True)


@click.command(
    epilog=example_text("collect password study.db"), short_help="Set the dashboard's password."
)
@ADDRESS
@click.option("--file", type=INPUT_FILE, help="File whose first line is the password.")
@click.option("--off", is_flag=True, help="Remove the password, and so the dashboard.")
def _password(address: str, file: Path | None, off: bool) -> None:
    """Set the password of the dashboard at /study; everybody must log in again.

    The command asks for it, or reads it from a file or from COMPARITY_PASSWORD. Only its hash is
    stored. Without a password there is no dashboard.
    """
    with _open(address) as store:
        store.set_password(None if off else _read_password(file), now=time.time())
    click.echo("the dashboard is off" if off else "the dashboard is at /study", err=True)


def _read_password(file: Path | None) -> str:
    if file is not None:
        return file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    if PASSWORD in os.environ:
        return os.environ[PASSWORD]
    return str(click.prompt("password", hide_input=True, confirmation_prompt=True, err=True))


@click.command(
    epilog=example_text("collect backup study.db --to copy.db"), short_help="Copy a running study."
)
@ADDRESS
@click.option("--to", type=OUTPUT_FILE, required=True, help="File of the copy, itself a study.")
def _backup(address: str, to: Path) -> None:
    """Copy a study while it runs, from SQLite or PostgreSQL into one SQLite file."""
    with _open(address) as store:
        store.backup(to)
    click.echo(f"wrote {to}", err=True)


@click.command(
    epilog=example_text("collect erase study.db --judge 'judge 3'"),
    short_help="Erase the data of a judge.",
)
@ADDRESS
@click.option("--judge", help="Name of the judge.")
@click.option("--keep-judgments", is_flag=True, help="Keep the answers, but not who gave them.")
@click.option(
    "--expired", is_flag=True, help="Erase what identifies judges past their retention date."
)
def _erase(address: str, judge: str | None, keep_judgments: bool, expired: bool) -> None:
    """Erase a judge on request, or identifying data after the retention date.

    Erase them from earlier backups and exports yourself.
    """
    if (judge is None) != expired:
        raise click.UsageError("name a judge with --judge, or ask for --expired.")
    with _open(address) as store:
        if judge is None:
            names = store.erase_expired(now=time.time())
        else:
            store.erase_judge(judge, keep_judgments=keep_judgments, now=time.time())
            names = [judge]
    click.echo(f"erased {len(names)} judge{'' if len(names) == 1 else 's'}", err=True)


for group, named in (
    (_judges, {"add": _add, "list": _list, "revoke": _revoke}),
    (
        collect,
        {
            **{"init": _init, "serve": _serve, "status": _status, "export": _export},
            "compare": _compare,
            **{"judges": _judges, "close": _close, "backup": _backup, "erase": _erase},
            "password": _password,
        },
    ),
):
    for name, one in named.items():
        group.add_command(one, name)
