"""Commands that answer a question: audits of one model, weights, training, plans, the gate."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import (
    INPUT_FILE,
    OUTPUT_FILE,
    Command,
    choice_options,
    combine,
    command,
    deliver,
    example_text,
    output_options,
)
from comparity.cli.report import put_in_bundle
from comparity.cli.running import BadInput, SuggestingGroup
from comparity.cli.shared_options import (
    TableFiles,
    cover_options,
    show_progress,
    take_cover,
    write_plot,
)
from comparity.comparative.options import ComparativeForm
from comparity.errors import ComparityError, MissingColumnError
from comparity.pairs.options import PairsForm
from comparity.planning.options import (
    ComparativePlanOptions,
    RankPlanOptions,
    SeparationPlanOptions,
)
from comparity.ranking.options import RankForm, model_of
from comparity.separation.options import SeparationForm
from comparity.tables.outputs import check_apart, write_text
from comparity.tasks.options import TaskPlanOptions
from comparity.training.options import TrainForm, WeightsForm

if TYPE_CHECKING:
    from comparity.results.result import Result


PLAN_PLOT = "Draw power against size (PNG, SVG or PDF)."


@command(
    SeparationForm,
    doing="counting decisions",
    example="separation decisions.csv --label hired --prediction model --sensitive sex",
    large=True,
    spark=True,
    short_help="Equal error rates in all groups, from labels.",
)
@click.argument("file", cls=TableFiles, file=INPUT_FILE)
def separation(file: Path, **choices: Any) -> Result:
    """Test whether a model errs equally often in every group, given the label.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each decision.

    Exit status: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    # Imported here, and in every command, so that --help loads neither numpy nor an engine.
    from comparity.separation.audit import audit_file

    return audit_file(file, **choices)


@command(
    ComparativeForm,
    doing="counting judgments",
    example=(
        "comparative judgments.csv --items items.csv --score model --sensitive sex \\\n"
        "    --evaluator judge"
    ),
    large=True,
    spark=True,
    short_help="Equal agreement with judges, from judged pairs.",
)
@click.argument("comparisons", cls=TableFiles, file=INPUT_FILE)
@click.option("--items", type=INPUT_FILE, help="One row for each item: id, score, groups.")
def comparative(comparisons: Path, items: Path | None = None, **choices: Any) -> Result:
    """Test whether a model agrees with judges equally often in every kind of pair.

    COMPARISONS (CSV, TSV, Parquet or JSON lines) has one row for each judgment.

    Exit status: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    from comparity.comparative.audit import audit_files

    try:
        return audit_files(comparisons, items, **choices)
    except MissingColumnError as error:
        if items is not None:
            raise
        told = "Without --items, every row must have the scores and groups of both items."
        raise BadInput(f"{error}\n  {told}") from error


@command(
    WeightsForm,
    doing="weighing",
    example="weights train.csv --label hired --sensitive sex,race --output weighted.csv",
    short_help="Weights of rows that balance groups and labels.",
)
@click.argument("file", type=INPUT_FILE)
@click.option("--output", type=OUTPUT_FILE, required=True, help="File to write.")
def weights(file: Path, output: Path, **choices: Any) -> Result:
    """Write FILE with a further column of weights, for any learner that takes weights.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each item. All its columns are kept.

    Exit status: 0 written, 2 bad input.
    """
    from comparity.training.weigh_files import weigh_file

    return weigh_file(file, output, **choices)


@command(
    TrainForm,
    example=(
        "train items.csv --features bm25,clicks --label rel --sensitive sex --output m.json\n"
        "train judgments.csv --items items.csv --features bm25,clicks --sensitive sex \\\n"
        "    --output m.json"
    ),
    short_help="Train a score that orders pairs equally well.",
)
@click.argument("file", type=INPUT_FILE)
@click.option("--output", type=OUTPUT_FILE, required=True, help="Model file to write, JSON.")
def train(file: Path, output: Path, **choices: Any) -> Result:
    """Train a score under a pairwise goal, and audit it on rows that training did not use.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each item; with --items one row for each
    judgment of a pair, and no labels are needed. The model file is JSON: names of features,
    coefficients (or layers, or trees), and the mixture of models that training found. A model
    trained without a goal is audited, too, for comparison.

    Exit status of the audit: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    if "items" in choices:
        from comparity.training.train_judgments import train_judgments as run
    else:
        from comparity.training.train import train_file as run  # type: ignore[assignment]
    # Told beside the result, which may go elsewhere.
    return run(file, output, tell=partial(click.echo, err=True), **choices)


@command(
    PairsForm,
    doing="choosing pairs",
    example=(
        "pairs items.csv --sensitive sex --judges 20 --budget 2000 --csv pairs.csv\n"
        "pairs items.csv --sensitive sex --budget 500 --given answers.csv --score model \\\n"
        "    --csv more.csv"
    ),
    short_help="Which pairs to judge next, by whom, on which side.",
)
@click.argument("items", type=INPUT_FILE)
@click.option("--given", type=INPUT_FILE, help="Earlier answers, one row for each judgment.")
def pairs(items: Path, given: Path | None = None, **choices: Any) -> Result:
    """Choose pairs of items to judge, who judges them, and which item is on the left.

    ITEMS (CSV, TSV, Parquet or JSON lines) has one row for each item. Options that name columns of
    comparisons refer to the file of --given.

    There is no verdict: the exit status is 0, or 2 for bad input.
    """
    from comparity.pairs.choose import choose_from_files

    return choose_from_files(items, given, **choices)


@click.group(cls=SuggestingGroup)
def plan() -> None:
    """Find the size of a study, or its power.

    Options about groups take one number for each group, separated by commas.
    """


@command(
    SeparationPlanOptions,
    doing="planning",
    plot=PLAN_PLOT,
    example=(
        "plan separation --tpr 0.8,0.84 --fpr 0.4,0.44 --shares 0.5,0.5 \\\n"
        "    --base-rates 0.5,0.5 --power 0.8"
    ),
)
def _plan_separation(**choices: Any) -> Result:
    """Plan a test of separation on labelled decisions."""
    from comparity.planning.plan import plan_separation

    return plan_separation(**choices)


@command(
    ComparativePlanOptions,
    doing="planning",
    plot=PLAN_PLOT,
    example=(
        "plan comparative --tpr 0.8,0.84 --tnr 0.6,0.56 --shares 0.5,0.5 \\\n"
        "    --base-rates 0.5,0.5 --power 0.8 --n-items 2000\n"
        "plan comparative --quality-spread 1,1 --model-error 0.6,0.9 --shares 0.5,0.5 --power 0.8"
    ),
)
def _plan_comparative(**choices: Any) -> Result:
    """Plan a test of comparative separation on judged pairs."""
    from comparity.planning.plan import plan_comparative

    return plan_comparative(**choices)


@command(
    RankPlanOptions,
    doing="planning",
    plot=PLAN_PLOT,
    example="plan rank --lean 0.8 --n-items 100 --n-evaluators 20 --share 0.3 --power 0.8",
)
def _plan_rank(**choices: Any) -> Result:
    """Plan to find which evaluators lean, from their comparisons."""
    from comparity.planning.plan_ranking import plan_ranking

    return plan_ranking(**choices)


@command(
    TaskPlanOptions,
    example="plan tasks --ratio 0.7",
)
def _plan_tasks(**choices: Any) -> Result:
    """Plan to find whether rating or comparing needs fewer minutes."""
    from comparity.tasks.plan_tasks import plan_tasks

    return plan_tasks(**choices)


plan.add_command(_plan_separation, "separation")
plan.add_command(_plan_comparative, "comparative")
plan.add_command(_plan_rank, "rank")
plan.add_command(_plan_tasks, "tasks")


@click.command(
    epilog=example_text(
        "gate policy.toml --junit gate.xml --sarif gate.sarif --markdown summary.md"
    ),
    short_help="Run the audits of a policy, and stop a change that fails.",
)
@click.argument("policy", type=INPUT_FILE)
@click.option("--junit", type=OUTPUT_FILE, help="Write the verdicts as JUnit XML.")
@click.option("--sarif", type=OUTPUT_FILE, help="Write the failures as SARIF 2.1.0.")
@click.option("--markdown", type=OUTPUT_FILE, help="Write a summary in Markdown.")
@click.option("--bundle", type=OUTPUT_FILE, help="Write results, policy, page and hashes as ZIP.")
@output_options
@cover_options
def gate(
    policy: Path,
    junit: Path | None,
    sarif: Path | None,
    markdown: Path | None,
    bundle: Path | None,
    as_json: bool,
    html: Path | None,
    **given: Any,
) -> None:
    """Run every audit of a policy and say whether a change passes all of them.

    POLICY is a TOML file: which audits on which files and columns, margins, error rates, and
    whether an undecided audit may pass.

    Exit status: 0 passed, 1 an audit is violated, 2 bad input (a wrong policy, or data that cannot
    be audited), 3 an audit is undecided and the policy does not allow it.
    """
    from comparity.gate.check import check
    from comparity.gate.policy import read_policy
    from comparity.gate.section import audit_lines, junit_xml, sarif_json
    from comparity.gate.section import markdown as markdown_text
    from comparity.reports.page import page

    cover = take_cover(given, html, bundle)
    try:
        plan = read_policy(policy)
        for output in (junit, sarif, markdown, html, bundle):
            if output is not None:
                check_apart(output, plan.paths)
        with show_progress("auditing"):
            result = check(plan)
    except ComparityError as error:
        # Keys of a policy are written as in Python, not as options of the command line.
        raise BadInput(str(error)) from error
    lines = audit_lines(policy.read_text(encoding="utf-8-sig"))
    shown = {"": result, **result.parts()}
    title = f"Gate {result.policy}"
    forms = (
        (junit, junit_xml),
        (sarif, partial(sarif_json, policy=_from_here(policy), lines=lines)),
        (markdown, markdown_text),
        (html, lambda _: page(shown, title=title, cover=cover)),
    )
    for path, text in forms:
        if path is not None:
            write_text(path, text(result))
            click.echo(f"wrote {path}", err=True)
    if bundle is not None:
        contents = {"gate": result.to_json().encode()}
        extra = {"policy.toml": policy}
        put_in_bundle(bundle, shown, contents, extra=extra, cover=cover, title=title)
    deliver(result, as_json=as_json, html=None)
    raise SystemExit(result.exit_status)


def _from_here(path: Path) -> str:
    """Return a path from this folder on: code scanning knows no folder of this machine."""
    full, here = Path(os.path.abspath(path)), Path.cwd()
    return (full.relative_to(here) if full.is_relative_to(here) else path).as_posix()


EXAMPLE = """\b
Example:
  comparity rank judgments.csv --items items.csv --sensitive sex --evaluator judge
  comparity rank judgments.csv --items items.csv --sensitive sex --score model
  comparity rank battles.jsonl --model bt --seats
"""


def _rank_options(command: Command) -> Command:
    """Add the declared choices, and where a picture of the scores goes."""
    scores = click.option(
        "--plot-scores", type=OUTPUT_FILE, help="Draw scores by group, before and after."
    )
    return combine(command, partial(choice_options, options=RankForm), scores)


@command(
    _rank_options,
    doing="ranking",
    plot="Draw the evaluators' biases (.png, .svg, .pdf).",
    epilog=EXAMPLE,
    large=True,
    spark=True,
    short_help="Biases of evaluators, and the bias-adjusted ranking.",
)
@click.argument("comparisons", cls=TableFiles, file=INPUT_FILE)
@click.option("--items", type=INPUT_FILE, help="One row for each item: id, groups.")
def rank(
    comparisons: Path, items: Path | None = None, plot_scores: Path | None = None, **choices: Any
) -> Result:
    """Rank items from comparisons, and say which evaluators lean toward a group.

    COMPARISONS (CSV, TSV, Parquet or JSON lines) has one row for each judgment.

    With --score a model is audited against the panel adjusted for its evaluators' biases.

    Exit status: 2 for bad input; otherwise 0, or with --score that of the audit: 0 within the
    margin, 1 violated, 3 undecided.
    """
    from comparity.ranking.rank import rank_files
    from comparity.tables.memory import keep_freed_memory

    sensitive, model = choices.get("sensitive"), choices["model"]
    if sensitive and items is None:
        raise click.UsageError("--sensitive names columns of the items: give --items as well.")
    if "groups" in model_of(model).needs and not (items and sensitive):
        raise click.UsageError(
            f"{model} needs the groups of the items: give --items FILE and --sensitive COLUMN, or "
            "rank without groups by --model bt."
        )
    keep_freed_memory()
    panel = rank_files(comparisons, items, **choices)
    if plot_scores is not None:
        write_plot(plot_scores, panel.plot_scores)
    return panel
