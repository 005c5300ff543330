"""Train a score on the rows of a file, and audit it on rows that training did not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity import __version__
from comparity.errors import FileAccessError, OptionError
from comparity.pairwise.audit import pairwise_parity
from comparity.pairwise.judge import audit_items
from comparity.pairwise.options import PairwiseOptions
from comparity.results.audit import Audit
from comparity.results.findings import EXIT_STATUS
from comparity.results.judging import overall_finding
from comparity.tables.files import file_sha256, read_table
from comparity.tables.items import NAMES, LabelledItems, labelled_columns, labelled_items
from comparity.tables.outputs import check_apart
from comparity.tables.values import bounded_numbers, numbers
from comparity.training.fitting import Prepared, TrainingFit, fitted, prepared
from comparity.training.goals import PARITY, Choices, choices_of
from comparity.training.model_files import write_model
from comparity.training.options import TrainForm
from comparity.training.result import ScorerAudit, TrainedScorer
from comparity.training.rows import held_out
from comparity.training.scorers import LinearModel, LinearScorer, SavedScorer, kind_of

__all__ = [
    "NOTIONS_OF",
    "Columns",
    "FileRows",
    "row_sets",
    "train_file",
]


Floats = NDArray[np.float64]


class Columns(NamedTuple):
    """Which columns play which part.

    Attributes
    ----------
    features : sequence of str
    label, sensitive : str
    query, weight : str or None
    continuous : bool
        Whether the sensitive column is a number.
    no_group : str or None
        The value that marks items in no group.
    """

    features: Sequence[str]
    label: str
    sensitive: str
    query: str | None
    weight: str | None
    continuous: bool
    no_group: str | None

    @property
    def roles(self) -> dict[str, str]:
        """Names of the columns that are no features, by what errors call their part."""
        found = {"label": self.label, "sensitive": self.sensitive}
        found |= {"queries": self.query} if self.query else {}
        return found | ({"weights": self.weight} if self.weight else {})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileRows:
    """Columns of some rows, checked: features, label, sensitive attribute, query and weight."""

    features: Floats
    label: Floats
    sensitive: NDArray[Any]
    query: NDArray[Any] | None
    weight: Floats | None

    def __len__(self) -> int:
        return len(self.label)

    def part(self, kept: NDArray[np.bool_]) -> FileRows:
        """Return some of the rows."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        taken: dict[str, Any] = {k: None if v is None else v[kept] for k, v in given.items()}
        return FileRows(**taken)

    def has_same_numbers(self, others: FileRows) -> bool:
        """Say whether other rows have the same features and labels, in whatever order."""
        tables = [np.column_stack([rows.features, rows.label]) for rows in (self, others)]
        ours, theirs = (table[np.lexsort(table.T)] for table in tables)
        return np.array_equal(ours, theirs)

    def items(self, columns: Columns, scores: Floats) -> LabelledItems:
        """Return the rows with scores, checked for an audit."""
        return labelled_items(
            self.label,
            scores,
            self.sensitive,
            queries=self.query,
            weights=self.weight,
            continuous=columns.continuous,
            no_group=columns.no_group,
            names={**NAMES, **columns.roles},
        )


def row_sets(
    path: str | Path, audit_on: str | Path | None, columns: Columns, fraction: float, seed: int
) -> tuple[FileRows, FileRows]:
    """Return rows to train on and rows to audit.

    Parameters
    ----------
    path : path
        The file.
    audit_on : path or None
        Another file to audit; a share of the rows, or of the queries, of the first by default.
    columns : Columns
    fraction : float
        That share.
    seed : int
        What draws it.
    """
    if len(set(columns.features)) < len(columns.features):
        raise OptionError("features", list(columns.features), ["each column once"])
    if columns.label in columns.features:
        raise OptionError("features", list(columns.features), ["columns other than the label"])
    rows = _read(path, columns)
    if audit_on is not None:
        others = _read(audit_on, columns)
        if rows.has_same_numbers(others):
            why = "its rows are those trained on"
            raise OptionError("audit_on", str(audit_on), ["a file with other rows", "none"], why)
        return rows, others
    held = held_out(rows.items(columns, rows.label), fraction, np.random.default_rng(seed))
    if held.all() or not held.any():
        wanted = ["a share that leaves rows to train on and to audit", "more rows or queries"]
        raise OptionError("held_out", fraction, wanted)
    return rows.part(~held), rows.part(held)


def _read(path: str | Path, columns: Columns) -> FileRows:
    found = labelled_columns(read_table(path), [*columns.features, *columns.roles.values()])
    table = [bounded_numbers(found[name], name, "items") for name in columns.features]
    weight = columns.weight
    return FileRows(
        features=np.column_stack(table),
        label=bounded_numbers(found[columns.label], columns.label, "items"),
        sensitive=found[columns.sensitive],
        query=found[columns.query] if columns.query else None,
        weight=numbers(found[weight], weight, "items") if weight else None,
    )


CHOSEN_BY = 0.25
"""Share of the rows for training, or of their queries, that models are chosen by."""


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
    asked = TrainForm(**choices)
    goal, features, steps = asked.goal, asked.features, asked.steps
    _check_files(path, output, asked.audit_on)
    seed = asked.seed
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    columns = Columns(
        features,
        asked.label,
        asked.sensitive,
        asked.query,
        asked.weight,
        asked.continuous,
        asked.no_group,
    )
    options = _options(asked, columns, seed)
    shared: dict[str, Any] = {"continuous": asked.continuous, "steps": steps}
    shared["predicted"] = asked.task == "regression"
    bound = choices_of(goal=goal, slack=asked.slack, form=asked.form, **shared)
    rows, others = row_sets(path, asked.audit_on, columns, asked.held_out, seed)
    counted = {"trained": len(rows), "audited": len(others)}
    work = _Work(rows, others, columns, goal, options, seed, shared["predicted"])
    ready = work.prepared(bound)
    tell(f"Read {len(rows):,} rows to train on and {len(others):,} to audit.")
    kind = kind_of(asked.scorer, **_own_choices(asked))
    kind.check()
    many = steps if kind.from_nothing else min(steps, WITHOUT_GOAL)
    free = choices_of(goal=None, **{**shared, "steps": many})
    before = work.audited(fitted(kind, work.prepared(free), free))
    share = f"{before.accuracy.overall:.3f} of all pairs in the right order"
    tell(f"Without a goal: {before.finding}, {share}. Training for {' and '.join(goal)} ...")
    fit = fitted(kind, ready, bound)
    about: dict[str, Any] = {name: getattr(asked, name) for name in ("task", "scorer", "goal")}
    about |= {"goal": list(goal), "slack": asked.slack, "form": asked.form}
    source = {"name": Path(path).name, "sha256": file_sha256(path)}
    about |= {"seed": seed, **columns.roles, "file": source, "rows": counted}
    write_model(output, _record(fit, features, {"comparity": __version__, **about}))
    return TrainedScorer(
        output=str(output),
        coefficients=_coefficients(fit, features),
        training=fit.training,
        before=before,
        after=work.audited(fit),
        rows=counted,
        seed=seed,
    )


@dataclass(frozen=True, slots=True)
class _Work:
    """What models are trained on and audited by."""

    rows: FileRows
    others: FileRows
    columns: Columns
    goal: tuple[str, ...]
    options: PairwiseOptions
    seed: int
    predicted: bool

    def prepared(self, choices: Choices) -> Prepared:
        """Lay out the pairs of the rows to train on."""
        return prepared(
            self.rows.features,
            self.rows.items(self.columns, self.rows.label),
            choices,
            predicted=self.predicted,
            fraction=CHOSEN_BY,
            rng=np.random.RandomState(self.seed % 2**32),
        )

    def audited(self, fit: TrainingFit) -> ScorerAudit:
        """Audit what was asked for: pairs that labels imply, pairs of groups, or both."""
        items = self.others.items(self.columns, fit.model.scores(self.others.features))
        accuracy = audit_items(items, self.options, **self.columns.roles)
        parity = _parity(items, self.options) if PARITY in self.goal else None
        tests = [] if set(self.goal) == {PARITY} else [*accuracy.tests]
        tests += parity.tests if parity else []
        finding = overall_finding(tests)
        return ScorerAudit(
            finding=finding, exit_status=EXIT_STATUS[finding], accuracy=accuracy, parity=parity
        )


def _own_choices(asked: TrainForm) -> dict[str, Any]:
    """Return what was said of a scorer that belongs to it alone."""
    said = {"hidden": asked.hidden, "leaves": asked.leaves}
    return {name: value for name, value in said.items() if value is not None}


def _check_files(path: str | Path, output: str | Path, audit_on: str | Path | None) -> None:
    """Say before anything long is done that a file cannot be written."""
    check_apart(output, [path] if audit_on is None else [path, audit_on])
    if not Path(output).resolve().parent.is_dir():
        raise FileAccessError(str(output), "there is no such folder", doing="write")


def _options(asked: TrainForm, columns: Columns, seed: int) -> PairwiseOptions:
    """Return how to audit, where that can be had."""
    goal = asked.goal
    notions: tuple[Any, ...] = tuple(
        dict.fromkeys(notion for one in goal for notion in NOTIONS_OF[one])
    )
    options = PairwiseOptions(
        continuous=asked.continuous,
        notions=notions or ("cross-group",),
        alpha=asked.alpha,
        margin=asked.margin,
        rule=asked.rule,
        looks=asked.looks,
        seed=seed,
    )
    if PARITY not in goal:
        return options
    why = f"the audit of {PARITY} has none"
    for name, found in (("weight", columns.weight), ("looks", options.looks)):
        if found is not None:
            raise OptionError(name, found, [f"no {name}", "another goal"], why)
    if options.rule != "holm":
        raise OptionError("rule", options.rule, ["'holm'", "another goal"], why)
    # Two audits share the error where both decide.
    return replace(options, alpha=options.alpha / 2) if notions else options


def _parity(items: Any, options: PairwiseOptions) -> Audit:
    """Audit pairs of groups, whatever their labels; items in no group are in none."""
    kept = items.group < len(items.groups)
    return pairwise_parity(
        items.score[kept],
        sensitive_features=np.array(items.groups)[items.group[kept]],
        queries=None if items.query is None else items.query[kept],
        alpha=options.alpha,
        margin=options.margin,
    )


def _coefficients(fit: TrainingFit, features: Sequence[str]) -> dict[str, float]:
    """Return what features weigh, where the score is linear."""
    if not isinstance(fit.model, LinearModel):
        return {}
    return dict(zip(features, fit.model.coefficients.tolist(), strict=True))


def _record(
    fit: TrainingFit, features: Sequence[str], about: Mapping[str, Any]
) -> LinearScorer | SavedScorer:
    """Return what is written of a model: the best single one and the mixture."""
    named: dict[str, Any] = {"features": tuple(features), "about": about}
    mixture, best = fit.mixture, fit.model
    shares = mixture.probabilities.tolist()
    if not isinstance(best, LinearModel):
        members = tuple(zip(mixture.members, shares, strict=True))
        return SavedScorer(kind=fit.training.scorer, model=best, members=members, **named)
    slopes = map(tuple, mixture.coefficients.tolist())
    return LinearScorer(
        coefficients=tuple(best.coefficients.tolist()),
        intercept=best.intercept,
        members=tuple(zip(slopes, mixture.intercepts.tolist(), shares, strict=True)),
        **named,
    )
