"""What is said of a ranking: first what data show by themselves, then what rests on an anchor."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from comparity.errors.spelling import visible
from comparity.ranking.anchors import ALIGNED, EQUAL_MEANS
from comparity.ranking.fits import SEAT
from comparity.ranking.items import NAMED
from comparity.ranking.pictures import LEVEL, if_equal
from comparity.ranking.result import BiasedRanking, Ranking
from comparity.reports.sections import (
    count,
    interval,
    p_value,
    percent,
    rate,
    several,
    short_id,
    signed,
)

Flags = NDArray[np.bool_]


def sentences_on(ranking: Ranking) -> Iterator[str]:
    """Yield what is found, in the order in which it rests on less to more."""
    if isinstance(ranking, BiasedRanking):
        yield from _found_apart(ranking)
        yield _level(ranking.anchor)
        yield _say_who_leans(ranking)
        yield from _found_together(ranking)
        yield from _found_if_groups_are_equal(ranking)
        yield from _differ_in_sharpness(ranking)
    ties = f", {count(ranking.n_ties)} of them ties" if ranking.n_ties else ""
    yield f"{several(ranking.n_comparisons, 'comparison')}{ties}; {_describe_fit(ranking)}."


def _found_apart(ranking: BiasedRanking) -> Iterator[str]:
    """Say who differs from the panel, which is what data show without any anchor."""
    found, n = ranking.centred_q <= LEVEL, len(ranking.evaluators)
    if n < 2 or not np.isfinite(ranking.centred_q).any():
        return
    apart = _split_findings(ranking, found)[0]
    if n == 2:
        verb = "treat" if apart.any() else "are not found to treat"
        who = f"The two evaluators {verb} the groups differently from each other"
    else:
        verb = {0: "is found to treat", 1: "treats"}.get(int(apart.sum()), "treat")
        who = (
            f"{count(int(apart.sum())) if apart.any() else 'None'} of {count(n)} evaluators {verb}"
        )
        who += " the groups differently from the panel's average"
        who += f" ({_name_apart(ranking, apart)})" if apart.any() else ""
    if ranking.equal_sharpness is not None and if_equal(ranking):
        yield (
            f"If all evaluators were equally consistent, {who[0].lower()}{who[1:]}. They are not "
            f"(p {p_value(ranking.equal_sharpness.p_value)}), and a noisier evaluator then seems "
            'to lean: sharpness="own" (--sharpness own) separates the two.'
        )
        return
    trusted = n - _count_tested(ranking)
    but = "" if trusted < 2 else " but that the trusted treat them alike"
    yield f"{who}. This needs no assumption{but}."


def _name_apart(ranking: BiasedRanking, apart: Flags) -> str:
    """Name those who differ from the panel, the surest first, and by how much."""
    groups = [place for place, one in enumerate(ranking.contrasts) if one != SEAT]
    order = np.argsort(np.nanmin(ranking.centred_q[:, groups], axis=1), kind="stable")
    named = [
        short_id(ranking.evaluators[k])
        + (f" {signed(float(ranking.centred_bias[k, groups[0]]))}" if len(groups) == 1 else "")
        for k in order[apart[order]][:NAMED].tolist()
    ]
    what = f"{ranking.contrasts[groups[0]]}, in {ranking.unit}: " if len(groups) == 1 else ""
    return visible(what) + ", ".join([*named, *(["..."] if apart.sum() > NAMED else [])])


def _say_who_leans(ranking: BiasedRanking) -> str:
    """Say how many evaluators lean if the anchor holds, with the chance between groups."""
    if not np.isfinite(ranking.cautious_q).any():
        return "No bias could be tested; the notes say why."
    found, n = ranking.cautious_q <= LEVEL, len(ranking.evaluators)
    chance = " and all were equally consistent" if if_equal(ranking) else ""
    if not np.array_equal(ranking.cautious_q, ranking.q, equal_nan=True):
        chance = f" for the groups that these items are drawn from{chance}"
    others = _count_tested(ranking)
    if not found.any():
        return (
            f"If that holds{chance}, {_nobody(n, others)} found to lean, at a false-discovery rate "
            f"of {LEVEL:.0%}."
        )
    lean, seated = _count_leaning(ranking, found)
    if lean == n > 1 and _rests_on_groups(ranking) and _same_way(ranking, found):
        return (
            f"If that holds{chance}, all evaluators lean, and the same way. If it does not, the "
            "groups differ in quality instead: these comparisons cannot show which."
        )
    beyond = " beyond the trusted" if ranking.seat is not None else ""
    where = f" toward a group, {count(seated)} toward a seat{beyond}"
    of_whom = f"the other {count(others)}" if 1 < others < n else several(n, "evaluator")
    who = "the other evaluator" if others == lean == 1 < n else f"{count(lean)} of {of_whom}"
    return (
        f"If that holds{chance}, {who} {'leans' if lean == 1 else 'lean'}"
        f"{where if SEAT in ranking.contrasts else ''}; about {percent(LEVEL)} of these findings "
        "are false alarms."
    )


def _count_tested(ranking: BiasedRanking) -> int:
    """Count evaluators of whom a lean could be found: trusted ones have none by assumption."""
    groups = [place for place, one in enumerate(ranking.contrasts) if one != SEAT]
    own = ranking.bias_standard_errors[:, groups]
    return len(own) - int((own == 0).all(axis=1).sum())


def _nobody(n: int, others: int) -> str:
    """Return the words for panels in which no evaluator, trusted ones aside, has a finding."""
    if n == 1:
        return "the only evaluator is not"
    if others == 1:
        return "the other evaluator is not"
    return (
        f"none of {count(n)} evaluators is" if others == n else f"none of the other {others:,} is"
    )


def _rests_on_groups(ranking: BiasedRanking) -> bool:
    """Return whether the anchor is about the worth of groups alone."""
    return ranking.provenance.get("anchor") in (EQUAL_MEANS, ALIGNED)


def _same_way(ranking: BiasedRanking, found: NDArray[np.bool_]) -> bool:
    """Return whether all who are found to lean toward a group lean toward the same one."""
    ways = np.sign(ranking.bias) * found
    groups = np.array([contrast != SEAT for contrast in ranking.contrasts])
    return bool((np.abs(ways.sum(axis=0)) == found.sum(axis=0))[groups].all())


def _count_leaning(ranking: BiasedRanking, found: NDArray[np.bool_]) -> tuple[int, int]:
    """Count evaluators with a finding about a group, and about a seat."""
    toward_group, toward_seat = _split_findings(ranking, found)
    return int(toward_group.sum()), int(toward_seat.sum())


def _split_findings(ranking: BiasedRanking, found: NDArray[np.bool_]) -> tuple[Flags, Flags]:
    """Return which evaluators have a finding about a group, and which about a seat."""
    seats = np.array([contrast == SEAT for contrast in ranking.contrasts])
    toward_group, toward_seat = (np.asarray(found[:, of].any(axis=1)) for of in (~seats, seats))
    return toward_group, toward_seat


def _found_together(ranking: BiasedRanking) -> Iterator[str]:
    """Say where evaluators lean on average though none of them is found to."""
    if not np.isfinite(ranking.cautious_q).any() or (ranking.cautious_q <= LEVEL).any():
        return
    means = zip(ranking.contrasts, ranking.mean_bias, ranking.mean_bias_intervals(), strict=True)
    for contrast, mean, (low, high) in means:
        unit = "logits" if contrast == SEAT else ranking.unit
        if low > 0 or high < 0:
            yield visible(
                f"Together they do ({contrast}): mean bias {signed(float(mean))} {unit}, 95% "
                f"interval {interval(float(low), float(high))}."
            )


def _found_if_groups_are_equal(ranking: BiasedRanking) -> Iterator[str]:
    """Say how many more would lean if the groups compared here had the same mean exactly."""
    more, sure = (_count_leaning(ranking, q <= LEVEL)[0] for q in (ranking.q, ranking.cautious_q))
    if more > sure:
        alike = more > 1 and _same_way(ranking, ranking.q <= LEVEL)
        yield (
            f"If the groups compared here are exactly equal in mean, {count(more)} of "
            f"{several(len(ranking.evaluators), 'evaluator')} {'leans' if more == 1 else 'lean'}"
            f"{', all the same way, as if the groups differed' if alike else ''}."
        )


def _differ_in_sharpness(ranking: BiasedRanking) -> Iterator[str]:
    """Return whether evaluators are equally sharp; where the fit takes them to be, a note does."""
    tested, sharpness = ranking.equal_sharpness, ranking.sharpness
    if tested is None or sharpness is None:
        return
    sizes = np.abs(sharpness.values)
    verb = "differ" if tested.p_value <= LEVEL else "are not found to differ"
    yield (
        f"Evaluators {verb} in sharpness, from {rate(sizes.min())} to {rate(sizes.max())} "
        f"(chi-square {tested.statistic:.1f}, df {tested.dof}, p {p_value(tested.p_value)})."
    )


def _level(anchor: str) -> str:
    kind, _, words = visible(anchor).partition(": ")
    if kind == "none":
        return f"Nothing fixes the common level of the biases: {words}."
    return f"Comparisons do not show the common level of the biases. Assumed ({kind}): {words}."


def _describe_fit(ranking: Ranking) -> str:
    priors = "; ".join(visible(str(prior)) for prior in ranking.priors) or "no prior"
    return priors if ranking.converged else f"{priors}; THE FIT DID NOT CONVERGE"
