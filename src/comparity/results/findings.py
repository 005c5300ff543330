"""The three words, and the order in which they are decided.

Not rejecting equality is not parity, so each test gets one of three findings, in this order:

1. *within the margin*: two one-sided tests at ``alpha`` say that the gap is smaller than the margin
   (if equality is rejected too, ``differs_from_zero`` says so). Where not all gaps of an audit are,
   those that are have to be so after Holm's correction;
2. *violated*: equality is rejected after Holm's correction over all tests of the audit;
3. *undecided*: neither, or no test was possible.

An audit is violated if any of its tests is, within the margin if all are (an intersection-union
test, which needs no correction), otherwise undecided. Under the rule of 000 (``rule="paper"``)
rejecting at ``alpha``, uncorrected, is a violation whatever the margin, so 2. comes before 1.
"""

from __future__ import annotations

__all__ = ["EXIT_STATUS", "UNDECIDED", "VIOLATED", "WITHIN", "check_finding"]

VIOLATED = "violated"
WITHIN = "within the margin"
UNDECIDED = "undecided"

EXIT_STATUS = {WITHIN: 0, VIOLATED: 1, UNDECIDED: 3}
"""What a command returns to the shell; 2 is bad input."""


def check_finding(finding: object) -> None:
    """Raise ``ValueError`` for what is none of the three words."""
    if finding not in EXIT_STATUS:
        raise ValueError(f"finding {finding!r}")
