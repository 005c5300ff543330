"""Comparative separation: equal agreement between a model and judges in every kind of pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.comparative.judge import audit_counts, design_to_count
from comparity.comparative.options import ComparativeForm, ComparativeOptions
from comparity.counts.clusters import EVALUATORS, named_clusters
from comparity.counts.judged_rows import count_comparisons, count_wide_comparisons
from comparity.counts.ledger import count_position_pairs
from comparity.errors import MissingColumnError, Option, OptionError
from comparity.results.audit import Audit
from comparity.results.options import shows
from comparity.tables.features import as_array, named_attributes
from comparity.tables.files import read_table
from comparity.tables.frames import collect_columns, of_engine, open_frame
from comparity.tables.layouts import ComparisonTable, check_outcome_read, read_comparisons
from comparity.tables.outcomes import HOW, PROBABILITY
from comparity.tables.typing import Attributes, Column, Comparisons
from comparity.tables.values import check_lengths, is_true


@shows(ComparativeOptions)
def comparative_separation(
    comparisons: Comparisons,
    *,
    scores: Column,
    sensitive_features: Attributes,
    evaluators: Column | None = None,
    ties: Column | None = None,
    reference: Column | None = None,
    cluster: Attributes | None = None,
    **choices: Any,
) -> Audit:
    r"""Test whether a model agrees with judges equally often in every kind of pair.

    .. math::

        agree(a > b) = P(f(x) > f(x') \mid x \text{ judged better}, x \in a, x' \in b)

    is the same for all cells :math:`(a, b)` [1]_. With two groups three hypotheses are tested:
    across, :math:`agree(a > b) = agree(b > a)`; within, :math:`agree(a > a) = agree(b > b)`; and
    that the means of both kinds are equal. With more groups all pairs of cells are compared.

    Parameters
    ----------
    comparisons : array-like (n, 2) or frame
        Item positions, the better item first; or a frame with columns ``better`` and ``worse``,
        and perhaps ``tied``, which is true where neither item was put first.
    scores : array-like
        The model's score of each item.
    sensitive_features : array-like, mapping or frame
        The group of each item; several attributes as a mapping or as columns of a frame.
    evaluators : array-like or str, optional
        Who made each comparison, or the column of `comparisons` that says so.
    ties : array-like (m, 2), optional
        Pairs that were judged equal. They carry no order: counted, and left out of rates.
    reference : array-like, optional
        A label or reference score of each item, to condition on. Agreement is then *standardised*:
        judgments are weighted so that the reference has the same distribution in every kind of
        pair. With more than two values it decides, and the audit of raw agreement is in `raw`.
    cluster : array-like, mapping, frame or str, optional
        What else makes comparisons dependent, such as the prompt of each: comparisons of one
        cluster are not taken to be independent. Several kinds as a mapping, as the columns of a
        frame, or as a list of columns of `comparisons`.
    design : {"auto", "fresh", "shared"}
        Whether items repeat; by default the data say.
    method : {"auto", "disjoint", "dyadic"}
        ``"disjoint"`` tests only pairs that share no item and no evaluator. ``"dyadic"`` uses the
        variance of squared residuals and the normal distribution whatever the counts, as the
        formula is printed; by default few hits or misses get the binomial variance, and few
        evaluators a distribution of their own, because false alarms are not kept otherwise.
    score_ties : {"disagree", "half"}
        Whether a tie of the scores is a disagreement or half of one.
    quality : {"graded", "binary"}
        Whether the judged quality may have more than two values. Across and within hypotheses are
        all there is to test where it has two.
    hypotheses : {"all", "across", "within"}
        Which kinds of pairs the verdict is about.
    continuous : bool
        Compare the values of a numeric attribute: agreement where the better item has the larger
        value against agreement where it has the smaller.
    intersection : bool
        Audit the groups formed by all attributes together, too.
    alpha : float
        Probability of finding any violation where there is none.
    margin : float
        Largest gap that does no harm.
    rule : {"holm", "paper"}
        Holm's correction with the variance of the design, or the two uncorrected z-tests of [1]_,
        which take all pairs to be independent.
    looks : (int, int), optional
        This look and how many are planned, if the audit is repeated as judgments come in.
    anytime : bool
        Whether the finding may be read at any moment, as often as one likes, and stopped on
        (:mod:`comparity.inference.anytime`); instead of planned looks.
    seed : int, optional
        Seed of the choice that ``method="disjoint"`` makes.

    Returns
    -------
    Audit
        Its `design` says which variance was used; with a `reference`, its `notion` whether raw or
        standardised agreement decides, and `imbalance` and `effective_sizes` how well weighting
        worked.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Section 3.3.2.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(7)
    >>> quality, group = rng.normal(size=300), np.array(["a", "b"] * 150)
    >>> pairs = np.array([rng.choice(300, 2, replace=False) for _ in range(1500)])
    >>> better_first = np.where(
    ...     (quality[pairs[:, 0]] > quality[pairs[:, 1]])[:, None], pairs, pairs[:, ::-1])
    >>> scores = quality + rng.normal(size=300) - 1.0 * (group == "b")
    >>> audit = comparative_separation(better_first, scores=scores, sensitive_features=group)
    >>> audit.finding, audit.design
    ('violated', 'shared items')
    """
    pairs, columns, ties = _positions(comparisons, evaluators, cluster, ties)
    judges = columns.pop(EVALUATORS, None)
    options = ComparativeOptions(
        reference=None if reference is None else "reference", cluster=tuple(columns), **choices
    )
    counts = count_position_pairs(
        pairs,
        scores=as_array(scores, "scores"),
        sensitive=named_attributes(sensitive_features),
        evaluators=judges,
        tied_pairs=ties,
        reference=None if reference is None else as_array(reference, "reference"),
        clusters=columns,
        continuous=options.continuous,
        intersection=options.intersection,
        design=design_to_count(options),
    )
    return audit_counts(counts, options, evaluators_known=judges is not None)


def _positions(
    comparisons: Any, evaluators: Any, cluster: Any, ties: Any
) -> tuple[Any, dict[str, NDArray[Any]], Any]:
    """Return pairs as an array, columns of evaluators and clusters, and the tied pairs."""
    frame = of_engine(comparisons, "comparisons")
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        judges = {} if evaluators is None else {EVALUATORS: as_array(evaluators, "evaluators")}
        return comparisons, judges | named_clusters(cluster), ties
    columns = collect_columns(frame.lazy())
    named = [evaluators] if isinstance(evaluators, str) else []
    clusters = [cluster] if isinstance(cluster, str) else cluster
    told = isinstance(clusters, list | tuple) and all(isinstance(one, str) for one in clusters)
    for name in ("better", "worse", *named, *(clusters if told and len(clusters) == 1 else [])):
        if name not in columns:
            raise MissingColumnError(name, "comparisons", list(columns))
    told = told and {*clusters} <= columns.keys()
    beside = {name: columns[name] for name in clusters} if told else named_clusters(cluster)
    read = (*named, "tied", *beside)
    check_outcome_read(comparisons, first="better", second="worse", read=read)
    if evaluators is not None:
        column = columns[evaluators] if named else evaluators
        beside[EVALUATORS] = as_array(column, "evaluators")
    pairs = np.column_stack([columns["better"], columns["worse"]])
    if "tied" not in columns:
        return pairs, beside, ties
    check_lengths({"comparisons": pairs, **beside})
    tied = is_true(columns["tied"], "tied", "comparisons")
    either = pairs[tied] if ties is None else np.vstack([pairs[tied], ties])
    return pairs[~tied], {name: column[~tied] for name, column in beside.items()}, either


def audit_frames(
    comparisons: Any,
    items: Any = None,
    *,
    better: str | None = "better",
    worse: str | None = "worse",
    tied: str | None = None,
    **choices: Any,
) -> Audit:
    """Test comparative separation in frames of any engine.

    Parameters
    ----------
    comparisons : frame
        One row for each judgment, with the ids of the better and the worse item.
    items : frame, optional
        One row for each item. Without it every row of `comparisons` must carry the score and the
        groups of both items, in columns such as ``better_score`` and ``worse_score``.
    better, worse, tied : str
        Columns of `comparisons`. A column called ``tied`` says which judgments are ties unless
        another is named.
    **choices
        Those of :class:`ComparativeForm` but for what says how files are written.
    """
    form = ComparativeForm(better=better, worse=worse, **choices)
    for key in ("layout", "left", "right", "winner", "state", "judgment"):
        if key in choices:
            why = "frames have columns that are named by better and worse"
            if key in ("state", "judgment"):
                why = "a state is kept of files"
            raise OptionError(key, choices[key], [f"no {key}", "files"], why)
    clusters = {name: name for name in form.cluster}
    return _audit_tables(comparisons, items, form, tied=tied, clusters=clusters)


def _audit_tables(
    comparisons: Any,
    items: Any,
    form: ComparativeForm,
    *,
    tied: str | None,
    clusters: dict[str, str],
) -> Audit:
    options = form.narrow(ComparativeOptions)
    columns: dict[str, Any] = {
        "better": form.better,
        "worse": form.worse,
        "evaluator": form.evaluator,
        "tied": tied or _if_present(comparisons, "tied"),
        "score": form.score,
        "sensitive": list(form.sensitive),
        "reference": options.reference,
        "clusters": clusters,
        "continuous": options.continuous,
        "intersection": options.intersection,
        "design": design_to_count(options),
        # Single pairs are needed to choose some of them, or to weigh each.
        "may_sum": options.method != "disjoint",
    }
    if items is None:
        counts = count_wide_comparisons(comparisons, **columns)
    else:
        counts = count_comparisons(comparisons, items, item=form.item, **columns)
    return audit_counts(
        counts,
        options,
        evaluators_known=form.evaluator is not None,
        score=form.score,
        sensitive=list(form.sensitive),
        evaluator=form.evaluator,
    )


def audit_files(comparisons: str | Path, items: str | Path | None = None, **choices: Any) -> Audit:
    """Test comparative separation in files.

    Parameters
    ----------
    comparisons : path
        One row for each judgment, in any layout of :mod:`comparity.tables.layouts`.
    items : path, optional
        One row for each item; without it the comparisons carry scores and groups themselves.
    **choices
        Those of :class:`ComparativeForm`.
    """
    form = ComparativeForm(**choices)
    if items is None and form.state is None:
        return _audit_wide_file(comparisons, form)
    if items is None and not Path(str(form.state)).exists():
        beside = ("{} beside it", Option("items"))
        why = "a state is begun with scores and groups of items"
        raise OptionError("state", form.state, [beside], why)
    read, weighted = _read_judgments(comparisons, form)
    judge = "evaluator" if read.has_evaluators else None
    renamed = replace(form, better="better", worse="worse", evaluator=judge)
    if form.state is not None:
        audit = _audit_with_state(read.frame, items, renamed)
    else:
        clusters = {name: f"kept{place}" for place, name in enumerate(form.cluster)}
        assert items is not None, "without items, rows hold scores and groups"
        known = read_table(items)
        audit = _audit_tables(read.frame, known, renamed, tied="tied", clusters=clusters)
    if weighted:
        audit = _weigh_chosen(audit, read.frame, items, renamed)
    who, notes = read.columns.get("evaluator"), read.notes
    if form.evaluator is None and read.has_evaluators:
        notes = (*notes, f"Who judged was read from column {who!r}.")
    about = {"layout": read.layout, "columns": dict(read.columns), "evaluator": who}
    read_from = (comparisons,) if items is None else (comparisons, items)
    return audit.with_files(*read_from, notes=notes, **about)


def _audit_wide_file(comparisons: str | Path, form: ComparativeForm) -> Audit:
    """Audit judgments whose rows carry the scores and groups of both items."""
    sides = {"left": form.left, "right": form.right, "winner": form.winner}
    _check_wide({"layout": None if form.layout == "auto" else form.layout, **sides})
    table = read_table(comparisons)
    form = replace(
        form,
        better=form.better or _if_present(table, "better"),
        worse=form.worse or _if_present(table, "worse"),
        evaluator=form.evaluator or _if_present(table, "evaluator"),
    )
    clusters = {name: name for name in form.cluster}
    return _audit_tables(table, None, form, tied=None, clusters=clusters).with_files(comparisons)


def _read_judgments(comparisons: str | Path, form: ComparativeForm) -> tuple[ComparisonTable, bool]:
    """Read judgments, and say whether those of chosen pairs are among them, to be weighted."""
    reading = partial(
        read_comparisons,
        comparisons,
        layout=form.layout,
        better=form.better,
        worse=form.worse,
        evaluator=form.evaluator,
        left=form.left,
        right=form.right,
        winner=form.winner,
    )
    kept = form.cluster if form.judgment is None else (form.judgment,)
    read = reading(random_only=True, kept=kept)
    if read.has_probabilities and form.can_be_weighted:
        return reading(kept=(HOW, PROBABILITY)), True
    return read, False


def _weigh_chosen(raw: Audit, comparisons: Any, items: Any, form: ComparativeForm) -> Audit:
    """Weigh judgments by the probabilities of their pairs."""
    from comparity.comparative.chosen import audit_chosen

    rows = collect_columns(open_frame(comparisons, "comparisons")[0].lazy())
    rows |= {"how": rows.pop("kept0"), "probability": rows.pop("kept1")}
    held = collect_columns(open_frame(read_table(items), "items")[0].lazy())
    about = {"item": held[form.item], "score": held[form.score]}
    about |= {name: held[name] for name in form.sensitive}
    options = form.narrow(ComparativeOptions)
    return audit_chosen(raw, rows, about, options, form.sensitive)


def _audit_with_state(comparisons: Any, items: str | Path | None, form: ComparativeForm) -> Audit:
    """Add comparisons to a state once they have passed all checks, and audit what it holds."""
    from comparity.comparative.state import audit_with_state

    def check(table: Any) -> None:
        count_comparisons(
            comparisons,
            table,
            better="better",
            worse="worse",
            evaluator=form.evaluator,
            tied="tied",
            item=form.item,
            score=form.score,
            sensitive=list(form.sensitive),
            continuous=form.continuous,
        )

    columns = collect_columns(open_frame(comparisons, "comparisons")[0].lazy())
    if form.judgment is not None:
        columns["mark"] = columns.pop("kept0")
    assert form.state is not None
    return audit_with_state(form.state, columns, items, form, check=check)


def _check_wide(sides: Mapping[str, str | None]) -> None:
    """Refuse what says how to read who won where rows carry scores and groups themselves."""
    for option, found in sides.items():
        if found is not None:
            why = "rows that carry scores and groups have those of the better item and the worse"
            raise OptionError(option, found, [f"no {option}", "a table of items"], why)


def _if_present(table: Any, column: str) -> str | None:
    return column if column in open_frame(table, "comparisons")[1] else None
