"""What to do about a finding: next steps, for people who read a page and decide.

A finding says what data show. What follows from it depends on the question that was asked, so the
steps are chosen by the notion and the finding, and name the commands that take them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from comparity.reports.statements import weaker_kind
from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED, VIOLATED

REMEDIES = {
    "leans of judges": (
        "Show every pair in both orders, and count a changed winner as a tie. Let people vote on "
        "some pairs: their votes correct the win rates (command: comparity judges)."
    ),
    "panel": (
        "Look at the pairs in which model and panel differ most. A score can be trained with "
        "constraints on such pairs (command: comparity train)."
    ),
    "comparative": (
        "Look at pairs in which the model disagrees with the judges{first}, and find out who is "
        "right. A score can be trained with constraints on such pairs (command: comparity train)."
    ),
    "pairwise statistical parity": (
        "Different scores may have a reason. Where there are labels, ask whether the score orders "
        "pairs equally well in all groups (command: comparity pairwise)."
    ),
    "pairwise": (
        "Find out why the score orders some kinds of pairs worse: features, few training rows, or "
        "labels that are wrong more often in one group. A score can be trained with constraints "
        "on pairs (command: comparity train)."
    ),
    "differential": (
        "The two differ; this does not say who is right. Let both explain a sample of the "
        "decisions in which they differ. If one of them is the standard, correct the other."
    ),
    "separation": (
        "Find out where the gap comes from before you change the model: features, thresholds, few "
        "training rows, or labels that are wrong more often in one group. Rows can be weighted "
        "before training again (command: comparity weights)."
    ),
}
"""What helps against a violation, by a word in the notion; the first that fits."""

JUSTIFIED = (
    "Decide with those responsible whether a gap of this size is acceptable for this use. The test "
    "shows that there is a gap, not whether it is justified."
)
AGAIN = "After a change, audit again on data that were not used to make the change."
NO_CLAIM = "Do not report that there is no gap: the data neither show a gap nor rule one out."
MORE = (
    "Collect more data. 'What would change the verdict', below, says how much. Plan the study "
    "first (command: comparity plan)."
)
UNTESTED = "Some gaps could not be tested. The notes below say why; groups with few data need more."
MARGIN = (
    "Report the margin with the finding, and who chose it. Gaps smaller than the margin are not "
    "ruled out."
)
GATE = (
    "Check the next release against the same margin (command: comparity gate). Audit again when "
    "the model, the people or the use change."
)


IMPACT_STEPS = (
    "An impact ratio describes who is selected, not why. If there are labels, compare people who "
    "are equally qualified (command: comparity separation).",
    "What follows from a ratio is a question for lawyers. The report of New York's Local Law 144 "
    "can be made from these numbers (command: comparity report --template ll144).",
    "Publish the intervals with the ratios: with few people, a ratio far from 1 may be chance.",
)
"""What to do about impact ratios."""

LEAN_STEPS = (
    "Before you speak to an evaluator, check the assumption above that fixes the level of the "
    "biases: comparisons show only how evaluators differ.",
    "Rank by the bias-adjusted scores shown here. Show evaluators how their own answers compare "
    "with those of the others.",
    "An evaluator who is not shown to lean may still lean: look at the width of the interval.",
)
"""What to do about evaluators' biases."""


def next_steps(audit: Audit) -> Iterator[str]:
    """Yield what to do about the finding of an audit, in the order in which to do it."""
    if audit.finding == VIOLATED:
        yield JUSTIFIED
        remedies = (step for word, step in REMEDIES.items() if word in audit.notion)
        kind = weaker_kind(audit)
        first = f" (first those in which they put {kind})" if kind else ""
        yield from (step.replace("{first}", first) for step in islice(remedies, 1))
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
