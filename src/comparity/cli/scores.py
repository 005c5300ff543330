"""Commands that look at a score or a decision in several ways: selections, all pairs, metrics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import INPUT_FILE, Command, combine, command, option_of
from comparity.cli.shared_options import TableFiles
from comparity.impact.options import ImpactForm
from comparity.metrics.options import (
    KINDS,
    ClassMetricsForm,
    MetricsForm,
    RegressionForm,
    StudyForm,
    StudyOptions,
)
from comparity.pairwise.options import PairwiseForm, ParityForm
from comparity.ranking.options import PlacesForm, PlacesOptions
from comparity.results.options import Options, declared_choices

if TYPE_CHECKING:
    from comparity.results.result import Result


@command(
    ImpactForm,
    doing="counting selections",
    plot="Draw the impact ratios of the finest groups.",
    example="impact applicants.csv --selected hired --sensitive sex,race --html impact.html",
    large=True,
    spark=True,
    short_help="Selection rate of each group, and its ratio to the highest.",
)
@click.argument("file", cls=TableFiles, file=INPUT_FILE)
def impact(file: Path, **choices: Any) -> Result:
    """Compute impact ratios: the selection rate of each group divided by the highest one.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each person. Several sensitive columns
    are also taken in combination; people whose group is not known are counted. With --score rates
    are shares above the median score.

    There is no verdict: the exit status is 0, or 2 for bad input.
    """
    from comparity.impact.audit import audit_file

    return audit_file(file, **choices)


def _pairwise_options(command: Command) -> Command:
    """Add the declared choices; a label is not needed for parity, which looks at none."""
    known = declared_choices(PairwiseForm)
    choices = {**known, "label": replace(known["label"], default=None)}
    flags = [
        click.option(
            "--parity",
            is_flag=True,
            help="Test whether a group has higher scores; no labels needed.",
        ),
        click.option(
            "--places", is_flag=True, help="Report the exposure of groups ranked by score."
        ),
    ]
    # What is not given is told from a default, which has no use for whoever asks for no places.
    places = [replace(one, default=None) for one in declared_choices(PlacesOptions).values()]
    options = [*map(option_of, choices.values()), *flags, *map(option_of, places)]
    return combine(command, *options)


@command(
    _pairwise_options,
    doing="counting pairs",
    example=(
        "pairwise items.csv --label relevance --score model --sensitive sex --query query\n"
        "pairwise items.csv --score model --sensitive sex --parity"
    ),
    large=True,
    spark=True,
    short_help="Equal pairwise accuracy, over all pairs of labels.",
)
@click.argument("file", cls=TableFiles, file=INPUT_FILE)
def pairwise(file: Path, parity: bool, places: bool, **choices: Any) -> Result:
    """Test whether a model orders pairs equally well in every kind of pair.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each item. Every two items with different
    labels make a pair. With --parity every two items of different groups do, and no label is
    needed. With --places the result is the exposure of groups in the order of the scores, without
    a verdict.

    Exit status: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    about = {name: choices.pop(name) for name in declared_choices(PlacesOptions) if name in choices}
    if about and not places:
        raise click.UsageError(f"--{next(iter(about))} belongs to --places.")
    if parity and places:
        raise click.UsageError("--parity and --places cannot be combined.")
    if places:
        from comparity.ranking.places import places_file

        return places_file(file, **about, **_only(choices, PairwiseForm, PlacesForm, "--places"))
    if parity:
        return _parity(file, choices)
    if "label" not in choices:
        raise click.UsageError("name the labels with --label, or test without labels by --parity.")
    from comparity.pairwise.audit import audit_file

    return audit_file(file, **choices)


def _parity(file: Path, choices: dict[str, Any]) -> Result:
    """Test statistical parity; choices that are about labels are refused."""
    from comparity.pairwise.parity import audit_parity_file

    return audit_parity_file(file, **_only(choices, PairwiseForm, ParityForm, "--parity"))


def _metrics_options(command: Command) -> Command:
    """Add the options of all three forms; which of them belong together is checked later."""
    known = {**declared_choices(ClassMetricsForm), **declared_choices(MetricsForm)}
    # Numbers need no privileged group, and a study makes its predictions itself.
    for name in ("privileged", "prediction"):
        known[name] = replace(known[name], default=None)
    flags = [
        click.option("--select", is_flag=True, help="Choose the few metrics to report."),
        click.option("--classes", is_flag=True, help="Labels and decisions are classes."),
        click.option("--regression", is_flag=True, help="Labels and predictions are numbers."),
        click.option(
            "--study",
            is_flag=True,
            help="Fit models to --features; report which metrics move together.",
        ),
    ]
    offered = [one for one in known.values() if one.offered]
    study = [replace(one, default=None) for one in declared_choices(StudyOptions).values()]
    return combine(command, *map(option_of, offered), *flags, *map(option_of, study))


@command(
    _metrics_options,
    doing="working out metrics",
    plot="Draw all metrics with their published ranges.",
    example=(
        "metrics decisions.csv --label hired --prediction model --sensitive sex \\\n"
        "    --privileged male --select\n"
        "metrics pay.csv --label wage --prediction model --sensitive sex --regression"
    ),
    large=True,
    spark=True,
    short_help="Thirty published metrics, and the few to report.",
)
@click.argument("file", cls=TableFiles, file=INPUT_FILE)
def metrics(
    file: Path, select: bool, classes: bool, regression: bool, study: bool, **choices: Any
) -> Result:
    """Compute thirty published metrics of predictions and data, each with its interval.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each decision. With --classes every class
    is compared with the rest; with --regression predictions are numbers, and their errors are
    compared; with --study models are fitted to the features repeatedly, to see which metrics move
    together. There is no verdict: the exit status is 0, or 2 for bad input.
    """
    if classes + regression + study > 1:
        raise click.UsageError("--classes, --regression and --study cannot be combined.")
    about = {name: choices.pop(name) for name in declared_choices(StudyOptions) if name in choices}
    if study:
        for name in ("privileged", "features"):
            if name not in choices:
                raise click.UsageError(f"--study needs --{name}.")
        from comparity.metrics.metric_study import study_file

        known = _only(choices, MetricsForm, StudyForm, "--study", select=select)
        return study_file(file, **about, **known)
    if about:
        raise click.UsageError(f"--{next(iter(about))} belongs to --study.")
    if "prediction" not in choices:
        raise click.UsageError("name the decisions with --prediction.")
    if regression:
        from comparity.metrics.regression import regression_file

        known = _only(choices, MetricsForm, RegressionForm, "--regression", select=select)
        return regression_file(file, **known)
    if "privileged" not in choices:
        raise click.UsageError("name the group that has the advantage with --privileged.")
    if classes:
        from comparity.metrics.classes import class_metrics_file

        known = _only(choices, MetricsForm, ClassMetricsForm, "--classes", select=select)
        return class_metrics_file(file, **known)
    from comparity.metrics.audit import metrics_file

    if select:
        choices.setdefault("kinds", KINDS[:2])
    return metrics_file(file, **choices)


def _only(
    choices: dict[str, Any],
    offered: type[Options],
    form: type[Options],
    flag: str,
    **flags: bool,
) -> dict[str, Any]:
    """Return the choices that a form takes; others that were given are refused."""
    known, taken = declared_choices(offered), declared_choices(form)
    for name, value in {**choices, **flags}.items():
        default = known[name].default if name in known else False
        if name not in taken and value != default:
            raise click.UsageError(f"--{name.replace('_', '-')} cannot be used with {flag}.")
    return {name: value for name, value in choices.items() if name in taken}
