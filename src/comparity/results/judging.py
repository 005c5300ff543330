"""From tests to findings, and the order in which they are decided.

A test that does not reject equality has not shown it. So each test gets one of three findings,
decided in this order:

1. *within the margin*: two one-sided tests at ``alpha`` say that the gap is smaller than the margin
   (if equality is rejected too, ``differs_from_zero`` says so). Where not all gaps of an audit are,
   those that are have to be so after Holm's correction;
2. *violated*: equality is rejected after Holm's correction over all tests of the audit;
3. *undecided*: neither, or no test was possible.

An audit is violated if any of its tests is, within the margin if all are (an intersection-union
test, which needs no correction), otherwise undecided. Under the rule of Xi et al.
(``rule="paper"``) every rejection at ``alpha``, uncorrected, is a violation whatever the margin, so
2. comes before 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.inference.anytime import level_of_a_look, read_anytime
from comparity.inference.gap_tests import GapTest, Needed, items_to_see
from comparity.inference.looks import nominal_level, overall_p_value
from comparity.inference.multiplicity import FamilyOutcome, hochberg, holm, max_t, no_correction
from comparity.inference.requirement import needed_by_tests
from comparity.results.audit import Audit, JudgedGap
from comparity.results.options import AuditOptions, provenance
from comparity.results.result import EXIT_STATUS, UNDECIDED, VIOLATED, WITHIN

FEW_CLUSTERS = 12
"""So many clusters, or fewer, are named as few: the numbers whose signs are flipped in tests."""


def judge(
    tests: Sequence[GapTest],
    *,
    alpha: float,
    margin: float,
    rule: str = "holm",
    looks: tuple[int, int] | None = None,
    anytime: bool = False,
    n: int,
    n_items: int,
    further: Sequence[GapTest] = (),
    factors: Sequence[NDArray[np.float64]] | None = None,
    advises: bool = True,
) -> tuple[JudgedGap, ...]:
    """Give every test of an audit its finding.

    A gap between pairs of items is within the margin only if its groups have enough items: with
    few, bad items that would fill the margin may be missing from the sample by chance
    (:func:`comparity.inference.gap_tests.items_to_see`). Otherwise it stays open, with the reason.

    Parameters
    ----------
    tests : sequence of GapTest
        All tests of the audit: they form one family.
    alpha, margin : float
        Overall false-alarm rate and largest harmless gap.
    rule : {"holm", "paper"}
        Holm's correction, or none.
    looks : (int, int), optional
        This look and the number of planned looks.
    anytime : bool
        Whether findings hold at any moment (:mod:`comparity.inference.anytime`). Holm's correction
        is then that of e-values, whatever `factors` say.
    n, n_items : int
        Judgments and items there are now, for what would decide.
    further : sequence of GapTest
        Gaps that have to be within the margin, too, whose equality is not tested by themselves.
    factors : sequence of ndarray, optional
        How the statistics of the tests vary together, for
        :func:`comparity.inference.multiplicity.max_t` instead of Holm's correction.
    advises : bool
        Whether to say what would decide, which takes a while.

    Returns
    -------
    tuple of JudgedGap
        The tests, then the further gaps.
    """
    look, planned = looks or (1, 1)
    single = [*tests, *further]
    gaps = single
    if anytime:
        gaps = [read_anytime(one, margin=margin, alpha=alpha) for one in single]
        tests, factors = gaps[: len(tests)], None
    family = _correct([test.p_value for test in tests], alpha, rule, looks, factors)
    rejected = [*family.rejected, *[False] * len(further)]
    adjusted = [*family.adjusted, *[float("nan")] * len(further)]
    local = [*family.local_alpha, *[alpha] * len(further)]
    equivalence = [gap.equivalence_p_value(margin) for gap in gaps]
    # One-sided at alpha is half of two-sided at twice alpha, at this look as at any other.
    overall = [_overall(min(2 * p, 1.0), look, planned) / 2 for p in equivalence]
    seen = [gap.has_seen_enough(margin, alpha) for gap in gaps]
    # Whatever the pairs of too few items say, it is no test of what these items have not shown.
    known = [p if enough else math.nan for p, enough in zip(overall, seen, strict=True)]
    inside = hochberg(known, alpha)
    findings = [
        _finding(rejected=differs, inside=within, paper=rule == "paper")
        for differs, within in zip(rejected, inside.rejected, strict=True)
    ]
    still_open = [
        place for place, finding in enumerate(findings) if advises and finding == UNDECIDED
    ]
    # More data will be judged at the last look, or where a boundary is narrowest.
    last = level_of_a_look if anytime else partial(_level_at, look=planned, planned=planned)
    needed = needed_by_tests(
        [single[place] for place in still_open],
        margin=margin,
        alpha=last(min(2 * alpha, 1.0)) / 2,
        local_alphas=[last(local[place]) for place in still_open],
        n=n,
        n_items=n_items,
    )
    deciding = {
        place: found and _with_items_to_see(found, gaps[place], margin, alpha, n, n_items)
        for place, found in zip(still_open, needed, strict=True)
    }
    names = [field.name for field in fields(GapTest)]
    return tuple(
        JudgedGap(
            **{name: getattr(gap, name) for name in names}
            | {"reason": _say_too_few(gap, overall[place], margin, alpha) or gap.reason},
            p_adjusted=adjusted[place],
            level=1 - _level_at(local[place], look, planned),
            equivalence_level=1 - _level_at(min(2 * inside.local_alpha[place], 1.0), look, planned),
            finding=findings[place],
            differs_from_zero=rejected[place],
            equivalence_p=equivalence[place],
            needed=deciding.get(place),
        )
        for place, gap in enumerate(gaps)
    )


def _say_too_few(gap: GapTest, equivalence_p: float, margin: float, alpha: float) -> str:
    """Return a note where items are too few for the finding that their pairs would give."""
    if gap.has_seen_enough(margin, alpha) or not equivalence_p <= alpha:
        return ""
    needed = items_to_see(margin, alpha)
    found, wanted = (
        f"a group has {gap.smallest_group:,} items only",
        f"{needed:,} items of each group",
    )
    if gap.smallest_group is None or gap.smallest_group >= needed:
        found = f"a kind of pairs has {gap.smallest_role:,} better or worse items only"
        wanted = f"{math.ceil(needed / 2):,} better and as many worse ones"
    return (
        f"no pair speaks against a gap below {margin:g}, but {found}: bad ones that would fill "
        f"that margin can have been missed unless {wanted} are seen"
    )


def _with_items_to_see(
    needed: Needed, gap: GapTest, margin: float, alpha: float, n: int, n_items: int
) -> Needed:
    """Ask for the items without which no gap is found within the margin."""
    if gap.has_seen_enough(margin, alpha):
        return needed
    factor = 1 / max(gap.share_seen(margin, alpha), 1 / items_to_see(margin, alpha))
    # A gap as large as the margin is decided by being found, which takes no certain items.
    inside = [abs(truth) < margin for truth in (gap.gap, 0.0)]
    items, judgments = (
        tuple(
            max(size, math.ceil(factor * now)) if within else size
            for size, within in zip(sizes, inside, strict=True)
        )
        for sizes, now in ((needed.items, n_items), (needed.judgments_with_items, n))
    )
    first, second = (
        None if within else same for same, within in zip(needed.judgments, inside, strict=True)
    )
    return Needed(
        judgments=(first, second),
        items=(items[0], items[1]),
        judgments_with_items=(judgments[0], judgments[1]),
    )


def _correct(
    p_values: Sequence[float],
    alpha: float,
    rule: str,
    looks: tuple[int, int] | None,
    factors: Sequence[NDArray[np.float64]] | None,
) -> FamilyOutcome:
    """Return which equalities are rejected, by the rule of the audit."""
    overall = [_overall(p, *(looks or (1, 1))) for p in p_values]
    if rule == "paper":
        return no_correction(overall, alpha)
    return holm(overall, alpha) if factors is None else max_t(overall, factors, alpha)


def _overall(p: float, look: int, planned: int) -> float:
    """Return the smallest overall level at which a p value of this look is rejected."""
    return p if planned == 1 else overall_p_value(p, look, planned)


def _level_at(alpha: float, look: int, planned: int) -> float:
    """Return the level of a look; the only one has all of it."""
    return alpha if planned == 1 else nominal_level(alpha, look, planned)


def _finding(*, rejected: bool, inside: bool, paper: bool) -> str:
    if inside and not (paper and rejected):
        return WITHIN
    return VIOLATED if rejected else UNDECIDED


def overall_finding(tests: Sequence[JudgedGap]) -> str:
    """Return the finding of an audit from those of its tests; no tests leave it open.

    Examples
    --------
    >>> overall_finding([])
    'undecided'
    """
    findings = {test.finding for test in tests}
    if VIOLATED in findings:
        return VIOLATED
    return WITHIN if findings == {WITHIN} else UNDECIDED


def cluster_notes(
    clusters: Mapping[str, int], asked: Sequence[str], *, rows: str = "rows"
) -> list[str]:
    """Say which clusters were taken into account, and which columns changed nothing.

    Parameters
    ----------
    clusters : mapping of str to int
        How many clusters there are of each kind that holds more than one row in any.
    asked : sequence of str
        The columns that were named.
    rows : str
        What the clusters hold.

    Examples
    --------
    >>> for note in cluster_notes({"prompt": 100}, ["prompt", "id"]): print(note)
    Rows of one prompt are not taken to be independent; there are 100 clusters by prompt.
    No two rows have the same id, so that it has no effect.
    """
    notes = []
    for name in asked:
        if name not in clusters:
            notes.append(f"No two {rows} have the same {name}, so that it has no effect.")
            continue
        number = clusters[name]
        note = f"{rows.capitalize()} of one {name} are not taken to be independent; there are "
        few = ""
        if number <= FEW_CLUSTERS:
            few = " Few clusters say little about how clusters differ, which widens every interval."
        notes.append(f"{note}{number:,} clusters by {name}.{few}")
    return notes


def conclude(
    tests: tuple[JudgedGap, ...], options: AuditOptions, data: Mapping[str, Any], **facts: Any
) -> Audit:
    """Put judged tests together with what else is known of an audit.

    Parameters
    ----------
    tests : tuple of JudgedGap
        All tests of the audit; the overall finding and the exit status follow from theirs.
    options : AuditOptions
        What they were judged by, for the record.
    data : mapping
        Facts about the data, for the provenance.
    **facts
        The other fields of :class:`~comparity.results.audit.Audit`.
    """
    finding = overall_finding(tests)
    return Audit(
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=tests,
        provenance=provenance(options, **data),
        **options.judging,
        **facts,
    )
