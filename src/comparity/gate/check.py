"""Gates: make every audit of a policy, and say which of them let a change pass, and why not.

A policy may name the gaps of the last release. They are numbers that were measured, not unknown
ones that were estimated: a gap is shown to be no worse if it is shown to be smaller in size than
the gap of then plus the margin, by the two one-sided tests that show a gap to be within a margin.
All gaps have to pass, so no correction is needed (an intersection-union test).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from comparity import __version__
from comparity.errors import (
    ComparityError,
    NoSuchEntryError,
    PolicyAuditError,
    PolicyError,
    UnknownKeyError,
)
from comparity.gate.notions import NOTIONS, Auditable
from comparity.gate.policy import ALLOW, FAIL, AuditPolicy, Policy, policy_of, read_policy
from comparity.reports.page import read_results
from comparity.reports.ranges import RangeAudit
from comparity.reports.sections import several
from comparity.results.audit import Audit
from comparity.results.result import EXIT_STATUS, UNDECIDED, VIOLATED, WITHIN, Result, frame_of_rows
from comparity.tables.typing import Frame

if TYPE_CHECKING:
    from comparity.reports.sections import Section


LARGER = "larger than chance explains"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAudit:
    """One audit of a policy and whether it lets a change pass.

    Attributes
    ----------
    name : str
        What the policy calls it.
    notion : str
        Which audit: ``"separation"``, ``"comparative"``, ...
    files : tuple of str
        The data, as the policy names them.
    result : Auditable
        What the audit found.
    open_means : str
        ``"fail"`` or ``"allow"``: what the policy wants where the audit decides nothing.
    baseline : str
        File of the last release, as the policy names it; empty where there is none.
    no_worse : bool
        Whether every gap is shown to be at most the margin larger than the baseline's.
    """

    name: str
    notion: str
    files: tuple[str, ...]
    result: Auditable
    open_means: str
    baseline: str = ""
    no_worse: bool = False

    DERIVED: ClassVar[Mapping[str, str]] = {
        "finding": "finding",
        "passed": "passed",
        "reason": "reason",
    }

    def __post_init__(self) -> None:
        if self.open_means not in (FAIL, ALLOW):
            raise ValueError(f"open_means {self.open_means!r}")

    @property
    def finding(self) -> str:
        """The finding of the audit."""
        return self.result.finding

    @property
    def passed(self) -> bool:
        """Whether it lets a change pass."""
        return self._outcome()[0]

    @property
    def reason(self) -> str:
        """Why, or why not."""
        return self._outcome()[1]

    def _waits_to_look(self) -> bool:
        """Whether findings at any moment are asked for, of kinds of rows that all have come in."""
        found = self.result
        return isinstance(found, Audit) and found.anytime and all(min(t.n) for t in found.tests)

    def _outcome(self) -> tuple[bool, str]:
        if isinstance(self.result, RangeAudit):
            tested: list[Any] = [test for test in self.result.tests if test.is_tested]
        else:
            tested = [test for test in self.result.tests if test.pivot is not None]
        if not tested and self.open_means == ALLOW and self._waits_to_look():
            return True, "too early for a first look, and the policy allows to wait"
        if not tested:
            return False, "nothing could be tested, and that never passes"
        ranges = isinstance(self.result, RangeAudit)
        if self.finding == WITHIN:
            return True, (
                "every number lies in its range"
                if ranges
                else "every gap is smaller than the margin"
            )
        if self.no_worse:
            return True, "no gap is more than the margin larger than in the last release"
        if self.finding == VIOLATED:
            found = sum(test.finding == VIOLATED for test in tested)
            noun, what = ("number", "shown to lie outside") if ranges else ("gap", LARGER)
            return False, f"{several(found, noun)} {'is' if found == 1 else 'are'} {what}"
        if self.open_means == ALLOW:
            return True, "the data decide nothing, which the policy allows"
        return False, "the data decide nothing, which the policy does not allow"

    @property
    def audit(self) -> Audit | RangeAudit:
        """The audit that decides, where the result holds more than one."""
        inner: Any = self.result
        found: Audit | RangeAudit = getattr(inner, "audit", inner)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult(Result):
    """Whether a policy lets a change pass.

    Attributes
    ----------
    policy : str
        Name of the policy.
    checks : tuple of CheckedAudit
        In the order of the policy.
    exit_status : int
        What the command returns to the shell.
    provenance : mapping
        Version, and the policy file with its hash.
    """

    policy: str
    checks: tuple[CheckedAudit, ...]
    exit_status: int
    provenance: Mapping[str, Any] = field(default_factory=dict)

    DERIVED: ClassVar[Mapping[str, str]] = {"passed": "passed"}

    @property
    def passed(self) -> bool:
        """Whether every audit lets the change pass; without any, nothing does."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    def __getitem__(self, name: str) -> CheckedAudit:
        """Return the check with this name."""
        for check in self.checks:
            if check.name == name:
                return check
        raise NoSuchEntryError("audit", name, [check.name for check in self.checks])

    def parts(self) -> dict[str, Result]:
        """Return every audit in full, by its name in the policy."""
        return {check.name: check.result for check in self.checks}

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        from comparity.gate.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each audit, as a frame of the named engine."""
        wanted = ("name", "notion", "finding", "open_means", "passed", "reason")
        rows = [{name: getattr(check, name) for name in wanted} for check in self.checks]
        return frame_of_rows(rows, backend)


def check(
    policy: str | Path | Mapping[str, Any] | Policy, *, data: Mapping[str, Frame] | None = None
) -> GateResult:
    """Make every audit of a policy and say whether all of them let a change pass.

    An audit passes if every gap is within its margin. A violation fails. Where an audit decides
    nothing the policy says what that means; where nothing could be tested at all it fails.

    Parameters
    ----------
    policy : path, mapping or Policy
        A TOML file, its content, or what :func:`read_policy` returns.
    data : mapping of str to frame, optional
        Frames of any engine, by the file names they stand in for.

    Returns
    -------
    GateResult
        ``passed``, ``checks`` and the exit status of the command: 0 passed, 1 an audit found a
        violation, 3 none did and one that may not stay open decided nothing.

    Raises
    ------
    PolicyError
        The policy cannot be understood.
    PolicyAuditError
        An audit could not be made; the message says which and why.

    Examples
    --------
    >>> import polars
    >>> rows = [(g, y, p) for g in "fm" for y in (0, 1) for p in [y] * 3200 + [1 - y] * 800]
    >>> frame = polars.DataFrame(rows, schema=["sex", "hired", "model"], orient="row")
    >>> audit = {"name": "model", "notion": "separation", "file": "decisions.csv",
    ...          "label": "hired", "prediction": "model", "sensitive": "sex"}
    >>> result = check({"audit": [audit]}, data={"decisions.csv": frame})
    >>> result.passed, result["model"].finding
    (True, 'within the margin')
    """
    plan = policy if isinstance(policy, Policy) else _open_policy(policy)
    given = dict(data or {})
    named = {file for one in plan.audits for file in one.files.values()}
    for name in given:
        if name not in named:
            raise UnknownKeyError("data", name, sorted(named))
    checks = tuple(_check_audit(one, plan.folder, given) for one in plan.audits)
    return GateResult(
        policy=plan.name,
        checks=checks,
        exit_status=_exit_status(checks),
        provenance={"comparity": __version__, "policy": dict(plan.source)},
    )


def _open_policy(policy: str | Path | Mapping[str, Any]) -> Policy:
    return policy_of(policy) if isinstance(policy, Mapping) else read_policy(policy)


def _check_audit(one: AuditPolicy, folder: Path, data: Mapping[str, Any]) -> CheckedAudit:
    try:
        result = NOTIONS[one.notion].audit(one.files, one.choices, folder=folder, data=data)
        last = read_baseline(folder / one.baseline, one.name) if one.baseline else None
    except ComparityError as error:
        raise PolicyAuditError(one.name, error) from error
    inner: Any = result
    return CheckedAudit(
        name=one.name,
        notion=one.notion,
        files=tuple(one.files.values()),
        result=result,
        open_means=one.open_means,
        baseline=one.baseline,
        no_worse=last is not None and is_no_worse(getattr(inner, "audit", inner), last),
    )


def _exit_status(checks: tuple[CheckedAudit, ...]) -> int:
    """Return 0 where all pass, else the status of the worst finding that does not."""
    stopping = {check.finding for check in checks if not check.passed}
    if not stopping:
        return EXIT_STATUS[WITHIN]
    return EXIT_STATUS[VIOLATED if VIOLATED in stopping else UNDECIDED]


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
    """Return whether every gap is shown to be at most the margin larger than the baseline's."""
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
