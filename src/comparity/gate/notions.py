"""The audits a policy can name: their files, their keys, and the functions that make them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from comparity.errors import OptionError
from comparity.gate.result import Auditable
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

COMMON = {"alpha": NUMBER, "margin": NUMBER, "rule": TEXT, "looks": LOOKS, "seed": WHOLE}
"""Keys of every audit, with what they hold."""
LAYOUT_KEYS = ("layout", "left", "right", "winner")
"""Keys that say how comparisons are written in a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notion:
    """One audit a policy can name.

    Attributes
    ----------
    name : str
        What the policy calls it: that of the command.
    module : str
        Module of its functions.
    from_files, from_frames : str
        Names of the functions for files and for frames.
    files : mapping of str to str
        Roles of its tables, the first of them positional.
    keys : mapping of str to str
        Further keys, with what they hold.
    required : tuple of str
        Keys that must be there.
    several : bool
        Whether it takes several sensitive attributes.
    margin_of_rates : bool
        Whether its margin is a difference of rates; otherwise the policy's common margin, which
        is one, does not apply.
    """

    name: str
    module: str
    from_files: str
    from_frames: str
    files: Mapping[str, str]
    keys: Mapping[str, str]
    required: tuple[str, ...]
    several: bool = True
    margin_of_rates: bool = True
    lists: tuple[str, ...] = field(default=("order", "notions", "raters"))

    def as_taken(self, key: str, value: Any) -> Any:
        """Return a value as the function takes it."""
        if key == "looks":
            return tuple(value)
        if key == "sensitive":
            names = [value] if isinstance(value, str) else list(value)
            if self.several:
                return names
            if len(names) != 1:
                why = f"{self.name} takes one attribute at a time"
                raise OptionError("sensitive", names, ["one column"], why)
            return names[0]
        if key in self.lists:
            return (value,) if isinstance(value, str) else tuple(value)
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
        home = import_module(self.module)
        if not any(name in data for name in files.values()):
            make: Callable[..., Auditable] = getattr(home, self.from_files)
            return make(*(folder / name for name in files.values()), **choices)
        for key in [key for key in LAYOUT_KEYS if key in choices]:
            why = "frames have columns that are named by better and worse"
            raise OptionError(key, choices[key], [f"no {key}", "files"], why)
        frames = [data[n] if n in data else read_table(folder / n) for n in files.values()]
        make = getattr(home, self.from_frames)
        return make(*frames, **choices)


NOTIONS = {
    one.name: one
    for one in (
        Notion(
            name="separation",
            module="comparity.separation.audit",
            from_files="audit_file",
            from_frames="audit_frame",
            files={"file": TEXT},
            keys={
                "label": TEXT,
                "prediction": TEXT,
                "sensitive": NAMES,
                "positive": VALUE,
                "threshold": NUMBER,
                "intersection": FLAG,
            },
            required=("file", "label", "prediction", "sensitive"),
        ),
        Notion(
            name="comparative",
            module="comparity.comparative.audit",
            from_files="audit_files",
            from_frames="audit_frames",
            files={"comparisons": TEXT, "items": TEXT},
            keys={
                "score": TEXT,
                "sensitive": NAMES,
                "item": TEXT,
                "better": TEXT,
                "worse": TEXT,
                "left": TEXT,
                "right": TEXT,
                "winner": TEXT,
                "evaluator": TEXT,
                "layout": TEXT,
                "reference": TEXT,
                "design": TEXT,
                "method": TEXT,
                "score_ties": TEXT,
                "continuous": FLAG,
                "intersection": FLAG,
            },
            required=("comparisons", "score", "sensitive"),
        ),
        Notion(
            name="pairwise",
            module="comparity.pairwise.audit",
            from_files="audit_file",
            from_frames="audit_frame",
            files={"file": TEXT},
            keys={
                "label": TEXT,
                "score": TEXT,
                "sensitive": NAMES,
                "query": TEXT,
                "weight": TEXT,
                "no_group": VALUE,
                "average": TEXT,
                "pair_weight": TEXT,
                "score_ties": TEXT,
                "continuous": FLAG,
                "notions": NAMES,
            },
            required=("file", "label", "score", "sensitive"),
            several=False,
        ),
        Notion(
            name="relative",
            module="comparity.relative.audit",
            from_files="audit_file",
            from_frames="audit_frame",
            files={"file": TEXT},
            keys={
                "first": TEXT,
                "second": TEXT,
                "sensitive": NAMES,
                "reference": TEXT,
                "order": NAMES,
                "labels": FLAG,
                "separator": TEXT,
                "continuous": FLAG,
                "intersection": FLAG,
                "permutations": WHOLE,
            },
            required=("file", "first", "second", "sensitive"),
            margin_of_rates=False,
        ),
        Notion(
            name="raters",
            module="comparity.relative.raters",
            from_files="audit_rater_file",
            from_frames="audit_rater_frame",
            files={"file": TEXT},
            keys={
                "raters": NAMES,
                "sensitive": NAMES,
                "reference": TEXT,
                "order": NAMES,
                "intersection": FLAG,
            },
            required=("file", "raters", "sensitive"),
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
