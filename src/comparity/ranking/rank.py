"""Ranking a panel's comparisons from tables and files, by any of the models.

The models, and what they are called on the command line, are in :mod:`comparity.ranking.options`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity import __version__
from comparity.errors import Option, OptionError
from comparity.ranking.bias_tests import read_anytime
from comparity.ranking.fits import MARGINAL_LIKELIHOOD
from comparity.ranking.judgments import Judgments, columns_of, judgments_from_frames
from comparity.ranking.options import (
    COMMANDS,
    MODULES,
    RankForm,
    RankingModel,
    all_models,
    check_accepted,
    check_used,
    model_of,
)
from comparity.ranking.panel import PanelAudit, audit_against_panel
from comparity.ranking.places import GroupPlaces, group_places
from comparity.ranking.reliability import RankingReliability, ranking_reliability
from comparity.ranking.result import BiasedRanking, Ranking
from comparity.ranking.simple_models import bradley_terry
from comparity.results.plain import INLINE, Columns
from comparity.results.result import Result
from comparity.tables.columns import check_option, check_sensitive
from comparity.tables.files import file_facts, read_table
from comparity.tables.layouts import ComparisonTable, read_comparisons, to_comparisons
from comparity.tables.values import group_codes, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section

WANTED: dict[str, dict[str, str | tuple[str, Option]]] = {
    "groups": {
        "items": "a table of items with their groups",
        "sensitive": "a column of the items",
    },
    "evaluators": {
        "evaluator": ("the column of the comparisons with who judged, by {}", Option("evaluator"))
    },
    "seats": {"seat": "the column of the comparisons with who was shown first"},
}
"""What is asked for where a model needs it."""


ENOUGH_EVALUATORS = 30
"""Evaluators from which on errors of scores may be clustered by them: sums over fewer clusters are
known to a fourth and worse."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedPanel(Result):
    """Items ranked from a panel's comparisons.

    Attributes
    ----------
    ranking : Ranking
        The ranking asked for.
    before : Ranking or None
        The Bradley-Terry ranking of the same comparisons with the same prior of scores, which
        takes every evaluator at face value, where the ranking asked for does not.
    groups : mapping of str to ndarray
        Group of each item, by attribute.
    audit : PanelAudit or None
        Of a model's scores against the ranking, where one was asked for.
    places : tuple of GroupPlaces
        How groups stand in the places of the ranking, by attribute, where that was asked for.
    reliability : RankingReliability or None
        How much of the ranking would come back with other evaluators, where that was asked for.
    """

    ranking: Ranking = field(metadata={**INLINE, "kind": "fit"})
    before: Ranking | None = None
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    audit: PanelAudit | None = None
    places: tuple[GroupPlaces, ...] = ()
    reliability: RankingReliability | None = None

    DERIVED: ClassVar[Mapping[str, str]] = {"ranking": "columns", "mean_scores": "mean_scores"}

    @property
    def exit_status(self) -> int:
        """What a command that made this returns to the shell; a ranking alone judges nothing."""
        return 0 if self.audit is None else self.audit.exit_status

    def mean_scores(self) -> list[dict[str, Any]]:
        """Return the number and the mean score of the items of each group, before and after."""
        rows = []
        for attribute, groups in self.groups.items():
            for group in sorted({str(name) for name in groups.tolist()}):
                inside = np.array([str(name) == group for name in groups.tolist()])
                before = None if self.before is None else float(self.before.scores[inside].mean())
                rows.append(
                    {
                        "attribute": attribute,
                        "group": group,
                        "items": int(inside.sum()),
                        "before": before,
                        "after": float(self.ranking.scores[inside].mean()),
                    }
                )
        return rows

    def columns(self) -> Columns:
        """Return what is known of each item, best first, with its groups."""
        order, known = self.ranking.ranking, self.ranking.columns()
        groups = {name: [*map(str, one[order].tolist())] for name, one in self.groups.items()}
        before = [None] * len(order) if self.before is None else self.before.scores[order]
        added = {"groups": Columns(len(order), groups), "score_before": before}
        return Columns(len(order), {**known.values, **added})

    def parts(self) -> dict[str, Result]:
        """Return what was asked for besides: places of groups, reliability, audit of a model."""
        parts: dict[str, Result] = {f"Places by {one.attribute}": one for one in self.places}
        if self.reliability is not None:
            parts["Reliability"] = self.reliability
        return parts if self.audit is None else {**parts, "A model against this panel": self.audit}

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        from comparity.ranking.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each item, best first."""
        return self.ranking.to_frame(backend)

    def with_provenance(self, **facts: Any) -> RankedPanel:
        """Return the same with more facts about the data."""
        known = {**self.ranking.provenance, **facts}
        return replace(self, ranking=replace(self.ranking, provenance=known))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the evaluators' biases, or the scores where the model has no biases."""
        return self.ranking.plot(ax)

    def plot_scores(self, attribute: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the scores of each group, before and after."""
        from comparity.ranking.pictures import plot_scores

        return plot_scores(self, attribute, ax=ax)


def rank_frames(
    comparisons: Any,
    items: Any = None,
    *,
    model: str = "barp",
    sensitive: Sequence[str] = (),
    evaluator: str | None = None,
    better: str = "better",
    worse: str = "worse",
    tied: str | None = None,
    seat: str | None = None,
    item: str = "item",
    clusters: Mapping[str, str] | None = None,
    score: str | None = None,
    alpha: float = 0.05,
    margin: float = 0.05,
    seed: int = 0,
    anytime: bool = False,
    **choices: Any,
) -> RankedPanel:
    """Rank items from frames of any engine.

    Parameters
    ----------
    comparisons : frame
        One row for each comparison.
    items : frame, optional
        One row for each item, with its groups; needed by models that know groups.
    model : str
        How to rank: a name of :data:`comparity.ranking.options.MODULES`, or that of its function.
    sensitive : sequence of str
        Columns of `items` with the groups.
    evaluator, better, worse, tied, seat : str
        Columns of `comparisons`; evaluators are refused by models that take all alike.
    item : str
        Column of `items` with the id.
    clusters : mapping of str to str, optional
        Column of `comparisons` with what they share, by what it is called.
    score : str, optional
        Column of `items` with a model's score, to be audited against the bias-adjusted panel.
    alpha, margin : float
        As in :func:`comparity.separation`, for that audit.
    seed : int
        Of the folds of cross-validation, and of what that audit draws.
    anytime : bool
        Whether findings about who leans may be read at any moment, as comparisons come in.
    **choices
        Further choices of the model's function.

    Raises
    ------
    ComparityError
        A column is missing or broken, or the model needs what was not given.
    """
    model = COMMANDS.get(model, model)
    check_option("model", model, tuple(MODULES))
    description = model_of(model)
    if sensitive:
        check_sensitive(sensitive)
    given = {"items": items, "sensitive": sensitive or None, "evaluator": evaluator, "seat": seat}
    _check_given(model, given)
    if items is None:
        _check_no_items({"sensitive": sensitive, "score": score, "item": item})
    made = {"evaluator": evaluator, "seat": seat, "cluster": clusters, **choices}
    made["anytime"] = anytime or None
    check_accepted(model, {name: one for name, one in made.items() if one is not None})
    check_used({**choices, "score": score, "alpha": alpha, "margin": margin, "seed": seed})
    # At once, because a query asked twice may answer in another order.
    held = None if items is None else columns_of(items, "items", [item, *sensitive, score])
    columns = {"better": better, "worse": worse, "item": item}
    judgments = judgments_from_frames(
        comparisons, held, **columns, evaluator=evaluator, tied=tied, seat=seat, clusters=clusters
    )
    if judgments.n_ties and "ties" not in description.accepts:
        raise OptionError("tied", tied, ["comparisons without ties"], f"{model} knows no ties")
    choices |= {"seed": seed} if "seed" in description.accepts else {}
    features = {} if held is None else {name: held[name] for name in sensitive}
    ranking = _fit(description, judgments, features, choices)
    if anytime and isinstance(ranking, BiasedRanking):
        ranking = read_anytime(ranking)
    groups = {name: _group_of_items(column, name) for name, column in features.items()}
    before = None
    if "groups" in description.needs:
        unnamed = replace(
            judgments, clusters={}, evaluator=None, evaluators=np.empty(0, dtype=object)
        )
        before = _in_unit(bradley_terry(unnamed, prior=_score_prior(ranking)), ranking.unit)
    audit = None
    if score is not None:
        audit = _audit_score(ranking, held, groups, score, alpha=alpha, margin=margin, seed=seed)
    return RankedPanel(ranking=ranking, before=before, groups=groups, audit=audit)


def _fit(
    model: RankingModel,
    judgments: Judgments,
    sensitive_features: Mapping[str, NDArray[Any]],
    choices: Mapping[str, Any],
) -> Ranking:
    """Fit a model to judgments that hold their evaluators, ties and seats already."""
    keywords = {model.keywords.get(name, name): value for name, value in choices.items()}
    if "groups" in model.needs:
        keywords["sensitive_features"] = sensitive_features
    if "evaluators" in model.needs:
        keywords["evaluators"] = None
    ranking: Ranking = model.fit(judgments, **keywords)
    return ranking


def _group_of_items(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the group of each item as it is named everywhere; none is missing."""
    codes, names = group_codes(column, name, "items", several=False)
    return np.array(names, dtype=object)[codes]


def _score_prior(ranking: Ranking) -> float | str | None:
    """Return a prior of scores with which others are on the same scale."""
    sds = [prior.sd for prior in ranking.priors if prior.of == "scores"]
    if not sds or ranking.unit != "logits":
        return MARGINAL_LIKELIHOOD
    return None if math.isinf(sds[0]) else sds[0]


def _in_unit(ranking: Ranking, unit: str) -> Ranking:
    """Return a ranking in logits as it is, or in SDs of its scores."""
    if unit == ranking.unit:
        return ranking
    sd = ranking.priors[0].sd
    scores, errors = ranking.scores / sd, ranking.standard_errors / sd
    return replace(ranking, scores=scores, standard_errors=errors, unit=unit)


def _audit_score(
    ranking: Ranking, held: Any, groups: Mapping[str, NDArray[Any]], score: str, **choices: Any
) -> PanelAudit:
    if not isinstance(ranking, BiasedRanking) or len(groups) != 1:
        why = "a model is audited against a panel adjusted for its bias toward one kind of groups"
        raise OptionError("score", score, ["None", "barp with one sensitive column"], why)
    ((attribute, group),) = groups.items()
    found = audit_against_panel(
        ranking, numbers(held[score], score, "items"), sensitive_features=group, **choices
    )
    known = {**found.provenance, "data": {"score": score, "sensitive": [attribute]}}
    return replace(found, audit=replace(found.audit, provenance=known))


def _check_given(model: str, given: Mapping[str, Any]) -> None:
    """Refuse to go on without what the model needs."""
    for need in model_of(model).needs:
        for option, allowed in WANTED[need].items():
            if given[option] is None:
                free = [name for name, other in all_models().items() if need not in other.needs]
                why = f"{model} needs it; {' and '.join(free)} rank without"
                raise OptionError(option, None, [allowed], why)


def _check_no_items(named: Mapping[str, Any]) -> None:
    """Refuse names of columns of the items where there is no table of items."""
    for option, value in named.items():
        if value and value != "item":
            beside = ("{} beside it", Option("items"))
            raise OptionError(option, value, [beside], "it is a column of the items, none given")


def rank_files(
    comparisons: str | Path, items: str | Path | None = None, **choices: Any
) -> RankedPanel:
    """Rank items from files.

    Parameters
    ----------
    comparisons : path
        One row for each comparison, in any layout of :mod:`comparity.tables.layouts`.
    items : path, optional
        One row for each item.
    **choices
        Those of :class:`comparity.ranking.options.RankForm`.
    """
    form = RankForm(**choices)
    read = read_comparisons(comparisons, **form.layout_of_comparisons())
    panel = rank_table(read, None if items is None else read_table(items), form)
    if form.reliability:
        panel = replace(panel, reliability=_reliability(comparisons, form))
    paths = [path for path in (comparisons, items) if path is not None]
    return panel.with_provenance(
        version=__version__,
        layout=read.layout,
        columns=form.columns_read(read.columns),
        files=[one for path in paths for one in file_facts(path)],
        notes=list(read.notes),
    )


def _reliability(comparisons: str | Path, form: RankForm) -> RankingReliability:
    """Estimate how reliable a ranking is, from pairs that were not chosen by earlier answers."""
    drawn = read_comparisons(comparisons, random_only=True, **form.layout_of_comparisons())
    who = "evaluator" if drawn.has_evaluators else None
    judged = judgments_from_frames(drawn.frame, evaluator=who, tied="tied")
    return ranking_reliability(judged, seed=form.seed)


def rank_layout(comparisons: Any, items: Any = None, **choices: Any) -> RankedPanel:
    """Rank items from frames of any engine, of any layout; `choices` as in :func:`rank_files`."""
    form = RankForm(**choices)
    read = to_comparisons(comparisons, **form.layout_of_comparisons())
    columns, notes = form.columns_read(read.columns), list(read.notes)
    panel = rank_table(read, items, form)
    return panel.with_provenance(
        version=__version__, layout=read.layout, columns=columns, notes=notes
    )


def rank_table(read: ComparisonTable, items: Any, form: RankForm) -> RankedPanel:
    """Rank items from comparisons of any layout that were read, and a frame of items."""
    seats = form.seats or form.own_seats
    if seats and not read.has_seats:
        raise OptionError("seats", read.layout, ["a layout with a left and a right item"])
    tells_apart = "evaluators" in model_of(form.model).accepts
    asked = ("model", "sensitive", "item", "score", "alpha", "margin", "seed")
    panel = rank_frames(
        read.frame,
        items,
        evaluator="evaluator" if read.has_evaluators and tells_apart else None,
        clusters={form.cluster: "kept0"} if form.cluster else None,
        tied="tied",
        seat="seat" if seats else None,
        **{name: getattr(form, name) for name in asked},
        **form.for_model(),
    )
    number = panel.ranking.n_clusters.get(form.cluster or "", ENOUGH_EVALUATORS)
    if form.cluster == read.columns.get("evaluator") and number < ENOUGH_EVALUATORS:
        why = f"{number} evaluators are too few to say how evaluators differ; errors without it "
        raise OptionError("cluster", form.cluster, ["the prompt", "none"], why + "are about these")
    if form.places or form.top is not None:
        about = {name: getattr(form, name) for name in ("discount", "top", "protected", "share")}
        found = group_places(panel.ranking, sensitive_features=panel.groups, **about)
        panel = replace(panel, places=found)
    return panel
