"""Not worse than the last release: the gaps that were measured then, and the test against them.

The baseline is a number that was measured, not an unknown one that was estimated. A gap is shown to
be no worse if it is shown to be smaller in size than the baseline's gap plus the margin, by the two
one-sided tests that show a gap to be within a margin. All gaps have to pass, so no correction is
needed (an intersection-union test).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from comparity.errors import PolicyError
from comparity.reports.page import read_results
from comparity.results.audit import Audit


def read_baseline(path: Path, name: str) -> dict[str, float]:
    """Read the gaps of the last release, by hypothesis, as ``--json`` wrote them.

    Parameters
    ----------
    path : Path
        JSON of an audit, or of a gate that has an audit of this name.
    name : str
        What the policy calls the audit.

    Raises
    ------
    ComparityError
        The file cannot be read, or holds no audit with tests.
    """
    found = read_results([path])
    audits = {label: one for label, one in found.items() if getattr(one, "tests", ())}
    named = [one for label, one in audits.items() if label.endswith(f": {name}")]
    if not audits or (len(audits) > 1 and not named):
        hint = "keep what the audit, or the gate, printed with --json."
        asked = f"{path.name!r} holds no audit of this name."
        raise PolicyError(f"audit {name!r}", asked, ", ".join(audits) or "no audit", hint)
    inner: Any = (named or list(audits.values()))[0]
    audit: Audit = getattr(inner, "audit", inner)
    return {test.null: test.gap for test in (*audit.tests, *audit.further_gaps)}


def is_no_worse(audit: Audit, gaps: Mapping[str, float]) -> bool:
    """Say whether every gap is shown to be at most the margin larger than the baseline's."""
    tests = (*audit.tests, *audit.further_gaps)
    return bool(tests) and all(
        test.pivot is not None
        and test.has_seen_enough(audit.margin, audit.alpha)
        and test.equivalence_p_value(audit.margin + _size(gaps.get(test.null))) <= audit.alpha
        for test in tests
    )


def _size(gap: float | None) -> float:
    """Return the size of a gap; what was not measured then has none to spare."""
    return abs(gap) if gap is not None and math.isfinite(gap) else 0.0
