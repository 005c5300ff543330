"""``comparity rank``: from a table of comparisons to an order, and who of the evaluators leans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from comparity.cli.options import (
    INPUT_FILE,
    OUTPUT_FILE,
    PROPORTION,
    SEED,
    Column,
    comparison_options,
    names,
    output_options,
)
from comparity.cli.output import deliver, working, write_plot
from comparity.ranking.models import COMMANDS, MODULES, model_of, why_refused

EXAMPLE = """\b
Example:
  comparity rank judgments.csv --items items.csv --sensitive sex --evaluator judge
  comparity rank judgments.csv --items items.csv --sensitive sex --score model
  comparity rank battles.jsonl --model bt --seats
"""

CHOSEN = ("marginal likelihood", "cross-validation")


class ModelName(click.Choice):  # type: ignore[type-arg]
    """The name of a model, or of its function."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the name of the model."""
        return super().convert(COMMANDS.get(value, value), param, ctx)


def prior(value: str) -> float | str:
    """Read a standard deviation, or how to choose it.

    Examples
    --------
    >>> prior("2.5"), prior("none")
    (2.5, 'none')
    """
    if value in (*CHOSEN, "none"):
        return value
    try:
        return float(value)
    except ValueError as error:
        known = ", ".join(map(repr, CHOSEN))
        raise click.BadParameter(f"{value!r} is no number, nor {known} or 'none'.") from error


@click.command(epilog=EXAMPLE, short_help="Who leans, by how much, and the order without it.")
@click.argument("comparisons", type=INPUT_FILE)
@click.option("--items", type=INPUT_FILE, help="One row for each item: id, groups.")
@click.option(
    "--sensitive", cls=Column, type=names, help="Column with the group; several by commas."
)
@comparison_options
@click.option(
    "--model",
    type=ModelName([*MODULES]),
    default="barp",
    show_default=True,
    help="How to rank; 'bt' takes every evaluator at their word.",
)
@click.option(
    "--anchor",
    type=click.Choice(["equal group means", "zero mean bias"]),
    help="What fixes the common level of the biases: an assumption.  [default: equal group means]",
)
@click.option(
    "--reference",
    type=names,
    help="Group that biases are measured against, one for each --sensitive column.  "
    "[default: the first in sorted order]",
)
@click.option(
    "--trusted", type=names, help="Who are taken not to lean, as the anchor: names, or human-*."
)
@click.option(
    "--score-prior",
    type=prior,
    help="SD of the scores in logits, 'marginal likelihood', 'cross-validation' or 'none'.  "
    "[default: marginal likelihood; 5 for crowdbt and factorbt]",
)
@click.option("--bias-prior", type=prior, help="The same for the biases.  [default: 10]")
@click.option(
    "--score",
    cls=Column,
    help="Column of the items with a model's score, to audit against the panel.",
)
@click.option("--alpha", type=PROPORTION, default=0.05, show_default=True, help="Of that audit.")
@click.option("--margin", type=PROPORTION, default=0.05, show_default=True, help="Of that audit.")
@click.option("--seats", is_flag=True, help="Estimate what standing on the left is worth.")
@click.option("--own-seats", is_flag=True, help="Estimate that for each evaluator.")
@click.option("--suggest", is_flag=True, help="Look which intersections deserve a bias.")
@click.option(
    "--score-dependent", is_flag=True, help="Test whether biases grow with the score of the item."
)
@click.option(
    "--uncorrected",
    is_flag=True,
    help="Leave biases as the joint maximum has them, drawn to zero by the errors of the scores.",
)
@click.option(
    "--item", cls=Column, default="item", show_default=True, help="Column of the items with the id."
)
@click.option("--plot", type=OUTPUT_FILE, help="Draw the evaluators' biases (.png, .svg, .pdf).")
@click.option("--plot-scores", type=OUTPUT_FILE, help="Draw scores by group, before and after.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of what is random.")
@output_options
def rank(
    comparisons: Path,
    items: Path | None,
    as_json: bool,
    html: Path | None,
    plot: Path | None,
    plot_scores: Path | None,
    **options: Any,
) -> None:
    """Rank items from comparisons, and say which evaluators lean toward a group.

    COMPARISONS (CSV, TSV, Parquet or JSON lines) has one row for each judgment.

    With --score a model is audited against the panel freed of its evaluators' bias.

    Exit status: 2 for bad input; otherwise 0, or with --score that of the audit: 0 within the
    margin, 1 violated, 3 undecided.
    """
    # Imported here so that --help loads neither numpy nor an engine.
    from comparity.ranking.rank import rank_files

    if options["sensitive"] and items is None:
        raise click.UsageError("--sensitive names columns of the items: give --items as well.")
    needs = model_of(options["model"]).needs
    if "groups" in needs and not (items and options["sensitive"]):
        raise click.UsageError(
            f"{options['model']} needs the groups of the items: give --items FILE and --sensitive "
            "COLUMN, or rank without groups by --model bt."
        )
    with working("ranking"):
        panel = rank_files(comparisons, items, **_choices(**options))
    more = {} if panel.audit is None else {"A model against this panel": panel.audit}
    deliver(panel, as_json=as_json, html=html, more=more)
    for path, draw in ((plot, panel.plot), (plot_scores, panel.plot_scores)):
        if path is not None:
            write_plot(path, panel, draw)
    raise SystemExit(panel.exit_status)


def _choices(
    *,
    model: str,
    sensitive: tuple[str, ...] | None,
    anchor: str | None,
    reference: tuple[str, ...] | None,
    trusted: tuple[str, ...] | None,
    score_prior: float | str | None,
    bias_prior: float | str | None,
    seats: bool,
    own_seats: bool,
    suggest: bool,
    score_dependent: bool,
    uncorrected: bool,
    **others: Any,
) -> dict[str, Any]:
    """Return the choices as the ranking takes them, without those not made."""
    made = {"anchor": anchor, "trusted": trusted, "bias_prior": bias_prior, "suggest": suggest}
    made |= {"own_seats": own_seats, "score_dependent": score_dependent, "reference": reference}
    _check_used(model, {**made, "uncorrected": uncorrected, "score_prior": score_prior})
    if suggest and len(sensitive or ()) < 2:
        raise click.UsageError("--suggest looks at intersections: give two --sensitive columns.")
    if reference and len(reference) != len(sensitive or ()):
        raise click.UsageError("--reference names one group for each --sensitive column.")
    given: dict[str, Any] = {
        "anchor": list(trusted) if trusted else anchor,
        "seat_by_evaluator": own_seats or None,
        "score_dependent": score_dependent or None,
        "corrected": False if uncorrected else None,
        "intersections": "suggest" if suggest else None,
        "reference": dict(zip(sensitive or (), reference, strict=True)) if reference else None,
    }
    choices = {name: value for name, value in given.items() if value is not None}
    for name, value in (("score_prior", score_prior), ("bias_prior", bias_prior)):
        if value is not None:
            choices[name] = None if value == "none" else value
    seated = {"seats": seats or own_seats}
    return {"model": model, "sensitive": sensitive or (), **seated, **choices, **others}


def _check_used(model: str, made: dict[str, Any]) -> None:
    """Refuse options that the model, or another option, leaves without effect."""
    for name, value in made.items():
        given = value is not None and value is not False
        if given and (why := why_refused(model, name, f"--{name.replace('_', '-')}")):
            raise click.UsageError(f"{why}.")
    if made["anchor"] and made["trusted"]:
        raise click.UsageError("--trusted evaluators are the anchor: give no --anchor beside them.")
