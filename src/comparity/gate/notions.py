"""The audits a policy can name: their files, their keys, and the functions that make them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from comparity.comparative.options import ComparativeForm
from comparity.errors import OptionError
from comparity.gate.result import Auditable
from comparity.pairwise.options import PairwiseForm
from comparity.relative.options import RatersForm, RelativeForm
from comparity.results.options import (
    REQUIRED,
    AuditOptions,
    Choice,
    Options,
    declared_choices,
)
from comparity.separation.options import SeparationForm
from comparity.tables.files import read_table

__all__ = ["COMMON", "NOTIONS", "Notion", "matches"]

TEXT, NAMES, NUMBER, WHOLE, FLAG = (
    "text",
    "a name or a list of names",
    "a number",
    "a whole number",
    "true or false",
)
VALUE, LOOKS = "text or a number", "two whole numbers"


def what_it_holds(one: Choice) -> str:
    """Return what a key of a policy holds, from the declared type of the choice."""
    if one.is_list or one.name == "sensitive":
        return NAMES
    kinds = {bool: FLAG, int: WHOLE, float: NUMBER, tuple[int, int]: LOOKS, Any: VALUE}
    return kinds.get(one.kind, TEXT)


COMMON = {name: what_it_holds(one) for name, one in declared_choices(AuditOptions).items()}
"""Keys of every audit, with what they hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notion:
    """One audit a policy can name.

    Attributes
    ----------
    name : str
        What the policy calls it: that of the command.
    form : class
        Its choices, all of which are keys.
    module : str
        Module of its functions; by default that of the audit of this name.
    function : str
        Name of the function for files; the one for frames is called accordingly.
    files : tuple of str
        Roles of its tables, the first of them needed.
    margin_of_rates : bool
        Whether its margin is a difference of rates; otherwise the policy's common margin, which
        is one, does not apply.
    """

    name: str
    form: type[Options]
    module: str = ""
    function: str = "audit_file"
    files: tuple[str, ...] = ("file",)
    margin_of_rates: bool = True

    @property
    def keys(self) -> Mapping[str, str]:
        """Keys beside the common ones, with what they hold."""
        known = declared_choices(self.form).values()
        return {
            one.name: what_it_holds(one) for one in known if one.offered and one.name not in COMMON
        }

    @property
    def required(self) -> tuple[str, ...]:
        """Keys that must be there."""
        known = declared_choices(self.form).values()
        return (self.files[0], *(one.name for one in known if one.default is REQUIRED))

    def as_taken(self, key: str, value: Any) -> Any:
        """Return a value as the function takes it."""
        one = declared_choices(self.form)[key]
        if key == "sensitive" and not one.is_list and not isinstance(value, str):
            if len(value) != 1:
                why = f"{self.name} takes one attribute at a time"
                raise OptionError("sensitive", list(value), ["one column"], why)
            return value[0]
        return value

    def audit(
        self,
        files: Mapping[str, str],
        choices: Mapping[str, Any],
        *,
        folder: Path,
        data: Mapping[str, Any],
    ) -> Auditable:
        """Make the audit from files, or from frames that stand in for them."""
        home, named = import_module(self.module or f"comparity.{self.name}.audit"), files.values()
        make: Callable[..., Auditable] = getattr(home, self.function)
        if not any(name in data for name in named):
            return make(*(folder / name for name in named), **choices)
        make = getattr(home, self.function.replace("file", "frame"))
        return make(*(data[n] if n in data else read_table(folder / n) for n in named), **choices)


NOTIONS = {
    one.name: one
    for one in (
        Notion(name="separation", form=SeparationForm),
        Notion(
            name="comparative",
            form=ComparativeForm,
            function="audit_files",
            files=("comparisons", "items"),
        ),
        Notion(name="pairwise", form=PairwiseForm),
        Notion(name="relative", form=RelativeForm, margin_of_rates=False),
        Notion(
            name="raters",
            form=RatersForm,
            module="comparity.relative.raters",
            function="audit_rater_file",
            margin_of_rates=False,
        ),
    )
}
"""By name; those are the names of the commands, but for `raters`, which is several in one."""


def matches(kind: str, value: Any) -> bool:
    """Say whether a value of a policy is what its key holds.

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
