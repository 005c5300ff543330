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

EXAMPLE = """\b
Example:
  comparity rank judgments.csv --items items.csv --sensitive sex --evaluator judge
  comparity rank judgments.csv --items items.csv --sensitive sex --score model
  comparity rank battles.jsonl --model bt --seats
"""

MODELS = ("barp", "bt", "crowdbt", "factorbt", "rankcentrality")

NEED_GROUPS = ("barp", "factorbt")

CHOSEN = ("marginal likelihood", "cross-validation")


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
    type=click.Choice(MODELS),
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
    if options["model"] in NEED_GROUPS and not (items and options["sensitive"]):
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
    """Return the choices the model knows."""
    own = {"anchor": anchor, "trusted": trusted, "bias-prior": bias_prior, "suggest": suggest}
    own |= {"own-seats": own_seats, "score-dependent": score_dependent, "uncorrected": uncorrected}
    _check_used(model, score_prior, {**own, "reference": reference})
    if suggest and len(sensitive or ()) < 2:
        raise click.UsageError("--suggest looks at intersections: give two --sensitive columns.")
    if reference and len(reference) != len(sensitive or ()):
        raise click.UsageError("--reference names one group for each --sensitive column.")
    choices: dict[str, Any] = {"model": model, "sensitive": sensitive or (), **others}
    choices["seats"] = seats or own_seats
    if model == "barp":
        choices["anchor"] = list(trusted) if trusted else anchor or "equal group means"
        choices |= {"seat_by_evaluator": own_seats, "score_dependent": score_dependent}
        choices["corrected"] = not uncorrected
        choices |= {"intersections": "suggest"} if suggest else {}
        choices["reference"] = (
            dict(zip(sensitive or (), reference, strict=True)) if reference else None
        )
    for name, value in (("score_prior", score_prior), ("bias_prior", bias_prior)):
        if value is not None:
            choices["prior" if model == "bt" else name] = None if value == "none" else value
    return choices


def _check_used(model: str, score_prior: float | str | None, own: dict[str, Any]) -> None:
    """Refuse options that the model, or another option, leaves without effect."""
    for name, value in own.items():
        if value not in (None, False) and model != "barp":
            raise click.UsageError(f"--{name} is about biases, of which {model} knows none.")
    if own["anchor"] and own["trusted"]:
        raise click.UsageError("--trusted evaluators are the anchor: give no --anchor beside them.")
    if score_prior is not None and model == "rankcentrality":
        raise click.UsageError("--score-prior is not for rankcentrality, which has no prior.")
