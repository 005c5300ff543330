"""What is done with files of judgments: a score is learned, and audited on unseen items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity import __version__
from comparity.comparative.audit import comparative_separation
from comparity.errors import EmptyTableError, OptionError
from comparity.ranking.judgments import Judgments, judgments_from_frames
from comparity.results.audit import Audit
from comparity.tables.columns import labelled_columns
from comparity.tables.files import file_sha256, read_table
from comparity.tables.layouts import read_comparisons
from comparity.tables.values import bounded_numbers
from comparity.training.bradley_terry_loss import split_items
from comparity.training.comparisons import ComparisonRanker
from comparity.training.kinds import BoostedTrees, NeuralNetwork
from comparity.training.model_files import SavedScorer, write_model
from comparity.training.models import LinearModel
from comparity.training.options import TrainForm
from comparity.training.train import check_files
from comparity.training.trained_scorers import TrainedOnJudgments

Floats = NDArray[np.float64]

HYPOTHESES = {"cross-group": "across", "within-group": "within"}
"""Which kinds of pairs the audit is about, by goal; of all other goals, all."""


def train_judgments(
    path: str | Path,
    output: str | Path,
    *,
    tell: Callable[[str], object] = lambda told: None,
    **choices: Any,
) -> TrainedOnJudgments:
    """Learn a score from judgments under a goal, write it, and audit it on unseen items.

    Parameters
    ----------
    path : path
        A table with one row for each judgment, in any layout of :mod:`comparity.tables.layouts`.
    output : path
        The model file, JSON.
    tell : callable, optional
        Told what is known before training is done: judgments read, and the audit without a goal.
    **choices
        Those of :class:`comparity.training.options.TrainForm`, with `items`; without a `seed` one
        is drawn and told.
    """
    form = TrainForm(**choices)
    assert form.items is not None
    others = [one for one in (form.audit_on, form.items) if one is not None]
    for one in others:
        check_files(path, output, one)
    drawn = int(np.random.SeedSequence().generate_state(1)[0])
    form = replace(form, seed=drawn if form.seed is None else form.seed)
    items = _read_items(form)
    train, held, between = _split(path, items, form)
    tell(_count_in_words(len(train), len(held), between))
    files = (path, *reversed(others))
    before = _audit(_fit(form, items, train, goal=None), items, held, form).with_files(*files)
    goal = " and ".join(form.goal)
    tell(f"Without a goal: {before.finding}. Training for {goal} ...")
    ranker = _fit(form, items, train, goal=form.goal)
    counts = {"trained": len(train), "audited": len(held), "between": between}
    write_model(output, _saved_scorer(ranker, path, form, counts))
    slopes = ranker.coef_.tolist() if isinstance(ranker.model_, LinearModel) else ()
    assert form.seed is not None
    return TrainedOnJudgments(
        output=str(output),
        coefficients=dict(zip(form.features, slopes, strict=False)),
        training=ranker.training_,
        before=before,
        after=_audit(ranker, items, held, form).with_files(*files),
        judgments={**counts, "ties": train.n_ties + held.n_ties},
        adjusted=form.adjust_judges,
        seed=form.seed,
    )


def _count_in_words(trained: int, audited: int, between: int) -> str:
    told = f"Read {trained:,} judgments to train on and {audited:,} of other items to audit."
    return told + (f" {between:,} between these items are used for neither." if between else "")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ItemTable:
    """Items of a file: ids, features and group."""

    columns: dict[str, NDArray[Any]]
    features: Floats
    sensitive: NDArray[Any]


def _read_items(form: TrainForm) -> _ItemTable:
    assert form.items is not None
    if len(set(form.features)) < len(form.features):
        raise OptionError("features", list(form.features), ["each column once"])
    wanted = [form.item, *form.features, form.sensitive]
    found = labelled_columns(read_table(form.items), wanted)
    table = [bounded_numbers(found[name], name, "items") for name in form.features]
    group = found[form.sensitive]
    sensitive = bounded_numbers(group, form.sensitive, "items") if form.continuous else group
    ids = {form.item: found[form.item]}
    return _ItemTable(columns=ids, features=np.column_stack(table), sensitive=sensitive)


def _read_judgments(path: str | Path, items: _ItemTable, form: TrainForm) -> Judgments:
    names = ("layout", "better", "worse", "left", "right", "winner", "evaluator")
    read = read_comparisons(path, **{name: getattr(form, name) for name in names})
    who = "evaluator" if read.has_evaluators else None
    return judgments_from_frames(
        read.frame, items.columns, evaluator=who, tied="tied", item=form.item
    )


def _split(
    path: str | Path, items: _ItemTable, form: TrainForm
) -> tuple[Judgments, Judgments, int]:
    """Return judgments to train on, judgments of other items to audit, and how many are lost."""
    judged = _read_judgments(path, items, form)
    pairs = np.column_stack([judged.better, judged.worse]).astype(np.int64)
    if form.audit_on is not None:
        others = _read_judgments(form.audit_on, items, form)
        both = np.isin(np.column_stack([others.better, others.worse]), pairs).any(axis=1)
        if both.any():
            why = f"{int(both.sum()):,} of its judgments are of items that are trained on"
            wanted = ["judgments of other items", "none"]
            raise OptionError("audit_on", str(form.audit_on), wanted, why)
        return judged, others, 0
    train, held = split_items(pairs, form.held_out, np.random.default_rng(form.seed))
    if not len(train) or not len(held):
        wanted = ["a share that leaves judgments to train on and to audit", "more judgments"]
        raise OptionError("held_out", form.held_out, wanted)
    parts = []
    for part in (train, held):
        kept = np.zeros(len(judged), dtype=bool)
        kept[part] = True
        parts.append(judged.subset(kept))
    return parts[0], parts[1], len(judged) - len(train) - len(held)


def _fit(form: TrainForm, items: _ItemTable, train: Judgments, *, goal: Any) -> ComparisonRanker:
    scorer: Any = form.scorer
    if form.hidden is not None:
        scorer = NeuralNetwork(hidden=form.hidden)
    if form.leaves is not None:
        scorer = BoostedTrees(leaves=form.leaves)
    assert form.seed is not None
    ranker = ComparisonRanker(
        scorer=scorer,
        goal=goal,
        slack=form.slack,
        form=form.form if goal else "constrained",
        continuous=form.continuous,
        no_group=form.no_group,
        steps=form.steps,
        adjust_judges=form.adjust_judges,
        random_state=form.seed % 2**32,
    )
    return ranker.fit(items.features, train, sensitive_features=items.sensitive)


def _audit(ranker: ComparisonRanker, items: _ItemTable, held: Judgments, form: TrainForm) -> Audit:
    """Test comparative separation, of the kinds of pairs that the goal is about."""
    asked = {HYPOTHESES.get(one, "all") for one in form.goal}
    tied = np.zeros(len(held), dtype=bool) if held.tied is None else held.tied
    if tied.all():
        raise EmptyTableError("judgments to audit")
    pairs = np.column_stack([held.better, held.worse])
    who = None if held.evaluator is None else held.evaluators[held.evaluator[~tied]]
    known = items.sensitive
    if form.no_group is not None:
        kept = (known.astype(str) != form.no_group)[pairs].all(axis=1)
        pairs, tied = pairs[kept], tied[kept]
        who = None if held.evaluator is None else held.evaluators[held.evaluator[kept][~tied]]
    return comparative_separation(
        pairs[~tied],
        scores=ranker.model_.scores(items.features),
        sensitive_features={form.sensitive: known},
        evaluators=who,
        ties=pairs[tied] if tied.any() else None,
        hypotheses=asked.pop() if len(asked) == 1 and not form.continuous else "all",
        continuous=form.continuous,
        **form.judging,
        seed=form.seed,
    )


def _saved_scorer(
    ranker: ComparisonRanker, path: str | Path, form: TrainForm, counts: dict[str, int]
) -> SavedScorer:
    """Return what is written of a model: the best single one, the mixture, and where from."""
    mixture = ranker.stochastic_
    assert form.items is not None
    return SavedScorer(
        kind=ranker.training_.scorer,
        features=form.features,
        model=ranker.model_,
        members=tuple(zip(mixture.members, mixture.probabilities.tolist(), strict=True)),
        about={
            "comparity": __version__,
            "task": "comparisons",
            "scorer": form.scorer,
            "goal": list(form.goal),
            "slack": form.slack,
            "form": form.form,
            "seed": form.seed,
            "sensitive": form.sensitive,
            "adjusted for judges": form.adjust_judges,
            "files": [
                {"name": Path(one).name, "sha256": file_sha256(one)} for one in (path, form.items)
            ],
            "judgments": counts,
        },
    )
