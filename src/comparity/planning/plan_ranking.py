"""Plans of panels: how many comparisons show that an evaluator leans."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from comparity import __version__
from comparity.errors import PlanError
from comparity.inference.power import LARGEST_SIZE
from comparity.planning.assumptions import (
    check_choices,
    check_proportion,
    check_whole,
    with_plain_numbers,
)
from comparity.planning.power import LeanQuestion
from comparity.planning.result import Plan
from comparity.results.plain import as_plain

if TYPE_CHECKING:
    from comparity.reports.sections import Section

__all__ = [
    "RULES",
    "PlannedLean",
    "RankingPlan",
    "plan_ranking",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLean:
    """One lean as it would be looked for.

    Attributes
    ----------
    lean : float
        What the evaluator adds to the log odds of items of the group.
    n_per_evaluator : int or None
        Comparisons by each evaluator; ``None`` where no number gives the power wanted.
    standard_error : float
        Standard error the estimated lean would have.
    power : float
        Probability that the evaluator is found to lean; with comparisons without end where
        `n_per_evaluator` is ``None``.
    """

    lean: float
    n_per_evaluator: int | None
    standard_error: float
    power: float

    DERIVED: ClassVar[Mapping[str, str]] = {"preferred": "preferred"}

    @property
    def preferred(self) -> float:
        """How often the evaluator prefers an item of the group to an equal one of another."""
        return 1 / (1 + math.exp(-self.lean))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingPlan(Plan):
    """A plan to find out which evaluators of a panel lean.

    Power is the probability that an evaluator with the planned lean is found; `alpha` is the false
    discovery rate among all evaluators, or the level of the one test by the rule ``"single"``.

    Attributes
    ----------
    n_per_evaluator : int or None
        Comparisons by each evaluator, ties included; ``None`` where no number gives the power
        wanted.
    n_items, n_evaluators : int
        Items that pairs are drawn from, and evaluators.
    leans : tuple of PlannedLean
        Smaller and larger leans, the planned one among them: the comparisons they take for the
        power wanted, or the power that they have with these comparisons.
    lean : float
        The planned one.
    ceiling : float
        Power as comparisons of these items grow without end.
    """

    n_per_evaluator: int | None
    n_items: int
    n_evaluators: int
    leans: tuple[PlannedLean, ...]
    lean: float
    ceiling: float

    DERIVED: ClassVar[Mapping[str, str]] = {**Plan.DERIVED, "n_comparisons": "n_comparisons"}

    @property
    def notion(self) -> str:
        """What is to be found."""
        return "leaning evaluators"

    @property
    def size(self) -> int | None:
        """Number of comparisons by each evaluator."""
        return self.n_per_evaluator

    @property
    def unit(self) -> str:
        """What the size is a number of."""
        return "comparisons by each evaluator"

    @property
    def n_comparisons(self) -> int | None:
        """Comparisons by all evaluators together."""
        return None if self.n_per_evaluator is None else self.n_per_evaluator * self.n_evaluators

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.planning.section import ranking_plan_section

        return ranking_plan_section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each lean, as a frame of the named engine.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The engine; the first of these that is installed by default.
        """
        from comparity.reports.frames import frame_of_rows

        return frame_of_rows(as_plain(self.leans), backend)


RULES = ("fdr", "single")
OTHER_LEANS = (0.5, 0.75, 1.0, 1.5, 2.0)
"""Leans that a plan tells about, as multiples of the planned one."""
LARGEST_LEAN = 20.0
"""Log odds beyond which an evaluator never decides for the other group, however often asked."""
LARGEST_SPREAD = 100.0
"""Spreads of scores beyond which the grid of the kernel is too coarse for the few close pairs."""
# The estimated lean is about normal from here on.
FEW_ACROSS = 30
# Below this many comparisons of an item, its score costs much of what evaluators tell.
FEW_EACH = 10


@with_plain_numbers
def plan_ranking(
    *,
    lean: float,
    n_items: int,
    n_evaluators: int,
    share: float = 0.5,
    score_spread: float = 1.0,
    n_per_evaluator: int | None = None,
    power: float | None = None,
    others_leaning: float = 0.0,
    tie_share: float = 0.0,
    alpha: float = 0.05,
    rule: str = "fdr",
    cautious: bool = False,
) -> RankingPlan:
    """Plan to find who leans: the power of so many comparisons each, or those a power takes.

    Exactly one of `n_per_evaluator` and `power` is given; the other is found. Every evaluator
    judges as many pairs, drawn at random from the same items, and :func:`comparity.barp` ranks.

    Parameters
    ----------
    lean : float
        The lean to be found: what an evaluator adds to the log odds that an item of the group is
        preferred. With 0.4 it wins 60 % against an equal one of another group, with 1.1 it is 75 %.
    n_items, n_evaluators : int
        Items that pairs are drawn from, and evaluators.
    share : float, default 0.5
        Share of the group among the items.
    score_spread : float, default 1
        Standard deviation of the items' scores in log odds, at most 100; a pilot's ranking tells
        it (the prior of its scores). With 1 the better of two random items wins 73 % of the time,
        with 2 it is 83 %, with 5 it is 92 %.
    n_per_evaluator : int, optional
        Comparisons by each evaluator, ties included.
    power : float, optional
        Power wanted.
    others_leaning : float, default 0
        Share of the other evaluators who lean as much: the more do, the easier each is found.
    tie_share : float, default 0
        Share of the judgments that will be ties, taken to tell nothing.
    alpha : float, default 0.05
        False discovery rate among the evaluators; by the rule ``"single"`` the level of the test of
        one evaluator who was named in advance.
    rule : {"fdr", "single"}, default "fdr"
        Whether all evaluators are looked at, or one.
    cautious : bool, default False
        Allow for groups that differ by chance (the cautious q of a ranking), instead of taking
        their true means to be equal.

    Returns
    -------
    RankingPlan
        With ``n_per_evaluator``, ``power``, ``leans``, ``ceiling`` and ``curve()``.
        ``n_per_evaluator`` is ``None`` where no number of comparisons has the power wanted, and a
        note says why.

    Raises
    ------
    PlanError
        If a number or choice is impossible.

    See Also
    --------
    comparity.planning.power : The formulas.

    References
    ----------
    .. [1] Ferrara, Bonchi, Fabbri, Karimi and Wagner, "Bias-aware ranking from pairwise
       comparisons", 2024: the model.

    Examples
    --------
    >>> plan = plan_ranking(lean=1.0, n_items=100, n_evaluators=20, power=0.8)
    >>> plan.n_comparisons == 20 * plan.n_per_evaluator
    True
    >>> plan_ranking(lean=1.0, n_items=100, n_evaluators=20, power=0.8, cautious=True).power >= 0.8
    True
    """
    asked = {"n_per_evaluator": n_per_evaluator, "power": power}
    choices = {"alpha": alpha, "margin": None, "rule": rule}
    check_choices(asked | choices, "n_per_evaluator", RULES)
    question = LeanQuestion(
        lean=lean,
        share=share,
        score_spread=score_spread,
        n_items=n_items,
        n_evaluators=n_evaluators,
        others_leaning=others_leaning,
        tie_share=tie_share,
        alpha=alpha,
        rule=rule,
        cautious=bool(cautious),
    )
    _check(question)
    leans = tuple(
        _planned(replace(question, lean=times * lean), n_per_evaluator, power)
        for times in OTHER_LEANS
    )
    own = leans[OTHER_LEANS.index(1.0)]
    assumptions = asdict(question) | asked
    return RankingPlan(
        n_per_evaluator=own.n_per_evaluator,
        power=own.power,
        target=power,
        tests=(),
        groups=(),
        alpha=alpha,
        margin=None,
        rule=rule,
        design="a panel of evaluators",
        n_items=n_items,
        n_evaluators=n_evaluators,
        leans=leans,
        lean=lean,
        ceiling=question.limit(),
        notes=(*_notes(question, own, power), *_foregone(question, leans)),
        assumptions=assumptions,
        provenance={"version": __version__, "options": assumptions},
        question=question,
    )


def _check(question: LeanQuestion) -> None:
    """Refuse panels that there cannot be."""
    n_items = question.n_items
    hint = "say how many items there are to compare, and how many evaluators compare them"
    for name, found, least in (("n_items", n_items, 2), ("n_evaluators", question.n_evaluators, 1)):
        check_whole(name, "nothing" if found is None else found, least=least, hint=hint)
    if not _is_number(question.lean) or question.lean == 0:
        hint = "give log odds other than zero: 0.4 where 60 % of equals are decided for the group"
        raise PlanError("lean must be a number that there is to find", f"{question.lean!r}", hint)
    if abs(question.lean) > LARGEST_LEAN:
        hint = "give log odds, not a percentage: 0.4 where 60 % of equals are decided for the group"
        asked = f"lean must lie between {-LARGEST_LEAN:g} and {LARGEST_LEAN:g}"
        raise PlanError(asked, f"{question.lean!r}", hint)
    if not _is_number(question.score_spread) or not 0 <= question.score_spread <= LARGEST_SPREAD:
        hint = "give a standard deviation of scores in log odds, such as 1"
        asked = f"score_spread must lie between 0 and {LARGEST_SPREAD:g}"
        raise PlanError(asked, f"{question.score_spread!r}", hint)
    if not _is_number(question.share) or not 1 <= question.share * n_items <= n_items - 1:
        hint = f"give a share, such as 0.3, that has one of {n_items} items in the group and out"
        asked = "share must leave items in the group and out of it"
        raise PlanError(asked, f"{question.share!r}", hint)
    if not _is_number(question.others_leaning) or not 0 <= question.others_leaning <= 1:
        hint = "give the share of the other evaluators who lean as much, such as 0.2"
        raise PlanError("others_leaning must lie in [0, 1]", f"{question.others_leaning!r}", hint)
    hint = "give the share of judgments that will be ties"
    check_proportion("tie_share", question.tie_share, hint=hint)


def _is_number(found: Any) -> bool:
    return isinstance(found, Real) and math.isfinite(float(found))


def _planned(question: LeanQuestion, size: int | None, target: float | None) -> PlannedLean:
    """Say what a lean takes, or how likely it is found; endless comparisons where none do."""
    taken = size if target is None else question.smallest_size(target)
    at = float(LARGEST_SIZE) if taken is None else taken
    return PlannedLean(
        lean=question.lean,
        n_per_evaluator=taken,
        standard_error=question.standard_error(at),
        power=question.power(at),
    )


def _notes(question: LeanQuestion, own: PlannedLean, target: float | None) -> Iterator[str]:
    """Say what the reader of a plan must know."""
    chance = question.chance_between_groups
    if own.n_per_evaluator is None and not question.cautious:
        yield (
            f"a power of {target:g} takes more than {LARGEST_SIZE:,} comparisons by each evaluator"
        )
    elif own.n_per_evaluator is None:
        yield (
            f"a power of {target:g} is not reachable with these items: however many comparisons "
            f"are made, the power stays below {own.power:.4g}, since groups of so few items differ "
            f"by {chance:.2g} by chance; plan for more items, or judge with evaluators known not "
            "to lean (--trusted of comparity rank)"
        )
    elif question.across(own.n_per_evaluator) < FEW_ACROSS:
        yield (
            f"fewer than {FEW_ACROSS} comparisons of each evaluator are across groups: the normal "
            "approximation is rough there"
        )
    if own.n_per_evaluator is not None:
        each = 2 * own.n_per_evaluator * question.n_evaluators / question.n_items
        if each < FEW_EACH:
            yield (
                f"an item is in {each:.1f} comparisons on average: much of what evaluators tell "
                "goes into its score, and the power is a rough guess"
            )
    if not question.cautious and chance:
        yield (
            "groups are taken to have equal true means; if they are samples, their means differ by "
            f"{chance:.2g} by chance (standard deviation), which a ranking takes for a lean that "
            "all evaluators share; plan with cautious=True (--cautious) to allow for it"
        )


def _foregone(question: LeanQuestion, leans: Sequence[PlannedLean]) -> Iterator[str]:
    """Say which leans are so large that the normal approximation asks for too much."""
    foregone = [
        one.lean
        for one in leans
        if one.n_per_evaluator is not None
        and replace(question, lean=one.lean).against(one.n_per_evaluator) < 1
    ]
    if foregone:
        yield (
            f"hardly a comparison is expected to go against a lean of {foregone[0]:+.3g} or "
            "further from zero: such a lean is found more often, and with fewer comparisons, than "
            "the normal approximation says"
        )
