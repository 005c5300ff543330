"""Frozen answers of a gate: which audits of a policy let a change pass, and why not the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from comparity.errors import NoSuchEntryError
from comparity.results.audit import Audit, JudgedResult
from comparity.results.result import VIOLATED, WITHIN, Result, frame_of_rows

if TYPE_CHECKING:
    from comparity.reports.sections import Section

__all__ = ["Auditable", "CheckedAudit", "GateResult"]


FAIL, ALLOW = "fail", "allow"

Auditable = Audit | JudgedResult
"""A result that was judged."""


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
    """

    name: str
    notion: str
    files: tuple[str, ...]
    result: Auditable
    open_means: str

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

    def _outcome(self) -> tuple[bool, str]:
        tested = [test for test in self.result.tests if test.pivot is not None]
        if not tested:
            return False, "nothing could be tested, and that never passes"
        if self.finding == WITHIN:
            return True, "every gap is smaller than the margin"
        if self.finding == VIOLATED:
            found = sum(test.finding == VIOLATED for test in tested)
            gaps = "1 gap is" if found == 1 else f"{found} gaps are"
            return False, f"{gaps} larger than chance explains"
        if self.open_means == ALLOW:
            return True, "the data decide nothing, which the policy allows"
        return False, "the data decide nothing, which the policy does not allow"

    @property
    def audit(self) -> Audit:
        """The audit that decides, where the result holds more than one."""
        inner: Any = self.result
        found: Audit = getattr(inner, "audit", inner)
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
        """Return what is told of this answer."""
        from comparity.gate.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each audit, as a frame of the named engine."""
        wanted = ("name", "notion", "finding", "open_means", "passed", "reason")
        rows = [{name: getattr(check, name) for name in wanted} for check in self.checks]
        return frame_of_rows(rows, backend)
