"""``comparity rank``: from a table of comparisons to an order, and who of the evaluators leans."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from comparity.cli.options import INPUT_FILE, OUTPUT_FILE, choice_options, output_options
from comparity.cli.output import deliver, working, write_plot
from comparity.ranking.models import model_of, why_refused
from comparity.ranking.options import RankForm

EXAMPLE = """\b
Example:
  comparity rank judgments.csv --items items.csv --sensitive sex --evaluator judge
  comparity rank judgments.csv --items items.csv --sensitive sex --score model
  comparity rank battles.jsonl --model bt --seats
"""


@click.command(epilog=EXAMPLE, short_help="Who leans, by how much, and the order without it.")
@click.argument("comparisons", type=INPUT_FILE)
@click.option("--items", type=INPUT_FILE, help="One row for each item: id, groups.")
@partial(choice_options, options=RankForm)
@click.option("--plot", type=OUTPUT_FILE, help="Draw the evaluators' biases (.png, .svg, .pdf).")
@click.option("--plot-scores", type=OUTPUT_FILE, help="Draw scores by group, before and after.")
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
