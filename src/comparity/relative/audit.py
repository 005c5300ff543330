"""Differential parity: whether the difference of two decision makers depends on the group.

Nobody knows the truth; what is tested is whether one decision maker rates a group higher, relative
to another group, than the other decision maker does. Every two groups of every attribute (and, for
decisions that are labels, every label) make one hypothesis; all of them form one family (see
:mod:`comparity.results.result`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from comparity.counts.clusters import named_clusters
from comparity.counts.decision_sets import (
    Decisions,
    decision_arrays,
    decision_table,
    label_columns,
    labelled_decisions,
)
from comparity.counts.difference_sums import sum_decisions
from comparity.counts.differences import NARROWEST
from comparity.errors import TooNarrowError
from comparity.inference.permutation import PermutationTest, independence_test, same_distribution
from comparity.relative.judge import (
    Question,
    audit_of,
    compare_groups,
    judge_questions,
    null_of,
    question_of_slope,
    range_notes,
)
from comparity.relative.options import RelativeForm, RelativeOptions
from comparity.relative.result import DifferentialParity, MeansTest
from comparity.relative.slopes import games_howell, notes_on_leverage, welch_anova
from comparity.results.judging import cluster_notes
from comparity.results.options import shows
from comparity.tables.columns import check_sensitive
from comparity.tables.features import (
    as_array,
    check_apart,
    check_reference,
    check_two_names,
    check_words,
    label_matrices,
    named_attributes,
    names_of,
)
from comparity.tables.files import read_table
from comparity.tables.typing import Attributes, Column
from comparity.tables.values import check_groups


@shows(RelativeOptions)
def differential_parity(
    first: Column,
    second: Column,
    *,
    sensitive_features: Attributes,
    names: tuple[str, str] | None = None,
    reference: Any = None,
    labels: bool = False,
    order: Sequence[Any] | None = None,
    separator: str | None = None,
    cluster: Attributes | None = None,
    **choices: Any,
) -> DifferentialParity:
    r"""Test whether the difference of two sets of decisions is independent of the group.

    .. math:: R_\Delta = R_0 - R_1 \perp A

    Both sets are about the same subjects. Two groups are compared by DPT, Welch's t of the mean
    difference, and its size by DPD, the same gap in standard deviations [1]_; three or more
    by all pairs, with Welch's analysis of variance and the p values of Games and Howell beside
    them. The whole distribution is tested beside the means.

    Parameters
    ----------
    first, second : array-like
        Decisions about each subject: numbers (binary, ordinal or continuous); with `order` or
        `labels` words; in two dimensions (or frames) one column of 0 and 1 for each of
        several labels.
    sensitive_features : array-like, mapping or frame
        The group of each subject; several attributes as a mapping or as columns of a frame.
    names : (str, str), optional
        What to call the decision makers; the names of the columns by default, where they have any.
    reference : optional
        The group that others are compared with (``A = 0``); the first in sorted order by default.
        Positive numbers say that `first` rates the other group higher.
    labels : bool
        Whether decisions are labels without an order: then each label is one yes/no decision.
    order : sequence, optional
        Values of ordinal decisions from the lowest up; they count as 0, 1, 2, ...
    separator : str, optional
        What stands between labels, where a subject may get several (``"spam;rude"``).
    cluster : array-like, mapping or frame, optional
        What makes rows dependent, such as the person that each is about; several kinds as a
        mapping or as the columns of a frame. Tests that permute rows are then left out.
    continuous : bool
        Whether the attribute is a number: the difference is regressed on it, and independence is
        tested by distance correlation.
    intersection : bool
        Compare the groups formed by all attributes together, too.
    alpha : float
        Probability of finding any relative bias where there is none.
    margin : float
        Largest harmless gap, on the scale of DPD.
    rule : {"holm", "paper"}
        Two-sided tests with Holm's correction, or the rule of [1]_: one-sided p values read in
        both directions, uncorrected, which has twice the level.
    looks : (int, int), optional
        This look and how many are planned, if the audit is repeated as data come in.
    anytime : bool
        Whether the finding may be read at any moment, as often as one likes, and stopped on
        (:mod:`comparity.inference.anytime`); instead of planned looks.
    permutations : int
        Permutations of the tests of whole distributions; 0 leaves them out.
    seed : int
        Seed of the permutations.

    Returns
    -------
    DifferentialParity
        With ``.dpt .dof .p_value .p_one_sided .dpd .dpd_total .magnitude .direction .finding``;
        identical decisions have DPT and DPD 0, one-sided p 0.5 and two-sided p 1.

    References
    ----------
    .. [1] Yu and Xi, "Differential Parity: Relative Fairness Between Two Sets of Decisions",
       sections 2.1 and 2.2.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> sex = np.array(["f", "m"] * 300)
    >>> hr_1 = rng.integers(1, 6, 600)
    >>> hr_0 = hr_1 + rng.integers(-1, 2, 600) - 2 * (sex == "m")
    >>> result = differential_parity(hr_0, hr_1, sensitive_features=sex, names=("HR 0", "HR 1"))
    >>> result.finding, result.magnitude
    ('violated', 'huge')
    >>> result.direction
    'Compared with HR 1, HR 0 favours group f over group m'
    """
    clusters = named_clusters(cluster)
    options = RelativeOptions(cluster=tuple(clusters), **choices)
    check_words(labels=labels, order=order, separator=separator)
    check_reference(reference, continuous=options.continuous)
    ways = _ways(options, reference, clusters)
    groups = named_attributes(sensitive_features)
    check_sensitive(list(groups))
    if names is not None:
        check_two_names(names)
    called = names or names_of(first, second)
    sets = label_matrices(first, second)
    if sets is not None:
        decisions = {
            label: decision_arrays(dict(zip(called, pair, strict=True)), groups, **ways)
            for label, pair in sets.items()
        }
        return audit_decisions(decisions, options, ordinal=order is not None)
    given = dict(zip(called, (as_array(first), as_array(second)), strict=True))
    if labels or separator is not None:
        decisions = labelled_decisions(given, groups, separator=separator, **ways)
    else:
        decisions = {"": decision_arrays(given, groups, order=order, **ways)}
    return audit_decisions(decisions, options, ordinal=order is not None)


class GroupWays(TypedDict):
    """How groups are formed, and which columns tell what rows share."""

    continuous: bool
    intersection: bool
    reference: Any
    clusters: Any


def _ways(options: RelativeOptions, reference: Any, clusters: Any) -> GroupWays:
    return {
        "continuous": options.continuous,
        "intersection": options.intersection,
        "reference": reference,
        "clusters": clusters,
    }


def audit_frame(frame: Any, **choices: Any) -> DifferentialParity:
    """Test differential parity in a frame of any engine.

    Parameters
    ----------
    frame : frame of any engine
        One row for each subject.
    **choices
        Those of :class:`RelativeForm`.
    """
    form = RelativeForm(**choices)
    check_words(labels=form.labels, order=form.order, separator=form.separator)
    check_reference(form.reference, continuous=form.continuous)
    check_sensitive(form.sensitive)
    raters, sensitive = [form.first, form.second], list(form.sensitive)
    check_apart(sensitive, raters)
    if form.labels or form.separator is not None:
        named = [*sensitive, *(name for name in form.cluster if name not in sensitive)]
        given, groups = label_columns(frame, raters=raters, sensitive=named)
        ways = _ways(form, form.reference, {name: groups[name] for name in form.cluster})
        groups = {name: groups[name] for name in sensitive}
        decisions = labelled_decisions(given, groups, separator=form.separator, **ways)
    else:
        decisions = {"": _count_frame(frame, form)}
    known = {"first": form.first, "second": form.second, "sensitive": sensitive}
    options = form.narrow(RelativeOptions)
    return audit_decisions(decisions, options, ordinal=form.order is not None, columns=known)


def _count_frame(frame: Any, form: RelativeForm) -> Decisions:
    """Count equal rows; of a large table with many different ones, sum them up on its engine."""
    about: dict[str, Any] = {"raters": [form.first, form.second], "sensitive": list(form.sensitive)}
    if form.order is None and not form.continuous and not form.cluster:
        groups = {"intersection": form.intersection, "reference": form.reference}
        summed = sum_decisions(frame, **about, **groups)
        if summed is not None:
            return summed
    ways = _ways(form, form.reference, form.cluster)
    return decision_table(frame, **about, order=form.order, **ways)


def audit_file(path: str | Path, **choices: Any) -> DifferentialParity:
    """Test differential parity in a file; `choices` as in :func:`audit_frame`."""
    result = audit_frame(read_table(path), **choices)
    return replace(result, audit=result.audit.with_files(path))


def audit_decisions(
    decisions: Mapping[str, Decisions],
    options: RelativeOptions,
    *,
    ordinal: bool = False,
    **data: Any,
) -> DifferentialParity:
    """Test differential parity of the first two decision makers, by label.

    Parameters
    ----------
    decisions : mapping of str to Decisions
        By label; one entry named ``""`` where decisions are numbers.
    options : RelativeOptions
        How to judge.
    ordinal : bool
        Whether numbers stand for ordered words.
    **data
        Facts about the data, for the provenance.
    """
    one = next(iter(decisions.values()))
    for found in decisions.values():
        _check_spread(found)
    check_groups({name: names for name, (_, names) in one.groups.items()})
    rng = np.random.default_rng(options.seed)
    questions: list[Question] = []
    corrected: list[float] = []
    whole: list[PermutationTest] = []
    anova: list[MeansTest] = []
    for label, found in decisions.items():
        for attribute in (*found.groups, *found.numbers):
            about = _AttributeQuestion(found, attribute, label)
            asked, p_values, all_equal = about.ask_means()
            questions += asked
            corrected += p_values
            anova += all_equal
            # Rows that share clusters cannot be exchanged.
            if options.permutations and not found.clusters:
                whole += about.test_distribution(permutations=options.permutations, rng=rng)
    tests = judge_questions(questions, options, one.n)
    notes = _notes(decisions, options, whole, tests, ordinal=ordinal)
    clusters = {name: kind.n for name, kind in one.clusters.items()}
    notes += cluster_notes(clusters, options.cluster)
    several = len(one.groups) > 1
    groups = [
        f"{attribute}={name}" if several else name
        for attribute, (_, names) in one.groups.items()
        for name in names
    ]
    return DifferentialParity(
        audit=audit_of(
            tests,
            options,
            data,
            n=one.n,
            groups=groups,
            notes=notes,
            clusters=clusters,
        ),
        contrasts=tuple(map(Question.with_finding, questions, tests, corrected)),
        distribution=tuple(whole),
        anova=tuple(anova),
    )


@dataclass(frozen=True, slots=True)
class _AttributeQuestion:
    """What is asked about one attribute (and label) of the first two decision makers."""

    found: Decisions
    name: str
    label: str

    def null(self, claim: str) -> str:
        """Word a hypothesis."""
        several = len(self.found.groups) + len(self.found.numbers) > 1
        return null_of(self.who, claim, several=several)

    @property
    def who(self) -> dict[str, str]:
        """The two decision makers, the attribute and the label, for the words of hypotheses."""
        first, second = self.found.raters[:2]
        return {"first": first, "second": second, "attribute": self.name, "label": self.label}

    def ask_means(self) -> tuple[list[Question], list[float], list[MeansTest]]:
        """Ask about every two groups, with Games and Howell's p values and one test of all."""
        if self.name in self.found.numbers:
            null = self.null(f"no change with {self.name}")
            return [question_of_slope(self.found, self.who, null)], [math.nan], []
        differences = self.found.differences(0, 1, self.name)
        if self.found.clusters:
            rows = partial(self.found.clustered_rows, self.name)
            questions = compare_groups(differences, self.who, self.null, rows)
            # Other tests of all groups take rows to be independent.
            return questions, [math.nan] * len(questions), []
        questions = compare_groups(differences, self.who, self.null)
        if len(differences.groups) < 3:
            return questions, [math.nan], []
        moments = differences.moments
        all_equal = welch_anova(moments, null=self.null("equal in all groups"))
        return questions, [*games_howell(moments).values()], [all_equal]

    def test_distribution(self, **choices: Any) -> Sequence[PermutationTest]:
        """Test by permutation whether the whole distribution is the same."""
        if self.name in self.found.numbers:
            rows = self.found.rows(0, 1, self.name)
            return [
                independence_test(*rows, null=self.null(f"independent of {self.name}"), **choices)
            ]
        null = self.null("one distribution in all groups")
        return same_distribution(self.found.differences(0, 1, self.name), null=null, **choices)


def _notes(
    decisions: Mapping[str, Decisions],
    options: RelativeOptions,
    whole: Sequence[PermutationTest],
    tests: Sequence[Any],
    *,
    ordinal: bool,
) -> list[str]:
    notes = [] if "" not in decisions else range_notes(decisions[""])
    if "" not in decisions:
        notes.append("Decisions are labels: each label is one yes/no decision, tested by itself.")
    if options.continuous:
        notes.append(
            "For a number, DPD is the gap between subjects two of its standard deviations apart, "
            "in standard deviations about the line."
        )
        notes += notes_on_leverage(next(iter(decisions.values())))
    if ordinal:
        notes.append("The ordered values count as 0, 1, 2, ...: every step is taken to be equal.")
    smallest = min((one.p_value for one in whole), default=1.0)
    if smallest <= options.alpha and not any(test.differs_from_zero for test in tests):
        notes.append(
            "The means are not told apart, yet the whole distribution differs "
            f"(smallest p {smallest:.2g}, uncorrected): parity asks for equal distributions."
        )
    return notes


def _check_spread(found: Decisions) -> None:
    """Refuse decisions whose differences have variances that are not told from zero."""
    ranges = map(found.range_of, range(len(found.raters)))
    widest = max(one.high - one.low for one in ranges)
    if 0 < widest < NARROWEST:
        raise TooNarrowError(found.raters, widest, NARROWEST)
