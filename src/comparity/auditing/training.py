"""Training a linear score on a file, with audits of rows that training did not see."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity import __version__
from comparity.auditing.all_pairs import audit_items
from comparity.auditing.options import PairwiseOptions
from comparity.counting._values import numbers
from comparity.counting.files import file_sha256, read_table
from comparity.counting.labelled import NAMES, LabelledItems, labelled_columns, labelled_items
from comparity.errors import FileAccessError, InfeasibleGoalWarning, OptionError
from comparity.matrices import PairwiseAccuracy
from comparity.mitigation.estimators import FairScorer
from comparity.mitigation.model_files import LinearScorer, write_model
from comparity.mitigation.rankers import FairRanker
from comparity.mitigation.regressors import FairRegressor
from comparity.tables import check_option
from comparity.trained import TrainedScorer

__all__ = ["NOTIONS_OF", "TASKS", "train_file"]

Floats = NDArray[np.float64]

TASKS = {"ranking": FairRanker, "regression": FairRegressor}

NOTIONS_OF = {
    "cross-group": ("cross-group",),
    "within-group": ("within-group",),
    "marginal": ("marginal",),
    "symmetric": ("symmetric",),
    "all cells": ("cross-group", "within-group"),
}
"""What is audited, by what was asked for in training."""


def train_file(
    path: str | Path,
    output: str | Path,
    *,
    features: Sequence[str],
    label: str,
    sensitive: str,
    query: str | None = None,
    task: str = "ranking",
    goal: Sequence[str] = ("cross-group",),
    slack: float = 0.01,
    form: str = "constrained",
    continuous: bool = False,
    no_group: str | None = None,
    steps: int = 500,
    held_out: float = 0.25,
    audit_on: str | Path | None = None,
    seed: int | None = None,
    **verdict: Any,
) -> TrainedScorer:
    """Train a linear score under a goal, write it, and audit it beside one without a goal.

    Parameters
    ----------
    path : path
        A table with one row for each item.
    output : path
        The model file, JSON.
    features : sequence of str
        Columns of numbers to score by.
    label, sensitive, query : str
        Columns with the label (a number, larger is better), the group, and the query.
    task : {"ranking", "regression"}
        Whether labels are to be ordered or predicted.
    goal : sequence of str
        What is to be alike: keys of :data:`NOTIONS_OF`.
    slack, form, continuous, no_group, steps
        As in :class:`comparity.FairRanker`.
    held_out : float
        Share of rows, or of queries, that are audited and not trained on.
    audit_on : path, optional
        Another file whose rows are audited instead.
    seed : int, optional
        Of whatever is drawn; one is drawn and told by default.
    verdict
        `alpha`, `margin`, `rule` and `looks` of the audits.
    """
    check_option("task", task, list(TASKS))
    for one in goal:
        check_option("goal", one, list(NOTIONS_OF))
    if Path(output).resolve() == Path(path).resolve():
        raise OptionError("output", str(output), ["another file than the one read"])
    if not Path(output).resolve().parent.is_dir():
        # Said before anything long is done.
        raise FileAccessError(str(output), "cannot be written: there is no such folder")
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    notions = tuple(dict.fromkeys(notion for one in goal for notion in NOTIONS_OF[one]))
    options = PairwiseOptions(continuous=continuous, notions=notions, seed=seed, **verdict)
    columns = _Columns(features, label, sensitive, query, continuous, no_group)
    rows, others = _sets(path, audit_on, columns, held_out, seed)
    shared: dict[str, Any] = {"continuous": continuous, "no_group": no_group, "steps": steps}
    shared["random_state"] = seed % 2**32
    model = TASKS[task](goal=tuple(goal), slack=slack, form=form, **shared)
    free = TASKS[task](goal=None, **shared)
    for one in (model, free):
        _fit(one, rows)
    before, after = (_audited(one, others, columns, options) for one in (free, model))
    counted = {"trained": len(rows), "audited": len(others)}
    asked = {"task": task, "goal": list(goal), "slack": slack, "form": form, "seed": seed}
    source = {"name": Path(path).name, "sha256": file_sha256(path)}
    about = {"comparity": __version__, **asked, **columns.roles, "file": source, "rows": counted}
    write_model(output, _scorer(model, features, about))
    return TrainedScorer(
        output=str(output),
        coefficients=dict(zip(features, model.coef_.tolist(), strict=True)),
        training=model.training_,
        before=before,
        after=after,
        rows=counted,
        seed=seed,
    )


class _Columns(NamedTuple):
    """Which columns play which part."""

    features: Sequence[str]
    label: str
    sensitive: str
    query: str | None
    continuous: bool
    no_group: str | None

    @property
    def roles(self) -> dict[str, str]:
        """Names of the columns that are no features, by what errors call their part."""
        found = {"label": self.label, "sensitive": self.sensitive}
        return found | ({"queries": self.query} if self.query else {})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """Columns of some rows, checked."""

    features: Floats
    label: Floats
    sensitive: NDArray[Any]
    query: NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.label)

    def part(self, kept: NDArray[np.bool_]) -> _Rows:
        """Return some of the rows."""
        return _Rows(
            features=self.features[kept],
            label=self.label[kept],
            sensitive=self.sensitive[kept],
            query=None if self.query is None else self.query[kept],
        )

    def items(self, columns: _Columns, scores: Floats) -> LabelledItems:
        """Return the rows with scores, checked for an audit."""
        return labelled_items(
            self.label,
            scores,
            self.sensitive,
            queries=self.query,
            continuous=columns.continuous,
            no_group=columns.no_group,
            names={**NAMES, **columns.roles},
        )


def _sets(
    path: str | Path, audit_on: str | Path | None, columns: _Columns, held_out: float, seed: int
) -> tuple[_Rows, _Rows]:
    """Return rows to train on and rows to audit."""
    if len(set(columns.features)) < len(columns.features):
        raise OptionError("features", list(columns.features), ["each column once"])
    if columns.label in columns.features:
        raise OptionError("features", list(columns.features), ["columns other than the label"])
    rows = _read(path, columns)
    if audit_on is not None:
        return rows, _read(audit_on, columns)
    held = _held_out(rows.items(columns, rows.label), held_out, seed)
    return rows.part(~held), rows.part(held)


def _read(path: str | Path, columns: _Columns) -> _Rows:
    found = labelled_columns(read_table(path), [*columns.features, *columns.roles.values()])
    table = [numbers(found[name], name, "items") for name in columns.features]
    return _Rows(
        features=np.column_stack(table),
        label=numbers(found[columns.label], columns.label, "items"),
        sensitive=found[columns.sensitive],
        query=found[columns.query] if columns.query else None,
    )


def _held_out(items: LabelledItems, fraction: float, seed: int) -> NDArray[np.bool_]:
    """Say which rows are audited: a share of every group, or whole queries."""
    rng, held = np.random.default_rng(seed), np.zeros(len(items), dtype=bool)
    if items.query is not None:
        known = rng.permutation(np.unique(items.query))
        held = np.isin(items.query, known[: round(fraction * len(known))])
    else:
        strata = items.group if len(items.group) else np.zeros(len(items), dtype=np.int64)
        order = np.lexsort((rng.uniform(size=len(items)), strata))
        # Every so many rows, group by group, from a random start.
        steps = np.floor((np.arange(len(items) + 1) + rng.uniform()) * fraction)
        held[order] = np.diff(steps) > 0
    if held.all() or not held.any():
        wanted = ["a share that leaves rows to train on and to audit", "more rows or queries"]
        raise OptionError("held_out", fraction, wanted)
    return held


def _fit(model: FairScorer, rows: _Rows) -> None:
    with warnings.catch_warnings():
        # What a model misses is told with its training.
        warnings.simplefilter("ignore", InfeasibleGoalWarning)
        model.fit(rows.features, rows.label, rows.sensitive, rows.query)


def _audited(
    model: FairScorer, rows: _Rows, columns: _Columns, options: PairwiseOptions
) -> PairwiseAccuracy:
    items = rows.items(columns, model.predict(rows.features))
    return audit_items(items, options, **columns.roles)


def _scorer(model: FairScorer, features: Sequence[str], about: Mapping[str, Any]) -> LinearScorer:
    mixture = model.stochastic_
    members = zip(
        map(tuple, mixture.coefficients.tolist()),
        mixture.intercepts.tolist(),
        mixture.probabilities.tolist(),
        strict=True,
    )
    return LinearScorer(
        features=tuple(features),
        coefficients=tuple(model.coef_.tolist()),
        intercept=model.intercept_,
        members=tuple(members),
        about=about,
    )
