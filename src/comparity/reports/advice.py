"""What to do about a finding: next steps, for people who read a page and decide.

A finding says what data show. What follows from it depends on the question that was asked, so the
steps are chosen by the notion and the finding, and name the commands that take them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED, VIOLATED

REMEDIES = {
    "leans of judges": (
        "Ask the judge in both orders, count a changed winner as a tie, and let people vote on "
        "some pairs: their votes correct the win rates (command: comparity judges)."
    ),
    "panel": (
        "Find the pairs in which model and panel differ most, and look at them. A score can be "
        "trained under goals for such pairs (command: comparity train)."
    ),
    "comparative": (
        "Look at pairs of the kind with the lower rate in which the model disagrees with the "
        "judges, and find out who is right. A score can be trained under goals for such pairs "
        "(command: comparity train)."
    ),
    "pairwise statistical parity": (
        "Different scores may have a reason. Where there are labels, ask whether the score orders "
        "pairs equally well in all groups (command: comparity pairwise)."
    ),
    "pairwise": (
        "Find out why the score orders some kinds of pairs worse: features, few training rows, or "
        "labels that err more often in one group. A score can be trained under goals for pairs "
        "(command: comparity train)."
    ),
    "differential": (
        "The two differ, which does not say who is right. Let both explain a sample of the "
        "decisions in which they differ; if one of them is a standard, correct the other."
    ),
    "separation": (
        "Find out where the gap comes from before you change the model: features, thresholds, few "
        "training rows, or labels that err more often in one group. Rows can be weighted for "
        "another training (command: comparity weights)."
    ),
}
"""What helps against a violation, by a word in the notion; the first that fits."""

JUSTIFIED = (
    "Decide, with those who answer for the use, whether a gap of this size is acceptable there: "
    "the test shows that there is one, and not whether it is justified."
)
AGAIN = "After a change, audit again, on data that the change was not made with."
NO_CLAIM = "Do not report that there is no gap: none was found, and none was ruled out."
MORE = (
    "Collect more data: 'What would change the verdict', below, says how much. Plan the study "
    "first, to know what it could show (command: comparity plan)."
)
UNTESTED = "The notes below say why some gaps could not be tested; groups without data need data."
MARGIN = (
    "Report the margin together with the finding, and who chose it: gaps smaller than it are not "
    "ruled out."
)
GATE = (
    "Hold the next release to the same margin (command: comparity gate), and audit again when the "
    "model, the people or the use change."
)


IMPACT_STEPS = (
    "An impact ratio describes who is selected, and not why. Where there are labels, compare "
    "people who are equally qualified (command: comparity separation).",
    "What a rule asks for, and what follows from a ratio, is for those to say who know the rule. "
    "The numbers can be put into the order of New York's (command: comparity report --template "
    "ll144).",
    "Publish intervals with the ratios: with few people a ratio far from 1 may be chance.",
)
"""What to do about impact ratios."""

LEAN_STEPS = (
    "Check the assumption that fixes who has no bias, above, before you speak to an evaluator: "
    "comparisons show only how evaluators differ.",
    "Rank by the scores shown here, from which the biases are taken out, and show evaluators what "
    "their own answers look like beside the others'.",
    "Where an evaluator is not shown to lean, that is no proof that there is no lean: look at the "
    "width of the interval.",
)
"""What to do about evaluators' biases."""


def next_steps(audit: Audit) -> Iterator[str]:
    """Yield what to do about the finding of an audit, in the order in which to do it."""
    if audit.finding == VIOLATED:
        yield JUSTIFIED
        remedies = (step for word, step in REMEDIES.items() if word in audit.notion)
        yield from islice(remedies, 1)
        yield AGAIN
    elif audit.finding == UNDECIDED:
        yield NO_CLAIM
        if any(test.needed is not None for test in audit.tests):
            yield MORE
        if any(test.pivot is None for test in audit.tests):
            yield UNTESTED
    else:
        yield MARGIN
        yield GATE
