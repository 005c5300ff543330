"""Gates as SARIF 2.1.0, which code scanning shows beside the files of a change.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html: one rule for each notion, one
result for each audit that fails as a whole and each hypothesis that fails, located in the policy.
What passes or may stay open is left to the other reports: GitHub shows every result as an alert,
whatever its kind.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from comparity import __version__
from comparity.gates import GateResult
from comparity.reporting.gates import Case, cases

__all__ = ["sarif_json"]

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# Brackets begin links and braces placeholders in a message (3.11.5, 3.11.6).
ESCAPES = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})


def sarif_json(result: GateResult, *, policy: str = "policy.toml") -> str:
    """Return a gate as the text of a SARIF file.

    Parameters
    ----------
    result : GateResult
        The gate.
    policy : str
        Path of the policy from the root of the repository: what findings are pinned to.
    """
    notions = sorted({check.notion for check in result.checks})
    found = [
        _result(one, check.notion, policy)
        for check in result.checks
        for one in cases(check)
        if one.outcome == "failed"
    ]
    driver = {
        "name": "comparity",
        "version": __version__,
        "rules": [{"id": name, "shortDescription": {"text": name}} for name in notions],
    }
    run = {
        "tool": {"driver": driver},
        "results": found,
        "properties": {"passed": result.passed, "exitStatus": result.exit_status},
    }
    content = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _result(one: Case, notion: str, policy: str) -> dict[str, Any]:
    identity = hashlib.sha256(f"{notion}\0{one.audit}\0{one.name}".encode()).hexdigest()
    place = {"artifactLocation": {"uri": quote(policy)}, "region": {"startLine": 1}}
    return {
        "ruleId": notion,
        "kind": "fail",
        "level": "error",
        "message": {"text": f"{one.audit}: {one.name}: {one.said}".translate(ESCAPES)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"comparity/v1": identity},
    }
