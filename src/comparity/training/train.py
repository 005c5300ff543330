"""Scores trained on a file, and audited on rows that training did not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity import __version__
from comparity.errors import FileAccessError, OptionError
from comparity.pairwise.audit import name_files
from comparity.pairwise.judge import audit_items
from comparity.pairwise.options import PairwiseOptions
from comparity.pairwise.parity import pairwise_parity
from comparity.results.audit import Audit
from comparity.results.judging import overall_finding
from comparity.results.result import EXIT_STATUS
from comparity.tables.columns import labelled_columns
from comparity.tables.features import NAMES, LabelledItems, labelled_items
from comparity.tables.files import file_sha256, read_table
from comparity.tables.outputs import check_apart
from comparity.tables.values import bounded_numbers, numbers
from comparity.training.candidates import Kind, PreparedRows, kind_of
from comparity.training.costs import MOVED, FreshRows, fresh_rows, put_beside, simple_moves
from comparity.training.fitting import TrainingFit, fit_score, prepare_rows
from comparity.training.goals import PARITY, Choices, choices_of
from comparity.training.group_moves import GroupMoves, adjust_model, check_adjustable
from comparity.training.model_files import SavedScorer, write_model
from comparity.training.models import LinearModel
from comparity.training.options import TrainForm
from comparity.training.result import Training
from comparity.training.rows import hold_out
from comparity.training.trained_scorers import ScorerAudit, TrainedScorer

Floats = NDArray[np.float64]

CHOSEN_BY = 0.25
"""Share of the rows for training, or of their queries, that models are chosen by."""

SLACKS = 9
"""At so many slacks the frontier is drawn."""
WITHOUT_GOAL = 150
"""Steps without a goal from least squares on: of six data sets, simulated and published, none was
ordered better by more than 0.001 after 2,000."""

NOTIONS_OF = {
    "cross-group": ("cross-group",),
    "within-group": ("within-group",),
    "marginal": ("marginal",),
    "symmetric": ("symmetric",),
    "all cells": ("cross-group", "within-group"),
    # Needs no labels, and has an audit of its own.
    PARITY: (),
}
"""What is audited over pairs that labels imply, by what was asked for in training."""


def train_file(
    path: str | Path,
    output: str | Path,
    *,
    tell: Callable[[str], object] = lambda told: None,
    **choices: Any,
) -> TrainedScorer:
    """Train a score under a goal, write it, and audit it beside one without a goal.

    Parameters
    ----------
    path : path
        A table with one row for each item.
    output : path
        The model file, JSON.
    tell : callable, optional
        Told what is known before training is done: rows read, and the audit without a goal.
    **choices
        Those of :class:`TrainForm`; without a `seed` one is drawn and told.
    """
    form = TrainForm(**choices)
    check_files(path, output, form.audit_on)
    drawn = int(np.random.SeedSequence().generate_state(1)[0])
    seed = drawn if form.seed is None else form.seed
    form = replace(form, seed=seed)
    options = _audit_options(form)
    counted = {name: getattr(form, name) for name in ("continuous", "average", "pair_weight")}
    task: dict[str, Any] = {**counted, "predicted": form.task == "regression"}
    asked = {name: getattr(form, name) for name in ("goal", "slack", "form", "steps")}
    bound = choices_of(**asked, **task)
    rows, others = _read_rows(path, form)
    ready = _prepare(rows, form, bound)
    tell(f"Read {len(rows):,} rows to train on and {len(others):,} to audit.")
    if form.adjust is not None:
        check_adjustable(form.adjust, bound, ready.items, **_prediction_choice(form))
    kind = _kind(form)
    steps = form.steps if kind.from_nothing else min(form.steps, WITHOUT_GOAL)
    free = choices_of(goal=None, steps=steps, **task)
    plain = fit_score(kind, _prepare(rows, form, free), free)
    before = plain.model.scores(others.features)
    files = [path] if form.audit_on is None else [path, form.audit_on]
    audited = _audit(before, others, form, options, files)
    share = f"{audited.accuracy.overall:.3f} of all pairs in the right order"
    tell(f"Without a goal: {audited.finding}, {share}.")
    fresh = fresh_rows(
        others.features, others.items(form, before), bound, **_prediction_choice(form)
    )
    simple = simple_moves(plain, ready, rows.features, bound, **_prediction_choice(form))
    scores = {adjust: others.move_scores(before, one) for adjust, one in simple.items()}
    doing = "Training" if form.adjust is None else "Moving scores of groups"
    tell(f"{_tell_shift(fresh, scores)}{doing} for {' and '.join(form.goal)} ...")
    trained, fit, moves = _reach_goal(kind, plain, rows, ready, form, bound)
    after = others.move_scores(fit.model.scores(others.features), moves)
    slopes = fit.model.coefficients.tolist() if isinstance(fit.model, LinearModel) else ()
    counts = {"trained": len(rows), "audited": len(others)}
    write_model(output, _saved_scorer(fit, path, form, counts, moves))
    return TrainedScorer(
        output=str(output),
        coefficients=dict(zip(form.features, slopes, strict=False)),
        training=trained,
        before=audited,
        after=_audit(after, others, form, options, files),
        rows=counts,
        seed=seed,
        adjusted=None if moves is None else moves.shifts,
        **put_beside(fresh, before, after, fit, scores, adjust=form.adjust, seed=seed),
    )


def _tell_shift(fresh: FreshRows, moved: Mapping[str, Floats]) -> str:
    """Say what a shift of groups by one number comes to, where there is one."""
    if "shift" not in moved:
        return ""
    one = fresh.method(MOVED["shift"], [moved["shift"]], np.ones(1), needs_groups=True)
    return (
        f"With the groups' scores shifted by one number, which needs the groups when scoring: "
        f"{one.accuracy:.3f}, with a difference of {one.largest_difference:.3f}. "
    )


def _prediction_choice(form: TrainForm) -> dict[str, bool]:
    return {"predicted": form.task == "regression"}


def _kind(form: TrainForm) -> Kind:
    """Return what is trained, where it can be."""
    own = {name: getattr(form, name) for name in ("hidden", "leaves")}
    kind = kind_of(form.scorer, **{name: one for name, one in own.items() if one is not None})
    kind.check()
    return kind


def _reach_goal(
    kind: Kind,
    plain: TrainingFit,
    rows: _FileRows,
    ready: PreparedRows,
    form: TrainForm,
    choices: Choices,
) -> tuple[Training, TrainingFit, GroupMoves | None]:
    """Train for the goal, or move the scores of a model trained without."""
    if form.adjust is None:
        fit = fit_score(kind, ready, choices, slacks=SLACKS)
        return fit.training, fit, None
    facts = plain.model, plain.training, ready, choices, rows.features
    moves, told = adjust_model(form.adjust, *facts)
    return told, plain, moves


def check_files(path: str | Path, output: str | Path, audit_on: str | Path | None) -> None:
    """Refuse a file that cannot be written before any long work begins."""
    check_apart(output, [path] if audit_on is None else [path, audit_on])
    if not Path(output).resolve().parent.is_dir():
        raise FileAccessError(str(output), "there is no such folder", doing="write")


def _audit_options(form: TrainForm) -> PairwiseOptions:
    """Return how to audit, where that can be had."""
    notions: Any = tuple(dict.fromkeys(notion for one in form.goal for notion in NOTIONS_OF[one]))
    if form.continuous and notions:
        # Two accuracies are all that a number has.
        notions = ("cross-group",)
    counted = ("continuous", "average", "pair_weight")
    options = PairwiseOptions(
        notions=notions or ("cross-group",),
        **{name: getattr(form, name) for name in (*counted, "alpha", "margin", "rule")},
        looks=form.looks,
        seed=form.seed,
    )
    if PARITY not in form.goal:
        return options
    why = f"the audit of {PARITY} has none"
    for name in ("weight", "looks"):
        if getattr(form, name) is not None:
            raise OptionError(name, getattr(form, name), [f"no {name}", "another goal"], why)
    if options.rule != "holm":
        raise OptionError("rule", options.rule, ["'holm'", "another goal"], why)
    # Two audits share the error where both decide.
    return replace(options, alpha=options.alpha / 2) if notions else options


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _FileRows:
    """Columns of some rows, checked: features, label, sensitive attribute, query and weight."""

    features: Floats
    label: Floats
    sensitive: NDArray[Any]
    query: NDArray[Any] | None
    weight: Floats | None

    def __len__(self) -> int:
        return len(self.label)

    def part(self, kept: NDArray[np.bool_]) -> _FileRows:
        """Return some of the rows."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        some: dict[str, Any] = {k: None if v is None else v[kept] for k, v in given.items()}
        return _FileRows(**some)

    def has_same_numbers(self, others: _FileRows) -> bool:
        """Return whether other rows have the same features and labels, in whatever order."""
        tables = [np.column_stack([rows.features, rows.label]) for rows in (self, others)]
        ours, theirs = (table[np.lexsort(table.T)] for table in tables)
        return np.array_equal(ours, theirs)

    def move_scores(self, scores: Floats, moves: GroupMoves | None) -> Floats:
        """Return scores moved by group, or as they are."""
        if moves is None:
            return scores
        return moves.transform(scores, sensitive_features=self.sensitive)

    def items(self, form: TrainForm, scores: Floats) -> LabelledItems:
        """Return the rows with scores, checked for an audit."""
        return labelled_items(
            self.label,
            scores,
            self.sensitive,
            queries=self.query,
            weights=self.weight,
            continuous=form.continuous,
            no_group=form.no_group,
            names={**NAMES, **form.roles},
        )


def _read_rows(path: str | Path, form: TrainForm) -> tuple[_FileRows, _FileRows]:
    """Return rows to train on and rows to audit: of another file, or a share held out."""
    if len(set(form.features)) < len(form.features):
        raise OptionError("features", list(form.features), ["each column once"])
    if form.label in form.features:
        raise OptionError("features", list(form.features), ["columns other than the label"])
    rows = _read_file(path, form)
    if form.audit_on is not None:
        others = _read_file(form.audit_on, form)
        if rows.has_same_numbers(others):
            wanted, why = ["a file with other rows", "none"], "its rows are those trained on"
            raise OptionError("audit_on", str(form.audit_on), wanted, why)
        return rows, others
    rng = np.random.default_rng(form.seed)
    held = hold_out(rows.items(form, rows.label), form.held_out, rng)
    if held.all() or not held.any():
        wanted = ["a share that leaves rows to train on and to audit", "more rows or queries"]
        raise OptionError("held_out", form.held_out, wanted)
    return rows.part(~held), rows.part(held)


def _read_file(path: str | Path, form: TrainForm) -> _FileRows:
    found = labelled_columns(read_table(path), [*form.features, *form.roles.values()])
    table = [bounded_numbers(found[name], name, "items") for name in form.features]
    weight, label = form.weight, form.roles["label"]
    return _FileRows(
        features=np.column_stack(table),
        label=bounded_numbers(found[label], label, "items"),
        sensitive=found[form.sensitive],
        query=found[form.query] if form.query else None,
        weight=numbers(found[weight], weight, "items") if weight else None,
    )


def _prepare(rows: _FileRows, form: TrainForm, choices: Choices) -> PreparedRows:
    """Lay out the pairs of the rows to train on."""
    assert form.seed is not None
    return prepare_rows(
        rows.features,
        rows.items(form, rows.label),
        choices,
        predicted=form.task == "regression",
        fraction=CHOSEN_BY,
        rng=np.random.RandomState(form.seed % 2**32),
    )


def _audit(
    scores: Floats,
    rows: _FileRows,
    form: TrainForm,
    options: PairwiseOptions,
    files: Sequence[str | Path],
) -> ScorerAudit:
    """Audit what was asked for: pairs that labels imply, pairs of groups, or both."""
    items = rows.items(form, scores)
    accuracy = name_files(audit_items(items, options, None, **form.roles), *files)
    parity = _audit_parity(items, options) if PARITY in form.goal else None
    tests = [] if set(form.goal) == {PARITY} else [*accuracy.tests]
    tests += parity.tests if parity else []
    finding = overall_finding(tests)
    return ScorerAudit(
        finding=finding, exit_status=EXIT_STATUS[finding], accuracy=accuracy, parity=parity
    )


def _audit_parity(items: LabelledItems, options: PairwiseOptions) -> Audit:
    """Audit pairs of groups, whatever their labels; items in no group are in none."""
    kept, values = np.ones(len(items), dtype=bool), items.value
    if values is None:
        kept = items.group < len(items.groups)
        values = np.array(items.groups)[np.where(kept, items.group, 0)]
    return pairwise_parity(
        items.score[kept],
        sensitive_features=values[kept],
        queries=None if items.query is None else items.query[kept],
        continuous=options.continuous,
        alpha=options.alpha,
        margin=options.margin,
    )


def _saved_scorer(
    fit: TrainingFit,
    path: str | Path,
    form: TrainForm,
    counts: dict[str, int],
    moves: GroupMoves | None,
) -> SavedScorer:
    """Return what is written of a model: the best single one, the mixture, and where from."""
    shares = fit.mixture.probabilities.tolist()
    return SavedScorer(
        kind=fit.training.scorer,
        features=form.features,
        model=fit.model,
        # Scores of members are not moved.
        members=() if moves else tuple(zip(fit.mixture.members, shares, strict=True)),
        moves=None if moves is None else (form.sensitive, moves),
        about={
            "comparity": __version__,
            "task": form.task,
            "scorer": form.scorer,
            "goal": list(form.goal),
            "slack": form.slack,
            "form": form.form,
            "adjust": form.adjust,
            "seed": form.seed,
            **form.roles,
            "file": {"name": Path(path).name, "sha256": file_sha256(path)},
            "rows": counts,
        },
    )
