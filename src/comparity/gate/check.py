"""Policies: which audits a change must pass, written down once in a TOML file.

A policy names its audits, the data they read, margins, error rates, and what it means where an
audit decides nothing. The command line, Python and pytest read the same file and give the same
verdict. Whatever cannot be understood is an error: a misspelt key must not become a default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparity import __version__
from comparity.errors import ComparityError, PolicyAuditError, PolicyError, UnknownKeyError
from comparity.gate.notions import COMMON, NOTIONS, Notion, matches
from comparity.gate.result import ALLOW, FAIL, CheckedAudit, GateResult
from comparity.results.result import EXIT_STATUS, UNDECIDED, VIOLATED, WITHIN
from comparity.tables.files import file_sha256

__all__ = ["AuditPolicy", "Policy", "check", "policy_of", "read_policy"]

DEFAULTS: dict[str, Any] = {"alpha": 0.05, "margin": 0.05, UNDECIDED: FAIL}
NO_AUDITS, ADD_AUDITS = "a policy needs audits.", "add a table [[audit]] for each."
# Policies are written by people; a file larger than this is another file given by mistake.
MOST_BYTES = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPolicy:
    """One audit a change must pass.

    Attributes
    ----------
    name : str
        What it is called in every report.
    notion : str
        One of the names of :data:`comparity.gate.notions.NOTIONS`.
    files : mapping of str to str
        The data by role, as the policy names them.
    choices : mapping
        Columns and options, as the audit's own function takes them.
    open_means : {"fail", "allow"}
        Whether an audit that decides nothing stops the change. One in which nothing could be
        tested does in any case.
    """

    name: str
    notion: str
    files: Mapping[str, str]
    choices: Mapping[str, Any]
    open_means: str = FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Audits a change must pass, all of them.

    Attributes
    ----------
    name : str
        Name of the policy.
    audits : tuple of AuditPolicy
        At least one.
    folder : Path
        Where relative paths start.
    source : mapping
        Name and hash of the file it was read from.
    """

    name: str
    audits: tuple[AuditPolicy, ...]
    folder: Path
    source: Mapping[str, str]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every file with data that the audits read, once."""
        named = (file for one in self.audits for file in one.files.values())
        return tuple(dict.fromkeys(self.folder / file for file in named))


def check(
    policy: str | Path | Mapping[str, Any] | Policy, *, data: Mapping[str, Any] | None = None
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


def read_policy(path: str | Path) -> Policy:
    """Read a policy from a TOML file; relative paths in it start at its folder."""
    file = Path(path)
    where = f"policy {file.name!r}"
    if file.is_file() and not file.stat().st_size:
        raise PolicyError(where, NO_AUDITS, "an empty file", ADD_AUDITS)
    digest = file_sha256(file)
    if file.stat().st_size > MOST_BYTES:
        found = f"{file.stat().st_size:,} bytes"
        raise PolicyError(where, "this is too large for a policy.", found, "name the TOML file.")
    try:
        # Some editors begin a file with a byte order mark.
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    # Besides what is no TOML: whole numbers that are too long, and too many brackets.
    except (ValueError, RecursionError) as error:
        hint = "write it in TOML, see the documentation of the gate."
        raise PolicyError(where, "this is not TOML.", str(error), hint) from error
    source = {"name": file.name, "sha256": digest}
    return policy_of(content, name=file.stem, folder=file.parent, source=source)


def policy_of(
    content: Mapping[str, Any],
    *,
    name: str = "policy",
    folder: str | Path = ".",
    source: Mapping[str, str] | None = None,
) -> Policy:
    """Understand the content of a policy file.

    Parameters
    ----------
    content : mapping
        ``name``, ``alpha``, ``margin`` and what an open audit means for all audits, and a list
        ``audit`` of mappings.
    name : str
        Name of the policy, where it has none itself.
    folder : path
        Where relative paths start.
    source : mapping, optional
        Where it was read from.
    """
    where = f"policy {name!r}"
    for key in content:
        if key not in {"name", "audit", *DEFAULTS}:
            raise UnknownKeyError(where, key, ["name", "audit", *DEFAULTS])
    listed = content.get("audit")
    if not isinstance(listed, list | tuple) or not listed:
        raise PolicyError(where, NO_AUDITS, repr(listed), ADD_AUDITS)
    settings = {**DEFAULTS, **{key: content[key] for key in DEFAULTS if key in content}}
    _check_types(where, settings, {**COMMON, UNDECIDED: "text"})
    audits = tuple(_audit(one, place, settings) for place, one in enumerate(listed, 1))
    names = [one.name for one in audits]
    for one in names:
        if names.count(one) > 1:
            asked, hint = f"two audits are called {one!r}.", "give each a name of its own."
            raise PolicyError(where, asked, f"{names.count(one)} of them", hint)
    own = _name(content, where) if "name" in content else name
    return Policy(name=own, audits=audits, folder=Path(folder), source=dict(source or {}))


def _open_policy(policy: str | Path | Mapping[str, Any]) -> Policy:
    return policy_of(policy) if isinstance(policy, Mapping) else read_policy(policy)


def _audit(content: Any, place: int, settings: Mapping[str, Any]) -> AuditPolicy:
    where = f"audit {place}"
    if not isinstance(content, Mapping):
        raise PolicyError(where, "an audit is a table.", repr(content), "write [[audit]].")
    name = _name(content, where)
    where = f"audit {name!r}"
    notion = content.get("notion")
    if not isinstance(notion, str) or notion not in NOTIONS:
        hint = f"choose {' or '.join(map(repr, NOTIONS))}."
        raise PolicyError(where, "which notion is audited?", f"notion={notion!r}", hint)
    kind = NOTIONS[notion]
    own = {key: value for key, value in content.items() if key not in ("name", "notion")}
    settings = {k: v for k, v in settings.items() if k != "margin" or kind.margin_of_rates}
    choices = {**settings, **own}
    _check_choices(where, choices, kind)
    open_means = choices.pop(UNDECIDED)
    files = {role: choices.pop(role) for role in kind.files if role in choices}
    try:
        taken = {key: kind.as_taken(key, value) for key, value in choices.items()}
    except ComparityError as error:
        raise PolicyAuditError(name, error) from error
    return AuditPolicy(name=name, notion=notion, files=files, choices=taken, open_means=open_means)


def _name(content: Mapping[str, Any], where: str) -> str:
    name = content.get("name")
    if not isinstance(name, str) or not name.strip():
        raise PolicyError(where, "it needs a name.", f"name={name!r}", 'write name = "...".')
    return name


def _check_choices(where: str, choices: Mapping[str, Any], kind: Notion) -> None:
    """Refuse keys that are unknown, missing or of another type."""
    known = {**COMMON, UNDECIDED: "text", **dict.fromkeys(kind.files, "text"), **kind.keys}
    _check_types(where, choices, known)
    for key in kind.required:
        if key not in choices:
            hint = f"{kind.name} needs {', '.join(kind.required)}."
            raise PolicyError(where, f"{key} is missing.", ", ".join(choices), hint)
    if choices[UNDECIDED] not in (FAIL, ALLOW):
        found, hint = repr(choices[UNDECIDED]), f"choose {FAIL!r} or {ALLOW!r}."
        raise PolicyError(where, f"what should happen where it stays {UNDECIDED}?", found, hint)


def _check_types(where: str, choices: Mapping[str, Any], known: Mapping[str, str]) -> None:
    for key, value in choices.items():
        if key not in known:
            raise UnknownKeyError(where, key, [*known])
        if not matches(known[key], value):
            asked, hint = f"{key} must be {known[key]}.", f"write {key} as {known[key]}."
            raise PolicyError(where, asked, f"{key}={value!r}", hint)


def _check_audit(one: AuditPolicy, folder: Path, data: Mapping[str, Any]) -> CheckedAudit:
    try:
        result = NOTIONS[one.notion].audit(one.files, one.choices, folder=folder, data=data)
    except ComparityError as error:
        raise PolicyAuditError(one.name, error) from error
    return CheckedAudit(
        name=one.name,
        notion=one.notion,
        files=tuple(one.files.values()),
        result=result,
        open_means=one.open_means,
    )


def _exit_status(checks: tuple[CheckedAudit, ...]) -> int:
    """Return 0 where all pass, else the status of the worst finding that does not."""
    stopping = {check.finding for check in checks if not check.passed}
    if not stopping:
        return EXIT_STATUS[WITHIN]
    return EXIT_STATUS[VIOLATED if VIOLATED in stopping else UNDECIDED]
