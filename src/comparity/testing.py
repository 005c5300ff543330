"""Parity as an assertion, for pytest and any other runner of tests.

With pytest the fixture ``assert_parity`` is there as soon as comparity is installed.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comparity.gate.check import GateResult

__all__ = ["assert_parity"]


def assert_parity(
    policy: str | Path | Mapping[str, Any], *, data: Mapping[str, Any] | None = None
) -> GateResult:
    """Fail unless a policy lets the change pass: the verdict of ``comparity gate``.

    Parameters
    ----------
    policy : path or mapping
        A TOML file, or its content.
    data : mapping of str to frame, optional
        Frames of any engine, by the file names they stand in for.

    Returns
    -------
    GateResult
        Where it passed.

    Raises
    ------
    AssertionError
        Where it did not; the message says what was found, and how to see more.
    ComparityError
        The policy cannot be understood, or an audit cannot be made.

    Examples
    --------
    >>> rows = {"sex": ["f", "m"] * 10, "hired": [0, 1] * 10, "model": [0, 1] * 10}
    >>> audit = {"name": "model", "notion": "separation", "file": "decisions.csv",
    ...          "label": "hired", "prediction": "model", "sensitive": "sex"}
    >>> import polars
    >>> try:
    ...     assert_parity({"audit": [audit]}, data={"decisions.csv": polars.DataFrame(rows)})
    ... except AssertionError as error:
    ...     print(error)
    Gate policy: failed
    model: Nothing could be tested; the notes say why.
    See more: print(comparity.check(policy, data=data))
    """
    # pytest shows the frames of a failure; this one says nothing a reader needs.
    __tracebackhide__ = True
    from comparity.gate.check import check
    from comparity.gate.section import finding_sentence, headline
    from comparity.reports.sections import clip

    result = check(policy, data=data)
    if not result.passed:
        stopping = [one for one in result.checks if not one.passed]
        found = [f"{clip(one.name)}: {finding_sentence(one)}" for one in stopping]
        more = "print(comparity.check(policy, data=data))"
        if data is None and not isinstance(policy, Mapping):
            more = f"comparity gate {shlex.quote(str(policy))}"
        raise AssertionError("\n".join([headline(result), *found, f"See more: {more}"]))
    return result
