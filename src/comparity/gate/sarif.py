"""Gates as SARIF 2.1.0, which code scanning shows beside the files of a change.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html: one rule for each notion, one
result for each audit that fails as a whole and each hypothesis that fails, located where the policy
asks for that audit.
What passes or may stay open is left to the other reports: GitHub shows every result as an alert,
whatever its kind.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from comparity import __version__
from comparity.gate.result import GateResult
from comparity.gate.section import Case, cases

__all__ = ["audit_lines", "sarif_json"]

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# Brackets begin links and braces placeholders in a message (3.11.5, 3.11.6).
ESCAPES = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})

HEADER = re.compile(r"[ \t]*\[\[[ \t]*(?:audit|\"audit\"|'audit')[ \t]*\]\]")
RULES = {
    "separation": "Error rates differ between groups, given the label.",
    "comparative": "A model agrees with judges more often in some kinds of pairs than in others.",
    "pairwise": "A score orders some kinds of pairs better than others.",
    "relative": "One decision maker favours a group, relative to another.",
    "raters": "Some of several raters favour a group, relative to others.",
}
"""What it means that an audit fails, by notion."""
HELP = (
    "A result is a gap between groups with the interval it was judged by, or an audit that decided "
    "nothing where the policy wants a decision. `comparity gate` with the same policy shows all "
    "numbers, --html a page with pictures; margins and columns are those of the policy."
)


def audit_lines(policy: str) -> list[int]:
    r"""Return the lines, from 1, on which the audits of a policy begin, by its text.

    Examples
    --------
    >>> audit_lines('alpha = 0.05\n[[audit]]\nname = "a"\n\n[[audit]]\nname = "b"')
    [2, 5]
    """
    return [line for line, text in enumerate(policy.split("\n"), 1) if HEADER.match(text)]


def sarif_json(
    result: GateResult, *, policy: str = "policy.toml", lines: Sequence[int] = ()
) -> str:
    """Return a gate as the text of a SARIF file.

    Parameters
    ----------
    result : GateResult
        The gate.
    policy : str
        Path of the policy from the root of the repository: what findings are pinned to.
    lines : sequence of int
        Lines on which its audits begin; unless there is one for each, findings are on the first.
    """
    if len(lines) != len(result.checks):
        lines = [1] * len(result.checks)
    notions = sorted({check.notion for check in result.checks})
    found = [
        _result(one, check.notion, policy, line)
        for check, line in zip(result.checks, lines, strict=True)
        for one in cases(check)
        if one.outcome == "failed"
    ]
    driver = {
        "name": "comparity",
        "version": __version__,
        "rules": [_rule(name) for name in notions],
    }
    run = {
        "tool": {"driver": driver},
        "results": found,
        "properties": {"passed": result.passed, "exitStatus": result.exit_status},
    }
    content = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _rule(notion: str) -> dict[str, Any]:
    return {
        "id": notion,
        "shortDescription": {"text": RULES[notion]},
        "fullDescription": {"text": RULES[notion]},
        "help": {"text": HELP},
    }


def _result(one: Case, notion: str, policy: str, line: int) -> dict[str, Any]:
    identity = hashlib.sha256(f"{notion}\0{one.audit}\0{one.name}".encode()).hexdigest()
    place = {"artifactLocation": {"uri": quote(policy)}, "region": {"startLine": line}}
    return {
        "ruleId": notion,
        "kind": "fail",
        "level": "error",
        "message": {"text": f"{one.audit}: {one.name}: {one.said}".translate(ESCAPES)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"comparity/v1": identity},
    }
