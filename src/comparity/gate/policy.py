"""Policies: which audits a change must pass, written down once in a TOML file.

A policy names its audits, the data they read, margins, error rates, and what it means where an
audit decides nothing. The command line, Python and pytest read the same file and give the same
verdict. Whatever cannot be understood is an error: a misspelt key must not become a default.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparity.errors import (
    ComparityError,
    PolicyAuditError,
    PolicyError,
    UnknownKeyError,
)
from comparity.gate.notions import (
    COMMON,
    DROP,
    FLAG,
    LOOKS,
    NAMES,
    NOTIONS,
    NUMBER,
    TEXT,
    VALUE,
    WHOLE,
    Notion,
)
from comparity.results.options import declared_choices
from comparity.results.result import UNDECIDED
from comparity.tables.files import file_sha256

FAIL, ALLOW = "fail", "allow"

DEFAULTS: dict[str, Any] = {"alpha": 0.05, "margin": 0.05, UNDECIDED: FAIL}
NO_AUDITS, ADD_AUDITS = "a policy needs audits.", "add a table [[audit]] for each."
# Policies are written by people; a file larger than this is another file given by mistake.
MOST_BYTES = 2**20


def matches(kind: str, value: Any) -> bool:
    """Return whether a value of a policy is what its key holds.

    Examples
    --------
    >>> matches("a number", 0.05), matches("a number", True), matches("a number", float("nan"))
    (True, False, False)
    """
    if isinstance(value, bool):
        return kind == FLAG
    if kind == NUMBER:
        # TOML has whole numbers of any length; NaN is not at most anything.
        return isinstance(value, int | float) and abs(value) <= sys.float_info.max
    if kind == WHOLE:
        return isinstance(value, int) and abs(value) < 2**63
    if kind == VALUE:
        return isinstance(value, str | int | float)
    if kind == LOOKS:
        whole = isinstance(value, list | tuple) and all(matches(WHOLE, one) for one in value)
        return whole and len(value) == 2
    if kind == NAMES and isinstance(value, list | tuple):
        return bool(value) and all(matches(TEXT, one) for one in value)
    return kind in (TEXT, NAMES) and isinstance(value, str) and bool(value)


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
    baseline : str
        JSON of the last release that the audit may be no worse than; empty where there is none.
    """

    name: str
    notion: str
    files: Mapping[str, str]
    choices: Mapping[str, Any]
    open_means: str = FAIL
    baseline: str = ""


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
        named = [file for one in self.audits for file in one.files.values()]
        named += [one.baseline for one in self.audits if one.baseline]
        return tuple(dict.fromkeys(self.folder / file for file in named))


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
    baseline = _baseline(own, where, kind)
    settings = {k: v for k, v in settings.items() if k != "margin" or kind.margin_of_rates}
    choices = {**settings, **own}
    _check_choices(where, choices, kind)
    open_means = choices.pop(UNDECIDED)
    files = kind.named_files(choices)
    try:
        drop = {DROP: choices.pop(DROP)} if DROP in choices else {}
        taken = {key: kind.as_taken(key, value) for key, value in choices.items()} | drop
    except ComparityError as error:
        raise PolicyAuditError(name, error) from error
    return AuditPolicy(
        name=name,
        notion=notion,
        files=files,
        choices=taken,
        open_means=open_means,
        baseline=baseline,
    )


def _baseline(own: dict[str, Any], where: str, kind: Notion) -> str:
    """Take the file of the last release out of the keys of an audit."""
    baseline = own.pop("baseline", "")
    if baseline and not kind.has_gaps:
        hint = f"leave it out: {kind.name} judges ranges, not gaps."
        raise PolicyError(where, "what is the baseline?", f"baseline={baseline!r}", hint)
    if not isinstance(baseline, str) or ("looks" in own and baseline):
        hint = "name the JSON of the last release, of an audit without looks."
        raise PolicyError(where, "what is the baseline?", f"baseline={baseline!r}", hint)
    return baseline


def _name(content: Mapping[str, Any], where: str) -> str:
    name = content.get("name")
    if not isinstance(name, str) or not name.strip():
        raise PolicyError(where, "it needs a name.", f"name={name!r}", 'write name = "...".')
    return name


def _check_choices(where: str, choices: Mapping[str, Any], kind: Notion) -> None:
    """Refuse keys that are unknown, missing or of another type."""
    common = {key: holds for key, holds in COMMON.items() if key in declared_choices(kind.form)}
    drop = {} if kind.drops_itself else {DROP: FLAG}
    known = {**common, UNDECIDED: "text", **drop, **kind.roles, **kind.keys}
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
