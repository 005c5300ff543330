"""How often a model orders judged pairs as the judges did, by kind of pair."""

from __future__ import annotations

from typing import Literal

from comparity.counts.pairs import Cell, PairCounts, SharedPairCounts

__all__ = ["agreement_gap", "agreement_rate"]

ScoreTies = Literal["disagree", "half"]


def agreement_rate(
    counts: PairCounts | SharedPairCounts, cell: Cell, *, score_ties: ScoreTies = "disagree"
) -> float:
    r"""Share of the judged pairs of a cell that the model orders as the judges did.

    .. math:: \mathrm{TPR}(a) = P(C = 1 \mid Y = 1, A = a)

    where :math:`Y = 1` says the judge put the first item above the second, :math:`C = 1` that the
    model does too, and :math:`A` is the cell of the pair [1]_. Judgments that put neither item
    first are not counted.

    Parameters
    ----------
    counts : PairCounts or SharedPairCounts
        Agreement by cell.
    cell : Cell
        ``(group of the better item, group of the worse)``.
    score_ties : {"disagree", "half"}
        What a pair with equal model scores counts for: nothing, so that equation (9) of [1]_ holds
        for hard 0/1 predictions, or half an agreement.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when the cell holds no judged pair.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", eqs. (3), (9) and (36).

    Examples
    --------
    >>> from comparity.counts.pairs import Cell, PairCounts
    >>> from comparity.counts.decisions import Tally
    >>> counts = PairCounts({Cell("a", "b"): Tally(80, 100, 6)})
    >>> agreement_rate(counts, Cell("a", "b"))
    0.8
    >>> agreement_rate(counts, Cell("a", "b"), score_ties="half")
    0.83
    """
    tally = counts[cell]
    return tally.half_rate if score_ties == "half" else tally.rate


def agreement_gap(
    counts: PairCounts | SharedPairCounts,
    first: Cell,
    second: Cell,
    *,
    score_ties: ScoreTies = "disagree",
) -> float:
    r"""Difference in how often a model agrees with judges in two kinds of pairs.

    .. math:: \Delta = P(C = 1 \mid Y = 1, A = a) - P(C = 1 \mid Y = 1, A = b)

    where :math:`Y = 1` says the judge put the first item above the second, :math:`C = 1` that the
    model does too, and :math:`A` is the cell of the pair. Comparative separation holds when the
    gap is zero for every two cells [1]_.

    Parameters
    ----------
    counts : PairCounts or SharedPairCounts
        Agreement by cell.
    first, second : Cell
        The cells to compare, ``(group of the better item, group of the worse)``.
    score_ties : {"disagree", "half"}
        What a pair with equal model scores counts for, see :func:`agreement_rate`.

    Returns
    -------
    float
        Between -1 and 1; positive when the model agrees more often in `first`.
        ``nan`` when either cell holds no judged pair.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", eqs. (3)-(4).

    Examples
    --------
    >>> from comparity.counts.pairs import Cell, PairCounts
    >>> from comparity.counts.decisions import Tally
    >>> a_over_b, b_over_a = Cell("a", "b"), Cell("b", "a")
    >>> counts = PairCounts({a_over_b: Tally(80, 100), b_over_a: Tally(45, 60)})
    >>> round(agreement_gap(counts, a_over_b, b_over_a), 3)
    0.05
    """
    first_rate = agreement_rate(counts, first, score_ties=score_ties)
    return first_rate - agreement_rate(counts, second, score_ties=score_ties)
