"""The audits that a policy can name, with the keys of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from comparity.comparative.options import ComparativeForm
from comparity.errors import OptionError
from comparity.impact.audit import ImpactGateForm
from comparity.judges.options import LeansForm
from comparity.metrics.judge import MetricsGateForm
from comparity.pairwise.options import PairwiseForm, ParityForm
from comparity.ranking.audit import PanelForm
from comparity.relative.options import RatersForm, RelativeForm
from comparity.reports.ranges import RangeAudit
from comparity.results.audit import Audit, JudgedResult
from comparity.results.dropped import gaps_of, with_dropped
from comparity.results.options import REQUIRED, AuditOptions, Choice, Options, declared_choices
from comparity.separation.options import SeparationForm
from comparity.tables.complete import CompleteFile
from comparity.tables.files import complete_tables, read_table

Auditable = Audit | JudgedResult | RangeAudit
"""A result that was judged."""

TEXT, NAMES, NUMBER, WHOLE, FLAG = (
    "text",
    "a name or a list of names",
    "a number",
    "a whole number",
    "true or false",
)
VALUE, LOOKS = "text or a number", "two whole numbers"
DROP = "drop_missing"
"""Key of every audit: whether rows with a missing value are dropped, and counted."""


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
        Roles of its tables.
    n_needed : int
        How many of these must be there, from the first on.
    margin_of_rates : bool
        Whether its margin is a difference of rates; otherwise the policy's common margin, which
        is one, does not apply.
    has_gaps : bool
        Whether it judges gaps, which can be compared with those of the last release.
    takes_several : bool
        Whether the last role may name any number of files.
    """

    name: str
    form: type[Options]
    module: str = ""
    function: str = "audit_file"
    files: tuple[str, ...] = ("file",)
    n_needed: int = 1
    margin_of_rates: bool = True
    has_gaps: bool = True
    takes_several: bool = False

    @property
    def roles(self) -> Mapping[str, str]:
        """Roles of its tables, with what their keys hold."""
        last = {self.files[-1]: NAMES} if self.takes_several else {}
        return {**dict.fromkeys(self.files, TEXT), **last}

    def named_files(self, choices: dict[str, Any]) -> dict[str, str]:
        """Take the files out of the keys of an audit, by their roles."""
        found: dict[str, str] = {}
        for role in self.files:
            if role not in choices:
                continue
            named = choices.pop(role)
            several = [named] if isinstance(named, str) else named
            found |= {f"{role} {k}" if k > 1 else role: one for k, one in enumerate(several, 1)}
        return found

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
        tables = self.files[: self.n_needed]
        return (*tables, *(one.name for one in known if one.default is REQUIRED))

    @property
    def drops_itself(self) -> bool:
        """Whether what it reads is no table with columns, so that dropping is its own choice."""
        return DROP in declared_choices(self.form)

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
        own = {key: value for key, value in choices.items() if key != DROP or self.drops_itself}
        if own.get("state") is not None:
            # A file like the others, which an audit of judgments that arrive writes.
            own["state"] = str(folder / own["state"])
        tables = {role: data.get(name, folder / name) for role, name in files.items()}
        gaps = gaps_of(self.form, own) if choices.get(DROP) and not self.drops_itself else None
        if gaps is not None:
            tables = complete_tables(gaps, tables, files)
        make: Callable[..., Auditable] = getattr(home, self.function)
        if any(name in data for name in named):
            make = getattr(home, self.function.replace("file", "frame"))
            paths = (Path, CompleteFile)
            tables = {
                role: read_table(one) if isinstance(one, paths) else one
                for role, one in tables.items()
            }
        found = make(*tables.values(), **own)
        return with_dropped(found, gaps.found) if gaps is not None and gaps.found else found


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
        Notion(
            name="parity",
            form=ParityForm,
            module="comparity.pairwise.parity",
            function="audit_parity_file",
        ),
        Notion(
            name="rank",
            form=PanelForm,
            module="comparity.ranking.audit",
            function="audit_files",
            files=("comparisons", "items"),
            n_needed=2,
        ),
        Notion(
            name="impact",
            form=ImpactGateForm,
            module="comparity.impact.audit",
            function="judge_file",
            margin_of_rates=False,
            has_gaps=False,
        ),
        Notion(
            name="metrics",
            form=MetricsGateForm,
            module="comparity.metrics.judge",
            function="judge_file",
            margin_of_rates=False,
            has_gaps=False,
        ),
        Notion(
            name="judges",
            form=LeansForm,
            function="audit_files",
            files=("logs",),
            margin_of_rates=False,
            takes_several=True,
        ),
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
"""By name; those are the names of the commands, but for `parity` and `raters`, options of one."""
